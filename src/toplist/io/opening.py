"""From what is named to tables: files, folders and patterns, what models are called, and producers or plain readers."""

from __future__ import annotations

import glob
import os
import re
from collections import Counter
from collections.abc import Sequence
from fnmatch import filter as filter_names
from fnmatch import fnmatch
from itertools import zip_longest
from pathlib import Path, PurePath
from typing import Any

from toplist._files import as_path, as_remote, shown, url_of
from toplist._text import argument, closest_file, did_you_mean, listed, quote
from toplist.errors import FileError, TopListError
from toplist.io import producers
from toplist.io.options import ReadOptions
from toplist.io.producers import Entry
from toplist.io.producers.base import OUTCOME, Match, Request, at_path
from toplist.io.readers import FORMATS, Format, MemoryReader, Reader, open_frame
from toplist.io.readers.base import COMPRESSIONS
from toplist.io.readers.first_look import FirstLook
from toplist.io.sources import Produced, Table

_PLAIN = ("layout", "class_column", "confidence", "records")  # options that say how a plain table is read
_OF_TABLES = ("case", "ignore", "by_position", "set_separator", "normalize", "duplicates", "blanks", "where")
_BEGINNING = 1 << 16  # bytes in which the beginning of a file is looked for
_OTHERS = (".eval",)  # suffixes of files that producers alone read
_ABOUT = {
    "answers": "tokens of language models",
    "position": "tokens of language models",
    "norm": "log-likelihoods of evaluation harnesses",
}  # options that plain tables have no use for


def open_table(what: Any, name: str, options: ReadOptions, *, truth: bool = False) -> Table:
    """The table of a path, a pattern, a folder, a frame, or of objects that a producer is named for.

    A path is tried with the producers unless one is named, "none" is, or an option says how a plain table is read:
    `layout`, `class_column`, `confidence` or `records` (of the truth, `outcome` too). `case`, `where` and the options
    about values are about any table, that of a producer included. What is named wins over what is recognised, which
    is noted. Of a truth, only a producer that gives outcomes is of use.
    """
    is_path = isinstance(what, str | os.PathLike)
    if options.names_producer:
        return _by_name(what, name, options, is_path=is_path)
    if what is None:
        raise TopListError(f"{name}: nothing was given.")
    if not is_path:
        return Table(what if isinstance(what, MemoryReader) else open_frame(what, name), name, options)
    look, match = FirstLook(os.fspath(what)), None
    plain = [field for field in _PLAIN if field in options.given()]
    if options.producer != "none":
        try:
            match = recognised(look)
        except FileError:
            if not plain:  # elsewhere it does not matter which producer it is
                raise
    if match is None:
        return Table(open_path(look.path), name, options)
    asked, seen = match
    produced = Produced(asked, producers.PRODUCERS[asked].title, seen.reason)
    if plain:
        said = " and ".join(argument(field, getattr(options, field)) for field in plain)
        note = f"Read as a plain table, as {said} says, though it looks like {produced}."
        return Table(open_path(look.path), name, options, remarks=(note,))
    reader = producers.load(asked).open(Request(shown(look.path), options, seen.paths))
    if truth and OUTCOME not in reader.schema.names:
        return Table(open_path(look.path), name, options)
    return _of_producer(reader, name, options, produced, (*seen.notes, *_not_read(look, seen, reader)))


def _by_name(what: Any, name: str, options: ReadOptions, *, is_path: bool) -> Table:
    """The table of a producer that is asked for."""
    asked = options.producer
    if asked not in producers.PRODUCERS:
        known = [*producers.PRODUCERS, "auto", "none"]
        raise TopListError(
            f"there is no producer {asked!r}.{did_you_mean(asked, known)} Known are {listed(known, 50, str)}."
        )
    entry, producer = producers.PRODUCERS[asked], producers.load(asked)
    if is_path:
        require_path(what)
        files = FirstLook(os.fspath(what)).files  # those with its names or, where there are none, all
        request = Request(shown(what), options, tuple(path for path in files if _is_named(path, entry)) or files)
    elif producer.files_only:
        raise TopListError(f"{name}: {argument('producer', asked)} reads files: give a path.")
    else:
        request = Request(name, options, data=what)
    return _of_producer(producer.open(request), name, options, Produced(asked, entry.title))


def _of_producer(
    reader: Reader, name: str, options: ReadOptions, produced: Produced, notes: tuple[str, ...] = ()
) -> Table:
    notes = (*notes, *getattr(reader, "notes", ()))
    return Table(reader, name, options, produced=produced, remarks=notes, gaps=getattr(reader, "gaps", 0))


def require_effect(tables: Sequence[Table]) -> None:
    """Every option that is given has an effect, on one of the tables that it is given for at least."""
    for table in tables:
        for field, value in table.options.given().items():
            alike = [other for other in tables if other.options.given().get(field) == value]
            if any(_has_effect(field, other) for other in alike):
                continue
            if table.produced is None:
                why = f"it is about {_ABOUT[field]}, and {table.path} is read as a plain table."
            else:
                why = f"{table.path} is read as {table.produced}."
                if table.produced.reason and field not in _ABOUT:
                    why += f" To read it as a plain table, pass {argument('producer', 'none')}."
            raise TopListError(f"{table.name}: {argument(field, value)} has no effect: {why}")


