"""Leaderboards of predictions that differ in skill and calibration, with all that a report shows."""

from __future__ import annotations

from functools import cache

import numpy as np

import toplist as tl
from toplist.evaluation.leaderboard import Leaderboard

CLASSES = ["airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck"]


def predictions(models: int, cases: int, seed: int = 0) -> tuple[list[np.ndarray], np.ndarray]:
    """Distributions over ten classes: the later a model, the less it knows; confidences are too high or too low."""
    rng = np.random.default_rng(seed)
    outcomes = rng.integers(len(CLASSES), size=cases)
    shared = rng.normal(size=(cases, len(CLASSES)))
    hard = np.linspace(0.4, 1.4, len(CLASSES))[outcomes][:, None]
    found = []
    for i in range(models):
        logits = hard * (shared + rng.normal(size=shared.shape)) * 1.1
        logits[np.arange(cases), outcomes] += 4.2 - 1.5 * i / max(models - 1, 1)
        raised = np.exp((0.7 + 0.25 * (i % 4)) * logits)
        found.append(raised / raised.sum(axis=1, keepdims=True))
    return found, outcomes


@cache
def whole_board(models: int, cases: int, *, long: bool = False) -> Leaderboard:
    """A board of so many models; with long names, what tells them apart is in the middle."""
    found, outcomes = predictions(models, cases)
    names = [f"xgboost-depth{i}-lr0.05-subsample0.8" if long else f"net_{i:02}" for i in range(models)]
    return tl.compare(dict(zip(names, found, strict=True)), outcomes, space=CLASSES)
