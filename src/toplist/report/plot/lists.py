"""Figures of lists: score against their length, against what validation keeps or answers, their lengths and shapes."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from toplist.inference.results import KINDS, ModelDetails
from toplist.report.numbers import number, share
from toplist.report.plot.base import Plot
from toplist.report.plot.canvas import (
    APART,
    SIZE,
    SMALL,
    WIDTH,
    axis,
    decimals,
    drawable,
    finite,
    frame,
    is_long,
    label,
    labels,
    line_style,
    name_lines,
    room,
    rows_down,
    rule_k,
    rule_x,
    rule_y,
    said,
    scored,
    tiles,
    width,
    write,
)
from toplist.report.plot.colours import Theme, marker
from toplist.report.text import count, listed, number_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from toplist.postprocess.selective import RejectionCurve
    from toplist.postprocess.truncation import Truncation

POINTS = 200  # of a line of rejection: closer ones cannot be told apart
BARS = 40  # beyond it, neighbouring lengths share a bar
_FEWEST = 6  # bars that there is room for
_TRIANGLES = "triangles at the upper edge: infinite means"


# Score against k


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
        return is_long([k for curve in self.curves for k in curve.ks])

    @property
    def cut(self) -> bool:
        """Whether the score of empty lists, k = 0, is written and not drawn: it would compress the scale."""
        return any(0 in curve.ks and any(curve.ks) for curve in self.curves)

    @property
    def title(self) -> str:
        """What it is."""
        return f"Mean {scored(self.rule)} score against list length k, {number_of(len(self.curves), 'model')}"

    @property
    def words(self) -> str:
        """What it shows."""
        digits = decimals(score for curve in self.curves for score in curve.scores)
        found = [
            f"{said(c.name)} from {number(c.scores[0], digits)} at k = {c.ks[0]} "
            f"to {number(c.scores[-1], digits)} at k = {c.ks[-1]}"
            for c in self.curves
        ]
        text = f"Lower is better. {'; '.join(found)}." if found else "There are no curves."
        return text + f" Without a curve: {listed([said(name) for name in self.without], 20)}." * bool(self.without)


def curves(details: Iterable[ModelDetails]) -> Plot[Curves]:
    """Score against k, a line per model, told apart by colour, marker, line style and a label at its end.

    Parameters
    ----------
    details : iterable of ModelDetails
        What the lists of each model show.

    Returns
    -------
    Plot
    """
    every = tuple(details)
    found = tuple(CurveSeries(one.name, one.ks, one.curve) for one in every if one.curve)
    without = tuple(one.name for one in every if not one.curve)
    return Plot(Curves(every[0].rule if every else "", found, without), draw_curves)


def draw_curves(data: Curves, theme: Theme) -> Figure:
    """k across, scores up, names at the right."""
    names = labels((curve.name for curve in data.curves), 13.0)
    shown = [[(k, s) for k, s in zip(c.ks, c.scores, strict=True) if k or not data.cut] for c in data.curves]
    scale = axis((s for curve in shown for _, s in curve), ticks=6)
    left, right = room(scale.texts), room(names, SMALL, 40)
    height = max(240.0, APART * len(names) + 10)
    figure, axes, page = frame(theme, left, right, 14, height, _curves_foot(data))
    rule_k(axes, sorted({k for curve in shown for k, _ in curve}), theme, WIDTH - left - right)
    axes.set_ylim(scale.low, scale.high)
    rule_y(axes, scale.ticks, scale.texts, theme)
    hollow: dict[str, Any] = {"markerfacecolor": theme["paper"], "markeredgewidth": 1.3}
    ends = []
    for i, curve in enumerate(shown):
        ks, scores, colour = [k for k, _ in curve], drawable(s for _, s in curve), theme.cycle(i)
        axes.plot(ks, scores, color=colour, linewidth=1.6, clip_on=False, **line_style(i))
        sparse = max(1, len(ks) // 12)
        look: dict[str, Any] = {"color": colour, "linestyle": "none", "clip_on": False}
        axes.plot(ks[::sparse], scores[::sparse], marker=marker(i), markersize=5, **hollow, **look)
        beyond = [k for k, s in curve if math.isinf(s)]
        axes.plot(beyond, [scale.high] * len(beyond), marker="^", markersize=6, **look)
        known = [(k, s) for k, s in curve if math.isfinite(s)]
        ends.append(known[-1] if known else (max(ks, default=1), scale.high))
    name_lines(page, axes, ends, names, theme, **hollow)
    return figure


def _curves_foot(data: Curves) -> list[str]:
    lines = [f"mean {scored(data.rule)} score of lists cut to k classes, lower is better; across: k"]
    if data.cut:
        empty = {number(c.scores[0], decimals(c.scores)) for c in data.curves if c.ks[0] == 0}
        lines.append(f"empty lists, k = 0, score {listed(sorted(empty), 3)}")
    if any(math.isinf(s) for curve in data.curves for s in curve.scores):
        lines.append(_TRIANGLES)
    if data.without:
        lines.append(f"no curve: {listed(labels(data.without, 10), 3)}")
    return lines


# Validation over the length of lists


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
        return f"Mean {scored(self.rule)} score against {'list length k' if self.by == 'k' else 'listed mass'}"

    @property
    def words(self) -> str:
        """What it shows."""
        if not self.points:
            return "There are no points."
        digits = max(3, decimals(p.score for p in self.points))
        scores = {p.at: number(p.score, digits) for p in self.points}
        text = f"Lower is better. The lowest mean is {scores.get(self.best, '')} at {self.place(self.best)}"
        if self.chosen == self.best:
            return f"{text}, and that is chosen."
        return f"{text}; {self.place(self.chosen)} with {scores.get(self.chosen, '')} is chosen."

    def place(self, x: float) -> str:
        """Where lists are cut, in words."""
        return f"k = {x:,.0f}" if self.by == "k" else f"mass {x:.3g}"

    @property
    def shown(self) -> tuple[Point, ...]:
        """The points without empty lists, which would compress the scale; their score is written."""
        return tuple(p for p in self.points if p.at or self.chosen == 0 or self.best == 0) or self.points


def truncation(found: Truncation) -> Plot[Validation]:
    """Mean score by k (or by mass), bars of one standard error of the difference to the best, and the choice.

    Parameters
    ----------
    found : Truncation
        As `toplist.postprocess.choose_k` and `choose_mass` find it.

    Returns
    -------
    Plot
    """
    columns = zip(found.at, found.score, found.error, strict=True)
    points = tuple(Point(float(at), float(score), float(error)) for at, score, error in columns)
    return Plot(Validation(found.rule, found.kind, points, float(found.best), float(found.chosen)), draw_truncation)


def draw_truncation(data: Validation, theme: Theme) -> Figure:
    """k across, scores up."""
    shown = data.shown
    scale = axis([x for p in shown for x in (p.score, p.score - p.error, p.score + p.error)], ticks=6)
    left, right, ats = room(scale.texts), 24.0, [p.at for p in shown] or [1.0]
    figure, axes, page = frame(theme, left, right, 26, 230.0, _truncation_foot(data))
    if data.by == "k":
        rule_k(axes, ats, theme, WIDTH - left - right, margin=0.02)
    else:
        across = axis(ats, ticks=6, margin=0.02)
        axes.set_xlim(across.low, across.high)
        rule_x(axes, across.ticks, across.texts, theme)
    axes.set_ylim(scale.low, scale.high)
    rule_y(axes, scale.ticks, scale.texts, theme)
    _validation(axes, data, theme)
    if any(p.at == data.chosen for p in shown):  # a line down from the name of the choice
        axes.axvline(data.chosen, color=theme["c1"], linewidth=1, dashes=(3, 2))
        x = float((axes.transData + page.transData.inverted()).transform((data.chosen, scale.high))[0])
        text = f"chosen: {data.place(data.chosen)}"
        half = SMALL * width(text) / 2
        write(page, min(max(x, half + 4), WIDTH - half - 4), 13, text, fontsize=SMALL, ha="center", color=theme["ink"])
    return figure


def _validation(axes: Axes, data: Validation, theme: Theme) -> None:
    shown, colour = data.shown, theme["c0"]
    for p in shown:
        if math.isfinite(p.score) and math.isfinite(p.error) and p.error > 0:
            ends = [p.score - p.error, p.score + p.error]
            axes.plot([p.at, p.at], ends, color=colour, linewidth=1.4, alpha=0.6, clip_on=False)
    ats, scores = [p.at for p in shown], drawable(p.score for p in shown)
    axes.plot(ats, scores, color=colour, linewidth=1.6, clip_on=False)
    look: dict[str, Any] = {"markeredgewidth": 1.3, "linestyle": "none", "clip_on": False}
    if len(shown) <= 40:
        axes.plot(ats, scores, "o", color=colour, markerfacecolor=theme["paper"], markersize=5, **look)
    beyond = [p.at for p in shown if math.isinf(p.score)]
    axes.plot(beyond, [axes.get_ylim()[1]] * len(beyond), "^", color=colour, markersize=6, **look)
    for at, shape, role in ((data.best, "o", "c0"), (data.chosen, "D", "c1")):
        where = [p for p in shown if p.at == at and math.isfinite(p.score)]
        axes.plot([p.at for p in where], [p.score for p in where], shape, color=theme[role], markersize=8, **look)


def _truncation_foot(data: Validation) -> list[str]:
    what = "k, the classes kept" if data.by == "k" else "mass that is kept"
    lines = [
        f"across: {what}; up: mean {scored(data.rule)} score on these cases, lower is better",
        "dot: lowest; diamond: choice; bars: one standard error of the difference to the lowest",
    ]
    left_out = [p for p in data.points if p not in data.shown]
    if left_out:
        digits = max(3, decimals(finite(p.score for p in left_out)))
        lines.append(f"empty lists score {number(left_out[0].score, digits)}")
    if any(math.isinf(p.score) for p in data.shown):
        lines.append(_TRIANGLES)
    return lines


# Score against coverage


@dataclass(frozen=True, slots=True)
class Line:
    """Mean scores of one model by the share of cases that it answers."""

    name: str
    coverage: tuple[float, ...]  # rising, up to 1
    accepted: tuple[float, ...]  # mean score of the answered cases
    overall: tuple[float, ...]  # mean score of all cases, those held back as empty lists
    chosen: float  # the coverage that validation chose

    def words(self, digits: int) -> str:
        """What it shows."""
        known = [(c, s) for c, s in zip(self.coverage, self.accepted, strict=True) if not math.isnan(s)]
        name = f"{said(self.name)}: " if self.name else ""
        if not known:
            return f"{name}no cases."
        (few, first), (most, last) = known[0], known[-1]
        text = f"{name}{number(first, digits)} where {share(few)} of the cases are answered, "
        return f"{text}{number(last, digits)} where {share(most)} are; validation chooses {share(self.chosen)}."


@dataclass(frozen=True, slots=True)
class Rejection:
    """A line per model, and a fainter one for all cases together."""

    rule: str
    lines: tuple[Line, ...]

    @property
    def title(self) -> str:
        """What it is."""
        return f"Mean {scored(self.rule)} score against coverage, {number_of(len(self.lines), 'model')}"

    @property
    def words(self) -> str:
        """What it shows."""
        digits = decimals(score for line in self.lines for score in line.accepted)
        return " ".join(line.words(digits) for line in self.lines) or "There are no curves."


def rejection(found: RejectionCurve | Mapping[str, RejectionCurve]) -> Plot[Rejection]:
    """Mean score of what is answered against how much is answered, the surest cases first.

    Parameters
    ----------
    found : RejectionCurve or mapping of str to RejectionCurve
        As `toplist.postprocess.rejection_curve` finds them.

    Returns
    -------
    Plot
    """
    every = found if isinstance(found, Mapping) else {"": found}
    lines = tuple(_line(str(name), one) for name, one in every.items())
    return Plot(Rejection(next((one.rule for one in every.values()), ""), lines), draw_rejection)


def _line(name: str, one: RejectionCurve) -> Line:
    coverage = [float(x) for x in one.coverage]
    order = sorted(range(len(coverage)), key=coverage.__getitem__)
    at: list[int] = []
    for i in order:
        if not at or i == order[-1] or coverage[i] - coverage[at[-1]] >= 1 / POINTS:
            at.append(i)

    def column(values: Any) -> tuple[float, ...]:
        return tuple(float(values[i]) for i in at)

    return Line(name, column(coverage), column(one.accepted), column(one.overall), coverage[one.chosen])


def draw_rejection(data: Rejection, theme: Theme) -> Figure:
    """Coverage across, scores up, names at the right."""
    named = any(line.name for line in data.lines)
    names = labels((line.name for line in data.lines), 12.0) if named else [""] * len(data.lines)
    scale = axis((s for line in data.lines for s in (*line.accepted, *line.overall)), ticks=6)
    left, right = room(scale.texts), room(names, SMALL, 40) if named else 20.0
    height = max(250.0, APART * len(names) + 10)
    figure, axes, page = frame(theme, left, right, 14, height, _rejection_foot(data))
    axes.set_xlim(0, 1)
    axes.set_ylim(scale.low, scale.high)
    rule_x(axes, (0.0, 0.2, 0.4, 0.6, 0.8, 1.0), ("0%", "20%", "40%", "60%", "80%", "100%"), theme)
    rule_y(axes, scale.ticks, scale.texts, theme)
    hollow: dict[str, Any] = {"markerfacecolor": theme["paper"], "markersize": 7, "markeredgewidth": 1.6}
    for i, line in enumerate(data.lines):
        near = min(range(len(line.coverage)), key=lambda j: abs(line.coverage[j] - line.chosen), default=None)
        for values, look in ((line.overall, {"linewidth": 1, "alpha": 0.55}), (line.accepted, {"linewidth": 1.8})):
            style: dict[str, Any] = {**look, **line_style(i), "color": theme.cycle(i), "clip_on": False}
            axes.plot(line.coverage, drawable(values), **style)
        for values in (line.overall, line.accepted):
            if near is not None and math.isfinite(values[near]):
                at: dict[str, Any] = {"marker": marker(i), "color": theme.cycle(i), "clip_on": False}
                axes.plot([line.coverage[near]], [values[near]], **at, **hollow)
    if named:
        ends = [next((s for s in reversed(line.accepted) if math.isfinite(s)), scale.high) for line in data.lines]
        name_lines(page, axes, [(1.0, end) for end in ends], names, theme)
    return figure


def _rejection_foot(data: Rejection) -> list[str]:
    lines = [
        f"across: share of cases that are answered, the surest first; up: mean {scored(data.rule)} score",
        "thick: of the answered cases; thin: of all, where the others are empty lists; lower is better",
    ]
    if data.lines:
        lines.append("markers: what validation chooses")
    if any(math.isinf(s) for line in data.lines for s in (*line.accepted, *line.overall)):
        lines.append("infinite means are left out")
    return lines


# Lengths


@dataclass(frozen=True, slots=True)
class LengthBar:
    """Lists from one length to another, both included."""

    low: int
    high: int
    cases: int


@dataclass(frozen=True, slots=True)
class Sizes:
    """Lengths of lists, and how many lists have them."""

    bars: tuple[LengthBar, ...]
    cases: int
    mean: float

    @property
    def title(self) -> str:
        """What it is."""
        return f"Lengths of {number_of(self.cases, 'list')}"

    @property
    def words(self) -> str:
        """What it shows."""
        filled = [bar for bar in self.bars if bar.cases]
        if not filled:
            return "There are no lists."
        most = max(filled, key=lambda bar: bar.cases)
        where = f"{most.low:,}" if most.low == most.high else f"{most.low:,} to {most.high:,}"
        return (
            f"From {filled[0].low:,} to {filled[-1].high:,} classes, {self.mean:.3g} on average; "
            f"most often {where}, in {share(most.cases / self.cases)} of the cases."
        )


def sizes(found: Mapping[int, int] | Iterable[tuple[int, int]]) -> Plot[Sizes]:
    """Bars of how many lists have each length; long ones share bars.

    Parameters
    ----------
    found : mapping or iterable of pairs
        How many lists there are of each length.

    Returns
    -------
    Plot
    """
    counts = {int(k): int(n) for k, n in (found.items() if isinstance(found, Mapping) else found) if n}
    if not counts:
        return Plot(Sizes((), 0, math.nan), draw_sizes)
    total, low, span = sum(counts.values()), min(counts), max(counts) - min(counts) + 1
    wide = -(-span // BARS)
    made = [0] * -(-span // wide)
    for k, n in counts.items():
        made[(k - low) // wide] += n
    bars = tuple(LengthBar(low + i * wide, low + (i + 1) * wide - 1, n) for i, n in enumerate(made))
    return Plot(Sizes(bars, total, sum(k * n for k, n in counts.items()) / total), draw_sizes)


def draw_sizes(data: Sizes, theme: Theme) -> Figure:
    """Lengths across, cases up."""
    bars = data.bars
    scale = axis([0, *(bar.cases for bar in bars)], ticks=4, margin=0.0)
    texts = tuple(count(int(t)) for t in scale.ticks)
    foot = ["across: classes on a list; up: cases"]
    if any(bar.high > bar.low for bar in bars):
        foot.append(f"each bar is {bars[0].high - bars[0].low + 1:,} lengths wide")
    figure, axes, _ = frame(theme, room(texts), 20, 14, 180.0, foot)
    axes.set_ylim(0, max((bar.cases for bar in bars), default=1) * 1.04)
    low, high = (bars[0].low - 0.6, bars[-1].high + 0.6) if bars else (0.0, 1.0)
    spare = max(0.0, _FEWEST - (high - low)) / 2  # a few bars do not fill the width
    axes.set_xlim(low - spare, high + spare)
    marks = [t for t in axis([low, high], ticks=8, margin=0.0).ticks if t == int(t)] if bars else []
    axes.set_xticks(marks, labels=[count(int(t)) for t in marks])
    rule_y(axes, scale.ticks, texts, theme)
    for bar in bars:
        middle, half = (bar.low + bar.high) / 2, 0.4 * (bar.high - bar.low + 1)
        if bar.cases:
            tiles(axes, [(middle - half, 0, middle + half, bar.cases)], theme["c0"])
    return figure


# Shapes

_ROW, _HEAD, _COLUMN = 26.0, 40.0, 56.0


@dataclass(frozen=True, slots=True)
class BarPart:
    """The predictions of one model that have one shape."""

    kind: str
    share: float  # of the model's cases
    score: float
    infinite: int


@dataclass(frozen=True, slots=True)
class TypeRow:
    """One model; shapes that do not occur are left out."""

    name: str
    parts: tuple[BarPart, ...]


@dataclass(frozen=True, slots=True)
class Shapes:
    """Which shapes predictions have, and mean scores within each."""

    rule: str
    rows: tuple[TypeRow, ...]

    @property
    def kinds(self) -> tuple[str, ...]:
        """The shapes that occur, from the shortest lists to the longest."""
        found = {part.kind for row in self.rows for part in row.parts}
        return tuple(k for k in KINDS if k in found) + tuple(sorted(found - set(KINDS)))

    @property
    def title(self) -> str:
        """What it is."""
        return f"Shapes of predictions and their mean {scored(self.rule)} scores, {number_of(len(self.rows), 'model')}"

    @property
    def words(self) -> str:
        """What it shows."""
        digits = decimals(part.score for row in self.rows for part in row.parts)

        def of(row: TypeRow) -> str:
            parts = (f"{said(p.kind)} {share(p.share)} with mean {number(p.score, digits)}" for p in row.parts)
            return f"{said(row.name)}: {', '.join(parts) or 'no cases'}"

        return f"Lower is better. {'; '.join(map(of, self.rows))}." if self.rows else "There are no models."


def shapes(details: Iterable[ModelDetails]) -> Plot[Shapes]:
    """Where each shape of prediction stands: its share of the cases as a bar, its mean score as a marker.

    Parameters
    ----------
    details : iterable of ModelDetails
        What the lists of each model show.

    Returns
    -------
    Plot
    """
    every, rows = tuple(details), []
    for one in every:
        total = sum(shape.cases for shape in one.shapes)
        parts = (BarPart(s.kind, s.cases / total, s.score, s.infinite) for s in one.shapes if s.cases)
        rows.append(TypeRow(one.name, tuple(parts)))
    return Plot(Shapes(every[0].rule if every else "", tuple(rows)), draw_shapes)


def draw_shapes(data: Shapes, theme: Theme) -> Figure:
    """Models down; a column of bars per shape, then the scores."""
    names, kinds = labels((row.name for row in data.rows), 11.5), data.kinds
    left = room(names, SIZE, 16)
    foot = [f"bars: share of the cases; right: mean {scored(data.rule)} score of each shape, lower is better"]
    if any(math.isinf(part.score) for row in data.rows for part in row.parts):
        foot.append("markers beyond the right edge: infinite means")
    height = _ROW * max(1, len(names))
    figure, axes, page = frame(theme, left + _COLUMN * len(kinds) + 18, 24, _HEAD, height, foot)
    scale = axis((part.score for row in data.rows for part in row.parts), ticks=4, margin=0.06)
    rows_down(axes, scale, [""] * len(names), theme)
    middles = [_HEAD + _ROW * (y + 0.5) for y in range(len(names))]
    for y, name in zip(middles, names, strict=True):
        write(page, left - 8, y, name, ha="right", color=theme["ink"])
    for i, kind in enumerate(kinds):
        x = left + _COLUMN * i
        look: dict[str, Any] = {"marker": marker(i), "color": theme.cycle(i)}
        page.plot([x + 6], [13], markersize=6, **look)
        for j, word in enumerate(label(kind, 12).split(maxsplit=1)):
            write(page, x + (14 if j == 0 else 2), 13 + 14 * j, word, fontsize=SMALL, color=theme["ink"])
        parts = [(y, part) for y, row in enumerate(data.rows) for part in row.parts if part.kind == kind]
        for y, part in parts:
            _bar(page, x + 2, middles[y], part.share, theme.cycle(i), theme)
        dots: dict[str, Any] = {"markersize": 6.5, "linestyle": "none", "clip_on": False, **look}
        placed = [(part.score, y) for y, part in parts if math.isfinite(part.score)]
        axes.plot([s for s, _ in placed], [y for _, y in placed], **dots)
        beyond = [middles[y] for y, part in parts if math.isinf(part.score)]
        page.plot([WIDTH - 18 + 3 * i] * len(beyond), beyond, **dots)
    return figure


def _bar(page: Axes, x: float, y: float, part: float, colour: str, theme: Theme) -> None:
    """A share as text with a bar under it."""
    wide = _COLUMN - 12
    write(page, x, y - 4, share(part), fontsize=SMALL - 1, color=theme["ink"])
    for end, own in ((wide, theme["grid"]), (wide * part, colour)):
        page.plot([x, x + end], [y + 6, y + 6], color=own, linewidth=4, solid_capstyle="butt")
