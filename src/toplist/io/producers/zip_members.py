"""Members of a ZIP file, also those compressed by Zstandard, which `zipfile` reads only from Python 3.14 on."""

from __future__ import annotations

import struct
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from toplist._files import need
from toplist.errors import FileError

_ZSTD = 93
_LOCAL = 30  # bytes of a local header before the name of the member
_LARGEST = 1 << 31  # bytes of a member


@dataclass(frozen=True, slots=True)
class ZipMembers:
    """An open ZIP file; of members with the same name, the last one counts."""

    path: Path
    stream: BinaryIO
    archive: zipfile.ZipFile

    @property
    def names(self) -> list[str]:
        """The names of all members."""
        return list(self.archive.NameToInfo)

    def read(self, name: str) -> bytes:
        """The bytes of a member, decompressed and checked."""
        info, pa = self.archive.NameToInfo[name], need("pyarrow")
        if info.file_size > _LARGEST:
            raise FileError(str(self.path), f"the member {name} has {info.file_size:,} bytes: too many to be read.")
        try:
            if info.compress_type != _ZSTD:
                return self.archive.read(name)
            self.stream.seek(info.header_offset)
            lengths = struct.unpack("<HH", self.stream.read(_LOCAL)[26:])
            self.stream.seek(info.header_offset + _LOCAL + sum(lengths))
            packed = self.stream.read(info.compress_size)
            data: bytes = pa.Codec("zstd").decompress(packed, info.file_size, asbytes=True)
        except (*_DAMAGE, pa.ArrowException) as error:
            raise FileError(
                str(self.path), f"the member {name} cannot be read: {str(error)[:200].rstrip('.')}."
            ) from None
        if zlib.crc32(data) != info.CRC:
            raise FileError(str(self.path), f"the member {name} is damaged: its checksum is another one.")
        return data


# A later version of the format, or an encrypted member, is a NotImplementedError or a RuntimeError.
_DAMAGE = (zipfile.BadZipFile, zlib.error, struct.error, OSError, EOFError, ValueError, RuntimeError)


@contextmanager
def members_of(path: Path) -> Iterator[ZipMembers]:
    """The members of a ZIP file, which is closed afterwards."""
    try:
        with path.open("rb") as stream, zipfile.ZipFile(stream) as archive:
            yield ZipMembers(path, stream, archive)
    except zipfile.BadZipFile:
        raise FileError(str(path), "this is no ZIP file, or it is cut short.") from None
    except NotImplementedError as error:
        raise FileError(str(path), f"this ZIP file cannot be read: {str(error).rstrip('.')}.") from None
    except OSError as error:
        raise FileError(str(path), f"this cannot be opened: {error.strerror}.") from None
