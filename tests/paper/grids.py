"""Every distribution and every top list on a grid, with exact integer answers to what is valid, calibrated, true.

Probabilities are whole numbers of units: on the grid of `unit` = 10 the distribution (0.5, 0.3, 0.2) is (5, 3, 2).
Ties, zeros and the boundary of validity are then exact, and the search over the grid is a proof for the grid.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, cached_property
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

import toplist as tl

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]


@cache
def compositions(total: int, parts: int) -> tuple[tuple[int, ...], ...]:
    """Every way to write `total` as an ordered sum of `parts` whole numbers, zeros included."""
    if parts == 0:
        return ((),) if total == 0 else ()
    if parts == 1:
        return ((total,),)
    return tuple((x, *rest) for x in range(total + 1) for rest in compositions(total - x, parts - 1))


def distributions(m: int, unit: int) -> Ints:
    """All distributions on m classes, in units: (number of distributions, m)."""
    return np.array(compositions(unit, m), dtype=np.int64)


@dataclass(frozen=True, eq=False)
class Grid:
    """Some lists in units: `shares` is dense, `listed` says which entries count."""

    listed: Bools  # (lists, m)
    shares: Ints  # (lists, m), zero where unlisted
    unit: int

    @property
    def m(self) -> int:
        return self.listed.shape[1]

    @property
    def sizes(self) -> Ints:
        return self.listed.sum(axis=1)

    @cached_property
    def lists(self) -> tl.TopLists:
        """The same lists as the library has them."""
        offsets = np.concatenate(([0], np.cumsum(self.sizes)))
        classes = np.nonzero(self.listed)[1]
        return tl.TopLists.from_ragged(offsets, classes, self.shares[self.listed] / self.unit, self.m)

    @cached_property
    def valid(self) -> Bools:
        """No listed share below the proxy, in whole numbers: share * unlisted >= rest."""
        rest = self.unit - self.shares.sum(axis=1)
        unlisted = self.m - self.sizes
        least = np.where(self.listed, self.shares, self.unit).min(axis=1)
        return (self.sizes == 0) | (unlisted == 0) | (least * unlisted >= rest)

    @cached_property
    def padded(self) -> Floats:
        """The padded distributions, by definition."""
        rest = self.unit - self.shares.sum(axis=1)
        unlisted = self.m - self.sizes
        proxy = rest / np.where(unlisted > 0, unlisted, 1)
        return np.where(self.listed, self.shares, proxy[:, None]) / self.unit

    def calibrated(self, p: Ints) -> Bools:
        """Which list has the probabilities of which distribution: (lists, distributions)."""
        return (~self.listed[:, None, :] | (self.shares[:, None, :] == p[None])).all(axis=2)

    def true(self, p: Ints) -> Bools:
        """Which list is true for which distribution: calibrated, and no k classes are more likely together."""
        most = np.concatenate([np.zeros((len(p), 1), int), np.cumsum(-np.sort(-p, axis=1), axis=1)], axis=1)
        reached = self.listed.astype(int) @ p.T
        return self.calibrated(p) & (reached == most[:, self.sizes].T)

    def pick(self, which: Any) -> Grid:
        return Grid(self.listed[which], self.shares[which], self.unit)


@cache
def every_list(m: int, unit: int) -> Grid:
    """All top lists of every length on the grid, valid or not."""
    listed, shares = [], []
    for k in range(m + 1):
        # one part more than listed classes: what is left over; nothing is, where every class is listed
        confidences = compositions(unit, k) if k == m else tuple(c[:k] for c in compositions(unit, k + 1))
        for classes in combinations(range(m), k):
            for c in confidences:
                row, share = np.zeros(m, bool), np.zeros(m, np.int64)
                row[list(classes)], share[list(classes)] = True, c
                listed.append(row)
                shares.append(share)
    return Grid(np.array(listed), np.array(shares), unit)


@cache
def subsets(m: int) -> Bools:
    """All sets of classes; row s has class i if bit i of s is set."""
    return (np.arange(2**m)[:, None] >> np.arange(m)) & 1 == 1


def calibrated_lists(p: Ints, unit: int) -> Grid:
    """For every distribution the calibrated list on every set of classes: row i * 2**m + s is p[i] on set s."""
    listed = np.tile(subsets(p.shape[1]), (len(p), 1))
    return Grid(listed, np.where(listed, np.repeat(p, 2 ** p.shape[1], axis=0), 0), unit)


def expected(grid: Grid, p: Ints, rule: tl.Rule, penalty: float = 0.0) -> Floats:
    """The library's expected score of every list under every distribution: (lists, distributions)."""
    lists, truth = _pairs(grid, p.tobytes(), p.shape)
    out = tl.expected_score(lists, truth, rule=rule, penalty=penalty)
    return np.reshape(out, (len(grid.listed), len(p)))


@cache
def _pairs(grid: Grid, p: bytes, shape: tuple[int, int]) -> tuple[tl.TopLists, tl.TopLists]:
    """Every list beside every distribution, admitted once for all rules."""
    truth = np.frombuffer(p, dtype=np.int64).reshape(shape) / grid.unit
    n = len(grid.listed)
    return grid.lists[np.repeat(np.arange(n), shape[0])], tl.TopLists.from_proba(np.tile(truth, (n, 1)))


def scores(lists: tl.TopLists, rule: tl.Rule, penalty: float = 0.0) -> Floats:
    """The library's score of every list for every outcome: (lists, m)."""
    m = int(lists.space.size)
    return np.stack([tl.score(lists, np.full(len(lists), y), rule=rule, penalty=penalty) for y in range(m)], axis=1)
