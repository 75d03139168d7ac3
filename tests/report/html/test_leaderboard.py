"""What the tables of models hold: ranks, intervals, infinite scores, cases, and nothing that is the same for all."""

from __future__ import annotations

import math
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


def test_ranks_come_with_their_intervals() -> None:
    cells = column(board(FOUND).main, "rank")
    for cell, row in zip(cells, FOUND.overall.rows, strict=True):
        low, high = row.rank_interval or (0, 0)
        assert (cell.text, cell.value) == (str(row.rank), row.rank)
        assert cell.below == (f"{low}" if low == high else f"{low}\u2013{high}")


def test_an_infinite_mean_comes_with_the_number_of_scores_that_made_it_so() -> None:
    found = made.drawn(cases=1400)
    cells = column(board(found).main, "log")
    counts = [row.scores["log"].infinite for row in found.overall.rows]
    assert any(counts)
    for cell, n in zip(cells, counts, strict=True):
        assert (
            (str(cell.text) == f"\u221e ({n})" and cell.value == math.inf)
            if n
            else re.match(r"\d\.\d+$", str(cell.text))
        )
    assert len(column(board(found).more, "finite log")) == len(counts)


def test_accuracy_is_in_per_cent() -> None:
    for cell, row in zip(column(board(FOUND).main, "accuracy"), FOUND.overall.rows, strict=True):
        assert str(cell.text) == f"{100 * row.metrics['accuracy'].value:.1f}%"
        assert cell.value == row.metrics["accuracy"].value


def test_what_is_the_same_for_all_is_one_line() -> None:
    rows = tuple(replace(row, metrics={**row.metrics, "coverage": Estimate(1.0)}) for row in FOUND.overall.rows)
    found = board(replace(FOUND, overall=replace(FOUND.overall, rows=rows)))
    listed = {head for table in (found.main, found.more) if table is not None for head in heads(table)}
    assert str(found.constant) == "All models: coverage 100.0%."
    for table in (found.main, found.more):
        assert table is not None
        for head in heads(table)[2:]:
            assert len({cell.shown for cell in column(table, head)}) > 1
    assert not [head for head in listed if f"{head} " in str(found.constant)]


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


def test_models_with_cases_of_their_own_have_relative_scores_and_cases() -> None:
    found = made.apart(FOUND, (200, 150, 200, 30))
    table = board(found).main
    assert [cell.value for cell in column(table, "cases")] == [row.cases for row in found.overall.rows]
    assert heads(table).index("relative") < heads(table).index("Brier")
    assert column(board(found).more, "cases with best")[0].text == NOTHING
    assert "cases" not in heads(board(FOUND).main)
    assert "relative" not in heads(board(FOUND).main)


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


def test_an_interval_ends_where_the_score_does() -> None:
    wide = Estimate(0.1, -0.2, 2.5)
    assert (leaderboard.bounded(wide, "brier").low, leaderboard.bounded(wide, "brier").high) == (0.0, 2.0)
    assert leaderboard.bounded(wide, "Power(3)") == wide
    assert leaderboard.bounded(wide, "log").high == 2.5


def test_the_uniform_prediction_is_on_the_axis_only_where_it_is_near() -> None:
    far = board(FOUND).main.foot
    assert not any("uniform" in cell.shown[0] for cell in far)
    reference = leaderboard.uniform(FOUND)
    assert reference == pytest.approx(1 - 1 / 246, abs=0.02)
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


def test_one_model_has_no_ranks_ties_or_differences() -> None:
    found = made.drawn(("alone",), cases=50, paths=0, zeros=False)
    assert heads(board(found).main)[:2] == ["rank", "model"]
    assert not {"ties", "Δ vs best"} & set(heads(board(found).main))
    assert "Differences" not in render_undrawn(Page(found))


def test_rules_go_by_their_names() -> None:
    said = read(render_undrawn(made.page(cases=60, rules=("brier", "log")))).one("main").text
    assert "brier" not in said.replace("--rule brier", "")
    assert "Brier" in said
