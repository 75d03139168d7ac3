"""Scores case by case, side by side: for what sums alone cannot say, such as how neighbours in time hang together."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from toplist._typing import Codes, Floats

Keys = NDArray[np.uint64]


@dataclass(frozen=True, slots=True, eq=False)
class ScoreMatrix:
    """The scores of all models under all rules, in the order of the truth.

    A unit is what may be taken as a whole: a case, a cluster, or all cases of one time point. Where `ordered`, the
    codes of units rise with time; there may be clusters across time points then.
    """

    scores: Floats  # (cases, rules, models); NaN where a model lacks the case
    empty: Floats  # (cases or 1, rules): what the empty list scores in expectation
    weights: Floats | None = None
    units: Codes | None = None  # None: every case is one
    ordered: bool = False
    groups: Codes | None = None
    keys: tuple[Any, ...] = ()  # of the groups
    clusters: Codes | None = None  # beside units in time: what else makes cases depend on each other

    def __len__(self) -> int:
        return len(self.scores)

    @property
    def unit(self) -> str:
        """What a unit is called."""
        return "case" if self.units is None else "time point" if self.ordered else "cluster"

    @property
    def count(self) -> int:
        """How many units there are."""
        return len(self) if self.units is None else len(np.unique(self.units))

    def group(self, key: Any) -> ScoreMatrix:
        """The cases of one group."""
        if self.groups is None:
            return self
        return self.some(np.flatnonzero(self.groups == self.keys.index(key)))

    def some(self, at: NDArray[np.intp]) -> ScoreMatrix:
        """Some of the cases, in this order."""
        empty = self.empty if len(self.empty) == 1 else self.empty[at]
        weights = None if self.weights is None else self.weights[at]
        units, clusters = (None if codes is None else codes[at] for codes in (self.units, self.clusters))
        return ScoreMatrix(self.scores[at], empty, weights, units, self.ordered, clusters=clusters)

    def by_cluster(self) -> ScoreMatrix:
        """The same with clusters as the units, whatever the time."""
        return replace(self, units=self.clusters, ordered=False, clusters=None)

    def totals(self, rule: int) -> UnitSums:
        """What the cases of each unit add up to, under one rule.

        Where cases do not follow each other, the order in which they come does not show, neither in the last digits of
        sums nor in which of them are drawn: they are put in an order that depends on their numbers alone.
        """
        scores = self.scores[:, rule]
        w = np.ones(len(scores)) if self.weights is None else self.weights
        empty = np.broadcast_to(self.empty[:, rule], len(scores))
        units = self.units
        if units is not None or not self.ordered:
            keys = _keys(scores, w, empty)
            at, units = _order(keys, _own(scores, keys), units, timed=self.ordered)
            scores, w, empty = scores[at], w[at], empty[at]
        fine = np.isfinite(scores)
        count, codes = len(scores), None
        if units is not None:
            found, codes = np.unique(units, return_inverse=True)
            count = len(found)
        x = np.where(fine, scores, 0.0) * w[:, None]
        empty = np.where(np.isfinite(empty), empty, 0.0) * w

        def add(column: Floats) -> Floats:
            return column if codes is None else np.bincount(codes, column, count).astype(np.float64)

        k = scores.shape[1]
        if fine.all():
            sums = [add(x[:, a]) for a in range(k)]
            return UnitSums(np.stack([*sums, add(w), add(empty)]), k, complete=True)
        out = UnitSums(np.empty((k * k + k * (k + 1) // 2 + k, count)), k, complete=False)
        for a in range(k):
            for b in range(k):
                both = fine[:, a] & fine[:, b]
                out.x(a, b)[:] = add(np.where(both, x[:, a], 0.0))
                if a <= b:
                    out.w(a, b)[:] = add(np.where(both, w, 0.0))
            out.empty(a)[:] = add(np.where(fine[:, a], empty, 0.0))
        return out


def _keys(scores: Floats, *columns: Floats) -> Keys:
    """A number for each case, mixed from what it has: which model has which score does not show, nor how often."""
    found = np.sort(np.where(np.isnan(scores), np.nan, scores + 0.0), axis=1)
    new = np.ones(found.shape, bool)
    new[:, 1:] = found[:, 1:] != found[:, :-1]
    new &= ~np.isnan(found)
    mixed = np.zeros(len(scores), np.uint64)
    for column, there in (*zip(found.T, new.T, strict=True), *((column + 0.0, True) for column in columns)):
        mixed = np.where(there, _mix(mixed ^ np.ascontiguousarray(column).view(np.uint64)), mixed)
    return mixed


def _own(scores: Floats, keys: Keys) -> Keys:
    """What tells cases with the same key apart: which model has which score, models in the order of all they have."""
    own = _mix(keys[:, None] ^ np.where(np.isnan(scores), np.nan, scores + 0.0).view(np.uint64))
    mixed = np.zeros(len(scores), np.uint64)
    for a in np.argsort(own.sum(axis=0), kind="stable"):
        mixed = _mix(mixed ^ own[:, a])
    return mixed


def _mix(x: Keys) -> Keys:
    """Every bit of the result depends on all bits (the finalizer of SplitMix64)."""
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


def _order(keys: Keys, own: Keys, units: Codes | None, *, timed: bool) -> tuple[NDArray[np.intp], Codes | None]:
    """Cases by unit and key, and the numbers of their units: by time, or else by the least key of their cases.

    Where keys are the same, what is their own decides; of clusters, what all their cases have.
    Neighbours are then no more alike than others, so that they may be taken together.
    """
    if units is None:
        return np.lexsort((own, keys)), None
    at = np.lexsort((own, keys, units))
    starts = np.flatnonzero(np.diff(units[at], prepend=units[at][:1] - 1))
    sizes = np.diff(starts, append=len(at))
    rank = np.arange(len(starts))
    if not timed:
        rank[np.lexsort((np.add.reduceat(own[at], starts), keys[at][starts]))] = np.arange(len(starts))
    return at, np.repeat(rank, sizes)


@dataclass(frozen=True, eq=False)
class UnitSums:
    """Weighted sums of scores over the cases of every two models, one column for each unit, or for each resample.

    Where all models have all cases and no score is infinite, every pair has the same cases, and fewer sums do.
    """

    sums: Floats  # (sums, units)
    models: int
    complete: bool

    def x(self, a: int, b: int) -> Floats:
        """Weighted scores of a, on the cases of a and b."""
        column: Floats = self.sums[a if self.complete else a * self.models + b]
        return column

    def w(self, a: int, b: int) -> Floats:
        """Weights of the cases of a and b."""
        k, low, high = self.models, min(a, b), max(a, b)
        column: Floats = self.sums[k if self.complete else k * k + low * k - low * (low + 1) // 2 + high]
        return column

    def empty(self, a: int) -> Floats:
        """Weighted scores of the empty list, on the cases of a."""
        k = self.models
        column: Floats = self.sums[k + 1 if self.complete else k * k + k * (k + 1) // 2 + a]
        return column

    @cached_property
    def all(self) -> UnitSums:
        """All units together."""
        return UnitSums(self.sums.sum(axis=1, keepdims=True), self.models, self.complete)
