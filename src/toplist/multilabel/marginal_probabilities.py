"""What lists of label sets say of labels and sizes: the sets that are listed, and what the rest mass adds to them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from toplist._typing import Floats
from toplist.errors import MassError, SpaceError, TopListError
from toplist.lists import TopLists, require_lists
from toplist.lists.columns import row_sums
from toplist.lists.labelsets import LabelSets, Sets

Rest = Literal["spread", "drop"]

SPREAD_LIMIT = 1 << 8
"""In spaces of at most so many sets the rest mass is spread over all of them, in larger ones it is dropped."""

SUPPORT_LIMIT = 1 << 20
"""The same where there is a support, whose sets are all ones that happen."""

_ENTRIES = 1 << 22  # of a matrix that cases are spread out to on the way


@dataclass(frozen=True, slots=True)
class Pad:
    """All sets of a space, each alike: the share of those with label l and sizes[s] labels, and that of the empty set.

    Without a support all labels are alike, and `joint` has one row for all of them.
    """

    joint: Floats
    sizes: NDArray[np.int64]
    empty: float
    sets: Sets | None  # the support

    @classmethod
    def of(cls, space: LabelSets, rest: Rest) -> Pad:
        """The pad of a space; nothing, where the rest mass is dropped."""
        width = len(space.names)
        if rest == "drop" or not width:
            return cls(np.zeros((1, 0)), np.zeros(0, np.int64), float(rest == "spread"), None)
        if space.support is None:
            return cls(heads(width - 1)[None] / 2, np.arange(1, width + 1), 0.5**width if space.empty else 0.0, None)
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
class LabelMarginals:
    """Some cases: each listed set with its weight beyond the pad's, and per case how much of the pad there is."""

    first: int  # of the cases
    sets: Sets
    case: NDArray[np.int64]  # of each set, from zero
    weight: Floats
    level: Floats

    def __len__(self) -> int:
        return len(self.level)

    @property
    def ends(self) -> NDArray[np.intp]:
        """Where the sets of each case begin, and the end."""
        return np.searchsorted(self.case, np.arange(len(self) + 1))


def space_of(lists: Any) -> LabelSets:
    """The space of lists of label sets."""
    require_lists(lists)
    if not isinstance(lists.space, LabelSets):
        raise SpaceError(f"a decision about labels needs lists over LabelSets, not over {lists.space!r}.")
    return lists.space


def told(space: LabelSets, codes: NDArray[Any]) -> Sets:
    """The sets of codes; where there are none, no book is needed."""
    return space.sets_of(codes) if len(codes) else Sets.from_indicators(np.zeros((0, len(space.names)), dtype=bool))


def treatment(space: LabelSets, rest: Rest | None) -> Rest:
    """What becomes of the rest mass; by default what suits the size of the space."""
    if rest is None:
        return "spread" if space.size <= (SPREAD_LIMIT if space.support is None else SUPPORT_LIMIT) else "drop"
    if rest not in ("spread", "drop"):
        raise TopListError(f'the rest mass is "spread" over the unlisted sets, or "drop"ped, not {rest!r}.')
    return rest


def beliefs(lists: TopLists, rest: Rest) -> Iterator[LabelMarginals]:
    """A few cases at a time: the largest valid sublists with their pad, or the lists as they are without it."""
    space, spread, first = space_of(lists), rest == "spread", 0
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
        yield LabelMarginals(first, told(space, part.classes[keep]), case[keep], weight[keep], level)
        first = last


def _shares(lists: TopLists) -> Floats:
    """The confidences divided by their sum; through logarithms, where they are too small to be numbers."""
    t, logs = lists.normalized_confidences, lists.log_confidences
    if logs is not None:
        t = np.exp(logs - np.repeat(row_tops(logs, lists.offsets), lists.sizes))
    shares: Floats = t / np.repeat(row_sums(t, lists.offsets), lists.sizes)
    return shares


def row_tops(values: Floats, offsets: NDArray[np.int64]) -> Floats:
    """The largest value of each row; minus infinity for empty ones."""
    out = np.full(len(offsets) - 1, -np.inf)
    filled = offsets[1:] > offsets[:-1]
    if filled.any():
        out[filled] = np.maximum.reduceat(values, offsets[:-1][filled])
    return out


def _require_mass(lists: TopLists) -> None:
    logs = lists.log_confidences
    listed = lists.normalized_confidences > 0 if logs is None else logs > -np.inf
    bare = row_sums(listed, lists.offsets) == 0
    if bare.any():
        row = int(np.argmax(bare))
        raise MassError(
            "no set is listed with a probability of its own, and without the rest mass nothing is left to decide from.",
            'Leave rejects out, or pass rest="spread" to decide from the rest mass.',
            case=row,
            name="" if lists.ids is None else repr(lists.ids[row].item()),
            more=int(bare.sum()) - 1,
        )


def heads(n: int) -> Floats:
    """How many of n fair coins show heads: the probabilities of 0 to n."""
    out = np.zeros(n + 1)
    out[0] = 1.0
    for i in range(n):
        out[1 : i + 2] = (out[1 : i + 2] + out[: i + 1]) / 2
        out[0] /= 2
    return out
