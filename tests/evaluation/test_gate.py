"""A gate passes only what is shown to be no worse; a record is as good a baseline as the predictions it was made of."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

import toplist as tl
from tests.draws import draws
from tests.report.strategies import HOSTILE
from toplist.evaluation.record import ScoreRecord
from toplist.inference.intervals import SAME
from toplist.report.gate import IDENTICAL, CaseLoss, GateCheck, GateReport
from toplist.testing import assert_not_worse

N, M = 400, 5
RNG = np.random.default_rng(7)
OLD = RNG.dirichlet(np.full(M, 0.5), size=N)
Y = (OLD.cumsum(axis=1) < RNG.random(N)[:, None]).sum(axis=1).clip(max=M - 1)
NEAR = 0.95 * OLD + 0.05 / M
FAR = 0.5 * OLD + 0.5 / M
NAMES = [name for name in dict.fromkeys(HOSTILE) if len(name) < 1000] + ["n" * 5000]
LABELS = np.array(["cat", "dog", "owl", "fox", "bee"])


def brier(p: Any, y: Any = Y) -> Any:
    """By its definition."""
    return ((p - np.eye(M)[y]) ** 2).sum(axis=1)


def bounds(loss: Any, level: float = 0.95) -> tuple[float, float]:
    """One-sided t bounds of a mean, from below and from above."""
    half = stats.t.ppf(level, len(loss) - 1) * loss.std(ddof=1) / math.sqrt(len(loss))
    return loss.mean() - half, loss.mean() + half


def test_a_model_passes_fails_or_shows_nothing_by_the_one_sided_t_bounds_of_its_mean_loss() -> None:
    loss = brier(FAR) - brier(OLD)
    low, high = bounds(loss)
    for margin, verdict in ((1.001 * high, "pass"), (0.999 * high, "inconclusive"), (0.999 * low, "fail")):
        found = tl.gate(FAR, OLD, Y, max_loss=margin)
        (check,) = found.checks
        assert found.verdict == check.verdict == verdict
        assert (check.lower, check.upper) == pytest.approx((low, high), rel=1e-12)
        assert found.passed == (verdict == "pass")


def test_the_level_is_that_of_each_bound() -> None:
    loss = brier(FAR) - brier(OLD)
    found = tl.gate(FAR, OLD, Y, max_loss=1.0, inference=0.99)
    assert found.checks[0].upper == pytest.approx(bounds(loss, 0.99)[1], rel=1e-12)
    with pytest.raises(tl.TopListError, match="above one half"):
        tl.gate(FAR, OLD, Y, max_loss=1.0, inference=0.5)


ABOUT: dict[str, tuple[str, dict[str, Any]]] = {
    "clusters": ("auto", {"cluster": np.arange(N) // 7}),
    "time": ("auto", {"time": np.arange(N)}),
    "clusters and time": ("auto", {"cluster": np.arange(N) % 20, "time": np.arange(N) // 20}),
    "weights": ("auto", {"weight": np.arange(N) % 3 + 1.0}),
    "hac": ("hac", {}),
    "bootstrap": ("bootstrap", {}),
    "wild": ("wild", {"cluster": np.arange(N) // 7}),
    "bounded": ("bounded", {}),
}


@pytest.mark.parametrize("kind", ABOUT)
def test_bounds_are_the_ends_of_the_interval_that_compare_gives_at_twice_the_error_probability(kind: str) -> None:
    method, about = ABOUT[kind]
    truth = tl.Truth(Y, **about)
    board = tl.compare({"a": FAR, "b": OLD}, truth, rules="brier", inference=tl.Inference(method=method, level=0.9))  # type: ignore[arg-type]
    known, check = board.difference("a", "b"), tl.gate(FAR, OLD, truth, max_loss=1.0, inference=method).checks[0]
    assert known.low is not None
    assert (check.value, check.lower, check.upper) == (known.value, known.low, known.high)
    assert tl.gate(FAR, OLD, truth, max_loss=1.0, inference=method).unit == board.comparison.unit


def test_the_number_of_cases_that_is_needed_shows_equality_four_times_in_five() -> None:
    other, margin = 0.9 * NEAR + 0.1 * OLD, 1e-4
    found = tl.gate(NEAR, other, Y, max_loss=margin)
    (check,) = found.checks
    assert check.verdict == "inconclusive"
    assert check.needed is not None
    away = margin * math.sqrt(check.needed) / (brier(NEAR) - brier(other)).std(ddof=1)
    freedom = check.needed - 1
    assert 1 - stats.nct.cdf(stats.t.ppf(0.95, freedom), freedom, away) == pytest.approx(0.8, abs=1e-3)
    assert f"{check.needed:,} cases would show it 4 times in 5" in found.to_text().replace("\n  ", " ")
    assert tl.gate(NEAR, OLD, Y, max_loss=1.0).checks[0].needed is None


# What no interval weighs


L = 2.01  # the range of the Brier score, with the largest default penalty


def exact(n: int, alpha: float = 0.05, largest: float = L) -> float:
    """The bound on the mean of losses that were not seen in n cases."""
    return largest * (1 - alpha ** (1 / n))


@pytest.mark.parametrize("other", [NEAR, np.round(NEAR, 15), NEAR * (1 + 1e-15)])
def test_the_same_predictions_pass_and_what_they_do_not_show_is_said(other: Any) -> None:
    found = tl.gate(NEAR, other, Y, max_loss=0.01, per_case=1e-6)
    assert found.passed
    assert found.checks[0].reason == IDENTICAL
    assert found.checks[0].upper == pytest.approx(exact(N))
    assert "identical, list by list: nothing was tested" in found.headline
    (told,) = found.warnings
    assert told.startswith(f"the predictions are identical in all {N} cases; a mean loss of up to {exact(N):.3g} in ")
    assert told.endswith("cases that were not seen cannot be excluded at 95%.")
    assert "identical in all 400 cases; a mean loss of up to 0.015" in found.to_text().replace("\n  ", " ")
    enough = tl.gate(NEAR, other, Y, max_loss=0.02)
    assert enough.passed
    assert not enough.warnings
    assert "exact, one-sided 95%), below 0.02" in enough.to_text().replace("\n  ", " ")


TWIN_OLD, TWIN_NEW = np.tile([0.8, 0.2, 0.0], (200, 1)), np.tile([0.8, 0.0, 0.2], (200, 1))
ZEROS = np.zeros(200, int)


def test_other_predictions_with_the_same_scores_pass_only_where_the_exact_bound_is_below_the_margin() -> None:
    for n in (1, 2, 50, 200):
        new, old, y = TWIN_NEW[:n], TWIN_OLD[:n], ZEROS[:n]
        for margin, verdict in ((exact(n) * 1.001, "pass"), (exact(n) * 0.999, "inconclusive")):
            (check,) = tl.gate(new, old, y, max_loss=margin).checks
            assert (check.verdict, check.reason) == (verdict, SAME)
            assert check.upper == pytest.approx(exact(n))
    found = tl.gate(TWIN_NEW, TWIN_OLD, ZEROS, max_loss=0.01)
    needed = found.checks[0].needed
    assert needed is not None
    assert exact(needed) < 0.01 <= exact(needed - 1)
    assert f"{needed:,} cases with the same scores would show it" in found.to_text().replace("\n  ", " ")
    level = tl.gate(TWIN_NEW, TWIN_OLD, ZEROS, max_loss=1.0, inference=0.99).checks[0].upper
    assert level == pytest.approx(exact(200, 0.01))


def test_bounded_intervals_take_no_notice_of_what_is_the_same() -> None:
    for new in (TWIN_NEW, TWIN_OLD):
        found = tl.gate(new, TWIN_OLD, ZEROS, max_loss=0.03, inference="bounded")
        assert found.verdict == "inconclusive"
        (check,) = found.checks
        assert check.upper is not None
        assert check.upper > exact(200)
        assert tl.gate(new, TWIN_OLD, ZEROS, max_loss=1.001 * check.upper, inference="bounded").passed


def test_a_rule_without_a_largest_score_bounds_nothing() -> None:
    assert tl.gate(TWIN_NEW, TWIN_OLD, ZEROS, max_loss=0.5, rule="log").verdict == "inconclusive"
    found = tl.gate(TWIN_OLD, TWIN_OLD, ZEROS, max_loss=0.5, rule="log")
    assert found.passed
    assert "nothing bounds the loss in cases that were not seen" in found.warnings[0]


def test_the_units_of_the_exact_bound_are_those_that_are_independent() -> None:
    def upper(**about: Any) -> float | None:
        return tl.gate(TWIN_NEW, TWIN_OLD, tl.Truth(ZEROS, **about), max_loss=0.5).checks[0].upper

    assert upper(cluster=np.arange(200) // 5) == pytest.approx(exact(40))
    assert upper(cluster=ZEROS) == pytest.approx(0.95 * L)
    assert upper(weight=np.full(200, 3.0)) == pytest.approx(exact(200))
    heavy = np.where(np.arange(200) < 20, 10.0, 1.0)  # a share q of all weight in the heaviest: q / 5.26 of all cases
    assert upper(weight=heavy) == pytest.approx(10 / heavy.mean() * exact(200))
    uneven = np.minimum(np.arange(200) // 4, 40)  # 40 clusters of 4 and one of 40
    assert upper(cluster=uneven) == pytest.approx(40 / (200 / 41) * exact(41))
    in_time = upper(time=np.arange(200))
    assert in_time is not None
    assert in_time == pytest.approx(exact(14))  # 13 waves
    assert upper(time=np.arange(200) // 20, cluster=np.arange(200) % 20) == pytest.approx(exact(3))


def test_identical_files_and_records_of_them_pass_and_those_with_the_same_scores_do_not(tmp_path: Path) -> None:
    ids = np.array([f"c{i:03}" for i in range(100)])
    y = {"id": ids, "label": np.full(100, "a")}
    pa.parquet.write_table(pa.table(y), tmp_path / "y.parquet")
    for name, p, order in (
        ("old", TWIN_OLD, np.arange(100)),
        ("mixed", TWIN_OLD, np.arange(100)[::-1]),
        ("twin", TWIN_NEW, np.arange(100)),
    ):
        table = {"id": ids, "a": p[:100, 0], "b": p[:100, 1], "c": p[:100, 2]}
        pa.parquet.write_table(pa.table(table).take(order), tmp_path / f"{name}.parquet")
    rows = {"id": ids.repeat(2), "class": np.tile(["b", "a"], 100), "confidence": np.tile([0.2, 0.8], 100)}
    pa.parquet.write_table(pa.table(rows), tmp_path / "long.parquet")
    truth, old = tl.Truth(tmp_path / "y.parquet", outcome="label"), tmp_path / "old.parquet"
    record = tl.score_record(old, truth, space=["a", "b", "c"])
    record.write(tmp_path / "old.json")
    assert ScoreRecord.read(tmp_path / "old.json").lists == record.lists != ""
    asked: Any = {"max_loss": 0.01, "space": ["a", "b", "c"]}
    for baseline in (old, record, tmp_path / "old.json"):
        for name, verdict in (("old", "pass"), ("mixed", "pass"), ("long", "pass"), ("twin", "inconclusive")):
            found = tl.gate(tmp_path / f"{name}.parquet", baseline, truth, **asked)
            assert (found.verdict, found.checks[0].value) == (verdict, 0.0), name
    unknown = replace(record, lists="")
    assert tl.gate(old, unknown, truth, **asked).verdict == "inconclusive"
    few = pa.parquet.read_table(old).slice(0, 90)
    assert tl.gate(few, record, truth, missing="common", **asked).verdict == "inconclusive"


def test_a_loss_that_is_the_same_in_every_case_is_no_proof() -> None:
    new, old = np.tile([0.6, 0.4], (50, 1)), np.tile([0.7, 0.3], (50, 1))
    found = tl.gate(new, old, np.zeros(50, int), max_loss=0.5)
    assert found.verdict == "inconclusive"
    assert "no spread" in found.checks[0].reason
    assert "nothing is shown" in found.to_text().replace("\n  ", " ")


def test_one_case_shows_nothing() -> None:
    found = tl.gate(NEAR[:1], OLD[:1], Y[:1], max_loss=1.0)
    assert found.verdict == "inconclusive"
    assert "one case has no spread" in found.checks[0].reason


def test_an_infinite_score_that_the_baseline_does_not_have_fails_and_names_the_case() -> None:
    new = OLD.copy()
    new[3] = np.eye(M)[(Y[3] + 1) % M]
    found = tl.gate(new, OLD, Y, max_loss=0.5, per_case=9.0, rule="log")
    assert [check.verdict for check in found.checks] == ["fail", "fail"]
    assert found.checks[0].worst[0] == CaseLoss("3", math.inf, found.checks[0].worst[0].baseline, math.inf)
    assert "case 3 (+∞)" in found.to_text()


def test_an_infinite_score_of_the_baseline_alone_or_of_both_counts_as_no_difference() -> None:
    zero, told = np.eye(M)[(Y[:2] + 1) % M], tl.gate(NEAR[2:], OLD[2:], Y[2:], max_loss=0.5, rule="log").checks[0]
    alone, both = OLD.copy(), NEAR.copy()
    alone[:2], both[:2] = zero, zero
    assert told.upper is not None
    for new, words in ((NEAR, "baseline alone scores infinitely"), (both, "both score infinitely")):
        found = tl.gate(new, alone, Y, max_loss=0.5, rule="log")
        assert found.verdict == "pass"
        assert found.checks[0].value == pytest.approx(told.value * (N - 2) / N)
        assert any("2 cases" in note and words in note for note in found.notes)


def test_nothing_fails_where_the_baseline_has_infinite_scores_of_its_own() -> None:
    old = OLD.copy()
    old[:1] = np.eye(M)[(Y[:1] + 1) % M]
    assert tl.gate(FAR, OLD, Y, max_loss=0.01, rule="log").verdict == "fail"
    assert tl.gate(FAR, old, Y, max_loss=0.01, rule="log").verdict == "inconclusive"


# Single cases


def test_no_case_may_lose_more_than_the_limit_and_the_worst_are_named() -> None:
    loss = brier(FAR) - brier(OLD)
    order = np.argsort(-loss)
    found = tl.gate(FAR, OLD, Y, max_loss=1.0, per_case=float(loss[order[3]]) * (1 + 1e-6))
    check = found.checks[1]
    assert (check.verdict, check.over) == ("fail", 3)
    assert [one.case for one in check.worst[:3]] == [str(at) for at in order[:3]]
    assert check.worst[0].loss == pytest.approx(loss.max())
    assert all(f"case {at}" in found.to_text() for at in order[:3])
    assert tl.gate(FAR, OLD, Y, max_loss=1.0, per_case=float(loss.max()) * (1 + 1e-6)).passed


def test_a_loss_that_exceeds_the_limit_by_rounding_alone_is_none() -> None:
    new, old = np.array([[1.0, 0.0], [0.0, 1.0]] * 20), np.array([[1.0, 0.0], [1.0, 0.0]] * 20)
    found = tl.gate(new, old, np.zeros(40, int), max_loss=2.0, per_case=2.0 - 1e-12)
    assert found.checks[1].verdict == "pass"
    assert tl.gate(new, old, np.zeros(40, int), max_loss=2.0, per_case=2.0 - 1e-6).checks[1].verdict == "fail"


def test_a_case_without_weight_is_no_case() -> None:
    new, weight = NEAR.copy(), np.ones(N)
    new[5], weight[5] = np.eye(M)[(Y[5] + 1) % M], 0.0
    assert tl.gate(new, OLD, Y, max_loss=0.1, per_case=1.0).checks[1].verdict == "fail"
    found = tl.gate(new, OLD, tl.Truth(Y, weight=weight), max_loss=0.1, per_case=1.0, rule="log")
    assert found.passed
    assert found.cases == N - 1


# Groups


def test_every_group_must_pass_and_each_is_tested_at_the_full_level() -> None:
    group = np.array(["a", "b", "c", "d"])[np.arange(N) % 4]
    found = tl.gate(FAR, OLD, tl.Truth(Y, group=group), max_loss=1.0, max_loss_group=0.5)
    checks = [check for check in found.checks if check.rule == "group"]
    assert [check.group for check in checks] == ["a", "b", "c", "d"]
    for check in checks:
        here = group == check.group
        assert check.upper == pytest.approx(bounds((brier(FAR) - brier(OLD))[here])[1], rel=1e-12)
        assert (check.limit, check.cases) == (0.5, 100)
    highest = max(check.upper or 0.0 for check in checks)
    assert tl.gate(FAR, OLD, tl.Truth(Y, group=group), max_loss=1.0, max_loss_group=highest * 1.001).passed
    one = tl.gate(FAR, OLD, tl.Truth(Y, group=group), max_loss=1.0, max_loss_group=highest * 0.999)
    assert one.verdict == "inconclusive"
    assert sum(check.verdict != "pass" for check in one.checks) == 1


def test_that_a_group_fails_is_shown_for_all_groups_at_once() -> None:
    group, loss = np.arange(N) % 4, brier(FAR) - brier(OLD)
    alone = max(bounds(loss[group == g])[0] for g in range(4))
    together = max(bounds(loss[group == g], 1 - 0.05 / 4)[0] for g in range(4))
    truth = tl.Truth(Y, group=group)
    assert together < alone
    middle, below = (alone + together) / 2, together * 0.999
    assert "fail" not in [c.verdict for c in tl.gate(FAR, OLD, truth, max_loss=1.0, max_loss_group=middle).checks]
    found = tl.gate(FAR, OLD, truth, max_loss=1.0, max_loss_group=below)
    assert found.verdict == "fail"
    assert max(c.lower or 0.0 for c in found.checks if c.rule == "group") == pytest.approx(together, rel=1e-12)
    assert "for all groups at once" in found.to_text().replace("\n  ", " ")


def test_a_group_with_one_case_shows_nothing() -> None:
    group = np.where(np.arange(N) == 0, "lone", "others")
    found = tl.gate(NEAR, OLD, tl.Truth(Y, group=group), max_loss=0.5)
    assert {check.group: check.verdict for check in found.checks} == {
        None: "pass",
        "lone": "inconclusive",
        "others": "pass",
    }


# What makes a pass doubtful


def test_few_cases_and_few_cases_in_a_group_are_said() -> None:
    assert any("20 cases" in one for one in tl.gate(NEAR[:20], OLD[:20], Y[:20], max_loss=0.5).warnings)
    group = np.where(np.arange(N) < 20, "few", "others")
    told = tl.gate(NEAR, OLD, tl.Truth(Y, group=group), max_loss=0.5).warnings
    assert any("fewer than 30 cases in group few" in one for one in told)


def test_a_group_of_one_case_with_the_same_score_shows_nothing_and_nothing_is_claimed_of_it() -> None:
    new, old = NEAR.copy(), OLD.copy()
    new[:3], old[:3] = [0.5, 0.5, 0.0, 0.0, 0.0], [0.5, 0.0, 0.5, 0.0, 0.0]
    y, group = np.where(np.arange(N) < 3, 0, Y), np.minimum(np.arange(N), 1)
    found = tl.gate(new, old, tl.Truth(y, group=group), max_loss=0.5)
    assert [check.verdict for check in found.checks] == ["pass", "inconclusive", "pass"]
    assert not any("groups" in one for one in found.notes)
    new[0] = old[0]
    found = tl.gate(new, old, tl.Truth(y, group=group), max_loss=0.5)
    assert found.passed
    assert "1 of them identical, and not tested" in found.headline
    assert any("is not shown: in 1 group identical predictions pass" in one for one in found.notes)
    assert any("identical in group 0" in one and "1.91" in one for one in found.warnings)


def test_what_is_claimed_of_all_groups_is_said_only_where_it_holds() -> None:
    truth = tl.Truth(Y, group=np.arange(N) % 4)
    assert any("all 4 groups are within the margin" in n for n in tl.gate(NEAR, OLD, truth, max_loss=0.5).notes)
    low = max(check.lower or 0.0 for check in tl.gate(FAR, OLD, truth, max_loss=1.0).checks[1:])
    for margin, fails in ((0.99 * low, True), (1.01 * low, False)):
        notes = tl.gate(FAR, OLD, truth, max_loss=1.0, max_loss_group=margin).notes
        assert not any("all 4 groups" in note for note in notes)
        assert any("Bonferroni" in note for note in notes) == fails


def soft(p: Any) -> Any:
    """Two classes, the first of which has this probability."""
    return np.stack([p, 1 - p], axis=1)


def test_losses_that_were_not_seen_are_counted_by_cluster_by_time_point_and_by_group() -> None:
    rng = np.random.default_rng(0)
    p = 0.85 + 0.1 * rng.random((2, 800))
    y, days = np.zeros(800, int), np.arange(800) // 20
    loss = 2 * (1 - p[0]) ** 2 - 2 * (1 - p[1]) ** 2
    assert not tl.gate(soft(p[0]), soft(p[1]), y, max_loss=0.02).warnings
    for about, units in (({"cluster": days}, 40), ({"group": days % 2}, 400), ({"time": days}, None)):
        found = tl.gate(
            soft(p[0]),
            soft(p[1]),
            tl.Truth(y, **about),
            max_loss=0.02,
            max_loss_group=0.01 if "group" in about else None,
        )
        assert found.passed
        told = [one for one in found.warnings if "would have none of them" in one]
        assert len(told) == 1, found.warnings
        if "cluster" in about:
            chance = math.exp(-(0.02 - loss.mean()) * units / 2)
            assert f"{100 * chance:.2g}% of samples" in told[0]
            assert "no cluster here loses half of that on average" in told[0]
        if "group" in about:
            assert "no case of groups 0 and 1" in told[0]


def test_skewness_is_that_of_losses_over_all_cases_and_in_groups() -> None:
    rng = np.random.default_rng(3)
    for sign in (1.0, -1.0):
        s = 10 + sign * 0.3 * rng.lognormal(sigma=1.2, size=80)
        new, old = soft(np.exp(-s)), soft(np.full(80, np.exp(-10.0)))
        truth = tl.Truth(np.zeros(80, int), group=np.arange(80) % 2)
        told = tl.gate(new, old, truth, max_loss=2.0, rule="log").warnings
        shown = [one for one in told if "skewness" in one]
        assert len(shown) == 2, told
        assert shown[0].startswith("new minus baseline: ")
        assert all(("skewness \u2212" in one) == (sign < 0) for one in shown)


def test_a_loss_that_may_be_missing_from_the_sample_is_said_unless_bounds_allow_for_it() -> None:
    """Of rare losses L whose mean is the margin, none is among n cases with probability exp(-n margin / L)."""
    p = 0.9 + 0.05 * np.random.default_rng(0).random((2, 200))
    new, old = (np.stack([one, 1 - one], axis=1) for one in p)
    y = np.zeros(200, int)
    found = tl.gate(new, old, y, max_loss=0.01)
    assert found.passed
    (told,) = found.warnings
    largest = 2.0  # of the Brier score
    chance = math.exp(-(200 * 0.01 - (2 * (1 - p[0]) ** 2 - 2 * (1 - p[1]) ** 2).sum()) / largest)
    assert f"{100 * chance:.2g}% of samples" in told
    assert not tl.gate(new, old, y, max_loss=0.5, inference="bounded").warnings
    assert not tl.gate(new, old, y, max_loss=0.1).warnings


def test_predictions_that_never_list_an_outcome_are_doubted_whichever_model_they_are_of() -> None:
    names, other = LABELS[Y], [{name.upper(): 0.9} for name in LABELS[Y]]
    good = [{name: 0.9} for name in names]
    for new, old, who in ((other, good, "new"), (good, other, "baseline")):
        found = tl.gate(new, old, names, max_loss=0.1, space=10)
        assert any(one.startswith(f"{who}: no outcome is ever listed") for one in found.warnings)
    record = tl.score_record(other, names, space=10)
    assert any(
        "no outcome is ever listed" in one for one in tl.gate(good, record, names, max_loss=0.1, space=10).warnings
    )


@pytest.mark.parametrize("value", [np.float32(0.5), np.float64(0.5), np.int64(1), 1])
def test_a_limit_is_any_kind_of_number(value: Any) -> None:
    assert tl.gate(NEAR, OLD, Y, max_loss=value).checks[0].limit == float(value)


@pytest.mark.parametrize("name", ["max_loss", "per_case", "max_loss_group"])
@pytest.mark.parametrize("value", [0, -1.0, math.inf, math.nan, True, "0.1"])
def test_a_limit_is_a_finite_number_above_zero(name: str, value: Any) -> None:
    with pytest.raises(tl.TopListError, match=f"{name} is a finite number above zero"):
        tl.gate(NEAR, OLD, Y, **{"max_loss": 0.1, name: value})


def test_what_has_no_effect_or_two_meanings_is_refused() -> None:
    with pytest.raises(tl.TopListError, match="needs groups"):
        tl.gate(NEAR, OLD, Y, max_loss=0.1, max_loss_group=0.1)
    with pytest.raises(tl.TopListError, match="missing is one of error, common, uniform"):
        tl.gate(NEAR, OLD, Y, max_loss=0.1, missing="worst")
    with pytest.raises(tl.TopListError, match="both models are called"):
        tl.gate({"a": NEAR}, {"a": OLD}, Y, max_loss=0.1)
    with pytest.raises(tl.TopListError, match="one model"):
        tl.gate({"a": NEAR, "b": NEAR}, OLD, Y, max_loss=0.1)


# Records


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Predictions in three layouts and orders, and the truth with clusters, groups, weights and numbers of classes."""
    place = tmp_path_factory.mktemp("gate")
    ids = np.array([f"id-{i:03}" for i in range(N)])
    mixed = np.random.default_rng(1).permutation(N)
    truth = {
        "id": ids,
        "label": LABELS[Y],
        "cluster": np.arange(N) // 7,
        "site": np.array(["x", "y"])[np.arange(N) % 2],
        "w": np.arange(N) % 3 + 1,
        "m": np.full(N, M) + np.arange(N) % 2,
    }
    pa.parquet.write_table(pa.table(truth), place / "truth.parquet")
    old = pa.table({"id": ids, **{name: OLD[:, i] for i, name in enumerate(LABELS)}})
    pa.parquet.write_table(old, place / "old.parquet")
    pa.parquet.write_table(old.take(mixed), place / "mixed.parquet")
    at, kinds = np.repeat(mixed, M), np.tile(np.arange(M), N)
    long = {"id": ids[at], "class": LABELS[kinds], "confidence": NEAR[at, kinds]}
    pa.parquet.write_table(pa.table(long), place / "new.parquet")
    few = pa.table({"id": ids[10:], **{name: FAR[10:, i] for i, name in enumerate(LABELS)}})
    pa.parquet.write_table(few, place / "few.parquet")
    soft = pa.table({"id": ids, **{name: FAR[:, i] for i, name in enumerate(LABELS)}})
    pa.parquet.write_table(soft, place / "soft.parquet")
    return {one.stem: one for one in place.iterdir()}


