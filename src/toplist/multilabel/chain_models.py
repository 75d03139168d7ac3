"""Classifier chains as conditional distributions of labels; of logistic models with bounds on what is still open."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.special import expit, log_expit

from toplist._typing import Floats, Ints
from toplist.core.arguments import as_floats
from toplist.errors import ConfidenceError, ShapeError, SpaceError, TopListError
from toplist.multilabel.sets import refuse

Bits = NDArray[np.uint8]
Ask = Callable[[Any, Bits], tuple[Any, Any]]  # P(0) and P(1) of the next label, from rows of X and prefixes

ROWS = 1 << 17  # prefixes that are followed at once
_ENTRIES = 1 << 24  # of the features that a model is called with at once
_ROWS = 1 << 13  # of scores at once: they should stay in the cache
_TRIED = (-3.0, -0.5, 0.25, 2.0)  # scores
_FLAT = 1e-100


class Conditionals(Protocol):
    """The protocol of a user's chain: a model of the next label, given a case and the labels before it.

    `order[d]` is the label that the chain decides at depth d. `conditional(X, prefixes)` takes one row of X and one row
    of zeros and ones (rows, d) per prefix, in the order of the chain, and returns P(next label = 1) for each.
    """

    order: Any

    def conditional(self, X: Any, prefixes: Bits, /) -> Any:
        """P(next label = 1) after each prefix."""


@dataclass(frozen=True, slots=True)
class Links:
    """The conditional distributions of a chain on some cases, which are counted from 0: here of models of any kind."""

    features: Any
    first: int  # the number of the first case, for errors
    ask: Ask

    def next_label(self, case: Ints, bits: Bits) -> tuple[Floats, Floats]:
        """log P(next label = 0) and log P(next label = 1), given a case and the labels before: one row a prefix.

        Models are called with as many rows at once as fit.
        """
        out = np.empty((2, len(case)))
        width = (self.features.shape[1] if self.features.ndim == 2 else 1) + bits.shape[1]
        step = max(1, _ENTRIES // max(1, width))
        for lo in range(0, len(case), step):
            here = slice(lo, lo + step)
            out[:, here] = self.ask(self.features[case[here]], bits[here])
        bad = ~((out >= 0) & (out <= 1)).all(axis=0)
        refuse(
            ConfidenceError,
            bad,
            lambda at: (
                f"the chain gives {out[1, at]:g} for the label at place {bits.shape[1]} of its order, after "
                f"{bits[at].tolist()}: no probability."
            ),
            "P(next label = 1) is from 0 to 1.",
            case=self.first + case,
        )
        with np.errstate(divide="ignore"):
            np.log(out, out=out)
        return out[0], out[1]

    def ceiling(self, case: Ints, depth: int) -> Floats:
        """What the labels from this depth on can add to a log-probability at most, whatever comes before them.

        Zero: a probability of one is possible.
        """
        return np.zeros(len(case))

    def bound(self, case: Ints, bits: Bits) -> Floats:
        """What the labels that are still to come can add at most, after these prefixes: zero as well."""
        return np.zeros(len(case))


@dataclass(frozen=True, slots=True)
class AnyChain:
    """A chain of models of any kind."""

    order: Ints
    ask: Ask

    def over(self, X: Any, first: int) -> Links:
        """Its links on some cases; `first` is the number of the first of them."""
        return Links(X, first, self.ask)

    @classmethod
    def of_user(cls, chain: Conditionals) -> AnyChain:
        """A user's chain, see `Conditionals`."""

        def ask(rows: Any, bits: Bits) -> tuple[Any, Any]:
            p = np.asarray(chain.conditional(rows, bits), dtype=np.float64)
            if p.shape != (len(bits),):
                raise ShapeError(
                    f"conditional gives {p.shape} for {len(bits)} prefixes.", "One probability per prefix."
                )
            return 1.0 - p, p

        return cls(_as_order(chain.order), ask)

    @classmethod
    def of_estimators(cls, order: Ints, estimators: tuple[Any, ...]) -> AnyChain:
        """A chain of scikit-learn: the estimator at depth d sees X and the d labels before, in the order of it."""

        def ask(rows: Any, bits: Bits) -> tuple[Any, Any]:
            if not bits.shape[1]:
                beside = rows
            elif sparse.issparse(rows):
                beside = sparse.hstack((rows, sparse.csr_array(bits.astype(np.float64))), format="csr")
            else:
                beside = np.hstack((rows, bits.astype(np.float64)))
            return _both(estimators[bits.shape[1]], beside)

        return cls(order, ask)


