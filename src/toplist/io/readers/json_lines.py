"""JSON, one object per line: what a line holds in types of Arrow, and lines as columns."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache, partial, reduce
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


def type_of(value: Any) -> Any:
    """The Arrow type of a value; None for null, which says nothing."""
    return _type(_signature(value))


def _signature(value: Any) -> Any:
    """What the type of a value depends on: of a list, the different ones of its items."""
    if isinstance(value, dict):
        return ("{", *((key, _signature(item)) for key, item in value.items()))
    if isinstance(value, list):
        return ("[", *dict.fromkeys(map(_signature, value)))
    return float if type(value) is int and not -(2**63) <= value < 2**63 else type(value)


@lru_cache(4096)
def _type(signature: Any) -> Any:
    pa = need("pyarrow")
    if not isinstance(signature, tuple):
        return {bool: pa.bool_(), int: pa.int64(), float: pa.float64(), str: pa.string()}.get(signature)
    mark, *inside = signature
    if mark == "[":
        return pa.list_(reduce(_either, (_type(item) or pa.null() for item in inside), pa.null()))
    return pa.struct([(key, _type(item) or pa.null()) for key, item in inside])


def inferred(kind: Any) -> Any:
    """A type that pyarrow found, as `type_of` has it: text that looks like a date is text."""
    pa = need("pyarrow")
    return mapped(kind, lambda leaf: pa.string() if pa.types.is_temporal(leaf) else leaf)


@dataclass(slots=True)
class Fields:
    """The fields of records and their types; None as long as there are only nulls."""

    kinds: dict[str, Any] = field(default_factory=dict)
    _known: dict[str, type] = field(default_factory=dict)  # where a value of the same type says nothing new

    def add(self, record: dict[str, Any]) -> None:
        """One more record."""
        known = self._known
        for key, value in record.items():
            own = type(value)
            if known.get(key) is not own:
                self.note(key, type_of(value))
                if own in (float, str, bool):
                    known[key] = own

    def note(self, key: str, kind: Any) -> None:
        """One more type of a field."""
        known = self.kinds.get(key)
        self.kinds[key] = kind if known is None else known if kind is None else _either(known, kind)

    def join(self, other: Fields) -> None:
        """The fields of further records."""
        for key, kind in other.kinds.items():
            self.note(key, kind)


# Where no type holds both, it is the first one: whoever reads the field finds the row that does not fit.
_either = partial(common, lenient=True)


def settled(kind: Any, *, floats: bool = False) -> Any:
    """A type to read by: text where nothing was seen, and floats for whole numbers where they are wanted."""
    pa, kind = need("pyarrow"), need("pyarrow").null() if kind is None else kind
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

    def blocks(self, path: Path) -> Iterator[bytes]:
        """Objects, one per line, some megabytes at a time."""
        return blocks_of_lines(path)

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
        """Names and types."""
        pa = need("pyarrow")
        return pa.schema([(key, pa.null() if kind is None else kind) for key, kind in self._kinds.items()])

    @cached_property
    def _kinds(self) -> dict[str, Any]:
        """The types of all fields, by all lines: a field that comes late counts as well."""
        seen, total = Fields(), 0
        for path in self.paths:
            rows = 0
            for data in self.blocks(path):
                fields, count = _Block(data, str(path), rows, self.unit).fields()
                seen.join(fields)
                rows += count
            if not rows:
                raise FileError(str(path), f"there is no {self.unit} in this file.")
            total += rows
        self.rows = total
        return seen.kinds

    def read(self, file: int, schema: Any, lo: int, hi: int | None) -> Iterator[TableChunk]:
        """See `FileReader`: what nobody wants of an object may be of several kinds."""
        path = self.paths[file]
        required = [name for name in self.required if name in schema.names]
        wanted = need("pyarrow").schema([(f.name, settled(f.type, floats=f.name in self.floats)) for f in schema])
        most = ENTRIES // max(1, sum(map(_leaves, wanted.types)))  # objects with very many keys, a few at a time
        start = 0
        for data in (part for whole in self.blocks(path) for part in _cut(whole, most)):
            for piece in _Block(data, str(path), start, self.unit).pieces(wanted, required):
                yield piece
                start += len(piece.table)


def _leaves(kind: Any) -> int:
    """How many values an object has; a list may be empty."""
    types = need("pyarrow").types
    if types.is_struct(kind):
        return sum(_leaves(kind.field(i).type) for i in range(kind.num_fields))
    return _leaves(kind.value_type) if types.is_list(kind) else 1


def _cut(data: bytes, most: int) -> Iterator[bytes]:
    """Lines in parts of at most so many."""
    if data.count(b"\n") <= most:
        yield data
        return
    lines = lines_of(data)
    for lo in range(0, len(lines), max(1, most)):
        yield b"\n".join(lines[lo : lo + max(1, most)])


def lines_of(data: bytes) -> list[bytes]:
    """The lines that are not blank."""
    return [line for line in data.split(b"\n") if line and not line.isspace()]


@dataclass(frozen=True, slots=True)
class _Block:
    """Some lines of a file, one object in each; `start` is the number of lines before them."""

    data: bytes
    source: str
    start: int
    unit: str

    def records(self, first: int = 0) -> Iterator[tuple[int, dict[str, Any]]]:
        """The objects from one of them on, with their rows."""
        for row, line in enumerate(lines_of(self.data)[first:], self.start + first + 1):
            yield row, parse(line, self.source, row, self.unit)

    def fields(self) -> tuple[Fields, int]:
        """The fields of the objects, and how many objects there are."""
        fields, peeked = Fields(), 0
        for _, record in replace(self, data=b"\n".join(self.data.split(b"\n", _PEEK)[:_PEEK])).records():
            fields.add(record)
            peeked += 1
        count = None if len(fields.kinds) > _MANY else self._add_all(fields)
        if count is None:
            # Line by line: very many fields, fields of several kinds, or an error with its row.
            count = peeked
            for _, record in self.records(peeked):
                fields.add(record)
                count += 1
        return fields, count

    def _add_all(self, fields: Fields) -> int | None:
        """The same by pyarrow, much faster, as long as there is one record in each line, and one kind of each field."""
        try:
            table = self._parsed()
        except (need("pyarrow").ArrowException, UnicodeDecodeError):
            return None
        # To pyarrow, an object may begin in one line and end in another. None does if each begins and ends as one.
        text = self.data.strip()
        count = 1 + (text.count(b"}\n{") or text.count(b"}\r\n{"))
        if count != len(table) or not (text.startswith(b"{") and text.endswith(b"}")):
            return None
        for name, kind in zip(table.schema.names, table.schema.types, strict=True):
            fields.note(name, inferred(kind))
        return count

    def _parsed(self, options: Any = None) -> Any:
        pa, reader = need("pyarrow"), need("pyarrow.json")
        return reader.read_json(pa.BufferReader(self.data), reader.ReadOptions(block_size=len(self.data) + 1), options)

    def pieces(self, wanted: Any, required: Sequence[str]) -> Iterator[TableChunk]:
        """The wanted fields, as batches of the usual size."""
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
        lines = lines_of(self.data) if missing.any() else []
        for at in np.flatnonzero(missing).tolist():
            row = self.start + at + 1
            self._require(parse(lines[at], self.source, row, self.unit), required, row)
        start = self.start
        for batch in cut(pa.record_batch(columns, schema=wanted)):
            yield TableChunk(self.source, start, batch)
            start += len(batch)

    def _require(self, record: dict[str, Any], required: Sequence[str], row: int) -> None:
        lacks = next((name for name in required if name not in record), None)
        if lacks is not None:
            has = listed(list(record)) or "no field at all"
            remedy = f"Every {self.unit} calls its fields the same; what is not known is null."
            raise FileError(self.source, f"there is no field {quote(lacks)}; it has {has}. {remedy}", row=row)

    def _complaint(self, error: BaseException, wanted: Any) -> FileError:
        """What is wrong with the first object that cannot be read, found by reading again, one by one."""
        for row, record in self.records():
            for name, kind in zip(wanted.names, wanted.types, strict=True):
                problem = misfit(record.get(name), kind)
                if problem:
                    return FileError(self.source, f"{quote(name)} {problem}.", row=row)
        text, _, place = str(error).strip().partition("\n")[0].partition(" in row ")
        at = self.start + int(place) + 1 if place.isdecimal() else None
        return FileError(self.source, f"this cannot be read: {text[:200].rstrip('.')}.", row=at)


def blocks_of_lines(path: Path, at_once: int = 0, *, limited: bool = True, counting: bool = False) -> Iterator[bytes]:
    """Whole lines, so many bytes at a time; `counting` those before one that is too long."""
    head_of(path, 16)  # says what it is, where it is no text
    parts: list[bytes] = []
    size, mark = 0, b"\xef\xbb\xbf"
    with opened(path) as stream:
        while chunk := stream.read(at_once or BLOCK):
            data, mark = chunk.removeprefix(mark), b""
            cut = data.rfind(b"\n") + 1
            if cut:
                yield b"".join((*parts, data[:cut]))
                parts, size = [], 0
            parts.append(data[cut:])
            size += len(parts[-1])
            if limited and size > LONGEST:
                if counting:
                    return
                row = 1 + sum(len(lines_of(block)) for block in blocks_of_lines(path, counting=True))
                raise FileError(str(path), f"this line is longer than {LONGEST:,} bytes.", row=row)
    if size:
        yield b"".join(parts)


JSON_LINES = Format("jsonl", (".jsonl", ".ndjson"), JsonReader, compressed=True)
