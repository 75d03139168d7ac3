"""Automatic choice of a recalibrator: cross-fitting, candidates by cross-validated score, the one-standard-error rule."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from toplist._arguments import as_units, as_whole
from toplist._typing import Floats
from toplist.errors import TopListError
from toplist.lists import TopLists
from toplist.lists.log_space import Logs, revalued
from toplist.lists.space import ClassSpace
from toplist.postprocess.recalibration import state as saved_state
from toplist.postprocess.recalibration.base import Chain, Identity, Recalibrator, Sample
from toplist.postprocess.recalibration.floor import RestFloor
from toplist.postprocess.recalibration.maps import Beta, Isotonic
from toplist.postprocess.recalibration.scaling import BucketTemperature, Temperature, VectorScaling
from toplist.postprocess.selection import as_folds
from toplist.scoring.rules import as_rule, name_of
from toplist.scoring.scores import plain_scores


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

    What comes out may be compared with `lists`, or with other models, as if each case were new. Cases that depend
    on each other are given the same entry in `clusters`, and then stay in one fold.

    >>> import toplist as tl
    >>> from toplist.postprocess.recalibration import Temperature
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


Units = NDArray[np.intp]


_MANY = 10_000  # classes from which on powers of shares are of no use


_SURE = 2.0  # standard errors by which it must be better to do something than nothing


@dataclass(frozen=True, slots=True)
class CandidateScore:
    """One line of the table. Scores are of lists that a fit has not seen; `refused` says why there are none.

    `score` and `error` are over the cases with a finite score, `difference` and `difference_error` over those with a
    finite one under the identity too; `infinite` counts the others.
    """

    name: str
    parameters: int
    infinite: int
    score: float | None
    error: float | None
    difference: float | None
    difference_error: float | None
    refused: str = ""


@dataclass(frozen=True, slots=True, repr=False)
class Selection:
    """The chosen recalibrator, fitted to all cases, and what the candidates scored, in their order."""

    best: Recalibrator
    table: tuple[CandidateScore, ...]
    rule: str
    folds: int
    seed: int
    chosen: int  # the line of the table

    def __repr__(self) -> str:
        head = f"Choice by the {self.rule} score in {self.folds} folds (seed {self.seed}): {self.best!r}"
        return "\n".join([head, *_lines(self.table, self.chosen)])


def choose_recalibrator(
    lists: TopLists,
    y: Any,
    *,
    rule: Any = "brier",
    candidates: Sequence[Recalibrator] | None = None,
    folds: int = 5,
    seed: int = 0,
    clusters: Any = None,
    sample_weight: Any = None,
) -> Selection:
    """The candidate of least cross-validated score, or a simpler one within a standard error of it.

    The standard error is that of the paired difference to the best; simpler is what learns fewer numbers. Candidates
    with fewer infinite scores come first, whatever their means. The identity is always among the candidates, and is
    taken if it is within two standard errors: lists that are fine should not get worse. Invalid lists are repaired by
    all of them, so that none pays a penalty. Cases of one of the `clusters` stay in one fold, and standard errors are
    those of clusters.
    """
    sample = Sample.of(lists, y, sample_weight)
    fold = as_folds(len(lists), folds, seed, clusters)
    return choose(sample, rule, candidates, fold, int(seed), as_units(clusters, len(lists)))


def choose(
    sample: Sample,
    rule: Any,
    candidates: Sequence[Recalibrator] | None,
    fold: NDArray[np.int64],
    seed: int,
    units: Units,
) -> Selection:
    """The same for a checked sample, given folds, and the number of each case's cluster."""
    rule = as_rule(rule)
    tried = as_candidates(candidates, sample.lists.space, "log" if rule.name == "log" else "brier")
    columns: list[Floats | None] = []
    made: list[Recalibrator] = []
    refused: list[str] = []
    for one in tried:
        fitted, column, why = one.unfitted(), None, ""
        try:
            column = plain_scores(refitted(one, sample, fold), sample.codes, rule)
            fitted._fit(sample)
        except TopListError as error:
            column, why = None, str(error)
        made.append(fitted)
        columns.append(column)
        refused.append(why)
    plain = next(column for one, column in zip(tried, columns, strict=True) if isinstance(one, Identity))
    if plain is None:
        raise TopListError(f"nothing can be compared: {refused[0]}")
    table = tuple(
        _line(one, column, plain, sample.weight, units, why)
        for one, column, why in zip(made, columns, refused, strict=True)
    )
    chosen = _choose(made, columns, table, sample.weight, units)
    return Selection(made[chosen], table, name_of(rule), int(fold.max()) + 1, seed, chosen)


