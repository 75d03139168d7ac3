"""Scores case by case, side by side: for what sums alone cannot say, such as how neighbours in time hang together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from toplist.sheets import Sheet

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Panel:
    """The scores of all predictors under all rules, in the order of the truth.

    A unit is what may be taken as a whole: a case, a cluster, or all cases of one moment. Where `ordered`, the codes
    of units rise with time.
    """

    scores: Floats  # (cases, rules, predictors); NaN where a predictor lacks the case
    empty: Floats  # (cases or 1, rules): what the empty list scores in expectation
    weights: Floats | None = None
    units: Codes | None = None  # None: every case is one
    ordered: bool = False
    groups: Codes | None = None
    keys: tuple[Any, ...] = ()  # of the groups

    def __len__(self) -> int:
        return len(self.scores)

    @property
    def unit(self) -> str:
        """What a unit is called."""
        return "case" if self.units is None else "moment" if self.ordered else "cluster"

    @property
    def count(self) -> int:
        """How many units there are."""
        return len(self) if self.units is None else len(np.unique(self.units))

    def group(self, key: Any) -> Panel:
        """The cases of one group."""
        if self.groups is None:
            return self
        return self.some(np.flatnonzero(self.groups == self.keys.index(key)))

    def some(self, at: NDArray[np.intp]) -> Panel:
        """Some of the cases, in this order."""
        empty = self.empty if len(self.empty) == 1 else self.empty[at]
        weights = None if self.weights is None else self.weights[at]
        units = None if self.units is None else self.units[at]
        return Panel(self.scores[at], empty, weights, units, self.ordered)

    def totals(self, rule: int) -> Totals:
        """What the cases of each unit add up to, under one rule."""
        scores = self.scores[:, rule]
        fine = np.isfinite(scores)
        w = np.ones(len(scores)) if self.weights is None else self.weights
        count, codes = len(scores), None
        if self.units is not None:
            found, codes = np.unique(self.units, return_inverse=True)
            count = len(found)
        x = np.where(fine, scores, 0.0) * w[:, None]
        finite = np.where(np.isfinite(self.empty[:, rule]), self.empty[:, rule], 0.0)
        empty = np.broadcast_to(finite, len(scores)) * w

        def add(column: Floats) -> Floats:
            return column if codes is None else np.bincount(codes, column, count).astype(np.float64)

        k = scores.shape[1]
        if fine.all():
            sums = [add(x[:, a]) for a in range(k)]
            return Totals(np.stack([*sums, add(w), add(empty)]), k, complete=True)
        out = Totals(np.empty((k * k + k * (k + 1) // 2 + k, count)), k, complete=False)
        for a in range(k):
            for b in range(k):
                both = fine[:, a] & fine[:, b]
                out.x(a, b)[:] = add(np.where(both, x[:, a], 0.0))
                if a <= b:
                    out.w(a, b)[:] = add(np.where(both, w, 0.0))
            out.empty(a)[:] = add(np.where(fine[:, a], empty, 0.0))
        return out


@dataclass(frozen=True, eq=False)
class Totals:
    """Weighted sums of scores over the cases of every two predictors, one column for each unit, or for each resample.

    Where all predictors have all cases and no score is infinite, every pair has the same cases, and fewer sums do.
    """

    sums: Floats  # (sums, units)
    predictors: int
    complete: bool

    def x(self, a: int, b: int) -> Floats:
        """Weighted scores of a, on the cases of a and b."""
        column: Floats = self.sums[a if self.complete else a * self.predictors + b]
        return column

    def w(self, a: int, b: int) -> Floats:
        """Weights of the cases of a and b."""
        k, low, high = self.predictors, min(a, b), max(a, b)
        column: Floats = self.sums[k if self.complete else k * k + low * k - low * (low + 1) // 2 + high]
        return column

    def empty(self, a: int) -> Floats:
        """Weighted scores of the empty list, on the cases of a."""
        k = self.predictors
        column: Floats = self.sums[k + 1 if self.complete else k * k + k * (k + 1) // 2 + a]
        return column

    @cached_property
    def all(self) -> Totals:
        """All units together."""
        return Totals(self.sums.sum(axis=1, keepdims=True), self.predictors, self.complete)


def side_by_side(sheets: Sequence[Sheet], present: Sequence[NDArray[np.bool_]] = ()) -> Floats:
    """The scores of all sheets as (cases, rules, predictors), NaN where a predictor lacks the case."""
    scores = np.stack([sheet.scores.T for sheet in sheets], axis=2)
    for a, there in enumerate(present):
        scores[~there, :, a] = np.nan
    return scores


def one_if_alike(parts: Sequence[Floats]) -> Floats:
    """Rows that are all the same as one row, others as they are.

    >>> one_if_alike([np.ones((2, 1)), np.ones((3, 1))]).shape
    (1, 1)
    """
    whole = np.concatenate([part[:1] if part.strides[0] == 0 else part for part in parts])
    return whole[:1] if (whole == whole[:1]).all() else np.concatenate(parts)
