"""The commands. Each imports what it needs when it runs, so that help is instant."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from toplist.cli.errors import reported
from toplist.cli.options import (
    APPLY_EXAMPLES,
    CHECK_EXAMPLES,
    COMPARE_EXAMPLES,
    CONVERT_EXAMPLES,
    DIAGNOSE_EXAMPLES,
    FIT_EXAMPLES,
    POOL_EXAMPLES,
    SCORE_EXAMPLES,
    TRUNCATE_EXAMPLES,
    Baseline,
    BlanksOption,
    ByPosition,
    Case,
    Class,
    Classes,
    Cluster,
    Common,
    Confidence,
    ConfidenceSet,
    Draws,
    DuplicatesOption,
    Horizon,
    Ignore,
    Intervals,
    Json,
    Layouts,
    Level,
    ListsOut,
    MaybeTruth,
    Normalize,
    NormalizeOnly,
    One,
    OneCount,
    Order,
    Outcome,
    Penalty,
    Quiet,
    Report,
    Rule,
    Rules,
    Seed,
    Sequential,
    Sets,
    Truth,
    UnitsOption,
)
from toplist.cli.output import told

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
    epilog=(
        "Exit codes: 0 fine, 1 bad data, or a file that cannot be read or written, 2 bad usage, 3 a gate (--fail-if) "
        "was hit; stopped by a signal: 130 (Ctrl-C), 143 (SIGTERM), 129 (SIGHUP)."
    ),
)


def _version(wanted: bool) -> None:
    if wanted:
        from toplist.report.versions import version

        typer.echo(f"toplist {version()}")
        raise typer.Exit


@app.callback()
def start(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Say it and stop.")
    ] = False,
) -> None:
    """Shared by all commands."""


@app.command(epilog=COMPARE_EXAMPLES)
def compare(
    files: Annotated[
        list[str], typer.Argument(metavar="FILES...", help="Predictions: paths, folders, patterns; or name=path.")
    ],
    truth: Truth,
    classes: Classes = None,
    rule: Rules = None,
    reference: Annotated[
        str | None, typer.Option("--reference", "-r", help="A model to measure skill against.")
    ] = None,
    by: Annotated[str | None, typer.Option(help="A column of the truth: one table per value.")] = None,
    weight: Annotated[str | None, typer.Option(help="A column of the truth: how much each case counts.")] = None,
    missing: Annotated[
        str, typer.Option(help="What to do about missing cases: error, common, pairwise or reject.")
    ] = "error",
    min_cases: Annotated[
        int | None, typer.Option("--min-cases", help="Rank only models with so many compared cases.")
    ] = None,
    top: Annotated[list[int] | None, typer.Option(help="The k of top-k errors; may be given several times.")] = None,
    penalty: Penalty = None,
    cluster: Cluster = None,
    order: Order = None,
    intervals: Intervals = "auto",
    level: Level = 0.95,
    horizon: Horizon = 1,
    seed: Seed = 0,
    confidence_set: ConfidenceSet = False,
    sequential: Sequential = False,
    baseline: Baseline = None,
    layout: Layouts = None,
    case: Case = None,
    class_: Class = None,
    confidence: Confidence = None,
    ignore: Ignore = None,
    by_position: ByPosition = False,
    outcome: Outcome = None,
    sets: Sets = None,
    units: UnitsOption = None,
    normalize: Normalize = False,
    normalize_only: NormalizeOnly = None,
    duplicates: DuplicatesOption = None,
    blanks: BlanksOption = None,
    fail_if: Annotated[
        list[str] | None,
        typer.Option("--fail-if", help='Exit with 3 if this holds, such as "new worse than old by 0.01".'),
    ] = None,
    output: Annotated[
        list[Path] | None,
        typer.Option("--output", "-o", help="Write it too, as .json, .csv, .md, .tex, .html or .txt."),
    ] = None,
    report: Report = None,
    title: Annotated[str | None, typer.Option(help="The title of the report.")] = None,
    detail: Annotated[bool, typer.Option("--detail", help="Every number, in more tables.")] = False,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Rank predictions of any shape on one scale, with error bars."""
    given: dict[str, Any] = dict(locals())
    with reported(), told(given.get("quiet", False)):
        from toplist.cli import compare

        compare.compare(**given)