def _has_effect(field: str, table: Table) -> bool:
    if table.produced is None:
        return field not in _ABOUT
    return field in (*_OF_TABLES, "producer", *producers.load(table.produced.name).options)


def recognised(look: FirstLook) -> tuple[str, Match] | None:
    """The producer whose files these certainly are, with the reason; an error where there are two; or None.

    A module is imported only where a file has all that its entry says. In a folder, or among the files that match a
    pattern, every file is looked at.
    """
    reasons: dict[str, dict[Path, str]] = {name: {} for name, e in producers.PRODUCERS.items() if not e.asked}
    for path in look.files:  # files outside, producers inside: what is seen of the last files is kept for all producers
        for name, reasons_of_files in reasons.items():
            if reason := _reason(look, producers.PRODUCERS[name], path):
                reasons_of_files[path] = reason
    candidates = {name: Match(tuple(why), next(iter(why.values()))) for name, why in reasons.items() if why}
    confirmed = {name: producers.load(name).match(look, match) for name, match in candidates.items()}
    matches = {name: match for name, match in confirmed.items() if match is not None}
    titles = {name: producers.PRODUCERS[name].title for name in matches}
    if len(matches) > 1:
        ways = " or ".join(argument("producer", name) for name in matches)
        saw = "; ".join(f"{titles[name]}: {match.reason}" for name, match in matches.items())
        problem = f"this may come from {listed(list(matches), show=str)} ({saw}). Say which: {ways}."
        raise FileError(shown(look.path), problem)
    if matches and look.too_many:
        raise FileError(
            shown(look.path),
            f"these are more than {look.most:,} files, some of them of {listed(list(titles.values()), show=str)}: name "
            "those to read, as a folder or by a pattern.",
        )
    return next(iter(matches.items()), None)


def _is_named(path: Path, entry: Entry) -> bool:
    return any(fnmatch(path.name.lower(), pattern) for pattern in entry.names)


def _reason(look: FirstLook, entry: Entry, path: Path) -> str:
    """What tells that a file has all that an entry says; nothing where it has not."""
    if not _is_named(path, entry) or not re.search(entry.head.encode(), look.sight(path)[:_BEGINNING]):
        return ""
    if entry.keys:
        record: Any = look.first(path)
        seen = record is not None and all(at_path(record, key) is not None for key in entry.keys)
        return f"its records have {listed(list(entry.keys))}" if seen else ""
    if not entry.columns:
        return f"it is called {path.name}"
    names = look.columns(path)
    seen = all(pattern in names or filter_names(names, pattern) for pattern in entry.columns)
    return f"it has the columns {listed(list(entry.columns))}" if seen else ""


def _not_read(look: FirstLook, match: Match, reader: Reader) -> list[str]:
    """That there are tables beside those that are read, which may be thought to be read too."""
    read, names = {*match.paths, *reader.paths}, []
    for path in look.files:
        chosen = None if path in read else format_of(path)
        if chosen is not None and chosen.certain and chosen.beside:  # one of JSON mostly describes those beside it
            names.append(path.name)
    return [f"Not read, since they are other tables: {listed(names, 3, str)}."] if names else []


def open_path(path: str | os.PathLike[str]) -> Reader:
    """A reader for a file, a folder of files, or a pattern such as `preds/*.parquet`."""
    require_path(path)
    text = shown(path)
    try:
        paths = _files(text, as_path(path))
    except OSError as error:
        raise FileError(quote(text), f"this cannot be opened: {error.strerror}.") from None
    formats: dict[str, Format] = {}
    for place in paths:
        known = format_of(place)
        if known is None:
            kind = place.suffix or "files without a suffix"
            raise FileError(str(place), f"toplist reads {_formats()}, not {kind}.")
        formats[known.name] = known
    if len(formats) > 1:
        raise FileError(text, f"files of different formats ({', '.join(sorted(formats))}) in one place.")
    (chosen,) = formats.values()
    for place in paths:
        name = str(place.absolute())  # names of files may be any bytes
        if not chosen.any_path and name.encode(errors="ignore").decode() != name:
            raise FileError(str(place), "the path of this file is not UTF-8 text: rename it.")
        if as_remote(place) is None and not os.access(place, os.R_OK):
            raise FileError(str(place), "this file may not be read.")
    return chosen.open(tuple(paths), text)


def _files(text: str, place: Path) -> list[Path]:
    """The files of one prediction, which follow each other; in a folder those that are tables."""
    if place.is_dir():
        inside = sorted(p for p in place.iterdir() if p.is_file() and p.name[0] not in "._")
        tables = [(path, known) for path in inside if (known := format_of(path)) is not None and known.certain]
        if not tables:
            raise FileError(text, f"there is no file in this folder that toplist reads ({_formats()}).")
        return [path for path, known in tables if known.beside] or [path for path, _ in tables]
    return matches(place)


