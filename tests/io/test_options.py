"""Records are checked where they are made; options of one file go over those for all; idle ones are refused."""

from __future__ import annotations

import re
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import toplist as tl
from toplist.io.options import ReadRequest

LONG = "case,class,confidence\n1,a,60\n2,b,70\n"
TRUTH = "case,outcome,team,day\n1,a,x,1\n2,a,y,2\n"


@pytest.fixture
def place(tmp_path: Path) -> Path:
    pytest.importorskip("duckdb", reason="files are an extra")
    for name, text in (("a.csv", LONG), ("b.csv", LONG.replace("60", ".6").replace("70", ".7")), ("y.csv", TRUTH)):
        (tmp_path / name).write_text(text)
    return tmp_path


@pytest.mark.parametrize("record", [tl.ReadOptions, tl.Truth, tl.Inference])
def test_every_field_that_a_caller_gives_has_a_help_text(record: Any) -> None:
    """From which the command makes its options."""
    given = [one for one in fields(record) if one.name not in ("data", "options")]
    assert all(re.fullmatch(r".+\.", one.metadata["help"]) for one in given)


@pytest.mark.parametrize(
    ("make", "problem"),
    [
        (lambda: tl.ReadOptions(layout="longer"), "layout is 'auto', .* not 'longer'. Did you mean 'long'?"),  # type: ignore[arg-type]
        (lambda: tl.ReadOptions(scale="percents"), "Did you mean 'percent'?"),  # type: ignore[arg-type]
        (lambda: tl.ReadOptions(case=3), "case is the name of a column, not 3"),  # type: ignore[arg-type]
        (lambda: tl.ReadOptions(confidence=""), "confidence is empty: name a column, or leave it out"),
        (lambda: tl.ReadOptions(case={"a": "id"}), r"goes with it: Source\(data, case=...\)"),  # type: ignore[arg-type]
        (lambda: tl.ReadOptions(scale={"a": "log"}), r"goes with it: Source\(data, scale=...\)"),  # type: ignore[arg-type]
        (lambda: tl.ReadOptions(ignore={"a": "note"}), r"goes with it: Source\(data, ignore=...\)"),  # type: ignore[arg-type]
        (lambda: tl.ReadOptions(ignore=[1]), "ignore names columns to leave out, not 1"),  # type: ignore[list-item]
        (lambda: tl.ReadOptions(by_position=1), "by_position is True or False, not 1"),  # type: ignore[arg-type]
        (lambda: tl.ReadOptions(set_separator=""), "set_separator is text between labels"),
        (lambda: tl.Source("a.csv", duplicates="add"), "duplicates is 'error' or 'sum'"),
        (lambda: tl.Source(tl.Source("a.csv")), "a Source is made of data, not of a Source"),
        (lambda: tl.Source(tl.TopLists.from_labels([0], 3), scale="log"), "scale has no effect on lists that are made"),
        (lambda: tl.Truth("y.csv", weight=" "), "weight names a column of the truth: what is given is empty"),
        (lambda: tl.Truth("y.csv", outcome=3), "outcome is the name of a column"),  # type: ignore[arg-type]
        (lambda: tl.Truth("y.csv", weight="w", group=[1, 2]), "weight names a column and group is an array"),
        (lambda: tl.Truth("y.csv", scale="percent"), "scale is about predictions: it has no effect on the truth"),
        (lambda: tl.Truth("y.csv", outcome="y", class_column="z"), "outcome and class_column are the same column"),
        (lambda: tl.Truth(None, cluster="team"), "give the outcomes too"),
        (lambda: tl.Inference(method="hca"), "method is auto, .* not 'hca'. Did you mean 'hac'?"),  # type: ignore[arg-type]
        (lambda: tl.Inference(level=95), "level is between 0 and 1, not 95"),
        (lambda: tl.Inference(horizon=0), "horizon is a whole number, at least 1"),
    ],
)
def test_a_record_that_makes_no_sense_is_refused(make: Any, problem: str) -> None:
    with pytest.raises(tl.TopListError, match=problem):
        make()


@pytest.mark.parametrize("record", [tl.Source, tl.Truth])
def test_an_option_that_does_not_exist_is_named(record: Any) -> None:
    with pytest.raises(TypeError, match=r"has no option 'confidences'. Did you mean 'confidence'\?"):
        record("a.csv", confidences="p")


def test_options_of_a_source_go_over_those_for_all(place: Path) -> None:
    models = {"a": place / "a.csv", "b": tl.Source(place / "b.csv", scale="probability")}
    board = tl.compare(models, place / "y.csv", space=3, read=tl.ReadOptions(scale="percent"))
    same = tl.compare(
        {"a": tl.Source(place / "a.csv", scale="percent"), "b": place / "b.csv"}, place / "y.csv", space=3
    )
    assert board.to_dict() == same.to_dict()


def test_the_truth_takes_what_concerns_all_files_and_no_more() -> None:
    read = tl.ReadOptions(case="id", scale="log", ignore="note", set_separator=";")
    request = ReadRequest.of({"a": "a.csv"}, tl.Truth("y.csv", ignore="remark"), read)
    assert request.options["a"] == read
    assert request.truth_options == tl.ReadOptions(ignore=("remark",), set_separator=";")


