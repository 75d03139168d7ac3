"""Scorers for scikit-learn are means of padded scores over all classes, wherever scikit-learn takes a scorer."""

from __future__ import annotations

import math
import pickle
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
import pytest
import sklearn
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.datasets import load_breast_cancer, load_digits, load_iris
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import brier_score_loss, log_loss
from sklearn.model_selection import (
    GridSearchCV,
    KFold,
    LeaveOneGroupOut,
    RandomizedSearchCV,
    cross_val_predict,
    cross_val_score,
    cross_validate,
)
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

import toplist as tl
from tests.postprocess.recalibrators import KINDS
from toplist.integrations.sklearn import PaddedScorer, padded_brier_scorer, padded_log_scorer, padded_scorer


class Told(ClassifierMixin, BaseEstimator):
    """A classifier that predicts what it is told: X are its probabilities."""

    def __init__(self, classes: Any = ()) -> None:
        self.classes = classes
        self.classes_ = np.asarray(classes)
        self.asked = 0

    def fit(self, X: Any, y: Any) -> Told:
        return self

    def predict_proba(self, X: Any) -> Any:
        self.asked += 1
        return X

    def predict(self, X: Any) -> Any:
        return self.classes_[np.argmax(X, axis=1)]


def padded(p: Any, k: int | None, m: int, column: int | None, rule: str) -> float:
    """The score of the k largest entries, what remains spread evenly over the other classes; written out."""
    order = sorted(range(len(p)), key=lambda j: -p[j])[: len(p) if k is None else k]
    rest = math.fsum(p[j] for j in range(len(p)) if j not in order)
    share = rest / (m - len(order)) if m > len(order) else 0.0
    q = [p[j] if j in order else share for j in range(len(p))] + [share] * (m - len(p))
    outcome = q[len(p) if column is None else column]
    if rule == "log":
        return -math.log(outcome) if outcome > 0 else math.inf
    return math.fsum(x * x for x in q) - 2 * outcome + 1


@st.composite
def problems(draw: Any) -> tuple[np.ndarray, list[Any], list[int | None], int | None, int]:
    """Probabilities over the classes of an estimator, outcomes (some of unseen classes), k and m."""
    seen, unseen, n = draw(st.integers(1, 6)), draw(st.integers(0, 3)), draw(st.integers(1, 8))
    weights = draw(st.lists(st.lists(st.integers(0, 9), min_size=seen, max_size=seen), min_size=n, max_size=n))
    p = np.array(weights, dtype=float) + 1e-3
    p /= p.sum(axis=1, keepdims=True)
    columns = draw(st.lists(st.integers(0, seen + unseen - 1), min_size=n, max_size=n))
    k = draw(st.none() | st.integers(0, 8))
    return p, [f"c{j}" for j in columns], [j if j < seen else None for j in columns], k, seen + unseen


@given(problems(), st.sampled_from(["brier", "log"]))
def test_a_scorer_is_minus_the_mean_padded_score(problem: Any, rule: str) -> None:
    p, y, columns, k, m = problem
    estimator = Told([f"c{j}" for j in range(p.shape[1])])
    found = padded_scorer(rule, k, classes=m)(estimator, p, y)
    expected = [padded(row, k, m, column, rule) for row, column in zip(p, columns, strict=True)]
    assert found == pytest.approx(-np.mean(expected), rel=1e-12, abs=1e-12)


@given(problems())
def test_labels_of_all_classes_do_what_their_number_does(problem: Any) -> None:
    p, y, _, k, m = problem
    estimator = Told([f"c{j}" for j in range(p.shape[1])])
    labels = [f"c{j}" for j in reversed(range(m))]
    assert padded_brier_scorer(k, classes=labels)(estimator, p, y) == padded_brier_scorer(k, classes=m)(estimator, p, y)


