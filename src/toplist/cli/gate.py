"""`toplist gate`: continuous integration that a new model must pass."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from toplist._text import visible
from toplist.cli.choices import ALL_RULES
from toplist.cli.options import Inputs, Printing, Reads, command, missing_option, option, penalty_option
from toplist.cli.output import (
    GATE,
    INCONCLUSIVE,
    UsageError,
    of_flags,
    print_result,
    require_outputs,
    require_suffix,
    typed_command,
)
from toplist.inference.settings import Inference

if TYPE_CHECKING:
    from toplist.report.gate import GateReport

MISSING = ("error", "common", "uniform")
SUMMARY = "GITHUB_STEP_SUMMARY"  # the variable with the file that GitHub shows on the page of a run
_FORMATS = (".json", ".md", ".xml", ".txt", ".html")
_COLUMNS = ("outcome", "weight", "group", "cluster", "time", "n_classes")


@dataclass(frozen=True, kw_only=True)
class GateOptions(Printing):
    """The options of `toplist gate`."""

    max_loss: float = option(..., "Margin: the mean loss to the baseline must be shown to be below it, such as 0.01.")
    per_case: float | None = option(None, "Largest loss that is allowed in any single case.")
    max_loss_group: float | None = option(None, "Margin of the groups of --group; --max-loss by default.")
    rule: str = option("brier", f"Scoring rule: {', '.join(ALL_RULES)}.", choices=ALL_RULES)
    penalty: float | None = penalty_option()
    missing: str = missing_option(MISSING)
    inconclusive: str | None = option(
        None, "Exit code where nothing is shown: pass is 0, fail is 3; 4 by default.", choices=("pass", "fail")
    )
    output: tuple[Path, ...] = option(
        (), "Write a summary (.md), JUnit XML (.xml), .json, .txt or .html; may be repeated.", "-o"
    )
    no_summary: bool = option(False, f"Do not append the summary to the file that {SUMMARY} names.")


@command(
    Reads(baseline=True, truth=True, columns=_COLUMNS),
    examples=(
        "toplist gate new.parquet --baseline old.parquet --truth y.csv --classes 10 --max-loss 0.01",
        "toplist gate new.csv -b scores.parquet -t y.csv -c 10 --max-loss 0.01 --per-case 1 -o summary.md -o junit.xml",
        "toplist gate new=run2/ -b old=run1/ -t y.csv -c 10 --group site --max-loss 0.01 --max-loss-group 0.03",
    ),
    more=(
        "--level is that of each one-sided bound: 0.95 is the upper end of a two-sided 90% interval.",
        "Exit codes: 0 pass, 3 fail, 4 inconclusive, 2 invalid usage, 1 invalid data.",
    ),
)
def gate(
    inputs: Inputs,
    options: GateOptions,
    inference: Annotated[Inference, "method", "level", "horizon", "seed"],
) -> None:
    """Pass only if a new model is shown to be no worse than a baseline, in continuous integration."""
    require_suffix("--output", options.output, _FORMATS)
    require_outputs(options.output, inputs.paths)
    from toplist.evaluation.gate import GateSpec, run_gate

    with of_flags(("max_loss", "per_case", "max_loss_group")):
        limits = GateSpec(options.max_loss, options.per_case, options.max_loss_group)
    if options.max_loss_group is not None and "group" not in inputs.columns:
        raise UsageError("--max-loss-group goes with --group: name the column of the truth with the groups.")
    asked: Any = {"rule": options.rule, "missing": options.missing, "penalty": options.penalty, "how": inference}
    with inputs.reading(options.quiet) as reading:
        new, baseline = ({name: data} for name, data in {**inputs.models, **inputs.scores}.items())
        report = replace(run_gate(new, baseline, inputs.truth, limits, **asked, **reading), command=typed_command())
    for path in options.output:
        _write(report, path, options.inconclusive or "fail")
    if not options.no_summary:
        _append_summary(report)
    print_result(report, options.json)
    verdict = options.inconclusive or report.verdict if report.verdict == "inconclusive" else report.verdict
    if verdict != "pass":
        raise typer.Exit(GATE if verdict == "fail" else INCONCLUSIVE)


def _write(report: GateReport, path: Path, inconclusive: str) -> None:
    """Write the result in the format of a file's name."""
    from toplist._files import write_bytes

    writers = {
        ".json": lambda: report.to_json() + "\n",
        ".md": report.to_markdown,
        ".xml": lambda: report.to_junit(inconclusive=inconclusive),
        ".txt": lambda: report.to_text() + "\n",
        ".html": report._repr_html_,
    }
    write_bytes(path, writers[path.suffix.lower()]().encode("utf-8", "backslashreplace"))


def _append_summary(report: GateReport) -> None:
    """Append the summary to the file that GitHub names; where that fails, the verdict stands all the same."""
    name = os.environ.get(SUMMARY)
    if not name:
        return
    try:
        with Path(name).open("a", encoding="utf-8", errors="backslashreplace") as file:
            file.write(f"{report.to_markdown()}\n")
    except OSError as error:
        typer.echo(f"toplist: warning: {SUMMARY} ({visible(name)}) cannot be written: {error.strerror}.", err=True)
