"""The confidence set of the best: who is in it, who is out, and what happens where nothing can be tested."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.core.integers import law
from tests.draws import draws
from tests.inference.factories import World, worlds
from tests.report.results import comparison
from toplist.inference.intervals import Intervals
from toplist.inference.ranking import ComparisonSpec, confidence_set, ranked
from toplist.inference.results import ConfidenceSet

NAMES = tuple("abcdefghijklmnopqrst")
few = settings(law, max_examples=draws(25))


def found(
    world: World, *, level: float | None = None, intervals: Intervals | None = None, **spec: Any
) -> ConfidenceSet:
    terms = ComparisonSpec(NAMES[: len(world.scores)], ("rule",), (), None, False, **spec)
    (whole,) = ranked([(None, intervals or world.sums())], terms)
    return confidence_set(comparison(whole, rules=("rule",), pairs=whole.pairs), level=level)


def drawn(seed: int, k: int, n: int, *, spread: float = 0.0) -> Any:
    rng = np.random.default_rng(seed)
    return rng.exponential(size=(k, n)) + rng.exponential(size=n) + spread * np.arange(k)[:, None]


@few
@given(seed=st.integers(0, 10**6), k=st.integers(2, 5), n=st.integers(3, 60), spread=st.sampled_from([0.0, 0.3, 5.0]))
def test_members_are_those_whom_nobody_is_significantly_better_than(seed: int, k: int, n: int, spread: float) -> None:
    """By p values of statsmodels; the one with the lowest mean has the p value one."""
    multitest, stats = pytest.importorskip("statsmodels.stats.multitest"), pytest.importorskip("scipy.stats")
    scores = drawn(seed, k, n, spread=spread)
    got = found(World(scores))
    pairs = [(a, b) for a in range(k) for b in range(a)]
    p = multitest.multipletests([stats.ttest_rel(scores[a], scores[b]).pvalue for a, b in pairs], method="holm")[1]
    means = scores.mean(axis=1)
    for c in range(k):
        beaten = [q for (a, b), q in zip(pairs, p, strict=True) if c in (a, b) and means[c] == max(means[a], means[b])]
        assert got.p[NAMES[c]] == pytest.approx(min(beaten, default=1.0), rel=1e-9)
    assert got.p[NAMES[int(means.argmin())]] == 1.0
    assert set(got.members) == {name for name, q in got.p.items() if q > 0.05}
    assert (got.cases, got.reason) == (n, "")


@few
@given(seed=st.integers(0, 10**6))
def test_a_set_at_another_level_goes_by_the_same_p_values(seed: int) -> None:
    world = World(drawn(seed, 4, 40, spread=0.3))
    for level in (0.5, 0.9, 0.99):
        got = found(world, level=level)
        assert got.p == found(world).p
        assert set(got.members) == {name for name, p in got.p.items() if p > 1 - level}


def test_copies_of_a_model_share_their_fate() -> None:
    """Neither throws the other out, though they are not tested against each other."""
    x = drawn(3, 2, 60, spread=2.0)
    for scores, members in (([x[0], x[0] * (1 + 2.0**-52), x[1]], "ab"), ([x[0]] * 3, "")):
        world = World(np.stack(scores))
        got = found(world, intervals=replace(world.sums(), bounds=((0.0, math.inf),)))
        assert got.members == tuple(members)  # of copies alone nothing can be tested
        assert {got.p[name] for name in members} <= {1.0}


def test_a_model_with_infinite_scores_stays_in_and_the_reason_names_it() -> None:
    """No test weighs them: one may be chance."""
    scores = drawn(4, 3, 30)
    scores[2, 5] = math.inf
    got = found(World(scores))
    assert got.reason == "infinite scores, which no test weighs, leave nobody out: c"
    assert (got.p["c"], got.members) == (1.0, ("b", "a", "c"))
    two = found(World(scores[1:]))
    assert (two.members, dict(two.p)) == ((), {})
    assert two.reason == "infinite scores, which no test weighs: b"
    every = scores.copy()
    every[:, 7] = math.inf
    assert not found(World(every)).members


def test_a_pair_without_a_test_leaves_nobody_out_and_is_counted() -> None:
    """Two models that share one case."""
    scores = drawn(5, 3, 20, spread=0.5)
    scores[0, 10:], scores[1, :9] = math.nan, math.nan
    got = found(World(scores))
    assert got.reason == "pairs that cannot be tested, and leave nobody out: 1 of 3"


def test_models_without_a_rank_are_neither_in_it_nor_throw_others_out() -> None:
    got = found(World(drawn(6, 3, 80, spread=1.0)), unranked=frozenset({0}))
    assert got.members == ("b",)
    assert set(got.p) == {"b", "c"}


@few
@given(world=worlds(infinite=True, missing=True, least=1))
def test_whatever_is_infinite_or_missing_the_reason_is_there(world: World) -> None:
    """Every model has a p value, or the whole set has a reason; members have p values."""
    got = found(world)
    assert got.reason or set(got.p) == set(NAMES[: len(world.scores)])
    assert all(0 <= p <= 1 for p in got.p.values())
    assert set(got.members) <= set(got.p)
    assert bool(got.members) == bool(got.p)


def test_where_no_pair_can_be_tested_there_is_no_set() -> None:
    for scores, why in (
        ([[1.0, math.nan], [math.nan, 2.0]], "there are no cases"),
        ([[math.inf, 1.0], [math.inf, 2.0]], "infinite scores have no interval"),
        ([[1.0], [2.0]], "one case has no spread"),
        ([[1.0, 2.0]], "there is one model only"),
    ):
        got = found(World(scores))
        assert (got.members, dict(got.p), got.reason) == ((), {}, why)


def test_of_equal_models_that_seldom_have_an_infinite_score_all_stay_in_and_may_have_any_rank() -> None:
    """Whoever has one stood below, and was out on three boards of four."""
    boards, out = 100, 0
    for seed in range(boards):
        rng = np.random.default_rng(seed)
        world = World(np.where(rng.random((3, 200)) < 1 / 200, math.inf, rng.exponential(size=(3, 200))))
        terms = ComparisonSpec(NAMES[:3], ("rule",), (), None, False)
        (whole,) = ranked([(None, world.sums())], terms)
        members = confidence_set(comparison(whole, rules=("rule",), pairs=whole.pairs)).members
        narrow = {row.rank_interval for row in whole.rows} != {(1, 3)}
        assert narrow == (0 < len(members) < 3)
        out += narrow
    assert out / boards <= 0.05 + 3 * math.sqrt(0.05 / boards)


@pytest.mark.parametrize(("n", "phi"), [(10, 0.0), (100, 0.5)])
def test_of_equal_models_a_best_one_is_rarely_left_out(n: int, phi: float) -> None:
    """With few units and in time, where resampled sets left one out up to 30 % of the time."""
    k, most, boards, out = 5, 0.07, 150, 0
    rng = np.random.default_rng(n)
    for _ in range(boards):
        noise = rng.normal(size=(k, n + 50))
        for t in range(1, n + 50):
            noise[:, t] += phi * noise[:, t - 1]
        world = World(noise[:, 50:])
        got = found(world, intervals=world.cases("ewc") if phi else None)
        out += len(got.members) < k
    assert out / boards <= most + 3 * math.sqrt(most / boards)
