"""The confidence sequence: against the formula written out, exactly on trees, and by simulation."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import brentq
from scipy.special import logsumexp

from tests.properties.cases import law
from toplist.inference.sequential import LOG_WEIGHTS, POINTS, BernsteinSequence, phi


def made(seed: int, n: int, spread: float = 1.0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Differences with bounds of very different size, some of them zero."""
    rng = np.random.default_rng(seed)
    fall, rise = np.exp(spread * rng.normal(size=(2, n)))
    same = rng.random(n) < 0.1
    fall[same] = rise[same] = 0.0
    return rng.uniform(-fall, rise), fall, rise


def one_by_one(d: Any, fall: Any, rise: Any, sizes: Any, alpha: float) -> list[float]:
    """The radius after every step, from the formulas as they are written, by bisection."""
    total, count, bets, v, found = 0.0, 0.0, None, np.zeros(POINTS), []
    for x, low, high, size in zip(d, fall, rise, sizes, strict=True):
        if max(low, high) > 1e-12:
            bound = max(low, high / 64)
            c = 1.25 * bound
            if bets is None:
                bets = 0.9 / c * 0.5 ** np.arange(POINTS)
            guess = min(size * total / count if count else 0.0, bound / 4)
            y = np.minimum(bets * c, 0.95)
            cost = np.where(y < 1e-4, bets**2 / 2 * (1 + 2 * y / 3), (-np.log1p(-y) - y) / c**2)
            v = np.where(bets * c > 0.9 * (1 + 1e-9), np.inf, v + cost * (x - guess) ** 2)
        total, count = total + x, count + size
        grid = np.ones(POINTS) if bets is None else bets

        def mixture(r: float, grid: np.ndarray = grid, v: np.ndarray = v) -> float:
            return float(logsumexp(grid * r - v + LOG_WEIGHTS)) + math.log(alpha)

        top = 1e-6
        while mixture(top) < 0:
            top *= 2
        found.append(float(brentq(mixture, 0.0, top, xtol=1e-13, rtol=1e-12)) if bets is not None else None)
    return found


@law
@given(
    seed=st.integers(0, 10**6),
    n=st.integers(1, 30),
    spread=st.sampled_from([0.0, 0.5, 3.0]),
    alpha=st.sampled_from([0.25, 0.025, 1e-4]),
    sized=st.booleans(),
)
def test_the_radius_is_the_root_of_the_mixture(seed: int, n: int, spread: float, alpha: float, sized: bool) -> None:
    d, fall, rise = made(seed, n, spread)
    sizes = np.random.default_rng(seed).integers(1, 9, n).astype(float)
    found = BernsteinSequence(d, fall, rise, sizes if sized else None, alpha=alpha).radius(np.arange(1, n + 1))
    for one, other in zip(found, one_by_one(d, fall, rise, sizes if sized else np.ones(n), alpha), strict=True):
        assert other is None or one == pytest.approx(other, rel=1e-7)


def test_phi_is_its_series() -> None:
    x = np.array([0.0, 1e-300, 1e-9, 1e-3, 0.015624, 0.015626, 0.1, 0.5, 0.9])
    series = [math.fsum(y**k / (k + 2) for k in range(700)) for y in x.tolist()]
    assert phi(x) == pytest.approx(series, rel=1e-12)


def test_the_weights_of_the_grid_add_up_to_less_than_one() -> None:
    assert 0.9 < np.exp(LOG_WEIGHTS).sum() < 1


@pytest.mark.parametrize("fall", [0.0, 0.1, 1.0])
@pytest.mark.parametrize("p", [0.02, 0.3, 0.5, 0.9, 0.999])
def test_each_factor_is_expected_to_be_at_most_one(fall: float, p: float) -> None:
    """The inequality behind it all, for two points at the bounds, with guesses and bets up to their ends."""
    x, weights, c = np.array([-fall, 1.0]), np.array([p, 1 - p]), 1.25 * fall
    bets = np.linspace(0, 0.9, 50) / c if c else np.linspace(0, 100, 50)
    for guess in np.linspace(-1, fall / 4, 9):
        cost = bets[:, None] ** 2 * phi(bets * c)[:, None] * (x - guess) ** 2
        assert (np.exp(bets[:, None] * (x - weights @ x) - cost) @ weights <= 1 + 1e-12).all()


@law
@given(seed=st.integers(0, 10**6))
def test_no_node_of_any_tree_is_expected_to_grow(seed: int) -> None:
    """Exactly, for the whole mixture: bounds, chances and numbers of cases may depend on all that happened before."""

    def node(past: list[tuple[float, float, float, float]], means: float, depth: int) -> None:
        rng = np.random.default_rng([seed, *(int(1e6 * abs(row[0])) for row in past)])
        fall, rise = np.exp(rng.normal(size=2) * rng.choice([0.1, 3.0]))
        p, size, x = rng.uniform(0.01, 0.99), float(rng.integers(1, 5)), (-fall, rise)
        mean = p * x[0] + (1 - p) * x[1]
        after = [_log_average([*past, (one, fall, rise, size)], means + mean) for one in x]
        assert p * math.exp(after[0]) + (1 - p) * math.exp(after[1]) <= math.exp(_log_average(past, means)) + 1e-9
        if depth:
            for one in x:
                node([*past, (one, fall, rise, size)], means + mean, depth - 1)

    node([], 0.0, 3)


