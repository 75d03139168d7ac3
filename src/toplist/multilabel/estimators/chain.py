"""A classifier chain, searched for its likeliest sets."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from scipy.special import logit
from sklearn.linear_model import LogisticRegression
from sklearn.multioutput import ClassifierChain
from sklearn.utils import check_random_state

from toplist._typing import Bools, Floats
from toplist.errors import TopListError
from toplist.lists import TopLists
from toplist.multilabel.chains import chain_sets
from toplist.multilabel.estimators.base import Constant, SetClassifier, Targets, listed_marginals, seeded


class ProbabilisticChain(SetClassifier):
    """A classifier per label that sees the labels before it: P(y | x) = prod_j P(y_j | x, y_1 .. y_(j-1)).

    Built on scikit-learn's `ClassifierChain` and `chain_sets`: `order` is "random", None for the order of the columns,
    or a list of places; `search`, `width` and `most` say how sets are searched for. `estimator` is any classifier with
    `predict_proba` (a logistic regression by liblinear, if None; linear logistic models are searched much faster than
    others). Labels that never vary in training come last, and keep their value with
    probability (cases + 1/2) / (cases + 1). In `predict_proba` the labels of sets that are not listed are as likely as
    `ClassifierChain` says. `decision`, `k`, `empty` and `random_state` are as in `BinaryRelevance`.

    >>> import numpy as np
    >>> X = np.array([[0.0], [1.0], [2.0], [3.0]])
    >>> model = ProbabilisticChain(order=None).fit(X, [[1, 0], [1, 0], [1, 1], [0, 1]])
    >>> model.predict([[0.0]])
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

    def _learner(self) -> Any:
        return LogisticRegression(solver="liblinear") if self.estimator is None else self.estimator

    def _fit(self, X: Any, targets: Targets) -> None:
        learner, y = self._learner(), targets.matrix
        if not hasattr(learner, "predict_proba"):
            raise TopListError(f"{type(learner).__name__} has no predict_proba: a list needs probabilities.")
        rng = check_random_state(self.random_state)
        seeds = None if self.random_state is None else rng
        share = y.mean(axis=0)
        varies: Bools = (share > 0) & (share < 1)
        order = self._order(y.shape[1], rng)
        varied, fixed = order[varies[order]], order[~varies[order]]
        self.chain_ = ClassifierChain(seeded(learner, seeds))
        if len(varied):
            self.chain_.fit(X, y[:, varied].astype(np.int64))
        links = [*getattr(self.chain_, "estimators_", ())]
        for label in fixed:
            links.append(_unmoved(X.shape[1] + len(links), Constant.of(y[:, label]).p))
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


def _unmoved(features: int, p: float) -> LogisticRegression:
    """A logistic regression that says the same of everything."""
    model = LogisticRegression()
    model.classes_, model.n_features_in_ = np.array([0, 1]), features
    model.coef_, model.intercept_ = np.zeros((1, features)), np.array([logit(p)])
    return model
