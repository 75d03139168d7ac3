"""MMLU-style tables: the questions, and for each model columns `{model}_choiceA_probs`, `{model}_choiceB_probs`, ...

The script of the benchmark reads questions without a header, so that its results are headed `0,1,2,3,4,5` (question,
choices, answer), then `{model}_correct` and the probabilities. A case is a question, by a hash of its text and choices,
and its subject: that of the column `subject`, or each file of a folder. One file alone may be called after a model, and
has no subject.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from itertools import takewhile
from pathlib import Path

from toplist._text import listed, quote
from toplist.errors import FileError
from toplist.io.producers.cases import Cases, about, disagreement, letters, reading
from toplist.io.producers.records import Record, number_of, rows_in

_PROBABILITIES = re.compile(r"(?P<model>.+)_choice(?P<letter>[A-Z])_probs?")
_ANSWERS = ("answer", "label", "target", "gold")
_HITS = {"true": True, "1": True, "1.0": True, "false": False, "0": False, "0.0": False}
_HASH = 16  # digits of the hash of a question in a case id
_ABSENT = 1e-30  # below this, a probability stands for a token that was not listed
_LOW = (
    f"with a probability below {_ABSENT:g}: it stands for a letter that was not among the listed tokens, and is no "
    "forecast of the model"
)


def _read(cases: Cases) -> None:
    name = cases.request.name
    alone = name in map(str, cases.request.paths) or Path(name).is_file()
    for path in cases.request.paths:
        columns: tuple[Mapping[str, Mapping[str, str]], str, Sequence[str]] | None = None
        for record in rows_in(path):
            models, answer, of_question = columns = columns or _columns(record)
            fields = {"subject": "" if alone else path.name.partition(".")[0], **record.value}
            kept = [list(models)[at] for at in cases.conditions.keep(*({**fields, "model": model} for model in models))]
            cases.require_one("models", kept, "model")
            for model in kept:
                cases.current = fields["subject"].strip()
                text = "\0".join(record.value[column] for column in of_question)
                question = hashlib.sha256(text.encode()).hexdigest()[:_HASH]
                unit = f"{cases.current}/{question}".removeprefix("/")
                case = cases.numbered(question)
                p = _list_of(record, models[model])
                outcome = _outcome(record, model, answer, p, letters(len(models[model])))
                cases.count("question", _LOW, min(p.values()) < _ABSENT)
                cases.add(record, case, list(p), list(p.values()), **about(outcome, len(p), unit))
    cases.current = None


def _columns(record: Record) -> tuple[Mapping[str, Mapping[str, str]], str, Sequence[str]]:
    """The columns with probabilities by model and letter; of the answer; and of the text and the choices before it."""
    models: dict[str, dict[str, str]] = {}
    for name in record.value:
        if column := _PROBABILITIES.fullmatch(name):
            models.setdefault(column["model"], {})[column["letter"]] = name
    if not models:
        raise FileError(record.source, "no column is called NAME_choiceA_probs: is the header missing?")
    of_models = {*(f"{model}_correct" for model in models), *(name for of in models.values() for name in of.values())}
    before = list(takewhile(lambda name: name not in of_models, record.value))
    answer = next((name for name in _ANSWERS if name in record.value), "")
    if not answer and before and all(map(str.isdigit, before)):
        answer = before[-1]
    if not answer:
        known = " or ".join(map(quote, _ANSWERS))
        raise FileError(record.source, f"no column is called {known}: which one holds the correct answer?")
    return models, answer, [name for name in before if name not in (answer, "subject")]


def _list_of(record: Record, columns: Mapping[str, str]) -> dict[str, float]:
    """The probabilities by letter; a choice without one is not there."""
    texts = {letter: record.value[column].strip() for letter, column in columns.items()}
    there = {letter: text for letter, text in texts.items() if text and text.lower() != "nan"}
    return {letter: record.as_number(number_of(text), "the probability") for letter, text in there.items()}


def _outcome(record: Record, model: str, answer: str, p: Mapping[str, float], every: Sequence[str]) -> str:
    """The letter of the answer, which agrees with whether the model is marked as correct."""
    text = record.value[answer].strip().upper()
    outcome = every[int(text)] if text.isdecimal() and int(text) < len(every) else text
    if outcome not in p:
        raise record.error(f"the answer {quote(text)} is none of {listed(list(p))}.")
    correct = f"{model}_correct"
    hit = _HITS.get(record.value.get(correct, "").strip().lower())
    best = [letter for letter in p if p[letter] == max(p.values())]
    if len(best) == 1 and (why := disagreement(quote(correct), hit, best[0], outcome)):
        raise record.error(f"{why}.")
    return outcome


PRODUCER = reading(_read, options=("where",), files_only=True)