def _both(estimator: Any, rows: Any) -> tuple[Any, Any]:
    """P(0) and P(1); an estimator that was trained on one class only has one column."""
    p = np.asarray(estimator.predict_proba(rows))
    none = np.zeros(len(p))
    column = {int(name): p[:, i] for i, name in enumerate(estimator.classes_)}
    return column.get(0, none), column.get(1, none)


@dataclass(frozen=True, slots=True)
class LogisticChain:
    """P(label at depth j = 1) = 1 / (1 + exp(-score)), score = intercept + X w + sum of `weights[i, j]` over i < j.

    The score is known up to the labels that are still open, each of which adds its weight or nothing. So it is in an
    interval, `middle` +- `half` about the score of what is fixed, and the label's probability, whichever way it goes,
    is largest at one of the two ends.
    """

    order: Ints
    features: Floats  # (features, L)
    intercepts: Floats
    weights: Floats  # (L, L), above the diagonal
    middle: Floats  # (L + 1, L): at depth d, half the sum of the weights of labels d to j - 1 in the score of j
    half: Floats  # ... and half the sum of their sizes

    def over(self, X: Any, _: int) -> LogisticLinks:
        """Its links on some cases."""
        base = np.asarray(X @ self.features) + self.intercepts
        most = log_expit(np.abs(base + self.middle[0]) + self.half[0])
        ceilings = np.zeros((len(base), len(self.order) + 1))
        ceilings[:, :-1] = np.cumsum(most[:, ::-1], axis=1)[:, ::-1]
        return LogisticLinks(self, base, ceilings)


@dataclass(frozen=True, slots=True)
class LogisticLinks:
    """The conditional distributions of a logistic chain on some cases, with bounds."""

    chain: LogisticChain
    base: Floats  # (cases, L): the scores of the features alone
    ceilings: Floats

    def next_label(self, case: Ints, bits: Bits) -> tuple[Floats, Floats]:
        """See `Links`."""
        depth = bits.shape[1]
        score = self.base[case, depth]
        if depth:
            weights = self.chain.weights[:depth, depth]
            for lo in range(0, len(case), _ROWS):
                score[lo : lo + _ROWS] += bits[lo : lo + _ROWS].astype(np.float64) @ weights
        return log_expit(-score), log_expit(score)

    def ceiling(self, case: Ints, depth: int) -> Floats:
        """See `Links`."""
        found: Floats = self.ceilings[case, depth]
        return found

    def bound(self, case: Ints, bits: Bits) -> Floats:
        """See `Links`."""
        depth = bits.shape[1]
        base = self.base[:, depth:] + self.chain.middle[depth, depth:]
        weights, half = self.chain.weights[:depth, depth:], self.chain.half[depth, depth:]
        out = np.empty(len(case))
        for lo in range(0, len(case), _ROWS):
            score = bits[lo : lo + _ROWS].astype(np.float64) @ weights
            score += base[case[lo : lo + _ROWS]]
            np.abs(score, out=score)
            score += half
            out[lo : lo + _ROWS] = log_expit(score, out=score).sum(axis=1)
        return out


AnyLinks = Links | LogisticLinks


def as_logistic(order: Ints, estimators: tuple[Any, ...], features: int) -> LogisticChain | None:
    """The chain as one of logistic models, if that is what all its estimators are."""
    width = len(order)
    weights, shown, intercepts = np.zeros((width, width)), np.zeros((features, width)), np.zeros(width)
    for depth, estimator in enumerate(estimators):
        line = np.asarray(getattr(estimator, "coef_", None))
        start = np.ravel(getattr(estimator, "intercept_", ()))
        if line.shape != (1, features + depth) or len(start) != 1 or len(estimator.classes_) != 2:
            return None
        shown[:, depth], weights[:depth, depth], intercepts[depth] = line[0, :features], line[0, features:], start[0]
        if not _is_logistic(estimator, line[0].astype(np.float64), intercepts[depth]):
            return None
    middle, half = np.zeros((width + 1, width)), np.zeros((width + 1, width))
    middle[:-1] = np.cumsum(weights[::-1], axis=0)[::-1] / 2
    half[:-1] = np.cumsum(np.abs(weights)[::-1], axis=0)[::-1] / 2
    return LogisticChain(order, shown, intercepts, weights, middle, half)


