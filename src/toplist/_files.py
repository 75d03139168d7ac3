"""Files: here or elsewhere, outputs that replace no input, JSON, temporary folders; and packages for them only."""

from __future__ import annotations

import errno
import glob
import json
import math
import os
import re
import secrets
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from fnmatch import fnmatchcase
from functools import cache, partial
from importlib import import_module
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any, BinaryIO, cast

from toplist._text import quote
from toplist.errors import FileError, ResourceError, TopListError

if TYPE_CHECKING:
    from toplist._remote import RemotePath

_BUFFER = 1 << 20
_MAGIC = "*?["

PathLike = str | os.PathLike[str]


# Here or elsewhere


_URL = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):(//?)(?!/)")
_CREDENTIALS = re.compile(r"[^/:@]*:(?!\d+(/|$)).*@")  # a password may hold any mark


def url_of(path: PathLike) -> str | None:
    """The URL that a path is; None for one of this machine.

    A `pathlib.Path` that was made of a URL has lost one of its slashes.

    >>> url_of("s3://bucket/a.csv"), url_of(Path("s3://bucket/a.csv")), url_of("C:/a.csv"), url_of("a.csv")
    ('s3://bucket/a.csv', 's3://bucket/a.csv', None, None)
    """
    text = os.fspath(path)
    found = _URL.match(text)
    if found is None or (len(found[2]) == 1 and not isinstance(path, PurePath)):
        return None
    if "\0" in text or os.path.lexists(f"{found[1]}:"):  # a folder of this name is here
        return None
    return f"{found[1]}://{text[found.end() :]}"


def shown(path: PathLike) -> str:
    """A path as it is told: a URL without its credentials and its query, which may be secret.

    >>> shown("https://me:pass@example.org/a.csv?signature=x"), shown("s3://bucket/part-?.csv"), shown("a.csv")
    ('https://example.org/a.csv', 's3://bucket/part-?.csv', 'a.csv')
    """
    url = url_of(path)
    if url is None:
        return os.fspath(path)
    scheme, _, rest = url.partition("://")
    rest = _CREDENTIALS.sub("", rest, count=1)
    place, slash, key = rest.partition("/")
    if not scheme.lower().startswith(("abfs", "wasb")):  # where containers stand before the @
        place = place.rpartition("@")[2]
    query = r"[?#].*" if scheme.lower() in ("http", "https") else r"\?[^/]*=.*"
    return f"{scheme}://{re.sub(query, '', place + slash + key, flags=re.DOTALL)}"


def shown_words(words: Iterable[str]) -> list[str]:
    """Words of a command line, with the URLs among them as they are told.

    >>> shown_words(["a=https://example.org/a.csv?signature=x", "--truth", "y.csv"])
    ['a=https://example.org/a.csv', '--truth', 'y.csv']
    """
    split = (re.match(r"((?:[^=:/]*=)?)(.*)", word, re.DOTALL) for word in words)
    return [found[1] + shown(found[2]) for found in split if found is not None]


def as_remote(path: PathLike) -> RemotePath | None:
    """The path of a file that is elsewhere; None for one of this machine."""
    url = url_of(path)
    if url is None:
        return None
    from toplist._remote import RemotePath  # noqa: PLC0415  most files are here

    return path if isinstance(path, RemotePath) else RemotePath(url)


def as_path(path: PathLike) -> Path:
    """A path that can be opened, wherever its file is."""
    return cast("Path", as_remote(path) or Path(path))


def local(path: Path) -> Path:
    """A file on this machine: the file itself, or a copy."""
    remote = as_remote(path)
    return path.absolute() if remote is None else remote.local()


def identity(path: PathLike) -> Any:
    """What two names of one file share; None where there is no such file on this machine."""
    return url_of(path) or _identity(path)


def has_magic(text: str) -> bool:
    """Whether a text is a pattern of paths."""
    return any(mark in text for mark in _MAGIC)


# Apart from what is read


def require_apart(outputs: Iterable[PathLike], inputs: Iterable[Any]) -> None:
    """No output is an input, lies in an input folder, matches an input pattern, or is another output.

    Inputs are paths, folders and patterns; anything else, such as a table in memory, is passed over.
    """
    read = [shown(path) for path in inputs if isinstance(path, str | os.PathLike)]
    marks_before: dict[str, frozenset[Any]] = {}
    for output in outputs:
        text, marks = _named(output), _marks(output)
        clash = next(filter(None, (_clash(text, marks, path) for path in read if path and "\0" not in path)), "")
        if clash:
            raise TopListError(f"the output {text!r} {clash}.")
        same = next((other for other in marks_before if marks_before[other] & marks), None)
        if same is not None:
            raise TopListError(f"the outputs {same!r} and {text!r} are one file: name two.")
        marks_before[text] = marks


def inputs_of(sources: Iterable[Any]) -> list[str | Path]:
    """The paths of sources: as they were named, and every file; a table in memory has none."""
    readers = [source.reader for source in sources]
    return [path for reader in readers if reader.paths for path in (reader.name, *reader.paths)]


def _named(path: PathLike) -> str:
    """A path as it is told, if it is one."""
    text = shown(path)
    if not text or "\0" in text:
        raise TopListError(f"{quote(text)} is no path.")
    return text


def _marks(path: PathLike) -> frozenset[Any]:
    """What two names of one file share: where they stand, where links lead from there, or device and inode."""
    text = shown(path)
    if url_of(path) is not None:
        return frozenset([text])
    folder, name = os.path.split(os.path.abspath(text))
    standing = os.path.join(os.path.realpath(folder), name)
    return frozenset(filter(None, (standing, os.path.realpath(text), _identity(text))))


def _clash(output: str, marks: frozenset[Any], read: str) -> str:
    """What is wrong with an output beside a file, a folder or a pattern that is read, as the end of a sentence."""
    is_inside = fits = False
    files: Iterable[str] = (read,)
    places = [mark for mark in marks if isinstance(mark, str)]
    if url_of(read) is not None:  # of a URL, the text alone tells
        is_inside = output.startswith(f"{read.rstrip('/')}/")
        fits = has_magic(read) and path_fits(tuple(output.split("/")), tuple(read.split("/")))
    elif os.path.isdir(read):
        home, files = _identity(read), glob.iglob(f"{glob.escape(read)}/*", include_hidden=True)
        is_inside = any(_identity(folder) == home for place in places for folder in Path(place).parents)
    elif has_magic(read) and not os.path.lexists(read):
        fits, files = any(_matches(place, read) for place in places), glob.iglob(read, recursive=True)
    if is_inside:
        return f"lies in the folder {read!r}, which is read: name a file elsewhere"
    if fits:
        return f"matches the pattern {read!r}, which is read: name a file elsewhere"
    if files == (read,):
        same, which = bool(_marks(read) & marks), "is the input"
    else:  # only an output that exists can be one of many files, which are looked at by number, not by name
        exists = any(isinstance(mark, tuple) for mark in marks)
        same, which = exists and any(_identity(file) in marks for file in files), "is a file of"
    return f"{which} {read!r}: what is read is not replaced. Name another file" if same else ""


def _identity(path: PathLike) -> tuple[int, int] | None:
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _matches(path: str, pattern: str) -> bool:
    """Whether a path, which need not exist, would be found by a pattern."""
    *folders, name = Path(os.path.abspath(pattern)).parts
    plain = next((at for at, part in enumerate(folders) if any(mark in part for mark in _MAGIC)), len(folders))
    start = Path(os.path.realpath(os.path.join(*folders[:plain])))
    if Path(path).is_relative_to(start) and path_fits(Path(path).relative_to(start).parts, (*folders[plain:], name)):
        return True
    if not path_fits((os.path.basename(path),), (name,)):
        return False
    home = _identity(os.path.dirname(path))  # folders of the pattern may be links
    return home is not None and any(_identity(one) == home for one in glob.iglob(os.path.join(*folders)))


def path_fits(parts: tuple[str, ...], pattern: tuple[str, ...]) -> bool:
    """Whether the parts of a path are those of a pattern, as `glob` has it: ** is any number of folders."""
    if not pattern:
        return not parts
    if pattern[0] == "**":
        return path_fits(parts, pattern[1:]) or bool(parts and parts[0][:1] != "." and path_fits(parts[1:], pattern))
    if not parts or (parts[0][:1] == "." and pattern[0][:1] != "."):
        return False
    return fnmatchcase(parts[0], pattern[0]) and path_fits(parts[1:], pattern[1:])


# Whole or not at all


def require_place(path: PathLike) -> Path:
    """An output has a folder, and is no folder itself; elsewhere, something can be written to it."""
    remote = as_remote(path)
    if remote is not None:
        remote.require_place()
        return cast("Path", remote)
    text = _named(path)
    target, real = Path(text), Path(os.path.realpath(text))
    if not real.parent.is_dir() or not target.parent.is_dir():
        folder = target.parent if not target.parent.is_dir() else real.parent
        raise TopListError(f"there is no folder {str(folder)!r} for the output: make it first.")
    if real.is_symlink():
        raise TopListError(f"{text!r} is a link that leads to itself: name another file for the output.")
    if target.is_dir():
        raise TopListError(f"{text!r} is a folder: name a file in it for the output.")
    if target.exists() and not target.is_file():
        raise TopListError(f"{text!r} is no regular file: name another one for the output.")
    return target


class Output:
    """A file that takes its place when all of it is written; until then, and if anything fails, the old one stays.

    A link stays a link: the file that it leads to is replaced. The mode of an old file is kept. What goes elsewhere is
    written to a temporary file first, and put there in one go.
    """

    def __init__(self, path: PathLike) -> None:
        self.path = require_place(path)
        self._remote = as_remote(self.path)
        self._target = "" if self._remote is not None else os.path.realpath(os.fspath(path))
        self._file: BinaryIO | None = None
        self._part = ""
        self._folder = ExitStack()  # that of a file that goes elsewhere

    @property
    def file(self) -> BinaryIO:
        """Where to write: a new file, opened at the first use."""
        if self._file is None:
            folder, name = os.path.split(self._target)
            if self._remote is not None:
                folder, name = str(self._folder.enter_context(temporary_folder())), "output"
            part = os.path.join(folder, f".{name[:60]}.{secrets.token_hex(4)}.part")
            with disk_full_explained() if self._remote is not None else write_errors_explained(self.path):
                # not tempfile, whose files are for their owner alone, whatever the umask says
                self._file = open(part, "x+b", _BUFFER)  # noqa: SIM115  closed by keep or drop
                self._part = part
                if os.path.exists(self._target):
                    shutil.copymode(self._target, part)
        return self._file

    def keep(self) -> None:
        """All is written: let it take its place."""
        if self._file is None:
            return
        try:
            if self._remote is not None:
                with disk_full_explained():
                    self._file.close()
                self._remote.upload(Path(self._part))
                return
            with write_errors_explained(self.path):
                self._file.flush()
                os.fsync(self._file.fileno())
                self._file.close()
                os.replace(self._part, self._target)
        finally:
            self.drop()

    def drop(self) -> None:
        """Nothing of it stays."""
        if self._file is not None:
            with suppress(OSError):  # what is buffered still, on a full disk
                self._file.close()
            with suppress(OSError):  # it has taken its place
                os.unlink(self._part)
        self._file = None
        self._folder.close()

    def __enter__(self) -> Output:
        return self

    def __exit__(self, kind: Any, *_: object) -> None:
        if kind is None:
            self.keep()
        else:
            self.drop()


def write_bytes(path: PathLike, content: bytes) -> None:
    """One file, all of it or nothing."""
    with Output(path) as output, write_errors_explained(output.path):
        output.file.write(content)


@contextmanager
def write_errors_explained(path: PathLike) -> Iterator[None]:
    """Raises what goes wrong while a file is written as one sentence that names it."""
    try:
        yield
    except OSError as error:
        reason = os.strerror(error.errno) if error.errno else str(error)
        raise FileError(shown(path), f"this cannot be written: {reason.rstrip('.')}.") from None


# JSON


_INFINITE = {"infinite": math.inf, "-infinite": -math.inf}


def write_json(path: PathLike, record: Mapping[str, Any]) -> None:
    """One object of JSON as a file, all of it or nothing."""
    text = json.dumps(record, indent=1, allow_nan=False)  # ASCII: names of files need not be text
    write_bytes(path, f"{text}\n".encode("ascii"))


def read_json(path: PathLike, what: str) -> Any:
    """What a file of JSON says; `what` it should hold, for the error."""
    try:
        text = as_path(path).read_text(encoding="utf-8-sig")
        return json.loads(text, parse_constant=_refuse, object_pairs_hook=partial(_once, path))
    except TopListError:
        raise
    except FileNotFoundError:
        raise FileError(shown(path), "there is no such file.") from None
    except OSError as error:
        raise FileError(shown(path), f"this cannot be read: {error.strerror}.") from None
    except (ValueError, RecursionError):
        raise FileError(shown(path), f"this is not JSON, so not {what}.") from None


def to_json_number(x: float) -> float | str | None:
    """A number as JSON has it: what is infinite is the word, and what does not exist is null.

    >>> to_json_number(0.5), to_json_number(math.inf), to_json_number(-math.inf), to_json_number(math.nan)
    (0.5, 'infinite', '-infinite', None)
    """
    if math.isfinite(x):
        return x
    return None if math.isnan(x) else "infinite" if x > 0 else "-infinite"


def from_json_number(value: Any) -> Any:
    """What `to_json_number` was given, where it was infinite; anything else as it is.

    >>> from_json_number("infinite"), from_json_number(0.5)
    (inf, 0.5)
    """
    return _INFINITE.get(value, value) if isinstance(value, str) else value


def _refuse(constant: str) -> Any:
    raise ValueError(f"{constant} is not JSON")


def _once(path: PathLike, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """The fields of an object, each of them there once: of two, nobody knows which is meant."""
    record = dict(pairs)
    if len(record) < len(pairs):
        names = [name for name, _ in pairs]
        repeated = next(name for name in record if names.count(name) > 1)
        raise FileError(shown(path), f"the field {quote(repeated)} is there twice.")
    return record


# Temporary folders


_FULL = (errno.ENOSPC, getattr(errno, "EDQUOT", errno.ENOSPC), errno.EFBIG)


@contextmanager
def temporary_folder() -> Iterator[Path]:
    """A folder of this user, removed in the end."""
    try:
        # not tempfile.mkdtemp: a signal that comes before it returns would leave a folder whose name nobody has
        folder = Path(tempfile.gettempdir()) / f"toplist-{secrets.token_hex(8)}"
    except FileNotFoundError as error:
        raise ResourceError(disk_full(str(error.strerror))) from None
    try:
        with disk_full_explained():
            folder.mkdir(mode=0o700)
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def disk_full_explained() -> Iterator[None]:
    """Raises an error about a full disk as one sentence with the remedy."""
    try:
        yield
    except OSError as error:
        if error.errno is None or error.errno not in _FULL:
            raise
        raise ResourceError(disk_full(os.strerror(error.errno))) from None


def disk_full(reason: str) -> str:
    """The message where temporary files do not fit."""
    place = tempfile.tempdir or os.environ.get("TMPDIR", "the temporary folder")
    return f"{place}: there is no room for temporary files ({reason.rstrip('.')}). Let TMPDIR name a folder with more."


def allocate(path: Path, size: int) -> None:
    """Make a file with this many bytes on disk: to map one that has holes ends the process when the disk is full."""
    with disk_full_explained(), path.open("xb") as file:
        file.truncate(size)
        if hasattr(os, "posix_fallocate") and size:
            try:
                os.posix_fallocate(file.fileno(), 0, size)
            except OSError as error:
                if error.errno not in (errno.EOPNOTSUPP, errno.EINVAL):  # of C libraries that do not help themselves
                    raise


@cache
def need(module: str) -> Any:
    """A module of the `files` extra."""
    package = module.partition(".")[0]
    try:
        return load(module, f"files and frames need {package}: pip install 'toplist[files]'.")
    except TopListError as failure:
        error = failure.__cause__
        if isinstance(error, ModuleNotFoundError) or not isinstance(error, ImportError) or error.name is None:
            raise failure from None
        raise ResourceError(f"{package} is installed, but cannot be loaded: {str(error).rstrip('.')}.") from None


def load(module: str, remedy: str) -> Any:
    """A module, or an error that says what to install."""
    try:
        return import_module(module)
    except ImportError as error:
        raise TopListError(remedy) from error