TRUTHS: dict[str, Callable[[dict[str, Path]], Any]] = {
    "plain": lambda files: tl.Truth(files["truth"], outcome="label", cluster=""),
    "clusters": lambda files: tl.Truth(files["truth"], outcome="label", cluster="cluster"),
    "groups and weights": lambda files: tl.Truth(files["truth"], outcome="label", group="site", weight="w"),
    "classes by case": lambda files: tl.Truth(files["truth"], outcome="label", n_classes="m"),
    "distributions": lambda files: tl.Truth(files["soft"]),
}


@pytest.mark.parametrize("rule", ["brier", "log"])
@pytest.mark.parametrize("kind", TRUTHS)
def test_a_gate_with_a_record_is_that_with_the_predictions_to_the_last_bit(
    kind: str, rule: str, files: dict[str, Path], tmp_path: Path
) -> None:
    truth, space = TRUTHS[kind](files), None if kind == "classes by case" else list(LABELS)
    asked: Any = {"max_loss": 0.02, "per_case": 1.0, "space": space, "rule": rule}
    known = tl.gate(files["new"], files["old"], truth, **asked)
    path = tmp_path / "a file of any name"
    tl.score_record(files["mixed"], truth, space=space, rules=("brier", "log")).write(path)
    found = tl.gate(files["new"], path, truth, **asked)
    assert found == known
    assert found.to_dict() == known.to_dict()
    assert len(found.checks) == (4 if kind == "groups and weights" else 2)
    assert found.cases == N


