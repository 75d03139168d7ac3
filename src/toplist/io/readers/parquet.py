"""Parquet: buffered and in order, so that memory does not grow with the file."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from toplist.errors import FileError
from toplist.io.optional import need
from toplist.io.readers.base import Piece, batch_rows
from toplist.io.readers.kinds import fitted, is_nested_dictionary, one_schema

_SAMPLE = 256  # rows that tell how long lists are
_BUFFER = 1 << 20  # bytes read ahead per column; whole column chunks would be hundreds of megabytes


@dataclass
class ParquetReader:
    """One or more Parquet files with the same columns."""

    paths: tuple[Path, ...]
    name: str
    text: bool = False
    rows: int | None = field(init=False)
    schema: Any = field(init=False)  # names and types, of all files

    def __post_init__(self) -> None:
        self.rows = 0
        schemas = []
        for path in self.paths:
            with _opened(path) as file:
                self.rows += file.metadata.num_rows
                schemas.append((str(path), file.schema_arrow))
        self.schema = one_schema(schemas)

    def pieces(self, columns: Sequence[str]) -> Iterator[Piece]:
        """The named columns, batch by batch."""
        for path in self.paths:
            start = 0
            with _opened(path) as file:
                for batch in _batches(file, columns):
                    yield Piece(str(path), start, fitted(batch.select(list(columns)), self.schema, str(path), start))
                    start += len(batch)


def _batches(file: Any, columns: Sequence[str]) -> Iterator[Any]:
    """Batches of one size; row group by row group, where pyarrow cannot read across them."""
    rows, own = batch_rows(_width(file, columns)), file.schema_arrow
    apart = any(is_nested_dictionary(own.field(name).type) for name in columns)
    for groups in [[group] for group in range(file.num_row_groups)] if apart else [None]:
        yield from file.iter_batches(batch_size=rows, columns=list(columns), row_groups=groups)


def _width(file: Any, columns: Sequence[str]) -> int:
    """Values per row, by the first rows of some row groups: to ask for damaged column metadata ends the process."""
    widest, groups = 0, file.num_row_groups
    for group in range(0, groups, max(1, groups // 4)):
        first = next(file.iter_batches(batch_size=_SAMPLE, row_groups=[group], columns=list(columns)), None)
        if first is not None and len(first):
            widest = max(widest, sum(_entries(column) for column in first.columns) // len(first))
    return widest


def _entries(column: Any) -> int:
    return len(column.flatten()) if hasattr(column, "flatten") else len(column)


@contextmanager
def _opened(path: Path) -> Iterator[Any]:
    pa = need("pyarrow")
    try:
        with need("pyarrow.parquet").ParquetFile(path.absolute(), pre_buffer=False, buffer_size=_BUFFER) as file:
            yield file
    except (pa.ArrowException, OSError, SystemError, UnicodeDecodeError):
        raise FileError(str(path), "this is no Parquet file, or it is damaged.") from None
