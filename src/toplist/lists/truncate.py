"""Truncation of lists, each to a length of its own, and ranks within lists."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from toplist._typing import Floats
from toplist.core import kernel
from toplist.lists.toplists import TopLists


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
