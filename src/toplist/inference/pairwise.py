"""Every two models: how far apart they are, whether that is sure, and what it would take to be sure."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Literal

from toplist.inference.aggregates import Aggregates
from toplist.inference.intervals import Intervals, quantile
from toplist.inference.ranking import ComparisonSpec
from toplist.inference.results import Comparison, Estimate, Pair


def holm(values: Sequence[float | None]) -> list[float | None]:
    """Adjusted so that, of all true hypotheses, any is rejected at a level with at most that probability (Holm 1979).

    The i-th smallest of n becomes (n - i + 1) times itself, at least its predecessor, at most one. What has no p value
    is not tested, and does not count.

    >>> holm([0.01, 0.04, 0.03])
    [0.03, 0.06, 0.06]
    """
    out: list[float | None] = [None] * len(values)
    known = sorted((p, at) for at, p in enumerate(values) if p is not None)
    most = 0.0
    for place, (p, at) in enumerate(known):
        most = max(most, min(1.0, (len(known) - place) * p))
        out[at] = most
    return out


POWER = 0.8


def pairs(
    tally: Aggregates, terms: ComparisonSpec, inference: Intervals, order: Sequence[str], level: float
) -> tuple[Pair, ...]:
    """All pairs under every rule; the one that stands higher in the order comes first."""
    out: list[Pair] = []
    for r, rule in enumerate(terms.rules):
        found = []
        for one, other in combinations(order, 2):
            a, b = terms.names.index(one), terms.names.index(other)
            cases = int(tally.sums["cases"][a, b])
            difference = inference.difference(r, a, b)
            extra = extra_units(difference, inference.units(r, a, b), level)
            found.append((one, other, cases, difference, extra))
        adjusted = holm([difference.p for *_, difference, _ in found])
        out += [
            Pair(rule, one, other, cases, difference, p, extra)
            for (one, other, cases, difference, extra), p in zip(found, adjusted, strict=True)
        ]
    return tuple(out)


def extra_units(difference: Estimate, units: int, level: float, *, power: float = POWER) -> int | None:
    """How many units more would exclude zero with this power, if difference and spread stay as they are.

    A difference d with the standard error s after n units needs N = n (s / d)^2 (t_(1 - alpha / 2) + t_power)^2 of
    them, with Student's quantiles at N - 1. The two are looked at alone: among many pairs it takes more.
    0 where the interval excludes zero already; None where there is no difference, or no spread is known.

    >>> extra_units(Estimate(0.1, -0.1, 0.3, error=0.1), 100, 0.95)
    687
    """
    d, s = difference.value, difference.error
    if difference.low is None or difference.high is None or s is None:
        return None
    if difference.low > 0 or difference.high < 0:
        return 0
    if d == 0 or not math.isfinite(s / d):
        return None
    per_unit = abs(d) / (s * math.sqrt(units))  # the difference in standard deviations of a unit
    normal = (quantile(0.5 + level / 2) + quantile(power)) / per_unit
    if not math.isfinite(normal * normal):
        return None
    needed = max(2, math.ceil(normal * normal))
    while per_unit * math.sqrt(needed) < quantile(0.5 + level / 2, needed - 1) + quantile(power, needed - 1):
        needed += 1  # Student's quantiles are a little larger: a few steps
    return max(1, needed - units)


Kind = Literal["sure", "unsure", "infinite", "untested"]


@dataclass(frozen=True, slots=True)
class PairwiseVerdict:
    """A pair, and what may be said of it.

    It is sure exactly where there is a difference and the adjusted p is at most one minus the level; infinite where a
    mean is, which no test can weigh; untested where there is no p for another reason.
    """

    pair: Pair
    kind: Kind

    @property
    def sure(self) -> bool:
        """Whether the two are surely different."""
        return self.kind == "sure"

    @property
    def tested(self) -> bool:
        """Whether there is a p value."""
        return self.kind in ("sure", "unsure")

    @property
    def better(self) -> str | None:
        """Who has the lower mean score; None where neither has."""
        value = self.pair.difference.value
        return None if math.isnan(value) or value == 0 else self.pair.a if value < 0 else self.pair.b

    @property
    def worse(self) -> str | None:
        """The other one."""
        better = self.better
        return None if better is None else self.pair.b if better == self.pair.a else self.pair.a


def verdicts(results: Comparison, rule: str) -> list[PairwiseVerdict]:
    """Every pair under one rule, in the order of the table."""
    order = {row.name: i for i, row in enumerate(results.overall.rows)}
    last = len(order)
    own = sorted(
        (pair for pair in results.pairs if pair.rule == rule),
        key=lambda pair: (order.get(pair.a, last), order.get(pair.b, last)),
    )
    return [judge(pair, results) for pair in own]


def judge(pair: Pair, results: Comparison) -> PairwiseVerdict:
    """The verdict on one pair."""
    if pair.adjusted_p is not None and not math.isnan(pair.adjusted_p):
        return PairwiseVerdict(
            pair, "sure" if pair.adjusted_p <= 1 - results.level and pair.difference.value else "unsure"
        )
    rows = [row for row in results.overall.rows if row.name in (pair.a, pair.b)]
    infinite = math.isinf(pair.difference.value) or any(row.scores[pair.rule].infinite for row in rows)
    return PairwiseVerdict(pair, "infinite" if infinite else "untested")
