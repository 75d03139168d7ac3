"""JSON lines: every field of every line counts, or the line that differs is named."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.io.boards import only
from toplist.errors import FileError
from toplist.io.opening import open_path
from toplist.io.readers.json_lines import json_value

N, LATE = 300, 150  # cases, and the first one that differs


def _saved(path: Path, records: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


def _truth(folder: Path, outcome: str = "fox") -> Path:
    path = folder / "y.csv"
    path.write_text("case,class\n" + "".join(f"{case},{outcome}\n" for case in range(N)))
    return path


def _made(folder: Path, early: dict[str, Any], late: dict[str, Any]) -> Path:
    return _saved(folder / "p.jsonl", [{"case": i, **(early if i < LATE else late)} for i in range(N)])


def _brier(p: dict[str, float], y: str, m: int) -> float:
    share = (1 - sum(p.values())) / (m - len(p))
    squares = sum(t * t for t in p.values()) + (m - len(p)) * share**2
    return squares - 2 * p.get(y, share) + 1


WIDE = ({"cat": 0.5, "dog": 0.25}, {"cat": 0.25, "fox": 0.5})
RANKED = (
    {"class_1": "cat", "p_1": 0.5},
    {"class_1": "cat", "p_1": 0.5, "class_2": "fox", "p_2": 0.25},
)


@pytest.mark.parametrize(
    ("early", "late", "first", "second"),
    [(*WIDE, *WIDE), (*RANKED, {"cat": 0.5}, {"cat": 0.5, "fox": 0.25})],
    ids=["wide", "ranked"],
)
def test_a_field_that_comes_late_counts(
    early: dict[str, Any], late: dict[str, Any], first: dict[str, float], second: dict[str, float], tmp_path: Path
) -> None:
    row = only(_made(tmp_path, early, late), _truth(tmp_path), space=4)
    expected = (_brier(first, "fox", 4) + _brier(second, "fox", 4)) / 2
    assert row.scores["brier"].mean.value == pytest.approx(expected, rel=1e-14)
    assert row.metrics["mean_length"].value == (len(first) + len(second)) / 2


RENAMED = {
    "long": ({"class": "cat", "confidence": 0.5}, {"label": "cat", "prob": 0.5}, "row 151.*no field 'class'; it has"),
    "the confidence": ({"class": "cat", "p": 0.5}, {"class": "cat", "prob": 0.5}, "row 1: there is no field 'prob'"),
    "labels": ({"class": "cat"}, {"Class": "cat"}, "row 151: there is no field 'class'; it has 'case', 'Class'"),
    "lists": (
        {"classes": ["cat"], "confidences": [0.5]},
        {"labels": ["cat"], "scores": [0.5]},
        "row 151: there is no field 'classes'",
    ),
    "ranked": (RANKED[1], {"label_1": "cat", "p_1": 0.5}, "row 151: there is no field 'class_1'"),
}


@pytest.mark.parametrize("what", RENAMED)
def test_a_line_that_calls_its_fields_otherwise_is_named(what: str, tmp_path: Path) -> None:
    early, late, sentence = RENAMED[what]
    twice = r".* (may all hold (classes|confidences|the labels)|are numbered, and only one kind)"
    with pytest.raises(FileError, match=rf"p\.jsonl(, {sentence}|: {twice})"):
        only(_made(tmp_path, early, late), _truth(tmp_path), space=4)


def test_a_line_that_calls_its_id_otherwise_is_named(tmp_path: Path) -> None:
    records = [{"case" if i < LATE else "id": i, "cat": 0.5, "dog": 0.25} for i in range(N)]
    with pytest.raises(FileError, match=r"p\.jsonl: 'cat', 'dog' seem to be classes, .*'id' is not clearly so"):
        only(_saved(tmp_path / "p.jsonl", records), _truth(tmp_path), space=4)


def test_a_null_that_is_written_is_an_empty_list(tmp_path: Path) -> None:
    late = {"class": None, "confidence": None}
    row = only(_made(tmp_path, {"class": "cat", "confidence": 0.5}, late), _truth(tmp_path), space=4)
    assert (row.cases, row.metrics["mean_length"].value) == (N, 0.5)


ODD = {
    "true": (True, "row 151: 'confidence' is true or false, but a number elsewhere"),
    "text": ("0.5", "row 151: 'confidence' is text, but a number elsewhere"),
    "a list": ([0.5], "row 151: 'confidence' is a list, but a number elsewhere"),
    "negative": (-0.5, "row 151: case 150: the confidence of class 'cat' is negative"),
    "above one": (1.5, "row 151: case 150: the confidence of class 'cat' is 1.5"),
}


@pytest.mark.parametrize("what", ODD)
def test_a_confidence_that_is_none_is_found_however_late_it_comes(what: str, tmp_path: Path) -> None:
    value, sentence = ODD[what]
    made = _made(tmp_path, {"class": "cat", "confidence": 0.5}, {"class": "cat", "confidence": value})
    with pytest.raises(FileError, match=rf"p\.jsonl, {sentence}"):
        only(made, _truth(tmp_path), space=4)


@pytest.mark.parametrize("other", ["0150", 150.5, 2**63, True, None])
def test_ids_of_two_kinds_are_refused(other: Any, tmp_path: Path) -> None:
    records = [{"case": i if i != LATE else other, "class": "cat", "confidence": 0.5} for i in range(N)]
    with pytest.raises(FileError, match=r"p\.jsonl, row 151: "):
        only(_saved(tmp_path / "p.jsonl", records), _truth(tmp_path), space=4)


def test_a_field_that_nobody_needs_may_hold_anything(tmp_path: Path) -> None:
    zoo = [1, "a", 0.5, None, True, [1, "b"], {"x": 1}, [], [{"y": None}], "2020-01-01"]
    records = [{"case": i, "class": "fox", "confidence": 0.5, "note": zoo[i % len(zoo)]} for i in range(N)]
    assert only(_saved(tmp_path / "p.jsonl", records), _truth(tmp_path), space=4).cases == N


@pytest.mark.parametrize("record", [{"case": 1}, {"case": 1, "note": "x"}])
def test_two_objects_in_a_line_are_no_line(record: dict[str, Any], tmp_path: Path) -> None:
    path = _made(tmp_path, {"class": "cat", "confidence": 0.5}, {"class": "cat", "confidence": 0.5})
    lines = path.read_text().splitlines(keepends=True)
    lines[200] = lines[200].strip() + json.dumps(record) + "\n"
    path.write_text("".join(lines))
    with pytest.raises(FileError, match=r"p\.jsonl, row 201: this line is no JSON object"):
        only(path, _truth(tmp_path), space=4)


@pytest.mark.parametrize(
    "more", [{"\ud800": 1}, {"note": {"\ud800": 1}}, {"note": "\ud800"}], ids=["key", "inside", "value"]
)
def test_half_a_character_is_named_with_its_line(more: dict[str, Any], tmp_path: Path) -> None:
    early = {"class": "cat", "confidence": 0.5}
    with pytest.raises(FileError, match=r"p\.jsonl, row 151: .*(surrogate|half a character)"):
        only(_made(tmp_path, early, early | more), _truth(tmp_path), space=4)


def test_objects_that_end_in_another_line_are_no_lines(tmp_path: Path) -> None:
    path = _made(tmp_path, {"class": "cat", "confidence": 0.5}, {"class": "cat", "confidence": 0.5})
    lines = path.read_text().splitlines()
    lines[200] = lines[200].replace(', "confidence"', '\n, "confidence"') + lines.pop(201)
    path.write_text("\n".join(lines))
    with pytest.raises(FileError, match=r"p\.jsonl, row 201: this line is no JSON object"):
        only(path, _truth(tmp_path), space=4)


def test_the_schema_tells_of_objects_and_of_dates_that_are_text(tmp_path: Path) -> None:
    late = {"when": "2020-01-01", "results": [{"label": "cat", "score": 1, "more": {"x": 1}}], "none": None}
    early = {"when": "2020-01-01", "results": [{"label": "cat", "score": 0.5}], "none": None}
    kinds = {field.name: str(field.type) for field in open_path(_made(tmp_path, early, late)).schema}
    assert kinds == {
        "case": "int64",
        "when": "string",
        "results": "list<item: struct<label: string, score: double, more: struct<x: int64>>>",
        "none": "null",
    }


def test_lines_are_the_same_however_many_blocks_they_fill(tmp_path: Path) -> None:
    pad = "x" * 40_000  # twelve megabytes
    path = _made(tmp_path, {"class": "cat", "p": 1, "note": pad}, {"class": "fox", "p": 0.5, "new": 1, "note": pad})
    reader = open_path(path)
    assert (reader.schema.field("p").type, reader.rows) == ("double", N)
    assert reader.schema.names == ["case", "class", "p", "note", "new"]
    row = only(path, _truth(tmp_path), space=4)
    assert row.scores["brier"].mean.value == pytest.approx((2 + _brier({"fox": 0.5}, "fox", 4)) / 2, rel=1e-14)


@pytest.mark.parametrize("width", [20, 400], ids=["few", "many"])
def test_wide_lines_with_many_classes_are_read_as_those_with_few(width: int, tmp_path: Path) -> None:
    """Beyond 256 fields their names are gathered line by line; classes are in the order of the fields."""
    names = [f"k{i}" for i in range(width)]
    lists = [{names[(i * 7 + j) % width]: 2.0 ** -(j + 1) for j in range(i % 4)} for i in range(N)]
    lists[0] = dict.fromkeys(names, 1 / width)
    path = _saved(tmp_path / "p.jsonl", [{"case": i, **one} for i, one in enumerate(lists)])
    row = only(path, _truth(tmp_path, "k7"), space=width)
    assert row.metrics["mean_length"].value == sum(map(len, lists)) / N
    expected = [_brier(one, "k7", width) for one in lists[1:]] + [1 - 1 / width]
    assert row.scores["brier"].unpenalised == pytest.approx(sum(expected) / N, rel=1e-12)


def test_a_value_that_is_no_number_is_named_among_many_classes(tmp_path: Path) -> None:
    early, late = {f"k{i}": 0.001 for i in range(400)}, {"k399": "0.5"}
    with pytest.raises(FileError, match=r"p\.jsonl, row 151: 'k399' is text, but a number elsewhere"):
        only(_made(tmp_path, early, late), _truth(tmp_path), space=500)


@st.composite
def written(draw: Any) -> str:
    """JSON with fields that are there twice, colons in texts, escapes, numbers and damages of all kinds."""
    text = draw(st.sampled_from([
        '{"a": 1, "b": {"c": [1.5, "x:y", {"d": null, "e": "\\u003a"}]}, "a:": "\\ud83d\\ude00"}',
        '[{"a": 1, "a": 2}, NaN]', '{"k" : 1, "k":2, "z" :3}', '{"\\u003a": 1e400, "a": 2, "a": 3}',
        '{"\\u0061":1,"a":-0.0}',
    ]))  # fmt: skip
    for _ in range(draw(st.integers(0, 3))):
        at, length = draw(st.integers(0, len(text))), draw(st.integers(0, 8))
        text = (
            text[:at]
            + draw(st.sampled_from(['"', ":", "\\", "{", "}", ",", "1", "e", text[at : at + length]]))
            + text[at:]
        )
    return text


@given(written())
def test_a_text_is_read_as_json_reads_it_with_every_field_once(text: str) -> None:
    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        assert len(dict(pairs)) == len(pairs)
        return dict(pairs)

    try:
        expected = repr(json.loads(text, object_pairs_hook=unique))
    except (ValueError, AssertionError) as error:
        with pytest.raises(ValueError, match="twice" if isinstance(error, AssertionError) else None):
            json_value(text)
    else:
        assert repr(json_value(text)) == repr(json_value(text.encode())) == expected
