"""Text: CSV and TSV, read by DuckDB without guessing types (the column decides what a value means), and fastText."""

from __future__ import annotations

import contextlib
import csv
import io
import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from itertools import islice, pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from toplist._files import local, need
from toplist._text import quote
from toplist.errors import FileError
from toplist.io.readers.base import (
    ENTRIES,
    NOT_UTF8,
    FileReader,
    Format,
    Reader,
    TableChunk,
    batch_rows,
    compression_of,
    connect,
    head_of,
    last_line,
    opened,
    quoted,
    require_lines,
)
from toplist.io.readers.column_types import require_once, require_same_columns
from toplist.io.words import CASE, CLASS, CONFIDENCE

if TYPE_CHECKING:
    from toplist.io.layout import Layout


_HEAD = 1 << 22  # bytes in which the header must end, and any line
_FIRST = 1 << 18  # bytes that tell enough of most files, and are read faster than DuckDB starts
_DELIMITERS = ",;\t|"
_VERY_WIDE = 2000  # columns beyond which rows are taken apart one by one: to DuckDB each column costs megabytes
_LOOKED_AT = 100  # rows that tell whether the first line is one of them
_FRACTION = r"0?\.\d*[1-9]\d*([eE]-\d+)?|\d(\.\d+)?[eE]-\d+"
_NAMES = frozenset((*CASE, *CLASS, *CONFIDENCE))


@dataclass(frozen=True, slots=True)
class _Header:
    """What the first line says about the others."""

    delimiter: str
    names: list[str]
    skip: int  # blank lines before it
    padded: bool  # whether spaces stand beside the delimiters
    small: bool  # whether the file is no longer than what was looked at, and `csv` reads it as DuckDB does


