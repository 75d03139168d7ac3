"""A leaderboard is a frozen value: asked by name, written in every format, read back whole."""

from __future__ import annotations

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
        assert board[row.name] == board[place] == board[place - 8] == board[np.int64(place)] == row  # type: ignore[index]
    with pytest.raises(KeyError, match="'nobody' is not among 'labels', "):
        board["nobody"]
    with pytest.raises(IndexError):
        board[8]


def test_what_is_not_there_cannot_be_asked_for() -> None:
    board = board_of()
    for call, said in (
        (lambda: board.difference("nobody", "double"), "'nobody' is no model here: there are"),
        (lambda: board.difference("double", "nobody"), "'nobody' is no model here: there are"),
        (lambda: board.difference("double", "single", "quadratic"), "'quadratic' is no rule here: there are"),
    ):
        with pytest.raises(tl.TopListError, match=said):
            call()


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


def test_an_infinite_penalty_is_told_apart_from_the_default_in_the_record() -> None:
    """JSON has no infinity, but it has text."""
    made = {"a": [{0: 0.9, 1: 0.001}], "b": [0]}
    one, other = (tl.compare(made, [0], space=M, rules="brier", penalty=p).to_dict() for p in (None, math.inf))
    assert one["penalty"] != other["penalty"]
