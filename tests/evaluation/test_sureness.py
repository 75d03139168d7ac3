"""What else a board is asked for: who might be best, which pairs differ, and how many cases it would take."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path

import numpy as np
import pytest

import toplist as tl
from tests import flat
from tests.evaluation.files import KINDS, N, columns, drawn, files
from tests.evaluation.shapes import M, predictions


@pytest.mark.parametrize("kind", KINDS)
def test_confidence_sets_of_files_are_those_of_arrays(kind: str, tmp_path: Path) -> None:
    made, y = drawn(13)
    extra = columns(13)
    given = {key: extra.get(value, value) for key, value in KINDS[kind].items()}
    want = flat.compare(made, y, **given).confidence_set("log", level=0.9)
    paths, truth = files(tmp_path, made, y, extra, suffix="csv", seed=None)
    found = flat.compare(paths, truth, **KINDS[kind]).confidence_set("log", level=0.9)
    assert (found.rule, found.level, found.cases, found.method) == ("log", 0.9, N, want.method)
    assert found.p == pytest.approx(dict(want.p), abs=1e-9)
    assert found.members == want.members


def test_every_board_has_its_confidence_set_and_other_rules_and_levels_on_request() -> None:
    made, y = predictions(15, 200)
    board = tl.compare(made, y, space=M)
    assert board.comparison.confidence_set == board.confidence_set()
    for rule in board.comparison.rules:
        for level in (0.5, 0.95, 0.999):
            found = board.confidence_set(rule, level=level)
            own = [pair for pair in board.pairwise if pair.rule == rule and pair.adjusted_p is not None]
            out = {p.b if p.difference.value < 0 else p.a for p in own if p.adjusted_p <= 1 - level}
            assert set(found.members) == {row.name for row in board} - out


def test_a_board_is_asked_for_pairs_and_power() -> None:
    made, y = predictions(15, 40)
    board = tl.compare(made, y, space=M)
    names = [row.name for row in board]
    assert [(p.a, p.b) for p in board.pairwise if p.rule == "brier"] == list(combinations(names, 2))
    for pair in board.pairwise:
        assert pair.difference == board.difference(pair.a, pair.b, pair.rule) or np.isnan(pair.difference.value)
        assert pair.extra_units == board.extra_units(pair.a, pair.b, pair.rule)
        if pair.extra_units:
            more = board.extra_units(pair.a, pair.b, pair.rule, power=0.99)
            assert more is not None
            assert more > pair.extra_units
    for call in (
        lambda: board.extra_units("nobody", names[0]),
        lambda: board.extra_units(names[0], names[1], power=2),
        lambda: board.extra_units(names[0], names[1], power=1),
        lambda: board.extra_units(names[0], names[1], power=0),
        lambda: board.confidence_set("quadratic"),
        lambda: board.confidence_set(level=0),
        lambda: board.confidence_set(level=1.5),
        lambda: board.confidence_set(level="x"),
    ):
        with pytest.raises(tl.TopListError):
            call()


def test_what_it_would_take_is_said_in_the_units_of_the_interval() -> None:
    """Clusters, time points, or cases; cases where somebody says when they were and yet asks for t intervals."""
    made, y = drawn(16)
    for options, unit, units in (
        ({}, "case", N),
        ({"cluster": np.arange(N) // 3}, "cluster", N // 3),
        ({"cluster": np.arange(N) // 3, "method": "bootstrap"}, "cluster", N // 3),
        ({"time": np.arange(N) // 3}, "time point", N // 3),
        ({"time": np.arange(N) // 3, "method": "t"}, "case", N),
        ({"method": "hac"}, "case", N),
    ):
        found = flat.compare(made, y, **options).comparison
        assert (found.unit, found.units) == (unit, units), options


def test_the_number_of_threads_does_not_show_in_a_report(tmp_path, monkeypatch):
    pytest.importorskip("jinja2", reason="reports need jinja2")
    pytest.importorskip("matplotlib", reason="reports need matplotlib")
    board = tl.compare({"a": np.full((20, 3), 1 / 3), "b": [0] * 20}, [0, 1, 2, 0] * 5)
    pages = []
    for threads in (1, 7):
        monkeypatch.setattr("toplist.core.kernel.threads", lambda threads=threads: threads)
        board.report(tmp_path / "board.html")
        pages.append((tmp_path / "board.html").read_bytes())
    assert pages[0] == pages[1]
