"""CSV and TSV, read by DuckDB as text: what a value means is decided by the column, not guessed from its look."""

from __future__ import annotations

import contextlib
import csv
import io
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any

from toplist.errors import FileError
from toplist.io.engine import connect, in_words, quoted, require_enough
from toplist.io.files import compression_of
from toplist.io.optional import need
from toplist.io.readers.base import Piece, batch_rows
from toplist.io.readers.streams import head_of, lines_of, require_whole
from toplist.io.showing import shown

_HEAD = 1 << 22  # bytes in which the header must end, and any line
_DELIMITERS = ",;\t|"


@dataclass(frozen=True, slots=True)
class _Header:
    """What the first line says about the others."""

    delimiter: str
    names: list[str]
    skip: int  # blank lines before it
    padded: bool  # whether spaces stand beside the delimiters
    more: bool  # whether other lines follow


@dataclass
class DelimitedReader:
    """One or more files of delimited text with the same header."""

    paths: tuple[Path, ...]
    name: str
    tabs: bool
    text: bool = field(default=True, init=False)
    rows: int | None = field(default=None, init=False)
    _whole: set[Path] = field(default_factory=set, init=False)

    @cached_property
    def schema(self) -> Any:
        """The names in the header; every column is text."""
        pa = need("pyarrow")
        return pa.schema([(name, pa.string()) for name in self._header(self.paths[0]).names])

    def pieces(self, columns: Sequence[str]) -> Iterator[Piece]:
        """The named columns, batch by batch."""
        pa, duckdb = need("pyarrow"), need("duckdb")
        for path in self.paths:
            header = self._header(path)
            missing = [name for name in columns if name not in header.names]
            if missing:
                raise FileError(str(path), f"there is no column {shown(missing[0])}.")
            if path not in self._whole:
                require_whole(path)
                self._whole.add(path)
            query, start = _query(path, header, columns), 0
            with connect() as engine:
                try:
                    for batch in engine.sql(query).to_arrow_reader(batch_rows(len(columns))):
                        yield Piece(str(path), start, batch.rename_columns(list(columns)))
                        start += len(batch)
                except (duckdb.Error, pa.ArrowException, OSError) as error:
                    require_enough(error, str(path))
                    raise _complaint(error, path, header) from None
            if header.more and not start:
                raise FileError(str(path), "the header ends in another way than other lines: save the file anew.")

    def _header(self, path: Path) -> _Header:
        head = head_of(path, _HEAD)
        line = head.lstrip(b"\r\n")
        if not line:
            raise FileError(str(path), "this file is empty: there is not even a header.")
        try:
            text = line.decode("utf-8")
        except UnicodeDecodeError as error:
            text = line[: error.start].decode("utf-8")
            if "\n" not in text:
                raise FileError(str(path), "this is not UTF-8 text.") from None
        first = text.partition("\n")[0]
        if "\0" in first:
            raise FileError(str(path), "this is no text: the header holds a zero byte.")
        if len(first) == len(text) and len(head) >= _HEAD - 3:
            raise FileError(str(path), f"the header is longer than {_HEAD:,} bytes.")
        if self.tabs and "\t" not in first and "," in first:
            raise FileError(str(path), "there is no tab in the header: if commas separate the fields, name it .csv.")
        try:
            delimiter = "\t" if self.tabs else _delimiter(text)
            names = next(_records(text, delimiter))
        except (csv.Error, StopIteration) as error:
            raise FileError(str(path), f"the header cannot be read: {error}.") from None
        padded = len(names) > 1 and (
            all(name[:1] == " " for name in names[1:]) or all(name[-1:] == " " for name in names[:-1])
        )
        if padded:
            names = [name.strip() for name in next(_records(text, delimiter, skipinitialspace=True))]
        _require_names(names, path)
        skip, more = head[: len(head) - len(line)].count(b"\n"), len(_counts(text, delimiter)) > 1
        return _Header(delimiter, names, skip, padded, more)


def _records(text: str, delimiter: str, **options: Any) -> Iterator[list[str]]:
    return (record for record in csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, **options) if record)


