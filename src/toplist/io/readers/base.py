"""What every reader is, and what a format declares of itself."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray

from toplist._optional import need

if TYPE_CHECKING:
    from toplist.io.layouts import Layout

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

    @property
    def row_numbers(self) -> NDArray[np.int64]:
        """The number of each row in the file, counted from 1."""
        if self.rows is not None:
            return cast("NDArray[np.int64]", self.rows)
        return np.arange(self.start + 1, self.start + len(self.table) + 1, dtype=np.int64)


class Reader(ABC):
    """Columns with names and types, read in order as often as needed."""

    paths: tuple[Path, ...]  # the files that are read; none for what is in memory
    name: str  # for messages
    rows: int | None = None  # how many, where that is known without reading
    text = False  # whether every value is text, as in CSV
    decimal = False  # whether numbers have the digits that were written, as in JSON
    unnamed = False  # whether columns are classes by their place alone
    index: str | None = None  # the column that was the index of a dataframe
    named_index = True  # whether that index has a name of its own
    origin: Any = None  # what a table in memory was made of
    bare = False  # whether these are values of a list or an array, which have no ids

    @property
    @abstractmethod
    def schema(self) -> Schema:
        """Names and types of the columns."""

    @abstractmethod
    def pieces(self, columns: Sequence[str]) -> Iterator[TableChunk]:
        """The named columns, batch by batch."""

    def prepare(self, layout: Layout) -> None:  # noqa: B027  most readers need not know
        """Take note of what the columns mean: which are confidences, and which may lack."""


@dataclass(frozen=True, slots=True)
class Format:
    """A kind of file: what its names end in, and how files of one prediction are opened."""

    name: str
    suffixes: tuple[str, ...]
    open: Callable[[tuple[Path, ...], str], Reader]
    compressed: bool = False  # whether it is read as .gz and .zst, too
    certain: bool = True  # whether every file with such a name is a table
    any_path: bool = False  # whether a path may be other bytes than UTF-8
    described: str = ""  # in messages, where that is not the first suffix


def batch_rows(width: int) -> int:
    """How many rows of this many values make a batch: a power of two, so that batches of several files match."""
    return 1 << max(10, min(17, (ENTRIES // max(width, 1)).bit_length() - 1))


def without_columns(rows: int) -> Table:
    """A batch that has rows, but no column."""
    pa = need("pyarrow")
    return pa.RecordBatch.from_struct_array(pa.array([{}] * rows, pa.struct([])))
