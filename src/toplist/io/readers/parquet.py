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

_SAMPLE = 256  # rows that tell how long lists are
_BUFFER = 1 << 20  # bytes read ahead per column; whole column chunks would be hundreds of megabytes


@dataclass
class ParquetReader:
    """One or more Parquet files with the same columns."""

    paths: tuple[Path, ...]
    name: str
    text: bool = False
    rows: int | None = field(init=False)

    def __post_init__(self) -> None:
        self.rows = 0
        for path in self.paths:
            with _opened(path) as file:
                self.rows += file.metadata.num_rows

    @property
    def schema(self) -> Any:
        """Names and types, of the first file."""
        with _opened(self.paths[0]) as file:
            return file.schema_arrow

    def pieces(self, columns: Sequence[str]) -> Iterator[Piece]:
        """The named columns, batch by batch."""
        for path in self.paths:
            start = 0
            with _opened(path) as file:
                missing = [name for name in columns if name not in file.schema_arrow.names]
                if missing:
                    raise FileError(str(path), f"there is no column {missing[0]!r}.")
                for batch in file.iter_batches(batch_size=batch_rows(_width(file, columns)), columns=list(columns)):
                    yield Piece(str(path), start, batch.select(list(columns)))
                    start += len(batch)


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
