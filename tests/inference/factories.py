"""Panels with scores of one's own choice, beside the exact sums of the same cases."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from hypothesis import strategies as st

from tests.inference.case_score_factories import sheet_of
from toplist.core.kernel import hash_integers
from toplist.inference.aggregates import Aggregates, ScoreMatrix, tally
from toplist.inference.intervals import Intervals
from toplist.inference.results import Estimate
from toplist.inference.settings import TIMED, IntervalMethod
from toplist.scoring.case_scores import Grouping


@dataclass(frozen=True)
class World:
    """Scores of models under one rule, (models, cases); NaN where a model lacks the case."""

    scores: Any
    weights: Any = None
    clusters: Any = None
    moments: Any = None
    empty: Any = None  # what the empty list scores, case by case; one, unless it is said

    def __len__(self) -> int:
        return int(np.shape(self.scores)[1])

    @property
    def own(self) -> Any:
        return np.ones(len(self)) if self.empty is None else np.asarray(self.empty, float)

    def panel(self, *, ordered: bool = False) -> ScoreMatrix:
        units = self.moments if self.moments is not None else self.clusters
        across = None if self.moments is None or self.clusters is None else self.clusters
        return ScoreMatrix(
            np.asarray(self.scores, float).T[:, None, :].copy(),
            np.ones((1, 1)) if self.empty is None else self.own[:, None],
            None if self.weights is None else np.asarray(self.weights, float),
            None if units is None else np.unique(units, return_inverse=True)[1].astype(np.int64),
            ordered or self.moments is not None,
            clusters=None if across is None else np.unique(across, return_inverse=True)[1].astype(np.int64),
        )

    @property
    def keys(self) -> Any:
        """A hash of each unit: of its cluster, or of its place among cases that are sorted by their scores."""
        if self.clusters is not None:
            return hash_integers(np.asarray(self.clusters))
        places = np.argsort(np.lexsort(np.asarray(self.scores, float)))
        return hash_integers(places)

    def tally(self, *, by_cluster: bool = True, drawn: bool = False) -> Aggregates:
        scores = np.asarray(self.scores, float)
        there = ~np.isnan(scores)
        clusters = self.clusters if by_cluster and there.all() else None
        return tally(
            [sheet_of(np.where(has, s, 0.0), empty=self.own[None]) for s, has in zip(scores, there, strict=True)],
            present=() if there.all() else list(there),
            weights=None if self.weights is None else np.asarray(self.weights, float),
            clusters=None if clusters is None else Grouping.of(np.asarray(clusters)),
            keys=self.keys if drawn else None,
            pairwise=not there.all(),
        )[None]

    def sums(self, level: float = 0.95, *, normal: bool = False) -> Intervals:
        return Intervals(self.tally(), level, "normal" if normal else "t")

    def cases(self, how: IntervalMethod, *, level: float = 0.95, ordered: bool = False, **options: Any) -> Intervals:
        """Estimates from the cases themselves, even where sums would do."""
        ordered = ordered or how in TIMED
        sums = self.tally(by_cluster=False, drawn=how == "poisson")
        return Intervals(sums, level, how, self.panel(ordered=ordered), **options)

    def at(self, where: Any) -> World:
        """Some of the cases, in any order."""
        take = lambda x: None if x is None else np.asarray(x)[where]  # noqa: E731
        return World(
            np.asarray(self.scores)[:, where], *map(take, (self.weights, self.clusters, self.moments, self.empty))
        )


def ends(found: Estimate | None) -> tuple[float, ...]:
    """Value, interval and standard error, all of which are there."""
    assert found is not None
    assert found.low is not None
    assert found.high is not None
    assert found.error is not None
    return found.value, found.low, found.high, found.error


@st.composite
def worlds(
    draw: st.DrawFn,
    *,
    least: int = 2,
    most: int = 14,
    infinite: bool = False,
    missing: bool = True,
    both: bool = False,
) -> World:
    """Up to four models, with weights, clusters or time points (or both); some scores infinite, some cases missing."""
    k, n = draw(st.integers(2, 4)), draw(st.integers(least, most))
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    scores = rng.exponential(size=(k, n)) + 0.01
    if infinite:
        scores[rng.random((k, n)) < draw(st.sampled_from([0.0, 0.05, 0.3]))] = np.inf
    if missing:
        scores[rng.random((k, n)) > draw(st.sampled_from([1.0, 0.8, 0.4]))] = np.nan
    weights = rng.choice([0.0, 0.5, 1.0, 3.0], n) if draw(st.booleans()) else None
    unit = rng.integers(0, max(2, n // 2), n)
    kind = draw(st.sampled_from(["", "clusters", "time points", "both"] if both else ["", "clusters", "time points"]))
    empty = rng.choice([0.5, 0.9, 1.0], n) if draw(st.booleans()) else None
    clusters = rng.integers(0, max(2, n // 2), n) if kind == "both" else unit if kind == "clusters" else None
    return World(scores, weights, clusters, unit if kind in ("time points", "both") else None, empty)
