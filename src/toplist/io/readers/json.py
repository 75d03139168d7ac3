"""JSON documents: an array of records, an object that holds one, or records by their ids; read as lines are.

What a row is, is told by brackets, colons and commas alone: each record is found, and parsed by `JsonReader`, without
the document being in memory as a whole.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np

from toplist._text import argument, listed, quote
from toplist.errors import FileError
from toplist.io.readers.base import COMPRESSIONS, Format, head_of, opened
from toplist.io.readers.json_lines import BLOCK, LONGEST, JsonReader, blocks_of_lines, parse
from toplist.io.recognition.words import CONFIDENCE, STRONG_IDS, spelled_field

_CHUNK = 1 << 20  # bytes that are scanned at a time
_HEAD = 1 << 16  # bytes of a member of the document that are looked at
_LOOKED_AT = 20  # records by id that tell whether they are alike
_KEY = re.compile(rb'\s*("(?:[^"\\]|\\.)*")\s*:\s*', re.DOTALL)
_PAIRS = {b"[": b"]", b"{": b"}"}
_CUT = "the file is cut short: the JSON document has no end. Write it anew."
_REMEDY = " Write an array of objects, or one object per line as .jsonl."

# What a character of JSON does; all others do nothing.
_QUOTE, _BACKSLASH, _COMMA, _OPEN, _CLOSE, _LINE = 1, 2, 3, 4, 5, 6
_ROLES = np.zeros(256, np.uint8)
for _characters, _role in (
    (b'"', _QUOTE),
    (b"\\", _BACKSLASH),
    (b",", _COMMA),
    (b"[{", _OPEN),
    (b"]}", _CLOSE),
    (b"\n\r", _LINE),
):
    _ROLES[list(_characters)] = _role


@dataclass(frozen=True, slots=True)
class _Span:
    """What stands between commas at one depth of brackets."""

    container: int  # the number of the bracket that it is in, among those that open this depth
    opener: bytes
    text: bytes  # without blanks around it, and without line ends in it
    whole: bool = True  # whether that is all of it


def _spans(path: Path, depth: int, most: int = LONGEST) -> Iterator[_Span]:
    """The elements of arrays and the members of objects at a depth, no more than `most` bytes of each."""
    state = _State(path, depth, most)
    rest, mark = b"", b"\xef\xbb\xbf"
    with opened(path) as stream:
        while chunk := stream.read(_CHUNK):
            data, mark = rest + chunk.removeprefix(mark), b""
            kept = len(data.rstrip(b"\\"))  # what a backslash is for is in the next chunk
            rest = data[kept:]
            yield from state.of(data[:kept])
    if rest or state.level or state.inside:
        raise FileError(str(path), _CUT)


@dataclass(slots=True)
class _State:
    """Where a scan stands between two chunks."""

    path: Path
    depth: int
    most: int
    level: int = 0  # brackets that are open
    inside: bool = False  # a string
    container: int = -1
    opener: bytes = b""
    count: int = 0  # of spans in this container
    active: bool = False  # whether a span has begun
    parts: list[bytes] = field(default_factory=list)
    size: int = 0

    def of(self, data: bytes) -> Iterator[_Span]:
        """The spans that end in this chunk."""
        chunk = np.frombuffer(data, np.uint8).copy()
        roles = _ROLES[chunk]
        at = np.flatnonzero(roles)
        roles = roles[at]
        strings = np.cumsum((roles == _QUOTE) & ~_escaped(roles, at)) + self.inside
        outside = strings % 2 == 0
        chunk[at[(roles == _LINE) & outside]] = ord(" ")
        steps = np.where(outside, (roles == _OPEN).astype(np.int64) - (roles == _CLOSE), 0)
        levels = self.level + np.cumsum(steps)
        if len(at):
            self.inside, self.level = bool(strings[-1] % 2), int(levels[-1])
            if levels.min() < 0:
                raise FileError(str(self.path), "a bracket closes that was not opened: write the document anew.")
        opens, closes = (steps > 0) & (levels == self.depth), (steps < 0) & (levels == self.depth - 1)
        marks = opens | closes | ((roles == _COMMA) & outside & (levels == self.depth))
        text, begin = chunk.tobytes(), 0
        for place, step in zip(at[marks].tolist(), steps[marks].tolist(), strict=True):
            if step > 0:
                self._require_nothing(text[begin:place])
                self.container, self.opener = self.container + 1, text[place : place + 1]
                self.active, self.count = True, 0
            else:
                if step < 0 and _PAIRS[self.opener] != text[place : place + 1]:
                    raise FileError(str(self.path), "brackets of two kinds are one pair: write the document anew.")
                self._add(text[begin:place])
                yield from self._ended(last=step < 0)
            begin = place + 1
        if self.active:
            self._add(text[begin:])
        else:
            self._require_nothing(text[begin:])

    def _add(self, text: bytes) -> None:
        self.size += len(text)
        if self.size - len(text) < self.most:
            self.parts.append(text)

    def _ended(self, *, last: bool) -> Iterator[_Span]:
        text, whole = b"".join(self.parts).strip(), self.size <= self.most
        self.parts, self.size, self.active = [], 0, not last
        if text:
            self.count += 1
            yield _Span(self.container, self.opener, text, whole)
        elif self.count or not last:
            raise FileError(str(self.path), "there is a comma too many: nothing stands before it or after it.")

    def _require_nothing(self, text: bytes) -> None:
        """Outside of the document there is nothing but blanks."""
        if self.depth == 1 and text.strip():
            what = "no JSON document" if self.container < 0 else "no end of a JSON document"
            raise FileError(str(self.path), f"this is {what}: {quote(_start(text.strip()))}.{_REMEDY}")


def _escaped(roles: Any, at: Any) -> Any:
    """Which characters follow an odd number of backslashes."""
    slash = roles == _BACKSLASH
    if not slash.any():
        return np.zeros(len(at), bool)
    order = np.arange(len(at))
    next_to = np.concatenate(([False], np.diff(at) == 1))
    goes_on = slash & next_to & np.concatenate(([False], slash[:-1]))
    first = np.maximum.accumulate(np.where(goes_on, 0, order))  # of the run of backslashes
    odd = slash & ((order - first) % 2 == 0)
    return next_to & np.concatenate(([False], odd[:-1]))


@dataclass(frozen=True, slots=True)
class _Shape:
    """What a row of a document is."""

    kind: Literal["lines", "array", "member", "ids", "document"]
    key: str = ""  # of the member whose elements are rows
    container: int = 0  # its number among the members with brackets

    def describe(self) -> str:
        """A row in words."""
        return {
            "lines": "a row per line",
            "array": "a row per element of the array",
            "member": f"a row per element of {quote(self.key)}",
            "ids": "a row per member of the object, whose key is the id",
            "document": "one row for the whole document",
        }[self.kind]


@dataclass
class JsonDocumentReader(JsonReader):
    """One or more JSON documents of one shape.

    Rows are the elements of an array, or of the only array of objects in an object; or the members of an object of
    objects, with their keys as a column `id`; or the document is one row, with the name of its file as a column `file`.
    Elements that are lists themselves become a column `records`.
    """

    records: str = ""  # the path of records, where the caller names one
    unit = "record"
    _shapes: dict[Path, _Shape] = field(default_factory=dict, init=False)

    @property
    def row(self) -> str:  # type: ignore[override]
        """What a row is, where the document is no array of them."""
        shape = self._shape(self.paths[0])
        return "" if shape.kind in ("array", "lines") else shape.describe()

    def look_for(self, records: str) -> None:
        """See `Reader`."""
        self.records = records

    def blocks(self, path: Path) -> Iterator[bytes]:
        """The records, one per line, some megabytes at a time."""
        shape = self._shape(path)
        if shape.kind == "lines":
            yield from blocks_of_lines(path)
            return
        lines: list[bytes] = []
        size = 0
        for line in _records(path, shape):
            lines.append(line)
            size += len(line)
            if size >= BLOCK:
                yield b"\n".join(lines)
                lines, size = [], 0
        if lines:
            yield b"\n".join(lines)

    def _shape(self, path: Path) -> _Shape:
        if path not in self._shapes:
            own = self._shapes[path] = _shape_of(path, self.records)
            home, first = next(iter(self._shapes.items()))
            if own != first and (own.kind, own.key) != (first.kind, first.key):
                raise FileError(
                    str(path),
                    f"this document has {own.describe()}, but {home} has {first.describe()}. All files of a folder or "
                    "a pattern are one prediction: give them apart.",
                )
        return self._shapes[path]


def _records(path: Path, shape: _Shape) -> Iterator[bytes]:
    """The records of a document as lines."""
    if shape.kind == "document":
        members = b", ".join(_whole(span, path, 1) for span in _spans(path, 1))
        file = b"" if _has_key(members, "file") else b'"file": ' + json.dumps(_stem(path)).encode() + b", "
        yield b"{" + file + members + b"}"
        return
    row, first = 0, b""
    for span in _spans(path, 2 if shape.kind == "member" else 1):
        if shape.kind != "member" and span.container:
            raise FileError(str(path), "there is more than one JSON document in this file: name it .jsonl.")
        if shape.kind != "member" or span.container == shape.container:
            row += 1
            text = _whole(span, path, row)
            first = first or text[:1]
            if text[:1] != first and {text[:1], first} == {b"[", b"{"}:
                raise FileError(str(path), "some records are objects, and some are lists: write all alike.", row=row)
            if shape.kind == "ids":
                yield _with_id(*_member(text, path))
            else:
                yield b'{"records": ' + text + b"}" if text.startswith(b"[") else text


def _whole(span: _Span, path: Path, row: int) -> bytes:
    if not span.whole:
        raise FileError(str(path), f"this record is longer than {LONGEST:,} bytes.", row=row)
    return span.text


def _with_id(key: bytes, value: bytes) -> bytes:
    """A record with its id; a list of records as a field of one."""
    if value.startswith(b"["):
        return b'{"id": ' + key + b', "records": ' + value + b"}"
    name = b"key" if _has_key(value[1:-1], "id") else b"id"
    inner = value[1:-1].strip() if value.startswith(b"{") and value.endswith(b"}") else value  # which is then refused
    return b'{"' + name + b'": ' + key + (b", " + inner if inner else b"") + b"}"


def _has_key(members: bytes, key: str) -> bool:
    """Whether an object has a field; only what may be one is parsed."""
    if f'"{key}"'.encode() not in members:
        return False
    try:
        return key in json.loads(b"{" + members + b"}")
    except (ValueError, RecursionError):  # said where it is parsed as a record
        return True


def _stem(path: Path) -> str:
    """The name of a file without the suffixes of JSON."""
    name = path.name
    for suffix in (*COMPRESSIONS, ".json"):
        name = name[: -len(suffix)] if name.lower().endswith(suffix) else name
    return name


def _member(text: bytes, path: Path) -> tuple[bytes, bytes]:
    """The key of a member of an object, as it is written, and its value."""
    found = _KEY.match(text)
    if found is None:
        raise FileError(str(path), f"this is no JSON document: {quote(_start(text))}.")
    return found[1], text[found.end() :]


@dataclass(slots=True)
class _Members:
    """What is seen of the members of an object."""

    arrays: dict[str, tuple[int, Any]] = field(default_factory=dict)  # of objects: their number and first element
    objects: list[Any] = field(default_factory=list)  # the first ones
    many: int = 0
    plain: list[str] = field(default_factory=list)  # the keys of all others
    brackets: int = 0

    @property
    def alike(self) -> bool:
        """Whether objects are records of one kind: they have fields in common, or hold nothing but numbers."""
        known = [one for one in self.objects if isinstance(one, Mapping) and one]
        numbers = all(isinstance(value, int | float) for one in known for value in one.values())
        return numbers or all(set(one) & set(known[0]) for one in known)


def _shape_of(path: Path, records: str) -> _Shape:
    """What a row of a document is, or an error that says what to do."""
    head_of(path, 16)  # says what it is, where it is no text
    seen = _Members()
    empty = True
    for span in _spans(path, 1, _HEAD):
        empty = False
        if span.container:
            return _Shape("lines")
        if span.opener == b"[":
            if span.text[:1] not in (b"{", b"["):
                raise FileError(
                    str(path), f"the elements of this array are no objects: {quote(_start(span.text))}.{_REMEDY}"
                )
            return _Shape("array")
        _see(seen, *_member(span.text, path), span.whole, path)
    if empty:
        raise FileError(str(path), "there is no record in this file.")
    return _chosen(seen, path, records)


def _see(seen: _Members, key: bytes, value: bytes, whole: bool, path: Path) -> None:
    """One more member of the document."""
    first, inner = value[:1], value[1:].lstrip()[:1]
    try:
        name = str(json.loads(key))
        if whole and first not in (b"[", b"{"):
            json.loads(value)
    except ValueError:
        raise FileError(str(path), f"this is no JSON document: {quote(_start(key + b': ' + value))}.") from None
    if first == b"[" and inner == b"{":
        if name in seen.arrays:
            raise FileError(str(path), f"the field {quote(name)} is there twice.")
        seen.arrays[name] = (seen.brackets, _first_element(value))
    elif first == b"{":
        seen.many += 1
        if len(seen.objects) < _LOOKED_AT and whole:
            seen.objects.append(parse(value, str(path), seen.many, "record"))
    else:
        seen.plain.append(name)
    seen.brackets += first in (b"[", b"{")


def _chosen(seen: _Members, path: Path, records: str) -> _Shape:
    named = next((key for key in seen.arrays if records == key or records.startswith((f"{key}.", f"{key}["))), None)
    has_id = any(spelled_field(key) in STRONG_IDS for key in seen.plain)
    if named is not None or (seen.arrays and has_id):
        return _Shape("document")
    scored = {key: one for key, (_, one) in seen.arrays.items() if _is_scored(one)}
    if len(seen.arrays) > 1:
        if len(scored) == len(seen.arrays) and not seen.many and not seen.plain:
            return _Shape("ids")
        raise FileError(
            str(path),
            f"{listed(list(seen.arrays))} are arrays of objects, and rows may be the elements of any of them. Write "
            f"the one with the predictions as a file of its own; or, if the document is one case, say "
            f"{argument('records', next(iter(seen.arrays)))}.",
        )
    for key, (number, _) in seen.arrays.items():
        if key in scored:
            raise FileError(
                str(path),
                f"the objects in {quote(key)} have confidences: if they are the list of one case, say "
                f"{argument('records', key)}; if each of them is a case, write this array alone into the file.",
            )
        return _Shape("member", key, number)
    return _Shape("ids" if seen.many > 1 and not seen.plain and seen.alike else "document")


def _is_scored(record: Any) -> bool:
    """Whether an object has a confidence, and no id: it may be one of the classes of a case."""
    names = [spelled_field(key) for key, value in record.items() if not isinstance(value, list | dict)]
    return any(name in CONFIDENCE for name in names) and not any(name in STRONG_IDS for name in names)


def _first_element(text: bytes) -> dict[str, Any]:
    """The first object of an array of which the first bytes are known; an empty one where it is longer than they."""
    try:
        value, _ = json.JSONDecoder().raw_decode(text[1:].decode("utf-8", "ignore").lstrip())
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def _start(text: bytes) -> str:
    return text[:60].decode("utf-8", "replace")


JSON = Format("json", (".json",), JsonDocumentReader, compressed=True, beside=False)
