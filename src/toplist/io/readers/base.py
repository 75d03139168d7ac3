"""What all readers share: their protocol, open files, what their beginning shows, and DuckDB, embedded."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from copy import copy
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray

from toplist._files import as_remote, disk_full, local, need, temporary_folder
from toplist.core.kernel import threads
from toplist.errors import FileError, ResourceError, TopListError

if TYPE_CHECKING:
    from toplist.io.layout import Layout


COMPRESSIONS = {".gz": "gzip", ".zst": "zstd"}
_CHUNK = 1 << 20
NOT_UTF8 = "this is not UTF-8 text: save it as UTF-8, for example with iconv -f latin1 -t utf-8."
_MAGIC = (
    (b"PK\x03\x04", "this is a zip file or an Excel workbook: save it as text."),
    (b"\xd0\xcf\x11\xe0", "this is an Excel workbook: save it as text."),
    (b"\x1f\x8b", "this is compressed by gzip: add .gz to its name."),
    (b"\x28\xb5\x2f\xfd", "this is compressed by zstd: add .zst to its name."),
    (b"PAR1", "this is a Parquet file: name it .parquet."),
    (b"ARROW1", "this is an Arrow file: name it .arrow."),
    (b"\xff\xfe", "this is UTF-16 text: save it as UTF-8."),
    (b"\xfe\xff", "this is UTF-16 text: save it as UTF-8."),
)
_PROBLEMS = (
    ("Truncated compressed stream", "the file is cut short: the compressed data end too soon."),
    ("incorrect header check", "this is not compressed by gzip."),
    ("Unknown frame descriptor", "this is not compressed by zstd."),
    ("No such file", "there is no such file any more."),
)
_MEMORY = "700MB"
_MEMORY_MARKS = ("Out of Memory", "out of memory", "bad allocation", "could not allocate", "failed to allocate")
_INTERRUPTED = ("Query interrupted", "INTERRUPT Error", "KeyboardInterrupt")  # by the engine, in an error or a text
_DISK = ("max_temp_directory_size", "No space left on device", "Disk quota exceeded", "File too large")


def compression_of(path: Path) -> str | None:
    """gzip, zstd or nothing, by the file's name."""
    return COMPRESSIONS.get(path.suffix.lower())


def random_access(path: Path) -> Any:
    """A file that pyarrow reads anywhere, not mapped: a map ends the process when somebody else cuts the file.

    One that is elsewhere is read by range requests.
    """
    remote = as_remote(path)
    return need("pyarrow").OSFile(str(path.absolute())) if remote is None else remote.random_access()


def transferred(path: Path) -> AbstractContextManager[None]:
    """Says of a file that is elsewhere what goes wrong on the way; what is wrong with its bytes is for its reader."""
    remote = as_remote(path)
    return nullcontext() if remote is None else remote.transferred()


@contextmanager
def opened(path: Path, *, beginning: bool = False) -> Iterator[Any]:
    """The bytes of a file as a stream, decompressed; where only the `beginning` is read, no copy is made for it."""
    pa = need("pyarrow")
    try:
        with (
            transferred(path),
            pa.input_stream(
                random_access(path) if beginning else str(local(path)), compression=compression_of(path)
            ) as stream,
        ):
            yield stream
    except (pa.ArrowException, OSError, EOFError) as error:
        raise unreadable(error, path) from None


def head_of(path: Path, size: int) -> bytes:
    """The first bytes, without the mark that some programs put before UTF-8."""
    with opened(path) as stream:
        head: bytes = stream.read(size)
    problem = next((problem for magic, problem in _MAGIC if head.startswith(magic)), None)
    if problem is not None:
        raise FileError(str(path), problem)
    return head.removeprefix(b"\xef\xbb\xbf")


def require_lines(path: Path, most: int) -> None:
    """Compressed data go on to their end, and the last line is no longer than it may be: not every library looks."""
    line = last_line(path, most)
    if len(line.strip(b"\r\n")) > most:
        what = "zero bytes" if not line.strip(b"\0\r\n") else f"a line of more than {most:,} bytes"
        raise FileError(str(path), f"this file ends in {what}: it was damaged, or is no table. Write it anew.")


def last_line(path: Path, most: int) -> bytes:
    """The last line with its end, or some more bytes than `most` of it."""
    size = most + 3
    if compression_of(path) is None:
        try:
            with path.open("rb") as file:
                file.seek(max(file.seek(0, os.SEEK_END) - size, 0))
                tail = file.read(size)
        except OSError as error:
            raise unreadable(error, path) from None
    else:
        tail = b""
        with opened(path) as stream:
            while chunk := stream.read(max(_CHUNK, size)):
                tail = (tail + chunk)[-size:]
    body = tail.rstrip(b"\r\n")
    cut = max(body.rfind(b"\n"), body.rfind(b"\r")) + 1
    return tail[cut:]


