"""Intervals for bounded means: they hold for every distribution, by enumeration, and end where the capital says."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy.stats import binom

import toplist as tl
from tests.core.integers import law
from tests.draws import draws
from tests.inference.factories import World
from toplist.inference import bounded
from toplist.inference.bounded import bounded_interval

few = settings(law, max_examples=draws(20))
numbers = st.lists(st.floats(-1, 1) | st.sampled_from([-1.0, 0.0, 1.0]), min_size=2, max_size=30).map(np.array)


def interval(x: Any, low: float = -1.0, high: float = 1.0, level: float = 0.95, seed: int = 0) -> Any:
    return bounded_interval(np.asarray(x, float), low, high, level, np.random.default_rng(seed))


def capital(x: Any, m: float, goal: float) -> float:
    """What bets above m make of one, number by number."""
    out, seen, squares = 1.0, 0.5, 0.25
    for i, z in enumerate(x):
        size = math.sqrt(2 * math.log(goal) / (len(x) * squares / (i + 1)))
        out *= 1 + min(size, 0.99 / m if m else math.inf) * (z - m)
        seen += z
        squares += (z - seen / (i + 2)) ** 2
    return out


@few
@given(x=numbers, level=st.sampled_from([0.8, 0.95, 0.99]))
def test_an_interval_ends_where_the_mean_capital_over_orders_reaches_its_goal(x: Any, level: float) -> None:
    low, high, p = interval(x, level=level)
    rng = np.random.default_rng(0)
    back = -np.sort(x)[::-1]
    turned = list(np.sort(x)) < list(back)
    z = (1 + (back if turned else np.sort(x))) / 2
    orders = [z[rng.permutation(len(z))] for _ in range(50)]
    goal = 2 / (1 - level)
    ends = (-high, -low) if turned else (low, high)
    for end, path in ((ends[0], orders), (-ends[1], [1 - order for order in orders])):
        at, mean = (end + 1) / 2, float(path[0].mean())
        above, below = (
            np.mean([capital(one, min(max(at + step, 0.0), 1.0), goal) for one in path]) for step in (1e-6, -1e-6)
        )
        assert at == 0 or below >= goal * (1 - 1e-3)
        assert at >= mean - 1e-6 or above <= goal * (1 + 1e-3)
    sides = [np.mean([capital(one, 0.5, goal) for one in path]) for path in (orders, [1 - one for one in orders])]
    assert p == pytest.approx(min(1.0, 2 / max(sides)), rel=1e-6)


@pytest.mark.parametrize("values", [(0.0, 1.0), (0.0, 0.1, 1.0)])
def test_the_lower_end_exceeds_the_mean_no_more_often_than_it_may(values: tuple[float, ...]) -> None:
    """Every sample of six numbers with its probability, in every order: over many distributions, at 80%."""
    tail = 0.1
    samples = list(itertools.product(range(len(values)), repeat=6))
    least = {at: bounded._Bets(np.array([[values[i] for i in at]]), tail).least() for at in samples}
    counts = np.array([[at.count(i) for i in range(len(values))] for at in samples])
    lows = np.array(list(least.values()))
    worst = 0.0
    for p in np.random.default_rng(1).dirichlet(np.full(len(values), 0.5), 300):
        chance = np.prod(p**counts, axis=1)
        worst = max(worst, float(chance[lows > p @ values + 1e-12].sum()))
    assert 0.01 < worst <= tail


def test_a_fixed_seed_does_not_spoil_the_guarantee() -> None:
    """Events of probability p among n cases: the interval depends on their number alone, which is binomial."""
    for n, p in ((10, 0.5), (50, 0.1), (200, 0.5), (200, 0.01)):
        missed = 0.0
        for k in range(n + 1):
            if binom.pmf(k, n, p) > 1e-7:
                low, high, _ = interval(np.arange(n) < k, 0.0, 1.0)
                missed += binom.pmf(k, n, p) * (not low <= p <= high)
        assert missed <= 0.05


@few
@example(x=np.array([0.0, 0.0, 0.0, 1.0, -1.0]), seed=0)
@given(x=numbers, seed=st.integers(0, 99))
def test_neither_the_order_of_rows_nor_which_model_comes_first_shows(x: Any, seed: int) -> None:
    low, high, p = interval(x)
    assert interval(np.random.default_rng(seed).permutation(x)) == (low, high, p)
    assert interval(-x) == (-high, -low, p)


@few
@given(x=numbers, level=st.sampled_from([0.8, 0.95]))
def test_the_interval_is_within_the_bounds_and_has_zero_exactly_where_p_is_above_one_minus_the_level(
    x: Any, level: float
) -> None:
    low, high, p = interval(x, level=level)
    assert -1 <= low <= x.mean() + 1e-9
    assert x.mean() - 1e-9 <= high <= 1
    assert (low <= 0 <= high) == (p > 1 - level) or p == pytest.approx(1 - level, rel=1e-6)


def test_a_win_in_every_case_is_no_proof_of_a_lead() -> None:
    """Of 200 cases all won by a little: a case in a hundred may lose all, and has not been seen."""
    low, high, p = interval(np.full(200, -0.001), -2.0, 2.0)
    assert low < -0.001 < 0.01 < high
    assert p > 0.5


def test_the_price_in_width_is_at_most_three_at_a_hundred_cases_and_half_at_ten_thousand() -> None:
    """Brier differences of a standard deviation of 0.16, as those of two usual models are."""
    rng = np.random.default_rng(2)
    for n, most in ((100, 3.0), (1000, 1.55), (10_000, 1.45)):
        x = rng.normal(0, 0.16, n).clip(-2, 2)
        low, high, _ = interval(x, -2.0, 2.0)
        assert 1.3 < (high - low) / (2 * 1.96 * 0.16 / math.sqrt(n)) < most


def test_seeds_hardly_show() -> None:
    x = np.random.default_rng(3).normal(0, 0.16, 500).clip(-2, 2)
    lows = [interval(x, -2.0, 2.0, seed=seed)[0] for seed in range(5)]
    assert 0 < np.ptp(lows) < 0.05 * (x.mean() - min(lows))


def test_means_differences_and_skill_are_bounded_and_ratios_say_why_not() -> None:
    rng = np.random.default_rng(4)
    world = World(rng.beta(2, 3, size=(2, 300)))
    cases = replace(world.cases("bounded"), bounds=((0.0, 1.0),))
    mean, skill = cases.mean(0, 0), cases.skill(0, 0)
    assert (mean.low, mean.high) == pytest.approx(interval(world.scores[0], 0.0, 1.0)[:2], rel=1e-9)
    assert skill is not None
    assert (skill.low, skill.high) == pytest.approx((1 - mean.high, 1 - mean.low), rel=1e-8)  # type: ignore[operator]
    difference = cases.difference(0, 0, 1)
    want = interval(world.scores[0] - world.scores[1])
    assert (difference.low, difference.high, difference.p) == pytest.approx(want, rel=1e-9)
    assert cases.baseline_skill(0, 0, 1).reason == "a ratio of means has no bounded interval: use t"  # type: ignore[union-attr]
    assert cases.relative(0, 0, 1.0, (0, 1)).reason == "a ratio of means has no bounded interval: use t"
    assert world.cases("bounded").mean(0, 0).reason.startswith("scores without bounds have no bounded interval")
    for other in (replace(world, clusters=np.arange(300) // 2), replace(world, weights=np.arange(300) + 1.0)):
        found = replace(other.cases("bounded"), bounds=((0.0, 1.0),)).mean(0, 0)
        assert found.reason == "bounded intervals are for independent cases of equal weight: use t"


def test_a_board_has_bounded_intervals_under_rules_with_bounds_and_refuses_clusters_and_weights() -> None:
    rng = np.random.default_rng(5)
    p = rng.dirichlet(np.ones(3), 80)
    made, y = {"a": p, "b": np.full((80, 3), 1 / 3)}, rng.integers(0, 3, 80)
    board = tl.compare(made, y, inference="bounded", baseline="b")
    assert board.comparison.method.startswith(
        "betting intervals for bounded means (cases in random orders, seed 0), wh"
    )
    assert board.comparison.seed == 0
    scores = board["a"].scores
    assert scores["brier"].mean.low is not None
    assert scores["log"].mean.reason == "scores without bounds have no bounded interval: use t, or a bounded rule"
    assert "95% CI (betting for bounded means)" in board.to_text(120)
    for more in ({"cluster": np.arange(80) // 2}, {"weight": np.ones(80)}):
        with pytest.raises(tl.TopListError, match=r"method='bounded' is for independent cases of equal weight: use "):
            tl.compare(made, tl.Truth(y, **more), inference="bounded")


def test_the_bounds_hold_for_lists_that_are_not_there_too() -> None:
    """No list here is invalid, but one could be, and would pay the penalty."""
    made, y = {"a": np.eye(2)[np.zeros(40, int)]}, np.zeros(40, int)
    highs = [
        tl.compare(made, y, rules="brier", penalty=penalty, inference="bounded")["a"].scores["brier"].mean.high
        for penalty in (0.0, 1.0)
    ]
    assert highs[1] == pytest.approx(1.5 * highs[0], rel=1e-6)  # type: ignore[operator]
