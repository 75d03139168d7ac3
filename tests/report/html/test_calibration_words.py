"""Calibration words in a report come from the test: what it does not find is not said, and diagnose says the same."""

from __future__ import annotations

import re

import numpy as np
import pytest

import toplist as tl
from tests.report.html.calibrated import accuses, judgements, said, world
from toplist.calibration.miscalibration import SIGNIFICANT
from toplist.report import calibration_statements
from toplist.report.text import names


def sharpened(lists: tl.TopLists, power: float) -> tl.TopLists:
    p = lists.padded() ** power
    return tl.TopLists.from_proba(p / p.sum(axis=1, keepdims=True))


@pytest.mark.parametrize(("n", "models"), [(30, 3), (200, 1)])
def test_reports_of_calibrated_models_rarely_accuse_anybody(n, models):
    """At most 7 % of them at the default settings; of 60, more than 10 would come up once in a hundred such suites."""
    assert sum(accuses(said(judgements(*world(n, models, seed)))) for seed in range(60)) <= 10


@pytest.mark.parametrize(("power", "word"), [(3.0, "Overconfident"), (0.4, "Underconfident")])
def test_those_that_are_off_are_called_so_among_others_that_are_not(power, word):
    lists, y = world(600, 3, seed=6)
    found = judgements(lists | {"off": sharpened(lists["m2"], power)}, y)
    assert f"{word}: off." in said(found)
    assert re.search(r"No evidence of miscalibration: m0\b", said(found))


@pytest.mark.parametrize("power", [1.0, 2.5, 0.5])
def test_a_report_and_a_diagnosis_say_the_same_of_one_file(power):
    lists, y = world(300, 1, seed=8)
    off = sharpened(lists["m0"], power)
    verdict, text = tl.diagnose(off, y).verdict, said(judgements({"a": off}, y))
    word = re.match(r"Overconfident|Underconfident|No evidence of miscalibration", verdict)
    assert word is not None
    assert text.startswith(word[0])
    assert (word[0] == "No evidence of miscalibration") == (power == 1.0)


def test_a_report_and_a_diagnosis_leave_the_same_undecided():
    """The interval excludes zero, and the test is not significant."""
    for seed in range(100):
        lists, y = world(200, 1, seed)
        off = sharpened(lists["m0"], 1.2)
        found = judgements({"a": off}, y)
        if found["a"].direction() == "undecided":
            break
    else:
        pytest.fail("no such sample")
    assert said(found) == "Inconclusive: a."
    assert tl.diagnose(off, y).verdict.startswith("Undecided: ")


def test_what_is_found_alone_but_not_among_many_gets_no_direction():
    """Twenty copies of a model with a p value just below 5 %."""
    for seed in range(200):
        lists, y = world(200, 1, seed)
        found = judgements({"a": sharpened(lists["m0"], 1.3)}, y)["a"]
        if found.test.p <= SIGNIFICANT < 20 * found.test.tail and found.direction() == "over":
            break
    else:
        pytest.fail("no such sample")
    assert accuses(said({"a": found}))
    text = said({f"m{i}": found for i in range(20)})
    assert not accuses(text)
    assert text.startswith("Inconclusive: m0, ")


def test_more_models_than_draws_can_separate_are_still_called_what_they_are():
    """With 199 draws p is never below 1/200: among thirty, the tail beyond the draws decides."""
    lists, y = world(1000, 1, seed=3)
    found = judgements({"a": sharpened(lists["m0"], 4.0)}, y)["a"]
    assert found.test.p == 1 / 200
    assert "Overconfident: m0, " in said({f"m{i}": found for i in range(30)})


def judged(board):
    """The tests of calibration that a page of the board has."""
    return board.details().calibration(board.comparison, seed=0).judged


def test_a_truth_of_distributions_is_not_tested():
    p = np.random.default_rng(0).dirichlet(np.ones(3), size=20)
    board = tl.compare({"a": p}, tl.TopLists.from_proba(p))
    found = judged(board)
    assert found == {}
    assert calibration_statements.calibration_groups(found, names(["a"])) == []


def test_clusters_are_tested_by_cluster():
    """Cases that are copies of twenty: taken one by one they convict, by cluster they do not."""
    lists, y = world(20, 1, seed=2)
    again = np.repeat(np.arange(20), 30)
    copies, outcomes = lists["m0"][again], y[again]
    alone = judged(tl.compare({"a": copies}, outcomes))["a"]
    together = judged(tl.compare({"a": copies}, tl.Truth(outcomes, cluster=again)))["a"]
    assert together.clusters == 20
    assert together.test == tl.diagnose(copies, tl.Truth(outcomes, cluster=again)).test
    assert alone.test.p < together.test.p


def test_files_and_memory_are_tested_alike(tmp_path):
    pytest.importorskip("pyarrow", reason="files need pyarrow")
    lists, y = world(120, 2, seed=4)
    truth = tmp_path / "truth.csv"
    truth.write_text("case,outcome\n" + "".join(f"{i},c{c}\n" for i, c in enumerate(y)))
    paths = {}
    for name, one in lists.items():
        paths[name] = tmp_path / f"{name}.csv"
        rows = "".join(f"{i},{','.join(map(repr, p.tolist()))}\n" for i, p in enumerate(one.padded()))
        paths[name].write_text("case,c0,c1,c2,c3\n" + rows)
    board = tl.compare(paths, truth, space=4)
    found = judged(board)
    assert {name: one.test.p for name, one in found.items()} == {
        n: one.test.p for n, one in judgements(lists, y).items()
    }
    assert found["m1"].test == tl.diagnose(paths["m1"], truth, space=4).test