def unreadable(error: BaseException, path: Path) -> FileError:
    """What another library said about bytes, in one sentence."""
    text = str(error).strip().partition("\n")[0] or type(error).__name__
    problem = next((problem for mark, problem in _PROBLEMS if mark in text), None)
    return FileError(str(path), problem or f"this cannot be read: {text[:200].rstrip('.')}.")


Table = Any  # pyarrow.RecordBatch
Schema = Any  # pyarrow.Schema

ENTRIES = 1 << 22  # values per batch that are in memory at a time


@dataclass(frozen=True, slots=True)
class TableChunk:
    """Consecutive rows of one file; `start` is the number of rows before them."""

    source: str
    start: int
    table: Table
    rows: Any = None  # the rows' own numbers, counted from 1, where they do not follow each other

    @property
    def row_numbers(self) -> NDArray[np.int64]:
        """The number of each row in the file, counted from 1."""
        if self.rows is not None:
            return cast("NDArray[np.int64]", self.rows)
        return np.arange(self.start + 1, self.start + len(self.table) + 1, dtype=np.int64)


@dataclass(frozen=True, slots=True)
class Span:
    """Rows lo to hi of a file, which is known by its place among the paths of its reader."""

    file: int
    lo: int = 0
    hi: int | None = None  # None: to the end


def spans_between(files: Sequence[int], lo: int, hi: int) -> list[Span]:
    """The rows lo to hi of files that have so many rows, as rows of each.

    >>> spans_between([10, 5, 10], 8, 17)
    [Span(file=0, lo=8, hi=10), Span(file=1, lo=0, hi=5), Span(file=2, lo=0, hi=2)]
    """
    spans, start = [], 0
    for file, rows in enumerate(files):
        first, last = max(lo - start, 0), min(hi - start, rows)
        if first < last:
            spans.append(Span(file, first, last))
        start += rows
    return spans


class Reader(ABC):
    """Columns with names and types, read in order as often as needed."""

    paths: tuple[Path, ...]  # the files that are read; none for what is in memory
    name: str  # for messages
    rows: int | None = None  # how many, where that is known without reading
    text = False  # whether every value is text, as in CSV
    decimal = False  # whether numbers have the digits that were written, as in JSON
    unnamed = False  # whether columns are classes by their place alone
    index: str | None = None  # the column that was the index of a dataframe
    named_index = True  # whether that index has a name of its own
    origin: Any = None  # what a table in memory was made of
    bare = False  # whether these are values of a list or an array, which have no ids
    row = ""  # what a row is, where that is to be told: "a row per element of 'predictions'"
    parts: tuple[str, ...] = ()  # columns that make up case ids or that a condition fixes: no predictions

    @property
    @abstractmethod
    def schema(self) -> Schema:
        """Names and types of the columns."""

    @abstractmethod
    def pieces(self, columns: Sequence[str]) -> Iterator[TableChunk]:
        """The named columns, batch by batch."""

    def pieces_of(self, schema: Schema) -> Iterator[TableChunk]:
        """The columns of a schema, batch by batch: objects may lack fields there, which are not needed."""
        return self.pieces(schema.names)

    def sizes(self) -> Sequence[tuple[int, ...] | None]:
        """Of each file, the rows of its parts, each of which is read from its beginning; None where nobody knows.

        Nothing of what can only be read as a whole.
        """
        return ()

    def part(self, spans: Sequence[Span]) -> Reader:
        """The same table with these rows alone, which have their row numbers; only where there are sizes."""
        raise NotImplementedError(f"{type(self).__name__} is read as a whole")

    def look_for(self, records: str) -> None:  # noqa: B027  most readers need not know
        """Take note of the path of records, before anything is read: it may tell what a row is."""

    def prepare(self, layout: Layout) -> None:  # noqa: B027  most readers need not know
        """Take note of what the columns mean: which are confidences, and which may lack."""


class FileReader(Reader):
    """Files that are read apart from each other: a new format has a `schema`, and reads one of them."""

    spans: tuple[Span, ...] | None = None  # the rows that are read; None for all

    @abstractmethod
    def read(self, file: int, schema: Schema, lo: int, hi: int | None) -> Iterator[TableChunk]:
        """The columns of a schema in rows lo to hi of a file, which is known by its place; other rows may come too."""

    def pieces(self, columns: Sequence[str]) -> Iterator[TableChunk]:
        """The named columns, batch by batch."""
        return self.pieces_of(need("pyarrow").schema([self.schema.field(name) for name in columns]))

    def pieces_of(self, schema: Schema) -> Iterator[TableChunk]:
        """See `Reader`."""
        every = tuple(map(Span, range(max(1, len(self.paths)))))  # what is in memory has no path, and is one
        for span in every if self.spans is None else self.spans:
            yield from _within(span, self.read(span.file, schema, span.lo, span.hi))

    def sizes(self) -> Sequence[tuple[int, ...] | None]:
        """See `Reader`."""
        return [None] * max(1, len(self.paths))

    def part(self, spans: Sequence[Span]) -> Reader:
        """See `Reader`."""
        part = copy(self)
        part.spans = tuple(spans)
        part.rows = None if any(span.hi is None for span in spans) else sum((s.hi or 0) - s.lo for s in spans)
        return part


