"""Units drawn again, and their scores with random weights: against samples that are drawn and estimated one by one."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import toplist as tl
from tests.core.integers import law
from tests.draws import draws
from tests.inference.factories import World, ends, worlds
from toplist.inference import bootstrap
from toplist.inference.aggregates import ScoreMatrix, UnitSums
from toplist.inference.bootstrap import BootstrapT, Wild, counts, thinned, webb
from toplist.inference.estimation import BaselineSkill, Difference, LogRelative, Mean, Skill
from toplist.scoring.case_scores import one_if_alike

few = settings(law, max_examples=draws(15))
WEBB = [sign * math.sqrt(size) for sign in (-1, 1) for size in (0.5, 1.0, 1.5)]


def totals(seed: int, n: int, k: int = 2) -> UnitSums:
    return World(np.random.default_rng(seed).exponential(size=(k, n))).panel().totals(0)


# What is drawn


@law
@given(seed=st.integers(0, 10**6), n=st.integers(1, 40))
def test_every_draw_has_as_many_units_as_there_are(seed: int, n: int) -> None:
    drawn = counts(n, 29, np.random.default_rng(seed))
    assert (drawn.dot(np.ones((n, 1))) == n).all()


def test_counts_are_those_of_a_multinomial_distribution_and_weights_have_mean_zero_and_variance_one() -> None:
    rng = np.random.default_rng(1)
    often = counts(5, 20_000, rng).codes.astype(float)
    np.testing.assert_allclose(np.cov(often.T), np.eye(5) - 0.2, atol=0.04)
    drawn = webb(5, 20_000, rng)
    assert sorted(drawn.values) == pytest.approx(sorted(WEBB))
    means = drawn.dot(np.eye(5), np.eye(5)).mean(axis=0)
    np.testing.assert_allclose(means, np.repeat([0.0, 1.0], 5), atol=0.03)


@pytest.mark.parametrize("how", ["bootstrap", "wild"])
def test_the_size_of_a_batch_does_not_show(how: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    scores = np.random.default_rng(1).exponential(size=(2, 30))
    want = World(scores).cases(how, draws=99).difference(0, 0, 1)
    monkeypatch.setattr(bootstrap, "_CELLS", 100)
    assert ends(World(scores).cases(how, draws=99).difference(0, 0, 1)) == pytest.approx(ends(want), rel=1e-9)


@law
@given(n=st.integers(1, 200), most=st.integers(3, 50))
def test_merging_units_keeps_sums(n: int, most: int) -> None:
    units = totals(2, n)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bootstrap, "MOST", most)
        merged = thinned(units, np.random.default_rng(3))
    assert merged.sums.shape[1] <= most or n <= most
    np.testing.assert_allclose(merged.all.sums, units.all.sums, rtol=1e-12)
    if n <= most:
        assert merged is units


@pytest.mark.parametrize("how", ["bootstrap", "wild"])
def test_merging_units_keeps_the_error_of_scores_with_few_values(how: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Equal scores are neighbours in the order that units are kept in; merged with each other, they would not be."""
    rng = np.random.default_rng(4)
    world = World(rng.integers(0, 2, (2, 4000)) * 2.0)
    want = world.cases("t").difference(0, 0, 1).error
    monkeypatch.setattr(bootstrap, "MOST", 400)
    assert world.cases(how, draws=99).difference(0, 0, 1).error == pytest.approx(want, rel=0.15)


# Bootstrap-t


def one_by_one(x: Any, w: Any, at: Any) -> list[float]:
    """The t statistics of samples of units, each with its own error, around the ratio of all."""
    n, whole = len(x), x.sum() / w.sum()
    out = []
    for sample in at:
        a, b = x[sample], w[sample]
        mean = a.sum() / b.sum()
        out.append((mean - whole) / math.sqrt(n / (n - 1) * (((a - mean * b) / b.sum()) ** 2).sum()))
    return sorted(out)


