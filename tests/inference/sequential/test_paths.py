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
from toplist.inference.sequential import follow
from toplist.inference.sequential.confidence_sequence import BernsteinSequence
from toplist.inference.sequential.e_values import log_evidence
from toplist.inference.sequential.path import running_mean, times


def made(seed: int, n: int, mean: float = 0.3) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Differences and their bounds."""
    rng = np.random.default_rng(seed)
    loss, win = rng.uniform(0.2, 2, n), rng.uniform(0.2, 2, n)
    return np.clip(mean + rng.normal(size=n), -win, loss), loss, win


def path(d: Any, loss: Any, win: Any, *, half: float | None = 2.0, level: float = 0.95) -> SequentialPath:
    return follow(d, loss, win, half=half, level=level, rule="r", candidate="a", baseline="b")


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
    found, sequence = path(d, loss, win), BernsteinSequence(2.0, 0.95)
    apart = np.flatnonzero(np.abs(np.cumsum(d)) > sequence.radius(sequence.spread(d)))
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
    found = running_mean(np.array([1.0, np.inf, 0.0, -np.inf, 2.0]))
    assert found[:3].tolist() == [1.0, math.inf, math.inf]
    assert np.isnan(found[3:]).all()
    d = np.array([0.1, np.inf, -np.inf])
    told = path(d, np.full(3, np.inf), np.full(3, np.inf), half=None)
    assert "no mean difference" in told.reason
    assert told.log_evidence_better == told.log_evidence_worse == (0.0, 0.0, 0.0)


def test_without_bounds_there_is_no_sequence() -> None:
    d, loss, win = made(0, 50)
    found = path(d, loss, win, half=None)
    assert found.low == found.high == ()
    assert found.separated is None
    assert "BernsteinSequence" not in found.method


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


def test_a_million_cases_are_told_in_a_few_hundred_times() -> None:
    rng = np.random.default_rng(1)
    n = 1_000_000
    d = rng.choice([-1.0, 1.0], n, p=[0.505, 0.495])
    found = path(d, np.ones(n), np.ones(n))
    assert len(found.at) < 600
    assert found.high[-1] < 0
    assert found.separated is not None
    assert found.shown_better is not None
    assert np.isfinite(found.log_evidence_better).all()
