"""Engines: Dask and Spark, which run two functions for a comparison: score a part, and merge what parts gave.

In: functions, and what they are given. Out: one merged result. May import root modules and `core`: what is computed
lies in `evaluation`. Workers that are lost are replaced by Dask and Spark themselves, whose libraries are not imported
before an engine is started.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from toplist._text import argument
from toplist.core.arguments import as_whole
from toplist.engines import dask, spark
from toplist.engines.base import Engine
from toplist.errors import TopListError

NAMES = ("dask", "spark")
"""Engines by name."""


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
        return Engine("dask", partial(dask.running, value))
    if package == "pyspark" and hasattr(value, "sparkContext"):  # a session of Spark Connect has none
        return Engine("spark", partial(spark.running, value))
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
    return Engine(value, partial(dask.running if value == "dask" else spark.running, None, address, workers))
