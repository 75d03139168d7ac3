"""JSON, one object per line: what a line holds in types of Arrow, and lines as columns."""

from __future__ import annotations

import io
import json
import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property, partial, reduce
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from toplist._files import need
from toplist._text import listed, quote
from toplist.errors import FileError
from toplist.io.columns import blanks
from toplist.io.readers.base import (
    ENTRIES,
    NOT_UTF8,
    FileReader,
    Format,
    TableChunk,
    cut,
    head_of,
    opened,
)
from toplist.io.readers.column_types import common, mapped

if TYPE_CHECKING:
    from toplist.io.layout import Layout

_CHUNK = 1 << 20  # bytes that are read at a time
_WORDS = {
    bool: "true or false",
    int: "a number",
    float: "a number",
    str: "text",
    list: "a list",
    dict: "an object",
    type(None): "null",
}


_LARGEST = sys.float_info.max


def parse(line: bytes, source: str, row: int, unit: str = "line") -> dict[str, Any]:
    """The object of one line, or of another unit, or an error that says what is there instead."""
    record = read_json(line, source, row, f"this {unit} is no JSON object: {{}}.")
    if not isinstance(record, dict):
        raise FileError(source, f"every {unit} holds one object, not {_WORDS[type(record)]}.", row=row)
    return record


def read_json(text: bytes, source: str, row: int | None = None, refusal: str = "this is no JSON: {}.") -> Any:
    """What a JSON text says, or an error with its beginning."""
    try:
        return json_value(text.decode("utf-8-sig"))
    except UnicodeDecodeError:
        raise FileError(source, NOT_UTF8, row=row) from None
    except RepeatedFieldError as error:
        raise FileError(source, str(error), row=row) from None
    except (ValueError, RecursionError):
        start = text[:60].decode("utf-8", "replace").strip()
        raise FileError(source, refusal.format(quote(start)), row=row) from None


class RepeatedFieldError(ValueError):
    """A field that an object has twice, of which nobody knows which one is meant; or one whose name is no text."""


def json_value(text: str | bytes) -> Any:
    """What a JSON text says; a ValueError or a RecursionError where it is none, or repeats a field.

    msgspec reads it in a third of the time, but of two fields with one name it keeps the last, in silence. Every member
    has a colon, and so may texts: the text has more of them than what was read of it, written again, exactly where a
    member was lost. A colon that is written as an escape would make up for one. Where there may be one of either, or
    NaN, or half a character, json reads the text.
    """
    msgspec = need("msgspec")
    if isinstance(text, bytes):
        text = text.decode(json.detect_encoding(text))
    try:
        value = msgspec.json.decode(text)
        if text.count(":") == msgspec.json.encode(value).count(b":") and not _ESCAPED_COLON.search(text):
            return value
    except (msgspec.MsgspecError, ValueError):
        pass
    return json.loads(text, object_pairs_hook=_object)


_ESCAPED_COLON = re.compile(r"\\u003[aA]")


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    record = dict(pairs)
    halves = [key for key in record if not is_text(key)]
    if halves:
        raise RepeatedFieldError(f"the name of the field {quote(halves[0])} has half a character in it.")
    if len(record) < len(pairs):
        repeated = next(key for at, (key, _) in enumerate(pairs) if key in dict(pairs[:at]))
        raise RepeatedFieldError(f"the field {quote(repeated)} is there twice.")
    return record


def type_of(values: Sequence[Any]) -> Any:
    """The Arrow type of values of JSON; where none holds all, whoever reads them finds the one that does not fit."""
    pa = need("pyarrow")
    try:
        return pa.array(values).type
    except (pa.ArrowException, OverflowError, UnicodeEncodeError):
        return reduce(_either, map(_type_of_one, values), pa.null())


def _type_of_one(value: Any) -> Any:
    pa = need("pyarrow")
    if isinstance(value, list):
        return pa.list_(type_of(value))
    if isinstance(value, dict):
        return pa.struct([(key, type_of([item])) for key, item in value.items()])
    if type(value) is int and not -(2**63) <= value < 2**63:
        return pa.float64()
    return {bool: pa.bool_(), int: pa.int64(), float: pa.float64(), str: pa.string()}.get(type(value), pa.null())


_either = partial(common, lenient=True)


def settled(kind: Any, *, floats: bool = False) -> Any:
    """A type to read by: text where nothing was seen, and floats for whole numbers where they are wanted."""
    pa = need("pyarrow")
    if pa.types.is_list(kind):
        return pa.list_(settled(kind.value_type, floats=floats))
    if floats and (pa.types.is_null(kind) or pa.types.is_integer(kind)):
        return pa.float64()
    return mapped(kind, lambda leaf: pa.string() if pa.types.is_null(leaf) else leaf)


class MisfitError(Exception):
    """A value among others that is not of their type: its place, and why."""

    def __init__(self, place: int, problem: str) -> None:
        super().__init__(place, problem)
        self.place, self.problem = place, problem


