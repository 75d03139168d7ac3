"""Classifiers of whole sets of labels: a chain, searched for its most probable sets, and a multinomial classifier."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from scipy.special import logit
from sklearn.linear_model import LogisticRegression
from sklearn.multioutput import ClassifierChain

from toplist._typing import Bools, Floats, Ints
from toplist.core.arguments import as_number
from toplist.errors import TopListError
from toplist.lists import TopLists
from toplist.lists.labelsets import Sets
from toplist.multilabel.chains import chain_sets
from toplist.multilabel.estimators.base import Constant, SetClassifier, Targets, listed_marginals, require_proba, seeded
from toplist.multilabel.sets import support_sets


class ProbabilisticChain(SetClassifier):
    """Probabilistic classifier chain: P(y | x) = prod_j P(y_j | x, y_1 .. y_(j-1)), searched by `chain_sets`.

    Built on scikit-learn's `ClassifierChain`. Labels that never vary in training come last, and keep their value with
    probability (cases + 1/2) / (cases + 1). In `predict_proba` the labels of sets that are not listed have the
    probabilities of `ClassifierChain`.

    Parameters
    ----------
    estimator : classifier, optional
        With `predict_proba`; a logistic regression by liblinear by default. Linear logistic models are searched much
        faster than others.
    order : "random", None or list of int, default "random"
        The order of the labels; None is that of the columns.
    search, width, most
        As in `chain_sets`.
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
    chain_ : ClassifierChain
        The fitted chain.
    space_ : LabelSets
        The label sets.

    Examples
    --------
    >>> X = [[0.0], [1.0], [2.0], [3.0]]
    >>> ProbabilisticChain(order=None).fit(X, [[1, 0], [1, 0], [1, 1], [0, 1]]).predict([[0.0]])
    array([[1, 0]])
    """

    def __init__(
        self,
        estimator: Any = None,
        *,
        order: Any = "random",
        search: Literal["exact", "beam"] = "exact",
        width: int | None = None,
        most: int | None = None,
        decision: str = "mode",
        k: int = 10,
        empty: bool = True,
        random_state: Any = None,
    ) -> None:
        self.estimator = estimator
        self.order = order
        self.search = search
        self.width = width
        self.most = most
        self.decision = decision
        self.k = k
        self.empty = empty
        self.random_state = random_state

    def _fit(self, X: Any, targets: Targets) -> None:
        learner, y = self._learner(), targets.matrix
        require_proba(learner)
        rng, seeds = self._random()
        share = y.mean(axis=0)
        varies: Bools = (share > 0) & (share < 1)
        order = self._order(y.shape[1], rng)
        varied, fixed = order[varies[order]], order[~varies[order]]
        self.chain_ = ClassifierChain(seeded(learner, seeds))
        if len(varied):
            self.chain_.fit(X, y[:, varied].astype(np.int64))
        links = [*getattr(self.chain_, "estimators_", ())]
        for label in fixed:
            links.append(_constant_link(X.shape[1] + len(links), Constant.of(y[:, label]).p))
        self.chain_.estimators_, self.chain_.order_ = links, np.concatenate((varied, fixed))
        self.chain_.classes_ = [link.classes_ for link in links]
        self.chain_.n_features_in_, self.chain_.chain_method_ = X.shape[1], "predict"

    def _order(self, labels: int, rng: np.random.RandomState) -> Any:
        if self.order is None:
            return np.arange(labels)
        if isinstance(self.order, str):
            if self.order != "random":
                raise TopListError(f'the order of a chain is "random", None or a list of places, not {self.order!r}.')
            return rng.permutation(labels)
        order = np.asarray(self.order)
        if not np.array_equal(np.sort(order), np.arange(labels)):
            raise TopListError(f"the order of a chain names each of {labels} labels once, by its place.")
        return order

    def _lists(self, X: Any, k: int) -> TopLists:
        return chain_sets(self.chain_, X, k, self.space_, search=self.search, width=self.width, most=self.most).valid()

    def _marginals(self, X: Any) -> Floats:
        return listed_marginals(self._lists(X, self.k), self.chain_.predict_proba(X))


def _constant_link(features: int, p: float) -> LogisticRegression:
    """A logistic regression with the same probability for every case."""
    model = LogisticRegression()
    model.classes_, model.n_features_in_ = np.array([0, 1]), features
    model.coef_, model.intercept_ = np.zeros((1, features)), np.array([logit(p)])
    return model


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
