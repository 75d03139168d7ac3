"""The power of a comparison: how many units it needs, what it can detect, and tests against a margin."""

from __future__ import annotations

import math
from dataclasses import replace

from toplist.inference.dependence import usual_waves
from toplist.inference.intervals import quantile
from toplist.inference.results import Estimate

POWER = 0.8
PESSIMISTIC = 0.8  # how often the spread of a unit is at most the one that `needed_high` goes by (Browne 1995)
MOST = 10**12  # units; more cannot be had
_NORMAL = 1e5  # degrees of freedom from which on Student's distribution is the normal one


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

    guess = (quantile(0.5 + level / 2) + quantile(power)) * error / abs(smallest)
    if not guess * guess * units < MOST:
        return None
    low = high = max(2, math.ceil(guess * guess * units))  # of normal quantiles; Student's are larger
    step = 1
    while enough(low) and low > 2:
        low, step = max(2, low - step), 2 * step
    while not enough(high):
        low, high, step = high, high + step, 2 * step
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return low if enough(low) else high


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
    above = one_sided(replace(found, value=-found.value), margin)
    return None if below is None or above is None else max(below, above)
