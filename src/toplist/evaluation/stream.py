"""The table of scores by case of files, in the order of the truth, and what is made of its rows.

A collector takes rows of the table: it adds them up, or keeps something of them.
"""

from __future__ import annotations

import math
import tempfile
from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from threading import Lock
from typing import Any, Final, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from toplist._files import disk_full_explained, need
from toplist._text import argument
from toplist._typing import Codes, Progress
from toplist.core.kernel import hash_text, parallel_map
from toplist.errors import AlignmentError, CaseError, FileError, OutcomeError
from toplist.inference.aggregates import Aggregates, ScoreMatrix, merge, tally
from toplist.inference.missing import Difficulty
from toplist.inference.results import SourceSummary
from toplist.io import (
    NEAR_ONE,
    AlignedCases,
    Batch,
    Cases,
    ClassEncoder,
    Column,
    NamesSeen,
    OpenTable,
    Plan,
    as_arrow,
    as_numpy,
    as_text,
    class_counts,
    clusters_in_order,
    filled,
    groups_of,
    id_hashes,
    in_file,
    in_time,
    is_list,
    label_sets,
    lists_of,
    plain,
    repairs_made,
    require_all_columns,
    require_few_groups,
    require_outcomes,
    silent,
    weights_of,
)
from toplist.lists import TopLists
from toplist.lists.checks import text
from toplist.lists.space import ClassSpace
from toplist.scoring.case_scores import CaseScores, Grouping, one_if_alike, side_by_side
from toplist.scoring.rules import Rule
from toplist.scoring.scores import highest_score


@dataclass(frozen=True, slots=True)
class ScoringSpec:
    """By what cases are scored."""

    rules: tuple[Rule, ...]
    ks: tuple[int, ...] = (5,)  # of top-k errors
    penalty: float | None = None
    baseline: str | None = None  # the model whose predictions stand in for missing ones, where missing is baseline


@dataclass(frozen=True, slots=True)
class ScoredBatch:
    """Lists of one model with their scores, and all that is known of them."""

    name: str  # of the model
    lists: TopLists
    y: Any
    scores: CaseScores
    batch: Batch
    names: tuple[str, ...]  # of the columns, where they are the classes
    codes: Codes
    truth: Batch
    truth_names: tuple[str, ...]
    outcomes: Codes


@dataclass(slots=True)
class BatchScorer:
    """Scores the batches of one source against the truth."""

    plan: Plan
    source: OpenTable
    coder: ClassEncoder
    scoring: ScoringSpec
    idle: int  # classes that no outcome can be
    highest: float = -math.inf  # a bound on the score of any outcome under the first rule
    repaired: Counter[str] = field(default_factory=Counter)
    truth_repaired: Counter[str] = field(default_factory=Counter)
    _lock: Lock = field(default_factory=Lock)

    def score(self, batch: Batch, truth: Batch) -> ScoredBatch:
        """The scores of a batch of cases."""
        plan, source, spec, space = self.plan, self.source, self.scoring, self.coder.space
        if space is None:
            space = ClassSpace(class_counts(truth, str(plan.n_classes)))
        hard = plan.truth.layout.kind == "labels"
        if hard:
            require_outcomes(truth, self.coder.sets)
        require_all_columns(source, space)
        (codes, outcomes), _ = self.coder.encode((batch, truth), (source.names, plan.truth.names), truth=1)
        lists = lists_of(batch, source.names, codes, space, plan.repairs[source.name])
        y = outcomes if hard else self._distributions(truth, outcomes, space)
        try:
            scores = CaseScores.from_lists(lists, y, spec.rules, ks=spec.ks, penalty=spec.penalty, idle=self.idle)
        except OutcomeError as error:
            raise in_file(error, truth) from None
        except CaseError as error:  # a list that a rule refuses
            raise in_file(error, batch) from None
        highest = highest_score(lists, rule=spec.rules[0], penalty=spec.penalty)
        with self._lock:
            self.highest = max(self.highest, highest)
            self.repaired.update(repairs_made(lists, batch))
        return ScoredBatch(source.name, lists, y, scores, batch, source.names, codes, truth, plan.truth.names, outcomes)

    def summary(self, cases: int, **counts: int) -> SourceSummary:
        """Where the predictions came from, and what was done to them."""
        source = self.source
        mass, listed = source.answer_mass(), source.listed_tokens()
        return SourceSummary(
            source.name,
            source.path,
            source.layout.kind,
            cases,
            **counts,
            repairs=dict(self.repaired),
            reading=source.reading,
            notes=source.notes,
            answer_mass=float(mass.mean()) if len(mass) else None,
            median_answer_mass=float(np.median(mass)) if len(mass) else None,
            median_listed_tokens=float(np.median(listed)) if len(listed) else None,
        )

    def _distributions(self, truth: Batch, codes: Codes, space: ClassSpace) -> TopLists:
        """A distribution over the classes per case: what sums to something else than one is no truth."""
        lists = lists_of(truth, self.plan.truth.names, codes, space, self.plan.truth_repairs)
        mass, off = lists.mass, np.abs(lists.mass - 1) > NEAR_ONE
        if off.any():
            bad = mass <= 0 if self.plan.truth_repairs.normalize else off
            if bad.any():
                at = int(np.argmax(bad))
                problem = (
                    f"the probabilities of the outcomes sum to {mass[at]:.6g}, not to one. Name the column with "
                    f"outcomes with {argument('outcome')}, or pass {argument('normalize', True)} to divide by the sum."
                )
                problem = problem if mass[at] > 0 else "there is no outcome."
                raise truth.error(problem, at)
            divided = lists.confidences / np.repeat(np.where(off, mass, 1.0), lists.sizes)
            lists = TopLists.from_ragged(lists.offsets, lists.classes, divided, lists.space, normalize=True)
        with self._lock:
            counted = int(np.count_nonzero(off)) + sum(lists.repairs.values())
            if counted:
                self.truth_repaired["normalized"] += counted
        return lists


