"""Bins merge exactly, and say what the cases say as far as bins can."""

from __future__ import annotations

import math
from functools import reduce

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import toplist as tl
from tests.calibration.models import SPECIAL, anything, known, rounded, seeds, special
from tests.calibration.test_decomposition import whole
from tests.properties.cases import law
from toplist.calibration import calibration_bias, calibration_error, decompose, reliability
from toplist.calibration.binned import Binned

OF = ("listed", "top", 2, "mass")


def same(mine, theirs, *, within=1e-12) -> None:
    """Two values of one kind agree in every number."""
    for field in type(mine).__dataclass_fields__:
        a, b = getattr(mine, field), getattr(theirs, field)
        if isinstance(a, float | np.ndarray):
            assert a == pytest.approx(b, abs=within), field
        elif field != "band":
            assert a == b, field


@given(batch=anything, cut=st.integers(0, 6), again=st.integers(0, 6))
@law
def test_how_cases_are_split_never_shows(batch, cut, again):
    lists, y = batch
    lo, hi = sorted((min(cut, len(y)), min(again, len(y))))
    parts = [Binned.of(lists[a:b], y[a:b]) for a, b in ((0, lo), (lo, hi), (hi, len(y)))]
    assert reduce(Binned.__add__, parts) == parts[2] + parts[0] + parts[1] == Binned.of(lists, y)
    assert Binned() + parts[0] == parts[0]


@given(seed=seeds)
@law
def test_where_every_bin_has_one_value_nothing_is_lost(seed):
    lists, y = rounded(seed, 60)
    bins = Binned.of(lists, y)
    for of in OF:
        exact = reliability(lists, y, of=of, band=None)
        mine = bins.reliability(of)
        assert (mine.of, mine.count) == (exact.of, exact.count)
        assert (mine.mean_confidence, mine.hit_rate) == pytest.approx(
            (exact.mean_confidence, exact.hit_rate), abs=1e-12
        )
        assert mine.steps(exact.x) == pytest.approx(exact.curve, abs=1e-12)
        assert sum(b.count for b in mine.histogram) == exact.count
        same(bins.calibration_bias(of), calibration_bias(lists, y, of=of))
        if of != "listed":
            same(bins.calibration_error(of, bins=6), calibration_error(lists, y, of=of, bins=6))
    exact, mine = decompose(lists, y, ranks=5), bins.decompose()
    assert abs(mine.within) < 1e-12
    for a, b in zip(mine.parts, exact.parts, strict=True):
        same(a, b)


@given(batch=anything)
@law
def test_the_parts_add_up_with_what_bins_hide(batch):
    lists, y = batch
    made = Binned.of(lists, y).decompose()
    exact = decompose(lists, y, ranks=5)
    assert whole(made) == pytest.approx(made.score, abs=1e-12)
    assert made.score == pytest.approx(exact.score, abs=1e-12)
    assert [(p.name, p.entries) for p in made.parts] == [(p.name, p.entries) for p in exact.parts]
    assert [p.score for p in made.parts] == pytest.approx([p.score for p in exact.parts], abs=1e-12)
    assert (made.misses, made.penalty) == pytest.approx((exact.misses, exact.penalty), abs=1e-12)


def test_the_finer_the_confidences_agree_with_their_bin_the_nearer_the_exact_parts():
    """Confidences that are rounded to ever fewer digits lose ever less to bins of half a percent."""
    right = known(2000, 1)
    y = right.outcomes(np.random.default_rng(0))
    hidden = []
    for step in (1e-4, 2e-3, 5e-3):
        lists = right.lists
        t = np.floor(lists.confidences / step) * step + step / 2
        made = tl.TopLists.from_ragged(lists.offsets, lists.classes, t, 40)
        hidden.append(abs(Binned.of(made, y).decompose().miscalibration - decompose(made, y).miscalibration))
    assert hidden[0] > hidden[1] > hidden[2]
    assert hidden[2] < 1e-12


def test_on_many_cases_bins_and_cases_agree():
    wrong = known(5000, 5, 30, sharpen=1.5)
    y = wrong.outcomes(np.random.default_rng(1))
    bins = Binned.of(wrong.lists, y)
    for of in OF:
        exact = reliability(wrong.lists, y, of=of, band=None)
        assert np.average(np.abs(bins.reliability(of).steps(exact.x) - exact.curve)) < 0.03
    for of in ("top", 2, "mass"):
        exact, mine = calibration_error(wrong.lists, y, of=of), bins.calibration_error(of)
        assert mine.value == pytest.approx(exact.value, abs=exact.high - exact.low)
    assert abs(bins.decompose().within) < 1e-4


@pytest.mark.parametrize("name", SPECIAL)
def test_special_lists_have_bins(name):
    lists, y = special()[name]
    bins, exact = Binned.of(lists, y), decompose(lists, y, ranks=5)
    assert whole(bins.decompose()) == pytest.approx(exact.score, abs=1e-12)
    same(bins.calibration_bias("mass"), calibration_bias(lists, y, of="mass"))


def test_an_infinite_penalty_is_counted_and_not_added():
    lists, y = special()["invalid"]
    made = (Binned.of(lists, y, penalty=math.inf) + Binned.of(lists, y, penalty=math.inf)).decompose()
    assert made.score == made.penalty == math.inf
    assert made.miscalibration == pytest.approx(decompose(lists, y).miscalibration)


def test_what_bins_cannot_say_is_said():
    bins = Binned.of(*rounded(0, 20))
    with pytest.raises(tl.TopListError, match="which confidences are of one list"):
        bins.calibration_error("listed")
    with pytest.raises(tl.TopListError, match="ranks 1 to 5, not for rank 6"):
        bins.reliability(6)
    with pytest.raises(tl.TopListError, match="of is 'listed'"):
        bins.calibration_bias("all")
    for ask in (Binned().decompose, Binned().reliability, Binned().calibration_error, Binned().calibration_bias):
        with pytest.raises(tl.TopListError, match="there are no cases"):
            ask()
    empty = Binned.of(*special()["empty lists"])
    with pytest.raises(tl.TopListError, match="no list has a confidence for 'top'"):
        empty.reliability("top")
    with pytest.raises(tl.TopListError, match="two cases or more"):
        Binned.of(*special()["one case"]).calibration_error()
