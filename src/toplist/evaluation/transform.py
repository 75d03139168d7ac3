"""Files in, files out: lists recalibrated, pooled or truncated, batch by batch.

Files in, better files out: recalibrated, pooled, truncated.

What is learned from a file and the truth: a recalibrator, the weights of a pool, how long lists should be.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from toplist._optional import need
from toplist._typing import Progress
from toplist.errors import TopListError
from toplist.evaluation.stream import Collector
from toplist.io.align import silent
from toplist.io.batches import Batch
from toplist.io.columns import as_arrow
from toplist.io.plan import Reading
from toplist.io.write import Writer, WriteSummary, transform
from toplist.lists import TopLists
from toplist.postprocess.combination import Ambiguity, PoolWeights, ambiguity, pool_weights
from toplist.postprocess.combination.weights import POOLS
from toplist.postprocess.recalibration import (
    Beta,
    BucketTemperature,
    Identity,
    Isotonic,
    Recalibrator,
    RestFloor,
    Temperature,
    VectorScaling,
)
from toplist.postprocess.recalibration.automatic import Selection, choose_recalibrator
from toplist.postprocess.truncation import Truncation, choose_k, choose_mass, truncate_by_gain
from toplist.scoring.case_scores import CaseScores

PathLike = str | os.PathLike[str]


def recalibrate_file(
    path: Any,
    model: Any,
    output: PathLike,
    *,
    name: str = "predictions",
    reading: Reading | None = None,
    progress: Progress = silent,
) -> WriteSummary:
    """Write what a fitted recalibrator (or anything that transforms lists) makes of a file's lists."""
    files = (reading or Reading()).open({name: path})
    return transform(files, output, lambda lists: model.transform(lists[0]), progress, "recalibrating")


def truncate_file(
    path: Any,
    output: PathLike,
    *,
    k: int | None = None,
    mass: float | None = None,
    gain: float | None = None,
    name: str = "predictions",
    reading: Reading | None = None,
    progress: Progress = silent,
) -> WriteSummary:
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
    output: PathLike,
    *,
    weights: Sequence[float] | None = None,
    pool: str = "linear",
    k: int | None = None,
    reading: Reading | None = None,
    progress: Progress = silent,
) -> WriteSummary:
    """Write the pool of several files' lists for the same cases, in the order of the first file."""
    if pool not in POOLS:
        raise TopListError(f"a pool is {' or '.join(POOLS)}, not {pool!r}.")
    files, make = (reading or Reading()).open(predictions), POOLS[pool]
    return transform(files, output, lambda lists: make(lists, weights=weights, k=k), progress, "pooling")


KINDS: dict[str, type[Recalibrator]] = {
    "identity": Identity,
    "temperature": Temperature,
    "bucket-temperature": BucketTemperature,
    "rest-floor": RestFloor,
    "beta": Beta,
    "isotonic": Isotonic,
    "vector-scaling": VectorScaling,
}


@dataclass(frozen=True, slots=True)
class FitResult:
    """A recalibrator, what it scores on cases that it has not seen, and what it was fitted to."""

    model: Recalibrator
    choice: Selection
    cases: int
    classes: Any  # how many there are
    repairs: Mapping[str, Mapping[str, int]]
    left_out: Mapping[str, int]


def fit_recalibrator(
    path: Any,
    truth: Any,
    *,
    name: str = "predictions",
    kind: str = "auto",
    rule: str = "brier",
    folds: int = 5,
    seed: int = 0,
    reading: Reading | None = None,
    progress: Progress = silent,
) -> FitResult:
    """A recalibrator fitted to a file, and what it scores on cases that it has not seen, beside no change at all.

    `kind` is one of `KINDS`, or "auto" for the one that `choose_recalibrator` takes.
    """
    if kind not in ("auto", *KINDS):
        raise TopListError(f"a kind is auto or one of {', '.join(KINDS)}, not {kind!r}.")
    files = (reading or Reading()).open({name: path}, truth)
    lists, y = files.gather(progress)
    own, candidates = lists[name], None
    if kind != "auto":
        chosen = KINDS[kind]()
        if "rule" in chosen.get_params():
            chosen.set_params(rule="log" if rule == "log" else "brier")
        candidates = [chosen]
    choice = choose_recalibrator(own, y, rule=rule, candidates=candidates, folds=folds, seed=seed)
    model = choice.best if candidates is None else candidates[0].unfitted().fit(own, y)
    return FitResult(model, choice, len(own), files.space.size, files.repairs_made, files.cases.left_out)


