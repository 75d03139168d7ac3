"""The error of a mean over units that depend on their neighbours in time."""

from __future__ import annotations

import math

from toplist._typing import Floats


def usual_lag(units: int, horizon: int = 1) -> int:
    """The lag up to which dependence is looked for: max(H - 1, floor(4 (n / 100)^(2/9))), below n.

    >>> usual_lag(100), usual_lag(1000, horizon=12)
    (4, 11)
    """
    return max(0, min(units - 1, max(horizon - 1, int(4 * (units / 100) ** (2 / 9)))))


def long_run_error(contributions: Floats, lag: int) -> float:
    """The standard error of a sum of contributions in the order of time, by Bartlett's weights (Newey and West 1987).

    n contributions, each of a unit's deviation from the mean over n, have the variance
    sum of c_t^2 + 2 sum over l = 1..L of (1 - l / (L + 1)) sum of c_t c_(t-l), which is never negative.
    """
    c = contributions
    total = float(c @ c)
    for step in range(1, lag + 1):
        total += 2 * (1 - step / (lag + 1)) * float(c[step:] @ c[:-step])
    return math.sqrt(max(total, 0.0))


def usual_waves(units: int) -> int:
    """How many cosine waves the error is taken from: 0.4 n^(2/3) (Lazarus et al. 2018), at least two, below n.

    >>> usual_waves(5), usual_waves(50), usual_waves(1000)
    (2, 5, 39)
    """
    return max(1, min(units - 1, max(2, int(0.4 * units ** (2 / 3)))))


def cosine_error(contributions: Floats, waves: int) -> float:
    """The standard error of a sum of contributions in the order of time, from slow cosine waves (Müller 2004).

    The squares of sum over t of c_t cos(pi j (t - 1/2) / n) for j = 1..B, averaged and doubled. Over its error the sum
    has Student's distribution with B degrees of freedom, however far dependence reaches among many units.
    """
    from scipy.fft import dct  # noqa: PLC0415  not cheap to import

    waved = dct(contributions)[1 : waves + 1] / 2
    return math.sqrt(2 / waves * float(waved @ waved))


def small_sample_factor(units: int, horizon: int = 1) -> float:
    """What the statistic of Diebold and Mariano is multiplied by (Harvey, Leybourne and Newbold 1997).

    sqrt((n + 1 - 2 H + H (H - 1) / n) / n) = sqrt((n - H) (n - H + 1)) / n: with a horizon of one and no lag, what
    makes it the t statistic. Zero where the horizon is as long as the series, or longer.

    >>> small_sample_factor(4) == math.sqrt(3 / 4)
    True
    """
    left = max(units - horizon, 0)
    return math.sqrt(left * (left + 1)) / units