def test_the_full_distribution_is_scored_as_scikit_learn_does() -> None:
    for load in (load_iris, load_breast_cancer):
        X, y = load(return_X_y=True)
        model = GaussianNB().fit(X[::2], y[::2])
        p = model.predict_proba(X)
        brier = padded_brier_scorer(None)(model, X, y)
        assert brier == pytest.approx(-brier_score_loss(y, p, labels=model.classes_, scale_by_half=False), rel=1e-12)
        assert padded_log_scorer(None)(model, X, y) == pytest.approx(-log_loss(y, np.maximum(p, 1e-300)), rel=1e-9)
        assert padded_brier_scorer(100)(model, X, y) == brier


@pytest.mark.parametrize("rule", ["brier", "log", "spherical", "zero-one", tl.Power(1.5)], ids=str)
def test_it_is_the_mean_of_what_score_gives_for_the_same_lists(rule: Any) -> None:
    X, y = load_digits(return_X_y=True)
    model = KNeighborsClassifier(20).fit(X[:900], y[:900])
    lists = tl.TopLists.from_proba(model.predict_proba(X[900:]), k=3)
    assert padded_scorer(rule, 3)(model, X[900:], y[900:]) == -tl.score(lists, y[900:], rule=rule).mean()


def test_a_fold_that_lacks_classes_is_scored_over_all_classes() -> None:
    """Sorted by class and not shuffled, a fold has outcomes that the estimator has not seen."""
    X, y = load_digits(return_X_y=True)
    order = np.argsort(y, kind="stable")[::4]
    X, y = X[order], np.array([f"digit {one}" for one in y[order]])
    folds = KFold(7)
    found = cross_val_score(GaussianNB(var_smoothing=0.1), X, y, cv=folds, scoring=padded_brier_scorer(k=3))
    unseen = 0
    for score, (train, test) in zip(found, folds.split(X), strict=True):
        model = GaussianNB(var_smoothing=0.1).fit(X[train], y[train])
        place = {label: at for at, label in enumerate(model.classes_)}
        rows = zip(model.predict_proba(X[test]), y[test], strict=True)
        expected = np.mean([padded(p, 3, 10, place.get(label), "brier") for p, label in rows])
        assert score == pytest.approx(-expected, rel=1e-12)
        unseen += sum(label not in place for label in y[test])
    assert unseen > 100


def test_all_classes_are_those_of_training_and_of_scoring() -> None:
    p, y = np.array([[0.5, 0.3, 0.2]] * 2), ["a", "z"]
    scorer, estimator = padded_brier_scorer(2), Told(["a", "b", "c"])
    expected = (padded(p[0], 2, 4, 0, "brier") + padded(p[1], 2, 4, None, "brier")) / 2
    assert scorer(estimator, p, y) == pytest.approx(-expected)
    assert padded_brier_scorer(2, classes=4)(estimator, p, y) == scorer(estimator, p, y)
    assert padded_brier_scorer(2, classes=400)(estimator, p, y) != scorer(estimator, p, y)


def test_a_class_that_an_estimator_has_not_seen_has_no_mass_in_its_full_distribution() -> None:
    p, y, estimator = np.array([[0.4, 0.6]] * 2), ["a", "z"], Told(["a", "b"])
    assert padded_log_scorer(None)(estimator, p, y) == -math.inf
    assert padded_log_scorer(1)(estimator, p, y) == pytest.approx(math.log(0.2), rel=1e-12)  # 0.4 over two classes


def test_an_estimator_of_one_class_is_scored() -> None:
    assert padded_brier_scorer(classes=2)(Told(["a"]), np.ones((2, 1)), ["a", "b"]) == -1.0


