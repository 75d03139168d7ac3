"""The confidence sequence, against scalar oracles and by simulation."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import brentq
from scipy.special import logsumexp

from tests.properties.cases import law
from toplist.inference.sequential.confidence_sequence import POINTS, BernsteinSequence


def radius(v: float, half: float, level: float) -> float:
    """The root by bisection, from the formula as it is written."""
    c = 1.25 * half
    bets = np.geomspace(2e-4, 0.9, POINTS) / c
    psi = (-np.log1p(-c * bets) - c * bets) / c**2

    def mixture(r: float) -> float:
        return float(logsumexp(bets * r - psi * v, b=1 / POINTS)) - math.log(2 / (1 - level))

    high = 1.0
    while mixture(high) < 0:
        high *= 2
    return float(brentq(mixture, 0.0, high, xtol=1e-12, rtol=1e-12))


@law
@given(
    v=st.sampled_from([0.0, 1e-300, 1e-9, 0.1, 3.0]) | st.floats(0, 4e7),
    half=st.sampled_from([0.5, 1.0, 2.0, 2.01, 1e6]),
    level=st.sampled_from([0.5, 0.9, 0.95, 0.999]),
)
def test_the_radius_is_the_root_of_the_mixture(v: float, half: float, level: float) -> None:
    found = BernsteinSequence(half, level).radius(np.array([v]))
    assert found == pytest.approx([radius(v, half, level)], rel=1e-9)


def test_the_radius_grows_with_the_spread_and_with_the_level() -> None:
    v = np.concatenate([[0.0], np.geomspace(1e-6, 1e8, 500)])
    one, other = BernsteinSequence(2.0, 0.9).radius(v), BernsteinSequence(2.0, 0.99).radius(v)
    assert (np.diff(one) > 0).all()
    assert (other > one).all()
    assert np.isfinite(one).all()


@law
@given(st.lists(st.floats(-2, 2), min_size=1, max_size=60), st.sampled_from([0.6, 0.95]))
def test_zero_is_first_excluded_exactly_when_the_interval_first_does_not_hold_it(d: list[float], level: float) -> None:
    sequence, x = BernsteinSequence(2.0, level), np.array(d)
    total, v = np.cumsum(x), sequence.spread(x)
    gap = np.abs(total) - sequence.radius(v)
    apart = np.flatnonzero(gap > 0)
    found = sequence.first_apart(total, v)
    if np.abs(gap).min() > 1e-9:
        assert found == (apart[0] + 1 if len(apart) else None)


def test_guesses_know_only_the_past() -> None:
    """A change of the last difference changes the spread by that difference alone."""
    rng = np.random.default_rng(0)
    d = rng.uniform(-2, 2, 50)
    other = np.append(d[:-1], -d[-1])
    one, two = (BernsteinSequence(2.0, 0.95).spread(x) for x in (d, other))
    assert np.array_equal(one[:-1], two[:-1])
    guess = np.clip(d[:-1].mean(), -0.5, 0.5)
    assert one[-1] - one[-2] == pytest.approx((d[-1] - guess) ** 2)


@pytest.mark.parametrize("half", [1.0, 2.0])
@pytest.mark.parametrize("p", [0.02, 0.3, 0.5, 0.9])
def test_each_factor_is_expected_to_be_at_most_one(half: float, p: float) -> None:
    """The inequality behind it all, for two-point differences at the bounds, with every guess and every bet."""
    sequence = BernsteinSequence(half, 0.95)
    x, weights = np.array([-half, half]), np.array([p, 1 - p])
    mean = float(weights @ x)
    for guess in np.linspace(-half / 4, half / 4, 9):
        for sign in (1.0, -1.0):
            factors = np.exp(sequence.bets[:, None] * sign * (x - mean) - sequence.psi[:, None] * (x - guess) ** 2)
            assert (factors @ weights <= 1 + 1e-12).all()


def autocorrelated(rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Differences whose mean follows the last one, and these means."""
    d, means = np.zeros(n), np.zeros(n)
    for i in range(1, n):
        means[i] = 0.8 * d[i - 1]
        d[i] = means[i] + (1 - abs(means[i])) * rng.uniform(-1, 1)
    return d, means


def steady(rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
    return rng.choice([-2.0, 2.0], n, p=[0.4, 0.6]), np.full(n, 0.4)


def drifting(rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
    means = 1.5 * np.sin(np.arange(n) / 40)
    return means + rng.uniform(-0.5, 0.5, n), means


@pytest.mark.parametrize("world", [steady, drifting, autocorrelated])
def test_the_sequence_covers_at_all_times_at_once(world: object) -> None:
    """At most a tenth of runs may ever miss; the bound is five standard errors above."""
    rng, runs, misses = np.random.default_rng(3), 200, 0
    for _ in range(runs):
        d, means = world(rng, 400)  # type: ignore[operator]
        sequence = BernsteinSequence(2.0, 0.9)
        off = np.abs(np.cumsum(d) - np.cumsum(means))
        misses += bool((off > sequence.radius(sequence.spread(d))).any())
    assert misses / runs <= 0.1 + 5 * math.sqrt(0.1 * 0.9 / runs)
