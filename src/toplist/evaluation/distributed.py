"""A comparison on an engine: the work is split, done by workers, merged, and finished here.

Tables that hold the same cases in the same order are read in step: a task is a range of rows of all of them. Others are
shuffled: rows are brought together by a hash of their case ids, and a task is a bucket of ids. Where neither can be
done, as with text files that have no ids, one task does all of it.
"""

from __future__ import annotations

import logging
import math
import os
import re
import uuid
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np

from toplist._files import need, require_apart, shown
from toplist._text import argument, listed
from toplist._typing import Progress
from toplist.engines.base import Engine
from toplist.engines.choice import as_engine
from toplist.errors import AlignmentError, FileError, TopListError
from toplist.evaluation.case_details import CaseReader, from_files
from toplist.evaluation.compare import Question, spelled_in_files
from toplist.evaluation.jobs import Job, open_plan, without
from toplist.evaluation.leaderboard import Leaderboard
from toplist.evaluation.partials import finish, settings_of
from toplist.evaluation.samples import PairLoss, columns_of
from toplist.evaluation.stream import aligned, scores_of_files
from toplist.evaluation.task_folder import MANIFEST, TaskFolder
from toplist.evaluation.tasks import (
    MERGED,
    Apart,
    Failed,
    Task,
    TaskResult,
    finish_bucket,
    merge_bytes,
    merged,
    run_task,
    split_task,
)
from toplist.inference.results import SkippedPart, SourceSummary
from toplist.inference.settings import InferenceSettings
from toplist.io.align import Join
from toplist.io.opening import open_path
from toplist.io.options import ReadRequest
from toplist.io.plan import Plan
from toplist.io.remote import stamp
from toplist.io.slices import Span, file_rows, inner, sliced, spans_between, spans_of_units
from toplist.io.sources import OpenTable
from toplist.io.views import View

log = logging.getLogger("toplist")

_TASKS = 64  # that work is split into where cases are few
_LEAST, _LARGEST = 1 << 16, 1 << 21  # cases of a task
_MOST_TASKS = 20_000
_ENOUGH, _PARTS = 8, 4  # tasks that row groups are cut for where they are few, and of one row group at most
_MOST_BUCKETS = 4096
_ROW_BYTES = 100  # of a text file, about
_LOOKED = 1000  # ids that tell whether tables are in step
_UNKNOWN = 1 << 40  # more rows than a file has whose rows are not counted
_FAILED = 100  # files that may be left out when the files are opened
RowGroups = dict[int, list[int]]  # by file, the rows of its row groups
Ranges = list[tuple[int, int, list[list[Span]]]]  # of each task: the first row, that after the last, spans by table


def compare_on(engine: Any, request: ReadRequest, space: Any, question: Question, progress: Progress) -> Leaderboard:
    """Rank the models of a request by what workers of an engine find.

    Parameters
    ----------
    engine : Engine, str, distributed.Client or pyspark.sql.SparkSession
        Where tasks are run; see `toplist.engines.as_engine`.
    request : ReadRequest
        Models and truth, all of them files.
    space : ClassSpace or anything that it is made of, optional
        The classes.
    question : Question
        What is asked of the models.
    progress : callable
        Called with what is done, how many tasks of it are done, and of how many.

    Returns
    -------
    Leaderboard
        The same as without an engine, to the last bit.

    Raises
    ------
    TopListError
        If something cannot be sent to workers, read, aligned or scored.
    """
    chosen = as_engine(engine)
    if chosen.partials is not None:
        require_apart([os.path.join(chosen.partials, MANIFEST)], request.paths)
    job = Job.of(request, space, question)
    plan, job = _opened(request, space, job)
    settings = settings_of(plan, question)
    with chosen.running():
        run = _Run(
            chosen, job, plan, _columns(plan, settings), progress, _folder(chosen, job, plan), _Names.of(request)
        )
        return run.leaderboard()


