"""`toplist check`: every issue of a file is counted, and nothing that can be counted stops it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

for library in ("pyarrow", "duckdb", "typer", "rich"):
    pytest.importorskip(library, reason="the command and its files are extras")

from tests.cli.messages import said  # noqa: E402

RANKED = """case,class1,percent1,class2,percent2
a,cat,95,dog,10
b,cat,20,dog,40
c,cat,60,cat,10
d,cat,60,dog,
e,cat,60,,30
f,cat,5,,
g,cat,90,,
"""


@pytest.fixture
def ranked(tmp_path: Path) -> Path:
    path = tmp_path / "people.csv"
    path.write_text(RANKED)
    return path


def checked(*words: object) -> tuple[int, dict[str, Any]]:
    code, text = said("check", *words, "--json")
    return code, json.loads(text)


def kinds(found: dict[str, Any]) -> dict[str, int]:
    return {one["kind"]: one["cases"] for one in found["issues"]}


def test_every_kind_is_counted_and_none_stops_the_others(ranked: Path) -> None:
    code, found = checked(ranked, "--scale", "percent", "--classes", "10")
    assert code == 1
    assert found["cases"] == 7
    assert kinds(found) == {
        "mass above one": 1,
        "class twice": 1,
        "class without a confidence": 1,
        "confidence without a class": 1,
        "invalid": 1,
        "not in falling order": 1,
    }
    firsts = {one["kind"]: one["first"] for one in found["issues"]}
    assert firsts["class without a confidence"] == "d"
    assert [one["blocking"] for one in found["issues"]] == [True] * 4 + [False] * 2
    said = {one["kind"]: one["example"] for one in found["issues"]}
    assert said["class without a confidence"].endswith("people.csv, row 4: the confidence is blank.")
    assert said["confidence without a class"].endswith("people.csv, row 5: the class is blank.")


def test_words_are_those_of_the_command(ranked: Path) -> None:
    code, text = said("check", ranked, "--scale", "percent", "--classes", "10", "-q")
    assert code == 1
    first, *others = text.splitlines()
    assert first.startswith("4 problems in ")
    assert [line[1] for line in others[:6]] == ["!"] * 4 + ["-"] * 2
    assert any(line.startswith(" - not in falling order: 1 of 7 cases lists") for line in others)
    (twice,) = [line for line in others if line.startswith(" ! class twice, 1 case: ")]
    assert "--duplicates sum" in twice


def test_an_issue_that_can_be_scored_is_no_problem(tmp_path: Path) -> None:
    path = tmp_path / "odd.csv"
    path.write_text("case,class1,p1,class2,p2\n1,a,0.2,b,0.5\n2,,,,\n3,a,0.01,b,0.01\n")
    code, found = checked(path, "--classes", "4")
    assert code == 0
    assert not found["blocking"]
    assert kinds(found) == {"invalid": 1, "empty list": 1, "not in falling order": 1}
    assert said("check", path, "--classes", "4", "-q")[1].startswith("OK ")


def test_repairs_that_are_asked_for_do_not_block(tmp_path: Path) -> None:
    path = tmp_path / "repaired.csv"
    path.write_text("case,class1,p1,class2,p2\n1,a,0.7,b,0.5\n2,a,0.3,a,0.2\n")
    assert checked(path, "--classes", "4")[0] == 1
    code, found = checked(path, "--classes", "4", "--normalize", "--duplicates", "sum")
    assert code == 0
    assert {one["kind"]: one["blocking"] for one in found["issues"]} == {"mass above one": False, "class twice": False}


def test_classes_that_are_not_labels_are_counted(tmp_path: Path) -> None:
    (tmp_path / "labels.txt").write_text("cat\ndog\n")
    path = tmp_path / "a.csv"
    path.write_text("case,class,confidence\n1,cat,0.6\n1,dgo,0.2\n2,fox,0.5\n3,dog,0.7\n")
    code, found = checked(path, "--classes", tmp_path / "labels.txt")
    assert code == 1
    assert kinds(found)["class outside the space"] == 2
    (problem,) = [one for one in found["issues"] if one["example"]]
    assert problem["cases"] == 2
    assert "'dgo' is not among the 2 labels" in problem["example"]
    assert "dog" in problem["example"]


def test_more_names_than_classes_is_said_and_the_rest_still_looked_at(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("case,class,confidence\n1,a,0.6\n2,b,0.5\n3,c,1.7\n")
    code, found = checked(path, "--classes", "2")
    assert code == 1
    assert found["cases"] == 3
    assert "3 different classes have been named" in found["issues"][0]["example"]
    assert kinds(found)["above one"] == 1
    assert "more names than classes" in kinds(found)


@pytest.mark.parametrize("confidences", [[0.5, None], [0.5]], ids=["a null", "too few"])
def test_lists_that_do_not_match_are_counted(confidences: list[float | None], tmp_path: Path) -> None:
    path = tmp_path / "lists.jsonl"
    bad = {"case": 1, "classes": ["a", "b"], "confidences": confidences}
    good = {"case": 2, "classes": ["a"], "confidences": [0.4]}
    path.write_text(f"{json.dumps(bad)}\n{json.dumps(good)}\n")
    code, found = checked(path, "--classes", "9")
    assert code == 1
    assert kinds(found) == {"class without a confidence": 1}
    assert found["scorable"]["list_sizes"] == {"1": 1}
    assert "row 1: the confidence is blank" in found["issues"][0]["example"]


def test_a_long_table_names_the_row_that_is_blank(tmp_path: Path) -> None:
    path = tmp_path / "long.csv"
    path.write_text("case,class,confidence\n1,a,0.5\n1,b,\n1,c,\n2,,0.4\n3,a,0.2\n")
    code, found = checked(path, "--classes", "9")
    assert code == 1
    assert kinds(found)["class without a confidence"] == 1
    assert [one["example"].rpartition(", ")[2] for one in found["issues"] if one["example"]] == [
        "row 2: the confidence is blank.",
        "row 4: the class is blank.",
    ]


def test_a_case_that_is_there_twice_is_counted(tmp_path: Path) -> None:
    path = tmp_path / "twice.csv"
    path.write_text("case,class\n1,a\n2,b\n1,a\n")
    code, found = checked(path, "--classes", "9")
    assert code == 1
    assert kinds(found)["case twice"] == 1
    assert "case '1' is there twice" in found["issues"][0]["example"]


def test_marks_are_named_by_their_number_whatever_the_units(tmp_path: Path) -> None:
    path = tmp_path / "marks.csv"
    rows = "".join(f"{i},a,{60 + i / 7:.3f},b,-9999\n" for i in range(5))
    path.write_text(f"case,class1,percent1,class2,percent2\n{rows}")
    _, found = checked(path, "--classes", "9", "--scale", "percent")
    (mark,) = [one for one in found["issues"] if one["kind"] == "sentinel"]
    assert "-9999 occurs 5 times" in mark["message"]


def test_blanks_that_are_dropped_are_an_issue_and_no_problem(tmp_path: Path) -> None:
    path = tmp_path / "blank.csv"
    path.write_text("case,class1,p1,class2,p2\n1,a,0.7,b,\n2,a,0.5,b,0.2\n")
    assert "pass --blanks drop" in checked(path, "--classes", "4")[1]["issues"][0]["message"]
    code, found = checked(path, "--classes", "4", "--blanks", "drop")
    assert code == 0
    assert {one["kind"]: one["blocking"] for one in found["issues"]} == {"class without a confidence": False}
    assert found["scorable"]["list_sizes"] == {"1": 1, "2": 1}


def test_what_cannot_be_read_is_an_issue_beside_what_was_counted_before_it(tmp_path: Path) -> None:
    path = tmp_path / "broken.jsonl"
    path.write_text('{"case": 1, "classes": ["a", "b"], "confidences": [0.7, 0.6]}\n{"case": 2, "classes": 5}\n')
    code, found = checked(path, "--classes", "9")
    assert code == 1
    assert found["blocking"]
    assert "unreadable" in kinds(found)
    assert "broken.jsonl" in found["reason"]
