"""Which engine is meant: by its name, or by a client or session of its library."""

from __future__ import annotations

from typing import Any

from toplist._text import argument
from toplist.engines.base import Engine
from toplist.engines.dask import Dask
from toplist.engines.spark import Spark
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
    if isinstance(value, Engine):
        return value
    package, kind = type(value).__module__.partition(".")[0], type(value).__name__
    if package == "distributed" and kind == "Client":
        return Dask(client=value)
    if package == "pyspark" and kind == "SparkSession":
        return Spark(session=value)
    if value == "dask":
        if master is not None:
            raise TopListError(f"{argument('master')} goes with {argument('engine', 'spark')}.")
        return Dask(scheduler=scheduler, workers=workers)
    if value == "spark":
        if scheduler is not None:
            raise TopListError(f"{argument('scheduler')} goes with {argument('engine', 'dask')}.")
        return Spark(master=master, workers=workers)
    raise TopListError(f'{value!r} is no engine: give "dask", "spark", a Dask client or a SparkSession.')
