"""`toplist recalibrate fit` and `toplist recalibrate apply`."""

from __future__ import annotations

import json as jsonlib
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import typer

from toplist.cli import asking, progress
from toplist.cli.failures import UsageError
from toplist.cli.memory import keep_freed_memory
from toplist.cli.placing import require_outputs
from toplist.cli.rewriting import reading_of, require_json, require_rule, say_changed, say_json, say_written
from toplist.errors import FileError, TopListError
from toplist.improve.recalibration import Choice, Recalibrator
from toplist.io.coding import empty_set_explained
from toplist.io.records import write_json
from toplist.space import show_size
from toplist.spelling import meant
from toplist.transformation import transform
from toplist.transformation.fitting import KINDS, fit_recalibrator
from toplist.words.names import visible


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
        raise UsageError(f"--kind is auto, {', '.join(KINDS)}, not {kind!r}.{meant(kind, ['auto', *KINDS])}")
    require_rule(rule)
    require_json(output, "--output")
    require_outputs([output], [*asking.named_files([file]).values(), truth], how["classes"])
    predictions, reading = reading_of([file], truth, **how)
    ((name, path),) = predictions.items()
    with progress.shown(quiet) as update, empty_set_explained(reading.sets):
        found = fit_recalibrator(
            path, truth, name=name, kind=kind, rule=rule, folds=folds, seed=seed, reading=reading, progress=update
        )
    model, choice = found.model, found.choice
    to = {"cases": found.cases, "classes": show_size(found.classes)}
    write_json(output, model.to_dict() | {"fitted_to": to})
    if json:
        told = {"repairs": found.repairs, "left_out": {one: n for one, n in found.left_out.items() if n}}
        say_json("toplist.recalibrate/1", **_table(choice, model, kind), **to, **told, output=str(output))
        return
    say_changed(found.repairs, found.left_out)
    typer.echo(_in_words(choice, model, kind))
    typer.echo(f"{model!r}, fitted to {found.cases:,} cases, in {visible(str(output))}")


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
    require_outputs([output], [*asking.named_files([file]).values(), model], how["classes"])
    keep_freed_memory()
    predictions, reading = reading_of([file], None, **how)
    ((name, path),) = predictions.items()
    known, was = _loaded(model)
    with progress.shown(quiet) as update, empty_set_explained(reading.sets):
        files = reading.open({name: path})
        written = transform(files, output, lambda lists: known.transform(lists[0]), update, "recalibrating")
    now = show_size(files.space.size)
    if not json and was not in (None, now):
        typer.echo(f"fitted among {visible(was)} classes, used among {now}: what was learned there may not hold here")
    say_written(written, json, "toplist.recalibrated/1", model=repr(known), fitted_among=was)


def _loaded(path: Path) -> tuple[Any, str | None]:
    """A saved recalibrator, and among how many classes it was fitted, where the file says so."""
    try:
        known = Recalibrator.load(path)
    except FileError as error:
        order = "Predictions come first, then what `toplist recalibrate fit` wrote."
        raise FileError(str(path), f"{error.problem} {order}") from None
    except TopListError as error:
        raise FileError(str(path), str(error)) from None
    told = jsonlib.loads(path.read_text(encoding="utf-8")).get("fitted_to")
    was = told.get("classes") if isinstance(told, dict) else None
    return known, was if isinstance(was, str) else None
