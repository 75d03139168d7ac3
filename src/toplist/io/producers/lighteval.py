"""lighteval: `details_{task}_{timestamp}.parquet`, with structs of the document, the response and the metrics.

A case is a document of a task, by its number in the task.
"""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np

from toplist._text import argument, listed, quote
from toplist.errors import FileError, TopListError
from toplist.io.producers.cases import Cases, NoListsError, about, reading
from toplist.io.producers.likelihoods import MEANINGS, NormError, ScoredChoices
from toplist.io.producers.records import Record, rows_in
from toplist.io.readers.first_look import FirstLook

_NAME = re.compile(r"details_(?P<task>.+)_(?P<date>\d{4}-\d\d-\d\dT[\d.-]+)\.parquet", re.IGNORECASE)
_COLUMNS = ("doc", "model_response", "metric")


def _read(cases: Cases) -> None:
    tasks: dict[str, Path] = {}
    for path in cases.request.paths:
        name = _NAME.fullmatch(path.name)
        task = name["task"] if name else path.stem
        if task in tasks:
            problem = f"{tasks[task].name} and {path.name} are two runs of the task {quote(task)}: name one of them."
            raise FileError(cases.request.name, problem)
        tasks[task] = path
    norm = cases.request.options.norm
    for task, path in tasks.items():
        with cases.task(task):
            for record in rows_in(path):
                if not record.value.keys() >= set(_COLUMNS):
                    raise FileError(str(path), f"details of lighteval have the columns {listed(_COLUMNS)}.")
                if cases.conditions.keep({"task": task, **record.value}):
                    _add(cases, record, task)
    cases.notes.append(f"probabilities are {MEANINGS[norm]} ({argument('norm', norm)})")


def _add(cases: Cases, record: Record, task: str) -> None:
    """One document: log-likelihoods of its choices; those without the question stand behind them, or apart."""
    choices = record.items("doc.choices")
    values = record.numbers("model_response.logprobs")
    if not values:
        raise NoListsError(f"{record.place} has no log-likelihoods: its answer was generated.")
    if len(choices) < 2 or len(values) not in (len(choices), 2 * len(choices)):
        raise NoListsError(f"{record.place} has {len(values)} log-likelihoods for {len(choices)} choices.")
    gold = record.at("doc.gold_index")
    golds = list(dict.fromkeys(gold)) if isinstance(gold, list) else [gold]
    if len(golds) != 1:
        raise NoListsError(f"{record.place} has {len(golds)} correct choices.")
    if not isinstance(golds[0], int) or not 0 <= golds[0] < len(choices):
        raise NoListsError(f"{record.place} has the correct choice {quote(golds[0])} of {len(choices)}.")
    path = "model_response.output_tokens"
    tokens = [len(record.items(f"{path}.{at}")) for at in range(len(record.items(path)))]
    scored = ScoredChoices(
        values[: len(choices)],
        [str(choice).removeprefix(" ") for choice in choices],
        tokens[: len(choices)] if len(tokens) >= len(choices) else None,
        values[len(choices) :] or record.numbers("model_response.unconditioned_logprobs") or None,
    )
    try:
        p, best = scored.probabilities(cases.request.options.norm), int(np.argmax(scored.scores("none")))
    except NormError as error:
        raise NoListsError(str(error)) from None
    except TopListError as error:
        raise record.error(str(error)) from None
    hit = record.at("metric.acc")
    if hit in (0, 1) and hit != (best == golds[0]):
        raise NoListsError(
            f"acc of {record.place} is {hit:g}, but its correct choice is {'' if best == golds[0] else 'not '}the most "
            "probable one: the task counts something else."
        )
    names = [str(place) for place in range(len(choices))]
    own = record.at("doc.id")
    case = f"{task}/{(record.row or 1) - 1 if own in (None, '') else own}"
    cases.add(record, case, names, p.tolist(), **about(names[golds[0]], len(choices), case))


def _is_lighteval(look: FirstLook, path: Path) -> str:
    return f"it has the columns {listed(_COLUMNS)}" * ({*_COLUMNS} <= {*look.columns(path)})


PRODUCER = reading(_read, sees=_is_lighteval, options=("norm", "where"), files_only=True)