@dataclass
class DelimitedReader(FileReader):
    """One or more files of delimited text with the same columns.

    DuckDB reads them in parallel, but takes some 15 ms to start, and megabytes for each column. Small files and
    thousands of columns go through `csv`, row by row, and so does what DuckDB does not read: short rows, mixed line
    ends, and what is wrong with a row. DuckDB reads quotes with spaces beside them.
    """

    paths: tuple[Path, ...]
    name: str
    tabs: bool = False
    padded_rows: bool = False  # whether a row may end early, as a short list does: the rest is blank
    _headers: dict[Path, _Header] = field(default_factory=dict, init=False)

    text = True

    def prepare(self, layout: Layout) -> None:
        """See `Reader`."""
        self.padded_rows = layout.kind == "ranked"

    @cached_property
    def schema(self) -> Any:
        """The names in the headers, in the order of the first file; every column is text."""
        pa = need("pyarrow")
        first, *others = self.paths
        names = self._header(first).names
        for path in others:
            require_same_columns(self._header(path).names, str(path), names, str(first))
        return pa.schema([(name, pa.string()) for name in names])

    def read(self, file: int, schema: Any, lo: int, hi: int | None) -> Iterator[TableChunk]:
        """See `FileReader`."""
        path, columns = self.paths[file], schema.names
        header = self._header(path)
        start, whole = 0, False
        if not header.small and len(header.names) <= _VERY_WIDE:
            try:
                with connect(str(path)) as engine:
                    for batch in engine.sql(_query(path, header, columns)).to_arrow_reader(batch_rows(len(columns))):
                        yield TableChunk(str(path), start, batch.rename_columns(list(columns)))
                        start += len(batch)
                whole = start > 0
            except (FileError, need("pyarrow").ArrowException, OSError):  # what reads the rest says more
                pass
        if not whole:
            rows = islice(_rows(path, header, short=self.padded_rows), start, None)
            places = [header.names.index(name) for name in columns]
            step = max(1, (ENTRIES >> 2) // len(header.names))
            while some := list(islice(rows, step)):
                yield TableChunk(str(path), start, _as_batch(some, places, columns, str(path), start))
                start += len(some)

    def _header(self, path: Path) -> _Header:
        if path not in self._headers:
            self._headers[path] = _header(path, tabs=self.tabs)
            require_lines(path, _HEAD)
        return self._headers[path]


def _header(path: Path, *, tabs: bool) -> _Header:
    head = head_of(path, _FIRST)
    if head.count(b"\n") <= _LOOKED_AT:
        head = head_of(path, _HEAD)
    line = head.lstrip(b"\r\n")
    if not line:
        raise FileError(str(path), "this file is empty: there is not even a header.")
    try:
        text = line.decode("utf-8")
    except UnicodeDecodeError as error:
        text = line[: error.start].decode("utf-8")
        if not re.search("[\r\n]", text):
            raise FileError(str(path), NOT_UTF8) from None
    first = re.split("[\r\n]", text, maxsplit=1)[0]
    if "\0" in first:
        raise FileError(str(path), "this is no text: the header holds a zero byte.")
    if len(first) == len(text) and len(head) >= _HEAD - 3:
        raise FileError(str(path), f"the header is longer than {_HEAD:,} bytes.")
    if first.startswith("#"):
        problem = f"the first line begins with '#' ({quote(first)}): if it is a comment, remove it;"
        raise FileError(str(path), f"{problem} if it names the columns, leave out the '#'.")
    if tabs and "\t" not in first and "," in first:
        raise FileError(str(path), "there is no tab in the header: if commas separate the fields, name it .csv.")
    try:
        delimiter = "\t" if tabs else _delimiter(text)
        names = next(_records(text, delimiter))
    except (csv.Error, StopIteration) as error:
        raise FileError(str(path), f"the header cannot be read: {error}.") from None
    padded = len(names) > 1 and (
        all(name[:1] == " " for name in names[1:]) or all(name[-1:] == " " for name in names[:-1])
    )
    if padded:
        names = [name.strip() for name in next(_records(text, delimiter, skipinitialspace=True))]
    if len(names) > 1 and not names[-1].strip():
        names = names[:-1]  # a delimiter at the end of a line is no further field, in any line
    _require_header(names, text, delimiter, path)
    _require_names(names, path)
    blank = head[: len(head) - len(line)]
    skip = blank.count(b"\n") or blank.count(b"\r")
    apart = re.search(rf'(^|[{delimiter}\r\n]) +"|" +($|[{delimiter}\r\n])', text)  # `csv` takes such a quote for text
    return _Header(delimiter, names, skip, padded, small=len(head) < _FIRST - 3 and apart is None)


def _require_header(names: Sequence[str], text: str, delimiter: str, path: Path) -> None:
    """Names that look like the values below them are values: the first case would be lost."""
    if any(name.strip().lower() in _NAMES for name in names):
        return
    rows: list[list[str]] = []
    with contextlib.suppress(csv.Error):
        rows.extend(islice(_records(text, delimiter), 1, 1 + _LOOKED_AT))
    if len(names) > 1:
        rows = [row for row in rows if row != list(names)]  # files put together, each with its header
    if _is_scale(names):
        return
    if any(_is_value(name, [row[at] for row in rows if at < len(row)]) for at, name in enumerate(names)):
        few = ", ".join(map(quote, names[:3])) + (", ..." if len(names) > 3 else "")
        problem = f"is the header missing? The first line ({few}) looks like a row of values."
        raise FileError(str(path), f"{problem} Write a line with the names of the columns before it.")


def _is_scale(names: Sequence[str]) -> bool:
    """Whether classes are called by numbers that rise, such as 0.5, 1.0, 1.5, and are no probabilities of a row."""
    try:
        values = [float(name) for name in names]
    except ValueError:
        return False
    return all(lo < hi for lo, hi in pairwise(values)) and not math.isclose(sum(values), 1, abs_tol=0.01)


def _is_value(name: str, below: Sequence[str]) -> bool:
    """Whether a name is a value: a fraction, the first of numbers that count up, or text that comes again."""
    if re.fullmatch(_FRACTION, name.strip()):
        return True
    if not re.fullmatch(r"\d{1,18}", name):
        return bool(name.strip()) and name in below
    return [value.strip() for value in below[:2]] == [str(int(name) + 1), str(int(name) + 2)]


def _records(text: str, delimiter: str, **options: Any) -> Iterator[list[str]]:
    return (record for record in csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, **options) if record)


