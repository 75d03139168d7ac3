"""What a URL names: a file, or the files of a folder or of a pattern."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase

from toplist._files import has_magic, path_fits
from toplist._remote import HTTP, RemotePath, missing


def require(path: RemotePath) -> None:
    """A file or a folder that is there, or a pattern that a file matches."""
    if path.exists():
        return
    if not is_pattern(path):
        raise missing(path)
    if not any(one.is_file() for one in matching(path)):
        raise missing(path, "no file matches this pattern.")


def is_pattern(path: RemotePath) -> bool:
    """Whether a URL may be a pattern; a ? in https:// begins a query."""
    return path.scheme not in HTTP and has_magic(path.url.partition("://")[2])


def matching(path: RemotePath) -> list[RemotePath]:
    """The files and folders that match a pattern, by their names."""
    scheme, _, rest = path.url.partition("://")
    first, *parts = rest.rstrip("/").split("/")
    if not is_pattern(path) or not parts or (path.bucket is not None and not path.bucket.exists()):
        return []
    return sorted(_expanded(RemotePath(f"{scheme}://{first}"), parts))


def _expanded(folder: RemotePath, parts: Sequence[str]) -> Iterator[RemotePath]:
    """What matches the parts of a pattern below a folder, level by level: only what can match is listed."""
    first, *rest = parts
    if first == "**":
        for one in folder.rglob():
            if path_fits(one.relative_to(folder).parts, tuple(parts)):
                yield one
    elif rest and not has_magic(first):
        yield from _expanded(folder / first, rest)
    else:
        for one in folder.iterdir():
            if fnmatchcase(one.name, first) and (one.name[0] != "." or first[0] == "."):
                if not rest:
                    yield one
                elif one.is_dir():
                    yield from _expanded(one, rest)


def below(folder: RemotePath) -> Iterator[RemotePath]:
    """The files in a folder and in the folders below, without those that are hidden."""
    for one in folder.rglob():
        if one.is_file() and not any(part[0] in "._" for part in one.relative_to(folder).parts):
            yield one
