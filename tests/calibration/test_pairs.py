"""Pairs of confidence and hit, and outcomes sampled from lists."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given

import toplist as tl
from tests.calibration.models import SPECIAL, anything, known, special
from tests.properties.cases import law
from toplist.calibration.pairs import MISSED, OutcomeSampler, calibration_pairs


@given(batch=anything)
@law
def test_every_entry_of_what_is_scored_is_a_pair(batch):
    lists, y = batch
    made = calibration_pairs(lists, y)
    scored = lists.strictly_valid().ordered()
    assert np.array_equal(made.confidence, scored.normalized_confidences)
    assert np.array_equal(np.bincount(made.case, minlength=len(lists)), scored.sizes)
    for i, one in enumerate(scored):
        mine = made.case == i
        assert made.rank[mine].tolist() == list(range(len(one.classes)))
        assert made.hit[mine].tolist() == [c == y[i] for c in one.classes]
        assert made.miss[i] == (y[i] not in list(one.classes))


def test_sampled_outcomes_are_as_frequent_as_their_confidences():
    lists = tl.TopLists.from_dicts([{0: 0.5, 1: 0.2}, {}, {0: 1.0}, {2: 0.25, 0: 0.25}], 4).ordered()
    drawing, rng = OutcomeSampler.of(lists), np.random.default_rng(5)
    places = np.array([drawing.places(rng) for _ in range(4000)])
    share = [[(places[:, i] == at).mean() for at in (0, 1, MISSED)] for i in range(4)]
    wanted = [[0.5, 0.2, 0.3], [0, 0, 1], [1, 0, 0], [0.25, 0.25, 0.5]]
    assert np.abs(np.array(share) - wanted).max() < 4 * np.sqrt(0.25 / 4000)
    assert [share[1], share[2]] == [wanted[1], wanted[2]]


@pytest.mark.parametrize("name", SPECIAL)
def test_nothing_is_drawn_that_has_no_mass(name):
    made = calibration_pairs(*special()[name])
    lists, rng = made.lists, np.random.default_rng(1)
    t = lists.normalized_confidences
    for _ in range(200):
        place = OutcomeSampler.of(lists).places(rng)
        hit = place != MISSED
        assert (t[lists.offsets[:-1][hit] + place[hit]] > 0).all()
        assert (lists.rest[~hit] > 0).all()


def test_rounding_draws_nothing_from_no_mass():
    """Of three thirds, added up after a million others, the last may be passed: it is drawn all the same."""
    lists = tl.TopLists.from_proba(np.tile([1 / 3, 1 / 3, 1 / 3, 0.0], (3000, 1))).ordered()

    class Highest(np.random.Generator):
        def random(self, size):
            return np.full(size, 1 - 2.0**-53)

    assert set(OutcomeSampler.of(lists).places(Highest(np.random.PCG64(0)))) == {2}


def test_the_same_seed_draws_the_same():
    lists = known(50).lists
    first, again = (OutcomeSampler.of(lists).places(np.random.default_rng(3)) for _ in range(2))
    assert np.array_equal(first, again)


def test_a_distribution_of_outcomes_is_refused():
    with pytest.raises(tl.OutcomeError, match="one outcome per case"):
        calibration_pairs(tl.TopLists.from_proba([[0.5, 0.5]]), [[0.5, 0.5]])
