"""The same predictions written in every layout, in any order of their rows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import toplist as tl
from tests.evaluation.shapes import LABELS

LAYOUTS = ("lists", "long", "ranked", "labels", "wide")
SPACE = tl.ClassSpace(labels=LABELS)


class World:
    """Cases with ids, weights, groups, clusters and time points; five models, one for each layout."""

    def __init__(self, seed: int, n: int) -> None:
        rng = np.random.default_rng(seed)
        m = len(LABELS)
        self.ids = [f"case-{i:04d}" for i in rng.permutation(n)]
        self.y = rng.integers(0, m, n)
        self.weight = rng.choice([0.5, 1.0, 1 / 3, 7.0], n)
        self.group = rng.choice(["north", "south", "west"], n)
        self.cluster = rng.integers(0, 15, n)
        self.when = rng.permutation(n) // 2
        self.rows: dict[str, list[dict[int, float]]] = {
            "lists": [self._some(rng, k) for k in rng.integers(0, 5, n)],
            "long": [self._some(rng, k, steps=16) for k in rng.integers(1, 5, n)],
            "ranked": [self._some(rng, k) for k in rng.integers(0, 4, n)],
            "labels": [{int(c): 1.0} for c in np.where(rng.random(n) < 0.5, self.y, rng.integers(0, m, n))],
            "wide": [dict(enumerate(p)) for p in rng.dirichlet(np.full(m, 0.6), size=n).tolist()],
        }
        self.has = {name: np.ones(n, bool) for name in LAYOUTS}

    @staticmethod
    def _some(rng: np.random.Generator, k: int, steps: int = 0) -> dict[int, float]:
        share = np.full(k + 1, 1 / (k + 1))
        t = rng.multinomial(steps, share)[:k] / steps if steps else rng.dirichlet(share * 3)[:k]
        return dict(zip(rng.permutation(len(LABELS))[:k].tolist(), t.tolist(), strict=True))

    def __len__(self) -> int:
        return len(self.ids)

    def dicts(self, name: str, at: Any) -> list[dict[str, float]]:
        """The lists of some cases with the names of classes, in the order in which files give them."""
        return [{LABELS[c]: t for c, t in self.rows[name][i].items()} for i in at]

    def write(self, folder: Path, seed: int | None = None) -> None:
        """Each file in an order of its own, or all in that of the cases."""
        pq, pa = pytest.importorskip("pyarrow.parquet"), pytest.importorskip("pyarrow")
        rng = None if seed is None else np.random.default_rng(seed)
        order = np.arange(len(self)) if rng is None else rng.permutation(len(self))
        truth = {
            "case": [self.ids[i] for i in order],
            "outcome": [LABELS[self.y[i]] for i in order],
            "worth": self.weight[order],  # names that say nothing by themselves
            "group": self.group[order],
            "team": self.cluster[order],
            "when": self.when[order],
        }
        pq.write_table(pa.table(truth), folder / "truth.parquet", row_group_size=100)
        for name in LAYOUTS:
            here = np.flatnonzero(self.has[name])
            order = here if rng is None else rng.permutation(here)
            table = pa.table(getattr(self, f"_{name}")(order, rng))
            pq.write_table(table, folder / f"{name}.parquet", row_group_size=90)

    def paths(self, folder: Path) -> dict[str, str]:
        return {name: str(folder / f"{name}.parquet") for name in LAYOUTS}

    def _lists(self, order: Any, rng: Any) -> dict[str, Any]:
        pa = pytest.importorskip("pyarrow")
        rows = self.dicts("lists", order)
        return {
            "case": [self.ids[i] for i in order],
            "classes": pa.array([list(row) for row in rows], pa.list_(pa.string())),
            "confidences": pa.array([list(row.values()) for row in rows], pa.list_(pa.float64())),
        }

    def _long(self, order: Any, rng: Any) -> dict[str, Any]:
        flat = [
            (self.ids[i], c, t) for i, row in zip(order, self.dicts("long", order), strict=True) for c, t in row.items()
        ]
        if rng is not None:
            flat = [flat[i] for i in rng.permutation(len(flat))]
        return dict(zip(("case", "class", "confidence"), map(list, zip(*flat, strict=True)), strict=True))

    def _ranked(self, order: Any, rng: Any) -> dict[str, Any]:
        rows = [list(row.items()) for row in self.dicts("ranked", order)]
        made: dict[str, Any] = {"case": [self.ids[i] for i in order]}
        for k in range(3):
            made[f"class_{k + 1}"] = [row[k][0] if len(row) > k else None for row in rows]
            made[f"confidence_{k + 1}"] = [row[k][1] if len(row) > k else None for row in rows]
        return made

    def _labels(self, order: Any, rng: Any) -> dict[str, Any]:
        return {"case": [self.ids[i] for i in order], "label": [next(iter(row)) for row in self.dicts("labels", order)]}

    def _wide(self, order: Any, rng: Any) -> dict[str, Any]:
        rows = self.dicts("wide", order)
        return {"case": [self.ids[i] for i in order], **{name: [row[name] for row in rows] for name in LABELS}}
