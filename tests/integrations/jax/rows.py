"""Rows of logits of every kind, and what is known of them by float64 and a stable sort."""

from __future__ import annotations

from typing import Any

import numpy as np

import toplist as tl
from toplist.integrations._logits import rules_by_name

WIDTH, KS = 40, (1, 5, 20, 40)
RULES = (
    "brier",
    "log",
    "spherical",
    tl.Brier(scale_by_half=True),
    tl.Power(1.5),
    tl.Power(0.5),
    tl.Power(3.5),
    tl.PseudoSpherical(3.0),
    tl.PseudoSpherical(20.0, normalized=True),
)


def hard_rows(dtype: Any = np.float32) -> tuple[np.ndarray, np.ndarray]:
    """Random rows; ties; equal logits; both zeros; masks; a dominant logit, hit and missed; one class; large logits."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(24, WIDTH)) * np.geomspace(0.1, 20, 24)[:, None]
    y = rng.integers(0, WIDTH, 24)
    x[3], x[4] = np.round(x[3]), 0.0
    x[5] = np.where(np.arange(WIDTH) % 2, 0.0, -0.0)
    x[6, 10:], y[6] = -np.inf, 30
    x[7, 10:], y[7] = -np.inf, 4
    x[8, 17], y[8] = 25, 17
    x[9, 17], y[9] = 60, 5
    x[10, 1:], y[10] = -np.inf, 0
    x[11], y[11] = x[11] + 1e4, 39
    x[12], y[12] = np.repeat([2.0, 1.0], WIDTH // 2), WIDTH - 1
    x[13] = -x[13] - 300
    return x.astype(dtype), y


def order(x: np.ndarray) -> np.ndarray:
    """Classes by a stable sort in float64."""
    return np.argsort(-(x.astype(np.float64) + 0.0), axis=1, kind="stable")


def ranks(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Places of outcomes in that order."""
    return np.argmax(order(x) == y[:, None], axis=1) + 1


def reference(x: np.ndarray, y: np.ndarray, k: int, rules: Any = RULES) -> dict[str, np.ndarray]:
    """By rule, scores of lists of k classes, by the library in float64."""
    lists = tl.TopLists.from_logits(x.astype(np.float64), k=k)
    return {name: tl.score(lists, y, rule=rule) for name, rule in rules_by_name(rules).items()}
