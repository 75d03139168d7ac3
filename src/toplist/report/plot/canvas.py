"""What figures are made of: sheets with panels and marks, scales with round numbers, labels that fit, and colours.

A sheet knows nothing of what draws it: `toplist.report.plot.base` writes it as SVG or has matplotlib draw it.
"""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from hashlib import sha256
from itertools import pairwise
from types import MappingProxyType
from typing import Literal

from toplist._text import escaped, fixed, shown
from toplist.errors import TopListError
from toplist.report.text import Shown, exponent, listed, names, quotes, round_numbers, rule_name, shorten

# Colours

MARKERS = ("o", "s", "^", "D", "v", "P", "<", "X")
DASHES: tuple[tuple[float, ...], ...] = ((), (8, 3), (2.5, 2.5), (10, 2.5, 2.5, 2.5))
STEPS = 4  # of the scale of differences, to either side of its middle
NOISE = (0.0, 4.0, 6.0, 10.0)  # standard errors from which on a significant difference has the colour of each step
CLASS = "toplist-plot"

# Light and dark. After Okabe and Ito (2008), moved apart as far as a contrast of 3 to 1 with the paper allows, for
# normal vision and for that of deuteranopes and protanopes.
_COLOURS = {
    "paper": ("#ffffff", "#161a20"),
    "ink": ("#1f2328", "#e8eaed"),
    "muted": ("#59636e", "#a3adb8"),
    "faint": ("#8b949e", "#737c87"),
    "grid": ("#d8dde3", "#363d47"),
    "c0": ("#1560c3", "#07acff"),
    "c1": ("#d66e1e", "#ce6f13"),
    "c2": ("#125b6f", "#3de1de"),
    "c3": ("#ca79a4", "#cc7aa3"),
    "c4": ("#6a1817", "#995661"),
    "c5": ("#368cfe", "#0069cc"),
    "c6": ("#835208", "#e7ac6b"),
    "c7": ("#30206a", "#f6e728"),
    "below4": ("#0b3f7d", "#a9d2ff"),
    "below3": ("#2b6cb4", "#5f9fe2"),
    "below2": ("#98bfe8", "#2a5688"),
    "below1": ("#d6e6f6", "#203650"),
    "level0": ("#f1f1ef", "#2a2f37"),
    "above1": ("#fbe2c6", "#48331d"),
    "above2": ("#f3b571", "#79500f"),
    "above3": ("#a85a08", "#de9236"),
    "above4": ("#6e3900", "#ffca8a"),
}
_LIGHT, _DARK = ({role: pair[i] for role, pair in _COLOURS.items()} for i in range(2))


@dataclass(frozen=True, slots=True)
class Theme:
    """What each role looks like."""

    name: str
    colours: Mapping[str, str]

    def __getitem__(self, role: str) -> str:
        return self.colours[role]


THEMES = MappingProxyType(
    {"light": Theme("light", MappingProxyType(_LIGHT)), "dark": Theme("dark", MappingProxyType(_DARK))}
)


def theme(name: str) -> Theme:
    """A theme by its name."""
    if name not in THEMES:
        raise TopListError(f"{name!r} is no theme of plots: there are {' and '.join(map(repr, THEMES))}.")
    return THEMES[name]


def step(level: int) -> str:
    """The role of a step of the scale of differences: blue below zero, orange above.

    >>> step(-2), step(0), step(4)
    ('below2', 'level0', 'above4')
    """
    return f"below{-level}" if level < 0 else f"above{level}" if level else "level0"


def shade(difference: float, error: float | None) -> int:
    """The step of colour of a significant difference, below zero where it is: by how many standard errors it is.

    The weakest where the method has no standard error.

    >>> shade(-0.5, 0.1), shade(0.5, 0.01), shade(0.5, None)
    (-2, 4, 1)
    """
    reached = sum(abs(difference) >= limit * error for limit in NOISE) if error else 1
    return -reached if difference < 0 else reached


def over(level: int) -> str:
    """The role of text over a step of the scale of differences."""
    return "paper" if abs(level) > STEPS / 2 else "ink"


def _style() -> str:
    def variables(colours: Mapping[str, str]) -> str:
        return "".join(f"--plot-{role}:{colour};" for role, colour in colours.items())

    light, dark = variables(_LIGHT), variables(_DARK)
    rules = [
        f".{CLASS}{{display:block;max-width:100%;height:auto;{light}}}",
        f"@media (prefers-color-scheme:dark){{.{CLASS}{{{dark}}}}}",
        f'[data-theme="light"] .{CLASS}{{{light}}}',
        f'[data-theme="dark"] .{CLASS}{{{dark}}}',
        f"@media print{{.{CLASS}.{CLASS}.{CLASS}{{{light}}}}}",
        *(f".{CLASS} .f-{role}{{fill:var(--plot-{role})}}" for role in _LIGHT),
        *(f".{CLASS} .s-{role}{{stroke:var(--plot-{role})}}" for role in _LIGHT),
    ]
    return "\n".join(rules) + "\n"


