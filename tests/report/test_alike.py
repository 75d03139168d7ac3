"""Columns that say the same of all are one line; what cannot tell anybody apart is left out."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

import toplist as tl
from toplist.inference.results import Estimate
from toplist.report.text import spans


def drawn(n: int = 40, classes: int = 4) -> tl.Leaderboard:
    rng = np.random.default_rng(0)
    made = {name: rng.dirichlet(np.ones(classes), n) for name in "ab"}
    return tl.compare(made, rng.integers(0, classes, n), rules="brier")


def test_constant_columns_are_said_once_below_the_table() -> None:
    text = drawn().to_text(200)
    head = next(line for line in text.splitlines() if "model" in line)
    assert "accuracy" in head
    for name in ("top-5 error", "coverage", "list length", "listed probability", "invalid"):
        assert name not in head
    assert "The same for all: coverage 100.0%, list length 4.00 and listed probability 100.0%" in text
    assert "coverage" in drawn().to_text(300, detail=True)


def test_one_model_keeps_its_columns() -> None:
    board = tl.compare({"a": np.full((6, 7), 1 / 7)}, [0] * 6, rules="brier")
    assert "coverage" in next(line for line in board.to_text(200).splitlines() if "model" in line)


def test_a_model_that_does_not_vary_does_not_ask_for_digits() -> None:
    varied, flat = Estimate(0.66333, 0.61977, 0.70689), Estimate(0.8, 0.8 - 1e-14, 0.8 + 1e-14)
    assert spans([varied, flat])[0] == "0.663 [0.620, 0.707]"


def test_large_numbers_of_classes_have_commas_and_a_scale_is_no_repair() -> None:
    results = drawn().comparison
    origin = replace(results.sources[0], repairs={"scale: log": 40, "normalized": 2})
    board = replace(drawn(), comparison=replace(results, classes="128256", sources=(origin, results.sources[1])))
    text = board.to_text(200, detail=True)
    assert "normalized (repair): a 2" in board.to_text(200)
    assert "log (repair)" not in board.to_text(200)
    assert "128,256 classes" in text
    assert "a was read on the log scale." in text
    assert "Repaired in a: normalized (2 cases)." in text
    assert board.to_dict()["classes"] == "128256"
