"""An engine that runs parts one by one in this process, in a random order, and merges them in a random tree."""

from __future__ import annotations

import pickle
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from random import Random
from typing import Any, ClassVar

from toplist.engines.base import Done, Engine, Reduce


@dataclass(frozen=True, kw_only=True)
class Sequential(Engine):
    """Whatever the order of parts and of merges is, it must not show; everything goes from process to process."""

    name: ClassVar[str] = "sequential"
    seed: int = 0
    ran: list[int] = field(default_factory=list)  # how many parts each run had

    @contextmanager
    def running(self) -> Iterator[Reduce]:
        random = Random(self.seed)  # noqa: S311  an order

        def reduce(work: Any, merge: Any, shared: Any, tasks: Sequence[Any], done: Done) -> Any:
            self.ran.append(len(tasks))
            results = []
            for at, task in enumerate(random.sample(list(tasks), len(tasks)), 1):
                results.append(_sent(work(_sent(shared), _sent(task))))
                done(at, len(tasks))
            while len(results) > 1:
                random.shuffle(results)
                some = random.randint(2, min(4, len(results)))
                results = [_sent(merge(results[:some])), *results[some:]]
            return results[0]

        yield reduce


def _sent(value: Any) -> Any:
    return pickle.loads(pickle.dumps(value))  # noqa: S301  made here