def as_array(values: Sequence[Any], kind: Any) -> Any:
    """Values as an array of Arrow, none of which is changed; or a MisfitError."""
    pa = need("pyarrow")
    types = {type(value) for value in values} - {type(None)}
    if pa.types.is_floating(kind) and int in types:
        values = [float(one) if type(one) is int and abs(one) <= _LARGEST else one for one in values]
        types = {type(value) for value in values} - {type(None)}
    try:
        if types <= {_EXACT.get(str(kind), list)}:  # Arrow would make 0 of 0.5 and 1 of true
            return pa.array(values, kind)
    except (pa.ArrowException, OverflowError, UnicodeEncodeError):
        pass
    for place, value in enumerate(values):
        if problem := misfit(value, kind):
            raise MisfitError(place, problem)
    return pa.array(values, kind)


_EXACT = {"bool": bool, "int64": int, "double": float, "string": str}


def misfit(value: Any, kind: Any, verb: str = "is") -> str:
    """Why a value is not of a type, or nothing."""
    types, word = need("pyarrow").types, _WORDS.get(type(value), f"of type {type(value).__name__}")
    expected = next((own for test, own in _EXPECTED.items() if getattr(types, test)(kind)), None)
    if value is None or expected is None:
        return ""
    if not isinstance(value, expected) or (isinstance(value, bool) and expected is not bool):
        return f"{verb} {word}, but {_WORDS[expected if isinstance(expected, type) else float]} elsewhere"
    if isinstance(value, list):
        return next((why for item in value if (why := misfit(item, kind.value_type, "holds"))), "")
    if isinstance(value, dict):
        inner = {one.name: (one.type, f"{verb} an object whose {quote(one.name)} is") for one in kind}
        return next((why for name, own in inner.items() if (why := misfit(value.get(name), *own))), "")
    if isinstance(value, str):
        return "" if is_text(value) else f"{verb} text with half a character (a lone surrogate)"
    if types.is_integer(kind) and not (isinstance(value, int) and -(2**63) <= value < 2**63):
        return f"{verb} {quote(value)}, but a whole number below 2^63 elsewhere"
    return f"{verb} {quote(value)}, which is too large" if abs(value) > _LARGEST else ""


_EXPECTED: dict[str, Any] = {
    "is_string": str,
    "is_boolean": bool,
    "is_integer": int | float,
    "is_floating": int | float,
    "is_list": list,
    "is_struct": dict,
}


def is_text(value: str) -> bool:
    """Whether a text has no half of a character in it, as JSON can write one."""
    try:
        value.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


BLOCK = 1 << 22  # bytes parsed at a time
LONGEST = 1 << 28  # bytes of a line: what a language model says at every token of a long text
_PEEK = 100  # lines of each block that tell whether it has many different fields
_MANY = 256  # of which pyarrow would make a column for every line of the block


