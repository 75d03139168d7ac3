"""What people know, beside what is proper: accuracy, top-k error, coverage."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from toplist.arguments import as_count, as_vector
from toplist.errors import TopListError
from toplist.lists import TopLists, require_lists
from toplist.outcomes import as_codes

Floats = NDArray[np.float64]


def ranks(lists: TopLists, y: Any) -> Floats:
    """Where the outcome stands in its list: 1 at the top, infinity if it is not listed.

    Ties share the mean of their places.

    >>> ranks(TopLists.from_dicts([{"a": 0.6, "b": 0.3}] * 3, 5), ["a", "b", "c"])
    array([ 1.,  2., inf])
    """
    above, equal, listed = _places(lists, y)
    return np.where(listed, 1.0 + above + 0.5 * (equal - 1.0), np.inf)


def accuracy(lists: TopLists, y: Any, *, sample_weight: Any = None) -> float:
    """How often the most confident class is what happened. Ties share the credit; an empty list gets none.

    >>> accuracy(TopLists.from_labels([0, 1, 2], 3), [0, 1, 1])
    0.6666666666666666
    """
    above, equal, listed = _places(lists, y)
    return _mean(np.where(listed & (above == 0), 1.0 / np.maximum(equal, 1.0), 0.0), sample_weight)


def top_k_error(lists: TopLists, y: Any, *, k: int, sample_weight: Any = None) -> float:
    """How often what happened is not among the k most confident listed classes (ties at the cut share)."""
    above, equal, listed = _places(lists, y)
    inside = np.clip((as_count(k) - above) / np.maximum(equal, 1.0), 0.0, 1.0)
    return _mean(np.where(listed, 1.0 - inside, 1.0), sample_weight)


def coverage(lists: TopLists, y: Any, *, sample_weight: Any = None) -> float:
    """How often what happened is listed at all."""
    return _mean(_places(lists, y)[2].astype(np.float64), sample_weight)


def _places(lists: TopLists, y: Any) -> tuple[Floats, Floats, NDArray[np.bool_]]:
    """How many listed classes are above the outcome, how many equal it, and whether it is listed."""
    require_lists(lists)
    codes = as_codes(y, lists)
    case = np.repeat(np.arange(len(lists)), lists.sizes)
    t = lists.confidences
    same = lists.classes == codes[case]
    own = np.full(len(lists), np.nan)
    own[case[same]] = t[same]
    n = len(lists)
    above = np.bincount(case[t > own[case]], minlength=n).astype(np.float64)
    equal = np.bincount(case[t == own[case]], minlength=n).astype(np.float64)
    return above, equal, ~np.isnan(own)


def _mean(values: Floats, weight: Any) -> float:
    if not len(values):
        raise TopListError("there are no cases to average over.")
    if weight is None:
        return float(values.mean())
    weights = as_vector(weight, "weights")
    if len(weights) != len(values) or not (np.isfinite(weights) & (weights >= 0)).all() or not weights.sum() > 0:
        raise TopListError(f"weights are {len(values)} numbers, none below zero and not all zero.")
    return float(np.average(values, weights=weights))
