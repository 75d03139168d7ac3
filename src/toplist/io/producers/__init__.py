"""Programs that write predictions, one module each: their files become tables with one list per row.

A new producer is a module with a `Producer` called `PRODUCER`, and an entry in `PRODUCERS` here. Modules are imported
when a file has what their entry says, or when they are asked for by name.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fnmatch import fnmatch
from importlib import import_module
from pathlib import Path
from typing import Any

from toplist._text import argument, listed
from toplist.errors import FileError
from toplist.io.paths import is_table
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
    "every-eval-ever": Entry(
        "every_eval_ever",
        "Every Eval Ever records",
        ("*.jsonl", "*.jsonl.gz", "*.jsonl.zst"),
        keys=("schema_version", "evaluation_id", "sample_id", "input.raw"),
    ),
    "helm": Entry("helm", "HELM scenario state", ("scenario_state.json",)),
    "inspect-ai": Entry("inspect_ai", "inspect_ai log", ("*.eval", "*.json")),
    "lm-eval": Entry(
        "lm_eval",
        "lm-evaluation-harness samples",
        ("*.jsonl", "*.jsonl.gz", "*.jsonl.zst"),
        keys=("doc_id", "arguments", "filtered_resps"),
    ),
    "lighteval": Entry("lighteval", "lighteval details", ("details_*.parquet",)),
    "mmlu": Entry("mmlu", "MMLU-style results", ("*.csv", "*.csv.gz"), columns=("*_choiceA_prob*", "*_choiceB_prob*")),
    "simple-evals": Entry("simple_evals", "simple-evals results", ("*.json",)),
}


def load(name: str) -> Producer:
    """The producer of this name."""
    producer: Producer = import_module(f"toplist.io.producers.{PRODUCERS[name].module}").PRODUCER
    return producer


def recognised(path: str) -> tuple[str, Match] | None:
    """The producer whose files these certainly are, with the reason; an error where there are two; or None.

    A module is imported only where a file has all that its entry says. In a folder, or among the files that match a
    pattern, every file is looked at: tables that are not of the producer are noted.
    """
    look = FirstLook(path)
    found = {}
    for name, entry in PRODUCERS.items():
        match = None if entry.asked else _fits(look, entry)
        match = None if match is None else load(name).match(look, match)
        if match is not None:
            found[name] = match
    if len(found) > 1:
        ways = " or ".join(argument("producer", name) for name in found)
        saw = "; ".join(f"{PRODUCERS[name].title}: {match.reason}" for name, match in found.items())
        raise FileError(path, f"this may come from {listed(list(found), show=str)} ({saw}). Say which: {ways}.")
    if not found:
        return None
    (one,) = found.items()
    if look.too_many:
        raise FileError(
            path,
            f"these are more than {look.most:,} files, some of them of {PRODUCERS[one[0]].title}: name those to read, "
            "as a folder or by a pattern.",
        )
    return one[0], _with_notes(look, one[1])


def files_of(name: str, look: FirstLook) -> tuple[Path, ...]:
    """The files that a producer reads which is asked for: those with its names or, where there are none, all."""
    return tuple(p for p in look.files if _is_named(p, PRODUCERS[name])) or look.files


def _fits(look: FirstLook, entry: Entry) -> Match | None:
    """The files that have all that an entry says."""
    if not (entry.keys or entry.columns) and "*" in entry.names:
        return None
    reasons = {p: reason for p in look.files if _is_named(p, entry) for reason in [_reason(look, p, entry)] if reason}
    return Match(tuple(reasons), next(iter(reasons.values()))) if reasons else None


def _is_named(path: Path, entry: Entry) -> bool:
    return any(fnmatch(path.name.lower(), pattern) for pattern in entry.names)


def _reason(look: FirstLook, path: Path, entry: Entry) -> str:
    """What tells that a file has all that an entry says; nothing where it has not."""
    if entry.keys:
        record: Any = look.first(path)
        seen = record is not None and all(at_path(record, key) is not None for key in entry.keys)
        return f"its records have {listed(list(entry.keys))}" if seen else ""
    if not entry.columns:
        return f"it is called {path.name}"
    names = look.columns(path)
    seen = all(any(fnmatch(name, pattern) for name in names) for pattern in entry.columns)
    return f"it has the columns {listed(list(entry.columns))}" if seen else ""


def _with_notes(look: FirstLook, match: Match) -> Match:
    """The match, with a note of the tables beside it that are not read."""
    own = set(match.paths)
    beside = [path.name for path in look.files if path not in own and is_table(path)]
    if not beside:
        return match
    note = f"not read: {len(beside):,} other file{'s' if len(beside) > 1 else ''} ({listed(beside, 3, str)})"
    return replace(match, notes=(*match.notes, note))


__all__ = [
    "PRODUCERS",
    "Entry",
    "FirstLook",
    "Match",
    "ProducedReader",
    "Producer",
    "Request",
    "files_of",
    "load",
    "recognised",
]
