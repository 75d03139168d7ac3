"""What the compiled kernel reads of lines of JSON is what `json.loads` reads, or nothing."""

from __future__ import annotations

import json
import math
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import toplist as tl
from tests.io.producers import answers_of_servers as servers
from tests.io.producers.damage import damaged
from tests.io.producers.reading import produced
from tests.io.producers.token_oracle import Listed
from toplist.core import kernel
from toplist.io.producers import servers as reading

pytestmark = pytest.mark.skipif(not kernel.NATIVE, reason="the compiled kernel was not built, or not asked for")

PATH = ("choices", "0", "logprobs", "content")
MEMBERS = ("question_id", "epoch", "metadata")
TEXTS = st.sampled_from(["A", " A", "", '"', "\\", "\n", "}]}", "é", "\x00", "\x7f", "😀", "\u2028"]) | st.text(
    max_size=9
)
BYTES = st.none() | st.lists(st.integers(0, 255), max_size=3)
NUMBERS = st.none() | st.integers(-9999, 0) | st.floats(-1e300, 1e300)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["a", "é", "\n", "token"]), inner, max_size=3)
    ),
    max_leaves=4,
)


def some_of(**fields: Any) -> Any:
    """Objects with the first of these fields, some of the others and unknown ones, in any order."""
    first, *_ = fields
    other = {"unknown": VALUES, "é": VALUES, **{name: value for name, value in fields.items() if name != first}}
    made = st.fixed_dictionaries({first: fields[first]}, optional=other)
    return made.flatmap(lambda one: st.permutations(list(one.items())).map(dict))


TOKENS = some_of(token=TEXTS, logprob=NUMBERS, bytes=BYTES)
POSITIONS = some_of(top_logprobs=st.none() | st.lists(TOKENS, max_size=4), token=st.none() | TEXTS, logprob=NUMBERS)
LOGPROBS = st.none() | some_of(content=st.none() | st.lists(POSITIONS, max_size=3), refusal=VALUES)
CHOICES = st.none() | st.lists(st.none() | some_of(logprobs=LOGPROBS, message=VALUES), max_size=1)
RECORDS = some_of(choices=CHOICES, question_id=TEXTS, epoch=st.integers(), metadata=VALUES)
STYLES = st.tuples(st.sampled_from([(", ", ": "), (",", ":"), (" ,\t", " :\r")]), st.booleans())


def written(records: list[Any], style: Any, end: str = "\n") -> bytes:
    separators, ascii_only = style
    lines = [json.dumps(one, separators=separators, ensure_ascii=ascii_only) + end for one in records]
    return "".join(lines).encode("utf-8", "surrogatepass")


def expected(records: list[Any], position: int) -> list[Any]:
    """Of each record the number of positions, the tokens at one of them, and the members asked for."""
    out = []
    for record in records:
        choice = (record.get("choices") or [None])[0] or {}
        positions = (choice.get("logprobs") or {}).get("content") or []
        top = positions[position].get("top_logprobs") or [] if position < len(positions) else []
        tokens = [
            (one["token"], one.get("logprob"), None if one.get("bytes") is None else bytes(one["bytes"])) for one in top
        ]
        members = {name: value for name, value in record.items() if name in MEMBERS}
        out.append((min(len(positions), position + 1), tokens, members))
    return out


