"""Batches of files and frames as checked lists, with the weights, groups, clusters and times of their cases.

Data-quality issues are counted batch by batch. Errors name the file, the row, and the classes as the file does.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from toplist._files import need
from toplist._text import quote
from toplist._typing import Bools, Codes, Progress
from toplist.core import flags
from toplist.core.kernel import Rows
from toplist.errors import (
    CaseError,
    ClassError,
    FileError,
    ResourceError,
    ShapeError,
    SpaceError,
    TopListError,
)
from toplist.io.align import silent
from toplist.io.batches import Batch, concat
from toplist.io.columns import as_numpy, plain
from toplist.io.encoding import EMPTY_REMEDY, ClassEncoder
from toplist.io.options import ReadOptions, Source
from toplist.io.sources import OpenTable
from toplist.io.tables import open_source
from toplist.io.truth import space_of_producers
from toplist.lists import TopLists
from toplist.lists import rows as rows_in_memory
from toplist.lists.checks import KINDS, Issue, ListSummary, QualityCounts, detect, repaired_kinds, text
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
    bare = space.unnamed() if space.labels is not None or isinstance(space, LabelSets) else space
    every = codes
    try:
        if batch.classes is None and not space.per_case:
            width = len(codes)
            if width == space.size:
                order = np.argsort(codes)
                dense = batch.confidences.reshape(len(batch), width)
                rows, bare = rows_in_memory.dense(dense if (np.diff(order) == 1).all() else dense[:, order], bare)
                return TopLists._validated(replace(rows, **rounding), bare, None, repairs)
            codes = np.tile(codes, len(batch))
        rows, bare = rows_in_memory.ragged(batch.offsets, codes, batch.confidences, bare, None)
        return TopLists._validated(replace(rows, **rounding), bare, None, repairs)
    except CaseError as error:
        raise in_file(_named(error, batch, names, every), batch) from None


def _named(error: CaseError, batch: Batch, names: tuple[str, ...], codes: Codes) -> CaseError:
    """The same error with the classes as the file names them; a class outside the space goes by its number."""
    if error.detail is None or error.detail[0] == flags.OUTSIDE:
        return error
    bit, bad = error.detail
    lo, hi = int(batch.offsets[bad.row]), int(batch.offsets[bad.row + 1])
    # Tiled where codes are counted within each case: then a column has another code in every case.
    of_columns = batch.classes is None and len(codes) == len(names)
    here = codes if of_columns else codes[lo:hi]
    places = np.flatnonzero(np.isin(here, bad.classes))[::-1].tolist()  # the first one of a name that is there twice
    called = {int(here[k]): names[k] if batch.classes is None else batch.classes[lo + k].as_py() for k in places}
    values = [called.get(int(code), int(code)) for code in bad.classes]
    classes = [";".join(map(str, value)) or "{}" if isinstance(value, list) else value for value in values]
    return complain(bit, replace(bad, classes=classes))


def in_file(error: CaseError, batch: Batch) -> FileError:
    """An error about a case of a batch, with the file and the row."""
    problem = f"{error.problem} {error.remedy}".rstrip()
    if error.case is None:
        return FileError(batch.source, problem)
    where = "" if batch.ids is None else f"case {quote(batch.ids[error.case].as_py())}: "
    return batch.error(f"{where}{problem}", error.case)


def repairs_made(lists: TopLists, batch: Batch) -> dict[str, int]:
    """In how many cases something was repaired, or was left out since it lacks its class or its confidence."""
    return {**lists.repairs, **_left_out(batch)}


def _left_out(batch: Batch) -> dict[str, int]:
    cases = 0 if batch.halves is None else int(np.count_nonzero(batch.halves.any(axis=1)))
    return {"blanks left out": cases} if cases else {}


def read_lists(data: Any, space: Any = None, *, read: ReadOptions | None = None, **options: Any) -> TopLists:
    """Read a table as lists.

    Layouts are lists, long, wide, ranked columns and labels, found by the names, types and first values of the
    columns. The case ids, or an index that is named or not the default one, become `ids`.

    Parameters
    ----------
    data : path, table or objects
        A file in any format that toplist reads, a folder or a pattern of files; or a table: pandas, polars, pyarrow, a
        DuckDB relation; or, with `producer`, the objects in memory that this program makes.
    space : ClassSpace, LabelSets, int, float or sequence, optional
        The classes, or how many there are; the columns of a wide table name all classes, and producers know them where
        all cases have the same. Other tables need it.
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
    source = open_source(data, "frame", how, None if space is None else as_space(space))
    found = ClassSpace(labels=source.names) if source.names else None
    known = as_space(space) if space is not None else found or space_of_producers([source])
    if known is None:
        raise ShapeError(
            "how many classes are there?", "Give the space: a number, math.inf or ClassSpace(labels=[...])."
        )
    batches = list(source.batches())
    whole, ids = concat(batches, source.path, source.names), None
    if whole.ids is not None:
        ids = np.array(whole.ids.to_pylist())
    rows, known = rows_in_memory.ragged(
        whole.offsets, _classes(whole, source.names, known), whole.confidences, known, None
    )
    rows = replace(rows, precision=whole.precision, shown=whole.shown)
    return TopLists._validated(rows, known, ids, source.repairs, _left_out(whole))


