"""MMLU-style tables: the questions, and for each model columns `{model}_choiceA_probs`, `{model}_choiceB_probs`, ...

The script of the benchmark reads questions without a header, so that its results are headed `0,1,2,3,4,5` (question,
choices, answer), then `{model}_correct` and the probabilities. A case is a question, by a hash of its text and choices,
and its subject: that of the column `subject`, or each file of a folder. One file alone may be called after a model, and
has no subject.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from toplist._text import argument, listed, quote
from toplist.errors import FileError
from toplist.io.producers.cases import Cases, about, letters, reading
from toplist.io.producers.records import Record, number_of, rows_in

_PROBABILITIES = re.compile(r"(?P<model>.+)_choice(?P<letter>[A-Z])_probs?")
_ANSWERS = ("answer", "label", "target", "gold")
_HITS = {"true": True, "1": True, "1.0": True, "false": False, "0": False, "0.0": False}
_HASH = 16  # digits of the hash of a question in a case id
_ABSENT = 1e-30  # below this, a probability stands for a token that was not listed


def _read(cases: Cases) -> None:
    name, met = cases.request.name, Counter[str]()
    alone = name in map(str, cases.request.paths) or Path(name).is_file()
    for path in cases.request.paths:
        file = "" if alone else path.name.partition(".")[0]
        models: Mapping[str, Mapping[str, str]] = {}
        for record in rows_in(path):
            models = models or _models(record)
            answer, question = _answer_and_question(record, models)
            fields = {"subject": file, **record.value}
            views = ({**fields, "model": model} for model in models)
            kept = [list(models)[at] for at in cases.conditions.keep(*views)]
            if len(kept) > 1:
                way = argument("where", f"model={kept[0]}")
                problem = f"there are columns of {len(kept)} models, {listed(kept)}: choose one with {way}."
                raise FileError(str(path), problem)
            if kept:
                cases.current = fields["subject"].strip()
                unit = f"{cases.current}/{hashlib.sha256(question.encode()).hexdigest()[:_HASH]}".removeprefix("/")
                met[unit] += 1  # a question that is there again has a number
                case = unit if met[unit] == 1 else f"{unit}/{met[unit]}"
                outcome, p = _outcome_and_list(cases, record, models[kept[0]], answer, record.at(f"{kept[0]}_correct"))
                cases.add(record, case, list(p), list(p.values()), **about(outcome, len(p), unit))
    cases.current = None


def _models(record: Record) -> dict[str, dict[str, str]]:
    """The columns with probabilities, by model and letter."""
    models: dict[str, dict[str, str]] = {}
    for name in record.value:
        if column := _PROBABILITIES.fullmatch(name):
            models.setdefault(column["model"], {})[column["letter"]] = name
    if not models:
        raise FileError(record.source, "no column is called NAME_choiceA_probs: is the header missing?")
    return models


def _answer_and_question(record: Record, models: Mapping[str, Mapping[str, str]]) -> tuple[str, str]:
    """The correct answer, and the text and the choices, which stand before all that is about models."""
    columns = list(record.value)
    of_models = {column for places in models.values() for column in places.values()}
    of_models |= {f"{model}_correct" for model in models}
    first = next(at for at, name in enumerate(columns) if name in of_models)
    answer = next((name for name in _ANSWERS if name in columns), columns[first - 1] if first else "")
    if answer not in _ANSWERS and not all(name.isdigit() for name in columns[:first]):
        known = " or ".join(map(quote, _ANSWERS))
        raise FileError(record.source, f"no column is called {known}: which one holds the correct answer?")
    question = [record.value[name] for name in columns[:first] if name not in (answer, "subject")]
    return str(record.value.get(answer, "")).strip().upper(), "\0".join(question)


def _outcome_and_list(
    cases: Cases, record: Record, columns: Mapping[str, str], answer: str, correct: Any
) -> tuple[str, dict[str, float]]:
    """The letter of the answer, and the probabilities; a choice without one is not there."""
    texts = {letter: record.value[column].strip() for letter, column in columns.items()}
    there = {letter: text for letter, text in texts.items() if text and text.lower() != "nan"}
    p = {letter: record.as_number(number_of(text), "the probability") for letter, text in there.items()}
    every = letters(len(columns))
    outcome = every[int(answer)] if answer.isdecimal() and int(answer) < len(every) else answer
    if outcome not in p:
        raise record.error(f"the answer {quote(answer)} is none of {listed(list(p))}.")
    hit = _HITS.get(str(correct).strip().lower())
    best = [letter for letter in p if p[letter] == max(p.values())]
    if hit is not None and hit != (outcome in best) and len(best) == 1:
        raise record.error(
            f"the model is marked as {'correct' if hit else 'wrong'}, the answer is {outcome}, and {best[0]} is most "
            "probable: these are not the columns of one question."
        )
    if min(p.values()) < _ABSENT:
        cases.count(
            "question",
            f"with a probability below {_ABSENT:g}: it stands for a letter that was not among the listed tokens, and "
            "is no forecast of the model",
        )
    return outcome, p


PRODUCER = reading(_read, options=("where",), files_only=True)
