"""Progress on stderr, where somebody is looking."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from toplist.cli.failures import require_unstopped


@contextmanager
def shown(quiet: bool) -> Iterator[Callable[[str, int, int | None], None]]:
    """A bar on a terminal; nothing elsewhere."""
    if quiet or not sys.stderr.isatty():
        yield lambda what, done, total: require_unstopped()
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    from toplist.words.names import visible

    columns = (TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bars:
        tasks: dict[str, object] = {}

        def update(what: str, done: int, total: int | None) -> None:
            require_unstopped()
            if what not in tasks:
                tasks[what] = bars.add_task(visible(what), total=total)
            bars.update(tasks[what], completed=done)  # type: ignore[arg-type]

        yield update
