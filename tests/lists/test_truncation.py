"""Cutting lists: the most likely classes, ties to the first, and nothing of the tail's mass lost."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import toplist as tl

T = tl.TopLists


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("k", [0, 1, 2, 5, 11, 12, 40])
@pytest.mark.parametrize("m", [12, 40])
def test_the_k_most_likely_classes_are_those_of_a_stable_sort(k: int, m: int, dtype: Any) -> None:
    """Largest first, ties to the class that stands first; with many ties, zeros and equal rows."""
    rng = np.random.default_rng(m + k)
    p = rng.integers(0, 4, (300, m)) + (np.arange(m) == 0)
    p = (p / p.sum(axis=1, keepdims=True)).astype(dtype)
    order = np.argsort(-p, axis=1, stable=True)[:, :k]
    for lists in (T.from_proba(p, k=k), T.from_proba(p).truncate(k), T.from_proba(p).truncate(k=k)):
        width = min(k, m)
        assert lists.sizes.tolist() == [width] * 300
        classes = lists.ordered().classes.reshape(300, width)
        assert np.array_equal(classes, order[:, :width])
        dense = p.astype(np.float64) / p.astype(np.float64).sum(axis=1, keepdims=True)
        kept = np.take_along_axis(dense, order, axis=1)
        np.testing.assert_allclose(lists.ordered().normalized_confidences.reshape(300, width), kept, rtol=1e-14)
        np.testing.assert_allclose(lists.rest, np.sort(dense, axis=1)[:, : m - width].sum(axis=1), rtol=1e-13)


def test_what_is_cut_off_joins_the_rest_to_the_last_digit() -> None:
    """Summed from the tail, not as one minus the head."""
    t = [1 - 3e-20 - 1e-25, 2e-20, 1e-20, 1e-25]
    for lists in (T.from_proba([t], k=1), T.from_topk([[0, 1, 2, 3]], [t], 5, log_rest=[-100.0]).truncate(1)):
        assert lists.rest[0] == pytest.approx(3e-20 + 1e-25, rel=1e-14)
    once = T.from_proba([t], k=1)
    twice = T.from_proba([t], k=2).truncate(1)
    assert twice.rest[0] == pytest.approx(once.rest[0], rel=1e-14)
    assert T.from_proba([t], k=3).rest[0] == pytest.approx(1e-25, rel=1e-14)


LOGITS = np.random.default_rng(8).normal(size=(50, 9)) * np.linspace(0, 100, 50)[:, None]


def test_logits_are_softmaxed_in_double_precision() -> None:
    special = pytest.importorskip("scipy.special", reason="scipy's log_softmax is the oracle")
    for z in (LOGITS, LOGITS.astype(np.float32), LOGITS + 1e6):
        want = np.exp(special.log_softmax(z.astype(np.float64), axis=1))
        np.testing.assert_allclose(T.from_logits(z).padded(), want, rtol=1e-12, atol=1e-300)


@pytest.mark.parametrize("k", [0, 1, 3, 8])
def test_the_log_of_what_logits_leave_over_is_exact(k: int) -> None:
    """The logarithm of the tail's softmax, where one minus the sum would be zero."""
    special = pytest.importorskip("scipy.special", reason="scipy's log_softmax is the oracle")
    lists = T.from_logits(LOGITS, k=k)
    log_p = special.log_softmax(LOGITS, axis=1)
    order = np.argsort(-LOGITS, axis=1, stable=True)
    tail = special.logsumexp(np.take_along_axis(log_p, order[:, k:], axis=1), axis=1)
    assert lists.log_rest is not None
    np.testing.assert_allclose(lists.log_rest, tail, rtol=1e-12, atol=1e-14)
    assert lists.log_rest.min() < -100 or k == 0
    assert np.array_equal(lists.ordered().classes.reshape(50, k), order[:, :k])
    last = order[:, -1]
    np.testing.assert_allclose(tl.score(lists, last, rule="log"), np.log(9 - k) - tail, rtol=1e-12)


def test_logits_of_minus_infinity_are_classes_without_probability() -> None:
    z = np.array([[0.0, -np.inf, 0.0], [-np.inf, 5.0, -np.inf]])
    assert T.from_logits(z).padded().tolist() == [[0.5, 0.0, 0.5], [0.0, 1.0, 0.0]]
    lists = T.from_logits(z, k=2)
    assert lists.rest.tolist() == [0.0, 0.0]
    assert tl.score(lists, [1, 2], rule="log").tolist() == [math.inf, math.inf]


def test_the_most_likely_classes_are_found_where_probabilities_underflow() -> None:
    """Two classes of probability exp(-750) and exp(-800) are both zero as numbers, and not equally likely."""
    lists = T.from_logits([[0.0, -800.0, -750.0]], k=2)
    assert lists[0].classes == (0, 2)
