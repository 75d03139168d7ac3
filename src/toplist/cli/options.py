"""The files that a command reads, and what was typed about how to read them."""

from __future__ import annotations

import inspect
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from pathlib import Path
from typing import Any

import typer

import toplist as tl
from toplist._text import did_you_mean
from toplist.cli.command import PANELS, option, option_parameter, parameter
from toplist.cli.errors import UsageError, flag_of, of_flags
from toplist.cli.labels import space_of
from toplist.io.options import TRUTH, ReadOptions, Truth

RULES = "toplist.scoring.rules:RULES"  # where the names of rules are
_FILE = "Predictions: a path, a folder or a pattern."
_FILES = "Predictions: paths, folders, patterns; or name=path."
_OUTCOMES = "Outcomes: a file with case ids and outcomes."
_CLASSES = "Number of classes: a number, 2^L, inf, {}."
_NAMELESS = ("cluster", "time")  # no name means no column: that of this name is not looked for
_CHOSEN = ("layout", "scale", "duplicates", "blanks")  # fields that take one of a few words, not a column
_OF_TRUTH = ("layout", "case", "class_column", "confidence", "ignore")  # what may be said of the truth too


@dataclass(frozen=True, kw_only=True)
class Printing:
    """What is printed."""

    json: bool = option(False, "Print JSON for machines.")
    quiet: bool = option(False, "No progress bar while files are read; results and errors are shown.", "-q")


@dataclass(frozen=True, slots=True)
class Reads:
    """The options of a command about the files that it reads.

    `truth` is True where it is required and False where it may be given; `columns` are those of the truth that count.
    """

    several: bool = False
    truth: bool | None = None
    columns: tuple[str, ...] = ("outcome",)
    why: str = _OUTCOMES

    def parameters(self) -> Iterator[inspect.Parameter]:
        """The files, the truth and its columns, the classes, and how files are read."""
        if self.several:
            yield parameter("files", list[str], ..., typer.Argument(metavar="FILES...", help=_FILES))
        else:
            yield parameter("file", str, ..., typer.Argument(metavar="FILE", help=_FILE))
        labels = "a file of labels, or a column of the truth" if "n_classes" in self.columns else "or a file of labels"
        yield parameter("classes", str | None, None, typer.Option("--classes", "-c", help=_CLASSES.format(labels)))
        if self.truth is not None:
            about = typer.Option("--truth", "-t", help=self.why, rich_help_panel=PANELS["Truth"])
            yield parameter("truth", str, ..., about) if self.truth else parameter("truth", str | None, None, about)
            for one in fields(Truth):
                if one.name in self.columns and one.name != "n_classes":
                    yield option_parameter(one, str | None, None, PANELS["Truth"])
        for one in fields(ReadOptions):
            kind = (
                bool
                if isinstance(one.default, bool)
                else str | None
                if one.name == "set_separator"
                else list[str] | None
            )
            yield option_parameter(one, kind, False if kind is bool else None, PANELS["ReadOptions"])
        if self.several:
            about = typer.Option(
                "--normalize-only", help="The same for one model, by its name.", rich_help_panel=PANELS["ReadOptions"]
            )
            yield parameter("normalize_only", list[str] | None, None, about)

    def build(self, given: Mapping[str, Any]) -> Inputs:
        """The files as they were named."""
        words = {one.name: given[one.name] for one in fields(ReadOptions)}
        columns = {name: given[name] for name in self.columns if given.get(name) is not None}
        for name, value in {**columns, **words}.items():
            require_named(name, value)
        if words["by_position"] and words["case"]:
            raise UsageError("--by-position and --case contradict each other: give one of them.")
        files = named_files(given["files"] if self.several else [given["file"]])
        truth = given.get("truth")
        if columns and truth is None:
            flags = " and ".join(map(flag_of, columns))
            raise UsageError(f"{flags}: a column of the truth, which is not given. Give --truth too.")
        found = Inputs(files, truth, given["classes"], columns, words, tuple(given.get("normalize_only") or ()))
        if found.n_classes is not None and "n_classes" not in self.columns:
            raise UsageError("--classes is a number, 2^L, inf or a file of labels here, the same for all cases.")
        return found


def require_named(name: str, value: Any) -> None:
    """An option that names columns names some; for --cluster and --time alone, no name means no column."""
    given = value if isinstance(value, list | tuple) else [value]
    if name not in (*_NAMELESS, "set_separator") and any(isinstance(one, str) and not one.strip() for one in given):
        raise UsageError(f"{flag_of(name)} names a column: what is given is empty.")


