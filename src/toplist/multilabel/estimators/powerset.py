"""A multinomial classifier whose classes are the label sets of the training cases."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression

from toplist._typing import Bools, Floats, Ints
from toplist.core.arguments import as_number
from toplist.errors import TopListError
from toplist.lists import TopLists
from toplist.lists.labelsets import Sets
from toplist.multilabel.estimators.base import SetClassifier, Targets, require_proba, seeded
from toplist.multilabel.support import support_sets


class LabelPowerset(SetClassifier):
    """Label powerset: one classifier of whole label sets, and a mass for those that do not occur in training.

    In `predict_proba` the labels of unseen sets are as frequent as in training.

    Parameters
    ----------
    estimator : classifier, optional
        With `predict_proba`; a multinomial logistic regression by default.
    unseen : float or "good-turing", default "good-turing"
        The mass of all other sets, from 0 to below 1; or (once + 1/2) / (cases + 1), once being the number of training
        cases whose set occurs once (Good, 1953), at most the share of the unseen among all sets.
    decision : {"mode", "f1", "hamming"}, default "mode"
        What `predict` takes from a list: the most probable set, the best for instance F1, the labels more probable
        than not.
    k : int, default 10
        The length of the lists.
    empty : bool, default True
        Whether the empty set is a class.
    random_state : int or RandomState, optional
        With it every random part has a seed.

    Attributes
    ----------
    estimator_ : classifier
        The fitted classifier; None if there is one set only.
    sets_ : Sets
        The sets of the training cases.
    unseen_ : float
        The mass of all others.
    space_ : LabelSets
        The label sets.

    Examples
    --------
    >>> X = [[0.0], [1.0], [2.0], [3.0]]
    >>> model = LabelPowerset(unseen=0.1).fit(X, [[1, 0], [1, 0], [0, 1], [0, 1]])
    >>> model.predict_toplist([[0.0]]).rest.round(3), model.predict([[0.0]])
    (array([0.1]), array([[1, 0]]))
    """

    def __init__(
        self,
        estimator: Any = None,
        *,
        unseen: float | str = "good-turing",
        decision: str = "mode",
        k: int = 10,
        empty: bool = True,
        random_state: Any = None,
    ) -> None:
        self.estimator = estimator
        self.unseen = unseen
        self.decision = decision
        self.k = k
        self.empty = empty
        self.random_state = random_state

    def _learner(self) -> Any:
        return LogisticRegression(max_iter=1000) if self.estimator is None else self.estimator

    def _fit(self, X: Any, targets: Targets) -> None:
        learner, y = self._learner(), targets.matrix
        require_proba(learner)
        _, first, which, times = np.unique(
            Sets.from_indicators(y).fold(self.space_.keys), return_index=True, return_inverse=True, return_counts=True
        )
        self.sets_ = Sets.from_indicators(y[first])
        self.unseen_ = self._unseen(times, len(y))
        self.shares_ = (y.sum(axis=0) + 0.5) / (len(y) + 1)
        self.estimator_ = None if len(times) == 1 else seeded(learner, self._random()[1]).fit(X, which)

    def _unseen(self, times: Ints, cases: int) -> float:
        if self.unseen != "good-turing":
            if isinstance(self.unseen, str):
                raise TopListError(f'unseen is a number or "good-turing", not {self.unseen!r}.')
            share = as_number(self.unseen, "unseen", 0, np.nextafter(1, 0))
        else:
            share = (int((times == 1).sum()) + 0.5) / (cases + 1)
        others = self.space_.size - len(times)
        return min(share, others / self.space_.size) if self.unseen == "good-turing" or not others else share

    def _log_p(self, X: Any) -> Floats:
        """The log-probability of each set of the training cases, if it is one of these."""
        if self.estimator_ is None:
            return np.zeros((X.shape[0], 1))
        with np.errstate(divide="ignore"):
            return np.log(np.asarray(self.estimator_.predict_proba(X), dtype=np.float64))

    def _lists(self, X: Any, k: int) -> TopLists:
        return support_sets(self._log_p(X), self.sets_, k, self.space_, unseen=self.unseen_).valid()

    def _marginals(self, X: Any) -> Floats:
        holds: Bools = self.sets_.indicators()
        seen = np.minimum(np.exp(self._log_p(X)) @ holds.astype(np.float64), 1.0)
        mixed: Floats = (1 - self.unseen_) * seen + self.unseen_ * self.shares_
        return mixed
