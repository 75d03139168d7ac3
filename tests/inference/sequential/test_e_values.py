"""Betting: not expected to grow where the candidate is not better, in any world; and it never ends in no number."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import toplist as tl
from tests.properties.cases import law
from toplist.inference.sequential import log_evidence
from toplist.scoring.bounds import largest_loss, subtract

M, STEPS = 3, 4


def worlds(rng: np.random.Generator, rule: str) -> tuple[tl.TopLists, tl.TopLists]:
    """Two lists for each step; the candidate leaves no class at zero."""
    sizes = rng.integers(0, M, STEPS)
    a = [dict(zip(rng.permutation(M)[:k].tolist(), rng.dirichlet(np.ones(k + 1))[:k], strict=True)) for k in sizes]
    b = rng.dirichlet(np.full(M, 0.7), size=STEPS)
    return tl.TopLists.from_dicts(a, M), tl.TopLists.from_proba(b)


@pytest.mark.parametrize("rule", ["brier", "log", "spherical"])
@law
@given(seed=st.integers(0, 10**6))
def test_no_node_of_any_tree_is_expected_to_grow(rule: str, seed: int) -> None:
    """Exactly: at each node, under every distribution under which the candidate is not better, E[next] <= now."""
    rng = np.random.default_rng(seed)
    a, b = worlds(rng, rule)
    table_a = np.array([tl.score(a, [y] * STEPS, rule=rule) for y in range(M)])
    table_b = np.array([tl.score(b, [y] * STEPS, rule=rule) for y in range(M)])
    gain = -subtract(table_a, table_b)  # (outcomes, steps)
    loss, win = largest_loss(a, b, rule=rule), largest_loss(b, a, rule=rule)
    for t in range(STEPS):
        believed = [p for p in rng.dirichlet(np.full(M, 0.5), size=12) if p @ gain[:, t] <= 0]
        for past in itertools.product(range(M), repeat=t):
            before = gain[list(past), range(t)]
            now = log_evidence(before, loss[:t], win[:t])[-1] if t else 0.0
            after = [
                log_evidence(np.append(before, gain[y, t]), loss[: t + 1], win[: t + 1])[-1] - now for y in range(M)
            ]
            assert min(after) >= math.log(0.5) - 1e-12
            for p in believed:
                assert p @ np.exp(after) <= 1 + 1e-12


@law
@given(st.integers(1, 40), st.integers(0, 10**6))
def test_evidence_knows_only_the_past(n: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    loss, win = rng.exponential(size=n), rng.exponential(size=n)
    x = rng.uniform(-loss, win)
    whole = log_evidence(x, loss, win)
    t = int(rng.integers(1, n + 1))
    assert np.array_equal(whole[:t], log_evidence(x[:t], loss[:t], win[:t]))


def test_nothing_is_bet_where_the_loss_has_no_bound_or_nothing_can_be_won_or_lost() -> None:
    loss = np.array([np.inf, 0.0, -0.1, 1.0, 1e-17])
    win = np.array([1.0, 1.0, 1.0, -0.2, 1e-17])
    x = np.array([-np.inf, 0.5, 0.1, -0.5, 1e-17])
    assert log_evidence(x, loss, win).tolist() == [0.0] * 5


def test_what_the_baseline_held_for_impossible_is_evidence_without_end() -> None:
    loss, win = np.array([1.0, 1.0, 1.0]), np.array([1.0, np.inf, 1.0])
    found = log_evidence(np.array([-1.0, np.inf, -1.0]), loss, win)
    assert np.isfinite(found[0])
    assert found[1:].tolist() == [math.inf, math.inf]


@law
@given(st.lists(st.tuples(*[st.sampled_from([-np.inf, -1.0, 0.0, 1e-300, 0.3, 1e9, np.inf])] * 3), min_size=1))
def test_it_is_never_no_number(rows: list[tuple[float, float, float]]) -> None:
    loss, win, share = np.array(rows).T
    x = np.clip(share, np.minimum(-loss, win), np.maximum(-loss, win))
    found = log_evidence(x, loss, win)
    assert not np.isnan(found).any()
    assert (np.diff(np.where(np.isinf(found), 1e300, found)) >= math.log(0.5) - 1e-9).all()


def test_many_cases_neither_overflow_nor_underflow() -> None:
    n = 200_000
    one = np.ones(n)
    assert log_evidence(one, one, one)[-1] > 1e4
    assert -1e6 < log_evidence(-one, one, one)[-1] < 0


@pytest.mark.parametrize("rule", ["brier", "log"])
def test_false_alarms_are_rare_however_often_one_looks(rule: str) -> None:
    """The worst null, at which both are equally good in every case, and one who stops at the first 10."""
    rng, runs, n, alarms = np.random.default_rng(5), 200, 300, 0
    a = tl.TopLists.from_proba(np.tile([0.7, 0.3], (n, 1)))
    b = tl.TopLists.from_proba(np.tile([0.5, 0.5], (n, 1)))
    gain = [float(tl.score(b[0], y, rule=rule) - tl.score(a[0], y, rule=rule)) for y in (0, 1)]
    p = gain[1] / (gain[1] - gain[0])  # of class 0: nobody is better
    loss, win = largest_loss(a, b, rule=rule), largest_loss(b, a, rule=rule)
    for _ in range(runs):
        x = np.where(rng.random(n) < p, gain[0], gain[1])
        alarms += bool((log_evidence(x, loss, win) >= math.log(10)).any())
    assert alarms / runs <= 0.1 + 5 * math.sqrt(0.1 * 0.9 / runs)


def test_bets_find_what_a_fixed_bet_finds_only_if_it_is_well_chosen() -> None:
    """Cases until the evidence is 20, for a small and a large effect, against a fixed part of the largest bet."""
    rng, n = np.random.default_rng(6), 20_000
    one = np.full(n, 0.5)

    def until(log_e: np.ndarray) -> int:
        reached = log_e >= math.log(20)
        return int(np.argmax(reached)) + 1 if reached.any() else n + 1

    for p, times in ((0.525, 1.5), (0.6, 1.5)):
        ours, fixed = [], {f: [] for f in (0.05, 0.5)}
        for _ in range(20):
            x = np.where(rng.random(n) < p, 0.3, -0.3)
            ours.append(until(log_evidence(x, one, one)))
            for f, found in fixed.items():
                found.append(until(np.cumsum(np.log1p(f * x / one))))
        best = min(np.median(found) for found in fixed.values())
        assert np.median(ours) <= times * best
        assert np.median(ours) < 0.7 * max(np.median(found) for found in fixed.values())
