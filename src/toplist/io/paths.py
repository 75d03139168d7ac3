"""Paths as files: one, those of a folder or those that match a pattern, in a format that is read."""

from __future__ import annotations

import glob
import os
import re
from dataclasses import dataclass
from pathlib import Path

from toplist._text import closest_file, quote
from toplist.errors import FileError
from toplist.io.readers import FORMATS, Format, Reader
from toplist.io.readers.base import COMPRESSIONS


_OTHERS = (".eval",)  # suffixes of files that producers alone read


@dataclass(frozen=True, slots=True)
class FileSet:
    """One prediction, in one file or in several of the same kind that follow each other."""

    paths: tuple[Path, ...]
    format: Format


def open_path(path: str | os.PathLike[str]) -> Reader:
    """A reader for a file, a folder or a pattern."""
    found = find(path)
    for one in found.paths:
        if not os.access(one, os.R_OK):
            raise FileError(str(one), "this file may not be read.")
    return found.format.open(found.paths, os.fspath(path))


def stem_of(path: str | os.PathLike[str]) -> str:
    """What a file of predictions is called without the suffixes of its format.

    >>> stem_of("out/a.csv.gz"), stem_of("b.txt"), stem_of(".csv"), stem_of("c.eval")
    ('a', 'b.txt', '.csv', 'c')
    """
    name = Path(path).name or os.fspath(path)
    known = "|".join(suffix[1:] for suffix in (*(s for one in FORMATS if one.certain for s in one.suffixes), *_OTHERS))
    packed = "|".join(suffix[1:] for suffix in COMPRESSIONS)
    return re.sub(rf"(\.({known}))?(\.({packed}))?$", "", name, flags=re.IGNORECASE) or name


def require_path(path: str | os.PathLike[str]) -> None:
    """A file or a folder that is there, or a pattern that something matches."""
    text = os.fspath(path)
    place = Path(text)
    if not text or "\0" in text or len(text) > 4000:
        raise FileError(quote(text), "this is no path.")
    if "://" in text and not place.exists():
        raise FileError(text, "this is an address: toplist reads files of this machine.")
    try:
        if place.exists():
            return
        if any(mark in text for mark in "*?["):
            if not any(Path(p).is_file() for p in glob.iglob(text, recursive=True)):
                raise FileError(text, "no file matches this pattern.")
            return
    except OSError as error:
        raise FileError(quote(text), f"this cannot be opened: {error.strerror}.") from None
    if place.is_symlink():
        raise FileError(text, "this link leads to no file.")
    raise FileError(text, f"there is no such file.{_near(place)}")


def find(path: str | os.PathLike[str]) -> FileSet:
    """A file, a folder of files, or a pattern such as `preds/*.parquet`."""
    require_path(path)
    text = os.fspath(path)
    try:
        found = _found(text, Path(text))
    except OSError as error:
        raise FileError(quote(text), f"this cannot be opened: {error.strerror}.") from None
    odd = next((path for path in found.paths if not _is_text(str(path.absolute()))), None)
    if odd is not None and not found.format.any_path:
        raise FileError(str(odd), "the path of this file is not UTF-8 text: rename it.")
    return found


def _is_text(name: str) -> bool:
    """Whether a name is text: those of files may be any bytes."""
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


def _found(text: str, place: Path) -> FileSet:
    if place.is_dir():
        inside = sorted(p for p in place.iterdir() if p.is_file() and p.name[0] not in "._" and is_table(p))
        inside = [p for p in inside if (found := format_of(p)) is not None and found.beside] or inside
        if not inside:
            raise FileError(text, f"there is no file in this folder that toplist reads ({_formats()}).")
        return _same_format(text, inside)
    if place.exists():
        if not place.is_file():
            raise FileError(text, "this is not a file.")
        return _same_format(text, [place])
    return _same_format(text, sorted(Path(p) for p in glob.glob(text, recursive=True) if Path(p).is_file()))


def is_table(path: Path) -> bool:
    """Whether a file in a folder is part of a table; a .txt beside it may be anything."""
    found = format_of(path)
    return found is not None and found.certain


def format_of(path: Path) -> Format | None:
    """The format by the file's name, compressed or not."""
    suffixes = [suffix.lower() for suffix in path.suffixes[-2:]]
    packed = bool(suffixes) and suffixes[-1] in COMPRESSIONS
    last = suffixes[-2] if packed and len(suffixes) > 1 else suffixes[-1] if suffixes and not packed else ""
    return next((one for one in FORMATS if last in one.suffixes and (one.compressed or not packed)), None)


def _same_format(text: str, paths: list[Path]) -> FileSet:
    found = {path: format_of(path) for path in paths}
    odd = next((path for path, one in found.items() if one is None), None)
    if odd is not None:
        raise FileError(str(odd), f"toplist reads {_formats()}, not {odd.suffix or 'files without a suffix'}.")
    formats = {one.name: one for one in found.values() if one is not None}
    if len(formats) > 1:
        raise FileError(text, f"files of different formats ({', '.join(sorted(formats))}) in one place.")
    return FileSet(tuple(paths), *formats.values())


def _formats() -> str:
    return f"{', '.join(one.described or one.suffixes[0] for one in FORMATS)}; text also as .gz or .zst"


def _near(place: Path) -> str:
    try:
        names = [p.name for p in place.parent.iterdir()]
    except OSError:
        return ""
    near = closest_file(place.name, names)
    return f" Did you mean {str(place.parent / near)!r}?" if near is not None else ""
