"""What each unit contributes to a quantity is its derivative along that unit, for every quantity."""

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
from tests.inference.factories import World, ends, worlds
from toplist.inference.aggregates import UnitSums
from toplist.inference.estimation import BaselineSkill, Difference, Estimand, LogRelative, Mean, Skill

QUANTITIES = (Mean(0), Difference(0, 1), Skill(0), BaselineSkill(0, 1), LogRelative(0, (0, 1)))
quantities = st.sampled_from(QUANTITIES)


def tilted(units: UnitSums, at: int, by: float) -> UnitSums:
    """The sums of all units, with one of them counted 1 + by times."""
    share = np.ones(units.sums.shape[1])
    share[at] += by
    return replace(units, sums=(units.sums * share).sum(axis=1, keepdims=True))


def there(quantity: Estimand, units: UnitSums) -> bool:
    """Whether the quantity exists for these units."""
    return float(quantity.weights(units).sum()) > 0 and all(units.w(0, b).sum() > 0 for b in (0, 1))


@law
@given(world=worlds(), quantity=quantities)
def test_contributions_are_derivatives(world: World, quantity: Estimand) -> None:
    """Along the weight of each unit, by differences on both sides."""
    units = world.panel().totals(0)
    if not there(quantity, units):
        return
    step = 1e-5
    parts = quantity.contributions(units)
    for at in range(units.sums.shape[1]):
        up, down = (float(quantity.value(tilted(units, at, by))[0]) for by in (step, -step))
        assert parts[at] == pytest.approx((up - down) / (2 * step), rel=1e-5, abs=1e-8)


@law
@given(world=worlds(), quantity=quantities)
def test_contributions_sum_to_zero(world: World, quantity: Estimand) -> None:
    """A quantity does not change if all weights do: it is homogeneous. Units without weight contribute nothing."""
    units = world.panel().totals(0)
    if not there(quantity, units):
        return
    parts = quantity.contributions(units)
    assert abs(parts.sum()) <= 1e-12 * max(1.0, np.abs(parts).sum())
    assert (parts[quantity.weights(units) == 0] == 0).all()


@law
@given(world=worlds(), quantity=quantities, seed=st.integers(0, 1000))
def test_the_order_of_cases_within_units_does_not_show(world: World, quantity: Estimand, seed: int) -> None:
    """Nor does that of the cases themselves: values stay, contributions are in the order of units."""
    order = np.random.default_rng(seed).permutation(len(world))
    units, again = world.panel().totals(0), world.at(order).panel().totals(0)
    if not there(quantity, units):
        return
    assert quantity.value(units.all) == pytest.approx(quantity.value(again.all), rel=1e-9)
    np.testing.assert_array_equal(quantity.contributions(units), quantity.contributions(again))


def jackknife(world: World, quantity: Estimand) -> float:
    """The standard error from leaving out one unit at a time."""
    units = world.panel().totals(0)
    left = [float(quantity.value(tilted(units, at, -1.0))[0]) for at in range(units.sums.shape[1])]
    n = len(left)
    return math.sqrt((n - 1) / n * float(((np.array(left) - np.mean(left)) ** 2).sum()))


