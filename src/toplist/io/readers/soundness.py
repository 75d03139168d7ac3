"""Whether the columns of a piece of a table fit together, in types that the rest of the package knows."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import numpy as np

from toplist._files import need
from toplist.errors import FileError
from toplist.io.columns import as_numpy
from toplist.io.readers.base import TableChunk


def sound(piece: TableChunk) -> TableChunk:
    """The same piece, if its columns fit together and its text is UTF-8; bytes become text, half floats floats."""
    pa, columns, changed = need("pyarrow"), [], False
    for column in piece.table.columns:
        kind = _known_kind(column.type)
        changed |= kind is not None
        try:
            column.validate(full=True)
            columns.append(column if kind is None else column.cast(kind))
        except pa.ArrowInvalid as error:
            raise _damage(str(error), column, piece) from None
    return replace(piece, table=pa.record_batch(columns, names=piece.table.schema.names)) if changed else piece


def _known_kind(kind: Any) -> Any:
    """The type that bytes and half floats, or lists of them, are read as; None for all else."""
    pa = need("pyarrow")
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        inner = _known_kind(kind.value_type)
        return None if inner is None else (pa.list_ if pa.types.is_list(kind) else pa.large_list)(inner)
    if pa.types.is_float16(kind):
        return pa.float32()
    small, large = pa.types.is_binary(kind) or pa.types.is_binary_view(kind), pa.types.is_large_binary(kind)
    return pa.string() if small else pa.large_string() if large else None


def _damage(problem: str, column: Any, piece: TableChunk) -> FileError:
    """What Arrow said; nothing in the column can be relied on."""
    if "utf8" not in problem.lower():
        return FileError(piece.source, "this file is damaged: its columns do not fit together.")
    found, types = re.search(r"string index (\d+)", problem), need("pyarrow").types
    at = None if found is None else int(found.group(1))
    if at is None:  # bytes, which are what they are
        at = next(row for row, value in enumerate(column.to_pylist()) if not _is_text(value))
    elif types.is_list(column.type) or types.is_large_list(column.type):
        at = int(np.searchsorted(as_numpy(column.offsets), at, side="right")) - 1
    elif types.is_dictionary(column.type):
        at = None
    row = None if at is None else piece.start + min(max(at, 0), len(column) - 1) + 1
    return FileError(piece.source, "this is not UTF-8 text.", row=row)


def _is_text(value: Any) -> bool:
    if isinstance(value, list):
        return all(map(_is_text, value))
    try:
        (value or b"").decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True
