"""A floor makes infinite log scores finite, and says what it costs."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import toplist as tl
from tests.postprocess.recalibrators import mixed, open_ended, sharpened
from tests.properties.cases import batches, law
from toplist.postprocess.recalibration import RestFloor


@law
@given(batch=batches(), floor=st.sampled_from([1e-9, 0.01, 0.3]))
def test_no_log_score_is_infinite_after_it(batch: tuple[tl.TopLists, list[int]], floor: float) -> None:
    lists, y = batch
    out = RestFloor(floor=floor).fit_transform(lists, y)
    assert np.isfinite(tl.score(out, y, rule="log")).all()


@settings(max_examples=20)
@given(seed=st.integers(0, 1000), floor=st.floats(1e-6, 0.6))
def test_it_is_what_it_says_before_repair(seed: int, floor: float) -> None:
    """The rest is raised in proportion; a distribution is mixed with the uniform one; other lists stay."""
    lists, y = mixed(seed, 20)
    lists = lists.repair()
    out = RestFloor(floor=floor).fit_transform(lists, y)
    p, q = lists.padded(), out.padded()
    for i in range(len(lists)):
        if lists.sizes[i] == 6:
            np.testing.assert_allclose(q[i], (1 - floor) * p[i] + floor / 6, atol=1e-12)
        elif lists.rest[i] >= floor:
            np.testing.assert_allclose(q[i], p[i], atol=1e-12)
        else:
            listed = {int(c): float(p[i, c]) * (1 - floor) / (1 - lists.rest[i]) for c in lists[i].batch.classes}
            want = tl.TopLists.from_dicts([listed], 6).repair().padded()[0]
            np.testing.assert_allclose(q[i], want, atol=1e-9)


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


@pytest.mark.parametrize("floor", [0, 1, -0.1, math.nan, "much"])
def test_a_floor_is_between_zero_and_one(floor: object) -> None:
    lists, y = sharpened(12, 5)
    with pytest.raises(tl.TopListError, match="floor is"):
        RestFloor(floor=floor).fit(lists, y)  # type: ignore[arg-type]