def _is_logistic(estimator: Any, line: Floats, start: float) -> bool:
    """Whether its probabilities are the logistic function of its score, tried at known scores."""
    steep = float(line @ line)
    scores = np.array(_TRIED) if steep > _FLAT else np.full(1, start)
    rows = np.outer(scores - start, line / steep if steep > _FLAT else np.zeros_like(line))
    return bool(np.allclose(_both(estimator, rows)[1], expit(scores), rtol=1e-6, atol=0))


def as_chain(chain: Any, X: Any) -> tuple[AnyChain | LogisticChain, Any]:
    """The chain, as the fastest kind it can be, and the features with a row per case."""
    rows = X.tocsr() if sparse.issparse(X) else np.asarray(X)
    if rows.ndim < 1:
        raise ShapeError("X has a row per case.")
    if hasattr(chain, "conditional") and hasattr(chain, "order"):
        return AnyChain.of_user(chain), rows
    if not (hasattr(chain, "estimators_") and hasattr(chain, "order_")):
        unfitted = " Fit it first." if hasattr(chain, "fit") else ""
        raise TopListError(
            f"expected a fitted ClassifierChain, or an object with `order` and `conditional(X, prefixes)`, "
            f"got {type(chain).__name__}.{unfitted}"
        )
    order, estimators = _as_fitted(chain)
    rows = rows if sparse.issparse(rows) else as_floats(rows, "X")
    wanted = getattr(estimators[0], "n_features_in_", None)
    if rows.ndim != 2 or (wanted is not None and rows.shape[1] != wanted):
        raise ShapeError(f"X has shape {rows.shape}; the chain was trained on {wanted} features.", "One row per case.")
    _check_finite(rows)
    return as_logistic(order, estimators, rows.shape[1]) or AnyChain.of_estimators(order, estimators), rows


def chunks(chain: AnyChain | LogisticChain, X: Any, each: int) -> Iterator[tuple[int, AnyLinks, int]]:
    """The first of some cases at a time, their links, and their number: `each` rows for every case."""
    cases, step = X.shape[0], max(1, ROWS // max(1, each))
    for first in range(0, cases, step):
        yield first, chain.over(X[first : first + step], first), min(step, cases - first)


def _as_fitted(chain: Any) -> tuple[Ints, tuple[Any, ...]]:
    """The order and the parts of a fitted `ClassifierChain`, checked to be classifiers of zeros and ones."""
    estimators, order = tuple(chain.estimators_), _as_order(chain.order_)
    if not len(order) or len(estimators) != len(order):
        raise ShapeError(f"the chain has {len(estimators)} estimators for {len(order)} labels.")
    if getattr(chain, "cv", None) is not None and getattr(chain, "chain_method_", "predict") != "predict":
        raise TopListError(
            f"this chain was trained on {chain.chain_method_} of earlier labels, not on the labels; "
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
    return order, estimators


def _as_order(order: Any) -> Ints:
    """A permutation of the labels."""
    found = np.asarray(order)
    if found.ndim != 1 or found.dtype.kind not in "iu" or not np.array_equal(np.sort(found), np.arange(len(found))):
        raise TopListError(f"the order of a chain names each label once, by its place; this one is {order!r}.")
    return found.astype(np.int64)


def _check_finite(X: Any) -> None:
    """Raise for features that scikit-learn would refuse, and name the case."""
    if sparse.issparse(X):
        wrong, case = ~np.isfinite(X.data), np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))
    else:
        wrong, case = ~np.isfinite(X).all(axis=1), np.arange(len(X))
    refuse(ConfidenceError, wrong, "a feature is NaN or infinite.", "The chain needs numbers.", case=case)
