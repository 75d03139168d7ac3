"""Parts of the cases that are held out in turn; cases that depend on each other stay together."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from toplist.arguments import as_units, as_whole
from toplist.errors import TopListError


def as_folds(cases: int, folds: Any, seed: Any, clusters: Any = None) -> NDArray[np.int64]:
    """The fold of each case, drawn at random; folds differ by one case, or one cluster of cases, at most.

    >>> np.bincount(as_folds(10, 3, 0))
    array([4, 3, 3])
    """
    count, rng = as_whole(folds, "folds", 2), np.random.default_rng(as_whole(seed, "seed", 0))
    of = as_units(clusters, cases)
    units, what = int(of.max(initial=-1)) + 1, "cases" if clusters is None else "clusters"
    if count > units:
        raise TopListError(f"{count} folds of {units} {what}: each needs one, so give fewer folds or more {what}.")
    return rng.permutation(np.arange(units) % count)[of]
