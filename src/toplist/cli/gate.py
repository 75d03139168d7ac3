"""`toplist gate`: continuous integration that a new model must pass."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from toplist._files import shown_words
from toplist._text import visible
from toplist.cli.choices import ALL_RULES
from toplist.cli.options import (
    Inputs,
    Printing,
    Reads,
    command,
    missing_option,
    named_files,
    option,
    penalty_option,
)
from toplist.cli.output import (
    GATE,
    INCONCLUSIVE,
    UsageError,
    of_flags,
    print_json,
    print_text,
    progress_bar,
    require_outputs,
)
from toplist.core.memory import keep_freed_memory
from toplist.inference.settings import Inference

if TYPE_CHECKING:
    from toplist.report.gate import GateReport

MISSING = ("error", "common", "uniform")
SUMMARY = "GITHUB_STEP_SUMMARY"  # the variable with the file that GitHub shows on the page of a run
_FORMATS = (".json", ".md", ".xml", ".txt", ".html")
_COLUMNS = ("outcome", "weight", "group", "cluster", "time", "n_classes")


@dataclass(frozen=True)
class GateInputs:
    """The predictions of both models, or those of the new one and the scores of the baseline."""

    inputs: Inputs
    new: str
    baseline: str
    scores: str | None  # the path

    @property
    def paths(self) -> list[str]:
        """Everything that is read."""
        return [*self.inputs.paths, *([] if self.scores is None else [self.scores])]


@dataclass(frozen=True, slots=True)
class GateReads(Reads):
    """The options of a command that reads a new model and a baseline, which may be scores."""

    def build(self, given: Mapping[str, Any]) -> GateInputs:  # type: ignore[override]
        """The files as they were named."""
        from toplist.evaluation.score_files import is_score_file

        words = [given["file"], given["baseline"]]
        (new, _), (baseline, path) = named_files(words).items()
        if not is_score_file(path):
            return GateInputs(Reads.build(self, {**given, "files": words}), new, baseline, None)
        inputs = Reads.build(self, {**given, "files": words[:1]})
        return GateInputs(inputs, inputs.name, baseline, path)


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
    GateReads(several=True, baseline=True, truth=True, columns=_COLUMNS),
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
    files: GateInputs,
    options: GateOptions,
    inference: Annotated[Inference, "method", "level", "horizon", "seed"],
) -> None:
    """Pass only if a new model is shown to be no worse than a baseline, in continuous integration."""
    keep_freed_memory()
    _require_formats(options.output)
    require_outputs(options.output, files.paths)
    from toplist.evaluation.gate import GateSpec, run_gate

    with of_flags(("max_loss", "per_case", "max_loss_group")):
        limits = GateSpec(options.max_loss, options.per_case, options.max_loss_group)
    if options.max_loss_group is not None and "group" not in files.inputs.columns:
        raise UsageError("--max-loss-group goes with --group: name the column of the truth with the groups.")
    inputs, models = files.inputs, files.inputs.models
    with progress_bar(options.quiet, len(models)) as update:
        found = run_gate(
            {files.new: models[files.new]},
            {files.baseline: models[files.baseline] if files.scores is None else files.scores},
            inputs.truth,
            limits,
            inputs.space,
            options.rule,
            options.missing,
            options.penalty,
            inference,
            inputs.read,
            update,
        )
    found = replace(found, command=shlex.join(["toplist", *shown_words(sys.argv[1:])]))
    as_code = options.inconclusive or "fail"
    for path in options.output:
        _write(found, path, as_code)
    if not options.no_summary:
        _append_summary(found)
    if options.json:
        print_json(found.to_dict())
    else:
        print_text(found.to_text())
    code = {
        "pass": 0,
        "fail": GATE,
        "inconclusive": {None: INCONCLUSIVE, "pass": 0, "fail": GATE}[options.inconclusive],
    }
    if code[found.verdict]:
        raise typer.Exit(code[found.verdict])


def _require_formats(output: Sequence[Path]) -> None:
    for path in output:
        if path.suffix.lower() not in _FORMATS:
            *most, last = _FORMATS
            raise UsageError(f"--output is {', '.join(most)} or {last}, not {path.name!r}.")


def _write(found: GateReport, path: Path, inconclusive: str) -> None:
    """Write the result in the format of a file's name."""
    from toplist._files import write_bytes

    made = {
        ".json": lambda: found.to_json() + "\n",
        ".md": found.to_markdown,
        ".xml": lambda: found.to_junit(inconclusive=inconclusive),
        ".txt": lambda: found.to_text() + "\n",
        ".html": found._repr_html_,
    }
    write_bytes(path, made[path.suffix.lower()]().encode("utf-8", "backslashreplace"))


def _append_summary(found: GateReport) -> None:
    """Append the summary to the file that GitHub names; where that fails, the verdict stands all the same."""
    name = os.environ.get(SUMMARY)
    if not name:
        return
    try:
        with Path(name).open("a", encoding="utf-8", errors="backslashreplace") as file:
            file.write(f"{found.to_markdown()}\n")
    except OSError as error:
        typer.echo(f"toplist: warning: {SUMMARY} ({visible(name)}) cannot be written: {error.strerror}.", err=True)
