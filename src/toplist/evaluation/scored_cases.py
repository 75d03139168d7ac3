"""Scores of one or two models case by case, with what tells cases apart, from files, from memory or from a record.

A record stands in for a model: its scores are looked up by the ids of the cases as these are read, so that all that
follows is the same as for predictions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from toplist._text import argument, quote
from toplist._typing import Bools, Codes, Progress
from toplist.errors import AlignmentError
from toplist.evaluation import fingerprints
from toplist.evaluation.arrays import ArrayModels, given, together
from toplist.evaluation.case_details import class_texts
from toplist.evaluation.compare import spelled_in_files, spelled_in_memory
from toplist.evaluation.model_details import ArrayNames
from toplist.evaluation.record import ScoreRecord, digest
from toplist.evaluation.samples import ArrayLosses, FileLosses, SampleCollector, of_arrays
from toplist.evaluation.stream import (
    Collector,
    MatrixCollector,
    ReadSummary,
    ScoringSpec,
    SumCollector,
    TeeCollector,
    run,
)
from toplist.inference.aggregates import Aggregates, ScoreMatrix, overall, tally
from toplist.inference.diagnostics import ScoreSample, Spelled, warnings
from toplist.inference.intervals import Intervals
from toplist.inference.ranking import ComparisonSpec, ranked
from toplist.inference.results import Comparison
from toplist.inference.settings import Inference, InferenceSettings
from toplist.io.batches import Batch
from toplist.io.columns import plain
from toplist.io.encoding import empty_set_explained
from toplist.io.lists import class_counts
from toplist.io.options import ReadOptions, ReadRequest
from toplist.io.plan import Plan, as_tables, plan_of, with_indicators
from toplist.lists.checks.detect import text
from toplist.lists.converters import as_codes, as_truth, is_soft
from toplist.lists.space import show_size
from toplist.report.text import noun, number_of
from toplist.scoring.case_scores import CaseScores
from toplist.scoring.rules import name_of

MISSING = ("error", "common", "uniform")  # the other ways take the prediction of one model for that of another
_LEVEL = 0.95  # of what makes predictions doubtful, whatever is asked of their scores
_SHOWN = 3  # ids in a message
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
    by_position: bool
    outcomes: tuple[str, ...]  # digests
    settings: InferenceSettings
    read: ReadSummary
    classes: str  # how many there are
    weight: str | None
    group: str | None
    sample: ScoreSample
    doubts: Mapping[str, Doubts]  # by model
    highest: Mapping[str, float]  # by model that was read: a bound on what it may lose in a case, times its weight
    prints: Mapping[str, fingerprints.Prints]  # by model that was read: a fingerprint of each list
    notes: tuple[str, ...] = ()  # what was left out

    def lists_of(self, name: str) -> str:
        """A fingerprint of all lists of a model; empty where it is not known."""
        return fingerprints.total(self.ids, self.prints[name])

    def identical(self, record: ScoreRecord | None = None) -> Bools:
        """In which cases the first two models have the same list; with a record of the second, in all or in none."""
        if record is not None:
            own = self.lists_of(self.names[0])
            return np.full(len(self.ids), bool(own) and own == record.lists and len(record) == len(self.ids))
        one, other = (self.prints[name] for name in self.names)
        found: Bools = (one == other) & (one != fingerprints.UNKNOWN)
        return found


def scored_cases(
    models: Mapping[str, Any],
    truth: Any,
    space: Any,
    scoring: ScoringSpec,
    *,
    missing: str = "error",
    inference: Inference = Inference(),  # noqa: B008  frozen
    read: ReadOptions = ReadOptions(),  # noqa: B008  frozen
    records: Mapping[str, ScoreRecord] | None = None,
    progress: Progress | None = None,
) -> ScoredCases:
    """Read, align and score; models with a record come after the others, and are not read.

    Where cases depend on each other is looked for in the truth only if two models are to be compared.
    """
    request = with_indicators(ReadRequest.of(models, truth, read), space)
    tables = as_tables(request, space)
    kept = [RecordedModel(name, one, scoring, missing) for name, one in (records or {}).items()]
    if tables is None:
        return _of_arrays(request, space, scoring, inference, kept)
    return _of_files(tables, space, scoring, missing, inference, kept, progress or (lambda what, done, total: None))


def _of_files(
    request: ReadRequest,
    space: Any,
    scoring: ScoringSpec,
    missing: str,
    inference: Inference,
    records: Sequence[RecordedModel],
    progress: Progress,
) -> ScoredCases:
    compared = len(request.models) + len(records) > 1
    plan = plan_of(request, space, missing=missing, find=("cluster", "time") if compared else ())
    plan = replace(plan, choices=MISSING)
    settings = inference.settings(plan.cluster, plan.time, weighted=plan.weight is not None)
    plan = replace(plan, time=settings.time, ordered=settings.ordered)
    for one in records:
        one.require_same_rules(plan.classes)

    def collector() -> TeeCollector[EachModel, WithRecords]:
        kept = TeeCollector(TeeCollector(SampleCollector(plan), MatrixCollector(plan)), KeyCollector(plan))
        return TeeCollector(EachModel(plan), WithRecords(kept, plan, [replace(one) for one in records]))

    with empty_set_explained(plan.set_separator):
        found, summary = run(plan, scoring, collector, progress)
    each, cases = found.one, found.other
    notes = cases.finish()
    sample, matrix, keys = cases.inner.one.one, cases.inner.one.other.panel(), cases.inner.other
    names = tuple(one.name for one in plan.sources)
    size = None if plan.space is None else plan.space.size
    losses = FileLosses(plan, scoring, summary.highest, sample.heaviest)
    return ScoredCases(
        (*names, *(one.name for one in records)),
        scoring,
        matrix,
        keys.ids,
        keys.by_position,
        tuple(keys.outcomes),
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
        | {one.name: one.record.warnings for one in records},
        {name: losses.highest(name) for name in names},
        {name: each.lists.prints(name, keys.places) for name in names},
        notes,
    )


def _of_arrays(
    request: ReadRequest, space: Any, scoring: ScoringSpec, inference: Inference, records: Sequence[RecordedModel]
) -> ScoredCases:
    request.require_outcomes()
    about = request.truth
    cluster, time = (None if given(one) is None else "" for one in (about.cluster, about.time))
    settings = inference.settings(cluster, time, weighted=about.weight is not None)
    held = together(request, space, scoring, settings)
    sheets, n = held.sheets(), len(next(iter(held.lists.values())))
    ids = tuple(map(str, range(n))) if held.ids is None else tuple(map(text, held.ids))
    outcomes = _outcomes_in_memory(held)
    for one in records:
        one.require_same_rules(held.classes)
        one.look_up(ids, outcomes, by_position=held.ids is None)
    notes = tuple(note for one in records for note in one.require_same_cases(all_known=True))
    every = [*sheets, *(one.scores(one.record.places(ids), sheets[0]) for one in records)]
    summary, losses = held.read(), ArrayLosses(held)
    return ScoredCases(
        (*held.lists, *(one.name for one in records)),
        scoring,
        held.panel(every),
        ids,
        held.ids is None,
        tuple(outcomes),
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
        | {one.name: one.record.warnings for one in records},
        {name: losses.highest(name) for name in held.lists},
        {name: fingerprints.of_lists(one) for name, one in held.lists.items()},
        notes,
    )


# What tells cases apart


class KeyCollector(Collector):
    """Keeps the ids of cases, and digests of their outcomes."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self._ids: list[str] = []
        self.outcomes: list[str] = []
        self.places: list[Any] = []  # ids, or rows of the truth
        self.by_position = False

    def make(self, truth: Batch, scored: Sequence[CaseScores], present: Sequence[NDArray[np.bool_]]) -> Any:
        """See `Collector`."""
        return ids_of(truth), outcome_digests(truth, self.plan), fingerprints.keys(truth, truth)

    def add(self, made: Any) -> None:
        """See `Collector`."""
        ids, outcomes, places = made
        self.places += places
        self.by_position = ids is None
        self._ids += ids or ()
        self.outcomes += outcomes

    @property
    def ids(self) -> tuple[str, ...]:
        """In the order of the truth; positions where there are none."""
        return tuple(map(str, range(len(self.outcomes)))) if self.by_position else tuple(self._ids)


