"""What servers of language models answer, as typed records, and where each has the positions with their top tokens.

A record of each server gives its positions; or FAILED, REFUSED or WITHOUT, where it has none. What it says is noted for
the whole file. Fields that are not named here are skipped.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Annotated, Any

import numpy as np
from msgspec import Meta, Struct

from toplist._text import quote
from toplist.errors import TopListError
from toplist.io.producers.base import ProducedReader, Producer, Request, at_path
from toplist.io.producers.servers import Found, Record, Say, Server, open_answers
from toplist.io.producers.tokens import FAILED, REFUSED, WITHOUT, Byte, FieldError, Position, Token, Whole, typed

_COLLAPSED = (
    "legacy completions list tokens by their text: of tokens with the same text only one is there, and the probability "
    "of the others is lost. Chat completions list all"
)
_AFTER_SAMPLING = (
    "probabilities after sampling (post_sampling_probs) are those of the sampler, with its temperature and cut-offs, "
    "not of the model"
)
_CHUNK = "is a chunk of a stream: ask for whole responses"
_BLOCKED = re.compile("SAFETY|PROHIBITED|BLOCKLIST|RECITATION")


_Entry = tuple[float | None, Whole | None, str | None]  # the log-probability, id and text of a token


def _position(sampled: str | None, entries: Iterable[_Entry]) -> Position:
    """A position; a token whose text a server leaves out is called `token_id:7`."""
    tokens = [Token(f"token_id:{key}" if text is None else text, value, key) for value, key, text in entries]
    return Position(sampled, tokens)


def _require_as_many(path: str, values: Sequence[Any], other: str, lists: Sequence[Any]) -> None:
    if len(values) != len(lists):
        raise FieldError(path, f"should have {len(lists):,} elements, as many as {other}, not {len(values):,}")


def _whole(record: Record) -> tuple[Any, str]:
    return record, ""


def _read(record: Record, say: Say, kind: Any, body: Callable[[Record], tuple[Any, str]] = _whole) -> Found:
    """The positions of a record; `body` says where the response stands in it, or None where the request failed."""
    response, path = body(record)
    return FAILED if response is None else typed(response, kind, path).positions(say)


# OpenAI, and servers that follow it


class _Logprobs(Struct):
    content: list[Position] | None = None
    refusal: Any = None
    tokens: list[str] | None = None  # this and the next one of legacy completions
    top_logprobs: list[dict[str, float | None] | None] | None = None

    def legacy(self) -> list[Position]:
        """Lists by text, with the sampled token in front, which may be smaller than all that belong to the list."""
        tokens, lists = self.tokens or [], self.top_logprobs or []
        if lists:
            _require_as_many("choices[0].logprobs.top_logprobs", lists, "tokens", tokens)
        positions = []
        for sampled, listed in zip(tokens, lists, strict=False):
            entries = sorted((listed or {}).items(), key=lambda entry: -math.inf if entry[1] is None else -entry[1])
            entries.sort(key=lambda entry: entry[0] != sampled)
            positions.append(Position(sampled, [Token(*entry) for entry in entries]))
        return positions


class _Message(Struct):
    refusal: Any = None


class _Choice(Struct):
    logprobs: _Logprobs | None = None
    message: _Message | None = None


class _Part(Struct):
    type: Any = None
    logprobs: list[Position] | None = None


class _Output(Struct):
    content: list[_Part] | None = None


class _OpenAI(Struct):
    choices: list[_Choice] | None = None
    output: list[_Output] | None = None  # of the responses API
    error: Any = None
    object: Any = None

    def positions(self, say: Say) -> Found:
        if self.object == "chat.completion.chunk":
            raise FieldError("", f"{_CHUNK} (without stream=True)")
        if self.error and not self.choices:
            return FAILED
        if self.output is not None:
            parts = [part for output in self.output for part in output.content or ()]
            listed = [position for part in parts for position in part.logprobs or ()]
            return listed or (REFUSED if any(part.type == "refusal" for part in parts) else WITHOUT)
        if self.choices is None:
            raise FieldError("choices", "is missing")
        if len(self.choices) > 1:
            say("responses have several choices: the first one is read")
        choice = self.choices[0] if self.choices else _Choice()
        logprobs = choice.logprobs or _Logprobs()
        if logprobs.tokens is not None:
            say(_COLLAPSED)
            return logprobs.legacy() or WITHOUT
        refused = logprobs.refusal or (choice.message and choice.message.refusal)
        return logprobs.content or (REFUSED if refused else WITHOUT)


def _openai_body(record: Record) -> tuple[Any, str]:
    """The response in a line of a batch, or in a record of its own, and its path; None where the request failed."""
    if "custom_id" not in record or "response" not in record:
        return record, ""
    fine = not record.get("error") and at_path(record, "response.status_code") in (None, 200)
    return (at_path(record, "response.body") or {}) if fine and record["response"] else None, "response.body"


# Servers on a machine of one's own


class _Sampled(Struct):
    token: str
    prob: Annotated[float, Meta(ge=0)]
    id: Whole | None = None
    bytes: list[Byte] | None = None


class _LlamaPosition(Position):
    top_probs: list[_Sampled] | None = None  # in place of top_logprobs, after sampling


class _Local(Struct):
    logprobs: list[Position] | None = None  # of ollama
    completion_probabilities: list[_LlamaPosition] | None = None  # of llama.cpp
    error: Any = None
    done: Any = True
    stop: Any = True

    def positions(self, say: Say) -> Found:
        if self.done is False or self.stop is False:
            raise FieldError("", f'{_CHUNK} ("stream": false)')
        for position in self.completion_probabilities or ():
            if position.top_probs is not None:
                say(_AFTER_SAMPLING)
                position.top_logprobs = [
                    Token(token.token, math.log(token.prob) if token.prob else None, token.id, token.bytes)
                    for token in position.top_probs
                ]
        return FAILED if self.error else self.logprobs or self.completion_probabilities or WITHOUT


class _MetaInfo(Struct):
    output_top_logprobs: list[list[_Entry] | None] | None = None
    output_token_logprobs: list[_Entry] | None = None


class _SGLang(Struct):
    meta_info: _MetaInfo

    def positions(self, say: Say) -> Found:
        lists = self.meta_info.output_top_logprobs or []
        sampled = self.meta_info.output_token_logprobs or [(None, None, None)] * len(lists)
        if lists:
            _require_as_many("meta_info.output_token_logprobs", sampled, "meta_info.output_top_logprobs", lists)
        return [_position(text, top or ()) for (_, _, text), top in zip(sampled, lists, strict=False)] or WITHOUT


# Gemini


class _GeminiToken(Struct, rename="camel"):
    token: str | None = None
    token_id: Whole | None = None
    log_probability: float | None = None


class _Top(Struct):
    candidates: list[_GeminiToken] | None = None


class _Result(Struct, rename="camel"):
    top_candidates: list[_Top] | None = None
    chosen_candidates: list[_GeminiToken] | None = None


class _GeminiCandidate(Struct, rename="camel"):
    logprobs_result: _Result | None = None
    finish_reason: Any = None


class _Gemini(Struct, rename="camel"):
    candidates: list[_GeminiCandidate] | None = None
    prompt_feedback: Any = None

    def positions(self, say: Say) -> Found:
        if not self.candidates:
            return REFUSED if self.prompt_feedback is not None else WITHOUT
        result = self.candidates[0].logprobs_result or _Result()
        lists = [top.candidates or [] for top in result.top_candidates or ()]
        chosen = (result.chosen_candidates or ()) if lists else ()  # alone they are no lists
        sampled = [token.token for token in chosen] or [None] * len(lists)
        _require_as_many("candidates[0].logprobsResult.chosenCandidates", sampled, "topCandidates", lists)
        blocked = _BLOCKED.search(str(self.candidates[0].finish_reason))
        return [
            _position(text, [(token.log_probability, token.token_id, token.token) for token in tokens])
            for text, tokens in zip(sampled, lists, strict=True)
        ] or (REFUSED if blocked else WITHOUT)


def _gemini_body(record: Record) -> tuple[Any, str]:
    if not any(name in record for name in ("response", "error", "status")):
        return _camel(record), ""
    failed = record.get("error") or record.get("status") or not record.get("response")
    return None if failed else _camel(record["response"]), "response"


def _camel(value: Any) -> Any:
    """Names as the API writes them, where the library wrote them in its own way."""
    if isinstance(value, Mapping):
        return {re.sub("_([a-z])", lambda at: at[1].upper(), str(key)): _camel(one) for key, one in value.items()}
    return [_camel(one) for one in value] if isinstance(value, list) else value


# vLLM in Python; the JSON of its server is that of OpenAI


def _vllm(record: Record, say: Say) -> Found:
    """The positions of a request, in the first of its outputs: `RequestOutput`, or the log-probabilities alone."""
    logprobs = output = record[_OUTPUT]
    if hasattr(output, "outputs"):
        logprobs = output.outputs[0].logprobs if output.outputs else None
        if logprobs is None:
            raise FieldError("", f"has no logprobs. {_VLLM.remedy.rstrip('.')}")
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
    return _position(sampled, [(one.logprob, key, one.decoded_token) for key, one in entries])


def _from_columns(flat: Any) -> list[Position]:
    """The positions of `FlatLogprobs`, whose columns are lists, or matrices with a row for each position."""
    if callable(getattr(flat, "rows", None)):
        ids, logprobs = flat.rows()[:2]
        ends = np.arange(1, len(ids) + 1) * ids.shape[1]
        ids, logprobs, starts = ids.reshape(-1), logprobs.reshape(-1), ends - ids.shape[1]
    else:
        columns = (flat.token_ids, flat.logprobs, flat.start_indices, flat.end_indices)
        ids, logprobs, starts, ends = map(np.asarray, columns)
    entries = list(zip(logprobs.tolist(), ids.tolist(), flat.decoded_tokens, strict=True))
    return [
        _position(flat.decoded_tokens[start] if start < end else None, entries[start:end])
        for start, end in zip(starts.tolist(), ends.tolist(), strict=True)
    ]


OPENAI = Server(
    partial(_read, kind=_OpenAI, body=_openai_body),
    "Ask for them: logprobs=True and top_logprobs=20 for chat completions, logprobs=5 for legacy completions, "
    'include=["message.output_text.logprobs"] and top_logprobs=20 for responses. Reasoning models give none.',
    own_ids=("id",),
)
_SERVERS = {
    "sglang": Server(
        partial(_read, kind=_SGLang),
        "Ask for them: return_logprob=True, top_logprobs_num=20, and return_text_in_logprobs=True for their texts.",
        own_ids=("text", "index"),
    ),
    "ollama": Server(
        partial(_read, kind=_Local),
        'Ask for them: "logprobs": true and "top_logprobs": 20, with ollama 0.12.11 or later.',
    ),
    "llama-cpp": Server(partial(_read, kind=_Local), 'Ask for them: "n_probs": 20.', own_ids=("index", "id_slot")),
    "gemini": Server(
        partial(_read, kind=_Gemini, body=_gemini_body),
        "Ask for them: responseLogprobs=True and logprobs=20 in the generation config.",
        own_ids=("responseId", "response_id"),
    ),
}
_SERVERS["gemini-batch"] = _SERVERS["gemini"]
_OUTPUT = "output"
_VLLM = Server(_vllm, "Ask for them: SamplingParams(logprobs=20).", own_ids=(_OUTPUT,))
_OPTIONS = ("answers", "position")


def _open_vllm(request: Request) -> ProducedReader:
    if request.paths:
        return open_answers(request, OPENAI)
    data = request.data
    every = [data] if hasattr(data, "outputs") or hasattr(data, "token_ids") else data
    if isinstance(every, Mapping | str | bytes) or not isinstance(every, Iterable):
        raise TopListError(f"{request.name}: give outputs of vLLM, one per case, not {quote(data)}.")
    outputs = list(every)
    if any(isinstance(output, Mapping) and "choices" in output for output in outputs):
        return open_answers(replace(request, data=outputs), OPENAI)
    return open_answers(replace(request, data=[{_OUTPUT: output} for output in outputs]), _VLLM)


PRODUCERS = {
    **{
        f"openai{kind}": Producer(partial(open_answers, server=OPENAI), options=_OPTIONS)
        for kind in ("", "-batch", "-responses", "-legacy")
    },
    **{name: Producer(partial(open_answers, server=one), options=_OPTIONS) for name, one in _SERVERS.items()},
    "vllm": Producer(_open_vllm, options=_OPTIONS),
}
