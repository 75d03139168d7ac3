"""Estimates and standings from the scores of all cases at once, as a textbook writes them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from typing import Any

import numpy as np
from scipy import stats

from toplist.inference.results import Estimate


def interval(d: Any, w: Any = None, clusters: Any = None, *, level: float = 0.95) -> tuple[float, float]:
    """The weighted mean of finite numbers and the half width of its interval; NaN where there is none, for no spread.

    Cases without weight are no cases.
    """
    d, w = np.asarray(d, float), np.ones(len(d)) if w is None else np.asarray(w, float)
    there = w > 0
    d, w = d[there], w[there]
    if not len(d):
        return math.nan, math.nan
    share = w / w.sum()
    mean = float((share * d).sum())
    mean += float((share * (d - mean)).sum())  # once more: the first one is rounded
    off = share * (d - mean)
    if clusters is None:
        factor, freedom = _of_cases(share)
        variance = factor * (off**2).sum()
    else:
        names = np.asarray(clusters)[there]
        members = [names == name for name in np.unique(names)]
        if len(members) < 2:
            return mean, math.nan
        size = np.array([share[own].sum() for own in members])
        variance = sum(off[own].sum() ** 2 / (1 - h) for own, h in zip(members, size, strict=True))
        freedom = _of_clusters(size)
    if len(d) < 2 or not variance:
        return mean, math.nan
    return mean, float(stats.t.ppf(0.5 + level / 2, freedom) * math.sqrt(variance))


def _of_cases(share: Any) -> tuple[float, float]:
    """What makes the sum of h^2 (d - mean)^2 unbiased, and its degrees of freedom: from the matrix of the form."""
    n = len(share)
    if n < 2:
        return math.nan, math.nan
    away = np.eye(n) - np.outer(np.ones(n), share)
    form = away.T @ np.diag(share**2) @ away
    equal = np.trace(form) ** 2 / np.trace(form @ form)
    return share @ share / np.trace(form), max(1.0, math.sqrt(equal * (1 / (share @ share) - 1)))


def _of_clusters(size: Any) -> float:
    """Degrees of freedom of the sum of c^2 / (1 - h) by the eigenvalues of Bell and McCaffrey's matrix."""
    root = np.diag(1 / np.sqrt(1 - size))
    values = np.linalg.eigvalsh(root @ (np.diag(size) - np.outer(size, size)) @ root)
    return float(values.sum() ** 2 / (values**2).sum())


def exact_interval(d: Sequence[float], *, level: float = 0.95) -> tuple[float, float]:
    """The same without weights and without any rounding before the square root."""
    values = [Fraction(x) for x in d]
    n = len(values)
    mean = sum(values, Fraction(0)) / n
    variance = sum(((x - mean) ** 2 for x in values), Fraction(0)) / (n - 1) / n
    scale = 2 ** max(0, 4 * 300 - 2 * (variance.numerator.bit_length() - variance.denominator.bit_length()))
    root = math.isqrt(int(variance * scale * scale * 4)) / (2 * scale) if variance else 0.0
    return float(mean), float(stats.t.ppf(0.5 + level / 2, n - 1)) * root if variance else math.nan


def agrees(
    got: Estimate,
    want: tuple[float, float],
    tolerance: float = 1e-12,
    within: tuple[float, float] = (-math.inf, math.inf),
) -> bool:
    """Value and half width, each up to a relative error; an interval where there is one, and a reason where not.

    An interval ends where scores do, which is `within`.
    """
    mean, half = want
    if math.isnan(mean):
        return math.isnan(got.value) and got.low is None and got.high is None and bool(got.reason)
    scale = abs(mean) + (0.0 if math.isnan(half) else half)
    if not math.isclose(got.value, mean, rel_tol=tolerance, abs_tol=tolerance * scale):
        return False
    if math.isnan(half):
        return got.low is None and got.high is None and bool(got.reason)
    if got.low is None or got.high is None or got.reason:
        return False
    slack = 4e-16 * (abs(mean) + half)  # the ends are rounded
    ends = max(mean - half, within[0]), min(mean + half, within[1])
    return all(abs(end - at) <= tolerance * half + slack for end, at in zip((got.low, got.high), ends, strict=True))


