"""What was promised and what came of it, by the size of the promise: the numbers of a reliability diagram."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from toplist import kernel
from toplist.tally.exact import UNIT, Integers, exact_sums

Floats = NDArray[np.float64]
BINS = 20
_NONE = np.zeros(0, np.int32)


@dataclass(frozen=True, slots=True)
class Bin:
    """What was promised and what came of it, among confidences of about one size."""

    low: float
    high: float
    count: int
    promised: float  # the mean of the confidences
    kept: float  # how often what they were given to happened


@dataclass(frozen=True, slots=True)
class Bins:
    """Twenty bins of one width over [0, 1]: how many promises, and exact sums of what they promised and kept.

    Bin i has the promises with floor(20 x) = i, and the last one those of exactly 1 too.
    """

    count: tuple[int, ...] = (0,) * BINS
    promised: tuple[int, ...] = (0,) * BINS
    kept: tuple[int, ...] = (0,) * BINS

    def __add__(self, other: Bins) -> Bins:
        return Bins(
            _added(self.count, other.count), _added(self.promised, other.promised), _added(self.kept, other.kept)
        )

    def findings(self) -> tuple[Bin, ...]:
        """Means by bin; those without a promise are left out.

        >>> Bins.of(np.array([1.0, 0.5]), np.array([True, False])).findings()[0]
        Bin(low=0.5, high=0.55, count=1, promised=0.5, kept=0.0)
        """
        return tuple(
            Bin(i / BINS, (i + 1) / BINS, count, mean(self.promised[i], count), mean(self.kept[i], count))
            for i, count in enumerate(self.count)
            if count
        )

    @classmethod
    def of(cls, promised: Floats, kept: NDArray[Any]) -> Bins:
        """The bins of promises in [0, 1]; what was kept is yes or no, or a probability."""
        which = bin_of(promised)
        if kept.dtype == bool:
            made = sums_by(promised[None, :], which, BINS)
            return cls(_counts(which), tuple(made[:, 0].tolist()), _units(which[kept]))
        made = sums_by(np.stack([promised, kept]), which, BINS)
        return cls(_counts(which), tuple(made[:, 0].tolist()), tuple(made[:, 1].tolist()))

    @classmethod
    def of_listed(cls, t: Floats, sizes: NDArray[np.int64] | None, happened: Floats) -> Bins:
        """Bins of the confidences in a slab, and those among them that were given to what `happened`.

        `sizes` are the lengths of its lists where some are filled up.
        """
        which = bin_of(t)
        if sizes is not None:
            which[np.arange(len(t))[:, None] >= sizes] = BINS
        which = which.reshape(-1)
        made = sums_by(t.reshape(1, -1), which, BINS + 1)
        return cls(_counts(which), tuple(made[:BINS, 0].tolist()), _units(bin_of(happened)))


def bin_of(x: Floats) -> NDArray[np.int32]:
    """The number of the bin."""
    which = (x * float(BINS)).astype(np.int32)
    return np.minimum(which, BINS - 1, out=which)


def sums_by(columns: Floats, codes: NDArray[np.int32] | None, groups: int) -> Integers:
    """The exact sum of each column by group, as (groups, columns); codes are from zero to groups, few of them."""
    made = kernel.accumulate(columns, _NONE, _NONE, codes, groups)
    if made is None:
        return exact_sums(columns, (), codes, groups)
    raw, size = made.tobytes(), made.shape[2]
    out = np.empty(groups * len(columns), object)
    out[:] = [int.from_bytes(raw[at : at + size], "little", signed=True) for at in range(0, len(raw), size)]
    return out.reshape(groups, len(columns))


def mean(total: int, count: int) -> float:
    """An exact sum over a count, rounded once."""
    return total / (count * UNIT)


def _counts(which: NDArray[np.int32]) -> tuple[int, ...]:
    return tuple(np.bincount(which, minlength=BINS)[:BINS].tolist())


def _units(which: NDArray[np.int32]) -> tuple[int, ...]:
    return tuple(count * UNIT for count in _counts(which))


def _added(a: tuple[int, ...], b: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(map(int.__add__, a, b))


def averages(bins: Iterable[Bin]) -> tuple[float, float] | None:
    """The mean of what was promised and of what was kept, over all bins; None where they are empty.

    >>> averages([Bin(0.0, 0.5, 1, 0.25, 0.0), Bin(0.5, 1.0, 3, 0.75, 1.0)])
    (0.625, 0.75)
    """
    filled = [b for b in bins if b.count]
    total = sum(b.count for b in filled)
    if not total:
        return None
    return sum(b.count * b.promised for b in filled) / total, sum(b.count * b.kept for b in filled) / total
