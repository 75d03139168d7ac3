"""Pairs of confidence and hit in bins of one width, with exact sums: bins of disjoint pairs can be added."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from toplist._typing import Bools, Codes, Floats
from toplist.core.exact_sums import UNIT, exact_sums, sums_by
from toplist.core.isotonic import TiedGroups

Column = tuple[int, ...]
BINS: Final = 20


@dataclass(frozen=True, slots=True)
class Bin:
    """The pairs of confidence and hit whose confidence is in one bin.

    Attributes
    ----------
    low, high : float
        The bounds of the bin.
    count : int
        How many pairs there are.
    mean_confidence, hit_rate : float
        The mean of the confidences, and how often their classes are the outcome.

    """

    low: float
    high: float
    count: int
    mean_confidence: float
    hit_rate: float


@dataclass(frozen=True, slots=True)
class Bins:
    """Sums by bin: of weights, confidences and hits and, if asked for, of squared confidences and confidences of hits.

    Bin i of n has the confidences with floor(n x) = i, and the last one those of exactly 1 too. Sums are whole numbers
    in units of the smallest double, so that how the pairs were split does not matter.
    """

    columns: tuple[Column, ...] = ((0,) * BINS,) * 3

    @classmethod
    def zeros(cls, n: int, *, products: bool = False) -> Bins:
        """So many empty bins."""
        return cls(((0,) * n,) * (5 if products else 3))

    @classmethod
    def of(cls, x: Floats, hit: NDArray[Any], n: int = BINS) -> Bins:
        """The bins of confidences in [0, 1]; a hit is yes or no, or a probability."""
        which = _bin(x, n)
        if hit.dtype == bool:
            return cls((_counts(which, n), tuple(sums_by(x[None, :], which, n)[:, 0].tolist()), _counts(which[hit], n)))
        made = sums_by(np.stack([x, hit]), which, n)
        return cls((_counts(which, n), *(tuple(column) for column in made.T.tolist())))

    @classmethod
    def of_listed(cls, t: Floats, sizes: Codes | None, hits: Floats, n: int = BINS) -> Bins:
        """The bins of padded lists side by side, with the confidences of the outcomes that are listed.

        `sizes` are the lengths of the lists where some are padded.
        """
        which = _bin(t, n)
        if sizes is not None:
            which[np.arange(len(t))[:, None] >= sizes] = n
        which = which.reshape(-1)
        sums = sums_by(t.reshape(1, -1), which, n + 1)[:n, 0]
        return cls((_counts(which, n), tuple(sums.tolist()), _counts(_bin(hits, n), n)))

    @classmethod
    def by_layer(cls, layer: NDArray[Any], layers: int, x: Floats, hit: Bools, n: int) -> tuple[Bins, ...]:
        """Bins with products for each layer."""
        code, size = layer * n + _bin(x, n), layers * n
        made = exact_sums(np.stack((x, np.where(hit, x, 0.0))), ((0, 0),), code, size).T.tolist()
        columns = _counts(code, size), made[0], _counts(code[hit], size), made[2], made[1]
        return tuple(cls(tuple(tuple(c[at : at + n]) for c in columns)) for at in range(0, size, n))

    @classmethod
    def weighted(cls, x: Floats, hit: Bools, weight: Floats, n: int) -> Bins:
        """Bins with products of pairs that do not weigh the same."""
        once = weight * x
        columns = np.stack((weight, once, weight * hit, once * x, once * hit))
        return cls(tuple(tuple(column) for column in exact_sums(columns, (), _bin(x, n), n).T.tolist()))

    def __add__(self, other: Bins) -> Bins:
        pairs = zip(self.columns, other.columns, strict=True)
        return Bins(tuple(tuple(map(int.__add__, a, b)) for a, b in pairs))

    def __bool__(self) -> bool:
        return any(self.columns[0])

    @property
    def count(self) -> int:
        """How many pairs there are."""
        return sum(self.columns[0]) // UNIT

    def merge(self, parts: Iterable[Iterable[int]]) -> Bins:
        """Some bins taken together, one bin for each part."""
        where = [list(part) for part in parts]
        return Bins(tuple(tuple(sum(column[i] for i in part) for part in where) for column in self.columns))

    def means(self) -> tuple[Bin, ...]:
        """Means by bin; empty bins are left out.

        >>> Bins.of(np.array([1.0, 0.5]), np.array([True, False])).means()[0]
        Bin(low=0.5, high=0.55, count=1, mean_confidence=0.5, hit_rate=0.0)
        """
        n = len(self.columns[0])
        return tuple(
            Bin(i / n, (i + 1) / n, weight // UNIT, confidence / weight, hits / weight)
            for i, (weight, confidence, hits) in enumerate(zip(*self.columns[:3], strict=True))
            if weight
        )

    def groups(self) -> TiedGroups:
        """The filled bins, each at the mean of its confidences."""
        some = [at for at in zip(*self.columns[:3], strict=True) if at[0]]
        return TiedGroups(
            np.array([confidence / weight for weight, confidence, _ in some]),
            np.array([weight / UNIT for weight, _, _ in some]),
            np.array([hits / UNIT for _, _, hits in some]),
        )

    def squared_distance(self) -> int:
        """The sum of (confidence - hit)^2; of bins with products."""
        _, _, hits, squares, both = map(sum, self.columns)
        return squares - 2 * both + hits


def _bin(x: Floats, n: int) -> NDArray[np.int32]:
    which = (x * float(n)).astype(np.int32)
    return np.minimum(which, n - 1, out=which)


def _counts(which: NDArray[Any], n: int) -> Column:
    return tuple(count * UNIT for count in np.bincount(which, minlength=n)[:n].tolist())


def averages(bins: Iterable[Bin]) -> tuple[float, float] | None:
    """The mean confidence and the hit rate over all bins; None where they are empty.

    >>> averages([Bin(0.0, 0.5, 1, 0.25, 0.0), Bin(0.5, 1.0, 3, 0.75, 1.0)])
    (0.625, 0.75)
    """
    filled = [b for b in bins if b.count]
    total = sum(b.count for b in filled)
    if not total:
        return None
    means = ([b.count * b.mean_confidence for b in filled], [b.count * b.hit_rate for b in filled])
    return sum(means[0]) / total, sum(means[1]) / total
