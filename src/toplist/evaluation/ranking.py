"""What is asked of models, their scored cases, and the leaderboard that both make: one for files, arrays and parts."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from toplist._files import need
from toplist._text import argument
from toplist.errors import TopListError
from toplist.evaluation.arrays import ArrayModels, given, together
from toplist.evaluation.case_details import CaseReader, SumDetails, from_files, from_memory
from toplist.evaluation.leaderboard import Leaderboard
from toplist.evaluation.losses import Losses, losses_in_files, losses_in_memory
from toplist.evaluation.samples import of_arrays
from toplist.evaluation.stream import ReadSummary, ScoringSpec, scores_of_files
from toplist.inference.aggregates import Aggregates, ScoreMatrix, overall
from toplist.inference.diagnostics import (
    ScoreSample,
    Spelled,
    diagnose,
    warnings,
    with_leads,
)
from toplist.inference.intervals import IntervalsOf
from toplist.inference.ranking import ComparisonSpec, confidence_set, sections
from toplist.inference.results import Comparison
from toplist.inference.settings import DRAWN, Inference, InferenceSettings
from toplist.io import MISSING, OpenTable, Plan, ReadRequest, plain, plan_of
from toplist.lists import TopLists
from toplist.lists.checks import text
from toplist.lists.labelsets import LabelSets
from toplist.lists.space import ClassSpace
from toplist.scoring.case_scores import CaseScores, as_list_lengths
from toplist.scoring.rules import Rule, as_rule, name_of
from toplist.scoring.scores import as_penalty, default_penalty

_LOOKED_AT, _NAMES = 100_000, 10_000  # cases whose classes are looked at, and names of classes


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked of the models, checked."""

    names: tuple[str, ...]
    scoring: ScoringSpec
    rules: tuple[str, ...]
    missing: str
    inference: Inference
    bounds: Bounds  # of scores, by rule
    penalised: Bounds  # the same where invalid lists pay

    @classmethod
    def of(
        cls,
        names: tuple[str, ...],
        rules: Any,
        k: Any,
        baseline: Any,
        missing: Any,
        penalty: Any,
        inference: Inference,
    ) -> Question:
        """The arguments of `compare`, or an error that says what was expected."""
        if not isinstance(missing, str) or missing not in MISSING:
            raise TopListError(f"missing is one of {', '.join(MISSING)}, not {missing!r}.")
        if missing == "baseline" and baseline is None:
            raise TopListError(f"which model stands in for missing predictions? Name it with {argument('baseline')}.")
        if baseline is not None and not (isinstance(baseline, str) and baseline in names):
            raise TopListError(f"the baseline {baseline!r} is not among the models {', '.join(map(repr, names))}.")
        chosen = tuple(as_rule(rule) for rule in (rules if isinstance(rules, list | tuple) else [rules]))
        labels = tuple(map(name_of, chosen))
        if not labels:
            raise TopListError("name at least one rule.")
        if len(set(labels)) < len(labels):
            raise TopListError(f"a rule is there twice: {', '.join(labels)}.")
        spec = ScoringSpec(chosen, as_list_lengths(k), as_penalty(penalty), baseline)
        bounds = tuple(rule.bounds() for rule in chosen)
        pays = (_largest_penalty(rule) if spec.penalty is None else spec.penalty for rule in chosen)
        penalised = tuple((low, high + most) for (low, high), most in zip(bounds, pays, strict=True))
        return cls(names, spec, labels, missing, inference, bounds, penalised)

    @property
    def baseline(self) -> str | None:
        """The model to which the others are compared."""
        return self.scoring.baseline


def _largest_penalty(rule: Rule) -> float:
    """The largest default: the more classes, the larger it is; of ordered ones, where it is bounded, the fewer."""
    many = TopLists.from_dicts([], ClassSpace(2, ordinal=True) if rule.ordinal else math.inf)
    most: float = default_penalty(many, rule=rule)
    return most


Bounds = tuple[tuple[float, float], ...]
"""By rule, the least and the largest score."""


