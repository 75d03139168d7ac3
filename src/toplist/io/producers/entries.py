"""Records of JSON files, or of objects in memory, as rows of a produced table: values, case ids, entries with numbers.

The table is made when the files are opened, and kept: it takes a fraction of the room that the records take.
"""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from toplist._files import need
from toplist._text import argument, quote
from toplist.errors import FileError
from toplist.io.producers.base import (
    CASE,
    CONFIDENCES,
    Match,
    ProducedReader,
    Request,
    Row,
    at_path,
    batches_of,
    columns_of,
)
from toplist.io.producers.fields import as_number, is_text
from toplist.io.readers.base import NOT_UTF8, opened
from toplist.io.readers.delimited import crooked
from toplist.io.readers.json_lines import RepeatedFieldError, json_value
from toplist.io.recognition.words import CASE as CASE_NAMES
from toplist.io.recognition.words import named
from toplist.lists.pipelines import Remedy, in_own_precision

DIVIDED = "added up to slightly more than 1, because fastText adds 1e-5 to each probability: divided by the sum"
_ABOVE = 1.0005  # what half precision makes of one is below
_ROUNDED = 1.0501  # a sum up to here may be a rounding of one: the check of all lists says what to do


@dataclass(frozen=True, slots=True)
class Record:
    """A value of a file, and where it stands."""

    source: str
    row: int | None
    value: Any

    def error(self, problem: str) -> FileError:
        """The error about this record."""
        return FileError(self.source, problem, row=self.row)

    def at(self, path: str) -> Any:
        """What stands at a path inside it; None where nothing does."""
        return at_path(self.value, path)

    def items(self, value: Any, what: str) -> Iterator[Record]:
        """The elements of a list inside it, each with its number."""
        if not isinstance(value, list):
            raise self.error(f"{what} should be a list, not {quote(value)}.")
        return (Record(self.source, row, one) for row, one in enumerate(value, 1))

    def text(self, value: Any, what: str) -> str:
        """A class or an id: text, or a whole number."""
        if is_text(value) and value.strip():
            found: str = value
            return found
        if isinstance(value, int) and not isinstance(value, bool):
            return str(value)
        raise self.error(f"{what} should be text, not {quote(value)}.")

    def number(self, value: Any, what: str) -> float:
        """A score."""
        found = as_number(value)
        if found is None:
            raise self.error(f"{what} should be a number, not {quote(value)}.")
        return found

    def entries(self, pairs: Iterable[tuple[Any, Any]]) -> tuple[list[str], list[float]]:
        """Classes and their numbers, as probabilities."""
        classes, values = [], []
        for label, score in pairs:
            classes.append(self.text(label, "a class"))
            values.append(self.number(score, f"the score of {quote(label)}"))
        return classes, values

    def require_probabilities(self, classes: Sequence[str], values: Sequence[float], remedy: Remedy) -> None:
        """Values from 0 to 1 that do not add up to far more than one."""
        odd = next((at for at, value in enumerate(values) if value < 0 or value > _ABOVE), None)
        if odd is not None and remedy.logits:
            raise self.error(f"the score of {quote(classes[odd])} is {values[odd]:g}. {remedy.logits}")
        mass = math.fsum(values)
        if odd is None and mass > _ROUNDED and remedy.marginals:
            raise self.error(f"the scores sum to {mass:.6g}, which is above 1. {remedy.marginals}")

    def known_id(self) -> str | None:
        """The value of its field with the most telling name of an id; None where it has none."""
        if not isinstance(self.value, Mapping):
            return None
        names = [name for name in named(list(self.value), CASE_NAMES) if isinstance(self.value[name], str | int)]
        return self.text(self.value[names[0]], f"the field {quote(names[0])}") if names else None

    def response_id(self) -> str:
        """The id of a response: its own, or the name of the file that it is alone in; nothing where there is none."""
        return self.known_id() or (Path(self.source).stem if self.row is None else "")


def records_of(request: Request) -> Iterator[Record]:
    """The values of JSON files or of an object in memory: the lines, the elements of an array, or one document."""
    if not request.paths:
        yield from _elements(request.name, request.data)
    for path in request.paths:
        yield from records_in(path)


