"""Frames, indexes and arrays that were once read as something else: the right answer now, or a refusal with a remedy.

For files as people have them see tests/transcripts/reading.txt.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Mapping, Sequence
from fractions import Fraction
from html import unescape
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet
import pytest

import toplist as tl
from tests.cli.run_cli import toplist_here as toplist

Lists = Sequence[Mapping[str, Any]]
P = pd.DataFrame({"cat": [0.7, 0.4], "dog": [0.3, 0.6]}, index=[10, 11])
SHUFFLED = pd.Series(["dog", "cat"], index=[11, 10])


def brier(lists: Lists, outcomes: Sequence[str | Mapping[str, Any]], m: int) -> float:
    """The mean padded Brier score by its definition; expected, where an outcome is a distribution."""
    total = Fraction(0)
    for one, outcome in zip(lists, outcomes, strict=True):
        p = {name: Fraction(str(t)) for name, t in one.items()}
        q = {outcome: Fraction(1)} if isinstance(outcome, str) else {y: Fraction(str(t)) for y, t in outcome.items()}
        share = (1 - sum(p.values())) / (m - len(p)) if len(p) < m else Fraction(0)
        squares = sum(t * t for t in p.values()) + (m - len(p)) * share * share
        total += squares + 1 - 2 * sum(w * p.get(y, share) for y, w in q.items())
    return float(total / len(lists))


def ended(model: Any, truth: Any, m: int) -> float | str:
    """The Brier score of a model, or the sentence that was said instead."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # few cases, or all of them right
            return float(tl.compare({"m": model}, truth, space=m)["m"].scores["brier"].mean.value)
    except tl.TopListError as error:
        return str(error)


def entries(lists: tl.TopLists) -> list[dict[str, float]]:
    """What is listed in each case."""
    return [dict(one.confidences) for one in lists]


@pytest.mark.parametrize("options", [{}, {"confidence": "score"}, {"class_column": "label", "confidence": "score"}])
def test_a_frame_of_labels_and_scores_is_lists_of_one(options: dict[str, str]) -> None:
    lists = tl.read_lists(pd.DataFrame({"label": ["a", "b"], "score": [0.9, 0.5]}), 3, **options)
    assert entries(lists) == [{"a": 0.9}, {"b": 0.5}]


def split() -> tuple[pd.DataFrame, pd.Series, Lists]:
    """What predict_proba gives after a split: rows in another order, and the index tells which."""
    proba = np.array([[0.75, 0.25, 0.0], [0.125, 0.625, 0.25], [0.25, 0.25, 0.5], [0.5, 0.375, 0.125]])
    names = ["setosa", "versicolor", "virginica"]
    frame = pd.DataFrame(proba, columns=names, index=[114, 62, 33, 107])
    y = pd.Series(["setosa", "versicolor", "versicolor", "virginica"], index=frame.index, name="species")
    return frame, y, [dict(zip(names, map(float, row), strict=True)) for row in proba]


def test_an_index_is_never_a_class() -> None:
    frame, y, listed = split()
    lists = tl.read_lists(frame)
    assert entries(lists) == listed
    assert lists.ids is not None
    assert list(lists.ids) == list(frame.index)
    assert float(np.mean(tl.score(lists, y.tolist()))) == pytest.approx(brier(listed, y.tolist(), 3), abs=1e-12)


@pytest.mark.parametrize("index", ["whole", "text", "named", "none"])
def test_an_index_is_the_id(index: str) -> None:
    frame, y, listed = split()
    if index == "text":
        frame.index = y.index = pd.Index([f"row {i}" for i in frame.index])
    if index == "named":
        frame.index.name = y.index.name = "specimen"
    right = pytest.approx(brier(listed, y.tolist(), 3), abs=1e-12)
    if index == "none":
        frame, y = frame.reset_index(drop=True), y.reset_index(drop=True)
    other = y.iloc[[2, 0, 3, 1]]
    for truth in (y, y.tolist(), y.to_numpy()) if index == "none" else (other, other.to_frame("outcome"), y):
        assert ended(frame, truth, 3) == right


def test_labels_with_a_shuffled_index_are_matched_by_it() -> None:
    truth = pd.DataFrame({"label": list("abcaabbc")}, index=[17, 3, 29, 11, 5, 2, 31, 7])
    guess = truth.sample(frac=1, random_state=3)
    assert guess["label"].tolist() != truth["label"].tolist()
    assert ended(guess, truth, 3) == 0


