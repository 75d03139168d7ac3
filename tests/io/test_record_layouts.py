"""Lists of objects: the same lists as lists, long or ranked; recognised by themselves or refused with what to type."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import toplist as tl
from tests.draws import draws
from toplist.io.options import ReadOptions
from toplist.io.sources import OpenTable
from toplist.io.tables import open_source

NAMES = ("ant", "bee", "cat", "dog", "elk")
R = [{"label": "a", "score": 0.5}, {"label": "b", "score": 0.25}]


def _opened(rows: list[dict[str, Any]] | pa.Table) -> OpenTable:
    table = rows if isinstance(rows, pa.Table) else pa.Table.from_pylist(rows)
    return open_source(table, "it", ReadOptions())


# The same lists in every layout


@st.composite
def _lists(draw: Any) -> list[list[tuple[str, float]]]:
    """Lists in sixty-fourths, the most confident class first."""
    made = []
    for _ in range(draw(st.integers(1, 6))):
        names = draw(st.lists(st.sampled_from(NAMES), unique=True, max_size=3))
        left, one = 48, []
        for name in names:
            part = draw(st.integers(1, max(1, left - 8)))
            left = max(left - part, 9)
            one.append((name, part / 64 / len(names)))
        made.append(sorted(one, key=lambda pair: -pair[1]))
    return made


def _as_lists(lists: list[list[tuple[str, float]]]) -> pa.Table:
    kinds = {"id": pa.int64(), "classes": pa.list_(pa.string()), "confidences": pa.list_(pa.float64())}
    rows = [{"id": i, "classes": [c for c, _ in o], "confidences": [t for _, t in o]} for i, o in enumerate(lists)]
    return pa.Table.from_pylist(rows, pa.schema(list(kinds.items())))


def _as_records(lists: list[list[tuple[str, float]]], list_of: Any = pa.list_) -> pa.Table:
    record = pa.struct([("score", pa.float64()), ("species", pa.struct([("name", pa.string())]))])
    rows = [
        {"id": i, "out": {"results": [{"score": t, "species": {"name": c}} for c, t in one]}}
        for i, one in enumerate(lists)
    ]
    schema = pa.schema([("id", pa.int64()), ("out", pa.struct([("results", list_of(record))]))])
    return pa.Table.from_pylist(rows, schema)


def _as_map(lists: list[list[tuple[str, float]]]) -> pa.Table:
    rows = [{"id": i, "cats": one} for i, one in enumerate(lists)]
    return pa.Table.from_pylist(rows, pa.schema([("id", pa.int64()), ("cats", pa.map_(pa.string(), pa.float64()))]))


def _as_long(lists: list[list[tuple[str, float]]]) -> pa.Table:
    rows = [{"id": i, "class": c, "p": t} for i, one in enumerate(lists) for c, t in one or [(None, None)]]
    return pa.Table.from_pylist(rows, pa.schema([("id", pa.int64()), ("class", pa.string()), ("p", pa.float64())]))


def _as_ranked(lists: list[list[tuple[str, float]]]) -> pa.Table:
    pairs = [(f"class_{k}", f"p_{k}") for k in (1, 2, 3)]
    columns: dict[str, Any] = {"id": pa.array(range(len(lists)))}
    for k, (name, p) in enumerate(pairs):
        columns[name] = pa.array([one[k][0] if k < len(one) else None for one in lists], pa.string())
        columns[p] = pa.array([one[k][1] if k < len(one) else None for one in lists], pa.float64())
    return pa.table(columns)


@settings(max_examples=draws(40))
@given(_lists())
def test_the_layout_does_not_show(lists: list[list[tuple[str, float]]]) -> None:
    space = tl.ClassSpace(labels=NAMES)
    forms = {
        "lists": (_as_lists(lists), {}),
        "records": (_as_records(lists), {}),
        "large records": (_as_records(lists, pa.large_list), {}),
        "views of records": (_as_records(lists, pa.list_view), {}),
        "maps": (_as_map(lists), {"records": "cats"}),
        "long": (_as_long(lists), {}),
        "ranked": (_as_ranked(lists), {}),
    }
    made = {name: tl.read_lists(table, space, **how) for name, (table, how) in forms.items()}
    first = made["lists"]
    for name, one in made.items():
        for what in ("offsets", "classes", "confidences", "ids"):
            assert np.array_equal(getattr(one, what), getattr(first, what)), (name, what)


@pytest.mark.parametrize("form", ["pandas", "polars", "duckdb", "parquet", "jsonl", "json"])
def test_every_frame_and_file_holds_records(form: str, tmp_path: Path) -> None:
    rows = [{"id": i, "results": R[: i % 3]} for i in range(1, 6)]
    table, path = pa.Table.from_pylist(rows), tmp_path / f"p.{form}"
    data: Any = path
    if form == "pandas":
        data = pd.DataFrame(rows)
    elif form == "polars":
        data = pl.DataFrame(rows)
    elif form == "duckdb":
        data = duckdb.from_arrow(table)
    elif form == "parquet":
        pa.parquet.write_table(table, path, row_group_size=2)
    else:
        path.write_text(json.dumps(rows) if form == "json" else "".join(json.dumps(row) + "\n" for row in rows))
    lists = tl.read_lists(data, ["a", "b", "c"])
    assert lists.offsets.tolist() == [0, 1, 3, 3, 4, 6]
    assert lists.confidences.tolist() == [0.5, 0.5, 0.25, 0.5, 0.5, 0.25]


def test_the_numbers_of_records_are_not_copied() -> None:
    scores = np.array([0.5, 0.25, 0.125])
    record = pa.StructArray.from_arrays([pa.array(["a", "b", "c"]), pa.array(scores)], names=["label", "score"])
    table = pa.table({"id": [1, 2], "results": pa.ListArray.from_arrays(pa.array([0, 2, 3], pa.int32()), record)})
    (batch,) = _opened(table).batches()
    assert np.shares_memory(batch.confidences, scores)


def test_a_model_with_records_is_compared_with_one_of_another_layout(tmp_path: Path) -> None:
    lists = [[("ant", 0.5)], [("bee", 0.75), ("ant", 0.125)], []]
    pa.parquet.write_table(_as_records(lists), tmp_path / "a.parquet")
    pa.parquet.write_table(_as_long(lists), tmp_path / "b.parquet")
    truth = tmp_path / "y.csv"
    truth.write_text("id,outcome\n2,elk\n0,ant\n1,ant\n")
    board = tl.compare({"a": tmp_path / "a.parquet", "b": tmp_path / "b.parquet"}, truth, space=tl.ClassSpace(5))
    assert board["a"].scores["brier"].mean.value == board["b"].scores["brier"].mean.value


# Conditions, composite ids and paths in the other layouts
