"""Binary relevance whose likely sets a boosted classifier weighs again."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.utils import check_random_state

from toplist.arguments import as_whole
from toplist.labelsets import LabelSets
from toplist.lists import TopLists
from toplist.multilabel.estimators.base import Floats, SetClassifier
from toplist.multilabel.estimators.boosting import fit_boosters, require_booster, say, say_of_others
from toplist.multilabel.estimators.calibration import calibrate, fit_calibrators, require_calibration
from toplist.multilabel.estimators.candidates import Candidates, Seen
from toplist.multilabel.estimators.crossfit import assign_folds, out_of_fold, out_of_two_folds
from toplist.multilabel.estimators.labels import fit_labels, require_scores, score_labels
from toplist.multilabel.estimators.mixing import listed_marginals
from toplist.multilabel.estimators.relevance import given_not_empty
from toplist.multilabel.estimators.targets import Targets
from toplist.multilabel.estimators.training import Way, cross_fitted, missed_share
from toplist.multilabel.listing import lists_of_sets


class Reranker(SetClassifier):
    """BR-rerank: how probable each of the likely sets is, all things considered (Li, Pavlu, Aslam, Wang and Qin, 2020).

    1. A classifier per label (`estimator`) and a calibrator per label, as in `BinaryRelevance`.
    2. The `candidates` most probable sets of a case under independent labels and, with `support`, as many of the sets
       that occur in training.
    3. A boosted classifier of whether a candidate is the true set: from its probability under independent labels, in
       which it is monotone, its frequency in training, its size, its labels, and the marginals (`features.py`).
    4. Its probabilities, divided by their sum where that is too large, and the largest valid sublist. The sets that are
       no candidates keep as much as their share was among the training cases with such sums, cross-fitted.

    What the third step learns from is what it will be shown later: the marginals of a training case come from
    classifiers that have not seen its fold and from calibrators that have not, and its candidates and their frequencies
    from the other folds (`cv` of them). `booster` is "hist" (scikit-learn's), "lightgbm", or any classifier with
    `predict_proba`. It is fitted once per fold, with the fold to say when to stop for the first two, and averaged. In
    `predict_proba` the labels of sets that are no candidates are as probable as under the first step. Everything else
    is as in `BinaryRelevance`.
    """

    def __init__(
        self,
        estimator: Any = None,
        *,
        calibration: str | None = "beta",
        booster: Any = "hist",
        candidates: int = 30,
        support: bool = True,
        cv: Any = 5,
        decision: str = "mode",
        k: int = 10,
        empty: bool = True,
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.estimator = estimator
        self.calibration = calibration
        self.booster = booster
        self.candidates = candidates
        self.support = support
        self.cv = cv
        self.decision = decision
        self.k = k
        self.empty = empty
        self.n_jobs = n_jobs
        self.random_state = random_state

    def _learner(self) -> Any:
        return LogisticRegression(solver="liblinear") if self.estimator is None else self.estimator

    def _fit(self, X: Any, targets: Targets) -> None:
        require_calibration(self.calibration)
        require_booster(self.booster)
        as_whole(self.candidates, "candidates", 1)
        learner, y = self._learner(), targets.matrix
        require_scores(learner, self.calibration)
        rng = check_random_state(self.random_state)
        seeds = None if self.random_state is None else rng
        fold = assign_folds(self.cv, X, y, rng)
        scores = out_of_fold(learner, X, y, fold, rng=seeds, n_jobs=self.n_jobs)
        self.way_ = Way.of(self.space_, y, calibration=self.calibration, count=self.candidates, support=self.support)
        twice = [scores] * (int(fold.max()) + 1)
        if self.calibration is not None:
            twice = out_of_two_folds(learner, X, y, fold, rng=seeds, n_jobs=self.n_jobs)
        shown = cross_fitted(self.way_, scores, twice, y, fold)
        folds = fold[shown.case]
        self.boosters_ = fit_boosters(self.booster, shown.rows, shown.true, folds, rng=rng, n_jobs=self.n_jobs)
        self.missed_ = missed_share(shown, say_of_others(self.boosters_, shown.rows, folds), len(y))
        self.seen_ = Seen.of(self.space_, y)
        self.calibrators_ = fit_calibrators(self.calibration, scores, y)
        self.estimators_ = fit_labels(learner, X, y, rng=seeds, n_jobs=self.n_jobs)

    def _labels(self, X: Any) -> Floats:
        scores = score_labels(self.estimators_, X, n_jobs=self.n_jobs)
        return self.way_.inside(calibrate(self.calibrators_, scores))

    def _weigh(self, p: Floats) -> TopLists:
        """All candidates of cases with these marginals, as valid lists."""
        found, rows = self.way_.rows(p, self.seen_)
        return _as_lists(self.space_, found, say(self.boosters_, rows), self.missed_).valid()

    def _lists(self, X: Any, k: int) -> TopLists:
        return self._weigh(self._labels(X)).truncate(k)

    def _marginals(self, X: Any) -> Floats:
        p = self._labels(X)
        return listed_marginals(self._weigh(p), p if self.empty else given_not_empty(p))


def _as_lists(space: LabelSets, found: Candidates, p: Floats, missed: float) -> TopLists:
    """Lists in falling order, their masses at most 1 - `missed`, or one, where every set of the space is a candidate.

    A case whose candidates all have probability zero keeps what they have under independent labels.
    """
    total = np.bincount(found.case, weights=p, minlength=found.cases)
    p = np.where(total[found.case] > 0, p, np.exp(found.log_p))
    total = np.bincount(found.case, weights=p, minlength=found.cases)
    divisor = np.where(found.counts == space.size, total, np.maximum(total / (1.0 - missed), 1.0))
    order = np.lexsort((-p, found.case))
    order = order[p[order] > 0]
    offsets = np.concatenate((np.zeros(1, np.int64), np.cumsum(np.bincount(found.case[order], minlength=found.cases))))
    log_p = np.log(p[order]) - np.log(divisor)[found.case[order]]
    return lists_of_sets(space, offsets, found.sets.take(order), log_p)