def ids_of(truth: Batch) -> list[str] | None:
    """The ids of cases as text; None where rows are matched by their position."""
    return None if truth.ids is None else class_texts(plain(truth.ids), None).to_pylist()


def outcome_digests(truth: Batch, plan: Plan) -> list[str]:
    """A digest of the outcome of each case, by the name of its class, and of the number of classes."""
    many, labels = [plan.classes] * len(truth), None if plan.space is None else plan.space.labels
    if plan.space is None:
        many = list(map(show_size, class_counts(truth, str(plan.n_classes)).tolist()))
    names: Sequence[Any] = plan.truth.names if truth.classes is None else class_texts(truth.classes, plan.set_separator)
    names = names if isinstance(names, Sequence) else names.to_pylist()
    if labels is not None and truth.classes is not None and _are_codes(truth):
        names = [text(labels[int(name)]) if 0 <= int(name) < len(labels) else name for name in names]
    if plan.truth.layout.kind == "labels":
        return _digests(names, many)
    bounds = truth.offsets.tolist()
    each = [slice(first, last) for first, last in pairwise(bounds)]
    told = [_distribution(names if truth.classes is None else names[part], truth.confidences[part]) for part in each]
    return _digests(told, many)


def _are_codes(truth: Batch) -> bool:
    """Whether classes are whole numbers in the file."""
    kind = str(plain(truth.classes).type)
    return kind.startswith(("int", "uint"))


