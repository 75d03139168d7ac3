"""What was promised against what was kept: confidences, and how often what they were given to happened."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from toplist.diagnosis.bins import Bin, averages
from toplist.evidence.findings import Exhibit
from toplist.plot.colours import Theme
from toplist.plot.labels import labels, said
from toplist.plot.numbers import number
from toplist.plot.paper import LINE, SIZE, SMALL, WIDTH, cover, note, panel, rule_x, rule_y, sheet, write
from toplist.plot.plots import Plot
from toplist.words.counts import number_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

JOINED = 20  # confidences that a bin needs to be joined to others by a line: fewer are mostly chance


@dataclass(frozen=True, slots=True)
class Promises:
    """One predictor: all listed confidences, and those of the most confident class; empty bins are left out."""

    name: str
    listed: tuple[Bin, ...]
    top: tuple[Bin, ...]


@dataclass(frozen=True, slots=True)
class BinnedReliability:
    """A panel per predictor."""

    panels: tuple[Promises, ...]

    @property
    def title(self) -> str:
        """What it is."""
        return f"Confidences against frequencies, {number_of(len(self.panels), 'predictor')}"

    @property
    def words(self) -> str:
        """What it shows."""
        return " ".join(_words(panel) for panel in self.panels) or "There are no predictors."


def reliability(exhibits: Exhibit | Iterable[Exhibit]) -> Plot[BinnedReliability]:
    """Promised against kept, with the diagonal where both agree; the area of a marker is the size of its bin."""
    every = (exhibits,) if isinstance(exhibits, Exhibit) else tuple(exhibits)
    return Plot(BinnedReliability(tuple(Promises(e.name, _filled(e.listed), _filled(e.top)) for e in every)), draw)


def _filled(bins: tuple[Bin, ...]) -> tuple[Bin, ...]:
    return tuple(b for b in bins if b.count and math.isfinite(b.promised) and math.isfinite(b.kept))


def _words(panel: Promises) -> str:
    said_of = [
        f"promised {number(found[0], 3)}, kept {number(found[1], 3)} {what}"
        for bins, what in ((panel.top, "at the top"), (panel.listed, "over all"))
        if (found := averages(bins)) is not None
    ]
    return f"{said(panel.name)}: {', '.join(said_of) or 'no confidences'}."


def draw(data: BinnedReliability, theme: Theme) -> Figure:
    """Small panels, each with a strip of bin sizes below."""
    count = max(1, len(data.panels))
    across = count if count <= 3 else 2 if count == 4 else 3 if count <= 9 else 4
    down = -(-count // across)
    left, between = 40.0, 18.0
    side = min(360.0, (WIDTH - left - 14 - between * (across - 1)) / across)
    strip = max(16.0, side * 0.12)
    title = 28.0
    block = title + side + 4 + strip + 22
    foot = _foot()
    figure = sheet(4 + block * down + LINE * len(foot) + 22, theme)
    page = cover(figure, theme)
    start = left if across > 1 else (WIDTH - side) / 2
    names = labels((one.name for one in data.panels), side / SIZE)
    for i, promises in enumerate(data.panels):
        x, y = start + (side + between) * (i % across), 4 + block * (i // across)
        write(page, x, y + 13, names[i], color=theme["ink"], fontsize=SIZE)
        axes = panel(figure, theme, x, y + title, side, side)
        _promises(axes, promises, theme, 3 + min(9.0, 0.05 * side), numbers=i % across == 0)
        _sizes(page, promises, theme, x, y + title + side + 4 + strip, side, strip)
    note(page, theme, foot)
    return figure


def _promises(axes: Axes, promises: Promises, theme: Theme, largest: float, *, numbers: bool) -> None:
    axes.set_xlim(0, 1)
    axes.set_ylim(0, 1)
    ticks = (0.0, 0.25, 0.5, 0.75, 1.0)
    rule_x(axes, ticks, ("",) * 5, theme)
    rule_y(axes, ticks, ("0", "", "0.5", "", "1") if numbers else ("",) * 5, theme)
    axes.plot([0, 1], [0, 1], color=theme["ink"], linewidth=1, dashes=(4, 3))
    solid: dict[str, Any] = {}
    dashed: dict[str, Any] = {"dashes": (3, 1.5)}
    for bins, role, shape, style in ((promises.listed, "c1", "s", dashed), (promises.top, "c0", "o", solid)):
        if not bins:
            continue
        colour = theme[role]
        joined = [b for b in bins if b.count >= JOINED]
        places = [b.promised for b in joined], [b.kept for b in joined]
        axes.plot(*places, color=colour, linewidth=1.2, clip_on=False, **style)
        fullest = max(b.count for b in bins)
        for b in bins:
            size = max(2.5, round(2 * largest * math.sqrt(b.count / fullest)) / 2)
            look: dict[str, Any] = {"color": colour, "markeredgewidth": 0, "clip_on": False}
            axes.plot([b.promised], [b.kept], marker=shape, markersize=size, **look)


def _sizes(page: Axes, promises: Promises, theme: Theme, left: float, bottom: float, side: float, strip: float) -> None:
    """Bars of how full each bin is: of the most confident class to the left, of all to the right."""
    page.plot([left, left + side], [bottom, bottom], color=theme["muted"], linewidth=0.8)
    for x, text in ((0.0, "0"), (0.5, "0.5"), (1.0, "1")):
        write(page, left + side * x, bottom + 11, text, fontsize=SMALL, ha="center", color=theme["muted"])
    for bins, role, half in ((promises.top, "c0", 0), (promises.listed, "c1", 1)):
        fullest = max((b.count for b in bins), default=1)
        xs, ys = [], []
        for b in bins:
            x = left + side * (b.low + (b.high - b.low) * (0.1 + 0.42 * half))
            end, top = x + side * 0.38 * (b.high - b.low), bottom - strip * math.log1p(b.count) / math.log1p(fullest)
            xs += [x, x, end, end, x, math.nan]
            ys += [bottom, top, top, bottom, bottom, math.nan]
        page.fill(xs, ys, facecolor=theme[role], edgecolor="none", linewidth=0)


def _foot() -> list[str]:
    return [
        "across: confidence promised; up: how often it was kept; on the diagonal both agree",
        "circles, solid: the most confident class; squares, dashed: all listed classes",
        f"area: how many there are; bars: the same, log scale; bins below {JOINED} are not joined",
    ]
