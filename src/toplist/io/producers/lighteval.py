"""lighteval: `details_{task}_{timestamp}.parquet`, with structs of the document, the response and the metrics.

A case is a document of a task, by its number in the task.
"""

from __future__ import annotations

import re
from collections import defaultdict
from pathlib import Path

from toplist._text import argument, listed, quote
from toplist.io.producers.cases import Cases, NoListsError, about, disagreement, reading
from toplist.io.producers.likelihoods import MEANINGS, ScoredChoices
from toplist.io.producers.records import Record, rows_in
from toplist.io.readers.first_look import FirstLook

_NAME = re.compile(r"details_(?P<task>.+)_(?P<date>\d{4}-\d\d-\d\dT[\d.-]+)\.parquet", re.IGNORECASE)
_COLUMNS = ("doc", "model_response", "metric")


def _read(cases: Cases) -> None:
    tasks: dict[str, list[Path]] = defaultdict(list)
    for path in cases.request.paths:
        name = _NAME.fullmatch(path.name)
        tasks[name["task"] if name else path.stem].append(path)
    for task, paths in tasks.items():
        cases.require_one(f"runs of the task {quote(task)}", [path.name for path in paths])
        with cases.task(task):
            for record in rows_in(paths[0], columns=_COLUMNS):
                if cases.conditions.keep({"task": task, **record.value}):
                    _add(cases, record, task)
    norm = cases.request.options.norm
    cases.notes.append(f"probabilities are {MEANINGS[norm]} ({argument('norm', norm)})")


def _add(cases: Cases, record: Record, task: str) -> None:
    """One document: log-likelihoods of its choices; those without the question stand behind them, or apart."""
    choices, values = record.items("doc.choices"), record.numbers("model_response.logprobs")
    n = len(choices)
    if n < 2 or len(values) not in (n, 2 * n):
        answered = "" if values else ": its answer was generated"
        raise NoListsError(f"{record.place} has {len(values)} log-likelihoods for {n} choices{answered}.")
    gold = record.at("doc.gold_index")
    golds = list(dict.fromkeys(gold)) if isinstance(gold, list) else [gold]
    if len(golds) != 1 or golds[0] not in range(n):
        raise NoListsError(f"the correct choice of {record.place}, {quote(gold)}, is not one of {n}.")
    tokens = [len(ids) if isinstance(ids, list) else 0 for ids in record.items("model_response.output_tokens")]
    scored = ScoredChoices(
        values[:n],
        [str(choice).removeprefix(" ") for choice in choices],
        tokens[:n] if len(tokens) >= n else None,
        values[n:] or record.numbers("model_response.unconditioned_logprobs") or None,
        record.error,
    )
    p, best = scored.probabilities(cases.request.options.norm), scored.best("none")
    names = list(map(str, range(n)))
    if why := disagreement(f"acc of {record.place}", record.at("metric.acc"), names[best], names[golds[0]]):
        raise NoListsError(f"{why}.")
    number = record.at("doc.id")
    case = f"{task}/{(record.row or 1) - 1 if number in (None, '') else number}"
    cases.add(record, case, names, p.tolist(), **about(names[golds[0]], n, case))


def _is_lighteval(look: FirstLook, path: Path) -> str:
    return f"it has the columns {listed(_COLUMNS)}" * ({*_COLUMNS} <= {*look.columns(path)})


PRODUCER = reading(_read, sees=_is_lighteval, options=("norm", "where"), files_only=True)