def _log_average(rows: list[tuple[float, float, float, float]], means: float) -> float:
    """The log of the mixture at the true sum of means."""
    if not rows:
        return 0.0
    sequence = BernsteinSequence(*np.array(rows).T, alpha=1.0)
    paid = sequence._paid(0, np.array([len(rows)]))
    return float(sequence._evidence(sequence.total[-1:] - means, paid)[0][0])


@law
@given(seed=st.integers(0, 10**6), n=st.integers(1, 5000), lean=st.sampled_from([0.0, 0.1, 0.5]))
def test_zero_is_first_excluded_exactly_when_the_interval_first_does_not_hold_it(
    seed: int, n: int, lean: float
) -> None:
    d, fall, rise = made(seed, n, 0.5)
    d = np.minimum(d + lean * np.minimum(fall, rise), rise)
    sequence = BernsteinSequence(d, fall, rise, alpha=0.1)
    gap = sequence.total - sequence.radius(np.arange(1, n + 1))
    apart = np.flatnonzero(gap > 0)
    if np.abs(gap).min() > 1e-9:
        assert sequence.first_apart() == (apart[0] + 1 if len(apart) else None)


@law
@given(seed=st.integers(0, 10**6), n=st.integers(1, 60), factor=st.sampled_from([1e-6, 3.0, 1e9]))
def test_the_unit_of_scores_does_not_matter(seed: int, n: int, factor: float) -> None:
    d, fall, rise = made(seed, n)
    at = np.arange(1, n + 1)
    one = BernsteinSequence(d, fall, rise, alpha=0.05).radius(at)
    other = BernsteinSequence(factor * d, factor * fall, factor * rise, alpha=0.05).radius(at)
    some = (fall > 1e-5).cumsum() > 0
    assert other[some] == pytest.approx(factor * one[some], rel=1e-6)


def test_steps_know_only_the_past() -> None:
    d, fall, rise = made(1, 50, 0.3)
    at = np.arange(1, 50)
    other = [np.append(column[:-1], value) for column, value in ((d, -5.0), (fall, 9.0), (rise, 0.1))]
    one, two = (BernsteinSequence(*columns, alpha=0.05).radius(at) for columns in ((d, fall, rise), other))
    assert one == pytest.approx(two, rel=1e-12)


def test_cases_where_both_are_the_same_change_nothing() -> None:
    d, fall, rise = made(2, 40, 0.3)
    some = np.maximum(fall, rise) > 0
    sizes = some.astype(float)
    whole = BernsteinSequence(d, fall, rise, sizes, alpha=0.05).radius(np.array([40]))
    part = BernsteinSequence(d[some], fall[some], rise[some], alpha=0.05).radius(np.array([some.sum()]))
    assert 0 <= whole[0] - part[0] < 1e-9


def test_where_a_fall_has_no_end_the_sequence_ends() -> None:
    d, fall, rise = made(3, 40, 0.3)
    fall[20] = np.inf
    at = np.arange(1, 41)
    found = BernsteinSequence(d, fall, rise, alpha=0.05)
    assert found.steps == 20
    assert np.isfinite(found.radius(at)[:20]).all()
    assert np.isinf(found.radius(at)[20:]).all()
    other = BernsteinSequence(-d, rise, fall, alpha=0.05)
    assert np.isfinite(other.radius(at)).all()
    assert BernsteinSequence(d, fall + np.inf, rise, alpha=0.05).first_apart() is None


def shares(rng: np.random.Generator, n: int) -> tuple[np.ndarray, ...]:
    """Large bounds on rare cases, small ones elsewhere, means at the worst places within them."""
    fall = np.where(rng.random(n) < 0.02, 5.0, 0.2)
    rise = np.where(rng.random(n) < 0.1, 1.0, 0.05)
    p = rng.choice([0.01, 0.3, 0.9], n)
    return np.where(rng.random(n) < p, -fall, rise), -p * fall + (1 - p) * rise, fall, rise


def following(rng: np.random.Generator, n: int) -> tuple[np.ndarray, ...]:
    """Bounds and means that follow what happened last."""
    d, means, bound = np.zeros(n), np.zeros(n), np.ones(n)
    for i in range(1, n):
        bound[i] = min(0.2 + abs(d[i - 1]), 3.0)
        means[i] = 0.25 * d[i - 1]
        d[i] = means[i] + (bound[i] - abs(means[i])) * rng.choice([-1.0, 1.0])
    return d, means, bound, bound


@pytest.mark.parametrize("world", [shares, following])
def test_each_side_covers_at_all_times_at_once(world: Any) -> None:
    """At most a tenth of runs may ever miss on one side; the bound is five standard errors above."""
    rng, runs, misses = np.random.default_rng(3), 150, np.zeros(2)
    at = np.arange(1, 201)
    for _ in range(runs):
        d, means, fall, rise = world(rng, 200)
        off = np.cumsum(d - means)
        for side, sign in enumerate((1, -1)):
            columns = (d, fall, rise) if sign == 1 else (-d, rise, fall)
            misses[side] += (sign * off > BernsteinSequence(*columns, alpha=0.1).radius(at)).any()
    assert (misses / runs <= 0.1 + 5 * math.sqrt(0.1 * 0.9 / runs)).all()
