"""What the tables of models hold: ranks, intervals, infinite scores, cases, and nothing that is the same for all."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.report import results as made
from tests.report.html.no_figures import render_undrawn
from tests.report.html.parse_page import read
from toplist._text import NOTHING
from toplist.inference.results import Comparison, Estimate
from toplist.report import statements
from toplist.report.html import Page, leaderboard
from toplist.report.html.grid import Cell, Grid, Head, varying
from toplist.report.text import Name, names

FOUND = made.drawn(tuple("ABCD"), cases=200, paths=0)


def shown(results: Comparison) -> dict[str, Name]:
    return names(row.name for row in results.overall.rows)


def board(results: Comparison) -> leaderboard.Board:
    return leaderboard.leaderboard(results, {}, shown(results))


def heads(table: Grid) -> list[str]:
    return [str(one.text) for one in table.heads]


def column(table: Grid | None, head: str) -> list[Cell]:
    assert table is not None
    at = heads(table).index(head)
    return [row[at] for row in table.rows]


def means(results: Comparison, values: list[Estimate], rule: str = "brier") -> Comparison:
    """With these means under a rule."""
    rows = tuple(
        replace(row, scores={**row.scores, rule: replace(row.scores[rule], mean=mean)})
        for row, mean in zip(results.overall.rows, values, strict=True)
    )
    return replace(results, overall=replace(results.overall, rows=rows))


@given(st.lists(st.lists(st.sampled_from(["a", "b", NOTHING]), min_size=3, max_size=3), max_size=6))
def test_a_column_is_kept_if_it_varies_told_if_it_is_constant_and_dropped_if_it_is_empty(
    texts: list[list[str]],
) -> None:
    columns = [(Head(str(i)), [Cell(text) for text in own]) for i, own in enumerate(texts)]
    kept, constant = varying(columns)
    assert [str(head.text) for head, _ in kept] == [str(i) for i, own in enumerate(texts) if len(set(own)) > 1]
    assert [(str(head), cell.text) for head, cell in constant] == [
        (str(i), own[0]) for i, own in enumerate(texts) if len(set(own)) == 1 and own[0] != NOTHING
    ]


@given(st.lists(st.tuples(st.floats(0, 2), st.floats(0, 1), st.floats(0, 1)), min_size=4, max_size=4))
def test_whiskers_keep_the_order_of_numbers_and_lie_within_their_cell(found: list[tuple[float, float, float]]) -> None:
    estimates = [Estimate(value, value - low, value + high) for value, low, high in found]
    table = board(means(FOUND, estimates)).main
    (cells,) = ([row[i] for row in table.rows] for i, head in enumerate(table.heads) if head.classes == "whisker")
    places = []
    for cell, mean in zip(cells, estimates, strict=True):
        markup = cell.shown[0]
        x1, x2, cx = (float(re.search(rf'(?<!ref" ){name}="([\d.]+)%"', markup.split("/>", 1)[1])[1])  # type: ignore[index]
                      for name in ("x1", "x2", "cx"))  # fmt: skip
        assert 0 <= x1 <= cx <= x2 <= 100
        places.append((mean.value, cx))
    places.sort()
    assert all(a[1] <= b[1] for a, b in pairwise(places))


def test_the_uniform_prediction_is_on_the_axis_only_where_it_is_near() -> None:
    far = board(FOUND).main.foot
    assert not any("uniform" in cell.shown[0] for cell in far)
    reference = leaderboard.uniform(FOUND)
    assert reference == pytest.approx(1 - 1 / made.CLASSES)
    near = means(FOUND, [Estimate(reference - 0.1 * i, None, None) for i in (4, 3, 2, 0.5)])
    first = near.overall.rows[0]
    skill = Estimate(1 - first.scores["brier"].mean.value / reference)
    rows = (replace(first, scores={**first.scores, "brier": replace(first.scores["brier"], skill=skill)}),)
    near = replace(near, overall=replace(near.overall, rows=(*rows, *near.overall.rows[1:])))
    assert any("uniform" in cell.shown[0] for cell in board(near).main.foot)


def test_without_an_interval_there_is_a_point_and_the_reason_is_told() -> None:
    first, *others = FOUND.overall.rows
    level = [Estimate(0.5, reason="no spread: all scores are the same"), *(row.scores["brier"].mean for row in others)]
    found = means(FOUND, level)
    said = [str(one) for one in statements.missing_intervals(found.overall, shown(found))]
    assert f"No interval for {first.name} under the Brier score: no spread: all scores are the same." in said
    assert said[0] in read(render_undrawn(Page(found))).one("main").text
    assert column(board(found).main, "Brier")[0].text == "0.500"
