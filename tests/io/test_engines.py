"""Databases in memory: each has one user, the caller's settings, and leaves nothing."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import toplist as tl
from toplist.core import kernel
from toplist.io.readers.base import connect

duckdb = pytest.importorskip("duckdb", reason="needs duckdb")


def test_two_at_a_time_do_not_see_each_other() -> None:
    with connect("x") as one, connect("x") as other:
        one.execute("CREATE TEMP TABLE t AS SELECT 1 AS a")
        with pytest.raises(duckdb.CatalogException):
            other.execute("FROM t")


def test_a_reader_that_is_given_up_halfway_is_in_nobodys_way() -> None:
    def rows() -> Iterator[Any]:
        with connect("x") as engine:
            yield from engine.sql("FROM range(100000)").to_arrow_reader(1000)

    reading = rows()
    next(reading)
    reading.close()
    assert sum(len(batch) for batch in rows()) == 100_000


def test_temporary_files_are_gone_afterwards(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setenv("TOPLIST_MEMORY", "30MB")
    monkeypatch.setenv("TOPLIST_THREADS", "1")
    with connect("x") as engine:
        engine.execute("CREATE TEMP TABLE t AS SELECT range AS a, hash(range) AS b FROM range(4_000_000)")
        (folder,) = tmp_path.iterdir()
        assert any(file.suffix == ".tmp" for file in folder.iterdir())
    assert list(tmp_path.iterdir()) == []


def test_threads_and_memory_are_those_that_are_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOPLIST_MEMORY", "512MiB")
    with kernel.one_thread(), connect("x") as engine:
        setting = "SELECT current_setting('threads'), current_setting('memory_limit')"
        assert engine.execute(setting).fetchall() == [(1, "512.0 MiB")]


def test_what_is_no_amount_of_memory_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOPLIST_MEMORY", "much")
    with pytest.raises(tl.TopListError, match="TOPLIST_MEMORY='much' is no amount of memory"), connect("x"):
        pass
