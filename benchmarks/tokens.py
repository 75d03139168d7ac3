"""Chat completions with their top tokens, as JSON Lines, against `json.loads` and a loop."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

import toplist as tl
from benchmarks.baselines import chat_lists
from benchmarks.race import Race
from toplist.io.producers import load
from toplist.io.producers.base import Request

TOP = 20
ANSWERS = tl.AnswerSpace("ABCD")
WORDS = ["A", " A", "B", " B", "C", " C", "D", " D", "The", "I", "<think>", "**", "Answer", " answer", "Based", "To"]


def make(path: Path, cases: int, positions: int) -> Path:
    """Chat completions as OpenAI writes them, with the twenty most probable tokens at each position."""
    rng = np.random.default_rng(0)
    words = [*WORDS, *(f" word{at}" for at in range(50))]
    raw = [list(word.encode()) for word in words]
    with path.open("w", encoding="utf-8") as file:
        for case in range(cases):
            content = []
            weights = -np.sort(-rng.dirichlet(np.full(2 * TOP, 0.3), positions), axis=1)[:, :TOP]
            for logs in np.log(np.maximum(weights, 1e-30)).astype(np.float32).tolist():
                chosen = rng.permutation(len(words))[:TOP].tolist()
                top = [{"token": words[i], "logprob": x, "bytes": raw[i]} for i, x in zip(chosen, logs, strict=True)]
                content.append({**top[0], "top_logprobs": top})
            message = {"role": "assistant", "content": "A", "refusal": None}
            logprobs = {"content": content, "refusal": None}
            choice = {"index": 0, "message": message, "logprobs": logprobs, "finish_reason": "stop"}
            record = {"id": f"chatcmpl-{case}", "object": "chat.completion", "model": "m", "choices": [choice]}
            file.write(json.dumps({**record, "question_id": f"q{case}", "target": "ABCD"[case % 4]}) + "\n")
    return path


def chat_completions_against_json_loads(race: Race) -> None:
    """Both make the same lists over four answers and OTHER, from the first position of each completion."""
    answer_of = {token: answer for answer, tokens in ANSWERS.variants.items() for token in map(str, tokens)}
    options = tl.ReadOptions(answers=ANSWERS)
    for positions, cases, least in ((1, 20_000, 1.3), (4, 8_000, 2), (32, 1_000, 4)):
        path = make(race.folder / f"{positions}.jsonl", race.size(cases), positions)

        def ours(path: Path = path) -> list[Any]:
            reader = load("openai").open(Request(path.name, options, (path,)))
            return [piece.table for piece in reader.pieces(["case", "classes", "confidences"])]

        def theirs(path: Path = path) -> dict[str, dict[str, float]]:
            return chat_lists(path, answer_of, len(ANSWERS.answers))

        require_equal(ours(), theirs())
        what = f"{positions} position{'s' if positions > 1 else ''}"
        race(f"reading chat completions of {what}, top 20: times as fast as json.loads", ours, theirs, at_least=least)


def require_equal(ours: list[Any], theirs: dict[str, dict[str, float]]) -> None:
    """The same lists, but for the rounding of single precision that ours knows of."""
    found = {
        row["case"]: dict(zip(row["classes"], row["confidences"], strict=True))
        for one in ours
        for row in one.to_pylist()
    }
    assert found.keys() == theirs.keys()
    for case, made in found.items():
        assert made.keys() == theirs[case].keys()
        np.testing.assert_allclose([made[k] for k in made], [theirs[case][k] for k in made], atol=1e-7)


BENCHMARKS = (chat_completions_against_json_loads,)
