"""The error of a mean over units that depend on their neighbours in time."""

from __future__ import annotations

import math

import numpy as np

from toplist._typing import Bools, Floats


def usual_lag(units: int, horizon: int = 1) -> int:
    """The lag up to which dependence is looked for: max(H - 1, floor(4 (n / 100)^(2/9))), below n.

    >>> usual_lag(100), usual_lag(1000, horizon=12)
    (4, 11)
    """
    return max(0, min(units - 1, max(horizon - 1, int(4 * (units / 100) ** (2 / 9)))))


def long_run_error(contributions: Floats, lag: int) -> float:
    """The standard error of a sum of contributions in the order of time, by Bartlett's weights (Newey and West 1987).

    n contributions, each of a unit's deviation from the mean over n, have the variance
    sum of c_t^2 + 2 sum over l = 1..L of (1 - l / (L + 1)) sum of c_t c_(t-l), which is never negative. A time point
    that is missing contributes zero.
    """
    c = contributions
    total = float(c @ c)
    for step in range(1, lag + 1):
        total += 2 * (1 - step / (lag + 1)) * float(c[step:] @ c[:-step])
    return math.sqrt(max(total, 0.0))


def usual_waves(units: int, horizon: int = 1) -> int:
    """How many cosine waves the error is taken from: 0.4 n^(2/3) (Lazarus et al. 2018), at least two, below n.

    With a horizon of H they are at most n / (2 H), so that even the fastest is slow compared with it.

    >>> usual_waves(5), usual_waves(50), usual_waves(1000), usual_waves(50, horizon=8)
    (2, 5, 39, 3)
    """
    waves = int(0.4 * units ** (2 / 3))
    return max(1, min(units - 1, max(2, waves if horizon == 1 else min(waves, units // (2 * horizon)))))


def autocorrelation(contributions: Floats, there: Bools) -> float:
    """The first autocorrelation of contributions, without the bias of a sample (Kendall 1954), at most 1 - 4 / n.

    Time points that are missing are not there, and contribute zero.

    >>> round(autocorrelation(np.cos(np.arange(50) / 5), np.ones(50, bool)), 2)
    0.92
    """
    n, neighbours = int(np.count_nonzero(there)), int(np.count_nonzero(there[1:] & there[:-1]))
    squares = float(contributions @ contributions)
    if n < 5 or not neighbours or not squares:
        return 0.0
    found = float(contributions[1:] @ contributions[:-1]) / squares * (n - 1) / neighbours
    return min((n * found + 1) / (n - 4), 1 - 4 / n)


def cosine_error(contributions: Floats, there: Bools, waves: int, persistence: float = 0.0) -> tuple[float, float]:
    """The standard error of a sum of contributions in the order of time, from slow cosine waves, and its freedom.

    The squares of sum over t of c_t cos(pi j (t - 1/2) / n) for j = 1..B, averaged and doubled (Müller 2004). Over its
    error the sum has Student's distribution with B degrees of freedom, however far dependence reaches among many units.
    Among few, the waves are faster than dependence that lasts: where neighbours have a correlation above the noise of
    1 / sqrt(n), each square is divided by the spectrum of a first-order autoregression at its frequency in units of
    that at zero (prewhitening: Andrews and Monahan 1992).

    Time points that are missing contribute zero. Waves are then taken relative to those that are there, on which they
    are neither of equal length nor orthogonal; degrees of freedom follow (Satterthwaite 1946).
    """
    from scipy.fft import dct  # noqa: PLC0415  not cheap to import

    count, at = len(contributions), np.arange(1, waves + 1)
    waved = dct(contributions)[1 : waves + 1] / 2
    n = int(np.count_nonzero(there))
    persistent = persistence > 1 / math.sqrt(n)
    if n == count and not persistent:
        return math.sqrt(2 / waves * float(waved @ waved)), float(waves)
    scale, freedom = np.full(waves, 2.0), float(waves)
    if n < count:
        sums = np.zeros(2 * count + 1)  # of cosine k over the time points that are there
        sums[:count] = dct(there.astype(np.float64)) / 2
        sums[count + 1 :] = -sums[count - 1 :: -1]
        gram = (sums[at[:, None] + at] + sums[np.abs(at[:, None] - at)]) / 2 - np.outer(sums[at], sums[at]) / n
        scale = n / np.diag(gram)
        freedom = waves**2 / float((gram**2 * np.outer(scale, scale)).sum() / n**2)
    if persistent:
        rest = 1 - persistence
        scale = scale * (1 + 4 * persistence * np.sin(math.pi * at / (2 * count)) ** 2 / (rest * rest))
    return math.sqrt(float(scale @ (waved * waved)) / waves), freedom


def small_sample_factor(units: int, horizon: int = 1) -> float:
    """What the statistic of Diebold and Mariano is multiplied by (Harvey, Leybourne and Newbold 1997).

    sqrt((n + 1 - 2 H + H (H - 1) / n) / n) = sqrt((n - H) (n - H + 1)) / n: with a horizon of one and no lag, what
    makes it the t statistic. Zero where the horizon is as long as the series, or longer.

    >>> small_sample_factor(4) == math.sqrt(3 / 4)
    True
    """
    left = max(units - horizon, 0)
    return math.sqrt(left * (left + 1)) / units
