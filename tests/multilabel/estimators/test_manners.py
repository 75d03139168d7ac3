"""What all of them do as scikit-learn's own estimators do, and what they say where they cannot."""

from __future__ import annotations

import pickle
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score, hamming_loss
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import toplist as tl
from tests.multilabel.estimators.factories import clusters
from toplist.multilabel import BinaryRelevance, LabelPowerset, ProbabilisticChain, Reranker

PROBLEM = clusters()
ALL = [
    BinaryRelevance(),
    BinaryRelevance(calibration="beta", random_state=0),
    LabelPowerset(),
    ProbabilisticChain(random_state=0),
    Reranker(cv=3, candidates=8, random_state=0),
]
each = pytest.mark.parametrize("model", ALL, ids=repr)


def lists_of(pipe: Any, X: Any) -> tl.TopLists:
    """The lists of the last step of a pipeline, whose methods are those that scikit-learn knows."""
    return pipe[-1].predict_toplist(pipe[:-1].transform(X))


def padded_brier(pipe: Any, X: Any, Y: Any) -> float:
    """A scorer: the higher the better."""
    return -float(tl.score(lists_of(pipe, X), Y).mean())


@each
def test_lists_are_valid_and_over_the_label_sets(model: Any) -> None:
    lists = clone(model).fit(PROBLEM.X, PROBLEM.Y).predict_toplist(PROBLEM.X_test)
    assert lists.space == tl.LabelSets(range(5))
    assert lists.is_valid().all()
    assert lists.sizes.max() <= 10
    assert len(lists) == len(PROBLEM.X_test)


@each
def test_the_form_of_the_data_does_not_matter(model: Any) -> None:
    pandas = pytest.importorskip("pandas")
    X, Y, X_test, _ = PROBLEM
    dense = clone(model).fit(X, Y)
    named = clone(model).fit(pandas.DataFrame(X, columns=list("pqrs")), pandas.DataFrame(Y, columns=list("abcde")))
    thin = clone(model).fit(sparse.csr_matrix(X), sparse.csr_array(Y))
    assert list(named.feature_names_in_) == list("pqrs")
    assert named.predict_toplist(pandas.DataFrame(X_test, columns=list("pqrs"))).space == tl.LabelSets("abcde")
    assert named.n_features_in_ == dense.n_features_in_ == 4
    assert np.array_equal(dense.classes_, np.arange(5))
    assert sparse.issparse(thin.predict(X_test))
    assert np.allclose(thin.predict_proba(sparse.csr_array(X_test)), dense.predict_proba(X_test), atol=1e-3)
    assert np.array_equal(
        named.predict(pandas.DataFrame(X_test, columns=list("pqrs"))), clone(model).fit(X, Y > 0).predict(X_test)
    )


@each
def test_one_label_may_come_as_a_vector_of_two_values(model: Any) -> None:
    X, Y, X_test, _ = PROBLEM
    words = np.where(Y[:, 0] > 0, "yes", "no")
    vector, column = clone(model).fit(X, words), clone(model).fit(X, Y[:, :1])
    assert set(vector.predict(X_test)) <= {"yes", "no"}
    assert np.array_equal(vector.predict(X_test) == "yes", column.predict(X_test)[:, 0] == 1)
    assert np.allclose(vector.predict_proba(X_test)[:, 1], column.predict_proba(X_test)[:, 0])
    assert vector.predict_toplist(X_test).space == tl.LabelSets(["yes"])


@each
def test_a_copy_in_another_process_says_the_same(model: Any) -> None:
    X, Y, X_test, _ = PROBLEM
    fitted = clone(model).fit(X, Y)
    assert pickle.loads(pickle.dumps(fitted)).predict_toplist(X_test) == fitted.predict_toplist(X_test)  # noqa: S301


@each
def test_the_score_is_set_accuracy(model: Any) -> None:
    X, Y, X_test, Y_test = PROBLEM
    fitted = clone(model).fit(X, Y)
    assert fitted.score(X_test, Y_test) == np.mean((fitted.predict(X_test) == Y_test).all(axis=1))


@each
def test_decisions_are_good_at_what_they_are_for(model: Any) -> None:
    X, Y, X_test, Y_test = clusters(150, 1000)
    fitted = clone(model).fit(X, Y)
    said = {name: fitted.set_params(decision=name).predict(X_test) for name in ("mode", "f1", "hamming")}
    accuracy = {name: (p == Y_test).all(axis=1).mean() for name, p in said.items()}
    f1 = {name: f1_score(Y_test, p, average="samples", zero_division=1) for name, p in said.items()}
    wrong = {name: hamming_loss(Y_test, p) for name, p in said.items()}
    assert accuracy["mode"] >= max(accuracy.values()) - 0.02
    assert f1["f1"] >= max(f1.values()) - 0.02
    assert wrong["hamming"] <= min(wrong.values()) + 0.02
    assert np.array_equal(said["hamming"], fitted.predict_proba(X_test) > 0.5)


def test_a_grid_search_picks_what_has_the_best_padded_brier_score() -> None:
    X, Y, _, _ = PROBLEM
    pipe = make_pipeline(StandardScaler(), ProbabilisticChain(random_state=0))
    grid = {"probabilisticchain__order": [None, "random"], "probabilisticchain__k": [1, 10]}
    search = GridSearchCV(pipe, grid, scoring=padded_brier, cv=3).fit(X, Y)
    assert search.best_params_["probabilisticchain__k"] == 10
    assert search.best_score_ == max(search.cv_results_["mean_test_score"])


def test_nested_parameters_reach_the_classifier_of_a_label() -> None:
    model = BinaryRelevance(LogisticRegression(solver="liblinear")).set_params(estimator__C=0.01)
    assert all(one.C == 0.01 for one in model.fit(PROBLEM.X, PROBLEM.Y).estimators_)


@each
def test_scorers_of_scikit_learn_take_its_marginals(model: Any) -> None:
    for scoring in ("roc_auc", "average_precision", "f1_samples", "accuracy"):
        assert np.isfinite(cross_val_score(clone(model), PROBLEM.X, PROBLEM.Y, scoring=scoring, cv=2)).all()


def test_marginals_feed_a_second_model_in_a_pipeline() -> None:
    X, Y, X_test, Y_test = PROBLEM
    stacked = make_pipeline(BinaryRelevance(), LabelPowerset()).fit(X, Y)
    assert tl.score(lists_of(stacked, X_test), Y_test).mean() < 0.9


@pytest.mark.parametrize(
    ("y", "said"),
    [
        (np.arange(150) % 3, "Only binary classification is supported. The type of the target is multiclass"),
        (np.tile([0, 2], (150, 1)), "an indicator matrix holds a one"),
        (np.tile([[0.5, 1.0]], (150, 1)), "Only binary classification is supported|Unknown label type"),
        (np.tile([["a", "b"]], (150, 1)), "Only binary classification is supported"),
        (np.zeros((150, 0)), "0 feature|no columns"),
        (np.ones(150), "one class"),
    ],
)
def test_targets_that_are_no_labels_are_refused(y: Any, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        BinaryRelevance().fit(PROBLEM.X, y)


def test_without_scikit_learn_one_sentence_says_what_to_install() -> None:
    code = (
        "import sys; sys.modules['sklearn'] = None\n"
        "try:\n    import toplist.multilabel.estimators\n"
        "except ValueError as error:\n    print(type(error).__name__, error)"
    )
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert said.strip() == (
        "TopListError the multi-label estimators need scikit-learn 1.7 or later: pip install 'toplist[sklearn]'."
    )
