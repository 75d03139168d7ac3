"""What stands below a leaderboard: what was compared and what was done to it, a sentence each.

What anytime-valid comparisons say, in one set of sentences for tables, pages and figures.

Anytime-valid comparisons as a table, with a sentence for each that says what may be concluded.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from toplist.inference.pairwise import verdicts
from toplist.inference.results import Comparison, ConfidenceSet, Estimate, Group, Pair, SequentialPath, SourceSummary
from toplist.report.columns import Column, TextTable
from toplist.report.numbers import spans
from toplist.report.text import count, listed, noun, number_of, percent, plain, visible

_FAR = 10  # times the units there are: beyond it, what it would take is a guess at nothing
UNITS = "units: "  # how numbers were read, which is no repair
_POLICIES = {
    "error": "No prediction is missing",
    "common": "Only cases that every model has are compared",
    "pairwise": "Each model is scored on the cases it has, and compared on those that both have",
    "reject": "A missing prediction counts as an empty list",
}


def notes(results: Comparison) -> tuple[str, ...]:
    """The sentences below the main table."""
    found = [_basis(results), *_intervals(results), _penalty(results), _policy(results), *_unranked(results)]
    found += [f"{plain(o.name)} was read in {plain(units)} units." for o in results.origins for units in read_in(o)]
    found += [_repaired(o.name, done) for o in results.origins if (done := repaired(o))]
    if any(results.truth_repairs.values()):
        found.append(_repaired("the truth", results.truth_repairs))
    if any(mark.infinite for s in sections(results) for row in s.rows for mark in row.scores.values()):
        found.append("A mean over infinite scores is infinite, and ranks after finite ones.")
    return (*found, *reasons(results.overall), *_sure(results), *_members(results.confidence_set))


def warnings(results: Comparison) -> tuple[str, ...]:
    """Why the board may not be right, a sentence each."""
    return tuple(f"Warning: {listed(map(plain, one.models))}: {visible(one.sentence)}" for one in results.warnings)


def _unranked(results: Comparison) -> list[str]:
    """Who has too few cases to be ranked."""
    who = [row for row in results.overall.rows if row.rank is None]
    if not who or results.min_cases is None:
        return []
    told = listed(f"{plain(row.name)} ({count(row.cases)})" for row in who)
    return [f"Not ranked, with fewer than {number_of(results.min_cases, 'compared case')}: {told}."]


def _sure(results: Comparison) -> list[str]:
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
    if not first.extra_units:
        return []
    return [f"{plain(first.a)} and {plain(first.b)} are not told apart; {needed(first.extra_units, unit, units)}."]


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
        return [f"No confidence set for the best in {plain(found.rule)}: {visible(found.reason)}."]
    who = listed(plain(name) for name in found.members)
    which = f"The confidence set of the best in {plain(found.rule)} at {percent(found.level)}"
    return [f"{which}: {who} ({visible(found.method)})."]


@dataclass(frozen=True, slots=True)
class ScoreGap:
    """Why intervals are missing, for which models and under which rules; None stands for all."""

    why: str
    names: tuple[str, ...] | None
    rules: tuple[str, ...] | None


def gaps(section: Group, *, detail: bool = False) -> list[ScoreGap]:
    """Each reason once. Differences are shown for the first rule; in detail, for all."""
    found: dict[str, tuple[dict[str, None], dict[str, None]]] = {}
    rows = section.rows
    for row in rows:
        own = list(row.scores.values())
        marks = [(mark, mark.mean) for mark in own]
        marks += [(mark, mark.difference) for mark in own[: None if detail else 1] if mark.difference is not None]
        for mark, estimate in marks:
            why = "" if _has_interval(estimate) else visible(estimate.reason).strip().rstrip(".")
            if why:
                names, rules = found.setdefault(why, ({}, {}))
                names[row.name] = rules[mark.rule] = None
    every_rule = {mark.rule for row in rows for mark in row.scores.values()}
    return [
        ScoreGap(
            why,
            None if len(names) == len(rows) > 1 else (*names,),
            None if len(rules) == len(every_rule) else (*rules,),
        )
        for why, (names, rules) in found.items()
    ]


def reasons(section: Group, *, detail: bool = False) -> tuple[str, ...]:
    """Why intervals are missing, a sentence for each reason."""
    return tuple(
        f"No interval for {'any model' if gap.names is None else listed(map(plain, gap.names))}"
        f"{'' if gap.rules is None else ' under ' + listed(map(plain, gap.rules))}: {gap.why}."
        for gap in gaps(section, detail=detail)
    )


def size(results: Comparison, section: Group) -> str:
    """The sentence below the table of a group that says how large it is."""
    return f"{plain(results.by or 'group')} {plain(section.group or '')}: {number_of(section.cases, 'case')}."


def sections(results: Comparison) -> tuple[Group, ...]:
    """All cases, then the groups."""
    return results.overall, *results.groups


def _basis(results: Comparison) -> str:
    compared = "" if results.compared == results.cases else f", {count(results.compared)} of them compared"
    by = f" by {plain(results.weight)}" if results.weight else ""
    weights = f", weighted{by}" if results.weighted else ", all of the same weight"
    return f"Lower is better; {classes(results)}, {number_of(results.cases, 'case')}{compared}{weights}."


def classes(results: Comparison) -> str:
    """How many classes there are."""
    many = f"{int(results.classes):,}" if results.classes.isdecimal() else visible(results.classes)
    return "classes per case" if results.classes == "per case" else f"{many} classes"


def _intervals(results: Comparison) -> list[str]:
    marks = [mark for s in sections(results) for row in s.rows for mark in row.scores.values()]
    if not any(_has_interval(e) for mark in marks for e in (mark.mean, mark.difference)):
        return []
    method = visible(results.method).strip().rstrip(".")
    return [f"Intervals are at {percent(results.level)}{': ' if method else ''}{method}."]


def _penalty(results: Comparison) -> str:
    if not any(row.invalid for s in sections(results) for row in s.rows):
        return "No list is invalid, so none pays a penalty."
    if results.penalty is None:
        return "Invalid lists pay the penalty that is the default of each rule."
    return f"Invalid lists pay a penalty of {results.penalty:g}."


def _policy(results: Comparison) -> str:
    said = _POLICIES.get(results.missing, visible(results.missing))
    for what, counts in (
        ("filled in", {plain(o.name): o.filled for o in results.origins if o.filled}),
        ("left out", {plain(o.name): o.left_out for o in results.origins if o.left_out}),
    ):
        if counts:
            said += f"; {what}: {listed(f'{name} {count(n)}' for name, n in counts.items())}"
    return said + "."


def read_in(origin: SourceSummary) -> list[str]:
    """The units in which numbers were read, where these are no probabilities."""
    return [name.removeprefix(UNITS) for name, n in origin.repairs.items() if n and name.startswith(UNITS)]


def repaired(origin: SourceSummary) -> dict[str, int]:
    """What was repaired, and in how many cases."""
    return {name: n for name, n in origin.repairs.items() if n and not name.startswith(UNITS)}


def _repaired(name: str, repairs: Mapping[str, int]) -> str:
    done = listed(f"{plain(repair)} ({number_of(n, 'case')})" for repair, n in repairs.items() if n)
    return f"Repaired in {plain(name)}: {done}."


def _has_interval(estimate: Estimate | None) -> bool:
    return estimate is not None and estimate.low is not None and estimate.high is not None


T = TypeVar("T")
_ASSUMED = {
    "case": "All this takes for granted that the outcome of each case is known before the next prediction is made.",
    "moment": "Cases share moments, so that a step is a moment, with the mean of its differences. All this takes for "
    "granted that the outcomes of each moment are known before the predictions of the next are made.",
}


def assumed(paths: Sequence[SequentialPath]) -> str:
    """What is taken for granted, and by which steps the paths go."""
    units = dict.fromkeys(path.unit for path in paths) or {"case": None}
    return " ".join(_ASSUMED[unit] for unit in units)


def ending(path: SequentialPath) -> Estimate:
    """The mean difference after all cases, with the interval that holds however often one looks."""
    if not path.mean:
        return Estimate(math.nan, reason=path.reason or "there are no cases")
    low, high = (path.low[-1], path.high[-1]) if path.low else (None, None)
    return Estimate(path.mean[-1], low, high, path.reason)


def ended(path: SequentialPath, called: Callable[[str], T], rule: str, value: str, between: str = "") -> list[T | str]:
    """Where the path ends, in parts of a sentence: names as `called` writes them, the value `between` two ends."""
    return [
        *(f"after {number_of(path.at[-1], path.unit)}, the mean {rule} score of ", called(path.candidate)),
        *(" minus that of ", called(path.baseline), f" is {value}"),
        f", between {between} however often one looks" if between else "",
    ]


def findings(path: SequentialPath, called: Callable[[str], T]) -> list[list[T | str]]:
    """What was shown and when, in parts of sentences: who was better at some time, and who on average."""
    a, b = path.candidate, path.baseline
    found = [
        _shown(when, path.unit, called(one), called(other), "at some time")
        for one, other, when in ((a, b, path.shown_better), (b, a, path.shown_worse))
        if when is not None
    ]
    if path.separated is not None:
        mean = path.mean[min(bisect_left(path.at, path.separated), len(path.at) - 1)]
        better, other = (a, b) if mean < 0 else (b, a)
        found.append(_shown(path.separated, path.unit, called(better), called(other), "on average"))
    return found or [
        ["no difference to ", called(b), f" is shown in {number_of(path.at[-1] if path.at else 0, path.unit)}"]
    ]


def reason(path: SequentialPath) -> str:
    """Why nothing more may be said, without the full stop; or nothing."""
    return visible(path.reason).strip().rstrip(".")


def _shown(when: int, unit: str, better: T, other: T, how: str) -> list[T | str]:
    return [f"after {number_of(when, unit)} ", better, " was shown to be better than ", other, f" {how}"]


def paths_table(paths: Sequence[SequentialPath]) -> TextTable:
    """All candidates against one baseline under one rule."""
    first, moments = paths[0], any(path.unit == "moment" for path in paths)
    columns = (
        Column("candidate", "left", essential=True, heading=True),
        Column("cases"),
        *([Column("moments")] if moments else []),
        Column(f"mean difference, {percent(first.level)}", "left", essential=True),
        Column("e better"),
        Column("e worse"),
    )
    rows = tuple(
        (
            *(plain(path.candidate), count(path.cases), *([count(path.at[-1])] if moments else [])),
            *(shown, e_value(path.log_evidence_better[-1]), e_value(path.log_evidence_worse[-1])),
        )
        for path, shown in zip(paths, spans(list(map(ending, paths)), signed=True), strict=True)
    )
    title = f"Against {plain(first.baseline)} by {plain(first.rule)}, however often one looks"
    said = tuple(sentence for path in paths for sentence in conclusions(path))
    return TextTable(title, columns, rows, (*said, *_explained(first.level), assumed(paths)))


def conclusions(path: SequentialPath) -> list[str]:
    """What may be said of the candidate, and why not more."""
    who, why = plain(path.candidate), reason(path)
    said = "; ".join("".join(parts) for parts in findings(path, plain))
    return [f"{who}: {said}.", *([f"{who}: {why}."] if why else [])]


def e_value(log: float) -> str:
    """An e-value from its logarithm, however large.

    >>> e_value(0.0), e_value(2000.0), e_value(math.inf)
    ('1', '1e+869', 'inf')
    """
    if math.isinf(log) or abs(log) < 600:
        return f"{math.exp(log):.3g}"
    return f"1e{log / math.log(10):+.0f}"


def _explained(level: float) -> list[str]:
    return [
        f"Below zero the candidate is better; an e-value of {1 / (1 - level):.4g} shows it at {percent(level)}.",
    ]