@dataclass(frozen=True, slots=True)
class Scored:
    """Scored cases: exact sums by group, the scores side by side where they are needed, and where they come from."""

    tallies: Mapping[Hashable, Aggregates]
    panel: ScoreMatrix | None
    read: ReadSummary
    settings: InferenceSettings
    classes: str  # how many there are
    size: Any  # the same as a number; None where it differs from case to case
    weight: str | None
    group: str | None
    cases: CaseReader | SumDetails
    spelled: Spelled
    sample: ScoreSample | None
    losses: Losses

    @classmethod
    def of_files(
        cls,
        plan: Plan,
        question: Question,
        settings: InferenceSettings,
        tallies: Mapping[Hashable, Aggregates],
        panel: ScoreMatrix | None,
        read: ReadSummary,
        sample: ScoreSample | None = None,
        heaviest: float = 1.0,
    ) -> Scored:
        """What was scored of files and frames, batch by batch."""
        scoring = question.scoring
        return cls(
            tallies,
            panel,
            read,
            settings,
            plan.classes,
            None if plan.space is None else plan.space.size,
            plan.weight,
            plan.group,
            CaseReader(partial(from_files, plan, scoring), partial(scores_of_files, plan, scoring)),
            partial(spelled_in_files, plan),
            sample,
            losses_in_files(plan, scoring, read.highest, heaviest),
        )

    @classmethod
    def of_arrays(
        cls,
        held: ArrayModels,
        question: Question,
        settings: InferenceSettings,
        sheets: Sequence[CaseScores],
        tallies: Mapping[Hashable, Aggregates],
        panel: ScoreMatrix | None,
    ) -> Scored:
        """What was scored of models in memory, all at once."""
        return cls(
            tallies,
            panel,
            held.read(),
            settings,
            held.classes,
            held.space.size,
            None if held.weights is None else "",
            None if held.groups is None else "group",
            CaseReader(lambda shown, progress: from_memory(held, shown), held.scores),
            lambda name: (_of_outcomes(held.y, held.lists[name].space), _in_lists(held.lists[name])),
            of_arrays(held, sheets, settings),
            losses_in_memory(held),
        )


def planned(
    request: ReadRequest,
    space: Any,
    question: Question,
    find: tuple[str, ...],
    choices: tuple[str, ...] = MISSING,
    keep: tuple[str, ...] = (),
) -> tuple[Plan, InferenceSettings]:
    """The open files with the columns that are found in the truth, and how intervals are made of their cases."""
    plan = plan_of(request, space, missing=question.missing, find=find, keep=keep)
    settings = question.inference.settings(plan.cluster, plan.time, weighted=plan.weight is not None)
    return replace(plan, time=settings.time, ordered=settings.ordered, choices=choices), settings


def held_models(request: ReadRequest, space: Any, question: Question) -> tuple[ArrayModels, InferenceSettings]:
    """Models in memory, and how intervals are made of their cases."""
    request.require_outcomes()
    about = request.truth
    cluster, time = (None if given(values) is None else "" for values in (about.cluster, about.time))
    settings = question.inference.settings(cluster, time, weighted=about.weight is not None)
    return together(request, space, question.scoring, settings), settings


def rank(question: Question, scored: Scored) -> Leaderboard:
    """The leaderboard of scored cases."""
    read, names, everything = scored.read, question.names, overall(scored.tallies)
    if not any(everything.sums["weight"]):
        raise TopListError("all weights are zero: there is nothing to compare.")
    results = judged(question, scored)
    sure, doubtful = intervals_of(question, scored)(None, everything), results.warnings
    results = replace(results, pairs=with_leads(results, everything, names, scored.losses.highest, scored.losses.lost))
    if read.difficulty is not None:
        share = min(1.0, results.units / max(1, read.compared))
        doubtful += tuple(read.difficulty.warnings(names, question.rules[0], share))
    measured, unsure = diagnose(results, sure, names, scored.sample)
    best = confidence_set(results) if len(names) > 1 else None
    results = replace(results, confidence_set=best, warnings=(*doubtful, *unsure), diagnostics=measured)
    return Leaderboard(results, sure, scored.cases)


def judged(question: Question, scored: Scored) -> Comparison:
    """The standings with what the sums make doubtful."""
    results = standings(question, scored, intervals_of(question, scored))
    doubtful = warnings(results, overall(scored.tallies), question.names, scored.size, scored.spelled)
    return replace(results, warnings=doubtful)


def standings(question: Question, scored: Scored, intervals: IntervalsOf) -> Comparison:
    """The results of scored cases, of which nothing is doubted yet."""
    tallies, read, settings, panel = scored.tallies, scored.read, scored.settings, scored.panel
    names, baseline, everything = question.names, question.baseline, overall(tallies)
    terms = ComparisonSpec(
        names,
        question.rules,
        question.scoring.ks,
        None if baseline is None else names.index(baseline),
        question.missing == "pairwise",
        _unranked(everything, question.inference.min_cases),
    )
    whole, groups = sections(tallies, terms, intervals)
    count = len(everything.clusters) or (read.compared if panel is None else panel.count)
    first = [names.index(row.name) for row in whole.rows[:2]]
    effective = intervals(None, everything).effective_units(0, *first)
    across = 0 if panel is None or panel.clusters is None else len(np.unique(panel.clusters))
    return Comparison(
        rules=terms.rules,
        k=terms.ks,
        classes=scored.classes,
        cases=read.cases,
        compared=read.compared,
        missing=question.missing,
        weighted=settings.weighted,
        weight=scored.weight,
        baseline=baseline,
        penalty=question.scoring.penalty,
        level=settings.level,
        method=settings.describe(count, effective, across),
        group=scored.group,
        cluster=settings.cluster,
        time=settings.time,
        sources=read.origins,
        overall=replace(whole, pairs=()),
        groups=groups,
        pairs=whole.pairs,
        seed=settings.seed if settings.method in DRAWN else None,
        unit=settings.unit,
        units=count,
        effective_units=effective,
        min_cases=question.inference.min_cases,
        truth_reading=read.truth,
        truth_repairs=read.truth_repairs,
    )


