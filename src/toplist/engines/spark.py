"""Spark: tasks as rows of a DataFrame, `mapInArrow` over them, and Spark's own shuffle.

`Spark(master="spark://host:7077")` starts a session with that master and stops it in the end; `Spark(session=spark)`
uses a session of yours, as does `Spark()` where one is active, and leaves it running. Otherwise a session with the
master local[*] is started, which needs Java 17 or later. Settings such as `spark.executor.memory` are taken from where
Spark takes them: spark-defaults.conf, or a session that you build. Jobs are named "toplist: ..." in Spark's user
interface. toplist has to be installed for the Python of the executors, in the version that is used here.

Spark runs a task again that failed or whose executor was lost, four times by its own default, and speculative copies
do no harm: a task gives the same bytes each time. A task of the comparison is a task of Spark; results are merged in a
tree on the executors, and no more than sixteen come to this process. In a shuffle, blocks go through Spark as rows of
at most 8 MB, are sorted by bucket and reach Python one at a time, so that executors with 1 GB suffice for blocks of
100 MB.
"""

from __future__ import annotations

import os
import re
import sys
import threading
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from itertools import groupby
from operator import itemgetter
from typing import Any, ClassVar
from uuid import uuid4

from toplist._files import load
from toplist._text import argument
from toplist.engines.base import (
    FAN_IN,
    Done,
    Engine,
    Finish,
    Merge,
    Split,
    Work,
    failed,
    log,
    not_installed,
    out_of_memory,
    require_answer,
    run_alone,
    worker_lost,
)
from toplist.engines.cluster import merge_results
from toplist.errors import ResourceError, TopListError

_NEEDED = "the engine 'spark' needs pyspark, pandas and pyarrow: pip install 'toplist[spark]'."
_REMEDY = "give the address that the master's page shows, such as spark://10.0.0.1:7077, or none for this machine."
_PIECE = 8 << 20  # bytes of a row in a shuffle
_PARTITIONS = 20_000  # tasks of Spark in a stage; with more, Spark's driver is slow
_POLL_SECONDS = 0.2
_BATCH = "spark.sql.execution.arrow.maxRecordsPerBatch"
_ArrowMap = Callable[[Iterator[Any]], Iterator[Any]]
_RESULTS = "part int, data binary"
_PIECES = "bucket int, part int, block int, piece int, data binary"


@dataclass(frozen=True, kw_only=True)
class Spark(Engine):
    """Tasks on a Spark cluster.

    Parameters
    ----------
    workers, task_cases, partials, on_error
        As for `Engine`; the number of workers is for a session with a local master that is started here.
    master : str, optional
        The master of the session to start, such as "spark://10.0.0.1:7077", "yarn" or "local[4]".
    session : pyspark.sql.SparkSession, optional
        A session to use, which is not stopped.

    Examples
    --------
    >>> from toplist.engines import Spark
    >>> Spark(master="spark://10.0.0.1:7077").master
    'spark://10.0.0.1:7077'
    """

    name: ClassVar[str] = "spark"
    master: str | None = None
    session: Any = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.master is not None and self.session is not None:
            raise TopListError("give a master or a session for Spark, not both.")
        if self.workers is not None and (self.master is not None or self.session is not None):
            raise TopListError(
                f"the workers of Spark come from its master or session: leave out {argument('workers')}."
            )

    @contextmanager
    def _start(self) -> Iterator[Any]:
        spark = load("pyspark.sql", _NEEDED)
        for module in ("pandas", "pyarrow"):
            load(module, _NEEDED)
        session = self.session
        if session is None and load("pyspark", _NEEDED).SparkContext._active_spark_context is not None:
            session = spark.SparkSession.builder.getOrCreate()  # the one of this process
        if session is not None:
            _require_master(session, self.master)
            yield session
            return
        session = _new_session(spark, self.master or f"local[{self.workers or '*'}]")
        try:
            if session.sparkContext.uiWebUrl is not None:
                log.info("Spark's user interface: %s", session.sparkContext.uiWebUrl)
            yield session
        finally:
            session.stop()

    def reduce(self, work: Work, merge: Merge, tasks: Sequence[bytes], done: Done) -> bytes:
        """The results of all tasks, merged in a tree."""
        with self.running() as session, _one_row_a_batch(session), _pandas_accepted():
            run = _Run(session, merge, f"toplist: score {len(tasks):,} tasks", done, len(tasks))
            parts = min(len(tasks), _PARTITIONS)
            results = _rows(session, tasks, parts).mapInArrow(_working(work, merge, run.counter), _RESULTS)
            return run.collect(results, parts)

    def shuffle(
        self, split: Split, finish: Finish, merge: Merge, tasks: Sequence[bytes], buckets: int, done: Done
    ) -> bytes:
        """The rows of all tasks brought together by bucket, and the results of all buckets merged in a tree."""
        with self.running() as session, _one_row_a_batch(session), _pandas_accepted():
            name = f"toplist: bring {len(tasks):,} tasks together in {buckets:,} buckets"
            run = _Run(session, merge, name, done, len(tasks) + buckets)
            rows = _rows(session, tasks, min(len(tasks), _PARTITIONS))
            pieces = rows.mapInArrow(_splitting(split, run.counter), _PIECES)
            parts = min(buckets, _PARTITIONS)
            ordered = _repartition(pieces, parts, "bucket").sortWithinPartitions("bucket", "part", "block", "piece")
            results = ordered.mapInArrow(_finishing(finish, merge, run.counter), _RESULTS)
            return run.collect(results, parts) or finish(0, ())


