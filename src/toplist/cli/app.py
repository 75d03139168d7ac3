"""The command `toplist`: its subcommands and streams. Commands import what they need when they run: help is fast."""

from __future__ import annotations

import codecs
import os
import sys
from typing import Annotated, TextIO

import typer

from toplist.cli.compare import compare, plan, score
from toplist.cli.demo import demo
from toplist.cli.diagnose import check, convert, diagnose, producers
from toplist.cli.gate import gate, record
from toplist.cli.options import Command, CommandGroup
from toplist.cli.output import give_up
from toplist.cli.partial import merge, partial
from toplist.cli.sql import sql
from toplist.cli.transform import apply, fit, pool, truncate

_ESCAPED = "toplist.escaped"

app = typer.Typer(
    name="toplist",
    cls=CommandGroup,
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    add_completion=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    help=(
        "Score and compare probabilistic predictions over classes: labels, top lists, distributions.\n\n"
        "Lower scores are better. Start with: toplist demo"
    ),
    epilog=(
        "Exit codes: 0 success, 1 invalid data, or a file that cannot be read or written, 2 invalid usage, 3 a "
        "condition of --fail-if holds or a gate fails, 4 a gate is inconclusive; ended by a signal: 130 (Ctrl-C), 143 "
        "(SIGTERM), 129 (SIGHUP)."
    ),
)
recalibrate = typer.Typer(
    name="recalibrate",
    cls=CommandGroup,
    no_args_is_help=True,
    rich_markup_mode="rich",
    help="Recalibrate confidences.",
)


def _version(wanted: bool) -> None:
    if wanted:
        from toplist.core.kernel import version

        typer.echo(f"toplist {version()}")
        raise typer.Exit


@app.callback()
def start(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Shared by all commands."""


for _one in (
    compare,
    partial,
    merge,
    gate,
    record,
    score,
    plan,
    check,
    diagnose,
    convert,
    pool,
    truncate,
    producers,
    demo,
    sql,
):
    app.command(cls=Command, epilog=vars(_one)["epilog"])(_one)
for _one in (fit, apply):
    recalibrate.command(cls=Command, epilog=vars(_one)["epilog"])(_one)
app.add_typer(recalibrate)


def main() -> None:
    """Run `toplist`."""
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
