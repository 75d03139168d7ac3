"""Score the batches of files against the truth, in step where all have one order, else through a join.

A collector takes what was scored: it adds it up, keeps it side by side, or both.
"""

from __future__ import annotations

import math
import tempfile
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from threading import Lock
from typing import Any, Final, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from toplist._files import allocate, disk_full_explained, need, temporary_folder
from toplist._text import argument
from toplist._typing import Codes, Floats, Progress
from toplist.core.kernel import hash_text, parallel_map
from toplist.errors import AlignmentError, CaseError, FileError, OutcomeError
from toplist.inference.aggregates import Aggregates, ScoreMatrix, merge, tally
from toplist.inference.missing import Difficulty
from toplist.inference.results import SourceSummary
from toplist.io.align import AlignedCases, Matched, OutOfStepError
from toplist.io.batches import Batch
from toplist.io.columns import as_arrow, id_hashes, plain
from toplist.io.encoding import ClassEncoder, NamesSeen, has_integers
from toplist.io.lists import (
    NEAR_ONE,
    class_counts,
    clusters_in_order,
    filled,
    groups_of,
    in_file,
    in_time,
    lists_of,
    repairs_made,
    require_all_columns,
    require_few_groups,
    require_outcomes,
    weights_of,
)
from toplist.io.plan import Plan
from toplist.io.sources import OpenTable
from toplist.lists import TopLists
from toplist.lists.space import ClassSpace
from toplist.lists.validation import Repairs
from toplist.scoring.case_scores import CaseScores, Grouping, one_if_alike, side_by_side
from toplist.scoring.rules import Rule
from toplist.scoring.scores import highest_score

_IN_MEMORY = 1 << 31  # bytes for all models together; more goes to disk


class ScoreStore:
    """The CaseScores of one model, written in any order: one record per case, in memory or in a file.

    What the empty list scores is kept once where it is the same for all, and scores without the penalty only where
    they differ.
    """

    def __init__(self, path: Path, cases: int, models: int = 1) -> None:
        self.path, self.cases, self.room = path, cases, _IN_MEMORY // models
        self.present = np.zeros(cases, bool)
        self.records: Any = None
        self.empty: Any = None
        self.rules: tuple[str, ...] = ()
        self.metrics: tuple[str, ...] = ()
        self._unpenalised: list[tuple[NDArray[np.int64], Floats]] = []

    def put(self, places: NDArray[np.int64], scored: CaseScores) -> None:
        """Write the cases at these places."""
        self.present[places] = True
        if self.records is None:
            self._allocate(scored)
        made = np.empty(len(places), self.records.dtype)
        made["scores"] = scored.scores.T
        for name in self.metrics:
            made[name] = scored.metrics[name]
        if self.empty is None:
            made["empty"] = scored.empty.T
        self.records[places] = made
        invalid = np.flatnonzero(scored.invalid)
        if len(invalid):
            self._unpenalised.append((places[invalid], scored.unpenalised[:, invalid]))

    def prepare(self, like: ScoreStore) -> None:
        """Make room for the records of another store, where nothing was written."""
        if self.records is None:
            self._allocate(like.read(0, 1))

    def read(self, lo: int, hi: int) -> CaseScores:
        """Cases lo to hi. What was not written is zero."""
        if self.records is None:
            raise ValueError("nothing was written")
        part = np.array(self.records[lo:hi])
        scores = np.ascontiguousarray(part["scores"].T)
        unpenalised = scores
        places, values = self._all_unpenalised()
        first, last = np.searchsorted(places, (lo, hi))
        if last > first:
            unpenalised = scores.copy()
            unpenalised[:, places[first:last] - lo] = values[:, first:last]
        empty = part["empty"].T if self.empty is None else np.broadcast_to(self.empty, scores.shape)
        metrics = {name: np.ascontiguousarray(part[name]) for name in self.metrics}
        return CaseScores(self.rules, scores, unpenalised, empty, metrics)

    def _allocate(self, scored: CaseScores) -> None:
        self.rules, self.metrics = scored.rules, tuple(scored.metrics)
        fields: list[Any] = [("scores", "f8", (len(scored.rules),))]
        for name, column in scored.metrics.items():  # yes and no may be shares in the next batch, where classes tie
            fields.append((name, column.dtype if column.dtype.kind in "iu" else "f8"))
        if scored.empty.strides[-1] == 0 or not len(scored):
            self.empty = scored.empty[:, :1]
        else:
            fields.append(("empty", "f8", (len(scored.rules),)))
        kind = np.dtype(fields)
        large = kind.itemsize * self.cases > self.room
        if large:
            allocate(self.path, kind.itemsize * self.cases)
        self.records = np.memmap(self.path, kind, "r+", shape=(self.cases,)) if large else np.zeros(self.cases, kind)

    def _all_unpenalised(self) -> tuple[NDArray[np.int64], Floats]:
        """The places of invalid lists in order, with their scores without the penalty."""
        found = self._unpenalised
        if len(found) != 1 or (np.diff(found[0][0]) < 0).any():
            places = np.concatenate([np.zeros(0, np.int64), *(where for where, _ in found)])
            values = np.concatenate([np.zeros((len(self.rules), 0)), *(value for _, value in found)], axis=1)
            order = np.argsort(places)
            self._unpenalised = [(places[order], values[:, order])]
        return self._unpenalised[0]


