"""Concatenation of batches of lists."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from toplist.core.kernel import Rows
from toplist.lists.space import ClassSpace
from toplist.lists.toplists import TopLists
from toplist.lists.validation import CheckedColumns


def join(parts: Sequence[TopLists], classes: Sequence[NDArray[Any]], space: ClassSpace) -> TopLists:
    """The cases of all parts, one after the other; `classes` are the codes that those of each part have in the space.

    What a part knows by its logarithm only, a confidence or a rest, is known so afterwards.

    >>> a, b = TopLists.from_dicts([{"x": 0.7}], 3), TopLists.from_dicts([{"y": 0.5, "x": 0.4}], 3)
    >>> join([a, b], [a.classes, b.classes[::-1]], ClassSpace(labels=["x", "y", "z"]))[1]
    TopList({'y': 0.5, 'x': 0.4}, rest=0.1 over 1 class)
    """
    every = [one.checked for one in parts]
    sizes = np.concatenate([one.sizes for one in parts])
    offsets = np.concatenate((np.zeros(1, np.int64), np.cumsum(sizes, dtype=np.int64)))
    log_rest, logs, shown = None, None, None
    if any(one.log_rest is not None for one in parts):
        log_rest = np.concatenate([_log(one.rest) if one.log_rest is None else one.log_rest for one in parts])
    if any(one.log_confidences is not None for one in parts):
        known = [_log(one.confidences) if one.log_confidences is None else one.log_confidences for one in parts]
        logs = np.concatenate(known)
    if any(one.rows.shown is not None for one in every):
        exact = [np.zeros((len(one), 2)) if one.checked.rows.shown is None else one.checked.rows.shown for one in parts]
        shown = np.concatenate(exact)
    rows = Rows(
        offsets,
        np.concatenate(classes),
        np.concatenate([one.rows.confidences for one in every]),
        log_rest,
        *space.as_floats,
        logs,
        min((one.rows.bits for one in every), default=None),
        shown,
    )
    signed_rest, found = (
        np.concatenate([one.signed_rest for one in every]),
        np.concatenate([one.flags for one in every]),
    )
    return TopLists(
        space, None, CheckedColumns(rows, signed_rest, found, {})
    )  # they are checked, and stay what they are


def _log(x: NDArray[Any]) -> NDArray[np.float64]:
    with np.errstate(divide="ignore"):
        found: NDArray[np.float64] = np.log(x.astype(np.float64, copy=False))
    return found
