"""Rising maps of confidences, of all entries or by rank."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import toplist as tl
from tests.draws import draws
from tests.postprocess.recalibrators import mixed, sharpened
from toplist.calibration.pairs import calibration_pairs
from toplist.lists.toplists import ranks
from toplist.postprocess.recalibration import Isotonic


@given(seed=st.integers(0, 1000), weighted=st.booleans())
def test_isotonic_is_the_regression_of_kept_on_promised_with_half_cases_at_its_ends(seed: int, weighted: bool) -> None:
    """As scikit-learn has it."""
    isotonic = pytest.importorskip("sklearn.isotonic", reason="needs scikit-learn")
    lists, y = sharpened(seed, 60, k=3)
    rng = np.random.default_rng(seed)
    weight = rng.integers(1, 4, 60).astype(float) if weighted else np.ones(60)
    made = calibration_pairs(lists, y)
    t, kept = made.confidence, made.hit.astype(float)
    model = isotonic.IsotonicRegression(out_of_bounds="clip")
    w = np.concatenate((np.repeat(weight * 60 / weight.sum(), lists.sizes), [1, 1]))
    model.fit(np.concatenate((t, [t.min(), t.max()])), np.concatenate((kept, [0.5, 0.5])), sample_weight=w)
    found = Isotonic().fit(lists, y, sample_weight=weight)
    np.testing.assert_allclose(found.maps_[0](t), model.predict(t), atol=1e-9)


@settings(max_examples=draws(15))
@given(seed=st.integers(0, 300))
def test_what_is_left_is_the_rest_and_what_is_too_much_is_divided_out(seed: int) -> None:
    lists, y = mixed(seed, 40)
    lists = lists.strictly_valid()
    made = Isotonic().fit(lists, y)
    [one], out = made.maps_, made.transform(lists)
    for old, new in zip(lists, out, strict=True):
        f = one(old.batch.normalized_confidences)
        full, total = len(f) == 6, float(f.sum())
        rest = 0.0 if full else max(1 - total, made.least_rest_)
        scale = total + rest if full or total + rest > 1 else 1.0
        want = tl.TopLists.from_ragged([0, len(f)], old.batch.classes, f / scale, 6).repair()
        np.testing.assert_allclose(new.batch.padded(), want.padded(), atol=1e-9)


@pytest.mark.parametrize("kind", [Isotonic(), Isotonic(by="rank")], ids=repr)
def test_no_miss_becomes_impossible(kind: Isotonic) -> None:
    """Where new confidences add up to more than one the rest still counts half a case."""
    lists, y = sharpened(21, 2000, k=5, power=2.0)
    out = kind.fit_transform(lists, y)
    assert (out.rest > 0).all()
    assert np.isfinite(tl.score(out, y, rule="log")).all()


def test_each_rank_has_its_map_and_the_last_serves_the_others() -> None:
    """First classes right half of the time, second ones a tenth, later ones never: whatever they promise."""
    n = 1000
    lists = tl.TopLists.from_topk(np.tile(np.arange(4), (n, 1)), np.tile([0.4, 0.3, 0.15, 0.1], (n, 1)), 100)
    y = np.array([0] * 500 + [1] * 100 + [50] * 400)
    made = Isotonic(by="rank", ranks=3).fit(lists, y)
    assert len(made.maps_) == 3
    got = made.transform(lists)[0].batch.confidences
    np.testing.assert_allclose(got, [0.5, 0.1, got[3], got[3]], atol=2e-3)
    assert got[3] < 0.005


def test_ranks_with_few_entries_share_a_map() -> None:
    lists, y = sharpened(22, 300, k=3)
    assert len(Isotonic(by="rank", least=301).fit(lists, y).maps_) == 1
    assert len(Isotonic(by="rank", least=300).fit(lists, y).maps_) == 3
    assert len(Isotonic(by="rank", ranks=2, least=1).fit(lists, y).maps_) == 2


@given(seed=st.integers(0, 500))
def test_ranks_are_places_in_falling_order(seed: int) -> None:
    lists, _ = mixed(seed, 15)
    got = ranks(lists)
    for lo, hi in zip(lists.offsets[:-1], lists.offsets[1:], strict=True):
        order = sorted(range(lo, hi), key=lambda i: -lists.confidences[i])
        assert got[order].tolist() == list(range(hi - lo))


def test_ranks_of_a_rectangle_are_those_of_its_rows() -> None:
    p = np.random.default_rng(0).dirichlet(np.ones(5), 20)
    np.testing.assert_array_equal(ranks(tl.TopLists.from_proba(p)).reshape(20, 5), (-p).argsort(1).argsort(1))


def test_entries_are_pooled_or_taken_by_rank() -> None:
    lists, y = sharpened(23, 5)
    with pytest.raises(tl.TopListError, match='by "pooled" or by "rank"'):
        Isotonic(by="class").fit(lists, y)


def test_the_ends_of_isotonic_maps_count_half_a_case_each() -> None:
    """Also where both ends are one step: (s + 1/2) / (n + 1) in each."""
    y = np.array([0] * 9 + [1] + [1] * 9 + [0])
    lists = tl.TopLists.from_topk(np.zeros((20, 1), int), np.repeat([[0.9], [0.2]], 10, axis=0), 1000)
    found = Isotonic().fit_transform(lists, y).confidences
    assert found[[0, 10]] == pytest.approx([9.5 / 11, 1.5 / 11])
    one = lists[np.arange(10)]
    assert Isotonic().fit_transform(one, y[:10]).confidences == pytest.approx(np.full(10, 9.5 / 11))