def as_candidates(given: Sequence[Recalibrator] | None, space: ClassSpace, rule: str) -> list[Recalibrator]:
    """The candidates that were given, checked, with the identity; or the usual ones."""
    if given is None:
        few = float(space.as_floats[0].max(initial=0.0)) < _MANY
        heat: list[Recalibrator] = [Temperature(rule=rule)] if few else []
        hottest = heat[0] if few else BucketTemperature(rule=rule)
        return [
            Identity(),
            *heat,
            RestFloor(rule=rule),
            BucketTemperature(rule=rule),
            *([Chain(steps=(hottest, RestFloor(rule=rule)))] if rule == "log" else []),
            Beta(),
            VectorScaling(),
            Isotonic(),
        ]
    tried = list(given) if isinstance(given, Iterable) else [given]
    for one in tried:
        if not isinstance(one, Recalibrator):
            raise TopListError(f"candidates are recalibrators such as Temperature(), not {one!r}.")
        one._check()
    return tried if any(isinstance(one, Identity) for one in tried) else [Identity(), *tried]


def _line(
    one: Recalibrator, column: Floats | None, plain: Floats, weight: Floats, units: Units, why: str
) -> CandidateScore:
    name = repr(one.unfitted())
    if column is None:
        return CandidateScore(name, one.parameters, 0, None, None, None, None, why)
    infinite = int(np.count_nonzero(~np.isfinite(column) & (weight > 0)))
    both = np.isfinite(column) & np.isfinite(plain)
    away = np.where(both, column, 0.0) - np.where(both, plain, 0.0)
    score, error = _mean(column, np.isfinite(column), weight, units)
    difference, difference_error = _mean(away, both, weight, units)
    return CandidateScore(name, one.parameters, infinite, score, error, difference, difference_error)


def _mean(values: Floats, of: NDArray[np.bool_], weight: Floats, units: Units) -> tuple[float | None, float | None]:
    """The weighted mean of some cases, and its standard error over clusters; None where there are too few."""
    of = of & (weight > 0)
    if not of.any():
        return None, None
    w, x = weight[of] / weight[of].sum(), values[of]
    mean = float(w @ x)
    _, own = np.unique(units[of], return_inverse=True)
    sums = np.bincount(own, weights=w * (x - mean))
    if len(sums) == 1:
        return mean, None
    return mean, float(math.sqrt(sums @ sums * len(sums) / (len(sums) - 1)))


def _choose(
    made: list[Recalibrator],
    columns: list[Floats | None],
    table: tuple[CandidateScore, ...],
    weight: Floats,
    units: Units,
) -> int:
    """The line of the best, or of a simpler one within a standard error of it, or of the identity within two."""
    known = [(i, column) for i, column in enumerate(columns) if column is not None]
    fewest = min(table[i].infinite for i, _ in known)
    known = [(i, column) for i, column in known if table[i].infinite == fewest]
    finite = np.logical_and.reduce([np.isfinite(column) for _, column in known])
    means = {i: _mean(column, finite, weight, units)[0] or 0.0 for i, column in known}
    best = min(known, key=lambda one: (means[one[0]], made[one[0]].parameters))
    near = []
    for i, column in known:
        away = np.where(finite, column, 0.0) - np.where(finite, best[1], 0.0)
        difference, error = _mean(away, finite, weight, units)
        errors = _SURE if isinstance(made[i], Identity) else 1.0
        if difference is None or difference <= errors * (error or 0.0):
            near.append(i)
    return min(near, key=lambda i: (made[i].parameters, means[i]))


