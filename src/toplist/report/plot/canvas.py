"""What figures are drawn with: sheets and panels, axes with round numbers, labels that fit, legends, small multiples.

matplotlib is asked for here and nowhere else; its settings are as before when all is drawn.
"""

from __future__ import annotations

import math
import unicodedata
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from threading import RLock
from typing import TYPE_CHECKING, Any

import numpy as np

from toplist.errors import TopListError
from toplist.report.numbers import number
from toplist.report.plot.colours import Theme, dashes, marker
from toplist.report.text import escaped, numbers, quotes, rule_name, shorten, shown

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


WIDTH = 560.0  # of every figure, in the unit that all sizes are in: a pixel of an SVG, 1/72 inch on paper
SIZE = 12.0  # of text
SMALL = 11.0
LINE = 15.0  # from one line of small print to the next
_OURS = (
    *("agg.", "axes.", "figure.", "font.", "grid.", "lines.", "markers.", "mathtext.", "patch.", "path.", "pdf."),
    *("savefig.", "svg.", "text.", "xtick.", "ytick."),
)
# what may show letters that matplotlib's own font lacks, where it is installed
_FONTS = (
    *("Noto Sans", "Noto Sans CJK SC", "Noto Sans CJK JP", "Source Han Sans SC", "WenQuanYi Micro Hei", "PingFang SC"),
    *("Hiragino Sans", "Microsoft YaHei", "Yu Gothic", "Malgun Gothic", "Arial Unicode MS"),
)
APART = 15.0  # labels of lines
_SPAN = 30  # list lengths beyond which their axis is logarithmic
_LOCK = RLock()  # matplotlib's settings are one for all threads


def load(module: str) -> Any:
    """A module that needs matplotlib, or an error that says what to install."""
    try:
        import_module("matplotlib")
    except ImportError as error:
        raise TopListError("plots need matplotlib: pip install 'toplist[report]'") from error
    return import_module(module)


@contextmanager
def settings(fonts: bool = True) -> Iterator[None]:
    """matplotlib as it comes, whatever the caller has set, and as the caller has set it afterwards."""
    matplotlib = load("matplotlib")
    ours = {k: v for k, v in matplotlib.rcParamsDefault.items() if k.startswith(_OURS) and k != "savefig.directory"}
    ours |= {"text.parse_math": False, "text.usetex": False, "svg.fonttype": "none", "font.size": SIZE}
    if fonts:
        known = set(load("matplotlib.font_manager").fontManager.get_font_names())
        ours |= {"font.family": ["DejaVu Sans", *(font for font in _FONTS if font in known)]}
    with _LOCK, matplotlib.rc_context(ours), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*(Glyph|glyph)")  # a name in letters that no font here has
        yield


def sheet(height: float, theme: Theme, *, width: float = WIDTH) -> Figure:
    """An empty figure."""
    figure: Figure = load("matplotlib.figure").Figure(figsize=(width / 72, height / 72), dpi=144)
    figure.patch.set_facecolor(theme["paper"])
    return figure


def panel(figure: Figure, theme: Theme, left: float, top: float, width: float, height: float) -> Axes:
    """Empty axes, placed from the top left corner; only what is drawn into them is to be seen."""
    across, down = (72 * x for x in figure.get_size_inches())
    axes = figure.add_axes((left / across, 1 - (top + height) / down, width / across, height / down))
    axes.patch.set_visible(False)
    for spine in axes.spines.values():
        spine.set_visible(False)
    axes.tick_params(length=0, pad=4, labelsize=SMALL, labelcolor=theme["muted"])
    axes.set_xticks([])
    axes.set_yticks([])
    axes.set_axisbelow(True)
    return axes


def write(place: Axes | Figure, x: float, y: float, text: str, *, over: str | None = None, **options: Any) -> None:
    """Text at a place, in the coordinates of the figure or of the axes' data, on a patch of the colour `over`."""
    look: dict[str, Any] = {"fontsize": SIZE, "va": "center_baseline", "rotation_mode": "anchor"}
    if over is not None:
        look["bbox"] = {"facecolor": over, "edgecolor": "none", "pad": 1}
    place.text(x, y, text, parse_math=False, **look | options)


