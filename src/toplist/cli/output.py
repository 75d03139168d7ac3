"""What a command prints and writes: streams, progress, results for people or as JSON, errors and exit codes."""

from __future__ import annotations

import contextlib
import ctypes
import json as jsonlib
import logging
import os
import shlex
import signal
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TextIO

import typer

from toplist._files import require_apart, require_place, shown_words
from toplist._text import NOTATION, did_you_mean, visible
from toplist.errors import AlignmentError, CaseError, FileError, ResourceError, TopListError
from toplist.io import ReadOptions

if TYPE_CHECKING:
    from toplist.io import WriteSummary


@contextmanager
def progress_bar(quiet: bool, files: int = 1) -> Iterator[Callable[[str, int, int | None], None]]:
    """One line on a terminal that says which file is read and how far, and is erased at the end; nothing elsewhere."""
    if quiet or not sys.stderr.isatty():
        yield lambda what, done, total: require_unstopped()
        return
    from rich.console import Console
    from rich.live import Live
    from rich.text import Text

    seen: dict[str, int] = {}  # what has been done, and its place
    with Live(console=Console(stderr=True), transient=True, redirect_stdout=False, refresh_per_second=10) as live:

        def update(what: str, done: int, total: int | None) -> None:
            require_unstopped()
            place = seen.setdefault(what, len(seen) + 1)
            live.update(Text(progress_text(what, done, total, place, files), no_wrap=True, overflow="ellipsis"))

        yield update


def progress_text(what: str, done: int, total: int | None, place: int, files: int) -> str:
    """One line of progress.

    >>> progress_text("scoring vgg19_bn", 4000, None, 3, 14)
    'Scoring 3 of 14: vgg19_bn, 4,000 cases'
    >>> progress_text("scoring", 4000, 10000, 1, 14), progress_text("pooling", 500, None, 2, 1)
    ('Scoring 14 files: 4,000 of 10,000 cases', 'Pooling: 500 cases')
    """
    verb, _, name = what.partition(" ")
    cases = f"{done:,} cases" if total is None else f"{min(done, total):,} of {total:,} cases"
    if name:
        return visible(f"{verb.capitalize()} {place} of {max(files, place)}: {name}, {cases}")
    return f"{verb.capitalize()}{f' {files:,} files' if files > 1 else ''}: {cases}"


def writes_unicode(stream: TextIO) -> bool:
    """Whether the encoding of a stream has the signs of tables and intervals."""
    try:
        "\u0394\u2212\u2013\u221e\u2501\u25cf\u2026".encode(stream.encoding or "ascii")
    except (LookupError, UnicodeEncodeError):
        return False
    return True


def print_text(text: str) -> None:
    """Print text for people, in ASCII where the stream has no other signs."""
    from toplist.report.terminal import to_ascii

    typer.echo(text if writes_unicode(sys.stdout) else to_ascii(text))


def require_suffix(flag: str, paths: Iterable[Path | None], suffixes: Sequence[str]) -> None:
    """Refuse an output whose name does not say what it is."""
    for path in paths:
        if path is not None and path.suffix.lower() not in suffixes:
            raise UsageError(f"{flag} is {either(suffixes)}, not {path.name!r}.")


def typed_command() -> str:
    """What was typed, for those who want to do it again; without what is secret in it."""
    return shlex.join(["toplist", *shown_words(sys.argv[1:])])


def require_outputs(outputs: Iterable[Path | None], inputs: Iterable[str | Path | None]) -> None:
    """Before any work: every output has a place, and is none of the inputs."""
    asked = [path for path in outputs if path is not None]
    if asked:
        require_apart(asked, inputs)
        for path in asked:
            require_place(path)


def print_json(record: Mapping[str, Any]) -> None:
    """Print one object for machines."""
    typer.echo(jsonlib.dumps(record, allow_nan=False))


def print_result(result: Any, json: bool) -> None:
    """Print what has both forms, for machines or for people."""
    if json:
        print_json(result.to_dict())
    else:
        print_text(result.to_text())


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
        repaired = ", ".join(f"{what} ({count:,} cases)" for what, count in counts.items() if count)
        if repaired:
            typer.echo(f"repaired in {visible(name)}: {repaired}")
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


BAD_DATA, BAD_USAGE, GATE, INCONCLUSIVE = 1, 2, 3, 4
_FLAGS = {
    "method": "--inference",
    "n_classes": "--classes",
    "producer": "--from",
    "space": "--classes",
}  # the others are called alike

_COLUMNS = ("case", "class_column", "confidence", "outcome")  # arguments that name a column
_READ = tuple(one.name for one in fields(ReadOptions) if one.name not in ("producer", "where", "normalize"))


