"""Names as a figure writes them: no wider than their room."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable

from toplist.words.cells import shorten
from toplist.words.names import escaped, numbers, quotes, rule_name, shown

ROOM = 16.0  # of a name, in units of the font size: about 28 letters
_WORDS = 36.0  # of a name within a sentence
_LONG = 400
_NARROW = frozenset("iljtfrI.,:;'|!()[]{}/\\ ")
_BROAD = frozenset("mwMW@%—…")


def label(name: str, room: float = ROOM) -> str:
    r"""A name on one line, shortened in the middle; what cannot be seen is written as an escape.

    >>> label("a model with a very long and winding name"), label("one\ntwo\u202e"), label("")
    ('a model with…winding name', 'one\\ntwo\\u202e', '""')
    """
    half = _LONG // 2  # a name of ten thousand characters is not looked at as a whole
    parts = _visible(name) if len(name) <= _LONG else [*_visible(name[:half]), "…", *_visible(name[-half:])]
    return quotes(name) + shorten(parts, room, width) + quotes(name)


def labels(names: Iterable[str], room: float = ROOM) -> list[str]:
    """Names as `label` writes them; those that look alike once they are shortened are numbered.

    >>> labels(["a" * 40 + "b" + "c" * 40, "a" * 40 + "d" + "c" * 40, "e"], 8.0)
    ['aaaa…cccc (1)', 'aaaa…cccc (2)', 'e']
    """
    every = list(names)
    ends = numbers((name, label(name, room)) for name in every)
    return [label(name, room - width(end)) + end for name, end in zip(every, ends, strict=True)]


def scored(rule: str) -> str:
    """A rule before the word score, no wider than a name."""
    return label(rule_name(rule))


def said(name: str) -> str:
    """A name within a sentence."""
    return label(name, _WORDS)


def width(text: str) -> float:
    """About how wide the text is in a sans serif, in units of the font size; rather too much than too little.

    >>> width("iii") < width("nnn") < width("日本語")
    True
    """
    return sum(map(_width, text))


def _visible(text: str) -> list[str]:
    """The characters, as escapes if they cannot be seen, or are one accent too many to stay in their line."""
    parts, accents = [], 0
    for c in text:
        accents = accents + 1 if unicodedata.combining(c) else 0
        parts.append(shown(c) if accents < 3 else escaped(c))
    return parts


def _width(character: str) -> float:
    if character in _NARROW:
        return 0.39
    if character in _BROAD:
        return 1.0
    if unicodedata.east_asian_width(character) in ("W", "F"):
        return 1.05
    return 0.75 if character.isupper() else 0.64
