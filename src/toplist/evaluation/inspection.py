"""What is in a file, and what is wrong with it: every case is looked at, nothing is raised at the first problem."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from toplist._text import quote
from toplist.core import flags, kernel
from toplist.errors import FileError, ResourceError, TopListError
from toplist.io.batches import Batch
from toplist.io.checks import FileChecks, rows_of
from toplist.io.encoding import EMPTY_REMEDY, empty_set_explained
from toplist.io.lists import lists_of, require_all_columns
from toplist.io.sources import OpenTable
from toplist.lists import TopLists
from toplist.lists.checks import Issue, seen_to
from toplist.lists.space import ClassSpace, show_size
from toplist.lists.validation import Repairs

_NAMES = {
    flags.NOT_FINITE: "not finite",
    flags.NEGATIVE: "negative",
    flags.ABOVE_ONE: "above one",
    flags.TWICE: "class twice",
    flags.TOO_LONG: "too many classes",
    flags.OUTSIDE: "class outside the space",
    flags.NOT_FULL: "incomplete distribution",
    flags.MASS: "mass above one",
}
_LOOSE = "confidence without a class"


@dataclass(frozen=True, slots=True)
class Problem:
    """One kind of problem: how many cases have it, and the first of them in words."""

    kind: str
    cases: int
    first: str


@dataclass(slots=True)
class Findings:
    """What is in a file."""

    path: str
    layout: str
    columns: list[str]
    classes: str
    cases: int = 0
    sizes: Counter[int] = field(default_factory=Counter)
    mass: float = 0.0
    invalid: int = 0
    problems: list[Problem] = field(default_factory=list)  # of each case the first
    oddities: tuple[Issue, ...] = ()  # all that is odd, of every case

    @property
    def serious(self) -> bool:
        """Whether there is anything that cannot be scored as it is."""
        return bool(self.problems) or any(one.serious for one in self.oddities)

    def to_dict(self) -> dict[str, Any]:
        """Plain values, fit for JSON."""
        total = sum(self.sizes.values())
        return {
            "schema": "toplist.check/1",
            "file": self.path,
            "layout": self.layout,
            "columns": self.columns,
            "classes": self.classes,
            "cases": self.cases,
            "list_sizes": {str(k): n for k, n in sorted(self.sizes.items())},
            "mean_size": sum(k * n for k, n in self.sizes.items()) / total if total else None,
            "mean_mass": self.mass / total if total else None,
            "invalid": self.invalid,
            "problems": [{"kind": p.kind, "cases": p.cases, "first": p.first} for p in self.problems],
            "oddities": [one.to_dict() for one in self.oddities],
        }


def inspect(
    source: OpenTable,
    space: ClassSpace | None,
    repairs: Repairs,
    sets: str | None = None,
    progress: Callable[[str, int, int | None], None] = lambda what, done, total: None,
) -> Findings:
    """Look at every case. Without a space, what depends on the number of classes is not looked at."""
    known = ClassSpace(math.inf) if space is None else space
    found = Findings(
        source.path, source.layout.kind, source.layout.columns, "not given" if space is None else show_size(known.size)
    )
    if source.names and space is None:
        known = ClassSpace(labels=source.names)
        found.classes = f"{len(source.names)}, by the columns"
    look = _Look(source, FileChecks(source, known, repairs.units, sets), known, repairs, found)
    try:
        if space is not None:
            require_all_columns(source, space)
        with empty_set_explained(sets):
            for batch in source.batches(together=True, halves=True):
                look.at(batch)
                found.cases += len(batch)
                progress("checking", found.cases, source.reader.rows)
    except ResourceError:
        raise  # not the file's fault
    except TopListError as error:
        found.problems.append(Problem("unreadable", 0, str(error)))
    if look.looking.crowded:
        found.problems.append(Problem("more names than classes", 0, look.looking.crowded))
    if look.looking.stray:
        found.problems.append(Problem("class outside the space", 0, look.looking.stray))
    found.problems += [Problem(kind, look.counts[kind], first) for kind, first in look.firsts.items()]
    found.oddities = look.looking.findings(repaired=seen_to(repairs))
    return found


@dataclass(slots=True)
class _Look:
    """A look at batch after batch: what is good goes into the findings, what is bad is counted by its kind."""

    source: OpenTable
    looking: FileChecks
    space: ClassSpace
    repairs: Repairs
    found: Findings
    counts: Counter[str] = field(default_factory=Counter)
    firsts: dict[str, str] = field(default_factory=dict)

    def at(self, batch: Batch) -> None:
        """Good batches at once; in others, the bad cases one by one."""
        codes = self.looking.at(batch)
        self._twice(batch)
        half: Any = np.zeros(len(batch), bool)
        if batch.halves is not None and self.repairs.blanks == "error":
            half = batch.halves.any(axis=1)
        lists = None if half.any() else self._sound(batch, codes)
        if lists is None:
            good = self._good(batch, codes, half)
            kept = codes if batch.classes is None else codes[np.repeat(np.isin(_all(batch), good), _sizes(batch))]
            rest = batch if len(good) == len(batch) else batch.take(good)
            lists = lists_of(rest, self.source.names, kept, self.space, self.repairs)
        found = self.found
        found.sizes.update(dict(zip(*(a.tolist() for a in np.unique(lists.sizes, return_counts=True)), strict=True)))
        found.mass += float(lists.mass.sum())
        found.invalid += int(np.count_nonzero(~lists.is_valid()))

    def _sound(self, batch: Batch, codes: Any) -> TopLists | None:
        try:
            return lists_of(batch, self.source.names, codes, self.space, self.repairs)
        except FileError:
            return None

    def _good(self, batch: Batch, codes: Any, half: Any) -> Any:
        """The cases without a problem; of each other case the first problem is counted."""
        if half.any():
            self._halves(batch)
        flagged, open_ = _flags(batch, codes, self.space, self.repairs), ~half
        for bit, kind in _NAMES.items():
            cases = np.flatnonzero(open_ & ((flagged & bit) > 0))
            if bit in self._repaired():
                cases = np.array([case for case in cases if self._sentence(batch, codes, int(case))], dtype=np.int64)
            if len(cases):
                open_[cases] = False
                first = "" if kind in self.firsts else self._sentence(batch, codes, int(cases[0]))
                foreign = self.looking.foreign if bit == flags.OUTSIDE else ""
                self._count(kind, len(cases), foreign or first)
        return np.flatnonzero(open_)

    def _halves(self, batch: Batch) -> None:
        if batch.halves is None:
            return
        for column, kind, lacks in ((0, "class without a confidence", "confidence"), (1, _LOOSE, "class")):
            cases = np.flatnonzero(batch.halves[:, column])
            if len(cases):
                remedy = f" {EMPTY_REMEDY}" if lacks == "class" and self.looking.sets is not None else ""
                row = int(batch.halves[cases[0], 2])
                first = FileError(batch.source, f"the {lacks} is blank.{remedy}", row=row)
                self._count(kind, len(cases), str(first))

    def _repaired(self) -> tuple[int, ...]:
        """What may be no problem after the repairs."""
        masses = (flags.ABOVE_ONE, flags.NOT_FULL, flags.MASS) if self.repairs.normalize else ()
        return (*masses, *((flags.TWICE, flags.TOO_LONG) if self.repairs.duplicates == "sum" else ()))

    def _sentence(self, batch: Batch, codes: Any, case: int) -> str:
        one = batch.part(case, case + 1)
        own = codes if batch.classes is None else codes[batch.offsets[case] : batch.offsets[case + 1]]
        try:
            lists_of(one, self.source.names, own, self.space, self.repairs)
        except TopListError as error:
            return str(error)
        return ""

    def _twice(self, batch: Batch) -> None:
        for at in np.flatnonzero(self.looking.again).tolist():
            name = None if batch.ids is None else batch.ids[at].as_py()
            problem = FileError(batch.source, f"case {quote(name)} is there twice.", row=int(batch.rows[at]))
            self._count("case twice", 1, str(problem))

    def _count(self, kind: str, cases: int, first: str) -> None:
        self.counts[kind] += cases
        self.firsts.setdefault(kind, first)


def _all(batch: Batch) -> Any:
    return np.arange(len(batch))


def _sizes(batch: Batch) -> Any:
    return np.diff(batch.offsets)


def _flags(batch: Batch, codes: Any, space: ClassSpace, repairs: Repairs) -> Any:
    rows, t = rows_of(batch, codes, space), batch.confidences
    with np.errstate(over="ignore"):
        t = t / t.dtype.type(100) if repairs.units == "percent" else np.exp(t) if repairs.units == "log" else t
    return kernel.inspect(replace(rows, confidences=np.ascontiguousarray(t)))[1]
