"""Scores against the length of lists: what is lost by cutting them to k classes."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from toplist.evidence.findings import Exhibit
from toplist.plot.colours import Theme, dashes, marker
from toplist.plot.labels import labels, said, scored, width
from toplist.plot.numbers import number
from toplist.plot.paper import LINE, SMALL, WIDTH, cover, note, panel, rule_x, rule_y, sheet, write
from toplist.plot.plots import Plot
from toplist.plot.scales import axis, counts, decimals, spread
from toplist.words.counts import number_of
from toplist.words.series import listed

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SPAN = 30  # beyond it the axis of k is logarithmic
_APART = 15.0  # labels


@dataclass(frozen=True, slots=True)
class Curve:
    """Mean scores of one predictor's lists, cut to k classes."""

    name: str
    ks: tuple[int, ...]
    scores: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Curves:
    """A curve per predictor; those without one are named."""

    rule: str
    curves: tuple[Curve, ...]
    without: tuple[str, ...]

    @property
    def logarithmic(self) -> bool:
        """Whether k spans too much for a plain axis."""
        ks = [k for curve in self.curves for k in curve.ks]
        return bool(ks) and max(ks) - min(ks) > SPAN

    @property
    def cut(self) -> bool:
        """Whether empty lists, k = 0, are told in words: drawn, they would press all else to the lower edge."""
        return any(0 in curve.ks and any(curve.ks) for curve in self.curves)

    @property
    def title(self) -> str:
        """What it is."""
        return f"Mean {scored(self.rule)} score against list length k, {number_of(len(self.curves), 'predictor')}"

    @property
    def words(self) -> str:
        """What it shows."""
        digits = decimals(score for curve in self.curves for score in curve.scores)
        said_of = [
            f"{said(c.name)} from {number(c.scores[0], digits)} at k = {c.ks[0]} "
            f"to {number(c.scores[-1], digits)} at k = {c.ks[-1]}"
            for c in self.curves
        ]
        text = f"Lower is better. {'; '.join(said_of)}." if said_of else "There are no curves."
        return text + f" Without a curve: {listed([said(name) for name in self.without], 20)}." * bool(self.without)


def curves(exhibits: Iterable[Exhibit]) -> Plot[Curves]:
    """Score against k, a line per predictor, told apart by colour, marker, line style and a label at its end."""
    every = tuple(exhibits)
    found = tuple(Curve(e.name, e.ks, e.curve) for e in every if e.curve)
    without = tuple(e.name for e in every if not e.curve)
    return Plot(Curves(every[0].rule if every else "", found, without), draw)


def draw(data: Curves, theme: Theme) -> Figure:
    """k across, scores up, names at the right."""
    names = labels((curve.name for curve in data.curves), 13.0)
    right = 40 + SMALL * max(map(width, names), default=0)
    shown = tuple(_shown(curve, data.cut) for curve in data.curves)
    scale = axis((s for curve in shown for s in curve.scores), ticks=6)
    left = 18 + SMALL * max(map(width, scale.texts), default=0)
    foot = _foot(data)
    height = max(240.0, _APART * len(names) + 10)
    figure = sheet(14 + height + 24 + LINE * len(foot) + 12, theme)
    axes = panel(figure, theme, left, 14, WIDTH - left - right, height)
    _rule_k(axes, shown, data.logarithmic, theme, WIDTH - left - right)
    axes.set_ylim(scale.low, scale.high)
    rule_y(axes, scale.ticks, scale.texts, theme)
    for i, curve in enumerate(shown):
        _line(axes, curve, i, theme, scale.high)
    page = cover(figure, theme)
    _name(page, axes, shown, names, theme)
    note(page, theme, foot)
    return figure


