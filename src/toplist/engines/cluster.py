"""Engines whose results stay with the workers of a cluster until they are merged: Dask and Ray."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from itertools import chain
from typing import Any, Protocol

from toplist.engines.base import Done, Engine, Finish, Merge, Split, Work, run_alone
from toplist.engines.tree import Job, JobPool, completed_jobs, merge_tree


class ClusterPool(JobPool[Job], Protocol[Job]):
    """Where jobs run that take the results of others without bringing them to this process."""

    def submit(self, stage: str, function: Callable[..., Any], *arguments: Any) -> Job:
        """Submit a job, under a name that the cluster shows; jobs among the arguments stand for their results."""

    def split(self, split: Split, task: bytes, buckets: int) -> Job:
        """Submit the splitting of a task into blocks."""

    def pieces(self, job: Job, buckets: int) -> Sequence[Any]:
        """What a task was split into, each bucket as an argument for jobs."""

    def value(self, job: Job) -> bytes:
        """The result of a job, brought to this process."""


@dataclass(frozen=True, kw_only=True)
class ClusterEngine(Engine):
    """What Dask and Ray have in common; each of them only says how a job is submitted."""

    @abstractmethod
    def _start(self) -> AbstractContextManager[ClusterPool[Any]]:
        """Where jobs run."""

    def reduce(self, work: Work, merge: Merge, tasks: Sequence[bytes], done: Done) -> bytes:
        """The results of all tasks, merged in a tree."""
        with self.running() as pool:
            jobs = (pool.submit("score", run_alone, work, task) for task in tasks)
            result: bytes = pool.value(merge_tree(pool, jobs, merge, done, (0, len(tasks))))
            return result

    def shuffle(
        self, split: Split, finish: Finish, merge: Merge, tasks: Sequence[bytes], buckets: int, done: Done
    ) -> bytes:
        """The rows of all tasks brought together by bucket, and the results of all buckets merged in a tree."""
        with self.running() as pool:
            total = len(tasks) + buckets
            pieces: list[list[Any]] = [[] for _ in range(buckets)]
            splits = (pool.split(split, task, buckets) for task in tasks)
            for count, job in enumerate(completed_jobs(pool, splits), 1):
                for bucket, piece in zip(pieces, pool.pieces(job, buckets), strict=True):
                    bucket.append(piece)
                done(count, total)
            del job, piece  # held by nobody but the jobs that need them
            jobs = (pool.submit("finish", finish_blocks, finish, bucket, *taken) for bucket, taken in _emptied(pieces))
            result: bytes = pool.value(merge_tree(pool, jobs, merge, done, (len(tasks), total)))
            return result or finish(0, ())


def split_blocks(split: Split, task: bytes, buckets: int) -> list[list[bytes]]:
    """The blocks of a task, by bucket."""
    found: list[list[bytes]] = [[] for _ in range(buckets)]
    for bucket, block in run_alone(_listed, split, task):
        found[bucket].append(block)
    return found


def finish_blocks(finish: Finish, bucket: int, *pieces: list[bytes]) -> bytes:
    """The result of a bucket, whose blocks come from several tasks; empty where there are none."""
    if not any(pieces):
        return b""
    result: bytes = run_alone(finish, bucket, chain.from_iterable(pieces))
    return result


def merge_results(merge: Merge, *results: bytes) -> bytes:
    """One result of those that are not empty."""
    found = [result for result in results if result]
    if len(found) <= 1:
        return found[0] if found else b""
    merged: bytes = run_alone(merge, found)
    return merged


def _listed(split: Split, task: bytes) -> list[tuple[int, bytes]]:
    return list(split(task))


def _emptied(pieces: list[list[Any]]) -> Iterator[tuple[int, list[Any]]]:
    """Each bucket with its pieces, which are held no longer."""
    for bucket in range(len(pieces)):
        taken, pieces[bucket] = pieces[bucket], []
        yield bucket, taken