def intervals_of(question: Question, scored: Scored) -> IntervalsOf:
    """What makes the intervals of a group, or of all cases (None), from their sums."""
    invalid = any(count for tally in scored.tallies.values() for count in tally.sums["invalid_cases"])
    ever = invalid or scored.settings.method == "bounded"  # which is about all cases there may be, not these alone
    return IntervalsOf(scored.settings, scored.panel, question.penalised if ever else question.bounds)


Doubts = Mapping[str, tuple[str, ...]]
"""What makes the predictions of a model doubtful, by the rule that they are scored by."""
_LEVEL = 0.95  # of what makes predictions doubtful, whatever is asked of their scores
# Doubts about one model:
_KINDS = ("never listed", "perfect", "worse than uniform", "below chance", "little mass", "little answer mass")


def doubts(question: Question, scored: Scored, alone: Mapping[Hashable, Aggregates]) -> dict[str, Doubts]:
    """What makes the predictions of each model doubtful, whomever it is compared with.

    `alone` are sums over cases that count alike, whatever clusters they are in.
    """
    settings, everything = InferenceSettings("t", level=_LEVEL), overall(alone)
    doubtful: dict[str, Doubts] = {}
    for a, name in enumerate(question.names):
        sentences = {}
        for r, rule in enumerate(question.scoring.rules):
            asked = Question.of((name,), rule, (), None, "error", question.scoring.penalty, Inference())
            tallies: dict[Hashable, Aggregates] = {None: everything.only(r, a)}
            board = judged(asked, replace(scored, panel=None, settings=settings, tallies=tallies))
            sentences[question.rules[r]] = tuple(doubt.sentence for doubt in board.warnings if doubt.kind in _KINDS)
        doubtful[name] = sentences
    return doubtful


def _unranked(tally: Aggregates, least: int | None) -> frozenset[int]:
    """Models with fewer cases than are asked for."""
    counts = [int(tally.sums["cases"][a, a]) for a in range(len(tally.sums["cases"]))]
    if least is not None and max(counts) < least:
        raise TopListError(f"{argument('min_cases', least)}: no model has so many cases, the most is {max(counts):,}.")
    return frozenset(a for a, count in enumerate(counts) if least is not None and count < least)


def spelled_in_files(plan: Plan, name: str) -> tuple[list[str], list[str]]:
    """How the outcomes are written in the truth, and the classes by a model."""
    source = next(source for source in plan.sources if source.name == name)
    return sorted(_in_table(plan.truth, plan.space)), sorted(_in_table(source, plan.space))


def _in_table(source: OpenTable, space: ClassSpace | None = None) -> list[str]:
    """The names of classes in the first cases of a file; a number is the label that it is the code of."""
    pa, pc = need("pyarrow"), need("pyarrow.compute")
    labels = () if space is None or space.labels is None else space.labels
    names: dict[str, None] = dict.fromkeys(source.names)
    cases = 0
    for batch in source.batches(halves=True) if not names else ():
        values = plain(batch.classes) if batch.classes is not None else pa.array([], pa.string())
        values = values if pa.types.is_nested(values.type) else pc.unique(values)
        for value in values[:_NAMES].to_pylist():
            code = isinstance(value, int) and 0 <= value < len(labels)
            names[text(labels[value] if code else value)] = None
        cases += len(batch)
        if cases >= _LOOKED_AT or len(names) >= _NAMES:
            break
    return list(names)


def _in_lists(lists: TopLists) -> list[str]:
    """The names of the classes that the first lists have."""
    codes = np.unique(lists.classes[: int(lists.offsets[min(len(lists), _LOOKED_AT)])])
    return [text(lists.space.decode(int(code))) for code in codes[:_NAMES]]


def _of_outcomes(y: Any, space: ClassSpace) -> list[str]:
    """The names of the first outcomes."""
    if isinstance(y, TopLists):
        return _in_lists(y)
    if isinstance(space, LabelSets):
        return []  # a set of labels is the same set however it is written
    values = y[:_LOOKED_AT] if isinstance(y, list | tuple) else np.asarray(y)[:_LOOKED_AT]
    if not isinstance(values, list | tuple) and values.ndim != 1:
        return []
    coded = space.labels is not None and not space.numbered
    whole = (int, np.integer)
    names = (space.decode(int(v)) if coded and isinstance(v, whole) else v for v in values)
    return list(dict.fromkeys(map(text, names)))[:_NAMES]
