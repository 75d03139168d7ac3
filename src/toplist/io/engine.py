"""DuckDB, embedded: reads text, sorts and joins, and goes to disk where memory would not do."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from toplist.errors import FileError, TopListError
from toplist.io.optional import need
from toplist.kernel import threads

_MEMORY = "700MB"


@contextmanager
def connect() -> Iterator[Any]:
    """A database of our own, in memory, gone when it is closed."""
    duckdb = need("duckdb")
    with tempfile.TemporaryDirectory(prefix="toplist-") as folder:
        settings = {
            "threads": threads(),
            "memory_limit": os.environ.get("TOPLIST_MEMORY", _MEMORY),
            "temp_directory": folder,
            "autoinstall_known_extensions": False,
            "autoload_known_extensions": False,
        }
        engine = duckdb.connect(":memory:", config=settings)
        try:
            engine.execute("SET enable_progress_bar = false")
            yield engine
        finally:
            engine.close()


@contextmanager
def guarded(batches: Iterator[Any], schema: Any, engine: Any, source: str) -> Iterator[Any]:
    """A stream of batches as a table `stream` of the engine; what goes wrong in it is raised as it was."""
    pa, duckdb = need("pyarrow"), need("duckdb")
    failures: list[TopListError] = []

    def watched() -> Iterator[Any]:
        try:
            yield from batches
        except TopListError as failure:
            failures.append(failure)
            raise

    stream = pa.RecordBatchReader.from_batches(schema, watched())
    engine.register("stream", stream)
    try:
        yield stream
    except (duckdb.Error, pa.ArrowException) as error:
        if failures:
            raise failures[0] from None
        raise FileError(source, f"this cannot be brought into order: {str(error).splitlines()[0]}") from None
    finally:
        engine.unregister("stream")


def quoted(name: str, mark: str = '"') -> str:
    """A name, or a text, as SQL writes it."""
    return mark + name.replace(mark, mark * 2) + mark
