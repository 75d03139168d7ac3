"""Codebook: the sets that the codes of a batch stand for, where a code is a digest."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from toplist.errors import SpaceError
from toplist.lists.labelsets.batch import Sets, from_rows, keys


@dataclass(frozen=True, eq=False, repr=False)
class Codebook:
    """Codes, and the set of each: some base with the labels of `flips` flipped.

    The likely sets of one case are close to its likeliest, so a book of them holds that one once, as bits, and for
    each set only what differs. `base` says which row of `bits` a set starts from; -1 is the empty set.
    """

    codes: NDArray[np.int64]
    bits: NDArray[np.uint8]  # a row of packed bits per base, the first label lowest
    base: NDArray[np.int64]
    flips: Sets

    @classmethod
    def of(cls, sets: Sets) -> Codebook:
        """The book of sets as they are."""
        none = np.full(len(sets), -1, np.int64)
        return cls(sets.fold(keys(sets.width)), np.zeros((0, -(-sets.width // 8)), np.uint8), none, sets)

    @classmethod
    def join(cls, books: Sequence[Codebook]) -> Codebook:
        """One book of several."""
        starts = np.cumsum([0, *(len(book.bits) for book in books)])
        base = [np.where(book.base < 0, -1, book.base + start) for book, start in zip(books, starts, strict=False)]
        return cls(
            np.concatenate([book.codes for book in books]),
            np.concatenate([book.bits for book in books]),
            np.concatenate(base),
            Sets.join([book.flips for book in books]),
        )

    @cached_property
    def _order(self) -> NDArray[np.intp]:
        return np.argsort(self.codes, kind="stable")

    def find(self, codes: NDArray[np.int64]) -> Sets:
        """The sets of these codes; an error where one is not in the book."""
        if not len(codes):
            return Sets(np.zeros(1, np.int64), np.zeros(0, np.int32), self.flips.width)
        ordered = self.codes[self._order]
        place = np.searchsorted(ordered, codes)
        known = place < len(ordered)
        known[known] = ordered[place[known]] == codes[known]
        if not known.all():
            code = int(codes[int(np.argmin(known))])
            raise SpaceError(f"{code} is the digest of a set that these lists do not hold; no set can be told from it.")
        return self._sets(self._order[place])

    def _sets(self, at: NDArray[np.intp]) -> Sets:
        flips, width = self.flips.take(at), self.flips.width
        based = np.flatnonzero(self.base[at] >= 0)
        if not len(based):
            return flips
        first, rows, labels = 0, [flips.rows], [flips.labels.astype(np.int64)]
        step = max(1, (1 << 24) // max(width, 1))
        while first < len(based):  # a few sets at a time: they are spread out on the way
            some = based[first : first + step]
            spread = np.unpackbits(self.bits[self.base[at[some]]], axis=1, count=width, bitorder="little")
            row, label = np.nonzero(spread)
            rows.append(some[row])
            labels.append(label)
            first += step
        return _odd(np.concatenate(rows), np.concatenate(labels), len(at), width)


def _odd(rows: NDArray[np.int64], labels: NDArray[np.int64], count: int, width: int) -> Sets:
    """Pairs that are there once: a label that is in the base and flipped is gone."""
    pair = rows * width + labels
    once, times = np.unique(pair, return_counts=True)
    once = once[times == 1]
    return from_rows(once // width, once % width, count, width)