def _outcomes_in_memory(held: ArrayModels) -> list[str]:
    """The same of models in memory."""
    lists = next(iter(held.lists.values()))
    n, space = len(lists), lists.space
    many = [show_size(one) for one in space.size.tolist()] if space.per_case else [show_size(space.size)] * n
    if is_soft(held.y, space):
        truth = as_truth(held.y, space, n)
        names, bounds = ArrayNames(space), truth.offsets.tolist()
        each = [slice(first, last) for first, last in pairwise(bounds)]
        told = [
            _distribution(names.classes(at, truth.classes[part].tolist()), truth.confidences[part])
            for at, part in enumerate(each)
        ]
        return _digests(told, many)
    codes = as_codes(held.y, lists)
    return _digests(ArrayNames(space, None, held.y).outcomes(np.arange(n), codes), many)


def _distribution(classes: Sequence[Any], shares: Any) -> str:
    """A distribution over the classes as text, whatever their order."""
    pairs = zip(map(text, classes), np.asarray(shares, np.float64).tolist(), strict=True)
    return " ".join(f"{name}={share!r}" for name, share in sorted(pairs) if share)


def _digests(outcomes: Sequence[str], many: Sequence[str]) -> list[str]:
    known: dict[tuple[str, str], str] = {}
    pairs = list(zip(outcomes, many, strict=True))
    for outcome, size in dict.fromkeys(pairs):
        known[outcome, size] = digest(f"{outcome} of {size}")
    return [known[pair] for pair in pairs]


# A record in the place of a model


@dataclass(slots=True)
class RecordedModel:
    """The record of a model, matched with the cases that are read."""

    name: str
    record: ScoreRecord
    scoring: ScoringSpec
    missing: str
    met: int = 0
    lacking: list[str] = field(default_factory=list)  # cases that the record lacks, the first ones
    lacks: int = 0
    changed: list[str] = field(default_factory=list)  # cases with another outcome
    changes: int = 0

    def require_same_rules(self, classes: str) -> None:
        """Refuse a record that was made by another rule, with another penalty, or of other classes."""
        record, remedy = self.record, "Make the record again, as in: toplist record old.csv --truth y.csv -o old.json"
        for rule in map(name_of, self.scoring.rules):
            if rule not in record.rules:
                have = ", ".join(record.rules)
                raise AlignmentError(f"the record of {self.name} has scores by {have}, not by {rule}. {remedy}.")
        if self.scoring.penalty != record.penalty:
            ours, theirs = (_penalty(one) for one in (self.scoring.penalty, record.penalty))
            raise AlignmentError(f"the record of {self.name} was made with {theirs}, not with {ours}. {remedy}.")
        if classes != record.classes:
            raise AlignmentError(
                f"the record of {self.name} is of {record.classes} classes, these predictions of {classes}. {remedy}."
            )

    def look_up(self, ids: Sequence[str], outcomes: Sequence[str], *, by_position: bool) -> Codes:
        """Where these cases are in the record, -1 where it lacks them; what does not match is counted."""
        if by_position != self.record.by_position:
            has, lack = ("positions", "ids") if self.record.by_position else ("ids", "positions")
            raise AlignmentError(
                f"the record of {self.name} knows its cases by {has}, and these have {lack}: make the record again "
                "from predictions and outcomes with the same ids."
            )
        at = self.record.places(ids)
        known = self.record.outcomes
        away = [case for case, place in zip(ids, at.tolist(), strict=True) if place < 0]
        new = [
            case
            for case, outcome, place in zip(ids, outcomes, at.tolist(), strict=True)
            if place >= 0 and known[place] != outcome
        ]
        self.met += len(ids) - len(away)
        self.lacks, self.changes = self.lacks + len(away), self.changes + len(new)
        self.lacking, self.changed = (self.lacking + away)[:_SHOWN], (self.changed + new)[:_SHOWN]
        return at

    def require_same_cases(self, *, all_known: bool = False) -> tuple[str, ...]:
        """Refuse other outcomes and, where no choice was made, other cases; else what was left out."""
        name, beyond = self.name, len(self.record) - self.met
        if self.changes:
            raise AlignmentError(
                f"the record of {name} was made with other outcomes, or other numbers of classes, in "
                f"{_cases(self.changes, self.changed)}: make it again with this truth."
            )
        lines = []
        if self.lacks:
            lines.append(f"the record of {name} lacks {_cases(self.lacks, self.lacking)}")
        if beyond:
            lines.append(
                f"the record of {name} has {number_of(beyond, 'case')} that {noun(beyond, 'is', 'are')} not here"
            )
        if not self.met:
            raise AlignmentError(f"the record of {name} has no case in common with these predictions.")
        if not lines:
            return ()
        if self.missing == "error" or (all_known and self.lacks):
            remedy = f"To take the cases that all have, pass {argument('missing', 'common')}."
            if all_known and self.lacks:
                remedy = "Leave them out of the predictions and the outcomes, or make the record again."
            raise AlignmentError(f"{'; '.join(lines)}. {remedy}")
        if self.lacks and self.missing == "uniform":
            raise AlignmentError(
                f"{lines[0]}: make it again with {argument('missing', 'uniform')}, or pass "
                f"{argument('missing', 'common')}."
            )
        return tuple(f"{line}: left out." for line in lines)

    def scores(self, at: Codes, like: CaseScores) -> CaseScores:
        """The scores of cases at these places, beside those of a model that was read."""
        scores = np.stack([self.record[rule][at] for rule in like.rules])
        return CaseScores(like.rules, scores, scores, like.empty, {})


