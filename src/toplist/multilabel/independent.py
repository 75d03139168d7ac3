"""The most probable label sets under independent labels, from the probability of each label."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from toplist.core import kernel, subset_search
from toplist.core.arguments import as_array, as_floats, as_whole
from toplist.core.subset_search import Likeliest, Spelling
from toplist.errors import CaseError, ConfidenceError, ShapeError, SpaceError, TopListError
from toplist.lists import TopLists
from toplist.lists.labelsets import Codebook, LabelSets, Sets
from toplist.multilabel.support import lists_of_sets, offsets_of

Scale = Literal["probability", "logit"]

_MOST = 1 << 27  # sets of one case


def best_sets(
    marginals: Any, k: int, space: LabelSets | None = None, *, scale: Scale = "probability", ids: Any = None
) -> TopLists:
    """The k most probable label sets of each case under independent labels: P(S) = prod p_in prod (1 - p_out).

    The rest mass is that of all other sets, without cancellation. Where the space has no empty set, probabilities are
    given that the set is not empty. A set of probability zero is never listed, so that a list may have fewer than k
    sets. Of equally probable sets, those that differ in fewer labels from the most probable one (the labels with a
    probability above 1/2) come first, and among labels equally close to 1/2 the one that stands first is flipped first.
    A case takes time of the order of L + k log k.

    Parameters
    ----------
    marginals : array-like or data frame
        Probabilities of labels, (cases, labels); the columns of a data frame go by their names.
    k : int
        The length of the lists, at least 1.
    space : LabelSets, optional
        The label sets; by default labels are named after the columns.
    scale : {"probability", "logit"}, default "probability"
        "logit" takes log-odds, which keep the digits of probabilities next to one.
    ids : array-like, optional
        The ids of the cases.

    Returns
    -------
    TopLists
        The most probable sets of each case.

    Examples
    --------
    >>> lists = best_sets([[0.9, 0.2, 0.4]], 3, LabelSets(["a", "b", "c"]))
    >>> [sorted(lists.space.decode(code)) for code in lists.classes], lists.confidences.round(3)
    ([['a'], ['a', 'c'], ['a', 'b']], array([0.432, 0.288, 0.108]))
    """
    if hasattr(marginals, "columns"):
        space = LabelSets(marginals.columns) if space is None else space
        marginals = space.by_name(marginals) if isinstance(space, LabelSets) else marginals
    p = _as_matrix(marginals)
    if scale not in ("probability", "logit"):
        raise TopListError(f'scale is "probability" or "logit", not {scale!r}.')
    known = _as_sets(space, p.shape[1])
    most = min(as_whole(k, "k", 1), known.size)
    if most > _MOST:
        raise TopListError(f"k is at most {_MOST:,} label sets of a case, not {k:,}.")
    names = None if ids is None else as_array(ids, "ids")
    found = kernel.best_sets(p, known.keys, most, logit=scale == "logit", empty=known.empty, spelled=known.digests)
    row, reason = found.refused
    if reason:
        raise _refusal(p, row, reason, scale, known, names)
    codes, log_p = found.listed(found.codes), found.listed(found.log_p)
    if known.masks and not known.empty:
        codes -= 1
    book = None if found.spelling is None else _book(found, found.spelling, codes, p.shape[1])
    return lists_of_sets(known, offsets_of(found.counts), (codes, book), log_p, log_rest=found.log_rest, ids=names)


def _as_matrix(marginals: Any) -> NDArray[Any]:
    p = as_floats(marginals, "marginals")
    if p.ndim != 2:
        raise ShapeError(
            f"marginals are a (cases, labels) array, not one of shape {p.shape}.", "One case is one row: [[0.9, 0.2]]."
        )
    return p


def _as_sets(space: Any, width: int) -> LabelSets:
    if space is None:
        return LabelSets(range(width))
    if not isinstance(space, LabelSets):
        raise SpaceError(f"the classes are label sets: pass LabelSets(labels), not {type(space).__name__}.")
    if space.support is not None:
        raise SpaceError("this space has a support, of which support_sets lists the most probable sets.")
    if len(space.names) != width:
        raise ShapeError(f"{width} columns for {len(space.names)} labels.", "Each label has a column of marginals.")
    return space


def _book(found: Likeliest, spelling: Spelling, codes: NDArray[np.int64], width: int) -> Codebook:
    """Which sets these are: the likeliest of their case, with some labels flipped."""
    flips = Sets(offsets_of(found.listed(spelling.counts)), spelling.flips, width)
    return Codebook(codes, spelling.bits, np.repeat(np.arange(len(found.counts)), found.counts), flips)


def _refusal(p: NDArray[Any], row: int, reason: int, scale: str, space: LabelSets, ids: Any) -> CaseError:
    """The error for the first case that has no sets."""
    name = "" if ids is None or row >= len(ids) else repr(ids[row].item() if hasattr(ids[row], "item") else ids[row])
    if reason == subset_search.ONLY_EMPTY:
        none = p <= (-subset_search.CERTAIN if scale == "logit" else 0.0)
        return only_empty(np.all(none, axis=1), name)
    bad = np.isnan(p) if scale == "logit" else ~((p >= 0) & (p <= 1))
    label = int(np.argmax(bad[row]))
    value, more = float(p[row, label]), int(np.count_nonzero(bad.any(axis=1))) - 1
    what = "log-odds" if scale == "logit" else "probability"
    problem = f"the {what} of label {space.names[label]!r} {'are' if scale == 'logit' else 'is'} {value:g}."
    return ConfidenceError(problem, _remedy(p, value), case=row, name=name, more=more)


def only_empty(none: NDArray[np.bool_], name: str = "") -> ConfidenceError:
    """The error for cases in which no label is possible, where there is no empty set."""
    problem = "every label has probability zero, and the empty set is not a class of this space."
    case, more = int(np.argmax(none)), int(np.count_nonzero(none)) - 1
    return ConfidenceError(problem, "Allow it with empty=True.", case=case, name=name, more=more)


def _remedy(p: NDArray[Any], value: float) -> str:
    if np.isnan(value):
        return "Leave the case out on purpose: nothing is dropped silently."
    if np.nanmin(p) >= 0 and np.nanmax(p) <= 100:
        return 'If these are percentages, divide them by 100; if they are log-odds, pass scale="logit".'
    return 'Probabilities are from 0 to 1. If these are log-odds, pass scale="logit".'
