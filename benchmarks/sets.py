"""The most probable label sets from marginals, against numpy and a heap per case."""

from __future__ import annotations

import math
import time
from functools import partial

import numpy as np
from numpy.typing import NDArray

from benchmarks.baselines import heapq_sets
from benchmarks.race import Race
from toplist.core import kernel
from toplist.lists.labelsets import LabelSets
from toplist.multilabel import best_sets


def make(kind: str, n: int, width: int) -> NDArray[np.float64]:
    """Marginals all over the place, a few likely labels among many that are not, or ten labels to be expected.

    Of 10,000 labels with even marginals, no set is so likely that its probability is a double.
    """
    rng = np.random.default_rng(0)
    draws = {"even": lambda: rng.random((n, width)), "skewed": lambda: rng.beta(0.1, 2.0, (n, width))}
    p = draws[kind]() if kind in draws else rng.exponential(10 / width, (n, width))
    return p.clip(1e-12, 1 - 1e-12)


def best_sets_against_numpy_and_heapq(race: Race) -> None:
    for kind in ("even", "skewed"):
        p, k, space = make(kind, race.size(1000), 1000), 50, LabelSets(range(1000))
        with kernel.one_thread():
            lists, (codes, log_p) = best_sets(p, k, space), heapq_sets(p, k, space.keys)
            np.testing.assert_array_equal(lists.classes.reshape(codes.shape), codes)
            logs = np.log(lists.confidences)
            np.testing.assert_allclose(logs.reshape(log_p.shape), log_p, rtol=1e-12)
            race(
                f"best_sets, L = 1,000, k = 50, {kind} marginals, one thread: times as fast as numpy + heapq",
                partial(best_sets, p, k, space),
                partial(heapq_sets, p, k, space.keys),
                at_least=8,
                rounds=25,
            )


def many_sets_of_many_labels(race: Race) -> None:
    p, k, space = make("sparse", max(2, race.size(40)), 10_000), 1000, LabelSets(range(10_000))
    with kernel.one_thread():
        race(
            "best_sets, L = 10,000, k = 1,000, ten labels to be expected, one thread: times as fast as numpy + heapq",
            lambda: best_sets(p, k, space),
            lambda: heapq_sets(p, k, space.keys),
            at_least=4,
        )


def per_case(rounds: int, *batches: tuple[NDArray[np.float64], int, LabelSets]) -> list[float]:
    """The shortest time of each batch, measured in turns, divided by its number of cases."""
    best = [math.inf] * len(batches)
    with kernel.one_thread():
        for _ in range(rounds):
            for i, (p, k, space) in enumerate(batches):
                start = time.perf_counter()
                best_sets(p, k, space)
                best[i] = min(best[i], (time.perf_counter() - start) / len(p))
    return best


def time_grows_as_labels_do(race: Race) -> None:
    """And no faster: it is of the order of L + k log k."""
    widths = (100, 1000, 10_000, 100_000)
    cases = [max(1, race.size(min(2000, 2_000_000 // width))) for width in widths]
    batches = [(make("sparse", n, width), 50, LabelSets(range(width))) for n, width in zip(cases, widths, strict=True)]
    times = per_case(2 if race.quick else 9, *batches)
    for i in range(1, len(widths)):
        claim = f"best_sets, k = 50, L = {widths[i]:,}: times as long as L = {widths[i - 1]:,}"
        race.record(claim, times[i], times[i - 1], at_most=14)


def time_grows_as_sets_do(race: Race) -> None:
    """And no faster than k log k."""
    counts, width = (1, 10, 100, 1000, 10_000), 10_000
    p, space = make("sparse", max(1, race.size(200)), width), LabelSets(range(width))
    batches = [(p[: max(1, race.size(min(200, 50_000 // k)))], k, space) for k in counts]
    times = per_case(2 if race.quick else 9, *batches)
    for i in range(1, len(counts)):
        more = 10 * math.log2(counts[i]) / max(1.0, math.log2(counts[i - 1]))
        claim = f"best_sets, L = 10,000, k = {counts[i]:,}: times as long as k = {counts[i - 1]:,}"
        race.record(claim, times[i], times[i - 1], at_most=round(1.3 * more, 1))


BENCHMARKS = (
    best_sets_against_numpy_and_heapq,
    many_sets_of_many_labels,
    time_grows_as_labels_do,
    time_grows_as_sets_do,
)
