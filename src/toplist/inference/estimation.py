"""What is estimated, as functions of sums over units; its t interval and p value; the power of its test.

What a unit contributes to an estimand is the derivative along the unit's own sums; contributions add up to zero, and
the variance of their sum is that of the estimand (delta method). Power says how many units a comparison needs and what
it can detect; there are also tests against a margin.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from operator import add
from typing import Any, ClassVar, Protocol

import numpy as np

from toplist._typing import Floats
from toplist.core.estimate import Estimate, cut_off, quantile
from toplist.inference.aggregates import UnitSums
from toplist.inference.dependence import usual_waves

_FEW = 10  # units; the spread of fewer is not to be relied upon alone
POWER = 0.8
PESSIMISTIC = 0.8  # how often the spread of a unit is at most the one that `needed_high` goes by (Browne 1995)
MOST = 10**12  # units; more cannot be had
_NORMAL = 1e5  # degrees of freedom from which on Student's distribution is the normal one


class Estimand(ABC):
    """A smooth function of totals."""

    __slots__ = ()

    def value(self, totals: UnitSums) -> Floats:
        """One entry for each column of the totals; not where each would need a fit."""
        raise NotImplementedError

    @abstractmethod
    def contributions(self, units: UnitSums) -> Floats:
        """One entry for each unit."""

    def gradient(self, units: UnitSums, totals: UnitSums) -> tuple[Floats, Floats]:
        """Sums of units (sums, units) and the derivatives along them at some totals (sums, totals).

        Products of the two, added up over sums, are the contributions of the units to each of the totals.
        """
        raise NotImplementedError

    @abstractmethod
    def weights(self, units: UnitSums) -> Floats:
        """How much each unit counts: those without any weight are no units."""

    @abstractmethod
    def size(self, units: UnitSums) -> float:
        """The largest number that a contribution is a difference of: what is far smaller than it is rounding."""

    def effective(self, units: UnitSums) -> float:
        """By how many units the quantity goes, where some of its parts go by fewer than others."""
        return float(np.count_nonzero(self.weights(units) > 0))

    def spread(self, units: UnitSums) -> Floats:
        """Contributions that have the spread of all units, of which the quantity takes means of some."""
        return self.contributions(units)

    def unseen(self, units: UnitSums) -> float:
        """A standard error that contributions cannot show; infinite where nothing tells how large it is."""
        return 0.0


class Totals(Protocol):
    """Sums over the cases of every two models: floats, one for each unit or resample, or exact integers."""

    def x(self, a: int, b: int) -> Any:
        """Weighted scores of a, on the cases of a and b."""
        ...

    def w(self, a: int, b: int) -> Any:
        """Weights of the cases of a and b."""
        ...

    def empty(self, a: int) -> Any:
        """Weighted scores of the empty list, on the cases of a."""
        ...


@dataclass(frozen=True, slots=True)
class Ratio(Estimand):
    """One sum over another, N / D: what a unit contributes is (n - N / D d) / D.

    Numerator and denominator are linear in (score of a, score of b, weight, score of the empty list).
    """

    a: int
    b: int | None = None
    above: ClassVar[tuple[int, ...]]
    below: ClassVar[tuple[int, ...]]

    @property
    def other(self) -> int:
        """The second model, or the first again."""
        return self.a if self.b is None else self.b

    def parts(self, totals: Totals) -> tuple[Any, Any]:
        """What is divided by what."""
        a, b = self.a, self.other
        columns: tuple[Callable[[], Any], ...] = (
            lambda: totals.x(a, b),
            lambda: totals.x(b, a),
            lambda: totals.w(a, b),
            lambda: totals.empty(a),
        )
        above, below = (
            reduce(add, (factor * column() for factor, column in zip(factors, columns, strict=True) if factor))
            for factors in (self.above, self.below)
        )
        return above, below

    def second_moment(self, by_above: int, by_below: int, moments: Sequence[Sequence[int]]) -> int:
        """The sum of (p n - q d)^2 over cases, from the sums of products of (score of a, score of b, weight)."""
        factors = [by_above * n - by_below * d for n, d in zip(self.above[:3], self.below[:3], strict=True)]
        return sum(
            p * q * moment
            for p, row in zip(factors, moments, strict=True)
            for q, moment in zip(factors, row, strict=True)
            if p and q
        )

    def value(self, totals: UnitSums) -> Floats:
        """See `Estimand`."""
        above, below = self.parts(totals)
        found: Floats = above / below
        return found

    def contributions(self, units: UnitSums) -> Floats:
        """See `Estimand`."""
        (above, below), (_, whole) = self.parts(units), self.parts(units.all)
        found: Floats = (above - self.value(units.all) * below) / whole
        return found

    def gradient(self, units: UnitSums, totals: UnitSums) -> tuple[Floats, Floats]:
        """See `Estimand`."""
        value, (above, below) = self.value(units.all), self.parts(totals)
        n, d = self.parts(units)
        return np.stack([n - value * d, d]), np.stack(
            [1 / below, (value - above / below) / below]
        )  # no large sums cancel

    def weights(self, units: UnitSums) -> Floats:
        """See `Estimand`."""
        return units.w(self.a, self.other)

    def size(self, units: UnitSums) -> float:
        """See `Estimand`."""
        (above, below), (_, whole) = self.parts(units), self.parts(units.all)
        scores = np.abs(units.x(self.a, self.other)) + np.abs(units.x(self.other, self.a))
        return float((np.abs(above) + np.abs(self.value(units.all) * below) + scores).max() / abs(float(whole[0])))


class Mean(Ratio):
    """The mean score of a."""

    __slots__ = ()
    above, below = (1, 0, 0, 0), (0, 0, 1, 0)


class Difference(Ratio):
    """The mean of score a minus score b."""

    __slots__ = ()
    above, below = (1, -1, 0, 0), (0, 0, 1, 0)


class Skill(Ratio):
    """One minus the mean of a over that of the empty list: what it saves of the score of the empty list."""

    __slots__ = ()
    above, below = (-1, 0, 0, 1), (0, 0, 0, 1)


class BaselineSkill(Ratio):
    """One minus the mean of a over that of b, on the cases of both: what it saves of the score of b."""

    __slots__ = ()
    above, below = (-1, 1, 0, 0), (0, 1, 0, 0)


@dataclass(frozen=True, slots=True)
class LogRelative(Estimand):
    """The mean log ratio of the score of a to those of others, itself included, each on the cases of both."""

    a: int
    others: tuple[int, ...]

    def value(self, totals: UnitSums) -> Floats:
        """See `Estimand`: of those of the others who share a case with a in a resample."""
        ratios = np.stack([np.log(totals.x(self.a, b) / totals.x(b, self.a)) for b in self.others])
        there = np.stack([totals.w(self.a, b) > 0 for b in self.others])
        found: Floats = np.where(there, ratios, 0.0).sum(axis=0) / there.sum(axis=0)
        return found

    def contributions(self, units: UnitSums) -> Floats:
        """See `Estimand`."""
        return sum((self._against(b, units) for b in self.others), np.zeros(1)) / len(self.others)

    def _against(self, b: int, units: UnitSums) -> Floats:
        a, all_ = self.a, units.all
        return units.x(a, b) / all_.x(a, b) - units.x(b, a) / all_.x(b, a)

    def gradient(self, units: UnitSums, totals: UnitSums) -> tuple[Floats, Floats]:
        """See `Estimand`: of those of the others who share a case with a in a resample."""
        met = [b for b in self.others if b != self.a]
        there = np.stack([totals.w(self.a, b) > 0 for b in met])
        count = 1 + there.sum(axis=0)  # with itself
        ours = [np.where(has, 1 / (totals.x(self.a, b) * count), 0.0) for b, has in zip(met, there, strict=True)]
        theirs = [np.where(has, -1 / (totals.x(b, self.a) * count), 0.0) for b, has in zip(met, there, strict=True)]
        columns = [*(units.x(self.a, b) for b in met), *(units.x(b, self.a) for b in met)]
        return np.stack(columns), np.stack([*ours, *theirs])

    def weights(self, units: UnitSums) -> Floats:
        """See `Estimand`."""
        return units.w(self.a, self.a)

    def size(self, units: UnitSums) -> float:
        """See `Estimand`."""
        a, all_ = self.a, units.all
        return max(float((units.x(a, b) / all_.x(a, b)).max()) for b in self.others)

    def effective(self, units: UnitSums) -> float:
        """See `Estimand`: one over the sum of squared shares of units, each ratio resting on those that both have."""
        met = [b for b in self.others if b != self.a]
        rests = ((units.w(self.a, b) > 0) / self._shared(b, units) for b in met)
        shares = sum(rests, np.zeros(1)) / max(len(met), 1)
        return float(1.0 / (shares @ shares))

    def spread(self, units: UnitSums) -> Floats:
        """See `Estimand`: what U units show of a ratio is short by U / (U - 1), whatever the number of all is."""
        every = int(np.count_nonzero(self.weights(units) > 0))
        found = np.zeros(units.sums.shape[1])
        for b in self.others:
            both = self._shared(b, units)
            if both > 1:
                found += np.sqrt(both / (both - 1) * (every - 1) / every) * self._against(b, units)
        return found / len(self.others)

    def unseen(self, units: UnitSums) -> float:
        """See `Estimand`: a ratio on one unit shows no spread, and on a few units perhaps too little by chance.

        On fewer than ten units, and half of those of a, it has at least the spread of a unit in all ratios.
        """
        every = int(np.count_nonzero(self.weights(units) > 0))
        shared = {b: self._shared(b, units) for b in self.others if b != self.a}
        few = {b: both for b, both in shared.items() if both < _FEW and 2 * both <= every}
        squares = {b: float(np.square(self._against(b, units)).sum()) for b, both in shared.items() if both > 1}
        if not few:
            return 0.0
        freedom = sum(shared[b] - 1 for b in squares)
        if not freedom:
            return math.inf
        usual = sum(shared[b] ** 2 * square for b, square in squares.items()) / freedom  # the variance of one unit
        lacking = (usual / both - (both / (both - 1) * squares[b] if both > 1 else 0.0) for b, both in few.items())
        return math.sqrt(sum(max(one, 0.0) for one in lacking)) / len(self.others)

    def _shared(self, b: int, units: UnitSums) -> int:
        return int(np.count_nonzero(units.w(self.a, b) > 0))


# Intervals and p values


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
    return cut_off(replace(found, low=low, high=high), *within)


def two_sided(value: float, error: float, freedom: float = math.inf) -> float:
    """How often so large a ratio to its error, or a larger one, comes up if the true value is zero."""
    from scipy.special import ndtr, stdtr  # noqa: PLC0415

    far = -abs(value / error)
    return float(2 * (ndtr(far) if math.isinf(freedom) else stdtr(freedom, far)))


# Power


def power_of(effect: float, error: float, freedom: float, level: float) -> float:
    """How often a two-sided t test at one minus this level rejects zero, if the true difference is `effect`.

    >>> round(power_of(0.28, 0.1, math.inf, 0.95), 3)
    0.8
    """
    from scipy.special import nctdtr, ndtr  # noqa: PLC0415  only here, and not cheap to import

    edge, away = quantile(0.5 + level / 2, freedom), abs(effect) / error
    if freedom > _NORMAL:
        return float(ndtr(away - edge) + ndtr(-away - edge))
    beyond = float(nctdtr(freedom, away, -edge))  # no number where it is too small for one
    return float(1 - nctdtr(freedom, away, edge)) + (0.0 if math.isnan(beyond) else beyond)


def detectable(error: float, freedom: float, level: float, power: float = POWER) -> float:
    """The smallest true difference that a test with this standard error finds with this power.

    >>> round(detectable(0.1, math.inf, 0.95), 3)
    0.28
    """
    low, high = 0.0, error
    while power_of(high, error, freedom, level) < power:
        low, high = high, 2 * high
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (low, middle) if power_of(middle, error, freedom, level) >= power else (middle, high)
    return high


def required_units(
    found: Estimate, units: int, smallest: float, *, level: float, power: float = POWER, timed: bool = False
) -> int | None:
    """How many units find a difference of this size with this power, if a unit has the spread that it has in `found`.

    The standard error falls with the root of the number of units. Degrees of freedom grow in proportion to it, or as
    those of the cosine variance do where units follow each other in time.

    >>> required_units(Estimate(0.1, -0.1, 0.3, error=0.1, freedom=99), 100, 0.1, level=0.95)
    787
    """
    if found.error is None or found.freedom is None or not found.error > 0:
        return None
    error, freedom = found.error, found.freedom

    def enough(n: int) -> bool:
        if math.isinf(freedom):
            own = freedom
        elif timed:
            own = freedom * usual_waves(n) / usual_waves(units)
        else:
            own = (freedom + 1) * n / units - 1
        return own > 0 and power_of(smallest, error * math.sqrt(units / n), own, level) >= power

    guess = (quantile(0.5 + level / 2) + quantile(power)) * error / abs(smallest)  # Student's quantiles are larger
    if not guess * guess * units < MOST:
        return None
    high = max(2, math.ceil(guess * guess * units))
    while not enough(high):
        high *= 2
    return bisect_left(range(high), True, 2, key=enough)


def extra_units(
    difference: Estimate, units: int, level: float, *, power: float = POWER, timed: bool = False
) -> int | None:
    """How many units more would make this difference significant, if the true one and the spread are the observed ones.

    None where there is no difference or no spread.

    >>> extra_units(Estimate(0.1, -0.1, 0.3, error=0.1, freedom=99), 100, 0.95)
    687
    """
    size = abs(difference.value)
    if difference.low is None or not 0 < size < math.inf:
        return None
    needed = required_units(difference, units, size, level=level, power=power, timed=timed)
    return None if needed is None else max(1, needed - units)


def pessimistic(found: Estimate) -> Estimate:
    """The estimate with the largest standard error that the data allow at 80 % confidence, one-sided.

    >>> round(pessimistic(Estimate(0.1, error=0.1, freedom=19)).error, 4)
    0.1177
    """
    from scipy.special import chdtri  # noqa: PLC0415  only here, and not cheap to import

    if found.error is None or found.freedom is None or math.isinf(found.freedom):
        return found
    return replace(found, error=found.error * math.sqrt(found.freedom / float(chdtri(found.freedom, PESSIMISTIC))))


def one_sided(found: Estimate, margin: float) -> float | None:
    """The p value of: the true difference is at least the margin. None where there is no standard error.

    >>> round(one_sided(Estimate(0.0, error=0.1, freedom=math.inf), 0.1645), 3)
    0.05
    """
    from scipy.special import ndtr, stdtr  # noqa: PLC0415  only here, and not cheap to import

    if found.error is None or found.freedom is None or not found.error > 0:
        return None
    far = (found.value - margin) / found.error
    return float(ndtr(far) if math.isinf(found.freedom) else stdtr(found.freedom, far))


def two_one_sided(found: Estimate, margin: float) -> float | None:
    """The p value of: the true difference is at least the margin in size (the larger of two one-sided ones)."""
    below = one_sided(found, margin)
    above = one_sided(-found, margin)
    return None if below is None or above is None else max(below, above)
