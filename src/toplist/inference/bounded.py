"""Intervals for the mean of bounded scores that hold for every distribution within the bounds, at any number of cases.

By betting (Waudby-Smith and Ramdas 2024): bets that cases lie above a value m, each made with the earlier cases known,
gain nothing on average if the mean is m or lower. So the capital after all cases is 1 / alpha or more with probability
alpha at most; where it is, the mean is above m with confidence 1 - alpha. The same is true of the mean capital over
several orders of the cases.
"""

from __future__ import annotations

import math

import numpy as np

from toplist._typing import Floats

_SHARE = 0.99  # of the capital, the most that one bet may lose
_PRIOR = 0.25  # the variance that is expected before any case: the largest there is between zero and one
_ORDERS = 50  # orders of the cases, and fewer where these are many: then the order changes little
_CELLS = 1 << 20  # cases times orders
_EXACT = 1e-10  # of the range


def bounded_interval(
    x: Floats, low: float, high: float, level: float, rng: np.random.Generator
) -> tuple[float, float, float]:
    """Both ends, and the p value of zero, for independent numbers with the same mean between two bounds.

    The order in which they come does not show: rows may come sorted, which would say what comes next. The numbers
    turned around have the interval turned around.

    >>> x = np.repeat([-0.02, -0.01], 100)
    >>> low, high, p = bounded_interval(x, -2.0, 2.0, 0.95, np.random.default_rng(0))
    >>> round(low, 3), round(high, 3), round(p, 2)
    (-0.053, 0.024, 0.49)
    """
    half, centre = (high - low) / 2, (high + low) / 2
    inside = np.sort(x) - centre
    back = -inside[::-1]
    at = np.flatnonzero(inside != back)
    side = -1.0 if len(at) and inside[at[0]] < back[at[0]] else 1.0
    z = (0.5 + (inside if side > 0 else back) / (2 * half)).clip(0.0, 1.0)
    orders = min(_ORDERS, max(1, _CELLS // len(z)))
    z = np.stack([z[rng.permutation(len(z))] for _ in range(orders)])
    if not len(at):  # turned around, these are the same numbers: so is every order of them
        z = np.concatenate([z, 1 - z])
    zero = min(max(0.5 - side * centre / (2 * half), 0.0), 1.0)
    up = _Bets(z, (1 - level) / 2)
    down = _Bets(1 - z, (1 - level) / 2) if len(at) else up
    p = min(1.0, 2 * math.exp(-max(up.gain(zero), down.gain(1 - zero))))
    ends = (side * half * (2 * up.least() - 1), side * half * (1 - 2 * down.least()))
    return centre + min(ends), centre + max(ends), p


class _Bets:
    """Bets that numbers between zero and one lie above a value, in every row for itself."""

    def __init__(self, z: Floats, tail: float) -> None:
        n = z.shape[1]
        seen = np.arange(2, n + 1)
        means = (0.5 + np.cumsum(z, axis=1)) / np.arange(2, n + 2)
        known = np.full(z.shape, _PRIOR)  # variances, before each number
        known[:, 1:] = (_PRIOR + np.cumsum((z - means) ** 2, axis=1)[:, :-1]) / seen
        self.z, self.goal = z, -math.log(tail)
        self.sizes = np.sqrt(2 * self.goal / (n * known))  # the best ones for a normal distribution of this variance

    def gain(self, m: float) -> float:
        """The logarithm of the mean capital after all numbers; it falls as m rises."""
        sizes = self.sizes if m == 0 else np.minimum(self.sizes, _SHARE / m)
        capital = np.log1p(sizes * (self.z - m)).sum(axis=1)
        most = float(capital.max())
        return most + math.log(float(np.exp(capital - most).mean()))

    def least(self) -> float:
        """The largest value that the mean exceeds with confidence; no larger than the mean of the numbers."""
        mean = float(self.z[0].mean())
        if self.gain(0.0) < self.goal:
            return 0.0
        if self.gain(mean) >= self.goal:
            return mean
        from scipy.optimize import brentq  # noqa: PLC0415  not cheap to import

        return max(0.0, float(brentq(lambda m: self.gain(m) - self.goal, 0.0, mean, xtol=_EXACT)) - _EXACT)
