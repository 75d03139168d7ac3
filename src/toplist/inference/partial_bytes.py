"""Bytes that hold part of a result: a checked envelope around a JSON header and named blocks, and codecs for values.

The bytes are, one after the other: eight that say what they are, the version of the format (2), the length of the
header (4), the length of everything (8), the SHA-256 digest of all others (32), the header as JSON, and the blocks.
Nothing is executed or unpacked when they are read: a header is plain JSON without repeated names, and all lengths are
checked before anything is made of them. A digest tells damage, not intent: whoever reads values checks that they agree.
"""

from __future__ import annotations

import hashlib
import json
import math
import struct
from collections.abc import Callable, Hashable, Mapping, Sequence
from datetime import date, datetime, time, timedelta
from decimal import Decimal, InvalidOperation
from functools import cache
from itertools import groupby
from typing import Any, NoReturn, TypeVar

import numpy as np

from toplist._text import quote
from toplist.core.kernel import Integers, version
from toplist.errors import FileError, TopListError

FORMAT = 1
_MAGIC = b"\x93TLP\r\n\x1a\n"  # no text file begins so, and what rewrites line ends damages it
_FIXED = struct.Struct("<8sHIQ32s")
_DIGEST = 32  # the last bytes of the fixed part
_HEADER = 1 << 26  # bytes of a header
_TEXT = 400  # digits of a number in a header
_DEEP = 24  # containers within each other
_BITS = 4096  # of an integer: sums of squares of doubles have 2,304, and a few more for each merge
_MICROSECONDS = timedelta(microseconds=1)

T = TypeVar("T")


def pack(kind: str, header: Mapping[str, Any], blocks: Mapping[str, bytes]) -> bytes:
    """The bytes of a header of plain values and of blocks; equal values have equal bytes.

    >>> data = pack("numbers", {"cases": 2}, {"one": b"abc"})
    >>> unpack(data, "numbers", "memory")
    ({'cases': 2}, {'one': b'abc'})
    """
    described = {
        "kind": kind,
        "toplist": _version(),
        "blocks": [[name, len(block)] for name, block in blocks.items()],
        "header": header,
    }
    text = dump_json(described)
    if len(text) > _HEADER:
        raise TopListError(f"a partial result cannot be saved: its description is longer than {_HEADER:,} bytes.")
    body = b"".join((text, *blocks.values()))
    start = _FIXED.pack(_MAGIC, FORMAT, len(text), _FIXED.size + len(body), bytes(_DIGEST))[:-_DIGEST]
    return b"".join((start, hashlib.sha256(start + body).digest(), body))


def unpack(data: Any, kind: str, source: str) -> tuple[dict[str, Any], dict[str, bytes]]:
    """The header and the blocks that `pack` made bytes of.

    Raises
    ------
    FileError
        If they are damaged, cut off, of another kind or of a format that this version does not know.
    """
    described, body = _opened(data, source)
    if described["kind"] != kind:
        raise FileError(source, f"this holds {quote(described['kind'])}, and what is needed is {quote(kind)}.")
    blocks = _blocks(take(described, "blocks", list, source), body, source)
    return take(described, "header", dict, source), blocks


def origin(data: Any, source: str) -> tuple[str, str]:
    """What kind of partial result these bytes hold, and the version of toplist that wrote them.

    >>> origin(pack("numbers", {}, {}), "memory") == ("numbers", version())
    True
    """
    described, _ = _opened(data, source)
    return described["kind"], described["toplist"]


def _opened(data: Any, source: str) -> tuple[dict[str, Any], memoryview]:
    """What is said of the blocks, and their bytes, of bytes that are as they were written."""
    if not isinstance(data, bytes | bytearray | memoryview):
        raise FileError(source, f"a partial result is bytes, not {type(data).__name__}.")
    data = bytes(data)
    if data[: len(_MAGIC)] != _MAGIC[: len(data)] or not data:
        raise FileError(source, "this is no partial result of toplist: it begins otherwise.")
    if len(data) < _FIXED.size:
        damaged(source, "it is cut off")
    _, form, header_length, length, digest = _FIXED.unpack_from(data)
    if form != FORMAT:
        problem = (
            f"this partial result has format {form}, and this version of toplist reads format {FORMAT}: install the "
            "version of toplist that wrote it, or compute it again."
        )
        raise FileError(source, problem)
    if length != len(data):
        damaged(source, "it is cut off" if len(data) < length else "there are bytes after its end")
    body = memoryview(data)[_FIXED.size :]
    found = hashlib.sha256(data[: _FIXED.size - _DIGEST])
    found.update(body)
    if found.digest() != digest:
        damaged(source, "its bytes are not those that were written")
    if header_length > min(_HEADER, len(body)):
        damaged(source, "its header is longer than it may be")
    described = load_json(bytes(body[:header_length]), source)
    for name in ("kind", "toplist"):
        take(described, name, str, source)
    return described, body[header_length:]


