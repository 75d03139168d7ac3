"""The same numbers as scipy, statsmodels and scikit-learn give for the same scores."""

from __future__ import annotations

import math
from inspect import signature
from typing import Any
from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

import toplist as tl
from tests.core.integers import law
from tests.draws import draws
from tests.inference.factories import World, ends
from toplist.inference.dependence import long_run_error, small_sample_factor, usual_lag
from toplist.inference.ranking import holm

few = settings(law, max_examples=draws(25))
seeds = st.integers(0, 10**6)
levels = st.sampled_from([0.5, 0.9, 0.95, 0.999])


def drawn(seed: int, n: int, k: int = 2) -> Any:
    """Skewed scores that hang together, because cases are easy or hard for all."""
    rng = np.random.default_rng(seed)
    return rng.exponential(size=(k, n)) + rng.exponential(size=n)


def series(seed: int, n: int, k: int = 2) -> Any:
    """Scores that depend on those before."""
    noise = drawn(seed, n + 5, k)
    return sum(0.7**lag * noise[:, 5 - lag : n + 5 - lag] for lag in range(5))


def ols(x: Any, **options: Any) -> Any:
    """A regression on a constant alone."""
    api = pytest.importorskip("statsmodels.api", reason="statsmodels is the oracle")
    return api.OLS(x, np.ones(len(x))).fit(**options)


@law
@given(seed=seeds, n=st.integers(2, 60), level=levels)
def test_t_intervals_and_p_values_are_those_of_scipy(seed: int, n: int, level: float) -> None:
    """One sample for the mean, two related ones for the difference: from sums, and from the cases themselves."""
    a, b = drawn(seed, n)
    world = World([a, b])
    one, two = stats.ttest_1samp(a, 0.0), stats.ttest_rel(a, b)
    for inference in (world.sums(level), world.cases("t", level=level)):
        for got, want in ((inference.mean(0, 0), one), (inference.difference(0, 0, 1), two)):
            low, high = want.confidence_interval(level)
            assert got.low == pytest.approx(low, rel=1e-9, abs=1e-12)
            assert got.high == pytest.approx(high, rel=1e-9, abs=1e-12)
            assert got.p == pytest.approx(want.pvalue, rel=1e-8)
    assert world.sums(level).mean(0, 0).error == pytest.approx(stats.sem(a), rel=1e-12)


@law
@given(seed=seeds, n=st.integers(2, 60), level=levels)
def test_normal_intervals_and_p_values_are_those_of_the_normal_distribution(seed: int, n: int, level: float) -> None:
    a, b = drawn(seed, n)
    d = a - b
    error = stats.sem(d)
    low, high = stats.norm.interval(level, d.mean(), error)
    got = World([a, b]).sums(level, normal=True).difference(0, 0, 1)
    assert (got.low, got.high) == pytest.approx((low, high), rel=1e-9, abs=1e-12)
    assert got.p == pytest.approx(2 * stats.norm.sf(abs(d.mean() / error)), rel=1e-9)


@few
@given(seed=seeds, n=st.integers(12, 120), horizon=st.integers(1, 9))
def test_the_long_run_error_is_that_of_newey_and_west_in_statsmodels(seed: int, n: int, horizon: int) -> None:
    """Without its correction; with the factor of Harvey, Leybourne and Newbold put on by hand."""
    a, b = series(seed, n)
    lag = usual_lag(n, horizon)
    fit = ols(a - b, cov_type="HAC", cov_kwds={"maxlags": lag, "use_correction": False})
    got = World([a, b]).cases("hac", horizon=horizon).difference(0, 0, 1)
    factor = math.sqrt((n + 1 - 2 * horizon + horizon * (horizon - 1) / n) / n)
    assert got.error == pytest.approx(float(fit.bse[0]) / factor, rel=1e-9)
    statistic = float(fit.params[0] / fit.bse[0]) * factor
    assert got.p == pytest.approx(2 * stats.t.sf(abs(statistic), n - 1), rel=1e-8)
    half = stats.t.ppf(0.975, n - 1) * got.error
    assert (got.low, got.high) == pytest.approx((got.value - half, got.value + half), rel=1e-9, abs=1e-12)


