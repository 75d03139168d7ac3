"""Paths: what is told at a time was told by the path that ended there, and the two directions mirror each other."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.properties.cases import law
from toplist.inference.results import SequentialPath
from toplist.inference.sequential import BernsteinSequence, by_step, follow, log_evidence, running_mean, times


def made(seed: int, n: int, mean: float = 0.3) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Differences and their bounds."""
    rng = np.random.default_rng(seed)
    loss, win = rng.uniform(0.2, 2, n), rng.uniform(0.2, 2, n)
    return np.clip(mean + rng.normal(size=n), -win, loss), loss, win


def path(d: Any, loss: Any, win: Any, **options: Any) -> SequentialPath:
    return follow(d, loss, win, **{"level": 0.95, "rule": "r", "candidate": "a", "baseline": "b", **options})


@law
@given(seed=st.integers(0, 10**6), n=st.integers(1, 700), part=st.floats(0, 1), mean=st.sampled_from([-0.3, 0.0, 0.6]))
def test_the_path_of_the_first_cases_is_the_beginning_of_the_path(seed: int, n: int, part: float, mean: float) -> None:
    d, loss, win = made(seed, n, mean)
    t = max(1, math.ceil(part * n))
    whole, head = path(d, loss, win), path(d[:t], loss[:t], win[:t])
    for name in ("mean", "low", "high", "log_evidence_better", "log_evidence_worse"):
        told = dict(zip(whole.at, getattr(whole, name), strict=True))
        for at, value in zip(head.at, getattr(head, name), strict=True):
            if at in told:
                assert value == pytest.approx(told[at], rel=1e-12, abs=1e-12)
    for name in ("separated", "shown_better", "shown_worse"):
        when = getattr(whole, name)
        assert getattr(head, name) == (when if when is not None and when <= t else None)


@law
@given(seed=st.integers(0, 10**6), n=st.integers(1, 300))
def test_exchanging_the_two_turns_everything_round(seed: int, n: int) -> None:
    d, loss, win = made(seed, n)
    one, other = path(d, loss, win), path(-d, win, loss)
    assert one.at == other.at
    assert one.log_evidence_better == other.log_evidence_worse
    assert one.log_evidence_worse == other.log_evidence_better
    assert (one.separated, one.shown_better, one.shown_worse) == (
        other.separated,
        other.shown_worse,
        other.shown_better,
    )
    assert one.mean == pytest.approx([-x for x in other.mean])
    assert one.low == pytest.approx([-x for x in other.high])


@law
@given(seed=st.integers(0, 10**6), n=st.integers(1, 3000), mean=st.sampled_from([0.05, 0.2, 0.5]))
def test_what_is_first_is_found_exactly_and_not_at_the_next_time_that_is_told(seed: int, n: int, mean: float) -> None:
    d, loss, win = made(seed, n, mean)
    found, at, total = path(d, loss, win), np.arange(1, n + 1), np.cumsum(d)
    above = total > BernsteinSequence(d, win, loss, alpha=0.025).radius(at)
    apart = np.flatnonzero(above | (-total > BernsteinSequence(-d, loss, win, alpha=0.025).radius(at)))
    assert found.separated == (apart[0] + 1 if len(apart) else None)
    reached = np.flatnonzero(log_evidence(d, win, loss) >= math.log(20))
    assert found.shown_worse == (reached[0] + 1 if len(reached) else None)
    for when in (found.separated, found.shown_worse):
        assert when is None or when in found.at


def test_times_are_all_at_first_and_then_in_steps() -> None:
    assert times(7).tolist() == list(range(1, 8))
    many = times(10_000_000, 123_457)
    assert many[:200].tolist() == list(range(1, 201))
    assert (np.diff(many)[200:] <= 0.04 * many[200:-1] + 1).all()
    assert {123_457, 10_000_000} <= set(many.tolist())
    assert len(many) < 700


def test_a_mean_with_infinite_differences_is_infinite_and_with_both_kinds_none() -> None:
    found = running_mean(np.array([1.0, np.inf, 0.0, -np.inf, 2.0]), np.arange(1.0, 6.0))
    assert found[:3].tolist() == [1.0, math.inf, math.inf]
    assert np.isnan(found[3:]).all()
    d = np.array([0.1, np.inf, -np.inf])
    told = path(d, np.full(3, np.inf), np.full(3, np.inf))
    assert "no mean difference" in told.reason
    assert told.log_evidence_better == told.log_evidence_worse == (0.0, 0.0, 0.0)


