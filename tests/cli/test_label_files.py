"""Files of labels: lines, tables with and without a header, and what models write down about their classes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

for library in ("pyarrow", "duckdb", "typer", "rich"):
    pytest.importorskip(library, reason="the command and its files are extras")

from tests.cli.messages import said  # noqa: E402
from toplist.cli.options import read_labels, space_of  # noqa: E402
from toplist.errors import FileError  # noqa: E402

ANIMALS = ["cat", "dog", "fox", "hen", "owl"]
LINES = "\n".join(ANIMALS)
READ = {
    "lines": ("c.txt", LINES),
    "lines that end in CR and LF": ("c.txt", LINES.replace("\n", "\r\n")),
    "a column without a header": ("c.csv", LINES),
    "a column with a header": ("c.csv", f"class\n{LINES}\n"),
    "a header in capitals": ("c.csv", f"Label\n{LINES}\n"),
    "a column of tabs": ("c.tsv", f"name\n{LINES}\n"),
    "a table in the order of its codes": ("c.csv", "id,name\n" + "\n".join(f"{i},{a}" for i, a in enumerate(ANIMALS))),
    "a table in another order": ("c.csv", "code,label\n4,owl\n0,cat\n2,fox\n1,dog\n3,hen\n"),
    "a table with further columns": ("c.csv", "label,colour\ncat,1\ndog,2\nfox,3\nhen,4\nowl,5\n"),
    "a list": ("c.json", json.dumps(ANIMALS)),
    "a label for each code": ("c.json", json.dumps({str(i): a for i, a in enumerate(ANIMALS)})),
    "codes in another order": ("c.json", json.dumps({str(i): ANIMALS[i] for i in (4, 1, 0, 3, 2)})),
    "a code for each label": ("c.json", json.dumps({a: i for i, a in enumerate(ANIMALS)})),
    "the configuration of a model": (
        "config.json",
        json.dumps({"model_type": "bert", "id2label": {str(i): a for i, a in enumerate(ANIMALS)}, "num_labels": 5}),
    ),
    "a configuration without id2label": (
        "config.json",
        json.dumps({"model_type": "bert", "label2id": {a: i for i, a in enumerate(ANIMALS)}}),
    ),
}


@pytest.mark.parametrize("kind", READ)
def test_every_shape_gives_the_labels_in_the_order_of_their_codes(kind: str, tmp_path: Path) -> None:
    name, text = READ[kind]
    (tmp_path / name).write_text(text, newline="")
    assert read_labels(tmp_path / name) == ANIMALS


def test_ids_of_more_than_one_digit_are_ordered_as_numbers(tmp_path: Path) -> None:
    (tmp_path / "c.json").write_text(json.dumps({"id2label": {str(i): f"c{i}" for i in reversed(range(12))}}))
    assert read_labels(tmp_path / "c.json") == [f"c{i}" for i in range(12)]


def test_a_header_is_said_not_to_be_a_class(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "c.csv"
    path.write_text(f"class\n{LINES}\n")
    assert len(space_of(str(path), None)[0]) == 5
    assert f"labels: 5 from the column class of {path}" in capsys.readouterr().err


def test_a_table_of_labels_scores_as_the_list_of_them(tmp_path: Path) -> None:
    (tmp_path / "c.csv").write_text(f"class\n{LINES}\n")
    (tmp_path / "p.csv").write_text("case,class,confidence\n1,cat,0.6\n1,dog,0.2\n2,owl,0.5\n")
    (tmp_path / "y.csv").write_text("case,outcome\n1,cat\n2,hen\n")
    words = ("score", tmp_path / "p.csv", "-t", tmp_path / "y.csv", "-c")
    code, text = said(*words, tmp_path / "c.csv", "-q")
    assert code == 0
    assert text.splitlines()[-1] == said(*words, "5", "-q")[1].splitlines()[-1]


def test_a_column_may_be_named(tmp_path: Path) -> None:
    path = tmp_path / "c.csv"
    path.write_text("label,name\nl1,cat\nl2,dog\n")
    with pytest.raises(FileError, match=r"which column are the labels\? The columns are 'label', 'name'"):
        read_labels(path)
    assert space_of(f"{path}:name", None)[0] == ["cat", "dog"]
    with pytest.raises(FileError, match=r"there is no column 'nam'\. Did you mean 'name'\?"):
        space_of(f"{path}:nam", None)


BAD = {
    "no name that is known": ("c.csv", "a,b\n1,2\n", r"which column are the labels\?.*--classes .*c\.csv:b"),
    "a label with a comma": ("c.csv", "cat\ndog, small\n", "row 2: 2 fields, but 1 in the first line. Quote labels"),
    "codes that are no codes": ("c.csv", "id,name\n1,cat\n2,dog\n", "the column 'id' is not 0 to 1"),
    "a gap in the codes": ("c.json", '{"0": "cat", "2": "dog"}', "none for the code 1"),
    "the wrong number": ("c.json", '{"id2label": {"0": "cat"}, "num_labels": 2}', "num_labels is 2, but there are 1"),
    "something else": ("c.json", '{"model": "bert"}', "one for each code"),
    "a number": ("c.json", "7", "labels are a JSON list"),
    "latin-1": ("c.txt", "caf\xe9\n", "not UTF-8 text. Save it as UTF-8, for example with: iconv -f latin1 -t utf8"),
    "a label twice": ("c.csv", "class\ncat\ncat\n", "'cat' is there twice"),
    "nothing": ("c.csv", "\n", "no labels in this file"),
}


@pytest.mark.parametrize("kind", BAD)
def test_what_is_no_file_of_labels_is_refused(kind: str, tmp_path: Path) -> None:
    name, text, problem = BAD[kind]
    (tmp_path / name).write_bytes(text.encode("latin-1"))
    with pytest.raises(FileError, match=problem):
        read_labels(tmp_path / name)


def test_a_first_line_that_may_be_a_header_of_a_plain_list_is_refused(tmp_path: Path) -> None:
    (tmp_path / "c.txt").write_text("label\ncat\ndog\nfox\n")
    with pytest.raises(FileError, match="may be a header or a class"):
        read_labels(tmp_path / "c.txt")
    (tmp_path / "c.txt").write_text("cat\nlabel\ndog\n")
    assert read_labels(tmp_path / "c.txt") == ["cat", "label", "dog"]
