"""Paths into nested data: `results[0].score` as a column of Arrow, or as what stands there in one record.

::

    path = resolve(schema, "results[0].score")   # the column that it begins in, the steps inside of it, and the type
    extract(column, path.steps)                  # the values of all rows
    value_at(record, "results[0].score")         # the same of one record in memory
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from toplist._files import need
from toplist.io.columns import as_arrow, as_numpy, blanks, offsets_of
from toplist.io.layout import KEYS
from toplist.io.readers.column_types import common, decoded, is_any_list, is_large, usual


class Side(Enum):
    """The two sides of an object whose keys are classes: both become lists."""

    KEYS = KEYS
    VALUES = ".values()"


_ITEM = re.compile(r"\[(-?\d{1,9})\]|\.(\d{1,9})(?=[.\[]|$)")  # [0] or .0
Step = str | int | Side  # a field of an object, an element of a list, or a side of an object


_ABSENT = object()


@dataclass(frozen=True, slots=True)
class ColumnPath:
    """Where the values of a column stand: in a column of the table, and inside of it."""

    root: str
    steps: tuple[Step, ...]
    kind: Any  # the type of the values


def resolve(schema: Any, text: str) -> ColumnPath | None:
    """The column of this name, or what is at this path; None where there is neither.

    `a.b` is the field b of the objects in a; where a holds lists of objects, it is a list of their fields. `a[0]` and
    `a[-1]` are the first and the last element of a list, or null; so is `a.0`, where no object in the list has a field
    0. `a.keys()` and `a.values()` make two lists of an object whose keys are classes. A name that holds
    dots wins over a path, and may stand in double quotes.

    >>> import pyarrow as pa
    >>> schema = pa.schema([("results", pa.list_(pa.struct([("score", pa.float64())])))])
    >>> resolve(schema, "results.score").steps, resolve(schema, "results[0].score").steps, resolve(schema, "x")
    (('score',), (0, 'score'), None)
    """
    for name, rest in heads(schema.names, text):
        inside = _steps(schema.field(name).type, rest)
        if inside is not None:
            return ColumnPath(name, *inside)
    return None


def heads(names: Sequence[str], text: str) -> list[tuple[str, str]]:
    """The names that a path may begin with, each with what follows it; the longest first."""
    pairs = [(name, text[len(name) :]) for name in set(names) if text.startswith(name) and name]
    quoted = re.match(r'"((?:[^"]|"")*)"', text)
    if quoted is not None and quoted[1].replace('""', '"') in names:
        pairs.append((quoted[1].replace('""', '"'), text[quoted.end() :]))
    return sorted((pair for pair in pairs if pair[1][:1] in ("", ".", "[")), key=lambda pair: len(pair[1]))


def _steps(kind: Any, rest: str) -> tuple[tuple[Step, ...], Any] | None:
    """What a path says beyond a value of this type, and the type of what is there."""
    pa = need("pyarrow")
    kind = as_records(kind)
    if not rest:
        return (), usual(kind)
    for side in Side:
        if rest == side.value and (pair := _sides(kind)) is not None:
            return (side,), pa.list_(pair[list(Side).index(side)])
    if is_any_list(kind):
        fields = None if rest[0] == "[" else _steps(kind.value_type, rest)
        if fields is not None:
            return fields[0], _list_type(kind, fields[1])
        item = _ITEM.match(rest)
        element = None if item is None else _steps(kind.value_type, rest[item.end() :])
        return None if item is None or element is None else ((_number(item), *element[0]), element[1])
    if pa.types.is_struct(kind) and rest[0] == ".":
        kinds = {kind.field(i).name: kind.field(i).type for i in range(kind.num_fields)}
        once = [name for name in kinds if kind.get_field_index(name) >= 0]  # a name that is there twice says nothing
        for name, further in heads(once, rest[1:]):
            inside = _steps(kinds[name], further)
            if inside is not None:
                return (name, *inside[0]), inside[1]
    return None


def _number(item: re.Match[str]) -> int:
    return int(item[1] or item[2])


def value_at(record: Mapping[str, Any], text: str, absent: Any = None) -> Any:
    """What `resolve` finds in a column, in one record in memory; `absent` where there is nothing.

    >>> record = {"doc": {"options": [{"text": "x"}, {"text": "y"}]}}
    >>> value_at(record, "doc.options[0].text"), value_at(record, "doc.options.1.text"), value_at(record, "doc.text")
    ('x', 'y', None)
    """
    for name, rest in heads(list(record), text):
        value = _value(record[name], rest)
        if value is not _ABSENT:
            return value
    return absent


def _value(value: Any, rest: str) -> Any:
    """What a path says beyond a value."""
    if not rest:
        return value
    if isinstance(value, Mapping):
        return value_at(value, rest[1:], _ABSENT) if rest[0] == "." else _ABSENT
    if not isinstance(value, list):
        return _ABSENT
    fields = [] if rest[0] == "[" else [_value(element, rest) for element in value]
    if any(field is not _ABSENT for field in fields):
        return [None if field is _ABSENT else field for field in fields]
    item = _ITEM.match(rest)
    if item is None:
        return _ABSENT
    at = _number(item)
    return _value(value[at], rest[item.end() :]) if -len(value) <= at < len(value) else None


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
    value = reduce(lambda a, b: None if a is None else common(a, b), kinds)
    is_number = (pa.types.is_integer, pa.types.is_floating, pa.types.is_decimal)
    return None if value is None or not any(test(value) for test in is_number) else (pa.string(), value)


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
    there = np.stack([~blanks(field) for field in fields], axis=1)
    if side is Side.KEYS:
        values = pa.array(names, pa.string()).take(pa.array(np.nonzero(there)[1]))
    else:
        some = [at for at in range(k) if there[:, at].any()]  # what is null everywhere may have any type
        kind = reduce(common, (usual(fields[at].type) for at in some), pa.null())
        order = (np.arange(n)[:, None] + n * np.arange(len(some))).ravel()[there[:, some].ravel()]
        values = pa.concat_arrays([pa.nulls(0, kind), *(decoded(fields[at]).cast(kind) for at in some)])
        values = values.take(pa.array(order))
    return _closed(pa.list_(pa.null()), offsets_of(there.sum(axis=1)), values, nothing)
