"""Items in a row, as a sentence has them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

from toplist.words.counts import count

FEW = 6  # items in a sentence, before the others are counted
T = TypeVar("T")


def series(items: Iterable[T], most: int = FEW) -> list[T | str]:
    """Items with commas and one "and" between them; where there are many, the first ones and how many more.

    >>> series([1, 2, 3])
    [1, ', ', 2, ' and ', 3]
    """
    every = list(items)
    kept: list[T | str] = [*every] if len(every) <= most + 1 else [*every[:most], f"{count(len(every) - most)} more"]
    found: list[T | str] = []
    for i, item in enumerate(kept):
        found += [*([] if not i else [" and "] if i == len(kept) - 1 else [", "]), item]
    return found


def listed(items: Iterable[str], most: int = FEW) -> str:
    """The same in one string.

    >>> listed("ABC"), listed("ABCD", 3), listed("ABCDEFGH", 3)
    ('A, B and C', 'A, B, C and D', 'A, B, C and 5 more')
    """
    return "".join(series(items, most))
