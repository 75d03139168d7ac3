"""Bands hold as many curves as they say."""

from __future__ import annotations

import numpy as np
import pytest

import toplist as tl
from tests.calibration.models import known, rounded
from toplist.calibration import reliability


@pytest.mark.parametrize("of", ["listed", "top", 2, "mass"])
def test_consistency_bands_hold_nine_in_ten_curves_of_calibrated_lists(of):
    """The share of the grid where the curve is in the band, averaged over models: at least 0.9 with its edges, and
    at most 0.9 without them, as the curve and those drawn are exchangeable, and often equal."""
    within, inside = [], []
    for seed in range(60):
        right = known(120, seed=seed)
        y = right.outcomes(np.random.default_rng(1000 + seed))
        made = reliability(right.lists, y, of=of, draws=99, seed=seed)
        within.append(np.mean((made.curve >= made.band.low) & (made.curve <= made.band.high)))
        inside.append(np.mean((made.curve > made.band.low) & (made.curve < made.band.high)))
    assert np.mean(within) > 0.9 - 3 * np.std(within) / np.sqrt(60)
    assert np.mean(inside) < 0.9 + 3 * np.std(inside) / np.sqrt(60)
    assert np.mean(within) + np.mean(inside) == pytest.approx(1.8, abs=0.1)


def test_consistency_bands_show_who_is_too_sure():
    wrong = known(1500, sharpen=2.0)
    made = reliability(wrong.lists, wrong.outcomes(np.random.default_rng(0)), of="top", draws=99)
    outside = (made.curve < made.band.low) | (made.curve > made.band.high)
    assert outside.mean() > 0.5
    assert made.mean_confidence > made.hit_rate


def test_confidence_bands_hold_the_truth_most_of_the_time():
    """Four sizes of promises, kept in known shares: a fit of few long steps, where drawing cases again is sound."""
    sizes, truth = np.array([0.3, 0.5, 0.7, 0.9]), np.array([0.2, 0.45, 0.6, 0.7])
    inside = []
    for seed in range(80):
        rng = np.random.default_rng(seed)
        which = rng.integers(0, 4, 400)
        y = np.where(rng.random(400) < truth[which], 0, 1)
        lists = tl.TopLists.from_topk(np.zeros((400, 1), int), sizes[which][:, None], 50)
        made = reliability(lists, y, of="top", band="confidence", draws=99, seed=seed)
        inside.append((made.band.low <= truth) & (truth <= made.band.high))
    assert 0.85 < np.mean(inside) < 0.95


@pytest.mark.parametrize("truth", [lambda t: t, lambda t: t * t, lambda t: 0.4 + 0 * t], ids=["even", "square", "flat"])
def test_confidence_bands_hold_the_truth_with_few_cases_too(truth):
    """Two hundred cases, confidences spread evenly: nine in ten of the points at least, and not nearly all."""
    inside = []
    for seed in range(40):
        rng = np.random.default_rng(seed)
        t = rng.random(200)
        lists = tl.TopLists.from_topk(np.zeros((200, 1), int), t[:, None], 10**6)
        y = np.where(rng.random(200) < truth(t), 0, 1)
        made = reliability(lists, y, of="top", band="confidence", draws=39, seed=seed)
        inside.append(np.mean((made.band.low <= truth(made.x)) & (truth(made.x) <= made.band.high)))
    assert 0.9 < np.mean(inside) < 0.98


@pytest.mark.parametrize("band", ["consistency", "confidence"])
def test_a_band_is_that_of_its_seed(band):
    lists, y = rounded(1, 80)
    one, again, other = (reliability(lists, y, band=band, draws=39, seed=seed).band for seed in (4, 4, 5))
    assert np.array_equal(one.low, again.low)
    assert not np.array_equal(one.low, other.low)
    assert (one.kind, one.level, one.draws, one.seed) == (band, 0.9, 39, 4)
    assert (one.low <= one.high).all()


def test_a_wider_band_holds_a_narrower_one():
    lists, y = rounded(2, 80)
    narrow, wide = (reliability(lists, y, level=level).band for level in (0.5, 0.95))
    assert (wide.low <= narrow.low).all()
    assert (wide.high >= narrow.high).all()


def test_hard_labels_leave_nothing_to_chance():
    made = reliability(tl.TopLists.from_labels([0, 1, 1], 3), [0, 1, 2])
    assert made.band.low.tolist() == made.band.high.tolist() == [1.0]


def test_what_cannot_be_drawn_is_said():
    lists, y = tl.TopLists.from_labels([0], 2), [0]
    with pytest.raises(tl.TopListError, match="needs at least 19 draws, not 18"):
        reliability(lists, y, draws=18)
    reliability(lists, y, draws=19)
    with pytest.raises(tl.TopListError, match="'consistency', of 'confidence', or None"):
        reliability(lists, y, band="both")
    with pytest.raises(tl.TopListError, match="level is between 0 and 1"):
        reliability(lists, y, level=90)
