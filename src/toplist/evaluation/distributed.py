"""A comparison on an engine: ranges of rows are scored by workers, merged there, and finished here.

Files that hold the same cases in the same order are split into ranges of rows, which are the same cases of all of them.
Other files are compared on this machine: `compare_on` says why, and what to do about it.
"""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain, pairwise
from typing import Any
from uuid import uuid4

import numpy as np

from toplist._files import need
from toplist._typing import Progress
from toplist.engines.base import log
from toplist.engines.choice import as_engine
from toplist.errors import AlignmentError, FileError, TopListError
from toplist.evaluation.case_details import CaseReader, from_files
from toplist.evaluation.compare import Question, spelled_in_files
from toplist.evaluation.leaderboard import Leaderboard
from toplist.evaluation.partials import PartialResult, finish, losses_of, merge, score_part, settings_of
from toplist.evaluation.samples import ROOM, PairLoss, columns_of
from toplist.evaluation.stream import scores_of_files
from toplist.inference.diagnostics import SAMPLED
from toplist.inference.results import SourceSummary
from toplist.io.align import require_unique
from toplist.io.ids import UniqueIds
from toplist.io.options import ReadRequest
from toplist.io.plan import Plan, as_tables, plan_of, with_indicators
from toplist.io.slices import Span, file_rows, inner, sliced, spans_between
from toplist.io.sources import OpenTable
from toplist.io.views import View

_PARTS = 64  # that work is split into where cases are few
_LEAST, _LARGEST = 1 << 16, 1 << 21  # cases of a part, about
_MOST_PARTS = 20_000  # with more, the schedulers of Dask and Spark are slow
_ENOUGH, _PIECES = 8, 4  # parts that row groups are cut for where they are few, and of one row group at most
_LOOKED = 1000  # ids that tell whether files are in one order
_MERGED = 1 << 60  # the number of what fails in a merge: after all parts
_SORT = (
    "the files do not hold the same cases in the same order. Sort each of them by its case ids once, for example with "
    "DuckDB: COPY (SELECT * FROM 'b.parquet' ORDER BY id) TO 'b-sorted.parquet'."
)
Losses = dict[tuple[str, str], PairLoss]


@dataclass(frozen=True, slots=True)
class Job:
    """What workers are told of a comparison."""

    run: str  # the comparison: of another one, files are opened again, for they may have changed
    request: ReadRequest  # with absolute paths
    space: Any
    question: Question
    columns: tuple[str, ...]  # of the truth, kept of sampled cases
    total: int | None  # cases of all parts, where that is known
    pairs: tuple[tuple[str, str], ...] = ()  # whose largest losses are looked for
    heaviest: float = 1.0  # weight of a case


@dataclass(frozen=True, slots=True)
class Part:
    """A range of rows, which are the same cases in all tables."""

    number: int
    start: int  # the position of the first case
    spans: tuple[tuple[Span, ...], ...]  # by table, the truth first


@dataclass(frozen=True, slots=True)
class Outcome:
    """What parts gave: their merged result, or the first error; and whether all tables had the same cases there."""

    result: PartialResult | None = None
    failed: tuple[int, TopListError] | None = None  # with the number of the part
    in_step: bool = True
    ends: tuple[tuple[int, Any, Any], ...] = ()  # by part: the first and the last id, no last one where ids do not rise


def compare_on(
    engine: Any, request: ReadRequest, space: Any, question: Question, progress: Progress
) -> Leaderboard | None:
    """Rank the models of a request by what workers of an engine find.

    Parameters
    ----------
    engine : Engine, str, distributed.Client or pyspark.sql.SparkSession
        Where parts are scored; see `engines.choice.as_engine`.
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
        The same as without an engine, to the last bit; None where the files cannot be split, which a message says.

    Raises
    ------
    TopListError
        If something cannot be sent to workers, read or scored.
    """
    chosen = as_engine(engine)
    there = _absolute(request)
    plan = _open(request, space, question.missing)
    settings = settings_of(plan, question)
    parts = _parts(plan)
    if isinstance(parts, str):
        log.warning("Computed on this machine without %s: %s", chosen.name, parts)
        return None
    rows = file_rows(plan.truth.reader)
    total = None if None in rows else sum(count or 0 for count in rows)
    job = Job(uuid4().hex, there, space, question, columns_of(plan, settings), total)

    def done(what: str) -> Any:
        return lambda count, number: progress(f"{what} on {chosen.name}", count, number)

    with chosen.running() as reduce:
        outcome = reduce(_score, _merge, job, parts, done("scoring"))
        if not outcome.in_step:
            log.warning("Computed on this machine after %s: %s", chosen.name, _SORT)
            return None
        failed = outcome.failed
        if failed is not None and failed[0] != _MERGED:
            raise _as_given(failed[1], request)
        if outcome.ends and not _all_rise(outcome.ends):
            _require_unique(plan.truth)
        if failed is not None:
            raise failed[1]
        if outcome.result is None:
            raise ValueError("parts without a result have an error")

        def losses(pairs: Sequence[tuple[str, str]], heaviest: float) -> Mapping[tuple[str, str], PairLoss]:
            asked = replace(job, pairs=tuple(pairs), heaviest=heaviest)
            return reduce(_losses, _merge_losses, asked, parts, done("comparing the largest losses"))

        try:
            return _finished(outcome.result, plan, question, request, losses)
        except FileError as error:
            raise _as_given(error, request) from None