def _delimiter(text: str) -> str:
    """The one by which header and first line have the same number of fields, as many as possible."""
    counts = {mark: _counts(text, mark) for mark in _DELIMITERS}
    fit = [mark for mark, fields in counts.items() if len(set(fields)) == 1 and fields[0] > 1]
    return max(fit or _DELIMITERS, key=lambda mark: (counts[mark][:1], -_DELIMITERS.index(mark)))


def _counts(text: str, mark: str) -> list[int]:
    """How many fields the first two lines have, as far as they can be read."""
    counts: list[int] = []
    with contextlib.suppress(csv.Error):
        counts.extend(len(record) for record in islice(_records(text, mark), 2))
    return counts


def _require_names(names: Sequence[str], path: Path) -> None:
    blank = next((at for at, name in enumerate(names, 1) if not name.strip()), None)
    if blank is not None:
        index = ", as pandas writes its index" if blank == 1 else ""
        problem = f"column {blank} has no name{index}: name it in the header, or leave it out (index=False)."
        raise FileError(str(path), problem)
    require_once(names, str(path))


def _query(path: Path, header: _Header, columns: Sequence[str]) -> str:
    """Columns go by their place: to DuckDB, names that differ in case alone are the same."""
    types = ", ".join(f"'c{i}': 'VARCHAR'" for i in range(len(header.names)))
    value = "nullif(trim(c{}), '')" if header.padded else "c{}"
    chosen = ", ".join(f"{value.format(header.names.index(name))} AS v{i}" for i, name in enumerate(columns))
    literal = re.sub(r"([*?\[])", r"[\1]", str(local(path)))  # no pattern
    return (
        f"SELECT {chosen} FROM read_csv({quoted(literal, chr(39))}, columns = {{{types}}}, "
        f"delim = {quoted(header.delimiter, chr(39))}, quote = '\"', escape = '\"', header = true, "
        f"skip = {header.skip}, auto_detect = false, hive_partitioning = false, strict_mode = true, "
        f"nullstr = '', compression = '{compression_of(path) or 'none'}', max_line_size = {_HEAD})"
    )


def crooked(path: Path, row: int | None, expected: int, found: int) -> FileError:
    """A row that does not fit the header."""
    problem = f"the number of fields is {found}, but {expected} in the header."
    few = "A value that is not known is a blank field: write its delimiter nevertheless."
    many = "A value that has the delimiter in it is written in quotes."
    return FileError(str(path), f"{problem} {few if found < expected else many}", row=row)


def _rows(path: Path, header: _Header, *, short: bool) -> Iterator[list[str]]:
    """The rows of a file, taken apart by Python, or what is wrong with the first that cannot be; a few may be short."""
    width, row, size = len(header.names), 0, 0
    with opened(path) as stream:
        # Bytes that are no text are kept until their row is known.
        lines = io.TextIOWrapper(stream, encoding="utf-8-sig", errors="surrogateescape", newline="")
        rows = csv.reader(lines, delimiter=header.delimiter, strict=True, skipinitialspace=header.padded)
        records = filter(None, rows)
        try:
            next(records)
            for row, record in enumerate(records, 1):
                size = len(record)
                if (size < width and not short) or any(record[width:]):
                    raise crooked(path, row, width, size)
                cells = [cell.strip() for cell in record[:width]] if header.padded else record[:width]
                yield cells + [""] * (width - size)
        except csv.Error as error:
            problem = f"this row cannot be taken apart: {error}."
            remedy = "A quoted value ends in a quote, and a quote inside of it is written twice."
            raise FileError(str(path), f"{problem} {remedy}", row=row + 1) from None
    if size < width and row and not last_line(path, _HEAD).endswith((b"\n", b"\r")):
        problem = "the last row is short and has no line end: is the file cut? If it is whole, end it with a newline."
        raise FileError(str(path), problem)