def rule_x(axes: Axes, ticks: tuple[float, ...], texts: tuple[str, ...], theme: Theme) -> None:
    """Grid lines that stand, with numbers below."""
    axes.set_xticks(ticks, labels=texts)
    axes.grid(axis="x", color=theme["grid"], linewidth=0.8)


def rule_y(axes: Axes, ticks: tuple[float, ...], texts: tuple[str, ...], theme: Theme) -> None:
    """Grid lines that lie, with numbers to the left."""
    axes.set_yticks(ticks, labels=texts)
    axes.tick_params(axis="y", pad=8)
    axes.grid(axis="y", color=theme["grid"], linewidth=0.8)


def cover(figure: Figure, theme: Theme) -> Axes:
    """Axes over the whole figure, in pixels from its top left corner."""
    across, down = (72 * float(x) for x in figure.get_size_inches())
    axes = panel(figure, theme, 0, 0, across, down)
    axes.set_xlim(0, across)
    axes.set_ylim(down, 0)
    return axes


def note(page: Axes, theme: Theme, lines: list[str], *, bottom: float | None = None) -> None:
    """Small print, its last line at the bottom of the page unless said otherwise."""
    end = page.get_ylim()[0] if bottom is None else bottom
    for i, line in enumerate(reversed(lines)):
        write(page, 8, end - 12 - i * LINE, line, fontsize=SMALL, color=theme["muted"], va="baseline")


def frame(
    theme: Theme, left: float, right: float, top: float, height: float, foot: list[str], *, below: float = 36
) -> tuple[Figure, Axes, Axes]:
    """A figure with one panel and small print below it, the panel, and axes over the whole figure in pixels."""
    figure = sheet(top + height + below + LINE * len(foot), theme)
    axes, page = panel(figure, theme, left, top, WIDTH - left - right, height), cover(figure, theme)
    note(page, theme, foot)
    return figure, axes, page


def room(texts: Iterable[str], size: float = SMALL, margin: float = 18.0) -> float:
    """The width that the widest of these texts takes beside a panel."""
    return margin + size * max(map(width, texts), default=0)


