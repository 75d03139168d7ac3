"""What every reader is."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from toplist._optional import need

Table = Any  # pyarrow.RecordBatch
Schema = Any  # pyarrow.Schema

ENTRIES = 1 << 22  # values per batch that are in memory at a time
MANY = 256  # classes beyond which the columns of a wide text file are read as entries, not one by one


@dataclass(frozen=True, slots=True)
class Entries:
    """What the rows of a wide table list: classes by their place among its columns, and confidences."""

    offsets: NDArray[np.int64]
    places: NDArray[np.int64]  # rising within a row
    values: Any  # numbers, or text as Arrow has it


@dataclass(frozen=True, slots=True)
class TableChunk:
    """Consecutive rows of one file; `start` is the number of rows before them."""

    source: str
    start: int
    table: Table
    rows: Any = None  # the rows' own numbers, counted from 1, where they do not follow each other
    entries: Entries | None = None  # in place of the columns that are classes, where there are very many


class Reader(Protocol):
    """Columns with names and types, read in order as often as needed."""

    name: str  # for people
    text: bool  # whether every value is text, as in CSV
    rows: int | None  # how many, where that is known without reading

    @property
    def paths(self) -> tuple[Path, ...]:
        """The files that are read; none for what is in memory."""
        ...

    @property
    def schema(self) -> Schema:
        """Names and types of the columns."""
        ...

    def pieces(self, columns: Sequence[str]) -> Iterator[TableChunk]:
        """The named columns, batch by batch."""
        ...


def batch_rows(width: int) -> int:
    """How many rows of this many values make a batch: a power of two, so that batches of several files match."""
    return 1 << max(10, min(17, (ENTRIES // max(width, 1)).bit_length() - 1))


def without_columns(rows: int) -> Table:
    """A batch that has rows, but no column."""
    pa = need("pyarrow")
    return pa.RecordBatch.from_struct_array(pa.array([{}] * rows, pa.struct([])))
