"""Two models as cases come in: the difference so far with a band that holds at all times, and the evidence."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from toplist.inference.results import SequentialPath
from toplist.report.numbers import power_of_ten
from toplist.report.plot.base import Plot
from toplist.report.plot.canvas import (
    LINE,
    SMALL,
    WIDTH,
    Axis,
    axis,
    cover,
    drawable,
    finite,
    label,
    labels,
    note,
    panel,
    room,
    rule_x,
    rule_y,
    said,
    scored,
    sheet,
    write,
)
from toplist.report.plot.colours import Theme
from toplist.report.statements import path_story
from toplist.report.text import Name, number_of, percent

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


FLOOR = -2  # powers of ten below which an e-value, which is no evidence then, is drawn at the edge
_HEAD, _UPPER, _BETWEEN, _LOWER = 26.0, 200.0, 34.0, 130.0
_POINTS = 160  # more add nothing that can be seen


@dataclass(frozen=True, slots=True)
class Path:
    """A path, with e-values as powers of ten, one for each number of cases in `of.at`."""

    of: SequentialPath
    better: tuple[float, ...]
    worse: tuple[float, ...]

    @property
    def threshold(self) -> float:
        """The power of ten that an e-value has to reach: of the number of candidates over 1 - level."""
        return math.log10(self.of.candidates / (1 - self.of.level))

    @property
    def title(self) -> str:
        """What it is."""
        two = f"{said(self.of.candidate)} minus {said(self.of.baseline)}"
        return f"Mean {scored(self.of.rule)} score of {two}, {self.of.unit} by {self.of.unit}"

    @property
    def words(self) -> str:
        """What it shows."""
        shown = {who: Name(said(who)) for who in (self.of.candidate, self.of.baseline)}
        return " ".join(map(str, path_story(self.of, shown))) if self.of.at else "There are no cases."


@dataclass(frozen=True, slots=True)
class Paths:
    """Several paths, one below the other."""

    paths: tuple[Path, ...]

    @property
    def title(self) -> str:
        """What it is."""
        return f"Differences of mean scores, step by step, of {number_of(len(self.paths), 'pair')}"

    @property
    def words(self) -> str:
        """What it shows."""
        return " ".join(f"{one.title}. {one.words}" for one in self.paths) or "There are no paths."


def path(sequential_path: SequentialPath) -> Plot[Path]:
    """The difference so far with its confidence sequence, and below it the e-values with their threshold.

    Parameters
    ----------
    sequential_path : SequentialPath
        As `tl.monitor` finds them.

    Returns
    -------
    Plot
    """
    return Plot(_path(sequential_path), draw_path)


def paths(sequential_paths: Iterable[SequentialPath]) -> Plot[Paths]:
    """Paths of several pairs, one below the other, each with its confidence sequence and its e-values.

    Parameters
    ----------
    sequential_paths : iterable of SequentialPath
        As `tl.monitor` finds them.

    Returns
    -------
    Plot
    """
    return Plot(Paths(tuple(map(_path, sequential_paths))), draw_paths)


def _path(of: SequentialPath) -> Path:
    tens = 1 / math.log(10)
    return Path(of, tuple(x * tens for x in of.log_evidence_better), tuple(x * tens for x in of.log_evidence_worse))


def draw_path(data: Path, theme: Theme) -> Figure:
    """One path alone."""
    return draw_paths(Paths((data,)), theme)


def draw_paths(data: Paths, theme: Theme) -> Figure:
    """Cases across; the difference above, the evidence below, one path below the other."""
    feet = [_path_foot(one) for one in data.paths]
    heights = [_HEAD + _UPPER + _BETWEEN + _LOWER + 36 + LINE * len(foot) for foot in feet]
    figure = sheet(sum(heights, 14 * max(0, len(feet) - 1)) or _HEAD, theme)
    page, top = cover(figure, theme), 0.0
    for one, foot, height in zip(data.paths, feet, heights, strict=True):
        _draw(figure, page, one, theme, top)
        note(page, theme, foot, bottom=top + height)
        top += height + 14
    return figure


def _draw(figure: Figure, page: Axes, data: Path, theme: Theme, top: float) -> None:
    at, differences = data.of.at, _differences(data.of)
    powers, texts = _powers(data)
    left = room((*differences.texts, *texts))
    middle = top + _HEAD + _UPPER + _BETWEEN
    upper = panel(figure, theme, left, top + _HEAD, WIDTH - left - 20, _UPPER)
    lower = panel(figure, theme, left, middle, WIDTH - left - 20, _LOWER)
    cases = axis([0, *at[-1:]] if at else [], ticks=6, margin=0.0)
    for axes, numbers in ((upper, ("",) * len(cases.ticks)), (lower, cases.texts)):
        axes.set_xlim(0, max(at, default=1))
        rule_x(axes, cases.ticks, numbers, theme)
    keep = max(1, math.ceil(len(at) / _POINTS))
    chosen = [i for i in range(len(at)) if (len(at) - 1 - i) % keep == 0]
    upper.set_ylim(differences.low, differences.high)
    rule_y(upper, differences.ticks, differences.texts, theme)
    _difference(upper, data.of, chosen, theme)
    lower.set_ylim(powers[0] - 0.2, powers[-1] + 0.2)
    rule_y(lower, powers, texts, theme)
    _evidence(lower, data, chosen, theme, powers[0])
    who, other = labels((data.of.candidate, data.of.baseline), 14)
    for y, text in (
        (top + 13, f"{who} minus {other}: difference so far"),
        (middle - _BETWEEN / 2, "e-value: evidence that one is better"),
    ):
        write(page, left, y, text, fontsize=SMALL, color=theme["ink"])


def _difference(axes: Axes, of: SequentialPath, chosen: list[int], theme: Theme) -> None:
    at, colour = [of.at[i] for i in chosen], theme["c0"]
    if of.low:
        low, high = axes.get_ylim()
        far = 10 * (high - low)  # infinite bounds become far ones, and both lie outside the axes
        floor = [max(of.low[i], low - far) for i in chosen]
        ceiling = [min(of.high[i], high + far) for i in chosen]
        axes.fill([*at, *reversed(at)], [*floor, *reversed(ceiling)], color=colour, alpha=0.2, linewidth=0)
        for edge in (floor, ceiling):
            axes.plot(at, edge, color=colour, linewidth=0.8)
    axes.axhline(0, color=theme["ink"], linewidth=1)
    axes.plot(at, drawable(of.mean[i] for i in chosen), color=colour, linewidth=1.8)
    if of.separated is not None:
        axes.axvline(of.separated, color=theme["muted"], linewidth=1, dashes=(2, 2))


def _evidence(axes: Axes, data: Path, chosen: list[int], theme: Theme, floor: float) -> None:
    at, top = [data.of.at[i] for i in chosen], axes.get_ylim()[1]
    axes.axhline(data.threshold, color=theme["ink"], linewidth=1, dashes=(5, 3))
    solid: dict[str, Any] = {}
    dashed: dict[str, Any] = {"dashes": (4, 1.5)}
    for column, colour, style in ((data.worse, "c1", dashed), (data.better, "c0", solid)):
        values = [min(max(column[i], floor), top) for i in chosen] if column else []
        axes.plot(at[: len(values)], values, color=theme[colour], linewidth=1.8, **style)
    for when, colour in ((data.of.shown_better, "c0"), (data.of.shown_worse, "c1")):
        if when is not None:
            axes.axvline(when, color=theme["muted"], linewidth=1, dashes=(2, 2))
            axes.plot([when], [data.threshold], "o", color=theme[colour], markersize=6)


def _differences(of: SequentialPath) -> Axis:
    """Zero, the means, and the band as far as it is no wider than a few times the later half of the means and band."""
    half = len(of.at) // 2
    late = finite([0.0, *of.mean[half:], *of.low[half:], *of.high[half:]])
    low, high = min(late), max(late)
    reach = 1.5 * (high - low) or 1.0
    early = [x for x in finite([*of.mean, *of.low, *of.high]) if low - reach <= x <= high + reach]
    return axis([low, high, *early])


def _powers(data: Path) -> tuple[tuple[float, ...], tuple[str, ...]]:
    """Powers of ten to mark: up to the largest e-value, down to the floor, or to 1 where steps are long."""
    largest = max(finite([*data.better, *data.worse, data.threshold + 0.5]))
    smallest = min([*data.better, *data.worse, 0.0])
    floor = max(FLOOR, math.floor(max(smallest, FLOOR)))
    wanted = (largest - floor) / 6
    step = next(m * 10**e for e in range(400) for m in (1, 2, 5) if m * 10**e >= wanted)
    if step > 2:
        floor = 0
    start = floor if step == 1 else 0
    marks = sorted({floor, *range(start, math.ceil(largest / step) * step + 1, step)})
    texts = ["≤ " * (mark == floor and smallest < floor) + power_of_ten(mark) for mark in marks]
    return tuple(map(float, marks)), tuple(texts)


def _path_foot(data: Path) -> list[str]:
    of, axes = data.of, _differences(data.of)
    who, other = labels((of.candidate, of.baseline), 11)
    band = f"band: {percent(of.level)} at all times together; " if of.low else ""
    lines = [
        f"across: {of.unit}s; {band}below zero {who} is better" if of.at else "no cases",
        f"solid: for {who}; dashed: for {other}; line across: {of.candidates / (1 - of.level):.3g}",
    ]
    if any(not axes.low <= x <= axes.high for x in (*of.mean, *of.low, *of.high)):
        lines.append("the start runs beyond the upper axis")
    if of.reason:
        lines.append(label(of.reason, 46))
    return lines
