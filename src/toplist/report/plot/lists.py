"""Figures of lists: score against their length, against what validation keeps or answers, their lengths and shapes."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from toplist._text import fixed
from toplist.inference.results import KINDS, ModelDetails
from toplist.report.plot.base import Plot
from toplist.report.plot.canvas import (
    CYCLE,
    LABELLED,
    MARKERS,
    NAMES,
    SMALL,
    Axis,
    Dot,
    Hover,
    LegendEntry,
    Panel,
    Scale,
    Sheet,
    Stroke,
    axis,
    called,
    decimals,
    drawable,
    finite,
    fitted,
    full,
    is_long,
    label,
    lengths,
    line_height,
    name_lines,
    room,
    rows_down,
    said,
    scored,
    several,
    told_apart,
    width,
)
from toplist.report.text import Shown, count, listed, number_of, share

if TYPE_CHECKING:
    from toplist.postprocess.selective import RejectionCurve
    from toplist.postprocess.truncation import Truncation

POINTS = 200  # of a line of rejection: closer ones cannot be told apart
BARS = 40  # beyond it, neighbouring lengths share a bar
_FEWEST = 6  # bars that there is room for
_TRIANGLES = "triangles at the upper edge: infinite means"
_ALIKE = 0.01  # of a score: what a title calls within 1%


def _rule_k(sheet: Sheet, panel: Panel, ticks: Sequence[float]) -> None:
    """Numbers of list lengths; those that would run into the next larger one are left out."""
    kept: list[float] = []
    for k in ticks:
        wide = SMALL * (width(f"{k:,.0f}") + width(f"{kept[-1]:,.0f}")) / 2 + 6 if kept else 0.0
        if not kept or panel.place(kept[-1], 0)[0] - panel.place(k, 0)[0] >= wide:
            kept.append(k)
    sheet.rule_x(panel, kept[::-1], [f"{k:,.0f}" for k in kept[::-1]])


def _score_axis(sheet: Sheet, panel: Panel, scale: Axis, rule: str) -> None:
    sheet.rule_y(panel, scale.ticks, scale.texts)
    sheet.name_y(panel, f"mean {scored(rule)} score (lower is better)")


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
    tied: tuple[str, ...] = ()  # not significantly worse than the best
    shown: Shown = field(default_factory=dict, compare=False, repr=False)

    @property
    def logarithmic(self) -> bool:
        """Whether k spans too much for a plain axis."""
        return is_long([k for curve in self.curves for k in curve.ks])

    @property
    def cut(self) -> bool:
        """Whether the score of empty lists, k = 0, is written and not drawn: it would compress the scale."""
        return any(0 in curve.ks and any(curve.ks) for curve in self.curves)

    @property
    def single(self) -> str:
        """No curve, or no more than one k, is no figure."""
        if not self.curves:
            return "There are no curves: they need an outcome for each case."
        if len({k for curve in self.curves for k in curve.ks if k or not self.cut}) > 1:
            return ""
        return f"All lists have one length: k = {self.curves[0].ks[-1]}."

    @property
    def enough(self) -> int | None:
        """The smallest k whose scores are within 1% of those of the longest lists, for every model."""
        last = max((curve.ks[-1] for curve in self.curves), default=0)
        for k in sorted({k for curve in self.curves for k in curve.ks if 0 < k < last}):
            pairs = [(dict(zip(c.ks, c.scores, strict=True)).get(k, math.nan), c.scores[-1]) for c in self.curves]
            if all(abs(score - whole) <= _ALIKE * abs(whole) for score, whole in pairs):
                return k
        return None

    @property
    def title(self) -> str:
        """The finding."""
        if self.enough is not None:
            return f"Lists of {number_of(self.enough, 'class', 'classes')} score within 1% of the longest"
        whole = [c.scores[-1] for c in self.curves]
        if self.curves and all(
            c.scores[-1] == min(c.scores) and math.isfinite(w) for c, w in zip(self.curves, whole, strict=True)
        ):
            return "The longest lists have the lowest mean scores"
        return f"Mean {scored(self.rule)} score against list length"

    @property
    def subtitle(self) -> str:
        """What is shown."""
        grey = "; grey: other models" if len(self.curves) > LABELLED else ""
        return f"Mean {scored(self.rule)} score of lists cut to their k most confident classes; lower is better{grey}"

    @property
    def words(self) -> str:
        """What it shows."""
        digits = decimals(score for curve in self.curves for score in curve.scores)
        found = [
            f"{said(c.name)} from {fixed(c.scores[0], digits)} at k = {c.ks[0]} "
            f"to {fixed(c.scores[-1], digits)} at k = {c.ks[-1]}"
            for c in self.curves
        ]
        text = f"Lower is better. {'; '.join(found)}." if found else "There are no curves."
        return text + f" Without a curve: {several(self.without, 20)}." * bool(self.without)


def curves(details: Iterable[ModelDetails], tied: Iterable[str] = (), shown: Shown = NAMES) -> Plot[Curves]:
    """Score against k, a line per model; at most eight have a label, the others are grey.

    Parameters
    ----------
    details : iterable of ModelDetails
        What the lists of each model show.
    tied : iterable of str, optional
        Models whose lines are labelled before others, such as those that are tied for best.
    shown : mapping of str to Name, optional
        The short names of models, where those among the ones that are drawn would be others.

    Returns
    -------
    Plot
    """
    every = tuple(details)
    found = tuple(CurveSeries(one.name, one.ks, one.curve) for one in every if one.curve)
    without = tuple(one.name for one in every if not one.curve)
    return Plot(Curves(every[0].rule if every else "", found, without, tuple(tied), shown), draw_curves)


def draw_curves(data: Curves, sheet: Sheet) -> None:
    """k across, scores up, names at the right."""
    labels = told_apart([curve.name for curve in data.curves], data.tied, 0.3 * sheet.width / SMALL, data.shown)
    drawn = {c.name: [(k, s) for k, s in zip(c.ks, c.scores, strict=True) if k or not data.cut] for c in data.curves}
    scale = axis((s for curve in drawn.values() for _, s in curve), ticks=6)
    digits = decimals((s for curve in drawn.values() for _, s in curve), digits=4)
    across, ticks = lengths(sorted({k for curve in drawn.values() for k, _ in curve}))
    left, right = room(scale.texts), room((one.text for one in labels.values()), SMALL, 36)
    sheet.height += 22
    panel = sheet.panel(left, right, line_height(len(labels), 0.42 * sheet.width), across, scale.scale)
    _score_axis(sheet, panel, scale, data.rule)
    _rule_k(sheet, panel, ticks)
    sheet.name_x(panel, "list length k")
    ends = {}
    for name in sorted(drawn, key=lambda name: name in labels):
        curve, one = drawn[name], labels.get(name)
        ks, scores = [k for k, _ in curve], drawable(s for _, s in curve)
        hover = Hover(f"{full(name)}: {fixed(curve[-1][1], digits)} at k = {ks[-1]:,}", name)
        if one is None:
            panel.add(Stroke(ks, scores, "faint", 0.8, opacity=0.6, hover=hover))
            continue
        panel.add(Stroke(ks, scores, one.role, 1.8, one.dashes, hover=hover))
        for k, score in curve:
            text = Hover(f"{full(name)}: {fixed(score, digits)} at k = {k:,}", name)
            if math.isfinite(score):
                panel.add(Dot(k, score, one.role, one.shape, 5.0, hollow=True, hover=text))
            elif score == math.inf:
                panel.add(Dot(k, scale.high, one.role, "^", 6.0, hover=text))
        known = [(k, s) for k, s in curve if math.isfinite(s)]
        ends[name] = known[-1] if known else (max(ks), scale.high)
    name_lines(sheet, panel, [ends[name] for name in labels], list(labels.values()))
    sheet.note(_curves_notes(data))


def _curves_notes(data: Curves) -> list[str]:
    lines = []
    if data.cut:
        empty = {fixed(c.scores[0], decimals(c.scores)) for c in data.curves if c.ks[0] == 0}
        lines.append(f"empty lists, k = 0, score {listed(sorted(empty), 3)}")
    if any(math.isinf(s) for curve in data.curves for s in curve.scores):
        lines.append(_TRIANGLES)
    if data.without:
        lines.append(f"no curve: {several(data.without, 3)}")
    return lines


# Validation over the length of lists


@dataclass(frozen=True, slots=True)
class Point:
    """Lists cut at one place: their mean score, and the standard error of its difference to the best."""

    at: float  # how many classes, or how much probability
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
    def single(self) -> str:
        """One point is no figure."""
        return "" if len(self.points) > 1 else self.words

    @property
    def title(self) -> str:
        """The finding."""
        if not self.points:
            return "Nothing to choose from"
        if self.chosen == self.best:
            return f"{self.place(self.best)} has the lowest mean {scored(self.rule)} score"
        lowest = f"{self.place(self.best)} has the lowest mean {scored(self.rule)} score"
        return f"{self.place(self.chosen)} is chosen; {lowest}"

    @property
    def subtitle(self) -> str:
        """What is shown."""
        what = "their k most confident classes" if self.by == "k" else "a listed probability"
        bars = "; bars: one standard error of the difference to the best"
        return f"Mean {scored(self.rule)} score of lists cut to {what}, on validation cases{bars}"

    @property
    def words(self) -> str:
        """What it shows."""
        if not self.points:
            return "There are no points."
        digits = max(3, decimals(p.score for p in self.points))
        scores = {p.at: fixed(p.score, digits) for p in self.points}
        text = f"Lower is better. The lowest mean is {scores.get(self.best, '')} at {self.place(self.best)}"
        if self.chosen == self.best:
            return f"{text}, and that is chosen."
        return f"{text}; {self.place(self.chosen)} with {scores.get(self.chosen, '')} is chosen."

    def place(self, x: float) -> str:
        """Where lists are cut, in words."""
        return f"k = {x:,.0f}" if self.by == "k" else f"listed probability {x:.3g}"

    @property
    def shown(self) -> tuple[Point, ...]:
        """The points without empty lists, which would compress the scale; their score is written."""
        return tuple(p for p in self.points if p.at or self.chosen == 0 or self.best == 0) or self.points


def truncation(found: Truncation) -> Plot[Validation]:
    """Mean score by k (or by listed probability), bars of one standard error of the difference to the best, the choice.

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


