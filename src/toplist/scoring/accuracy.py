"""Metrics of the rank of the outcome: accuracy, top-k error, coverage."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from toplist._arguments import as_count, as_shares
from toplist._typing import Floats
from toplist.core import kernel
from toplist.errors import TopListError
from toplist.lists import TopLists, as_lists
from toplist.lists.converters import as_codes
from toplist.lists.lookup import beliefs

Column = NDArray[Any]


def ranks(lists: Any, y: Any, *, space: Any = None) -> Floats:
    """Rank of the outcome in its list.

    Parameters
    ----------
    lists : TopLists or anything that `as_lists` takes
        The predictions.
    y : array-like
        One outcome per case.
    space : ClassSpace, int or float, optional
        The classes, where the predictions do not say.

    Returns
    -------
    ndarray of float
        1 where the outcome is the most confident class, infinity where it is not listed; ties share their mean rank.

    Examples
    --------
    >>> ranks(TopLists.from_dicts([{"a": 0.6, "b": 0.3}] * 3, 5), ["a", "b", "c"])
    array([ 1.,  2., inf])

    """
    above, equal = _above_and_equal(as_lists(lists, space), y)
    return np.where(equal > 0, 1.0 + above + 0.5 * (equal - 1.0), np.inf)


def accuracy(lists: Any, y: Any, *, sample_weight: Any = None, space: Any = None) -> float:
    """How often the most confident class is the outcome.

    Parameters
    ----------
    lists : TopLists or anything that `as_lists` takes
        The predictions.
    y : array-like
        One outcome per case.
    sample_weight : array-like, optional
        One weight per case.
    space : ClassSpace, int or float, optional
        The classes, where the predictions do not say.

    Returns
    -------
    float
        Tied classes share the credit; an empty list gets none.

    Examples
    --------
    >>> accuracy(TopLists.from_labels([0, 1, 2], 3), [0, 1, 1])
    0.6666666666666666

    """
    return _mean(outcome_ranks(as_lists(lists, space), y).within(1), sample_weight)


def top_k_error(lists: Any, y: Any, *, k: int, sample_weight: Any = None, space: Any = None) -> float:
    """How often the outcome is not among the k most confident listed classes.

    Parameters
    ----------
    lists : TopLists or anything that `as_lists` takes
        The predictions.
    y : array-like
        One outcome per case.
    k : int
        How many classes count; those that tie at the k-th place share what is left.
    sample_weight : array-like, optional
        One weight per case.
    space : ClassSpace, int or float, optional
        The classes, where the predictions do not say.

    Returns
    -------
    float
        The share of cases whose outcome is not among the k most confident classes.

    Examples
    --------
    >>> top_k_error([{"a": 0.6, "b": 0.3}, {"b": 0.5}], ["b", "a"], k=2, space=5)
    0.5

    """
    return _mean(outcome_ranks(as_lists(lists, space), y).beyond(as_count(k)), sample_weight)


def coverage(lists: Any, y: Any, *, sample_weight: Any = None, space: Any = None) -> float:
    """How often the outcome is listed.

    Parameters
    ----------
    lists : TopLists or anything that `as_lists` takes
        The predictions.
    y : array-like
        One outcome per case.
    sample_weight : array-like, optional
        One weight per case.
    space : ClassSpace, int or float, optional
        The classes, where the predictions do not say.

    Returns
    -------
    float
        The share of cases whose outcome is listed.

    Examples
    --------
    >>> coverage([{"a": 0.6, "b": 0.3}, {"b": 0.5}], ["b", "a"], space=5)
    0.5

    """
    return _mean(outcome_ranks(as_lists(lists, space), y).listed, sample_weight)


@dataclass(frozen=True, slots=True)
class HardRanks:
    """Ranks of known outcomes: how many listed classes are more confident, how many are as confident (0: unlisted)."""

    above: NDArray[np.int32]
    equal: NDArray[np.int32]

    @property
    def listed(self) -> Column:
        """Whether the outcome is listed."""
        return self.equal > 0

    def within(self, k: int) -> Column:
        """Whether the outcome is among the k most confident classes; a share where classes tie."""
        if self.equal.max(initial=0) <= 1:
            return self.listed & (self.above < k)
        return np.where(self.listed, np.clip((k - self.above) / np.maximum(self.equal, 1), 0.0, 1.0), 0.0)

    def beyond(self, k: int) -> Column:
        """Whether it is not among them."""
        found = self.within(k)
        return ~found if found.dtype == bool else 1.0 - found


@dataclass(frozen=True, slots=True)
class SoftRanks:
    """The same where the outcome is a distribution: probabilities instead of yes and no.

    One entry for each listed class, by decreasing confidence: its case, its probability, how many are more confident
    and how many as confident.
    """

    cases: int
    case: NDArray[np.intp]
    probability: Floats
    above: NDArray[np.intp]
    equal: NDArray[np.intp]

    @property
    def listed(self) -> Column:
        """The probability of the listed classes."""
        return np.bincount(self.case, weights=self.probability, minlength=self.cases)

    def within(self, k: int) -> Column:
        """The probability of the k most confident classes."""
        share = np.clip((k - self.above) / self.equal, 0.0, 1.0)
        return np.bincount(self.case, weights=share * self.probability, minlength=self.cases)

    def beyond(self, k: int) -> Column:
        """The probability of all others."""
        found: Column = 1.0 - self.within(k)
        return found


def outcome_ranks(lists: TopLists, y: Any) -> HardRanks:
    """Where the outcomes stand in their lists."""
    return HardRanks(*_above_and_equal(lists, y))


def soft_ranks(lists: TopLists, truth: TopLists) -> SoftRanks:
    """Where the classes stand that the truth holds probable."""
    ordered = lists.ordered()
    probability = beliefs(truth, ordered).listed
    case, offsets = np.repeat(np.arange(len(lists)), lists.sizes), ordered.offsets
    t = ordered.confidences if ordered.log_confidences is None else ordered.log_confidences
    place = np.arange(len(t)) - offsets[case]
    starts = np.ones(len(t), bool)
    starts[1:] = (t[1:] != t[:-1]) | (case[1:] != case[:-1])
    run = np.cumsum(starts) - 1
    above, equal = place[starts][run] if len(t) else place, np.bincount(run, minlength=1)[run]
    return SoftRanks(len(lists), case, probability, above, equal)


def _above_and_equal(lists: TopLists, y: Any) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    return kernel.places(lists.checked.rows, as_codes(y, lists))


def _mean(values: Column, weight: Any) -> float:
    if not len(values):
        raise TopListError("there are no cases to average over.")
    return float(values.mean() if weight is None else np.average(values, weights=as_shares(weight, len(values))))
