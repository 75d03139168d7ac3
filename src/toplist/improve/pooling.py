"""Several predictors' lists for the same cases, averaged."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from toplist.arguments import as_vector
from toplist.errors import AlignmentError, ShapeError, SpaceError
from toplist.labelsets import Book, LabelSets
from toplist.lists import TopLists
from toplist.lists.batch import require_lists
from toplist.space import ClassSpace

Floats = NDArray[np.float64]


def linear_pool(
    lists: Sequence[TopLists] | Mapping[str, TopLists], *, weights: Sequence[float] | None = None, k: int | None = None
) -> TopLists:
    r"""The weighted mean of padded distributions, :math:`\sum_j w_j \tilde p_j`, listed on the union of the classes.

    Where a predictor does not list a class, its share of the rest mass counts; of a list that is not valid, the largest
    valid sublist does. So the pool is exact and valid, and under the Brier score it is in every case no worse than its
    members are on average. Weights add up to one (equal by default); `k` keeps the most confident classes only.

    >>> import toplist as tl
    >>> space = tl.ClassSpace(3, ["cat", "dog"])
    >>> a, b = tl.TopLists.from_dicts([{"cat": 0.6}], space), tl.TopLists.from_dicts([{"cat": 0.4, "dog": 0.4}], space)
    >>> linear_pool([a, b])[0]
    TopList({'cat': 0.5, 'dog': 0.3}, rest=0.2 over 1 class)
    """
    members = _members(lists)
    w = _weights(weights, len(members))
    n = len(members[0])
    proxies = np.stack([one.proxy for one in members])
    case = np.concatenate([np.repeat(np.arange(n), one.sizes) for one in members])
    code = np.concatenate([one.classes.astype(np.int64, copy=False) for one in members])
    above = np.concatenate(
        [
            weight * (one.normalized_confidences - np.repeat(proxy, one.sizes))
            for weight, one, proxy in zip(w, members, proxies, strict=True)
        ]
    )
    order = np.lexsort((code, case))
    case, code = case[order], code[order]
    new = np.ones(len(case), dtype=bool)
    new[1:] = (case[1:] != case[:-1]) | (code[1:] != code[:-1])
    first = np.flatnonzero(new)
    case, code = case[first], code[first]
    t = (np.add.reduceat(above[order], first) if len(first) else above) + (w @ proxies)[case]
    counts = np.bincount(case, minlength=n)
    offsets = np.concatenate((np.zeros(1, np.int64), np.cumsum(counts, dtype=np.int64)))
    space = _joined([one.space for one in members])
    pooled = TopLists.from_ragged(
        offsets, code, np.maximum(t, 0.0), space, log_rest=_log_rest(members, w, counts), ids=members[0].ids
    ).ordered()
    return pooled if k is None else pooled.truncate(k)


def _members(lists: Sequence[TopLists] | Mapping[str, TopLists]) -> list[TopLists]:
    members = list(lists.values()) if isinstance(lists, Mapping) else list(lists)
    if not members:
        raise ShapeError("there is nothing to pool.")
    for one in members:
        require_lists(one)
    first = members[0]
    for one in members[1:]:
        if one.space != first.space:
            raise SpaceError(f"the lists are over {first.space!r} and {one.space!r}: give all the same space.")
        if len(one) != len(first):
            raise ShapeError(f"the members have {len(first):,} and {len(one):,} lists; each case needs one of each.")
        if first.ids is not None and one.ids is not None and not np.array_equal(first.ids, one.ids):
            raise AlignmentError("the members are about different cases: bring their ids into one order.")
    return [one.strictly_valid() for one in members]


def _weights(weights: Sequence[float] | None, count: int) -> Floats:
    if weights is None:
        return np.full(count, 1.0 / count)
    w = as_vector(weights, "weights")
    if len(w) != count:
        raise ShapeError(f"{len(w)} weights for {count} members.", "One each.")
    total = float(w.sum())
    if not (w >= 0).all() or not abs(total - 1.0) <= 1e-9:
        raise ShapeError(f"weights are not negative and add up to one; these add up to {total:g}.")
    return np.divide(w, total)


def _log_rest(members: list[TopLists], w: Floats, counts: NDArray[np.int64]) -> Floats:
    """What no member lists: each one's share for every class that is left."""
    size = members[0].admitted.rows.size
    total = np.zeros(len(counts))
    for weight, one in zip(w, members, strict=True):
        unlisted = size - one.sizes
        with np.errstate(invalid="ignore"):
            share = np.where(np.isfinite(size), (size - counts) / np.where(unlisted > 0, unlisted, 1.0), 1.0)
        total += weight * one.rest * share
    with np.errstate(divide="ignore"):
        log: Floats = np.log(total)
    return log


def _joined(spaces: list[ClassSpace]) -> ClassSpace:
    """The space of the members; where codes are digests, with the books of all."""
    first = spaces[0]
    if not isinstance(first, LabelSets) or not first.digests:
        return first
    books = [space.book for space in spaces if isinstance(space, LabelSets) and space.book is not None]
    return first.with_book(Book.join(books) if books else None)
