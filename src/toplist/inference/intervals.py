"""Means, differences and ratios of scores with their intervals, from exact sums: rounded once, at the end.

From a value and its standard error to an interval and a p value.

Which intervals: from sums alone where cases or clusters are independent, from the cases themselves elsewhere.

Intervals within what is possible: a mean is within the bounds of the score, a difference within their range.

The true value is there too, so that cutting an interval off at the bounds misses it no more often.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import reduce
from operator import or_
from typing import Any, Protocol

import numpy as np

from toplist.core.exact_sums import UNIT
from toplist.inference.aggregates import Aggregates
from toplist.inference.bootstrap import FEWEST, block_length, resample
from toplist.inference.estimands import Difference, Estimand, LogRelative, Mean, ReferenceSkill, Skill
from toplist.inference.long_run_variance import (
    cosine_error,
    long_run_error,
    small_sample_factor,
    usual_lag,
    usual_waves,
)
from toplist.inference.results import Estimate
from toplist.inference.score_matrix import ScoreMatrix, UnitSums
from toplist.inference.settings import DRAWS, IntervalMethod


def estimate(value: float, error: float, freedom: float, level: float) -> Estimate:
    """The t interval with so many degrees of freedom (infinitely many: the normal one), and the p value of zero.

    >>> found = estimate(1.0, 0.5, math.inf, 0.95)
    >>> round(found.low, 4), round(found.high, 4), round(found.p, 4)
    (0.02, 1.98, 0.0455)
    """
    half = quantile(0.5 + level / 2, freedom) * error
    return Estimate(value, value - half, value + half, error=error, p=two_sided(value, error, freedom))


def moved(found: Estimate, factor: float, shift: float) -> Estimate:
    """The estimate of shift + factor * x from that of x; its p value is left out, because zero has moved too."""
    value = shift + factor * found.value
    if found.low is None or found.high is None:
        return Estimate(value, reason=found.reason)
    ends = sorted((shift + factor * found.low, shift + factor * found.high))
    error = None if found.error is None else abs(factor) * found.error
    return Estimate(value, ends[0], ends[1], error=error)


def quantile(p: float, freedom: float = math.inf) -> float:
    """Of Student's t, or of the normal distribution."""
    from scipy.special import ndtri, stdtrit  # noqa: PLC0415  only here, and not cheap to import

    return float(ndtri(p) if math.isinf(freedom) else stdtrit(freedom, p))


def two_sided(value: float, error: float, freedom: float = math.inf) -> float:
    """How often so large a ratio to its error, or a larger one, comes up if the true value is zero.

    Without any spread it is the p value of the sign test, 2^(1 - n): few cases that say the same are still few.
    """
    from scipy.special import ndtr, stdtr  # noqa: PLC0415

    if error == 0:
        return 1.0 if value == 0 else 2.0**-freedom
    far = -abs(value / error)
    return float(2 * (ndtr(far) if math.isinf(freedom) else stdtr(freedom, far)))


INFINITE = "infinite scores have no interval"
NO_CASES = "there are no cases"
_Part = tuple[int, Callable[[int, Any], int]]


