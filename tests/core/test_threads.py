"""Work on items by several threads: results come in order, few items wait, and one thread is this one."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator

import pytest

from toplist.core import kernel


@pytest.mark.parametrize("count", [1, 2, 5])
def test_results_come_in_order_and_few_items_are_taken_ahead(count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernel, "threads", lambda: count)
    taken: list[int] = []

    def items() -> Iterator[int]:
        for item in range(20):
            taken.append(item)
            yield item

    def work(item: int) -> int:
        time.sleep(0.002 * (item % 3))
        return item * item

    found = []
    for at, result in enumerate(kernel.parallel_map(work, items())):
        assert len(taken) - at <= count + 1
        found.append(result)
    assert found == [item * item for item in range(20)]


def test_with_one_thread_nothing_runs_beside_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernel, "threads", lambda: 1)
    here = threading.get_ident()
    assert list(kernel.parallel_map(lambda _: threading.get_ident(), iter(range(3)))) == [here] * 3
