"""`toplist compare`."""

from __future__ import annotations

import re
import shlex
import sys
from collections.abc import Sequence
from dataclasses import asdict
from importlib import import_module
from pathlib import Path
from threading import Thread
from typing import Any

import typer

from toplist.cli import asking, progress
from toplist.cli.failures import GATE, UsageError, require_named
from toplist.cli.memory import keep_freed_memory
from toplist.cli.placing import require_outputs
from toplist.comparison import compare as compare_predictions
from toplist.leaderboard import Leaderboard
from toplist.monitoring import monitor


def compare(
    files: Sequence[str],
    truth: str,
    *,
    classes: str | None,
    rule: Sequence[str] | None,
    top: Sequence[int] | None,
    layout: Sequence[str] | None,
    case: Sequence[str] | None,
    class_: Sequence[str] | None,
    confidence: Sequence[str] | None,
    ignore: Sequence[str] | None,
    by_position: bool,
    outcome: str | None,
    sets: str | None,
    units: Sequence[str] | None,
    normalize: bool,
    normalize_only: Sequence[str] | None,
    duplicates: Sequence[str] | None,
    blanks: Sequence[str] | None,
    fail_if: Sequence[str] | None,
    confidence_set: bool,
    sequential: bool,
    baseline: str | None,
    output: Sequence[Path] | None,
    report: Path | None,
    title: str | None,
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
    require_named(columns)
    predictions = asking.named_files(files)
    names = list(predictions)
    require_boards(output, report, [*predictions.values(), truth], classes)
    space, sizes = asking.space_of(classes, truth)
    rules = asking.rules_of(rule)
    gates = [_gate(text, names) for text in fail_if or ()]
    if baseline is not None and not sequential:
        raise UsageError("--baseline goes with --sequential.")
    if sequential and len(names) < 2:
        raise UsageError("--sequential compares at least two files.")
    if title is not None and report is None:
        raise UsageError("--title goes with --report.")
    options = asking.options_of(
        names, layout=layout, case=case, class_=class_, confidence=confidence, ignore=ignore, by_position=by_position,
        sets=sets, outcome=outcome,
    )  # fmt: skip
    reading = {
        "space": space,
        "sizes": sizes,
        "units": asking.per_predictor(units, names, "units"),
        "normalize": asking.flagged(normalize, normalize_only, names, "normalize-only"),
        "duplicates": asking.per_predictor(duplicates, names, "duplicates"),
        "blanks": asking.per_predictor(blanks, names, "blanks"),
        **asdict(options),
    }
    others = {_RENAMED.get(flag, flag): value for flag, value in columns.items()}
    with progress.shown(quiet) as update:
        board = compare_predictions(
            predictions, truth, rules=rules, top=list(top) if top else 5, progress=update, **reading, **others
        )
        if confidence_set:
            board.material(update)
            board = board.showing(confidence_set=board.confidence_set())
        if sequential:
            found = monitor(
                predictions,
                truth,
                rule=board.terms.rules[0],
                baseline=baseline,
                level=others["level"],
                penalty=others["penalty"],
                order=others["order"] or board.results.order,
                **reading,
            )
            board = board.showing(paths=found.paths)
        if report is not None:
            board.report(report, title=title, command=_typed(), progress=update)
    show(board, json=json, detail=detail)
    for path in output or ():
        board.write(path)
    hit = [text for text, gate in zip(fail_if or (), gates, strict=True) if _holds(board, *gate)]
    if hit:
        typer.echo(f"toplist: {'; '.join(hit)}.", err=True)
        raise typer.Exit(GATE)


_RENAMED = {"weight": "sample_weight", "cluster": "clusters"}


def require_boards(
    output: Sequence[Path] | None, report: Path | None, inputs: Sequence[str | Path], classes: str | None = None
) -> None:
    """Before any work: what is to be written has a name that says how, a folder, and is nothing that is read."""
    for path in output or ():
        if path.suffix.lower() not in (".json", ".csv", ".md", ".tex", ".html", ".txt"):
            raise UsageError(f"--output is .json, .csv, .md, .tex, .html or .txt, not {path.name!r}.")
    if report is not None and report.suffix.lower() not in (".html", ".htm"):
        raise UsageError(f"--report is a page: name it {report.stem}.html.")
    require_outputs([*(output or ()), report], inputs, classes)


def _typed() -> str:
    """The command as it was typed."""
    return shlex.join(["toplist", *sys.argv[1:]])


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
