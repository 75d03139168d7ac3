"""Lists side by side, a few thousand at a time, the most confident class on top: what evidence is read from."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from toplist.lists import TopLists

Floats = NDArray[np.float64]
Places = NDArray[np.intp]
CELLS = 1 << 17  # confidences in a slab: a megabyte, which the second-level cache holds


@dataclass(frozen=True, slots=True)
class Slab:
    """Lists of about one length, one in each column; short ones are filled up with zeros.

    Sums run down the rows one by one, so that neither the zeros nor the neighbours of a list show in its sums.
    """

    at: slice | Places  # which cases of the batch
    t: Floats  # (longest, cases), as they are scored
    sizes: NDArray[np.int64]

    def cases(self, some: Places) -> Places:
        """Which cases of the batch some of its own are."""
        return self.at.start + some if isinstance(self.at, slice) else self.at[some]

    @property
    def ragged(self) -> bool:
        """Whether any list is filled up."""
        return bool(self.sizes[0] != len(self.t) or (self.sizes != self.sizes[0]).any())


def slabs(lists: TopLists, lo: int, hi: int) -> Iterator[Slab]:
    """Cases lo to hi that list anything, in slabs of lists that differ in length by less than two to one."""
    sizes = np.diff(lists.offsets[lo : hi + 1])
    if not len(sizes):
        return
    width = int(sizes.max())
    if sizes.min() == width:
        step = max(1, CELLS // max(1, width))
        for start in range(lo, hi if width else lo, step):
            yield _slab(lists, slice(start, min(start + step, hi)), width)
        return
    octave = np.where(sizes > 0, np.frexp(sizes - 0.5)[1], -1)
    for some in np.unique(octave[octave >= 0]):
        cases = np.flatnonzero(octave == some)
        width = int(sizes[cases].max())
        step = max(1, CELLS // width)
        for start in range(0, len(cases), step):
            yield _slab(lists, lo + cases[start : start + step], width)


def _slab(lists: TopLists, at: slice | Places, width: int) -> Slab:
    admitted = lists.admitted
    offsets, flat = admitted.rows.offsets, admitted.rows.confidences
    first = offsets[:-1][at]
    sizes = offsets[1:][at] - first
    if isinstance(at, slice):
        t = flat[first[0] : first[0] + width * len(first)].reshape(len(first), width)
    else:
        there = np.arange(width) < sizes[:, None]
        t = np.zeros((len(at), width), flat.dtype)
        t[there] = flat[(first[:, None] + np.arange(width))[there]]
    # Zeros that fill up stay behind all others, for no confidence is below zero.
    if not (t[:, 1:] <= t[:, :-1]).all():
        t = np.sort(t, axis=1)[:, ::-1]
    columns = np.array(t.T, np.float64, order="C")
    slack = admitted.slack[at]
    scaled = (slack < 0) | (admitted.rows.per_case(at)[1] == sizes)
    if scaled.any():
        columns /= np.where(scaled, 1.0 - slack, 1.0)
    return Slab(at, columns, sizes)
