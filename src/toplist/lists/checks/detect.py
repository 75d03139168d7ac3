"""Detect data-quality issues in unvalidated rows, case by case."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from toplist._typing import Bools, Floats
from toplist.core import flags
from toplist.core.kernel import Rows
from toplist.lists.error_messages import SENTINEL
from toplist.lists.labelsets import LabelSets, Sets
from toplist.lists.space import ClassSpace
from toplist.lists.toplists import TopLists
from toplist.lists.validation import exponentiate, from_percent, gather, inspect, row_sums


class Names(Protocol):
    """What the cases of one batch are called."""

    def case(self, at: int, position: int) -> str:
        """The id of a case, or its position."""
        ...


def text(value: Any) -> str:
    """A name on one line; label sets in the order of their labels, whatever order they came in.

    >>> text({"b", "a"}), text(3), text(np.str_("x"))
    ('{a, b}', '3', 'x')
    """
    if isinstance(value, set | frozenset | list | tuple):
        return "{" + ", ".join(sorted(map(str, value))) + "}"
    return str(value)


@dataclass(frozen=True, slots=True)
class MemoryNames:
    """Names of predictions in memory: classes by the labels of their space, cases by their ids or positions.

    >>> names = MemoryNames(ClassSpace(labels=["cat", "dog"]), y=["fox"])
    >>> names.case(0, 41), names.classes(0, [1]), names.outcome(0, -1)
    ('41', ['dog'], 'fox')
    """

    space: ClassSpace
    ids: Any = None
    y: Any = None  # outcomes as they were given, which may be no class that is listed

    def case(self, at: int, position: int) -> str:
        """See `Names`."""
        return str(position) if self.ids is None else text(self.ids[at])

    def classes(self, at: int, codes: Sequence[int]) -> list[str]:
        """The names of classes that a case lists."""
        return [text(self.space.decode(int(code))) for code in codes]

    def outcome(self, at: int, code: int) -> str:
        """The name of the outcome of a case."""
        space, y = self.space, self.y
        digest = isinstance(space, LabelSets) and space.digests
        if (code >= 0 and not digest) or y is None or isinstance(y, TopLists):
            return self.classes(at, [code])[0] if code >= 0 else "a class that is never listed"
        if isinstance(space, LabelSets) and (isinstance(y, Sets) or hasattr(y, "tocsr")):
            return text(space.named(space.sets(y).take([at]))[0])
        given = y[at] if isinstance(y, list | tuple) else np.asarray(y)[at]
        if isinstance(space, LabelSets) and isinstance(given, np.ndarray):
            given = {name for name, there in zip(space.names, given, strict=True) if there}
        return text(given)


K = TypeVar("K")
_BAD: Final = flags.NOT_FINITE | flags.NEGATIVE | flags.ABOVE_ONE
KINDS: Final = {
    flags.NOT_FINITE: "not finite",
    flags.NEGATIVE: "negative",
    flags.ABOVE_ONE: "above one",
    flags.TWICE: "class twice",
    flags.TOO_LONG: "too many classes",
    flags.OUTSIDE: "class outside the space",
    flags.NOT_FULL: "incomplete distribution",
    flags.MASS: "mass above one",
}
"""The issue that each flag of validation is, in the order in which validation raises them."""


@dataclass(frozen=True, slots=True)
class CaseFlags:
    """What was detected in the unvalidated cases of one batch."""

    rows: Rows  # confidences as probabilities
    largest: float  # of the numbers as they were given, if they are finite
    sums: Floats  # of all that a case lists
    flags: NDArray[np.uint16]  # what validation finds before any repair
    kinds: Mapping[str, Bools]

    @property
    def sizes(self) -> NDArray[np.int64]:
        """How many classes each case lists."""
        return np.diff(self.rows.offsets)


def detect(rows: Rows, scale: str = "probability") -> CaseFlags:
    """Which unvalidated cases have which issue."""
    written = rows.confidences
    if scale == "log":
        with np.errstate(over="ignore"):
            rows = exponentiate(rows)
        rows = replace(rows, confidences=np.where(written <= SENTINEL, written, rows.confidences))
    elif scale == "percent":
        rows = from_percent(rows)
    with np.errstate(invalid="ignore", over="ignore"):
        found = inspect(rows)[1]
        t, sizes = rows.confidences.astype(np.float64), np.diff(rows.offsets)
        sums = row_sums(t, rows.offsets)
        kinds = {kind: (found & bit) > 0 for bit, kind in KINDS.items()}
        sound = (found & _BAD) == 0
        kinds["mass above one"] &= (found & (flags.NOT_FINITE | flags.NEGATIVE)) == 0
        kinds["incomplete distribution"] &= sound
        kinds["too many classes"] = _too_long(rows, found)
        kinds |= _shapes(rows, t, sizes)
        kinds["invalid"] = _invalid(rows, found) & sound & ~kinds["mass above one"]
        kinds["percent"], kinds["logs"] = _wrong_scale(written, rows, scale)
        off = np.where(sizes == rows.size, np.abs(1.0 - sums) > 0.01, sums > 1.01) & (sizes > 0)
    kinds["off"], kinds["sound"] = off & sound, sound & (sizes > 0)
    largest = float(written.max(initial=-np.inf, where=np.isfinite(written)))
    return CaseFlags(rows, largest, sums, found, kinds)


def _shapes(rows: Rows, t: Floats, sizes: NDArray[np.int64]) -> dict[str, Bools]:
    some = sizes > 0
    zeros = row_sums(t == 0, rows.offsets)
    return {
        "empty list": ~some,
        "list of zeros": some & (zeros == sizes),
        "listed zero": some & (zeros > 0) & (zeros < sizes),
        "short": some & (sizes < rows.size),
        "fractional": row_sums((t != 0) & (t != 1), rows.offsets) > 0,
    }


def _invalid(rows: Rows, found: NDArray[np.uint16]) -> Bools:
    """Lists with a confidence below the proxy; a class that is there twice counts once, as it comes first."""
    invalid = (found & flags.INVALID) > 0
    again = np.flatnonzero(found & flags.TWICE)
    if not len(again) or rows.classes is None:
        return invalid
    invalid[again] = (inspect(_once(rows, again))[1] & flags.INVALID) > 0
    return invalid


def _too_long(rows: Rows, found: NDArray[np.uint16]) -> Bools:
    """Lists with more classes than there are, each counted once."""
    long = (found & flags.TOO_LONG) > 0
    again = np.flatnonzero(long & ((found & flags.TWICE) > 0))
    if len(again) and rows.classes is not None:
        once = _once(rows, again)
        long[again] = np.diff(once.offsets) > once.size
    return long


def _once(rows: Rows, cases: NDArray[np.intp]) -> Rows:
    """Some cases, each class of which is there once, as it comes first."""
    part = gather(rows, cases)
    case = np.repeat(np.arange(len(cases)), np.diff(part.offsets))
    codes = np.zeros(0, np.int64) if part.classes is None else part.classes
    order = np.lexsort((np.arange(len(case)), codes, case))
    first = np.ones(len(order), bool)
    first[1:] = (np.diff(case[order]) != 0) | (np.diff(codes[order]) != 0)
    keep = np.sort(order[first])
    offsets = np.concatenate((np.zeros(1, np.int64), np.cumsum(np.bincount(case[keep], minlength=len(cases)))))
    return replace(part, offsets=offsets, classes=codes[keep], confidences=part.confidences[keep])


def _wrong_scale(written: NDArray[Any], rows: Rows, scale: str) -> tuple[Bools, Bools]:
    """Cases whose numbers would do as percentages, and those that would as logarithms."""
    offsets, sizes, n = rows.offsets, np.diff(rows.offsets), len(rows)
    nothing = np.zeros(n, bool)
    if scale != "probability":
        return nothing, nothing
    v = written.astype(np.float64, copy=False)
    some = sizes > 0
    high, low = np.full(n, -np.inf), np.full(n, np.inf)
    starts = offsets[:-1][some]
    if len(starts):
        high[some], low[some] = np.fmax.reduceat(v, starts), np.fmin.reduceat(v, starts)
    sums = row_sums(v, offsets)
    likely = (sums <= 150) & ((sizes < rows.size) | (sums >= 80))  # complete lists of counts are no percentages
    percent = some & (high > 1 + 1e-6) & (high <= 100) & (low >= 0) & likely
    logs = some & (high <= 0) & (low < -1e-6) & (low > SENTINEL)
    if logs.any():
        logs &= row_sums(np.where(v <= 0, np.exp(np.minimum(v, 0)), 0.0), offsets) <= 1 + 1e-3
    return percent, logs


def summed(a: Mapping[K, int], b: Mapping[K, int]) -> dict[K, int]:
    """Counts of both, by key."""
    return {key: a.get(key, 0) + b.get(key, 0) for key in {**a, **b}}
