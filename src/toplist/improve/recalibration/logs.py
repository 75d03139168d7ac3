"""Lists as logarithms, where powers of confidences are products and nothing underflows; and lists made of them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from toplist.lists import TopLists, log_rest
from toplist.lists.admitted import row_log_sums
from toplist.lists.door import Repairs, admit
from toplist.lists.sources import keep_logs
from toplist.rectangles import log_or

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Logs:
    """The log of every listed confidence; per case that of the rest mass, and of how many classes share it."""

    listed: Floats
    rest: Floats
    unlisted: Floats

    @classmethod
    def of(cls, lists: TopLists) -> Logs:
        """Minus infinity for zeros, and for the rest of a list of all classes."""
        admitted, rows = lists.admitted, lists.admitted.rows
        listed = admitted.normalized_logs
        if listed is None:
            listed = log_or(np, admitted.normalized, -np.inf)
        left = rows.size - admitted.sizes
        return cls(listed, log_rest(lists), np.where(np.isfinite(left), log_or(np, left, -np.inf), rows.log_size))


def normalised(lists: TopLists, listed: Floats, rest: Floats) -> TopLists:
    """Lists on the same classes whose masses are in proportion to what these are the logarithms of."""
    total = np.logaddexp(row_log_sums(listed, lists.offsets), rest)
    logs = listed - np.repeat(total, lists.sizes)
    return revalued(lists, np.exp(logs), rest - total, logs)


def revalued(lists: TopLists, t: Floats, rest: Floats, logs: Floats | None = None) -> TopLists:
    """Lists on the same classes with other confidences and the log of another rest, checked as all lists are."""
    rows = replace(lists.admitted.rows, confidences=t, log_rest=rest, log_confidences=None)
    rows = rows if logs is None else keep_logs(rows, logs)
    admitted = admit(rows, lists.space, ids=lists.ids, repairs=Repairs())
    return lists._with(replace(admitted, repairs=lists.admitted.repairs))


def ranks(lists: TopLists) -> NDArray[np.int64]:
    """The place of each entry among the confidences of its case, from 0; ties keep their order."""
    logs = lists.log_confidences
    t: Any = lists.confidences if logs is None else logs
    sizes, offsets = lists.sizes, lists.offsets
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
