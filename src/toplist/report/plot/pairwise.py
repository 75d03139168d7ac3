"""Every model against every other: differences of the mean scores, and which of them are no chance."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from toplist.inference.pairwise import PairwiseVerdict, verdicts
from toplist.inference.results import Comparison
from toplist.report.numbers import number, signed
from toplist.report.plot.base import Plot
from toplist.report.plot.canvas import (
    LINE,
    SIZE,
    SMALL,
    WIDTH,
    cover,
    edges,
    finite,
    labels,
    level,
    note,
    panel,
    said,
    scored,
    sheet,
    width,
    write,
)
from toplist.report.plot.colours import STEPS, Theme, over, step
from toplist.report.plot.leaderboard import chosen, ordered
from toplist.report.text import count, listed, noun, number_of, percent

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


WRITTEN = 14  # models up to which the cells hold numbers


@dataclass(frozen=True, slots=True)
class PairCell:
    """The model of the row minus that of the column."""

    row: int
    column: int
    difference: float  # NaN where there is none
    adjusted: float | None  # p by Holm's method
    sure: bool  # that the two are different: p is at most one minus the level


@dataclass(frozen=True, slots=True)
class Pairs:
    """Models under one rule, best first, and a cell for each two of them, in both orders."""

    rule: str
    level: float
    names: tuple[str, ...]
    cells: tuple[PairCell, ...]

    @property
    def edges(self) -> tuple[float, ...]:
        """Where the steps of the colour scale begin."""
        return edges([cell.difference for cell in self.cells], STEPS)

    @property
    def unit(self) -> int:
        """The power of ten that written differences are multiples of: with it they have at most three digits."""
        largest = max((abs(x) for x in finite(cell.difference for cell in self.cells)), default=0.0)
        return int(f"{largest:.0e}".partition("e")[2]) - 2 if largest else 0

    @property
    def title(self) -> str:
        """What it is."""
        return f"Differences of mean {scored(self.rule)} scores between {number_of(len(self.names), 'model')}"

    @property
    def words(self) -> str:
        """What it shows."""
        tested = [cell for cell in self.cells if cell.row < cell.column and cell.adjusted is not None]
        apart = [cell for cell in tested if cell.sure]
        digits = max(0, -self.unit)
        some = [
            f"{said(self.names[c.row])} minus {said(self.names[c.column])} {signed(c.difference, digits)}"
            for c in apart
        ]
        of = f"{number_of(len(apart), 'pair').capitalize()} of {count(len(tested))} that can be tested"
        text = f"{of} {noun(len(apart), 'is', 'are')} surely different (Holm, {percent(self.level)})"
        return text + (f": {listed(some, 30)}." if some else ".")


def pairs(results: Comparison, rule: str | None = None) -> Plot[Pairs]:
    """The matrix of differences, row minus column: blue where the row is better; a dot where that is sure."""
    name = chosen(results, rule)
    names = tuple(standing.name for standing in ordered(results, results.overall, name))
    place = {who: i for i, who in enumerate(names)}
    cells = [cell for verdict in verdicts(results, name) for cell in _cells(verdict, place)]
    return Plot(Pairs(name, results.level, names, tuple(sorted(cells, key=lambda c: (c.row, c.column)))), draw_pairs)


def _cells(verdict: PairwiseVerdict, place: dict[str, int]) -> tuple[PairCell, PairCell]:
    pair, difference = verdict.pair, verdict.pair.difference.value
    a, b = place[pair.a], place[pair.b]
    return (
        PairCell(a, b, difference, pair.adjusted_p, verdict.sure),
        PairCell(b, a, 0.0 - difference, pair.adjusted_p, verdict.sure),
    )


def draw_pairs(data: Pairs, theme: Theme) -> Figure:
    """Rows and columns in the same order; columns bear the numbers of the rows."""
    count = max(1, len(data.names))
    written = count <= WRITTEN
    names = labels(data.names, 11.0 if 8 < count <= WRITTEN else 14.0)
    left = 38 + SIZE * max(map(width, names), default=0)
    side = min(44.0, (WIDTH - left - 8) / count)
    size = side * count
    foot = _pairs_foot(data)
    figure = sheet(26 + size + 46 + LINE * len(foot) + 14, theme)
    axes = panel(figure, theme, left, 26, size, size)
    axes.set_xlim(-0.5, count - 0.5)
    axes.set_ylim(count - 0.5, -0.5)
    page = cover(figure, theme)
    for i, name in enumerate(names):
        middle = side * (i + 0.5)
        write(page, left - 32, 26 + middle, name, ha="right", color=theme["ink"])
        write(page, left - 8, 26 + middle, str(i + 1), ha="right", fontsize=SMALL, color=theme["muted"])
        write(page, left + middle, 14, str(i + 1), ha="center", fontsize=SMALL, color=theme["muted"])
    limits, unit = data.edges, data.unit  # once: either looks at all cells
    levels = {id(cell): level(cell.difference, limits) for cell in data.cells if not math.isnan(cell.difference)}
    for shade in range(-STEPS, STEPS + 1):
        places = [(c.column, c.row) for c in data.cells if levels.get(id(c)) == shade]
        _tiles(axes, places, theme[step(shade)])
    for cell in data.cells:
        if written:
            _number(axes, cell, unit, levels.get(id(cell), 0), theme, min(10.0, 0.29 * side))
        elif math.isnan(cell.difference):
            write(axes, cell.column, cell.row, "?", fontsize=SMALL, ha="center", color=theme["muted"])
    for shade in range(-STEPS, STEPS + 1):
        dots = [c for c in data.cells if c.sure and levels.get(id(c)) == shade]
        shift = 0.36 if written else 0.0
        across, down = [c.column + shift for c in dots], [c.row - shift for c in dots]
        dot = 3.2 if written else 5.0
        axes.plot(across, down, "o", color=theme[over(shade)], markersize=dot, markeredgewidth=0, clip_on=False)
    _key(figure, data, theme, left, 26 + size + 12)
    note(page, theme, foot)
    return figure


def _tiles(axes: Axes, places: list[tuple[int, int]], colour: str) -> None:
    """Squares as one shape."""
    xs, ys = [], []
    for x, y in places:
        xs += [x - 0.48, x + 0.48, x + 0.48, x - 0.48, x - 0.48, math.nan]
        ys += [y - 0.48, y - 0.48, y + 0.48, y + 0.48, y - 0.48, math.nan]
    axes.fill(xs, ys, facecolor=colour, edgecolor="none", linewidth=0, clip_on=False)


def _number(axes: Axes, cell: PairCell, unit: int, shade: int, theme: Theme, size: float) -> None:
    if math.isnan(cell.difference):
        write(axes, cell.column, cell.row, "?", fontsize=SMALL, ha="center", color=theme["muted"])
        return
    shown = cell.difference / 10.0**unit
    text = number(shown, 1 if abs(shown) < 9.95 else 0)
    options: dict[str, Any] = {"fontsize": size, "ha": "center", "fontweight": "bold" if cell.sure else "normal"}
    write(axes, cell.column, cell.row, text, color=theme[over(shade)], **options)


def _key(figure: Figure, data: Pairs, theme: Theme, left: float, top: float) -> None:
    """The colour scale, with the differences at which its steps begin."""
    limits = data.edges
    shades = range(-len(limits), len(limits) + 1)
    side = min(46.0, (WIDTH - 32) / len(shades))
    axes = panel(figure, theme, min(left, WIDTH - 16 - side * len(shades)), top, side * len(shades), 10)
    axes.set_xlim(0, len(shades))
    axes.set_ylim(0, 1)
    for i, shade in enumerate(shades):
        axes.fill([i, i + 1, i + 1, i], [0, 0, 1, 1], facecolor=theme[step(shade)], edgecolor="none", linewidth=0)
    digits = max(0, -int(f"{limits[0]:e}".partition("e")[2])) if limits else 0
    bounds = [*(-x for x in reversed(limits)), *limits]
    axes.set_xticks(range(1, len(shades)), labels=[number(x, digits) for x in bounds])


def _pairs_foot(data: Pairs) -> list[str]:
    unit = f"numbers in units of {10.0**data.unit:g}; " * (len(data.names) <= WRITTEN and data.unit != 0)
    return [
        f"mean {scored(data.rule)} score, row minus column; blue: the row is better",
        f"{unit}dot: surely different (Holm, {percent(data.level)})",
    ]
