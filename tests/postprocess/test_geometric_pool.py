"""Multiplying lists of different lengths and supports."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import toplist as tl
from tests.postprocess.test_linear_pool import draw_lists
from toplist.core import kernel
from toplist.postprocess.combination import geometric_pool, linear_pool
from toplist.postprocess.combination.pools import Members, Union, _add, _multiply, from_kernel, from_union


def by_definition(pool: Any, lists: list[tl.TopLists], w: Any) -> Any:
    """The mean, or the product of powers made to add up to one, of the largest valid sublists."""
    padded = [one.strictly_valid().padded() for one in lists]
    if pool is linear_pool:
        return np.tensordot(w, padded, axes=1)
    p = np.prod([one**x for x, one in zip(w, padded, strict=True)], axis=0)
    return p / p.sum(axis=1, keepdims=True)


@pytest.mark.parametrize("pool", [linear_pool, geometric_pool])
@given(seed=st.integers(0, 10_000), members=st.integers(1, 4), m=st.integers(2, 7), valid=st.booleans())
def test_the_pool_is_its_definition_and_cut_to_k_it_is_the_pool_cut(
    pool: Any, seed: int, members: int, m: int, valid: bool
) -> None:
    rng = np.random.default_rng(seed)
    lists = [draw_lists(rng, 3, m, m - (pool is linear_pool), valid=valid) for _ in range(members)]
    w = rng.dirichlet(np.ones(members)).tolist()
    whole, k = pool(lists, weights=w), int(rng.integers(0, 7))
    np.testing.assert_allclose(whole.padded(), by_definition(pool, lists, w), rtol=1e-11, atol=1e-300)
    assert whole.is_valid().all()
    assert all((np.diff(part) <= 0).all() for part in np.split(whole.confidences, whole.offsets[1:-1]))
    t = whole.normalized_confidences
    again = tl.TopLists.from_ragged(whole.offsets, whole.classes, t, m, log_rest=whole.log_rest)
    assert again.is_valid().all(), "no check is passed by not being made"
    cut = pool(lists, weights=w, k=k)
    assert cut == whole.truncate(k)
    np.testing.assert_allclose(cut.rest, whole.truncate(k).rest, atol=1e-15)
    assert cut.is_valid().all()


@pytest.mark.parametrize("pool", [linear_pool, geometric_pool])
def test_equal_members_make_themselves_and_order_does_not_matter(pool: Any) -> None:
    rng = np.random.default_rng(0)
    a, b, c = (draw_lists(rng, 50, 9, 5) for _ in range(3))
    np.testing.assert_allclose(pool([a, a, a], weights=[0.5, 0.3, 0.2]).padded(), a.padded(), atol=1e-15)
    one, other = pool([a, b, c], weights=[0.5, 0.3, 0.2]), pool([c, a, b], weights=[0.2, 0.5, 0.3])
    np.testing.assert_allclose(one.padded(), other.padded(), atol=1e-15)
    np.testing.assert_allclose(pool([a, b], weights=[0.0, 1.0]).padded(), b.padded(), atol=1e-15)


@pytest.mark.skipif(not kernel.NATIVE, reason="there is one kernel only")
@pytest.mark.parametrize("m", [40, 2**10_000, math.inf, "per case"], ids=["40", "2**10000", "inf", "per case"])
@pytest.mark.parametrize("geometric", [False, True], ids=["linear", "geometric"])
@pytest.mark.parametrize("k", [None, 0, 3])
def test_the_compiled_kernel_is_its_twin(m: Any, geometric: bool, k: int | None) -> None:
    """Codes of both widths, numbers of both precisions, empty lists, ties."""
    rng = np.random.default_rng(1)
    made = [draw_lists(rng, 300, 30, 12) for _ in range(3)]
    space = rng.integers(31, 60, 300).tolist() if m == "per case" else m
    lists = [
        tl.TopLists.from_ragged(one.offsets, one.classes.astype(codes), one.confidences.astype(t), space)
        for one, codes, t in zip(
            made, (np.int32, np.int64, np.int64), (np.float64, np.float32, np.float64), strict=True
        )
    ]
    members, w = Members.of([*lists, lists[0]]), np.array([0.25, 0.25, 0.25, 0.25])
    union = Union.of(members)
    twin = from_union(union, *(_multiply if geometric else _add)(union, w), k, in_logs=geometric)
    fast = from_kernel(members, w, k, geometric=geometric)
    np.testing.assert_array_equal(fast.offsets, twin.offsets)
    np.testing.assert_allclose(fast.confidences, twin.confidences, rtol=1e-12 if geometric else 1e-15, atol=1e-300)
    np.testing.assert_allclose(fast.rest, twin.rest, rtol=1e-11, atol=1e-300)
    np.testing.assert_allclose(fast.log_rest, twin.log_rest, rtol=1e-12, atol=1e-12)
    if k is None:
        assert fast.repairs == twin.repairs
    if not geometric:
        assert fast == twin, "to the last bit"


@pytest.mark.skipif(not kernel.NATIVE, reason="there is one kernel only")
@pytest.mark.parametrize("geometric", [False, True], ids=["linear", "geometric"])
def test_long_lists_and_distributions_are_their_twins_too(geometric: bool) -> None:
    """More classes than are ordered by counting; every class listed, in order and without codes; rounding above one."""
    rng = np.random.default_rng(3)
    p = rng.dirichlet(np.full(200, 0.3), size=40)
    float32 = p.astype(np.float32)
    lists = [
        tl.TopLists.from_proba(p),
        tl.TopLists.from_proba(float32),
        tl.TopLists.from_proba(rng.dirichlet(np.ones(200), size=40)).truncate(120),
        tl.TopLists.from_topk(np.argsort(-float32, axis=1)[:, :199], -np.sort(-float32, axis=1)[:, :199], 200),
    ]
    members, w = Members.of(lists), np.array([0.1, 0.2, 0.3, 0.4])
    union = Union.of(members)
    twin = from_union(union, *(_multiply if geometric else _add)(union, w), None, in_logs=geometric)
    fast = from_kernel(members, w, None, geometric=geometric)
    np.testing.assert_allclose(fast.padded(), twin.padded(), rtol=1e-11, atol=1e-300)
    np.testing.assert_allclose(fast.padded().sum(axis=1), 1.0, atol=1e-12)
    dense = [one.padded() for one in members]
    want = (
        np.prod([d**x for d, x in zip(dense, w, strict=True)], axis=0) if geometric else np.tensordot(w, dense, axes=1)
    )
    np.testing.assert_allclose(fast.padded(), want / want.sum(axis=1, keepdims=True), rtol=1e-10, atol=1e-300)


@pytest.mark.skipif(not kernel.NATIVE, reason="there is one kernel only")
def test_how_a_batch_is_cut_never_shows(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(2)
    lists = [draw_lists(rng, 200, 30, 12) for _ in range(3)]
    for pool in (linear_pool, geometric_pool):
        whole = pool(lists)
        with monkeypatch.context() as patch:
            patch.setattr("toplist.postprocess.combination.pools._BLOCK", 100)
            patch.setattr(kernel, "_THREADED", 1)
            patch.setenv("TOPLIST_THREADS", "3")
            assert pool(lists) == whole
        assert pool([one[50:60] for one in lists]) == whole[50:60]


def test_a_member_that_gives_zero_rules_a_class_out() -> None:
    sure, unsure = tl.TopLists.from_labels([1], 3), tl.TopLists.from_dicts([{0: 0.6}], 3)
    np.testing.assert_allclose(geometric_pool([sure, unsure]).padded(), [[0, 1, 0]])
    np.testing.assert_allclose(geometric_pool([sure, unsure], weights=[0, 1]).padded(), [[0.6, 0.2, 0.2]])


def test_a_case_of_which_nothing_is_left_is_named() -> None:
    a = tl.TopLists.from_labels([0, 1, 1], 3, ids=["x", "y", "z"])
    b = tl.TopLists.from_labels([0, 2, 2], 3, ids=["x", "y", "z"])
    with pytest.raises(tl.TopListError, match=r"case 1 \('y'\): every class is given zero.*RestFloor.*1 more case"):
        geometric_pool([a, b])


def test_many_classes_pool_by_logarithms() -> None:
    """What one member lists alone is far below what both do, and a number as long as it can be."""
    a, b = ([{0: 0.5, 1: 0.25}], [{0: 0.5}])
    pool = geometric_pool([tl.TopLists.from_dicts(one, 2**1000) for one in (a, b)])
    both, rest = 0.5, math.sqrt(0.25 * 0.5)
    assert pool[0].confidences[0] == pytest.approx(both / (both + rest), rel=1e-12)
    want = 0.5 * (math.log(0.25) + math.log(0.5) - 1000 * math.log(2)) - math.log(both + rest)
    assert -tl.score(pool, [1], rule="log")[0] == pytest.approx(want, rel=1e-12)
    again = geometric_pool([pool, pool])
    assert -tl.score(again, [1], rule="log")[0] == pytest.approx(want, rel=1e-12)
    assert not pool.repairs


def test_cases_with_a_confidence_below_the_smallest_number_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    m, easy, hard = 2**10_000, {0: 0.5, 1: 0.25}, {2: 0.5}
    lists = [tl.TopLists.from_dicts([easy] * 40 + [one] + [easy] * 40, m) for one in (easy, hard)]
    whole = geometric_pool(lists)
    monkeypatch.setattr("toplist.postprocess.combination.pools._BLOCK", 20)
    parts = geometric_pool(lists)
    assert parts == whole
    assert dict(parts.repairs) == dict(whole.repairs) == {"underflow to zero": 1}


def test_infinitely_many_classes_are_the_limit_of_ever_more() -> None:
    rows = [{0: 0.5, 1: 0.25}], [{0: 0.5, 2: 0.3}]

    def pooled(m: Any) -> tl.TopLists:
        return geometric_pool([tl.TopLists.from_dicts(one, m) for one in rows])

    limit, near = pooled(math.inf), pooled(2**2000)
    assert limit[0].confidences[0] == pytest.approx(near[0].confidences[0], rel=1e-12)
    assert limit.rest == pytest.approx(near.rest, rel=1e-12)
    assert limit[0].confidences[1] == limit[0].confidences[2] == 0.0


def test_empty_lists_and_no_cases_pool() -> None:
    none = tl.TopLists.from_dicts([], 5)
    one = tl.TopLists.from_dicts([{}], 5)
    for pool in (linear_pool, geometric_pool):
        assert len(pool([none, none])) == 0
        assert pool([one, one]).sizes.tolist() == [0]
        assert pool([one, one]).rest.tolist() == pytest.approx([1.0])


@pytest.mark.parametrize("pool", [linear_pool, geometric_pool])
@pytest.mark.parametrize("tail", [-5.0, -800.0], ids=["plain", "in logs"])
def test_labels_that_are_numbers_are_not_taken_for_codes(pool: Any, tail: float, monkeypatch: Any) -> None:
    """By the compiled kernel and without it; labels that are the codes in another order would be mixed up unseen."""
    space = tl.ClassSpace(labels=[2, 0, 1])
    a = tl.TopLists.from_dicts([{2: 0.6, 0: 0.3}], space, log_rest=[math.log(0.1)])
    b = tl.TopLists.from_dicts([{0: 0.5, 1: 0.5 - math.exp(tail)}], space, log_rest=[tail])
    found = [pool([a, b])]
    monkeypatch.setattr(kernel, "NATIVE", False)
    found.append(pool([a, b]))
    p, q = ([0.6, 0.3, 0.1], [math.exp(tail), 0.5, 0.5 - math.exp(tail)])  # of the labels 2, 0 and 1
    mean = np.add(p, q) / 2 if pool is linear_pool else np.sqrt(np.multiply(p, q))
    for one in found:
        np.testing.assert_allclose(one.padded(), [mean / mean.sum()], atol=1e-12)


@pytest.mark.parametrize("pool", [linear_pool, geometric_pool])
def test_ids_are_compared_though_the_first_member_has_none(pool: Any) -> None:
    rows = [{0: 0.5}, {1: 0.5}]
    bare = tl.TopLists.from_dicts(rows, 3)
    one, other = (tl.TopLists.from_dicts(rows, 3, ids=ids) for ids in (["x", "y"], ["y", "x"]))
    assert pool([bare, one, one]).ids.tolist() == ["x", "y"]
    with pytest.raises(tl.TopListError, match="different cases"):
        pool([bare, one, other])


@pytest.mark.parametrize("pool", [linear_pool, geometric_pool])
def test_a_cut_that_is_longer_than_any_list_is_none(pool: Any) -> None:
    lists = tl.TopLists.from_dicts([{0: 0.5, 1: 0.3}, {1: 0.5}], 3)
    assert pool([lists, lists], k=10**30) == pool([lists, lists])
