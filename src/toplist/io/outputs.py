"""Files out: never over a file that is read, and whole or not at all."""

from __future__ import annotations

import glob
import os
import secrets
import shutil
import stat
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, BinaryIO

from toplist.errors import FileError, TopListError
from toplist.io.showing import shown

_BUFFER = 1 << 20
_NEW = os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
_UNNAMED = getattr(os, "O_TMPFILE", None)
_OPEN = "/proc/self/fd"  # where an open file without a name can be reached
_MAGIC = "*?["

PathLike = str | os.PathLike[str]


# Apart from what is read


def require_apart(outputs: Iterable[PathLike], inputs: Iterable[Any]) -> None:
    """No output is an input, lies in an input folder, matches an input pattern, or is another output.

    Inputs are paths, folders and patterns; anything else, such as a table in memory, is passed over.
    """
    read = [_Input(os.fspath(one)) for one in inputs if isinstance(one, str | os.PathLike)]
    others: list[_Place] = []
    for output in outputs:
        place = _Place.of(output)
        for one in read:
            clash = one.clash(place)
            if clash:
                raise TopListError(f"the output {place.text!r} {clash}.")
        same = next((other for other in others if other.is_same(place)), None)
        if same is not None:
            raise TopListError(f"the outputs {same.text!r} and {place.text!r} are one file: name two.")
        others.append(place)


