"""One set of sentences for a path, wherever it is told."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from tests.report import results as made
from toplist.inference.results import SequentialPath
from toplist.report import plot
from toplist.report.path_statements import assumed, conclusions, ending, enough, findings, path_story
from toplist.report.text import names

FOUND = made.drawn(("new", "old"), cases=300, paths=1).paths[0]
SHOWN = names([FOUND.candidate, FOUND.baseline])
PATHS = {
    "as it is": FOUND,
    "nothing shown": replace(FOUND, separated=None, shown_better=None, shown_worse=None),
    "after one case": replace(FOUND, separated=1, shown_better=1, shown_worse=1),
    "no band": replace(FOUND, low=(), high=(), separated=None, reason="scores have no known bound."),
}


@pytest.mark.parametrize("path", PATHS.values(), ids=PATHS)
def test_tables_pages_and_figures_say_the_same(path: SequentialPath) -> None:
    words, page, table = plot.path(path).data.words, " ".join(map(str, path_story(path, SHOWN))), conclusions(path)
    for said in map(str, findings(path, SHOWN)):
        assert said in table[0]
        assert said[1:] in words
        assert said[1:] in page
    assert all(("no known bound." in text) == bool(path.reason) for text in (words, page, " ".join(table)))
    assert "1 cases" not in words + page + table[0]


def test_the_end_has_the_last_numbers() -> None:
    end = ending(FOUND)
    assert (end.value, end.low, end.high) == (FOUND.mean[-1], FOUND.low[-1], FOUND.high[-1])
    bare = ending(PATHS["no band"])
    assert (bare.low, bare.high, bare.reason) == (None, None, "scores have no known bound.")


def test_evidence_for_both_is_one_sentence_that_says_what_it_means() -> None:
    (both, _) = map(str, findings(PATHS["after one case"], SHOWN))
    assert re.search(r"\(the e-value crossed 20; [\d.e+]+ at the end\) that new had a lower expected score", both)
    assert "than old in at least one case, and after 1 case" in both
    assert "the sign of the expected difference changed over time, or one of these two statements is an error" in both


def test_what_is_needed_is_that_of_all_candidates() -> None:
    assert "An e-value of 20 is significant: each direction is in error with probability at most 5%" in enough(FOUND)
    many = replace(FOUND, candidates=19)
    assert "An e-value of 380 is significant" in enough(many)
    assert "for any of 19 candidates" in enough(many)
    assert "All 19 confidence sequences" in enough(many)
    assert "Both confidence sequences" in enough(replace(FOUND, candidates=2))
    assert 10 ** plot.path(many).data.threshold == pytest.approx(380)


@pytest.mark.parametrize("unit", ["case", "time point", "cluster"])
def test_what_is_assumed_is_named(unit: str) -> None:
    said = assumed([replace(FOUND, unit=unit)])
    assert "Assumed:" in said
    assert f"each {unit}" in said