@pytest.mark.parametrize("kind", ["plain", "weighted", "clustered", "incomplete"])
def test_the_delta_method_is_the_jackknife_where_there_are_many_units(kind: str) -> None:
    """Up to terms of one over their number; for means of equal weight they are the same."""
    n, rng = 800, np.random.default_rng(5)
    scores = rng.exponential(size=(2, n)) + rng.exponential(size=n)
    if kind == "incomplete":
        scores[rng.random(scores.shape) < 0.2] = np.nan
    world = World(
        scores,
        weights=rng.uniform(0.5, 2, n) if kind == "weighted" else None,
        clusters=np.arange(n) % (n // 4) if kind == "clustered" else None,
        empty=rng.choice([0.5, 0.9], n),
    )
    cases = world.cases("t")
    answers = (cases.mean(0, 0), cases.difference(0, 0, 1), cases.skill(0, 0), cases.baseline_skill(0, 0, 1))
    for quantity, found in zip(QUANTITIES, (*answers, cases.relative(0, 0, 1.0, (0, 1))), strict=True):
        assert found.error == pytest.approx(jackknife(world, quantity), rel=0.02), quantity  # type: ignore[union-attr]


def influence(scores: Any, a: int, b: int, units: Any = None) -> Any:
    """Of the log ratio of mean scores on common cases: each case's share of one mean minus that of the other."""
    both = ~np.isnan(scores[a]) & ~np.isnan(scores[b])
    x, y = np.where(both, scores[a], 0.0), np.where(both, scores[b], 0.0)
    parts = x / x.sum() - y / y.sum()
    return parts if units is None else np.bincount(units, parts)


@settings(law, max_examples=draws(40))
@given(seed=st.integers(0, 10**6), k=st.integers(2, 5), n=st.integers(8, 40), clustered=st.booleans())
def test_the_interval_of_relative_skill_is_that_of_plain_influence_functions(
    seed: int, k: int, n: int, clustered: bool
) -> None:
    """With missing rounds: every pair on its own cases, all pairs through the same cases."""
    rng = np.random.default_rng(seed)
    scores = rng.exponential(size=(k, n)) + 0.05
    scores[rng.random((k, n)) < 0.3] = np.nan
    scores[:, [0, -1]] = rng.exponential(size=(k, 2)) + 0.05  # some cases are common
    units = np.arange(n) // 3 if clustered else None
    others = tuple(range(k))
    both = [~np.isnan(scores[0]) & ~np.isnan(scores[b]) for b in others]
    where = units if units is not None else np.arange(n)
    counts = [int((np.bincount(where, at) > 0).sum()) for at in both]  # every ratio is short by its own units
    parts = (
        sum(math.sqrt(u / (u - 1)) * influence(scores, 0, b, units) for b, u in zip(others, counts, strict=True)) / k
    )
    error = math.sqrt(float((parts**2).sum()))
    value = math.exp(np.mean([math.log(scores[0, at].sum() / scores[b, at].sum()) for b, at in enumerate(both)]))
    got = World(scores, clusters=units).cases("normal").relative(0, 0, value, others)
    z = 1.959963984540054
    assert ends(got) == pytest.approx(
        (value, value * math.exp(-z * error), value * math.exp(z * error), value * error), rel=1e-9
    )
    assert got.low > 0  # type: ignore[operator]


def test_relative_skill_has_no_interval_where_a_pair_has_too_little_in_common() -> None:
    """Alone there is nobody to compare with; and one common case has no spread, however many others there are."""
    got = World(np.array([[1.0, 2.0, 3.0]])).cases("t").relative(0, 0, 1.0, (0,))
    assert (got.value, got.low, got.reason) == (1.0, None, "there is nobody to compare with")
    scores = np.full((2, 12), np.nan)
    scores[0, :7], scores[1, 6:] = np.arange(1.0, 8.0), np.arange(2.0, 8.0)
    got = World(scores).cases("t").relative(0, 0, 2.0, (0, 1))
    assert (got.low, got.reason) == (None, "one case has no spread")


def test_a_model_with_one_round_takes_no_interval_from_the_others() -> None:
    """Nor does it make them much wider: only its own ratio rests on one round, and that is one of many."""
    rng = np.random.default_rng(8)
    scores = rng.exponential(size=(7, 60)) + 0.2
    scores[6, 1:] = np.nan
    others = tuple(range(7))
    cases, without = World(scores).cases("t"), World(scores[:6]).cases("t")
    for a in range(6):
        with_one, plain = cases.relative(0, a, 1.0, others), without.relative(0, a, 1.0, others[:6])
        assert with_one.low is not None
        assert plain.error < with_one.error < 3 * plain.error
    assert cases.relative(0, 6, 1.0, others).reason == "one case has no spread"


def relative_covers(seed: int, sporadic: int, teams: int = 6, rounds: int = 40) -> list[bool]:
    """Of all teams but the last, which has few rounds: whether the interval holds the true relative skill."""
    rng = np.random.default_rng(seed)
    means = np.linspace(0.8, 1.3, teams)
    scores = means[:, None] * rng.lognormal(-0.08, 0.4, rounds) * rng.lognormal(-0.125, 0.5, (teams, rounds))
    scores[-1, rng.permutation(rounds)[sporadic:]] = np.nan
    truth = np.log(means) - np.log(means).mean()
    cases, out = World(scores).cases("t"), []
    for a in range(teams - 1):
        both = [~np.isnan(scores[a]) & ~np.isnan(scores[b]) for b in range(teams)]
        ratios = [math.log(scores[a, at].sum() / scores[b, at].sum()) for b, at in enumerate(both)]
        got = cases.relative(0, a, math.exp(np.mean(ratios)), tuple(range(teams)))
        out.append(got.low <= math.exp(truth[a]) <= got.high)  # type: ignore[operator]
    return out


@pytest.mark.parametrize("sporadic", [1, 2])
def test_intervals_of_relative_skill_hold_beside_a_team_of_few_rounds(sporadic: int) -> None:
    found = [covered for seed in range(120) for covered in relative_covers(seed, sporadic)]
    assert np.mean(found) > 0.91
