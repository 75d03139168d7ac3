"""Engines: Dask and Spark, which run two functions for a comparison: score a part, and merge what parts gave.

In: functions, and what they are given. Out: one merged result. May import root modules and `core`: what is computed
lies in `evaluation`. Workers that are lost are replaced by Dask and Spark themselves, whose libraries are not imported
before an engine is started. toplist has to be installed on the workers, and on Dask's scheduler, in the version that is
used here.

With Dask parts are futures, and so are their merges, sixteen at a time, on the workers. A client that is given is used
and left as it is, as is the current client of this process; with the address of a scheduler, a client is made for it.
Otherwise a cluster of processes is started on this machine, with a worker per core and one thread each, and closed in
the end; as with all of Dask's local processes, a script then needs `if __name__ == "__main__":`. Dask computes again
what a lost worker held or was doing; a part that loses several workers is an error.

With Spark parts are the elements of an RDD, which is mapped and reduced in a tree on the executors. A session that is
given is used and left running, as is the active one of this process. Otherwise a session is started with the master
that is given, or local[*], and stopped in the end; it needs Java 17 or later. Settings such as `spark.executor.memory`
are taken from where Spark takes them: spark-defaults.conf, or a session that you build. Jobs are called "toplist: ..."
in Spark's user interface. Spark runs a part again whose executor was lost, four times by its own default; speculative
copies do no harm, for a part gives the same result each time.
"""

from __future__ import annotations

import logging
import os
import re
import socket
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from functools import partial
from typing import Any, NamedTuple
from urllib.parse import urlsplit
from uuid import uuid4

from toplist._files import load
from toplist._text import argument
from toplist.core.arguments import as_whole
from toplist.errors import ResourceError, TopListError

NAMES = ("dask", "spark")
"""Engines by name."""
log = logging.getLogger("toplist")
Done = Callable[[int, int], None]
"""Called with how many parts are done, and of how many."""
Reduce = Callable[..., Any]
"""Runs `work(task, shared)` for every task somewhere, and merges the results in any order, some at a time: called with
`work`, `merge`, at least one task, `shared` and `done`, it returns the merged result."""
_FAN_IN = 16  # results that Dask merges at a time: no worker holds more of them
_CONNECT_SECONDS = 20.0  # how long an address has to answer


class Engine(NamedTuple):
    """Where parts of a comparison are computed."""

    name: str
    running: Callable[[], AbstractContextManager[Reduce]]  # within it, tasks can be run; what it started is closed then


def as_engine(
    value: Any, *, workers: int | None = None, scheduler: str | None = None, master: str | None = None
) -> Engine:
    """Return the engine that is meant.

    Parameters
    ----------
    value : str, Engine, distributed.Client or pyspark.sql.SparkSession
        "dask" or "spark", or what a cluster is reached with.
    workers : int, optional
        How many processes are started, where no cluster runs already.
    scheduler : str, optional
        The address of a Dask scheduler.
    master : str, optional
        The master of a Spark cluster.

    Returns
    -------
    Engine
        The engine.

    Raises
    ------
    TopListError
        There is no such engine, or it has no such option.
    """
    package = type(value).__module__.partition(".")[0]
    if isinstance(value, Engine):
        return value
    if package == "distributed" and type(value).__name__ == "Client":
        return Engine("dask", partial(_dask, value))
    if package == "pyspark" and hasattr(value, "sparkContext"):  # a session of Spark Connect has none
        return Engine("spark", partial(_spark, value))
    if not isinstance(value, str) or value not in NAMES:
        raise TopListError(f'{value!r} is no engine: give "dask", "spark", a Dask client or a SparkSession.')
    address, foreign = (scheduler, master) if value == "dask" else (master, scheduler)
    if foreign is not None:
        name, goes_with = ("master", "spark") if value == "dask" else ("scheduler", "dask")
        raise TopListError(f"{argument(name)} goes with {argument('engine', goes_with)}.")
    if workers is not None and as_whole(workers, "workers", 1) and address is not None:
        raise TopListError(
            f"the workers of a cluster that runs already are as they are: leave out {argument('workers')}."
        )
    return Engine(value, partial(_dask if value == "dask" else _spark, None, address, workers))


