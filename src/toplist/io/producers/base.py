"""What all producers share: a first look at files, the table that each of them makes, and rows for it."""

from __future__ import annotations

import csv
import glob
import json
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import filter as filter_names
from fnmatch import fnmatch
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from toplist._files import need
from toplist._text import argument, listed, quote
from toplist.errors import FileError, TopListError
from toplist.io.readers.arrow import ARROW, PARQUET
from toplist.io.readers.base import Reader, TableChunk, opened
from toplist.io.readers.json_lines import MisfitError, as_array

if TYPE_CHECKING:
    from toplist.io.options import ReadOptions

# The columns of the table that a producer makes; the first three are always there.
CASE, CLASSES, CONFIDENCES = "case", "classes", "confidences"
OUTCOME, N_CLASSES, CLUSTER, GROUP = "outcome", "n_classes", "cluster", "group"
ANSWER_MASS = "answer_mass"  # the probability of all declared answers together, before anything is done about the rest
_HEAD = 1 << 20  # bytes of a file that are looked at
_SHORT = 1 << 16  # characters of a longer document that are closed, to see how it begins
_BEGINNING = 1 << 16  # bytes in which the beginning of a file is looked for
_RECORDS = 20  # records that are looked at
_KEPT = 24  # things seen of files that are kept
_STORED = (*PARQUET.suffixes, *ARROW.suffixes)
_HELD = 1 << 28  # bytes of a table that are kept in memory for further passes
_BATCH = 4096  # rows of a batch that is made row by row


@dataclass(frozen=True)
class FirstLook:
    """What can be seen of a path without reading all of it: its files, their first records and their columns.

    What cannot be read has no records and no columns: whoever opens it says why.
    """

    path: str  # a file, a folder or a pattern
    most: ClassVar[int] = 10_000  # files that are looked at

    @cached_property
    def files(self) -> tuple[Path, ...]:
        """The file, those that match the pattern, or all below the folder that are not hidden, by their names."""
        return tuple(sorted(self._found[: self.most]))

    @property
    def too_many(self) -> bool:
        """Whether there are more files than are looked at."""
        return len(self._found) > self.most

    @cached_property
    def _found(self) -> list[Path]:
        try:
            place = Path(self.path)
            if place.is_dir():
                every = _below(place)
            elif place.exists():
                return [place] if place.is_file() else []
            else:
                matching = glob.iglob(self.path, recursive=True) if glob.has_magic(self.path) else ()
                every = (Path(p) for p in matching if Path(p).is_file())
            return list(islice(every, self.most + 1))
        except (OSError, ValueError):  # no path, or none that may be seen
            return []

    def sight(self, path: Path) -> bytes:
        """The first megabyte of a file, decompressed; of Parquet and Arrow, the names of the columns in a line."""
        stored = path.suffix.lower() in _STORED
        found: bytes = self._kept(
            "sight", path, lambda: "\t".join(self.columns(path)).encode() if stored else _bytes(path)
        )
        return found

    def head(self, path: Path) -> str:
        """The first megabyte of a file as text, decompressed; nothing where it is no UTF-8 text."""
        found: str = self._kept("head", path, lambda: _text(self.sight(path)))
        return found

    def first(self, path: Path) -> Any:
        """The first value of a JSON or JSON Lines file; None where it is neither.

        Of a document that is longer than what is looked at, it is the beginning.
        """

        def value() -> Any:
            text = self.head(path)
            return next(iter(_values(text, 1) or _values(_closed(text[:_SHORT]), 1)), None)

        return self._kept("first", path, value)

    def records(self, path: Path) -> list[Any]:
        """The first values of a JSON or JSON Lines file; nothing where it is neither.

        Of a JSON document that is longer than what is looked at, only an array of records, at its top, is seen.
        """
        found: list[Any] = self._kept("records", path, lambda: _values(self.head(path), _RECORDS))
        return found

    def columns(self, path: Path) -> list[str]:
        """The names of the columns of a table: text with a header, Parquet or Arrow; nothing where it is none."""
        stored = path.suffix.lower() in _STORED
        found: list[str] = self._kept(
            "columns", path, lambda: _stored_columns(path) if stored else _written_columns(self.head(path))
        )
        return found

    def _kept(self, what: str, path: Path, made: Callable[[], Any]) -> Any:
        """What was seen of the last files is kept: every producer asks for it."""
        seen = self._seen
        if (what, path) not in seen:
            value = made()
            while len(seen) >= _KEPT:
                seen.pop(next(iter(seen)))
            seen[what, path] = value
        return seen[what, path]

    @cached_property
    def _seen(self) -> dict[tuple[str, Path], Any]:
        return {}


