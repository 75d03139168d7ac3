"""Calibrators of one label's scores."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize
from sklearn.isotonic import IsotonicRegression

from toplist.multilabel.estimators.labels import fit_beta, fit_isotonic


@st.composite
def scored(draw: Any) -> tuple[np.ndarray, np.ndarray]:
    """Scores and outcomes, some of each."""
    n = draw(st.integers(2, 60))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    p = rng.random(n) if draw(st.booleans()) else rng.integers(0, 5, n) / 4
    tells = draw(st.sampled_from([-1.0, 0.0, 1.0, 20.0]))
    y = rng.random(n) < 1 / (1 + np.exp(-4 * tells * (p - 0.5)))
    y[0], y[1] = True, False
    return p, y


@given(scored())
def test_isotonic_calibration_rises_and_never_says_zero_or_one(case: tuple[np.ndarray, np.ndarray]) -> None:
    p, y = case
    said = fit_isotonic(p, y)(np.linspace(-0.5, 1.5, 201))
    assert (np.diff(said) >= 0).all()
    assert 0.5 / (len(y) + 1) - 1e-12 <= said[0]
    assert said[-1] <= 1 - 0.5 / (len(y) + 1) + 1e-12


def test_the_ends_follow_krichevsky_and_trofimov_and_the_middle_is_the_plain_regression() -> None:
    p = np.arange(20) / 20
    y = np.array([0] * 6 + [1, 0, 0, 1, 0, 1, 1, 0, 1] + [1] * 5, dtype=bool)
    plain = IsotonicRegression().fit(p, y).predict(p)
    said = fit_isotonic(p, y)(p)
    inside = (plain > 0) & (plain < 1)
    assert np.allclose(said[inside], plain[inside])
    assert np.allclose(said[plain == 0], 0.5 / (np.sum(plain == 0) + 1))
    assert np.allclose(said[plain == 1], 1 - 0.5 / (np.sum(plain == 1) + 1))


def _loss(weights: np.ndarray, p: np.ndarray, y: np.ndarray) -> float:
    """The log loss of beta calibration, as it is defined."""
    low = 0.5 / (len(y) + 1)
    q = np.clip(p, low, 1 - low)
    score = weights[2] + weights[0] * np.log(q) - weights[1] * np.log(1 - q)
    target = np.where(y, (y.sum() + 1) / (y.sum() + 2), 1 / ((~y).sum() + 2))
    return float(np.mean(np.logaddexp(0, score) - target * score))


@given(scored())
def test_beta_calibration_is_as_good_as_any_optimiser_makes_it(case: tuple[np.ndarray, np.ndarray]) -> None:
    p, y = case
    made = fit_beta(p, y)
    assert made.a >= 0
    assert made.b >= 0
    bounds = [(0, None), (0, None), (None, None)]
    starts = ([1.0, 1.0, 0.0], [0.0, 0.0, 0.0])
    best = min(minimize(_loss, start, (p, y), method="L-BFGS-B", bounds=bounds).fun for start in starts)
    assert _loss(np.array([made.a, made.b, made.c]), p, y) <= best + 1e-9
    said = made(np.linspace(0, 1, 101))
    assert (np.diff(said) >= 0).all()
    assert ((said > 0) & (said < 1)).all()


def test_beta_calibration_finds_what_distorted_the_scores() -> None:
    rng = np.random.default_rng(0)
    true = rng.random(200_000)
    y = rng.random(len(true)) < true
    made = fit_beta(true**2 / (true**2 + (1 - true) ** 2), y)  # log-odds doubled
    assert np.allclose((made.a, made.b, made.c), (0.5, 0.5, 0), atol=0.02)


@pytest.mark.parametrize("slope", [1, -1])
def test_scores_that_tell_everything_or_mislead_have_finite_calibrators(slope: int) -> None:
    p = np.linspace(0.01, 0.99, 40)
    made = fit_beta(p, slope * (p - 0.5) > 0)
    assert np.isfinite([made.a, made.b, made.c]).all()
    assert (made.a, made.b) == (0, 0) if slope < 0 else made.a + made.b > 1
