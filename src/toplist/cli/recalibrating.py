"""`toplist recalibrate fit` and `toplist recalibrate apply`."""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import typer

from toplist.cli import progress
from toplist.cli.failures import UsageError
from toplist.cli.improving import nearest, reading_of, require_json, require_rule, say_json, say_written
from toplist.cli.memory import keep_freed_memory
from toplist.improve.recalibration import Choice, Recalibrator
from toplist.io.coding import empty_set_explained
from toplist.io.writers import write_json
from toplist.transformation import recalibrate_file
from toplist.transformation.fitting import KINDS, fit_recalibrator


def fit(
    file: str,
    truth: str,
    *,
    output: Path,
    kind: str,
    rule: str,
    folds: int,
    seed: int,
    json: bool,
    quiet: bool,
    **how: Any,
) -> None:
    """Fit a recalibrator and write it down."""
    if kind not in ("auto", *KINDS):
        raise UsageError(f"--kind is auto, {', '.join(KINDS)}, not {kind!r}.{nearest(kind, ['auto', *KINDS])}")
    require_rule(rule)
    require_json(output, "--output")
    predictions, reading = reading_of([file], truth, **how)
    (path,) = predictions.values()
    with progress.shown(quiet) as update, empty_set_explained(reading.sets):
        model, choice = fit_recalibrator(
            path, truth, kind=kind, rule=rule, folds=folds, seed=seed, reading=reading, progress=update
        )
    write_json(output, model.to_dict())
    if json:
        say_json("toplist.recalibrate/1", **_table(choice, model, kind), output=str(output))
        return
    typer.echo(_in_words(choice, model, kind))
    typer.echo(f"{model!r} in {output}")


def _line(choice: Choice, kind: str) -> int:
    """The line of the table that is about the model which was kept."""
    return choice.chosen if kind == "auto" else len(choice.table) - 1


def _table(choice: Choice, model: Recalibrator, kind: str) -> dict[str, Any]:
    return {
        "rule": choice.rule,
        "folds": choice.folds,
        "seed": choice.seed,
        "kept": _line(choice, kind),
        "model": model.to_dict(),
        "table": [asdict(one) for one in choice.table],
    }


def _in_words(choice: Choice, model: Recalibrator, kind: str) -> str:
    """The table, with a mark on the line that is kept."""
    lines = repr(replace(choice, best=model, chosen=_line(choice, kind))).split("\n")[1:]
    return "\n".join([f"{choice.rule} scores of cases that a fit has not seen ({choice.folds} folds)", *lines])


def apply(file: str, model: Path, *, output: Path, json: bool, quiet: bool, **how: Any) -> None:
    """Write a file's lists as a saved recalibrator changes them."""
    keep_freed_memory()
    predictions, reading = reading_of([file], None, **how)
    (path,) = predictions.values()
    known = Recalibrator.load(model)
    with progress.shown(quiet) as update, empty_set_explained(reading.sets):
        written = recalibrate_file(path, known, output, reading=reading, progress=update)
    say_written(written, json, "toplist.recalibrate/1", model=repr(known))
