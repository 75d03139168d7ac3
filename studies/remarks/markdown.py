"""Numbers and tables as Markdown."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table whose columns line up; numbers stand to the right.

    >>> print(table(["a", "n"], [["x", "10"], ["yy", "1"]]))
    | a  |  n |
    | -- | -: |
    | x  | 10 |
    | yy |  1 |
    """
    columns = list(zip(header, *rows, strict=True))
    widths = [max(2, *map(len, column)) for column in columns]
    right = [any(cell and cell[0] in "+-<0123456789" for cell in column[1:]) for column in columns]

    def line(cells: Sequence[str]) -> str:
        fitted = (c.rjust(w) if r else c.ljust(w) for c, w, r in zip(cells, widths, right, strict=True))
        return f"| {' | '.join(fitted)} |"

    rule = ["-" * (w - 1) + ":" if r else "-" * w for w, r in zip(widths, right, strict=True)]
    return "\n".join(map(line, [header, rule, *rows]))


def mean(value: float | None, digits: int = 3) -> str:
    """A score; JSON has null for infinity."""
    return "inf" if value is None else f"{value:.{digits}f}"


def signed(estimate: Any, digits: int = 3) -> str:
    """A difference with its interval."""
    value, low, high = estimate["value"], estimate["low"], estimate["high"]
    if low is None:
        return f"{value:+.{digits}f}"
    return f"{value:+.{digits}f} [{low:+.{digits}f}, {high:+.{digits}f}]"


def chance(p: float | None) -> str:
    """A p value, in two digits.

    >>> chance(0.00002), chance(0.0123), chance(None)
    ('<0.0001', '0.012', '-')
    """
    if p is None:
        return "-"
    return "<0.0001" if p < 1e-4 else f"{p:.2g}"


def share(part: float, whole: float) -> str:
    """Of a hundred.

    >>> share(1, 3)
    '33 %'
    """
    return f"{100 * part / whole:.0f} %"
