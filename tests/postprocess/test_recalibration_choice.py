"""The simplest recalibrator that is as good as the best on cases it has not seen."""

from __future__ import annotations

import math
import os
import subprocess
import sys

import numpy as np
import pytest
from scipy.stats import t as student
from studies import folder

import toplist as tl
from tests.postprocess.recalibrators import KINDS, mixed, open_ended, sharpened
from toplist.postprocess.recalibration import (
    RECALIBRATORS,
    Identity,
    Isotonic,
    RestFloor,
    Temperature,
    cross_fitted,
    select_recalibrator,
)
from toplist.postprocess.selection import as_folds

DATA = folder.default()


@pytest.mark.parametrize("kind", KINDS)
def test_each_case_is_changed_by_a_fit_that_has_not_seen_it(kind: str) -> None:
    lists, y = mixed(51, 60)
    made, fold = KINDS[kind], as_folds(60, 4, 9)
    got = cross_fitted(made, lists, y, folds=4, seed=9)
    assert got.is_valid().all()
    for one in range(4):
        seen, rest = np.flatnonzero(fold != one), np.flatnonzero(fold == one)
        want = made.clone().fit(lists[seen], y[seen]).transform(lists[rest])
        np.testing.assert_allclose(got[rest].confidences, want.normalized_confidences, rtol=1e-12)
        assert np.array_equal(got[rest].classes, want.classes)
        assert np.array_equal(got[rest].ids, want.ids)


def test_an_outcome_has_no_say_in_its_own_list() -> None:
    lists, y = sharpened(52, 40, k=3)
    changed = y.copy()
    changed[7] = (y[7] + 1) % 8
    there, again = (cross_fitted(Isotonic(), lists, z, folds=5, seed=1) for z in (y, changed))
    assert there[7:8] == again[7:8]


def test_sizes_that_differ_per_case_are_put_together() -> None:
    lists, y = mixed(53, 30, per_case=True)
    assert cross_fitted(Temperature(), lists, y, folds=3).space == lists.space


def test_folds_are_even_and_drawn_by_the_seed() -> None:
    assert sorted(np.bincount(as_folds(11, 3, 0)).tolist()) == [3, 4, 4]
    assert np.array_equal(as_folds(50, 5, 1), as_folds(50, 5, 1))
    assert not np.array_equal(as_folds(50, 5, 1), as_folds(50, 5, 2))


def test_clusters_stay_together() -> None:
    clusters = np.repeat([f"g{i}" for i in range(20)], 3)
    fold = as_folds(60, 4, 0, clusters)
    assert (fold.reshape(20, 3) == fold.reshape(20, 3)[:, :1]).all()
    assert np.bincount(fold).tolist() == [15] * 4
    lists, y = sharpened(64, 60, k=3)
    got = cross_fitted(Isotonic(), lists, y, folds=4, clusters=clusters)
    part = np.flatnonzero(fold == 2)
    want = Isotonic().fit(lists[fold != 2], y[fold != 2]).transform(lists[part])
    np.testing.assert_allclose(got[part].confidences, want.confidences, rtol=1e-12)
    assert select_recalibrator(lists, y, folds=4, clusters=clusters).folds == 4


def test_the_table_says_what_the_candidates_score_on_cases_not_seen() -> None:
    lists, y = sharpened(54, 300, k=3)
    choice = select_recalibrator(lists, y, rule="log", seed=4)
    plain = tl.score(lists, y, rule="log")
    for line, one in zip(choice.table, (Identity(), Temperature(rule="log")), strict=False):
        scores = tl.score(cross_fitted(one, lists, y, seed=4), y, rule="log")
        assert line.score == pytest.approx(scores.mean(), abs=1e-12)
        assert line.error == pytest.approx(scores.std(ddof=1) / math.sqrt(300), rel=1e-9)
        assert line.difference == pytest.approx((scores - plain).mean(), abs=1e-12)
        assert line.difference_error == pytest.approx(
            (scores - plain).std(ddof=1) / math.sqrt(300), rel=1e-6, abs=1e-12
        )
    assert choice.table[0].parameters == 0
    assert choice.table[0].low is None
    assert choice.rule == "log"
    assert choice.best.is_fitted


def test_the_interval_of_a_gain_allows_for_shared_training_cases() -> None:
    """Nadeau and Bengio: the variance of a mean over K folds is s^2 (1 / K + 1 / (K - 1)), not s^2 / K."""
    lists, y = sharpened(65, 120, k=3)
    for folds, more in ((5, 1.5), (3, math.sqrt(2.5))):
        found = select_recalibrator(lists, y, candidates=[Temperature()], folds=folds).table[1]
        half = student.ppf(0.975, 119) * more * found.difference_error
        assert (found.low, found.high) == pytest.approx((found.difference - half, found.difference + half))
    clusters = np.arange(120) // 4
    found = select_recalibrator(lists, y, candidates=[Temperature()], clusters=clusters).table[1]
    half = student.ppf(0.975, 29) * 1.5 * found.difference_error
    assert found.high - found.difference == pytest.approx(half)


