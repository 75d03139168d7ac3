"""Which lists are valid, and the largest valid sublist of one that is not (paper, section 3).

A list is valid if no listed confidence is below the proxy, the share of the rest mass that each unlisted class
gets. Removing the smallest confidence until that holds leaves the one largest valid sublist.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from toplist import kernel, rectangles
from toplist.kernel import Rows


@dataclass(frozen=True, slots=True)
class Sublists:
    """For every listed class whether it stays; for every case what is then left over, and for how many classes."""

    keep: NDArray[np.bool_]
    rest: NDArray[np.float64]
    log_rest: NDArray[np.float64] | None  # where the producer gave it
    unlisted: NDArray[np.float64]


def largest_valid(rows: Rows, slack: NDArray[np.float64], which: NDArray[np.bool_]) -> Sublists:
    """The largest valid sublists of some rows, without tolerance; the others stay as they are."""
    keep = np.ones(len(rows.confidences), dtype=bool)
    rest, unlisted = slack.copy(), rows.size - np.diff(rows.offsets)
    given = None if rows.log_rest is None else rows.log_rest.copy()
    low = np.flatnonzero(which)
    for at, part in kernel.by_length(gather(rows, low)):
        cases = low[at]
        log_rest = rectangles.log_or(np, rest[cases], -np.inf) if part.log_rest is None else part.log_rest
        t = part.confidences.astype(np.float64)
        kept, rest[cases], unlisted[cases] = rectangles.cut(
            np, t, unlisted[cases], part.log_size, rest[cases], log_rest
        )
        keep[rows.offsets[cases][:, None] + np.arange(kept.shape[1])] = kept
        if given is not None:
            given[cases] = rectangles.log_or(np, rest[cases], log_rest)
    return Sublists(keep, rest, given, unlisted)


def gather(rows: Rows, at: NDArray[Any]) -> Rows:
    """Some of the rows, in any order."""
    sizes = rows.offsets[1:][at] - rows.offsets[:-1][at]
    offsets = np.concatenate((np.zeros(1, np.int64), np.cumsum(sizes, dtype=np.int64)))
    where = np.repeat(rows.offsets[:-1][at] - offsets[:-1], sizes) + np.arange(offsets[-1])
    classes = None if rows.classes is None else rows.classes[where]
    return Rows(offsets, classes, rows.confidences[where], *rows.per_case(at))
