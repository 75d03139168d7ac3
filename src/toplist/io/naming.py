"""Models by path: what each of them is called, and which folders of a pattern are models of their own."""

from __future__ import annotations

import glob
import os
from collections import Counter
from collections.abc import Sequence
from itertools import zip_longest
from pathlib import PurePath

from toplist.errors import TopListError
from toplist.io.paths import stem_of


def models_by_path(*paths: str | os.PathLike[str]) -> dict[str, str]:
    """Models by name, for `compare`: files, folders and patterns.

    A file is called as it is without its suffix, a folder by its name. A pattern that folders match gives one model
    per folder. Paths that end alike are called by the part in which they differ.

    Parameters
    ----------
    *paths : path
        Each a file, a folder, a pattern of the files of one model, or a pattern of folders; "name=path" gives a name.

    Returns
    -------
    dict of str to str
        Paths by the name of the model.

    Raises
    ------
    TopListError
        If two paths would have the same name.

    Examples
    --------
    >>> models_by_path("old/samples.jsonl", "new/samples.jsonl", "third.csv")
    {'old': 'old/samples.jsonl', 'new': 'new/samples.jsonl', 'third': 'third.csv'}
    """
    given: list[tuple[str, str]] = []  # names, where there are any, and paths
    for word in (os.fspath(path) for path in paths):
        name, mark, path = word.partition("=")
        if mark and name and path and not os.path.exists(word):
            given.append((name, _one(name, path)))
        else:
            given += [("", folder) for folder in _folders(word)] or [("", word)]
    names = _distinct([path for name, path in given if not name], {name for name, _ in given if name})
    found: dict[str, str] = {}
    for name, path in given:
        called = name or names[path]
        if called in found:
            raise TopListError(f"two files are called {called!r}: give them names, as in old={path}.")
        found[called] = path
    return found


def _one(name: str, path: str) -> str:
    """The path of one model, which no pattern of several folders is."""
    folders = _folders(path)
    if len(folders) > 1:
        raise TopListError(
            f"{name}={path}: this pattern matches {len(folders):,} folders, and each of them is a model. Leave out the "
            "name, or name each folder."
        )
    return folders[0] if folders else path


def _folders(path: str) -> list[str]:
    """The folders that match a pattern which no file matches."""
    if not glob.has_magic(path) or "\0" in path or os.path.exists(path):
        return []
    matches = sorted(glob.glob(path, recursive=True))
    return [] if any(map(os.path.isfile, matches)) else [one for one in matches if os.path.isdir(one)]


def _distinct(paths: Sequence[str], taken: set[str]) -> dict[str, str]:
    """A name for each path: its own, or the part by which paths with the same name differ, as few as needed."""
    own = {path: stem_of(path) for path in paths}
    names = dict(own)
    for name, count in Counter(own.values()).items():
        if count > 1:
            names |= _apart([path for path in own if own[path] == name], name)
    used = Counter([*names.values(), *taken])
    return {
        path: name if used[name] == 1 or name == own[path] else f"{name}/{own[path]}" for path, name in names.items()
    }


def _apart(paths: Sequence[str], name: str) -> dict[str, str]:
    """The part of each path, from its end on, in which all of them differ; else all parts that differ, as needed.

    A path that has no such part keeps its name.
    """
    parts = [PurePath(os.path.normpath(path)).parts[-2::-1] for path in paths]
    rows = list(zip_longest(*parts, fillvalue=""))
    differing = [row for row in rows if len(set(row)) > 1]
    whole = next((row for row in differing if len(set(row)) == len(paths)), None)
    if whole is not None:
        return {path: part or name for path, part in zip(paths, whole, strict=True)}
    for count in range(2, len(differing) + 1):
        made = ["/".join(filter(None, reversed(column))) for column in zip(*differing[:count], strict=True)]
        if len(set(made)) == len(paths):
            return {path: one or name for path, one in zip(paths, made, strict=True)}
    return {}
