"""Means by class and by group: colour says what is significant and nothing else, numbers are those of the record."""

from __future__ import annotations

import math
import re
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import toplist as tl
from tests.report import page_results as made
from tests.report.html.hostile import HOSTILE
from tests.report.html.undrawn import made as section_of
from tests.report.html.undrawn import section, styled, table, tree
from toplist.evaluation import breakdown
from toplist.inference.results import Breakdown
from toplist.report.html import Page, cases, sections
from toplist.report.text import names

pytest.importorskip("jinja2", reason="reports need jinja2")

FOUR = ("a", "b", "c", "d")
COLOUR = re.compile(r"\b(below|above)[1-4]\b")


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
        for row, flags, steps in zip(found.differences, found.significant, cases.steps(found), strict=True)
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


def test_a_table_without_significant_differences_has_no_colour_and_says_so() -> None:
    found = section(page(least=9.0), "classes")
    assert not [one for one in found.every("td") if COLOUR.search(one.attributes.get("class", ""))]
    assert "No difference to the mean of the models is significant (Holm over all cells, 95%)." in found.text


def test_cells_show_the_means_and_the_lowest_of_each_class_is_marked() -> None:
    one = page()
    by = one.breakdowns[0]
    head, mean, *rows = table(one, "classes")
    assert head[0] == "model"
    assert mean[0] == "mean of 4"
    assert [row[0] for row in rows] == list(by.models)
    assert [[float(x) for x in row[1:]] for row in rows] == [
        [pytest.approx(by.means[g][m], abs=6e-4) for g in range(len(by.groups))] for m in range(len(by.models))
    ]
    assert len(styled(tree(one).identified("table-classes"), "lowest")) == len(by.groups)
    assert "Hardest: " in section(one, "classes").text


def test_numbers_of_cases_are_shown_once_where_all_classes_have_as_many() -> None:
    assert "n 110" in table(page(), "classes")[0][2]
    same = page(cases=(100,) * 4)
    assert not any("100" in head for head in table(same, "classes")[0])
    assert "100 cases each." in section(same, "classes").text


@pytest.mark.parametrize(
    ("groups", "names", "rows"), [(10, 4, 5), (15, 4, 15), (15, 14, 15), (35, 4, 20), (35, 14, 15)]
)
def test_many_classes_become_rows_and_at_most_twenty_are_shown(groups: int, names: int, rows: int) -> None:
    one = page([f"m{i}" for i in range(names)], groups=[f"g{i}" for i in range(groups)])
    head, *body = table(one, "classes")
    assert len(body) == rows
    assert len(head) <= 21
    folded = [
        x for x in tree(one).every("details") if "table-classes-all" in {y.attributes.get("id") for y in x.every()}
    ]
    assert len(folded) == (groups > 20)
    assert all("unprinted" in x.attributes["class"] for x in folded)


def test_classes_where_another_model_is_better_than_the_leader_are_named() -> None:
    lead, second, *_ = (row.name for row in page().results.overall.rows)
    found = section(page(reversals=(("ship", second),)), "classes")
    assert f"Significantly better than {lead}: {second} in ship." in found.text
    assert "Significantly better than" not in section(page(), "classes").text


def test_of_two_models_the_difference_alone_has_a_colour() -> None:
    one = page(("a", "b"), spread=0.05, least=0.06)
    by, pair = one.breakdowns[0], sections.two(one)
    assert pair is not None
    head, *rows = table(one, "classes")
    assert head[-1] == "Δ"
    assert head[2:4] == [pair.reference, pair.candidate]
    for row in rows:
        old, new, difference = (float(x.replace("\u2212", "-")) for x in row[2:])
        assert difference == pytest.approx(new - old, abs=2e-3)
    coloured = [bool(COLOUR.search(td.attributes.get("class", ""))) for td in styled_cells(one)]
    assert coloured == [flag for row in by.significant for flag in (False, False, False, row[0])]


def styled_cells(one: Page):
    return list(tree(one).identified("table-classes").one("tbody").every("td"))


def test_infinite_means_are_shown_as_such_without_a_colour() -> None:
    base = page().breakdowns[0]
    means = ((math.inf, *base.means[0][1:]), *base.means[1:])
    differences = ((math.nan,) * 4, *base.differences[1:])
    flags = ((False,) * 4, *base.significant[1:])
    one = page(means=means, differences=differences, significant=flags)
    assert table(one, "classes")[2][1] == "∞"


def test_the_asked_for_groups_have_a_section_of_their_own() -> None:
    one = made.whole(names=FOUR, rules=("brier",), paths=0, groups=3)
    assert [by.by for by in one.breakdowns] == ["true class", "subject"]
    assert len(table(one, "groups")) == 6
    assert section_of(cases.groups, replace(one, breakdowns=one.breakdowns[:1])) is None
    assert section_of(cases.by_class, replace(one, breakdowns=(), exhibits=())) is None


def test_confusions_of_the_best_are_a_table_and_those_of_others_a_line() -> None:
    one = page()
    head, *rows = table(one, "confusions")
    first = one.exhibits[0].confusions
    assert [(row[0], row[1], int(row[2])) for row in rows] == [(c.true, c.predicted, c.cases) for c in first[:6]]
    assert len(styled(section(one, "classes"), "brief")) == 1
    assert head[:3] == ["true class", "predicted", "cases"]


@pytest.mark.parametrize("kind", HOSTILE)
def test_hostile_classes_stay_text(kind: str) -> None:
    bad = HOSTILE[kind]
    classes = (bad, bad + "2", "dog")
    one = made.whole(names=FOUR, rules=("brier",), paths=0, classes=classes)
    found = tree(one)
    assert len(list(found.every("script"))) == len(list(tree(page()).every("script")))
    assert not list(found.every("img", "iframe", "object", "base", "form"))
    assert all(not key.startswith("on") for x in found.every() for key in x.attributes)
    assert not re.search("[\x00-\x08\x0b\x0c\x0e-\x1f\u202a-\u202e\u2066-\u2069\ud800-\udfff]", found.text)


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
