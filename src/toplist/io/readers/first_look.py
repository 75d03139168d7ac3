"""What files show before they are read: their first records and the names of their columns."""

from __future__ import annotations

import csv
import glob
import json
import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from toplist._files import as_path, as_remote, need
from toplist.errors import TopListError
from toplist.io.readers.arrow import ARROW, PARQUET
from toplist.io.readers.base import Format, opened

if TYPE_CHECKING:
    from toplist._remote import RemotePath

_HEAD = 1 << 20  # bytes of a file that are looked at
_SHORT = 1 << 16  # characters of a longer document that are closed, to see how it begins
_RECORDS = 20  # records that are looked at
_KEPT = 24  # things seen of files that are kept


@dataclass(frozen=True)
class FirstLook:
    """What can be seen of a path without reading all of it: its files, their first records and their columns.

    What cannot be read has no records and no columns: whoever opens it says why.
    """

    path: str  # a file, a folder or a pattern
    most: ClassVar[int] = 10_000  # files that are looked at

    def __post_init__(self) -> None:
        # What is seen of the last files is kept: every producer asks for it.
        for look in ("sight", "head", "first", "records", "columns"):
            object.__setattr__(self, look, lru_cache(_KEPT)(getattr(self, look)))

    @cached_property
    def files(self) -> tuple[Path, ...]:
        """The file, those that match the pattern, or all below the folder that are not hidden, by their names."""
        return tuple(sorted(self._files[: self.most]))

    @property
    def too_many(self) -> bool:
        """Whether there are more files than are looked at."""
        return len(self._files) > self.most

    @cached_property
    def _files(self) -> list[Path]:
        """Of very many, one more than are looked at."""
        remote = as_remote(self.path)
        if remote is not None:
            return list(islice(_elsewhere(remote), self.most + 1))
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
        return "\t".join(self.columns(path)).encode() if _stored_as(path) else _bytes(path)

    def head(self, path: Path) -> str:
        """The first megabyte of a file as text, decompressed; nothing where it is no UTF-8 text."""
        return _text(self.sight(path))

    def first(self, path: Path) -> Any:
        """The first value of a JSON or JSON Lines file; None where it is neither.

        Of a document that is longer than what is looked at, it is the beginning.
        """
        text = self.head(path)
        return next(iter(_values(text, 1) or _values(_closed(text[:_SHORT]), 1)), None)

    def records(self, path: Path) -> list[Any]:
        """The first values of a JSON or JSON Lines file; nothing where it is neither.

        Of a JSON document that is longer than what is looked at, only an array of records, at its top, is seen.
        """
        return _values(self.head(path), _RECORDS)

    def columns(self, path: Path) -> list[str]:
        """The names of the columns of a table: text with a header, Parquet or Arrow; nothing where it is none."""
        stored = _stored_as(path)
        return _written_columns(self.head(path)) if stored is None else _stored_columns(path, stored)


def _elsewhere(path: RemotePath) -> Iterator[Path]:
    """The same of a URL."""
    if path.is_dir():
        files: Iterable[RemotePath] = path.below()
    else:
        files = [path] if path.is_file() else (match for match in path.matching() if match.is_file())
    return map(as_path, files)


def _below(folder: Path) -> Iterator[Path]:
    """The files in a folder and in the folders below, without those that are hidden."""
    for place, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if name[0] not in "._")
        yield from (Path(place, name) for name in sorted(names) if name[0] not in "._")


def _bytes(path: Path) -> bytes:
    """The first bytes of a file; nothing where it cannot be read."""
    try:
        with opened(path, beginning=True) as stream:
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


def _stored_as(path: Path) -> Format | None:
    """Parquet or Arrow, by the file's name."""
    return next((stored for stored in (PARQUET, ARROW) if path.suffix.lower() in stored.suffixes), None)


def _stored_columns(path: Path, stored: Format) -> list[str]:
    """The columns of a Parquet or Arrow file."""
    try:
        return [str(name) for name in stored.open((path,), str(path)).schema.names]
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
    values: list[Any] = []
    while len(values) < most:
        while at < len(text) and text[at] in " \t\r\n,":
            at += 1
        try:
            value, at = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            break
        values.append(value)
    return values


_MARKS = re.compile(r'"(?:[^"\\]|\\.)*"|[\[\]{},]')


def _closed(text: str) -> str:
    """The beginning of a JSON document up to its last comma, with everything closed that is open there.

    >>> _closed('{"a": [{"b": 1, "c": "x,y"}, {"b": 2, "c": "x')
    '{"a": [{"b": 1, "c": "x,y"}, {"b": 2}]}'
    """
    open_, end, closing = [], 0, ""
    for match in _MARKS.finditer(text):
        mark = match[0]
        if mark in "[{":
            open_.append("]" if mark == "[" else "}")
        elif mark in "]}" and open_:
            open_.pop()
        elif mark == ",":
            end, closing = match.start(), "".join(reversed(open_))
    return text[:end] + closing
