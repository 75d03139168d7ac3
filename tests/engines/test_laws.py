"""What holds for every engine: results are those of a loop, whatever fails on the way."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path

import pytest

from tests.engines import toys
from tests.engines.conftest import ENGINES, PROCESSES
from tests.engines.killing import killing
from toplist.engines import Engine
from toplist.errors import ResourceError, TopListError

every_engine = pytest.mark.parametrize("engine", ENGINES, indirect=True)
every_process = pytest.mark.parametrize("engine", PROCESSES, indirect=True)


def words(count: int) -> list[bytes]:
    return [f"{'abcdefgh'[number % 8]} a {'abc'[number % 3]} {number}".encode() for number in range(count)]


def counted(tasks: list[bytes]) -> bytes:
    """What engines should find."""
    return toys.encode(Counter(b" ".join(tasks).decode().split()))


def ignored(done: int, total: int) -> None:
    """Progress that nobody sees."""


@every_engine
@pytest.mark.parametrize("count", [1, 18])
def test_results_of_any_number_of_tasks_are_merged(engine: Engine, count: int) -> None:
    seen: list[tuple[int, int]] = []
    result = engine.reduce(
        toys.count_words, toys.add_counts, words(count), lambda done, total: seen.append((done, total))
    )
    assert result == counted(words(count))
    assert seen == sorted(set(seen))
    assert seen[-1] == (count, count)


@every_engine
def test_a_shuffle_brings_rows_with_the_same_key_together(engine: Engine) -> None:
    tasks, seen = words(6), list[tuple[int, int]]()
    result = engine.shuffle(
        toys.split_words, toys.count_bucket, toys.add_counts, tasks, toys.BUCKETS, lambda *count: seen.append(count)
    )
    assert result == counted(tasks)
    assert seen == sorted(set(seen))
    assert seen[-1] == (len(tasks) + toys.BUCKETS, len(tasks) + toys.BUCKETS)


@every_engine
def test_a_bucket_without_rows_has_no_result(engine: Engine) -> None:
    result = engine.shuffle(toys.split_one_bucket, toys.measure_blocks, toys.add_counts, [b"a", b"b"], 5, ignored)
    assert result == toys.add_counts([toys.measure_blocks(3, [b"a", b"b"]), b"{}"])
    nothing = engine.shuffle(toys.split_nothing, toys.measure_blocks, toys.add_counts, [b"a", b"b"], 5, ignored)
    assert nothing == toys.measure_blocks(0, [])


@every_engine
def test_blocks_that_are_empty_or_larger_than_a_row_of_spark_arrive_whole(engine: Engine) -> None:
    result = engine.shuffle(toys.split_large, toys.measure_blocks, toys.add_counts, [b"a", b"b", b""], 3, ignored)
    blocks = {
        bucket: [block for task in (b"a", b"b", b"") for at, block in toys.split_large(task) if at == bucket]
        for bucket in range(3)
    }
    assert result == toys.add_counts([toys.measure_blocks(bucket, found) for bucket, found in blocks.items()])


@every_engine
def test_a_task_that_fails_as_data_says_is_merged_like_the_others(engine: Engine) -> None:
    result = engine.reduce(toys.fail_as_data, toys.add_counts, [b"a b", b"bad", b"b"], ignored)
    assert toys.decode(result) == {"a": 1, "b": 2, "failures": 1}


@every_engine
def test_an_exception_is_one_sentence_and_the_engine_works_on(engine: Engine) -> None:
    with pytest.raises(TopListError, match="could not finish a task: KeyError: 'a word that is not there'") as raised:
        engine.reduce(toys.fail, toys.add_counts, [b"a", b"bug", b"b"], ignored)
    assert "\n" not in str(raised.value)
    assert engine.reduce(toys.fail, toys.add_counts, [b"a", b"b"], ignored) == toys.encode(Counter("ab"))


@pytest.mark.parametrize("engine", [name for name in ENGINES if name != "spark"], indirect=True)
@pytest.mark.parametrize(
    ("task", "kind", "message"),
    [
        (b"own", TopListError, "the task says what is wrong."),
        (b"full", ResourceError, "the disk is full."),
        (b"memory", ResourceError, "a worker of .* ran out of memory: give workers more of it, or make tasks smaller"),
        (b"missing", TopListError, "toplist is not installed where the workers of .* run: install the version there"),
    ],
)
def test_what_is_wrong_on_a_worker_is_said_with_the_remedy(
    engine: Engine, task: bytes, kind: type[TopListError], message: str
) -> None:
    with pytest.raises(TopListError, match=message) as raised:
        engine.reduce(toys.fail, toys.add_counts, [b"a", task, b"b"], ignored)
    assert type(raised.value) is kind


@every_process
def test_workers_leave_cores_to_each_other(engine: Engine) -> None:
    result = toys.decode(engine.reduce(toys.count_threads, toys.add_counts, [b""] * 2, ignored))
    assert all(int(name.partition("=")[2]) <= max(1, (os.cpu_count() or 1) // 2) for name in result)


@every_process
def test_a_worker_that_is_killed_by_its_process_id_does_not_show(engine: Engine, tmp_path: Path) -> None:
    tasks = words(4)
    with killing(tmp_path) as killed:
        result = engine.reduce(
            toys.wait_and_count, toys.add_counts, [f"{tmp_path} ".encode() + task for task in tasks], ignored
        )
    assert result == counted(tasks)
    assert killed


@every_process
def test_a_worker_that_is_killed_in_the_middle_of_a_split_leaves_no_block_twice(engine: Engine, tmp_path: Path) -> None:
    tasks = [f"{tmp_path} {task.decode()}".encode() for task in words(3)]
    result = engine.shuffle(toys.split_after_kill, toys.count_bucket, toys.add_counts, tasks, toys.BUCKETS, ignored)
    assert result == counted(tasks)
    assert (tmp_path / "killed-in-split").exists()


@every_process
def test_a_task_that_always_loses_its_worker_is_one_sentence(engine: Engine) -> None:
    with pytest.raises(ResourceError, match=r"lost the worker that ran a task each time it was run.*task_cases"):
        engine.reduce(toys.always_killed, toys.add_counts, [b"a", b"kill", b"b"], ignored)
    assert engine.reduce(toys.always_killed, toys.add_counts, [b"a", b"b"], ignored) == toys.encode(Counter("ab"))


@pytest.mark.parametrize("engine", ["two processes", "dask", "ray"], indirect=True)
def test_runs_that_fail_again_and_again_do_not_harm_this_process(engine: Engine) -> None:
    """To cancel tasks that are about to end aborts the process of Ray's driver, now and then."""
    for _ in range(40):
        with pytest.raises(TopListError, match="KeyError"):
            engine.reduce(toys.fail, toys.add_counts, [b"a", b"bug", b"b", b"c"], ignored)
