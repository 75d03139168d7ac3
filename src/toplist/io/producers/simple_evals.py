"""simple-evals of OpenAI: its files hold sums over all questions, which are no predictions."""

from __future__ import annotations

from pathlib import Path

from toplist.io.producers.base import Match, Producer
from toplist.io.producers.entries import matched, refusal
from toplist.io.readers.base import FirstLook

_WHOLE = {"score", "metrics", "htmls", "convos"}  # keys of NAME_allresults.json
_SUMS = {"score", "chars"}  # keys of NAME.json, beside others that are numbers, too


def _match(look: FirstLook, match: Match) -> Match | None:
    return matched(match, lambda path: _reason(look, path))


def _reason(look: FirstLook, path: Path) -> str:
    record = look.first(path)
    if not isinstance(record, dict):
        return ""
    if record.keys() >= _WHOLE:
        return "it has score, metrics, htmls and convos"
    numbers = all(isinstance(value, int | float) for value in record.values())
    sums = numbers and record.keys() >= _SUMS and any(key.endswith(":std") for key in record)
    return "it has score, chars and standard deviations, and nothing but numbers" if sums else ""


PRODUCER = Producer(
    open=refusal(
        "simple-evals stores scores over all questions, and conversations as text: neither answers by question nor "
        "probabilities. Run the same questions with inspect_ai or lm-evaluation-harness, whose logs are read, or save "
        "the responses of the server with logprobs."
    ),
    match=_match,
)
