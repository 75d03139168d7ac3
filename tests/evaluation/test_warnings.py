"""Boards that cannot be right say so; what they say of files is in tests/transcripts/warnings.txt."""

from __future__ import annotations

import math
import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import toplist as tl
from tests.draws import draws
from toplist.evaluation.leaderboard import Leaderboard
from toplist.inference.diagnostics import _at_most, spelling

CONFIDENCES = ((0.7, 0.1), (0.3, 0.1), (0.1, 0.8))
law = settings(deadline=None, max_examples=draws(60), derandomize=True)


def kinds(board: Leaderboard) -> dict[str, list[tuple[str, ...]]]:
    """The models of each kind of warning, but for those that there are few cases, as in most boards here."""
    found: dict[str, list[tuple[str, ...]]] = {}
    for one in board.comparison.warnings:
        if one.kind != "few cases":
            found.setdefault(one.kind, []).append(one.models)
    return found


@law
@given(st.lists(st.text("abAB01 ._", min_size=1, max_size=4), max_size=5), st.lists(st.text("abAB01 ._", max_size=4)))
def test_a_spelling_is_only_blamed_where_names_differ(outcomes: list[str], listed: list[str]) -> None:
    said = spelling(outcomes, listed)
    if set(outcomes) & set(listed):
        assert "differ in" not in said


@pytest.mark.parametrize(("n", "m"), [(5, 2), (50, 4), (300, 10), (40, 1000)])
def test_random_guesses_are_rarely_called_worse_than_chance(n: int, m: int) -> None:
    """By the binomial distribution, term by term."""
    terms = [math.comb(n, k) * (1 / m) ** k * (1 - 1 / m) ** (n - k) for k in range(n + 1)]
    for k in range(n):
        assert math.isclose(_at_most(k, n, 1 / m), sum(terms[: k + 1]), rel_tol=1e-9)
    assert sum(term for k, term in enumerate(terms) if _at_most(k, n, 1 / m) < 0.01) < 0.01


@law
@given(st.lists(st.sampled_from([0.0, 0.3, 0.5, 0.7, 1.0]), min_size=1, max_size=9), st.data())
def test_little_mass_is_the_weighted_median(masses: list[float], data: st.DataObject) -> None:
    weights = data.draw(st.lists(st.sampled_from([0.5, 1.0, 3.0]), min_size=len(masses), max_size=len(masses)))
    lists = [{"a": mass} for mass in masses]
    board = tl.compare({"m": lists}, tl.Truth(["a"] * len(lists), weight=weights), space=9, rules="brier")
    thin = sum(w for mass, w in zip(masses, weights, strict=True) if 1 - mass > 0.5)
    assert ("little mass" in kinds(board)) == (thin > sum(weights) / 2)


def test_predictions_in_memory_are_doubted_as_those_in_files_are() -> None:
    y = list("abc" * 5)
    right, thin, wrong = ([dict(zip((c, "bca"["abc".index(c)]), p, strict=True)) for c in y] for p in CONFIDENCES)
    board = tl.compare({"m": right, "again": right, "thin": thin, "gold": y}, y, space=5)
    assert kinds(board) == {"perfect": [("gold",)], "same scores": [("m", "again")], "little mass": [("thin",)]}
    assert kinds(tl.compare({"m": wrong}, y, space=3)) == {"below chance": [("m",)]}


def test_warnings_stand_first_in_every_format() -> None:
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
