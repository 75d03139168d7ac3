"""Cases are shown as lists with the true class marked; who else is right is counted, and two models are compared."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.report import page_results as made
from tests.report.html.hostile import HOSTILE
from tests.report.html.parse_page import Element
from tests.report.html.undrawn import made as section_of
from tests.report.html.undrawn import section, shown, styled, tree
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


def test_the_page_shows_four_cards_of_the_best_and_folds_four_more() -> None:
    one = page()
    many = tuple(made.case(made.prediction(lead(one)), called=f"case {i}") for i in range(20))
    found = section(replace(one, exhibits=(replace(one.exhibits[0], worst=many),), against=()), "cases")
    folded = [x for x in found.every("details") for x in styled(x, "case")]
    assert len(styled(found, "case")) == 8
    assert len(folded) == 4


def test_the_leader_is_compared_with_each_other_model_in_a_sentence_and_cards_both_ways() -> None:
    one = page()
    found = section(one, "cases")
    a, b, *_ = (row.name for row in one.results.overall.rows)
    said = f"Top-1 predictions: only {a} right in 120, only {b} right in 80, both right in 700, both wrong in 100, of"
    assert said in found.text
    assert "The difference disappears if the 26 most favourable cases are removed." in found.text
    assert found.text.count("Largest advantages of") == 2 * len(one.against)
    cards = [x for x in styled(found, "case") if len(styled(x, "bars")) == 2]
    assert len(cards) == 2 * len(one.against)


def test_pairs_of_models_that_are_not_on_the_page_are_left_out() -> None:
    one = page()
    found = section(replace(one, against=(made.pair(lead(one), "stranger"),)), "cases")
    assert "stranger" not in found.text


def sides_of(found: Element) -> list[str]:
    """The names of the cases on either side."""
    return [" ".join(b.text for b in x.every("b")) for x in styled(found, "two")[0].inside if not isinstance(x, str)]


@pytest.mark.parametrize("baseline", [0, 1])
def test_a_page_of_a_candidate_and_a_baseline_has_fixed_and_broken_cases(baseline: int) -> None:
    one = page(("a", "b"))
    names = [row.name for row in one.results.overall.rows]
    base, other = names[baseline], names[1 - baseline]
    against = made.pair(base, other)  # the baseline comes first
    found = section(replace(one, results=replace(one.results, baseline=base), against=(against,)), "cases")
    assert f"Fixed: 80 cases right in {other}, wrong in {base}" in found.text
    assert f"Broken: 120 cases wrong in {other}, right in {base}" in found.text
    assert f"{other} has 430 wins, 560 losses and 10 ties by Brier score" in found.text
    assert "case 9" in sides_of(found)[0]
    assert "case 8" in sides_of(found)[1]


def test_without_a_baseline_no_case_is_fixed_or_broken() -> None:
    one = page(("a", "b"))
    a, b = (row.name for row in one.results.overall.rows)
    found = section(replace(one, against=(made.pair(a, b),)), "cases")
    assert f"Only {a} right: 120 cases" in found.text
    assert f"Only {b} right: 80 cases" in found.text
    assert not re.search("fixed|broken|wins|losses", found.text, re.IGNORECASE)
    assert "case 8" in sides_of(found)[0]
    assert "case 9" in sides_of(found)[1]


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


@pytest.mark.parametrize("baseline", [None, "a"])
@pytest.mark.parametrize("names", [("a", "b"), FOUR])
def test_of_a_truth_of_distributions_no_prediction_is_right_or_wrong(
    names: tuple[str, ...], baseline: str | None
) -> None:
    one = page(names)
    soft = replace(made.pair("a", "b"), both_right=0, only_a_right=0, only_b_right=0, both_wrong=0)
    results = replace(one.results, baseline=baseline)
    found = section(replace(one, results=results, against=(soft,)), "cases")
    assert not re.search("both right|only . right|fixed|broken", found.text, re.IGNORECASE)
    assert found.text.count("Largest advantages of") >= 2
    assert "Top-1 predictions" not in as_markdown(results, against=(soft,))


def test_labels_to_check_are_counted_over_all_worst_cases_of_the_best() -> None:
    """So that the number is that of the suggested action."""
    one = page()
    wrong = [replace(made.case(made.prediction(lead(one)), called=f"case {i}"), right=0.0, models=4) for i in range(10)]
    found = section(replace(one, exhibits=(replace(one.exhibits[0], worst=tuple(wrong)),), against=()), "cases")
    assert "No model is right in 10 of the 10 cases with the largest scores: check the labels." in found.text


def test_with_a_baseline_every_other_model_has_fixed_and_broken_cases() -> None:
    one = page()
    base, *others = (row.name for row in one.results.overall.rows)
    against = tuple(made.pair(base, other) for other in others)
    found = section(replace(one, results=replace(one.results, baseline=base), against=against), "cases")
    for other in others:
        assert f"{other} against the baseline {base}" in found.text
        assert f"Fixed: 80 cases right in {other}, wrong in {base}" in found.text
        assert f"Broken: 120 cases wrong in {other}, right in {base}" in found.text
    assert "Largest advantages" not in found.text


def test_without_cases_there_is_no_section() -> None:
    one = page()
    bare = tuple(replace(x, worst=()) for x in one.exhibits)
    assert section_of(cases.cases, replace(one, exhibits=bare, against=())) is None


@pytest.mark.parametrize("names", [("a", "b"), FOUR])
@pytest.mark.parametrize("kind", HOSTILE)
def test_hostile_names_of_cases_and_classes_stay_text(kind: str, names: tuple[str, ...]) -> None:
    bad = HOSTILE[kind]
    one = page(names)
    a, b, *_ = (row.name for row in one.results.overall.rows)
    listed = ((bad, 0.9), (bad + "2", 0.1))
    worst = made.case(made.prediction(a, listed, bad), called=bad, outcome=bad)
    both = made.case(made.prediction(a, listed, bad), made.prediction(b, listed[::-1], bad), called=bad, outcome=bad)
    against = made.pair(a, b, for_a=(both,), for_b=(both,))
    found = tree(replace(one, exhibits=(replace(one.exhibits[0], worst=(worst,)),), against=(against,)))
    assert len(list(found.every("script"))) == len(list(tree(one).every("script")))
    assert not list(found.every("img", "iframe", "object", "base", "form"))
    assert all(not key.startswith("on") for x in found.every() for key in x.attributes)
    assert not re.search("[\x00-\x08\x0b\x0c\x0e-\x1f\u202a-\u202e\u2066-\u2069\ud800-\udfff]", found.text)
