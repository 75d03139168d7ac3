"""A table restricted to some of its rows, with the row numbers and the messages of the whole.

::

    files = file_rows(reader)                   # how many rows each file has, where that is known
    spans = spans_between(files, 1000, 2000)    # rows of the whole table, as rows of files
    part = sliced(table, spans)                 # an `OpenTable` of these rows alone

Parquet reads the row groups that hold the rows, Arrow their record batches, numpy the rows themselves; text is read by
whole files. What can only be read as a whole has no spans.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from copy import copy
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from toplist._files import need
from toplist.io.readers.base import Reader, TableChunk
from toplist.io.sources import OpenTable
from toplist.io.views import View

if TYPE_CHECKING:
    from toplist.io.layout import Layout


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


def sliced(table: OpenTable, spans: Sequence[Span]) -> OpenTable:
    """The same table with some of its rows alone."""
    return replace(table, reader=_sliced(table.reader, spans))


def _sliced(reader: Reader, spans: Sequence[Span]) -> Reader:
    if not isinstance(reader, View):
        return SlicedReader(reader, spans)
    if reader.where:
        raise ValueError("which rows fulfil a condition is a question to the whole table")
    view: View = copy(reader)
    view.reader = _sliced(reader.reader, spans)
    return view


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
        """See `Reader`."""
        for span in self.spans:
            yield from self.whole.pieces_in(span.file, schema, span.lo, span.hi)
