"""A comparison on an engine: ranges of rows are scored by workers, merged there, and finished here.

Files that hold the same cases in the same order are split into ranges of rows, which are the same cases of all of them.
Other files are compared on this machine: a warning says why, and what to do about it.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from typing import Any
from uuid import uuid4

import numpy as np

from toplist._typing import Progress
from toplist.core.kernel import one_thread
from toplist.engines import as_engine, log
from toplist.errors import AlignmentError, FileError, TopListError
from toplist.evaluation.case_details import CaseReader, from_files
from toplist.evaluation.leaderboard import Leaderboard
from toplist.evaluation.losses import losses_in_files
from toplist.evaluation.partials import PartialResult, finish, merge, score_part, settings_of
from toplist.evaluation.ranking import Question, spelled_in_files
from toplist.evaluation.samples import ROOM, columns_of
from toplist.evaluation.stream import scores_of_files
from toplist.inference.diagnostics import SAMPLED
from toplist.io import (
    Plan,
    ReadRequest,
    Span,
    UniqueIds,
    View,
    plan_of,
    require_unique,
    spans_between,
)

_PARTS, _MOST = 64, 20_000  # that work is split into: where cases are few; beyond, schedulers are slow
_LEAST, _LARGEST = 1 << 16, 1 << 21  # cases of a part, about
_GROUPS, _PIECES = 8, 4  # row groups up to which parts are pieces of them, which are read from their beginning
_SORT = (
    "the files do not hold the same cases in the same order. Sort each of them by its case ids once, for example with "
    "DuckDB: COPY (SELECT * FROM 'b.parquet' ORDER BY id) TO 'b-sorted.parquet'."
)


@dataclass(frozen=True, slots=True)
class Job:
    """What workers are told of a comparison."""

    run: str  # the comparison: of another one, files are opened again, for they may have changed
    request: ReadRequest  # with absolute paths
    space: Any
    question: Question
    columns: tuple[str, ...]  # of the truth, kept of sampled cases
    total: int | None  # cases of all parts, where that is known


@dataclass(frozen=True, slots=True)
class Part:
    """A range of rows, which are the same cases in all tables."""

    number: int
    start: int  # the position of the first case
    spans: tuple[tuple[Span, ...], ...]  # by table, the truth first


@dataclass(frozen=True, slots=True)
class Failed:
    """What is wrong with the input, in place of a result: of several parts, the first one is to be named."""

    number: int
    error: TopListError


class _WholeError(Exception):
    """Why files are not split."""


def compare_on(
    engine: Any, request: ReadRequest, space: Any, question: Question, progress: Progress
) -> Leaderboard | None:
    """Rank the models of a request by what workers of an engine find.

    Parameters
    ----------
    engine : Engine, str, distributed.Client or pyspark.sql.SparkSession
        Where parts are scored; see `engines.as_engine`.
    request : ReadRequest
        Models and truth, all of them files.
    space : ClassSpace or anything that it is made of, optional
        The classes.
    question : Question
        What is asked of the models.
    progress : callable
        Called with what is done, how many parts of it are done, and of how many.

    Returns
    -------
    Leaderboard or None
        The same as without an engine, to the last bit; None where the files cannot be split, which a warning says.

    Raises
    ------
    TopListError
        If something cannot be sent to workers, read or scored.
    """
    chosen, there = as_engine(engine), _absolute(request)
    plan = _open(request, space, question.missing)
    settings, scoring = settings_of(plan, question), question.scoring
    try:
        parts = _parts(plan)
        if plan.truth.layout.case is not None:
            unique = UniqueIds()  # of two parts, no worker sees both
            for ids, _ in plan.truth.ids():
                unique.see(ids)
            require_unique(plan.truth, unique)
        rows = plan.truth.reader.sizes()
        total = None if None in rows else sum(sum(sizes or ()) for sizes in rows)
        job = Job(uuid4().hex, there, space, question, columns_of(plan, settings), total)
        with chosen.running() as reduce:
            result: PartialResult | Failed = reduce(
                _score, _merge, parts, job, lambda done, count: progress(f"scoring on {chosen.name}", done, count)
            )
        if isinstance(result, Failed):
            raise _WholeError(_SORT) if isinstance(result.error, AlignmentError) else result.error
        origins = tuple(  # files as they are called here
            replace(one, source=table.path, layout=table.layout.kind, reading=table.reading, notes=table.notes)
            for table, one in zip(plan.sources, result.read.origins, strict=True)
        )
        plan = replace(plan, time=settings.time, ordered=settings.ordered)
        return finish(
            replace(result, read=replace(result.read, origins=origins, truth=plan.truth.reading)),
            cases=CaseReader(partial(from_files, plan, scoring), partial(scores_of_files, plan, scoring)),
            losses=losses_in_files(plan, scoring, result.read.highest, result.heaviest),
            spelled=partial(spelled_in_files, plan),
        )
    except _WholeError as reason:
        log.warning("Computed on this machine, not by %s: %s", chosen.name, reason)
        return None
    except FileError as error:
        raise _as_given(error, request) from None


def _open(request: ReadRequest, space: Any, missing: str) -> Plan:
    """The open files, as `compare` opens them."""
    return plan_of(request, space, missing=missing, find=("cluster", "time", "group"))


# Names of files: workers know them by absolute paths, and messages as they were given


def _place(path: str) -> str:
    return path if "://" in path else os.path.abspath(path)


def _absolute(request: ReadRequest) -> ReadRequest:
    """The same request, as workers read it."""

    def placed(data: Any, name: str) -> str:
        if not isinstance(data, str | os.PathLike):
            raise TopListError(
                f"{name} is in memory ({type(data).__name__}), and an engine reads files: write it to a Parquet file "
                "and give its path, or leave out the engine."
            )
        return _place(os.fspath(data))

    truth = request.truth
    data = truth.data if truth.data is None or truth.is_carried else placed(truth.data, "the truth")
    return request.with_data({name: placed(data, name) for name, data in request.models.items()}, data)


def _as_given(error: FileError, request: ReadRequest) -> FileError:
    """The error of a worker, with the names of files that were given."""
    source, problem = error.source, error.problem
    for path in sorted(request.paths, key=len, reverse=True):
        given = path.rstrip("/") or path
        source, problem = (text.replace(_place(path), given) for text in (source, problem))
    return FileError(source, problem, row=error.row)


# Ranges of rows


def _parts(plan: Plan) -> list[Part]:
    """The ranges that are scored one by one."""
    tables = (plan.truth, *plan.sources)
    for table in tables:
        filtered = isinstance(table.reader, View) and table.reader.where
        if filtered or table.layout.kind == "long" or not table.reader.sizes():
            raise _WholeError(
                f"{table.path} has a row per class, is filtered by a condition, or is read as a whole. Write its cases "
                "to a Parquet file with a row each first, as toplist convert does."
            )
    files, named = [table.reader.sizes() for table in tables], all(table.layout.case for table in tables)
    if all(sizes is not None for each in files for sizes in each):
        counts = [[sum(sizes or ()) for sizes in each] for each in files]
        if len({sum(each) for each in counts}) > 1:
            raise _WholeError(_SORT)
        parts = [
            Part(number, lo, tuple(tuple(spans_between(each, lo, hi)) for each in counts))
            for number, (lo, hi) in enumerate(_cuts(sum(counts[0]), _row_groups(plan)))
        ]
    elif named and len({len(each) for each in files}) == 1:
        parts = [Part(file, 0, ((Span(file),),) * len(tables)) for file in range(len(files[0]))]
    else:
        raise _WholeError(_SORT)
    if not parts:
        raise _WholeError("there are no cases.")
    return parts


def _row_groups(plan: Plan) -> list[int]:
    """The rows of the row groups of the model that has the largest ones; none where files have none."""
    groups = [[rows for sizes in table.reader.sizes() for rows in sizes or ()] for table in plan.sources]
    return min(filter(None, groups), key=len, default=[])


def _cuts(rows: int, groups: Sequence[int]) -> list[tuple[int, int]]:
    """Rows in parts of about equal size: as a part of a row group is read from its beginning, some row groups each."""
    count = min(max(min(_PARTS, rows // _LEAST), rows // _LARGEST, 1), _MOST)
    if 0 < len(groups) < _GROUPS:
        count = min(count, _PIECES * len(groups))
    ends = np.linspace(0, rows, count + 1).round().astype(int)
    if len(groups) >= _GROUPS:
        starts = np.cumsum([0, *groups])
        ends = starts[np.searchsorted(starts, ends)]
    return list(pairwise(np.unique(ends).tolist()))


# What workers do

_opened: dict[str, Plan] = {}  # the files of a comparison are opened once in a process


def _rows_of(job: Job, part: Part) -> Plan:
    """The open files with the rows of a part alone."""
    plan = _opened.get(job.run)
    if plan is None:  # threads of a worker may be of different comparisons
        plan = _open(job.request, job.space, job.question.missing)
        _opened.clear()
        _opened[job.run] = plan
    truth, *sources = (t.part(spans) for t, spans in zip((plan.truth, *plan.sources), part.spans, strict=True))
    return replace(plan, truth=truth, sources=tuple(sources))


def _score(part: Part, job: Job) -> PartialResult | Failed:
    """The scores of a part, in one thread: an engine has as many workers as there are cores."""
    how: Any = {"total": job.total, "start": part.start, "sample": int(ROOM * SAMPLED), "columns": job.columns}
    try:
        with one_thread():
            result = score_part(_rows_of(job, part), job.question, losses=False, **how)
            if any(origin.cases != result.read.cases for origin in result.read.origins):
                raise AlignmentError(_SORT)
            return result
    except TopListError as error:
        return Failed(part.number, error)


def _merge(results: Sequence[PartialResult | Failed]) -> PartialResult | Failed:
    """One result of several; their order does not show."""
    failed = [one for one in results if isinstance(one, Failed)]
    if failed:
        return min(failed, key=lambda one: (not isinstance(one.error, AlignmentError), one.number))
    try:
        return merge([one for one in results if isinstance(one, PartialResult)])
    except TopListError as error:  # there are too many groups: after what is wrong with any part
        return Failed(sys.maxsize, error)
