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
                values = sum(file.metadata.row_group(g).column(c).num_values for g, c in _chunks(file, columns))
                width = values // max(file.metadata.num_rows, 1)
                for batch in file.iter_batches(batch_size=batch_rows(width), columns=list(columns)):
                    yield Piece(str(path), start, batch.select(list(columns)))
                    start += len(batch)


def _chunks(file: Any, columns: Sequence[str]) -> Iterator[tuple[int, int]]:
    meta = file.metadata
    if meta.num_row_groups:
        first = meta.row_group(0)
        inside = [c for c in range(first.num_columns) if first.column(c).path_in_schema.split(".")[0] in columns]
        yield from ((g, c) for g in range(meta.num_row_groups) for c in inside)


@contextmanager
def _opened(path: Path) -> Iterator[Any]:
    pa = need("pyarrow")
    try:
        with need("pyarrow.parquet").ParquetFile(path, pre_buffer=False, buffer_size=_BUFFER) as file:
            yield file
    except (pa.ArrowException, OSError):
        raise FileError(str(path), "this is no Parquet file, or it is damaged.") from None