def test_an_array_beside_frames_with_ids_is_not_matched_by_position() -> None:
    right = brier([{"cat": 0.7, "dog": 0.3}, {"cat": 0.4, "dog": 0.6}], ["cat", "dog"], 2)
    assert ended(P, SHUFFLED, 2) == pytest.approx(right)
    with pytest.raises(tl.AlignmentError, match=r"b is a list or an array.*by_position=True"):
        tl.compare({"a": P, "b": P.to_numpy()}, SHUFFLED)
    both = {"a": P, "b": P.to_numpy()}
    board = tl.compare(both, SHUFFLED, space=["cat", "dog"], read=tl.ReadOptions(by_position=True))
    assert [board[name].scores["brier"].mean.value for name in both] == pytest.approx([0.85, 0.85])


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
    wide = tl.read_lists(pd.DataFrame({"id": [1, 2], "cat": [0.7, 0.4], "dog": [0.3, 0.6]}, index=[7, 8]))
    assert (wide.ids.tolist(), wide.space.size) == ([1, 2], 2)


def test_numbers_are_no_outcomes_of_classes_that_columns_name() -> None:
    for columns in (["cat", "dog"], ["dog", "cat"]):
        with pytest.raises(tl.SpaceError, match="which class is which number"):
            tl.compare({"a": P[columns]}, [0, 1])
        board = tl.compare({"a": P[columns]}, [0, 1], space=tl.ClassSpace(labels=["cat", "dog"]))
        assert board["a"].scores["brier"].mean.value == pytest.approx(0.25)


def test_nan_is_no_outcome() -> None:
    with pytest.raises(tl.OutcomeError, match="case 1: the outcome is nan"):
        tl.score(tl.TopLists.from_dicts([{"cat": 0.7}, {"dog": 0.6}], 5), ["cat", float("nan")])


def test_python_names_its_own_parameters() -> None:
    frame = pd.DataFrame({"klass": ["a", "b"], "sureness": [0.5, 0.25], "more": ["x", "y"]})
    with pytest.raises(tl.TopListError) as error:
        tl.read_lists(frame, 3)
    assert "--" not in str(error.value)
    assert any(f"{name}=" in str(error.value) for name in ("class_column", "confidence", "layout", "ignore"))


# Files that are not small text


def test_the_same_file_by_a_link_is_the_same_file(tmp_path: Path) -> None:
    (tmp_path / "o.csv").write_text("id,class1,p1,outcome\n1,cat,.7,cat\n2,dog,.6,cat\n")
    (tmp_path / "link.csv").symlink_to("o.csv")
    for truth in ("./o.csv", f"{tmp_path}/o.csv", "link.csv"):
        assert "--outcome" in toplist("score", "o.csv", "-t", truth, "-c", "5", cwd=tmp_path).stderr


def test_a_truth_is_not_normalised_without_a_word(tmp_path: Path) -> None:
    ids, shape, lists = np.arange(3), np.array([3, 6]), [{"0": 0.5, "1": 0.25}, {"2": 0.75, "3": 0.125}, {"4": 0.5}]
    form = {"shape": shape, "format": np.array(b"csr"), "ids": ids}
    codes, t = ([x for one in lists for x in what(one)] for what in (lambda one: map(int, one), dict.values))
    np.savez(tmp_path / "P.npz", data=t, indices=np.array(codes, np.int32), indptr=[0, 2, 4, 5], **form)
    codes = np.array([0, 1, 2, 4, 5], np.int32)
    np.savez(tmp_path / "Y.npz", data=np.ones(5), indices=codes, indptr=[0, 2, 3, 5], **form)
    words = ("compare", "P.npz", "-t", "Y.npz", "-c", "6")
    assert "Y.npz, row 1: " in toplist(*words, cwd=tmp_path).stderr
    told = json.loads(toplist(*words, "--normalize", "--json", cwd=tmp_path).stdout)
    right = brier(lists, [{"0": 0.5, "1": 0.5}, {"2": 1}, {"4": 0.5, "5": 0.5}], 6)
    assert told["overall"]["rows"][0]["scores"]["brier"]["mean"]["value"] == pytest.approx(right, abs=1e-9)
    assert told["truth_repairs"] == {"normalized": 2}


@pytest.mark.parametrize("start", ["", "\ufeff", "\ufeff\ufeff", "\n\ufeff", "\ufeff\n\ufeff"])
@pytest.mark.parametrize("case", ["nr", "case", "specimen"])
def test_a_confidence_counts_beside_an_id_of_any_name(case: str, start: str, tmp_path: Path) -> None:
    happened, lists = ["cat", "cat", "fox", "dog"], [{"cat": 0.6}, {"dog": 0.7}, {"fox": 0.9}, {"cat": 0.3}]
    rows = [f"{i},{name},{t}\n" for i, one in enumerate(lists) for name, t in one.items()]
    (tmp_path / "a.csv").write_text(f"{start}{case},class,confidence\n{''.join(rows[::-1])}", encoding="utf-8")
    (tmp_path / "y.csv").write_text(f"{case},outcome\n" + "".join(f"{i},{y}\n" for i, y in enumerate(happened)))
    answer = ended(tmp_path / "a.csv", tmp_path / "y.csv", 5)
    if isinstance(answer, str):
        assert start not in ("", "\ufeff"), answer  # marks that nobody wants may be refused
        assert "a.csv" in answer
    else:
        assert answer == pytest.approx(brier(lists, happened, 5), abs=1e-12)