def scanned(text: bytes, position: int) -> list[Any] | None:
    """The same by the kernel."""
    bare = kernel.token_lines(text, PATH, MEMBERS, position, with_bytes=False)
    full = kernel.token_lines(text, PATH, MEMBERS, position, with_bytes=True)
    if full is None or bare is None:
        return None
    assert (bare.members, bare.words.data, bare.logprobs.data) == (full.members, full.words.data, full.logprobs.data)
    words, logprobs, raw = strings(full.words), strings(full.logprobs), strings(full.raw)
    tokens = iter(
        (words[code].decode(), None if x == b"nan" else float(x), one if known else None)
        for code, x, one, known in zip(full.codes, logprobs, raw, full.has_raw, strict=True)
    )
    sizes = iter(full.sizes.tolist())
    out, members = [], [json.loads(line) for line in full.members.split(b"\n")[:-1]]
    for count, kept in zip(full.positions.tolist(), members, strict=True):
        own = [next(sizes) for _ in range(count)]
        assert not any(own[:position])
        out.append((count, [next(tokens) for _ in range(sum(own))], kept))
    assert next(tokens, None) is next(sizes, None) is None
    assert full.repeated == any(len({one[0] for one in listed}) < len(listed) for _, listed, _ in out)
    return out


def strings(texts: Any) -> list[bytes]:
    at = texts.offsets.tolist()
    return [texts.data[lo:hi] for lo, hi in pairwise(at)]


def in_numbers(value: Any) -> Any:
    """Whole numbers that stand for log-probabilities as the kernel gives them."""
    return [(n, [(t, None if x is None else float(x), b) for t, x, b in tokens], kept) for n, tokens, kept in value]


@given(st.lists(RECORDS, max_size=4), st.integers(0, 2), STYLES, st.sampled_from(["\n", "\r\n", " \n\n"]))
def test_the_kernel_reads_records_as_json_loads_does(records, position, style, end):
    found = scanned(written(records, style, end), position)
    assert found == in_numbers(expected(records, position))


def as_json(text: bytes) -> list[Any] | None:
    """All lines as records; None where one is no JSON."""

    def refused(what: Any) -> Any:
        raise ValueError(what)

    try:
        lines = [line for line in text.decode().split("\n") if line.strip()]
        return [json.loads(line, parse_constant=refused) for line in lines]
    except (ValueError, RecursionError):
        return None


