"""Reliability curves with pointwise bands, and the decomposition of a mean score: both by isotonic regression.

The terms are miscalibration, discrimination, uncertainty, misses and penalties.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaincinv

from toplist._text import significant
from toplist._typing import Floats
from toplist.calibration.pairs import (
    Bin,
    Bins,
    CalibrationPairs,
    Of,
    OutcomeSampler,
    PairsView,
    Steps,
    TiedGroups,
    calibration_pairs,
    grouped,
    isotonic_regression,
    merged,
    pav,
    pool,
    require_cases,
    view,
)
from toplist.core.arguments import as_probability, as_whole
from toplist.errors import RuleError, TopListError
from toplist.lists import TopLists, as_lists
from toplist.lists.toplists import revalued
from toplist.lists.validation import row_sums
from toplist.scoring.rules import Brier, Rule, as_rule, name_of
from toplist.scoring.scores import penalise, score

KINDS = ("consistency", "confidence")
REST = "rest"


@dataclass(frozen=True, slots=True, repr=False)
class Band:
    """A pointwise band of a reliability curve.

    Attributes
    ----------
    kind : {"consistency", "confidence"}
        Where the curve of calibrated lists would be, or where the curve of other cases would be.
    level : float
        The probability of the band at each point.
    low, high : ndarray of float
        The bounds at each `x` of the curve.
    draws, seed : int
        How many samples it is from, and the seed of the random numbers.

    """

    kind: str
    level: float
    low: Floats
    high: Floats
    draws: int
    seed: int

    def __repr__(self) -> str:
        return f"Band({self.kind}, {self.level:.6g}, {len(self.low):,} points, {self.draws:,} draws)"


def band_of(
    kind: Any, lists: TopLists, seen: PairsView, x: Floats, *, level: Any, draws: Any, seed: Any
) -> Band | None:
    """The band of a view at some of its confidences; `lists` are those of its pairs.

    "consistency": outcomes are sampled from the padded lists, so that at most one class of a list is the outcome. At
    each x a curve of calibrated lists is in the band with probability `level` or more, and off its edges with no more
    than that. "confidence": cases are sampled with replacement, which is too narrow by itself where steps are short, as
    for every bootstrap of isotonic fits: the curve of a step without hits is zero in every sample. So the band is as
    wide as the interval of Clopper and Pearson for the hits of the step, at least. At level 0.9 it held the truth at
    94 % of the points with 200 cases and 96 % with 1,000 (calibrated, confidences spread evenly; 76 % and 86 % without
    these intervals), and at 93 % to 96 % where the hit rate is the square of the confidence, or the same throughout.
    """
    if kind is None:
        return None
    if kind not in KINDS:
        raise TopListError(f"a band is of 'consistency', of 'confidence', or None, not {kind!r}.")
    level, draws, seed = as_probability(level, "level"), as_whole(draws, "draws", 1), as_whole(seed, "seed", 0)
    tail = (1.0 - level) / 2.0
    least = math.ceil(1.0 / tail - 1e-9) - 1
    if draws < least:
        raise TopListError(f"a band of level {level:g} needs at least {least} draws, not {draws}.")
    values, code = np.unique(seen.confidence, return_inverse=True)
    at, rng = np.searchsorted(values, x), np.random.default_rng(seed)
    draw = (_calibrated if kind == "consistency" else _bootstrapped)(lists, seen, values, code, rng)
    curves = np.stack([draw()[at] for _ in range(draws)])
    # these quantiles leave a further, exchangeable curve outside with the probability that is asked for
    low, high = np.quantile(curves, [tail, 1.0 - tail], axis=0, method="weibull")
    if kind == "confidence":
        least, most = _of_steps(pav(seen.confidence, seen.hit), x, level)
        low, high = np.minimum(low, least), np.maximum(high, most)
    return Band(kind, level, low, high, draws, seed)


def _calibrated(
    lists: TopLists, seen: PairsView, values: Floats, code: NDArray[np.intp], rng: np.random.Generator
) -> Callable[[], Floats]:
    """The curve of outcomes sampled from the lists. Equal confidences are grouped once; a draw only counts hits."""
    weight, sampler = np.bincount(code).astype(np.float64), OutcomeSampler.of(lists)

    def draw() -> Floats:
        hits = np.bincount(code[seen.hits(sampler.places(rng))], minlength=len(values))
        curve: Floats = isotonic_regression(hits / weight, weight).x
        return curve

    return draw


def _bootstrapped(
    lists: TopLists, seen: PairsView, values: Floats, code: NDArray[np.intp], rng: np.random.Generator
) -> Callable[[], Floats]:
    """The curve of cases sampled with replacement, among those that have a pair."""
    hit, cases = np.flatnonzero(seen.hit), np.unique(seen.case)

    def draw() -> Floats:
        times = np.zeros(len(lists))
        times[cases] = np.bincount(rng.integers(0, len(cases), len(cases)), minlength=len(cases))
        weight = np.bincount(code, weights=times[seen.case], minlength=len(values)).astype(np.float64)
        total = np.bincount(code[hit], weights=times[seen.case[hit]], minlength=len(values))
        return pool(TiedGroups(values, weight, total.astype(np.float64)))(values)

    return draw


def _of_steps(steps: Steps, x: Floats, level: float) -> tuple[Floats, Floats]:
    """The interval of Clopper and Pearson for the hit rate of the step in which each x lies."""
    hits = np.round(steps.value * steps.weight)
    ends = np.array([clopper_pearson(s, n, level) for s, n in zip(hits, steps.weight, strict=True)])
    at = np.maximum(np.searchsorted(steps.low, x, side="right") - 1, 0)
    return ends[at, 0], ends[at, 1]


def clopper_pearson(hits: float, cases: int, level: float) -> tuple[float, float]:
    """The exact interval of a share.

    >>> [round(end, 4) for end in clopper_pearson(8, 10, 0.95)]
    [0.4439, 0.9748]
    """
    tail = (1.0 - level) / 2.0
    low = 0.0 if hits <= 0 else float(betaincinv(hits, cases - hits + 1.0, tail))
    high = 1.0 if hits >= cases else float(betaincinv(hits + 1.0, cases - hits, 1.0 - tail))
    return low, high


_POINTS = 200


@dataclass(frozen=True, slots=True, repr=False)
class Reliability:
    """Reliability curve: the hit rate as an isotonic function of the confidence, the diagonal if calibrated.

    Attributes
    ----------
    of : {"listed", "top", "mass"} or int
        Which pairs of confidence and hit it is of.
    count : int
        How many pairs there are.
    mean_confidence, hit_rate : float
        Their mean confidence, and how often they are hits.
    steps : Steps
        The isotonic fit, a step function.
    x, curve : ndarray of float
        Up to 200 confidences at quantiles and the ends of the steps, and the fit there.
    band : Band or None
        The pointwise band.
    histogram : tuple of Bin
        The pairs in twenty bins.

    """

    of: Of
    count: int
    mean_confidence: float
    hit_rate: float
    steps: Steps
    x: Floats
    curve: Floats
    band: Band | None
    histogram: tuple[Bin, ...]

    def __repr__(self) -> str:
        means = f"mean confidence {significant(self.mean_confidence)}, hit rate {significant(self.hit_rate)}"
        band = "no band" if self.band is None else f"{self.band.kind} band at {self.band.level:.6g}"
        return f"Reliability({self.of}: {self.count:,} pairs, {means}, {band})"


def reliability(
    lists: Any, y: Any, *, of: Of = "listed", band: Any = "consistency", level: Any = 0.9, draws: Any = 200,
    seed: Any = 0, space: Any = None,
) -> Reliability:  # fmt: skip
    """The isotonic reliability curve of lists (CORP), with a pointwise band.

    Parameters
    ----------
    lists : TopLists or array_like
        Predictions of any shape that `as_lists` takes. Of an invalid list the largest valid sublist is used.
    y : array_like
        One outcome per case.
    of : {"listed", "top", "mass"} or int, default "listed"
        All listed confidences, the most confident class, the listed mass against whether the outcome is listed, or a
        rank from 1.
    band : {"consistency", "confidence"} or None, default "consistency"
        Where the curve of calibrated lists would be, where the true curve may be, or no band.
    level : float, default 0.9
        The probability of the band at each point.
    draws, seed : int, default 200 and 0
        How many samples the band is from, and the seed of the random numbers.
    space : int, float, ClassSpace or LabelSets, optional
        The classes, where the predictions do not tell.

    Returns
    -------
    Reliability
        The curve and its band.

    References
    ----------
    Dimitriadis, Gneiting and Jordan (2021), Stable reliability diagrams for probabilistic classifiers, PNAS 118(8).

    Examples
    --------
    >>> lists = TopLists.from_dicts([{"a": 0.9}, {"a": 0.6}, {"b": 0.6}], 3)
    >>> made = reliability(lists, ["a", "a", "c"], band=None)
    >>> made.x, made.curve
    (array([0.6, 0.9]), array([0.5, 1. ]))

    """
    return _reliability(calibration_pairs(lists, y, space), of, band, level, draws, seed)


def reliability_by_rank(
    lists: Any, y: Any, *, ranks: Any = 5, band: Any = "consistency", level: Any = 0.9, draws: Any = 200,
    seed: Any = 0, space: Any = None,
) -> tuple[Reliability, ...]:  # fmt: skip
    """The reliability curves of the first, second, ... most confident class.

    Parameters
    ----------
    lists, y, band, level, draws, seed, space
        As for `reliability`.
    ranks : int, default 5
        How many ranks, at most the length of the longest list.

    Returns
    -------
    tuple of Reliability
        One curve per rank.

    Examples
    --------
    >>> curves = reliability_by_rank([[0.7, 0.3], [0.6, 0.4]], [0, 1], ranks=2, band=None)
    >>> [curve.hit_rate for curve in curves]
    [0.5, 0.5]
    """
    made, ranks = calibration_pairs(lists, y, space), as_whole(ranks, "ranks", 1)
    require_cases(made)
    last = min(ranks, int(made.lists.sizes.max()))
    return tuple(_reliability(made, rank, band, level, draws, seed) for rank in range(1, last + 1))


def _reliability(made: CalibrationPairs, of: Of, band: Any, level: Any, draws: Any, seed: Any) -> Reliability:
    seen = view(made, of)
    groups = grouped(seen.confidence, seen.hit)
    steps = pool(groups)
    x = grid(groups, steps)
    return Reliability(
        of=seen.of,
        count=len(seen.confidence),
        mean_confidence=float(seen.confidence.mean()),
        hit_rate=float(seen.hit.mean()),
        steps=steps,
        x=x,
        curve=steps(x),
        band=band_of(band, made.lists, seen, x, level=level, draws=draws, seed=seed),
        histogram=Bins.of(seen.confidence, seen.hit).means(),
    )


def grid(groups: TiedGroups, steps: Steps) -> Floats:
    """Where a curve is evaluated: confidences at quantiles, and the ends of the steps."""
    passed = np.cumsum(groups.weight)
    at = np.searchsorted(passed, np.linspace(0.0, passed[-1], _POINTS))
    some: Floats = groups.x[np.unique(np.minimum(at, len(passed) - 1))]
    return np.unique(np.concatenate((some, steps.low, steps.high)))


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
    t, longest = merged(made.confidence), int(made.lists.sizes.max(initial=0))
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
    fit = isotonic_regression(h, w)
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


def _restated(made: CalibrationPairs, ranks: int, *, flat: bool) -> TopLists:
    """Each confidence replaced by the hit rate of its likes (of all of its rank, where `flat`), which then add up to 1.

    They stand for their padded distributions, even where a rate is now below the share of an unlisted class. The
    outcome has a part in its own rate, which is therefore positive. Of the rest every case counts once.
    """
    lists = made.lists
    t, rest = np.zeros(len(made.rank)), np.zeros(len(lists))
    for layer in layers(made, ranks):
        hit, to = hits_in(layer, made), rest if layer.name == REST else t
        if len(hit):
            to[layer.at] = hit.mean() if flat else pav(layer.confidence, hit)(layer.confidence)
    total = row_sums(t, lists.offsets) + rest
    t, rest = t / np.repeat(total, lists.sizes), rest / total
    with np.errstate(divide="ignore"):
        log_rest = np.log(rest)
    return revalued(lists, t, log_rest).as_distributions()


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
    isotonic regression, so that no part is negative; confidences that are equal to thirteen significant digits, and
    rest masses that are to thirteen decimals, are one point of it, since they may be sums. For other rules S is the
    mean score of the lists, C that of lists calibrated rank by rank in the same way, and R that of one list of base
    rates: miscalibration S - C, discrimination R - C, uncertainty R. The first two may then be negative, because what
    is calibrated by rank need not be so jointly.

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
    if rule.ordinal:
        raise RuleError(
            "a decomposition calibrates lists rank by rank, whichever classes stand there, which says nothing of "
            f'ordered classes: {name_of(rule)} has none. Take a rule that ignores the order, such as "brier".'
        )
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
    parts = tuple(
        split(layer.name, len(layer.at), grouped(layer.confidence, hits_in(layer, made), layer.weight), cases).times(by)
        for layer in layers(made, ranks)
    )
    misses = by * float((1.0 - 1.0 / unlisted(made)[made.miss]).sum()) / cases
    return sum_up(rule, cases, total, parts, misses, due)


def _by_recalibration(
    lists: TopLists, y: Any, made: CalibrationPairs, rule: Rule, total: float, due: float, ranks: int
) -> Decomposition:
    s, c, r = (
        float(score(each, y, rule=rule, penalty=0.0).mean())
        for each in (lists, _restated(made, ranks, flat=False), _restated(made, ranks, flat=True))
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
