"""What people do wrong with files on their first day, and what they are told; or what is not wrong at all."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

import toplist as tl
from tests.io.boards import only
from toplist.errors import FileError, TopListError
from toplist.evaluation.compare import compare

TRUTH = "case,class\n1,a\n2,b\n3,c\n4,a\n"
LONG = "case,class,confidence\n1,a,0.5\n1,b,0.25\n2,,\n4,b,0.75\n3,c,1\n"
WIDE = "case,a,b,c,d\n1,0.5,0.25,,\n2,,,,\n3,,,1,\n4,,.75,,\n"
LISTS = [
    {"case": 1, "classes": ["a", "b"], "confidences": [0.5, 0.25]},
    {"case": 2, "classes": [], "confidences": []},
    {"case": 3, "classes": ["c"], "confidences": [1]},
    {"case": 4, "classes": ["b"], "confidences": [0.75]},
]
SCORE = pytest.approx((0.375 + 0.75 + 0 + 1.3854166666666667) / 4)


@pytest.fixture
def truth(tmp_path: Path) -> Path:
    return _put(tmp_path / "y.csv", TRUTH)


def _put(path: Path, data: str | bytes) -> Path:
    path.write_bytes(data if isinstance(data, bytes) else data.encode())
    return path


def _lines(records: list[dict[str, Any]]) -> str:
    return "".join(json.dumps(record) + "\n" for record in records)


FINE = {
    "as it should be": ("p.csv", LONG),
    "wide": ("p.csv", WIDE),
    "lists": ("p.jsonl", _lines(LISTS)),
    "Windows": ("p.csv", LONG.replace("\n", "\r\n")),
    "an old Mac": ("p.csv", LONG.replace("\n", "\r")),
    "a mark before the text": ("p.csv", b"\xef\xbb\xbf" + LONG.encode()),
    "a mark before JSON": ("p.jsonl", b"\xef\xbb\xbf" + _lines(LISTS).encode()),
    "blank lines first": ("p.csv", "\n\n\n" + LONG),
    "blank lines within": ("p.csv", LONG.replace("\n", "\n\n")),
    "spaces after commas": ("p.csv", LONG.replace(",", ", ")),
    "spaces before commas": ("p.csv", LONG.replace(",", " ,")),
    "spaces and quotes": ("p.csv", LONG.replace(",", ", ").replace("b,", '"b",').replace("class", '"class"')),
    "spaces around numbers": ("p.csv", LONG.replace("0.25", " 0.25 ")),
    "semicolons": ("p.csv", LONG.replace(",", ";")),
    "tabs in a .csv": ("p.csv", LONG.replace(",", "\t")),
    "line ends of two kinds": ("p.csv", LONG.replace("\n", "\r\n", 2)),
    "a header with another end": ("p.csv", LONG.replace("\n", "\r\n", 1)),
    "a line end within a name": ("p.csv", LONG.replace("class", '"class\r\n"')),
    "blank lines with other ends": ("p.csv", "\r\n\n" + LONG),
    "a delimiter too many": ("p.csv", LONG.replace("0.25", "0.25,")),
    "names in capitals": ("p.csv", LONG.replace("case,class,confidence", "Case,CLASS,Confidence")),
    "other names": ("p.csv", LONG.replace("case,class,confidence", "question_id,prediction,prob")),
    "parts of a compressed file": ("p.csv.gz", gzip.compress(LONG[:40].encode()) + gzip.compress(LONG[40:].encode())),
    "numbers as text": ("p.jsonl", _lines([{**r, "confidences": list(map(str, r["confidences"]))} for r in LISTS])),
    "ids as text": ("p.jsonl", _lines([{**record, "case": str(record["case"])} for record in LISTS])),
    "further fields": ("p.jsonl", _lines([{**record, "note": None, "x": {"y": [1, "z"]}} for record in LISTS])),
}


@pytest.mark.parametrize("what", FINE)
def test_this_is_fine(what: str, truth: Path) -> None:
    name, data = FINE[what]
    row = only(_put(truth.parent / name, data), truth, space=4)
    assert (row.cases, row.metrics["mean_length"].value) == (4, 1.0)
    assert row.scores["brier"].mean.value == SCORE


TOLD = {
    "empty": ("p.csv", "", "p.csv: this file is empty: there is not even a header"),
    "Latin-1": ("p.csv", LONG.replace("b,0.25", "é,0.25").encode("latin-1"), "row 2: this is not UTF-8 text"),
    "UTF-16": ("p.csv", LONG.encode("utf-16"), "this is UTF-16 text: save it as UTF-8"),
    "Excel": ("p.csv", b"PK\x03\x04" + bytes(99), "this is a zip file or an Excel workbook"),
    "gzip by another name": ("p.csv", gzip.compress(LONG.encode()), "this is compressed by gzip: add .gz to its name"),
    "no gzip": ("p.csv.gz", LONG, "this is not compressed by gzip"),
    "gzip cut short": ("p.csv.gz", gzip.compress(LONG.encode())[:-9], "the file is cut short"),
    "one line too long": ("p.jsonl", _lines(LISTS) + "x" * 9_000_000, "row 5: this line is (longer than|no JSON)"),
    "no numpy file": ("p.npy", b"nothing", "this is no readable numpy file"),
}


@pytest.mark.parametrize("what", TOLD)
def test_this_is_told_in_a_sentence(what: str, truth: Path) -> None:
    name, data, sentence = TOLD[what]
    with pytest.raises(TopListError, match=sentence) as error:
        only(_put(truth.parent / name, data), truth, space=4)
    assert "\n" not in str(error.value)
    assert f"/{name}" in str(error.value)


def test_a_column_called_as_a_class_that_holds_objects_is_not_left_out_in_silence(tmp_path: Path, truth: Path) -> None:
    """Its class would have no probability in any case."""
    columns = {"case": [1, 2, 3, 4], "a": [0.5] * 4, "b": [0.5] * 4, "c": [{"value": 0.0}] * 4}
    pa.parquet.write_table(pa.table(columns), tmp_path / "p.parquet")
    with pytest.raises(FileError, match="'c' is called as one is, but holds objects"):
        only(tmp_path / "p.parquet", truth, space=["a", "b", "c"])


def test_a_name_of_thousands_of_characters_does_not_fill_the_message(tmp_path: Path, truth: Path) -> None:
    """As where a text stands where its name should."""
    path = _put(tmp_path / "p.csv", f"case,class,{'x' * 3000}\n1,a,0.5\n2,b,0.25\n3,c,0.75\n4,a,0.5\n")
    with pytest.raises(FileError, match="may hold confidences") as refused:
        only(path, truth, space=5)
    assert len(str(refused.value)) < 600 + len(str(path))


def test_compressed_text_that_is_cut_short_is_not_read_as_if_it_were_all(tmp_path: Path) -> None:
    rows = "".join(f"{case},a{case % 7}\n" for case in range(600_000))
    data = pa.compress(f"case,class\n{rows}".encode(), "zstd").to_pybytes()
    _put(tmp_path / "y.csv", f"case,class\n{rows[: rows.index('1000,')]}")
    for cut in (0.7, 0.9):
        path = _put(tmp_path / "p.csv.zst", data[: int(cut * len(data))])
        with pytest.raises(FileError, match=r"p\.csv\.zst: the file is cut short"):
            only(path, tmp_path / "y.csv", space=9, missing="common")


@pytest.mark.parametrize("late", [{"confidences": [0.5]}, {"classes": ["b"], "confidences": [0.25]}])
def test_what_is_seen_late_in_json_counts_as_well(late: dict[str, Any], tmp_path: Path) -> None:
    early = {"classes": [], "confidences": []} if "classes" in late else {"classes": ["a"], "confidences": [1]}
    records = [{"case": case, **early, **(late if case >= 150 else {})} for case in range(200)]
    truth = _put(tmp_path / "y.csv", "case,class\n" + "".join(f"{case},a\n" for case in range(200)))
    row = only(_put(tmp_path / "p.jsonl", _lines(records)), truth, space=4)
    assert (row.cases, row.metrics["mean_mass"].value) == (
        200,
        pytest.approx(sum(sum(r["confidences"]) for r in records) / 200),
    )


def test_text_that_is_not_utf8_is_found_in_typed_files_too(truth: Path) -> None:
    bad = pa.StringArray.from_buffers(4, pa.py_buffer(np.array([0, 1, 2, 3, 4], np.int32)), pa.py_buffer(b"ab\xffd"))
    for columns in ({"case": bad, "class": pa.array(["a"] * 4)}, {"case": pa.array([1, 2, 3, 4]), "class": bad}):
        pa.parquet.write_table(pa.table(columns), truth.parent / "p.parquet")
        with pytest.raises(FileError, match=r"p\.parquet, row 3: this is not UTF-8 text"):
            only(truth.parent / "p.parquet", truth, space=4)


def test_bytes_are_text_as_some_programs_write_it(truth: Path) -> None:
    table = pa.table({"case": [b"4", b"3", b"2", b"1"], "class": [b"a", b"c", b"b", b"a"]})
    pa.parquet.write_table(table, truth.parent / "p.parquet")
    assert only(truth.parent / "p.parquet", truth, space=4).scores["brier"].mean.value == 0


def test_the_most_confident_values_alone_are_no_distribution(tmp_path: Path) -> None:
    truth = _put(tmp_path / "y.csv", "class\n0\n1\n")
    np.save(tmp_path / "p.npy", np.array([[0.5, 0.25], [0.5, 0.25]]))
    with pytest.raises(FileError, match=r"p\.npy: 2 columns without names, but 10 classes"):
        only(tmp_path / "p.npy", truth, space=10)


def test_cases_may_be_grouped_by_what_happened(truth: Path) -> None:
    board = compare({"it": _put(truth.parent / "p.csv", LONG)}, tl.Truth(truth, group="class"), space=4)
    assert {section.group: section.cases for section in board.groups} == {"a": 2, "b": 1, "c": 1}


def test_long_names_are_shortened_in_sentences(truth: Path) -> None:
    path = _put(
        truth.parent / "p.csv", LONG.replace("a,0.5", "b" * 9000 + ",0.5").replace("b,0.25", "b" * 9000 + ",0.25")
    )
    with pytest.raises(FileError, match="is listed twice") as error:
        only(path, truth, space=4)
    assert len(error.value.problem) < 200
