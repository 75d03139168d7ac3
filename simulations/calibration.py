"""Tests of calibration over clusters, differences that can be detected, and gains by cross-validation."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, stdtrit

import toplist as tl
from simulations.methods import ALPHA, MISSES, Expected
from simulations.rows import Row
from simulations.worlds import Floats, Rng
from toplist.calibration import calibration_bias, calibration_test
from toplist.postprocess import recalibration as rc
from toplist.postprocess.recalibration.automatic import CandidateScore
from toplist.postprocess.selection import as_folds

DRAWN = 39  # outcomes per test of independent cases
FRESH = 2000  # cases that stand for all others
_REJECTS = "rejects calibrated lists"
_FINDS = "finds overconfident lists"


@dataclass(frozen=True, slots=True, eq=False)
class Judged:
    """Lists with outcomes, the cluster of each case, and what is true of them."""

    lists: tl.TopLists
    y: NDArray[np.int64]
    clusters: NDArray[np.int64] | None = None
    truth: float = 0.0
    fresh: tuple[tl.TopLists, NDArray[np.int64]] | None = None


@dataclass(frozen=True, slots=True)
class Procedure:
    """What is done with lists and outcomes, and whether it goes wrong; for a power, whether it goes right."""

    name: str
    wrong: Callable[[Judged, int], bool]
    expected: Expected = "holds"
    claim: str = _REJECTS
    nominal: float = ALPHA


@dataclass(frozen=True, slots=True)
class Trial:
    """Procedures in the same world."""

    setting: str
    world: Callable[[Rng], Judged]
    methods: tuple[Procedure, ...]
    share: float = 0.1  # of the draws


def run(trial: Trial, draws: int, seed: int) -> list[Row]:
    """Every trial has draws of its own, which do not depend on the other trials."""
    count = max(1, round(draws * trial.share))
    rng = np.random.default_rng([seed, *trial.setting.encode()])
    wrong = np.zeros(len(trial.methods))
    for i in range(count):
        world = trial.world(rng)
        wrong += [method.wrong(world, seed + i) for method in trial.methods]
    return [
        Row(method.name, trial.setting, method.claim, method.nominal, x, math.sqrt(x * (1 - x) / count), count)
        for method, x in zip(trial.methods, (wrong / count).tolist(), strict=True)
    ]


def run_at(at: int, draws: int, seed: int) -> list[Row]:
    """One of the trials, by its place: what another process can be asked for."""
    return run(TRIALS[at], draws, seed)


def sizes_of(kind: str, clusters: int, rng: Rng) -> NDArray[np.int64]:
    """How many cases each cluster has: ten, log-normal around ten, or ten and one with as many as all others."""
    if kind == "log-normal":
        return np.maximum(1, np.round(10 * np.exp(rng.normal(size=clusters) - 0.5))).astype(np.int64)
    return np.array([10 * (clusters - 1) if not i and kind == "one giant" else 10 for i in range(clusters)])


def luck(rng: Rng, clusters: NDArray[np.int64], share: float) -> Floats:
    """A uniform number per case, from normal ones that are correlated like this within a cluster."""
    common, own = rng.normal(size=int(clusters.max()) + 1)[clusters], rng.normal(size=len(clusters))
    return np.asarray(ndtr(math.sqrt(share) * common + math.sqrt(1 - share) * own))


def clustered(
    rng: Rng,
    clusters: int,
    sizes: str,
    share: float,
    *,
    sharpness: float = 0.5,
    k: int = 8,
    classes: int = 8,
    power: float = 1.0,
    repeat: bool = False,
) -> Judged:
    """Outcomes of a cluster share their luck: if one is likely, so are the others. With `repeat`, also their lists.

    Outcomes are from Dirichlet distributions, and confidences are their powers: calibrated for a power of one.
    """
    which = np.repeat(np.arange(clusters), sizes_of(sizes, clusters, rng))
    p = rng.dirichlet(np.full(classes, sharpness), clusters if repeat else len(which))
    p = -np.sort(-(p[which] if repeat else p), axis=1)
    y = np.minimum((p.cumsum(axis=1) < luck(rng, which, share)[:, None]).sum(axis=1), classes - 1)
    said = p**power
    lists = tl.TopLists.from_proba(said / said.sum(axis=1, keepdims=True)).truncate(k)
    return Judged(lists, y, which, true_bias(sharpness, classes, power))


@functools.cache
def true_bias(sharpness: float, classes: int, power: float) -> float:
    """The mean confidence of the first class minus its probability, over very many cases."""
    p = np.random.default_rng(0).dirichlet(np.full(classes, sharpness), 200_000)
    said = p**power
    return float((said.max(axis=1) / said.sum(axis=1) - p.max(axis=1)).mean()) if power != 1 else 0.0


def rejection(name: str, expected: Expected = "holds", *, apart: bool = False, power: bool = False) -> Procedure:
    """The test over clusters; `apart` takes cases as independent, which they may not be."""

    def rejects(world: Judged, seed: int) -> bool:
        clusters = None if apart else world.clusters
        return calibration_test(world.lists, world.y, clusters=clusters, draws=DRAWN, seed=seed).p <= ALPHA

    return Procedure(name, rejects, expected, *((_FINDS, 0.8) if power else (_REJECTS, ALPHA)))


def one_of_each(name: str, expected: Expected) -> Procedure:
    """The test of one case of each cluster, which are independent."""

    def rejects(world: Judged, seed: int) -> bool:
        clusters = np.zeros(len(world.y), np.int64) if world.clusters is None else world.clusters
        _, some = np.unique(clusters, return_index=True)
        return calibration_test(world.lists[some], world.y[some], draws=DRAWN, seed=seed).p <= ALPHA

    return Procedure(name, rejects, expected, _FINDS, 0.8)


def biased(name: str, expected: Expected = "holds") -> Procedure:
    """The interval of mean confidence minus hit rate."""

    def misses(world: Judged, seed: int) -> bool:
        found = calibration_bias(world.lists, world.y, clusters=world.clusters)
        return found.low is None or found.high is None or not found.low <= world.truth <= found.high

    return Procedure(name, misses, expected, MISSES)


def detectable(rng: Rng, cases: int) -> Judged:
    """A constant confidence, too high by what the standard error says can be detected 4 times in 5."""
    rate, quantiles = 0.6, float(stdtrit(cases - 1, 0.975) + stdtrit(cases - 1, 0.8))
    away = quantiles * math.sqrt(rate * (1 - rate) / (cases - 1))
    y = (rng.random(cases) >= rate).astype(np.int64)
    return Judged(tl.TopLists.from_topk(np.zeros((cases, 1), int), np.full((cases, 1), rate + away), 2), y, truth=away)


def detects() -> Procedure:
    """The interval of the difference excludes zero."""

    def right(world: Judged, seed: int) -> bool:
        found = calibration_bias(world.lists, world.y)
        return found.low is not None and found.low > 0

    return Procedure("calibration bias", right, "holds", "finds the detectable difference, 4 times in 5", 0.8)


def forecasts(rng: Rng, cases: int, power: float) -> Judged:
    """Independent cases, and many fresh ones."""

    def draw(n: int) -> tuple[tl.TopLists, NDArray[np.int64]]:
        p = rng.dirichlet(np.full(8, 0.5), n)
        said = p**power
        lists = tl.TopLists.from_proba(said / said.sum(axis=1, keepdims=True)).truncate(3)
        return lists, np.minimum((p.cumsum(axis=1) < rng.random((n, 1))).sum(axis=1), 7)

    return Judged(*draw(cases), fresh=draw(FRESH))


@functools.lru_cache(maxsize=1)
def gains(kind: Any, world: Judged, seed: int) -> tuple[CandidateScore, float, float]:
    """What is found by cross-validation, and in fresh cases: of the fits to four fifths, and of that to all cases."""
    if world.fresh is None:
        raise ValueError("a gain is measured in fresh cases.")
    lists, y = world.fresh
    fold, plain = as_folds(len(world.y), 5, seed), tl.score(lists, y)

    def of(some: NDArray[np.bool_]) -> float:
        fitted = kind().fit(world.lists[some], world.y[some])
        return float((tl.score(fitted.transform(lists), y) - plain).mean())

    found = rc.select_recalibrator(world.lists, world.y, candidates=[kind()], seed=seed).table[1]
    return found, float(np.mean([of(fold != one) for one in range(5)])), of(fold >= 0)


def gain(kind: Any, name: str, expected: Expected, *, naive: bool = False, whole: bool = False) -> Procedure:
    """The interval of what a recalibrator gains, by cross-validation, against what it gains in fresh cases."""

    def misses(world: Judged, seed: int) -> bool:
        found, parts, every = gains(kind, world, seed)
        if found.difference is None or found.high is None or found.difference_error is None:
            return True
        half = float(stdtrit(len(world.y) - 1, 0.975)) * found.difference_error
        return abs((every if whole else parts) - found.difference) > (half if naive else found.high - found.difference)

    return Procedure(name, misses, expected, MISSES)


def _level(clusters: int, sizes: str, share: float, name: str, expected: Expected, **more: Any) -> Trial:
    alone: Expected = "fails" if share else "holds"
    return Trial(
        f"calibrated, {clusters} clusters, {sizes}, correlation {share}, {name}",
        lambda rng: clustered(rng, clusters, sizes, share, **more),
        (
            rejection("test over clusters", expected),
            rejection("test, as if cases were independent", alone, apart=True),
        ),
    )


_SHARP, _FIRST, _SAME = (
    {"sharpness": 0.05},
    {"sharpness": 0.05, "k": 1},
    {"sharpness": 0.3, "k": 3, "repeat": True},
)

TRIALS: tuple[Trial, ...] = (
    _level(10, "even", 0.0, "blurred", "holds"),
    _level(10, "even", 0.8, "blurred", "short"),
    _level(10, "log-normal", 0.3, "sharp", "holds", **_SHARP),
    _level(10, "one giant", 0.8, "first class only", "holds", **_FIRST),
    _level(20, "even", 0.3, "blurred", "holds"),
    _level(20, "even", 0.8, "the same lists", "short", **_SAME),
    _level(20, "one giant", 0.8, "the same lists", "short", **_SAME),
    _level(30, "even", 0.3, "blurred", "holds"),
    _level(30, "even", 0.8, "sharp", "short", **_SHARP),
    _level(30, "log-normal", 0.8, "first class only", "short", **_FIRST),
    _level(100, "even", 0.8, "sharp", "short", **_SHARP),
    _level(100, "log-normal", 0.3, "blurred", "holds"),
    Trial(
        "mean confidence 0.82, accuracy 0.61, 30 clusters of 10, correlation 0.3",
        lambda rng: clustered(rng, 30, "even", 0.3, sharpness=0.45, classes=4, k=4, power=2.5),
        (rejection("test over clusters", power=True), one_of_each("test of one case per cluster", "fails")),
    ),
    *(
        Trial(
            f"20 clusters, {sizes}, correlation 0.3, overconfident",
            lambda rng, sizes=sizes: clustered(rng, 20, sizes, 0.3, power=1.5),  # type: ignore[misc]
            (biased("calibration bias over clusters", "short"),),
        )
        for sizes in ("even", "log-normal", "one giant")
    ),
    *(
        Trial(f"detectable difference, n = {n}", lambda rng, n=n: detectable(rng, n), (detects(),), 1.0)  # type: ignore[misc]
        for n in (30, 200)
    ),
    *(
        Trial(
            f"{kind.__name__}, {name} lists, n = {n}",
            lambda rng, n=n, power=power: forecasts(rng, n, power),  # type: ignore[misc]
            (
                gain(kind, "gain of fits to four fifths", "holds"),
                gain(kind, "gain of the fit to all cases", "short", whole=True),
                gain(kind, "gain of fits to four fifths, as if cases were new", "short", naive=True),
            ),
            0.03,
        )
        for kind in (rc.Temperature, rc.Isotonic)
        for name, power in (("overconfident", 2.0), ("calibrated", 1.0))
        for n in (50, 200)
    ),
)