def _below(folder: Path) -> Iterator[Path]:
    """The files in a folder and in the folders below, without those that are hidden."""
    for place, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if name[0] not in "._")
        yield from (Path(place, name) for name in sorted(names) if name[0] not in "._")


def _bytes(path: Path) -> bytes:
    """The first bytes of a file; nothing where it cannot be read."""
    try:
        with opened(path) as stream:
            data: bytes = stream.read(_HEAD)
    except (TopListError, ValueError):  # a name of a file may be no text
        return b""
    return data


def _text(data: bytes) -> str:
    """The same as text; nothing where they are something else."""
    try:
        text = data.decode("utf-8-sig", "strict" if len(data) < _HEAD else "ignore")
    except UnicodeDecodeError:
        return ""
    return "" if "\0" in text else text


def _stored_columns(path: Path) -> list[str]:
    """The columns of a Parquet or Arrow file."""
    chosen = PARQUET if path.suffix.lower() in PARQUET.suffixes else ARROW
    try:
        return [str(name) for name in chosen.open((path,), str(path)).schema.names]
    except (TopListError, need("pyarrow").ArrowException, OSError, ValueError):
        return []


def _written_columns(text: str) -> list[str]:
    """The columns of a table that is text."""
    line = text[: text.find("\n")] if "\n" in text else text
    line = line.partition("\r")[0]
    delimiter = "\t" if "\t" in line else ";" if line.count(";") > line.count(",") else ","
    try:
        return [name.strip() for name in next(csv.reader([line], delimiter=delimiter), [])]
    except csv.Error:  # a field that is longer than any name
        return []


def _values(text: str, most: int) -> list[Any]:
    """The first values of JSON Lines, of a JSON array, or the one value of a document."""
    text = text.lstrip()
    if not text.startswith(("{", "[")):
        return []
    decoder, at = json.JSONDecoder(), int(text.startswith("["))
    found: list[Any] = []
    while len(found) < most:
        while at < len(text) and text[at] in " \t\r\n,":
            at += 1
        try:
            value, at = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            break
        found.append(value)
    return found


_MARKS = re.compile(r'"(?:[^"\\]|\\.)*"|[\[\]{},]')


def _closed(text: str) -> str:
    """The beginning of a JSON document up to its last comma, with everything closed that is open there.

    >>> _closed('{"a": [{"b": 1, "c": "x,y"}, {"b": 2, "c": "x')
    '{"a": [{"b": 1, "c": "x,y"}, {"b": 2}]}'
    """
    open_, end, closing = [], 0, ""
    for found in _MARKS.finditer(text):
        mark = found[0]
        if mark in "[{":
            open_.append("]" if mark == "[" else "}")
        elif mark in "]}" and open_:
            open_.pop()
        elif mark == ",":
            end, closing = found.start(), "".join(reversed(open_))
    return text[:end] + closing


def at_path(value: Any, path: str) -> Any:
    """What stands in nested objects at a path such as `response.body.choices.0`; None where nothing does.

    >>> at_path({"a": [{"b": 1}]}, "a.0.b"), at_path({"a": 1}, "a.b")
    (1, None)
    """
    for part in path.split("."):
        if isinstance(value, Mapping):
            value = value.get(part)
        elif isinstance(value, list) and part.isdigit() and int(part) < len(value):
            value = value[int(part)]
        else:
            return None
    return value


@dataclass(frozen=True, slots=True)
class Match:
    """The files of a producer, and what it was recognised by: "its records have doc_id, resps and filtered_resps"."""

    paths: tuple[Path, ...]
    reason: str
    notes: tuple[str, ...] = ()  # sentences about what was seen