@dataclass(frozen=True, slots=True)
class ReadSummary:
    """What was read, aligned and repaired on the way."""

    origins: tuple[SourceSummary, ...]
    cases: int
    compared: int
    truth: str = ""  # how the truth was read
    highest: Mapping[str, float] = field(default_factory=dict)  # by model, a bound on scores under the first rule
    difficulty: Difficulty | None = None  # of what is missing; None where nothing is
    repaired: tuple[Mapping[str, int], ...] = ()  # the repairs of the truth, in the cases of each model
    names: tuple[NamesSeen, ...] = ()  # of the classes of each model

    @property
    def truth_repairs(self) -> Mapping[str, int]:
        """The repairs of the truth, from the model that has most of its cases."""
        return max(self.repaired, key=lambda counts: sum(counts.values()), default={})


@dataclass(frozen=True, slots=True)
class ScoredRows:
    """Consecutive rows of the table of scores by case: what the truth says, and what each model scores.

    `present` says by model which of the cases it has, and is empty where all count as predicted by all. `lists` are
    those that were scored, of cases that some models lack too.
    """

    truth: Batch
    scores: Sequence[CaseScores]
    present: Sequence[NDArray[np.bool_]] = ()
    lists: Sequence[ScoredBatch] = ()


class Collector(Protocol):
    """Takes the scored cases. What can be done apart from other cases is done in `make`, by several threads."""

    def make(self, rows: ScoredRows, /) -> Any:
        """Something from some cases, of which there may be none that are compared."""

    def add(self, made: Any, /) -> None:
        """The next of what was made, in the order of the truth."""


class Taken(NamedTuple):
    """A collector that is two functions."""

    make: Callable[[ScoredRows], Any]
    add: Callable[[Any], None]


def coder_of(plan: Plan) -> ClassEncoder:
    """Class names as codes, for one source and the truth."""
    return ClassEncoder(plan.space, (plan.truth, *plan.sources), plan.set_separator)


