"""What lists promise and what came of it: every listed confidence with its rank, and whether its class happened."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from toplist.errors import OutcomeError
from toplist.lists import TopLists, require_lists
from toplist.outcomes import as_codes, is_soft

Floats = NDArray[np.float64]
MISSED = -1


@dataclass(frozen=True, slots=True)
class Promises:
    """The entries of all lists, case by case and the most confident first; one entry is one promise."""

    lists: TopLists  # as they are scored: strictly valid, most confident first
    rank: NDArray[np.int64]  # of each entry, from 0
    place: NDArray[np.int64]  # per case, the rank of what happened, or MISSED

    @property
    def confidence(self) -> Floats:
        """What each entry promises."""
        return self.lists.normalized_confidences

    @property
    def case(self) -> NDArray[np.intp]:
        """The case that each entry belongs to."""
        return np.repeat(np.arange(len(self.lists)), self.lists.sizes)

    @property
    def kept(self) -> NDArray[np.bool_]:
        """Whether the class of each entry happened."""
        kept: NDArray[np.bool_] = self.rank == np.repeat(self.place, self.lists.sizes)
        return kept

    @property
    def missed(self) -> NDArray[np.bool_]:
        """Per case: whether what happened is not listed."""
        missed: NDArray[np.bool_] = self.place == MISSED
        return missed


def promises(lists: TopLists, y: Any) -> Promises:
    """Every listed confidence with its rank and outcome; of an invalid list, those of its largest valid sublist.

    >>> made = promises(TopLists.from_dicts([{"a": 0.2, "b": 0.7}, {"a": 0.9}], 3), ["a", "b"])
    >>> made.confidence, made.kept, made.missed
    (array([0.7, 0.2, 0.9]), array([False,  True, False]), array([False,  True]))
    """
    require_lists(lists)
    if is_soft(y, lists.space):
        raise OutcomeError(
            "calibration is about what happened, one outcome per case, not a distribution.",
            "Draw an outcome per case from it, or score against it with tl.expected_score.",
        )
    codes = as_codes(y, lists)
    ordered = lists.strictly_valid().ordered()
    sizes = ordered.sizes
    rank = np.arange(len(ordered.classes)) - np.repeat(ordered.offsets[:-1], sizes)
    hit = np.flatnonzero(ordered.classes == np.repeat(codes, sizes))
    place = np.full(len(ordered), MISSED, np.int64)
    place[np.repeat(np.arange(len(ordered)), sizes)[hit]] = rank[hit]
    return Promises(ordered, rank, place)


def drawn(lists: TopLists, rng: np.random.Generator) -> NDArray[np.int64]:
    """An outcome for each case, drawn from its padded distribution: the place of a listed class, or MISSED.

    `lists` are those of `Promises`. At most one entry of a list is kept, as with outcomes that happened.
    """
    sizes = lists.sizes
    ends = np.concatenate((np.zeros(1), np.cumsum(lists.normalized_confidences)))
    goal = ends[lists.offsets[:-1]] + rng.random(len(lists))
    passed = np.append(ends[1:] <= np.repeat(goal, sizes), False)
    place = np.add.reduceat(passed, lists.offsets[:-1], dtype=np.int64) if len(lists) else np.zeros(0, np.int64)
    place = np.where(sizes > 0, place, 0)
    last = np.where(lists.rest > 0, sizes, sizes - 1)  # rounding must not draw a class from no mass
    place = np.minimum(place, last)
    return np.where(place < sizes, place, MISSED)
