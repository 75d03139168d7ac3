"""Pooling adjacent violators finds the nearest rising function."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given

from tests.calibration.models import seeds
from tests.properties.cases import law
from toplist.calibration.pairs import TiedGroups, grouped, pav, pool


def points(seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Values with ties, outcomes, and weights of very different sizes."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 40))
    x = rng.integers(0, 12, n) / 11 if rng.random() < 0.7 else rng.random(n)
    return x, rng.random(n) < x, rng.exponential(size=n) ** 3 + 1e-6


@given(seed=seeds)
@law
def test_it_is_the_isotonic_regression_of_scikit_learn(seed):
    isotonic = pytest.importorskip("sklearn.isotonic", reason="scikit-learn is not installed")
    x, y, w = points(seed)
    theirs = isotonic.IsotonicRegression(out_of_bounds="clip").fit(x, y, sample_weight=w)
    beside = np.linspace(-0.1, 1.1, 50)
    assert pav(x, y, w)(x) == pytest.approx(theirs.predict(x), abs=1e-12)
    assert pav(x, y, w)(beside) == pytest.approx(theirs.predict(beside), abs=1e-9)


@given(seed=seeds)
@law
def test_no_rising_function_is_nearer(seed):
    """The fit c is a projection: sum of w (y - c)(z - c) is zero or less for every rising z."""
    x, y, w = points(seed)
    c = pav(x, y, w)(x)
    rng = np.random.default_rng(seed + 1)
    for _ in range(10):
        z = np.interp(x, np.linspace(0, 1, 7), np.cumsum(rng.exponential(size=7)) - 2.0)
        assert (w * (y - c) * (z - c)).sum() <= 1e-10
    assert (np.diff(c[np.argsort(x)]) >= 0).all()


@given(seed=seeds)
@law
def test_each_step_has_the_mean_and_the_weight_of_what_it_covers(seed):
    x, y, w = points(seed)
    steps = pav(x, y, w)
    for low, high, value, weight in zip(steps.low, steps.high, steps.value, steps.weight, strict=True):
        at = (x >= low) & (x <= high)
        assert weight == pytest.approx(w[at].sum())
        assert value == pytest.approx(np.average(y[at], weights=w[at]))
    assert (np.diff(steps.value) > 0).all()
    assert (steps.low[1:] > steps.high[:-1]).all()


@given(seed=seeds)
@law
def test_yes_and_no_are_sorted_to_the_same_groups_as_numbers(seed):
    x, y, _ = points(seed)
    fast, plain = grouped(x, y), grouped(x, y.astype(float))
    assert all(np.array_equal(getattr(fast, of), getattr(plain, of)) for of in ("x", "weight", "total"))


def test_what_weighs_nothing_has_no_say():
    steps = pool(TiedGroups(np.array([0.1, 0.2, 0.3]), np.array([1.0, 0.0, 1.0]), np.array([1.0, 0.0, 1.0])))
    assert (steps.low.tolist(), steps.high.tolist(), steps.value.tolist()) == ([0.1], [0.3], [1.0])


def test_of_nothing_there_are_no_steps():
    assert len(pav([], [])) == 0
    assert len(pool(TiedGroups(np.array([0.5]), np.zeros(1), np.zeros(1)))) == 0
