"""Rank models by mean score, over all cases and in groups; compare every two of them, adjusted by Holm's method."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Literal

from toplist.inference.aggregates import Aggregates, overall
from toplist.inference.intervals import Intervals, quantile
from toplist.inference.results import Comparison, Estimate, Group, ModelRow, Pair, RuleScore
from toplist.scoring.case_scores import metrics_for


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


@dataclass(frozen=True, slots=True)
class ComparisonSpec:
    """What is compared."""

    names: tuple[str, ...]
    rules: tuple[str, ...]
    ks: tuple[int, ...]  # of top-k errors
    baseline: int | None
    pairwise: bool
    unranked: frozenset[int] = frozenset()  # models with too few cases: below the others, without a rank


def sections(
    tallies: Mapping[Hashable, Aggregates],
    terms: ComparisonSpec,
    inference: Callable[[Hashable, Aggregates], Intervals],
) -> tuple[Group, tuple[Group, ...]]:
    """The standings over all cases, and over each group of them, in the order of the groups' names.

    `inference` gives the intervals of a group, or of all cases (None).
    """
    whole = overall(tallies)
    first = section(None, whole, terms, inference(None, whole))
    if list(tallies) == [None]:
        return first, ()
    return first, tuple(section(str(k), tallies[k], terms, inference(k, tallies[k])) for k in _in_order(tallies))


def _in_order(groups: Iterable[Hashable]) -> list[Hashable]:
    """Numbers by size, text by the alphabet."""
    names = list(groups)
    try:
        return sorted(names, key=lambda name: (float(str(name)), str(name)))
    except ValueError:
        return sorted(names, key=str)


def section(group: str | None, tally: Aggregates, terms: ComparisonSpec, inference: Intervals) -> Group:
    """The standings of one tally, best first."""
    everyone = range(len(terms.names))
    rules = range(len(terms.rules))
    relative = [
        [_relative(tally, r, a, inference, terms.unranked) if terms.pairwise else None for a in everyone] for r in rules
    ]
    means = [inference.mean(0, a) for a in everyone]

    def place(a: int) -> tuple[float, ...]:
        if not tally.sums["weight"][a]:
            return (math.inf,)
        mean = means[a].value
        ratio = relative[0][a]
        lead = (math.inf if ratio is None else ratio.value) if terms.pairwise else 0.0
        finite = mean if math.isfinite(mean) else _finite(tally, 0, a)
        return (float(tally.sums["infinite"][0, a, a]), lead, math.inf if math.isnan(finite) else finite)

    order = sorted(everyone, key=lambda a: (a in terms.unranked, place(a)))
    leader = order[0]
    rows = tuple(
        _model_row(
            tally,
            terms,
            inference,
            a,
            None if a in terms.unranked else rank,
            leader,
            [ratios[a] for ratios in relative],
        )
        for rank, a in enumerate(order, 1)
    )
    return Group(group, tally.cases, rows)


def _model_row(
    tally: Aggregates,
    terms: ComparisonSpec,
    inference: Intervals,
    a: int,
    rank: int | None,
    leader: int,
    relative: Sequence[Estimate | None],
) -> ModelRow:
    s = tally.sums
    cases, weight = s["cases"][a, a], s["weight"][a]

    def share(total: int) -> float:
        return total / weight if weight else math.nan

    return ModelRow(
        rank=rank,
        name=terms.names[a],
        cases=cases,
        missing=tally.cases - cases,
        invalid=s["invalid_cases"][a],
        scores={
            rule: _rule_score(tally, terms, inference, r, a, leader, relative[r]) for r, rule in enumerate(terms.rules)
        },
        metrics={metric.name: Estimate(share(s[metric.name][a])) for metric in metrics_for(terms.ks)},
    )


def _rule_score(
    tally: Aggregates,
    terms: ComparisonSpec,
    inference: Intervals,
    r: int,
    a: int,
    leader: int,
    relative: Estimate | None,
) -> RuleScore:
    s = tally.sums
    infinite, weight = s["infinite"][r, a, a], s["weight"][a]
    plain = math.inf if s["unpenalised_infinite"][a, r] else s["unpenalised"][a, r] / weight if weight else math.nan
    return RuleScore(
        rule=terms.rules[r],
        mean=inference.mean(r, a),
        unpenalised=plain,
        infinite=infinite,
        finite=_finite(tally, r, a),
        skill=inference.skill(r, a),
        baseline_skill=None if terms.baseline is None else inference.baseline_skill(r, a, terms.baseline),
        difference=None if a == leader else inference.difference(r, a, leader),
        relative=relative,
    )


def _finite(tally: Aggregates, r: int, a: int) -> float:
    w = tally.sums["w"][r, a, a]
    return tally.sums["x"][r, a, a] / w if w else math.nan


def _relative(tally: Aggregates, r: int, a: int, inference: Intervals, unranked: frozenset[int]) -> Estimate | None:
    """The geometric mean of the ratios of mean scores on common cases, over all models, itself included.

    A model with an infinite score has no mean: it has no relative skill, and the others are compared without it.
    So are they without one that is perfect on the common cases, whose own relative skill is zero, and without those
    that are not ranked.
    """
    x, infinite, w = tally.sums["x"][r], tally.sums["infinite"][r], tally.sums["w"][r]
    if infinite[a, a] or not w[a, a]:
        return None
    met = [b for b in range(len(x)) if (b == a or b not in unranked) and not infinite[b, b] and w[a, b]]
    if any(x[a, b] < 0 or x[b, a] < 0 for b in met):
        return None
    if any(x[a, b] == 0 < x[b, a] for b in met):
        return Estimate(0.0, reason="a mean of zero has no ratio with an interval")
    others = tuple(b for b in met if x[a, b] and x[b, a])
    if not others:
        return None
    value = math.exp(math.fsum(math.log(x[a, b] / x[b, a]) for b in others) / len(others))
    return inference.relative(r, a, value, others)
