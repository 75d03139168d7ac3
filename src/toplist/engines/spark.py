"""Spark: parts are the elements of an RDD, which is mapped and reduced in a tree on the executors.

A session that is given is used and left running, as is the active one of this process. Otherwise a session is started
with the master that is given, or local[*], and stopped in the end; it needs Java 17 or later. Settings such as
`spark.executor.memory` are taken from where Spark takes them: spark-defaults.conf, or a session that you build. Jobs
are called "toplist: ..." in Spark's user interface. toplist has to be installed for the Python of the executors, in the
version that is used here. Spark runs a part again whose executor was lost, four times by its own default; speculative
copies do no harm, for a part gives the same result each time.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

from toplist._files import load
from toplist._text import argument
from toplist.engines.base import (
    Done,
    Engine,
    Reduce,
    explained,
    first_line,
    log,
    require_answer,
    require_workers,
    run_alone,
)
from toplist.errors import TopListError

_NEEDED = "the engine 'spark' needs pyspark: pip install 'toplist[spark]'."
_REMEDY = "give the address that the master's page shows, such as spark://10.0.0.1:7077, or none for this machine."


@dataclass(frozen=True, kw_only=True)
class Spark(Engine):
    """A session, the master of one to start, or a number of threads of this machine."""

    name: ClassVar[str] = "spark"
    session: Any = None
    master: str | None = None
    workers: int | None = None

    def __post_init__(self) -> None:
        require_workers(self.workers)
        if self.workers is not None and self.master is not None:
            raise TopListError(f"the master of Spark says how many workers there are: leave out {argument('workers')}.")

    @contextmanager
    def running(self) -> Iterator[Reduce]:
        """See `Engine`."""
        spark = load("pyspark.sql", _NEEDED)
        session = self.session
        if session is None and load("pyspark", _NEEDED).SparkContext._active_spark_context is not None:
            session = spark.SparkSession.builder.getOrCreate()  # the one of this process
        if session is not None:
            _require_master(session, self.master)
            yield partial(_reduced, session.sparkContext)
            return
        session = _new_session(spark, self.master or f"local[{self.workers or '*'}]")
        try:
            if session.sparkContext.uiWebUrl is not None:
                log.info("Spark's user interface: %s", session.sparkContext.uiWebUrl)
            yield partial(_reduced, session.sparkContext)
        finally:
            session.stop()


def _reduced(context: Any, work: Any, merge: Any, shared: Any, tasks: Sequence[Any], done: Done) -> Any:
    """The merged result, in one job; Spark's own page shows how far it is."""
    done(0, len(tasks))
    context.setJobDescription(f"toplist: {len(tasks):,} parts")
    try:
        parts = context.parallelize(tasks, len(tasks)).map(partial(run_alone, work, shared))
        result = parts.treeReduce(partial(_merged, merge))
    except Exception as error:
        raise explained(error, "Spark") from error
    finally:
        context.setJobDescription(None)
    done(len(tasks), len(tasks))
    return result


def _merged(merge: Callable[[Sequence[Any]], Any], first: Any, second: Any) -> Any:
    return merge([first, second])


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
        return builder.getOrCreate()
    except Exception as error:
        if "JAVA_GATEWAY_EXITED" in str(error) or isinstance(error, FileNotFoundError):
            raise TopListError(
                "Spark cannot start Java: install Java 17 or later, and let JAVA_HOME name its folder."
            ) from error
        raise TopListError(
            f"Spark cannot be started with the master {master!r} ({first_line(error)}): {_REMEDY}"
        ) from error
    finally:
        if python is None:
            os.environ.pop("PYSPARK_PYTHON", None)
