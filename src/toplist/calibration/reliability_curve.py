"""Reliability: how often what was promised happened, as a rising curve of the size of the promise.

How much a reliability curve moves by chance: if the lists are right, or if other cases had come.

What was promised and what came of it, by the size of the promise: the numbers of a reliability diagram.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import isotonic_regression

from toplist._arguments import as_probability, as_whole
from toplist._typing import Floats
from toplist.calibration.bins import Bin, Bins
from toplist.calibration.pairs import CalibrationPairs, Of, OutcomeSampler, View, promises, require_cases, view
from toplist.core.isotonic import Steps, TiedGroups, grouped, pool
from toplist.errors import TopListError
from toplist.lists import TopLists

KINDS = ("consistency", "confidence")


@dataclass(frozen=True, slots=True)
class Band:
    """A pointwise band; `low` and `high` belong to the `x` of the curve."""

    kind: str
    level: float
    low: Floats
    high: Floats
    draws: int
    seed: int


def band_of(kind: Any, lists: TopLists, seen: View, x: Floats, *, level: Any, draws: Any, seed: Any) -> Band | None:
    """The band of a view at some of its values; `lists` are those of its promises.

    "consistency": outcomes are drawn from the padded lists, so that at most one class of a list happens. At each x a
    curve of calibrated lists is in the band with probability `level` or more, and off its edges with no more than that.
    "confidence": cases are drawn with replacement. That is rough, as for every bootstrap of isotonic fits: at level 0.9
    it held the truth at 82 % of the points with 200 cases, 88 % with 1,000 and 92 % with 5,000 (even confidences).
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
    values, code = np.unique(seen.promised, return_inverse=True)
    at, rng = np.searchsorted(values, x), np.random.default_rng(seed)
    draw = (_if_right if kind == "consistency" else _if_others_had_come)(lists, seen, values, code, rng)
    curves = np.stack([draw()[at] for _ in range(draws)])
    # these quantiles leave a further, exchangeable curve outside with the probability that is asked for
    low, high = np.quantile(curves, [tail, 1.0 - tail], axis=0, method="weibull")
    return Band(kind, level, low, high, draws, seed)


def _if_right(
    lists: TopLists, seen: View, values: Floats, code: NDArray[np.intp], rng: np.random.Generator
) -> Callable[[], Floats]:
    """The curve of outcomes drawn from the lists. Equal values are known once; a draw only counts."""
    weight, drawing = np.bincount(code).astype(np.float64), OutcomeSampler.of(lists)

    def draw() -> Floats:
        kept = np.bincount(code[seen.happening(drawing.places(rng))], minlength=len(values))
        curve: Floats = isotonic_regression(kept / weight, weights=weight).x
        return curve

    return draw


def _if_others_had_come(
    lists: TopLists, seen: View, values: Floats, code: NDArray[np.intp], rng: np.random.Generator
) -> Callable[[], Floats]:
    """The curve of cases drawn with replacement; those that promise nothing have no say."""
    kept, makers = np.flatnonzero(seen.kept), np.unique(seen.case)

    def draw() -> Floats:
        times = np.zeros(len(lists))
        times[makers] = np.bincount(rng.integers(0, len(makers), len(makers)), minlength=len(makers))
        weight = np.bincount(code, weights=times[seen.case], minlength=len(values)).astype(np.float64)
        total = np.bincount(code[kept], weights=times[seen.case[kept]], minlength=len(values))
        return pool(TiedGroups(values, weight, total.astype(np.float64)))(values)

    return draw


_POINTS = 200


@dataclass(frozen=True, slots=True)
class Reliability:
    """How often promises of each size were kept; calibrated ones lie on the diagonal."""

    of: Of  # "listed", "top", "mass", or a rank from 1
    count: int  # of promises
    promised: float  # their mean
    kept: float  # how often they were kept
    steps: Steps  # the rising step function that fits best
    x: Floats  # up to 200 promises at quantiles, and the ends of the steps
    curve: Floats  # the step function there
    band: Band | None
    histogram: tuple[Bin, ...]


def reliability(
    lists: TopLists, y: Any, *, of: Of = "listed", band: Any = "consistency", level: Any = 0.9,
    draws: Any = 200, seed: Any = 0,
) -> Reliability:  # fmt: skip
    """The isotonic reliability curve of lists (CORP; Dimitriadis, Gneiting and Jordan 2021), with a pointwise band.

    `of`: "listed" (all listed confidences), "top" (the most confident class), a rank from 1, or "mass" (the listed mass
    against how often what happened is listed). `band`: "consistency" (where the curve of calibrated lists would be),
    "confidence" (where that of other cases would be) or None. Of an invalid list its largest valid sublist is seen.

    >>> lists = TopLists.from_dicts([{"a": 0.9}, {"a": 0.6}, {"b": 0.6}], 3)
    >>> made = reliability(lists, ["a", "a", "c"], band=None)
    >>> made.x, made.curve
    (array([0.6, 0.9]), array([0.5, 1. ]))
    """
    return _reliability(promises(lists, y), of, band, level, draws, seed)


def reliability_by_rank(
    lists: TopLists, y: Any, *, ranks: Any = 5, band: Any = "consistency", level: Any = 0.9, draws: Any = 200,
    seed: Any = 0,
) -> tuple[Reliability, ...]:  # fmt: skip
    """The reliability of the first, second, ... most confident class, as far as lists are long."""
    made, ranks = promises(lists, y), as_whole(ranks, "ranks", 1)
    require_cases(made)
    last = min(ranks, int(made.lists.sizes.max()))
    return tuple(_reliability(made, rank, band, level, draws, seed) for rank in range(1, last + 1))


def _reliability(made: CalibrationPairs, of: Of, band: Any, level: Any, draws: Any, seed: Any) -> Reliability:
    seen = view(made, of)
    groups = grouped(seen.promised, seen.kept)
    steps = pool(groups)
    x = grid(groups, steps)
    return Reliability(
        of=seen.of,
        count=len(seen.promised),
        promised=float(seen.promised.mean()),
        kept=float(seen.kept.mean()),
        steps=steps,
        x=x,
        curve=steps(x),
        band=band_of(band, made.lists, seen, x, level=level, draws=draws, seed=seed),
        histogram=Bins.of(seen.promised, seen.kept).means(),
    )


def grid(groups: TiedGroups, steps: Steps) -> Floats:
    """Where to look at a curve: values at quantiles of the promises, and the ends of the steps."""
    passed = np.cumsum(groups.weight)
    at = np.searchsorted(passed, np.linspace(0.0, passed[-1], _POINTS))
    some: Floats = groups.x[np.unique(np.minimum(at, len(passed) - 1))]
    return np.unique(np.concatenate((some, steps.low, steps.high)))
