"""Lists of confidences that are known by their logarithms, from producers that mean every one of them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from toplist.lists.batch import TopLists
from toplist.lists.door import Repairs
from toplist.lists.sources import exponentiate, ragged


def from_logs(
    offsets: Any, classes: Any, log_confidences: Any, space: Any, *, log_rest: Any = None, ids: Any = None
) -> TopLists:
    """Lists as `TopLists.from_ragged` makes them with `units="log"`, but however small the confidences are.

    Nothing counts as a repair, and no logarithm is taken for a mark: one of -30000 is that of a set of 100,000 labels.

    >>> from_logs([0, 2], [3, 1], [-3083.0, -3085.5], 2**10000)[0]
    TopList({3: e^-3083, 1: e^-3085.5}, rest=1 over about 2**10000 classes)
    """
    rows, known = ragged(offsets, classes, log_confidences, space, log_rest)
    return TopLists._admit(exponentiate(rows), known, ids, Repairs())


def log_rest(lists: TopLists) -> NDArray[np.float64]:
    """The log of each rest mass, as its producer knew it; minus infinity where nothing is left.

    >>> log_rest(TopLists.from_dicts([{0: 1.0}, {}], 3))
    array([-inf,   0.])
    """
    with np.errstate(divide="ignore"):
        plain: NDArray[np.float64] = np.log(lists.rest)
    return plain if lists.log_rest is None else np.where(lists.admitted.scaled, plain, lists.log_rest)
