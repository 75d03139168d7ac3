"""P@k, nDCG@k and PSP@k: by their definitions over all orders of ties, and as other libraries have them."""

from __future__ import annotations

import itertools
import math
import tracemalloc
from typing import Any

import numpy as np
import pytest
from scipy import sparse, stats
from sklearn.metrics import ndcg_score

from toplist.errors import ShapeError, TopListError
from toplist.multilabel import Sets, label_propensities, ranking_metrics

KS = (1, 2, 3, 5)
Floats = Any


def some(seed: int, n: int = 12, labels: int = 6) -> tuple[Floats, Floats]:
    """Scores with ties, and true labels, at least one per case."""
    rng = np.random.default_rng(seed)
    truth = (rng.random((n, labels)) < 0.35).astype(int)
    truth[np.arange(n), rng.integers(0, labels, n)] = 1
    return rng.integers(0, 4, (n, labels)) / 4, truth


def orders(scores: Floats) -> list[tuple[int, ...]]:
    """Every order of the labels by decreasing score."""
    every = itertools.permutations(range(len(scores)))
    return [order for order in every if all(scores[a] >= scores[b] for a, b in itertools.pairwise(order))]


def by_definition(scores: Floats, truth: Floats, k: int, p: Floats) -> tuple[float, float, float, float]:
    """P@k, nDCG@k, and both sides of PSP@k of one case, averaged over the orders of ties."""
    found = []
    for order in orders(scores):
        first = order[:k]
        dcg = sum(truth[label] / math.log2(2 + rank) for rank, label in enumerate(first))
        found.append((sum(truth[label] for label in first) / k, dcg, sum(truth[label] / p[label] for label in first)))
    precision, dcg, weighted = np.mean(found, axis=0)
    ideal = sum(1 / math.log2(2 + rank) for rank in range(min(k, int(truth.sum()))))
    best = sum(sorted((1 / p[truth == 1]).tolist(), reverse=True)[:k])
    return float(precision), float(dcg / ideal), float(weighted), best


@pytest.mark.parametrize("seed", range(3))
def test_they_are_the_mean_over_all_orders_of_labels_that_tie(seed: int) -> None:
    scores, truth = some(seed)
    p = np.random.default_rng(seed).uniform(0.2, 1.0, 6)
    made = ranking_metrics(scores, truth, k=KS, propensities=p)
    for k in KS:
        precision, ndcg, weighted, best = np.array(
            [by_definition(s, t, k, p) for s, t in zip(scores, truth, strict=True)]
        ).T
        assert made.precision[k].value == pytest.approx(precision.mean(), rel=1e-12)
        assert made.ndcg[k].value == pytest.approx(ndcg.mean(), rel=1e-12)
        assert made.propensity_precision[k].value == pytest.approx(weighted.sum() / best.sum(), rel=1e-12)


@pytest.mark.parametrize("k", KS)
def test_ndcg_is_that_of_scikit_learn_with_ties(k: int) -> None:
    scores, truth = some(7, 50, 8)
    assert ranking_metrics(scores, truth, k=k).ndcg[k].value == pytest.approx(ndcg_score(truth, scores, k=k), rel=1e-12)


def test_sparse_matrices_pairs_and_dense_arrays_are_the_same() -> None:
    scores, truth = some(3, 30, 9)
    scores += 0.25  # above zero, so that every entry is stored
    dense = ranking_metrics(scores, truth, k=KS)
    order = np.argsort(-scores, axis=1)
    pairs = order, np.take_along_axis(scores, order, axis=1)
    for one in (sparse.csr_matrix(scores), sparse.csc_array(scores), sparse.coo_array(scores), pairs):
        for y in (truth, sparse.csr_matrix(truth), Sets.from_indicators(truth)):
            assert ranking_metrics(one, y, k=KS) == dense


def test_labels_without_a_score_count_nothing() -> None:
    scores = sparse.csr_matrix(np.array([[0.5, 0.0, 0.0, 0.0]]))
    made = ranking_metrics(scores, [[1, 1, 1, 1]], k=(1, 3))
    assert made.precision[1].value == 1.0
    assert made.precision[3].value == pytest.approx(1 / 3)
    none = ranking_metrics((np.array([[-1, -1]]), np.zeros((1, 2))), [[1, 1, 1, 1]], k=1)
    assert none.precision[1].value == none.ndcg[1].value == 0.0


def test_cases_without_true_labels_are_left_out_and_counted() -> None:
    scores, truth = some(4)
    blank = np.vstack([truth, np.zeros((3, 6), int)])
    made = ranking_metrics(np.vstack([scores, np.ones((3, 6))]), blank, k=KS)
    plain = ranking_metrics(scores, truth, k=KS)
    assert (made.precision, made.ndcg) == (plain.precision, plain.ndcg)
    assert (made.cases, made.without_labels) == (12, 3)
    with pytest.raises(TopListError, match="no case has a true label"):
        ranking_metrics(scores, np.zeros_like(truth))


