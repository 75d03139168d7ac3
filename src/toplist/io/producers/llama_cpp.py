"""Answers of the server of llama.cpp: `completion_probabilities`, before sampling or after it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

from toplist.io.producers import fields
from toplist.io.producers.base import ProducedReader, Producer, Request
from toplist.io.producers.json_records import Record
from toplist.io.producers.openai import position_of, token_of
from toplist.io.producers.servers import FAILED, WITHOUT, Server, open_answers
from toplist.io.producers.tokens import Position, Token

_REMEDY = 'Ask for them: "n_probs": 20.'
AFTER_SAMPLING = (
    "probabilities after sampling (post_sampling_probs) are those of the sampler, with its temperature and cut-offs, "
    "not of the model"
)


def positions_of(record: Record) -> Sequence[Position] | str:
    """The positions of a response, with log-probabilities, or probabilities after sampling."""
    if record.get("error"):
        return FAILED
    return fields.each(record, "completion_probabilities", _position) or WITHOUT


def _position(entry: Any) -> Position:
    if fields.at(entry, "top_probs") is None:
        return position_of(entry)
    return Position(fields.text(entry, "token"), fields.each(entry, "top_probs", _token))


def _token(entry: Any) -> Token:
    p = fields.number(entry, "prob")
    if p is None or not p >= 0:
        raise fields.expected("a probability", p, "prob")
    return token_of(entry)._replace(logprob=math.log(p) if p else None)


def joined(numbered: Iterator[tuple[int, Record]]) -> Iterator[tuple[int, Record]]:
    """Chunks up to the one that stops as one record."""
    row, whole = 0, dict[str, Any]()
    for at, record in numbered:
        row = row or at
        found = [*whole.get("completion_probabilities", ()), *fields.items(record, "completion_probabilities")]
        whole = {**whole, **record, "completion_probabilities": found}
        if record.get("stop", True):
            yield row, whole
            row, whole = 0, {}
    if whole:
        yield row, whole


def _note(record: Record) -> str:
    return AFTER_SAMPLING if any("top_probs" in one for one in fields.items(record, "completion_probabilities")) else ""


def _open(request: Request) -> ProducedReader:
    return open_answers(request, Server(positions_of, _REMEDY, joined=joined, note=_note, own_ids=("index", "id_slot")))


PRODUCER = Producer(_open, options=("answers", "position"))
