"""Batches of files and frames as checked lists, and the weights, groups, clusters and times of their cases.

Errors name the file, the row, and the classes as the file does.
"""

from __future__ import annotations

import re
from collections.abc import Sequence, Sized
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from toplist._files import need
from toplist._text import quote
from toplist._typing import Codes
from toplist.core import flags
from toplist.errors import AlignmentError, CaseError, ClassError, FileError, ShapeError, TopListError
from toplist.io.batches import Batch, concat
from toplist.io.columns import as_numpy, numbers, plain
from toplist.io.encoding import EMPTY_REMEDY
from toplist.io.options import ReadOptions, Source, hints_of
from toplist.io.sources import OpenTable, open_source
from toplist.lists import TopLists, constructors
from toplist.lists.error_messages import complain
from toplist.lists.labelsets import LabelSets
from toplist.lists.space import ClassSpace, as_space, show_size
from toplist.lists.validation import Repairs
from toplist.scoring.case_scores import Grouping

REMEDY = "write numbers, or dates that begin with the year, such as 2024-01-31"


_YEAR = re.compile(r"\d{4}(?!\d{3})", re.ASCII)


def untimely(values: Sequence[str]) -> str | None:
    """The first of these texts that may stand in the wrong place if they are sorted; None if all are in order.

    Dates that begin with the year and are equally long sort as they follow each other.

    >>> untimely(["2024-01-31", "2023-12-01"]), untimely(["2024-01-31", "31/1/2024"]), untimely(["2024-W5", "2024-W10"])
    (None, '31/1/2024', '2024-W10')
    """
    return next((text for text in values if not _YEAR.match(text) or len(text) != len(values[0])), None)


BLANK = "(blank)"  # a group of those of whom nothing is said


MOST_GROUPS = 10_000


_CALLED_SO = re.compile(r"'*\(blank\)'*", re.ASCII)  # what is called that itself gets a pair of quotes


def filled(truth: Batch, name: str, what: str) -> Any:
    """A column that says something of every case: when it was, or what it belongs to."""
    column = plain(truth.extra[name])
    blank = as_numpy(_is_blank(column))
    if blank.any():
        at = int(np.argmax(blank))
        raise FileError(truth.source, f"there is no {what} in {quote(name)}.", row=int(truth.rows[at]))
    return column


def _is_blank(column: Any) -> Any:
    """Nothing, NaN, or text that says no more."""
    types, pc = need("pyarrow").types, need("pyarrow.compute")
    nothing = column.is_null(nan_is_null=True)
    if not (types.is_string(column.type) or types.is_large_string(column.type)):
        return nothing
    said = pc.utf8_lower(pc.utf8_trim_whitespace(column))
    empty = pc.or_(pc.equal(said, ""), pc.equal(said, "nan"))
    return pc.or_(nothing, pc.fill_null(empty, True))


def in_time(column: Any, name: str) -> NDArray[np.int64]:
    """The place of each case in time: numbers and dates by size; text as numbers if all of it is, or else as dates."""
    pa, pc = need("pyarrow"), need("pyarrow.compute")
    if pa.types.is_nested(column.type):
        raise AlignmentError(f"{quote(name)} says the order, and has lists in it, not numbers, dates or text.")
    if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
        column = pc.utf8_trim_whitespace(column)
        try:
            column = pc.cast(column, pa.float64())
        except pa.ArrowInvalid:
            odd = untimely(pc.unique(column).to_pylist())
            if odd is not None:
                raise AlignmentError(
                    f"{quote(name)} says the order, and {quote(odd)} in it does not: {REMEDY}."
                ) from None
    coded = pc.rank(column, sort_keys="ascending", tiebreaker="dense")
    return as_numpy(coded).astype(np.int64) - 1


def weights_of(truth: Batch, name: str) -> NDArray[np.float64]:
    """How much each case counts."""
    column = truth.extra[name]
    values = numbers(column, truth.source, truth.rows, name).astype(np.float64)
    bad = ~(np.isfinite(values) & (values >= 0))
    if bad.any():
        at = int(np.argmax(bad))
        problem = "there is no weight" if not column[at].is_valid else f"the weight is {values[at]:g}"
        raise FileError(truth.source, f"{problem}: weights are numbers, none below zero.", row=int(truth.rows[at]))
    return values


def clusters_in_order(column: Any) -> NDArray[np.int64]:
    """The clusters of cases as numbers, in the order of their names: which row comes first does not show."""
    found, types = groups_of(column), need("pyarrow").types
    if found.codes is None:
        return np.zeros(len(column), np.int64)
    number: Any = str
    if types.is_integer(column.type) or types.is_floating(column.type):
        number = int if types.is_integer(column.type) else float  # whole numbers beyond 2^53 are no doubles
    order = sorted(range(len(found.keys)), key=lambda at: (number(str(found.keys[at])), str(found.keys[at])))
    ranks = np.empty(len(order), np.int64)
    ranks[order] = np.arange(len(order))
    return ranks[found.codes]


def groups_of(column: Any) -> Grouping:
    """Cases by what a column says of them; where it says nothing, that is a group too."""
    pa, pc = need("pyarrow"), need("pyarrow.compute")
    if pa.types.is_nested(column.type):
        raise AlignmentError("groups and clusters are columns of text or numbers, not of lists.")
    text = pc.cast(column, pa.string()).dictionary_encode(null_encoding="encode")
    names = [group_name(name) for name in text.dictionary.to_pylist()]
    return Grouping(names, as_numpy(text.indices).astype(np.int32))


def group_name(value: str | None) -> str:
    """What a group is called: one of blanks, and one whose name is that of blanks, are two.

    >>> group_name(None), group_name("a"), group_name("(blank)"), group_name("'(blank)'")
    ('(blank)', 'a', "'(blank)'", "''(blank)''")
    """
    if value is None:
        return BLANK
    return f"'{value}'" if _CALLED_SO.fullmatch(value) else value


def require_few_groups(groups: Sized, name: str | None) -> None:
    """Refuse more groups than a leaderboard can show: each has a table and intervals of its own."""
    if len(groups) > MOST_GROUPS:
        of = f" {quote(name)}" if name else ""
        raise AlignmentError(
            f"the groups by{of} are more than {MOST_GROUPS:,}, too many for a table each: group by a column with fewer "
            "values, such as a range of these."
        )


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
                rows, bare = constructors.dense(dense if (np.diff(order) == 1).all() else dense[:, order], bare)
                return TopLists._validated(replace(rows, **rounding), bare, None, repairs)
            codes = np.tile(codes, len(batch))
        rows, bare = constructors.ragged(batch.offsets, codes, batch.confidences, bare, None)
        return TopLists._validated(replace(rows, **rounding), bare, None, repairs)
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
    rows, known = constructors.ragged(whole.offsets, classes, whole.confidences, known, None)
    rows = replace(rows, precision=whole.precision, shown=whole.shown)
    return TopLists._validated(rows, known, ids, how.repairs, _left_out(whole))


def _as_labels(names: list[str], space: ClassSpace) -> list[Any]:
    """Text from a file as the labels of the space, which may be numbers."""
    labels = {str(label): label for label in space.labels or ()}
    unknown = next((name for name in names if name not in labels), None)
    if unknown is not None:
        raise ClassError(f"class {unknown!r} is not among the labels of the space.", space.suggest(unknown))
    return [labels[name] for name in names]
