"""What results look like at a prompt and in a notebook: short, without arrays, harmless whatever names are in them."""

from __future__ import annotations

import dataclasses
import inspect
import re
from functools import cache
from html.parser import HTMLParser
from typing import Any

import numpy as np
import pytest

import toplist as tl
from toplist import calibration, inference, lists, postprocess, scoring

LONG = {"Diagnosis", "Leaderboard", "Monitor"}  # whose text is a page


@cache
def made() -> dict[str, Any]:
    """One of every result, by the name of its class."""
    rng = np.random.default_rng(0)
    p = rng.dirichlet([0.4] * 6, 120)
    y = (p.cumsum(axis=1) < rng.random(120)[:, None]).sum(axis=1)
    sharp = p**2 / (p**2).sum(axis=1, keepdims=True)
    batch = tl.TopLists.from_proba(sharp)
    board = tl.compare({"a": p, "b": sharp}, y, space=6)
    found = [
        *(batch, batch[0], board, tl.diagnose(batch, y), tl.score_cases(batch, y, space=6), tl.curve(batch, y)),
        *(tl.monitor({"a": p, "b": sharp}, y, space=6, baseline="a"), tl.plan(board, 0.01)),
        *(tl.equivalent(board, "a", "b", 0.1), tl.gate(p, sharp, y, max_loss=0.1)),
        *(calibration.reliability(batch, y), calibration.calibration_error(batch, y)),
        *(calibration.calibration_bias(batch, y), calibration.calibration_test(batch, y, draws=39)),
        calibration.decompose(batch, y),
        *(postprocess.select_recalibrator(batch, y), postprocess.choose_k(batch, y), postprocess.worth(batch, y)),
        postprocess.rejection_curve(batch, y),
        *(postprocess.pool_weights({"a": p, "b": sharp}, y), postprocess.stack({"a": p, "b": sharp}, y, folds=2)),
        postprocess.ambiguity({"a": p, "b": sharp}, y),
        postprocess.decide(batch, 1 - np.eye(batch.space.size)),
        *(postprocess.Conformal().fit(batch, y), postprocess.Conformal().fit(batch, y).sets(batch)),
        *(lists.true_lists([0.4, 0.2, 0.2, 0.2], 2), inference.explain_difference(p, sharp, y, space=6)),
    ]
    return {type(one).__name__: one for one in found}


def test_every_result_of_the_package_is_among_them() -> None:
    """A dataclass with an array, a tuple of records or a mapping in it is a result that could print badly."""
    every = {
        name: one
        for module in (calibration, inference, lists, postprocess, scoring)
        for name in dir(module)
        if inspect.isclass(one := getattr(module, name)) and dataclasses.is_dataclass(one)
    }
    known = {*made(), "Band", "Bin", "DecompositionTerm", "CandidateScore", "DeviceLists"}  # parts, or of one line
    assert {*every} <= known


@pytest.mark.parametrize("name", sorted(made()))
def test_results_are_shown_in_at_most_five_lines_without_arrays(name: str) -> None:
    one = made()[name]
    lines = repr(one).splitlines()
    if name not in LONG:
        assert len(lines) <= 5
        assert max(map(len, lines)) <= 200
        assert "array(" not in repr(one)
        assert repr(one).startswith(name)


IN_NOTEBOOKS = ("TopList", "TopLists", "CaseScores", "Leaderboard", "Diagnosis", "Curve", "Selection")


class Tags(HTMLParser):
    """Whether tags match, and which there are."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[str] = []
        self.open: list[str] = []
        self.text = ""
        self.feed(text)
        self.close()
        assert not self.open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert not any(name.startswith("on") or name in ("href", "src") for name, _ in attrs)
        self.found.append(tag)
        self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += "" if self.open[-1:] == ["style"] else data


@pytest.mark.parametrize("name", IN_NOTEBOOKS)
def test_notebooks_show_a_fragment_with_one_style_and_no_script(name: str) -> None:
    page = made()[name]._repr_html_()
    tags = Tags(page).found
    assert tags.count("style") == 1
    assert "script" not in tags
    assert page.startswith('<div class="toplist-out ')
    style = page.partition("<style>")[2].partition("</style>")[0]
    selectors = [one for many in re.findall(r"([^{}]+)\{", style) if "@media" not in many for one in many.split(",")]
    assert selectors
    assert all(".toplist-" in one for one in selectors)  # nothing of the notebook is styled


def test_a_list_is_shown_by_confidence_and_ties_keep_their_order() -> None:
    one = tl.TopList({"a": 0.2, "b": 0.3, "c": 0.2}, 5)
    assert repr(one) == "TopList(b 0.3, a 0.2, c 0.2; unlisted 0.3 over 2 classes)"
    cells = Tags(one._repr_html_()).text
    assert cells.index("b0.3") < cells.index("a0.2") < cells.index("c0.2") < cells.index("unlisted")


def test_confidences_after_the_first_that_is_tiny_are_counted() -> None:
    rest = {f"c{i}": 1e-5 for i in range(8)}
    one = tl.TopList({**rest, "cat": 0.9999, "dog": 2e-5}, 10)
    assert repr(one) == "TopList(cat 0.9999, dog <0.001, … 8 more; unlisted 0)"


def test_long_lists_and_batches_are_cut_and_say_so() -> None:
    one = tl.TopList(dict.fromkeys(range(18), 1 / 18), 18)
    assert "and 8 more" in one._repr_html_()
    assert "and 115 more cases" in made()["TopLists"]._repr_html_()


def test_scores_that_are_infinite_are_counted_below_their_column() -> None:
    found = tl.score_cases(tl.TopLists.from_labels([0, 1, 2], 3), [0, 1, 1], rules="log")
    assert "∞ (1 case)" in found._repr_html_()


def test_one_case_or_none_can_be_shown() -> None:
    none = tl.TopLists.from_dicts([], 5)
    assert "0 cases" in Tags(none._repr_html_()).text
    assert Tags(tl.curve([[0.5, 0.5]])._repr_html_()).text
    assert Tags(tl.TopList({}, 5)._repr_html_()).text
