"""Rank models by mean score, over all cases and in groups."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from toplist.inference.aggregates import Aggregates, overall
from toplist.inference.intervals import Intervals
from toplist.inference.results import Estimate, Group, ModelRow, RuleScore
from toplist.scoring.case_scores import metrics_for


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
