"""Pairs of confidence and hit: every listed class with its confidence, its rank, and whether it is the outcome."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from toplist._typing import Floats
from toplist.errors import TopListError
from toplist.lists import TopLists, as_lists
from toplist.lists.converters import as_happened
from toplist.lists.operations import ranks_in
from toplist.lists.validation import row_sums

MISSED = -1
_DIGITS = 13  # sums of the same numbers in another order differ in the last of sixteen


@dataclass(frozen=True, slots=True)
class CalibrationPairs:
    """The entries of all lists, case by case and the most confident first: a confidence, and a hit or not."""

    lists: TopLists  # as they are scored: strictly valid, most confident first
    rank: NDArray[np.int64]  # of each entry, from 0
    place: NDArray[np.int64]  # per case, the rank of the outcome, or MISSED

    @property
    def confidence(self) -> Floats:
        """The confidence of each entry."""
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
    def hit(self) -> NDArray[np.bool_]:
        """Whether the class of each entry is the outcome."""
        hit: NDArray[np.bool_] = self.rank == np.repeat(self.place, self.lists.sizes)
        return hit

    @property
    def miss(self) -> NDArray[np.bool_]:
        """Per case: whether the outcome is not listed."""
        miss: NDArray[np.bool_] = self.place == MISSED
        return miss

    def take(self, cases: NDArray[np.intp]) -> CalibrationPairs:
        """The pairs of some cases."""
        lists = self.lists[cases]
        return CalibrationPairs(lists, ranks_in(lists), self.place[cases])


def calibration_pairs(predictions: Any, y: Any, space: Any = None) -> CalibrationPairs:
    """Every listed confidence with its rank and hit; of an invalid list, those of its largest valid sublist.

    >>> made = calibration_pairs(TopLists.from_dicts([{"a": 0.2, "b": 0.7}, {"a": 0.9}], 3), ["a", "b"])
    >>> made.confidence, made.hit, made.miss
    (array([0.7, 0.2, 0.9]), array([False,  True, False]), array([False,  True]))
    """
    lists = as_lists(predictions, space)
    codes = as_happened(y, lists, "calibration is about")
    ordered = lists.strictly_valid().ordered()
    sizes = ordered.sizes
    rank = ranks_in(ordered)
    hit = np.flatnonzero(ordered.classes == np.repeat(codes, sizes))
    place = np.full(len(ordered), MISSED, np.int64)
    place[np.repeat(np.arange(len(ordered)), sizes)[hit]] = rank[hit]
    return CalibrationPairs(ordered, rank, place)


@dataclass(frozen=True, slots=True)
class OutcomeSampler:
    """Lists prepared for sampling outcomes repeatedly."""

    sizes: NDArray[np.int64]
    starts: NDArray[np.int64]
    base: Floats  # per case, the mass of all lists before it
    ends: Floats  # per entry, the mass up to and with it
    last: NDArray[np.int64]  # the last place that has any mass; as many as there are entries is the rest

    @classmethod
    def of(cls, lists: TopLists) -> OutcomeSampler:
        """`lists` are those of `CalibrationPairs`."""
        t, sizes, starts = lists.normalized_confidences, lists.sizes, lists.offsets[:-1]
        ends = np.concatenate((np.zeros(1), np.cumsum(t)))
        positive = row_sums(t > 0, lists.offsets).astype(np.int64)
        last = np.where(lists.rest > 0, sizes, positive - 1)  # rounding must not draw a class from no mass
        return cls(sizes, starts, ends[starts], ends[1:], last)

    def places(self, rng: np.random.Generator) -> NDArray[np.int64]:
        """A sampled outcome for each case: the rank of a listed class, or MISSED."""
        if not len(self.sizes):
            return np.zeros(0, np.int64)
        goal = self.base + rng.random(len(self.sizes))
        passed = np.append(self.ends <= np.repeat(goal, self.sizes), False)
        place = np.where(self.sizes > 0, np.add.reduceat(passed, self.starts, dtype=np.int64), 0)
        place = np.minimum(place, self.last)
        return np.where(place < self.sizes, place, MISSED)


def sample_outcomes(lists: TopLists, rng: np.random.Generator) -> NDArray[np.int64]:
    """An outcome for each case, sampled from its padded distribution: the rank of a listed class, or MISSED.

    `lists` are those of `CalibrationPairs`. At most one entry of a list is a hit, as with observed outcomes.
    """
    return OutcomeSampler.of(lists).places(rng)


Of = str | int
NAMES = ("listed", "top", "mass")


@dataclass(frozen=True, slots=True)
class View:
    """Some of the pairs: confidences, hits, and the case of each."""

    of: Of
    confidence: Floats
    hit: NDArray[np.bool_]
    case: NDArray[np.intp]
    _starts: NDArray[np.int64] | None  # of each case among the entries, where all are seen

    def hits(self, place: NDArray[np.int64]) -> NDArray[Any]:
        """The pairs that would be hits if the outcomes had these ranks: a mask, or their numbers."""
        hit: NDArray[np.bool_] = place != MISSED
        if self._starts is not None:
            at: NDArray[np.int64] = self._starts[hit] + place[hit]
            return at
        if self.of == "mass":
            return hit
        own: NDArray[np.bool_] = place[self.case] == _rank(self.of)
        return own


def as_of(of: Any) -> Of:
    """The name of a view, or a rank from 1.

    >>> as_of(np.int64(2))
    2
    """
    if isinstance(of, str) and of in NAMES:
        return of
    if isinstance(of, int | np.integer) and not isinstance(of, bool) and of >= 1:
        return int(of)
    raise TopListError(f"of is 'listed', 'top', 'mass' or a rank from 1, not {of!r}.")


def view(made: CalibrationPairs, of: Any) -> View:
    """The pairs of one kind; an error where there are none."""
    of, lists = as_of(of), made.lists
    require_cases(made)
    if of == "mass":
        return View(of, made.mass, ~made.miss, np.arange(len(lists)), None)
    sizes = lists.sizes
    if not sizes.any():
        raise TopListError("every list is empty: there is no confidence to look at, only the mass (of='mass').")
    if of == "listed":
        return View(of, made.confidence, made.hit, made.case, lists.offsets[:-1])
    rank = _rank(of)
    case = np.flatnonzero(sizes > rank)
    if not len(case):
        raise TopListError(f"no list has a rank {of}: the longest has {int(sizes.max())}.")
    return View(of, made.confidence[lists.offsets[:-1][case] + rank], made.place[case] == rank, case, None)


def require_cases(made: CalibrationPairs) -> None:
    """Raise if there are none."""
    if not len(made.lists):
        raise TopListError("there are no cases.")


def _rank(of: Of) -> int:
    return 0 if isinstance(of, str) else of - 1
