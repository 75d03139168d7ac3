"""Batches of files and frames as checked lists; errors name the file, the row, and the classes as the file does."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from toplist._optional import need
from toplist._text import quote
from toplist._typing import Codes
from toplist.core import flags
from toplist.errors import CaseError, ClassError, FileError, ShapeError, TopListError
from toplist.io.batches import Batch, concat
from toplist.io.columns import plain
from toplist.io.encoding import EMPTY_REMEDY
from toplist.io.options import ReadOptions, Source, hints_of
from toplist.io.sources import OpenTable, open_source
from toplist.lists import TopLists, flatten
from toplist.lists.error_messages import complain
from toplist.lists.labelsets import LabelSets
from toplist.lists.space import ClassSpace, as_space, show_size
from toplist.lists.validation import Repairs

NEAR_ONE = 1e-6  # how far from one the sum of a distribution may be by rounding


def require_all_columns(source: OpenTable, space: ClassSpace) -> None:
    """Columns that go by their place are either all classes, or something else."""
    columns = len(source.names)
    if columns and source.reader.unnamed and (space.per_case or columns != space.size):
        classes = "a number of classes per case" if space.per_case else f"{show_size(space.size)} classes"
        remedy = "If they are the most confident ones, save their classes too."
        raise FileError(source.path, f"{columns:,} columns without names, but {classes}. {remedy}")


def lists_of(batch: Batch, names: tuple[str, ...], codes: Codes, space: ClassSpace, repairs: Repairs) -> TopLists:
    """Checked lists; an error names the file, the row, and the classes as the file does."""
    rounding: dict[str, Any] = {"precision": batch.precision, "shown": batch.shown}
    bare = ClassSpace(space.size) if space.labels is not None or isinstance(space, LabelSets) else space
    every = codes
    try:
        if batch.classes is None and not space.per_case:
            width = len(codes)
            if width == space.size:
                order = np.argsort(codes)
                dense = batch.confidences.reshape(len(batch), width)
                rows, bare = flatten.dense(dense if (np.diff(order) == 1).all() else dense[:, order], bare)
                return TopLists._admit(replace(rows, **rounding), bare, None, repairs)
            codes = np.tile(codes, len(batch))
        rows, bare = flatten.ragged(batch.offsets, codes, batch.confidences, bare, None)
        return TopLists._admit(replace(rows, **rounding), bare, None, repairs)
    except CaseError as error:
        raise in_file(_named(error, batch, names, every), batch) from None


def _named(error: CaseError, batch: Batch, names: tuple[str, ...], codes: Codes) -> CaseError:
    """The same error with the classes as the file names them; a class outside the space goes by its number."""
    if error.detail is None or error.detail[0] == flags.OUTSIDE:
        return error
    bit, bad = error.detail
    lo, hi = int(batch.offsets[bad.row]), int(batch.offsets[bad.row + 1])
    values: list[Any] = list(names)
    if batch.classes is not None:
        values = plain(batch.classes.slice(lo, hi - lo)).to_pylist()
    own = codes if batch.classes is None and len(codes) == len(names) else codes[lo:hi]
    called: dict[int, Any] = {}  # a set is one class, however its labels are ordered
    for code, value in zip(own.tolist(), values, strict=True):
        called.setdefault(code, ";".join(map(str, value)) or "{}" if isinstance(value, list) else value)
    return complain(bit, replace(bad, classes=[called.get(code, code) for code in bad.classes]))


def in_file(error: CaseError, batch: Batch) -> FileError:
    """An error about a case of a batch, with the file and the row."""
    row = None if error.case is None else int(batch.rows[error.case])
    where = ""
    if error.case is not None and batch.ids is not None:
        where = f"case {quote(batch.ids[error.case].as_py())}: "
    return FileError(batch.source, f"{where}{error.problem} {error.remedy}".rstrip(), row=row)


def repairs_made(lists: TopLists, batch: Batch) -> dict[str, int]:
    """In how many cases something was repaired, or was left out since it lacks its class or its confidence."""
    return {**lists.repairs, **_left_out(batch)}


def _left_out(batch: Batch) -> dict[str, int]:
    cases = 0 if batch.halves is None else int(np.count_nonzero(batch.halves.any(axis=1)))
    return {"blanks left out": cases} if cases else {}


def require_outcomes(truth: Batch, sets: str | None) -> None:
    """Every case has an outcome."""
    sizes = np.diff(truth.offsets)
    if len(sizes) and sizes.min() < 1:
        problem = "there is no outcome." if sets is None else f"there is no outcome. {EMPTY_REMEDY}"
        raise FileError(truth.source, problem, row=int(truth.rows[np.argmin(sizes)]))


def _whole(value: Any) -> int:
    """A number of classes, or 0."""
    try:
        size = int(value)
    except (TypeError, ValueError, OverflowError):
        return 0
    return 0 if isinstance(value, float) and value != size else size


def class_counts(truth: Batch, name: str) -> Any:
    """How many classes each case has, from a column of the truth."""
    column = truth.extra[name].to_pylist()
    out = []
    for row, value in zip(truth.rows, column, strict=True):
        size = _whole(value)
        if size < 1:
            raise FileError(truth.source, f"{quote(value)} in {quote(name)} is no number of classes.", row=int(row))
        out.append(size)
    return np.array(out, dtype=np.int64 if max(out, default=0) < 2**53 else object)


def read_lists(data: Any, space: Any = None, *, read: ReadOptions | None = None, **options: Any) -> TopLists:
    """Read a table as lists.

    Layouts are lists, long, wide, ranked columns and labels, found by the names, types and first values of the
    columns. The case ids, or an index that is named or not the default one, become `ids`.

    Parameters
    ----------
    data : path or table
        A file in any format that toplist reads, a folder or a pattern of files; or a table: pandas, polars, pyarrow, a
        DuckDB relation.
    space : ClassSpace, LabelSets, int, float or sequence, optional
        The classes, or how many there are; the columns of a wide table name all classes, other tables need it.
    read : ReadOptions, optional
        How the table is read.
    **options
        Fields of `ReadOptions`, in place of `read` or over it.

    Returns
    -------
    TopLists
        The lists, with `ids` and with what was repaired.

    Raises
    ------
    TopListError
        If the table can be read in several ways or in none; the message says what to type.

    Examples
    --------
    >>> import pandas as pd
    >>> table = pd.DataFrame({"case": [1, 1, 2], "class": ["a", "b", "a"], "confidence": [60, 30, 90]})
    >>> read_lists(table, 3, scale="percent").mass
    array([0.9, 0.9])
    """
    how = Source(data, **options).read(ReadOptions() if read is None else read)
    if how.set_separator is not None:
        raise TopListError("set_separator has no effect here: give label sets as a space of LabelSets.")
    source = open_source(data, "frame", hints_of(how, None if space is None else as_space(space)))
    if space is None and not source.names:
        raise ShapeError(
            "how many classes are there?", "Give the space: a number, math.inf or ClassSpace(labels=[...])."
        )
    known = ClassSpace(labels=source.names) if space is None else as_space(space)
    batches = list(source.batches(together=True))
    whole, ids = concat(batches, source.path, source.names), None
    if batches and batches[0].ids is not None:
        ids = np.array(need("pyarrow").chunked_array([batch.ids for batch in batches]).to_pylist())
    names = list(source.names) * len(whole) if whole.classes is None else plain(whole.classes).to_pylist()
    if known.labels is not None and names and isinstance(names[0], str):
        names = _as_labels(names, known)
    classes = np.array(names) if names else np.zeros(0, np.int64)
    rows, known = flatten.ragged(whole.offsets, classes, whole.confidences, known, None)
    rows = replace(rows, precision=whole.precision, shown=whole.shown)
    return TopLists._admit(rows, known, ids, how.repairs, _left_out(whole))


def _as_labels(names: list[str], space: ClassSpace) -> list[Any]:
    """Text from a file as the labels of the space, which may be numbers."""
    labels = {str(label): label for label in space.labels or ()}
    unknown = next((name for name in names if name not in labels), None)
    if unknown is not None:
        raise ClassError(f"class {unknown!r} is not among the labels of the space.", space.suggest(unknown))
    return [labels[name] for name in names]
