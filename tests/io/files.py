"""The same predictions in every layout and format that can hold them."""

from __future__ import annotations

import csv
import gzip
import io
import json
import random
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.feather
import pyarrow.ipc
import pyarrow.parquet

from tests.io.strategies import Drawn, chance

Record = dict[str, Any]


# Layouts: tables as records


def as_lists(drawn: Drawn, rng: random.Random) -> list[Record]:
    """One record per case, with classes and confidences side by side, in any order."""
    made = []
    for case, one in zip(drawn.ids, drawn.lists, strict=True):
        items = rng.sample(list(one.items()), len(one))
        made.append({"case": case, "classes": [c for c, _ in items], "confidences": [t for _, t in items]})
    return made


def as_objects(drawn: Drawn, rng: random.Random) -> list[Record]:
    """One record per case, with an object for each class, in any order."""
    made = []
    for case, one in zip(drawn.ids, drawn.lists, strict=True):
        items = rng.sample(list(one.items()), len(one))
        made.append({"case": case, "results": [{"label": name, "score": t, "rank": 1} for name, t in items]})
    return made


def as_long(drawn: Drawn, rng: random.Random) -> list[Record]:
    """One record per case and class; one that is blank for an empty list."""
    made = []
    for case, one in zip(drawn.ids, drawn.lists, strict=True):
        items = rng.sample(list(one.items()), len(one)) or [(None, None)]
        made += [{"case": case, "class": name, "confidence": t} for name, t in items]
    return made


def as_scattered(drawn: Drawn, rng: random.Random) -> list[Record]:
    """The long layout with the rows of a case anywhere."""
    made = as_long(drawn, rng)
    rng.shuffle(made)
    return made


def as_wide(drawn: Drawn, rng: random.Random) -> list[Record]:
    """One column per class, blank where it is not listed."""
    columns = rng.sample(drawn.classes, drawn.m)
    return [
        {"case": case, **{str(name): one.get(name) for name in columns}}
        for case, one in zip(drawn.ids, drawn.lists, strict=True)
    ]


def as_ranked(drawn: Drawn, rng: random.Random) -> list[Record]:
    """class_1, p_1, class_2, p_2, ...; blank where the list has ended."""
    longest = drawn.m
    made = []
    for case, one in zip(drawn.ids, drawn.lists, strict=True):
        items = [*one.items(), *[(None, None)] * (longest - len(one))]
        ranks = enumerate(items, 1)
        made.append(
            {
                "case": case,
                **{f"{key}_{i}": v for i, pair in ranks for key, v in zip(("class", "p"), pair, strict=True)},
            }
        )
    return made


def as_labels(drawn: Drawn, rng: random.Random) -> list[Record]:
    """One class per case, or nothing."""
    return [{"case": case, "class": next(iter(one), None)} for case, one in zip(drawn.ids, drawn.lists, strict=True)]


LAYOUTS: dict[str, Callable[[Drawn, random.Random], list[Record]]] = {
    "lists": as_lists,
    "records": as_objects,
    "long": as_long,
    "scattered": as_scattered,
    "wide": as_wide,
    "ranked": as_ranked,
    "labels": as_labels,
}


# Formats: records as files


def as_table(records: Sequence[Record]) -> pa.Table:
    """A table of Arrow with the types that the values have."""
    names = list(records[0]) if records else ["case", "class"]
    return pa.table({name: _column([record[name] for record in records], name) for name in names})


def _column(values: list[Any], name: str) -> pa.Array:
    if name == "confidences":
        return pa.array(values, pa.list_(pa.float64()))
    if name == "results":
        label = pa.int64() if any(isinstance(one["label"], int) for row in values for one in row) else pa.string()
        return pa.array(values, pa.list_(pa.struct([("label", label), ("score", pa.float64()), ("rank", pa.int8())])))
    if name == "classes" and not any(values):
        return pa.array(values, pa.list_(pa.string()))
    return pa.array(values)


def as_text(records: Sequence[Record], delimiter: str = ",", end: str = "\n") -> str:
    """Delimited text; null is nothing at all."""
    out = io.StringIO()
    writer = csv.writer(out, delimiter=delimiter, lineterminator=end)
    writer.writerow(list(records[0]))
    writer.writerows([_cell(value) for value in record.values()] for record in records)
    return out.getvalue()


def _cell(value: Any) -> Any:
    return "" if value is None else repr(value) if isinstance(value, float) else value


def as_jsonl(records: Sequence[Record]) -> str:
    """One object per line."""
    return "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records)


def packed(data: str, suffix: str) -> bytes:
    """Text as bytes, compressed as the name says."""
    raw = data.encode("utf-8")
    if suffix.endswith(".gz"):
        return gzip.compress(raw, 1)
    return pa.compress(raw, "zstd").to_pybytes() if suffix.endswith(".zst") else raw


