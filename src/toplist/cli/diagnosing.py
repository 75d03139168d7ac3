"""`toplist diagnose`."""

from __future__ import annotations

import json as jsonlib
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import typer

from toplist.cli import asking, progress
from toplist.cli.failures import BAD_DATA, UsageError, require_named, with_flags
from toplist.cli.placing import label_file
from toplist.examination import Diagnosis, diagnose
from toplist.examination.diagnosing import MISSING
from toplist.examination.results import PLOTS
from toplist.io.outputs import require_apart
from toplist.words.names import visible

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
    predictions = asking.named_files([file])
    (name,) = predictions
    _require_place(plot)
    if plot is not None:
        drawn = [plot] if _is_figure(plot) else [plot / f"{one}.svg" for one in PLOTS]
        require_apart(drawn, [*predictions.values(), truth, label_file(classes)])
    if cluster is not None and truth is None:
        raise UsageError("--cluster is a column of the truth: name that with --truth.")
    if missing not in MISSING:
        raise UsageError(f"--missing is {' or '.join(MISSING)} here, not {missing!r}.")
    space, sizes = asking.space_of(classes, truth)
    repairs = asking.repairs_of(name, units, normalize, duplicates, blanks)
    options = asking.options_of(
        [name], layout=layout, case=case, class_=class_, confidence=confidence, ignore=ignore, by_position=by_position,
        sets=sets, outcome=outcome,
    )  # fmt: skip
    with progress.shown(quiet) as update:
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
    if found.serious:
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
