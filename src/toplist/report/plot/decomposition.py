"""What mean scores are made of: uncertainty and misses, less discrimination, plus miscalibration, step by step."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from toplist.report.numbers import number, signed
from toplist.report.plot.base import Plot
from toplist.report.plot.canvas import (
    LINE,
    SIZE,
    SMALL,
    WIDTH,
    axis,
    cover,
    decimals,
    labels,
    note,
    panel,
    rule_x,
    said,
    scored,
    sheet,
    width,
    write,
)
from toplist.report.plot.colours import Theme
from toplist.report.text import number_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from toplist.calibration import Decomposition


_BAR, _GAP, _HEAD = 16.0, 16.0, 8.0
_ROLES = {
    "uncertainty": "muted",
    "misses": "c3",
    "discrimination": "c0",
    "miscalibration": "c1",
    "penalty": "c4",
    "within": "c6",
}
"""The steps from zero to the score, in order."""
_ALWAYS = ("uncertainty", "discrimination", "miscalibration")


@dataclass(frozen=True, slots=True)
class Step:
    """One part of a score: from where it goes, and how far, with its sign."""

    name: str
    start: float
    change: float


@dataclass(frozen=True, slots=True)
class DecompositionRow:
    """One model; a score that has no parts, because it is infinite, has no steps."""

    name: str
    score: float
    steps: tuple[Step, ...]


@dataclass(frozen=True, slots=True)
class Parts:
    """The steps to the mean score of each model."""

    rule: str
    rows: tuple[DecompositionRow, ...]

    @property
    def digits(self) -> int:
        """How many decimals show the small parts beside the large ones."""
        return max(3, decimals(row.score for row in self.rows))

    @property
    def title(self) -> str:
        """What it is."""
        return f"What the mean {scored(self.rule)} score is made of, {number_of(len(self.rows), 'model')}"

    @property
    def words(self) -> str:
        """What it shows."""
        return " ".join(self._of(row) for row in self.rows) or "There are no models."

    def _of(self, row: DecompositionRow) -> str:
        parts = (f"{step.name} {signed(step.change, self.digits)}" for step in row.steps)
        return f"{said(row.name)}: {', '.join(parts) or 'no parts'}, score {number(row.score, self.digits)}."


def decomposition(found: Decomposition | Mapping[str, Decomposition]) -> Plot[Parts]:
    """Bars from zero to the score: what nobody knows, what confidence achieves, what miscalibration costs."""
    every = found if isinstance(found, Mapping) else {"": found}
    rows = tuple(_row(str(name), one) for name, one in every.items())
    rules = [one.rule for one in every.values()]
    return Plot(Parts(rules[0] if rules else "", rows), draw_decomposition)


def _row(name: str, one: Decomposition) -> DecompositionRow:
    steps, at = [], 0.0
    for part in _ROLES:
        value = getattr(one, part)
        if value is None or not math.isfinite(value):
            return DecompositionRow(name, float(one.score), ())
        change = -float(value) if part == "discrimination" else float(value)
        if change or part in _ALWAYS:
            steps.append(Step(part, at, change))
            at += change
    return DecompositionRow(name, float(one.score), tuple(steps))


def draw_decomposition(data: Parts, theme: Theme) -> Figure:
    """A block of bars per model, the parts and their sizes named to the right."""
    names = labels((row.name for row in data.rows), 9.5) if any(row.name for row in data.rows) else [""]
    left = 16 + SIZE * max(map(width, names), default=0)
    right = 20 + SMALL * width("miscalibration +0.0000")
    blocks = [_BAR * (len(row.steps) + 1) for row in data.rows]
    height = sum(blocks) + _GAP * max(0, len(blocks) - 1) or _BAR
    foot = [f"bars from left to right and back: how the mean {scored(data.rule)} score comes about; lower is better"]
    foot.append("uncertainty: knowing only frequencies; discrimination: what the confidences tell apart;")
    foot.append("miscalibration: what is lost because they are not frequencies; line: the score")
    if any(step.name == "misses" for row in data.rows for step in row.steps):
        foot.append("misses: what unlisted outcomes cost whatever the rest mass is")
    if any(step.name == "within" for row in data.rows for step in row.steps):
        foot.append("within: what bins hide")
    if any(not row.steps for row in data.rows):
        foot.append("a score that is infinite has no parts")
    figure = sheet(_HEAD + height + 24 + LINE * len(foot) + 14, theme)
    axes = panel(figure, theme, left, _HEAD, WIDTH - left - right, height)
    ends = [x for row in data.rows for step in row.steps for x in (step.start, step.start + step.change)]
    scale = axis([0.0, *ends, *(row.score for row in data.rows)])
    axes.set_xlim(min(0.0, *ends) if ends else 0.0, scale.high)
    axes.set_ylim(height, 0)
    rule_x(
        axes, tuple(t for t in scale.ticks if t >= axes.get_xlim()[0]), _texts(axes, scale.ticks, scale.texts), theme
    )
    page, top = cover(figure, theme), 0.0
    for row, name, block in zip(data.rows, names, blocks, strict=False):
        write(page, left - 8, _HEAD + top + _BAR / 2, name, ha="right", color=theme["ink"])
        _block(axes, page, row, data.digits, theme, top, right)
        top += block + _GAP
    note(page, theme, foot)
    return figure


def _texts(axes: Axes, ticks: tuple[float, ...], texts: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(text for tick, text in zip(ticks, texts, strict=True) if tick >= axes.get_xlim()[0])


def _block(axes: Axes, page: Axes, row: DecompositionRow, digits: int, theme: Theme, top: float, right: float) -> None:
    start = WIDTH - right + 14
    for i, step in enumerate(row.steps):
        y, end = top + _BAR * (i + 0.5), step.start + step.change
        half = _BAR * 0.36
        xs = [step.start, end, end, step.start]
        axes.fill(xs, [y - half, y - half, y + half, y + half], facecolor=theme[_ROLES[step.name]], linewidth=0)
        axes.plot([end, end], [y + half, y + _BAR - half], color=theme["muted"], linewidth=0.8)
        text = f"{step.name} {signed(step.change, digits)}"
        write(page, start, _HEAD + y, text, fontsize=SMALL, color=theme["ink"])
    y = top + _BAR * (len(row.steps) + 0.5)
    if row.steps:
        axes.plot([row.score] * 2, [y - _BAR / 2, y + _BAR / 2], color=theme["ink"], linewidth=2.2)
    said_of = f"score {number(row.score, digits)}" if not math.isnan(row.score) else "no score"
    write(page, start, _HEAD + y, said_of, fontsize=SMALL, color=theme["ink"], fontweight="bold")
