"""What a diagnosis finds, made by hand: curves with bands, and the verdict on them."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from tests.report import results as made
from toplist.calibration import (
    Band,
    Bin,
    CalibrationBias,
    CalibrationTest,
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
}
