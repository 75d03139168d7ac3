"""Reliability diagrams.

A reliability diagram has confidences across and the observed accuracy up: isotonic regression, with a band around the
diagonal where the curve of calibrated predictions would be. Where only sums are at hand it has a point for each bin,
with the interval of its accuracy.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from toplist._text import fixed
from toplist.calibration.pairs import Bin
from toplist.report import calibration_statements
from toplist.report.plot.base import Plot
from toplist.report.plot.canvas import (
    MARGIN,
    NAMES,
    SIZE,
    SMALL,
    Anchor,
    Area,
    Dot,
    Hover,
    Panel,
    Scale,
    Sheet,
    Stroke,
    Text,
    called,
    fitted,
    full,
    label,
    said,
    width,
)
from toplist.report.text import Shown, count, names, number_of, percent, share

if TYPE_CHECKING:
    from toplist.calibration import Reliability
    from toplist.calibration.binned import BinnedCalibration
    from toplist.calibration.miscalibration import CalibrationVerdict

POINTS = 160  # of a curve or a band in one panel: closer ones cannot be told apart
PANELS = 6  # in one figure
_OF = {"listed": "all listed classes", "top": "top class", "mass": "listed probability"}
_AXES = {
    "listed": ("confidence of each listed class", "observed frequency"),
    "top": ("confidence of the top class", "observed accuracy"),
    "mass": ("listed probability", "share with the true class listed"),
}
_NARROW, _LARGEST = 180.0, 360.0  # widths of a panel
_PANEL = 230.0  # width of one alone within a page
_UNDER = 36.0  # height of the strip of counts


@dataclass(frozen=True, slots=True)
class BinPoint:
    """The cases of one bin: mean confidence and accuracy, with the interval of the latter where there is one."""

    x: float
    y: float
    low: float | None
    high: float | None
    words: str


@dataclass(frozen=True, slots=True)
class ReliabilityPanel:
    """One curve with its band, the counts below it, and the calibration bias with its interval and test."""

    name: str
    of: str | int
    count: int
    confidence: float
    hit_rate: float
    curve: tuple[tuple[float, float], ...]
    band: tuple[tuple[float, float, float], ...]  # confidence, lower end, upper end
    bars: tuple[Bin, ...]
    bias: tuple[float, float | None, float | None] | None = None  # mean confidence minus accuracy, and its interval
    p: float | None = None  # of the test of calibration, by Holm's method where several models are tested
    p_text: str = ""  # the same as it is shown: of a test by draws, at most its upper limit
    points: tuple[BinPoint, ...] = ()  # of a binned curve
    error: float | None = None  # expected calibration error over bins

    @property
    def axes(self) -> tuple[str, str]:
        """What is across, and what is up."""
        if isinstance(self.of, str):
            return _AXES.get(self.of, _AXES["listed"])
        return f"confidence of the class at rank {self.of}", "observed frequency"

    @property
    def words(self) -> str:
        """What it shows."""
        if not self.count:
            return f"{said(self.name)}: no confidences."
        what = f"mean confidence {share(self.confidence)}, {self.axes[1]} {share(self.hit_rate)}"
        found = "".join(f", {text}" for text in self.found)
        return f"{said(self.name)}: {what}{found}, {number_of(self.count, 'case')}."

    @property
    def found(self) -> list[str]:
        """The bias in points with its interval, and the p value, as far as they are known."""
        lines = []
        if self.bias is not None:
            value, *ends = (None if x is None else 100 * x for x in self.bias)
            interval = f" ({fixed(ends[0], 1)} to {fixed(ends[1], 1)})" if None not in ends else ""
            lines.append(f"{fixed(value, 1, signed=True)} pts{interval}")
        if self.p is not None:
            lines.append(f"p {self.p_text}")
        if self.error is not None:
            lines.append(f"ECE {fixed(self.error, 3)}")
        return lines


@dataclass(frozen=True, slots=True)
class ReliabilityData:
    """A panel per curve; `band` is the kind of the bands, and nothing where there are none."""

    panels: tuple[ReliabilityPanel, ...]
    band: str = ""
    level: float = math.nan
    clause: str = ""  # who is over- or underconfident, by the test
    more: int = 0  # curves that are not drawn
    tested: int = 1  # models that p values are adjusted for
    single: str = ""
    shown: Shown = field(default_factory=dict, compare=False, repr=False)
    width: int = 0  # bins of a binned curve, from 0 to 1

    @property
    def title(self) -> str:
        """The finding."""
        if self.clause:
            return self.clause
        if len(self.panels) == 1:
            one = self.panels[0]
            means = f"mean confidence {share(one.confidence)}, {one.axes[1]} {share(one.hit_rate)}"
            return means[:1].upper() + means[1:] if one.count else "No confidences"
        return "Calibration: observed frequency against confidence"

    @property
    def subtitle(self) -> str:
        """What is shown."""
        if not self.panels:
            return ""
        same = {one.count for one in self.panels}
        counts = f", {number_of(same.pop(), 'prediction')}" + " each" * (len(self.panels) > 1) if len(same) == 1 else ""
        level = percent(self.level)
        bands = {
            "consistency": f"; shaded: {level} consistency band",
            "confidence": f"; shaded: {level} confidence band",
        }
        tested = "; diamond: mean confidence and accuracy" * any(one.count for one in self.panels)
        tested += "; pts: their difference in points" * any(one.bias for one in self.panels)
        holm = f", Holm over {number_of(self.tested, 'model')}" if self.tested > 1 else ""
        tests = f"; p: test of calibration{holm}" * any(one.p is not None for one in self.panels)
        more = f"; and {count(self.more)} more" if self.more else ""
        if self.width:
            ends = f"; lines: {level} Clopper-Pearson interval of each bin alone" if self._intervals else ""
            errors = "; ECE: expected calibration error over these bins"
            return f"{count(self.width)} bins of equal width{counts}{ends}{tested}{errors}{more}"
        return f"Isotonic regression{counts}{bands.get(self.band, '')}{tested}{tests}{more}"

    @property
    def _intervals(self) -> bool:
        return any(point.low is not None for one in self.panels for point in one.points)

    @property
    def words(self) -> str:
        """What it shows."""
        return " ".join(one.words for one in self.panels) or "There are no curves."


def reliability(
    curves: Reliability | Mapping[str, Reliability] | Iterable[Reliability],
    judged: Mapping[str, CalibrationVerdict] | None = None,
    more: int = 0,
    shown: Shown = NAMES,
) -> Plot[ReliabilityData]:
    """Reliability by isotonic regression: one curve, curves by model, or several, told apart by what they are of.

    Of more than six curves the first four and the last two are drawn. The band is around the diagonal where it says
    what chance does to a calibrated model (consistency), or around the curve (confidence).

    Parameters
    ----------
    curves : Reliability, mapping of str to Reliability or iterable of Reliability
        As `toplist.calibration.reliability` finds them.
    judged : mapping of str to CalibrationVerdict, optional
        The test of calibration, by model, or by what a curve is of (`of_words`).
    more : int, default 0
        How many more models there are, which have no curve here.
    shown : mapping of str to Name, optional
        The short names of models, where those among the ones that are drawn would be others.

    Returns
    -------
    Plot
    """
    if isinstance(curves, Mapping):
        every = [(str(name), one) for name, one in curves.items()]
    else:
        every = [(of_words(one.of), one) for one in (curves if isinstance(curves, Iterable) else [curves])]
    drawn = every if len(every) <= PANELS else [*every[: PANELS - 2], *every[-2:]]
    bands = [one.band for _, one in every if one.band is not None]
    kind, level = (bands[0].kind, bands[0].level) if bands else ("", math.nan)
    own = judged or {}
    models = own if isinstance(curves, Mapping) else {}
    p = calibration_statements.adjusted(models) if len(models) > 1 else {}
    panels = tuple(_panel(name, one, own.get(name), p.get(name)) for name, one in drawn)
    clause = calibration_statements.calibration_clause(models, {**names(models), **shown}) if models else []
    title = str(clause[0]).rstrip(".") if clause else ""
    left_out, tested = more + len(every) - len(drawn), sum(x is not None for x in p.values())
    return Plot(ReliabilityData(panels, kind, level, title, left_out, max(tested, 1), shown=shown), draw_reliability)


def calibration_panel(
    name: str,
    curve: Reliability,
    verdict: CalibrationVerdict | None = None,
    adjusted_p: float | None = None,
    shown: Shown = NAMES,
) -> Plot[ReliabilityData]:
    """One panel of a reliability diagram, of about 230 by 270 pixels, for a row of them in a page.

    Parameters
    ----------
    name : str
        The model.
    curve : Reliability
        As `toplist.calibration.reliability` finds it.
    verdict : CalibrationVerdict, optional
        The bias with its interval, and the test of calibration.
    adjusted_p : float, optional
        The p value of the test, adjusted for the number of tested models; that of the test alone if it is not given.
    shown : mapping of str to Name, optional
        The short names of models, where those among the ones that are drawn would be others.

    Returns
    -------
    Plot
    """
    data = reliability({name: curve}, {} if verdict is None else {name: verdict}, shown=shown).data
    return Plot(replace(data, panels=(_panel(name, curve, verdict, adjusted_p),)), draw_reliability, _PANEL)


def binned_reliability(
    found: Mapping[str, BinnedCalibration], more: int = 0, shown: Shown = NAMES
) -> Plot[ReliabilityData]:
    """Reliability in bins of equal width, by model, each bin with the interval of its accuracy.

    Of more than six models the first four and the last two are drawn.

    Parameters
    ----------
    found : mapping of str to BinnedCalibration
        As `ReliabilityBins.calibration` makes them.
    more : int, default 0
        How many more models there are, which have no curve here.
    shown : mapping of str to Name, optional
        The short names of models, where those among the ones that are drawn would be others.

    Returns
    -------
    Plot
    """
    every = list(found.items())
    drawn = every if len(every) <= PANELS else [*every[: PANELS - 2], *every[-2:]]
    level, width = (drawn[0][1].level, drawn[0][1].width) if drawn else (math.nan, 0)
    panels = tuple(_binned_panel(name, one) for name, one in drawn)
    data = ReliabilityData(panels, level=level, more=more + len(every) - len(drawn), shown=shown, width=width)
    return Plot(data, draw_reliability)


def binned_panel(name: str, found: BinnedCalibration, shown: Shown = NAMES) -> Plot[ReliabilityData]:
    """One panel of a binned reliability diagram, of about 230 by 270 pixels, for a row of them in a page.

    Parameters
    ----------
    name : str
        The model.
    found : BinnedCalibration
        As `ReliabilityBins.calibration` makes it.
    shown : mapping of str to Name, optional
        The short names of models, where those among the ones that are drawn would be others.

    Returns
    -------
    Plot
    """
    return Plot(binned_reliability({name: found}, shown=shown).data, draw_reliability, _PANEL)


def _binned_panel(name: str, found: BinnedCalibration) -> ReliabilityPanel:
    bias = found.bias
    ends: Iterable[tuple[float | None, float | None]] = found.ends or [(None, None)] * len(found.bins)
    points = []
    for b, (low, high) in zip(found.bins, ends, strict=True):
        between = "" if low is None or high is None else f" ({share(low)} to {share(high)})"
        cases = number_of(b.count, "case")
        words = f"{cases} at mean confidence {share(b.mean_confidence)}: accuracy {share(b.hit_rate)}{between}"
        points.append(BinPoint(b.mean_confidence, b.hit_rate, low, high, words))
    return ReliabilityPanel(
        name,
        "top",
        found.cases,
        bias.mean_confidence,
        bias.hit_rate,
        (),
        (),
        found.bins,
        (bias.difference, *calibration_statements.bias_ends(bias)),
        points=tuple(points),
        error=found.error,
    )


def of_words(of: str | int) -> str:
    """What a curve is of.

    >>> of_words("top"), of_words(2)
    ('top class', 'rank 2')
    """
    return _OF.get(of, of) if isinstance(of, str) else f"rank {of}"


def _panel(
    name: str, one: Reliability, verdict: CalibrationVerdict | None, adjusted_p: float | None
) -> ReliabilityPanel:
    steps, band = one.steps, one.band
    ends = zip(steps.low.tolist(), steps.high.tolist(), steps.value.tolist(), strict=True)
    curve = [(x, value) for low, high, value in ends for x in ([low] if low == high else [low, high])]
    columns = () if band is None else (one.x.tolist(), band.low.tolist(), band.high.tolist())
    around = list(zip(*columns, strict=True))
    bias, test = (None, None) if verdict is None else (verdict.bias, verdict.test)
    p = None if test is None else test.p if adjusted_p is None else adjusted_p
    return ReliabilityPanel(
        name,
        one.of,
        int(one.count),
        float(one.mean_confidence),
        float(one.hit_rate),
        tuple(curve[i] for i in thinned([x for x, _ in curve])),
        tuple(around[i] for i in thinned([x for x, _, _ in around])),
        tuple(b for b in one.histogram if b.count),
        None if bias is None else (bias.difference, *calibration_statements.bias_ends(bias)),
        p,
        calibration_statements.p_value(p, test),
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


def draw_reliability(data: ReliabilityData, sheet: Sheet) -> None:
    """Panels side by side, each with a strip below of how many confidences there are."""
    many = max(1, len(data.panels))
    across = max(1, min(many, int(sheet.width // _NARROW), 2 if many == 4 else 3 if many < 7 else many))
    block = min(sheet.width / across, _LARGEST)
    short = called((one.name for one in data.panels), data.shown)
    texts = fitted([short[one.name] for one in data.panels], (block - 12) / SIZE)
    top = sheet.height
    for i, (one, text) in enumerate(zip(data.panels, texts, strict=True)):
        if i % across == 0:
            top = sheet.height
        _draw(sheet, one, text, block * (i % across), top, block, data.band)
    if not data.panels:
        sheet.write(MARGIN, sheet.height + 10, "no curves", role="muted")
        sheet.height += 20


def _draw(sheet: Sheet, one: ReliabilityPanel, text: str, left: float, top: float, block: float, band: str) -> None:
    start, side = left + 42, block - 56
    sheet.write(left + MARGIN, top + 9, text, size=SIZE, bold=True, hover=Hover(full(one.name), one.name))
    panel = Panel(start, top + 38, side, 0.92 * side, Scale(0, 1), Scale(0, 1))
    sheet.panels.append(panel)
    strip = Panel(
        start, panel.bottom + 6, side, _UNDER, Scale(0, 1), Scale(0, 1.5 * max((b.count for b in one.bars), default=1))
    )
    sheet.panels.append(strip)
    ticks, texts = (0.0, 0.25, 0.5, 0.75, 1.0), ("0%", "", "50%", "", "100%")
    sheet.rule_y(panel, ticks, texts)
    for tick in ticks:
        panel.add(Stroke((tick, tick), (0, 1), "grid", 0.8))
    sheet.rule_x(strip, ticks, texts, grid=False)
    across, up = one.axes
    sheet.name_y(panel, label(up, (block - 12) / SMALL), left=left + MARGIN)
    sheet.name_x(strip, label(across, block / SMALL), within=(left, left + block))
    _curve(panel, one, band)
    _found(panel, one)
    _counts(strip, one)
    sheet.height = max(sheet.height, strip.bottom + 48)


def _curve(panel: Panel, one: ReliabilityPanel, band: str) -> None:
    hover = Hover(one.words, one.name)
    if one.band:
        x, low, high = zip(*one.band, strict=True)
        role = "muted" if band == "consistency" else "c0"
        panel.add(Area([*x, *reversed(x)], [*low, *reversed(high)], role, 0.22, Hover(f"{band} band")))
    panel.add(Stroke((0, 1), (0, 1), "ink", 1.0, (4, 3)))
    for point in one.points:
        own = Hover(point.words, one.name)
        if point.low is not None and point.high is not None:
            panel.add(Stroke((point.x, point.x), (point.low, point.high), "c0", 1.4, opacity=0.5, hover=own))
        panel.add(Dot(point.x, point.y, "c0", size=4.5, hover=own))
    xs, ys = zip(*one.curve, strict=True) if one.curve else ((), ())
    panel.add(Stroke(xs, ys, "c0", 2.0, hover=hover))
    if len(one.curve) == 1:  # a point has no length
        panel.add(Dot(xs[0], ys[0], "c0", hover=hover))
    if one.count and math.isfinite(one.confidence) and math.isfinite(one.hit_rate):
        panel.add(Dot(one.confidence, one.hit_rate, "c1", "D", 6.5, hollow=True, hover=hover))  # both means


def _found(panel: Panel, one: ReliabilityPanel) -> None:
    """The bias and the test, on the side of the diagonal where the curve is not."""
    lines = one.found or ([] if one.count else ["no confidences"])
    if any(SMALL * width(line) > 0.85 * panel.width for line in lines):
        lines = [piece for line in lines for piece in line.replace(" (", "\n(").split("\n")]
    under = one.bias is not None and one.bias[0] < 0
    test = "p of the test of calibration" if one.error is None else "ECE: expected calibration error over bins"
    hover = Hover(f"mean confidence minus accuracy with its interval; {test}", one.name)
    for i, text in enumerate(reversed(lines) if under else lines):
        edge = (10 + 14 * i) / panel.height
        place: tuple[float, float, Anchor] = (0.98, edge, "end") if under else (0.03, 1 - edge, "start")
        panel.add(Text(place[0], place[1], text, anchor=place[2], hover=hover))


def _counts(strip: Panel, one: ReliabilityPanel) -> None:
    """Bars of how many confidences there are, with the largest number written."""
    fullest = max(one.bars, key=lambda b: b.count, default=None)
    strip.add(Stroke((0, 1), (0, 0), "muted", 0.8))
    least = strip.y.high / strip.height  # a pixel
    for b in one.bars:
        wide = 0.06 * (b.high - b.low)
        text = (
            f"{share(b.low)} to {share(b.high)}: {number_of(b.count, 'confidence')}, {one.axes[1]} {share(b.hit_rate)}"
        )
        strip.box(b.low + wide, 0, b.high - wide, max(b.count, least), "c0", Hover(text, one.name))
    if fullest is not None:
        text = count(fullest.count)
        half = SMALL * width(text) / 2 / strip.width
        x = min(max((fullest.low + fullest.high) / 2, half), 1 - half)
        hover = Hover(f"the most predictions in one bin: {text}")
        strip.add(Text(x, 1.22 * fullest.count, text, "muted", anchor="middle", hover=hover))
