"""Which files a path means, and in what format they are."""

from __future__ import annotations

import glob
import os
from dataclasses import dataclass
from pathlib import Path

from toplist._text import nearest_file, shown
from toplist.errors import FileError

FORMATS = {
    "csv": (".csv",),
    "tsv": (".tsv", ".tab"),
    "jsonl": (".jsonl", ".ndjson"),
    "parquet": (".parquet", ".pq"),
    "arrow": (".arrow", ".feather", ".ipc"),
    "numpy": (".npy", ".npz"),
    "fasttext": (".txt",),  # what fasttext predict-prob prints
}
COMPRESSIONS = {".gz": "gzip", ".zst": "zstd"}
_COMPRESSED = ("csv", "tsv", "jsonl", "fasttext")


@dataclass(frozen=True, slots=True)
class FileSet:
    """One prediction, in one file or in several of the same kind that follow each other."""

    paths: tuple[Path, ...]
    format: str


def find(path: str | os.PathLike[str]) -> FileSet:
    """A file, a folder of files, or a pattern such as `preds/*.parquet`."""
    text = os.fspath(path)
    place = Path(text)
    if not text or "\0" in text or len(text) > 4000:
        raise FileError(shown(text), "this is no path.")
    if "://" in text and not place.exists():
        raise FileError(text, "this is an address: toplist reads files of this machine.")
    try:
        found = _found(text, place)
    except OSError as error:
        raise FileError(shown(text), f"this cannot be opened: {error.strerror}.") from None
    odd = next((path for path in found.paths if not _is_text(str(path.absolute()))), None)
    if odd is not None and found.format != "numpy":  # numpy opens it by its bytes, other libraries by its name
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
        inside = sorted(p for p in place.iterdir() if p.is_file() and p.name[0] not in "._" and _is_table(p))
        if not inside:
            raise FileError(text, f"there is no file in this folder that toplist reads ({_known()}).")
        return _same_format(text, inside)
    if place.exists():
        if not place.is_file():
            raise FileError(text, "this is not a file.")
        return _same_format(text, [place])
    if any(mark in text for mark in "*?["):
        found = sorted(Path(p) for p in glob.glob(text, recursive=True) if Path(p).is_file())
        if not found:
            raise FileError(text, "no file matches this pattern.")
        return _same_format(text, found)
    if place.is_symlink():
        raise FileError(text, "this link leads to no file.")
    raise FileError(text, f"there is no such file.{_near(place)}")


def _is_table(path: Path) -> bool:
    """Whether a file in a folder is part of a table; a .txt beside it may be anything."""
    return format_of(path) not in (None, "fasttext")


def format_of(path: Path) -> str | None:
    """The format by the file's name, compressed or not."""
    suffixes = [suffix.lower() for suffix in path.suffixes[-2:]]
    packed = bool(suffixes) and suffixes[-1] in COMPRESSIONS
    last = suffixes[-2] if packed and len(suffixes) > 1 else suffixes[-1] if suffixes and not packed else ""
    found = next((name for name, known in FORMATS.items() if last in known), None)
    return None if packed and found not in _COMPRESSED else found


def compression_of(path: Path) -> str | None:
    """gzip, zstd or nothing, by the file's name."""
    return COMPRESSIONS.get(path.suffix.lower())


def _same_format(text: str, paths: list[Path]) -> FileSet:
    formats = {format_of(path) for path in paths}
    if None in formats:
        odd = next(path for path in paths if format_of(path) is None)
        hint = " JSON is read line by line: write one object per line, as .jsonl." if odd.suffix == ".json" else ""
        raise FileError(str(odd), f"toplist reads {_known()}, not {odd.suffix or 'files without a suffix'}.{hint}")
    if len(formats) > 1:
        raise FileError(text, f"files of different formats ({', '.join(sorted(map(str, formats)))}) in one place.")
    return FileSet(tuple(paths), str(formats.pop()))


def _known() -> str:
    tables = ", ".join(suffixes[0] for name, suffixes in FORMATS.items() if name != "fasttext")
    return f"{tables}, .npz, .txt of fastText; text also as .gz or .zst"


def _near(place: Path) -> str:
    try:
        names = [p.name for p in place.parent.iterdir()]
    except OSError:
        return ""
    near = nearest_file(place.name, names)
    return f" Did you mean {str(place.parent / near)!r}?" if near is not None else ""
