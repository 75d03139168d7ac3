"""A table on its way from what the caller named to its lists: as it is to be recognised, and open with its layout."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Collection, Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from functools import cached_property
from typing import Any, NoReturn

import numpy as np

from toplist._files import identity, need
from toplist._text import argument, listed, quote
from toplist._typing import Floats
from toplist.errors import FileError
from toplist.io.answers import AnswerSpace
from toplist.io.batches import Batch, case_by_case, of_one_kind, starts_of, to_batch, to_batches
from toplist.io.columns import (
    CaseIndex,
    UniqueIds,
    are_text,
    as_arrow,
    as_numpy,
    identifiers,
    is_half,
    is_list,
    plain,
)
from toplist.io.layout import Layout
from toplist.io.options import ReadOptions
from toplist.io.producers.base import ANSWER_MASS, LISTED_TOKENS
from toplist.io.readers import Reader, TableChunk
from toplist.io.readers.base import Span
from toplist.io.views import View
from toplist.io.words import CASE, CERTAIN_IDS, CONFIDENCE, NEITHER, is_named
from toplist.lists.space import ClassSpace
from toplist.lists.validation import Repairs

log = logging.getLogger("toplist")

_SAMPLE = 1000  # rows that are looked at
_AHEAD = 1 << 30  # bytes of the long tables that are read at a time


@dataclass(frozen=True, slots=True)
class Produced:
    """The producer of a table, and what it was recognised by."""

    name: str
    title: str  # as messages call it
    reason: str = ""  # nothing where it was asked for

    def __str__(self) -> str:
        return f"{self.title} ({self.reason or argument('producer', self.name)})"


@dataclass(frozen=True)
class Table:
    """The columns of a file or frame, with their types and first values, and what the caller says of them.

    Of a truth, `class_column` among the options is the column with outcomes.
    """

    reader: Reader
    name: str = ""  # of the model, or "truth"
    options: ReadOptions = field(default_factory=ReadOptions)
    space: ClassSpace | None = None
    truth: bool = False
    extra: tuple[str, ...] = ()  # further columns to keep
    sets: bool = False  # whether a list without confidences is a class: a set of labels
    produced: Produced | None = None
    remarks: tuple[str, ...] = ()  # sentences about what was read
    gaps: int = 0  # cases that are missing, of a table without ids
    outcome: str | None = None  # the column with outcomes, of predictions that carry them

    @property
    def path(self) -> str:
        """The file, or what a table in memory was called."""
        return self.reader.name

    @cached_property
    def columns(self) -> list[str]:
        """Their names."""
        return [str(name) for name in self.schema.names]

    @cached_property
    def schema(self) -> Any:
        """Names and types."""
        return self.reader.schema

    @cached_property
    def labels(self) -> Collection[str]:
        """The names of the classes in their order; none where they are not known."""
        return dict.fromkeys(map(str, (self.space and self.space.labels) or ()))

    @property
    def files(self) -> frozenset[Any]:
        """What is read, however it is called: files, or a table in memory."""
        reader = self.reader
        if not reader.paths:
            return frozenset([id(reader if reader.origin is None else reader.origin)])
        return frozenset(identity(path) for path in reader.paths)

    @cached_property
    def left_out(self) -> frozenset[str]:
        """The columns that are to be ignored."""
        return frozenset(name for pattern in self.options.ignore for name in matching(self.columns, pattern))

    def is_list(self, name: str) -> bool:
        """Whether a column holds lists."""
        return is_list(self.schema.field(name).type)

    def is_object(self, name: str) -> bool:
        """Whether a column holds objects, or lists of them."""
        kind = self.schema.field(name).type
        while is_list(kind):
            kind = kind.value_type
        return bool(need("pyarrow").types.is_nested(kind))

    def is_scalar(self, name: str) -> bool:
        """Whether a column holds one value per row."""
        return not need("pyarrow").types.is_nested(self.schema.field(name).type)

    def look(self, name: str) -> FirstRows:
        """What the first values of a column are."""
        return self._looks[name]

    @cached_property
    def _looks(self) -> dict[str, FirstRows]:
        """The look of every column, from one read of the first rows."""
        scalar = [name for name in self.columns if self.is_scalar(name)]
        looks = {name: FirstRows(nested=True) for name in self.columns}
        first = next(iter(self.reader.pieces(scalar)), None) if scalar else None
        if first is None:
            return looks | dict.fromkeys(scalar, FirstRows(blank=True))
        first = replace(first, table=first.table.slice(0, _SAMPLE), rows=None)
        return looks | {name: _look(first.table.column(at)) for at, name in enumerate(scalar)}

    def is_number(self, name: str) -> bool:
        """Whether a column holds numbers, or nothing."""
        look = self.look(name)
        return look.number or look.blank

    def is_fraction(self, name: str) -> bool:
        """Whether a column holds numbers that are no ids, codes or counts."""
        look = self.look(name)
        return look.number and look.fractional

    def could_be_confidence(self, name: str) -> bool:
        """Whether a column may hold confidences: by its name, as lists or objects, or as numbers of their range."""
        if is_named(name, CONFIDENCE):
            return True
        look = self.look(name)
        if look.nested or look.blank or not look.number:
            return look.nested or look.blank
        if is_named(name, (*NEITHER, *CASE)):  # a rank or an id, unless it is a fraction
            return look.fractional and look.within_one
        return (look.low >= 0 and look.high <= 100) or (look.fractional and look.high <= 0)

    def is_id(self, name: str) -> bool:
        """Whether a column bears the name of an id, and holds no fractions: a class may be called image as well."""
        if not is_named(name, CASE) or not self.is_scalar(name) or self.is_fraction(name):
            return False
        return is_named(name, CERTAIN_IDS) or not self.look(name).within_one

    def texts(self, *names: str) -> Iterator[list[Any]]:
        """The values of columns as text, batch by batch."""
        pa, pc = need("pyarrow"), need("pyarrow.compute")
        for piece in self.reader.pieces(names):
            yield [pc.cast(plain(column), pa.string()) for column in piece.table.columns]

    def has_unique(self, name: str) -> bool:
        """Whether no value of a column is there twice; the whole column is read."""
        pa, pc = need("pyarrow"), need("pyarrow.compute")
        try:
            values = pa.chunked_array([column for (column,) in self.texts(name)], pa.string()).drop_null()
        except (pa.ArrowException, FileError):
            return False
        return bool(0 < len(values) == pc.count_distinct(values).as_py())

    def refuse(self, problem: str) -> NoReturn:
        """What cannot be recognised is an error that says what to type."""
        raise FileError(self.path, problem)


def matching(names: Sequence[str], pattern: str) -> list[str]:
    """The columns that are called so, or that fit a pattern."""
    return [name for name in names if name == pattern or fnmatchcase(name, pattern)]


@dataclass(frozen=True, kw_only=True)
class OpenTable(Table):
    """A table with its layout: where predictions, or the truth, come from."""

    layout: Layout
    aligned: bool = True  # whether there are other files with the same cases
    told: str = ""  # how it is read, where the layout does not say it

    @property
    def names(self) -> tuple[str, ...]:
        """The classes of a wide table, in the order of its columns."""
        return self.layout.class_names

    @property
    def repairs(self) -> Repairs:
        """What is repaired in its lists; those of a producer are of probabilities, and labels have confidence one."""
        repairs = self.options.repairs
        as_they_are = self.produced is not None or self.layout.kind == "labels"
        return replace(repairs, scale="probability") if as_they_are else repairs

    @property
    def reading(self) -> str:
        """How it is read: the layout, which column is what, and which are ignored; or the producer."""
        if self.told or self.produced is not None:
            how = self.told or str(self.produced)
        else:
            left = tuple(name for name in self.layout.ignored if name != self.outcome)
            used = tuple(name for name in self.layout.extra if name not in self.layout.ignored)  # not only looked at
            how = replace(self.layout, ignored=left, extra=used).describe(truth=self.truth, aligned=self.aligned)
            how = how if self.outcome is None else f"{how}; outcome in {quote(self.outcome)}"
        how = f"{how}; {self.reader.row}" if self.reader.row else how
        rows = self.reader.where if isinstance(self.reader, View) else ()
        return f"{how}; rows with {' and '.join(rows)}" if rows else how

    @property
    def notes(self) -> tuple[str, ...]:
        """Sentences about what was read; how many rows conditions keep is known after the first pass."""
        kept = self.reader.filtering if isinstance(self.reader, View) else ""
        return (*self.remarks, f"Read: {kept}.") if kept else self.remarks

    @property
    def has_other(self) -> bool:
        """Whether a class of all that is no declared answer is among the classes: no outcome is of it."""
        declared = self.options.answers
        has_mass = ANSWER_MASS in self.reader.schema.names
        return has_mass and (declared is None or AnswerSpace.of(declared).other == "class")

    def answer_mass(self) -> Floats:
        """The probability on declared answers, of each case where it is known."""
        return self._known(ANSWER_MASS)

    def listed_tokens(self) -> Floats:
        """How many tokens a server listed, of each case where it listed any."""
        return self._known(LISTED_TOKENS)

    def _known(self, column: str) -> Floats:
        if column not in self.reader.schema.names:
            return np.zeros(0)
        columns = [piece.table.column(0).drop_null() for piece in self.reader.pieces([column])]
        return np.concatenate([np.zeros(0), *map(as_numpy, columns)])

    def batches(self, *, halves: bool = False, beside: int = 1) -> Generator[Batch, None, None]:
        """The cases in the order of the file; those of a long table in the order of their first rows.

        With `halves`, what lacks its class or its confidence is left out and counted, not refused. As many tables as
        `beside` says are read at a time.
        """
        halves = halves or self.options.blanks == "drop"
        if self.layout.kind == "long":
            batches = self._grouped(halves, _AHEAD // beside)
        else:
            batches = (to_batch(piece, self.layout, halves=halves) for piece in self.pieces(self.layout.columns))
        yield from self._rounded(of_one_kind(batches))

    def _grouped(self, halves: bool, room: int) -> Iterator[Batch]:
        """The cases of a long table, whose rows are brought together unless those of each case follow each other.

        No case is scored before that is known. A table that has room in memory is read once, which takes a fifth less
        time where it is text; of others, the ids are read beforehand.
        """
        unique, held = UniqueIds(), deque[Batch]()
        batches = to_batches(self.pieces(self.layout.columns), self.layout, halves=halves)
        for batch in batches:
            held.append(batch)
            unique.see(batch.ids)
            room -= batch.nbytes
            if room < 0:
                in_runs = self._in_runs
                break
        else:
            in_runs = unique.rising or self._are_unique(batch.ids for batch in held)
        if not in_runs:
            held.clear()
            pieces = case_by_case(self.pieces(self.layout.columns), self.layout, self.path)
            batches = to_batches(pieces, self.layout, halves=halves)
        while held:
            yield held.popleft()
        yield from batches

    @cached_property
    def _in_runs(self) -> bool:
        unique = UniqueIds()
        for ids in self._runs():
            unique.see(ids)
        return unique.rising or self._are_unique(self._runs())

    def _are_unique(self, ids: Iterable[Any]) -> bool:
        return not len(CaseIndex(ids, text=self.ids_are_text).repeated)

    def _runs(self) -> Iterator[Any]:
        """The ids of a long table where they change."""
        source, last = "", None
        for piece in self.pieces([str(self.layout.case)]):
            ids = identifiers(piece.table.column(0), piece.source, piece.row_numbers)
            new = starts_of(ids)
            if len(ids) and piece.source == source and ids[0] == last:
                new[0] = False
            source, last = piece.source, ids[len(ids) - 1] if len(ids) else last
            yield ids.filter(as_arrow(new))

    @property
    def ids_are_text(self) -> bool:
        """Whether case ids are text, or else whole numbers."""
        return are_text([self.reader.schema.field(self.layout.case).type])

    def _rounded(self, batches: Iterator[Batch]) -> Iterator[Batch]:
        """Batches that know what their numbers were: text, as in JSON, or half floats."""
        columns = self.layout.classes if self.layout.kind == "wide" else self.layout.confidences
        kinds = [column.type for column in self.reader.schema if column.name in columns]
        half = bool(kinds) and all(map(is_half, kinds))
        for batch in batches:
            rounding = batch.rounding
            if self.reader.decimal and rounding is None and columns:
                rounding = np.full(len(batch), np.nan)
            yield replace(batch, rounding=rounding, precision=11 if half else batch.precision)

    def part(self, spans: Sequence[Span]) -> OpenTable:
        """The same table with these rows alone."""
        return replace(self, reader=self.reader.part(spans))

    def pieces(self, columns: Sequence[str]) -> Iterator[TableChunk]:
        """The named columns, batch by batch."""
        return self.reader.pieces(columns)

    def ids(self) -> Iterator[tuple[Any, Any]]:
        """The case ids alone, and the row where each case begins."""
        if self.layout.kind == "long":
            yield from ((batch.ids, batch.rows) for batch in self.batches())
            return
        for piece in self.pieces([str(self.layout.case)]):
            yield identifiers(piece.table.column(0), piece.source, piece.row_numbers), piece.row_numbers


def tell(sources: Sequence[OpenTable]) -> None:
    """Log how each source is read: those that are read alike in one line, and then what is to be noted of each."""
    alike: dict[tuple[bool, str], list[str]] = {}
    for source in sorted(sources, key=lambda source: source.truth):
        alike.setdefault((source.truth, source.reading), []).append(source.path)
    for (truth, reading), paths in alike.items():
        which = paths[0] if len(paths) == 1 else f"{len(paths):,} files ({listed(paths, 3, str)})"
        log.info("%s%s: %s", "truth: " if truth else "", which, reading)
    noted: dict[str, list[str]] = {}
    for source in sources:
        for note in source.notes:
            noted.setdefault(note, []).append(source.path)
    for note, paths in noted.items():
        log.info("%s: %s", listed(paths, 3, str), note)


@dataclass(frozen=True, slots=True)
class FirstRows:
    """What the first values of a column are."""

    nested: bool = False  # lists or objects
    blank: bool = False  # nothing but blanks
    number: bool = False
    fractional: bool = False  # some are no whole numbers
    low: float = 0.0
    high: float = 0.0
    ranked: int = 0  # labels that each text ranks, with blanks between them

    @property
    def within_one(self) -> bool:
        """Whether these are numbers from 0 to 1."""
        return self.number and self.low >= 0 and self.high <= 1

    @property
    def tells_apart(self) -> bool:
        """Whether values are such as ids are: neither lists nor blank nor fractions nor zeros and ones."""
        return not (self.nested or self.blank or self.fractional or self.within_one)


def _look(column: Any) -> FirstRows:
    pa, pc = need("pyarrow"), need("pyarrow.compute")
    values = plain(column).drop_null()
    if pa.types.is_string(values.type):
        values = pc.utf8_trim_whitespace(values)
        values = values.filter(pc.not_equal(values, ""))
    if not len(values):
        return FirstRows(blank=True)
    try:
        if pa.types.is_boolean(values.type) or pa.types.is_temporal(values.type):
            return FirstRows()
        x = as_numpy(pc.cast(_numeric(values), pa.float64(), safe=False))
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return FirstRows(ranked=_ranked(values.to_pylist()) if pa.types.is_string(values.type) else 0)
    x = x[np.isfinite(x)]
    if not len(x):
        return FirstRows(number=True)
    return FirstRows(number=True, fractional=bool((x % 1 != 0).any()), low=float(x.min()), high=float(x.max()))


def _ranked(texts: Sequence[str]) -> int:
    """How many labels each text ranks; 0 where that is not certain.

    It is where all have equally many different words, and a word stands at different places: the words of one label
    keep their order.
    """
    ranks = [text.split() for text in texts]
    if len({len(words) for words in ranks}) > 1 or any(len(set(words)) < len(words) for words in ranks):
        return 0
    places: dict[str, int] = {}
    moved = any(places.setdefault(word, at) != at for words in ranks for at, word in enumerate(words))
    return len(ranks[0]) if moved else 0


def _numeric(values: Any) -> Any:
    """Text that is mostly numbers, without what is none: that is an error of its row, not of the column."""
    pa, pc = need("pyarrow"), need("pyarrow.compute")
    if not pa.types.is_string(values.type):
        return values
    numbers = pc.match_substring_regex(values, r"^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$")
    return values.filter(numbers) if 2 * pc.sum(numbers).as_py() > len(values) else values
