"""Two models side by side: where the difference of their scores comes from, and which cases decide it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from toplist._arguments import as_whole
from toplist._files import to_json_number
from toplist._typing import Floats
from toplist.errors import ShapeError, SpaceError
from toplist.lists import TopLists, require_lists
from toplist.lists.outcomes import as_happened
from toplist.scoring.accuracy import outcome_ranks
from toplist.scoring.rules import as_rule, name_of
from toplist.scoring.scores import score

SPLITS = ("both right", "only a right", "only b right", "both wrong", "shared")
"""How cases are split by first guesses; "shared" are those where the outcome ties with others for a first place."""


@dataclass(frozen=True, slots=True)
class Split:
    """Cases with the same first guesses: how many, and the sum of score a minus score b over those that are finite."""

    name: str  # one of SPLITS
    cases: int
    difference: float
    infinite_a: int  # where a alone has an infinite score
    infinite_b: int


@dataclass(frozen=True, slots=True)
class DecidingCase:
    """One case that counts much: above zero the difference is in favour of b."""

    case: int  # its place, from 0
    name: str  # its id, or nothing
    a: float
    b: float
    difference: float  # a minus b, times the weight of the case
    right_a: float  # 1 if the first guess was right, 0 if not, between where ties share
    right_b: float


@dataclass(frozen=True, slots=True)
class ScoreDifference:
    """Model a against model b: accuracies, mean scores, and what the difference of the scores is made of.

    Sums are over the cases where a minus b is finite; `difference` is the sum over all splits. A case where both
    scores are infinite tells nothing of who is better and adds nothing.
    """

    rule: str
    cases: int
    accuracy_a: float
    accuracy_b: float
    score_a: float  # means; infinite where any score is
    score_b: float
    difference: float  # sum of a minus b: below zero, a is better
    splits: tuple[Split, ...]
    favour_a: tuple[DecidingCase, ...]  # the cases that speak most for a, the strongest first
    favour_b: tuple[DecidingCase, ...]
    turning: int  # so few cases carry the difference: without them it is gone or turned; 0 where there is none
    weighted: bool = False

    @property
    def better(self) -> str | None:
        """Who has the better scores, "a" or "b": fewer infinite ones, then the lower sum; None where they are equal."""
        extra = sum(part.infinite_a - part.infinite_b for part in self.splits)
        value = extra or self.difference
        return None if value == 0 else "a" if value < 0 else "b"

    @property
    def disagree(self) -> bool:
        """Whether the one with the worse scores is right more often."""
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
            "splits": [
                {
                    "name": part.name,
                    "cases": part.cases,
                    "difference": part.difference,
                    "infinite_a": part.infinite_a,
                    "infinite_b": part.infinite_b,
                }
                for part in self.splits
            ],
            "favour_a": [_record(one) for one in self.favour_a],
            "favour_b": [_record(one) for one in self.favour_b],
        }


@dataclass(frozen=True, slots=True)
class Decided:
    """A disagreement on a leaderboard: a is the one with the worse scores, b the one with the better ones."""

    worse: str
    better: str
    weight: float  # of all cases that both have: their number, unless they are weighted
    found: ScoreDifference
    called: Mapping[int, str]  # what the cases that are spoken of are called


def deciding_cases(a: TopLists, b: TopLists, y: Any, *, rule: Any = "brier", most: int = 10) -> ScoreDifference:
    """Why two models differ: the difference of scores by first guesses, and the cases that count most.

    Accuracy and a proper score may disagree on who is better; then a model wins where both are right or both are
    wrong, or loses much in few cases. Lower scores are better.

    >>> bold = TopLists.from_labels(["x", "x", "x", "y"], 3)
    >>> shy = TopLists.from_dicts([{"x": 0.9}, {"x": 0.8}, {"z": 0.6}, {"y": 0.4, "x": 0.5}], 3)
    >>> found = deciding_cases(bold, shy, ["x", "x", "x", "z"])
    >>> found.accuracy_a, found.accuracy_b, found.better, found.disagree
    (0.75, 0.5, 'a', False)
    >>> [(part.name, part.cases, round(part.difference, 3)) for part in found.splits]
    [('both right', 2, -0.075), ('only a right', 1, -1.04), ('only b right', 0, 0.0), ('both wrong', 1, 0.78)]
    """
    require_lists(a)
    require_lists(b)
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
    as_happened(y, a, "first guesses are held against")
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
    """The same from scores and first guesses, one of each per case; a weight multiplies what a case adds."""
    most = as_whole(most, "most", 0)
    w = np.ones(len(a)) if weights is None else weights
    d = _differences(a, b, w)
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
        return tuple(
            DecidingCase(
                int(i),
                "" if names is None else str(names[i]),
                float(a[i]),
                float(b[i]),
                float(d[i]),
                float(right_a[i]),
                float(right_b[i]),
            )
            for i in at
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
        _turning(d, total),
        weights is not None,
    )


def _differences(a: Floats, b: Floats, w: Floats) -> Floats:
    """a minus b times the weight; nothing where both are infinite, or the case does not count."""
    same = (a == b) | (w == 0)
    out = np.zeros(len(a))
    np.subtract(a, b, out=out, where=~same)
    return np.where(same, 0.0, out * w)


def _codes(right_a: Floats, right_b: Floats) -> NDArray[np.int64]:
    whole = np.isin(right_a, (0.0, 1.0)) & np.isin(right_b, (0.0, 1.0))
    return np.where(whole, 3 - 2 * (right_a > 0) - (right_b > 0), 4).astype(np.int64)


def _turning(d: Floats, total: float) -> int:
    """The smallest number of cases without which the difference is gone or turned.

    Taking away the cases that favour the better one, the strongest first, is best possible; more infinite scores
    outweigh any finite sum. The sign of a sum by `fsum` is exact.
    """
    extra = int(np.count_nonzero(d == np.inf)) - int(np.count_nonzero(d == -np.inf))
    sign = np.sign(extra or total)
    if sign == 0:
        return 0
    left = np.sort(d * sign)[::-1]  # what favours the worse one is last, below zero
    infinite = int(np.count_nonzero(left == np.inf))
    against = int(np.count_nonzero(left == -np.inf))
    finite = left[infinite : len(left) - against]

    def turned(taken: int) -> bool:
        more = max(infinite - taken, 0) - against
        return more < 0 or (more == 0 and math.fsum(finite[max(taken - infinite, 0) :]) <= 0)

    low, high = 0, infinite + int(np.count_nonzero(finite > 0))  # it holds at `high`, and not at `low`
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if turned(middle) else (middle, high)
    return high


def _mean(values: Floats, w: Floats) -> float:
    counted = values[w > 0]
    if not len(counted):
        return math.nan
    if np.isinf(counted).any():
        return math.inf
    return math.fsum(counted * w[w > 0]) / math.fsum(w)


def _record(one: DecidingCase) -> dict[str, Any]:
    return {
        "case": one.case,
        "name": one.name,
        "a": to_json_number(one.a),
        "b": to_json_number(one.b),
        "difference": to_json_number(one.difference),
        "right_a": one.right_a,
        "right_b": one.right_b,
    }
