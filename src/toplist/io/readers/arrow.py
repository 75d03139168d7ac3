"""Parquet, Arrow and Feather files, and tables in memory; buffered and in order: memory does not grow with a file."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from itertools import accumulate, repeat
from pathlib import Path
from typing import Any

from toplist._files import as_remote, need
from toplist.errors import FileError
from toplist.io.readers.base import (
    Format,
    Reader,
    TableChunk,
    Unit,
    batch_rows,
    cut_pieces,
    random_access,
    transferred,
)
from toplist.io.readers.column_types import fitted, is_nested_dictionary, one_schema


@dataclass
class ArrowReader(Reader):
    """One or more Arrow IPC files or streams with the same columns."""

    paths: tuple[Path, ...]
    name: str
    _known: dict[int, tuple[int, ...] | None] = field(default_factory=dict, init=False, repr=False)

    @cached_property
    def schema(self) -> Any:
        """Names and types, of all files."""
        return one_schema((str(path), _schema(path)) for path in self.paths)

    def pieces(self, columns: Sequence[str]) -> Iterator[TableChunk]:
        """The named columns, batch by batch."""
        schema = need("pyarrow").schema([self.schema.field(name) for name in columns])
        return (piece for file in range(len(self.paths)) for piece in self.pieces_in(file, schema))

    def pieces_in(self, file: int, schema: Any, lo: int = 0, hi: int | None = None) -> Iterator[TableChunk]:
        """See `Reader`: of a file that is no stream, batches before the range are not read."""
        path, columns = self.paths[file], list(schema.names)
        first, start = self._before(file, lo) if lo else (0, 0)

        def parts(start: int) -> Iterator[TableChunk]:
            with _opened(path, columns, first) as (_, batches):
                for batch in batches:
                    whole = fitted(batch.select(columns), self.schema, str(path), start)
                    for part in _cut(whole):
                        yield TableChunk(str(path), start, part)
                        start += len(part)

        return cut_pieces(parts(start), lo, hi)

    def units(self) -> Sequence[Unit]:
        """See `Reader`: the record batches of a file, or a stream as a whole."""
        found: list[Unit] = []
        for file in range(len(self.paths)):
            sizes = self._sizes(file)
            starts = accumulate(sizes or (), initial=0)
            found += [Unit(file, 0, None)] if sizes is None else map(Unit, repeat(file), starts, sizes)
        return found

    def _before(self, file: int, row: int) -> tuple[int, int]:
        """The first record batch that has this row or later ones, and the number of rows before it."""
        start = 0
        for at, size in enumerate(self._sizes(file) or ()):
            if start + size > row:
                return at, start
            start += size
        return 0, 0

    def _sizes(self, file: int) -> tuple[int, ...] | None:
        """The rows of each record batch, of a file that is no stream."""
        if file not in self._known:
            self._known[file] = _batch_sizes(self.paths[file])
        return self._known[file]


@dataclass
class MemoryReader(Reader):
    """A table that is in memory already."""

    table: Any
    name: str
    unnamed: bool = False
    paths: tuple[Path, ...] = ()
    index: str | None = None
    named_index: bool = True
    origin: Any = None
    bare: bool = False
    rows: int | None = field(init=False)

    def __post_init__(self) -> None:
        self.rows = self.table.num_rows

    @cached_property
    def schema(self) -> Any:
        """Names and types."""
        return one_schema([(self.name, self.table.schema)])

    def pieces(self, columns: Sequence[str]) -> Iterator[TableChunk]:
        """The named columns, batch by batch."""
        return self._pieces(self.table.select(list(columns)), 0)

    def pieces_in(self, file: int, schema: Any, lo: int = 0, hi: int | None = None) -> Iterator[TableChunk]:
        """See `Reader`."""
        return self._pieces(self.table.select(schema.names).slice(lo, None if hi is None else hi - lo), lo)

    def units(self) -> Sequence[Unit]:
        """See `Reader`."""
        return (Unit(0, 0, self.rows),)

    def _pieces(self, table: Any, start: int) -> Iterator[TableChunk]:
        for batch in table.to_batches():
            for part in _cut(fitted(batch, self.schema, self.name, start)):
                yield TableChunk(self.name, start, part)
                start += len(part)


def _cut(batch: Any) -> Iterator[Any]:
    """Batches as the file has them may be of any size."""
    width = 1 + sum(_entries(column) for column in batch.columns) // max(len(batch), 1)
    step = batch_rows(width)
    for lo in range(0, len(batch), step):
        yield batch.slice(lo, step)


def _entries(column: Any) -> int:
    types = need("pyarrow").types
    return len(column.values) if types.is_list(column.type) or types.is_large_list(column.type) else len(column)


def _schema(path: Path) -> Any:
    with _opened(path) as (schema, _):
        return schema


@contextmanager
def _opened(path: Path, columns: Sequence[str] = (), first: int = 0) -> Iterator[tuple[Any, Iterator[Any]]]:
    """The schema and the batches from one of them on."""
    pa, ipc = need("pyarrow"), need("pyarrow.ipc")
    try:
        with transferred(path), random_access(path) as source:
            if source.read(6) == b"ARROW1":
                file = ipc.open_file(source)
                schema = file.schema
                wanted = sorted(schema.get_field_index(name) for name in columns if name in schema.names)
                if wanted and wanted[0] >= 0:  # the others are not read
                    file = ipc.open_file(source, options=ipc.IpcReadOptions(included_fields=wanted))
                yield schema, (file.get_batch(i) for i in range(first, file.num_record_batches))
            else:
                source.seek(0)
                try:
                    stream = ipc.open_stream(source)
                except (pa.ArrowException, OSError):
                    raise FileError(str(path), "this is no Arrow file, and no Arrow stream.") from None
                yield stream.schema, iter(stream)
    except (pa.ArrowException, OSError, SystemError, UnicodeDecodeError):
        raise FileError(str(path), "this is no Arrow file, or it is damaged.") from None


def _batch_sizes(path: Path) -> tuple[int, ...] | None:
    """The rows of each record batch, of which no more than one column is read; None for a stream."""
    pa, ipc = need("pyarrow"), need("pyarrow.ipc")
    try:
        with transferred(path), random_access(path) as source:
            if source.read(6) != b"ARROW1":
                return None
            file = ipc.open_file(source)
            kinds = list(file.schema.types)
            if kinds:
                least = min(range(len(kinds)), key=lambda at: (pa.types.is_nested(kinds[at]), not _fixed(kinds[at])))
                file = ipc.open_file(source, options=ipc.IpcReadOptions(included_fields=[least]))
            return tuple(file.get_batch(i).num_rows for i in range(file.num_record_batches))
    except (pa.ArrowException, OSError, SystemError, UnicodeDecodeError):
        raise FileError(str(path), "this is no Arrow file, or it is damaged.") from None


def _fixed(kind: Any) -> bool:
    """Whether values take the same few bytes each."""
    return bool(need("pyarrow").types.is_primitive(kind))


_SAMPLE = 256  # rows that tell how long lists are
_BUFFER = 1 << 20  # bytes read ahead per column; whole column chunks would be hundreds of megabytes
_REQUESTED = 1 << 22  # the same of a file that is elsewhere: every request takes its time


@dataclass
class ParquetReader(Reader):
    """One or more Parquet files with the same columns."""

    from_start = True
    paths: tuple[Path, ...]
    name: str
    rows: int | None = field(init=False)

    def __post_init__(self) -> None:
        self._groups: list[tuple[int, ...]] = []  # rows of the row groups of each file
        schemas = []
        for path in self.paths:
            with opened_parquet(path) as file:
                self._groups.append(_group_rows(file))
                schemas.append((str(path), file.schema_arrow))
        self.rows = sum(map(sum, self._groups))
        self._schema = one_schema(schemas)

    @property
    def schema(self) -> Any:
        """Names and types, of all files."""
        return self._schema

    def pieces(self, columns: Sequence[str]) -> Iterator[TableChunk]:
        """The named columns, batch by batch."""
        schema = need("pyarrow").schema([self.schema.field(name) for name in columns])
        return (piece for file in range(len(self.paths)) for piece in self.pieces_in(file, schema))

    def pieces_in(self, file: int, schema: Any, lo: int = 0, hi: int | None = None) -> Iterator[TableChunk]:
        """See `Reader`: row groups without a row of the range are not read."""
        path, columns = self.paths[file], list(schema.names)

        def parts() -> Iterator[TableChunk]:
            with opened_parquet(path) as opened:
                sizes = _group_rows(opened)
                ends = list(accumulate(sizes))
                groups = [at for at, end in enumerate(ends) if end > lo and (hi is None or end - sizes[at] < hi)]
                start = ends[groups[0]] - sizes[groups[0]] if groups else 0
                for batch in _batches(opened, columns, groups):
                    yield TableChunk(str(path), start, fitted(batch.select(columns), self.schema, str(path), start))
                    start += len(batch)

        return cut_pieces(parts(), lo, hi)

    def units(self) -> Sequence[Unit]:
        """See `Reader`: the row groups."""
        units: list[Unit] = []
        for file, sizes in enumerate(self._groups):
            units += map(Unit, repeat(file), accumulate(sizes, initial=0), sizes)
        return units


def _group_rows(file: Any) -> tuple[int, ...]:
    """The rows of each row group."""
    return tuple(file.metadata.row_group(group).num_rows for group in range(file.num_row_groups))


def _batches(file: Any, columns: Sequence[str], groups: Sequence[int]) -> Iterator[Any]:
    """Batches of one size; row group by row group, where pyarrow cannot read across them."""
    rows, own = batch_rows(_width(file, columns, groups)), file.schema_arrow
    apart = any(is_nested_dictionary(own.field(name).type) for name in columns)
    for some in [[group] for group in groups] if apart else [list(groups)]:
        yield from file.iter_batches(batch_size=rows, columns=list(columns), row_groups=some)


def _width(file: Any, columns: Sequence[str], groups: Sequence[int]) -> int:
    """Values per row, by the first rows of some row groups: to ask for damaged column metadata ends the process."""
    widest = 0
    for group in groups[:: max(1, len(groups) // 4)]:
        first = next(file.iter_batches(batch_size=_SAMPLE, row_groups=[group], columns=list(columns)), None)
        if first is not None and len(first):
            widest = max(widest, sum(_parquet_entries(column) for column in first.columns) // len(first))
    return widest


def _parquet_entries(column: Any) -> int:
    return len(column.flatten()) if hasattr(column, "flatten") else len(column)


@contextmanager
def opened_parquet(path: Path) -> Iterator[Any]:
    """A Parquet file, here or elsewhere; of its columns, only those that are asked for are read."""
    pa, parquet = need("pyarrow"), need("pyarrow.parquet")
    try:
        with (
            transferred(path),
            random_access(path) as source,
            parquet.ParquetFile(source, pre_buffer=False, buffer_size=_buffer(path)) as file,
        ):
            yield file
    except (pa.ArrowException, OSError, SystemError, UnicodeDecodeError):
        raise FileError(str(path), "this is no Parquet file, or it is damaged.") from None


def _buffer(path: Path) -> int:
    return _BUFFER if as_remote(path) is None else _REQUESTED


PARQUET = Format("parquet", (".parquet", ".pq"), ParquetReader)
ARROW = Format("arrow", (".arrow", ".feather", ".ipc"), ArrowReader)
