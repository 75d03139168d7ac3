"""Scoring lists, against numpy and scikit-learn."""

from __future__ import annotations

import tracemalloc
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import toplist as tl
from benchmarks.baselines import plain_brier, sklearn_brier
from benchmarks.conftest import Races


@dataclass(frozen=True)
class Data:
    classes: NDArray[np.int64]
    t: NDArray[np.float64]
    y: NDArray[np.int64]
    m: int

    @property
    def lists(self) -> tl.TopLists:
        made: tl.TopLists = tl.TopLists.from_topk(self.classes, self.t, self.m)
        return made


def make(n: int, k: int, m: int, seed: int = 0) -> Data:
    """Sorted lists of distinct classes, the outcome on the list in 70 % of the cases."""
    rng = np.random.default_rng(seed)
    t = -np.sort(-rng.dirichlet(np.ones(k + 1), size=n)[:, :k], axis=1)
    classes = rng.permuted(rng.integers(0, m // k, size=(n, k)) + np.arange(k) * (m // k), axis=1)
    y = np.where(rng.random(n) < 0.7, classes[np.arange(n), rng.integers(0, k, n)], rng.integers(0, m, n))
    return Data(classes, np.ascontiguousarray(t), y, m)


@pytest.fixture(scope="module")
def large(race: Races) -> Data:
    return make(race.size(1_000_000), 10, 100_000)


def test_brier_against_plain_numpy(race: Races, large: Data, benchmark: Any) -> None:
    lists = large.lists
    plain = plain_brier(large.classes, large.t, large.y, large.m)
    same = lists.is_valid()
    np.testing.assert_allclose(tl.score(lists, large.y)[same], plain[same], atol=1e-12)
    benchmark.extra_info["ratio"] = race(
        "score (Brier), n = 1M, k = 10, m = 100k: times as fast as plain numpy",
        lambda: tl.score(lists, large.y),
        lambda: plain_brier(large.classes, large.t, large.y, large.m),
        at_least=8,
        rounds=15,
    )
    benchmark.pedantic(tl.score, (lists, large.y), rounds=3)


def test_checks_and_brier_against_plain_numpy(race: Races, large: Data) -> None:
    race(
        "construction with all checks and score: times as fast as plain numpy",
        lambda: tl.score(large.lists, large.y),
        lambda: plain_brier(large.classes, large.t, large.y, large.m),
        at_least=3,
        rounds=11,
    )


@pytest.mark.parametrize(
    ("rule", "limit"),
    [(tl.Log(), 2), (tl.Spherical(), 2), (tl.Power(1.7), 10), (tl.Power(0.6), 10), (tl.PseudoSpherical(2.5), 10)],
    ids=repr,
)
def test_other_rules_against_brier(race: Races, large: Data, rule: tl.Rule, limit: float) -> None:
    lists = large.lists
    race(
        f"{rule!r}: times as long as Brier",
        lambda: tl.score(lists, large.y, rule=rule),
        lambda: tl.score(lists, large.y),
        at_most=limit,
        rounds=15,
    )


def test_brier_against_densify_and_scikit_learn(race: Races) -> None:
    data = make(race.size(100_000), 10, 1000)
    valid = data.lists.is_valid()
    data = Data(data.classes[valid], data.t[valid], data.y[valid], data.m)
    ours = tl.score(data.lists, data.y).mean()
    theirs = sklearn_brier(data.classes, data.t, data.y, data.m)
    assert abs(ours - theirs) < 1e-12 * theirs
    race(
        "checks and score, n = 100k, m = 1000: times as fast as densify + scikit-learn",
        lambda: tl.score(data.lists, data.y),
        lambda: sklearn_brier(data.classes, data.t, data.y, data.m),
        at_least=100,
        rounds=5,
    )


def test_ragged_against_rectangular(race: Races, large: Data) -> None:
    n = len(large.t)
    rng = np.random.default_rng(1)
    sizes = rng.integers(1, 20, size=n)
    sizes[-1] = max(1, sizes[-1] + large.t.size - sizes.sum()) if sizes.sum() < large.t.size else sizes[-1]
    offsets = np.concatenate(([0], np.cumsum(sizes)))
    classes = np.arange(offsets[-1]) * 7919 % large.m
    t = rng.random(offsets[-1])
    t /= np.repeat(np.add.reduceat(t, offsets[:-1]) * 1.05, sizes)
    ragged = tl.TopLists.from_ragged(offsets, classes, t, large.m)
    rectangular, per_entry = large.lists, large.t.size / offsets[-1]
    best = race(
        "a ragged batch (k from 1 to 19): times as long per listed class as a rectangular one",
        lambda: tl.score(ragged, large.y),
        lambda: tl.score(rectangular, large.y),
        at_most=1.5 / per_entry,
        rounds=15,
    )
    assert best > 0


def test_time_does_not_depend_on_the_number_of_classes(race: Races, large: Data) -> None:
    few = tl.TopLists.from_topk(large.classes % 100 + np.arange(10) * 100, large.t, 1000)
    for m in (10**6, 10**9):
        many = tl.TopLists.from_topk(large.classes, large.t, m)
        race(
            f"m = {m:,}: times as long as m = 1,000",
            lambda many=many: tl.score(many, large.y),
            lambda: tl.score(few, large.y % 1000),
            at_most=1.2,
            rounds=21,
        )


def test_memory_is_a_few_vectors(race: Races, large: Data) -> None:
    vector, lists = large.y.nbytes, large.lists
    for name, run in {
        "construction": lambda: large.lists,
        "score (Brier)": lambda: tl.score(lists, large.y),
        "score (log)": lambda: tl.score(lists, large.y, rule="log"),
    }.items():
        tracemalloc.start()
        run()
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        race.record(f"{name}: peak memory, in vectors of n numbers", peak / vector, at_most=4)
