"""A table seen in another way: nested paths as columns, rows that fulfil conditions, several columns as one case id.

::

    view = View(reader, where=("output_type=pmf",), case="reference_date,location", paths=("results.score",))
    view.schema            # the columns of the reader, and "reference_date,location" and "results.score"
    view.pieces(columns)   # batch by batch; `TableChunk.rows` are the row numbers of the file
    view.kept, view.total  # after a pass: how many rows fulfil the conditions, and of how many
    view.filtering         # the same in words, to tell; "" without conditions

    conditions = RecordConditions(("filter=none", "doc.subject!=law"), "runs")     # the same language for producers
    conditions.hold(record)                                                        # whether a record fulfils all

Whoever opens a table calls `view_of(reader, options)` before its layout is looked for, and `with_columns(reader,
layout.columns)` once that is known, before `prepare`: both give back the reader itself where it has all columns.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from toplist._files import need
from toplist._text import argument, did_you_mean, listed, quote
from toplist.errors import FileError
from toplist.io.columns import as_arrow, as_text, blanks, kind_of, plain, truths
from toplist.io.paths import ColumnPath, Step, extract, pruned, resolve, value_at
from toplist.io.readers.base import Reader, Span, TableChunk

if TYPE_CHECKING:
    from toplist.io.layout import Layout
    from toplist.io.options import ReadOptions

_MOST = 10_000  # values of a condition's column that are counted
_DIGITS = 400  # of a number that has a value
_NUMBER = re.compile(r"[+-]?((0|[1-9]\d*)(\.\d*)?|\.\d+)([eE][+-]?\d+)?")  # 01 is a code, not a number
_MOMENT = re.compile(r"\d{4}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d(\.\d+)?)?Z?)?")  # a date, or a time in UTC or in no zone


def parts_of(schema: Any, name: str) -> dict[str, ColumnPath | None]:
    """The paths that a column is made of: its own, or those of a composite id, None for parts that are no columns.

    Nothing where the table has this column, or where this is neither a path nor several with commas between.
    """
    if name in schema.names:
        return {}
    path = resolve(schema, name)
    if path is not None:
        return {name: path}
    names = [part.strip() for part in re.split(r',(?=(?:[^"]*"[^"]*")*[^"]*$)', name)]
    return {} if len(names) < 2 else {part: resolve(schema, part) for part in names}


def _joined(columns: Sequence[Any], names: Sequence[str], source: str, rows: NDArray[np.int64]) -> Any:
    """One text per row of the values of several columns; a comma inside of one is written with a backslash."""
    pc, parts = need("pyarrow.compute"), []
    for column, name in zip(columns, names, strict=True):
        values = plain(column)
        if need("pyarrow").types.is_nested(values.type):
            raise FileError(source, f"{quote(name)} holds {kind_of(values.type)}, which are no part of a case id.")
        nothing = is_blank(values)
        if nothing.any():
            problem = f"{quote(name)} is blank, but it is a part of the case id. Fill it in, or leave out such rows"
            remedy = f"{problem}: {argument('where', f'{name}!=')}."
            raise FileError(source, remedy, row=int(rows[np.flatnonzero(nothing)[0]]))
        text = as_text(values)
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
        fixed = [condition.name for condition in self._conditions if not condition.negated]
        composite = [part for paths in self._made.values() if len(paths) > 1 for part in paths]
        return tuple(dict.fromkeys([*self.reader.parts, *composite, *fixed]))

    @cached_property
    def schema(self) -> Any:
        """Names and types."""
        pa = need("pyarrow")
        made = [
            (name, next(iter(paths.values())).kind if len(paths) == 1 else pa.string())
            for name, paths in self._made.items()
        ]
        _ = self._conditions  # columns that are not there are said now
        return pa.schema([*self.reader.schema, *made])

    @cached_property
    def _made(self) -> dict[str, dict[str, ColumnPath]]:
        """The columns that the reader does not have, each with the path, or the several, that it is made of."""
        schema, made = self.reader.schema, dict[str, dict[str, ColumnPath]]()
        for name in filter(None, (self.case, *self.asked)):
            if name not in schema.names:
                paths = parts_of(schema, name) or {name: None}
                lacking = next((part for part, path in paths.items() if path is None), None)
                if lacking is not None:
                    raise no_column(lacking, schema.names, self.name)
                made[name] = {part: path for part, path in paths.items() if path is not None}
        return made

    @cached_property
    def _conditions(self) -> dict[Condition, ColumnPath]:
        return conditions_of(self.where, self.reader.schema, self.name)

    def prepare(self, layout: Layout) -> None:
        """See `Reader`, which knows the column that a path begins in."""
        roots = {name: next(iter(paths.values())).root for name, paths in self._made.items()}
        case, *others = [roots.get(str(name), name) for name in (layout.case, *layout.classes, *layout.confidences)]
        split = len(layout.classes)
        classes, confidences = tuple(map(str, others[:split])), tuple(map(str, others[split:]))
        self.reader.prepare(replace(layout, case=case, classes=classes, confidences=confidences))

    def sizes(self) -> Sequence[tuple[int, ...] | None]:
        """See `Reader`."""
        return self.reader.sizes()

    def part(self, spans: Sequence[Span]) -> View:
        """See `Reader`."""
        if self.where:
            raise ValueError("which rows fulfil a condition is a question to the whole table")
        part = copy(self)
        part.reader = self.reader.part(spans)
        return part

    def pieces(self, columns: Sequence[str]) -> Iterator[TableChunk]:
        """The named columns of the rows that are kept, batch by batch."""
        made = [path for name in columns for path in self._made.get(name, {}).values()]
        routes: dict[str, list[tuple[Step, ...]]] = {name: [()] for name in columns if name not in self._made}
        for path in (*made, *self._conditions.values()):
            routes.setdefault(path.root, []).append(path.steps)
        pa, schema = need("pyarrow"), self.reader.schema
        base = pa.schema([(name, pruned(schema.field(name).type, steps)) for name, steps in routes.items()])
        kept = total = 0
        for piece in self.reader.pieces_of(base):
            fulfilling = self._fulfilling(piece)
            total, kept = total + len(piece.table), kept + len(fulfilling.table)
            if len(fulfilling.table):
                arrays = [self._column(fulfilling, name) for name in columns]
                yield replace(fulfilling, table=pa.record_batch(arrays, names=list(columns)))
        if self.where and total and not kept:
            self._refuse_all()
        if self.where:
            self.kept, self.total = kept, total

    def _fulfilling(self, piece: TableChunk) -> TableChunk:
        """The rows that fulfil all conditions."""
        fulfilled = np.ones(len(piece.table), bool)
        for condition, path in self._conditions.items():
            fulfilled &= condition.holds(extract(piece.table.column(path.root), path.steps), piece.source)
        if fulfilled.all():
            return piece
        at = np.flatnonzero(fulfilled)
        return TableChunk(piece.source, piece.start, piece.table.take(as_arrow(at)), piece.row_numbers[at])

    def _column(self, piece: TableChunk, name: str) -> Any:
        """A column of the reader, or one that is made of its columns."""
        if name not in self._made:
            return piece.table.column(name)
        paths = self._made[name]
        values = [extract(piece.table.column(path.root), path.steps) for path in paths.values()]
        return values[0] if len(values) == 1 else _joined(values, list(paths), piece.source, piece.row_numbers)

    def _refuse_all(self) -> None:
        """Say which values there are, where no row fulfils the conditions."""
        fulfilled: dict[Condition, int] = dict.fromkeys(self._conditions, 0)
        values: dict[Condition, dict[Any, None]] = {condition: {} for condition in self._conditions}
        for piece in self.reader.pieces(list(dict.fromkeys(path.root for path in self._conditions.values()))):
            for condition, path in self._conditions.items():
                column = extract(piece.table.column(path.root), path.steps)
                fulfilled[condition] += int(condition.holds(column, piece.source).sum())
                if len(values[condition]) < _MOST:
                    values[condition] |= dict.fromkeys(as_text(plain(column).unique()).to_pylist())
        raise _unmet(self.name, "row", fulfilled, values)


def view_of(reader: Reader, options: ReadOptions, extra: Sequence[str] = (), also: str | None = None) -> Reader:
    """The table as the caller asks for it: its conditions, its composite id, and every path among the named columns.

    `extra` are further columns. `also` is the composite id of other tables that are aligned with this one: it is made
    here too, where no other id is named and its columns are there. Names that are neither columns nor paths are left
    for `require_columns`.
    """
    if options.records is not None:
        reader.look_for(options.records)
    inside = () if options.records is not None else (options.class_column, options.confidence)
    names = [name for name in (*inside, *extra) if name is not None]
    if not (names or options.case or options.where or also):
        return reader
    schema, case = reader.schema, options.case or also
    paths = [name for name in names if name not in schema.names and resolve(schema, name) is not None]
    parts = {} if case is None else parts_of(schema, case)
    if not parts or (options.case is None and not all(parts.values())):
        case = None
    where = tuple(options.where)
    return View(reader, where=where, case=case, paths=paths) if paths or case or where else reader


def with_columns(reader: Reader, columns: Sequence[str]) -> Reader:
    """The table with these columns, some of which are paths."""
    paths = [name for name in columns if name not in reader.schema.names]
    if not paths:
        return reader
    if not isinstance(reader, View):
        return View(reader, paths=paths)
    return View(reader.reader, where=reader.where, case=reader.case, paths=(*reader.asked, *paths))


# Conditions, as in where="filter=none"


@dataclass(frozen=True, slots=True)
class Condition:
    """A value that a column has in the rows that are kept, or does not have."""

    text: str  # as the caller wrote it
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


def conditions_of(where: Sequence[str], schema: Any, source: str) -> dict[Condition, ColumnPath]:
    """Conditions on the columns of a table, each with the path that it is about."""
    conditions: dict[Condition, ColumnPath] = {}
    for text in where:
        readings = _readings(text, source)
        paths = {reading: path for reading in readings if (path := resolve(schema, reading.name)) is not None}
        if not paths:
            raise no_column(readings[0].name, schema.names, source)
        conditions |= {_only(list(paths), source): next(iter(paths.values()))}
    return conditions


def no_column(name: str, names: Sequence[str], source: str) -> FileError:
    """The error about a column or path that is not there."""
    near = did_you_mean(name, names) or f" The columns are {listed(names)}."
    return FileError(source, f"there is no column {quote(name)}.{near}")


def _readings(text: str, source: str) -> list[Condition]:
    """What a condition may say: the name ends at any of its signs, since names and values may hold the sign too."""
    signs = [(at - (text[at - 1 : at] == "!"), at + 1) for at, sign in enumerate(text) if sign == "="]
    if not signs:
        raise FileError(source, f"{argument('where', text)} is no condition: write 'column=value' or 'column!=value'.")
    return [Condition(text, text[:end].strip(), text[start:].strip(), negated=start - end > 1) for end, start in signs]


def _only(readings: Sequence[Condition], source: str) -> Condition:
    """The reading whose name is there."""
    if len(readings) > 1:
        raise FileError(
            source,
            f"{argument('where', readings[0].text)}: {listed([reading.name for reading in readings])} are columns. Put "
            "the name of the one that is meant into double quotes.",
        )
    return readings[0]


class RecordConditions:
    """What records fulfil that a producer reads one by one; and whether any of them has the fields that are named."""

    def __init__(self, where: Sequence[str], source: str) -> None:
        self.source = source
        self._readings = {text: _readings(text, source) for text in where}
        self._settled: dict[str, Condition] = {}  # by text: the reading whose field some record had
        self._fields: dict[str, None] = {}
        self._results: dict[tuple[Condition, type, Any], bool] = {}  # most records have one of a few values
        self._fulfilled: Counter[Condition] = Counter()
        self.total = self.kept = 0  # records

    def hold(self, record: Mapping[str, Any]) -> bool:
        """Whether a record fulfils all of them."""
        if self._readings:
            self._fields |= dict.fromkeys(record)
        fulfilled = [self._holds(text, record) for text in self._readings]  # each notes whether its field is there
        return all(fulfilled)

    def keep(self, *views: Mapping[str, Any]) -> list[int]:
        """Count a record that may be seen in several ways; the places of those views that fulfil all conditions."""
        places = [place for place, view in enumerate(views) if self.hold(view)]
        self.total += 1
        self.kept += bool(places)
        return places

    def notes(self) -> list[str]:
        """How many records were kept, where it is not all of them."""
        every = " and ".join(argument("where", text) for text in self._readings)
        return [f"{self.kept:,} of {self.total:,} records fulfil {every}"] if self.kept < self.total else []

    def _holds(self, text: str, record: Mapping[str, Any]) -> bool:
        if text not in self._settled:
            readings = self._readings[text]
            there = [reading for reading in readings if value_at(record, reading.name, _ABSENT) is not _ABSENT]
            condition = _only(there or readings[:1], self.source)
            if there:
                self._settled[text] = condition
        else:
            condition = self._settled[text]
        value = value_at(record, condition.name)
        if isinstance(value, list | dict):
            condition.holds(need("pyarrow").array([type(value)()]), self.source)  # refuses it, whatever is in it
        key = (condition, type(value), value)
        if key not in self._results:
            if isinstance(value, int) and not -(2**63) <= value < 2**63:
                value = float(value) if abs(value) < 2**1023 else math.inf
            elif isinstance(value, str):
                value = value.encode("utf-8", "backslashreplace").decode()  # half a character is no text of Arrow
            self._results[key] = bool(condition.holds(need("pyarrow").array([value]), self.source)[0])
        self._fulfilled[condition] += self._results[key]
        return self._results[key]

    def require_met(self) -> None:
        """Once all records are read: every field that is named was there, and some record fulfils all conditions."""
        for text, (reading, *_) in self._readings.items():
            if text not in self._settled and self._fields:
                near = did_you_mean(reading.name, self._fields)
                raise FileError(self.source, f"{argument('where', text)}: no record has {quote(reading.name)}.{near}")
        if self.total and not self.kept:
            values = {
                condition: dict.fromkeys(value for asked, _, value in self._results if asked == condition)
                for condition in self._settled.values()
            }
            raise _unmet(self.source, "record", self._fulfilled, values)


_ABSENT = object()


def _unmet(
    source: str, what: str, fulfilled: Mapping[Condition, int], values: Mapping[Condition, Iterable[Any]]
) -> FileError:
    """That nothing fulfils all conditions: how many fulfil each of them, or the values that there are instead."""
    for condition, occurring in values.items():
        if not fulfilled[condition]:
            there = ["(blank)" if value is None or value == "" else quote(value) for value in occurring]
            said = argument("where", condition.text)
            return FileError(source, f"{said}: no {what} fulfils it. The values are {listed(there, show=str)}.")
    each = ", ".join(f"{fulfilled[condition]:,} {condition.text}" for condition in values)
    return FileError(source, f"no {what} fulfils all conditions together: {each}. Leave out one of them.")


def _equal(values: Any, wanted: str) -> NDArray[np.bool_]:
    pa, pc, kind = need("pyarrow"), need("pyarrow.compute"), values.type
    number = wanted if len(wanted) < _DIGITS and _NUMBER.fullmatch(wanted) else None
    if not wanted:
        return is_blank(values)
    if pa.types.is_null(kind):
        return np.zeros(len(values), bool)
    if pa.types.is_boolean(kind):
        same = pc.equal(pc.cast(values, pa.string()), wanted.lower())
    elif pa.types.is_string(kind):
        trimmed = pc.utf8_trim_whitespace(values)
        same = pc.equal(trimmed, wanted)
        if wanted.lower() in ("true", "false"):  # pandas writes True, spreadsheets TRUE
            same = pc.equal(pc.utf8_lower(trimmed), wanted.lower())
        if _MOMENT.fullmatch(wanted):
            moments = pc.if_else(pc.match_substring_regex(trimmed, f"^({_MOMENT.pattern})$"), trimmed, None)
            same = pc.or_kleene(same, pc.equal(_moments(moments), _moments(pa.scalar(wanted))))
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
    elif pa.types.is_temporal(kind) and _MOMENT.fullmatch(wanted):
        same = pc.equal(_moments(as_text(values)), _moments(pa.scalar(wanted)))
    else:
        same = pc.equal(as_text(values), wanted)
    return truths(pc.fill_null(same, False))


def _moments(text: Any) -> Any:
    """Dates and times in one spelling: a blank before the time, no zone (UTC), no zeros of a fraction, no midnight."""
    pc = need("pyarrow.compute")
    for pattern, written in (
        (r"^(\d{4}-\d\d-\d\d)T", r"\1 "),
        (r"Z$", ""),
        (r"(\.\d*?)0+$", r"\1"),
        (r"\.$", ""),
        (r"^(\S+ \d\d:\d\d)$", r"\1:00"),
        (r" 00:00:00$", ""),
    ):
        text = pc.replace_substring_regex(text, pattern, written)
    return text


def _whole(number: str | None) -> int | None:
    """The whole number that a text is, exactly; None where it is none."""
    if number is None:
        return None
    if re.fullmatch(r"[+-]?\d+", number):
        return int(number)
    value = float(number)
    return int(value) if value.is_integer() else None


def is_blank(values: Any) -> NDArray[np.bool_]:
    """Which values are null, no text at all, or no number."""
    pa, pc = need("pyarrow"), need("pyarrow.compute")
    nothing = blanks(values)
    if pa.types.is_string(values.type):
        nothing |= truths(pc.fill_null(pc.equal(pc.utf8_trim_whitespace(values), ""), False))
    if pa.types.is_floating(values.type):
        nothing |= truths(pc.fill_null(pc.is_nan(pc.cast(values, pa.float64())), False))
    return nothing