S = TypeVar("S", bound="Collector")
_PART = 1 << 17


@dataclass(frozen=True, slots=True)
class ScoringSpec:
    """By what cases are scored."""

    rules: tuple[Rule, ...]
    ks: tuple[int, ...] = (5,)  # of top-k errors
    penalty: float | None = None
    baseline: str | None = None  # the model whose predictions stand in for missing ones, where missing is baseline


@dataclass(frozen=True, slots=True)
class ScoredBatch:
    """A batch with its scores, and all that is known of it."""

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

    source: OpenTable
    truth: OpenTable
    coder: ClassEncoder
    scoring: ScoringSpec
    repairs: Repairs
    truth_repairs: Repairs = field(default_factory=Repairs)  # of a truth that is a distribution per case
    sizes: str | None = None  # the column of the truth that says how many classes each case has
    watch: Callable[[ScoredBatch], None] | None = None
    idle: int = 0  # classes that no outcome can be
    cases: int = 0
    highest: float = -math.inf  # a bound on the score of any outcome under the first rule
    repaired: Counter[str] = field(default_factory=Counter)
    truth_repaired: Counter[str] = field(default_factory=Counter)
    _lock: Lock = field(default_factory=Lock)

    def score(self, batch: Batch, truth: Batch) -> CaseScores:
        """The scores of a batch of cases."""
        lists, y, codes, outcomes = self._read(batch, truth)
        try:
            spec = self.scoring
            made = CaseScores.from_lists(lists, y, spec.rules, ks=spec.ks, penalty=spec.penalty, idle=self.idle)
        except OutcomeError as error:
            raise in_file(error, truth) from None
        except CaseError as error:  # a list that a rule refuses
            raise in_file(error, batch) from None
        if self.watch is not None:
            self.watch(ScoredBatch(lists, y, made, batch, self.source.names, codes, truth, self.truth.names, outcomes))
        highest = highest_score(lists, rule=spec.rules[0], penalty=spec.penalty)
        with self._lock:
            self.cases += len(batch)
            self.highest = max(self.highest, highest)
            self.repaired.update(repairs_made(lists, batch))
        return made

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

    def _read(self, batch: Batch, truth: Batch) -> tuple[TopLists, Any, Codes, Codes]:
        """The lists of a batch, the outcomes as codes or, where the truth is soft, as lists, and the codes of both."""
        space = self._space(truth)
        hard = self.truth.layout.kind == "labels"
        if hard:
            require_outcomes(truth, self.coder.sets)
        require_all_columns(self.source, space)
        codes, outcomes = self.coder.codes(batch, self.source.names, truth, self.truth.names)
        lists = lists_of(batch, self.source.names, codes, space, self.repairs)
        y: Any = outcomes
        if not hard:
            y = self._distributions(truth, outcomes, space)
        return lists, y, codes, outcomes

    def _distributions(self, truth: Batch, codes: Codes, space: ClassSpace) -> TopLists:
        """A distribution over the classes per case: what sums to something else than one is no truth."""
        lists = lists_of(truth, self.truth.names, codes, space, self.truth_repairs)
        mass, off = lists.mass, np.abs(lists.mass - 1) > NEAR_ONE
        if off.any():
            bad = mass <= 0 if self.truth_repairs.normalize else off
            if bad.any():
                at = int(np.argmax(bad))
                problem = (
                    f"the probabilities of the outcomes sum to {mass[at]:.6g}, not to one. Name the column with "
                    f"outcomes with {argument('outcome')}, or pass {argument('normalize', True)} to divide by the sum."
                )
                problem = problem if mass[at] > 0 else "there is no outcome."
                raise FileError(truth.source, problem, row=int(truth.rows[at]))
            divided = lists.confidences / np.repeat(np.where(off, mass, 1.0), lists.sizes)
            lists = TopLists.from_ragged(lists.offsets, lists.classes, divided, lists.space, normalize=True)
        with self._lock:
            counted = int(np.count_nonzero(off)) + sum(lists.repairs.values())
            if counted:
                self.truth_repaired["normalized"] += counted
        return lists

    def _space(self, truth: Batch) -> ClassSpace:
        return ClassSpace(class_counts(truth, str(self.sizes))) if self.coder.space is None else self.coder.space


