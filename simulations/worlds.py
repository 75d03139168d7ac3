"""Scores whose true means are known: independent, weighted, clustered, in time, with missing rounds."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from toplist.inference.aggregates import tally
from toplist.inference.intervals import Intervals
from toplist.inference.score_matrix import ScoreMatrix
from toplist.inference.settings import IntervalMethod
from toplist.scoring.case_scores import METRICS, CaseScores, Grouping

Floats = NDArray[np.float64]
Rng = np.random.Generator
LEVEL = 0.95
CLASSES = 5
SHARPNESS = 0.3  # of Dirichlet forecasts: most of them are nearly sure


@dataclass(frozen=True, slots=True)
class World:
    """Scores under one rule, (models, cases), NaN where one is missing, with what is true of them."""

    scores: Floats
    truth: dict[str, float]  # the true value of each quantity that is estimated
    weights: Floats | None = None
    units: NDArray[np.int64] | None = None
    ordered: bool = False
    empty: Floats = field(default_factory=lambda: np.ones(1))

    def panel(self) -> ScoreMatrix:
        """As a comparison would make it."""
        scores = np.ascontiguousarray(self.scores.T[:, None, :])
        return ScoreMatrix(scores, self.empty[:, None], self.weights, self.units, self.ordered)

    def sums(self) -> Intervals:
        """Intervals from exact sums, at 95%."""
        there = ~np.isnan(self.scores)
        complete = bool(there.all())
        grouped = self.units is not None and not self.ordered and complete
        empty = np.broadcast_to(self.empty, self.scores.shape[1])
        sheets = [_sheet(s, empty) for s in (self.scores if complete else np.where(there, self.scores, 0.0))]
        found = tally(
            sheets,
            present=() if complete else list(there),
            weights=self.weights,
            clusters=Grouping.of(self.units) if grouped else None,
        )
        return Intervals(found[None], LEVEL)

    def by(self, how: IntervalMethod, **options: Any) -> Intervals:
        """Intervals as a comparison makes them."""
        return Intervals(self.sums().tally, LEVEL, how, self.panel(), **options)

    def apart(self) -> World:
        """The same as if every case were independent."""
        return World(self.scores, self.truth, self.weights, None, False, self.empty)


def _sheet(scores: Floats, empty: Floats) -> CaseScores:
    nothing = np.zeros(len(scores), np.int8)
    metrics = {metric.name: nothing for metric in METRICS if not metric.per_k}
    return CaseScores(("brier",), scores[None], scores[None], empty[None], metrics)


# Independent cases


def forecasts(rng: Rng, n: int, blur: float = 0.6, sizes: NDArray[np.int64] | None = None) -> tuple[Floats, Floats]:
    """Brier scores of a forecaster who knows the probabilities, and of one who moves them towards equal ones."""
    if sizes is None:
        p = rng.dirichlet(np.full(CLASSES, SHARPNESS), size=n)
        m: Any = CLASSES
    else:
        p = rng.standard_gamma(SHARPNESS, size=(n, int(sizes.max())))
        p[np.arange(p.shape[1]) >= sizes[:, None]] = 0.0
        p /= p.sum(axis=1, keepdims=True)
        m = sizes
    y = (p.cumsum(axis=1) < rng.random(n)[:, None]).sum(axis=1).clip(max=p.shape[1] - 1)
    at = p[np.arange(n), y]
    squares = (p * p).sum(axis=1)
    known = 1 - 2 * at + squares
    blurred = 1 - 2 * (blur * at + (1 - blur) / m) + blur**2 * squares + (1 - blur**2) / m
    return known, blurred


def expected(m: float, blur: float = 0.6) -> tuple[float, float]:
    """The true means of these scores: E sum p^2 is (a + 1) / (a m + 1) for a Dirichlet distribution."""
    squares = (SHARPNESS + 1) / (SHARPNESS * m + 1)
    return 1 - squares, 1 - (2 * blur - blur**2) * squares - (1 - blur) ** 2 / m


def independent(rng: Rng, n: int, *, weighted: bool = False) -> World:
    """Brier scores of forecasts over five classes; weights are log-normal."""
    a, b = expected(CLASSES)
    truth = {"mean": a, "difference": a - b, "skill over another": 1 - a / b}
    weights = rng.lognormal(size=n) if weighted else None
    return World(np.stack(forecasts(rng, n)), truth, weights)


def uneven(rng: Rng, n: int) -> World:
    """The same where every case has its own number of classes, from two to nine."""
    sizes = rng.integers(2, 10, n)
    known, blurred = forecasts(rng, n, sizes=sizes)
    mean = float(np.mean([expected(m)[0] for m in range(2, 10)]))
    empty = float(np.mean([1 - 1 / m for m in range(2, 10)]))
    return World(np.stack([known, blurred]), {"skill": 1 - mean / empty}, empty=1 - 1 / sizes)


def rare(rng: Rng, n: int) -> World:
    """Brier scores of "never" where one case in fifty happens, against "one in fifty" every time."""
    happened = rng.random(n) < 0.02
    never, often = np.where(happened, 2.0, 0.0), np.where(happened, 2 * 0.98**2, 2 * 0.02**2)
    return World(np.stack([never, often]), {"mean": 0.04})


def equals(rng: Rng, n: int, k: int = 5, *, ordered: bool = False, behind: float = 0.0) -> World:
    """As many models, of which all are equally good, or all but the first are behind."""
    noise = series(rng, n, k, "MA(4)") if ordered else rng.exponential(size=(k, n)) - 1
    hard = rng.exponential(size=n)
    shift = np.where(np.arange(k) > 0, behind, 0.0)[:, None]
    return World(noise + hard + shift + 5.0, {}, ordered=ordered)


def apart(rng: Rng, n: int, difference: float, *, ordered: bool = False) -> World:
    """Two models whose scores differ by noise of variance one around this difference."""
    hard, noise = rng.exponential(size=n), rng.exponential(size=n) - 1
    return World(np.stack([hard + difference + noise, hard]), {"difference": difference}, ordered=ordered)


# Clusters, time, missing rounds


def clustered(rng: Rng, groups: int, *, even: bool = False) -> World:
    """Differences in a cluster share three tenths of their variance.

    Two to twenty cases each, and skewed; where `even`, ten cases each, and normal.
    """
    units = np.repeat(np.arange(groups), 10 if even else rng.integers(2, 21, groups))
    draw = rng.normal if even else lambda size: rng.exponential(size=size) - 1
    shared, noise = draw(size=groups), draw(size=len(units))
    difference = 0.1 + np.sqrt(0.3) * shared[units] + np.sqrt(0.7) * noise
    hard = rng.exponential(size=len(units)) + 2
    return World(np.stack([hard + difference, hard]), {"difference": 0.1}, units=units)


def series(rng: Rng, n: int, k: int, kind: str) -> Floats:
    """Rows of noise that depends on its past; mean zero, variance one."""
    if kind == "MA(4)":
        noise = rng.normal(size=(k, n + 4))
        return np.stack([noise[:, i : n + i] for i in range(5)]).sum(axis=0) / np.sqrt(5)
    from scipy.signal import lfilter  # noqa: PLC0415

    noise = rng.normal(size=(k, n + 100))
    made: Floats = lfilter([np.sqrt(0.75)], [1.0, -0.5], noise)[:, 100:]
    return made


def timed(rng: Rng, n: int, kind: str, *, cases: int = 1) -> World:
    """Time points one after the other, with so many cases each, which share the difference of their time point.

    How hard a case is for both differs more than that, and does not depend on the past: it hides what does.
    """
    difference = np.repeat(series(rng, n, 1, kind)[0], cases)
    hard = 3 * rng.exponential(size=n * cases) + 5
    own = rng.normal(size=n * cases) * (cases > 1)
    units = np.repeat(np.arange(n), cases) if cases > 1 else None
    return World(np.stack([hard + difference + own, hard]), {"difference": 0.0}, units=units, ordered=True)


def rounds(rng: Rng, n: int) -> World:
    """Four models, each of which misses three rounds in ten; scores are in fixed proportions on average."""
    level = np.array([0.8, 1.0, 1.1, 1.4])
    hard = rng.gamma(2.0, size=n)
    scores = level[:, None] * hard * rng.gamma(2.0, 0.5, size=(4, n))
    scores[rng.random((4, n)) < 0.3] = np.nan
    ratio = float(level[0] / np.exp(np.log(level).mean()))
    return World(scores, {"relative": ratio, "skill over another": 1 - level[0] / level[3]})
