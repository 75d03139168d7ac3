"""Folders and patterns: one schema for all parts, or a sentence that names the part and the column."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.feather
import pyarrow.parquet
import pytest

from tests.cli.messages import said
from tests.io.boards import only
from tests.io.files import save
from toplist.errors import AlignmentError, FileError
from toplist.evaluation.compare import compare
from toplist.evaluation.monitor import monitor
from toplist.evaluation.transform import pool_files
from toplist.io.opening import open_path
from toplist.io.readers.column_types import common, usual

FORMS = (".csv", ".jsonl", ".parquet", ".feather")
TYPED = (".parquet", ".feather")


def _folder(place: Path, suffix: str, *parts: list[dict[str, Any]]) -> Path:
    folder = place / "parts"
    folder.mkdir()
    for at, records in enumerate(parts):
        save(records, folder / f"{'abc'[at]}{suffix}")
    return folder


def _truth(place: Path, *outcomes: str) -> Path:
    return save([{"case": i, "class": y} for i, y in enumerate(outcomes, 1)], place / "y.csv")


def _tables(place: Path, suffix: str, *parts: dict[str, Any]) -> Path:
    folder = place / "parts"
    folder.mkdir()
    for at, columns in enumerate(parts):
        path, table = folder / f"{'abc'[at]}{suffix}", pa.table(columns)
        if suffix == ".parquet":
            pa.parquet.write_table(table, path)
        else:
            pa.feather.write_feather(table, path, compression="uncompressed")
    return folder


@pytest.mark.parametrize("suffix", [".csv", ".parquet", ".feather"])
def test_a_class_column_that_a_later_part_has_more_is_refused(suffix: str, tmp_path: Path) -> None:
    first = [{"case": 1, "cat": 0.5, "dog": 0.25}]
    second = [{"case": 2, "cat": 0.5, "dog": 0.25, "fox": 0.25}]
    with pytest.raises(FileError, match=rf"b\{suffix}: there is a column 'fox', which .*a\{suffix} does not have"):
        only(_folder(tmp_path, suffix, first, second), _truth(tmp_path, "cat", "fox"), space=4)


@pytest.mark.parametrize("suffix", [".csv", ".parquet", ".feather"])
def test_a_column_that_a_later_part_lacks_or_calls_otherwise_is_refused(suffix: str, tmp_path: Path) -> None:
    first, second = [{"case": 1, "class": "cat", "p": 0.5}], [{"case": 2, "class": "cat", "prob": 0.5}]
    with pytest.raises(FileError, match=rf"b\{suffix}: there is no column 'p', .* It has a column 'prob' instead"):
        only(_folder(tmp_path, suffix, first, second), _truth(tmp_path, "cat", "cat"), space=4)


def test_a_class_that_a_later_part_of_json_lines_has_more_counts(tmp_path: Path) -> None:
    """An object lists what it lists, in the same file as in another one."""
    folder = _folder(tmp_path, ".jsonl", [{"case": 1, "cat": 0.5, "dog": 0.25}], [{"case": 2, "cat": 0.25, "fox": 0.5}])
    row = only(folder, _truth(tmp_path, "cat", "fox"), space=4)
    each = 0.25 + 0.0625 + 2 * 0.125**2 - 2 * 0.5 + 1
    assert (row.metrics["mean_length"].value, row.scores["brier"].mean.value) == (2, pytest.approx(each, rel=1e-14))


def test_parts_of_json_lines_with_other_names_are_refused(tmp_path: Path) -> None:
    first, second = [{"case": 1, "class": "cat", "p": 0.5}], [{"case": 2, "label": "cat", "p": 0.5}]
    with pytest.raises(FileError, match=r"'class', 'label' may all hold classes"):
        only(_folder(tmp_path, ".jsonl", first, second), _truth(tmp_path, "cat", "cat"), space=4)


def test_parts_may_have_their_columns_in_another_order(tmp_path: Path) -> None:
    for suffix in FORMS:
        (tmp_path / suffix).mkdir()
        first, second = [{"case": 1, "class": "cat", "p": 0.5}], [{"p": 0.25, "case": 2, "class": "dog"}]
        row = only(_folder(tmp_path / suffix, suffix, first, second), _truth(tmp_path, "cat", "dog"), space=4)
        assert (row.cases, row.metrics["mean_mass"].value) == (2, 0.375)


def _lists(kind: Any, classes: list[list[str]], values: list[list[float]]) -> dict[str, Any]:
    return {
        "classes": pa.array(classes, kind(pa.string())),
        "confidences": pa.array(values, kind(pa.float32() if kind is pa.large_list else pa.float64())),
    }


KINDS: dict[str, Any] = {
    "large lists": pa.large_list,
    "views": pa.list_view,
    "large views": pa.large_list_view,
    "a fixed size": lambda inner: pa.list_(inner, 2),
}


@pytest.mark.parametrize("first", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_lists_mean_the_same_however_arrow_lays_them_out(kind: str, first: bool, tmp_path: Path) -> None:
    parts = [
        {"case": [1, 2], **_lists(pa.list_, [["a", "b"], ["b", "c"]], [[0.5, 0.25], [0.75, 0.125]])},
        {"case": [3, 4, 5], **_lists(KINDS[kind], [["c", "a"], ["a", "d"], ["b", "a"]], [[0.5, 0.25]] * 3)},
    ]
    folder = _tables(tmp_path, ".feather", *(reversed(parts) if first else parts))
    row = only(folder, _truth(tmp_path, "a", "b", "c", "d", "b"), space=5)
    squares = [0.5**2 + 0.25**2 + 3 * (0.25 / 3) ** 2] * 4 + [0.75**2 + 0.125**2 + 3 * (0.125 / 3) ** 2]
    hits = [0.5, 0.75, 0.5, 0.25, 0.5]
    assert (row.cases, row.metrics["mean_mass"].value) == (5, pytest.approx((4 * 0.75 + 0.875) / 5))
    assert row.scores["brier"].mean.value == pytest.approx((sum(squares) - 2 * sum(hits) + 5) / 5)


ENCODED = {
    "text by a dictionary": lambda names, t: (pa.array(names).dictionary_encode(), t),
    "large text": lambda names, t: (pa.array(names, pa.large_string()), t),
    "a view of text": lambda names, t: (pa.array(names, pa.string_view()), t),
    "bytes": lambda names, t: (pa.array([name.encode() for name in names]), t),
    "numbers by a dictionary": lambda names, t: (names, pa.array(t).dictionary_encode()),
    "run ends": lambda names, t: (pc.run_end_encode(pa.array(names)), pc.run_end_encode(pa.array(t))),
    "decimals": lambda names, t: (names, pa.array(t).cast(pa.decimal128(8, 6))),
    "half floats": lambda names, t: (names, pa.array(np.array(t, np.float16))),
    "floats": lambda names, t: (names, pa.array(t, pa.float32())),
}


@pytest.mark.parametrize("alone", [False, True], ids=["a part", "all"])
@pytest.mark.parametrize("what", ENCODED)
def test_values_mean_the_same_however_they_are_encoded(what: str, alone: bool, tmp_path: Path) -> None:
    names, t = ["a", "b", "c"], [0.5, 0.25, 0.75]
    classes, confidences = ENCODED[what](names, t)
    parts = [] if alone else [{"case": [4], "class": ["d"], "confidence": [0.5]}]
    folder = _tables(tmp_path, ".feather", *parts, {"case": [1, 2, 3], "class": classes, "confidence": confidences})
    row = only(folder, _truth(tmp_path, *"abcd"[: 3 + len(parts)]), space=5)
    expected = [(1 - p) ** 2 + 4 * ((1 - p) / 4) ** 2 for p in [*t, *(0.5 for _ in parts)]]
    assert row.scores["brier"].mean.value == pytest.approx(sum(expected) / len(expected))


@pytest.mark.parametrize("encode", ["dictionary_encode", "run_end_encode"])
def test_wide_tables_of_encoded_numbers_are_read(encode: str, tmp_path: Path) -> None:
    columns = {name: getattr(pc, encode)(pa.array(t)) for name, t in (("a", [0.5, 0.25]), ("b", [0.25, 0.5]))}
    folder = _tables(tmp_path, ".feather", {"case": [1, 2], **columns})
    assert only(folder, _truth(tmp_path, "a", "b"), space=3).metrics["mean_mass"].value == 0.75


def test_lists_of_encoded_text_are_read_across_row_groups(tmp_path: Path) -> None:
    kind = pa.list_(pa.dictionary(pa.int32(), pa.string()))
    path = tmp_path / "p.parquet"
    schema = pa.schema([("case", pa.int64()), ("classes", kind), ("confidences", pa.list_(pa.float64()))])
    with pa.parquet.ParquetWriter(path, schema) as writer:
        for case, name in enumerate("abc", 1):
            writer.write_table(pa.table([[case], pa.array([[name]]).cast(kind), [[0.5]]], schema=schema))
    row = only(path, _truth(tmp_path, "a", "b", "c"), space=4)
    assert (row.cases, row.metrics["accuracy"].value) == (3, 1)


ids = pytest.mark.parametrize(
    ("mine", "theirs"),
    [
        (pa.array([1], pa.int64()), pa.array(["02"])),
        (pa.array(["1"]), pa.array([2])),
        (pa.array([1]), pa.array([True])),
        (pa.array([1]), pa.array([[2]])),
        (pa.array(["1"]), pa.array([{"x": 2}])),
    ],
    ids=["text after numbers", "numbers after text", "true or false", "lists", "objects"],
)


@ids
@pytest.mark.parametrize("suffix", TYPED)
def test_ids_of_two_types_are_refused_in_every_command(suffix: str, mine: Any, theirs: Any, tmp_path: Path) -> None:
    parts = [{"case": one, "class": ["cat"], "p": [0.5]} for one in (mine, theirs)]
    folder, truth, out = _tables(tmp_path, suffix, *parts), _truth(tmp_path, "cat", "cat"), tmp_path / "o.parquet"
    for command in (
        ("compare", folder, "-t", truth, "-c", 4),
        ("score", folder, "-t", truth, "-c", 4),
        ("check", folder, "-c", 4),
        ("convert", folder, out),
        ("truncate", folder, "-k", 1, "-o", out),
        ("pool", folder, f"b={folder}", "-c", 4, "-o", out),
    ):
        code, words = said(*command)
        assert code in (1, 2), command
        assert f"b{suffix}: the column 'case' holds" in words.replace("\n", " "), command
        assert not out.exists()


def test_large_numbers_fit_or_are_named(tmp_path: Path) -> None:
    small = {"case": pa.array([1]), "class": ["cat"], "p": [0.5]}
    large = {"case": pa.array([2], pa.uint64()), "class": ["cat"], "p": [0.5]}
    folder = _tables(tmp_path, ".parquet", small, large)
    assert only(folder, _truth(tmp_path, "cat", "cat"), space=4).cases == 2
    pool_files({"a": folder, "b": folder}, tmp_path / "o.parquet", space=4)
    pa.parquet.write_table(pa.table({**large, "case": pa.array([2**63], pa.uint64())}), folder / "b.parquet")
    with pytest.raises(FileError, match=r"b\.parquet, row 1: 9223372036854775808 in 'case' is not among the numbers"):
        only(folder, _truth(tmp_path, "cat", "cat"), space=4)


def test_objects_where_the_first_part_has_lists_are_refused(tmp_path: Path) -> None:
    first = {"case": [1], "classes": [["cat"]], "confidences": [[0.5]]}
    folder = _tables(tmp_path, ".parquet", first, {"case": [2], "classes": [{"x": "cat"}], "confidences": [[0.5]]})
    with pytest.raises(FileError, match=r"b\.parquet: the column 'classes' holds objects, but lists of text in"):
        only(folder, _truth(tmp_path, "cat", "cat"), space=4)


@pytest.mark.parametrize(
    ("one", "other", "both"),
    [
        (pa.int8(), pa.uint32(), pa.int64()),
        (pa.int64(), pa.uint64(), pa.int64()),
        (pa.float32(), pa.float64(), pa.float64()),
        (pa.decimal128(9, 2), pa.float32(), pa.float64()),
        (pa.int64(), pa.float32(), pa.float64()),
        (pa.string(), pa.large_string(), pa.large_string()),
        (pa.null(), pa.bool_(), pa.bool_()),
        (pa.list_(pa.null()), pa.list_(pa.string()), pa.list_(pa.string())),
        (pa.list_(pa.int32(), 3), pa.list_(pa.int32(), 4), pa.list_(pa.int32())),
        (pa.struct([("a", pa.int8())]), pa.struct([("a", pa.int64())]), pa.struct([("a", pa.int64())])),
        (pa.string(), pa.int64(), None),
        (pa.bool_(), pa.int64(), None),
        (pa.list_(pa.string()), pa.list_(pa.int64()), None),
        (pa.list_(pa.string()), pa.string(), None),
        (pa.struct([("a", pa.int8())]), pa.struct([("b", pa.int8())]), None),
        (pa.date32(), pa.timestamp("s"), None),
    ],
)
def test_types_have_one_in_common_or_none(one: Any, other: Any, both: Any) -> None:
    assert common(one, other) == both
    assert common(other, one) == both


def test_encodings_are_no_types() -> None:
    coded = pa.dictionary(pa.int8(), pa.string())
    assert usual(coded) == pa.string()
    assert usual(pa.list_(coded)) == pa.list_(pa.string())
    assert usual(pa.large_list_view(pa.string_view())) == pa.large_list(pa.string())
    assert usual(pa.run_end_encoded(pa.int32(), pa.float64())) == pa.float64()
    assert usual(pa.list_(pa.int8(), 3)) == pa.list_(pa.int8(), 3)


def test_the_first_two_files_that_differ_in_length_decide(tmp_path: Path) -> None:
    paths = []
    for at in range(12):
        paths.append(tmp_path / f"p{at}.csv")
        paths[-1].write_text("cat,dog\n" + "0.5,0.25\n" * (5 if at else 6))
    truth = tmp_path / "y.csv"
    truth.write_text("class\n" + "cat\n" * 5)
    with pytest.raises(AlignmentError, match=r"rows: [^,]*y\.csv has 5, [^,]*p0\.csv has more\. ") as error:
        compare({path.stem: path for path in paths}, truth, space=4)
    assert "p1.csv" not in str(error.value)


def test_a_schema_is_that_of_all_parts(tmp_path: Path) -> None:
    folder = _tables(tmp_path, ".parquet", {"a": pa.array([1], pa.int8())}, {"a": pa.array([2.5], pa.float32())})
    reader = open_path(folder)
    assert str(reader.schema) == "a: double"
    assert [piece.table.column(0).to_pylist() for piece in reader.pieces(["a"])] == [[1.0], [2.5]]


@pytest.mark.parametrize("order", [[0, 1, 2, 3], [3, 1, 0, 2]])
def test_a_blank_in_one_part_of_a_wide_table_leaves_the_other_parts_as_they_are(
    order: list[int], tmp_path: Path
) -> None:
    rows = ["1,0.5,0.5\n", "2,0.3,0.7\n", "3,1,\n", "4,0.4,0.6\n"]
    for name, at in (("a", range(2)), ("b", range(2, 4))):
        folder = tmp_path / "parts"
        folder.mkdir(exist_ok=True)
        (folder / f"{name}.csv").write_text("case,cat,dog\n" + "".join(rows[i] for i in at))
    whole, coin, truth = (tmp_path / f"{name}.csv" for name in ("whole", "coin", "y"))
    whole.write_text("case,cat,dog\n" + "".join(rows[i].replace("1,\n", "1,0\n") for i in order))
    coin.write_text("case,cat,dog\n" + "".join(f"{i + 1},0.5,0.5\n" for i in order))
    truth.write_text("case,outcome\n1,cat\n2,dog\n3,cat\n4,dog\n")
    found = monitor({"coin": coin, "parts": tmp_path / "parts", "whole": whole}, truth)
    assert found["parts"].mean == found["whole"].mean