def _finished(result: PartialResult, plan: Plan, question: Question, request: ReadRequest, losses: Any) -> Leaderboard:
    """The leaderboard, with what is known of the files as a whole; cases are read again when they are asked for."""
    settings = result.question.settings
    origins = tuple(map(_as_read, plan.sources, result.read.origins))
    result = replace(result, read=replace(result.read, origins=origins, truth=plan.truth.reading))
    plan = replace(plan, time=settings.time, ordered=settings.ordered)
    cases = CaseReader(partial(from_files, plan, question.scoring), partial(scores_of_files, plan, question.scoring))
    return finish(
        result,
        cases=cases,
        losses=losses,
        spelled=partial(spelled_in_files, plan),
        inputs=[_place(path) for path in request.paths],
    )


def _as_read(table: OpenTable, summary: SourceSummary) -> SourceSummary:
    return replace(summary, source=table.path, layout=table.layout.kind, reading=table.reading, notes=table.notes)


def _open(request: ReadRequest, space: Any, missing: str) -> Plan:
    """The open files, as `compare` opens them."""
    tables = as_tables(with_indicators(request, space), space)
    if tables is None:
        raise TopListError("predictions in memory cannot be sent to workers: write them to Parquet files first.")
    return plan_of(tables, space, missing=missing, find=("cluster", "time", "group"))


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


def _as_given(error: TopListError, request: ReadRequest) -> TopListError:
    """The error of a worker, with the names of files that were given."""
    if not isinstance(error, FileError):
        return error
    source, problem = error.source, error.problem
    for path in sorted(request.paths, key=len, reverse=True):
        given = path.rstrip("/") or path
        source, problem = (text.replace(_place(path), given) for text in (source, problem))
    return FileError(source, problem, row=error.row)


# Ranges of rows


def _parts(plan: Plan) -> list[Part] | str:
    """The ranges that are scored one by one; or why the files cannot be split, and what to do about it."""
    tables = _tables(plan)
    for table in tables:
        if table.layout.kind == "long":
            return f"{table.path} has a row per class. Convert it to lists with toplist convert."
        if isinstance(table.reader, View) and table.reader.where:
            return f"{table.path} is filtered by a condition. Write the rows that fulfil it to a file first."
        if not inner(table.reader).units():
            return f"{table.path} is read as a whole. Convert it to a Parquet file with toplist convert."
    files = [file_rows(table.reader) for table in tables]
    if all(rows is not None for each in files for rows in each):
        counts = [[rows or 0 for rows in each] for each in files]
        if len({sum(each) for each in counts}) > 1:
            return _SORT
        cuts = _cuts(sum(counts[0]), _row_groups(plan))
        parts = [
            Part(number, lo, tuple(tuple(spans_between(each, lo, hi)) for each in counts))
            for number, (lo, hi) in enumerate(cuts)
        ]
    elif _by_ids(plan) and len({len(each) for each in files}) == 1:
        parts = [Part(file, 0, ((Span(file, 0, None),),) * len(tables)) for file in range(len(files[0]))]
    else:
        return _SORT
    if not parts:
        return "there are no cases."
    return parts if not _by_ids(plan) or _looks_in_step(plan, parts) else _SORT


def _tables(plan: Plan) -> tuple[OpenTable, ...]:
    return (plan.truth, *plan.sources)


def _by_ids(plan: Plan) -> bool:
    return all(table.layout.case is not None for table in _tables(plan))


def _row_groups(plan: Plan) -> list[int]:
    """The rows of the row groups of the model that has the largest ones; none where files have none."""
    readers = [inner(table.reader) for table in plan.sources]
    groups = [[unit.rows or 0 for unit in reader.units()] for reader in readers if reader.from_start]
    return min(groups, key=len, default=[])


