"""A confidence sequence for the average of bounded differences: intervals that hold at all times at once.

For differences d_i within [-h, h], guesses g_i within [-h/4, h/4] that are made before d_i is known, c = 5h/4 and
0 <= l < 1/c, with V_t the sum of (d_i - g_i)^2 and m_i the mean of d_i given the past,

    exp(l * sum(d_i - m_i) - psi(l) * V_t),    psi(l) = (-log(1 - c l) - c l) / c^2,

is a supermartingale that starts at one (Howard, Ramdas, McAuliffe and Sekhon 2021, theorem 4), and so is the average
of such over a fixed grid of l. By Ville's inequality it ever reaches 2 / alpha with probability at most alpha / 2.
So at all times the sum of the d_i is off the sum of the m_i by less than the r at which the average is 2 / alpha.
The m_i may change from case to case, and cases may depend on each other: nothing is assumed but the bounds.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from toplist._typing import Floats

POINTS = 24
_LEAST, _MOST = 2e-4, 0.9  # of c l: good from some dozen cases to some hundred million
_GUESS = 0.25  # guesses stay within this part of the bounds: c is smaller the less they may stray
_CHUNK = 1 << 16


@dataclass(frozen=True)
class BernsteinSequence:
    """The empirical-Bernstein mixture for differences within [-half, half], at a level."""

    half: float
    level: float

    @cached_property
    def scale(self) -> float:
        """c: how far below its guess a difference can be."""
        return self.half * (1.0 + _GUESS)

    @cached_property
    def bets(self) -> Floats:
        """The grid of l."""
        return np.geomspace(_LEAST, _MOST, POINTS) / self.scale

    @cached_property
    def psi(self) -> Floats:
        """What each l pays for a unit of V."""
        x = self.scale * self.bets
        return (-np.log1p(-x) - x) / self.scale**2

    @property
    def needed(self) -> float:
        """The log of 2 / alpha, and of the number of points: what a sum of exponentials has to reach."""
        return float(np.log(2.0 * POINTS / (1.0 - self.level)))

    def spread(self, d: Floats) -> Floats:
        """V after every case: squared distances to the mean of the cases before, which is zero at first."""
        mean = np.concatenate(([0.0], np.cumsum(d)))[:-1] / np.maximum(np.arange(len(d)), 1)
        limit = self.half * _GUESS
        return np.cumsum((d - np.clip(mean, -limit, limit)) ** 2)

    def evidence(self, r: Floats, v: Floats) -> tuple[Floats, Floats]:
        """The log of the sum of exp(l r - psi V) over the grid, less what is needed; and its slope in r."""
        terms = self.bets * r[:, None] - self.psi * v[:, None]
        top = terms.max(axis=1)
        weights = np.exp(terms - top[:, None])
        total = weights.sum(axis=1)
        return top + np.log(total) - self.needed, weights @ self.bets / total

    def radius(self, v: Floats) -> Floats:
        """The r at which the evidence is what is needed, for each V; divided by t it is the half width.

        The evidence is convex and rises with r, so that Newton's method from above comes down to the root.

        >>> BernsteinSequence(2.0, 0.95).radius(np.array([0.0, 100.0])).round(3)
        array([18.549, 46.687])
        """
        v = np.asarray(v, np.float64)
        out = np.empty(len(v))
        for lo in range(0, len(v), _CHUNK):
            part = v[lo : lo + _CHUNK]
            r = ((self.needed + self.psi * part[:, None]) / self.bets).min(axis=1)  # one term alone suffices there
            while True:
                above, slope = self.evidence(r, part)
                lower = r - np.maximum(above, 0.0) / slope
                if not (lower < r * (1.0 - 1e-13)).any():
                    break
                r = lower
            out[lo : lo + _CHUNK] = r
        return out

    def first_apart(self, total: Floats, v: Floats) -> int | None:
        """After how many cases zero is first excluded: no root is needed for that."""
        for lo in range(0, len(v), _CHUNK):
            above, _ = self.evidence(np.abs(total[lo : lo + _CHUNK]), v[lo : lo + _CHUNK])
            if above.max(initial=-np.inf) > 0:
                return lo + int(np.argmax(above > 0)) + 1
        return None
