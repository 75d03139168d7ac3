"""Mean scores with their intervals, from best to worst; relative ones where models have different cases.

Which rule of a leaderboard is drawn, and in which order models come under it.

Mean scores within each group of cases: who is best where.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from toplist.errors import TopListError
from toplist.inference.results import Comparison, Estimate, Group, ModelRow, RuleScore
from toplist.report.numbers import number
from toplist.report.plot import canvas
from toplist.report.plot.base import Plot
from toplist.report.plot.canvas import (
    LINE,
    SIZE,
    SMALL,
    WIDTH,
    axis,
    cover,
    decimals,
    finite,
    label,
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
from toplist.report.plot.colours import CYCLE, Theme
from toplist.report.text import listed, number_of, percent

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def chosen(results: Comparison, rule: str | None) -> str:
    """The rule, the first one if none is named."""
    if rule is None:
        return results.rules[0]
    if rule not in results.rules:
        raise TopListError(f"{rule!r} is no rule of this leaderboard: there are {', '.join(map(repr, results.rules))}.")
    return rule


def standing_of(found: RuleScore, relative: bool) -> Estimate:
    """What a model stands by: the mean score, or what it is relative to the others on the cases of both.

    Infinite where the mean is; NaN, with the reason, where there are scores but none is relative.
    """
    if not relative or not math.isfinite(found.mean.value):
        return found.mean
    return found.relative or Estimate(math.nan, reason="no relative score, because a mean score is zero")


def ordered(results: Comparison, section: Group, rule: str) -> tuple[ModelRow, ...]:
    """Best first: as in the table under its first rule, by infinite scores and then what they stand by under others."""
    if rule == results.rules[0]:
        return section.rows

    def place(standing: ModelRow) -> tuple[float, float]:
        found = standing.scores[rule]
        mean = standing_of(found, results.missing == "pairwise").value
        mean = mean if math.isfinite(mean) else found.finite
        return (math.inf, 0.0) if math.isnan(found.mean.value) else (found.infinite, math.inf if mean != mean else mean)

    return tuple(sorted(section.rows, key=place))


_ROW = 22.0


@dataclass(frozen=True, slots=True)
class IntervalRow:
    """One model; `low` and `high` are None where there is no interval, `member` where there is no set."""

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
    """Models under one rule, best first."""

    rule: str
    level: float
    rows: tuple[IntervalRow, ...]
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
        return f"{self.kind.capitalize()} {scored(self.rule)} score of {number_of(len(self.rows), 'model')}"

    @property
    def words(self) -> str:
        """What it shows."""
        digits = self.digits
        rows = [_intervals_words(row, digits, self.relative) for row in self.rows]
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


def intervals(results: Comparison, rule: str | None = None) -> Plot[Intervals]:
    """Mean scores with intervals, best first: dots and whiskers, filled in the confidence set of the best."""
    name = chosen(results, rule)
    found = results.confidence_set
    members = set(found.members) if found is not None and found.rule == name and found.p else None
    relative = results.missing == "pairwise"
    rows = tuple(_row(standing, name, members, relative) for standing in ordered(results, results.overall, name))
    level = found.level if found is not None and members is not None else None
    return Plot(Intervals(name, results.level, rows, level, relative), draw_intervals)


def _row(standing: ModelRow, rule: str, members: set[str] | None, relative: bool) -> IntervalRow:
    found = standing.scores[rule]
    score = standing_of(found, relative)
    member = None if members is None else standing.name in members
    return IntervalRow(
        standing.name, score.value, score.low, score.high, found.infinite, standing.cases, member, score.reason
    )


def _intervals_words(row: IntervalRow, digits: int, relative: bool) -> str:
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


def _nothing(row: IntervalRow, relative: bool) -> str:
    return "no relative score" if relative and row.cases else "no cases"


def draw_intervals(data: Intervals, theme: Theme) -> Figure:
    """Rows down, scores across."""
    rows = data.rows
    names = labels(row.name for row in rows)
    values = [number(row.score, data.digits) if math.isfinite(row.score) else "" for row in rows]
    left = 16 + SIZE * max(map(width, names), default=0)
    right = 16 + SIZE * max(map(width, values), default=0)
    foot = _intervals_foot(data)
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


def _intervals_foot(data: Intervals) -> list[str]:
    bars = any(row.low is not None for row in data.rows)
    lines = [
        f"{data.kind} {scored(data.rule)} score, {data.better}" + f"; bars: {percent(data.level)} intervals" * bars
    ]
    if data.set_level is not None:
        lines.append(f"filled: in the {percent(data.set_level)} confidence set of the best; hollow: not")
    return lines


_ROWS = ((4, 34.0), (12, 26.0), (40, 20.0), (10**9, 16.0))  # up to so many groups, the height of each


@dataclass(frozen=True, slots=True)
class GroupPanel:
    """The means in one group, or the relative scores, in the order of the models; NaN where there is none."""

    name: str
    cases: int
    means: tuple[float, ...]
    low: float | None  # the interval of the overall leader
    high: float | None

    @property
    def best(self) -> int | None:
        """The place of the lowest finite mean."""
        known = [(mean, i) for i, mean in enumerate(self.means) if math.isfinite(mean)]
        return min(known)[1] if known else None


@dataclass(frozen=True, slots=True)
class GroupsData:
    """Groups of cases under one rule; models best first over all cases."""

    rule: str
    by: str
    level: float
    names: tuple[str, ...]
    groups: tuple[GroupPanel, ...]
    relative: bool = False  # scores are relative to the others, on the cases of both

    @property
    def told_apart(self) -> int:
        """How many models have a marker of their own: the first ones, where all would be too many."""
        return len(self.names) if len(self.names) <= CYCLE + 1 else CYCLE

    @property
    def kind(self) -> str:
        """Which scores these are."""
        return "relative" if self.relative else "mean"

    @property
    def title(self) -> str:
        """What it is."""
        who, where = number_of(len(self.names), "model"), number_of(len(self.groups), "group")
        return f"{self.kind.capitalize()} {scored(self.rule)} score of {who} in {where}"

    @property
    def words(self) -> str:
        """What it shows."""
        digits = decimals(mean for group in self.groups for mean in group.means)
        best = [
            f"{said(g.name)}: {said(self.names[g.best])} {number(g.means[g.best], digits)}"
            for g in self.groups
            if g.best is not None
        ]
        return f"Lower is better. The best in each group: {listed(best, 100)}." if best else "There are no groups."


def groups(results: Comparison, rule: str | None = None) -> Plot[GroupsData]:
    """A row of dots per group, one dot per model; the best of each group is filled."""
    name = chosen(results, rule)
    names = tuple(standing.name for standing in ordered(results, results.overall, name))
    relative = results.missing == "pairwise"
    found = tuple(_group(section, names, name, relative) for section in results.groups)
    return Plot(GroupsData(name, results.by or "group", results.level, names, found, relative), draw_groups)


def _group(section: Group, names: tuple[str, ...], rule: str, relative: bool) -> GroupPanel:
    scores = {standing.name: standing_of(standing.scores[rule], relative) for standing in section.rows}
    means = tuple(scores[name].value if name in scores else math.nan for name in names)
    leader = scores[names[0]] if names and names[0] in scores else None
    low, high = (leader.low, leader.high) if leader is not None else (None, None)
    return GroupPanel("" if section.group is None else section.group, section.cases, means, low, high)


def draw_groups(data: GroupsData, theme: Theme) -> Figure:
    """Groups down, scores across, a legend above."""
    names = labels(data.names, 13.0)[: data.told_apart]
    if len(names) < len(data.names):
        names.append(f"the other {len(data.names) - len(names)}")
    rows = labels((group.name for group in data.groups), 13.0)
    infinite = [sum(map(math.isinf, group.means)) for group in data.groups]
    left = 16 + SIZE * max(map(width, rows), default=0)
    right = 60.0 if any(infinite) else 16.0
    row = next(size for most, size in _ROWS if len(rows) <= most)
    head = 8 + canvas.height(names) + 10
    height = row * max(1, len(rows))
    foot = _groups_foot(data)
    figure = sheet(head + height + 24 + LINE * len(foot) + 12, theme)
    page = cover(figure, theme)
    canvas.draw(page, names, theme, 8, told_apart=data.told_apart)
    axes = panel(figure, theme, left, head, WIDTH - left - right, height)
    scale = axis([x for group in data.groups for x in (*group.means, group.low, group.high)], ticks=6)
    axes.set_xlim(scale.low, scale.high)
    axes.set_ylim(max(1, len(rows)) - 0.5, -0.5)
    rule_x(axes, scale.ticks, scale.texts, theme)
    if data.relative:
        axes.axvline(1, color=theme["muted"], linewidth=1, dashes=(4, 3))
    axes.set_yticks(range(len(rows)), labels=rows)
    axes.tick_params(axis="y", labelsize=SIZE if row > _ROWS[-1][1] else SMALL, labelcolor=theme["ink"], pad=8)
    for y in range(5, len(rows), 5):  # lines to lead the eye
        axes.axhline(y - 0.5, color=theme["grid"], linewidth=0.6)
    if not rows:
        write(page, left, head + height / 2, "no groups", color=theme["muted"])
    _dots(axes, data, theme)
    for y, count in enumerate(infinite):
        if count:
            write(
                page,
                WIDTH - 6,
                head + row * (y + 0.5),
                f"{count} inf ▸",
                fontsize=SMALL,
                ha="right",
                color=theme["ink"],
            )
    note(page, theme, foot)
    return figure


def _dots(axes: Axes, data: GroupsData, theme: Theme) -> None:
    known = [(y, g.low, g.high) for y, g in enumerate(data.groups) if g.low is not None and g.high is not None]
    xs = [x for _, low, high in known for x in (low, high, math.nan)]
    ys = [float(y) for y, _, _ in known for _ in range(3)]
    axes.plot(xs, ys, color=theme.cycle(0), linewidth=1.6, solid_capstyle="butt")
    for i in reversed(range(len(data.names))):  # the leader on top
        look: dict[str, Any] = {
            **canvas.look_of(i, theme, data.told_apart),
            "markersize": 5.5,
            "linestyle": "none",
            "clip_on": False,
        }
        means = [group.means[i] if math.isfinite(group.means[i]) else math.nan for group in data.groups]
        best = [i == group.best for group in data.groups]
        for filled in (False, True):
            chosen_rows = [y for y, b in enumerate(best) if b is filled and not math.isnan(means[y])]
            face = look["color"] if filled else "none"
            places = [means[y] for y in chosen_rows]
            axes.plot(places, chosen_rows, markerfacecolor=face, markeredgewidth=1.2, zorder=4 if filled else 3, **look)


def _groups_foot(data: GroupsData) -> list[str]:
    better = "below 1 is better" if data.relative else "lower is better"
    lines = [f"{data.kind} {scored(data.rule)} score by {label(data.by, 12)}, {better}; filled: best of its group"]
    if any(group.low is not None for group in data.groups):
        lines.append(f"line: {percent(data.level)} interval of {label(data.names[0])}")
    if any(map(math.isinf, (mean for group in data.groups for mean in group.means))):
        lines.append("inf: so many models have an infinite mean")
    return lines
