"""Cases that depend on each other are no more than the clusters that they are in."""

from __future__ import annotations

import math

import numpy as np
import pytest

import toplist as tl
from tests.calibration.models import known
from toplist.calibration import calibration_bias, calibration_error, calibration_test


def repeated(n: int, times: int, *, seed: int, sharpen: float = 1.0) -> tuple[tl.TopLists, np.ndarray, np.ndarray]:
    """Each case several times over: clusters whose cases say and hear the same."""
    right = known(n, seed=seed, sharpen=sharpen)
    y = right.outcomes(np.random.default_rng(7000 + seed))
    which = np.tile(np.arange(n), times)
    return right.lists[which], y[which], which


def test_cases_that_are_clusters_of_their_own_change_nothing():
    lists, y, _ = repeated(60, 1, seed=1)
    own = np.random.default_rng(0).permutation(60)
    assert calibration_bias(lists, y, clusters=own) == pytest.approx(calibration_bias(lists, y))
    assert calibration_error(lists, y, clusters=own).value == pytest.approx(calibration_error(lists, y).value)


@pytest.mark.parametrize("of", ["top", "listed", "mass", 2])
def test_saying_it_twice_is_no_evidence(of):
    """The interval of clusters of equal cases is that of one case each; that of the cases is narrower."""
    lists, y, which = repeated(60, 4, seed=2)
    once = calibration_bias(lists[:60], y[:60], of=of)
    again = calibration_bias(lists, y, of=of, clusters=which)
    assert (again.low, again.high) == pytest.approx((once.low, once.high))
    alone = calibration_bias(lists, y, of=of)
    assert alone.high - alone.low < 0.6 * (once.high - once.low)
    error = calibration_error(lists, y, of=of, clusters=which)
    first = calibration_error(lists[:60], y[:60], of=of)
    assert error.value == pytest.approx(first.value)


def test_the_gap_is_that_of_the_means_of_clusters_of_one_size():
    """Against Student's interval of the means, from scipy."""
    from scipy import stats

    right = known(120, seed=5)
    y = right.outcomes(np.random.default_rng(5))
    clusters = np.arange(120) % 12
    away = right.lists.truncate(1).normalized_confidences - (right.lists.truncate(1).classes == y)
    means = np.array([away[clusters == one].mean() for one in range(12)])
    half = stats.t.ppf(0.975, 11) * means.std(ddof=1) / math.sqrt(12)
    found = calibration_bias(right.lists, y, clusters=[f"c{one}" for one in clusters])
    assert (found.low, found.high) == pytest.approx((means.mean() - half, means.mean() + half))


def test_p_values_of_calibrated_clusters_are_not_too_small():
    """Even where the cases of a cluster are one case many times over, of which a test of cases makes a finding."""
    p, alone = [], []
    for seed in range(60):
        lists, y, which = repeated(15, 8, seed=seed)
        p.append(calibration_test(lists, y, draws=19, seed=seed, clusters=which).p)
        alone.append(calibration_test(lists, y, draws=19, seed=seed).p)
    assert np.mean(np.array(p) <= 0.1) <= 0.1 + 3 * np.sqrt(0.09 / 60)
    assert np.mean(np.array(alone) <= 0.1) > 0.3


def test_it_still_finds_who_is_too_sure():
    lists, y, which = repeated(150, 3, seed=4, sharpen=3.0)
    assert calibration_test(lists, y, draws=99, clusters=which).p <= 0.05


def test_clusters_are_one_per_case():
    lists, y, _ = repeated(5, 1, seed=0)
    with pytest.raises(tl.ShapeError, match="One per case"):
        calibration_test(lists, y, clusters=[1, 2])
