"""DuckDB, embedded: reads text, sorts and joins, and goes to disk where memory would not do."""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from toplist.errors import FileError, TopListError
from toplist.io.optional import need
from toplist.kernel import threads

_MEMORY = "700MB"


@contextmanager
def connect() -> Iterator[Any]:
    """A database of our own, in memory, gone when it is closed."""
    folder = tempfile.mkdtemp(prefix="toplist-")
    settings = {
        "threads": threads(),
        "memory_limit": _memory(),
        "temp_directory": folder,
        "autoinstall_known_extensions": False,
        "autoload_known_extensions": False,
    }
    try:
        engine = _started(settings)
        try:
            yield engine
        finally:
            engine.close()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _started(settings: dict[str, Any]) -> Any:
    duckdb = need("duckdb")
    try:
        engine = duckdb.connect(":memory:", config=settings)
    except duckdb.Error:
        raise TopListError(f"TOPLIST_MEMORY={_memory()!r} is no amount of memory, such as 2GB.") from None
    engine.execute("SET enable_progress_bar = false")
    return engine


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
    except (duckdb.Error, pa.ArrowException, OSError) as error:
        if failures:
            raise failures[0] from None
        raise FileError(source, f"this cannot be brought into order: {in_words(error)}") from None
    finally:
        with suppress(duckdb.Error):  # closed already, where a reader was given up halfway
            engine.unregister("stream")


def in_words(error: BaseException) -> str:
    """What the engine said, in one sentence."""
    text = str(error).strip().partition("\n")[0]
    if "Out of Memory" in text:
        return f"it takes more than {_memory()} of memory. Allow more with TOPLIST_MEMORY=4GB."
    text = re.sub(r"^(\w+ )*Error: ", "", text)
    return (text if len(text) <= 200 else f"{text[:197]}...").rstrip(".") + "."


def _memory() -> str:
    return os.environ.get("TOPLIST_MEMORY", _MEMORY)


def quoted(name: str, mark: str = '"') -> str:
    """A name, or a text, as SQL writes it."""
    return mark + name.replace(mark, mark * 2) + mark
