"""Members of a ZIP file, also those compressed by Zstandard, which `zipfile` reads only from Python 3.14 on."""

from __future__ import annotations

import struct
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from copy import copy
from functools import partial
from pathlib import Path

from toplist._files import need
from toplist.errors import FileError

_ZSTD = 93
_LARGEST = 1 << 31  # bytes of a member
# A later version of the format, or an encrypted member, is a NotImplementedError or a RuntimeError.
_DAMAGE = (zipfile.BadZipFile, zlib.error, struct.error, OSError, EOFError, ValueError, RuntimeError, MemoryError)


@contextmanager
def members_of(path: Path) -> Iterator[Mapping[str, Callable[[], bytes]]]:
    """What reads each member of a ZIP file, by name; of members with the same name, the last one counts."""
    try:
        with path.open("rb") as stream, zipfile.ZipFile(stream) as archive:
            yield {name: partial(_bytes_of, path, archive, info) for name, info in archive.NameToInfo.items()}
    except zipfile.BadZipFile:
        raise FileError(str(path), "this is no ZIP file, or it is cut short.") from None
    except NotImplementedError as error:
        raise FileError(str(path), f"this ZIP file cannot be read: {str(error).rstrip('.')}.") from None
    except OSError as error:
        raise FileError(str(path), f"this cannot be opened: {error.strerror}.") from None


def _bytes_of(path: Path, archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> bytes:
    """The bytes of a member, decompressed and checked."""
    if info.file_size > _LARGEST:
        raise FileError(str(path), f"the member {info.filename} has {info.file_size:,} bytes: too many to be read.")
    packed = copy(info)
    if info.compress_type == _ZSTD:  # is taken for a member that is not compressed, and has no checksum
        packed.compress_type, packed.file_size = zipfile.ZIP_STORED, info.compress_size
        del packed.CRC
    try:
        data = archive.read(packed)
        if info.compress_type == _ZSTD:
            data = need("pyarrow").Codec("zstd").decompress(data, info.file_size, asbytes=True)
    except _DAMAGE as error:
        problem = f"the member {info.filename} cannot be read: {str(error)[:200].rstrip('.')}."
        raise FileError(str(path), problem) from None
    if zlib.crc32(data) != info.CRC:
        raise FileError(str(path), f"the member {info.filename} is damaged: its checksum is another one.")
    return data
