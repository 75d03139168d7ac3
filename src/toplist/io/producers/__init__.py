"""Programs that write predictions, one module each: their files become tables with one list per row.

A new producer is a module with a `Producer` called `PRODUCER`, and an entry in `PRODUCERS` here. Modules are imported
when a file has what their entry says, or when they are asked for by name.
"""

from __future__ import annotations

from dataclasses import dataclass
from fnmatch import fnmatch
from importlib import import_module
from pathlib import Path
from typing import Any

from toplist._text import listed
from toplist.errors import FileError
from toplist.io.producers.base import FirstLook, Match, ProducedReader, Producer, Request, at_path


@dataclass(frozen=True, slots=True)
class Entry:
    """What is known of a producer before its module is imported: what its files look like, and nothing else does."""

    module: str
    title: str  # as documentation and messages call it
    names: tuple[str, ...] = ("*",)  # patterns of the names of its files
    keys: tuple[str, ...] = ()  # paths that its first record has, all of them
    columns: tuple[str, ...] = ()  # columns, or patterns of them, that its tables have, all of them
    asked: bool = False  # whether it is used only where it is asked for by name


PRODUCERS: dict[str, Entry] = {
    "football": Entry(
        "football", "football-data.co.uk matches", ("*.csv",), columns=("Home*", "Away*", "*H", "*D", "*A")
    ),
    "hubverse": Entry(
        "hubverse", "hubverse model output", ("*.csv", "*.parquet"), columns=("output_type", "output_type_id", "value")
    ),
}


def load(name: str) -> Producer:
    """The producer of this name."""
    producer: Producer = import_module(f"toplist.io.producers.{PRODUCERS[name].module}").PRODUCER
    return producer


def recognised(path: str) -> tuple[str, Match] | None:
    """The producer whose files these certainly are, with the reason; an error where there are two; or None."""
    look = FirstLook(path)
    found = {}
    for name, entry in PRODUCERS.items():
        match = None if entry.asked else _fits(look, entry)
        match = None if match is None else load(name).match(look, match)
        if match is not None:
            found[name] = match
    if len(found) > 1:
        ways = " or ".join(f"--from {name}" for name in found)
        saw = "; ".join(f"{PRODUCERS[name].title}: {match.reason}" for name, match in found.items())
        raise FileError(path, f"this may come from {listed(list(found))} ({saw}). Say which: {ways}.")
    return next(iter(found.items()), None)


def _fits(look: FirstLook, entry: Entry) -> Match | None:
    """The files that have all that an entry says."""
    paths = tuple(p for p in look.files if any(fnmatch(p.name.lower(), pattern) for pattern in entry.names))
    if not paths or not (entry.keys or entry.columns):
        return None
    return next((Match(paths, reason) for reason in [_reason(look, paths[0], entry)] if reason), None)


def _reason(look: FirstLook, path: Path, entry: Entry) -> str:
    if entry.keys:
        record: Any = next(iter(look.records(path)), None)
        seen = all(at_path(record, key) is not None for key in entry.keys)
        return f"its records have {listed(list(entry.keys))}" if seen else ""
    names = look.columns(path)
    seen = all(any(fnmatch(name, pattern) for name in names) for pattern in entry.columns)
    return f"it has the columns {listed(list(entry.columns))}" if seen else ""


__all__ = ["PRODUCERS", "Entry", "FirstLook", "Match", "ProducedReader", "Producer", "Request", "load", "recognised"]
