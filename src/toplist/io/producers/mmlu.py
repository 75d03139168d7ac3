"""MMLU-style tables: the questions, and for each model columns `{model}_choiceA_probs`, `{model}_choiceB_probs`, ...

The script of the benchmark reads questions without a header, so that its results are headed `0,1,2,3,4,5` (question,
choices, answer), then `{model}_correct` and the probabilities. Tables without any header are read by their shape where
this producer is asked for by name. A case is a question, by a hash of its text and choices, and its subject: that of
the column `subject`, or each file of a folder. One file alone may be called after a model, and has no subject.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from toplist._text import argument, listed, quote
from toplist.errors import FileError
from toplist.io.producers.cases import Cases, Record, cells_of, number_of, reading
from toplist.io.producers.choices import about, letters

_PROBABILITIES = re.compile(r"(?P<model>.+)_choice(?P<letter>[A-Z])_probs?")
_ANSWERS = ("answer", "label", "target", "gold")
_HITS = {"true": True, "1": True, "1.0": True, "false": False, "0": False, "0.0": False}
_HASH = 16  # digits of the hash of a question in a case id
_ABSENT = 1e-30  # below this, a probability stands for a token that was not listed
_MODEL = "the model"  # of a table without a header


@dataclass(frozen=True, slots=True)
class _Columns:
    """Where in a row what stands: probabilities by model and letter, the answer, and whether each model was correct."""

    names: Sequence[str]  # of the header; none where there is none
    models: Mapping[str, Mapping[str, int]]
    answer: int
    correct: Mapping[str, int]
    question: Sequence[int]  # the text and the choices


def _columns(path: Path, first: Sequence[str]) -> _Columns:
    names = [cell.strip() for cell in first]
    models: dict[str, dict[str, int]] = {}
    for place, name in enumerate(names):
        if column := _PROBABILITIES.fullmatch(name):
            models.setdefault(column["model"], {})[column["letter"]] = place
    if not models:
        return _without_header(path, names)
    named = next((name for name in _ANSWERS if name in names), None)
    correct = {model: names.index(f"{model}_correct") for model in models if f"{model}_correct" in names}
    start = min(*correct.values(), *(place for places in models.values() for place in places.values()))
    if named is None and not all(name.isdigit() for name in names[:start]):
        known = " or ".join(map(quote, _ANSWERS))
        raise FileError(str(path), f"no column is called {known}: which one holds the correct answer?")
    answer = start - 1 if named is None else names.index(named)
    question = [place for place in range(start) if place != answer and names[place] != "subject"]
    return _Columns(names, models, answer, correct, question)


def _without_header(path: Path, row: Sequence[str]) -> _Columns:
    """The shape of the benchmark: question, k choices, answer, perhaps whether it is correct, and k probabilities."""
    for extra in (1, 0):
        k = (len(row) - 2 - extra) // 2
        fits = k >= 2 and len(row) == 2 * k + 2 + extra and row[k + 1].upper() in (*letters(k), *map(str, range(k)))
        if fits and (not extra or row[k + 2].lower() in _HITS) and all(map(_is_share, row[-k:])):
            places = {letter: len(row) - k + at for at, letter in enumerate(letters(k))}
            return _Columns([], {_MODEL: places}, k + 1, {_MODEL: k + 2} if extra else {}, range(k + 1))
    raise FileError(
        str(path),
        "no column is called NAME_choiceA_probs, and without a header this is not the shape of MMLU results: question, "
        "choices, answer, correct, and one probability per choice.",
    )


def _is_share(text: str) -> bool:
    number = number_of(text)
    return isinstance(number, float) and 0 <= number <= 1.01


def _read(cases: Cases) -> None:
    name, met = cases.request.name, Counter[str]()
    alone = name in map(str, cases.request.paths) or Path(name).is_file()
    for path in cases.request.paths:
        rows = list(cells_of(path))
        if not rows:
            raise FileError(str(path), "this file is empty.")
        columns = _columns(path, rows[0])
        file = "" if alone else path.name.partition(".")[0]
        for row, cells in enumerate(rows[bool(columns.names) :], 1):
            record = Record(str(path), row, [cell.strip() for cell in cells])
            if len(cells) != len(rows[0]):
                raise record.error(f"this row has not as many fields as the first, {len(rows[0])}.")
            fields = {"subject": file, **dict(zip(columns.names, record.value, strict=False))}
            models = list(columns.models)
            models = [models[at] for at in cases.conditions.keep(*({**fields, "model": one} for one in models))]
            if len(models) > 1:
                way = argument("where", f"model={models[0]}")
                problem = f"there are columns of {len(models)} models, {listed(models)}: choose one with {way}."
                raise FileError(str(path), problem)
            if models:
                cases.current = fields["subject"]
                question = "\0".join(cells[place] for place in columns.question)
                _add(cases, columns, record, models[0], question, met)
    cases.current = None


def _add(cases: Cases, columns: _Columns, record: Record, model: str, question: str, met: Counter[str]) -> None:
    """One question; a choice without a probability is not there, and a question that is there again has a number."""
    p: dict[str, float] = {}
    for letter, place in columns.models[model].items():
        text = record.value[place]
        if text and text.lower() != "nan":
            p[letter] = record.as_number(number_of(text), "the probability")
    answer, every = record.value[columns.answer].upper(), letters(len(columns.models[model]))
    outcome = every[int(answer)] if answer.isdecimal() and int(answer) < len(every) else answer
    if outcome not in p:
        raise record.error(f"the answer {quote(answer)} is none of {listed(list(p))}.")
    hit = _HITS.get(record.value[columns.correct[model]].lower()) if model in columns.correct else None
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
    unit = f"{cases.current}/{hashlib.sha256(question.encode()).hexdigest()[:_HASH]}".removeprefix("/")
    met[unit] += 1
    case = unit if met[unit] == 1 else f"{unit}/{met[unit]}"
    cases.add(record, case, list(p), list(p.values()), **about(outcome, len(p), unit))


PRODUCER = reading(_read, options=("where",), files_only=True)
