"""Which engine is meant, and what is said where it cannot be had."""

from __future__ import annotations

import logging
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.engines import work
from tests.engines.conftest import need
from toplist.engines import as_engine, explained
from toplist.errors import ResourceError, TopListError


def run(value: Any) -> Any:
    with as_engine(value).running() as reduce:
        return reduce(work.count_words, work.add_counts, ["a b", "b"], "", lambda done, total: None)


def test_what_runs_already_is_used_and_left_running(dask: Any, spark: Any, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "toplist")
    counted = {"a": 1, "b": 2}
    assert [run(dask), run(as_engine(dask))] == [counted] * 2
    assert caplog.messages == [f"Dask's dashboard: {dask.dashboard_link}"] * 2
    assert [run(f"dask={dask.scheduler.address}") for _ in range(2)] == [counted] * 2
    assert [run(spark), run("spark"), run("spark")] == [counted] * 3


@pytest.mark.parametrize("value", ["flink", "local", 3, "dask=", "dask=0", "spark=00", "4", "=4", None])
def test_what_is_no_engine_is_refused_in_one_sentence(value: Any) -> None:
    with pytest.raises(TopListError) as raised:
        as_engine(value)
    assert str(raised.value).startswith(f"{value!r} is no engine: give dask or spark, dask=4 for so many processes")
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(("name", "package"), [("dask", "distributed"), ("spark", "pyspark.sql")])
def test_a_missing_package_is_named_with_the_extra(name: str, package: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(TopListError, match=rf"pip install 'toplist\[{name}\]'"):
        run(name)


@pytest.mark.parametrize("address", ["tcp://127.0.0.1:9", "tcp://nowhere.invalid:1", "no/address"])
def test_an_address_that_does_not_answer_is_one_sentence(address: str) -> None:
    need("distributed")
    with pytest.raises(TopListError, match=rf"^Dask cannot be reached at '{address}' \(.*\): give the address that"):
        run(f"dask={address}")


@pytest.mark.parametrize(
    ("text", "kind", "message"),
    [
        ("java.lang.OutOfMemoryError: Java heap space", ResourceError, "Spark lost the worker that ran a task"),
        ("ExecutorLostFailure (executor 3 exited)", ResourceError, "Spark lost the worker that ran a task"),
        (
            "Job 3 cancelled: it was shut down",
            TopListError,
            "Spark could not finish a task: RuntimeError: Job 3 cancel",
        ),
        ("something\nelse", TopListError, "Spark could not finish a task: RuntimeError: something."),
        ("a\nKeyError: 'b'\n  at c", TopListError, "Spark could not finish a task: KeyError: 'b'."),
    ],
)
def test_what_spark_reports_is_said_with_the_remedy(text: str, kind: type[TopListError], message: str) -> None:
    error = explained(RuntimeError(text), "Spark")
    assert type(error) is kind
    assert str(error).startswith(message)
    assert "\n" not in str(error)


def test_spark_without_java_or_without_its_master_is_one_sentence(tmp_path: Path) -> None:
    need("pyspark")
    script = """
from toplist.engines import as_engine
try:
    with as_engine(ENGINE).running():
        pass
except ValueError as error:
    print(error)
"""

    def said(engine: str) -> str:
        command = [sys.executable, "-c", script.replace("ENGINE", repr(engine))]
        environment = {"PATH": "/usr/bin:/bin", "JAVA_HOME": str(tmp_path)}
        return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60, check=True).stdout

    here, there = said("spark"), said("spark=spark://127.0.0.1:9")
    assert here.startswith("Spark cannot be started here (")
    assert here.endswith("on this machine, Spark needs Java 17 or later.\n")
    assert there.startswith("Spark cannot be reached at 'spark://127.0.0.1:9' (")
    assert (here + there).count("\n") == 2


def test_engines_are_chosen_without_their_libraries() -> None:
    script = """
import sys
from toplist.engines import as_engine
as_engine("dask"), as_engine("spark")
print([name for name in ("distributed", "dask", "pyspark", "pandas", "pyarrow") if name in sys.modules])
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout == "[]\n"
