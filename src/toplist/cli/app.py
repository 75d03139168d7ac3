"""The command `toplist`: its subcommands. Commands import what they need when they run: help is fast."""

from __future__ import annotations

import functools
from collections.abc import Callable

import typer

from toplist.cli.compare import compare, merge, partial, plan, score
from toplist.cli.demo import demo
from toplist.cli.diagnose import check, convert, diagnose
from toplist.cli.gate import gate
from toplist.cli.options import Command, CommandGroup
from toplist.cli.output import run, start
from toplist.cli.transform import apply, fit, pool, truncate

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
        "gate fails, 4 a gate is inconclusive; ended by a signal: 130 (Ctrl-C), 143 (SIGTERM), 129 (SIGHUP)."
    ),
)
recalibrate = typer.Typer(
    name="recalibrate",
    cls=CommandGroup,
    no_args_is_help=True,
    rich_markup_mode="rich",
    help="Learn how to correct confidences, and correct them.",
)


_COMMANDS = {
    "Compare": (compare, gate, plan),
    "One model": (check, score, diagnose),
    "Improve": (pool, truncate),
    "Files": (convert, demo),
    "Large data": (partial, merge),
}
app.callback()(start)
for _panel, _several in _COMMANDS.items():
    for _one in _several:
        app.command(cls=Command, epilog=vars(_one)["epilog"], rich_help_panel=_panel)(_one)
for _one in (fit, apply):
    recalibrate.command(cls=Command, epilog=vars(_one)["epilog"])(_one)
app.add_typer(recalibrate, rich_help_panel="Improve")

main: Callable[[], None] = functools.partial(run, app)
