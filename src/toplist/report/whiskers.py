"""Means with whiskers as SVG, the axis that they share, and bars that join models without a significant difference."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from toplist._text import fixed
from toplist.inference.ranking import tie_groups
from toplist.inference.results import Comparison, Estimate
from toplist.report.text import round_numbers

HEIGHT = 30  # pixels of a row
_MARGIN = 0.06  # of the axis, free at either end
_TICKS = 5  # steps of an axis, at most


@dataclass(frozen=True, slots=True)
class Svg:
    """A small drawing in a cell; every text in it is escaped by its maker."""

    markup: str

    def __str__(self) -> str:
        return ""

    def __html__(self) -> str:
        return self.markup


@dataclass(frozen=True, slots=True)
class WhiskerAxis:
    """A range of numbers, in per cent of a width."""

    low: float
    high: float

    def at(self, x: float) -> float:
        """Where a number lies, in per cent of the width; what lies outside is at the end."""
        inside = (1 - 2 * _MARGIN) * (x - self.low) / (self.high - self.low) + _MARGIN
        return round(100 * min(max(inside, 0.0), 1.0), 2)

    def drawn(self, extra: str = "") -> Svg:
        """The round numbers in it with their ticks."""
        marks, digits = round_numbers(self.low, self.high, _TICKS)
        ticks = "".join(
            f'<line x1="{at}%" x2="{at}%" y2="4"/><text x="{at}%" y="16">{fixed(x, digits)}</text>'
            for x, at in zip(marks, map(self.at, marks), strict=True)
        )
        return Svg(f'<svg class="axis" height="20" aria-hidden="true">{ticks}{extra}</svg>')


def axis(estimates: Sequence[Estimate], *, also: Sequence[float] = ()) -> WhiskerAxis | None:
    """The range of the estimates and their intervals; nothing where there is no finite one."""
    ends = [x for e in estimates for x in (e.value, e.low, e.high) if x is not None and math.isfinite(x)]
    if not ends:
        return None
    low, high = min([*ends, *also]), max([*ends, *also])
    if high == low:
        low, high = low - (abs(low) or 1) / 10, high + (abs(high) or 1) / 10
    return WhiskerAxis(low, high)


def in_words(mean: Estimate, digits: int, level: str) -> str:
    """A mean with its interval."""
    value, low, high = (fixed(x, digits) for x in (mean.value, mean.low, mean.high))
    return f"{value}, {level} CI {low} to {high}" if mean.low is not None else value


def whisker(axis: WhiskerAxis, estimate: Estimate, words: str, *, line: float | None = None, blue: bool = True) -> Svg:
    """A mean and its interval on the axis, and a dotted line across."""
    dotted = "" if line is None else f'<line class="ref" x1="{axis.at(line)}%" x2="{axis.at(line)}%" y2="100%"/>'
    if not math.isfinite(estimate.value):
        return Svg(f'<svg class="interval" height="{HEIGHT}" aria-hidden="true">{dotted}</svg>')
    low, high = (estimate.value if x is None else x for x in (estimate.low, estimate.high))
    return Svg(
        f'<svg class="interval{" best" if blue else ""}" height="{HEIGHT}" role="img"><title>{escape(words)}</title>'
        f'{dotted}<line x1="{axis.at(low)}%" x2="{axis.at(high)}%" y1="50%" y2="50%"/>'
        f'<circle cx="{axis.at(estimate.value)}%" cy="50%" r="4"/></svg>'
    )


def tie_runs(results: Comparison) -> list[tuple[int, int]]:
    """The first and the last row of each run of models without a significant difference under the first rule."""
    place = {row.name: i for i, row in enumerate(results.overall.rows)}
    return [(place[run[0]], place[run[-1]]) for run in tie_groups(results)]


def lanes(runs: Sequence[tuple[int, int]], *, gap: int = 0) -> list[int]:
    """The lane of each run's bar: beside each other where they share rows, or have fewer rows than the gap between."""
    ends: list[int] = []
    beside = []
    for first, last in runs:
        lane = next((i for i, end in enumerate(ends) if end + gap < first), len(ends))
        ends[lane : lane + 1] = [last]
        beside.append(lane)
    return beside
