"""Answers of ollama: `logprobs` at the top of a record, which may be one of many chunks of a stream."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from toplist.io.producers import fields
from toplist.io.producers.base import ProducedReader, Producer, Request
from toplist.io.producers.json_records import Record
from toplist.io.producers.openai import position_of
from toplist.io.producers.servers import FAILED, WITHOUT, Server, open_answers
from toplist.io.producers.tokens import Position

_REMEDY = 'Ask for them: "logprobs": true and "top_logprobs": 20, with ollama 0.12.11 or later.'

CUT_OFF = "an answer was cut off: the chunk that ends it is missing"


def positions_of(record: Record) -> Sequence[Position] | str:
    """The positions of a response."""
    if record.get("error"):
        return FAILED
    found, count = fields.each(record, "logprobs", position_of), record.get("eval_count")
    if found and isinstance(count, int) and len(found) > count:
        raise fields.FieldError(
            "logprobs",
            f"has {len(found)} tokens, and eval_count is {count}: the chunk that ends the answer before is missing",
        )
    return found or WITHOUT


def joined(numbered: Iterator[tuple[int, Record]]) -> Iterator[tuple[int, Record]]:
    """Chunks up to one that is done as one record."""
    row, whole = 0, dict[str, Any]()
    for at, record in numbered:
        row = row or at
        tokens = [*whole.get("logprobs", ()), *fields.items(record, "logprobs")]
        whole = {**whole, **record, "logprobs": tokens}
        if record.get("done", True):
            yield row, whole
            row, whole = 0, {}
    if whole:
        yield row, whole


def _note(record: Record) -> str:
    return CUT_OFF if record.get("done") is False else ""


def _open(request: Request) -> ProducedReader:
    return open_answers(request, Server(positions_of, _REMEDY, joined=joined, note=_note))


PRODUCER = Producer(_open, options=("answers", "position"))