@app.command(epilog=SCORE_EXAMPLES)
def score(
    file: Annotated[str, typer.Argument(metavar="FILE", help="Predictions: a path, a folder or a pattern.")],
    truth: Truth,
    classes: Classes = None,
    rule: Rules = None,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="Where to: .parquet, .csv or .jsonl.")] = None,
    keep: Annotated[list[str] | None, typer.Option(help="A column of the truth to keep beside the scores.")] = None,
    missing: Annotated[str, typer.Option(help="What to do about missing cases: error, common or reject.")] = "error",
    penalty: Penalty = None,
    layout: Layouts = None,
    case: Case = None,
    class_: Class = None,
    confidence: Confidence = None,
    ignore: Ignore = None,
    by_position: ByPosition = False,
    outcome: Outcome = None,
    sets: Sets = None,
    units: UnitsOption = None,
    normalize: Normalize = False,
    duplicates: DuplicatesOption = None,
    blanks: BlanksOption = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Score every case of one file; the scores go to a file, the means to the screen."""
    given: dict[str, Any] = dict(locals())
    with reported(), told(given.get("quiet", False)):
        from toplist.cli import compare

        compare.score(**given)


@app.command(epilog=CHECK_EXAMPLES)
def check(
    file: Annotated[str, typer.Argument(metavar="FILE", help="Predictions: a path, a folder or a pattern.")],
    classes: OneCount = None,
    layout: Layouts = None,
    case: Case = None,
    class_: Class = None,
    confidence: Confidence = None,
    ignore: Ignore = None,
    by_position: ByPosition = False,
    sets: Sets = None,
    units: UnitsOption = None,
    normalize: Normalize = False,
    duplicates: DuplicatesOption = None,
    blanks: BlanksOption = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Say what is in a file and what is wrong with it; exit with 1 if anything is."""
    given: dict[str, Any] = dict(locals())
    with reported(), told(given.get("quiet", False)):
        from toplist.cli import diagnose

        diagnose.check(**given)


@app.command(epilog=DIAGNOSE_EXAMPLES)
def diagnose(
    file: Annotated[str, typer.Argument(metavar="FILE", help="Predictions: a path, a folder or a pattern.")],
    truth: MaybeTruth = None,
    classes: Classes = None,
    plot: Annotated[
        Path | None, typer.Option("--plot", help="A folder for all figures, or a file for the first: .svg, .pdf, .png.")
    ] = None,
    level: Level = 0.95,
    draws: Draws = 199,
    seed: Seed = 0,
    cluster: Cluster = None,
    missing: Annotated[str, typer.Option(help="What to do about missing cases: error or common.")] = "error",
    layout: Layouts = None,
    case: Case = None,
    class_: Class = None,
    confidence: Confidence = None,
    ignore: Ignore = None,
    by_position: ByPosition = False,
    outcome: Outcome = None,
    sets: Sets = None,
    units: UnitsOption = None,
    normalize: Normalize = False,
    duplicates: DuplicatesOption = None,
    blanks: BlanksOption = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Say what is odd about predictions, how calibrated they are, and what their score is made of."""
    given: dict[str, Any] = dict(locals())
    with reported(), told(given.get("quiet", False)):
        from toplist.cli import diagnose

        diagnose.diagnose_file(**given)


@app.command(epilog=CONVERT_EXAMPLES)
def convert(
    file: Annotated[str, typer.Argument(metavar="FILE", help="Predictions: a path, a folder or a pattern.")],
    output: Annotated[Path, typer.Argument(metavar="OUTPUT", help="A Parquet file to write.")],
    classes: OneCount = None,
    layout: Layouts = None,
    case: Case = None,
    class_: Class = None,
    confidence: Confidence = None,
    ignore: Ignore = None,
    by_position: ByPosition = False,
    sets: Sets = None,
    units: UnitsOption = None,
    normalize: Normalize = False,
    duplicates: DuplicatesOption = None,
    blanks: BlanksOption = None,
    quiet: Quiet = False,
) -> None:
    """Write predictions of any layout as lists in Parquet: case, classes, confidences."""
    given: dict[str, Any] = dict(locals())
    with reported(), told(given.get("quiet", False)):
        from toplist.cli import diagnose

        diagnose.convert(**given)


recalibrate = typer.Typer(
    name="recalibrate", no_args_is_help=True, rich_markup_mode="rich", help="Change confidences so that they are kept."
)
app.add_typer(recalibrate)


@recalibrate.command("fit", epilog=FIT_EXAMPLES)
def recalibrate_fit(
    file: One,
    truth: Truth,
    output: Annotated[Path, typer.Option("--output", "-o", help="Where the recalibrator goes: a .json file.")],
    classes: OneCount = None,
    kind: Annotated[
        str,
        typer.Option(
            help="auto, temperature, bucket-temperature, rest-floor, beta, isotonic, vector-scaling or identity."
        ),
    ] = "auto",
    rule: Rule = "brier",
    folds: Annotated[int, typer.Option(help="Parts of the cases for cross-validation.")] = 5,
    seed: Seed = 0,
    missing: Common = "error",
    layout: Layouts = None,
    case: Case = None,
    class_: Class = None,
    confidence: Confidence = None,
    ignore: Ignore = None,
    by_position: ByPosition = False,
    outcome: Outcome = None,
    sets: Sets = None,
    units: UnitsOption = None,
    normalize: Normalize = False,
    duplicates: DuplicatesOption = None,
    blanks: BlanksOption = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Learn from predictions and what happened how to change confidences; say what that gains on unseen cases."""
    given: dict[str, Any] = dict(locals())
    with reported(), told(given.get("quiet", False)):
        from toplist.cli import transform

        transform.fit(**given)


@recalibrate.command("apply", epilog=APPLY_EXAMPLES)
def recalibrate_apply(
    file: One,
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="What `toplist recalibrate fit` wrote.")],
    output: ListsOut,
    classes: OneCount = None,
    layout: Layouts = None,
    case: Case = None,
    class_: Class = None,
    confidence: Confidence = None,
    ignore: Ignore = None,
    by_position: ByPosition = False,
    sets: Sets = None,
    units: UnitsOption = None,
    normalize: Normalize = False,
    duplicates: DuplicatesOption = None,
    blanks: BlanksOption = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Write predictions with the confidences that a fitted recalibrator gives them."""
    given: dict[str, Any] = dict(locals())
    with reported(), told(given.get("quiet", False)):
        from toplist.cli import transform

        transform.apply(**given)


@app.command(epilog=POOL_EXAMPLES)
def pool(
    files: Annotated[
        list[str], typer.Argument(metavar="FILES...", help="Predictions: paths, folders, patterns; or name=path.")
    ],
    output: ListsOut,
    classes: OneCount = None,
    weights: Annotated[
        list[str] | None, typer.Option(help="The weight of a file, as name=0.7; one for each. Equal by default.")
    ] = None,
    truth: Annotated[
        str | None, typer.Option("--truth", "-t", help="Fit the weights to what happened in these cases.")
    ] = None,
    rule: Annotated[
        str | None,
        typer.Option(
            "--rule",
            help="With --truth, the score that weights are fitted by: brier or log.",
            show_default="brier, or log with --geometric",
        ),
    ] = None,
    geometric: Annotated[bool, typer.Option("--geometric", help="Multiply instead of adding up.")] = False,
    k: Annotated[int | None, typer.Option("-k", help="Keep the k most confident classes.")] = None,
    save_weights: Annotated[Path | None, typer.Option(help="Write the weights as JSON.")] = None,
    weights_from: Annotated[Path | None, typer.Option(help="Take weights that were saved.")] = None,
    missing: Common = "error",
    layout: Layouts = None,
    case: Case = None,
    class_: Class = None,
    confidence: Confidence = None,
    ignore: Ignore = None,
    by_position: ByPosition = False,
    outcome: Outcome = None,
    sets: Sets = None,
    units: UnitsOption = None,
    normalize: Normalize = False,
    normalize_only: NormalizeOnly = None,
    duplicates: DuplicatesOption = None,
    blanks: BlanksOption = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Combine the predictions of several files, case by case."""
    given: dict[str, Any] = dict(locals())
    with reported(), told(given.get("quiet", False)):
        from toplist.cli import transform

        transform.pool(**given)


