"""Progress on stderr, where somebody is looking.

How this process keeps its memory.

What the commands share that write lists: how files are read, what is refused, what is said in the end.

Where a command writes: in folders that are there, and never over what it reads.

How each file is read, said on stderr: one line per file.
"""

from __future__ import annotations

import json as jsonlib
import logging
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

import typer

from toplist._files import require_apart, require_place
from toplist._text import did_you_mean
from toplist.cli.errors import UsageError, require_named, require_unstopped
from toplist.cli.options import flagged, named_files, options_of, per_model, space_of
from toplist.io.plan import Reading
from toplist.io.write import WriteSummary
from toplist.lists.validation import Repairs
from toplist.report.text import visible
from toplist.scoring.rules import RULES


@contextmanager
def shown(quiet: bool) -> Iterator[Callable[[str, int, int | None], None]]:
    """A bar on a terminal; nothing elsewhere."""
    if quiet or not sys.stderr.isatty():
        yield lambda what, done, total: require_unstopped()
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    from toplist.report.text import visible

    columns = (TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bars:
        tasks: dict[str, object] = {}

        def update(what: str, done: int, total: int | None) -> None:
            require_unstopped()
            if what not in tasks:
                tasks[what] = bars.add_task(visible(what), total=total)
            bars.update(tasks[what], completed=done)  # type: ignore[arg-type]

        yield update


_TRIM, _PAD, _MMAP = -1, -2, -3  # the names of glibc's malloc.h
_KEEP = 1 << 30


def keep_freed_memory() -> None:
    """Batches of one size come one after the other: freed memory is kept for the next instead of given back.

    Otherwise a fifth of the time of a long comparison goes into page faults. Only glibc needs to be told.
    """
    if sys.platform != "linux":
        return
    import ctypes

    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (OSError, AttributeError):  # another C library
        return
    for option, value in ((_TRIM, _KEEP), (_PAD, 1 << 26), (_MMAP, _KEEP)):
        mallopt(option, value)


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
    predictions = named_files(files)
    names = list(predictions)
    if missing not in ("error", "common"):
        raise UsageError(f"--missing is error or common here, not {missing!r}.")
    space, sizes = space_of(classes, truth)
    if sizes is not None:
        raise UsageError("--classes is a number, 2^L, inf or a file of labels here, the same for all cases.")
    options = options_of(
        names, layout=layout, case=case, class_=class_, confidence=confidence, ignore=ignore, by_position=by_position,
        sets=sets, outcome=outcome,
    )  # fmt: skip
    said = {"units": units, "duplicates": duplicates, "blanks": blanks}
    units_of, sums, drops = (per_model(words, names, what) for what, words in said.items())
    normal = flagged(normalize, normalize_only, names, "normalize-only")
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
        raise UsageError(f"--rule is one of {', '.join(RULES)}, not {rule!r}.{did_you_mean(rule, RULES)}")


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


def say_written(written: WriteSummary, json: bool, schema: str, **values: Any) -> None:
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


def require_outputs(
    outputs: Iterable[Path | None], inputs: Iterable[str | Path | None], classes: str | None = None
) -> None:
    """Before any work: every output has a place, and is none of the inputs, nor the labels that --classes names."""
    asked = [path for path in outputs if path is not None]
    require_apart(asked, [*inputs, label_file(classes)])
    for path in asked:
        require_place(path)


def label_file(classes: str | None) -> str | None:
    """What --classes says, where it is a file."""
    word = (classes or "").strip()
    return word if os.path.isfile(word) else None


class _Lines(logging.Handler):
    """Prints each message once."""

    def __init__(self) -> None:
        super().__init__(logging.INFO)
        self.said: set[str] = set()

    def emit(self, record: logging.LogRecord) -> None:
        """Print a message, unless it was printed before."""
        from toplist.report.text import visible

        line = visible(record.getMessage())
        if line not in self.said:
            self.said.add(line)
            typer.echo(line, err=True)


@contextmanager
def told(quiet: bool) -> Iterator[None]:
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
