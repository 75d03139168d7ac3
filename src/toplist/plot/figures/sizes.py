"""How long lists are."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from toplist.plot.colours import Theme
from toplist.plot.labels import width
from toplist.plot.numbers import share
from toplist.plot.paper import LINE, SMALL, WIDTH, cover, note, panel, rule_x, rule_y, sheet
from toplist.plot.plots import Plot
from toplist.plot.scales import axis
from toplist.words.counts import count, number_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

BARS = 40  # beyond it, neighbouring lengths share a bar
_HEIGHT = 180.0
_FEWEST: Final = 6  # bars that there is room for


@dataclass(frozen=True, slots=True)
class Bar:
    """Lists from one length to another, both included."""

    low: int
    high: int
    cases: int


@dataclass(frozen=True, slots=True)
class Sizes:
    """Lengths of lists, and how many lists have them."""

    bars: tuple[Bar, ...]
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
    return Plot(Sizes(_bars(counts), total, mean), draw)


def _bars(counts: Mapping[int, int]) -> tuple[Bar, ...]:
    if not counts:
        return ()
    low, high = min(counts), max(counts)
    wide = -(-(high - low + 1) // BARS)
    made = [0] * (-(-(high - low + 1) // wide))
    for k, n in counts.items():
        made[(k - low) // wide] += n
    return tuple(Bar(low + i * wide, low + (i + 1) * wide - 1, n) for i, n in enumerate(made))


def draw(data: Sizes, theme: Theme) -> Figure:
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


def _draw(axes: Axes, bars: tuple[Bar, ...], theme: Theme) -> None:
    for bar in bars:
        if bar.cases:
            room = 0.4 * (bar.high - bar.low + 1)
            middle = (bar.low + bar.high) / 2
            xs = [middle - room, middle - room, middle + room, middle + room]
            axes.fill(xs, [0, bar.cases, bar.cases, 0], facecolor=theme["c0"], linewidth=0)
