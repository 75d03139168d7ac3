"""The command `toplist`. Its commands import what they need when they run, so that help is fast."""

from __future__ import annotations

from typing import Annotated

import typer

from toplist.cli.compare import compare, plan, score
from toplist.cli.demo import demo
from toplist.cli.diagnose import check, convert, diagnose
from toplist.cli.transform import apply, fit, pool, truncate

app = typer.Typer(
    name="toplist",
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    add_completion=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    help=(
        "Score predictions over classes honestly: hard labels, top lists and distributions on one scale.\n\n"
        "Lower scores are better. Start with: toplist demo"
    ),
    epilog=(
        "Exit codes: 0 fine, 1 bad data, or a file that cannot be read or written, 2 bad usage, 3 a gate (--fail-if) "
        "was hit; stopped by a signal: 130 (Ctrl-C), 143 (SIGTERM), 129 (SIGHUP)."
    ),
)
recalibrate = typer.Typer(
    name="recalibrate", no_args_is_help=True, rich_markup_mode="rich", help="Recalibrate the confidences."
)


def _version(wanted: bool) -> None:
    if wanted:
        from toplist.report.versions import version

        typer.echo(f"toplist {version()}")
        raise typer.Exit


@app.callback()
def start(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Shared by all commands."""


for _one in (compare, score, plan, check, diagnose, convert, pool, truncate, demo):
    app.command(epilog=vars(_one)["epilog"])(_one)
for _one in (fit, apply):
    recalibrate.command(epilog=vars(_one)["epilog"])(_one)
app.add_typer(recalibrate)