@few
@given(seed=st.integers(0, 10**6), n=st.integers(12, 40), clustered=st.booleans())
def test_the_bootstrap_t_interval_is_that_of_samples_drawn_one_by_one(seed: int, n: int, clustered: bool) -> None:
    rng = np.random.default_rng(seed)
    clusters = np.concatenate([np.arange(n), rng.integers(0, n, 2 * n)]) if clustered else None
    world = World(rng.exponential(size=(2, 3 * n if clustered else n)), clusters=clusters)
    kept = world.panel().totals(0)
    x, w = kept.sums[0] - kept.sums[1], kept.sums[2]
    t = one_by_one(x, w, np.random.default_rng(7).integers(0, n, (199, n)))
    value, error = x.sum() / w.sum(), math.sqrt(n / (n - 1) * (((x - x.sum() / w.sum() * w) / w.sum()) ** 2).sum())
    got = world.cases("bootstrap", level=0.9, seed=7, draws=199).difference(0, 0, 1)
    assert ends(got) == pytest.approx((value, value - t[-10] * error, value - t[9] * error, error), rel=1e-9, abs=1e-12)
    beyond = min(sum(one <= value / error for one in t), sum(one >= value / error for one in t))
    assert got.p == min(1.0, 2 * (1 + beyond) / 200)


@few
@given(seed=st.integers(0, 10**6))
def test_gradients_are_the_derivatives_of_values(seed: int) -> None:
    """Of every estimand at every resample: by small steps, and as contributions at the sample itself."""
    rng = np.random.default_rng(seed)
    scores = rng.exponential(size=(3, 30)) + 0.1
    scores[rng.random(scores.shape) < 0.2] = np.nan
    units = World(scores, weights=rng.exponential(size=30), empty=rng.uniform(1, 2, 30)).panel().totals(0)
    for estimand in (Mean(0), Difference(0, 1), Skill(0), BaselineSkill(0, 2), LogRelative(0, (0, 1, 2))):
        columns, slopes = estimand.gradient(units, units.all)
        np.testing.assert_allclose((columns * slopes).sum(axis=0), estimand.contributions(units), rtol=1e-9, atol=1e-15)
        drawn = rng.multinomial(30, np.full(30, 1 / 30)).astype(float)
        at = replace(units, sums=units.sums @ drawn[:, None])
        columns, slopes = estimand.gradient(units, at)
        step = 1e-6
        for unit in range(3):
            moved = [replace(at, sums=at.sums + sign * step * units.sums[:, [unit]]) for sign in (1, -1)]
            slope = (estimand.value(moved[0]) - estimand.value(moved[1])) / (2 * step)
            assert float((columns[:, unit] * slopes[:, 0]).sum()) == pytest.approx(float(slope[0]), rel=1e-5, abs=1e-9)


def test_resamples_without_spread_leave_no_interval() -> None:
    """One event in fifty cases: every third resample has none of it."""
    x = np.zeros(50)
    x[7] = 1.0
    found = World([x]).cases("bootstrap").mean(0, 0)
    assert found.reason == "too many resamples have no spread: a bounded interval needs none"


def test_draws_that_are_too_few_for_a_level_are_so_called() -> None:
    cases = World(np.random.default_rng(6).exponential(size=(2, 30))).cases("bootstrap", draws=99)
    assert cases.difference(0, 0, 1, level=0.98).low is not None
    assert cases.difference(0, 0, 1, level=0.999).reason == "99 draws are too few for a level of 0.999"


# Wild bootstrap


def restricted(y: Any, g: Any, null: float, weights: Any) -> float:
    """The p value of a mean, from regressions of drawn data on a constant with CR2 errors (Bell and McCaffrey 2002)."""
    names, n = np.unique(g), len(y)
    adjusted = []
    for name in names:
        size = int(np.count_nonzero(g == name))
        values, vectors = np.linalg.eigh(np.eye(size) - np.full((size, size), 1 / n))
        adjusted.append((g == name, (vectors / np.sqrt(values)) @ vectors.T))

    def statistic(z: Any) -> float:
        mean = z.mean()
        squares = sum(float((matrix @ (z[own] - mean)).sum()) ** 2 for own, matrix in adjusted)
        return float((mean - null) / math.sqrt(squares / n**2)) if squares > 1e-20 else math.inf

    t = abs(statistic(y))
    drawn = [abs(statistic(null + (y - null) * np.asarray(w)[np.searchsorted(names, g)])) for w in weights]
    return sum(one >= t * (1 - 1e-9) for one in drawn) / len(drawn)


@settings(law, max_examples=draws(4))
@given(seed=st.integers(0, 10**6))
def test_the_wild_bootstrap_of_few_clusters_is_that_of_all_weights(seed: int) -> None:
    """Four clusters have 1,296 combinations: the p value at zero and at both ends, with the null imposed."""
    rng = np.random.default_rng(seed)
    g = np.repeat(np.arange(4), [3, 2, 4, 2])
    y = rng.normal(size=len(g)) + rng.normal(size=4)[g] + 1
    found = World([y], clusters=g).cases("wild").mean(0, 0)
    weights = list(itertools.product(WEBB, repeat=4))
    assert found.p == pytest.approx(restricted(y, g, 0.0, weights), abs=1e-12)
    _, low, high, error = ends(found)
    for end, sign in ((low, -1), (high, 1)):
        assert restricted(y, g, end - sign * 1e-6 * error, weights) > 0.05
        assert restricted(y, g, end + sign * 1e-6 * error, weights) <= 0.05 + 1e-9


