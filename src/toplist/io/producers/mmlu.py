"""MMLU-style tables: the questions, and for each model columns `{model}_choiceA_probs`, `{model}_choiceB_probs`, ...

The script of the benchmark reads questions without a header, so that its results are headed `0,1,2,3,4,5` (question,
choices, answer), then `{model}_correct` and the probabilities. Tables without any header are read by their shape where
this producer is asked for by name. A case is a question, by a hash of its text and choices, and its subject: that of
the column `subject`, or each file of a folder. One file alone may be called after a model, and has no subject.
"""

from __future__ import annotations

import csv
import hashlib
import io
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from toplist._text import argument, listed, quote
from toplist.errors import FileError
from toplist.io.conditions import RecordConditions
from toplist.io.producers.base import ProducedReader, Producer, Request, Row
from toplist.io.producers.entries import text_of
from toplist.io.producers.harness import Cases, known_of, letters, require_files

_PROBABILITIES = re.compile(r"(?P<model>.+)_choice(?P<letter>[A-Z])_probs?")
_ANSWERS = ("answer", "label", "target", "gold")
_HITS = {"true": True, "1": True, "1.0": True, "false": False, "0": False, "0.0": False}
_HASH = 16  # digits of the hash of a question in a case id
_ABSENT = 1e-30  # below this, a probability stands for a token that was not listed
_MODEL = "the model"  # of a table without a header


@dataclass(frozen=True, slots=True)
class _Table:
    """The columns of a file: probabilities by model and letter, the answer, and whether each model was correct."""

    path: Path
    header: Sequence[str]  # empty where there is none
    rows: Sequence[Sequence[str]]
    models: Mapping[str, Mapping[str, int]]
    answer: int
    correct: Mapping[str, int]
    question: Sequence[int]  # the text and the choices

    def field(self, name: str, row: Sequence[str], otherwise: str) -> str:
        """What stands in the column of a name, if there is one."""
        return row[self.header.index(name)].strip() if name in self.header else otherwise


def _table(path: Path) -> _Table:
    try:
        rows = [row for row in csv.reader(io.StringIO(text_of(path), newline=""), strict=True) if row]
    except csv.Error as error:
        raise FileError(str(path), f"this is no CSV: {error}.") from None
    if not rows:
        raise FileError(str(path), "this file is empty.")
    header = [name.strip() for name in rows[0]]
    models: dict[str, dict[str, int]] = {}
    for place, name in enumerate(header):
        if found := _PROBABILITIES.fullmatch(name):
            models.setdefault(found["model"], {})[found["letter"]] = place
    table = _with_header(path, header, rows[1:], models) if models else _without_header(path, rows)
    odd = next((at for at, row in enumerate(table.rows, 1) if len(row) != len(rows[0])), None)
    if odd is not None:
        raise FileError(str(path), f"this row has not as many fields as the first, {len(rows[0])}.", row=odd)
    return table


def _with_header(
    path: Path, header: list[str], rows: list[list[str]], models: Mapping[str, Mapping[str, int]]
) -> _Table:
    named = next((name for name in _ANSWERS if name in header), None)
    correct = {model: header.index(f"{model}_correct") for model in models if f"{model}_correct" in header}
    first = min(*correct.values(), *(place for one in models.values() for place in one.values()))
    if named is None and not all(name.isdigit() for name in header[:first]):
        raise FileError(
            str(path), f"no column is called {' or '.join(map(quote, _ANSWERS))}: which one holds the correct answer?"
        )
    answer = first - 1 if named is None else header.index(named)
    question = [place for place in range(first) if place != answer and header[place] != "subject"]
    return _Table(path, header, rows, models, answer, correct, question)


