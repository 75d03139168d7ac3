"""Sets in the making: the prefixes of each case that a search still follows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from toplist.multilabel.chains.links import Bits, Floats, Ints, Links


@dataclass(frozen=True, slots=True)
class Frontier:
    """Prefixes of one depth with their log-probabilities, the cases in rising order."""

    case: Ints
    bits: Bits  # (rows, depth), in the order of the chain
    log_p: Floats

    @classmethod
    def roots(cls, cases: int) -> Frontier:
        """The empty prefix of each case."""
        return cls(np.arange(cases), np.zeros((cases, 0), np.uint8), np.zeros(cases))

    def __len__(self) -> int:
        return len(self.case)

    @property
    def depth(self) -> int:
        """How many labels are decided."""
        return int(self.bits.shape[1])

    def take(self, at: NDArray[np.intp] | NDArray[np.bool_] | slice) -> Frontier:
        """Some of the prefixes."""
        return Frontier(self.case[at], self.bits[at], self.log_p[at])

    def children(self, links: Links) -> Floats:
        """The log-probabilities of all longer prefixes: row 2 r is prefix r without the next label, 2 r + 1 with it."""
        out = np.empty((len(self), 2))
        out[:, 0], out[:, 1] = links.next_label(self.case, self.bits)
        out += self.log_p[:, None]
        return out.ravel()

    def grown(self, child: NDArray[np.intp], log_p: Floats) -> Frontier:
        """Some of the children, by their rows."""
        bits = np.empty((len(child), self.depth + 1), np.uint8)
        bits[:, :-1], bits[:, -1] = self.bits[child >> 1], child & 1
        return Frontier(self.case[child >> 1], bits, log_p)

    def halves(self) -> tuple[Frontier, Frontier]:
        """The first cases and the last; of one case alone, that and nothing."""
        at = int(np.searchsorted(self.case, self.case[len(self) // 2]))
        at = at or int(np.searchsorted(self.case, self.case[0], side="right"))
        return self.take(slice(0, at)), self.take(slice(at, None))


def log_sums(case: Ints, log_p: Floats, cases: int) -> Floats:
    """log(sum(exp(log_p))) of each case; minus infinity where there is nothing."""
    top = np.full(cases, -np.inf)
    np.maximum.at(top, case, log_p)
    with np.errstate(divide="ignore", invalid="ignore"):
        total = np.bincount(case, np.exp(log_p - top[case]), minlength=cases)
        return np.where(np.isfinite(top), top + np.log(total), top)


def largest(case: Ints, key: Floats, room: Ints) -> NDArray[np.bool_]:
    """The entries with the largest keys, `room[i]` of them for case i; ties go to what stands first."""
    counts = np.bincount(case, minlength=len(room))
    keep = np.ones(len(case), dtype=bool)
    full = counts > room
    if not full.any():
        return keep
    rows = np.flatnonzero(full[case])
    number = np.cumsum(full) - 1
    line, wide = number[case[rows]], int(counts[full].max())
    starts = np.cumsum(counts[full]) - counts[full]
    place = np.arange(len(rows)) - starts[line]
    keys = np.full((int(full.sum()), wide), -np.inf)
    keys[line, place] = key[rows]
    want = room[full][:, None]
    if (want == want[0]).all():
        least = np.partition(keys, wide - int(want[0, 0]), axis=1)[:, wide - int(want[0, 0])][:, None]
    else:
        least = np.take_along_axis(np.sort(keys, axis=1), wide - want, axis=1)
    above, tied = keys > least, keys == least
    tied &= np.cumsum(tied, axis=1) <= want - above.sum(axis=1, keepdims=True)
    keep[rows] = (above | tied)[line, place]
    return keep