@dataclass(frozen=True, slots=True)
class ReadSummary:
    """What was read, aligned and repaired on the way."""

    origins: tuple[SourceSummary, ...]
    cases: int
    compared: int
    truth: str = ""  # how the truth was read
    truth_repairs: Mapping[str, int] = field(default_factory=dict)  # what was repaired in it, in how many cases
    highest: Mapping[str, float] = field(default_factory=dict)  # by model, a bound on scores under the first rule
    difficulty: Difficulty | None = None  # of what is missing; None where nothing is
    repaired: tuple[Mapping[str, int], ...] = ()  # the repairs of the truth, in the cases of each model
    matched: tuple[int, ...] = ()  # cases of the truth that each model has
    names: tuple[NamesSeen, ...] = ()  # of the classes of each model


class Collector(ABC):
    """Takes the scored cases. What can be done apart from other cases is done in `make`, by several threads."""

    __slots__ = ()

    @abstractmethod
    def make(self, truth: Batch, scored: Sequence[CaseScores], present: Sequence[NDArray[np.bool_]]) -> Any:
        """Something from some cases; `present` is empty where all predict all."""

    @abstractmethod
    def add(self, made: Any) -> None:
        """The next of what was made, in the order of the truth."""

    @property
    def watchers(self) -> Mapping[str, Callable[[ScoredBatch], None]]:
        """By the name of a source, who sees its batches as they are scored, in any order and from any thread."""
        return {}


def coder_of(plan: Plan) -> ClassEncoder:
    """Class names as codes, for one source and the truth."""
    whole = plan.space is None or plan.space.labels is None
    whole = whole and all(has_integers(source) for source in (plan.truth, *plan.sources))
    return ClassEncoder(plan.space, whole, plan.set_separator)


def scorers_of(
    plan: Plan, scoring: ScoringSpec, watchers: Mapping[str, Callable[[ScoredBatch], None]]
) -> list[BatchScorer]:
    """One for each source, with the function that is called with every batch it scored."""
    return [
        BatchScorer(
            source,
            plan.truth,
            coder_of(plan),
            scoring,
            plan.repairs[source.name],
            plan.truth_repairs,
            plan.n_classes,
            watchers.get(source.name),
            int(any(one.has_other for one in plan.sources)),
        )
        for source in plan.sources
    ]


