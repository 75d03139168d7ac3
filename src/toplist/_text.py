"""Values in messages: one line, and not longer than a person reads.

Names that are nearly the same: what was perhaps meant, and how two spellings differ.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import PurePath
from typing import Any

UTF8_REMEDY = "Save it as UTF-8, for example with: iconv -f latin1 -t utf8 FILE > NEW."
_LIMIT = 60


def shown(value: Any) -> str:
    """A value as Python writes it, shortened in the middle.

    >>> shown("a"), shown("b" * 100)
    ("'a'", "'bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb...bbbbbbbbbbbbbbbb'")
    """
    text = repr(value)
    return text if len(text) <= _LIMIT else f"{text[:40]}...{text[-17:]}"


def _in_python(name: str, value: Any, file: str) -> str:
    typed = f"{name}={'...' if value is ... else repr(value)}"
    return typed if not file else f"Truth(..., {typed})" if file == "truth" else f"Source(..., {typed}) for {file!r}"


_notation = [_in_python]


def argument(name: str, value: Any = ..., file: str = "") -> str:
    """An argument as the reader of a message types it: in Python or, while a command runs, as a flag.

    `file` is the name of the one file that it is about, or "truth".

    >>> argument("normalize", True), argument("case"), argument("case", "id", "a")
    ('normalize=True', 'case=...', "Source(..., case='id') for 'a'")
    """
    return _notation[-1](name, value, file)


@contextmanager
def notation(write: Callable[[str, Any, str], str]) -> Iterator[None]:
    """While this is open, `argument` writes arguments in this way, in all threads."""
    _notation.append(write)
    try:
        yield
    finally:
        _notation.pop()


def several(values: Sequence[Any], most: int = 8) -> str:
    """Some values, and how many more there are.

    >>> several(["a", "b", "c"], 2)
    "'a', 'b' and 1 more"
    """
    few = most if sum(len(shown(value)) for value in values[:most]) <= 5 * _LIMIT else 3
    more = f" and {len(values) - few:,} more" if len(values) > few else ""
    return ", ".join(map(shown, values[:few])) + more


def few(names: Sequence[str], most: int = 3) -> str:
    """Some names as they are, and how many more there are.

    >>> few(["a.csv", "b.csv", "c.csv"], 1)
    'a.csv and 2 more'
    """
    more = f" and {len(names) - most:,} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


_FILE = 0.7  # how alike the names of files are before one is suggested, without the suffix


def folded(name: str) -> str:
    """A name without what people write in different ways: case, blanks, underscores, hyphens.

    >>> folded(" Snowy_Owl"), folded("snowy-owl")
    ('snowyowl', 'snowyowl')
    """
    return re.sub(r"[\s_-]+", "", name.casefold())


def nearest(word: str, known: Iterable[str], cutoff: float = 0.6) -> str | None:
    """The known name that was perhaps meant: the same but for case and blanks, or else one that is spelled alike.

    >>> nearest("FOX", ["dog", "fox"]), nearest("dgo", ["dog", "fox"]), nearest("zebra", ["dog", "fox"])
    ('fox', 'dog', None)
    """
    names = list(known)
    if word in names:
        return word
    same = next((name for name in names if folded(name) == folded(word)), None)
    if same is not None:
        return same
    lower: dict[str, str] = {}
    for name in names:
        lower.setdefault(name.strip().casefold(), name)
    near = difflib.get_close_matches(word.strip().casefold(), lower, n=1, cutoff=cutoff)
    return lower[near[0]] if near else None


def meant(word: str, known: Iterable[str], show: Callable[[str], str] = repr) -> str:
    """The same as a sentence after a blank, or nothing.

    >>> meant("FOX", ["dog", "fox"]), meant("zebra", ["dog", "fox"])
    (" Did you mean 'fox'?", '')
    """
    near = nearest(word, known)
    return "" if near is None else f" Did you mean {show(near)}?"


def nearest_file(name: str, known: Iterable[str]) -> str | None:
    """The same for names of files: another suffix is another file, unless all else is the same.

    >>> nearest_file("nofile.csv", ["a_nll.csv"]), nearest_file("prds.csv", ["preds.csv", "preds.txt"])
    (None, 'preds.csv')
    >>> nearest_file("preds.cvs", ["preds.csv"])
    'preds.csv'
    """
    stem, suffix = _parts(name)
    others = [(one, *_parts(one)) for one in known]
    same = next((one for one, other, _ in others if folded(other) == folded(stem)), None)
    if same is not None:
        return same
    alike = {other: one for one, other, ending in reversed(others) if ending == suffix}
    near = nearest(stem, alike, _FILE)
    return None if near is None else alike[near]


def _parts(name: str) -> tuple[str, str]:
    suffix = "".join(PurePath(name).suffixes).lower()
    return (name[: -len(suffix)] if suffix else name), suffix


_WHOLE = re.compile(r"([+-]?)0*(\d+)(?:\.0*)?")


def _number(name: str) -> str:
    found = _WHOLE.fullmatch(name.strip())
    return name if found is None else f"{'-' if found[1] == '-' else ''}{found[2]}"


# In what names may differ: the simplest first, all together last.
_WAYS: dict[str, Callable[[str], str]] = {
    "blanks around them": str.strip,
    "case": str.casefold,
    "blanks": lambda name: re.sub(r"\s+", "", name),
    "underscores, hyphens or blanks": lambda name: re.sub(r"[\s_-]+", "", name),
    "leading zeros": lambda name: re.sub(r"(?<!\d)0+(?=\d)", "", name),
    "how a number is written": _number,
    "case and blanks": folded,
}
_IDS: dict[str, Callable[[str], str]] = {
    "the file extension": lambda name: re.sub(r"\.[A-Za-z0-9]{1,5}$", "", name),
    "the folder before them": lambda name: re.split(r"[/\\]", name)[-1],
    "folder and file extension": lambda name: re.sub(r"\.[A-Za-z0-9]{1,5}$", "", re.split(r"[/\\]", name)[-1]),
}


def variant(words: Iterable[str], known: Iterable[str], *, ids: bool = False) -> tuple[str, str, str] | None:
    """Of two sets of names that have none in common: one of each that are the same name, and in what they differ.

    With `ids` the names may be those of files.

    >>> variant(["Owl"], ["fox", "owl"])
    ('Owl', 'owl', 'case')
    >>> variant(["007"], ["7"]), variant(["img/7.png"], ["7"], ids=True), variant(["a"], ["b"])
    (('007', '7', 'leading zeros'), ('img/7.png', '7', 'folder and file extension'), None)
    """
    ours, theirs = list(dict.fromkeys(words)), list(dict.fromkeys(known))
    for what, way in {**_WAYS, **(_IDS if ids else {})}.items():
        index: dict[str, str] = {}
        for name in theirs:
            index.setdefault(way(name), name)
        for name in ours:
            other = index.get(way(name))
            if other is not None and other != name:
                return name, other, what
    return None


def doubles(names: Sequence[str]) -> list[tuple[str, str]]:
    """Pairs among names that are the same but for case, blanks, underscores and hyphens.

    >>> doubles(["Owl", "fox", "owl"])
    [('Owl', 'owl')]
    """
    first: dict[str, str] = {}
    found = []
    for name in names:
        other = first.setdefault(folded(name), name)
        if other != name:
            found.append((other, name))
    return found


def are_codes(names: Iterable[str]) -> bool:
    """Whether these are whole numbers from zero, as codes are written, and there are any.

    >>> are_codes(["0", "12"]), are_codes(["007"]), are_codes(["a"]), are_codes([])
    (True, False, False, False)
    """
    every = list(names)
    return bool(every) and all(re.fullmatch(r"0|[1-9]\d*", name) for name in every)
