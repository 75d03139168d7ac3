"""Repairs: each is asked for by name, does one thing, and is counted. Without being asked nothing is repaired."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import toplist as tl
from tests.lists.makers import MAKERS, ragged

T = tl.TopLists
CLASSES = np.array([[3, 0, 5], [1, 2, 0], [5, 4, 3], [2, 1, 0]])
GOOD = np.array([[0.5, 0.2, 0.1], [0.6, 0.3, 0.05], [0.4, 0.3, 0.2], [0.25, 0.25, 0.25]])
WEIGHTS = np.array([[0.5, 0.2, 0.1], [6.0, 3.0, 1.0], [0.4, 0.3, 0.2], [0.75, 0.75, 0.5]])


every_maker = pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
both_precisions = pytest.mark.parametrize("dtype", [np.float32, np.float64])


@every_maker
@both_precisions
def test_lists_that_are_fine_are_not_touched(make: Callable[..., tl.TopLists], dtype: Any) -> None:
    """With every repair that leaves good lists alone switched on, values and order are those that were given."""
    t = GOOD.astype(dtype)
    plain, careful = make(CLASSES, t, 9), make(CLASSES, t, 9, normalize=True)
    for lists in (plain, careful):
        assert np.array_equal(lists.confidences, t.ravel())
        assert np.array_equal(lists.classes, CLASSES.ravel())
        assert dict(lists.repairs) == {}


@every_maker
@both_precisions
def test_normalize_divides_the_lists_that_need_it_by_their_sum(make: Callable[..., tl.TopLists], dtype: Any) -> None:
    """The others keep their rest mass."""
    lists = make(CLASSES, WEIGHTS.astype(dtype), 9, normalize=True)
    want = WEIGHTS / np.array([[1.0], [10.0], [1.0], [2.0]])
    np.testing.assert_allclose(lists.confidences.reshape(4, 3), want, rtol=1e-6 if dtype == np.float32 else 1e-15)
    np.testing.assert_allclose(lists.rest, [0.2, 0.0, 0.1, 0.0], atol=1e-7)
    assert dict(lists.repairs) == {"normalized": 2}


def test_normalize_completes_distributions() -> None:
    """A complete list that sums to less than one is divided too."""
    p = np.array([[0.2, 0.3, 0.5], [0.1, 0.1, 0.2], [2.0, 1.0, 1.0]])
    for lists in (T.from_proba(p, normalize=True), T.from_topk([[0, 1, 2]] * 3, p, 3, normalize=True)):
        np.testing.assert_allclose(lists.padded(), p / p.sum(axis=1, keepdims=True), rtol=1e-15)
        assert dict(lists.repairs) == {"normalized": 2}


@every_maker
@both_precisions
def test_percent_are_divided_by_a_hundred(make: Callable[..., tl.TopLists], dtype: Any) -> None:
    percent = np.array([[50.0, 20.0, 10.0], [60.0, 30.0, 5.0], [40.0, 30.0, 20.0], [25.0, 25.0, 25.0]])
    lists = make(CLASSES, percent.astype(dtype), 9, scale="percent")
    assert lists.confidences.dtype == dtype
    np.testing.assert_allclose(lists.confidences.reshape(4, 3), GOOD, rtol=2 * float(np.finfo(dtype).eps))
    assert dict(lists.repairs) == {"scale: percent": 4}


@every_maker
@both_precisions
def test_logs_are_exponentiated(make: Callable[..., tl.TopLists], dtype: Any) -> None:
    lists = make(CLASSES, np.log(GOOD).astype(dtype), 9, scale="log")
    assert lists.confidences.dtype == dtype
    np.testing.assert_allclose(lists.confidences.reshape(4, 3), GOOD, rtol=8 * float(np.finfo(dtype).eps))
    assert dict(lists.repairs) == {"scale: log": 4}


def test_the_log_of_zero_is_a_confidence_of_zero() -> None:
    lists = T.from_topk([[0, 1]], [[0.0, -math.inf]], 9, scale="log")
    assert lists.confidences.tolist() == [1.0, 0.0]


@both_precisions
def test_duplicates_are_summed_where_the_class_stands_first(dtype: Any) -> None:
    """Order is kept, lists without duplicates are kept, and only the others are counted."""
    classes = np.array([[3, 0, 3, 5], [1, 2, 0, 4], [7, 7, 7, 7]])
    t = np.array([[0.25, 0.25, 0.125, 0.125], [0.5, 0.25, 0.125, 0.0625], [0.125, 0.25, 0.125, 0.5]], dtype)
    for lists in (T.from_topk(classes, t, 9, duplicates="sum"), ragged(classes, t, 9, duplicates="sum")):
        assert [one.confidences for one in lists] == [
            {3: 0.375, 0: 0.25, 5: 0.125},
            {1: 0.5, 2: 0.25, 0: 0.125, 4: 0.0625},
            {7: 1.0},
        ]
        assert [one.classes for one in lists] == [(3, 0, 5), (1, 2, 0, 4), (7,)]
        assert lists.sizes.tolist() == [3, 4, 1]
        assert dict(lists.repairs) == {"duplicates summed": 2}


def test_duplicates_are_summed_in_empty_and_long_lists_alike() -> None:
    """Against a dictionary that adds up."""
    rng = np.random.default_rng(7)
    sizes = np.array([0, 5, 0, 60, 1, 0])
    offsets = np.concatenate(([0], np.cumsum(sizes)))
    classes, t = rng.integers(0, 12, offsets[-1]), rng.random(offsets[-1]) / 100
    lists = T.from_ragged(offsets, classes, t, 100, duplicates="sum")
    for i, one in enumerate(lists):
        want: dict[int, float] = {}
        for c, x in zip(classes[offsets[i] : offsets[i + 1]], t[offsets[i] : offsets[i + 1]], strict=True):
            want[int(c)] = want.get(int(c), 0.0) + float(x)
        assert list(one.confidences) == list(want)
        assert list(one.confidences.values()) == pytest.approx(list(want.values()), rel=1e-14)


def test_repairs_go_together_and_are_counted_apart() -> None:
    """Units first, then duplicates, then the sum."""
    lists = T.from_topk(
        [[0, 1, 0], [2, 3, 4], [5, 6, 7]],
        [[50.0, 50.0, 25.0], [50.0, 25.0, 25.0], [120.0, 60.0, 60.0]],
        9,
        scale="percent",
        duplicates="sum",
        normalize=True,
    )
    assert [one.confidences for one in lists] == [
        {0: 0.6, 1: 0.4},
        {2: 0.5, 3: 0.25, 4: 0.25},
        {5: 0.5, 6: 0.25, 7: 0.25},
    ]
    assert dict(lists.repairs) == {"scale: percent": 3, "duplicates summed": 1, "normalized": 2}


@every_maker
@pytest.mark.parametrize(("dtype", "tiny"), [(np.float64, -1e-9), (np.float32, -1e-7)])
def test_a_rounding_error_below_zero_is_zero(make: Callable[..., tl.TopLists], dtype: Any, tiny: float) -> None:
    """Confidences come out as they are scored, and the rest of the batch as it went in."""
    t = GOOD.astype(dtype)
    t[1, 2] = tiny
    lists = make(CLASSES, t, 9)
    assert lists.confidences[5] == 0.0
    assert np.array_equal(np.delete(lists.confidences, 5), np.delete(t.ravel(), 5))
    assert lists.confidences.dtype == dtype


def test_a_rounding_error_below_zero_is_counted() -> None:
    """Whatever was changed shows in the count of repairs."""
    lists = T.from_topk([[0, 1], [0, 1]], [[0.5, -1e-9], [0.5, 0.25]], 9)
    assert sum(lists.repairs.values()) == 1


def test_the_source_is_never_written_to() -> None:
    """Repairs make new arrays."""
    t, c = np.array([[60.0, 30.0, 30.0]]), np.array([[0, 1, 0]])
    before = t.copy(), c.copy()
    T.from_topk(c, t, 9, scale="percent", duplicates="sum", normalize=True)
    T.from_topk([[0, 1]], small := np.array([[0.5, -1e-9]]), 9)
    assert np.array_equal(t, before[0])
    assert np.array_equal(c, before[1])
    assert small[0, 1] == -1e-9


def test_repairs_are_remembered_and_cannot_be_edited() -> None:
    """Parts, sublists and cuts of repaired lists still say so."""
    lists = T.from_topk(CLASSES, WEIGHTS, 9, normalize=True)
    for part in (lists[1:3], lists[[0, 2]], lists.valid(), lists.repair(), lists.truncate(2), lists.ordered()):
        assert dict(part.repairs) == {"normalized": 2}
    with pytest.raises(TypeError):
        lists.repairs["normalized"] = 0  # type: ignore[index]


def test_normalize_divides_a_given_rest_by_the_same_mass() -> None:
    """Weights of listed classes and of all others, e to the power of `log_rest`, become one distribution."""
    lists = T.from_topk([[0, 1], [2, 0]], [[3.0, 2.0], [0.5, 0.25]], 9, log_rest=np.log([5.0, 0.25]), normalize=True)
    np.testing.assert_allclose(lists.confidences, [0.3, 0.2, 0.5, 0.25], rtol=1e-15)
    np.testing.assert_allclose(lists.rest, [0.5, 0.25], rtol=1e-14)
    np.testing.assert_allclose(lists.log_rest, np.log([0.5, 0.25]), rtol=1e-14)
    assert dict(lists.repairs) == {"normalized": 1}