@pytest.mark.parametrize("name", ["y", "label", "target", "language", "token"])
@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_a_one_hot_table_with_a_class_of_a_known_name_is_not_labels(name: str, suffix: str, tmp_path: Path) -> None:
    happened = ["x", name, "z", name]
    hot = pd.DataFrame({"case": [1, 2, 3, 4], **{c: [int(c == y) for y in happened] for c in ("x", name, "z")}})
    pa.parquet.write_table(pa.Table.from_pandas(hot, preserve_index=False), tmp_path / "p.parquet")
    hot.to_csv(tmp_path / "p.csv", index=False)
    (tmp_path / "t.csv").write_text("case,outcome\n" + "".join(f"{i},{y}\n" for i, y in enumerate(happened, 1)))
    for m in (5, 3):
        answer = ended(tmp_path / f"p.{suffix}", tmp_path / "t.csv", m)
        if isinstance(answer, str):
            assert name in answer
            assert any(f"{option}=" in answer for option in ("ignore", "layout", "classes", "confidences", "space"))
        else:
            assert answer == 0


def test_fractions_that_come_late_in_a_wide_table_count(tmp_path: Path) -> None:
    rows = [(1, 0, 0)] * 130 + [(0.25, 0.5, 0.25)] * 20
    body = "".join(f"{i},{a},{b},{c}\n" for i, (a, b, c) in enumerate(rows))
    (tmp_path / "p.csv").write_text(f"case,x,y,z\n{body}")
    (tmp_path / "t.csv").write_text("case,outcome\n" + "".join(f"{i},x\n" for i in range(150)))
    right = brier([dict(zip("xyz", row, strict=True)) for row in rows], ["x"] * 150, 3)
    for m in (3, 5):  # nothing is left for classes that have no column
        answer = ended(tmp_path / "p.csv", tmp_path / "t.csv", m)
        assert "ignore=" in answer if isinstance(answer, str) else answer == pytest.approx(right, abs=1e-9)


def test_parts_without_ids_are_read_in_the_order_of_their_numbers_or_not_at_all(tmp_path: Path) -> None:
    (tmp_path / "parts").mkdir()
    for at in range(12):
        (tmp_path / "parts" / f"part-{at}.csv").write_text(f"label,p\n{'cat' if at < 10 else 'dog'},0.9\n")
    (tmp_path / "t.csv").write_text("label\n" + "cat\n" * 10 + "dog\n" * 2)
    assert "leading zeros" in str(ended(tmp_path / "parts", tmp_path / "t.csv", 5))
    for at in range(12):
        (tmp_path / "parts" / f"part-{at}.csv").rename(tmp_path / "parts" / f"part-{at:02d}.csv")
    assert ended(tmp_path / "parts", tmp_path / "t.csv", 5) == pytest.approx(brier([{"a": 0.9}], ["a"], 5))


def test_columns_of_an_array_go_by_the_order_of_a_label_file(tmp_path: Path) -> None:
    np.save(tmp_path / "p.npy", np.array([[0.7, 0.3], [0.4, 0.6]]))
    np.save(tmp_path / "t.npy", np.array(["cat", "dog"]))
    (tmp_path / "c.txt").write_text("cat\ndog\n")
    done = toplist("score", "p.npy", "-t", "t.npy", "-c", "c.txt", "--json", cwd=tmp_path)
    assert json.loads(done.stdout)["mean"]["brier"] == pytest.approx(0.25)


def test_how_files_are_read_stands_in_the_json_and_in_the_report(tmp_path: Path) -> None:
    (tmp_path / "p.csv").write_text("id,label,p,note\n1,cat,0.7,x\n2,dog,0.6,y\n")
    (tmp_path / "t.csv").write_text("id,label,site\n1,cat,a\n2,cat,b\n")
    words = ["compare", "p.csv", "-t", "t.csv", "-c", "5", "--report", "r.html", "--json"]
    done = toplist(*words, cwd=tmp_path)
    told, page = json.loads(done.stdout), unescape((tmp_path / "r.html").read_text())
    readings = [told["sources"][0]["reading"], told["truth_reading"]]
    assert done.stderr.splitlines() == [f"p.csv: {readings[0]}", f"truth: t.csv: {readings[1]}"]
    assert readings[0] in page
    assert readings[1].capitalize() in page


def test_codes_in_memory_beside_a_frame_are_codes_of_ordered_classes() -> None:
    lists, truth = [{0: 0.5}, {1: 0.6}, {2: 0.4}], pd.DataFrame({"outcome": [0, 1, 2]})
    board = tl.compare({"m": lists}, truth, space=tl.ClassSpace(3, ordinal=True))
    assert board["m"].scores["brier"].mean.value == pytest.approx(brier(lists, [{0: 1}, {1: 1}, {2: 1}], 3))