def keep_freed_memory() -> None:
    """Batches of one size come one after the other: freed memory is kept for the next instead of given back.

    Otherwise a fifth of the time of a long comparison goes into page faults. Only glibc needs to be told.
    """
    if sys.platform != "linux":
        return
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (OSError, AttributeError):  # another C library
        return
    trim, pad, mmap = -1, -2, -3  # the names of glibc's malloc.h
    for what, size in ((trim, 1 << 30), (pad, 1 << 26), (mmap, 1 << 30)):
        mallopt(what, size)


class UsageError(Exception):
    """The command was given something that it cannot mean."""


def flag_of(name: str) -> str:
    """The flag of an argument or a field of a record.

    >>> flag_of("max_loss"), flag_of("k"), flag_of("method"), flag_of("class_column")
    ('--max-loss', '-k', '--inference', '--read class_column')
    """
    if name in _READ:
        return f"--read {name}"
    return _FLAGS.get(name) or (f"-{name}" if len(name) == 1 else f"--{name.replace('_', '-')}")


def as_flag(name: str, value: Any, file: str) -> str:
    """An argument of the library as it is typed in a shell.

    >>> as_flag("normalize", True, ""), as_flag("case", "an id", ""), as_flag("case", ..., "a")
    ('--normalize', "--read 'case=an id'", '--read case=a=COLUMN')
    """
    if value is True or (value is ... and name not in _COLUMNS):
        return flag_of(name)
    word = "COLUMN" if value is ... else str(value)
    word = f"{file}={word}" if file else word
    return f"--read {shlex.quote(f'{name}={word}')}" if name in _READ else f"{flag_of(name)} {shlex.quote(word)}"


def either(words: Sequence[str]) -> str:
    """Words to choose from, in a sentence.

    >>> either(["a", "b", "c"]), either(["a"])
    ('a, b or c', 'a')
    """
    *most, last = words
    return f"{', '.join(most)} or {last}" if most else last


def require_choice(name: str, given: Any, choices: Iterable[str]) -> None:
    """Refuse a word that is none of those to choose from."""
    choices = tuple(choices)
    for word in given if isinstance(given, list | tuple) else [given]:
        stem = str(word).partition(":")[0]  # of a choice that has a value of the user's, as in topbeta:BETA
        if choices and word is not None and word not in choices and not any(c.startswith(f"{stem}:") for c in choices):
            raise UsageError(f"{flag_of(name)} is {either(choices)} here, not {word!r}.{did_you_mean(word, choices)}")


@contextmanager
def of_flags(names: Iterable[str]) -> Iterator[None]:
    """What a record refuses, it says of a field by its name, the first word: this is a flag here."""
    try:
        yield
    except TopListError as error:
        word, _, rest = str(error).partition(" ")
        raise UsageError(f"{flag_of(word) if word in set(names) else word} {rest}") from None


@contextmanager
def reported() -> Iterator[None]:
    """One sentence on stderr instead of a traceback."""
    try:
        with _unwound():
            NOTATION.append(as_flag)
            try:
                yield
            finally:
                NOTATION.pop()
                require_unstopped()  # whatever became of the interrupt on its way
    except UsageError as error:
        _say(visible(str(error)), BAD_USAGE)
    except TopListError as error:
        data = isinstance(error, AlignmentError | CaseError | FileError | ResourceError)
        _say(visible(str(error)), BAD_DATA if data else BAD_USAGE)
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


def _say(sentence: str, code: int) -> None:
    typer.echo(f"toplist: {sentence}", err=True)
    raise typer.Exit(code)


def give_up(stream: TextIO) -> None:
    """Nobody reads on: what is still to be written goes nowhere, so that nothing is said of it at the end."""
    with contextlib.suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)


def _producers(wanted: bool) -> None:
    if wanted:
        from toplist.io import PRODUCERS

        width = max(map(len, PRODUCERS))
        print_text("\n".join(f"{name:{width}}  {one.title}" for name, one in sorted(PRODUCERS.items())))
        raise typer.Exit


def _version(wanted: bool) -> None:
    if wanted:
        from toplist.core.kernel import version

        typer.echo(f"toplist {version()}")
        raise typer.Exit


def start(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and exit.")
    ] = False,
    producers: Annotated[
        bool,
        typer.Option(
            "--producers",
            callback=_producers,
            is_eager=True,
            help="List the programs whose files are read, by the names that --from takes, and exit.",
        ),
    ] = False,
) -> None:
    """Shared by all commands."""


def run(app: Callable[[], None]) -> None:
    """Run the command, with streams that can be written to, and end with its exit code."""
    _open_streams()
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
    for name, number in (("stdout", 1), ("stderr", 2)):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, os.fdopen(number, "w", encoding="utf-8", errors="backslashreplace", closefd=False))
        elif hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
