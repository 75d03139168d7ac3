"""From the words of a command line to what they mean."""

from __future__ import annotations

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
from toplist.io.readers import open_path
from toplist.io.showing import shown
from toplist.lists.door import Repairs
from toplist.rules import RULES
from toplist.space import ClassSpace
from toplist.spelling import meant, nearest, nearest_file

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
        return ClassSpace(int(re.sub(r"[_,]", "", word))), None
    power = re.fullmatch(r"2(?:\^|\*\*)(\d{1,6})", word)
    if power:
        return ClassSpace(2 ** int(power.group(1))), None
    if Path(word).is_file():
        return ClassSpace(labels=read_labels(Path(word))), None
    columns = open_path(truth).schema.names if truth is not None else []
    if word in columns:
        return None, word
    hint = "" if Path(word).exists() else _near_count(word, columns)
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


def _near_count(word: str, columns: Sequence[str]) -> str:
    """A column or a file that was perhaps meant by a word that is no number of classes."""
    near = nearest(word, columns) or nearest_file(word, _files_beside(word))
    return "" if near is None else f" Did you mean {near!r}?"


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


def per_predictor(words: Sequence[str] | None, names: Sequence[str], what: str) -> Any:
    """A choice for all predictors, or `name=value` for some; the first of what there is to choose is the default."""
    known = _CHOICES[what]
    chosen: dict[str, str] = {}
    for word in words or ():
        name, mark, value = word.rpartition("=")
        if value not in known:
            raise UsageError(f"--{what} is {', '.join(known)}, or name=one of them; not {word!r}.{meant(value, known)}")
        if mark and name not in names:
            raise UsageError(
                f"--{what} {word}: {name!r} is not among {', '.join(map(repr, names))}.{meant(name, names)}"
            )
        chosen.update({name: value} if mark else dict.fromkeys(names, value))
    return {name: chosen.get(name, known[0]) for name in names}


def flagged(always: bool, words: Sequence[str] | None, names: Sequence[str], what: str) -> Mapping[str, bool]:
    """A switch for all predictors, or for the named ones."""
    for word in words or ():
        if word not in names:
            raise UsageError(f"--{what} {word}: say one of {', '.join(map(repr, names))}.{meant(word, names)}")
    return {name: always or name in (words or ()) for name in names}


def rules_of(words: Sequence[str] | None) -> list[str]:
    """The rules; Brier and log by default."""
    for word in words or ():
        if word not in RULES:
            raise UsageError(f"--rule is one of {', '.join(RULES)}, not {word!r}.{meant(word, RULES)}")
    return list(dict.fromkeys(words or ("brier", "log")))
