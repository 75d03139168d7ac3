"""Decomposition of a mean score into miscalibration, discrimination, uncertainty, misses and penalties."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import isotonic_regression

from toplist._arguments import as_whole
from toplist._text import significant
from toplist._typing import Floats
from toplist.calibration.pairs import CalibrationPairs, calibration_pairs, require_cases
from toplist.core.isotonic import TiedGroups, grouped, pav
from toplist.lists import TopLists, as_lists
from toplist.lists.log_space import revalued
from toplist.lists.validation import row_sums
from toplist.scoring.rules import Brier, Rule, as_rule, name_of
from toplist.scoring.scores import penalise, score

REST = "rest"


@dataclass(frozen=True, slots=True)
class DecompositionTerm:
    """What one rank, or the rest, adds to the mean score: score = miscalibration - discrimination + uncertainty.

    Attributes
    ----------
    name : str
        The rank, or "rest".
    entries : int
        How many confidences, or rest masses, it is from.
    score, miscalibration, discrimination, uncertainty : float
        What it adds to each part of the mean score.

    """

    name: str
    entries: int
    score: float
    miscalibration: float
    discrimination: float
    uncertainty: float

    def times(self, by: float) -> DecompositionTerm:
        """The same on another scale."""
        parts = (self.score, self.miscalibration, self.discrimination, self.uncertainty)
        return DecompositionTerm(self.name, self.entries, *(by * part for part in parts))


@dataclass(frozen=True, slots=True)
class RankLayer:
    """Confidences that are calibrated together: those of a rank, those of all further ranks, or the rest masses."""

    name: str
    at: NDArray[np.intp]  # entries, or cases for the rest
    confidence: Floats
    weight: Floats | None  # of the rest, one over the number of classes that share it


def layers(made: CalibrationPairs, ranks: int) -> tuple[RankLayer, ...]:
    """Rank 1, ..., "rank 11 and beyond", and the rest of the cases that have one."""
    t, longest = made.confidence, int(made.lists.sizes.max(initial=0))
    found = []
    for rank in range(min(ranks, longest)):
        at = np.flatnonzero(made.rank == rank)
        found.append(RankLayer(f"rank {rank + 1}", at, t[at], None))
    if longest > ranks:
        at = np.flatnonzero(made.rank >= ranks)
        found.append(RankLayer(f"rank {ranks + 1} and beyond", at, t[at], None))
    n = unlisted(made)
    at = np.flatnonzero(n > 0)
    return (*found, RankLayer(REST, at, made.rest[at], 1.0 / n[at]))


def hits_in(layer: RankLayer, made: CalibrationPairs) -> NDArray[np.bool_]:
    """Whether each pair of a layer is a hit; one of the rest is where the outcome is not listed."""
    return made.miss[layer.at] if layer.name == REST else made.hit[layer.at]


def unlisted(made: CalibrationPairs) -> Floats:
    """How many classes each case leaves unlisted, perhaps infinitely many."""
    n: Floats = made.lists.checked.rows.size - made.lists.sizes
    return n


def part_of(layer: RankLayer, hit: NDArray[np.bool_], cases: int) -> DecompositionTerm:
    """What a layer adds to the mean over all cases."""
    return split(layer.name, len(layer.at), grouped(layer.confidence, hit, layer.weight), cases)


def split(name: str, entries: int, groups: TiedGroups, cases: int) -> DecompositionTerm:
    """The parts of the sum of w (x - h)^2 over groups, divided by the number of cases.

    With h the mean outcome of a group, c the isotonic fit and b the base rate, miscalibration is the sum of
    w (x - c)^2 + 2 w (x - c)(c - h), discrimination that of w (c - b)^2, uncertainty that of w b (1 - b).
    Pooling makes the middle term zero or more in each block, as x rises within it.
    """
    some = groups.weight > 0
    x, w, total = groups.x[some], groups.weight[some], groups.total[some]
    if not len(x):
        return DecompositionTerm(name, entries, 0.0, 0.0, 0.0, 0.0)
    h = total / w
    fit = isotonic_regression(h, weights=w)
    c, blocks = fit.x, fit.blocks[:-1]
    base = total.sum() / w.sum()
    middle = np.maximum(np.add.reduceat(w * (x - c) * (c - h), blocks), 0.0)  # below zero it is rounding
    return DecompositionTerm(
        name,
        entries,
        float((w * ((x - h) ** 2 + h * (1.0 - h))).sum() / cases),
        float(((w * (x - c) ** 2).sum() + 2.0 * middle.sum()) / cases),
        float((w * (c - base) ** 2).sum() / cases),
        float((w.sum() * (base * (1.0 - base))) / cases),
    )


def recalibrated(made: CalibrationPairs, ranks: int) -> TopLists:
    """Each confidence replaced by the hit rate of its likes, then divided by the sum of these and the rest.

    They stand for their padded distributions, even where a rate is now below the share of an unlisted class. The
    outcome has a part in its own rate, which is therefore positive.
    """
    return _restated(made, ranks, flat=False)


def base_rates(made: CalibrationPairs, ranks: int) -> TopLists:
    """The same with one rate per rank, whatever the confidences were."""
    return _restated(made, ranks, flat=True)


def _restated(made: CalibrationPairs, ranks: int, *, flat: bool) -> TopLists:
    lists = made.lists
    t, rest = np.zeros(len(made.rank)), np.zeros(len(lists))
    for layer in layers(made, ranks):
        to = rest if layer.name == REST else t
        to[layer.at] = _rates(layer, hits_in(layer, made), flat=flat)
    total = row_sums(t, lists.offsets) + rest
    t, rest = t / np.repeat(total, lists.sizes), rest / total
    with np.errstate(divide="ignore"):
        log_rest = np.log(rest)
    return revalued(lists, t, log_rest).as_distributions()


def _rates(layer: RankLayer, hit: NDArray[np.bool_], *, flat: bool) -> Floats:
    """Hit rates; of the rest every case counts once."""
    if not len(hit):
        return np.zeros(0)
    return np.full(len(hit), hit.mean()) if flat else pav(layer.confidence, hit)(layer.confidence)


RANKS = 10


@dataclass(frozen=True, slots=True, repr=False)
class Decomposition:
    """A mean score: miscalibration - discrimination + uncertainty + misses + penalty (+ within, if from bins).

    Attributes
    ----------
    rule : str
        The name of the scoring rule.
    cases : int
        How many cases there are.
    score : float
        The mean score.
    miscalibration, discrimination : float or None
        The parts; None where infinite scores leave one without a value, and `note` says so.
    uncertainty : float
        The part of the base rates.
    misses : float
        What unlisted outcomes cost whatever the rest mass is.
    penalty : float
        The mean penalty of invalid lists.
    parts : tuple of DecompositionTerm
        What each rank, and the rest, adds; empty where the rule has no such parts.
    within : float
        What varies within bins, where the decomposition is from bins.
    note : str
        Why a part is missing.

    """

    rule: str
    cases: int
    score: float
    miscalibration: float | None
    discrimination: float | None
    uncertainty: float
    misses: float
    penalty: float
    parts: tuple[DecompositionTerm, ...]
    within: float = 0.0
    note: str = ""

    def __repr__(self) -> str:
        terms = (
            (self.uncertainty, "uncertainty"),
            (self.misses, "misses"),
            (None if self.discrimination is None else -self.discrimination, "discrimination"),
            (self.miscalibration, "miscalibration"),
            (self.penalty, "penalty"),
            (self.within, "within bins"),
        )
        shown = [f"{significant(x, sign=True)} {name}" for x, name in terms if x]
        total = " ".join(shown).removeprefix("+")
        return f"Decomposition({self.rule} {significant(self.score)} = {total}; {self.cases:,} cases)"


def decompose(
    lists: Any,
    y: Any,
    *,
    rule: Any = "brier",
    penalty: float | None = None,
    ranks: Any = RANKS,
    space: Any = None,
) -> Decomposition:
    """The mean score in parts that add up to it.

    Parameters
    ----------
    lists : TopLists or array_like
        Predictions of any shape that `as_lists` takes. Of an invalid list the largest valid sublist is used.
    y : array_like
        One outcome per case.
    rule : str or Rule, default "brier"
        The scoring rule.
    penalty : float, optional
        The penalty of invalid lists; by default that of the rule.
    ranks : int, default 10
        How many ranks have a part of their own; further ones are taken together.
    space : int, float, ClassSpace or LabelSets, optional
        The classes, where the predictions do not tell.

    Returns
    -------
    Decomposition
        The parts.

    Notes
    -----
    The Brier score of a list is a sum over its ranks, the rest mass and misses:
    S = sum over r of (t_r - h_r)^2 + (a - u)^2 / n + u (1 - 1/n), where h_r says whether the class of rank r is the
    outcome, u whether none is, a is the rest mass and n the number of classes that share it. Each square is split by
    isotonic regression, so that no part is negative. For other rules S is the mean score of the lists, C that of lists
    calibrated rank by rank in the same way, and R that of one list of base rates: miscalibration S - C, discrimination
    R - C, uncertainty R. The first two may then be negative, because what is calibrated by rank need not be so jointly.

    References
    ----------
    Dimitriadis, Gneiting and Jordan (2021), Stable reliability diagrams for probabilistic classifiers, PNAS 118(8).

    Examples
    --------
    >>> lists = TopLists.from_dicts([{"a": 0.9}, {"a": 0.6}, {"b": 0.6}], 3)
    >>> made = decompose(lists, ["a", "a", "c"])
    >>> [round(x, 6) for x in (made.score, made.miscalibration, made.discrimination, made.uncertainty, made.misses)]
    [0.431667, 0.015, 0.083333, 0.333333, 0.166667]

    """
    rule, ranks, lists = as_rule(rule), as_whole(ranks, "ranks", 1), as_lists(lists, space)
    made = calibration_pairs(lists, y)
    require_cases(made)
    total = float(score(lists, y, rule=rule, penalty=penalty).mean())
    due = float(penalise(np.zeros(len(lists)), lists, rule, penalty).mean())
    if isinstance(rule, Brier):
        return _by_rank(made, rule, total, due, ranks)
    return _by_recalibration(lists, y, made, rule, total, due, ranks)


def sum_up(
    rule: Rule,
    cases: int,
    total: float,
    parts: tuple[DecompositionTerm, ...],
    misses: float,
    due: float,
    within: float = 0.0,
) -> Decomposition:
    """The whole of its parts."""
    return Decomposition(
        name_of(rule),
        cases,
        total,
        math.fsum(p.miscalibration for p in parts),
        math.fsum(p.discrimination for p in parts),
        math.fsum(p.uncertainty for p in parts),
        misses,
        due,
        parts,
        within,
    )


def _by_rank(made: CalibrationPairs, rule: Brier, total: float, due: float, ranks: int) -> Decomposition:
    cases, by = len(made.lists), 0.5 if rule.scale_by_half else 1.0
    parts = tuple(part_of(layer, hits_in(layer, made), cases).times(by) for layer in layers(made, ranks))
    misses = by * float((1.0 - 1.0 / unlisted(made)[made.miss]).sum()) / cases
    return sum_up(rule, cases, total, parts, misses, due)


def _by_recalibration(
    lists: TopLists, y: Any, made: CalibrationPairs, rule: Rule, total: float, due: float, ranks: int
) -> Decomposition:
    s, c, r = (
        float(score(each, y, rule=rule, penalty=0.0).mean())
        for each in (lists, recalibrated(made, ranks), base_rates(made, ranks))
    )
    note = ""
    if math.isinf(c):
        note = (
            "the mean score is infinite whatever the confidences are, as with a miss among infinitely many classes: "
            "it has no parts."
        )
    elif math.isinf(s):
        note = "the mean score is infinite, and all of that is miscalibration."
    return Decomposition(
        name_of(rule), len(lists), total, _minus(s, c), _minus(r, c), r, 0.0, due, (), 0.0, note
    )  # fmt: skip


def _minus(a: float, b: float) -> float | None:
    return None if math.isinf(a) and math.isinf(b) else a - b
