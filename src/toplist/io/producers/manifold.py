"""Manifold: markets with several answers, as its API gives them (`/v0/market/ID`), in JSON or JSON Lines.

The probabilities of a resolved market are its resolution, 1 and 0: forecasts are those of markets that are open.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from toplist._files import need
from toplist._text import quote
from toplist.errors import FileError
from toplist.io.producers.base import N_CLASSES, ProducedReader, Producer, Request, Row, batches_of, columns_of
from toplist.io.readers.base import opened

_INDEPENDENT = (
    "its answers are independent (shouldAnswersSumToOne is false): they are probabilities of several questions, not a "
    "distribution. Make each answer a case of its own with the classes YES and NO."
)
_RESOLVED = (
    "it is resolved, and its probabilities are the resolution, not a forecast. Leave it out here, and give outcomes in "
    "a table of their own; the forecast is what was downloaded while it was open."
)


def _open(request: Request) -> ProducedReader:
    others: Counter[str] = Counter()
    rows = [(str(path), row) for path in request.paths for row in _rows(path, others)]
    if not rows:
        raise FileError(request.name, "there is no market with several answers here.")
    columns = columns_of(**{N_CLASSES: need("pyarrow").int64()})
    batches = list(batches_of(rows, columns))
    kinds = ", ".join(f"{count:,} {kind}" for kind, count in sorted(others.items()))
    notes = (f"markets without several answers are not used: {kinds}",) if others else ()
    return ProducedReader(request.name, lambda: iter(batches), columns, request.paths, notes)


def _rows(path: Path, others: Counter[str]) -> Iterator[Row]:
    for number, market in enumerate(_markets(path), 1):
        if not isinstance(market, Mapping):
            raise FileError(str(path), "this is no market: an object with an id and answers.", row=number)
        answers = market.get("answers")
        if not answers:
            others[str(market.get("outcomeType", "unknown"))] += 1
            continue
        if not isinstance(answers, list) or not all(isinstance(one, Mapping) for one in answers):
            raise FileError(str(path), "its answers are not a list of objects.", row=number)
        if market.get("shouldAnswersSumToOne") is False:
            raise FileError(str(path), f"market {quote(market.get('id'))}: {_INDEPENDENT}", row=number)
        if market.get("isResolved") or any(one.get("resolution") for one in answers):
            raise FileError(str(path), f"market {quote(market.get('id'))}: {_RESOLVED}", row=number)
        try:
            texts = [str(one["text"]) for one in answers]
            values = [float(one["probability"]) for one in answers]
        except (KeyError, TypeError, ValueError):
            raise FileError(str(path), "an answer has no text or no probability.", row=number) from None
        yield Row(str(market.get("id")), texts, values, {N_CLASSES: len(answers)})


def _markets(path: Path) -> Iterator[Any]:
    """The values of a JSON document, an array or one object, or of the lines of JSON Lines."""
    with opened(path) as stream:
        data: bytes = stream.read()
    try:
        if ".jsonl" in path.name.lower():
            yield from (json.loads(line) for line in data.splitlines() if line.strip())
            return
        whole = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise FileError(str(path), f"this is not JSON: {error}.") from None
    yield from whole if isinstance(whole, list) else [whole]


PRODUCER = Producer(open=_open, files_only=True)
