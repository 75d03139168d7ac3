"""Mean scores within each group of cases: who is best where."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from toplist.plot import legend
from toplist.plot.colours import CYCLE, Theme
from toplist.plot.figures.choosing import chosen, ordered, standing_of
from toplist.plot.labels import label, labels, said, scored, width
from toplist.plot.numbers import number
from toplist.plot.paper import LINE, SIZE, SMALL, WIDTH, cover, note, panel, rule_x, sheet, write
from toplist.plot.plots import Plot
from toplist.plot.scales import axis, decimals
from toplist.ranking.results import Results, Section
from toplist.ranking.verdicts import mark_of
from toplist.words.counts import number_of, percent
from toplist.words.series import listed

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_ROWS = ((4, 34.0), (12, 26.0), (40, 20.0), (10**9, 16.0))  # up to so many groups, the height of each


@dataclass(frozen=True, slots=True)
class Group:
    """The means in one group, or the relative scores, in the order of the predictors; NaN where there is none."""

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
class Groups:
    """Groups of cases under one rule; predictors best first over all cases."""

    rule: str
    by: str
    level: float
    names: tuple[str, ...]
    groups: tuple[Group, ...]
    relative: bool = False  # scores are relative to the others, on the cases of both

    @property
    def told_apart(self) -> int:
        """How many predictors have a marker of their own: the first ones, where all would be too many."""
        return len(self.names) if len(self.names) <= CYCLE + 1 else CYCLE

    @property
    def kind(self) -> str:
        """Which scores these are."""
        return "relative" if self.relative else "mean"

    @property
    def title(self) -> str:
        """What it is."""
        who, where = number_of(len(self.names), "predictor"), number_of(len(self.groups), "group")
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


def groups(results: Results, rule: str | None = None) -> Plot[Groups]:
    """A row of dots per group, one dot per predictor; the best of each group is filled."""
    name = chosen(results, rule)
    names = tuple(standing.name for standing in ordered(results, results.overall, name))
    relative = results.missing == "pairwise"
    found = tuple(_group(section, names, name, relative) for section in results.groups)
    return Plot(Groups(name, results.by or "group", results.level, names, found, relative), draw)


def _group(section: Section, names: tuple[str, ...], rule: str, relative: bool) -> Group:
    scores = {standing.name: standing_of(mark_of(standing, rule), relative) for standing in section.standings}
    means = tuple(scores[name].value if name in scores else math.nan for name in names)
    leader = scores[names[0]] if names and names[0] in scores else None
    low, high = (leader.low, leader.high) if leader is not None else (None, None)
    return Group("" if section.group is None else section.group, section.cases, means, low, high)


def draw(data: Groups, theme: Theme) -> Figure:
    """Groups down, scores across, a legend above."""
    names = labels(data.names, 13.0)[: data.told_apart]
    if len(names) < len(data.names):
        names.append(f"the other {len(data.names) - len(names)}")
    rows = labels((group.name for group in data.groups), 13.0)
    infinite = [sum(map(math.isinf, group.means)) for group in data.groups]
    left = 16 + SIZE * max(map(width, rows), default=0)
    right = 60.0 if any(infinite) else 16.0
    row = next(size for most, size in _ROWS if len(rows) <= most)
    head = 8 + legend.height(names) + 10
    height = row * max(1, len(rows))
    foot = _foot(data)
    figure = sheet(head + height + 24 + LINE * len(foot) + 12, theme)
    page = cover(figure, theme)
    legend.draw(page, names, theme, 8, told_apart=data.told_apart)
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


def _dots(axes: Axes, data: Groups, theme: Theme) -> None:
    known = [(y, g.low, g.high) for y, g in enumerate(data.groups) if g.low is not None and g.high is not None]
    xs = [x for _, low, high in known for x in (low, high, math.nan)]
    ys = [float(y) for y, _, _ in known for _ in range(3)]
    axes.plot(xs, ys, color=theme.cycle(0), linewidth=1.6, solid_capstyle="butt")
    for i in reversed(range(len(data.names))):  # the leader on top
        look: dict[str, Any] = {
            **legend.look_of(i, theme, data.told_apart),
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


def _foot(data: Groups) -> list[str]:
    better = "below 1 is better" if data.relative else "lower is better"
    lines = [f"{data.kind} {scored(data.rule)} score by {label(data.by, 12)}, {better}; filled: best of its group"]
    if any(group.low is not None for group in data.groups):
        lines.append(f"line: {percent(data.level)} interval of {label(data.names[0])}")
    if any(map(math.isinf, (mean for group in data.groups for mean in group.means))):
        lines.append("inf: so many predictors have an infinite mean")
    return lines
