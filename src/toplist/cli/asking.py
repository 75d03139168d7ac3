"""From the words of a command line to what they mean."""

from __future__ import annotations

import difflib
import json
import math
import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from toplist.cli.failures import UsageError
from toplist.errors import FileError
from toplist.io.layouts import KINDS
from toplist.io.options import TRUTH, ReadOptions
from toplist.io.readers import open_path
from toplist.io.showing import shown
from toplist.lists.door import Repairs
from toplist.rules import RULES
from toplist.space import ClassSpace

_PACKED = re.compile(
    r"(\.(csv|tsv|tab|jsonl|ndjson|parquet|pq|arrow|feather|ipc|npy|npz))?(\.(gz|zst))?$", re.IGNORECASE
)


def named_files(words: Sequence[str]) -> dict[str, str]:
    """Predictors by name: `name=path`, or a path, which is named after its file."""
    pairs = []
    for word in words:
        name, mark, path = word.partition("=")
        if mark and name and path and not os.path.exists(word):
            pairs.append((name, path))
        else:
            pairs.append((_stem(word), word))
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


def _stem(path: str) -> str:
    name = Path(path).name or path
    return _PACKED.sub("", name) or name


def space_of(text: str | None, truth: str | None) -> tuple[ClassSpace | None, str | None]:
    """What --classes says: a space, or the column of the truth that says how many there are per case."""
    if text is None:
        return None, None
    word = text.strip()
    if word.lower() in ("inf", "infinity", "infinite"):
        return ClassSpace(math.inf), None
    if re.fullmatch(r"\d[\d_,]*", word):
        if len(word) > 4000:
            raise UsageError(f"--classes: a number of {len(word):,} digits is too long: say 2^L or inf.")
        return ClassSpace(int(re.sub(r"[_,]", "", word))), None
    power = re.fullmatch(r"2(?:\^|\*\*)(\d{1,6})", word)
    if power:
        return ClassSpace(2 ** int(power.group(1))), None
    if Path(word).is_file():
        return ClassSpace(labels=read_labels(Path(word))), None
    columns = open_path(truth).schema.names if truth is not None else []
    if word in columns:
        return None, word
    near = difflib.get_close_matches(word, [*columns, *_files_beside(word)], n=1) if not Path(word).exists() else []
    hint = f" Did you mean {near[0]!r}?" if near else ""
    raise UsageError(f"--classes is a number, 2^L, inf, a file of labels or a column of the truth, not {text!r}.{hint}")


def read_labels(path: Path) -> list[str]:
    """One label per line, or a JSON list."""
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError:
        raise FileError(str(path), "this is not UTF-8 text.") from None
    except OSError as error:
        raise FileError(str(path), f"this cannot be read: {error.strerror}.") from None
    labels = [line.strip("\r") for line in text.split("\n")]
    if path.suffix.lower() == ".json":
        try:
            listed = json.loads(text)
        except (ValueError, RecursionError):
            listed = None
        if not isinstance(listed, list) or any(isinstance(label, list | dict) for label in listed):
            raise FileError(str(path), "labels are a JSON list, or text with one label per line.")
        labels = [str(label) for label in listed]
    labels = [label for label in labels if label.strip()]
    if not labels:
        raise FileError(str(path), "there are no labels in this file.")
    seen: set[str] = set()
    for row, label in enumerate(labels, 1):
        if label in seen:
            raise FileError(str(path), f"the label {shown(label)} is there twice.", row=row)
        seen.add(label)
    return labels


def _files_beside(word: str) -> list[str]:
    folder = Path(word).parent
    return [str(folder / p.name) if str(folder) != "." else p.name for p in folder.iterdir()] if folder.is_dir() else []


_CHOICES = {
    "layout": ("auto", *KINDS),
    "units": ("probability", "percent", "log"),
    "duplicates": ("error", "sum"),
    "blanks": ("error", "drop"),
}


def repairs_of(
    name: str,
    units: Sequence[str] | None,
    normalize: bool,
    duplicates: Sequence[str] | None,
    blanks: Sequence[str] | None = None,
) -> Repairs:
    """What is repaired in the file of a command that takes one."""
    return Repairs(
        units=per_predictor(units, [name], "units")[name],
        normalize=normalize,
        duplicates=per_predictor(duplicates, [name], "duplicates")[name],
        blanks=per_predictor(blanks, [name], "blanks")[name],
    )


