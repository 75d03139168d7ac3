"""What diagnosis and improvement find, made by hand: curves, parts of scores, rejection and validation."""

from __future__ import annotations

import math
from dataclasses import replace
from types import SimpleNamespace

import numpy as np

from tests.report import results as made
from toplist.calibration import (
    Band,
    Bin,
    CalibrationBias,
    CalibrationTest,
    Decomposition,
    Reliability,
)
from toplist.calibration.miscalibration import CalibrationVerdict
from toplist.calibration.pairs import pav
from toplist.report import plot

NONE = np.zeros(0)


def reliability(of="top", *, n=400, seed=0, bend=0.2, kind="consistency"):
    rng = np.random.default_rng(seed)
    x = np.sort(np.round(rng.beta(3, 1, n), 3))
    kept = rng.random(n) < np.clip(x - bend * x * (1 - x), 0, 1)
    steps, at = pav(x, kept), np.unique(x)
    band = None if kind is None else Band(kind, 0.9, np.clip(at - 0.1, 0, 1), np.clip(at + 0.1, 0, 1), 200, 0)
    counts, edges = np.histogram(x, 20, (0, 1))
    bins = tuple(
        Bin(float(a), float(b), int(c), float((a + b) / 2), float((a + b) / 2))
        for a, b, c in zip(edges, edges[1:], counts, strict=False)
    )
    return Reliability(of, n, float(x.mean()), float(kept.mean()), steps, at, steps(at), band, bins)


def parts(m=0.02, d=0.5, u=0.87, misses=0.01, penalty=0.0, within=0.0, rule="brier"):
    whole = m - d + u + misses + penalty + within
    return Decomposition(rule, 100, whole, m, d, u, misses, penalty, (), within)


def infinite_parts(rule="log"):
    return Decomposition(rule, 100, math.inf, None, None, 2.0, 0.0, 0.0, (), 0.0, "infinite scores leave no parts")


def rejection(n=300, scale=0.4, chosen=240, rule="brier", first=math.nan):
    coverage = np.arange(n + 1) / n
    accepted = np.concatenate(([first], scale * coverage[1:] ** 1.5))
    overall = np.where(coverage > 0, np.nan_to_num(accepted) * coverage, 0) + 0.9 * (1 - coverage)
    return SimpleNamespace(rule=rule, coverage=coverage, accepted=accepted, overall=overall, chosen=chosen)


def truncation(at=range(11), best=5, chosen=3, kind="k", score=None, rule="brier"):
    at = np.array(at)
    found = 0.35 + 0.3 * np.exp(-at) + 0.002 * at if score is None else np.array(score)
    error = 0.002 * np.abs(at - best).astype(float)
    return SimpleNamespace(kind=kind, rule=rule, at=at, score=found, error=error, best=best, chosen=chosen)


ONE = replace(
    reliability(),
    count=1,
    steps=pav([0.5], [1]),
    x=np.array([0.5]),
    curve=np.array([1.0]),
    band=None,
    histogram=(Bin(0.5, 0.55, 1, 0.5, 1.0),),
)
EMPTY = replace(
    reliability(), count=0, mean_confidence=math.nan, hit_rate=math.nan, steps=pav(NONE, NONE), x=NONE, curve=NONE,
    band=None, histogram=(),
)  # fmt: skip
JUDGED = CalibrationVerdict(
    CalibrationTest(0.02, 0.01, 0.005, 199, 0, 0.004),
    400,
    CalibrationBias("top", 0.8, 0.751, 0.049, 0.044, 0.053, 400, 0.95),
    None,
    None,
)
UNDER = replace(JUDGED, bias=replace(JUDGED.bias, difference=-0.2, low=-0.25, high=-0.15))
LENGTHS = (0, 1, 2, 3, 5, 10, 20, 50, 100, 200, 500, 1000)

PLOTS = {
    "reliability of one": plot.reliability(reliability()),
    "reliability of ranks": plot.reliability([reliability(rank, seed=rank) for rank in range(1, 6)]),
    "reliability with confidence": plot.reliability(reliability("mass", kind="confidence")),
    "reliability without bands": plot.reliability({"a": reliability(kind=None), "b": reliability("listed", kind=None)}),
    "reliability of many": plot.reliability({f"model {i}": reliability(seed=i, n=50) for i in range(12)}),
    "reliability of one case": plot.reliability(ONE),
    "reliability of nothing": plot.reliability(EMPTY),
    "reliability of nobody": plot.reliability([]),
    "reliability of hostile": plot.reliability(dict.fromkeys(made.HOSTILE, ONE)),
    "reliability with tests": plot.reliability(
        {"a": reliability(), "b": reliability(seed=1)}, {"a": JUDGED, "b": UNDER}, more=3
    ),
    "panel": plot.calibration_panel("a", reliability(), JUDGED),
    "panel of hostile": plot.calibration_panel(made.HOSTILE[0], reliability(), UNDER),
    "decomposition of one": plot.decomposition(parts()),
    "decomposition of several": plot.decomposition({"a": parts(), "b": parts(0.2, 0.4, penalty=0.003, within=-1e-5)}),
    "decomposition of negative parts": plot.decomposition({"a": parts(-0.01, -0.02), "b": parts(0.1, 2.0)}),
    "decomposition of infinite": plot.decomposition({"a": infinite_parts(), "b": parts(rule="log")}),
    "decomposition of nobody": plot.decomposition({}),
    "decomposition of hostile": plot.decomposition({name: parts() for name in made.HOSTILE}),
    "rejection of one": plot.rejection(rejection()),
    "rejection of several": plot.rejection({f"m{i}": rejection(scale=0.3 + i / 20) for i in range(9)}),
    "rejection of infinite": plot.rejection({"a": rejection(first=math.inf), "b": rejection(n=1, chosen=0)}),
    "rejection of nobody": plot.rejection({}),
    "rejection of hostile": plot.rejection({name: rejection() for name in made.HOSTILE}),
    "truncation to k": plot.truncation(truncation()),
    "truncation from many": plot.truncation(truncation(LENGTHS, 50, 20)),
    "truncation to the best": plot.truncation(truncation(chosen=5)),
    "truncation to nothing": plot.truncation(truncation(chosen=0)),
    "truncation to mass": plot.truncation(truncation((0.0, 0.5, 0.9, 1.0), 0.9, 0.5, "mass")),
    "truncation with infinite": plot.truncation(truncation(range(4), 3, 3, score=[math.inf, math.inf, 0.5, 0.4])),
    "truncation at one": plot.truncation(truncation([2], 2, 2)),
    "sizes": plot.sizes({0: 5, 1: 20, 3: 100}),
    "sizes of many": plot.sizes({k: 1 + k % 7 for k in range(1000)}),
    "sizes of one": plot.sizes({5: 1}),
    "sizes of nothing": plot.sizes({}),
}
