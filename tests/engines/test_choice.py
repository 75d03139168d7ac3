"""Which engine is meant, and what is said where it cannot be had."""

from __future__ import annotations

import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.engines import toys
from tests.engines.conftest import need
from toplist.engines import Dask, Engine, Local, Ray, Spark, as_engine
from toplist.engines.spark import _explain, _new_session
from toplist.errors import ResourceError, TopListError


@pytest.mark.parametrize(("name", "kind"), [("local", Local), ("dask", Dask), ("spark", Spark), ("ray", Ray)])
def test_a_name_is_the_engine_with_the_options_that_are_given(name: str, kind: type[Engine]) -> None:
    engine = as_engine(name, workers=3, task_cases=None, scheduler=None, master=None, address=None)
    assert engine == kind(workers=3)
    assert engine.name == name


def test_an_engine_stays_itself_with_further_options() -> None:
    engine = Dask(scheduler="tcp://10.0.0.1:8786")
    assert as_engine(engine) == engine
    assert as_engine(engine, task_cases=7, on_error="skip") == Dask(
        scheduler="tcp://10.0.0.1:8786", task_cases=7, on_error="skip"
    )


def test_a_client_and_a_session_are_their_engines(dask: Engine, spark: Engine) -> None:
    with dask.running() as pool, spark.running() as session:
        assert as_engine(pool._client) == Dask(client=pool._client)
        assert as_engine(session, task_cases=9) == Spark(session=session, task_cases=9)


@pytest.mark.parametrize(
    ("value", "options", "message"),
    [
        ("flink", {}, '\'flink\' is no engine: give one of "local", "dask", "spark", "ray"'),
        (3, {}, "3 is no engine"),
        ("local", {"scheduler": "tcp://a:1"}, "the engine 'local' has no option scheduler=...: it is one of 'dask'."),
        ("dask", {"master": "yarn"}, "the engine 'dask' has no option master=...: it is one of 'spark'."),
        (Local(), {"colour": 1}, "the engine 'local' has no option colour=...: it has on_error, partials, task_cases"),
        ("local", {"workers": 0}, "workers is a whole number of at least 1, not 0."),
        ("local", {"task_cases": True}, "task_cases is a whole number of at least 1, not True."),
        ("local", {"on_error": "pass"}, 'on_error is "stop" or "skip", not \'pass\'.'),
        ("dask", {"scheduler": "tcp://a:1", "workers": 2}, "leave out workers=..."),
        ("dask", {"scheduler": "tcp://a:1", "client": object()}, "a scheduler or a client for Dask, not both"),
        ("spark", {"master": "yarn", "session": object()}, "a master or a session for Spark, not both"),
        ("spark", {"master": "yarn", "workers": 2}, "leave out workers=..."),
        ("ray", {"address": "auto", "workers": 2}, "leave out workers=..."),
    ],
)
def test_an_engine_or_an_option_that_is_not_known_is_one_sentence(
    value: Any, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(TopListError) as raised:
        as_engine(value, **options)
    assert message in str(raised.value)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    ("engine", "package", "extra"),
    [(Dask(), "distributed", "dask"), (Spark(), "pyspark.sql", "spark"), (Ray(), "ray", "ray")],
    ids=str,
)
def test_a_missing_package_is_named_with_the_extra(
    engine: Engine, package: str, extra: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(TopListError, match=rf"pip install 'toplist\[{extra}\]'"):
        engine.reduce(toys.count_words, toys.add_counts, [b"a"], lambda done, total: None)


def nowhere() -> str:
    """An address of this machine where nothing listens."""
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        return f"127.0.0.1:{unused.getsockname()[1]}"


def test_a_scheduler_that_does_not_answer_is_one_sentence() -> None:
    need("distributed")
    address = f"tcp://{nowhere()}"
    with pytest.raises(TopListError, match=rf"^Dask cannot be reached at '{address}' \(Connection refused\): give the"):
        Dask(scheduler=address).reduce(toys.count_words, toys.add_counts, [b"a"], lambda done, total: None)


def test_a_scheduler_without_a_port_is_no_address() -> None:
    need("distributed")
    with pytest.raises(TopListError, match=r"'tcp://10.0.0.1' is no address for Dask: give the address"):
        Dask(scheduler="tcp://10.0.0.1").reduce(toys.count_words, toys.add_counts, [b"a"], lambda done, total: None)


def test_a_ray_that_does_not_answer_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    need("ray")
    monkeypatch.setattr("ray.is_initialized", lambda: False)
    address = nowhere()
    with pytest.raises(TopListError, match=rf"^Ray cannot be reached at '{address}' \(Connection refused\): give the"):
        Ray(address=address).reduce(toys.count_words, toys.add_counts, [b"a"], lambda done, total: None)


def test_a_spark_master_that_does_not_answer_is_one_sentence() -> None:
    address = f"spark://{nowhere()}"
    with pytest.raises(
        TopListError, match=rf"^Spark cannot be reached at '{address}' \(Connection refused\): give the"
    ):
        _new_session(None, address)


def test_another_master_than_that_of_the_active_session_is_refused(spark: Engine) -> None:
    with pytest.raises(TopListError, match=r"master 'local-cluster\[2,1,1024\]' is active in this process: stop it"):
        Spark(master="local[1]").reduce(toys.count_words, toys.add_counts, [b"a"], lambda done, total: None)


@pytest.mark.parametrize(
    ("text", "kind", "message"),
    [
        ("...\ntoplist.errors.ResourceError: the disk is full.\n", ResourceError, "the disk is full."),
        ("ModuleNotFoundError: No module named 'toplist'", TopListError, "toplist is not installed where the workers"),
        ("java.lang.OutOfMemoryError: Java heap space", ResourceError, "a worker of Spark ran out of memory"),
        ("ExecutorLostFailure (executor 3 exited)", ResourceError, "Spark lost the worker that ran a task"),
        ("Job 3 cancelled because SparkContext was shut down", TopListError, "Spark ended before the run did"),
        ("something\nelse", TopListError, "Spark could not finish a task: RuntimeError: something."),
    ],
)
def test_what_spark_reports_is_said_with_the_remedy(text: str, kind: type[TopListError], message: str) -> None:
    error = _explain(RuntimeError(text))
    assert type(error) is kind
    assert str(error).startswith(message)
    assert "\n" not in str(error)


def test_spark_without_java_says_what_to_install(tmp_path: Path) -> None:
    need("pyspark")
    script = """
from toplist.engines import Spark
try:
    Spark().reduce(len, len, [b""], print)
except ValueError as error:
    print(error)
"""
    environment = {"PATH": "/usr/bin:/bin", "JAVA_HOME": str(tmp_path)}
    command = [sys.executable, "-c", script]
    run = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60, check=True)
    assert run.stdout == "Spark cannot start Java: install Java 17 or later, and let JAVA_HOME name its folder.\n"


def test_engines_are_chosen_without_their_libraries() -> None:
    script = """
import sys
from toplist.engines import as_engine
for name in ("local", "dask", "spark", "ray"):
    as_engine(name)
print([name for name in ("distributed", "dask", "pyspark", "ray", "pandas", "pyarrow") if name in sys.modules])
"""
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=True)
    assert run.stdout == "[]\n"
