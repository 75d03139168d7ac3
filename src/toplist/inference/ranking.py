"""Rank models by mean score, over all cases and in groups; compare every two of them, adjusted by Holm's method.

One rule of significance for every star, sentence and figure: `significant`, over all tested pairs under a rule.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Literal

import numpy as np

from toplist._typing import Floats
from toplist.inference.aggregates import Aggregates, overall
from toplist.inference.estimation import POWER, extra_units
from toplist.inference.intervals import NO_CASES, SAME, Intervals, same_scores
from toplist.inference.results import Comparison, ConfidenceSet, Estimate, Group, ModelRow, Pair, RuleScore
from toplist.scoring.case_scores import Metric, metrics_for

_RESAMPLED = ("bootstrap", "poisson", "wild")  # methods whose intervals end at a draw


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


def significant(difference: Estimate, adjusted_p: float | None, level: float) -> bool:
    """The one rule of significance: there is a difference, and its adjusted p is at most one minus the level."""
    return adjusted_p is not None and adjusted_p <= 1 - level and difference.value != 0


Kind = Literal["significant", "not significant", "infinite", "untested"]


@dataclass(frozen=True, slots=True)
class PairwiseVerdict:
    """A pair, and what may be said of it.

    Infinite where a mean is, which no test can weigh; untested where there is no p for another reason.
    """

    pair: Pair
    kind: Kind

    @property
    def significant(self) -> bool:
        """Whether the two are significantly different."""
        return self.kind == "significant"

    @property
    def tested(self) -> bool:
        """Whether there is a p value."""
        return self.kind in ("significant", "not significant")

    @property
    def same(self) -> bool:
        """Whether the two have the same scores, up to rounding, or the same mean, and are not tested."""
        return not self.tested and (self.pair.difference.reason == SAME or self.pair.difference.value == 0)

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

    @property
    def behind(self) -> str | None:
        """Who is significantly worse, or alone has infinite scores on the cases of both; None where neither is."""
        return self.worse if self.significant or math.isinf(self.pair.difference.value) else None


def verdicts(results: Comparison, rule: str) -> list[PairwiseVerdict]:
    """Every pair under one rule over all cases, in the order of the table."""
    order = {row.name: i for i, row in enumerate(results.overall.rows)}
    last = len(order)
    own = sorted(
        (pair for pair in results.pairs if pair.rule == rule),
        key=lambda pair: (order.get(pair.a, last), order.get(pair.b, last)),
    )
    return [judge(pair, results.level) for pair in own]


def judge(pair: Pair, level: float) -> PairwiseVerdict:
    """The verdict on one pair, over all cases or in a group."""
    if pair.adjusted_p is not None and not math.isnan(pair.adjusted_p):
        found = significant(pair.difference, pair.adjusted_p, level)
        return PairwiseVerdict(pair, "significant" if found else "not significant")
    infinite = not math.isfinite(pair.difference.value) and pair.difference.reason != NO_CASES
    return PairwiseVerdict(pair, "infinite" if infinite else "untested")


def tie_groups(comparison: Comparison, rule: str | None = None) -> tuple[tuple[str, ...], ...]:
    """Runs of the table in which no two models are significantly different, as in critical difference diagrams.

    Parameters
    ----------
    comparison : Comparison
        What was compared.
    rule : str, optional
        The scoring rule; the first one if it is not given.

    Returns
    -------
    tuple of tuple of str
        Maximal runs of two or more models, from the top of the table. Every two models of a run were tested, or have
        the same scores or mean; two models that are in no common run may still be without a significant difference.

    """
    names = [row.name for row in comparison.overall.rows]
    found = verdicts(comparison, comparison.rules[0] if rule is None else rule)
    alike = {frozenset((v.pair.a, v.pair.b)) for v in found if v.kind == "not significant" or v.same}
    runs: list[tuple[str, ...]] = []
    start = 0
    for end, name in enumerate(names):  # the longest run that ends here begins no earlier than the one before
        joined = [frozenset((other, name)) in alike for other in names[start:end]]
        first = start + max((i + 1 for i, one in enumerate(joined) if not one), default=0)
        if first > start and end - start > 1:
            runs.append(tuple(names[start:end]))
        start = first
    return (*runs, tuple(names[start:])) if len(names) - start > 1 else tuple(runs)


def confidence_set(results: Comparison, rule: str | None = None, level: float | None = None) -> ConfidenceSet:
    """The ranked models that no other one is significantly better than, by Holm's method over all pairs.

    The best one is left out only where a pair is significant in the wrong direction. A pair without a test leaves
    nobody out, also where infinite scores decide who stands higher: one such score may be chance.
    """
    chosen, own = results.rules[0] if rule is None else rule, results.level if level is None else level
    names = [row.name for row in results.overall.rows if row.rank is not None and row.cases]
    found = [v for v in verdicts(results, chosen) if v.pair.a in names and v.pair.b in names]
    found = [judge(v.pair, own) for v in found]
    tested = [v.pair for v in found if v.tested]
    infinite = dict.fromkeys(v.worse for v in found if v.kind == "infinite" and v.worse is not None)
    who = ", ".join(map(str, infinite))
    if not tested:
        why = next((v.pair.difference.reason for v in found if v.pair.difference.reason), "there is no p value")
        why = f"infinite scores, which no test weighs: {who}" if infinite else why
        return ConfidenceSet(chosen, own, (), {}, 0, "", why if found else "there is one model only")
    p = dict.fromkeys(names, 1.0)
    for v in found:
        if v.tested and v.worse is not None and v.pair.adjusted_p is not None:
            p[v.worse] = min(p[v.worse], v.pair.adjusted_p)
    apart = sum(not v.tested and v.pair.difference.value != 0 and v.worse not in infinite for v in found)
    reasons = [
        *([f"infinite scores, which no test weighs, leave nobody out: {who}"] if infinite else []),
        *([f"pairs that cannot be tested, and leave nobody out: {apart:,} of {len(found):,}"] if apart else []),
    ]
    return ConfidenceSet(
        chosen,
        own,
        tuple(name for name in names if p[name] > 1 - own),
        p,
        min((pair.cases for pair in tested), default=0),
        f"models that no other one is significantly better than, by Holm's method over {len(tested):,} tested pair"
        f"{'' if len(tested) == 1 else 's'}, with the standard errors of the intervals",
        "; ".join(reasons),
    )


@dataclass(frozen=True, slots=True)
class ComparisonSpec:
    """What is compared."""

    names: tuple[str, ...]
    rules: tuple[str, ...]
    ks: tuple[int, ...]  # of top-k errors
    baseline: int | None
    pairwise: bool
    unranked: frozenset[int] = frozenset()  # models with too few cases: below the others, without a rank


Part = tuple[str | None, Intervals]  # a group (None: all cases), and its intervals


def sections(
    tallies: Mapping[Hashable, Aggregates],
    terms: ComparisonSpec,
    inference: Callable[[Hashable, Aggregates], Intervals],
) -> tuple[Group, tuple[Group, ...]]:
    """The standings over all cases, and over each group of them, in the order of the groups' names.

    `inference` gives the intervals of a group, or of all cases (None). The pairs of all groups are one family.
    """
    whole = overall(tallies)
    (first,) = ranked([(None, inference(None, whole))], terms)
    keys = [] if list(tallies) == [None] else in_order(tallies)
    return first, tuple(ranked([(str(k), inference(k, tallies[k])) for k in keys], terms))


def in_order(groups: Iterable[Hashable]) -> list[Hashable]:
    """Numbers by size, text by the alphabet."""
    names = list(groups)
    try:
        return sorted(names, key=lambda name: (float(str(name)), str(name)))
    except ValueError:
        return sorted(names, key=str)


def ranked(parts: Sequence[Part], terms: ComparisonSpec) -> list[Group]:
    """The standings of each part, best first; under each rule, Holm's method goes over the pairs of all parts."""
    everyone, rules = range(len(terms.names)), range(len(terms.rules))
    relative = [
        [[_relative(intervals, r, a, terms.unranked) if terms.pairwise else None for a in everyone] for r in rules]
        for _, intervals in parts
    ]
    orders = [_ordered(intervals, terms, own[0]) for (_, intervals), own in zip(parts, relative, strict=True)]
    found: list[list[Pair]] = [[] for _ in parts]
    for r in rules:
        alone = [
            (at, a, b, intervals.difference(r, a, b))
            for at, (_, intervals) in enumerate(parts)
            for (a, _), (b, _) in combinations(orders[at], 2)
        ]
        adjusted = holm([difference.p for *_, difference in alone])
        tested = sum(p is not None for p in adjusted)
        for (at, a, b, difference), p in zip(alone, adjusted, strict=True):
            found[at].append(_pair(parts[at][1], terms, (r, a, b), difference, p, tested))
    return [
        _group(part, terms, order, own, tuple(pairs))
        for part, order, own, pairs in zip(parts, orders, relative, found, strict=True)
    ]