def run(
    plan: Plan,
    scoring: ScoringSpec,
    collectors: Sequence[Collector],
    progress: Progress = silent,
    *,
    part: bool = False,
    start: int = 0,
) -> ReadSummary:
    """Read, align and score, and hand what was scored to all collectors.

    Of a `part` of the cases a model may lack all, and none may be left to compare; where cases have no ids, `start` is
    the position of the first one.
    """
    aligned = AlignedCases((plan.truth, *plan.sources), plan.missing, plan.choices, part)
    idle = int(any(source.has_other for source in plan.sources))
    scorers = [BatchScorer(plan, source, coder_of(plan), scoring, idle) for source in plan.sources]
    names = [source.name for source in plan.sources]
    stand_in = names.index(str(scoring.baseline)) if plan.missing == "baseline" else None
    difficulty, lock = None if plan.missing == "error" else Difficulty(len(scorers)), Lock()

    def work(cases: Cases) -> tuple[Cases, int, bool, list[Any]]:
        rows = _scored(scorers, cases, fill=plan.missing == "uniform")
        if difficulty is not None:
            there = np.array(rows.present or np.ones((len(scorers), len(cases)), bool))
            with lock:
                difficulty.add(np.array([each.scores[0] for each in rows.scores]), there)
        compared = _compared(rows, plan.missing, stand_in)
        made = [collector.make(compared) for collector in collectors]
        return cases, len(compared.truth), bool(rows.present), made

    matched, total, kept, lacking = np.zeros(len(scorers), np.int64), 0, 0, False
    for cases, count, incomplete, made in parallel_map(work, _with_positions(aligned.cases(), start)):
        for collector, one in zip(collectors, made, strict=True):
            collector.add(one)
        matched += [np.count_nonzero(there) for there in cases.present] or len(cases)
        total, kept, lacking = total + len(cases), kept + count, lacking or incomplete
        progress("scoring", total, plan.truth.reader.rows)
    if stand_in is not None and matched[stand_in] < total:
        raise AlignmentError(
            f"the baseline {scoring.baseline} lacks {total - matched[stand_in]:,} cases, so that its predictions "
            f"cannot stand in for missing ones: choose {argument('missing', 'worst')}, or another baseline."
        )
    if not part:  # other parts may have other names, and cases
        for scorer in scorers:
            scorer.coder.finish()
        require_cases(plan.truth.path, total, kept)
    imputed, common = plan.missing in ("uniform", "worst", "baseline"), plan.missing == "common"
    origins = tuple(
        scorer.summary(
            count,
            filled=kept - count if imputed else 0,
            left_out=aligned.unknown[name] + (count - kept if common else 0),
        )
        for scorer, name, count in zip(scorers, names, matched.tolist(), strict=True)
    )
    return ReadSummary(
        origins,
        total,
        kept,
        plan.truth.reading,
        {scorer.source.name: scorer.highest for scorer in scorers},
        difficulty if lacking or part else None,
        tuple(dict(scorer.truth_repaired) for scorer in scorers),
        tuple(scorer.coder.seen for scorer in scorers) if part else (),
    )


def _scored(scorers: Sequence[BatchScorer], cases: Cases, *, fill: bool) -> ScoredRows:
    """The scores of all models; where one lacks a case they are those of an empty list, with `fill`, or else zero."""
    lists, scores = list[ScoredBatch](), list[CaseScores]()
    for at, (scorer, batch) in enumerate(zip(scorers, cases.others, strict=True)):
        own = scorer.score(batch, cases.first_of(at))
        lists.append(own)
        away = np.flatnonzero(~cases.present[at] if cases.present else ())
        if not len(away):
            scores.append(own.scores)
            continue
        others = _zeros(own.scores, len(away))
        if fill:
            happened = cases.first.take(away)
            lists.append(scorer.score(_empty_lists(scorer, happened), happened))
            others = lists[-1].scores
        order = np.argsort(np.concatenate([np.flatnonzero(cases.present[at]), away]))
        every = CaseScores.concat([own.scores, others]).take(order)
        if own.scores.empty.strides[-1] == 0 and len(batch):  # the empty list scores the same in all cases
            every = replace(every, empty=np.broadcast_to(own.scores.empty[:, :1], every.empty.shape))
        scores.append(every)
    return ScoredRows(cases.first, scores, () if fill else cases.present, lists)


def _zeros(like: CaseScores, cases: int) -> CaseScores:
    """Zero for all scores and metrics of some cases."""
    scores = np.zeros((len(like.scores), cases))
    return CaseScores(
        like.rules, scores, scores, scores, {name: np.zeros(cases, own.dtype) for name, own in like.metrics.items()}
    )


def _compared(rows: ScoredRows, missing: str, stand_in: int | None) -> ScoredRows:
    """The rows that are compared, and what missing predictions count as there."""
    if not rows.present or missing == "pairwise":
        return rows
    if missing in ("worst", "baseline"):
        rows = replace(rows, scores=_imputed(rows.scores, rows.present, stand_in))
    if missing in ("common", "worst"):
        together = np.logical_and if missing == "common" else np.logical_or
        keep = np.flatnonzero(together.reduce(rows.present))
        rows = replace(rows, truth=rows.truth.take(keep), scores=[each.take(keep) for each in rows.scores])
    return replace(rows, present=())


def require_cases(truth: str, cases: int, compared: int) -> None:
    """Refuse a comparison of nothing."""
    if not cases:
        raise FileError(truth, "there are no cases.")
    if not compared:
        raise AlignmentError("there is no case that all models and the truth have.")


