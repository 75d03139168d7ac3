"""The command `toplist`: parse arguments, call a verb, print.

In: arguments of a shell. Out: text or JSON, files, an exit code. May import every package, each when a command runs.
"""

from __future__ import annotations

import codecs
import os
import sys
from typing import TextIO

_ESCAPED = "toplist.escaped"


def main() -> None:
    """Run `toplist`."""
    _open_streams()
    try:
        from toplist.cli.app import app
        from toplist.cli.output import give_up
    except ImportError as error:
        if not (error.name or "").startswith(("typer", "click", "rich", "shellingham")):
            raise
        sys.exit("the command needs typer and rich: pip install 'toplist[cli]'")
    code: object = 0
    try:
        try:
            app()
        except SystemExit as end:
            code = end.code
        sys.stdout.flush()
    except BrokenPipeError:
        give_up(sys.stdout)
    except OSError as error:  # of help and tables: a full disk
        give_up(sys.stdout)
        sys.stderr.write(f"toplist: the output cannot be written: {error.strerror}.\n")
        code = 1
    sys.exit(code)  # type: ignore[arg-type]


def _open_streams() -> None:
    """Streams that were closed go nowhere, and what their encoding lacks is escaped."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # takes the lowest number, so that no file gets it
    codecs.register_error(_ESCAPED, _escape)
    sys.stdout, sys.stderr = (_opened(stream, at) for at, stream in ((1, sys.stdout), (2, sys.stderr)))


def _opened(stream: TextIO | None, number: int) -> TextIO:
    if stream is None:
        return os.fdopen(number, "w", encoding="utf-8", errors=_ESCAPED, closefd=False)
    if hasattr(stream, "reconfigure"):
        stream.reconfigure(errors=_ESCAPED)
    return stream


def _escape(error: UnicodeError) -> tuple[str, int]:
    r"""Characters that a stream cannot encode as \uXXXX, which people and JSON read alike."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    units = error.object[error.start : error.end].encode("utf-16-be", "surrogatepass")
    pairs = (units[at : at + 2] for at in range(0, len(units), 2))
    return "".join(f"\\u{int.from_bytes(pair, 'big'):04x}" for pair in pairs), error.end
