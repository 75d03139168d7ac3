"""Intervals within what is possible: a mean is within the bounds of the score, a difference within their range.

The true value is there too, so that cutting an interval off at the bounds misses it no more often.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from toplist.ranking.inference import Inference
from toplist.ranking.results import Estimate

_MEAN = 1e-9  # of the mean score: a difference of means that is no larger is rounding
_CASE = 1e-6  # of the range of the score, or of the mean score where there is no end to it: the same of single cases


@dataclass(frozen=True, slots=True)
class Bounded:
    """Intervals of another inference, cut off where the score ends; predictors that are the same are not told apart."""

    inner: Inference
    bounds: tuple[tuple[float, float], ...]  # the least and the largest score, by rule, with what invalid lists pay
    alike: bool  # whether the empty list scores the same in every case

    def mean(self, rule: int, a: int) -> Estimate:
        """See `Inference`."""
        return _within(self.inner.mean(rule, a), *self.bounds[rule])

    def difference(self, rule: int, a: int, b: int) -> Estimate:
        """See `Inference`: where the two are the same up to rounding, zero is in the interval and p is one."""
        low, high = self.bounds[rule]
        found = self.inner.difference(rule, a, b)
        if found.low is None or found.high is None or not math.isfinite(found.value):
            return found
        if a != b and self._same(rule, a, b, found.value):
            return replace(found, low=min(found.low, 0.0), high=max(found.high, 0.0), p=1.0)
        return _within(found, low - high, high - low)

    def _same(self, rule: int, a: int, b: int, difference: float) -> bool:
        """Whether predictions are the same, written twice: one rounded as text, or added up in another order."""
        low, high = self.bounds[rule]
        size = max(abs(self.inner.mean(rule, one).value) for one in (a, b))
        scale = high - low if math.isfinite(high - low) else size
        return abs(difference) <= _MEAN * size or self.inner.distance(rule, a, b) <= _CASE * scale

    def distance(self, rule: int, a: int, b: int) -> float:
        """See `Inference`."""
        return self.inner.distance(rule, a, b)

    def units(self, rule: int, a: int, b: int) -> int:
        """See `Inference`."""
        return self.inner.units(rule, a, b)

    def skill(self, rule: int, a: int) -> Estimate | None:
        """See `Inference`: at most one, where no score is below zero."""
        found, (low, high) = self.inner.skill(rule, a), self.bounds[rule]
        if found is None or low < 0:
            return found
        mean = self.inner.mean(rule, a).value
        empty = mean / (1.0 - found.value) if found.value < 1 else math.nan
        least = 1.0 - high / empty if self.alike and empty > 0 else -math.inf
        return _within(found, least, 1.0)

    def reference_skill(self, rule: int, a: int, reference: int) -> Estimate | None:
        """See `Inference`: at most one, where no score is below zero."""
        found = self.inner.reference_skill(rule, a, reference)
        return found if found is None or self.bounds[rule][0] < 0 else _within(found, -math.inf, 1.0)

    def relative(self, rule: int, a: int, value: float, others: tuple[int, ...]) -> Estimate:
        """See `Inference`."""
        return self.inner.relative(rule, a, value, others)


def _within(found: Estimate, low: float, high: float) -> Estimate:
    """The interval without what lies beyond the bounds; the value stays in it, whatever rounding did to it.

    >>> _within(Estimate(0.5, -0.1, 1.1), 0.0, 1.0)
    Estimate(value=0.5, low=0.0, high=1.0, why='', error=None, p=None)
    """
    if found.low is None or found.high is None:
        return found
    return replace(found, low=min(max(found.low, low), found.value), high=max(min(found.high, high), found.value))
