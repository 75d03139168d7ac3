"""Who is ahead: standings from tallies."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from toplist.ranking.intervals import difference, mean_score
from toplist.ranking.results import Mark, Section, Standing
from toplist.tally import Tally, overall


@dataclass(frozen=True, slots=True)
class Terms:
    """What is compared, and how sure the intervals are."""

    names: tuple[str, ...]
    rules: tuple[str, ...]
    tops: tuple[int, ...]
    reference: int | None
    pairwise: bool
    level: float


def sections(tallies: Mapping[Hashable, Tally], terms: Terms) -> tuple[Section, tuple[Section, ...]]:
    """The standings over all cases, and over each group of them, in the order of the groups' names."""
    if list(tallies) == [None]:
        return section(None, tallies[None], terms), ()
    return section(None, overall(tallies), terms), tuple(section(str(k), tallies[k], terms) for k in _in_order(tallies))


def _in_order(groups: Iterable[Hashable]) -> list[Hashable]:
    """Numbers by size, text by the alphabet."""
    names = list(groups)
    try:
        return sorted(names, key=lambda name: (float(str(name)), str(name)))
    except ValueError:
        return sorted(names, key=str)


def section(group: str | None, tally: Tally, terms: Terms) -> Section:
    """The standings of one tally, best first."""
    everyone = range(len(terms.names))
    relative = [[_relative(tally, r, a) if terms.pairwise else None for a in everyone] for r in range(len(terms.rules))]
    means = [mean_score(tally, 0, a, terms.level) for a in everyone]

    def place(a: int) -> tuple[float, ...]:
        if not tally.sums["cases"][a, a]:
            return (math.inf,)
        mean = means[a].value
        ratio = relative[0][a]
        lead = (math.inf if ratio is None else ratio) if terms.pairwise else 0.0
        finite = mean if math.isfinite(mean) else _finite(tally, 0, a)
        return (float(tally.sums["infinite"][0, a, a]), lead, math.inf if math.isnan(finite) else finite)

    order = sorted(everyone, key=place)
    leader = order[0]
    standings = tuple(
        _standing(tally, terms, a, rank, leader, [ratios[a] for ratios in relative]) for rank, a in enumerate(order, 1)
    )
    return Section(group, tally.cases, standings)


def _standing(tally: Tally, terms: Terms, a: int, rank: int, leader: int, relative: Sequence[float | None]) -> Standing:
    s = tally.sums
    cases, weight = s["cases"][a, a], s["weight"][a]

    def share(total: int) -> float:
        return total / weight if weight else math.nan

    return Standing(
        rank=rank,
        name=terms.names[a],
        cases=cases,
        missing=tally.cases - cases,
        marks=tuple(_mark(tally, terms, r, a, leader, relative[r]) for r in range(len(terms.rules))),
        accuracy=share(s["hit"][a]),
        top_k_error={k: share(s["missed"][a, t]) for t, k in enumerate(terms.tops)},
        coverage=share(s["listed"][a]),
        mean_size=share(s["size"][a]),
        mean_mass=share(s["mass"][a]),
        invalid=s["invalid_cases"][a],
        invalid_rate=share(s["invalid"][a]),
    )


def _mark(tally: Tally, terms: Terms, r: int, a: int, leader: int, relative: float | None) -> Mark:
    s = tally.sums
    score = mean_score(tally, r, a, terms.level)
    infinite, weight = s["infinite"][r, a, a], s["weight"][a]
    empty = s["empty"][a, r]
    plain = math.inf if s["unpenalised_infinite"][a, r] else s["unpenalised"][a, r] / weight if weight else math.nan
    return Mark(
        rule=terms.rules[r],
        score=score,
        unpenalised=plain,
        infinite=infinite,
        finite=_finite(tally, r, a),
        skill=None if infinite or not weight or not empty else 1.0 - score.value / (empty / weight),
        reference_skill=None if terms.reference is None else _skill(tally, r, a, terms.reference),
        behind=None if a == leader else difference(tally, r, a, leader, terms.level),
        relative=relative,
    )


def _finite(tally: Tally, r: int, a: int) -> float:
    w = tally.sums["w"][r, a, a]
    return tally.sums["x"][r, a, a] / w if w else math.nan


def _skill(tally: Tally, r: int, a: int, reference: int) -> float | None:
    x, infinite = tally.sums["x"][r], tally.sums["infinite"][r]
    if infinite[a, reference] or infinite[reference, a] or x[reference, a] <= 0:
        return None
    return float(1.0 - x[a, reference] / x[reference, a])


def _relative(tally: Tally, r: int, a: int) -> float | None:
    """The geometric mean of the ratios of mean scores on common cases, over all predictors, itself included.

    A predictor with an infinite score has no mean: it has no relative skill, and the others are compared without it.
    """
    x, infinite, w = tally.sums["x"][r], tally.sums["infinite"][r], tally.sums["w"][r]
    if infinite[a, a] or not w[a, a]:
        return None
    logs = []
    for b in range(len(x)):
        if infinite[b, b] or not w[a, b]:
            continue
        if x[a, b] <= 0 or x[b, a] <= 0:
            return None
        logs.append(math.log(x[a, b] / x[b, a]))
    return math.exp(math.fsum(logs) / len(logs))