def matches(place: Path) -> list[Path]:
    """A file, or the files that match a pattern."""
    if place.exists():
        if not place.is_file():
            raise FileError(shown(place), "this is not a file.")
        return [place]
    remote = as_remote(place)
    if remote is not None:
        return [as_path(match) for match in remote.matching() if match.is_file()]
    return sorted(path for path in map(Path, glob.glob(str(place), recursive=True)) if path.is_file())


def format_of(path: Path) -> Format | None:
    """The format by the file's name, compressed or not; of a .txt in a folder, it is not certain."""
    suffixes = [suffix.lower() for suffix in path.suffixes]
    packed = bool(suffixes) and suffixes[-1] in COMPRESSIONS
    *_, last = ("", *(suffixes[:-1] if packed else suffixes))
    return next((known for known in FORMATS if last in known.suffixes and (known.compressed or not packed)), None)


def _formats() -> str:
    return f"{', '.join(known.described or known.suffixes[0] for known in FORMATS)}; text also as .gz or .zst"


def stem_of(path: str | os.PathLike[str]) -> str:
    """What a file of predictions is called without the suffixes of its format.

    >>> stem_of("out/a.csv.gz"), stem_of("b.txt"), stem_of(".csv"), stem_of("c.eval")
    ('a', 'b.txt', '.csv', 'c')
    """
    name = as_path(path).name or shown(path)
    suffixes = [*(suffix for known in FORMATS if known.certain for suffix in known.suffixes), *_OTHERS]
    known, packed = ("|".join(map(re.escape, every)) for every in (suffixes, COMPRESSIONS))
    return re.sub(rf"({known})?({packed})?$", "", name, flags=re.IGNORECASE) or name


def require_path(path: str | os.PathLike[str]) -> None:
    """A file or a folder that is there, or a pattern that something matches."""
    text = os.fspath(path)
    place = Path(text)
    if not text or "\0" in text or len(text) > 4000:
        raise FileError(quote(text), "this is no path.")
    remote = as_remote(path)
    if remote is not None:
        remote.require()
        return
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


def _near(place: Path) -> str:
    try:
        names = [p.name for p in place.parent.iterdir()]
    except OSError:
        return ""
    near = closest_file(place.name, names)
    return f" Did you mean {str(place.parent / near)!r}?" if near is not None else ""


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
        name, _, path = ("", "", word) if url_of(word) else word.partition("=")
        if not (name and path) or os.path.exists(word):
            name, path = "", word
        folders = _folders(path)
        if name and len(folders) > 1:
            raise TopListError(
                f"{name}={shown(path)}: this pattern matches {len(folders):,} folders, and each of them is a model. "
                "Leave out the name, or name each folder."
            )
        given += [(name, folder) for folder in folders or [path]]
    names = _distinct([path for name, path in given if not name], {name for name, _ in given if name})
    models: dict[str, str] = {}
    for name, path in given:
        called = name or names[path]
        if called in models:
            raise TopListError(f"two files are called {called!r}: give them names, as in old={shown(path)}.")
        models[called] = path
    return models


def _folders(path: str) -> list[str]:
    """The folders that match a pattern which no file matches."""
    remote = as_remote(path)
    if remote is not None:
        places = [] if not remote.is_pattern or remote.exists() else remote.matching()
        return [] if any(place.is_file() for place in places) else [os.fspath(place) for place in places]
    if not glob.has_magic(path) or "\0" in path or os.path.exists(path):
        return []
    matches = sorted(glob.glob(path, recursive=True))
    return [] if any(map(os.path.isfile, matches)) else [match for match in matches if os.path.isdir(match)]


def _distinct(paths: Sequence[str], taken: set[str]) -> dict[str, str]:
    """A name for each path: its own, or the part by which paths with the same name differ, as few as needed."""
    stems = {path: stem_of(path) for path in paths}
    names = dict(stems)
    for stem, count in Counter(stems.values()).items():
        if count > 1:
            names |= _apart([path for path in stems if stems[path] == stem], stem)
    used = Counter([*names.values(), *taken])
    return {
        path: name if used[name] == 1 or name == stems[path] else f"{name}/{stems[path]}"
        for path, name in names.items()
    }


def _apart(paths: Sequence[str], name: str) -> dict[str, str]:
    """The part of each path, from its end on, in which all of them differ; else all parts that differ, as needed.

    A path that has no such part keeps its name.
    """
    parts = [PurePath(os.path.normpath(shown(path))).parts[-2::-1] for path in paths]
    differing = [row for row in zip_longest(*parts, fillvalue="") if len(set(row)) > 1]
    for rows in (*([row] for row in differing), *(differing[:count] for count in range(2, len(differing) + 1))):
        names = ["/".join(filter(None, reversed(column))) for column in zip(*rows, strict=True)]
        if len(set(names)) == len(paths):
            return {path: own or name for path, own in zip(paths, names, strict=True)}
    return {}
