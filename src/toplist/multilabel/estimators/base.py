"""Base of the multi-label classifiers: targets, one classifier per label, lists, decisions and marginals."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.special import expit
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.linear_model import LogisticRegression
from sklearn.utils import check_random_state, get_tags
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import check_is_fitted, validate_data

from toplist._typing import Bools, Floats
from toplist.core.arguments import as_whole
from toplist.errors import ShapeError, SpaceError, TopListError
from toplist.lists import TopLists
from toplist.lists.labelsets import LabelSets
from toplist.multilabel.set_decisions import as_set_lists, decoded, f1_sets, mode_sets

Form = Literal["vector", "dense", "sparse", "spmatrix"]

DECISIONS = ("mode", "f1", "hamming")
DECIDING = 50  # sets that the best one for F1 is found from, at least: unlisted sets do not count there


@dataclass(frozen=True, slots=True)
class Targets:
    """An indicator matrix with a row per case, the names of its columns, and the form in which it came.

    A vector of two values is one label, named after the larger value, that is there or not.
    """

    matrix: Bools
    names: tuple[Hashable, ...]
    classes: Any  # as in scikit-learn: the two values of a vector, or the places of the labels
    form: Form


def read_targets(y: Any, columns: Any, *, empty: bool) -> Targets:
    """Targets from what scikit-learn has validated; `columns` are the names in a data frame, or None."""
    if y.ndim == 1:
        targets = _from_vector(y)
    else:
        form: Form = "dense" if not sparse.issparse(y) else "spmatrix" if sparse.isspmatrix(y) else "sparse"
        dense = _zeros_and_ones(y)
        names = tuple(range(dense.shape[1])) if columns is None else tuple(columns)
        targets = Targets(dense, names, np.arange(len(names)), form)
    bare = ~targets.matrix.any(axis=1)
    if not empty and bare.any():
        raise SpaceError(f"training case {int(np.argmax(bare))} has no label; allow the empty set with empty=True.")
    return targets


def shaped(indicators: Bools, classes: Any, form: Form) -> Any:
    """Predictions in the form in which the targets came."""
    if form == "vector":
        return classes[indicators[:, 0].astype(np.intp)]
    whole = indicators.astype(np.int64)
    return {"dense": np.asarray, "sparse": sparse.csr_array, "spmatrix": sparse.csr_matrix}[form](whole)


def _from_vector(y: NDArray[Any]) -> Targets:
    check_classification_targets(y)
    kind = type_of_target(y, input_name="y")
    if kind != "binary":
        raise TopListError(
            f"Only binary classification is supported. The type of the target is {kind}: for several labels give an "
            "indicator matrix with a column for each."
        )
    values = np.unique(y)
    if len(values) == 1:
        raise TopListError(f"the target has one class, {values[0]!r}; there is nothing to tell apart.")
    name = values[1].item() if isinstance(values[1], np.generic) else values[1]
    return Targets((y == values[1])[:, None], (name,), values, "vector")


def _zeros_and_ones(y: Any) -> Bools:
    if not y.shape[1]:
        raise ShapeError("the indicator matrix has no columns.", "Each label has one.")
    dense = y.toarray() if sparse.issparse(y) else y
    try:
        known = bool(np.isin(dense, (0, 1)).all())
    except TypeError:
        known = False
    if not known:
        kind = type_of_target(dense, input_name="y")
        raise TopListError(
            f"Only binary classification is supported. The type of the target is {kind}: an indicator matrix holds a "
            "one where a case has a label, and zeros."
        )
    return np.asarray(dense, dtype=np.float64) > 0


class SetClassifier(ClassifierMixin, BaseEstimator):
    """Base of the classifiers of label sets, which implement `_fit`, `_lists` and `_marginals`."""

    decision: str
    k: int
    empty: bool
    space_: LabelSets
    classes_: Any
    form_: Form

    estimator: Any
    random_state: Any

    @abstractmethod
    def _fit(self, X: Any, targets: Targets) -> None:
        """Learn from checked data."""

    @abstractmethod
    def _lists(self, X: Any, k: int) -> TopLists:
        """The k most probable sets of checked cases, as valid lists."""

    @abstractmethod
    def _marginals(self, X: Any) -> Floats:
        """The probability of each label in checked cases."""

    def fit(self, X: Any, Y: Any) -> Self:
        """Learn from features and labels.

        Parameters
        ----------
        X : array, data frame or sparse matrix
            Features with a row per case.
        Y : array, data frame or sparse matrix
            Zeros and ones with a row per case and a column per label, whose names are those of a data frame. A vector
            of two values is one label.

        Returns
        -------
        object
            Itself, fitted.
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
        """Valid top lists of the k most probable label sets of each case; `k` is the parameter by default."""
        return self._lists(self._checked(X), as_whole(self.k if k is None else k, "k", 1))

    def predict(self, X: Any) -> Any:
        """One set per case, in the form of the targets: the most probable, or the best for F1 or the Hamming loss."""
        rows = self._checked(X)
        if self.decision == "hamming":
            chosen = self._marginals(rows) > 0.5
        else:
            decide, k = (mode_sets, self.k) if self.decision == "mode" else (f1_sets, max(self.k, DECIDING))
            chosen = decide(self._lists(rows, k)).indicators()
        return shaped(chosen, self.classes_, self.form_)

    def predict_proba(self, X: Any) -> Floats:
        """The probability of each label, (cases, labels); of the two values, where the target was a vector."""
        p = self._marginals(self._checked(X))
        return np.hstack((1.0 - p, p)) if self.form_ == "vector" else p

    @property
    def label_names_(self) -> tuple[Hashable, ...]:
        """The names of the labels: the columns of a data frame, or their places."""
        return self.space_.names

    def _learner(self) -> Any:
        """The classifier that it is built on, not fitted."""
        return LogisticRegression(solver="liblinear") if self.estimator is None else self.estimator

    def _random(self) -> tuple[np.random.RandomState, np.random.RandomState | None]:
        """The source of randomness, and the one of seeds for the parts: None without a `random_state`."""
        rng = check_random_state(self.random_state)
        return rng, None if self.random_state is None else rng

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


