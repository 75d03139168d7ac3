"""Random comparisons of files: layouts, formats, datasets of several files, orders, missing cases, kinds of ids."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet

from toplist import ClassSpace, Truth

CLASSES = tuple("abcdef")
LAYOUTS = ("lists", "long", "wide", "labels", "ranked")
FORMATS = {"lists": ("parquet", "arrow", "jsonl"), "labels": ("csv", "parquet", "jsonl")}


@dataclass(frozen=True)
class Design:
    """What is given to `compare`."""

    models: Mapping[str, str]
    truth: Truth
    options: Mapping[str, Any]
    task_cases: int


def design(folder: Path, seed: int, *, in_step: bool = False) -> Design:
    """A comparison of two or three models in files of any kind; all in the order of the truth, with a row per case."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(30, 90))
    ids = _ids(rng, n)
    y = rng.integers(0, len(CLASSES), n)
    missing = "error" if in_step else str(rng.choice(["error", "common", "uniform", "worst", "baseline"]))
    about = {
        "case": ids,
        "outcome": [CLASSES[c] for c in y],
        "weight": rng.integers(0, 4, n).tolist(),
        "site": rng.choice(["x", "y"], n).tolist(),
        "patient": (np.arange(n) // 3).tolist(),
    }
    order = np.arange(n) if rng.random() < 0.7 else rng.permutation(n)
    same_files = bool(rng.random() < 0.5)
    parts = int(rng.integers(1, 4))
    rows = [{name: column[at] for name, column in about.items()} for at in order]
    counted = in_step and not same_files  # else files with other rows can only be cut where rows are counted
    truth = _write(folder, "truth", rows, "parquet" if counted else str(rng.choice(["csv", "jsonl"])), parts, rng)
    models = {}
    for at in range(int(rng.integers(2, 4))):
        mine = order if in_step or rng.random() < 0.6 else rng.permutation(n)
        if missing != "error" and (at > 0 or missing != "baseline"):
            mine = mine[rng.random(n) < 0.8]
        layout = str(rng.choice([one for one in LAYOUTS if not (in_step and one == "long")]))
        kind = "parquet" if counted else str(rng.choice(FORMATS.get(layout, ("csv", "parquet"))))
        own_ids = [str(one) for one in ids] if rng.random() < 0.2 else ids
        rows = _rows(layout, mine, own_ids, y, rng)
        models[f"m{at}"] = _write(folder, f"m{at}", rows, kind, parts if same_files else int(rng.integers(1, 4)), rng)
    columns = {"weight": "weight", "group": "site", "cluster": "patient"}
    chosen = {name: column for name, column in columns.items() if rng.random() < 0.5}
    left = {"cluster": ""} if "cluster" not in chosen else {}
    options = {"missing": missing, "space": ClassSpace(labels=CLASSES), "baseline": "m0", "k": 2}
    return Design(models, Truth(truth, outcome="outcome", **chosen, **left), options, int(rng.integers(5, n // 2)))


def _ids(rng: np.random.Generator, n: int) -> list[Any]:
    numbers = np.sort(rng.choice(5 * n, n, replace=False)).tolist()
    return numbers if rng.random() < 0.5 else [f"c{one:04d}" for one in numbers]


def _rows(layout: str, cases: Any, ids: Sequence[Any], y: Any, rng: np.random.Generator) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    for at in cases:
        size = len(CLASSES) if layout == "wide" else int(rng.integers(1, 4))
        classes = rng.permutation(len(CLASSES))[:size]
        if rng.random() < 0.5:
            classes = np.roll(classes, -int(np.flatnonzero(classes == y[at])[0])) if y[at] in classes else classes
        values = np.sort(rng.integers(1, 60, size))[::-1] / 200 if layout != "wide" else rng.dirichlet(np.ones(size))
        names = [CLASSES[c] for c in classes]
        if layout == "lists":
            rows.append({"case": ids[at], "classes": names, "confidences": values.tolist()})
        elif layout == "wide":
            rows.append({"case": ids[at], **dict(sorted(zip(names, values.tolist(), strict=True)))})
        elif layout == "labels":
            rows.append({"case": ids[at], "class": names[0]})
        elif layout == "ranked":
            pairs = [*zip(names, values.tolist(), strict=True), *[(None, None)] * (3 - size)]
            named = [(f"class_{i}", f"p_{i}", *pair) for i, pair in enumerate(pairs, 1)]
            rows.append({"case": ids[at]} | {key: x for a, b, c, p in named for key, x in ((a, c), (b, p))})
        else:
            pairs = zip(names, values.tolist(), strict=True)
            rows += [{"case": ids[at], "class": name, "confidence": value} for name, value in pairs]
    return rows


def _write(folder: Path, name: str, rows: list[dict[str, Any]], kind: str, parts: int, rng: np.random.Generator) -> str:
    """One file, or a folder of several."""
    if parts == 1:
        path = folder / f"{name}.{kind}"
        write(path, rows, rng)
        return str(path)
    home = folder / name
    home.mkdir()
    for at, some in enumerate(np.array_split(np.arange(len(rows)), parts)):
        write(home / f"part-{at}.{kind}", [rows[i] for i in some], rng)
    return str(home)


def write(path: Path, rows: list[dict[str, Any]], rng: np.random.Generator | None = None) -> None:
    """Rows in the format that the name of a file says."""
    table = pa.Table.from_pylist(rows)
    if path.suffix == ".csv":
        pa.csv.write_csv(table, path)
    elif path.suffix == ".jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    elif path.suffix == ".arrow":
        pa.feather.write_feather(table, path, chunksize=7, compression="uncompressed")
    else:
        size = 1000 if rng is None else int(rng.choice([3, 7, 20, 1000]))
        pa.parquet.write_table(table, path, row_group_size=size)
