"""`toplist compare`, `toplist plan` and `toplist score`; `toplist partial` and `toplist merge`: compare in parts."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Annotated, Any

import typer

from toplist._text import visible
from toplist.cli.choices import ALL_RULES
from toplist.cli.options import (
    Inputs,
    Printing,
    Reads,
    command,
    missing_option,
    option,
    penalty_option,
    positional,
    require_named,
)
from toplist.cli.output import (
    UsageError,
    print_changes,
    print_json,
    print_result,
    print_text,
    progress_bar,
    require_outputs,
    require_suffix,
    typed_command,
    writes_unicode,
)
from toplist.inference.settings import Inference
from toplist.io import MISSING, ReadRequest
from toplist.report.text import number_of

if TYPE_CHECKING:
    from toplist.evaluation.leaderboard import Leaderboard
    from toplist.evaluation.next_steps import Invocation
    from toplist.evaluation.stream import ReadSummary
    from toplist.inference.results import Comparison

BOARDS = (".json", ".csv", ".md", ".tex", ".html", ".txt")
PARTIAL = ".tlp"


@dataclass(frozen=True, kw_only=True)
class ScoringOptions(Printing):
    """By what cases are scored."""

    rule: tuple[str, ...] = option(
        ("brier", "log"),
        f"{', '.join(ALL_RULES)}; brier and log by default; may be repeated. The first one ranks.",
        choices=ALL_RULES,
    )
    penalty: float | None = penalty_option()


@dataclass(frozen=True, kw_only=True)
class SeveralOptions(ScoringOptions):
    """How several models are compared."""

    k: tuple[int, ...] = option((5,), "k of the top-k error, 5 by default; may be repeated.")
    baseline: str | None = option(None, "Reference model.", "-b")
    missing: str = missing_option()

    @property
    def question(self) -> dict[str, Any]:
        """What is asked of the models, as functions take it."""
        asked = {name: getattr(self, name) for name in ("k", "baseline", "missing", "penalty")}
        return {"rules": self.rule, **asked}


@dataclass(frozen=True, kw_only=True)
class BoardOptions(Printing):
    """Where a leaderboard goes."""

    output: tuple[Path, ...] = option(
        (), "Write the results to a file: .json, .csv, .md, .tex, .html or .txt; may be repeated.", "-o"
    )
    report: Path | None = option(
        None, "Write an HTML report with figures, such as board.html; report.html where no name is given."
    )
    title: str | None = option(None, "Title of the report.")
    detail: bool = option(False, "Print all columns, in several tables.")


@dataclass(frozen=True, kw_only=True)
class CompareOptions(SeveralOptions, BoardOptions):
    """The options of `toplist compare`."""

    sequential: bool = option(False, "Add anytime-valid comparisons, which hold after every case.")


@dataclass(frozen=True, kw_only=True)
class EngineOptions:
    """Where parts of the files are scored."""

    engine: str | None = option(
        None,
        "dask or spark: score parts of the files in several processes, dask=4 in so many, or on the cluster at "
        "dask=tcp://host:8786 or spark=spark://host:7077.",
    )


@command(
    Reads(several=True, truth=True, columns=("outcome", "weight", "group", "cluster", "time", "n_classes")),
    examples=(
        "toplist compare a.parquet b.jsonl c.csv --truth y.csv --classes 1000",
        "toplist compare old=run1/*.pq new=run2/*.pq -t y.parquet -c labels.txt --baseline old -o summary.md",
        "toplist compare hub/*.csv -t truth.csv -c 28 --missing pairwise --time week --report board.html",
    ),
)
def compare(inputs: Inputs, options: CompareOptions, inference: Inference, engine: EngineOptions) -> None:
    """Rank models by proper scores, with intervals, tests and an HTML report."""
    require_boards(options, inputs.paths)
    if options.sequential and len(inputs.files) < 2:
        raise UsageError("--sequential compares at least two files.")
    if options.sequential and inputs.columns.get("group"):
        group = inputs.columns["group"]
        raise UsageError(f"--sequential does not go with --group: choose one group, as in --where {group}=VALUE.")
    from toplist.evaluation.compare import compare as ranked
    from toplist.io import PER_CASE

    Thread(target=import_module, args=("scipy.special",), daemon=True).start()  # for intervals, while files are read
    with inputs.reading(options.quiet) as reading:
        board = ranked(
            inputs.models, inputs.truth, inference=inference, engine=engine.engine, **options.question, **reading
        )
        if options.sequential:
            paths = _paths(board, inputs, options, inference)
            board = replace(board, comparison=replace(board.comparison, paths=paths))
        per_case = board.comparison.classes == PER_CASE
        invocation = inputs.invocation(options.missing, inference, per_case=per_case)
        if options.report is not None:
            about: Any = {"command": typed_command(), "invocation": invocation, "progress": reading["progress"]}
            board.report(options.report, title=options.title, **about)
    print_board(board, json=options.json, detail=options.detail, invocation=invocation)
    if options.report is None and not options.json:
        typer.echo("\n Add --report report.html for calibration, classes, cases and what they suggest to do next.")
    for path in options.output:
        board.write(path)
    _say_written(options)


def _paths(board: Leaderboard, inputs: Inputs, options: CompareOptions, inference: Inference) -> Any:
    """How the models compare after every case, in the order that the board found."""
    from toplist.evaluation.monitor import monitor

    time, cluster = inputs.columns.get("time") or board.comparison.time, board.comparison.cluster
    truth = inputs.truth_with(time=time, cluster=inputs.columns.get("cluster") or (None if time else cluster))
    return monitor(
        inputs.models,
        truth,
        rule=board.comparison.rules[0],
        inference=inference.level,
        space=inputs.space,
        baseline=options.baseline,
        penalty=options.penalty,
        read=inputs.read,
    ).paths


def require_boards(options: BoardOptions, inputs: Sequence[str | Path], suffixes: Sequence[str] = BOARDS) -> None:
    """Before any work: what is to be written has a name that says how, a folder, and is nothing that is read."""
    output, report = options.output, options.report
    if options.title is not None and report is None:
        raise UsageError("--title goes with --report.")
    require_suffix("--output", output, suffixes)
    require_suffix("--report", [report], (".html", ".htm"))
    require_outputs([*output, report], inputs)


def _say_written(options: BoardOptions) -> None:
    """Say where files are, which come without a word else; not to machines."""
    for path in (options.report, *options.output):
        if path is not None and not (options.json or options.quiet):
            typer.echo(f" Wrote {visible(str(path))}")


def print_board(board: Leaderboard, *, json: bool, detail: bool = False, invocation: Invocation | None = None) -> None:
    """Print for people or for machines; to a terminal in its width, else plain and with all columns."""
    if json:
        typer.echo(board.to_json())
        return
    from toplist.evaluation.next_steps import quick
    from toplist.report.terminal import as_renderable, as_text

    how: Any = {
        "detail": detail,
        "actions": quick(board.comparison, invocation),
        "ascii": not writes_unicode(sys.stdout),
    }
    if not sys.stdout.isatty():
        typer.echo(as_text(board.comparison, **how))
        return
    from rich.console import Console

    Console(highlight=False).print(as_renderable(board.comparison, **how))


@dataclass(frozen=True, kw_only=True)
class PlanOptions(Printing):
    """The options of `toplist plan`."""

    smallest: float = option(..., "Smallest difference of mean scores of interest, such as 0.01.")
    power: float = option(0.8, "Probability that a true difference of this size is significant.")
    models: int | None = option(None, "Number of models to compare; as many as in the pilot by default.")
    rule: str = option("brier", f"Scoring rule: {', '.join(ALL_RULES)}.", choices=ALL_RULES)
    penalty: float | None = penalty_option()
    missing: str = missing_option()


@command(
    Reads(several=True, truth=True, columns=("outcome", "weight", "cluster", "time", "n_classes")),
    examples=(
        "toplist plan a.csv b.csv --truth y.csv --classes 10 --smallest 0.01",
        "toplist plan a.parquet b.parquet -t y.parquet -c 28 --time week --smallest 0.005 --power 0.9 --models 6",
    ),
)
def plan(
    inputs: Inputs, options: PlanOptions, inference: Annotated[Inference, "method", "level", "horizon", "seed"]
) -> None:
    """How many cases does a comparison need? From the variance in a pilot."""
    from toplist.evaluation.compare import compare as ranked
    from toplist.evaluation.planning import plan as planned

    question: Any = {"rules": options.rule, "penalty": options.penalty, "missing": options.missing}
    with inputs.reading(options.quiet) as reading:
        pilot = ranked(inputs.models, inputs.truth, inference=inference, **question, **reading)
    cases = planned(pilot, options.smallest, power=options.power, models=options.models)
    print_result(cases, options.json)


_OF_ONE_MODEL = (*MISSING[:2], "uniform")  # the other ways to fill in missing predictions take those of other models


@dataclass(frozen=True, kw_only=True)
class ScoreOptions(ScoringOptions):
    """The options of `toplist score`."""

    output: Path | None = option(None, "File for the scores: .parquet, .csv or .jsonl.", "-o")
    keep: tuple[str, ...] = option((), "Column of the truth to copy to the scores; may be repeated.")
    missing: str = missing_option(_OF_ONE_MODEL)


@command(
    Reads(truth=True, columns=("outcome", "n_classes", "cluster", "time")),
    examples=(
        "toplist score preds.parquet --truth y.csv --classes 1000 -o scores.parquet",
        "toplist score answers.jsonl -t key.csv -c n_options --rule log --read scale=log -o scores.csv",
    ),
)
def score(inputs: Inputs, options: ScoreOptions) -> None:
    """Score one file: mean scores and, with -o, a score for each case."""
    if options.keep and options.output is None:
        raise UsageError("--keep goes with --output: it keeps columns of the truth beside the scores.")
    require_named("keep", options.keep)
    require_outputs([options.output], inputs.paths)
    from toplist.evaluation.ranking import Question
    from toplist.evaluation.score_files import score_model
    from toplist.scoring.rules import as_rule, name_of

    rules = tuple(dict.fromkeys(name_of(as_rule(rule)) for rule in options.rule))
    question = Question.of((inputs.name,), rules, (), None, options.missing, options.penalty, Inference())
    request = ReadRequest.of(inputs.models, inputs.truth, inputs.read)
    with inputs.reading(options.quiet) as reading:
        scored = score_model(
            request, inputs.space, question, keep=options.keep, output=options.output, progress=reading["progress"]
        )
    for warning in scored.results.warnings:
        typer.echo(f"toplist: warning: {visible(warning.sentence)}", err=True)
    _print_means(scored.results, scored.tally.sums, scored.read, options)


def _print_means(board: Comparison, sums: Any, read: ReadSummary, options: ScoreOptions) -> None:
    """Print the mean score under each rule, and what was repaired or left out."""
    from toplist.core.kernel import to_float
    from toplist.report.markup import means_of_one
    from toplist.report.text import wrap

    infinite = {rule: int(sums["infinite"][at, 0, 0]) for at, rule in enumerate(board.rules)}
    origin, invalid = read.origins[0], int(sums["invalid_cases"][0])
    if options.json:
        weighted = zip(board.rules, sums["x"][:, 0, 0], sums["w"][:, 0, 0], strict=True)
        record: dict[str, Any] = {
            "schema": "toplist.score/1",
            "cases": read.compared,
            "mean": {rule: None if infinite[rule] else to_float(x) / to_float(w) for rule, x, w in weighted},
            "infinite": infinite,
            "invalid": invalid,
            **{name: getattr(origin, name) for name in ("repairs", "filled", "left_out", "reading", "notes")},
            "truth_reading": read.truth,
            "truth_repairs": read.truth_repairs,
            "output": None if options.output is None else str(options.output),
        }
        print_json(record)
        return
    means_told = means_of_one(board)
    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else None
    print_text(means_told if width is None else "\n".join(wrap(means_told, width)))
    if options.output is not None:
        typer.echo(f"Scores of {number_of(read.compared, 'case')} in {visible(str(options.output))}")
    if invalid:
        typer.echo(
            f"{number_of(invalid, 'list')} with a confidence below what each unlisted class gets: each pays a penalty"
        )
    print_changes({origin.name: origin.repairs, "the truth": read.truth_repairs}, {origin.name: origin.left_out})
    if origin.filled:
        typer.echo(f"missing predictions taken as empty lists: {number_of(origin.filled, 'case')}")


@dataclass(frozen=True, kw_only=True)
class PartialOptions(SeveralOptions):
    """The options of `toplist partial`."""

    output: Path = option(..., f"File for the partial result, such as part-7{PARTIAL}.", "-o")
    start: int = option(0, "Position of the first case among those of all parts, where cases have no ids.")
    sample: int = option(1000, "How many cases are kept to be examined for skewness and dependence.")


@command(
    Reads(several=True, truth=True, columns=("outcome", "weight", "group", "cluster", "time", "n_classes")),
    examples=(
        "toplist partial a/part-7.parquet b/part-7.parquet --truth y/part-7.parquet -c 1000 -o parts/7.tlp",
        "seq 0 99 | xargs -P 8 -I{} toplist partial a=a/{}.pq b=b/{}.pq -t y/{}.pq -c 1000 -o parts/{}.tlp",
    ),
)
def partial(inputs: Inputs, options: PartialOptions, inference: Inference) -> None:
    """Score some of the cases, on any machine, for `toplist merge`: sums in a small file."""
    require_suffix("--output", [options.output], (PARTIAL,))
    require_outputs([options.output], inputs.paths)
    from toplist._files import write_bytes
    from toplist.evaluation.parts import PartOptions, partial_result

    place = PartOptions(start=options.start, sample=options.sample)
    with inputs.reading(options.quiet) as reading:
        part = partial_result(
            inputs.models, inputs.truth, inference=inference, part=place, **options.question, **reading
        )
        data = part.to_bytes()
        write_bytes(options.output, data)
    cases, output = part.read.cases, str(options.output)
    if options.json:
        print_json({"schema": "toplist.partial/1", "cases": cases, "bytes": len(data), "output": output})
    else:
        typer.echo(f"Sums of {number_of(cases, 'case')} in {visible(output)} ({len(data):,} bytes)")


@dataclass(frozen=True, kw_only=True)
class MergeOptions(BoardOptions):
    """The options of `toplist merge`."""

    parts: tuple[str, ...] = positional("PARTS...", "Partial results: files, folders, or patterns in quotes.")
    output: tuple[Path, ...] = option(
        (),
        "Write the results to a file: .json, .csv, .md, .tex, .html or .txt, or .tlp to merge them again; may be "
        "repeated.",
        "-o",
    )


@command(
    examples=(
        "toplist merge parts/*.tlp --report board.html",
        "toplist merge parts/ -o board.json -o all.tlp",
    ),
)
def merge(options: MergeOptions) -> None:
    """Merge partial results into one leaderboard, identical to that of a single run."""
    require_boards(options, options.parts, (*BOARDS, PARTIAL))
    from toplist._files import write_bytes
    from toplist.evaluation.partials import finish
    from toplist.evaluation.partials import merge as merged
    from toplist.evaluation.parts import read_parts

    with progress_bar(options.quiet) as update:
        parts = read_parts(options.parts, update)
        whole = merged(parts.values(), list(parts))
        board = finish(whole, inputs=list(parts))
        if options.report is not None:
            board.report(options.report, title=options.title, progress=update, command=typed_command())
    print_board(board, json=options.json, detail=options.detail)
    for path in options.output:
        if path.suffix.lower() == PARTIAL:
            write_bytes(path, whole.to_bytes())
        else:
            board.write(path)
    _say_written(options)
