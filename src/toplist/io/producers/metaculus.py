"""Metaculus: multiple-choice questions of a data download, `forecast_data.csv` with `question_data.csv` beside it.

A case is a question, and each forecaster, or method of aggregation, is a model. Of several forecasts for a question
the last before it closed counts. Probabilities are aligned with all options that there ever were; None stands where an
option was not offered. The mass of the last option (Other) is left unlisted where options came later: it stood for
them.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from toplist._files import need
from toplist._text import argument, listed, quote
from toplist.errors import FileError
from toplist.io.conditions import RecordConditions
from toplist.io.producers.base import (
    CLUSTER,
    N_CLASSES,
    OUTCOME,
    Match,
    ProducedReader,
    Producer,
    Request,
    Row,
    batches_of,
    columns_of,
)
from toplist.io.producers.entries import rows_in
from toplist.io.readers.base import FirstLook

QUESTIONS = "question_data.csv"
_ID, _KIND, _PROBABILITIES = "Question ID", "Question Type", "Probability Yes Per Category"
_START, _END, _CLOSE, _RESOLUTION = "Start Time", "End Time", "Actual Close Time", "Resolution"
_ALL = ("MC Options (All)", "MC Options")  # what probabilities are aligned with; older downloads have one column only
_CURRENT = ("MC Options (Current)", *_ALL)
_NAMES = ("Forecaster Username", "Forecaster (Anonymized)", "Forecaster ID")
_CHOICE = "multiple_choice"
_UNRESOLVED = ("", "annulled", "ambiguous")


@dataclass(frozen=True, slots=True)
class _Question:
    every: tuple[str, ...]  # options that there ever were
    options: tuple[str, ...]  # those that are left, the last of which stands for all others
    resolution: str
    close: str
    post: str


@dataclass(frozen=True, slots=True)
class _Forecast:
    row: int | None
    path: Path
    start: str
    end: str
    probabilities: str


def _open(request: Request) -> ProducedReader:
    made = _Download(RecordConditions(request.options.where, request.name))
    for path in request.paths:
        made.read(path)
    made.conditions.require_met()
    made.require_one(request)
    pa = need("pyarrow")
    columns = columns_of(**{OUTCOME: pa.string(), N_CLASSES: pa.int64(), CLUSTER: pa.string()})
    batches = list(batches_of(list(made.rows()), columns))
    return ProducedReader(request.name, lambda: iter(batches), columns, request.paths, tuple(made.notes()))


@dataclass
class _Download:
    """The forecasts of one model, as they are read."""

    conditions: RecordConditions
    questions: dict[str, _Question] = field(default_factory=dict)
    forecasts: dict[str, list[_Forecast]] = field(default_factory=dict)  # by question
    forecasters: Counter[str] = field(default_factory=Counter)
    column: str = _NAMES[0]
    counts: Counter[str] = field(default_factory=Counter)

    def read(self, path: Path) -> None:
        """The forecasts of a file that are about multiple choice and fulfil the conditions."""
        self.questions |= _questions(path.with_name(QUESTIONS))
        rows = list(rows_in(path))
        names = rows[0].value if rows else ()
        lacks = next((name for name in (_ID, _START, _PROBABILITIES) if name not in names), None)
        self.column = next((name for name in _NAMES if name in names), "")
        if lacks is not None or not self.column:
            raise FileError(
                str(path), f"there is no column {quote(lacks or _NAMES[0])}, which forecasts of Metaculus have."
            )
        for record in rows:
            row = record.value
            if row[_ID] not in self.questions or not row[_PROBABILITIES]:
                self.counts["other"] += 1
            elif self.conditions.hold(row):
                who = row[self.column] or row.get("Forecaster ID", "")
                self.forecasters[who] += 1
                one = _Forecast(record.row, path, row[_START], row.get(_END, ""), row[_PROBABILITIES])
                self.forecasts.setdefault(row[_ID], []).append(one)

    def require_one(self, request: Request) -> None:
        """The forecasts are those of one forecaster, or of one aggregate."""
        if not self.forecasters:
            raise FileError(request.name, "there is no forecast of a multiple-choice question here.")
        if len(self.forecasters) == 1:
            return
        first, second = [name for name, _ in self.forecasters.most_common(2)]
        path = request.paths[0]
        raise FileError(
            request.name,
            f"it has the forecasts of {len(self.forecasters):,} forecasters and aggregates "
            f"({listed([name for name, _ in self.forecasters.most_common()], 6)}), each a model of its own. Say which, "
            f"{argument('where', f'{self.column}={first}')}, as in toplist compare a={path} b={path} --where "
            f"'a={self.column}={first}' --where 'b={self.column}={second}'.",
        )

    def rows(self) -> Iterator[tuple[str, Row]]:
        """The last forecast of each question before it closed, if it still stood then."""
        for number, forecasts in self.forecasts.items():
            question = self.questions[number]
            before = [one for one in forecasts if not question.close or one.start <= question.close]
            self.counts["late"] += len(forecasts) - len(before)
            if not before:
                continue
            last = max(before, key=lambda one: one.start)
            self.counts["earlier"] += len(before) - 1
            if last.end and question.close and last.end < question.close:
                self.counts["withdrawn"] += 1
                continue
            yield str(last.path), self._row(number, question, last)

    def _row(self, number: str, question: _Question, forecast: _Forecast) -> Row:
        given = _literal(forecast.probabilities, forecast.path, forecast.row, _PROBABILITIES)
        if len(given) != len(question.every):
            raise FileError(
                str(forecast.path),
                f"{len(given)} probabilities for {len(question.every)} options of question {number}.",
                row=forecast.row,
            )
        mass = dict(zip(question.every, given, strict=True))
        last = question.options[-1]
        gone = [float(p) for option, p in mass.items() if option not in question.options and p is not None]
        listed_ = {option: float(mass[option]) for option in question.options if mass[option] is not None}
        later = len(question.options) - len(listed_)
        if gone:
            self.counts["removed"] += 1
            listed_[last] = listed_.get(last, 0.0) + sum(gone)
        if later:
            self.counts["later"] += 1
            listed_.pop(last, None)
        resolved = question.resolution not in _UNRESOLVED
        if resolved and question.resolution not in question.options:
            raise FileError(
                str(forecast.path.with_name(QUESTIONS)),
                f"question {number} is resolved as {quote(question.resolution)}, which is none of its options.",
            )
        self.counts["unresolved"] += not resolved
        known = {OUTCOME: question.resolution if resolved else None, N_CLASSES: len(question.options)}
        return Row(number, list(listed_), list(listed_.values()), {**known, CLUSTER: question.post or number})

    def notes(self) -> Iterator[str]:
        """What is to be said of the forecasts."""
        told = {
            "earlier": "forecasts are not used: of several for a question the last before it closed counts",
            "late": "forecasts were made after their question closed, and are left out",
            "withdrawn": "questions are left out: the forecast was withdrawn before they closed",
            "other": "forecasts are not used: they are not about multiple choice",
            "unresolved": "questions are not resolved, and have no outcome",
            "removed": "forecasts give mass to options that were removed: it is added to the last option",
            "later": (
                "forecasts are from before some options came: these share the mass of the last option with it, which "
                "Metaculus counts in full for each"
            ),
        }
        for what, text in told.items():
            if self.counts[what]:
                yield f"{self.counts[what]:,} {text}"


def _questions(path: Path) -> dict[str, _Question]:
    """The multiple-choice questions of a download."""
    if not path.is_file():
        raise FileError(str(path), "there is no such file: the options and resolutions of questions are in it.")
    rows = list(rows_in(path))
    names = rows[0].value if rows else ()
    every, current = (next((name for name in known if name in names), "") for known in (_ALL, _CURRENT))
    lacks = next((name for name in (_ID, _KIND, _RESOLUTION) if name not in names), None if every else _ALL[0])
    if lacks is not None:
        raise FileError(str(path), f"there is no column {quote(lacks)}, which questions of Metaculus have.")
    found = {}
    for record in rows:
        row, number = record.value, record.row
        if row[_KIND] != _CHOICE:
            continue
        options = _options(row[current], path, number, current) or _options(row[every], path, number, every)
        ever = _options(row[every], path, number, every) or options
        if not options:
            raise FileError(str(path), f"question {row[_ID]} has no options.", row=number)
        found[row[_ID]] = _Question(ever, options, row[_RESOLUTION], row.get(_CLOSE, ""), row.get("Post ID", ""))
    return found


def _options(cell: str, path: Path, row: int | None, column: str) -> tuple[str, ...]:
    return tuple(map(str, _literal(cell, path, row, column))) if cell else ()


def _literal(cell: str, path: Path, row: int | None, column: str) -> Sequence[Any]:
    """A list as Python writes it, which is how the download has it."""
    try:
        value = ast.literal_eval(cell)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        value = None
    numbers = isinstance(value, list | tuple) and all(isinstance(one, str | int | float | None) for one in value)
    if not numbers or (column == _PROBABILITIES and any(isinstance(one, str) for one in value)):
        raise FileError(str(path), f"{column} is {quote(cell)}, not a list.", row=row)
    found: Sequence[Any] = value
    return found


def _match(look: FirstLook, match: Match) -> Match | None:
    """Forecasts that have their questions beside them."""
    paths = tuple(path for path in match.paths if path.with_name(QUESTIONS).is_file())
    return Match(paths, f"{match.reason}, and {QUESTIONS} is beside it") if paths else None


PRODUCER = Producer(open=_open, match=_match, options=("where",), files_only=True)
