"""Files out, batch by batch: a file appears when all of it is written, or not at all."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from toplist.errors import TopListError
from toplist.io.columns import Column, as_arrow, truths
from toplist.io.optional import need
from toplist.io.outputs import Output, written
from toplist.io.showing import shown

WRITTEN = (".parquet", ".csv", ".jsonl")
_GROUP = 1 << 17  # rows that are written to Parquet at a time: readers want few large groups
_LISTS = ("classes", "confidences")


class Writer:
    """Tables to a file, one after the other, all with the columns of the first."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        if self.path.suffix.lower() not in (*WRITTEN, ".pq"):
            raise TopListError(f"the output is {', '.join(WRITTEN)}, not {self.path.suffix or 'without a suffix'}.")
        self.output = Output(path)
        self._open: Any = None

    def write(self, table: Any) -> None:
        """The next rows."""
        with written(self.path):
            if self._open is None:
                self._open = _WRITERS[self.path.suffix.lower()](self.output.file, table.schema)
            self._open.write_table(table)

    def __enter__(self) -> Writer:
        return self

    def __exit__(self, kind: Any, *_: Any) -> None:
        try:
            if self._open is not None and kind is None:
                with written(self.path):
                    self._open.close()
                self._open = None
                self.output.keep()
        finally:
            self._abandon()

    def _abandon(self) -> None:
        """Drop what was not kept; what a library still writes in closing is no news."""
        if self._open is not None:
            with suppress(Exception):
                self._open.close()
            self._open = None
        self.output.drop()


@dataclass(frozen=True, slots=True)
class Lists:
    """Lists as columns of Arrow, with classes as people name them."""

    ids: Column | None
    offsets: NDArray[np.int64]
    classes: Column
    confidences: NDArray[Any]

    def __len__(self) -> int:
        return len(self.offsets) - 1


class ListWriter:
    """Lists to a file that every command reads: columns of lists in Parquet and JSON, a long table in CSV."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.writer = Writer(path)
        self.long = self.writer.path.suffix.lower() == ".csv"
        self.schema: Any = None
        self.waiting: list[Any] = []

    def write(self, lists: Lists) -> None:
        """The next cases."""
        table = _as_long(lists) if self.long else _as_lists(lists)
        self.schema = self.schema or table.schema
        self.waiting.append(table.cast(self.schema))
        if sum(map(len, self.waiting)) >= _GROUP:
            self._flush(_GROUP)

    def _flush(self, least: int) -> None:
        """Write groups of one size, so that batches do not show in the file."""
        if not self.waiting:
            return
        table = need("pyarrow").concat_tables(self.waiting)
        done = len(table) - len(table) % least
        for lo in range(0, max(done, 1), _GROUP):
            self.writer.write(table.slice(lo, min(_GROUP, done - lo)).combine_chunks())
        self.waiting = [table.slice(done)] if done < len(table) else []

    def __enter__(self) -> ListWriter:
        return self

    def __exit__(self, kind: Any, *rest: Any) -> None:
        try:
            if kind is None:
                self._flush(1)
        except BaseException as error:
            kind = type(error)
            raise
        finally:
            self.writer.__exit__(kind, *rest)


def no_lists() -> Lists:
    """No case at all: what is written of it says which columns there are."""
    pa = need("pyarrow")
    return Lists(pa.array([], pa.string()), np.zeros(1, np.int64), pa.array([], pa.string()), np.zeros(0))


def _as_lists(lists: Lists) -> Any:
    pa = need("pyarrow")
    at, columns = as_arrow(lists.offsets), {} if lists.ids is None else {"case": lists.ids}
    for name, values in zip(_LISTS, (lists.classes, as_arrow(lists.confidences)), strict=True):
        columns[name] = pa.LargeListArray.from_arrays(at, values)
    return pa.table(columns)


def _as_long(lists: Lists) -> Any:
    """A row per listed class; an empty list is a row without class and confidence."""
    pa = need("pyarrow")
    if lists.ids is None:
        raise TopListError("cases without ids cannot be told apart in CSV: name the output .parquet or .jsonl.")
    for what, values in (("case id", lists.ids), ("class", lists.classes)):
        _require_text(values, what)
    sizes = np.diff(lists.offsets)
    rows = np.maximum(sizes, 1)
    blank = np.repeat(sizes == 0, rows)
    entries = np.cumsum(~blank) - 1
    where = pa.array(entries, mask=blank)
    columns = {
        "case": lists.ids.take(pa.array(np.repeat(np.arange(len(lists)), rows))),
        "class": lists.classes.take(where),
        "confidence": as_arrow(lists.confidences).take(where),
    }
    return pa.table(columns)


def _require_text(values: Column, what: str) -> None:
    """In CSV a blank is nothing."""
    pa, pc = need("pyarrow"), need("pyarrow.compute")
    if pa.types.is_string(values.type):
        blank = truths(pc.equal(pc.utf8_length(pc.utf8_trim_whitespace(values)), 0))
        if blank.any():
            odd = shown(values[int(np.argmax(blank))].as_py())
            raise TopListError(f"the {what} {odd} is blank, which CSV cannot hold: name the output .parquet or .jsonl.")


class _Lines:
    """JSON, one object per line; infinity, which JSON has not, as a string."""

    def __init__(self, file: BinaryIO, schema: Any) -> None:
        self.file = file

    def write_table(self, table: Any) -> None:
        for row in table.to_pylist():
            clean = {k: str(v) if isinstance(v, float) and not math.isfinite(v) else v for k, v in row.items()}
            self.file.write(json.dumps(clean, ensure_ascii=False, default=str).encode("utf-8") + b"\n")

    def close(self) -> None:
        """The file is closed by who opened it."""


def _parquet(file: BinaryIO, schema: Any) -> Any:
    """A table of different values pays for classes; of ids and confidences it would be made and given up again."""
    few: Any = ["classes.list.element"] if set(_LISTS) <= set(schema.names) else True
    return need("pyarrow.parquet").ParquetWriter(file, schema, use_dictionary=few)


def _csv(file: BinaryIO, schema: Any) -> Any:
    return need("pyarrow.csv").CSVWriter(file, schema)


_WRITERS: dict[str, Callable[[BinaryIO, Any], Any]] = {
    ".parquet": _parquet,
    ".pq": _parquet,
    ".csv": _csv,
    ".jsonl": _Lines,
}
