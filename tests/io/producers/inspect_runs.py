"""Logs of inspect_ai, of a mock model that knows the answers to some degree.

`python -m tests.io.producers.inspect_runs FOLDER` writes `weak/` and `strong/`, two runs of a task in two epochs with
log-probabilities, and `odd/`, one log for each way in which they may differ. Nothing is downloaded.
"""

from __future__ import annotations

import hashlib
import json
import math
import sys
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
from inspect_ai import Task
from inspect_ai import eval as evaluate
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.log import read_eval_log
from inspect_ai.model import Logprob, Logprobs, ModelOutput, ModelUsage, TopLogprob, get_model
from inspect_ai.scorer import choice, match
from inspect_ai.solver import generate, multiple_choice

SAMPLES, EPOCHS = 15, 2
JUNK = {"<think>": -4.0, "The": -5.0, "**": -6.0}  # tokens of a chat model that are no answer


def samples(*, several: bool = False) -> list[Sample]:
    """Questions with three, four and five choices."""
    every = []
    for at in range(SAMPLES):
        letters = "ABCDE"[: 3 + at % 3]
        target: Any = letters[at * 7 % len(letters)]
        target = ["A", "B"] if several and at < 2 else target
        every.append(
            Sample(id=f"q{at}", input=f"Question {at}?", choices=[f"o{at}{one}" for one in letters], target=target)
        )
    return every


def answering(quality: float, form: str, top: int, known: dict[str, Sample], *, fails: bool = False) -> Any:
    """A function that answers in a form such as "ANSWER: {}", with the listed tokens of every position."""
    asked: dict[str, int] = {}

    def answer(messages: list[Any], tools: Any, tool_choice: Any, config: Any) -> ModelOutput:
        sample = next(one for question, one in known.items() if question in messages[-1].text)
        epoch = asked[sample.id] = asked.get(sample.id, 0) + 1
        if fails and sample.id == "q3":
            raise ValueError("this one fails")
        digest = hashlib.sha256(f"{sample.id}{epoch}{quality}".encode()).digest()
        draws = np.random.default_rng(int.from_bytes(digest[:8], "little"))
        letters = "ABCDE"[: len(sample.choices or ())]
        scores = {one: draws.normal() + quality * (one in sample.target) for one in letters}
        second = f" {letters[1].lower()}"  # a variant of the second letter: " a" is a word
        entries = {f" {one}": value for one, value in scores.items()} | {second: scores[letters[1]] - 3.0} | JUNK
        total = math.log(sum(map(math.exp, entries.values())) + 0.01)  # and a rest
        entries = {one: value - total for one, value in entries.items()}
        best = max(letters, key=lambda one: math.exp(scores[one]) * (1 + math.exp(-3.0) * (one == letters[1])))
        out = ModelOutput.from_content("mockllm/model", form.format(best))
        out.usage = ModelUsage(input_tokens=1, output_tokens=1, total_tokens=2)
        if top:
            listed = dict(sorted(entries.items(), key=lambda pair: -pair[1])[:top])
            words = form.format("").split()
            content = [
                Logprob(token=word, logprob=-0.01, top_logprobs=[TopLogprob(token=word, logprob=-0.01)])
                for word in words
            ]
            content.append(
                Logprob(
                    token=f" {best}",
                    logprob=entries[f" {best}"],
                    bytes=list(f" {best}".encode()),
                    top_logprobs=[TopLogprob(token=t, logprob=p, bytes=list(t.encode())) for t, p in listed.items()],
                )
            )
            out.choices[0].logprobs = Logprobs(content=content)
        return out

    return answer


def run(
    home: Path,
    place: str,
    *,
    name: str = "quiz",
    quality: float = 2.0,
    form: str = "ANSWER: {}",
    top: int = 20,
    epochs: int = 1,
    several: bool = False,
    fails: bool = False,
    solver: Any = None,
    scorer: Any = None,
    log_format: Any = "eval",
) -> None:
    """Write one log, and what inspect_ai reads of it."""
    every = samples(several=several)
    model = get_model(
        "mockllm/model",
        custom_outputs=answering(quality, form, top, {str(one.input): one for one in every}, fails=fails),
        memoize=False,
    )
    task = Task(
        dataset=MemoryDataset(every),
        solver=solver or multiple_choice(multiple_correct=several),
        scorer=scorer or choice(),
        name=name,
        fail_on_error=False,
    )
    logs = evaluate(
        task,
        model=model,
        epochs=epochs,
        log_dir=str(home / place),
        log_format=log_format,
        display="none",
        max_connections=1,
    )
    raw = home / "raw" / place / f"{name}.json"
    raw.parent.mkdir(exist_ok=True, parents=True)
    raw.write_text(json.dumps([seen(one) for one in read_eval_log(logs[0].location).samples or []]))


def seen(sample: Any) -> dict[str, Any]:
    """What inspect_ai itself reads of a sample."""
    logprobs = sample.output.choices[0].logprobs if sample.output.choices else None
    score = (sample.scores or {}).get("choice")
    return {
        "id": sample.id,
        "epoch": sample.epoch,
        "choices": len(sample.choices),
        "target": sample.target,
        "tokens": {one.token: one.logprob for one in logprobs.content[-1].top_logprobs} if logprobs else {},
        "answer": score.answer if score else None,
        "correct": score.value == "C" if score else None,
        "error": sample.error is not None,
    }


def main(home: Path) -> None:
    """Write all logs."""
    run(home, "weak", quality=1.0, epochs=EPOCHS)
    run(home, "strong", quality=3.0, epochs=EPOCHS)
    run(home, "odd/json", log_format="json")
    run(home, "odd/first_token", form="{}")
    run(home, "odd/labels", top=0, epochs=EPOCHS)
    run(home, "odd/no_answer", top=0, form="I would say {}")
    run(home, "odd/few_tokens", top=4)
    run(home, "odd/failing", fails=True)
    run(home, "odd/several", several=True)
    run(home, "odd/scorers", top=0, scorer=[choice(), match(location="end")])
    run(home, "odd/shuffled", solver=multiple_choice(shuffle=Random(1)))  # noqa: S311  a seed
    run(home, "odd/two_tasks", name="first", quality=1.0)
    run(home, "odd/two_tasks", name="second", quality=1.5)
    run(home, "odd/twice", quality=1.0)
    run(home, "odd/twice", quality=1.5)
    run(home, "odd/open", solver=generate(), scorer=match(), form="{}")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
