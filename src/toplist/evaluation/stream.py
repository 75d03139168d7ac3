"""Files compared case by case: in step where they have one order, through a join where they have not.

Scored cases that come in any order, kept in the order of the truth.

What becomes of scored cases: added up, kept side by side, or both.
"""

from __future__ import annotations

import tempfile
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from toplist._files import room, sized, temporary_folder
from toplist._optional import need
from toplist._text import few
from toplist._typing import Progress
from toplist.core.kernel import one_thread, threads
from toplist.errors import AlignmentError, FileError
from toplist.inference.aggregates import Grouping, Tally, merge, tally
from toplist.inference.results import Origin
from toplist.inference.score_matrix import Panel, one_if_alike, side_by_side
from toplist.io.align import Join, Joined, OutOfStepError, differing_lengths, in_step, require_same_cases
from toplist.io.batches import Batch
from toplist.io.columns import plain
from toplist.io.duckdb_engine import connect
from toplist.io.encoding import Coder, has_integers
from toplist.io.lists import Judge, Scoring, Seen
from toplist.io.metadata import clusters_in_order, filled, groups_of, in_time, require_few_groups, weights_of
from toplist.io.sources import Source
from toplist.io.spill import some
from toplist.lists.space import ClassSpace
from toplist.lists.validation import Repairs
from toplist.scoring.case_scores import Sheet

_IN_MEMORY = 1 << 31  # bytes for all predictors together; more goes to disk


class Scratch:
    """The sheet of one predictor: a record for each case, so that a case is written in one place.

    What the empty list scores is kept once where it is the same for all, and scores without the penalty only where
    they differ.
    """

    def __init__(self, path: Path, cases: int, predictors: int = 1) -> None:
        self.path, self.cases, self.room = path, cases, _IN_MEMORY // predictors
        self.present = np.zeros(cases, bool)
        self.records: Any = None
        self.empty: Any = None
        self._plain: list[tuple[NDArray[np.int64], Any]] = []

    def put(self, places: NDArray[np.int64], sheet: Sheet) -> None:
        """Write down the cases at these places."""
        self.present[places] = True
        if self.records is None:
            self._make_room(sheet)
        made = np.empty(len(places), self.records.dtype)
        made["scores"], made["missed"] = sheet.scores.T, np.array(sheet.missed).reshape(-1, len(places)).T
        for name in ("hit", "listed", "sizes", "mass", "invalid"):
            made[name] = getattr(sheet, name)
        if self.empty is None:
            made["empty"] = sheet.empty.T
        self.records[places] = made
        odd = np.flatnonzero(sheet.invalid)
        if len(odd):
            self._plain.append((places[odd], sheet.unpenalised[:, odd]))

    def sheet(self, lo: int, hi: int) -> Sheet:
        """Cases lo to hi. What is not there is zero."""
        if self.records is None:
            raise ValueError("nothing was written")
        part = np.array(self.records[lo:hi])
        scores = np.ascontiguousarray(part["scores"].T)
        plain = scores
        places, values = self._all_plain()
        first, last = np.searchsorted(places, (lo, hi))
        if last > first:
            plain = scores.copy()
            plain[:, places[first:last] - lo] = values[:, first:last]
        own = part["empty"].T if self.empty is None else np.broadcast_to(self.empty, scores.shape)
        names = ("listed", "sizes", "mass", "invalid")
        columns = [np.ascontiguousarray(part[name]) for name in names]
        return Sheet(scores, plain, own, part["hit"], tuple(part["missed"].T), *columns)

    def _make_room(self, sheet: Sheet) -> None:
        rules, tops = len(sheet.scores), len(sheet.missed)
        fields: list[Any] = [("scores", "f8", (rules,)), ("missed", "f8", (tops,)), ("mass", "f8"), ("hit", "f8")]
        fields += [("listed", sheet.listed.dtype), ("sizes", "i4"), ("invalid", "i1")]
        if sheet.empty.strides[-1] == 0 or not len(sheet):
            self.empty = sheet.empty[:, :1]
        else:
            fields.append(("empty", "f8", (rules,)))
        kind = np.dtype(fields)
        large = kind.itemsize * self.cases > self.room
        if large:
            sized(self.path, kind.itemsize * self.cases)
        self.records = np.memmap(self.path, kind, "r+", shape=(self.cases,)) if large else np.zeros(self.cases, kind)

    def _all_plain(self) -> tuple[NDArray[np.int64], Any]:
        """The places of invalid lists in order, with their scores without the penalty."""
        if len(self._plain) != 1 or (np.diff(self._plain[0][0]) < 0).any():
            places = np.concatenate([np.zeros(0, np.int64), *(where for where, _ in self._plain)])
            rules = self.records.dtype["scores"].shape[0]
            values = np.concatenate([np.zeros((rules, 0)), *(value for _, value in self._plain)], axis=1)
            order = np.argsort(places)
            self._plain = [(places[order], values[:, order])]
        return self._plain[0]


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


