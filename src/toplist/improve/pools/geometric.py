"""Several predictors' lists for the same cases, multiplied."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from toplist import kernel
from toplist.arguments import as_count
from toplist.improve.pools.linear import linear_pool
from toplist.improve.pools.members import LONGEST, Lists, Members, Weights, as_weights
from toplist.improve.pools.pooled import from_kernel, from_union, vetoed
from toplist.improve.pools.union import Union
from toplist.lists import TopLists

Floats = NDArray[np.float64]


def geometric_pool(lists: Lists, *, weights: Weights = None, k: int | None = None) -> TopLists:
    r"""The weighted geometric mean of padded distributions, :math:`\prod_j \tilde p_j^{w_j}`, made to add up to one.

    Where a predictor does not list a class, its share of the rest mass counts; of a list that is not valid, the largest
    valid sublist does. The pool is valid. A member with a positive weight that gives zero to a class rules it out; a
    case in which everything is ruled out is an error. With infinitely many classes it is the limit of ever more of
    them: only what all members list has any confidence, and the rest is the geometric mean of the rests.

    >>> import toplist as tl
    >>> space = tl.ClassSpace(3, ["cat", "dog"])
    >>> a, b = tl.TopLists.from_dicts([{"cat": 0.8}], space), tl.TopLists.from_dicts([{"cat": 0.5, "dog": 0.4}], space)
    >>> geometric_pool([a, b])[0]
    TopList({'cat': 0.678269, 'dog': 0.214487}, rest=0.107244 over 1 class)
    """
    members = Members.of(lists)
    w = as_weights(weights, members.names)
    if w.max() == 1.0:
        return linear_pool(lists, weights=w.tolist(), k=k)  # one member alone, to the last digit
    k = None if k is None else min(as_count(k), LONGEST)
    if kernel.NATIVE and not members.in_logs:
        return from_kernel(members, w, k, geometric=True)
    union = Union.of(members)
    log_t, left = _multiply(union, w)
    return from_union(union, log_t, left, k, in_logs=True)


def _multiply(union: Union, w: Floats) -> tuple[Floats, Floats]:
    """The logarithms of the pooled confidences and of the rest mass; members without weight have no say."""
    some = w > 0
    log_t, left = (_products(logs[some], w[some]) for logs in (union.logs(), union.log_rests()))
    top = left.copy()
    np.maximum.at(top, union.case, log_t)
    nothing = top == -np.inf
    if nothing.any():
        raise vetoed(union.members, int(np.argmax(nothing)), int(nothing.sum()))
    with np.errstate(divide="ignore"):
        total = top + np.log(np.exp(left - top) + union.sums(np.exp(log_t - top[union.case])))
    return log_t - total[union.case], left - total


def _products(logs: Floats, w: Floats) -> Floats:
    """Weighted sums over members; one that is minus infinity is so whatever the others are."""
    possible = logs > -np.inf
    return np.where(possible.all(axis=0), w @ np.where(possible, logs, 0.0), -np.inf)