@app.command(epilog=TRUNCATE_EXAMPLES)
def truncate(
    file: One,
    output: ListsOut,
    k: Annotated[int | None, typer.Option("-k", help="Keep the k most confident classes.")] = None,
    mass: Annotated[float | None, typer.Option(help="Keep as many classes as it takes to list this mass.")] = None,
    gain: Annotated[
        float | None, typer.Option(help="Stop where one more class takes less than this off the expected Brier score.")
    ] = None,
    truth: Annotated[
        str | None, typer.Option("--truth", "-t", help="Choose how much to keep by what happened in these cases.")
    ] = None,
    choose: Annotated[
        str | None, typer.Option(help="With --truth, what is chosen: k or mass.", show_default="k")
    ] = None,
    rule: Annotated[
        str | None, typer.Option(help="With --truth, the score that counts: brier, log, ...", show_default="brier")
    ] = None,
    classes: OneCount = None,
    missing: Common = "error",
    layout: Layouts = None,
    case: Case = None,
    class_: Class = None,
    confidence: Confidence = None,
    ignore: Ignore = None,
    by_position: ByPosition = False,
    outcome: Outcome = None,
    sets: Sets = None,
    units: UnitsOption = None,
    normalize: Normalize = False,
    duplicates: DuplicatesOption = None,
    blanks: BlanksOption = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Write shorter lists; what is cut off joins the mass that is not listed."""
    given: dict[str, Any] = dict(locals())
    with reported(), told(given.get("quiet", False)):
        from toplist.cli import transform

        transform.truncate(**given)


@app.command()
def demo(
    json: Json = False,
    output: Annotated[
        list[Path] | None,
        typer.Option("--output", "-o", help="Write it too, as .json, .csv, .md, .tex, .html or .txt."),
    ] = None,
    report: Annotated[Path, typer.Option("--report", help="Where the HTML report goes.")] = Path("toplist-demo.html"),
    no_report: Annotated[bool, typer.Option("--no-report", help="Write none.")] = False,
) -> None:
    """Compare four language detectors on real text: a distribution, short lists, a partial distribution, labels."""
    given: dict[str, Any] = dict(locals())
    with reported(), told(given.get("quiet", False)):
        from toplist.cli import demo

        demo.demo(**given)
