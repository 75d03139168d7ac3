"""Means, differences and ratios of scores with their intervals and p values.

Values come from exact sums, rounded once, at the end. Intervals come from the same sums where cases or clusters are
independent, and from the cases themselves elsewhere. They end where the score does: the true value is there too, so
that cutting an interval off at the bounds misses it no more often.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from operator import or_
from typing import Any

import numpy as np

from toplist.core.exact_sums import UNIT
from toplist.inference.aggregates import Aggregates
from toplist.inference.bootstrap import FEWEST, block_length, resample
from toplist.inference.estimands import BaselineSkill, Difference, Estimand, LogRelative, Mean, Ratio, Skill
from toplist.inference.long_run_variance import (
    cosine_error,
    long_run_error,
    small_sample_factor,
    usual_lag,
    usual_waves,
)
from toplist.inference.missing import AdjustedMean, adjusted_means
from toplist.inference.results import Estimate
from toplist.inference.score_matrix import ScoreMatrix, UnitSums
from toplist.inference.settings import DRAWS, IntervalMethod

INFINITE = "infinite scores have no interval"
NO_CASES = "there are no cases"
SAME = "the scores are the same in every case, up to rounding"
_ROUNDING = 1e-12  # of the largest contribution
_EQUAL = 10**9  # no case differs by more than this part of the root mean square of the scores
_MEAN = 1e-9  # of the mean score: a difference of means that is no larger is rounding
_CASE = 1e-6  # of the range of the score, or of the mean score where there is no end to it: the same of single cases


def estimate(value: float, error: float, freedom: float, level: float) -> Estimate:
    """The t interval with so many degrees of freedom (infinitely many: the normal one), and the p value of zero.

    >>> found = estimate(1.0, 0.5, math.inf, 0.95)
    >>> round(found.low, 4), round(found.high, 4), round(found.p, 4)
    (0.02, 1.98, 0.0455)
    """
    half = quantile(0.5 + level / 2, freedom) * error
    return Estimate(value, value - half, value + half, "", error, two_sided(value, error, freedom), freedom)


def widened(found: Estimate, level: float, within: tuple[float, float] = (-math.inf, math.inf)) -> Estimate:
    """The same estimate with its t interval at a higher level, ended at the bounds of what is estimated.

    >>> widened(estimate(1.0, 0.5, 9.0, 0.95), 0.99) == estimate(1.0, 0.5, 9.0, 0.99)
    True
    """
    if found.low is None or found.high is None:
        return found
    if found.error is None or found.freedom is None:
        raise ValueError("this interval is not from a t quantile")
    half = quantile(0.5 + level / 2, found.freedom) * found.error
    low, high = min(found.low, found.value - half), max(found.high, found.value + half)
    return _within(replace(found, low=low, high=high), *within)


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


def same_scores(tally: Aggregates, rule: int, a: int, b: int) -> bool:
    """Whether no score of a differs from that of b on the cases of both, infinite ones included."""
    s = {name: tally.sums[name][rule] for name in ("both", "xx", "xy", "infinite")}
    both, infinite, cases = s["both"][a, b], s["infinite"], tally.sums["cases"]
    if infinite[a, b] != infinite[b, a] or not both + infinite[a, b]:
        return False
    if infinite[a, b] and not (cases[a, b] == cases[a, a] == cases[b, b] and both == s["both"][a, a]):
        return False  # infinite in different cases, or nobody knows in which
    squares = s["xx"][a, b] - 2 * s["xy"][a, b] + s["xx"][b, a]
    return bool(both * squares * _EQUAL**2 <= max(s["xx"][a, b], s["xx"][b, a]))


@dataclass(frozen=True)
class Intervals:
    """Estimates of what a leaderboard shows; models and rules go by their numbers.

    With `bounds`, intervals end where the score does, and models with the same scores are not tested against each
    other. Without a matrix, cases (or clusters, where the sums have them) are independent.
    """

    tally: Aggregates
    level: float
    method: IntervalMethod = "t"
    matrix: ScoreMatrix | None = field(default=None, compare=False)
    bounds: tuple[tuple[float, float], ...] | None = None  # least and largest score by rule, with the penalty
    horizon: int = 1
    seed: int = 0
    draws: int = DRAWS
    _units: dict[int, UnitSums] = field(default_factory=dict, init=False, repr=False, compare=False)
    _draws: dict[int, UnitSums] = field(default_factory=dict, init=False, repr=False, compare=False)
    _clusters: dict[int, tuple[int, UnitSums]] = field(default_factory=dict, init=False, repr=False, compare=False)
    _differences: dict[tuple[int, int, int], Estimate] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )
    _adjusted: dict[int, list[AdjustedMean | None]] = field(default_factory=dict, init=False, repr=False, compare=False)
    _levels: dict[float, Intervals] = field(default_factory=dict, init=False, repr=False, compare=False)

    # What is estimated

    def mean(self, rule: int, a: int) -> Estimate:
        """The mean score; infinite where any score is."""
        found = self._mean(rule, a, by_sums=self._by_sums)
        return found if self.bounds is None else _within(found, *self.bounds[rule])

    def difference(self, rule: int, a: int, b: int, level: float | None = None) -> Estimate:
        """The mean of score a minus score b on the cases of both, at a level of one's own if one is given.

        No interval and no test where all scores are the same; zero is in the interval and p is one where they are so
        up to the rounding of text.
        """
        if (rule, a, b) not in self._differences:
            self._differences[rule, a, b] = self._difference(rule, a, b)
        found = self._differences[rule, a, b]
        if level is None or level == self.level or found.low is None:
            return found
        if found.freedom is None or level < self.level:
            return self._at(level).difference(rule, a, b)
        low, high = (-math.inf, math.inf) if self.bounds is None else self.bounds[rule]
        return widened(found, level, (low - high, high - low))

    def _at(self, level: float) -> Intervals:
        """The same at another level: nothing is drawn or added up twice."""
        if level not in self._levels:
            other = replace(self, level=level)
            for mine, theirs in ((self._units, other._units), (self._draws, other._draws)):
                theirs.update(mine)  # type: ignore[arg-type]
            self._levels[level] = other
        return self._levels[level]

    def _difference(self, rule: int, a: int, b: int) -> Estimate:
        above, below = (self.tally.sums["infinite"][rule, p, q] for p, q in ((a, b), (b, a)))
        if above or below:
            return Estimate(math.inf if not below else -math.inf if not above else math.nan, reason=INFINITE)
        found = self._ratio(rule, Difference(a, b), by_sums=self._by_sums)
        if self.bounds is None or found.low is None or found.high is None or not math.isfinite(found.value):
            return found
        if a != b and same_scores(self.tally, rule, a, b):
            return Estimate(found.value, reason=SAME)
        if a != b and self._nearly_same(rule, a, b, found.value):
            return replace(found, low=min(found.low, 0.0), high=max(found.high, 0.0), p=1.0)
        low, high = self.bounds[rule]
        return _within(found, low - high, high - low)

    def skill(self, rule: int, a: int) -> Estimate | None:
        """One minus the mean over that of the empty list; at most one, where no score is below zero."""
        weight, empty = self.tally.sums["weight"][a], self.tally.sums["empty"][a, rule]
        if self.tally.sums["infinite"][rule, a, a] or not weight or not empty:
            return None
        mean, factor = self._mean(rule, a, by_sums=True), -weight / empty
        if self._by_sums and self._one_empty:
            units, _ = self._spread(rule, Mean(a)) if mean.error is not None else (0, 0)
            found = _moved(mean, factor, self._freedom(units))
        else:
            found = self._from_units(rule, Skill(a), 1.0 + factor * mean.value)
        if self.bounds is None or self.bounds[rule][0] < 0:
            return found
        own = mean.value / (1.0 - found.value) if found.value < 1 else math.nan
        least = 1.0 - self.bounds[rule][1] / own if self._one_empty and own > 0 else -math.inf
        return _within(found, least, 1.0)

    def baseline_skill(self, rule: int, a: int, baseline: int) -> Estimate | None:
        """One minus the mean over that of the baseline, on the cases of both; at most one, if no score is negative."""
        infinite, x = self.tally.sums["infinite"][rule], self.tally.sums["x"][rule]
        if infinite[a, baseline] or infinite[baseline, a] or x[baseline, a] <= 0:
            return None
        value = float(1.0 - x[a, baseline] / x[baseline, a])
        if a == baseline:
            return Estimate(value, reason="it is the baseline")
        estimand = BaselineSkill(a, baseline)
        found = (self._from_sums if self._by_sums else self._from_units)(rule, estimand, value)
        return found if self.bounds is None or self.bounds[rule][0] < 0 else _within(found, -math.inf, 1.0)

    def relative(self, rule: int, a: int, value: float, others: tuple[int, ...]) -> Estimate:
        """The geometric mean of the ratios to others, whose value is known; its logarithm has the interval."""
        if self.matrix is None:
            return Estimate(value, reason="relative skill has an interval where cases are kept")
        if not any(b != a for b in others):
            return Estimate(value, reason="there is nobody to compare with")
        found = self._from_units(rule, LogRelative(a, others), math.log(value))
        if found.low is None or found.high is None:
            return Estimate(value, reason=found.reason)
        error = None if found.error is None else value * found.error
        return Estimate(value, math.exp(found.low), math.exp(found.high), "", error, found.p, found.freedom)

    def adjusted(self, rule: int, a: int) -> Estimate | None:
        """The mean score over all cases by two-way fixed effects; None where models share no cases."""
        if self.matrix is None:
            return None
        if rule not in self._adjusted:
            matrix = replace(self.matrix, units=None) if self._timeless else self.matrix
            self._adjusted[rule] = adjusted_means(matrix, rule)
        found = self._adjusted[rule][a]
        if found is None:
            return None
        if self.method in ("bootstrap", "wild", "bounded"):
            return Estimate(found.estimate, reason=f"{self.method} intervals are not made for adjusted means")
        return self._from_units(rule, found, found.estimate)

    def units(self, rule: int, a: int, b: int) -> int:
        """Over how many units the difference of a and b goes."""
        if not self._by_sums and self.matrix is not None and self.matrix.units is not None:
            return int(np.count_nonzero(Difference(a, b).weights(self.unit_sums(rule)) > 0))
        return self._count(rule, Difference(a, b))

    # Which source answers

    @property
    def _timeless(self) -> bool:
        """Whether cases are independent although it is known when they were: every case is a unit then."""
        return self.method in ("t", "normal") and self.matrix is not None and self.matrix.ordered

    @property
    def _by_sums(self) -> bool:
        """Whether sums say all about means and differences; else the cases are asked."""
        if self.matrix is None:
            return True
        independent = self._timeless or self.matrix.units is None or bool(self.tally.clusters)
        return self.method in ("t", "normal") and independent

    @property
    def _one_empty(self) -> bool:
        """Whether the empty list scores the same in every case."""
        return self.matrix is None or len(self.matrix.empty) == 1

    def _mean(self, rule: int, a: int, *, by_sums: bool) -> Estimate:
        if self.tally.sums["infinite"][rule, a, a]:
            return Estimate(math.inf, reason=INFINITE)
        return self._ratio(rule, Mean(a), by_sums=by_sums)

    def _ratio(self, rule: int, estimand: Ratio, *, by_sums: bool) -> Estimate:
        """One sum over another, with its interval."""
        above, below = estimand.parts(_Totals(self.tally, rule))
        if not below:
            return Estimate(math.nan, reason=NO_CASES)
        value = above / below
        return (self._from_sums if by_sums else self._from_units)(rule, estimand, value)

    def _nearly_same(self, rule: int, a: int, b: int, difference: float) -> bool:
        """Whether predictions are the same, written twice: one rounded as text, or added up in another order."""
        low, high = self.bounds[rule] if self.bounds is not None else (-math.inf, math.inf)
        size = max(abs(self._mean(rule, one, by_sums=True).value) for one in (a, b))
        scale = high - low if math.isfinite(high - low) else size
        return abs(difference) <= _MEAN * size or self._distance(rule, a, b) <= _CASE * scale

    def _distance(self, rule: int, a: int, b: int) -> float:
        """The root of the mean squared difference of the two scores of a case, with squared weights."""
        s = {name: self.tally.sums[name][rule] for name in ("xx", "xy", "ww")}
        squares, weights = s["xx"][a, b] - 2 * s["xy"][a, b] + s["xx"][b, a], s["ww"][a, b]
        return math.sqrt(max(squares / weights, 0.0)) if weights else math.inf

    # From exact sums

    def _from_sums(self, rule: int, estimand: Ratio, value: float) -> Estimate:
        """The interval of a ratio N / D over independent units, each with (n, d).

        Its variance is that of the sums of (n - N / D d) / D over U units, times U / (U - 1) (delta method).
        """
        units, spread = self._spread(rule, estimand)
        if units < 2:
            return Estimate(value, reason=f"one {'cluster' if self.tally.clusters else 'case'} has no spread")
        _, below = estimand.parts(_Totals(self.tally, rule))
        try:
            variance = (spread * units * UNIT) / (below**4 * (units - 1))
        except OverflowError:
            return Estimate(value, reason="the variance is too large for a number")
        return estimate(value, math.sqrt(max(variance, 0.0)), self._freedom(units), self.level)

    def _spread(self, rule: int, estimand: Ratio) -> tuple[int, int]:
        """How many units there are, and the exact sum of (D n - N d)^2 over them: cases, or clusters."""
        totals = _Totals(self.tally, rule)
        above, below = estimand.parts(totals)
        units = self._count(rule, estimand)
        if not self.tally.clusters:
            return units, estimand.second_moment(below, above, totals.statistics(estimand.a, estimand.other))
        low, clusters = self._cluster_sums(rule)
        more = _zeros(below | above)
        p, q = below >> more, above >> more
        squares = sum((p * n - q * d) ** 2 for n, d in zip(*estimand.parts(clusters), strict=True))
        return units, (squares << 2 * (low + more)) // UNIT  # what is cut off is below the last digit

    def _count(self, rule: int, estimand: Ratio) -> int:
        if self.tally.clusters:
            return int(self._cluster_sums(rule)[1].sums.shape[1])
        return int(self.tally.sums["both"][rule, estimand.a, estimand.other])

    def _cluster_sums(self, rule: int) -> tuple[int, UnitSums]:
        """The clusters that count, without the zeros at the end of all their sums, and how many zeros these are."""
        if rule not in self._clusters:
            found = [[*x[rule], weight] for weight, x in self.tally.clusters.values() if weight]
            low = _zeros(reduce(or_, (number for one in found for number in one), 0))
            sums = np.array([[number >> low for number in one] for one in found], object).T
            models = len(self.tally.sums["cases"])
            self._clusters[rule] = low, UnitSums(sums.reshape(models + 1, len(found)), models, complete=True)
        return self._clusters[rule]

    def _freedom(self, units: int) -> float:
        return math.inf if self.method == "normal" else units - 1

    # From the cases

    def unit_sums(self, rule: int = 0) -> UnitSums:
        """The sums of each unit."""
        if rule not in self._units:
            if self.matrix is None:
                raise ValueError("there are no cases here, only their sums")
            matrix = replace(self.matrix, units=None) if self._timeless else self.matrix
            self._units[rule] = matrix.totals(rule)
        return self._units[rule]

    def _from_units(self, rule: int, estimand: Estimand, value: float) -> Estimate:
        """The interval of an estimand, with the degrees of freedom that its own units give it."""
        units, unit = self.unit_sums(rule), self._unit
        weighty = estimand.weights(units) > 0
        count, own = int(np.count_nonzero(weighty)), estimand.effective(units)
        if own < 2 - _ROUNDING:
            return Estimate(value, reason=f"one {unit} has no spread")
        if self.method == "bootstrap":
            if own < FEWEST - _ROUNDING:
                return Estimate(value, reason=f"{own:.3g} {unit}s are too few to draw from")
            return self._bootstrapped(rule, estimand, value)
        parts, unseen = estimand.spread(units)[weighty], estimand.unseen(units)
        if not math.isfinite(unseen):
            return Estimate(value, reason=f"no two {unit}s are shared with anybody")
        freedom = math.inf if self.method == "normal" else own - 1
        if self.method == "ewc":
            waves = usual_waves(count)
            error, freedom = cosine_error(parts, waves), min(waves, own - 1)
            if error <= _ROUNDING * float(np.abs(parts).max()) and np.ptp(parts) > 0:
                return Estimate(value, reason=f"{count} {unit}s are too few to tell how they depend on each other")
        elif self.method == "hac":
            factor = small_sample_factor(count, self.horizon)
            if factor == 0:
                return Estimate(value, reason=f"{count} {unit}s are too few for a horizon of {self.horizon}")
            error = long_run_error(parts, usual_lag(count, self.horizon)) / factor
        else:
            error = math.sqrt(count / (count - 1) * float(parts @ parts))
        return estimate(value, math.hypot(error, unseen), freedom, self.level)

    def _bootstrapped(self, rule: int, estimand: Estimand, value: float) -> Estimate:
        """The percentile interval; p is one minus the level at which it would begin or end at zero."""
        if rule not in self._draws:
            units = self.unit_sums(rule)
            block = block_length(units) if self.matrix is not None and self.matrix.ordered else None
            self._draws[rule] = resample(units, block=block, draws=self.draws, seed=self.seed)
        with np.errstate(all="ignore"):
            values = estimand.value(self._draws[rule])
        if not np.isfinite(values).all():
            return Estimate(value, reason=f"some resamples have no {self._unit} that counts")
        tail = (1 - self.level) / 2
        low, high = np.quantile(values, [tail, 1 - tail])
        beyond = min(int(np.count_nonzero(values <= 0)), int(np.count_nonzero(values >= 0)))
        p = min(1.0, 2 * (1 + beyond) / (1 + len(values)))
        return Estimate(value, float(low), float(high), error=float(values.std(ddof=1)), p=p)

    @property
    def _unit(self) -> str:
        return "case" if self._timeless or self.matrix is None else self.matrix.unit


@dataclass(frozen=True, slots=True)
class _Totals:
    """The exact sums under one rule, as estimands ask for them."""

    tally: Aggregates
    rule: int

    def x(self, a: int, b: int) -> Any:
        """Weighted scores of a, on the cases of a and b."""
        return self.tally.sums["x"][self.rule, a, b]

    def w(self, a: int, b: int) -> Any:
        """Weights of the cases of a and b."""
        return self.tally.sums["w"][self.rule, a, b]

    def empty(self, a: int) -> Any:
        """Weighted scores of the empty list, on the cases of a."""
        return self.tally.sums["empty"][a, self.rule]

    def statistics(self, a: int, b: int) -> Sequence[Sequence[int]]:
        """The sums of products of (score of a, score of b, weight) over the cases of both."""
        xx, xy, wx, ww = (self.tally.sums[name][self.rule] for name in ("xx", "xy", "wx", "ww"))
        return (
            (xx[a, b], xy[a, b], wx[a, b]),
            (xy[a, b], xx[b, a], wx[b, a]),
            (wx[a, b], wx[b, a], ww[a, b]),
        )


def _zeros(n: int) -> int:
    """How many bits at the end are zero.

    >>> _zeros(40)
    3
    """
    return (n & -n).bit_length() - 1 if n else 0


def _moved(mean: Estimate, factor: float, freedom: float) -> Estimate:
    """The estimate of 1 + factor * x from that of x."""
    value = 1.0 + factor * mean.value
    if mean.low is None or mean.high is None or mean.error is None:
        return Estimate(value, reason=mean.reason)
    low, high = sorted((1.0 + factor * mean.low, 1.0 + factor * mean.high))
    error = abs(factor) * mean.error
    return Estimate(value, low, high, "", error, two_sided(value, error, freedom), freedom)


def _within(found: Estimate, low: float, high: float) -> Estimate:
    """The interval without what lies beyond the bounds; the value stays in it, whatever rounding did to it.

    >>> _within(Estimate(0.5, -0.1, 1.1), 0.0, 1.0)
    Estimate(value=0.5, low=0.0, high=1.0, reason='', error=None, p=None, freedom=None)
    """
    if found.low is None or found.high is None:
        return found
    return replace(found, low=min(max(found.low, low), found.value), high=max(min(found.high, high), found.value))
