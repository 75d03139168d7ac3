"""Temporary folders: gone with their process, or removed by the next one where it was killed."""

from __future__ import annotations

import errno
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

from toplist.errors import ResourceError

_PREFIX, _LOCK = "toplist-", ".toplist-lock"
_FULL = (errno.ENOSPC, getattr(errno, "EDQUOT", errno.ENOSPC), errno.EFBIG)
_fcntl: Any = import_module("fcntl") if os.name == "posix" else None


@contextmanager
def temporary_folder() -> Iterator[Path]:
    """A folder of this user and process, removed in the end.

    A lock is held on a file in it, which the system lets go when the process ends, however it ends: the next process
    removes the folders of its user whose lock is free.
    """
    try:
        home = tempfile.gettempdir()
    except FileNotFoundError as error:
        raise ResourceError(no_room(str(error.strerror))) from None
    _sweep(home)
    with room():
        place, lock = _made()
    try:
        yield place
    finally:
        shutil.rmtree(place, ignore_errors=True)
        if lock is not None:
            os.close(lock)


@contextmanager
def room() -> Iterator[None]:
    """A full disk in one sentence, with the remedy."""
    try:
        yield
    except OSError as error:
        if error.errno is None or error.errno not in _FULL:
            raise
        raise ResourceError(no_room(os.strerror(error.errno))) from None


def no_room(why: str) -> str:
    """What to say where temporary files do not fit."""
    place = tempfile.tempdir or os.environ.get("TMPDIR", "the temporary folder")
    return f"{place}: there is no room for temporary files ({why.rstrip('.')}). Let TMPDIR name a folder with more."


def sized(path: Path, size: int) -> None:
    """A new file with this many bytes on disk: to map one that has holes ends the process when the disk is full."""
    with room(), path.open("xb") as file:
        file.truncate(size)
        if hasattr(os, "posix_fallocate") and size:
            try:
                os.posix_fallocate(file.fileno(), 0, size)
            except OSError as error:
                if error.errno not in (errno.EOPNOTSUPP, errno.EINVAL):  # of C libraries that do not help themselves
                    raise


def _made() -> tuple[Path, int | None]:
    """A folder, and the lock on it; another one where a sweep was faster than the lock."""
    while True:
        place = Path(tempfile.mkdtemp(prefix=_PREFIX))
        if _fcntl is None:
            return place, None
        mark = place / _LOCK
        lock = None
        try:
            lock = os.open(mark, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
            _fcntl.flock(lock, _fcntl.LOCK_EX | _fcntl.LOCK_NB)
            if mark.exists():
                return place, lock
        except BlockingIOError:
            pass
        except OSError as error:
            if error.errno in _FULL:
                shutil.rmtree(place, ignore_errors=True)
                raise
            if lock is not None:  # a file system without locks: without the mark nobody sweeps it
                os.close(lock)
            mark.unlink(missing_ok=True)
            return place, None
        if lock is not None:
            os.close(lock)


@cache
def _sweep(home: str) -> None:
    """Remove what processes of this user left that were killed; once, when the first folder is made."""
    if _fcntl is None:
        return
    with suppress(OSError), os.scandir(home) as entries:
        for entry in entries:
            if entry.name.startswith(_PREFIX) and entry.is_dir(follow_symlinks=False):
                _remove_if_dead(entry)


def _remove_if_dead(entry: os.DirEntry[str]) -> None:
    try:
        if entry.stat(follow_symlinks=False).st_uid != os.getuid():
            return
        lock = os.open(os.path.join(entry.path, _LOCK), os.O_RDWR | os.O_NOFOLLOW)
    except OSError:
        return  # somebody else's, or about to be made, or gone
    try:
        _fcntl.flock(lock, _fcntl.LOCK_EX | _fcntl.LOCK_NB)
    except OSError:
        pass  # its process is alive
    else:
        shutil.rmtree(entry.path, ignore_errors=True)
    finally:
        os.close(lock)
