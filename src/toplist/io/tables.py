"""A table before its layout is known: whether it is damaged, which columns it has, what their first values are."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from toplist._optional import need
from toplist.errors import FileError
from toplist.io.column_names import CASE, CERTAIN, CONFIDENCE, NEITHER, is_named, spelled
from toplist.io.columns import as_numpy, is_list, plain
from toplist.io.readers import Reader, TableChunk


def sound(piece: TableChunk) -> TableChunk:
    """The same piece, if its columns fit together and its text is UTF-8; bytes become text, half floats floats."""
    pa, columns, changed = need("pyarrow"), [], False
    for column in piece.table.columns:
        kind = _known_kind(column.type)
        changed |= kind is not None
        try:
            column.validate(full=True)
            columns.append(column if kind is None else column.cast(kind))
        except pa.ArrowInvalid as error:
            raise _damage(str(error), column, piece) from None
    return replace(piece, table=pa.record_batch(columns, names=piece.table.schema.names)) if changed else piece


def _known_kind(kind: Any) -> Any:
    """The type that bytes and half floats, or lists of them, are read as; None for all else."""
    pa = need("pyarrow")
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        inner = _known_kind(kind.value_type)
        return None if inner is None else (pa.list_ if pa.types.is_list(kind) else pa.large_list)(inner)
    if pa.types.is_float16(kind):
        return pa.float32()
    small, large = pa.types.is_binary(kind) or pa.types.is_binary_view(kind), pa.types.is_large_binary(kind)
    return pa.string() if small else pa.large_string() if large else None


def _damage(problem: str, column: Any, piece: TableChunk) -> FileError:
    """What Arrow said; nothing in the column can be relied on."""
    if "utf8" not in problem.lower():
        return FileError(piece.source, "this file is damaged: its columns do not fit together.")
    found, types = re.search(r"string index (\d+)", problem), need("pyarrow").types
    at = None if found is None else int(found.group(1))
    if at is None:  # bytes, which are what they are
        at = next(row for row, value in enumerate(column.to_pylist()) if not _is_text(value))
    elif types.is_list(column.type) or types.is_large_list(column.type):
        at = int(np.searchsorted(as_numpy(column.offsets), at, side="right")) - 1
    elif types.is_dictionary(column.type):
        at = None
    row = None if at is None else piece.start + min(max(at, 0), len(column) - 1) + 1
    return FileError(piece.source, "this is not UTF-8 text.", row=row)


def _is_text(value: Any) -> bool:
    if isinstance(value, list):
        return all(map(_is_text, value))
    try:
        (value or b"").decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


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


@dataclass(frozen=True)
class Table:
    """The columns of a file or frame, with their types and a look at their first values."""

    reader: Reader
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

    @property
    def index(self) -> str | None:
        """The column that was the index of a dataframe."""
        return self.reader.index

    @property
    def named_index(self) -> bool:
        """Whether the index of a dataframe has a name of its own."""
        return self.index is not None and self.reader.named_index

    @property
    def bare(self) -> bool:
        """Whether this is a list or an array, which can be matched by position only."""
        return self.reader.bare

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
            return look.fractional and look.low >= 0 and look.high <= 1
        inside = look.low >= 0 and look.high <= 100
        return inside or (look.fractional and look.high <= 0)

    def is_id(self, name: str) -> bool:
        """Whether a column bears the name of an id, and holds no fractions: a class may be called image as well."""
        if not is_named(name, CASE) or not self.is_scalar(name):
            return False
        look = self.look(name)
        if look.fractional:
            return False
        return spelled(name) in CERTAIN or not (look.number and look.low >= 0 and look.high <= 1)


def _looked(reader: Reader, names: list[str]) -> dict[str, FirstRows]:
    """The look of every column, from one read of the first rows."""
    types = need("pyarrow").types
    nested = {name for name in names if types.is_nested(reader.schema.field(name).type)}
    scalar = [name for name in names if name not in nested]
    first = next(iter(reader.pieces(scalar)), None) if scalar else None
    if first is not None:
        first = replace(first, table=first.table.slice(0, _SAMPLE), rows=None)
        first = first if reader.text else sound(first)
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
        return FirstRows()
    x = x[np.isfinite(x)]
    if not len(x):
        return FirstRows(number=True)
    return FirstRows(number=True, fractional=bool((x % 1 != 0).any()), low=float(x.min()), high=float(x.max()))


def _numeric(values: Any) -> Any:
    """Text that is mostly numbers, without what is none: that is an error of its row, not of the column."""
    pa, pc = need("pyarrow"), need("pyarrow.compute")
    if not pa.types.is_string(values.type):
        return values
    numbers = pc.match_substring_regex(values, r"^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$")
    return values.filter(numbers) if 2 * pc.sum(numbers).as_py() > len(values) else values


def unique_values(table: Table, name: str) -> bool:
    """Whether no value of a column is there twice; the whole column is read."""
    pa, pc, seen = need("pyarrow"), need("pyarrow.compute"), None
    count = 0
    try:
        for piece in table.reader.pieces([name]):
            values = plain(piece.table.column(0)).drop_null()
            values = values if pa.types.is_string(values.type) else pc.cast(values, pa.string())
            count += len(values)
            seen = pc.unique(values if seen is None else pa.concat_arrays([seen, values]))
    except (pa.ArrowException, FileError):
        return False
    return seen is not None and len(seen) == count > 0
