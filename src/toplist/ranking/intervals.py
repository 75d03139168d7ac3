"""Means, differences and ratios of scores with their intervals, from exact sums: rounded once, at the end."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import reduce
from operator import or_
from typing import Any

import numpy as np

from toplist.ranking.estimates import estimate, moved, two_sided
from toplist.ranking.results import Estimate
from toplist.tally import UNIT, Tally

INFINITE = "infinite scores have no interval"
NO_CASES = "there are no cases"
_Part = tuple[int, Callable[[int, Any], int]]


@dataclass(frozen=True, slots=True)
class FromSums:
    """Intervals that assume independent cases, or independent clusters, from a tally.

    The mean of x over units (cases, or clusters) of weight w is X / W; its variance is that of the sums of
    w (x - X / W) over units, over W squared, times U / (U - 1) for U units. Ratios go by the delta method.
    """

    tally: Tally
    level: float
    normal: bool = False  # normal quantiles instead of Student's
    _kept: dict[str, Any] = field(default_factory=dict, repr=False, compare=False)

    def mean(self, rule: int, a: int) -> Estimate:
        """The weighted mean score of predictor a. Infinite where any score is; then there is no interval."""
        if self.tally.sums["infinite"][rule, a, a]:
            return Estimate(math.inf, why=INFINITE)
        s = self._sums(rule)
        x, w = s["x"][a, a], s["w"][a, a]
        if not w:
            return Estimate(math.nan, why=NO_CASES)
        moments = (s["xx"][a, a], s["wx"][a, a], s["ww"][a, a])
        return self._estimate(x, w, moments, s["both"][a, a], lambda sums: sums[rule, a])

    def difference(self, rule: int, a: int, b: int) -> Estimate:
        """The mean of score a minus score b over the cases of both."""
        above, below = (self.tally.sums["infinite"][rule, p, q] for p, q in ((a, b), (b, a)))
        if above or below:
            return Estimate(math.inf if not below else -math.inf if not above else math.nan, why=INFINITE)
        s = self._sums(rule)
        w = s["w"][a, b]
        if not w:
            return Estimate(math.nan, why=NO_CASES)
        x, wx = s["x"][a, b] - s["x"][b, a], s["wx"][a, b] - s["wx"][b, a]
        xx = s["xx"][a, b] - 2 * s["xy"][a, b] + s["xx"][b, a]
        own = lambda sums: sums[rule, a] - sums[rule, b]  # noqa: E731
        return self._estimate(x, w, (xx, wx, s["ww"][a, b]), s["both"][a, b], own)

    def distance(self, rule: int, a: int, b: int) -> float:
        """The root of the mean squared difference of the two scores of a case, with squared weights."""
        s = self._sums(rule)
        squares, weights = s["xx"][a, b] - 2 * s["xy"][a, b] + s["xx"][b, a], s["ww"][a, b]
        return math.sqrt(max(squares / weights, 0.0)) if weights else math.inf

    def units(self, rule: int, a: int, b: int) -> int:
        """Over how many cases, or clusters, the difference of a and b goes."""
        return len(self._clusters()[1]) if self.tally.clusters else int(self.tally.sums["both"][rule, a, b])

    def skill(self, rule: int, a: int) -> Estimate | None:
        """One minus the mean over that of the empty list, which is taken to be the same for all cases."""
        weight, empty = self.tally.sums["weight"][a], self.tally.sums["empty"][a, rule]
        if self.tally.sums["infinite"][rule, a, a] or not weight or not empty:
            return None
        found = moved(self.mean(rule, a), -weight / empty, 1.0)
        if found.error is None:
            return found
        units = len(self._clusters()[1]) if self.tally.clusters else self._sums(rule)["both"][a, a]
        return replace(found, p=two_sided(found.value, found.error, self._freedom(units)))

    def reference_skill(self, rule: int, a: int, reference: int) -> Estimate | None:
        """One minus the ratio of the mean to that of the reference, on the cases of both."""
        s, infinite = self._sums(rule), self.tally.sums["infinite"][rule]
        if infinite[a, reference] or infinite[reference, a]:
            return None
        x, y = s["x"][a, reference], s["x"][reference, a]
        if y <= 0:
            return None
        value = float(1.0 - x / y)
        if a == reference:
            return Estimate(value, why="it is the reference")
        spread = y * y * s["xx"][a, reference] - 2 * x * y * s["xy"][a, reference] + x * x * s["xx"][reference, a]
        mine, theirs = (lambda weight, sums, of=of: sums[rule, of] for of in (a, reference))
        units, spread = self._spread(spread, s["both"][a, reference], (y, mine), (x, theirs))
        return self._finish(value, units, spread, y)

    def relative(self, rule: int, a: int, value: float, others: tuple[int, ...]) -> Estimate:
        """The value alone: sums do not say how its parts hang together."""
        return Estimate(value, why="relative skill has an interval where cases are kept")

    def _sums(self, rule: int) -> dict[str, Any]:
        return {name: self.tally.sums[name][rule] for name in ("both", "w", "ww", "x", "wx", "xx", "xy")}

    def _estimate(
        self, x: int, w: int, moments: tuple[int, int, int], cases: int, own: Callable[[Any], int]
    ) -> Estimate:
        """The mean x / w."""
        xx, wx, ww = moments
        spread = w * w * xx - 2 * x * w * wx + x * x * ww
        mine = (w, lambda weight, sums: own(sums))
        units, spread = self._spread(spread, cases, mine, (x, lambda weight, sums: weight))
        return self._finish(x / w, units, spread, w)

    def _spread(self, spread: int, cases: int, plus: _Part, minus: _Part) -> tuple[int, int]:
        """How many units there are, and the sum of squares over them: of cases, or of p u - q v over clusters."""
        if not self.tally.clusters:
            return cases, spread
        low, clusters = self._clusters()
        (p, u), (q, v) = plus, minus
        more = _zeros(p | q)
        p, q = p >> more, q >> more
        squares = sum((p * u(weight, sums) - q * v(weight, sums)) ** 2 for weight, sums in clusters)
        return len(clusters), (squares << 2 * (low + more)) // UNIT  # what is cut off is below the last digit

    def _clusters(self) -> tuple[int, list[tuple[int, Any]]]:
        """The clusters that count, without the zeros at the end of all their sums, and how many zeros these are."""
        if "clusters" not in self._kept:
            weighty = [found for found in self.tally.clusters.values() if found[0]]
            low = _zeros(reduce(or_, (int(np.bitwise_or.reduce(sums, axis=None)) | w for w, sums in weighty), 0))
            self._kept["clusters"] = low, [(w >> low, sums >> low) for w, sums in weighty]
        found: tuple[int, list[tuple[int, Any]]] = self._kept["clusters"]
        return found

    def _finish(self, value: float, units: int, spread: int, w: int) -> Estimate:
        if units < 2:
            return Estimate(value, why=f"one {'cluster' if self.tally.clusters else 'case'} has no spread")
        try:
            variance = (spread * units * UNIT) / (w**4 * (units - 1))
        except OverflowError:
            return Estimate(value, why="the variance is too large for a number")
        return estimate(value, math.sqrt(max(variance, 0.0)), self._freedom(units), self.level)

    def _freedom(self, units: int) -> float:
        return math.inf if self.normal else units - 1


def _zeros(n: int) -> int:
    """How many bits at the end are zero.

    >>> _zeros(40)
    3
    """
    return (n & -n).bit_length() - 1 if n else 0
