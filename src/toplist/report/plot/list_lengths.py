"""How long lists are.

Hard labels, top lists, distributions and empty lists: how many of each there are, and how they score.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from toplist.inference.results import KINDS, ModelDetails
from toplist.report.numbers import number, share
from toplist.report.plot.base import Plot
from toplist.report.plot.canvas import (
    LINE,
    SIZE,
    SMALL,
    WIDTH,
    axis,
    cover,
    decimals,
    label,
    labels,
    note,
    panel,
    rule_x,
    rule_y,
    said,
    scored,
    sheet,
    width,
    write,
)
from toplist.report.plot.colours import Theme, marker
from toplist.report.text import count, number_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


BARS = 40  # beyond it, neighbouring lengths share a bar
_HEIGHT = 180.0
_FEWEST: Final = 6  # bars that there is room for


@dataclass(frozen=True, slots=True)
class LengthBar:
    """Lists from one length to another, both included."""

    low: int
    high: int
    cases: int


@dataclass(frozen=True, slots=True)
class Sizes:
    """Lengths of lists, and how many lists have them."""

    bars: tuple[LengthBar, ...]
    cases: int
    mean: float

    @property
    def title(self) -> str:
        """What it is."""
        return f"Lengths of {number_of(self.cases, 'list')}"

    @property
    def words(self) -> str:
        """What it shows."""
        filled = [bar for bar in self.bars if bar.cases]
        if not filled:
            return "There are no lists."
        most = max(filled, key=lambda bar: bar.cases)
        where = f"{most.low:,}" if most.low == most.high else f"{most.low:,} to {most.high:,}"
        return (
            f"From {filled[0].low:,} to {filled[-1].high:,} classes, {self.mean:.3g} on average; "
            f"most often {where}, in {share(most.cases / self.cases)} of the cases."
        )


def sizes(found: Mapping[int, int] | Iterable[tuple[int, int]]) -> Plot[Sizes]:
    """Bars of how many lists have each length; long ones share bars."""
    counts = {int(k): int(n) for k, n in (found.items() if isinstance(found, Mapping) else found) if n}
    total = sum(counts.values())
    mean = sum(k * n for k, n in counts.items()) / total if total else math.nan
    return Plot(Sizes(_bars(counts), total, mean), draw_sizes)


def _bars(counts: Mapping[int, int]) -> tuple[LengthBar, ...]:
    if not counts:
        return ()
    low, high = min(counts), max(counts)
    wide = -(-(high - low + 1) // BARS)
    made = [0] * (-(-(high - low + 1) // wide))
    for k, n in counts.items():
        made[(k - low) // wide] += n
    return tuple(LengthBar(low + i * wide, low + (i + 1) * wide - 1, n) for i, n in enumerate(made))


def draw_sizes(data: Sizes, theme: Theme) -> Figure:
    """Lengths across, cases up."""
    scale = axis([0, *(bar.cases for bar in data.bars)], ticks=4, margin=0.0)
    texts = tuple(count(int(t)) for t in scale.ticks)
    left = 18 + SMALL * max(map(width, texts), default=0)
    foot = ["across: classes on a list; up: cases"]
    if any(bar.high > bar.low for bar in data.bars):
        foot.append(f"each bar is {data.bars[0].high - data.bars[0].low + 1:,} lengths wide")
    figure = sheet(14 + _HEIGHT + 24 + LINE * len(foot) + 12, theme)
    axes = panel(figure, theme, left, 14, WIDTH - left - 20, _HEIGHT)
    axes.set_ylim(0, max((bar.cases for bar in data.bars), default=1) * 1.04)
    low, high = (data.bars[0].low - 0.6, data.bars[-1].high + 0.6) if data.bars else (0.0, 1.0)
    spare = max(0.0, _FEWEST - (high - low)) / 2  # few bars are no walls
    axes.set_xlim(low - spare, high + spare)
    across = axis([low, high], ticks=8, margin=0.0)
    marks = [t for t in across.ticks if t == int(t)] if data.bars else []
    rule_x(axes, tuple(marks), tuple(count(int(t)) for t in marks), theme)
    axes.grid(visible=False, axis="x")
    rule_y(axes, scale.ticks, texts, theme)
    _draw(axes, data.bars, theme)
    note(cover(figure, theme), theme, foot)
    return figure


def _draw(axes: Axes, bars: tuple[LengthBar, ...], theme: Theme) -> None:
    for bar in bars:
        if bar.cases:
            room = 0.4 * (bar.high - bar.low + 1)
            middle = (bar.low + bar.high) / 2
            xs = [middle - room, middle - room, middle + room, middle + room]
            axes.fill(xs, [0, bar.cases, bar.cases, 0], facecolor=theme["c0"], linewidth=0)


_ROW, _HEAD, _COLUMN = 26.0, 40.0, 56.0


@dataclass(frozen=True, slots=True)
class BarPart:
    """The predictions of one model that have one shape."""

    kind: str
    share: float  # of the model's cases
    score: float
    infinite: int


@dataclass(frozen=True, slots=True)
class TypeRow:
    """One model; shapes that do not occur are left out."""

    name: str
    parts: tuple[BarPart, ...]


@dataclass(frozen=True, slots=True)
class Shapes:
    """Which shapes predictions have, and mean scores within each."""

    rule: str
    rows: tuple[TypeRow, ...]

    @property
    def kinds(self) -> tuple[str, ...]:
        """The shapes that occur, from the shortest lists to the longest."""
        found = {part.kind for row in self.rows for part in row.parts}
        return tuple(k for k in KINDS if k in found) + tuple(sorted(found - set(KINDS)))

    @property
    def title(self) -> str:
        """What it is."""
        return f"Shapes of predictions and their mean {scored(self.rule)} scores, {number_of(len(self.rows), 'model')}"

    @property
    def words(self) -> str:
        """What it shows."""
        digits = decimals(part.score for row in self.rows for part in row.parts)

        def of(row: TypeRow) -> str:
            parts = (f"{said(p.kind)} {share(p.share)} with mean {number(p.score, digits)}" for p in row.parts)
            return f"{said(row.name)}: {', '.join(parts) or 'no cases'}"

        return f"Lower is better. {'; '.join(map(of, self.rows))}." if self.rows else "There are no models."


def shapes(exhibits: Iterable[ModelDetails]) -> Plot[Shapes]:
    """Where each shape of prediction stands: its share of the cases as a bar, its mean score as a marker."""
    every = tuple(exhibits)
    return Plot(Shapes(every[0].rule if every else "", tuple(TypeRow(e.name, _parts(e)) for e in every)), draw_shapes)


def _parts(exhibit: ModelDetails) -> tuple[BarPart, ...]:
    total = sum(shape.cases for shape in exhibit.shapes)
    return tuple(BarPart(s.kind, s.cases / total, s.score, s.infinite) for s in exhibit.shapes if s.cases)


def draw_shapes(data: Shapes, theme: Theme) -> Figure:
    """Models down; a column of bars per shape, then the scores."""
    names = labels((row.name for row in data.rows), 11.5)
    left = 16 + SIZE * max(map(width, names), default=0)
    kinds = data.kinds
    scores = left + _COLUMN * len(kinds) + 18
    height = _ROW * max(1, len(names))
    foot = [f"bars: share of the cases; right: mean {scored(data.rule)} score of each shape, lower is better"]
    if any(math.isinf(part.score) for row in data.rows for part in row.parts):
        foot.append("markers beyond the right edge: infinite means")
    figure = sheet(_HEAD + height + 24 + LINE * len(foot) + 12, theme)
    page = cover(figure, theme)
    for y, name in enumerate(names):
        write(page, left - 8, _HEAD + _ROW * (y + 0.5), name, ha="right", color=theme["ink"])
    for i, kind in enumerate(kinds):
        x = left + _COLUMN * i
        page.plot([x + 6], [13], marker=marker(i), markersize=6, color=theme.cycle(i))
        for j, word in enumerate(label(kind, 12).split(maxsplit=1)):
            write(page, x + (14 if j == 0 else 2), 13 + 14 * j, word, fontsize=SMALL, color=theme["ink"])
        for y, row in enumerate(data.rows):
            part = next((p for p in row.parts if p.kind == kind), None)
            if part is not None:
                _bar(page, x + 2, _HEAD + _ROW * (y + 0.5), part.share, theme.cycle(i), theme)
    axes = panel(figure, theme, scores, _HEAD, WIDTH - scores - 24, height)
    scale = axis((part.score for row in data.rows for part in row.parts), ticks=4, margin=0.06)
    axes.set_xlim(scale.low, scale.high)
    axes.set_ylim(max(1, len(names)) - 0.5, -0.5)
    rule_x(axes, scale.ticks, scale.texts, theme)
    for i, kind in enumerate(kinds):
        found = [(p.score, y) for y, row in enumerate(data.rows) for p in row.parts if p.kind == kind]
        look: dict[str, Any] = {
            "marker": marker(i),
            "markersize": 6.5,
            "linestyle": "none",
            "color": theme.cycle(i),
            "clip_on": False,
        }
        placed = [(s, y) for s, y in found if math.isfinite(s)]
        axes.plot([s for s, _ in placed], [y for _, y in placed], **look)
        beyond = [_HEAD + _ROW * (y + 0.5) for s, y in found if math.isinf(s)]
        page.plot([WIDTH - 18 + 3 * i] * len(beyond), beyond, **look)
    note(page, theme, foot)
    return figure


def _bar(page: Axes, x: float, y: float, part: float, colour: str, theme: Theme) -> None:
    """A share as text with a bar under it."""
    room = _COLUMN - 12
    write(page, x, y - 4, share(part), fontsize=SMALL - 1, color=theme["ink"])
    page.plot([x, x + room], [y + 6, y + 6], color=theme["grid"], linewidth=4, solid_capstyle="butt")
    page.plot([x, x + room * part], [y + 6, y + 6], color=colour, linewidth=4, solid_capstyle="butt")
