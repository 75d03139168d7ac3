"""Which chain this is, and its links on some cases at a time."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy import sparse

from toplist.arguments import as_floats
from toplist.errors import ConfidenceError, ShapeError, SpaceError, TopListError
from toplist.multilabel.chains.links import Chain, FittedChain, Ints, Links, OwnChain
from toplist.multilabel.chains.logistic import as_logistic
from toplist.multilabel.chains.search import ROWS


def read(chain: Any, X: Any) -> tuple[Chain, Any]:
    """The chain, by what it can do, and the features with a row per case."""
    rows = X.tocsr() if sparse.issparse(X) else np.asarray(X)
    if rows.ndim < 1:
        raise ShapeError("X has a row per case.")
    if hasattr(chain, "conditional") and hasattr(chain, "order"):
        return OwnChain(_as_order(chain.order), chain), rows
    if not (hasattr(chain, "estimators_") and hasattr(chain, "order_")):
        unfitted = " Fit it first." if hasattr(chain, "fit") else ""
        raise TopListError(
            f"expected a fitted ClassifierChain, or an object with `order` and `conditional(X, prefixes)`, "
            f"got {type(chain).__name__}.{unfitted}"
        )
    fitted = _as_fitted(chain)
    rows = rows if sparse.issparse(rows) else as_floats(rows, "X")
    wanted = getattr(fitted.estimators[0], "n_features_in_", None)
    if rows.ndim != 2 or (wanted is not None and rows.shape[1] != wanted):
        raise ShapeError(f"X has shape {rows.shape}; the chain learnt from {wanted} features.", "One row per case.")
    _check_finite(rows)
    return as_logistic(fitted, rows.shape[1]) or fitted, rows


def chunks(chain: Chain, X: Any, each: int) -> Iterator[tuple[int, Links, int]]:
    """The links of some cases at a time, the first of these, and how many they are: `each` rows for every case."""
    cases, step = X.shape[0], max(1, ROWS // max(1, each))
    for first in range(0, cases, step):
        yield first, chain.over(X[first : first + step], first), min(step, cases - first)


def _as_fitted(chain: Any) -> FittedChain:
    """The parts of a fitted `ClassifierChain`, after a look at whether they speak of label sets."""
    estimators, order = tuple(chain.estimators_), _as_order(chain.order_)
    if not len(order) or len(estimators) != len(order):
        raise ShapeError(f"the chain has {len(estimators)} estimators for {len(order)} labels.")
    if getattr(chain, "cv", None) is not None and getattr(chain, "chain_method_", "predict") != "predict":
        raise TopListError(
            f"this chain learnt from what {chain.chain_method_} said of earlier labels, not from the labels; "
            'fit it with chain_method="predict" or without cv.'
        )
    for label, estimator in zip(order.tolist(), estimators, strict=True):
        if not hasattr(estimator, "predict_proba"):
            kind = type(estimator).__name__
            raise TopListError(
                f"{kind}, which decides label {label}, has no predict_proba: a list needs probabilities."
            )
        if not np.isin(np.asarray(estimator.classes_), (0, 1)).all():
            shown = np.asarray(estimator.classes_).tolist()
            raise SpaceError(f"label {label} of the chain is one of {shown}; a label is there or not, 1 or 0.")
    return FittedChain(order, estimators)


def _as_order(order: Any) -> Ints:
    """A permutation of the labels."""
    found = np.asarray(order)
    if found.ndim != 1 or found.dtype.kind not in "iu" or not np.array_equal(np.sort(found), np.arange(len(found))):
        raise TopListError(f"the order of a chain names each label once, by its place; this one is {order!r}.")
    return found.astype(np.int64)


def _check_finite(X: Any) -> None:
    """The same question as scikit-learn's, answered with the case."""
    bad = ~np.isfinite(X.data if sparse.issparse(X) else X)
    if bad.any():
        case = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))[bad] if sparse.issparse(X) else np.nonzero(bad)[0]
        more = len(np.unique(case)) - 1
        raise ConfidenceError("a feature is NaN or infinite.", "The chain needs numbers.", case=int(case[0]), more=more)
