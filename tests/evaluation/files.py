"""Cases with weights, clusters and time points, and predictions for them: in arrays, and in files in any order."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import toplist as tl
from tests.evaluation.shapes import M
from toplist.inference.settings import DRAWN, TIMED

N = 60
UNNAMED = ("sources", "truth_reading", "group", "cluster", "time", "weight", "method")


def drawn(seed: int) -> tuple[dict[str, Any], Any]:
    """Two distributions and what happened."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, M, N)
    return {"p": rng.dirichlet(np.ones(M), size=N), "q": rng.dirichlet(np.full(M, 3.0), size=N)}, y


def columns(seed: int) -> dict[str, Any]:
    """What may be said of cases: weights, clusters, time points."""
    rng = np.random.default_rng(seed + 1)
    return {
        "worth": rng.choice([0.5, 1.0, 3.0], N),
        "team": np.array([f"team {i:02d}" for i in rng.integers(0, 12, N)]),
        "when": rng.permutation(N) // 2,
    }


KINDS = {
    "plain": {},
    "weights": {"weight": "worth"},
    "clusters": {"cluster": "team", "weight": "worth"},
    "time": {"time": "when", "weight": "worth"},
}


def options_of(kind: str, how: str) -> dict[str, str]:
    if kind == "clusters" and how in TIMED:
        pytest.skip("clusters have no order")
    if (kind == "time" and how in DRAWN) or (kind != "plain" and how == "bounded"):
        pytest.skip("refused")
    return KINDS[kind] | {"method": how}


def record(board: tl.Leaderboard) -> dict[str, Any]:
    """All but names of columns and of files."""
    return {key: value for key, value in board.to_dict().items() if key not in UNNAMED}


def write_csv(path: Path, header: list[str], rows: Iterable[Iterable[Any]]) -> str:
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([header, *rows])
    return str(path)


def write_parquet(path: Path, header: list[str], rows: Iterable[Iterable[Any]]) -> str:
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    made: list[Any] = list(map(list, zip(*rows, strict=True)))
    made = [np.array(column) if isinstance(column[0], np.datetime64) else column for column in made]
    pq.write_table(pa.table(dict(zip(header, made, strict=True))), path)
    return str(path)


def files(
    folder: Path, made: dict[str, Any], y: Any, extra: dict[str, Any], *, suffix: str, seed: int | None
) -> tuple[dict[str, str], str]:
    """Wide tables and a truth; with a seed, the rows of each model in an order of their own."""
    pytest.importorskip("duckdb")
    write: Callable[..., str] = write_csv if suffix == "csv" else write_parquet
    rng = None if seed is None else np.random.default_rng(seed)
    everything = list(range(N))
    where = everything if rng is None else rng.permutation(N).tolist()
    truth = write(
        folder / f"truth.{suffix}",
        ["case", "outcome", *extra],
        [[f"c{i:03d}", f"k{y[i]}", *(column[i] for column in extra.values())] for i in where],
    )
    paths = {}
    for name, p in made.items():
        rows = everything if rng is None else rng.permutation(N).tolist()
        header = ["case", *(f"k{c}" for c in range(M))]
        paths[name] = write(folder / f"{name}.{suffix}", header, [[f"c{i:03d}", *p[i].tolist()] for i in rows])
    return paths, truth
