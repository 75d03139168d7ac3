"""Several models, one truth, one leaderboard."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from toplist._arguments import as_count, as_number, as_probability, as_whole
from toplist._typing import Progress
from toplist.errors import TopListError
from toplist.evaluation.arrays import ArrayModels, together
from toplist.evaluation.case_details import CaseDetails, from_files, from_memory
from toplist.evaluation.leaderboard import Leaderboard
from toplist.evaluation.stream import (
    MISSING,
    MatrixCollector,
    ReadSummary,
    ScoringSpec,
    SumCollector,
    TeeCollector,
    run,
)
from toplist.inference.aggregates import Aggregates, overall
from toplist.inference.intervals import Intervals
from toplist.inference.pairwise import pairs
from toplist.inference.plausibility import Spelled, in_file, in_lists, of_outcomes, warnings
from toplist.inference.ranking import ComparisonSpec, sections
from toplist.inference.results import Comparison
from toplist.inference.score_matrix import ScoreMatrix
from toplist.inference.settings import METHODS, TIMED, InferenceSettings
from toplist.io.encoding import empty_set_explained
from toplist.io.options import ReadOptions
from toplist.io.plan import Plan, as_tables, names_of, plan_of, repairs_of, with_indicators
from toplist.lists import TopLists
from toplist.lists.space import show_size
from toplist.lists.validation import Blanks, Duplicates, Units
from toplist.scoring.rules import Rule, as_rule, name_of
from toplist.scoring.scores import default_penalty

_MOST = 10**9  # classes on a list


def compare(
    predictions: Mapping[str, Any],
    y: Any,
    *,
    space: Any = None,
    rules: Sequence[Any] | Any = ("brier", "log"),
    penalty: float | None = None,
    top: Sequence[int] | int = 5,
    reference: str | None = None,
    sample_weight: Any = None,
    by: Any = None,
    clusters: Any = None,
    order: Any = None,
    missing: str = "error",
    min_cases: int | None = None,
    level: float = 0.95,
    intervals: str = "auto",
    horizon: int = 1,
    seed: int = 0,
    units: Units | Mapping[str, Units] = "probability",
    normalize: bool | Mapping[str, bool] = False,
    duplicates: Duplicates | Mapping[str, Duplicates] = "error",
    blanks: Blanks | Mapping[str, Blanks] = "error",
    layout: str | Mapping[str, str] = "auto",
    case: str | Mapping[str, str] | None = None,
    classes: str | Mapping[str, str] | None = None,
    confidences: str | Mapping[str, str] | None = None,
    ignore: str | Sequence[str] | Mapping[str, str | Sequence[str]] = (),
    by_position: bool = False,
    sizes: str | None = None,
    sets: str | None = None,
    outcome: str | None = None,
    progress: Callable[[str, int, int | None], None] | None = None,
) -> Leaderboard:
    """Rank models of any shape on one scale, with error bars.

    `predictions` maps names to lists, labels, (n, m) probabilities, dicts, sparse matrices; with `y` in the same
    order. Or to files and dataframes, which are aligned by their case ids (a dataframe's index, where it is named or
    not the default one); then `sample_weight`, `by`, `clusters`, `order` and `sizes` name columns of the truth. `case`,
    `classes`, `confidences` and `outcome` name columns that are not found by their names, and `ignore` those that are
    to be left out; each for all files, or as a mapping by name ("truth" is the truth). `by_position=True` matches rows
    in their order, whatever ids there are. A column of the truth called cluster or order is what its name
    says, unless another is named, or none (""). The first rule decides the order. With `sets`, a delimiter such as ";",
    the classes of files and frames are label sets, and the labels of the space are those that the sets are made of.

    `intervals` are "t", "normal", "hac" or "cosine" (Diebold-Mariano), or "bootstrap"; by default they follow from what
    is said of the cases: "cosine" where `order` says when they were, else "t", by cluster where there are `clusters`.

    Models with fewer than `min_cases` compared cases are shown below the others, without a rank. What makes it
    doubtful that the right things were compared is in `results.warnings`, and is shown first.

    >>> board = compare({"list": [{"a": 0.7, "b": 0.2}] * 2, "label": ["a", "b"]}, ["a", "b"], space=3)
    >>> [row.name for row in board]
    ['label', 'list']
    """
    names = names_of(predictions)
    for what, column in (("by", by), ("sample_weight", sample_weight)):
        if isinstance(column, str) and not column.strip():
            raise TopListError(f"{what} names a column of the truth: what is given is empty.")
    if not isinstance(missing, str) or missing not in MISSING:
        raise TopListError(f"missing is one of {', '.join(MISSING)}, not {missing!r}.")
    if reference is not None and not (isinstance(reference, str) and reference in names):
        raise TopListError(f"the reference {reference!r} is not among the models {', '.join(map(repr, names))}.")
    chosen = [as_rule(rule) for rule in (rules if isinstance(rules, list | tuple) else [rules])]
    if not chosen:
        raise TopListError("name at least one rule.")
    labels = tuple(map(name_of, chosen))
    if len(set(labels)) < len(labels):
        raise TopListError(f"a rule is there twice: {', '.join(labels)}.")
    tops = tuple(as_count(k) for k in (top if isinstance(top, Sequence) else [top]))
    if max(tops, default=0) > _MOST:
        raise TopListError(f"k is at most {_MOST:,}, not {max(tops)}.")
    level = as_probability(level, "level")
    if penalty is not None:
        penalty = as_number(penalty, "the penalty for invalid lists", 0, np.inf)
    scoring = ScoringSpec(tuple(chosen), tops, penalty)
    if intervals not in ("auto", *METHODS):
        raise TopListError(f"intervals are auto, {', '.join(METHODS)}, not {intervals!r}.")
    horizon, seed = as_whole(horizon, "horizon", 1), as_whole(seed, "seed", 0)
    if min_cases is not None:
        min_cases = as_whole(min_cases, "min_cases", 1)
    repairs = repairs_of(names, units=units, normalize=normalize, duplicates=duplicates, layout=layout, blanks=blanks)

    def assume() -> InferenceSettings:
        weighted = sample_weight is not None
        return InferenceSettings.of(
            intervals, _name(clusters), _name(order), weighted=weighted, horizon=horizon, seed=seed
        )

    if sets is None:
        predictions, y = with_indicators(predictions, y, space)
    inputs = tuple(os.path.abspath(one) for one in (*predictions.values(), y) if isinstance(one, str | os.PathLike))
    again: Callable[[Progress], CaseDetails]
    spelled: Spelled
    options = ReadOptions(layout, case, classes, confidences, outcome, ignore, by_position, sets)
    tables = as_tables(predictions, y, space)
    if tables is not None:
        plan = plan_of(
            *tables, space, repairs, options, missing=missing, sizes=sizes, weight=sample_weight, by=by,
            cluster=clusters, order=order, look=("order",) if intervals in TIMED else ("cluster", "order"),
        )  # fmt: skip
        sample_weight, clusters, order = plan.weight, plan.cluster, plan.order
        assumed = assume()
        plan = replace(plan, order=assumed.order, ordered=assumed.ordered)
        by_case = not assumed.by_sums or missing == "pairwise" or plan.space is None
        with empty_set_explained(sets):
            tallies, panel, read = _of_files(plan, scoring, by_case, progress or (lambda what, done, total: None))
        again = partial(from_files, plan, scoring)
        many = "per case" if plan.space is None else show_size(plan.space.size)
        size = None if plan.space is None else plan.space.size
        spelled = partial(spelled_in_files, plan)
    else:
        if any(one.blanks != "error" for one in repairs.values()):
            raise TopListError("blanks are about files and frames: leave out of lists in memory what is not known.")
        options.require_none("with predictions in memory")
        assumed = assume()
        held = together(
            predictions, y, space, scoring, repairs, weight=sample_weight, by=by, clusters=clusters,
            order=None if assumed.order is None else order, ordered=assumed.ordered,
        )  # fmt: skip
        sheets = held.sheets()
        tallies, read, many = held.tallies(sheets), held.read(), held.classes
        by_case = not assumed.by_sums or missing == "pairwise" or held.per_case
        panel = held.panel(sheets) if by_case else None
        again = lambda progress: from_memory(held)  # noqa: E731
        size, spelled = held.space.size, partial(_spelled_in_memory, held)
    if not any(weight for one in tallies.values() for weight in one.sums["weight"]):
        raise TopListError("all weights are zero: there is nothing to compare.")

    bounds = tuple(_bounds(rule, penalty, tallies) for rule in chosen)

    def inference(group: Hashable, tally: Aggregates) -> Intervals:
        matrix = panel if panel is None or group is None else panel.group(group)
        return Intervals(tally, level, assumed.how, matrix, bounds, horizon, seed)

    where = None if reference is None else names.index(reference)
    everything = overall(tallies)
    terms = ComparisonSpec(names, labels, tops, where, missing == "pairwise", _unranked(everything, min_cases))
    whole, groups = sections(tallies, terms, inference)
    sure = inference(None, everything)
    count = len(everything.clusters) or (read.compared if panel is None else panel.count)
    results = Comparison(
        rules=terms.rules,
        k=terms.ks,
        classes=many,
        cases=read.cases,
        compared=read.compared,
        missing=missing,
        weighted=sample_weight is not None,
        weight=_name(sample_weight),
        baseline=reference,
        penalty=penalty,
        level=level,
        method=assumed.in_words(count),
        by=None if by is None else _name(by) or "group",
        clusters=assumed.clusters,
        order=assumed.order,
        origins=read.origins,
        overall=whole,
        groups=groups,
        pairs=pairs(everything, terms, sure, [row.name for row in whole.rows], level),
        seed=seed if assumed.how == "bootstrap" else None,
        unit=assumed.unit,
        units=count,
        min_cases=min_cases,
        truth_reading=read.truth,
        truth_repairs=read.truth_repairs,
    )
    found = warnings(results, everything, names, size, spelled)
    return Leaderboard(
        replace(results, warnings=found),
        tallies,
        terms,
        sure,
        again,
        seed,
        inputs,
    )


def _of_files(
    plan: Plan, scoring: ScoringSpec, by_case: bool, progress: Progress
) -> tuple[Mapping[Hashable, Aggregates], ScoreMatrix | None, ReadSummary]:
    """Sums, scores side by side where they are needed, and what was read."""
    if not by_case:
        added, read = run(plan, scoring, lambda: SumCollector(plan), progress)
        return added.tallies, None, read
    found, read = run(plan, scoring, lambda: TeeCollector(SumCollector(plan), MatrixCollector(plan)), progress)
    return found.one.tallies, found.other.panel(), read


def _unranked(tally: Aggregates, least: int | None) -> frozenset[int]:
    """Models with fewer cases than are asked for."""
    counts = [int(tally.sums["cases"][a, a]) for a in range(len(tally.sums["cases"]))]
    if least is not None and max(counts) < least:
        raise TopListError(f"min_cases={least}: no model has so many cases, the most is {max(counts):,}.")
    return frozenset(a for a, count in enumerate(counts) if least is not None and count < least)


def spelled_in_files(plan: Plan, name: str) -> tuple[list[str], list[str]]:
    """How the outcomes are written in the truth, and the classes by a model."""
    source = next(one for one in plan.sources if one.name == name)
    return in_file(plan.truth, plan.space), in_file(source, plan.space)


def _spelled_in_memory(held: ArrayModels, name: str) -> tuple[list[str], list[str]]:
    """The same of predictions in memory."""
    lists = held.lists[name]
    return of_outcomes(held.y, lists.space), in_lists(lists)


def _bounds(rule: Rule, penalty: float | None, tallies: Mapping[Hashable, Aggregates]) -> tuple[float, float]:
    """The least and the largest score there is, with what invalid lists pay where there are any."""
    low, high = rule.bounds()
    if any(count for one in tallies.values() for count in one.sums["invalid_cases"]):
        many = TopLists.from_dicts([], math.inf)  # the more classes, the larger the default
        high += default_penalty(many, rule=rule) if penalty is None else penalty
    return low, high


def _name(column: Any) -> str | None:
    """What a column is called: nothing, where it is an array."""
    return None if column is None else column if isinstance(column, str) else ""