def _within(span: Span, pieces: Iterator[TableChunk]) -> Iterator[TableChunk]:
    """The rows of a span alone; nothing is read beyond them."""
    for piece in pieces:
        stop = piece.start + len(piece.table)
        first, last = max(span.lo - piece.start, 0), (stop if span.hi is None else min(span.hi, stop)) - piece.start
        if last - first == len(piece.table):
            yield piece
        elif last > first:
            yield TableChunk(piece.source, piece.start + first, piece.table.slice(first, last - first))
        if span.hi is not None and stop >= span.hi:
            return


@dataclass(frozen=True, slots=True)
class Format:
    """A kind of file: what its names end in, and how files of one prediction are opened."""

    name: str
    suffixes: tuple[str, ...]
    open: Callable[[tuple[Path, ...], str], Reader]
    compressed: bool = False  # whether it is read as .gz and .zst, too
    certain: bool = True  # whether every file with such a name is a table
    beside: bool = True  # whether it is one in a folder with tables of other formats, too: a .json may describe them
    any_path: bool = False  # whether a path may be other bytes than UTF-8
    described: str = ""  # in messages, where that is not the first suffix


def batch_rows(width: int) -> int:
    """How many rows of this many values make a batch: a power of two, so that batches of several files match."""
    return 1 << max(10, min(17, (ENTRIES // max(width, 1)).bit_length() - 1))


def cut(batch: Table) -> Iterator[Table]:
    """A batch, which may be of any size, in batches of the usual size."""
    types = need("pyarrow").types
    # Not flatten(), which is exact, but ends the process where a file is damaged.
    inside = [c.values if types.is_list(c.type) or types.is_large_list(c.type) else c for c in batch.columns]
    step = batch_rows(1 + sum(map(len, inside)) // max(len(batch), 1))
    for lo in range(0, len(batch), step):
        yield batch.slice(lo, step)


@contextmanager
def connect(source: str) -> Iterator[Any]:
    """A database in memory, and a folder for what it writes; what it says of the source becomes one sentence."""
    duckdb, pa = need("duckdb"), need("pyarrow")
    memory, engine = os.environ.get("TOPLIST_MEMORY", _MEMORY), None
    with temporary_folder() as folder:
        settings = {
            "threads": threads(),
            "memory_limit": memory,
            "temp_directory": str(folder),
            "autoinstall_known_extensions": False,
            "autoload_known_extensions": False,
        }
        try:
            with duckdb.connect(":memory:", config=settings) as engine:
                engine.execute("SET enable_progress_bar = false")
                yield engine
        except (duckdb.Error, pa.ArrowException, OSError, RuntimeError) as error:
            text = str(error).strip()
            if any(mark in text for mark in _INTERRUPTED):
                raise KeyboardInterrupt from None
            if any(mark in text for mark in _DISK):
                raise ResourceError(f"{source}: {disk_full('DuckDB needs more')}") from None
            if any(mark in text for mark in _MEMORY_MARKS):
                more = "TOPLIST_MEMORY=4GB" if "TOPLIST_MEMORY" not in os.environ else "a larger TOPLIST_MEMORY"
                problem = f"it takes more than {memory} of memory. Allow more with {more}."
                raise ResourceError(f"{source}: {problem}") from None
            if engine is None and "memory" in text.lower():
                raise TopListError(f"TOPLIST_MEMORY={memory!r} is no amount of memory, such as 2GB.") from None
            if isinstance(error, RuntimeError):
                raise
            raise unreadable(error, Path(source)) from None


@contextmanager
def guarded(batches: Iterator[Any], schema: Any, engine: Any) -> Iterator[None]:
    """A stream of batches as a table `stream` of the engine; what goes wrong in it is raised as it was."""
    pa = need("pyarrow")
    failures: list[BaseException] = []

    def watched() -> Iterator[Any]:
        try:
            yield from batches
        except GeneratorExit:
            raise
        except BaseException as failure:
            failures.append(failure)
            raise

    engine.register("stream", pa.RecordBatchReader.from_batches(schema, watched()))
    try:
        yield
    except (need("duckdb").Error, pa.ArrowException, OSError, RuntimeError):
        if failures:
            raise failures[0] from None
        raise


def quoted(name: str, mark: str = '"') -> str:
    """A name, or a text, as SQL writes it."""
    return mark + name.replace(mark, mark * 2) + mark
