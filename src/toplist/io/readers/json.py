"""JSON documents: an array of records, an object that holds one, or records by their ids; read as lines are.

A document is gone through record by record: each is handed to `JsonReader` as a line, and only some megabytes of the
document are in memory.
"""

from __future__ import annotations

import codecs
import json
import re
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from types import GenericAlias
from typing import Any, Literal

from toplist._files import need
from toplist._text import argument, listed, quote
from toplist.errors import FileError
from toplist.io.readers.base import COMPRESSIONS, NOT_UTF8, Format, head_of, opened
from toplist.io.readers.json_lines import LONGEST, JsonReader, lines_of_text
from toplist.io.words import CONFIDENCE, STRONG_IDS, spelled_field

_CHUNK = 1 << 20  # bytes that are read at a time, at least
_LOOKED_AT = 20  # records by id that tell whether they are alike
_decode = json.JSONDecoder().raw_decode  # a field that is there twice is found where lines are read
_blanks: Any = re.compile(r"[ \t\r\n]*").match
_ends: Any = re.compile(r"[]}\s]*$").search
_END = 100  # characters of it that are looked at
_CUT = "the file is cut short: the JSON document has no end. Write it anew."
_REMEDY = " Write an array of objects, or one object per line as .jsonl."


class _Document:
    """A JSON document that is read from its beginning on: its brackets are entered, or values are taken whole."""

    def __init__(self, path: Path, stream: Any) -> None:
        self.path, self._stream, self._text, self._at = path, stream, "", 0
        self._last, self._tried = "", False  # how the last value ends, and whether several were taken of what was read
        # Bytes that are no text are kept until their record is known.
        self._decode = codecs.getincrementaldecoder("utf-8")("surrogateescape").decode
        self._more(_CHUNK)
        self._text = self._text.removeprefix("\ufeff")

    def peek(self) -> str:
        """The next character that is no blank; nothing at the end."""
        while True:
            self._at = _blanks(self._text, self._at).end()
            if mark := self._text[self._at : self._at + 1]:
                return mark
            if not self._more(_CHUNK):
                return ""

    def take(self, marks: str) -> str:
        """One of these characters, which comes next."""
        if not (mark := self.peek()):
            raise FileError(str(self.path), _CUT)
        if mark not in marks:
            raise self.error("no JSON document")
        self._at += 1
        return mark

    def value(self, row: int | None = None) -> tuple[Any, bytes]:
        """The value that comes next, and how it is written, in one line; `row` is for messages."""
        self.peek()
        ended = False
        while True:
            try:
                value, end = _decode(self._text, self._at)
            except (ValueError, RecursionError) as error:
                if not self._is_cut(error, ended):
                    raise self.error("no JSON object" if row else "no JSON document", row) from None
                end = 0
            if end and (ended or end < len(self._text)):  # a number may have more digits
                break
            if ended:
                raise FileError(str(self.path), _CUT)
            size = len(self._text) - self._at
            if size > LONGEST:
                raise FileError(str(self.path), f"this record is longer than {LONGEST:,} bytes.", row=row)
            ended = not self._more(max(_CHUNK, size))  # more each time, since all is parsed again
        written, self._at = self._text[self._at : end], end
        self._last = written[-_END:]
        try:
            return value, written.replace("\n", " ").replace("\r", " ").encode()
        except UnicodeEncodeError:
            raise FileError(str(self.path), NOT_UTF8, row=row) from None

    def _is_cut(self, error: BaseException, ended: bool) -> bool:
        """Whether it is the end of what was read that made the error: of a string, or of a word such as -Infinity."""
        if not isinstance(error, json.JSONDecodeError):
            return False
        end = len(self._text.rstrip()) if ended else len(self._text) - len("-Infinity") + 1
        return error.msg.startswith("Unterminated") or error.pos >= end

    def elements(self) -> Iterator[bytes]:
        """The elements of an array, each in one line."""
        self.take("[")
        if self.peek() == "]":
            self.take("]")
            return
        row, mark = 0, ","
        while mark == ",":
            yield self.value(row := row + 1)[1]
            if (mark := self.take(",]")) == ",":
                several = self._several()
                row += len(several)
                yield from several

    def _several(self) -> Sequence[bytes]:
        """Most of the elements that were read already, if they end as the last one did; none where that is not sure.

        They are taken up to a comma that may be inside of an element: then a bracket is open, and they are no array.
        """
        ends = _ends(self._last)[0]
        end = -1 if self._tried or not ends else self._text.rfind(f"{ends},", self._at)
        self._tried = True
        if end < 0:
            return ()
        msgspec, end = need("msgspec"), end + len(ends)
        text = self._text[self._at : end].replace("\n", " ").replace("\r", " ")
        try:
            found = msgspec.json.decode(b"[%b]" % text.encode(), type=GenericAlias(list, msgspec.Raw))
        except (ValueError, RecursionError):  # each is read by itself, which tells what is wrong, if anything is
            return ()
        self._at = end + 1
        return [bytes(one) for one in found]

    def members(self) -> Iterator[tuple[str, bytes]]:
        """The keys of an object, read and as they are written; whoever asks takes the value of each."""
        self.take("{")
        if self.peek() == "}":
            self.take("}")
            return
        seen, mark = set[str](), ","
        while mark == ",":
            if self.peek() not in ('"', ""):
                raise self.error("no JSON document")
            key, written = self.value(None)
            if key in seen:
                raise FileError(str(self.path), f"the field {quote(key)} is there twice.")
            seen.add(key)
            self.take(":")
            yield key, written
            mark = self.take(",}")

    def skip(self) -> Any:
        """Go over a value; of an array, in which there may be very much, the first element."""
        if self.peek() != "[":
            return self.value(None)[0]
        lines = self.elements()
        first = [json.loads(line) for line in islice(lines, 1)]
        deque(lines, 0)
        return first

    def end(self) -> None:
        """Refuse whatever stands behind the document."""
        if self.peek() in ("{", "["):
            raise FileError(str(self.path), "there is more than one JSON document in this file: name it .jsonl.")
        if self.peek():
            raise self.error("no end of a JSON document")

    def error(self, what: str, row: int | None = None) -> FileError:
        """What stands here is not what it should be."""
        here = self._text[self._at : self._at + 60].strip().encode("utf-8", "replace").decode()
        subject = "this record" if row else "this"
        return FileError(str(self.path), f"{subject} is {what}: {quote(here)}.{'' if row else _REMEDY}", row=row)

    def _more(self, size: int) -> bool:
        """Read on; what was gone over is forgotten."""
        data = self._stream.read(size)
        if data:
            self._text, self._at = self._text[self._at :], 0
        self._text += self._decode(data, final=not data)
        self._tried = False
        return bool(data)