@dataclass(frozen=True, slots=True)
class IntervalsFromSums:
    """Intervals that assume independent cases, or independent clusters, from a tally.

    The mean of x over units (cases, or clusters) of weight w is X / W; its variance is that of the sums of
    w (x - X / W) over units, over W squared, times U / (U - 1) for U units. Ratios go by the delta method.
    """

    tally: Aggregates
    level: float
    normal: bool = False  # normal quantiles instead of Student's
    _kept: dict[str, Any] = field(default_factory=dict, repr=False, compare=False)

    def mean(self, rule: int, a: int) -> Estimate:
        """The weighted mean score of model a. Infinite where any score is; then there is no interval."""
        if self.tally.sums["infinite"][rule, a, a]:
            return Estimate(math.inf, reason=INFINITE)
        s = self._sums(rule)
        x, w = s["x"][a, a], s["w"][a, a]
        if not w:
            return Estimate(math.nan, reason=NO_CASES)
        moments = (s["xx"][a, a], s["wx"][a, a], s["ww"][a, a])
        return self._estimate(x, w, moments, s["both"][a, a], lambda sums: sums[rule, a])

    def difference(self, rule: int, a: int, b: int) -> Estimate:
        """The mean of score a minus score b over the cases of both."""
        above, below = (self.tally.sums["infinite"][rule, p, q] for p, q in ((a, b), (b, a)))
        if above or below:
            return Estimate(math.inf if not below else -math.inf if not above else math.nan, reason=INFINITE)
        s = self._sums(rule)
        w = s["w"][a, b]
        if not w:
            return Estimate(math.nan, reason=NO_CASES)
        x, wx = s["x"][a, b] - s["x"][b, a], s["wx"][a, b] - s["wx"][b, a]
        xx = s["xx"][a, b] - 2 * s["xy"][a, b] + s["xx"][b, a]
        own = lambda sums: sums[rule, a] - sums[rule, b]  # noqa: E731
        return self._estimate(x, w, (xx, wx, s["ww"][a, b]), s["both"][a, b], own)

    def distance(self, rule: int, a: int, b: int) -> float:
        """The root of the mean squared difference of the two scores of a case, with squared weights."""
        s = self._sums(rule)
        squares, weights = s["xx"][a, b] - 2 * s["xy"][a, b] + s["xx"][b, a], s["ww"][a, b]
        return math.sqrt(max(squares / weights, 0.0)) if weights else math.inf

    def units(self, rule: int, a: int, b: int) -> int:
        """Over how many cases, or clusters, the difference of a and b goes."""
        return len(self._clusters()[1]) if self.tally.clusters else int(self.tally.sums["both"][rule, a, b])

    def skill(self, rule: int, a: int) -> Estimate | None:
        """One minus the mean over that of the empty list, which is taken to be the same for all cases."""
        weight, empty = self.tally.sums["weight"][a], self.tally.sums["empty"][a, rule]
        if self.tally.sums["infinite"][rule, a, a] or not weight or not empty:
            return None
        found = moved(self.mean(rule, a), -weight / empty, 1.0)
        if found.error is None:
            return found
        units = len(self._clusters()[1]) if self.tally.clusters else self._sums(rule)["both"][a, a]
        return replace(found, p=two_sided(found.value, found.error, self._freedom(units)))

    def baseline_skill(self, rule: int, a: int, reference: int) -> Estimate | None:
        """One minus the ratio of the mean to that of the reference, on the cases of both."""
        s, infinite = self._sums(rule), self.tally.sums["infinite"][rule]
        if infinite[a, reference] or infinite[reference, a]:
            return None
        x, y = s["x"][a, reference], s["x"][reference, a]
        if y <= 0:
            return None
        value = float(1.0 - x / y)
        if a == reference:
            return Estimate(value, reason="it is the baseline")
        spread = y * y * s["xx"][a, reference] - 2 * x * y * s["xy"][a, reference] + x * x * s["xx"][reference, a]
        mine, theirs = (lambda weight, sums, of=of: sums[rule, of] for of in (a, reference))
        units, spread = self._spread(spread, s["both"][a, reference], (y, mine), (x, theirs))
        return self._finish(value, units, spread, y)

    def relative(self, rule: int, a: int, value: float, others: tuple[int, ...]) -> Estimate:
        """The value alone: sums do not say how its parts hang together."""
        return Estimate(value, reason="relative skill has an interval where cases are kept")

    def _sums(self, rule: int) -> dict[str, Any]:
        return {name: self.tally.sums[name][rule] for name in ("both", "w", "ww", "x", "wx", "xx", "xy")}

    def _estimate(
        self, x: int, w: int, moments: tuple[int, int, int], cases: int, own: Callable[[Any], int]
    ) -> Estimate:
        """The mean x / w."""
        xx, wx, ww = moments
        spread = w * w * xx - 2 * x * w * wx + x * x * ww
        mine = (w, lambda weight, sums: own(sums))
        units, spread = self._spread(spread, cases, mine, (x, lambda weight, sums: weight))
        return self._finish(x / w, units, spread, w)

    def _spread(self, spread: int, cases: int, plus: _Part, minus: _Part) -> tuple[int, int]:
        """How many units there are, and the sum of squares over them: of cases, or of p u - q v over clusters."""
        if not self.tally.clusters:
            return cases, spread
        low, clusters = self._clusters()
        (p, u), (q, v) = plus, minus
        more = _zeros(p | q)
        p, q = p >> more, q >> more
        squares = sum((p * u(weight, sums) - q * v(weight, sums)) ** 2 for weight, sums in clusters)
        return len(clusters), (squares << 2 * (low + more)) // UNIT  # what is cut off is below the last digit

    def _clusters(self) -> tuple[int, list[tuple[int, Any]]]:
        """The clusters that count, without the zeros at the end of all their sums, and how many zeros these are."""
        if "clusters" not in self._kept:
            weighty = [found for found in self.tally.clusters.values() if found[0]]
            low = _zeros(reduce(or_, (int(np.bitwise_or.reduce(sums, axis=None)) | w for w, sums in weighty), 0))
            self._kept["clusters"] = low, [(w >> low, sums >> low) for w, sums in weighty]
        found: tuple[int, list[tuple[int, Any]]] = self._kept["clusters"]
        return found

    def _finish(self, value: float, units: int, spread: int, w: int) -> Estimate:
        if units < 2:
            return Estimate(value, reason=f"one {'cluster' if self.tally.clusters else 'case'} has no spread")
        try:
            variance = (spread * units * UNIT) / (w**4 * (units - 1))
        except OverflowError:
            return Estimate(value, reason="the variance is too large for a number")
        return estimate(value, math.sqrt(max(variance, 0.0)), self._freedom(units), self.level)

    def _freedom(self, units: int) -> float:
        return math.inf if self.normal else units - 1


