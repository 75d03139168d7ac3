"""Columns of a table: their values as case ids, which are told apart and looked up here, as numbers and as text."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any

import numpy as np
from numpy.typing import NDArray

from toplist._files import need
from toplist._text import argument, quote
from toplist.core.kernel import hash_integers, hash_text
from toplist.errors import FileError

Column = Any  # pyarrow.Array
_BLANKS = (b" ", b"\t", b"\n", b"\r", b"\x0b", b"\x0c")
# What may stand beside a number. To Arrow, control characters are blanks, too: such a file is damaged.
_SPACES = " \t\n\r\x0b\x0c\xa0\u2007\u2009\u202f"
_TYPES = {"double": "f8", "float": "f4"} | {f"int{8 * size}": f"i{size}" for size in (1, 2, 4, 8)}


def identifiers(column: Any, source: str, rows: NDArray[np.int64]) -> Column:
    """Case ids as integers or text."""
    pa, pc = need("pyarrow"), need("pyarrow.compute")
    ids = plain(column)
    if ids.null_count:
        raise FileError(source, "there is no case id.", row=int(rows[np.flatnonzero(blanks(ids))[0]]))
    if pa.types.is_integer(ids.type):
        return pc.cast(ids, pa.int64()) if not pa.types.is_uint64(ids.type) else pc.cast(ids, pa.string())
    if pa.types.is_string(ids.type):
        return ids
    if pa.types.is_floating(ids.type) or pa.types.is_decimal(ids.type):
        values = as_numpy(pc.cast(ids, pa.float64(), safe=False))
        odd = (values != np.floor(values)) | (np.abs(values) >= 2.0**53)
        if odd.any():
            at = int(np.flatnonzero(odd)[0])
            problem = f"{quote(ids[at].as_py())} is no case id: ids are text, or whole numbers below 2^53 in size."
            raise FileError(source, problem, row=int(rows[at]))
        return pa.array(values.astype(np.int64))
    if pa.types.is_temporal(ids.type) or pa.types.is_boolean(ids.type):
        return as_text(ids)
    raise FileError(source, f"case ids are text or whole numbers, not {kind_of(ids.type)}.")


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


def id_hashes(ids: Column, seed: int) -> NDArray[np.uint64]:
    """A hash of the text of each id, which is an integer or a text: 7 and "7" have the same."""
    pa = need("pyarrow")
    ids = ids if pa.types.is_large_string(ids.type) else plain(ids)
    if pa.types.is_integer(ids.type):
        return hash_integers(as_numpy(ids), seed)
    text = need("pyarrow.compute").cast(ids, pa.large_string())
    _, offsets, data = text.buffers()
    at = np.frombuffer(offsets, np.int64)[text.offset : text.offset + len(text) + 1]
    return hash_text(np.frombuffer(b"" if data is None else data, np.uint8), at, seed)


def are_text(kinds: Iterable[Any]) -> bool:
    """Whether ids of any of these types are text: then all are compared as text."""
    types = need("pyarrow").types
    return not all((types.is_integer(kind) and not types.is_uint64(kind)) or types.is_floating(kind) for kind in kinds)


def same_ids(a: Column, b: Column) -> bool:
    """Are two columns of ids equal? Numbers and text that reads the same are."""
    pa, pc = need("pyarrow"), need("pyarrow.compute")
    if a.type != b.type:
        a, b = pc.cast(a, pa.string()), pc.cast(b, pa.string())
    return bool(a.equals(b))


@dataclass(slots=True)
class UniqueIds:
    """Whether ids rise as they are read: then none is there twice, and nothing has to be looked up.

    Of two texts the longer one is the greater: q9 comes before q10, as it does in most files.
    """

    last: Any = None  # a column of one id
    rising: bool = True

    def see(self, ids: Column) -> None:
        """The ids of the next batch."""
        if not self.rising or not len(ids):
            return
        first = ids.slice(0, 1)
        border = first if self.last is None else need("pyarrow").concat_arrays([self.last, first])
        self.rising, self.last = _rise(border) and _rise(ids), ids.slice(len(ids) - 1)


def _rise(ids: Column) -> bool:
    pa, pc = need("pyarrow"), need("pyarrow.compute")
    before, after = ids.slice(0, len(ids) - 1), ids.slice(1)
    greater = pc.greater(after, before)
    if pa.types.is_string(ids.type):
        length, longer = pc.binary_length(before), pc.binary_length(after)
        greater = pc.or_(pc.greater(longer, length), pc.and_(pc.equal(longer, length), greater))
    return bool(pc.all(greater, min_count=0).as_py())


class CaseIndex:
    """Where each id of a table stands among all of its ids.

    Ids go by keys: numbers by themselves, text by its hash. Keys are sorted and then searched for in order, which takes
    64 bytes a case and a third of the time of a hash table. What keys find is compared, so that hashes decide nothing.
    """

    def __init__(self, ids: Iterable[Column], *, text: bool) -> None:
        pa = need("pyarrow")
        self._kind = pa.large_string() if text else pa.int64()
        self.ids = self._whole(ids)
        for self._seed in count():
            keys = self._keys_of(self.ids)
            self._order = np.argsort(keys)
            self._keys = keys[self._order]
            starts = np.flatnonzero(np.append(True, self._keys[1:] != self._keys[:-1]))
            self.repeated = self._first_repeated(starts)
            if len(starts) >= len(keys) or len(self.repeated):  # else different texts have one hash: take another one
                break

    def __len__(self) -> int:
        return len(self.ids)

    def places(self, columns: Sequence[Column]) -> tuple[NDArray[np.int64], Column]:
        """Where the ids in these columns stand, -1 where they do not; and those that do not."""
        ids = self._whole(columns)
        keys, places = self._keys_of(ids), np.full(len(ids), -1)
        if len(self):
            order = np.argsort(keys)
            keys = keys[order]
            at = np.minimum(np.searchsorted(self._keys, keys), len(self) - 1)
            places[order] = np.where(self._keys[at] == keys, self._order[at], -1)
        if keys.dtype == np.uint64:
            named = np.flatnonzero(places >= 0)
            same = need("pyarrow.compute").equal(ids.take(as_arrow(named)), self.ids.take(as_arrow(places[named])))
            places[named[~truths(same)]] = -1
        return places, ids.take(as_arrow(np.flatnonzero(places < 0)))

    def names(self, places: NDArray[Any]) -> list[Any]:
        """The ids that stand at some places."""
        names: list[Any] = self.ids.take(as_arrow(places)).to_pylist()
        return names

    def _whole(self, ids: Iterable[Column]) -> Column:
        pa, pc = need("pyarrow"), need("pyarrow.compute")
        return pa.chunked_array([pc.cast(column, self._kind) for column in ids], self._kind).combine_chunks()

    def _keys_of(self, ids: Column) -> NDArray[Any]:
        return id_hashes(ids, self._seed) if need("pyarrow").types.is_large_string(self._kind) else as_numpy(ids)

    def _first_repeated(self, starts: NDArray[np.intp]) -> NDArray[np.int64]:
        """All places of an id that is there several times and begins first; `starts` are those of equal keys."""
        stops = np.append(starts[1:], len(self))
        several = np.flatnonzero(stops - starts > 1)
        first = np.minimum.reduceat(self._order, starts)[several] if len(several) else several
        for group in several[np.argsort(first)]:
            places = np.sort(self._order[starts[group] : stops[group]])
            codes = as_numpy(self.ids.take(as_arrow(places)).dictionary_encode().indices)  # numbered as they appear
            again = np.flatnonzero(np.bincount(codes) > 1)
            if len(again):
                return places.compress(codes == again[0])
        return several[:0]


def numbers(
    column: Any, source: str, rows: Callable[[], NDArray[np.int64]], names: Sequence[str], hint: str = ""
) -> NDArray[Any]:
    """Confidences as float32 or float64; nulls, which others have dealt with, as NaN.

    `rows` makes the rows of the values, and `names` are those of the columns behind each other that these are: both
    are needed where one is no number.
    """
    pa, pc = need("pyarrow"), need("pyarrow.compute")
    kind = column.type
    if pa.types.is_float32(kind) or pa.types.is_float64(kind):
        return as_numpy(column)
    if pa.types.is_float16(kind):
        return as_numpy(pc.cast(column, pa.float32()))
    if pa.types.is_integer(kind) or pa.types.is_decimal(kind) or pa.types.is_null(kind):
        return as_numpy(pc.cast(column, pa.float64(), safe=False))
    text = plain(column)
    if not pa.types.is_string(text.type):
        problem = f"the values in {quote(names[0])} are {kind_of(kind)}, but confidences are numbers.{hint}"
        raise FileError(source, problem)
    trimmed = pc.utf8_trim(text, _SPACES)
    try:
        return as_numpy(pc.cast(trimmed, pa.float64()))
    except pa.ArrowInvalid:
        bad = next(i for i, value in enumerate(trimmed.to_pylist()) if value is not None and not _is_number(value))
        where = quote(names[bad * len(names) // len(text)])
        remedy = _remedy(trimmed[bad].as_py()) or hint
        problem = f"{quote(text[bad].as_py())} in {where} is no number.{remedy}"
        raise FileError(source, problem, row=int(rows()[bad])) from None


def decimals(column: Any) -> NDArray[np.int64] | None:
    """How many decimals each number shows, those of its exponent included; None where numbers are no text.

    >>> import pyarrow as pa
    >>> decimals(pa.array(["0.50", " 1", "2.5e-05", ".125 "]))
    array([2, 0, 6, 3])
    """
    pa, pc = need("pyarrow"), need("pyarrow.compute")
    text = plain(column)
    if not pa.types.is_string(text.type):
        return None
    at, written = _characters(text)
    if not written.isascii() or any(blank in written for blank in _BLANKS):
        at, written = _characters(pc.utf8_trim(text, _SPACES))
    characters, ends = np.frombuffer(written, np.uint8), at[1:]
    dots = np.flatnonzero(characters == ord("."))
    each = len(dots) == len(text) and bool((dots >= at[:-1]).all() and (dots < ends).all())
    if each and b"e" not in written and b"E" not in written:
        return ends - dots - 1
    exponents = np.flatnonzero((characters | 32) == ord("e"))
    small = np.searchsorted(at, exponents, side="right") - 1
    stops, holder = ends.copy(), np.arange(len(text)) if each else np.searchsorted(at, dots, side="right") - 1
    stops[small] = exponents
    found = np.zeros(len(text), np.int64)
    found[holder] = stops[holder] - dots - 1
    found[small] -= _whole(characters, exponents + 1, ends[small])
    return np.clip(found, 0, 300)


def _characters(text: Any) -> tuple[NDArray[np.int64], bytes]:
    """Where each text begins, and the end, and all their characters."""
    _, starts, buffer = text.buffers()
    if not len(text) or buffer is None:
        return np.zeros(len(text) + 1, np.int64), b""
    at = np.frombuffer(starts, np.int32)[text.offset : text.offset + len(text) + 1].astype(np.int64)
    return at - at[0], buffer[int(at[0]) : int(at[-1])].to_pybytes()


def _whole(written: NDArray[np.uint8], start: NDArray[np.int64], stop: NDArray[np.int64]) -> NDArray[np.int64]:
    """The whole numbers of at most four digits that stand there, with their signs."""
    value, negative = np.zeros(len(start), np.int64), np.zeros(len(start), bool)
    for place in range(5):
        inside = start + place < stop
        if not inside.any():
            break
        character = written[np.where(inside, start + place, 0)]
        digit = inside & (character >= ord("0")) & (character <= ord("9"))
        value = np.where(digit, 10 * value + character - ord("0"), value)
        negative |= inside & (character == ord("-"))
    return np.where(negative, -value, value)


def _is_number(value: str) -> bool:
    pa, pc = need("pyarrow"), need("pyarrow.compute")
    try:
        pc.cast(pa.array([value]), pa.float64())
    except pa.ArrowInvalid:
        return False
    return True


def _remedy(value: str) -> str:
    if value.endswith("%") and _is_number(value[:-1].strip()):
        return f" Leave out the percent signs and pass {argument('scale', 'percent')}."
    if value.count(",") == 1 and _is_number(value.replace(",", ".")):
        return " Write numbers with a decimal point."
    return ""


def plain(column: Any) -> Column:
    """One array, not chunked or encoded; text as Arrow's string."""
    pa, pc = need("pyarrow"), need("pyarrow.compute")
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
        column = column.chunk(0) if isinstance(column, pa.ChunkedArray) else column
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if pa.types.is_large_string(column.type) or pa.types.is_string_view(column.type):
        column = pc.cast(column, pa.string())
    return column