def _cuts(rows: int, groups: Sequence[int] = ()) -> list[tuple[int, int]]:
    """Rows in parts of about equal size.

    A part of a row group is read from the beginning of the row group: parts are whole row groups, small ones together,
    and only where row groups are few is each cut into some pieces.
    """
    size = max(min(max(rows // _PARTS, _LEAST), _LARGEST), rows // _MOST_PARTS)
    pieces = min(_PIECES, math.ceil(_ENOUGH / len(groups))) if groups else _MOST_PARTS
    cuts: list[tuple[int, int]] = []
    start = 0
    for count in groups or [rows]:
        if cuts and cuts[-1][1] - cuts[-1][0] + count <= size:
            cuts[-1] = cuts[-1][0], start + count
        elif count:
            ends = np.linspace(start, start + count, min(pieces, math.ceil(count / size)) + 1)
            cuts += pairwise(ends.round().astype(int).tolist())
        start += count
    return cuts


def _looks_in_step(plan: Plan, parts: Sequence[Part]) -> bool:
    """Whether all tables have the same ids where the first part and the last one begin."""
    try:
        for part in (parts[0], parts[-1]):
            ids = [_first_ids(table) for table in _tables(_rows_of(plan, part))]
            if any(each != ids[0] for each in ids[1:]):
                return False
    except FileError:
        pass  # the worker that reads it says so
    return True


def _first_ids(table: OpenTable) -> list[str]:
    pa, pc = need("pyarrow"), need("pyarrow.compute")
    first: list[str] = []
    for ids, _ in table.ids():
        first += pc.cast(ids.slice(0, _LOOKED - len(first)), pa.string()).to_pylist()
        if len(first) >= _LOOKED:
            break
    return first


def _rows_of(plan: Plan, part: Part) -> Plan:
    """The plan with the rows of a part alone."""
    truth, *sources = (sliced(table, spans) for table, spans in zip(_tables(plan), part.spans, strict=True))
    return replace(plan, truth=truth, sources=tuple(sources))


# What workers do

_opened: dict[str, Plan] = {}  # the files of a comparison are opened once in a process


def _plan_of(job: Job) -> Plan:
    plan = _opened.get(job.run)
    if plan is None:  # threads of a worker may be of different comparisons
        plan = _open(job.request, job.space, job.question.missing)
        _opened.clear()
        _opened[job.run] = plan
    return plan


def _score(job: Job, part: Part) -> Outcome:
    """The scores of a part; what is wrong with the input is told, not raised, for the first part is to be named."""
    try:
        plan = _rows_of(_plan_of(job), part)
        result = score_part(
            plan,
            job.question,
            total=job.total,
            start=part.start,
            sample=int(ROOM * SAMPLED),
            columns=job.columns,
            losses=False,
        )
        ends = ((part.number, *_ends(plan.truth)),) if result.question.ids else ()
    except AlignmentError:
        return Outcome(in_step=False)
    except TopListError as error:
        return Outcome(failed=(part.number, error))
    return Outcome(result, in_step=all(count == result.read.cases for count in result.read.matched), ends=ends)


def _merge(outcomes: Sequence[Outcome]) -> Outcome:
    """One outcome of several; their order does not show."""
    failed = min((each.failed for each in outcomes if each.failed), key=lambda each: each[0], default=None)
    in_step = all(each.in_step for each in outcomes)
    ends = tuple(chain.from_iterable(each.ends for each in outcomes))
    results = [each.result for each in outcomes if each.result is not None]
    if failed is not None or not in_step:
        return Outcome(None, failed, in_step, ends)
    try:
        return Outcome(merge(results), None, True, ends)
    except TopListError as error:  # too many groups, or a case that is in two parts
        return Outcome(None, (_MERGED, error), True, ends)


def _losses(job: Job, part: Part) -> Losses:
    """The largest losses of some pairs over a part."""
    return losses_of(_rows_of(_plan_of(job), part), job.question, job.pairs, job.heaviest)


def _merge_losses(parts: Sequence[Losses]) -> Losses:
    out: Losses = {}
    for pair, loss in chain.from_iterable(part.items() for part in parts):
        out[pair] = out.get(pair, PairLoss()) + loss
    return out


# Ids that are there twice


def _ends(truth: OpenTable) -> tuple[Any, Any]:
    """The first and the last id of a part; no last one where ids do not rise."""
    first, unique = None, UniqueIds()
    for ids, _ in truth.ids():
        if first is None and len(ids):
            first = ids[0].as_py()
        unique.see(ids)
        if not unique.rising:
            return first, None
    return first, None if unique.last is None else unique.last.as_py()


def _all_rise(ends: Sequence[tuple[int, Any, Any]]) -> bool:
    """Whether ids rise within parts and from each to the next one, so that none is there twice."""
    return all(
        last is not None and type(last) is type(first) and last < first
        for (_, _, last), (_, first, _) in pairwise(sorted(ends, key=lambda part: part[0]))
    ) and all(last is not None for _, _, last in ends)


def _require_unique(truth: OpenTable) -> None:
    """Read all ids here: what rises in no order may be there twice, in different parts."""
    unique = UniqueIds()
    for ids, _ in truth.ids():
        unique.see(ids)
    require_unique(truth, unique)