def inputs_of(sources: Iterable[Any]) -> list[str | Path]:
    """The paths of sources: as they were named, and every file; a table in memory has none."""
    readers = [source.reader for source in sources]
    return [path for reader in readers if reader.paths for path in (reader.name, *reader.paths)]


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a file is or will be: where its name stands, and where links from there lead."""

    text: str
    spots: frozenset[str]
    identity: tuple[int, int] | None  # device and inode, where it exists

    @classmethod
    def of(cls, path: PathLike) -> _Place:
        text = os.fspath(path)
        if not text or "\0" in text:
            raise TopListError(f"{shown(text)} is no path.")
        folder, name = os.path.split(os.path.abspath(text))
        return cls(text, frozenset((os.path.join(os.path.realpath(folder), name), _real(text))), _identity(text))

    def is_same(self, other: _Place) -> bool:
        alike = self.identity is not None and self.identity == other.identity
        return alike or not self.spots.isdisjoint(other.spots)


@dataclass(frozen=True, slots=True)
class _Input:
    """A file, a folder or a pattern that is read."""

    text: str

    def clash(self, output: _Place) -> str:
        """What is wrong with an output, as the end of a sentence; or nothing."""
        if not self.text or "\0" in self.text:
            return ""
        if os.path.isdir(self.text):
            home = _identity(self.text)
            if any(_identity(folder) == home for spot in output.spots for folder in _above(spot)):
                return f"lies in the folder {self.text!r}, which is read: name a file elsewhere"
            files: Iterable[str] = (entry.path for entry in _inside(self.text))
        elif any(mark in self.text for mark in _MAGIC) and not os.path.lexists(self.text):
            if any(_matches(spot, self.text) for spot in output.spots):
                return f"matches the pattern {self.text!r}, which is read: name a file elsewhere"
            files = glob.iglob(self.text, recursive=True)
        else:
            same = output.is_same(_Place.of(self.text))
            return f"is the input {self.text!r}: what is read is not replaced. Name another file" if same else ""
        if output.identity is not None and any(_identity(path) == output.identity for path in files):
            return f"is a file of {self.text!r}, which is read: what is read is not replaced. Name another file"
        return ""


def _real(path: str) -> str:
    return os.path.realpath(path)


def _identity(path: str) -> tuple[int, int] | None:
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _above(path: str) -> Iterator[str]:
    """The folders that a file is in, from the inside."""
    yield from map(str, Path(path).parents)


def _inside(folder: str) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return list(entries)
    except OSError:
        return []


def _matches(path: str, pattern: str) -> bool:
    """Whether a path, which need not exist, would be found by a pattern."""
    *folders, name = Path(os.path.abspath(pattern)).parts
    plain = next((at for at, part in enumerate(folders) if any(mark in part for mark in _MAGIC)), len(folders))
    start = Path(os.path.realpath(os.path.join(*folders[:plain])))
    if Path(path).is_relative_to(start) and _fits(Path(path).relative_to(start).parts, (*folders[plain:], name)):
        return True
    if not _fits((os.path.basename(path),), (name,)):
        return False
    home = _identity(os.path.dirname(path))  # folders of the pattern may be links
    return home is not None and any(_identity(one) == home for one in glob.iglob(os.path.join(*folders)))


def _fits(parts: tuple[str, ...], pattern: tuple[str, ...]) -> bool:
    """Whether the parts of a path are those of a pattern, as `glob` has it: ** is any number of folders."""
    if not pattern:
        return not parts
    if pattern[0] == "**":
        return _fits(parts, pattern[1:]) or bool(parts and parts[0][0] != "." and _fits(parts[1:], pattern))
    if not parts or (parts[0][0] == "." and pattern[0][0] != "."):
        return False
    return fnmatchcase(parts[0], pattern[0]) and _fits(parts[1:], pattern[1:])


# Whole or not at all


def require_place(path: PathLike) -> Path:
    """An output has a folder, and is no folder itself."""
    place = _Place.of(path)
    target = Path(place.text)
    real = Path(_real(place.text))
    if not real.parent.is_dir() or not target.parent.is_dir():
        folder = target.parent if not target.parent.is_dir() else real.parent
        raise TopListError(f"there is no folder {str(folder)!r} for the output: make it first.")
    if real.is_symlink():
        raise TopListError(f"{place.text!r} is a link that leads to itself: name another file for the output.")
    if target.is_dir():
        raise TopListError(f"{place.text!r} is a folder: name a file in it for the output.")
    if target.exists() and not target.is_file():
        raise TopListError(f"{place.text!r} is no regular file: name another one for the output.")
    return target


class Output:
    """A file that takes its place when all of it is written; until then, and if anything fails, the old one stays.

    A link stays a link: the file that it leads to is replaced. The mode of an old file is kept.
    """

    def __init__(self, path: PathLike) -> None:
        self.path = require_place(path)
        self._target = _real(os.fspath(path))
        self._file: BinaryIO | None = None
        self._part: str | None = None

    @property
    def file(self) -> BinaryIO:
        """Where to write: a new file, opened at the first use."""
        if self._file is None:
            with written(self.path):
                old = stat.S_IMODE(os.stat(self._target).st_mode) if os.path.exists(self._target) else None
                self._file = self._opened(0o666 if old is None else old)
                if old is not None and hasattr(os, "fchmod"):
                    os.fchmod(self._file.fileno(), old)  # whatever the umask says
        return self._file

    def keep(self) -> None:
        """All is written: let it take its place."""
        if self._file is None:
            return
        try:
            with written(self.path):
                self._file.flush()
                os.fsync(self._file.fileno())
                if self._part is None:
                    self._name()
                self._file.close()
                os.replace(str(self._part), self._target)
                self._part = None
        finally:
            self.drop()

    def drop(self) -> None:
        """Nothing of it stays."""
        if self._file is not None:
            with suppress(OSError):  # what is buffered still, on a full disk
                self._file.close()
        if self._part is not None:
            with suppress(OSError):
                os.unlink(self._part)
        self._file = self._part = None

    def _opened(self, mode: int) -> BinaryIO:
        """A file without a name where the system has such files: they are gone with their process."""
        if _UNNAMED is not None and os.path.isdir(_OPEN):
            with suppress(OSError):  # a file system that has none; anything else is said of the named one
                fd = os.open(os.path.dirname(self._target), _UNNAMED | os.O_RDWR, mode)
                return os.fdopen(fd, "w+b", _BUFFER)
        return self._named(mode)

    def _named(self, mode: int) -> BinaryIO:
        """A file with a name that nobody can foresee, and that was not there before."""
        part = self._beside()
        made = os.fdopen(os.open(part, _NEW, mode), "w+b", _BUFFER)
        self._part = part
        return made

    def _beside(self) -> str:
        folder, name = os.path.split(self._target)
        return os.path.join(folder, f".{name[:60]}.{secrets.token_hex(4)}.part")

    def _name(self) -> None:
        """Give a file without a name the name of a part."""
        if self._file is None:
            return
        part, home = self._beside(), os.open(os.path.dirname(self._target), os.O_RDONLY)
        try:  # with a folder given, links are followed: this is one to the open file
            os.link(f"{_OPEN}/{self._file.fileno()}", part, src_dir_fd=home, follow_symlinks=True)
            self._part = part
        except OSError:  # a file system that cannot name them: copy
            self._copy()
        finally:
            os.close(home)

    def _copy(self) -> None:
        if self._file is None:
            return
        unnamed, mode = self._file, stat.S_IMODE(os.fstat(self._file.fileno()).st_mode)
        self._file = self._named(mode)
        with unnamed:
            os.fchmod(self._file.fileno(), mode)
            unnamed.seek(0)
            shutil.copyfileobj(unnamed, self._file)
        self._file.flush()
        os.fsync(self._file.fileno())

    def __enter__(self) -> Output:
        return self

    def __exit__(self, kind: Any, *_: object) -> None:
        if kind is None:
            self.keep()
        else:
            self.drop()


def write_bytes(path: PathLike, content: bytes) -> None:
    """One file, all of it or nothing."""
    with Output(path) as output, written(output.path):
        output.file.write(content)


@contextmanager
def written(path: PathLike) -> Iterator[None]:
    """What goes wrong while a file is written, in one sentence that names it."""
    try:
        yield
    except OSError as error:
        why = os.strerror(error.errno) if error.errno else str(error)
        raise FileError(os.fspath(path), f"this cannot be written: {why.rstrip('.')}.") from None
