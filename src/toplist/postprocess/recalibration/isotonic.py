"""Isotonic regression of hits on confidences, of all entries together or rank by rank."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from toplist._text import quote
from toplist._typing import Bools, Floats
from toplist.calibration.pairs import Steps, grouped, pool
from toplist.core.arguments import as_whole
from toplist.errors import TopListError
from toplist.lists import TopLists
from toplist.lists.log_space import ranks, revalued
from toplist.lists.validation import row_sums
from toplist.postprocess.recalibration.base import Recalibrator, Sample, State


class Isotonic(Recalibrator):
    """Isotonic regression of hits on confidences, with half a case at either end.

    The lowest and the highest value, of n entries with s hits, are (s + 1/2) / (n + 1), also where they are one value,
    so that nothing becomes exactly 0 or 1; values in between are interpolated. If the new confidences sum to
    more than one, or all classes are listed, they are divided by their sum; else the rest has what is left, but at
    least half a case among all cases learned from, so that no miss gets probability zero. Lists are repaired in the
    end.

    Parameters
    ----------
    by : {"pooled", "rank"}, default "pooled"
        One map of all listed confidences, or one for each of the first ranks.
    ranks : int, default 5
        How many ranks have a map of their own; the last of these maps serves all later ranks as well.
    least : int, default 200
        The fewest entries of a rank with a map of its own.

    Attributes
    ----------
    maps_ : tuple
        The fitted step functions, one or one per rank.

    Examples
    --------
    >>> Isotonic().fit_transform([{"a": 0.9}] * 4, ["a", "a", "b", "c"], space=3).confidences
    array([0.5, 0.5, 0.5, 0.5])
    """

    learned = ("maps_", "least_rest_")
    maps_: tuple[Steps, ...]
    least_rest_: float

    def __init__(self, *, by: str = "pooled", ranks: int = 5, least: int = 200) -> None:
        self.by = by
        self.ranks = ranks
        self.least = least

    @property
    def parameters(self) -> int:
        """The number of steps."""
        return sum(map(len, self.maps_)) if self.is_fitted else 1 << 10

    def _check(self) -> None:
        if self.by not in ("pooled", "rank"):
            raise TopListError(f'maps are by "pooled" or by "rank", not {quote(self.by)}.')
        as_whole(self.ranks, "ranks", 1)
        as_whole(self.least, "least", 1)

    def _fit(self, sample: Sample) -> None:
        lists = sample.lists
        t, hit = lists.normalized_confidences, lists.classes == np.repeat(sample.codes, lists.sizes)
        weight = np.repeat(sample.weight * sample.counting, lists.sizes)
        counts = weight > 0
        if not counts.all():
            t, hit, weight = t[counts], hit[counts], weight[counts]
        even = not len(weight) or bool((weight == weight[0]).all())
        self.maps_ = tuple(
            self._map(t[of], hit[of], None if even else weight[of]) for of in self._groups(lists, counts)
        )
        self.least_rest_ = 0.5 / (sample.counting + 1)

    def _groups(self, lists: TopLists, counts: Bools) -> list[Any]:
        """The entries that each map is learned from; none, where there are no entries at all."""
        if not counts.any():
            return []
        if self.by == "pooled":
            return [slice(None)]
        rank = ranks(lists)[counts]
        sizes = np.bincount(rank)
        enough = np.append(sizes >= self.least, False)
        last = min(max(int(np.argmin(enough)), 1), self.ranks) - 1
        return [np.flatnonzero(rank == r) for r in range(last)] + [np.flatnonzero(rank >= last)]

    def _transform(self, lists: TopLists) -> TopLists:
        if not self.maps_:
            return lists
        t = self._mapped(lists)
        total = row_sums(t, lists.offsets)
        full = lists.checked.rows.size == lists.sizes
        rest = np.where(full, 0.0, np.maximum(1.0 - total, self.least_rest_))
        scale = np.where(full | (rest > 1.0 - total), total + rest, 1.0)
        with np.errstate(divide="ignore"):
            return revalued(lists, t / np.repeat(scale, lists.sizes), np.log(rest / scale))

    def _mapped(self, lists: TopLists) -> Floats:
        t = lists.normalized_confidences
        if len(self.maps_) == 1:
            return self.maps_[0](t)
        rank, out = np.minimum(ranks(lists), len(self.maps_) - 1), np.empty(len(t))
        for r, steps in enumerate(self.maps_):
            of = np.flatnonzero(rank == r)
            out[of] = steps(t[of])
        return out

    def _map(self, t: Floats, hit: Bools, weight: Floats | None) -> Steps:
        groups = grouped(t, hit, weight)
        more, half = groups.weight.copy(), groups.total.copy()
        for end in (0, -1):
            more[end] += 1.0
            half[end] += 0.5
        steps = pool(replace(groups, weight=more, total=half))
        if len(steps) > 1:
            return steps
        weight = steps.weight - 1.0  # both ends are one step: it has half a case once
        return replace(steps, value=(groups.total.sum() + 0.5) / weight, weight=weight)

    def _restore(self, state: State) -> None:
        self.maps_ = tuple(map(_steps, state.parts("maps_")))
        self.least_rest_ = state.number("least_rest_", 1e-300, 0.5)

    def _describe(self) -> str:
        return f"{self.parameters} steps" + ("" if self.by == "pooled" else f" in {len(self.maps_)} maps")


def _steps(part: State) -> Steps:
    """A map from a file, checked."""
    low, high, value, weight = (part.floats(name) for name in ("low", "high", "value", "weight"))
    if not len(low) == len(high) == len(value) == len(weight) or not len(low):
        raise part.wrong("maps_", "of columns that differ in length, or empty")
    ends = np.stack((low, high), axis=1).ravel()
    if (np.diff(ends) < 0).any() or (np.diff(value) < 0).any() or value[0] <= 0 or value[-1] >= 1:
        raise part.wrong("maps_", "not a rising function between 0 and 1")
    return Steps(low, high, value, weight)