def test_what_is_the_same_for_all_files_may_stand_anywhere_but_once() -> None:
    request = ReadRequest.of({"a": tl.Source("a.csv", set_separator=";"), "b": "b.csv"}, "y.csv", tl.ReadOptions())
    assert {one.set_separator for one in (*request.options.values(), request.truth_options)} == {";"}
    with pytest.raises(tl.TopListError, match="set_separator is the same for all files: give it once"):
        ReadRequest.of(
            {"a": tl.Source("a.csv", set_separator=";")}, tl.Truth("y.csv", set_separator="|"), tl.ReadOptions()
        )


@pytest.mark.parametrize("what", ["weight", "group", "cluster", "time", "n_classes", "outcome"])
def test_columns_are_refused_beside_outcomes_in_memory(what: str) -> None:
    with pytest.raises(tl.TopListError, match=f"{what}='column' names a column, but the outcomes are in memory"):
        tl.compare({"a": [0, 1]}, tl.Truth([0, 1], **{what: "column"}), space=3)


@pytest.mark.parametrize("what", ["weight", "group", "cluster", "time"])
def test_arrays_are_refused_beside_files(what: str, place: Path) -> None:
    with pytest.raises(tl.TopListError, match=f"with files and frames, {what} names a column of the truth"):
        tl.compare({"b": place / "b.csv"}, tl.Truth(place / "y.csv", **{what: [1, 2]}), space=3)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "options",
    [{"layout": "wide"}, {"case": "id"}, {"class_column": "c"}, {"confidence": "p"}, {"ignore": "note"},
     {"by_position": True}, {"set_separator": ";"}, {"blanks": "drop"}],
    ids=str,
)  # fmt: skip
def test_options_of_tables_are_refused_in_memory(options: dict[str, Any]) -> None:
    (what,) = options
    for verb in (tl.compare, tl.monitor):
        with pytest.raises(tl.TopListError, match=f"{what} (is|are) about files and frames"):
            verb({"a": [0, 1], "b": [1, 1]}, [0, 1], space=3, read=tl.ReadOptions(**options))
    with pytest.raises(tl.TopListError, match=f"{what} (is|are) about files and frames"):
        tl.diagnose([0, 1], [0, 1], space=3, read=tl.ReadOptions(**options))


def test_a_column_to_be_ignored_is_none_in_memory() -> None:
    made, y = {"a": np.full((4, 2), 0.5)}, [0, 1, 0, 1]
    assert tl.compare(made, tl.Truth(y, cluster="", time="")).to_dict() == tl.compare(made, y).to_dict()


def test_a_column_that_is_called_time_orders_the_cases_unless_it_is_to_be_ignored(place: Path) -> None:
    (place / "y.csv").write_text(TRUTH.replace("day", "time"))
    timed, plain = (tl.compare({"b": place / "b.csv"}, truth, space=3) for truth in (
        place / "y.csv", tl.Truth(place / "y.csv", time="")
    ))  # fmt: skip
    assert "in the order of time" in timed.comparison.method
    assert "independent" in plain.comparison.method


@pytest.mark.parametrize(
    ("short", "long"), [("bootstrap", tl.Inference(method="bootstrap")), (0.9, tl.Inference(level=0.9))], ids=str
)
def test_a_method_or_a_level_stands_for_inference(short: Any, long: tl.Inference) -> None:
    rng = np.random.default_rng(0)
    made, y = {name: rng.dirichlet(np.ones(3), 20) for name in "ab"}, rng.integers(0, 3, 20)
    assert tl.compare(made, y, inference=short).to_dict() == tl.compare(made, y, inference=long).to_dict()
    with pytest.raises(tl.TopListError, match=r"a method such as 't' or a level such as 0\.9"):
        tl.compare(made, y, inference=None)  # type: ignore[arg-type]


def test_cosine_is_another_name_of_ewc() -> None:
    assert tl.Inference(method="cosine") == tl.Inference(method="ewc")  # type: ignore[arg-type]


@pytest.mark.parametrize(("what", "value"), [("weight", [1, 2]), ("group", [1, 2]), ("time", [1, 2])])
def test_diagnose_refuses_what_it_does_not_use(what: str, value: Any) -> None:
    with pytest.raises(tl.TopListError, match=f"{what} has no effect on diagnose"):
        tl.diagnose([0, 1], tl.Truth([0, 1], **{what: value}), space=3)
    with pytest.raises(tl.TopListError, match="method has no effect on diagnose"):
        tl.diagnose([0, 1], [0, 1], space=3, inference="hac")  # type: ignore[arg-type]


def test_lengths_are_chosen_without_weights(place: Path) -> None:
    from toplist.evaluation.transform import fit_truncation

    with pytest.raises(tl.TopListError, match="weight has no effect here: every case counts alike"):
        fit_truncation(place / "b.csv", tl.Truth(place / "y.csv", weight="day"), space=3)
