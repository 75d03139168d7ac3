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


def by_hand(lists: tl.TopLists, y: np.ndarray, clusters: np.ndarray) -> tuple[float, tuple[int, int]]:
    """F and its degrees of freedom: sums over clusters case by case, in the axes of both covariances at once.

    The axes solve V a = l C a, with C the covariance of calibrated independent cases, by scipy.
    """
    from scipy.linalg import eigh

    number = len(np.unique(clusters))
    sums, covariance = np.zeros((number, 3)), np.zeros((3, 3))
    for one, outcome, cluster in zip(lists, y, clusters, strict=True):
        t = sorted(one.confidences.items(), key=lambda item: -item[1])
        p = np.array([*(c for _, c in t), 1 - sum(c for _, c in t)])
        features = np.stack((np.arange(len(p)) == 0, np.arange(len(p)) < len(t), p)).astype(float)
        happened = [c for c, _ in t].index(outcome) if outcome in one.confidences else len(t)
        mean = features @ p
        sums[cluster] += features[:, happened] - mean
        covariance += (features * p) @ features.T - np.outer(mean, mean)
    some = [0, 2] if lists.rest.max() < 1e-9 or int(lists.sizes.max()) == 1 else [0, 1, 2]
    q, sums, covariance = len(some), sums[:, some], covariance[np.ix_(some, some)]
    found, axes = eigh(np.cov(sums.T) * number, covariance)
    least = np.maximum(found, max(1.0, found.mean() / 2))
    squared = ((axes.T @ sums.sum(axis=0)) ** 2 / least).sum()
    return squared * (number - q) / (q * (number - 1)), (q, number - q)


@pytest.mark.parametrize("k", [1, 3, 8], ids=["first class", "lists", "distributions"])
def test_the_test_is_hotellings_with_a_least_covariance(k):
    from scipy import stats

    rng = np.random.default_rng(k)
    right = known(90, k=k, seed=k, sharpen=1.4)
    y, clusters = right.outcomes(rng), rng.integers(0, 12, 90)
    want, freedom = by_hand(right.lists, y, clusters)
    found = calibration_test(right.lists, y, clusters=clusters)
    assert found.freedom == freedom
    assert found.statistic == pytest.approx(want, rel=1e-6)
    assert found.p == pytest.approx(stats.f.sf(want, *freedom), rel=1e-6)
    assert found.expected == pytest.approx(stats.f.mean(*freedom))
    assert (found.draws, found.tail) == (0, found.p)


def test_p_values_of_calibrated_clusters_are_not_too_small():
    """Even where the cases of a cluster are one case many times over, of which a test of cases makes a finding."""
    p, alone = [], []
    for seed in range(200):
        lists, y, which = repeated(15, 8, seed=seed)
        p.append(calibration_test(lists, y, clusters=which).p)
        if seed < 20:
            alone.append(calibration_test(lists, y, draws=19, seed=seed).p)
    assert np.mean(np.array(p) <= 0.05) <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / 200)
    assert np.mean(np.array(alone) <= 0.1) > 0.3


def test_all_cases_of_clusters_find_more_than_one_of_each():
    """Thirty clusters of ten, and confidences of 0.82 that are right 0.61 of the time."""
    whole, one = 0, 0
    for seed in range(12):
        rng = np.random.default_rng(seed)
        lists = tl.TopLists.from_topk(np.zeros((300, 1), int), rng.uniform(0.7, 0.94, (300, 1)), 4)
        which = np.repeat(np.arange(30), 10)
        y = (rng.random(300) > 0.61 + rng.uniform(-0.2, 0.2, 30)[which]).astype(int)
        whole += calibration_test(lists, y, clusters=which).p <= 0.05
        one += calibration_test(lists[::10], y[::10], draws=39).p <= 0.05
    assert whole == 12
    assert one <= 10


def test_it_still_finds_who_is_too_sure():
    lists, y, which = repeated(150, 3, seed=4, sharpen=3.0)
    assert calibration_test(lists, y, clusters=which).p <= 0.001


def test_a_few_clusters_are_not_tested():
    lists, y, _ = repeated(40, 1, seed=1)
    assert calibration_test(lists, y, clusters=np.arange(40) % 8).freedom == (3, 5)
    with pytest.raises(tl.TopListError, match="needs 8 or more of them, and there are 7"):
        calibration_test(lists, y, clusters=np.arange(40) % 7)
    with pytest.raises(tl.TopListError, match="there is one"):
        calibration_test(lists, y, clusters=np.zeros(40))


def test_what_has_no_probability_refutes_and_what_has_all_does_not():
    """Hard labels, and lists whose mass is one."""
    clusters, y = np.arange(20) // 2, np.zeros(20, int)
    labels = tl.TopLists.from_labels(y, 3)
    assert calibration_test(labels, y, clusters=clusters).p == 1
    wrong = calibration_test(labels, np.where(np.arange(20) == 4, 1, 0), clusters=clusters)
    assert (wrong.p, wrong.statistic) == (0, math.inf)
    whole = tl.TopLists.from_topk([[0, 1]] * 20, [[0.5, 0.5]] * 20, 3)
    assert calibration_test(whole, np.arange(20) // 2 % 2, clusters=clusters).p > 0.05
    assert calibration_test(whole, np.where(np.arange(20) == 4, 2, np.arange(20) // 2 % 2), clusters=clusters).p == 0
    assert calibration_test(tl.TopLists.from_dicts([{}] * 20, 3), y, clusters=clusters).p == 1


def test_clusters_of_unequal_sizes_count_for_less_than_there_are():
    """CR2 and its degrees of freedom, by the matrices of Bell and McCaffrey."""
    from scipy import stats

    right = known(40, seed=3)
    y, clusters = right.outcomes(np.random.default_rng(3)), np.repeat(np.arange(5), [20, 8, 6, 4, 2])
    away = right.lists.truncate(1).normalized_confidences - (right.lists.truncate(1).classes == y)
    member = (clusters[:, None] == np.arange(5)).astype(float)
    residual = np.eye(40) - np.full((40, 40), 1 / 40)
    columns = []  # of each cluster's adjusted sum, as a linear form of independent cases
    for g in range(5):
        share = member[:, g].sum() / 40
        columns.append(residual.T @ member[:, g] / math.sqrt(1 - share) / 40)
    form = np.stack(columns, axis=1)
    variance = ((form.T @ away) ** 2).sum()
    gram = form.T @ form
    freedom = np.trace(gram) ** 2 / np.trace(gram @ gram)
    found = calibration_bias(right.lists, y, clusters=clusters)
    error = math.sqrt(variance)
    half = stats.t.ppf(0.975, freedom) * error
    assert freedom < 3.5
    assert (found.low, found.high) == pytest.approx((away.mean() - half, away.mean() + half))
    assert found.detectable == pytest.approx(half + stats.t.ppf(0.8, freedom) * error)


def test_clusters_are_one_per_case():
    lists, y, _ = repeated(5, 1, seed=0)
    with pytest.raises(tl.ShapeError, match="One per case"):
        calibration_test(lists, y, clusters=[1, 2])