@dataclass(frozen=True, slots=True)
class Constant:
    """The classifier of a label that all training cases have, or none: (successes + 1/2) / (cases + 1)."""

    p: float

    @classmethod
    def of(cls, y: Bools) -> Constant:
        """The smoothed share of cases (Krichevsky and Trofimov, 1981): never quite 0 or 1."""
        return cls((float(y.sum()) + 0.5) / (len(y) + 1))

    def __call__(self, x: NDArray[Any]) -> Floats:
        """The same for every case."""
        return np.full(len(x), self.p)


def seeded(estimator: Any, rng: np.random.RandomState | None) -> Any:
    """A clone; with `rng`, every `random_state` in it that is None has a seed."""
    copy = clone(estimator)

    def is_seed(key: str) -> bool:
        return key == "random_state" or key.endswith("__random_state")

    if rng is not None:
        missing = [key for key, value in sorted(copy.get_params().items()) if is_seed(key) and value is None]
        copy.set_params(**{key: int(rng.randint(np.iinfo(np.int32).max)) for key in missing})
    return copy


def fit_labels(
    estimator: Any, X: Any, Y: Bools, *, rng: np.random.RandomState | None = None, n_jobs: int | None = None
) -> list[Any]:
    """A clone of the estimator for each column of Y, fitted to it; `Constant` where it does not vary."""
    copies = [seeded(estimator, rng) for _ in range(Y.shape[1])]
    fitted: list[Any] = Parallel(n_jobs=n_jobs)(
        delayed(_fit_label)(copy, X, Y[:, label]) for label, copy in enumerate(copies)
    )
    return fitted


def score_labels(models: Sequence[Any], X: Any, *, n_jobs: int | None = None) -> Floats:
    """The probability of each label by its classifier; 1 / (1 + exp(-margin)), where that has a margin alone."""
    columns = Parallel(n_jobs=n_jobs)(delayed(_score)(model, X) for model in models)
    return np.stack(columns, axis=1)


def require_scores(estimator: Any, calibration: str | None) -> None:
    """Raise if the scores of a classifier are no probabilities, and are not calibrated."""
    kind = type(estimator).__name__
    if hasattr(estimator, "predict_proba"):
        return
    if not hasattr(estimator, "decision_function"):
        raise TopListError(f"{kind} has neither predict_proba nor decision_function.")
    if calibration is None:
        raise TopListError(f'{kind} has no predict_proba: calibrate its margins with calibration="isotonic" or "beta".')


def require_proba(estimator: Any) -> None:
    """Raise if a classifier has no probabilities."""
    if not hasattr(estimator, "predict_proba"):
        raise TopListError(f"{type(estimator).__name__} has no predict_proba: a list needs probabilities.")


def _fit_label(estimator: Any, X: Any, y: Bools) -> Any:
    return Constant.of(y) if y.all() or not y.any() else estimator.fit(X, y.astype(np.int64))


def _score(model: Any, X: Any) -> Floats:
    if isinstance(model, Constant):
        return np.full(X.shape[0], model.p)
    p = model.predict_proba(X)[:, 1] if hasattr(model, "predict_proba") else expit(model.decision_function(X))
    return np.asarray(p, dtype=np.float64)


def listed_marginals(lists: TopLists, others: Floats) -> Floats:
    """The probability of each label: by the listed sets, and for the rest mass as in `others`, (cases, labels)."""
    lists, space = as_set_lists(lists)
    sets = decoded(space, lists.classes)
    case = np.repeat(np.arange(len(lists)), lists.sizes)
    entry = case[sets.rows] * sets.width + sets.labels
    weight = np.repeat(lists.normalized_confidences, sets.sizes)
    listed = np.bincount(entry, weights=weight, minlength=others.size).reshape(others.shape)
    return np.asarray(np.minimum(listed + lists.rest[:, None] * others, 1.0), dtype=np.float64)
