"""The k likeliest sets of independent labels, row by row in numpy, as the compiled search finds them.

The likeliest set holds every label with a probability above one half; any other set is that one with some labels
flipped, at the cost of log((1 - q) / q) for each, where q = min(p, 1 - p). Labels are merged one by one, the cheapest
first: each doubles the sets, of which the k cheapest are kept. A set that is dropped stands for all sets that flip
more labels besides, so that the rest mass is a sum of positive terms.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from toplist._typing import Floats

FINE, BAD_VALUE, ONLY_EMPTY = 0, 1, 2
CERTAIN: Final = 1e300  # log-odds from here on are never flipped


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
    k, used = codes.shape[1], 0
    for i, x in enumerate(p.astype(np.float64)):
        if np.isnan(x).any() or not (logit or ((x >= 0) & (x <= 1)).all()):
            return i, BAD_VALUE, 0
        on = x > (0.0 if logit else 0.5)
        row = _search(x, on, k, logit=logit, empty=empty)
        n = counts[i] = len(row.flips)
        if not n:
            return i, ONLY_EMPTY, 0
        log_p[i, :n], log_rest[i] = row.log_p, row.log_rest
        first = np.bitwise_xor.reduce(keys[on])
        codes[i, :n] = [first ^ np.bitwise_xor.reduce(keys[labels]) for labels in row.flips]
        if bits is not None and flip_counts is not None and flips is not None:
            bits[i] = np.packbits(on, bitorder="little")
            flip_counts[i, :n] = [len(labels) for labels in row.flips]
            together = np.concatenate(row.flips)
            flips[used : used + len(together)] = together
            used += len(together)
    return len(p), FINE, used


class _Row(NamedTuple):
    """The sets of one case: in which labels each differs from the likeliest one, and their masses."""

    flips: list[NDArray[np.intp]]
    log_p: Floats
    log_rest: float


def _search(x: Floats, on: NDArray[np.bool_], k: int, *, logit: bool, empty: bool) -> _Row:
    """The k likeliest sets of one case; given that they are not empty, unless that is a class."""
    doubt = np.minimum(x, -x if logit else 1.0 - x)
    order = np.argsort(-doubt, kind="stable")
    order = order[doubt[order] > (-CERTAIN if logit else 0.0)]
    costs = _costs(doubt, logit=logit)
    odds = np.exp(doubt[order]) if logit else doubt[order]
    log_no = np.log1p(-(odds / (1.0 + odds) if logit else odds))
    log_none, log_flip = math.fsum(log_no), log_no - costs[order]
    most = k + (not empty)  # one more, as the empty set may be among them
    sums, counts, members = np.zeros(1), np.zeros(1, np.int64), np.zeros((1, 0), bool)
    dropped, below = [np.zeros(0)], 0.0
    for label, no in zip(order.tolist(), log_no.tolist(), strict=True):
        if len(sums) == most and costs[label] > sums[-1]:
            break  # later labels cost no less, and no set with one of them is cheap enough
        below += no
        sums, counts = np.concatenate((sums, sums + costs[label])), np.concatenate((counts, counts + 1))
        cheapest = np.lexsort((counts, sums))  # among equals fewer flips come first, then earlier labels
        dropped.append(below - sums[cheapest[most:]])
        was = np.repeat([[False], [True]], len(members), axis=0)
        members = np.concatenate((np.tile(members, (2, 1)), was), axis=1)[cheapest[:most]]
        sums, counts = sums[cheapest[:most]], counts[cheapest[:most]]
    merged = members.shape[1]
    dropped.append(below - sums + _log_any(log_no[merged:], log_flip[merged:]))
    flips = [np.sort(order[:merged][row]) for row in members]
    log_all, log_empty = 0.0, -math.inf
    if not empty:
        log_empty = log_none - math.fsum(costs[on])
        log_all = math.log1p(-math.exp(log_empty)) if on.any() else _log_any(log_no, log_flip)
        nothing = np.flatnonzero(on)
        listed = [at for at, labels in enumerate(flips) if not np.array_equal(labels, nothing)]
        if len(listed) < len(flips):
            log_empty = -math.inf  # it is neither listed nor in the rest
        dropped.append(log_none - sums[listed[k:]])
        flips, sums = [flips[at] for at in listed[:k]], sums[listed[:k]]
    log_left = _log_sum(np.concatenate(dropped))
    if log_empty > -math.inf:
        log_left += math.log1p(-math.exp(log_empty - log_left))
    return _Row(flips, np.minimum(log_none - sums - log_all, 0.0), min(0.0, log_left - log_all))


def _log_any(log_no: Floats, log_flip: Floats) -> float:
    """The log of the chance that any label is flipped: of the sum of their chances, where these are next to none."""
    none = math.fsum(log_no)
    return math.log(-math.expm1(none)) if none < -1e-200 else _log_sum(log_flip)


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
