"""Records of JSON files: one object per line, an array of objects, or one object."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from toplist.errors import FileError
from toplist.io.readers.base import lines_of, opened
from toplist.io.readers.json_lines import parse

Record = Mapping[str, Any]
_BLOCK = 1 << 24  # bytes of lines that are read at a time
_MARK = b"\xef\xbb\xbf"  # some programs put it before UTF-8


def is_document(path: Path) -> bool:
    """Whether a file holds one JSON value, not one in each line."""
    if any(suffix in (".jsonl", ".ndjson") for suffix in path.suffixes):
        return False
    first = next(_lines(path), b"").strip()
    if first.startswith(b"["):
        return True
    try:
        json.loads(first)
    except ValueError:
        return True
    return False


def records(path: Path) -> Iterator[tuple[int, Record]]:
    """The records of a file: lines, or the elements of an array, or one object."""
    source = str(path)
    if not is_document(path):
        yield from ((row, parse(line, source, row)) for row, line in enumerate(_lines(path), 1))
        return
    with opened(path) as stream:
        data = stream.read()
    try:
        value = json.loads(data.decode("utf-8-sig"))
    except (ValueError, RecursionError):
        raise FileError(source, "this is no JSON: write one object per line, or an array of them.") from None
    for row, record in enumerate(value if isinstance(value, list) else [value], 1):
        if not isinstance(record, dict):
            raise FileError(source, "every element of the array is an object.", row=row)
        yield row, record


def line_blocks(path: Path) -> Iterator[list[bytes]]:
    """Lines that are not blank, some megabytes of them at a time."""
    block: list[bytes] = []
    size = 0
    for line in _lines(path):
        block.append(line)
        size += len(line)
        if size > _BLOCK:
            yield block
            block, size = [], 0
    if block:
        yield block


def _lines(path: Path) -> Iterator[bytes]:
    """The lines that are not blank."""
    mark = _MARK
    for line in lines_of(path):
        if text := line.removeprefix(mark):
            mark = b""
            if not text.isspace():
                yield text
