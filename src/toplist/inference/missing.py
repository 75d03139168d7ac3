"""Missing predictions: means that are adjusted for who predicted what, and whether what is missing is harder."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from toplist._typing import Floats
from toplist.core.kernel import UNIT, Integers, exact_sums
from toplist.errors import TopListError
from toplist.inference.aggregates import LARGEST, ScoreMatrix, UnitSums
from toplist.inference.estimation import Estimand
from toplist.inference.results import BoardWarning

_RARE = 0.01  # how often models whose cases are missing at random are called otherwise, all of them together
_FEW = 10  # cases that a model has, and lacks; of fewer nothing is said


@dataclass(frozen=True, slots=True)
class AdjustedMean(Estimand):
    """The mean score of a model over all cases by two-way fixed effects, with what each unit contributes to it."""

    estimate: float
    parts: Floats
    shares: Floats  # the weight of each unit

    def contributions(self, units: UnitSums) -> Floats:
        """See `Estimand`."""
        return self.parts

    def weights(self, units: UnitSums) -> Floats:
        """See `Estimand`."""
        return self.shares

    def size(self, units: UnitSums) -> float:
        """See `Estimand`."""
        return float(abs(self.estimate) * self.shares.max() / self.shares.sum())


def adjusted_means(matrix: ScoreMatrix, rule: int) -> list[AdjustedMean | None]:
    """Least squares of score = model + case over all predictions: each model's mean if it had predicted every case.

    With D_i = diag(1) - 1 1' / m on the m models of case i, A = sum of w_i D_i and g_i = w_i D_i s_i, the effects are
    a = A^+ sum of g_i; the effect of case i is the mean of s - a over its models. The mean of model j is a_j plus the
    weighted mean of the case effects over all cases that any model has. None for a model with infinite scores or
    without cases, and for all where models do not share cases, so that nothing compares them.
    """
    scores = matrix.scores[:, rule]
    if matrix.units is not None or not matrix.ordered:  # the order in which cases come shows in no digit
        columns = scores.T if matrix.weights is None else (*scores.T, matrix.weights)
        matrix = matrix.some(np.lexsort(columns))
        scores = matrix.scores[:, rule]
    cases = ~np.isnan(scores).all(axis=1)
    w = (np.ones(len(scores)) if matrix.weights is None else matrix.weights) * cases
    there = ~np.isnan(scores) & (w > 0)[:, None]
    usable = [a for a in range(scores.shape[1]) if there[:, a].any() and np.isfinite(scores[there[:, a], a]).all()]
    out: list[AdjustedMean | None] = [None] * scores.shape[1]
    m = there[:, usable].astype(np.float64)
    counts = m.sum(axis=1)
    kept = counts > 0
    m, counts, w = m[kept], counts[kept], w[kept]
    s = np.where(m > 0, scores[np.ix_(kept, usable)], 0.0)
    laplacian = np.diag(w @ m) - (m * (w / counts)[:, None]).T @ m
    if not usable or np.linalg.matrix_rank(laplacian) < len(usable) - 1:
        return out  # some models share no case with the others
    inverse = np.linalg.pinv(laplacian, hermitian=True)
    mean = s.sum(axis=1) / counts
    effects = inverse @ (w @ (m * (s - mean[:, None])))
    case = ((s - effects) * m).sum(axis=1) / counts
    total = float(w.sum())
    level = float(w @ case) / total
    residual = m * (s - effects - case[:, None]) * w[:, None]
    model_parts = residual @ inverse  # what a case contributes to each effect
    average = (w / counts) @ m / total  # how the effects enter the mean of the case effects
    parts = model_parts + ((w * (case - level)) / total - model_parts @ average)[:, None]
    codes, units = _codes(matrix, kept)
    for at, a in enumerate(usable):
        own, shares = (np.bincount(codes, x, units).astype(np.float64) for x in (parts[:, at], w))
        out[a] = AdjustedMean(float(effects[at]) + level, own, shares)
    return out


def _codes(matrix: ScoreMatrix, kept: NDArray[np.bool_]) -> tuple[NDArray[np.intp], int]:
    """The number of the unit of each case, by time or else by its first case, and how many units there are."""
    if matrix.units is None:
        codes = np.flatnonzero(kept)
        return codes, len(kept)
    _, first, codes = np.unique(matrix.units, return_index=True, return_inverse=True)
    rank = np.arange(len(first)) if matrix.ordered else np.argsort(np.argsort(first))
    return rank[codes][kept], len(first)


@dataclass(slots=True)
class Difficulty:
    """How hard the cases are that each model has and lacks: the mean score of the other models there.

    Exact sums over cases, to be filled batch by batch and merged by adding: for each model, of (present, missing), the
    count, the sum and the sum of squares, the latter two in units of 2**-1074.
    """

    models: int
    sums: Integers = field(default_factory=lambda: np.zeros(0, object))

    def __post_init__(self) -> None:
        if not len(self.sums):
            self.sums = np.zeros((self.models, 2, 3), object)

    def __add__(self, other: Difficulty) -> Difficulty:
        if self.models != other.models:
            raise TopListError("these sums are of different numbers of models: they cannot be added.")
        return Difficulty(self.models, self.sums + other.sums)

    def add(self, scores: Floats, present: NDArray[np.bool_]) -> None:
        """Cases of all models: scores and who has them, both (models, cases)."""
        fine = present & (np.abs(scores) <= LARGEST)
        x = np.where(fine, scores, 0.0)
        total = np.zeros(x.shape[1])
        for row in x:  # model by model: how cases lie in memory does not show
            total += row
        count = fine.sum(axis=0)
        for a in range(self.models):
            others = count - fine[a]
            known = others > 0
            hard = (total - x[a]) / np.where(known, others, 1)
            sides = np.array([known & present[a], known & ~present[a]])
            made = exact_sums(np.where(sides, hard, 0.0), ((0, 0), (1, 1)))[0]
            counts = np.count_nonzero(sides, axis=1).astype(object)
            self.sums[a] += np.stack([counts, made[:2], made[2:]], axis=1)

    def warnings(self, names: Sequence[str], rule: str, units: float = 1.0) -> list[BoardWarning]:
        """Models whose missing cases are significantly harder or easier than those they have, by Welch's test.

        `units` is how many independent units a case counts for: less than one where cases depend on each other.
        """
        found = []
        for a, name in enumerate(names):
            (n, x, xx), (k, y, yy) = self.sums[a]
            if min(n, k) < _FEW:
                continue
            mean, other = x / (n * UNIT), y / (k * UNIT)
            variance = (_variance(n, x, xx) / n + _variance(k, y, yy) / k) / units
            if variance <= 0 or math.erfc(abs(other - mean) / math.sqrt(2 * variance)) * self.models > _RARE:
                continue
            how, end = ("harder", "low") if other > mean else ("easier", "high")
            sentence = (
                f"the {int(k):,} cases that it lacks are significantly {how} than those that it has: the mean {rule} "
                f"score of the other models is {other:.4g} there and {mean:.4g} here. Its own mean is too {end} to be "
                "compared with theirs; relative and adjusted scores assume that models differ alike on both."
            )
            found.append(BoardWarning("missing cases differ", sentence, (name,)))
        return found


def _variance(count: int, total: int, squares: int) -> float:
    """Of the numbers that have these exact sums, rounded once; their squares may be rounded below the last digit."""
    return max(count * squares * UNIT - total**2, 0) / (count * UNIT) ** 2
