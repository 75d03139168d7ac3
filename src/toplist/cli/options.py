"""The options that several commands share, and the examples in their help."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

_READING = "How files are read"
_VALUES = "What values mean"
_SURE = "How sure it is"

Truth = Annotated[str, typer.Option("--truth", "-t", help="What happened: a file with case ids and outcomes.")]
MaybeTruth = Annotated[
    str | None, typer.Option("--truth", "-t", help="What happened: a file with case ids and outcomes.")
]
Classes = Annotated[
    str | None,
    typer.Option(
        "--classes", "-c", help="How many there are: a number, 2^L, inf, a file of labels, or a column of the truth."
    ),
]
OneCount = Annotated[
    str | None,
    typer.Option("--classes", "-c", help="How many there are: a number, 2^L, inf, or a file of labels."),
]
Rules = Annotated[
    list[str] | None,
    typer.Option(
        "--rule", help="brier, log, spherical, zero-one, one-vs-rest; may be given several times. The first ranks."
    ),
]
Penalty = Annotated[float | None, typer.Option(help="What an invalid list pays; by default 1 % of the uniform score.")]
Layouts = Annotated[
    list[str] | None,
    typer.Option("--layout", help="lists, long, wide, ranked or labels; or name=layout.", rich_help_panel=_READING),
]
Case = Annotated[
    list[str] | None,
    typer.Option(
        "--case", help="The column with case ids; or name=column, also truth=column.", rich_help_panel=_READING
    ),
]
Class = Annotated[
    list[str] | None,
    typer.Option("--class", help="The column with classes; or name=column.", rich_help_panel=_READING),
]
Confidence = Annotated[
    list[str] | None,
    typer.Option(
        "--confidence",
        help="The column with confidences, or a pattern such as 'prob_*' for a column per class; or name=column.",
        rich_help_panel=_READING,
    ),
]
Ignore = Annotated[
    list[str] | None,
    typer.Option(
        "--ignore",
        help="A column, or a pattern of columns, to leave out; or name=column. May be given several times.",
        rich_help_panel=_READING,
    ),
]
ByPosition = Annotated[
    bool,
    typer.Option(
        "--by-position", help="Match rows by their position: all files have the same order.", rich_help_panel=_READING
    ),
]
Outcome = Annotated[str | None, typer.Option(help="The column of the truth with outcomes.", rich_help_panel=_READING)]
Sets = Annotated[
    str | None, typer.Option(help="Classes are label sets, with this delimiter; {} is empty.", rich_help_panel=_READING)
]
UnitsOption = Annotated[
    list[str] | None,
    typer.Option("--units", help="probability, percent or log; or name=units.", rich_help_panel=_VALUES),
]
Normalize = Annotated[
    bool,
    typer.Option("--normalize", help="Divide masses by their sum, where they are off.", rich_help_panel=_VALUES),
]
NormalizeOnly = Annotated[
    list[str] | None,
    typer.Option("--normalize-only", help="The same for one predictor, by its name.", rich_help_panel=_VALUES),
]
DuplicatesOption = Annotated[
    list[str] | None,
    typer.Option("--duplicates", help="error or sum; or name=sum.", rich_help_panel=_VALUES),
]
BlanksOption = Annotated[
    list[str] | None,
    typer.Option(
        "--blanks",
        help="Entries that lack their class or their confidence: error, or drop to leave them out; or name=drop.",
        rich_help_panel=_VALUES,
    ),
]
Cluster = Annotated[
    str | None,
    typer.Option(
        help="A column of the truth: cases that belong together (one called cluster is found).", rich_help_panel=_SURE
    ),
]
Order = Annotated[
    str | None,
    typer.Option(help="A column of the truth: when each case was (one called order is found).", rich_help_panel=_SURE),
]
Intervals = Annotated[
    str,
    typer.Option(
        help="t, normal, hac or cosine (for cases in time), bootstrap; auto follows from what the truth says.",
        rich_help_panel=_SURE,
    ),
]
Level = Annotated[float, typer.Option(help="Confidence level.", rich_help_panel=_SURE)]
Horizon = Annotated[
    int, typer.Option(help="How many moments lie between a forecast and what happens.", rich_help_panel=_SURE)
]
Draws = Annotated[int, typer.Option(help="Outcomes drawn for the test and the bands.", rich_help_panel=_SURE)]
Seed = Annotated[int, typer.Option(help="Of what is drawn.", rich_help_panel=_SURE)]
ConfidenceSet = Annotated[
    bool, typer.Option("--confidence-set", help="Say among whom the best one is.", rich_help_panel=_SURE)
]
Sequential = Annotated[
    bool,
    typer.Option("--sequential", help="What may be said at any time, for those who look often.", rich_help_panel=_SURE),
]
Baseline = Annotated[
    str | None,
    typer.Option(help="With --sequential, whom the others are compared with; else the first.", rich_help_panel=_SURE),
]
One = Annotated[str, typer.Argument(metavar="FILE", help="Predictions: a path, a folder or a pattern.")]
ListsOut = Annotated[Path, typer.Option("--output", "-o", help="Where to: .parquet, .csv or .jsonl.")]
Rule = Annotated[
    str, typer.Option("--rule", help="The score that counts: brier, log, spherical, zero-one, one-vs-rest, ...")
]
Common = Annotated[str, typer.Option("--missing", help="What to do about missing cases: error or common.")]
Report = Annotated[Path | None, typer.Option("--report", help="Write everything on one HTML page, such as board.html.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON for machines.")]
Quiet = Annotated[
    bool, typer.Option("--quiet", "-q", help="No progress bar while files are read; results and errors are shown.")
]

COMPARE_EXAMPLES = """Examples:

  toplist compare a.parquet b.jsonl c.csv --truth y.csv --classes 1000

  toplist compare old=run1/*.parquet new=run2/*.parquet -t y.parquet -c labels.txt --fail-if "new worse than old"

  toplist compare hub/*.csv -t truth.csv -c 28 --missing pairwise --order week --report board.html
"""
SCORE_EXAMPLES = """Examples:

  toplist score preds.parquet --truth y.csv --classes 1000 -o scores.parquet

  toplist score answers.jsonl -t key.csv -c n_options --rule log --units log -o scores.csv
"""
CHECK_EXAMPLES = """Examples:

  toplist check preds.parquet --classes 1000

  toplist check survey.csv --units percent --json
"""
DIAGNOSE_EXAMPLES = """Examples:

  toplist diagnose preds.parquet --truth y.csv --classes 1000 --plot figures

  toplist diagnose survey.csv --units percent --json
"""
CONVERT_EXAMPLES = """Examples:

  toplist convert scores.csv lists.parquet --units percent
"""
FIT_EXAMPLES = """Examples:

  toplist recalibrate fit valid.parquet --truth y.csv --classes 1000 -o model.json

  toplist recalibrate fit valid.parquet -t y.csv -c 1000 --kind temperature -o model.json
"""
APPLY_EXAMPLES = """Examples:

  toplist recalibrate apply preds.parquet model.json --classes 1000 -o better.parquet
"""
POOL_EXAMPLES = """Examples:

  toplist pool a.parquet b.jsonl --classes 1000 -o pool.parquet

  toplist pool a.parquet b.jsonl -c 1000 --truth y.csv --save-weights weights.json -o pool.parquet
"""
TRUNCATE_EXAMPLES = """Examples:

  toplist truncate preds.parquet -k 5 --classes 1000 -o short.parquet

  toplist truncate preds.parquet -c 1000 --truth y.csv --choose mass -o short.parquet
"""
