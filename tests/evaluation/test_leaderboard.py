"""A leaderboard is a frozen value: asked by name, written in every format, read back whole."""

from __future__ import annotations

import csv
import io
import json
import math
from dataclasses import FrozenInstanceError
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import toplist as tl
from tests import flat
from tests.core.integers import law
from tests.draws import draws
from tests.evaluation.shapes import M, predictions
from tests.inference.reference import Brute, agrees
from toplist.inference.results import Estimate, ModelRow

FORMATS = ("json", "csv", "md", "tex", "html", "txt")


def board_of(seed: int = 1, n: int = 40, **options: Any) -> tl.Leaderboard:
    made, y = predictions(seed, n)
    return flat.compare(made, y, **({"space": M} | options))


def flipped(one: Estimate) -> Estimate:
    low, high = (None if end is None else -end for end in (one.high, one.low))
    return Estimate(-one.value, low, high, one.reason, one.error, one.p, one.freedom)


@settings(law, max_examples=draws(10))
@given(seed=st.integers(0, 10**6), n=st.integers(1, 20), kind=st.sampled_from(["", "group", "cluster"]))
def test_differences_are_antisymmetric_under_every_rule(seed: int, n: int, kind: str) -> None:
    """To the last bit, over all cases whatever the groups."""
    options = {kind: np.random.default_rng(seed).integers(0, 3, n)} if kind else {}
    board = board_of(seed, n, **options)
    names = [row.name for row in board]
    for rule in (None, "brier", "log"):
        for a in names:
            for b in names:
                forth, back = board.difference(a, b, rule), board.difference(b, a, rule)
                if math.isnan(forth.value):
                    assert math.isnan(back.value)
                    assert forth.reason == back.reason == "infinite scores have no interval"
                else:
                    assert back == flipped(forth)


def test_a_difference_is_the_mean_of_the_paired_ones() -> None:
    made, y = predictions(2, 30)
    board = tl.compare({"a": made["double"], "b": made["single"]}, y)
    scores = [tl.score(tl.TopLists.from_proba(made[name]), y) for name in ("double", "single")]
    want = Brute.of(scores).difference(0, 1)
    assert isinstance(want, tuple)
    assert agrees(board.difference("a", "b"), want, 1e-10)
    wide = tl.compare({"a": made["double"], "b": made["single"]}, y, inference=0.99).difference("a", "b")
    assert wide.low < board.difference("a", "b").low  # type: ignore[operator]


def test_differences_to_the_leader_are_those_in_the_standings() -> None:
    board = board_of()
    leader = board[0].name
    for row in board:
        for mark in row.scores.values():
            own = [p for p in board.pairwise if p.rule == mark.rule and {p.a, p.b} == {row.name, leader}]
            assert repr(mark.difference) == repr(next((flipped(pair.simultaneous) for pair in own), None))
            assert mark.adjusted_p == next((pair.adjusted_p for pair in own), None)
            if own:
                assert repr(mark.difference.value) == repr(board.difference(row.name, leader, mark.rule).value)


def test_a_model_is_found_by_name_and_by_place() -> None:
    board = board_of()
    assert len(board) == len(list(board)) == 8
    for place, row in enumerate(board):
        assert isinstance(row, ModelRow)
        assert row.rank == place + 1
        assert board[row.name] == board[place] == board[place - 8] == row
    with pytest.raises(KeyError, match="'nobody' is not among 'labels', "):
        board["nobody"]
    with pytest.raises(IndexError):
        board[8]


def test_a_place_may_be_a_number_of_numpy() -> None:
    board = board_of()
    assert board[np.int64(0)] == board[0]  # type: ignore[index]


def test_what_is_not_there_cannot_be_asked_for() -> None:
    board = board_of()
    for call, said in (
        (lambda: board.difference("nobody", "double"), "'nobody' is no model here: there are"),
        (lambda: board.difference("double", "nobody"), "'nobody' is no model here: there are"),
        (lambda: board.difference("double", "single", "quadratic"), "'quadratic' is no rule here: there are"),
    ):
        with pytest.raises(tl.TopListError, match=said):
            call()


@pytest.mark.parametrize(
    "options", [{}, {"group": ["x", "y"] * 20}, {"penalty": math.inf}, {"missing": "pairwise"}], ids=str
)
def test_json_reads_back_to_the_same_record(options: dict[str, Any]) -> None:
    """Strictly: no NaN, no infinity; every name, rank and digit."""
    board = board_of(**options)

    def refuse(constant: str) -> None:
        raise AssertionError(f"{constant} is not JSON")

    read = json.loads(board.to_json(), parse_constant=refuse)
    assert read == board.to_dict()
    for row, standing in zip(read["overall"]["rows"], board, strict=True):
        assert (row["rank"], row["name"]) == (standing.rank, standing.name)
        for mark, one in zip(row["scores"].values(), standing.scores.values(), strict=True):
            finite = math.isfinite(one.mean.value)
            assert mark["mean"]["value"] == (one.mean.value if finite else None)
            assert mark["infinite"] == one.infinite


