"""Leaderboards in colour, as wide as the terminal is."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from toplist.ranking.results import Results
from toplist.report.columns import Table
from toplist.report.details import details
from toplist.report.fit import GAP, fit
from toplist.report.optional import load
from toplist.report.tables import tables
from toplist.report.text import lines
from toplist.words.cells import wrap

_REMEDY = "tables in colour need rich: pip install 'toplist[cli]'"


def as_renderable(results: Results, *, detail: bool = False) -> Any:
    """What a rich console prints: leaders in bold, differences whose interval excludes zero in colour, too."""
    load("rich.text", _REMEDY)
    return Board(tuple(details(results) if detail else tables(results)))


@dataclass(frozen=True, slots=True)
class Board:
    """Tables that choose their columns when the width of the console is known."""

    tables: tuple[Table, ...]

    def __rich_console__(self, console: Any, options: Any) -> Iterator[Any]:
        text = load("rich.text", _REMEDY).Text
        width = options.max_width
        for i, table in enumerate(fit(self.tables, width)):
            if i:
                yield text("\n")
            # rich would wrap and interpret strings; a Text it takes as it is
            for line in _styled(table, width, text):
                line.no_wrap, line.overflow = True, "ignore"
                yield line


def _styled(table: Table, width: int, text: Any) -> Iterator[Any]:
    for line in wrap(table.title, width):
        yield text(line, style="bold")
    yield text("")
    for i, cells in enumerate(lines(table)):
        found = text(style="bold" if i == 0 or i - 2 in table.leaders else "dim" if i == 1 else "")
        for j, cell in enumerate(cells):
            marked = cell.rstrip().endswith("*") and not table.columns[j].heading
            found.append(cell, style="yellow" if marked and i > 1 else "")
            found.append(" " * GAP if j < len(cells) - 1 else "")
        found.rstrip()
        yield found
    if table.sentences:
        yield text("")
    for sentence in table.sentences:
        for line in wrap(sentence, width):
            yield text(line, style="bold red" if sentence in table.warnings else "dim")
