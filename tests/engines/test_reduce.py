"""What holds for Dask and Spark: a result is that of a loop, and what goes wrong is one sentence."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from tests.engines import work
from tests.engines.conftest import ENGINES
from toplist.engines import as_engine
from toplist.errors import ResourceError, TopListError

every_engine = pytest.mark.parametrize("engine", ENGINES, indirect=True)


def run(engine: Any, function: Any, tasks: list[str], seen: list[tuple[int, int]] | None = None) -> Any:
    with as_engine(engine).running() as reduce:
        done = seen if seen is not None else []
        return reduce(function, work.add_counts, tasks, "the", lambda count, total: done.append((count, total)))


@every_engine
@pytest.mark.parametrize("number", [1, 2, 35])
def test_the_result_is_that_of_a_loop(engine: Any, number: int) -> None:
    tasks, seen = [f"a the b{number % 7}" for number in range(number)], list[tuple[int, int]]()
    assert run(engine, work.count_words, tasks, seen) == sum(
        (Counter(a=1) + Counter([t[6:]]) for t in tasks), Counter()
    )
    assert seen[-1] == (number, number)


@pytest.mark.parametrize(
    ("engine", "task", "kind", "message"),
    [
        ("dask", "bug", TopListError, "could not finish a task: KeyError: 'a word that is not there'."),
        ("dask", "memory", ResourceError, "memory was too small: give workers more of it"),
        ("dask", "missing", TopListError, "ModuleNotFoundError: No module named 'toplist.evaluation'."),
        ("spark", "bug", TopListError, "could not finish a task: KeyError: 'a word that is not there'."),
    ],
    indirect=["engine"],
)
def test_what_a_task_raises_is_one_sentence(engine: Any, task: str, kind: type[TopListError], message: str) -> None:
    with pytest.raises(kind) as raised:
        run(engine, work.fail, ["a", task, "b"])
    assert message in str(raised.value)
    assert "\n" not in str(raised.value)


@every_engine
def test_a_task_that_kills_every_worker_is_an_error(engine: Any) -> None:
    with pytest.raises(ResourceError, match="lost the worker that ran a task each time it was run"):
        run(engine, work.always_killed, ["a", "kill"])
    assert run(engine, work.count_words, ["a"]) == {"a": 1}
