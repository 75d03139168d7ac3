"""The engine of producers that are read record by record: what is in files, and the table of lists that is made of it.

A producer is one function that goes through records, adds a case for each list, and says what there is to say::

    def read(cases: Cases) -> None:
        for record in cases.records():
            if record.at("error"):
                cases.count("picture", "failed: missing cases")
            else:
                cases.add(record, record.text("file"), *record.entries(record.pairs("top", "label", "score")))

Files are JSON (lines, an array, or one document) or delimited text; what a record should be and is not is an error
with the file and the row. The engine applies conditions, counts, and makes columns of what is known of the cases.
"""

from __future__ import annotations

import csv
import io
import json
import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from itertools import chain, groupby, islice
from pathlib import Path
from typing import Any

from toplist._files import need
from toplist._text import argument, quote
from toplist.errors import FileError
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
    at_path,
    columns_of,
    matched,
)
from toplist.io.readers.base import NOT_UTF8, lines_of, opened
from toplist.io.readers.delimited import crooked
from toplist.io.readers.first_look import FirstLook
from toplist.io.readers.json_lines import MisfitError, RepeatedFieldError, as_array, json_value
from toplist.io.views import RecordConditions
from toplist.io.words import CASE as CASE_NAMES
from toplist.io.words import named
from toplist.lists.pipelines import Remedy, in_own_precision

SEQUENCE = "sequence"  # the text that a case is about
DIVIDED = "added up to slightly more than 1, because fastText adds 1e-5 to each probability: divided by the sum"
_ORDER = (OUTCOME, N_CLASSES, GROUP, CLUSTER)
_KINDS = {N_CLASSES: "int64", ANSWER_MASS: "float64", LISTED_TOKENS: "float64"}  # all others are text
_REMEDY = " Write one object per line, or an array of them."
_OWN = (CASE, CLASSES, CONFIDENCES)  # columns that every row has
_BATCH = 4096  # rows
_ABOVE = 1.0005  # what half precision makes of one is below
_ROUNDED = 1.0501  # a sum up to here may be a rounding of one: the check of all lists says what to do


class NoListsError(Exception):
    """A task whose records are not about one correct choice of several; says why."""


@dataclass(frozen=True, slots=True)
class Record:
    """A value of a file, and where it stands: a row, or None for the only value; or a part with a name."""

    source: str
    row: int | None
    value: Any
    name: str = ""

    def error(self, problem: str) -> FileError:
        """The error about this record."""
        return FileError(self.source, f"{self.name}: {problem}" if self.name else problem, row=self.row)

    @property
    def place(self) -> str:
        """Where it stands in its file, for sentences."""
        return "the record" if self.row is None else f"row {self.row:,}"

    def at(self, path: str) -> Any:
        """What stands at a path inside it; None where nothing does."""
        return at_path(self.value, path)

    def items(self, path: str) -> list[Any]:
        """The elements of a list inside it; none where nothing is there."""
        value = self.at(path) if path else self.value
        if value is not None and not isinstance(value, list | tuple):
            raise self.error(f"{path or 'this'} should be a list, not {quote(value)}.")
        return list(value or ())

    def inside(self, path: str) -> Iterator[Record]:
        """The elements of a list that has to be there as records of their own."""
        if self.at(path) is None:
            raise self.error(f"{path} should be a list, but is missing.")
        return (Record(self.source, row, value) for row, value in enumerate(self.items(path), 1))

    def text(self, path: str) -> str:
        """A class or an id inside it."""
        return self.as_text(self.at(path), path)

    def as_text(self, value: Any, what: str) -> str:
        """A class or an id: text, or a whole number. JSON may hold half a character, which is no text."""
        if isinstance(value, str) and value.strip() and value.encode("utf-8", "replace").decode() == value:
            return value
        if isinstance(value, int) and not isinstance(value, bool):
            return str(value)
        raise self.error(f"{what} should be text, not {quote(value)}.")

    def as_number(self, value: Any, what: str) -> float:
        """A score."""
        with suppress(OverflowError):
            if isinstance(value, int | float) and not isinstance(value, bool):
                return float(value)
        raise self.error(f"{what} should be a number, not {quote(value)}.")

    def numbers(self, path: str) -> list[float]:
        """The numbers in a list inside it."""
        return [self.as_number(value, f"{path}[{at}]") for at, value in enumerate(self.items(path))]

    def pairs(self, path: str, label: str, score: str) -> list[tuple[Any, Any]]:
        """Classes and scores of the objects in a list."""
        return [(one.at(label), one.at(score)) for one in self.inside(path)]

    def entries(self, pairs: Iterable[tuple[Any, Any]]) -> tuple[list[str], list[float]]:
        """Classes and their numbers, as probabilities."""
        classes, values = [], []
        for label, score in pairs:
            classes.append(self.as_text(label, "a class"))
            values.append(self.as_number(score, f"the score of {quote(label)}"))
        return classes, values

    def require_probabilities(self, classes: Sequence[str], values: Sequence[float], remedy: Remedy) -> None:
        """Values from 0 to 1 that do not add up to far more than one."""
        odd = next((at for at, value in enumerate(values) if value < 0 or value > _ABOVE), None)
        if odd is not None and remedy.logits:
            raise self.error(f"the score of {quote(classes[odd])} is {values[odd]:g}. {remedy.logits}")
        mass = math.fsum(values)
        if odd is None and mass > _ROUNDED and remedy.marginals:
            raise self.error(f"the scores sum to {mass:.6g}, which is above 1. {remedy.marginals}")

    def known_id(self) -> str:
        """The value of its field with the most telling name of an id; nothing where it has none."""
        fields = self.value if isinstance(self.value, Mapping) else {}
        names = [name for name in named(list(fields), CASE_NAMES) if isinstance(fields[name], str | int)]
        return self.as_text(fields[names[0]], f"the field {quote(names[0])}") if names else ""

    def response_id(self) -> str:
        """The id of a response: its own, or the name of the file that it is alone in; nothing where there is none."""
        return self.known_id() or (Path(self.source).stem if self.row is None else "")