@dataclass(frozen=True, slots=True)
class _Shape:
    """What a row of a document is."""

    kind: Literal["lines", "array", "member", "ids", "document"]
    key: str = ""  # of the member whose elements are rows

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

    def lines(self, path: Path) -> Iterator[bytes]:
        """The records, one per line."""
        shape = self._shape(path)
        return lines_of_text(path) if shape.kind == "lines" else _records(path, shape)

    def _shape(self, path: Path) -> _Shape:
        if path not in self._shapes:
            own = self._shapes[path] = _shape_of(path, self.records)
            home, first = next(iter(self._shapes.items()))
            if own != first:
                raise FileError(
                    str(path),
                    f"this document has {own.describe()}, but {home} has {first.describe()}. All files of a folder or "
                    "a pattern are one prediction: give them apart.",
                )
        return self._shapes[path]


def _records(path: Path, shape: _Shape) -> Iterator[bytes]:
    """The records of a document as lines."""
    with opened(path) as stream:
        document = _Document(path, stream)
        if shape.kind == "document":
            value, line = document.value()
            stem = re.sub(rf"(\.json)?({'|'.join(map(re.escape, COMPRESSIONS))})?$", "", path.name, flags=re.IGNORECASE)
            file = b"" if "file" in value else b'"file": ' + json.dumps(stem).encode() + b", "
            yield b"{" + file + line[1:]
        elif shape.kind == "array":
            yield from _elements(document)
        else:
            for row, (key, written) in enumerate(document.members(), 1):
                if shape.kind == "ids":
                    value, line = document.value(row)
                    yield _with_id(value, written, line)
                elif key == shape.key:
                    yield from _elements(document)
                else:
                    document.skip()
        document.end()


