"""Validation over the length of lists: mean scores by k, how sure they are, and which k is chosen."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from toplist.plot.colours import Theme
from toplist.plot.labels import scored, width
from toplist.plot.numbers import number
from toplist.plot.paper import LINE, SMALL, WIDTH, cover, note, panel, rule_x, rule_y, sheet, write
from toplist.plot.plots import Plot
from toplist.plot.scales import axis, counts, decimals, finite

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from toplist.improve.truncation import Truncation

SPAN = 30  # beyond it the axis of k is logarithmic
_HEIGHT = 230.0


@dataclass(frozen=True, slots=True)
class Point:
    """Lists cut at one place: their mean score, and the standard error of its difference to the best."""

    at: float  # how many classes, or how much mass
    score: float
    error: float  # NaN where there is none


@dataclass(frozen=True, slots=True)
class Validation:
    """The curve, its lowest point, and the one that is chosen."""

    rule: str
    by: str  # "k" or "mass"
    points: tuple[Point, ...]
    best: float
    chosen: float

    @property
    def title(self) -> str:
        """What it is."""
        what = "list length k" if self.by == "k" else "listed mass"
        return f"Mean {scored(self.rule)} score against {what}"

    @property
    def words(self) -> str:
        """What it shows."""
        if not self.points:
            return "There are no points."
        digits = max(3, decimals(p.score for p in self.points))
        scores = {p.at: number(p.score, digits) for p in self.points}
        text = f"Lower is better. The lowest mean is {scores.get(self.best, '')} at {self._at(self.best)}"
        if self.chosen == self.best:
            return f"{text}, and that is chosen."
        return f"{text}; {self._at(self.chosen)} with {scores.get(self.chosen, '')} is chosen."

    def _at(self, x: float) -> str:
        return f"k = {x:,.0f}" if self.by == "k" else f"mass {x:.3g}"


def truncation(found: Truncation) -> Plot[Validation]:
    """Mean score by k (or by mass), bars of one standard error of the difference to the best, and the choice."""
    points = tuple(
        Point(float(at), float(score), float(error))
        for at, score, error in zip(found.at, found.score, found.error, strict=True)
    )
    return Plot(Validation(found.rule, found.kind, points, float(found.best), float(found.chosen)), draw)


def draw(data: Validation, theme: Theme) -> Figure:
    """k across, scores up."""
    shown = _shown(data)
    values = [x for p in shown for x in (p.score, p.score - p.error, p.score + p.error)]
    scale = axis(values, ticks=6)
    left = 18 + SMALL * max(map(width, scale.texts), default=0)
    room, foot = WIDTH - left - 24, _foot(data, shown)
    figure = sheet(26 + _HEIGHT + 24 + LINE * len(foot) + 12, theme)
    axes = panel(figure, theme, left, 26, room, _HEIGHT)
    _rule(axes, data, shown, theme, room)
    axes.set_ylim(scale.low, scale.high)
    rule_y(axes, scale.ticks, scale.texts, theme)
    _curve(axes, data, shown, theme)
    _mark(figure, axes, data, shown, theme)
    note(cover(figure, theme), theme, foot)
    return figure


def _shown(data: Validation) -> tuple[Point, ...]:
    """Without empty lists, which would press all else to the lower edge; they are told in words."""
    kept = tuple(p for p in data.points if p.at or data.chosen == 0 or data.best == 0)
    return kept or data.points


def _rule(axes: Axes, data: Validation, shown: Sequence[Point], theme: Theme, room: float) -> None:
    ats = [p.at for p in shown] or [1.0]
    low, high = ats[0], ats[-1]
    if data.by != "k":
        scale = axis(ats, ticks=6, margin=0.02)
        axes.set_xlim(scale.low, scale.high)
        rule_x(axes, scale.ticks, scale.texts, theme)
        return
    place = {k: k for k in ats}
    ticks = ats
    if high - low > SPAN:
        axes.set_xscale("function", functions=(np.log1p, np.expm1))
        ticks = [float(k) for k in counts(int(high)) if low <= k]
        place = {k: math.log1p(k) for k in (*ticks, low, high)}
    unit = room / ((place[high] - place[low]) or 1)
    kept = [high]
    for k in reversed(ticks):
        texts = width(f"{k:,.0f}") + width(f"{kept[-1]:,.0f}")
        if (place[kept[-1]] - place[k]) * unit > 8 + SMALL * texts / 2:
            kept.append(k)
    kept.reverse()
    margin = 0.5 if low == high else 0.02 * (high - low) if high - low <= SPAN else 0.0
    axes.set_xlim(low - margin, high + margin)
    rule_x(axes, tuple(kept), tuple(f"{k:,.0f}" for k in kept), theme)


def _curve(axes: Axes, data: Validation, shown: Sequence[Point], theme: Theme) -> None:
    colour = theme["c0"]
    for p in shown:
        if math.isfinite(p.score) and math.isfinite(p.error) and p.error > 0:
            ends = [p.score - p.error, p.score + p.error]
            axes.plot([p.at, p.at], ends, color=colour, linewidth=1.4, alpha=0.6, clip_on=False)
    scores = [p.score if math.isfinite(p.score) else math.nan for p in shown]
    axes.plot([p.at for p in shown], scores, color=colour, linewidth=1.6, clip_on=False)
    look: dict[str, Any] = {"markeredgewidth": 1.3, "linestyle": "none", "clip_on": False}
    if len(shown) <= 40:
        axes.plot(
            [p.at for p in shown], scores, "o", color=colour, markerfacecolor=theme["paper"], markersize=5, **look
        )
    top = axes.get_ylim()[1]
    beyond = [p.at for p in shown if math.isinf(p.score)]
    axes.plot(beyond, [top] * len(beyond), "^", color=colour, markersize=6, **look)
    for at, shape, role in ((data.best, "o", "c0"), (data.chosen, "D", "c1")):
        where = [p for p in shown if p.at == at and math.isfinite(p.score)]
        axes.plot([p.at for p in where], [p.score for p in where], shape, color=theme[role], markersize=8, **look)


def _mark(figure: Figure, axes: Axes, data: Validation, shown: Sequence[Point], theme: Theme) -> None:
    """A line down from the name of the choice."""
    if not any(p.at == data.chosen for p in shown):
        return
    axes.axvline(data.chosen, color=theme["c1"], linewidth=1, dashes=(3, 2))
    page = cover(figure, theme)
    x = float((axes.transData + page.transData.inverted()).transform((data.chosen, axes.get_ylim()[1]))[0])
    text = f"chosen: {data._at(data.chosen)}"
    half = SMALL * width(text) / 2
    write(page, min(max(x, half + 4), WIDTH - half - 4), 13, text, fontsize=SMALL, ha="center", color=theme["ink"])


def _foot(data: Validation, shown: Sequence[Point]) -> list[str]:
    what = "k, the classes kept" if data.by == "k" else "mass that is kept"
    lines = [
        f"across: {what}; up: mean {scored(data.rule)} score on these cases, lower is better",
        "dot: lowest; diamond: choice; bars: one standard error of the difference to the lowest",
    ]
    left_out = [p for p in data.points if p not in shown]
    if left_out:
        digits = max(3, decimals(finite(p.score for p in left_out)))
        lines.append(f"empty lists score {number(left_out[0].score, digits)}")
    if any(math.isinf(p.score) for p in shown):
        lines.append("triangles at the upper edge: infinite means")
    return lines
