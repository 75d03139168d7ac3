"""Lists of label sets from an explicit support, with a mass for all other sets."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from toplist._typing import Bools, Floats, Ints
from toplist.core import kernel
from toplist.core.arguments import as_count, as_floats, as_vector
from toplist.errors import ConfidenceError, MassError, ShapeError, SpaceError
from toplist.lists import TopLists, from_logs
from toplist.lists.labelsets import Codebook, LabelSets, Sets
from toplist.lists.space import UNLISTED

_LEAST = float(np.log(np.finfo(np.float64).tiny))  # the log of the smallest number that has all its digits


def offsets_of(sizes: NDArray[Any]) -> Ints:
    """Where rows of these sizes begin, and the end."""
    return np.concatenate((np.zeros(1, np.int64), np.cumsum(sizes, dtype=np.int64)))


def lists_of_sets(
    space: LabelSets,
    offsets: NDArray[Any],
    sets: Sets | tuple[Ints, Codebook | None],
    log_p: Floats,
    *,
    log_rest: Floats | None = None,
    ids: Any = None,
) -> TopLists:
    """Top lists whose case i has the sets offsets[i] to offsets[i + 1], given as sets or as codes with a codebook.

    A case whose most probable set is below the smallest number is refused: zeros would not tell its sets apart.
    """
    some = np.flatnonzero(np.diff(offsets))
    top = np.maximum.reduceat(log_p, offsets[some]) if len(some) else np.zeros(0)
    lost = np.flatnonzero((top > -np.inf) & (top < _LEAST))
    if len(lost):
        raise MassError(
            f"the most probable set has the probability e^{top[lost[0]]:.6g}, which is below the smallest number.",
            "Make lists of sets of fewer labels: labels that are nearly independent can be scored in parts.",
            case=int(some[lost[0]]),
            more=len(lost) - 1,
        )
    if isinstance(sets, Sets):
        codes = space.encode(sets)
        book = Codebook.of(sets) if space.digests else None
    else:
        codes, book = sets
    known = space.with_book(book) if space.digests else space
    return from_logs(offsets, codes, log_p, known, log_rest=log_rest, ids=ids)


def support_sets(
    log_scores: Any, support: Any, k: int, space: LabelSets, *, unseen: Any = 0.0, ids: Any = None
) -> TopLists:
    """The k most probable sets of a support: softmax(log_scores) * (1 - unseen), and `unseen` for all other sets.

    Ties go to the set that stands first. A list is valid unless more is unseen than its sets allow.

    Parameters
    ----------
    log_scores : array-like
        A row per case and a column per set of the support, in its order.
    support : Sets, matrix of zeros and ones, or collections of labels
        The sets, as `space.sets` reads them.
    k : int
        The length of the lists; the mass of other sets goes to the rest.
    space : LabelSets
        The label sets.
    unseen : float or array-like, default 0.0
        The mass of all sets outside the support, one number or one per case; 0 where the support is the whole space.
    ids : array-like, optional
        The ids of the cases.

    Returns
    -------
    TopLists
        The most probable sets of each case.

    Examples
    --------
    >>> support_sets(np.log([[2, 1]]), [{"a"}, {"b"}], 2, LabelSets("ab"), unseen=0.1)[0]
    TopList({a} 0.6, {b} 0.3; unlisted 0.1 over 2 classes)
    """
    sets = _as_support(support, space)
    x = _as_log_scores(log_scores, len(sets))
    n, seen = x.shape
    k = min(as_count(k), seen)
    hidden = as_unseen(unseen, np.full(n, seen == space.size))
    columns, values, _ = kernel.select(x, k)
    np.put_along_axis(x, columns.astype(np.intp), -np.inf, axis=1)
    beyond = _log_sum(x)
    scale = np.log1p(-hidden) - np.logaddexp(beyond, _log_sum(values))
    with np.errstate(divide="ignore"):
        log_rest = np.logaddexp(np.log(hidden), beyond + scale)
    log_p = values + scale[:, None]
    possible = values > -np.inf
    offsets = offsets_of(possible.sum(axis=1))
    chosen = columns[possible].astype(np.int64)
    listed: Any = sets.take(chosen) if space.digests else (space.encode(sets)[chosen], None)
    return lists_of_sets(space, offsets, listed, log_p[possible], log_rest=log_rest, ids=ids)


def support_log_scores(marginals: Any, sets: Any) -> Floats:
    """The log-probability of each set under independent labels, sum_s log p + sum_(not s) log(1 - p).

    Parameters
    ----------
    marginals : array-like
        Probabilities with a row per case and a column per label.
    sets : Sets or matrix of zeros and ones
        The sets, with a column per label.

    Returns
    -------
    ndarray
        A row per case and a column per set.

    Examples
    --------
    >>> np.exp(support_log_scores([[0.5, 0.8]], [[1, 0], [1, 1]])).round(4)
    array([[0.1, 0.4]])
    """
    batch = sets if isinstance(sets, Sets) else Sets.from_indicators(sets)
    p = as_floats(marginals, "marginals").astype(np.float64, copy=False)
    if p.ndim != 2 or p.shape[1] != batch.width:
        raise ShapeError(f"marginals of shape {p.shape} for sets of {batch.width} labels.", "A column per label.")
    bad = ~((p >= 0) & (p <= 1)).all(axis=1)
    if bad.any():
        row, more = int(np.argmax(bad)), int(bad.sum()) - 1
        raise ConfidenceError("a marginal is no probability.", "They are from 0 to 1.", case=row, more=more)
    holds = sparse.csr_array((np.ones(len(batch.labels)), batch.labels, batch.offsets), (len(batch), batch.width))
    never, always = p == 0, p == 1
    with np.errstate(divide="ignore"):
        log_in, log_out = np.where(never, 0.0, np.log(p)), np.where(always, 0.0, np.log1p(-p))
    out: Floats = (holds @ (log_in - log_out).T).T + log_out.sum(axis=1, keepdims=True)
    if never.any() or always.any():
        wrong = (holds @ (never.astype(float) - always).T).T + always.sum(axis=1, keepdims=True)
        out[wrong > 0] = -np.inf
    return out


def _as_support(support: Any, space: Any) -> Sets:
    if not isinstance(space, LabelSets):
        raise SpaceError(f"a support is of label sets; the space is a LabelSets, not {space!r}.")
    sets = space.sets(support)
    codes = space.encode(sets)
    if (codes == UNLISTED).any():
        label = space.named(sets.take([int(np.argmax(codes == UNLISTED))]))[0]
        raise SpaceError(f"{set(label) or '{}'} is scored, but is not in the support of the space.")
    if len(np.unique(codes)) < len(codes):
        raise SpaceError("a label set is in the support twice; its scores have one column.")
    return sets


def _as_log_scores(log_scores: Any, seen: int) -> Floats:
    x = as_floats(log_scores, "log scores").astype(np.float64)
    if x.ndim != 2 or x.shape[1] != seen:
        raise ShapeError(f"log scores of shape {x.shape} for {seen} sets.", "A row per case, a column per set.")
    bad = np.isnan(x).any(axis=1) | np.isposinf(x).any(axis=1) | np.isneginf(x).all(axis=1)
    if bad.any():
        row, more = int(np.argmax(bad)), int(bad.sum()) - 1
        raise ConfidenceError("a log score is NaN or infinite, or all are minus infinity.", case=row, more=more)
    return x


def as_unseen(unseen: Any, everything: Bools) -> Floats:
    """The mass of unseen sets in each case; it must be zero where every set is seen."""
    u = np.full(len(everything), unseen, np.float64) if isinstance(unseen, int | float) else as_vector(unseen, "unseen")
    if len(u) != len(everything):
        raise ShapeError(f"{len(u)} masses of unseen sets for {len(everything)} cases.", "One number, or one per case.")
    bad = ~((u >= 0) & (u < 1))
    if bad.any():
        row, more = int(np.argmax(bad)), int(bad.sum()) - 1
        raise ConfidenceError(f"unseen is {u[row]:g}.", "It is a mass from 0 to below 1.", case=row, more=more)
    bad = everything & (u > 0)
    if bad.any():
        raise MassError(
            "every set of the space is there, so that none is unseen.",
            "Leave unseen at 0, or take the space of all label sets.",
            case=int(np.argmax(bad)),
            more=int(bad.sum()) - 1,
        )
    return u


def _log_sum(x: Floats) -> Floats:
    """log(sum(exp(x))) of each row."""
    top = x.max(axis=1, keepdims=True, initial=-np.inf)
    top = np.where(np.isfinite(top), top, 0.0)
    with np.errstate(divide="ignore"):
        log: Floats = np.log(np.exp(x - top).sum(axis=1)) + top[:, 0]
    return log