POSITION: Final = ""
"""What the column with the positions of cases is called, in a truth without ids."""


def _with_positions(parts: Iterator[Cases], start: int) -> Iterator[Cases]:
    """The same with the positions of the cases, where there are no ids."""
    for cases in parts:
        truth = cases.first
        if truth.ids is None:
            places = as_arrow(np.arange(start, start + len(truth)))
            yield replace(cases, first=replace(truth, extra={**truth.extra, POSITION: places}))
        else:
            yield cases
        start += len(truth)


def case_hashes(truth: Batch, seed: int, some: NDArray[np.intp] | None = None) -> NDArray[np.uint64]:
    """The hash of the text of the id of each case, or of its position: 7 and "7" have the same; or of some cases."""
    ids = truth.extra[POSITION] if truth.ids is None else truth.ids
    return id_hashes(ids if some is None else plain(ids).take(as_arrow(some)), seed)


def text_hashes(texts: Sequence[str]) -> NDArray[np.uint64]:
    """A hash of each text, the same as that of an id in a file."""
    coded = [one.encode("utf-8", "surrogatepass") for one in texts]
    ends = np.cumsum([0, *map(len, coded)]).astype(np.int64)
    return hash_text(np.frombuffer(b"".join(coded), np.uint8), ends)


def cluster_hashes(clusters: Grouping) -> NDArray[np.uint64]:
    """The hash of the name of the cluster of each case."""
    hashes = text_hashes(list(map(str, clusters.keys)))
    return hashes if clusters.codes is None else hashes[clusters.codes]


def class_texts(values: Column, separator: str | None) -> Column:
    """Classes as text that is the same for the same class: label sets have their labels in order."""
    values = plain(values)
    if is_list(values.type):
        return need("pyarrow").array([text(one) for one in values.to_pylist()], "string")
    if separator is not None:
        return label_sets(values, separator)
    return as_text(values)


def _imputed(
    scored: Sequence[CaseScores], present: Sequence[NDArray[np.bool_]], stand_in: int | None
) -> list[CaseScores]:
    """Missing predictions replaced by those of one model, or of the one that scored worst under the first rule."""
    n = len(scored[0])
    model = np.full(n, stand_in or 0)
    if stand_in is None:
        model = np.where(np.array(present), [one.scores[0] for one in scored], -np.inf).argmax(axis=0)
    every = CaseScores.concat(scored)
    return [every.take(np.where(there, own, model) * n + np.arange(n)) for own, there in enumerate(present)]


def _empty_lists(scorer: BatchScorer, truth: Batch) -> Batch:
    pa, n = need("pyarrow"), len(truth)
    kind = pa.string() if truth.classes is None else plain(truth.classes).type
    return Batch(scorer.source.path, truth.rows, None, np.zeros(n + 1, np.int64), pa.array([], kind), np.zeros(0))


@dataclass(slots=True)
class SumCollector:
    """Adds up exactly."""

    plan: Plan
    drawn: bool = False  # whether units are drawn from sums, in a Poisson bootstrap
    tallies: dict[Hashable, Aggregates] = field(default_factory=dict)

    def make(self, rows: ScoredRows) -> dict[Hashable, Aggregates]:
        """See `Collector`."""
        plan, truth = self.plan, rows.truth
        if not len(truth):
            return {}
        pairwise = plan.missing == "pairwise"
        clusters = None if plan.ordered or plan.cluster is None else groups_of(filled(truth, plan.cluster, "cluster"))
        keys = None
        if self.drawn:
            keys = case_hashes(truth, 0) if clusters is None else cluster_hashes(clusters)
        return tally(
            rows.scores,
            present=rows.present,
            weights=None if plan.weight is None else weights_of(truth, plan.weight),
            groups=None if plan.group is None else self._groups(truth.extra[plan.group]),
            clusters=None if pairwise else clusters,
            keys=keys,
            pairwise=pairwise,
        )

    def _groups(self, column: Any) -> Grouping:
        found = groups_of(column)
        require_few_groups(found.keys, self.plan.group)
        return found

    def add(self, made: dict[Hashable, Aggregates]) -> None:
        """See `Collector`."""
        self.tallies = merge(self.tallies, made)
        require_few_groups(self.tallies, self.plan.group)


