"""Intervals for the mean of bounded scores that hold for every distribution within the bounds, at any number of cases.

By betting (Waudby-Smith and Ramdas 2024): bets that cases lie above a value m, each made with the earlier cases known,
gain nothing on average if the mean is m or lower. Then the capital reaches 1 / alpha at any time with probability alpha
at most; where it does, the mean is above m with confidence 1 - alpha.
"""

from __future__ import annotations

import math

import numpy as np

from toplist._typing import Floats

_SHARE = 0.99  # of the capital, the most that one bet may lose
_PRIOR = 0.25  # the variance that is expected before any case: the largest there is between zero and one
_EXACT = 1e-10  # of the range


def bounded_interval(
    x: Floats, low: float, high: float, level: float, rng: np.random.Generator
) -> tuple[float, float, float]:
    """Both ends, and the p value of zero, for independent numbers with the same mean between two bounds.

    Bets are made in an order that is drawn: rows may come sorted, and the guarantee needs an order that says nothing.
    The numbers turned around have the interval turned around.

    >>> x = np.repeat([-0.02, -0.01], 100)
    >>> low, high, p = bounded_interval(x, -2.0, 2.0, 0.95, np.random.default_rng(0))
    >>> round(low, 3), round(high, 3), round(p, 2)
    (-0.052, 0.023, 1.0)
    """
    inside, back = np.sort(x), -np.sort(x)[::-1]
    at = np.flatnonzero(inside != back)
    turned = len(at) > 0 and bool(inside[at[0]] < back[at[0]])
    if turned:
        inside, low, high = back, -high, -low
    z = ((inside - low) / (high - low)).clip(0.0, 1.0)[rng.permutation(len(x))]
    zero = min(max(-low / (high - low), 0.0), 1.0)
    tail = (1 - level) / 2
    up, down = _Bets(z, tail), _Bets(1 - z, tail)
    p = min(1.0, 2 * math.exp(-max(up.gain(zero), down.gain(1 - zero))))
    first, last = low + (high - low) * up.least(), high - (high - low) * down.least()
    return (-last, -first, p) if turned else (first, last, p)


class _Bets:
    """Bets that the numbers, between zero and one, lie above a value."""

    def __init__(self, z: Floats, tail: float) -> None:
        n, seen = len(z), np.arange(1, len(z) + 1)
        means = (0.5 + np.cumsum(z)) / (seen + 1)
        variances = (_PRIOR + np.cumsum((z - means) ** 2)) / (seen + 1)
        known = np.concatenate([[_PRIOR], variances[:-1]])
        self.z, self.goal = z, -math.log(tail)
        self.sizes = np.sqrt(2 * self.goal / (n * known))  # the best for a normal distribution with this variance

    def gain(self, m: float) -> float:
        """The logarithm of the largest capital on the way; it falls as m rises."""
        sizes = self.sizes if m == 0 else np.minimum(self.sizes, _SHARE / m)
        path = np.cumsum(np.log1p(sizes * (self.z - m)))
        return float(max(path.max(), 0.0))

    def least(self) -> float:
        """The largest value that the mean exceeds with confidence; no larger than the mean of the numbers."""
        mean = float(self.z.mean())
        if self.gain(0.0) < self.goal:
            return 0.0
        if self.gain(mean) >= self.goal:
            return mean
        from scipy.optimize import brentq  # noqa: PLC0415  not cheap to import

        return max(0.0, float(brentq(lambda m: self.gain(m) - self.goal, 0.0, mean, xtol=_EXACT)) - _EXACT)
