"""What the numbers of the input may be off by is no evidence of invalidity, and belongs to the input, not an array."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import toplist as tl
from tests.properties.cases import law
from toplist.lists.toplists import join

T = tl.TopLists
DTYPES = (np.float16, np.float32, np.float64)


def sharp(n: int, m: int, dtype: Any, seed: int = 0) -> Any:
    """A softmax as sharp as that of a network, computed in its own precision, the likeliest class first."""
    z = (np.random.default_rng(seed).normal(size=(n, m)) * 8).astype(dtype)
    e = np.exp(z - z.max(axis=1, keepdims=True))
    return -np.sort(-(e / e.sum(axis=1, keepdims=True, dtype=dtype)), axis=1)


def top(p: Any, k: int, m: int, **options: Any) -> tl.TopLists:
    made: tl.TopLists = T.from_topk(np.broadcast_to(np.arange(k), (len(p), k)), p[:, :k], m, **options)
    return made


@pytest.mark.parametrize("m", [10, 1000])
@pytest.mark.parametrize("dtype", DTYPES)
def test_a_softmax_in_any_precision_makes_no_invalid_list(dtype: Any, m: int) -> None:
    p = sharp(3000, m, dtype)
    for k in (2, 5, 9):
        assert top(p, k, m).is_valid().all()


def test_the_rest_mass_of_sums_in_logarithms_is_rounding_in_double_precision() -> None:
    """Naive Bayes: log-likelihoods of -1000 leave 1e-13 of a sum, and a fold without a class has the list cut."""
    rng = np.random.default_rng(2)
    logs = rng.normal(size=(2000, 8)) * 60 - 1500
    p = np.exp(logs - np.logaddexp.reduce(logs, axis=1, keepdims=True))
    lists = top(p, 8, 10, normalize=True)
    assert (lists.rest > 8 * 2.0**-52).any()
    assert lists.is_valid().all()
    y = rng.integers(0, 8, len(p))
    np.testing.assert_array_equal(tl.score(lists, y), tl.score(lists, y, penalty=0))


def test_exact_lists_stay_invalid_and_pay() -> None:
    for dtype in DTYPES:
        lists = T.from_topk([[0, 1]], np.array([[0.6, 0.1]], dtype), 4)
        assert not lists.is_valid()[0]
        assert tl.score(lists, [0])[0] > tl.score(lists, [0], penalty=0)[0]


@pytest.mark.parametrize("dtype", [np.float16, np.float32])
def test_narrow_numbers_are_judged_alike_in_whatever_type_they_are_held(dtype: Any) -> None:
    """A float32 that became a Python float, in a dict or a list, is rounded as a float32 is."""
    p = sharp(3000, 10, dtype, seed=4)[:, :9]
    p = p[p.astype(np.float64).sum(axis=1) <= 1]
    wide = T.from_dicts([dict(enumerate(row.tolist())) for row in p], 10)
    assert wide.is_valid().all()
    flags = [top(p.astype(held), 9, 10).checked.flags for held in (dtype, np.float32, np.float64)]
    np.testing.assert_array_equal(flags[0], flags[1])
    np.testing.assert_array_equal(flags[1], flags[2])


@pytest.mark.parametrize("tiny", [2.0**-149, 7.3e-42, 2.0**-126 - 2.0**-149, 2.0**-136])
def test_numbers_below_the_normal_range_of_float32_are_judged_alike_too(tiny: float) -> None:
    """A rest of 6e-8 is the rounding of a float32, also where it stands beside a number that float32 holds just so."""
    t = np.array([[1 - 2.0**-24, tiny]], np.float32)
    single, double = top(t, 2, 19), top(t.astype(np.float64), 2, 19)
    assert single.is_valid()[0]
    assert double.is_valid()[0]
    assert tl.score(single, [5])[0] == tl.score(double, [5])[0]
    assert not top(np.array([[1 - 2.0**-24, tiny * (1 + 2.0**-30)]]), 2, 19).is_valid()[0]


def test_valid_repair_and_the_counts_follow_the_same_rule() -> None:
    p = sharp(500, 10, np.float32, seed=3)
    lists = top(p, 9, 10)
    assert lists.valid() is lists
    assert lists.repair() is lists
    assert (lists.strictly_valid().sizes < 9).any()
    sheet_invalid = [not tl.lists.is_valid(lists[i]) for i in range(50)]
    assert not any(sheet_invalid)


def test_selected_and_joined_lists_are_judged_as_before() -> None:
    """Beside lists in double precision, the tolerances of single precision are kept."""
    single, double = top(sharp(200, 10, np.float32, seed=6), 9, 10), top(sharp(200, 10, np.float64, seed=7), 9, 10)
    both = join([single, double], [single.classes, double.classes], single.space)
    assert both.is_valid().all()
    np.testing.assert_array_equal(both.rest, np.concatenate([single.rest, double.rest]))
    for part in (both[3:90], both[np.arange(390, 0, -2)], both.truncate(7), both.truncate(mass=0.99)):
        assert part.is_valid().all()


REPRODUCED = [
    [0.99560546875, 0.0037975311279296875, 0.00036406517028808594, 0.00016820430755615234, 6.574392318725586e-05],
    [0.6, 0.3, 0.05, 0.03, 0.0201],
]


@pytest.mark.parametrize("order", [[0, 1], [1, 0]])
def test_a_row_that_passes_alone_passes_beside_one_that_is_normalized(order: list[int]) -> None:
    t = np.array(REPRODUCED, np.float32)[order]
    lists = top(t, 5, 10, normalize=True)
    assert dict(lists.repairs) == {"normalized": 1}
    for i in range(2):
        alone = top(t[i : i + 1], 5, 10, normalize=True)
        assert tl.score(alone, [1])[0] == tl.score(lists[i : i + 1], [1])[0]
        assert alone.rest[0] == lists.rest[i]


@st.composite
def nearly_one(draw: st.DrawFn) -> Any:
    """Rows in one precision whose masses are about one, off by anything from nothing to a factor."""
    dtype, k = draw(st.sampled_from(DTYPES)), draw(st.integers(1, 6))
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    n = draw(st.integers(1, 6))
    t = rng.dirichlet(np.ones(k), size=n)
    return (t * (1 + rng.choice([0, 1e-9, 2e-8, 1e-7, 9e-7, 3e-6, 1e-3, 0.5, 30], size=(n, 1)))).astype(dtype)


@law
@given(t=nearly_one(), room=st.integers(0, 3))
def test_normalizing_repairs_every_mass_in_every_precision_and_order(t: Any, room: int) -> None:
    """Each row gets the same alone and in any batch, and what is counted is what is repaired."""
    n, k = t.shape
    lists = top(t, k, k + room, normalize=True)
    alone = [top(t[i : i + 1], k, k + room, normalize=True) for i in range(n)]
    assert lists.repairs.get("normalized", 0) == sum(one.repairs.get("normalized", 0) for one in alone)
    back = top(t[::-1], k, k + room, normalize=True)
    for i, one in enumerate(alone):
        for other in (lists[i : i + 1], back[n - 1 - i : n - i]):
            np.testing.assert_array_equal(one.normalized_confidences, other.normalized_confidences)
            assert (one.rest[0], one.is_valid()[0]) == (other.rest[0], other.is_valid()[0])
            assert tl.score(one, [0])[0] == tl.score(other, [0])[0]


def test_weights_too_large_to_be_added_up_are_normalized_too() -> None:
    lists = T.from_topk([[0, 1], [0, 1]], [[1.5e308, 0.5e308], [0.5, 0.25]], 4, normalize=True)
    assert lists.confidences.tolist() == [0.75, 0.25, 0.5, 0.25]
    assert dict(lists.repairs) == {"normalized": 1}


def test_a_distribution_of_zeros_is_not_told_to_be_normalized() -> None:
    with pytest.raises(tl.MassError, match="nothing to divide by"):
        T.from_topk([[0, 1]], [[0.0, 0.0]], 2, normalize=True)


def test_half_floats_may_be_off_one_by_their_own_rounding_and_no_more() -> None:
    t = np.array([[0.3333, 0.3333, 0.3333]], np.float16)
    assert T.from_proba(t).padded().sum() == pytest.approx(1, abs=1e-15)
    with pytest.raises(tl.MassError):
        T.from_proba(t.astype(np.float32))
    with pytest.raises(tl.MassError):
        T.from_proba(np.array([[0.33, 0.33, 0.33]], np.float16))


@pytest.mark.parametrize("dtype", DTYPES)
def test_percentages_and_logarithms_keep_the_rounding_of_their_numbers(dtype: Any) -> None:
    p = sharp(2000, 10, np.float64, seed=9)
    percent = top((100 * p).astype(dtype), 9, 10, scale="percent", normalize=True)
    assert percent.is_valid().all()
    logs = np.log(p).astype(dtype)
    assert top(logs, 9, 10, scale="log", normalize=True).is_valid().all()


def test_summed_duplicates_keep_the_precision_of_their_parts() -> None:
    p = sharp(500, 10, np.float32, seed=8)[:, :9]
    halves = np.concatenate([p / 2, p / 2], axis=1)
    codes = np.broadcast_to(np.tile(np.arange(9), 2), halves.shape)
    lists = T.from_topk(codes, halves, 10, duplicates="sum")
    assert lists.is_valid().all()
    assert math.isclose(lists.mass.max(), 1.0, abs_tol=1e-6)


def test_half_floats_are_judged_alike_by_diagnose_and_compare() -> None:
    p = sharp(300, 10, np.float16, seed=11)
    y = np.random.default_rng(0).integers(0, 10, len(p))
    assert len(T.from_proba(p)) == 300
    assert tl.diagnose(p, y) is not None
    assert tl.compare({"half": p}, y) is not None
    pairs = (np.broadcast_to(np.arange(9), (300, 9)), p[:, :9])
    assert tl.diagnose(pairs, y, space=10) is not None