MARKS = [
    b"",
    b'"',
    b"\\",
    b"{",
    b"}",
    b"[",
    b"]",
    b",",
    b":",
    b"0",
    b"1",
    b"-",
    b".",
    b"e",
    b"\n",
    b"\r",
    b"\x00",
    b"\x1f",
]
WORDS = [b"null", b"NaN", b"true", b'"token": "A", ', b'"bytes": [256], ', b'"logprob": "x", ']
ESCAPES = [b"\\u", b"\\ud83d", b"\\ude00", b"\\x"]
NO_UTF8 = [b"\xff", b"\xc3", b"\xc0\x80", b"\xe0\x80\x80", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\xef\xbb\xbf"]
PIECES = st.sampled_from([*MARKS, *WORDS, *ESCAPES, *NO_UTF8])


@st.composite
def cut_up(draw: Any) -> bytes:
    """Lines with a few bytes replaced by others, or cut off."""
    text = written(draw(st.lists(RECORDS, min_size=1, max_size=2)), draw(STYLES))
    for _ in range(draw(st.integers(1, 3))):
        at = draw(st.integers(0, len(text)))
        text = text[:at] + draw(PIECES) + text[at + draw(st.integers(0, 3)) :]
    return text[: draw(st.integers(0, len(text)))] if draw(st.integers(0, 4)) == 0 else text


@given(cut_up(), st.integers(0, 1))
@example(b'{"choices": [{"logprobs": {"content": [{"top_logprobs": [{"token": "\\ud83d"}]}]}}]}', 0)
@example(b'{"choic\\u0065s": [{"logprobs": {"content": [{"top_logprobs": [{"t\\u006fken": "A"}]}]}}]}', 0)
@example(b"{" * 100_000, 0)
@example(b'{"a": ' + b"[" * 100_000, 0)
def test_what_the_kernel_accepts_is_json_and_what_json_loads_reads(text, position):
    found = scanned(text, position)
    if found is not None:
        records = as_json(text)
        assert records is not None
        assert found == in_numbers(expected(records, position))


@pytest.mark.parametrize("size", range(1, 40))
@pytest.mark.parametrize("odd", ['"', "\\", "\x00", "\x1f", "\n", "é", "😀", "\x80", ""])
def test_texts_of_every_length_are_read_with_an_odd_character_anywhere(size, odd):
    texts = ["x" * at + odd + "y" * (size - at) for at in range(size)]
    top = [{"token": text, "logprob": -0.5} for text in texts]
    record = {"choices": [{"logprobs": {"content": [{"top_logprobs": top}]}}]}
    for ascii_only in (False, True):
        (found,) = scanned(written([record], ((",", ":"), ascii_only)), 0)
        assert [text for text, *_ in found[1]] == texts


@pytest.mark.parametrize(
    "token",
    [
        '{"token": "A", "token": "B"}',
        '{"logprob": -1}',
        '{"token": null}',
        '{"token": 5}',
        '{"token": "\\ud800"}',
        '{"token": "\\udc00\\ud800"}',
        '{"token": "\\x"}',
        '{"token": "A", "logprob": "-1"}',
        '{"token": "A", "logprob": NaN}',
        '{"token": "A", "logprob": -Infinity}',
        '{"token": "A", "logprob": 01}',
        '{"token": "A", "logprob": 1.}',
        '{"token": "A", "logprob": .5}',
        '{"token": "A", "logprob": +1}',
        '{"token": "A", "logprob": 1e}',
        '{"token": "A", "bytes": [256]}',
        '{"token": "A", "bytes": [-1]}',
        '{"token": "A", "bytes": [1.0]}',
        '{"token": "A", "bytes": "A"}',
        '{"token": "A",}',
        "null",
        "[]",
    ],
)
def test_what_is_unusual_is_left_to_others(token):
    line = '{"choices": [{"logprobs": {"content": [{"top_logprobs": [%s]}]}}]}'
    assert scanned((line % '{"token": "A", "logprob": -1}').encode(), 0) is not None
    assert scanned((line % token).encode(), 0) is None


@pytest.mark.parametrize("numbers", [(-1,), (2**63,)])
def test_the_binding_takes_positions_from_zero_on(numbers):
    with pytest.raises((ValueError, TypeError)):
        kernel.token_lines(b"{}", PATH, MEMBERS, *numbers, with_bytes=False)
    with pytest.raises(ValueError, match="there must be a path"):
        kernel.token_lines(b"{}", (), MEMBERS, 0, with_bytes=False)


TOP = [Listed(text, math.log(p), text.encode()) for text, p in (("A", 0.5), ("B", 0.3), ("x", 0.1))]
TWICE = [*TOP, Listed("A", math.log(0.05), b"a"), Listed("A", math.log(0.5), b"A")]
DOCUMENTS = [
    servers.chat([("A", TOP), ("x", TOP)], question_id="q", n_classes=2),
    servers.chat([("A", TWICE)], question_id="q", n_classes=2),
    servers.batch([("A", TOP)], "q"),
    servers.failed("q"),
]
SPACE = tl.AnswerSpace(["A", "B"])


def read(path: Any, **options: Any) -> Any:
    """What is made of a file, or why it is refused."""
    try:
        return produced(path, "openai", **options)
    except tl.TopListError as error:
        return str(error)


@given(
    st.lists(damaged(DOCUMENTS) | st.sampled_from(DOCUMENTS).map(json.dumps), min_size=1, max_size=3),
    st.sampled_from([0, 1]),
    st.sampled_from([SPACE, None]),
)
def test_a_file_gives_the_same_with_the_kernel_and_without_it(tmp_path_factory, lines, position, space):
    path = tmp_path_factory.mktemp("lines") / "a.jsonl"
    path.write_text("\n".join([json.dumps(DOCUMENTS[0]), *lines]) + "\n")
    found = read(path, answers=space, position=position)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reading, "scanned", lambda *_: None)
        assert read(path, answers=space, position=position) == found