def run(
    plan: Plan,
    scoring: ScoringSpec,
    collector: Callable[[], S],
    progress: Progress = lambda what, done, total: None,
    *,
    part: bool = False,
    start: int = 0,
) -> tuple[S, ReadSummary]:
    """Read, align and score; a new collector is made for a second attempt, where the first finds no common order.

    Of a `part` of the cases a model may lack all, and none may be left to compare; where cases have no ids, `start` is
    the position of the first one.
    """
    cases, to = aligned(plan), collector()
    try:
        found = _in_step(plan, cases, scoring, to, progress, part=part, start=start)
    except OutOfStepError:
        to = collector()
        found = _joined(plan, cases, scoring, to, progress, part=part)
    if not part:
        require_cases(plan.truth.path, found.cases, found.compared)
    return to, found


def require_cases(truth: str, cases: int, compared: int) -> None:
    """Refuse a comparison of nothing."""
    if not cases:
        raise FileError(truth, "there are no cases.")
    if not compared:
        raise AlignmentError("there is no case that all models and the truth have.")


def most_repaired(repaired: Sequence[Mapping[str, int]]) -> Mapping[str, int]:
    """The repairs of the truth, from the model that has most of its cases."""
    return max(repaired, key=lambda counts: sum(counts.values()))


def aligned(plan: Plan) -> AlignedCases:
    """The truth and the models."""
    return AlignedCases((plan.truth, *plan.sources), plan.missing, plan.choices)


def _in_step(
    plan: Plan,
    aligned: AlignedCases,
    scoring: ScoringSpec,
    collector: Collector,
    progress: Progress,
    *,
    part: bool,
    start: int,
) -> ReadSummary:
    scorers, done = scorers_of(plan, scoring, collector.watchers), 0
    difficulty = Difficulty(len(scorers)) if part and plan.missing != "error" else None  # others may lack cases
    lock = Lock()

    def work(cases: list[Batch]) -> tuple[int, Any]:
        truth, *batches = cases
        scored = [scorer.score(batch, truth) for scorer, batch in zip(scorers, batches, strict=True)]
        if difficulty is not None:
            scores = np.array([one.scores[0] for one in scored])
            with lock:
                difficulty.add(scores, np.ones(scores.shape, bool))
        return len(truth), collector.make(truth, scored, ())

    for count, made in parallel_map(work, _with_positions(aligned.in_step(), start)):
        collector.add(made)
        done += count
        progress("scoring", done, plan.truth.reader.rows)
    for scorer in scorers if not part else ():  # other parts may have other names
        scorer.coder.finish()
    origins = tuple(scorer.summary(scorer.cases) for scorer in scorers)
    return _summary(plan, scorers, origins, done, done, [done] * len(scorers), difficulty, part=part)


POSITION: Final = ""
"""What the column with the positions of cases is called, in a truth without ids."""


def _with_positions(cases: Iterator[list[Batch]], start: int) -> Iterator[list[Batch]]:
    """The same with the positions of the cases, where there are no ids."""
    for truth, *others in cases:
        if truth.ids is None:
            places = as_arrow(np.arange(start, start + len(truth)))
            yield [replace(truth, extra={**truth.extra, POSITION: places}), *others]
        else:
            yield [truth, *others]
        start += len(truth)


def case_hashes(truth: Batch, seed: int, some: NDArray[np.intp] | None = None) -> NDArray[np.uint64]:
    """The hash of the text of the id of each case, or of its position: 7 and "7" have the same; or of some cases."""
    ids = truth.extra[POSITION] if truth.ids is None else truth.ids
    return id_hashes(ids if some is None else plain(ids).take(as_arrow(some)), seed)


def cluster_hashes(clusters: Grouping) -> NDArray[np.uint64]:
    """The hash of the name of the cluster of each case."""
    names = [str(key).encode("utf-8", "surrogatepass") for key in clusters.keys]
    ends = np.cumsum([0, *map(len, names)])
    made = hash_text(np.frombuffer(b"".join(names), np.uint8), ends.astype(np.int64))
    return made if clusters.codes is None else made[clusters.codes]


