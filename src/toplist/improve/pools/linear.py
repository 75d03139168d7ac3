"""Several predictors' lists for the same cases, averaged."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from toplist import kernel
from toplist.arguments import as_count
from toplist.improve.pools.members import LONGEST, Lists, Members, Weights, as_weights
from toplist.improve.pools.pooled import from_kernel, from_union
from toplist.improve.pools.union import Union, log_proxy, logs_of, share_left
from toplist.lists import TopLists, log_rest

Floats = NDArray[np.float64]

LOG_SMALL = -600.0


def linear_pool(lists: Lists, *, weights: Weights = None, k: int | None = None) -> TopLists:
    r"""The weighted mean of padded distributions, :math:`\sum_j w_j \tilde p_j`, listed on the union of the classes.

    Where a predictor does not list a class, its share of the rest mass counts; of a list that is not valid, the largest
    valid sublist does. So the pool is exact and valid; under the Brier score it is in every case no worse than its
    members are on average. Weights add up to one (equal by default); `k` keeps the most confident classes only.

    >>> import toplist as tl
    >>> space = tl.ClassSpace(3, ["cat", "dog"])
    >>> a, b = tl.TopLists.from_dicts([{"cat": 0.6}], space), tl.TopLists.from_dicts([{"cat": 0.4, "dog": 0.4}], space)
    >>> linear_pool([a, b])[0]
    TopList({'cat': 0.5, 'dog': 0.3}, rest=0.2 over 1 class)
    """
    members = Members.of(lists)
    w = as_weights(weights, members.names)
    k = None if k is None else min(as_count(k), LONGEST)
    in_logs = any(map(_is_small, members))
    if kernel.NATIVE and not in_logs:
        return from_kernel(members, w, k, geometric=False)
    union = Union.of(members)
    t, left = _add_logs(union, w) if in_logs else _add(union, w)
    return from_union(union, t, left, k, in_logs=in_logs)


def _add(union: Union, w: Floats) -> tuple[Floats, Floats]:
    """Each entry adds what it has above its member's share, and all shares are added at the end; log of the rest."""
    t, base, rest = np.zeros(len(union.classes)), np.zeros(union.members.cases), np.zeros(union.members.cases)
    for weight, one, place in zip(w, union.members, union.places, strict=True):
        t[place] += weight * (one.normalized_confidences - np.repeat(one.proxy, one.sizes))
        base += weight * one.proxy
        rest += weight * one.rest * share_left(one, union.counts)
    with np.errstate(divide="ignore"):
        return np.maximum(t + base[union.case], 0.0), np.log(rest)


def _add_logs(union: Union, w: Floats) -> tuple[Floats, Floats]:
    """The same in logarithms, where numbers underflow: what each member says of each class, one after the other."""
    log_t, left = np.full(len(union.classes), -np.inf), np.full(union.members.cases, -np.inf)
    with np.errstate(divide="ignore"):
        for log_w, one, place in zip(np.log(w), union.members, union.places, strict=True):
            mine = log_proxy(one)[union.case]
            mine[place] = logs_of(one)
            log_t = np.logaddexp(log_t, log_w + mine)
            left = np.logaddexp(left, log_w + log_rest(one) + np.log(share_left(one, union.counts)))
    return log_t, left


def _is_small(one: TopLists) -> bool:
    """Whether some of its masses are too small to be added up as they are."""
    given = one.log_rest
    tiny = given is not None and bool(((given > -np.inf) & (given < LOG_SMALL)).any())
    return tiny or one.log_confidences is not None
