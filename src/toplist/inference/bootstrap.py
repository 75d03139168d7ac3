"""Intervals from resamples of independent units: the bootstrap-t, and the wild bootstrap with the null imposed.

The bootstrap-t draws units with replacement, or sets of units a Poisson number of times.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from toplist._typing import Floats
from toplist.core.kernel import mix, uniform
from toplist.inference.aggregates import UnitSums
from toplist.inference.estimation import Estimand
from toplist.inference.results import Estimate

FEWEST = 10  # units; of fewer, too few different samples can be drawn
FEWEST_POISSON = 20  # units; of fewer, a Poisson sample may have none
MOST = 20_000  # units; more are merged at random
_CELLS = 1 << 20  # random numbers at a time
_ROUNDING = 1e-13  # of a sum of products: what is less may be zero
_TIE = 1e-9  # relative: statistics that differ by less are equal but for rounding
_FAR = 512.0  # standard errors: farther away, sums cancel, and nothing changes
_WEBB = np.sqrt([0.5, 1.0, 1.5])
_WEBB = np.concatenate([-_WEBB, _WEBB])
_COUNTS = np.arange(256.0)
_POISSON = np.cumsum([math.exp(-1) / math.factorial(count) for count in range(18)])  # what is beyond is below 2**-53


@dataclass(frozen=True, eq=False)
class Draws:
    """A random factor for each unit in each draw: how often it is drawn, or what its score is multiplied by."""

    codes: NDArray[np.uint8]  # (draws, units)
    values: Floats  # by code

    def dot(self, columns: Floats, squared: Floats | None = None) -> Floats:
        """Sums of columns (units, columns) times the factors, then of others times their squares, for each draw."""
        out = []
        step = max(1, _CELLS // max(1, self.codes.shape[1]))
        for at in range(0, len(self.codes), step):
            factors = self.values[self.codes[at : at + step]]
            parts = [factors @ columns] if squared is None else [factors @ columns, factors**2 @ squared]
            out.append(np.concatenate(parts, axis=1))
        return np.concatenate(out)


def counts(units: int, draws: int, rng: np.random.Generator) -> Draws:
    """How often each unit is drawn, with replacement, in samples of as many units."""
    codes = np.empty((draws, units), np.uint8)  # a count of 256 would take a sample of more units than there are atoms
    step = max(1, _CELLS // units)
    for at in range(0, draws, step):
        drawn = rng.integers(0, units, (min(step, draws - at), units))
        drawn += units * np.arange(len(drawn))[:, None]
        codes[at : at + step] = np.bincount(drawn.ravel(), minlength=drawn.size).reshape(drawn.shape)
    return Draws(codes, _COUNTS)


@lru_cache(maxsize=1)
def poisson(units: int, draws: int, seed: int) -> Draws:
    """How often each unit is drawn, in samples of about as many units: a Poisson number with mean one.

    It follows from a hash of the unit, the draw and the seed, and so is the same in every process and version.
    """
    start = mix(np.array([seed % (1 << 64)], np.uint64) ^ mix(np.arange(1, draws + 1, dtype=np.uint64)))
    codes = np.empty((draws, units), np.uint8)
    step = max(1, _CELLS // units)
    for at in range(0, draws, step):
        hashes = mix(start[at : at + step, None] ^ mix(np.arange(1, units + 1, dtype=np.uint64)))
        codes[at : at + step] = np.searchsorted(_POISSON, uniform(hashes), side="right")
    return Draws(codes, _COUNTS)


def webb(units: int, draws: int, rng: np.random.Generator) -> Draws:
    """Weights with six values (Webb 2023); all combinations, where these are no more than the draws."""
    if 6**units <= draws:
        return Draws(np.indices((6,) * units, np.uint8).reshape(units, -1).T.copy(), _WEBB)
    return Draws(rng.integers(0, 6, (draws, units), np.uint8), _WEBB)


def thinned(units: UnitSums, rng: np.random.Generator) -> UnitSums:
    """At most 20,000 units, merged at random, which changes neither sums nor independence.

    Units are sorted by their scores, so that equal ones are neighbours: merged with each other, they would have the
    spread of fewer units.
    """
    count = units.sums.shape[1]
    if count <= MOST:
        return units
    mixed, width = units.sums[:, rng.permutation(count)], math.ceil(count / MOST)
    return replace(units, sums=np.add.reduceat(mixed, np.arange(0, count, width), axis=1))


@dataclass(frozen=True, eq=False)
class BootstrapT:
    """The distribution of (estimate - value) / standard error over resamples (Efron 1981; Hall 1988)."""

    error: float
    t: Floats  # sorted

    @classmethod
    def of(cls, estimand: Estimand, units: UnitSums, draws: Draws, totals: UnitSums) -> BootstrapT:
        """The error of a resample is that of its own influence values.

        With those of the sample the interval would be far too short where a few units make up most of the weight.
        """
        parts = estimand.contributions(units)
        own = int(np.count_nonzero(estimand.weights(units) > 0))
        error = math.sqrt(own / (own - 1) * float(parts @ parts))
        with np.errstate(all="ignore"):
            columns, slopes = estimand.gradient(units, totals)
            at = np.triu_indices(len(columns))
            products = draws.dot((columns[at[0]] * columns[at[1]]).T).T
            twice = np.where(at[0] == at[1], 1.0, 2.0)[:, None]
            squares = (twice * slopes[at[0]] * slopes[at[1]] * products).sum(axis=0)
            away = estimand.value(totals) - estimand.value(units.all)
            rounding = _ROUNDING * (np.abs(slopes[at[0]] * slopes[at[1]]) * products).sum(axis=0)
            t = np.where(away == 0, 0.0, away / np.sqrt(np.where(squares <= rounding, 0.0, squares)))
        return cls(error, np.sort(t / math.sqrt(own / (own - 1))))

    def estimate(self, value: float, level: float, unit: str) -> Estimate:
        """The equal-tailed interval; p is one minus the level at which it ends at zero."""
        if np.isnan(self.t).any():
            return Estimate(value, reason=f"some resamples have no {unit} that counts")
        draws = len(self.t)
        tail = int((1 + draws) * (1 - level) / 2 + _TIE)
        if not tail:
            return Estimate(value, reason=f"{draws:,} draws are too few for a level of {level:.6g}")
        low, high = value - self.t[-tail] * self.error, value - self.t[tail - 1] * self.error
        if not math.isfinite(low) or not math.isfinite(high):
            return Estimate(value, reason="too many resamples have no spread: a bounded interval needs none")
        ratio = value / self.error
        beyond = min(np.count_nonzero(self.t <= ratio), np.count_nonzero(self.t >= ratio))
        p = min(1.0, 2 * (1 + int(beyond)) / (1 + draws))
        return Estimate(value, float(low), float(high), error=self.error, p=p)


@dataclass(frozen=True, eq=False)
class Wild:
    """The wild bootstrap of units with Webb's weights and the null imposed (MacKinnon, Nielsen and Webb 2023).

    With influence values c (which add up to zero) and shares h of the weight (which add up to one), the scores
    of units at a value v are s = c + (value - v) h. Those of a draw are w s with random weights w; its estimate lies
    sum(w s) from v, with the standard error of w s - sum(w s) h. All of it is a polynomial in v, so that one set of
    sums serves every v. Squares are divided by 1 - h (CR2), as those of the sample are.
    """

    error: float
    once: Floats  # (4, draws): sums of w times c, h, q c h, q h^2, where q is 1 / (1 - h)
    twice: Floats  # (3, draws): sums of w^2 times q c^2, q c h, q h^2
    shares: float  # the sum of q h^2
    units: int

    @classmethod
    def of(cls, estimand: Estimand, units: UnitSums, draws: int, rng: np.random.Generator) -> Wild:
        """As many draws as are asked for, or all there are."""
        weights = estimand.weights(units)
        there = weights > 0
        c, h = estimand.contributions(units)[there], weights[there] / weights.sum()
        q = 1 / (1 - h)
        drawn = webb(len(c), draws, rng)
        once, twice = [c, h, q * c * h, q * h * h], [q * c * c, q * c * h, q * h * h]
        sums = drawn.dot(np.stack(once, axis=1), np.stack(twice, axis=1)).T
        return cls(math.sqrt(float(c @ (q * c))), sums[:4], sums[4:], float(h @ (q * h)), len(c))

    def p(self, away: float) -> float:
        """How often the statistic of a draw is as large as that of the sample, if the true value is so far away."""
        away = min(max(away, -_FAR * self.error), _FAR * self.error)
        c, h, ch, hh = self.once
        far = c + away * h
        squares = self.twice[0] + 2 * away * self.twice[1] + away**2 * self.twice[2]
        squares += far * (far * self.shares - 2 * (ch + away * hh))
        beyond = int(np.count_nonzero(far**2 * self.error**2 >= (1 - _TIE) * away**2 * squares))
        draws = len(c)
        return beyond / draws if draws == 6**self.units else (1 + beyond) / (1 + draws)

    def estimate(self, value: float, level: float, unit: str) -> Estimate:
        """The values that the test does not reject, found by bisection with the same draws; p is that of zero."""
        p = self.p(value)
        low, high = (self._end(value, sign, level, p) for sign in (-1, 1))
        if low is None or high is None:
            few = f"{self.units} {unit}s are too few for a wild bootstrap at a level of {level:.6g}"
            return Estimate(value, reason=few)
        return Estimate(value, low, high, error=self.error, p=p)

    def _end(self, value: float, sign: int, level: float, p: float) -> float | None:
        """The last value on one side that is not rejected; None where there is no end to them."""
        size, near = 1 - level + _TIE, 0.0  # distances are from the value
        steps = [self.error * 2.0**k for k in range(int(math.log2(_FAR)) + 1)]
        if sign * value < 0:  # zero is on this side
            near, steps = (abs(value), steps) if p > size else (0.0, [abs(value)])
        far = next((step for step in steps if step > near and self.p(-sign * step) <= size), None)
        if far is None:
            return None
        while far - near > _TIE * self.error:
            middle = (near + far) / 2
            near, far = (near, middle) if self.p(-sign * middle) <= size else (middle, far)
        return value + sign * near
