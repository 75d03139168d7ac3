"""Which intervals: from sums alone where cases or clusters are independent, from the cases themselves elsewhere."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Protocol

import numpy as np

from toplist.ranking.assumptions import DRAWS, How
from toplist.ranking.dependence import (
    cosine_error,
    long_run_error,
    small_sample_factor,
    usual_lag,
    usual_waves,
)
from toplist.ranking.estimates import estimate
from toplist.ranking.intervals import FromSums
from toplist.ranking.panels import Panel, Totals
from toplist.ranking.quantities import Difference, LogRelative, Mean, Quantity, ReferenceSkill, Skill
from toplist.ranking.resampling import FEWEST, block_length, resample
from toplist.ranking.results import Estimate

_ROUNDING = 1e-12  # of the largest contribution


class Inference(Protocol):
    """Estimates of what a leaderboard shows; predictors and rules go by their numbers."""

    def mean(self, rule: int, a: int) -> Estimate:
        """The mean score."""
        ...

    def difference(self, rule: int, a: int, b: int) -> Estimate:
        """The mean of score a minus score b on the cases of both."""
        ...

    def distance(self, rule: int, a: int, b: int) -> float:
        """How far apart the two scores of a case are: the root of the mean square."""
        ...

    def units(self, rule: int, a: int, b: int) -> int:
        """Over how many units the difference of a and b goes."""
        ...

    def skill(self, rule: int, a: int) -> Estimate | None:
        """One minus the mean over that of the empty list."""
        ...

    def reference_skill(self, rule: int, a: int, reference: int) -> Estimate | None:
        """One minus the mean over that of the reference, on the cases of both."""
        ...

    def relative(self, rule: int, a: int, value: float, others: tuple[int, ...]) -> Estimate:
        """The geometric mean of the ratios to others, whose value is known, with an interval where there is one."""
        ...


@dataclass(frozen=True, slots=True)
class FromCases:
    """Intervals from the cases themselves. Values, and what is infinite or absent, come from exact sums."""

    panel: Panel = field(compare=False)
    exact: FromSums
    how: How
    horizon: int = 1
    seed: int = 0
    draws: int = DRAWS
    _totals: dict[int, Totals] = field(default_factory=dict, repr=False, compare=False)
    _draws: dict[int, Totals] = field(default_factory=dict, repr=False, compare=False)

    @property
    def _timeless(self) -> bool:
        """Whether cases are independent although it is known when they were: every case is a unit then."""
        return self.how in ("t", "normal") and self.panel.ordered

    @property
    def _by_sums(self) -> bool:
        """Whether sums say all about means and differences."""
        if self.how not in ("t", "normal"):
            return False
        return self._timeless or self.panel.units is None or bool(self.exact.tally.clusters)

    def mean(self, rule: int, a: int) -> Estimate:
        """See `Inference`."""
        found = self.exact.mean(rule, a)
        return found if self._by_sums or _is_final(found) else self._of(Mean(a), found.value, rule)

    def difference(self, rule: int, a: int, b: int) -> Estimate:
        """See `Inference`."""
        found = self.exact.difference(rule, a, b)
        return found if self._by_sums or _is_final(found) else self._of(Difference(a, b), found.value, rule)

    def distance(self, rule: int, a: int, b: int) -> float:
        """See `Inference`."""
        return self.exact.distance(rule, a, b)

    def units(self, rule: int, a: int, b: int) -> int:
        """See `Inference`."""
        if self.panel.units is None or self._by_sums:
            return self.exact.units(rule, a, b)
        return int(np.count_nonzero(Difference(a, b).weights(self.totals(rule)) > 0))

    def skill(self, rule: int, a: int) -> Estimate | None:
        """See `Inference`."""
        found = self.exact.skill(rule, a)
        if found is None or (self._by_sums and len(self.panel.empty) == 1):
            return found
        return self._of(Skill(a), found.value, rule)

    def reference_skill(self, rule: int, a: int, reference: int) -> Estimate | None:
        """See `Inference`."""
        found = self.exact.reference_skill(rule, a, reference)
        if found is None or self._by_sums or a == reference:
            return found
        return self._of(ReferenceSkill(a, reference), found.value, rule)

    def relative(self, rule: int, a: int, value: float, others: tuple[int, ...]) -> Estimate:
        """See `Inference`: by its logarithm, so that it stays above zero."""
        if not any(b != a for b in others):
            return Estimate(value, why="there is nobody to compare with")
        found = self._of(LogRelative(a, others), math.log(value), rule)
        if found.low is None or found.high is None:
            return Estimate(value, why=found.why)
        error = None if found.error is None else value * found.error
        return Estimate(value, math.exp(found.low), math.exp(found.high), error=error, p=found.p)

    def totals(self, rule: int = 0) -> Totals:
        """The sums of each unit."""
        if rule not in self._totals:
            panel = replace(self.panel, units=None) if self._timeless else self.panel
            self._totals[rule] = panel.totals(rule)
        return self._totals[rule]

    def _drawn(self, rule: int) -> Totals:
        if rule not in self._draws:
            units = self.totals(rule)
            block = block_length(units) if self.panel.ordered else None
            self._draws[rule] = resample(units, block=block, draws=self.draws, seed=self.seed)
        return self._draws[rule]

    def _of(self, quantity: Quantity, value: float, rule: int) -> Estimate:
        """The interval of a quantity, with the degrees of freedom that its own units give it."""
        units = self.totals(rule)
        weighty = quantity.weights(units) > 0
        count, own = int(np.count_nonzero(weighty)), quantity.effective(units)
        if own < 2 - _ROUNDING:
            return Estimate(value, why=f"one {self._unit} has no spread")
        if self.how == "bootstrap":
            if own < FEWEST - _ROUNDING:
                return Estimate(value, why=f"{own:.3g} {self._unit}s are too few to draw from")
            return self._bootstrapped(quantity, value, rule)
        parts, unseen = quantity.spread(units)[weighty], quantity.unseen(units)
        if not math.isfinite(unseen):
            return Estimate(value, why=f"no two {self._unit}s are shared with anybody")
        if self.how == "cosine":
            waves = usual_waves(count)
            error = cosine_error(parts, waves)
            if error <= _ROUNDING * float(np.abs(parts).max()) and np.ptp(parts) > 0:
                return Estimate(value, why=f"{count} {self._unit}s are too few to tell how they depend on each other")
            return estimate(value, math.hypot(error, unseen), min(waves, own - 1), self.exact.level)
        freedom = math.inf if self.how == "normal" else own - 1
        if self.how != "hac":
            error = math.sqrt(count / (count - 1) * float(parts @ parts))
            return estimate(value, math.hypot(error, unseen), freedom, self.exact.level)
        factor = small_sample_factor(count, self.horizon)
        if factor == 0:
            return Estimate(value, why=f"{count} {self._unit}s are too few for a horizon of {self.horizon}")
        error = long_run_error(parts, usual_lag(count, self.horizon)) / factor
        return estimate(value, math.hypot(error, unseen), freedom, self.exact.level)

    def _bootstrapped(self, quantity: Quantity, value: float, rule: int) -> Estimate:
        """The percentile interval; p is one minus the level at which it would begin or end at zero."""
        with np.errstate(all="ignore"):
            values = quantity.value(self._drawn(rule))
        if not np.isfinite(values).all():
            return Estimate(value, why=f"some resamples have no {self._unit} that counts")
        tail = (1 - self.exact.level) / 2
        low, high = np.quantile(values, [tail, 1 - tail])
        beyond = min(int(np.count_nonzero(values <= 0)), int(np.count_nonzero(values >= 0)))
        p = min(1.0, 2 * (1 + beyond) / (1 + len(values)))
        return Estimate(value, float(low), float(high), error=float(values.std(ddof=1)), p=p)

    @property
    def _unit(self) -> str:
        return "case" if self._timeless else self.panel.unit


def _is_final(found: Estimate) -> bool:
    """Whether nothing but its value can be said of it."""
    return not math.isfinite(found.value)