def _classes(lists: Batch, columns: Sequence[str], space: ClassSpace) -> NDArray[Any]:
    """The classes of lists, of which `columns` are those of a wide table, as labels of the space, which may be numbers.

    Whole numbers are not copied.
    """
    if lists.classes is not None and need("pyarrow").types.is_integer(lists.classes.type):
        return as_numpy(plain(lists.classes))
    names = list(columns) * len(lists) if lists.classes is None else plain(lists.classes).to_pylist()
    if space.labels is not None and names and isinstance(names[0], str):
        labels = {str(label): label for label in space.labels}
        unknown = next((name for name in names if name not in labels), None)
        if unknown is not None:
            raise ClassError(f"class {unknown!r} is not among the labels of the space.", space.suggest(unknown))
        names = [labels[name] for name in names]
    return np.array(names) if names else np.zeros(0, np.int64)


@dataclass(slots=True)
class FileChecks:
    """The data-quality issues of one source, batch by batch; nothing is raised that can be counted."""

    source: OpenTable
    space: ClassSpace
    repairs: Repairs = field(default_factory=Repairs)
    sets: str | None = None
    counts: QualityCounts = field(default_factory=QualityCounts)
    scorable: ListSummary = field(default_factory=ListSummary)
    unreadable: str = ""  # the error that reading stopped with
    _examples: dict[str, str] = field(default_factory=dict)  # by kind, the error of the first case that has no other
    _seen: set[Any] = field(default_factory=set)
    _coder: ClassEncoder = field(init=False)

    def __post_init__(self) -> None:
        self._coder = ClassEncoder(self.space, [self.source], self.sets, strict=False)

    def add(self, batch: Batch) -> None:
        """Count the issues of a batch that was read with `halves`, and sum up the lists that can be scored."""
        (codes,), _ = self._coder.encode([batch], [self.source.names])
        start, n = self.counts.cases, len(batch)
        self.counts += QualityCounts.of(
            rows_of(batch, codes, self.space),
            self.space,
            scale=self.repairs.scale,
            position=np.arange(start, start + n),
            names=CasesInFile(batch.rows, batch.ids),
            also={"case twice": self._twice(batch), **_blanks(batch)},
        )
        self.scorable += ListSummary.of(self._scorable(batch, codes))

    def issues(self) -> tuple[Issue, ...]:
        """All issues, each with an example where there is one; a repair that does not succeed blocks."""
        of = self.counts.cases
        odd = self._coder.problem()
        whole = {
            "unreadable": self.unreadable,
            "more names than classes": str(odd) if isinstance(odd, SpaceError) else "",
            "class outside the space": "" if odd is None or isinstance(odd, SpaceError) else str(odd),
        }
        found = [
            replace(issue, example=self._examples.get(issue.kind, issue.example))
            for issue in self.counts.issues(repaired=repaired_kinds(self.repairs) - set(self._examples))
            if issue.kind != "class outside the space" or not whole["more names than classes"]
        ]
        issues = (*(Issue(kind, 0, of, error, True, "", error) for kind, error in whole.items() if error), *found)
        return tuple(sorted(issues, key=lambda one: not one.blocking))

    def _twice(self, batch: Batch) -> Bools:
        """Which cases have an id that was seen before."""
        again = np.zeros(len(batch), bool)
        for i, name in enumerate([] if batch.ids is None else batch.ids.to_pylist()):
            again[i] = name in self._seen
            self._seen.add(name)
            if again[i]:
                self._example(
                    "case twice", FileError(batch.source, f"case {quote(name)} is there twice.", row=int(batch.rows[i]))
                )
        return again

    def _scorable(self, batch: Batch, codes: Codes) -> TopLists:
        """The lists that can be scored after the repairs; the first case of each kind that cannot is an example."""
        good = np.ones(len(batch), bool)
        for kind, cases in _blanks(batch).items() if self.repairs.blanks == "error" else ():
            good &= ~cases
            if cases.any() and batch.halves is not None:
                lacks = "confidence" if kind == "class without a confidence" else "class"
                remedy = f" {EMPTY_REMEDY}" if lacks == "class" and self.sets is not None else ""
                row = int(batch.halves[np.argmax(cases), 2])
                self._example(kind, FileError(batch.source, f"the {lacks} is blank.{remedy}", row=row))
        if good.all():
            with suppress(FileError):
                return self._lists(batch, codes)
        found = detect(rows_of(batch, codes, self.space), self.repairs.scale).flags & np.uint16(flags.PROBLEMS)
        found[~good] = 0
        beyond = found & ~np.uint16(_repaired_flags(self.repairs))
        for case in np.flatnonzero((found > 0) & (beyond == 0)).tolist():
            if self._error(batch, codes, case) is not None:
                beyond[case] = found[case]
        for bit, kind in KINDS.items():
            refused = np.flatnonzero(beyond & bit)
            if len(refused) and kind not in self._examples:
                self._example(kind, self._error(batch, codes, int(refused[0])))
            beyond[refused], good[refused] = 0, False
        if batch.classes is not None:
            codes = codes[np.repeat(good, np.diff(batch.offsets))]
        return self._lists(batch if good.all() else batch.take(np.flatnonzero(good)), codes)

    def _lists(self, batch: Batch, codes: Codes) -> TopLists:
        return lists_of(batch, self.source.names, codes, self.space, self.repairs)

    def _error(self, batch: Batch, codes: Codes, case: int) -> TopListError | None:
        """The error that one case is refused with, if it is."""
        own = codes if batch.classes is None else codes[batch.offsets[case] : batch.offsets[case + 1]]
        try:
            self._lists(batch.part(case, case + 1), own)
        except TopListError as error:
            return error
        return None

    def _example(self, kind: str, error: TopListError | None) -> None:
        stranger = self._coder.stranger if kind == "class outside the space" else None
        self._examples.setdefault(kind, str(stranger or error or ""))


