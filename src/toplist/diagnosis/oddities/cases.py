"""What is odd about single cases: one true or false for each case and kind, from one pass over unchecked rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from toplist import flags
from toplist.kernel import Rows
from toplist.lists.admitted import row_sums
from toplist.lists.complaints import SENTINEL
from toplist.lists.sources import exponentiate, from_percent
from toplist.validity import doubles, gather, inspect

Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]
DIGITS: Final = (1, 2, 3, 4)  # to which confidences may have been rounded
EDGES: Final = (1e-6, 1e-5, 1e-4, 1e-3, 2e-3, 5e-3, 0.01, 0.02, 0.05, 0.1, 0.2)  # where lists may have been cut
_BAD: Final = flags.NOT_FINITE | flags.NEGATIVE | flags.ABOVE_ONE
_BITS: Final = {
    "not finite": flags.NOT_FINITE,
    "negative": flags.NEGATIVE,
    "above one": flags.ABOVE_ONE,
    "too many classes": flags.TOO_LONG,
    "class outside the space": flags.OUTSIDE,
    "class twice": flags.TWICE,
}


@dataclass(frozen=True, slots=True)
class Cases:
    """The cases of one batch, looked at but not checked."""

    rows: Rows  # confidences as probabilities
    written: NDArray[Any]  # the same numbers as they were given
    impossible: Bools  # which of them are finite and no confidence, in the units that they are in
    sums: Floats  # of all that a case lists
    kinds: Mapping[str, Bools]
    misses: tuple[int, ...]  # masses that miss one by no more than rounding to so many DIGITS does
    least: Floats  # the smallest confidence above zero of each case, infinite where there is none

    @property
    def sizes(self) -> NDArray[np.int64]:
        """How many classes each case lists."""
        return np.diff(self.rows.offsets)

    @property
    def edges(self) -> tuple[int, ...]:
        """How many lists end a little above each of EDGES."""
        return tuple(int(np.count_nonzero((self.least >= edge) & (self.least < 1.1 * edge))) for edge in EDGES)


def look(rows: Rows, units: str = "probability") -> Cases:
    """Look at unchecked rows whose numbers are in these units."""
    written = rows.confidences
    finite = np.isfinite(written)
    top = {"probability": 1.0, "percent": 100.0, "log": 0.0}[units]
    impossible = finite & (written > top + max(top, 1.0) * 1e-6)
    impossible |= finite & ((written <= SENTINEL) if units == "log" else (written < -top * 1e-6))
    if units == "log":
        with np.errstate(over="ignore"):
            rows = exponentiate(rows)
        rows = replace(rows, confidences=np.where(written <= SENTINEL, written, rows.confidences))
    elif units == "percent":
        rows = from_percent(rows)
    with np.errstate(invalid="ignore", over="ignore"):
        found = inspect(rows)[1]
        t, sizes = doubles(rows), np.diff(rows.offsets)
        sums = row_sums(t, rows.offsets)
        kinds = {kind: (found & bit) > 0 for kind, bit in _BITS.items()}
        sound = (found & _BAD) == 0
        kinds["mass above one"] = ((found & flags.MASS) > 0) & ((found & (flags.NOT_FINITE | flags.NEGATIVE)) == 0)
        kinds["incomplete distribution"] = ((found & flags.NOT_FULL) > 0) & sound
        kinds["too many classes"] = _too_long(rows, found)
        kinds |= _shapes(rows, t, sizes)
        kinds["invalid"] = _invalid(rows, found) & sound & ~kinds["mass above one"]
        kinds["percent"], kinds["logs"] = _units(written, rows, units)
        wrong = kinds["mass above one"] | kinds["incomplete distribution"]
        near = np.abs(1.0 - sums)
        misses = tuple(int(np.count_nonzero(wrong & (near <= sizes * 0.5 * 10.0**-d + 1e-9))) for d in DIGITS)
        off = np.where(sizes == rows.size, near > 0.01, sums > 1.01) & (sizes > 0)
    kinds["off"], kinds["sound"] = off & sound, sound & (sizes > 0)
    return Cases(rows, written, impossible, sums, kinds, misses, _least(t, rows.offsets, sizes))


def _shapes(rows: Rows, t: Floats, sizes: NDArray[np.int64]) -> dict[str, Bools]:
    some = sizes > 0
    nothing = t == 0 if rows.log_confidences is None else rows.log_confidences == -np.inf  # not what underflows
    zeros = row_sums(nothing, rows.offsets)
    single = some & (sizes == 1)
    sure = np.zeros(len(sizes), bool)
    sure[single] = t[rows.offsets[:-1][single]] == 1
    rises = np.zeros(len(sizes), bool)
    if rows.classes is not None and len(t) > 1:
        up = np.flatnonzero(t[1:] > t[:-1]) + 1
        case = np.searchsorted(rows.offsets, up, side="right") - 1
        rises[case[rows.offsets[case] < up]] = True
    return {
        "empty list": ~some,
        "list of zeros": some & (zeros == sizes),
        "listed zero": some & (zeros > 0) & (zeros < sizes),
        "hard": sure,
        "short": some & (sizes < rows.size),
        "not in falling order": rises,
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
    logs = None if part.log_confidences is None else part.log_confidences[keep]
    t = part.confidences[keep]
    return replace(part, offsets=offsets, classes=codes[keep], confidences=t, log_confidences=logs)


def _units(written: NDArray[Any], rows: Rows, units: str) -> tuple[Bools, Bools]:
    """Cases whose numbers would do as percentages, and those that would as logarithms."""
    offsets, sizes, n = rows.offsets, np.diff(rows.offsets), len(rows)
    nothing = np.zeros(n, bool)
    if units != "probability":
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


def _least(t: Floats, offsets: NDArray[np.int64], sizes: NDArray[np.int64]) -> Floats:
    least = np.full(len(sizes), np.inf)
    some = sizes > 0
    if some.any():
        least[some] = np.fmin.reduceat(np.where(t > 0, t, np.inf), offsets[:-1][some])
    return least
