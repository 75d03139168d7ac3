"""A Dask client and a Spark session for all tests, started when they are first used."""

from __future__ import annotations

import importlib.util
import logging
import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

ENGINES = ["dask", "spark"]
ROOT = Path(__file__).parents[2]
SPARK_SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.log.level": "OFF",
    "spark.task.maxFailures": "2",
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1",
    "spark.executor.extraJavaOptions": "-XX:TieredStopAtLevel=1",
}
"""Settings under which Java starts faster, and computes slower; a part is run twice at most."""


def need(package: str) -> None:
    if importlib.util.find_spec(package) is None:
        pytest.skip(f"{package} is not installed")


@pytest.fixture(scope="session")
def dask() -> Iterator[Any]:
    """Two workers, each a process of its own."""
    need("distributed")
    import distributed

    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address="127.0.0.1:0", silence_logs=logging.CRITICAL
        ) as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        yield client


@pytest.fixture(scope="session")
def spark() -> Iterator[Any]:
    """Two executors, each a process of its own with a core and 1 GB."""
    need("pyspark")
    if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
        pytest.skip("Java is not installed")
    from pyspark.sql import SparkSession

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SPARK_LOCAL_IP", "127.0.0.1")
        patch.setenv("PYTHONPATH", str(ROOT))  # where executors find the functions of these tests
        patch.setenv("PYSPARK_PYTHON", sys.executable)
        session = SparkSession.builder.master("local-cluster[2,1,1024]").config(map=SPARK_SETTINGS).getOrCreate()
        yield session
        session.stop()


@pytest.fixture
def engine(request: pytest.FixtureRequest) -> Any:
    return request.getfixturevalue(request.param)
