"""Figures of lines: mean scores against list length, and two models as cases come in.

The latter has the difference so far with a band that holds at all times, and below it the evidence.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from toplist._text import fixed
from toplist.inference.results import ModelDetails, SequentialPath
from toplist.report.path_statements import ending, path_story
from toplist.report.plot.base import Plot
from toplist.report.plot.canvas import (
    LABELLED,
    NAMES,
    SMALL,
    Area,
    Axis,
    Dot,
    Hover,
    Panel,
    Scale,
    Sheet,
    Stroke,
    Text,
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
    said,
    scored,
    several,
    spread,
    told_apart,
    width,
)
from toplist.report.text import Name, Shown, listed, number_of, percent, power_of_ten
from toplist.report.text import decimals as digits_of

_ALIKE = 0.01  # of a score: what a title calls within 1%
FLOOR, CEILING = -2, 4  # powers of ten where e-values are cut: less is no evidence, more is no more than enough
_UPPER, _LOWER = 190.0, 110.0
_POINTS = 160  # more add nothing that can be seen


# Scores against list length


def _rule_k(sheet: Sheet, panel: Panel, ticks: Sequence[float]) -> None:
    """Numbers of list lengths; those that would run into the next larger one are left out."""
    kept: list[float] = []
    for k in ticks:
        wide = SMALL * (width(f"{k:,.0f}") + width(f"{kept[-1]:,.0f}")) / 2 + 6 if kept else 0.0
        if not kept or panel.place(kept[-1], 0)[0] - panel.place(k, 0)[0] >= wide:
            kept.append(k)
    sheet.rule_x(panel, kept[::-1], [f"{k:,.0f}" for k in kept[::-1]])


@dataclass(frozen=True, slots=True)
class Curves:
    """A curve per model; those without one are named."""

    rule: str
    curves: tuple[ModelDetails, ...]
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
            pairs = [(dict(zip(c.ks, c.curve, strict=True)).get(k, math.nan), c.curve[-1]) for c in self.curves]
            if all(abs(score - whole) <= _ALIKE * abs(whole) for score, whole in pairs):
                return k
        return None

    @property
    def title(self) -> str:
        """The finding."""
        if self.enough is not None:
            return f"Lists of {number_of(self.enough, 'class', 'classes')} score within 1% of the longest"
        whole = [c.curve[-1] for c in self.curves]
        if self.curves and all(
            c.curve[-1] == min(c.curve) and math.isfinite(w) for c, w in zip(self.curves, whole, strict=True)
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
        digits = decimals(score for curve in self.curves for score in curve.curve)
        found = [
            f"{said(c.name)} from {fixed(c.curve[0], digits)} at k = {c.ks[0]} "
            f"to {fixed(c.curve[-1], digits)} at k = {c.ks[-1]}"
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
    without = tuple(one.name for one in every if not one.curve)
    drawn = tuple(one for one in every if one.curve)
    return Plot(Curves(every[0].rule if every else "", drawn, without, tuple(tied), shown), draw_curves)


def draw_curves(data: Curves, sheet: Sheet) -> None:
    """k across, scores up, names at the right."""
    labels = told_apart([curve.name for curve in data.curves], data.tied, 0.3 * sheet.width / SMALL, data.shown)
    drawn = {c.name: [(k, s) for k, s in zip(c.ks, c.curve, strict=True) if k or not data.cut] for c in data.curves}
    scale = axis((s for curve in drawn.values() for _, s in curve), ticks=6)
    digits = decimals((s for curve in drawn.values() for _, s in curve), digits=4)
    across, ticks = lengths(sorted({k for curve in drawn.values() for k, _ in curve}))
    left, right = room(scale.texts), room((one.text for one in labels.values()), SMALL, 36)
    sheet.height += 22
    panel = sheet.panel(left, right, line_height(len(labels), 0.42 * sheet.width), across, scale.scale)
    sheet.rule_y(panel, scale.ticks, scale.texts)
    sheet.name_y(panel, f"mean {scored(data.rule)} score (lower is better)")
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
        empty = {fixed(c.curve[0], decimals(c.curve)) for c in data.curves if c.ks[0] == 0}
        lines.append(f"empty lists, k = 0, score {listed(sorted(empty), 3)}")
    if any(math.isinf(s) for curve in data.curves for s in curve.curve):
        lines.append("triangles at the upper edge: infinite means")
    if data.without:
        lines.append(f"no curve: {several(data.without, 3)}")
    return lines


# Two models as cases come in


@dataclass(frozen=True, slots=True)
class Path:
    """A path, with e-values as powers of ten, one for each number of cases in `of.at`."""

    of: SequentialPath
    better: tuple[float, ...]
    worse: tuple[float, ...]
    given: Shown = field(default_factory=dict, compare=False, repr=False)

    @property
    def threshold(self) -> float:
        """The power of ten that an e-value has to reach: of the number of candidates over 1 - level."""
        return math.log10(self.of.candidates / (1 - self.of.level))

    @property
    def single(self) -> str:
        """Where there is nothing to draw."""
        return "" if self.of.at else self.words

    @property
    def shown(self) -> dict[str, Name]:
        """The short names of both."""
        two = (self.of.candidate, self.of.baseline)
        return {who: Name(said(text)) for who, text in called(two, self.given).items()}

    @property
    def title(self) -> str:
        """The finding: since when the sequence excludes zero."""
        of, shown = self.of, self.shown
        candidate, baseline = shown[of.candidate], shown[of.baseline]
        if not of.at:
            return f"No cases of {candidate} and {baseline}"
        if of.separated is None:
            return f"No significant difference between {candidate} and {baseline} on average"
        at = next((m for n, m in zip(of.at, of.mean, strict=True) if n >= of.separated), of.mean[-1])
        word = "better" if at < 0 else "worse"
        return f"{candidate} is significantly {word} than {baseline} on average after {_steps(of.separated, of)}"

    @property
    def subtitle(self) -> str:
        """What is shown."""
        of = self.of
        band = f" with a {percent(of.level)} confidence sequence, valid at all times" if of.low else ""
        return f"Difference of mean {scored(of.rule)} scores so far{band}, and e-values; {number_of(of.cases, 'case')}"

    @property
    def words(self) -> str:
        """What it shows."""
        return " ".join(map(str, path_story(self.of, self.shown)))


@dataclass(frozen=True, slots=True)
class Paths:
    """Several paths, one below the other."""

    paths: tuple[Path, ...]

    @property
    def single(self) -> str:
        """Where there is nothing to draw."""
        return "" if self.paths else "There are no paths."

    @property
    def title(self) -> str:
        """The finding."""
        if len(self.paths) == 1:
            return self.paths[0].title
        apart = sum(one.of.separated is not None for one in self.paths)
        return f"{apart} of {number_of(len(self.paths), 'pair')} differ significantly on average"

    @property
    def subtitle(self) -> str:
        """What is shown."""
        return self.paths[0].subtitle if self.paths else ""

    @property
    def words(self) -> str:
        """What it shows."""
        return " ".join(f"{one.title}. {one.words}" for one in self.paths) or self.single


def path(sequential_path: SequentialPath, shown: Shown = NAMES) -> Plot[Path]:
    """The difference so far with its confidence sequence, and below it the e-values with their threshold.

    Parameters
    ----------
    sequential_path : SequentialPath
        As `tl.monitor` finds them.
    shown : mapping of str to Name, optional
        The short names of models, where those among the ones that are drawn would be others.

    Returns
    -------
    Plot
    """
    return Plot(_path(sequential_path, shown), draw_path)


def paths(sequential_paths: Iterable[SequentialPath], shown: Shown = NAMES) -> Plot[Paths]:
    """Paths of several pairs, one below the other, each with its confidence sequence and its e-values.

    Parameters
    ----------
    sequential_paths : iterable of SequentialPath
        As `tl.monitor` finds them.
    shown : mapping of str to Name, optional
        The short names of models, where those among the ones that are drawn would be others.

    Returns
    -------
    Plot
    """
    return Plot(Paths(tuple(_path(one, shown) for one in sequential_paths)), draw_paths)


def _path(of: SequentialPath, shown: Shown) -> Path:
    tens = 1 / math.log(10)
    better, worse = (tuple(x * tens for x in own) for own in (of.log_evidence_better, of.log_evidence_worse))
    return Path(of, better, worse, shown)


def _steps(n: int, of: SequentialPath) -> str:
    return number_of(n, of.unit)


def draw_paths(data: Paths, sheet: Sheet) -> None:
    """One path below the other, each under its own title if there are several."""
    for one in data.paths:
        if len(data.paths) > 1:
            sheet.write(8, sheet.height + 10, label(one.title, (sheet.width - 16) / 1.1 / SMALL), bold=True)
            sheet.height += 20
        if one.single:
            sheet.note([one.single])
        else:
            draw_path(one, sheet)
        sheet.height += 10


def draw_path(data: Path, sheet: Sheet) -> None:
    """Cases across; the difference above, the evidence below."""
    of, differences = data.of, _differences(data.of)
    powers, texts = _powers(data)
    left, right = room((*differences.texts, *texts)), 20.0
    cases = axis([0, *of.at[-1:]], ticks=max(3, int(sheet.width / 110)), margin=0.0)
    across = Scale(0, max(of.at))
    who, other = fitted([str(data.shown[name]) for name in (of.candidate, of.baseline)], 0.3 * sheet.width / SMALL)
    keep = max(1, math.ceil(len(of.at) / _POINTS))
    chosen = [i for i in range(len(of.at)) if (len(of.at) - 1 - i) % keep == 0]
    sheet.height += 22
    upper = sheet.panel(left, right, _UPPER, across, differences.scale)
    sheet.rule_y(upper, differences.ticks, differences.texts)
    for tick in cases.ticks:
        upper.add(Stroke((tick, tick), (upper.y.low, upper.y.high), "grid", 0.8))
    title = f"{who} minus {other}, mean score so far (below 0: {who} better)"
    sheet.name_y(upper, label(title, (sheet.width - 12) / SMALL))
    _difference(upper, data, chosen)
    sheet.height += 30
    lower = sheet.panel(left, right, _LOWER, across, Scale(powers[0] - 0.2, powers[-1] + 0.2))
    sheet.rule_y(lower, powers, texts)
    sheet.rule_x(lower, cases.ticks, cases.texts)
    sheet.name_y(lower, "e-value")
    sheet.name_x(lower, f"{of.unit}s")
    _evidence(lower, data, chosen, (who, other))
    sheet.note(_notes(data, differences))


def _difference(panel: Panel, data: Path, chosen: list[int]) -> None:
    of = data.of
    at, hover = [of.at[i] for i in chosen], Hover(_value(of), of.candidate)
    if of.low:
        low, high = (drawable(_bounded(column[i], panel.y) for i in chosen) for column in (of.low, of.high))
        panel.add(Area([*at, *reversed(at)], [*low, *reversed(high)], "c0", 0.18, hover))
    panel.add(Stroke((0, at[-1]), (0, 0), "ink", 1.2))
    panel.add(Stroke(at, drawable(of.mean[i] for i in chosen), "c0", 1.8, hover=hover))
    for i in chosen[:: max(1, len(chosen) // 12)]:
        if math.isfinite(of.mean[i]):
            text = f"after {_steps(of.at[i], of)}: {fixed(of.mean[i], _digits(of), signed=True)}"
            panel.add(Dot(of.at[i], of.mean[i], "c0", "o", 4.0, hover=Hover(text, of.candidate)))
    if of.separated is not None:
        _annotated(panel, of.separated, f"excludes 0 after {_steps(of.separated, of)}")


def _annotated(panel: Panel, at: float, text: str) -> None:
    """A line at a step, and what was found there beside it, at the end of the axis that is further from zero."""
    low, high = panel.y.low, panel.y.high
    panel.add(Stroke((at, at), (low, high), "muted", 1.0, (2, 2)))
    edge = (high - low) * 9 / panel.height
    unit = (panel.x.high - panel.x.low) / panel.width
    right = panel.place(at, 0)[0] + 6 + SMALL * width(text) <= panel.right
    y = high - edge if high >= -low else low + edge
    panel.add(Text(at + (5 if right else -5) * unit, y, text, anchor="start" if right else "end"))


def _evidence(panel: Panel, data: Path, chosen: list[int], names: tuple[str, str]) -> None:
    of, at = data.of, [data.of.at[i] for i in chosen]
    enough = f"{of.candidates / (1 - of.level):.3g}"
    panel.add(Stroke((0, at[-1]), (data.threshold,) * 2, "ink", 1.0, (5, 3), hover=Hover(f"threshold {enough}")))
    lines = ((data.worse, "c1", (6.0, 2.5), of.baseline, names[1]), (data.better, "c0", (), of.candidate, names[0]))
    labels = []
    for column, role, dashes, who, name in lines:
        values = [min(max(column[i], panel.y.low + 0.2), panel.y.high) for i in chosen] if column else []
        hover = Hover(f"e-value for {name} being better, {_power(column[-1])} at the end" if column else "", who)
        panel.add(Stroke(at[: len(values)], values, role, 1.8, dashes, hover=hover))
        labels += [(values[-1], Text(at[-1], 0, f"{name} better", role, anchor="end", hover=hover))] if values else []
    labels.sort(key=lambda one: one[0])
    unit = (panel.y.high - panel.y.low) / panel.height
    sides = [1] if len(labels) == 1 else [-1, 1]  # the lower label below its line, the upper one above
    wanted = [(y + 9 * unit * side) for (y, _), side in zip(labels, sides, strict=True)] if labels else []
    places = spread(wanted, 14 * unit, panel.y.low + 7 * unit, panel.y.high - 7 * unit)
    panel.add(*(replace(text, y=y) for (_, text), y in zip(labels, places, strict=True)))
    for when, role in ((of.shown_better, "c0"), (of.shown_worse, "c1")):
        if when is not None:
            panel.add(Dot(when, data.threshold, role, hover=Hover(f"reaches {enough} after {_steps(when, of)}")))


def _power(x: float) -> str:
    return f"10^{x:.1f}" if math.isfinite(x) else fixed(x, 0)


def _value(of: SequentialPath) -> str:
    end = ending(of)
    value, low, high = (fixed(x, digits_of([end]), signed=True) for x in (end.value, end.low, end.high))
    return f"after {_steps(of.at[-1], of)}: {value}" + (f" ({low} to {high})" if of.low else "")


def _digits(of: SequentialPath) -> int:
    return digits_of([ending(of)])


def _bounded(x: float, scale: Scale) -> float:
    return min(max(x, scale.low), scale.high)


def _differences(of: SequentialPath) -> Axis:
    """Zero, the means, and the band as far as it is no wider than a few times the later half of the means and band."""
    half = len(of.at) // 2
    late = finite([0.0, *of.mean[half:], *of.low[half:], *of.high[half:]])
    low, high = min(late), max(late)
    reach = 1.5 * (high - low) or 1.0
    early = [x for x in finite([*of.mean, *of.low, *of.high]) if low - reach <= x <= high + reach]
    return axis([low, high, *early])


def _powers(data: Path) -> tuple[tuple[float, ...], tuple[str, ...]]:
    """Powers of ten to mark, from the floor to the ceiling; more where the threshold is higher."""
    values = [*data.better, *data.worse]
    top = max(CEILING, math.ceil(data.threshold + 0.5))
    largest = max(finite([*values, data.threshold + 0.5]), default=0.0)
    high = min(top, max(2, math.ceil(largest))) if not any(v == math.inf for v in values) else top
    low = max(FLOOR, math.floor(min([*values, 0.0])) if min([*values, 0.0]) > FLOOR else FLOOR)
    marks = list(range(low, high + 1, 1 if high - low <= 6 else 2))
    texts = []
    for mark in marks:
        beyond = "≤ " * (mark == low and min([*values, 0.0]) < low) + "≥ " * (
            mark == high and max([*values, 0.0]) > high
        )
        texts.append(beyond + power_of_ten(mark))
    return tuple(map(float, marks)), tuple(texts)


def _notes(data: Path, differences: Axis) -> list[str]:
    of = data.of
    lines = [f"dashed line: e-value {of.candidates / (1 - of.level):.3g}, significant evidence at {percent(of.level)}"]
    if any(not differences.low <= x <= differences.high for x in (*of.mean, *of.low, *of.high)):
        lines.append("the start is cut at the edge of the upper axis")
    if of.reason:
        lines.append(label(of.reason, 80))
    return lines
