"""Metrics of label sets are what scikit-learn computes, case by case; each knows what it asks for."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

import toplist as tl
from tests.multilabel import reference as brute
from tests.multilabel.reference import every_set
from toplist import multilabel
from toplist.lists.labelsets import Sets
from toplist.multilabel.metrics import METRICS, SetMetric, hamming, instance_f1, jaccard, set_accuracy


def draw(width: int, cases: int = 200, seed: int = 0) -> tuple[Any, Any]:
    """Two matrices that overlap, with empty and equal rows among them."""
    rng = np.random.default_rng(seed)
    x = rng.random((cases, width)) < rng.choice([0.0, 0.1, 0.5], (cases, 1))
    y = x ^ (rng.random((cases, width)) < rng.choice([0.0, 0.2], (cases, 1)))
    return x, y


@pytest.mark.parametrize("width", [1, 4, 70])
def test_metrics_are_those_of_scikit_learn(width: int) -> None:
    """Per case, where an empty set that is rightly predicted counts as right."""
    metrics = pytest.importorskip("sklearn.metrics")
    x, y = (m.astype(int) for m in draw(width))
    empty = (x.sum(axis=1) == 0) & (y.sum(axis=1) == 0)
    assert empty.any()
    # scikit-learn takes one column for a binary problem
    wide = np.zeros((len(x), 1), int) if width == 1 else np.zeros((len(x), 0), int)
    a, b = np.hstack((x, wide)), np.hstack((y, wide))
    assert set_accuracy(x, y).mean() == pytest.approx(metrics.accuracy_score(b, a), abs=1e-14)
    assert hamming(a, b).mean() == pytest.approx(metrics.hamming_loss(b, a), abs=1e-14)
    f1 = metrics.f1_score(b, a, average="samples", zero_division=1)
    assert instance_f1(x, y).mean() == pytest.approx(f1, abs=1e-14)
    index = metrics.jaccard_score(b, a, average="samples", zero_division=1)
    assert jaccard(x, y).mean() == pytest.approx(index, abs=1e-14)


@pytest.mark.parametrize("width", [1, 2, 3])
def test_metrics_are_their_definitions_for_every_pair_of_sets(width: int) -> None:
    pairs = [(a, b) for a in every_set(width) for b in every_set(width)]
    space = tl.LabelSets(range(width))
    x, y = [a for a, _ in pairs], [b for _, b in pairs]
    for metric, exact in (
        (set_accuracy, brute.accuracy),
        (instance_f1, brute.f1),
        (jaccard, brute.jaccard),
        (lambda x, y, s: 1 - hamming(x, y, s), brute.agreement(width)),
    ):
        assert metric(x, y, space).tolist() == pytest.approx([float(exact(a, b)) for a, b in pairs], abs=1e-15)


@pytest.mark.parametrize("metric", METRICS.values(), ids=METRICS)
def test_every_form_of_the_same_sets_scores_the_same(metric: SetMetric) -> None:
    x, y = draw(70)
    names = [f"label {i}" for i in range(70)]
    space = tl.LabelSets(names)
    want = metric(x, y)
    forms = [
        (x.astype(np.int8), sp.csr_matrix(y.astype(float))),
        (sp.coo_array(x.astype(int)), Sets.from_indicators(y)),
        (x.tolist(), y.tolist()),
    ]
    for a, b in forms:
        np.testing.assert_array_equal(metric(a, b), want)
    named = [{names[i] for i in np.flatnonzero(row)} for row in y]
    for a in (x, sp.csc_matrix(x), Sets.from_indicators(x), [[names[i] for i in np.flatnonzero(row)] for row in x]):
        np.testing.assert_array_equal(metric(a, named, space), want)
    np.testing.assert_array_equal(metric.function(x, named, space), want)


@given(data=st.data(), width=st.integers(1, 5))
def test_metrics_do_not_tell_prediction_from_truth(data: st.DataObject, width: int) -> None:
    """They are symmetric, within 0 and 1, and perfect exactly where the sets are the same."""
    pick = st.lists(st.sampled_from(every_set(width)), min_size=1, max_size=5)
    x = data.draw(pick)
    y = data.draw(st.lists(st.sampled_from(every_set(width)), min_size=len(x), max_size=len(x)))
    space = tl.LabelSets(range(width))
    for metric in METRICS.values():
        values = metric(x, y, space)
        np.testing.assert_array_equal(values, metric(y, x, space))
        assert ((values >= 0) & (values <= 1)).all()
        perfect = 1.0 if metric.better == "higher" else 0.0
        assert (values == perfect).tolist() == [a == b for a, b in zip(x, y, strict=True)]


def test_sets_of_a_million_labels_are_not_spread_out() -> None:
    """Ten thousand of them would be ten billion entries."""
    n, width = 10_000, 1_000_000
    rng = np.random.default_rng(0)
    pairs = [sp.random_array((n, width), density=d, rng=rng, format="csr") for d in (3e-6, 1e-6)]
    x, more = (m.astype(bool).astype(np.int8) for m in pairs)
    y = ((x + more) > 0).astype(np.int8)
    assert (set_accuracy(x, y) == (y.sum(axis=1) == x.sum(axis=1))).all()
    first, second = Sets.from_indicators(x), Sets.from_indicators(y)
    exact = [brute.f1(frozenset(a), frozenset(b)) for a, b in zip(first, second, strict=True)]
    assert instance_f1(x, y).tolist() == pytest.approx([float(v) for v in exact], abs=1e-15)
    np.testing.assert_allclose(hamming(x, y), (y.sum(axis=1) - x.sum(axis=1)) / width, rtol=0, atol=1e-18)


def test_no_labels_are_never_wrong() -> None:
    none = np.zeros((3, 0), int)
    assert hamming(none, none).tolist() == [0.0] * 3
    for metric in (set_accuracy, instance_f1, jaccard):
        assert metric(none, none).tolist() == [1.0] * 3
    for metric in METRICS.values():
        assert metric(np.zeros((0, 4)), np.zeros((0, 4))).shape == (0,)


@pytest.mark.parametrize("metric", METRICS.values(), ids=METRICS)
def test_every_metric_knows_the_decision_that_is_best_for_it(metric: SetMetric) -> None:
    """In expectation over a distribution its own decision beats those of the others."""
    rng = np.random.default_rng(3)
    space = tl.LabelSets(range(4))
    p = rng.dirichlet(np.full(16, 0.3), size=300)
    lists = tl.TopLists.from_proba(p, space)
    every = space.sets_of(np.arange(16))

    def value(decided: Sets) -> Any:
        again = decided.take(np.repeat(np.arange(300), 16))
        table = metric(again, every.take(np.tile(np.arange(16), 300))).reshape(300, 16)
        return (p * table).sum(axis=1) * (1 if metric.better == "higher" else -1)

    own = value(metric.decide(lists))
    for other in METRICS.values():
        assert (own >= value(other.decide(lists)) - 1e-12).all()
        if other is not metric:
            assert (own > value(other.decide(lists)) + 1e-6).any()
    assert metric.exact == (metric.name != "jaccard")


def test_every_metric_is_a_public_name() -> None:
    for name, metric in METRICS.items():
        assert metric.name == name
        assert getattr(multilabel, name) is metric.function
        assert metric.decide.__name__ in multilabel.__all__
        assert metric.elicits


def test_hamming_is_not_consistent_for_the_mode_either() -> None:
    """Three sets of which none is likely share a label that the most likely set lacks."""
    p = {frozenset(): Fraction(40, 100), frozenset({0, 1}): Fraction(30, 100), frozenset({0, 2}): Fraction(30, 100)}
    right = brute.agreement(3)
    assert brute.best(brute.accuracy, p, every_set(3)) == frozenset()
    assert brute.best(right, p, every_set(3)) == frozenset({0})
    assert brute.expected(right, frozenset({0}), p) - brute.expected(right, frozenset(), p) == Fraction(2, 30)
    lists = tl.TopLists.from_dicts([{s: float(q) for s, q in p.items()}], tl.LabelSets(range(3)))
    assert list(METRICS["set_accuracy"].decide(lists)) == [()]
    assert list(METRICS["hamming"].decide(lists)) == [(0,)]
