"""What careful users run into."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.model_selection import cross_val_predict
from sklearn.tree import DecisionTreeClassifier

import toplist as tl
from tests.multilabel.estimators.factories import clusters
from toplist.multilabel import BinaryRelevance, LabelPowerset, ProbabilisticChain, Reranker


@pytest.mark.parametrize("model", [BinaryRelevance(), LabelPowerset(), ProbabilisticChain(random_state=0)], ids=repr)
def test_probabilities_can_be_predicted_out_of_fold(model: Any) -> None:
    X, Y, *_ = clusters(60)
    p = cross_val_predict(model, X, Y, cv=3, method="predict_proba")
    assert p.shape == Y.shape
    assert ((p >= 0) & (p <= 1)).all()


class Never(ClassifierMixin, BaseEstimator):
    """Says that no label is there."""

    def fit(self, X: Any, y: Any) -> Any:
        self.classes_ = np.array([0, 1])
        return self

    def predict_proba(self, X: Any) -> Any:
        return np.tile([1.0, 0.0], (len(X), 1))


@pytest.mark.parametrize("decision", ["mode", "hamming"])
def test_labels_that_are_all_impossible_leave_nothing_where_the_empty_set_is_excluded(decision: str) -> None:
    X, Y, *_ = clusters(20)
    Y = Y | (Y.sum(axis=1, keepdims=True) == 0)
    model = BinaryRelevance(Never(), empty=False, decision=decision).fit(X, Y)
    with pytest.raises(tl.ConfidenceError, match="every label has probability zero"):
        model.predict(X)


def test_one_unseen_set_does_not_get_nearly_everything() -> None:
    """Every training case has another set, and only one of eight is missing: its share is at most an eighth."""
    Y = np.array([[i >> j & 1 for j in range(3)] for i in range(7)])
    model = LabelPowerset().fit(np.eye(7) * 10, Y)
    assert model.unseen_ == pytest.approx(1 / 8)
    assert (model.predict_toplist(np.eye(7) * 10).sizes > 0).all()
    every = LabelPowerset(unseen=0.3).fit(np.eye(8), np.array([[i >> j & 1 for j in range(3)] for i in range(8)]))
    assert every.unseen_ == 0


def test_a_booster_of_ones_own_is_cross_fitted_as_well() -> None:
    """A tree that knows every training row by heart does not think that it never misses."""
    X, Y, *_ = clusters(150)
    model = Reranker(booster=DecisionTreeClassifier(random_state=0), candidates=2, support=False, cv=3, random_state=0)
    model.fit(X, Y)
    assert len(model.boosters_) == 3
    assert model.missed_ > 0.05
    assert model.predict_toplist(X).is_valid().all()


def test_a_frequent_set_is_never_held_to_be_less_likely_for_it() -> None:
    """All else equal, the probability may only rise with the prior."""
    from toplist.multilabel.estimators.reranker import SUMMARIES, mean_probability

    X, Y, *_ = clusters(200)
    model = Reranker(cv=3, random_state=0).fit(X, Y)
    p = model._labels(X[:20])
    _, rows = model.fold_model_.rows(p, model.training_sets_)
    more = rows.copy()
    more[:, SUMMARIES.index("log prior")] += 1.0
    assert (mean_probability(model.boosters_, more) >= mean_probability(model.boosters_, rows) - 1e-12).all()
