"""What stands below a leaderboard: what was compared and what was done to it, a sentence each."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from toplist.ranking.results import ConfidenceSet, Estimate, Pair, Results, Section
from toplist.report.escape import plain, visible
from toplist.report.numbers import count, percent

_NAMED = 5  # names in a sentence, before the others are counted

_POLICIES = {
    "error": "No prediction is missing",
    "common": "Only cases that every predictor has are compared",
    "pairwise": "Each predictor is scored on the cases it has, and compared on those that both have",
    "reject": "A missing prediction counts as an empty list",
}


def notes(results: Results) -> tuple[str, ...]:
    """The sentences below the main table."""
    found = [_basis(results), *_intervals(results), _penalty(results), _policy(results)]
    found += [_repaired(o.name, o.repairs) for o in results.origins if any(o.repairs.values())]
    if any(mark.infinite for s in sections(results) for row in s.standings for mark in row.marks):
        found.append("A mean over infinite scores is infinite, and ranks after finite ones.")
    return (*found, *reasons(results.overall), *_sure(results), *_members(results.confidence_set))


def _sure(results: Results) -> list[str]:
    """How many pairs are told apart, and what it would take where the first two are not."""
    found = [pair for pair in results.pairs if pair.rule == results.rules[0]]
    if len(found) < 2:
        return _to_separate(results, found)
    far = sum(pair.adjusted is not None and pair.adjusted <= 1 - results.level for pair in found)
    rule, level = plain(results.rules[0]), percent(results.level)
    return [
        f"{count(far)} of {count(len(found))} pairs differ surely in {rule} (Holm, {level}).",
        *_to_separate(results, found),
    ]


def _to_separate(results: Results, found: list[Pair]) -> list[str]:
    if not found or not found[0].more:
        return []
    a, b = (plain(name) for name in (found[0].a, found[0].b))
    more = f"{count(found[0].more)} {results.unit}{'' if found[0].more == 1 else 's'}"
    return [f"{a} and {b} are not told apart; about {more} more would do it 4 times in 5."]


def _members(found: ConfidenceSet | None) -> list[str]:
    if found is None:
        return []
    if not found.members:
        return [f"No confidence set for the best in {plain(found.rule)}: {visible(found.why)}."]
    who = _listed(plain(name) for name in found.members)
    among = "among " if len(found.members) > 1 else ""
    return [f"The best in {plain(found.rule)} is {among}{who} at {percent(found.level)} ({visible(found.method)})."]


def reasons(section: Section, *, detail: bool = False) -> tuple[str, ...]:
    """Why intervals are missing: each reason once, with the predictors and the rules that it holds for.

    Differences are shown for the first rule; in detail, for all.
    """
    found: dict[str, tuple[dict[str, None], dict[str, None]]] = {}
    for row in section.standings:
        marks = [(mark, mark.score) for mark in row.marks]
        marks += [(mark, mark.behind) for mark in row.marks[: None if detail else 1] if mark.behind is not None]
        for mark, estimate in marks:
            why = "" if _has_interval(estimate) else visible(estimate.why).strip().rstrip(".")
            if why:
                names, rules = found.setdefault(why, ({}, {}))
                names[plain(row.name)] = rules[plain(mark.rule)] = None
    rows = section.standings
    every_rule = {plain(mark.rule) for row in rows for mark in row.marks}
    return tuple(
        f"No interval for {'any predictor' if len(names) == len(rows) > 1 else _listed(names)}"
        f"{'' if len(rules) == len(every_rule) else ' under ' + _listed(rules)}: {why}."
        for why, (names, rules) in found.items()
    )


def size(section: Section) -> str:
    """The sentence below the table of a group that says how large it is."""
    return f"{plain(section.group or '')} has {cases(section.cases)}."


def sections(results: Results) -> tuple[Section, ...]:
    """All cases, then the groups."""
    return results.overall, *results.groups


def cases(n: int) -> str:
    """So many cases.

    >>> cases(1), cases(1200)
    ('1 case', '1,200 cases')
    """
    return f"{count(n)} case{'' if n == 1 else 's'}"


def _basis(results: Results) -> str:
    compared = "" if results.compared == results.cases else f", {count(results.compared)} of them compared"
    by = f" by {plain(results.weight)}" if results.weight else ""
    weights = f", weighted{by}" if results.weighted else ", all of the same weight"
    return f"Lower is better; {visible(results.classes)} classes, {cases(results.cases)}{compared}{weights}."


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
            said += f"; {what}: {_listed(f'{name} {count(n)}' for name, n in counts.items())}"
    return said + "."


def _repaired(name: str, repairs: Mapping[str, int]) -> str:
    done = _listed(f"{plain(repair)} ({cases(n)})" for repair, n in repairs.items() if n)
    return f"Repaired in {plain(name)}: {done}."


def _listed(items: Iterable[str]) -> str:
    found = list(items)
    more = len(found) - _NAMED
    return ", ".join(found) if more <= 1 else ", ".join(found[:_NAMED]) + f" and {count(more)} more"


def _has_interval(estimate: Estimate | None) -> bool:
    return estimate is not None and estimate.low is not None and estimate.high is not None
