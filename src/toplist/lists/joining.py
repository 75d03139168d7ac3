"""Several batches of lists as one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from toplist.lists.batch import TopLists
from toplist.lists.door import Repairs
from toplist.lists.sources import exponentiate, to_rows
from toplist.space import ClassSpace


def join(parts: Sequence[TopLists], classes: Sequence[NDArray[Any]], space: ClassSpace) -> TopLists:
    """The cases of all parts, one after the other; `classes` are the codes that those of each part have in the space.

    What a part knows by its logarithm only, a confidence or a rest, is known so afterwards.

    >>> a, b = TopLists.from_dicts([{"x": 0.7}], 3), TopLists.from_dicts([{"y": 0.5, "x": 0.4}], 3)
    >>> join([a, b], [a.classes, b.classes[::-1]], ClassSpace(labels=["x", "y", "z"]))[1]
    TopList({'y': 0.5, 'x': 0.4}, rest=0.1 over 1 class)
    """
    sizes = np.concatenate([one.sizes for one in parts])
    offsets = np.concatenate((np.zeros(1, np.int64), np.cumsum(sizes, dtype=np.int64)))
    codes, log_rest = np.concatenate(classes), None
    if any(one.log_rest is not None for one in parts):
        log_rest = np.concatenate([_log(one.rest) if one.log_rest is None else one.log_rest for one in parts])
    if any(one.log_confidences is not None for one in parts):
        logs = [_log(one.confidences) if one.log_confidences is None else one.log_confidences for one in parts]
        rows = exponentiate(to_rows(offsets, codes, np.concatenate(logs), space, log_rest))
    else:
        rows = to_rows(offsets, codes, np.concatenate([one.confidences for one in parts]), space, log_rest)
    return TopLists._admit(rows, space, None, Repairs())


def _log(x: NDArray[Any]) -> NDArray[np.float64]:
    with np.errstate(divide="ignore"):
        found: NDArray[np.float64] = np.log(x.astype(np.float64, copy=False))
    return found