def _zeros(n: int) -> int:
    """How many bits at the end are zero.

    >>> _zeros(40)
    3
    """
    return (n & -n).bit_length() - 1 if n else 0


_ROUNDING = 1e-12  # of the largest contribution


class IntervalEstimator(Protocol):
    """Estimates of what a leaderboard shows; models and rules go by their numbers."""

    def mean(self, rule: int, a: int) -> Estimate:
        """The mean score."""
        ...

    def difference(self, rule: int, a: int, b: int) -> Estimate:
        """The mean of score a minus score b on the cases of both."""
        ...

    def distance(self, rule: int, a: int, b: int) -> float:
        """How far apart the two scores of a case are: the root of the mean square."""
        ...

    def units(self, rule: int, a: int, b: int) -> int:
        """Over how many units the difference of a and b goes."""
        ...

    def skill(self, rule: int, a: int) -> Estimate | None:
        """One minus the mean over that of the empty list."""
        ...

    def baseline_skill(self, rule: int, a: int, reference: int) -> Estimate | None:
        """One minus the mean over that of the reference, on the cases of both."""
        ...

    def relative(self, rule: int, a: int, value: float, others: tuple[int, ...]) -> Estimate:
        """The geometric mean of the ratios to others, whose value is known, with an interval where there is one."""
        ...


