"""DuckDB databases in memory, which are used again: starting one takes longer than most queries on small files."""

from __future__ import annotations

import atexit
import os
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from threading import Lock
from typing import Any

from toplist._files import need

_MOST = 4  # idle databases of one kind
_Kind = tuple[int, str]  # threads, memory

_idle: dict[_Kind, list[Any]] = {}
_lock = Lock()


@contextmanager
def database(threads: int, memory: str, folder: Path) -> Iterator[Any]:
    """A connection to a database that has no other user; its temporary files go to the folder.

    What is registered and temporary tables go with the connection. The database is kept for the next user, unless this
    one was stopped by an error or gave up halfway, or temporary files were written.
    """
    kind = (threads, memory)
    engine = _idle_one(kind, folder) or _started(threads, memory, folder)
    try:
        with closing(engine.cursor()) as connection:
            connection.execute("SET enable_progress_bar = false")
            yield connection
    except BaseException:
        engine.close()
        raise
    _keep(kind, engine, folder)


def _started(threads: int, memory: str, folder: Path) -> Any:
    settings = {
        "threads": threads,
        "memory_limit": memory,
        "temp_directory": str(folder),
        "autoinstall_known_extensions": False,
        "autoload_known_extensions": False,
    }
    return need("duckdb").connect(":memory:", config=settings)


def _idle_one(kind: _Kind, folder: Path) -> Any:
    """An idle database, for temporary files in this folder; None where there is none."""
    with _lock:
        engine = _idle[kind].pop() if _idle.get(kind) else None
    if engine is not None:
        engine.execute("SET temp_directory = '{}'".format(str(folder).replace("'", "''")))
    return engine


def _keep(kind: _Kind, engine: Any, folder: Path) -> None:
    """Let it be idle; one that has written temporary files would hold their space on disk."""
    written = any(not name.startswith(".") for name in os.listdir(folder))
    with _lock:
        kept = _idle.setdefault(kind, [])
        if len(kept) < _MOST and not written:
            kept.append(engine)
            return
    engine.close()


@atexit.register
def _close() -> None:
    """Close what is idle."""
    with _lock:
        engines = [engine for kept in _idle.values() for engine in kept]
        _idle.clear()
    for engine in engines:
        engine.close()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_close)  # a forked process has none of the threads that an open database waits for
