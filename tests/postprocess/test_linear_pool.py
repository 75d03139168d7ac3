"""Averaging lists of different lengths and supports."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import toplist as tl
from toplist.postprocess import linear_pool


def draw_lists(rng: np.random.Generator, n: int, m: int, most: int, *, valid: bool = True) -> tl.TopLists:
    rows = []
    for _ in range(n):
        k = int(rng.integers(0, most + 1))
        t = rng.dirichlet(np.full(m, 0.5))
        picked = np.argsort(-t)[:k] if valid else rng.permutation(m)[:k]
        rows.append({int(c): float(t[c]) for c in picked})
    return tl.TopLists.from_dicts(rows, m)


@given(seed=st.integers(0, 10_000))
def test_the_pool_is_never_worse_than_its_members_on_average(seed: int) -> None:
    """Pathwise, under the Brier score, as the ambiguity identity says."""
    rng = np.random.default_rng(seed)
    lists = {name: draw_lists(rng, 5, 6, 5) for name in "abc"}
    y = rng.integers(0, 6, 5)
    pool = linear_pool(lists)
    mean = np.mean([tl.score(one, y) for one in lists.values()], axis=0)
    assert (tl.score(pool, y) <= mean + 1e-12).all()


def test_labels_and_distributions_pool_as_well() -> None:
    """Two of three name the first class; the third spreads out."""
    lists = [
        tl.TopLists.from_labels([0], 3),
        tl.TopLists.from_labels([0], 3),
        tl.TopLists.from_proba([[0.2, 0.5, 0.3]]),
    ]
    np.testing.assert_allclose(linear_pool(lists).padded(), [[2.2 / 3, 0.5 / 3, 0.1]], atol=1e-15)


@pytest.mark.parametrize("labels", [20, 159, 10_000])
def test_sets_of_many_labels_pool_by_their_sets(labels: int) -> None:
    """m = 2**10000: the shares of unlisted sets vanish, and the listed sets can be told afterwards."""
    space = tl.LabelSets(range(labels))
    a = tl.TopLists.from_dicts([{frozenset({1, 5}): 0.5, frozenset(): 0.25}], space)
    b = tl.TopLists.from_dicts([{frozenset({1, 5}): 0.25, frozenset({7}): 0.125}], space)
    pool = linear_pool([a, b])
    shown = {frozenset(s): t for s, t in pool[0].confidences.items()}
    assert shown == pytest.approx({frozenset({1, 5}): 0.375, frozenset(): 0.125, frozenset({7}): 0.0625}, rel=1e-5)
    assert pool.rest[0] == pytest.approx(0.4375, rel=1e-5)


def test_infinitely_many_classes_pool_too() -> None:
    space = tl.ClassSpace(math.inf, ["a", "b"])
    lists = [tl.TopLists.from_dicts([one], space) for one in ({"a": 0.5}, {"b": 0.25})]
    pool = linear_pool(lists)
    assert pool[0].confidences == {"a": 0.25, "b": 0.125}
    assert pool.rest.tolist() == [0.625]


@pytest.mark.parametrize("width", [3, 1000])
def test_a_list_pooled_with_itself_is_itself_down_to_its_logarithms(width: int) -> None:
    """Listed sets of probability e^-400 and less, and what is left over."""
    from toplist.multilabel import best_sets

    z = np.random.default_rng(0).normal(size=(4, width)) * (100 if width == 3 else 1)
    lists = best_sets(z, 4, scale="logit")
    assert not lists.repairs
    pool = linear_pool([lists, lists, lists], weights=[0.5, 0.25, 0.25])
    everything = [lists.space.sets_of(lists.classes).take(np.arange(4) * 4 + at) for at in range(4)]
    for y in everything:
        np.testing.assert_allclose(tl.score(pool, y, rule="log"), tl.score(lists, y, rule="log"), rtol=1e-12)


def test_lists_of_small_and_of_plain_numbers_pool_by_logarithms() -> None:
    """Against the sum by hand: half of e^-600 and half of 0.2."""
    space = tl.ClassSpace(labels=["a", "b", "c"])
    small = tl.TopLists.from_dicts([{"a": 0.0, "b": -600.0}], space, scale="log", log_rest=[-900.0])
    plain = tl.TopLists.from_dicts([{"a": 0.7, "b": 0.2}], space)
    pool = linear_pool([small, plain])
    assert tl.score(pool, ["b"], rule="log")[0] == pytest.approx(-np.log(0.1), rel=1e-12)
    assert tl.score(linear_pool([small, small]), ["c"], rule="log")[0] == pytest.approx(900.0, rel=1e-12)


def test_weights_may_go_by_name() -> None:
    rng = np.random.default_rng(5)
    lists = {name: draw_lists(rng, 4, 6, 5) for name in "abc"}
    for pool in (linear_pool, tl.postprocess.geometric_pool):
        by_name = pool(lists, weights={"c": 0.5, "a": 0.2, "b": 0.3})
        assert by_name == pool(lists, weights=[0.2, 0.3, 0.5])


def test_all_the_weight_on_one_member_is_that_member_to_the_last_digit() -> None:
    rng = np.random.default_rng(6)
    lists = [draw_lists(rng, 20, 6, 5) for _ in range(2)]
    for pool in (linear_pool, tl.postprocess.geometric_pool):
        made, y = pool(lists, weights=[1.0, 0.0]), rng.integers(0, 6, 20)
        np.testing.assert_array_equal(tl.score(made, y).round(14), tl.score(lists[0], y, penalty=0).round(14))
