"""Values and names in messages: quoted on one line, some of many, and what was perhaps meant by a name."""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Callable, Iterable, Sequence
from pathlib import PurePath
from typing import Any

UTF8_REMEDY = "Save it as UTF-8, for example with: iconv -f latin1 -t utf8 FILE > NEW."
_LIMIT = 60


def quote(value: Any) -> str:
    """A value as Python writes it, shortened in the middle.

    >>> quote("a"), quote("b" * 100)
    ("'a'", "'bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb...bbbbbbbbbbbbbbbb'")
    """
    text = repr(value)
    return text if len(text) <= _LIMIT else f"{text[:40]}...{text[-17:]}"


def _in_python(name: str, value: Any, file: str) -> str:
    typed = f"{name}={'...' if value is ... else repr(value)}"
    return typed if not file else f"Truth(..., {typed})" if file == "truth" else f"Source(..., {typed}) for {file!r}"


# The last one holds. No context variable: readers that DuckDB pulls from its own threads raise messages too.
NOTATION: list[Callable[[str, Any, str], str]] = [_in_python]


def argument(name: str, value: Any = ..., file: str = "") -> str:
    """An argument as the reader of a message types it: in Python or, while a command runs, as a flag.

    `file` is the name of the one file that it is about, or "truth".

    >>> argument("normalize", True), argument("case"), argument("case", "id", "a")
    ('normalize=True', 'case=...', "Source(..., case='id') for 'a'")
    """
    return NOTATION[-1](name, value, file)


def listed(values: Sequence[Any], most: int = 8, show: Callable[[Any], str] = quote) -> str:
    """Some values, and how many more there are.

    >>> listed(["a", "b", "c"], 2), listed(["a.csv", "b.csv", "c.csv"], 1, str)
    ("'a', 'b' and 1 more", 'a.csv and 2 more')
    """
    many = most if sum(len(show(value)) for value in values[:most]) <= 5 * _LIMIT else min(most, 3)
    more = f" and {len(values) - many:,} more" if len(values) > many else ""
    return ", ".join(map(show, values[:many])) + more


_FILE = 0.7  # how alike the names of files are before one is suggested, without the suffix


def _folded(name: str) -> str:
    """A name without what people write in different ways: case, blanks, underscores, hyphens.

    >>> _folded(" Snowy_Owl"), _folded("snowy-owl")
    ('snowyowl', 'snowyowl')
    """
    return re.sub(r"[\s_-]+", "", name.casefold())


def closest(word: str, known: Iterable[str], cutoff: float = 0.6) -> str | None:
    """The known name that was perhaps meant: the same but for case and blanks, or else one that is spelled alike.

    >>> closest("FOX", ["dog", "fox"]), closest("dgo", ["dog", "fox"]), closest("zebra", ["dog", "fox"])
    ('fox', 'dog', None)
    """
    names = list(known)
    if word in names:
        return word
    same = next((name for name in names if _folded(name) == _folded(word)), None)
    if same is not None:
        return same
    lower: dict[str, str] = {}
    for name in names:
        lower.setdefault(name.strip().casefold(), name)
    near = difflib.get_close_matches(word.strip().casefold(), lower, n=1, cutoff=cutoff)
    return lower[near[0]] if near else None


def did_you_mean(word: str, known: Iterable[str], show: Callable[[str], str] = repr) -> str:
    """A question about the known name that is most like a word, after a blank; or nothing.

    >>> did_you_mean("FOX", ["dog", "fox"]), did_you_mean("zebra", ["dog", "fox"])
    (" Did you mean 'fox'?", '')
    """
    near = closest(word, known)
    return "" if near is None else f" Did you mean {show(near)}?"


def closest_file(name: str, known: Iterable[str]) -> str | None:
    """The name of a file that was perhaps meant: another suffix is another file, unless all else is the same.

    >>> closest_file("nofile.csv", ["a_nll.csv"]), closest_file("prds.csv", ["preds.csv", "preds.txt"])
    (None, 'preds.csv')
    >>> closest_file("preds.cvs", ["preds.csv"])
    'preds.csv'
    """
    stem, suffix = _parts(name)
    others = [(one, *_parts(one)) for one in known]
    same = next((one for one, other, _ in others if _folded(other) == _folded(stem)), None)
    if same is not None:
        return same
    alike = {other: one for one, other, ending in reversed(others) if ending == suffix}
    near = closest(stem, alike, _FILE)
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
    "case and blanks": _folded,
}
_IDS: dict[str, Callable[[str], str]] = {
    "the file extension": lambda name: re.sub(r"\.[A-Za-z0-9]{1,5}$", "", name),
    "the folder before them": lambda name: re.split(r"[/\\]", name)[-1],
    "folder and file extension": lambda name: re.sub(r"\.[A-Za-z0-9]{1,5}$", "", re.split(r"[/\\]", name)[-1]),
}


