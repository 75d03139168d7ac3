"""Classifier chains: lists of their most probable label sets, log-probabilities of given sets, and draws."""

from __future__ import annotations

import warnings
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from toplist._typing import Floats
from toplist.core.arguments import as_count, as_whole
from toplist.errors import ShapeError, SpaceError, TopListError
from toplist.lists import TopLists
from toplist.lists.labelsets import LabelSets, Sets
from toplist.multilabel.chains.models import as_chain, chunks
from toplist.multilabel.chains.search import Tree, follow_beam, given_not_empty, search_exactly
from toplist.multilabel.marginal_probabilities import no_sets
from toplist.multilabel.support import lists_of_sets

MOST = 100_000  # prefixes per case that an exact search follows by default


class SearchCutShort(UserWarning):
    """Warns that the search reached its limit: probabilities are exact, but more probable sets may be missing."""


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
    """The k most probable label sets of each case under a chain, P(y | x) = prod_j P(y_j | x, y_1 .. y_(j-1)).

    Confidences are the chain's own probabilities, and the rest mass is that of all other sets, added up in logarithms.
    A space without the empty set has them given that the set is not empty. Sets of probability zero are not listed.

    Parameters
    ----------
    chain : ClassifierChain or object
        A fitted `ClassifierChain` of scikit-learn whose estimators have `predict_proba` (linear logistic models are
        recognised, and are much faster than others), or any object with an `order` of labels and
        `conditional(X, prefixes)`, the probability that the next label is 1 for rows of X and the labels before.
    X : array or sparse matrix
        Features with a row per case.
    k : int
        The length of the lists.
    space : LabelSets, optional
        The label sets; by default labels are named after their places.
    search : {"exact", "beam"}, default "exact"
        "exact" finds the true top k unless it reaches its limit. "beam" keeps the `width` most probable prefixes: its
        time is known beforehand, but the list need not be the true top k, and so need not be valid.
    width : int, optional
        The width of the beam, 2 k by default.
    most : int, optional
        The limit of an exact search: about so many prefixes per case, 100,000 by default and never fewer than a beam
        takes; each needs one conditional probability.
    ids : array-like, optional
        The ids of the cases.

    Returns
    -------
    TopLists
        The sets of each case.

    Warns
    -----
    SearchCutShort
        If an exact search reached its limit; those lists are the best that were found.

    Examples
    --------
    >>> class Weather:
    ...     order = (0, 1)
    ...     def conditional(self, X, prefixes):
    ...         return X[:, 0] if prefixes.shape[1] == 0 else 0.2 + 0.6 * prefixes[:, 0]
    >>> chain_sets(Weather(), np.array([[0.3]]), 1, LabelSets(["wind", "rain"]))[0]
    TopList({} 0.56; unlisted 0.44 over 3 classes)
    """
    model, rows = as_chain(chain, X)
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
            f"{short:,} of {rows.shape[0]:,} searches ended after {limit:,} prefixes: a set that is more probable than "
            f"one that is listed may be missing there. Raise most=, list fewer sets, or take a beam.",
            SearchCutShort,
            stacklevel=2,
        )
    return lists_of_sets(
        known,
        np.concatenate(offsets),
        Sets.join([no_sets(len(model.order)), *parts]),
        np.concatenate([np.zeros(0), *log_ps]),
        log_rest=np.concatenate([np.zeros(0), *rests]),
        ids=ids,
    )


def chain_log_p(chain: Any, X: Any, sets: Any) -> Floats:
    """The log-probability of one label set per case under a chain.

    Parameters
    ----------
    chain, X
        As in `chain_sets`.
    sets : Sets or matrix of zeros and ones
        One set per case, with a column per label.

    Returns
    -------
    ndarray
        One log-probability per case.

    Examples
    --------
    >>> class Weather:
    ...     order = (0, 1)
    ...     def conditional(self, X, prefixes):
    ...         return X[:, 0] if prefixes.shape[1] == 0 else 0.2 + 0.6 * prefixes[:, 0]
    >>> np.exp(chain_log_p(Weather(), np.array([[0.3]]), [[0, 0]])).round(2)
    array([0.56])
    """
    model, rows = as_chain(chain, X)
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
    """Label sets drawn from a chain.

    Parameters
    ----------
    chain, X
        As in `chain_sets`.
    draws : int
        The number of draws per case.
    rng : numpy.random.Generator
        The source of randomness.

    Returns
    -------
    ndarray of bool
        (cases, draws, labels).

    Examples
    --------
    >>> class Weather:
    ...     order = (0, 1)
    ...     def conditional(self, X, prefixes):
    ...         return X[:, 0] if prefixes.shape[1] == 0 else 0.2 + 0.6 * prefixes[:, 0]
    >>> chain_samples(Weather(), np.array([[0.3]]), 5, rng=np.random.default_rng(0)).shape
    (1, 5, 2)
    """
    model, rows = as_chain(chain, X)
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
        raise SpaceError(f"the classes of a chain are label sets; the space is a LabelSets, not {known!r}.")
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
