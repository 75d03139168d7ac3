"""Calibration errors are unbiased, and intervals hold what they should."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

import toplist as tl
from tests.calibration.models import SPECIAL, anything, known, rounded, seeds, special
from tests.properties.cases import law
from toplist.calibration import calibration_bias, calibration_error
from toplist.calibration.binned import Binned
from toplist.calibration.miscalibration import bins_of
from toplist.calibration.pairs import calibration_pairs, view

LISTS = np.array([[0.5, 0.2, 0.1], [0.4, 0.4, 0.1], [0.2, 0.2, 0.2], [0.8, 0.1, 0.05]])


def by_pairs(x: np.ndarray, kept: np.ndarray, bins: np.ndarray) -> float:
    """The mean product of two different residuals of a bin, in the mean over all promises."""
    total = 0.0
    for b in np.unique(bins):
        d = (x - kept)[bins == b]
        n = len(d)
        total += n * (d[:, None] * d)[~np.eye(n, dtype=bool)].sum() / (n * (n - 1))
    return total / len(x)


@given(seed=seeds)
@law
def test_it_is_a_mean_over_pairs_of_different_cases(seed):
    rng = np.random.default_rng(seed)
    x = rng.choice([0.25, 0.5, 0.75], 40)
    y = np.where(rng.random(40) < x, 0, 1)
    lists = tl.TopLists.from_topk(np.zeros((40, 1), int), x[:, None], 30)
    if np.unique(x, return_counts=True)[1].min() > 1:
        made = calibration_error(lists, y, bins=1000)
        assert made.value == pytest.approx(by_pairs(x, y == 0, x), abs=1e-12)
        assert (made.bins, made.cases) == (3, 40)


@given(seed=seeds)
@law
def test_entries_of_one_list_are_not_taken_for_different_cases(seed):
    """Where every list has the same number of entries in a bin, cases pair by their sums."""
    rng = np.random.default_rng(seed)
    lists = tl.TopLists.from_topk([[0, 1]] * 12, [[0.375, 0.375]] * 12, 9)
    y = rng.integers(0, 4, 12)
    d = 0.75 - (y < 2)
    pairs = (d[:, None] * d)[~np.eye(12, dtype=bool)].mean()
    assert calibration_error(lists, y, of="listed").value == pytest.approx(pairs / 4, abs=1e-12)


@given(seed=seeds)
@law
def test_what_cases_add_to_the_means_of_bins_makes_their_variance(seed):
    """By definition, from a table of cases and bins; lists have any number of entries in a bin."""
    lists, y = rounded(seed, 50)
    seen = view(calibration_pairs(lists, y), "listed")
    code = bins_of(seen, 5)
    bins, makers = code.max() + 1, np.unique(seen.case)
    table, count = np.zeros((2, len(makers), bins))
    for x, kept, case, b in zip(seen.confidence, seen.hit, np.searchsorted(makers, seen.case), code, strict=True):
        table[case, b] += x - kept
        count[case, b] += 1
    n, cases = count.sum(axis=0), (count > 0).sum(axis=0)
    mean = table.sum(axis=0) / n
    variance = cases / (cases - 1) * ((table - count * mean) ** 2).sum(axis=0) / n**2
    made = calibration_error(lists, y, of="listed", bins=5)
    assert (made.bins, made.cases) == (bins, len(makers))
    assert made.value == pytest.approx((n / n.sum() * (mean**2 - variance)).sum(), abs=1e-12)


def draw(rng: np.random.Generator, n: int, temper: float) -> tuple[tl.TopLists, np.ndarray]:
    """Three classes listed; outcomes from flattened lists, which they are too sure of below 1."""
    rest = (1 - LISTS.sum(axis=1)) ** temper
    truth = LISTS**temper / (np.sum(LISTS**temper, axis=1) + rest)[:, None]
    which = rng.integers(0, len(LISTS), n)
    y = (truth[which].cumsum(axis=1) < rng.random(n)[:, None]).sum(axis=1)
    return tl.TopLists.from_topk(np.tile(np.arange(3), (n, 1)), LISTS[which], 10), y


def true_error(of: str, temper: float) -> float:
    """What the estimate is of."""
    rest = (1 - LISTS.sum(axis=1)) ** temper
    truth = LISTS**temper / (np.sum(LISTS**temper, axis=1) + rest)[:, None]
    x, q = (LISTS[:, 0], truth[:, 0]) if of == "top" else (LISTS.ravel(), truth.ravel())
    return sum(np.mean(x == v) * np.mean((x - q)[x == v]) ** 2 for v in np.unique(x))


@pytest.mark.parametrize("temper", [1.0, 0.8, 0.5])
@pytest.mark.parametrize("of", ["top", "listed"])
def test_it_is_unbiased_and_its_interval_covers(of, temper):
    """Calibrated, a little and much too sure: off by chance alone, and missed about one time in twenty."""
    rng, wanted = np.random.default_rng(8), true_error(of, temper)
    made = [calibration_error(*draw(rng, 150, temper), of=of, bins=100) for _ in range(300)]
    values = np.array([e.value for e in made])
    assert abs(values.mean() - wanted) < 3.5 * values.std() / np.sqrt(300)
    covered = np.mean([e.low <= wanted <= e.high for e in made])
    assert 0.95 - 4 * np.sqrt(0.05 * 0.95 / 300) < covered


def test_without_debiasing_calibrated_lists_would_look_wrong():
    """The mean over calibrated models is zero: half of the estimates are below it."""
    rng = np.random.default_rng(4)
    values = [calibration_error(*draw(rng, 60, 1.0)).value for _ in range(200)]
    assert 0.2 < np.mean(np.array(values) < 0) < 0.8


@pytest.mark.parametrize("of", ["top", "listed", 2, "mass"])
@given(seed=seeds, bins=st.integers(1, 12))
@law
def test_the_interval_is_around_the_value_and_the_root_has_its_sign(of, seed, bins):
    lists, y = rounded(seed, 50)
    made = calibration_error(lists, y, of=of, bins=bins)
    assert made.low <= made.value
    assert max(made.value, 0) <= made.high <= 1
    assert made.root == pytest.approx(np.sign(made.value) * abs(made.value) ** 0.5)
    assert 1 <= made.bins <= bins


def test_bins_are_about_as_full_as_each_other_and_never_split_equal_promises():
    right = known(3000)
    seen = view(calibration_pairs(right.lists, np.zeros(3000, int)), "listed")
    counts = np.bincount(bins_of(seen, 15))
    assert len(counts) == 15
    assert counts.max() - counts.min() <= 2
    lists, y = rounded(0, 200)
    seen = view(calibration_pairs(lists, y), "listed")
    code = bins_of(seen, 6)
    assert all(len(np.unique(code[seen.confidence == x])) == 1 for x in np.unique(seen.confidence))
    assert (np.diff(code[np.argsort(seen.confidence, kind="stable")]) >= 0).all()


@pytest.mark.parametrize("name", SPECIAL)
def test_special_lists_have_an_error_of_their_mass_or_are_too_few(name):
    lists, y = special()[name]
    if len(lists) == 1:
        with pytest.raises(tl.TopListError, match="two cases or more"):
            calibration_error(lists, y, of="mass")
        return
    assert np.isfinite(calibration_error(lists, y, of="mass").value)


@pytest.mark.parametrize("of", ["top", "listed", 2, "mass"])
@given(batch=anything)
@law
def test_the_gap_is_that_of_students_test(of, batch):
    lists, y = batch
    made = calibration_pairs(lists, y)
    if of in ("listed", "mass"):
        x, kept = made.lists.mass, ~made.miss
    else:
        at = made.rank == (0 if of == "top" else of - 1)
        x, kept = made.confidence[at], made.hit[at]
    if not len(x):
        with pytest.raises(tl.TopListError):
            calibration_bias(lists, y, of=of)
        return
    gap = calibration_bias(lists, y, of=of)
    assert (gap.of, gap.cases, gap.difference) == (of, len(x), pytest.approx(np.mean(x - kept), abs=1e-12))
    if len(x) == 1:
        assert (gap.low, gap.high) == (None, None)
        return
    low, high = np.mean(x - kept), np.mean(x - kept)
    if np.ptp(x - kept) > 0:
        low, high = stats.ttest_1samp(x - kept, 0).confidence_interval(0.95)
    if 0 < kept.sum() < len(kept):
        assert (gap.low, gap.high) == pytest.approx((low, high), abs=1e-9)
    else:  # no chance is seen, but there is some
        half = stats.t.ppf(0.975, len(x) - 1) * np.sqrt((x * (1 - x)).sum()) / len(x)
        assert gap.high - gap.low == pytest.approx(max(high - low, 2 * half), abs=1e-9)


def test_promises_that_were_all_kept_are_no_proof_of_doubt():
    """Ten in a row that were promised at 0.99 are what is to be expected: the intervals hold zero."""
    lists = tl.TopLists.from_topk(np.zeros((10, 1), int), np.linspace(0.98, 1.0, 10)[:, None], 3)
    y = np.zeros(10, int)
    for found in (calibration_bias(lists, y), calibration_error(lists, y), calibration_error(lists, y, bins=3)):
        assert found.low < 0 < found.high
    binned = Binned.of(lists, y)
    assert (binned.calibration_bias().low, binned.calibration_bias().high) == pytest.approx(
        (calibration_bias(lists, y).low, calibration_bias(lists, y).high)
    )
    assert binned.calibration_error().low < 0 < binned.calibration_error().high


def test_intervals_hold_zero_for_calibrated_lists_that_are_nearly_sure():
    """With half a miss to be expected, most samples have none."""
    rng, held = np.random.default_rng(0), np.zeros(2)
    for _ in range(200):
        t = rng.uniform(0.999, 1.0, 300)
        lists = tl.TopLists.from_topk(np.zeros((300, 1), int), t[:, None], 3)
        y = (rng.random(300) > t).astype(int)
        both = calibration_bias(lists, y), calibration_error(lists, y)
        held += [found.low <= 0 <= found.high for found in both]
    assert (held >= 0.9 * 200).all()


def test_the_gap_says_who_is_too_sure():
    for sharpen, sign in ((2.0, 1), (0.5, -1)):
        wrong = known(1500, sharpen=sharpen)
        gap = calibration_bias(wrong.lists, wrong.outcomes(np.random.default_rng(1)))
        assert sign * gap.difference > 0
        assert sign * (gap.low if sign > 0 else gap.high) > 0
