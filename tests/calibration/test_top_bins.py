"""Bins of top confidences: whatever the split of the cases, they give what the cases themselves give."""

from __future__ import annotations

from functools import reduce
from operator import add
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

import toplist as tl
from tests.evaluation.factories import KINDS, batch, law, seeds
from toplist.calibration import calibration_bias
from toplist.calibration.binned import ReliabilityBins, clopper_pearson, top_confidences
from toplist.core.kernel import UNIT
from toplist.scoring.case_scores import CaseScores

every_kind = pytest.mark.parametrize("kind", KINDS)


def right(lists: tl.TopLists, y: Any) -> np.ndarray:
    return CaseScores.from_lists(lists, y, (tl.Brier(),)).metrics["accuracy"]


def bins(lists: tl.TopLists, y: Any) -> ReliabilityBins:
    return ReliabilityBins.of(lists, right(lists, y))


def top(lists: tl.TopLists) -> np.ndarray:
    rows = zip(lists.offsets[:-1], lists.offsets[1:], strict=True)
    return np.array([lists.normalized_confidences[lo:hi].max() for lo, hi in rows if hi > lo])


@every_kind
@law
@given(seed=seeds, n=st.integers(0, 40))
def test_top_confidences_are_the_largest_of_each_list(kind: str, seed: int, n: int) -> None:
    lists, _ = batch(kind, seed, n)
    assert top_confidences(lists).tolist() == top(lists).tolist()
    assert top_confidences(lists.ordered()).tolist() == top(lists).tolist()


@every_kind
@law
@given(seed=seeds, n=st.integers(0, 60), parts=st.integers(1, 7))
def test_any_split_in_any_order_merges_to_the_whole(kind: str, seed: int, n: int, parts: int) -> None:
    lists, y = batch(kind, seed, n)
    hit = right(lists, y)
    rng = np.random.default_rng(seed)
    which = rng.integers(0, parts, n)
    made = [ReliabilityBins.of(lists[at], hit[at]) for at in (np.flatnonzero(which == i) for i in range(parts))]
    whole = ReliabilityBins.of(lists, hit)
    made = [made[i] for i in rng.permutation(parts)]
    assert reduce(add, made, ReliabilityBins()) == whole
    assert (made[0] + reduce(add, made[1:], ReliabilityBins())) == whole


@every_kind
@law
@given(seed=seeds, n=st.integers(1, 60))
def test_the_curve_is_a_plain_histogram(kind: str, seed: int, n: int) -> None:
    lists, y = batch(kind, seed, n)
    some = lists.sizes > 0
    x, hit = top(lists), np.asarray(right(lists, y), float)[some]
    found = bins(lists, y).calibration(0.9)
    if not len(x):
        assert found is None
        return
    assert found is not None
    places = np.minimum(np.floor(x * 20), 19)
    error = 0.0
    for b, (low, high) in zip(found.bins, found.ends, strict=True):
        own = places == round(20 * b.low)
        assert b.count == own.sum() > 0
        assert (b.mean_confidence, b.hit_rate) == pytest.approx((x[own].mean(), hit[own].mean()), abs=1e-12)
        assert low <= b.hit_rate + 1e-12
        assert high >= b.hit_rate - 1e-12
        error += b.count / len(x) * abs(x[own].mean() - hit[own].mean())
    assert found.cases == sum(b.count for b in found.bins) == len(x)
    assert found.error == pytest.approx(error, abs=1e-12)


@law
@given(seed=seeds, n=st.integers(2, 60))
def test_the_bias_is_that_of_the_cases(seed: int, n: int) -> None:
    """Where no classes tie for the first place, and lists are valid."""
    rng = np.random.default_rng(seed)
    p = rng.dirichlet(np.full(4, 0.4), n)
    y = np.array([rng.choice(4, p=row) for row in p])
    exact, found = calibration_bias(p, y, level=0.8), bins(tl.TopLists.from_proba(p), y).calibration(0.8)
    assert found is not None
    names = ("mean_confidence", "hit_rate", "difference", "low", "high", "cases", "level", "detectable")
    assert [getattr(found.bias, name) for name in names] == pytest.approx(
        [getattr(exact, name) for name in names], abs=1e-12
    )


@law
@given(seed=seeds, n=st.integers(2, 60), soft=st.booleans())
def test_the_interval_of_the_bias_is_that_of_student_over_cases_where_hits_are_shares(
    seed: int, n: int, soft: bool
) -> None:
    rng = np.random.default_rng(seed)
    p = rng.dirichlet(np.ones(4), n)
    tied = rng.random(n) < 0.5
    p[tied] = [0.4, 0.4, 0.15, 0.05]
    lists = tl.as_lists(p)
    hit = np.asarray(right(lists, rng.dirichlet(np.ones(4), n) if soft else rng.integers(0, 4, n)), float)
    found = ReliabilityBins.of(lists, hit).calibration(0.9)
    assert found is not None
    if 0 < hit.sum() < n:
        away = top(lists) - hit
        low, high = stats.t.interval(0.9, n - 1, away.mean(), stats.sem(away))
        assert (found.bias.low, found.bias.high) == pytest.approx((low, high), abs=1e-9)


@pytest.mark.parametrize(("hits", "cases"), [(0, 1), (1, 1), (3, 10), (10, 10), (0, 10_000), (5_000, 10_000)])
def test_intervals_of_shares_are_those_of_scipy(hits: int, cases: int) -> None:
    theirs = stats.binomtest(hits, cases).proportion_ci(0.9, "exact")
    assert clopper_pearson(hits, cases, 0.9) == pytest.approx((theirs.low, theirs.high), abs=1e-9)


def test_a_trillion_cases_still_have_intervals() -> None:
    low, high = clopper_pearson(9e11, 10**12, 0.95)
    assert 0.8999994 < low < 0.9 < high < 0.9000006


def test_intervals_of_bins_contain_the_accuracy_at_least_as_often_as_they_say() -> None:
    rng = np.random.default_rng(1)
    p, inside = 0.83, []
    for hits in rng.binomial(40, p, 2000):
        low, high = clopper_pearson(hits, 40, 0.9)
        inside.append(low <= p <= high)
    assert np.mean(inside) >= 0.89


def test_the_error_of_calibrated_lists_is_about_what_chance_makes_of_it() -> None:
    rng, found = np.random.default_rng(5), []
    for _ in range(30):
        x = rng.random(1500)
        lists = tl.TopLists.from_topk(np.zeros((1500, 1), int), x[:, None], 100)
        found.append(ReliabilityBins.of(lists, rng.random(1500) < x).calibration(0.95))
    errors, chance = np.array([(one.error, one.chance) for one in found if one is not None]).T
    assert errors.mean() == pytest.approx(chance.mean(), rel=0.1)


def test_without_independent_cases_there_are_no_intervals() -> None:
    lists, y = batch("short", 3, 50)
    found, alone = bins(lists, y).calibration(0.95, independent=False), bins(lists, y).calibration(0.95)
    assert found is not None
    assert alone is not None
    assert (found.ends, found.bias.low, found.bias.high, found.bias.detectable) == ((), None, None, None)
    assert (found.bins, found.error, found.bias.difference) == (alone.bins, alone.error, alone.bias.difference)


def test_sums_are_in_units_of_the_smallest_double() -> None:
    made = ReliabilityBins.of(tl.TopLists.from_dicts([{"a": 0.75}], 5), np.array([True]))
    assert (made.bins.columns[1][15], made.products, made.squares) == (3 * UNIT // 4, 3 * UNIT // 4, 9 * UNIT // 16)
