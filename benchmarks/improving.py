"""Pooling lists against merging dicts, and isotonic regression against scikit-learn."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

import toplist as tl
from benchmarks.baselines import pool_dicts, pool_dicts_by_logs
from benchmarks.race import Race
from toplist.calibration.pairs import pav
from toplist.postprocess import combination as pools

MEMBERS, CANDIDATES, K, M = 5, 25, 10, 100_000


@dataclass(frozen=True)
class Panel:
    """Five models that list 10 of 25 plausible classes of each case, the likelier ones more often."""

    classes: list[NDArray[np.int64]]
    t: list[NDArray[np.float64]]

    @property
    def lists(self) -> list[tl.TopLists]:
        return [tl.TopLists.from_topk(c, t, M) for c, t in zip(self.classes, self.t, strict=True)]

    def dicts(self, cases: int) -> list[list[dict[int, float]]]:
        """The first cases as one dict from class to confidence per list."""
        return [
            [dict(zip(row, own, strict=True)) for row, own in zip(c[:cases].tolist(), t[:cases].tolist(), strict=True)]
            for c, t in zip(self.classes, self.t, strict=True)
        ]


def make(n: int) -> Panel:
    rng = np.random.default_rng(0)
    first, classes, t = rng.integers(0, M, n)[:, None], [], []
    for _ in range(MEMBERS):
        appeal = np.arange(CANDIDATES, dtype=np.float32) - 6.0 * rng.gumbel(size=(n, CANDIDATES)).astype(np.float32)
        picked = np.argpartition(appeal, K, axis=1)[:, :K]
        classes.append((first + picked * 3989) % M)
        t.append(np.ascontiguousarray(-np.sort(-rng.dirichlet(np.ones(K + 1), size=n)[:, :K], axis=1)))
    lists = [tl.TopLists.from_topk(c, v, M) for c, v in zip(classes, t, strict=True)]
    valid = np.all([one.is_valid() for one in lists], axis=0)  # dicts know nothing of valid lists
    return Panel([c[valid] for c in classes], [v[valid] for v in t])


def pools_against_merged_dicts(race: Race) -> None:
    """From lists in memory to lists in memory, and from dicts to dicts, which are timed on a tenth of the cases.

    Neither side's way into memory is timed. Both put the union of the classes in order.
    """
    panel = make(race.size(1_000_000))
    w, lists, some = [1 / MEMBERS] * MEMBERS, panel.lists, max(1, len(panel.t[0]) // 10)
    dicts = panel.dicts(some)
    pairs: list[tuple[Callable[..., tl.TopLists], Callable[..., Any]]] = [
        (pools.linear_pool, pool_dicts),
        (pools.geometric_pool, pool_dicts_by_logs),
    ]
    for pool, by_hand in pairs:
        ours, theirs = pool([one[:100] for one in lists]), by_hand([one[:100] for one in dicts], w, M)
        for mine, other in zip(ours, theirs, strict=True):
            assert mine.confidences.keys() == other.keys()
            np.testing.assert_allclose([mine.confidences[c] for c in other], list(other.values()), rtol=1e-12)
        best = [np.inf, np.inf]
        for _ in range(5):
            for side, (run, cases) in enumerate(
                [(partial(pool, lists, weights=w), len(lists[0])), (partial(by_hand, dicts, w, M), some)]
            ):
                gc.collect()
                start = time.perf_counter()
                kept = run()
                best[side] = min(best[side], (time.perf_counter() - start) / cases)
                del kept
        union = len(ours.classes) / len(ours)
        claim = f"{pool.__name__}, 5 models, n = 1M, k = 10, {union:.0f} classes in all"
        race.record(f"{claim}: per case, times as fast as dicts", *best, at_least=20)


def isotonic_regression_against_scikit_learn(race: Race) -> None:
    """Ten million confidences and whether they were kept; scikit-learn gets doubles, as it makes them itself."""
    from sklearn.isotonic import IsotonicRegression

    rng = np.random.default_rng(0)
    x = rng.beta(0.5, 2.0, race.size(10_000_000))
    kept = rng.random(len(x)) < 0.8 * x**1.2
    y, few = kept.astype(np.float64), slice(0, 100_000)
    theirs = IsotonicRegression().fit(x[few], y[few])
    np.testing.assert_allclose(pav(x[few], kept[few])(x[few]), theirs.predict(x[few]), atol=1e-12)
    race(
        "pav, n = 10M confidences: times as fast as scikit-learn's IsotonicRegression",
        lambda: pav(x, kept),
        lambda: IsotonicRegression().fit(x, y),
        at_least=1.0,
        rounds=3,
    )


BENCHMARKS = (pools_against_merged_dicts, isotonic_regression_against_scikit_learn)