class RowFile:
    """Rows of one shape in a file that has no name, part after part."""

    def __init__(self, dtype: Any = np.float64) -> None:
        self.dtype, self.shape = dtype, tuple[int, ...]()
        self.file = tempfile.TemporaryFile(prefix="toplist-")  # noqa: SIM115  lives as long as this

    def __del__(self) -> None:
        self.file.close()  # what is mapped of it stays

    def add(self, rows: NDArray[Any]) -> None:
        """The next rows."""
        self.shape = rows.shape[1:]
        with disk_full_explained():
            self.file.write(rows.tobytes())

    def mapped(self) -> NDArray[Any]:
        """All rows."""
        with disk_full_explained():
            self.file.flush()
        return np.memmap(self.file, self.dtype, "r").reshape(-1, *self.shape)


class MatrixCollector:
    """Keeps every score, in the order of the truth."""

    def __init__(self, plan: Plan) -> None:
        self.plan, self.file, self.columns = plan, RowFile(), list[tuple[Any, ...]]()

    def make(self, rows: ScoredRows) -> Any:
        """See `Collector`."""
        plan, truth = self.plan, rows.truth
        columns = (
            _empty(rows.scores, rows.present),
            None if plan.weight is None else weights_of(truth, plan.weight),
            None if plan.group is None else truth.extra[plan.group],
            None if plan.cluster is None else filled(truth, plan.cluster, "cluster"),
            None if plan.time is None else filled(truth, plan.time, "time"),
        )
        return side_by_side(rows.scores, rows.present), columns

    def add(self, made: Any) -> None:
        """See `Collector`."""
        scores, columns = made
        self.file.add(scores)
        self.columns.append(columns)

    def panel(self) -> ScoreMatrix:
        """All cases, side by side."""
        plan, (empty, weights, groups, clusters, times) = self.plan, zip(*self.columns, strict=True)
        return matrix_of(
            self.file.mapped(),
            one_if_alike(empty),
            None if plan.weight is None else np.concatenate(weights),
            None if plan.group is None else groups_of(_whole(groups)),
            None if plan.cluster is None else clusters_in_order(_whole(clusters)),
            None if plan.time is None else in_time(_whole(times), plan.time),
            ordered=plan.ordered,
        )


def matrix_of(
    scores: NDArray[np.float64],
    empty: NDArray[np.float64],
    weights: NDArray[np.float64] | None,
    groups: Grouping | None,
    clusters: NDArray[np.int64] | None,
    times: NDArray[np.int64] | None,
    *,
    ordered: bool,
) -> ScoreMatrix:
    """Scores side by side with what is known of the cases; where there are times, these are the units."""
    return ScoreMatrix(
        scores,
        empty,
        weights,
        clusters if times is None else times,
        ordered,
        None if groups is None or groups.codes is None else groups.codes.astype(np.int64),
        () if groups is None else tuple(groups.keys),
        None if times is None else clusters,
    )


def scores_of_files(plan: Plan, scoring: ScoringSpec, progress: Progress = silent) -> dict[str, CaseScores]:
    """Scores case by case, by model: of the cases that it has, with what the truth says of them."""

    def known(rows: ScoredRows) -> list[CaseScores]:
        truth, columns = rows.truth, {"group": plan.group, "cluster": plan.cluster, "time": plan.time}
        metadata: dict[str, Any] = {"case": as_numpy(truth.extra[POSITION]) if truth.ids is None else plain(truth.ids)}
        metadata |= {name: plain(truth.extra[column]) for name, column in columns.items() if column is not None}
        metadata |= {} if plan.weight is None else {"weight": weights_of(truth, plan.weight)}
        scores = [replace(each, metadata=metadata) for each in rows.scores]
        return [each.take(there) for each, there in zip(scores, rows.present, strict=True)] if rows.present else scores

    batches: list[list[CaseScores]] = []
    run(plan, scoring, [Taken(known, batches.append)], progress)
    parts = zip(plan.sources, zip(*batches, strict=True), strict=True)
    return {source.name: CaseScores.concat(some) for source, some in parts}


def _empty(scored: Sequence[CaseScores], present: Sequence[NDArray[np.bool_]]) -> NDArray[np.float64]:
    """What the empty list scores, from a model that has the case: it is the same for all who have it."""
    first: NDArray[np.float64] = scored[0].empty.T
    if not present or first.strides[0] == 0:
        return first
    out = first.copy()
    for one, there in zip(scored[1:], present[1:], strict=True):
        at = there & ~present[0]
        out[at] = one.empty.T[at]
    return out


def _whole(parts: Sequence[Any]) -> Any:
    return need("pyarrow").chunked_array(list(parts)).combine_chunks()
