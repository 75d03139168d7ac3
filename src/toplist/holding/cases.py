"""Cases that are held together although each batch numbers its classes in its own way.

Calibration asks where the outcome stands in its list and what was promised there, not what the class is called. So
every list is kept with the places of its entries as codes, and its outcome as a place.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from threading import Lock
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from toplist.annotations import clusters_in_order
from toplist.diagnosis import Binned
from toplist.io.optional import need
from toplist.lists import TopLists
from toplist.lists.joining import join
from toplist.outcomes import as_happened
from toplist.space import ClassSpace

Codes = NDArray[np.int64]
EXACT: Final = 2_000_000
"""Listed classes up to which cases are held and isotonic regression sees every one: seconds, and about 100 MB."""
_PART: Final = 1 << 15  # cases that are put into bins at a time


@dataclass(frozen=True, slots=True)
class Held:
    """Lists and outcomes by place; every so many cases of all, and sums over all cases where some are not held."""

    lists: TopLists
    y: Codes
    every: int  # 1: all are held
    binned: Binned | None
    rows: Codes  # where each case that is held stands among all
    units: NDArray[np.intp] | None = None  # the cluster of each case that is held, from zero


def by_place(lists: TopLists, y: Any) -> tuple[TopLists, Codes]:
    """The same lists with the places of their entries as classes, and what happened as a place (beyond if missed).

    >>> found, y = by_place(TopLists.from_dicts([{"a": 0.7, "b": 0.2}, {"c": 0.4}], 9), ["b", "a"])
    >>> found.classes, y
    (array([0, 1, 0]), array([1, 1]))
    """
    sizes, codes = lists.sizes, as_happened(y, lists, "calibration is about")
    place = np.arange(len(lists.confidences)) - np.repeat(lists.offsets[:-1], sizes)
    hit = np.flatnonzero(lists.classes == np.repeat(codes, sizes))
    out = sizes.astype(np.int64)
    out[np.repeat(np.arange(len(lists)), sizes)[hit]] = place[hit]
    space = ClassSpace(lists.space.size)
    admitted = replace(lists.admitted, rows=replace(lists.admitted.rows, classes=place), repairs={})
    return TopLists(space, None, admitted), out


def thinned(sizes: Codes, rows: Codes, limit: int, every: int = 1) -> int:
    """The smallest power of two so that cases in rows that it divides have at most so many listed classes, or is one.

    >>> thinned(np.full(8, 3), np.arange(8), 12)
    2
    """
    while True:
        some = sizes[rows % every == 0]
        if some.sum() <= limit or len(some) <= 1:
            return every
        every *= 2


def held(lists: TopLists, y: Codes, units: NDArray[np.intp] | None = None, *, limit: int = EXACT) -> Held:
    """All cases in memory where there are few enough; else every so many of them, and sums over all.

    `lists` and `y` are those of `by_place`.
    """
    rows = np.arange(len(lists), dtype=np.int64)
    every = thinned(lists.sizes, rows, limit)
    if every == 1:
        return Held(lists, y, 1, None, rows, units)
    parts = (slice(lo, lo + _PART) for lo in range(0, len(lists), _PART))
    binned = sum((Binned.of(lists[part], y[part]) for part in parts), Binned())
    some = None if units is None else np.unique(units[::every], return_inverse=True)[1]
    return Held(lists[np.arange(0, len(lists), every)], y[::every], every, binned, rows[::every], some)


@dataclass(frozen=True, slots=True)
class Piece:
    """Some cases of one source, by place."""

    source: str
    rows: Codes
    lists: TopLists
    y: Codes
    clusters: Any  # a column of names, or None

    def at(self, cases: NDArray[np.intp]) -> Piece:
        """Some of them."""
        clusters = None if self.clusters is None else self.clusters.take(cases)
        return Piece(self.source, self.rows[cases], self.lists[cases], self.y[cases], clusters)


@dataclass(slots=True)
class Holding:
    """Takes batches in any order and from any thread; the result does not depend on either."""

    limit: int = EXACT
    every: int = 1
    binned: Binned | None = None
    entries: int = 0
    parts: list[Piece] = field(default_factory=list)
    _lock: Lock = field(default_factory=Lock)

    def add(self, lists: TopLists, y: Any, rows: Codes, source: str = "", clusters: Any = None) -> None:
        """Hold some cases; `rows` say where each stands in its source, `clusters` are a column of names or None."""
        made, places = by_place(lists, y)
        with self._lock:
            if self.binned is not None:
                self.binned = self.binned + Binned.of(made, places)
            self._hold(Piece(source, rows, made, places, clusters))
            while self.entries > self.limit and self._more_than_one():
                if self.binned is None:
                    self.binned = sum((Binned.of(part.lists, part.y) for part in self.parts), Binned())
                self.every *= 2
                parts, self.parts, self.entries = self.parts, [], 0
                for part in parts:
                    self._hold(part)

    def _hold(self, part: Piece) -> None:
        at = np.flatnonzero(part.rows % self.every == 0)
        if len(at):
            kept = part if len(at) == len(part.rows) else part.at(at)
            self.parts.append(kept)
            self.entries += len(kept.lists.confidences)

    def _more_than_one(self) -> bool:
        return sum(len(part.rows) for part in self.parts) > 1

    def held(self) -> Held:
        """All that is held, in the order of the sources and their rows."""
        parts = sorted(self.parts, key=lambda part: (part.source, int(part.rows[0])))
        lists, y = _joined([(part.lists, part.y) for part in parts])
        units = _units([part.clusters for part in parts])
        files = {name: i for i, name in enumerate(sorted({part.source for part in parts}))}
        file = np.repeat([files[part.source] for part in parts], [len(part.rows) for part in parts])
        rows = np.concatenate([part.rows for part in parts])
        order = np.lexsort((rows, file))
        if (np.diff(order) != 1).any():
            lists, y, rows = lists[order], y[order], rows[order]
            units = None if units is None else units[order]
        return Held(lists, y, self.every, self.binned, rows, units)


def _units(clusters: Sequence[Any]) -> NDArray[np.intp] | None:
    """The clusters of all parts as numbers from zero, in the order of their names."""
    if any(each is None for each in clusters):
        return None
    return clusters_in_order(need("pyarrow").chunked_array(clusters).combine_chunks()).astype(np.intp)


def _joined(parts: Sequence[tuple[TopLists, Codes]]) -> tuple[TopLists, Codes]:
    """One batch of several; each has places as classes."""
    if len(parts) == 1:
        return parts[0]
    every = [lists for lists, _ in parts]
    made = join(every, [lists.classes for lists in every], _space(every))
    return made, np.concatenate([places for _, places in parts])


def _space(every: Sequence[TopLists]) -> ClassSpace:
    if not every[0].space.per_case:
        return ClassSpace(every[0].space.size)
    return ClassSpace(np.concatenate([lists.space.size for lists in every]))
