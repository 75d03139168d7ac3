"""From a value and its standard error to an interval and a p value."""

from __future__ import annotations

import math

from toplist.ranking.results import Estimate


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
        return Estimate(value, why=found.why)
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
