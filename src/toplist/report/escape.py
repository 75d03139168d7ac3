"""Names are data: what would move a cursor, reverse a line or hide is shown, not done."""

from __future__ import annotations

from toplist.report.cells import cells, shorten

LIMIT = 60


def visible(text: str) -> str:
    r"""The text with everything that cannot be seen written as an escape.

    >>> print(visible("red\x1b[31m, reversed\u202e"))
    red\x1b[31m, reversed\u202e
    """
    return text if text.isprintable() else "".join(map(_shown, text))


def plain(text: str, limit: int = LIMIT) -> str:
    r"""A name on one line, shortened in the middle; in quotes where its ends would not be seen.

    >>> plain("a model with a long and winding name", 16), plain("one\ntwo"), plain("")
    ('a model…ing name', 'one\\ntwo', '""')
    """
    quote = '"' if text != text.strip() or not text else ""
    return quote + shorten([_shown(c) for c in text], limit - 2 * len(quote), _size) + quote


def _shown(character: str) -> str:
    # not repr: it would double a backslash, which paths are full of
    return character if character.isprintable() else character.encode("unicode_escape").decode("ascii")


def _size(part: str) -> int:
    """The larger of characters and cells, so that a limit holds for both: accents take no cell."""
    return max(len(part), cells(part))
