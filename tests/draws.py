"""How many examples a law draws that has a number of its own."""

from __future__ import annotations

from hypothesis import settings

USUAL, FEW = 100, 6


def thorough() -> bool:
    """Whether this is a longer run."""
    return settings.default.max_examples >= USUAL


def draws(count: int) -> int:
    """`count` where the profile draws 100, else in proportion; not fewer than six, if it has as many.

    >>> [draws(count) * 100 // settings.default.max_examples for count in (100, 1000)]
    [100, 1000]
    >>> draws(4) >= 4
    True
    """
    return max(min(count, FEW), count * settings.default.max_examples // USUAL)