def _pair(
    intervals: Intervals,
    terms: ComparisonSpec,
    which: tuple[int, int, int],
    difference: Estimate,
    p: float | None,
    tested: int,
) -> Pair:
    """A pair whose p is adjusted, with the interval that holds for all tested pairs at once."""
    (r, a, b), level = which, 1 - (1 - intervals.level) / max(1, tested)
    marked = significant(difference, p, intervals.level)
    simultaneous = difference
    if difference.low is not None and level != intervals.level:
        if intervals.method in _RESAMPLED and (1 - level) / 2 * (intervals.draws + 1) < 1:
            many = f"{intervals.draws:,} resamples are too few for an interval that holds for so many pairs at once"
            simultaneous = replace(difference, low=None, high=None, reason=many)
        else:
            simultaneous = intervals.difference(r, a, b, level)
    return Pair(
        terms.rules[r],
        terms.names[a],
        terms.names[b],
        int(intervals.tally.sums["cases"][a, b]),
        difference,
        p,
        0 if marked else extra_of(intervals, which, difference, level),
        simultaneous,
    )


def extra_of(
    intervals: Intervals, which: tuple[int, int, int], difference: Estimate, level: float, power: float = POWER
) -> int | None:
    """How many units more would make a difference significant; not where clusters and time points are both units."""
    if intervals.two_way:
        return None
    return extra_units(difference, intervals.units(*which), level, power=power, timed=intervals.method == "ewc")


