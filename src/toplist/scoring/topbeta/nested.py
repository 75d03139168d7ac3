"""The top-beta score on tables of sorted lists, for any array library: one pass back, one pass forth.

With T_j the mass of the first j classes, s_j = beta - T_{j-1} and L_j = 2 (1 - T_{j-1}) - t_j, the entropy is -V_1:

    V_j = (s_j + V_{j+1} / 4)**2 / L_j  while s_j > 0, up to the cap, and 0 from there on.

Its tangent is a sum over ranks, with weights that the list itself has: w_j = (s_j + V_{j+1} / 4) / L_j, and A_1 = 1,
A_{j+1} = A_j w_j / 2. Nothing depends on the number of classes (docs/topbeta.md).

Tables have one row for each rank and one column for each case. Lists of different lengths are filled up with zeros.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from toplist._typing import Floats
from toplist.lists import TopLists

Array = Any

STEP: Final = 0.25  # what the next rank counts in a rank; the largest number that serves lists of every length
RANKS: Final = 64  # what stands after so many more ranks changes no digit: each halves it at least
_CELLS: Final = 1 << 17  # confidences side by side: a megabyte, which the second-level cache holds


def ratios(xp: Any, t: Array, beta: float, after: Array | None = None, sizes: Array | None = None) -> tuple[Array, Any]:
    """V_1 of each case and its w_j by rank; `after` is V of what follows the last class, `sizes` the lengths."""
    before = exclusive(xp, t)
    value = xp.zeros_like(t[0, :]) if after is None else after
    found = []
    for j in reversed(range(t.shape[0])):
        left = beta - before[j, :]
        some = left > 0 if sizes is None else (left > 0) & (sizes > j)
        reach = xp.where(some, left + STEP * value, 0.0)
        w = reach / xp.where(some, 2.0 * (1.0 - before[j, :]) - t[j, :], 1.0)
        value = reach * w
        found.append(w)
    return value, found[::-1]


def each(xp: Any, t: Array, beta: float, sizes: Array | None = None) -> tuple[Array, Array]:
    """The score of each case if the class at each rank happens, and if none of them does."""
    _, ws = ratios(xp, t, beta, None, sizes)
    weight, missed = xp.ones_like(t[0, :]), xp.zeros_like(t[0, :])
    upto, lates = [], []
    for w in ws:
        part = weight * w
        upto.append(missed + part * (w - 2.0 * beta))  # ranks before that of the outcome, and its own
        missed = missed + 2.0 * part * (w - beta)
        lates.append(2.0 * (1.0 - beta) * part)
        weight = 0.5 * part
    behind, listed = xp.zeros_like(t[0, :]), []
    for own, late in zip(reversed(upto), reversed(lates), strict=True):
        listed.append(own + behind)
        behind = behind + late
    return xp.stack(listed[::-1], axis=0), missed


def scores(lists: TopLists, codes: NDArray[np.int64], beta: float) -> Floats:
    """The score of each list, of any length, at its outcome; classes that tie share the mean of theirs."""
    ordered = lists.ordered()
    out = np.zeros(len(lists))
    for table in _rank_tables(ordered):
        listed, missed = each(np, table.t, beta, table.sizes)
        listed = share_ties(np, np.where(table.there, table.t, np.nan), listed)
        hit = (ordered.classes[table.where] == codes[table.at]) & table.there
        out[table.at] = np.where(hit.any(axis=0), np.where(hit, listed, 0.0).sum(axis=0), missed)
    return out


def flat(xp: Any, mass: Array, proxy: Array, beta: float, most: Array) -> Array:
    """V of a run of classes that all have the probability `proxy`, behind classes that have this mass.

    `most` is how many of them the cap leaves. For infinitely many classes the proxy is zero, and V a fixed point.
    """
    value = xp.zeros_like(mass)
    for j in reversed(range(RANKS)):
        before = mass + j * proxy
        left = xp.where(most > j, beta - before, 0.0)
        some = left > 0
        scale = xp.where(some, 2.0 * (1.0 - before) - proxy, 1.0)
        value = xp.where(some, (left + STEP * value) ** 2 / scale, 0.0)
    return value


def share_ties(xp: Any, t: Array, values: Array) -> Array:
    """Values by rank, where classes that have the same confidence share the mean of theirs."""
    same = t[1:, :] == t[:-1, :]
    if not bool(xp.any(same)):
        return values
    total, count = values[0, :], xp.ones_like(values[0, :])
    runs = [total / count]
    for j in range(1, t.shape[0]):
        tied = same[j - 1, :]
        total = xp.where(tied, total, 0.0) + values[j, :]
        count = xp.where(tied, count, 0.0) + 1.0
        runs.append(total / count)
    mean = runs[-1]
    means = [mean]
    for j in reversed(range(t.shape[0] - 1)):
        mean = xp.where(same[j, :], mean, runs[j])
        means.append(mean)
    return xp.stack(means[::-1], axis=0)


def exclusive(xp: Any, x: Array) -> Array:
    """Running sums over the ranks, without the entry itself."""
    return xp.concat([xp.zeros_like(x[:1, :]), xp.cumulative_sum(x, axis=0)[:-1, :]], axis=0)


@dataclass(frozen=True, slots=True)
class _RankTable:
    """Some cases, most confident class first: one column each, filled up with zeros."""

    at: NDArray[np.intp]  # which cases of the batch
    where: NDArray[np.intp]  # (longest, cases), the places of their classes in the batch
    there: NDArray[np.bool_]  # which of these are classes, and not filled up
    t: Floats
    sizes: NDArray[np.int64]


def _rank_tables(ordered: TopLists) -> Iterator[_RankTable]:
    """The cases that list anything, a few thousand at a time, of lengths within two to one."""
    t, sizes = ordered.normalized_confidences, ordered.sizes
    group = np.where(sizes > 0, 1 + np.frexp(sizes - 0.5)[1], 0)
    for some in np.unique(group[sizes > 0]):
        cases = np.flatnonzero(group == some)
        width = int(sizes[cases].max())
        step = max(1, _CELLS // width)
        for start in range(0, len(cases), step):
            at = cases[start : start + step]
            there = np.arange(width)[:, None] < sizes[at]
            where = np.where(there, ordered.offsets[at] + np.arange(width)[:, None], 0)
            yield _RankTable(at, where, there, np.where(there, t[where], 0.0), sizes[at])
