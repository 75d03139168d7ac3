"""The difference of two models' scores: by top-1 predictions, and the cases that contribute most."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from toplist._files import to_json_number
from toplist._text import significant
from toplist._typing import Floats
from toplist.core.arguments import as_whole
from toplist.errors import ShapeError, SpaceError
from toplist.inference.ranking import differences, turning
from toplist.lists import as_lists
from toplist.lists.converters import as_single_outcomes
from toplist.scoring.case_scores import outcome_ranks
from toplist.scoring.rules import as_rule, name_of
from toplist.scoring.scores import score

SPLITS = ("both right", "only a right", "only b right", "both wrong", "shared")
"""Groups of cases by top-1 predictions; in "shared" ones the outcome ties with other classes for the first place."""


@dataclass(frozen=True, slots=True)
class Split:
    """Cases with the same top-1 predictions: how many, and the sum of finite differences, score a minus score b."""

    name: str  # one of SPLITS
    cases: int
    difference: float
    infinite_a: int  # where a alone has an infinite score
    infinite_b: int


@dataclass(frozen=True, slots=True)
class DecidingCase:
    """One case that contributes much: above zero the difference is in favour of b."""

    case: int  # its place, from 0
    name: str  # its id, or nothing
    a: float
    b: float
    difference: float  # a minus b, times the weight of the case
    right_a: float  # 1 if the top-1 prediction is right, 0 if not, between where ties share
    right_b: float


@dataclass(frozen=True, slots=True, repr=False)
class ScoreDifference:
    """Model a against model b: accuracies, mean scores, and the difference of the scores by top-1 predictions.

    Attributes
    ----------
    rule : str
        The name of the scoring rule.
    cases : int
        How many cases there are.
    accuracy_a, accuracy_b : float
        How often the top-1 prediction is the outcome.
    score_a, score_b : float
        The mean scores; infinite where any score is.
    difference : float
        The sum of score a minus score b over all splits: below zero, a is better. Sums are over the cases where the
        difference is finite; a case where both scores are infinite adds nothing.
    splits : tuple of Split
        The difference by top-1 predictions.
    favour_a, favour_b : tuple of DecidingCase
        The cases that contribute most in favour of each, the strongest first.
    turning : int
        The smallest number of cases without which the difference is zero or reversed; 0 where there is none.
    weighted : bool
        Whether cases have weights.

    """

    rule: str
    cases: int
    accuracy_a: float
    accuracy_b: float
    score_a: float
    score_b: float
    difference: float
    splits: tuple[Split, ...]
    favour_a: tuple[DecidingCase, ...]
    favour_b: tuple[DecidingCase, ...]
    turning: int
    weighted: bool = False

    def __repr__(self) -> str:
        means = f"{self.rule} {significant(self.score_a)} against {significant(self.score_b)}"
        right = f"accuracy {self.accuracy_a:.1%} against {self.accuracy_b:.1%}"
        return f"ScoreDifference({means}, {right}, {self.cases:,} cases)"

    @property
    def better(self) -> str | None:
        """The model with the better scores, "a" or "b": fewer infinite ones, then the lower sum; None if equal."""
        extra = sum(part.infinite_a - part.infinite_b for part in self.splits)
        value = extra or self.difference
        return None if value == 0 else "a" if value < 0 else "b"

    @property
    def disagree(self) -> bool:
        """Whether the model with the worse scores is the more accurate one."""
        gap = self.accuracy_a - self.accuracy_b
        return (self.better == "a" and gap < 0) or (self.better == "b" and gap > 0)

    def to_dict(self) -> dict[str, Any]:
        """Plain values; what is infinite is the word."""
        return {
            "rule": self.rule,
            "cases": self.cases,
            "accuracy": {"a": self.accuracy_a, "b": self.accuracy_b},
            "score": {"a": to_json_number(self.score_a), "b": to_json_number(self.score_b)},
            "difference": self.difference,
            "better": self.better,
            "disagree": self.disagree,
            "turning": self.turning,
            "splits": [asdict(part) for part in self.splits],
            "favour_a": [_record(one) for one in self.favour_a],
            "favour_b": [_record(one) for one in self.favour_b],
        }


def explain_difference(
    a: Any, b: Any, y: Any, *, rule: Any = "brier", most: int = 10, space: Any = None
) -> ScoreDifference:
    """The difference of two models' scores by top-1 predictions, and the cases that contribute most.

    Accuracy and a proper score may disagree on the better model, because scores also differ where both top-1
    predictions are right or both are wrong, or differ much in few cases. Lower scores are better.

    Parameters
    ----------
    a, b : TopLists or array_like
        Predictions of two models for the same cases, of any shape that `as_lists` takes.
    y : array_like
        One outcome per case.
    rule : str or Rule, default "brier"
        The scoring rule.
    most : int, default 10
        How many deciding cases are listed in favour of each model.
    space : int, float, ClassSpace or LabelSets, optional
        The classes, where the predictions do not tell.

    Returns
    -------
    ScoreDifference
        The difference, its splits and its deciding cases.

    Raises
    ------
    ShapeError
        If the models differ in their number of cases or in their ids, or there are no cases.
    SpaceError
        If the models are over different spaces.

    Examples
    --------
    >>> from toplist import TopLists
    >>> bold = TopLists.from_labels(["x", "x", "x", "y"], 3)
    >>> shy = TopLists.from_dicts([{"x": 0.9}, {"x": 0.8}, {"z": 0.6}, {"y": 0.4, "x": 0.5}], 3)
    >>> found = explain_difference(bold, shy, ["x", "x", "x", "z"])
    >>> found.accuracy_a, found.accuracy_b, found.better, found.disagree
    (0.75, 0.5, 'a', False)
    >>> [(part.name, part.cases, round(part.difference, 3)) for part in found.splits]
    [('both right', 2, -0.075), ('only a right', 1, -1.04), ('only b right', 0, 0.0), ('both wrong', 1, 0.78)]

    """
    a, b = as_lists(a, space), as_lists(b, space)
    if len(a) != len(b):
        raise ShapeError(
            f"the two models differ in length: {len(a):,} and {len(b):,} cases.", "Give both the same cases."
        )
    if not len(a):
        raise ShapeError("there are no cases to compare.")
    if not np.array_equal(a.space.as_floats[1], b.space.as_floats[1]):
        raise SpaceError(f"one model is over {a.space!r}, the other over {b.space!r}: both need the same classes.")
    if a.ids is not None and b.ids is not None and not np.array_equal(a.ids, b.ids):
        raise ShapeError("the case ids of the two models differ.", "Bring both into one order.")
    as_single_outcomes(y, a, "top-1 predictions are compared with")
    chosen = as_rule(rule)
    ids = a.ids if a.ids is not None else b.ids
    scores = [np.asarray(score(one, y, rule=chosen), np.float64) for one in (a, b)]
    right = [np.asarray(outcome_ranks(one, y).within(1), np.float64) for one in (a, b)]
    return split(*scores, *right, rule=name_of(chosen), most=most, names=ids)


def split(
    a: Floats,
    b: Floats,
    right_a: Floats,
    right_b: Floats,
    *,
    rule: str,
    most: int = 10,
    weights: Floats | None = None,
    names: Any = None,
) -> ScoreDifference:
    """The same from scores and top-1 predictions, one of each per case; a weight multiplies what a case adds."""
    most = as_whole(most, "most", 0)
    w = np.ones(len(a)) if weights is None else weights
    d = differences(a, b, w)
    code = _codes(right_a, right_b)
    finite = np.isfinite(d)
    parts = []
    for i, name in enumerate(SPLITS):
        at = code == i
        if name == "shared" and not at.any():
            continue
        up, down = int(np.count_nonzero(at & (d == np.inf))), int(np.count_nonzero(at & (d == -np.inf)))
        parts.append(Split(name, int(np.count_nonzero(at)), math.fsum(d[at & finite]), up, down))
    total = math.fsum(part.difference for part in parts)
    order = np.argsort(d, kind="stable")

    def named(at: NDArray[np.intp]) -> tuple[DecidingCase, ...]:
        columns = (a, b, d, right_a, right_b)
        called = ["" if names is None else str(names[i]) for i in at]
        return tuple(
            DecidingCase(int(i), name, *(float(c[i]) for c in columns)) for i, name in zip(at, called, strict=True)
        )

    last = np.argsort(-d, kind="stable")
    return ScoreDifference(
        rule,
        len(a),
        _mean(right_a, w),
        _mean(right_b, w),
        _mean(a, w),
        _mean(b, w),
        total,
        tuple(parts),
        named(order[:most][d[order[:most]] < 0]),
        named(last[:most][d[last[:most]] > 0]),
        turning(d),
        weights is not None,
    )


def _codes(right_a: Floats, right_b: Floats) -> NDArray[np.int64]:
    whole = np.isin(right_a, (0.0, 1.0)) & np.isin(right_b, (0.0, 1.0))
    return np.where(whole, 3 - 2 * (right_a > 0) - (right_b > 0), 4).astype(np.int64)


def _mean(values: Floats, w: Floats) -> float:
    counted = values[w > 0]
    if not len(counted):
        return math.nan
    if np.isinf(counted).any():
        return math.inf
    return math.fsum(counted * w[w > 0]) / math.fsum(w)


def _record(one: DecidingCase) -> dict[str, Any]:
    numbers = {name: to_json_number(getattr(one, name)) for name in ("a", "b", "difference")}
    return {**asdict(one), **numbers}
