"""What is in files, record by record: JSON (lines, an array, or one document), delimited text and Parquet."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from toplist._text import quote
from toplist.errors import FileError
from toplist.io.producers.base import at_path
from toplist.io.readers.arrow import PARQUET
from toplist.io.readers.base import NOT_UTF8, opened
from toplist.io.readers.delimited import crooked
from toplist.io.readers.json_lines import lines_of_text, read_json
from toplist.io.words import CASE as CASE_NAMES
from toplist.io.words import named

_NO_JSON = "this is no JSON: {}. Write one object per line, or an array of them."
_BLOCK = 1 << 18  # bytes that are read at a time, which stay in the cache: eight megabytes took twice as long
_MARK = b"\xef\xbb\xbf"  # some programs put it before UTF-8


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
        return self.name or ("the record" if self.row is None else f"row {self.row:,}")

    def at(self, path: str) -> Any:
        """What stands at a path inside it; None where nothing does."""
        return at_path(self.value, path)

    def items(self, path: str) -> list[Any]:
        """The elements of a list inside it; none where nothing is there."""
        value = self.at(path)
        if value is not None and not isinstance(value, list | tuple):
            raise self.error(f"{path} should be a list, not {quote(value)}.")
        return list(value or ())

    def mapping(self, path: str) -> Mapping[str, Any]:
        """The fields of an object inside it; none where nothing is there."""
        value = self.at(path)
        if value is not None and not isinstance(value, Mapping):
            raise self.error(f"{path} should be an object, not {quote(value)}.")
        return value or {}

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
        return [(entry.at(label), entry.at(score)) for entry in self.inside(path)]

    def entries(self, pairs: Iterable[tuple[Any, Any]]) -> tuple[list[str], list[float]]:
        """Classes and their numbers, as probabilities."""
        classes, values = [], []
        for label, score in pairs:
            classes.append(self.as_text(label, "a class"))
            values.append(self.as_number(score, f"the score of {quote(label)}"))
        return classes, values

    def known_id(self) -> str:
        """The value of its field with the most telling name of an id; nothing where it has none."""
        fields = self.value if isinstance(self.value, Mapping) else {}
        names = [name for name in named(list(fields), CASE_NAMES) if isinstance(fields[name], str | int)]
        return self.as_text(fields[names[0]], f"the field {quote(names[0])}") if names else ""


# JSON


def records_in(path: Path) -> Iterator[Record]:
    """The values of one JSON file."""
    if is_document(path):
        return elements(str(path), read_json(bytes_of(path), str(path), refusal=_NO_JSON))
    numbered = enumerate(lines(path), 1)
    return (Record(str(path), row, read_json(line, str(path), row, _NO_JSON)) for row, line in numbered)


def is_document(path: Path) -> bool:
    """Whether a file holds one JSON value, not one in each line."""
    first = list(islice(lines(path), 2))
    named_lines = any(suffix.lower() in (".jsonl", ".ndjson") for suffix in path.suffixes)
    return bool(first) and not (len(first) > 1 and (named_lines or _is_value(first[0])))


def lines(path: Path) -> Iterator[bytes]:
    """The lines of a file that are not blank, without their ends; a document may be a very long one."""
    return (line.rstrip(b"\r\n") for line in lines_of_text(path, limited=False))


def line_blocks(path: Path) -> Iterator[bytes]:
    """Whole lines, some hundred kilobytes of them at a time."""
    rest, mark = b"", _MARK
    with opened(path) as stream:
        while chunk := stream.read(_BLOCK):
            data = chunk.removeprefix(mark)
            cut = data.rfind(b"\n") + 1
            if cut:
                yield b"".join((rest, memoryview(data)[:cut]))
                rest = b""
            rest, mark = rest + data[cut:], b""
    if rest:
        yield rest


def lines_of(block: bytes) -> list[bytes]:
    """The lines that are not blank, without their ends."""
    return [line for line in block.split(b"\n") if line and not line.isspace()]


def _is_value(line: bytes) -> bool:
    try:
        json.loads(line)
    except (ValueError, RecursionError):
        return False
    return True


def elements(source: str, value: Any) -> Iterator[Record]:
    """The elements of an array as records, or one value that is none."""
    if not isinstance(value, list | tuple):
        yield Record(source, None, value)
    else:
        yield from (Record(source, row, element) for row, element in enumerate(value, 1))


def mappings(records: Iterable[Record]) -> Iterator[Record]:
    """The same records, every one of which is an object."""
    for record in records:
        if not isinstance(record.value, Mapping):
            raise record.error(f"this should be an object, not {quote(record.value)}.")
        yield record


# Tables


def rows_in(path: Path, delimiter: str = ",", columns: Sequence[str] = ()) -> Iterator[Record]:
    """The rows of one file, Parquet or delimited text, as mappings from the names of its columns, which has these."""
    place = Record(str(path), None, None)
    if path.suffix.lower() in PARQUET.suffixes:
        table = PARQUET.open((path,), place.source)
        _require(columns, table.schema.names, place)
        for piece in table.pieces(table.schema.names):
            for row, value in zip(piece.row_numbers.tolist(), piece.table.to_pylist(), strict=True):
                yield Record(place.source, row, value)
        return
    try:
        rows = filter(None, csv.reader(io.StringIO(text_of(path), newline=""), delimiter=delimiter, strict=True))
        names = [name.strip() for name in next(rows, [])]
        _require(columns, names, place)
        for row, cells in enumerate(rows, 1):
            if len(cells) != len(names):
                raise crooked(path, row, len(names), len(cells))
            yield Record(place.source, row, dict(zip(names, cells, strict=True)))
    except csv.Error as error:
        raise place.error(f"this is no text with the delimiter {delimiter!r}: {error}.") from None


def _require(columns: Iterable[str], names: Sequence[str], place: Record) -> None:
    """Columns that are there, and once: of two with one name, nobody knows which one counts."""
    lacks = next((name for name in columns if name not in names), None)
    if lacks is not None:
        raise place.error(f"there is no column {quote(lacks)}.")
    twice = next((name for name in names if name and names.count(name) > 1), None)
    if twice is not None:
        raise place.error(f"the column {quote(twice)} is there twice.")


def number_of(value: Any) -> Any:
    """The number that a cell of delimited text is; what is none, as it is."""
    with suppress(ValueError):
        return float(value) if isinstance(value, str) and "_" not in value else value  # Python reads 1_0 as 10
    return value


def text_of(path: Path) -> str:
    """All of a file as text."""
    try:
        return bytes_of(path).decode("utf-8-sig")
    except UnicodeDecodeError:
        raise FileError(str(path), NOT_UTF8) from None


def bytes_of(path: Path) -> bytes:
    """All of a file, decompressed."""
    with opened(path) as stream:
        data: bytes = stream.read()
    return data
