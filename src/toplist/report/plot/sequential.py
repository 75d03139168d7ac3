"""Two models as cases come in: the difference so far with a band that holds at all times, and the evidence."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from toplist.inference.results import SequentialPath
from toplist.report.numbers import power_of_ten, signed
from toplist.report.plot.base import Plot
from toplist.report.plot.canvas import (
    LINE,
    SMALL,
    WIDTH,
    Axis,
    axis,
    cover,
    decimals,
    finite,
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
from toplist.report.plot.colours import Theme
from toplist.report.statements import ended, ending, findings, reason
from toplist.report.text import number_of, percent

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


FLOOR = -2  # powers of ten below which an e-value is drawn at the edge: it speaks against nothing
_HEAD, _UPPER, _BETWEEN, _LOWER = 26.0, 200.0, 34.0, 130.0
_POINTS = 160  # more add nothing that can be seen


@dataclass(frozen=True, slots=True)
class Path:
    """The path, with e-values as powers of ten; the columns have one entry for each number of cases in `at`."""

    rule: str
    candidate: str
    baseline: str
    level: float
    at: tuple[int, ...]
    mean: tuple[float, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]
    better: tuple[float, ...]
    worse: tuple[float, ...]
    separated: int | None
    shown_better: int | None
    shown_worse: int | None
    why: str
    words: str  # what it shows
    unit: str = "case"  # what it is looked at after

    @property
    def threshold(self) -> float:
        """The power of ten that an e-value has to reach: of 1 / (1 - level)."""
        return -math.log10(1 - self.level)

    @property
    def title(self) -> str:
        """What it is."""
        two, step = f"{said(self.candidate)} minus {said(self.baseline)}", f"{self.unit} by {self.unit}"
        return f"Mean {scored(self.rule)} score of {two}, {step}"


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
    """The difference so far with its confidence sequence, and below it the e-values with their threshold."""
    return Plot(_path(sequential_path), draw_path)


def paths(sequential_paths: Iterable[SequentialPath]) -> Plot[Paths]:
    """The same for several pairs, one below the other."""
    return Plot(Paths(tuple(map(_path, sequential_paths))), draw_all)


def _path(s: SequentialPath) -> Path:
    tens = 1 / math.log(10)
    return Path(
        rule=s.rule,
        candidate=s.candidate,
        baseline=s.baseline,
        level=s.level,
        at=s.at,
        mean=s.mean,
        low=s.low,
        high=s.high,
        better=tuple(x * tens for x in s.log_evidence_better),
        worse=tuple(x * tens for x in s.log_evidence_worse),
        separated=s.separated,
        shown_better=s.shown_better,
        shown_worse=s.shown_worse,
        why=s.reason,
        words=_path_words(s),
        unit=s.unit,
    )


def _path_words(s: SequentialPath) -> str:
    if not s.at:
        return "There are no cases."
    end = ending(s)
    digits = decimals([end.value])
    ends = [signed(x, digits) for x in (end.low, end.high) if x is not None]
    between = f"{' and '.join(ends)} at {percent(s.level)}" if ends else ""
    parts = [ended(s, said, scored(s.rule), signed(end.value, digits), between), *findings(s, said)]
    every = ["".join(one) for one in parts] + ([label(reason(s), 200)] if s.reason else [])
    return " ".join(f"{one[:1].upper()}{one[1:]}." for one in every)


def draw_path(data: Path, theme: Theme) -> Figure:
    """Cases across; the difference above, the evidence below."""
    return _stack((data,), theme)


def draw_all(data: Paths, theme: Theme) -> Figure:
    """One path below the other."""
    return _stack(data.paths, theme)


def _stack(paths: tuple[Path, ...], theme: Theme) -> Figure:
    feet = [_path_foot(one) for one in paths]
    heights = [_HEAD + _UPPER + _BETWEEN + _LOWER + 36 + LINE * len(foot) for foot in feet]
    figure = sheet(sum(heights, 14 * max(0, len(paths) - 1)) or _HEAD, theme)
    page = cover(figure, theme)
    top = 0.0
    for one, foot, height in zip(paths, feet, heights, strict=True):
        _draw(figure, page, one, theme, top)
        note(page, theme, foot, bottom=top + height)
        top += height + 14
    return figure


def _draw(figure: Figure, page: Axes, data: Path, theme: Theme, top: float) -> None:
    differences = _differences(data)
    powers, texts = _powers(data)
    left = 18 + SMALL * max(map(width, (*differences.texts, *texts)), default=0)
    room = WIDTH - left - 20
    upper = panel(figure, theme, left, top + _HEAD, room, _UPPER)
    lower = panel(figure, theme, left, top + _HEAD + _UPPER + _BETWEEN, room, _LOWER)
    cases = axis([0, *data.at[-1:]] if data.at else [], ticks=6, margin=0.0)
    keep = max(1, math.ceil(len(data.at) / _POINTS))
    chosen = [i for i in range(len(data.at)) if (len(data.at) - 1 - i) % keep == 0]
    for axes in (upper, lower):
        axes.set_xlim(0, max(data.at, default=1))
        rule_x(axes, cases.ticks, cases.texts if axes is lower else ("",) * len(cases.ticks), theme)
    upper.set_ylim(differences.low, differences.high)
    rule_y(upper, differences.ticks, differences.texts, theme)
    _difference(upper, data, chosen, theme)
    lower.set_ylim(powers[0] - 0.2, powers[-1] + 0.2)
    rule_y(lower, powers, texts, theme)
    _evidence(lower, data, chosen, theme, powers[0])
    who, other = labels((data.candidate, data.baseline), 14)
    said_above = f"{who} minus {other}: difference so far"
    write(page, left, top + 13, said_above, fontsize=SMALL, color=theme["ink"])
    between = top + _HEAD + _UPPER + _BETWEEN / 2
    write(page, left, between, "e-value: evidence that one is better", fontsize=SMALL, color=theme["ink"])


def _difference(axes: Axes, data: Path, chosen: list[int], theme: Theme) -> None:
    at = [data.at[i] for i in chosen]
    if data.low:
        low, high = axes.get_ylim()
        far = 10 * (high - low)  # infinite bounds become far ones, and both lie outside the axes
        floor = [max(data.low[i], low - far) for i in chosen]
        ceiling = [min(data.high[i], high + far) for i in chosen]
        axes.fill([*at, *reversed(at)], [*floor, *reversed(ceiling)], color=theme["c0"], alpha=0.2, linewidth=0)
        for edge in (floor, ceiling):
            axes.plot(at, edge, color=theme["c0"], linewidth=0.8)
    axes.axhline(0, color=theme["ink"], linewidth=1)
    axes.plot(
        at,
        [data.mean[i] if math.isfinite(data.mean[i]) else math.nan for i in chosen],
        color=theme["c0"],
        linewidth=1.8,
    )
    if data.separated is not None:
        axes.axvline(data.separated, color=theme["muted"], linewidth=1, dashes=(2, 2))


def _evidence(axes: Axes, data: Path, chosen: list[int], theme: Theme, floor: float) -> None:
    at = [data.at[i] for i in chosen]
    top = axes.get_ylim()[1]
    axes.axhline(data.threshold, color=theme["ink"], linewidth=1, dashes=(5, 3))
    solid: dict[str, Any] = {}
    dashed: dict[str, Any] = {"dashes": (4, 1.5)}
    for column, colour, style in ((data.worse, "c1", dashed), (data.better, "c0", solid)):
        values = [min(max(column[i], floor), top) for i in chosen] if column else []
        axes.plot(at[: len(values)], values, color=theme[colour], linewidth=1.8, **style)
    for when, colour in ((data.shown_better, "c0"), (data.shown_worse, "c1")):
        if when is not None:
            axes.axvline(when, color=theme["muted"], linewidth=1, dashes=(2, 2))
            axes.plot([when], [data.threshold], "o", color=theme[colour], markersize=6)


def _differences(data: Path) -> Axis:
    """Zero, the means, and the band as far as it is no wider than a few times the later half of the means and band."""
    half = len(data.at) // 2
    late = finite([0.0, *data.mean[half:], *data.low[half:], *data.high[half:]])
    low, high = min(late), max(late)
    reach = 1.5 * (high - low) or 1.0
    early = [x for x in finite([*data.mean, *data.low, *data.high]) if low - reach <= x <= high + reach]
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
    who, other = labels((data.candidate, data.baseline), 11)
    band = f"band: {percent(data.level)} at all times together; " if data.low else ""
    lines = [
        f"across: {data.unit}s; {band}below zero {who} is better" if data.at else "no cases",
        f"solid: for {who}; dashed: for {other}; line across: {1 / (1 - data.level):.3g}",
    ]
    axes = _differences(data)
    if any(not axes.low <= x <= axes.high for x in (*data.mean, *data.low, *data.high)):
        lines.append("the start runs beyond the upper axis")
    if data.why:
        lines.append(label(data.why, 46))
    return lines
