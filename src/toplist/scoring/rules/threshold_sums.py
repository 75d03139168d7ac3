"""Sums over runs of thresholds between ordered classes, in closed form however long the run is.

Along a run of unlisted classes a cumulative probability grows by the proxy from one threshold to the next. A run is
given by the cumulative probability at its first threshold, what that lacks to one at its last, the step and the number
of thresholds; both ends are known, so that nothing is subtracted that nearly cancels.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from toplist._typing import Floats

_DIRECT = 12  # thresholds at the end of a run that are summed one by one
_SERIES = 0.3  # up to which the integrals are power series
_TERMS = 30
_BERNOULLI = (1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6)


@dataclass(frozen=True, slots=True)
class Progression:
    """x(s) = first + s * step and 1 - x(s) = last + (n - 1 - s) * step, for s from 0 to n - 1."""

    first: Floats
    last: Floats  # what x lacks to one at the end of the run
    step: Floats
    n: Floats

    @property
    def back(self) -> Progression:
        """1 - x, from the last threshold to the first."""
        return Progression(self.last, self.first, self.step, self.n)

    @property
    def top(self) -> Floats:
        """What x lacks to one at the beginning of the run."""
        return self.last + np.maximum(self.n - 1.0, 0.0) * self.step


def weighted_squares(x: Progression, weight: Progression) -> Floats:
    """The sum over s of x(s)**2 (1 - weight(s)): a polynomial in n, of which every term is positive."""
    n, a = x.n, x.first
    one = np.maximum(n - 1.0, 0.0)
    two = np.maximum(n - 2.0, 0.0)
    d, e = one * x.step, one * weight.step
    even = n * (a * a + a * d) + d * d * n * (2.0 * n - 1.0) / np.where(one > 0, 6.0 * one, 1.0)
    scale = np.where(one > 0, one, 1.0)
    falling = n * a * a / 2.0 + a * d * n * two / (3.0 * scale) + d * d * n * two / (12.0 * scale)
    return weight.last * even + e * falling


def weighted_logs(x: Progression, weight: Progression) -> Floats:
    """The sum over s of -log(1 - x(s)) (1 - weight(s)); a threshold without weight counts nothing.

    The last thresholds are summed one by one, those before by the formula of Euler and Maclaurin, which is exact to
    rounding there.
    """
    total = np.zeros(np.broadcast_shapes(x.first.shape, x.n.shape))
    n = x.n + total
    for back in range(_DIRECT):
        if not bool((n > back).any()):
            return total
        here = np.where(n > back, weight.last + back * weight.step, 0.0)
        lack = x.last + back * x.step
        value = x.first + np.maximum(n - 1.0 - back, 0.0) * x.step
        total += np.where(here > 0, here * minus_log(value, lack), 0.0)
    left = n - _DIRECT
    if not bool((left > 0).any()):
        return total
    at = np.nonzero(left > 0)
    first, step, end, slope = (np.broadcast_to(v, n.shape)[at] for v in (x.first, x.step, x.last, weight.step))
    left, top, heaviest = left[at], np.broadcast_to(x.top, n.shape)[at], np.broadcast_to(weight.top, n.shape)[at]
    plain, rising = _log_sums(top, end + (_DIRECT - 1) * step, step, left)
    even = left * (np.broadcast_to(weight.last, n.shape)[at] + slope * (_DIRECT + (left - 1.0) / 2.0))
    start = np.where(even > 0, even * minus_log(first, top), 0.0)
    total[at] += start + np.where(even > 0, heaviest * plain - slope * rising, 0.0)
    return total


def minus_log(x: Floats, lack: Floats) -> Floats:
    """-log(1 - x), from x where it is small and from what it lacks to one where it is not."""
    small = x < 0.5
    safe = np.where(small | (lack <= 0), 1.0, lack)
    far = np.where(lack > 0, -np.log(safe), np.inf)
    found: Floats = np.where(small, -np.log1p(-np.where(small, x, 0.0)), far)
    return found


def _log_sums(top: Floats, end: Floats, step: Floats, n: Floats) -> tuple[Floats, Floats]:
    """The sums over s below n of t(s) and of s t(s), where t(s) = -log(1 - s * step / top); end = top - n * step."""
    safe = np.where(top > 0, top, 1.0)
    h, u = step / safe, np.minimum(n * step / safe, 1.0)
    near, w = u < 0.5, np.where((step > 0) & (end > 0), step / np.where(end > 0, end, 1.0), 0.0)
    ratio = np.where(end > 0, end, 1.0) / safe
    log = np.where(near, -np.log1p(-np.where(near, u, 0.0)), -np.log(np.where(near, 1.0, ratio)))
    plain = n * _integral(u, log) - 0.5 * log
    rising = n * n * _first_moment(u, log) - 0.5 * n * log
    for j, number in enumerate(_BERNOULLI):
        order = 2 * j + 1  # of the derivative
        factor = number / math.factorial(2 * j + 2)
        here, there = w**order, h**order
        plain += factor * math.factorial(order - 1) * (here - there)
        below = log if order == 1 else math.factorial(order - 2) * (w ** (order - 1) - h ** (order - 1))
        rising += factor * (n * math.factorial(order - 1) * here + order * below)
    return plain, rising


def _integral(u: Floats, log: Floats) -> Floats:
    """The integral of -log(1 - v) from 0 to u, over u."""
    series = _power_series(u, [1.0 / (j * (j + 1)) for j in range(1, _TERMS)])
    safe = np.where(u > _SERIES, u, 1.0)
    return np.where(u > _SERIES, 1.0 - (1.0 - u) * log / safe, u * series)


def _first_moment(u: Floats, log: Floats) -> Floats:
    """The integral of -v log(1 - v) from 0 to u, over u**2."""
    series = _power_series(u, [1.0 / (j * (j + 2)) for j in range(1, _TERMS)])
    safe = np.where(u > _SERIES, u, 1.0)
    closed = (-(1.0 - u) * (1.0 + u) * log + u + u * u / 2.0) / (2.0 * safe * safe)
    return np.where(u > _SERIES, closed, u * series)


def _power_series(u: Floats, coefficients: list[float]) -> Floats:
    total = np.zeros_like(u)
    small = np.minimum(u, _SERIES)
    for c in reversed(coefficients):
        total = total * small + c
    return total