@pytest.mark.parametrize(
    "wrapped",
    [
        list,
        np.array,
        lambda y: np.array(y, dtype=object),
        pd.Series,
        lambda y: pd.Series(y, dtype="category"),
        lambda y: pd.Series(y, index=range(5, 5 + len(y))),
    ],
    ids=["list", "text", "objects", "series", "categories", "indexed"],
)
def test_labels_may_come_in_any_form(wrapped: Any) -> None:
    p, y = np.array([[0.7, 0.2, 0.1], [0.1, 0.1, 0.8]]), ["cat", "owl"]
    expected = -(padded(p[0], 1, 3, 0, "brier") + padded(p[1], 1, 3, 2, "brier")) / 2
    assert padded_brier_scorer(1)(Told(["cat", "dog", "owl"]), p, wrapped(y)) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("labels", [[1, 2, 3], [-1, 0, 7], [0.5, 1.5, 2.5]], ids=str)
def test_labels_that_are_numbers_are_labels_and_no_codes(labels: list[float]) -> None:
    p = np.array([[0.7, 0.2, 0.1]] * 3)
    expected = -np.mean([padded(p[0], 2, 3, column, "log") for column in range(3)])
    for classes in (None, 3, labels):
        found = padded_log_scorer(2, classes=classes)(Told(labels), p, labels)
        assert found == pytest.approx(expected, rel=1e-12)


def test_the_classes_of_an_estimator_need_not_be_sorted() -> None:
    p, y = np.array([[0.7, 0.2, 0.1]] * 2), ["b", "c"]
    expected = -(padded(p[0], 1, 3, 2, "brier") + padded(p[0], 1, 3, 0, "brier")) / 2
    assert padded_brier_scorer(1)(Told(["c", "a", "b"]), p, y) == pytest.approx(expected, rel=1e-12)


def test_distributions_are_made_wider_in_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = load_iris(return_X_y=True)
    model, scorer = GaussianNB().fit(X, y), padded_brier_scorer(2, classes=1000)
    at_once = scorer(model, X, y)
    monkeypatch.setattr("toplist.integrations.sklearn._ENTRIES", 7000)
    assert scorer(model, X, y) == at_once


# Where scikit-learn takes a scorer


def best_by_hand(X: Any, y: Any, parameters: list[int], k: int) -> int:
    """The number of neighbours with the smallest mean over five folds."""
    means = []
    for n in parameters:
        p = cross_val_predict(KNeighborsClassifier(n), X, y, cv=KFold(5), method="predict_proba")
        scores = tl.score(tl.TopLists.from_proba(p, k=k), y)
        means.append(np.mean([scores[test].mean() for _, test in KFold(5).split(X)]))
    return parameters[int(np.argmin(means))]


def test_searches_choose_the_parameters_with_the_smallest_score() -> None:
    X, y = load_digits(return_X_y=True)
    X, y, sizes = X[:600], y[:600], [1, 4, 9, 30]
    best = best_by_hand(X, y, sizes, 3)
    grid = {"n_neighbors": sizes}
    search = GridSearchCV(KNeighborsClassifier(), grid, cv=KFold(5), scoring=padded_brier_scorer(k=3)).fit(X, y)
    drawn = RandomizedSearchCV(
        KNeighborsClassifier(), grid, n_iter=4, cv=KFold(5), scoring=padded_brier_scorer(k=3), random_state=0
    ).fit(X, y)
    assert search.best_params_["n_neighbors"] == drawn.best_params_["n_neighbors"] == best
    assert search.best_score_ == drawn.best_score_ < 0


def test_several_scorers_share_one_prediction() -> None:
    p, y = np.array([[0.7, 0.2, 0.1], [0.1, 0.1, 0.8]]), ["a", "c"]
    scoring = {"brier": padded_brier_scorer(2), "log": padded_log_scorer(2), "accuracy": "accuracy"}
    estimator = Told(["a", "b", "c"])
    found = sklearn.metrics.check_scoring(estimator, scoring)(estimator, p, y)
    assert estimator.asked == 1
    assert found == {
        "brier": padded_brier_scorer(2)(estimator, p, y),
        "log": padded_log_scorer(2)(estimator, p, y),
        "accuracy": 1.0,
    }


