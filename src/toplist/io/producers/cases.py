"""The engine of all producers that go through records: the table of lists that is made of the cases that they add.

A producer is one function that goes through records, adds a case for each list, and says what there is to say::

    def read(cases: Cases) -> None:
        for record in cases.records():
            if record.at("error"):
                cases.count("picture", "failed: missing cases")
            else:
                cases.add(record, record.text("file"), *record.entries(record.pairs("top", "label", "score")))

What a record should be and is not is an error with the file and the row. The engine applies conditions, counts, and
makes columns of what is known of the cases. Multiple-choice questions have letters for their choices.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np

from toplist._files import need
from toplist._text import argument, listed, quote
from toplist.errors import FileError, TopListError
from toplist.io.answers import OTHER
from toplist.io.producers.base import (
    ANSWER_MASS,
    CASE,
    CLASSES,
    CLUSTER,
    CONFIDENCES,
    GROUP,
    LISTED_TOKENS,
    N_CLASSES,
    OUTCOME,
    Match,
    ProducedReader,
    Producer,
    Request,
    columns_of,
    matched,
)
from toplist.io.producers.records import Record, elements, mappings, records_in
from toplist.io.readers.base import TableChunk
from toplist.io.readers.first_look import FirstLook
from toplist.io.readers.json_lines import MisfitError, as_array
from toplist.io.views import RecordConditions
from toplist.lists.rows import in_own_precision

SEQUENCE = "sequence"  # the text that a case is about
HARD = (
    "answers have no probabilities: each list is one class with probability 1, and the log score of a wrong one is "
    "infinite"
)
DIVIDED = "added up to slightly more than 1, because fastText adds 1e-5 to each probability: divided by the sum"
PER_LABEL = (
    "are a probability per label, not a distribution over classes: with the scores of all labels as a matrix P, a row "
    "per case and a column per label, make lists of label sets: "
    "toplist.multilabel.best_sets(P, k, toplist.LabelSets(labels))."
)
_ORDER = (OUTCOME, N_CLASSES, GROUP, CLUSTER)
_KINDS = {N_CLASSES: "int64", ANSWER_MASS: "float64", LISTED_TOKENS: "float64"}  # all others are text
_BATCH = 4096  # rows


class NoListsError(TopListError):
    """A task whose records are not about one correct choice of several; says why."""


@dataclass(slots=True)
class Cases:
    """The cases of all files, as a producer adds them, and what there is to say about them."""

    request: Request
    decimal: bool  # whether probabilities are those of the file, written as decimals, and not computed
    single: bool  # whether a program may have written them in single precision
    conditions: RecordConditions = field(init=False)
    rows: list[tuple[Record, dict[str, Any]]] = field(init=False, default_factory=list)  # columns by their names
    notes: list[str] = field(init=False, default_factory=list)
    counts: Counter[tuple[str, str]] = field(init=False, default_factory=Counter)
    left_out: dict[str, str] = field(init=False, default_factory=dict)  # tasks, and why
    complete: bool = field(init=False, default=False)  # whether groups and clusters that tell nothing apart stay
    current: str | None = field(init=False, default=None)  # the task that cases are added to
    met: Counter[str] = field(init=False, default_factory=Counter)  # questions

    def __post_init__(self) -> None:
        self.conditions = RecordConditions(self.request.options.where, self.request.name)

    def records(self) -> Iterator[Record]:
        """The values of all JSON files, or of an object in memory."""
        if not self.request.paths:
            yield from elements(self.request.name, self.request.data)
        for path in self.request.paths:
            yield from records_in(path)

    def objects(self) -> Iterator[Record]:
        """The same where every value is an object."""
        return mappings(self.records())

    @contextmanager
    def task(self, name: str) -> Iterator[None]:
        """What is added inside is of one task; nothing of it stays where it proves to have no lists."""
        rows, notes, counts, self.current = len(self.rows), len(self.notes), self.counts.copy(), name
        try:
            yield
        except NoListsError as error:
            del self.rows[rows:], self.notes[notes:]
            self.counts = counts
            self.left_out[name] = str(error)
        finally:
            self.current = None

    def require_one(self, what: str, names: Iterable[str], column: str = "") -> None:
        """Refuse files of several models or runs: a table is about one, which is named, or chosen by a column."""
        several = list(dict.fromkeys(names))
        if len(several) > 1:
            way = f"choose one with {argument('where', f'{column}={several[0]}')}" if column else "name one of them"
            raise FileError(self.request.name, f"there are {len(several):,} {what}, {listed(several, 6)}: {way}.")

    def numbered(self, question: str) -> str:
        """The case of a question of the current task; one that is there again has a number, too."""
        case = f"{self.current}/{question}" if self.current else question
        self.met[case] += 1
        return case if self.met[case] == 1 else f"{case}/{self.met[case]}"

    def add(
        self, record: Record, case: str, classes: Sequence[str], confidences: Sequence[float], /, **known: Any
    ) -> None:
        """A case: its list, and what is known of it."""
        of_task = {} if self.current is None else {GROUP: self.current}
        case_list = {CASE: case, CLASSES: list(classes), CONFIDENCES: list(confidences)}
        self.rows.append((replace(record, value=None), {**of_task, **known, **case_list}))  # its place is enough

    def say(self, note: str) -> None:
        """A note, about the current task where there is one."""
        self.notes.append(f"{_of_task(self.current or '')}{note}")

    def count(self, noun: str, note: str, number: int = 1) -> None:
        """Some more of what a note counts: `count("picture", "failed")` will say "2 pictures failed"."""
        self.counts[noun, note] += number

    def reader(self) -> ProducedReader:
        """The table; an error where nothing is in it.

        A task is a group where there are several, and a cluster is one where it has several cases.
        """
        self.conditions.require_met()
        name = self.request.name
        if not self.rows:
            problems = [f"{_of_task(task)}{why}" for task, why in self.left_out.items()]
            raise FileError(name, next(iter([*problems, *sentences([], self.counts)]), "there is no record here."))
        nameless = next((record for record, fields in self.rows if not fields[CASE]), None)
        if nameless is not None and any(fields[CASE] for _, fields in self.rows):
            raise nameless.error("this record has no case id, but others have one.")
        columns = self._columns()
        if nameless is not None:
            del columns[CASE]
        left_out = [f"task {quote(task)} is left out: {why}" for task, why in self.left_out.items()]
        notes = sentences([*self.notes, *self.conditions.notes(), *left_out], self.counts)
        return ProducedReader(name, list(self._chunks(columns)), self.request.paths, notes, self.decimal)

    def _columns(self) -> dict[str, Any]:
        pa, every = need("pyarrow"), [fields for _, fields in self.rows]
        names = dict.fromkeys(name for fields in every for name in fields)
        if not self.complete and len({fields.get(GROUP) for fields in every}) < 2:
            names.pop(GROUP, None)
        if not self.complete and len({fields.get(CLUSTER) for fields in every}) == len(every):
            names.pop(CLUSTER, None)
        order = sorted(names, key=lambda name: _ORDER.index(name) if name in _ORDER else len(_ORDER))
        columns = columns_of()
        columns |= {name: getattr(pa, _KINDS.get(name, "string"))() for name in order if name not in columns}
        confidences = [value for fields in every for value in fields[CONFIDENCES]] if self.single else []
        if getattr(in_own_precision(confidences), "dtype", None) == "float32":
            columns[CONFIDENCES] = pa.list_(pa.float32())
        return columns

    def _chunks(self, columns: Mapping[str, Any]) -> Iterator[TableChunk]:
        """Batches of the rows of each file, with the numbers of their records, or else by their places."""
        pa = need("pyarrow")
        for source, group in groupby(self.rows, lambda row: row[0].source):
            records, rows = zip(*group, strict=True)
            arrays = []
            for name, kind in columns.items():
                try:
                    arrays.append(as_array([fields.get(name) for fields in rows], kind))
                except MisfitError as error:
                    case = quote(rows[error.place][CASE])
                    raise records[error.place].error(f"of case {case}, {name} {error.problem}.") from None
            numbers = np.array([record.row or place for place, record in enumerate(records, 1)], np.int64)
            table = pa.record_batch(arrays, schema=pa.schema(list(columns.items())))
            for start in range(0, len(rows), _BATCH):
                yield TableChunk(source, start, table.slice(start, _BATCH), numbers[start : start + _BATCH])


def sentences(notes: Iterable[str], counts: Mapping[tuple[str, str], int]) -> tuple[str, ...]:
    """Notes, each once, and what is counted by a noun and the rest of a sentence.

    >>> sentences(["a note"], {("picture", "failed"): 2, ("list", "is empty"): 0})
    ('A note.', '2 pictures failed.')
    """
    counted = [f"{n:,} {noun}{'s' * (n != 1)} {rest}" for (noun, rest), n in counts.items() if n]
    return tuple(dict.fromkeys(f"{note[:1].upper()}{note[1:].rstrip('.')}." for note in (*notes, *counted)))


def _of_task(task: str) -> str:
    return f"task {quote(task)}: " if task else ""


def reading(
    read: Callable[[Cases], None],
    *,
    written: bool = False,
    sees: Callable[[FirstLook, Path], str] | None = None,
    options: tuple[str, ...] = (),
    files_only: bool = False,
) -> Producer:
    """The producer of a function that adds all cases; `sees` says what tells that a file is one of its files, or ""."""

    def open_(request: Request) -> ProducedReader:
        cases = Cases(request, written, written)
        read(cases)
        return cases.reader()

    def match(look: FirstLook, match: Match) -> Match | None:
        return match if sees is None else matched(match, lambda path: sees(look, path))

    return Producer(open_, match, options, files_only)


# Multiple-choice questions


def letters(count: int) -> list[str]:
    """The letters of so many options; after 26 of them, numbers from 1.

    >>> letters(3), letters(28)[25:]
    (['A', 'B', 'C'], ['Z', '1', '2'])
    """
    return [chr(ord("A") + at) if at < 26 else str(at - 25) for at in range(count)]


def about(outcome: str, choices: int, unit: str) -> Mapping[str, Any]:
    """What is known of a case; the unit is the document, or question, that several cases may be about."""
    return {OUTCOME: outcome, N_CLASSES: choices, CLUSTER: unit}


def disagreement(counted: str, hit: Any, answer: str, outcome: str) -> str:
    """What a program counted, where it contradicts the outcome that is read; nothing where it did not count.

    >>> disagreement("acc", 1, "A", "A"), disagreement("acc", None, "A", "B")
    ('', '')
    """
    if hit not in (0, 1) or hit == (answer == outcome):
        return ""
    return (
        f"{counted} is {hit:g}, but the answer is {quote(answer)} and the correct one {quote(outcome)}: something else "
        "is counted than one correct choice per question"
    )


def add_answer(
    cases: Cases, record: Record, case: str, answer: str, choices: Sequence[str], outcome: str, unit: str
) -> None:
    """An answer as a list of one class with probability 1: `OTHER` where it is none of the choices."""
    if answer not in choices:
        cases.count("answer", f"of task {quote(cases.current)} named no choice: the class is {OTHER}")
    chosen = answer if answer in choices else OTHER
    cases.add(record, case, [chosen], [1.0], **about(outcome, len(choices) + 1, unit))
