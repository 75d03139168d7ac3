"""Leaderboards in plain text, for any terminal."""

from __future__ import annotations

from toplist.ranking.results import Results
from toplist.report.columns import Table
from toplist.report.details import details
from toplist.report.fit import GAP, fit, widths
from toplist.report.tables import tables
from toplist.words.cells import pad, wrap

PAGE = 100  # where notes are wrapped if nobody says how wide the page is


def as_text(results: Results, width: int | None = None, *, detail: bool = False) -> str:
    """Aligned tables with their notes below; columns that do not fit the width are left out and named."""
    chosen = details(results) if detail else tables(results)
    return "\n\n\n".join(page(table, width or PAGE) for table in fit(chosen, width))


def lines(table: Table) -> list[list[str]]:
    """The header, the dashes and the rows, each as cells that are padded to the width of their column."""
    sizes = widths(table)
    dashes = ["-" * size for size in sizes]
    grid = [[column.header for column in table.columns], dashes, *table.rows]
    return [
        [pad(cell, size, column.align) for cell, size, column in zip(row, sizes, table.columns, strict=True)]
        for row in grid
    ]


def page(table: Table, width: int) -> str:
    """One table with its title above and its notes below."""
    found = [*wrap(table.title, width), "", *((" " * GAP).join(line).rstrip() for line in lines(table))]
    if table.sentences:
        found += ["", *(line for sentence in table.sentences for line in wrap(sentence, width))]
    return "\n".join(found)