def _opened(request: ReadRequest, space: Any, job: Job) -> tuple[Plan, Job]:
    """The plan, and the job without files that cannot even be opened, which are files of a dataset."""
    for _ in range(_FAILED):
        try:
            return open_plan(request, space, job.question.missing, job.without), job
        except FileError as error:
            file = _place(error.source)
            if file in job.without or not _is_damaged(file, request):
                raise
            job = without(job, [file])
    raise TopListError(f"more than {_FAILED} files cannot be read: {listed(job.without, 3, str)}.")


def _place(path: str | os.PathLike[str]) -> str:
    text = os.fspath(path)
    return text if "://" in text else os.path.abspath(text)


def _is_damaged(file: str, request: ReadRequest) -> bool:
    """Whether a file is one of several of an input, and cannot be opened alone either."""
    if file in {_place(shown(path)) for path in request.paths}:
        return False
    return isinstance(_opening_error(file), FileError)


def _folder(engine: Engine, job: Job, plan: Plan) -> TaskFolder | None:
    if engine.partials is None:
        return None
    files = dict.fromkeys(path for table in _tables(plan) for path in inner(table.reader).paths)
    return TaskFolder.open(engine.partials, job, {str(path.absolute()): stamp(path) for path in files})


def _columns(plan: Plan, settings: InferenceSettings) -> tuple[str, ...]:
    """The columns of the truth that are kept of sampled cases."""
    try:
        return columns_of(plan, settings)
    except FileError:
        return ()  # the task that reads it says what is wrong


def _tables(plan: Plan) -> tuple[OpenTable, ...]:
    return (plan.truth, *plan.sources)


@dataclass(frozen=True, slots=True)
class _Names:
    """What files are called: workers know them by absolute paths, and messages as they were given."""

    given: Mapping[str, str]

    @classmethod
    def of(cls, request: ReadRequest) -> _Names:
        pairs = [(_place(path), path) for path in request.paths]
        return cls({there: here for there, here in pairs if there != here})

    def text(self, text: str) -> str:
        """A message with the names that were given."""
        for there, here in sorted(self.given.items(), key=lambda pair: -len(pair[0])):
            below = here.rstrip("/") + "/"
            text = text.replace(f"{there}/", below)
            text = re.sub(rf"{re.escape(there)}(?![\w.-])", lambda _, here=here: here, text)  # type: ignore[misc]
        return text

    def failed(self, one: Failed) -> Failed:
        """The same failure."""
        return replace(one, values=[self.text(value) if isinstance(value, str) else value for value in one.values])


