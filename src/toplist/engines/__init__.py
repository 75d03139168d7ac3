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
from toplist._text import quote
from toplist.errors import ResourceError, TopListError

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


def as_engine(value: Any) -> Engine:
    """Return the engine that is meant.

    Parameters
    ----------
    value : str, Engine, distributed.Client or pyspark.sql.SparkSession
        "dask" or "spark", with a number of processes or the address of a cluster where none runs already, as in
        "dask=4", "dask=tcp://10.0.0.1:8786" and "spark=spark://10.0.0.1:7077"; or what a cluster is reached with.

    Returns
    -------
    Engine
        The engine.

    Raises
    ------
    TopListError
        There is no such engine.
    """
    package = type(value).__module__.partition(".")[0]
    if isinstance(value, Engine):
        return value
    if package == "distributed" and type(value).__name__ == "Client":
        return Engine("dask", partial(_dask, value))
    if package == "pyspark" and hasattr(value, "sparkContext"):  # a session of Spark Connect has none
        return Engine("spark", partial(_spark, value))
    name, mark, where = value.partition("=") if isinstance(value, str) else ("", "", "")
    if name not in ("dask", "spark") or bool(mark) != bool(where.strip("0")):
        raise TopListError(
            f"{quote(value)} is no engine: give dask or spark, dask=4 for so many processes, the address of a cluster "
            "as in dask=tcp://10.0.0.1:8786 or spark=spark://10.0.0.1:7077, a Dask client or a SparkSession."
        )
    return Engine(name, partial(_dask if name == "dask" else _spark, None, where))


# Dask


@contextmanager
def _dask(client: Any, where: str = "") -> Iterator[Reduce]:
    """Within this, tasks are run by a client, by that of this process, at an address, or by processes started here."""
    distributed = load("distributed", "the engine 'dask' needs distributed: pip install 'toplist[dask]'.")
    with ExitStack() as opened:
        if client is None and not where:
            with suppress(ValueError):  # there is none
                client = distributed.default_client()
        if client is None:
            try:
                address: Any = where
                if not where or where.isdecimal():
                    how: Any = {"threads_per_worker": 1, "dashboard_address": "127.0.0.1:0"}
                    how |= {"silence_logs": logging.ERROR, "n_workers": int(where) if where else None}
                    address = opened.enter_context(distributed.LocalCluster(**how))
                else:
                    _require_answer(where)
                client = distributed.Client(address, timeout=_CONNECT_SECONDS, set_as_default=False)
                opened.enter_context(client)
            except (OSError, RuntimeError, TypeError, ValueError) as error:
                remedy = "give the address that `dask scheduler` prints; and in a script, call this under `if __name__ "
                raise _not_started("Dask", where, error, remedy + '== "__main__":`') from error
            if not client.scheduler_info()["workers"]:
                log.warning("The Dask scheduler at %s has no workers: parts wait for some.", where)
        log.info("Dask's dashboard: %s", client.dashboard_link)
        yield partial(_reduced_by_dask, distributed, client)


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
def _spark(session: Any, where: str = "") -> Iterator[Reduce]:
    """Within this, tasks are run by a session, by that of this process, by a master, or by processes started here."""
    needed = "the engine 'spark' needs pyspark: pip install 'toplist[spark]'."
    builder = load("pyspark.sql", needed).SparkSession.builder
    with ExitStack() as opened:
        if session is None and load("pyspark", needed).SparkContext._active_spark_context is not None:
            session = builder.getOrCreate()  # the one of this process
        if session is None:
            master = f"local[{where or '*'}]" if not where or where.isdecimal() else where
            python = os.environ.get("PYSPARK_PYTHON")
            try:
                if master.startswith("spark://") and "," not in master:  # there may be several
                    _require_answer(master)
                if python is None and master.startswith("local"):
                    os.environ["PYSPARK_PYTHON"] = sys.executable  # else the first Python of the path, whatever it has
                settings = {"spark.ui.showConsoleProgress": "false", "spark.log.level": "ERROR"}
                session = builder.master(master).appName("toplist").config(map=settings).getOrCreate()
            except Exception as error:
                remedy = "give the address that the master's page shows; on this machine, Spark needs Java 17 or later"
                raise _not_started("Spark", where, error, remedy) from error
            finally:
                if python is None:
                    os.environ.pop("PYSPARK_PYTHON", None)
            opened.callback(session.stop)
        log.info("Spark's user interface: %s", session.sparkContext.uiWebUrl)
        yield partial(_reduced_by_spark, session.sparkContext)


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
_LOST = ("MemoryError", "KilledWorker", "ExecutorLostFailure", "Python worker exited unexpectedly")


def explained(error: BaseException, engine: str) -> TopListError:
    """What went wrong on a worker or on the way to it, in one sentence.

    >>> print(explained(KeyError("a"), "Dask"))
    Dask could not finish a task: KeyError: 'a'.
    """
    cause = error.__cause__  # of what a worker could not read, it says why
    text = f"{type(error).__name__}: {error}" + (f"\n{type(cause).__name__}: {cause}" if cause else "")
    if any(sign in text for sign in _LOST):
        return ResourceError(
            f"{engine} lost the worker that ran a task each time it was run, most often because memory was too small: "
            "give workers more of it, or use fewer of them."
        )
    kind, message = (_RAISED.findall(text) or [(type(error).__name__, _first_line(error))])[-1]
    return TopListError(f"{engine} could not finish a task: {kind}: {message[:500].rstrip('.')}.")


def _not_started(engine: str, where: str, error: BaseException, remedy: str) -> TopListError:
    at = f"reached at {quote(where)}" if where and not where.isdecimal() else "started here"
    return TopListError(f"{engine} cannot be {at} ({_first_line(error)}): {remedy}.")


def _require_answer(address: str) -> None:
    """Raise an OSError where nothing listens at an address: Spark takes a minute to say so, and Dask prints traces."""
    parts = urlsplit(address if "://" in address else f"//{address}")
    socket.create_connection((parts.hostname or address, parts.port or 0), timeout=_CONNECT_SECONDS).close()


def _first_line(error: BaseException) -> str:
    """What an error says, in one line without its full stop."""
    return next((line.strip() for line in str(error).splitlines() if line.strip()), "no message").rstrip(".:")
