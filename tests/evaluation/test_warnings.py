"""Boards that cannot be right say so, for files and for predictions in memory alike."""

from __future__ import annotations

import csv
import json
import math
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import toplist as tl
from tests.draws import draws
from toplist._text import NOTHING
from toplist.errors import AlignmentError, SpaceError, TopListError
from toplist.evaluation.leaderboard import Leaderboard
from toplist.inference.diagnostics import _at_most, spelling

ANIMALS = ["cat", "dog", "fox", "hen", "owl"]
HERE = ("files", "memory")
law = settings(deadline=None, max_examples=draws(60), derandomize=True)


def kinds(board: Leaderboard) -> dict[str, list[tuple[str, ...]]]:
    """The models of each kind of warning, but for those that there are few cases, as in most boards here."""
    found: dict[str, list[tuple[str, ...]]] = {}
    for one in board.comparison.warnings:
        if one.kind != "few cases":
            found.setdefault(one.kind, []).append(one.models)
    return found


def compared(
    how: str, folder: Path, made: Mapping[str, Sequence[Mapping[str, float]]], y: Sequence[str], **options: Any
) -> Leaderboard:
    """The same predictions, from files or from memory."""
    if how == "memory":
        return tl.compare({name: list(lists) for name, lists in made.items()}, list(y), **options)
    pytest.importorskip("duckdb", reason="files are an extra")
    for name, lists in made.items():
        with (folder / f"{name}.csv").open("w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(["case", "class", "confidence"])
            writer.writerows([i, c, repr(t)] for i, one in enumerate(lists) for c, t in (one or {"": ""}).items())
    with (folder / "truth.csv").open("w", newline="") as file:
        csv.writer(file).writerows([["case", "outcome"], *enumerate(y)])
    return tl.compare({name: folder / f"{name}.csv" for name in made}, folder / "truth.csv", **options)


def drawn(seed: int, n: int, sharp: float = 2.0) -> tuple[list[dict[str, float]], list[str]]:
    """Lists of three of five classes, and outcomes that follow them."""
    rng = np.random.default_rng(seed)
    p = rng.dirichlet([0.5] * 5, size=n) ** sharp
    p /= p.sum(axis=1, keepdims=True)
    y = [ANIMALS[rng.choice(5, p=row)] for row in p]
    lists = [{ANIMALS[c]: float(row[c]) for c in np.argsort(-row)[:3]} for row in p]
    return lists, y


@pytest.mark.parametrize("how", HERE)
def test_a_board_as_it_should_be_carries_no_warning(how: str, tmp_path: Path) -> None:
    lists, y = drawn(0, 200)
    flatter = [{c: 0.8 * t for c, t in one.items()} for one in lists]
    board = compared(how, tmp_path, {"a": lists, "b": flatter}, y, space=5)
    assert board.comparison.warnings == ()
    assert "Warning" not in board.to_text()


@pytest.mark.parametrize("how", HERE)
@pytest.mark.parametrize(
    ("change", "told"),
    [
        (str.title, "'Owl' (outcome) and 'owl' (listed) differ in case."),
        (lambda name: name + " ", "'owl ' (outcome) and 'owl' (listed) differ in blanks around them."),
        (lambda name: str(ANIMALS.index(name)), "the outcomes are numbers such as '4', the listed classes are names"),
    ],
    ids=["case", "blanks", "codes"],
)
def test_outcomes_that_are_never_listed_come_with_the_nearest_spelling(
    how: str, change: Any, told: str, tmp_path: Path
) -> None:
    board = compared(how, tmp_path, {"m": [{"owl": 0.7}] * 3, "n": [{"owl": 0.6}] * 3}, [change("owl")] * 3, space=10)
    (found,) = [one for one in board.comparison.warnings if one.kind == "never listed"]
    assert set(found.models) == {"m", "n"}
    assert found.sentence.startswith("no outcome is ever listed; ")
    assert told in found.sentence


@pytest.mark.parametrize("how", HERE)
def test_few_misses_without_a_spelling_that_explains_them_are_no_wonder(how: str, tmp_path: Path) -> None:
    lists = [{"owl": 0.7}]
    assert "never listed" not in kinds(compared(how, tmp_path, {"m": lists * 3}, ["fox"] * 3, space=10))
    assert "never listed" in kinds(compared(how, tmp_path, {"m": lists * 30}, ["fox"] * 30, space=10))


@law
@given(st.lists(st.text("abAB01 ._", min_size=1, max_size=4), max_size=5), st.lists(st.text("abAB01 ._", max_size=4)))
def test_a_spelling_is_only_blamed_where_names_differ(outcomes: list[str], listed: list[str]) -> None:
    said = spelling(outcomes, listed)
    if set(outcomes) & set(listed):
        assert "differ in" not in said


def test_too_many_names_that_differ_in_case_are_named_before_more_classes_are_asked_for(tmp_path: Path) -> None:
    lists = [{name: 0.7} for name in ANIMALS]
    with pytest.raises(SpaceError) as caught:
        compared("files", tmp_path, {"m": lists}, [name.title() for name in ANIMALS], space=5)
    assert "'cat' and 'Cat'" in str(caught.value)
    assert "differ only in case or blanks" in str(caught.value)
    assert "Declare" not in str(caught.value)
    with pytest.raises(SpaceError, match=r"6 different classes have been named .among them .*Declare the right number"):
        compared("files", tmp_path, {"m": [*lists, {"newt": 0.5}]}, [*ANIMALS, "cat"], space=5)


@pytest.mark.parametrize("how", HERE)
def test_the_truth_as_a_prediction_is_told_so(how: str, tmp_path: Path) -> None:
    lists, y = drawn(1, 30)
    board = compared(how, tmp_path, {"m": lists, "gold": [{name: 1.0} for name in y]}, y, space=5)
    assert kinds(board) == {"perfect": [("gold",)]}
    assert " !  gold: every prediction is right with certainty: is this the truth itself?" in board.to_text()


def test_a_perfect_accuracy_is_not_a_perfect_score() -> None:
    board = tl.compare({"m": [{"a": 0.9}] * 20}, ["a"] * 20, space=3)
    assert board.comparison.warnings == ()
    assert kinds(tl.compare({"m": ["a"] * 20}, ["a"] * 20, space=3, rules="zero-one")) == {"perfect": [("m",)]}


@pytest.mark.parametrize("how", HERE)
def test_a_permuted_truth_is_worse_than_to_say_nothing(how: str, tmp_path: Path) -> None:
    lists, y = drawn(2, 400, sharp=4.0)
    wrong = [ANIMALS[(ANIMALS.index(name) + 1) % 5] for name in y]
    flatter = [{c: 0.9 * t for c, t in one.items()} for one in lists]
    found = kinds(compared(how, tmp_path, {"a": lists, "b": flatter}, wrong, space=5))
    assert found["worse than uniform"] == [("b", "a")]
    assert set(sum(found["below chance"], ())) == {"a", "b"}
    right = kinds(compared(how, tmp_path, {"a": lists, "b": flatter}, y, space=5))
    assert "worse than uniform" not in right
    assert "below chance" not in right


def test_one_bad_model_does_not_make_the_truth_wrong() -> None:
    lists, y = drawn(3, 300)
    wrong = [ANIMALS[(ANIMALS.index(name) + 1) % 5] for name in y]
    assert "worse than uniform" not in kinds(tl.compare({"good": lists, "bad": wrong}, y, space=5))


@pytest.mark.parametrize(("n", "m"), [(5, 2), (50, 4), (300, 10), (40, 1000)])
def test_random_guesses_are_rarely_called_worse_than_chance(n: int, m: int) -> None:
    """By the binomial distribution, term by term."""
    terms = [math.comb(n, k) * (1 / m) ** k * (1 - 1 / m) ** (n - k) for k in range(n + 1)]
    for k in range(n):
        assert math.isclose(_at_most(k, n, 1 / m), sum(terms[: k + 1]), rel_tol=1e-9)
    assert sum(term for k, term in enumerate(terms) if _at_most(k, n, 1 / m) < 0.01) < 0.01


def test_cases_of_one_cluster_count_once() -> None:
    y = [0] * 59 + [1]
    options: dict[str, Any] = {"space": 3, "rules": "brier"}
    guesses = {"m": [1] * 60}
    assert "below chance" in kinds(tl.compare(guesses, y, **options))
    assert "below chance" not in kinds(tl.compare(guesses, tl.Truth(y, cluster=[0] * 30 + [1] * 30), **options))


@pytest.mark.parametrize("how", HERE)
@pytest.mark.parametrize("noise", [0.0, 2.0**-52], ids=["exactly", "but for the last digit"])
def test_the_same_predictions_are_told_so_and_not_tested(how: str, noise: float, tmp_path: Path) -> None:
    lists, y = drawn(5, 80)
    again = [{c: t * (1 - noise * (i % 2)) for c, t in one.items()} for i, one in enumerate(lists)]
    other = [{c: 0.5 * t for c, t in one.items()} for one in lists]
    board = compared(how, tmp_path, {"a": lists, "b": again, "c": other}, y, space=5)
    assert [set(who) for who in kinds(board)["same scores"]] == [{"a", "b"}]
    pair = next(one for one in board.pairwise if {one.a, one.b} == {"a", "b"} and one.rule == "brier")
    assert pair.adjusted_p is None
    assert pair.difference.p is None
    assert "the same in every case" in pair.difference.reason
    behind = next(
        row.scores["brier"].difference
        for row in board
        if row.name in "ab" and row.scores["brier"].difference is not None
    )
    assert board["c"].scores["brier"].difference is None or behind.low is None
    tested = [one for one in board.pairwise if one.rule == "brier" and one.adjusted_p is not None]
    assert len(tested) == 2
    assert all(one.adjusted_p <= 2 * (one.difference.p or 0) for one in tested if one.adjusted_p is not None)


def test_predictions_that_differ_in_one_case_are_not_the_same() -> None:
    lists, y = drawn(6, 200)
    other = [dict(one) for one in lists]
    first = next(iter(other[7]))
    other[7][first] *= 1 - 1e-6
    board = tl.compare({"a": lists, "b": other}, y, space=5)
    assert "same scores" not in kinds(board)
    assert board.pairwise[0].difference.p is not None


def test_infinite_scores_in_the_same_cases_are_the_same() -> None:
    a = [{"x": 1.0}, {"x": 1.0}, {"x": 0.5}, {"x": 0.4}]
    y = ["x", "z", "x", "z"]
    assert kinds(tl.compare({"a": a, "b": a}, y, space=3, rules="log")) == {"same scores": [("a", "b")]}
    b = [{"x": 0.5}, {"x": 1.0}, {"x": 1.0}, {"x": 0.4}]
    moved = ["z", "x", "z", "x"]
    assert "same scores" not in kinds(tl.compare({"a": a, "b": b}, moved, space=3, rules="log"))


@pytest.mark.parametrize("how", HERE)
def test_a_median_rest_mass_above_one_half_is_said(how: str, tmp_path: Path) -> None:
    thin, full = {"cat": 0.3}, {"cat": 0.6}
    board = compared(how, tmp_path, {"m": [thin] * 6 + [full] * 5, "n": [thin] * 5 + [full] * 6}, ["cat"] * 11, space=5)
    assert kinds(board)["little mass"] == [("m",)]


@law
@given(st.lists(st.sampled_from([0.0, 0.3, 0.5, 0.7, 1.0]), min_size=1, max_size=9), st.data())
def test_little_mass_is_the_weighted_median(masses: list[float], data: st.DataObject) -> None:
    weights = data.draw(st.lists(st.sampled_from([0.5, 1.0, 3.0]), min_size=len(masses), max_size=len(masses)))
    lists = [{"a": mass} for mass in masses]
    board = tl.compare({"m": lists}, tl.Truth(["a"] * len(lists), weight=weights), space=9, rules="brier")
    thin = sum(w for mass, w in zip(masses, weights, strict=True) if 1 - mass > 0.5)
    assert ("little mass" in kinds(board)) == (thin > sum(weights) / 2)


@pytest.mark.parametrize("missing", ["error", "common", "pairwise", "uniform"])
@pytest.mark.parametrize(
    ("ours", "theirs", "hint"),
    [
        ("{:03d}", "{}", "'000' and '0' (truth) differ in leading zeros"),
        ("img/{}.png", "{}", "differ in folder and file extension"),
        ("{}.png", "{}", "differ in the file extension"),
        ("A{}", "a{}", "differ in case"),
        ("x{}", "y{}", ""),
    ],
)
def test_files_without_a_case_in_common_are_refused_with_what_their_ids_look_like(
    missing: str, ours: str, theirs: str, hint: str, tmp_path: Path
) -> None:
    pytest.importorskip("duckdb", reason="files are an extra")
    rows = [f"{ours.format(i)},cat,0.5" for i in range(4)]
    (tmp_path / "p.csv").write_text("\n".join(["case,class,confidence", *rows]))
    (tmp_path / "y.csv").write_text("\n".join(["case,outcome", *(f"{theirs.format(i)},cat" for i in range(4))]))
    with pytest.raises(AlignmentError) as caught:
        tl.compare({"m": tmp_path / "p.csv"}, tmp_path / "y.csv", space=5, missing=missing)
    assert hint in str(caught.value)
    assert missing == "error" or "m has none of the cases of the truth" in str(caught.value)


def sparse(folder: Path, cases: Mapping[str, Sequence[int]], n: int) -> tuple[dict[str, Path], Path]:
    """Models that have some of the cases each; the sharper, the shorter their name."""
    lists, y = drawn(7, n)
    for name, have in cases.items():
        rows = [f"{i},{c},{t * (0.9 if len(name) > 1 else 1.0)!r}" for i in have for c, t in lists[i].items()]
        (folder / f"{name}.csv").write_text("\n".join(["case,class,confidence", *rows]))
    (folder / "y.csv").write_text("\n".join(["case,outcome", *(f"{i},{name}" for i, name in enumerate(y))]))
    return {name: folder / f"{name}.csv" for name in cases}, folder / "y.csv"


def test_models_with_few_cases_are_shown_and_not_ranked_where_that_is_asked_for(tmp_path: Path) -> None:
    pytest.importorskip("duckdb", reason="files are an extra")
    files, y = sparse(tmp_path, {"s": range(8), "long": range(60), "longer": range(5, 60)}, 60)
    board = tl.compare(files, y, space=5, missing="pairwise")
    assert [row.rank for row in board] == [1, 2, 3]
    ranked = tl.compare(files, y, space=5, missing="pairwise", inference=tl.Inference(min_cases=20))
    assert [row.rank for row in ranked] == [1, 2, None]
    assert ranked[2].name == "s"
    assert ranked[2].cases == 8
    assert "not ranked, fewer than 20 cases: s (8)" in ranked.to_text()
    assert any(line.split()[:2] == [NOTHING, "s"] for line in ranked.to_text().splitlines())
    assert json.loads(ranked.to_json())["overall"]["rows"][2]["rank"] is None
    assert json.loads(ranked.to_json())["min_cases"] == 20
    without = tl.compare({k: v for k, v in files.items() if k != "s"}, y, space=5, missing="pairwise")
    for name in ("long", "longer"):  # those that are not ranked do not count for the others either
        assert ranked[name].scores["brier"].relative == without[name].scores["brier"].relative
    with pytest.raises(TopListError, match="no model has so many cases, the most is 60"):
        tl.compare(files, y, space=5, missing="pairwise", inference=tl.Inference(min_cases=61))


def test_a_leader_with_few_cases_is_pointed_out(tmp_path: Path) -> None:
    pytest.importorskip("duckdb", reason="files are an extra")
    files, y = sparse(tmp_path, {"s": range(8), "long": range(60), "longer": range(60)}, 60)
    board = tl.compare(files, y, space=5, missing="pairwise")
    found = [one for one in board.comparison.warnings if one.kind == "leader with few cases"]
    assert bool(found) == (board[0].name == "s")
    if found:
        assert "8 of 60 cases, where the median model has 60" in found[0].sentence
    assert "leader with few cases" not in kinds(
        tl.compare(files, y, space=5, missing="pairwise", inference=tl.Inference(min_cases=10))
    )


def test_a_leader_that_loses_its_direct_comparison_is_pointed_out(tmp_path: Path) -> None:
    """It leads by what others make of their own cases, not by what both have."""
    pytest.importorskip("duckdb", reason="files are an extra")
    n, half = 60, 30
    have = {
        "a": dict.fromkeys(range(n), 0.85),
        "b": dict.fromkeys(range(half), 0.9),
        "c": dict.fromkeys(range(half, n), 0.02),
    }
    rng = np.random.default_rng(8)
    for name, values in have.items():
        rows = [f"{i},cat,{t + 0.01 * rng.random()!r}" for i, t in values.items()]
        (tmp_path / f"{name}.csv").write_text("\n".join(["case,class,confidence", *rows]))
    (tmp_path / "y.csv").write_text("\n".join(["case,outcome", *(f"{i},cat" for i in range(n))]))
    board = tl.compare(
        {name: tmp_path / f"{name}.csv" for name in have}, tmp_path / "y.csv", space=5, missing="pairwise"
    )
    assert board[0].name == "a"
    lost = board.difference("a", "b")
    assert lost.low is not None
    assert lost.low > 0
    assert kinds(board)["leader beaten"] == [("a", "b")]


def test_warnings_stand_first_in_every_format(tmp_path: Path) -> None:
    board = tl.compare({"m_1": [{"owl": 0.7}] * 3}, ["Owl"] * 3, space=10)
    sentence = "no outcome is ever listed; 'Owl' (outcome) and 'owl' (listed) differ in case."
    for text in (board.to_text(), board.to_text(80), board.to_text(detail=True)):
        signs = re.findall("^ ([!*=]) ", text, re.MULTILINE)
        assert signs[0] == "!"
        assert f"! m_1: {sentence}" in " ".join(text.split())
    found, *_ = board.to_dict()["warnings"]
    assert found == {"kind": "never listed", "sentence": sentence, "models": ["m_1"]}


def test_the_page_shows_warnings_before_the_leaderboard(tmp_path: Path) -> None:
    pytest.importorskip("jinja2", reason="the report is an extra")
    path = tmp_path / "page.html"
    tl.compare({"<b>": [{"owl": 0.7}] * 3}, ["Owl"] * 3, space=10).report(path)
    text = path.read_text()
    assert text.index('<ul class="warnings"') < text.index('<table id="table-leaderboard"')
    assert "no outcome is ever listed; &#x27;Owl&#x27; (outcome)" in text
    assert "&lt;b&gt;" in text


def test_score_says_it_too(tmp_path: Path) -> None:
    pytest.importorskip("duckdb", reason="files are an extra")
    pytest.importorskip("typer", reason="the command is an extra")
    from tests.cli.messages import said

    (tmp_path / "p.csv").write_text("case,class\n1,cat\n2,dog\n")
    (tmp_path / "y.csv").write_text("case,outcome\n1,cat\n2,dog\n")
    code, text = said("score", tmp_path / "p.csv", "-t", tmp_path / "y.csv", "-c", "5", "-q")
    assert code == 0
    assert "warning: every prediction is right with certainty: is this the truth itself?" in text
