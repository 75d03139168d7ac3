"""Mean scores within each group of cases: who is best where."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from toplist.plot import legend
from toplist.plot.colours import Theme, marker
from toplist.plot.figures.choosing import chosen, mark, ordered
from toplist.plot.labels import counted, label, listing, number, percent, said, width
from toplist.plot.paper import LINE, SIZE, SMALL, WIDTH, cover, note, panel, rule_x, sheet, write
from toplist.plot.plots import Plot
from toplist.plot.scales import axis, decimals
from toplist.ranking.results import Results, Section

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


@dataclass(frozen=True, slots=True)
class Group:
    """The means in one group, in the order of the predictors; NaN where one has no cases."""

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

    @property
    def title(self) -> str:
        """What it is."""
        who, where = counted(len(self.names), "predictor"), counted(len(self.groups), "group")
        return f"Mean {said(self.rule)} score of {who} in {where}"

    @property
    def words(self) -> str:
        """What it shows."""
        digits = decimals(mean for group in self.groups for mean in group.means)
        best = [
            f"{said(g.name)}: {said(self.names[g.best])} {number(g.means[g.best], digits)}"
            for g in self.groups
            if g.best is not None
        ]
        return f"Lower is better. The best in each group: {listing(best, 100)}." if best else "There are no groups."


def groups(results: Results, rule: str | None = None) -> Plot[Groups]:
    """A row of dots per group, one dot per predictor; the best of each group is filled."""
    name = chosen(results, rule)
    names = tuple(standing.name for standing in ordered(results, results.overall, name))
    found = tuple(_group(section, names, name) for section in results.groups)
    return Plot(Groups(name, results.by or "group", results.level, names, found), draw)


def _group(section: Section, names: tuple[str, ...], rule: str) -> Group:
    marks = {standing.name: mark(standing, rule) for standing in section.standings}
    means = tuple(marks[name].score.value if name in marks else math.nan for name in names)
    leader = marks[names[0]].score if names and names[0] in marks else None
    low, high = (leader.low, leader.high) if leader is not None else (None, None)
    return Group("" if section.group is None else section.group, section.cases, means, low, high)


def draw(data: Groups, theme: Theme) -> Figure:
    """Groups down, scores across, a legend above."""
    names = [label(name, 13.0) for name in data.names]
    rows = [label(group.name, 13.0) for group in data.groups]
    infinite = [sum(map(math.isinf, group.means)) for group in data.groups]
    left = 16 + SIZE * max(map(width, rows), default=0)
    right = 60.0 if any(infinite) else 16.0
    row = 20.0 if len(rows) <= 40 else 16.0
    head = 8 + legend.height(names) + 10
    height = row * max(1, len(rows))
    foot = _foot(data)
    figure = sheet(head + height + 24 + LINE * len(foot) + 12, theme)
    page = cover(figure, theme)
    legend.draw(page, names, theme, 8)
    axes = panel(figure, theme, left, head, WIDTH - left - right, height)
    scale = axis([x for group in data.groups for x in (*group.means, group.low, group.high)], ticks=6)
    axes.set_xlim(scale.low, scale.high)
    axes.set_ylim(max(1, len(rows)) - 0.5, -0.5)
    rule_x(axes, scale.ticks, scale.texts, theme)
    axes.set_yticks(range(len(rows)), labels=rows)
    axes.tick_params(axis="y", labelsize=SIZE if row > 16 else SMALL, labelcolor=theme["ink"], pad=8)
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
            "marker": marker(i),
            "markersize": 5.5,
            "linestyle": "none",
            "color": theme.cycle(i),
            "clip_on": False,
        }
        means = [group.means[i] if math.isfinite(group.means[i]) else math.nan for group in data.groups]
        best = [i == group.best for group in data.groups]
        for filled in (False, True):
            chosen_rows = [y for y, b in enumerate(best) if b is filled and not math.isnan(means[y])]
            face = theme.cycle(i) if filled else "none"
            places = [means[y] for y in chosen_rows]
            axes.plot(places, chosen_rows, markerfacecolor=face, markeredgewidth=1.2, zorder=4 if filled else 3, **look)


def _foot(data: Groups) -> list[str]:
    lines = [f"mean {label(data.rule)} score by {label(data.by, 12)}, lower is better; filled: best of its group"]
    if any(group.low is not None for group in data.groups):
        lines.append(f"line: {percent(data.level)} interval of {label(data.names[0])}")
    if any(map(math.isinf, (mean for group in data.groups for mean in group.means))):
        lines.append("inf: so many predictors have an infinite mean")
    return lines
