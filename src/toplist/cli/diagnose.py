"""`toplist check`, `toplist diagnose` and `toplist convert`."""

from __future__ import annotations

import shutil
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from toplist._files import require_apart
from toplist._text import significant, visible
from toplist.cli.options import KEYS, Inputs, Printing, Reads, command, missing_option, option, positional
from toplist.cli.output import (
    BAD_DATA,
    UsageError,
    either,
    print_json,
    print_text,
    print_written,
    progress_bar,
    require_outputs,
)
from toplist.inference.settings import Inference
from toplist.io import MISSING, ReadRequest
from toplist.report.text import number_of

if TYPE_CHECKING:
    from toplist.evaluation.diagnosis import Diagnosis

_FIGURES = (".svg", ".pdf", ".png")


@command(
    Reads(),
    examples=("toplist check preds.parquet --classes 1000", "toplist check survey.csv --read scale=percent --json"),
    more=KEYS,
)
def check(inputs: Inputs, options: Printing) -> None:
    """Check a file of predictions for problems; exit code 1 if there are any. No truth needed."""
    from toplist.evaluation.diagnose import check as checked

    with inputs.reading(options.quiet) as reading:
        diagnosis = checked(inputs.models[inputs.name], name=inputs.name, **reading)
    _print(diagnosis, options, _summary(diagnosis))


def _print(diagnosis: Diagnosis, options: Printing, text: str, *more: str) -> None:
    """Print a diagnosis for machines or as text; what blocks scoring ends with an exit code."""
    if options.json:
        print_json(diagnosis.to_dict())
    else:
        print_text("\n".join([text, *more]))
    if diagnosis.blocking:
        raise typer.Exit(BAD_DATA)


def _summary(diagnosis: Diagnosis) -> str:
    """OK or how many problems, what was read, and every issue in a line with its remedy."""
    lists, table, classes = diagnosis.scorable, diagnosis.table, diagnosis.classes.removesuffix(" classes")
    path, layout, columns = ("", "", ()) if table is None else (table.path, table.layout, table.columns)
    blocking = [issue for issue in diagnosis.issues if issue.blocking]
    verdict = typer.style(number_of(len(blocking), "problem"), fg="red", bold=True)
    about = [number_of(diagnosis.cases, "case"), f"classes: {classes}"]
    if lists.sizes:
        low, high = min(lists.sizes), max(lists.sizes)
        k = number_of(high, "class", "classes") if low == high else f"{low:,} to {high:,} classes"
        mean = "" if low == high else f" (mean {significant(lists.mean_size, 3)})"
        about += [f"lists of {k}{mean}", f"mean listed probability {significant(lists.mean_mass, 3)}"]
    first = f"{verdict} in" if blocking else typer.style("OK", fg="green", bold=True)
    lines = [f"{first} {visible(path)}: {', '.join(about)}"]
    for issue in diagnosis.issues:
        n = f", {number_of(issue.cases, 'case')}" if issue.example and issue.cases else ""
        sign = typer.style("!", fg="red", bold=True) if issue.blocking else "-"
        lines.append(f" {sign} {issue.kind}{n}: {visible(issue.example or issue.message)}")
    lines += [f" - {visible(note)}" for note in (() if table is None else table.notes)]
    some = ", ".join(map(visible, columns[:8]))
    return "\n".join([*lines, f"   read in the {layout} layout: {some}{', ...' if len(columns) > 8 else ''}"])


@dataclass(frozen=True, kw_only=True)
class DiagnoseOptions(Printing):
    """The options of `toplist diagnose`."""

    plot: Path | None = option(None, "Folder for all figures, or file for the first: .svg, .pdf or .png.")
    missing: str = missing_option(MISSING[:2])
    draws: int = option(199, "Outcomes drawn for the test and the bands.")


