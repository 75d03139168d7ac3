"""CSV and TSV, read by DuckDB as text: what a value means is decided by the column, not guessed from its look."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from toplist.errors import FileError
from toplist.io.engine import connect, quoted
from toplist.io.files import compression_of
from toplist.io.optional import need
from toplist.io.readers.base import Piece, batch_rows
from toplist.io.readers.parquet import first_sentence

_HEAD = 1 << 22  # bytes in which the header must end
_DELIMITERS = ",;\t|"


@dataclass
class DelimitedReader:
    """One or more files of delimited text with the same header."""

    paths: tuple[Path, ...]
    name: str
    tabs: bool
    text: bool = field(default=True, init=False)
    rows: int | None = field(default=None, init=False)

    @cached_property
    def schema(self) -> Any:
        """The names in the header; every column is text."""
        pa = need("pyarrow")
        return pa.schema([(name, pa.string()) for name in self._header(self.paths[0])[1]])

    def pieces(self, columns: Sequence[str]) -> Iterator[Piece]:
        """The named columns, batch by batch."""
        pa, duckdb = need("pyarrow"), need("duckdb")
        for path in self.paths:
            delimiter, names = self._header(path)
            missing = [name for name in columns if name not in names]
            if missing:
                raise FileError(str(path), f"there is no column {missing[0]!r}.")
            types = ", ".join(f"{quoted(name, chr(39))}: 'VARCHAR'" for name in names)
            query = (
                f"SELECT {', '.join(quoted(name) for name in columns)} FROM read_csv({quoted(_escaped(path), chr(39))}, "
                f"columns = {{{types}}}, delim = {quoted(delimiter, chr(39))}, quote = '\"', escape = '\"', "
                f"header = true, auto_detect = false, strict_mode = true, null_padding = false, nullstr = '', "
                f"compression = '{compression_of(path) or 'none'}', max_line_size = {_HEAD})"
            )
            start = 0
            with connect() as engine:
                try:
                    for batch in engine.sql(query).to_arrow_reader(batch_rows(len(columns))):
                        yield Piece(str(path), start, batch.rename_columns(list(columns)))
                        start += len(batch)
                except (duckdb.Error, pa.ArrowException, OSError) as error:
                    raise _complaint(error, path) from None

    def _header(self, path: Path) -> tuple[str, list[str]]:
        pa = need("pyarrow")
        try:
            with pa.input_stream(str(path), compression=compression_of(path)) as source:
                head = source.read(_HEAD)
        except (pa.ArrowException, OSError) as error:
            raise FileError(str(path), f"this cannot be read: {first_sentence(error)}") from None
        line = head.removeprefix(b"\xef\xbb\xbf").lstrip(b"\r\n")
        if not line:
            raise FileError(str(path), "this file is empty: there is not even a header.")
        try:
            text = line.decode("utf-8")
        except UnicodeDecodeError as error:
            text = line[: error.start].decode("utf-8")
            if "\n" not in text:
                raise FileError(str(path), "this is not UTF-8 text.") from None
        if "\0" in text.partition("\n")[0]:
            raise FileError(str(path), "this is no text: the header holds a zero byte.")
        first = text.partition("\n")[0]
        delimiter = (
            "\t" if self.tabs else max(_DELIMITERS, key=lambda mark: (first.count(mark), -_DELIMITERS.index(mark)))
        )
        try:
            names = next(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter))
        except (csv.Error, StopIteration) as error:
            raise FileError(str(path), f"the header cannot be read: {error}.") from None
        twice = next((name for i, name in enumerate(names) if name in names[:i]), None)
        if twice is not None:
            raise FileError(str(path), f"the column {twice!r} is there twice.")
        if any(not name.strip() for name in names):
            raise FileError(str(path), "a column has no name in the header.")
        return delimiter, names


def _escaped(path: Path) -> str:
    """The path as DuckDB takes it: not as a pattern."""
    return re.sub(r"([*?\[])", r"[\1]", str(path))


def _complaint(error: BaseException, path: Path) -> FileError:
    text = str(error)
    found = re.search(r"[Ll]ine:? (\d+)", text)
    row = None if found is None else max(int(found.group(1)) - 1, 1)
    for mark, problem in (
        ("Expected Number of Columns", "the number of fields differs from the header's."),
        ("unicode", "this is not UTF-8 text."),
        ("Invalid unicode", "this is not UTF-8 text."),
        ("Value with unterminated quote", "a quote is opened and never closed."),
        ("quote", "a quote stands where none belongs."),
        ("Maximum line size", "this line is too long."),
    ):
        if mark in text:
            return FileError(str(path), problem, row=row)
    return FileError(str(path), f"this cannot be read: {first_sentence(error)}", row=row)
