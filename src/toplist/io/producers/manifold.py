"""Manifold: markets with several answers, as its API gives them (`/v0/market/ID`), in JSON or JSON Lines.

The probabilities of a resolved market are its resolution, 1 and 0: forecasts are those of markets that are open.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

from toplist._files import need
from toplist._text import quote
from toplist.errors import FileError
from toplist.io.producers.base import N_CLASSES, ProducedReader, Producer, Request, Row, batches_of, columns_of
from toplist.io.producers.entries import Record, documents_of

_INDEPENDENT = (
    "its answers are independent (shouldAnswersSumToOne is not true): they are probabilities of several questions, not "
    "a distribution. Make each answer a case of its own with the classes YES and NO."
)
_RESOLVED = (
    "it is resolved, and its probabilities are the resolution, not a forecast. Leave it out here, and give outcomes in "
    "a table of their own; the forecast is what was downloaded while it was open."
)


def _open(request: Request) -> ProducedReader:
    others: Counter[str] = Counter()
    rows = [(record.source, row) for record in documents_of(request) for row in _rows(record, others)]
    if not rows:
        raise FileError(request.name, "there is no market with several answers here.")
    columns = columns_of(**{N_CLASSES: need("pyarrow").int64()})
    batches = list(batches_of(rows, columns))
    kinds = ", ".join(f"{count:,} {kind}" for kind, count in sorted(others.items()))
    notes = (f"markets without several answers are not used: {kinds}",) if others else ()
    return ProducedReader(request.name, lambda: iter(batches), columns, request.paths, notes)


def _rows(record: Record, others: Counter[str]) -> Iterator[Row]:
    """The market as a row; it is counted where it does not have several answers."""
    market = record.value
    found = market.get("answers")
    answers = [] if found is None else list(record.items(found, "answers"))
    if not answers:
        others[str(market.get("outcomeType", "unknown"))] += 1
        return
    name = record.text(market.get("id"), "the id of a market")
    odd = next((one.value for one in answers if not isinstance(one.value, Mapping)), None)
    if odd is not None:
        raise record.error(f"market {quote(name)}: its answers should be objects, not {quote(odd)}.")
    if market.get("shouldAnswersSumToOne", True) is not True:
        raise record.error(f"market {quote(name)}: {_INDEPENDENT}")
    if market.get("isResolved") or any(one.at("resolution") for one in answers):
        raise record.error(f"market {quote(name)}: {_RESOLVED}")
    texts = [record.text(one.at("text"), "the text of an answer") for one in answers]
    values = [record.number(one.at("probability"), f"the probability of {quote(one.at('text'))}") for one in answers]
    yield Row(name, texts, values, {N_CLASSES: len(answers)})


PRODUCER = Producer(open=_open, files_only=True)
