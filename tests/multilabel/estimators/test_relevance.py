"""One classifier per label."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import KFold
from sklearn.naive_bayes import GaussianNB
from sklearn.svm import LinearSVC

import toplist as tl
from tests.multilabel.estimators.factories import clusters
from toplist.multilabel import BinaryRelevance, best_sets

PROBLEM = clusters()


def test_it_is_a_fit_per_label_to_the_last_bit() -> None:
    X, Y, X_test, _ = PROBLEM
    alone = [LogisticRegression(solver="liblinear").fit(X, y).predict_proba(X_test)[:, 1] for y in Y.T]
    model = BinaryRelevance().fit(X, Y)
    assert np.array_equal(model.predict_proba(X_test), np.stack(alone, axis=1))
    assert model.predict_toplist(X_test, 7) == best_sets(np.stack(alone, axis=1), 7)
    assert np.array_equal(model.predict(X_test), np.stack(alone, axis=1) > 0.5)


def test_a_label_that_never_varies_is_nearly_certain_and_not_quite() -> None:
    X, Y, X_test, _ = PROBLEM
    none, all_ = np.zeros((len(Y), 1), int), np.ones((len(Y), 1), int)
    p = BinaryRelevance().fit(X, np.hstack((Y, none, all_))).predict_proba(X_test)
    assert np.allclose(p[:, -2], 0.5 / (len(Y) + 1))
    assert np.allclose(p[:, -1], (len(Y) + 0.5) / (len(Y) + 1))


@pytest.mark.parametrize("calibration", ["isotonic", "beta"])
def test_calibrators_learn_from_folds_that_the_classifiers_have_not_seen(calibration: str) -> None:
    """The same by hand, with given folds."""
    from toplist.multilabel.estimators.labels import CALIBRATIONS

    X, Y, X_test, _ = PROBLEM
    held_out = np.empty(Y.shape)
    for train, test in KFold(3).split(X):
        for label in range(Y.shape[1]):
            held_out[test, label] = GaussianNB().fit(X[train], Y[train, label]).predict_proba(X[test])[:, 1]
    model = BinaryRelevance(GaussianNB(), calibration=calibration, cv=KFold(3)).fit(X, Y)
    for label in range(Y.shape[1]):
        said = GaussianNB().fit(X, Y[:, label]).predict_proba(X_test)[:, 1]
        expected = CALIBRATIONS[calibration](held_out[:, label], Y[:, label] > 0)(said)
        assert np.allclose(model.predict_proba(X_test)[:, label], expected)


@pytest.mark.parametrize("calibration", ["isotonic", "beta"])
def test_forests_that_say_zero_and_one_are_calibrated_to_something_in_between(calibration: str) -> None:
    X, Y, X_test, Y_test = PROBLEM
    forest = RandomForestClassifier(10, random_state=0)
    raw = BinaryRelevance(forest).fit(X, Y)
    model = BinaryRelevance(forest, calibration=calibration, random_state=0).fit(X, Y)
    p = model.predict_proba(X_test)
    assert raw.predict_proba(X_test).min() == 0
    assert 0 < p.min() <= p.max() < 1
    assert np.isfinite(tl.score(model.predict_toplist(X_test), Y_test, rule="log")).all()


def test_margins_are_enough_where_they_are_calibrated() -> None:
    X, Y, X_test, Y_test = PROBLEM
    svm = BinaryRelevance(LinearSVC(random_state=0), calibration="beta", random_state=0).fit(X, Y)
    plain = BinaryRelevance().fit(X, Y)
    scores = [tl.score(model.predict_toplist(X_test), Y_test).mean() for model in (svm, plain)]
    assert scores[0] < scores[1] + 0.05
    with pytest.raises(tl.TopListError, match="no predict_proba: calibrate its margins"):
        BinaryRelevance(LinearSVC()).fit(X, Y)


def test_labels_have_names_in_lists_and_in_what_it_transforms_to() -> None:
    pandas = pytest.importorskip("pandas")
    X, Y, X_test, _ = PROBLEM
    names = ["a", "b", "c", "d", "e"]
    model = BinaryRelevance().set_output(transform="pandas").fit(X, pandas.DataFrame(Y, columns=names))
    assert model.predict_toplist(X_test).space == tl.LabelSets(names)
    frame = model.transform(X_test)
    assert list(frame.columns) == names
    assert np.array_equal(frame.to_numpy(), model.predict_proba(X_test))


def test_without_the_empty_set_everything_is_given_that_there_is_a_label() -> None:
    X, Y, X_test, _ = PROBLEM
    some = Y.any(axis=1)
    model = BinaryRelevance(empty=False, k=31).fit(X[some], Y[some])
    lists = model.predict_toplist(X_test)
    assert lists.space.size == 31
    assert np.allclose(lists.rest, 0)
    sets = lists.space.sets_of(lists.classes).indicators().reshape(len(X_test), 31, 5)
    assert np.allclose(
        model.predict_proba(X_test), (sets * lists.confidences.reshape(-1, 31, 1)).sum(axis=1), atol=1e-12
    )
    with pytest.raises(tl.SpaceError, match="has no label; allow the empty set"):
        BinaryRelevance(empty=False).fit(X, np.zeros_like(Y))


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"calibration": "platt"}, "calibration is None, 'isotonic' or 'beta', not 'platt'"),
        ({"decision": "best"}, "the decision is one of mode, f1, hamming, not 'best'"),
        ({"k": 0}, "k is a whole number, at least 1"),
        ({"calibration": "beta", "cv": 1}, "two folds or more"),
        ({"calibration": "beta", "cv": [(np.arange(9), np.arange(9, 150))]}, "hold each case out once"),
        ({"estimator": LinearRegression()}, "neither predict_proba nor decision_function"),
    ],
)
def test_what_cannot_be_meant_is_refused_when_it_is_fitted(options: dict, said: str) -> None:
    with pytest.raises(tl.TopListError, match=said):
        BinaryRelevance(**options).fit(PROBLEM.X, PROBLEM.Y)
