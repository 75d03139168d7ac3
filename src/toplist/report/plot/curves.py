"""The figure of lists: mean score against their length, a line per model."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from toplist._text import fixed
from toplist.inference.results import ModelDetails
from toplist.report.plot.base import Plot
from toplist.report.plot.canvas import (
    LABELLED,
    NAMES,
    SMALL,
    Dot,
    Hover,
    Panel,
    Sheet,
    Stroke,
    axis,
    decimals,
    drawable,
    full,
    is_long,
    lengths,
    line_height,
    name_lines,
    room,
    said,
    scored,
    several,
    told_apart,
    width,
)
from toplist.report.text import Shown, listed, number_of

_ALIKE = 0.01  # of a score: what a title calls within 1%


def _rule_k(sheet: Sheet, panel: Panel, ticks: Sequence[float]) -> None:
    """Numbers of list lengths; those that would run into the next larger one are left out."""
    kept: list[float] = []
    for k in ticks:
        wide = SMALL * (width(f"{k:,.0f}") + width(f"{kept[-1]:,.0f}")) / 2 + 6 if kept else 0.0
        if not kept or panel.place(kept[-1], 0)[0] - panel.place(k, 0)[0] >= wide:
            kept.append(k)
    sheet.rule_x(panel, kept[::-1], [f"{k:,.0f}" for k in kept[::-1]])


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
        empty = {fixed(c.scores[0], decimals(c.scores)) for c in data.curves if c.ks[0] == 0}
        lines.append(f"empty lists, k = 0, score {listed(sorted(empty), 3)}")
    if any(math.isinf(s) for curve in data.curves for s in curve.scores):
        lines.append("triangles at the upper edge: infinite means")
    if data.without:
        lines.append(f"no curve: {several(data.without, 3)}")
    return lines
