"""`toplist compare`."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from threading import Thread
from typing import Any

import typer

from toplist.cli import asking, progress
from toplist.cli.failures import GATE, UsageError
from toplist.cli.memory import keep_freed_memory
from toplist.comparison import compare as compare_predictions
from toplist.leaderboard import Leaderboard


def compare(
    files: Sequence[str],
    truth: str,
    *,
    classes: str | None,
    rule: Sequence[str] | None,
    output: Sequence[Path] | None,
    fail_if: Sequence[str] | None,
    top: Sequence[int] | None,
    layout: Sequence[str] | None,
    units: Sequence[str] | None,
    normalize: bool,
    normalize_only: Sequence[str] | None,
    duplicates: Sequence[str] | None,
    detail: bool,
    json: bool,
    quiet: bool,
    **columns: Any,
) -> None:
    """Compare, print, write, and exit with 3 if a gate is hit."""
    keep_freed_memory()
    Thread(
        target=import_module, args=("scipy.special",), daemon=True
    ).start()  # for the intervals, while files are read
    predictions = asking.named_files(files)
    names = list(predictions)
    space, sizes = asking.space_of(classes, truth)
    gates = [_gate(text, names) for text in fail_if or ()]
    for path in output or ():
        if path.suffix.lower() not in (".json", ".csv", ".md", ".tex", ".html", ".txt"):
            raise UsageError(f"--output is .json, .csv, .md, .tex, .html or .txt, not {path.name!r}.")
        if not path.parent.is_dir():
            raise UsageError(f"there is no folder {str(path.parent)!r} for the output.")
    with progress.shown(quiet) as update:
        board = compare_predictions(
            predictions,
            truth,
            space=space,
            sizes=sizes,
            rules=asking.rules_of(rule),
            top=list(top) if top else 5,
            layout=asking.per_predictor(layout, names, "layout"),
            units=asking.per_predictor(units, names, "units"),
            normalize=asking.flagged(normalize, normalize_only, names, "normalize-only"),
            duplicates=asking.per_predictor(duplicates, names, "duplicates"),
            progress=update,
            **_renamed(columns),
        )
    show(board, json=json, detail=detail)
    for path in output or ():
        board.write(path)
    hit = [text for text, gate in zip(fail_if or (), gates, strict=True) if _holds(board, *gate)]
    if hit:
        typer.echo(f"toplist: {'; '.join(hit)}.", err=True)
        raise typer.Exit(GATE)


def _renamed(columns: dict[str, Any]) -> dict[str, Any]:
    """The flags by the names of the library's arguments."""
    other = {"weight": "sample_weight", "cluster": "clusters", "class_": "classes", "confidence": "confidences"}
    return {other.get(name, name): value for name, value in columns.items()}


def show(board: Leaderboard, *, json: bool, detail: bool) -> None:
    """Print for people or for machines."""
    if json:
        typer.echo(board.to_json())
        return
    from rich.console import Console

    from toplist.report.terminal import as_renderable

    wide = None if sys.stdout.isatty() else 400
    Console(width=wide, highlight=False).print(as_renderable(board.results, detail=detail))


def _gate(text: str, names: Sequence[str]) -> tuple[str, str, str]:
    """`A worse than B`, `A not better than B`: who, what, whom."""
    for how in ("not better", "not worse", "worse", "better"):
        parts = re.split(rf"\s+{how}\s+than\s+", text.strip(), maxsplit=1)
        if len(parts) == 2:
            for name in parts:
                if name not in names:
                    raise UsageError(f"--fail-if {text!r}: {name!r} is not among {', '.join(map(repr, names))}.")
            return parts[0], how, parts[1]
    raise UsageError(f'--fail-if says "A worse than B", "better", "not better" or "not worse", not {text!r}.')


def _holds(board: Leaderboard, a: str, how: str, b: str) -> bool:
    """Worse and better mean that the interval of the difference leaves no doubt."""
    found = board.difference(a, b)
    infinite = [board[name].marks[0].infinite for name in (a, b)]
    if found.low is not None and found.high is not None:
        worse, better = found.low > 0, found.high < 0
    else:
        worse, better = infinite[0] > infinite[1], infinite[0] < infinite[1]
    return {"worse": worse, "better": better, "not better": not better, "not worse": not worse}[how]
