"""Cases are shown as lists with the true class marked; who else is right is counted, and two models are compared."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.report import page_results as made
from tests.report.html.undrawn import section, shown
from toplist.report import statements
from toplist.report.html import Page, cases
from toplist.report.markup import as_markdown

pytest.importorskip("jinja2", reason="reports need jinja2")

FOUR = ("a", "b", "c", "d")


def page(names=FOUR, **changes) -> Page:
    return replace(made.whole(names=names, rules=("brier",), paths=0), **changes)


def lead(one: Page) -> str:
    return one.results.overall.rows[0].name


def card(*args, **options) -> cases.Card:
    one = page()
    view = made.case(made.prediction(lead(one), *args), **options)
    return cases.card(one, view, shown(one))


probabilities = st.sampled_from([0.0, 1e-9, 0.0004, 0.0005, 0.001, 0.3, 0.9996, 1.0]) | st.floats(0, 1)


@given(st.lists(probabilities, min_size=0, max_size=3), st.sampled_from(["cat", "dog", "bird", "unlisted class"]))
def test_cards_have_the_true_class_once_and_no_other_class_that_rounds_to_zero(
    given: list[float], outcome: str
) -> None:
    listed = tuple(zip(("dog", "cat", "bird"), sorted(given, reverse=True), strict=False))
    one = page()
    view = made.case(made.prediction(lead(one), listed, outcome=outcome), outcome=outcome)
    (listing,) = cases.card(one, view, shown(one)).listings
    true = [line for line in listing.lines if line.style == "true"]
    assert [str(line.label) for line in true] == [outcome]
    assert not {"0.000", "<0.001", "0"} & {line.probability for line in listing.lines if line.style == "false"}
    assert all(0 <= line.width <= 1 for line in listing.lines)


def test_a_list_without_classes_and_unlisted_probability_are_named() -> None:
    (empty,) = card(()).listings
    assert "no class named; scored as uniform" in [str(line.label) for line in empty.lines]
    (short,) = card((("dog", 0.7),)).listings
    assert ("unlisted", "0.300") in [(str(line.label), line.probability) for line in short.lines]


def test_a_truth_that_is_a_distribution_has_no_true_class_and_no_count_of_others() -> None:
    one = page()
    view = made.case(made.prediction(lead(one), true=None, right=float("nan")), outcome="any class alike")
    found = cases.card(one, view, shown(one))
    assert {line.style for line in found.listings[0].lines} == {"false"}
    assert not found.others
    assert not found.doubtful


@given(st.integers(0, 13), st.integers(0, 1), st.integers(1, 14))
def test_the_label_is_doubted_only_if_no_model_of_three_or_more_is_right(others: int, own: int, models: int) -> None:
    right = min(others, models - 1) + own
    one = page()
    view = made.case(made.prediction(lead(one), right=float(own)), right=float(right), models=models)
    found = cases.card(one, view, shown(one))
    assert found.doubtful == (right == 0 and models > 2)
    if models > 2:
        assert found.others == f"{right - own} of {models - 1} others right"


def test_pairs_of_models_that_are_not_on_the_page_are_left_out() -> None:
    one = page()
    found = section(replace(one, against=(made.pair(lead(one), "stranger"),)), "cases")
    assert "stranger" not in found.text


@pytest.mark.parametrize("baseline", [None, "a"])
def test_the_summary_for_a_pull_request_counts_cases_as_the_page_does(baseline: str | None) -> None:
    one = page(("a", "b"))
    results = replace(one.results, baseline=baseline)
    against = (made.pair("a", "b"),)
    told = as_markdown(results, against=against)
    text = section(replace(one, results=results, against=against), "cases").text
    for each in statements.only_one_right(against[0], baseline, shown(one)):
        assert str(each.heading) in text
    want = "only a right in 120, only b right in 80" if baseline is None else "of b against a: 80 fixed, 120 broken"
    assert want in told
