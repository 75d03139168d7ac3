"""What every reader is."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

Table = Any  # pyarrow.RecordBatch
Schema = Any  # pyarrow.Schema

ENTRIES = 1 << 22  # values per batch that are in memory at a time


@dataclass(frozen=True, slots=True)
class Piece:
    """Consecutive rows of one file; `start` is the number of rows before them."""

    source: str
    start: int
    table: Table
    rows: Any = None  # the rows' own numbers, counted from 1, where they do not follow each other


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

    def pieces(self, columns: Sequence[str]) -> Iterator[Piece]:
        """The named columns, batch by batch."""
        ...


def batch_rows(width: int) -> int:
    """How many rows of this many values make a batch: a power of two, so that batches of several files match."""
    return 1 << max(10, min(17, (ENTRIES // max(width, 1)).bit_length() - 1))
