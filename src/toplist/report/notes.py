"""What stands below a leaderboard: what was compared and what was done to it, a sentence each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from toplist.ranking.results import ConfidenceSet, Estimate, Origin, Pair, Results, Section
from toplist.ranking.verdicts import verdicts
from toplist.words.counts import count, noun, number_of, percent
from toplist.words.names import plain, visible
from toplist.words.series import listed

_FAR = 10  # times the units there are: beyond it, what it would take is a guess at nothing
UNITS = "units: "  # how numbers were read, which is no repair
_POLICIES = {
    "error": "No prediction is missing",
    "common": "Only cases that every predictor has are compared",
    "pairwise": "Each predictor is scored on the cases it has, and compared on those that both have",
    "reject": "A missing prediction counts as an empty list",
}


def notes(results: Results) -> tuple[str, ...]:
    """The sentences below the main table."""
    found = [_basis(results), *_intervals(results), _penalty(results), _policy(results), *_unranked(results)]
    found += [f"{plain(o.name)} was read in {plain(units)} units." for o in results.origins for units in read_in(o)]
    found += [_repaired(o.name, done) for o in results.origins if (done := repaired(o))]
    if any(results.truth_repairs.values()):
        found.append(_repaired("the truth", results.truth_repairs))
    if any(mark.infinite for s in sections(results) for row in s.standings for mark in row.marks):
        found.append("A mean over infinite scores is infinite, and ranks after finite ones.")
    return (*found, *reasons(results.overall), *_sure(results), *_members(results.confidence_set))


def warnings(results: Results) -> tuple[str, ...]:
    """Why the board may not be right, a sentence each."""
    return tuple(f"Warning: {listed(map(plain, one.predictors))}: {visible(one.sentence)}" for one in results.warnings)


def _unranked(results: Results) -> list[str]:
    """Who has too few cases to be ranked."""
    who = [row for row in results.overall.standings if row.rank is None]
    if not who or results.min_cases is None:
        return []
    told = listed(f"{plain(row.name)} ({count(row.cases)})" for row in who)
    return [f"Not ranked, with fewer than {number_of(results.min_cases, 'compared case')}: {told}."]


def _sure(results: Results) -> list[str]:
    """How many pairs are told apart, of those that can be, and what it would take where the first two are not."""
    found = verdicts(results, results.rules[0])
    tested, far = sum(v.tested for v in found), sum(v.sure for v in found)
    which = "pairs" if tested == len(found) else "pairs that can be tested"
    how = f"in {plain(results.rules[0])} (Holm, {percent(results.level)})"
    said = [f"{count(far)} of {count(tested)} {which} {noun(far, 'differs', 'differ')} surely {how}."]
    return [
        *(said if tested and len(found) > 1 else []),
        *(_to_separate(found[0].pair, results.unit, results.units) if found else []),
    ]


def _to_separate(first: Pair, unit: str, units: int) -> list[str]:
    if not first.more:
        return []
    return [f"{plain(first.a)} and {plain(first.b)} are not told apart; {needed(first.more, unit, units)}."]


def needed(more: int, unit: str, units: int) -> str:
    """How many further units would tell two apart, as far as that can be said from so many.

    >>> needed(46, "case", 30)
    'about 46 more cases would do it 4 times in 5, looked at alone'
    >>> needed(32_557, "moment", 28)
    'it would take more than 10 times as many moments as there are'
    """
    if units and more > _FAR * units:
        return f"it would take more than {_FAR} times as many {unit}s as there are"
    there = "" if unit == "case" else ", if there are as many"
    return f"about {count(more)} more {noun(more, unit)} would do it 4 times in 5, looked at alone{there}"


def _members(found: ConfidenceSet | None) -> list[str]:
    if found is None:
        return []
    if not found.members:
        return [f"No confidence set for the best in {plain(found.rule)}: {visible(found.why)}."]
    who = listed(plain(name) for name in found.members)
    which = f"The confidence set of the best in {plain(found.rule)} at {percent(found.level)}"
    return [f"{which}: {who} ({visible(found.method)})."]


@dataclass(frozen=True, slots=True)
class Gap:
    """Why intervals are missing, for which predictors and under which rules; None stands for all."""

    why: str
    names: tuple[str, ...] | None
    rules: tuple[str, ...] | None


def gaps(section: Section, *, detail: bool = False) -> list[Gap]:
    """Each reason once. Differences are shown for the first rule; in detail, for all."""
    found: dict[str, tuple[dict[str, None], dict[str, None]]] = {}
    rows = section.standings
    for row in rows:
        marks = [(mark, mark.score) for mark in row.marks]
        marks += [(mark, mark.behind) for mark in row.marks[: None if detail else 1] if mark.behind is not None]
        for mark, estimate in marks:
            why = "" if _has_interval(estimate) else visible(estimate.why).strip().rstrip(".")
            if why:
                names, rules = found.setdefault(why, ({}, {}))
                names[row.name] = rules[mark.rule] = None
    every_rule = {mark.rule for row in rows for mark in row.marks}
    return [
        Gap(
            why,
            None if len(names) == len(rows) > 1 else (*names,),
            None if len(rules) == len(every_rule) else (*rules,),
        )
        for why, (names, rules) in found.items()
    ]


def reasons(section: Section, *, detail: bool = False) -> tuple[str, ...]:
    """Why intervals are missing, a sentence for each reason."""
    return tuple(
        f"No interval for {'any predictor' if gap.names is None else listed(map(plain, gap.names))}"
        f"{'' if gap.rules is None else ' under ' + listed(map(plain, gap.rules))}: {gap.why}."
        for gap in gaps(section, detail=detail)
    )


def size(results: Results, section: Section) -> str:
    """The sentence below the table of a group that says how large it is."""
    return f"{plain(results.by or 'group')} {plain(section.group or '')}: {number_of(section.cases, 'case')}."


def sections(results: Results) -> tuple[Section, ...]:
    """All cases, then the groups."""
    return results.overall, *results.groups


def _basis(results: Results) -> str:
    compared = "" if results.compared == results.cases else f", {count(results.compared)} of them compared"
    by = f" by {plain(results.weight)}" if results.weight else ""
    weights = f", weighted{by}" if results.weighted else ", all of the same weight"
    return f"Lower is better; {classes(results)}, {number_of(results.cases, 'case')}{compared}{weights}."


def classes(results: Results) -> str:
    """How many classes there are."""
    many = f"{int(results.classes):,}" if results.classes.isdecimal() else visible(results.classes)
    return "classes per case" if results.classes == "per case" else f"{many} classes"


def _intervals(results: Results) -> list[str]:
    marks = [mark for s in sections(results) for row in s.standings for mark in row.marks]
    if not any(_has_interval(e) for mark in marks for e in (mark.score, mark.behind)):
        return []
    method = visible(results.method).strip().rstrip(".")
    return [f"Intervals are at {percent(results.level)}{': ' if method else ''}{method}."]


def _penalty(results: Results) -> str:
    if not any(row.invalid for s in sections(results) for row in s.standings):
        return "No list is invalid, so none pays a penalty."
    if results.penalty is None:
        return "Invalid lists pay the penalty that is the default of each rule."
    return f"Invalid lists pay a penalty of {results.penalty:g}."


def _policy(results: Results) -> str:
    said = _POLICIES.get(results.missing, visible(results.missing))
    for what, counts in (
        ("filled in", {plain(o.name): o.filled for o in results.origins if o.filled}),
        ("left out", {plain(o.name): o.left_out for o in results.origins if o.left_out}),
    ):
        if counts:
            said += f"; {what}: {listed(f'{name} {count(n)}' for name, n in counts.items())}"
    return said + "."


def read_in(origin: Origin) -> list[str]:
    """The units in which numbers were read, where these are no probabilities."""
    return [name.removeprefix(UNITS) for name, n in origin.repairs.items() if n and name.startswith(UNITS)]


def repaired(origin: Origin) -> dict[str, int]:
    """What was repaired, and in how many cases."""
    return {name: n for name, n in origin.repairs.items() if n and not name.startswith(UNITS)}


def _repaired(name: str, repairs: Mapping[str, int]) -> str:
    done = listed(f"{plain(repair)} ({number_of(n, 'case')})" for repair, n in repairs.items() if n)
    return f"Repaired in {plain(name)}: {done}."


def _has_interval(estimate: Estimate | None) -> bool:
    return estimate is not None and estimate.low is not None and estimate.high is not None