def _ordered(
    intervals: Intervals, terms: ComparisonSpec, relative: Sequence[Estimate | None]
) -> list[tuple[int, int | None]]:
    """The models from best to worst, with their ranks: those with the same score share one."""
    tally, cases = intervals.tally, intervals.tally.sums["cases"]

    def place(a: int) -> tuple[float, ...]:
        if not tally.sums["weight"][a]:
            return (math.inf,)
        mean, ratio = intervals.mean(0, a).value, relative[a]
        lead = (math.inf if ratio is None else ratio.value) if terms.pairwise else 0.0
        finite = mean if math.isfinite(mean) else _finite(tally, 0, a)
        return (float(tally.sums["infinite"][0, a, a]), lead, math.inf if math.isnan(finite) else finite)

    def tied(a: int, b: int) -> bool:
        alike = cases[a, a] == cases[b, b] == cases[a, b] and same_scores(tally, 0, a, b)
        return alike or places[a] == places[b]

    places = [place(a) for a in range(len(terms.names))]
    found: list[tuple[int, int | None]] = []
    for at, a in enumerate(sorted(range(len(places)), key=lambda a: (a in terms.unranked, places[a])), 1):
        before = found[-1] if found else None
        rank = before[1] if before is not None and before[1] is not None and tied(before[0], a) else at
        found.append((a, None if a in terms.unranked else rank))
    return found


def _group(
    part: Part,
    terms: ComparisonSpec,
    order: Sequence[tuple[int, int | None]],
    relative: Sequence[Sequence[Estimate | None]],
    pairs: tuple[Pair, ...],
) -> Group:
    group, intervals = part
    leader, sums = terms.names[order[0][0]], intervals.tally.sums
    to_leader = {(pair.rule, pair.b): pair for pair in pairs if pair.a == leader}
    rows = tuple(
        ModelRow(
            rank=rank,
            name=terms.names[a],
            cases=sums["cases"][a, a],
            missing=intervals.tally.cases - sums["cases"][a, a],
            invalid=sums["invalid_cases"][a],
            scores={
                rule: _rule_score(intervals, terms, r, a, relative[r][a], to_leader.get((rule, terms.names[a])))
                for r, rule in enumerate(terms.rules)
            },
            metrics={
                metric.name: Estimate(_ratio(sums[metric.name][a], sums["weight"][a]))
                for metric in metrics_for(terms.ks)
            },
        )
        for a, rank in order
    )
    counted, cases = [a for a, rank in order if rank is not None], sums["cases"]
    if not terms.pairwise or len({cases[a, b] for a in counted for b in counted}) < 2:
        found = [judge(pair, intervals.level) for pair in pairs if pair.rule == terms.rules[0]]
        rows = with_rank_intervals(rows, found)
    return Group(group, intervals.tally.cases, rows, pairs)


def metrics_of(results: Comparison) -> tuple[Metric, ...]:
    """The metrics that the rows of a comparison have."""
    return metrics_for(results.k)


def with_rank_intervals(rows: tuple[ModelRow, ...], verdicts: Sequence[PairwiseVerdict]) -> tuple[ModelRow, ...]:
    """One plus the number that is significantly better, and how many there are less those that are worse.

    All true ranks lie in their intervals where no pair is significant in the wrong direction (Mogstad, Romano, Shaikh
    and Wilhelm 2024), and all pairs are compared on the same cases: on different ones each of three models may be
    better than the next. Models without a rank do not count, nor do pairs that infinite scores decide without a test.
    """
    names = {row.name for row in rows if row.rank is not None}
    pairs = [(v.better, v.worse) for v in verdicts if v.significant and v.better in names and v.worse in names]
    better, worse = Counter(loser for _, loser in pairs), Counter(winner for winner, _ in pairs)
    return tuple(
        replace(row, rank_interval=(1 + better[row.name], len(names) - worse[row.name])) if row.name in names else row
        for row in rows
    )


