"""`toplist check` and `toplist convert`.

`toplist diagnose`.
"""

from __future__ import annotations

import json as jsonlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import typer

from toplist._files import require_apart
from toplist.cli.errors import BAD_DATA, UsageError, require_named, with_flags
from toplist.cli.options import named_files, options_of, repairs_of, space_of
from toplist.cli.output import label_file, require_outputs, shown
from toplist.evaluation.diagnose import MISSING, diagnose
from toplist.evaluation.diagnosis import PLOTS, Diagnosis
from toplist.io.encoding import as_sets, empty_set_explained
from toplist.io.options import ReadOptions
from toplist.io.plan import opened
from toplist.io.sources import tell
from toplist.io.write import convert as convert_source
from toplist.lists.space import ClassSpace
from toplist.lists.validation import Repairs
from toplist.report.text import visible


def check(
    file: str,
    *,
    json: bool,
    quiet: bool,
    **options: object,
) -> None:
    """Look at every case of a file."""
    name, path, space, repairs, read = _read_options(file, **options)  # type: ignore[arg-type]
    with shown(quiet) as update:
        found = diagnose(path, None, space=space, name=name, **asdict(repairs), **asdict(read), progress=update)
    typer.echo(jsonlib.dumps(found.to_dict(), ensure_ascii=False) if json else _in_words(found))
    if found.blocking:
        raise typer.Exit(BAD_DATA)


def convert(file: str, output: Path, *, quiet: bool, **options: object) -> None:
    """Write lists as Parquet."""
    require_outputs([output], named_files([file]).values(), str(options["classes"] or ""))
    name, path, space, repairs, read = _read_options(file, **options)  # type: ignore[arg-type]
    sets = read.sets
    space = None if space is None else as_sets(space, sets)
    (source,) = opened({name: path}, None, space, read, {name: repairs})
    tell([source])
    made = Counter[str]()
    with shown(quiet) as update, empty_set_explained(sets):
        cases = convert_source(source, output, repairs, space, sets, update, made.update)
    told = ", ".join(f"{what} ({count:,} cases)" for what, count in made.items() if count)
    if told:
        typer.echo(f"repaired: {told}")
    typer.echo(f"{cases:,} cases in {visible(str(output))}")


def _read_options(
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
) -> tuple[str, str, ClassSpace | None, Repairs, ReadOptions]:
    require_named({"case": case, "class_": class_, "confidence": confidence})
    predictions = named_files([file])
    (name,) = predictions
    space, sizes = space_of(classes, None)
    if sizes is not None:
        raise UsageError("--classes is a number, 2^L, inf or a file of labels here.")
    repairs = repairs_of(name, units, normalize, duplicates, blanks)
    options = options_of(
        [name],
        layout=layout,
        case=case,
        class_=class_,
        confidence=confidence,
        ignore=ignore,
        by_position=by_position,
        sets=sets,
    )
    return name, predictions[name], space, repairs, options


def _plural(word: str, count: object) -> str:
    return word if str(count) == "1" else f"{word}{'es' if word.endswith('s') else 's'}"


def _in_words(found: Diagnosis) -> str:
    lists, table, classes = found.scorable, found.table, found.classes.removesuffix(" classes")
    path, layout, columns = ("", "", ()) if table is None else (table.path, table.layout, table.columns)
    lines = [
        f"{visible(path)}: {found.cases:,} cases in the {layout} layout, classes: {classes}",
        "columns: " + ", ".join(visible(name) for name in columns[:8]) + (" ..." if len(columns) > 8 else ""),
    ]
    if lists.sizes:
        sizes = sorted(lists.sizes)
        k = str(sizes[0]) if sizes[0] == sizes[-1] else f"{sizes[0]} to {sizes[-1]}"
        lines.append(
            f"lists of {k} {_plural('class', k)} (mean {lists.mean_size:.4g}), mean mass {lists.mean_mass:.4g}"
        )
    for issue in found.issues:
        count = f"{issue.cases:,} {_plural('case', issue.cases)}: " if issue.example and issue.cases else ""
        words = visible(with_flags(issue.example or issue.message))
        lines.append(f"{'problem' if issue.blocking else 'issue'} ({issue.kind}): {count}{words}")
    if not found.blocking:
        lines.append("no problems")
    return "\n".join(lines)


_DRAWN = (".svg", ".pdf", ".png")


def diagnose_file(
    file: str,
    *,
    truth: str | None,
    classes: str | None,
    plot: Path | None,
    level: float,
    draws: int,
    seed: int,
    cluster: str | None,
    missing: str,
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
    duplicates: Sequence[str] | None,
    blanks: Sequence[str] | None,
    json: bool,
    quiet: bool,
) -> None:
    """Print what is found in one file, and draw it if that is asked for."""
    require_named({"case": case, "class_": class_, "confidence": confidence, "outcome": outcome})
    predictions = named_files([file])
    (name,) = predictions
    _require_place(plot)
    if plot is not None:
        drawn = [plot] if _is_figure(plot) else [plot / f"{one}.svg" for one in PLOTS]
        require_apart(drawn, [*predictions.values(), truth, label_file(classes)])
    if cluster is not None and truth is None:
        raise UsageError("--cluster is a column of the truth: name that with --truth.")
    if missing not in MISSING:
        raise UsageError(f"--missing is {' or '.join(MISSING)} here, not {missing!r}.")
    space, sizes = space_of(classes, truth)
    repairs = repairs_of(name, units, normalize, duplicates, blanks)
    options = options_of(
        [name], layout=layout, case=case, class_=class_, confidence=confidence, ignore=ignore, by_position=by_position,
        sets=sets, outcome=outcome,
    )  # fmt: skip
    with shown(quiet) as update:
        found = diagnose(
            predictions[name],
            truth,
            space=space,
            name=name,
            level=level,
            draws=draws,
            seed=seed,
            clusters=cluster,
            missing=missing,
            units=repairs.units,
            normalize=repairs.normalize,
            duplicates=repairs.duplicates,
            blanks=repairs.blanks,
            sizes=sizes,
            **asdict(options),
            progress=update,
        )
    typer.echo(jsonlib.dumps(found.to_dict(), ensure_ascii=False) if json else with_flags(repr(found)))
    if plot is not None:
        written = _drawn(found, plot)
        if not json:
            typer.echo(f"\nfigures: {', '.join(visible(str(path)) for path in written)}")
    if found.blocking:
        raise typer.Exit(BAD_DATA)


def _require_place(plot: Path | None) -> None:
    """A figure has a suffix, and a folder none; either stands in a folder that is there."""
    if plot is None:
        return
    if plot.suffix and plot.suffix.lower() not in _DRAWN and not plot.is_dir():
        raise UsageError(f"--plot is a folder, or a file that ends in {', '.join(_DRAWN)}; not {str(plot)!r}.")
    if plot.is_file() and plot.suffix.lower() not in _DRAWN:
        raise UsageError(f"--plot {plot}: this is a file already; name a folder, or a file that ends in .svg.")
    if not plot.parent.is_dir():
        raise UsageError(f"--plot {plot}: there is no folder {str(plot.parent)!r}.")


def _is_figure(plot: Path) -> bool:
    return plot.suffix.lower() in _DRAWN and not plot.is_dir()


def _drawn(found: Diagnosis, plot: Path) -> list[Path]:
    """Every figure into a folder, or the first one into a file."""
    if _is_figure(plot):
        found.plot(found.plots[0]).save(plot)
        return [plot]
    plot.mkdir(exist_ok=True)
    written = []
    for name in found.plots:
        written.append(plot / f"{name}.svg")
        found.plot(name).save(written[-1])
    return written
