"""A table seen in another way: nested paths as columns, rows that fulfil conditions, several columns as one case id.

::

    view = View(reader, where=("output_type=pmf",), case="reference_date,location", paths=("results.score",))
    view.schema            # the columns of the reader, and "reference_date,location" and "results.score"
    view.pieces(columns)   # batch by batch; `TableChunk.rows` are the row numbers of the file
    view.kept, view.total  # after a pass: how many rows fulfil the conditions, and of how many
    view.filtering         # the same in words, to tell; "" without conditions

Whoever opens a table calls `view_of(reader, options)` before its layout is looked for, and `with_columns(reader,
layout.columns)` once that is known, before `prepare`: both give back the reader itself where it has all columns.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from copy import copy
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from toplist._files import need
from toplist._text import argument, listed, quote
from toplist.errors import FileError
from toplist.io.columns import as_arrow, kind_of, offsets_of, plain
from toplist.io.conditions import Condition, as_text, conditions_of, is_blank, no_column
from toplist.io.paths import ColumnPath, Step, extract, pruned, resolve
from toplist.io.readers.base import Entries, Reader, Span, TableChunk, without_columns

if TYPE_CHECKING:
    from toplist.io.layout import Layout
    from toplist.io.options import ReadOptions

_MOST = 10_000  # values of a condition's column that are counted


def parts_of(schema: Any, case: str) -> dict[str, ColumnPath | None]:
    """The parts of a composite id, None for those that are no columns; nothing where it is one column or path."""
    if resolve(schema, case) is not None:
        return {}
    names = [part.strip() for part in re.split(r',(?=(?:[^"]*"[^"]*")*[^"]*$)', case)]
    return {} if len(names) < 2 else {name: resolve(schema, name) for name in names}


def _joined(columns: Sequence[Any], names: Sequence[str], source: str, rows: NDArray[np.int64]) -> Any:
    """One text per row of the values of several columns; a comma inside of one is written with a backslash."""
    pc, parts = need("pyarrow.compute"), []
    for column, name in zip(columns, names, strict=True):
        values = plain(column)
        if need("pyarrow").types.is_nested(values.type):
            raise FileError(source, f"{quote(name)} holds {kind_of(values.type)}, which are no part of a case id.")
        nothing = is_blank(values)
        if nothing.any():
            problem = f"{quote(name)} is blank, but it is a part of the case id. Fill it in, or leave out such rows"
            remedy = f"{problem}: {argument('where', f'{name}!=')}."
            raise FileError(source, remedy, row=int(rows[np.flatnonzero(nothing)[0]]))
        text = as_text(values)
        for mark in ("\\", ","):
            text = pc.replace_substring(text, mark, "\\" + mark)
        parts.append(text)
    return pc.binary_join_element_wise(*parts, ",")


class View(Reader):
    """A reader with further columns, or with some of its rows.

    Parameters
    ----------
    reader : Reader
        The table.
    where : str or sequence of str, default ()
        Conditions that all rows fulfil which are kept: "column=value" or "column!=value". Values are compared as text,
        numbers and dates by what they are; nothing after the sign is a null or a blank. A condition that no row
        fulfils is an error, which names values that do occur.
    case : str, optional
        A column; else a path; else several of them with commas between, which become one column of text that has this
        name. Each part may stand in double quotes.
    paths : sequence of str, default ()
        Paths that become columns, as `resolve` has them; those that are columns are left alone.

    Attributes
    ----------
    kept, total : int or None
        How many rows fulfil the conditions, and of how many; None before the first pass is over.
    parts : tuple of str
        The columns of a composite case id, and those that have one value by a condition: recognition does not look
        for classes or confidences in them.

    Raises
    ------
    FileError
        When the schema, or the first piece, is asked for: if a column is not there, a part of an id is blank, or no row
        fulfils the conditions.
    """

    def __init__(
        self, reader: Reader, *, where: str | Sequence[str] = (), case: str | None = None, paths: Sequence[str] = ()
    ) -> None:
        self.reader = reader
        self.where = (where,) if isinstance(where, str) else tuple(where)
        self.case = case
        self.asked = tuple(dict.fromkeys(paths))
        self.paths, self.name = reader.paths, reader.name
        self.text, self.decimal, self.unnamed = reader.text, reader.decimal, reader.unnamed
        self.index, self.named_index = reader.index, reader.named_index
        self.origin, self.bare = reader.origin, reader.bare
        self.kept: int | None = None
        self.total: int | None = None

    @property
    def rows(self) -> int | None:  # type: ignore[override]
        """How many rows there are, where that is known."""
        return self.kept if self.where else self.reader.rows

    @property
    def row(self) -> str:  # type: ignore[override]
        """What a row is."""
        return self.reader.row

    @property
    def filtering(self) -> str:
        """What the conditions keep, as a sentence to tell after a pass; nothing where there are none."""
        if self.kept is None or self.total is None:
            return ""
        return f"{self.kept:,} of {self.total:,} rows, those with {' and '.join(self.where)}"

    @cached_property
    def parts(self) -> tuple[str, ...]:  # type: ignore[override]
        """See the class."""
        fixed = [one.name for one in self._conditions if not one.negated]
        return tuple(dict.fromkeys([*self.reader.parts, *self._composite, *fixed]))

    @cached_property
    def schema(self) -> Any:
        """Names and types."""
        pa, schema = need("pyarrow"), self.reader.schema
        further = {name: path.kind for name, path in self._further.items()}
        if self._composite:
            further[str(self.case)] = pa.string()
        _ = self._conditions  # columns that are not there are said now
        return pa.schema([*schema, *further.items()])

    @cached_property
    def _further(self) -> dict[str, ColumnPath]:
        """The paths that are columns here, but not in the reader."""
        found, names = {}, set(self.reader.schema.names)
        lone = [] if self.case is None or self._composite else [self.case]
        for text in (*lone, *self.asked):
            if text not in names:
                found[text] = self._path(text)
        return found

    @cached_property
    def _composite(self) -> dict[str, ColumnPath]:
        """The columns of a composite id."""
        found = {} if self.case is None else parts_of(self.reader.schema, self.case)
        return {name: path or self._path(name) for name, path in found.items()}

    @cached_property
    def _conditions(self) -> dict[Condition, ColumnPath]:
        return conditions_of(self.where, self.reader.schema, self.name)

    def _path(self, text: str) -> ColumnPath:
        path = resolve(self.reader.schema, text)
        if path is None:
            raise no_column(text, self.reader.schema.names, self.name)
        return path

    def prepare(self, layout: Layout) -> None:
        """See `Reader`, which knows the column that a path begins in."""
        roots = {name: path.root for name, path in self._further.items()}
        roots |= {str(self.case): path.root for path in list(self._composite.values())[:1]}
        case, *others = [roots.get(str(name), name) for name in (layout.case, *layout.classes, *layout.confidences)]
        split = len(layout.classes)
        classes, confidences = tuple(map(str, others[:split])), tuple(map(str, others[split:]))
        self.reader.prepare(replace(layout, case=case, classes=classes, confidences=confidences))

    def sizes(self) -> Sequence[tuple[int, ...] | None]:
        """See `Reader`."""
        return self.reader.sizes()

    def part(self, spans: Sequence[Span]) -> View:
        """See `Reader`."""
        if self.where:
            raise ValueError("which rows fulfil a condition is a question to the whole table")
        part = copy(self)
        part.reader = self.reader.part(spans)
        return part

    def pieces(self, columns: Sequence[str]) -> Iterator[TableChunk]:
        """The named columns of the rows that are kept, batch by batch."""
        further = {name: self._further[name] for name in columns if name in self._further}
        parts = self._composite if self.case in columns else {}
        paths = [*further.values(), *parts.values(), *self._conditions.values()]
        own = [name for name in columns if name not in further and not (parts and name == self.case)]
        routes: dict[str, list[tuple[Step, ...]]] = {name: [()] for name in own}
        for path in paths:
            routes.setdefault(path.root, []).append(path.steps)
        schema = self.reader.schema
        base = need("pyarrow").schema([(name, pruned(schema.field(name).type, some)) for name, some in routes.items()])
        kept = total = 0
        for piece in self.reader.pieces_of(base):
            some = self._filtered(piece)
            total, kept = total + len(piece.table), kept + len(some.table)
            if len(some.table):
                yield self._seen(some, columns, further, parts)
        if self.where and total and not kept:
            self._refuse_all()
        if self.where:
            self.kept, self.total = kept, total

    def _filtered(self, piece: TableChunk) -> TableChunk:
        if not self._conditions:
            return piece
        fulfilled = np.ones(len(piece.table), bool)
        for condition, path in self._conditions.items():
            fulfilled &= condition.holds(extract(piece.table.column(path.root), path.steps), piece.source)
        if fulfilled.all():
            return piece
        at = np.flatnonzero(fulfilled)
        entries = None if piece.entries is None else _some(piece.entries, at)
        return TableChunk(piece.source, piece.start, piece.table.take(as_arrow(at)), piece.row_numbers[at], entries)

    def _seen(self, piece: TableChunk, columns: Sequence[str], further: Any, parts: Any) -> TableChunk:
        pa, table, made = need("pyarrow"), piece.table, {}
        for name, path in further.items():
            made[name] = extract(table.column(path.root), path.steps)
        if parts:
            values = [extract(table.column(path.root), path.steps) for path in parts.values()]
            made[str(self.case)] = _joined(values, list(parts), piece.source, piece.row_numbers)
        names = [name for name in columns if name in made or name in table.schema.names]  # entries are elsewhere
        arrays = [made[name] if name in made else table.column(name) for name in names]
        batch = pa.record_batch(arrays, names=names) if names else without_columns(len(table))
        return replace(piece, table=batch)

    def _refuse_all(self) -> None:
        """Say which values there are, where no row fulfils the conditions."""
        fulfilled = [0] * len(self._conditions)
        occurring: list[dict[str, None]] = [{} for _ in self._conditions]
        for piece in self.reader.pieces(list(dict.fromkeys(path.root for path in self._conditions.values()))):
            for i, (condition, path) in enumerate(self._conditions.items()):
                values = extract(piece.table.column(path.root), path.steps)
                fulfilled[i] += int(condition.holds(values, piece.source).sum())
                if len(occurring[i]) < _MOST:
                    occurring[i] |= dict.fromkeys(_shown(plain(values)))
        for one, count, values in zip(self._conditions, fulfilled, occurring, strict=True):
            if not count:
                found = listed(list(values), show=str)
                raise FileError(self.name, f"{argument('where', one.text)}: no row fulfils it. The values are {found}.")
        each = ", ".join(f"{count:,} {one.text}" for one, count in zip(self._conditions, fulfilled, strict=True))
        raise FileError(self.name, f"no row fulfils all conditions together: {each}. Leave out one of them.")


def _shown(values: Any) -> list[str]:
    """Values as they are written in a condition."""
    return [
        "(blank)" if value is None or value == "" else quote(value) for value in as_text(values.unique()).to_pylist()
    ]


def _some(entries: Entries, rows: NDArray[np.int64]) -> Entries:
    """The entries of some rows."""
    sizes = np.diff(entries.offsets)[rows]
    offsets = offsets_of(sizes)
    at = np.repeat(entries.offsets[:-1][rows] - offsets[:-1], sizes) + np.arange(offsets[-1])
    values = entries.values[at] if isinstance(entries.values, np.ndarray) else entries.values.take(as_arrow(at))
    return Entries(offsets, entries.places[at], values)


def view_of(reader: Reader, options: ReadOptions, extra: Sequence[str] = (), also: str | None = None) -> Reader:
    """The table as the caller asks for it: its conditions, its composite id, and every path among the named columns.

    `extra` are further columns. `also` is the composite id of other tables that are aligned with this one: it is made
    here too, where no other id is named and its columns are there. Names that are neither columns nor paths are left
    for `require_columns`.
    """
    if options.records is not None:
        reader.look_for(options.records)
    inside = () if options.records is not None else (options.class_column, options.confidence)
    names = [name for name in (*inside, *extra) if name is not None]
    if not (names or options.case or options.where or also):
        return reader
    schema, case = reader.schema, options.case
    paths = [name for name in names if _is_path(schema, name)]
    if case is None and also is not None:
        parts = parts_of(schema, also)
        case = also if parts and all(parts.values()) else None
    elif case is not None and not _is_path(schema, case) and not parts_of(schema, case):
        case = None
    where = tuple(options.where)
    return View(reader, where=where, case=case, paths=paths) if paths or case or where else reader


def _is_path(schema: Any, name: str) -> bool:
    return name not in schema.names and resolve(schema, name) is not None


def with_columns(reader: Reader, columns: Sequence[str]) -> Reader:
    """The table with these columns, some of which are paths."""
    paths = [name for name in columns if name not in reader.schema.names]
    if not paths:
        return reader
    if not isinstance(reader, View):
        return View(reader, paths=paths)
    return View(reader.reader, where=reader.where, case=reader.case, paths=(*reader.asked, *paths))