def _lines(table: tuple[CandidateScore, ...], chosen: int) -> list[str]:
    width = max(len(one.name) for one in table)
    lines = [f"  {'':{width}}  numbers  infinite  {'score (error)':>21}  {'less identity (error)':>21}"]
    for i, one in enumerate(table):
        mark = ">" if i == chosen else " "
        if one.refused:
            lines.append(f"{mark} {one.name:{width}}  {one.refused}")
            continue
        score, away = _shown(one.score, one.error, ""), _shown(one.difference, one.difference_error, "+")
        lines.append(f"{mark} {one.name:{width}}  {one.parameters:7}  {one.infinite:8}  {score}  {away}")
    return lines


def _shown(value: float | None, error: float | None, sign: str) -> str:
    if value is None:
        return f"{'none':>21}"
    return f"{value:{sign or '-'}11.6f}" + (" " * 10 if error is None else f" ({error:.5f})")


class AutoRecalibrator(Recalibrator):
    """The recalibrator that `choose_recalibrator` takes, chosen anew in each fit; `choice_` says which and why."""

    learned = ("choice_",)
    choice_: Selection

    def __init__(
        self, *, rule: Any = "brier", candidates: Sequence[Recalibrator] | None = None, folds: int = 5, seed: int = 0
    ) -> None:
        self.rule = rule
        self.candidates = candidates
        self.folds = folds
        self.seed = seed

    @property
    def best_(self) -> Recalibrator:
        """What was chosen."""
        self.require_fitted()
        return self.choice_.best

    @property
    def parameters(self) -> int:
        """Those of what was chosen."""
        return self.best_.parameters if self.is_fitted else 0

    def _check(self) -> None:
        as_rule(self.rule)
        as_candidates(self.candidates, ClassSpace(2), "brier")
        as_whole(self.folds, "folds", 2)
        as_whole(self.seed, "seed", 0)

    def _fit(self, sample: Sample) -> None:
        fold = as_folds(len(sample.lists), self.folds, self.seed)
        self.choice_ = choose(sample, self.rule, self.candidates, fold, self.seed, np.arange(len(fold)))

    def _transform(self, lists: TopLists) -> TopLists:
        return self.best_.transform(lists)

    def _kept(self) -> dict[str, Any]:
        choice = self.choice_
        return {"best": choice.best.to_dict(), "table": saved_state.plain(choice.table), "chosen": choice.chosen}

    def _restore(self, state: saved_state.State) -> None:
        table = tuple(_candidate(part) for part in state.parts("table"))
        chosen = state.whole("chosen")
        if chosen >= len(table):
            raise state.wrong("chosen", f"{chosen}, which is no line of the table")
        best = Recalibrator.from_dict(state.get("best"))
        self.choice_ = Selection(best, table, name_of(as_rule(self.rule)), self.folds, self.seed, chosen)

    def _said(self) -> str:
        return repr(self.best_)


def _candidate(part: saved_state.State) -> CandidateScore:
    words = {name: part.get(name) for name in ("name", "refused")}
    for name, value in words.items():
        if not isinstance(value, str):
            raise part.wrong(name, "not a text")
    score, error, difference, difference_error = (
        None if part.get(name) is None else part.number(name)
        for name in ("score", "error", "difference", "difference_error")
    )
    return CandidateScore(
        words["name"], part.whole("parameters"), part.whole("infinite"), score, error, difference, difference_error,
        words["refused"],
    )  # fmt: skip
