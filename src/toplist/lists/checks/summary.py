"""What is odd about predictions, counted batch by batch: how the cases were split never shows.

Which oddities are seen to by a repair that was asked for, so that they stand against nothing.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from toplist.core.kernel import Rows
from toplist.lists.checks.detect import DIGITS, EDGES, CaseFlags, Classes, Names, Numbers, Plain, look
from toplist.lists.checks.issue_text import VARIES, sentences
from toplist.lists.outcomes import as_codes, is_soft
from toplist.lists.space import ClassSpace
from toplist.lists.toplists import TopLists
from toplist.lists.validation import Repairs


@dataclass(frozen=True, slots=True)
class Issue:
    """One thing that is odd: how many of the cases have it, in one sentence, and which case is the first."""

    kind: str
    cases: int
    of: int
    words: str
    serious: bool  # cannot be scored without a repair
    first: str  # what the first case is called, or nothing

    def to_dict(self) -> dict[str, Any]:
        """Plain values, fit for JSON."""
        return {name: getattr(self, name) for name in ("kind", "cases", "of", "words", "serious", "first")}


@dataclass(frozen=True, slots=True)
class Count:
    """How many cases there are of one kind, and which comes first."""

    cases: int = 0
    position: int | None = None
    name: str = ""

    def __add__(self, other: Count) -> Count:
        one, two = (self, other) if _earlier(self, other) else (other, self)
        return Count(one.cases + two.cases, one.position, one.name)


@dataclass(frozen=True, slots=True)
class QualityCounts:
    """A look at predictions as they came; adding two is adding their cases, in any order and any split.

    >>> from toplist.lists.converters import raw_rows
    >>> rows, space = raw_rows([{"cat": 0.7, "dog": 0.5}, {"cat": 0.2, "dog": 0.1}], 10)
    >>> [(found.kind, found.cases) for found in QualityCounts.of(rows, space).findings()]
    [('mass above one', 1)]
    """

    cases: int = 0
    units: str = "probability"
    ranked: bool = False  # whether lists are told to have the most confident class first
    counts: Mapping[str, Count] = field(default_factory=dict)
    numbers: Numbers = field(default_factory=Numbers)
    sizes: Mapping[int, int] = field(default_factory=dict)
    classes: Classes = field(default_factory=Classes)
    sums: tuple[float, float] = (np.inf, -np.inf)  # the smallest and the largest, of lists that are not empty
    misses: tuple[int, ...] = (0,) * len(DIGITS)
    least: float = np.inf
    edges: tuple[int, ...] = (0,) * len(EDGES)
    pattern: bytes = b""  # the digest of the one list that all cases have

    def __add__(self, other: QualityCounts) -> QualityCounts:
        if not (self.cases and other.cases):
            return self if self.cases else other
        return QualityCounts(
            self.cases + other.cases,
            self.units,
            self.ranked,
            {kind: self.count(kind) + other.count(kind) for kind in {**self.counts, **other.counts}},
            self.numbers + other.numbers,
            {k: self.sizes.get(k, 0) + other.sizes.get(k, 0) for k in {**self.sizes, **other.sizes}},
            self.classes + other.classes,
            (min(self.sums[0], other.sums[0]), max(self.sums[1], other.sums[1])),
            tuple(a + b for a, b in zip(self.misses, other.misses, strict=True)),
            min(self.least, other.least),
            tuple(a + b for a, b in zip(self.edges, other.edges, strict=True)),
            self.pattern if self.pattern == other.pattern else VARIES,
        )

    def count(self, kind: str) -> Count:
        """The cases of one kind, serious or not."""
        return self.counts.get(kind, Count())

    @classmethod
    def of(
        cls,
        rows: Rows,
        space: ClassSpace,
        *,
        units: str = "probability",
        ranked: bool = False,
        position: NDArray[Any] | None = None,
        names: Names | None = None,
        codes: NDArray[np.int64] | None = None,
        also: Mapping[str, NDArray[np.bool_]] | None = None,
        local: bool = False,
    ) -> QualityCounts:
        """Look at unchecked rows.

        `position` says where each case stands among all (else from 0), `codes` what happened, `also` which cases have
        a kind of oddity that is not in the rows: "case twice", "class without a confidence", "confidence without a
        class". `local` codes mean another class in every case.
        """
        n = len(rows)
        found, where = look(rows, units), np.arange(n) if position is None else position
        called: Names = Plain(space) if names is None else names
        kinds = {**found.kinds, **(also or {})}
        filled = found.sums[found.sizes > 0]
        classes = Classes() if codes is None or local else Classes.of(found.rows, codes, called)
        lengths = np.unique(found.sizes, return_counts=True)
        return cls(
            n,
            units,
            ranked,
            {kind: _counted(which, where, called) for kind, which in kinds.items() if which.any()},
            Numbers.of(found.written, found.rows.confidences, found.impossible),
            dict(zip(*(column.tolist() for column in lengths), strict=True)),
            classes,
            (float(np.fmin.reduce(filled, initial=np.inf)), float(np.fmax.reduce(filled, initial=-np.inf))),
            found.misses,
            float(found.least.min(initial=np.inf)),
            found.edges,
            VARIES if local and n > 1 else _pattern(found, called),
        )

    @classmethod
    def at(
        cls,
        lists: TopLists,
        codes: NDArray[np.int64] | None = None,
        *,
        y: Any = None,
        ranked: bool = False,
        position: NDArray[Any] | None = None,
        names: Names | None = None,
        local: bool = False,
    ) -> QualityCounts:
        """Look at lists that passed the door, beside what happened or the codes of it; a soft truth is not looked at.

        >>> lists = TopLists.from_dicts([{"cat": 0.7, "dog": 0.1}] * 30, 10)
        >>> [found.words for found in QualityCounts.at(lists, y=["fox"] * 30).findings() if found.kind == "never listed"]
        ["All 30 cases have an outcome that is never listed: 'fox'."]
        """
        if codes is None and y is not None and not is_soft(y, lists.space):
            codes = as_codes(y, lists)
        return cls.of(
            lists.admitted.rows,
            lists.space,
            ranked=ranked,
            position=position,
            names=Plain(lists.space, lists.ids, y) if names is None else names,
            codes=codes,
            local=local or lists.space.per_case,
        )

    def findings(self, *, repaired: Collection[str] = ()) -> tuple[Issue, ...]:
        """All that is odd, what cannot be scored first; kinds in `repaired` are seen to and no longer serious."""
        made = []
        for said in sentences(self):
            done = said.serious and said.kind in repaired
            words = f"{said.words} This is repaired here, as was asked for." if done else said.words
            made.append(Issue(said.kind, said.cases, self.cases, words, said.serious and not done, said.first))
        return tuple(sorted(made, key=lambda one: not one.serious))


def _earlier(one: Count, two: Count) -> bool:
    if one.position is None or two.position is None:
        return two.position is None
    return (one.position, one.name) <= (two.position, two.name)


def _counted(which: NDArray[np.bool_], where: NDArray[Any], names: Names) -> Count:
    cases = np.flatnonzero(which)
    at = int(cases[np.argmin(where[cases])])
    return Count(len(cases), int(where[at]), names.case(at, int(where[at])))


def _pattern(found: CaseFlags, names: Names) -> bytes:
    """The digest of the list that all cases of a batch have, if they have one."""
    rows, n, sizes = found.rows, len(found.rows), found.sizes
    if not n:
        return b""
    k = int(sizes[0])
    if (sizes != k).any():
        return VARIES
    for values in (rows.confidences, rows.classes):
        table = None if values is None else values.reshape(n, k)
        if table is not None and ((table[:2] != table[0]).any() or (table != table[0]).any()):
            return VARIES
    codes = range(k) if rows.classes is None else rows.classes[:k].tolist()
    text = "\x1f".join(names.classes(0, list(codes))).encode("utf-8", "surrogatepass")
    return hashlib.blake2b(text + rows.confidences[:k].astype(np.float64).tobytes(), digest_size=16).digest()


_MASSES: Final = (
    "above one",
    "mass above one",
    "incomplete distribution",
    "looks like percent",
    "looks like marginals",
)
_BLANKS: Final = ("class without a confidence", "confidence without a class")


def seen_to(repairs: Repairs) -> frozenset[str]:
    """The kinds that repairs take care of.

    >>> sorted(seen_to(Repairs(duplicates="sum")))
    ['class twice']
    """
    return frozenset(
        (
            *(_MASSES if repairs.normalize else ()),
            *(("class twice",) if repairs.duplicates == "sum" else ()),
            *(_BLANKS if repairs.blanks == "drop" else ()),
        )
    )