STYLE = _style()
"""The style sheet of inline figures, for both themes: of the system, or of an element around with `data-theme`."""


# Sheets, panels and marks

WIDTH = 560.0  # of a figure unless said otherwise, in the unit of all sizes: a pixel of an SVG, 1/72 inch on paper
SIZE = 12.0  # of text
SMALL = 11.0  # of numbers, names of axes and small print; nothing is smaller
_TITLE = 15.0
LINE = 15.0  # from one line of small print to the next
MARGIN = 8.0
LABELLED = 8  # lines that have a label of their own


@dataclass(frozen=True, slots=True)
class Hover:
    """What is shown where a pointer rests on a mark, and the model that it belongs to."""

    text: str
    model: str = ""


@dataclass(frozen=True, slots=True)
class Stroke:
    """A line through points, broken where one is not finite."""

    xs: Sequence[float]
    ys: Sequence[float]
    role: str
    width: float = 1.6
    dashes: tuple[float, ...] = ()
    opacity: float = 1.0
    hover: Hover | None = None


@dataclass(frozen=True, slots=True)
class Area:
    """A filled polygon."""

    xs: Sequence[float]
    ys: Sequence[float]
    role: str
    opacity: float = 1.0
    hover: Hover | None = None


@dataclass(frozen=True, slots=True)
class Dot:
    """A marker, filled with its colour or with that of the paper."""

    x: float
    y: float
    role: str
    shape: str = "o"
    size: float = 7.0
    hollow: bool = False
    hover: Hover | None = None


Anchor = Literal["start", "middle", "end"]


@dataclass(frozen=True, slots=True)
class Text:
    """One line of text, its middle at a height; turned by a quarter it runs upwards from its place."""

    x: float
    y: float
    text: str
    role: str = "ink"
    size: float = SMALL
    anchor: Anchor = "start"
    bold: bool = False
    turned: bool = False
    hover: Hover | None = None


Mark = Stroke | Area | Dot | Text


@dataclass(frozen=True, slots=True)
class LegendEntry:
    """A line of a legend: patches of colours, and what they mean."""

    text: str
    roles: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Scale:
    """A range of values, plain or logarithmic: of the values, or of one more than them."""

    low: float
    high: float
    kind: Literal["linear", "log", "log1p"] = "linear"

    def __call__(self, x: float) -> float:
        """Where the value lies, from 0 to 1; at the nearer end if it is beyond one."""
        if math.isnan(x):
            return x
        inside = min(max(x, min(self.low, self.high)), max(self.low, self.high))
        low, high, at = (_TRANSFORMS[self.kind](v) for v in (self.low, self.high, inside))
        return (at - low) / ((high - low) or 1.0)


_TRANSFORMS: dict[str, Callable[[float], float]] = {"linear": float, "log": math.log, "log1p": math.log1p}


@dataclass(slots=True)
class Panel:
    """A rectangle of a sheet with marks in the units of its scales; y rises from its bottom."""

    left: float
    top: float
    width: float
    height: float
    x: Scale
    y: Scale
    marks: list[Mark] = field(default_factory=list)

    @property
    def right(self) -> float:
        """Its right edge."""
        return self.left + self.width

    @property
    def bottom(self) -> float:
        """Its lower edge."""
        return self.top + self.height

    def place(self, x: float, y: float) -> tuple[float, float]:
        """Where a point lies on the sheet."""
        return self.left + self.width * self.x(x), self.top + self.height * (1 - self.y(y))

    def add(self, *marks: Mark) -> None:
        """Marks on top of those that are there."""
        self.marks.extend(marks)

    def box(self, x0: float, y0: float, x1: float, y1: float, role: str, hover: Hover | None = None) -> None:
        """A rectangle from one corner to the opposite one."""
        self.add(Area((x0, x1, x1, x0), (y0, y0, y1, y1), role, hover=hover))