# Files


def records_in(path: Path) -> Iterator[Record]:
    """The values of one JSON file: its lines, the elements of an array, or one document."""
    lines = (line for line in lines_of(path) if not line.isspace())
    first = list(islice(lines, 2))
    alone = len(first) < 2 or not _is_value(first[0])
    if alone and not (first and _is_named_lines(path) and len(first) == 2):
        yield from elements(str(path), parsed(text_of(path), Record(str(path), None, None), _REMEDY))
        return
    for row, line in enumerate(chain(first, lines), 1):
        yield Record(str(path), row, parsed(line, Record(str(path), row, None), _REMEDY))


def _is_named_lines(path: Path) -> bool:
    return any(suffix.lower() in (".jsonl", ".ndjson") for suffix in path.suffixes)


def _is_value(line: bytes) -> bool:
    try:
        json.loads(line.decode("utf-8-sig"))
    except (ValueError, RecursionError):
        return False
    return True


def parsed(text: str | bytes, place: Record, remedy: str = "") -> Any:
    """What a JSON text says; a field that is there twice is refused."""
    try:
        return json_value(text if isinstance(text, str) else text.decode("utf-8-sig"))
    except UnicodeDecodeError:
        raise place.error(NOT_UTF8) from None
    except RepeatedFieldError as error:
        raise place.error(str(error)) from None
    except (ValueError, RecursionError):
        start = text[:60] if isinstance(text, str) else text[:60].decode("utf-8", "replace")
        raise place.error(f"this is no JSON: {quote(start.strip())}.{remedy}") from None


def elements(source: str, value: Any) -> Iterator[Record]:
    """The elements of an array as records, or one value that is none."""
    if not isinstance(value, list | tuple):
        yield Record(source, None, value)
    else:
        yield from (Record(source, row, one) for row, one in enumerate(value, 1))


def cells_of(path: Path, delimiter: str = ",") -> Iterator[list[str]]:
    """The rows of one file of delimited text, the first of which may be a header."""
    try:
        yield from filter(None, csv.reader(io.StringIO(text_of(path), newline=""), delimiter=delimiter, strict=True))
    except csv.Error as error:
        raise FileError(str(path), f"this is no text with the delimiter {delimiter!r}: {error}.") from None


def rows_in(path: Path, delimiter: str = ",") -> Iterator[Record]:
    """The rows of one file of delimited text, as mappings from the names of its columns without blanks around them."""
    rows = cells_of(path, delimiter)
    names = [name.strip() for name in next(rows, [])]
    for row, cells in enumerate(rows, 1):
        if len(cells) != len(names):
            raise crooked(path, row, len(names), len(cells))
        yield Record(str(path), row, dict(zip(names, cells, strict=True)))


def number_of(value: Any) -> Any:
    """The number that a cell of delimited text is; what is none, as it is."""
    with suppress(ValueError):
        return float(value) if isinstance(value, str) and "_" not in value else value  # Python reads 1_0 as 10
    return value


