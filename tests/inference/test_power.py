"""Power and tests against a margin, against statsmodels and against simulated comparisons."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chi2, norm
from scipy.stats import t as student
from statsmodels.stats.power import TTestPower
from statsmodels.stats.weightstats import DescrStatsW

from toplist.inference.dependence import usual_waves
from toplist.inference.estimation import (
    detectable,
    estimate,
    one_sided,
    pessimistic,
    power_of,
    required_units,
    two_one_sided,
)
from toplist.inference.results import Estimate


@given(
    st.floats(0.01, 1.5), st.integers(3, 3000), st.sampled_from([0.8, 0.95, 0.999]), st.sampled_from([0.5, 0.8, 0.95])
)
def test_the_power_of_a_paired_t_test_is_that_of_statsmodels(effect: float, n: int, level: float, power: float) -> None:
    theirs = float(TTestPower().power(effect, n, 1 - level))
    assert math.isnan(theirs) or power_of(effect, 1 / math.sqrt(n), n - 1, level) == pytest.approx(theirs, abs=1e-6)
    found = detectable(1 / math.sqrt(n), n - 1, level, power)
    assert power_of(found, 1 / math.sqrt(n), n - 1, level) == pytest.approx(power, abs=1e-9)


@given(st.floats(0.05, 1.0), st.floats(0.1, 3.0), st.integers(5, 500), st.sampled_from([0.8, 0.95, 0.999]))
def test_the_units_needed_are_the_fewest_with_the_power(effect: float, sd: float, n: int, level: float) -> None:
    """Of independent units of equal weight, where a pilot of n has n - 1 degrees of freedom."""
    pilot = estimate(0.3, sd / math.sqrt(n), n - 1, 0.95)
    found = required_units(pilot, n, effect, level=level)
    assert found is not None
    power = [drawn_power(effect / sd, m, level) for m in (found, found - 1) if m > 1]
    assert power[0] >= 0.8 - 1e-3
    assert power[1:] == [] or power[1] < 0.8 + 1e-3


def drawn_power(effect: float, n: int, level: float) -> float:
    """The power of a t test by integrating over the distribution of the standard deviation."""
    u = (np.arange(4_000) + 0.5) / 4_000
    s = np.sqrt(chi2.ppf(u, n - 1) / (n - 1))
    edge, away = student.ppf(0.5 + level / 2, n - 1), effect * math.sqrt(n)
    return float(np.mean(norm.cdf(away - edge * s) + norm.cdf(-away - edge * s)))


def test_degrees_of_freedom_grow_with_the_units_as_the_method_says() -> None:
    """Twenty clusters that count like five are like five: four times as many count like twenty."""
    few = estimate(0.0, 0.1, 4.0, 0.95)
    many = required_units(few, 20, 0.1, level=0.95)
    equal = required_units(estimate(0.0, 0.1, 19.0, 0.95), 20, 0.1, level=0.95)
    assert many is not None
    assert equal is not None
    assert many >= equal
    exact = TTestPower().power(1.0 / math.sqrt(20), many, 0.05, df=5 * many / 20 - 1)
    assert exact == pytest.approx(0.8, abs=0.02)
    timed = estimate(0.0, 0.1, usual_waves(50), 0.95)
    found = required_units(timed, 50, 0.1, level=0.95, timed=True)
    assert found is not None
    error = 0.1 * math.sqrt(50 / found)
    assert power_of(0.1, error, usual_waves(found), 0.95) >= 0.8 > power_of(0.1, error, usual_waves(found) / 2, 0.95)


def test_what_is_planned_from_a_pilot_has_the_power_that_was_asked_for() -> None:
    """A new sample of the planned size finds the difference four times in five, whatever the pilot's own difference."""
    rng = np.random.default_rng(4)
    pilot = rng.normal(0.7, 1.0, 400)
    found = estimate(pilot.mean(), pilot.std(ddof=1) / 20, 399, 0.95)
    n = required_units(found, 400, 0.25, level=0.95)
    assert n is not None
    new = rng.normal(0.25, 1.0, (4000, n))
    t = new.mean(axis=1) / (new.std(axis=1, ddof=1) / math.sqrt(n))
    rate = float(np.mean(np.abs(t) > student.ppf(0.975, n - 1)))
    assert abs(rate - 0.8) < 0.05


def test_the_pessimistic_spread_is_at_least_the_true_one_four_times_in_five() -> None:
    rng = np.random.default_rng(5)
    errors = rng.normal(0, 1, (4000, 12)).std(axis=1, ddof=1) / math.sqrt(12)
    high = [pessimistic(Estimate(0.0, error=float(e), freedom=11.0)).error or 0.0 for e in errors]
    assert abs(np.mean(np.array(high) >= 1 / math.sqrt(12)) - 0.8) < 3 * math.sqrt(0.16 / 4000)


@given(st.integers(3, 60), st.floats(-0.5, 0.5), st.floats(0.01, 1.0), st.integers(0, 10**6))
def test_two_one_sided_tests_are_those_of_statsmodels(n: int, mean: float, margin: float, seed: int) -> None:
    d = np.random.default_rng(seed).normal(mean, 1, n)
    found = estimate(float(d.mean()), float(d.std(ddof=1)) / math.sqrt(n), n - 1, 0.95)
    p, (_, below, _), (_, above, _) = DescrStatsW(d).ttost_mean(-margin, margin)
    assert two_one_sided(found, margin) == pytest.approx(float(p), abs=1e-9)
    assert one_sided(found, margin) == pytest.approx(float(above), abs=1e-9)
    assert one_sided(found, -margin) == pytest.approx(1 - float(below), abs=1e-9)


def test_without_a_standard_error_there_is_no_number() -> None:
    for none in (Estimate(0.1), Estimate(0.1, 0.0, 0.2), Estimate(0.1, error=0.0, freedom=3.0)):
        assert required_units(none, 10, 0.1, level=0.95) is None
        assert one_sided(none, 0.1) is None
        assert two_one_sided(none, 0.1) is None
