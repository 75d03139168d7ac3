"""Reliability curves are isotonic fits of what was kept on what was promised."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given

import toplist as tl
from tests.calibration.models import SPECIAL, anything, known, rounded, seeds, special
from tests.properties.cases import law
from toplist.calibration import reliability, reliability_by_rank
from toplist.calibration.pairs import pav


def plainly(lists: tl.TopLists, y: list[int], of: str | int) -> tuple[list[float], list[bool]]:
    """The promises of a kind and whether they were kept, one list at a time."""
    promised, kept = [], []
    for one, outcome in zip(lists.strictly_valid().ordered(), y, strict=True):
        pairs = list(zip(one.batch.normalized_confidences.tolist(), list(one.classes), strict=True))
        if of == "mass":
            promised.append(round(float(one.batch.mass[0]), 13))
            kept.append(outcome in list(one.classes))
            continue
        rank = {"listed": None, "top": 1}.get(of, of)
        for t, c in pairs if rank is None else pairs[rank - 1 : rank]:
            promised.append(t)
            kept.append(c == outcome)
    return promised, kept


@pytest.mark.parametrize("of", ["listed", "top", 1, 2, 3, "mass"])
@given(batch=anything)
@law
def test_it_is_the_fit_of_what_was_kept_on_what_was_promised(of, batch):
    lists, y = batch
    promised, kept = plainly(lists, y, of)
    if not promised:
        with pytest.raises(tl.TopListError, match=r"no list has a rank|every list is empty"):
            reliability(lists, y, of=of, band=None)
        return
    made = reliability(lists, y, of=of, band=None)
    steps = pav(promised, np.array(kept, float))
    assert made.of == of
    assert (made.count, made.mean_confidence, made.hit_rate) == pytest.approx(
        (len(promised), np.mean(promised), np.mean(kept))
    )
    assert made.curve == pytest.approx(steps(made.x), abs=1e-12)
    assert set(made.x) <= set(promised)
    assert {*made.steps.low, *made.steps.high} <= set(made.x)
    assert sum(b.count for b in made.histogram) == len(promised)


@given(seed=seeds)
@law
def test_the_mean_of_the_curve_is_how_often_promises_were_kept(seed):
    lists, y = rounded(seed, 30)
    made = reliability(lists, y, of="mass", band=None)
    assert np.average(made.steps.value, weights=made.steps.weight) == pytest.approx(made.hit_rate)


def test_the_grid_is_fine_where_the_promises_are():
    lists = known(4000, 5, 30).lists
    made = reliability(lists, np.zeros(4000, int), of="listed", band=None)
    promises = np.sort(lists.normalized_confidences)
    between = np.diff(np.searchsorted(promises, made.x))
    assert between.max() <= len(promises) / 150
    assert made.x[[0, -1]].tolist() == promises[[0, -1]].tolist()


def test_by_rank_there_are_as_many_as_the_longest_list_has():
    lists, y = rounded(3, 60)
    longest = int(lists.strictly_valid().sizes.max())
    assert [r.of for r in reliability_by_rank(lists, y, ranks=99, draws=19)] == list(range(1, longest + 1))
    first, second = reliability_by_rank(lists, y, ranks=2)
    assert np.array_equal(first.curve, reliability(lists, y, of="top").curve)
    assert np.array_equal(second.band.low, reliability(lists, y, of=2).band.low)
    assert reliability_by_rank(*special()["empty lists"]) == ()


@pytest.mark.parametrize("band", ["consistency", "confidence"])
@pytest.mark.parametrize("name", SPECIAL)
def test_special_lists_have_curves_and_bands_between_zero_and_one(name, band):
    made = reliability(*special()[name], of="mass", band=band)
    for values in (made.curve, made.band.low, made.band.high):
        assert len(values) == len(made.x)
        assert ((values >= 0) & (values <= 1)).all()


@pytest.mark.parametrize("of", ["all", 0, -1, True, 1.5, None])
def test_what_cannot_be_looked_at_is_said(of):
    with pytest.raises(tl.TopListError, match="of is 'listed', 'top', 'mass' or a rank"):
        reliability(tl.TopLists.from_labels([0], 2), [0], of=of)


def test_of_no_cases_there_is_no_curve():
    nothing = tl.TopLists.from_dicts([], 3)
    for find in (reliability, reliability_by_rank):
        with pytest.raises(tl.TopListError, match="there are no cases"):
            find(nothing, [])
    with pytest.raises(tl.TopListError, match="no list has a rank 2: the longest has 1"):
        reliability(tl.TopLists.from_labels([0], 2), [0], of=2)