def _delimiter(text: str) -> str:
    """The one by which header and first line have the same number of fields, as many as possible."""
    found = {mark: _counts(text, mark) for mark in _DELIMITERS}
    fit = [mark for mark, counts in found.items() if len(set(counts)) == 1 and counts[0] > 1]
    return max(fit or _DELIMITERS, key=lambda mark: (found[mark][:1], -_DELIMITERS.index(mark)))


def _counts(text: str, mark: str) -> list[int]:
    """How many fields the first two lines have, as far as they can be read."""
    counts: list[int] = []
    with contextlib.suppress(csv.Error):
        counts.extend(len(record) for record in islice(_records(text, mark), 2))
    return counts


def _require_names(names: Sequence[str], path: Path) -> None:
    seen: set[str] = set()
    for at, name in enumerate(names, 1):
        if not name.strip():
            which = (
                "the first column has no name, as pandas writes its index" if at == 1 else f"column {at} has no name"
            )
            raise FileError(str(path), f"{which}: name it in the header, or leave it out (index=False).")
        if name in seen:
            raise FileError(str(path), f"the column {shown(name)} is there twice.")
        seen.add(name)


def _query(path: Path, header: _Header, columns: Sequence[str]) -> str:
    """Columns go by their place: to DuckDB, names that differ in case alone are the same."""
    types = ", ".join(f"'c{i}': 'VARCHAR'" for i in range(len(header.names)))
    place = {name: i for i, name in enumerate(header.names)}
    wanted = [f"nullif(trim(c{place[n]}), '')" if header.padded else f"c{place[n]}" for n in columns]
    chosen = ", ".join(f"{value} AS v{i}" for i, value in enumerate(wanted))
    return (
        f"SELECT {chosen} FROM read_csv({quoted(_escaped(path), chr(39))}, columns = {{{types}}}, "
        f"delim = {quoted(header.delimiter, chr(39))}, quote = '\"', escape = '\"', header = true, "
        f"skip = {header.skip}, auto_detect = false, hive_partitioning = false, strict_mode = true, "
        f"null_padding = false, nullstr = '', compression = '{compression_of(path) or 'none'}', "
        f"max_line_size = {_HEAD})"
    )


def _escaped(path: Path) -> str:
    """The path as DuckDB takes it: not as a pattern, and nobody's home."""
    return re.sub(r"([*?\[])", r"[\1]", str(path.absolute()))


def _complaint(error: BaseException, path: Path, header: _Header) -> FileError:
    text = str(error)
    found = re.search(r"CSV Error on Line: (\d+)", text)
    row = None if found is None else max(int(found.group(1)) - 1 - header.skip, 1)
    fields = re.search(r"^Expected Number of Columns: (\d+) Found: (\d+)", text, re.MULTILINE)
    if fields is not None:
        problem = f"the number of fields is {fields.group(2)}, but {fields.group(1)} in the header."
        return FileError(str(path), problem, row=row)
    for mark, problem in (
        ("^Invalid unicode", "this is not UTF-8 text."),
        ("^Value with unterminated quote", 'a quoted value has no end; a quote inside one is written "".'),
        ("^Maximum line size", f"this line is longer than {_HEAD:,} bytes."),
        ("does not support a full read", f"a line is longer than {_HEAD:,} bytes, or a quoted value has no end."),
    ):
        if re.search(mark, text, re.MULTILINE):
            return FileError(str(path), problem, row=row)
    if "invalid state" in text:
        problem = "this line ends in another way than the first one: save the file with line ends of one kind."
        return FileError(str(path), problem, row=_odd_line(path, header))
    return FileError(str(path), f"this cannot be read: {in_words(error)}", row=row)


def _odd_line(path: Path, header: _Header) -> int | None:
    """The first line with another end than the header's, as a row."""
    ends: bytes | None = None
    for row, line in enumerate(lines_of(path), -header.skip):
        mark = line[-2:] if line.endswith(b"\r\n") else line[-1:] if b"\r" not in line else b"\r"
        if row >= 0 and ends is None:
            ends = mark
        if ends is not None and mark != ends:
            return max(row, 1)
    return None