# Dask


@contextmanager
def _dask(client: Any = None, scheduler: str | None = None, workers: int | None = None) -> Iterator[Reduce]:
    """Within this, tasks are run by a client, by that of this process, at an address, or by processes started here."""
    distributed = load("distributed", "the engine 'dask' needs distributed: pip install 'toplist[dask]'.")
    with ExitStack() as opened:
        if client is None and scheduler is None and workers is None:
            with suppress(ValueError):  # there is none
                client = distributed.default_client()
        if client is None:
            client = _dask_client(distributed, scheduler, workers, opened)
        if client.asynchronous:
            raise TopListError("this Dask client is asynchronous: make one without asynchronous=True.")
        log.info("Dask's dashboard: %s", client.dashboard_link)
        yield partial(_reduced_by_dask, distributed, client)


def _dask_client(distributed: Any, scheduler: str | None, workers: int | None, opened: ExitStack) -> Any:
    """A new client of a scheduler, or of processes that are started here."""
    try:
        address: Any = scheduler
        if scheduler is None:
            how: Any = {"threads_per_worker": 1, "dashboard_address": "127.0.0.1:0", "silence_logs": logging.ERROR}
            address = opened.enter_context(distributed.LocalCluster(n_workers=workers, **how))
        else:
            _require_answer(scheduler)
        client = opened.enter_context(distributed.Client(address, timeout=_CONNECT_SECONDS, set_as_default=False))
    except (OSError, RuntimeError, TypeError, ValueError) as error:
        problem = (
            f"Dask cannot start processes here ({_first_line(error)}): in a script, call this under "
            '`if __name__ == "__main__":`.'
            if scheduler is None
            else f"Dask cannot be reached at {scheduler!r} ({_first_line(error)}): give the address that `dask "
            "scheduler` prints, such as tcp://10.0.0.1:8786, or none for local processes."
        )
        raise TopListError(problem) from error
    if not client.scheduler_info()["workers"]:
        log.warning("The Dask scheduler at %s has no workers: parts wait for some.", scheduler)
    return client


def _reduced_by_dask(
    distributed: Any, client: Any, work: Any, merge: Any, tasks: Sequence[Any], shared: Any, done: Done
) -> Any:
    """The merged result; what is shared is a future, which Dask makes again where the worker that held it is lost."""
    try:
        held = client.submit(lambda: shared, pure=False)
        level = client.map(work, tasks, [held] * len(tasks), key="toplist-score", pure=False)
        parts = distributed.as_completed(level, loop=client.loop)
        while len(level) > 1:
            some = (level[lo : lo + _FAN_IN] for lo in range(0, len(level), _FAN_IN))
            level = [client.submit(merge, each, key=f"toplist-merge-{uuid4().hex}") for each in some]
        for count, part in enumerate(parts, 1):  # no part is held longer than its merge needs it
            if part.status != "finished":
                part.result()  # raises what went wrong
            done(count, len(tasks))
        return level[0].result()
    except Exception as error:
        raise explained(error, "Dask") from error


# Spark


@contextmanager
def _spark(session: Any = None, master: str | None = None, workers: int | None = None) -> Iterator[Reduce]:
    """Within this, tasks are run by a session, by that of this process, by a master, or by processes started here."""
    needed = "the engine 'spark' needs pyspark: pip install 'toplist[spark]'."
    builder = load("pyspark.sql", needed).SparkSession.builder
    with ExitStack() as opened:
        if session is None and load("pyspark", needed).SparkContext._active_spark_context is not None:
            session = builder.getOrCreate()  # the one of this process
        if session is None:
            session = _spark_session(builder, master or f"local[{workers or '*'}]")
            opened.callback(session.stop)
        context = session.sparkContext
        if master not in (None, context.master):
            raise TopListError(
                f"a Spark session with the master {context.master!r} is active in this process: stop it, or leave "
                "master out."
            )
        log.info("Spark's user interface: %s", context.uiWebUrl)
        yield partial(_reduced_by_spark, context)


