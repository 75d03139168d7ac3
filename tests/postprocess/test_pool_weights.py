"""Weights of pools: optimal by the conditions of optimality, not by comparison with what a run gave."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import toplist as tl
from tests.draws import draws
from tests.postprocess.test_linear_pool import draw_lists
from toplist.postprocess.combination import PoolWeights, geometric_pool, linear_pool, pool_weights
from toplist.postprocess.combination.pools import Members
from toplist.postprocess.combination.weights import BrierOfMean, LogOfMean, LogOfProduct, inner_products

KINDS = [("brier", "linear"), ("log", "linear"), ("log", "geometric")]
POOLS = {"linear": linear_pool, "geometric": geometric_pool}


def draw(seed: int, members: int, n: int = 60, m: int = 6) -> tuple[dict[str, tl.TopLists], Any]:
    """Lists that leave something over, so that nothing is impossible."""
    rng = np.random.default_rng(seed)
    return {f"p{j}": draw_lists(rng, n, m, m - 2) for j in range(members)}, rng.integers(0, m, n)


def mean_score(lists: dict[str, tl.TopLists], y: Any, w: Any, rule: str, pool: str, ridge: float) -> float:
    """By pooling and scoring, with the pull towards equal weights."""
    pooled = POOLS[pool](lists, weights=(np.maximum(w, 0) / np.maximum(w, 0).sum()).tolist())
    off = np.asarray(w) - 1 / len(w)
    return float(tl.score(pooled, y, rule=rule, penalty=0).mean()) + ridge / len(y) * float(off @ off)


@pytest.mark.parametrize(("rule", "pool"), KINDS)
@settings(max_examples=draws(25))
@given(seed=st.integers(0, 1000), members=st.integers(1, 4), ridge=st.sampled_from([0.0, 1.0, 30.0]))
def test_no_direction_leads_down(rule: str, pool: str, seed: int, members: int, ridge: float) -> None:
    """At a minimum of a convex function on the simplex no step towards a corner, however short, improves it."""
    lists, y = draw(seed, members)
    found = pool_weights(lists, y, rule=rule, pool=pool, ridge=ridge)
    w = found.weights
    assert (w >= 0).all()
    assert w.sum() == pytest.approx(1, abs=1e-12)
    best = mean_score(lists, y, w, rule, pool, ridge)
    for corner in np.eye(members):
        for step in (1e-4, 1e-2, 0.5):
            assert mean_score(lists, y, (1 - step) * w + step * corner, rule, pool, ridge) >= best - 1e-9


@pytest.mark.parametrize(("rule", "pool"), KINDS)
def test_kuhn_and_tucker_agree(rule: str, pool: str) -> None:
    """All members with weight have one slope, those without a higher one; slopes by differences of pooled scores."""
    lists, y = draw(3, 4, n=200)
    lists["noise"] = tl.TopLists.from_dicts([{int(5 - c): 0.9} for c in y], 6)
    found = pool_weights(lists, y, rule=rule, pool=pool, ridge=1.0)
    w, h = found.weights, 1e-6
    slopes = [
        (mean_score(lists, y, (1 - h) * w + h * corner, rule, pool, 1.0) - mean_score(lists, y, w, rule, pool, 1.0)) / h
        for corner in np.eye(5)
    ]
    used = w > 1e-6
    assert not used.all()
    np.testing.assert_allclose(np.array(slopes)[used], 0.0, atol=1e-4)
    assert (np.array(slopes)[~used] > -1e-4).all()


@pytest.mark.parametrize(("rule", "pool"), KINDS)
def test_the_score_is_that_of_the_pool(rule: str, pool: str) -> None:
    lists, y = draw(4, 3)
    found = pool_weights(lists, y, rule=rule, pool=pool)
    pooled = found.transform(lists)
    assert found.score == pytest.approx(tl.score(pooled, y, rule=rule, penalty=0).mean(), abs=1e-12)
    assert found.members == pytest.approx([tl.score(one, y, rule=rule, penalty=0).mean() for one in lists.values()])
    assert found.score <= min(found.members) + 1 / len(y), "but for the ridge, no worse than the best member"


@pytest.mark.parametrize(("rule", "pool"), KINDS)
def test_slopes_are_those_of_the_values(rule: str, pool: str) -> None:
    lists, y = draw(5, 3)
    members = Members.of(lists)
    log_q = np.stack([-tl.score(one, y, rule="log", penalty=0) for one in members], axis=1)
    sample = np.random.default_rng(0).dirichlet(np.ones(len(y)))
    if pool == "geometric":
        f: Any = LogOfProduct.of(members, log_q, sample)
    else:
        f = LogOfMean.of(log_q, sample) if rule == "log" else BrierOfMean.of(members, np.exp(log_q), sample)
    w, h = np.array([0.2, 0.3, 0.5]), 1e-5
    value, gradient = f(w)
    want = sample @ tl.score(POOLS[pool](lists, weights=w.tolist()), y, rule=rule, penalty=0)
    assert value == pytest.approx(want, abs=1e-12)
    for d in np.eye(3) - 1 / 3:  # within the plane of weights
        assert (f(w + h * d)[0] - f(w - h * d)[0]) / (2 * h) == pytest.approx(gradient @ d, abs=1e-7)


@given(seed=st.integers(0, 1000))
def test_inner_products_are_those_of_padded_distributions(seed: int) -> None:
    lists, _ = draw(seed, 3, n=5)
    dense = np.stack([one.padded() for one in lists.values()])
    found = np.concatenate([block for _, block in inner_products(Members.of(lists))])
    np.testing.assert_allclose(found, np.einsum("inc,jnc->nij", dense, dense), atol=1e-14)


@pytest.mark.parametrize(("rule", "pool"), KINDS)
def test_weighted_cases_are_repeated_cases(rule: str, pool: str) -> None:
    lists, y = draw(6, 3)
    times = np.random.default_rng(0).integers(0, 4, len(y))
    again = np.repeat(np.arange(len(y)), times)
    weighted = pool_weights(lists, y, rule=rule, pool=pool, sample_weight=times)
    repeated = pool_weights({name: one[again] for name, one in lists.items()}, y[again], rule=rule, pool=pool)
    np.testing.assert_allclose(weighted.weights, repeated.weights, atol=1e-5)
    assert weighted.score == pytest.approx(repeated.score, abs=1e-9)


def test_equal_members_share_their_weight() -> None:
    lists, y = draw(7, 1)
    (one,) = lists.values()
    for rule, pool in KINDS:
        np.testing.assert_allclose(pool_weights([one, one, one], y, rule=rule, pool=pool).weights, 1 / 3, atol=1e-6)


def test_a_large_ridge_makes_weights_equal() -> None:
    lists, y = draw(8, 3)
    np.testing.assert_allclose(pool_weights(lists, y, ridge=1e9).weights, 1 / 3, atol=1e-6)


def test_a_case_that_nobody_thinks_possible_makes_the_score_infinite_and_has_no_say() -> None:
    a, b = tl.TopLists.from_labels([0, 0, 1], 3), tl.TopLists.from_proba([[0.5, 0.5, 0]] * 3)
    found = pool_weights({"a": a, "b": b}, [2, 0, 0], rule="log", ridge=0)
    assert found.score == math.inf
    assert found.impossible == 1
    other = pool_weights({"a": a[1:], "b": b[1:]}, [0, 0], rule="log", ridge=0)
    np.testing.assert_allclose(found.weights, other.weights, atol=1e-9)
    assert other.score == pytest.approx(
        -0.5 * (math.log(0.5 * other.weights[1]) + math.log(1 - 0.5 * other.weights[1]))
    )
    assert PoolWeights.from_dict(found.to_dict()).score == math.inf


def test_a_geometric_pool_leaves_out_who_gave_zero_to_what_happened() -> None:
    hard, soft = tl.TopLists.from_labels([0, 1], 3), tl.TopLists.from_dicts([{0: 0.5}, {1: 0.5}], 3)
    found = pool_weights({"hard": hard, "soft": soft}, [0, 2], rule="log", pool="geometric")
    assert found.weights.tolist() == [0.0, 1.0]


def test_any_number_of_classes_will_do() -> None:
    for m in (2**10_000, math.inf):
        lists = [tl.TopLists.from_dicts([{0: 0.5, 1: 0.25}] * 4, m), tl.TopLists.from_dicts([{0: 0.2, 1: 0.7}] * 4, m)]
        for rule, pool in KINDS:
            found = pool_weights(lists, [0, 0, 1, 0], rule=rule, pool=pool)
            assert np.isfinite(found.score)


def test_a_member_that_only_rules_out_has_weight_zero() -> None:
    """The best weight of such a member is next to zero, so no weights are best; with zero it rules out nothing."""
    vague = tl.TopLists.from_proba([[0.4, 0.3, 0.3]] * 2)
    veto = tl.TopLists.from_proba([[0.05, 0.95, 0.0], [0.95, 0.05, 0.0]])
    y = [0, 1]
    found = pool_weights({"vague": vague, "veto": veto}, y, rule="log", pool="geometric", ridge=0)
    nearly = geometric_pool([vague, veto], weights=[1 - 1e-9, 1e-9])
    better = float(tl.score(nearly, y, rule="log").mean())
    assert found.weights.tolist() == [1.0, 0.0]
    assert found.score == pytest.approx(float(tl.score(vague, y, rule="log").mean()))
    assert better < found.score - 0.1


def test_members_may_be_named_by_numbers() -> None:
    lists, y = draw(3, 2)
    numbered = dict(enumerate(lists.values()))
    found = pool_weights(numbered, y)  # type: ignore[arg-type]
    assert found.transform(numbered) == pool_weights(lists, y).transform(lists)  # type: ignore[arg-type]


@pytest.mark.parametrize("key", ["weights", "score", "members", "cases", "ridge", "impossible", "pool"])
@pytest.mark.parametrize("value", [None, "x", [], [1], {"p0": "x", "p1": 1}, {"p0": {}}, 10**400])
def test_damaged_weights_are_refused_in_words(key: str, value: Any) -> None:
    lists, y = draw(3, 2)
    saved = pool_weights(lists, y).to_dict() | {key: value}
    try:
        PoolWeights.from_dict(saved).transform(lists)
    except tl.TopListError:
        return
    assert key in ("cases", "impossible"), "these are whole numbers of any size"
    assert value == 10**400
