"""Logits of many kinds with their outcomes, and lists and scores of them by numpy's float64 and by `toplist.score`."""

from __future__ import annotations

from typing import Any

import numpy as np

import toplist as tl
from toplist.scoring.rules import Power

KINDS = (
    "random", "tied", "constant", "dominant", "masked", "large", "ascending", "descending", "small", "zeros", "late",
)  # fmt: skip
RULES: tuple[Any, ...] = ("brier", "log", "spherical", Power(1.5))


def made(kind: str, rows: int, width: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Logits that bfloat16 holds too, and outcomes: the first class, the last, one in the middle, and others."""
    rng = np.random.default_rng([seed, KINDS.index(kind), width])
    x = 3 * rng.standard_normal((rows, width))
    if kind == "tied":
        x = x.round()
    elif kind == "constant":
        x[:] = 1.5
    elif kind == "dominant":
        x[:, width // 2] = 60
    elif kind == "masked":
        x[:, : width - width // 8 - 2] = -np.inf
    elif kind == "large":
        x *= 20
    elif kind == "ascending":
        x.sort(axis=1)
    elif kind == "descending":
        x = -np.sort(-x, axis=1)
    elif kind == "small":
        x *= 1e-3
    elif kind == "zeros":
        x = np.where(rng.random(x.shape) < 0.5, 0.0, -0.0)
    elif kind == "late":  # the largest are far above all of the first half
        x[:, width // 2 :] += 60
    y = rng.integers(0, width, rows)
    y[: min(rows, 3)] = [0, width - 1, width // 2][: min(rows, 3)]
    bits = x.astype(np.float32).view(np.uint32) & np.uint32(0xFFFF0000)  # as bfloat16 has them
    return bits.view(np.float32), y


def oracle(x: np.ndarray, y: np.ndarray, ks: tuple[int, ...], temperature: float = 1.0) -> dict[str, Any]:
    """Stable sort, softmax and padded scores in float64; sums beside a list add up what is beside it."""
    x = x.astype(np.float64) / temperature
    m, longest = x.shape[1], max(ks)
    order = np.argsort(-x, axis=1, kind="stable")
    logs = x - x.max(axis=1, keepdims=True)
    logs -= np.log(np.exp(logs).sum(axis=1, keepdims=True))
    p = np.exp(logs)
    sure = p.max(axis=1) > 0.5  # what the rest lacks to one is known better than one minus it
    rows = np.arange(len(x))
    others = np.where(np.arange(m) == order[:, :1], 0, p).sum(axis=1)
    logs[rows[sure], order[sure, 0]] = np.log1p(-others[sure])
    found: dict[str, Any] = {"classes": order[:, :longest], "logs": np.take_along_axis(logs, order[:, :longest], 1)}
    found["rank"] = (order == y[:, None]).argmax(axis=1) + 1
    for rule in RULES:
        columns = []
        for k in (*ks, m):
            kept = order[:, :k]
            rest = np.full(len(x), -np.inf)
            if k < m:
                beside = np.take_along_axis(logs, order[:, k:], 1)
                top = beside.max(axis=1)
                base = np.where(np.isfinite(top), top, 0.0)
                with np.errstate(divide="ignore"):
                    rest = base + np.log(np.exp(beside - base[:, None]).sum(axis=1))
                near = rest > -0.5
                listed = np.take_along_axis(p, kept, 1).sum(axis=1)
                rest[near] = np.log1p(-listed[near])
            if k == longest:
                found["log_rest"] = rest
            lists = tl.TopLists.from_topk(kept, np.take_along_axis(p, kept, 1), m, log_rest=rest)
            columns.append(tl.score(lists, y, rule=rule))
        found[str(rule)] = np.stack(columns, axis=1)
    return found