def _spark_session(builder: Any, master: str) -> Any:
    """A new session."""
    settings = {"spark.ui.showConsoleProgress": "false", "spark.log.level": "ERROR"}
    python = os.environ.get("PYSPARK_PYTHON")
    try:
        if master.startswith("spark://") and "," not in master:  # there may be several
            _require_answer(master)
        if python is None and master.startswith("local"):
            os.environ["PYSPARK_PYTHON"] = sys.executable  # else the first Python of the path, whatever it has
        return builder.master(master).appName("toplist").config(map=settings).getOrCreate()
    except Exception as error:
        problem = (
            f"Spark cannot be started with the master {master!r} ({_first_line(error)}): give the address that the "
        )
        problem += "master's page shows, such as spark://10.0.0.1:7077, or none for this machine."
        if "JAVA_GATEWAY_EXITED" in str(error) or isinstance(error, FileNotFoundError):
            problem = "Spark cannot start Java: install Java 17 or later, and let JAVA_HOME name its folder."
        raise TopListError(problem) from error
    finally:
        if python is None:
            os.environ.pop("PYSPARK_PYTHON", None)


def _reduced_by_spark(context: Any, work: Any, merge: Any, tasks: Sequence[Any], shared: Any, done: Done) -> Any:
    """The merged result, in one job; Spark's own page shows how far it is."""
    done(0, len(tasks))
    context.setJobDescription(f"toplist: {len(tasks):,} parts")
    try:
        parts = context.parallelize(tasks, len(tasks)).map(lambda task: work(task, shared))
        result = parts.treeReduce(lambda one, other: merge([one, other]))
    except Exception as error:
        raise explained(error, "Spark") from error
    finally:
        context.setJobDescription(None)
    done(len(tasks), len(tasks))
    return result


# What is said where they cannot do it


_RAISED = re.compile(r"^\s*([A-Za-z_][\w.]*(?:Error|Exception)): (.*)$", re.MULTILINE)
_REMEDY = "give workers more of it, or use fewer of them."
_REASONS = (
    (
        ("No module named 'toplist",),
        TopListError(
            "toplist is not installed where the workers of {} run: install the version there that is used here, with "
            "the extra 'files'."
        ),
    ),
    (("OutOfMemoryError", "MemoryError"), ResourceError(f"a worker of {{}} ran out of memory: {_REMEDY}")),
    (
        ("KilledWorker", "ExecutorLostFailure", "Python worker exited unexpectedly"),
        ResourceError(
            "{} lost the worker that ran a task each time it was run, most often because memory was too small: "
            + _REMEDY
        ),
    ),
    (
        (
            "CancelledError",
            "CommClosedError",
            "ConnectionRefusedError",
            "Py4JNetworkError",
            "SparkContext was shut down",
        ),
        TopListError("{} ended before the run did: see its log, and run this again."),
    ),
)  # what an error of an engine says somewhere, and what is said then


def explained(error: BaseException, engine: str) -> TopListError:
    """What went wrong on a worker or on the way to it, in one sentence with the remedy.

    >>> print(explained(MemoryError(), "Dask"))
    a worker of Dask ran out of memory: give workers more of it, or use fewer of them.
    """
    cause = error.__cause__  # of what a worker could not read, it says why
    text = f"{type(error).__name__}: {error}" + (f"\n{type(cause).__name__}: {cause}" if cause else "")
    for signs, said in _REASONS:
        if any(sign in text for sign in signs):
            return type(said)(str(said).format(engine))
    kind, message = (_RAISED.findall(text) or [(type(error).__name__, _first_line(error))])[-1]
    return TopListError(f"{engine} could not finish a task: {kind}: {message[:500].rstrip('.')}.")


def _require_answer(address: str) -> None:
    """Raise an OSError where nothing listens at an address: Spark takes a minute to say so, and Dask prints traces."""
    parts = urlsplit(address if "://" in address else f"//{address}")
    socket.create_connection((parts.hostname or address, parts.port or 0), timeout=_CONNECT_SECONDS).close()


def _first_line(error: BaseException) -> str:
    """What an error says, in one line without its full stop."""
    return next((line.strip() for line in str(error).splitlines() if line.strip()), "no message").rstrip(".:")
