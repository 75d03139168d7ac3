"""Reliability curves: the hit rate as an isotonic function of the confidence, with pointwise bands."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import isotonic_regression

from toplist._arguments import as_probability, as_whole
from toplist._text import significant
from toplist._typing import Floats
from toplist.calibration.bins import Bin, Bins
from toplist.calibration.pairs import CalibrationPairs, Of, OutcomeSampler, View, calibration_pairs, require_cases, view
from toplist.core.isotonic import Steps, TiedGroups, grouped, pool
from toplist.errors import TopListError
from toplist.lists import TopLists

KINDS = ("consistency", "confidence")


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


def band_of(kind: Any, lists: TopLists, seen: View, x: Floats, *, level: Any, draws: Any, seed: Any) -> Band | None:
    """The band of a view at some of its confidences; `lists` are those of its pairs.

    "consistency": outcomes are sampled from the padded lists, so that at most one class of a list is the outcome. At
    each x a curve of calibrated lists is in the band with probability `level` or more, and off its edges with no more
    than that. "confidence": cases are sampled with replacement. That is rough, as for every bootstrap of isotonic fits:
    at level 0.9 it held the truth at 82 % of the points with 200 cases, 88 % with 1,000 and 92 % with 5,000 (even
    confidences).
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
    return Band(kind, level, low, high, draws, seed)


def _calibrated(
    lists: TopLists, seen: View, values: Floats, code: NDArray[np.intp], rng: np.random.Generator
) -> Callable[[], Floats]:
    """The curve of outcomes sampled from the lists. Equal confidences are grouped once; a draw only counts hits."""
    weight, sampler = np.bincount(code).astype(np.float64), OutcomeSampler.of(lists)

    def draw() -> Floats:
        hits = np.bincount(code[seen.hits(sampler.places(rng))], minlength=len(values))
        curve: Floats = isotonic_regression(hits / weight, weights=weight).x
        return curve

    return draw


def _bootstrapped(
    lists: TopLists, seen: View, values: Floats, code: NDArray[np.intp], rng: np.random.Generator
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
        Where the curve of calibrated lists would be, where the curve of other cases would be, or no band.
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
