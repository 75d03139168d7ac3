"""Reliability diagrams, and what mean scores are made of.

A reliability diagram has confidences across and how often they were right up: the bins of a leaderboard's details, or
the isotonic curve of `toplist.calibration` with its band.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from toplist.calibration.pairs import Bin, averages
from toplist.inference.results import ModelDetails
from toplist.report.numbers import number, signed
from toplist.report.plot.base import Plot
from toplist.report.plot.canvas import (
    SIZE,
    SMALL,
    WIDTH,
    axis,
    decimals,
    frame,
    labels,
    room,
    rule_x,
    said,
    scored,
    small_multiples,
    tiles,
    width,
    write,
)
from toplist.report.plot.colours import Theme
from toplist.report.text import count, number_of, percent

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from toplist.calibration import Decomposition, Reliability

JOINED = 20  # confidences that a bin needs to be joined to others by a line: fewer are mostly chance
POINTS = 160  # of a curve or a band in one panel: closer ones cannot be told apart
_OF = {"listed": "all listed classes", "top": "most confident class", "mass": "listed mass"}
_AXES = "across: confidence; up: hit rate; on the diagonal both agree"


@dataclass(frozen=True, slots=True)
class ReliabilityPanel:
    """One model: bins of the most confident class and of all listed ones, or one curve with its means and its bars."""

    name: str
    top: tuple[Bin, ...] = ()
    listed: tuple[Bin, ...] = ()
    of: str = ""  # what the curve is of
    count: int = 0
    confidence: float = math.nan
    hit_rate: float = math.nan
    curve: tuple[tuple[float, float], ...] = ()
    band: tuple[tuple[float, float, float], ...] = ()  # confidence, lower end, upper end
    bars: tuple[Bin, ...] = ()

    @property
    def words(self) -> str:
        """What it shows."""
        if self.of:
            name = said(self.name) if self.name == self.of else f"{said(self.name)}, {self.of}"
            means = f"{self._means(self.confidence, self.hit_rate)} in {count(self.count)}"
            return f"{name}: {means if self.count else 'no confidences'}."
        parts = [
            f"{self._means(*found)} {what}"
            for bins, what in ((self.top, "at the top"), (self.listed, "over all"))
            if (found := averages(bins)) is not None
        ]
        return f"{said(self.name)}: {', '.join(parts) or 'no confidences'}."

    @staticmethod
    def _means(confidence: float, hit_rate: float) -> str:
        return f"confidence {number(confidence, 3)}, hit rate {number(hit_rate, 3)}"

    def under(self, side: float) -> str:
        """The means below the name of a panel of this side."""
        if not self.count:
            return "no confidences"
        if side < 150:
            return f"{number(self.confidence, 2)} → {number(self.hit_rate, 2)}"
        return self._means(self.confidence, self.hit_rate)


@dataclass(frozen=True, slots=True)
class ReliabilityData:
    """A panel per model or curve; `band` is the kind of the bands of curves, and nothing where there are none."""

    panels: tuple[ReliabilityPanel, ...]
    curves: bool = False
    band: str = ""
    level: float = math.nan

    @property
    def title(self) -> str:
        """What it is."""
        many = len(self.panels)
        if self.curves:
            return f"Reliability, {number_of(many, 'curve')}"
        return f"Confidences against frequencies, {number_of(many, 'model')}"

    @property
    def words(self) -> str:
        """What it shows."""
        return " ".join(one.words for one in self.panels) or f"There are no {'curves' if self.curves else 'models'}."


def reliability(details: ModelDetails | Iterable[ModelDetails]) -> Plot[ReliabilityData]:
    """Bins of confidences against how often they were right; the area of a marker is the size of its bin.

    Parameters
    ----------
    details : ModelDetails or iterable of them
        What the lists of each model show.

    Returns
    -------
    Plot
    """

    def filled(bins: tuple[Bin, ...]) -> tuple[Bin, ...]:
        return tuple(b for b in bins if b.count and math.isfinite(b.mean_confidence) and math.isfinite(b.hit_rate))

    every = (details,) if isinstance(details, ModelDetails) else tuple(details)
    panels = tuple(ReliabilityPanel(one.name, filled(one.top), filled(one.listed)) for one in every)
    return Plot(ReliabilityData(panels), draw_reliability)


def calibration(found: Reliability | Mapping[str, Reliability] | Iterable[Reliability]) -> Plot[ReliabilityData]:
    """Reliability by isotonic regression: one curve, curves by name, or several, told apart by what they are of.

    The band is around the diagonal where it says what chance does to a calibrated model (consistency), or around
    the curve (confidence).

    Parameters
    ----------
    found : Reliability, mapping of str to Reliability or iterable of Reliability
        As `toplist.calibration.reliability` finds them.

    Returns
    -------
    Plot
    """
    if isinstance(found, Mapping):
        every = [(str(name), one) for name, one in found.items()]
    else:
        every = [(of_words(one.of), one) for one in (found if isinstance(found, Iterable) else [found])]
    bands = [one.band for _, one in every if one.band is not None]
    kind, level = (bands[0].kind, bands[0].level) if bands else ("", math.nan)
    panels = tuple(_curve_panel(name, one) for name, one in every)
    return Plot(ReliabilityData(panels, True, kind, level), draw_reliability)


def of_words(of: str | int) -> str:
    """What a curve is of.

    >>> of_words("top"), of_words(2)
    ('most confident class', 'rank 2')
    """
    return _OF.get(of, of) if isinstance(of, str) else f"rank {of}"


def _curve_panel(name: str, one: Reliability) -> ReliabilityPanel:
    steps, band = one.steps, one.band
    ends = zip(steps.low.tolist(), steps.high.tolist(), steps.value.tolist(), strict=True)
    curve = [(x, value) for low, high, value in ends for x in ([low] if low == high else [low, high])]
    columns = () if band is None else (one.x.tolist(), band.low.tolist(), band.high.tolist())
    around = list(zip(*columns, strict=True))
    return ReliabilityPanel(
        name,
        of=of_words(one.of),
        count=int(one.count),
        confidence=float(one.mean_confidence),
        hit_rate=float(one.hit_rate),
        curve=tuple(curve[i] for i in thinned([x for x, _ in curve])),
        band=tuple(around[i] for i in thinned([x for x, _, _ in around])),
        bars=tuple(b for b in one.histogram if b.count),
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


def draw_reliability(data: ReliabilityData, theme: Theme) -> Figure:
    """Small panels, each with a strip below of how many confidences there are."""
    least, part, gap = (18.0, 0.14, 5.0) if data.curves else (16.0, 0.12, 4.0)

    def size(side: float) -> tuple[float, float, float]:
        return 44.0 if data.curves else 28.0, gap + max(least, side * part), 22.0

    names, foot = [one.name for one in data.panels], _reliability_foot(data)
    figure, page, panels = small_multiples(theme, names, foot, size, 320.0 if data.curves else 360.0)
    for one, (axes, x, y, side) in zip(data.panels, panels, strict=True):
        strip = x, y + side + size(side)[1], side, size(side)[1] - gap
        if data.curves:
            write(page, x, y - 15, one.under(side), color=theme["muted"], fontsize=SMALL - 1)
            _curve(axes, one, data.band, theme)
            _strip(page, theme, *strip, {"c0": (one.bars, 0.06, 0.94)}, math.sqrt)
        else:
            _bins(axes, one, theme, 3 + min(9.0, 0.05 * side))
            _strip(page, theme, *strip, {"c0": (one.top, 0.1, 0.48), "c1": (one.listed, 0.52, 0.9)}, math.log1p)
    return figure


def _bins(axes: Axes, one: ReliabilityPanel, theme: Theme, largest: float) -> None:
    solid: dict[str, Any] = {}
    dashed: dict[str, Any] = {"dashes": (3, 1.5)}
    for bins, role, shape, style in ((one.listed, "c1", "s", dashed), (one.top, "c0", "o", solid)):
        joined, fullest = [b for b in bins if b.count >= JOINED], max((b.count for b in bins), default=1)
        if bins:
            places = [b.mean_confidence for b in joined], [b.hit_rate for b in joined]
            axes.plot(*places, color=theme[role], linewidth=1.2, clip_on=False, **style)
        look: dict[str, Any] = {"color": theme[role], "markeredgewidth": 0, "clip_on": False, "marker": shape}
        for b in bins:
            size = max(2.5, round(2 * largest * math.sqrt(b.count / fullest)) / 2)
            axes.plot([b.mean_confidence], [b.hit_rate], markersize=size, **look)


def _curve(axes: Axes, one: ReliabilityPanel, band: str, theme: Theme) -> None:
    if one.band:
        x, low, high = zip(*one.band, strict=True)
        colour = theme["muted" if band == "consistency" else "c0"]
        axes.fill([*x, *reversed(x)], [*low, *reversed(high)], color=colour, alpha=0.22, linewidth=0)
    if one.curve:
        xs, ys = zip(*one.curve, strict=True)
        axes.plot(xs, ys, color=theme["c0"], linewidth=2, clip_on=False, solid_joinstyle="round")
    if len(one.curve) == 1:  # a point has no length
        axes.plot(xs, ys, "o", color=theme["c0"], markersize=6, clip_on=False)
    if one.count and math.isfinite(one.confidence) and math.isfinite(one.hit_rate):
        look: dict[str, Any] = {"markersize": 7, "markeredgewidth": 1.6, "clip_on": False}
        axes.plot([one.confidence], [one.hit_rate], "D", color=theme["c1"], markerfacecolor=theme["paper"], **look)


def _strip(
    page: Axes,
    theme: Theme,
    left: float,
    bottom: float,
    side: float,
    height: float,
    bars: Mapping[str, tuple[tuple[Bin, ...], float, float]],
    scale: Callable[[float], float],
) -> None:
    """Bars of how full each bin is, by colour, each within a part of the width of its bin."""
    page.plot([left, left + side], [bottom, bottom], color=theme["muted"], linewidth=0.8)
    for x, text in ((0.0, "0"), (0.5, "0.5"), (1.0, "1")):
        write(page, left + side * x, bottom + 11, text, fontsize=SMALL, ha="center", color=theme["muted"])
    for role, (bins, start, end) in bars.items():
        fullest = max((b.count for b in bins), default=1)
        corners = []
        for b in bins:
            xs = [left + side * (b.low + part * (b.high - b.low)) for part in (start, end)]
            corners.append((xs[0], bottom, xs[1], bottom - height * scale(b.count) / scale(fullest)))
        tiles(page, corners, theme[role])


def _reliability_foot(data: ReliabilityData) -> list[str]:
    if not data.curves:
        return [
            _AXES,
            "circles, solid: the most confident class; squares, dashed: all listed classes",
            f"area: how many there are; bars: the same, log scale; bins below {JOINED} are not joined",
        ]
    lines = [_AXES, "line: isotonic regression; diamond: both means; bars: how many there are, root scale"]
    level = percent(data.level)
    if data.band == "consistency":
        lines.append(f"band: where the line of calibrated predictions would be, {level} at each confidence")
    elif data.band:
        lines.append(f"band: {level} {data.band} band of the line, at each confidence")
    return lines


# Decomposition

_BAR, _GAP, _HEAD = 16.0, 16.0, 8.0
_ROLES = {  # the steps from zero to the score, in order
    "uncertainty": "muted",
    "misses": "c3",
    "discrimination": "c0",
    "miscalibration": "c1",
    "penalty": "c4",
    "within": "c6",
}
_ALWAYS = ("uncertainty", "discrimination", "miscalibration")


@dataclass(frozen=True, slots=True)
class Step:
    """One part of a score: from where it goes, and how far, with its sign."""

    name: str
    start: float
    change: float


@dataclass(frozen=True, slots=True)
class DecompositionRow:
    """One model; a score that has no parts, because it is infinite, has no steps."""

    name: str
    score: float
    steps: tuple[Step, ...]


@dataclass(frozen=True, slots=True)
class Parts:
    """The steps to the mean score of each model."""

    rule: str
    rows: tuple[DecompositionRow, ...]

    @property
    def digits(self) -> int:
        """How many decimals show the small parts beside the large ones."""
        return max(3, decimals(row.score for row in self.rows))

    @property
    def title(self) -> str:
        """What it is."""
        return f"What the mean {scored(self.rule)} score is made of, {number_of(len(self.rows), 'model')}"

    @property
    def words(self) -> str:
        """What it shows."""
        return " ".join(self._of(row) for row in self.rows) or "There are no models."

    def _of(self, row: DecompositionRow) -> str:
        parts = (f"{step.name} {signed(step.change, self.digits)}" for step in row.steps)
        return f"{said(row.name)}: {', '.join(parts) or 'no parts'}, score {number(row.score, self.digits)}."


def decomposition(found: Decomposition | Mapping[str, Decomposition]) -> Plot[Parts]:
    """Bars from zero to the score: uncertainty, discrimination, miscalibration and the other terms.

    Parameters
    ----------
    found : Decomposition or mapping of str to Decomposition
        As `toplist.calibration.decompose` finds them.

    Returns
    -------
    Plot
    """
    every = found if isinstance(found, Mapping) else {"": found}
    rows = tuple(_row(str(name), one) for name, one in every.items())
    return Plot(Parts(next((one.rule for one in every.values()), ""), rows), draw_decomposition)


def _row(name: str, one: Decomposition) -> DecompositionRow:
    steps, at = [], 0.0
    for part in _ROLES:
        value = getattr(one, part)
        if value is None or not math.isfinite(value):
            return DecompositionRow(name, float(one.score), ())
        change = -float(value) if part == "discrimination" else float(value)
        if change or part in _ALWAYS:
            steps.append(Step(part, at, change))
            at += change
    return DecompositionRow(name, float(one.score), tuple(steps))


def draw_decomposition(data: Parts, theme: Theme) -> Figure:
    """A block of bars per model, the parts and their sizes named to the right."""
    names = labels((row.name for row in data.rows), 9.5) if any(row.name for row in data.rows) else [""]
    left, right = room(names, SIZE, 16), 20 + SMALL * width("miscalibration +0.0000")
    blocks = [_BAR * (len(row.steps) + 1) for row in data.rows]
    height = sum(blocks) + _GAP * max(0, len(blocks) - 1) or _BAR
    figure, axes, page = frame(theme, left, right, _HEAD, height, _decomposition_foot(data), below=38)
    ends = [x for row in data.rows for step in row.steps for x in (step.start, step.start + step.change)]
    scale = axis([0.0, *ends, *(row.score for row in data.rows)])
    low = min([0.0, *ends])
    axes.set_xlim(low, scale.high)
    axes.set_ylim(height, 0)
    kept = [(tick, text) for tick, text in zip(scale.ticks, scale.texts, strict=True) if tick >= low]
    rule_x(axes, tuple(tick for tick, _ in kept), tuple(text for _, text in kept), theme)
    top = 0.0
    for row, name, block in zip(data.rows, names, blocks, strict=False):
        write(page, left - 8, _HEAD + top + _BAR / 2, name, ha="right", color=theme["ink"])
        _block(axes, page, row, data.digits, theme, top, WIDTH - right + 14)
        top += block + _GAP
    return figure


def _decomposition_foot(data: Parts) -> list[str]:
    parts = {step.name for row in data.rows for step in row.steps}
    lines = [
        f"bars from left to right and back: how the mean {scored(data.rule)} score comes about; lower is better",
        "uncertainty: knowing only frequencies; discrimination: what the confidences tell apart;",
        "miscalibration: what is lost because they are not frequencies; line: the score",
    ]
    if "misses" in parts:
        lines.append("misses: what unlisted outcomes cost whatever the rest mass is")
    if "within" in parts:
        lines.append("within: what bins hide")
    if any(not row.steps for row in data.rows):
        lines.append("a score that is infinite has no parts")
    return lines


def _block(axes: Axes, page: Axes, row: DecompositionRow, digits: int, theme: Theme, top: float, x: float) -> None:
    half = _BAR * 0.36
    ink: dict[str, Any] = {"fontsize": SMALL, "color": theme["ink"]}
    for i, step in enumerate(row.steps):
        y, end = top + _BAR * (i + 0.5), step.start + step.change
        xs = [step.start, end, end, step.start]
        axes.fill(xs, [y - half, y - half, y + half, y + half], facecolor=theme[_ROLES[step.name]], linewidth=0)
        axes.plot([end, end], [y + half, y + _BAR - half], color=theme["muted"], linewidth=0.8)
        write(page, x, _HEAD + y, f"{step.name} {signed(step.change, digits)}", **ink)
    y = top + _BAR * (len(row.steps) + 0.5)
    if row.steps:
        axes.plot([row.score] * 2, [y - _BAR / 2, y + _BAR / 2], color=theme["ink"], linewidth=2.2)
    text = "no score" if math.isnan(row.score) else f"score {number(row.score, digits)}"
    write(page, x, _HEAD + y, text, fontweight="bold", **ink)
