"""Leaderboards in plain text for any terminal, and in colour, as wide as the terminal is."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from toplist._files import load
from toplist.inference.results import Comparison
from toplist.report.tables import GAP, details, fit, tables, widths
from toplist.report.text import TextTable, pad, wrap

PAGE = 100  # where notes are wrapped unless a width is given


def as_text(results: Comparison, width: int | None = None, *, detail: bool = False) -> str:
    """Aligned tables with their notes below; columns that do not fit the width are left out and named."""
    chosen = details(results) if detail else tables(results)
    return "\n\n\n".join(page(table, width or PAGE) for table in fit(chosen, width))


def lines(table: TextTable) -> list[list[str]]:
    """The header, the dashes and the rows, each as cells that are padded to the width of their column."""
    sizes = widths(table)
    dashes = ["-" * size for size in sizes]
    grid = [[column.header for column in table.columns], dashes, *table.rows]
    return [
        [pad(cell, size, column.align) for cell, size, column in zip(row, sizes, table.columns, strict=True)]
        for row in grid
    ]


def page(table: TextTable, width: int) -> str:
    """One table with its title above and its notes below."""
    found = [*wrap(table.title, width), "", *((" " * GAP).join(line).rstrip() for line in lines(table))]
    if table.sentences:
        found += ["", *(line for sentence in table.sentences for line in wrap(sentence, width))]
    return "\n".join(found)


_REMEDY = "tables in colour need rich: pip install 'toplist[cli]'"


def as_renderable(results: Comparison, *, detail: bool = False) -> Any:
    """What a rich console prints: models that none is significantly better than in bold, significant ones in colour."""
    load("rich.text", _REMEDY)
    return Board(tuple(details(results) if detail else tables(results)))


@dataclass(frozen=True, slots=True)
class Board:
    """Tables that choose their columns when the width of the console is known."""

    tables: tuple[TextTable, ...]

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


def _styled(table: TextTable, width: int, text: Any) -> Iterator[Any]:
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
