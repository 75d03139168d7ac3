"""Padded scores as scikit-learn scorers, for `GridSearchCV`, `cross_val_score` and whatever takes `scoring`.

They see the classes that an estimator was fitted on. So a fold that lacks classes is scored over all of them, and an
outcome of a class that the estimator has never seen is an unlisted one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from toplist._text import listed
from toplist._typing import Floats
from toplist.core.arguments import as_array, as_count, as_shares
from toplist.errors import OutcomeError, ShapeError, SpaceError, TopListError
from toplist.lists import TopLists
from toplist.scoring.rules import as_rule
from toplist.scoring.scores import plain_scores

try:
    from sklearn.base import BaseEstimator
    from sklearn.metrics._scorer import _BaseScorer  # what scikit-learn takes for a scorer wherever it tells them apart
except ImportError as error:
    if (error.name or "").partition(".")[0] != "sklearn":
        raise
    raise TopListError("these scorers need scikit-learn 1.7 or later: pip install 'toplist[sklearn]'.") from None

_ENTRIES = 1 << 22  # of distributions that are made wider at a time
_LABEL = (str, int, float, np.generic)
_METHODS = ("predict_proba", "decision_function", "predict")  # the first is used; others are refused in so many words


class PaddedScorer(_BaseScorer, BaseEstimator):
    """A scorer with the mean padded score of an estimator's top-k lists, negated: greater is better.

    Parameters
    ----------
    rule : str or Rule, default "brier"
        Scoring rule, by name ("brier", "log", "spherical", "zero-one", "one-vs-rest") or as an instance.
    k : int or None, default 5
        Length of the lists: the k most likely classes of each case. None scores the full distribution, as do estimators
        with no more than k classes.
    classes : int or array-like of labels, optional
        All classes of the problem, or how many there are. By default they are those that the estimator was fitted on
        and those of the outcomes that are scored: with the folds of a cross-validation, all classes of the data.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.model_selection import cross_val_score
    >>> X, y = load_iris(return_X_y=True)
    >>> scorer = PaddedScorer("brier", k=2)
    >>> cross_val_score(LogisticRegression(max_iter=1000), X, y, scoring=scorer).round(2)
    array([-0.07, -0.04, -0.1 , -0.07, -0.03])
    """

    def __init__(self, rule: Any = "brier", k: int | None = 5, classes: Any = None) -> None:
        super().__init__(_score_function, -1, {}, _METHODS)
        self.rule = rule
        self.k = k
        self.classes = classes

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        return BaseEstimator.__repr__(self, N_CHAR_MAX=N_CHAR_MAX)  # type: ignore[no-any-return]

    def _score(
        self, method_caller: Callable[..., Any], estimator: Any, X: Any, y_true: Any, *, sample_weight: Any = None
    ) -> float:
        """Minus the mean score; scikit-learn calls this, with its cache of what estimators predict."""
        rule, k = as_rule(self.rule), None if self.k is None else as_count(self.k)
        seen = _classes_of(estimator)
        codes, size = _encoded(_outcomes(y_true), seen, self.classes)
        # Of two classes, scikit-learn's cache has the probabilities of one.
        p = method_caller(estimator, "predict_proba", X) if len(seen) > 2 else estimator.predict_proba(X)
        p = _distributions(p, len(codes), seen, estimator)
        if not len(codes):
            raise ShapeError("there are no cases to score.")
        scores, shares = np.empty(len(p)), as_shares(sample_weight, len(p))
        step = max(1, _ENTRIES // size) if size > len(seen) else len(p)
        for lo in range(0, len(p), step):
            part = slice(lo, lo + step)
            lists = TopLists.from_proba(_widened(p[part], size), k=k)
            scores[part] = plain_scores(lists, codes[part], rule)
        counts = shares > 0  # a case without weight may have an infinite score
        return -float(scores.mean() if sample_weight is None else scores[counts] @ shares[counts])


def padded_scorer(rule: Any = "brier", k: int | None = 5, *, classes: Any = None) -> PaddedScorer:
    """A scorer for model selection by a padded score, for any scoring rule.

    Parameters
    ----------
    rule : str or Rule, default "brier"
        Scoring rule, by name ("brier", "log", "spherical", "zero-one", "one-vs-rest") or as an instance.
    k : int or None, default 5
        Length of the lists: the k most likely classes of each case. None scores the full distribution, as do estimators
        with no more than k classes.
    classes : int or array-like of labels, optional
        All classes of the problem, or how many there are. By default they are those that the estimator was fitted on
        and those of the outcomes that are scored: with the folds of a cross-validation, all classes of the data.

    Returns
    -------
    PaddedScorer
        A scorer that takes `sample_weight`, and returns minus the mean score.

    Raises
    ------
    TopListError
        If the rule or k is none. When it scores: if the estimator has no `predict_proba`, or if outcomes are not among
        the classes that were given.

    Examples
    --------
    >>> padded_scorer("spherical", k=3)
    PaddedScorer(k=3, rule='spherical')
    """
    as_rule(rule)
    if k is not None:
        as_count(k)
    if classes is not None:
        _declared(classes)
    return PaddedScorer(rule, k, classes)


def padded_brier_scorer(k: int | None = 5, *, classes: Any = None) -> PaddedScorer:
    """A scorer for model selection by the padded Brier score.

    Parameters
    ----------
    k, classes
        As for `padded_scorer`.

    Returns
    -------
    PaddedScorer
        A scorer that takes `sample_weight`, and returns minus the mean score.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from sklearn.model_selection import GridSearchCV
    >>> from sklearn.neighbors import KNeighborsClassifier
    >>> X, y = load_digits(return_X_y=True)
    >>> search = GridSearchCV(KNeighborsClassifier(), {"n_neighbors": [1, 3, 9]}, scoring=padded_brier_scorer(k=3))
    >>> search.fit(X, y).best_params_
    {'n_neighbors': 3}
    """
    return padded_scorer("brier", k, classes=classes)


def padded_log_scorer(k: int | None = 5, *, classes: Any = None) -> PaddedScorer:
    """A scorer for model selection by the padded logarithmic score.

    An outcome of probability zero makes the mean infinite. So does an outcome whose class the estimator has not seen,
    unless k is smaller than the number of its classes, which leaves mass for unlisted ones.

    Parameters
    ----------
    k, classes
        As for `padded_scorer`.

    Returns
    -------
    PaddedScorer
        A scorer that takes `sample_weight`, and returns minus the mean score.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.naive_bayes import GaussianNB
    >>> X, y = load_iris(return_X_y=True)
    >>> round(padded_log_scorer(k=2)(GaussianNB().fit(X, y), X, y), 4)
    -0.1112
    """
    return padded_scorer("log", k, classes=classes)


def _score_function(y_true: Any, y_proba: Any, sample_weight: Any = None) -> float:
    """What scikit-learn looks at to see which metadata a scorer takes; `PaddedScorer` scores without it."""
    raise NotImplementedError


def _classes_of(estimator: Any) -> NDArray[Any]:
    """The classes of a fitted classifier, in the order of its probabilities."""
    name = type(estimator).__name__
    if not hasattr(estimator, "predict_proba"):
        other = next((method for method in _METHODS[1:] if hasattr(estimator, method)), None)
        raise TopListError(
            f"{name} has no predict_proba{f', only {other}' if other else ''}, and so no probabilities: give "
            f"CalibratedClassifierCV({name}(...)), or another classifier."
        )
    classes = getattr(estimator, "classes_", None)
    if classes is None:
        raise TopListError(f"{name} has no classes_, so that the columns of predict_proba have no names: fit it first.")
    if isinstance(classes, list) and any(np.ndim(one) for one in classes):
        raise TopListError(
            f"{name} predicts several outputs: score each of them by itself, or label sets with toplist."
        )
    return np.asarray(classes)


def _distributions(p: Any, cases: int, seen: NDArray[Any], estimator: Any) -> NDArray[Any]:
    found = as_array(p, "the probabilities")
    if found.shape != (cases, len(seen)):
        raise ShapeError(
            f"predict_proba of {type(estimator).__name__} has the shape {found.shape}, not {(cases, len(seen))}.",
            "It has one row per outcome and one column per class of classes_.",
        )
    return found


def _declared(classes: Any) -> int | NDArray[Any]:
    """The number of classes, or their labels."""
    if isinstance(classes, int | np.integer) and not isinstance(classes, bool):
        if classes < 1:
            raise SpaceError(f"{classes} is not a number of classes.")
        return int(classes)
    labels = as_array(classes, "classes")
    if labels.ndim != 1 or not len(labels):
        raise SpaceError("classes are a number, or one label per class.")
    if len(np.unique(labels)) < len(labels):
        raise SpaceError("a label is there twice among classes; every class needs a label of its own.")
    return labels


def _encoded(y: NDArray[Any], seen: NDArray[Any], classes: Any) -> tuple[NDArray[np.int64], int]:
    """The column of each outcome, or the first beyond them for a class that the estimator has not seen; and m."""
    _require_alike(y, seen)
    column = _places(y, seen)
    unseen = np.unique(y[column < 0])
    if classes is None:
        if len(y) and len(unseen) and (column < 0).all():
            raise OutcomeError(
                f"none of the outcomes, such as {unseen.tolist()[0]!r}, is a class of the "
                f"estimator, which are {listed(seen.tolist(), 3)}.",
                "If these are classes that it has not seen, and no other spelling, declare all classes: classes=[...].",
            )
        size = len(seen) + len(unseen)
    else:
        size = _size(_declared(classes), seen, y, unseen)
    return np.where(column < 0, len(seen), column), size


def _size(declared: int | NDArray[Any], seen: NDArray[Any], y: NDArray[Any], unseen: NDArray[Any]) -> int:
    """How many classes there are, where the caller said it; what is not among them is an error."""
    known = len(seen) + len(unseen)
    if isinstance(declared, int):
        if declared < known:
            raise SpaceError(f"classes={declared}, but the estimator and the outcomes have {known} classes.")
        return declared
    _require_alike(declared, seen)
    for what, labels in (("of the estimator", seen), ("of the outcomes", y)):
        missing = labels[_places(labels, declared) < 0]
        if len(missing):
            names = listed(np.unique(missing).tolist(), 3)
            raise SpaceError(f"not among the {len(declared)} classes that were given: {what} {names}.")
    return len(declared)


def _places(labels: NDArray[Any], known: NDArray[Any]) -> NDArray[np.int64]:
    """Where each label stands among those that are known; -1 where it does not."""
    order = np.argsort(known, kind="stable")
    at = np.minimum(np.searchsorted(known, labels, sorter=order), len(known) - 1)
    place = order[at]
    return np.where(known[place] == labels, place, -1)


def _outcomes(y: Any) -> NDArray[Any]:
    """One label per case, none of them missing."""
    if isinstance(y, list | tuple):  # numpy would make text of what is beside text
        y = np.asarray(y, dtype=object)
    labels = as_array(y, "outcomes")
    if labels.ndim != 1:
        raise OutcomeError(f"outcomes are one class per case, not an array of shape {labels.shape}.")
    if labels.dtype.kind in "Of":
        wrong = [case for case, one in enumerate(labels.tolist()) if not isinstance(one, _LABEL) or one != one]
        if wrong:
            problem = f"the outcome is {labels[wrong[0]]!r}, which is no label."
            raise OutcomeError(problem, case=wrong[0], more=len(wrong) - 1)
    return labels


def _require_alike(labels: NDArray[Any], known: NDArray[Any]) -> None:
    """Numbers and text are not compared: numpy would, as text."""
    text = {
        isinstance(one, str) for array in (labels, known) for one in (array if array.dtype == object else array[:1])
    }
    if len(text) > 1:
        raise OutcomeError(
            f"numbers and text are mixed: labels are {listed(labels.tolist(), 2)}, and the classes of the estimator "
            f"{listed(known.tolist(), 2)}.",
            "Give the labels that the estimator was fitted on.",
        )


def _widened(p: Floats, size: int) -> Floats:
    """Distributions over more classes: those that an estimator has not seen have probability zero."""
    n, columns = p.shape
    return p if columns == size else np.hstack([p, np.zeros((n, size - columns), p.dtype)])


__all__ = ["PaddedScorer", "padded_brier_scorer", "padded_log_scorer", "padded_scorer"]