@few
@given(seed=seeds, n=st.integers(10, 80), groups=st.integers(3, 9))
def test_clustered_errors_are_those_of_statsmodels(seed: int, n: int, groups: int) -> None:
    """Of normal intervals always (CR1), of t intervals where clusters are of one size.

    Its small-sample correction is G / (G - 1) times (n - 1) / (n - k), which is one for a constant alone.
    """
    for even in (False, True):
        n += -n % groups if even else 0
        a, b = drawn(seed, n)
        names = np.arange(n) % groups
        np.random.default_rng(seed).shuffle(names)
        fit = ols(a - b, cov_type="cluster", cov_kwds={"groups": names, "use_correction": True, "df_correction": True})
        statistic, world = float(fit.params[0] / fit.bse[0]), World([a, b], clusters=names)
        for got in (world.sums(normal=not even), world.cases("t" if even else "normal")):
            found = got.difference(0, 0, 1)
            assert found.error == pytest.approx(float(fit.bse[0]), rel=1e-9)
            want = stats.t.sf(abs(statistic), groups - 1) if even else stats.norm.sf(abs(statistic))
            assert found.p == pytest.approx(2 * want, rel=1e-8)


@few
@given(seed=seeds, n=st.integers(8, 50), groups=st.integers(3, 9), weighted=st.booleans())
def test_clustered_t_intervals_are_those_of_cr2_case_by_case(seed: int, n: int, groups: int, weighted: bool) -> None:
    """Residuals of each cluster times (I - H)^(-1/2), as Bell and McCaffrey (2002) write it, with dense matrices.

    Weights are those of cases whose variances are inverse to them: what is divided by their root has equal variances.
    """
    a, b = drawn(seed, n)
    rng = np.random.default_rng(seed)
    names = np.minimum(rng.geometric(0.3, n), groups)
    names[:2] = 1, 2
    w = rng.choice([0.5, 1.0, 3.0], n) if weighted else np.ones(n)
    y, x = np.sqrt(w) * (a - b), np.sqrt(w)
    hat = np.outer(x, x) / (x @ x)
    rest = np.eye(n) - hat
    columns, error = [], 0.0
    for name in np.unique(names):
        own = np.flatnonzero(names == name)
        values, vectors = np.linalg.eigh(rest[np.ix_(own, own)])
        whitened = vectors @ np.diag(values**-0.5) @ vectors.T @ x[own] / (x @ x)
        error += float(whitened @ (rest @ y)[own]) ** 2
        columns.append(rest[:, own] @ whitened)
    gram = np.stack(columns, axis=1).T @ np.stack(columns, axis=1)
    freedom = np.trace(gram) ** 2 / np.trace(gram @ gram)
    world = World([a, b], None if not weighted else w, names)
    for got in (world.sums().difference(0, 0, 1), world.cases("t").difference(0, 0, 1)):
        assert got.error == pytest.approx(math.sqrt(error), rel=1e-8)
        assert got.freedom == pytest.approx(freedom, rel=1e-8)
        half = stats.t.ppf(0.975, freedom) * math.sqrt(error)
        assert (got.low, got.high) == pytest.approx((got.value - half, got.value + half), rel=1e-7, abs=1e-12)


