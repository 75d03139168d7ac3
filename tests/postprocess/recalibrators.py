"""One of each kind of recalibrator, and lists to try them on."""

from __future__ import annotations

import math

import numpy as np

import toplist as tl
from toplist.postprocess.recalibration import Identity, Isotonic, Recalibrator, RestFloor, Temperature

KINDS: dict[str, Recalibrator] = {
    "identity": Identity(),
    "temperature by brier": Temperature(),
    "temperature by log": Temperature(rule="log"),
    "rest floor": RestFloor(rule="brier"),
    "rest floor given": RestFloor(floor=0.01),
    "isotonic": Isotonic(),
    "isotonic by rank": Isotonic(by="rank", ranks=2, least=3),
}


def sharpened(
    seed: int, n: int, *, m: int = 8, k: int | None = None, power: float = 2.0
) -> tuple[tl.TopLists, np.ndarray]:
    """Lists that are too sure: powers of the distributions that the outcomes are drawn from."""
    rng = np.random.default_rng(seed)
    truth = rng.dirichlet(np.full(m, 0.5), n)
    y = (rng.random(n)[:, None] > np.cumsum(truth, axis=1)).sum(axis=1).clip(max=m - 1)
    sure = truth**power
    lists = tl.TopLists.from_proba(sure / sure.sum(axis=1, keepdims=True))
    return (lists if k is None else lists.truncate(k)), y


def mixed(seed: int, n: int, *, per_case: bool = False) -> tuple[tl.TopLists, np.ndarray]:
    """Lists of any length, empty and full ones, hard labels, zeros and invalid ones among them."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(2, 7, n) if per_case else np.full(n, 6)
    rows = []
    for i, m in enumerate(sizes):
        k, p = int(rng.integers(0, m + 1)), rng.dirichlet(np.full(m, 0.3))
        p[rng.random(m) < 0.2] = 0.0
        p = p / p.sum() if p.sum() > 0 else np.full(m, 1.0 / m)
        picked = rng.permutation(m)[:k]
        if i % 5 == 0:
            rows.append({int(rng.integers(m)): 1.0})
        else:
            rows.append({int(c): float(p[c]) for c in picked})
    space = tl.ClassSpace(sizes.tolist()) if per_case else tl.ClassSpace(6)
    ids = np.array([f"case {i}" for i in range(n)])
    return tl.TopLists.from_dicts(rows, space, ids=ids), rng.integers(0, sizes)


def huge(n: int = 40) -> tuple[tl.TopLists, np.ndarray]:
    """Lists over 2**1000 classes, half of them with confidences of e^-300 and less."""
    rng = np.random.default_rng(5)
    logs = -300.0 - np.sort(rng.exponential(20.0, (n, 3)), axis=1)
    logs[::2] = np.log([[0.6, 0.2, 0.1]])
    classes = np.tile(np.arange(3), n)
    y = np.where(rng.random(n) < 0.5, rng.integers(0, 3, n), 1000)
    return tl.lists.from_logs(np.arange(n + 1) * 3, classes, logs.ravel(), 2**1000), y


def open_ended(n: int = 60) -> tuple[tl.TopLists, np.ndarray]:
    """Lists over infinitely many classes, outcomes that no list can name among them."""
    rng = np.random.default_rng(6)
    t = np.sort(rng.dirichlet(np.ones(4), n)[:, :3], axis=1)[:, ::-1]
    classes = np.tile(np.arange(3), (n, 1))
    y = np.where(rng.random(n) < 0.6, rng.integers(0, 3, n), 99)
    return tl.TopLists.from_topk(classes, t, math.inf), y
