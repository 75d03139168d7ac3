"""A set with a high expected Jaccard index: the best of the listed sets and of the likeliest labels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from toplist.errors import TopListError
from toplist.multilabel.beliefs import Floats, Pad
from toplist.multilabel.gfm import TIE, leading

_LIMIT = 1 << 27  # entries of a support that is spread out: 1 GiB


class PadOverlap(Protocol):
    """The mean Jaccard index of sets with all sets of a space, each alike."""

    @property
    def pad(self) -> Pad:
        """Of which it is."""
        ...

    @property
    def most(self) -> Floats:
        """What a set of k labels cannot exceed, from k = 1."""
        ...

    def with_first(self, order: NDArray[np.intp]) -> Floats:
        """Of the first label of an order, the first two, and so on."""
        ...

    def with_sets(self, sets: Floats) -> Floats:
        """Of sets, a row of zeros and ones each."""
        ...


def overlap_of(pad: Pad, width: int) -> PadOverlap:
    """What the pad of a space of so many labels adds to the index of any set."""
    if pad.sets is not None:
        if len(pad.sets) * width > _LIMIT:
            raise TopListError(
                f"a support of {len(pad.sets):,} sets of {width:,} labels is too large to be held against every set "
                'that is tried: pass rest="drop".'
            )
        return _Support(pad, _most(pad, width), pad.sets.indicators().astype(np.float64))
    return _Everything(pad, _most(pad, width), _by_size(width, pad.empty) if len(pad.sizes) else np.zeros(0))


@dataclass(frozen=True, slots=True)
class _Everything:
    pad: Pad
    most: Floats
    by_size: Floats  # the index of k labels, from k = 0

    def with_first(self, order: NDArray[np.intp]) -> Floats:
        return self.by_size[1 : len(order) + 1]

    def with_sets(self, sets: Floats) -> Floats:
        found: Floats = self.by_size[sets.sum(axis=1).astype(np.intp)]
        return found


@dataclass(frozen=True, slots=True)
class _Support:
    pad: Pad
    most: Floats
    sets: Floats

    def with_first(self, order: NDArray[np.intp]) -> Floats:
        found: Floats = _with_first(self.sets[:, order], self.sets.sum(axis=1)).mean(axis=0)
        return found

    def with_sets(self, sets: Floats) -> Floats:
        found: Floats = _index(sets, self.sets).mean(axis=1)
        return found


def best_overlap(
    labels: NDArray[np.int64], sizes: NDArray[np.int64], weight: Floats, level: float, overlap: PadOverlap, width: int
) -> NDArray[np.int64]:
    """The best of the listed sets, the empty set, and for each k the k likeliest labels.

    `labels` are those of all listed sets, one set after the other, each with its weight beyond the pad's.
    """
    places, at = (np.arange(width), labels) if level else np.unique(labels, return_inverse=True)
    listed = np.zeros((len(sizes), len(places)))
    listed[np.repeat(np.arange(len(sizes)), sizes), at] = 1.0
    order = leading(weight @ listed + (level * overlap.pad.likely if level else 0.0))
    none = weight[sizes == 0].sum() + level * overlap.pad.empty
    met = listed[:, listed.any(axis=0)]
    own = _index(met, met) @ weight
    if level:
        own = own + level * overlap.with_sets(listed)
    order = order[: _enough(sizes, weight, level * overlap.most[: len(order)], max(none, own.max(initial=0.0)))]
    first = weight @ _with_first(listed[:, order], sizes)
    if level:
        first = first + level * overlap.with_first(order)
    values = np.concatenate(([none], first, own))

    def members(i: int) -> list[int]:
        chosen = order[:i] if i <= len(order) else np.flatnonzero(listed[i - len(order) - 1])
        return sorted(places[chosen].tolist())

    tried = map(members, np.flatnonzero(values >= values.max() - TIE).tolist())
    return np.array(min(tried, key=lambda one: (len(one), one)), dtype=np.int64)


def _enough(sizes: NDArray[np.int64], weight: Floats, more: Floats, found: float) -> int:
    """The largest k for which k labels might be as good as what is found; `more` is what the pad adds at most."""
    k = np.arange(1, len(more) + 1)
    bound = weight @ _nearness(sizes, k) + more
    return int(np.flatnonzero(bound >= found - TIE).max(initial=-1)) + 1


def _nearness(sizes: NDArray[np.int64], k: NDArray[np.int64]) -> Floats:
    """The Jaccard index of nested sets of these sizes: no others do better."""
    found: Floats = np.minimum.outer(sizes, k) / np.maximum.outer(sizes, k)
    return found


def _most(pad: Pad, width: int) -> Floats:
    share = pad.joint.sum(axis=0) * (width if pad.alike else 1) / pad.sizes
    found = [share @ _nearness(pad.sizes, np.array([k]))[:, 0] for k in range(1, width + 1)]
    return np.array(found if len(share) else np.zeros(width))


def _index(x: Floats, y: Floats) -> Floats:
    """The Jaccard index of every x with every y, rows of zeros and ones; 1 of two empty sets."""
    shared = x @ y.T
    either = np.add.outer(x.sum(axis=1), y.sum(axis=1)) - shared
    found: Floats = np.where(either > 0, shared / np.maximum(either, 1.0), 1.0)
    return found


def _with_first(sets: Floats, sizes: NDArray[np.int64] | Floats) -> Floats:
    """The Jaccard index of sets, rows of zeros and ones, with the first column, the first two, and so on."""
    shared = np.cumsum(sets, axis=1)
    either = sizes[:, None] + np.arange(1, sets.shape[1] + 1) - shared
    found: Floats = shared / either
    return found


def _by_size(width: int, empty: float) -> Floats:
    """The mean Jaccard index of k labels with all 2**width sets: (k / 2) E[1 / (k + B)], B heads of width - k coins."""
    out, coins = np.empty(width + 1), np.ones(1)
    out[0] = empty
    for k in range(width, 0, -1):
        out[k] = k / 2 * (coins / (k + np.arange(len(coins)))).sum()
        coins = (np.append(coins, 0.0) + np.append(0.0, coins)) / 2
    return out
