"""Answers of Gemini: `candidates[].logprobsResult`, also as its Python library and its batches write it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from toplist.io.producers import fields
from toplist.io.producers.base import ProducedReader, Producer, Request
from toplist.io.producers.json_records import Record
from toplist.io.producers.servers import FAILED, REFUSED, WITHOUT, Server, open_answers
from toplist.io.producers.tokens import Position, Token

_REMEDY = "Ask for them: responseLogprobs=True and logprobs=20 in the generation config."


def positions_of(record: Record) -> Sequence[Position] | str:
    """The positions of a response, or of a line of a batch."""
    if "response" in record or "error" in record or "status" in record:
        if record.get("error") or record.get("status") or not record.get("response"):
            return FAILED
        return fields.within(record, "response", _of_response)
    return _of_response(record)


def _of_response(response: Any) -> Sequence[Position] | str:
    if fields.items(response, "candidates"):
        return fields.within(response, "candidates.0", _of_candidate)
    return REFUSED if fields.at(response, _either(response, "promptFeedback", "prompt_feedback")) else WITHOUT


def _of_candidate(candidate: Any) -> Sequence[Position] | str:
    result = _either(candidate, "logprobsResult", "logprobs_result")
    if fields.at(candidate, result) is not None:
        found = fields.within(candidate, result, _of_result)
        if found:
            return found
    reason = str(fields.at(candidate, _either(candidate, "finishReason", "finish_reason")))
    return REFUSED if any(word in reason for word in ("SAFETY", "PROHIBITED", "BLOCKLIST", "RECITATION")) else WITHOUT


def _of_result(result: Any) -> Sequence[Position]:
    listed = _either(result, "topCandidates", "top_candidates")
    sampled = _either(result, "chosenCandidates", "chosen_candidates")
    lists = fields.each(result, listed, lambda top: fields.each(top, "candidates", _token))
    if not fields.items(result, sampled):
        return [Position(None, top) for top in lists]
    fields.as_many(result, sampled, listed)
    texts = fields.each(result, sampled, lambda one: fields.text(one, "token"))
    return [Position(text, top) for text, top in zip(texts, lists, strict=True)]


def _token(entry: Any) -> Token:
    return Token(
        fields.text(entry, "token"),
        fields.number(entry, _either(entry, "logProbability", "log_probability")),
        fields.whole(entry, _either(entry, "tokenId", "token_id")),
    )


def _either(record: Any, name: str, other: str) -> str:
    """The name of a field as the API has it, or as the library does."""
    return other if fields.at(record, name) is None else name


def _open(request: Request) -> ProducedReader:
    return open_answers(request, Server(positions_of, _REMEDY, own_ids=("responseId", "response_id")))


PRODUCER = Producer(_open, options=("answers", "position"))