@dataclass(frozen=True, slots=True)
class Request:
    """What a producer reads: files, or objects in memory, with the options of the caller."""

    name: str  # for messages
    options: ReadOptions
    paths: tuple[Path, ...] = ()
    data: Any = None  # objects in memory, where there are no files


@dataclass(frozen=True, slots=True)
class Producer:
    """A program that writes predictions: how its files become a table of lists.

    `match` looks closer than the entry of the table of producers: None, where these are not its files after all.
    """

    open: Callable[[Request], Reader]
    match: Callable[[FirstLook, Match], Match | None] = lambda look, match: match
    options: tuple[str, ...] = ()  # fields of ReadOptions that it uses beside those of every table
    files_only: bool = False  # whether it reads no objects in memory


@dataclass
class ProducedReader(Reader):
    """The table that a producer makes of its files, batch by batch, with one list per row.

    `batches` gives record batches with the columns above, each with the file that it comes from; it is called again
    for every pass. `notes` are sentences about what was read, which are told and shown in the report.
    """

    name: str
    batches: Callable[[], Iterator[tuple[str, Any]]]
    columns: Mapping[str, Any]  # names and types of Arrow
    paths: tuple[Path, ...] = ()
    notes: tuple[str, ...] = ()
    origin: Any = None
    gaps: int = 0  # cases that are missing, of a table without ids
    kept: list[tuple[str, Any]] | None = None  # all batches, after a pass in which they proved to be small

    @cached_property
    def schema(self) -> Any:
        """Names and types."""
        return need("pyarrow").schema(list(self.columns.items()))

    def pieces(self, columns: Sequence[str]) -> Iterator[TableChunk]:
        """The named columns, batch by batch."""
        starts: dict[str, int] = {}
        for source, batch in self._passed():
            start = starts.get(source, 0)
            yield TableChunk(source, start, batch.select(list(columns)))
            starts[source] = start + len(batch)

    def _passed(self) -> Iterator[tuple[str, Any]]:
        """The batches; after a whole pass they are kept, if they are small: to make them again may take long."""
        if self.kept is not None:
            yield from self.kept
            return
        held: list[tuple[str, Any]] | None = []
        size = 0
        for source, batch in self.batches():
            size += batch.nbytes
            if held is not None:
                held.append((source, batch))
                held = held if size <= _HELD else None
            yield source, batch
        self.kept = held


@dataclass(frozen=True, slots=True)
class Row:
    """One case as a producer has it: classes with their probabilities, and what is known of the case."""

    case: str
    classes: Sequence[str]
    confidences: Sequence[float]
    known: Mapping[str, Any] = field(default_factory=dict)  # outcome, n_classes, cluster, group, answer_mass, ...


def columns_of(**known: Any) -> dict[str, Any]:
    """The columns of a produced table, with further ones and their types, as in `columns_of(outcome=pa.string())`."""
    pa = need("pyarrow")
    return {CASE: pa.string(), CLASSES: pa.list_(pa.string()), CONFIDENCES: pa.list_(pa.float64()), **known}


