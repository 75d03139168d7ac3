"""Files in, files out: fit a recalibrator, pool weights or a truncation, and write lists that are changed by them."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from toplist._typing import Progress
from toplist.errors import TopListError
from toplist.io import AlignedFiles, ReadOptions, ReadRequest, WriteSummary, open_aligned, silent, transform
from toplist.lists import TopLists
from toplist.postprocess.combination import Ambiguity, PoolWeights, ambiguity, pool_weights
from toplist.postprocess.combination.weights import POOLS
from toplist.postprocess.recalibration import RECALIBRATORS, Recalibrator, Selection, select_recalibrator
from toplist.postprocess.truncation import Truncation, choose_k, choose_mass, truncate_by_gain

PathLike = str | os.PathLike[str]


_READ = ReadOptions()


def recalibrate_file(
    model: Any,
    recalibrator: Any,
    output: PathLike,
    *,
    space: Any = None,
    name: str = "predictions",
    read: ReadOptions = _READ,
    progress: Progress = silent,
) -> WriteSummary:
    """Write the lists of a file as a fitted recalibrator changes them.

    Parameters
    ----------
    model : path, table or Source
        The predictions.
    recalibrator : Recalibrator
        Fitted; or anything with a method `transform` from lists to lists.
    output : path
        Where to write: .parquet, .csv or .jsonl.
    space : ClassSpace, LabelSets, int or float, optional
        The classes, or how many there are; wide tables that name all classes do without.
    name : str, default "predictions"
        What the model is called in messages.
    read : ReadOptions, default ReadOptions()
        How the file is read.
    progress : callable, optional
        Called with what is being done, the rows done so far, and the number of rows where it is known.

    Returns
    -------
    WriteSummary
        How many cases were written, and what was repaired.

    Examples
    --------
    >>> recalibrate_file("preds.csv", model, "better.parquet", space=1000)  # doctest: +SKIP
    """
    files = open_aligned(ReadRequest.of({name: model}, None, read), space)
    return transform(files, output, lambda lists: recalibrator.transform(lists[0]), progress, "recalibrating")


def truncate_file(
    model: Any,
    output: PathLike,
    *,
    k: int | None = None,
    mass: float | None = None,
    gain: float | None = None,
    space: Any = None,
    name: str = "predictions",
    truth: Any = None,
    read: ReadOptions = _READ,
    progress: Progress = silent,
) -> WriteSummary:
    """Write shorter lists.

    Parameters
    ----------
    model : path, table or Source
        The predictions.
    output : path
        Where to write: .parquet, .csv or .jsonl.
    k : int, optional
        Keep the k most confident classes.
    mass : float, optional
        Keep as many as list this mass.
    gain : float, optional
        Keep classes as long as one more lowers the expected Brier score by this much.
    truth : Truth, optional
        "same" where the file carries outcomes, which are left aside.
    space, name, read, progress
        See `recalibrate_file`; the number of classes is needed with `gain` only.

    Returns
    -------
    WriteSummary
        How many cases were written, and what was repaired.

    Raises
    ------
    TopListError
        Unless one of `k`, `mass` and `gain` is given.

    Examples
    --------
    >>> truncate_file("preds.csv", "short.parquet", k=5)  # doctest: +SKIP
    """
    if sum(option is not None for option in (k, mass, gain)) != 1:
        raise TopListError("truncate to k classes, to a mass or by a gain: give one of the three.")

    def change(lists: list[TopLists]) -> TopLists:
        return lists[0].truncate(k, mass=mass) if gain is None else truncate_by_gain(lists[0], gain)

    change([TopLists.from_dicts([], 2)])
    request = ReadRequest.of({name: model}, truth, read)
    files = open_aligned(request, space, counted=gain is not None)
    return transform(files, output, change, progress, "truncating")


def pool_files(
    models: Mapping[str, Any],
    output: PathLike,
    *,
    weights: Sequence[float] | None = None,
    pool: str = "linear",
    k: int | None = None,
    space: Any = None,
    missing: str = "error",
    truth: Any = None,
    read: ReadOptions = _READ,
    progress: Progress = silent,
) -> WriteSummary:
    """Write the pool of several files' lists for the same cases, in the order of the first file.

    Parameters
    ----------
    models : mapping of str to path, table or Source
        The predictions by name.
    output : path
        Where to write: .parquet, .csv or .jsonl.
    weights : sequence of float, optional
        The weight of each model; equal by default.
    pool : {"linear", "geometric"}, default "linear"
        Arithmetic or geometric means of probabilities.
    k : int, optional
        Keep the k most confident classes.
    missing : {"error", "common"}, default "error"
        What to do about cases that a file lacks: refuse them, or keep the cases that all have.
    truth : Truth, optional
        "same" where files carry outcomes, which are left aside.
    space, read, progress
        See `recalibrate_file`.

    Returns
    -------
    WriteSummary
        How many cases were written, and what was repaired.

    Examples
    --------
    >>> pool_files({"a": "a.csv", "b": "b.csv"}, "pool.parquet", space=1000)  # doctest: +SKIP
    """
    if pool not in POOLS:
        raise TopListError(f"a pool is {' or '.join(POOLS)}, not {pool!r}.")
    request, make = ReadRequest.of(models, truth, read), POOLS[pool]
    files = open_aligned(request, space, missing=missing)
    return transform(files, output, lambda lists: make(lists, weights=weights, k=k), progress, "pooling")


@dataclass(frozen=True, slots=True)
class FitResult:
    """A recalibrator, what it scores on cases that it has not seen, and what it was fitted to."""

    model: Recalibrator
    choice: Selection
    cases: int
    files: AlignedFiles


def fit_recalibrator(
    model: Any,
    truth: Any = None,
    *,
    kind: str = "auto",
    rule: str = "brier",
    folds: int = 5,
    seed: int = 0,
    space: Any = None,
    missing: str = "error",
    name: str = "predictions",
    read: ReadOptions = _READ,
    progress: Progress = silent,
) -> FitResult:
    """Fit a recalibrator to a file, and score it on cases that it has not seen, beside no change at all.

    Parameters
    ----------
    model : path, table or Source
        The predictions.
    truth : path, table or Truth, optional
        One outcome per case; "same", or None where producers' files carry outcomes, takes those of the predictions. A
        column of weights counts, and one of clusters, whose cases stay in one fold: it is
        named, or called cluster.
    kind : str, default "auto"
        One of `RECALIBRATORS`, or "auto" for the one that cross-validation selects.
    rule : str, default "brier"
        The score by which it is fitted and selected.
    folds, seed : int
        Of the cross-validation.
    missing : {"error", "common"}, default "error"
        What to do about cases that only one of the two has: refuse them, or leave them out.
    space, name, read, progress
        See `recalibrate_file`.

    Returns
    -------
    FitResult
        The recalibrator, and the scores of all candidates.

    Examples
    --------
    >>> fit_recalibrator("valid.csv", "y.csv", space=1000, kind="temperature").model  # doctest: +SKIP
    """
    if kind not in ("auto", *RECALIBRATORS):
        raise TopListError(f"a kind is auto or one of {', '.join(RECALIBRATORS)}, not {kind!r}.")
    request = ReadRequest.of({name: model}, truth, read)
    files = open_aligned(request, space, missing=missing, columns=("weight", "cluster"), outcomes=True)
    lists, y = files.gather(progress)
    predicted, candidates = lists[name], None if kind == "auto" else [recalibrator_of(kind, rule)]
    choice = select_recalibrator(
        predicted,
        y,
        rule=rule,
        candidates=candidates,
        folds=folds,
        seed=seed,
        clusters=files.clusters,
        sample_weight=files.weights,
    )
    best = choice.best if candidates is None else candidates[0].clone().fit(predicted, y, sample_weight=files.weights)
    return FitResult(best, choice, len(predicted), files)


def recalibrator_of(kind: str, rule: str) -> Recalibrator:
    """A recalibrator of one of `RECALIBRATORS`, to be fitted for a rule as far as it goes by one."""
    recalibrator = RECALIBRATORS[kind]()
    if "rule" in recalibrator.get_params():
        recalibrator.set_params(rule="log" if rule == "log" else "brier")
    return recalibrator


def fit_weights(
    models: Mapping[str, Any],
    truth: Any = None,
    *,
    rule: str | None = None,
    pool: Literal["linear", "geometric"] = "linear",
    space: Any = None,
    missing: str = "error",
    read: ReadOptions = _READ,
    progress: Progress = silent,
) -> tuple[PoolWeights, Ambiguity | None]:
    """Fit the weights of a pool with the least score.

    Parameters
    ----------
    models : mapping of str to path, table or Source
        The predictions by name.
    truth : path, table or Truth, optional
        One outcome per case; see `fit_recalibrator`.
    rule : {"brier", "log"}, optional
        By default "brier" for a linear pool, "log" for a geometric one.
    pool : {"linear", "geometric"}, default "linear"
        Arithmetic or geometric means of probabilities.
    space, missing, read, progress
        See `pool_files`.

    Returns
    -------
    PoolWeights
        The weights, and the scores of the pool and of its members.
    Ambiguity or None
        What disagreement gains, which only a linear pool has.

    Examples
    --------
    >>> fit_weights({"a": "a.csv", "b": "b.csv"}, "y.csv", space=1000)[0].weights  # doctest: +SKIP
    """
    lists, y = open_aligned(ReadRequest.of(models, truth, read), space, missing=missing, outcomes=True).gather(progress)
    fitted = pool_weights(lists, y, rule=rule or ("brier" if pool == "linear" else "log"), pool=pool)
    return fitted, ambiguity(lists, y, weights=fitted.weights.tolist()) if pool == "linear" else None


def fit_truncation(
    model: Any,
    truth: Any = None,
    *,
    rule: str = "brier",
    by: str = "k",
    space: Any = None,
    missing: str = "error",
    name: str = "predictions",
    read: ReadOptions = _READ,
    progress: Progress = silent,
) -> Truncation:
    """Choose the length, or the mass, of lists that is nearly as good as the best.

    Parameters
    ----------
    model : path, table or Source
        The predictions.
    truth : path, table or Truth, optional
        One outcome per case; see `fit_recalibrator`.
    rule : str, default "brier"
        The score.
    by : {"k", "mass"}, default "k"
        What is chosen.
    space, missing, name, read, progress
        See `fit_recalibrator`.

    Returns
    -------
    Truncation
        The choice, and the curve behind it.

    Examples
    --------
    >>> fit_truncation("valid.csv", "y.csv", space=1000).chosen  # doctest: +SKIP
    """
    choosers: dict[str, Callable[..., Truncation]] = {"k": choose_k, "mass": choose_mass}
    if by not in choosers:
        raise TopListError(f"lists are cut by {' or '.join(choosers)}, not {by!r}.")
    request = ReadRequest.of({name: model}, truth, read)
    lists, y = open_aligned(request, space, missing=missing, outcomes=True).gather(progress)
    return choosers[by](lists[name], y, rule=rule)
