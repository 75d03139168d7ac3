"""Positions with top tokens in lines of JSON, read by Arrow; fields that are not asked for are skipped."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from toplist._files import need
from toplist._typing import Ints
from toplist.io.columns import as_numpy, blanks, offsets_of, plain
from toplist.io.producers.tokens import Positions
from toplist.io.top_tokens import TopTokens

_FIRST = 1 << 18  # bytes that tell how lines are written
_PARSED = 1 << 18  # bytes that a thread parses at a time
_METADATA = "metadata."
_BETWEEN = (b'}]}, {"token"', b'}]},{"token"')  # two positions, with and without blanks
_CHOICES = ((b'"index": 0', b'"index": 1'), (b'"index":0', b'"index":1'))
_END = b"}]}]"  # the last position, and the list of positions


def trimmed(text: bytes, position: int | str) -> bytes:
    """Lines without the positions after that of the answer, where it is a number.

    Between two positions stands `}]}, {"token"`: the end of the list of a position, of the position, and the beginning
    of the next. Inside a text every quotation mark has a backslash before it, so that this stands nowhere else. After
    the last position stands `}]}]`. A text may have that in it: then a quotation mark is left over, the line is no
    JSON, and all lines are read one by one. A line that is written in another way stays as it is.
    """
    between = next((one for one in _BETWEEN if text.find(one, 0, _FIRST) >= 0), None)
    if between is None or not isinstance(position, int) or position < 0 or not _single(text):
        return text
    kept, start = [], 0
    while start < len(text):
        stop = text.find(b"\n", start) + 1 or len(text)
        first = start
        for _ in range(position + 1):
            first = text.find(between, first + 1, stop)
            if first < 0:
                break
        end = text.find(_END, text.rfind(between, first, stop) + len(between), stop) if first >= 0 else -1
        kept += [text[start:stop]] if end < 0 else [text[start : first + 3], text[end + 3 : stop]]
        start = stop
    return b"".join(kept)


def _single(text: bytes) -> bool:
    """Whether every response certainly has one choice: the first is there, and the second nowhere."""
    written = [second for first, second in _CHOICES if text.find(first, 0, _FIRST) >= 0]
    return bool(written) and not any(second in text for second in written)


def parsed(
    text: bytes, kinds: Mapping[str, Any], path: str, *, with_bytes: bool
) -> tuple[dict[str, Any], Positions] | None:
    """The fields of lines, and the positions at a path; None where Arrow cannot read them so, or not all of them.

    `path` is such as `choices.0.logprobs.content`; `metadata.x` among the fields is x in the object metadata.
    """
    pa = need("pyarrow")
    head, *inside = path.split(".")
    try:
        table = _read(text, _schema(kinds).append(pa.field(head, _type_at(inside, _positions_type(with_bytes)))))
        positions = _positions_at(plain(table.column(head)), inside)
    except pa.ArrowException:
        return None
    whole = len(table) == text.count(b"\n") + (not text.endswith(b"\n"))
    return (_columns(table, kinds), positions) if whole and positions is not None else None


def _schema(kinds: Mapping[str, Any]) -> Any:
    """The members of records that have these fields."""
    pa = need("pyarrow")
    wanted = [(name, kind) for name, kind in kinds.items() if not name.startswith(_METADATA)]
    below = [(name.removeprefix(_METADATA), kind) for name, kind in kinds.items() if name.startswith(_METADATA)]
    return pa.schema([*wanted, ("metadata", pa.struct(below))] if below else wanted)


def _read(text: bytes, schema: Any) -> Any:
    pa, reader = need("pyarrow"), need("pyarrow.json")
    options = reader.ParseOptions(explicit_schema=schema, unexpected_field_behavior="ignore")
    return reader.read_json(pa.BufferReader(text), reader.ReadOptions(block_size=_PARSED), options)


def _columns(table: Any, kinds: Mapping[str, Any]) -> dict[str, Any]:
    """The fields, by their names."""
    return {
        name: _field(plain(table.column("metadata")), name.removeprefix(_METADATA))
        if name.startswith(_METADATA)
        else plain(table.column(name))
        for name in kinds
    }


def _field(column: Any, name: str) -> Any:
    return need("pyarrow.compute").struct_field(column, name)


def _positions_type(with_bytes: bool) -> Any:
    pa = need("pyarrow")
    token = [("token", pa.string()), ("logprob", pa.float64())]
    listed_token = pa.struct([*token, ("bytes", pa.list_(pa.int64()))] if with_bytes else token)
    return pa.list_(pa.struct([("token", pa.string()), ("top_logprobs", pa.list_(listed_token))]))


def _type_at(path: Sequence[str], inner: Any) -> Any:
    """The type of a field that has this type at a path inside."""
    pa = need("pyarrow")
    for part in reversed(path):
        inner = pa.list_(inner) if part.isdigit() else pa.struct([(part, inner)])
    return inner


def _positions_at(column: Any, path: Sequence[str]) -> Positions | None:
    """The positions inside a column: a struct is entered, and the one element of a list; None where it has several."""
    for part in path:
        column = _element(column) if part.isdigit() else _field(column, part)
        if column is None:
            return None
    positions, offsets = _unnested(column)
    tokens, inner = _unnested(_field(positions, "top_logprobs"))
    fields = [tokens.type.field(i).name for i in range(tokens.type.num_fields)]
    logs = _field(tokens, "logprob")
    top = TopTokens(
        inner,
        _field(tokens, "token"),
        as_numpy(logs.fill_null(np.nan)),
        raw=_as_binary(_field(tokens, "bytes")) if "bytes" in fields else None,
    )
    return Positions(offsets, _field(positions, "token"), top)


def _element(column: Any) -> Any:
    """The one element of each list; null where it is empty, and None where there are several."""
    values, offsets = _unnested(column)
    sizes = np.diff(offsets)
    if (sizes == 1).all():
        return values
    return None if (sizes > 1).any() else values.take(need("pyarrow").array(offsets[:-1], mask=sizes == 0))


def _unnested(column: Any) -> tuple[Any, Ints]:
    """The elements of all lists, and where each list begins; a null is empty."""
    sizes = as_numpy(need("pyarrow.compute").list_value_length(column).fill_null(0)).astype(np.int64)
    return column.flatten(), offsets_of(sizes)


def _as_binary(column: Any) -> Any:
    """Lists of bytes as binary."""
    pa = need("pyarrow")
    values, offsets = _unnested(column)
    data = as_numpy(values.cast(pa.uint8())) if len(values) else np.zeros(0, np.uint8)
    known = pa.py_buffer(np.packbits(~blanks(column), bitorder="little"))
    buffers = [known, pa.py_buffer(offsets.astype(np.int32)), pa.py_buffer(data.tobytes())]
    return pa.Array.from_buffers(pa.binary(), len(column), buffers)
