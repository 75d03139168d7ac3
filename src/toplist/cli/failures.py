"""Errors as one sentence, and exit codes that mean something."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import typer

BAD_DATA, BAD_USAGE, GATE = 1, 2, 3

# What the library calls an argument is a flag here.
_FLAGS = (
    (r'units="(\w+)"', r"--units \1"),
    (r"normalize=True", "--normalize"),
    (r'duplicates="sum"', "--duplicates sum"),
    (r'blanks="drop"', "--blanks drop"),
    (r'missing="(\w+)" \((.*?)\), "(\w+)" \((.*?)\) or "(\w+)"', r"--missing \1 (\2), \3 (\4) or \5"),
    (r'missing="(\w+)"', r"--missing \1"),
    (r'sets=";"', '--sets ";"'),
    (r'rule="(\w+)"', r"--rule \1"),
    (r"space= \(--classes\)", "--classes"),
    (r"min_cases=(\d+)", r"--min-cases \1"),
)


class UsageError(Exception):
    """The command was given something that it cannot mean."""


@contextmanager
def reported() -> Iterator[None]:
    """One sentence on stderr instead of a traceback."""
    from toplist.errors import AlignmentError, CaseError, FileError, TopListError
    from toplist.words.names import visible

    try:
        yield
    except UsageError as error:
        _say(visible(str(error)), BAD_USAGE)
    except TopListError as error:
        data = isinstance(error, AlignmentError | CaseError | FileError)
        _say(visible(with_flags(str(error))), BAD_DATA if data else BAD_USAGE)
    except BrokenPipeError:
        sys.stderr.close()
        raise typer.Exit(0) from None
    except OSError as error:
        where = "" if error.filename is None else f"{visible(str(error.filename))}: "
        _say(f"{where}{error.strerror or type(error).__name__}.", BAD_DATA)
    except MemoryError:
        _say("this takes more memory than there is.", BAD_DATA)
    except KeyboardInterrupt:
        _say("stopped.", 130)


def with_flags(text: str) -> str:
    """What the library says, with flags for arguments.

    >>> with_flags('pass units="percent" or normalize=True')
    'pass --units percent or --normalize'
    """
    for library, command in _FLAGS:
        text = re.sub(library, command, text)
    return text


def _say(sentence: str, code: int) -> None:
    typer.echo(f"toplist: {sentence}", err=True)
    raise typer.Exit(code)
