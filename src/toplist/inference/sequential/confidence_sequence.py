"""A confidence sequence for the average of differences whose bounds are known case by case.

If d_i >= -f_i, where f_i is known before d_i, and a guess g_i <= f_i / 4 is made before d_i is known, then with
c_i = 5 f_i / 4, any l >= 0 with l c_i < 1 for all i <= t, and m_i the mean of d_i given the past,

    exp(l * sum(d_i - m_i) - l^2 * sum(phi(l c_i) (d_i - g_i)^2)),    phi(x) = (-log(1 - x) - x) / x^2,

is a supermartingale that starts at one, and so is its average over a grid of l that is chosen before the first outcome,
where a point leaves the grid, and what it has made is lost, as soon as a case comes with l c_i > 0.9. By Ville's
inequality the average ever reaches 1 / alpha with probability at most alpha. So at all times the sum of the d_i is
above the sum of the m_i by less than the r at which the average is 1 / alpha; and for -d_i the other way round.
No bound for all cases is needed, the m_i may change from case to case, and cases may depend on those before. The proof
is in docs/sequential.md.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from toplist._typing import Floats

ROUNDING = 1e-12  # lists whose scores differ by less are the same list, rounded
POINTS = 64  # of the grid: each is half of the one before, so that it is good for any bounds and any number of cases
_EVEN = 6  # points over which weights are about even: a / ((j + a) (j + a + 1)) adds up to one over all j
_MOST = 0.9  # the largest l c
_GUESS = 0.25  # guesses stay below this part of the bounds: c is smaller the less they may stray
_LEAST = 1 / 64  # the smallest bound, in parts of the bound on the other side
_SERIES, _TERMS = 1 / 8, 14  # up to which x, and by how many terms, phi is summed as powers of x: exact to 1e-13
_BLOCKS = 64

_AT = np.arange(POINTS)
LOG_WEIGHTS: Floats = np.log(_EVEN) - np.log((_AT + _EVEN) * (_AT + _EVEN + 1.0))


class BernsteinSequence:
    """One side: how far the sum of `d` can be above that of its conditional means, at all times at once.

    `fall` and `rise` are how far below and above zero each difference can be, `cases` the number of cases that each is
    the sum of. It ends, with infinite radii, before the first step where `fall` or a difference is infinite.
    """

    def __init__(self, d: Floats, fall: Floats, rise: Floats, cases: Floats | None = None, *, alpha: float) -> None:
        endless = ~np.isfinite(d) | (fall == np.inf)
        self.steps = int(np.argmax(endless)) if endless.any() else len(d)
        d, fall, rise = d[: self.steps], fall[: self.steps], rise[: self.steps]
        count = np.ones(self.steps) if cases is None else cases[: self.steps]
        idle = np.maximum(fall, rise) <= ROUNDING
        d = np.where(idle, 0.0, d)
        self.slack = 2 * ROUNDING * np.cumsum(idle)
        self.total = np.cumsum(d)
        finite = np.where(np.isfinite(rise), rise, 0.0)
        bound = np.where(idle, 0.0, np.maximum(fall, np.maximum(_LEAST * finite, ROUNDING)))
        before = (self.total - d) / np.maximum(np.cumsum(count) - count, 1.0)
        self.squares = (d - np.minimum(count * before, _GUESS * bound)) ** 2
        self.squares[idle] = 0.0
        self.scale = (1.0 + _GUESS) * bound
        self.largest = np.maximum.accumulate(self.scale)
        first = self.scale[int(np.argmax(~idle))] if (~idle).any() else 1.0
        self.bets = (_MOST / first * 0.5**_AT).astype(np.float64)
        self.needed = -math.log(alpha)

    def radius(self, at: NDArray[np.int64]) -> Floats:
        """After each of these numbers of steps, the r at which the average is 1 / alpha; infinite after the end.

        The log of the average is convex and rises with r, so that Newton's method from above comes down to the root.

        >>> BernsteinSequence(np.zeros(9), np.ones(9), np.ones(9), alpha=0.025).radius(np.array([1, 9])).round(3)
        array([7.727, 7.727])
        """
        out = np.full(len(at), np.inf)
        v = self._paid(0, at[at <= self.steps])
        alive = np.isfinite(v).any(axis=1)
        if not alive.any():
            return out
        v = v[alive]
        r = ((self.needed - LOG_WEIGHTS + v) / self.bets).min(axis=1)  # one point alone suffices there
        while True:
            above, slope = self._evidence(r, v)
            lower = r - np.maximum(above, 0.0) / slope
            if not (lower < r * (1.0 - 1e-13)).any():
                break
            r = lower
        where = np.flatnonzero(alive)
        out[where] = r + self.slack[at[where] - 1]
        return out

    def first_apart(self) -> int | None:
        """After how many steps zero is first excluded: no root is needed for that."""
        return self._apart(0, self.steps, np.zeros(POINTS))

    def _apart(self, lo: int, hi: int, paid: Floats) -> int | None:
        """The same between two numbers of steps: blocks in which it cannot be are skipped."""
        if hi == lo:
            return None
        ends = lo + np.unique(np.linspace(0, hi - lo, min(hi - lo, _BLOCKS) + 1).astype(np.int64))[1:]
        starts, v = np.concatenate(([lo], ends[:-1])), paid + self._paid(lo, ends)
        if hi - lo <= _BLOCKS:
            above, _ = self._evidence((self.total - self.slack)[lo:hi], v)
            return lo + int(np.argmax(above > 0)) + 1 if (above > 0).any() else None
        before = np.concatenate((paid[None], v[:-1]))
        top = np.maximum.reduceat(self.total[:hi], starts)
        for at in np.flatnonzero(self._evidence(top, before)[0] > 0):
            found = self._apart(int(starts[at]), int(ends[at]), before[at])
            if found is not None:
                return found
        return None

    def _evidence(self, r: Floats, v: Floats) -> tuple[Floats, Floats]:
        """The log of the average at a distance r of the sums, less what is needed; and its slope in r."""
        terms = self.bets * r[:, None] - v + LOG_WEIGHTS
        top = np.maximum(terms.max(axis=1), -1e300)
        weights = np.exp(terms - top[:, None])
        total = weights.sum(axis=1)
        with np.errstate(divide="ignore", invalid="ignore"):
            return top + np.log(total) - self.needed, weights @ self.bets / total

    def _paid(self, lo: int, at: NDArray[np.int64]) -> Floats:
        """l^2 times the sum of phi (d - g)^2 from `lo` on, for numbers of steps and points; infinite once one left."""
        out = np.zeros((len(at), POINTS))
        if not len(at) or not self.largest[at[-1] - 1]:
            return out
        hi, starts = int(at[-1]), np.concatenate(([0], at[:-1] - lo))
        scale, squares, largest = self.scale[lo:hi], self.squares[lo:hi], self.largest[hi - 1]
        near = self.bets * largest > _SERIES
        for j in np.flatnonzero(near):
            alive = int(np.searchsorted(self.largest, _MOST / self.bets[j] * (1 + 1e-12), side="right"))
            some = starts[starts < alive - lo]
            if len(some):
                paid = phi(self.bets[j] * scale[: alive - lo]) * squares[: alive - lo]
                out[: len(some), j] = np.add.reduceat(paid, some)
            out[at > alive, j] = np.inf
        x, power = self.bets[~near] * largest, squares
        for k in range(_TERMS):
            out[:, ~near] += np.add.reduceat(power, starts)[:, None] * x**k / (k + 2)
            power = power * (scale / largest)
        return np.cumsum(out * self.bets**2, axis=0)


def phi(x: Floats) -> Floats:
    """(-log(1 - x) - x) / x^2, which is 1/2 at zero.

    >>> phi(np.array([0.0, 1e-9, 0.5])).round(6)
    array([0.5     , 0.5     , 0.772589])
    """
    with np.errstate(invalid="ignore", divide="ignore"):
        exact = (np.log1p(-x) + x) / (-x * x)
    return np.where(x > 1e-4, exact, 0.5 + x / 3 + x * x / 4)
