"""Outputs of vLLM in Python, and the JSON of its server, which is that of OpenAI.

`RequestOutput`, or the log-probabilities of each request: a list with one dictionary of `Logprob` by token id per
position, or `FlatLogprobs`, whose columns are the ragged layout of `TopTokens` and are not copied where they are
arrays. The sampled token comes first, and the most probable ones after it. Ranks tell whether it belongs to these.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from toplist._files import need
from toplist._text import quote
from toplist._typing import Ints
from toplist.errors import TopListError
from toplist.io.columns import offsets_of
from toplist.io.producers import openai
from toplist.io.producers.base import ProducedReader, Producer, Request
from toplist.io.producers.servers import open_answers, open_positions
from toplist.io.producers.tokens import Position, Positions, Token, joined_positions
from toplist.io.top_tokens import TopTokens

_REMEDY = "Ask for them: SamplingParams(logprobs=20)."


def positions_of(logprobs: Any) -> Positions:
    """The positions of one request."""
    if hasattr(logprobs, "token_ids") and hasattr(logprobs, "end_indices"):
        return _of_flat(logprobs)
    if not isinstance(logprobs, Sequence) or not all(one is None or isinstance(one, Mapping) for one in logprobs):
        raise TopListError(f"{quote(logprobs)} are no log-probabilities of vLLM, one dictionary per position.")
    return Positions.of([[_of_dictionary(one or {}) for one in logprobs]])


def _of_dictionary(listed: Mapping[int, Any]) -> Position:
    """A position, in the order of ranks where they are those of the most probable tokens and no other."""
    entries = [(token_id, one.logprob, one.rank, one.decoded_token) for token_id, one in listed.items()]
    sampled = entries[0][3] if entries else None
    ranks = [rank for _, _, rank, _ in entries if rank is not None]
    if sorted(ranks) == list(range(1, len(entries) + 1)):
        entries.sort(key=lambda entry: entry[2])
    return Position(sampled, [Token(text, value, token_id) for token_id, value, _, text in entries])


def _of_flat(flat: Any) -> Positions:
    """The columns as they are; those that are Python lists become arrays."""
    rows = flat.rows() if callable(getattr(flat, "rows", None)) else None
    if rows is not None:
        ids, logprobs = rows[0].reshape(-1), rows[1].reshape(-1)
        offsets = np.arange(len(rows[0]) + 1, dtype=np.int64) * rows[0].shape[1]
    else:
        ids, logprobs = np.asarray(flat.token_ids, np.int64), np.asarray(flat.logprobs)
        offsets = _offsets(flat)
    text = need("pyarrow").array(flat.decoded_tokens, "string")
    firsts = need("pyarrow").array(np.where(np.diff(offsets) > 0, offsets[:-1], -1))
    sampled = text.take(need("pyarrow.compute").if_else(need("pyarrow.compute").less(firsts, 0), None, firsts))
    return Positions(offsets_of(np.array([len(offsets) - 1])), sampled, TopTokens(offsets, text, logprobs, ids))


def _offsets(flat: Any) -> Ints:
    starts, ends = np.asarray(flat.start_indices, np.int64), np.asarray(flat.end_indices, np.int64)
    if len(starts) != len(ends) or not np.array_equal(starts[1:], ends[:-1]) or starts[:1].any():
        raise TopListError("FlatLogprobs has positions that do not follow each other.")
    return np.concatenate((np.zeros(1, np.int64), ends))


def _open(request: Request) -> ProducedReader:
    if request.paths:
        return open_answers(request, openai.SERVER)
    data = request.data
    every = [data] if hasattr(data, "outputs") or hasattr(data, "token_ids") else data
    if isinstance(every, Mapping | str | bytes) or not isinstance(every, Iterable):
        raise TopListError(f"{request.name}: give outputs of vLLM, one per case, not {quote(data)}.")
    outputs = list(every)
    if outputs and all(isinstance(one, Mapping) for one in outputs) and any("choices" in one for one in outputs):
        return open_answers(request, openai.SERVER)
    return open_positions(request, joined_positions([_output(one, request.name) for one in outputs]), _REMEDY)


def _output(one: Any, name: str) -> Positions:
    """The positions of a request, the first of its outputs."""
    if not hasattr(one, "outputs"):
        return positions_of(one)
    logprobs = one.outputs[0].logprobs if one.outputs else None
    if logprobs is None:
        raise TopListError(f"{name}: request {quote(getattr(one, 'request_id', ''))} has no logprobs. {_REMEDY}")
    return positions_of(logprobs)


PRODUCER = Producer(_open, options=("answers", "position"))