def check_file(
    source: OpenTable,
    space: ClassSpace | None,
    repairs: Repairs,
    sets: str | None = None,
    progress: Progress = silent,
) -> FileChecks:
    """The issues of every case; without a space, those that depend on the number of classes are not looked for."""
    known = ClassSpace(math.inf) if space is None else space
    if space is None and source.names:
        known = ClassSpace(labels=source.names)
    checks = FileChecks(source, known, repairs, sets)
    try:
        if space is not None:
            require_all_columns(source, space)
        for batch in source.batches(halves=True):
            checks.add(batch)
            progress("checking", checks.counts.cases, source.reader.rows)
    except ResourceError:
        raise  # not the file's fault
    except TopListError as error:
        checks.unreadable = str(error)
    return checks


def _blanks(batch: Batch) -> dict[str, Bools]:
    """Which cases have a class without a confidence, and which a confidence without a class."""
    if batch.halves is None:
        return {}
    kinds = ("class without a confidence", "confidence without a class")
    return {kind: batch.halves[:, column] > 0 for column, kind in enumerate(kinds)}


def _repaired_flags(repairs: Repairs) -> int:
    """What may be no problem after the repairs; a class that is there twice makes a list longer."""
    masses = flags.ABOVE_ONE | flags.NOT_FULL | flags.MASS if repairs.normalize else 0
    return masses | (flags.TWICE | flags.TOO_LONG if repairs.duplicates == "sum" else 0)


def rows_of(batch: Batch, codes: Codes, space: ClassSpace) -> Rows:
    """A batch as unvalidated rows."""
    classes: Codes | None = codes
    if batch.classes is None:
        every = not space.per_case and len(codes) == space.size and bool((np.diff(codes, prepend=-1) == 1).all())
        classes = None if every else np.tile(codes, len(batch))
    size, log_size = space.as_floats
    codes_ = None if classes is None else np.ascontiguousarray(classes)
    t = np.ascontiguousarray(batch.confidences)
    return Rows(batch.offsets, codes_, t, None, size, log_size, precision=batch.precision, shown=batch.shown)


@dataclass(frozen=True, slots=True)
class CasesInFile:
    """What the cases of a batch of a file are called: by their ids, or else by their rows."""

    rows: Codes
    ids: Any

    def case(self, at: int, position: int) -> str:
        """See `Names`."""
        return f"row {self.rows[at]}" if self.ids is None else text(self.ids[at].as_py())
