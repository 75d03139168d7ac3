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


def run(value: Any, **options: Any) -> Any:
    with as_engine(value, **options).running() as reduce:
        return reduce(work.count_words, work.add_counts, ["a b", "b"], "", lambda done, total: None)


def test_what_runs_already_is_used_and_left_running(dask: Any, spark: Any, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "toplist")
    counted = {"a": 1, "b": 2}
    assert [run(dask), run(as_engine(dask))] == [counted] * 2
    assert caplog.messages == [f"Dask's dashboard: {dask.dashboard_link}"] * 2
    assert [run("dask", scheduler=dask.scheduler.address) for _ in range(2)] == [counted] * 2
    assert [run(spark), run("spark"), run("spark")] == [counted] * 3


@pytest.mark.parametrize(
    ("value", "options", "message"),
    [
        ("flink", {}, '\'flink\' is no engine: give "dask", "spark", a Dask client or a SparkSession.'),
        ("local", {}, "'local' is no engine"),
        (3, {}, "3 is no engine"),
        ("dask", {"master": "yarn"}, "master=... goes with engine='spark'."),
        ("spark", {"scheduler": "tcp://a:1"}, "scheduler=... goes with engine='dask'."),
        ("dask", {"workers": 0}, "workers is a whole number, at least 1, not 0."),
        ("spark", {"workers": True}, "workers is a whole number, at least 1, not True."),
        ("dask", {"scheduler": "tcp://a:1", "workers": 2}, "leave out workers=..."),
        ("spark", {"master": "yarn", "workers": 2}, "leave out workers=..."),
    ],
)
def test_an_engine_or_an_option_that_is_not_known_is_one_sentence(
    value: Any, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(TopListError) as raised:
        as_engine(value, **options)
    assert message in str(raised.value)
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
        run("dask", scheduler=address)


def test_another_master_than_that_of_the_active_session_is_refused(spark: Any) -> None:
    with pytest.raises(TopListError, match=r"master 'local-cluster\[2,1,1024\]' is active in this process: stop it"):
        run("spark", master="local[1]")


@pytest.mark.parametrize(
    ("text", "kind", "message"),
    [
        ("ModuleNotFoundError: No module named 'toplist'", TopListError, "toplist is not installed where the workers"),
        ("java.lang.OutOfMemoryError: Java heap space", ResourceError, "a worker of Spark ran out of memory"),
        ("ExecutorLostFailure (executor 3 exited)", ResourceError, "Spark lost the worker that ran a task"),
        ("Job 3 cancelled because SparkContext was shut down", TopListError, "Spark ended before the run did"),
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
    with as_engine("spark", master=MASTER).running():
        pass
except ValueError as error:
    print(error)
"""

    def said(master: str) -> str:
        command = [sys.executable, "-c", script.replace("MASTER", master)]
        environment = {"PATH": "/usr/bin:/bin", "JAVA_HOME": str(tmp_path)}
        return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60, check=True).stdout

    without = "Spark cannot start Java: install Java 17 or later, and let JAVA_HOME name its folder.\n"
    assert said("None") == without
    assert said("'spark://127.0.0.1:9'").startswith("Spark cannot be started with the master 'spark://127.0.0.1:9' (")


def test_engines_are_chosen_without_their_libraries() -> None:
    script = """
import sys
from toplist.engines import as_engine
as_engine("dask"), as_engine("spark")
print([name for name in ("distributed", "dask", "pyspark", "pandas", "pyarrow") if name in sys.modules])
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout == "[]\n"