def damaged(source: str, why: str) -> NoReturn:
    """Refuse what cannot be a partial result, with the remedy."""
    raise FileError(source, f"this partial result is damaged: {why}. Compute it again.")


def take(plain: Any, name: str, kind: type[T], source: str) -> T:
    """A value of a header, which must be there and of this type: a whole number is not taken for a boolean.

    >>> take({"cases": 2}, "cases", int, "memory")
    2
    """
    if not isinstance(plain, dict) or name not in plain:
        damaged(source, f"it says nothing of {quote(name)}")
    value = plain[name]
    if type(value) is not kind and kind is not object:
        damaged(source, f"{quote(name)} is not of the type {kind.__name__}")
    return value  # type: ignore[no-any-return]


def dump_json(value: Any) -> bytes:
    """JSON in ASCII, with names in order."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False).encode("ascii")


def load_json(text: bytes, source: str) -> Any:
    """The values of JSON without repeated names, numbers that are none, and more nesting than any header has."""
    try:
        found = json.loads(
            text.decode("utf-8"),
            object_pairs_hook=_object,
            parse_int=_whole,
            parse_float=_float,
            parse_constant=_no_constant,
        )
    except (ValueError, RecursionError):
        damaged(source, "a part of it is no JSON as toplist writes it")
    level, depth = [found], 0
    while level:
        depth += 1
        if depth > _DEEP:
            damaged(source, "a part of it is nested too deeply")
        level = [
            inner
            for one in level
            if isinstance(one, dict | list)
            for inner in (one.values() if isinstance(one, dict) else one)
            if isinstance(inner, dict | list)
        ]
    return found


def pack_integers(values: Integers | Sequence[int]) -> bytes:
    """Integers of any size, without the zeros at their ends: of each the zeros, the bytes, and then the bytes of all.

    >>> len(pack_integers([0, 1 << 1074, -5]))
    14
    """
    shifts, sizes, parts = [], [], []
    for value in np.asarray(values, object).ravel().tolist():
        number = int(value)
        shift = (number & -number).bit_length() - 1 if number else 0
        number >>= shift
        size = number.bit_length() // 8 + 1 if number else 0
        shifts.append(shift)
        sizes.append(size)
        parts.append(number.to_bytes(size, "little", signed=True))
    return b"".join((np.array(shifts, "<u2").tobytes(), np.array(sizes, "<u2").tobytes(), *parts))


def unpack_integers(data: bytes, count: int, source: str) -> Integers:
    """So many integers; see `pack_integers`."""
    if count < 0 or 4 * count > len(data):
        damaged(source, "numbers are missing")
    shifts, sizes = np.frombuffer(data, "<u2", 2 * count).reshape(2, count).astype(np.int64)
    if count and int((shifts + 8 * sizes).max()) > _BITS:
        damaged(source, "a number is larger than any sum")
    ends = 4 * count + np.cumsum(sizes)
    if (int(ends[-1]) if count else 0) != len(data):
        damaged(source, "its numbers have another length than it says")
    out = np.empty(count, object)
    start = 4 * count
    for at, (shift, end) in enumerate(zip(shifts.tolist(), ends.tolist(), strict=True)):
        out[at] = int.from_bytes(data[start:end], "little", signed=True) << shift
        start = end
    return out


# Keys of groups and clusters: a letter for the type, and a plain value

_Codec = tuple[str, type[Any], Callable[[Any], Any], Callable[[Any], Any]]


def _same(value: Any) -> Any:
    return value


def _hex_float(text: str) -> float:
    return math.nan if text == "nan" else float.fromhex(text)


def _duration(microseconds: str) -> timedelta:
    return timedelta(microseconds=int(microseconds))


def _decimal(text: str) -> Decimal:
    return Decimal(text)


_CODECS: tuple[
    _Codec, ...
] = (  # a boolean is a whole number, and a datetime a date: the first that fits exactly counts
    ("s", str, _same, _same),
    ("i", int, str, int),
    ("b", bool, lambda value: str(int(value)), lambda text: {"0": False, "1": True}[text]),
    ("f", float, float.hex, _hex_float),
    ("n", type(None), lambda value: "", lambda text: {"": None}[text]),
    ("y", bytes, bytes.hex, bytes.fromhex),
    ("t", datetime, datetime.isoformat, datetime.fromisoformat),
    ("d", date, date.isoformat, date.fromisoformat),
    ("c", time, time.isoformat, time.fromisoformat),
    ("l", timedelta, lambda value: str(value // _MICROSECONDS), _duration),
    ("m", Decimal, str, _decimal),
)
_BY_TYPE = {kind: (letter, encode) for letter, kind, encode, _ in _CODECS}
_BY_LETTER = {letter: decode for letter, _, _, decode in _CODECS}


def pack_keys(keys: Sequence[Hashable]) -> bytes:
    """Keys of groups or clusters with their types: text, numbers, booleans, dates, times, bytes, or nothing.

    >>> unpack_keys(pack_keys(["7", 7, 7.5, None, True]), 5, "memory")
    ['7', 7, 7.5, None, True]
    """
    letters, values = [], []
    for key in keys:
        letter, value = _encoded(key)
        letters.append(letter)
        values.append(value)
    runs = [[letter, len(list(run))] for letter, run in groupby(letters)]
    return dump_json({"types": runs, "values": values})


def key_order(key: Hashable) -> tuple[str, str]:
    """By what keys of any types are put in order, the same in every process."""
    return _encoded(key)


def _encoded(key: Hashable) -> tuple[str, str]:
    if isinstance(key, np.generic):
        key = key.item()
    found = _BY_TYPE.get(type(key))
    if found is None:
        raise TopListError(
            f"a group or cluster called {quote(key)} is of the type {type(key).__name__}, which cannot be saved: make "
            "it text."
        )
    letter, encode = found
    return letter, encode(key)


def unpack_keys(data: bytes, count: int, source: str) -> list[Hashable]:
    """So many keys, no two of which are equal; see `pack_keys`."""
    plain = load_json(data, source)
    runs, values = take(plain, "types", list, source), take(plain, "values", list, source)
    if len(values) != count:
        damaged(source, "it has another number of groups or clusters than it says")
    out: list[Hashable] = []
    for run in runs:
        if not (isinstance(run, list) and len(run) == 2 and isinstance(run[0], str) and type(run[1]) is int):
            damaged(source, "the types of groups or clusters are missing")
        decode = _BY_LETTER.get(run[0])
        if decode is None or not 0 < run[1] <= count - len(out):
            damaged(source, "groups or clusters have no type that is known")
        out += [_decoded(decode, value, source) for value in values[len(out) : len(out) + run[1]]]
    if len(out) != count or len(set(out)) != count:
        damaged(source, "a group or cluster is there twice, or has no type")
    return out


def _decoded(decode: Callable[[Any], Any], value: Any, source: str) -> Hashable:
    if not isinstance(value, str):
        damaged(source, "the name of a group or cluster is no text")
    try:
        found: Hashable = decode(value)
        hash(found)
    except (ValueError, KeyError, TypeError, OverflowError, InvalidOperation):
        damaged(source, f"{quote(value)} is no name of a group or cluster of its type")
    return found


def _blocks(described: list[Any], data: memoryview, source: str) -> dict[str, bytes]:
    out: dict[str, bytes] = {}
    at = 0
    for one in described:
        if not (isinstance(one, list) and len(one) == 2 and isinstance(one[0], str) and type(one[1]) is int):
            damaged(source, "it does not say what its parts are")
        name, size = one
        if name in out or not 0 <= size <= len(data) - at:
            damaged(source, "its parts are longer than it is, or one is there twice")
        out[name] = bytes(data[at : at + size])
        at += size
    if at != len(data):
        damaged(source, "there is more in it than its parts")
    return out


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a name is there twice")
    return found


def _whole(text: str) -> int:
    if len(text) > _TEXT:
        raise ValueError("a number is too long")
    return int(text)


def _float(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError("a number is too large")
    return value


def _no_constant(text: str) -> NoReturn:
    raise ValueError(f"{text} is no number")


@cache
def _version() -> str:
    return version()