@few
@given(world=worlds(least=8, most=20, missing=False), level=st.sampled_from([0.8, 0.95]))
def test_zero_is_in_an_interval_exactly_where_p_is_above_one_minus_the_level(world: World, level: float) -> None:
    for how in ("bootstrap", "wild"):
        cases = replace(world, moments=None).cases(how, level=level, draws=199)  # type: ignore[arg-type]
        for found in (cases.difference(0, 0, 1), cases.skill(0, 0), cases.baseline_skill(0, 0, 1)):
            if found is not None and found.low is not None:
                assert (found.low <= 0 <= found.high) == (found.p > 1 - level + 1e-12)  # type: ignore[operator]


def test_two_clusters_are_too_few_for_the_wild_bootstrap() -> None:
    """Two have 36 combinations, a sixth of which say what the sample says."""
    found = World(np.random.default_rng(10).normal(size=(2, 8)), clusters=np.arange(8) // 4).cases("wild")
    assert found.difference(0, 0, 1).reason == "2 clusters are too few for a wild bootstrap at a level of 0.95"


@pytest.mark.parametrize("how", ["bootstrap", "wild"])
def test_another_level_uses_the_same_draws(how: Any) -> None:
    scores = np.random.default_rng(11).exponential(size=(2, 40))
    cases = World(scores).cases(how)
    cases.difference(0, 0, 1)
    with pytest.MonkeyPatch.context() as patch:
        for kind in (BootstrapT, Wild):
            patch.setattr(kind, "of", None)
        wide = cases.difference(0, 0, 1, level=0.99)
    assert wide == World(scores).cases(how, level=0.99).difference(0, 0, 1)


# Through the front door


@pytest.mark.parametrize("how", ["bootstrap", "wild", "bounded"])
def test_cases_in_time_are_refused_with_the_remedy(how: str) -> None:
    made, y = {"a": np.full((30, 3), 1 / 3)}, np.arange(30) % 3
    with pytest.raises(
        tl.TopListError, match=rf"^method='{how}' is not for cases in time: use method='ewc', or time='' "
    ):
        tl.compare(made, tl.Truth(y, time=np.arange(30)), inference=how)
    found = World(np.random.default_rng(12).exponential(size=(2, 30))).cases(how, ordered=True)  # type: ignore[arg-type]
    assert found.difference(0, 0, 1).reason == f"{how} intervals are not for cases in time: use ewc"


# Panels


def test_panels_of_groups_hold_the_cases_of_the_group() -> None:
    world = World(np.arange(12.0).reshape(2, 6), weights=np.arange(6.0), clusters=[0, 1, 2, 0, 1, 2], empty=np.ones(6))
    panel = replace(world.panel(), groups=np.array([0, 1, 0, 1, 0, 1]), keys=("even", "odd"))
    odd = panel.group("odd")
    assert isinstance(odd, ScoreMatrix)
    assert len(odd) == 3
    assert odd.count == 3
    assert odd.scores[:, 0, 0].tolist() == [1.0, 3.0, 5.0]
    assert odd.weights is not None
    assert odd.weights.tolist() == [1.0, 3.0, 5.0]
    assert odd.units is not None
    assert odd.units.tolist() == [1, 0, 2]
    whole = world.panel()
    assert whole.group("anything") is whole


def test_rows_that_are_alike_are_one_row() -> None:
    assert one_if_alike([np.ones((2, 1)), np.ones((3, 1))]).shape == (1, 1)
    assert one_if_alike([np.ones((2, 1)), np.zeros((3, 1))]).shape == (5, 1)
    assert one_if_alike([np.broadcast_to([[1.0, 2.0]], (4, 2)), np.broadcast_to([[1.0, 2.0]], (3, 2))]).shape == (1, 2)
    mixed = one_if_alike([np.broadcast_to([[1.0]], (4, 1)), np.broadcast_to([[2.0]], (3, 1))])
    assert mixed[:, 0].tolist() == [1.0] * 4 + [2.0] * 3