@pytest.mark.parametrize("load", [load_iris, load_breast_cancer])
def test_cross_validate_takes_several_scorers_for_two_and_more_classes(load: Any) -> None:
    X, y = load(return_X_y=True)
    model = make_pipeline(StandardScaler(), LogisticRegression(max_iter=200))
    scoring = {"brier": padded_brier_scorer(), "top 1": padded_brier_scorer(1), "loss": "neg_log_loss"}
    found = cross_validate(model, X, y, scoring=scoring, cv=3)
    for name in ("brier", "top 1"):
        alone = cross_val_score(model, X, y, scoring=scoring[name], cv=3)
        assert found[f"test_{name}"].tolist() == alone.tolist()


def test_other_processes_give_the_same_scores() -> None:
    X, y = load_iris(return_X_y=True)
    scorer = padded_scorer(tl.Power(1.5), 2, classes=np.arange(3))
    alone = cross_val_score(GaussianNB(), X, y, scoring=scorer, cv=4)
    assert cross_val_score(GaussianNB(), X, y, scoring=scorer, cv=4, n_jobs=2).tolist() == alone.tolist()
    assert pickle.loads(pickle.dumps(scorer))(GaussianNB().fit(X, y), X, y) < 0  # noqa: S301


def test_a_scorer_has_parameters_that_are_cloned_and_set() -> None:
    scorer = padded_brier_scorer(3, classes=["a", "b"])
    assert scorer.get_params() == {"rule": "brier", "k": 3, "classes": ["a", "b"]}
    assert clone(scorer).get_params() == scorer.get_params()
    search = clone(GridSearchCV(GaussianNB(), {}, scoring=scorer)).set_params(scoring__k=None)
    assert (search.scoring.k, scorer.k) == (None, 3)
    assert repr(scorer) == "PaddedScorer(classes=['a', 'b'], k=3)"


def test_a_scoring_monitor_logs_the_score_of_each_iteration() -> None:
    callback = pytest.importorskip("sklearn.callback", reason="needs scikit-learn 1.9")
    X, y = load_iris(return_X_y=True)
    monitor = callback.ScoringMonitor(scoring=padded_brier_scorer(k=2))
    model = LogisticRegression(max_iter=200).set_callbacks(monitor).fit(X, y)
    logged = [row["score"] for row in monitor.get_logs().data if "score" in row]
    assert len(logged) > 5
    assert logged[-1] == pytest.approx(padded_brier_scorer(k=2)(model, X, y), rel=1e-6)
    assert logged[1] < logged[-1]  # the first is that of the whole fit


# Weights


@given(problems(), st.data())
def test_whole_weights_are_repetitions(problem: Any, data: Any) -> None:
    p, y, _, k, m = problem
    estimator, scorer = Told([f"c{j}" for j in range(p.shape[1])]), padded_brier_scorer(k, classes=m)
    weight = data.draw(st.lists(st.integers(0, 3), min_size=len(y), max_size=len(y)).filter(any))
    repeated = scorer(estimator, np.repeat(p, weight, axis=0), np.repeat(y, weight))
    assert scorer(estimator, p, y, sample_weight=weight) == pytest.approx(repeated, rel=1e-12, abs=1e-12)


def test_a_case_without_weight_may_have_an_infinite_score() -> None:
    p, y, estimator = np.array([[1.0, 0.0], [1.0, 0.0]]), [0, 1], Told([0, 1])
    assert padded_log_scorer()(estimator, p, y) == -math.inf
    assert padded_log_scorer()(estimator, p, y, sample_weight=[1, 0]) == 0.0


@pytest.fixture
def routing() -> Iterator[None]:
    with sklearn.config_context(enable_metadata_routing=True):
        yield


