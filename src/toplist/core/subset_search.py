"""The k likeliest sets of independent labels, row by row in Python, as the compiled search finds them.

The likeliest set holds every label with a probability above one half; any other set is that one with some labels
flipped, at the cost of log((1 - q) / q) for each, where q = min(p, 1 - p). With the labels in order of cost, every set
has one parent that costs no more, so a heap yields them in order, each once.
"""

from __future__ import annotations

import heapq
import math
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from toplist._typing import Floats

FINE, BAD_VALUE, ONLY_EMPTY = 0, 1, 2
CERTAIN: Final = 1e300  # log-odds from here on are never flipped
Set = tuple[float, int, int, int]  # its cost, how many flips, the last of them, the set that it is without it


@dataclass(frozen=True, slots=True)
class Spelling:
    """Which sets they are: the likeliest of each case as packed bits, and in which labels the others differ from it."""

    bits: NDArray[np.uint8]  # (n, bytes), the first label lowest
    counts: NDArray[np.uint8]  # (n, k): how many labels
    flips: NDArray[np.int32]  # the labels, set after set


@dataclass(frozen=True, slots=True)
class Likeliest:
    """Label sets of each case, most probable first; what is beyond the count of a case has no meaning."""

    counts: NDArray[np.int32]
    codes: NDArray[np.int64]  # (n, k)
    log_p: Floats  # (n, k)
    log_rest: Floats
    spelling: Spelling | None
    refused: tuple[int, int]  # the first case that has no sets, and why

    def listed(self, table: NDArray[Any]) -> NDArray[Any]:
        """The entries of an (n, k) table that have a meaning, one case after the other."""
        k = table.shape[1]
        full = bool((self.counts == k).all())
        flat: NDArray[Any] = table.ravel() if full else table[np.arange(k) < self.counts[:, None]]
        return flat


def best_sets(
    p: NDArray[Any],
    keys: NDArray[np.int64],
    logit: bool,
    empty: bool,
    counts: NDArray[np.int32],
    codes: NDArray[np.int64],
    log_p: Floats,
    log_rest: Floats,
    bits: NDArray[np.uint8] | None,
    flip_counts: NDArray[np.uint8] | None,
    flips: NDArray[np.int32] | None,
) -> tuple[int, int, int]:
    """Fill the outputs; the first row that was refused, why, and how many flips there are."""
    most, used = codes.shape[1], 0
    for i, x in enumerate(p.astype(np.float64)):
        if np.isnan(x).any() or not (logit or ((x >= 0) & (x <= 1)).all()):
            return i, BAD_VALUE, 0
        row = _Row.of(x, keys, most + (not empty), logit=logit)
        found, heap, met = row.search(most, empty=empty)
        listed = [at for at in range(len(found)) if at != met]
        if not listed:
            return i, ONLY_EMPTY, 0
        log_all, log_left = row.masses(heap, met, empty=empty)
        n = counts[i] = len(listed)
        log_rest[i] = min(0.0, log_left - log_all)
        log_p[i, :n] = [min(0.0, row.log_none - found[at][0] - log_all) for at in listed]
        spelled = [row.flips(found, at) for at in listed]
        codes[i, :n] = [row.code(labels) for labels in spelled]
        if bits is not None and flip_counts is not None and flips is not None:
            bits[i] = np.packbits(row.on, bitorder="little")
            for j, labels in enumerate(spelled):
                flip_counts[i, j] = len(labels)
                flips[used : used + len(labels)] = labels
                used += len(labels)
    return len(p), FINE, used


