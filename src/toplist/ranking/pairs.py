"""Every two predictors: how far apart they are, how sure that is, and what it would take to be sure."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import combinations

from toplist.ranking.estimates import quantile
from toplist.ranking.inference import Inference
from toplist.ranking.multiplicity import holm
from toplist.ranking.results import Estimate, Pair
from toplist.ranking.standings import Terms
from toplist.tally import Tally

POWER = 0.8


def pairs(tally: Tally, terms: Terms, inference: Inference, order: Sequence[str], level: float) -> tuple[Pair, ...]:
    """All pairs under every rule; the one that stands higher in the order comes first."""
    out: list[Pair] = []
    for r, rule in enumerate(terms.rules):
        found = []
        for one, other in combinations(order, 2):
            a, b = terms.names.index(one), terms.names.index(other)
            cases = int(tally.sums["cases"][a, b])
            difference = inference.difference(r, a, b)
            more = further(difference, inference.units(r, a, b), level)
            found.append((one, other, cases, difference, more))
        adjusted = holm([difference.p for *_, difference, _ in found])
        out += [
            Pair(rule, one, other, cases, difference, p, more)
            for (one, other, cases, difference, more), p in zip(found, adjusted, strict=True)
        ]
    return tuple(out)


def further(difference: Estimate, units: int, level: float, *, power: float = POWER) -> int | None:
    """How many units more would exclude zero with this power, if difference and spread stay as they are.

    A difference d with the standard error s after n units needs N = n (s / d)^2 (t_(1 - alpha / 2) + t_power)^2 of
    them, with Student's quantiles at N - 1. The two are looked at alone: among many pairs it takes more.
    0 where the interval excludes zero already; None where there is no difference, or no spread is known.

    >>> further(Estimate(0.1, -0.1, 0.3, error=0.1), 100, 0.95)
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
