"""Several predictors' lists for the same cases, averaged."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from toplist.arguments import as_vector
from toplist.errors import AlignmentError, ShapeError, SpaceError
from toplist.labelsets import Book, LabelSets
from toplist.lists import TopLists, from_logs, require_lists
from toplist.space import ClassSpace

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]

LOG_SMALL = -600.0


def linear_pool(
    lists: Sequence[TopLists] | Mapping[str, TopLists], *, weights: Sequence[float] | None = None, k: int | None = None
) -> TopLists:
    r"""The weighted mean of padded distributions, :math:`\sum_j w_j \tilde p_j`, listed on the union of the classes.

    Where a predictor does not list a class, its share of the rest mass counts; of a list that is not valid, the largest
    valid sublist does. So the pool is exact and, up to rounding, valid; under the Brier score it is in every case no
    worse than its members are on average. Weights add up to one (equal by default); `k` keeps the most confident
    classes only.

    >>> import toplist as tl
    >>> space = tl.ClassSpace(3, ["cat", "dog"])
    >>> a, b = tl.TopLists.from_dicts([{"cat": 0.6}], space), tl.TopLists.from_dicts([{"cat": 0.4, "dog": 0.4}], space)
    >>> linear_pool([a, b])[0]
    TopList({'cat': 0.5, 'dog': 0.3}, rest=0.2 over 1 class)
    """
    members = _members(lists)
    w = _weights(weights, len(members))
    case, code, which, first = _union(members)
    count = len(members[0])
    counts = np.bincount(case[first], minlength=count)
    offsets = np.concatenate((np.zeros(1, np.int64), np.cumsum(counts, dtype=np.int64)))
    small = any(map(_is_small, members))
    make, add = (from_logs, _add_logs) if small else (TopLists.from_ragged, _add)
    t, log_rest = add(members, w, case, which, first, counts)
    space = _joined([one.space for one in members])
    pooled: TopLists = make(offsets, code[first], t, space, log_rest=log_rest, ids=members[0].ids).ordered()
    return pooled if k is None else pooled.truncate(k)


def _union(members: list[TopLists]) -> tuple[Codes, Codes, NDArray[np.intp], NDArray[np.intp]]:
    """All entries by case and class: these two, which entry each is, and where a new class begins."""
    case = np.concatenate([np.repeat(np.arange(len(one)), one.sizes) for one in members])
    code = np.concatenate([one.classes.astype(np.int64, copy=False) for one in members])
    order = np.lexsort((code, case))
    case, code = case[order], code[order]
    new = np.ones(len(case), dtype=bool)
    new[1:] = (case[1:] != case[:-1]) | (code[1:] != code[:-1])
    return case, code, order, np.flatnonzero(new)


def _add(
    members: list[TopLists], w: Floats, case: Codes, which: NDArray[np.intp], first: NDArray[np.intp], counts: Codes
) -> tuple[Floats, Floats]:
    """Each entry adds what it has above its member's share, and all shares are added at the end; log of the rest."""
    proxies = np.stack([one.proxy for one in members])
    above = [
        weight * (one.normalized_confidences - np.repeat(proxy, one.sizes))
        for weight, one, proxy in zip(w, members, proxies, strict=True)
    ]
    flat = np.concatenate(above)[which]
    t = (np.add.reduceat(flat, first) if len(first) else flat) + (w @ proxies)[case[first]]
    rest = sum(weight * one.rest * _share(one, counts) for weight, one in zip(w, members, strict=True))
    with np.errstate(divide="ignore"):
        return np.maximum(t, 0.0), np.log(rest)


def _add_logs(
    members: list[TopLists], w: Floats, case: Codes, which: NDArray[np.intp], first: NDArray[np.intp], counts: Codes
) -> tuple[Floats, Floats]:
    """The same in logarithms, where numbers underflow: what each member says of each class, one after the other."""
    owner = np.repeat(np.arange(len(members)), [len(one.classes) for one in members])[which]
    entries = np.concatenate([_logs(one) for one in members])[which]
    place = np.cumsum(np.isin(np.arange(len(case)), first)) - 1
    log_t, log_rest = np.full(len(first), -np.inf), np.full(len(counts), -np.inf)
    with np.errstate(divide="ignore", invalid="ignore"):
        for at, (log_w, one) in enumerate(zip(np.log(w), members, strict=True)):
            rest = np.log(one.rest) if one.log_rest is None else one.log_rest
            left = one.admitted.rows.size - one.sizes
            log_left = np.where(np.isfinite(left), np.log(left), one.admitted.rows.log_size)
            mine = np.where(left > 0, rest - log_left, -np.inf)[case[first]]
            here = owner == at
            mine[place[here]] = entries[here]
            log_t = np.logaddexp(log_t, log_w + mine)
            log_rest = np.logaddexp(log_rest, log_w + rest + np.log(_share(one, counts)))
    return log_t, log_rest


def _is_small(one: TopLists) -> bool:
    """Whether some of its masses are too small to be added up as they are."""
    tiny = one.log_rest is not None and bool(((one.log_rest > -np.inf) & (one.log_rest < LOG_SMALL)).any())
    return tiny or one.log_confidences is not None


def _logs(one: TopLists) -> Floats:
    if one.log_confidences is not None:
        return one.log_confidences
    with np.errstate(divide="ignore"):
        logs: Floats = np.log(one.normalized_confidences)
    return logs


def _share(one: TopLists, counts: Codes) -> Floats:
    """How much of a member's rest mass is on classes that no member lists."""
    size = one.admitted.rows.size
    left = size - one.sizes
    with np.errstate(invalid="ignore"):
        return np.where(np.isfinite(size), (size - counts) / np.where(left > 0, left, 1.0), 1.0)


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


def _joined(spaces: list[ClassSpace]) -> ClassSpace:
    """The space of the members; where codes are digests, with the books of all."""
    first = spaces[0]
    if not isinstance(first, LabelSets) or not first.digests:
        return first
    books = [space.book for space in spaces if isinstance(space, LabelSets) and space.book is not None]
    return first.with_book(Book.join(books) if books else None)
