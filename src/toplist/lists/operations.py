"""Operations on batches of lists: truncation, ranks within lists, concatenation, lookup of probabilities."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from toplist._typing import Floats
from toplist.core import kernel
from toplist.core.kernel import Rows
from toplist.lists.space import ClassSpace
from toplist.lists.toplists import TopLists
from toplist.lists.validation import CheckedColumns, row_sums


def keep_first(lists: TopLists, counts: Any) -> TopLists:
    """The first `counts[i]` classes of each list, in the order they stand in."""
    return keep_entries(lists, ranks_in(lists) < np.repeat(np.asarray(counts), lists.sizes))


def keep_entries(lists: TopLists, keep: NDArray[np.bool_]) -> TopLists:
    """Some of the entries, in the order they stand in; what is left out joins the rest mass exactly."""
    return lists if keep.all() else replace(lists, checked=lists.checked._keep(keep))


def mass_before(lists: TopLists) -> Floats:
    """For each entry the mass of the entries before it."""
    t = lists.normalized_confidences
    out = np.empty(len(t))
    for where in rectangles(lists):
        out[where] = np.cumsum(t[where], axis=1) - t[where]
    return out


def mass_from(lists: TopLists) -> Floats:
    """For each entry its own mass and all that comes after it, the rest mass too, summed from the back."""
    t, rest, case = lists.normalized_confidences, lists.rest, np.repeat(np.arange(len(lists)), lists.sizes)
    out = np.empty(len(t))
    for where in rectangles(lists):
        out[where] = np.cumsum(t[where][:, ::-1], axis=1)[:, ::-1] + rest[case[where]]
    return out


def first_where(mask: NDArray[np.bool_], lists: TopLists) -> NDArray[np.int64]:
    """Per case the place of the first entry with a mark; the length of the list if there is none."""
    out = lists.sizes.copy()
    at = np.flatnonzero(mask)[::-1]  # later assignments win: the first mark of a case stands
    out[np.repeat(np.arange(len(lists)), lists.sizes)[at]] = ranks_in(lists)[at]
    return out


def rectangles(lists: TopLists) -> list[NDArray[np.int64]]:
    """Where the entries of lists of one length stand, for each length but zero."""
    groups = kernel.by_length(lists.checked.rows)
    return [lists.offsets[at][:, None] + np.arange(k) for at, part in groups if (k := part.confidences.shape[1])]


def ranks_in(lists: TopLists) -> NDArray[np.int64]:
    """The place of each entry in its list, from 0: its rank, where lists begin with the most confident class."""
    ranks: NDArray[np.int64] = np.arange(len(lists.confidences)) - np.repeat(lists.offsets[:-1], lists.sizes)
    return ranks


def join(parts: Sequence[TopLists], classes: Sequence[NDArray[Any]], space: ClassSpace) -> TopLists:
    """The cases of all parts, one after the other; `classes` are the codes that those of each part have in the space.

    What a part knows by its logarithm only, a confidence or a rest, is known so afterwards.

    >>> a, b = TopLists.from_dicts([{"x": 0.7}], 3), TopLists.from_dicts([{"y": 0.5, "x": 0.4}], 3)
    >>> join([a, b], [a.classes, b.classes[::-1]], ClassSpace(labels=["x", "y", "z"]))[1]
    TopList(y 0.5, x 0.4; unlisted 0.1 over 1 class)
    """
    every = [one.checked for one in parts]
    sizes = np.concatenate([one.sizes for one in parts])
    offsets = np.concatenate((np.zeros(1, np.int64), np.cumsum(sizes, dtype=np.int64)))
    log_rest, logs, shown = None, None, None
    if any(one.log_rest is not None for one in parts):
        log_rest = np.concatenate([_log(one.rest) if one.log_rest is None else one.log_rest for one in parts])
    if any(one.log_confidences is not None for one in parts):
        known = [_log(one.confidences) if one.log_confidences is None else one.log_confidences for one in parts]
        logs = np.concatenate(known)
    if any(one.rows.shown is not None for one in every):
        exact = [np.zeros((len(one), 2)) if one.checked.rows.shown is None else one.checked.rows.shown for one in parts]
        shown = np.concatenate(exact)
    rows = Rows(
        offsets,
        np.concatenate(classes),
        np.concatenate([one.rows.confidences for one in every]),
        log_rest,
        *space.as_floats,
        logs,
        min((one.rows.bits for one in every), default=None),
        shown,
    )
    signed_rest, found = (
        np.concatenate([one.signed_rest for one in every]),
        np.concatenate([one.flags for one in every]),
    )
    return TopLists(
        space, None, CheckedColumns(rows, signed_rest, found, {})
    )  # they are checked, and stay what they are


def _log(x: NDArray[Any]) -> NDArray[np.float64]:
    with np.errstate(divide="ignore"):
        found: NDArray[np.float64] = np.log(x.astype(np.float64, copy=False))
    return found


@dataclass(frozen=True, slots=True)
class ClassProbabilities:
    """The probability that `truth` gives to each class that `lists` has, and to all that it has not."""

    listed: Floats  # aligned with lists.classes
    unlisted: Floats  # one per case


def beliefs(truth: TopLists, lists: TopLists) -> ClassProbabilities:
    """Look up padded probabilities: O(listed classes), or O(n m) where `truth` is dense."""
    case = np.repeat(np.arange(len(lists)), lists.sizes)
    if truth.checked.rows.classes is None:
        p = truth.normalized_confidences.reshape(len(truth), int(truth.checked.rows.size[0]))
        listed = p[case, lists.classes]
        if lists.checked.rows.classes is None:
            return ClassProbabilities(listed, np.zeros(len(lists)))
        left = p.copy()
        left[case, lists.classes] = 0.0
        return ClassProbabilities(listed, left.sum(axis=1))
    return _join(truth, lists, case)


def _join(truth: TopLists, lists: TopLists, case: NDArray[np.intp]) -> ClassProbabilities:
    theirs = truth.normalized_confidences
    their_case = np.repeat(np.arange(len(truth)), truth.sizes)
    _, code = np.unique(np.concatenate([lists.classes, truth.classes]), return_inverse=True)
    width = int(code.max(initial=0)) + 1
    wanted, there = case * width + code[: len(case)], their_case * width + code[len(case) :]
    order = np.argsort(there)
    at = np.searchsorted(there[order], wanted)
    at = np.minimum(at, max(len(there) - 1, 0))
    found = there[order][at] == wanted if len(there) else np.zeros(len(wanted), bool)
    listed = np.where(found, theirs[order][at] if len(there) else 0.0, truth.proxy[case])
    shared = np.zeros(len(there), bool)
    shared[order[at[found]]] = True
    neither = truth.checked.rows.size - truth.sizes - row_sums(~found, lists.offsets)
    apart = np.where(neither > 0, truth.proxy * np.where(np.isfinite(neither), neither, 0.0), 0.0)
    apart = np.where(np.isinf(neither), truth.rest, apart)
    return ClassProbabilities(listed, row_sums(np.where(shared, 0.0, theirs), truth.offsets) + apart)
