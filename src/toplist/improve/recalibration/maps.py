"""Rising maps of confidences: isotonic and beta calibration, of all entries alike or rank by rank."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from toplist.arguments import as_whole
from toplist.errors import TopListError
from toplist.improve.recalibration.base import MOST, Recalibrator
from toplist.improve.recalibration.betamap import BetaMap, fit_beta
from toplist.improve.recalibration.logs import ranks, revalued
from toplist.improve.recalibration.record import State
from toplist.improve.recalibration.sample import Sample
from toplist.io.showing import shown
from toplist.isotonic import Steps, grouped, pool
from toplist.lists import TopLists
from toplist.lists.admitted import row_sums

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
Map = Steps | BetaMap


class ConfidenceMaps(Recalibrator):
    """What the two have in common: which entries a map is learned from, and what becomes of the sum.

    With `by="pooled"` one map is learned from all listed confidences, with `by="rank"` one for each of the first
    `ranks` ranks; the last of them also serves all later ranks, and those of fewer than `least` entries.

    The rest has what the new confidences leave, but counts as half a case among all cases learned from, at least: so
    where they add up to more than one and are divided by the sum, a miss does not become impossible.
    """

    learned = ("maps_", "least_rest_")
    maps_: tuple[Map, ...]
    least_rest_: float

    def __init__(self, *, by: str = "pooled", ranks: int = 5, least: int = 200) -> None:
        self.by = by
        self.ranks = ranks
        self.least = least

    @abstractmethod
    def _map(self, t: Floats, kept: Bools, weight: Floats | None) -> Map:
        """The map of one group of entries."""

    def _check(self) -> None:
        if self.by not in ("pooled", "rank"):
            raise TopListError(f'maps are by "pooled" or by "rank", not {shown(self.by)}.')
        as_whole(self.ranks, "ranks", 1)
        as_whole(self.least, "least", 1)

    def _fit(self, sample: Sample) -> None:
        lists = sample.lists
        t, kept = lists.normalized_confidences, lists.classes == np.repeat(sample.codes, lists.sizes)
        weight = np.repeat(sample.weight * sample.counting, lists.sizes)
        counts = weight > 0
        if not counts.all():
            t, kept, weight = t[counts], kept[counts], weight[counts]
        even = not len(weight) or bool((weight == weight[0]).all())
        self.maps_ = tuple(
            self._map(t[of], kept[of], None if even else weight[of]) for of in self._groups(lists, counts)
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
        own = min(max(int(np.argmin(enough)), 1), self.ranks)
        return [np.flatnonzero(rank == r) for r in range(own - 1)] + [np.flatnonzero(rank >= own - 1)]

    def _transform(self, lists: TopLists) -> TopLists:
        if not self.maps_:
            return lists
        t = self._mapped(lists)
        total = row_sums(t, lists.offsets)
        full = lists.admitted.rows.size == lists.sizes
        rest = np.where(full, 0.0, np.maximum(1.0 - total, self.least_rest_))
        scale = np.where(full | (rest > 1.0 - total), total + rest, 1.0)
        with np.errstate(divide="ignore"):
            return revalued(lists, t / np.repeat(scale, lists.sizes), np.log(rest / scale))

    def _mapped(self, lists: TopLists) -> Floats:
        t = lists.normalized_confidences
        if len(self.maps_) == 1:
            return self.maps_[0](t)
        rank, out = np.minimum(ranks(lists), len(self.maps_) - 1), np.empty(len(t))
        for r, one in enumerate(self.maps_):
            of = np.flatnonzero(rank == r)
            out[of] = one(t[of])
        return out


class Isotonic(ConfidenceMaps):
    """Isotonic regression of what was kept on what was promised, with half a case at either end.

    So the lowest and the highest value, of n entries of which s were kept, are (s + 1/2) / (n + 1), and nothing becomes
    exactly 0 or 1. If the new confidences add up to more than one, or all classes are listed, they are divided by
    their sum (and the half case that the rest counts at least); else the rest has what is left. Then repair. Straight
    lines join the steps.
    """

    maps_: tuple[Steps, ...]

    @property
    def parameters(self) -> int:
        """How many steps there are."""
        return sum(map(len, self.maps_)) if self.is_fitted else 1 << 10

    def _map(self, t: Floats, kept: Bools, weight: Floats | None) -> Steps:
        groups = grouped(t, kept, weight)
        more, half = groups.weight.copy(), groups.total.copy()
        for end in (0, -1):
            more[end] += 1.0
            half[end] += 0.5
        return pool(replace(groups, weight=more, total=half))

    def _restore(self, state: State) -> None:
        self.maps_ = tuple(_steps(part) for part in state.parts("maps_"))
        self.least_rest_ = state.number("least_rest_", 1e-300, 0.5)

    def _said(self) -> str:
        return f"{self.parameters} steps" + ("" if self.by == "pooled" else f" in {len(self.maps_)} maps")


class Beta(ConfidenceMaps):
    """Beta calibration: log-odds a log t - b log(1 - t) + c with a, b >= 0, by least log loss of kept or not.

    What becomes of the sum is as with `Isotonic`. Confidences nearer to 0 or 1 than half an entry among all are taken
    as that far (Kull, Silva Filho and Flach, AISTATS 2017).
    """

    maps_: tuple[BetaMap, ...]

    @property
    def parameters(self) -> int:
        """Three for each map."""
        maps = len(self.maps_) if self.is_fitted else 1 if self.by == "pooled" else self.ranks
        return 3 * maps

    def _map(self, t: Floats, kept: Bools, weight: Floats | None) -> BetaMap:
        return fit_beta(t, kept, weight)

    def _restore(self, state: State) -> None:
        self.maps_ = tuple(_beta(part) for part in state.parts("maps_"))
        self.least_rest_ = state.number("least_rest_", 1e-300, 0.5)

    def _said(self) -> str:
        return "; ".join(f"a {one.a:.4g}, b {one.b:.4g}, c {one.c:.4g}" for one in self.maps_)


def _beta(part: State) -> BetaMap:
    a, b = part.number("a", 0.0, MOST), part.number("b", 0.0, MOST)
    return BetaMap(a, b, part.number("c"), part.number("low", 1e-300, 0.5))


def _steps(part: State) -> Steps:
    low, high, value, weight = (part.floats(name) for name in ("low", "high", "value", "weight"))
    if not len(low) == len(high) == len(value) == len(weight) or not len(low):
        raise part.wrong("maps_", "of columns that differ in length, or empty")
    ends = np.stack((low, high), axis=1).ravel()
    if (np.diff(ends) < 0).any() or (np.diff(value) < 0).any() or value[0] <= 0 or value[-1] >= 1:
        raise part.wrong("maps_", "not a rising function between 0 and 1")
    return Steps(low, high, value, weight)
