"""Answers of OpenAI's API and of servers that follow it: chat completions, batches, responses, legacy completions."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from toplist.io.producers.base import FirstLook, Match, ProducedReader, Producer, Request, at_path
from toplist.io.producers.json_records import Record
from toplist.io.producers.servers import FAILED, REFUSED, WITHOUT, Server, open_answers
from toplist.io.producers.tokens import Position, Token

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
        response = record["response"]
        if record.get("error") or not response or response.get("status_code", _STATUS_OK) != _STATUS_OK:
            return FAILED
        record = response["body"]
    if "output" in record:
        return _of_response(record)
    if record.get("error") and not record.get("choices"):
        return FAILED
    choices = record["choices"]
    if not choices:
        return WITHOUT
    return of_choice(choices[0])


def of_choice(choice: Record) -> Sequence[Position] | str:
    """The positions of a choice of a chat completion, or of a legacy completion."""
    logprobs = choice.get("logprobs")
    if not logprobs:
        return REFUSED if at_path(choice, "message.refusal") else WITHOUT
    if "tokens" in logprobs:
        return _legacy(logprobs)
    content = logprobs.get("content")
    if not content:
        return REFUSED if logprobs.get("refusal") or at_path(choice, "message.refusal") else WITHOUT
    return [position_of(one) for one in content]


def position_of(entry: Record, top: str = "top_logprobs") -> Position:
    """A generated token with those listed in its place."""
    return Position(entry.get("token"), [token_of(one) for one in entry.get(top) or ()])


def token_of(entry: Record) -> Token:
    """A listed token."""
    raw = entry.get("bytes")
    return Token(entry["token"], entry.get("logprob"), entry.get("id"), None if raw is None else bytes(raw))


def _of_response(record: Record) -> Sequence[Position] | str:
    if record.get("error"):
        return FAILED
    parts = [part for one in record["output"] for part in one.get("content") or ()]
    found = [position_of(entry) for part in parts for entry in part.get("logprobs") or ()]
    if found:
        return found
    return REFUSED if any(part.get("type") == "refusal" for part in parts) else WITHOUT


def _legacy(logprobs: Record) -> Sequence[Position] | str:
    """Lists by text, the sampled token first: it may be smaller than all that belong to the list."""
    lists = logprobs.get("top_logprobs")
    if not lists:
        return WITHOUT
    found = []
    for sampled, top in zip(logprobs["tokens"], lists, strict=True):
        entries = sorted((top or {}).items(), key=lambda pair: (pair[0] != sampled, -_number(pair[1])))
        found.append(Position(sampled, [Token(text, value) for text, value in entries]))
    return found


def _number(value: float | None) -> float:
    return -math.inf if value is None else value


def joined(records: Iterator[tuple[int, Record]]) -> Iterator[tuple[int, Record]]:
    """Chunks of a stream with the same id as one record; everything else as it is."""
    row, whole = 0, None
    for at, record in records:
        if whole is not None and (not _is_chunk(record) or record.get("id") != whole["id"]):
            yield row, whole
            whole = None
        if not _is_chunk(record):
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
    return list(at_path(record, "choices.0.logprobs.content") or ())


def _note(record: Record) -> str:
    body = at_path(record, "response.body") or record
    choices = body.get("choices") or ()
    if len(choices) > 1:
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
