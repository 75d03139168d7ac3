"""JSON, one object per line."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from toplist.errors import FileError
from toplist.io.files import compression_of
from toplist.io.optional import need
from toplist.io.readers.base import Piece
from toplist.io.readers.parquet import first_sentence

_BLOCK = 1 << 22  # bytes parsed at a time; no line may be longer
_PEEK = 100  # lines that tell which columns there are


@dataclass
class JsonReader:
    """One or more files of JSON lines with the same fields."""

    paths: tuple[Path, ...]
    name: str
    text: bool = False
    rows: int | None = field(default=None, init=False)

    @cached_property
    def schema(self) -> Any:
        """Names and types, by the first lines of the first file."""
        pa = need("pyarrow")
        kinds: dict[str, Any] = {}
        for row, line in enumerate(_first_lines(self.paths[0]), 1):
            record = _parse(line, str(self.paths[0]), row)
            for key, value in record.items():
                kind = _type_of(value)
                kinds[key] = _wider(kinds.get(key), kind)
        if not kinds:
            raise FileError(str(self.paths[0]), "there is no line in this file.")
        return pa.schema([(key, pa.string() if kind is None else kind) for key, kind in kinds.items()])

    def pieces(self, columns: Sequence[str]) -> Iterator[Piece]:
        """The named fields, batch by batch."""
        pa, reader = need("pyarrow"), need("pyarrow.json")
        wanted = pa.schema([self.schema.field(name) for name in columns])
        options = reader.ParseOptions(explicit_schema=wanted, unexpected_field_behavior="ignore")
        for path in self.paths:
            start = 0
            try:
                with pa.input_stream(str(path), compression=compression_of(path)) as source:
                    batches = reader.open_json(source, reader.ReadOptions(block_size=_BLOCK), options)
                    for batch in batches:
                        yield Piece(str(path), start, batch.select(list(columns)))
                        start += len(batch)
            except (pa.ArrowException, OSError, EOFError) as error:
                raise _complaint(error, path, start) from None


def _first_lines(path: Path) -> Iterator[bytes]:
    pa = need("pyarrow")
    try:
        with pa.input_stream(str(path), compression=compression_of(path)) as source:
            head = source.read(_BLOCK)
    except (pa.ArrowException, OSError) as error:
        raise FileError(str(path), f"this cannot be read: {first_sentence(error)}") from None
    lines = head.removeprefix(b"\xef\xbb\xbf").split(b"\n")
    whole = lines if len(head) < _BLOCK else lines[:-1]
    if not whole:
        raise FileError(str(path), f"the first line is longer than {_BLOCK:,} bytes.")
    return iter([line for line in whole[:_PEEK] if line.strip()])


def _parse(line: bytes, source: str, row: int) -> dict[str, Any]:
    try:
        record = json.loads(line.decode("utf-8"))
    except UnicodeDecodeError:
        raise FileError(source, "this is not UTF-8 text.", row=row) from None
    except (ValueError, RecursionError):
        shown = line[:60].decode("utf-8", "replace")
        raise FileError(source, f"this is not JSON: {shown!r}.", row=row) from None
    if not isinstance(record, dict):
        raise FileError(source, f"a line holds one object with named fields, not {type(record).__name__}.", row=row)
    return record


def _type_of(value: Any) -> Any:
    """The Arrow type of a value; None for null, which says nothing."""
    pa = need("pyarrow")
    if isinstance(value, bool):
        return pa.bool_()
    if isinstance(value, int):
        return pa.int64() if abs(value) < 2**63 else pa.float64()
    if isinstance(value, float):
        return pa.float64()
    if isinstance(value, str):
        return pa.string()
    if isinstance(value, list):
        inner = None
        for item in value:
            inner = _wider(inner, _type_of(item))
        return pa.list_(pa.null() if inner is None else inner)
    if isinstance(value, dict):
        return pa.struct([(key, _type_of(item) or pa.string()) for key, item in value.items()])
    return None


def _wider(known: Any, other: Any) -> Any:
    """The type that holds both: a null or an empty list says nothing, an integer may be a float."""
    pa = need("pyarrow")
    if known is None or other is None or known == other:
        return known if other is None else other
    if pa.types.is_null(known) or pa.types.is_null(other):
        return other if pa.types.is_null(known) else known
    if pa.types.is_list(known) and pa.types.is_list(other):
        return pa.list_(_wider(known.value_type, other.value_type))
    numbers = (pa.int64(), pa.float64())
    return pa.float64() if known in numbers and other in numbers else known


def _complaint(error: BaseException, path: Path, start: int) -> FileError:
    text = first_sentence(error)
    found = re.search(r"in row (\d+)", text)
    row = None if found is None else start + int(found.group(1)) + 1
    text = re.sub(r"^JSON (parse|conversion) error: ", "", re.sub(r" in row \d+", "", text))
    return FileError(str(path), f"this line does not fit the ones before it: {text}.", row=row)