@dataclass(slots=True)
class Sheet:
    """A figure: panels one after the other, and text and marks beside them in pixels from the top left corner."""

    width: float
    title: str = ""  # the finding, where the figure stands alone
    subtitle: str = ""  # what is shown, of how many
    height: float = 0.0
    panels: list[Panel] = field(default_factory=list)
    page: Panel = field(init=False)

    def __post_init__(self) -> None:
        self.page = Panel(0, 0, 1, 1, Scale(0, 1), Scale(0, 1))
        for text, size, bold, role in ((self.title, _TITLE, True, "ink"), (self.subtitle, SIZE, False, "muted")):
            for line in wrapped(text, (self.width - 2 * MARGIN) / size / (1.08 if bold else 1.0)):
                self.write(MARGIN, self.height + 0.75 * size + 6, line, size=size, bold=bold, role=role)
                self.height += size + 5
        self.height += 10.0 if self.title else 0.0

    def panel(self, left: float, right: float, height: float, x: Scale, y: Scale, *, top: float | None = None) -> Panel:
        """An empty panel between margins at the left and at the right, below all that is there."""
        start = self.height if top is None else top
        made = Panel(left, start, max(20.0, self.width - left - right), height, x, y)
        self.panels.append(made)
        self.height = max(self.height, start + height)
        return made

    def mark(self, *marks: Mark) -> None:
        """Marks in pixels."""
        self.page.add(*marks)

    def write(self, x: float, y: float, text: str, **look: object) -> None:
        """Text in pixels."""
        self.page.add(Text(x, y, text, **look))  # type: ignore[arg-type]

    def name_y(self, panel: Panel, text: str, *, left: float = MARGIN, above: float = 13.0) -> None:
        """The title of the upright axis, above the panel: room for it is made before the panel is."""
        self.write(left, panel.top - above, text, role="muted")

    def name_x(self, panel: Panel, text: str, *, within: tuple[float, float] | None = None) -> None:
        """The title of the axis across, below its numbers."""
        (low, high), half = within or (0.0, self.width), SMALL * width(text) / 2
        middle = min(max(panel.left + panel.width / 2, low + half), high - half)
        self.write(middle, panel.bottom + 31, text, role="muted", anchor="middle")
        self.height = max(self.height, panel.bottom + 40)

    def rule_x(self, panel: Panel, ticks: Sequence[float], texts: Sequence[str], *, grid: bool = True) -> None:
        """Upright grid lines with numbers below: all of them, or every second one and so on where they are too many."""
        places = [panel.place(tick, panel.y.low)[0] for tick in ticks]
        halves = [SMALL * width(text) / 2 for text in texts]
        every = next((n for n in range(1, len(texts) + 1) if _apart(places[::n], halves[::n])), 1)
        if grid:
            panel.add(*(Stroke((tick, tick), (panel.y.low, panel.y.high), "grid", 0.8) for tick in ticks))
        for x, half, text in list(zip(places, halves, texts, strict=True))[::every]:
            if text:
                middle = min(max(x, half), self.width - half)
                self.write(middle, panel.bottom + 13, text, role="muted", anchor="middle")
        self.height = max(self.height, panel.bottom + 22)

    def rule_y(self, panel: Panel, ticks: Sequence[float], texts: Sequence[str]) -> None:
        """Lying grid lines with numbers to the left."""
        for tick, text in zip(ticks, texts, strict=True):
            panel.add(Stroke((panel.x.low, panel.x.high), (tick, tick), "grid", 0.8))
            self.write(panel.left - 8, panel.place(panel.x.low, tick)[1], text, role="muted", anchor="end")

    def legend(self, entries: Iterable[LegendEntry]) -> None:
        """What colours stand for, in rows below all that is there."""
        x, y = MARGIN, self.height + 10
        for one in entries:
            wide = 20 + SMALL * width(one.text) + 12
            if x + wide > self.width and x > MARGIN:
                x, y = MARGIN, y + 17
            each = 14 / len(one.roles)
            for i, role in enumerate(one.roles):
                self.page.box(x + each * i, y - 6, x + each * (i + 1), y + 6, role)
            self.write(x + 20, y, one.text, role="muted")
            x += wide
        self.height = y + 10

    def note(self, lines: Iterable[str]) -> None:
        """Small print below all that is there, wrapped."""
        texts = [piece for line in lines for piece in wrapped(line, (self.width - 2 * MARGIN) / SMALL)]
        self.height += 6 * bool(texts)
        for text in texts:
            self.write(MARGIN, self.height + LINE / 2, text, role="muted")
            self.height += LINE

    def finished(self) -> Sheet:
        """The same with a margin below, and pixels as the units of the page."""
        self.height = round(self.height + 6.0)
        self.page = Panel(0, 0, self.width, self.height, Scale(0, self.width), Scale(self.height, 0), self.page.marks)
        return self


