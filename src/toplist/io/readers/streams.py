"""Bytes of text files, compressed or not; what is wrong with them in words."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from toplist.errors import FileError
from toplist.io.files import compression_of
from toplist.io.optional import need

_CHUNK = 1 << 20
_MAGIC = (
    (b"PK\x03\x04", "this is a zip file or an Excel workbook: save it as text."),
    (b"\xd0\xcf\x11\xe0", "this is an Excel workbook: save it as text."),
    (b"\x1f\x8b", "this is compressed by gzip: add .gz to its name."),
    (b"\x28\xb5\x2f\xfd", "this is compressed by zstd: add .zst to its name."),
    (b"PAR1", "this is a Parquet file: name it .parquet."),
    (b"ARROW1", "this is an Arrow file: name it .arrow."),
    (b"\xff\xfe", "this is UTF-16 text: save it as UTF-8."),
    (b"\xfe\xff", "this is UTF-16 text: save it as UTF-8."),
)
_PROBLEMS = (
    ("Truncated compressed stream", "the file is cut short: the compressed data end too soon."),
    ("incorrect header check", "this is not compressed by gzip."),
    ("Unknown frame descriptor", "this is not compressed by zstd."),
    ("No such file", "there is no such file any more."),
)


@contextmanager
def opened(path: Path) -> Iterator[Any]:
    """The bytes of a file as a stream, decompressed."""
    pa = need("pyarrow")
    try:
        with pa.input_stream(str(path.absolute()), compression=compression_of(path)) as stream:
            yield stream
    except (pa.ArrowException, OSError, EOFError) as error:
        raise unreadable(error, path) from None


def head_of(path: Path, size: int) -> bytes:
    """The first bytes, without the mark that some programs put before UTF-8."""
    with opened(path) as stream:
        head: bytes = stream.read(size)
    problem = next((problem for magic, problem in _MAGIC if head.startswith(magic)), None)
    if problem is not None:
        raise FileError(str(path), problem)
    return head.removeprefix(b"\xef\xbb\xbf")


def require_whole(path: Path) -> None:
    """Compressed data must go on to their end: not every library looks."""
    if compression_of(path) is not None:
        with opened(path) as stream:
            while stream.read(_CHUNK):
                pass


def lines_of(path: Path) -> Iterator[bytes]:
    """The lines of a file with their ends."""
    rest = b""
    with opened(path) as stream:
        while chunk := stream.read(_CHUNK):
            lines = (rest + chunk).split(b"\n")
            yield from (line + b"\n" for line in lines[:-1])
            rest = lines[-1]
    if rest:
        yield rest


def unreadable(error: BaseException, path: Path) -> FileError:
    """What another library said about bytes, in one sentence."""
    text = str(error).strip().partition("\n")[0] or type(error).__name__
    known = next((problem for mark, problem in _PROBLEMS if mark in text), None)
    return FileError(str(path), known or f"this cannot be read: {text[:200].rstrip('.')}.")
