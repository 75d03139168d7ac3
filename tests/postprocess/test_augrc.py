"""The area under the generalized risk-coverage curve, by its definition, and its interval."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import toplist as tl
from toplist.postprocess import augrc

Floats = Any


def some(seed: int, n: int, ties: bool) -> tuple[tl.TopLists, Floats]:
    """Hard top-1 lists over ten classes, with few different confidences where they tie."""
    rng = np.random.default_rng(seed)
    confidence = rng.integers(2, 7, n) / 8 if ties else rng.uniform(0.2, 1.0, n)
    return tl.TopLists.from_topk(np.zeros((n, 1), int), confidence[:, None], 10), (rng.random(n) > confidence) * 3


def by_definition(losses: Floats, confidence: Floats, weights: Floats) -> float:
    """Trapezoids under the generalized risk against coverage, over all thresholds, the largest confidence first."""
    share = weights / weights.sum()
    points = [(0.0, 0.0)]
    for threshold in sorted(set(confidence.tolist()), reverse=True):
        accepted = confidence >= threshold
        points.append((float(share[accepted].sum()), float((share * losses)[accepted].sum())))
    return sum((b[0] - a[0]) * (a[1] + b[1]) / 2 for a, b in itertools.pairwise(points))


@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("rule", ["zero-one", "brier"])
def test_it_is_the_area_by_definition(ties: bool, rule: str) -> None:
    for seed in range(5):
        lists, y = some(seed, 40, ties)
        weights = np.random.default_rng(seed).integers(0, 4, 40).astype(float)
        losses, confidence = tl.score(lists, y, rule=rule), lists.confidences
        for w in (np.ones(40), weights):
            assert augrc(lists, y, rule=rule, sample_weight=w).value == pytest.approx(
                by_definition(losses, confidence, w), rel=1e-12
            )


def test_with_zero_one_scores_it_is_the_formula_of_auroc_and_accuracy() -> None:
    lists, y = some(9, 200, ties=True)
    wrong = tl.score(lists, y, rule="zero-one")
    g, accuracy = lists.confidences, 1 - wrong.mean()
    right, failed = g[wrong == 0], g[wrong == 1]
    auroc = np.mean((right[:, None] > failed) + 0.5 * (right[:, None] == failed))
    want = (1 - auroc) * accuracy * (1 - accuracy) + (1 - accuracy) ** 2 / 2
    assert augrc(lists, y).value == pytest.approx(want, rel=1e-12)


def test_the_order_of_cases_does_not_matter_and_weights_move_the_area_as_copies_do() -> None:
    lists, y = some(1, 60, ties=True)
    weights, turned = np.random.default_rng(0).integers(0, 3, 60), np.random.default_rng(1).permutation(60)
    found = augrc(lists, y, sample_weight=weights)
    other = augrc(lists[turned], y[turned], sample_weight=weights[turned])
    assert (other.value, other.error) == pytest.approx((found.value, found.error), rel=1e-12)
    copies = np.repeat(np.arange(60), weights)
    assert augrc(lists[copies], y[copies], clusters=copies).value == pytest.approx(found.value, rel=1e-12)


def test_the_error_is_that_of_the_derivatives_by_the_share_of_each_case() -> None:
    lists, y = some(2, 30, ties=True)
    losses, g = tl.score(lists, y, rule="brier"), lists.confidences
    base, step = by_definition(losses, g, np.ones(30)), 1e-6

    def moved(i: int) -> float:
        shares = np.full(30, (1 - step) / 30)
        shares[i] += step
        return (by_definition(losses, g, shares) - base) / step

    influences = np.array([moved(i) for i in range(30)])
    want = np.sqrt((influences**2).sum() / (30 * 29))
    assert augrc(lists, y, rule="brier").error == pytest.approx(want, rel=1e-4)


def test_intervals_cover_the_true_area() -> None:
    rng = np.random.default_rng(3)
    g = np.array([0.3, 0.5, 0.7, 0.9])
    wrong = np.array([0.6, 0.5, 0.4, 0.1])
    later = np.array([0.125, 0.375, 0.625, 0.875])
    true = float((wrong / 4) @ later)
    hits = 0
    for _ in range(300):
        place = rng.integers(0, 4, 150)
        lists = tl.TopLists.from_topk(np.zeros((150, 1), int), g[place][:, None], 10)
        found = augrc(lists, (rng.random(150) < wrong[place]) * 2)
        hits += found.low is not None and found.high is not None and found.low <= true <= found.high
    assert 0.915 <= hits / 300 <= 0.98


def test_the_ends() -> None:
    assert augrc([{"a": 0.9}, {"a": 0.5}], ["b", "b"], space=3).value == 0.5
    right = augrc([{"a": 0.9}, {"a": 0.5}], ["a", "a"], space=3)
    assert (right.value, right.low, right.high) == (0.0, 0.0, 0.0)
    one = augrc([{"a": 0.9}], ["b"], space=3)
    assert one.value == 0.5
    assert (one.low, one.high, one.error) == (None, None, None)
    assert one.reason
    sure = augrc([{"a": 1.0}, {"a": 0.5}], ["b", "b"], rule="log", space=3)
    assert sure.value == np.inf
    assert sure.low is None
    assert sure.reason
