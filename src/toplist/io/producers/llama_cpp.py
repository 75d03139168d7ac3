"""Answers of the server of llama.cpp: `completion_probabilities`, before sampling or after it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

from toplist.io.producers.base import ProducedReader, Producer, Request
from toplist.io.producers.json_records import Record
from toplist.io.producers.openai import position_of
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
    found = record.get("completion_probabilities")
    return [_position(one) for one in found] if found else WITHOUT


def _position(entry: Record) -> Position:
    if "top_probs" not in entry:
        return position_of(entry)
    return Position(entry.get("token"), [_token(one) for one in entry["top_probs"]])


def _token(entry: Record) -> Token:
    p, raw = entry["prob"], entry.get("bytes")
    log = math.log(p) if p > 0 else None
    return Token(entry["token"], log, entry.get("id"), None if raw is None else bytes(raw))


def joined(numbered: Iterator[tuple[int, Record]]) -> Iterator[tuple[int, Record]]:
    """Chunks up to the one that stops as one record."""
    row, whole = 0, dict[str, Any]()
    for at, record in numbered:
        row = row or at
        found = [*whole.get("completion_probabilities", ()), *(record.get("completion_probabilities") or ())]
        whole = {**whole, **record, "completion_probabilities": found}
        if record.get("stop", True):
            yield row, whole
            row, whole = 0, {}
    if whole:
        yield row, whole


def _note(record: Record) -> str:
    return AFTER_SAMPLING if any("top_probs" in one for one in record.get("completion_probabilities") or ()) else ""


def _open(request: Request) -> ProducedReader:
    return open_answers(request, Server(positions_of, _REMEDY, joined=joined, note=_note, own_ids=("index", "id_slot")))


PRODUCER = Producer(_open, options=("answers", "position"))
