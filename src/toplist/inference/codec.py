"""Partial results as bytes: records of plain values, exact integers and arrays, packed by msgspec, with one digest.

The bytes are, one after the other: eight that say what they are, the version of the format (2), the SHA-256 digest of
what follows (32), and msgpack, compressed. Equal records have equal bytes. A digest tells damage, not intent: whoever
can write partial results can write other ones.
"""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from functools import cache
from typing import Any, TypeVar

import numpy as np

from toplist._files import need
from toplist._text import quote
from toplist.errors import FileError, TopListError

FORMAT = 2
_MAGIC = b"\x93TLP\r\n\x1a\n"  # no text file begins so, and what rewrites line ends damages it
_VERSION, _DIGEST = slice(len(_MAGIC), len(_MAGIC) + 2), slice(len(_MAGIC) + 2, len(_MAGIC) + 34)
# What msgpack lacks: text that is no Unicode, and mappings with such keys, come last.
_INTEGER, _ARRAY, _INTEGERS, _COLUMN, _TEXT, _MAPPING = range(1, 7)

T = TypeVar("T")


def to_bytes(record: Any) -> bytes:
    """The bytes of a record.

    >>> from toplist.inference.missing import Difficulty
    >>> from_bytes(to_bytes(Difficulty(2)), Difficulty, "memory").models
    2
    """
    body = zlib.compress(encoded(record))
    return _MAGIC + FORMAT.to_bytes(2, "little") + hashlib.sha256(body).digest() + body


def from_bytes(data: Any, kind: type[T], source: str) -> T:
    """The record of this type that `to_bytes` made bytes of.

    Raises
    ------
    FileError
        If they are damaged, cut off, of another type or of another format.
    """
    if not isinstance(data, bytes | bytearray | memoryview):
        raise FileError(source, f"a partial result is bytes, not {type(data).__name__}.")
    data = bytes(data)
    if not data.startswith(_MAGIC):
        raise FileError(source, "this is no partial result of toplist: it begins otherwise.")
    version, body = int.from_bytes(data[_VERSION], "little"), data[_DIGEST.stop :]
    if len(data) >= _DIGEST.start and version != FORMAT:
        problem = f"this partial result has format {version}, and this version of toplist reads format {FORMAT}"
        raise FileError(source, f"{problem}: compute it again.")
    if data[_DIGEST] != hashlib.sha256(body).digest():
        raise FileError(source, "this partial result is damaged or cut off: compute it again.")
    msgspec = need("msgspec")
    try:
        plain = msgspec.msgpack.decode(zlib.decompress(body), ext_hook=_decoded)
        record: T = msgspec.convert(plain, kind, dec_hook=_as_it_is)
    except (msgspec.MsgspecError, zlib.error, ValueError, TypeError, AttributeError) as error:
        what = "this is not what it should be, or another version of toplist wrote it"
        raise FileError(source, f"{what} ({str(error).partition(chr(10))[0]}): compute it again.") from None
    return record


def encoded(record: Any) -> bytes:
    """The values of a record as msgpack, the same for equal records whatever the order of their mappings."""
    data: bytes = _msgpack().encode(_plain(record))
    return data


def _plain(value: Any) -> Any:
    """What msgpack has, and extensions for what it lacks; integers and names, of which there are most, come first."""
    if isinstance(value, int):
        if -(1 << 63) <= value < 1 << 63:
            return value
        return _msgpack().Ext(_INTEGER, value.to_bytes(value.bit_length() // 8 + 1, "little", signed=True))
    if isinstance(value, str):
        try:
            value.encode()
        except UnicodeEncodeError:  # a file may be called so
            return _msgpack().Ext(_TEXT, value.encode("utf-8", "surrogatepass"))
        return value
    if value is None or isinstance(value, float | bytes):
        return float(value) if isinstance(value, np.floating) else value
    if isinstance(value, np.ndarray) and value.dtype == object:
        return _extension(_INTEGERS, [value.shape, list(map(_plain, value.ravel().tolist()))])
    if isinstance(value, np.ndarray):
        return _extension(_ARRAY, [value.shape, value.dtype.str, value.tobytes()])
    if isinstance(value, list | tuple):
        return tuple(map(_plain, value))
    if isinstance(value, Mapping):
        columns = hasattr(next(iter(value.values()), None), "to_pylist")  # which are tested in their order
        keys = value if columns else sorted(value, key=lambda key: (type(key).__name__, key))
        pairs = [(_plain(key), _plain(value[key])) for key in keys]
        odd = any(isinstance(key, _msgpack().Ext) for key, _ in pairs)
        return _extension(_MAPPING, pairs) if odd else dict(pairs)
    if is_dataclass(value):
        return {field.name: _plain(getattr(value, field.name)) for field in fields(value)}
    if hasattr(value, "to_pylist"):
        return _extension(_COLUMN, value.to_pylist())
    if isinstance(value, np.generic):
        return _plain(value.item())
    kind = type(value).__name__
    raise TopListError(f"{quote(value)} is of the type {kind}, which cannot be saved: make it text.")


def _extension(code: int, held: Any) -> Any:
    return _msgpack().Ext(code, _msgpack().encode(held))


@cache
def _msgpack() -> Any:
    return need("msgspec").msgpack


def _decoded(code: int, data: memoryview) -> Any:
    """The value of an extension."""
    if code == _INTEGER:
        return int.from_bytes(data, "little", signed=True)
    if code == _TEXT:
        return bytes(data).decode("utf-8", "surrogatepass")
    held = _msgpack().decode(data, ext_hook=_decoded)
    if code == _MAPPING:
        return dict(map(tuple, held))
    if code == _COLUMN:
        pa = need("pyarrow")
        return pa.array(held, pa.string())
    if code == _ARRAY:
        shape, kind, values = held
        return np.frombuffer(values, kind).reshape(shape)
    if code == _INTEGERS:
        shape, numbers = held
        column = np.empty(len(numbers), object)
        column[:] = numbers
        return column.reshape(shape)
    raise ValueError(f"an extension with the code {code}")


def _as_it_is(kind: Any, value: Any) -> Any:
    """Arrays, columns and keys are what they should be already."""
    return value
