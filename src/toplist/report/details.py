"""Every number of a comparison, in tables that are wider than a page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from toplist.ranking.results import Estimate, Mark, Origin, Results, Section
from toplist.report.columns import Column, Table
from toplist.report.notes import notes, reasons, size, warnings
from toplist.report.numbers import MOST, NOTHING, excludes_zero, fixed, small, spans
from toplist.report.paths import paths_table
from toplist.report.tables import RULE, Filled, listing, noted, once, table, title
from toplist.words.counts import count, percent
from toplist.words.names import plain, visible

_BEHIND = "behind is the mean difference to the leader, case by case, with its interval; * marks one without zero."


def details(results: Results) -> list[Table]:
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


def _section(results: Results, section: Section) -> list[Table]:
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


def _numbers(marks: Sequence[Mark]) -> list[Filled]:
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


def _pairs(results: Results, rule: str) -> Table:
    """Every two predictors, how far apart they are and how sure that is."""
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
    return Table(f"pairs, {plain(rule, RULE)}", columns, rows)


def _sources(origins: Sequence[Origin]) -> Table:
    columns = (
        Column("predictor", "left", essential=True, heading=True),
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
    return Table("sources", columns, rows)
