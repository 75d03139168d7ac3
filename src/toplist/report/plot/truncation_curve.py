"""Scores against the length of lists: what is lost by cutting them to k classes.

Validation over the length of lists: mean scores by k, how sure they are, and which k is chosen.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from toplist.inference.results import ModelDetails
from toplist.report.numbers import number
from toplist.report.plot.base import Plot
from toplist.report.plot.canvas import (
    LINE,
    SMALL,
    WIDTH,
    axis,
    counts,
    cover,
    decimals,
    finite,
    labels,
    note,
    panel,
    rule_x,
    rule_y,
    said,
    scored,
    sheet,
    spread,
    width,
    write,
)
from toplist.report.plot.colours import Theme, dashes, marker
from toplist.report.text import listed, number_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from toplist.postprocess.truncation import Truncation


CURVES_SPAN = 30  # beyond it the axis of k is logarithmic
_APART = 15.0  # labels


@dataclass(frozen=True, slots=True)
class CurveSeries:
    """Mean scores of one model's lists, cut to k classes."""

    name: str
    ks: tuple[int, ...]
    scores: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Curves:
    """A curve per model; those without one are named."""

    rule: str
    curves: tuple[CurveSeries, ...]
    without: tuple[str, ...]

    @property
    def logarithmic(self) -> bool:
        """Whether k spans too much for a plain axis."""
        ks = [k for curve in self.curves for k in curve.ks]
        return bool(ks) and max(ks) - min(ks) > CURVES_SPAN

    @property
    def cut(self) -> bool:
        """Whether empty lists, k = 0, are told in words: drawn, they would press all else to the lower edge."""
        return any(0 in curve.ks and any(curve.ks) for curve in self.curves)

    @property
    def title(self) -> str:
        """What it is."""
        return f"Mean {scored(self.rule)} score against list length k, {number_of(len(self.curves), 'model')}"

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


def curves(exhibits: Iterable[ModelDetails]) -> Plot[Curves]:
    """Score against k, a line per model, told apart by colour, marker, line style and a label at its end."""
    every = tuple(exhibits)
    found = tuple(CurveSeries(e.name, e.ks, e.curve) for e in every if e.curve)
    without = tuple(e.name for e in every if not e.curve)
    return Plot(Curves(every[0].rule if every else "", found, without), draw_curves)


def draw_curves(data: Curves, theme: Theme) -> Figure:
    """k across, scores up, names at the right."""
    names = labels((curve.name for curve in data.curves), 13.0)
    right = 40 + SMALL * max(map(width, names), default=0)
    shown = tuple(_shown_curves(curve, data.cut) for curve in data.curves)
    scale = axis((s for curve in shown for s in curve.scores), ticks=6)
    left = 18 + SMALL * max(map(width, scale.texts), default=0)
    foot = _curves_foot(data)
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


def _rule_k(axes: Axes, shown: tuple[CurveSeries, ...], logarithmic: bool, theme: Theme, room: float) -> None:
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


def _shown_curves(curve: CurveSeries, cut: bool) -> CurveSeries:
    kept = [(k, s) for k, s in zip(curve.ks, curve.scores, strict=True) if k or not cut]
    return CurveSeries(curve.name, tuple(k for k, _ in kept), tuple(s for _, s in kept))


def _line(axes: Axes, curve: CurveSeries, i: int, theme: Theme, top: float) -> None:
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


def _name(page: Axes, axes: Axes, shown: tuple[CurveSeries, ...], names: list[str], theme: Theme) -> None:
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


def _end(curve: CurveSeries, top: float) -> tuple[float, float]:
    known = [(k, s) for k, s in zip(curve.ks, curve.scores, strict=True) if math.isfinite(s)]
    return known[-1] if known else (max(curve.ks, default=1), top)


def _curves_foot(data: Curves) -> list[str]:
    lines = [f"mean {scored(data.rule)} score of lists cut to k classes, lower is better; across: k"]
    if data.cut:
        empty = {number(c.scores[0], decimals(c.scores)) for c in data.curves if c.ks[0] == 0}
        lines.append(f"empty lists, k = 0, score {listed(sorted(empty), 3)}")
    if any(math.isinf(s) for curve in data.curves for s in curve.scores):
        lines.append("triangles at the upper edge: infinite means")
    if data.without:
        lines.append(f"no curve: {listed(labels(data.without, 10), 3)}")
    return lines


TRUNCATION_SPAN = 30  # beyond it the axis of k is logarithmic
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
    return Plot(Validation(found.rule, found.kind, points, float(found.best), float(found.chosen)), draw_truncation)


def draw_truncation(data: Validation, theme: Theme) -> Figure:
    """k across, scores up."""
    shown = _shown_truncation(data)
    values = [x for p in shown for x in (p.score, p.score - p.error, p.score + p.error)]
    scale = axis(values, ticks=6)
    left = 18 + SMALL * max(map(width, scale.texts), default=0)
    room, foot = WIDTH - left - 24, _truncation_foot(data, shown)
    figure = sheet(26 + _HEIGHT + 24 + LINE * len(foot) + 12, theme)
    axes = panel(figure, theme, left, 26, room, _HEIGHT)
    _rule(axes, data, shown, theme, room)
    axes.set_ylim(scale.low, scale.high)
    rule_y(axes, scale.ticks, scale.texts, theme)
    _curve(axes, data, shown, theme)
    _mark(figure, axes, data, shown, theme)
    note(cover(figure, theme), theme, foot)
    return figure


def _shown_truncation(data: Validation) -> tuple[Point, ...]:
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
    if high - low > TRUNCATION_SPAN:
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
    margin = 0.5 if low == high else 0.02 * (high - low) if high - low <= TRUNCATION_SPAN else 0.0
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


def _truncation_foot(data: Validation, shown: Sequence[Point]) -> list[str]:
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
