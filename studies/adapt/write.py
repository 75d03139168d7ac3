"""Prediction files in the layouts that people have. A value comes back from each of them as it was."""

from __future__ import annotations

import csv
import gzip
import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyarrow import feather, parquet

Names = Sequence[str]


def table(path: Path, header: Iterable[str], rows: Iterable[Iterable[Any]]) -> None:
    """Rows of text with commas, or with tabs where the name says .tsv; packed where it ends in .gz."""
    text: dict[str, Any] = {"encoding": "utf-8", "newline": ""}
    with gzip.open(path, "wt", **text) if path.suffix == ".gz" else path.open("w", **text) as file:
        writer = csv.writer(file, delimiter="\t" if ".tsv" in path.suffixes else ",", lineterminator="\n")
        writer.writerow(header)
        writer.writerows(rows)


def wide(path: Path, p: NDArray[Any], names: Names) -> None:
    """One column per class: Parquet, Arrow, numpy or text by the suffix. Cases are numbered from 0."""
    case = np.arange(len(p))
    if path.suffix == ".npz":
        np.savez(path, case=case, probs=p, classes=np.array(names))
    elif path.suffix == ".csv":
        table(path, ["case", *names], ([i, *row] for i, row in enumerate(p.tolist())))
    else:
        columns = pa.table({"case": case, **{name: np.ascontiguousarray(p[:, i]) for i, name in enumerate(names)}})
        (parquet.write_table if path.suffix == ".parquet" else feather.write_feather)(columns, path)


def sparse(path: Path, p: NDArray[Any]) -> None:
    """What is not zero, row after row, under the names that scipy gives to a CSR matrix."""
    rows, places = np.nonzero(p)
    starts = np.concatenate(([0], np.cumsum(np.bincount(rows, minlength=len(p)))))
    np.savez(path, case=np.arange(len(p)), data=p[rows, places], indices=places, indptr=starts, shape=p.shape)


def lists(path: Path, places: NDArray[np.int64], t: NDArray[np.float64], names: Names) -> None:
    """Two lists per case in Parquet or JSON lines, numbered columns in text."""
    rows = [
        {"case": i, "classes": [names[at] for at in here], "confidences": values}
        for i, (here, values) in enumerate(zip(places.tolist(), t.tolist(), strict=True))
    ]
    if path.suffix == ".parquet":
        parquet.write_table(pa.Table.from_pylist(rows), path)
    elif path.suffix == ".jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    else:
        numbers = range(1, places.shape[1] + 1)
        header = ["case", *(f"class_{i}" for i in numbers), *(f"confidence_{i}" for i in numbers)]
        table(path, header, ([row["case"], *row["classes"], *row["confidences"]] for row in rows))


def labels(path: Path, places: Iterable[int], names: Names) -> None:
    """One class per case: the outcome, or a hard prediction."""
    table(path, ["case", "class"], ([i, names[int(y)]] for i, y in enumerate(places)))