def test_the_same_holds_in_memory_with_ids_and_without(files: dict[str, Path]) -> None:
    ids = tuple(f"id-{i:03}" for i in range(N))
    for own in (None, ids):
        new, old = (tl.TopLists.from_proba(p, space=tl.ClassSpace(labels=LABELS), ids=own) for p in (NEAR, OLD))
        record = tl.score_record(old, LABELS[Y])
        assert record.by_position == (own is None)
        known = tl.gate(new, old, LABELS[Y], max_loss=0.02, per_case=1.0)
        assert tl.gate(new, record, LABELS[Y], max_loss=0.02, per_case=1.0) == known
    of_files = tl.score_record(files["old"], tl.Truth(files["truth"], outcome="label"), space=list(LABELS))
    assert of_files.cases == ids
    assert of_files.outcomes == record.outcomes
    assert tl.gate(new, of_files, LABELS[Y], max_loss=0.02, per_case=1.0) == known


def test_a_record_is_the_same_text_whatever_the_order_of_rows(files: dict[str, Path]) -> None:
    truth = tl.Truth(files["truth"], outcome="label")
    one, other = (tl.score_record({"m": files[name]}, truth, space=list(LABELS)) for name in ("old", "mixed"))
    assert one.to_text() == other.to_text()
    assert one == other
    assert one.to_text().isascii()


