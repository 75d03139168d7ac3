"""Which lists are valid, and the largest valid sublist of one that is not (paper, section 3).

A list is valid if no listed confidence is below the proxy, the share of the rest mass that each unlisted class
gets. Removing the smallest confidence until that holds leaves the one largest valid sublist.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from toplist import flags, kernel, rectangles
from toplist.kernel import Rows


@dataclass(frozen=True, slots=True)
class Sublists:
    """For every listed class whether it stays; for every case what the rest mass then is."""

    keep: NDArray[np.bool_]
    log_rest: NDArray[np.float64]
    unlisted: NDArray[np.float64]


def largest_valid(rows: Rows, slack: NDArray[np.float64], found: NDArray[np.uint16]) -> Sublists:
    """The largest valid sublist of every row, by sorting only the rows that need it."""
    keep = np.ones(len(rows.confidences), dtype=bool)
    sizes = np.diff(rows.offsets)
    with np.errstate(divide="ignore"):
        log_rest = np.log(np.maximum(slack, 0.0)) if rows.log_rest is None else rows.log_rest.copy()
    unlisted = rows.size - sizes
    low = np.flatnonzero(found & flags.BELOW)
    if len(low):
        chosen = gather(rows, low)
        for at, part in kernel.by_length(chosen):
            cases = low[at]
            kept, rest, left = rectangles.cut(
                np, part.confidences.astype(np.float64), unlisted[cases], part.log_size, slack[cases], log_rest[cases]
            )
            keep[rows.offsets[cases][:, None] + np.arange(kept.shape[1])] = kept
            log_rest[cases] = rectangles.log_or(np, rest, log_rest[cases])
            unlisted[cases] = left
    return Sublists(keep, log_rest, unlisted)


def gather(rows: Rows, at: NDArray[Any]) -> Rows:
    """Some of the rows, in any order."""
    sizes = rows.offsets[1:][at] - rows.offsets[:-1][at]
    offsets = np.concatenate((np.zeros(1, np.int64), np.cumsum(sizes, dtype=np.int64)))
    where = np.repeat(rows.offsets[:-1][at] - offsets[:-1], sizes) + np.arange(offsets[-1])
    per_case = len(rows.size) > 1
    return Rows(
        offsets,
        None if rows.classes is None else rows.classes[where],
        rows.confidences[where],
        None if rows.log_rest is None else rows.log_rest[at],
        rows.size[at] if per_case else rows.size,
        rows.log_size[at] if per_case else rows.log_size,
    )
