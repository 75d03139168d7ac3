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
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import Any

from toplist._files import load
from toplist.engines.base import Done, Reduce, explained, first_line, log, require_answer
from toplist.errors import TopListError

_NEEDED = "the engine 'spark' needs pyspark: pip install 'toplist[spark]'."


@contextmanager
def running(session: Any = None, master: str | None = None, workers: int | None = None) -> Iterator[Reduce]:
    """Within this, tasks are run by a session, by that of this process, by a master, or by processes started here."""
    builder = load("pyspark.sql", _NEEDED).SparkSession.builder
    with ExitStack() as opened:
        if session is None and load("pyspark", _NEEDED).SparkContext._active_spark_context is not None:
            session = builder.getOrCreate()  # the one of this process
        if session is None:
            session = _session(builder, master or f"local[{workers or '*'}]")
            opened.callback(session.stop)
        context = session.sparkContext
        if master not in (None, context.master):
            raise TopListError(
                f"a Spark session with the master {context.master!r} is active in this process: stop it, or leave "
                "master out."
            )
        log.info("Spark's user interface: %s", context.uiWebUrl)
        yield partial(_reduced, context)


def _session(builder: Any, master: str) -> Any:
    """A new session."""
    settings = {"spark.ui.showConsoleProgress": "false", "spark.log.level": "ERROR"}
    python = os.environ.get("PYSPARK_PYTHON")
    try:
        if master.startswith("spark://") and "," not in master:  # there may be several
            require_answer(master)
        if python is None and master.startswith("local"):
            os.environ["PYSPARK_PYTHON"] = sys.executable  # else the first Python of the path, whatever it has
        return builder.master(master).appName("toplist").config(map=settings).getOrCreate()
    except Exception as error:
        problem = (
            f"Spark cannot be started with the master {master!r} ({first_line(error)}): give the address that the "
        )
        problem += "master's page shows, such as spark://10.0.0.1:7077, or none for this machine."
        if "JAVA_GATEWAY_EXITED" in str(error) or isinstance(error, FileNotFoundError):
            problem = "Spark cannot start Java: install Java 17 or later, and let JAVA_HOME name its folder."
        raise TopListError(problem) from error
    finally:
        if python is None:
            os.environ.pop("PYSPARK_PYTHON", None)


def _reduced(context: Any, work: Any, merge: Any, tasks: Sequence[Any], shared: Any, done: Done) -> Any:
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
