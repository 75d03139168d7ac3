"""Names and sentences that keep apart what we say and what somebody's file says."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from html import escape

from toplist.report.text import FEW, numbers, plain, rule_name, series

SHORT = 36  # characters of a name in a table or a sentence
_HINT = 300  # characters of a name that is shown when a pointer rests on it
_RULES = frozenset({"brier", "log", "spherical", "zero-one"})


@dataclass(frozen=True, slots=True)
class Name:
    """A name as it is shown, and the longer form where it was shortened."""

    text: str
    hint: str = ""

    def __str__(self) -> str:
        return self.text

    def __html__(self) -> str:
        """An element of its own: a name from right to left does not turn the sentence around."""
        hint = f' title="{escape(self.hint)}"' if self.hint else ""
        return f'<bdi class="n"{hint}>{escape(self.text)}</bdi>'


@dataclass(frozen=True, slots=True)
class Sentence:
    """Text with names in it."""

    parts: tuple[str | Name, ...]

    def __str__(self) -> str:
        return "".join(map(str, self.parts))

    def __html__(self) -> str:
        """Its words escaped, its names as they are in tables."""
        return "".join(part.__html__() if isinstance(part, Name) else escape(part) for part in self.parts)


Words = str | Name | Sentence


def name(text: str, limit: int = SHORT) -> Name:
    """A name on one line, shortened in the middle.

    >>> name("a model with a long and winding name", 16)
    Name(text='a model…ing name', hint='a model with a long and winding name')
    """
    short = plain(text, limit)
    return Name(short, "" if short == plain(text, len(text) * 10 + 2) else plain(text, _HINT))


def names(texts: Iterable[str]) -> dict[str, Name]:
    """Every name as it is shown; those that look alike once they are shortened are numbered.

    >>> [str(n) for n in names(["a" * 50 + "b" + "c" * 50, "a" * 50 + "d" + "c" * 50, "e"]).values()]
    ['aaaaaaaaaaaaaaaaa…cccccccccccccccccc (1)', 'aaaaaaaaaaaaaaaaa…cccccccccccccccccc (2)', 'e']
    """
    found = {text: name(text) for text in texts}
    ends = numbers((text, shown.text) for text, shown in found.items())
    return {text: Name(shown.text + end, shown.hint) for (text, shown), end in zip(found.items(), ends, strict=True)}


def sentence(*parts: Words) -> Sentence:
    """Words, names and parts of sentences in a row."""
    found: list[str | Name] = []
    for part in parts:
        found += part.parts if isinstance(part, Sentence) else [part]
    return Sentence(tuple(found))


def capital(text: Sentence) -> Sentence:
    """The sentence with a capital where it begins with words of ours; names stay as they are.

    >>> str(capital(sentence("after all, ", name("a"))))
    'After all, a'
    """
    first, *others = text.parts
    return Sentence((first[:1].upper() + first[1:] if isinstance(first, str) else first, *others))


def listed(items: Iterable[Words], most: int = FEW) -> Sentence:
    """Items with commas and one "and"; where there are many, the first ones and how many more.

    >>> str(listed(["A", "B", "C"])), str(listed(list("ABCDEFGH"), most=3))
    ('A, B and C', 'A, B, C and 5 more')
    """
    return sentence(*series(items, most))


def kind(rule: str, limit: int = 60) -> str:
    """A rule before the word score.

    >>> kind("brier"), kind("log"), kind("Power(1.5)")
    ('Brier', 'log', 'Power(1.5)')
    """
    return plain(rule_name(rule), limit)


def scores(rule: str) -> str:
    """A rule by itself in a sentence; one that has no common name goes by its own.

    >>> scores("brier"), scores("Power(1.5)")
    ('the Brier score', 'Power(1.5)')
    """
    return f"the {kind(rule)} score" if rule in _RULES else kind(rule)
