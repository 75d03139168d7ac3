"""A floor makes infinite log scores finite, and says what it costs."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import toplist as tl
from tests.draws import draws
from tests.postprocess.recalibrators import mixed, open_ended, sharpened
from tests.properties.cases import batches, law
from toplist.postprocess.recalibration import RestFloor


@law
@given(batch=batches(), floor=st.sampled_from([1e-9, 0.01, 0.3]))
def test_no_log_score_is_infinite_after_it(batch: tuple[tl.TopLists, list[int]], floor: float) -> None:
    lists, y = batch
    out = RestFloor(floor=floor).fit_transform(lists, y)
    assert np.isfinite(tl.score(out, y, rule="log")).all()


def raised_exactly(p: list[Fraction], share: Fraction, mass: Fraction) -> list[Fraction]:
    """In proportion to p, with this mass together and none below the share: the smallest are raised one by one."""
    order = sorted(range(len(p)), key=lambda i: p[i])
    for j in range(len(p)):
        kept = sum((p[i] for i in order[j:]), Fraction(0))
        scale = (mass - j * share) / kept if kept else Fraction(0)
        if p[order[j]] * scale >= share:
            return [share if i in order[:j] else p[i] * scale for i in range(len(p))]
    return [share] * len(p)


@settings(max_examples=draws(30))
@given(seed=st.integers(0, 1000), floor=st.floats(1e-6, 0.9))
def test_it_is_what_it_says(seed: int, floor: float) -> None:
    """The rest is raised in proportion, but no listed class falls below an unlisted one; other lists stay."""
    lists, y = mixed(seed, 20)
    lists = lists.repair()
    out = RestFloor(floor=floor).fit_transform(lists, y)
    assert out.is_valid().all()
    for i in range(len(lists)):
        p, n = [Fraction(float(t)) for t in lists[i].batch.normalized_confidences], 6 - int(lists.sizes[i])
        height = min(Fraction(floor), Fraction(n, 6)) if n else Fraction(floor)
        want = [float(t) for t in p]
        if not n:
            want = [float(t) for t in raised_exactly(p, height / 6, Fraction(1))]
        elif lists.rest[i] < height:
            want = [float(t) for t in raised_exactly(p, height / n, 1 - height)]
        np.testing.assert_allclose(out[i].batch.normalized_confidences, want, rtol=1e-9, atol=1e-15)


@law
@given(batch=batches(), floor=st.sampled_from([1e-9, 0.01, 0.3, 0.9]))
def test_no_rest_is_below_the_floor_after_it(batch: tuple[tl.TopLists, list[int]], floor: float) -> None:
    """But that of a list that cannot leave so much and be valid, which is the uniform distribution."""
    lists, y = batch
    out = RestFloor(floor=floor).fit_transform(lists, y)
    size = np.broadcast_to(out.checked.rows.size, len(out))
    left = np.where(np.isfinite(size), 1 - out.sizes / size, 1.0)
    full = out.sizes == size
    assert (full | (out.rest >= np.minimum(floor, left) * (1 - 1e-12))).all()
    least = np.array([min(one.batch.normalized_confidences, default=1.0) for one in out])
    assert (~full | (least >= floor / size * (1 - 1e-12))).all()


@law
@given(batch=batches(), floor=st.sampled_from([1e-9, 0.01, 0.3, 0.9]))
def test_a_second_floor_of_the_same_height_changes_nothing(batch: tuple[tl.TopLists, list[int]], floor: float) -> None:
    lists, y = batch
    once = RestFloor(floor=floor).fit_transform(lists, y)
    assert RestFloor(floor=floor).fit_transform(once, y) == once


def test_a_listed_class_does_not_take_the_rest_below_the_floor() -> None:
    """The proportional list (0.89, 0.01; 0.1) over four classes is not valid, and its repair would leave 0.073."""
    out = RestFloor(floor=0.1).fit_transform(tl.TopLists.from_dicts([{0: 0.98, 1: 0.011}], 4), [0])
    assert out.rest[0] == pytest.approx(0.1, rel=1e-15)
    assert out[0].batch.confidences.tolist() == pytest.approx([0.85, 0.05], rel=1e-14)


@pytest.mark.parametrize("rule", ["log", "brier"])
def test_the_floor_of_hard_labels_is_how_often_they_are_wrong(rule: str) -> None:
    """With lists that are all alike the best rest is the share of misses, under every proper rule."""
    y = np.array([0] * 70 + [1] * 20 + [2] * 10)
    made = RestFloor(rule=rule).fit(tl.TopLists.from_labels(np.zeros(100, int), 3), y)
    assert made.floor_ == pytest.approx(0.3, abs=1e-3)


def test_a_floor_that_was_never_needed_is_half_a_case() -> None:
    """Ninety-nine labels, all right."""
    labels = np.arange(99) % 3
    assert RestFloor().fit(tl.TopLists.from_labels(labels, 3), labels).floor_ == pytest.approx(0.005, rel=1e-3)


def test_the_floor_found_is_better_than_floors_beside_it() -> None:
    lists, y = sharpened(11, 500, k=3, power=3.0)
    made = RestFloor().fit(lists, y)
    best = tl.score(made.transform(lists), y, rule="log").mean()
    for factor in (0.5, 0.9, 1.1, 2.0):
        other = RestFloor(floor=made.floor_ * factor).fit_transform(lists, y)
        assert best <= tl.score(other, y, rule="log").mean() + 1e-12


def test_infinitely_many_classes_need_another_score() -> None:
    lists, y = open_ended()
    with pytest.raises(tl.TopListError, match="rule='brier'"):
        RestFloor().fit(lists, y)
    assert RestFloor(rule="brier").fit(lists, y).floor_ > 0
