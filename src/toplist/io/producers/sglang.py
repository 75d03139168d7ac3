"""Answers of SGLang's own API: `meta_info.output_top_logprobs`, a list of [log-probability, token id, text] each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from toplist.io.producers import fields
from toplist.io.producers.base import ProducedReader, Producer, Request
from toplist.io.producers.fields import FieldError
from toplist.io.producers.json_records import Record
from toplist.io.producers.servers import WITHOUT, Server, open_answers
from toplist.io.producers.tokens import Position, Token

_REMEDY = "Ask for them: return_logprob=True, top_logprobs_num=20, and return_text_in_logprobs=True for their texts."

_LISTS, _SAMPLED = "meta_info.output_top_logprobs", "meta_info.output_token_logprobs"


def positions_of(record: Record) -> Sequence[Position] | str:
    """The positions of a response; texts are null unless they were asked for."""
    if "meta_info" not in record:
        raise FieldError("meta_info", "should be an object, but is missing")
    lists = fields.each(record, _LISTS, lambda top: fields.each(top, "", _token))
    if not lists:
        return WITHOUT
    if fields.items(record, _SAMPLED):
        fields.as_many(record, _SAMPLED, _LISTS)
    sampled = fields.each(record, _SAMPLED, lambda one: _token(one).text) or [None] * len(lists)
    return [Position(text, top) for text, top in zip(sampled, lists, strict=True)]


def _token(listed: Any) -> Token:
    if not fields.is_list(listed) or len(listed) < 2:
        raise fields.expected("a list of a log-probability, a token id and a text", listed)
    return Token(fields.text(listed, "2"), fields.number(listed, "0"), fields.whole(listed, "1"))


def _open(request: Request) -> ProducedReader:
    return open_answers(request, Server(positions_of, _REMEDY, own_ids=("text", "index")))


PRODUCER = Producer(_open, options=("answers", "position"))
