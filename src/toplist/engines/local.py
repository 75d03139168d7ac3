"""Local processes: the engine that needs no other package.

`Local(workers=4)` runs tasks in four processes of this machine; by default there are as many as there are cores, and
each of them uses its share of the threads (`TOPLIST_THREADS` bounds all of them together). With `workers=1` tasks run
in this process, one after the other. Workers are fresh Python processes that import toplist and nothing of the calling
script, so that a script needs no `if __name__ == "__main__":`, and threads of the caller do no harm.

A worker that is killed is replaced and its task is run again, three times in all; then the run ends with an error,
once the tasks under way are done. Ctrl-C ends all workers at once. Where rows have to be brought together by case id,
each task writes its rows to a file in the temporary folder (`TMPDIR`), which needs about as much room as the rows do
in Arrow's format; the files are removed in the end, and by the next run where a process was killed.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from multiprocessing.spawn import get_executable
from pathlib import Path
from typing import Any, BinaryIO, ClassVar, cast

from toplist._files import temporary_folder
from toplist.core.kernel import threads
from toplist.engines.base import ATTEMPTS, Done, Engine, Finish, Merge, Split, Work, explain, worker_lost
from toplist.engines.tree import completed_jobs, merge_tree
from toplist.engines.worker import START, error_of, name_of, read_frame, run_job, write_frame
from toplist.errors import TopListError

Result = Future[bytes]
_CALLED = "the local engine"
_POLL_SECONDS = 1.0  # how long waiting goes on without a look at signals, where the system has none for threads
_EXIT_SECONDS = 5.0


@dataclass(frozen=True, kw_only=True)
class Local(Engine):
    """Tasks in processes of this machine.

    Parameters
    ----------
    workers, task_cases, partials, on_error
        As for `Engine`. With one worker, tasks run in this process; by default there are as many workers as cores.

    Examples
    --------
    >>> from toplist.engines import Local
    >>> Local(workers=2)
    Local(workers=2, task_cases=None, partials=None, on_error='stop')
    """

    name: ClassVar[str] = "local"

    @contextmanager
    def _start(self) -> Iterator[_Pool]:
        cores = threads()
        workers = cores if self.workers is None else self.workers
        if workers == 1:
            yield _HerePool()
            return
        pool = _ProcessPool(workers, max(1, cores // workers))
        try:
            yield pool
        except BaseException:
            pool.kill()
            raise
        finally:
            pool.close()

    def reduce(self, work: Work, merge: Merge, tasks: Sequence[bytes], done: Done) -> bytes:
        """The results of all tasks, merged in a tree."""
        with self.running() as pool:
            jobs = (pool.submit({"job": "work", "function": name_of(work)}, [task]) for task in tasks)
            return _result(merge_tree(pool, jobs, merge, done, (0, len(tasks))))

    def shuffle(
        self, split: Split, finish: Finish, merge: Merge, tasks: Sequence[bytes], buckets: int, done: Done
    ) -> bytes:
        """The rows of all tasks brought together by bucket, and the results of all buckets merged in a tree."""
        with self.running() as pool, temporary_folder() as folder:
            blocks = _split_tasks(pool, split, tasks, folder, lambda count: done(count, len(tasks) + buckets))
            filled = sorted(blocks) or [0]
            before = len(tasks) + buckets - len(filled)
            head = {"job": "finish", "function": name_of(finish)}
            jobs = (pool.submit(head | {"bucket": bucket, "blocks": blocks.pop(bucket, [])}, []) for bucket in filled)
            return _result(merge_tree(pool, jobs, merge, done, (before, len(tasks) + buckets)))


class _HerePool:
    """Runs a job in this process, when it is submitted."""

    window = 1

    def submit(self, head: dict[str, Any], blobs: Sequence[bytes]) -> Result:
        job: Result = Future()
        try:
            job.set_result(run_job(head, blobs))
        except Exception as error:
            raise explain(error, _CALLED) from error
        return job

    def merge(self, merge: Merge, jobs: list[Result]) -> Result:
        return self.submit({"job": "merge", "function": name_of(merge)}, [job.result() for job in jobs])

    def completed(self, jobs: Collection[Result]) -> Iterable[Result]:
        return list(jobs)

    def abandon(self, jobs: Collection[Result], *, interrupted: bool) -> None:
        pass


class _ProcessPool:
    """Worker processes, each of which is served by a thread that waits for it."""

    def __init__(self, workers: int, threads_each: int) -> None:
        self.window = 2 * workers
        self._threads_each = threads_each
        self._executor = ThreadPoolExecutor(workers, thread_name_prefix="toplist-worker")
        self._lock = threading.Lock()
        self._idle: list[_Process] = []
        self._all: set[_Process] = set()
        self._closed = False

    def submit(self, head: dict[str, Any], blobs: Sequence[bytes]) -> Result:
        return self._executor.submit(self._run, head, blobs)

    def merge(self, merge: Merge, jobs: list[Result]) -> Result:
        return self.submit({"job": "merge", "function": name_of(merge)}, [job.result() for job in jobs])

    def completed(self, jobs: Collection[Result]) -> Iterable[Result]:
        finished: set[Result] = set()
        while not finished:
            finished, _ = wait(jobs, timeout=_POLL_SECONDS, return_when=FIRST_COMPLETED)
        for job in finished:
            job.result()
        return finished

    def abandon(self, jobs: Collection[Result], *, interrupted: bool) -> None:
        for job in jobs:
            job.cancel()
        if interrupted:
            self.kill()
        else:
            wait(jobs)

    def kill(self) -> None:
        """End all workers now."""
        with self._lock:
            self._closed = True
            for process in self._all:
                process.kill()

    def close(self) -> None:
        """Let all workers end."""
        self._executor.shutdown(cancel_futures=True)
        with self._lock:
            self._closed = True
            for process in self._all:
                process.hang_up()
            for process in self._all:
                process.end()
            self._all.clear()

    def _run(self, head: dict[str, Any], blobs: Sequence[bytes]) -> bytes:
        ends: list[str] = []
        while len(ends) < ATTEMPTS:
            process = self._take()
            try:
                answer, result = process.call(head, blobs)
            except (EOFError, OSError):
                with self._lock:
                    self._all.discard(process)
                ends.append(process.end())
                continue
            with self._lock:
                self._idle.append(process)
            error = error_of(answer)
            if error is not None:
                raise error
            return result[0]
        raise worker_lost(_CALLED, f"it ended with {ends[-1]}")

    def _take(self) -> _Process:
        with self._lock:
            if self._closed:
                raise TopListError("the local engine was stopped.")
            if self._idle:
                return self._idle.pop()
            process = _Process(self._threads_each)
            self._all.add(process)
            return process


class _Process:
    """One worker process and the pipes to it."""

    def __init__(self, threads_each: int) -> None:
        program = get_executable()
        if not program:
            raise TopListError("this Python has no program to start workers with (sys.executable): use workers=1.")
        share = str(threads_each)
        self._popen = subprocess.Popen(  # noqa: S603 - this very Python
            [os.fsdecode(program), "-c", START],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={"OMP_NUM_THREADS": share, **os.environ, "TOPLIST_THREADS": share},
            start_new_session=True,  # Ctrl-C is for this process alone
        )
        self._to, self._from = cast("BinaryIO", self._popen.stdin), cast("BinaryIO", self._popen.stdout)
        with suppress(OSError):  # one that ends at once is found by the first job
            self._to.write(json.dumps(sys.path).encode() + b"\n")

    def call(self, head: dict[str, Any], blobs: Sequence[bytes]) -> tuple[dict[str, Any], list[bytes]]:
        write_frame(self._to, head, blobs)
        return read_frame(self._from)

    def kill(self) -> None:
        self._popen.kill()

    def hang_up(self) -> None:
        """Let a process end that has nothing to do."""
        with suppress(OSError):
            self._to.close()

    def end(self) -> str:
        """Wait for the end of a process, and say how it ended."""
        self.hang_up()
        try:
            code = self._popen.wait(_EXIT_SECONDS)
        except subprocess.TimeoutExpired:
            self.kill()
            code = self._popen.wait()
        self._from.close()
        return f"signal {-code}" if code < 0 else f"exit code {code}"


_Pool = _HerePool | _ProcessPool


def _result(job: Result) -> bytes:
    return job.result()


def _split_tasks(
    pool: _Pool, split: Split, tasks: Sequence[bytes], folder: Path, done: Callable[[int], None]
) -> defaultdict[int, list[tuple[str, int, int]]]:
    """Where the blocks of each bucket are: the file of a task, and the bytes of it."""
    places: defaultdict[int, list[tuple[str, int, int]]] = defaultdict(list)
    head = {"job": "split", "function": name_of(split), "folder": str(folder)}
    jobs = (pool.submit(head, [task]) for task in tasks)
    for count, job in enumerate(completed_jobs(pool, jobs), 1):
        index = json.loads(job.result())
        for bucket, offset, size in index["blocks"]:
            places[bucket].append((index["path"], offset, size))
        done(count)
    return places