def text_of(path: Path) -> str:
    """All of a file as text."""
    with opened(path) as stream:
        data: bytes = stream.read()
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise FileError(str(path), NOT_UTF8) from None


# The table


@dataclass(frozen=True, slots=True)
class Row:
    """One case as a producer has it: classes with their probabilities, and what is known of the case."""

    record: Record
    case: str
    classes: Sequence[str]
    confidences: Sequence[float]
    known: Mapping[str, Any]  # outcome, n_classes, cluster, group, answer_mass, ...


@dataclass(slots=True)
class Cases:
    """The cases of all files, as a producer adds them, and what there is to say about them."""

    request: Request
    decimal: bool  # whether probabilities are those of the file, written as decimals, and not computed
    single: bool  # whether a program may have written them in single precision
    conditions: RecordConditions = field(init=False)
    rows: list[Row] = field(init=False, default_factory=list)
    notes: list[str] = field(init=False, default_factory=list)
    counts: Counter[tuple[str, str]] = field(init=False, default_factory=Counter)
    left_out: dict[str, str] = field(init=False, default_factory=dict)  # tasks, and why
    beside: list[Path] = field(init=False, default_factory=list)  # other files that were read
    complete: bool = field(init=False, default=False)  # whether groups and clusters that tell nothing apart stay
    current: str | None = field(init=False, default=None)  # the task that cases are added to

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
        for record in self.records():
            if not isinstance(record.value, Mapping):
                raise record.error(f"this should be an object, not {quote(record.value)}.")
            yield record

    def chosen(self, option: str, ways: Iterable[str]) -> Any:
        """What the caller chose among some ways; None where nothing was chosen."""
        asked = getattr(self.request.options, option)
        if asked is not None and asked not in ways:
            known = " or ".join(argument(option, way) for way in ways)
            raise FileError(self.request.name, f"here, it can be {known}, not {argument(option, asked)}.")
        return asked

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

    def add(
        self, record: Record, case: str, classes: Sequence[str], confidences: Sequence[float], /, **known: Any
    ) -> None:
        """A case: its list, and what is known of it."""
        of_task = {} if self.current is None else {GROUP: self.current}
        self.rows.append(Row(record, case, classes, confidences, {**of_task, **known}))

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
        nameless = next((row for row in self.rows if not row.case), None)
        if nameless is not None and any(row.case for row in self.rows):
            raise nameless.record.error("this record has no case id, but others have one.")
        columns = self._columns()
        if nameless is not None:
            del columns[CASE]
        left_out = [f"task {quote(task)} is left out: {why}" for task, why in self.left_out.items()]
        notes = sentences([*self.notes, *self.conditions.notes(), *left_out], self.counts)
        batches = list(self._batches(columns))
        reader = ProducedReader(name, lambda: iter(batches), columns, (*self.request.paths, *self.beside), notes)
        reader.decimal = self.decimal
        return reader

    def _columns(self) -> dict[str, Any]:
        pa, known = need("pyarrow"), [row.known for row in self.rows]
        names = dict.fromkeys(name for one in known for name in one if name not in _OWN)
        values = {name: [one.get(name) for one in known] for name in names}
        if not self.complete and len(set(values.get(GROUP, ()))) < 2:
            values.pop(GROUP, None)
        if not self.complete and len(set(values.get(CLUSTER, ()))) == len(known):
            values.pop(CLUSTER, None)
        order = [*(name for name in _ORDER if name in values), *(name for name in values if name not in _ORDER)]
        kinds = {name: getattr(pa, _KINDS.get(name, "string"))() for name in order}
        if self.single and self._is_single():
            kinds[CONFIDENCES] = pa.list_(pa.float32())
        return columns_of(**kinds)

    def _batches(self, columns: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
        """Batches of the rows of each file."""
        pa = need("pyarrow")
        schema = pa.schema(list(columns.items()))
        for source, group in groupby(self.rows, lambda row: row.record.source):
            rows = list(group)
            known = [
                {**r.known, CASE: r.case, CLASSES: list(r.classes), CONFIDENCES: list(r.confidences)} for r in rows
            ]
            arrays = []
            for name, kind in columns.items():
                try:
                    arrays.append(as_array([one.get(name) for one in known], kind))
                except MisfitError as error:
                    row = rows[error.place]
                    raise row.record.error(f"of case {quote(row.case)}, {name} {error.problem}.") from None
            for batch in pa.Table.from_arrays(arrays, schema=schema).to_batches(_BATCH):
                yield source, batch

    def _is_single(self) -> bool:
        every = in_own_precision([value for row in self.rows for value in row.confidences])
        return getattr(every, "dtype", None) == "float32"


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
