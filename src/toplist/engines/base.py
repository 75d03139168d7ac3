"""What Dask and Spark have in common: what they are asked to do, and what is said where they cannot do it."""

from __future__ import annotations

import logging
import re
import socket
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Any, ClassVar, Protocol, TypeVar
from urllib.parse import urlsplit

from toplist.core.kernel import one_thread
from toplist.errors import ResourceError, TopListError

S = TypeVar("S")
T = TypeVar("T")
R = TypeVar("R")
Done = Callable[[int, int], None]
"""Called with how many parts are done, and of how many."""

CONNECT_SECONDS = 20.0
"""How long an address has to answer."""
log = logging.getLogger("toplist")


class Reduce(Protocol):
    """Runs `work(shared, task)` for every task somewhere, and merges the results in any order, some at a time."""

    def __call__(
        self, work: Callable[[S, T], R], merge: Callable[[Sequence[R]], R], shared: S, tasks: Sequence[T], done: Done
    ) -> R:
        """The merged result of at least one task."""


class Engine(ABC):
    """Where parts of a comparison are computed."""

    name: ClassVar[str]
    """What the engine is called: dask, spark."""

    @abstractmethod
    def running(self) -> AbstractContextManager[Reduce]:
        """Within this, tasks can be run; in the end, what was started here is closed."""


def run_alone(work: Callable[[S, T], R], shared: S, task: T) -> R:
    """The result of a task in one thread: an engine has as many workers as there are cores."""
    with one_thread():
        return work(shared, task)


_TOPLIST = re.compile(r"toplist\.errors\.(\w+): (.*)")  # of an error that an engine reports as text
_RAISED = re.compile(r"^\s*([A-Za-z_][\w.]*(?:Error|Exception)): (.*)$", re.MULTILINE)
_LOST = ("KilledWorker", "ExecutorLostFailure", "Python worker exited unexpectedly")
_ENDED = (
    "CancelledError",
    "CommClosedError",
    "ConnectionRefusedError",
    "Py4JNetworkError",
    "SparkContext was shut down",
)


def explained(error: BaseException, engine: str) -> TopListError:
    """What went wrong on a worker or on the way to it, in one sentence with the remedy.

    >>> print(explained(MemoryError(), "Dask"))
    a worker of Dask ran out of memory: give workers more of it, or use fewer of them.
    """
    if isinstance(error, TopListError):
        return error
    cause = error.__cause__  # of what a worker could not read, it says why
    text = f"{type(error).__name__}: {error}" + (f"\n{type(cause).__name__}: {cause}" if cause else "")
    ours = _TOPLIST.search(text)
    if ours:
        return (ResourceError if ours[1] == "ResourceError" else TopListError)(ours[2].strip())
    if "No module named 'toplist" in text:
        return TopListError(
            f"toplist is not installed where the workers of {engine} run: install the version there that is used here, "
            "with the extra 'files'."
        )
    remedy = "give workers more of it, or use fewer of them."
    if "OutOfMemoryError" in text or "MemoryError" in text:
        return ResourceError(f"a worker of {engine} ran out of memory: {remedy}")
    if any(sign in text for sign in _LOST):
        problem = "lost the worker that ran a task each time it was run, most often because memory was too small"
        return ResourceError(f"{engine} {problem}: {remedy}")
    if any(sign in text for sign in _ENDED):
        return TopListError(f"{engine} ended before the run did: see its log, and run this again.")
    kind, message = (_RAISED.findall(text) or [(type(error).__name__, first_line(error))])[-1]
    return TopListError(f"{engine} could not finish a task: {kind}: {message[:500].rstrip('.')}.")


def require_answer(address: str, engine: str, remedy: str) -> None:
    """Refuse the address of a server where nothing listens."""
    reason = ""
    for each in address.split(","):  # any of several servers will do
        try:
            parts = urlsplit(each if "//" in each else f"//{each}")
            host, port = parts.hostname, parts.port
        except ValueError:
            host, port = None, None
        if host is None or port is None:
            raise TopListError(f"{address!r} is no address for {engine}: {remedy}")
        try:
            socket.create_connection((host, port), timeout=CONNECT_SECONDS).close()
        except OSError as error:
            reason = (error.strerror or str(error)).rstrip(".")
        else:
            return
    raise TopListError(f"{engine} cannot be reached at {address!r} ({reason}): {remedy}")


def first_line(error: BaseException) -> str:
    """What an error says, in one line without its full stop."""
    return next((line.strip() for line in str(error).splitlines() if line.strip()), "no message").rstrip(".:")


def require_workers(workers: Any) -> None:
    """Refuse a number of workers that is none."""
    if workers is not None and (isinstance(workers, bool) or not isinstance(workers, int) or workers < 1):
        raise TopListError(f"workers is a whole number of at least 1, not {workers!r}.")