def _without_header(path: Path, rows: list[list[str]]) -> _Table:
    """The shape of the benchmark: question, k choices, answer, perhaps whether it is correct, and k probabilities."""
    width, row = len(rows[0]), [cell.strip() for cell in rows[0]]
    for extra in (1, 0):
        k = (width - 2 - extra) // 2
        fits = k >= 2 and width == 2 * k + 2 + extra and row[k + 1].upper() in (*letters(k), *map(str, range(k)))
        if fits and (not extra or row[k + 2].lower() in _HITS) and all(map(_is_share, row[-k:])):
            columns = {letter: width - k + at for at, letter in enumerate(letters(k))}
            return _Table(path, [], rows, {_MODEL: columns}, k + 1, {_MODEL: k + 2} if extra else {}, range(k + 1))
    raise FileError(
        str(path),
        "no column is called NAME_choiceA_probs, and without a header this is not the shape of MMLU results: question, "
        "choices, answer, correct, and one probability per choice.",
    )


def _is_share(text: str) -> bool:
    try:
        return 0 <= float(text) <= 1.01
    except ValueError:
        return False


def _open(request: Request) -> ProducedReader:
    cases, conditions, absent = Cases(request), RecordConditions(request.options.where, request.name), 0
    tables = [_table(path) for path in require_files(request)]
    alone = request.name in map(str, request.paths) or Path(request.name).is_file()
    for table in tables:
        for row, cells in enumerate(table.rows, 1):
            record = {name: cell.strip() for name, cell in zip(table.header, cells, strict=False)}
            subject = table.field("subject", cells, "" if alone else table.path.name.partition(".")[0])
            about = {"subject": subject, **record}
            kept = [name for name in table.models if conditions.hold({**about, "model": name})]
            if len(kept) > 1:
                raise FileError(
                    str(table.path),
                    f"there are columns of {len(kept)} models, {listed(kept)}: choose one with "
                    f"{argument('where', f'model={kept[0]}')}.",
                )
            if kept:
                made = _row(table, cells, kept[0], subject, row)
                cases.rows.append((str(table.path), made))
                absent += any(p < _ABSENT for p in made.confidences)
    conditions.require_met()
    if absent:
        cases.notes.append(
            f"in {absent:,} questions a probability is below {_ABSENT:g}: it stands for a letter that was not among "
            "the listed tokens, and is no forecast of the model."
        )
    total = sum(len(table.rows) for table in tables)
    if len(cases.rows) < total:
        cases.notes.append(f"{len(cases.rows):,} of {total:,} rows fulfil {conditions}.")
    _number(cases)
    return cases.reader(f"no row fulfils {conditions}." if total else "there are no rows.")


def _row(table: _Table, cells: Sequence[str], model: str, subject: str, row: int) -> Row:
    """One question; a choice without a probability is not there."""
    found: dict[str, float] = {}
    for letter, place in table.models[model].items():
        text = cells[place].strip()
        try:
            if text and text.lower() != "nan":
                found[letter] = float(text)
        except ValueError:
            raise FileError(str(table.path), f"the probability {quote(text)} is no number.", row=row) from None
    answer = cells[table.answer].strip().upper()
    every = letters(len(table.models[model]))
    outcome = every[int(answer)] if answer.isdigit() and int(answer) < len(every) else answer
    if outcome not in found:
        raise FileError(str(table.path), f"the answer {quote(answer)} is none of {listed(list(found))}.", row=row)
    hit = _HITS.get(cells[table.correct[model]].strip().lower()) if model in table.correct else None
    top = max(found.values())
    best = [letter for letter, p in found.items() if p == top]
    if hit is not None and (hit != (outcome in best)) and len(best) == 1:
        raise FileError(
            str(table.path),
            f"the model is marked as {'correct' if hit else 'wrong'}, the answer is {outcome}, and {best[0]} is most "
            "probable: these are not the columns of one question.",
            row=row,
        )
    question = "\0".join(cells[place] for place in table.question)
    digest = hashlib.sha256(question.encode()).hexdigest()[:_HASH]
    unit = f"{subject}/{digest}".removeprefix("/")
    return Row(unit, list(found), list(found.values()), known_of(outcome, len(found), task=subject, unit=unit))


def _number(cases: Cases) -> None:
    """A question that is there again has a number, too."""
    met: Counter[str] = Counter()
    for at, (source, row) in enumerate(cases.rows):
        met[row.case] += 1
        if met[row.case] > 1:
            cases.rows[at] = source, Row(f"{row.case}/{met[row.case]}", row.classes, row.confidences, row.known)


PRODUCER = Producer(open=_open, options=("where",))