def draw_truncation(data: Validation, sheet: Sheet) -> None:
    """k across, scores up."""
    shown = data.shown
    scale = axis([x for p in shown for x in (p.score, p.score - p.error, p.score + p.error)], ticks=6)
    digits, ats = max(3, decimals(p.score for p in shown)), [p.at for p in shown]
    numbers = axis(ats, ticks=6, margin=0.02)
    across, ticks = lengths(ats, margin=0.02) if data.by == "k" else (numbers.scale, [])
    sheet.height += 38
    panel = sheet.panel(room(scale.texts), 24, 0.4 * sheet.width, across, scale.scale)
    if data.by == "k":
        _rule_k(sheet, panel, ticks)
    else:
        sheet.rule_x(panel, numbers.ticks, numbers.texts)
    sheet.rule_y(panel, scale.ticks, scale.texts)
    sheet.name_y(panel, f"mean {scored(data.rule)} score (lower is better)", above=27)
    sheet.name_x(panel, "list length k" if data.by == "k" else "listed probability that is kept")
    panel.add(Stroke(ats, drawable(p.score for p in shown), "c0", 1.6))
    for p in shown:
        error = f" ± {fixed(p.error, digits)}" if math.isfinite(p.error) and p.error > 0 else ""
        hover = Hover(f"{data.place(p.at)}: {fixed(p.score, digits)}{error}")
        if error and math.isfinite(p.score):
            panel.add(Stroke((p.at, p.at), (p.score - p.error, p.score + p.error), "c0", 1.4, opacity=0.6, hover=hover))
        if math.isinf(p.score):
            panel.add(Dot(p.at, scale.high, "c0", "^", 6.0, hover=hover))
        elif math.isfinite(p.score):
            panel.add(Dot(p.at, p.score, "c0", "o", 7.0 if p.at == data.best else 5.0, p.at != data.best, hover))
    if any(p.at == data.chosen for p in shown):  # a line down from the name of the choice
        panel.add(Stroke((data.chosen, data.chosen), (scale.low, scale.high), "c1", 1.0, (3, 2)))
        panel.add(
            *(Dot(p.at, p.score, "c1", "D", 8.0) for p in shown if p.at == data.chosen and math.isfinite(p.score))
        )
        x, text = panel.place(data.chosen, scale.high)[0], f"chosen: {data.place(data.chosen)}"
        half = SMALL * width(text) / 2
        sheet.write(min(max(x, half + 4), sheet.width - half - 4), panel.top - 9, text, anchor="middle")
    sheet.note(_truncation_notes(data))


