"""Fields of JSON objects, each read as what it should be: where it is something else, the error has its path.

A field that is not there, or null, is None, or an empty list. What lies deeper is read by a function, whose errors get
the path in front of theirs: `choices[0].logprobs.content[3].token should be text, not 7`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from toplist._text import quote

Made = TypeVar("Made")
_PLACE = re.compile(r"(?:^|\.)(\d+)(?=\.|$)")
_WHOLE = 2**63  # what 64 bits hold is below
_BYTES = range(256)


class FieldError(Exception):
    """A field that is not what it should be: its path, with numbers for places in lists, and the problem."""

    def __init__(self, path: str, problem: str) -> None:
        super().__init__(path, problem)
        self.path, self.problem = path, problem

    def below(self, path: str) -> FieldError:
        """The same of what stands at a path."""
        return FieldError(".".join(filter(None, (path, self.path))), self.problem)

    def __str__(self) -> str:
        shown = _PLACE.sub(r"[\1]", self.path)
        return f"{shown or 'it'} {self.problem}"


def expected(what: str, value: Any, path: str = "") -> FieldError:
    """The error about a value that is not what it should be."""
    return FieldError(path, f"should be {what}, not {quote(value)}")


def is_list(value: Any) -> bool:
    """Whether a value is a list, as JSON or a client library has it."""
    return isinstance(value, Sequence) and not isinstance(value, str | bytes)


def is_text(value: Any) -> bool:
    r"""Whether a value is text that UTF-8 can write: JSON may hold half a character, a lone surrogate.

    >>> is_text("é"), is_text("\ud83d"), is_text(7)
    (True, False, False)
    """
    if not isinstance(value, str):
        return False
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def as_number(value: Any) -> float | None:
    """A number as a float; None where it is something else, or too large for one.

    >>> as_number(7), as_number("7"), as_number(True), as_number(10**400)
    (7.0, None, None, None)
    """
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        return float(value)
    except OverflowError:
        return None


def at(record: Any, path: str) -> Any:
    """What stands at a path such as `response.body.choices.0`, through objects and lists; None where nothing does."""
    if not path:
        return record
    if "." not in path and isinstance(record, Mapping):
        return record.get(path)
    value, seen = record, ""
    for part in path.split("."):
        if value is None and seen:
            return None
        if isinstance(value, Mapping):
            value = value.get(part)
        elif part.isdigit() and is_list(value):
            value = value[int(part)] if int(part) < len(value) else None
        else:
            raise expected("a list" if part.isdigit() else "an object", value, seen)
        seen = f"{seen}.{part}" if seen else part
    return value


def items(record: Any, path: str) -> Sequence[Any]:
    """The elements of a list at a path."""
    found: Any = at(record, path)
    if found is None:
        return ()
    if not is_list(found):
        raise expected("a list", found, path)
    every: Sequence[Any] = found
    return every


def within(record: Any, path: str, make: Callable[[Any], Made]) -> Made:
    """What is made of the value at a path."""
    value = at(record, path)
    try:
        return make(value)
    except FieldError as error:
        raise error.below(path) from None


def each(record: Any, path: str, make: Callable[[Any], Made]) -> list[Made]:
    """What is made of the elements of a list at a path, one by one."""
    every, made = items(record, path), list[Made]()
    try:
        for value in every:
            made.append(make(value))
    except FieldError as error:
        raise error.below(str(len(made))).below(path) from None
    return made


def mapped(record: Any, path: str, make: Callable[[Any], Made]) -> dict[str, Made]:
    """What is made of the values of an object at a path, by their names."""
    found = at(record, path)
    if not isinstance(found, Mapping):
        raise expected("an object", found, path)
    name, made = "", dict[str, Made]()
    try:
        for name, value in found.items():
            made[name] = make(value)
    except FieldError as error:
        raise error.below(name).below(path) from None
    return made


def as_many(record: Any, path: str, other: str) -> None:
    """Require that the list at a path has as many elements as another one."""
    has, should = len(items(record, path)), len(items(record, other))
    if has != should:
        raise FieldError(path, f"should have {should:,} elements, as many as {other}, not {has:,}")


def text(record: Any, path: str) -> str | None:
    """A text."""
    value: Any = at(record, path)
    if value is not None and not is_text(value):
        raise expected("text", value, path)
    found: str | None = value
    return found


def known_text(record: Any, path: str) -> str:
    """A text that is there."""
    found = text(record, path)
    if found is None:
        raise FieldError(path, "should be text, but is missing")
    return found


def number(record: Any, path: str) -> float | None:
    """A number."""
    value = at(record, path)
    found = as_number(value)
    if found is None and value is not None:
        raise expected("a number", value, path)
    return found


def known_number(value: Any) -> float:
    """A number that is there."""
    found = as_number(value)
    if found is None:
        raise expected("a number", value)
    return found


def whole(record: Any, path: str) -> int | None:
    """A whole number that 64 bits hold."""
    value: Any = at(record, path)
    if value is not None and (isinstance(value, bool) or not isinstance(value, int) or not abs(value) < _WHOLE):
        raise expected("a whole number", value, path)
    found: int | None = value
    return found


def octets(record: Any, path: str) -> bytes | None:
    """Bytes, written as a list of numbers."""
    value: Any = at(record, path)
    if value is None or isinstance(value, bytes):
        return value
    if not is_list(value) or not all(type(one) is int and one in _BYTES for one in value):
        raise expected("a list of bytes", value, path)
    return bytes(value)