def test_what_is_calibrated_is_left_alone() -> None:
    """The identity is within a standard error of the best, and learns nothing."""
    lists, y = sharpened(55, 2000, power=1.0)
    assert isinstance(select_recalibrator(lists, y).best, Identity)


def test_what_is_too_sure_is_tempered() -> None:
    """Powers of distributions: one number says it all, and the others, which may do it as well, are less simple."""
    lists, y = sharpened(56, 2000, power=2.0)
    best = select_recalibrator(lists, y).best
    assert isinstance(best, Temperature)
    assert best.temperature_ == pytest.approx(2.0, rel=0.15)


def test_fewer_infinite_scores_come_first() -> None:
    """Hard labels: only a rest makes log scores finite, whatever the mean of the others is."""
    rng = np.random.default_rng(57)
    y = rng.integers(0, 4, 200)
    labels = np.where(rng.random(200) < 0.9, y, (y + 1) % 4)
    choice = select_recalibrator(
        tl.TopLists.from_labels(labels, 4), y, rule="log", candidates=[Temperature(rule="log"), RestFloor()]
    )
    assert isinstance(choice.best, RestFloor)
    assert choice.best.floor_ == pytest.approx(np.mean(labels != y), abs=0.01)
    assert choice.table[0].infinite == np.count_nonzero(labels != y)
    assert choice.table[-1].infinite == 0


def test_scores_that_are_infinite_for_all_do_not_confuse() -> None:
    lists = tl.TopLists.from_labels([0, 1, 0, 1], 3)
    choice = select_recalibrator(lists, [2, 2, 2, 2], rule="log", candidates=[Temperature(rule="log")], folds=2)
    assert isinstance(choice.best, Identity)
    assert choice.table[0].score is None
    assert choice.table[0].infinite == 4
    assert "\u2013" in str(choice)


def test_candidates_that_cannot_say_why() -> None:
    lists, y = open_ended()
    choice = select_recalibrator(lists, y, rule="log", candidates=[RestFloor()])
    assert "an infinite score whatever the floor" in choice.table[1].refused
    assert "an infinite score whatever the floor" in str(choice)
    assert isinstance(choice.best, Identity)


@pytest.mark.parametrize(("rule", "fitted"), [("brier", "rule='brier'"), ("log", "rule='log'")])
def test_every_recalibrator_of_the_table_is_tried_by_default(rule: str, fitted: str) -> None:
    """Fitted by the log score where that is the rule, and by the Brier score elsewhere; whatever the classes."""
    for lists, y in (sharpened(60, 60, k=3), open_ended()):
        table = select_recalibrator(lists, y, rule=rule, folds=2).table
        assert [row.name.split("(")[0] for row in table] == [kind.__name__ for kind in RECALIBRATORS.values()]
        tempered = table[1].name
        assert fitted in tempered if rule == "log" else tempered == "Temperature()"


def test_the_table_can_be_read() -> None:
    lists, y = sharpened(58, 100, k=2)
    shown = str(select_recalibrator(lists, y, folds=3, seed=2, candidates=[Temperature()]))
    title, head, *rows, rule = shown.splitlines()
    assert "Selection by the brier score in 3 folds (seed 2)" in title
    assert [line.startswith(">") for line in rows].count(True) == 1
    at = head.index("Δ vs no recalibration")
    assert all(row[at] in "+\u22120" and row[at - 1] == " " for row in rows)
    assert "one standard error" in rule


def test_cases_without_weight_have_no_say() -> None:
    lists, y = sharpened(59, 120, k=3)
    weight = (np.arange(120) % 3 > 0).astype(float)
    wrong = np.where(weight > 0, y, (y + 1) % 8)
    there, again = (select_recalibrator(lists, z, sample_weight=weight, folds=3) for z in (y, wrong))
    assert there.table == again.table


def test_the_command_offers_every_recalibrator_of_the_table() -> None:
    pytest.importorskip("typer", reason="needs the command line")
    words = [sys.executable, "-c", "from toplist.cli import main; main()", "recalibrate", "fit", "--help"]
    shown = subprocess.run(words, capture_output=True, text=True, check=True, env={**os.environ, "COLUMNS": "300"})
    for name in RECALIBRATORS:
        assert name in shown.stdout