def save(records: Sequence[Record], path: Path) -> Path:
    """Write records in the format of the file's name."""
    suffix = "".join(one for one in path.suffixes[-2:] if one in (*TEXT, *TYPED, *LINES, *DOCUMENTS, ".gz", ".zst"))
    if suffix == ".parquet":
        pa.parquet.write_table(as_table(records), path)
    elif suffix == ".feather":
        pa.feather.write_feather(as_table(records), str(path))
    elif suffix == ".arrow":
        table = as_table(records)
        with pa.OSFile(str(path), "wb") as file, pa.ipc.new_stream(file, table.schema) as stream:
            stream.write_table(table, max_chunksize=7)
    elif suffix in DOCUMENTS:
        path.write_bytes(packed(json.dumps(records, ensure_ascii=False, indent=1), suffix))
    elif suffix.startswith(".jsonl"):
        path.write_bytes(packed(as_jsonl(records), suffix))
    else:
        path.write_bytes(packed(as_text(records, "\t" if suffix.startswith(".tsv") else ","), suffix))
    return path


# numpy's files


def save_array(drawn: Drawn, path: Path, form: str) -> Path:
    """dense.npy, dense.npz, csr.npz, top.npz or flat.npz; codes for classes, or their names for a matrix."""
    ids = np.array(drawn.ids)
    codes = {name: code for code, name in enumerate(drawn.classes)}
    offsets = np.concatenate(([0], np.cumsum([len(one) for one in drawn.lists])))
    classes = np.array([codes[name] for one in drawn.lists for name in one], np.int32)
    values = np.array([t for one in drawn.lists for t in one.values()])
    dense = np.zeros((len(ids), drawn.m))
    dense[np.repeat(np.arange(len(ids)), np.diff(offsets)), classes] = values
    shape = (len(ids), -1)
    if form == "dense.npy":
        np.save(path, dense)
    elif form == "dense.npz":
        np.savez(path, probs=dense, classes=np.array([str(name) for name in drawn.classes]), ids=ids)
    elif form == "csr.npz":
        whole = np.array([len(ids), drawn.m])
        np.savez_compressed(path, data=values, indices=classes, indptr=offsets, shape=whole, format=b"csr", ids=ids)
    elif form == "top.npz":
        np.savez(path, classes=classes.reshape(shape), confidences=values.reshape(shape), ids=ids)
    else:
        np.savez(path, offsets=offsets, classes=classes, confidences=values, ids=ids)
    return path


FRAMES: dict[str, Callable[[pa.Table], Any]] = {
    "pandas": lambda table: table.to_pandas(),
    "pandas on arrow": lambda table: table.to_pandas(types_mapper=pd.ArrowDtype),
    "polars": pl.from_arrow,
    "pyarrow": lambda table: table,
    "duckdb": duckdb.from_arrow,
}
TEXT = (".csv", ".tsv", ".csv.gz", ".csv.zst")
TYPED = (".parquet", ".feather", ".arrow")
LINES = (".jsonl", ".jsonl.gz", ".jsonl.zst")
DOCUMENTS = (".json", ".json.gz", ".json.zst")
FILES = (
    *(("lists", suffix) for suffix in (*TYPED, *LINES, ".json")),
    *(("records", suffix) for suffix in (".parquet", ".arrow", ".jsonl", *DOCUMENTS)),
    *(("long", suffix) for suffix in (*TEXT, *TYPED, *LINES, ".json")),
    *(("scattered", suffix) for suffix in (".csv", ".parquet", ".jsonl")),
    *(("wide", suffix) for suffix in (".csv", ".tsv", ".parquet", ".feather", ".jsonl")),
    *(("ranked", suffix) for suffix in (".csv", ".csv.zst", ".parquet", ".jsonl")),
)
LABELS = tuple(("labels", suffix) for suffix in (*TEXT, *TYPED, *LINES))
ARRAYS = {
    "ragged": ("csr.npz", "flat.npz"),
    "hard": ("csr.npz", "flat.npz"),
    "top": ("csr.npz", "flat.npz", "top.npz"),
    "full": ("csr.npz", "flat.npz", "top.npz", "dense.npz"),
}


def everything(drawn: Drawn, kind: str, folder: Path, seed: int = 0, *, shuffle: bool = False) -> dict[str, Any]:
    """Every file and frame that holds these predictions, by name; each in an order of its own if shuffled."""
    folder.mkdir(exist_ok=True)
    made: dict[str, Any] = {}
    for at, (layout, suffix) in enumerate((*FILES, *(LABELS if kind == "hard" else ()))):
        rng = chance(seed, layout, suffix)
        order = drawn.shuffled(seed + at) if shuffle else drawn
        made[f"{layout}{suffix}"] = save(LAYOUTS[layout](order, rng), folder / f"{layout}{suffix}")
    coded = isinstance(drawn.classes[0], int)
    for form in ARRAYS[kind] if coded else ("dense.npz",) if kind == "full" else ():
        order = drawn.shuffled(seed + len(form)) if shuffle else drawn
        made[form] = save_array(order, folder / form, form)
    for name, frame in FRAMES.items():
        layout = chance(seed, name).choice(["lists", "records", "long", "wide"])
        order = drawn.shuffled(seed + len(name)) if shuffle else drawn
        made[f"{layout} in {name}"] = frame(as_table(LAYOUTS[layout](order, chance(seed))))
    return made
