"""How each file is read, said on stderr: one line per file."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager

import typer


class _Lines(logging.Handler):
    """Prints each message once."""

    def __init__(self) -> None:
        super().__init__(logging.INFO)
        self.said: set[str] = set()

    def emit(self, record: logging.LogRecord) -> None:
        """Print a message, unless it was printed before."""
        from toplist.words.names import visible

        line = visible(record.getMessage())
        if line not in self.said:
            self.said.add(line)
            typer.echo(line, err=True)


@contextmanager
def told(quiet: bool) -> Iterator[None]:
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