def per_predictor(words: Sequence[str] | None, names: Sequence[str], what: str, able: Sequence[str] = ()) -> Any:
    """A choice for all predictors, or `name=value` for some; the first of what there is to choose is the default."""
    known = _CHOICES[what]
    chosen: dict[str, str] = {}
    for word in words or ():
        name, mark, value = word.rpartition("=")
        if value not in known:
            near = difflib.get_close_matches(value, known, n=1)
            hint = f" Did you mean {near[0]!r}?" if near else ""
            raise UsageError(f"--{what} is {', '.join(known)}, or name=one of them; not {word!r}.{hint}")
        if mark and name not in (able or names):
            raise UsageError(
                f"--{what} {word}: {name!r} is not among {', '.join(map(repr, names))}.{_near(name, names)}"
            )
        chosen.update({name: value} if mark else dict.fromkeys(names, value))
    return {name: chosen.get(name, known[0]) for name in dict.fromkeys([*names, *chosen])}


def options_of(
    names: Sequence[str],
    *,
    layout: Sequence[str] | None,
    case: Sequence[str] | None,
    class_: Sequence[str] | None,
    confidence: Sequence[str] | None,
    ignore: Sequence[str] | None,
    by_position: bool,
    sets: str | None,
    outcome: str | None = None,
) -> ReadOptions:
    """How files are read: each option for all of them, or for one as `name=value`."""
    if by_position and case:
        raise UsageError("--by-position and --case contradict each other: give one of them.")
    columns = {"--case": case, "--class": class_, "--confidence": confidence}
    found = {flag: _columns(words, names, flag) for flag, words in columns.items()}
    return ReadOptions(
        per_predictor(layout, names, "layout", [*names, TRUTH]),
        found["--case"],
        found["--class"],
        found["--confidence"],
        outcome,
        _ignored(ignore, names),
        by_position,
        sets,
    )


def _columns(words: Sequence[str] | None, names: Sequence[str], flag: str) -> Any:
    """A column for all files, or by the name of a file where any is given so."""
    every: list[str] = []
    own: dict[str, str] = {}
    for word in words or ():
        name, value = _for_one(word, names)
        if not value:
            raise UsageError(f"{flag} {word!r}: name a column.")
        if name is None:
            every.append(value)
        elif name in own:
            raise UsageError(f"{flag} is given twice for {name!r}: {own[name]!r} and {value!r}.")
        else:
            own[name] = value
    if len(every) > 1:
        raise UsageError(
            f"{flag} is given twice: {every[0]!r} and {every[1]!r}. For one file, say {names[0]}={every[0]}."
        )
    if not own:
        return every[0] if every else None
    return {**dict.fromkeys(names, every[0]), **own} if every else own


def _ignored(words: Sequence[str] | None, names: Sequence[str]) -> Any:
    """Columns to be ignored in all files, or in those that are named."""
    pairs = [_for_one(word, names) for word in words or ()]
    every = [value for name, value in pairs if name is None]
    if len(every) == len(pairs):
        return tuple(every)
    return {name: (*every, *(value for own, value in pairs if own == name)) for name in (*names, TRUTH)}


def _for_one(word: str, names: Sequence[str]) -> tuple[str | None, str]:
    """`name=value`, where the name is that of a file or "truth"; else a value for all files."""
    name, mark, value = word.partition("=")
    return (name, value) if mark and name in (*names, TRUTH) else (None, word)


def flagged(always: bool, words: Sequence[str] | None, names: Sequence[str], what: str) -> Mapping[str, bool]:
    """A switch for all predictors, or for the named ones."""
    for word in words or ():
        if word not in names:
            raise UsageError(f"--{what} {word}: say one of {', '.join(map(repr, names))}.{_near(word, names)}")
    return {name: always or name in (words or ()) for name in names}


def rules_of(words: Sequence[str] | None) -> list[str]:
    """The rules; Brier and log by default."""
    for word in words or ():
        if word not in RULES:
            raise UsageError(f"--rule is one of {', '.join(RULES)}, not {word!r}.{_near(word, list(RULES))}")
    return list(dict.fromkeys(words or ("brier", "log")))


def _near(word: str, known: Sequence[str]) -> str:
    near = difflib.get_close_matches(word, known, n=1)
    return f" Did you mean {near[0]!r}?" if near else ""
