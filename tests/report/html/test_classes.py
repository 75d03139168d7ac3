"""Means by class and by group: colour says what is significant and nothing else, numbers are those of the record."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import toplist as tl
from tests.report import page_results as made
from tests.report.html.undrawn import section
from toplist.evaluation import breakdown
from toplist.inference.results import Breakdown
from toplist.report.html import Page, cases
from toplist.report.plot.leaderboard import breakdown_shades
from toplist.report.text import names

pytest.importorskip("jinja2", reason="reports need jinja2")

FOUR = ("a", "b", "c", "d")


def page(names=FOUR, **changes) -> Page:
    """A page with one breakdown by class."""
    whole = made.whole(names=names, rules=("brier",), paths=0)
    order = [row.name for row in whole.results.overall.rows]
    return replace(whole, breakdowns=(made.breakdown(order, **changes),))


@st.composite
def breakdowns(draw: st.DrawFn) -> Breakdown:
    """Any differences, any of them significant."""
    models, groups = draw(st.integers(2, 5)), draw(st.integers(1, 6))
    numbers = st.floats(-2, 2, allow_nan=False) | st.sampled_from([math.nan, math.inf, 0.0])
    rows = st.lists(st.lists(numbers, min_size=models, max_size=models), min_size=groups, max_size=groups)
    flags = st.lists(st.lists(st.booleans(), min_size=models, max_size=models), min_size=groups, max_size=groups)
    base = made.breakdown([f"m{i}" for i in range(models)], [f"g{i}" for i in range(groups)])
    return replace(base, differences=tuple(map(tuple, draw(rows))), significant=tuple(map(tuple, draw(flags))))


@given(breakdowns())
def test_only_significant_differences_have_a_colour_and_larger_ones_have_no_less(found: Breakdown) -> None:
    cells = [
        (d, is_so, step)
        for row, flags, steps in zip(found.differences, found.significant, breakdown_shades(found), strict=True)
        for d, is_so, step in zip(row, flags, steps, strict=True)
    ]
    for d, is_so, step in cells:
        assert abs(step) <= 4
        assert bool(step) == bool(is_so and d and not math.isnan(d))
        assert not step or (step > 0) == (d > 0)
    coloured = sorted((abs(d), abs(step)) for d, _, step in cells if step)
    assert [step for _, step in coloured] == sorted(step for _, step in coloured)
    if coloured and math.isfinite(coloured[0][0]):
        assert coloured[0][1] == 1, "the scale begins at the smallest significant difference"


def test_where_not_all_classes_are_shown_it_says_which_as_the_breakdown_chose_them() -> None:
    rng = np.random.default_rng(0)
    y = np.sort(rng.integers(0, breakdown._CLASSES + 20, 3000))
    p = rng.dirichlet(np.ones(breakdown._CLASSES + 20), 3000)
    board = tl.compare({"a": p, "b": 0.5 * p + 0.5 / p.shape[1]}, y)
    found, *_ = board.details().breakdowns(board.comparison, board._intervals)
    (told,) = map(str, cases._classes_shown(found))
    n, some, least = len(found.groups), breakdown._SOME, breakdown._SUPPORT
    chosen = f"the {some} hardest with at least {least} cases and the {some} most frequent"
    assert told == f"{n} of {n + found.left_out} classes: {chosen}."
    hardest, *_ = map(str, cases._hardest(found, names(found.groups)))
    assert hardest.startswith("Hardest of those: ")
    assert cases._classes_shown(replace(found, left_out=0)) == []


def test_confusions_of_one_case_are_left_out() -> None:
    one = page()
    once = tuple(replace(x, confusions=tuple(replace(c, cases=1) for c in x.confusions)) for x in one.exhibits)
    found = section(replace(one, exhibits=once), "classes")
    assert "confusions" not in found.text.lower()
