"""From columns of files to scored cases: lists are built, checked and scored, and errors name the file and the row.

Tables in memory and files as lists: the layouts of `toplist.io`, all cases at once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from toplist._optional import need
from toplist._text import shown
from toplist._typing import Codes
from toplist.errors import CaseError, ClassError, FileError, OutcomeError, ShapeError, TopListError
from toplist.io.batches import Batch
from toplist.io.columns import plain
from toplist.io.encoding import EMPTY_REMEDY, Coder
from toplist.io.layouts import Hints
from toplist.io.sources import Source, open_source
from toplist.io.spill import rounding_of
from toplist.lists import TopLists, flatten
from toplist.lists.labelsets import LabelSets
from toplist.lists.space import ClassSpace, as_space, show_size
from toplist.lists.validation import Repairs
from toplist.scoring.case_scores import Sheet, sheet
from toplist.scoring.rules import Rule

_NEAR_ONE = 1e-6  # how far from one the sum of a distribution may be by rounding


@dataclass(frozen=True, slots=True)
class Scoring:
    """By what cases are scored."""

    rules: tuple[Rule, ...]
    tops: tuple[int, ...] = (5,)
    penalty: float | None = None


@dataclass(frozen=True, slots=True)
class Seen:
    """A batch that was scored, with all that is known of it, for those who want to look closer."""

    lists: TopLists
    y: Any
    sheet: Sheet
    batch: Batch
    names: tuple[str, ...]  # of the columns, where they are the classes
    codes: Codes
    truth: Batch
    truth_names: tuple[str, ...]
    outcomes: Codes


@dataclass(slots=True)
class Judge:
    """Scores the batches of one source against the truth."""

    source: Source
    truth: Source
    coder: Coder
    scoring: Scoring
    repairs: Repairs
    truth_repairs: Repairs = field(default_factory=Repairs)  # of a truth that is a distribution per case
    sizes: str | None = None  # the column of the truth that says how many classes each case has
    watch: Callable[[Seen], None] | None = None
    cases: int = 0
    repaired: Counter[str] = field(default_factory=Counter)
    truth_repaired: Counter[str] = field(default_factory=Counter)
    _lock: Lock = field(default_factory=Lock)

    def sheet(self, batch: Batch, truth: Batch) -> Sheet:
        """Scores and all else that is known of each case."""
        lists, y, codes, outcomes = self._read(batch, truth)
        try:
            made = sheet(lists, y, self.scoring.rules, tops=self.scoring.tops, penalty=self.scoring.penalty)
        except OutcomeError as error:
            raise _in_file(error, truth) from None
        if self.watch is not None:
            self.watch(Seen(lists, y, made, batch, self.source.names, codes, truth, self.truth.names, outcomes))
        with self._lock:
            self.cases += len(batch)
            self.repaired.update(lists.repairs)
            if batch.halves is not None and batch.halves.any():
                self.repaired["blanks left out"] += int(np.count_nonzero(batch.halves.any(axis=1)))
        return made

    def _read(self, batch: Batch, truth: Batch) -> tuple[TopLists, Any, Codes, Codes]:
        """The lists of a batch, what happened as codes or, where the truth is soft, as lists, and the codes of both."""
        space = self._space(truth)
        hard = self.truth.layout.kind == "labels"
        if hard:
            _require_outcomes(truth, self.coder.sets)
        require_all_columns(self.source, space)
        codes, outcomes = self.coder.codes(batch, self.source.names, truth, self.truth.names)
        lists = lists_of(batch, self.source.names, codes, space, self.repairs)
        y: Any = outcomes
        if not hard:
            y = self._distributions(truth, outcomes, space)
        return lists, y, codes, outcomes

    def _distributions(self, truth: Batch, codes: Codes, space: ClassSpace) -> TopLists:
        """A distribution over the classes per case: what sums to something else than one is no truth."""
        lists = lists_of(truth, self.truth.names, codes, space, self.truth_repairs)
        mass, off = lists.mass, np.abs(lists.mass - 1) > _NEAR_ONE
        if off.any():
            bad = mass <= 0 if self.truth_repairs.normalize else off
            if bad.any():
                at = int(np.argmax(bad))
                problem = (
                    f"the probabilities of the outcomes sum to {mass[at]:.6g}, not to one. Name the column with "
                    "outcomes with outcome=..., or pass normalize=True to divide by the sum."
                )
                problem = problem if mass[at] > 0 else "there is no outcome."
                raise FileError(truth.source, problem, row=int(truth.rows[at]))
            divided = lists.confidences / np.repeat(np.where(off, mass, 1.0), lists.sizes)
            lists = TopLists.from_ragged(lists.offsets, lists.classes, divided, lists.space, normalize=True)
        with self._lock:
            counted = int(np.count_nonzero(off)) + sum(lists.repairs.values())
            if counted:
                self.truth_repaired["normalized"] += counted
        return lists

    def _space(self, truth: Batch) -> ClassSpace:
        return ClassSpace(_sizes(truth, str(self.sizes))) if self.coder.space is None else self.coder.space


def require_all_columns(source: Source, space: ClassSpace) -> None:
    """Columns that go by their place are either all classes, or something else."""
    columns = len(source.names)
    if columns and getattr(source.reader, "unnamed", False) and (space.per_case or columns != space.size):
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
                whole, bare = flatten.dense(dense if (np.diff(order) == 1).all() else dense[:, order], bare)
                return TopLists._admit_whole(replace(whole, **rounding), bare, None, repairs)
            codes = np.tile(codes, len(batch))
        rows, bare = flatten.ragged(batch.offsets, codes, batch.confidences, bare, None)
        return TopLists._admit(replace(rows, **rounding), bare, None, repairs)
    except CaseError as error:
        raise _named(error, batch, names, every, space, repairs) from None


def _named(
    error: CaseError, batch: Batch, names: tuple[str, ...], codes: Codes, space: ClassSpace, repairs: Repairs
) -> FileError:
    """The same error with the classes as the file names them."""
    if error.case is None:
        return _in_file(error, batch)
    lo, hi = batch.offsets[error.case], batch.offsets[error.case + 1]
    size = space.size[error.case] if space.per_case else space.size
    values = list(names) if batch.classes is None else plain(batch.classes.slice(int(lo), int(hi - lo))).to_pylist()
    own = codes.tolist() if batch.classes is None else codes[lo:hi].tolist()
    written = [";".join(map(str, value)) or "{}" if isinstance(value, list) else value for value in values]
    values = [written[own.index(code)] for code in own]  # a set is one class, however its labels are ordered
    try:
        TopLists.from_ragged(
            [0, len(values)],
            values,
            batch.confidences[lo:hi],
            ClassSpace(size),
            units=repairs.units,
            normalize=repairs.normalize,
            duplicates=repairs.duplicates,
        )
    except CaseError as again:
        again.case = error.case
        for value in (value for value in values if len(repr(value)) > len(shown(value))):
            again.problem = again.problem.replace(repr(value), shown(value))
        return _in_file(again, batch)
    except TopListError:
        pass
    return _in_file(error, batch)


def _in_file(error: CaseError, batch: Batch) -> FileError:
    row = None if error.case is None else int(batch.rows[error.case])
    where = ""
    if error.case is not None and batch.ids is not None:
        where = f"case {shown(batch.ids[error.case].as_py())}: "
    return FileError(batch.source, f"{where}{error.problem} {error.remedy}".rstrip(), row=row)


def _require_outcomes(truth: Batch, sets: str | None) -> None:
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


def _sizes(truth: Batch, name: str) -> Any:
    column = truth.extra[name].to_pylist()
    out = []
    for row, value in zip(truth.rows, column, strict=True):
        size = _whole(value)
        if size < 1:
            raise FileError(truth.source, f"{shown(value)} in {shown(name)} is no number of classes.", row=int(row))
        out.append(size)
    return np.array(out, dtype=np.int64 if max(out, default=0) < 2**53 else object)


Table = tuple[Any, Any, Any, ClassSpace, NDArray[Any] | None, int, dict[str, Any]]


def from_table(what: Any, space: Any, hints: Hints) -> Table:
    """Offsets, classes (codes or names), confidences, the space, the case ids, how many had a blank left out, rounding.

    The last is what `Rows` knows of it.
    """
    source = open_source(what, "frame", hints)
    batches = list(source.batches(together=True))
    if space is None and not source.names:
        raise ShapeError(
            "how many classes are there?", "Give the space: a number, math.inf or ClassSpace(labels=[...])."
        )
    known = ClassSpace(labels=source.names) if space is None else as_space(space)
    sizes = np.concatenate([np.diff(batch.offsets) for batch in batches]) if batches else np.zeros(0, np.int64)
    offsets = np.concatenate((np.zeros(1, np.int64), np.cumsum(sizes)))
    t = np.concatenate([batch.confidences for batch in batches]) if batches else np.zeros(0)
    names = [name for batch in batches for name in _names(batch, source)]
    if known.labels is not None and names and isinstance(names[0], str):
        names = _as_labels(names, known)
    ids = None
    if batches and batches[0].ids is not None:
        pa = need("pyarrow")
        ids = np.array(pa.chunked_array([batch.ids for batch in batches]).to_pylist())
    dropped = sum(int(np.count_nonzero(batch.halves.any(axis=1))) for batch in batches if batch.halves is not None)
    return offsets, np.array(names) if names else np.zeros(0, np.int64), t, known, ids, dropped, rounding_of(batches)


def _names(batch: Batch, source: Source) -> list[Any]:
    if batch.classes is None:
        return list(source.names) * len(batch)
    named: list[Any] = plain(batch.classes).to_pylist()
    return named


def _as_labels(names: list[str], space: ClassSpace) -> list[Any]:
    """Text from a file as the labels of the space, which may be numbers."""
    labels = {str(label): label for label in space.labels or ()}
    unknown = next((name for name in names if name not in labels), None)
    if unknown is not None:
        raise ClassError(f"class {unknown!r} is not among the labels of the space.", space.suggest(unknown))
    return [labels[name] for name in names]
