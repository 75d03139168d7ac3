"""Tempering is tempering of the padded distribution."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import toplist as tl
from tests.postprocess.recalibrators import huge, mixed, open_ended, sharpened
from tests.properties.cases import batches, law
from toplist.lists.log_space import ranks
from toplist.postprocess.recalibration import BucketTemperature, Recalibrator, Temperature
from toplist.postprocess.recalibration.base import Sample, strictly_repaired
from toplist.postprocess.recalibration.scaling import outcomes, tempered

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
def test_order_and_validity_stay(batch: tuple[tl.TopLists, list[int]], temperature: float) -> None:
    lists = strictly_repaired(batch[0])
    out = tempered(lists, temperature)
    assert out.is_valid().all()
    t, new = lists.normalized_confidences, out.normalized_confidences
    for lo, hi in zip(lists.offsets[:-1], lists.offsets[1:], strict=True):
        order = np.argsort(t[lo:hi])
        assert (np.diff(new[lo:hi][order]) >= -1e-15).all()


@law
@given(batch=batches(), first=temperatures, second=temperatures)
def test_temperatures_multiply(batch: tuple[tl.TopLists, list[int]], first: float, second: float) -> None:
    lists = batch[0]
    twice, once = at(second).transform(at(first).transform(lists)), at(first * second).transform(lists)
    np.testing.assert_allclose(twice.normalized_confidences, once.normalized_confidences, atol=1e-9)
    np.testing.assert_allclose(twice.rest, once.rest, atol=1e-9)


@law
@given(batch=batches())
def test_temperature_one_changes_nothing(batch: tuple[tl.TopLists, list[int]]) -> None:
    assert at(1.0).transform(batch[0]) == strictly_repaired(batch[0])


def test_logarithms_are_tempered_where_numbers_end() -> None:
    """m = 2**10000: log t is halved and normalised, as mpmath would have it."""
    lists, _ = huge(4)
    out = at(2.0).transform(lists)
    log_m = 10000 * math.log(2)
    for old, new in zip(lists, out, strict=True):
        logs = np.array(old.batch.log_confidences if old.batch.log_confidences is not None else [])
        rest = log_m + (math.log(float(old.batch.rest[0])) - log_m) / 2
        want = logs / 2 - np.logaddexp(np.logaddexp.reduce(logs / 2), rest)
        np.testing.assert_allclose(new.batch.log_confidences, want, rtol=1e-12)


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


@pytest.mark.parametrize("kind", [Temperature(), Temperature(rule="log"), BucketTemperature(rule="log")], ids=repr)
@law
@given(batch=batches(least=2))
def test_it_is_never_worse_than_nothing_on_what_it_learned_from(
    kind: Recalibrator, batch: tuple[tl.TopLists, list[int]]
) -> None:
    """Cases with an infinite score have one before and after, with a temperature."""
    lists, y = batch
    rule = kind.get_params()["rule"]
    before = tl.score(lists.repair(), y, rule=rule)
    after = tl.score(kind.clone().fit_transform(lists, y), y, rule=rule)
    assert np.isinf(after).sum() <= np.isinf(before).sum()
    finite = np.isfinite(before) & np.isfinite(after)
    assert after[finite].sum() <= before[finite].sum() + 1e-9


@pytest.mark.parametrize("rule", ["brier", "log"])
@pytest.mark.parametrize("spread", [True, False])
@given(seed=st.integers(0, 1000), exponent=st.floats(0.3, 3.0))
def test_slopes_are_the_slopes_of_the_score(rule: str, spread: bool, seed: int, exponent: float) -> None:
    """Against differences."""
    lists, y = mixed(seed, 10)
    sample = Sample.of(lists, y)
    table = outcomes(sample, spread=spread, group=np.minimum(ranks(sample.lists), 1), last=2)
    offsets = np.random.default_rng(seed).normal(size=3)
    found, step = table.value(exponent, offsets, rule), 1e-6
    up, down = (table.value(exponent + s, offsets, rule).score for s in (step, -step))
    assert found.exponent == pytest.approx((up - down) / (2 * step), abs=1e-5)
    for group in range(3):
        one = np.eye(3)[group] * step
        up, down = (table.value(exponent, offsets + s, rule).score for s in (one, -one))
        assert found.offsets[group] == pytest.approx((up - down) / (2 * step), abs=1e-5)


@given(seed=st.integers(0, 1000), temperature=temperatures)
def test_what_is_fitted_is_the_score_of_what_comes_out(seed: int, temperature: float) -> None:
    lists, y = mixed(seed, 12)
    table = outcomes(Sample.of(lists, y), spread=True)
    want = tl.score(at(temperature).transform(lists), y).mean()
    assert table.value(1 / temperature, np.zeros(2), "brier").score == pytest.approx(want, abs=1e-9)


def test_infinitely_many_shares_have_no_power() -> None:
    lists, y = open_ended()
    with pytest.raises(tl.TopListError, match="take BucketTemperature"):
        Temperature().fit(lists, y)
    with pytest.raises(tl.TopListError, match="take BucketTemperature"):
        at(2.0).transform(lists)
    hard = tl.TopLists.from_labels([0, 1], math.inf)
    assert at(2.0).transform(hard) == hard


def test_the_bucket_learns_how_much_the_rest_is_worth() -> None:
    """A million classes, outcomes unlisted three times as often as promised."""
    rng = np.random.default_rng(8)
    n = 4000
    t = np.tile([0.6, 0.3], (n, 1))
    lists = tl.TopLists.from_topk(np.tile([0, 1], (n, 1)), t, 10**6)
    y = rng.choice([0, 1, 999], n, p=[0.45, 0.25, 0.3])
    for rule in ("brier", "log"):
        out = BucketTemperature(rule=rule).fit_transform(lists, y)
        assert out.rest[0] == pytest.approx(np.mean(y == 999), abs=0.01)
        assert out.confidences[0] == pytest.approx(np.mean(y == 0), abs=0.02)


def test_a_rest_that_never_happened_does_not_vanish() -> None:
    lists = tl.TopLists.from_topk([[0, 1]] * 100, [[0.6, 0.3]] * 100, 1000)
    made = BucketTemperature(rule="log").fit(lists, [0, 0, 1, 0] * 25)
    assert 1e-4 < made.transform(lists).rest[0] < 0.1


@pytest.mark.parametrize("kind", [Temperature, BucketTemperature])
def test_only_two_scores_are_fitted_by(kind: type[Recalibrator]) -> None:
    lists, y = sharpened(9, 20)
    with pytest.raises(tl.TopListError, match='by the score "brier" or "log"'):
        kind(rule="spherical").fit(lists, y)
