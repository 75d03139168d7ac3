"""Ids, indexes, headers, parts and runs that do not go together as they seem to: the right answer, or a refusal."""

from __future__ import annotations

import json
from html import unescape
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pd = pytest.importorskip("pandas", reason="dataframes are an extra")
for library in ("pyarrow", "duckdb", "typer"):
    pytest.importorskip(library, reason="files and the command are extras")

import toplist as tl  # noqa: E402
from tests.cli.run_cli import toplist_here as toplist  # noqa: E402

P = pd.DataFrame({"cat": [0.7, 0.4], "dog": [0.3, 0.6]}, index=[10, 11])
SHUFFLED = pd.Series(["dog", "cat"], index=[11, 10])
TRUTH = "id,label\n1,cat\n2,cat\n"


def brier(one: dict[str, float], outcome: str, m: int) -> float:
    """From the definition: the rest is shared by the classes that are not listed."""
    share = (1 - sum(one.values())) / (m - len(one)) if len(one) < m else 0.0
    hit = one.get(outcome, share)
    squares = sum(t * t for t in one.values()) + (m - len(one)) * share * share
    return squares - 2 * hit + 1


def score_of(board: Any, name: str) -> float:
    return float(board[name].scores["brier"].mean.value)


def put(folder: Path, **texts: str) -> None:
    for name, text in texts.items():
        (folder / f"{name}.csv").write_text(text)


def run(folder: Path, *words: str) -> dict[str, Any]:
    done = toplist("score", *words, "--json", cwd=folder)
    assert done.returncode == 0, done.stderr
    told: dict[str, Any] = json.loads(done.stdout)
    return told


def refusal(folder: Path, *words: str) -> str:
    done = toplist("score", *words, cwd=folder)
    assert done.returncode in (1, 2), done.stdout
    return done.stderr.splitlines()[-1]


def test_an_array_beside_frames_with_ids_is_not_matched_by_position() -> None:
    right = (brier({"cat": 0.7, "dog": 0.3}, "cat", 2) + brier({"cat": 0.4, "dog": 0.6}, "dog", 2)) / 2
    assert score_of(tl.compare({"a": P}, SHUFFLED), "a") == pytest.approx(right)
    with pytest.raises(tl.AlignmentError, match=r"b is a list or an array.*by_position=True"):
        tl.compare({"a": P, "b": P.to_numpy()}, SHUFFLED)
    board = tl.compare(
        {"a": P, "b": P.to_numpy()},
        SHUFFLED,
        space=tl.ClassSpace(labels=["cat", "dog"]),
        read=tl.ReadOptions(by_position=True),
    )
    assert score_of(board, "a") == score_of(board, "b") == pytest.approx(0.85)


@pytest.mark.parametrize("function", [tl.score, lambda lists, y: tl.compare({"a": lists}, y), tl.diagnose])
def test_lists_with_ids_refuse_outcomes_with_another_index(function: Any) -> None:
    lists = tl.read_lists(P)
    with pytest.raises(tl.AlignmentError, match=r"y\.loc\[lists\.ids\]"):
        function(lists, SHUFFLED)
    function(lists, SHUFFLED.loc[lists.ids])
    function(lists, SHUFFLED.to_numpy())


def test_a_column_of_ids_comes_before_an_index_without_a_name() -> None:
    long = pd.DataFrame({"id": [1, 1, 2, 2], "label": ["cat", "dog", "cat", "dog"], "p": [0.5, 0.45, 0.04, 0.9]})
    assert tl.read_lists(long[long.p > 0.1], 5).ids.tolist() == [1, 2]
    wide = pd.DataFrame({"id": [1, 2], "cat": [0.7, 0.4], "dog": [0.3, 0.6]}, index=[7, 8])
    made = tl.read_lists(wide)
    assert (made.ids.tolist(), made.space.size) == ([1, 2], 2)


@pytest.mark.parametrize("first", ["1\n0\n1\n2\n", "1,0\n0.4,0.6\n0.1,0.9\n"])
def test_a_first_line_of_numbers_is_no_header(first: str, tmp_path: Path) -> None:
    put(tmp_path, p=first, t="label\n0\n1\n2\n")
    assert "is the header missing?" in refusal(tmp_path, "p.csv", "-t", "t.csv", "-c", "3")