def _summary(
    plan: Plan,
    scorers: Sequence[BatchScorer],
    origins: tuple[SourceSummary, ...],
    cases: int,
    compared: int,
    matched: Sequence[int],
    difficulty: Difficulty | None = None,
    *,
    part: bool,
) -> ReadSummary:
    repaired = tuple(dict(scorer.truth_repaired) for scorer in scorers)
    highest = {scorer.source.name: scorer.highest for scorer in scorers}
    mended = most_repaired(repaired)
    told = plan.truth.reading
    names = tuple(scorer.coder.seen for scorer in scorers) if part else ()
    return ReadSummary(origins, cases, compared, told, mended, highest, difficulty, repaired, tuple(matched), names)


def _joined(
    plan: Plan, aligned: AlignedCases, scoring: ScoringSpec, collector: Collector, progress: Progress, *, part: bool
) -> ReadSummary:
    scorers = scorers_of(plan, scoring, collector.watchers)
    with aligned.joined(part=part) as join, temporary_folder() as folder:
        stores = []
        for at, scorer in enumerate(scorers):
            store = ScoreStore(folder / f"scores-{at}", join.cases, len(scorers))
            done = 0

            def work(found: Matched, scorer: BatchScorer = scorer) -> tuple[Matched, CaseScores]:
                return found, scorer.score(found.batch, found.first)

            for found, one in parallel_map(work, join.look_up(scorer.source)):
                store.put(found.places, one)
                done += len(found.places)
                progress(f"scoring {scorer.source.name}", done, scorer.source.reader.rows)
            if not part:
                scorer.coder.finish()
            stores.append(store)
        lacking = [np.flatnonzero(~store.present) for store in stores]
        cases = [scorer.cases for scorer in scorers]
        if not part or plan.missing == "error":
            aligned.require_same_cases(join, {j.source.name: away for j, away in zip(scorers, lacking, strict=True)})
        for scorer, store, away in zip(scorers, stores, lacking, strict=True):
            if plan.missing == "uniform":
                _fill(scorer, store, away, join.first)
        stand_in = None
        if plan.missing == "baseline":
            stand_in = next(at for at, scorer in enumerate(scorers) if scorer.source.name == scoring.baseline)
            if len(lacking[stand_in]):
                raise AlignmentError(
                    f"the baseline {scoring.baseline} lacks {len(lacking[stand_in]):,} cases, so that its predictions "
                    f"cannot stand in for missing ones: choose {argument('missing', 'worst')}, or another baseline."
                )
        compared, difficulty = _in_order(plan, collector, stores, stand_in, progress, part=part)
    nobody = join.cases - compared
    imputed = plan.missing in ("uniform", "worst", "baseline")
    filled = [len(away) - nobody if imputed else 0 for away in lacking]
    beyond = [join.unknown[scorer.source.name][0] for scorer in scorers]
    origins = tuple(
        scorer.summary(count, filled=fills, left_out=unknown + (count - compared if plan.missing == "common" else 0))
        for scorer, fills, unknown, count in zip(scorers, filled, beyond, cases, strict=True)
    )
    matched = [join.cases - len(away) for away in lacking]
    return _summary(plan, scorers, origins, join.cases, compared, matched, difficulty, part=part)


def _in_order(
    plan: Plan, collector: Collector, stores: list[ScoreStore], stand_in: int | None, progress: Progress, *, part: bool
) -> tuple[int, Difficulty | None]:
    """The scored cases, in the order of the truth; how many there were, and how hard the missing ones are."""
    lo = compared = 0
    lacking = not all(store.present.all() for store in stores)
    difficulty = Difficulty(len(stores)) if lacking or (part and plan.missing != "error") else None
    written = next((store for store in stores if store.records is not None), None)
    if written is None:
        return 0, difficulty
    for store in stores:
        store.prepare(written)
    for truth in plan.truth.batches(together=True):
        hi = lo + len(truth)
        present = [store.present[lo:hi] for store in stores]
        scored = [store.read(lo, hi) for store in stores]
        rest = truth
        if difficulty is not None:
            difficulty.add(np.array([one.scores[0] for one in scored]), np.array(present))
        if plan.missing in ("worst", "baseline"):
            scored = _imputed(scored, present, stand_in)
        if plan.missing in ("common", "worst"):
            together = np.logical_and if plan.missing == "common" else np.logical_or
            keep = np.flatnonzero(together.reduce(present))
            rest, scored = truth.take(keep), [one.take(keep) for one in scored]
        present = present if plan.missing == "pairwise" else []
        if len(rest):
            collector.add(collector.make(rest, scored, present))
        lo, compared = hi, compared + len(rest)
        progress("adding up", lo, stores[0].cases)
    return compared, difficulty


