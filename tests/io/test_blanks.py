"""What lacks its class or its confidence is an error, unless one asks for it to be left out; then it is counted."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

for library in ("pyarrow", "duckdb"):
    pytest.importorskip(library, reason="files are an extra")

import toplist as tl  # noqa: E402
from toplist.errors import FileError, TopListError  # noqa: E402
from toplist.evaluation.compare import compare  # noqa: E402

Pairs = list[tuple[Any, Any]]
CASES: dict[str, Pairs] = {"1": [("a", 0.5), ("b", 0.25)], "2": [("b", 0.75)], "3": [], "4": [("c", 0.5)]}
HALVES: dict[str, Pairs] = {"1": [("c", None)], "2": [], "3": [(None, 0.25)], "4": [("a", None), (None, 0.125)]}
Y = "case,outcome\n1,a\n2,b\n3,c\n4,c\n"


def pairs_of(case: str, halves: bool) -> Pairs:
    return [*CASES[case], *HALVES[case]] if halves else CASES[case]


def lists(order: str, *, halves: bool) -> str:
    rows = []
    for case in order:
        pairs = pairs_of(case, halves)
        rows.append({"case": case, "classes": [c for c, _ in pairs], "confidences": [t for _, t in pairs]})
    return "".join(f"{json.dumps(row)}\n" for row in rows)


def long(order: str, *, halves: bool) -> str:
    out = "case,class,confidence\n"
    for case in order:
        pairs = pairs_of(case, halves) or [("", "")]
        out += "".join(f"{case},{c or ''},{'' if t is None else t}\n" for c, t in pairs)
    return out


def ranked(order: str, *, halves: bool) -> str:
    out = "case,class_1,p_1,class_2,p_2,class_3,p_3\n"
    for case in order:
        pairs = pairs_of(case, halves)
        cells = [f"{c or ''},{'' if t is None else t}" for c, t in pairs]
        out += ",".join([case, *cells, *[","] * (3 - len(cells))]) + "\n"
    return out


LAYOUTS = {"lists.jsonl": lists, "long.csv": long, "ranked.csv": ranked}


@pytest.fixture
def truth(tmp_path: Path) -> Path:
    path = tmp_path / "y.csv"
    path.write_text(Y)
    return path


@pytest.mark.parametrize("order", ["1234", "3142"], ids=["in step", "joined"])
@pytest.mark.parametrize("name", LAYOUTS)
def test_dropping_is_scoring_what_is_left_and_counting_it(name: str, order: str, truth: Path, tmp_path: Path) -> None:
    whole, path = tmp_path / f"whole-{name}", tmp_path / name
    whole.write_text(LAYOUTS[name](order, halves=False))
    path.write_text(LAYOUTS[name](order, halves=True))
    with pytest.raises(FileError, match=r"blank|null|but"):
        compare({"it": path}, truth, space=5)
    board = compare({"it": tl.Source(path, blanks="drop"), "whole": whole}, truth, space=5)
    assert board["it"].scores["brier"].mean == board["whole"].scores["brier"].mean
    assert board["it"].metrics["mean_length"].value == board["whole"].metrics["mean_length"].value == 1.0
    repairs = {origin.name: dict(origin.repairs) for origin in board.comparison.sources}
    assert repairs == {"it": {"blanks left out": 3}, "whole": {}}


def test_blanks_are_about_files(truth: Path, tmp_path: Path) -> None:
    with pytest.raises(TopListError, match="blanks are about files and frames"):
        compare({"it": [{"a": 0.5}]}, ["a"], space=5, read=tl.ReadOptions(blanks="drop"))
    with pytest.raises(TopListError, match="blanks is 'error' or 'drop', not 'sum'"):
        compare({"it": tmp_path / "long.csv"}, truth, space=5, read=tl.ReadOptions(blanks="sum"))  # type: ignore[arg-type]


def test_a_frame_leaves_blanks_out_when_told_and_counts_them(tmp_path: Path) -> None:
    (tmp_path / "people.csv").write_text("class1,percent1,class2,percent2\na,60,b,\nb,70,a,20\n")
    with pytest.raises(FileError, match=r"the confidence is blank. Fill it in, or pass blanks='drop'"):
        tl.read_lists(tmp_path / "people.csv", 3, scale="percent")
    lists = tl.read_lists(tmp_path / "people.csv", 3, scale="percent", blanks="drop")
    assert lists.sizes.tolist() == [1, 2]
    assert lists.repairs["blanks left out"] == 1
