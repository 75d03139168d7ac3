"""Submissions to competitions that are scored by the mean average precision at k: `id,"a b c d e"`, ranks only.

Five ranked labels without probabilities are no list: what scores need is not there. The first of them is a hard label.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from pathlib import Path

from toplist._text import argument
from toplist.errors import FileError
from toplist.io.producers.base import Match, ProducedReader, Producer, Request, Row
from toplist.io.producers.entries import matched, reader_of, rows_in
from toplist.io.readers.base import FirstLook

NAME = "map-at-k"
TOP_K_ERROR = "sum(y not in labels.split() for y, labels in zip(outcomes, column)) / len(outcomes)"
_ROWS = 50  # that are looked at


def _open(request: Request) -> ProducedReader:
    records = [record for path in request.paths for record in rows_in(path)]
    cases = [(record, *record.value.values()) for record in records if len(record.value) == 2]
    odd = next((record for record in records if not [*record.value.values()][-1].split()), None)
    if odd is not None or len(cases) < len(records):
        raise (odd or records[0]).error("each row should hold an id, and labels with blanks between them.")
    if request.options.set_separator is not None:
        rows = [(record, Row(case, [labels], [1.0])) for record, case, labels in cases]
        return reader_of(request, rows, ["label sets, not ranked labels"])
    k = max((len(labels.split()) for _, _, labels in cases), default=0)
    if request.options.producer != NAME:
        raise FileError(
            request.name,
            f"each row holds {k} labels by their rank, without probabilities, as the mean average precision at {k} "
            "asks for: no score of probabilities can be had. Two things can: the first label as a hard prediction, "
            f"{argument('producer', NAME)}; and the top-{k} error, {TOP_K_ERROR}. If each row is one label with blanks "
            f"in it, pass {argument('producer', 'none')}; if it is a label set, {argument('set_separator', ' ')}.",
        )
    rows = [(record, Row(case, labels.split()[:1], [1.0])) for record, case, labels in cases]
    note = f"hard labels: the first of up to {k} ranked labels of each case; the others have no probabilities"
    return reader_of(request, rows, [note])


def _match(look: FirstLook, match: Match) -> Match | None:
    """Files whose rows rank labels."""
    return matched(match, lambda path: f"each row holds {k} labels, in any order" if (k := _ranks(look, path)) else "")


def _ranks(look: FirstLook, path: Path) -> int:
    """How many labels each row ranks; 0 where that is not certain.

    It is where all rows have equally many different words, and a word stands at different places of different rows:
    the words of one label keep their order.
    """
    if len(look.columns(path)) != 2:
        return 0
    lines = look.head(path).split("\n")[: _ROWS + 2]
    try:
        rows = list(csv.reader(io.StringIO("\n".join(lines[1:-1] if len(lines) > _ROWS else lines[1:]))))
    except csv.Error:
        return 0
    cells = [row[1].split() for row in rows if len(row) == 2]
    sizes = {len(cell) for cell in cells}
    if len(cells) < 2 or len(sizes) != 1 or min(sizes) < 2:
        return 0
    return min(sizes) if all(len(set(cell)) == len(cell) for cell in cells) and _moves(cells) else 0


def _moves(cells: Sequence[Sequence[str]]) -> bool:
    """Whether a word stands at different places."""
    places: dict[str, int] = {}
    return any(places.setdefault(word, at) != at for cell in cells for at, word in enumerate(cell))


PRODUCER = Producer(_open, _match, files_only=True)