def _rule_score(
    intervals: Intervals, terms: ComparisonSpec, r: int, a: int, relative: Estimate | None, to_leader: Pair | None
) -> RuleScore:
    s = intervals.tally.sums
    return RuleScore(
        rule=terms.rules[r],
        mean=intervals.mean(r, a),
        unpenalised=math.inf if s["unpenalised_infinite"][a, r] else _ratio(s["unpenalised"][a, r], s["weight"][a]),
        infinite=s["infinite"][r, a, a],
        finite=_finite(intervals.tally, r, a),
        skill=intervals.skill(r, a),
        baseline_skill=None if terms.baseline is None else intervals.baseline_skill(r, a, terms.baseline),
        difference=None if to_leader is None else -to_leader.simultaneous,
        relative=relative,
        adjusted=intervals.adjusted(r, a) if terms.pairwise else None,
        adjusted_p=None if to_leader is None else to_leader.adjusted_p,
    )


def _finite(tally: Aggregates, r: int, a: int) -> float:
    """The mean of the finite scores."""
    return _ratio(tally.sums["x"][r, a, a], tally.sums["w"][r, a, a])


def _ratio(total: int, weight: int) -> float:
    return total / weight if weight else math.nan


def _relative(intervals: Intervals, r: int, a: int, unranked: frozenset[int]) -> Estimate | None:
    """The geometric mean of the ratios of mean scores on common cases, over all models, itself included.

    A model with an infinite score has no mean: it has no relative skill, and the others are compared without it.
    So are they without one that is perfect on the common cases, whose own relative skill is zero, and without those
    that are not ranked.
    """
    x, infinite, w = (intervals.tally.sums[name][r] for name in ("x", "infinite", "w"))
    if infinite[a, a] or not w[a, a]:
        return None
    met = [b for b in range(len(x)) if (b == a or b not in unranked) and not infinite[b, b] and w[a, b]]
    if any(x[a, b] < 0 or x[b, a] < 0 for b in met):
        return None
    if any(x[a, b] == 0 < x[b, a] for b in met):
        return Estimate(0.0, reason="a mean of zero has no ratio with an interval")
    others = tuple(b for b in met if x[a, b] and x[b, a])
    if not others or (len(x) > 1 and others == (a,)):
        return None  # no other model has a case of it
    value = math.exp(math.fsum(math.log(x[a, b] / x[b, a]) for b in others) / len(others))
    return intervals.relative(r, a, value, others)


# The difference of two models, case by case


def differences(a: Floats, b: Floats, w: Floats) -> Floats:
    """a minus b times the weight; zero where both are infinite, or the weight is zero."""
    same = (a == b) | (w == 0)
    out = np.zeros(len(a))
    np.subtract(a, b, out=out, where=~same)
    return np.where(same, 0.0, out * w)


def turning(d: Floats) -> int:
    """The smallest number of cases without which the sum of differences is zero or turned; 0 where it is zero.

    Taking away the cases that favour the better one, the strongest first, is best possible; more infinite scores
    outweigh any finite sum. The sign of a sum by `fsum` is exact; where rounding cannot change it, a plain sum does.

    >>> turning(np.array([0.5, -0.2, 0.1, -0.1])), turning(np.array([math.inf, -9.0])), turning(np.zeros(2))
    (1, 1, 0)
    """
    extra = int(np.count_nonzero(d == np.inf)) - int(np.count_nonzero(d == -np.inf))
    sign = np.sign(extra or math.fsum(d[np.isfinite(d)]))
    if sign == 0:
        return 0
    left = np.sort(d * sign)[::-1]  # what favours the worse one is last, below zero
    infinite = int(np.count_nonzero(left == np.inf))
    against = int(np.count_nonzero(left == -np.inf))
    finite = left[infinite : len(left) - against]
    sums = np.append(np.cumsum(finite[::-1])[::-1], 0.0)  # without the first, the first two, ...
    doubt = 4 * len(finite) * np.finfo(np.float64).eps * float(np.abs(finite).sum())

    def turned(taken: int) -> bool:
        more = max(infinite - taken, 0) - against
        rest = max(taken - infinite, 0)
        if more:
            return more < 0
        return bool(sums[rest] < 0 if abs(sums[rest]) > doubt else math.fsum(finite[rest:]) <= 0)

    most = infinite + int(np.count_nonzero(finite > 0))  # without these it is turned, and without none it is not
    return bisect_left(range(most), True, 1, key=turned)
