"""What a command prints and writes: progress, how files are read, results for people or as JSON, outputs in place."""

from __future__ import annotations

import json as jsonlib
import logging
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from toplist._files import require_apart, require_place
from toplist.cli.errors import UsageError, require_unstopped
from toplist.report.text import visible

if TYPE_CHECKING:
    from toplist.io.write import WriteSummary


@contextmanager
def progress_bar(quiet: bool) -> Iterator[Callable[[str, int, int | None], None]]:
    """A bar on a terminal; nothing elsewhere."""
    if quiet or not sys.stderr.isatty():
        yield lambda what, done, total: require_unstopped()
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bars:
        tasks: dict[str, Any] = {}

        def update(what: str, done: int, total: int | None) -> None:
            require_unstopped()
            if what not in tasks:
                tasks[what] = bars.add_task(visible(what), total=total)
            bars.update(tasks[what], completed=done)

        yield update


_TRIM, _PAD, _MMAP = -1, -2, -3  # the names of glibc's malloc.h
_KEEP = 1 << 30


def keep_freed_memory() -> None:
    """Batches of one size come one after the other: freed memory is kept for the next instead of given back.

    Otherwise a fifth of the time of a long comparison goes into page faults. Only glibc needs to be told.
    """
    if sys.platform != "linux":
        return
    import ctypes

    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (OSError, AttributeError):  # another C library
        return
    for option, value in ((_TRIM, _KEEP), (_PAD, 1 << 26), (_MMAP, _KEEP)):
        mallopt(option, value)


def require_json(path: Path | None, flag: str) -> None:
    """Refuse a name that is not that of a JSON file."""
    if path is not None and path.suffix.lower() != ".json":
        raise UsageError(f"{flag} is a file of JSON, such as {path.stem or 'model'}.json, not {str(path)!r}.")


def require_outputs(outputs: Iterable[Path | None], inputs: Iterable[str | Path | None]) -> None:
    """Before any work: every output has a place, and is none of the inputs."""
    asked = [path for path in outputs if path is not None]
    require_apart(asked, inputs)
    for path in asked:
        require_place(path)


def print_json(record: Mapping[str, Any]) -> None:
    """Print one object for machines."""
    typer.echo(jsonlib.dumps(record, ensure_ascii=False, allow_nan=False))


def print_written(written: WriteSummary, json: bool, schema: str, **values: Any) -> None:
    """Print what was written, for machines or in a few lines."""
    if json:
        print_json({"schema": schema, **values, **written.to_dict()})
        return
    print_changes(written.repairs, written.left_out)
    if written.faint:
        typer.echo(
            f"in {written.faint:,} cases a mass below 1e-14 loses its digits in a file, "
            "where the mass that is not listed is one minus the sum"
        )
    typer.echo(f"{written.cases:,} cases in {visible(written.output)}")


def print_changes(repairs: Mapping[str, Mapping[str, int]], left_out: Mapping[str, int]) -> None:
    """Print what was repaired in each file, and how many of its cases were left out."""
    for name, counts in repairs.items():
        told = ", ".join(f"{what} ({count:,} cases)" for what, count in counts.items() if count)
        if told:
            typer.echo(f"repaired in {visible(name)}: {told}")
    left = ", ".join(f"{count:,} cases of {visible(name)}" for name, count in left_out.items() if count)
    if left:
        typer.echo(f"left out: {left}")


class _Lines(logging.Handler):
    """Prints each message once."""

    def __init__(self) -> None:
        super().__init__(logging.INFO)
        self.printed: set[str] = set()

    def emit(self, record: logging.LogRecord) -> None:
        """Print a message, unless it was printed before."""
        line = visible(record.getMessage())
        if line not in self.printed:
            self.printed.add(line)
            typer.echo(line, err=True)


@contextmanager
def reading_lines(quiet: bool) -> Iterator[None]:
    """While this is open, what the library logs of how files are read goes to stderr, unless that is not wanted."""
    log, handler = logging.getLogger("toplist"), _Lines()
    before, passing = log.level, log.propagate
    if not quiet:
        log.addHandler(handler)
        log.setLevel(logging.INFO)
        log.propagate = False
    try:
        yield
    finally:
        log.removeHandler(handler)
        log.setLevel(before)
        log.propagate = passing