@dataclass(frozen=True)
class Inputs:
    """Files by name, the truth with its columns, the classes, and what was typed for each field of `ReadOptions`."""

    files: Mapping[str, str]
    truth_file: str | None
    classes: str | None
    columns: Mapping[str, str]
    words: Mapping[str, Any]
    normalize_only: tuple[str, ...]

    @property
    def name(self) -> str:
        """The name of the only file."""
        (name,) = self.files
        return name

    @property
    def paths(self) -> list[str]:
        """Everything that is read."""
        word = (self.classes or "").strip()
        every = (*self.files.values(), self.truth_file, word if os.path.isfile(word) else None)
        return [path for path in every if path is not None]

    @cached_property
    def _classes(self) -> tuple[Any, str | None]:
        return space_of(self.classes, self.truth_file)

    @property
    def space(self) -> Any:
        """The classes, as far as --classes says."""
        return self._classes[0]

    @property
    def n_classes(self) -> str | None:
        """The column of the truth with the number of classes."""
        return self._classes[1]

    @cached_property
    def read(self) -> ReadOptions:
        """How all files are read."""
        with of_flags(self.words):
            return ReadOptions(**self._typed[""])

    @cached_property
    def models(self) -> dict[str, Any]:
        """The predictions of each model, with what was typed for it alone."""
        with of_flags(self.words):
            return {name: tl.Source(path, **self._typed[name]) for name, path in self.files.items()}

    @property
    def truth(self) -> Truth | None:
        """The truth, with its columns and what was typed for it alone."""
        return self.truth_with()

    def truth_with(self, **columns: str | None) -> Truth | None:
        """The same with these columns in place of those that were typed."""
        if self.truth_file is None:
            return None
        named = {**self.columns, "n_classes": self.n_classes, **columns}
        with of_flags((*self.words, *named)):
            return Truth(self.truth_file, **named, **self._typed[TRUTH])

    @cached_property
    def _typed(self) -> dict[str, dict[str, Any]]:
        """Fields of `ReadOptions` by the name of the file that they were typed for; those for all have no name."""
        found: dict[str, dict[str, Any]] = {name: {} for name in ("", *self.files, TRUTH)}
        for field, given in self.words.items():
            if not isinstance(given, list):
                found[""] |= {} if given is None else {field: given}
                continue
            for word in given:
                name, value = self._for_one(field, word)
                if not value:
                    raise UsageError(f"{flag_of(field)} {word!r}: name a column.")
                if field == "ignore":
                    found[name][field] = (*found[name].get(field, ()), value)
                elif field in found[name]:
                    raise UsageError(self._twice(field, name, found[name][field], value))
                else:
                    found[name][field] = value
        everywhere = found[""].get("ignore", ())
        for name in (*self.files, TRUTH):
            if "ignore" in found[name]:
                found[name]["ignore"] = (*everywhere, *found[name]["ignore"])
        for name in self.normalize_only:
            if name not in self.files:
                known = ", ".join(map(repr, self.files))
                raise UsageError(f"--normalize-only {name}: say one of {known}.{did_you_mean(name, self.files)}")
            found[name]["normalize"] = True
        return found

    def _for_one(self, field: str, word: str) -> tuple[str, str]:
        """`name=value`, where the name is that of a file or "truth"; else a value for all files, which have no name."""
        able = [*self.files, *([TRUTH] if self.truth_file is not None and field in _OF_TRUTH else [])]
        name, mark, value = word.rpartition("=") if field in _CHOSEN else word.partition("=")
        if mark and name in able:
            return name, value
        if mark and field in _CHOSEN:
            known = ", ".join(map(repr, self.files))
            raise UsageError(f"{flag_of(field)} {word}: {name!r} is not among {known}.{did_you_mean(name, self.files)}")
        return "", word

    def _twice(self, field: str, name: str, first: str, second: str) -> str:
        told = f"{flag_of(field)} is given twice{f' for {name!r}' if name else ''}: {first!r} and {second!r}."
        return told if name else f"{told} For one file, say {next(iter(self.files))}={first}."


def named_files(words: Sequence[str]) -> dict[str, str]:
    """Models by name: `name=path`, or a path, which is named after its file."""
    from toplist.io.files import stem_of

    pairs = []
    for word in words:
        name, mark, path = word.partition("=")
        given = mark and name and path and not os.path.exists(word)
        pairs.append((name, path) if given else (stem_of(word), word))
    names = [name for name, _ in pairs]
    if len(set(names)) < len(names):
        pairs = [(_with_folder(name, path) if names.count(name) > 1 else name, path) for name, path in pairs]
        names = [name for name, _ in pairs]
    twice = next((name for i, name in enumerate(names) if name in names[:i]), None)
    if twice is not None:
        raise UsageError(f"two files are called {twice!r}: give them names, as in old={dict(pairs)[twice]}.")
    return dict(pairs)


def _with_folder(name: str, path: str) -> str:
    folder = Path(path).parent.name
    return f"{folder}/{name}" if folder else name
