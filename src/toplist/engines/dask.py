"""Dask: parts are futures, and so are their merges, sixteen at a time, on the workers.

A client that is given is used and left as it is, as is the current client of this process; with the address of a
scheduler, a client is made for it. Otherwise a cluster of processes is started on this machine, with a worker per core
and one thread each, and closed in the end; as with all of Dask's local processes, a script then needs
`if __name__ == "__main__":`. toplist has to be installed on the workers and on the scheduler, in the version that is
used here. Dask computes again what a lost worker held or was doing; a part that loses several workers is an error.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from typing import Any
from uuid import uuid4

from toplist._files import load
from toplist.engines.base import CONNECT_SECONDS, Done, Reduce, explained, first_line, log, require_answer
from toplist.errors import TopListError

_FAN_IN = 16  # results that are merged at a time: no worker holds more of them


@contextmanager
def running(client: Any = None, scheduler: str | None = None, workers: int | None = None) -> Iterator[Reduce]:
    """Within this, tasks are run by a client, by that of this process, at an address, or by processes started here."""
    distributed = load("distributed", "the engine 'dask' needs distributed: pip install 'toplist[dask]'.")
    with ExitStack() as opened:
        if client is None and scheduler is None and workers is None:
            with suppress(ValueError):  # there is none
                client = distributed.default_client()
        if client is None:
            client = _client(distributed, scheduler, workers, opened)
        if client.asynchronous:
            raise TopListError("this Dask client is asynchronous: make one without asynchronous=True.")
        log.info("Dask's dashboard: %s", client.dashboard_link)
        yield partial(_reduced, distributed, client)


def _client(distributed: Any, scheduler: str | None, workers: int | None, opened: ExitStack) -> Any:
    """A new client of a scheduler, or of processes that are started here."""
    try:
        address: Any = scheduler
        if scheduler is None:
            how: Any = {"threads_per_worker": 1, "dashboard_address": "127.0.0.1:0", "silence_logs": logging.ERROR}
            address = opened.enter_context(distributed.LocalCluster(n_workers=workers, **how))
        else:
            require_answer(scheduler)
        client = opened.enter_context(distributed.Client(address, timeout=CONNECT_SECONDS, set_as_default=False))
    except (OSError, RuntimeError, TypeError, ValueError) as error:
        problem = (
            f"Dask cannot start processes here ({first_line(error)}): in a script, call this under "
            '`if __name__ == "__main__":`.'
            if scheduler is None
            else f"Dask cannot be reached at {scheduler!r} ({first_line(error)}): give the address that `dask "
            "scheduler` prints, such as tcp://10.0.0.1:8786, or none for local processes."
        )
        raise TopListError(problem) from error
    if not client.scheduler_info()["workers"]:
        log.warning("The Dask scheduler at %s has no workers: parts wait for some.", scheduler)
    return client


def _reduced(
    distributed: Any, client: Any, work: Any, merge: Any, tasks: Sequence[Any], shared: Any, done: Done
) -> Any:
    """The merged result; what is shared is a future, which Dask makes again where the worker that held it is lost."""
    try:
        held = client.submit(lambda: shared, pure=False)
        level = client.map(work, tasks, [held] * len(tasks), key="toplist-score", pure=False)
        parts = distributed.as_completed(level, loop=client.loop)
        while len(level) > 1:
            some = (level[lo : lo + _FAN_IN] for lo in range(0, len(level), _FAN_IN))
            level = [client.submit(merge, each, key=f"toplist-merge-{uuid4().hex}") for each in some]
        for count, part in enumerate(parts, 1):  # no part is held longer than its merge needs it
            if part.status != "finished":
                part.result()  # raises what went wrong
            done(count, len(tasks))
        return level[0].result()
    except Exception as error:
        raise explained(error, "Dask") from error
