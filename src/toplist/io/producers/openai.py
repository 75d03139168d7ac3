"""Answers of OpenAI's API and of servers that follow it: chat completions, batches, responses, legacy completions."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from toplist.io.producers import fields
from toplist.io.producers.base import Match, ProducedReader, Producer, Request, at_path
from toplist.io.producers.fields import FieldError
from toplist.io.producers.json_records import Record
from toplist.io.producers.servers import FAILED, REFUSED, WITHOUT, Server, open_answers
from toplist.io.producers.tokens import Position, Token
from toplist.io.readers.base import FirstLook

_REMEDY = (
    "Ask for them: logprobs=True and top_logprobs=20 for chat completions, logprobs=5 for legacy completions, "
    'include=["message.output_text.logprobs"] and top_logprobs=20 for responses. Reasoning models give none.'
)
_STATUS_OK = 200
COLLAPSED = (
    "legacy completions list tokens by their text: of tokens with the same text only one is there, and the probability "
    "of the others is lost. Chat completions list all"
)


def positions_of(record: Record) -> Sequence[Position] | str:
    """The positions of a response, or of a line of a batch."""
    if "custom_id" in record and "response" in record:
        if record.get("error") or not record["response"]:
            return FAILED
        if fields.at(record, "response.status_code") not in (None, _STATUS_OK):
            return FAILED
        return fields.within(record, "response.body", _of_body)
    return _of_body(record)


def _of_body(body: Any) -> Sequence[Position] | str:
    """The positions of a response."""
    if fields.at(body, "output") is not None:
        return _of_response(body)
    choices = fields.items(body, "choices")
    if choices:
        return fields.within(body, "choices.0", of_choice)
    if body.get("error"):
        return FAILED
    if "choices" not in body:
        raise FieldError("choices", "should be a list, but is missing")
    return WITHOUT


def of_choice(choice: Any) -> Sequence[Position] | str:
    """The positions of a choice of a chat completion, or of a legacy completion."""
    if fields.at(choice, "logprobs.tokens") is not None:
        return fields.within(choice, "logprobs", _legacy)
    found = fields.each(choice, "logprobs.content", position_of)
    if found:
        return found
    return REFUSED if fields.at(choice, "logprobs.refusal") or at_path(choice, "message.refusal") else WITHOUT


def position_of(entry: Any) -> Position:
    """A generated token with those listed in its place."""
    return Position(fields.text(entry, "token"), fields.each(entry, "top_logprobs", token_of))


def token_of(entry: Any) -> Token:
    """A listed token."""
    return Token(
        fields.known_text(entry, "token"),
        fields.number(entry, "logprob"),
        fields.whole(entry, "id"),
        fields.octets(entry, "bytes"),
    )


def _of_response(record: Record) -> Sequence[Position] | str:
    if record.get("error"):
        return FAILED
    found = [position for one in fields.each(record, "output", _of_output) for position in one]
    if found:
        return found
    kinds = [fields.at(part, "type") for one in fields.items(record, "output") for part in fields.items(one, "content")]
    return REFUSED if "refusal" in kinds else WITHOUT


def _of_output(one: Any) -> list[Position]:
    parts = fields.each(one, "content", lambda part: fields.each(part, "logprobs", position_of))
    return [position for part in parts for position in part]


def _legacy(logprobs: Any) -> Sequence[Position] | str:
    """Lists by text, the sampled token first: it may be smaller than all that belong to the list."""
    if not fields.items(logprobs, "top_logprobs"):
        return WITHOUT
    fields.as_many(logprobs, "top_logprobs", "tokens")
    sampled = fields.each(logprobs, "tokens", _text)
    lists = fields.each(logprobs, "top_logprobs", _by_text)
    return [
        Position(token, sorted(top, key=lambda one: (one.text != token, -_number(one.logprob))))
        for token, top in zip(sampled, lists, strict=True)
    ]


def _text(value: Any) -> str:
    if not fields.is_text(value):
        raise fields.expected("text", value)
    found: str = value
    return found


def _by_text(top: Any) -> list[Token]:
    if top is None:
        return []
    numbers = fields.mapped(top, "", lambda value: None if value is None else fields.known_number(value))
    return [Token(_text(token), value) for token, value in numbers.items()]


def _number(value: float | None) -> float:
    return -math.inf if value is None else value


def joined(records: Iterator[tuple[int, Record]]) -> Iterator[tuple[int, Record]]:
    """Chunks of a stream with the same id as one record; everything else as it is."""
    row, whole = 0, None
    for at, record in records:
        chunk = fields.known_text(record, "id") if _is_chunk(record) else None
        if whole is not None and chunk != whole["id"]:
            yield row, whole
            whole = None
        if chunk is None:
            yield at, record
        elif whole is None:
            row, whole = at, {**record, "choices": [{"logprobs": {"content": _content(record)}}]}
        else:
            whole["choices"][0]["logprobs"]["content"] += _content(record)
    if whole is not None:
        yield row, whole


def _is_chunk(record: Record) -> bool:
    return bool(record.get("object") == "chat.completion.chunk")


def _content(record: Record) -> list[Any]:
    return list(fields.items(record, "choices.0.logprobs.content"))


def _note(record: Record) -> str:
    body = at_path(record, "response.body") or record
    if len(fields.items(body, "choices")) > 1:
        return "responses have several choices: the first one is read"
    return COLLAPSED if at_path(body, "choices.0.logprobs.tokens") else ""


SERVER = Server(
    positions_of,
    _REMEDY,
    note=_note,
    paths=("choices.0.logprobs.content", "response.body.choices.0.logprobs.content"),
    own_ids=("id",),
    joined=joined,
)


def _open(request: Request) -> ProducedReader:
    return open_answers(request, SERVER)


def _match(look: FirstLook, match: Match) -> Match | None:
    """Responses, or lines of a batch: other files have a `custom_id`, or `choices`, too."""
    records = [one for one in look.records(match.paths[0]) if isinstance(one, Mapping)]
    return match if records and all(map(_is_response, records)) else None


def _is_response(record: Record) -> bool:
    if "custom_id" in record:
        return isinstance(at_path(record, "response.body"), Mapping) or bool(record.get("error"))
    choices, output = record.get("choices"), record.get("output")
    if isinstance(output, list):  # messages, reasoning, calls of tools
        return all(at_path(one, "type") is not None for one in output)
    return isinstance(choices, list) and all(map(_is_choice, choices))


def _is_choice(choice: Any) -> bool:
    return isinstance(choice, Mapping) and any(key in choice for key in ("message", "delta", "logprobs"))


PRODUCER = Producer(_open, _match, options=("answers", "position"))