def _rule_k(axes: Axes, shown: tuple[Curve, ...], logarithmic: bool, theme: Theme, room: float) -> None:
    ks = sorted({k for curve in shown for k in curve.ks}) or [1]
    low, high = ks[0], ks[-1]
    if logarithmic:
        axes.set_xscale("function", functions=(np.log1p, np.expm1))
        ticks = [k for k in counts(high) if low <= k]
        place = {k: math.log1p(k) for k in [*ticks, low, high]}
    else:
        # a round number that no list was cut to is no number to mark
        ticks = ks
        place = {k: float(k) for k in ks}
    unit = room / ((place[high] - place[low]) or 1)
    kept = [high]  # the numbers that do not run into the next one
    for k in reversed(ticks):
        if (place[kept[-1]] - place[k]) * unit > 8 + SMALL * (width(f"{k:,}") + width(f"{kept[-1]:,}")) / 2:
            kept.append(k)
    kept.reverse()
    margin = 0.5 if low == high else 0.0
    axes.set_xlim(low - margin, high + margin)
    rule_x(axes, tuple(map(float, kept)), tuple(f"{k:,}" for k in kept), theme)


def _shown(curve: Curve, cut: bool) -> Curve:
    kept = [(k, s) for k, s in zip(curve.ks, curve.scores, strict=True) if k or not cut]
    return Curve(curve.name, tuple(k for k, _ in kept), tuple(s for _, s in kept))


def _line(axes: Axes, curve: Curve, i: int, theme: Theme, top: float) -> None:
    colour = theme.cycle(i)
    scores = [s if math.isfinite(s) else math.nan for s in curve.scores]
    style: dict[str, Any] = {"dashes": dashes(i)} if dashes(i) else {}
    axes.plot(curve.ks, scores, color=colour, linewidth=1.6, clip_on=False, **style)
    sparse = max(1, len(curve.ks) // 12)
    look: dict[str, Any] = {
        "color": colour,
        "markerfacecolor": theme["paper"],
        "markeredgewidth": 1.3,
        "linestyle": "none",
    }
    axes.plot(curve.ks[::sparse], scores[::sparse], marker=marker(i), markersize=5, clip_on=False, **look)
    beyond = [k for k, s in zip(curve.ks, curve.scores, strict=True) if math.isinf(s)]
    axes.plot(beyond, [top] * len(beyond), marker="^", color=colour, markersize=6, linestyle="none", clip_on=False)


def _name(page: Axes, axes: Axes, shown: tuple[Curve, ...], names: list[str], theme: Theme) -> None:
    """Labels at the right, as far apart as need be, each tied to the end of its line."""
    box = axes.bbox.transformed(page.transData.inverted())  # in pixels from the top left corner
    right, top, bottom = box.x1, min(box.y0, box.y1), max(box.y0, box.y1)
    where = axes.transData + page.transData.inverted()
    ends = [where.transform(_end(curve, axes.get_ylim()[1])) for curve in shown]
    places = spread([float(y) for _, y in ends], _APART, top, bottom)
    for i, ((x, y), place, text) in enumerate(zip(ends, places, names, strict=True)):
        page.plot([x + 4, right + 8, right + 18], [y, y, place], color=theme["muted"], linewidth=0.6)
        mark: dict[str, Any] = {
            "marker": marker(i),
            "markersize": 5,
            "markeredgewidth": 1.3,
            "markerfacecolor": theme["paper"],
        }
        page.plot([right + 24], [place], color=theme.cycle(i), **mark)
        write(page, right + 32, place, text, fontsize=SMALL, color=theme["ink"])


def _end(curve: Curve, top: float) -> tuple[float, float]:
    known = [(k, s) for k, s in zip(curve.ks, curve.scores, strict=True) if math.isfinite(s)]
    return known[-1] if known else (max(curve.ks, default=1), top)


def _foot(data: Curves) -> list[str]:
    lines = [f"mean {scored(data.rule)} score of lists cut to k classes, lower is better; across: k"]
    if data.cut:
        empty = {number(c.scores[0], decimals(c.scores)) for c in data.curves if c.ks[0] == 0}
        lines.append(f"empty lists, k = 0, score {listed(sorted(empty), 3)}")
    if any(math.isinf(s) for curve in data.curves for s in curve.scores):
        lines.append("triangles at the upper edge: infinite means")
    if data.without:
        lines.append(f"no curve: {listed(labels(data.without, 10), 3)}")
    return lines
