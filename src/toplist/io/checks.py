"""Data-quality issues of a file or frame, counted batch by batch, and the names that it gives to cases and classes."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from toplist._files import need
from toplist._text import quote
from toplist._typing import Bools, Codes, Progress
from toplist.core import flags
from toplist.core.kernel import Rows
from toplist.errors import FileError, ResourceError, SpaceError, TopListError
from toplist.io.batches import Batch
from toplist.io.columns import as_numpy, plain, truths
from toplist.io.encoding import EMPTY_REMEDY, ClassEncoder, empty_set_explained, has_integers, within_case
from toplist.io.lists import lists_of, require_all_columns
from toplist.io.sources import OpenTable
from toplist.lists import TopLists
from toplist.lists.checks import Issue, ListSummary, QualityCounts, repaired_kinds
from toplist.lists.checks.detect import KINDS, Names, detect, text
from toplist.lists.space import ClassSpace
from toplist.lists.validation import Repairs


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
    _foreign: str = ""  # the error of the first class that is not in the space
    _crowded: str = ""  # that more classes are named than there are
    _seen: set[Any] = field(default_factory=set)
    _coder: ClassEncoder | None = None

    def add(self, batch: Batch) -> None:
        """Count the issues of a batch that was read with `halves`, and sum up the lists that can be scored."""
        codes = self._codes(batch)
        start, n = self.counts.cases, len(batch)
        also = {"case twice": self._twice(batch), **_blanks(batch)}
        if self.source.layout.kind in ("wide", "long"):  # the one is not in order, the other was brought into it
            also["not in falling order"] = np.zeros(n, bool)
        self.counts += QualityCounts.of(
            rows_of(batch, codes, self.space),
            self.space,
            scale=self.repairs.scale,
            ranked=self.source.layout.kind == "ranked",
            position=np.arange(start, start + n),
            names=for_predictions(batch, self.source.names, codes),
            also=also,
        )
        self.scorable += ListSummary.of(self._scorable(batch, codes))

    def issues(self) -> tuple[Issue, ...]:
        """All issues, each with an example where there is one; a repair that does not succeed blocks."""
        of = self.counts.cases
        whole = (
            ("unreadable", self.unreadable),
            ("more names than classes", self._crowded),
            ("class outside the space", "" if self._coder is None else str(self._coder.stray() or "")),
        )
        made = [
            replace(one, example=self._examples[one.kind]) if one.kind in self._examples else one
            for one in self.counts.issues(repaired=repaired_kinds(self.repairs) - set(self._examples))
        ]
        issues = (*(Issue(kind, 0, of, error, True, "", error) for kind, error in whole if error), *made)
        return tuple(sorted(issues, key=lambda one: not one.blocking))

    def _codes(self, batch: Batch) -> Codes:
        """Codes that tell the classes of each case apart, those outside the space from its size on."""
        names = self.source.names
        self._coder = self._coder or ClassEncoder(self.space, self._whole, self.sets)
        try:
            codes = self._coder.own_codes(batch, names)
        except FileError as error:
            if self._coder.labels is None:
                raise
            self._foreign = self._foreign or str(error)
            return _with_foreign(self._coder.values(batch, names), self._coder.labels)
        except SpaceError as error:
            self._crowded = str(error)
            self._coder = ClassEncoder(ClassSpace(math.inf), False, self.sets)
            codes = self._coder.own_codes(batch, names)
        if not self._crowded:
            return codes
        if batch.classes is None:
            return np.arange(len(codes), dtype=np.int64)
        return within_case(np.repeat(np.arange(len(batch)), np.diff(batch.offsets)), codes)

    @property
    def _whole(self) -> bool:
        """Whether classes are whole numbers, which are codes where there are no labels."""
        return self.space.labels is None and self.sets is None and has_integers(self.source)

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
        """The lists that can be scored; the first case of each kind that cannot becomes an example."""
        blank: Any = np.zeros(len(batch), bool)
        if batch.halves is not None and self.repairs.blanks == "error":
            blank = batch.halves.any(axis=1)
        if not blank.any():
            try:
                return self._lists(batch, codes)
            except FileError:
                pass
        self._blank_examples(batch, blank)
        good = ~blank
        for kind, cases in self._refused(batch, codes, blank).items():
            good[cases] = False
            if len(cases) and kind not in self._examples:
                self._example(kind, self._error(batch, codes, int(cases[0])))
        if batch.classes is not None:
            codes = codes[np.repeat(good, np.diff(batch.offsets))]
        return self._lists(batch if good.all() else batch.take(np.flatnonzero(good)), codes)

    def _refused(self, batch: Batch, codes: Codes, blank: Bools) -> dict[str, NDArray[np.intp]]:
        """Cases that cannot be scored, after the repairs, by the issue that they are refused for."""
        found = detect(rows_of(batch, codes, self.space), self.repairs.scale).flags & np.uint16(flags.PROBLEMS)
        found[blank] = 0
        beyond = found & ~np.uint16(_repaired_flags(self.repairs))
        for case in np.flatnonzero((found > 0) & (beyond == 0)).tolist():
            if self._error(batch, codes, case) is not None:
                beyond[case] = found[case]
        refused = {}
        for bit, kind in KINDS.items():
            refused[kind] = np.flatnonzero(beyond & bit)
            beyond[refused[kind]] = 0
        return refused

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

    def _blank_examples(self, batch: Batch, blank: Bools) -> None:
        for kind, cases in _blanks(batch).items() if blank.any() else ():
            if cases.any() and batch.halves is not None:
                lacks = "confidence" if kind == "class without a confidence" else "class"
                remedy = f" {EMPTY_REMEDY}" if lacks == "class" and self.sets is not None else ""
                row = int(batch.halves[np.argmax(cases), 2])
                self._example(kind, FileError(batch.source, f"the {lacks} is blank.{remedy}", row=row))

    def _example(self, kind: str, error: TopListError | None) -> None:
        foreign = self._foreign if kind == "class outside the space" else ""
        self._examples.setdefault(kind, foreign or str(error or ""))


def check_file(
    source: OpenTable,
    space: ClassSpace | None,
    repairs: Repairs,
    sets: str | None = None,
    progress: Progress = lambda what, done, total: None,
) -> FileChecks:
    """The issues of every case; without a space, those that depend on the number of classes are not looked for."""
    known = ClassSpace(math.inf) if space is None else space
    if space is None and source.names:
        known = ClassSpace(labels=source.names)
    checks = FileChecks(source, known, repairs, sets)
    try:
        if space is not None:
            require_all_columns(source, space)
        with empty_set_explained(sets):
            for batch in source.batches(together=True, halves=True):
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


def _with_foreign(values: Any, labels: Any) -> Codes:
    pa, pc = need("pyarrow"), need("pyarrow.compute")
    values = plain(values)
    if pa.types.is_integer(values.type) and not pc.any(pc.match_substring_regex(labels, r"^[+-]?\d+$")).as_py():
        whole: Codes = as_numpy(values).astype(np.int64)
        return whole
    text = values if pa.types.is_string(values.type) else pc.cast(values, pa.string())
    places = pc.index_in(text, value_set=labels)
    known = ~truths(places.is_null())
    codes: Codes = len(labels) + as_numpy(text.dictionary_encode().indices).astype(np.int64)
    codes[known] = as_numpy(pc.fill_null(places, -1)).astype(np.int64)[known]
    return codes


def for_batch(
    batch: Batch, names: Sequence[str], codes: Codes, truth: Batch, truth_names: Sequence[str], outcomes: Codes
) -> Names:
    """The names of a batch of a file: `codes` and `outcomes` are what the coder made of its classes and the truth's."""
    return _InFile(_Coded(batch, names, codes), _Coded(truth, truth_names, outcomes))