def _truncation_notes(data: Validation) -> list[str]:
    lines = ["filled dot: lowest; diamond: choice"]
    left_out = [p for p in data.points if p not in data.shown]
    if left_out:
        digits = max(3, decimals(finite(p.score for p in left_out)))
        lines.append(f"empty lists score {fixed(left_out[0].score, digits)}")
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
        text = f"{name}{fixed(first, digits)} where {share(few)} of the cases are answered, "
        return f"{text}{fixed(last, digits)} where {share(most)} are; validation chooses {share(self.chosen)}."


@dataclass(frozen=True, slots=True)
class Rejection:
    """A line per model, and a fainter one for all cases together."""

    rule: str
    lines: tuple[Line, ...]

    @property
    def single(self) -> str:
        """Nothing to draw."""
        return "" if any(len(line.coverage) > 1 for line in self.lines) else self.words

    @property
    def title(self) -> str:
        """The finding."""
        shares = sorted({line.chosen for line in self.lines})
        if not shares:
            return "No curves"
        text = share(shares[0]) if len(shares) == 1 else f"{share(shares[0])} to {share(shares[-1])}"
        return f"Validation chooses to answer {'all' if shares == [1.0] else text} of the cases"

    @property
    def subtitle(self) -> str:
        """What is shown."""
        lines = "thick: answered cases; thin: all cases, the others as empty lists"
        return f"By the share of cases that are answered, most confident first; {lines}"

    @property
    def words(self) -> str:
        """What it shows."""
        digits = decimals(score for line in self.lines for score in line.accepted)
        return " ".join(line.words(digits) for line in self.lines) or "There are no curves."


