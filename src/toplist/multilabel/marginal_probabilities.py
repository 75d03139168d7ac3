"""Lists of label sets as weighted sets with a share of the rest mass, for probabilities of labels and sizes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from toplist._typing import Floats, Ints
from toplist.errors import MassError, SpaceError, TopListError
from toplist.lists import TopLists, as_lists
from toplist.lists.labelsets import LabelSets, Sets
from toplist.lists.validation import row_sums

Rest = Literal["spread", "drop"]

SPREAD_LIMIT = 1 << 8
"""In spaces of at most so many sets the rest mass is spread over all of them, in larger ones it is dropped."""

SUPPORT_LIMIT = 1 << 20
"""The same for spaces with a support, whose sets all occur."""

_ENTRIES = 1 << 22  # of a matrix with a column per label


@dataclass(frozen=True, slots=True)
class Pad:
    """All sets of a space, equally weighted: the share of those with label l and sizes[s] labels, and of the empty set.

    Without a support all labels are alike, and `joint` has one row for all of them.
    """

    joint: Floats
    sizes: Ints
    empty: float
    sets: Sets | None  # the support

    @classmethod
    def of(cls, space: LabelSets, rest: Rest) -> Pad:
        """The pad of a space; zero where the rest mass is dropped."""
        width = len(space.names)
        if rest == "drop" or not width:
            return cls(np.zeros((1, 0)), np.zeros(0, np.int64), float(rest == "spread"), None)
        if space.support is None:
            return cls(
                _fair_binomial(width - 1)[None] / 2, np.arange(1, width + 1), 0.5**width if space.empty else 0.0, None
            )
        sets = space.sets(space.support)
        sizes = np.unique(sets.sizes[sets.sizes > 0])
        joint = np.zeros((width, len(sizes)))
        np.add.at(joint, (sets.labels, np.searchsorted(sizes, np.repeat(sets.sizes, sets.sizes))), 1 / len(sets))
        return cls(joint, sizes, float(np.mean(sets.sizes == 0)), sets)

    @property
    def alike(self) -> bool:
        """Whether one row stands for all labels."""
        return self.sets is None

    @property
    def likely(self) -> Floats:
        """The share of the sets that hold a label, by label or for all."""
        found: Floats = self.joint.sum(axis=1)
        return found


@dataclass(frozen=True, slots=True)
class WeightedSets:
    """Some cases: each listed set with its weight beyond that of the pad, and the weight of the pad by case."""

    first: int  # of the cases
    sets: Sets
    case: Ints  # of each set, from zero
    weight: Floats
    level: Floats

    def __len__(self) -> int:
        return len(self.level)

    @property
    def ends(self) -> NDArray[np.intp]:
        """Where the sets of each case begin, and the end."""
        return np.searchsorted(self.case, np.arange(len(self) + 1))


def as_set_lists(lists: Any, space: Any = None) -> tuple[TopLists, LabelSets]:
    """Predictions as lists of label sets, and their space."""
    lists = as_lists(lists, space)
    if not isinstance(lists.space, LabelSets):
        raise SpaceError(f"a decision about labels needs lists over LabelSets, not over {lists.space!r}.")
    return lists, lists.space


def decoded(space: LabelSets, codes: NDArray[Any]) -> Sets:
    """The sets of codes; for no codes no codebook is needed."""
    return space.sets_of(codes) if len(codes) else no_sets(len(space.names))


def no_sets(width: int) -> Sets:
    """No set of so many labels."""
    return Sets(np.zeros(1, np.int64), np.zeros(0, np.int32), width)


def as_rest(rest: Rest | None, space: LabelSets) -> Rest:
    """Whether the rest mass is spread or dropped; by default what suits the size of the space."""
    if rest is None:
        return "spread" if space.size <= (SPREAD_LIMIT if space.support is None else SUPPORT_LIMIT) else "drop"
    if rest not in ("spread", "drop"):
        raise TopListError(f'the rest mass is "spread" over the unlisted sets, or "drop"ped, not {rest!r}.')
    return rest


def weighted_sets(lists: TopLists, space: LabelSets, rest: Rest) -> Iterator[WeightedSets]:
    """Some cases at a time: the largest valid sublists with their pad, or the lists as they are without it."""
    spread, first = rest == "spread", 0
    width, count = len(space.names), 2 ** len(space.names) if space.support is None else space.size
    if spread:
        lists = lists.valid()
    else:
        _require_mass(lists)
    cost = np.cumsum(np.maximum(lists.sizes, 1) * max(width, 1))
    while first < len(lists):
        spent = cost[first - 1] if first else 0
        last = max(first + 1, int(np.searchsorted(cost, spent + _ENTRIES, side="right")))
        part = lists[first:last]
        case = np.repeat(np.arange(len(part)), part.sizes)
        if spread:
            more = {int(k): count / (space.size - int(k)) if k < space.size else 0.0 for k in np.unique(part.sizes)}
            level = part.rest * np.array([more[int(k)] for k in part.sizes])
            weight = part.normalized_confidences - np.repeat(part.proxy, part.sizes)
        else:
            level = np.zeros(len(part))
            weight = _shares(part)
        keep = weight > 0
        yield WeightedSets(first, decoded(space, part.classes[keep]), case[keep], weight[keep], level)
        first = last


def _shares(lists: TopLists) -> Floats:
    """The confidences divided by their sum."""
    t = lists.normalized_confidences
    shares: Floats = t / np.repeat(row_sums(t, lists.offsets), lists.sizes)
    return shares


def row_tops(values: Floats, offsets: Ints) -> Floats:
    """The largest value of each row; minus infinity for empty ones."""
    out = np.full(len(offsets) - 1, -np.inf)
    filled = offsets[1:] > offsets[:-1]
    if filled.any():
        out[filled] = np.maximum.reduceat(values, offsets[:-1][filled])
    return out


def _require_mass(lists: TopLists) -> None:
    bare = row_sums(lists.normalized_confidences > 0, lists.offsets) == 0
    if bare.any():
        row = int(np.argmax(bare))
        raise MassError(
            "no set is listed with a positive probability, and without the rest mass there is nothing to decide from.",
            'Leave rejects out, or pass rest="spread" to decide from the rest mass.',
            case=row,
            name="" if lists.ids is None else repr(lists.ids[row].item()),
            more=int(bare.sum()) - 1,
        )


def _fair_binomial(n: int) -> Floats:
    """The probabilities of 0 to n heads of n fair coins."""
    out = np.zeros(n + 1)
    out[0] = 1.0
    for i in range(n):
        out[1 : i + 2] = (out[1 : i + 2] + out[: i + 1]) / 2
        out[0] /= 2
    return out