def fit_weights(
    predictions: Mapping[str, Any],
    truth: Any,
    *,
    rule: str | None = None,
    pool: Literal["linear", "geometric"] = "linear",
    reading: Reading | None = None,
    progress: Progress = silent,
) -> tuple[PoolWeights, Ambiguity | None]:
    """The weights of a pool with the least score, and what disagreement gains: only a linear pool has that.

    The rule is "brier" or "log"; by default the first for a linear pool, the second for a geometric one.
    """
    lists, y = (reading or Reading()).open(predictions, truth).gather(progress)
    found = pool_weights(lists, y, rule=rule or ("brier" if pool == "linear" else "log"), pool=pool)
    return found, ambiguity(lists, y, weights=found.weights.tolist()) if pool == "linear" else None


def fit_truncation(
    path: Any,
    truth: Any,
    *,
    name: str = "predictions",
    rule: str = "brier",
    by: str = "k",
    reading: Reading | None = None,
    progress: Progress = silent,
) -> Truncation:
    """The length, or the mass, that is nearly as good as the best on these cases, and the curve behind it."""
    choosers: dict[str, Callable[..., Truncation]] = {"k": choose_k, "mass": choose_mass}
    if by not in choosers:
        raise TopListError(f"lists are cut by {' or '.join(choosers)}, not {by!r}.")
    lists, y = (reading or Reading()).open({name: path}, truth).gather(progress)
    return choosers[by](lists[name], y, rule=rule)


class Scores(Collector):
    """A sink that writes each case's scores to a file."""

    def __init__(self, path: str | os.PathLike[str], rules: Sequence[str], keep: Sequence[str]) -> None:
        self.writer = Writer(path)
        self.rules, self.keep = tuple(rules), tuple(keep)

    def make(self, truth: Batch, sheets: Sequence[CaseScores], present: Sequence[NDArray[np.bool_]]) -> Any:
        """See `streaming.Sink`. One file alone has no case without a prediction that counts."""
        (scored,) = sheets
        columns: dict[str, Any] = {"case": as_arrow(truth.rows - 1) if truth.ids is None else truth.ids}
        columns |= {name: as_arrow(score) for name, score in zip(self.rules, scored.scores, strict=True)}
        columns["hit"] = as_arrow(scored.metrics["accuracy"].astype(np.float64))
        columns["listed"] = as_arrow(scored.metrics["coverage"].astype(np.float64))
        columns["size"] = as_arrow(scored.metrics["mean_length"].astype(np.int64))
        columns["mass"] = as_arrow(scored.metrics["mean_mass"])
        columns["valid"] = as_arrow(scored.invalid == 0)
        for name in self.keep:
            columns[name if name not in columns else f"{name}_"] = truth.extra[name]
        return need("pyarrow").table(columns)

    def add(self, made: Any) -> None:
        """See `streaming.Sink`."""
        self.writer.write(made)


@contextmanager
def score_file(
    path: str | os.PathLike[str], rules: Sequence[str], keep: Sequence[str]
) -> Iterator[Callable[[], Scores]]:
    """A maker of sinks for one output; the last one made is what is kept."""
    made: list[Scores] = []

    def again() -> Scores:
        if made:
            made[-1].writer.__exit__(TopListError)
        made.append(Scores(path, rules, keep))
        return made[-1]

    try:
        yield again
    except BaseException:
        if made:
            made[-1].writer.__exit__(TopListError)
        raise
    made[-1].writer.__exit__(None)
