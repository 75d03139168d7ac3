"""How far from the best a true list can be under the Brier score, from the list alone (paper, section 6)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from toplist.lists import TopList, TopLists, as_lists
from toplist.lists.admitted import row_sums

Floats = NDArray[np.float64]


def excess_bound(lists: Any) -> Any:
    """The paper's bound on the relative excess of the expected Brier score over that of the true distribution.

    It is the rest mass where that is less than every listed confidence, and infinity where there is no bound.

    >>> round(excess_bound(TopList({0: 0.6, 1: 0.3}, 5)), 6)
    0.1
    """
    if isinstance(lists, TopList):
        return float(excess_bound(lists.batch)[0])
    lists = as_lists(lists)
    rest, least = lists.rest, _least(lists)
    return np.where((rest == 0) | (rest < least), rest, np.inf)


def worst_excess(lists: Any) -> Any:
    """The exact worst case of that excess over all distributions that have the list as a true list.

    The worst distribution heaps the rest mass on as few classes as it can, none above the smallest listed
    confidence. Infinite where that leaves nothing uncertain, as for the empty list.

    >>> round(worst_excess(TopList({0: 0.99}, 5)), 8)
    0.00378788
    """
    if isinstance(lists, TopList):
        return float(worst_excess(lists.batch)[0])
    lists = as_lists(lists)
    plain: TopLists = lists.valid()
    t, rest, least = plain.normalized_confidences, plain.rest, _least(plain)
    with np.errstate(over="ignore"):
        heaps = np.floor(np.where(least > 0, rest / np.where(least > 0, least, 1.0), 0.0) * (1 + 1e-15))
    heaped = np.where(np.isfinite(heaps), np.where(np.isfinite(heaps), heaps, 0.0) * least, rest)
    left = np.maximum(rest - heaped, 0.0)
    squares = heaped * least + left**2
    over = squares - rest * plain.proxy
    # 1 - sum of squares as a sum of t (1 - t), which keeps its digits for lists that are nearly sure
    best = row_sums(t * (1.0 - t), plain.offsets) + heaped * (1.0 - least) + left * (1.0 - left)
    worst = np.where(best > 0, over / np.where(best > 0, best, 1.0), np.inf)
    return np.where(rest > 0, np.maximum(worst, 0.0), 0.0)


def _least(lists: TopLists) -> Floats:
    """The smallest listed confidence; 1 for the empty list, whose classes are not bounded by any."""
    out, filled = np.ones(len(lists)), lists.sizes > 0
    if filled.any():
        out[filled] = np.minimum.reduceat(lists.normalized_confidences, lists.offsets[:-1][filled])
    return out