@dataclass(frozen=True, slots=True)
class _Row:
    """One case: its likeliest set, and the labels that can be flipped, cheapest first, as far as they are needed."""

    keys: NDArray[np.int64]
    on: NDArray[np.bool_]
    labels: NDArray[np.intp]
    costs: Floats
    log_none: float  # of the chance that no label is flipped
    log_below: Floats  # the same for the labels below each
    log_any: Floats  # of the chance that any label is, from each on
    every_cost: Floats

    @classmethod
    def of(cls, x: Floats, keys: NDArray[np.int64], most: int, *, logit: bool) -> _Row:
        doubt = np.minimum(x, -x if logit else 1.0 - x)
        order = np.argsort(-doubt, kind="stable")
        order = order[doubt[order] > (-CERTAIN if logit else 0.0)]
        every = _costs(doubt, logit=logit)
        costs = every[order]
        kept = np.exp(doubt[order]) if logit else doubt[order]
        q = kept / (1.0 + kept) if logit else kept
        log_no, log_q = np.log1p(-q), -costs + np.log1p(-q)
        rest = math.fsum(log_no[most:])
        log_any = np.empty(len(order[:most]) + 1)
        # The chance that any of the others is flipped: the sum of their chances, where these are next to no numbers.
        log_any[-1] = math.log(-math.expm1(rest)) if rest < -1e-200 else _log_sum(log_q[most:])
        for j in reversed(range(len(log_any) - 1)):
            log_any[j] = np.logaddexp(log_q[j], log_no[j] + log_any[j + 1])
        below = np.concatenate(([0.0], np.cumsum(log_no[:most])[:-1]))[: len(log_any) - 1]
        costs = np.maximum.accumulate(costs[:most])
        on = x > (0.0 if logit else 0.5)
        return cls(keys, on, order[:most], costs, math.fsum(log_no), below, log_any, every)

    def search(self, most: int, *, empty: bool) -> tuple[list[Set], list[Set], int]:
        """The sets that were taken from the heap, the heap, and which of the former is the empty set, or -1."""
        costs, total = self.costs.tolist(), len(self.costs)
        found: list[Set] = [(0.0, 0, -1, -1)]
        heap: list[Set] = [(costs[0], 1, 0, 0)] if total else []
        met = 0 if not empty and not self.on.any() else -1
        held = -1 if empty else int(np.count_nonzero(self.on))
        while heap:
            enough = len(found) - (met >= 0) >= most
            if enough and (empty or met >= 0):
                break
            if heap[0][1] == held and all(self.on[label] for label in self._labels(found, heap[0])):
                met = len(found)
            elif enough:
                break
            cost, flips, last, prefix = heap[0]
            rank, last = len(found), last + 1
            found.append(heap[0])
            if last < total:
                heapq.heapreplace(heap, (found[prefix][0] + costs[last], flips, last, prefix))
                heapq.heappush(heap, (cost + costs[last], flips + 1, last, rank))
            else:
                heapq.heappop(heap)
        return found, heap, met

    def masses(self, heap: list[Set], met: int, *, empty: bool) -> tuple[float, float]:
        """The log of the mass of all sets that are classes, and of those that are below the heap."""
        cost, last = np.array([s[0] for s in heap]), np.array([s[2] for s in heap], np.intp)
        terms = -cost + self.costs[last] + self.log_below[last] + self.log_any[last]
        log_left = _log_sum(terms)
        if empty:
            return 0.0, log_left
        if not self.on.any():
            return float(self.log_any[0]), log_left
        log_empty = self.log_none - math.fsum(self.every_cost[self.on])
        if met < 0 and heap and log_empty > -math.inf:
            log_left += math.log1p(-math.exp(log_empty - log_left))
        return math.log1p(-math.exp(log_empty)), log_left

    def _labels(self, found: list[Set], one: Set) -> list[int]:
        labels = []
        while one[1] > 0:
            labels.append(int(self.labels[one[2]]))
            one = found[one[3]]
        return sorted(labels)

    def flips(self, found: list[Set], at: int) -> list[int]:
        """The labels in which a set differs from the likeliest, in rising order."""
        return self._labels(found, found[at])

    def code(self, flips: list[int]) -> int:
        """The code of the likeliest set with these labels flipped."""
        differ = np.concatenate((np.flatnonzero(self.on), np.array(flips, np.intp)))
        return int(np.bitwise_xor.reduce(self.keys[differ]))


def _costs(doubt: Floats, *, logit: bool) -> Floats:
    if logit:
        return -doubt
    some = np.where(doubt > 0, doubt, 0.5)
    near = some > 0.25
    close = np.log1p((1.0 - 2.0 * some) / np.where(near, some, 1.0))
    return np.where(doubt > 0, np.where(near, close, np.log1p(-some) - np.log(some)), np.inf)


def _log_sum(logs: Floats) -> float:
    if not len(logs) or (top := float(logs.max())) == -math.inf:
        return -math.inf
    return top + math.log(math.fsum(np.exp(logs - top)))
