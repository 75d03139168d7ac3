"""Cases that are held together although each batch numbers its classes in its own way.

Calibration asks where the outcome stands in its list and what was promised there, not what the class is called. So
every list is kept with the places of its entries as codes, and its outcome as a place.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from threading import Lock
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from toplist.diagnosis import Binned
from toplist.errors import OutcomeError
from toplist.lists import TopLists, from_logs
from toplist.outcomes import as_codes, is_soft
from toplist.space import ClassSpace

Codes = NDArray[np.int64]
EXACT: Final = 2_000_000
"""Listed classes up to which cases are held and isotonic regression sees every one: seconds, and about 100 MB."""


@dataclass(frozen=True, slots=True)
class Held:
    """Lists and outcomes by place; every so many cases of all, and sums over all cases where some are not held."""

    lists: TopLists
    y: Codes
    every: int  # 1: all are held
    binned: Binned | None


def by_place(lists: TopLists, y: Any) -> tuple[TopLists, Codes]:
    """The same lists with the places of their entries as classes, and what happened as a place (beyond if missed).

    >>> found, y = by_place(TopLists.from_dicts([{"a": 0.7, "b": 0.2}, {"c": 0.4}], 9), ["b", "a"])
    >>> found.classes, y
    (array([0, 1, 0]), array([1, 1]))
    """
    if is_soft(y, lists.space):
        raise OutcomeError(
            "calibration is about what happened, one outcome per case, not a distribution.",
            "Draw an outcome per case from it, or score against it with tl.expected_score.",
        )
    sizes, codes = lists.sizes, as_codes(y, lists)
    place = np.arange(len(lists.confidences)) - np.repeat(lists.offsets[:-1], sizes)
    hit = np.flatnonzero(lists.classes == np.repeat(codes, sizes))
    out = sizes.astype(np.int64)
    out[np.repeat(np.arange(len(lists)), sizes)[hit]] = place[hit]
    space = ClassSpace(lists.space.size)
    if lists.log_confidences is not None:
        made = from_logs(lists.offsets, place, lists.log_confidences, space, log_rest=lists.log_rest)
    else:
        made = TopLists.from_ragged(lists.offsets, place, lists.confidences, space, log_rest=lists.log_rest)
    return made, out


def thinned(lists: TopLists, limit: int) -> int:
    """The smallest power of two, every so many cases of which have at most so many listed classes."""
    every, sizes = 1, lists.sizes
    while sizes[::every].sum() > limit and every < len(sizes):
        every *= 2
    return every


@dataclass(slots=True)
class Holding:
    """Takes batches in any order and from any thread; the result does not depend on either."""

    limit: int = EXACT
    every: int = 1
    binned: Binned | None = None
    entries: int = 0
    parts: list[tuple[str, Codes, TopLists, Codes]] = field(default_factory=list)  # file, rows, lists, outcomes
    _lock: Lock = field(default_factory=Lock)

    def add(self, lists: TopLists, y: Any, rows: Codes, source: str = "") -> None:
        """Hold some cases; `rows` say where each stands in its source."""
        made, places = by_place(lists, y)
        with self._lock:
            if self.binned is not None:
                self.binned = self.binned + Binned.of(made, places)
            self._hold((source, rows, made, places))
            while self.entries > self.limit and self._more_than_one():
                if self.binned is None:
                    self.binned = sum((Binned.of(part[2], part[3]) for part in self.parts), Binned())
                self.every *= 2
                parts, self.parts, self.entries = self.parts, [], 0
                for part in parts:
                    self._hold(part)

    def _hold(self, part: tuple[str, Codes, TopLists, Codes]) -> None:
        source, rows, lists, y = part
        at = np.flatnonzero(rows % self.every == 0)
        if len(at):
            lists = lists if len(at) == len(rows) else lists[at]
            self.parts.append((source, rows[at], lists, y[at]))
            self.entries += len(lists.confidences)

    def _more_than_one(self) -> bool:
        return sum(len(part[1]) for part in self.parts) > 1

    def held(self) -> Held:
        """All that is held, in the order of the sources and their rows."""
        parts = sorted(self.parts, key=lambda part: (part[0], int(part[1][0])))
        lists, y = _joined([(part[2], part[3]) for part in parts])
        files = {name: i for i, name in enumerate(sorted({part[0] for part in parts}))}
        file = np.repeat([files[part[0]] for part in parts], [len(part[1]) for part in parts])
        rows = np.concatenate([part[1] for part in parts])
        order = np.lexsort((rows, file))
        if (np.diff(order) != 1).any():
            lists, y = lists[order], y[order]
        return Held(lists, y, self.every, self.binned)


def _joined(parts: Sequence[tuple[TopLists, Codes]]) -> tuple[TopLists, Codes]:
    """One batch of several; each has places as classes."""
    if len(parts) == 1:
        return parts[0]
    every = [lists for lists, _ in parts]
    offsets = np.concatenate(([0], np.cumsum(np.concatenate([lists.sizes for lists in every]))))
    classes = np.concatenate([lists.classes for lists in every])
    space, log_rest = _space(every), None
    if any(lists.log_rest is not None for lists in every):
        log_rest = np.concatenate([_log(lists.rest) if lists.log_rest is None else lists.log_rest for lists in every])
    y = np.concatenate([places for _, places in parts])
    if any(lists.log_confidences is not None for lists in every):
        logs = [_log(x.confidences) if x.log_confidences is None else x.log_confidences for x in every]
        return from_logs(offsets, classes, np.concatenate(logs), space, log_rest=log_rest), y
    t = np.concatenate([lists.confidences for lists in every])
    return TopLists.from_ragged(offsets, classes, t, space, log_rest=log_rest), y


def _space(every: Sequence[TopLists]) -> ClassSpace:
    if not every[0].space.per_case:
        return ClassSpace(every[0].space.size)
    return ClassSpace(np.concatenate([lists.space.size for lists in every]))


def _log(x: NDArray[Any]) -> NDArray[np.float64]:
    with np.errstate(divide="ignore"):
        found: NDArray[np.float64] = np.log(x.astype(np.float64))
    return found
