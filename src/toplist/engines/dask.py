"""Dask: tasks as futures of `distributed`, merged in a tree, with blocks of a shuffle as futures of their own.

`Dask(scheduler="tcp://host:8786")` uses a scheduler that runs already and leaves it as it was; `Dask(client=client)`
uses a client of yours, as does `Dask()` where one is the current client. Otherwise a cluster of processes is started
on this machine, with a worker per core and one thread each, and closed in the end; as with all of Dask's local
processes, a script then needs `if __name__ == "__main__":`. The address of the dashboard is logged. toplist has to be
installed on the workers and on the scheduler, in the version that is used here.

Dask runs a task again whose worker was lost, and computes again what the worker held; a task that loses three workers
is an error. Workers hold the rows of a shuffle and spill to disk by Dask's own settings. A shuffle has tasks x buckets
pieces, which the scheduler keeps in its memory: above some 100,000 of them use Spark, or files that are in one order.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import count
from typing import Any, ClassVar
from uuid import uuid4

from toplist._files import load
from toplist._text import argument
from toplist.core.kernel import threads
from toplist.engines.base import ATTEMPTS, CONNECT_SECONDS, Merge, Split, explain, log, require_answer, worker_lost
from toplist.engines.cluster import ClusterEngine, merge_results, split_blocks
from toplist.errors import TopListError

_NEEDED = "the engine 'dask' needs distributed: pip install 'toplist[dask]'."
_REMEDY = "give the address that `dask scheduler` prints, such as tcp://10.0.0.1:8786, or none for local processes."
_WINDOW = 10_000  # enough to keep any cluster busy, and for one that grows to see what is waiting


@dataclass(frozen=True, kw_only=True)
class Dask(ClusterEngine):
    """Tasks on a Dask cluster.

    Parameters
    ----------
    workers, task_cases, partials, on_error
        As for `Engine`; the number of workers is for a cluster that is started here.
    scheduler : str, optional
        The address of a scheduler, such as "tcp://10.0.0.1:8786".
    client : distributed.Client, optional
        A client to use, which is not closed.

    Examples
    --------
    >>> from toplist.engines import Dask
    >>> Dask(scheduler="tcp://10.0.0.1:8786").scheduler
    'tcp://10.0.0.1:8786'
    """

    name: ClassVar[str] = "dask"
    scheduler: str | None = None
    client: Any = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.scheduler is not None and self.client is not None:
            raise TopListError("give a scheduler or a client for Dask, not both.")
        if self.workers is not None and (self.scheduler is not None or self.client is not None):
            raise TopListError(
                f"the workers of a Dask cluster that runs already are as they are: leave out {argument('workers')}."
            )

    @contextmanager
    def _start(self) -> Iterator[_FuturePool]:
        distributed = load("distributed", _NEEDED)
        with _client(self, distributed) as client:
            log.info("Dask's dashboard: %s", client.dashboard_link)
            yield _FuturePool(client, distributed)


class _FuturePool:
    """Jobs as futures; what a future stands for stays with a worker as long as somebody holds the future."""

    window = _WINDOW

    def __init__(self, client: Any, distributed: Any) -> None:
        self._client, self._distributed = client, distributed
        self._stamp, self._number = uuid4().hex[:12], count()
        self._done = self._queue()

    def submit(self, stage: str, function: Callable[..., Any], *arguments: Any) -> Any:
        with _explained(self._distributed):
            job = self._client.submit(function, *arguments, key=self._key(stage), retries=ATTEMPTS - 1, pure=False)
        self._done.add(job)
        return job

    def split(self, split: Split, task: bytes, buckets: int) -> Any:
        return self.submit("split", split_blocks, split, task, buckets)

    def pieces(self, job: Any, buckets: int) -> list[Any]:
        keys = [self._key("piece") for _ in range(buckets)]
        futures: list[Any] = self._client.map(_take_piece, range(buckets), key=keys, split=job, pure=False)
        return futures

    def merge(self, merge: Merge, jobs: list[Any]) -> Any:
        return self.submit("merge", merge_results, merge, *jobs)

    def completed(self, jobs: Collection[Any]) -> Iterable[Any]:
        finished: list[Any] = self._done.next_batch()
        for job in finished:
            if job.status != "finished":
                self.value(job)
        return finished

    def value(self, job: Any) -> bytes:
        with _explained(self._distributed):
            result: bytes = job.result()
        return result

    def abandon(self, jobs: Collection[Any], *, interrupted: bool) -> None:
        self._done = self._queue()
        with suppress(Exception):  # the error that led here says more
            self._client.cancel(list(jobs))

    def _key(self, stage: str) -> str:
        return f"toplist-{stage}-{self._stamp}-{next(self._number)}"

    def _queue(self) -> Any:
        return self._distributed.as_completed(loop=self._client.loop, raise_errors=False)


@contextmanager
def _client(engine: Dask, distributed: Any) -> Iterator[Any]:
    """The client to use; closed in the end only if it was made here."""
    client = engine.client
    if client is None and engine.scheduler is None and engine.workers is None:
        with suppress(ValueError):  # there is none
            client = distributed.client.default_client()
    if client is not None:
        if client.asynchronous:
            raise TopListError("this Dask client is asynchronous: make one without asynchronous=True.")
        yield client
    elif engine.scheduler is not None:
        require_answer(engine.scheduler, "Dask", _REMEDY)
        try:
            client = distributed.Client(engine.scheduler, timeout=CONNECT_SECONDS, set_as_default=False)
        except (OSError, ValueError, TypeError) as error:
            reason = str(error).splitlines()[0].rstrip(".")
            raise TopListError(f"Dask cannot be reached at {engine.scheduler!r} ({reason}): {_REMEDY}") from error
        with client:
            if not client.scheduler_info()["workers"]:
                log.warning(
                    "The Dask scheduler at %s has no workers: tasks wait until some are started.", engine.scheduler
                )
            yield client
    else:
        workers = engine.workers or threads()
        options = {"dashboard_address": "127.0.0.1:0", "silence_logs": logging.ERROR}
        try:
            cluster = distributed.LocalCluster(n_workers=workers, threads_per_worker=1, processes=True, **options)
        except (OSError, RuntimeError) as error:
            raise TopListError(
                f"Dask cannot start processes here ({str(error).splitlines()[0].rstrip('.')}): in a script, call this "
                'under `if __name__ == "__main__":`; else use the engine "local".'
            ) from error
        with cluster, distributed.Client(cluster, set_as_default=False) as client:
            yield client


@contextmanager
def _explained(distributed: Any) -> Iterator[None]:
    """Raises errors of the cluster in one sentence."""
    try:
        yield
    except distributed.KilledWorker as error:
        raise worker_lost("Dask") from error
    except (distributed.CancelledError, distributed.comm.CommClosedError) as error:
        raise TopListError("the connection to Dask's scheduler was lost: see its log, and run this again.") from error
    except Exception as error:
        raise explain(error, "Dask") from error


def _take_piece(bucket: int, split: list[list[bytes]]) -> list[bytes]:
    return split[bucket]
