"""Exact sums of promises by fine bins, in units of the smallest double."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from toplist.isotonic import Groups
from toplist.tally.exact import UNIT, Integers, exact_sums

Floats = NDArray[np.float64]
Column = tuple[int, ...]
FINE = 200
_NONE = (0,) * FINE


@dataclass(frozen=True, slots=True)
class Sums:
    """By bin: the weight of promises, and weighted sums of them, their squares, those kept, and of promises kept.

    Bin i has the promises with floor(200 x) = i, and the last one those of exactly 1 too.
    """

    count: Column = _NONE
    promised: Column = _NONE
    squares: Column = _NONE
    kept: Column = _NONE
    both: Column = _NONE

    def __add__(self, other: Sums) -> Sums:
        return Sums(
            _added(self.count, other.count),
            _added(self.promised, other.promised),
            _added(self.squares, other.squares),
            _added(self.kept, other.kept),
            _added(self.both, other.both),
        )

    @classmethod
    def of(cls, promised: Floats, kept: NDArray[np.bool_]) -> Sums:
        """One bin system."""
        return cls.by_layer(np.zeros(len(promised), np.intp), 1, promised, kept)[0]

    @classmethod
    def by_layer(cls, layer: NDArray[Any], layers: int, x: Floats, kept: NDArray[np.bool_]) -> tuple[Sums, ...]:
        """One bin system for each layer."""
        code = layer * FINE + _bin(x)
        size = layers * FINE
        count, hits = np.bincount(code, minlength=size), np.bincount(code[kept], minlength=size)
        made = exact_sums(np.stack((x, np.where(kept, x, 0.0))), ((0, 0),), code, size)
        columns = (
            [n * UNIT for n in count.tolist()],
            made[:, 0].tolist(),
            made[:, 2].tolist(),
            [n * UNIT for n in hits.tolist()],
            made[:, 1].tolist(),
        )
        return tuple(cls(*(tuple(c[at : at + FINE]) for c in columns)) for at in range(0, size, FINE))

    @classmethod
    def weighted(cls, x: Floats, kept: NDArray[np.bool_], weight: Floats) -> Sums:
        """One bin system of promises that do not weigh the same."""
        once = weight * x
        columns = np.stack((weight, once, once * x, weight * kept, once * kept))
        made: Integers = exact_sums(columns, (), _bin(x), FINE)
        return cls(*(tuple(column) for column in made.T.tolist()))

    def __bool__(self) -> bool:
        return any(self.count)

    def groups(self) -> Groups:
        """The filled bins, each at the mean of its promises."""
        some = [at for at, count in enumerate(self.count) if count]
        return Groups(
            np.array([self.promised[at] / self.count[at] for at in some]),
            np.array([self.count[at] / UNIT for at in some]),
            np.array([self.kept[at] / UNIT for at in some]),
        )

    def squared_distance(self) -> int:
        """The sum of (promised - kept)^2."""
        return sum(self.squares) - 2 * sum(self.both) + sum(self.kept)

    def together(self, at: Iterable[int]) -> Sums:
        """Some bins as one, the first."""
        where = list(at)
        return Sums(*((sum(c[i] for i in where),) for c in self.columns))

    @property
    def columns(self) -> tuple[Column, ...]:
        """All five."""
        return self.count, self.promised, self.squares, self.kept, self.both


NOTHING = Sums()


def _bin(x: Floats) -> NDArray[np.intp]:
    return np.minimum((x * FINE).astype(np.intp), FINE - 1)


def _added(a: Column, b: Column) -> Column:
    return tuple(map(int.__add__, a, b))