def _imputed(
    scored: Sequence[CaseScores], present: Sequence[NDArray[np.bool_]], stand_in: int | None
) -> list[CaseScores]:
    """Missing predictions replaced by those of one model, or of the one that scored worst under the first rule."""
    if stand_in is None:
        worst = np.where(np.array(present), [one.scores[0] for one in scored], -np.inf).argmax(axis=0)
    else:
        worst = np.full(len(scored[0]), stand_in)
    at = np.arange(len(worst))

    def replaced(columns: Sequence[Any], lacking: NDArray[np.bool_], own: Any) -> Any:
        return np.where(lacking, np.stack(columns)[worst, ..., at].T, own)

    out = []
    for one, there in zip(scored, present, strict=True):
        away = ~there
        scores, unpenalised, empty = (
            replaced([getattr(other, name) for other in scored], away, getattr(one, name))
            for name in ("scores", "unpenalised", "empty")
        )
        metrics = {
            name: replaced([other.metrics[name] for other in scored], away, own) for name, own in one.metrics.items()
        }
        out.append(replace(one, scores=scores, unpenalised=unpenalised, empty=empty, metrics=metrics))
    return out


def _fill(scorer: BatchScorer, store: ScoreStore, away: NDArray[np.intp], truth: Batch) -> None:
    """Absent predictions are empty lists."""
    for lo in range(0, len(away), _PART):
        at = away[lo : lo + _PART]
        happened = truth.take(at)
        store.put(at, scorer.score(_empty_lists(scorer, happened), happened))


def _empty_lists(scorer: BatchScorer, truth: Batch) -> Batch:
    pa, n = need("pyarrow"), len(truth)
    kind = pa.string() if truth.classes is None else plain(truth.classes).type
    return Batch(scorer.source.path, truth.rows, None, np.zeros(n + 1, np.int64), pa.array([], kind), np.zeros(0))


T = TypeVar("T", bound=Collector)