@dataclass
class JsonReader(FileReader):
    """One or more files of JSON lines: the fields are those of all lines of all files."""

    paths: tuple[Path, ...]
    name: str
    floats: frozenset[str] = frozenset()  # fields that hold 0.5 in one line and 1 in another
    required: tuple[str, ...] = ()  # fields that every line has, if only as null
    decimal = True
    unit = "line"  # what holds one object, in messages

    def lines(self, path: Path) -> Iterator[bytes]:
        """Objects, one per line, and no blank line."""
        return lines_of_text(path)

    def prepare(self, layout: Layout) -> None:
        """See `Reader`."""
        self.floats = frozenset(layout.classes if layout.kind == "wide" else layout.confidences)
        # A wide object leaves out classes, a ranked one what is beyond the end of its list.
        needed = () if layout.kind == "wide" else (*layout.classes, *layout.confidences)
        if layout.kind == "ranked":
            needed = (layout.classes[0], layout.confidences[0])
        self.required = tuple(filter(None, (layout.case, *needed)))

    @cached_property
    def schema(self) -> Any:
        """Names and types, by all lines: a field that comes late counts as well."""
        kinds: dict[str, Any] = {}
        rows = 0
        for file, path in enumerate(self.paths):
            before = rows
            for block in self._blocks(file):
                for name, kind in block.fields().items():
                    kinds[name] = _either(kinds.get(name, kind), kind)
                rows += len(block.lines)
            if rows == before:
                raise FileError(str(path), f"there is no {self.unit} in this file.")
        self.rows = rows
        return need("pyarrow").schema(list(kinds.items()))

    def read(self, file: int, schema: Any, lo: int, hi: int | None) -> Iterator[TableChunk]:
        """See `FileReader`: what nobody wants of an object may be of several kinds."""
        required = [name for name in self.required if name in schema.names]
        wanted = need("pyarrow").schema([(f.name, settled(f.type, floats=f.name in self.floats)) for f in schema])
        for block in self._blocks(file, ENTRIES // max(1, sum(map(_leaves, wanted.types)))):
            start = block.start
            for batch in cut(block.table(wanted, required)):
                yield TableChunk(block.source, start, batch)
                start += len(batch)

    def _blocks(self, file: int, most: int | None = None) -> Iterator[_Block]:
        """The lines of a file, some megabytes at a time; objects with very many fields, `most` at a time."""
        path, start = self.paths[file], 0
        lines: list[bytes] = []
        size = 0
        for line in self.lines(path):
            lines.append(line)
            size += len(line)
            if size >= BLOCK or len(lines) == most:
                yield _Block(lines, str(path), start, self.unit)
                start += len(lines)
                lines, size = [], 0
        if lines:
            yield _Block(lines, str(path), start, self.unit)


def _leaves(kind: Any) -> int:
    """How many values an object has; a list may be empty."""
    types = need("pyarrow").types
    if types.is_struct(kind):
        return sum(_leaves(kind.field(i).type) for i in range(kind.num_fields))
    return _leaves(kind.value_type) if types.is_list(kind) else 1


@dataclass(frozen=True, slots=True)
class _Block:
    """Some lines of a file, one object in each; `start` is the number of lines before them."""

    lines: list[bytes]
    source: str
    start: int
    unit: str

    def record(self, at: int) -> dict[str, Any]:
        """The object in a line."""
        row = self.start + at + 1
        return parse(self.lines[at], self.source, row, self.unit)

    def fields(self) -> dict[str, Any]:
        """The fields of the objects, and their types."""
        few = {name for at in range(min(_PEEK, len(self.lines))) for name in self.record(at)}
        # To pyarrow, an object may begin in one line and end in another. None does if each begins and ends as one.
        if len(few) <= _MANY and all(line[:1] == b"{" and line.rstrip()[-1:] == b"}" for line in self.lines):
            with suppress(need("pyarrow").ArrowException, UnicodeDecodeError):
                table = self._parsed()
                if len(table) == len(self.lines):
                    return {field.name: _without_dates(field.type) for field in table.schema}
        # Line by line: very many fields, fields of several kinds, or an error with its row.
        values: dict[str, list[Any]] = {}
        for at in range(len(self.lines)):
            for name, value in self.record(at).items():
                values.setdefault(name, []).append(value)
        return {name: type_of(some) for name, some in values.items()}

    def _parsed(self, options: Any = None) -> Any:
        pa, reader = need("pyarrow"), need("pyarrow.json")
        data = b"\n".join(self.lines)
        return reader.read_json(pa.BufferReader(data), reader.ReadOptions(block_size=len(data) + 1), options)

    def table(self, wanted: Any, required: Sequence[str]) -> Any:
        """The wanted fields."""
        pa, reader = need("pyarrow"), need("pyarrow.json")
        try:
            table = self._parsed(reader.ParseOptions(explicit_schema=wanted, unexpected_field_behavior="ignore"))
        except pa.ArrowException as error:
            raise self._complaint(error, wanted) from None
        columns = [column.combine_chunks() for column in table.select(wanted.names).columns]
        # A null is what it is; a field that is not there may have another name there.
        missing = np.zeros(len(table), bool)
        for column in (columns[wanted.names.index(name)] for name in required):
            missing |= blanks(column)
        for at in np.flatnonzero(missing).tolist():
            record = self.record(at)
            lacks = next((name for name in required if name not in record), None)
            if lacks is not None:
                has = listed(list(record)) or "no field at all"
                remedy = f"Every {self.unit} calls its fields the same; what is not known is null."
                problem = f"there is no field {quote(lacks)}; it has {has}. {remedy}"
                raise FileError(self.source, problem, row=self.start + at + 1)
        return pa.record_batch(columns, schema=wanted)

    def _complaint(self, error: BaseException, wanted: Any) -> FileError:
        """What is wrong with the first object that cannot be read, found by reading again, one by one."""
        for at in range(len(self.lines)):
            record = self.record(at)
            for field in wanted:
                if problem := misfit(record.get(field.name), field.type):
                    return FileError(self.source, f"{quote(field.name)} {problem}.", row=self.start + at + 1)
        text, _, place = str(error).partition("\n")[0].partition(" in row ")
        row = self.start + int(place) + 1 if place.isdecimal() else None
        return FileError(self.source, f"this cannot be read: {text[:200].rstrip('.')}.", row=row)


def _without_dates(kind: Any) -> Any:
    """A type that pyarrow found, where text that looks like a date is text."""
    pa = need("pyarrow")
    return mapped(kind, lambda leaf: pa.string() if pa.types.is_temporal(leaf) else leaf)


def lines_of_text(path: Path, *, limited: bool = True) -> Iterator[bytes]:
    """The lines of a file that are not blank; where they are limited, none may be longer than any record is."""
    head_of(path, 16)  # says what it is, where it is no text
    row, most = 0, LONGEST if limited else sys.maxsize - 1
    with opened(path) as stream:
        for line in iter(partial(io.BufferedReader(stream, _CHUNK).readline, most + 1), b""):
            if len(line) > most:
                raise FileError(str(path), f"this line is longer than {LONGEST:,} bytes.", row=row + 1)
            if not line.isspace():
                yield line if row else line.removeprefix(b"\xef\xbb\xbf")
                row += 1


JSON_LINES = Format("jsonl", (".jsonl", ".ndjson"), JsonReader, compressed=True)
