"""Errors as one sentence, and exit codes that mean something."""

from __future__ import annotations

import contextlib
import os
import re
import shlex
import signal
import sys
import threading
from ast import literal_eval
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, TextIO

import typer

BAD_DATA, BAD_USAGE, GATE = 1, 2, 3


def _for_one(found: re.Match[str]) -> str:
    """An option for one file."""
    flag = {"classes": "class", "confidences": "confidence"}.get(found.group(1), found.group(1))
    value = found.group(3) if found.re.groups > 2 else "COLUMN"
    return f"--{flag} {shlex.quote(f'{found.group(2)}={value}')}"


# What the library calls an argument is a flag here.
_FLAGS: tuple[tuple[str, Any], ...] = (
    (r'units="(\w+)"', r"--units \1"),
    (r"normalize=True", "--normalize"),
    (r'duplicates="sum"', "--duplicates sum"),
    (r'blanks="drop"', "--blanks drop"),
    (r'missing="(\w+)" \((.*?)\), "(\w+)" \((.*?)\) or "(\w+)"', r"--missing \1 (\2), \3 (\4) or \5"),
    (r'missing="(\w+)"', r"--missing \1"),
    (r'sets=";"', '--sets ";"'),
    (r'rule="(\w+)"', r"--rule \1"),
    (r"space= \(--classes\)", "--classes"),
    (r"by_position=True", "--by-position"),
    (r"(case|confidences|classes)=\{'(.*?)': \.\.\.\}", _for_one),
    (r"(case|confidences|classes)=\{'([^']*)': '([^']*)'\}", _for_one),
    (r"\b(case|ignore|layout)= is given", r"--\1 is given"),
    (r"\bclasses= is given", "--class is given"),
    (r"\bconfidences= is given", "--confidence is given"),
    (r"case=\{name: column\}", "--case NAME=COLUMN"),
    (r"classes=\{name: column\}", "--class NAME=COLUMN"),
    (r"confidences=\{name: column\}", "--confidence NAME=COLUMN"),
    (r"min_cases=(\d+)", r"--min-cases \1"),
)


_QUOTED = r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\""
_NAMED = re.compile(rf"\b(case|classes|confidences|outcome|ignore|layout)=({_QUOTED}|\.\.\.)")


class UsageError(Exception):
    """The command was given something that it cannot mean."""


def require_named(columns: Mapping[str, Any]) -> None:
    """An option that names columns names some: to --cluster and --order alone, no name means no column."""
    for option in ("by", "weight", "case", "class_", "confidence", "outcome", "keep"):
        given = columns.get(option)
        if any(not str(one).strip() for one in ([given] if isinstance(given, str) else given or ())):
            raise UsageError(f"--{option.rstrip('_')} names a column: what is given is empty.")


@contextmanager
def reported() -> Iterator[None]:
    """One sentence on stderr instead of a traceback."""
    from toplist.errors import AlignmentError, CaseError, FileError, ResourceError, TopListError
    from toplist.report.text import visible

    try:
        with _unwound():
            try:
                yield
            finally:
                require_unstopped()  # whatever became of the interrupt on its way
    except UsageError as error:
        _say(visible(str(error)), BAD_USAGE)
    except TopListError as error:
        data = isinstance(error, AlignmentError | CaseError | FileError | ResourceError)
        _say(visible(with_flags(str(error))), BAD_DATA if data else BAD_USAGE)
    except BrokenPipeError:
        give_up(sys.stdout)
        raise typer.Exit(0) from None
    except OSError as error:
        where = "" if error.filename is None else f"{visible(str(error.filename))}: "
        _say(f"{where}{error.strerror or type(error).__name__}.", BAD_DATA)
    except MemoryError:
        _say("this takes more memory than there is.", BAD_DATA)
    except RuntimeError as error:
        if "start new thread" not in str(error):
            raise
        _say("no more threads can be started: allow more of them or more memory, or set TOPLIST_THREADS=1.", BAD_DATA)
    except KeyboardInterrupt:
        _say("stopped.", 128 + (_heard[0] if _heard else signal.SIGINT))


_heard: list[int] = []  # signals that were to end this command


def require_unstopped() -> None:
    """Go on only if no signal has come: one that comes inside a library's callback may be lost there."""
    if _heard:
        raise KeyboardInterrupt


@contextmanager
def _unwound() -> Iterator[None]:
    """Let signals that end the process unwind it like Ctrl-C, so that what is temporary is removed; they are noted."""

    def stop(number: int, _: object) -> None:
        _heard.append(number)
        raise KeyboardInterrupt

    def unraisable(lost: Any, say: Any = sys.unraisablehook) -> None:
        if not (_heard and isinstance(lost.exc_value, KeyboardInterrupt)):
            say(lost)

    _heard.clear()
    hook, sys.unraisablehook = sys.unraisablehook, unraisable
    usual = (signal.SIG_DFL, signal.default_int_handler)  # one that is ignored, as by nohup, stays ignored
    before = {}
    if threading.current_thread() is threading.main_thread():
        for name in ("SIGINT", "SIGTERM", "SIGHUP"):
            number = getattr(signal, name, None)
            if number is not None and signal.getsignal(number) in usual:
                before[number] = signal.signal(number, stop)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        sys.unraisablehook = hook


def with_flags(text: str) -> str:
    """What the library says, with flags for arguments.

    >>> with_flags('pass units="percent" or normalize=True')
    'pass --units percent or --normalize'
    """
    for library, command in _FLAGS:
        text = re.sub(library, command, text)
    return _NAMED.sub(_typed, text)


def _typed(found: re.Match[str]) -> str:
    """An argument with a name in quotes, as it is typed in a shell."""
    value = literal_eval(found.group(2)) if found.group(2)[0] in "'\"" else found.group(2)
    flag = {"classes": "class", "confidences": "confidence"}.get(found.group(1), found.group(1))
    return f"--{flag} {'COLUMN' if value == '...' else shlex.quote(value)}"


def _say(sentence: str, code: int) -> None:
    typer.echo(f"toplist: {sentence}", err=True)
    raise typer.Exit(code)


def give_up(stream: TextIO) -> None:
    """Nobody reads on: what is still to be written goes nowhere, so that nothing is said of it at the end."""
    with contextlib.suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)
