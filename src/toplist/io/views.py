"""A table seen in another way: nested paths as columns, rows that fulfil conditions, several columns as one case id.

::

    view = View(reader, where=("output_type=pmf",), case="reference_date,location", paths=("results.score",))
    view.schema            # the columns of the reader, and "reference_date,location" and "results.score"
    view.pieces(columns)   # batch by batch; `TableChunk.rows` are the row numbers of the file
    view.kept, view.total  # after a pass: how many rows fulfil the conditions, and of how many
    view.filtering         # the same in words, to tell; "" without conditions

Whoever opens a table calls `view_of(reader, hints)` before its layout is looked for, and `with_columns(reader,
layout.columns)` once that is known, before `prepare`: both give back the reader itself where it has all columns.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from functools import cached_property, reduce
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from toplist._files import need
from toplist._text import argument, did_you_mean, listed, quote
from toplist.errors import FileError
from toplist.io.columns import as_arrow, as_numpy, blanks, kind_of, offsets_of, plain, sound, truths
from toplist.io.readers.base import Entries, Reader, TableChunk, without_columns
from toplist.io.readers.column_types import common, decoded, is_any_list, is_large, usual

if TYPE_CHECKING:
    from toplist.io.layouts import Layout, LayoutHints


class Side(Enum):
    """The two sides of an object whose keys are classes: both become lists."""

    KEYS = ".keys()"
    VALUES = ".values()"


Step = str | int | Side  # a field of an object, an element of a list, or a side of an object


@dataclass(frozen=True, slots=True)
class ColumnPath:
    """Where the values of a column stand: in a column of the table, and inside of it."""

    root: str
    steps: tuple[Step, ...]
    kind: Any  # the type of the values


def resolve(schema: Any, text: str) -> ColumnPath | None:
    """The column of this name, or what is at this path; None where there is neither.

    `a.b` is the field b of the objects in a; where a holds lists of objects, it is a list of their fields. `a[0]` and
    `a[-1]` are the first and the last element of a list, or null. `a.keys()` and `a.values()` make two lists of an
    object whose keys are classes. A name that holds dots wins over a path, and may stand in double quotes.

    >>> import pyarrow as pa
    >>> schema = pa.schema([("results", pa.list_(pa.struct([("score", pa.float64())])))])
    >>> resolve(schema, "results.score").steps, resolve(schema, "results[0].score").steps, resolve(schema, "x")
    (('score',), (0, 'score'), None)
    """
    for name, rest in heads(schema.names, text):
        found = _steps(schema.field(name).type, rest)
        if found is not None:
            return ColumnPath(name, *found)
    return None


def heads(names: Sequence[str], text: str) -> list[tuple[str, str]]:
    """The names that a path may begin with, each with what follows it; the longest first."""
    found = [(name, text[len(name) :]) for name in set(names) if text.startswith(name) and name]
    quoted = re.match(r'"((?:[^"]|"")*)"', text)
    if quoted is not None and quoted[1].replace('""', '"') in names:
        found.append((quoted[1].replace('""', '"'), text[quoted.end() :]))
    return sorted((pair for pair in found if pair[1][:1] in ("", ".", "[")), key=lambda pair: len(pair[1]))


def _steps(kind: Any, rest: str) -> tuple[tuple[Step, ...], Any] | None:
    """What a path says beyond a value of this type, and the type of what is there."""
    pa = need("pyarrow")
    kind = as_records(kind)
    if not rest:
        return (), usual(kind)
    for side in Side:
        if rest == side.value and (pair := _sides(kind)) is not None:
            return (side,), pa.list_(pair[list(Side).index(side)])
    item = re.match(r"\[(-?\d{1,9})\]", rest)
    if item is not None and is_any_list(kind):
        found = _steps(kind.value_type, rest[item.end() :])
        return None if found is None else ((int(item[1]), *found[0]), found[1])
    if is_any_list(kind):
        found = _steps(kind.value_type, rest)
        return None if found is None else (found[0], _list_type(kind, found[1]))
    if pa.types.is_struct(kind) and rest[0] == ".":
        kinds = {kind.field(i).name: kind.field(i).type for i in range(kind.num_fields)}
        once = [name for name in kinds if kind.get_field_index(name) >= 0]  # a name that is there twice says nothing
        for name, further in heads(once, rest[1:]):
            found = _steps(kinds[name], further)
            if found is not None:
                return (name, *found[0]), found[1]
    return None


def as_records(kind: Any) -> Any:
    """A map as what it is: a list of objects with a key and a value."""
    pa = need("pyarrow")
    if pa.types.is_map(kind):
        return pa.list_(pa.struct([("key", kind.key_type), ("value", kind.item_type)]))
    return kind.value_type if pa.types.is_dictionary(kind) else kind


def _sides(kind: Any) -> tuple[Any, Any] | None:
    """The types of keys and values, where an object has a class for each key; else None."""
    pa = need("pyarrow")
    if is_any_list(kind) and pa.types.is_struct(kind.value_type):
        pair = kind.value_type
        named = [pair.field(i).name for i in range(pair.num_fields)] == ["key", "value"]
        return (usual(pair.field(0).type), usual(pair.field(1).type)) if named else None
    if not pa.types.is_struct(kind) or not kind.num_fields:
        return None
    kinds = [usual(kind.field(i).type) for i in range(kind.num_fields)]
    one = reduce(lambda a, b: None if a is None else common(a, b), kinds)
    if (
        one is None
        or pa.types.is_nested(one)
        or not any(test(one) for test in (pa.types.is_integer, pa.types.is_floating, pa.types.is_decimal))
    ):
        return None
    return pa.string(), one


def _list_type(kind: Any, inner: Any) -> Any:
    pa = need("pyarrow")
    return (pa.large_list if is_large(kind) else pa.list_)(inner)


def extract(column: Any, steps: Sequence[Step]) -> Any:
    """The values at a path inside a column; null where anything on the way is null, or is not there."""
    pa, pc = need("pyarrow"), need("pyarrow.compute")
    if pa.types.is_map(column.type):
        column = column.cast(as_records(column.type))
    if not steps:
        kind = usual(column.type)
        return column if column.type == kind else decoded(column).cast(kind)
    column = decoded(column) if pa.types.is_dictionary(column.type) else column
    first, *further = steps
    if is_any_list(column.type):
        offsets, values, nothing = _opened(column)
        if isinstance(first, int):
            return extract(values.take(_places(offsets, nothing, first)), further)
        if isinstance(first, Side):
            first = ("key", "value")[list(Side).index(first)]
        return _closed(column.type, offsets, extract(values, [first, *further]), nothing)
    if isinstance(first, Side):
        return _side(column, first)
    return extract(pc.struct_field(column, [column.type.get_field_index(first)]), further)


def pruned(kind: Any, routes: Sequence[Sequence[Step]]) -> Any:
    """A type of objects with those fields alone that are on some paths."""
    pa = need("pyarrow")
    if not all(routes) or any(isinstance(steps[0], Side) for steps in routes):
        return kind
    if is_any_list(kind):
        inner = pruned(kind.value_type, [steps[1:] if isinstance(steps[0], int) else steps for steps in routes])
        return kind if inner == kind.value_type else _list_type(kind, inner)
    if not pa.types.is_struct(kind):
        return kind
    further: dict[str, list[Sequence[Step]]] = {}
    for first, *rest in routes:
        further.setdefault(str(first), []).append(rest)
    return pa.struct([(name, pruned(kind.field(name).type, some)) for name, some in further.items()])


def _opened(column: Any) -> tuple[NDArray[np.int64], Any, NDArray[np.bool_]]:
    """Where each list begins in the values of all, and the end; the values; and which lists are null."""
    pc, nothing = need("pyarrow.compute"), blanks(column)
    sizes = np.where(nothing, 0, as_numpy(pc.fill_null(pc.list_value_length(column), 0)))
    return offsets_of(sizes), pc.list_flatten(column), nothing


def _closed(kind: Any, offsets: NDArray[np.int64], values: Any, nothing: NDArray[np.bool_]) -> Any:
    pa, mask = need("pyarrow"), as_arrow(nothing) if nothing.any() else None
    if is_large(kind):
        return pa.LargeListArray.from_arrays(as_arrow(offsets), values, mask=mask)
    return pa.ListArray.from_arrays(as_arrow(offsets.astype(np.int32)), values, mask=mask)


def _places(offsets: NDArray[np.int64], nothing: NDArray[np.bool_], item: int) -> Any:
    """Where the element with this number is of each list; null where the list is too short."""
    pa, sizes = need("pyarrow"), np.diff(offsets)
    lacks = nothing | (sizes <= item if item >= 0 else sizes < -item)
    at = offsets[:-1] + item if item >= 0 else offsets[1:] + item
    return pa.array(np.where(lacks, 0, at), mask=lacks)


def _side(column: Any, side: Side) -> Any:
    """Keys or values of objects as lists: a key that is null, or not there, is not on the list."""
    pa, pc, n, k = need("pyarrow"), need("pyarrow.compute"), len(column), column.type.num_fields
    nothing, names = blanks(column), [column.type.field(i).name for i in range(k)]
    fields = [pc.struct_field(column, [i]) for i in range(k)]
    there = np.stack([~blanks(one) for one in fields], axis=1)
    if side is Side.KEYS:
        values = pa.array(names, pa.string()).take(pa.array(np.nonzero(there)[1]))
    else:
        some = [at for at in range(k) if there[:, at].any()]  # what is null everywhere may have any type
        kind = reduce(common, (usual(fields[at].type) for at in some), pa.null())
        order = (np.arange(n)[:, None] + n * np.arange(len(some))).ravel()[there[:, some].ravel()]
        values = pa.concat_arrays([pa.nulls(0, kind), *(decoded(fields[at]).cast(kind) for at in some)])
        values = values.take(pa.array(order))
    return _closed(pa.list_(pa.null()), offsets_of(there.sum(axis=1)), values, nothing)


_MOST = 10_000  # values of a condition's column that are counted
_DIGITS = 400  # of a number that has a value
_NUMBER = re.compile(r"[+-]?(0|[1-9]\d*)(\.\d*)?([eE][+-]?\d+)?")  # 01 is a code, not a number


@dataclass(frozen=True, slots=True)
class Condition:
    """A value that a column has in the rows that are kept, or does not have."""

    text: str  # as the caller wrote it
    path: ColumnPath
    name: str
    value: str  # "" for null
    negated: bool

    def holds(self, column: Any, source: str) -> NDArray[np.bool_]:
        """Which rows fulfil it; a null is not equal to anything but a blank."""
        values = plain(column)
        if need("pyarrow").types.is_nested(values.type):
            raise FileError(
                source,
                f"{argument('where', self.text)}: {quote(self.name)} holds {kind_of(values.type)}, but a condition is "
                "about one value per row. Name a field in it, or an element such as [0].",
            )
        return _equal(values, self.value) ^ self.negated


def _equal(values: Any, wanted: str) -> NDArray[np.bool_]:
    pa, pc, kind = need("pyarrow"), need("pyarrow.compute"), values.type
    number = wanted if len(wanted) < _DIGITS and _NUMBER.fullmatch(wanted) else None
    if not wanted:
        return _is_blank(values)
    if pa.types.is_null(kind):
        return np.zeros(len(values), bool)
    if pa.types.is_boolean(kind):
        same = pc.equal(pc.cast(values, pa.string()), wanted.lower())
    elif pa.types.is_string(kind):
        trimmed = pc.utf8_trim_whitespace(values)
        same = pc.equal(trimmed, wanted)
        if number is not None and abs(float(number)) < 2.0**53:
            numeric = pc.match_substring_regex(trimmed, f"^({_NUMBER.pattern})$")
            cast = pc.cast(pc.if_else(numeric, trimmed, None), pa.float64())
            same = pc.or_kleene(same, pc.equal(cast, float(number)))
    elif pa.types.is_integer(kind):
        same = pc.equal(pc.cast(values, pa.string()), str(_whole(number)))
    elif pa.types.is_floating(kind):
        single = pa.types.is_float32(kind)
        values = values if single else pc.cast(values, pa.float64())
        same = pc.equal(values, pa.scalar(math.nan if number is None else float(number), values.type))
    else:
        same = pc.equal(_as_text(values), wanted)
    return truths(pc.fill_null(same, False))


def _whole(number: str | None) -> int | None:
    """The whole number that a text is, exactly; None where it is none."""
    if number is None:
        return None
    if re.fullmatch(r"[+-]?\d+", number):
        return int(number)
    value = float(number)
    return int(value) if value.is_integer() else None


def _is_blank(values: Any) -> NDArray[np.bool_]:
    """Which values are null, no text at all, or no number."""
    pa, pc = need("pyarrow"), need("pyarrow.compute")
    nothing = blanks(values)
    if pa.types.is_string(values.type):
        nothing |= truths(pc.fill_null(pc.equal(pc.utf8_trim_whitespace(values), ""), False))
    if pa.types.is_floating(values.type):
        nothing |= truths(pc.fill_null(pc.is_nan(pc.cast(values, pa.float64())), False))
    return nothing


def _as_text(values: Any) -> Any:
    """Values as text that is the same for the same value, whatever the type: 1, 1.0 and "1", dates and ISO text."""
    pa, pc, kind = need("pyarrow"), need("pyarrow.compute"), values.type
    if pa.types.is_floating(kind):
        numbers = as_numpy(pc.cast(values, pa.float64()).fill_null(math.nan))
        whole = (numbers == np.floor(numbers)) & (np.abs(numbers) < 2.0**53)
        whole_text = pc.cast(as_arrow(np.where(whole, numbers, 0).astype(np.int64)), pa.string())
        return pc.if_else(as_arrow(whole), whole_text, pc.cast(values, pa.string()))
    try:
        text = values if pa.types.is_string(kind) else pc.cast(values, pa.string())
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):  # durations, bytes of one length
        return pa.array([None if value is None else str(value) for value in values.to_pylist()], pa.string())
    if pa.types.is_decimal(kind) or pa.types.is_timestamp(kind):  # no zeros at the end, and midnight is a date
        text = pc.replace_substring_regex(text, r"(\.\d*?)0+(Z?)$", r"\1\2")
        text = pc.replace_substring_regex(text, r"\.(Z?)$", r"\1")
        text = pc.replace_substring_regex(text, r" 00:00:00$", "")
    return text


def parts_of(schema: Any, case: str) -> dict[str, ColumnPath | None]:
    """The parts of a composite id, None for those that are no columns; nothing where it is one column or path."""
    if resolve(schema, case) is not None:
        return {}
    names = [part.strip() for part in re.split(r',(?=(?:[^"]*"[^"]*")*[^"]*$)', case)]
    return {} if len(names) < 2 else {name: resolve(schema, name) for name in names}


def _joined(columns: Sequence[Any], names: Sequence[str], source: str, rows: NDArray[np.int64]) -> Any:
    """One text per row of the values of several columns; a comma inside of one is written with a backslash."""
    pc, parts = need("pyarrow.compute"), []
    for column, name in zip(columns, names, strict=True):
        values = plain(column)
        if need("pyarrow").types.is_nested(values.type):
            raise FileError(source, f"{quote(name)} holds {kind_of(values.type)}, which are no part of a case id.")
        nothing = _is_blank(values)
        if nothing.any():
            problem = f"{quote(name)} is blank, but it is a part of the case id. Fill it in, or leave out such rows"
            remedy = f"{problem}: {argument('where', f'{name}!=')}."
            raise FileError(source, remedy, row=int(rows[np.flatnonzero(nothing)[0]]))
        text = _as_text(values)
        for mark in ("\\", ","):
            text = pc.replace_substring(text, mark, "\\" + mark)
        parts.append(text)
    return pc.binary_join_element_wise(*parts, ",")


class View(Reader):
    """A reader with further columns, or with some of its rows.

    Parameters
    ----------
    reader : Reader
        The table.
    where : str or sequence of str, default ()
        Conditions that all rows fulfil which are kept: "column=value" or "column!=value". Values are compared as text,
        numbers and dates by what they are; nothing after the sign is a null or a blank. A condition that no row
        fulfils is an error, which names values that do occur.
    case : str, optional
        A column; else a path; else several of them with commas between, which become one column of text that has this
        name. Each part may stand in double quotes.
    paths : sequence of str, default ()
        Paths that become columns, as `resolve` has them; those that are columns are left alone.

    Attributes
    ----------
    kept, total : int or None
        How many rows fulfil the conditions, and of how many; None before the first pass is over.
    parts : tuple of str
        The columns of a composite case id, and those that have one value by a condition: recognition does not look
        for classes or confidences in them.

    Raises
    ------
    FileError
        When the schema, or the first piece, is asked for: if a column is not there, a part of an id is blank, or no row
        fulfils the conditions.
    """

    def __init__(
        self, reader: Reader, *, where: str | Sequence[str] = (), case: str | None = None, paths: Sequence[str] = ()
    ) -> None:
        self.reader = reader
        self.where = (where,) if isinstance(where, str) else tuple(where)
        self.case = case
        self.asked = tuple(dict.fromkeys(paths))
        self.paths, self.name = reader.paths, reader.name
        self.text, self.decimal, self.unnamed = reader.text, reader.decimal, reader.unnamed
        self.index, self.named_index = reader.index, reader.named_index
        self.origin, self.bare = reader.origin, reader.bare
        self.kept: int | None = None
        self.total: int | None = None

    @property
    def rows(self) -> int | None:  # type: ignore[override]
        """How many rows there are, where that is known."""
        return self.kept if self.where else self.reader.rows

    @property
    def row(self) -> str:  # type: ignore[override]
        """What a row is."""
        return self.reader.row

    @property
    def filtering(self) -> str:
        """What the conditions keep, as a sentence to tell after a pass; nothing where there are none."""
        if self.kept is None or self.total is None:
            return ""
        return f"{self.kept:,} of {self.total:,} rows, those with {' and '.join(self.where)}"

    @cached_property
    def parts(self) -> tuple[str, ...]:  # type: ignore[override]
        """See the class."""
        fixed = [one.name for one in self._conditions if not one.negated]
        return tuple(dict.fromkeys([*self.reader.parts, *self._composite, *fixed]))

    @cached_property
    def schema(self) -> Any:
        """Names and types."""
        pa, schema = need("pyarrow"), self.reader.schema
        further = {name: path.kind for name, path in self._further.items()}
        if self._composite:
            further[str(self.case)] = pa.string()
        _ = self._conditions  # columns that are not there are said now
        return pa.schema([*schema, *further.items()])

    @cached_property
    def _further(self) -> dict[str, ColumnPath]:
        """The paths that are columns here, but not in the reader."""
        found, names = {}, set(self.reader.schema.names)
        lone = [] if self.case is None or self._composite else [self.case]
        for text in (*lone, *self.asked):
            if text not in names:
                found[text] = self._path(text)
        return found

    @cached_property
    def _composite(self) -> dict[str, ColumnPath]:
        """The columns of a composite id."""
        found = {} if self.case is None else parts_of(self.reader.schema, self.case)
        return {name: path or self._path(name) for name, path in found.items()}

    @cached_property
    def _conditions(self) -> tuple[Condition, ...]:
        return tuple(self._condition(text) for text in self.where)

    def _path(self, text: str) -> ColumnPath:
        found = resolve(self.reader.schema, text)
        if found is None:
            names = self.reader.schema.names
            near = did_you_mean(text, names) or f" The columns are {listed(names)}."
            raise FileError(self.name, f"there is no column {quote(text)}.{near}")
        return found

    def _condition(self, text: str) -> Condition:
        """A condition: the name ends where there is a column of this name, since both sides may hold the sign."""
        signs = [(at - (text[at - 1 : at] == "!"), at + 1) for at, sign in enumerate(text) if sign == "="]
        pairs = [(text[:end].strip(), text[start:].strip(), start - end > 1) for end, start in signs]
        if not pairs:
            raise FileError(
                self.name, f"{argument('where', text)} is no condition: write 'column=value' or 'column!=value'."
            )
        able = [(path, *pair) for pair in pairs if (path := resolve(self.reader.schema, pair[0])) is not None]
        if len(able) > 1:
            raise FileError(
                self.name,
                f"{argument('where', text)}: {listed([one[1] for one in able])} are columns. Put the name of the one "
                "that is meant into double quotes.",
            )
        path, name, value, negated = able[0] if able else (self._path(pairs[0][0]), *pairs[0])
        return Condition(text, path, name, value, negated)

    def prepare(self, layout: Layout) -> None:
        """See `Reader`, which knows the column that a path begins in."""
        roots = {name: path.root for name, path in self._further.items()}
        roots |= {str(self.case): path.root for path in list(self._composite.values())[:1]}
        case, *others = [roots.get(str(name), name) for name in (layout.case, *layout.classes, *layout.confidences)]
        split = len(layout.classes)
        classes, confidences = tuple(map(str, others[:split])), tuple(map(str, others[split:]))
        self.reader.prepare(replace(layout, case=case, classes=classes, confidences=confidences))

    def pieces(self, columns: Sequence[str]) -> Iterator[TableChunk]:
        """The named columns of the rows that are kept, batch by batch."""
        further = {name: self._further[name] for name in columns if name in self._further}
        parts = self._composite if self.case in columns else {}
        paths = [*further.values(), *parts.values(), *(one.path for one in self._conditions)]
        own = [name for name in columns if name not in further and not (parts and name == self.case)]
        routes: dict[str, list[tuple[Step, ...]]] = {name: [()] for name in own}
        for path in paths:
            routes.setdefault(path.root, []).append(path.steps)
        schema = self.reader.schema
        base = need("pyarrow").schema([(name, pruned(schema.field(name).type, some)) for name, some in routes.items()])
        kept = total = 0
        for piece in self.reader.pieces_of(base):
            some = self._filtered(piece if self.reader.text else sound(piece))
            total, kept = total + len(piece.table), kept + len(some.table)
            if len(some.table):
                yield self._seen(some, columns, further, parts)
        if self.where and total and not kept:
            self._refuse_all()
        if self.where:
            self.kept, self.total = kept, total

    def _filtered(self, piece: TableChunk) -> TableChunk:
        if not self._conditions:
            return piece
        fulfilled = np.ones(len(piece.table), bool)
        for one in self._conditions:
            fulfilled &= one.holds(extract(piece.table.column(one.path.root), one.path.steps), piece.source)
        if fulfilled.all():
            return piece
        at = np.flatnonzero(fulfilled)
        entries = None if piece.entries is None else _some(piece.entries, at)
        return TableChunk(piece.source, piece.start, piece.table.take(as_arrow(at)), piece.row_numbers[at], entries)

    def _seen(self, piece: TableChunk, columns: Sequence[str], further: Any, parts: Any) -> TableChunk:
        pa, table, made = need("pyarrow"), piece.table, {}
        for name, path in further.items():
            made[name] = extract(table.column(path.root), path.steps)
        if parts:
            values = [extract(table.column(path.root), path.steps) for path in parts.values()]
            made[str(self.case)] = _joined(values, list(parts), piece.source, piece.row_numbers)
        names = [name for name in columns if name in made or name in table.schema.names]  # entries are elsewhere
        arrays = [made[name] if name in made else table.column(name) for name in names]
        batch = pa.record_batch(arrays, names=names) if names else without_columns(len(table))
        return replace(piece, table=batch)

    def _refuse_all(self) -> None:
        """Say which values there are, where no row fulfils the conditions."""
        fulfilled = [0] * len(self._conditions)
        occurring: list[dict[str, None]] = [{} for _ in self._conditions]
        for piece in self.reader.pieces(list(dict.fromkeys(one.path.root for one in self._conditions))):
            table = (piece if self.reader.text else sound(piece)).table
            for i, one in enumerate(self._conditions):
                values = extract(table.column(one.path.root), one.path.steps)
                fulfilled[i] += int(one.holds(values, piece.source).sum())
                if len(occurring[i]) < _MOST:
                    occurring[i] |= dict.fromkeys(_shown(plain(values)))
        for one, count, values in zip(self._conditions, fulfilled, occurring, strict=True):
            if not count:
                found = listed(list(values), show=str)
                raise FileError(self.name, f"{argument('where', one.text)}: no row fulfils it. The values are {found}.")
        each = ", ".join(f"{count:,} {one.text}" for one, count in zip(self._conditions, fulfilled, strict=True))
        raise FileError(self.name, f"no row fulfils all conditions together: {each}. Leave out one of them.")


def _shown(values: Any) -> list[str]:
    """Values as they are written in a condition."""
    return [
        "(blank)" if value is None or value == "" else quote(value) for value in _as_text(values.unique()).to_pylist()
    ]


def _some(entries: Entries, rows: NDArray[np.int64]) -> Entries:
    """The entries of some rows."""
    sizes = np.diff(entries.offsets)[rows]
    offsets = offsets_of(sizes)
    at = np.repeat(entries.offsets[:-1][rows] - offsets[:-1], sizes) + np.arange(offsets[-1])
    values = entries.values[at] if isinstance(entries.values, np.ndarray) else entries.values.take(as_arrow(at))
    return Entries(offsets, entries.places[at], values)


def view_of(reader: Reader, hints: LayoutHints, also: str | None = None) -> Reader:
    """The table as the caller asks for it: its conditions, its composite id, and every path among the named columns.

    `also` is the composite id of other tables that are aligned with this one: it is made here too, where no other id is
    named and its columns are there. Names that are neither columns nor paths are left for `layouts.require_columns`.
    """
    if hints.records is not None:
        reader.look_for(hints.records)
    inside = () if hints.records is not None else (hints.class_column, hints.confidence)
    names = [name for name in (*inside, *hints.extra) if name is not None]
    if not (names or hints.case or hints.where or also):
        return reader
    schema, case = reader.schema, hints.case
    paths = [name for name in names if _is_path(schema, name)]
    if case is None and also is not None:
        parts = parts_of(schema, also)
        case = also if parts and all(parts.values()) else None
    elif case is not None and not _is_path(schema, case) and not parts_of(schema, case):
        case = None
    return View(reader, where=hints.where, case=case, paths=paths) if paths or case or hints.where else reader


def _is_path(schema: Any, name: str) -> bool:
    return name not in schema.names and resolve(schema, name) is not None


def with_columns(reader: Reader, columns: Sequence[str]) -> Reader:
    """The table with these columns, some of which are paths."""
    paths = [name for name in columns if name not in reader.schema.names]
    if not paths:
        return reader
    if not isinstance(reader, View):
        return View(reader, paths=paths)
    return View(reader.reader, where=reader.where, case=reader.case, paths=(*reader.asked, *paths))
