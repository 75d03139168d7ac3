"""Dask: parts are futures, and so are their merges, sixteen at a time, on the workers.

A client that is given is used and left as it is, as is the current client of this process; with the address of a
scheduler, a client is made for it. Otherwise a cluster of processes is started on this machine, with a worker per core
and one thread each, and closed in the end; as with all of Dask's local processes, a script then needs
`if __name__ == "__main__":`. toplist has to be installed on the workers and on the scheduler, in the version that is
used here. Dask computes again what a lost worker held or was doing; a part that loses several workers is an error.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any, ClassVar
from uuid import uuid4

from toplist._files import load
from toplist._text import argument
from toplist.core.kernel import threads
from toplist.engines.base import (
    CONNECT_SECONDS,
    Done,
    Engine,
    Reduce,
    explained,
    first_line,
    log,
    require_answer,
    require_workers,
    run_alone,
)
from toplist.errors import TopListError

_NEEDED = "the engine 'dask' needs distributed: pip install 'toplist[dask]'."
_REMEDY = "give the address that `dask scheduler` prints, such as tcp://10.0.0.1:8786, or none for local processes."
_FAN_IN = 16  # results that are merged at a time: no worker holds more of them


@dataclass(frozen=True, kw_only=True)
class Dask(Engine):
    """A client, the address of a scheduler, or a number of processes to start here."""

    name: ClassVar[str] = "dask"
    client: Any = None
    scheduler: str | None = None
    workers: int | None = None

    def __post_init__(self) -> None:
        require_workers(self.workers)
        if self.workers is not None and self.scheduler is not None:
            raise TopListError(
                f"the workers of a Dask cluster that runs already are as they are: leave out {argument('workers')}."
            )

    @contextmanager
    def running(self) -> Iterator[Reduce]:
        """See `Engine`."""
        distributed = load("distributed", _NEEDED)
        with self._connected(distributed) as client:
            log.info("Dask's dashboard: %s", client.dashboard_link)

            def reduce(work: Any, merge: Any, shared: Any, tasks: Sequence[Any], done: Done) -> Any:
                try:
                    return _reduced(distributed, client, work, merge, shared, tasks, done)
                except Exception as error:
                    raise explained(error, "Dask") from error

            yield reduce

    @contextmanager
    def _connected(self, distributed: Any) -> Iterator[Any]:
        """The client to use; closed in the end only if it was made here."""
        client = self.client
        if client is None and self.scheduler is None and self.workers is None:
            with suppress(ValueError):  # there is none
                client = distributed.client.default_client()
        if client is not None:
            if client.asynchronous:
                raise TopListError("this Dask client is asynchronous: make one without asynchronous=True.")
            yield client
        elif self.scheduler is not None:
            require_answer(self.scheduler, "Dask", _REMEDY)
            try:
                client = distributed.Client(self.scheduler, timeout=CONNECT_SECONDS, set_as_default=False)
            except (OSError, ValueError, TypeError) as error:
                raise TopListError(
                    f"Dask cannot be reached at {self.scheduler!r} ({first_line(error)}): {_REMEDY}"
                ) from error
            with client:
                if not client.scheduler_info()["workers"]:
                    log.warning("The Dask scheduler at %s has no workers: parts wait for some.", self.scheduler)
                yield client
        else:
            options = {"dashboard_address": "127.0.0.1:0", "silence_logs": logging.ERROR}
            workers = self.workers or threads()
            try:
                cluster = distributed.LocalCluster(n_workers=workers, threads_per_worker=1, processes=True, **options)
            except (OSError, RuntimeError) as error:
                raise TopListError(
                    f"Dask cannot start processes here ({first_line(error)}): in a script, call this under "
                    '`if __name__ == "__main__":`.'
                ) from error
            with cluster, distributed.Client(cluster, set_as_default=False) as client:
                yield client


def _reduced(
    distributed: Any, client: Any, work: Any, merge: Any, shared: Any, tasks: Sequence[Any], done: Done
) -> Any:
    """The merged result; what is shared is a future, which Dask makes again where the worker that held it is lost."""
    held = client.submit(_same, shared, key=f"toplist-question-{uuid4().hex}")
    level = client.map(_scored, tasks, work=work, shared=held, key="toplist-score", pure=False)
    parts = distributed.as_completed(level, loop=client.loop)
    while len(level) > 1:
        level = [
            client.submit(merge, level[lo : lo + _FAN_IN], key=f"toplist-merge-{uuid4().hex}")
            for lo in range(0, len(level), _FAN_IN)
        ]
    for count, part in enumerate(parts, 1):  # no part is held longer than its merge needs it
        if part.status != "finished":
            part.result()  # raises what went wrong
        done(count, len(tasks))
    return level[0].result()


def _same(value: Any) -> Any:
    return value


def _scored(task: Any, *, work: Callable[[Any, Any], Any], shared: Any) -> Any:
    return run_alone(work, shared, task)