def is_list(kind: Any) -> bool:
    """Whether values are lists, in one of the usual layouts of Arrow; see `readers.column_types` for the others."""
    types = need("pyarrow").types
    return bool(types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind))


def offsets_of(sizes: NDArray[Any]) -> NDArray[np.int64]:
    """Where each list begins, and the end."""
    return np.concatenate((np.zeros(1, np.int64), np.cumsum(sizes, dtype=np.int64)))


def blanks(column: Any) -> NDArray[np.bool_]:
    """Which values are null."""
    return truths(column.is_null())


def truths(column: Any) -> NDArray[np.bool_]:
    """A column of true and false, none of them null; Arrow's own way takes ten times as long."""
    if not len(column):
        return np.zeros(0, bool)
    bits = np.frombuffer(column.buffers()[1], np.uint8)
    return np.unpackbits(bits, count=column.offset + len(column), bitorder="little")[column.offset :].view(bool)


def as_numpy(column: Column) -> NDArray[Any]:
    """The values of a column. Numbers come straight from its buffer: Arrow's own way would import pandas."""
    kind = _TYPES.get(str(column.type))
    if kind is None or column.null_count:
        array: NDArray[Any] = column.to_numpy(zero_copy_only=False)
        return array
    buffer = column.buffers()[1]
    if buffer is None or not len(column):
        return np.zeros(0, kind)
    return np.frombuffer(buffer, kind)[column.offset : column.offset + len(column)]


