"""Tables of a page: what a cell shows, and what it is sorted by."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from toplist.inference.results import Estimate
from toplist.report.numbers import NOTHING, decimals, fixed, rate
from toplist.report.text import Name, Words, count

Kind = Literal["number", "name", "text"]
_LONG = 30  # rows from which a table has a filter
_WIDE = 7  # columns
_FOLDED = 60  # rows from which a table is shown when asked for


@dataclass(frozen=True, slots=True)
class Cell:
    """What is shown, a smaller second line, and the number that it is sorted by."""

    text: Words
    below: str = ""
    value: float | None = None
    also: str = ""  # a third line
    faint: bool = False

    @property
    def key(self) -> str:
        """The number for sorting; nothing where there is none, so that blanks come last."""
        return "" if self.value is None or math.isnan(self.value) else f"{self.value:.9g}"


@dataclass(frozen=True, slots=True)
class Head:
    """The head of a column, and what it means where that is not plain."""

    text: Words
    kind: Kind = "number"
    means: str = ""

    @property
    def row(self) -> bool:
        """Whether its cells name their rows."""
        return self.kind == "name"


@dataclass(frozen=True, slots=True)
class Grid:
    """A table: sorted and filtered where there is a script, and whole where there is none."""

    name: str  # unique on the page
    caption: Words
    heads: tuple[Head, ...]
    rows: tuple[tuple[Cell, ...], ...]
    leaders: frozenset[int] = frozenset()  # rows that stand out
    sorts: bool = True

    @property
    def filters(self) -> bool:
        """Whether it is long enough to be searched."""
        return len(self.rows) >= _LONG

    @property
    def folded(self) -> bool:
        """Whether it is shown when asked for."""
        return len(self.rows) >= _FOLDED

    @property
    def wide(self) -> bool:
        """Whether it has so many columns that they stand closer, and break on paper."""
        return len(self.heads) > _WIDE

    @property
    def meanings(self) -> tuple[tuple[Words, str], ...]:
        """The heads that need a word, with it."""
        return tuple((head.text, head.means) for head in self.heads if head.means)


Column = tuple[Head, Sequence[Cell]]


def grid(
    name: str, caption: Words, columns: Iterable[Column], *, leaders: Iterable[int] = (), sorts: bool = True
) -> Grid:
    """A table of columns side by side."""
    columns = list(columns)
    rows = tuple(zip(*(cells for _, cells in columns), strict=True))
    return Grid(name, caption, tuple(head for head, _ in columns), rows, frozenset(leaders), sorts)


def counted(n: int | None) -> Cell:
    """A count."""
    return Cell(NOTHING) if n is None else Cell(count(n), value=float(n))


def odd(n: int) -> Cell:
    """A count of what should not be there: zero is faint."""
    return Cell(count(n), value=float(n), faint=not n)


def shared(x: float | None) -> Cell:
    """A share."""
    return Cell(rate(x), value=x)


def number(x: float | None, digits: int, *, signed: bool = False) -> Cell:
    """A number."""
    return Cell(fixed(x, digits, signed=signed), value=x)


def named(shown: Name) -> Cell:
    """A name."""
    return Cell(shown)


def estimated(
    estimates: Sequence[Estimate | None],
    *,
    digits: int | None = None,
    signed: bool = False,
    marked: Sequence[bool] = (),
) -> list[Cell]:
    """A column of values with their intervals on a second line, and a star behind those that are marked."""
    places = decimals(estimates) if digits is None else digits
    stars = ["*" if star else "" for star in marked] or [""] * len(estimates)
    return [
        Cell(NOTHING) if e is None else _estimated(e, places, signed, star)
        for e, star in zip(estimates, stars, strict=True)
    ]


def _estimated(estimate: Estimate, digits: int, signed: bool, star: str) -> Cell:
    shown = fixed(estimate.value, digits, signed=signed) + star
    if estimate.low is None or estimate.high is None:
        return Cell(shown, value=estimate.value)
    low, high = (fixed(x, digits, signed=signed) for x in (estimate.low, estimate.high))
    return Cell(shown, f"{low} to {high}", estimate.value)
