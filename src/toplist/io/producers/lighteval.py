"""lighteval: `details_{task}_{timestamp}.parquet`, with structs of the document, the response and the metrics.

Version 0.13 calls the columns `doc`, `model_response` and `metric`; its documentation writes `__doc__` and so on, which
is read as well. A case is a document of a task, by its number in the task.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from toplist._files import need
from toplist._text import argument, listed, quote
from toplist.errors import FileError, TopListError
from toplist.io.conditions import RecordConditions
from toplist.io.producers import fields
from toplist.io.producers.base import Match, ProducedReader, Producer, Request, Row
from toplist.io.producers.fields import FieldError
from toplist.io.producers.harness import Cases, NoListsError, known_of, require_files
from toplist.io.producers.likelihoods import MEANINGS, NormError, ScoredChoices
from toplist.io.readers.base import FirstLook, unreadable

_NAME = re.compile(r"details_(?P<task>.+)_(?P<date>\d{4}-\d\d-\d\dT[\d.-]+)\.parquet", re.IGNORECASE)
_COLUMNS = (("doc", "model_response", "metric"), ("__doc__", "__model_response__", "__metric__"))
_ROWS = 1024


def _columns(names: list[str]) -> tuple[str, str, str] | None:
    """What document, response and metrics are called."""
    return next((found for found in _COLUMNS if set(found) <= set(names)), None)


def _open(request: Request) -> ProducedReader:
    cases, conditions = Cases(request), RecordConditions(request.options.where, request.name)
    tasks: dict[str, Path] = {}
    for path in require_files(request):
        name = _NAME.fullmatch(path.name)
        task = name["task"] if name else path.stem
        if task in tasks:
            raise FileError(
                request.name,
                f"{tasks[task].name} and {path.name} are two runs of the task {quote(task)}: name one of them.",
            )
        tasks[task] = path
    for task, path in tasks.items():
        try:
            _add(cases, task, path, conditions)
        except NoListsError as error:
            cases.left_out[task] = str(error)
    conditions.require_met()
    return cases.reader()


def _add(cases: Cases, task: str, path: Path, conditions: RecordConditions) -> None:
    """The cases of one task."""
    norm, made, total = cases.request.options.norm, [], 0
    for row, record in enumerate(_records(path), 1):
        total += 1
        if conditions.hold({"task": task, **record}):
            try:
                made.append((str(path), _row(record, task, path, row, cases.request)))
            except FieldError as error:
                raise FileError(str(path), f"this is not as lighteval writes it: {error}.", row=row) from None
    if not made:
        raise NoListsError(f"none of {total:,} rows fulfils {conditions}." if total else "it has no rows.")
    cases.rows += made
    cases.notes.append(f"probabilities are {MEANINGS[norm]} ({argument('norm', norm)}).")
    if len(made) < total:
        cases.notes.append(f"task {quote(task)}: {len(made):,} of {total:,} rows fulfil {conditions}.")


def _records(path: Path) -> Iterator[Mapping[str, Any]]:
    pa, pq = need("pyarrow"), need("pyarrow.parquet")
    try:
        with pq.ParquetFile(path) as file:
            found = _columns(file.schema_arrow.names)
            if found is None:
                raise FileError(str(path), f"details of lighteval have the columns {listed(list(_COLUMNS[0]))}.")
            for batch in file.iter_batches(_ROWS, columns=list(found)):
                for record in batch.to_pylist():
                    yield {plain: record[name] for plain, name in zip(_COLUMNS[0], found, strict=True)}
    except (pa.ArrowException, OSError) as error:
        raise unreadable(error, path) from None


def _row(record: Mapping[str, Any], task: str, path: Path, row: int, request: Request) -> Row:
    """One document: log-likelihoods of its choices; those without the question stand behind them, or apart."""
    norm = request.options.norm
    choices, values = fields.items(record, "doc.choices"), fields.items(record, "model_response.logprobs")
    if not values:
        raise NoListsError(f"row {row:,} has no log-likelihoods: its answer was generated.")
    if len(choices) < 2 or len(values) not in (len(choices), 2 * len(choices)):
        raise NoListsError(f"row {row:,} has {len(values)} log-likelihoods for {len(choices)} choices.")
    gold = fields.at(record, "doc.gold_index")
    golds = list(dict.fromkeys(gold)) if isinstance(gold, list) else [gold]
    if len(golds) != 1:
        raise NoListsError(f"row {row:,} has {len(golds)} correct choices.")
    if not isinstance(golds[0], int) or not 0 <= golds[0] < len(choices):
        raise NoListsError(f"row {row:,} has the correct choice {quote(golds[0])} of {len(choices)}.")
    tokens = fields.each(record, "model_response.output_tokens", lambda one: len(fields.items(one, "")))
    numbers = fields.each(record, "model_response.logprobs", fields.known_number)
    scored = ScoredChoices(
        numbers[: len(choices)],
        [str(choice).removeprefix(" ") for choice in choices],
        tokens[: len(choices)] if len(tokens) >= len(choices) else None,
        numbers[len(choices) :]
        or fields.each(record, "model_response.unconditioned_logprobs", fields.known_number)
        or None,
    )
    try:
        p, best = scored.probabilities(norm), int(np.argmax(scored.scores("none")))
    except NormError as error:
        raise NoListsError(str(error)) from None
    except TopListError as error:
        raise FileError(str(path), str(error), row=row) from None
    hit = fields.at(record, "metric.acc")
    if hit in (0, 1) and hit != (best == golds[0]):
        raise NoListsError(
            f"acc of row {row:,} is {hit:g}, but its correct choice is {'' if best == golds[0] else 'not '}the most "
            "probable one: the task counts something else."
        )
    names = [str(place) for place in range(len(choices))]
    own = fields.at(record, "doc.id")
    case = f"{task}/{row - 1 if own in (None, '') else own}"
    return Row(case, names, p.tolist(), known_of(names[golds[0]], len(choices), task=task, unit=case))


def _match(look: FirstLook, match: Match) -> Match | None:
    """Details that have the three columns."""
    found = tuple(path for path in match.paths if _columns(look.columns(path)))
    names = listed([name for path in found[:1] for name in _columns(look.columns(path)) or ()])
    return Match(found, f"it has the columns {names}") if found else None


PRODUCER = Producer(open=_open, match=_match, options=("norm", "where"))