@pytest.mark.usefixtures("routing")
def test_weights_are_routed_to_the_scorer_that_asks_for_them() -> None:
    X, y = load_digits(return_X_y=True)
    X, y = X[:300], y[:300]
    weight = np.random.default_rng(0).integers(0, 3, len(y)).astype(float)
    asks = padded_brier_scorer(3).set_score_request(sample_weight=True)
    model = GaussianNB(var_smoothing=0.1).set_fit_request(sample_weight=False)
    found = cross_val_score(model, X, y, scoring=asks, cv=KFold(3), params={"sample_weight": weight})
    plain = cross_val_score(model, X, y, scoring=padded_brier_scorer(3), cv=KFold(3))
    for score, (train, test) in zip(found, KFold(3).split(X), strict=True):
        fitted = clone(model).fit(X[train], y[train])
        scores = tl.score(tl.TopLists.from_proba(fitted.predict_proba(X[test]), k=3), y[test])
        assert score == pytest.approx(-np.average(scores, weights=weight[test]), rel=1e-12)
    assert found.tolist() != plain.tolist()
    search = GridSearchCV(model, {"var_smoothing": [0.1]}, scoring=asks, cv=KFold(3)).fit(X, y, sample_weight=weight)
    assert search.best_score_ == pytest.approx(found.mean(), rel=1e-12)
    several = {"asks": asks, "not": padded_brier_scorer(3).set_score_request(sample_weight=False)}
    both = cross_validate(model, X, y, scoring=several, cv=KFold(3), params={"sample_weight": weight})
    assert both["test_asks"].tolist() == found.tolist()
    assert both["test_not"].tolist() == plain.tolist()


@pytest.mark.usefixtures("routing")
def test_what_is_routed_to_nobody_is_refused_by_scikit_learn() -> None:
    X, y = load_iris(return_X_y=True)
    with pytest.raises(sklearn.exceptions.UnsetMetadataPassedError, match="sample_weight"):
        cross_val_score(GaussianNB(), X, y, scoring=padded_brier_scorer(), params={"sample_weight": np.ones(len(y))})


def test_clones_keep_what_is_routed() -> None:
    with sklearn.config_context(enable_metadata_routing=True):
        scorer = clone(padded_brier_scorer().set_score_request(sample_weight="w"))
        assert scorer.get_metadata_routing().score.requests == {"sample_weight": "w"}


# What is refused


@pytest.mark.parametrize("several", [False, True])
def test_an_estimator_without_probabilities_is_refused_with_the_remedy(several: bool) -> None:
    X, y = load_iris(return_X_y=True)
    scorer = padded_brier_scorer()
    scoring = {"brier": scorer, "accuracy": "accuracy"} if several else scorer
    with pytest.raises(tl.TopListError, match=r"LinearSVC has no predict_proba, only decision_function.*Calibrated"):
        sklearn.metrics.check_scoring(LinearSVC(), scoring)(LinearSVC().fit(X, y), X, y)


def test_several_outputs_are_refused() -> None:
    X, y = load_iris(return_X_y=True)
    model = DecisionTreeClassifier().fit(X, np.column_stack([y, y]))
    with pytest.raises(tl.TopListError, match="several outputs"):
        padded_brier_scorer()(model, X, y)


def test_outcomes_that_are_spelled_in_another_way_are_refused() -> None:
    """They would all be classes that the estimator has not seen."""
    p, estimator = np.array([[0.5, 0.5]] * 2), Told(["cat", "dog"])
    with pytest.raises(tl.OutcomeError, match=r"'Cat', is a class of the estimator.*classes=\[\.\.\.\]"):
        padded_brier_scorer()(estimator, p, ["Cat", "Dog"])
    assert padded_brier_scorer(classes=["cat", "dog", "Cat", "Dog"])(estimator, p, ["Cat", "Dog"]) == -1.5


def test_a_class_left_out_of_training_is_scored_where_classes_are_declared() -> None:
    X, y = load_iris(return_X_y=True)
    scorer = padded_brier_scorer(k=1, classes=3)
    found = cross_val_score(GaussianNB(), X, y, groups=y, cv=LeaveOneGroupOut(), scoring=scorer)
    assert (found < -1).all()


