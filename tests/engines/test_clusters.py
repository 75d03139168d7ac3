"""Clusters that run already are used and left running, and show what is done."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from tests.engines import toys
from toplist.engines import Dask, Engine, Ray, Spark

TASKS = [b"a b", b"b"]
COUNTED = b'{"a": 1, "b": 2}'


def run(engine: Engine) -> bytes:
    return engine.reduce(toys.count_words, toys.add_counts, TASKS, lambda done, total: None)


def test_a_dask_client_is_used_and_its_dashboard_named(dask: Engine, caplog: pytest.LogCaptureFixture) -> None:
    with dask.running() as pool, caplog.at_level(logging.INFO, "toplist"):
        assert run(Dask(client=pool._client)) == COUNTED
        assert run(Dask(client=pool._client)) == COUNTED
    assert caplog.messages == [f"Dask's dashboard: {pool._client.dashboard_link}"] * 2


def test_a_dask_scheduler_is_used_by_its_address(dask: Engine) -> None:
    with dask.running() as pool:
        address = pool._client.scheduler.address
        assert run(Dask(scheduler=address)) == COUNTED
        assert run(Dask(scheduler=address)) == COUNTED


def test_a_spark_session_is_used_and_jobs_have_names(spark: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    with spark.running() as session:
        named: list[str] = []
        set_group = type(session.sparkContext).setJobGroup

        def recorded(self: Any, group: str, description: str, *more: Any, **options: Any) -> None:
            named.append(description)
            set_group(self, group, description, *more, **options)

        monkeypatch.setattr(type(session.sparkContext), "setJobGroup", recorded)
        size = session.conf.get("spark.sql.execution.arrow.maxRecordsPerBatch")
        assert run(Spark(session=session)) == COUNTED
        assert run(Spark()) == COUNTED
        assert named == ["toplist: score 2 tasks"] * 2
        assert session.conf.get("spark.sql.execution.arrow.maxRecordsPerBatch") == size


def test_a_ray_that_this_process_is_connected_to_is_used(ray: Engine) -> None:
    assert run(Ray()) == COUNTED
    assert run(Ray()) == COUNTED
