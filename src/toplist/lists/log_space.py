"""Lists in log space, where powers of confidences are products; lists from logarithms."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from toplist._typing import Floats
from toplist.core.array_api import log_or
from toplist.lists.rows import ragged
from toplist.lists.toplists import TopLists
from toplist.lists.validation import Repairs, exponentiate, row_log_sums, underflows, validate


def from_logs(
    offsets: Any, classes: Any, log_confidences: Any, space: Any, *, log_rest: Any = None, ids: Any = None
) -> TopLists:
    """Lists as `TopLists.from_ragged` makes them with `scale="log"`, but no logarithm is taken for a mark.

    What is below the smallest number becomes zero, and is counted.

    >>> lists = from_logs([0, 2], [3, 1], [-0.5, -3085.5], 2**10000)
    >>> lists[0], dict(lists.repairs)
    (TopList(3 0.6065, 1 0; unlisted 0.3935 over about 2**10000 classes), {'underflow to zero': 1})
    """
    logs, known = ragged(offsets, classes, log_confidences, space, log_rest)
    rows = exponentiate(logs)
    return TopLists._validated(rows, known, ids, Repairs(), underflows(logs, rows))


def log_rest(lists: TopLists) -> NDArray[np.float64]:
    """The log of each rest mass, as its producer knew it; minus infinity where nothing is left.

    >>> log_rest(TopLists.from_dicts([{0: 1.0}, {}], 3))
    array([-inf,   0.])
    """
    with np.errstate(divide="ignore"):
        plain: NDArray[np.float64] = np.log(lists.rest)
    return plain if lists.log_rest is None else np.where(lists.checked.scaled, plain, lists.log_rest)


@dataclass(frozen=True, slots=True)
class Logs:
    """The log of every listed confidence; per case that of the rest mass, and of how many classes share it."""

    listed: Floats
    rest: Floats
    unlisted: Floats

    @classmethod
    def of(cls, lists: TopLists) -> Logs:
        """Minus infinity for zeros, and for the rest of a list of all classes."""
        checked, rows = lists.checked, lists.checked.rows
        listed = log_or(np, checked.normalized, -np.inf)
        left = rows.size - checked.sizes
        return cls(listed, log_rest(lists), np.where(np.isfinite(left), log_or(np, left, -np.inf), rows.log_size))


def normalised(lists: TopLists, listed: Floats, rest: Floats) -> TopLists:
    """Lists on the same classes whose masses are in proportion to what these are the logarithms of."""
    total = np.logaddexp(row_log_sums(listed, lists.offsets), rest)
    logs = listed - np.repeat(total, lists.sizes)
    return revalued(lists, np.exp(logs), rest - total)


def revalued(lists: TopLists, t: Floats, rest: Floats) -> TopLists:
    """Lists on the same classes with other confidences and the log of another rest, checked as all lists are."""
    rows = replace(lists.checked.rows, confidences=t, log_rest=rest)
    checked = validate(rows, lists.space, ids=lists.ids, repairs=Repairs())
    return lists._with(replace(checked, repairs=lists.checked.repairs))


def ranks(lists: TopLists) -> NDArray[np.int64]:
    """The place of each entry among the confidences of its case, from 0; ties keep their order."""
    t, sizes, offsets = lists.confidences, lists.sizes, lists.offsets
    place = np.arange(len(t)) - np.repeat(offsets[:-1], sizes)
    if not ((t[1:] > t[:-1]) & (place[1:] > 0)).any():
        return place
    out = np.empty(len(t), np.int64)
    if len(sizes) and (sizes == sizes[0]).all():
        order = np.argsort(-t.reshape(len(sizes), -1), axis=1, stable=True)
        np.put_along_axis(out.reshape(order.shape), order, np.arange(order.shape[1])[None, :], axis=1)
    else:
        out[np.lexsort((-t, np.repeat(np.arange(len(sizes)), sizes)))] = place
    return out