@dataclass(frozen=True)
class _Run:
    """One operation: what Spark shows of it, and how far it is."""

    session: Any
    merge: Merge
    name: str
    done: Done
    total: int

    @cached_property
    def counter(self) -> Any:
        """How many tasks are done; tasks that Spark runs again may count twice."""
        return self.session.sparkContext.accumulator(0)

    def collect(self, results: Any, parts: int) -> bytes:
        """The results in so many partitions, merged in a tree; empty where there are none."""
        while parts > FAN_IN:
            parts = -(-parts // FAN_IN)
            results = _repartition(results, parts, "part").mapInArrow(_merging(self.merge, parts), _RESULTS)
        found = [bytes(row.data) for row in self._rows_of(results)]
        self.done(self.total, self.total)
        return _merged(self.merge, found)

    def _rows_of(self, frame: Any) -> list[Any]:
        """Collect the rows in a thread, where the job has its name, while this one says how far it is."""
        context, group = self.session.sparkContext, f"toplist-{uuid4().hex[:12]}"
        rows: list[Any] = []
        errors: list[Exception] = []

        def act() -> None:
            try:
                context.setJobGroup(group, self.name, interruptOnCancel=True)
                rows.extend(frame.collect())
            except Exception as error:
                errors.append(error)

        action = threading.Thread(target=act, name=group, daemon=True)
        action.start()
        try:
            shown = 0
            while action.is_alive():
                action.join(_POLL_SECONDS)
                if shown < (shown := min(self.counter.value, self.total - 1)):
                    self.done(shown, self.total)
        except BaseException:
            context.cancelJobGroup(group)
            raise
        if errors:
            raise _explain(errors[0]) from errors[0]
        return rows


# What executors do


def _working(work: Work, merge: Merge, counter: Any) -> _ArrowMap:
    def run(batches: Iterator[Any]) -> Iterator[Any]:
        results, first = [], None
        for row in _rows_in(batches):
            first = row["part"] if first is None else first
            results.append(run_alone(work, row["data"]))
            counter.add(1)
            if len(results) == FAN_IN:
                results = [_merged(merge, results)]
        if results:
            yield _batch(_RESULTS, [(first, _merged(merge, results))])

    return run


def _splitting(split: Split, counter: Any) -> _ArrowMap:
    def run(batches: Iterator[Any]) -> Iterator[Any]:
        for row in _rows_in(batches):
            for number, (bucket, block) in enumerate(_alone(split(row["data"]))):
                for piece, lo in enumerate(range(0, max(len(block), 1), _PIECE)):
                    yield _batch(_PIECES, [(bucket, row["part"], number, piece, block[lo : lo + _PIECE])])
            counter.add(1)

    return run


def _finishing(finish: Finish, merge: Merge, counter: Any) -> _ArrowMap:
    def run(batches: Iterator[Any]) -> Iterator[Any]:
        results, first = [], None
        for bucket, rows in groupby(_rows_in(batches), key=itemgetter("bucket")):
            first = bucket if first is None else first
            results.append(run_alone(finish, bucket, _blocks(rows)))
            counter.add(1)
            if len(results) == FAN_IN:
                results = [_merged(merge, results)]
        if results:
            yield _batch(_RESULTS, [(first, _merged(merge, results))])

    return run


def _merging(merge: Merge, parts: int) -> _ArrowMap:
    def run(batches: Iterator[Any]) -> Iterator[Any]:
        rows = list(_rows_in(batches))
        if rows:
            merged = _merged(merge, [row["data"] for row in rows])
            yield _batch(_RESULTS, [(rows[0]["part"] % parts, merged)])

    return run


def _merged(merge: Merge, results: Sequence[bytes]) -> bytes:
    return merge_results(merge, *results)


def _alone(items: Iterable[tuple[int, bytes]]) -> Iterator[tuple[int, bytes]]:
    """The same items, each of which is made with one thread."""
    iterator = iter(items)
    while (item := run_alone(next, iterator, None)) is not None:
        yield item


def _blocks(rows: Iterable[dict[str, Any]]) -> Iterator[bytes]:
    """Blocks again, of their pieces in order."""
    for _, pieces in groupby(rows, key=itemgetter("part", "block")):
        yield b"".join(row["data"] for row in pieces)


def _rows_in(batches: Iterable[Any]) -> Iterator[dict[str, Any]]:
    for batch in batches:
        yield from batch.to_pylist()


def _batch(columns: str, rows: Sequence[tuple[Any, ...]]) -> Any:
    """Rows in Arrow's format, of the columns that Spark is told of."""
    arrow = import_module("pyarrow")
    kinds = {"int": arrow.int32(), "binary": arrow.binary()}
    fields = [column.split() for column in columns.split(", ")]
    arrays = [
        arrow.array(values, kinds[kind]) for values, (_, kind) in zip(zip(*rows, strict=True), fields, strict=True)
    ]
    return arrow.RecordBatch.from_arrays(arrays, [name for name, _ in fields])


# Sessions


def _require_master(session: Any, master: str | None) -> None:
    """Refuse a session that cannot be used, or that is not the one that is asked for."""
    if type(session).__module__.startswith("pyspark.sql.connect"):
        raise TopListError("a session of Spark Connect has no Spark context: give a session with a master.")
    running = session.sparkContext.master
    if master not in (None, running):
        raise TopListError(
            f"a Spark session with the master {running!r} is active in this process: stop it, or leave master out."
        )


def _new_session(spark: Any, master: str) -> Any:
    if master.startswith("spark://"):
        require_answer(master, "Spark", _REMEDY)
    settings = {"spark.ui.showConsoleProgress": "false", "spark.log.level": "ERROR"}
    builder = spark.SparkSession.builder.master(master).appName("toplist").config(map=settings)
    python = os.environ.get("PYSPARK_PYTHON")
    try:
        if python is None and master.startswith("local"):
            os.environ["PYSPARK_PYTHON"] = sys.executable  # else the first Python of the path, whatever it has
        with _pandas_accepted():
            return builder.getOrCreate()
    except Exception as error:
        if "JAVA_GATEWAY_EXITED" in str(error) or isinstance(error, FileNotFoundError):
            raise TopListError(
                "Spark cannot start Java: install Java 17 or later, and let JAVA_HOME name its folder."
            ) from error
        raise TopListError(f"Spark cannot be started with the master {master!r} ({_line(error)}): {_REMEDY}") from error
    finally:
        if python is None:
            os.environ.pop("PYSPARK_PYTHON", None)


@contextmanager
def _pandas_accepted() -> Iterator[None]:
    """Without Spark's warning about new versions of pandas, which it only asks for the version of here."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "PySpark does not yet fully support pandas", FutureWarning)
        yield


@contextmanager
def _one_row_a_batch(session: Any) -> Iterator[None]:
    """Within this, executors take one row of a frame at a time: rows are large."""
    before = session.conf.get(_BATCH)
    session.conf.set(_BATCH, "1")
    try:
        yield
    finally:
        with suppress(Exception):  # a session that has ended
            session.conf.set(_BATCH, before)


def _rows(session: Any, tasks: Sequence[bytes], parts: int) -> Any:
    """Tasks as rows with their numbers, in so many partitions."""
    frame = session.createDataFrame([(number, bytearray(task)) for number, task in enumerate(tasks)], _RESULTS)
    return _repartition(frame, parts, "part")


def _repartition(frame: Any, parts: int, column: str) -> Any:
    """One partition for each number modulo `parts`."""
    return frame.repartitionById(parts, column)


# Errors


_RAISED = re.compile(r"^\s*([A-Za-z_][\w.]*(?:Error|Exception)): (.*)$", re.MULTILINE)
_OWN = re.compile(r"toplist\.errors\.(\w+): (.*)")


def _explain(error: Exception) -> TopListError:
    """What Spark reports of an executor, or of its driver, in one sentence."""
    text = str(error)
    own = _OWN.search(text)
    if own:
        return (ResourceError if own[1] == "ResourceError" else TopListError)(own[2].strip())
    if "No module named 'toplist" in text:
        return not_installed("Spark")
    if "OutOfMemoryError" in text or "MemoryError" in text:
        return out_of_memory("Spark")
    if "ExecutorLostFailure" in text or "Python worker exited unexpectedly" in text:
        return worker_lost("Spark")
    if isinstance(error, OSError) or "SparkContext was shut down" in text or type(error).__name__ == "Py4JNetworkError":
        return TopListError("Spark ended before the run did: see its log, and run this again.")
    raised = _RAISED.findall(text)
    return failed("Spark", *raised[-1]) if raised else failed("Spark", type(error).__name__, text)


def _line(error: Exception) -> str:
    return next((line.strip() for line in str(error).splitlines() if line.strip()), "no message").rstrip(".:")
