"""What was promised against what was kept: confidences, and how often what they were given to happened.

Reliability curves: how often promises were kept, by isotonic regression, with a band and how many there were.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from toplist.calibration.bins import Bin, averages
from toplist.inference.results import ModelDetails
from toplist.report.numbers import number
from toplist.report.plot.base import Plot
from toplist.report.plot.canvas import (
    LINE,
    SIZE,
    SMALL,
    WIDTH,
    cover,
    labels,
    note,
    panel,
    rule_x,
    rule_y,
    said,
    sheet,
    write,
)
from toplist.report.plot.colours import Theme
from toplist.report.text import count, number_of, percent

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from toplist.calibration import Reliability


JOINED = 20  # confidences that a bin needs to be joined to others by a line: fewer are mostly chance


@dataclass(frozen=True, slots=True)
class BinnedSeries:
    """One model: all listed confidences, and those of the most confident class; empty bins are left out."""

    name: str
    listed: tuple[Bin, ...]
    top: tuple[Bin, ...]


@dataclass(frozen=True, slots=True)
class BinnedReliability:
    """A panel per model."""

    panels: tuple[BinnedSeries, ...]

    @property
    def title(self) -> str:
        """What it is."""
        return f"Confidences against frequencies, {number_of(len(self.panels), 'model')}"

    @property
    def words(self) -> str:
        """What it shows."""
        return " ".join(_reliability_words(panel) for panel in self.panels) or "There are no models."


def reliability(exhibits: ModelDetails | Iterable[ModelDetails]) -> Plot[BinnedReliability]:
    """Promised against kept, with the diagonal where both agree; the area of a marker is the size of its bin."""
    every = (exhibits,) if isinstance(exhibits, ModelDetails) else tuple(exhibits)
    return Plot(
        BinnedReliability(tuple(BinnedSeries(e.name, _filled(e.listed), _filled(e.top)) for e in every)),
        draw_reliability,
    )


def _filled(bins: tuple[Bin, ...]) -> tuple[Bin, ...]:
    return tuple(b for b in bins if b.count and math.isfinite(b.promised) and math.isfinite(b.kept))


def _reliability_words(panel: BinnedSeries) -> str:
    said_of = [
        f"promised {number(found[0], 3)}, kept {number(found[1], 3)} {what}"
        for bins, what in ((panel.top, "at the top"), (panel.listed, "over all"))
        if (found := averages(bins)) is not None
    ]
    return f"{said(panel.name)}: {', '.join(said_of) or 'no confidences'}."


def draw_reliability(data: BinnedReliability, theme: Theme) -> Figure:
    """Small panels, each with a strip of bin sizes below."""
    count = max(1, len(data.panels))
    across = count if count <= 3 else 2 if count == 4 else 3 if count <= 9 else 4
    down = -(-count // across)
    left, between = 40.0, 18.0
    side = min(360.0, (WIDTH - left - 14 - between * (across - 1)) / across)
    strip = max(16.0, side * 0.12)
    title = 28.0
    block = title + side + 4 + strip + 22
    foot = _reliability_foot()
    figure = sheet(4 + block * down + LINE * len(foot) + 22, theme)
    page = cover(figure, theme)
    start = left if across > 1 else (WIDTH - side) / 2
    names = labels((one.name for one in data.panels), side / SIZE)
    for i, promises in enumerate(data.panels):
        x, y = start + (side + between) * (i % across), 4 + block * (i // across)
        write(page, x, y + 13, names[i], color=theme["ink"], fontsize=SIZE)
        axes = panel(figure, theme, x, y + title, side, side)
        _promises(axes, promises, theme, 3 + min(9.0, 0.05 * side), numbers=i % across == 0)
        _sizes(page, promises, theme, x, y + title + side + 4 + strip, side, strip)
    note(page, theme, foot)
    return figure


def _promises(axes: Axes, promises: BinnedSeries, theme: Theme, largest: float, *, numbers: bool) -> None:
    axes.set_xlim(0, 1)
    axes.set_ylim(0, 1)
    ticks = (0.0, 0.25, 0.5, 0.75, 1.0)
    rule_x(axes, ticks, ("",) * 5, theme)
    rule_y(axes, ticks, ("0", "", "0.5", "", "1") if numbers else ("",) * 5, theme)
    axes.plot([0, 1], [0, 1], color=theme["ink"], linewidth=1, dashes=(4, 3))
    solid: dict[str, Any] = {}
    dashed: dict[str, Any] = {"dashes": (3, 1.5)}
    for bins, role, shape, style in ((promises.listed, "c1", "s", dashed), (promises.top, "c0", "o", solid)):
        if not bins:
            continue
        colour = theme[role]
        joined = [b for b in bins if b.count >= JOINED]
        places = [b.promised for b in joined], [b.kept for b in joined]
        axes.plot(*places, color=colour, linewidth=1.2, clip_on=False, **style)
        fullest = max(b.count for b in bins)
        for b in bins:
            size = max(2.5, round(2 * largest * math.sqrt(b.count / fullest)) / 2)
            look: dict[str, Any] = {"color": colour, "markeredgewidth": 0, "clip_on": False}
            axes.plot([b.promised], [b.kept], marker=shape, markersize=size, **look)


def _sizes(
    page: Axes, promises: BinnedSeries, theme: Theme, left: float, bottom: float, side: float, strip: float
) -> None:
    """Bars of how full each bin is: of the most confident class to the left, of all to the right."""
    page.plot([left, left + side], [bottom, bottom], color=theme["muted"], linewidth=0.8)
    for x, text in ((0.0, "0"), (0.5, "0.5"), (1.0, "1")):
        write(page, left + side * x, bottom + 11, text, fontsize=SMALL, ha="center", color=theme["muted"])
    for bins, role, half in ((promises.top, "c0", 0), (promises.listed, "c1", 1)):
        fullest = max((b.count for b in bins), default=1)
        xs, ys = [], []
        for b in bins:
            x = left + side * (b.low + (b.high - b.low) * (0.1 + 0.42 * half))
            end, top = x + side * 0.38 * (b.high - b.low), bottom - strip * math.log1p(b.count) / math.log1p(fullest)
            xs += [x, x, end, end, x, math.nan]
            ys += [bottom, top, top, bottom, bottom, math.nan]
        page.fill(xs, ys, facecolor=theme[role], edgecolor="none", linewidth=0)


def _reliability_foot() -> list[str]:
    return [
        "across: confidence promised; up: how often it was kept; on the diagonal both agree",
        "circles, solid: the most confident class; squares, dashed: all listed classes",
        f"area: how many there are; bars: the same, log scale; bins below {JOINED} are not joined",
    ]


POINTS = 160  # of a curve or a band in one panel: closer ones cannot be told apart
_TICKS = (0.0, 0.25, 0.5, 0.75, 1.0)
_OF = {"listed": "all listed classes", "top": "most confident class", "mass": "listed mass"}


@dataclass(frozen=True, slots=True)
class HistogramBar:
    """How many promises there are between two confidences."""

    low: float
    high: float
    count: int


@dataclass(frozen=True, slots=True)
class CurvePanel:
    """One reliability curve: promised against kept, with a band where there is one."""

    name: str
    of: str
    count: int
    promised: float
    kept: float
    curve: tuple[tuple[float, float], ...]
    band: tuple[tuple[float, float, float], ...]  # promised, lower end, upper end
    bars: tuple[HistogramBar, ...]


@dataclass(frozen=True, slots=True)
class ReliabilityData:
    """A panel per curve; `kind` is what their bands are, and nothing where there are none."""

    panels: tuple[CurvePanel, ...]
    kind: str
    level: float

    @property
    def title(self) -> str:
        """What it is."""
        return f"Reliability, {number_of(len(self.panels), 'curve')}"

    @property
    def words(self) -> str:
        """What it shows."""
        return " ".join(map(_calibration_words, self.panels)) or "There are no curves."


def calibration(found: Reliability | Mapping[str, Reliability] | Iterable[Reliability]) -> Plot[ReliabilityData]:
    """Reliability by isotonic regression: one curve, curves by name, or several, told apart by what they are of.

    The band is around the diagonal where it says what chance does to a calibrated model (consistency), or around
    the curve (confidence).
    """
    if isinstance(found, Mapping):
        every = [(str(name), one) for name, one in found.items()]
    else:
        curves = list(found) if isinstance(found, Iterable) else [found]
        every = [(of_words(one.of), one) for one in curves]
    bands = [one.band for _, one in every if one.band is not None]
    kind, level = (bands[0].kind, bands[0].level) if bands else ("", math.nan)
    return Plot(ReliabilityData(tuple(_panel(name, one) for name, one in every), kind, level), draw_calibration)


def of_words(of: str | int) -> str:
    """What a curve is of.

    >>> of_words("top"), of_words(2)
    ('most confident class', 'rank 2')
    """
    return _OF.get(of, of) if isinstance(of, str) else f"rank {of}"


def _panel(name: str, one: Reliability) -> CurvePanel:
    steps = one.steps
    ends = zip(steps.low.tolist(), steps.high.tolist(), steps.value.tolist(), strict=True)
    curve = [(x, value) for low, high, value in ends for x in ([low] if low == high else [low, high])]
    band = one.band
    x = [] if band is None else [float(v) for v in one.x]
    low, high = ([], []) if band is None else ([float(v) for v in band.low], [float(v) for v in band.high])
    chosen = thinned(x)
    return CurvePanel(
        name,
        of_words(one.of),
        int(one.count),
        float(one.promised),
        float(one.kept),
        tuple(curve[i] for i in thinned([x for x, _ in curve])),
        tuple((x[i], low[i], high[i]) for i in chosen),
        tuple(HistogramBar(b.low, b.high, b.count) for b in one.histogram if b.count),
    )


def thinned(x: Sequence[float], points: int = POINTS) -> list[int]:
    """The places of rising numbers within [0, 1] that are far enough apart to be told apart, with both ends.

    >>> thinned([0.0, 0.001, 0.5, 0.502, 0.503, 1.0], 10)
    [0, 2, 5]
    """
    kept: list[int] = []
    for i, value in enumerate(x):
        last = i == len(x) - 1
        if kept and last and len(kept) > 1 and value - x[kept[-1]] < 1 / points:
            kept[-1] = i
        elif not kept or last or value - x[kept[-1]] >= 1 / points:
            kept.append(i)
    return kept


def _calibration_words(one: CurvePanel) -> str:
    name = said(one.name) if one.name == one.of else f"{said(one.name)}, {one.of}"
    if not one.count:
        return f"{name}: no promises."
    return f"{name}: promised {number(one.promised, 3)}, kept {number(one.kept, 3)} in {count(one.count)}."


def draw_calibration(data: ReliabilityData, theme: Theme) -> Figure:
    """Square panels, each with a strip below of how many promises there are."""
    many = max(1, len(data.panels))
    across = many if many <= 3 else 2 if many == 4 else 3 if many <= 9 else 4
    down = -(-many // across)
    left, between = 40.0, 18.0
    side = min(320.0, (WIDTH - left - 14 - between * (across - 1)) / across)
    strip, title = max(18.0, side * 0.14), 44.0
    block = title + side + 5 + strip + 22
    foot = _calibration_foot(data)
    figure = sheet(4 + block * down + LINE * len(foot) + 22, theme)
    page = cover(figure, theme)
    start = left if across > 1 else (WIDTH - side) / 2
    names = labels((one.name for one in data.panels), side / SIZE)
    for i, one in enumerate(data.panels):
        x, y = start + (side + between) * (i % across), 4 + block * (i // across)
        write(page, x, y + 13, names[i], color=theme["ink"], fontsize=SIZE)
        write(page, x, y + 29, _under(one, side), color=theme["muted"], fontsize=SMALL - 1)
        axes = panel(figure, theme, x, y + title, side, side)
        _curve(axes, one, data.kind, theme, numbers=i % across == 0)
        _strip(page, one, theme, x, y + title + side + 5 + strip, side, strip)
    note(page, theme, foot)
    return figure


def _under(one: CurvePanel, side: float) -> str:
    if not one.count:
        return "no promises"
    if side < 150:
        return f"{number(one.promised, 2)} → {number(one.kept, 2)}"
    return f"promised {number(one.promised, 3)}, kept {number(one.kept, 3)}"


def _curve(axes: Axes, one: CurvePanel, kind: str, theme: Theme, *, numbers: bool) -> None:
    axes.set_xlim(0, 1)
    axes.set_ylim(0, 1)
    rule_x(axes, _TICKS, ("",) * 5, theme)
    rule_y(axes, _TICKS, ("0", "", "0.5", "", "1") if numbers else ("",) * 5, theme)
    if one.band:
        x, low, high = zip(*one.band, strict=True)
        role = "muted" if kind == "consistency" else "c0"
        axes.fill([*x, *reversed(x)], [*low, *reversed(high)], color=theme[role], alpha=0.22, linewidth=0)
    axes.plot([0, 1], [0, 1], color=theme["ink"], linewidth=1, dashes=(4, 3))
    if one.curve:
        xs, ys = zip(*one.curve, strict=True)
        axes.plot(xs, ys, color=theme["c0"], linewidth=2, clip_on=False, solid_joinstyle="round")
    if len(one.curve) == 1:  # a point has no length
        axes.plot(xs, ys, "o", color=theme["c0"], markersize=6, clip_on=False)
    if one.count and math.isfinite(one.promised) and math.isfinite(one.kept):
        look: dict[str, Any] = {"markersize": 7, "markeredgewidth": 1.6, "clip_on": False}
        axes.plot([one.promised], [one.kept], "D", color=theme["c1"], markerfacecolor=theme["paper"], **look)


def _strip(page: Axes, one: CurvePanel, theme: Theme, left: float, bottom: float, side: float, strip: float) -> None:
    page.plot([left, left + side], [bottom, bottom], color=theme["muted"], linewidth=0.8)
    for x, text in ((0.0, "0"), (0.5, "0.5"), (1.0, "1")):
        write(page, left + side * x, bottom + 11, text, fontsize=SMALL, ha="center", color=theme["muted"])
    fullest = max((b.count for b in one.bars), default=1)
    xs: list[float] = []
    ys: list[float] = []
    for b in one.bars:
        gap = 0.06 * (b.high - b.low)
        start, end = left + side * (b.low + gap), left + side * (b.high - gap)
        top = bottom - strip * math.sqrt(b.count / fullest)
        xs += [start, start, end, end, start, math.nan]
        ys += [bottom, top, top, bottom, bottom, math.nan]
    page.fill(xs, ys, facecolor=theme["c0"], edgecolor="none", linewidth=0)


def _calibration_foot(data: ReliabilityData) -> list[str]:
    lines = [
        "across: confidence promised; up: how often it was kept; on the diagonal both agree",
        "line: isotonic regression; diamond: both means; bars: how many there are, root scale",
    ]
    if data.kind == "consistency":
        lines.append(
            f"band: where the line of calibrated predictions would be, {percent(data.level)} at each confidence"
        )
    elif data.kind:
        lines.append(f"band: {percent(data.level)} {data.kind} band of the line, at each confidence")
    return lines
