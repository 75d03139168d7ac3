"""Files in folders, under patterns, in parts and with odd names; and tables that are not files."""

from __future__ import annotations

import os
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import polars as pl
import pytest

from tests.io.boards import hard_truth, only
from tests.io.files import LAYOUTS, as_table, save
from tests.io.strategies import Drawn, brier, chance, draw
from toplist.errors import FileError, TopListError
from toplist.evaluation.compare import compare


def _parts(drawn: Drawn, layout: str, suffix: str, folder: Path, cuts: list[int]) -> Path:
    folder.mkdir()
    ends = [0, *cuts, len(drawn.ids)]
    for at, (lo, hi) in enumerate(pairwise(ends)):
        part = drawn.take(list(range(lo, hi)))
        save(LAYOUTS[layout](part, chance(at)), folder / f"part-{at:02d}{suffix}")
    return folder


PARTS = (
    *(("lists", suffix) for suffix in (".parquet", ".jsonl.gz", ".feather")),
    *(("long", suffix) for suffix in (".csv", ".csv.zst")),
    *(("scattered", ".parquet"), ("wide", ".csv"), ("ranked", ".tsv"), ("labels", ".jsonl")),
)


@pytest.mark.parametrize(("layout", "suffix"), PARTS)
@pytest.mark.parametrize("shuffle", [False, True], ids=["in order", "shuffled"])
def test_a_folder_or_a_pattern_of_parts_is_one_file(layout: str, suffix: str, shuffle: bool, tmp_path: Path) -> None:
    kind = "hard" if layout == "labels" else "ragged"
    drawn = draw(21, kind=kind)
    truth = hard_truth(drawn, tmp_path / "y.csv")
    folder = _parts(drawn.shuffled(3) if shuffle else drawn, layout, suffix, tmp_path / "parts", [7, 8, 30])
    (folder / "_SUCCESS").touch()
    (folder / ".hidden.csv").write_text("no")
    (folder / "README.md").write_text("no")
    board = compare({"folder": folder, "pattern": str(folder / "part-*")}, truth, space=drawn.m)
    for row in board:
        assert row.cases == len(drawn.ids)
        assert row.scores["brier"].mean.value == pytest.approx(float(sum(brier(drawn)) / len(drawn.ids)), rel=1e-14)


def test_a_case_may_go_on_in_the_next_file(tmp_path: Path) -> None:
    drawn = draw(22, kind="top")
    rows = LAYOUTS["long"](drawn, chance(0))
    (tmp_path / "parts").mkdir()
    for at, lo in enumerate(range(0, len(rows), 20)):
        save(rows[lo : lo + 20], tmp_path / "parts" / f"{at}.csv")
    row = only(tmp_path / "parts", hard_truth(drawn, tmp_path / "y.csv"), space=drawn.m)
    assert (row.cases, row.metrics["mean_length"].value) == (len(drawn.ids), 3)
    assert row.scores["brier"].mean.value == pytest.approx(float(sum(brier(drawn)) / len(drawn.ids)), rel=1e-14)


@pytest.mark.parametrize("shuffle", [False, True], ids=["in order", "shuffled"])
def test_an_error_names_the_part_and_its_row(shuffle: bool, tmp_path: Path) -> None:
    drawn = draw(23, kind="top")
    order = drawn.shuffled(1) if shuffle else drawn
    folder = _parts(order, "long", ".csv", tmp_path / "parts", [10, 20, 30])
    path = folder / "part-02.csv"
    lines = path.read_text().splitlines()
    lines[5] = lines[5].rpartition(",")[0] + ",perhaps"
    path.write_text("\n".join(lines))
    with pytest.raises(FileError, match=r"part-02.csv, row 5: 'perhaps' in 'confidence' is no number"):
        only(folder, hard_truth(drawn, tmp_path / "y.csv"), space=drawn.m)


def test_parts_may_differ_in_types_that_mean_the_same(tmp_path: Path) -> None:
    drawn = draw(24, kind="ragged")
    folder = _parts(drawn, "lists", ".jsonl", tmp_path / "parts", [1, 20])  # the first part has an empty list alone
    assert only(folder, hard_truth(drawn, tmp_path / "y.csv"), space=drawn.m).cases == 40


@pytest.mark.parametrize("suffix", [".jsonl", ".parquet", ".feather"])
def test_ids_that_are_numbers_in_one_part_and_text_in_another_are_refused(suffix: str, tmp_path: Path) -> None:
    drawn = draw(24, kind="ragged")
    folder = _parts(drawn, "lists", suffix, tmp_path / "parts", [1, 20])
    text = replace(drawn.take(list(range(20, 40))), ids=[f"0{one}" for one in drawn.ids[20:]])
    save(LAYOUTS["lists"](text, chance(0)), folder / f"part-02{suffix}")
    with pytest.raises(FileError, match=r"part-02\..*'case' (is|holds) text, but (a )?number"):
        only(folder, hard_truth(drawn, tmp_path / "y.csv"), space=drawn.m)


