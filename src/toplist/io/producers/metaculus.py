"""Metaculus: multiple-choice questions of a data download, `forecast_data.csv` with `question_data.csv` beside it.

A case is a question, and each forecaster, or method of aggregation, is a model. Of several forecasts for a question
the last before it closed counts. Probabilities are aligned with all options that there ever were; None stands where an
option was not offered. The mass of the last option (Other) is left unlisted where options came later: it stood for
them.
"""

from __future__ import annotations

import ast
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from toplist._text import listed, quote
from toplist.errors import FileError
from toplist.io.producers.base import CLUSTER, N_CLASSES, OUTCOME
from toplist.io.producers.cases import Cases, reading
from toplist.io.producers.records import Record, rows_in
from toplist.io.readers.first_look import FirstLook

QUESTIONS = "question_data.csv"
_ID, _KIND, _PROBABILITIES = "Question ID", "Question Type", "Probability Yes Per Category"
_START, _END, _CLOSE, _RESOLUTION = "Start Time", "End Time", "Actual Close Time", "Resolution"
_ALL, _CURRENT = "MC Options (All)", "MC Options (Current)"  # probabilities are aligned with all
_FORECASTER = "Forecaster ID"
_NAMES = ("Forecaster Username", "Forecaster (Anonymized)")
_UNRESOLVED = ("", "annulled", "ambiguous")


@dataclass(frozen=True, slots=True)
class _Question:
    record: Record
    every: Sequence[str]  # options that there ever were
    options: Sequence[str]  # those that are left, the last of which stands for all others


def _read(cases: Cases) -> None:
    questions: dict[str, _Question] = {}
    forecasts: dict[str, list[Record]] = defaultdict(list)  # by question
    forecasters, column = Counter[str](), ""
    for path in cases.request.paths:
        questions |= _questions(path.with_name(QUESTIONS))
        for record in rows_in(path, columns=(_ID, _FORECASTER, _START, _PROBABILITIES)):
            row = record.value
            if row[_ID] not in questions or not row[_PROBABILITIES]:
                cases.count("forecast", "not used, since it is not about multiple choice")
            elif cases.conditions.keep(row):
                column = next((name for name in _NAMES if name in row), _FORECASTER)
                forecasters[row[column] or row[_FORECASTER]] += 1
                forecasts[row[_ID]].append(record)
    cases.conditions.require_met()
    if not forecasters:
        raise FileError(cases.request.name, "there is no forecast of a multiple-choice question here.")
    cases.require_one("forecasters and aggregates", [name for name, _ in forecasters.most_common()], column)
    cases.complete = True
    for number, records in forecasts.items():
        close = questions[number].record.value.get(_CLOSE, "")
        before = [record for record in records if not close or record.value[_START] <= close]
        late = len(records) - len(before)
        cases.count("forecast", "made after the question closed, and left out", late)
        if before:
            note = "not used: of several for a question the last before it closed counts"
            cases.count("forecast", note, len(before) - 1)
            last = max(before, key=lambda record: str(record.value[_START]))
            if close and last.value.get(_END) and last.value[_END] < close:
                cases.count("question", "with a forecast that was withdrawn before it closed: left out")
            else:
                _add(cases, last, number, questions[number])


def _add(cases: Cases, record: Record, number: str, question: _Question) -> None:
    numbers, options = _literal(record, _PROBABILITIES), question.options
    if len(numbers) != len(question.every):
        raise record.error(f"{len(numbers)} probabilities for {len(question.every)} options of question {number}.")
    mass = {option: float(p) for option, p in zip(question.every, numbers, strict=True) if p is not None}
    p = {option: mass[option] for option in options if option in mass}
    removed = [mass[option] for option in mass if option not in options]
    later = len(p) < len(options)
    if removed:
        p[options[-1]] = p.get(options[-1], 0.0) + sum(removed)
        cases.count("forecast", "with mass on options that were removed: it is added to the last option")
    if later:
        p.pop(options[-1], None)
        cases.count(
            "forecast",
            "from before some options came: these share the mass of the last option with it, which Metaculus counts in "
            "full for each",
        )
    resolution, post = question.record.value[_RESOLUTION], question.record.value.get("Post ID")
    resolved = resolution not in _UNRESOLVED
    if resolved and resolution not in options:
        raise question.record.error(f"question {number} is resolved as {quote(resolution)}, none of its options.")
    cases.count("question", "not resolved, and without an outcome", not resolved)
    known = {OUTCOME: resolution if resolved else None, N_CLASSES: len(options), CLUSTER: post or number}
    cases.add(record, number, list(p), list(p.values()), **known)


def _questions(path: Path) -> dict[str, _Question]:
    """The multiple-choice questions of a download."""
    if not path.is_file():
        raise FileError(str(path), "there is no such file: the options and resolutions of questions are in it.")
    questions = {}
    for record in rows_in(path, columns=(_ID, _KIND, _RESOLUTION, _ALL, _CURRENT)):
        if record.value[_KIND] == "multiple_choice":
            every, options = (list(map(str, _literal(record, column))) for column in (_ALL, _CURRENT))
            if not options:
                raise record.error(f"question {record.value[_ID]} has no options.")
            questions[record.value[_ID]] = _Question(record, every, options)
    return questions


def _literal(record: Record, column: str) -> Sequence[Any]:
    """A list as Python writes it, which is how the download has it."""
    kinds = int | float | None if column == _PROBABILITIES else str | int | float | None
    try:
        value = ast.literal_eval(record.value[column])
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        value = None
    if not isinstance(value, list | tuple) or not all(isinstance(item, kinds) for item in value):
        raise record.error(f"{column} is {quote(record.value[column])}, not a list.")
    return value


def _is_metaculus(look: FirstLook, path: Path) -> str:
    """Forecasts that have their questions beside them."""
    columns = listed([_ID, _PROBABILITIES])
    return f"it has the columns {columns}, and {QUESTIONS} is beside it" * path.with_name(QUESTIONS).is_file()


PRODUCER = reading(_read, sees=_is_metaculus, options=("where",), files_only=True)
