"""Conditions that rows or records fulfil, as in `where="filter=none"`: one language for tables and for producers.

::

    conditions = conditions_of(("output_type=pmf",), schema, "forecasts.csv")      # {Condition: ColumnPath}
    condition.holds(column, source)                                                # which rows fulfil it
    conditions = RecordConditions(("filter=none", "doc.subject!=law"), "runs")
    conditions.hold(record)                                                        # whether a record fulfils all
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from toplist._files import need
from toplist._text import argument, did_you_mean, listed, quote
from toplist.errors import FileError
from toplist.io.columns import as_arrow, as_numpy, blanks, kind_of, plain, truths
from toplist.io.paths import ColumnPath, resolve, value_at

_DIGITS = 400  # of a number that has a value
_NUMBER = re.compile(r"[+-]?((0|[1-9]\d*)(\.\d*)?|\.\d+)([eE][+-]?\d+)?")  # 01 is a code, not a number
_MOMENT = re.compile(r"\d{4}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d(\.\d+)?)?Z?)?")  # a date, or a time in UTC or in no zone


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
        self.where, self.source = tuple(where), source
        self._readings = [_readings(text, source) for text in self.where]
        self._settled: dict[str, Condition] = {}  # by text: the reading whose field some record had
        self._fields: dict[str, None] = {}
        self._results: dict[tuple[Condition, type, Any], bool] = {}  # most records have one of a few values
        self.total = self.kept = 0  # records

    def __str__(self) -> str:
        return " and ".join(argument("where", text) for text in self.where)

    def hold(self, record: Mapping[str, Any]) -> bool:
        """Whether a record fulfils all of them."""
        if self.where:
            self._fields |= dict.fromkeys(record)
        fulfilled = [self._holds(readings, record) for readings in self._readings]  # each notes whether it is there
        return all(fulfilled)

    def keep(self, *views: Mapping[str, Any]) -> list[int]:
        """Count a record that may be seen in several ways; the places of those views that fulfil all conditions."""
        places = [place for place, view in enumerate(views) if self.hold(view)]
        self.total += 1
        self.kept += bool(places)
        return places

    def notes(self) -> list[str]:
        """How many records were kept, where it is not all of them."""
        return [f"{self.kept:,} of {self.total:,} records fulfil {self}"] if self.kept < self.total else []

    def _holds(self, readings: Sequence[Condition], record: Mapping[str, Any]) -> bool:
        condition = self._settled.get(readings[0].text)
        if condition is None:
            there = [reading for reading in readings if value_at(record, reading.name, _ABSENT) is not _ABSENT]
            condition = _only(there or readings[:1], self.source)
            if there:
                self._settled[condition.text] = condition
        return self._holds_for(condition, value_at(record, condition.name))

    def _holds_for(self, condition: Condition, value: Any) -> bool:
        pa = need("pyarrow")
        if isinstance(value, list | dict):
            empty = pa.array([], pa.list_(pa.null()) if isinstance(value, list) else pa.struct([]))
            condition.holds(empty, self.source)  # refuses it
        key = (condition, type(value), value)
        if key not in self._results:
            if isinstance(value, int) and not -(2**63) <= value < 2**63:
                value = float(value) if abs(value) < 2**1023 else math.inf
            elif isinstance(value, str):
                value = value.encode("utf-8", "backslashreplace").decode()  # half a character is no text of Arrow
            self._results[key] = bool(condition.holds(pa.array([value]), self.source)[0])
        return self._results[key]

    def require_met(self) -> None:
        """Once all records are read: every field that is named was there, and some record fulfils all conditions."""
        for readings in self._readings:
            if readings[0].text not in self._settled and self._fields:
                name = readings[0].name
                near = did_you_mean(name, self._fields)
                said = argument("where", readings[0].text)
                raise FileError(self.source, f"{said}: no record has {quote(name)}.{near}")
        if not self.total or self.kept:
            return
        for condition in self._settled.values():
            values = {value: held for (asked, _, value), held in self._results.items() if asked == condition}
            if not any(values.values()):
                there = listed(["(blank)" if one is None or one == "" else quote(one) for one in values], show=str)
                said = argument("where", condition.text)
                raise FileError(self.source, f"{said}: no record fulfils it. The values are {there}.")
        raise FileError(self.source, f"no record fulfils {self} together. Leave out one of them.")


_ABSENT = object()


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


def as_text(values: Any) -> Any:
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
