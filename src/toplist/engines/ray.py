"""Ray: core tasks, merged in a tree, with the blocks of a shuffle in Ray's object store.

`Ray(address="10.0.0.1:6379")`, or "auto" on a node of the cluster, joins a Ray that runs already, and leaves it
running; where this process is connected to one, `Ray()` uses it. Otherwise one is started on this machine, with as
many tasks at a time as there are cores, and shut down in the end. Each task takes one CPU. toplist has to be installed
on the workers, in the version that is used here, or given in the runtime environment of your own `ray.init`.

Ray runs a task again whose worker was lost, and computes again objects that were lost with a node; after three times
it is an error. The object store spills to disk. A shuffle has tasks x buckets objects: blocks below 100 kB are kept by
this process, so that tasks of a shuffle should have some megabytes for each bucket. Where a run fails or is stopped on
a cluster that runs already, tasks that were submitted, at most two for each CPU, are done to the end.
"""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, ClassVar

from toplist._files import load
from toplist._text import argument
from toplist.core.kernel import threads
from toplist.engines.base import ATTEMPTS, Merge, Split, explain, out_of_memory, require_answer, worker_lost
from toplist.engines.cluster import ClusterEngine, merge_results, split_blocks
from toplist.errors import TopListError

_NEEDED = "the engine 'ray' needs ray: pip install 'toplist[ray]'."
_REMEDY = "give the address that `ray start --head` prints, such as 10.0.0.1:6379, or none for this machine."
_ASK_SECONDS = 10.0  # how long the size of the cluster is taken as known


@dataclass(frozen=True, kw_only=True)
class Ray(ClusterEngine):
    """Tasks on a Ray cluster.

    Parameters
    ----------
    workers, task_cases, partials, on_error
        As for `Engine`; the number of workers is for a Ray that is started here.
    address : str, optional
        The address of a cluster, such as "10.0.0.1:6379", "ray://10.0.0.1:10001" or "auto".

    Examples
    --------
    >>> from toplist.engines import Ray
    >>> Ray(address="auto").address
    'auto'
    """

    name: ClassVar[str] = "ray"
    address: str | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.workers is not None and self.address is not None:
            raise TopListError(
                f"the workers of a Ray cluster that runs already are as they are: leave out {argument('workers')}."
            )

    @contextmanager
    def _start(self) -> Iterator[_RefPool]:
        ray = load("ray", _NEEDED)
        if ray.is_initialized():
            if self.address is not None or self.workers is not None:
                raise TopListError("this process is connected to Ray already: leave address and workers out.")
            yield _RefPool(ray)
            return
        if self.address not in (None, "auto", "local"):
            require_answer(str(self.address), "Ray", _REMEDY)
        options: dict[str, Any] = {"log_to_driver": False, "logging_level": logging.ERROR}
        if self.address in (None, "local"):
            options |= {"num_cpus": self.workers or threads(), "include_dashboard": False}
        try:
            ray.init(address=self.address or "local", **options)
        except (OSError, RuntimeError, ValueError) as error:
            reason = str(error).strip().splitlines()[0].rstrip(".")
            where = "be started here" if self.address is None else f"be reached at {self.address!r}"
            raise TopListError(f"Ray cannot {where} ({reason}): {_REMEDY}") from error
        try:
            yield _RefPool(ray)
        finally:
            ray.shutdown()


@dataclass(frozen=True, eq=False)
class _RefJob:
    """References to what a task returns, and to a small value that is there when all of it is."""

    values: tuple[Any, ...]
    signal: Any


class _RefPool:
    """Jobs as Ray tasks; what a reference stands for stays in the object store as long as somebody holds it."""

    def __init__(self, ray: Any) -> None:
        self._ray = ray
        self._size, self._asked = 0, -math.inf
        self._run = ray.remote(num_cpus=1, max_retries=ATTEMPTS - 1)(_signalled)

    @property
    def window(self) -> int:
        """Twice the CPUs of the cluster, which may grow: all are busy, and few jobs are left where a run fails."""
        if time.monotonic() - self._asked > _ASK_SECONDS:
            with self._explained():
                self._size = 2 * max(1, int(self._ray.cluster_resources().get("CPU", 1)))
            self._asked = time.monotonic()
        return self._size

    def submit(self, stage: str, function: Callable[..., Any], *arguments: Any) -> _RefJob:
        return self._submitted(stage, 1, _single, function, *(_reference(one) for one in arguments))

    def split(self, split: Split, task: bytes, buckets: int) -> _RefJob:
        return self._submitted("split", buckets, split_blocks, split, task, buckets)

    def pieces(self, job: _RefJob, buckets: int) -> Sequence[Any]:
        return job.values

    def merge(self, merge: Merge, jobs: list[_RefJob]) -> _RefJob:
        return self.submit("merge", merge_results, merge, *jobs)

    def completed(self, jobs: Collection[_RefJob]) -> Iterable[_RefJob]:
        signals = {job.signal: job for job in jobs}
        with self._explained():
            ready, _ = self._ray.wait(list(signals), num_returns=1, fetch_local=False)
            more, _ = self._ray.wait(list(signals), num_returns=len(signals), timeout=0, fetch_local=False)
            finished = dict.fromkeys([*ready, *more])
            self._ray.get(list(finished))  # raises what a task raised
        return [signals[signal] for signal in finished]

    def value(self, job: _RefJob) -> bytes:
        with self._explained():
            result: bytes = self._ray.get(job.values[0])
        return result

    def abandon(self, jobs: Collection[_RefJob], *, interrupted: bool) -> None:
        """Leave the jobs as they are: to cancel one that is about to end can abort this process inside of Ray."""

    def _submitted(self, stage: str, returns: int, function: Callable[..., Any], *arguments: Any) -> _RefJob:
        with self._explained():
            run = self._run.options(name=f"toplist-{stage}", num_returns=returns + 1)
            *values, signal = run.remote(function, *arguments)
        return _RefJob(tuple(values), signal)

    @contextmanager
    def _explained(self) -> Iterator[None]:
        """Raises errors of the cluster in one sentence."""
        errors = self._ray.exceptions
        try:
            yield
        except errors.OutOfMemoryError as error:
            raise out_of_memory("Ray") from error
        except (errors.WorkerCrashedError, errors.ObjectLostError, errors.NodeDiedError) as error:
            raise worker_lost("Ray") from error
        except errors.RayTaskError as error:
            raise explain(error.cause, "Ray") from error
        except errors.RayError as error:
            raise explain(error, "Ray") from error


def _reference(argument: Any) -> Any:
    return argument.values[0] if isinstance(argument, _RefJob) else argument


def _signalled(function: Callable[..., Any], *arguments: Any) -> list[Any]:
    """What a function returns, and a signal that it is there."""
    return [*function(*arguments), None]


def _single(function: Callable[..., Any], *arguments: Any) -> list[Any]:
    return [function(*arguments)]
