"""A value and its interval; standard errors of means over units of unequal weight, and their degrees of freedom.

An estimated variance is a quadratic form of the units; where these are normal, it has about the distribution of a
multiple of chi-squared with (tr A)^2 / tr A^2 degrees of freedom (Satterthwaite 1946).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated, Any

import numpy as np

from toplist._typing import Floats
from toplist.core.arguments import as_probability, as_units

SPELLED = {"infinity": "infinite"}  # metadata of a field whose infinite values are words in JSON, not null
_EQUAL = 1e-12  # of the largest weight: weights that differ by no more are the same, up to what is rounded
_ALONE = 1e-13  # a trace that is not larger is that of one case with all the weight, up to what is rounded


@dataclass(frozen=True, slots=True)
class Estimate:
    """A mean and its interval."""

    value: Annotated[float, "The mean."]
    low: Annotated[float | None, "Where the interval begins; null where there is none."] = None
    high: Annotated[float | None, "Where the interval ends; null where there is none."] = None
    reason: Annotated[str, "Why there is no interval; empty where there is one, or where none is made."] = ""
    error: Annotated[float | None, "The standard error; null where there is none."] = None
    p: Annotated[float | None, "Two-sided, that the true value is zero; null where there is none."] = None
    freedom: Annotated[
        float | None,
        "Degrees of freedom of the t quantile that the interval is made with, infinite for a normal one; null where "
        "there is no interval, or it is made in another way.",
    ] = field(default=None, metadata=SPELLED)

    def __neg__(self) -> Estimate:
        """The same difference the other way round; no zero has a sign.

        >>> -Estimate(0.25, 0.0, 0.5, error=0.125)
        Estimate(value=-0.25, low=-0.5, high=0.0, reason='', error=0.125, p=None, freedom=None)
        """
        low, high = (None if x is None else 0.0 - x for x in (self.high, self.low))
        value = self.value if math.isnan(self.value) else 0.0 - self.value  # NaN equals itself only as the same object
        return replace(self, value=value, low=low, high=high)


def cut_off(found: Estimate, low: float, high: float) -> Estimate:
    """The interval without what lies beyond the bounds; the value stays in it, whatever rounding did to it.

    >>> cut_off(Estimate(0.5, -0.1, 1.1), 0.0, 1.0)
    Estimate(value=0.5, low=0.0, high=1.0, reason='', error=None, p=None, freedom=None)
    """
    if found.low is None or found.high is None:
        return found
    return replace(found, low=min(max(found.low, low), found.value), high=max(min(found.high, high), found.value))


def quantile(p: float, freedom: float = math.inf) -> float:
    """Of Student's t, or of the normal distribution."""
    from scipy.special import ndtri, stdtrit  # noqa: PLC0415  only here, and not cheap to import

    return float(ndtri(p) if math.isinf(freedom) else stdtrit(freedom, p))


def bell_mccaffrey(shares: Floats, rest: Floats) -> float:
    """Degrees of freedom of the sum of c_g^2 / (1 - h_g) over clusters with these shares h_g, and the rest 1 - h_g.

    By Bell and McCaffrey (2002), for cases that are independent: with M = D^(1/2) (diag(h) - h h') D^(1/2) and
    D = diag(1 / (1 - h)) the trace is one, and that of M^2 is the sum of h_g^2 and of a_g a_k over g != k, with
    a = h^2 / (1 - h).

    >>> even, odd = np.full(20, 1 / 20), np.array([1 / 2, *[1 / 38] * 19])
    >>> round(bell_mccaffrey(even, 1 - even), 9), round(bell_mccaffrey(odd, 1 - odd), 1)
    (19.0, 3.6)
    """
    a = np.sort(shares * shares / rest)
    return 1.0 / (math.fsum(shares * shares) + 2 * float(a[1:] @ np.cumsum(a)[:-1]))