def test_without_bounds_there_is_no_sequence() -> None:
    d, loss, win = made(0, 50)
    found = path(d, loss + np.inf, win + np.inf)
    assert found.low == found.high == ()
    assert found.separated is None
    assert "Bernstein" not in found.method
    assert (
        "From case 1 on the confidence sequence has no lower bound, since b can score infinitely worse" in found.reason
    )


def test_a_bound_lasts_until_the_other_one_can_be_infinitely_worse() -> None:
    d, loss, win = made(0, 50)
    loss[30] = np.inf
    found, whole = path(d, loss, win), path(d, np.where(loss < np.inf, loss, 2.0), win)
    assert np.isfinite(found.high[:30]).all()
    assert set(found.high[30:]) == {math.inf}
    assert found.low[:30] == pytest.approx(whole.low[:30])
    assert np.isfinite(found.low).all()
    assert "From case 31 on the confidence sequence has no upper bound, since a can score infinitely" in found.reason
    assert "lower bound" not in found.reason


def test_an_infinite_difference_ends_both_bounds() -> None:
    d, loss, win = made(0, 50)
    loss[30] = d[30] = np.inf
    found = path(d, loss, win)
    assert set(found.high[30:]) == {math.inf}
    assert set(found.low[30:]) == {-math.inf}
    assert "no lower bound, since a score there is infinite" in found.reason


@law
@given(seed=st.integers(0, 10**6), n=st.integers(1, 300), many=st.integers(1, 30))
def test_candidates_share_the_level(seed: int, n: int, many: int) -> None:
    """With K of them, each path is the one at a level of 1 - alpha / K, and no e-value changes."""
    d, loss, win = made(seed, n)
    one, alone = path(d, loss, win, candidates=many), path(d, loss, win, level=1 - 0.05 / many)
    for name in ("at", "mean", "log_evidence_better", "separated", "shown_better", "shown_worse"):
        assert getattr(one, name) == getattr(alone, name)
    assert one.low == pytest.approx(alone.low, rel=1e-9, abs=1e-12)
    assert (one.level, one.candidates) == (0.95, many)
    assert (f"{many} candidates together" in one.method) == (many > 1)


@law
@given(seed=st.integers(0, 10**6), n=st.integers(1, 200))
def test_a_step_of_several_cases_is_their_sum_and_means_are_over_cases(seed: int, n: int) -> None:
    d, loss, win = made(seed, n)
    steps = np.sort(np.random.default_rng(seed).integers(0, 20, n))
    steps = np.unique(steps, return_inverse=True)[1]
    sizes = np.bincount(steps).astype(float)
    found = path(*(by_step(column, steps) for column in (d, loss, win)), sizes=sizes, unit="cluster")
    assert found.cases == n
    assert found.mean[-1] == pytest.approx(d.mean())
    ends = np.cumsum(sizes).astype(int)
    assert found.mean == pytest.approx(np.cumsum(d)[ends - 1] / ends)


def test_equal_models_are_never_apart() -> None:
    zero = np.zeros(1000)
    found = path(zero, zero, zero)
    assert found.separated is found.shown_better is found.shown_worse is None
    assert set(found.log_evidence_better) == {0.0}
    assert "Nothing was bet in 1,000 of 1,000 cases" in found.reason


def test_where_no_bet_is_possible_it_says_so() -> None:
    d, loss, win = made(0, 20)
    loss[:3] = np.inf
    win[0] = np.inf
    why = path(d, loss, win).reason
    assert "Nothing was bet on a in 3 cases" in why
    assert "Nothing was bet on b in 1 case," in why


def test_many_cases_are_told_in_a_few_hundred_times() -> None:
    rng = np.random.default_rng(1)
    n = 300_000
    d = rng.choice([-1.0, 1.0], n, p=[0.51, 0.49])
    found = path(d, np.ones(n), np.ones(n))
    assert len(found.at) < 600
    assert found.high[-1] < 0
    assert found.separated is not None
    assert found.shown_better is not None
    assert np.isfinite(found.log_evidence_better).all()
