"""An engine that runs parts one by one in this process, in a random order, and merges them in a random tree."""

from __future__ import annotations

import pickle
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from random import Random
from typing import Any

from toplist.engines import Done, Engine, Reduce


def sequential(seed: int, ran: list[int]) -> Engine:
    """Whatever the order of parts and merges is, it must not show; how many parts each run had is added to a list."""

    @contextmanager
    def running() -> Iterator[Reduce]:
        random = Random(seed)  # noqa: S311  an order

        def reduce(work: Any, merge: Any, tasks: Sequence[Any], shared: Any, done: Done) -> Any:
            ran.append(len(tasks))
            results = []
            for at, task in enumerate(random.sample(list(tasks), len(tasks)), 1):
                results.append(_sent(work(_sent(task), _sent(shared))))
                done(at, len(tasks))
            while len(results) > 1:
                random.shuffle(results)
                some = random.randint(2, min(4, len(results)))
                results = [_sent(merge(results[:some])), *results[some:]]
            return results[0]

        yield reduce

    return Engine("sequential", running)


def _sent(value: Any) -> Any:
    """What goes from process to process."""
    return pickle.loads(pickle.dumps(value))  # noqa: S301  made here