def _penalty(penalty: float | None) -> str:
    return "the default penalty" if penalty is None else f"a penalty of {penalty:g}"


def _cases(many: int, some: Sequence[str]) -> str:
    shown = ", ".join(map(quote, some))
    return f"{number_of(many, 'case')} ({shown}{', ...' if many > len(some) else ''})"


_Cases = TeeCollector[TeeCollector[SampleCollector, MatrixCollector], KeyCollector]


@dataclass(slots=True)
class WithRecords(Collector):
    """Hands the scores of records on with those that were made."""

    inner: _Cases
    plan: Plan
    records: Sequence[RecordedModel]
    seen: int = 0  # cases

    def make(self, truth: Batch, scored: Sequence[CaseScores], present: Sequence[NDArray[np.bool_]]) -> Any:
        """See `Collector`."""
        if not self.records:
            return self.inner.make(truth, scored, present), None
        ids, outcomes = ids_of(truth), outcome_digests(truth, self.plan)
        return truth, list(scored), ids, outcomes

    def add(self, made: Any) -> None:
        """See `Collector`."""
        if not self.records:
            self.inner.add(made[0])
            return
        truth, scored, ids, outcomes = made
        places = self._places(len(truth), ids, outcomes)
        keep = np.flatnonzero(np.logical_and.reduce([at >= 0 for at in places]))
        if len(keep) < len(truth):
            truth, scored, places = truth.take(keep), [one.take(keep) for one in scored], [at[keep] for at in places]
        if len(truth):
            added = [one.scores(at, scored[0]) for one, at in zip(self.records, places, strict=True)]
            self.inner.add(self.inner.make(truth, [*scored, *added], ()))

    def _places(self, count: int, ids: list[str] | None, outcomes: list[str]) -> list[Codes]:
        own = list(map(str, range(self.seen, self.seen + count))) if ids is None else ids
        self.seen += count
        return [one.look_up(own, outcomes, by_position=ids is None) for one in self.records]

    def finish(self) -> tuple[str, ...]:
        """Refuse records that do not match, and say what was left out."""
        return tuple(note for one in self.records for note in one.require_same_cases())


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
    """The sums under one rule."""
    at, sums = slice(rule, rule + 1), dict(tally.sums)
    for name, value in tally.sums.items():
        if value.ndim == 3:
            sums[name] = value[at]
        elif name in ("unpenalised", "empty", "unpenalised_infinite"):
            sums[name] = value[:, at]
    return Aggregates(tally.cases, sums, {key: (weight, x[at]) for key, (weight, x) in tally.clusters.items()})


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