@dataclass(slots=True)
class SumCollector(Collector):
    """Adds up exactly."""

    plan: Plan
    drawn: bool = False  # whether units are drawn from sums, in a Poisson bootstrap
    tallies: dict[Hashable, Aggregates] = field(default_factory=dict)

    def make(
        self, truth: Batch, scored: Sequence[CaseScores], present: Sequence[NDArray[np.bool_]]
    ) -> dict[Hashable, Aggregates]:
        """See `Collector`."""
        plan = self.plan
        pairwise = plan.missing == "pairwise"
        clusters = None if plan.ordered or plan.cluster is None else groups_of(filled(truth, plan.cluster, "cluster"))
        keys = None
        if self.drawn:
            keys = case_hashes(truth, 0) if clusters is None else cluster_hashes(clusters)
        return tally(
            scored,
            present=present,
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


class MatrixCollector(Collector):
    """Keeps every score, in the order of the truth, in a file that has no name."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.file = tempfile.TemporaryFile(prefix="toplist-")  # noqa: SIM115  lives as long as this
        self.shape: tuple[int, ...] = ()
        self.columns: dict[str, list[Any]] = {"empty": [], "weight": [], "cluster": [], "time": [], "by": []}

    def __del__(self) -> None:
        self.file.close()  # what a panel maps of it stays

    def make(self, truth: Batch, scored: Sequence[CaseScores], present: Sequence[NDArray[np.bool_]]) -> Any:
        """See `Collector`."""
        plan = self.plan
        columns = {
            "empty": _empty(scored, present),
            "weight": None if plan.weight is None else weights_of(truth, plan.weight),
            "cluster": None if plan.cluster is None else filled(truth, plan.cluster, "cluster"),
            "time": None if plan.time is None else filled(truth, plan.time, "time"),
            "by": None if plan.group is None else truth.extra[plan.group],
        }
        return side_by_side(scored, present), columns

    def add(self, made: Any) -> None:
        """See `Collector`."""
        scores, columns = made
        self.shape = scores.shape[1:]
        with disk_full_explained():
            self.file.write(scores.tobytes())
        for name, column in columns.items():
            if column is not None:
                self.columns[name].append(column)

    def panel(self) -> ScoreMatrix:
        """All cases, side by side."""
        with disk_full_explained():
            self.file.flush()
        found = self.columns
        by = groups_of(_whole(found["by"])) if found["by"] else None
        clusters = clusters_in_order(_whole(found["cluster"])) if found["cluster"] else None
        times = in_time(_whole(found["time"]), str(self.plan.time)) if found["time"] else None
        return ScoreMatrix(
            np.memmap(self.file, np.float64, "r").reshape(-1, *self.shape),
            one_if_alike(found["empty"]),
            np.concatenate(found["weight"]) if found["weight"] else None,
            clusters if times is None else times,
            self.plan.ordered,
            None if by is None or by.codes is None else by.codes.astype(np.int64),
            () if by is None else tuple(by.keys),
            None if times is None else clusters,
        )


class ScoresCollector(Collector):
    """Keeps the scores of every model in memory, with what the truth says of the cases."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.parts: list[list[CaseScores]] = []

    def make(self, truth: Batch, scored: Sequence[CaseScores], present: Sequence[NDArray[np.bool_]]) -> Any:
        """See `Collector`: each model with the cases that it has."""
        known = _metadata(truth, self.plan)
        made = [replace(one, metadata=known) for one in scored]
        return [one.take(there) for one, there in zip(made, present, strict=True)] if present else made

    def add(self, made: Any) -> None:
        """See `Collector`."""
        self.parts.append(made)

    def scores(self) -> dict[str, CaseScores]:
        """One table per model."""
        by_model = zip(self.plan.sources, zip(*self.parts, strict=True), strict=True)
        return {source.name: CaseScores.concat(parts) for source, parts in by_model}


def scores_of_files(
    plan: Plan, scoring: ScoringSpec, progress: Progress = lambda what, done, total: None
) -> dict[str, CaseScores]:
    """Scores case by case, by model."""
    found, _ = run(plan, scoring, lambda: ScoresCollector(plan), progress)
    return found.scores()


def _metadata(truth: Batch, plan: Plan) -> dict[str, Any]:
    """Ids of cases, or their rows from zero, and the columns of the truth that say something of them."""
    named = {"group": plan.group, "cluster": plan.cluster, "time": plan.time}
    found: dict[str, Any] = {"case": truth.rows - 1 if truth.ids is None else plain(truth.ids)}
    found |= {name: plain(truth.extra[column]) for name, column in named.items() if column is not None}
    return found if plan.weight is None else found | {"weight": weights_of(truth, plan.weight)}


@dataclass(frozen=True, slots=True)
class TeeCollector(Collector, Generic[S, T]):
    """Two collectors in one."""

    one: S
    other: T

    def make(self, truth: Batch, scored: Sequence[CaseScores], present: Sequence[NDArray[np.bool_]]) -> Any:
        """See `Collector`."""
        return self.one.make(truth, scored, present), self.other.make(truth, scored, present)

    def add(self, made: Any) -> None:
        """See `Collector`."""
        self.one.add(made[0])
        self.other.add(made[1])

    @property
    def watchers(self) -> Mapping[str, Callable[[ScoredBatch], None]]:
        """See `Collector`: a source is watched by one of the two."""
        return {**self.one.watchers, **self.other.watchers}


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


def _whole(parts: list[Any]) -> Any:
    return need("pyarrow").chunked_array(parts).combine_chunks()
