"""What workers do: functions of bytes that score some of the cases of a job.

::

    run_task(task)                 # in step: a range of rows of all tables, which hold the same cases in the same order
    split_task(task)               # shuffle: the rows of one unit of one table, by the bucket of their case ids
    finish_bucket(bucket, blocks)  # all rows of a bucket, aligned and scored
    merge_bytes(results)           # one result of several

A task names a job, which a process opens once in a run. What goes wrong with the input is part of the result: the
driver decides what becomes of it. A result that is whole is written to the folder of partial results, if there is one,
before it is returned.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any

import numpy as np

from toplist import errors
from toplist._files import need, write_bytes
from toplist.errors import AlignmentError, CaseError, FileError, TopListError
from toplist.evaluation.compare import Question
from toplist.evaluation.jobs import Job
from toplist.evaluation.partials import PartialResult, losses_of, merge, score_part
from toplist.evaluation.samples import ROOM, PairLoss
from toplist.evaluation.stream import require_sound
from toplist.inference.diagnostics import SAMPLED
from toplist.inference.partial_bytes import pack, pack_integers, unpack, unpack_integers
from toplist.io.align import UniqueIds
from toplist.io.columns import as_arrow, as_numpy
from toplist.io.plan import Plan
from toplist.io.shuffle import Block, read_block, split, tables_of_blocks
from toplist.io.slices import Span, UnreadableError, sliced
from toplist.io.sources import OpenTable
from toplist.io.views import View

KIND = "task result"
_CONTEXT, _FAILURE, _ROWS, _COUNTS = b"J", b"F", b"R", b"C"  # what a block of a shuffle begins with
_MOST = 1000  # failures that are kept one by one
MERGED = 1 << 60  # where parts fail that are fine alone: after all tasks
_BUCKETS = 1 << 59  # where buckets fail: after all tasks that split tables
FEW = 20  # ids of a model that the truth lacks, to be shown or compared with
HEAD = 1000  # ids of the truth that these are compared with
Pairs = Sequence[tuple[str, str]]


# Tasks


@dataclass(frozen=True, slots=True)
class Task:
    """Some rows of the tables of a job, and what is done with them."""

    job: Mapping[str, Any]
    run: str  # the comparison that the task is of: another one opens the files again, which may have changed
    number: int  # among the tasks
    spans: Sequence[Sequence[Sequence[Any]] | None]  # by table, the truth first; None: all of it
    start: int = 0  # the position of the first case
    stop: int = 0  # that after the last one
    total: int | None = None  # cases in all tasks, where that is known
    columns: Sequence[str] = ()  # of the truth, kept of sampled cases
    keep: str | None = None  # where the result is written
    table: int = 0  # of a shuffle: the table whose rows these are
    buckets: int = 0  # of a shuffle
    finished: Sequence[int] = ()  # of a shuffle: buckets that are there already
    skip: bool = False  # whether what cannot be read is left out
    purpose: str = "scores"  # or "ids", or "losses"
    pairs: Sequence[Sequence[str]] = ()  # of losses
    heaviest: float = 1.0  # of losses: the weight of a case

    def to_bytes(self) -> bytes:
        """As engines send it."""
        plain = {name: getattr(self, name) for name in self.__slots__}
        return zlib.compress(json.dumps(plain, sort_keys=True).encode("ascii"), 1)

    @classmethod
    def from_bytes(cls, data: bytes) -> Task:
        """The way back."""
        return cls(**json.loads(zlib.decompress(data)))


@lru_cache(maxsize=4)
def _opened(run: str, text: str) -> tuple[Plan, Question]:
    """The open files of a job, once per process and run."""
    job = Job.from_plain(json.loads(text))
    return job.open(), job.question


def _plan_of(task: Task) -> tuple[Plan, Question]:
    return _opened(task.run, json.dumps(task.job, sort_keys=True))


# Results


@dataclass(frozen=True, slots=True)
class Failed:
    """Something that went wrong in a task, as data."""

    kind: str  # the class of the error
    values: Sequence[Any]  # what it is made of
    order: Sequence[int]  # where it is, to find the first
    unreadable: bool = False  # whether a file, or a part of it, cannot be read at all
    rows: int | None = None  # how many rows are lost with it, where that is known

    @property
    def error(self) -> TopListError:
        """The error again."""
        kind: Any = getattr(errors, self.kind, TopListError)
        if issubclass(kind, FileError):
            source, problem, row = self.values
            return FileError(source, problem, row=row)
        if issubclass(kind, CaseError):
            problem, remedy, case, name, more = self.values
            made: TopListError = kind(problem, remedy, case=case, name=name, more=more)
            return made
        plain: TopListError = kind(*self.values)
        return plain

    @property
    def file(self) -> str:
        """The file that cannot be read."""
        return str(self.values[0])

    @classmethod
    def of(cls, error: BaseException, order: Sequence[int], rows: int | None = None) -> Failed:
        """An error as data."""
        if isinstance(error, FileError):
            values: list[Any] = [error.source, error.problem, error.row]
            return cls("FileError", values, tuple(order), isinstance(error, UnreadableError), rows)
        if isinstance(error, CaseError):
            values = [error.problem, error.remedy, error.case, error.name, error.more]
            return cls(type(error).__name__, values, tuple(order))
        if isinstance(error, MemoryError):
            return cls("ResourceError", ["there is not enough memory for a task: pass a smaller task_cases."], order)
        if isinstance(error, TopListError):
            known = type(error).__name__
            return cls(known if known in ("SpaceError", "AlignmentError", "ResourceError") else "", [str(error)], order)
        what = str(error).partition("\n")[0]
        return cls("", [f"a task failed on a worker: {type(error).__name__}: {what}"], tuple(order))


Place = Sequence[int]  # the unit, its part and the row of a case in the order of its table
Edge = tuple[int, int, Any, Any, bool]  # rows lo to hi, the first and the last id in them, whether ids rise


@dataclass(frozen=True, slots=True)
class Apart:
    """How the cases of the truth and of the models differ: of each model how many it lacks, or has beyond, and some."""

    cases: int = 0  # of the truth
    head: Sequence[tuple[Place, Any]] = ()  # the first ids of the truth
    lacking: Mapping[str, tuple[int, Sequence[tuple[Place, Any]]]] = field(default_factory=dict)
    unknown: Mapping[str, tuple[int, Sequence[tuple[Place, Any]]]] = field(default_factory=dict)

    def __add__(self, other: Apart) -> Apart:
        def both(one: Any, more: Any, most: int) -> dict[str, Any]:
            nothing: tuple[int, tuple[Any, ...]] = (0, ())
            pairs = {name: (one.get(name, nothing), more.get(name, nothing)) for name in {**one, **more}}
            return {name: (x[0] + y[0], _first([*x[1], *y[1]], most)) for name, (x, y) in pairs.items()}

        return Apart(
            self.cases + other.cases,
            _first([*self.head, *other.head], HEAD),
            both(self.lacking, other.lacking, 3),
            both(self.unknown, other.unknown, FEW),
        )

    @property
    def plain(self) -> dict[str, Any]:
        """As plain values."""
        return {name: getattr(self, name) for name in self.__slots__}


def _first(ids: Iterable[Any], most: int) -> list[Any]:
    return sorted(ids, key=lambda pair: tuple(pair[0]))[:most]


@dataclass(frozen=True, slots=True)
class TaskResult:
    """What tasks found: a partial result, where it is not known yet whether ids are unique, and what went wrong."""

    partial: PartialResult | None = None
    edges: Sequence[Edge] = ()
    failed: Sequence[Failed] = ()
    more_failed: int = 0
    out_of_step: bool = False
    kept: Mapping[str, tuple[int, int]] = field(default_factory=dict)  # rows that conditions keep, by table
    apart: Apart | None = None
    losses: Mapping[tuple[str, str], PairLoss] = field(default_factory=dict)

    def to_bytes(self) -> bytes:
        """As engines send it, and as it is kept."""
        header: dict[str, Any] = {
            "edges": [list(edge) for edge in self.edges],
            "failed": [{name: getattr(one, name) for name in Failed.__slots__} for one in self.failed],
            "more_failed": self.more_failed,
            "out_of_step": self.out_of_step,
            "kept": {name: list(counts) for name, counts in self.kept.items()},
            "apart": None if self.apart is None else self.apart.plain,
        }
        blocks = {} if self.partial is None else {"partial": self.partial.to_bytes()}
        described = []
        for at, ((a, b), loss) in enumerate(self.losses.items()):
            slopes = [slope for slope, gain in loss.gains.items() if gain is not None]
            most = None if loss.most == -np.inf else float(loss.most).hex()
            described.append([a, b, most, loss.entries, list(loss.gains), slopes])
            blocks[f"gains {at}"] = pack_integers([loss.gains[slope] or 0 for slope in slopes])
        return pack(KIND, header | {"losses": described}, blocks)

    @classmethod
    def from_bytes(cls, data: bytes, source: str = "a result of a worker") -> TaskResult:
        """The way back, from bytes that were checked."""
        header, blocks = unpack(data, KIND, source)
        partial = PartialResult.from_bytes(blocks["partial"], source) if "partial" in blocks else None
        losses = {}
        for at, (a, b, most, entries, every, slopes) in enumerate(header["losses"]):
            sums = unpack_integers(blocks[f"gains {at}"], len(slopes), source).tolist()
            gains = dict.fromkeys(every) | dict(zip(slopes, sums, strict=True))
            losses[a, b] = PairLoss(-np.inf if most is None else float.fromhex(most), gains, entries)
        return cls(
            partial,
            [tuple(edge) for edge in header["edges"]],
            [Failed(**one) for one in header["failed"]],
            header["more_failed"],
            header["out_of_step"],
            {name: tuple(counts) for name, counts in header["kept"].items()},
            None if header["apart"] is None else Apart(**header["apart"]),
            losses,
        )


def merge_bytes(results: Sequence[bytes]) -> bytes:
    """One result of several; the order of the arguments does not show."""
    return merged([TaskResult.from_bytes(one) for one in results]).to_bytes()


def merged(results: Sequence[TaskResult]) -> TaskResult:
    """See `merge_bytes`."""
    failed = sorted((one for result in results for one in result.failed), key=lambda one: tuple(one.order))
    partials = [one.partial for one in results if one.partial is not None]
    partial, edges = None, _joined([edge for one in results for edge in one.edges])
    try:
        partial = merge(partials) if partials else None
    except TopListError as error:  # too many groups, or a case that is in two parts
        failed.append(Failed.of(error, (MERGED,)))
    kept: dict[str, tuple[int, int]] = {}
    losses: dict[tuple[str, str], PairLoss] = {}
    apart: Apart | None = None
    for one in results:
        for name, counts in one.kept.items():
            before = kept.get(name, (0, 0))
            kept[name] = before[0] + counts[0], before[1] + counts[1]
        for pair, loss in one.losses.items():
            losses[pair] = losses.get(pair, PairLoss()) + loss
        if one.apart is not None:
            apart = one.apart if apart is None else apart + one.apart
    more = sum(one.more_failed for one in results) + max(len(failed) - _MOST, 0)
    out_of_step = any(one.out_of_step for one in results)
    return TaskResult(partial, edges, failed[:_MOST], more, out_of_step, kept, apart, losses)


def _joined(edges: Sequence[Edge]) -> list[Edge]:
    """Ranges of rows in their order, as one where they follow each other and their ids go on rising."""
    out: list[Edge] = []
    for edge in sorted(edges, key=lambda one: (one[0], one[1])):
        last = out[-1] if out else None
        if last is not None and last[1] == edge[0] and last[4] and edge[4] and _is_below(last[3], edge[2]):
            out[-1] = (last[0], edge[1], last[2], edge[3], True)
        else:
            out.append(edge)
    return out


def _is_below(one: Any, other: Any) -> bool:
    return type(one) is type(other) and one < other


# In step


def run_task(data: bytes) -> bytes:
    """Score rows of tables that hold the same cases in the same order."""
    task = Task.from_bytes(data)
    order = (task.number, 0)
    try:
        plan, question = _plan_of(task)
        part = _part(plan, task)
        if task.purpose == "losses":
            return TaskResult(losses=_losses(part, question, task)).to_bytes()
        found = _in_step(part, question, task)
        made = found.to_bytes()
        if task.keep is not None and not found.failed and not found.out_of_step:
            write_bytes(task.keep, made)
    except UnreadableError as error:
        return TaskResult(failed=[Failed.of(error, order, _rows_lost(task))]).to_bytes()
    except Exception as error:
        return TaskResult(failed=[Failed.of(error, order)]).to_bytes()
    return made


def _part(plan: Plan, task: Task) -> Plan:
    """The plan with the rows of a task alone."""
    tables = [
        table if spans is None else sliced(table, [Span(*span) for span in spans])
        for table, spans in zip((plan.truth, *plan.sources), task.spans, strict=True)
    ]
    return replace(plan, truth=tables[0], sources=tuple(tables[1:]))


def _rows_lost(task: Task) -> int | None:
    """How many rows of the truth a range has."""
    spans = task.spans[0] or ()
    return sum(hi - lo for _, lo, hi in spans) if spans and all(hi is not None for _, _, hi in spans) else None


def _in_step(part: Plan, question: Question, task: Task) -> TaskResult:
    """The scores of a range; that it is out of step, where a table has other cases there."""
    whole = any(spans is None for spans in task.spans)
    try:
        found = _scored(part, question, task)
    except AlignmentError:
        if whole:
            raise
        return TaskResult(out_of_step=True)
    if not whole and any(count != found.read.cases for count in found.read.matched):
        return TaskResult(out_of_step=True)
    if whole or part.truth.layout.case is None:
        return TaskResult(found, kept=_kept(part))
    return TaskResult(found, [(task.start, task.stop, *_edges(part.truth))])


def _scored(part: Plan, question: Question, task: Task) -> PartialResult:
    """The state of the cases of a task, with a sample that is large enough for all."""
    return score_part(
        part,
        question,
        total=task.total,
        start=task.start,
        sample=int(ROOM * SAMPLED),
        columns=task.columns,
        losses=False,
    )


def _edges(truth: OpenTable) -> tuple[Any, Any, bool]:
    """The first and the last id of a range, and whether ids rise in it."""
    first, unique = None, UniqueIds(truth)
    for ids, _ in truth.ids():
        if first is None and len(ids):
            first = ids[0].as_py()
        unique.see(ids)
        if not unique.rising:
            return first, None, False
    return first, None if unique.last is None else unique.last.as_py(), True


def _kept(plan: Plan) -> dict[str, tuple[int, int]]:
    """How many rows the conditions of each table keep, and of how many."""
    return {
        table.name: (table.reader.kept, table.reader.total)
        for table in (plan.truth, *plan.sources)
        if isinstance(table.reader, View) and table.reader.kept is not None and table.reader.total is not None
    }


def _losses(part: Plan, question: Question, task: Task) -> dict[tuple[str, str], PairLoss]:
    try:
        return losses_of(part, question, [(a, b) for a, b in task.pairs], task.heaviest)
    except AlignmentError:  # none of these cases is one that all models have
        return {}


# Shuffle


def split_task(data: bytes) -> Iterator[tuple[int, bytes]]:
    """The rows of one unit of one table, by bucket; the first task tells every bucket what is asked."""
    task = Task.from_bytes(data)
    wanted = [bucket for bucket in range(task.buckets) if bucket not in set(task.finished)]
    if task.number == 0:
        yield from ((bucket, _CONTEXT + data) for bucket in wanted)
    order = (task.table, task.number, 0)
    try:
        plan, _ = _plan_of(task)
        table = _part(plan, task).truth if task.table == 0 else _part(plan, task).sources[task.table - 1]
        columns = [str(table.layout.case)] if task.purpose == "ids" else table.layout.columns
        if task.table == 0 and task.purpose == "scores":
            columns = list(dict.fromkeys((*columns, *task.columns)))
        blocks = list(split(table, task.table, task.number, task.buckets, columns))
    except Exception as error:
        failed = Failed.of(error, order, _unit_rows(task))
        made = _FAILURE + TaskResult(failed=[failed]).to_bytes()
        yield from ((bucket, made) for bucket in wanted)
        return
    reader = table.reader
    if isinstance(reader, View) and reader.kept is not None and wanted:
        counts = {table.name: (reader.kept, int(reader.total or 0))}
        yield wanted[0], _COUNTS + TaskResult(kept=counts).to_bytes()
    inside = set(wanted)
    yield from ((bucket, _ROWS + block) for bucket, block in blocks if bucket in inside)


def _unit_rows(task: Task) -> int | None:
    spans = task.spans[task.table]
    known = spans is not None and all(hi is not None for _, _, hi in spans)
    return sum(hi - lo for _, lo, hi in spans or ()) if known else None


def finish_bucket(bucket: int, blocks: Iterable[bytes]) -> bytes:
    """All rows of a bucket, aligned and scored."""
    task: Task | None = None
    rows: list[Block] = []
    others: list[TaskResult] = []
    for block in blocks:
        kind, content = block[:1], block[1:]
        if kind == _CONTEXT:
            task = Task.from_bytes(content)
        elif kind == _ROWS:
            rows.append(read_block(content))
        else:
            others.append(TaskResult.from_bytes(content))
    told = merged(others)
    if task is None or (told.failed and not (task.skip and all(one.unreadable for one in told.failed))):
        return _only_once(told, bucket, task).to_bytes()
    try:
        found = _finished(task, bucket, rows)
        made = merged([found, _only_once(told, bucket, task)])
        if task.keep is not None and not made.failed and not told.failed:
            write_bytes(f"{task.keep}-{bucket}.tlp", made.to_bytes())
    except Exception as error:
        failed = Failed.of(error, _order_of(error, bucket, rows))
        made = merged([TaskResult(failed=[failed]), _only_once(told, bucket, task)])
    return made.to_bytes()


def _only_once(told: TaskResult, bucket: int, task: Task | None) -> TaskResult:
    """What went wrong before, which all buckets were told: the first one that is computed passes it on."""
    first = 0 if task is None else next(b for b in range(task.buckets) if b not in set(task.finished))
    return told if bucket == first or task is None else replace(told, failed=(), more_failed=0)


def _order_of(error: Exception, bucket: int, rows: Sequence[Block]) -> tuple[int, ...]:
    """Where an error about the rows of a bucket is: the first of the first table that has any is told."""
    if isinstance(error, FileError):
        units = [(key.table, key.unit, key.part) for block in rows if (key := block.key).file == error.source]
        if units:
            return (_BUCKETS, *min(units), error.row or 0)
    return (_BUCKETS, MERGED, bucket)


def _finished(task: Task, bucket: int, rows: Sequence[Block]) -> TaskResult:
    plan, question = _plan_of(task)
    truth, *sources = tables_of_blocks((plan.truth, *plan.sources), rows)
    if task.purpose == "ids":
        unique = UniqueIds(truth)
        for ids, _ in truth.ids():
            unique.see(ids)
        unique.require()
        return TaskResult()
    part = replace(plan, truth=truth, sources=tuple(sources))
    if task.purpose == "losses":
        return TaskResult(losses=_losses(part, question, task))
    try:
        found = _scored(part, question, task)
    except AlignmentError as error:
        failed = Failed.of(error, _order_of(error, bucket, rows))
        return TaskResult(failed=[failed], apart=_apart(part, rows))
    except (
        FileError
    ):  # found in step: of the models one by one, as files in different orders are read, it may be another
        require_sound(part, question.scoring)
        raise
    read = found.read
    alone = read.cases > 0 and not all(read.matched)
    return TaskResult(found, apart=_apart(part, rows) if alone else Apart(read.cases))


def _apart(part: Plan, rows: Sequence[Block]) -> Apart:
    """How the cases of a bucket differ."""
    pa, pc = need("pyarrow"), need("pyarrow.compute")
    units: dict[tuple[int, str], list[tuple[int, int]]] = {}
    for block in rows:
        units.setdefault((block.key.table, block.key.file), []).append((block.key.unit, block.key.part))

    def ids_of(number: int, table: OpenTable) -> tuple[Any, list[Place]]:
        texts, places = [], []
        for piece in table.pieces([str(table.layout.case)]):
            column = piece.table.column(0)
            unit = min(units[number, piece.source])
            texts.append(pc.cast(column, pa.string()))
            places += [(*unit, row) for row in piece.row_numbers.tolist()]
        ids = pa.chunked_array(texts, pa.string()).combine_chunks()
        once = _first_places(ids)
        return ids.take(as_arrow(once)), [places[at] for at in once.tolist()]

    truth, where = ids_of(0, part.truth)
    whole = pa.types.is_integer(part.truth.reader.schema.field(part.truth.layout.case).type)

    def some(ids: Any, places: Sequence[Place], at: Any, most: int) -> tuple[int, list[Any]]:
        chosen = sorted(at.tolist(), key=lambda one: tuple(places[one]))[:most]
        return len(at), [(places[one], _plain_id(ids[one].as_py(), whole)) for one in chosen]

    lacking, unknown = {}, {}
    for number, source in enumerate(part.sources, 1):
        own, there = ids_of(number, source)
        lacking[source.name] = some(truth, where, _absent(truth, own), 3)
        unknown[source.name] = some(own, there, _absent(own, truth), FEW)
    return Apart(len(truth), some(truth, where, np.arange(len(truth)), HEAD)[1], lacking, unknown)


def _plain_id(text: str, whole: bool) -> Any:
    return int(text) if whole and text.lstrip("-").isdigit() else text


def _first_places(ids: Any) -> Any:
    """Where each different id stands first."""
    codes = as_numpy(ids.dictionary_encode().indices)
    return np.sort(np.unique(codes, return_index=True)[1])


def _absent(ids: Any, others: Any) -> Any:
    """Where the ids stand that others have not."""
    found = need("pyarrow.compute").is_in(ids, value_set=others)
    return np.flatnonzero(~np.asarray(found.to_numpy(zero_copy_only=False), bool))