def _apart(places: Sequence[float], halves: Sequence[float]) -> bool:
    """Whether texts around these places leave a gap between them."""
    known = [(x - half, x + half) for x, half in zip(places, halves, strict=True) if half]
    return all(right + 4 < left for (_, right), (left, _) in pairwise(sorted(known)))


def statement(text: str, sheet: Sheet) -> Sheet:
    """A sheet with a sentence in place of a figure that would show one value alone."""
    for line in wrapped(text, (sheet.width - 2 * MARGIN) / SIZE):
        sheet.write(MARGIN, sheet.height + 12, line, size=SIZE)
        sheet.height += SIZE + 5
    return sheet.finished()


# Rows, lines and their labels


def rows_down(sheet: Sheet, panel: Panel, texts: Sequence[str], who: Sequence[str], *, size: float = SIZE) -> None:
    """Names of rows to the left of a panel whose rows are numbered from the top."""
    for i, (text, model) in enumerate(zip(texts, who, strict=True)):
        y = panel.place(panel.x.low, i)[1]
        sheet.write(panel.left - 8, y, text, size=size, anchor="end", hover=Hover(full(model), model))


def name_lines(
    sheet: Sheet, panel: Panel, ends: Sequence[tuple[float, float]], labels: Sequence[Label], *, dots: bool = True
) -> None:
    """Labels at the right, as far apart as need be, each tied to the end of its line."""
    found = [panel.place(*end) for end in ends]
    places = spread([y for _, y in found], _APART, panel.top, max(panel.bottom, panel.top + _APART * len(found)))
    for (x, y), place, one in zip(found, places, labels, strict=True):
        sheet.mark(Stroke((x + 3, panel.right + 4, panel.right + 12), (y, y, place), "muted", 0.6))
        if dots:
            sheet.mark(Dot(panel.right + 18, place, one.role, one.shape, 5.5, hollow=True))
        sheet.write(panel.right + (26 if dots else 15), place, one.text, hover=Hover(full(one.model), one.model))


_APART = 15.0  # labels of lines


@dataclass(frozen=True, slots=True)
class Label:
    """How a line of a model is told apart: its short name, its colour, its marker and its line style."""

    text: str
    model: str
    role: str = "c0"
    shape: str = "o"
    dashes: tuple[float, ...] = ()


def told_apart(
    every: Sequence[str], wanted: Iterable[str], room: float = math.inf, given: Shown | None = None
) -> dict[str, Label]:
    """Labels of at most eight of these models: of the wanted ones and the last, and of all if they are few."""
    known = set(every)
    first = [name for name in dict.fromkeys(wanted) if name in known] or list(every)
    chosen = set(every if len(every) <= LABELLED else [*first[: LABELLED - 1], every[-1]])
    short = called(every, given or {})
    own = [name for name in every if name in chosen]
    texts = fitted([short[name] for name in own], room)
    return {
        name: Label(text, name, f"c{i}", MARKERS[i], DASHES[i % len(DASHES)])
        for i, (name, text) in enumerate(zip(own, texts, strict=True))
    }


def line_height(labels: int, least: float) -> float:
    """How high a panel is that so many lines are named beside."""
    return max(least, _APART * labels + 10)


def drawable(values: Iterable[float]) -> list[float]:
    """The values of a line, broken where they are infinite."""
    return [v if math.isfinite(v) else math.nan for v in values]


# Scales

_LEAST = 1e-100  # below this, numbers are as good as zero
_SPAN = 30  # list lengths beyond which their axis is logarithmic


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
        return tuple(fixed(t, self.digits) if self.digits < 10 else f"{t:.12g}" for t in self.ticks)

    @property
    def scale(self) -> Scale:
        """The range alone."""
        return Scale(self.low, self.high)


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
    return Axis(low, high, *round_numbers(low, high, ticks, least=3))


def decimals(values: Iterable[float | None], *, digits: int = 3) -> int:
    """How many decimals show so many digits of the largest finite value.

    >>> decimals([0.31424, 0.5]), decimals([12.5])
    (3, 1)
    """
    largest = max(map(abs, finite(values)), default=0.0)
    return min(9, max(0, digits - 1 - exponent(largest))) if largest else digits


def counts(largest: int) -> tuple[int, ...]:
    """Round numbers from 0 or 1 up, closer together near the start: 0, 1, 2, 5, 10, 20.

    >>> counts(70)
    (0, 1, 2, 5, 10, 20, 50)
    """
    return (0, *(m * 10**e for e in range(len(str(largest))) for m in (1, 2, 5) if m * 10**e <= largest))