@few
@given(seed=seeds, n=st.integers(3, 60))
def test_weighted_errors_are_those_of_weighted_least_squares_with_hc1(seed: int, n: int) -> None:
    """Of normal intervals: HC1 multiplies White's variance by n / (n - 1), which is U / (U - 1) for cases."""
    api = pytest.importorskip("statsmodels.api", reason="statsmodels is the oracle")
    a, b = drawn(seed, n)
    w = np.random.default_rng(seed).choice([0.25, 1.0, 1 / 3, 7.0], n)
    fit = api.WLS(a - b, np.ones(n), weights=w).fit(cov_type="HC1")
    world = World([a, b], weights=w)
    for got in (world.sums(normal=True).difference(0, 0, 1), world.cases("normal").difference(0, 0, 1)):
        assert got.value == pytest.approx(float(fit.params[0]), rel=1e-9, abs=1e-12)
        assert got.error == pytest.approx(float(fit.bse[0]), rel=1e-9)


@law
@given(values=st.lists(st.floats(0, 1) | st.sampled_from([0.0, 0.05, 1.0]), min_size=1, max_size=20))
def test_holm_is_that_of_statsmodels(values: list[float]) -> None:
    multitest = pytest.importorskip("statsmodels.stats.multitest", reason="statsmodels is the oracle")
    with mock.patch("gc.collect"):  # which it calls each time; with many tests in memory that takes a second
        want = multitest.multipletests(values, method="holm")[1]
    np.testing.assert_allclose(holm(values), want, rtol=1e-12, atol=0)


def test_the_variance_of_bartlett_is_that_of_the_textbook() -> None:
    """Autocovariances by numpy, weighted by hand; never negative, however the series goes."""
    for seed in range(20):
        x = series(seed, 50, 1)[0]
        d = (x - x.mean()) / len(x)
        for lag in (0, 1, 4, 49):
            full = np.correlate(d, d, "full")
            gamma = full[len(x) - 1 :]
            want = gamma[0] + 2 * sum((1 - step / (lag + 1)) * gamma[step] for step in range(1, lag + 1))
            assert long_run_error(d, lag) == pytest.approx(math.sqrt(max(want, 0.0)), rel=1e-7, abs=1e-12)
    assert long_run_error(np.array([1.0, -1.0] * 4), 7) >= 0


def test_the_factor_is_that_of_harvey_leybourne_and_newbold() -> None:
    for n in (2, 5, 30, 1000):
        for horizon in range(1, min(n, 12)):
            inside = (n + 1 - 2 * horizon + horizon * (horizon - 1) / n) / n
            assert small_sample_factor(n, horizon) == pytest.approx(math.sqrt(inside), rel=1e-12)
        for horizon in (n, n + 1, 2 * n + 3):
            assert small_sample_factor(n, horizon) == 0.0


@few
@given(seed=seeds, n=st.integers(3, 60), m=st.integers(2, 6))
def test_mean_scores_are_those_of_scikit_learn(seed: int, n: int, m: int) -> None:
    """The Brier score over all classes, and the log score, which scikit-learn clips only where it is zero."""
    metrics = pytest.importorskip("sklearn.metrics", reason="scikit-learn is the oracle")
    rng = np.random.default_rng(seed)
    p, y, w = rng.dirichlet(np.ones(m), size=n), rng.integers(0, m, n), rng.exponential(size=n)
    board = tl.compare({"p": p}, tl.Truth(y, weight=w))
    brier = np.average(((p - np.eye(m)[y]) ** 2).sum(axis=1), weights=w)
    log = metrics.log_loss(y, p, labels=range(m), sample_weight=w)
    assert [mark.mean.value for mark in board["p"].scores.values()] == pytest.approx([brier, log], rel=1e-9)
    if "scale_by_half" in signature(metrics.brier_score_loss).parameters:  # since 1.7
        theirs = metrics.brier_score_loss(y, p, labels=list(range(m)), scale_by_half=False, sample_weight=w)
        assert board["p"].scores["brier"].mean.value == pytest.approx(theirs, rel=1e-9)


def test_shown_ends_are_all_there() -> None:
    """So that the comparisons above compare numbers."""
    a, b = drawn(1, 30)
    for how in ("t", "normal", "hac", "bootstrap", "wild"):
        assert all(map(math.isfinite, ends(World([a, b]).cases(how).difference(0, 0, 1))))
