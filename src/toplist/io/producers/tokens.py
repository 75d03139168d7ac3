"""Generated text with the most probable tokens at each of its positions: the one form to which every server is mapped.

`chosen` takes the tokens at the position of the answer: by its number, or after a text, which is searched in the
generated tokens, joined; the last place where it occurs counts. The token after it is the first one that begins where
the text ends, or later, and is not blank. Where there is no such position, there are no tokens: they are never taken
from another one.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Annotated, Any, TypeVar

import msgspec
import numpy as np

from toplist._files import need
from toplist._text import argument, quote
from toplist._typing import Floats, Ints
from toplist.errors import ClassError, TopListError
from toplist.io.answers import EMPTY, NORMALIZED
from toplist.io.columns import as_arrow, as_numpy, offsets_of, plain
from toplist.io.paths import value_at
from toplist.io.producers.base import CLASSES, CONFIDENCES
from toplist.io.readers.json_lines import is_text, json_value
from toplist.io.top_tokens import MARKED, SAMPLED, TWICE, UNSORTED, TopTokens

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
        absent = [token.id for token in tokens].count(None) + [token.bytes for token in tokens].count(None)
        once = text.count(b":") == 4 * len(tokens) - absent  # else a field may be there twice, or a text has a colon
        return tokens if once else typed(json_value(text), list[Token])


_CUT, _END = b"\\u0000", re.compile(rb"\}\]")  # which is searched in half the time that `bytes.partition` takes
_DECODER = msgspec.json.Decoder(list[Token])


def cut(lines: Sequence[bytes]) -> tuple[list[Any], list[bytes]]:
    """The objects of lines of JSON, with a number in place of each list of top tokens; and these lists.

    Only the list at the position of the answer is ever read: with 32 positions, that is a thirtieth of a file, and
    most of the rest is the field names that are read apart. A list begins after its name, which stands in no text, as
    quotation marks in texts have a backslash. It ends at the first `}]`. If that is inside a text, an odd number of
    quotation marks is cut out, and what is left is no JSON. A ValueError says so, or that a field is there twice (see
    `json_value`), or that a line may itself have what looks like such a number: then lines have to be read whole.
    """
    text = b"\n".join(lines)
    begin = b'"top_logprobs": [{' if b'"top_logprobs": [{' in text else b'"top_logprobs":[{'
    first, *rest = text.split(begin)
    parts, lists = [first], list[bytes]()
    for part in rest:
        tokens, after_list = _END.split(part, 1)
        parts += (b'"top_logprobs":"%b%d"' % (_CUT, len(lists)), after_list)
        lists.append(tokens)
    outside = b"".join(parts)
    objects = [msgspec.json.decode(line) for line in outside.split(b"\n")]
    once = msgspec.json.encode(objects).count(b":") == outside.count(b":") and b"\\u003" not in outside
    if not once or outside.count(_CUT) != len(lists) or len(objects) != len(lines) or {*map(type, objects)} != {dict}:
        raise ValueError("these lines have to be read whole")
    return objects, lists


def named(text: str | None, token_id: int | None) -> str:
    """The text of a token, or its id in place of it."""
    return f"token_id:{token_id}" if text is None else text


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


class TokenColumns:
    """The tokens of cases in columns, which are filled case by case: to keep the tokens would take twice as long.

    Bytes, which are slow to make, are left out where nobody asks for them and a case has no text twice.
    """

    def __init__(self, cases: Iterable[Sequence[Token]] = (), *, with_bytes: bool = False) -> None:
        self.with_bytes, self.sizes = with_bytes, list[int]()
        self.texts, self.logprobs = list[str](), list[float | None]()
        self.ids, self.raw = list[int | None](), list[bytes | None]()
        for tokens in cases:
            self.add(tokens)

    def add(self, tokens: Sequence[Token]) -> None:
        """One more case."""
        texts = [token.token for token in tokens]
        self.sizes.append(len(texts))
        self.texts += texts
        self.logprobs += [token.logprob for token in tokens]
        self.ids += [token.id for token in tokens]
        if self.with_bytes or len(set(texts)) < len(texts):
            self.raw += [None] * (len(self.texts) - len(self.raw) - len(texts))
            self.raw += [None if token.bytes is None else bytes(token.bytes) for token in tokens]

    def made(self) -> TopTokens:
        """All of them."""
        pa, count, offsets = need("pyarrow"), len(self.texts), offsets_of(np.array(self.sizes, np.int64))
        try:
            text = pa.array(self.texts, "string").dictionary_encode()
        except UnicodeEncodeError:
            place = next(at for at, one in enumerate(self.texts) if not is_text(one))
            case = int(np.searchsorted(offsets, place, side="right")) - 1
            raise ClassError("a token is text with half a character (a lone surrogate).", case=case) from None
        with_ids = self.ids.count(None) < count
        return TopTokens(
            offsets,
            text,
            np.array(self.logprobs, np.float64),  # None is NaN
            np.array([-1 if one is None else one for one in self.ids], np.int64) if with_ids else None,
            pa.array(self.raw + [None] * (count - len(self.raw)), "binary") if any(self.raw) else None,
        )


def nested(offsets: Ints, values: Any) -> Any:
    """Lists of Arrow."""
    return need("pyarrow").ListArray.from_arrays(as_arrow(offsets.astype(np.int32)), values)


def vocabulary_lists(tokens: TopTokens) -> dict[str, Any]:
    """Lists over tokens: tokens with the same text are one class."""
    codes = as_numpy(tokens.text.dictionary_encode().indices).astype(np.int64)
    keys = tokens.cases * (int(codes.max(initial=0)) + 1) + codes
    _, first, group = np.unique(keys, return_index=True, return_inverse=True)
    p = np.bincount(group, np.exp(tokens.logprobs.astype(np.float64, copy=False)), minlength=len(first))
    order = np.argsort(first)
    cases = tokens.cases[first[order]]
    offsets = offsets_of(np.bincount(cases, minlength=len(tokens)))
    total = np.bincount(cases, p[order], minlength=len(tokens))
    p = p[order] / np.maximum(total, 1.0)[cases]
    return {
        CLASSES: nested(offsets, plain(tokens.text.take(as_arrow(first[order])))),
        CONFIDENCES: nested(offsets, as_arrow(p)),
    }


def notes_on(position: int | str, cases: int, counts: Counter[str], mass: Floats | None = None) -> Iterator[str]:
    """What there is to say about lists: what was counted, and the mass on declared answers; NaN where none is known."""
    nowhere = counts[NO_POSITION] + counts[NO_TEXT] + counts[INSIDE] + counts[REFUSED] + counts[WITHOUT]
    for kind, say in _SAID.items():
        count = counts[kind] - nowhere * (kind == EMPTY)  # why these are empty was said
        if count > 0:
            yield say.format(n=f"{count:,}", position=position, cases=f"{cases:,}")
    mass = np.zeros(0) if mass is None else mass[~np.isnan(mass)]
    if not len(mass):
        return
    median, low = np.median(mass), int(np.count_nonzero(mass < 0.5))
    yield f"mass on declared answers: median {median:.2f}, below 0.5 in {low:,} of {len(mass):,} cases"
    if median < 0.5:
        yield (
            "most probability is on tokens that are no declared answer: the prompt was measured, not the model. "
            f"Ask for the answer alone, choose its position ({argument('position')}), or declare more of its "
            f"tokens ({argument('answers')})"
        )


_SAID = {
    REFUSED: "{n} of {cases} answers are refusals: their lists are empty",
    WITHOUT: "{n} of {cases} answers have no log-probabilities: their lists are empty",
    NO_POSITION: "{n} of {cases} cases have no token at position {position!r}: their lists are empty",
    NO_TEXT: "{n} of {cases} cases do not have the text {position!r}: their lists are empty",
    INSIDE: "in {n} of {cases} cases the text {position!r} ends inside a token, with more after it: their lists are "
    "empty",
    SEVERAL: "{n} of {cases} cases have the text {position!r} several times: the last one counts",
    EMPTY: "{n} of {cases} cases have no listed token: nothing is known of them",
    MARKED: "{n} tokens have a mark (null, -inf, -100, -9999 or lower) for a log-probability: they are not listed",
    SAMPLED: "in {n} of {cases} cases the first token is smaller than all others: it was sampled from outside the "
    "list, and is not listed",
    UNSORTED: "in {n} of {cases} cases tokens are not in the order of their probabilities: they are taken as tokens "
    "that were asked for, not as the most probable ones",
    TWICE: "{n} tokens are listed twice in one case: they count once",
    NORMALIZED: "in {n} of {cases} cases all answers are listed: confidences were divided by their sum",
}
