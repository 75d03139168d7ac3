"""Scoring lists, against numpy and scikit-learn."""

from __future__ import annotations

import tracemalloc
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

import toplist as tl
from benchmarks.baselines import plain_brier, plain_top_beta, sklearn_brier
from benchmarks.race import Race


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


def large(race: Race) -> Data:
    return make(race.size(1_000_000), 10, 100_000)


def brier_against_plain_numpy(race: Race) -> None:
    data = large(race)
    lists = data.lists
    plain = plain_brier(data.classes, data.t, data.y, data.m)
    same = lists.is_valid()
    np.testing.assert_allclose(tl.score(lists, data.y)[same], plain[same], atol=1e-12)
    race(
        "score (Brier), n = 1M, k = 10, m = 100k: times as fast as plain numpy",
        lambda: tl.score(lists, data.y),
        lambda: plain_brier(data.classes, data.t, data.y, data.m),
        at_least=10,
        rounds=15,
    )
    race(
        "construction with all checks and score: times as fast as plain numpy",
        lambda: tl.score(data.lists, data.y),
        lambda: plain_brier(data.classes, data.t, data.y, data.m),
        at_least=5,
        rounds=11,
    )


def other_rules_against_brier(race: Race) -> None:
    data = large(race)
    lists = data.lists
    limits = {tl.Log(): 2, tl.Spherical(): 2, tl.Power(1.7): 10, tl.Power(0.6): 10, tl.PseudoSpherical(2.5): 10}
    for rule, limit in limits.items():
        race(
            f"{rule!r}: times as long as Brier",
            partial(tl.score, lists, data.y, rule=rule),
            lambda: tl.score(lists, data.y),
            at_most=limit,
            rounds=15,
        )


def brier_against_densify_and_scikit_learn(race: Race) -> None:
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


def ragged_against_rectangular(race: Race) -> None:
    data = large(race)
    rng = np.random.default_rng(1)
    sizes = rng.integers(1, 20, size=len(data.t))
    offsets = np.concatenate(([0], np.cumsum(sizes)))
    classes = np.arange(offsets[-1]) * 7919 % data.m
    t = rng.random(offsets[-1])
    t /= np.repeat(np.add.reduceat(t, offsets[:-1]) * 1.05, sizes)
    ragged, rectangular = tl.TopLists.from_ragged(offsets, classes, t, data.m), data.lists
    ours, theirs = race.times(lambda: tl.score(ragged, data.y), lambda: tl.score(rectangular, data.y), rounds=15)
    race.record(
        "a ragged batch (k from 1 to 19): per listed class, times as long as a rectangular one",
        ours / len(t),
        theirs / data.t.size,
        at_most=1.5,
    )


def top_beta_against_a_loop(race: Race) -> None:
    rng = np.random.default_rng(2)
    lists = tl.TopLists.from_proba(rng.dirichlet(np.full(40, 0.4), size=race.size(50_000))).truncate(mass=0.9)
    y = rng.integers(0, 40, len(lists))
    flat = lists.offsets, lists.classes, np.asarray(lists.confidences, np.float64), y, 0.9
    np.testing.assert_allclose(tl.score(lists, y, rule="topbeta:0.9"), plain_top_beta(*flat), atol=1e-12)
    race(
        "top-beta score of a ragged batch, image test included: times as fast as a Python loop",
        lambda: tl.score(lists, y, rule="topbeta:0.9"),
        lambda: plain_top_beta(*flat),
        at_least=4,
        rounds=5,
    )


def time_by_number_of_classes(race: Race) -> None:
    data = large(race)
    few = tl.TopLists.from_topk(data.classes % 100 + np.arange(10) * 100, data.t, 1000)
    for m in (10**6, 10**9):
        many = tl.TopLists.from_topk(data.classes, data.t, m)
        race(
            f"m = {m:,}: times as long as m = 1,000",
            partial(tl.score, many, data.y),
            lambda: tl.score(few, data.y % 1000),
            at_most=1.2,
            rounds=21,
        )


def memory_in_vectors(race: Race) -> None:
    data = large(race)
    for rule in ("brier", "log"):
        tl.score(data.lists, data.y, rule=rule)  # modules loaded by the first call do not count
    vector, lists = data.y.nbytes, data.lists
    for name, run in {
        "construction": lambda: data.lists,
        "score (Brier)": lambda: tl.score(lists, data.y),
        "score (log)": lambda: tl.score(lists, data.y, rule="log"),
    }.items():
        tracemalloc.start()
        run()
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        race.record(f"{name}: peak memory, times a vector of n numbers", peak, vector, unit="B", at_most=4)


BENCHMARKS = (
    brier_against_plain_numpy,
    other_rules_against_brier,
    brier_against_densify_and_scikit_learn,
    ragged_against_rectangular,
    top_beta_against_a_loop,
    time_by_number_of_classes,
    memory_in_vectors,
)
