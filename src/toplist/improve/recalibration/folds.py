"""Lists recalibrated by fits that have not seen them, for honest comparisons."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from toplist.errors import TopListError
from toplist.improve.folds import as_folds
from toplist.improve.recalibration.base import Recalibrator
from toplist.improve.recalibration.logs import Logs, revalued
from toplist.improve.recalibration.sample import Sample
from toplist.lists import TopLists


def cross_fitted(
    recalibrator: Recalibrator,
    lists: TopLists,
    y: Any,
    *,
    folds: int = 5,
    seed: int = 0,
    clusters: Any = None,
    sample_weight: Any = None,
) -> TopLists:
    """Each case recalibrated by a fit to the cases of the other folds, which are drawn at random.

    What comes out may be compared with `lists`, or with other predictors, as if each case were new. Cases that depend
    on each other are given the same entry in `clusters`, and then stay in one fold.

    >>> import toplist as tl
    >>> from toplist.improve.recalibration import Temperature
    >>> lists = tl.TopLists.from_dicts([{"a": 0.8, "b": 0.1}] * 8, 3)
    >>> cross_fitted(Temperature(), lists, ["a", "a", "b", "c"] * 2, folds=4)
    TopLists(8 cases, k = 2, 3 classes)
    """
    recalibrator._check()
    sample = Sample.of(lists, y, sample_weight)
    return refitted(recalibrator, sample, as_folds(len(lists), folds, seed, clusters))


def refitted(recalibrator: Recalibrator, sample: Sample, fold: NDArray[np.int64]) -> TopLists:
    """The same for a checked sample and given folds."""
    lists = sample.lists
    t, logs = np.zeros(len(lists.confidences)), np.zeros(len(lists.confidences))
    log_rest, small = np.zeros(len(lists)), False
    case = np.repeat(fold, lists.sizes)
    for one, others in splits(sample, fold):
        made = recalibrator.unfitted()
        made._fit(sample.at(others))
        part = made.transform(lists[one])
        entries = case == fold[one[0]]
        if len(part.confidences) != np.count_nonzero(entries):
            raise TopListError(
                f"{type(recalibrator).__name__} changes how long lists are; that cannot be put together."
            )
        values = Logs.of(part)
        t[entries], logs[entries], log_rest[one] = part.normalized_confidences, values.listed, values.rest
        small = small or part.log_confidences is not None
    return revalued(lists, t, log_rest, logs if small else None).repair()


def splits(sample: Sample, fold: NDArray[np.int64]) -> Iterator[tuple[NDArray[np.intp], NDArray[np.intp]]]:
    """For each fold its cases, and all others."""
    for one in range(int(fold.max()) + 1):
        others = np.flatnonzero(fold != one)
        if not sample.weight[others].any():
            raise TopListError("all cases that count are in one fold: give more folds, or weights to more cases.")
        yield np.flatnonzero(fold == one), others
