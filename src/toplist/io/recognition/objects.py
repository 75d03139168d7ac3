"""Objects inside of columns: their fields by what their names mean, and whether they may be the list of a case."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from toplist._files import need
from toplist._text import argument, quote
from toplist.io.paths import as_records
from toplist.io.readers.column_types import is_any_list
from toplist.io.words import CLASS, CONFIDENCE, PLACE, RECORD_CLASS, STRONG_IDS, spelled_field

# Fields that tell cases apart, unlike ids that classes have as well.
_OF_CLASSES = ("id", "ids", "uid", "uuid", "guid", "key", "item", "item_id", "url")
_CASES = frozenset(STRONG_IDS).difference(_OF_CLASSES)
_DEPTH = 3  # objects inside of objects that are looked into


@dataclass(frozen=True, slots=True)
class ObjectFields:
    """The fields of objects: those that may hold the class, those that may hold the confidence, and all of them."""

    classes: list[str]
    confidences: list[str]
    names: list[str]
    lists: bool  # whether one object holds lists, and not a list objects
    doubt: str = ""  # why they are no predictions unless the caller says so


def fields_of(kind: Any, name: str = "") -> ObjectFields | None:
    """The fields of a list of objects, or of an object of lists, that has this name; None for another type."""
    pa = need("pyarrow")
    if not pa.types.is_nested(kind) and not pa.types.is_dictionary(kind):
        return None
    kind = as_records(kind)
    lists = pa.types.is_struct(kind)
    if lists:
        every = [
            one for one in _fields(kind, 1) if is_any_list(one.kind) and not pa.types.is_nested(one.kind.value_type)
        ]
    elif is_any_list(kind) and pa.types.is_struct(kind.value_type):
        every = [one for one in _fields(kind.value_type, _DEPTH) if not pa.types.is_nested(one.kind)]
    else:
        return None
    clear = _telling(every, CLASS)
    classes, confidences = clear or _telling(every, RECORD_CLASS), _telling(every, CONFIDENCE)
    doubt = "" if lists else _doubt(kind.value_type, name, classes, confidences)
    if len(classes) != 1 or len(confidences) != 1:
        doubt = "which of its fields is the class, and which the confidence, is not clear"
    elif not clear and spelled_field(confidences[0]) == "value":
        doubt = f"{quote(classes[0])} and {quote(confidences[0])} may be anything"
    names = [one.path for one in every]
    return ObjectFields(classes, confidences, names, lists, doubt) if names else None


def objects_in(path: str, kind: Any, depth: int = _DEPTH) -> Iterator[tuple[str, ObjectFields]]:
    """The places in a column where objects are that have a class and a confidence."""
    fields = fields_of(kind, path)
    if fields is not None and fields.classes and fields.confidences:
        yield path, fields
    if depth and need("pyarrow").types.is_struct(kind):
        for one in _fields(kind, 1):
            yield from objects_in(f"{path}.{one.path}", one.kind, depth - 1)


def places_of(path: str, kind: Any, depth: int = _DEPTH) -> Iterator[str]:
    """The paths to objects, and to lists of them."""
    types = need("pyarrow").types
    if types.is_nested(kind):
        yield path
    if depth and types.is_struct(kind):
        for field in _fields(kind, 1):
            yield from places_of(f"{path}.{field.path}", field.kind, depth - 1)


@dataclass(frozen=True, slots=True)
class _Field:
    """A field of an object, or of an object inside of it."""

    path: str
    name: str
    kind: Any
    level: int


def _fields(kind: Any, depth: int, head: str = "", level: int = 1) -> Iterator[_Field]:
    """The fields of an object, with those of objects inside of it to some depth."""
    for at in range(kind.num_fields):
        name, inner = kind.field(at).name, kind.field(at).type
        path = head + (name if name and not set(name) & set('.["') else f'"{name.replace(chr(34), chr(34) * 2)}"')
        yield _Field(path, name, inner, level)
        if level < depth and need("pyarrow").types.is_struct(inner):
            yield from _fields(inner, depth, f"{path}.", level + 1)


def _telling(fields: Sequence[_Field], words: Sequence[str]) -> list[str]:
    """The fields with known names that are least deep inside."""
    found = [one for one in fields if spelled_field(one.name) in words]
    return [one.path for one in found if one.level == min(other.level for other in found)]


def _doubt(kind: Any, name: str, classes: Sequence[str], confidences: Sequence[str]) -> str:
    """Why a list of such objects may be something else than the list of one case."""
    own = {spelled_field(one.name): one for one in _fields(kind, 1)}
    where = next((one.name for word, one in own.items() if word in PLACE), None)
    if where is not None:
        return f"{quote(where)} says where something is, so these may be several answers"
    case = next((one.name for word, one in own.items() if word in _CASES), None)
    if case is not None:
        return f"{quote(case)} may tell cases apart, so each object may be a case of its own"
    inner = next(
        (one.name for one in own.values() if is_any_list(one.kind) and list(objects_in("", one.kind, 0))), None
    )
    if inner is not None:
        first = argument("records", f"{name}[0].{inner}")
        return f"each object has a list of its own, in {quote(inner)} (for that of the first, say {first})"
    words = {spelled_field(one) for one in (*classes, *confidences)}
    if "token" in words and words & {"logprob", "log_prob", "log_probability"} and "top" not in spelled_field(name):
        return "these may be the tokens of a text, one after the other"
    return ""
