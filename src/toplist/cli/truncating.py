"""`toplist truncate`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import typer

from toplist.cli import asking, progress
from toplist.cli.failures import UsageError
from toplist.cli.memory import keep_freed_memory
from toplist.cli.placing import require_outputs
from toplist.cli.rewriting import reading_of, require_rule, require_truth, say_written
from toplist.io.coding import empty_set_explained
from toplist.io.records import spell
from toplist.transformation import transform, truncate_file


def truncate(
    file: str,
    *,
    output: Path,
    k: int | None,
    mass: float | None,
    gain: float | None,
    truth: str | None,
    choose: str | None,
    rule: str | None,
    json: bool,
    quiet: bool,
    **how: Any,
) -> None:
    """Write shorter lists."""
    given = {"-k": k, "--mass": mass, "--gain": gain, "--truth": truth}
    if sum(value is not None for value in given.values()) != 1:
        raise UsageError(f"say how to cut with one of {', '.join(given)}, and with no other of them.")
    require_truth(truth, {"--choose": choose, "--rule": rule, "--outcome": how["outcome"]})
    choose, rule = choose or "k", rule or "brier"
    if choose not in ("k", "mass"):
        raise UsageError(f"--choose is k or mass, not {choose!r}.")
    require_rule(rule)
    require_outputs([output], [*asking.named_files([file]).values(), truth], how["classes"])
    keep_freed_memory()
    predictions, reading = reading_of([file], truth, **how)
    ((name, path),) = predictions.items()
    with progress.shown(quiet) as update, empty_set_explained(reading.sets):
        if truth is None:
            written = truncate_file(
                path, output, k=k, mass=mass, gain=gain, name=name, reading=reading, progress=update
            )
            say_written(written, json, "toplist.truncated/1", k=k, mass=mass, gain=gain)
            return
        from toplist.transformation.fitting import fit_truncation

        found = fit_truncation(path, truth, name=name, rule=rule, by=choose, reading=reading, progress=update)
        files = reading.open({name: path})
        written = transform(files, output, lambda lists: found.transform(lists[0]), update, "truncating")
    if not json:
        typer.echo(repr(found))
    names = ("at", "score", "gap", "error", "size")
    curve = [
        dict(zip(names, row, strict=True))
        for row in zip(*(getattr(found, name).tolist() for name in names), strict=True)
    ]
    infinite = found.infinite.tolist()
    curve = [
        {name: spell(value) for name, value in row.items()} | {"infinite": n}
        for row, n in zip(curve, infinite, strict=True)
    ]
    say_written(
        written, json, "toplist.truncated/1", **{choose: found.chosen}, best=found.best, rule=found.rule, curve=curve
    )