@dataclass(frozen=True, slots=True)
class IntervalsFromCases:
    """Intervals from the cases themselves. Values, and what is infinite or absent, come from exact sums."""

    panel: ScoreMatrix = field(compare=False)
    exact: IntervalsFromSums
    how: IntervalMethod
    horizon: int = 1
    seed: int = 0
    draws: int = DRAWS
    _totals: dict[int, UnitSums] = field(default_factory=dict, repr=False, compare=False)
    _draws: dict[int, UnitSums] = field(default_factory=dict, repr=False, compare=False)

    @property
    def _timeless(self) -> bool:
        """Whether cases are independent although it is known when they were: every case is a unit then."""
        return self.how in ("t", "normal") and self.panel.ordered

    @property
    def _by_sums(self) -> bool:
        """Whether sums say all about means and differences."""
        if self.how not in ("t", "normal"):
            return False
        return self._timeless or self.panel.units is None or bool(self.exact.tally.clusters)

    def mean(self, rule: int, a: int) -> Estimate:
        """See `IntervalEstimator`."""
        found = self.exact.mean(rule, a)
        return found if self._by_sums or _is_final(found) else self._of(Mean(a), found.value, rule)

    def difference(self, rule: int, a: int, b: int) -> Estimate:
        """See `IntervalEstimator`."""
        found = self.exact.difference(rule, a, b)
        return found if self._by_sums or _is_final(found) else self._of(Difference(a, b), found.value, rule)

    def distance(self, rule: int, a: int, b: int) -> float:
        """See `IntervalEstimator`."""
        return self.exact.distance(rule, a, b)

    def units(self, rule: int, a: int, b: int) -> int:
        """See `IntervalEstimator`."""
        if self.panel.units is None or self._by_sums:
            return self.exact.units(rule, a, b)
        return int(np.count_nonzero(Difference(a, b).weights(self.totals(rule)) > 0))

    def skill(self, rule: int, a: int) -> Estimate | None:
        """See `IntervalEstimator`."""
        found = self.exact.skill(rule, a)
        if found is None or (self._by_sums and len(self.panel.empty) == 1):
            return found
        return self._of(Skill(a), found.value, rule)

    def baseline_skill(self, rule: int, a: int, reference: int) -> Estimate | None:
        """See `IntervalEstimator`."""
        found = self.exact.baseline_skill(rule, a, reference)
        if found is None or self._by_sums or a == reference:
            return found
        return self._of(ReferenceSkill(a, reference), found.value, rule)

    def relative(self, rule: int, a: int, value: float, others: tuple[int, ...]) -> Estimate:
        """See `IntervalEstimator`: by its logarithm, so that it stays above zero."""
        if not any(b != a for b in others):
            return Estimate(value, reason="there is nobody to compare with")
        found = self._of(LogRelative(a, others), math.log(value), rule)
        if found.low is None or found.high is None:
            return Estimate(value, reason=found.reason)
        error = None if found.error is None else value * found.error
        return Estimate(value, math.exp(found.low), math.exp(found.high), error=error, p=found.p)

    def totals(self, rule: int = 0) -> UnitSums:
        """The sums of each unit."""
        if rule not in self._totals:
            panel = replace(self.panel, units=None) if self._timeless else self.panel
            self._totals[rule] = panel.totals(rule)
        return self._totals[rule]

    def _drawn(self, rule: int) -> UnitSums:
        if rule not in self._draws:
            units = self.totals(rule)
            block = block_length(units) if self.panel.ordered else None
            self._draws[rule] = resample(units, block=block, draws=self.draws, seed=self.seed)
        return self._draws[rule]

    def _of(self, quantity: Estimand, value: float, rule: int) -> Estimate:
        """The interval of a quantity, with the degrees of freedom that its own units give it."""
        units = self.totals(rule)
        weighty = quantity.weights(units) > 0
        count, own = int(np.count_nonzero(weighty)), quantity.effective(units)
        if own < 2 - _ROUNDING:
            return Estimate(value, reason=f"one {self._unit} has no spread")
        if self.how == "bootstrap":
            if own < FEWEST - _ROUNDING:
                return Estimate(value, reason=f"{own:.3g} {self._unit}s are too few to draw from")
            return self._bootstrapped(quantity, value, rule)
        parts, unseen = quantity.spread(units)[weighty], quantity.unseen(units)
        if not math.isfinite(unseen):
            return Estimate(value, reason=f"no two {self._unit}s are shared with anybody")
        if self.how == "ewc":
            waves = usual_waves(count)
            error = cosine_error(parts, waves)
            if error <= _ROUNDING * float(np.abs(parts).max()) and np.ptp(parts) > 0:
                return Estimate(
                    value, reason=f"{count} {self._unit}s are too few to tell how they depend on each other"
                )
            return estimate(value, math.hypot(error, unseen), min(waves, own - 1), self.exact.level)
        freedom = math.inf if self.how == "normal" else own - 1
        if self.how != "hac":
            error = math.sqrt(count / (count - 1) * float(parts @ parts))
            return estimate(value, math.hypot(error, unseen), freedom, self.exact.level)
        factor = small_sample_factor(count, self.horizon)
        if factor == 0:
            return Estimate(value, reason=f"{count} {self._unit}s are too few for a horizon of {self.horizon}")
        error = long_run_error(parts, usual_lag(count, self.horizon)) / factor
        return estimate(value, math.hypot(error, unseen), freedom, self.exact.level)

    def _bootstrapped(self, quantity: Estimand, value: float, rule: int) -> Estimate:
        """The percentile interval; p is one minus the level at which it would begin or end at zero."""
        with np.errstate(all="ignore"):
            values = quantity.value(self._drawn(rule))
        if not np.isfinite(values).all():
            return Estimate(value, reason=f"some resamples have no {self._unit} that counts")
        tail = (1 - self.exact.level) / 2
        low, high = np.quantile(values, [tail, 1 - tail])
        beyond = min(int(np.count_nonzero(values <= 0)), int(np.count_nonzero(values >= 0)))
        p = min(1.0, 2 * (1 + beyond) / (1 + len(values)))
        return Estimate(value, float(low), float(high), error=float(values.std(ddof=1)), p=p)

    @property
    def _unit(self) -> str:
        return "case" if self._timeless else self.panel.unit


