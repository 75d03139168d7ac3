"""Records of JSON files: one object per line, an array of objects, or one object."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from toplist.errors import FileError
from toplist.io.readers.base import opened
from toplist.io.readers.json_lines import RepeatedFieldError, json_value, parse

Record = Mapping[str, Any]
_BLOCK = 1 << 18  # bytes that are read at a time, which stay in the cache: eight megabytes took twice as long
_MARK = b"\xef\xbb\xbf"  # some programs put it before UTF-8


def is_document(path: Path) -> bool:
    """Whether a file holds one JSON value, not one in each line."""
    if any(suffix in (".jsonl", ".ndjson") for suffix in path.suffixes):
        return False
    first = next(lines(path), b"").strip()
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
        yield from ((row, parse(line, source, row)) for row, line in enumerate(lines(path), 1))
        return
    with opened(path) as stream:
        data = stream.read()
    try:
        value = json_value(data.decode("utf-8-sig"))
    except RepeatedFieldError as error:
        raise FileError(source, str(error)) from None
    except (ValueError, RecursionError):
        raise FileError(source, "this is no JSON: write one object per line, or an array of them.") from None
    for row, record in enumerate(value if isinstance(value, list) else [value], 1):
        if not isinstance(record, dict):
            raise FileError(source, "every element of the array is an object.", row=row)
        yield row, record


def line_blocks(path: Path) -> Iterator[bytes]:
    """Whole lines, some hundred kilobytes of them at a time."""
    rest, mark = b"", _MARK
    with opened(path) as stream:
        while chunk := stream.read(_BLOCK):
            data = chunk.removeprefix(mark)
            cut = data.rfind(b"\n") + 1
            if cut:
                yield b"".join((rest, memoryview(data)[:cut]))
                rest = b""
            rest, mark = rest + data[cut:], b""
    if rest:
        yield rest


def lines_of(block: bytes) -> list[bytes]:
    """The lines that are not blank, without their ends."""
    return [line for line in block.split(b"\n") if line and not line.isspace()]


def lines(path: Path) -> Iterator[bytes]:
    """The lines of a file that are not blank."""
    for block in line_blocks(path):
        yield from lines_of(block)