def small_multiples(
    theme: Theme,
    names: Sequence[str],
    foot: list[str],
    size: Callable[[float], tuple[float, float, float]],
    most: float,
) -> tuple[Figure, Axes, list[tuple[Axes, float, float, float]]]:
    """Square panels under their names, of at most this side: the figure, its page, and axes, left, top, side of each.

    `size` gives the heights above a panel and below it, and the rest of its block, for a side.
    """
    count = max(1, len(names))
    across = count if count <= 3 else 2 if count == 4 else 3 if count <= 9 else 4
    left, between = 40.0, 18.0
    side = min(most, (WIDTH - left - 14 - between * (across - 1)) / across)
    above, under, rest = size(side)
    block = above + side + under + rest
    figure = sheet(4 + block * -(-count // across) + LINE * len(foot) + 22, theme)
    page, start, panels = cover(figure, theme), left if across > 1 else (WIDTH - side) / 2, []
    for i, text in enumerate(labels(names, side / SIZE)):
        x, y = start + (side + between) * (i % across), 4 + block * (i // across)
        write(page, x, y + 13, text, color=theme["ink"], fontsize=SIZE)
        panels.append((panel(figure, theme, x, y + above, side, side), x, y + above, side))
        _rule_unit(panels[-1][0], theme, numbers=i % across == 0)
    note(page, theme, foot)
    return figure, page, panels


def _rule_unit(axes: Axes, theme: Theme, *, numbers: bool) -> None:
    """Both axes from 0 to 1 with the diagonal, numbers at the left if asked for."""
    axes.set_xlim(0, 1)
    axes.set_ylim(0, 1)
    ticks = (0.0, 0.25, 0.5, 0.75, 1.0)
    rule_x(axes, ticks, ("",) * 5, theme)
    rule_y(axes, ticks, ("0", "", "0.5", "", "1") if numbers else ("",) * 5, theme)
    axes.plot([0, 1], [0, 1], color=theme["ink"], linewidth=1, dashes=(4, 3))


def rows_down(axes: Axes, scale: Axis, names: list[str], theme: Theme, *, size: float = SIZE) -> None:
    """Scores across, a row for each name down."""
    axes.set_xlim(scale.low, scale.high)
    axes.set_ylim(max(1, len(names)) - 0.5, -0.5)
    rule_x(axes, scale.ticks, scale.texts, theme)
    axes.set_yticks(range(len(names)), labels=names)
    axes.tick_params(axis="y", labelsize=size, labelcolor=theme["ink"], pad=8)


def rule_k(axes: Axes, ks: Sequence[float], theme: Theme, wide: float, *, margin: float = 0.0) -> None:
    """An axis of list lengths, logarithmic beyond a span of 30, with the numbers that do not run into the next one."""
    low, high = (ks[0], ks[-1]) if ks else (1, 1)
    place: Callable[[float], float] = float
    ticks = list(ks)  # a round number that no list was cut to is no number to mark
    if is_long(ks):
        axes.set_xscale("function", functions=(np.log1p, np.expm1))
        ticks, place, margin = [k for k in counts(int(high)) if low <= k], math.log1p, 0.0
    unit = wide / ((place(high) - place(low)) or 1)
    kept = [high]
    for k in reversed(ticks):
        texts = width(f"{k:,.0f}") + width(f"{kept[-1]:,.0f}")
        if (place(kept[-1]) - place(k)) * unit > 8 + SMALL * texts / 2:
            kept.append(k)
    margin = 0.5 if low == high else margin * (high - low)
    axes.set_xlim(low - margin, high + margin)
    rule_x(axes, tuple(map(float, kept[::-1])), tuple(f"{k:,.0f}" for k in kept[::-1]), theme)


def is_long(ks: Sequence[float]) -> bool:
    """Whether list lengths span too much for a plain axis."""
    return bool(ks) and max(ks) - min(ks) > _SPAN


def name_lines(
    page: Axes, axes: Axes, ends: Iterable[tuple[float, float]], names: list[str], theme: Theme, **look: Any
) -> None:
    """Labels at the right, as far apart as need be, each tied to the end of its line."""
    box = axes.bbox.transformed(page.transData.inverted())  # in pixels from the top left corner
    where = axes.transData + page.transData.inverted()
    found = [where.transform(end) for end in ends]
    places = spread([float(y) for _, y in found], APART, min(box.y0, box.y1), max(box.y0, box.y1))
    for i, ((x, y), place, text) in enumerate(zip(found, places, names, strict=True)):
        page.plot([x + 4, box.x1 + 8, box.x1 + 18], [y, y, place], color=theme["muted"], linewidth=0.6)
        page.plot([box.x1 + 24], [place], marker=marker(i), markersize=5, color=theme.cycle(i), **look)
        write(page, box.x1 + 32, place, text, fontsize=SMALL, color=theme["ink"])


def line_style(i: int) -> dict[str, Any]:
    """The dashes of the line of a model, where it has any."""
    return {"dashes": dashes(i)} if dashes(i) else {}


def drawable(values: Iterable[float]) -> list[float]:
    """The values of a line, broken where they are infinite."""
    return [v if math.isfinite(v) else math.nan for v in values]


def tiles(axes: Axes, corners: Iterable[tuple[float, float, float, float]], colour: str, **options: Any) -> None:
    """Rectangles from one corner to the opposite one, as one shape."""
    xs, ys = [], []
    for x0, y0, x1, y1 in corners:
        xs += [x0, x1, x1, x0, x0, math.nan]
        ys += [y0, y0, y1, y1, y0, math.nan]
    axes.fill(xs, ys, facecolor=colour, edgecolor="none", linewidth=0, **options)


@dataclass(frozen=True, slots=True)
class Axis:
    """A range with the round numbers in it."""

    low: float
    high: float
    ticks: tuple[float, ...]
    digits: int

    @property
    def texts(self) -> tuple[str, ...]:
        """The round numbers as text, with the same number of decimals."""
        return tuple(number(t, self.digits) if self.digits < 10 else f"{t:.12g}" for t in self.ticks)


_LEAST = 1e-100  # below this, numbers are as good as zero


def finite(values: Iterable[float | None]) -> list[float]:
    """The values that a place on an axis can be found for."""
    return [v for v in values if v is not None and math.isfinite(v)]


def axis(values: Iterable[float | None], *, ticks: int = 5, margin: float = 0.04) -> Axis:
    """A range for the finite values among these, a little wider than they are, with about so many round numbers.

    >>> axis([0.31, 0.52]).texts
    ('0.35', '0.40', '0.45', '0.50')
    """
    known = finite(values)
    if not known:
        return Axis(0.0, 1.0, (), 0)  # with nothing on it, it has no numbers
    low, high = min(known), max(known)
    if high - low <= max(1e-9 * max(abs(low), abs(high)), _LEAST):  # as good as one value: rounding is no spread
        room = abs(low) * 0.05 if abs(low) > _LEAST else 0.5
        low, high = low - room, high + room
    else:
        room = (high - low) * margin
        low, high = low - room, high + room
    return _ruled(low, high, ticks)


def decimals(values: Iterable[float | None], *, digits: int = 3) -> int:
    """How many decimals show so many digits of the largest finite value.

    >>> decimals([0.31424, 0.5]), decimals([12.5])
    (3, 1)
    """
    largest = max(map(abs, finite(values)), default=0.0)
    return min(9, max(0, digits - 1 - _exponent(largest))) if largest else digits


def edges(values: Iterable[float], count: int = 4) -> tuple[float, ...]:
    """So many rising numbers of the series 1, 2, 5, 10, the last of them below the largest absolute value.

    >>> edges([-0.35, 0.1])
    (0.02, 0.05, 0.1, 0.2)
    """
    largest = max(map(abs, finite(values)), default=0.0) or 1.0
    series = [float(f"{m}e{e}") for e in range(_exponent(largest) - 3, _exponent(largest) + 1) for m in (1, 2, 5)]
    return tuple([x for x in series if x < largest][-count:])


def level(value: float, limits: Sequence[float]) -> int:
    """How many of the limits the absolute value reaches, with the sign of the value.

    >>> level(-0.07, (0.02, 0.05, 0.1, 0.2)), level(math.inf, (0.02, 0.05, 0.1, 0.2)), level(0.01, (0.02,))
    (-2, 4, 0)
    """
    reached = sum(abs(value) >= limit for limit in limits)
    return -reached if value < 0 else reached


def counts(largest: int) -> tuple[int, ...]:
    """Round numbers from 0 or 1 up, closer together near the start: 0, 1, 2, 5, 10, 20.

    >>> counts(70)
    (0, 1, 2, 5, 10, 20, 50)
    """
    return (0, *(m * 10**e for e in range(len(str(largest))) for m in (1, 2, 5) if m * 10**e <= largest))


def spread(places: Sequence[float], distance: float, low: float, high: float) -> list[float]:
    """The places moved as little as need be to lie so far apart and, if they fit, within the bounds.

    >>> spread([0.0, 0.0, 5.0], 1.0, 0.0, 10.0)
    [0.0, 1.0, 5.0]
    """
    order = sorted(range(len(places)), key=lambda i: places[i])
    blocks: list[tuple[float, int]] = []  # the wish of a block's first label, and how many labels it has
    for i in order:
        wish, size = places[i], 1
        # a block that would run into the one before is merged with it, around the mean of what both want
        while blocks and wish < blocks[-1][0] + distance * blocks[-1][1]:
            before, count = blocks.pop()
            wish = (before * count + (wish - distance * count) * size) / (count + size)
            size += count
        blocks.append((wish, size))
    moved = [start + distance * k for start, size in blocks for k in range(size)]
    moved = _fit(moved, distance, low, high)
    result = [0.0] * len(places)
    for i, place in zip(order, moved, strict=True):
        result[i] = place
    return result


def _fit(places: list[float], distance: float, low: float, high: float) -> list[float]:
    for i in range(len(places)):
        places[i] = max(places[i], low if i == 0 else places[i - 1] + distance)
    for i in reversed(range(len(places))):
        places[i] = min(places[i], high if i == len(places) - 1 else places[i + 1] - distance)
    return places


def _ruled(low: float, high: float, ticks: int) -> Axis:
    m, e = _step((high - low) / ticks)
    step = float(f"{m}e{e}")
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    if last - first < 2:
        return _ruled(low, high, 2 * ticks)
    marks = (float(f"{i * m}e{e}") for i in range(first, last + 1))  # not i * step: 3 * 0.1 is not 0.3
    return Axis(low, high, tuple(marks), max(0, -e))


def _exponent(x: float) -> int:
    return int(f"{x:e}".partition("e")[2])


def _step(x: float) -> tuple[int, int]:
    """The next number of the series 1, 2, 5, 10, as digit and exponent."""
    e = _exponent(x)
    return next(((m, e) for m in (1, 2, 5) if float(f"{m}e{e}") >= x * (1 - 1e-9)), (1, e + 1))


ROOM = 16.0  # of a name, in units of the font size: about 28 letters
_WORDS = 36.0  # of a name within a sentence
_LONG = 400
_NARROW = frozenset("iljtfrI.,:;'|!()[]{}/\\ ")
_BROAD = frozenset("mwMW@%—…")


def label(name: str, room: float = ROOM) -> str:
    r"""A name on one line, shortened in the middle; what cannot be seen is written as an escape.

    >>> label("a model with a very long and winding name"), label("one\ntwo\u202e"), label("")
    ('a model with…winding name', 'one\\ntwo\\u202e', '""')
    """
    half = _LONG // 2  # a name of ten thousand characters is not looked at as a whole
    parts = _visible(name) if len(name) <= _LONG else [*_visible(name[:half]), "…", *_visible(name[-half:])]
    return quotes(name) + shorten(parts, room, width) + quotes(name)


def labels(names: Iterable[str], room: float = ROOM) -> list[str]:
    """Names as `label` writes them; those that look alike once they are shortened are numbered.

    >>> labels(["a" * 40 + "b" + "c" * 40, "a" * 40 + "d" + "c" * 40, "e"], 8.0)
    ['aaaa…cccc (1)', 'aaaa…cccc (2)', 'e']
    """
    every = list(names)
    ends = numbers((name, label(name, room)) for name in every)
    return [label(name, room - width(end)) + end for name, end in zip(every, ends, strict=True)]


def scored(rule: str) -> str:
    """A rule before the word score, no wider than a name."""
    return label(rule_name(rule))


def said(name: str) -> str:
    """A name within a sentence."""
    return label(name, _WORDS)


def width(text: str) -> float:
    """About how wide the text is in a sans serif, in units of the font size; rather too much than too little.

    >>> width("iii") < width("nnn") < width("日本語")
    True
    """
    return sum(map(_width, text))


def _visible(text: str) -> list[str]:
    """The characters, as escapes if they cannot be seen, or are one accent too many to stay in their line."""
    parts, accents = [], 0
    for c in text:
        accents = accents + 1 if unicodedata.combining(c) else 0
        parts.append(shown(c) if accents < 3 else escaped(c))
    return parts


def _width(character: str) -> float:
    if character in _NARROW:
        return 0.39
    if character in _BROAD:
        return 1.0
    if unicodedata.east_asian_width(character) in ("W", "F"):
        return 1.05
    return 0.75 if character.isupper() else 0.64


_LINE = 17.0
_GAP = 30.0  # for the marker


def look_of(i: int, theme: Theme, told_apart: int) -> dict[str, Any]:
    """The colour and the marker of a model: its own, or the one of all others."""
    if i < told_apart:
        return {"color": theme.cycle(i), "marker": marker(i)}
    return {"color": theme["muted"], "marker": "."}


def _columns(names: list[str]) -> int:
    """How many names go side by side."""
    widest = _GAP + SMALL * max(map(width, names), default=1)
    return max(1, min(4, len(names), int((WIDTH - 16) / widest)))


def legend_height(names: list[str]) -> float:
    """How much room the legend takes."""
    return _LINE * -(-len(names) // _columns(names))


def legend(page: Axes, names: list[str], theme: Theme, top: float, *, told_apart: int) -> None:
    """Names with their markers, down and then across; from some place on, all have the same one."""
    across = _columns(names)
    down = -(-len(names) // across)
    for i, name in enumerate(names):
        x, y = 16 + (WIDTH - 16) / across * (i // down), top + _LINE * (i % down + 0.5)
        look = look_of(i, theme, told_apart)
        page.plot([x], [y], markersize=6 if i < told_apart else 4, markeredgewidth=1.3, **look)
        write(page, x + 10, y, name, fontsize=SMALL, color=theme["ink"])
