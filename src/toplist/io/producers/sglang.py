"""Answers of SGLang's own API: `meta_info.output_top_logprobs`, a list of [log-probability, token id, text] each."""

from __future__ import annotations

from collections.abc import Sequence

from toplist.io.producers.base import ProducedReader, Producer, Request
from toplist.io.producers.json_records import Record
from toplist.io.producers.servers import WITHOUT, Server, open_answers
from toplist.io.producers.tokens import Position, Token

_REMEDY = "Ask for them: return_logprob=True, top_logprobs_num=20, and return_text_in_logprobs=True for their texts."


def positions_of(record: Record) -> Sequence[Position] | str:
    """The positions of a response; texts are null unless they were asked for."""
    about = record["meta_info"]
    lists = about.get("output_top_logprobs")
    if not lists:
        return WITHOUT
    sampled = [one[2] for one in about.get("output_token_logprobs") or [(None, None, None)] * len(lists)]
    return [
        Position(text, [Token(listed[2], listed[0], listed[1]) for listed in top or ()])
        for text, top in zip(sampled, lists, strict=True)
    ]


def _open(request: Request) -> ProducedReader:
    return open_answers(request, Server(positions_of, _REMEDY, own_ids=("text", "index")))


PRODUCER = Producer(_open, options=("answers", "position"))
