"""Scores of two models case by case, with what tells cases apart, from files, from memory or from a file of scores.

A file of scores stands in for a model: its scores are looked up by the ids of the cases as these are read, so that all
that follows is the same as for predictions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from toplist._typing import Bools, Progress
from toplist.evaluation import fingerprints
from toplist.evaluation.arrays import ArrayModels, given, together
from toplist.evaluation.case_details import class_texts
from toplist.evaluation.compare import spelled_in_files, spelled_in_memory
from toplist.evaluation.model_details import ArrayNames
from toplist.evaluation.samples import ArrayLosses, FileLosses, SampleCollector, of_arrays
from toplist.evaluation.score_files import BaselineScores, distribution_text, outcome_texts, outcomes_of
from toplist.evaluation.stream import (
    POSITION,
    Collector,
    MatrixCollector,
    ReadSummary,
    ScoringSpec,
    SumCollector,
    TeeCollector,
    case_hashes,
    run,
)
from toplist.inference.aggregates import Aggregates, ScoreMatrix, overall, tally
from toplist.inference.diagnostics import ScoreSample, Spelled, warnings
from toplist.inference.intervals import Intervals
from toplist.inference.ranking import ComparisonSpec, ranked
from toplist.inference.results import Comparison
from toplist.inference.settings import Inference, InferenceSettings
from toplist.io.batches import Batch
from toplist.io.encoding import empty_set_explained
from toplist.io.options import ReadOptions, ReadRequest
from toplist.io.plan import Plan, as_tables, plan_of, with_indicators
from toplist.lists.checks.detect import text
from toplist.lists.converters import as_codes, as_truth, is_soft
from toplist.lists.space import show_size
from toplist.scoring.case_scores import CaseScores
from toplist.scoring.rules import name_of

MISSING = ("error", "common", "uniform")  # the other ways take the prediction of one model for that of another
_LEVEL = 0.95  # of what makes predictions doubtful, whatever is asked of their scores
# Doubts about one model:
_KINDS = ("never listed", "perfect", "worse than uniform", "below chance", "little mass", "little answer mass")


Doubts = Mapping[str, tuple[str, ...]]
"""What makes the predictions of a model doubtful, by the rule that they are scored by."""


@dataclass(frozen=True, slots=True, eq=False)
class ScoredCases:
    """Cases with the scores of all models, in the order of the truth."""

    names: tuple[str, ...]
    scoring: ScoringSpec
    matrix: ScoreMatrix
    ids: tuple[str, ...]  # or positions
    settings: InferenceSettings
    read: ReadSummary
    classes: str  # how many there are
    weight: str | None
    group: str | None
    sample: ScoreSample
    doubts: Mapping[str, Doubts]  # by model
    highest: Mapping[str, float]  # by model that was read: a bound on what it may lose in a case, times its weight
    identical: Bools  # in which cases both models have the same list; of a file of scores it is known of all or none
    notes: tuple[str, ...] = ()  # what was left out


def scored_cases(
    models: Mapping[str, Any],
    truth: Any,
    space: Any,
    scoring: ScoringSpec,
    *,
    missing: str = "error",
    inference: Inference = Inference(),  # noqa: B008  frozen
    read: ReadOptions = ReadOptions(),  # noqa: B008  frozen
    baseline: BaselineScores | None = None,
    progress: Progress | None = None,
) -> ScoredCases:
    """Read, align and score two models; the second one is not read where its scores are given."""
    request = with_indicators(ReadRequest.of(models, truth, read), space)
    tables = as_tables(request, space)
    if tables is None:
        return _of_arrays(request, space, scoring, inference, baseline)
    return _of_files(tables, space, scoring, missing, inference, baseline, progress or (lambda what, done, total: None))


def _of_files(
    request: ReadRequest,
    space: Any,
    scoring: ScoringSpec,
    missing: str,
    inference: Inference,
    baseline: BaselineScores | None,
    progress: Progress,
) -> ScoredCases:
    plan = plan_of(request, space, missing=missing, find=("cluster", "time"))
    plan = replace(plan, choices=MISSING)
    settings = inference.settings(plan.cluster, plan.time, weighted=plan.weight is not None)
    plan = replace(plan, time=settings.time, ordered=settings.ordered)
    if baseline is not None:
        baseline.require_same_question(plan.classes, plan.space)

    def collector() -> TeeCollector[EachModel, WithBaseline]:
        both = TeeCollector(TeeCollector(SampleCollector(plan), MatrixCollector(plan)), KeyCollector())
        return TeeCollector(EachModel(plan), WithBaseline(both, plan, None if baseline is None else replace(baseline)))

    with empty_set_explained(plan.set_separator):
        found, summary = run(plan, scoring, collector, progress)
    each, cases = found.one, found.other
    notes = cases.finish()
    sample, matrix, keys = cases.inner.one.one, cases.inner.one.other.panel(), cases.inner.other
    names = tuple(one.name for one in plan.sources)
    size = None if plan.space is None else plan.space.size
    losses = FileLosses(plan, scoring, summary.highest, sample.heaviest)
    prints = [each.lists.prints(name, keys.hashes) for name in names]
    return ScoredCases(
        names if baseline is None else (*names, baseline.name),
        scoring,
        matrix,
        keys.ids,
        settings,
        summary,
        plan.classes,
        plan.weight,
        plan.group,
        sample.sample(settings, summary.cases),
        {
            name: doubts(name, overall(one.tallies), summary, scoring, size, partial(spelled_in_files, plan))
            for name, one in zip(names, each.parts, strict=True)
        }
        | ({} if baseline is None else {baseline.name: baseline.file.warnings}),
        {name: losses.highest(name) for name in names},
        _identical(prints, keys.hashes, baseline),
        notes,
    )


def _of_arrays(
    request: ReadRequest, space: Any, scoring: ScoringSpec, inference: Inference, baseline: BaselineScores | None
) -> ScoredCases:
    request.require_outcomes()
    about = request.truth
    cluster, time = (None if given(one) is None else "" for one in (about.cluster, about.time))
    settings = inference.settings(cluster, time, weighted=about.weight is not None)
    held = together(request, space, scoring, settings)
    sheets, n = held.sheets(), len(next(iter(held.lists.values())))
    ids = tuple(map(str, range(n))) if held.ids is None else tuple(map(text, held.ids))
    every, notes = sheets, tuple[str, ...]()
    if baseline is not None:
        baseline.require_same_question(held.classes, held.space)
        places = baseline.look_up(ids, _outcomes_in_memory(held), by_position=held.ids is None)
        notes = baseline.require_same_cases(all_known=True)
        every = [*sheets, baseline.scores(places, sheets[0])]
    summary, losses = held.read(), ArrayLosses(held)
    return ScoredCases(
        tuple(held.lists) if baseline is None else (*held.lists, baseline.name),
        scoring,
        held.panel(every),
        ids,
        settings,
        summary,
        held.classes,
        None if about.weight is None else "",
        None if given(about.group) is None else "group",
        of_arrays(held, every, settings),
        {
            name: doubts(
                name,
                overall(tally([sheet])),
                summary,
                scoring,
                held.space.size,
                partial(spelled_in_memory, held),
            )
            for name, sheet in zip(held.lists, sheets, strict=True)
        }
        | ({} if baseline is None else {baseline.name: baseline.file.warnings}),
        {name: losses.highest(name) for name in held.lists},
        _identical(list(map(fingerprints.of_lists, held.lists.values())), fingerprints.text_hashes(ids), baseline),
        notes,
    )


# What tells cases apart


class KeyCollector(Collector):
    """Keeps the ids of cases, and their hashes; positions where there are no ids."""

    def __init__(self) -> None:
        self._ids: list[str] = []
        self._hashes: list[fingerprints.Hashes] = []

    def make(self, truth: Batch, scored: Sequence[CaseScores], present: Sequence[NDArray[np.bool_]]) -> Any:
        """See `Collector`."""
        return ids_of(truth), case_hashes(truth, 0)

    def add(self, made: Any) -> None:
        """See `Collector`."""
        self._ids += made[0]
        self._hashes.append(made[1])

    @property
    def ids(self) -> tuple[str, ...]:
        """In the order of the truth."""
        return tuple(self._ids)

    @property
    def hashes(self) -> fingerprints.Hashes:
        """In the order of the truth."""
        return np.concatenate([np.zeros(0, np.uint64), *self._hashes])


def _identical(
    prints: Sequence[fingerprints.Hashes], cases: fingerprints.Hashes, baseline: BaselineScores | None
) -> Bools:
    """In which cases two models have the same list; scores in a file know it of all cases together."""
    if baseline is None:
        first, second = prints
        same: Bools = (first == second) & (first != fingerprints.UNKNOWN)
        return same
    (lists,), file = prints, baseline.file
    known = len(file.cases) == len(cases) and not (lists == fingerprints.UNKNOWN).any()
    return np.full(len(cases), known and f"{fingerprints.total(cases, lists):016x}" == file.lists)


def ids_of(truth: Batch) -> list[str]:
    """The ids of cases, or their positions, as text."""
    ids = class_texts(truth.extra[POSITION] if truth.ids is None else truth.ids, None).to_pylist()
    return cast("list[str]", ids)


def _outcomes_in_memory(held: ArrayModels) -> list[str]:
    """What `outcome_texts` are, of models in memory."""
    lists = next(iter(held.lists.values()))
    n, space = len(lists), lists.space
    many = [show_size(one) for one in space.size.tolist()] if space.per_case else [show_size(space.size)] * n
    if is_soft(held.y, space):
        truth = as_truth(held.y, space, n)
        names, bounds = ArrayNames(space), truth.offsets.tolist()
        each = [slice(first, last) for first, last in pairwise(bounds)]
        told = [
            distribution_text(names.classes(at, truth.classes[part].tolist()), truth.confidences[part])
            for at, part in enumerate(each)
        ]
        return outcomes_of(told, many)
    codes = as_codes(held.y, lists)
    return outcomes_of(ArrayNames(space, None, held.y).outcomes(np.arange(n), codes), many)


_Cases = TeeCollector[TeeCollector[SampleCollector, MatrixCollector], KeyCollector]


@dataclass(slots=True)
class WithBaseline(Collector):
    """Hands the scores of a baseline, where it has them in a file, on with those that were made."""

    inner: _Cases
    plan: Plan
    baseline: BaselineScores | None

    def make(self, truth: Batch, scored: Sequence[CaseScores], present: Sequence[NDArray[np.bool_]]) -> Any:
        """See `Collector`."""
        if self.baseline is None:
            return self.inner.make(truth, scored, present)
        return truth, scored, ids_of(truth), outcome_texts(truth, self.plan)

    def add(self, made: Any) -> None:
        """See `Collector`."""
        if self.baseline is None:
            self.inner.add(made)
            return
        truth, scored, ids, outcomes = made
        places = self.baseline.look_up(ids, outcomes, by_position=truth.ids is None)
        keep = np.flatnonzero(places >= 0)
        if len(keep) < len(truth):
            truth, scored, places = truth.take(keep), [one.take(keep) for one in scored], places[keep]
        if len(truth):
            self.inner.add(self.inner.make(truth, [*scored, self.baseline.scores(places, scored[0])], ()))

    def finish(self) -> tuple[str, ...]:
        """Refuse scores that do not match, and say what was left out."""
        return () if self.baseline is None else self.baseline.require_same_cases()


# Doubts about single models


class EachModel(Collector):
    """Adds up the scores of every model for itself, and keeps what tells its lists apart.

    What the truth says of cases beside outcomes does not count.
    """

    def __init__(self, plan: Plan) -> None:
        alone = replace(plan, group=None, cluster=None, weight=None)
        self.parts = [SumCollector(alone) for _ in plan.sources]
        self.lists = fingerprints.PrintKeeper([one.name for one in plan.sources], plan.set_separator)

    def make(self, truth: Batch, scored: Sequence[CaseScores], present: Sequence[NDArray[np.bool_]]) -> Any:
        """See `Collector`."""
        return [part.make(truth, [one], ()) for part, one in zip(self.parts, scored, strict=True)]

    def add(self, made: Any) -> None:
        """See `Collector`."""
        for part, one in zip(self.parts, made, strict=True):
            part.add(one)

    @property
    def watchers(self) -> Mapping[str, Any]:
        """See `Collector`."""
        return self.lists.watchers


def doubts(
    name: str, tally: Aggregates, read: ReadSummary, scoring: ScoringSpec, size: Any, spelled: Spelled
) -> Doubts:
    """What makes the predictions of a model doubtful, whomever it is compared with."""
    rules = tuple(map(name_of, scoring.rules))
    own = {rule: _of_rule(tally, at) for at, rule in enumerate(rules)}
    return {rule: _doubts(name, one, read, rule, size, spelled) for rule, one in own.items()}


def _of_rule(tally: Aggregates, rule: int) -> Aggregates:
    """The sums under one rule, over cases, whatever clusters they are in."""
    at, sums = slice(rule, rule + 1), dict(tally.sums)
    for name, value in tally.sums.items():
        if value.ndim == 3:
            sums[name] = value[at]
        elif name in ("unpenalised", "empty", "unpenalised_infinite"):
            sums[name] = value[:, at]
    return Aggregates(tally.cases, sums)


def _doubts(name: str, tally: Aggregates, read: ReadSummary, rule: str, size: Any, spelled: Spelled) -> tuple[str, ...]:
    terms = ComparisonSpec((name,), (rule,), (), None, pairwise=False)
    board = Comparison(
        rules=terms.rules,
        k=(),
        classes="",
        cases=read.cases,
        compared=read.compared,
        missing="",
        weighted=False,
        baseline=None,
        penalty=None,
        level=_LEVEL,
        method="",
        group=None,
        cluster=None,
        time=None,
        sources=tuple(one for one in read.origins if one.name == name),
        overall=ranked([(None, tally, Intervals(tally, _LEVEL))], terms)[0],
        units=read.compared,
    )
    found = warnings(board, tally, (name,), size, spelled)
    return tuple(one.sentence for one in found if one.kind in _KINDS)
