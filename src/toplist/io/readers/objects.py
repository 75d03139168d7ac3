"""One line of JSON: what it holds, in types of Arrow and in words."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, field
from typing import Any

from toplist.errors import FileError
from toplist.io.optional import need
from toplist.io.readers.streams import NOT_UTF8
from toplist.io.showing import shown

_WORDS = {
    bool: "true or false",
    int: "a number",
    float: "a number",
    str: "text",
    list: "a list",
    dict: "an object",
    type(None): "null",
}


def parse(line: bytes, source: str, row: int) -> dict[str, Any]:
    """The object of one line, or an error that says what is there instead."""
    try:
        record = json.loads(line.decode("utf-8-sig"), object_pairs_hook=_once)
    except UnicodeDecodeError:
        raise FileError(source, NOT_UTF8, row=row) from None
    except _TwiceError as error:
        raise FileError(source, f"the field {shown(error.args[0])} is there twice.", row=row) from None
    except (ValueError, RecursionError):
        text = line[:60].decode("utf-8", "replace").strip()
        raise FileError(source, f"this line is no JSON object: {shown(text)}.", row=row) from None
    if not isinstance(record, dict):
        raise FileError(source, f"every line holds one object, not {_WORDS[type(record)]}.", row=row)
    return record


class _TwiceError(Exception):
    """A field that is there twice."""


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    record = dict(pairs)
    if len(record) < len(pairs):
        seen: set[str] = set()
        raise _TwiceError(next(key for key, _ in pairs if key in seen or seen.add(key)))  # type: ignore[func-returns-value]
    return record


def type_of(value: Any) -> Any:
    """The Arrow type of a value; None for null, which says nothing."""
    pa = need("pyarrow")
    if isinstance(value, bool):
        return pa.bool_()
    if isinstance(value, int):
        return pa.int64() if -(2**63) <= value < 2**63 else pa.float64()
    if isinstance(value, float):
        return pa.float64()
    if isinstance(value, str):
        return pa.string()
    if isinstance(value, list):
        inner = None
        for item in value:
            inner = wider(inner, type_of(item))
        return pa.list_(pa.null() if inner is None else inner)
    if isinstance(value, dict):
        return pa.struct([(key, type_of(item) or pa.null()) for key, item in value.items()])
    return None


def wider(known: Any, other: Any) -> Any:
    """The type that holds both: a null or an empty list says nothing, an integer may be a float.

    Where there is none, it is the first one: whoever reads the field finds the row that does not fit.
    """
    pa = need("pyarrow")
    if known is None or other is None or known == other:
        return known if other is None else other
    if pa.types.is_null(known) or pa.types.is_null(other):
        return other if pa.types.is_null(known) else known
    if pa.types.is_list(known) and pa.types.is_list(other):
        return pa.list_(wider(known.value_type, other.value_type))
    if pa.types.is_struct(known) and pa.types.is_struct(other):
        fields = {known.field(i).name: known.field(i).type for i in range(known.num_fields)}
        for at in range(other.num_fields):
            name = other.field(at).name
            fields[name] = wider(fields.get(name), other.field(at).type)
        return pa.struct(list(fields.items()))
    numbers = (pa.int64(), pa.float64())
    return pa.float64() if known in numbers and other in numbers else known


def inferred(kind: Any) -> Any:
    """A type that pyarrow found, as `type_of` has it: text that looks like a date is text."""
    pa = need("pyarrow")
    if pa.types.is_list(kind):
        return pa.list_(inferred(kind.value_type))
    if pa.types.is_struct(kind):
        return pa.struct([(kind.field(i).name, inferred(kind.field(i).type)) for i in range(kind.num_fields)])
    return pa.string() if pa.types.is_temporal(kind) else kind


@dataclass(slots=True)
class Fields:
    """The fields of records and their types; None as long as there are only nulls."""

    kinds: dict[str, Any] = field(default_factory=dict)
    _known: dict[str, type] = field(default_factory=dict)  # where a value of the same type says nothing new

    def add(self, record: dict[str, Any]) -> None:
        """One more record."""
        known = self._known
        for key, value in record.items():
            own = type(value)
            if known.get(key) is not own:
                self.note(key, type_of(value))
                if own in (float, str, bool):
                    known[key] = own

    def note(self, key: str, kind: Any) -> None:
        """One more type of a field."""
        self.kinds[key] = wider(self.kinds.get(key), kind)

    def join(self, other: Fields) -> None:
        """The fields of further records."""
        for key, kind in other.kinds.items():
            self.note(key, kind)


def settled(kind: Any, *, floats: bool = False) -> Any:
    """A type to read by: text where nothing was seen, and floats for whole numbers where they are wanted."""
    pa = need("pyarrow")
    if kind is not None and pa.types.is_list(kind):
        return pa.list_(settled(kind.value_type, floats=floats))
    if kind is not None and pa.types.is_struct(kind):
        return pa.struct([(kind.field(i).name, settled(kind.field(i).type)) for i in range(kind.num_fields)])
    if kind is None or pa.types.is_null(kind):
        return pa.float64() if floats else pa.string()
    return pa.float64() if floats and pa.types.is_integer(kind) else kind


def misfit(value: Any, kind: Any) -> str:
    """Why a value is not of a type, or nothing."""
    pa = need("pyarrow")
    if value is None:
        return ""
    if pa.types.is_list(kind):
        if not isinstance(value, list):
            return f"is {_WORDS[type(value)]}, but a list elsewhere"
        return next((f"holds {why}" for item in value if (why := _odd_item(item, kind.value_type))), "")
    return f"is {why}" if (why := _odd_item(value, kind)) else ""


def _odd_item(value: Any, kind: Any) -> str:
    """What a value is instead of what it should be, or nothing."""
    pa = need("pyarrow")
    word = _WORDS[type(value)]
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if value is None:
        return ""
    if pa.types.is_string(kind):
        return _odd_text(value) if isinstance(value, str) else f"{word}, but text elsewhere"
    if pa.types.is_integer(kind) or pa.types.is_floating(kind):
        if not number:
            return f"{word}, but a number elsewhere"
        if pa.types.is_integer(kind) and not (isinstance(value, int) and -(2**63) <= value < 2**63):
            return f"{shown(value)}, but a whole number below 2^63 elsewhere"
        return f"{shown(value)}, which is too large" if isinstance(value, float) and math.isinf(value) else ""
    expected = {"bool": bool, "struct": dict, "list": list}.get(str(kind).partition("<")[0])
    return "" if expected is None or isinstance(value, expected) else f"{word}, but {_WORDS[expected]} elsewhere"


def _odd_text(value: str) -> str:
    try:
        value.encode("utf-8")
    except UnicodeEncodeError:
        return "text with half a character (a lone surrogate)"
    return ""