S_SINKS = TypeVar("S", bound=Sink)
T = TypeVar("T", bound=Sink)


@dataclass(slots=True)
class Adding(Sink):
    """A sink that adds up."""

    plan: Plan
    tallies: dict[Hashable, Tally] = field(default_factory=dict)

    def make(
        self, truth: Batch, sheets: Sequence[Sheet], present: Sequence[NDArray[np.bool_]]
    ) -> dict[Hashable, Tally]:
        """See `streaming.Sink`."""
        plan = self.plan
        clusters = None if plan.cluster is None or plan.missing == "pairwise" else plan.cluster
        return tally(
            sheets,
            present=present,
            weights=None if plan.weight is None else weights_of(truth, plan.weight),
            groups=None if plan.by is None else self._groups(truth.extra[plan.by]),
            clusters=None if clusters is None else groups_of(filled(truth, clusters, "cluster")),
        )

    def _groups(self, column: Any) -> Grouping:
        found = groups_of(column)
        require_few_groups(found.keys, self.plan.by)
        return found

    def add(self, made: dict[Hashable, Tally]) -> None:
        """See `streaming.Sink`."""
        self.tallies = merge(self.tallies, made)
        require_few_groups(self.tallies, self.plan.by)


class Keeping(Sink):
    """A sink that keeps every score, in the order of the truth, in a file that has no name."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.file = tempfile.TemporaryFile(prefix="toplist-")  # noqa: SIM115  lives as long as this
        self.shape: tuple[int, ...] = ()
        self.columns: dict[str, list[Any]] = {"empty": [], "weight": [], "unit": [], "by": []}

    def __del__(self) -> None:
        self.file.close()  # what a panel maps of it stays

    def make(self, truth: Batch, sheets: Sequence[Sheet], present: Sequence[NDArray[np.bool_]]) -> Any:
        """See `streaming.Sink`."""
        plan, unit = self.plan, self.plan.order or self.plan.cluster
        columns = {
            "empty": _empty(sheets, present),
            "weight": None if plan.weight is None else weights_of(truth, plan.weight),
            "unit": None if unit is None else filled(truth, unit, "cluster" if plan.order is None else "time"),
            "by": None if plan.by is None else truth.extra[plan.by],
        }
        return side_by_side(sheets, present), columns

    def add(self, made: Any) -> None:
        """See `streaming.Sink`."""
        scores, columns = made
        self.shape = scores.shape[1:]
        with room():
            self.file.write(scores.tobytes())
        for name, column in columns.items():
            if column is not None:
                self.columns[name].append(column)

    def panel(self) -> Panel:
        """All cases, side by side."""
        with room():
            self.file.flush()
        found = self.columns
        by = groups_of(_whole(found["by"])) if found["by"] else None
        return Panel(
            np.memmap(self.file, np.float64, "r").reshape(-1, *self.shape),
            one_if_alike(found["empty"]),
            np.concatenate(found["weight"]) if found["weight"] else None,
            self._units(),
            self.plan.ordered,
            None if by is None or by.codes is None else by.codes.astype(np.int64),
            () if by is None else tuple(by.keys),
        )

    def _units(self) -> NDArray[np.int64] | None:
        parts = self.columns["unit"]
        if not parts:
            return None
        whole = _whole(parts)
        return clusters_in_order(whole) if self.plan.order is None else in_time(whole, self.plan.order)


@dataclass(frozen=True, slots=True)
class Both(Sink, Generic[S_SINKS, T]):
    """Two sinks in one."""

    one: S_SINKS
    other: T

    def make(self, truth: Batch, sheets: Sequence[Sheet], present: Sequence[NDArray[np.bool_]]) -> Any:
        """See `streaming.Sink`."""
        return self.one.make(truth, sheets, present), self.other.make(truth, sheets, present)

    def add(self, made: Any) -> None:
        """See `streaming.Sink`."""
        self.one.add(made[0])
        self.other.add(made[1])


def _empty(sheets: Sequence[Sheet], present: Sequence[NDArray[np.bool_]]) -> NDArray[np.float64]:
    """What the empty list scores, from a predictor that has the case: it is the same for all who have it."""
    first: NDArray[np.float64] = sheets[0].empty.T
    if not present or first.strides[0] == 0:
        return first
    out = first.copy()
    for sheet, there in zip(sheets[1:], present[1:], strict=True):
        at = there & ~present[0]
        out[at] = sheet.empty.T[at]
    return out


def _whole(parts: list[Any]) -> Any:
    return need("pyarrow").chunked_array(parts).combine_chunks()