def of_weights(sums: Sequence[float]) -> tuple[float, float]:
    """By what the sum of h^2 (d - mean)^2 over cases with shares h is multiplied, and its degrees of freedom.

    From the sums of h^2, h^3, h^4 and h^5. The factor makes the variance unbiased where cases have equal variances.
    The degrees of freedom are the geometric mean of those for equal variances and of those for variances inverse to
    the weights, which are about 1 / sum of h^2 - 1; at least one, which a single square has, and none where one
    case has all the weight.

    >>> factor, freedom = of_weights((1 / 20, 1 / 20**2, 1 / 20**3, 1 / 20**4))
    >>> round(factor, 9), round(freedom, 9)
    (1.052631579, 19.0)
    """
    s2, s3, s4, s5 = sums
    trace = s2 - 2 * s3 + s2 * s2
    square = s4 * (1 + 2 * s2) - 4 * s5 + s2**4 + 2 * s2 * s4 + 2 * s3 * s3 - 4 * s2 * s2 * s3
    if trace <= _ALONE:
        return 0.0, 0.0
    if square <= 0.0:  # up to rounding, a single square is left
        return s2 / trace, 1.0
    return s2 / trace, max(1.0, math.sqrt(trace * trace / square * max(1 / s2 - 1, 0.0)))


def error_of_units(parts: Floats, weights: Floats, *, clustered: bool) -> tuple[float, float]:
    """The standard error of a sum over independent units, and its degrees of freedom; both 0 where one has all weight.

    `parts` are what the units contribute, which add up to zero; `weights` are above zero. Units are cases, or clusters
    of cases, which are larger where they hold more: cases with large weights need not vary as much.

    >>> error_of_units(np.array([-1.0, 1.0]), np.ones(2), clustered=False)
    (2.0, 1.0)
    """
    units = len(weights)
    if np.ptp(weights) <= _EQUAL * float(weights.max()):
        return math.sqrt(units / (units - 1) * float(parts @ parts)), float(units - 1)
    shares = weights / weights.sum()
    if not clustered:
        factor, freedom = of_weights([float(np.sum(shares**power)) for power in (2, 3, 4, 5)])
        return math.sqrt(factor * float(parts @ parts)), freedom
    rest = 1 - shares
    if not rest.min():
        return 0.0, 0.0
    return math.sqrt(float((parts * parts) @ (1 / rest))), bell_mccaffrey(shares, rest)


def satterthwaite(*parts: tuple[float, float]) -> float:
    """Degrees of freedom of a sum of independent variances, each with its own.

    >>> satterthwaite((1.0, 5.0), (1.0, 5.0))
    10.0
    """
    return sum(variance for variance, _ in parts) ** 2 / sum(variance**2 / freedom for variance, freedom in parts)


def mean_of_influences(
    value: float,
    influences: Floats,
    shares: Floats,
    *,
    clusters: Any = None,
    level: float = 0.95,
    bounds: tuple[float, float] = (-math.inf, math.inf),
) -> Estimate:
    """The estimate of a value whose change with the share of each case is known, over cases or clusters of them.

    Shares add up to one, and bounds cut the interval off.

    >>> hits = np.array([0.0, 1.0, 1.0, 1.0])
    >>> found = mean_of_influences(0.75, hits - 0.75, np.full(4, 0.25), bounds=(0.0, 1.0))
    >>> found.low, found.high, found.error, found.freedom
    (0.0, 1.0, 0.25, 3.0)
    """
    level, counted = as_probability(level, "level"), shares > 0
    units = np.unique(as_units(clusters, len(shares))[counted], return_inverse=True)[1]
    size: Floats = np.bincount(units, shares[counted]).astype(np.float64)
    if not math.isfinite(value):
        return Estimate(value, reason="infinite scores have no interval")
    parts: Floats = np.bincount(units, shares[counted] * influences[counted]).astype(np.float64)
    error, freedom = error_of_units(parts, size, clustered=clusters is not None) if len(size) > 1 else (0.0, 0.0)
    if not freedom:
        return Estimate(value, reason="one case, or cluster of cases, has all the weight")
    half = quantile(0.5 + level / 2, freedom) * error
    return cut_off(Estimate(value, value - half, value + half, "", error, freedom=freedom), *bounds)
