"""Responses of language-model servers in their documented shapes, all with the same tokens."""

from __future__ import annotations

import math
from typing import Any

from tests.io.producers.token_oracle import Listed

Generated = list[tuple[str, list[Listed]]]  # sampled tokens, each with what was listed in its place


def entry(token: Listed) -> dict[str, Any]:
    raw = token.key if isinstance(token.key, bytes) else None
    return {"token": token.text, "logprob": token.logprob, "bytes": None if raw is None else list(raw)}


def content(generated: Generated) -> list[dict[str, Any]]:
    return [
        {**entry(Listed(text, -0.5, text.encode())), "top_logprobs": [entry(token) for token in top]}
        for text, top in generated
    ]


def chat(generated: Generated, **further: Any) -> dict[str, Any]:
    """A chat completion."""
    text = "".join(token for token, _ in generated)
    return {
        "id": "chatcmpl-B9MHDbslfkBeAs8l4bebGdFOJ6PeG",
        "object": "chat.completion",
        "created": 1741570283,
        "model": "gpt-4o-2024-08-06",
        "choices": [
            {
                "index": 0,
                "message": {"role": "assistant", "content": text, "refusal": None, "annotations": []},
                "logprobs": {"content": content(generated), "refusal": None},
                "finish_reason": "stop",
            }
        ],
        "usage": {"prompt_tokens": 9, "completion_tokens": 9, "total_tokens": 18},
        "service_tier": "default",
        **further,
    }


def chunks(generated: Generated, name: str) -> list[dict[str, Any]]:
    """The same as chunks of a stream."""
    return [
        {
            "id": name,
            "object": "chat.completion.chunk",
            "choices": [{"index": 0, "delta": {"content": one["token"]}, "logprobs": {"content": [one]}}],
        }
        for one in content(generated)
    ]


def batch(generated: Generated, custom_id: str) -> dict[str, Any]:
    """A line of the output of a batch."""
    body = chat(generated)
    return {
        "id": "batch_req_123",
        "custom_id": custom_id,
        "response": {"status_code": 200, "request_id": "req_123", "body": body},
        "error": None,
    }


def failed(custom_id: str) -> dict[str, Any]:
    """A request of a batch that failed."""
    error = {"code": "batch_expired", "message": "This request could not be executed before it expired."}
    return {"id": "batch_req_9", "custom_id": custom_id, "response": None, "error": error}


def response(generated: Generated, **further: Any) -> dict[str, Any]:
    """A response of the responses API."""
    part = {"type": "output_text", "text": "", "annotations": [], "logprobs": content(generated)}
    message = {"type": "message", "id": "msg_1", "status": "completed", "role": "assistant", "content": [part]}
    return {"id": "resp_1", "object": "response", "status": "completed", "error": None, "output": [message], **further}


def legacy(generated: Generated, **further: Any) -> dict[str, Any]:
    """A legacy completion: tokens by their text, of which the last wins."""
    logprobs = {
        "tokens": [text for text, _ in generated],
        "token_logprobs": [-0.5] * len(generated),
        "top_logprobs": [{token.text: token.logprob for token in top} for _, top in generated],
        "text_offset": [0] * len(generated),
    }
    choice = {"text": "", "index": 0, "logprobs": logprobs, "finish_reason": "length"}
    return {"id": "cmpl-1", "object": "text_completion", "choices": [choice], **further}


def sglang(generated: Generated, *, texts: bool = True, **further: Any) -> dict[str, Any]:
    """A response of SGLang's own API."""
    ids = {token.text: at for at, token in enumerate(t for _, top in generated for t in top)}
    about = {
        "id": "6c8f",
        "output_token_logprobs": [[-0.5, ids.get(text, 999), text if texts else None] for text, _ in generated],
        "output_top_logprobs": [
            [[token.logprob, ids[token.text], token.text if texts else None] for token in top] for _, top in generated
        ],
    }
    return {"text": "", "meta_info": about, **further}


def ollama(generated: Generated, **further: Any) -> dict[str, Any]:
    """A response of ollama, not streamed."""
    return {"model": "gemma3", "response": "", "done": True, "logprobs": content(generated), **further}


def ollama_chunks(generated: Generated, **further: Any) -> list[dict[str, Any]]:
    """The same as chunks: what is known of all tokens comes with the last one."""
    parts = [
        {"model": "gemma3", "response": one["token"], "done": False, "logprobs": [one]} for one in content(generated)
    ]
    return [*parts, {"model": "gemma3", "response": "", "done": True, "done_reason": "stop", **further}]


def llama_cpp(generated: Generated, *, after: bool = False, **further: Any) -> dict[str, Any]:
    """A completion of llama.cpp, before sampling or after it."""

    def one(token: Listed) -> dict[str, Any]:
        made = {"id": 7, **entry(token)}
        made["id"] = hash(token.text) % 100_000 if token.key is None else hash((token.text, token.key)) % 100_000
        if after:
            made["prob"] = 0.0 if token.logprob is None else math.exp(made.pop("logprob"))
        return made

    listed = [
        {**one(Listed(text, -0.5, None)), ("top_probs" if after else "top_logprobs"): [one(token) for token in top]}
        for text, top in generated
    ]
    return {"index": 0, "content": "", "stop": True, "completion_probabilities": listed, **further}


def gemini(generated: Generated, **further: Any) -> dict[str, Any]:
    """A response of Gemini."""

    def one(at: int, token: Listed) -> dict[str, Any]:
        return {"token": token.text, "tokenId": at, "logProbability": token.logprob}

    result = {
        "chosenCandidates": [{"token": text, "tokenId": 1, "logProbability": -0.5} for text, _ in generated],
        "topCandidates": [{"candidates": [one(at, token) for at, token in enumerate(top)]} for _, top in generated],
    }
    parts = {"parts": [{"text": ""}], "role": "model"}
    candidate = {"content": parts, "finishReason": "STOP", "logprobsResult": result}
    return {"candidates": [candidate], "modelVersion": "gemini-2.5-flash", **further}
