"""How much room text takes on a screen, where an ideograph fills two cells and an accent none."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterable, Sequence


def cells(text: str) -> int:
    r"""How many cells of a terminal the text takes.

    >>> cells("abc"), cells("日本"), cells("e\u0301")
    (3, 4, 1)
    """
    return len(text) if text.isascii() else sum(map(_cell, text))


def pad(text: str, width: int, align: str = "left") -> str:
    """The text in a field of so many cells.

    >>> pad("日本", 6, "right")
    '  日本'
    """
    blanks = " " * (width - cells(text))
    return blanks + text if align == "right" else text + blanks


def shorten(parts: Sequence[str], limit: float, size: Callable[[str], float] = cells) -> str:
    """The parts in a row, those in the middle left out where they would take more room than the limit.

    >>> shorten("a long name, version 2", 12)
    'a lon…sion 2'
    """
    if sum(map(size, parts)) <= limit:
        return "".join(parts)
    room = limit - size("…")
    head = _leading(parts, room / 2, size)
    tail = _leading(parts[::-1], room - sum(map(size, head)), size)
    return "".join(head) + "…" + "".join(tail[::-1])


def wrap(text: str, width: int) -> list[str]:
    """Lines of at most so many cells; a word that is longer than a line is broken.

    >>> wrap("the quick brown fox", 10)
    ['the quick', 'brown fox']
    """
    lines = [""]
    for word in text.split():
        rest = word
        if lines[-1] and cells(lines[-1]) + 1 + cells(rest) <= width:
            lines[-1] += " " + rest
            continue
        while rest:
            piece = "".join(_leading(rest, max(width, 2), cells))
            lines.append(piece)
            rest = rest[len(piece) :]
    return lines[1:]


def _cell(character: str) -> int:
    if unicodedata.category(character) in ("Mn", "Me"):
        return 0
    return 2 if unicodedata.east_asian_width(character) in ("W", "F") else 1


def _leading(parts: Iterable[str], limit: float, size: Callable[[str], float]) -> list[str]:
    """As many parts from the start as there is room for."""
    taken, used = [], 0.0
    for part in parts:
        used += size(part)
        if used > limit:
            break
        taken.append(part)
    return taken
