"""Outputs of vLLM in Python, and the JSON of its server, which is that of OpenAI.

`RequestOutput`, or the log-probabilities of each request: a list with one dictionary of `Logprob` by token id per
position, or `FlatLogprobs`, with the same in columns. The sampled token comes first, and the most probable ones after
it. Ranks tell whether it belongs to these.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from toplist._text import quote
from toplist.errors import TopListError
from toplist.io.producers.base import ProducedReader, Producer, Request
from toplist.io.producers.responses import OPENAI
from toplist.io.producers.servers import Say, Server, open_answers
from toplist.io.producers.tokens import FieldError, Position, Token, named

_REMEDY = "Ask for them: SamplingParams(logprobs=20)."


def _read(output: Any, say: Say) -> list[Position]:
    """The positions of a request, in the first of its outputs."""
    logprobs = output
    if hasattr(output, "outputs"):
        logprobs = output.outputs[0].logprobs if output.outputs else None
        if logprobs is None:
            raise FieldError("", f"has no logprobs. {_REMEDY.rstrip('.')}")
    if hasattr(logprobs, "token_ids") and hasattr(logprobs, "end_indices"):
        return _from_columns(logprobs)
    if not isinstance(logprobs, Sequence) or not all(one is None or isinstance(one, Mapping) for one in logprobs):
        raise FieldError("", f"should be log-probabilities, one dictionary per position, not {quote(logprobs)}")
    return [_from_dictionary(listed or {}) for listed in logprobs]


def _from_dictionary(listed: Mapping[int, Any]) -> Position:
    """A position, in the order of ranks where they are those of the most probable tokens and no other."""
    entries = list(listed.items())
    sampled = entries[0][1].decoded_token if entries else None
    if sorted(one.rank for one in listed.values() if one.rank is not None) == list(range(1, len(entries) + 1)):
        entries.sort(key=lambda entry: entry[1].rank)
    return Position(sampled, [Token(named(one.decoded_token, key), one.logprob, key) for key, one in entries])


def _from_columns(flat: Any) -> list[Position]:
    """The positions of `FlatLogprobs`, whose columns are lists, or matrices with a row for each position."""
    if callable(getattr(flat, "rows", None)):
        ids, logprobs = flat.rows()[:2]
        ends = np.arange(1, len(ids) + 1) * ids.shape[1]
        ids, logprobs, starts = ids.reshape(-1), logprobs.reshape(-1), ends - ids.shape[1]
    else:
        ids, logprobs, starts, ends = map(
            np.asarray, (flat.token_ids, flat.logprobs, flat.start_indices, flat.end_indices)
        )
    entries = zip(flat.decoded_tokens, logprobs.tolist(), ids.tolist(), strict=True)
    tokens = [Token(named(text, token_id), value, token_id) for text, value, token_id in entries]
    return [
        Position(flat.decoded_tokens[start] if start < end else None, tokens[start:end])
        for start, end in zip(starts.tolist(), ends.tolist(), strict=True)
    ]


def _open(request: Request) -> ProducedReader:
    if request.paths:
        return open_answers(request, OPENAI)
    data = request.data
    every = [data] if hasattr(data, "outputs") or hasattr(data, "token_ids") else data
    if isinstance(every, Mapping | str | bytes) or not isinstance(every, Iterable):
        raise TopListError(f"{request.name}: give outputs of vLLM, one per case, not {quote(data)}.")
    outputs = list(every)
    if any(isinstance(one, Mapping) and "choices" in one for one in outputs):
        return open_answers(request, OPENAI, outputs)
    return open_answers(request, Server(_read, _REMEDY), outputs)


PRODUCER = Producer(_open, options=("answers", "position"))
