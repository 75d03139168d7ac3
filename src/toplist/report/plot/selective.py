"""Score against coverage: what is gained where the least sure predictions are held back."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from toplist.report.numbers import number, share
from toplist.report.plot.base import Plot
from toplist.report.plot.canvas import (
    LINE,
    SMALL,
    WIDTH,
    axis,
    cover,
    decimals,
    labels,
    note,
    panel,
    rule_x,
    rule_y,
    said,
    scored,
    sheet,
    spread,
    width,
    write,
)
from toplist.report.plot.colours import Theme, dashes, marker
from toplist.report.text import number_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from toplist.postprocess.selective import RejectionCurve


POINTS = 200  # of a line: closer ones cannot be told apart
_APART = 15.0  # labels
_HEIGHT = 250.0


@dataclass(frozen=True, slots=True)
class Line:
    """Mean scores of one model by the share of cases that it answers."""

    name: str
    coverage: tuple[float, ...]  # rising, up to 1
    accepted: tuple[float, ...]  # mean score of the answered cases
    overall: tuple[float, ...]  # mean score of all cases, those held back as empty lists
    chosen: float  # the coverage that validation chose


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
        return " ".join(_rejection_words(line, digits) for line in self.lines) or "There are no curves."


def rejection(found: RejectionCurve | Mapping[str, RejectionCurve]) -> Plot[Rejection]:
    """Mean score of what is answered against how much is answered, the surest cases first."""
    every = found if isinstance(found, Mapping) else {"": found}
    rules = [one.rule for one in every.values()]
    return Plot(
        Rejection(rules[0] if rules else "", tuple(_line(str(n), one) for n, one in every.items())), draw_rejection
    )


def _line(name: str, one: RejectionCurve) -> Line:
    coverage = [float(x) for x in one.coverage]
    order = sorted(range(len(coverage)), key=coverage.__getitem__)
    kept = _thinned([coverage[i] for i in order])
    at = [order[i] for i in kept]
    return Line(
        name,
        tuple(coverage[i] for i in at),
        tuple(float(one.accepted[i]) for i in at),
        tuple(float(one.overall[i]) for i in at),
        coverage[one.chosen],
    )


def _thinned(x: Sequence[float]) -> list[int]:
    kept: list[int] = []
    for i, value in enumerate(x):
        if not kept or i == len(x) - 1 or value - x[kept[-1]] >= 1 / POINTS:
            kept.append(i)
    return kept


def _rejection_words(line: Line, digits: int) -> str:
    known = [(c, s) for c, s in zip(line.coverage, line.accepted, strict=True) if not math.isnan(s)]
    name = f"{said(line.name)}: " if line.name else ""
    if not known:
        return f"{name}no cases."
    first, last = known[0], known[-1]
    text = f"{name}{number(first[1], digits)} where {share(first[0])} of the cases are answered, "
    text += f"{number(last[1], digits)} where {share(last[0])} are"
    return f"{text}; validation chooses {share(line.chosen)}."


def draw_rejection(data: Rejection, theme: Theme) -> Figure:
    """Coverage across, scores up, names at the right."""
    named = any(line.name for line in data.lines)
    names = labels((line.name for line in data.lines), 12.0) if named else [""] * len(data.lines)
    right = 40 + SMALL * max(map(width, names), default=0) if named else 20.0
    scale = axis((s for line in data.lines for s in (*line.accepted, *line.overall)), ticks=6)
    left = 18 + SMALL * max(map(width, scale.texts), default=0)
    height, foot = max(_HEIGHT, _APART * len(names) + 10), _rejection_foot(data)
    figure = sheet(14 + height + 24 + LINE * len(foot) + 12, theme)
    axes = panel(figure, theme, left, 14, WIDTH - left - right, height)
    axes.set_xlim(0, 1)
    axes.set_ylim(scale.low, scale.high)
    rule_x(axes, (0.0, 0.2, 0.4, 0.6, 0.8, 1.0), ("0%", "20%", "40%", "60%", "80%", "100%"), theme)
    rule_y(axes, scale.ticks, scale.texts, theme)
    for i, line in enumerate(data.lines):
        _drawn(axes, line, i, theme)
    page = cover(figure, theme)
    if named:
        _name(page, axes, data.lines, names, theme)
    note(page, theme, foot)
    return figure


def _drawn(axes: Axes, line: Line, i: int, theme: Theme) -> None:
    colour = theme.cycle(i)
    style: dict[str, Any] = {"dashes": dashes(i)} if dashes(i) else {}
    overall, accepted = (
        [s if math.isfinite(s) else math.nan for s in scores] for scores in (line.overall, line.accepted)
    )
    axes.plot(line.coverage, overall, color=colour, linewidth=1, alpha=0.55, clip_on=False, **style)
    axes.plot(line.coverage, accepted, color=colour, linewidth=1.8, clip_on=False, **style)
    if line.coverage:
        near = min(range(len(line.coverage)), key=lambda j: abs(line.coverage[j] - line.chosen))
        look: dict[str, Any] = {"markerfacecolor": theme["paper"], "markersize": 7, "markeredgewidth": 1.6}
        for scores in (overall, accepted):
            if math.isfinite(scores[near]):
                axes.plot([line.coverage[near]], [scores[near]], marker=marker(i), color=colour, clip_on=False, **look)


def _name(page: Axes, axes: Axes, lines: tuple[Line, ...], names: list[str], theme: Theme) -> None:
    box = axes.bbox.transformed(page.transData.inverted())
    right, top, bottom = box.x1, min(box.y0, box.y1), max(box.y0, box.y1)
    where = axes.transData + page.transData.inverted()
    ends = [where.transform((1.0, _end(line, axes.get_ylim()[1]))) for line in lines]
    places = spread([float(y) for _, y in ends], _APART, top, bottom)
    for i, ((x, y), place, text) in enumerate(zip(ends, places, names, strict=True)):
        page.plot([x + 4, right + 8, right + 18], [y, y, place], color=theme["muted"], linewidth=0.6)
        page.plot([right + 24], [place], marker=marker(i), markersize=5, color=theme.cycle(i))
        write(page, right + 32, place, text, fontsize=SMALL, color=theme["ink"])


def _end(line: Line, top: float) -> float:
    known = [s for s in line.accepted if math.isfinite(s)]
    return known[-1] if known else top


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
