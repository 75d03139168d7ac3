"""Data quality: issues are counted by model, what all share is one line, and what is in order is a check passed."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from tests.report import page_results as made
from tests.report.html.hostile import HOSTILE
from tests.report.html.undrawn import made as section_of
from tests.report.html.undrawn import section, shown, styled, tree
from toplist.inference.results import PredictionType
from toplist.lists.checks import Issue
from toplist.report.html import Page, sections

pytest.importorskip("jinja2", reason="reports need jinja2")

FORBIDDEN = re.compile(
    r"\b(surely|promised|behind|first guess|what happened|speaks? for|gone|given no chance|want of room)\b"
)


def page(*issues: Issue, names=("a", "b", "c"), **options) -> Page:
    whole = made.whole(names=names, rules=("brier", "log"), paths=0, zeros=False, **options)
    rows = tuple(replace(row, invalid=0, missing=0) for row in whole.results.overall.rows)
    sources = tuple(replace(one, repairs={}, filled=0) for one in whole.results.sources)
    first, *others = (replace(one, invalid="") for one in whole.exhibits)
    overall = replace(whole.results.overall, rows=rows)
    results = replace(whole.results, overall=overall, sources=sources, warnings=())
    return replace(whole, results=results, exhibits=(replace(first, issues=issues), *others))


def alike(one: Page) -> Page:
    """The same where all predictions are distributions of ten classes."""
    same = tuple(
        replace(x, shortest=10, longest=10, shapes=(PredictionType("distribution", 1000, 0.3, 0),))
        for x in one.exhibits
    )
    return replace(one, exhibits=same)


def test_where_nothing_is_wrong_a_line_says_so_and_the_checks_are_counted() -> None:
    one = page()
    found = section(one, "quality")
    assert "No repairs, missing predictions or other issues." in found.text
    assert not list(found.every("table"))
    checks = sections.checks(one, shown(one))
    assert f"Checks passed: {len(checks)}" in found.text
    assert len(checks) >= 9
    assert all(str(check) in found.text for check in checks)


def test_a_check_that_fails_is_not_among_those_passed() -> None:
    def passed(one: Page) -> list[str]:
        return [str(check) for check in sections.checks(one, shown(one))]

    sound = page()
    every = passed(sound)
    rows = sound.results.overall.rows
    broken = {
        "No list is invalid.": replace(rows[0], invalid=3),
        "All 3 models have a prediction for each of 1,200 cases.": replace(rows[0], missing=3),
    }
    for text, row in broken.items():
        results = replace(sound.results, overall=replace(sound.results.overall, rows=(row, *rows[1:])))
        assert text in every
        assert text not in passed(replace(sound, results=results))
    for kind, text in (
        ("never happens", "No model often predicts a class that is never true."),
        ("rounded", "Probabilities are not rounded."),
    ):
        assert text in every
        assert text not in passed(page(Issue(kind, 3, 1200, "Words.", False, "")))
    sources = tuple(replace(one, repairs={"normalize": 4}) for one in sound.results.sources)
    assert "Nothing was repaired." in every
    assert "Nothing was repaired." not in passed(replace(sound, results=replace(sound.results, sources=sources)))


def issues(one: Page) -> dict[str, str]:
    """What is wrong, and with whom."""
    (found,) = styled(section(one, "quality"), "issues")
    return {x.one("dt").text: x.one("dd").text for x in found.every("div")}


def test_every_issue_is_counted_for_the_models_that_have_it_and_explained_in_words() -> None:
    words = "3 cases have a top-1 prediction that is never the true class: 'en'."
    one = page(Issue("never happens", 3, 1200, words, False, ""), Issue("odd", 5, 1200, "Odd.", False, ""))
    who = one.exhibits[0].name
    assert issues(one) == {"Predicted often and never true": f"{who} 'en' (3 cases).", "odd": f"{who} 5."}
    assert words in section(one, "quality").text


def test_repairs_missing_predictions_and_zero_probabilities_are_issues_most_cases_first() -> None:
    one = made.whole(paths=0)
    names = [row.name for row in one.results.overall.rows]
    found = issues(one)
    assert found["Repaired: normalize"] == f"{one.results.sources[3].name} 40."
    rows = {row.name: row.scores["log"].infinite for row in one.results.overall.rows}
    worst = max(rows, key=lambda name: rows[name])
    assert found["Probability 0 for the true class"] == f"{worst} {rows[worst]}."
    several = tuple(replace(row, invalid=i) for i, row in enumerate(one.results.overall.rows))
    results = replace(one.results, overall=replace(one.results.overall, rows=several))
    order = [f"{name} {i}" for i, name in enumerate(names) if i][::-1]
    assert issues(replace(one, results=results))["Invalid lists"] == f"{', '.join(order[:-1])} and {order[-1]}."


def test_what_all_models_have_alike_is_said_once() -> None:
    one = page()
    issue = Issue("rounded", 1200, 1200, "All confidences are multiples of 0.01.", False, "")
    every = replace(one, exhibits=tuple(replace(x, issues=(issue,)) for x in one.exhibits))
    assert issues(every) == {"Rounded probabilities": "All 3 models: 1,200 cases each."}
    assert section(every, "quality").text.count("multiples of 0.01") == 1


def test_lists_of_one_type_and_length_make_no_section_but_a_check() -> None:
    one = alike(page())
    assert section_of(sections.lists, one) is None
    text = "All predictions are distributions of 10 classes."
    assert text in [str(check) for check in sections.checks(one, shown(one))]
    assert section_of(sections.lists, page(names=("a", "b", "c"))) is not None


@pytest.mark.parametrize("names", [("a", "b", "c"), made.results.NAMES])
def test_no_table_has_a_constant_column(names) -> None:
    one = made.whole(names=names, groups=3, paths=0)
    for found in tree(one).every("table"):
        key = found.attributes["id"].removeprefix("table-")
        rows = [[cell.text.strip() for cell in row.every("td", "th")] for row in found.one("tbody").every("tr")]
        if len(rows) > 1 and key in {"reliability", "lists", "confusions"}:
            assert all(len(set(column)) > 1 for column in zip(*rows, strict=True)), key


def test_method_is_five_lines_and_the_rest_is_folded() -> None:
    found = section(page(), "method")
    (details, *_) = found.every("details")
    inside = len(list(details.every("dt")))
    assert len(list(found.every("dt"))) - inside == 5
    assert inside >= 4
    assert [dt.text for dt in found.every("dt")][:5] == [
        *("Scores", "Intervals", "Significance", "Missing", "Uniform"),
    ]


def test_the_command_or_the_call_is_shown_with_versions_in_one_line() -> None:
    one = page()
    found = section(one, "reproduce")
    assert one.provenance.command in found.text
    assert "toplist 0.1.0" in found.text
    bare = replace(one, provenance=replace(one.provenance, command=""))
    assert 'toplist.compare(models, truth, missing="uniform")' in section(bare, "reproduce").text


def test_the_words_are_those_of_the_field() -> None:
    for one in (made.whole(groups=3), made.whole(names=("a", "b")), page()):
        for key in ("calibration", "classes", "cases", "quality", "method", "reproduce"):
            assert not FORBIDDEN.search(section(one, key).text), key


def test_the_same_page_makes_the_same_text() -> None:
    assert tree(page()).text == tree(page()).text


@pytest.mark.parametrize("kind", HOSTILE)
def test_a_hostile_issue_stays_text(kind: str) -> None:
    bad = HOSTILE[kind]
    found = tree(page(Issue(bad, 1, 1200, f"One case has {bad}.", False, bad)))
    assert len(list(found.every("script"))) == len(list(tree(page()).every("script")))
    assert not list(found.every("img", "iframe", "object", "base", "form"))
    assert all(not key.startswith("on") for one in found.every() for key in one.attributes)