def spelling_difference(
    words: Iterable[str], known: Iterable[str], *, ids: bool = False
) -> tuple[str, str, str] | None:
    """Of two sets of names that have none in common: one of each that are the same name, and in what they differ.

    With `ids` the names may be those of files.

    >>> spelling_difference(["Owl"], ["fox", "owl"])
    ('Owl', 'owl', 'case')
    >>> spelling_difference(["007"], ["7"]), spelling_difference(["a"], ["b"])
    (('007', '7', 'leading zeros'), None)
    >>> spelling_difference(["img/7.png"], ["7"], ids=True)
    ('img/7.png', '7', 'folder and file extension')
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


def near_duplicates(names: Sequence[str]) -> list[tuple[str, str]]:
    """Pairs among names that are the same but for case, blanks, underscores and hyphens.

    >>> near_duplicates(["Owl", "fox", "owl"])
    [('Owl', 'owl')]
    """
    first: dict[str, str] = {}
    found = []
    for name in names:
        other = first.setdefault(_folded(name), name)
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


def visible(text: str) -> str:
    r"""The text with everything that cannot be seen written as an escape.

    >>> print(visible("red\x1b[31m, reversed\u202e"))
    red\x1b[31m, reversed\u202e
    """
    return text if text.isprintable() else "".join(map(shown, text))


def shown(character: str) -> str:
    """A character, as an escape if it cannot be seen."""
    # not repr: it would double a backslash, which paths are full of
    return character if character.isprintable() else escaped(character)


def escaped(character: str) -> str:
    r"""A character in ASCII.

    >>> print(escaped("\u0301"))
    \u0301
    """
    return character.encode("unicode_escape").decode("ascii")


def first_of(items: Sequence[str], most: int = 5) -> str:
    """The first ones in a representation, and how many more there are.

    >>> first_of(["a", "b", "c"], 2), first_of(["a"])
    ('a, b, … 1 more', 'a')
    """
    more = f", … {len(items) - most:,} more" if len(items) > most else ""
    return ", ".join(items[:most]) + more


_WORD = re.compile(r"[^\W\d][\w.-]*")


def label(value: Any) -> str:
    """A class in a representation: a word as it is, anything else as Python writes it.

    >>> label("cat"), label("New York"), label(3), label("3")
    ('cat', "'New York'", '3', "'3'")
    """
    word = isinstance(value, str) and len(value) <= _LIMIT and value.isprintable() and _WORD.fullmatch(value)
    return value if word else quote(value)


NOTHING = "\u2013"
"""What stands for a number where there is none."""
_MINUS = "\u2212"


def significant(x: float | None, digits: int = 4, *, sign: bool = False) -> str:
    r"""A number with so many significant digits, a minus sign and an infinity; a dash where there is none.

    >>> significant(-0.123456), significant(0.5, sign=True), significant(math.inf), significant(None)
    ('\u22120.1235', '+0.5', '∞', '\u2013')
    """
    if x is None or math.isnan(x):
        return NOTHING
    shown = "∞" if math.isinf(x) else f"{abs(x):.{digits}g}"
    return (_MINUS if x < 0 else "+" if sign and x > 0 else "") + shown


_LARGE, _HUGE, _LITTLE = 1e6, 1e9, 1e-9  # from here on powers of ten: with decimals, for whole numbers, and near zero


def fixed(x: float | None, digits: int, *, signed: bool = False) -> str:
    """A number with so many decimals, with commas and a minus sign; a dash where there is none.

    With `signed`, what is above zero once it is rounded has a plus.

    >>> fixed(0.12345, 3), fixed(0.5, 2, signed=True), fixed(-1e-9, 3), fixed(-1234.5, 1), fixed(None, 3)
    ('0.123', '+0.50', '0.000', '\u22121,234.5', '\u2013')
    >>> fixed(math.inf, 3), fixed(-math.inf, 3), fixed(1234567, 0), fixed(1234567, 1)
    ('\u221e', '\u2212\u221e', '1,234,567', '1.23e+06')
    """
    if x is None or math.isnan(x):
        return NOTHING
    if math.isinf(x):
        return ("+" if signed and x > 0 else "" if x > 0 else _MINUS) + "\u221e"
    if abs(x) >= (_LARGE if digits else _HUGE):
        text = f"{x:.2e}"
    elif digits >= 9 and 0 < abs(x) < _LITTLE:  # near zero on an axis
        text = f"{x:.3g}"
    else:
        text = f"{round(x, digits) + 0.0:,.{digits}f}"  # + 0.0: no minus before a zero
    if text.startswith("-"):
        return _MINUS + text[1:]
    return "+" + text if signed and text.strip("0.,") else text


SHORTEST = 0.001
"""Probabilities below this are not written out."""


def probability(x: float) -> str:
    """A probability with at most four decimals, which is 0 or 1 only if it is exactly that.

    >>> [probability(x) for x in (0.25, 0.67827, 1.0, 0.99999, 1e-7, 0.0)]
    ['0.25', '0.6783', '1', '>0.9999', '<0.001', '0']
    """
    if 0 < x < SHORTEST:
        return "<0.001"
    if 0.99995 <= x < 1:
        return ">0.9999"
    return f"{round(x, 4):g}"
