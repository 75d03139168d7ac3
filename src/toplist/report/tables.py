"""Results as tables of text, before anything is drawn.

Every number of a comparison, in tables that are wider than a page.

What to leave out where a table is wider than the page.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from toplist.inference.results import Comparison, Estimate, Group, ModelRow, RuleScore, SourceSummary
from toplist.report.columns import Column, TextTable
from toplist.report.numbers import MOST, NOTHING, decimals, excludes_zero, fixed, rate, small, spans, value_of
from toplist.report.statements import notes, paths_table, reasons, sections, size, warnings
from toplist.report.text import cells, count, listed, percent, plain, shorten, visible

RULE = 30  # characters of a rule's name in a header
REFERENCE = 16


Filled = tuple[Column, list[str]]


def tables(results: Comparison) -> list[TextTable]:
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


def once(tables: Iterable[TextTable]) -> list[TextTable]:
    """The tables, without what was said below an earlier one."""
    said: set[str] = set()
    found = []
    for table in tables:
        columns = tuple(replace(column, note="" if column.note in said else column.note) for column in table.columns)
        found.append(replace(table, columns=columns, notes=tuple(note for note in table.notes if note not in said)))
        said.update(table.sentences)
    return found


def title(results: Comparison, section: Group) -> str:
    """What the section is about, such as `subject: algebra`."""
    return "overall" if section.group is None else f"{plain(results.by or 'group')}: {plain(section.group)}"


def table(title: str, section: Group, filled: list[Filled]) -> TextTable:
    """Columns side by side, after those that every table begins with."""
    filled = [*names(section.standings), *filled]
    return TextTable(
        title,
        tuple(column for column, _ in filled),
        tuple(zip(*(found for _, found in filled), strict=True)),
        leaders=frozenset(i for i, row in enumerate(section.standings) if row.rank == 1),
    )


def noted(table: TextTable, notes: Iterable[str]) -> TextTable:
    """The table with these notes."""
    return replace(table, notes=tuple(notes))


def names(rows: Iterable[ModelRow]) -> list[Filled]:
    """Who came where."""
    return [
        (Column("#", essential=True), [NOTHING if row.rank is None else count(row.rank) for row in rows]),
        (Column("model", "left", essential=True, heading=True), [plain(row.name) for row in rows]),
    ]


def listing(results: Comparison, rows: Iterable[ModelRow]) -> list[Filled]:
    """What people know, and what the lists are like."""
    rows = list(rows)
    return [(Column(name), [of(row) for row in rows]) for name, of in _known(results).items()]


def _known(results: Comparison) -> dict[str, Callable[[ModelRow], str]]:
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


def alike(results: Comparison) -> dict[str, str]:
    """The columns that say the same of several models everywhere, with what they say; accuracy is always shown."""
    rows = [row for s in sections(results) for row in s.standings]
    if len(results.overall.standings) < 2:
        return {}
    found = {name: {of(row) for row in rows} for name, of in _known(results).items() if name != "accuracy"}
    return {name: next(iter(values)) for name, values in found.items() if len(values) == 1}


def _alike(results: Comparison) -> tuple[str, ...]:
    """Said once instead; that no list is invalid has its own sentence."""
    same = {name: value for name, value in alike(results).items() if name != "invalid" or value != rate(0.0)}
    said = listed(f"{name} {value}" for name, value in same.items())
    return (f"The same for all: {said}.",) if same else ()


def _columns(results: Comparison, section: Group) -> list[Filled]:
    """The columns of the main table; the tables of groups have the same ones."""
    rows = section.standings
    everywhere = [row for s in sections(results) for row in s.standings]
    firsts = [row.marks[0] for row in rows]

    def known(value: Callable[[RuleScore], object]) -> bool:
        return any(value(row.marks[0]) is not None for row in everywhere)

    found: list[Filled] = []
    if results.missing == "pairwise" or any(len({row.cases for row in s.standings}) > 1 for s in sections(results)):
        found.append((Column("cases"), [count(row.cases) for row in rows]))
    if results.missing == "pairwise":
        note = (
            "relative decides the order: the geometric mean of the ratios of mean scores to all models, itself "
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


def _skills(results: Comparison, marks: list[RuleScore], known: bool) -> list[Filled]:
    found: list[Filled] = []
    if known:
        note = "skill is one minus the mean score over that of the empty list."
        found.append((Column("skill", note=note), [fixed(value_of(mark.skill), 3) for mark in marks]))
    if results.reference is not None:
        header = f"vs {plain(results.reference, REFERENCE)}"
        note = f"{header} is one minus the mean score over that of {plain(results.reference)}, on the cases of both."
        found.append((Column(header, note=note), [fixed(value_of(mark.reference_skill), 3) for mark in marks]))
    return found


_BEHIND = "behind is the mean difference to the leader, case by case, with its interval; * marks one without zero."


def details(results: Comparison) -> list[TextTable]:
    """One table per rule and one of the lists, for all cases and for each group; then where the lists came from."""
    found = _section(results, results.overall)
    found[-1] = noted(found[-1], notes(results))
    found[0] = replace(found[0], warnings=warnings(results))
    for section in results.groups:
        group = _section(results, section)
        found += [*group[:-1], noted(group[-1], (size(results, section), *reasons(section, detail=True)))]
    found += [_pairs(results, rule) for rule in results.rules if results.pairs]
    if results.paths:
        found.append(paths_table(results.paths))
    return once([*found, _sources(results.origins)])


def _section(results: Comparison, section: Group) -> list[TextTable]:
    rows = section.standings
    about = title(results, section)
    found = [
        table(f"{about}, {plain(rule, RULE)}", section, _numbers([row.marks[i] for row in rows]))
        for i, rule in enumerate(results.rules)
    ]
    counts = [
        (Column("cases"), [count(row.cases) for row in rows]),
        (Column("missing"), [count(row.missing) for row in rows]),
        *listing(results, rows),
        (Column("invalid lists"), [count(row.invalid) for row in rows]),
    ]
    return [*found, table(f"{about}, lists", section, counts)]


def _numbers(marks: Sequence[RuleScore]) -> list[Filled]:
    behind = [mark.behind or Estimate(float("nan")) for mark in marks]
    stars = ["*" if excludes_zero(mark.behind) else " " for mark in marks]
    differences = _fixed([e.value for e in behind], signed=True)
    return [
        (Column("mean", essential=True), _fixed([mark.score.value for mark in marks])),
        (Column("low"), _fixed([mark.score.low for mark in marks])),
        (Column("high"), _fixed([mark.score.high for mark in marks])),
        (Column("behind", note=_BEHIND), [x + star for x, star in zip(differences, stars, strict=True)]),
        (Column("from"), _fixed([e.low for e in behind], signed=True)),
        (Column("to"), _fixed([e.high for e in behind], signed=True)),
        (Column("unpenalised"), _fixed([mark.unpenalised for mark in marks])),
        (Column("infinite"), [count(mark.infinite) for mark in marks]),
        (Column("mean of finite"), _fixed([mark.finite for mark in marks])),
        (Column("skill", "left"), spans([mark.skill for mark in marks])),
        (Column("vs reference", "left"), spans([mark.reference_skill for mark in marks])),
        (Column("relative", "left"), spans([mark.relative for mark in marks])),
    ]


def _fixed(values: Sequence[float | None], *, signed: bool = False) -> list[str]:
    return [fixed(x, MOST, signed=signed) for x in values]


def _pairs(results: Comparison, rule: str) -> TextTable:
    """Every two models, how far apart they are and how sure that is."""
    found = [pair for pair in results.pairs if pair.rule == rule]
    note = (
        "difference is the mean score of the first minus that of the second: below zero, the first is better. Holm is "
        f"its p value, adjusted for all tested pairs under the rule. further {results.unit}s would separate the two at "
        f"{percent(results.level)} 4 times in 5, if difference and spread stay as they are."
    )
    columns = (
        Column("first", "left", essential=True, heading=True),
        Column("second", "left", essential=True, heading=True),
        Column("cases"),
        Column("difference", "left", essential=True, note=note),
        Column("Holm"),
        Column(f"further {results.unit}s"),
    )
    cells = spans([pair.difference for pair in found], signed=True)
    rows = tuple(
        (
            *(plain(pair.a), plain(pair.b), count(pair.cases), cell),
            small(pair.adjusted),
            NOTHING if pair.more is None else count(pair.more),
        )
        for pair, cell in zip(found, cells, strict=True)
    )
    return TextTable(f"pairs, {plain(rule, RULE)}", columns, rows)


def _sources(origins: Sequence[SourceSummary]) -> TextTable:
    columns = (
        Column("model", "left", essential=True, heading=True),
        Column("layout", "left", essential=True),
        *(Column(header) for header in ("cases", "filled in", "left out")),
        Column("repairs", "left"),
        Column("source", "left"),
        Column("read as", "left"),
    )
    rows = tuple(
        (
            *(plain(o.name), plain(o.layout, RULE)),
            *(count(n) for n in (o.cases, o.filled, o.left_out)),
            ", ".join(f"{plain(name)} {count(n)}" for name, n in o.repairs.items()) or NOTHING,
            plain(o.source),
            visible(o.reading) or NOTHING,
        )
        for o in origins
    )
    return TextTable("sources", columns, rows)


GAP = 2  # cells between columns
_NAME = 16  # cells that names keep before columns go, or a quarter of the page
_LEAST = 9  # cells that names keep before even an essential column goes
_ALWAYS = 3  # columns that never go


def widths(table: TextTable) -> list[int]:
    """The cells that each column takes."""
    return [max(map(cells, (column.header, *(row[i] for row in table.rows)))) for i, column in enumerate(table.columns)]


def fit(tables: Iterable[TextTable], width: int | None) -> list[TextTable]:
    """The tables without the columns that there is no room for, and a note that says which.

    Names are shortened before a column is left out, to no less than a quarter of the page. Of the columns that are not
    essential those that come first have precedence.
    """
    return once(_fit(table, width) for table in tables)


def _fit(table: TextTable, width: int | None) -> TextTable:
    own = widths(table)
    if width is None or sum(own) + GAP * (len(own) - 1) <= width:
        return table
    names = [i for i, column in enumerate(table.columns) if column.heading] or [0]
    kept = _kept(table.columns, own, names, width)
    room = max(_room(own, kept, names, width), *(cells(table.columns[i].header) for i in names))
    rows = tuple(tuple(shorten(row[i], room) if i in names else row[i] for i in kept) for row in table.rows)
    dropped = [column.header for i, column in enumerate(table.columns) if i not in kept]
    note = (f"Left out for want of room: {', '.join(dropped)}.",) if dropped else ()
    columns = tuple(table.columns[i] for i in kept)
    return replace(table, columns=columns, rows=rows, notes=table.notes + note)


def _kept(columns: tuple[Column, ...], own: list[int], names: list[int], width: int) -> list[int]:
    """The columns that there is room for."""
    longest = max(own[i] for i in names)
    kept = [i for i, column in enumerate(columns) if column.essential]
    while len(kept) > _ALWAYS and _room(own, kept, names, width) < min(longest, _LEAST):
        kept.pop()
    for i, column in enumerate(columns):
        if not column.essential and _room(own, [*kept, i], names, width) >= min(longest, max(_NAME, width // 4)):
            kept.append(i)
    return sorted(kept)


def _room(own: list[int], kept: list[int], names: list[int], width: int) -> int:
    """What the other columns leave for each column of names."""
    return (width - sum(own[i] for i in kept if i not in names) - GAP * (len(kept) - 1)) // len(names)
