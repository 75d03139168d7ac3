"""simple-evals of OpenAI: its files hold sums over all questions, which are no predictions."""

from __future__ import annotations

from typing import NoReturn

from toplist.errors import FileError
from toplist.io.producers.base import FirstLook, Match, Producer, Request

_WHOLE = {"score", "metrics", "htmls", "convos"}  # keys of NAME_allresults.json
_SUMS = {"score", "chars"}  # keys of NAME.json, beside others that are numbers, too


def _open(request: Request) -> NoReturn:
    raise FileError(
        request.name,
        "simple-evals stores scores over all questions, and conversations as text: neither answers by question nor "
        "probabilities. Run the same questions with inspect_ai or lm-evaluation-harness, whose logs are read, or save "
        "the responses of the server with logprobs.",
    )


def _match(look: FirstLook, match: Match) -> Match | None:
    for path in match.paths:
        record = look.first(path)
        if isinstance(record, dict) and (record.keys() >= _WHOLE or _is_sums(record)):
            keys = sorted(_WHOLE if record.keys() >= _WHOLE else _SUMS)
            return Match((path,), f"its keys are {', '.join(keys)} and no questions", match.notes)
    return None


def _is_sums(record: dict[str, object]) -> bool:
    numbers = all(isinstance(value, int | float) for value in record.values())
    return numbers and record.keys() >= _SUMS and any(key.endswith(":std") for key in record)


PRODUCER = Producer(open=_open, match=_match)
