"""Paths and objects as tables: made by a producer where these are its files, plain otherwise."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from toplist._text import argument, did_you_mean, listed
from toplist.errors import FileError, TopListError
from toplist.io import producers
from toplist.io.options import ReadOptions
from toplist.io.paths import open_path, require_path
from toplist.io.producers.base import OUTCOME, FirstLook, Request
from toplist.io.readers import MemoryReader, Reader, open_frame

_PLAIN = ("layout", "class_column", "confidence", "records")  # options that say how a plain table is read
_OF_TABLES = ("case", "ignore", "by_position", "set_separator", "normalize", "duplicates", "blanks", "where")
_ABOUT = {
    "answers": "tokens of language models",
    "position": "tokens of language models",
    "norm": "log-likelihoods of evaluation harnesses",
    "overround": 'odds, as with scale="odds"',
}  # options that plain tables have no use for


@dataclass(frozen=True, slots=True)
class Produced:
    """The producer of a table, and what it was recognised by."""

    name: str
    reason: str = ""  # nothing where it was asked for

    @property
    def title(self) -> str:
        """As messages call it."""
        return producers.PRODUCERS[self.name].title

    def __str__(self) -> str:
        return f"{self.title} ({self.reason or argument('producer', self.name)})"


@dataclass(frozen=True, slots=True)
class Opened:
    """A table that was opened: its reader, the options that are left for it, and where it comes from."""

    reader: Reader
    options: ReadOptions
    produced: Produced | None = None
    notes: tuple[str, ...] = ()

    @property
    def used(self) -> frozenset[str]:
        """The options that have an effect."""
        if self.produced is not None:
            return frozenset((*_OF_TABLES, "producer", *producers.load(self.produced.name).options))
        plain = set(self.options.given()) - set(_ABOUT)
        return frozenset(plain | ({"overround"} if str(self.options.scale) == "odds" else set()))


def open_table(what: Any, name: str, options: ReadOptions, *, truth: bool = False) -> Opened:
    """The table of a path, a pattern, a folder, a frame, or of objects that a producer is named for.

    A path is tried with the producers unless one is named, "none" is, or an option says how a plain table is read:
    `layout`, `class_column`, `confidence` or `records` (of the truth, `outcome` too). `case`, `where` and the options
    about values are about any table, that of a producer included. What is named wins over what is recognised, which
    is noted. Of a truth, only a producer that gives outcomes is of use.
    """
    is_path = isinstance(what, str | os.PathLike)
    if options.names_producer:
        return _by_name(what if is_path else None, None if is_path else what, name, options)
    if not is_path:
        return Opened(_frame(what, name), options)
    path = os.fspath(what)
    plain = [field for field in _PLAIN if field in options.given()]
    found = None if options.producer == "none" else _recognised(path, strict=not plain)
    if found is None:
        return Opened(open_path(path), options)
    chosen, match = found
    if plain:
        said = " and ".join(argument(field, getattr(options, field)) for field in plain)
        note = f"Read as a plain table, as {said} says, though it looks like {chosen}."
        return Opened(open_path(path), options, notes=(note,))
    made = producers.load(chosen.name).open(Request(path, options, match.paths))
    if truth and OUTCOME not in made.schema.names:
        return Opened(open_path(path), options)
    return Opened(made, options, chosen, (*match.notes, *_not_read(match, made), *getattr(made, "notes", ())))


def require_effect(opened: Mapping[str, Opened]) -> None:
    """Every option that is given has an effect, on one of the tables that it is given for at least."""
    for name, one in opened.items():
        for field, value in one.options.given().items():
            alike = [other for other in opened.values() if other.options.given().get(field) == value]
            if not any(field in other.used for other in alike):
                raise TopListError(f"{name}: {argument(field, value)} has no effect: {_why(one, field)}")


def _why(one: Opened, field: str) -> str:
    if one.produced is None:
        return f"it is about {_ABOUT[field]}, and {one.reader.name} is read as a plain table."
    remedy = ""
    if one.produced.reason and field not in _ABOUT:
        remedy = f" To read it as a plain table, pass {argument('producer', 'none')}."
    return f"{one.reader.name} is read as {one.produced}.{remedy}"


def _recognised(path: str, *, strict: bool) -> tuple[Produced, producers.Match] | None:
    """The producer of these files; where it does not matter which, nothing is refused."""
    try:
        found = producers.recognised(path)
    except FileError:
        if strict:
            raise
        return None
    return None if found is None else (Produced(found[0], found[1].reason), found[1])


def _not_read(match: producers.Match, made: Reader) -> list[str]:
    """That there are tables beside those that are read, which may be thought to be read too."""
    names = [path.name for path in match.beside if path not in set(made.paths)]
    return [f"Not read, since they are other tables: {listed(names, 3, str)}."] if names else []


def _by_name(path: Any, data: Any, name: str, options: ReadOptions) -> Opened:
    asked = options.producer
    if asked not in producers.PRODUCERS:
        known = [*producers.PRODUCERS, "auto", "none"]
        raise TopListError(
            f"there is no producer {asked!r}.{did_you_mean(asked, known)} Known are {listed(known, 50, str)}."
        )
    if path is None:
        request = Request(name, options, data=data)
    else:
        require_path(path)
        request = Request(os.fspath(path), options, producers.files_of(asked, FirstLook(os.fspath(path))))
    made = producers.load(asked).open(request)
    return Opened(made, options, Produced(asked), tuple(getattr(made, "notes", ())))


def _frame(what: Any, name: str) -> Reader:
    if what is None:
        raise TopListError(f"{name}: nothing was given.")
    return what if isinstance(what, MemoryReader) else open_frame(what, name)