@dataclass(frozen=True)
class Brute:
    """Scores of models under one rule, (models, cases); which cases each has, and weights."""

    scores: Any
    present: Any
    weights: Any
    clusters: Any = None

    @classmethod
    def of(cls, scores: Any, present: Any = None, weights: Any = None, clusters: Any = None) -> Brute:
        scores = np.asarray(scores, float)
        return cls(
            scores,
            np.ones(scores.shape, bool) if present is None else np.asarray(present),
            np.ones(scores.shape[1]) if weights is None else np.asarray(weights, float),
            clusters,
        )

    def common(self, a: int, b: int) -> Any:
        return np.flatnonzero(self.present[a] & self.present[b])

    def mean(self, a: int, *, level: float = 0.95) -> tuple[float, float] | float:
        """Infinite, or the mean and the half width."""
        at = self.common(a, a)
        return math.inf if np.isinf(self.scores[a, at]).any() else self._interval(self.scores[a, at], at, level)

    def difference(self, a: int, b: int, *, level: float = 0.95) -> tuple[float, float] | float:
        at = self.common(a, b)
        x, y = self.scores[a, at], self.scores[b, at]
        above, below = np.isinf(x).any(), np.isinf(y).any()
        if above or below:
            return math.nan if above and below else math.inf if above else -math.inf
        return self._interval(x - y, at, level)

    def simultaneous(self, a: int, b: int, *, level: float = 0.95) -> tuple[float, float] | float:
        """The difference by Bonferroni's method: with an interval that holds at once with those of all tested pairs."""
        pairs = [self.difference(*pair) for pair in combinations(range(len(self.scores)), 2)]
        tested = sum(isinstance(one, tuple) and not math.isnan(one[1]) for one in pairs)
        return self.difference(a, b, level=1 - (1 - level) / max(tested, 1))

    def _interval(self, d: Any, at: Any, level: float) -> tuple[float, float]:
        return interval(d, self.weights[at], None if self.clusters is None else self.clusters[at], level=level)

    def infinite(self, a: int) -> int:
        return int(np.isinf(self.scores[a, self.present[a]]).sum())

    def finite(self, a: int) -> float:
        """The mean of the finite scores."""
        at = self.common(a, a)
        at = at[np.isfinite(self.scores[a, at])]
        return float(np.average(self.scores[a, at], weights=self.weights[at])) if self.weights[at].sum() else math.nan

    def ratio(self, a: int, b: int) -> float | None:
        """Of mean scores on common cases. None where there are none, NaN where it makes no sense."""
        at = self.common(a, b)
        if not self.weights[at].sum():
            return None
        x, y = ((self.scores[i, at] * self.weights[at]).sum() for i in (a, b))
        return float(x / y) if 0 < x < math.inf and 0 < y < math.inf else math.nan

    @property
    def all_finite(self) -> bool:
        return bool(np.isfinite(self.scores[self.present]).all())

    def relative(self, a: int) -> float | None:
        """The geometric mean of the ratios to all models, itself among them (Cramer et al. 2022)."""
        ratios = [r for r in (self.ratio(a, b) for b in range(len(self.scores))) if r is not None]
        if not ratios or any(map(math.isnan, ratios)) or len(ratios) == 1 < len(self.scores):
            return None  # or no other model has a case of it
        return float(stats.gmean(ratios))

    def order(self, *, pairwise: bool = False) -> list[int]:
        """Best first: few infinite scores, then low relative skill, then a low mean; without any case, last."""

        def key(a: int) -> tuple[float, float, float]:
            if not self.weights[self.present[a]].sum():
                return math.inf, math.inf, math.inf
            ratio = self.relative(a) if pairwise else 0.0
            mean = self.finite(a)
            return self.infinite(a), math.inf if ratio is None else ratio, math.inf if math.isnan(mean) else mean

        return sorted(range(len(self.scores)), key=key)
