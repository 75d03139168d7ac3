"""Results as tables of text, before anything is drawn.

Every number of a comparison, in tables that are wider than a page.

What to leave out where a table is wider than the page.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from toplist.inference.ranking import judge, significant
from toplist.inference.results import Comparison, Estimate, Group, ModelRow, Pair, RuleScore, SourceSummary
from toplist.report.numbers import MOST, NOTHING, decimals, fixed, rate, small, spans, value_of, whole_range
from toplist.report.statements import (
    FAR_LEAD,
    at_once,
    notes,
    paths_table,
    reasons,
    sections,
    size,
    stars,
    warnings,
)
from toplist.report.text import Column, TextTable, cells, count, listed, percent, plain, shorten, visible
from toplist.scoring.case_scores import Metric, metrics_for

RULE = 30  # characters of a rule's name in a header
BASELINE = 16


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
    return "overall" if section.group is None else f"{plain(results.group or 'group')}: {plain(section.group)}"


def table(title: str, section: Group, filled: list[Filled]) -> TextTable:
    """Columns side by side, after those that every table begins with."""
    filled = [*names(section.rows), *filled]
    return TextTable(
        title,
        tuple(column for column, _ in filled),
        tuple(zip(*(found for _, found in filled), strict=True)),
        leaders=leaders(section),
    )


def leaders(section: Group) -> frozenset[int]:
    """The rows in bold: no other model is significantly better."""
    ranks = [row.rank_interval for row in section.rows]
    return frozenset(i for i, found in enumerate(ranks) if found is not None and found[0] == 1)


def marked(results: Comparison, scores: Iterable[RuleScore]) -> list[bool]:
    """Which differences to the leader are significant."""
    return [
        score.difference is not None and significant(score.difference, score.adjusted_p, results.level)
        for score in scores
    ]


def rank_intervals(rows: Iterable[ModelRow]) -> list[str]:
    """What is known of the true ranks."""
    return [NOTHING if row.rank_interval is None else whole_range(*row.rank_interval) for row in rows]


def noted(table: TextTable, notes: Iterable[str]) -> TextTable:
    """The table with these notes."""
    return replace(table, notes=tuple(notes))


def names(rows: Iterable[ModelRow]) -> list[Filled]:
    """Who came where."""
    return [
        (Column("#", essential=True), [NOTHING if row.rank is None else count(row.rank) for row in rows]),
        (Column("model", "left", essential=True, heading=True), [plain(row.name) for row in rows]),
    ]


def shown_metrics(results: Comparison) -> list[Metric]:
    """The metrics that say something: of no more classes than k, all are among the first k."""
    most = int(results.classes) if results.classes.isdecimal() else None
    return [one for one in metrics_for(results.k) if one.k is None or most is None or one.k < most]


def metric_cell(metric: Metric, row: ModelRow) -> str:
    """What a row says under a metric."""
    value = value_of(row.metrics.get(metric.name))
    return rate(value) if metric.style == "share" else fixed(value, 2)


def listing(results: Comparison, rows: Iterable[ModelRow]) -> list[Filled]:
    """Accuracy and the other metrics."""
    rows = list(rows)
    return [(Column(one.heading), [metric_cell(one, row) for row in rows]) for one in shown_metrics(results)]


def alike(results: Comparison) -> dict[str, str]:
    """The columns that say the same of several models everywhere, with what they say; accuracy is always shown."""
    rows = [row for s in sections(results) for row in s.rows]
    if len(results.overall.rows) < 2:
        return {}
    found = {one.heading: {metric_cell(one, row) for row in rows} for one in shown_metrics(results)[1:]}
    return {name: next(iter(values)) for name, values in found.items() if len(values) == 1}


def _alike(results: Comparison) -> tuple[str, ...]:
    """Said once instead; that no list is invalid has its own sentence."""
    same = {name: value for name, value in alike(results).items() if name != "invalid" or value != rate(0.0)}
    said = listed(f"{name} {value}" for name, value in same.items())
    return (f"The same for all: {said}.",) if same else ()


def _columns(results: Comparison, section: Group) -> list[Filled]:
    """The columns of the main table; the tables of groups have the same ones."""
    rows = section.rows
    everywhere = [row for s in sections(results) for row in s.rows]
    firsts = [row.scores[results.rules[0]] for row in rows]

    def known(value: Callable[[RuleScore], object]) -> bool:
        return any(value(row.scores[results.rules[0]]) is not None for row in everywhere)

    found: list[Filled] = []
    if results.missing == "pairwise" or any(len({row.cases for row in s.rows}) > 1 for s in sections(results)):
        found.append((Column("cases"), [count(row.cases) for row in rows]))
    if results.missing == "pairwise":
        note = (
            "relative decides the order: the geometric mean of the ratios of mean scores to all models, itself "
            "included, on the cases of both; below 1 is better."
        )
        cells = spans([score.relative for score in firsts])
        found.append((Column("relative", "left", essential=True, note=note), cells))
        note = (
            "adjusted is the mean over all cases by two-way fixed effects, which assumes that models differ by the "
            "same amount on every case."
        )
        found.append((Column("adjusted", "left", note=note), spans([score.adjusted for score in firsts])))
    for i, rule in enumerate(results.rules):
        header = plain(rule, RULE)
        found.append((Column(header, "left", essential=not i), spans([row.scores[rule].mean for row in rows])))
        if not i and known(lambda score: score.difference):
            held = at_once(results, section, rule)
            note = f"difference is the mean {header} score minus that of the leader, case by case{held}"
            note += f"; {stars(results)}." if any(marked(results, firsts)) else "."
            cells = spans([score.difference for score in firsts], signed=True, marked=marked(results, firsts))
            found += [(Column("difference", "left", essential=True, note=note), cells), *_ranks(results, rows)]
    found += _skills(results, firsts, known(lambda score: score.skill))
    same = alike(results)
    found += [(column, cells) for column, cells in listing(results, rows) if column.header not in same]
    if any(row.invalid for row in everywhere):
        digits = decimals(score.mean for score in firsts)
        note = "unpenalised is the mean without the penalty for invalid lists."
        found.append((Column("unpenalised", note=note), [fixed(score.unpenalised, digits) for score in firsts]))
    for rule in results.rules:
        if any(row.scores[rule].infinite for row in everywhere):
            header = "infinite" if len(results.rules) == 1 else f"infinite {plain(rule, RULE)}"
            found.append((Column(header), [count(row.scores[rule].infinite) for row in rows]))
    return found


def _ranks(results: Comparison, rows: Sequence[ModelRow]) -> list[Filled]:
    if len(results.overall.rows) < 2:
        return []
    note = (
        "ranks is the rank interval: 1 plus the number of models that are significantly better, to the number of "
        f"models less those that are significantly worse; at {percent(results.level)} all true ranks are in their "
        "intervals at once."
    )
    return [(Column("ranks", note=note), rank_intervals(rows))]


def _skills(results: Comparison, scores: list[RuleScore], known: bool) -> list[Filled]:
    found: list[Filled] = []
    if known:
        note = "skill is one minus the mean score over that of the empty list."
        found.append((Column("skill", note=note), [fixed(value_of(score.skill), 3) for score in scores]))
    if results.baseline is not None:
        header = f"vs {plain(results.baseline, BASELINE)}"
        note = f"{header} is one minus the mean score over that of {plain(results.baseline)}, on the cases of both."
        found.append((Column(header, note=note), [fixed(value_of(score.baseline_skill), 3) for score in scores]))
    return found


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
    return once([*found, _sources(results.sources)])


def _section(results: Comparison, section: Group) -> list[TextTable]:
    rows = section.rows
    about = title(results, section)
    found = [
        table(f"{about}, {plain(rule, RULE)}", section, _numbers(results, section, rule)) for rule in results.rules
    ]
    counts = [
        (Column("cases"), [count(row.cases) for row in rows]),
        (Column("missing"), [count(row.missing) for row in rows]),
        *_ranks(results, rows),
        *listing(results, rows),
        (Column("invalid lists"), [count(row.invalid) for row in rows]),
    ]
    return [*found, table(f"{about}, lists", section, counts)]


def _numbers(results: Comparison, section: Group, rule: str) -> list[Filled]:
    scores = [row.scores[rule] for row in section.rows]
    away = [score.difference or Estimate(float("nan")) for score in scores]
    note = (
        "difference is the mean score minus that of the leader, case by case"
        f"{at_once(results, section, rule)}; {stars(results)}. Holm is its p value, adjusted for these pairs."
    )
    marks = ["*" if one else " " for one in marked(results, scores)]
    differences = _fixed([e.value for e in away], signed=True)
    return [
        (Column("mean", essential=True), _fixed([score.mean.value for score in scores])),
        (Column("low"), _fixed([score.mean.low for score in scores])),
        (Column("high"), _fixed([score.mean.high for score in scores])),
        (Column("difference", note=note), [x + star for x, star in zip(differences, marks, strict=True)]),
        (Column("from"), _fixed([e.low for e in away], signed=True)),
        (Column("to"), _fixed([e.high for e in away], signed=True)),
        (Column("Holm"), [small(score.adjusted_p) for score in scores]),
        (Column("unpenalised"), _fixed([score.unpenalised for score in scores])),
        (Column("infinite"), [count(score.infinite) for score in scores]),
        (Column("mean of finite"), _fixed([score.finite for score in scores])),
        (Column("skill", "left"), spans([score.skill for score in scores])),
        (Column("vs baseline", "left"), spans([score.baseline_skill for score in scores])),
        (Column("relative", "left"), spans([score.relative for score in scores])),
        (Column("adjusted", "left"), spans([score.adjusted for score in scores])),
    ]


def _fixed(values: Sequence[float | None], *, signed: bool = False) -> list[str]:
    return [fixed(x, MOST, signed=signed) for x in values]


def _pairs(results: Comparison, rule: str) -> TextTable:
    """Every two models: their difference and its significance."""
    found = [pair for pair in results.pairs if pair.rule == rule]
    note = (
        "difference is the mean score of the first minus that of the second: below zero, the first is better"
        f"{at_once(results, results.overall, rule)}; {stars(results)}. Holm is its p value, adjusted for these pairs. "
        f"With as many extra {results.unit}s the difference would be significant 4 times in 5, if the true difference "
        "and spread are the observed ones."
    )
    columns = (
        Column("first", "left", essential=True, heading=True),
        Column("second", "left", essential=True, heading=True),
        Column("cases"),
        Column("difference", "left", essential=True, note=note),
        Column("Holm"),
        Column(f"extra {results.unit}s"),
        *([Column("lead", note=_LEAD)] if any(pair.lead is not None for pair in found) else []),
    )
    marks = [judge(pair, results.level).significant for pair in found]
    cells = spans([pair.simultaneous for pair in found], signed=True, marked=marks)
    rows = tuple(
        (
            *(plain(pair.a), plain(pair.b), count(pair.cases), cell),
            small(pair.adjusted_p),
            NOTHING if pair.extra_units is None else count(pair.extra_units),
            *([_lead(pair, mark)] if len(columns) > 6 else []),
        )
        for pair, cell, mark in zip(found, cells, marks, strict=True)
    )
    return TextTable(f"pairs, {plain(rule, RULE)}", columns, rows)


_LEAD = (
    "lead is what a significant difference adds up to over all cases, in units of the largest loss that one more case "
    "could bring to the better model."
)


def _lead(pair: Pair, marked: bool) -> str:
    if pair.lead is None or not marked:
        return NOTHING
    return f"{pair.lead:.2g}" if pair.lead < FAR_LEAD else f">{FAR_LEAD}"


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
