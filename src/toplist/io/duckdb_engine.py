"""DuckDB, embedded: reads text, sorts and joins, and goes to disk where memory would not do."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from toplist._files import disk_full, need, temporary_folder
from toplist.core.kernel import threads
from toplist.errors import FileError, ResourceError, TopListError

_MEMORY = "700MB"
_MEMORY_MARKS = ("Out of Memory", "out of memory", "bad allocation", "could not allocate", "failed to allocate")
_DISK = ("max_temp_directory_size", "No space left on device", "Disk quota exceeded", "File too large")


@contextmanager
def connect() -> Iterator[Any]:
    """A database of our own, in memory, gone when it is closed; errors about memory and disk are one sentence."""
    duckdb, pa = need("duckdb"), need("pyarrow")
    with temporary_folder() as place:
        settings = {
            "threads": threads(),
            "memory_limit": _memory(),
            "temp_directory": str(place),
            "autoinstall_known_extensions": False,
            "autoload_known_extensions": False,
        }
        engine = _started(settings)
        try:
            yield engine
        except (duckdb.Error, pa.ArrowException, OSError, RuntimeError) as error:
            require_uninterrupted(error)
            if _scarce(str(error)):
                raise ResourceError(message_of(error)) from None
            if isinstance(error, duckdb.Error):
                raise FileError("DuckDB", message_of(error)) from None
            raise
        finally:
            engine.close()


def _started(settings: dict[str, Any]) -> Any:
    duckdb = need("duckdb")
    try:
        engine = duckdb.connect(":memory:", config=settings)
    except duckdb.Error as error:
        if "memory" in str(error).lower() and not _scarce(str(error)):
            raise TopListError(f"TOPLIST_MEMORY={_memory()!r} is no amount of memory, such as 2GB.") from None
        raise ResourceError(f"DuckDB cannot be started: {message_of(error)}") from None
    engine.execute("SET enable_progress_bar = false")
    return engine


@contextmanager
def guarded(batches: Iterator[Any], schema: Any, engine: Any, source: str) -> Iterator[Any]:
    """A stream of batches as a table `stream` of the engine; what goes wrong in it is raised as it was."""
    pa, duckdb = need("pyarrow"), need("duckdb")
    failures: list[BaseException] = []

    def watched() -> Iterator[Any]:
        try:
            yield from batches
        except GeneratorExit:
            raise
        except BaseException as failure:
            failures.append(failure)
            raise

    stream = pa.RecordBatchReader.from_batches(schema, watched())
    engine.register("stream", stream)
    try:
        yield stream
    except (duckdb.Error, pa.ArrowException, OSError, RuntimeError) as error:
        if failures:
            raise failures[0] from None
        require_uninterrupted(error)
        if isinstance(error, RuntimeError):
            raise
        require_enough(error, source)
        raise FileError(source, f"this cannot be brought into order: {message_of(error)}") from None
    finally:
        with suppress(duckdb.Error):  # closed already, where a reader was given up halfway
            engine.unregister("stream")


def require_uninterrupted(error: BaseException) -> None:
    """Raise an interrupt as what it is: inside the engine it becomes an error of a query, or a text in one."""
    text = str(error)
    if any(mark in text for mark in ("Query interrupted", "INTERRUPT Error", "KeyboardInterrupt")):
        raise KeyboardInterrupt from None


def require_enough(error: BaseException, source: str) -> None:
    """Raise what is about memory or disk as such: the file is not to blame."""
    if _scarce(str(error)):
        raise ResourceError(f"{source}: {message_of(error)}") from None


def message_of(error: BaseException) -> str:
    """The message of an error of the engine in one sentence; an interrupt is raised."""
    require_uninterrupted(error)
    text = str(error).strip()
    if any(mark in text for mark in _DISK):
        return disk_full("DuckDB needs more")
    if any(mark in text for mark in _MEMORY_MARKS):
        more = "TOPLIST_MEMORY=4GB" if "TOPLIST_MEMORY" not in os.environ else "a larger TOPLIST_MEMORY"
        return f"it takes more than {_memory()} of memory. Allow more with {more}."
    text = re.sub(r"^(\w+ )*Error: ", "", text.partition("\n")[0].partition("Traceback")[0].strip(" :"))
    return (text if len(text) <= 200 else f"{text[:197]}...").rstrip(".") + "."


def _scarce(text: str) -> bool:
    """Whether memory or disk did not suffice."""
    return any(mark in text for mark in (*_DISK, *_MEMORY_MARKS))


def _memory() -> str:
    return os.environ.get("TOPLIST_MEMORY", _MEMORY)


def quoted(name: str, mark: str = '"') -> str:
    """A name, or a text, as SQL writes it."""
    return mark + name.replace(mark, mark * 2) + mark