def test_a_record_takes_less_than_fifty_bytes_for_a_case(files: dict[str, Path]) -> None:
    record = tl.score_record(files["old"], tl.Truth(files["truth"], outcome="label"), space=list(LABELS))
    assert 40 < len(record.to_text()) / N < 50


def made(scores: Any, **about: Any) -> ScoreRecord:
    """A record of these scores."""
    known = {"model": "m", "rules": ("brier",), "classes": "5", "penalty": None} | about
    ids = [f"c{i}" for i in range(len(scores[0]))]
    return ScoreRecord.of(ids, ["00000000"] * len(ids), np.array(scores, np.float64), **known)


@settings(max_examples=draws(60), deadline=None)
@given(
    scores=st.lists(
        st.floats(allow_nan=False, min_value=0.0) | st.just(math.inf) | st.floats(0, 1e-300), min_size=1, max_size=20
    ),
    penalty=st.none() | st.floats(0, 1e9) | st.just(math.inf),
    name=st.sampled_from(HOSTILE),
)
def test_a_record_is_read_back_to_the_last_bit(
    scores: list[float], penalty: float | None, name: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.getbasetemp() / "record.json"
    record = made([scores], penalty=penalty, model=name, warnings={"brier": (name,)})
    record.write(path)
    found = ScoreRecord.read(path)
    assert found == record
    assert found.scores.tobytes() == record.scores.tobytes()
    assert (found.model, found.penalty, found.warnings) == (name, penalty, {"brier": (name,)})
    for text in (path.read_text().replace("\n", "\r\n"), json.dumps(json.loads(path.read_text()), indent=4)):
        path.write_text(text, newline="")
        assert ScoreRecord.read(path) == record


def test_a_record_in_which_any_character_is_changed_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "record.json"
    record = made([[0.125, 0.5, math.inf], [1.0, 2.5, 0.25]], rules=("brier", "log"))
    text = record.to_text()
    for at in range(len(text)):
        for new in ("7" if text[at] != "7" else "3", ""):
            path.write_text(text[:at] + new + text[at + 1 :])
            try:
                found = ScoreRecord.read(path)
            except tl.FileError:
                continue
            assert found == record, (at, new)  # white space
            assert text[at].isspace()
    path.write_text(text[: len(text) // 2])
    with pytest.raises(tl.FileError, match="not JSON, so not a record of scores, or not all of it"):
        tl.gate(NEAR, path, Y, max_loss=0.1)


def test_a_record_with_a_right_checksum_and_wrong_contents_is_refused(tmp_path: Path) -> None:
    from toplist.evaluation.record import _checksum

    path, good = tmp_path / "record.json", json.loads(made([[0.125, 0.5]]).to_text())
    good.pop("checksum")
    wrong: dict[str, Any] = {
        "cases": [["c0", "00000000", 0.125], ["c0", "00000000", 0.5]],
        "sums": {"brier": {"cases": 2, "infinite": 0, "sum": "0x5p-4"}},
        "matched": "guess",
        "warnings": {"brier": [3]},
        "rules": ["brier", "log"],
    }
    for name, value in wrong.items():
        record = {**good, name: value}
        path.write_text(json.dumps({**record, "checksum": _checksum(record)}))
        with pytest.raises(tl.FileError, match="damaged"):
            ScoreRecord.read(path)
    for row in (
        ["c0", "00000000", 10**400],
        ["c0", "00000000"],
        ["c0", "00000000", "x"],
        [0, "00000000", 0.1],
        ["c0", "00000000", True],
        3,
    ):
        record = {**good, "cases": [row]}
        path.write_text(json.dumps({**record, "checksum": _checksum(record)}))
        with pytest.raises(tl.FileError, match="damaged"):
            ScoreRecord.read(path)


def test_a_record_of_another_version_is_refused_and_what_is_no_record_is_said_to_be_none(tmp_path: Path) -> None:
    path = tmp_path / "record.json"
    path.write_text(made([[0.125]]).to_text().replace("toplist.record/1", "toplist.record/2"))
    with pytest.raises(tl.FileError, match=r"toplist\.record/2"):
        tl.gate(NEAR, path, Y, max_loss=0.1)
    path.write_text('{"schema": "toplist.leaderboard/1"}')
    with pytest.raises(tl.FileError, match="no record of scores"):
        ScoreRecord.read(path)
    with pytest.raises(tl.FileError, match="no such file"):
        ScoreRecord.read(tmp_path / "none.json")


REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "another rule": ({"rule": "log"}, "has scores by brier, not by log"),
    "another penalty": ({"penalty": 1.0}, "made with the default penalty, not with a penalty of 1"),
    "other classes": ({"space": [*LABELS, "ant"]}, "is of 5 classes, these predictions of 6"),
}


@pytest.mark.parametrize("kind", REFUSED)
def test_a_record_that_was_made_in_another_way_is_refused(kind: str, files: dict[str, Path]) -> None:
    truth = tl.Truth(files["truth"], outcome="label")
    record = tl.score_record(files["old"], truth, space=list(LABELS))
    asked, words = REFUSED[kind]
    with pytest.raises(tl.AlignmentError, match=words):
        tl.gate(files["new"], record, truth, **{"max_loss": 0.1, "space": list(LABELS), **asked})


def test_a_record_with_other_outcomes_or_numbers_of_classes_is_refused_with_the_case(files: dict[str, Path]) -> None:
    table = pa.parquet.read_table(files["truth"])
    truth = tl.Truth(table, outcome="label", n_classes="m", case="id")
    record = tl.score_record(files["old"], truth)
    assert tl.gate(files["new"], record, truth, max_loss=0.1).cases == N
    labels, sizes = table["label"].to_pylist(), table["m"].to_pylist()
    labels[7] = "owl" if labels[7] != "owl" else "fox"
    sizes[9] += 1
    for name, column, case in (("label", labels, "id-007"), ("m", sizes, "id-009")):
        other = table.set_column(table.column_names.index(name), name, [column])
        changed = tl.Truth(other, outcome="label", n_classes="m", case="id")
        for missing in ("error", "common"):
            with pytest.raises(tl.AlignmentError, match=rf"in 1 case \('{case}'\)"):
                tl.gate(files["new"], record, changed, max_loss=0.1, missing=missing)


def test_cases_of_a_record_that_do_not_match_are_counted_and_refused_or_left_out(files: dict[str, Path]) -> None:
    truth, asked = tl.Truth(files["truth"], outcome="label"), {"max_loss": 0.1, "space": list(LABELS)}
    table = pa.parquet.read_table(files["truth"])
    some = tl.Truth(table.slice(0, N - 3), outcome="label")
    record = tl.score_record(files["old"], some, space=list(LABELS), missing="common")
    with pytest.raises(tl.AlignmentError, match="the record of baseline lacks 3 cases"):
        tl.gate(files["new"], record, truth, **asked)
    found = tl.gate(files["new"], record, truth, missing="common", **asked)
    assert found.cases == N - 3
    assert any("lacks 3 cases" in note for note in found.notes)
    known = tl.gate(files["new"], files["old"], some, missing="common", **asked)
    assert found.checks == known.checks
    with pytest.raises(tl.AlignmentError, match="make it again with"):
        tl.gate(files["new"], record, truth, missing="uniform", **asked)
    whole = tl.score_record(files["old"], truth, space=list(LABELS))
    with pytest.raises(tl.AlignmentError, match="lacks 10 cases"):
        tl.gate(files["few"], whole, truth, **asked)
    for missing in ("common", "uniform"):
        with_record, with_files = (
            tl.gate(files["few"], old, truth, missing=missing, **asked) for old in (whole, files["old"])
        )
        assert with_record.checks == with_files.checks
        assert with_record.cases == (N - 10 if missing == "common" else N)
    with pytest.raises(tl.AlignmentError, match="no case in common"):
        tl.gate(files["new"], replace(whole, cases=tuple(f"x{i}" for i in range(N))), truth, **asked)


def test_positions_are_not_taken_for_ids(files: dict[str, Path]) -> None:
    record = tl.score_record(OLD, Y)
    with pytest.raises(tl.AlignmentError, match="knows its cases by positions, and these have ids"):
        tl.gate(files["new"], record, tl.Truth(files["truth"], outcome="label"), max_loss=0.1, space=list(LABELS))
    with pytest.raises(tl.AlignmentError, match=r"has 100 cases that are not here\. To take the cases that all have"):
        tl.gate(NEAR[:300], record, Y[:300], max_loss=0.1)
    found = tl.gate(NEAR[:300], record, Y[:300], max_loss=0.1, missing="common")
    assert found.checks == tl.gate(NEAR[:300], OLD[:300], Y[:300], max_loss=0.1).checks
    with pytest.raises(tl.AlignmentError, match="Leave them out"):
        tl.gate(NEAR, tl.score_record(OLD[:300], Y[:300]), Y, max_loss=0.1, missing="common")


# What people and programs see


def report(checks: int = 3, name: str = "new", **about: Any) -> GateReport:
    """A report with many groups, cases and warnings."""
    worst = tuple(CaseLoss(f"{name} {i}", 1.5, 0.1, 1.4) for i in range(5))
    rules = [
        GateCheck("mean", "inconclusive", 0.01, 0.004, -0.002, 0.012, cases=500, units=500, needed=900, worst=worst),
        GateCheck("case", "fail", 1.0, 1.4, cases=500, units=500, over=4, worst=worst),
        *(
            GateCheck("group", "pass", 0.05, 0.0, -0.01, 0.01, cases=50, units=50, group=f"{name} {i}")
            for i in range(checks - 2)
        ),
    ]
    known = {"group": name, "warnings": (name,) * 9, "notes": (name,) * 9, "command": f"toplist gate {name}"} | about
    return GateReport(name, f"{name} old", "brier", 0.95, 0.01, tuple(rules), 500, "case", 500, "t", **known)


@pytest.mark.parametrize("name", [*NAMES, "a`b``c"])
def test_a_summary_has_at_most_twelve_lines_with_the_verdict_first_whatever_the_names(name: str) -> None:
    text = report(40, name).to_markdown()
    lines = text.splitlines()
    assert lines[0].startswith("**FAIL**: ")
    assert len(lines) <= 12
    assert max(map(len, lines[:-1])) < 2_500
    assert sum(line.startswith("|") for line in lines) == 5
    assert all(line.replace("\\|", "").count("|") == 4 for line in lines if line.startswith("|"))
    assert lines[-1].startswith("- Reproduce: `")
    above = "\n".join(lines[:-1])  # the command is code, in which there is no markup
    assert "<script" not in above
    assert "<img" not in above


@pytest.mark.parametrize("name", [*NAMES, "\x00\x1b\ufffe\udc80]]>"])
@pytest.mark.parametrize("inconclusive", ["fail", "pass"])
def test_junit_has_a_test_case_for_each_check_and_follows_the_common_schema(name: str, inconclusive: str) -> None:
    """Elements, their order and attributes are those of Ant's schema, which other readers take too."""
    found = report(5, name)
    suites = ElementTree.fromstring(found.to_junit(inconclusive=inconclusive).encode("utf-8"))  # noqa: S314  our own
    (suite,) = suites
    assert (suites.tag, suite.tag) == ("testsuites", "testsuite")
    assert [one.tag for one in suite] == ["properties", *["testcase"] * 5, "system-out", "system-err"]
    needed = {"name", "package", "id", "tests", "failures", "errors", "skipped", "time", "timestamp", "hostname"}
    assert set(suite.attrib) == needed
    assert [suite.get(one) for one in ("tests", "failures", "errors", "skipped")] == (
        ["5", "2", "0", "0"] if inconclusive == "fail" else ["5", "1", "0", "1"]
    )
    assert len(suite.attrib["timestamp"]) == len("2024-01-01T00:00:00")
    cases = suite.findall("testcase")
    assert all(set(case.attrib) == {"name", "classname", "time"} for case in cases)
    kinds = [[(one.tag, sorted(one.attrib)) for one in case] for case in cases]
    open_ = ("failure", ["message", "type"]) if inconclusive == "fail" else ("skipped", ["message"])
    assert kinds == [[open_], [("failure", ["message", "type"])], [], [], []]
    assert len({case.attrib["name"] for case in cases}) == 5


@pytest.mark.parametrize("name", [*NAMES, "</style><img src=x onerror=alert(1)>"])
def test_other_forms_are_harmless_and_say_the_same(name: str) -> None:
    found = report(30, name)
    assert "<img" not in found._repr_html_()
    assert "<script" not in found._repr_html_()
    assert all(line.isprintable() for line in found.to_text().splitlines())
    assert len(repr(found)) < 200
    saved = json.loads(found.to_json())
    assert (saved["schema"], saved["verdict"], saved["passed"]) == ("toplist.gate/1", "fail", False)
    assert [check["verdict"] for check in saved["checks"]] == [check.verdict for check in found.checks]


def test_an_assertion_says_what_the_gate_says() -> None:
    assert assert_not_worse(NEAR, OLD, Y, max_loss=0.1).passed
    with pytest.raises(AssertionError) as failure:
        assert_not_worse(FAR, OLD, Y, max_loss=0.01, per_case=0.1, level=0.9)
    known = tl.gate(FAR, OLD, Y, max_loss=0.01, per_case=0.1, inference=0.9)
    assert str(failure.value) == str(known)
    margin = tl.gate(FAR, OLD, Y, max_loss=1.0).checks[0].value
    with pytest.raises(AssertionError, match="INCONCLUSIVE"):
        assert_not_worse(FAR, OLD, Y, max_loss=margin)
    assert assert_not_worse(FAR, OLD, Y, max_loss=margin, allow_inconclusive=True).verdict == "inconclusive"
    assert len(assert_not_worse(NEAR, OLD, Y, max_loss=0.1, group=np.arange(N) % 2, inference="bootstrap").checks) == 3
    with pytest.raises(TypeError, match="groups twice"):
        assert_not_worse(NEAR, OLD, tl.Truth(Y, group=np.arange(N)), max_loss=0.1, group=np.arange(N))