def rejection(found: RejectionCurve | Mapping[str, RejectionCurve]) -> Plot[Rejection]:
    """Mean score of what is answered against how much is answered, the most confident cases first.

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


def draw_rejection(data: Rejection, sheet: Sheet) -> None:
    """Coverage across, scores up, names at the right."""
    named = any(line.name for line in data.lines)
    labels = told_apart([line.name for line in data.lines], (), 0.3 * sheet.width / SMALL)
    scale = axis((s for line in data.lines for s in (*line.accepted, *line.overall)), ticks=6)
    right = room((one.text for one in labels.values()), SMALL, 36) if named else 20.0
    sheet.height += 22
    height = line_height(len(labels) if named else 0, 0.42 * sheet.width)
    panel = sheet.panel(room(scale.texts), right, height, Scale(0, 1), scale.scale)
    _score_axis(sheet, panel, scale, data.rule)
    sheet.rule_x(panel, (0.0, 0.2, 0.4, 0.6, 0.8, 1.0), ("0%", "20%", "40%", "60%", "80%", "100%"))
    sheet.name_x(panel, "share of cases that are answered")
    ends = {}
    for line in sorted(data.lines, key=lambda line: line.name in labels):
        one = labels.get(line.name)
        if not line.coverage:
            continue
        near = min(range(len(line.coverage)), key=lambda j: abs(line.coverage[j] - line.chosen))
        hover = Hover(line.words(scale.digits + 1), line.name)
        role, dashes = ("faint", ()) if one is None else (one.role, one.dashes)
        thin = 0.8 if one is None else 1.0
        panel.add(Stroke(line.coverage, drawable(line.overall), role, thin, dashes, 0.6, hover))
        panel.add(
            Stroke(line.coverage, drawable(line.accepted), role, thin if one is None else 1.8, dashes, hover=hover)
        )
        if one is None:
            continue
        for values in (line.overall, line.accepted):
            if math.isfinite(values[near]):
                panel.add(Dot(line.coverage[near], values[near], role, one.shape, 7.0, hollow=True, hover=hover))
        ends[line.name] = (1.0, next((s for s in reversed(line.accepted) if math.isfinite(s)), scale.high))
    if named:
        own = [one for name, one in labels.items() if name in ends]
        name_lines(sheet, panel, [ends[one.model] for one in own], own)
    lines = ["markers: what validation chooses"] if data.lines else []
    if any(math.isinf(s) for line in data.lines for s in (*line.accepted, *line.overall)):
        lines.append("infinite means are left out")
    sheet.note(lines)


# Lengths


@dataclass(frozen=True, slots=True)
class LengthBar:
    """Lists from one length to another, both included."""

    low: int
    high: int
    cases: int

    @property
    def text(self) -> str:
        """The lengths."""
        return f"{self.low:,}" if self.low == self.high else f"{self.low:,} to {self.high:,}"


@dataclass(frozen=True, slots=True)
class Sizes:
    """Lengths of lists, and how many lists have them."""

    bars: tuple[LengthBar, ...]
    cases: int
    mean: float

    @property
    def single(self) -> str:
        """Lists of one length are no figure."""
        if not self.cases:
            return "There are no lists."
        return (
            ""
            if len(self.bars) > 1
            else f"All {count(self.cases)} lists have {number_of(self.bars[0].low, 'class', 'classes')}."
        )

    @property
    def most(self) -> LengthBar:
        """The most frequent length."""
        return max(self.bars, key=lambda bar: bar.cases)

    @property
    def title(self) -> str:
        """The finding."""
        if self.single:
            return self.single.rstrip(".")
        if 2 * self.most.cases >= self.cases:
            return f"{share(self.most.cases / self.cases)} of the lists have {self.most.text} classes"
        filled = [bar for bar in self.bars if bar.cases]
        return f"Lists have {filled[0].low:,} to {filled[-1].high:,} classes, {self.mean:.3g} on average"

    @property
    def subtitle(self) -> str:
        """What is shown."""
        if not self.cases:
            return ""
        return f"Lengths of {number_of(self.cases, 'list')}; mean {self.mean:.3g} classes"

    @property
    def words(self) -> str:
        """What it shows."""
        filled = [bar for bar in self.bars if bar.cases]
        if not filled:
            return "There are no lists."
        return (
            f"From {filled[0].low:,} to {filled[-1].high:,} classes, {self.mean:.3g} on average; "
            f"most often {self.most.text}, in {share(self.most.cases / self.cases)} of the cases."
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


def draw_sizes(data: Sizes, sheet: Sheet) -> None:
    """Lengths across, cases up."""
    bars = data.bars
    scale = axis([0, *(bar.cases for bar in bars)], ticks=4, margin=0.0)
    marked = [t for t in scale.ticks if t == int(t)]
    texts = [count(int(t)) for t in marked]
    low, high = bars[0].low - 0.6, bars[-1].high + 0.6
    spare = max(0.0, _FEWEST - (high - low)) / 2  # a few bars do not fill the width
    sheet.height += 22
    up = Scale(0, max(bar.cases for bar in bars) * 1.08)
    panel = sheet.panel(room(texts), 20, 0.32 * sheet.width, Scale(low - spare, high + spare), up)
    sheet.rule_y(panel, marked, texts)
    sheet.name_y(panel, "cases")
    marks = [t for t in axis([low, high], ticks=8, margin=0.0).ticks if t == int(t)]
    sheet.rule_x(panel, marks, [count(int(t)) for t in marks], grid=False)
    sheet.name_x(panel, "classes on a list")
    for bar in bars:
        middle, half = (bar.low + bar.high) / 2, 0.4 * (bar.high - bar.low + 1)
        hover = Hover(f"{bar.text} classes: {number_of(bar.cases, 'case')}, {share(bar.cases / data.cases)}")
        if bar.cases:
            panel.box(middle - half, 0, middle + half, bar.cases, "c0", hover)
    if any(bar.high > bar.low for bar in bars):
        sheet.note([f"each bar is {bars[0].high - bars[0].low + 1:,} lengths wide"])


# Shapes

_ROW = 24.0


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
    def single(self) -> str:
        """Predictions of one shape are no figure: their scores are those of the leaderboard."""
        if not self.kinds:
            return "There are no predictions."
        return "" if len(self.kinds) > 1 else f"All predictions have one shape: {said(self.kinds[0])}."

    @property
    def title(self) -> str:
        """The finding."""
        if self.single:
            return self.single.rstrip(".")
        mixed = sum(len(row.parts) > 1 for row in self.rows)
        if len(self.rows) == 1:
            return f"Predictions have {len(self.kinds)} shapes"
        if mixed:
            return f"{mixed} of {number_of(len(self.rows), 'model')} mix shapes of predictions"
        return f"{len(self.kinds)} shapes of predictions, one for each model"

    @property
    def subtitle(self) -> str:
        """What is shown."""
        return f"Share of the cases by shape of prediction, and mean {scored(self.rule)} score of each; lower is better"

    @property
    def words(self) -> str:
        """What it shows."""
        digits = decimals(part.score for row in self.rows for part in row.parts)

        def of(row: TypeRow) -> str:
            parts = (f"{said(p.kind)} {share(p.share)} with mean {fixed(p.score, digits)}" for p in row.parts)
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


def draw_shapes(data: Shapes, sheet: Sheet) -> None:
    """Models down; a bar of shares, then the scores."""
    short, kinds = called(row.name for row in data.rows), data.kinds
    texts = fitted([short[row.name] for row in data.rows], 0.28 * sheet.width / SMALL)
    sheet.legend(
        LegendEntry(label(kind, 14), (f"c{i % CYCLE}",), MARKERS[i % len(MARKERS)]) for i, kind in enumerate(kinds)
    )
    sheet.height += 22
    left = room(texts, SMALL)
    top, height, wide = sheet.height, _ROW * len(data.rows), (sheet.width - left - 64) * 0.45
    down = Scale(len(data.rows) - 0.5, -0.5)
    bars = Panel(left, top, wide, height, Scale(0, 1), down)
    sheet.panels.append(bars)
    scale = axis((part.score for row in data.rows for part in row.parts), ticks=3, margin=0.08)
    scores = sheet.panel(left + wide + 44, 20, height, scale.scale, down, top=top)
    sheet.rule_x(bars, (0.0, 0.5, 1.0), ("0%", "50%", "100%"))
    sheet.rule_x(scores, scale.ticks, scale.texts)
    sheet.name_y(bars, "share of the cases", left=bars.left)
    sheet.name_y(scores, label(f"mean {scored(data.rule)} score", scores.width / SMALL), left=scores.left)
    bars.title_x, scores.title_x = bars.title_y, scores.title_y
    rows_down(sheet, bars, texts, [row.name for row in data.rows], size=SMALL)
    digits = decimals(part.score for row in data.rows for part in row.parts)
    for at, row in enumerate(data.rows):
        start = 0.0
        for part in row.parts:
            i = kinds.index(part.kind)
            role, shape = f"c{i % CYCLE}", MARKERS[i % len(MARKERS)]
            values = f"{share(part.share)} of the cases, mean {fixed(part.score, digits)}"
            hover = Hover(f"{full(row.name)}, {said(part.kind)}: {values}", row.name)
            bars.box(start, at - 0.3, start + part.share, at + 0.3, role, hover)
            start += part.share
            if math.isinf(part.score):
                sheet.mark(Dot(sheet.width - 6, scores.place(scale.low, at)[1], role, shape, 6.0, hover=hover))
            elif math.isfinite(part.score):
                scores.add(Dot(part.score, at, role, shape, 7.5, hover=hover))
    if any(math.isinf(part.score) for row in data.rows for part in row.parts):
        sheet.note(["markers beyond the right edge: infinite means"])
