"""Counts and shares as people say them."""

from __future__ import annotations


def count(n: int) -> str:
    """A count with commas.

    >>> count(1234567)
    '1,234,567'
    """
    return f"{n:,}"


def number_of(n: int, one: str, many: str = "") -> str:
    """So many things.

    >>> number_of(1, "case"), number_of(1200, "case"), number_of(0, "pair")
    ('1 case', '1,200 cases', 'no pairs')
    """
    return f"{count(n) if n else 'no'} {noun(n, one, many)}"


def noun(n: int, one: str, many: str = "") -> str:
    """What so many things are called.

    >>> noun(1, "case"), noun(2, "case"), noun(2, "is", "are")
    ('case', 'cases', 'are')
    """
    return one if n == 1 else many or f"{one}s"


def percent(level: float) -> str:
    """A level of confidence, or a share.

    >>> percent(0.95), percent(0.999)
    ('95%', '99.9%')
    """
    return f"{100 * level:.6g}%"
