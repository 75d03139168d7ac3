"""What to leave out where a table is wider than the page."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from toplist.report.columns import Column, Table
from toplist.report.tables import once
from toplist.words.cells import cells, shorten

GAP = 2  # cells between columns
_NAME = 16  # cells that names keep before columns go, or a quarter of the page
_LEAST = 9  # cells that names keep before even an essential column goes
_ALWAYS = 3  # columns that never go


def widths(table: Table) -> list[int]:
    """The cells that each column takes."""
    return [max(map(cells, (column.header, *(row[i] for row in table.rows)))) for i, column in enumerate(table.columns)]


def fit(tables: Iterable[Table], width: int | None) -> list[Table]:
    """The tables without the columns that there is no room for, and a note that says which.

    Names are shortened before a column is left out, to no less than a quarter of the page. Of the columns that are not
    essential those that come first have precedence.
    """
    return once(_fit(table, width) for table in tables)


def _fit(table: Table, width: int | None) -> Table:
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
