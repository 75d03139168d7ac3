"""One engine of each kind for all tests, started when it is first used."""

from __future__ import annotations

import importlib.util
import os
import shutil
import warnings
from collections.abc import Iterator
from pathlib import Path

import pytest

from toplist.engines import Dask, Engine, Local, Ray, Spark

ENGINES = ["one process", "two processes", "dask", "spark", "ray"]
PROCESSES = ENGINES[1:]
"""Engines whose workers can be killed."""
ROOT = Path(__file__).parents[2]


def need(package: str) -> None:
    if importlib.util.find_spec(package) is None:
        pytest.skip(f"{package} is not installed")


@pytest.fixture(scope="session")
def one_process() -> Iterator[Engine]:
    with (engine := Local(workers=1)).running():
        yield engine


@pytest.fixture(scope="session")
def two_processes() -> Iterator[Engine]:
    with (engine := Local(workers=2)).running():
        yield engine


@pytest.fixture(scope="session")
def dask() -> Iterator[Engine]:
    need("distributed")
    with (engine := Dask(workers=2)).running():
        yield engine


SPARK_SETTINGS = """
spark.ui.enabled                 false
spark.sql.codegen.wholeStage     false
spark.driver.extraJavaOptions    -XX:TieredStopAtLevel=1
spark.executor.extraJavaOptions  -XX:TieredStopAtLevel=1
"""
"""Settings under which Java starts faster, and computes slower."""


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    """Two executors, each a process of its own with a core and 1 GB."""
    need("pyspark")
    if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
        pytest.skip("Java is not installed")
    settings = tmp_path_factory.mktemp("spark") / "spark-defaults.conf"
    settings.write_text(SPARK_SETTINGS, encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SPARK_CONF_DIR", str(settings.parent))
        patch.setenv("SPARK_LOCAL_IP", "127.0.0.1")
        patch.setenv("PYTHONPATH", str(ROOT))  # where executors find the functions of these tests
        patch.delenv("PYSPARK_PYTHON", raising=False)
        engine = Spark(master="local-cluster[2,1,1024]")
        with engine.running():
            yield engine


@pytest.fixture(scope="session")
def ray() -> Iterator[Engine]:
    need("ray")
    engine = Ray(workers=2)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")  # else it warns that it will be so one day
        patch.setenv("RAY_IGNORE_UNHANDLED_ERRORS", "1")
        patch.setenv("PYTHONPATH", str(ROOT))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ResourceWarning)  # files that Ray opens for its logs
            running = engine.running()
            running.__enter__()
        try:
            yield engine
        finally:
            running.__exit__(None, None, None)


@pytest.fixture
def engine(request: pytest.FixtureRequest) -> Engine:
    found: Engine = request.getfixturevalue(request.param.replace(" ", "_"))
    return found
