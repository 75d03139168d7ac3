"""Tempering is tempering of the padded distribution."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import toplist as tl
from tests.postprocess.recalibrators import mixed, sharpened
from tests.properties.cases import batches, law
from toplist.postprocess.recalibration import Temperature
from toplist.postprocess.recalibration.base import Sample, strictly_repaired
from toplist.postprocess.recalibration.standard import MANY_CLASSES, ScaledOutcomes, tempered

temperatures = st.floats(0.2, 5.0)


def at(temperature: float) -> Temperature:
    """A temperature that was not learned."""
    made = Temperature()
    made.temperature_ = temperature
    return made


@given(seed=st.integers(0, 1000), temperature=temperatures)
def test_it_is_the_power_of_the_padded_distribution(seed: int, temperature: float) -> None:
    lists, _ = mixed(seed, 8)
    dense = lists.strictly_valid().padded() ** (1 / temperature)
    want = dense / dense.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(at(temperature).transform(lists).padded(), want, atol=1e-12)


@law
@given(batch=batches(), temperature=temperatures)
def test_order_stays_and_validity_where_shares_are_tempered(
    batch: tuple[tl.TopLists, list[int]], temperature: float
) -> None:
    lists = strictly_repaired(batch[0])
    out = tempered(lists, temperature)
    assert out.is_valid()[np.asarray(lists.space.as_floats[0]) + np.zeros(len(lists)) < MANY_CLASSES].all()
    t, new = lists.normalized_confidences, out.normalized_confidences
    for lo, hi in zip(lists.offsets[:-1], lists.offsets[1:], strict=True):
        order = np.argsort(t[lo:hi])
        assert (np.diff(new[lo:hi][order]) >= -1e-15).all()


@law
@given(batch=batches(), first=temperatures, second=temperatures)
def test_temperatures_multiply(batch: tuple[tl.TopLists, list[int]], first: float, second: float) -> None:
    lists = strictly_repaired(batch[0])
    twice, once = tempered(tempered(lists, first), second), tempered(lists, first * second)
    np.testing.assert_allclose(twice.normalized_confidences, once.normalized_confidences, atol=1e-9)
    np.testing.assert_allclose(twice.rest, once.rest, atol=1e-9)


@law
@given(batch=batches())
def test_temperature_one_changes_nothing(batch: tuple[tl.TopLists, list[int]]) -> None:
    assert at(1.0).transform(batch[0]) == strictly_repaired(batch[0])


@pytest.mark.parametrize("rule", ["brier", "log"])
@given(seed=st.integers(0, 1000), temperature=st.floats(0.4, 2.5))
def test_what_was_tempered_is_tempered_back(rule: str, seed: int, temperature: float) -> None:
    """The fit to lists tempered by T is that to the lists, over T: whatever the fit is."""
    lists, y = sharpened(seed, 60, k=3, power=1.5)
    plain = Temperature(rule=rule).fit(lists, y).temperature_
    again = Temperature(rule=rule).fit(at(temperature).transform(lists), y).temperature_
    if 0.05 < plain < 20 and 0.05 < plain / temperature < 20 and plain != 1.0 and again != 1.0:
        assert again == pytest.approx(plain / temperature, rel=1e-3)


@pytest.mark.parametrize("rule", ["brier", "log"])
@pytest.mark.parametrize("power", [0.5, 2.0])
def test_a_known_temperature_is_recovered(rule: str, power: float) -> None:
    """Distributions to a power, whole so that nothing is lost: the temperature is that power."""
    lists, y = sharpened(7, 20_000, power=power)
    assert Temperature(rule=rule).fit(lists, y).temperature_ == pytest.approx(power, rel=0.05)


@pytest.mark.parametrize("rule", ["brier", "log"])
@law
@given(batch=batches(least=2))
def test_it_is_never_worse_than_nothing_on_what_it_learned_from(
    rule: str, batch: tuple[tl.TopLists, list[int]]
) -> None:
    """Cases with an infinite score have one before and after, with a temperature."""
    lists, y = batch
    before = tl.score(lists.repair(), y, rule=rule)
    after = tl.score(Temperature(rule=rule).fit_transform(lists, y), y, rule=rule)
    assert np.isinf(after).sum() <= np.isinf(before).sum()
    finite = np.isfinite(before) & np.isfinite(after)
    assert after[finite].sum() <= before[finite].sum() + 1e-9


@given(seed=st.integers(0, 1000), temperature=temperatures)
def test_what_is_fitted_is_the_score_of_what_comes_out(seed: int, temperature: float) -> None:
    lists, y = mixed(seed, 12)
    outcomes = ScaledOutcomes.of(Sample.of(lists, y))
    want = tl.score(at(temperature).transform(lists), y).mean()
    assert outcomes.value(1 / temperature, "brier").score == pytest.approx(want, abs=1e-9)


@pytest.mark.parametrize("rule", ["brier", "log"])
@pytest.mark.parametrize("many", [False, True])
@given(seed=st.integers(0, 1000), exponent=st.floats(0.3, 3.0))
def test_slopes_are_the_slopes_of_the_score(rule: str, many: bool, seed: int, exponent: float) -> None:
    """Against differences."""
    lists, y = mixed(seed, 10)
    if many:
        lists = tl.TopLists.from_ragged(lists.offsets, lists.classes, lists.confidences, 2 * MANY_CLASSES)
    outcomes, step = ScaledOutcomes.of(Sample.of(lists, y)), 1e-6
    up, down = (outcomes.value(exponent + s, rule).score for s in (step, -step))
    assert outcomes.value(exponent, rule).slope == pytest.approx((up - down) / (2 * step), abs=1e-5)


@pytest.mark.parametrize("size", [2 * MANY_CLASSES, 2**100, math.inf])
def test_the_rest_of_very_many_classes_is_one_outcome(size: float) -> None:
    """Powers of shares of 2**100 classes would leave nothing to the listed ones."""
    lists = tl.TopLists.from_topk([[0, 1]], [[0.6, 0.3]], size)
    powers = np.sqrt([0.6, 0.3, 0.1])
    hot = at(2.0).transform(lists)
    np.testing.assert_allclose([*hot.confidences, hot.rest[0]], powers / powers.sum(), rtol=1e-12)
    few = tl.TopLists.from_topk([[0, 1]], [[0.6, 0.3]], MANY_CLASSES)
    np.testing.assert_allclose(at(2.0).transform(few).rest, 0.95, atol=0.02)


@pytest.mark.parametrize("rule", ["brier", "log"])
def test_a_temperature_among_a_million_classes_is_recovered(rule: str) -> None:
    """Outcomes drawn from masses of which the lists have the squares, the rest as one of them."""
    rng = np.random.default_rng(8)
    true = np.sort(rng.dirichlet([2.0, 1.0, 1.0], 20_000)[:, ::-1], axis=1)[:, ::-1]
    happened = (rng.random(len(true))[:, None] > np.cumsum(true, axis=1)).sum(axis=1)
    squares = true**2 / (true**2).sum(axis=1, keepdims=True)
    lists = tl.TopLists.from_topk(np.tile([0, 1], (len(true), 1)), squares[:, :2], 10**6)
    y = np.array([0, 1, 999])[happened]
    assert Temperature(rule=rule).fit(lists, y).temperature_ == pytest.approx(2.0, rel=0.1)
