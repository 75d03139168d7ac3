"""Binary relevance: a classifier per label."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import TransformerMixin
from sklearn.utils.validation import _check_feature_names_in, check_is_fitted

from toplist._typing import Floats
from toplist.lists import TopLists
from toplist.multilabel.estimators.base import SetClassifier, Targets, fit_labels, require_scores, score_labels
from toplist.multilabel.estimators.calibration import (
    assign_folds,
    calibrate,
    fit_calibrators,
    out_of_fold,
    require_calibration,
)
from toplist.multilabel.independent import best_sets, only_empty


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