@command(
    Reads(truth=False, columns=("outcome", "cluster", "n_classes")),
    examples=(
        "toplist diagnose preds.parquet --truth y.csv --classes 1000 --plot figures",
        "toplist diagnose survey.csv --read scale=percent --json",
    ),
)
def diagnose(inputs: Inputs, options: DiagnoseOptions, inference: Annotated[Inference, "level", "seed"]) -> None:
    """Is one model calibrated, and what is its score made of?"""
    from toplist.evaluation.diagnose import SEVERAL
    from toplist.evaluation.diagnose import diagnose as diagnosis_of
    from toplist.evaluation.diagnosis import WIDTH

    if options.plot is not None:
        _require_place(options.plot, inputs)
    asked: Any = {"missing": options.missing, "draws": options.draws, "inference": inference}
    with inputs.reading(options.quiet) as reading:
        diagnosis = diagnosis_of(inputs.models[inputs.name], inputs.truth, name=inputs.name, **asked, **reading)
    figures = [] if options.plot is None else _drawn(diagnosis, options.plot)
    about_figures = [f"\nFigures: {', '.join(visible(str(path)) for path in figures)}"] if figures else []
    if options.plot is not None and not figures:
        about_figures = [
            "\nNo figures: they show calibration, which needs lists that can be scored, and outcomes (--truth)."
        ]
    typed = None
    if diagnosis.calibration is not None:
        typed = inputs.invocation(options.missing, inference, per_case=diagnosis.classes == SEVERAL)
    command = "" if typed is None else typed.recalibrate(inputs.name, "brier", "auto")
    width = shutil.get_terminal_size((WIDTH, 24)).columns if sys.stdout.isatty() else WIDTH
    _print(diagnosis, options, diagnosis.to_text(width, command=command), *about_figures)


def _require_place(plot: Path, inputs: Inputs) -> None:
    """A figure has a suffix, and a folder none; either stands in a folder that is there, apart from what is read."""
    from toplist.evaluation.diagnosis import PLOTS

    if not (_is_figure(plot) or plot.is_dir()) and (plot.suffix or plot.is_file()):
        raise UsageError(f"--plot is a folder, or a file that ends in {either(_FIGURES)}; not {str(plot)!r}.")
    if not plot.parent.is_dir():
        raise UsageError(f"--plot {plot}: there is no folder {str(plot.parent)!r}.")
    require_apart([plot] if _is_figure(plot) else [plot / f"{name}.svg" for name in PLOTS], inputs.paths)


def _is_figure(plot: Path) -> bool:
    return plot.suffix.lower() in _FIGURES and not plot.is_dir()


def _drawn(diagnosis: Diagnosis, plot: Path) -> list[Path]:
    """Every figure into a folder, or the first one into a file."""
    if not diagnosis.plots:
        return []
    if _is_figure(plot):
        diagnosis.plot(diagnosis.plots[0]).save(plot)
        return [plot]
    plot.mkdir(exist_ok=True)
    for name in diagnosis.plots:
        diagnosis.plot(name).save(plot / f"{name}.svg")
    return [plot / f"{name}.svg" for name in diagnosis.plots]


@dataclass(frozen=True, kw_only=True)
class ConvertOptions:
    """The options of `toplist convert`."""

    output: Path = positional("OUTPUT", "File for the lists: .parquet, .csv or .jsonl.")
    quiet: bool = option(False, "Print results and errors only, not progress or how files are read.", "-q")


@command(Reads(), examples=("toplist convert scores.csv lists.parquet --read scale=percent",))
def convert(inputs: Inputs, options: ConvertOptions) -> None:
    """Write predictions in any form as lists: case, classes, confidences."""
    require_outputs([options.output], inputs.paths)
    from toplist.io import convert as write_lists
    from toplist.io import open_request, space_in_files, tell

    request = ReadRequest.of(inputs.models, None, inputs.read)
    separator = request.set_separator
    space = None if inputs.space is None else space_in_files(inputs.space, separator)
    (source,) = open_request(request, inputs.space)
    tell([source])
    with progress_bar(options.quiet) as update:
        written = write_lists(source, options.output, space, separator, update)
    print_written(written, False, "")