@pytest.mark.parametrize(
    ("y", "said"),
    [
        ([0, 1], "numbers and text are mixed"),
        (["cat", 1], "numbers and text are mixed"),
        (["cat", None], r"case 1: the outcome is None"),
        (["cat", math.nan], r"case 1: the outcome is nan"),
        (["cat", pd.NA], r"case 1: the outcome is <NA>"),
        ([["cat"], ["dog"]], "one class per case"),
        (["cat"], r"shape \(2, 2\), not \(1, 2\)"),
    ],
)
def test_outcomes_that_are_none_are_refused(y: Any, said: str) -> None:
    with pytest.raises(tl.TopListError, match=said):
        padded_brier_scorer()(Told(["cat", "dog"]), np.array([[0.5, 0.5]] * 2), y)


@pytest.mark.parametrize(
    ("classes", "said"),
    [
        (2, "classes=2, but the estimator and the outcomes have 3 classes"),
        (["cat", "dog"], "not among the 2 classes that were given: of the outcomes 'owl'"),
        (["cat", "owl"], "not among the 2 classes that were given: of the estimator 'dog'"),
        ([1, 2, 3], "numbers and text are mixed"),
    ],
)
def test_classes_that_leave_out_some_are_refused(classes: Any, said: str) -> None:
    with pytest.raises(tl.TopListError, match=said):
        padded_brier_scorer(classes=classes)(Told(["cat", "dog"]), np.array([[0.5, 0.5]] * 2), ["cat", "owl"])


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"rule": "bier"}, "brier"),
        ({"k": -1}, "k is a number of classes"),
        ({"k": "all"}, "k is a number of classes"),
        ({"classes": 0}, "0 is not a number of classes"),
        ({"classes": []}, "classes are a number, or one label per class"),
        ({"classes": ["a", "a"]}, "twice"),
    ],
)
def test_arguments_that_make_no_sense_are_refused_at_once(arguments: dict[str, Any], said: str) -> None:
    with pytest.raises(tl.TopListError, match=said):
        padded_scorer(**arguments)


def test_probabilities_that_are_none_are_refused_as_everywhere() -> None:
    with pytest.raises(tl.TopListError, match="case 0"):
        padded_brier_scorer()(Told([0, 1, 2]), np.array([[0.5, math.nan, 0.5]]), [0])
    with pytest.raises(tl.ShapeError, match="no cases"):
        padded_brier_scorer()(Told([0, 1]), np.zeros((0, 2)), [])


# Recalibrators on predict_proba


@pytest.mark.parametrize("kind", KINDS.values(), ids=list(KINDS))
@pytest.mark.parametrize(
    "labels", [np.arange(3), np.array(["setosa", "versicolor", "virginica"])], ids=["codes", "text"]
)
def test_recalibrators_take_arrays_of_predict_proba(kind: Any, labels: np.ndarray) -> None:
    X, y = load_iris(return_X_y=True)
    model = GaussianNB().fit(X[::3], labels[y][::3])
    p, held = model.predict_proba(X[1::3]), model.predict_proba(X[2::3])
    better = kind.clone().fit(p, labels[y][1::3], space=model.classes_)
    q = better.transform(held, space=model.classes_).padded()
    assert q.shape == held.shape
    assert q.sum(axis=1) == pytest.approx(np.ones(len(q)))
    lists = tl.TopLists.from_proba(p, model.classes_)
    same = kind.clone().fit(lists, labels[y][1::3]).transform(tl.TopLists.from_proba(held, model.classes_))
    assert q.tolist() == same.padded().tolist()


def test_a_scorer_is_what_scikit_learn_takes_for_one() -> None:
    assert isinstance(padded_brier_scorer(), PaddedScorer)
    assert sklearn.metrics.get_scorer(scorer := padded_log_scorer()) is scorer