def test_codes_of_classes_are_a_header(tmp_path: Path) -> None:
    put(tmp_path, p="0,1,2\n0.5,0.25,0.25\n", t="label\n1\n")
    assert run(tmp_path, "p.csv", "-t", "t.csv")["mean"]["brier"] == pytest.approx(0.25 + 0.0625 + 0.5625)


def test_parts_without_ids_are_read_in_the_order_of_their_numbers_or_not_at_all(tmp_path: Path) -> None:
    (tmp_path / "parts").mkdir()
    for at in range(12):
        (tmp_path / "parts" / f"part-{at}.csv").write_text(f"label,p\n{'cat' if at < 10 else 'dog'},0.9\n")
    put(tmp_path, t="label\n" + "cat\n" * 10 + "dog\n" * 2)
    assert "leading zeros" in refusal(tmp_path, "parts", "-t", "t.csv", "-c", "5")
    for at in range(12):
        (tmp_path / "parts" / f"part-{at}.csv").rename(tmp_path / "parts" / f"part-{at:02d}.csv")
    assert run(tmp_path, "parts", "-t", "t.csv", "-c", "5")["mean"]["brier"] == pytest.approx(brier({"a": 0.9}, "a", 5))


def test_several_models_in_one_long_table_are_not_one_list(tmp_path: Path) -> None:
    put(tmp_path, p="id,model,label,p\n1,A,cat,0.5\n2,A,dog,0.6\n1,B,dog,0.4\n2,B,cat,0.3\n", t=TRUTH)
    assert "--ignore model" in refusal(tmp_path, "p.csv", "-t", "t.csv", "-c", "5")
    put(tmp_path, p="id,model,label,p\n1,A,cat,0.5\n2,A,dog,0.6\n")
    right = (brier({"cat": 0.5}, "cat", 5) + brier({"dog": 0.6}, "cat", 5)) / 2
    assert run(tmp_path, "p.csv", "-t", "t.csv", "-c", "5")["mean"]["brier"] == pytest.approx(right)


@pytest.mark.parametrize("second", [("label.1", "prob.1"), ("label_2", "prob_2")])
def test_a_first_pair_without_a_number_counts(second: tuple[str, str], tmp_path: Path) -> None:
    put(tmp_path, p=f"id,label,prob,{','.join(second)}\n1,cat,0.7,dog,0.2\n2,dog,0.6,cat,0.3\n", t=TRUTH)
    right = (brier({"cat": 0.7, "dog": 0.2}, "cat", 5) + brier({"dog": 0.6, "cat": 0.3}, "cat", 5)) / 2
    assert run(tmp_path, "p.csv", "-t", "t.csv", "-c", "5")["mean"]["brier"] == pytest.approx(right)


def test_a_pair_without_a_number_beside_number_one_is_refused(tmp_path: Path) -> None:
    put(tmp_path, p="id,label,prob,label_1,prob_1\n1,cat,0.7,dog,0.2\n2,dog,0.6,cat,0.3\n", t=TRUTH)
    assert "--ignore label" in refusal(tmp_path, "p.csv", "-t", "t.csv", "-c", "5")


def test_ids_with_other_names_are_not_paired_where_two_could_be_meant(tmp_path: Path) -> None:
    put(tmp_path, p="image,label,p\n1,cat,.7\n2,dog,.6\n", t="id,image_id,label\n2,1,cat\n1,2,dog\n")
    assert "--case truth=image_id" in refusal(tmp_path, "p.csv", "-t", "t.csv", "-c", "5")
    found = run(tmp_path, "p.csv", "-t", "t.csv", "-c", "5", "--case", "truth=image_id")
    assert found["mean"]["brier"] == pytest.approx((brier({"a": 0.7}, "a", 5) + brier({"a": 0.6}, "a", 5)) / 2)


def test_two_ids_that_pair_differently_are_refused(tmp_path: Path) -> None:
    put(tmp_path, p="id,filename,label\n1,a,cat\n2,b,dog\n", t="id,filename,label\n1,b,dog\n2,a,cat\n")
    assert "--case id or --case filename" in refusal(tmp_path, "p.csv", "-t", "t.csv", "-c", "5")
    assert run(tmp_path, "p.csv", "-t", "t.csv", "-c", "5", "--case", "filename")["mean"]["brier"] == 0


