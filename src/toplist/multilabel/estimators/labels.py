"""Binary relevance: a classifier per label, and calibration of their scores, also out of fold."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import expit
from sklearn.base import TransformerMixin
from sklearn.isotonic import IsotonicRegression
from sklearn.model_selection import KFold, check_cv
from sklearn.utils.validation import _check_feature_names_in, check_is_fitted

from toplist._typing import Bools, Floats, Ints
from toplist.errors import TopListError
from toplist.lists import TopLists
from toplist.multilabel.estimators.base import (
    Constant,
    SetClassifier,
    Targets,
    fit_labels,
    require_scores,
    score_labels,
)
from toplist.multilabel.sets import best_sets, only_empty

Calibrator = Callable[[Floats], Floats]


def fit_isotonic(score: Floats, y: Bools) -> Calibrator:
    """The isotonic regression of outcomes on scores, with a case of one half at either end of these.

    The plain regression is 0 below the first success and 1 above the last failure, after however few cases, and
    one wrong 0 makes a log score infinite. A case that is half a success and half a failure turns the lowest
    block, of n cases and s successes, into (s + 1/2) / (n + 1), the rule of Krichevsky and Trofimov, and so the
    highest; where that passes a block in between, the two become one, so that the function still rises.
    """
    model = IsotonicRegression(out_of_bounds="clip")
    model.fit(np.concatenate((score, [score.min(), score.max()])), np.concatenate((y, [0.5, 0.5])))
    predict: Calibrator = model.predict
    return predict


@dataclass(frozen=True, slots=True)
class BetaCalibrator:
    """1 / (1 + exp(-(c + a log p - b log(1 - p)))), with slopes a, b >= 0; p is taken between `low` and 1 - `low`."""

    a: float
    b: float
    c: float
    low: float

    def __call__(self, p: Floats) -> Floats:
        """The calibrated probabilities."""
        calibrated: Floats = expit(_beta_features(p, self.low) @ np.array([self.a, self.b, self.c]))
        return calibrated


def _beta_features(p: Floats, low: float) -> Floats:
    inside = np.clip(p, low, 1 - low)
    return np.stack((np.log(inside), -np.log1p(-inside), np.ones(len(p))), axis=1)


def fit_beta(p: Floats, y: Bools) -> BetaCalibrator:
    """Beta calibration (Kull, Silva Filho and Flach 2017): the slopes and the intercept of least log loss.

    Outcomes are softened as in Platt's calibration, to (s + 1) / (s + 2) for s successes and 1 / (f + 2) for f
    failures, so that the best slopes are finite where scores tell the two apart without a mistake. A score nearer to 0
    or 1 than half a case among all is taken as that far, so that a score of exactly 0 has a logarithm.
    """
    hits, low = int(y.sum()), 0.5 / (len(y) + 1)
    target = np.where(y, (hits + 1) / (hits + 2), 1 / (len(y) - hits + 2))
    features = _beta_features(p, low)

    def loss(weights: Floats) -> tuple[float, Floats]:
        score = features @ weights
        value = float(np.mean(np.logaddexp(0, score) - target * score))
        return value, features.T @ (expit(score) - target) / len(y)

    bounds = [(0, None), (0, None), (None, None)]
    options = {"ftol": 1e-15, "gtol": 1e-10, "maxiter": 1000}
    fitted = minimize(loss, np.array([1.0, 1.0, 0.0]), jac=True, method="L-BFGS-B", bounds=bounds, options=options)
    a, b, c = fitted.x.tolist()
    return BetaCalibrator(a, b, c, low)


CALIBRATIONS: Mapping[str, Callable[[Floats, Bools], Calibrator]] = {"isotonic": fit_isotonic, "beta": fit_beta}


def require_calibration(kind: Any) -> None:
    """Raise if there is no such calibration."""
    if kind is not None and kind not in CALIBRATIONS:
        raise TopListError(f"calibration is None, {' or '.join(map(repr, CALIBRATIONS))}, not {kind!r}.")


def fit_calibrators(kind: str | None, scores: NDArray[Any], Y: Bools) -> list[Calibrator] | None:
    """A calibrator per label; None where scores are taken as they are."""
    if kind is None:
        return None
    fit = CALIBRATIONS[kind]
    return [
        fit(score, y) if y.any() and not y.all() else Constant.of(y)
        for score, y in zip(scores.T, Y.T, strict=True)
    ]  # fmt: skip


def calibrate(calibrators: Sequence[Calibrator] | None, scores: Floats) -> Floats:
    """The calibrated probability of each label."""
    if calibrators is None:
        return scores
    return np.stack([one(score) for one, score in zip(calibrators, scores.T, strict=True)], axis=1)


def assign_folds(cv: Any, X: Any, Y: Bools, rng: np.random.RandomState) -> Ints:
    """The fold of each case: `cv` shuffled ones, or those of a splitter that puts each case into one test part."""
    cases = len(Y)
    if cases < 2:
        raise TopListError(f"cross-fitting holds some cases out and fits to the others; n_samples={cases}.")
    if isinstance(cv, int | np.integer) and not isinstance(cv, bool):
        if cv < 2:
            raise TopListError(f"cross-fitting takes two folds or more, not cv={cv}.")
        cv = KFold(min(int(cv), cases), shuffle=True, random_state=rng)
    fold, times = np.zeros(cases, np.int64), np.zeros(cases, np.int64)
    for number, (_, held_out) in enumerate(check_cv(cv).split(X, Y)):
        fold[held_out] = number
        times[held_out] += 1
    if (times != 1).any():
        raise TopListError("cv must hold each case out once; this splitter does not. Take a number of folds, or KFold.")
    return fold


def out_of_fold(
    estimator: Any, X: Any, Y: Bools, fold: Ints, *, rng: np.random.RandomState | None, n_jobs: int | None
) -> Floats:
    """The scores of each case by classifiers that were fitted to the other folds."""
    out = np.empty(Y.shape)
    for held_out in range(int(fold.max()) + 1):
        there = fold == held_out
        models = fit_labels(estimator, X[~there], Y[~there], rng=rng, n_jobs=n_jobs)
        out[there] = score_labels(models, X[there], n_jobs=n_jobs)
    return out


def out_of_two_folds(
    estimator: Any, X: Any, Y: Bools, fold: Ints, *, rng: np.random.RandomState | None, n_jobs: int | None
) -> list[Floats]:
    """For each fold, scores of the other cases by classifiers that were fitted neither to it nor to a case's own fold.

    A calibrator for a fold that is fitted to these does not depend on the fold's labels, not even through the
    classifiers. Rows of the fold itself are NaN.
    """
    folds = int(fold.max()) + 1
    if folds < 3:
        raise TopListError(
            "calibrated candidates need three folds or more: one to predict, one to calibrate, one to fit."
        )
    out = [np.full(Y.shape, np.nan) for _ in range(folds)]
    for one, other in combinations(range(folds), 2):
        there = (fold == one) | (fold == other)
        models = fit_labels(estimator, X[~there], Y[~there], rng=rng, n_jobs=n_jobs)
        scores = score_labels(models, X[there], n_jobs=n_jobs)
        out[one][fold == other] = scores[fold[there] == other]
        out[other][fold == one] = scores[fold[there] == one]
    return out


class BinaryRelevance(TransformerMixin, SetClassifier):
    """Binary relevance: one classifier per label; the probability of a set is the product of those of its labels.

    A label that never varies in training has probability (successes + 1/2) / (cases + 1). As a transformer it gives the
    marginals, by the names of the labels.

    Parameters
    ----------
    estimator : classifier, optional
        Cloned for each label; a logistic regression by liblinear by default. Without `predict_proba` it needs
        `calibration`.
    calibration : {"isotonic", "beta"}, optional
        Calibrate each label on scores of classifiers that were fitted to the other folds; the classifiers themselves
        learn from all cases.
    cv : int or splitter, default 5
        The folds.
    decision : {"mode", "f1", "hamming"}, default "mode"
        What `predict` takes from a list: the most probable set, the best for instance F1, the labels more probable
        than not.
    k : int, default 10
        The length of the lists.
    empty : bool, default True
        Whether the empty set is a class.
    n_jobs : int, optional
        How many labels are fitted at once.
    random_state : int or RandomState, optional
        With it every random part has a seed.

    Attributes
    ----------
    estimators_, calibrators_ : list
        One of each per label; `calibrators_` is None without calibration.
    space_ : LabelSets
        The label sets.

    Examples
    --------
    >>> X = [[0.0], [1.0], [2.0], [3.0]]
    >>> model = BinaryRelevance(k=2).fit(X, [[1, 0], [1, 0], [1, 1], [0, 1]])
    >>> model.predict_toplist([[0.0]]).sizes, model.predict([[0.0]])
    (array([2]), array([[1, 0]]))
    """

    def __init__(
        self,
        estimator: Any = None,
        *,
        calibration: str | None = None,
        cv: Any = 5,
        decision: str = "mode",
        k: int = 10,
        empty: bool = True,
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.estimator = estimator
        self.calibration = calibration
        self.cv = cv
        self.decision = decision
        self.k = k
        self.empty = empty
        self.n_jobs = n_jobs
        self.random_state = random_state

    def transform(self, X: Any) -> Floats:
        """The calibrated probability of each label, (cases, labels)."""
        return self._labels(self._checked(X))

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """The names of the labels."""
        check_is_fitted(self)
        _check_feature_names_in(self, input_features, generate_names=False)
        return np.array([str(name) for name in self.label_names_], dtype=object)

    def _fit(self, X: Any, targets: Targets) -> None:
        require_calibration(self.calibration)
        learner, y = self._learner(), targets.matrix
        require_scores(learner, self.calibration)
        rng, seeds = self._random()
        self.calibrators_ = None
        if self.calibration is not None:
            fold = assign_folds(self.cv, X, y, rng)
            scores = out_of_fold(learner, X, y, fold, rng=seeds, n_jobs=self.n_jobs)
            self.calibrators_ = fit_calibrators(self.calibration, scores, y)
        self.estimators_ = fit_labels(learner, X, y, rng=seeds, n_jobs=self.n_jobs)

    def _labels(self, X: Any) -> Floats:
        return calibrate(self.calibrators_, score_labels(self.estimators_, X, n_jobs=self.n_jobs))

    def _marginals(self, X: Any) -> Floats:
        return self._labels(X) if self.empty else given_not_empty(self._labels(X))

    def _lists(self, X: Any, k: int) -> TopLists:
        return best_sets(self._labels(X), k, self.space_)


def given_not_empty(p: Floats) -> Floats:
    """The probabilities of independent labels, given that there is one at least: p / (1 - prod(1 - p))."""
    none = (p == 0).all(axis=1)
    if none.any():
        raise only_empty(none)
    with np.errstate(divide="ignore"):
        some: Floats = -np.expm1(np.log1p(-p).sum(axis=1, keepdims=True))
    return np.minimum(p / some, 1.0)
