"""The commands. Each imports what it needs when it runs, so that help is instant."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from toplist.cli import options
from toplist.cli.failures import reported

app = typer.Typer(
    name="toplist",
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    add_completion=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    help=(
        "Score predictions over classes honestly: hard labels, top lists and distributions on one scale.\n\n"
        "Lower scores are better. Start with: toplist demo"
    ),
    epilog="Exit codes: 0 fine, 1 bad data, 2 bad usage, 3 a gate (--fail-if) was hit.",
)


def _version(wanted: bool) -> None:
    if wanted:
        from toplist.versions import version

        typer.echo(f"toplist {version()}")
        raise typer.Exit


@app.callback()
def start(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Say it and stop.")
    ] = False,
) -> None:
    """Shared by all commands."""


@app.command(epilog=options.COMPARE_EXAMPLES)
def compare(
    files: Annotated[
        list[str], typer.Argument(metavar="FILES...", help="Predictions: paths, folders, patterns; or name=path.")
    ],
    truth: options.Truth,
    classes: options.Classes = None,
    rule: options.Rules = None,
    reference: Annotated[
        str | None, typer.Option("--reference", "-r", help="A predictor to measure skill against.")
    ] = None,
    by: Annotated[str | None, typer.Option(help="A column of the truth: one table per value.")] = None,
    weight: Annotated[str | None, typer.Option(help="A column of the truth: how much each case counts.")] = None,
    missing: Annotated[
        str, typer.Option(help="What to do about missing cases: error, common, pairwise or reject.")
    ] = "error",
    top: Annotated[list[int] | None, typer.Option(help="The k of top-k errors; may be given several times.")] = None,
    penalty: options.Penalty = None,
    cluster: options.Cluster = None,
    order: options.Order = None,
    intervals: options.Intervals = "auto",
    level: options.Level = 0.95,
    horizon: options.Horizon = 1,
    seed: options.Seed = 0,
    confidence_set: options.ConfidenceSet = False,
    sequential: options.Sequential = False,
    baseline: options.Baseline = None,
    layout: options.Layouts = None,
    case: options.Case = None,
    class_: options.Class = None,
    confidence: options.Confidence = None,
    outcome: options.Outcome = None,
    sets: options.Sets = None,
    units: options.UnitsOption = None,
    normalize: options.Normalize = False,
    normalize_only: options.NormalizeOnly = None,
    duplicates: options.DuplicatesOption = None,
    fail_if: Annotated[
        list[str] | None, typer.Option("--fail-if", help='Exit with 3 if this holds, such as "new worse than old".')
    ] = None,
    output: Annotated[
        list[Path] | None,
        typer.Option("--output", "-o", help="Write it too, as .json, .csv, .md, .tex, .html or .txt."),
    ] = None,
    report: options.Report = None,
    title: Annotated[str | None, typer.Option(help="The title of the report.")] = None,
    detail: Annotated[bool, typer.Option("--detail", help="Every number, in more tables.")] = False,
    json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Rank predictions of any shape on one scale, with error bars."""
    given: dict[str, Any] = dict(locals())
    with reported():
        from toplist.cli import comparing

        comparing.compare(**given)


@app.command(epilog=options.SCORE_EXAMPLES)
def score(
    file: Annotated[str, typer.Argument(metavar="FILE", help="Predictions: a path, a folder or a pattern.")],
    truth: options.Truth,
    classes: options.Classes = None,
    rule: options.Rules = None,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="Where to: .parquet, .csv or .jsonl.")] = None,
    keep: Annotated[list[str] | None, typer.Option(help="A column of the truth to keep beside the scores.")] = None,
    missing: Annotated[str, typer.Option(help="What to do about missing cases: error, common or reject.")] = "error",
    penalty: options.Penalty = None,
    layout: options.Layouts = None,
    case: options.Case = None,
    class_: options.Class = None,
    confidence: options.Confidence = None,
    outcome: options.Outcome = None,
    sets: options.Sets = None,
    units: options.UnitsOption = None,
    normalize: options.Normalize = False,
    duplicates: options.DuplicatesOption = None,
    json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Score every case of one file; the scores go to a file, the means to the screen."""
    given: dict[str, Any] = dict(locals())
    with reported():
        from toplist.cli import scoring

        scoring.score(**given)


@app.command(epilog=options.CHECK_EXAMPLES)
def check(
    file: Annotated[str, typer.Argument(metavar="FILE", help="Predictions: a path, a folder or a pattern.")],
    classes: options.Classes = None,
    layout: options.Layouts = None,
    case: options.Case = None,
    class_: options.Class = None,
    confidence: options.Confidence = None,
    sets: options.Sets = None,
    units: options.UnitsOption = None,
    normalize: options.Normalize = False,
    duplicates: options.DuplicatesOption = None,
    json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Say what is in a file and what is wrong with it; exit with 1 if anything is."""
    given: dict[str, Any] = dict(locals())
    with reported():
        from toplist.cli import checking

        checking.check(**given)


@app.command(epilog=options.CONVERT_EXAMPLES)
def convert(
    file: Annotated[str, typer.Argument(metavar="FILE", help="Predictions: a path, a folder or a pattern.")],
    output: Annotated[Path, typer.Argument(metavar="OUTPUT", help="A Parquet file to write.")],
    classes: options.Classes = None,
    layout: options.Layouts = None,
    case: options.Case = None,
    class_: options.Class = None,
    confidence: options.Confidence = None,
    sets: options.Sets = None,
    units: options.UnitsOption = None,
    normalize: options.Normalize = False,
    duplicates: options.DuplicatesOption = None,
    quiet: options.Quiet = False,
) -> None:
    """Write predictions of any layout as lists in Parquet: case, classes, confidences."""
    given: dict[str, Any] = dict(locals())
    with reported():
        from toplist.cli import checking

        checking.convert(**given)


@app.command()
def demo(
    json: options.Json = False,
    output: Annotated[
        list[Path] | None,
        typer.Option("--output", "-o", help="Write it too, as .json, .csv, .md, .tex, .html or .txt."),
    ] = None,
    report: Annotated[Path, typer.Option("--report", help="Where the HTML report goes.")] = Path("toplist-demo.html"),
    no_report: Annotated[bool, typer.Option("--no-report", help="Write none.")] = False,
) -> None:
    """Compare four language detectors on real text: a distribution, short lists, a partial distribution, labels."""
    given: dict[str, Any] = dict(locals())
    with reported():
        from toplist.cli import showing

        showing.demo(**given)
