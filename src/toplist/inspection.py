"""What is in a file, and what is wrong with it: every case is looked at, nothing is raised at the first problem."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from toplist import flags, kernel
from toplist.errors import FileError, TopListError
from toplist.evaluation import lists_of
from toplist.io.batches import Batch
from toplist.io.coding import Coder
from toplist.io.sources import Source
from toplist.lists.door import Repairs
from toplist.space import ClassSpace, show_size

_NAMES = {
    flags.NOT_FINITE: "not finite",
    flags.NEGATIVE: "negative",
    flags.ABOVE_ONE: "above one",
    flags.TOO_LONG: "too many classes",
    flags.OUTSIDE: "class outside the space",
    flags.TWICE: "class twice",
    flags.NOT_FULL: "incomplete distribution",
    flags.MASS: "mass above one",
}


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
    problems: list[Problem] = field(default_factory=list)

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
        }


def inspect(
    source: Source,
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
    coder = Coder(known, False, sets)
    counts: Counter[int] = Counter()
    firsts: dict[int, str] = {}
    seen: set[Any] = set()
    try:
        for batch in source.batches(together=True):
            _look(batch, source, coder, known, repairs, found, counts, firsts)
            _require_new(batch, seen)
            found.cases += len(batch)
            progress("checking", found.cases, source.reader.rows)
    except TopListError as error:
        found.problems.append(Problem("unreadable", 0, str(error)))
    found.problems += [Problem(_NAMES[bit], counts[bit], firsts[bit]) for bit in _NAMES if counts[bit]]
    return found


def _look(
    batch: Batch,
    source: Source,
    coder: Coder,
    space: ClassSpace,
    repairs: Repairs,
    found: Findings,
    counts: Counter[int],
    firsts: dict[int, str],
) -> None:
    """Good batches at once; in others, the bad cases one by one."""
    codes = coder.own_codes(batch, source.names)
    try:
        lists = lists_of(batch, source.names, codes, space, repairs)
    except FileError:
        good = np.ones(len(batch), bool)
        flagged = _flags(batch, codes, space, repairs)
        for bit in _NAMES:
            cases = np.flatnonzero(flagged & bit)
            counts[bit] += len(cases)
            good[cases] = False
            if len(cases) and bit not in firsts:
                firsts[bit] = _sentence(batch, source, codes, int(cases[0]), space, repairs)
        if good.all():
            raise
        return
    found.sizes.update(dict(zip(*(a.tolist() for a in np.unique(lists.sizes, return_counts=True)), strict=True)))
    found.mass += float(lists.mass.sum())
    found.invalid += int(np.count_nonzero(~lists.is_valid()))


def _flags(batch: Batch, codes: Any, space: ClassSpace, repairs: Repairs) -> Any:
    t = batch.confidences
    t = t / t.dtype.type(100) if repairs.units == "percent" else np.exp(t) if repairs.units == "log" else t
    classes = np.tile(codes, len(batch)) if batch.classes is None else codes
    size, log_size = space.as_floats
    rows = kernel.Rows(batch.offsets, np.ascontiguousarray(classes), np.ascontiguousarray(t), None, size, log_size)
    return kernel.inspect(rows)[1]


def _sentence(batch: Batch, source: Source, codes: Any, case: int, space: ClassSpace, repairs: Repairs) -> str:
    one = batch.part(case, case + 1)
    own = codes if batch.classes is None else codes[batch.offsets[case] : batch.offsets[case + 1]]
    try:
        lists_of(one, source.names, own, space, repairs)
    except TopListError as error:
        return str(error)
    return ""


def _require_new(batch: Batch, seen: set[Any]) -> None:
    if batch.ids is None:
        return
    for row, name in zip(batch.rows, batch.ids.to_pylist(), strict=True):
        if name in seen:
            raise FileError(batch.source, f"case {name!r} is there twice.", row=int(row))
        seen.add(name)