def batches_of(rows: Iterable[tuple[str, Row]], columns: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Rows, each with its file, as record batches: for producers that go through their records one by one."""
    pa, source = need("pyarrow"), ""
    waiting: list[Row] = []
    schema = pa.schema(list(columns.items()))

    def made() -> Any:
        first: dict[str, list[Any]] = {
            CASE: [row.case for row in waiting],
            CLASSES: [list(row.classes) for row in waiting],
            CONFIDENCES: [list(row.confidences) for row in waiting],
        }
        further = {name: [row.known.get(name) for row in waiting] for name in columns if name not in first}
        every = {**first, **further}
        return pa.record_batch([_array(every[n], t, n, source, waiting) for n, t in columns.items()], schema=schema)

    for path, row in rows:
        if waiting and (path != source or len(waiting) == _BATCH):
            yield source, made()
            waiting.clear()
        source = path
        waiting.append(row)
    if waiting:
        yield source, made()


@dataclass(frozen=True, slots=True)
class Entry:
    """What is known of a producer before its module is imported: what its files look like, and nothing else does."""

    module: str
    title: str  # as documentation and messages call it
    names: tuple[str, ...] = ("*",)  # patterns of the names of its files
    keys: tuple[str, ...] = ()  # paths that its first record has, all of them
    columns: tuple[str, ...] = ()  # columns, or patterns of them, that its tables have, all of them
    head: str = ""  # a regular expression that the beginning of its files has, or the columns of its Parquet files
    asked: bool = False  # whether it is used only where it is asked for by name


def recognised(
    look: FirstLook, producers: Mapping[str, Entry], load: Callable[[str], Producer]
) -> tuple[str, Match] | None:
    """The producer whose files these certainly are, with the reason; an error where there are two; or None.

    A module is imported only where a file has all that its entry says. In a folder, or among the files that match a
    pattern, every file is looked at.
    """
    found = {}
    for name, entry in producers.items():
        match = None if entry.asked else _fits(look, entry)
        match = None if match is None else load(name).match(look, match)
        if match is not None:
            found[name] = match
    if len(found) > 1:
        ways = " or ".join(argument("producer", name) for name in found)
        saw = "; ".join(f"{producers[name].title}: {match.reason}" for name, match in found.items())
        raise FileError(look.path, f"this may come from {listed(list(found), show=str)} ({saw}). Say which: {ways}.")
    if not found:
        return None
    (one,) = found.items()
    if look.too_many:
        raise FileError(
            look.path,
            f"these are more than {look.most:,} files, some of them of {producers[one[0]].title}: name those to read, "
            "as a folder or by a pattern.",
        )
    return one


def files_of(entry: Entry, look: FirstLook) -> tuple[Path, ...]:
    """The files that a producer reads which is asked for: those with its names or, where there are none, all."""
    return tuple(p for p in look.files if _is_named(p, entry)) or look.files


def _fits(look: FirstLook, entry: Entry) -> Match | None:
    """The files that have all that an entry says."""
    if not (entry.keys or entry.columns) and "*" in entry.names:
        return None
    able = (path for path in look.files if _is_named(path, entry) and _may_fit(look, path, entry))
    reasons = {path: reason for path in able for reason in [_reason(look, path, entry)] if reason}
    return Match(tuple(reasons), next(iter(reasons.values()))) if reasons else None


def _is_named(path: Path, entry: Entry) -> bool:
    return any(fnmatch(path.name.lower(), pattern) for pattern in entry.names)


def _may_fit(look: FirstLook, path: Path, entry: Entry) -> bool:
    """Whether a file has the words that an entry needs: most have not, and need not be taken apart."""
    sight = look.sight(path)
    words = [max(pattern.split("*"), key=len) for pattern in entry.columns]
    words += [f'"{part}"' for key in entry.keys for part in key.split(".") if not part.isdigit()]
    if entry.head and not re.search(entry.head.encode(), sight[:_BEGINNING]):
        return False
    line = sight.partition(b"\n")[0].rstrip()
    whole = not entry.keys or line[-1:] in (b"}", b"]")  # a header, or a record in a line of its own
    return all(word.encode() in (line if whole else sight) for word in words)


def _reason(look: FirstLook, path: Path, entry: Entry) -> str:
    """What tells that a file has all that an entry says; nothing where it has not."""
    if entry.keys:
        record: Any = look.first(path)
        seen = record is not None and all(at_path(record, key) is not None for key in entry.keys)
        return f"its records have {listed(list(entry.keys))}" if seen else ""
    if not entry.columns:
        return f"it is called {path.name}"
    names = look.columns(path)
    seen = all(pattern in names or filter_names(names, pattern) for pattern in entry.columns)
    return f"it has the columns {listed(list(entry.columns))}" if seen else ""


def _array(values: Sequence[Any], kind: Any, name: str, source: str, rows: Sequence[Row]) -> Any:
    """A column of a batch."""
    try:
        return as_array(values, kind)
    except MisfitError as error:
        case = quote(rows[error.place].case)
        raise FileError(source, f"of case {case}, {name} {error.problem}.") from None