def test_intervals_are_students_over_cases_and_clusters_are_units() -> None:
    scores, truth = some(5, 60, 8)
    p = np.random.default_rng(1).uniform(0.2, 1.0, 8)
    made = ranking_metrics(scores, truth, k=3, propensities=p)
    each = np.array([by_definition_fast(s, t, 3, p) for s, t in zip(scores, truth, strict=True)])
    low, high = stats.t.interval(0.95, 59, each[:, 0].mean(), each[:, 0].std(ddof=1) / math.sqrt(60))
    assert (made.precision[3].low, made.precision[3].high) == pytest.approx((max(low, 0), min(high, 1)), rel=1e-9)
    ratio = each[:, 1].sum() / each[:, 2].sum()
    residual = (each[:, 1] - ratio * each[:, 2]) / each[:, 2].mean()
    assert made.propensity_precision[3].error == pytest.approx(residual.std(ddof=1) / math.sqrt(60), rel=1e-9)
    twice = np.repeat(np.arange(60), 2)
    doubled = ranking_metrics(scores[twice], truth[twice], k=3, propensities=p, clusters=twice)
    for name in ("precision", "ndcg", "propensity_precision"):
        one, two = getattr(made, name)[3], getattr(doubled, name)[3]
        assert (two.value, two.error, two.units) == pytest.approx((one.value, one.error, 60), rel=1e-9)


def by_definition_fast(scores: Floats, truth: Floats, k: int, p: Floats) -> tuple[float, float, float]:
    """P@k and both sides of PSP@k, by the share of each label in the first k places."""
    above = (scores > scores[:, None]).sum(axis=1)
    equal = (scores == scores[:, None]).sum(axis=1)
    share = np.clip((k - above) / equal, 0, 1) * truth
    best = sum(sorted((1 / p[truth == 1]).tolist(), reverse=True)[:k])
    return float(share.sum() / k), float((share / p).sum()), best


def test_weights_are_copies() -> None:
    scores, truth = some(6)
    weights = np.random.default_rng(2).integers(0, 3, 12)
    copies = np.repeat(np.arange(12), weights)
    p = label_propensities(truth)
    one = ranking_metrics(scores, truth, k=2, sample_weight=weights, propensities=p)
    other = ranking_metrics(scores[copies], truth[copies], k=2, clusters=copies, propensities=p)
    for name in ("precision", "ndcg", "propensity_precision"):
        a, b = getattr(one, name)[2], getattr(other, name)[2]
        assert (a.value, a.error) == pytest.approx((b.value, b.error), rel=1e-12)


def test_propensities_are_those_of_the_formula() -> None:
    truth = np.repeat([[1, 0, 1], [1, 0, 0]], 10, axis=0)
    for a, b in ((0.55, 1.5), (0.5, 0.4), (0.6, 2.6)):
        c = (math.log(20) - 1) * (b + 1) ** a
        want = [1 / (1 + c * math.exp(-a * math.log(n + b))) for n in (20, 0, 10)]
        assert label_propensities(truth, a=a, b=b).tolist() == pytest.approx(want, rel=1e-13)


def test_a_million_labels_are_never_spread_out() -> None:
    rng = np.random.default_rng(0)
    n, labels = 500, 10**6
    place = rng.integers(0, labels // 10, (n, 10)) * 10 + np.arange(10)
    truth = sparse.csr_matrix((np.ones(n * 3), (np.repeat(np.arange(n), 3), place[:, :3].ravel())), (n, labels))
    p = label_propensities(truth)
    tracemalloc.start()
    made = ranking_metrics((place, rng.random((n, 10))), truth, k=10, propensities=p)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert made.precision[10].value == pytest.approx(0.3)
    assert peak < 60e6


@pytest.mark.parametrize(
    ("scores", "message"),
    [
        (np.ones((2, 4)), "scores of shape"),
        (np.ones((3, 3)), "scores of 3 cases"),
        (np.array([[1.0, np.nan, 0.0], [1.0, 1.0, 1.0]]), "not a number"),
        ((np.array([[0, 0], [1, 2]]), np.ones((2, 2))), "label 0 is scored twice"),
        ((np.array([[0, 7], [1, 2]]), np.ones((2, 2))), "label 7 is scored"),
        ((np.array([[0.0], [1.0]]), np.ones((2, 1))), "labels are whole numbers"),
        (sparse.csr_matrix(np.ones((2, 5))), "scores of 5 labels"),
    ],
)
def test_scores_that_are_none_are_refused(scores: Any, message: str) -> None:
    with pytest.raises(ShapeError, match=message):
        ranking_metrics(scores, [[1, 0, 0], [0, 1, 0]])


def test_propensities_that_are_none_are_refused() -> None:
    with pytest.raises(ShapeError, match="2 propensities for 3 labels"):
        ranking_metrics(np.ones((1, 3)), [[1, 0, 0]], propensities=[0.5, 0.5])
    with pytest.raises(TopListError, match="above 0 and at most 1"):
        ranking_metrics(np.ones((1, 3)), [[1, 0, 0]], propensities=[0.5, 0.0, 1.0])
    with pytest.raises(TopListError, match="three or more"):
        label_propensities([[1, 0], [0, 1]])
