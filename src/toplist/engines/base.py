"""What every engine does: run tasks somewhere, bring rows with the same key together, and merge results in a tree.

Tasks and results are bytes, so that an engine knows nothing of what it computes, and nothing is pickled but the names
of functions. A task that fails returns bytes that say so; an exception is a failure of the engine itself.
"""

from __future__ import annotations

import importlib
import logging
import os
import socket
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self
from urllib.parse import urlsplit

from toplist._text import argument
from toplist.errors import ResourceError, TopListError

Work = Callable[[bytes], bytes]
"""What is done with a task."""
Split = Callable[[bytes], Iterable[tuple[int, bytes]]]
"""The rows of a task, by the number of the bucket that they belong to."""
Finish = Callable[[int, Iterable[bytes]], bytes]
"""What is done with all rows of a bucket, which come in any order."""
Merge = Callable[[Sequence[bytes]], bytes]
"""One result of several; it is associative, and the order of its arguments does not show."""
Done = Callable[[int, int], None]
"""Called with how many tasks are done, and of how many."""

FAN_IN = 16
"""How many results are merged at a time: no process holds more of them."""
ATTEMPTS = 3
"""How often a task is run whose worker is lost."""
CONNECT_SECONDS = 20.0
"""How long an address has to answer."""

_OF_TASKS = {"task_cases", "partials", "on_error"}  # options that change nothing of what is started
log = logging.getLogger("toplist")


@dataclass(frozen=True, kw_only=True)
class Engine(ABC):
    """Where parts of a comparison are computed, and what is done with them.

    Parameters
    ----------
    workers : int, optional
        How many processes work at a time; by default as many as there are.
    task_cases : int, optional
        Cases of a task, about; by default as many as make tasks of some seconds.
    partials : str or path, optional
        A folder where partial results are kept, so that a second run does only what is missing or has changed.
    on_error : {"stop", "skip"}, default "stop"
        Whether a file that cannot be read is an error, or is left out and listed in the result.

    Examples
    --------
    >>> from toplist.engines import Engine, Local
    >>> isinstance(Local(workers=2), Engine)
    True
    """

    name: ClassVar[str]
    """What the engine is called: local, dask, spark, ray."""

    workers: int | None = None
    task_cases: int | None = None
    partials: str | os.PathLike[str] | None = None
    on_error: str = "stop"
    _started: list[Any] = field(default_factory=list, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        for name in ("workers", "task_cases"):
            value = getattr(self, name)
            if value is not None and (isinstance(value, bool) or not isinstance(value, int) or value < 1):
                raise TopListError(f"{name} is a whole number of at least 1, not {value!r}.")
        if self.on_error not in ("stop", "skip"):
            raise TopListError(f'on_error is "stop" or "skip", not {self.on_error!r}.')

    def with_options(self, **options: Any) -> Self:
        """The same engine with other options; what is started is used by both, unless it would be another one."""
        changed = replace(self, **options)
        if set(options) <= _OF_TASKS:
            object.__setattr__(changed, "_started", self._started)
        return changed

    @contextmanager
    def running(self) -> Iterator[Any]:
        """Within this, what the engine has to start is started once; in the end, what it started is closed."""
        if self._started:
            yield self._started[-1]
            return
        with self._start() as started:
            self._started.append(started)
            try:
                yield started
            finally:
                self._started.clear()

    @abstractmethod
    def _start(self) -> AbstractContextManager[Any]:
        """What tasks are submitted to; it is closed in the end if the engine started it."""

    @abstractmethod
    def reduce(self, work: Work, merge: Merge, tasks: Sequence[bytes], done: Done) -> bytes:
        """The results of all tasks, of which there is at least one, merged in a tree."""

    @abstractmethod
    def shuffle(
        self, split: Split, finish: Finish, merge: Merge, tasks: Sequence[bytes], buckets: int, done: Done
    ) -> bytes:
        """The rows of all tasks brought together by bucket, and the results of all buckets merged in a tree.

        A bucket without rows has no result; where there are no rows at all, bucket 0 is finished without any. Tasks
        and buckets are both counted as done.
        """


def run_alone(function: Callable[..., Any], *arguments: Any) -> Any:
    """The value of a function that uses one thread: the engine has as many workers as there are cores."""
    kernel = importlib.import_module("toplist.core.kernel")
    with kernel.one_thread():
        return function(*arguments)


def explain(error: BaseException, engine: str) -> TopListError:
    """What went wrong on a worker, as an error with the remedy."""
    seen: BaseException | None = error
    while seen is not None:
        if isinstance(seen, TopListError):
            return seen
        if isinstance(seen, ModuleNotFoundError) and (seen.name or "").partition(".")[0] == "toplist":
            return not_installed(engine)
        if isinstance(seen, MemoryError):
            return out_of_memory(engine)
        seen = seen.__cause__
    return failed(engine, type(error).__name__, str(error))


def not_installed(engine: str) -> TopListError:
    """Workers cannot import this package."""
    return TopListError(
        f"toplist is not installed where the workers of {engine} run: install the version there that is used here, "
        "with the extra 'files'."
    )


def out_of_memory(engine: str) -> TopListError:
    """A worker has too little memory."""
    return ResourceError(
        f"a worker of {engine} ran out of memory: give workers more of it, or make tasks smaller "
        f"({argument('task_cases')})."
    )


def worker_lost(engine: str, reason: str = "") -> TopListError:
    """The workers that ran a task were lost too often."""
    return ResourceError(
        f"{engine} lost the worker that ran a task each time it was run{f' ({reason})' if reason else ''}: most often "
        "memory was too small. Give workers more of it, use fewer of them, or make tasks smaller "
        f"({argument('task_cases')})."
    )


def failed(engine: str, kind: str, message: str) -> TopListError:
    """Anything else, in one line."""
    line = next((line.strip() for line in message.splitlines() if line.strip()), "no message")
    return TopListError(f"{engine} could not finish a task: {kind}: {line[:500].rstrip('.')}.")


def require_answer(address: str, engine: str, remedy: str) -> None:
    """Refuse the address of a server where nothing listens."""
    for one in address.split(","):  # any of several servers will do
        try:
            parts = urlsplit(one if "//" in one else f"//{one}")
            where = parts.hostname, parts.port
        except ValueError:
            where = None, None
        if where[0] is None or where[1] is None:
            raise TopListError(f"{address!r} is no address for {engine}: {remedy}")
        try:
            socket.create_connection((where[0], where[1]), timeout=CONNECT_SECONDS).close()
        except OSError as error:
            reason = (error.strerror or str(error)).rstrip(".")
        else:
            return
    raise TopListError(f"{engine} cannot be reached at {address!r} ({reason}): {remedy}")
