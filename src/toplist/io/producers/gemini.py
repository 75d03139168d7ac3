"""Answers of Gemini: `candidates[].logprobsResult`, also as its Python library and its batches write it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from toplist.io.producers.base import ProducedReader, Producer, Request, at_path
from toplist.io.producers.json_records import Record
from toplist.io.producers.servers import FAILED, REFUSED, WITHOUT, Server, open_answers
from toplist.io.producers.tokens import Position, Token

_REMEDY = "Ask for them: responseLogprobs=True and logprobs=20 in the generation config."


def positions_of(record: Record) -> Sequence[Position] | str:
    """The positions of a response, or of a line of a batch."""
    if "response" in record or "error" in record or "status" in record:
        if record.get("error") or record.get("status") or not record.get("response"):
            return FAILED
        record = record["response"]
    candidates = record.get("candidates")
    if not candidates:
        return REFUSED if _either(record, "promptFeedback", "prompt_feedback") else WITHOUT
    result = _either(candidates[0], "logprobsResult", "logprobs_result")
    lists = result and _either(result, "topCandidates", "top_candidates")
    if not lists:
        reason = str(_either(candidates[0], "finishReason", "finish_reason"))
        return (
            REFUSED if any(word in reason for word in ("SAFETY", "PROHIBITED", "BLOCKLIST", "RECITATION")) else WITHOUT
        )
    chosen = _either(result, "chosenCandidates", "chosen_candidates") or [{}] * len(lists)
    return [
        Position(one.get("token"), [_token(listed) for listed in top.get("candidates") or ()])
        for one, top in zip(chosen, lists, strict=True)
    ]


def _token(entry: Record) -> Token:
    return Token(
        entry.get("token"), _either(entry, "logProbability", "log_probability"), _either(entry, "tokenId", "token_id")
    )


def _either(record: Record, name: str, other: str) -> Any:
    """A field as the API calls it, or as the library does."""
    value = at_path(record, name)
    return at_path(record, other) if value is None else value


def _open(request: Request) -> ProducedReader:
    return open_answers(request, Server(positions_of, _REMEDY, own_ids=("responseId", "response_id")))


PRODUCER = Producer(_open, options=("answers", "position"))