@dataclass(slots=True)
class _Run:
    """One comparison on an engine."""

    engine: Engine
    job: Job
    plan: Plan
    columns: Sequence[str]  # of the truth, kept of sampled cases
    progress: Progress
    folder: TaskFolder | None
    names: _Names
    run: str = field(default_factory=lambda: uuid.uuid4().hex)  # workers that live on open the files again
    losses: Callable[[Sequence[tuple[str, str]], float], TaskResult] | None = None  # another pass over the same cases

    def leaderboard(self) -> Leaderboard:
        """Split, score, merge and finish."""
        found = None
        ranges = self._ranges() if self.folder is None or self.folder.way != "shuffle" else None
        if ranges is not None:
            found = self._in_step(ranges)
        if found is None and self._by_ids:
            found = self._shuffled()
        if found is None:
            found = self._alone()
        return self._finished(found)

    # In step

    @property
    def _by_ids(self) -> bool:
        return all(table.layout.case is not None for table in _tables(self.plan))

    def _ranges(self) -> Ranges | None:
        """The rows of each task, where all tables have one row per case and may be in one order."""
        tables = _tables(self.plan)
        if any(table.layout.kind == "long" or _is_filtered(table) for table in tables):
            return None
        files = [file_rows(table.reader) for table in tables]
        if not all(files):
            return None
        known = all(rows is not None for each in files for rows in each)
        alike = len({len(each) for each in files}) == 1 and all(
            len({rows for rows in pair if rows is not None}) <= 1 for pair in zip(*files, strict=True)
        )
        if not known and not (alike and self._by_ids):
            return None
        counts = [[rows or 0 for rows in each] for each in files]
        if not alike and len({sum(each) for each in counts}) > 1:
            return None
        size = self._size(sum(counts[0]))
        units = self._row_groups()
        ranges = _by_files(files, size, units) if alike else _by_rows(counts, size, units)
        if not ranges or (self._by_ids and not self._looks_in_step(ranges)):
            return None
        return ranges

    def _row_groups(self) -> RowGroups:
        """The row groups, by file, of the model that has the largest ones; nothing where tasks have a given size.

        What is cut within a row group is read from its beginning, by each of the tasks: few of them are cut.
        """
        found: RowGroups = {}
        largest = 0.0
        for table in self.plan.sources if self.engine.task_cases is None else ():
            reader = inner(table.reader)
            units = reader.units() if reader.from_start else ()
            mean = sum(unit.rows or 0 for unit in units) / max(len(units), 1)
            if mean > largest:
                largest, found = mean, {}
                for unit in units:
                    found.setdefault(unit.file, []).append(unit.rows or 0)
        return found

    def _size(self, cases: int) -> int:
        """How many cases a task has, about; that does not depend on the number of workers, so that a run can go on."""
        usual = max(min(max(cases // _TASKS, _LEAST), _LARGEST), cases // _MOST_TASKS)
        return usual if self.engine.task_cases is None else self.engine.task_cases

    def _looks_in_step(self, ranges: Ranges) -> bool:
        """Whether all tables have the same ids where the first range and the last one begin."""
        try:
            for _, _, spans in (ranges[0], ranges[-1]):
                ids = [_first_ids(sliced(table, own)) for table, own in zip(_tables(self.plan), spans, strict=True)]
                if any(one != ids[0] for one in ids[1:]):
                    return False
        except FileError:
            pass  # the task that reads it says so
        return True

    def _in_step(self, ranges: Ranges) -> TaskResult | None:
        """The cases of all ranges; None where tables turn out to have other cases, or another order."""
        known = sum(rows or 0 for rows in file_rows(self.plan.truth.reader))
        total = _power_of_two(known) if known else None
        tasks = []
        for number, (lo, hi, spans) in enumerate(ranges):
            plain = [[[span.file, span.lo, span.hi] for span in each] for each in spans]
            tasks.append(Task(self.job.plain, self.run, number, plain, lo, hi, total, list(self.columns)))
        found = self._reduced(tasks)
        if found.out_of_step:
            if self._by_ids:
                log.info(
                    "The files do not have the same cases in the same order: rows are brought together by case id."
                )
            return None
        alone = [one for one in found.failed if one.order[0] != MERGED]
        if self._by_ids and not _all_rise(found.edges) and all(one.unreadable for one in alone):
            self._require_unique(ranges)
        lost = {one.order[0] for one in found.failed}
        able = [task for task in tasks if task.number not in lost]
        self.losses = partial(self._losses_in_step, able)
        return found

    def _reduced(self, tasks: Sequence[Task]) -> TaskResult:
        """The results of all tasks: those that are finished already are read, the others are run."""
        done: list[TaskResult] = []
        left = []
        for task in tasks:
            name = self._name_of(task)
            known = None if self.folder is None or name is None else self.folder.load(name)
            if known is not None:
                done.append(replace(known, edges=[(task.start, task.stop, *edge[2:]) for edge in known.edges]))
            else:
                left.append(task if self.folder is None or name is None else replace(task, keep=self.folder.file(name)))
        if self.folder is not None:
            names = [name for name in map(self._name_of, tasks) if name is not None]
            self.folder.write(self.job, "in step", names)
            self.folder.tell(len(done), len(tasks))
        if left:
            data = self.engine.reduce(run_task, merge_bytes, [task.to_bytes() for task in left], self._done("scoring"))
            done.append(TaskResult.from_bytes(data))
        return merged(done)

    def _name_of(self, task: Task) -> str | None:
        if self.folder is None:
            return None
        files = []
        for table, spans in zip(_tables(self.plan), task.spans, strict=True):
            paths = inner(table.reader).paths
            places = range(len(paths)) if spans is None else sorted({span[0] for span in spans})
            files += [str(paths[place].absolute()) for place in places if place < len(paths)]
        start = None if self._by_ids else task.start
        name = self.folder.name("range", task.spans, start, task.total, list(task.columns), files=files)
        return f"range-{name}.tlp"

    def _done(self, what: str) -> Callable[[int, int], None]:
        return lambda done, total: self.progress(f"{what} on {self.engine.name}", done, total)

    def _require_unique(self, ranges: Ranges) -> None:
        """No case may be there twice: where ids do not rise from one range to the next, they are shuffled."""
        buckets = max(1, min(len(ranges), _MOST_BUCKETS))
        tables = _tables(self.plan)
        tasks = [
            Task(
                self.job.plain,
                self.run,
                number,
                [[[span.file, span.lo, span.hi] for span in spans[0]], *[None] * (len(tables) - 1)],
                buckets=buckets,
                purpose="ids",
                skip=self.engine.on_error == "skip",
            ).to_bytes()
            for number, (_, _, spans) in enumerate(ranges)
        ]
        done = self._done("comparing ids")
        data = self.engine.shuffle(split_task, finish_bucket, merge_bytes, tasks, buckets, done)
        failed = [one for one in TaskResult.from_bytes(data).failed if not one.unreadable]
        if failed:
            raise self.names.failed(min(failed, key=_row_of)).error

    def _losses_in_step(self, tasks: Sequence[Task], pairs: Sequence[tuple[str, str]], heaviest: float) -> TaskResult:
        asked = [
            replace(
                task, purpose="losses", pairs=[list(pair) for pair in pairs], heaviest=heaviest, keep=None
            ).to_bytes()
            for task in tasks
        ]
        done = self._done("comparing the largest losses")
        return TaskResult.from_bytes(self.engine.reduce(run_task, merge_bytes, asked, done))

    # Shuffle

    def _shuffled(self) -> TaskResult:
        """The cases of all buckets of case ids."""
        tables, plan = _tables(self.plan), self.plan
        sizes = [self._estimate(table) for table in tables]
        size = self._size(max(sizes))
        buckets = max(1, min(math.ceil(max(sizes) / size), _MOST_BUCKETS))
        rows = plan.truth.reader.rows if plan.truth.layout.kind != "long" and not _is_filtered(plan.truth) else None
        skip = self.engine.on_error == "skip"
        first = Task(
            self.job.plain,
            self.run,
            0,
            [None] * len(tables),
            total=None if rows is None else _power_of_two(rows),
            columns=list(self.columns),
            buckets=buckets,
            skip=skip,
        )
        finished: list[TaskResult] = []
        if self.folder is not None:
            first, finished = self._with_finished(first)
        done = self._done("scoring")
        if len(finished) < buckets:
            tasks = [task.to_bytes() for task in self._units(first, size)]
            data = self.engine.shuffle(split_task, finish_bucket, merge_bytes, tasks, buckets, done)
            finished.append(TaskResult.from_bytes(data))
        found = merged(finished)
        self.losses = partial(self._losses_shuffled, replace(first, finished=(), keep=None), size)
        return found

    def _units(self, first: Task, size: int) -> list[Task]:
        """A task for the rows of each table that are read at a time."""
        tasks: list[Task] = []
        for at, table in enumerate(_tables(self.plan)):
            spans: Sequence[Span | None] = spans_of_units(table.reader, size) if file_rows(table.reader) else [None]
            for span in spans:
                own: list[Any] = [None] * len(_tables(self.plan))
                own[at] = None if span is None else [[span.file, span.lo, span.hi]]
                tasks.append(replace(first, number=len(tasks), table=at, spans=own))
        return tasks

    def _estimate(self, table: OpenTable) -> int:
        """How many rows a table has, about."""
        if table.reader.rows is not None:
            return max(1, table.reader.rows)
        paths = inner(table.reader).paths
        return max(1, sum(os.stat(path).st_size for path in paths if os.path.exists(path)) // _ROW_BYTES)

    def _with_finished(self, first: Task) -> tuple[Task, list[TaskResult]]:
        """The task that knows which buckets are finished, and their results: of the same files alone."""
        if self.folder is None:
            return first, []
        files = list(self.folder.stamps)
        name = "bucket-" + self.folder.name("bucket", first.buckets, first.total, list(first.columns), files=files)
        names = [f"{name}-{bucket}.tlp" for bucket in range(first.buckets)]
        known = {bucket: found for bucket, one in enumerate(names) if (found := self.folder.load(one)) is not None}
        self.folder.write(self.job, "shuffle", names)
        self.folder.tell(len(known), first.buckets, "buckets of case ids")
        return replace(first, keep=self.folder.file(name), finished=list(known)), list(known.values())

    def _losses_shuffled(self, first: Task, size: int, pairs: Sequence[tuple[str, str]], heaviest: float) -> TaskResult:
        asked = replace(first, purpose="losses", pairs=[list(pair) for pair in pairs], heaviest=heaviest)
        tasks = [task.to_bytes() for task in self._units(asked, size)]
        done = self._done("comparing the largest losses")
        data = self.engine.shuffle(split_task, finish_bucket, merge_bytes, tasks, first.buckets, done)
        return TaskResult.from_bytes(data)

    # As one task

    def _alone(self) -> TaskResult:
        """All cases in one task, where there are no case ids and files differ in how they are cut."""
        if self.job.without:
            errors = [_opening_error(file) or FileError(file, "this could not be read.") for file in self.job.without]
            raise self._unreadable([self.names.failed(Failed.of(error, (0,))) for error in errors])
        log.info("The files have no case ids, and their rows are not counted: one task reads all of them.")
        task = Task(self.job.plain, self.run, 0, [None] * len(_tables(self.plan)), columns=list(self.columns))
        found = self._reduced([task])
        self.losses = partial(self._losses_in_step, [task])
        return found

    # The end

    def _finished(self, found: TaskResult) -> Leaderboard:
        found = replace(found, failed=[self.names.failed(one) for one in found.failed])
        for table in _tables(self.plan):
            if isinstance(table.reader, View) and table.name in found.kept:
                table.reader.kept, table.reader.total = found.kept[table.name]
                if table.reader.total and not table.reader.kept:
                    deque(table.reader.pieces([str(table.layout.case)]), maxlen=0)  # raises what conditions lack
        skipped = self._skipped(found)
        if found.partial is None or not found.partial.read.cases:
            raise FileError(self.plan.truth.path, "there are no cases.")
        result = found.partial
        lone = next(
            (n for n, count in zip(result.question.models, result.read.matched, strict=True) if not count), None
        )
        if lone is not None and result.read.cases and found.apart is not None:
            raise _MergedJoin(self.plan, found.apart).nothing_in_common(lone)
        read = replace(
            result.read,
            origins=tuple(map(_as_read, self.plan.sources, result.read.origins)),
            truth=self.plan.truth.reading,
        )
        result = replace(result, read=read, skipped=(*result.skipped, *skipped))
        settings, scoring = result.question.settings, self.job.question.scoring
        plan = replace(self.plan, time=settings.time, ordered=settings.ordered)
        cases = CaseReader(partial(from_files, plan, scoring), partial(scores_of_files, plan, scoring))
        try:
            return finish(
                result,
                cases=None if skipped else cases,
                losses=self._lost,
                spelled=None if skipped else partial(spelled_in_files, plan),
                inputs=[_place(path) for path in self.job.request.paths],
            )
        except FileError as error:
            raise self.names.failed(Failed.of(error, ())).error from None

    def _lost(self, pairs: Sequence[tuple[str, str]], heaviest: float) -> Mapping[tuple[str, str], PairLoss]:
        """The largest losses, by another pass over the cases."""
        if self.losses is None or self.plan.missing in ("uniform", "worst", "baseline"):
            return {}
        found = self.losses(pairs, heaviest)
        failed = [one for one in found.failed if not (one.unreadable and self.engine.on_error == "skip")]
        if failed:
            raise self.names.failed(failed[0]).error
        return found.losses

    def _skipped(self, found: TaskResult) -> list[SkippedPart]:
        """What was left out, because that was asked for; an error for everything else that went wrong."""
        lost = [one for one in found.failed if one.unreadable]
        others = [one for one in found.failed if not one.unreadable]
        shuffled = bool(lost) and len(lost[0].order) > 2
        if lost and self.engine.on_error != "skip":
            raise self._unreadable(lost, found.more_failed)
        if lost and shuffled and self.plan.missing != "common":
            files = listed([*dict.fromkeys(one.file for one in lost)], 3, str)
            raise AlignmentError(
                f"{files} cannot be read, and which cases are lost is not known, since rows are matched by case id: "
                f"{argument('on_error', 'skip')} goes with {argument('missing', 'common')}, which leaves these cases "
                "out for all models."
            )
        if others:
            raise self._first_error(others, found.apart)
        return [SkippedPart(one.file, one.rows, one.error.problem) for one in lost if isinstance(one.error, FileError)]

    def _unreadable(self, lost: Sequence[Failed], more: int = 0) -> TopListError:
        """What to say of files that cannot be read."""
        reasons: dict[str, str] = {}
        for one in lost:
            reasons.setdefault(one.file, str(one.error))
        kept = "" if self.folder is None else f" What was finished is kept in {self.folder.path}."
        remedy = f"{kept} To leave out what cannot be read, pass {argument('on_error', 'skip')}."
        first = lost[0].error
        if len(reasons) == 1 and isinstance(first, FileError):
            return FileError(first.source, f"{first.problem}{remedy}", row=first.row)
        count = f"{len(reasons):,}" if not more else f"more than {len(reasons):,}"
        return TopListError(f"{count} files cannot be read: {' '.join(reasons.values())}{remedy}")

    def _first_error(self, failed: Sequence[Failed], apart: Apart | None) -> TopListError:
        """The error that a run without an engine would raise: of those about all cases, one that counts all of them."""
        about_values = [one for one in failed if one.kind != "AlignmentError"]
        if about_values:
            return about_values[0].error
        if apart is None:
            return failed[0].error
        if not apart.cases:
            return FileError(self.plan.truth.path, "there are no cases.")
        if self.plan.missing == "baseline":
            count = apart.lacking[str(self.job.question.baseline)][0]
            return AlignmentError(re.sub(r"lacks [\d,]+ cases", f"lacks {count:,} cases", str(failed[0].error)))
        join = _MergedJoin(self.plan, apart)
        try:
            aligned(self.plan).require_same_cases(join, join.lacking)
        except AlignmentError as error:
            return error
        return failed[0].error


class _MergedJoin(Join):
    """What is known of the cases of all buckets, for messages."""

    def __init__(self, plan: Plan, apart: Apart) -> None:
        self.called, self.cases = "the truth", apart.cases
        names = [source.name for source in plan.sources]
        unknown, lacking = ([each.get(name, (0, ())) for name in names] for each in (apart.unknown, apart.lacking))
        ids = [[one for _, one in some] for _, some in unknown]
        self.unknown = {name: (count, own) for name, (count, _), own in zip(names, unknown, ids, strict=True)}
        self._some = [[one for _, one in apart.head], *([one for _, one in some] for _, some in lacking)]
        self.lacking: Any = {
            name: range(at * _UNKNOWN, at * _UNKNOWN + count)
            for at, (name, (count, _)) in enumerate(zip(names, lacking, strict=True), 1)
        }

    def ids(self, places: Any) -> list[Any]:
        """The ids of the first cases of the truth, or of those that a model lacks."""
        wanted = list(places)
        return self._some[wanted[0] // _UNKNOWN][: len(wanted)] if wanted else []


def _opening_error(file: str) -> FileError | None:
    """Why a file cannot be opened, or its first rows be read."""
    try:
        reader = open_path(file)
        next(iter(reader.pieces(reader.schema.names)), None)
    except FileError as error:
        return error
    return None


def _is_filtered(table: OpenTable) -> bool:
    return isinstance(table.reader, View) and bool(table.reader.where)


def _first_ids(table: OpenTable) -> list[str]:
    """The first ids of a table, as text."""
    pa, pc = need("pyarrow"), need("pyarrow.compute")
    found: list[str] = []
    for ids, _ in table.ids():
        found += pc.cast(ids.slice(0, _LOOKED - len(found)), pa.string()).to_pylist()
        if len(found) >= _LOOKED:
            break
    return found


def _by_files(files: Sequence[Sequence[int | None]], size: int, units: RowGroups) -> Ranges:
    """Ranges of files that have the same rows in all tables: parts of one file, or several small ones together."""
    ranges: Ranges = []
    start, parts = 0, _parts_each(units)
    for file, counts in enumerate(zip(*files, strict=True)):
        if any(rows is None for rows in counts):
            ranges.append((start, start + _UNKNOWN, [[Span(file, 0, None)] for _ in files]))
            start += _UNKNOWN
            continue
        rows = int(counts[0] or 0)
        last = ranges[-1] if ranges else None
        if last is not None and rows and last[1] - last[0] + rows <= size:
            ranges[-1] = (last[0], last[1] + rows, [[*each, Span(file, 0, rows)] for each in last[2]])
        elif rows:
            for lo, hi in _cuts(rows, size, units.get(file, ()), parts):
                ranges.append((start + lo, start + hi, [[Span(file, lo, hi)] for _ in files]))
        start += rows
    return ranges


def _by_rows(counts: Sequence[Sequence[int]], size: int, units: RowGroups) -> Ranges:
    """Ranges of rows, wherever the files of each table are cut."""
    groups = [rows for file in sorted(units) for rows in units[file]]
    cuts = _cuts(sum(counts[0]), size, groups, _parts_each(units))
    return [(lo, hi, [spans_between(each, lo, hi) for each in counts]) for lo, hi in cuts]


def _cuts(rows: int, size: int, groups: Sequence[int] = (), parts: int = 1) -> list[tuple[int, int]]:
    """Rows in parts of about equal size; of row groups, small ones together and large ones in so many parts at most.

    >>> _cuts(10, 4), _cuts(10, 4, [6, 2, 2]), _cuts(10, 2, [6, 2, 2], 2)
    ([(0, 5), (5, 10)], [(0, 6), (6, 10)], [(0, 3), (3, 6), (6, 8), (8, 10)])
    """
    if not groups:
        ends = np.linspace(0, rows, max(1, round(rows / size)) + 1).round().astype(int).tolist()
        return [(lo, hi) for lo, hi in pairwise(ends) if lo < hi]
    found: list[tuple[int, int]] = []
    start = 0
    for count in groups:
        if found and found[-1][1] - found[-1][0] + count <= size:
            found[-1] = found[-1][0], start + count
        else:
            pieces = min(parts, math.ceil(count / size))
            ends = np.linspace(start, start + count, pieces + 1).round().astype(int).tolist() if count else []
            found += pairwise(ends)
        start += count
    return found


def _parts_each(units: RowGroups) -> int:
    """Into how many parts a row group is cut at most, so that there are enough of them."""
    return min(_PARTS, math.ceil(_ENOUGH / max(1, sum(map(len, units.values())))))


def _all_rise(edges: Sequence[Any]) -> bool:
    """Whether ids rise within ranges, and from each to the next one, with parts left out between them."""
    inside = all(edge[4] for edge in edges)
    return inside and all(type(a[3]) is type(b[2]) and a[3] < b[2] for a, b in pairwise(edges))


def _row_of(failed: Failed) -> tuple[int, ...]:
    row = failed.values[2] if len(failed.values) == 3 else None
    return (int(row or 0), *failed.order)


def _power_of_two(count: int) -> int:
    """The largest power of two that is no larger: samples stay the same where a few cases come or go."""
    return 1 << max(count, 1).bit_length() - 1


def _as_read(table: OpenTable, summary: SourceSummary) -> SourceSummary:
    """The summary of a model with what is known here of its table as a whole."""
    mass, tokens = table.answer_mass(), table.listed_tokens()
    return replace(
        summary,
        source=table.path,
        layout=table.layout.kind,
        reading=table.reading,
        notes=table.notes,
        answer_mass=float(mass.mean()) if len(mass) else None,
        median_answer_mass=float(np.median(mass)) if len(mass) else None,
        median_listed_tokens=float(np.median(tokens)) if len(tokens) else None,
    )
