"""Names are data: what would move a cursor, reverse a line or hide is shown, not done."""

from __future__ import annotations

from collections.abc import Iterable

from toplist.words.cells import cells, shorten

LIMIT = 60


def visible(text: str) -> str:
    r"""The text with everything that cannot be seen written as an escape.

    >>> print(visible("red\x1b[31m, reversed\u202e"))
    red\x1b[31m, reversed\u202e
    """
    return text if text.isprintable() else "".join(map(shown, text))


def plain(text: str, limit: int = LIMIT) -> str:
    r"""A name on one line, shortened in the middle; in quotes where its ends would not be seen.

    >>> plain("a model with a long and winding name", 16), plain("one\ntwo"), plain("")
    ('a model…ing name', 'one\\ntwo', '""')
    """
    quote = quotes(text)
    return quote + shorten([shown(c) for c in text], limit - 2 * len(quote), _size) + quote


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


def quotes(text: str) -> str:
    """What a name stands between: a quote where its ends would not be seen, or else nothing."""
    return '"' if text != text.strip() or not text else ""


def numbers(names: Iterable[tuple[str, str]]) -> list[str]:
    """What to write after names that are different but look alike; each comes with how it is shown.

    >>> numbers([("a1b", "a…b"), ("a2b", "a…b"), ("a1b", "a…b"), ("c", "c")])
    [' (1)', ' (2)', ' (1)', '']
    """
    every = list(names)
    alike: dict[str, dict[str, int]] = {}
    for name, text in every:
        same = alike.setdefault(text, {})
        same.setdefault(name, len(same) + 1)
    return [f" ({alike[text][name]})" if len(alike[text]) > 1 else "" for name, text in every]


def rule_name(rule: str) -> str:
    """A rule as people write it in a sentence.

    >>> rule_name("brier"), rule_name("log")
    ('Brier', 'log')
    """
    return "Brier" if rule == "brier" else rule


def _size(part: str) -> int:
    """The larger of characters and cells, so that a limit holds for both: accents take no cell."""
    return max(len(part), cells(part))
