"""Figures of a leaderboard: mean scores with intervals, means in groups of cases, and every model against every other.

Where models have different cases, scores are relative to the others on the cases of both.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from toplist.errors import TopListError
from toplist.inference.ranking import PairwiseVerdict, confidence_set, judge, verdicts
from toplist.inference.results import Comparison, Estimate, Group, ModelRow, RuleScore
from toplist.report.numbers import number, signed
from toplist.report.plot import canvas
from toplist.report.plot.base import Plot
from toplist.report.plot.canvas import (
    SIZE,
    SMALL,
    WIDTH,
    axis,
    decimals,
    edges,
    finite,
    frame,
    label,
    labels,
    level,
    panel,
    room,
    rows_down,
    said,
    scored,
    tiles,
    write,
)
from toplist.report.plot.colours import CYCLE, STEPS, Theme, over, step
from toplist.report.statements import different
from toplist.report.text import listed, number_of, percent

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

WRITTEN = 14  # models up to which the cells of the matrix hold numbers
_ROW = 22.0
_ROWS = ((4, 34.0), (12, 26.0), (40, 20.0), (10**9, 16.0))  # up to so many groups, the height of each


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
        if math.isnan(found.mean.value):
            return math.inf, 0.0
        return found.infinite, math.inf if math.isnan(mean) else mean

    return tuple(sorted(section.rows, key=place))


# IntervalsData


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
class IntervalsData:
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
        rows = "; ".join(self._of(row, self.digits) for row in self.rows)
        text = f"{self.better.capitalize()}. With {percent(self.level)} intervals, from best to worst: {rows}."
        if self.set_level is not None:
            members = [said(row.name) for row in self.rows if row.member]
            text += f" In the {percent(self.set_level)} confidence set of the best: {listed(members, 20) or 'nobody'}."
        return text

    def _of(self, row: IntervalRow, digits: int) -> str:
        if math.isnan(row.score):
            return f"{said(row.name)} has {self.nothing(row)}"
        if math.isinf(row.score):
            return f"{said(row.name)} has an infinite mean, with {number_of(row.infinite, 'infinite score')}"
        text = f"{said(row.name)} {number(row.score, digits)}"
        if row.low is not None and row.high is not None:
            return f"{text} ({number(row.low, digits)} to {number(row.high, digits)})"
        return f"{text} (no interval: {label(row.why, 100)})" if row.why else text

    def nothing(self, row: IntervalRow) -> str:
        """What a row without a score has."""
        return "no relative score" if self.relative and row.cases else "no cases"

    @property
    def digits(self) -> int:
        """How many decimals show the means."""
        halves = [(row.high - row.low) / 2 for row in self.rows if row.low is not None and row.high is not None]
        fine = [h for h in finite(halves) if h > 0]
        return max(decimals(row.score for row in self.rows), min(decimals([min(fine)], digits=1), 6) if fine else 0)


def intervals(results: Comparison, rule: str | None = None) -> Plot[IntervalsData]:
    """Mean scores with intervals, best first: dots and whiskers, filled in the confidence set of the best.

    Parameters
    ----------
    results : Comparison
        Such as `board.comparison`.
    rule : str, optional
        The first one if it is not given.

    Returns
    -------
    Plot
    """
    name, relative = chosen(results, rule), results.missing == "pairwise"
    found = confidence_set(results, name) if results.pairs else None
    members = set(found.members) if found is not None and found.p else None
    rows = []
    for row in ordered(results, results.overall, name):
        mark, member = row.scores[name], None if members is None else row.name in members
        score = standing_of(mark, relative)
        numbers = (score.value, score.low, score.high, mark.infinite, row.cases)
        rows.append(IntervalRow(row.name, *numbers, member, score.reason))
    set_level = found.level if found is not None and members is not None else None
    return Plot(IntervalsData(name, results.level, tuple(rows), set_level, relative), draw_intervals)


def draw_intervals(data: IntervalsData, theme: Theme) -> Figure:
    """Rows down, scores across."""
    rows, names, top = data.rows, labels(row.name for row in data.rows), 10.0
    values = [number(row.score, data.digits) if math.isfinite(row.score) else "" for row in rows]
    left, right = room(names, SIZE, 16), room(values, SIZE, 16)
    bars = f"; bars: {percent(data.level)} intervals" * any(row.low is not None for row in rows)
    foot = [f"{data.kind} {scored(data.rule)} score, {data.better}{bars}"]
    if data.set_level is not None:
        foot.append(f"hollow: another model is significantly better (Holm, {percent(data.set_level)}); filled: none is")
    figure, axes, page = frame(theme, left, right, top, _ROW * max(1, len(rows)), foot)
    ends = [x for row in rows if math.isfinite(row.score) for x in (row.score, row.low, row.high)]
    scale = axis([*ends, *([data.line] if ends else [])])
    rows_down(axes, scale, names, theme)
    if data.line is not None:
        axes.axvline(data.line, color=theme["muted"], linewidth=1, dashes=(4, 3))
    for at, (row, value) in enumerate(zip(rows, values, strict=True)):
        if math.isnan(row.score):
            write(axes, scale.low, at, f" {data.nothing(row)}", color=theme["muted"], over=theme["paper"])
        elif math.isinf(row.score):
            axes.plot([scale.high], [at], marker=">", color=theme["c1"], markersize=8, clip_on=False)
            words = f"infinite: {number_of(row.infinite, 'case')}"
            where = scale.high - (scale.high - scale.low) * 14 / (WIDTH - left - right)
            write(axes, where, at, words, color=theme["ink"], ha="right", over=theme["paper"])
        else:
            _interval(axes, row, at, (scale.low, scale.high), theme)
            write(page, WIDTH - 8, top + _ROW * (at + 0.5), value, color=theme["ink"], ha="right")
    return figure


def _interval(axes: Axes, row: IntervalRow, at: int, limits: tuple[float, float], theme: Theme) -> None:
    colour = theme["c0"]
    if row.low is not None and row.high is not None:
        ends = max(row.low, limits[0]), min(row.high, limits[1])
        axes.plot(ends, [at, at], color=colour, linewidth=2, solid_capstyle="butt")
    face = theme["paper"] if row.member is False else colour
    axes.plot([row.score], [at], "o", color=colour, markerfacecolor=face, markersize=7.5, markeredgewidth=1.8)


# Groups


@dataclass(frozen=True, slots=True)
class GroupPanel:
    """The means in one group, or the relative scores, in the order of the models; NaN where there is none."""

    name: str
    cases: int
    means: tuple[float, ...]
    low: float | None  # the interval of the overall leader
    high: float | None
    beaten: tuple[bool, ...]  # another model is significantly better in this group

    @property
    def lowest(self) -> int | None:
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
        lowest = [
            f"{said(g.name)}: {said(self.names[g.lowest])} {number(g.means[g.lowest], digits)}"
            for g in self.groups
            if g.lowest is not None
        ]
        return (
            f"Lower is better. The lowest in each group: {listed(lowest, 100)}." if lowest else "There are no groups."
        )


def groups(results: Comparison, rule: str | None = None) -> Plot[GroupsData]:
    """A row of dots per group, one dot per model; hollow where another one is significantly better in the group.

    Parameters
    ----------
    results : Comparison
        Such as `board.comparison`.
    rule : str, optional
        The first one if it is not given.

    Returns
    -------
    Plot
    """
    name, relative = chosen(results, rule), results.missing == "pairwise"
    names = tuple(row.name for row in ordered(results, results.overall, name))
    nothing = Estimate(math.nan)
    found = []
    for section in results.groups:
        scores = {row.name: standing_of(row.scores[name], relative) for row in section.rows}
        leader = scores.get(names[0], nothing) if names else nothing
        means = tuple(scores.get(who, nothing).value for who in names)
        behind = {judge(pair, results.level).behind for pair in section.pairs if pair.rule == name}
        beaten = tuple(who in behind for who in names)
        found.append(GroupPanel(section.group or "", section.cases, means, leader.low, leader.high, beaten))
    return Plot(GroupsData(name, results.group or "group", results.level, names, tuple(found), relative), draw_groups)


def draw_groups(data: GroupsData, theme: Theme) -> Figure:
    """Groups down, scores across, a legend above."""
    names = labels(data.names, 13.0)[: data.told_apart]
    if len(names) < len(data.names):
        names.append(f"the other {len(data.names) - len(names)}")
    rows = labels((group.name for group in data.groups), 13.0)
    infinite = [sum(map(math.isinf, group.means)) for group in data.groups]
    left, right, head = room(rows, SIZE, 16), 60.0 if any(infinite) else 16.0, 18 + canvas.legend_height(names)
    row = next(size for most, size in _ROWS if len(rows) <= most)
    height = row * max(1, len(rows))
    figure, axes, page = frame(theme, left, right, head, height, _groups_foot(data))
    canvas.legend(page, names, theme, 8, told_apart=data.told_apart)
    scale = axis([x for group in data.groups for x in (*group.means, group.low, group.high)], ticks=6)
    rows_down(axes, scale, rows, theme, size=SIZE if row > _ROWS[-1][1] else SMALL)
    if data.relative:
        axes.axvline(1, color=theme["muted"], linewidth=1, dashes=(4, 3))
    for y in range(5, len(rows), 5):  # guide lines
        axes.axhline(y - 0.5, color=theme["grid"], linewidth=0.6)
    if not rows:
        write(page, left, head + height / 2, "no groups", color=theme["muted"])
    _dots(axes, data, theme)
    for y, n in enumerate(infinite):
        where, text = (WIDTH - 6, head + row * (y + 0.5)), f"{n} inf ▸"
        if n:
            write(page, *where, text, fontsize=SMALL, ha="right", color=theme["ink"])
    return figure


def _dots(axes: Axes, data: GroupsData, theme: Theme) -> None:
    known = [(y, g.low, g.high) for y, g in enumerate(data.groups) if g.low is not None and g.high is not None]
    xs = [x for _, low, high in known for x in (low, high, math.nan)]
    ys = [float(y) for y, _, _ in known for _ in range(3)]
    axes.plot(xs, ys, color=theme.cycle(0), linewidth=1.6, solid_capstyle="butt")
    look: dict[str, Any] = {"markersize": 5.5, "linestyle": "none", "clip_on": False, "markeredgewidth": 1.2}
    for i in reversed(range(len(data.names))):  # the leader on top
        own = canvas.look_of(i, theme, data.told_apart)
        for filled in (False, True):
            rows = [y for y, g in enumerate(data.groups) if g.beaten[i] is not filled and math.isfinite(g.means[i])]
            means, face = [data.groups[y].means[i] for y in rows], own["color"] if filled else "none"
            axes.plot(means, rows, markerfacecolor=face, zorder=4 if filled else 3, **own, **look)


def _groups_foot(data: GroupsData) -> list[str]:
    better = "below 1 is better" if data.relative else "lower is better"
    lines = [f"{data.kind} {scored(data.rule)} score by {label(data.by, 12)}, {better}"]
    if any(any(group.beaten) for group in data.groups):
        lines.append(f"hollow: another model is significantly better in the group (Holm, {percent(data.level)})")
    if any(group.low is not None for group in data.groups):
        lines.append(f"line: {percent(data.level)} interval of {label(data.names[0])}")
    if any(math.isinf(mean) for group in data.groups for mean in group.means):
        lines.append("inf: so many models have an infinite mean")
    return lines


# Pairs


@dataclass(frozen=True, slots=True)
class PairCell:
    """The model of the row minus that of the column."""

    row: int
    column: int
    difference: float  # NaN where there is none
    adjusted: float | None  # p by Holm's method
    significant: bool  # by the adjusted p


@dataclass(frozen=True, slots=True)
class Pairs:
    """Models under one rule, best first, and a cell for each two of them, in both orders."""

    rule: str
    level: float
    names: tuple[str, ...]
    cells: tuple[PairCell, ...]

    @property
    def edges(self) -> tuple[float, ...]:
        """Where the steps of the colour scale begin."""
        return edges([cell.difference for cell in self.cells], STEPS)

    @property
    def unit(self) -> int:
        """The power of ten that written differences are multiples of: with it they have at most three digits."""
        largest = max((abs(x) for x in finite(cell.difference for cell in self.cells)), default=0.0)
        return int(f"{largest:.0e}".partition("e")[2]) - 2 if largest else 0

    @property
    def title(self) -> str:
        """What it is."""
        return f"Differences of mean {scored(self.rule)} scores between {number_of(len(self.names), 'model')}"

    @property
    def words(self) -> str:
        """What it shows."""
        pairs = [cell for cell in self.cells if cell.row < cell.column]
        apart, digits = [cell for cell in pairs if cell.significant], max(0, -self.unit)
        some = [
            f"{said(self.names[c.row])} minus {said(self.names[c.column])} {signed(c.difference, digits)}"
            for c in apart
        ]
        text = different(sum(cell.adjusted is not None for cell in pairs), len(apart), len(pairs))
        return f"{text} (Holm, {percent(self.level)}){': ' if some else ''}{listed(some, 30)}."


def pairs(results: Comparison, rule: str | None = None) -> Plot[Pairs]:
    """The matrix of differences, row minus column: blue where the row is better; a dot where significantly.

    Parameters
    ----------
    results : Comparison
        Such as `board.comparison`.
    rule : str, optional
        The first one if it is not given.

    Returns
    -------
    Plot
    """
    name = chosen(results, rule)
    names = tuple(row.name for row in ordered(results, results.overall, name))
    place = {who: i for i, who in enumerate(names)}
    cells = [cell for verdict in verdicts(results, name) for cell in _cells(verdict, place)]
    return Plot(Pairs(name, results.level, names, tuple(sorted(cells, key=lambda c: (c.row, c.column)))), draw_pairs)


def _cells(verdict: PairwiseVerdict, place: dict[str, int]) -> tuple[PairCell, PairCell]:
    pair, difference = verdict.pair, verdict.pair.difference.value
    a, b, known = place[pair.a], place[pair.b], (pair.adjusted_p, verdict.significant)
    return PairCell(a, b, difference, *known), PairCell(b, a, 0.0 - difference, *known)


def draw_pairs(data: Pairs, theme: Theme) -> Figure:
    """Rows and columns in the same order; columns bear the numbers of the rows."""
    count, top, limits, unit = max(1, len(data.names)), 26.0, data.edges, data.unit  # either looks at all cells
    written = count <= WRITTEN
    names = labels(data.names, 11.0 if 8 < count <= WRITTEN else 14.0)
    left = room(names, SIZE, 38)
    side = min(44.0, (WIDTH - left - 8) / count)
    size = side * count
    units = f"numbers in units of {10.0**unit:g}; " * (written and unit != 0)
    foot = [f"mean {scored(data.rule)} score, row minus column; blue: the row has the lower mean"]
    foot.append(f"{units}dot: significantly different (Holm, {percent(data.level)})")
    figure, axes, page = frame(theme, left, WIDTH - left - size, top, size, foot, below=60)
    axes.set_xlim(-0.5, count - 0.5)
    axes.set_ylim(count - 0.5, -0.5)
    small: dict[str, Any] = {"fontsize": SMALL, "color": theme["muted"]}
    for i, name in enumerate(names):
        middle = side * (i + 0.5)
        write(page, left - 32, top + middle, name, ha="right", color=theme["ink"])
        write(page, left - 8, top + middle, str(i + 1), ha="right", **small)
        write(page, left + middle, 14, str(i + 1), ha="center", **small)
    known = [(cell, level(cell.difference, limits)) for cell in data.cells if not math.isnan(cell.difference)]
    for shade in range(-STEPS, STEPS + 1):
        at = [(c.column - 0.48, c.row - 0.48, c.column + 0.48, c.row + 0.48) for c, own in known if own == shade]
        tiles(axes, at, theme[step(shade)], clip_on=False)
    for cell, shade in known if written else ():
        shown = cell.difference / 10.0**unit
        weight = "bold" if cell.significant else "normal"
        look: dict[str, Any] = {"fontsize": min(10.0, 0.29 * side), "fontweight": weight, "color": theme[over(shade)]}
        write(axes, cell.column, cell.row, number(shown, 1 if abs(shown) < 9.95 else 0), ha="center", **look)
    for cell in data.cells:
        if math.isnan(cell.difference):
            write(axes, cell.column, cell.row, "?", fontsize=SMALL, ha="center", color=theme["muted"])
    shift, dot = (0.36, 3.2) if written else (0.0, 5.0)
    for shade in range(-STEPS, STEPS + 1):
        dots = [c for c, own in known if c.significant and own == shade]
        across, down = [c.column + shift for c in dots], [c.row - shift for c in dots]
        axes.plot(across, down, "o", color=theme[over(shade)], markersize=dot, markeredgewidth=0, clip_on=False)
    _key(figure, limits, theme, left, top + size + 12)
    return figure


def _key(figure: Figure, limits: tuple[float, ...], theme: Theme, left: float, top: float) -> None:
    """The colour scale, with the differences at which its steps begin."""
    shades = range(-len(limits), len(limits) + 1)
    side = min(46.0, (WIDTH - 32) / len(shades))
    axes = panel(figure, theme, min(left, WIDTH - 16 - side * len(shades)), top, side * len(shades), 10)
    axes.set_xlim(0, len(shades))
    axes.set_ylim(0, 1)
    for i, shade in enumerate(shades):
        axes.fill([i, i + 1, i + 1, i], [0, 0, 1, 1], facecolor=theme[step(shade)], edgecolor="none", linewidth=0)
    digits = max(0, -int(f"{limits[0]:e}".partition("e")[2])) if limits else 0
    bounds = [*(-x for x in reversed(limits)), *limits]
    axes.set_xticks(range(1, len(shades)), labels=[number(x, digits) for x in bounds])
