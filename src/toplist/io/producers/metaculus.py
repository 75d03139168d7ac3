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

from toplist._text import argument, listed, quote
from toplist.errors import FileError
from toplist.io.producers.base import CLUSTER, N_CLASSES, OUTCOME
from toplist.io.producers.cases import Cases, reading
from toplist.io.producers.records import Record, rows_in
from toplist.io.readers.first_look import FirstLook

QUESTIONS = "question_data.csv"
_ID, _KIND, _PROBABILITIES = "Question ID", "Question Type", "Probability Yes Per Category"
_START, _END, _CLOSE, _RESOLUTION = "Start Time", "End Time", "Actual Close Time", "Resolution"
_ALL, _CURRENT = "MC Options (All)", "MC Options (Current)"  # probabilities are aligned with all
_NAMES = ("Forecaster Username", "Forecaster (Anonymized)", "Forecaster ID")
_UNRESOLVED = ("", "annulled", "ambiguous")


@dataclass(frozen=True, slots=True)
class _Question:
    record: Record
    every: tuple[str, ...]  # options that there ever were
    options: tuple[str, ...]  # those that are left, the last of which stands for all others

    @property
    def close(self) -> str:
        return str(self.record.value.get(_CLOSE, ""))


def _read(cases: Cases) -> None:
    questions: dict[str, _Question] = {}
    forecasts: dict[str, list[Record]] = defaultdict(list)  # by question
    forecasters, column = Counter[str](), ""
    for path in cases.request.paths:
        questions |= _questions(path.with_name(QUESTIONS))
        for at, record in enumerate(rows_in(path)):
            row = record.value
            if not at:
                column = next((name for name in _NAMES if name in row), _NAMES[0])
                _require((_ID, _START, _PROBABILITIES, column), record, "forecasts")
            if row[_ID] not in questions or not row[_PROBABILITIES]:
                cases.count("forecast", "not used, since it is not about multiple choice")
            elif cases.conditions.keep(row):
                forecasters[row[column] or row.get("Forecaster ID", "")] += 1
                forecasts[row[_ID]].append(record)
    cases.conditions.require_met()
    if not forecasters:
        raise FileError(cases.request.name, "there is no forecast of a multiple-choice question here.")
    if len(forecasters) > 1:
        raise _several(cases, forecasters, column)
    cases.complete = True
    for number, records in forecasts.items():
        last = _last(cases, records, questions[number].close)
        if last is not None:
            _add(cases, last, number, questions[number])


def _require(columns: Sequence[str], record: Record, what: str) -> None:
    lacks = next((name for name in columns if name not in record.value), None)
    if lacks is not None:
        raise FileError(record.source, f"there is no column {quote(lacks)}, which {what} of Metaculus have.")


def _several(cases: Cases, forecasters: Counter[str], column: str) -> FileError:
    """The error about the forecasts of several models."""
    names, path = [name for name, _ in forecasters.most_common()], cases.request.paths[0]
    return FileError(
        cases.request.name,
        f"it has the forecasts of {len(names):,} forecasters and aggregates ({listed(names, 6)}), each a model of its "
        f"own. Say which, {argument('where', f'{column}={names[0]}')}, as in toplist compare a={path} b={path} --where "
        f"'a={column}={names[0]}' --where 'b={column}={names[1]}'.",
    )


def _last(cases: Cases, records: list[Record], close: str) -> Record | None:
    """The last forecast of a question before it closed, if it still stood then."""
    before = [record for record in records if not close or record.value[_START] <= close]
    late, withdrawn = len(records) - len(before), "withdrawn before it closed: left out"
    cases.count("forecast", "made after the question closed, and left out", late)
    if not before:
        return None
    cases.count("forecast", "not used: of several for a question the last before it closed counts", len(before) - 1)
    last = max(before, key=lambda record: str(record.value[_START]))
    gone = bool(close and last.value.get(_END) and last.value[_END] < close)
    cases.count("question", f"with a forecast that was {withdrawn}", gone)
    return None if gone else last


def _add(cases: Cases, record: Record, number: str, question: _Question) -> None:
    numbers = _literal(record, _PROBABILITIES)
    if len(numbers) != len(question.every):
        raise record.error(f"{len(numbers)} probabilities for {len(question.every)} options of question {number}.")
    mass = dict(zip(question.every, numbers, strict=True))
    p = {option: float(mass[option]) for option in question.options if mass[option] is not None}
    removed = [float(mass[option]) for option in mass if option not in question.options and mass[option] is not None]
    last, later = question.options[-1], len(p) < len(question.options)
    if removed:
        p[last] = p.get(last, 0.0) + sum(removed)
    if later:
        p.pop(last, None)
    cases.count("forecast", "with mass on options that were removed: it is added to the last option", bool(removed))
    cases.count(
        "forecast",
        "from before some options came: these share the mass of the last option with it, which Metaculus counts in "
        "full for each",
        later,
    )
    resolution, post = question.record.value[_RESOLUTION], question.record.value.get("Post ID")
    resolved = resolution not in _UNRESOLVED
    if resolved and resolution not in question.options:
        problem = f"question {number} is resolved as {quote(resolution)}, which is none of its options."
        raise FileError(question.record.source, problem)
    cases.count("question", "not resolved, and without an outcome", not resolved)
    known = {OUTCOME: resolution if resolved else None, N_CLASSES: len(question.options), CLUSTER: post or number}
    cases.add(record, number, list(p), list(p.values()), **known)


def _questions(path: Path) -> dict[str, _Question]:
    """The multiple-choice questions of a download."""
    if not path.is_file():
        raise FileError(str(path), "there is no such file: the options and resolutions of questions are in it.")
    questions = {}
    for at, record in enumerate(rows_in(path)):
        if not at:
            _require((_ID, _KIND, _RESOLUTION, _ALL, _CURRENT), record, "questions")
        if record.value[_KIND] == "multiple_choice":
            every, options = (tuple(map(str, _literal(record, column))) for column in (_ALL, _CURRENT))
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