def as_arrow(values: NDArray[Any]) -> Column:
    """The way back, without a copy of numbers."""
    pa, n = need("pyarrow"), len(values)
    if values.dtype == bool:
        return pa.Array.from_buffers(pa.bool_(), n, [None, pa.py_buffer(np.packbits(values, bitorder="little"))])
    buffer = pa.py_buffer(np.ascontiguousarray(values))
    return pa.Array.from_buffers(pa.from_numpy_dtype(values.dtype), n, [None, buffer])


def text_if_none(column: Column) -> Column:
    """A column that holds nothing, and so has no type, as text."""
    pa = need("pyarrow")
    return column.cast(pa.string()) if pa.types.is_null(column.type) else column


def is_half(kind: Any) -> bool:
    """Whether numbers of this type, or lists of them, are half floats."""
    return is_half(kind.value_type) if is_list(kind) else bool(need("pyarrow").types.is_float16(kind))


def kind_of(kind: Any) -> str:
    """A type of Arrow in a plain word."""
    types = need("pyarrow").types
    known = (
        (types.is_boolean, "true or false"),
        (types.is_struct, "objects"),
        (types.is_map, "maps"),
        (types.is_nested, "lists"),
        (types.is_temporal, "dates or times"),
        (types.is_null, "blank"),
        (types.is_string, "text"),
        (types.is_integer, "numbers"),
        (types.is_floating, "numbers"),
        (types.is_decimal, "numbers"),
    )
    return next((word for test, word in known if test(kind)), str(kind))
