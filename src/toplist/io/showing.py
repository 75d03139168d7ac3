"""Values in messages: one line, and not longer than a person reads."""

from __future__ import annotations

from collections.abc import Sequence
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