def _elements(document: _Document) -> Iterator[bytes]:
    """The elements of an array of objects, or of lists, as lines."""
    kinds = set[bytes]()
    for row, line in enumerate(document.elements(), 1):
        kinds.add(line[:1])
        if kinds == {b"[", b"{"}:
            problem = "some records are objects, and some are lists: write all alike."
            raise FileError(str(document.path), problem, row=row)
        yield b'{"records": ' + line + b"}" if line.startswith(b"[") else line


def _with_id(record: Any, key: bytes, line: bytes) -> bytes:
    """A record with its id; a list of records as a field of one."""
    if isinstance(record, list):
        return b'{"id": ' + key + b', "records": ' + line + b"}"
    if not isinstance(record, dict):
        return line  # which is then refused
    name = b"key" if "id" in record else b"id"
    return b'{"' + name + b'": ' + key + (b", " if record else b"") + line[1:]


def _shape_of(path: Path, records: str) -> _Shape:
    """What a row of a document is, or an error that says what to do."""
    head_of(path, 16)  # says what it is, where it is no text
    arrays: dict[str, dict[str, Any]] = {}  # of objects: the first one of each
    objects: list[dict[str, Any]] = []  # the first ones
    many, plain = 0, list[str]()  # the number of objects, and the keys of what is neither
    with opened(path) as stream:
        document = _Document(path, stream)
        if document.peek() == "[":
            document.take("[")
            if document.peek() in ("{", "["):
                return _Shape("array")
            if document.peek() != "]":
                raise document.error("an array whose elements are no objects")
            document.take("]")
        elif document.peek():
            for key, _ in document.members():
                value = document.skip()
                if isinstance(value, list) and isinstance(next(iter(value), None), dict):
                    arrays[key] = value[0]
                elif isinstance(value, dict):
                    many += 1
                    objects += [value] if many <= _LOOKED_AT else []
                else:
                    plain.append(key)
            if document.peek() == "{":
                return _Shape("lines")
        document.end()
    if arrays:
        return _shape_with(arrays, plain, path, records, alone=not many and not plain)
    if not (many or plain):
        raise FileError(str(path), "there is no record in this file.")
    return _Shape("ids" if many > 1 and not plain and _are_alike(objects) else "document")


def _shape_with(
    arrays: Mapping[str, dict[str, Any]], plain: Sequence[str], path: Path, records: str, *, alone: bool
) -> _Shape:
    """What a row is of an object that holds arrays of objects, and perhaps other members."""
    named = any(records == key or records.startswith((f"{key}.", f"{key}[")) for key in arrays)
    if named or any(spelled_field(key) in STRONG_IDS for key in plain):
        return _Shape("document")
    key, first = next(iter(arrays.items()))
    if len(arrays) > 1:
        if alone and all(map(_is_scored, arrays.values())):
            return _Shape("ids")
        raise FileError(
            str(path),
            f"{listed(list(arrays))} are arrays of objects, and rows may be the elements of any of them. Write "
            f"the one with the predictions as a file of its own; or, if the document is one case, say "
            f"{argument('records', key)}.",
        )
    if _is_scored(first):
        raise FileError(
            str(path),
            f"the objects in {quote(key)} have confidences: if they are the list of one case, say "
            f"{argument('records', key)}; if each of them is a case, write this array alone into the file.",
        )
    return _Shape("member", key)


def _are_alike(objects: Sequence[dict[str, Any]]) -> bool:
    """Whether objects are records of one kind: they have fields in common, or hold nothing but numbers."""
    filled = [record for record in objects if record]
    numbers = all(isinstance(value, int | float) for record in filled for value in record.values())
    return numbers or all(set(record) & set(filled[0]) for record in filled)


def _is_scored(record: Mapping[str, Any]) -> bool:
    """Whether an object has a confidence, and no id: it may be one of the classes of a case."""
    names = [spelled_field(key) for key, value in record.items() if not isinstance(value, list | dict)]
    return any(name in CONFIDENCE for name in names) and not any(name in STRONG_IDS for name in names)


JSON = Format("json", (".json",), JsonDocumentReader, compressed=True, beside=False)
