"""One file per format: each gives the columns of a table, batch by batch, in the order of the file."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from toplist._optional import need
from toplist._text import shown
from toplist.errors import FileError, TopListError
from toplist.io.files import find
from toplist.io.readers.arrow import ArrowReader, MemoryReader, ParquetReader
from toplist.io.readers.base import Reader, TableChunk
from toplist.io.readers.delimited import DelimitedReader
from toplist.io.readers.fasttext import FastTextReader, is_fasttext
from toplist.io.readers.json_lines import JsonReader
from toplist.io.readers.npy import open_arrays

if TYPE_CHECKING:
    from toplist.io.layouts import Layout


def open_path(path: str | os.PathLike[str]) -> Reader:
    """A reader for a file, a folder or a pattern."""
    found, name = find(path), os.fspath(path)
    for one in found.paths:
        if not os.access(one, os.R_OK):
            raise FileError(str(one), "this file may not be read.")
    if found.format == "fasttext" or (found.format == "csv" and is_fasttext(found.paths[0])):
        return FastTextReader(found.paths, name)
    if found.format in ("csv", "tsv"):
        return DelimitedReader(found.paths, name, tabs=found.format == "tsv")
    if found.format == "jsonl":
        return JsonReader(found.paths, name)
    if found.format == "parquet":
        return ParquetReader(found.paths, name)
    if found.format == "arrow":
        return ArrowReader(found.paths, name)
    if len(found.paths) > 1:
        raise FileError(name, "arrays are read from one file at a time.")
    return open_arrays(found.paths[0])


def prepare(reader: Reader, layout: Layout) -> None:
    """What the layout of a table means for reading it: which fields are confidences, and which may lack."""
    both = next((name for name in layout.classes if name in layout.confidences), None)
    if both is not None:
        problem = (
            f"the column {shown(both)} cannot hold both the classes and the confidences: name one column for each."
        )
        raise FileError(reader.name, problem)
    if isinstance(reader, JsonReader):
        reader.classes = layout.classes if layout.kind == "wide" else ()
        reader.floats = frozenset(reader.classes or layout.confidences)
        # A wide object leaves out classes, a ranked one what is beyond the end of its list.
        needed = () if layout.kind == "wide" else (*layout.classes, *layout.confidences)
        if layout.kind == "ranked":
            needed = (layout.classes[0], layout.confidences[0])
        reader.required = tuple(filter(None, (layout.case, *needed)))
    if isinstance(reader, DelimitedReader):
        reader.classes = layout.classes if layout.kind == "wide" else ()
        reader.padded_rows = layout.kind == "ranked"


def open_frame(frame: Any, name: str) -> Reader:
    """A reader for a table in memory: pandas, polars, pyarrow, a DuckDB relation, anything narwhals knows."""
    nw, pa = need("narwhals"), need("pyarrow")
    origin = frame
    if isinstance(frame, pa.RecordBatch):
        frame = pa.table(frame)
    if isinstance(frame, pa.Table):
        return MemoryReader(frame, name, origin=origin)
    frame, index = _with_index(frame, name)
    try:
        known = nw.from_native(frame)
    except TypeError:
        raise TopListError(f"{name}: {type(frame).__name__} is no table that narwhals knows.") from None
    except nw.exceptions.DuplicateError:
        raise FileError(name, "two columns have the same name.") from None
    eager = known.collect("pyarrow") if isinstance(known, nw.LazyFrame) else known
    eager = eager.rename({column: str(column) for column in eager.columns if not isinstance(column, str)})
    try:
        return MemoryReader(eager.to_arrow(), name, index=index, named_index=_is_named(origin), origin=origin)
    except (pa.ArrowException, TypeError):
        odd = next((column for column in eager.columns if not _converts(eager[column])), "?")
        raise FileError(name, f"the column {shown(odd)} holds values of different kinds.") from None


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
        raise FileError(name, f"the index and a column are both called {shown(column)}: rename one of them.")
    return frame.reset_index(names=column), column


def _is_named(frame: Any) -> bool:
    return getattr(getattr(frame, "index", None), "name", None) is not None


def _converts(series: Any) -> bool:
    try:
        series.to_arrow()
    except (need("pyarrow").ArrowException, TypeError):
        return False
    return True


__all__ = ["JsonReader", "MemoryReader", "Reader", "TableChunk", "open_frame", "open_path", "prepare"]
