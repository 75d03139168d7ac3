"""What every engine does: run tasks somewhere, bring rows with the same key together, and merge results in a tree.

Tasks and results are bytes, so that an engine knows nothing of what it computes, and nothing is pickled but names of
functions. A task that fails returns bytes that say so; an exception is a failure of the engine itself.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

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
    """

    workers: int | None = None
    task_cases: int | None = None
    partials: str | os.PathLike[str] | None = None
    on_error: str = "stop"

    @property
    @abstractmethod
    def name(self) -> str:
        """What the engine is called: local, dask, spark, ray."""

    @abstractmethod
    def reduce(self, work: Work, merge: Merge, tasks: Sequence[bytes], done: Done) -> bytes:
        """The results of all tasks, merged in a tree."""

    @abstractmethod
    def shuffle(
        self, split: Split, finish: Finish, merge: Merge, tasks: Sequence[bytes], buckets: int, done: Done
    ) -> bytes:
        """The rows of all tasks brought together by bucket, and the results of all buckets merged in a tree."""
