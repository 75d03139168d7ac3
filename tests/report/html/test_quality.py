"""Data quality: issues are counted by model, what all share is one line, and what is in order is a check passed."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.report import page_results as made
from tests.report.html.undrawn import shown
from toplist.lists.checks import Issue
from toplist.report.html import Page, sections

pytest.importorskip("jinja2", reason="reports need jinja2")


def page(*issues: Issue, names=("a", "b", "c"), **options) -> Page:
    whole = made.whole(names=names, rules=("brier", "log"), paths=0, zeros=False, **options)
    rows = tuple(replace(row, invalid=0, missing=0) for row in whole.results.overall.rows)
    sources = tuple(replace(one, repairs={}, filled=0) for one in whole.results.sources)
    first, *others = (replace(one, invalid="") for one in whole.exhibits)
    overall = replace(whole.results.overall, rows=rows)
    results = replace(whole.results, overall=overall, sources=sources, warnings=())
    return replace(whole, results=results, exhibits=(replace(first, issues=issues), *others))


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
    text = "No other data-quality issue."
    assert text in every
    assert text not in passed(page(Issue("listed zero", 3, 1200, "Words.", False, "")))
    sources = tuple(replace(one, repairs={"normalize": 4}) for one in sound.results.sources)
    assert "Nothing was repaired." in every
    assert "Nothing was repaired." not in passed(replace(sound, results=replace(sound.results, sources=sources)))
