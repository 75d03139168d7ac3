"""Mean scores with their intervals, from best to worst; relative ones where predictors have different cases."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from toplist.plot.colours import Theme
from toplist.plot.figures.choosing import chosen, ordered, standing_of
from toplist.plot.labels import label, labels, said, scored, width
from toplist.plot.numbers import number
from toplist.plot.paper import LINE, SIZE, WIDTH, cover, note, panel, rule_x, sheet, write
from toplist.plot.plots import Plot
from toplist.plot.scales import axis, decimals, finite
from toplist.ranking.results import Results, Standing
from toplist.ranking.verdicts import mark_of
from toplist.words.counts import number_of, percent
from toplist.words.series import listed

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_ROW = 22.0


@dataclass(frozen=True, slots=True)
class Row:
    """One predictor; `low` and `high` are None where there is no interval, `member` where there is no set."""

    name: str
    score: float  # the mean, or the relative one
    low: float | None
    high: float | None
    infinite: int
    cases: int
    member: bool | None
    why: str  # there is no interval


@dataclass(frozen=True, slots=True)
class Intervals:
    """Predictors under one rule, best first."""

    rule: str
    level: float
    rows: tuple[Row, ...]
    set_level: float | None  # of the confidence set, where there is one
    relative: bool = False  # scores are relative to the others, on the cases of both

    @property
    def kind(self) -> str:
        """Which scores these are."""
        return "relative" if self.relative else "mean"

    @property
    def better(self) -> str:
        """Which of them are good."""
        return "below 1 is better" if self.relative else "lower is better"

    @property
    def line(self) -> float | None:
        """What the others are held against: 1 for relative scores, else the first mean, if it is finite."""
        if self.relative:
            return 1.0
        return self.rows[0].score if self.rows and math.isfinite(self.rows[0].score) else None

    @property
    def title(self) -> str:
        """What it is."""
        return f"{self.kind.capitalize()} {scored(self.rule)} score of {number_of(len(self.rows), 'predictor')}"

    @property
    def words(self) -> str:
        """What it shows."""
        digits = self.digits
        rows = [_words(row, digits, self.relative) for row in self.rows]
        text = (
            f"{self.better.capitalize()}. With {percent(self.level)} intervals, from best to worst: {'; '.join(rows)}."
        )
        if self.set_level is not None:
            members = [said(row.name) for row in self.rows if row.member]
            text += f" In the {percent(self.set_level)} confidence set of the best: {listed(members, 20) or 'nobody'}."
        return text

    @property
    def digits(self) -> int:
        """How many decimals show the means."""
        halves = [(row.high - row.low) / 2 for row in self.rows if row.low is not None and row.high is not None]
        means = [row.score for row in self.rows]
        fine = [h for h in finite(halves) if h > 0]
        return max(decimals(means), min(decimals([min(fine)], digits=1), 6) if fine else 0)


def intervals(results: Results, rule: str | None = None) -> Plot[Intervals]:
    """Mean scores with intervals, best first: dots and whiskers, filled in the confidence set of the best."""
    name = chosen(results, rule)
    found = results.confidence_set
    members = set(found.members) if found is not None and found.rule == name and found.p else None
    relative = results.missing == "pairwise"
    rows = tuple(_row(standing, name, members, relative) for standing in ordered(results, results.overall, name))
    level = found.level if found is not None and members is not None else None
    return Plot(Intervals(name, results.level, rows, level, relative), draw)


def _row(standing: Standing, rule: str, members: set[str] | None, relative: bool) -> Row:
    found = mark_of(standing, rule)
    score = standing_of(found, relative)
    member = None if members is None else standing.name in members
    return Row(standing.name, score.value, score.low, score.high, found.infinite, standing.cases, member, score.why)


def _words(row: Row, digits: int, relative: bool) -> str:
    if math.isnan(row.score):
        return f"{said(row.name)} has {_nothing(row, relative)}"
    if math.isinf(row.score):
        return f"{said(row.name)} has an infinite mean, with {number_of(row.infinite, 'infinite score')}"
    text = f"{said(row.name)} {number(row.score, digits)}"
    if row.low is not None and row.high is not None:
        text += f" ({number(row.low, digits)} to {number(row.high, digits)})"
    elif row.why:
        text += f" (no interval: {label(row.why, 100)})"
    return text


def _nothing(row: Row, relative: bool) -> str:
    return "no relative score" if relative and row.cases else "no cases"


def draw(data: Intervals, theme: Theme) -> Figure:
    """Rows down, scores across."""
    rows = data.rows
    names = labels(row.name for row in rows)
    values = [number(row.score, data.digits) if math.isfinite(row.score) else "" for row in rows]
    left = 16 + SIZE * max(map(width, names), default=0)
    right = 16 + SIZE * max(map(width, values), default=0)
    foot = _foot(data)
    height = _ROW * max(1, len(rows))
    figure = sheet(10 + height + 22 + LINE * len(foot) + 14, theme)
    axes = panel(figure, theme, left, 10, WIDTH - left - right, height)
    values_and_ends = [x for row in rows if math.isfinite(row.score) for x in (row.score, row.low, row.high)]
    scale = axis([*values_and_ends, *([data.line] if values_and_ends else [])])
    axes.set_xlim(scale.low, scale.high)
    axes.set_ylim(max(1, len(rows)) - 0.5, -0.5)
    rule_x(axes, scale.ticks, scale.texts, theme)
    axes.set_yticks(range(len(rows)), labels=names)
    axes.tick_params(axis="y", labelsize=SIZE, labelcolor=theme["ink"], pad=8)
    page = cover(figure, theme)
    if data.line is not None:
        axes.axvline(data.line, color=theme["muted"], linewidth=1, dashes=(4, 3))
    for at, (row, value) in enumerate(zip(rows, values, strict=True)):
        colour = theme["c0"]
        if math.isnan(row.score):
            write(axes, scale.low, at, f" {_nothing(row, data.relative)}", color=theme["muted"], over=theme["paper"])
            continue
        if math.isinf(row.score):
            axes.plot([scale.high], [at], marker=">", color=theme["c1"], markersize=8, clip_on=False)
            words = f"infinite: {number_of(row.infinite, 'case')}"
            where = scale.high - (scale.high - scale.low) * 14 / (WIDTH - left - right)
            write(axes, where, at, words, color=theme["ink"], ha="right", over=theme["paper"])
            continue
        if row.low is not None and row.high is not None:
            ends = max(row.low, scale.low), min(row.high, scale.high)
            axes.plot(ends, [at, at], color=colour, linewidth=2, solid_capstyle="butt")
        filled = row.member is not False
        face = colour if filled else theme["paper"]
        axes.plot([row.score], [at], "o", color=colour, markerfacecolor=face, markersize=7.5, markeredgewidth=1.8)
        write(page, WIDTH - 8, 10 + _ROW * (at + 0.5), value, color=theme["ink"], ha="right")
    note(page, theme, foot)
    return figure


def _foot(data: Intervals) -> list[str]:
    bars = any(row.low is not None for row in data.rows)
    lines = [
        f"{data.kind} {scored(data.rule)} score, {data.better}" + f"; bars: {percent(data.level)} intervals" * bars
    ]
    if data.set_level is not None:
        lines.append(f"filled: in the {percent(data.set_level)} confidence set of the best; hollow: not")
    return lines
