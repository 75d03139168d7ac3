"""Databases in memory are used again, one user at a time, and show nothing of an earlier one."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import toplist as tl
from toplist.core import kernel
from toplist.io.readers import base as engines
from toplist.io.readers.base import connect

duckdb = pytest.importorskip("duckdb", reason="needs duckdb")


@pytest.fixture(autouse=True)
def started(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Any]]:
    """Those that are started during a test, which begins without idle ones."""
    engines._close()
    made: list[Any] = []
    start = engines._started

    def counted(*settings: Any) -> Any:
        made.append(start(*settings))
        return made[-1]

    monkeypatch.setattr(engines, "_started", counted)
    yield made
    engines._close()


def test_one_after_the_other_use_one_database(started: list[Any]) -> None:
    for number in range(3):
        with connect() as engine:
            assert engine.execute(f"SELECT {number}").fetchall() == [(number,)]
    assert len(started) == 1


def test_two_at_a_time_use_two(started: list[Any]) -> None:
    with connect() as one, connect() as other:
        one.execute("CREATE TEMP TABLE t AS SELECT 1 AS a")
        with pytest.raises(duckdb.CatalogException):
            other.execute("FROM t")
    assert len(started) == 2


def test_nothing_of_an_earlier_user_is_there(started: list[Any]) -> None:
    with connect() as engine:
        engine.execute("CREATE TEMP TABLE made AS SELECT 1 AS a")
        engine.register("stream", pa.table({"a": [1]}))
        assert engine.execute("SELECT count(*) FROM made, stream").fetchall() == [(1,)]
    with connect() as engine:
        for name in ("made", "stream"):
            with pytest.raises(duckdb.CatalogException):
                engine.execute(f"FROM {name}")
        assert engine.execute("SELECT current_setting('enable_progress_bar')").fetchall() == [(False,)]
    assert len(started) == 1


def test_one_that_was_stopped_by_an_error_is_not_used_again(started: list[Any]) -> None:
    with pytest.raises(tl.FileError), connect() as engine:
        engine.execute("FROM nowhere")
    with pytest.raises(ZeroDivisionError), connect() as engine:
        raise ZeroDivisionError
    with connect() as engine:
        engine.execute("SELECT 1")
    assert len(started) == 3


def test_one_whose_reader_was_given_up_halfway_is_not_used_again(started: list[Any]) -> None:
    def rows() -> Iterator[Any]:
        with connect() as engine:
            yield from engine.sql("FROM range(100000)").to_arrow_reader(1000)

    reading = rows()
    next(reading)
    reading.close()
    assert sum(len(batch) for batch in rows()) == 100_000
    assert len(started) == 2


def test_one_that_has_written_temporary_files_is_not_used_again(
    started: list[Any], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setenv("TOPLIST_MEMORY", "30MB")
    monkeypatch.setenv("TOPLIST_THREADS", "1")
    with connect() as engine:
        engine.execute("CREATE TEMP TABLE t AS SELECT range AS a, hash(range) AS b FROM range(4_000_000)")
        (folder,) = tmp_path.iterdir()
        assert any(file.suffix == ".tmp" for file in folder.iterdir())
    assert list(tmp_path.iterdir()) == []
    assert not engines._idle  # it is closed: open files would take their space on disk
    with connect() as engine:
        engine.execute("SELECT 1")
    assert len(started) == 2


def test_other_settings_are_another_database(started: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    setting = "SELECT current_setting('threads'), current_setting('memory_limit')"
    with connect() as engine:
        usual = engine.execute(setting).fetchall()
    monkeypatch.setenv("TOPLIST_MEMORY", "512MiB")
    with kernel.one_thread(), connect() as engine:
        assert engine.execute(setting).fetchall() == [(1, "512.0 MiB")] != usual
    monkeypatch.delenv("TOPLIST_MEMORY")
    with connect() as engine:
        assert engine.execute(setting).fetchall() == usual
    assert len(started) == 2


def test_few_are_kept(started: list[Any]) -> None:
    with ExitStack() as stack:
        for _ in range(engines._MOST + 2):
            stack.enter_context(connect())
    assert len(engines._idle) == engines._MOST


_FORKED = """
import os
from toplist.io.readers import base as engines

def threads():
    return len(os.listdir("/proc/self/task"))

with engines.connect() as engine:
    engine.execute("SELECT sum(range) FROM range(100000)")
before, idle = threads(), len(engines._idle)
child = os.fork()
if child == 0:
    status = 1
    try:
        with engines.connect() as engine:
            status = 0 if engine.execute("SELECT 7").fetchall() == [(7,)] else 2
        engines._close()
    finally:
        os._exit(status)
ended = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
print(ended, idle, len(engines._idle), threads() < before)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="threads are counted in /proc")
def test_idle_ones_are_closed_before_a_process_forks() -> None:
    """Their threads would be missing in the new process; in a process of its own, where nothing else has threads."""
    made = subprocess.run(
        [sys.executable, "-c", _FORKED],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "TOPLIST_THREADS": "4"},
    )
    assert made.stdout.split() == ["0", "1", "0", "True"]


def test_what_is_no_amount_of_memory_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOPLIST_MEMORY", "much")
    with pytest.raises(tl.TopListError, match="TOPLIST_MEMORY='much' is no amount of memory"), connect():
        pass


def test_comparing_small_files_again_starts_nothing(started: list[Any], tmp_path: Path) -> None:
    (tmp_path / "p.csv").write_text("id,class,p\n3,a,0.5\n3,b,0.2\n1,a,0.6\n2,b,0.5\n")
    (tmp_path / "y.csv").write_text("id,outcome\n3,a\n1,b\n2,b\n")
    first = tl.compare({"p": tmp_path / "p.csv"}, tmp_path / "y.csv", space=4)
    begun = len(started)
    again = tl.compare({"p": tmp_path / "p.csv"}, tmp_path / "y.csv", space=4)
    assert again.to_dict() == first.to_dict()
    assert len(started) == begun <= 3