@pytest.mark.parametrize(
    "options", [{}, {"group": ["x", "y"] * 20, "cluster": [1, 2, 3, 4] * 10}, {"penalty": math.inf}], ids=str
)
def test_the_record_is_as_its_schema_says(options: dict[str, Any]) -> None:
    from toplist.report.export import schema

    validator: Any = pytest.importorskip("jsonschema").Draft202012Validator
    validator(schema()).validate(board_of(**options).to_dict())
    made, _ = predictions(3, 5)
    soft = np.random.default_rng(1).dirichlet(np.ones(M), size=5)
    validator(schema()).validate(tl.compare(made, soft, space=M, k=(1, 5)).to_dict())


def test_csv_has_a_line_for_each_group_model_and_rule() -> None:
    board = board_of(group=["x", "y"] * 20)
    lines = list(csv.DictReader(io.StringIO(board.to_csv())))
    assert len(lines) == 3 * 8 * 2
    for line in lines[:16]:
        mark = board[line["model"]].scores[line["rule"]]
        assert float(line["mean"]) == mark.mean.value


@pytest.mark.parametrize("suffix", FORMATS)
def test_a_file_has_the_format_of_its_name(suffix: str, tmp_path: Path) -> None:
    """And holds what the method of that name gives, with every model."""
    board = board_of()
    made = {
        "json": board.to_json, "csv": board.to_csv, "md": board.to_markdown, "tex": board.to_latex,
        "html": board.to_html,
    }  # fmt: skip
    for name in (f"board.{suffix}", f"BOARD.{suffix.upper()}"):
        board.write(tmp_path / name)
        board.write(str(tmp_path / name))  # again, and as text
        text = (tmp_path / name).read_text(encoding="utf-8")
        if suffix in made:
            assert text == made[suffix]()
        for row in board:
            assert row.name in text


@pytest.mark.parametrize("name", ["board", "board.xlsx", "json", ".json"])
def test_a_format_that_is_not_known_is_refused_and_nothing_is_written(name: str, tmp_path: Path) -> None:
    with pytest.raises(
        tl.TopListError, match=r"^a leaderboard is written as \.json, \.csv, \.md, \.tex, \.html, \.txt, not "
    ):
        board_of().write(tmp_path / name)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("columns", ["40", "80", "200"])
def test_what_is_printed_names_every_model(columns: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """However narrow the screen, in the order of the ranks."""
    monkeypatch.setenv("COLUMNS", columns)
    board = board_of(group=["x", "y"] * 20)
    said = repr(board)
    places = [said.index(row.name) for row in board]
    assert places == sorted(places)
    assert max(map(len, said.splitlines())) <= max(60, int(columns))
    for row in board:
        assert row.name in board._repr_html_()


def test_frames_hold_the_same_rows() -> None:
    board = board_of(group=["x", "y"] * 20)
    pytest.importorskip("pandas")
    pytest.importorskip("polars")
    pandas, polars = board.to_pandas(), board.to_polars()
    assert list(pandas.columns) == polars.columns
    assert len(pandas) == len(polars) == 3 * 8 * 2
    assert pandas["model"].tolist() == polars["model"].to_list()


def test_leaderboards_are_frozen_values() -> None:
    """The same comparison makes an equal one; nothing in it can be set."""
    one, other = board_of(), board_of()
    assert one == other
    assert one != board_of(level=0.9)
    assert one != board_of(seed=2)
    for thing, name in (
        (one, "comparison"),
        (one.comparison, "cases"),
        (one[0], "rank"),
        (one[0].scores["brier"], "mean"),
    ):
        with pytest.raises(FrozenInstanceError):
            setattr(thing, name, None)
    with pytest.raises(FrozenInstanceError):
        one[0].scores["brier"].mean.value = 0.0  # type: ignore[misc]
    with pytest.raises((TypeError, AttributeError)):
        one.extra = 1  # type: ignore[attr-defined]
    assert hash(one[0].scores["brier"]) == hash(other[0].scores["brier"])


def test_a_leaderboard_says_what_was_asked() -> None:
    made, y = predictions(1, 40)
    board = tl.compare(
        made,
        tl.Truth(y, group=y % 2),
        space=M,
        rules=["log", "brier"],
        baseline="double",
        penalty=0.5,
        k=(1, 2),
        inference=0.9,
    )
    found = board.comparison
    assert found.rules == ("log", "brier")
    assert (found.baseline, found.penalty, found.level, found.group) == ("double", 0.5, 0.9, "group")
    assert (found.cases, found.compared, found.missing, found.weighted) == (40, 40, "error", False)
    assert [one.name for one in found.sources] == list(made)
    assert [one.group for one in board.groups] == ["0", "1"]
    assert [name for name in board[0].metrics if name.startswith("top")] == ["top_1_error", "top_2_error"]
    assert board["double"].scores["brier"].baseline_skill.value == 0.0


def test_an_infinite_penalty_is_told_apart_from_the_default_in_the_record() -> None:
    """JSON has no infinity, but it has text."""
    made = {"a": [{0: 0.9, 1: 0.001}], "b": [0]}
    one, other = (tl.compare(made, [0], space=M, rules="brier", penalty=p).to_dict() for p in (None, math.inf))
    assert one["penalty"] != other["penalty"]
