"""Readers: each gives the columns of a table, batch by batch, in the order of the file.

A new format is a module with a `FileReader` and its `Format` (suffixes and opener), and an entry in `FORMATS` here.
"""

from __future__ import annotations

from typing import Any

from toplist._files import need
from toplist._text import quote
from toplist.errors import FileError, TopListError
from toplist.io.readers.arrow import ARROW, PARQUET, MemoryReader
from toplist.io.readers.base import Format, Reader, TableChunk
from toplist.io.readers.delimited import CSV, FASTTEXT, TSV
from toplist.io.readers.json import JSON
from toplist.io.readers.json_lines import JSON_LINES
from toplist.io.readers.npy import NUMPY

FORMATS = (CSV, TSV, JSON_LINES, JSON, PARQUET, ARROW, NUMPY, FASTTEXT)


def open_frame(frame: Any, name: str) -> Reader:
    """A reader for a table in memory: pandas, polars, pyarrow, a DuckDB relation, anything narwhals knows."""
    nw, pa = need("narwhals"), need("pyarrow")
    origin = frame
    if isinstance(frame, pa.RecordBatch):
        frame = pa.table(frame)
    if isinstance(frame, pa.Table):
        return MemoryReader(frame, name, origin=origin)
    frame, index = _with_index(frame, name)
    named_index = getattr(getattr(origin, "index", None), "name", None) is not None
    try:
        native = nw.from_native(frame)
    except TypeError:
        raise TopListError(f"{name}: {type(frame).__name__} is no table that narwhals knows.") from None
    except nw.exceptions.DuplicateError:
        raise FileError(name, "two columns have the same name.") from None
    eager = native.collect("pyarrow") if isinstance(native, nw.LazyFrame) else native
    eager = eager.rename({column: str(column) for column in eager.columns if not isinstance(column, str)})
    try:
        return MemoryReader(eager.to_arrow(), name, index=index, named_index=named_index, origin=origin)
    except (pa.ArrowException, TypeError):
        odd = next((column for column in eager.columns if not _converts(eager[column])), "?")
        raise FileError(name, f"the column {quote(odd)} holds values of different kinds.") from None


def _with_index(frame: Any, name: str) -> tuple[Any, str | None]:
    """A dataframe with its index as a column, and what that is called; a default index says nothing."""
    index = getattr(frame, "index", None)
    if index is None or not hasattr(frame, "reset_index") or not hasattr(index, "nlevels"):
        return frame, None
    if index.nlevels > 1:
        raise FileError(name, "the index has several levels: make one column of case ids of it, and reset_index().")
    steps = [getattr(index, part, None) for part in ("start", "stop", "step")]
    if index.name is None and steps == [0, len(index), 1]:
        return frame, None
    column = "index" if index.name is None else str(index.name)
    if column in map(str, frame.columns):
        if index.name is not None and list(frame[index.name]) == list(index):
            return frame.reset_index(drop=True), column
        raise FileError(name, f"the index and a column are both called {quote(column)}: rename one of them.")
    return frame.reset_index(names=column), column


def _converts(series: Any) -> bool:
    try:
        series.to_arrow()
    except (need("pyarrow").ArrowException, TypeError):
        return False
    return True


__all__ = ["FORMATS", "Format", "MemoryReader", "Reader", "TableChunk", "open_frame"]
