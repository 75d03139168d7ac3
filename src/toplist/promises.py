"""What lists promise and what came of it: every listed confidence with its rank, and whether its class happened."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from toplist.lists import TopLists, as_lists
from toplist.lists.admitted import row_sums
from toplist.outcomes import as_happened

Floats = NDArray[np.float64]
MISSED = -1
_DIGITS = 13  # sums of the same numbers in another order differ in the last of sixteen


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
    def rest(self) -> Floats:
        """The mass that each case leaves unlisted, to thirteen digits: 1 - 0.7 - 0.1 and 1 - 0.6 - 0.2 are equal."""
        return np.round(self.lists.rest, _DIGITS)

    @property
    def mass(self) -> Floats:
        """The mass that each case lists, to thirteen digits."""
        return np.round(self.lists.mass, _DIGITS)

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

    def at(self, cases: NDArray[np.intp]) -> Promises:
        """Those of some cases."""
        lists = self.lists[cases]
        return Promises(lists, ranks_in(lists), self.place[cases])


def promises(predictions: Any, y: Any) -> Promises:
    """Every listed confidence with its rank and outcome; of an invalid list, those of its largest valid sublist.

    >>> made = promises(TopLists.from_dicts([{"a": 0.2, "b": 0.7}, {"a": 0.9}], 3), ["a", "b"])
    >>> made.confidence, made.kept, made.missed
    (array([0.7, 0.2, 0.9]), array([False,  True, False]), array([False,  True]))
    """
    lists = as_lists(predictions)
    codes = as_happened(y, lists, "calibration is about")
    ordered = lists.strictly_valid().ordered()
    sizes = ordered.sizes
    rank = ranks_in(ordered)
    hit = np.flatnonzero(ordered.classes == np.repeat(codes, sizes))
    place = np.full(len(ordered), MISSED, np.int64)
    place[np.repeat(np.arange(len(ordered)), sizes)[hit]] = rank[hit]
    return Promises(ordered, rank, place)


@dataclass(frozen=True, slots=True)
class Drawing:
    """Lists made ready for drawing outcomes again and again."""

    sizes: NDArray[np.int64]
    starts: NDArray[np.int64]
    base: Floats  # per case, the mass of all lists before it
    ends: Floats  # per entry, the mass up to and with it
    last: NDArray[np.int64]  # the last place that has any mass; as many as there are entries is the rest

    @classmethod
    def of(cls, lists: TopLists) -> Drawing:
        """`lists` are those of `Promises`."""
        t, sizes, starts = lists.normalized_confidences, lists.sizes, lists.offsets[:-1]
        ends = np.concatenate((np.zeros(1), np.cumsum(t)))
        positive = row_sums(t > 0, lists.offsets).astype(np.int64)
        last = np.where(lists.rest > 0, sizes, positive - 1)  # rounding must not draw a class from no mass
        return cls(sizes, starts, ends[starts], ends[1:], last)

    def places(self, rng: np.random.Generator) -> NDArray[np.int64]:
        """An outcome for each case."""
        if not len(self.sizes):
            return np.zeros(0, np.int64)
        goal = self.base + rng.random(len(self.sizes))
        passed = np.append(self.ends <= np.repeat(goal, self.sizes), False)
        place = np.where(self.sizes > 0, np.add.reduceat(passed, self.starts, dtype=np.int64), 0)
        place = np.minimum(place, self.last)
        return np.where(place < self.sizes, place, MISSED)


def drawn(lists: TopLists, rng: np.random.Generator) -> NDArray[np.int64]:
    """An outcome for each case, drawn from its padded distribution: the place of a listed class, or MISSED.

    `lists` are those of `Promises`. At most one entry of a list is kept, as with outcomes that happened.
    """
    return Drawing.of(lists).places(rng)


def ranks_in(lists: TopLists) -> NDArray[np.int64]:
    """The place of each entry in its list, from 0: its rank, where lists begin with the most confident class."""
    ranks: NDArray[np.int64] = np.arange(len(lists.confidences)) - np.repeat(lists.offsets[:-1], lists.sizes)
    return ranks
