"""Which chain this is, and its links on some cases at a time.

What a chain says of label sets: lists of the likeliest, the probabilities of given ones, draws.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from toplist._arguments import as_count, as_floats, as_whole
from toplist._typing import Floats, Ints
from toplist.errors import ConfidenceError, ShapeError, SpaceError, TopListError
from toplist.lists import TopLists
from toplist.lists.labelsets import LabelSets, Sets
from toplist.multilabel.chains.models import ChainModel, FittedChain, Links, OwnChain, as_logistic
from toplist.multilabel.chains.search import ROWS, Tree, follow_beam, given_not_empty, search_exactly
from toplist.multilabel.support import lists_of_sets


def read(chain: Any, X: Any) -> tuple[ChainModel, Any]:
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


def chunks(chain: ChainModel, X: Any, each: int) -> Iterator[tuple[int, Links, int]]:
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


MOST = 100_000


class SearchCutShort(UserWarning):
    """Some lists hold exact probabilities, but perhaps not of the likeliest sets: the search came to its limit."""


def chain_sets(
    chain: Any,
    X: Any,
    k: int,
    space: LabelSets | None = None,
    *,
    search: Literal["exact", "beam"] = "exact",
    width: int | None = None,
    most: int | None = None,
    ids: Any = None,
) -> TopLists:
    """The k likeliest label sets of each case under a classifier chain, P(y | x) = prod_j P(y_j | x, y_1 .. y_(j-1)).

    `chain` is a fitted `ClassifierChain` of scikit-learn whose estimators have `predict_proba`, or any object with an
    `order` of labels and `conditional(X, prefixes)`, which says P(next label = 1) for rows of X and the labels before
    (`Conditionals`). Linear logistic models are recognised, and are much faster than others.

    `search="exact"` finds the true top k, after about `most` prefixes per case (100,000 unless told otherwise, and
    never fewer than a beam takes; each asks for one conditional probability). Where that is not enough the list is the
    best that was found, and a warning (`SearchCutShort`) says for how many cases. `search="beam"` keeps the `width`
    likeliest prefixes (2 k unless told otherwise): the time is known beforehand, the list need not be the true top k,
    and so need not be valid.

    Confidences are the chain's own probabilities either way, and the rest mass is that of all other sets, added up in
    logarithms. A space without the empty set has them given that the set is not empty. Sets of probability zero are
    not listed.

    >>> class Weather:
    ...     order = (0, 1)
    ...     def conditional(self, X, prefixes):
    ...         return X[:, 0] if prefixes.shape[1] == 0 else 0.2 + 0.6 * prefixes[:, 0]
    >>> chain_sets(Weather(), np.array([[0.3]]), 1, LabelSets(["wind", "rain"]))[0]
    TopList({{}: 0.56}, rest=0.44 over 3 classes)
    """
    model, rows = read(chain, X)
    known = _as_space(space, len(model.order))
    k = as_count(k)
    beam = _beam_width(search, width, most, k)
    limit = MOST if most is None else as_whole(most, "most", 1)
    offsets, parts, log_ps, rests, short = [np.zeros(1, np.int64)], [], [], [], 0
    for first, links, cases in chunks(model, rows, 2 * (beam or 2 * k + 2)):
        tree = Tree(links, cases, len(model.order), known.empty)
        found = search_exactly(tree, k, limit) if beam is None else follow_beam(tree, k, beam)
        found = found if known.empty else given_not_empty(found, first)
        offsets.append(offsets[-1][-1] + np.cumsum(np.bincount(found.sets.case, minlength=cases)))
        parts.append(_in_label_order(found.sets.bits, model.order))
        log_ps.append(found.sets.log_p)
        rests.append(found.log_rest)
        short += int(found.short.sum())
    if short:
        warnings.warn(
            f"{short:,} of {rows.shape[0]:,} searches ended after {limit:,} prefixes: a set that is likelier than one "
            f"that is listed may be missing there. Raise most=, list fewer sets, or take a beam.",
            SearchCutShort,
            stacklevel=2,
        )
    return lists_of_sets(
        known,
        np.concatenate(offsets),
        _joined(parts, len(model.order)),
        np.concatenate([np.zeros(0), *log_ps]),
        log_rest=np.concatenate([np.zeros(0), *rests]),
        ids=ids,
    )


def chain_log_p(chain: Any, X: Any, sets: Any) -> Floats:
    """The log-probability of one label set per case under a chain, as `chain_sets` reads it.

    `sets` are `Sets`, or a matrix of zeros and ones with a column per label.
    """
    model, rows = read(chain, X)
    batch = sets if isinstance(sets, Sets) else Sets.from_indicators(sets)
    if batch.width != len(model.order) or len(batch) != rows.shape[0]:
        raise ShapeError(
            f"{len(batch)} sets of {batch.width} labels for {rows.shape[0]} cases and a chain of {len(model.order)}."
        )
    out = np.zeros(len(batch))
    for first, links, cases in chunks(model, rows, 1):
        bits = batch.take(slice(first, first + cases)).indicators()[:, model.order].astype(np.uint8)
        case = np.arange(cases)
        for depth in range(len(model.order)):
            log_p = links.next_label(case, bits[:, :depth])
            out[first : first + cases] += np.where(bits[:, depth], log_p[1], log_p[0])
    return out


def chain_samples(chain: Any, X: Any, draws: int, *, rng: np.random.Generator) -> NDArray[np.bool_]:
    """Label sets drawn from a chain, label by label: an array (cases, draws, labels)."""
    model, rows = read(chain, X)
    draws = as_whole(draws, "draws", 1)
    out = np.empty((rows.shape[0], draws, len(model.order)), dtype=bool)
    for first, links, cases in chunks(model, rows, draws):
        case = np.repeat(np.arange(cases), draws)
        bits = np.zeros((len(case), len(model.order)), np.uint8)
        for depth in range(len(model.order)):
            bits[:, depth] = rng.random(len(case)) < np.exp(links.next_label(case, bits[:, :depth])[1])
        out[first : first + cases][:, :, model.order] = bits.reshape(cases, draws, -1)
    return out


def _as_space(space: LabelSets | None, width: int) -> LabelSets:
    known = LabelSets(range(width)) if space is None else space
    if not isinstance(known, LabelSets):
        raise SpaceError(f"a chain speaks of label sets; the space is a LabelSets, not {known!r}.")
    if len(known.names) != width:
        raise SpaceError(f"the chain has {width} labels, and the space {len(known.names)}.")
    if known.support is not None:
        raise SpaceError(
            "a chain gives a probability to every set, also outside the support; list in the space of all sets, "
            "or score the support with chain_log_p and support_sets."
        )
    return known


def _beam_width(search: str, width: int | None, most: int | None, k: int) -> int | None:
    """The width of a beam, or None for an exact search."""
    if search not in ("exact", "beam"):
        raise TopListError(f'search is "exact" or "beam", not {search!r}.')
    if search == "exact":
        if width is not None:
            raise TopListError('the width is that of a beam; pass search="beam" with it.')
        return None
    if most is not None:
        raise TopListError("most is the limit of an exact search; a beam has its width.")
    found = max(1, 2 * k) if width is None else as_whole(width, "width", 1)
    if found < k:
        raise TopListError(f"a beam of width {found} ends with {found} sets; {k} need one of {k} at least.")
    return found


def _in_label_order(bits: NDArray[np.uint8], order: NDArray[np.int64]) -> Sets:
    spread = np.zeros(bits.shape, dtype=bool)
    spread[:, order] = bits
    return Sets.from_indicators(spread)


def _joined(parts: list[Sets], width: int) -> Sets:
    sizes = np.concatenate([np.zeros(1, np.int64), *(part.sizes for part in parts)])
    return Sets(np.cumsum(sizes), np.concatenate([np.zeros(0, np.int32), *(p.labels for p in parts)]), width)
