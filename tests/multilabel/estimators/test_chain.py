"""Classifier chains."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.svm import LinearSVC

import toplist as tl
from tests.multilabel.estimators.factories import clusters
from toplist.multilabel import ProbabilisticChain

PROBLEM = clusters()


def _by_hand(X: np.ndarray, Y: np.ndarray, x: np.ndarray, order: list[int], make: type) -> dict[frozenset, float]:
    """The probability of every label set of one case."""
    models = [make().fit(np.hstack((X, Y[:, order[:d]])), Y[:, order[d]]) for d in range(len(order))]
    out = {}
    for bits in product((0, 1), repeat=len(order)):
        steps = [model.predict_proba([[*x, *bits[:d]]])[0, bits[d]] for d, model in enumerate(models)]
        out[frozenset(label for label, bit in zip(order, bits, strict=True) if bit)] = float(np.prod(steps))
    return out


@pytest.mark.parametrize("make", [LogisticRegression, GaussianNB])
def test_lists_are_the_likeliest_sets_of_the_chain(make: type) -> None:
    X, Y, X_test, _ = PROBLEM
    order = [3, 0, 4, 1, 2]
    lists = ProbabilisticChain(make(), order=order, k=6).fit(X, Y).predict_toplist(X_test[:5])
    for one, x in zip(lists, X_test, strict=False):
        best = sorted(_by_hand(X, Y, x, order, make).items(), key=lambda item: -item[1])[:6]
        assert one.confidences == pytest.approx(dict(best), rel=1e-6)


def test_labels_that_never_vary_do_not_disturb_the_chain() -> None:
    X, Y, X_test, _ = PROBLEM
    none, all_ = np.zeros((len(Y), 1), int), np.ones((len(Y), 1), int)
    plain = ProbabilisticChain(order=None, k=3).fit(X, Y).predict_toplist(X_test)
    model = ProbabilisticChain(order=[6, 5, 0, 1, 2, 3, 4], k=3).fit(X, np.hstack((Y, none, all_)))
    lists = model.predict_toplist(X_test)
    sure = (1 - 0.5 / (len(Y) + 1)) ** 2
    for mine, theirs in zip(lists, plain, strict=True):
        assert mine.confidences == pytest.approx({s | {6}: sure * p for s, p in theirs.confidences.items()}, rel=1e-9)
    assert np.allclose(model.predict_proba(X_test)[:, 5:].mean(axis=0), [0, 1], atol=0.01)


def test_a_chain_of_labels_that_never_vary_is_a_chain() -> None:
    X = np.arange(9.0)[:, None]
    model = ProbabilisticChain(GaussianNB()).fit(X, np.tile([0, 1], (9, 1)))
    assert np.array_equal(model.predict(X), np.tile([0, 1], (9, 1)))
    assert np.allclose(model.predict_toplist(X, 1).confidences, 0.95**2)


def test_the_random_order_is_that_of_the_seed() -> None:
    X, Y, X_test, _ = PROBLEM
    first, again, other = (ProbabilisticChain(random_state=seed).fit(X, Y) for seed in (1, 1, 2))
    assert first.predict_toplist(X_test) == again.predict_toplist(X_test)
    assert not np.array_equal(first.chain_.order_, other.chain_.order_)


def test_a_beam_that_is_wide_enough_finds_the_same() -> None:
    X, Y, X_test, _ = PROBLEM
    exact = ProbabilisticChain(order=None).fit(X, Y).predict_toplist(X_test)
    beam = ProbabilisticChain(order=None, search="beam", width=32).fit(X, Y).predict_toplist(X_test)
    assert np.allclose(exact.confidences, beam.confidences)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"order": "alphabetical"}, "the order of a chain is"),
        ({"order": [0, 1]}, "names each of 5 labels once"),
        ({"estimator": LinearSVC()}, "LinearSVC has no predict_proba"),
    ],
)
def test_what_cannot_be_meant_is_refused_when_it_is_fitted(options: dict, said: str) -> None:
    with pytest.raises(tl.TopListError, match=said):
        ProbabilisticChain(**options).fit(PROBLEM.X, PROBLEM.Y)
