"""Accuracy, top-k error, coverage and the rank of the outcome: metrics beside the proper scores."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from toplist._arguments import as_count, as_shares
from toplist._typing import Floats
from toplist.core import kernel
from toplist.errors import TopListError
from toplist.lists import TopLists, as_lists
from toplist.lists.outcomes import as_codes

Column = NDArray[Any]


def ranks(lists: Any, y: Any, *, space: Any = None) -> Floats:
    """Rank of each outcome in its list: 1 at the top, infinity if it is not listed.

    Parameters
    ----------
    lists : TopLists or array-like
        Predictions: lists, or whatever `as_lists` takes (distributions, labels, mappings, sparse matrices).
    y : array-like
        Outcomes: codes, labels or label sets, one per case.
    space : ClassSpace, int or sequence of labels, optional
        The classes, where the predictions do not say how many there are.

    Returns
    -------
    ndarray
        One rank per case; tied classes share the mean of their ranks.

    Examples
    --------
    >>> ranks(TopLists.from_dicts([{"a": 0.6, "b": 0.3}] * 3, 5), ["a", "b", "c"])
    array([ 1.,  2., inf])
    """
    above, equal = _above_and_equal(as_lists(lists, space), y)
    return np.where(equal > 0, 1.0 + above + 0.5 * (equal - 1.0), np.inf)


def accuracy(lists: Any, y: Any, *, sample_weight: Any = None, space: Any = None) -> float:
    """Share of cases in which the most confident class is the outcome.

    Tied classes share the credit; an empty list gets none.

    Parameters
    ----------
    lists : TopLists or array-like
        Predictions: lists, or whatever `as_lists` takes (distributions, labels, mappings, sparse matrices).
    y : array-like
        Outcomes: codes, labels or label sets, one per case.
    sample_weight : array-like, optional
        Weight of each case.
    space : ClassSpace, int or sequence of labels, optional
        The classes, where the predictions do not say how many there are.

    Returns
    -------
    float
        Accuracy.

    Examples
    --------
    >>> accuracy(TopLists.from_labels([0, 1, 2], 3), [0, 1, 1])
    0.6666666666666666
    """
    return _mean(places(as_lists(lists, space), y)[0], sample_weight)


def top_k_error(lists: Any, y: Any, *, k: int, sample_weight: Any = None, space: Any = None) -> float:
    """Share of cases in which the outcome is not among the k most confident listed classes.

    Classes that tie at rank k share the credit.

    Parameters
    ----------
    lists : TopLists or array-like
        Predictions: lists, or whatever `as_lists` takes (distributions, labels, mappings, sparse matrices).
    y : array-like
        Outcomes: codes, labels or label sets, one per case.
    k : int
        Number of classes that count.
    sample_weight : array-like, optional
        Weight of each case.
    space : ClassSpace, int or sequence of labels, optional
        The classes, where the predictions do not say how many there are.

    Returns
    -------
    float
        Top-k error.

    Examples
    --------
    >>> top_k_error([[0.5, 0.3, 0.2], [0.5, 0.3, 0.2]], [1, 2], k=2)
    0.5
    """
    return _mean(places(as_lists(lists, space), y, [as_count(k)])[1][0], sample_weight)


def coverage(lists: Any, y: Any, *, sample_weight: Any = None, space: Any = None) -> float:
    """Share of cases in which the outcome is listed.

    Parameters
    ----------
    lists : TopLists or array-like
        Predictions: lists, or whatever `as_lists` takes (distributions, labels, mappings, sparse matrices).
    y : array-like
        Outcomes: codes, labels or label sets, one per case.
    sample_weight : array-like, optional
        Weight of each case.
    space : ClassSpace, int or sequence of labels, optional
        The classes, where the predictions do not say how many there are.

    Returns
    -------
    float
        Coverage.

    Examples
    --------
    >>> coverage([{"a": 0.6}, {"b": 0.6}], ["a", "c"], space=3)
    0.5
    """
    return _mean(places(as_lists(lists, space), y)[2], sample_weight)


def places(lists: TopLists, y: Any, ks: Sequence[int] = ()) -> tuple[Column, tuple[Column, ...], Column]:
    """Per case: is the outcome on top, is it not among the first k (for each k), is it listed?

    Yes or no, except where ties share.
    """
    above, equal = _above_and_equal(lists, y)
    listed = equal > 0
    if equal.max(initial=0) <= 1:
        return listed & (above == 0), tuple(~(listed & (above < k)) for k in ks), listed

    def within(k: int) -> Column:
        return np.where(equal > 0, np.clip((k - above) / np.maximum(equal, 1), 0.0, 1.0), 0.0)

    return within(1), tuple(1.0 - within(k) for k in ks), listed


def _above_and_equal(lists: TopLists, y: Any) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    return kernel.places(lists.admitted.rows, as_codes(y, lists))


def _mean(values: Column, weight: Any) -> float:
    if not len(values):
        raise TopListError("there are no cases to average over.")
    return float(values.mean() if weight is None else np.average(values, weights=as_shares(weight, len(values))))