def _is_final(found: Estimate) -> bool:
    """Whether nothing but its value can be said of it."""
    return not math.isfinite(found.value)


_MEAN = 1e-9  # of the mean score: a difference of means that is no larger is rounding
_CASE = 1e-6  # of the range of the score, or of the mean score where there is no end to it: the same of single cases


@dataclass(frozen=True, slots=True)
class BoundedIntervals:
    """Intervals of another inference, cut off where the score ends; models that are the same are not told apart."""

    inner: IntervalEstimator
    bounds: tuple[tuple[float, float], ...]  # the least and the largest score, by rule, with what invalid lists pay
    alike: bool  # whether the empty list scores the same in every case

    def mean(self, rule: int, a: int) -> Estimate:
        """See `IntervalEstimator`."""
        return _within(self.inner.mean(rule, a), *self.bounds[rule])

    def difference(self, rule: int, a: int, b: int) -> Estimate:
        """See `IntervalEstimator`: where the two are the same up to rounding, zero is in the interval and p is one."""
        low, high = self.bounds[rule]
        found = self.inner.difference(rule, a, b)
        if found.low is None or found.high is None or not math.isfinite(found.value):
            return found
        if a != b and self._same(rule, a, b, found.value):
            return replace(found, low=min(found.low, 0.0), high=max(found.high, 0.0), p=1.0)
        return _within(found, low - high, high - low)

    def _same(self, rule: int, a: int, b: int, difference: float) -> bool:
        """Whether predictions are the same, written twice: one rounded as text, or added up in another order."""
        low, high = self.bounds[rule]
        size = max(abs(self.inner.mean(rule, one).value) for one in (a, b))
        scale = high - low if math.isfinite(high - low) else size
        return abs(difference) <= _MEAN * size or self.inner.distance(rule, a, b) <= _CASE * scale

    def distance(self, rule: int, a: int, b: int) -> float:
        """See `IntervalEstimator`."""
        return self.inner.distance(rule, a, b)

    def units(self, rule: int, a: int, b: int) -> int:
        """See `IntervalEstimator`."""
        return self.inner.units(rule, a, b)

    def skill(self, rule: int, a: int) -> Estimate | None:
        """See `IntervalEstimator`: at most one, where no score is below zero."""
        found, (low, high) = self.inner.skill(rule, a), self.bounds[rule]
        if found is None or low < 0:
            return found
        mean = self.inner.mean(rule, a).value
        empty = mean / (1.0 - found.value) if found.value < 1 else math.nan
        least = 1.0 - high / empty if self.alike and empty > 0 else -math.inf
        return _within(found, least, 1.0)

    def baseline_skill(self, rule: int, a: int, reference: int) -> Estimate | None:
        """See `IntervalEstimator`: at most one, where no score is below zero."""
        found = self.inner.baseline_skill(rule, a, reference)
        return found if found is None or self.bounds[rule][0] < 0 else _within(found, -math.inf, 1.0)

    def relative(self, rule: int, a: int, value: float, others: tuple[int, ...]) -> Estimate:
        """See `IntervalEstimator`."""
        return self.inner.relative(rule, a, value, others)


def _within(found: Estimate, low: float, high: float) -> Estimate:
    """The interval without what lies beyond the bounds; the value stays in it, whatever rounding did to it.

    >>> _within(Estimate(0.5, -0.1, 1.1), 0.0, 1.0)
    Estimate(value=0.5, low=0.0, high=1.0, reason='', error=None, p=None)
    """
    if found.low is None or found.high is None:
        return found
    return replace(found, low=min(max(found.low, low), found.value), high=max(min(found.high, high), found.value))
