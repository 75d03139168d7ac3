"""Files in, better files out: recalibrated, pooled, truncated."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

from toplist.errors import TopListError
from toplist.improve.pools.weights import POOLS
from toplist.improve.truncation import truncate_by_gain
from toplist.lists import TopLists
from toplist.transformation.reading import Progress, Reading, silent
from toplist.transformation.writing import Written, transform

Path = str | os.PathLike[str]


def recalibrate_file(
    path: Any,
    model: Any,
    output: Path,
    *,
    name: str = "predictions",
    reading: Reading | None = None,
    progress: Progress = silent,
) -> Written:
    """Write what a fitted recalibrator (or anything that transforms lists) makes of a file's lists."""
    files = (reading or Reading()).open({name: path})
    return transform(files, output, lambda lists: model.transform(lists[0]), progress, "recalibrating")


def truncate_file(
    path: Any,
    output: Path,
    *,
    k: int | None = None,
    mass: float | None = None,
    gain: float | None = None,
    name: str = "predictions",
    reading: Reading | None = None,
    progress: Progress = silent,
) -> Written:
    """Write shorter lists: k classes each, as many as list a mass, or as long as one more gains enough."""
    if sum(option is not None for option in (k, mass, gain)) != 1:
        raise TopListError("truncate to k classes, to a mass or by a gain: give one of the three.")

    def change(lists: list[TopLists]) -> TopLists:
        return lists[0].truncate(k, mass=mass) if gain is None else truncate_by_gain(lists[0], gain)

    change([TopLists.from_dicts([], 2)])
    files = (reading or Reading()).open({name: path}, counted=gain is not None)
    return transform(files, output, change, progress, "truncating")


def pool_files(
    predictions: Mapping[str, Any],
    output: Path,
    *,
    weights: Sequence[float] | None = None,
    pool: str = "linear",
    k: int | None = None,
    reading: Reading | None = None,
    progress: Progress = silent,
) -> Written:
    """Write the pool of several files' lists for the same cases, in the order of the first file."""
    if pool not in POOLS:
        raise TopListError(f"a pool is {' or '.join(POOLS)}, not {pool!r}.")
    files, make = (reading or Reading()).open(predictions), POOLS[pool]
    return transform(files, output, lambda lists: make(lists, weights=weights, k=k), progress, "pooling")
