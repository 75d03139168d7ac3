"""A table restricted to some of its rows, with the row numbers and the messages of the whole.

::

    files = file_rows(reader)                   # how many rows each file has, where that is known
    spans = spans_between(files, 1000, 2000)    # rows of the whole table, as rows of files
    part = sliced(table, spans)                 # an `OpenTable` of these rows alone
    spans_of_units(reader, 1 << 20)             # rows that are read together, about so many at a time

Parquet reads the row groups that hold the rows, Arrow their record batches, numpy the rows themselves; text is read by
whole files. What can only be read as a whole has no spans.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from copy import copy
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from toplist._files import need
from toplist.errors import FileError
from toplist.io.readers.base import Reader, TableChunk
from toplist.io.sources import OpenTable
from toplist.io.views import View

if TYPE_CHECKING:
    from toplist.io.layouts import Layout


@dataclass(frozen=True, slots=True)
class Span:
    """Rows lo to hi of a file, which is known by its place among the paths of its reader."""

    file: int
    lo: int
    hi: int | None  # None: to the end

    def __len__(self) -> int:
        if self.hi is None:
            raise TypeError("how many rows there are is not known")
        return self.hi - self.lo


class UnreadableError(FileError):
    """A file, or a part of it, cannot be read at all: its bytes are damaged, or it is not there any more."""


def inner(reader: Reader) -> Reader:
    """The reader of the files, below what is seen of it."""
    return inner(reader.reader) if isinstance(reader, View) else reader


def file_rows(reader: Reader) -> list[int | None]:
    """How many rows each file has, where that is known without reading; nothing where it is read as a whole."""
    units = inner(reader).units()
    found: list[int | None] = [0] * (units[-1].file + 1 if units else 0)
    for unit in units:
        known = found[unit.file]
        found[unit.file] = None if known is None or unit.rows is None else known + unit.rows
    return found


def spans_between(files: Sequence[int], lo: int, hi: int) -> list[Span]:
    """The rows lo to hi of all files together, as rows of each.

    >>> spans_between([10, 5, 10], 8, 17)
    [Span(file=0, lo=8, hi=10), Span(file=1, lo=0, hi=5), Span(file=2, lo=0, hi=2)]
    """
    spans, start = [], 0
    for file, rows in enumerate(files):
        first, last = max(lo - start, 0), min(hi - start, rows)
        if first < last:
            spans.append(Span(file, first, last))
        start += rows
    return spans


def spans_of_units(reader: Reader, rows: int) -> list[Span]:
    """What is read at a time: units of one file that follow each other, as long as they have about so many rows."""
    spans: list[Span] = []
    for unit in inner(reader).units():
        last = spans[-1] if spans else None
        if unit.rows is None:
            spans.append(Span(unit.file, unit.start, None))
        elif last is not None and last.file == unit.file and last.hi is not None and len(last) + unit.rows <= rows:
            spans[-1] = Span(last.file, last.lo, unit.start + unit.rows)
        else:
            spans.append(Span(unit.file, unit.start, unit.start + unit.rows))
    return spans


def sliced(table: OpenTable, spans: Sequence[Span]) -> OpenTable:
    """The same table with some of its rows alone."""
    return replace(table, reader=_sliced(table.reader, spans))


def _sliced(reader: Reader, spans: Sequence[Span]) -> Reader:
    if not isinstance(reader, View):
        return SlicedReader(reader, spans)
    made: View = copy(reader)
    made.__class__ = _SlicedView
    made.reader, made.kept, made.total = _sliced(reader.reader, spans), None, None
    return made


class _SlicedView(View):
    """Some rows of a view: none of them need fulfil its conditions."""

    def _refuse_all(self) -> None:
        """Whether any row fulfils the conditions is a question to the whole table."""


class SlicedReader(Reader):
    """Some rows of the files of another reader."""

    def __init__(self, reader: Reader, spans: Sequence[Span]) -> None:
        self.whole, self.spans = reader, tuple(spans)
        files = dict.fromkeys(span.file for span in self.spans)
        self.paths, self.name = tuple(reader.paths[file] for file in files if file < len(reader.paths)), reader.name
        known = all(span.hi is not None for span in self.spans)
        self.rows = sum(map(len, self.spans)) if known else None
        self.text, self.decimal, self.unnamed = reader.text, reader.decimal, reader.unnamed
        self.index, self.named_index, self.parts = reader.index, reader.named_index, reader.parts
        self.origin, self.bare, self.row = reader.origin, reader.bare, reader.row

    @property
    def schema(self) -> Any:
        """Names and types, of all files."""
        return self.whole.schema

    def prepare(self, layout: Layout) -> None:
        """See `Reader`."""
        self.whole.prepare(layout)

    def pieces(self, columns: Sequence[str]) -> Iterator[TableChunk]:
        """The named columns, batch by batch."""
        return self.pieces_of(need("pyarrow").schema([self.schema.field(name) for name in columns]))

    def pieces_of(self, schema: Any) -> Iterator[TableChunk]:
        """See `Reader`: what cannot be read is told from what is wrong with the values."""
        for span in self.spans:
            try:
                yield from self.whole.pieces_in(span.file, schema, span.lo, span.hi)
            except FileError as error:
                raise UnreadableError(error.source, error.problem, row=error.row) from None
