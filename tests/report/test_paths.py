"""One set of sentences for a path, wherever it is told."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.report import results as made
from toplist.inference.results import SequentialPath
from toplist.report import plot
from toplist.report.statements import conclusions, ending, findings, path_story
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