def documents_of(request: Request) -> Iterator[Record]:
    """The same where every value is an object."""
    for record in records_of(request):
        if not isinstance(record.value, Mapping):
            raise record.error(f"this should be an object, not {quote(record.value)}.")
        yield record


def records_in(path: Path) -> Iterator[Record]:
    """The values of one JSON file."""
    text = text_of(path)
    if not _is_lines(text):
        yield from _elements(str(path), _parsed(text, Record(str(path), None, None)))
        return
    for row, line in enumerate(text.split("\n"), 1):
        if line.strip():
            yield Record(str(path), row, _parsed(line, Record(str(path), row, None)))


def rows_in(path: Path, delimiter: str = ",") -> Iterator[Record]:
    """The rows of one file of delimited text, as mappings from the names of its columns without blanks around them."""
    lines = csv.reader(io.StringIO(text_of(path), newline=""), delimiter=delimiter, strict=True)
    try:
        names = [name.strip() for name in next(lines, [])]
        for row, cells in enumerate(filter(None, lines), 1):
            if len(cells) != len(names):
                raise crooked(path, row, len(names), len(cells))
            yield Record(str(path), row, dict(zip(names, cells, strict=True)))
    except csv.Error as error:
        raise FileError(str(path), f"this is no text with the delimiter {delimiter!r}: {error}.") from None


def text_of(path: Path) -> str:
    """All of a file as text."""
    with opened(path) as stream:
        data: bytes = stream.read()
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise FileError(str(path), NOT_UTF8) from None


def _is_lines(text: str) -> bool:
    """Whether the first line is a value of its own, and others follow."""
    first, _, rest = text.lstrip().partition("\n")
    if not rest.strip():
        return False
    try:
        json.loads(first)
    except (ValueError, RecursionError):
        return False
    return True


def _parsed(text: str, place: Record) -> Any:
    try:
        return json_value(text)
    except RepeatedFieldError as error:
        raise place.error(str(error)) from None
    except (ValueError, RecursionError):
        raise place.error(f"this is no JSON: {quote(text.strip()[:60])}.") from None


def _elements(source: str, value: Any) -> Iterator[Record]:
    if not isinstance(value, list | tuple):
        yield Record(source, None, value)
    else:
        yield from (Record(source, row, one) for row, one in enumerate(value, 1))


def reader_of(
    request: Request, rows: Iterable[tuple[Record, Row]], notes: Iterable[str] = (), **known: Any
) -> ProducedReader:
    """The table of these rows, with further columns of these types; without ids, rows go by their position."""
    if request.options.scale != "probability":
        said = argument("scale", request.options.scale)
        raise FileError(request.name, f"what is read are probabilities, whatever the file has: leave out {said}.")
    made = list(rows)
    nameless = [record for record, row in made if not row.case]
    if nameless and len(nameless) < len(made):
        raise nameless[0].error("this record has no case id, but others have one.")
    if _is_single(row for _, row in made):
        known = {CONFIDENCES: need("pyarrow").list_(need("pyarrow").float32()), **known}
    columns = columns_of(**known)
    if nameless:
        del columns[CASE]
    batches = list(batches_of(((record.source, row) for record, row in made), columns))
    reader = ProducedReader(request.name, lambda: iter(batches), columns, request.paths, tuple(notes))
    reader.decimal = True
    return reader


def _is_single(rows: Iterable[Row]) -> bool:
    """Whether all numbers are of single precision."""
    every = in_own_precision([value for row in rows for value in row.confidences])
    return getattr(every, "dtype", None) == "float32"


def counted(n: int, what: str, note: str) -> list[str]:
    """A note about some cases, where there are any.

    >>> counted(2, "image", "failed"), counted(1, "image", "failed"), counted(0, "image", "failed")
    (['2 images failed'], ['1 image failed'], [])
    """
    return [f"{n:,} {what}{'s' if n != 1 else ''} {note}"] if n else []


def matched(match: Match, reason: Callable[[Path], str]) -> Match | None:
    """The files of a match for which there is a reason, and the first reason; None where there are none."""
    found = {path: why for path in match.paths if (why := reason(path))}
    return Match(tuple(found), next(iter(found.values()))) if found else None
