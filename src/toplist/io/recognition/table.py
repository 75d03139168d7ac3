"""A table that is to be recognised: what the caller says of it, its columns, and a look at their first values."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from functools import cached_property
from typing import Any, NoReturn

import numpy as np

from toplist._files import identity, need
from toplist._text import argument
from toplist.errors import FileError
from toplist.io.columns import as_numpy, is_list, plain
from toplist.io.options import ReadOptions
from toplist.io.readers import Reader
from toplist.io.words import CASE, CERTAIN_IDS, CONFIDENCE, NEITHER, is_named
from toplist.lists.space import ClassSpace

_SAMPLE = 1000  # rows that are looked at


@dataclass(slots=True)
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
        """Whether values are such as ids are: neither blank nor fractions nor zeros and ones."""
        return not (self.blank or self.fractional or self.within_one)


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
    notes: tuple[str, ...] = ()  # sentences about what was read
    gaps: int = 0  # cases that are missing, of a table without ids
    outcome: str | None = None  # the column with outcomes, of predictions that carry them
    _looks: dict[str, FirstRows] = field(default_factory=dict)

    @property
    def source(self) -> str:
        """The path, or the name of a table in memory."""
        return self.reader.name

    @cached_property
    def names(self) -> list[str]:
        """The columns."""
        return [str(name) for name in self.schema.names]

    @cached_property
    def schema(self) -> Any:
        """Names and types."""
        return self.reader.schema

    @cached_property
    def labels(self) -> Collection[str] | None:
        """The names of the classes in their order, where they are known."""
        space = self.space
        return None if space is None or space.labels is None else dict.fromkeys(map(str, space.labels)).keys()

    @property
    def size(self) -> Any:
        """How many classes there are, where that is known."""
        return None if self.space is None or self.space.per_case else self.space.size

    @property
    def index(self) -> str | None:
        """The column that was the index of a dataframe."""
        return self.reader.index

    @property
    def named_index(self) -> bool:
        """Whether the index of a dataframe has a name of its own."""
        return self.index is not None and self.reader.named_index

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
        return frozenset(name for pattern in self.options.ignore for name in matching(self.names, pattern))

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
        if name not in self._looks:
            self._looks.update(_looked(self.reader, self.names))
        return self._looks[name]

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

    def has_unique(self, name: str) -> bool:
        """Whether no value of a column is there twice; the whole column is read."""
        pa, pc = need("pyarrow"), need("pyarrow.compute")
        try:
            pieces = [pc.cast(plain(piece.table.column(0)), pa.string()) for piece in self.reader.pieces([name])]
        except (pa.ArrowException, FileError):
            return False
        values = pa.chunked_array(pieces, pa.string()).drop_null()
        return bool(0 < len(values) == pc.count_distinct(values).as_py())

    def refuse(self, problem: str) -> NoReturn:
        """What cannot be recognised is an error that says what to type."""
        raise FileError(self.source, problem)


def matching(names: Sequence[str], pattern: str) -> list[str]:
    """The columns that are called so, or that fit a pattern."""
    return [name for name in names if name == pattern or fnmatchcase(name, pattern)]


def _looked(reader: Reader, names: list[str]) -> dict[str, FirstRows]:
    """The look of every column, from one read of the first rows."""
    types = need("pyarrow").types
    nested = {name for name in names if types.is_nested(reader.schema.field(name).type)}
    scalar = [name for name in names if name not in nested]
    first = next(iter(reader.pieces(scalar)), None) if scalar else None
    if first is not None:
        first = replace(first, table=first.table.slice(0, _SAMPLE), rows=None)
    looks = {name: FirstRows(nested=True) for name in nested}
    for at, name in enumerate(scalar):
        looks[name] = FirstRows(blank=True) if first is None else _look(first.table.column(at))
    return looks


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
