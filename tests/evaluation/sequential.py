"""An engine that runs tasks one by one in this process, in a random order, and merges them in a random tree."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from random import Random
from typing import Any, ClassVar

from toplist.engines.base import Done, Engine, Finish, Merge, Split, Work


@dataclass(frozen=True, kw_only=True)
class Sequential(Engine):
    """Whatever the order of tasks, of blocks and of merges is, it must not show."""

    name: ClassVar[str] = "sequential"
    seed: int = 0

    @contextmanager
    def _start(self) -> Iterator[Any]:
        yield self

    def reduce(self, work: Work, merge: Merge, tasks: Sequence[bytes], done: Done) -> bytes:
        random = Random(self.seed)  # noqa: S311  an order
        order = random.sample(list(tasks), len(tasks))
        results = []
        for at, task in enumerate(order):
            results.append(work(task))
            done(at + 1, len(tasks))
        return self._merged(results, merge, random)

    def shuffle(
        self, split: Split, finish: Finish, merge: Merge, tasks: Sequence[bytes], buckets: int, done: Done
    ) -> bytes:
        random = Random(self.seed)  # noqa: S311  an order
        held: dict[int, list[bytes]] = defaultdict(list)
        for at, task in enumerate(random.sample(list(tasks), len(tasks))):
            for bucket, block in split(task):
                held[bucket].append(block)
            done(at + 1, len(tasks) + buckets)
        results = [finish(bucket, random.sample(blocks, len(blocks))) for bucket, blocks in held.items()]
        return self._merged(results or [finish(0, [])], merge, random)

    def _merged(self, results: list[bytes], merge: Merge, random: Random) -> bytes:
        while len(results) > 1:
            random.shuffle(results)
            some = random.randint(2, min(4, len(results)))
            results = [merge(results[:some]), *results[some:]]
        return results[0]
