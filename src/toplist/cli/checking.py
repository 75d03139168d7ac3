"""`toplist check` and `toplist convert`."""

from __future__ import annotations

import json as jsonlib
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import typer

from toplist.cli import asking, progress
from toplist.cli.failures import BAD_DATA, UsageError, require_named, with_flags
from toplist.cli.placing import require_outputs
from toplist.conversion import convert as convert_source
from toplist.inspection import Findings, inspect
from toplist.io.coding import as_sets, empty_set_explained
from toplist.io.sources import Source, tell
from toplist.lists.door import Repairs
from toplist.planning import opened
from toplist.space import ClassSpace
from toplist.words.names import visible


def check(
    file: str,
    *,
    json: bool,
    quiet: bool,
    **options: object,
) -> None:
    """Look at every case of a file."""
    source, space, repairs, sets = _opened(file, **options)  # type: ignore[arg-type]
    with progress.shown(quiet) as update:
        found = inspect(source, space, repairs, sets, update)
    typer.echo(jsonlib.dumps(found.to_dict(), ensure_ascii=False) if json else _in_words(found))
    if found.serious:
        raise typer.Exit(BAD_DATA)


def convert(file: str, output: Path, *, quiet: bool, **options: object) -> None:
    """Write lists as Parquet."""
    require_outputs([output], asking.named_files([file]).values(), str(options["classes"] or ""))
    source, space, repairs, sets = _opened(file, **options)  # type: ignore[arg-type]
    made = Counter[str]()
    with progress.shown(quiet) as update, empty_set_explained(sets):
        cases = convert_source(source, output, repairs, space, sets, update, made.update)
    told = ", ".join(f"{what} ({count:,} cases)" for what, count in made.items() if count)
    if told:
        typer.echo(f"repaired: {told}")
    typer.echo(f"{cases:,} cases in {visible(str(output))}")


def _opened(
    file: str,
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
) -> tuple[Source, ClassSpace | None, Repairs, str | None]:
    require_named({"case": case, "class_": class_, "confidence": confidence})
    predictions = asking.named_files([file])
    (name,) = predictions
    space, sizes = asking.space_of(classes, None)
    if sizes is not None:
        raise UsageError("--classes is a number, 2^L, inf or a file of labels here.")
    space = None if space is None else as_sets(space, sets)
    repairs = asking.repairs_of(name, units, normalize, duplicates, blanks)
    options = asking.options_of(
        [name],
        layout=layout,
        case=case,
        class_=class_,
        confidence=confidence,
        ignore=ignore,
        by_position=by_position,
        sets=sets,
    )
    (source,) = opened(predictions, None, space, options, {name: repairs})
    tell([source])
    return source, space, repairs, sets


def _plural(word: str, count: object) -> str:
    return word if str(count) == "1" else f"{word}{'es' if word.endswith('s') else 's'}"


def _in_words(found: Findings) -> str:
    d, counts = found.to_dict(), {one.kind: one.cases for one in found.oddities}
    lines = [
        f"{visible(found.path)}: {found.cases:,} cases in the {found.layout} layout, classes: {found.classes}",
        "columns: "
        + ", ".join(visible(name) for name in found.columns[:8])
        + (" ..." if len(found.columns) > 8 else ""),
    ]
    if found.sizes:
        sizes = sorted(found.sizes)
        k = str(sizes[0]) if sizes[0] == sizes[-1] else f"{sizes[0]} to {sizes[-1]}"
        lines.append(f"lists of {k} {_plural('class', k)} (mean {d['mean_size']:.4g}), mean mass {d['mean_mass']:.4g}")
    for problem in found.problems:
        cases = counts.get(problem.kind, problem.cases)
        count = f"{cases:,} {_plural('case', cases)}: " if cases else ""
        lines.append(f"problem ({problem.kind}): {count}{visible(with_flags(problem.first))}")
    told = {problem.kind for problem in found.problems}
    lines += [
        f"{'problem' if odd.serious else 'odd'} ({odd.kind}): {visible(with_flags(odd.words))}"
        for odd in found.oddities
        if odd.kind not in told
    ]
    if not found.serious:
        lines.append("no problems")
    return "\n".join(lines)