def _as_batch(rows: list[list[str]], places: Sequence[int], names: Sequence[str], source: str, start: int) -> Any:
    """Some columns of rows that follow `start` others."""
    pa, cells = need("pyarrow"), list(zip(*rows, strict=True))
    try:
        columns = [pa.array([cell or None for cell in cells[place]], pa.string()) for place in places]
    except UnicodeEncodeError:
        odd = next(at for at, row in enumerate(rows, start + 1) if re.search("[\ud800-\udfff]", "".join(row)))
        raise FileError(source, NOT_UTF8, row=odd) from None
    return pa.record_batch(columns, names=list(names))


def _open_csv(paths: tuple[Path, ...], name: str) -> Reader:
    """A reader of files that are called .csv, which may be what fastText printed."""
    return FastTextReader(paths, name) if is_fasttext(paths[0]) else DelimitedReader(paths, name)


CSV = Format("csv", (".csv",), _open_csv, compressed=True)
TSV = Format("tsv", (".tsv", ".tab"), partial(DelimitedReader, tabs=True), compressed=True)


_PREFIX = "__label__"
_ROWS = 1 << 14  # lines that are read at a time
_BEFORE_LABEL = 1 << 16  # bytes among which the first label stands, if any


def is_fasttext(path: Path) -> bool:
    """Whether the first line that is not blank begins with a label of fastText."""
    return head_of(path, _BEFORE_LABEL).lstrip().startswith(_PREFIX.encode())


@dataclass
class FastTextReader(FileReader):
    """One or more files of labels with their probabilities; cases are the lines, and a blank line is an empty list."""

    paths: tuple[Path, ...]
    name: str

    @cached_property
    def schema(self) -> Any:
        """Two columns of lists."""
        pa = need("pyarrow")
        for path in self.paths:
            if not is_fasttext(path):
                problem = f"toplist reads text without a header as fastText prints it, but no {_PREFIX} stands first."
                raise FileError(str(path), f"{problem} Name a table .csv or .tsv.")
        return pa.schema([("classes", pa.large_list(pa.string())), ("confidences", pa.large_list(pa.float64()))])

    def read(self, file: int, schema: Any, lo: int, hi: int | None) -> Iterator[TableChunk]:
        """See `FileReader`."""
        pa, path, start = need("pyarrow"), self.paths[file], 0
        with opened(path) as stream:
            lines = io.BufferedReader(stream)
            while some := list(islice(lines, _ROWS)):
                pairs = [_pairs(line, str(path), row) for row, line in enumerate(some, start + 1)]
                columns = zip(zip(*pairs, strict=True), self.schema.types, strict=True)
                table = pa.record_batch([pa.array(lists, kind) for lists, kind in columns], schema=self.schema)
                yield TableChunk(str(path), start, table.select(schema.names))
                start += len(some)


def _pairs(line: bytes, source: str, row: int) -> tuple[list[str], list[float]]:
    """The labels of one line, and their probabilities."""
    try:
        words = line.decode("utf-8-sig").split()
    except UnicodeDecodeError:
        raise FileError(source, NOT_UTF8, row=row) from None
    labels = words[::2]
    try:
        numbers = [float(word) for word in words[1::2]]
    except ValueError:
        numbers = []
    if len(labels) != len(numbers) or not all(label.startswith(_PREFIX) for label in labels):
        text = quote(line.decode("utf-8", "replace").strip())
        raise FileError(source, f"{text} are not labels with a probability each: use fasttext predict-prob.", row=row)
    return [label.removeprefix(_PREFIX) for label in labels], numbers


FASTTEXT = Format("fasttext", (".txt",), FastTextReader, compressed=True, certain=False, described=".txt of fastText")