def test_numbers_are_no_outcomes_of_classes_that_columns_name() -> None:
    for columns in (["cat", "dog"], ["dog", "cat"]):
        with pytest.raises(tl.SpaceError, match="which class is which number"):
            tl.compare({"a": P[columns]}, [0, 1])
        board = tl.compare({"a": P[columns]}, [0, 1], space=tl.ClassSpace(labels=["cat", "dog"]))
        assert score_of(board, "a") == pytest.approx(0.25)


def test_nan_is_no_outcome() -> None:
    with pytest.raises(tl.OutcomeError, match="case 1: the outcome is nan"):
        tl.score(tl.TopLists.from_dicts([{"cat": 0.7}, {"dog": 0.6}], 5), ["cat", float("nan")])


def test_score_says_what_is_invalid_repaired_and_missing(tmp_path: Path) -> None:
    put(tmp_path, p="id,label,p\n1,cat,0.7\n2,dog,0.05\n4,dog,0.5\n", t="id,label\n1,cat\n2,cat\n3,cat\n")
    done = toplist("score", "p.csv", "-t", "t.csv", "-c", "5", "--missing", "uniform", cwd=tmp_path)
    assert "1 list with a confidence below what each unlisted class gets" in done.stdout
    assert "missing predictions taken as empty lists: 1 case" in done.stdout
    assert "left out: 1 cases of p" in done.stdout
    assert run(tmp_path, "p.csv", "-t", "t.csv", "-c", "5", "--missing", "uniform")["invalid"] == 1


def test_votes_are_a_truth_where_their_column_is_named(tmp_path: Path) -> None:
    put(tmp_path, p="id,label,p\n1,cat,0.7\n2,dog,0.6\n", t="id,label,votes\n1,cat,3\n1,dog,1\n2,cat,4\n")
    assert "--confidence truth=votes" in refusal(tmp_path, "p.csv", "-t", "t.csv", "-c", "5")
    found = run(tmp_path, "p.csv", "-t", "t.csv", "-c", "5", "--confidence", "truth=votes", "--normalize")
    one = 0.75 * brier({"cat": 0.7}, "cat", 5) + 0.25 * brier({"cat": 0.7}, "dog", 5)
    assert found["mean"]["brier"] == pytest.approx((one + brier({"dog": 0.6}, "cat", 5)) / 2)
    assert found["truth_repairs"] == {"normalized": 2}


def test_columns_of_an_array_go_by_the_order_of_a_label_file(tmp_path: Path) -> None:
    np.save(tmp_path / "p.npy", np.array([[0.7, 0.3], [0.4, 0.6]]))
    np.save(tmp_path / "t.npy", np.array(["cat", "dog"]))
    (tmp_path / "c.txt").write_text("cat\ndog\n")
    assert run(tmp_path, "p.npy", "-t", "t.npy", "-c", "c.txt")["mean"]["brier"] == pytest.approx(0.25)


def test_numbered_indices_are_classes(tmp_path: Path) -> None:
    """As timm writes them without names of classes."""
    put(tmp_path, p="filename,index_0,prob_0,index_1,prob_1\na,3,.7,1,.2\n", t="filename,label\na,3\n")
    found = run(tmp_path, "p.csv", "-t", "t.csv", "-c", "5")
    assert found["mean"]["brier"] == pytest.approx(brier({"3": 0.7, "1": 0.2}, "3", 5))


def test_how_files_are_read_stands_in_the_terminal_in_the_json_and_in_the_report(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason="the report is an extra")
    put(tmp_path, p="id,label,p,note\n1,cat,0.7,x\n2,dog,0.6,y\n", t="id,label,site\n1,cat,a\n2,cat,b\n")
    words = ["compare", "p.csv", "-t", "t.csv", "-c", "5", "--report", "r.html"]
    done = toplist(*words, cwd=tmp_path)
    readings = [
        "long, class in 'label', confidence in 'p'; case id in 'id'; ignored: 'note'",
        "labels in column 'label'; case id in 'id'; ignored: 'site'",
    ]
    assert done.stderr.splitlines() == [f"p.csv: {readings[0]}", f"truth: t.csv: {readings[1]}"]
    told = json.loads(toplist(*words, "--json", cwd=tmp_path).stdout)
    assert [told["sources"][0]["reading"], told["truth_reading"]] == readings
    page = unescape((tmp_path / "r.html").read_text())
    assert readings[0] in page
    assert readings[1].capitalize() in page
