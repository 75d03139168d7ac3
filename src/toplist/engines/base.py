"""What Dask and Spark have in common: what they are asked to do, and what is said where they cannot do it."""

from __future__ import annotations

import logging
import re
import socket
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import NamedTuple, Protocol, TypeVar
from urllib.parse import urlsplit

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
    """Runs `work(task, shared)` for every task somewhere, and merges the results in any order, some at a time."""

    def __call__(
        self, work: Callable[[T, S], R], merge: Callable[[Sequence[R]], R], tasks: Sequence[T], shared: S, done: Done
    ) -> R:
        """The merged result of at least one task."""


class Engine(NamedTuple):
    """Where parts of a comparison are computed."""

    name: str
    running: Callable[[], AbstractContextManager[Reduce]]  # within it, tasks can be run; what it started is closed then


_RAISED = re.compile(r"^\s*([A-Za-z_][\w.]*(?:Error|Exception)): (.*)$", re.MULTILINE)
_REMEDY = "give workers more of it, or use fewer of them."
_REASONS = (
    (
        ("No module named 'toplist",),
        TopListError(
            "toplist is not installed where the workers of {} run: install the version there that is used here, with "
            "the extra 'files'."
        ),
    ),
    (("OutOfMemoryError", "MemoryError"), ResourceError(f"a worker of {{}} ran out of memory: {_REMEDY}")),
    (
        ("KilledWorker", "ExecutorLostFailure", "Python worker exited unexpectedly"),
        ResourceError(
            "{} lost the worker that ran a task each time it was run, most often because memory was too small: "
            + _REMEDY
        ),
    ),
    (
        (
            "CancelledError",
            "CommClosedError",
            "ConnectionRefusedError",
            "Py4JNetworkError",
            "SparkContext was shut down",
        ),
        TopListError("{} ended before the run did: see its log, and run this again."),
    ),
)  # what an error of an engine says somewhere, and what is said then


def explained(error: BaseException, engine: str) -> TopListError:
    """What went wrong on a worker or on the way to it, in one sentence with the remedy.

    >>> print(explained(MemoryError(), "Dask"))
    a worker of Dask ran out of memory: give workers more of it, or use fewer of them.
    """
    cause = error.__cause__  # of what a worker could not read, it says why
    text = f"{type(error).__name__}: {error}" + (f"\n{type(cause).__name__}: {cause}" if cause else "")
    for signs, said in _REASONS:
        if any(sign in text for sign in signs):
            return type(said)(str(said).format(engine))
    kind, message = (_RAISED.findall(text) or [(type(error).__name__, first_line(error))])[-1]
    return TopListError(f"{engine} could not finish a task: {kind}: {message[:500].rstrip('.')}.")


def require_answer(address: str) -> None:
    """Raise an OSError where nothing listens at an address: Spark takes a minute to say so, and Dask prints traces."""
    parts = urlsplit(address if "://" in address else f"//{address}")
    socket.create_connection((parts.hostname or address, parts.port or 0), timeout=CONNECT_SECONDS).close()


def first_line(error: BaseException) -> str:
    """What an error says, in one line without its full stop."""
    return next((line.strip() for line in str(error).splitlines() if line.strip()), "no message").rstrip(".:")
