"""Generated text with the most probable tokens at each of its positions: the one form to which every server is mapped.

`chosen` takes the tokens at the position of the answer: by its number, or after a text, which is searched in the
generated tokens, joined; the last place where it occurs counts. The token after it is the first one that begins where
the text ends, or later, and is not blank. Where there is no such position, there are no tokens: they are never taken
from another one.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Annotated, Any, TypeVar

import msgspec

from toplist._text import quote
from toplist.errors import TopListError
from toplist.io.paths import value_at
from toplist.io.readers.json_lines import json_value

FAILED, REFUSED, WITHOUT = "failed", "refused", "without"  # in place of positions
NO_POSITION, NO_TEXT, INSIDE, SEVERAL = "no position", "no text", "inside", "several"
Whole = Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)]
Byte = Annotated[int, msgspec.Meta(ge=0, le=255)]
Kind = TypeVar("Kind")
_EXPECTED = re.compile(r"Expected `(?:str \| (?=array))?(\w+)[^`]*`([^,]*)")
_WORDS = {"str": "text", "int": "a whole number", "float": "a number", "array": "a list", "object": "an object"}


class FieldError(Exception):
    """A field that is not what it should be: its path, and the problem."""

    def __init__(self, path: str, problem: str) -> None:
        super().__init__(f"{path or 'it'} {problem}")


class Token(msgspec.Struct, gc=False):
    """One listed token; one whose text a server leaves out is called `token_id:7`."""

    token: str
    logprob: float | None
    id: Whole | None = None
    bytes: list[Byte] | None = None


class Position(msgspec.Struct, gc=False):
    """A generated token, and what was listed in its place."""

    token: str | None = None
    top_logprobs: list[Token] | str | None = None  # a text is the number of a list that was cut out

    def listed(self, lists: Sequence[bytes] = ()) -> Sequence[Token]:
        """The tokens; where they were cut out, they are read now."""
        if not isinstance(self.top_logprobs, str):
            return self.top_logprobs or ()
        if not lists or self.top_logprobs[:1] != "\0":
            raise FieldError("top_logprobs", f"should be a list, not {quote(self.top_logprobs)}")
        text = b"[{%b}]" % lists[int(self.top_logprobs[1:])]
        tokens = _DECODER.decode(text)
        fields = 2 + (tokens[0].id is not None) + (tokens[0].bytes is not None)
        if text.count(b":") == fields * len(tokens):  # else a field may be there twice, or a text has a colon
            return tokens
        return typed(json_value(text), list[Token])


_CUT, _END = b"\\u0000", re.compile(rb"\}\]")  # which is searched in half the time that `bytes.partition` takes
_DECODER = msgspec.json.Decoder(list[Token])


def cut(text: bytes) -> tuple[list[Any], list[bytes]]:
    """The objects of lines of JSON, with a number in place of each list of top tokens; and these lists.

    Only the list at the position of the answer is ever read: with 32 positions, that is a thirtieth of a file, and
    most of the rest is the field names that are read apart. A list begins after its name, which stands in no text, as
    quotation marks in texts have a backslash. It ends at the first `}]`. If that is inside a text, an odd number of
    quotation marks is cut out, and what is left is no JSON. A ValueError says so, or that a field is there twice (see
    `json_value`), or that a line may itself have what looks like such a number: then lines have to be read whole.
    """
    begin = b'"top_logprobs": [{' if b'"top_logprobs": [{' in text else b'"top_logprobs":[{'
    first, *rest = text.split(begin)
    parts, lists = [first], list[bytes]()
    for part in rest:
        tokens, after_list = _END.split(part, 1)
        parts += (b'"top_logprobs":"%b%d"' % (_CUT, len(lists)), after_list)
        lists.append(tokens)
    outside = b"".join(parts)
    lines = outside.split(b"\n")
    objects = [msgspec.json.decode(line) for line in lines if line and not line.isspace()]
    once = msgspec.json.encode(objects).count(b":") == outside.count(b":") and b"\\u003" not in outside
    as_many = outside.count(_CUT) == len(lists) and len(lines) == text.count(b"\n") + 1
    if not once or not as_many or not {*map(type, objects)} <= {dict}:
        raise ValueError("these lines have to be read whole")
    return objects, lists


def typed(value: Any, kind: type[Kind], at: str = "") -> Kind:
    """A value, which stands at a path, as records of these types; a FieldError has the path of what is otherwise."""
    try:
        return msgspec.convert(value, kind)
    except UnicodeEncodeError:  # of a text where there should be something else; msgspec does not say where
        raise FieldError(at, "has half a character in it") from None
    except msgspec.ValidationError as error:
        problem, _, place = str(error).rstrip("`").partition(" - at `$")
    if lacks := re.search("missing required field `(.*)", problem):
        raise FieldError(f"{at}{place}.{lacks[1].rstrip('`')}".lstrip("."), "is missing")
    expected = _EXPECTED.match(problem)  # or a number that is too large
    has = "" if "[...]" in place else f", not {quote(value_at({'it': value}, f'it{place}'))}"
    should = f"{_WORDS[expected[1]]}{expected[2]}" if expected else "a number"
    raise FieldError(f"{at}{place}".lstrip("."), f"should be {should}{has}")


def as_position(value: int | str) -> int | str:
    """A number, also where it is written as text, as a command has it, or a text.

    >>> as_position("0"), as_position("-1"), as_position("ANSWER:")
    (0, -1, 'ANSWER:')
    """
    if isinstance(value, str) and re.fullmatch(r"\s*[+-]?\d+\s*", value):
        return int(value)
    if isinstance(value, str) and not value.strip():
        raise TopListError("position is the number of a token, or a text before the answer: this text is blank.")
    return value


def chosen(
    position: int | str, positions: Sequence[Position], apart: Sequence[bytes] = ()
) -> tuple[Sequence[Token], list[str]]:
    """The tokens that are listed at the position of the answer, and what is to be said about it."""
    if isinstance(position, str):
        place, said = after(position, [one.token or "" for one in positions])
    else:
        inside = -len(positions) <= position < len(positions)
        place, said = (position, []) if inside else (None, [NO_POSITION])
    return () if place is None else positions[place].listed(apart), said


def after(text: str, tokens: Sequence[str]) -> tuple[int | None, list[str]]:
    """The place of the first token after a text that is not blank, or None; and what is to be said about it.

    >>> after("ANSWER:", ["So", " ANS", "WER", ":", " ", "B"])
    (5, [])
    >>> after("ANSWER:", ["ANSWER", ": B"])
    (None, ['inside'])
    """
    whole = "".join(tokens)
    start = whole.rfind(text)
    if start < 0:
        return None, [NO_TEXT]
    said = [SEVERAL] if whole.count(text) > 1 else []
    end, at = start + len(text), 0
    for place, token in enumerate(tokens):
        if at >= end and token.strip():
            return place, said
        if at < end < at + len(token) and token[end - at :].strip():
            return None, [*said, INSIDE]
        at += len(token)
    return None, [*said, NO_POSITION]