def test_parts_that_name_classes_in_two_ways_are_refused(tmp_path: Path) -> None:
    folder = _parts(draw(25, 10, names="codes"), "lists", ".parquet", tmp_path / "parts", [])
    save(LAYOUTS["lists"](draw(25, 10), chance(0)), folder / "part-01.parquet")
    with pytest.raises(
        FileError, match=r"part-01.parquet: the column 'classes' holds lists of text, but lists of numbers in"
    ):
        only(folder, hard_truth(draw(25, 10, names="codes"), tmp_path / "y.parquet"), space=6)


@pytest.mark.parametrize(
    "name",
    [
        "a b.csv",
        "a'b.csv",
        'a"b.csv',
        "[1].csv",
        "a*.csv",
        "a?.csv",
        "{a,b}.csv",
        "é🐦.csv",
        "a\nb.csv",
        "~.csv",
        "-.csv",
    ],
)
def test_any_name_that_a_file_can_have_is_fine(name: str, tmp_path: Path) -> None:
    drawn = draw(26, 5)
    path = save(LAYOUTS["long"](drawn, chance(0)), tmp_path / name)
    assert only(path, hard_truth(drawn, tmp_path / "y.csv"), space=drawn.m).cases == 5


@pytest.mark.parametrize("folder", ["~", "case=9", "class=x"])
def test_names_of_folders_mean_nothing(folder: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    drawn = draw(27, 5)
    (tmp_path / folder).mkdir()
    monkeypatch.chdir(tmp_path)
    for suffix in (".csv", ".jsonl"):
        path = save(LAYOUTS["long"](drawn, chance(0)), Path(folder) / f"p{suffix}")
        assert only(str(path), hard_truth(drawn, tmp_path / "y.csv"), space=drawn.m).cases == 5


def test_classes_whose_names_differ_in_case_alone_are_two(tmp_path: Path) -> None:
    drawn = draw(28, kind="full", m=9)
    assert {"ant", "ANT"} <= set(drawn.classes)
    path = save(LAYOUTS["wide"](drawn, chance(0)), tmp_path / "wide.csv")
    row = only(path, hard_truth(drawn, tmp_path / "y.csv"), space=drawn.m)
    assert row.scores["brier"].mean.value == pytest.approx(float(sum(brier(drawn)) / len(drawn.ids)), rel=1e-14)


def test_thousands_of_columns_are_fine(tmp_path: Path) -> None:
    names = [f"class {i}" for i in range(3000)]
    (tmp_path / "y.csv").write_text("case,class\n1,class 0\n2,class 2999\n")
    rows = [["1", "1", *["0"] * 2999], ["2", *["0"] * 2999, "1"]]
    (tmp_path / "wide.csv").write_text("\n".join(",".join(row) for row in [["case", *names], *rows]))
    assert only(tmp_path / "wide.csv", tmp_path / "y.csv", space=3000).scores["brier"].mean.value == 0


def test_what_is_no_file_is_called_so(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.csv")
    (tmp_path / "empty").mkdir()
    (tmp_path / "mixed").mkdir()
    (tmp_path / "mixed" / "a.csv").touch()
    (tmp_path / "mixed" / "b.jsonl").touch()
    (tmp_path / "sheet.xlsx").touch()
    truth = hard_truth(draw(30, 5), tmp_path / "y.csv")
    for name, problem in (
        ("pipe.csv", "this is not a file"),
        ("empty", "there is no file in this folder that toplist reads"),
        ("mixed", "files of different formats"),
        ("sheet.xlsx", "not .xlsx"),
        ("shet.xlsx", "there is no such file. Did you mean"),
        ("nothing*.csv", "no file matches"),
        ("x" * 300 + ".csv", "this cannot be opened: File name too long"),
        ("x" * 5000, "this is no path"),
    ):
        with pytest.raises(FileError, match=problem):
            only(str(tmp_path / name), truth, space=6)


def test_frames_that_are_lazy_or_odd(tmp_path: Path) -> None:
    drawn = draw(29, 10)
    table = as_table(LAYOUTS["lists"](drawn, chance(0)))
    truth = pl.DataFrame({"case": drawn.ids, "outcome": drawn.outcomes})
    assert only(table.combine_chunks().to_batches()[0], truth, space=drawn.m).cases == 10
    for what in (truth["case"], 5, object()):
        with pytest.raises(TopListError, match=r"outside the space|one per case|codes or labels|predictions"):
            only(what, truth, space=drawn.m)
