"""What the multi-label classifiers have in common: data in, lists, decisions and marginals out."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Hashable
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted, validate_data

from toplist.arguments import as_whole
from toplist.errors import TopListError
from toplist.labelsets import LabelSets
from toplist.lists import TopLists
from toplist.multilabel.decisions import f1_sets, mode_sets
from toplist.multilabel.estimators.targets import Form, Targets, read_targets, shaped

Floats = NDArray[np.float64]

DECISIONS = ("mode", "f1", "hamming")
DECIDING = 50  # sets that the best one for F1 is found from, at least: what is not listed has no say there


class SetClassifier(ClassifierMixin, BaseEstimator):
    """A classifier of label sets; its parts say how to learn, which sets are likely, and how likely labels are."""

    decision: str
    k: int
    empty: bool
    space_: LabelSets
    classes_: Any
    form_: Form

    @abstractmethod
    def _learner(self) -> Any:
        """The classifier that it is built on, not fitted."""

    @abstractmethod
    def _fit(self, X: Any, targets: Targets) -> None:
        """Learn from checked data."""

    @abstractmethod
    def _lists(self, X: Any, k: int) -> TopLists:
        """The k likeliest sets of checked cases, as valid lists."""

    @abstractmethod
    def _marginals(self, X: Any) -> Floats:
        """The probability of each label in checked cases."""

    def fit(self, X: Any, Y: Any) -> Self:
        """Learn from features and an indicator matrix with a row per case and a column per label.

        Both may be arrays, data frames (whose columns name the labels) or sparse. A vector of two values is one label.
        """
        if self.decision not in DECISIONS:
            raise TopListError(f"the decision is one of {', '.join(DECISIONS)}, not {self.decision!r}.")
        as_whole(self.k, "k", 1)
        names = getattr(Y, "columns", None)
        rows, y = validate_data(self, X, Y, multi_output=True, **self._accepted())
        targets = read_targets(y, names, empty=self.empty)
        self.space_ = LabelSets(targets.names, empty=self.empty)
        self.classes_, self.form_ = targets.classes, targets.form
        self._fit(rows, targets)
        return self

    def predict_toplist(self, X: Any, k: int | None = None) -> TopLists:
        """The k likeliest label sets of each case (the parameter `k`, unless told otherwise), as a valid top list."""
        return self._lists(self._checked(X), as_whole(self.k if k is None else k, "k", 1))

    def predict(self, X: Any) -> Any:
        """One set per case, in the form of the targets: the likeliest, or the best for F1 or for the Hamming loss."""
        rows = self._checked(X)
        if self.decision == "hamming":
            chosen = self._marginals(rows) > 0.5
        else:
            decide = mode_sets if self.decision == "mode" else f1_sets
            chosen = decide(
                self._lists(rows, self.k if self.decision == "mode" else max(self.k, DECIDING))
            ).indicators()
        return shaped(chosen, self.classes_, self.form_)

    def predict_proba(self, X: Any) -> Floats:
        """The probability of each label, (cases, labels); of the two values, where the target was a vector."""
        p = self._marginals(self._checked(X))
        return np.hstack((1.0 - p, p)) if self.form_ == "vector" else p

    @property
    def label_names_(self) -> tuple[Hashable, ...]:
        """What the labels are called: the columns of a data frame, or their places."""
        return self.space_.names

    def _checked(self, X: Any) -> Any:
        check_is_fitted(self)
        return validate_data(self, X, reset=False, **self._accepted())

    def _accepted(self) -> dict[str, Any]:
        takes = get_tags(self._learner()).input_tags
        return {"accept_sparse": "csr" if takes.sparse else False, "ensure_all_finite": not takes.allow_nan}

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        takes = get_tags(self._learner()).input_tags
        tags.input_tags.sparse, tags.input_tags.allow_nan = takes.sparse, takes.allow_nan
        tags.target_tags.multi_output = True
        tags.classifier_tags.multi_label = True
        tags.classifier_tags.multi_class = False
        return tags
