"""One classifier of whole label sets."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC

import toplist as tl
from tests.multilabel.estimators.factories import clusters
from toplist.multilabel import LabelPowerset

PROBLEM = clusters()
SETS = Counter(map(tuple, PROBLEM.Y.tolist()))


def test_seen_sets_have_the_softmax_and_the_rest_is_for_those_that_were_not_seen() -> None:
    X, Y, X_test, _ = PROBLEM
    names = ["".join(map(str, row)) for row in Y]
    alone = LogisticRegression(max_iter=1000).fit(X, names)
    lists = LabelPowerset(unseen=0.2, k=2).fit(X, Y).predict_toplist(X_test)
    for one, p in zip(lists, alone.predict_proba(X_test), strict=True):
        best = np.argsort(-p)[:2]
        listed = {"".join(str(int(label in s)) for label in range(5)): t for s, t in one.confidences.items()}
        assert listed == pytest.approx(dict(zip(alone.classes_[best], 0.8 * p[best], strict=True)), rel=1e-6)
        assert one.rest == pytest.approx(1 - 0.8 * p[best].sum(), rel=1e-6)


def test_good_turing_is_how_often_a_set_is_new_when_one_case_is_left_out() -> None:
    new = sum(SETS[tuple(row)] == 1 for row in PROBLEM.Y.tolist())
    model = LabelPowerset().fit(PROBLEM.X, PROBLEM.Y)
    assert 0 < new < len(PROBLEM.Y)
    assert model.unseen_ == pytest.approx((new + 0.5) / (len(PROBLEM.Y) + 1))


def test_nothing_is_unseen_where_every_set_was_seen() -> None:
    X = np.arange(8.0)[:, None]
    lists = LabelPowerset().fit(X, [[0, 0], [0, 1], [1, 0], [1, 1]] * 2).predict_toplist(X)
    assert np.array_equal(lists.sizes, np.full(8, 4))
    assert np.allclose(lists.rest, 0)


def test_where_all_cases_have_one_set_it_is_all_that_is_listed() -> None:
    X = np.arange(8.0)[:, None]
    model = LabelPowerset().fit(X, np.tile([0, 1, 1], (8, 1)))
    assert np.array_equal(model.predict(X), np.tile([0, 1, 1], (8, 1)))
    assert np.allclose(model.predict_toplist(X).confidences, 1 - 0.5 / 9)


def test_more_unseen_than_the_seen_sets_allow_leaves_the_largest_valid_sublist() -> None:
    X, Y, X_test, _ = PROBLEM
    lists = LabelPowerset(unseen=0.95).fit(X, Y).predict_toplist(X_test)
    assert lists.is_valid().all()
    assert lists.sizes.min() < 10


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"unseen": 1.0}, "unseen is between"),
        ({"unseen": "much"}, 'unseen is a number or "good-turing"'),
        ({"estimator": LinearSVC()}, "LinearSVC has no predict_proba"),
    ],
)
def test_what_cannot_be_meant_is_refused_when_it_is_fitted(options: dict, said: str) -> None:
    with pytest.raises(tl.TopListError, match=said):
        LabelPowerset(**options).fit(PROBLEM.X, PROBLEM.Y)
