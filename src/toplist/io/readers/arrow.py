"""Parquet, Arrow and Feather files, and tables in memory; buffered and in order: memory does not grow with a file."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from itertools import accumulate
from pathlib import Path
from typing import Any

from toplist._files import as_remote, need
from toplist.errors import FileError
from toplist.io.readers.base import FileReader, Format, TableChunk, batch_rows, cut, random_access, transferred
from toplist.io.readers.column_types import fitted, is_nested_dictionary, one_schema


@dataclass
class ArrowReader(FileReader):
    """One or more Arrow IPC files or streams with the same columns."""

    paths: tuple[Path, ...]
    name: str
    _sizes: dict[int, tuple[int, ...] | None] = field(default_factory=dict, init=False, repr=False)

    @cached_property
    def schema(self) -> Any:
        """Names and types, of all files."""
        return one_schema((str(path), _schema(path)) for path in self.paths)

    def read(self, file: int, schema: Any, lo: int, hi: int | None) -> Iterator[TableChunk]:
        """See `FileReader`: of a file that is no stream, batches before the range are not read."""
        path, ends = self.paths[file], list(accumulate(self._rows_of(file) or () if lo else ()))
        first = next((at for at, end in enumerate(ends) if end > lo), 0)
        start = ends[first - 1] if first else 0
        with _opened(path, schema.names, first) as (_, batches, _):
            for batch in batches:
                whole = fitted(batch.select(schema.names), self.schema, str(path), start)
                for part in cut(whole):
                    yield TableChunk(str(path), start, part)
                    start += len(part)

    def sizes(self) -> Sequence[tuple[int, ...] | None]:
        """See `Reader`: those of the record batches of a file."""
        return list(map(self._rows_of, range(len(self.paths))))

    def _rows_of(self, file: int) -> tuple[int, ...] | None:
        """The rows of each record batch; None for a stream."""
        if file not in self._sizes:
            self._sizes[file] = _batch_sizes(self.paths[file])
        return self._sizes[file]


@dataclass
class MemoryReader(FileReader):
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

    def read(self, file: int, schema: Any, lo: int, hi: int | None) -> Iterator[TableChunk]:
        """See `FileReader`."""
        start = lo
        for batch in self.table.select(schema.names).slice(lo, None if hi is None else hi - lo).to_batches():
            for part in cut(fitted(batch, self.schema, self.name, start)):
                yield TableChunk(self.name, start, part)
                start += len(part)

    def sizes(self) -> Sequence[tuple[int, ...]]:
        """See `Reader`."""
        return ((self.table.num_rows,),)


def _schema(path: Path) -> Any:
    with _opened(path) as (schema, _, _):
        return schema


@contextmanager
def _opened(path: Path, columns: Sequence[str] = (), first: int = 0) -> Iterator[tuple[Any, Iterator[Any], bool]]:
    """The schema, the batches from one of them on, and whether it is a stream; else these columns alone are read."""
    pa, ipc = need("pyarrow"), need("pyarrow.ipc")
    try:
        with transferred(path), random_access(path) as source:
            if source.read(6) == b"ARROW1":
                file = ipc.open_file(source)
                schema = file.schema
                wanted = sorted(schema.get_field_index(name) for name in columns if name in schema.names)
                if wanted and wanted[0] >= 0:
                    file = ipc.open_file(source, options=ipc.IpcReadOptions(included_fields=wanted))
                yield schema, (file.get_batch(i) for i in range(first, file.num_record_batches)), False
            else:
                source.seek(0)
                try:
                    stream = ipc.open_stream(source)
                except (pa.ArrowException, OSError):
                    raise FileError(str(path), "this is no Arrow file, and no Arrow stream.") from None
                yield stream.schema, iter(stream), True
    except (pa.ArrowException, OSError, SystemError, UnicodeDecodeError):
        raise FileError(str(path), "this is no Arrow file, or it is damaged.") from None


def _batch_sizes(path: Path) -> tuple[int, ...] | None:
    """The rows of each record batch, of which no more than one column is read; None for a stream."""
    types = need("pyarrow").types
    # Of all columns, that whose values take the same few bytes each.
    fields = sorted(_schema(path), key=lambda one: (types.is_nested(one.type), not types.is_primitive(one.type)))
    with _opened(path, [one.name for one in fields[:1]]) as (_, batches, stream):
        return None if stream else tuple(batch.num_rows for batch in batches)


_SAMPLE = 256  # rows that tell how long lists are
_BUFFER = 1 << 20  # bytes read ahead per column; whole column chunks would be hundreds of megabytes
_REQUESTED = 1 << 22  # the same of a file that is elsewhere: every request takes its time


@dataclass
class ParquetReader(FileReader):
    """One or more Parquet files with the same columns."""

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

    def read(self, file: int, schema: Any, lo: int, hi: int | None) -> Iterator[TableChunk]:
        """See `FileReader`: row groups without a row of the range are not read."""
        path, columns = self.paths[file], schema.names
        with opened_parquet(path) as opened:
            sizes = _group_rows(opened)
            starts = list(accumulate(sizes, initial=0))
            groups = [at for at, size in enumerate(sizes) if starts[at] + size > lo and (hi is None or starts[at] < hi)]
            start = starts[groups[0]] if groups else 0
            for batch in _batches(opened, columns, groups):
                yield TableChunk(str(path), start, fitted(batch.select(columns), self.schema, str(path), start))
                start += len(batch)

    def sizes(self) -> Sequence[tuple[int, ...]]:
        """See `Reader`: those of the row groups."""
        return self._groups


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
    size = _BUFFER if as_remote(path) is None else _REQUESTED
    try:
        with (
            transferred(path),
            random_access(path) as source,
            parquet.ParquetFile(source, pre_buffer=False, buffer_size=size) as file,
        ):
            yield file
    except (pa.ArrowException, OSError, SystemError, UnicodeDecodeError):
        raise FileError(str(path), "this is no Parquet file, or it is damaged.") from None


PARQUET = Format("parquet", (".parquet", ".pq"), ParquetReader)
ARROW = Format("arrow", (".arrow", ".feather", ".ipc"), ArrowReader)
