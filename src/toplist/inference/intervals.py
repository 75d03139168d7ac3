"""Means, differences and ratios of scores with their intervals and p values.

Values come from exact sums, rounded once, at the end. Intervals come from the same sums where cases or clusters are
independent, and from the cases themselves elsewhere. They end where the score does: the true value is there too, so
that cutting an interval off at the bounds misses it no more often.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, reduce, wraps
from itertools import combinations
from operator import or_
from typing import Any, TypeVar, cast

import numpy as np

from toplist._typing import Bools, Floats
from toplist.core.estimate import Estimate, bell_mccaffrey, cut_off, error_of_units, of_weights, satterthwaite
from toplist.core.kernel import BITS, FIXED_BITS, UNIT
from toplist.inference.aggregates import Aggregates, ScoreMatrix, UnitSums
from toplist.inference.bootstrap import FEWEST, FEWEST_POISSON, BootstrapT, Draws, Wild, counts, poisson, thinned
from toplist.inference.bounded import bounded_interval
from toplist.inference.dependence import (
    autocorrelation,
    cosine_error,
    long_run_error,
    small_sample_factor,
    usual_lag,
    usual_waves,
)
from toplist.inference.estimation import (
    BaselineSkill,
    Difference,
    Estimand,
    LogRelative,
    Mean,
    Ratio,
    Skill,
    estimate,
    two_sided,
    widened,
)
from toplist.inference.missing import AdjustedMean, adjusted_means
from toplist.inference.settings import DRAWN, DRAWS, TIMED, InferenceSettings, IntervalMethod

Method = TypeVar("Method", bound=Callable[..., Any])

INFINITE = "infinite scores have no interval"
NO_CASES = "there are no cases"
SAME = "the scores are the same in every case, up to rounding"
NO_SPREAD = "no spread: the same in every {}, up to rounding"
_ROUNDING = 1e-12  # of the largest contribution
_EQUAL = 10**9  # no case differs by more than this part of the root mean square of the scores
_MEAN = 1e-9  # of the mean score: a difference of means that is no larger is rounding
_LOST = 10**6  # one over the largest part of all weight, or of a usual score, that sums over sets may lose
_CASE = 1e-6  # of the range of the score, or of the mean score where there is no end to it: the same of single cases


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


def rounding(a: Floats, b: Floats) -> float:
    """The largest difference of two scores of a case that is taken as none, as `same_scores` does.

    >>> rounding(np.array([3.0, 4.0]), np.array([1.0, np.inf])) == math.sqrt(12.5) / 10**9
    True
    """
    finite = [one[np.isfinite(one)] for one in (a, b)]
    return max((math.sqrt(float(np.mean(one * one))) for one in finite if len(one)), default=0.0) / _EQUAL


def _once(method: Method) -> Method:
    """The method, whose answers are kept."""

    @wraps(method)
    def ask(self: Intervals, *args: Any) -> Any:
        key = (method.__name__, *args)
        if key not in self._answers:
            self._answers[key] = method(self, *args)
        return self._answers[key]

    return cast("Method", ask)


_AT_ALL_LEVELS = ("unit_sums", "_resampled_units", "_resampled")  # what is drawn or added up once for all levels


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
    _answers: dict[tuple[Any, ...], Any] = field(default_factory=dict, init=False, repr=False, compare=False)

    # What is estimated

    def mean(self, rule: int, a: int) -> Estimate:
        """The mean score; infinite where any score is."""
        found = self._mean(rule, a, by_sums=self._by_sums)
        return found if self.bounds is None else cut_off(found, *self.bounds[rule])

    def difference(self, rule: int, a: int, b: int, level: float | None = None) -> Estimate:
        """The mean of score a minus score b on the cases of both, at a level of one's own if one is given.

        No interval and no test where all scores are the same; zero is in the interval and p is one where they are so
        up to the rounding of text.
        """
        found = self._difference(rule, a, b)
        if level is None or level == self.level or found.low is None:
            return found
        if found.freedom is None or level < self.level:
            return self._at(level).difference(rule, a, b)
        low, high = self._range(rule)
        return widened(found, level, (low - high, high - low))

    def untested(self, rule: int, a: int, b: int) -> Estimate:
        """The same where scores are the same in every case, of which some intervals know what it shows."""
        found = self._ratio(rule, Difference(a, b), by_sums=self._by_sums)
        low, high = self._range(rule)
        return cut_off(found, low - high, high - low)

    def _range(self, rule: int) -> tuple[float, float]:
        return (-math.inf, math.inf) if self.bounds is None else self.bounds[rule]

    @_once
    def _at(self, level: float) -> Intervals:
        """The same at another level: nothing is drawn or added up twice."""
        other = replace(self, level=level)
        other._answers.update({key: kept for key, kept in self._answers.items() if key[0] in _AT_ALL_LEVELS})
        return other

    @_once
    def _difference(self, rule: int, a: int, b: int) -> Estimate:
        above, below = (self.tally.sums["infinite"][rule, p, q] for p, q in ((a, b), (b, a)))
        if above and below and a != b and self.bounds is not None and same_scores(self.tally, rule, a, b):
            return Estimate(math.nan, reason=SAME)
        if above or below:
            return Estimate(math.inf if not below else -math.inf if not above else math.nan, reason=INFINITE)
        found = self._ratio(rule, Difference(a, b), by_sums=self._by_sums)
        if self.bounds is None or not math.isfinite(found.value):
            return found
        if a != b and same_scores(self.tally, rule, a, b):
            return Estimate(found.value, reason=SAME)
        if found.low is None or found.high is None:
            return found
        if a != b and self._nearly_same(rule, a, b, found.value):
            found = replace(found, low=min(found.low, 0.0), high=max(found.high, 0.0), p=1.0)
        elif a != b and self.method != "bounded" and self._constant(rule, a, b):
            return Estimate(found.value, reason=NO_SPREAD.format("case"))
        low, high = self._range(rule)
        return cut_off(found, low - high, high - low)

    def skill(self, rule: int, a: int) -> Estimate | None:
        """One minus the mean over that of the empty list; at most one, where no score is below zero."""
        weight, empty = self.tally.sums["weight"][a], self.tally.sums["empty"][a, rule]
        if self.tally.sums["infinite"][rule, a, a] or not weight or not empty:
            return None
        mean, factor = self._mean(rule, a, by_sums=True), -weight / empty
        if self._by_sums and self._one_empty:
            found = _moved(mean, factor)
        else:
            found = self._from_units(rule, Skill(a), 1.0 + factor * mean.value)
        if self.bounds is None or self.bounds[rule][0] < 0:
            return found
        own = mean.value / (1.0 - found.value) if found.value < 1 else math.nan
        least = 1.0 - self.bounds[rule][1] / own if self._one_empty and own > 0 else -math.inf
        return cut_off(found, least, 1.0)

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
        return found if self.bounds is None or self.bounds[rule][0] < 0 else cut_off(found, -math.inf, 1.0)

    def relative(self, rule: int, a: int, value: float, others: tuple[int, ...]) -> Estimate:
        """The geometric mean of the ratios to others, whose value is known; its logarithm has the interval."""
        if self.matrix is None and not self._by_sets:
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
        found = None if self.matrix is None else self._adjusted_means(rule)[a]
        if found is None:
            return None
        if self.method in DRAWN or self.two_way:
            how = "for cases that depend by cluster and in time" if self.two_way else f"by {self.method}"
            return Estimate(found.estimate, reason=f"adjusted means have no intervals {how}")
        return self._from_units(rule, found, found.estimate)

    @_once
    def _adjusted_means(self, rule: int) -> list[AdjustedMean | None]:
        return adjusted_means(self._cases, rule)

    def units(self, rule: int, a: int, b: int) -> int:
        """Over how many units the difference of a and b goes."""
        if not self._by_sums and not self._by_sets and self.matrix is not None and self.matrix.units is not None:
            return int(np.count_nonzero(Difference(a, b).weights(self.unit_sums(rule)) > 0))
        return self._count(rule, Difference(a, b))

    def effective_units(self, rule: int, a: int, b: int | None = None) -> float | None:
        """How many cases of equal weight, or clusters of equal size, those of a difference (or mean) count like.

        One more than the degrees of freedom that they leave a variance of independent units. None for less than two.
        """
        estimand = Mean(a) if b is None else Difference(a, b)
        _, below = estimand.parts(_Totals(self.tally, rule))
        if self._count(rule, estimand) < 2 or not below:  # clusters are counted whether or not any score is finite
            return None
        if self.method in TIMED or (self.matrix is not None and self.matrix.ordered and not self._timeless):
            return self.balance(rule, a, b)
        other = replace(self, method="t")
        with np.errstate(invalid="ignore"):
            if other._by_sums:
                found = other._clustered(rule, estimand) or other._plain(rule, estimand)
            else:
                units = other.unit_sums(rule)
                weighty = estimand.weights(units) > 0
                if np.count_nonzero(weighty) < 2:
                    return None
                found = other._spread(rule, estimand, estimand.contributions(units), weighty)
        return found[1] + 1

    # Which source answers

    @property
    def _timeless(self) -> bool:
        """Whether cases are independent although it is known when they were: every case is a unit then."""
        return self.method in ("t", "normal") and self.matrix is not None and self.matrix.ordered

    @property
    def _by_sets(self) -> bool:
        """Whether sets of units are drawn, whose sums the tally has."""
        return self.method == "poisson"

    @property
    def _by_sums(self) -> bool:
        """Whether sums say all about means and differences; else the cases, or sets of them, are asked."""
        if self.matrix is None or self._by_sets:
            return not self._by_sets
        independent = self._timeless or self.matrix.units is None or bool(self.tally.clusters)
        return self.method in ("t", "normal") and independent

    @property
    def _one_empty(self) -> bool:
        """Whether it is known that the empty list scores the same in every case."""
        return not self._by_sets and (self.matrix is None or len(self.matrix.empty) == 1)

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
        size = max(abs(self._mean(rule, one, by_sums=True).value) for one in (a, b))
        return abs(difference) <= _MEAN * size or self._distance(rule, a, b) <= _CASE * self._scale(rule, a, b)

    def _constant(self, rule: int, a: int, b: int) -> bool:
        """Whether scores differ by the same in every case, up to what is rounded as text."""
        return self._distance(rule, a, b, centred=True) <= _CASE * self._scale(rule, a, b)

    def _scale(self, rule: int, a: int, b: int) -> float:
        """The range of the score, or the larger mean score where there is no end to it."""
        low, high = self._range(rule)
        if math.isfinite(high - low):
            return high - low
        return max(abs(self._mean(rule, one, by_sums=True).value) for one in (a, b))

    def _distance(self, rule: int, a: int, b: int, *, centred: bool = False) -> float:
        """The root of the mean squared difference of the two scores of a case, with squared weights; or around it."""
        totals = _Totals(self.tally, rule)
        weights = totals.statistics(a, b)[2][2]
        above, below = Difference(a, b).parts(totals) if centred else (0, 1)
        if not weights or not below:
            return math.inf
        squares = Difference(a, b).second_moment(below, above, totals.statistics(a, b))
        return math.sqrt(max(squares / (weights * below**2), 0.0))

    # From exact sums

    def _from_sums(self, rule: int, estimand: Ratio, value: float) -> Estimate:
        """The interval of a ratio N / D over independent units, each with (n, d).

        Its variance is that of the sums of c = (n - N / D d) / D over U units (delta method): for cases of equal
        weight sum of c^2 U / (U - 1), for clusters that of c^2 / (1 - h) with h = d / D (CR2).
        """
        unit, units = "cluster" if self.tally.clusters else "case", self._count(rule, estimand)
        if units < 2:
            return Estimate(value, reason=f"one {unit} has no spread")
        try:
            variance, freedom = self._clustered(rule, estimand) or self._plain(rule, estimand)
        except OverflowError:
            return Estimate(value, reason="the variance is too large for a number")
        if not freedom:
            return Estimate(value, reason=f"one {unit} has all the weight")
        error = math.sqrt(max(variance, 0.0))
        if error <= self._noise(rule, estimand, units):
            return Estimate(value, reason=NO_SPREAD.format(unit))
        return estimate(value, error, math.inf if self.method == "normal" else freedom, self.level)

    def _noise(self, rule: int, estimand: Ratio, units: int) -> float:
        """An error that is not larger is what rounding makes of none: zero where scores are taken as exact."""
        if self.bounds is None:
            return 0.0
        totals, a, b = _Totals(self.tally, rule), estimand.a, estimand.other
        _, below = estimand.parts(totals)
        size: float = abs(totals.x(a, b) / below) + abs(totals.x(b, a) / below)
        return _ROUNDING * size / math.sqrt(units)

    def _plain(self, rule: int, estimand: Ratio) -> tuple[float, float]:
        """The variance from the exact sum of (D n - N d)^2 over units, and its degrees of freedom."""
        totals, units = _Totals(self.tally, rule), self._count(rule, estimand)
        above, below = estimand.parts(totals)
        if self.tally.clusters:
            low, clusters = self._cluster_sums(rule)
            more = _zeros(below | above)
            p, q = below >> more, above >> more
            squares = sum((p * n - q * d) ** 2 for n, d in zip(*estimand.parts(clusters), strict=True))
            spread = (squares << 2 * (low + more)) // UNIT  # what is cut off is below the last digit
        else:
            spread = estimand.second_moment(below, above, totals.statistics(estimand.a, estimand.other))
            weighted = None if self.method == "normal" else totals.weighted(estimand.a, estimand.other, units)
            if weighted is not None:
                return spread * UNIT / below**4 * weighted[0], weighted[1]
        return (spread * units * UNIT) / (below**4 * (units - 1)), units - 1

    def _clustered(self, rule: int, estimand: Ratio) -> tuple[float, float] | None:
        """The same of clusters that are not of equal weight; no degrees of freedom where one has all of it."""
        if not self.tally.clusters or self.method == "normal":
            return None
        (above, below), (low, clusters) = estimand.parts(_Totals(self.tally, rule)), self._cluster_sums(rule)
        weights = clusters.w(0, 0)
        if min(weights) == max(weights):
            return None
        whole = sum(weights)
        shares, rest = (np.array([number / whole for number in of]) for of in (weights, whole - weights))
        if not rest.min():
            return 0.0, 0.0
        parts = np.array(
            [((below * n - above * d) << low) / below**2 for n, d in zip(*estimand.parts(clusters), strict=True)]
        )
        return math.fsum(parts * parts / rest), bell_mccaffrey(shares, rest)  # in no order

    def _count(self, rule: int, estimand: Ratio) -> int:
        if self.tally.clusters:
            return int(self._cluster_sums(rule)[1].sums.shape[1])
        return int(self.tally.sums["both"][rule, estimand.a, estimand.other])

    @_once
    def _cluster_sums(self, rule: int) -> tuple[int, UnitSums]:
        """The clusters that count, without the zeros at the end of all their sums, and how many zeros these are.

        They are in the order of their sums: in which order they were added shows in no digit.
        """
        found = sorted([*x[rule], weight] for weight, x in self.tally.clusters.values() if weight)
        low = _zeros(reduce(or_, (number for one in found for number in one), 0))
        sums = np.array([[number >> low for number in one] for one in found], object).T
        models = len(self.tally.sums["cases"])
        return low, UnitSums(sums.reshape(models + 1, len(found)), models, complete=True)

    # From the cases

    @_once
    def unit_sums(self, rule: int) -> UnitSums:
        """The sums of each unit, or of each set of units where these are drawn."""
        return UnitSums.of_sets(self.tally, rule) if self._by_sets else self._cases.totals(rule)

    @property
    def _cases(self) -> ScoreMatrix:
        if self.matrix is None:
            raise ValueError("there are no cases here, only their sums")
        return replace(self.matrix, units=None) if self._timeless else self.matrix

    def _from_units(self, rule: int, estimand: Estimand, value: float) -> Estimate:
        """The interval of an estimand, with the degrees of freedom that its own units give it."""
        units, unit = self.unit_sums(rule), self._unit
        small = self._too_small(rule) if self._by_sets else ""
        if small:
            return Estimate(value, reason=f"{small} are too small for a Poisson bootstrap: use t")
        weighty = estimand.weights(units) > 0
        count, own = int(np.count_nonzero(weighty)), estimand.effective(units)
        if own < 2 - _ROUNDING:
            return Estimate(value, reason=f"one {unit} has no spread")
        if self.method in DRAWN:
            return self._drawn(rule, estimand, value, own)
        parts, unseen = estimand.spread(units), estimand.unseen(units)
        if not math.isfinite(unseen):
            return Estimate(value, reason=f"no two {unit}s are shared with anybody")
        if self.method in TIMED and self.horizon >= max(count, 2):
            return Estimate(value, reason=f"{count} {unit}s are too few for a horizon of {self.horizon}")
        noise = _ROUNDING * estimand.size(units)
        constant = float(np.abs(parts).max()) <= noise
        if constant and not self.two_way:
            return Estimate(value, reason=NO_SPREAD.format(unit))
        error, freedom = (0.0, 1.0) if constant else self._spread(rule, estimand, parts, weighty)
        if not freedom:
            return Estimate(value, reason=f"one {unit} has all the weight")
        if error <= noise and not constant:
            return Estimate(value, reason=f"{count} {unit}s are too few to tell how they depend on each other")
        freedom = min(freedom, own - 1)
        if self.two_way:
            clustered = self._of_clusters(rule, estimand)
            if isinstance(clustered, str):
                return Estimate(value, reason=clustered)
            if constant and clustered[0] <= noise:
                return Estimate(value, reason=NO_SPREAD.format(unit))
            freedom = satterthwaite((error**2, freedom), (clustered[0] ** 2, clustered[1]))
            error = math.hypot(error, clustered[0])
        freedom = math.inf if self.method == "normal" else freedom
        return estimate(value, math.hypot(error, unseen), freedom, self.level)

    def _spread(self, rule: int, estimand: Estimand, parts: Floats, weighty: Bools) -> tuple[float, float]:
        """The standard error of a sum of contributions and its degrees of freedom; none where one has all weight."""
        count = int(np.count_nonzero(weighty))
        if self.method in TIMED:
            return self._in_time(rule, estimand, parts, weighty)
        parts, weights = parts[weighty], estimand.weights(self.unit_sums(rule))[weighty]
        if self.method == "normal":
            return math.sqrt(count / (count - 1) * float(parts @ parts)), float(count - 1)
        return error_of_units(parts, weights, clustered=self._unit != "case")

    def _in_time(self, rule: int, estimand: Estimand, parts: Floats, weighty: Bools) -> tuple[float, float]:
        """The same of time points that depend on each other; unequal ones count for less than their number."""
        count, weights = int(np.count_nonzero(weighty)), estimand.weights(self.unit_sums(rule))
        shares = weights / weights.sum()
        if not (1 - shares).min():
            return 0.0, 0.0
        balance = math.inf
        if np.ptp(weights[weighty]) > _ROUNDING * float(weights.max()):
            average = 1 / count
            parts = parts * np.sqrt((1 - average) / (1 - shares))
            balance = bell_mccaffrey(shares[weighty], 1 - shares[weighty])
        series, there = _between(parts, weighty)
        if self.method == "hac":
            error = long_run_error(series, usual_lag(count, self.horizon))
            return error / small_sample_factor(count, self.horizon), min(count - 1, balance)
        persistence = autocorrelation(series, there)
        if isinstance(estimand, Difference):
            persistence = max(persistence, self._persistence(rule))
        error, freedom = cosine_error(series, there, usual_waves(count, self.horizon), persistence)
        return error, min(freedom, balance)

    def clusters_count_like(self, rule: int, a: int, b: int | None = None) -> float:
        """How many clusters of equal weight those beside time points count like; infinite where there are none."""
        return self._across.balance(rule, a, b) if self.two_way else math.inf

    def balance(self, rule: int = 0, a: int = 0, b: int | None = None) -> float:
        """How many units of equal weight the units of two models count like, whatever the method."""
        if self._by_sets:
            return replace(self, method="t").balance(rule, a, b)
        units = self.unit_sums(rule) if self.matrix is not None else self._cluster_sums(rule)[1]
        weights = np.asarray(units.w(a, a if b is None else b), np.float64)
        shares = weights[weights > 0] / weights.sum()
        return bell_mccaffrey(shares, 1 - shares) + 1 if len(shares) > 1 else float(len(shares))

    @_once
    def _persistence(self, rule: int) -> float:
        """The mean first autocorrelation of all differences.

        That of a single one is rough, and among many pairs the one with the largest statistic is one whose own is
        too low: the larger of the two counts.
        """
        units = self.unit_sums(rule)
        pairs = [Difference(a, b) for a, b in combinations(range(units.models), 2)]
        weighty = [pair.weights(units) > 0 for pair in pairs]
        found = [
            autocorrelation(*_between(pair.contributions(units), there))
            for pair, there in zip(pairs, weighty, strict=True)
            if there.any()
        ]
        return math.fsum(found) / len(found)

    def _of_clusters(self, rule: int, estimand: Estimand) -> tuple[float, float] | str:
        """The standard error from clusters across time, and its degrees of freedom; or why there is none."""
        other = self._across
        units = other.unit_sums(rule)
        weighty = estimand.weights(units) > 0
        if np.count_nonzero(weighty) < 2:
            return "one cluster has no spread"
        found = other._spread(rule, estimand, estimand.spread(units), weighty)
        return found if found[1] else "one cluster has all the weight"

    @property
    def two_way(self) -> bool:
        """Whether cases depend on each other by cluster and in time."""
        return self.method in TIMED and self.matrix is not None and self.matrix.clusters is not None

    @cached_property
    def _across(self) -> Intervals:
        """The same cases by cluster, whatever their time."""
        return replace(self, method="t", matrix=None if self.matrix is None else self.matrix.by_cluster())

    def _drawn(self, rule: int, estimand: Estimand, value: float, own: float) -> Estimate:
        """The interval of a method that draws units, or their order."""
        unit = self._unit
        if self.matrix is not None and self.matrix.ordered:
            return Estimate(value, reason=f"{self.method} intervals are not for cases in time: use ewc")
        if self.method == "bounded":
            return self._bounded(rule, estimand, value)
        units = self.unit_sums(rule)
        if float(np.abs(estimand.contributions(units)).max()) <= _ROUNDING * estimand.size(units):
            return Estimate(value, reason=NO_SPREAD.format(unit))
        weights = estimand.weights(units)
        if float(weights.max()) > (1 - _ROUNDING) * float(weights.sum()):
            return Estimate(value, reason=f"one {unit} has all the weight")
        fewest = {"bootstrap": FEWEST, "poisson": FEWEST_POISSON}.get(self.method, 0)
        if own < fewest - _ROUNDING:
            return Estimate(value, reason=f"{own:.3g} {unit}s are too few to draw from")
        return self._resampled(rule, estimand).estimate(value, self.level, unit)

    @_once
    def _resampled(self, rule: int, estimand: Estimand) -> BootstrapT | Wild:
        """What was drawn for an estimand; it serves every level."""
        if self.method == "wild":
            rng = np.random.default_rng(self.seed)
            return Wild.of(estimand, thinned(self.unit_sums(rule), rng), self.draws, rng)
        found = BootstrapT.of(estimand, *self._resampled_units(rule))
        return replace(found, error=self._exact_error(rule, estimand) or found.error)

    @_once
    def _resampled_units(self, rule: int) -> tuple[UnitSums, Draws, UnitSums]:
        """Units with how often each is drawn, or sets of them with any; and the sums of each draw."""
        units = self.unit_sums(rule)
        if self._by_sets:
            draws, filled = poisson(units.sums.shape[1], self.draws, self.seed), units.sums.any(axis=0)
            units, draws = replace(units, sums=units.sums[:, filled]), replace(draws, codes=draws.codes[:, filled])
        else:
            rng = np.random.default_rng(self.seed)
            units = thinned(units, rng)
            draws = counts(units.sums.shape[1], self.draws, rng)
        return units, draws, replace(units, sums=draws.dot(units.sums.T).T)

    def _exact_error(self, rule: int, estimand: Estimand) -> float | None:
        """The standard error from sums over all units, of which sets of them show it less well; None without them."""
        by_unit = self.matrix is None or self.matrix.units is None or bool(self.tally.clusters)
        if not self._by_sets or not by_unit or not isinstance(estimand, Mean | Difference | BaselineSkill):
            return None
        return replace(self, method="normal", matrix=None)._from_sums(rule, estimand, math.nan).error

    def _too_small(self, rule: int) -> str:
        """Weights, or scores, of which sums over sets, whose digits have an end, may have lost part; else nothing."""
        sums = self.tally.sums
        pairwise = sums["set_w"].ndim == 3
        whole = max(sums["w"][rule].diagonal() if pairwise else sums["weight"])
        kept = max((sums["set_w"][rule] if pairwise else sums["set_w"]).sum(axis=-1)) << (BITS - FIXED_BITS)
        if (whole - kept) * _LOST > whole:
            return "weights"
        counts, squares = (sums[name][rule].diagonal() for name in ("both", "xx"))
        sizes = (math.sqrt(square / (count * UNIT)) for count, square in zip(counts, squares, strict=True) if square)
        return "scores" if any(size < _LOST * 2.0**-FIXED_BITS for size in sizes) else ""

    def _bounded(self, rule: int, estimand: Estimand, value: float) -> Estimate:
        """The interval of a mean of numbers with bounds: scores, differences, or skill with one number of classes."""
        low, high = self._range(rule)
        if not math.isfinite(high - low):
            return Estimate(value, reason="scores without bounds have no bounded interval: use t, or a bounded rule")
        if not isinstance(estimand, Ratio) or any(estimand.below[:2]) or (estimand.below[3] and not self._one_empty):
            return Estimate(value, reason="a ratio of means has no bounded interval: use t")
        units = self.unit_sums(rule)
        there = estimand.weights(units) > 0
        above, below = (part[there] for part in estimand.parts(units))
        clustered = self.matrix is not None and self.matrix.units is not None
        if clustered or np.ptp(below) > _ROUNDING * float(below.max()):
            return Estimate(value, reason="bounded intervals are for independent cases of equal weight: use t")
        known = estimand.above[3] * float(below[0])  # the score of the empty list
        ends = [sorted((factor * low, factor * high)) for factor in estimand.above[:2]]
        least, most = (sum(end[side] for end in ends) + known for side in (0, 1))
        scale = float(below[0])
        rng = np.random.default_rng(self.seed)
        first, last, p = bounded_interval(above / scale, least / scale, most / scale, self.level, rng)
        return Estimate(value, min(first, value), max(last, value), p=p)

    @property
    def _unit(self) -> str:
        if self.matrix is None:
            return "cluster" if self._by_sets and self.tally.clusters else "case"
        return "case" if self._timeless else self.matrix.unit


@dataclass(frozen=True, slots=True)
class IntervalsOf:
    """Makes the intervals of a group of cases, or of all (None), from their sums."""

    settings: InferenceSettings
    matrix: ScoreMatrix | None
    bounds: tuple[tuple[float, float], ...]

    def __call__(self, group: Hashable, tally: Aggregates) -> Intervals:
        """The intervals of these sums."""
        how, matrix = self.settings, self.matrix
        matrix = matrix if matrix is None or group is None else matrix.group(group)
        return Intervals(tally, how.level, how.method, matrix, self.bounds, how.horizon, how.seed)


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

    def weighted(self, a: int, b: int, cases: int) -> tuple[float, float] | None:
        """The factor of a variance and the degrees of freedom, where weights are not equal."""
        if "w3" not in self.tally.sums:
            return None
        total, squares = self.w(a, b), self.tally.sums["ww"][self.rule, a, b]
        if cases * squares * UNIT == total * total:
            return None
        s3, s4, s5 = (
            self.tally.sums[f"w{power}"][self.rule, a, b] * UNIT ** (power - 1) / total**power for power in (3, 4, 5)
        )
        return of_weights((squares * UNIT / total**2, s3, s4, s5))

    def statistics(self, a: int, b: int) -> Sequence[Sequence[int]]:
        """The sums of products of (score of a, score of b, weight) over the cases of both."""
        xx, xy, wx, ww = (self.tally.sums[name][self.rule] for name in ("xx", "xy", "wx", "ww"))
        return (
            (xx[a, b], xy[a, b], wx[a, b]),
            (xy[a, b], xx[b, a], wx[b, a]),
            (wx[a, b], wx[b, a], ww[a, b]),
        )


def _between(parts: Floats, there: Bools) -> tuple[Floats, Bools]:
    """Contributions from the first to the last time point that is there: what lies between keeps its place."""
    first, last = np.flatnonzero(there)[[0, -1]]
    return parts[first : last + 1], there[first : last + 1]


def _zeros(n: int) -> int:
    """How many bits at the end are zero.

    >>> _zeros(40)
    3
    """
    return (n & -n).bit_length() - 1 if n else 0


def _moved(mean: Estimate, factor: float) -> Estimate:
    """The estimate of 1 + factor * x from that of x."""
    value = 1.0 + factor * mean.value
    if mean.low is None or mean.high is None or mean.error is None or mean.freedom is None:
        return Estimate(value, reason=mean.reason)
    low, high = sorted((1.0 + factor * mean.low, 1.0 + factor * mean.high))
    error = abs(factor) * mean.error
    return Estimate(value, low, high, "", error, two_sided(value, error, mean.freedom), mean.freedom)
