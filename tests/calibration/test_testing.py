"""The test of calibration holds its level, and finds what is wrong."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given

import toplist as tl
from tests.calibration.models import SPECIAL, anything, known, rounded, seeds, special
from tests.properties.cases import law
from toplist.calibration import calibration_test, decompose
from toplist.calibration.pairs import OutcomeSampler, calibration_pairs


@given(batch=anything)
@law
def test_the_statistic_is_the_miscalibration_of_the_score(batch):
    lists, y = batch
    made = calibration_test(lists, y, draws=1)
    assert made.statistic == pytest.approx(decompose(lists, y).miscalibration, abs=1e-12)


@given(seed=seeds)
@law
def test_what_is_drawn_has_the_miscalibration_that_a_decomposition_finds(seed):
    """Draw places, make outcomes of them, and decompose."""
    lists, y = rounded(seed, 30)
    places = OutcomeSampler.of(calibration_pairs(lists, y).lists).places(np.random.default_rng(seed))
    scored = lists.strictly_valid().ordered()
    unlisted = [next(c for c in range(40) if c not in list(one.classes)) for one in lists]
    start = scored.offsets[:-1]
    drawn = [int(scored.classes[start[i] + p]) if p >= 0 else unlisted[i] for i, p in enumerate(places)]
    found = calibration_test(lists, y, draws=1, seed=seed).expected
    assert found == pytest.approx(decompose(lists, drawn).miscalibration, abs=1e-12)


@pytest.mark.parametrize("name", SPECIAL)
def test_special_lists_have_a_p_value(name):
    lists, y = special()[name]
    made = calibration_test(lists, y, draws=39)
    assert made.statistic == pytest.approx(decompose(lists, y).miscalibration, abs=1e-12)
    assert made.p in np.arange(1, 41) / 40


def test_p_values_of_calibrated_lists_are_not_too_small():
    """P(p <= a) is at most a, up to Monte Carlo error, at every level that is used."""
    p = []
    for seed in range(300):
        right = known(25, seed=seed, k=1 + seed % 4)
        y = right.outcomes(np.random.default_rng(5000 + seed))
        p.append(calibration_test(right.lists, y, draws=39, seed=seed).p)
    for level in (0.05, 0.1, 0.25, 0.5, 0.75):
        assert np.mean(np.array(p) <= level) < level + 3 * np.sqrt(level * (1 - level) / 300)
    assert 0.4 < np.mean(p) < 0.62


@pytest.mark.parametrize("sharpen", [2.0, 0.4])
def test_it_finds_who_is_too_sure_and_who_is_not_sure_enough(sharpen):
    wrong = known(400, sharpen=sharpen)
    made = calibration_test(wrong.lists, wrong.outcomes(np.random.default_rng(0)), draws=99)
    assert made.p == 0.01
    assert made.statistic > made.expected


def test_it_sees_the_last_rank():
    """The first class is right, the second is given a third of what it should have."""
    rng = np.random.default_rng(0)
    y = rng.choice([0, 1, 2, 3, 4, 5], 800, p=[0.5, 0.3, 0.05, 0.05, 0.05, 0.05])
    lists = tl.TopLists.from_topk(np.tile([0, 1], (800, 1)), np.tile([0.5, 0.15], (800, 1)), 20)
    assert calibration_test(lists, y, draws=99).p == 0.01


def test_it_is_that_of_its_seed():
    lists, y = rounded(1, 60)
    one, again, other = (calibration_test(lists, y, draws=50, seed=s) for s in (1, 1, 2))
    assert one == again
    assert one.expected != other.expected
    assert (one.draws, one.seed) == (50, 1)


def test_a_sure_label_that_fails_is_never_chance():
    assert calibration_test(tl.TopLists.from_labels([0, 1], 3), [0, 2], draws=19).p == 0.05
    assert calibration_test(tl.TopLists.from_labels([0, 1], 3), [0, 1], draws=19).p == 1


def test_what_cannot_be_tested_is_said():
    with pytest.raises(tl.TopListError, match="there are no cases"):
        calibration_test(tl.TopLists.from_dicts([], 3), [])
    with pytest.raises(tl.TopListError, match="draws is a whole number"):
        calibration_test(tl.TopLists.from_labels([0], 3), [0], draws=0)
