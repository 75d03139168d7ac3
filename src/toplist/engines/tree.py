"""The merge tree of engines that submit jobs one by one: results are merged in groups as they come.

A straggler delays its own group alone, and whoever drives the tree holds few results at a time.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator
from typing import Protocol, TypeVar

from toplist.engines.base import FAN_IN, Done, Merge

Job = TypeVar("Job")


class JobPool(Protocol[Job]):
    """Where jobs run. A job stands for its result, which need not be in this process."""

    @property
    def window(self) -> int:
        """How many jobs are worth having under way."""

    def merge(self, merge: Merge, jobs: list[Job]) -> Job:
        """Submit the merging of results."""

    def completed(self, jobs: Collection[Job]) -> Iterable[Job]:
        """Wait until at least one of these jobs is done, and say which are; raise the error of one that failed."""

    def abandon(self, jobs: Collection[Job], *, interrupted: bool) -> None:
        """Start none of these jobs; those that run may end, unless the user stopped the run."""


def completed_jobs(pool: JobPool[Job], jobs: Iterator[Job]) -> Iterator[Job]:
    """Jobs as they are done, each of which is submitted when it is taken from the iterator."""
    under_way: set[Job] = set()
    more = True
    try:
        while True:
            while more and len(under_way) < pool.window:
                job = next(jobs, None)
                more = job is not None
                if job is not None:
                    under_way.add(job)
            if not under_way:
                return
            for job in pool.completed(under_way):
                under_way.remove(job)
                yield job
            del job
    except BaseException as error:
        pool.abandon(under_way, interrupted=not isinstance(error, Exception))
        raise


def merge_tree(pool: JobPool[Job], jobs: Iterator[Job], merge: Merge, done: Done, counts: tuple[int, int]) -> Job:
    """The merged result of jobs, each of which is submitted when it is taken from the iterator.

    `counts` says how many tasks were done before, and how many there are.
    """
    finished, total = counts
    under_way: dict[Job, int] = {}  # and the level of the tree where the result belongs
    waiting: defaultdict[int, list[Job]] = defaultdict(list)
    more = True
    try:
        while True:
            while more and len(under_way) < pool.window:
                job = next(jobs, None)
                more = job is not None
                if job is not None:
                    under_way[job] = 0
            if not under_way:
                top, rest = max(waiting) + 1, [job for level in sorted(waiting) for job in waiting.pop(level)]
                if len(rest) == 1:
                    return rest[0]
                for lo in range(0, len(rest), FAN_IN):
                    group = rest[lo : lo + FAN_IN]
                    if len(group) == 1:
                        waiting[top] += group
                    else:
                        under_way[pool.merge(merge, group)] = top
                del rest, group
                continue
            for job in pool.completed(under_way):
                level = under_way.pop(job)
                if level == 0:
                    finished += 1
                    done(finished, total)
                waiting[level].append(job)
                if len(waiting[level]) == FAN_IN:
                    under_way[pool.merge(merge, waiting.pop(level))] = level + 1
            del job
    except BaseException as error:
        pool.abandon(under_way, interrupted=not isinstance(error, Exception))
        raise
