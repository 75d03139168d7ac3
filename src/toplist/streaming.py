"""Files compared case by case: in step where they have one order, through a join where they have not."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from toplist.errors import AlignmentError, FileError
from toplist.evaluation import Judge, Scoring, Seen
from toplist.io.alignment import Join, Joined, OutOfStepError, differing_lengths, in_step, require_same_cases
from toplist.io.batches import Batch
from toplist.io.coding import Coder, has_integers
from toplist.io.columns import plain
from toplist.io.engine import connect
from toplist.io.gathering import some
from toplist.io.optional import need
from toplist.io.showing import few
from toplist.io.sources import Source
from toplist.io.temporary import temporary_folder
from toplist.kernel import one_thread, threads
from toplist.lists.door import Repairs
from toplist.ranking.results import Origin
from toplist.scratch import Scratch
from toplist.sheets import Sheet
from toplist.space import ClassSpace

Progress = Callable[[str, int, int | None], None]
A = TypeVar("A")
B = TypeVar("B")
S = TypeVar("S", bound="Sink")
_PART = 1 << 17
MISSING = ("error", "common", "pairwise", "reject")


@dataclass(frozen=True, slots=True)
class Plan:
    """What is compared with what, and how."""

    truth: Source
    sources: tuple[Source, ...]
    scoring: Scoring
    repairs: Mapping[str, Repairs]
    space: ClassSpace | None  # None: the column `sizes` of the truth says how many classes each case has
    sizes: str | None = None
    sets: str | None = None
    missing: str = "error"
    weight: str | None = None
    by: str | None = None
    cluster: str | None = None
    order: str | None = None
    ordered: bool = False  # whether cases are in the order of time: by the column `order`, or as they come
    keep: tuple[str, ...] = ()
    truth_repairs: Repairs = field(default_factory=Repairs)  # of a truth that is a distribution per case

    def judges(self, watchers: Mapping[str, Callable[[Seen], None]]) -> list[Judge]:
        """One for each source, with those who look over its shoulder."""
        whole = self.space is None or self.space.labels is None
        whole = whole and all(has_integers(source) for source in (self.truth, *self.sources))
        return [
            Judge(
                source,
                self.truth,
                Coder(self.space, whole, self.sets),
                self.scoring,
                self.repairs[source.name],
                self.truth_repairs,
                self.sizes,
                watchers.get(source.name),
            )
            for source in self.sources
        ]


@dataclass(frozen=True, slots=True)
class Read:
    """What was read, aligned and repaired on the way."""

    origins: tuple[Origin, ...]
    cases: int
    compared: int
    truth: str = ""  # how the truth was read
    truth_repairs: Mapping[str, int] = field(default_factory=dict)  # what was repaired in it, in how many cases


class Sink(ABC):
    """Takes the scored cases. What can be done apart from other cases is done in `make`, by several threads."""

    __slots__ = ()

    @abstractmethod
    def make(self, truth: Batch, sheets: Sequence[Sheet], present: Sequence[NDArray[np.bool_]]) -> Any:
        """Something from some cases; `present` is empty where all predict all."""

    @abstractmethod
    def add(self, made: Any) -> None:
        """The next of what was made, in the order of the truth."""

    @property
    def watchers(self) -> Mapping[str, Callable[[Seen], None]]:
        """By the name of a source, who sees its batches as they are scored, in any order and from any thread."""
        return {}


def run(plan: Plan, sink: Callable[[], S], progress: Progress = lambda what, done, total: None) -> tuple[S, Read]:
    """Read, align and score. A new sink is made for a second attempt, where the first one finds no common order."""
    require_ids(plan)
    to = sink()
    try:
        return to, _in_step(plan, to, progress)
    except OutOfStepError:
        if plan.truth.layout.case is None:
            raise AlignmentError(lengths(plan)) from None
    to = sink()
    return to, _joined(plan, to, progress)


def _in_step(plan: Plan, sink: Sink, progress: Progress) -> Read:
    judges, done = plan.judges(sink.watchers), 0

    def work(cases: tuple[Batch, list[Batch]]) -> tuple[int, Any]:
        truth, batches = cases
        sheets = [judge.sheet(batch, truth) for judge, batch in zip(judges, batches, strict=True)]
        return len(truth), sink.make(truth, sheets, ())

    for count, made in shared(work, in_step(plan.truth, plan.sources)):
        sink.add(made)
        done += count
        progress("scoring", done, plan.truth.reader.rows)
    if not done:
        raise FileError(plan.truth.path, "there are no cases.")
    for judge in judges:
        judge.coder.finish()
    origins = tuple(
        Origin(
            j.source.name,
            j.source.path,
            j.source.layout.kind,
            j.cases,
            repairs=dict(j.repaired),
            reading=j.source.reading,
        )
        for j in judges
    )
    return Read(origins, done, done, plan.truth.reading, dict(judges[0].truth_repaired))


def shared(work: Callable[[A], B], items: Iterator[A]) -> Iterator[B]:
    """The results of work on each item, in order, by as many threads as there are; few items wait at a time."""
    workers = threads()

    def alone(item: A) -> B:
        with one_thread():
            return work(item)

    with ThreadPoolExecutor(workers) as pool:
        waiting: deque[Future[B]] = deque()
        for item in items:
            waiting.append(pool.submit(alone, item))
            if len(waiting) > workers:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()


def _joined(plan: Plan, sink: Sink, progress: Progress) -> Read:
    judges = plan.judges(sink.watchers)
    with connect() as engine, temporary_folder() as folder:
        join = Join(engine, plan.truth, folder, text=needs_text(plan))
        scratches = []
        for at, judge in enumerate(judges):
            scratch = Scratch(folder / f"scores-{at}", join.cases, len(judges))
            done = 0

            def work(found: Joined, judge: Judge = judge) -> tuple[Joined, Sheet]:
                return found, judge.sheet(found.batch, found.truth)

            for found, sheet in shared(work, join.look_up(judge.source)):
                scratch.put(found.places, sheet)
                done += len(found.places)
                progress(f"scoring {judge.source.name}", done, judge.source.reader.rows)
            judge.coder.finish()
            scratches.append(scratch)
        lacking = [np.flatnonzero(~scratch.present) for scratch in scratches]
        cases = [judge.cases for judge in judges]
        if plan.missing == "error":
            require_same_cases(
                [
                    (j.source.name, len(who), join.ids(who[:3]))
                    for j, who in zip(judges, lacking, strict=True)
                    if len(who)
                ],
                [(name, count, shown) for name, (count, shown) in join.unknown.items()],
                next(filter(None, (join.hint(j.source.name) for j in judges if not j.cases)), ""),
            )
        for judge, scratch, away in zip(judges, scratches, lacking, strict=True):
            if not judge.cases:
                join.require_some(judge.source.name)
            if plan.missing == "reject":
                _reject(judge, scratch, away, join.truth)
        compared = _in_order(plan, sink, scratches, progress)
    filled = [len(away) if plan.missing == "reject" else 0 for away in lacking]
    beyond = [join.unknown.get(judge.source.name, (0, []))[0] for judge in judges]
    origins = tuple(
        Origin(
            judge.source.name,
            judge.source.path,
            judge.source.layout.kind,
            count,
            filled=fills,
            left_out=unknown + (count - compared if plan.missing == "common" else 0),
            repairs=dict(judge.repaired),
            reading=judge.source.reading,
        )
        for judge, fills, unknown, count in zip(judges, filled, beyond, cases, strict=True)
    )
    mended = max((dict(judge.truth_repaired) for judge in judges), key=lambda counts: sum(counts.values()))
    return Read(origins, join.cases, compared, plan.truth.reading, mended)


def _in_order(plan: Plan, sink: Sink, scratches: list[Scratch], progress: Progress) -> int:
    """The scored cases, in the order of the truth; how many there were."""
    lo = compared = 0
    for truth in plan.truth.batches(together=True):
        hi = lo + len(truth)
        present = [scratch.present[lo:hi] for scratch in scratches]
        sheets = [scratch.sheet(lo, hi) for scratch in scratches]
        part = truth
        if plan.missing == "common":
            keep = np.flatnonzero(np.logical_and.reduce(present))
            part, sheets, present = some(truth, keep), [sheet.some(keep) for sheet in sheets], []
        if len(part):
            sink.add(sink.make(part, sheets, present))
        lo, compared = hi, compared + len(part)
        progress("adding up", lo, scratches[0].cases)
    if not compared:
        raise AlignmentError("there is no case that all predictors and the truth have.")
    return compared


def _reject(judge: Judge, scratch: Scratch, away: NDArray[np.intp], truth: Batch) -> None:
    """Absent predictions are empty lists."""
    for lo in range(0, len(away), _PART):
        at = away[lo : lo + _PART]
        happened = some(truth, at)
        scratch.put(at, judge.sheet(_empty_lists(judge, happened), happened))


def _empty_lists(judge: Judge, truth: Batch) -> Batch:
    pa, n = need("pyarrow"), len(truth)
    kind = pa.string() if truth.classes is None else plain(truth.classes).type
    return Batch(judge.source.path, truth.rows, None, np.zeros(n + 1, np.int64), pa.array([], kind), np.zeros(0))


def needs_text(plan: Plan) -> bool:
    """Whether any ids are text: then all are compared as text."""
    types = need("pyarrow").types
    kinds = [s.reader.schema.field(s.layout.case).type for s in (plan.truth, *plan.sources)]
    return not all((types.is_integer(kind) and not types.is_uint64(kind)) or types.is_floating(kind) for kind in kinds)


def require_ids(plan: Plan) -> None:
    """All sources have case ids, or none has."""
    without = [s.path for s in (plan.truth, *plan.sources) if s.layout.case is None]
    if without and len(without) <= len(plan.sources):
        raise AlignmentError(
            f"{few(without)}: there is no column with case ids, but the other files have one. "
            "Name it with --case, or give all files in the same order without ids."
        )


def lengths(plan: Plan) -> str:
    """What to say of files without ids that differ in length."""
    return differing_lengths((plan.truth, *plan.sources))
