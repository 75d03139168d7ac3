"""Results as tables of text, before anything is drawn."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

from toplist.ranking.results import Mark, Results, Section, Standing
from toplist.report.columns import Column, Table
from toplist.report.notes import notes, reasons, sections, size, warnings
from toplist.report.numbers import NOTHING, decimals, excludes_zero, fixed, rate, spans, value_of
from toplist.report.paths import paths_table
from toplist.words.counts import count
from toplist.words.names import plain
from toplist.words.series import listed

RULE = 30  # characters of a rule's name in a header
REFERENCE = 16


Filled = tuple[Column, list[str]]


def tables(results: Results) -> list[Table]:
    """The main table with its notes, one for each group, and what may be said at any time."""
    order = "relative skill in " if results.missing == "pairwise" else ""
    main = table(
        f"Leaderboard by {order}{plain(results.rules[0])}", results.overall, _columns(results, results.overall)
    )
    found = [replace(noted(main, (*notes(results), *_alike(results))), warnings=warnings(results))]
    for section in results.groups:
        group = table(title(results, section), section, _columns(results, section))
        found.append(noted(group, (size(results, section), *reasons(section))))
    if results.paths:
        found.append(paths_table(results.paths))
    return once(found)


def once(tables: Iterable[Table]) -> list[Table]:
    """The tables, without what was said below an earlier one."""
    said: set[str] = set()
    found = []
    for table in tables:
        columns = tuple(replace(column, note="" if column.note in said else column.note) for column in table.columns)
        found.append(replace(table, columns=columns, notes=tuple(note for note in table.notes if note not in said)))
        said.update(table.sentences)
    return found


def title(results: Results, section: Section) -> str:
    """What the section is about, such as `subject: algebra`."""
    return "overall" if section.group is None else f"{plain(results.by or 'group')}: {plain(section.group)}"


def table(title: str, section: Section, filled: list[Filled]) -> Table:
    """Columns side by side, after those that every table begins with."""
    filled = [*names(section.standings), *filled]
    return Table(
        title,
        tuple(column for column, _ in filled),
        tuple(zip(*(found for _, found in filled), strict=True)),
        leaders=frozenset(i for i, row in enumerate(section.standings) if row.rank == 1),
    )


def noted(table: Table, notes: Iterable[str]) -> Table:
    """The table with these notes."""
    return replace(table, notes=tuple(notes))


def names(rows: Iterable[Standing]) -> list[Filled]:
    """Who came where."""
    return [
        (Column("#", essential=True), [NOTHING if row.rank is None else count(row.rank) for row in rows]),
        (Column("predictor", "left", essential=True, heading=True), [plain(row.name) for row in rows]),
    ]


def listing(results: Results, rows: Iterable[Standing]) -> list[Filled]:
    """What people know, and what the lists are like."""
    rows = list(rows)
    return [(Column(name), [of(row) for row in rows]) for name, of in _known(results).items()]


def _known(results: Results) -> dict[str, Callable[[Standing], str]]:
    """What a row says beside its scores, by column. Of no more classes than k, all are among the first k."""
    sizes = sorted({k for s in sections(results) for row in s.standings for k in row.top_k_error})
    most = int(results.classes) if results.classes.isdecimal() else None
    return {
        "accuracy": lambda row: rate(row.accuracy),
        **{
            f"top-{k} error": lambda row, k=k: rate(row.top_k_error.get(k))  # type: ignore[misc]
            for k in sizes
            if most is None or k < most
        },
        "coverage": lambda row: rate(row.coverage),
        "mean k": lambda row: fixed(row.mean_size, 2),
        "mean mass": lambda row: rate(row.mean_mass),
        "invalid": lambda row: rate(row.invalid_rate),
    }


def alike(results: Results) -> dict[str, str]:
    """The columns that say the same of several predictors everywhere, with what they say; accuracy is always shown."""
    rows = [row for s in sections(results) for row in s.standings]
    if len(results.overall.standings) < 2:
        return {}
    found = {name: {of(row) for row in rows} for name, of in _known(results).items() if name != "accuracy"}
    return {name: next(iter(values)) for name, values in found.items() if len(values) == 1}


def _alike(results: Results) -> tuple[str, ...]:
    """Said once instead; that no list is invalid has its own sentence."""
    same = {name: value for name, value in alike(results).items() if name != "invalid" or value != rate(0.0)}
    said = listed(f"{name} {value}" for name, value in same.items())
    return (f"The same for all: {said}.",) if same else ()


def _columns(results: Results, section: Section) -> list[Filled]:
    """The columns of the main table; the tables of groups have the same ones."""
    rows = section.standings
    everywhere = [row for s in sections(results) for row in s.standings]
    firsts = [row.marks[0] for row in rows]

    def known(value: Callable[[Mark], object]) -> bool:
        return any(value(row.marks[0]) is not None for row in everywhere)

    found: list[Filled] = []
    if results.missing == "pairwise" or any(len({row.cases for row in s.standings}) > 1 for s in sections(results)):
        found.append((Column("cases"), [count(row.cases) for row in rows]))
    if results.missing == "pairwise":
        note = (
            "relative decides the order: the geometric mean of the ratios of mean scores to all predictors, itself "
            "included, on the cases of both; below 1 is better."
        )
        cells = spans([mark.relative for mark in firsts])
        found.append((Column("relative", "left", essential=True, note=note), cells))
    for i, rule in enumerate(results.rules):
        header = plain(rule, RULE)
        found.append((Column(header, "left", essential=not i), spans([row.marks[i].score for row in rows])))
        if not i and known(lambda mark: mark.behind):
            note = f"behind is the mean {header} difference to the leader, case by case"
            note += "; * marks an interval without zero." if known(lambda m: excludes_zero(m.behind) or None) else "."
            cells = spans([mark.behind for mark in firsts], signed=True)
            found.append((Column("behind", "left", essential=True, note=note), cells))
    found += _skills(results, firsts, known(lambda mark: mark.skill))
    same = alike(results)
    found += [(column, cells) for column, cells in listing(results, rows) if column.header not in same]
    if any(row.invalid for row in everywhere):
        digits = decimals(mark.score for mark in firsts)
        note = "unpenalised is the mean without the penalty for invalid lists."
        found.append((Column("unpenalised", note=note), [fixed(mark.unpenalised, digits) for mark in firsts]))
    for i, rule in enumerate(results.rules):
        if any(row.marks[i].infinite for row in everywhere):
            header = "infinite" if len(results.rules) == 1 else f"infinite {plain(rule, RULE)}"
            found.append((Column(header), [count(row.marks[i].infinite) for row in rows]))
    return found


def _skills(results: Results, marks: list[Mark], known: bool) -> list[Filled]:
    found: list[Filled] = []
    if known:
        note = "skill is one minus the mean score over that of the empty list."
        found.append((Column("skill", note=note), [fixed(value_of(mark.skill), 3) for mark in marks]))
    if results.reference is not None:
        header = f"vs {plain(results.reference, REFERENCE)}"
        note = f"{header} is one minus the mean score over that of {plain(results.reference)}, on the cases of both."
        found.append((Column(header, note=note), [fixed(value_of(mark.reference_skill), 3) for mark in marks]))
    return found