def lengths(ks: Sequence[float], *, margin: float = 0.0) -> tuple[Scale, list[float]]:
    """A scale of list lengths, logarithmic beyond a span of 30, and the lengths to mark, the last one first."""
    low, high = (min(ks), max(ks)) if ks else (1.0, 1.0)
    if is_long(ks):
        return Scale(low, high, "log1p"), [high, *(k for k in reversed(counts(int(high))) if low <= k < high)]
    edge = 0.5 if low == high else margin * (high - low)
    return Scale(low - edge, high + edge), sorted(set(ks), reverse=True)


def is_long(ks: Sequence[float]) -> bool:
    """Whether list lengths span too much for a plain axis."""
    return bool(ks) and max(ks) - min(ks) > _SPAN


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


# Names and texts

_WORDS = 26.0  # of a name within a sentence, in units of the font size
_LONG = 400
_KEY = 120  # characters
_NARROW = frozenset("iljtfrI.,:;'|!()[]{}/\\ ")
_BROAD = frozenset("mwMW@%—…")


NAMES: Shown = MappingProxyType({})  # no names are given: short ones are found among those that are drawn


def called(every: Iterable[str], given: Shown = NAMES) -> dict[str, str]:
    """The short names of models: those that are given, and else as they are among each other."""
    return {name: given[name].text if name in given else short.text for name, short in names(every).items()}


@lru_cache(1024)
def full(name: str) -> str:
    """A name as a pointer shows it: on one line, what cannot be seen as an escape, a very long one cut."""
    return label(name, _LONG)


@lru_cache(1024)
def key(name: str) -> str:
    r"""What tells a model from others in an attribute, such as `data-model`: its name, with a digest if it is long.

    >>> key("one\ntwo"), len(key("n" * 10_000))
    ('one\\ntwo', 137)
    """
    text = "".join(map(shown, name[: _KEY + 1]))
    if len(name) <= _KEY:
        return text
    return f"{text[:_KEY]}#{sha256(name.encode('utf-8', 'surrogatepass')).hexdigest()[:16]}"


def label(name: str, room: float = math.inf) -> str:
    r"""A name on one line, shortened in the middle; what cannot be seen is written as an escape.

    >>> label("a model with a very long and winding name", 16.0), label("one\ntwo\u202e"), label("")
    ('a model with…winding name', 'one\\ntwo\\u202e', '""')
    """
    half = _LONG // 2  # a name of ten thousand characters is not looked at as a whole
    parts = _visible(name) if len(name) <= _LONG else [*_visible(name[:half]), "…", *_visible(name[-half:])]
    return quotes(name) + shorten(parts, room, width) + quotes(name)


def fitted(texts: Sequence[str], room: float) -> list[str]:
    """Texts shortened to a room; if some would look alike, each begins with its number in the row.

    >>> fitted(["a" * 40 + "b" + "c" * 40, "a" * 40 + "d" + "c" * 40, "e"], 8.0)
    ['1 aaaa…ccccc', '2 aaaa…ccccc', '3 e']
    """
    short = [label(text, room) for text in texts]
    if len(set(short)) == len(set(texts)):
        return short
    numbers = {text: i for i, text in reversed(list(enumerate(texts, 1)))}
    return [f"{numbers[text]} {label(text, room - width(f'{numbers[text]} '))}" for text in texts]


def scored(rule: str) -> str:
    """A rule before the word score."""
    return label(rule_name(rule), _WORDS)


def several(texts: Iterable[str], most: int) -> str:
    """Some names within a sentence, and how many more there are."""
    return listed((said(text) for text in texts), most)


def said(name: str) -> str:
    """A name within a sentence."""
    return label(name, _WORDS)


def room(texts: Iterable[str], size: float = SMALL, margin: float = 16.0) -> float:
    """The width that the widest of these texts takes beside a panel."""
    return margin + size * max(map(width, texts), default=0.0)


def width(text: str) -> float:
    """About how wide the text is in a sans serif, in units of the font size; rather too much than too little.

    >>> width("iii") < width("nnn") < width("日本語")
    True
    """
    return sum(map(_width, text))


def wrapped(text: str, room: float) -> list[str]:
    """Lines of at most this width in units of the font size; a word that is longer is shortened.

    >>> wrapped("the quick brown fox", 7.0)
    ['the quick', 'brown fox']
    """
    lines: list[str] = []
    for word in text.split():
        if lines and width(lines[-1]) + 0.39 + width(word) <= room:
            lines[-1] += " " + word
        else:
            lines.append(word if width(word) <= room else shorten(word, room, width))
    return lines


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
