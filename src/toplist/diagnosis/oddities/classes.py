"""Which classes are guessed and which happen: some may be on one side only."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from toplist.diagnosis.oddities.names import Names
from toplist.kernel import Rows

_MOST: Final = 5_000  # different classes that are kept track of
_ENOUGH: Final = 30  # cases of which none is right, before that is remarkable
_RARE: Final = 0.01

Cases = Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Classes:
    """Cases by the class that is guessed first, by the class that happened, and all that are listed above zero.

    None where there are more classes than are kept track of.
    """

    first: Cases | None = None
    happened: Cases | None = None
    listed: frozenset[str] | None = None
    known: bool = False  # whether any case was looked at
    cases: int = 0
    right: int = 0  # cases whose first guess happened
    held: int = 0  # cases that list what happened above zero

    def __add__(self, other: Classes) -> Classes:
        if not (self.known and other.known):
            return self if self.known else other
        listed = None if self.listed is None or other.listed is None else self.listed | other.listed
        return Classes(
            _summed(self.first, other.first),
            _summed(self.happened, other.happened),
            None if listed is None or len(listed) > _MOST else listed,
            True,
            self.cases + other.cases,
            self.right + other.right,
            self.held + other.held,
        )

    @classmethod
    def of(cls, rows: Rows, codes: NDArray[np.int64], names: Names) -> Classes:
        """Of rows of which every case has an outcome, with codes that mean one class in all of them."""
        n = len(rows)
        if not n:
            return cls()
        top, top_cases, listed, cases = _guesses(rows)
        seen, where, _ = _once(listed, cases)
        named = None
        if len(seen) <= _MOST:
            named = frozenset(names.classes(at, [code])[0] for code, at in zip(seen, where, strict=True))
        return cls(
            _called(top, top_cases, lambda at, code: names.classes(at, [code])[0]),
            _called(codes, np.arange(n), names.outcome),
            named,
            True,
            n,
            int(np.count_nonzero(top == codes[top_cases])),
            _held(rows, codes),
        )

    @property
    def never_happen(self) -> Cases:
        """First guesses that never happen though chance would have it so, with their cases, the most frequent first."""
        return _without(self.first, self.happened, self.right, self.cases)

    @property
    def never_listed(self) -> Cases:
        """What happens, again and again, and is never listed above zero, with its cases, the most frequent first."""
        return _without(self.happened, self.listed, self.held, self.cases)


def _held(rows: Rows, codes: NDArray[np.int64]) -> int:
    """How many cases list above zero what happened."""
    t, none = (rows.confidences, 0.0) if rows.log_confidences is None else (rows.log_confidences, -np.inf)
    if rows.classes is None:
        known = np.flatnonzero(codes >= 0)
        return int(np.count_nonzero(t.reshape(len(rows), -1)[known, codes[known]] > none))
    hit = (rows.classes == np.repeat(codes, np.diff(rows.offsets))) & (t > none)
    return len(np.unique(np.repeat(np.arange(len(rows)), np.diff(rows.offsets))[hit]))


def _guesses(rows: Rows) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any], NDArray[Any]]:
    """The first guesses and their cases; all that is listed above zero, at least once, and a case that lists it."""
    n, sizes = len(rows), np.diff(rows.offsets)
    t, none = rows.confidences, 0.0
    if rows.log_confidences is not None:
        t, none = rows.log_confidences, -np.inf
    if rows.classes is None:
        p = t.reshape(n, -1)
        above = np.flatnonzero((p > none).any(axis=0))
        return p.argmax(axis=1), np.arange(n), above, np.zeros(len(above), np.int64)
    case = np.repeat(np.arange(n), sizes)
    some = np.flatnonzero(sizes)
    peaks = np.zeros(n)
    if len(some):
        peaks[some] = np.maximum.reduceat(t, rows.offsets[some])
    at = np.flatnonzero(t == peaks[case])
    at = at[np.diff(case[at], prepend=-1) > 0]
    above = np.flatnonzero(t > none)
    return rows.classes[at], case[at], rows.classes[above], case[above]


def _once(codes: NDArray[Any], cases: NDArray[Any]) -> tuple[list[int], list[int], list[int]]:
    """Every code, a case that has it, and how many there are."""
    if len(codes) and codes.min() >= 0 and codes.max() <= 2 * len(codes):  # without sorting
        counts = np.bincount(codes)
        seen = np.flatnonzero(counts)
        where = np.zeros(len(counts), np.int64)
        where[codes[::-1]] = cases[::-1]
        return seen.tolist(), where[seen].tolist(), counts[seen].tolist()
    seen, first, counts = np.unique(codes, return_index=True, return_counts=True)
    return seen.tolist(), cases[first].tolist(), counts.tolist()


def _called(codes: NDArray[Any], cases: NDArray[Any], name: Any) -> Cases | None:
    """Cases by the name of their code. Codes below zero are of classes without a code: they have names only."""
    known = codes >= 0
    seen, where, counts = _once(codes[known], cases[known])
    if len(seen) > _MOST:
        return None
    found: dict[str, int] = {}
    for code, at, count in (
        *zip(seen, where, counts, strict=True),
        *((int(code), int(at), 1) for code, at in zip(codes[~known], cases[~known], strict=True)),
    ):
        called = name(at, code)
        found[called] = found.get(called, 0) + count
    return found if len(found) <= _MOST else None


def _summed(a: Cases | None, b: Cases | None) -> Cases | None:
    if a is None or b is None:
        return None
    both = {name: a.get(name, 0) + b.get(name, 0) for name in {**a, **b}}
    return both if len(both) <= _MOST else None


def _without(these: Cases | None, those: Any, hits: int, cases: int) -> Cases:
    """Names on one side only that chance does not explain.

    Where a share of all cases is a hit, a name that is half as lucky has none in n cases with chance (1 - share / 2)^n.
    Rare names always are on one side only; without a single hit, names do not match at all.
    """
    if these is None or those is None:
        return {}
    left = [(-count, name) for name, count in these.items() if name not in those]
    if hits:
        left = [(n, name) for n, name in left if len(these) * (1.0 - 0.5 * hits / cases) ** -n <= _RARE]
    elif cases < _ENOUGH:
        left = []
    return {name: -count for count, name in sorted(left)}
