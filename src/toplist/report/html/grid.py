"""Tables, figures and sections of a page: what a cell shows, what it is sorted by, and which columns say nothing."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any, Literal

from toplist._text import NOTHING, fixed
from toplist.inference.results import Estimate
from toplist.report.plot import Plot
from toplist.report.text import Words, count, decimals, sentence, series, share
from toplist.report.whiskers import Svg

Kind = Literal["number", "name", "text"]
Best = Literal["low", "high"]
_LONG = 30  # rows from which a table has a filter
_WIDE = 7  # columns
_FOLDED = 60  # rows from which a table is shown when asked for
_FIGURE = 760, 360  # px that figures are drawn for
_PANEL = 200, 176  # px of a panel


@dataclass(frozen=True, slots=True)
class Chip:
    """A few words on a coloured ground; the kind is a class of the style sheet."""

    kind: str
    text: str

    def __str__(self) -> str:
        return self.text

    def __html__(self) -> str:
        return f'<span class="chip {escape(self.kind)}">{escape(self.text)}</span>' if self.text else ""


@dataclass(frozen=True, slots=True)
class Figure:
    """A drawing as SVG and its caption, and the drawing for narrow pages where there is one."""

    id: str
    svg: str
    caption: Words
    narrow: str = ""


Block = tuple[Any, ...]  # a macro of `parts.html` or `sections.html`, and what it shows


@dataclass(frozen=True, slots=True)
class Section:
    """A part of the page: blocks are macros of `parts.html` or `sections.html`, each with what it shows."""

    id: str
    title: str
    blocks: tuple[Block, ...]


def drawing(made: Plot[Any], called: str, caption: Words) -> Figure:
    """The figure for wide pages and for phones."""
    wide, narrow = (made.svg(inline=True, prefix=f"drawn-{called}-{width}", width=width) for width in _FIGURE)
    return Figure(f"figure-{called}", wide, caption, narrow)


def panel(made: Plot[Any], i: int) -> tuple[str, str]:
    """A small figure: six side by side on wide pages, two on phones."""
    wide, narrow = (made.svg(inline=True, prefix=f"drawn-panel-{i}-{width}", width=width) for width in _PANEL)
    return wide, narrow


def section(key: str, title: str, *blocks: Block) -> Section:
    """A section of the blocks that show something."""
    return Section(key, title, tuple(block for block in blocks if block[1]))


# Tables that are sorted and filtered


@dataclass(frozen=True, slots=True)
class Cell:
    """What is shown, a smaller text after it, and the number that it is sorted by."""

    text: Words | Svg | Chip
    below: str = ""
    value: float | None = None
    classes: str = ""  # of the style sheet, such as a step of the colour scale
    hint: str = ""  # what a pointer shows
    bar: tuple[tuple[str, float], ...] = ()  # classes of the style sheet, and widths as shares of the cell

    @property
    def key(self) -> str:
        """The number for sorting; nothing where there is none, so that blanks come last."""
        return "" if self.value is None or math.isnan(self.value) else f"{self.value:.9g}"

    @property
    def shown(self) -> tuple[str, str]:
        """All text that a reader sees."""
        return (self.text.markup if isinstance(self.text, Svg) else str(self.text)), self.below


@dataclass(frozen=True, slots=True)
class Head:
    """The head of a column, what it means where that is not plain, and which end of it is best."""

    text: Words
    kind: Kind = "number"
    means: str = ""
    best: Best = "high"  # what comes first when the column is sorted for the first time
    classes: str = ""
    below: str = ""  # a second line

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
    classes: str = ""
    foot: tuple[Cell, ...] = ()  # a last row, such as an axis
    reference: bool = False  # whether the first row is what the others are compared with

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
    name: str,
    caption: Words,
    columns: Iterable[Column],
    *,
    leaders: Iterable[int] = (),
    sorts: bool = True,
    classes: str = "",
    foot: Sequence[Cell] = (),
    reference: bool = False,
) -> Grid:
    """A table of columns side by side."""
    columns = list(columns)
    rows = tuple(zip(*(cells for _, cells in columns), strict=True))
    heads = tuple(head for head, _ in columns)
    return Grid(name, caption, heads, rows, frozenset(leaders), sorts, classes, tuple(foot), reference)


def varying(columns: Iterable[Column]) -> tuple[list[Column], list[tuple[Words, Cell]]]:
    """The columns that say different things of different rows; then the heads of the others, with what they say.

    A column without anything in it is in neither.
    """
    kept: list[Column] = []
    constant: list[tuple[Words, Cell]] = []
    for head, cells in columns:
        texts = {cell.shown for cell in cells}
        empty = texts <= {("", ""), (NOTHING, "")}
        if head.row or len(texts) > 1 or (len(cells) < 2 and not empty):
            kept.append((head, cells))
        elif not empty:
            constant.append((head.text, cells[0]))
    return kept, constant


def same_for_all(constant: Sequence[tuple[Words, Cell]]) -> Words:
    """What is the same in all rows, in a sentence."""
    parts = [sentence(head, " ", " ".join(filter(None, cell.shown))) for head, cell in constant]
    return sentence("The same for all: ", *series(parts, len(parts)), ".") if parts else ""


def counted(n: int | None) -> Cell:
    """A count."""
    return Cell(NOTHING) if n is None else Cell(count(n), value=float(n))


def percentage(x: float | None) -> Cell:
    """A share in per cent."""
    return Cell(NOTHING if x is None else share(x), value=x)


def number(x: float | None, digits: int) -> Cell:
    """A number."""
    return Cell(fixed(x, digits), value=x)


def estimated(
    estimates: Sequence[Estimate | None],
    *,
    digits: int | None = None,
    signed: bool = False,
    marked: Sequence[bool] = (),
) -> list[Cell]:
    """A column of values with their intervals in small print; those that are marked are bold."""
    places = decimals(estimates) if digits is None else digits
    marks = list(marked) or [False] * len(estimates)
    return [
        Cell(NOTHING) if e is None else _estimated(e, places, signed, mark)
        for e, mark in zip(estimates, marks, strict=True)
    ]


def _estimated(estimate: Estimate, digits: int, signed: bool, mark: bool) -> Cell:
    shown, classes = fixed(estimate.value, digits, signed=signed), "significant" if mark else ""
    if estimate.low is None or estimate.high is None:
        return Cell(shown, value=estimate.value, classes=classes)
    low, high = (fixed(x, digits, signed=signed) for x in (estimate.low, estimate.high))
    return Cell(shown, f"{low} to {high}", estimate.value, classes=classes)