def for_predictions(batch: Batch, names: Sequence[str], codes: Codes) -> Names:
    """The names of a batch of a file of predictions, beside which there is no truth."""
    nothing = replace(batch, ids=None, offsets=np.zeros(len(batch) + 1, np.int64), classes=None)
    return _InFile(_Coded(batch, names, codes), _Coded(nothing, (), np.zeros(0, np.int64)))


@dataclass(frozen=True, slots=True)
class _Coded:
    """Classes as a file names them, and their codes: of every entry, or of the columns where all are listed."""

    batch: Batch
    names: Sequence[str]
    codes: Codes
    columns: Mapping[int, str] = field(init=False)

    def __post_init__(self) -> None:
        wide = self.batch.classes is None and len(self.names)
        # Tiled where codes are counted within each case: then a column has another code in every case.
        fixed = dict(zip(self.codes.tolist(), self.names, strict=True)) if wide and self._once else {}
        object.__setattr__(self, "columns", fixed)

    @property
    def _once(self) -> bool:
        return len(self.codes) == len(self.names)

    def name(self, at: int, code: int) -> str:
        return self.several(at, [code])[0]

    def several(self, at: int, codes: Sequence[int]) -> list[str]:
        """The names of some codes of a case: one search for all, as lists may be long."""
        if self.batch.classes is None and self._once:
            return [text(self.columns.get(int(code), code)) for code in codes]
        lo, hi = int(self.batch.offsets[at]), int(self.batch.offsets[at + 1])
        own, wanted = self.codes[lo:hi], np.asarray(codes, np.int64)
        if len(codes) == 1:
            found = np.flatnonzero(own == wanted[0])
            return [self._called(lo, int(found[0])) if len(found) else text(codes[0])]
        order = np.argsort(own, kind="stable")
        places = np.searchsorted(own[order], wanted)
        there = places < len(own)
        there[there] = own[order[places[there]]] == wanted[there]
        return [
            self._called(lo, int(order[place])) if is_there else text(code)
            for code, place, is_there in zip(codes, places.tolist(), there.tolist(), strict=True)
        ]

    def _called(self, lo: int, place: int) -> str:
        return text(self.names[place] if self.batch.classes is None else self.batch.classes[lo + place].as_py())


@dataclass(frozen=True, slots=True)
class _InFile:
    lists: _Coded
    truth: _Coded

    def case(self, at: int, position: int) -> str:
        for batch in (self.lists.batch, self.truth.batch):
            if batch.ids is not None:
                return text(batch.ids[at].as_py())
        return f"row {self.truth.batch.rows[at]}"

    def classes(self, at: int, codes: Sequence[int]) -> list[str]:
        return self.lists.several(at, [int(code) for code in codes])

    def outcome(self, at: int, code: int) -> str:
        return self.truth.name(at, code)
