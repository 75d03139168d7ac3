"""What the commands share that write lists: how files are read, what is refused, what is said in the end."""

from __future__ import annotations

import json as jsonlib
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import typer

from toplist.cli import asking
from toplist.cli.failures import UsageError, require_named
from toplist.lists.door import Repairs
from toplist.rules import RULES
from toplist.spelling import meant
from toplist.transformation import Reading, Written
from toplist.words.names import visible


def reading_of(
    files: Sequence[str],
    truth: str | None,
    *,
    classes: str | None,
    layout: Sequence[str] | None,
    case: Sequence[str] | None,
    class_: Sequence[str] | None,
    confidence: Sequence[str] | None,
    ignore: Sequence[str] | None,
    by_position: bool,
    sets: str | None,
    units: Sequence[str] | None,
    normalize: bool,
    duplicates: Sequence[str] | None,
    blanks: Sequence[str] | None = None,
    normalize_only: Sequence[str] | None = None,
    outcome: str | None = None,
    missing: str = "error",
) -> tuple[dict[str, str], Reading]:
    """Files by name, and how they are read."""
    require_named({"case": case, "class_": class_, "confidence": confidence, "outcome": outcome})
    predictions = asking.named_files(files)
    names = list(predictions)
    if missing not in ("error", "common"):
        raise UsageError(f"--missing is error or common here, not {missing!r}.")
    space, sizes = asking.space_of(classes, truth)
    if sizes is not None:
        raise UsageError("--classes is a number, 2^L, inf or a file of labels here, the same for all cases.")
    options = asking.options_of(
        names, layout=layout, case=case, class_=class_, confidence=confidence, ignore=ignore, by_position=by_position,
        sets=sets, outcome=outcome,
    )  # fmt: skip
    said = {"units": units, "duplicates": duplicates, "blanks": blanks}
    units_of, sums, drops = (asking.per_predictor(words, names, what) for what, words in said.items())
    normal = asking.flagged(normalize, normalize_only, names, "normalize-only")
    repairs = {
        name: Repairs(units=units_of[name], normalize=normal[name], duplicates=sums[name], blanks=drops[name])
        for name in names
    }
    own: Any = repairs
    if len(names) == 1:
        own = repairs[names[0]]
    return predictions, Reading(space, repairs=own, missing=missing, **asdict(options))


def require_rule(rule: str) -> None:
    """A rule by its name."""
    if rule not in RULES:
        raise UsageError(f"--rule is one of {', '.join(RULES)}, not {rule!r}.{meant(rule, RULES)}")


def require_truth(truth: str | None, words: Mapping[str, object]) -> None:
    """What is about fitting is not ignored where nothing is fitted."""
    vain = [flag for flag, value in words.items() if value is not None]
    if truth is None and vain:
        raise UsageError(f"{' and '.join(vain)}: this is about fitting, which needs what happened. Give --truth too.")


def require_json(path: Path, flag: str) -> None:
    """A name for a file of JSON."""
    if path.suffix.lower() != ".json":
        raise UsageError(f"{flag} is a file of JSON, such as {path.stem or 'model'}.json, not {str(path)!r}.")


def say_json(schema: str, **values: Any) -> None:
    """One object for machines."""
    typer.echo(jsonlib.dumps({"schema": schema, **values}, ensure_ascii=False, allow_nan=False))


def say_written(written: Written, json: bool, schema: str, **values: Any) -> None:
    """What was written, for machines or in a few lines."""
    if json:
        say_json(schema, **values, **written.to_dict())
        return
    say_changed(written.repairs, written.left_out)
    if written.faint:
        typer.echo(
            f"in {written.faint:,} cases a mass below 1e-14 loses its digits in a file, "
            "where the mass that is not listed is one minus the sum"
        )
    typer.echo(f"{written.cases:,} cases in {visible(written.output)}")


def say_changed(repairs: Mapping[str, Mapping[str, int]], left_out: Mapping[str, int]) -> None:
    """What was repaired in each file, and how many of its cases were left out."""
    for name, counts in repairs.items():
        mended: Mapping[str, int] = {what: count for what, count in counts.items() if count}
        if mended:
            told = ", ".join(f"{what} ({count:,} cases)" for what, count in mended.items())
            typer.echo(f"repaired in {visible(name)}: {told}")
    left = {name: count for name, count in left_out.items() if count}
    if left:
        typer.echo(f"left out: {', '.join(f'{count:,} cases of {visible(name)}' for name, count in left.items())}")
