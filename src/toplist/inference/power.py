"""How many units a comparison needs, and whether two models are equal within a margin (two one-sided tests)."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Annotated

from toplist.inference.intervals import quantile
from toplist.inference.long_run_variance import usual_waves
from toplist.inference.results import Estimate

POWER = 0.8
PESSIMISTIC = 0.8  # how often the spread of a unit is at most the one that `needed_high` goes by (Browne 1995)
MOST = 10**12  # units; more cannot be had
_NORMAL = 1e5  # degrees of freedom from which on Student's distribution is the normal one


@dataclass(frozen=True, slots=True)
class PairPlan:
    """How many units one pair of models needs."""

    a: Annotated[str, "The one that stands higher in the pilot."]
    b: Annotated[str, "The other."]
    units: Annotated[int, "Units of the pilot."]
    error: Annotated[float | None, "Standard error of the difference in the pilot; null where there is none."]
    detectable: Annotated[float | None, "The smallest true difference that so many units find with this power."]
    needed: Annotated[int | None, "Units that find the smallest difference of interest with this power."]
    needed_high: Annotated[
        int | None, "The same if the spread is as large as the pilot allows at 80 % confidence (one-sided)."
    ]
    reason: Annotated[str, "Why there are no numbers; empty where there are."] = ""


@dataclass(frozen=True, slots=True)
class SamplePlan:
    """How many units find a smallest difference of interest, from the spread in a pilot."""

    rule: Annotated[str, "The scoring rule."]
    smallest: Annotated[float, "The smallest difference of interest."]
    power: Annotated[float, "How often a difference of this size is significant."]
    level: Annotated[float, "The level of confidence."]
    tested: Annotated[int, "Pairs that are tested together, by Holm's method."]
    unit: Annotated[str, "What is counted: case, cluster or time point."]
    pairs: Annotated[tuple[PairPlan, ...], "Every two models of the pilot."]

    @property
    def needed(self) -> int | None:
        """Units for the pair that needs most; None where no pair has a number."""
        return max((pair.needed for pair in self.pairs if pair.needed is not None), default=None)

    @property
    def needed_high(self) -> int | None:
        """The same if the spread is as large as the pilot allows."""
        return max((pair.needed_high for pair in self.pairs if pair.needed_high is not None), default=None)

    def __str__(self) -> str:
        return "\n".join(self.sentences())

    def sentences(self) -> list[str]:
        """The plan in words: what is needed, under which assumptions, and which pairs have no number."""
        many = f"{self.unit}s"
        by = f"a difference of {self.smallest:g} in the mean {self.rule} score"
        how = f"{self.power:.0%} power at {self.level:.4g} confidence"
        family = "one pair" if self.tested == 1 else f"{self.tested:,} pairs by Holm's method"
        said = []
        if self.needed is not None:
            more = f", or {self.needed_high:,} if the spread is as large as the pilot allows (80 % upper limit)"
            said.append(
                f"To find {by} with {how}, testing {family}, {self.needed:,} {many} are needed"
                f"{more if self.needed_high is not None else ''}."
            )
            said.append(f"This assumes {many} like those of the pilot: independent draws with the same spread.")
        else:
            said.append(f"No number of {many} can be given for {by}.")
        seen = dict.fromkeys(pair.reason for pair in self.pairs if pair.reason)
        for why in seen:
            who = ", ".join(f"{pair.a} and {pair.b}" for pair in self.pairs if pair.reason == why)
            said.append(f"No number for {who}: {why}.")
        return said


@dataclass(frozen=True, slots=True)
class Equivalence:
    """Two models under one rule: are they equal within a margin (two one-sided tests; Schuirmann 1987)?"""

    rule: Annotated[str, "The scoring rule."]
    a: Annotated[str, "The first model."]
    b: Annotated[str, "The second model."]
    margin: Annotated[float, "The largest difference that counts as none."]
    difference: Annotated[
        Estimate, "Mean score of a minus that of b; equal within the margin where the interval is inside it."
    ]
    level: Annotated[float, "The level of confidence of the verdicts."]
    tested: Annotated[int, "Pairs that were looked at; the p values are multiplied by it."]
    p: Annotated[float | None, "That the difference is not within the margin; null where there is no test."]
    noninferior_p: Annotated[float | None, "That a is worse than b by the margin or more; null without a test."]

    @property
    def equivalent(self) -> bool:
        """Whether the two are equal within the margin, at this level."""
        return self.p is not None and self.p <= 1 - self.level

    @property
    def noninferior(self) -> bool:
        """Whether a is not worse than b by the margin or more, at this level."""
        return self.noninferior_p is not None and self.noninferior_p <= 1 - self.level

    def __str__(self) -> str:
        what = f"the mean {self.rule} scores of {self.a} and {self.b}"
        if self.p is None:
            return f"Whether {what} are equal within {self.margin:g} cannot be tested: {self.difference.reason}."
        shown = f"difference {self.difference.value:+.4g}, p = {self.p:.3g}"
        if self.equivalent:
            return f"{what[0].upper()}{what[1:]} are equal within {self.margin:g} at {self.level:.4g} ({shown})."
        return f"That {what} are equal within {self.margin:g} is not shown at {self.level:.4g} ({shown})."


def power_of(effect: float, error: float, freedom: float, level: float) -> float:
    """How often a two-sided t test at one minus this level rejects zero, if the true difference is `effect`.

    >>> round(power_of(0.28, 0.1, math.inf, 0.95), 3)
    0.8
    """
    from scipy.special import ndtr, nctdtr  # noqa: PLC0415  only here, and not cheap to import

    edge, away = quantile(0.5 + level / 2, freedom), abs(effect) / error
    if freedom > _NORMAL:
        return float(ndtr(away - edge) + ndtr(-away - edge))
    if away > 30 + edge:
        return 1.0
    return float(1 - nctdtr(freedom, away, edge) + nctdtr(freedom, away, -edge))


def detectable(error: float, freedom: float, level: float, power: float = POWER) -> float:
    """The smallest true difference that a test with this standard error finds with this power.

    >>> round(detectable(0.1, math.inf, 0.95), 3)
    0.28
    """
    low, high = 0.0, error
    while power_of(high, error, freedom, level) < power:
        low, high = high, 2 * high
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (low, middle) if power_of(middle, error, freedom, level) >= power else (middle, high)
    return high


def required_units(
    found: Estimate, units: int, smallest: float, *, level: float, power: float = POWER, timed: bool = False
) -> int | None:
    """How many units find a difference of this size with this power, if a unit has the spread that it has in `found`.

    The standard error falls with the root of the number of units. Degrees of freedom grow in proportion to it, or as
    those of the cosine variance do where units follow each other in time.

    >>> required_units(Estimate(0.1, -0.1, 0.3, error=0.1, freedom=99), 100, 0.1, level=0.95)
    787
    """
    if found.error is None or found.freedom is None or not found.error > 0:
        return None
    error, freedom = found.error, found.freedom

    def enough(n: int) -> bool:
        if math.isinf(freedom):
            own = freedom
        elif timed:
            own = freedom * usual_waves(n) / usual_waves(units)
        else:
            own = (freedom + 1) * n / units - 1
        return own > 0 and power_of(smallest, error * math.sqrt(units / n), own, level) >= power

    high = max(2, units)
    while not enough(high):
        if high > MOST:
            return None
        high *= 2
    low = 1
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


def pessimistic(found: Estimate) -> Estimate:
    """The estimate with the largest standard error that the data allow at 80 % confidence, one-sided.

    >>> round(pessimistic(Estimate(0.1, error=0.1, freedom=19)).error, 4)
    0.1179
    """
    from scipy.special import chdtri  # noqa: PLC0415  only here, and not cheap to import

    if found.error is None or found.freedom is None or math.isinf(found.freedom):
        return found
    return replace(found, error=found.error * math.sqrt(found.freedom / float(chdtri(found.freedom, PESSIMISTIC))))


def one_sided(found: Estimate, margin: float) -> float | None:
    """The p value of: the true difference is at least the margin. None where there is no standard error.

    >>> round(one_sided(Estimate(0.0, error=0.1, freedom=math.inf), 0.1645), 3)
    0.05
    """
    from scipy.special import ndtr, stdtr  # noqa: PLC0415  only here, and not cheap to import

    if found.error is None or found.freedom is None or not found.error > 0:
        return None
    far = (found.value - margin) / found.error
    return float(ndtr(far) if math.isinf(found.freedom) else stdtr(found.freedom, far))


def two_one_sided(found: Estimate, margin: float) -> float | None:
    """The p value of: the true difference is at least the margin in size (the larger of two one-sided ones)."""
    below = one_sided(found, margin)
    above = one_sided(replace(found, value=-found.value), margin)
    return None if below is None or above is None else max(below, above)
