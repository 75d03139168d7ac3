"""A figure: what it says as plain values, and how it is drawn; as SVG, or by matplotlib.

SVG is written here: presentation attributes and classes, no style attributes, so that it obeys a strict content
security policy, text as text, few bytes. matplotlib is loaded for pictures, papers and its own figures; without it,
pages and notebooks have their figures.
"""

from __future__ import annotations

import hashlib
import math
import re
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from html import escape
from importlib import import_module
from io import BytesIO
from threading import RLock
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

from toplist._files import as_path, require_place, write_bytes
from toplist.errors import TopListError
from toplist.report.plot.canvas import (
    CLASS,
    SIZE,
    WIDTH,
    Area,
    Dot,
    Hover,
    Mark,
    Panel,
    Sheet,
    Stroke,
    Text,
    Theme,
    key,
    statement,
    theme,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

NARROWEST, WIDEST = 160, 2000  # figures are drawn for a width between these
FAMILY = "system-ui,-apple-system,'Segoe UI',Roboto,'Helvetica Neue',Arial,sans-serif"


class Described(Protocol):
    """Values that can be drawn say in words what the figure shows."""

    @property
    def title(self) -> str:
        """The finding, in a sentence without a full stop."""

    @property
    def subtitle(self) -> str:
        """What is shown: which scores, of how many cases, at which level."""

    @property
    def words(self) -> str:
        """What it shows, for those who cannot see it."""

    @property
    def single(self) -> str:
        """The sentence that stands in place of a figure with one value only; empty where there is more to show."""


D = TypeVar("D", bound=Described)


@dataclass(frozen=True, slots=True)
class Plot(Generic[D]):
    """A figure that is drawn when it is looked at.

    A figure that stands alone, in a file or a notebook, has a title that states the finding; one within a page has
    none, as the page has headings. Where there is one value only, a figure is a sentence that says it: `data.single`.

    Attributes
    ----------
    data : object
        The plain values in it, with a `title`, a `subtitle` and, in `words`, what it shows.
    draw : callable
        Puts panels and marks on a sheet of some width.
    width : float
        The width that it is drawn for unless another is asked for.
    """

    data: D
    draw: Callable[[D, Sheet], Any] = field(repr=False)
    width: float = field(default=WIDTH, repr=False)

    def figure(self, theme: str = "light", *, width: float | None = None) -> Figure:
        """The figure as matplotlib has it.

        Parameters
        ----------
        theme : {"light", "dark"}, default "light"
            The colours.
        width : float, optional
            The width that it is drawn for, in points; 560 if it is not given.

        Returns
        -------
        matplotlib.figure.Figure
        """
        with _settings():
            return _painted(self.sheet(width), _theme(theme))

    def svg(
        self, theme: str = "light", *, inline: bool = True, prefix: str | None = None, width: float | None = None
    ) -> str:
        """The figure as SVG, without style attributes, so that it obeys a strict content security policy.

        Parameters
        ----------
        theme : {"light", "dark"}, default "light"
            The colours; an inline figure follows the theme of its page where that has the rules of `STYLE`.
        inline : bool, default True
            An element to stand in a page, without title and background; else the content of a file.
        prefix : str, optional
            What ids begin with; made of the content if it is not given.
        width : float, optional
            The width that it is drawn for, in pixels; 560 if it is not given. No text is smaller than 11 pixels.

        Returns
        -------
        str
        """
        if prefix is not None and not re.fullmatch(r"[A-Za-z][\w-]*", prefix, re.ASCII):
            raise TopListError(f"{prefix!r} cannot begin an id: take a letter, then letters, digits, - and _.")
        look = _theme(theme)
        return _svg(self.sheet(width, titled=not inline), look, self.data, inline=inline, prefix=prefix)

    def save(self, path: Any, theme: str = "light", *, width: float | None = None) -> None:
        """Write the figure to a file, whole or not at all.

        Parameters
        ----------
        path : str or os.PathLike
            The file; its name ends with .svg, .pdf or .png.
        theme : {"light", "dark"}, default "light"
            The colours.
        width : float, optional
            The width that it is drawn for, in points; 560 if it is not given, 340 to 720 for a column of text.

        Raises
        ------
        TopListError
            For another format, or where there is no such folder.
        """
        suffix = as_path(path).suffix.lower()
        if suffix not in (".svg", ".pdf", ".png"):
            raise TopListError(f"a plot is saved as .svg, .pdf or .png, not {suffix or 'without a suffix'}.")
        require_place(path)
        if suffix == ".svg":
            head = '<?xml version="1.0" encoding="utf-8"?>\n'
            write_bytes(path, (head + self.svg(theme, inline=False, width=width)).encode("utf-8"))
            return
        drawn = BytesIO()
        with _settings():
            metadata = {"CreationDate": None} if suffix == ".pdf" else {"Software": None}
            made = _painted(self.sheet(width), _theme(theme))
            made.savefig(drawn, format=suffix[1:], dpi=216, metadata=metadata)
        write_bytes(path, drawn.getvalue())

    def sheet(self, width: float | None = None, *, titled: bool = True) -> Sheet:
        """What is drawn, where: panels and marks, before they have colours."""
        wide = self.width if width is None else float(width)
        if not NARROWEST <= wide <= WIDEST:
            raise TopListError(f"a plot is drawn for a width from {NARROWEST} to {WIDEST} pixels, not {width!r}.")
        if self.data.single:
            return Sheet(wide, self.data.single).finished() if titled else statement(self.data.single, Sheet(wide))
        made = Sheet(wide, self.data.title, self.data.subtitle) if titled else Sheet(wide)
        self.draw(self.data, made)
        return made.finished()

    def _repr_svg_(self) -> str:
        return self.svg(inline=False)

    def _repr_html_(self) -> str:
        return f"<div>{self.svg(inline=False)}</div>"


_theme = theme  # an argument has its name


# SVG

_CIRCLES = {"o": 0.5}
_POLYGONS = {
    "s": ((-0.45, -0.45), (0.45, -0.45), (0.45, 0.45), (-0.45, 0.45)),
    "D": ((0, -0.6), (0.6, 0), (0, 0.6), (-0.6, 0)),
    "^": ((0, -0.55), (0.55, 0.45), (-0.55, 0.45)),
    "v": ((0, 0.55), (0.55, -0.45), (-0.55, -0.45)),
    "<": ((-0.55, 0), (0.45, 0.55), (0.45, -0.55)),
    ">": ((0.55, 0), (-0.45, 0.55), (-0.45, -0.55)),
}
_PLUS = tuple(
    (x / 6, y / 6)
    for x, y in (
        (-1, -3),
        (1, -3),
        (1, -1),
        (3, -1),
        (3, 1),
        (1, 1),
        (1, 3),
        (-1, 3),
        (-1, 1),
        (-3, 1),
        (-3, -1),
        (-1, -1),
    )
)
_TILT = math.sqrt(0.5)
_POLYGONS |= {"P": _PLUS, "X": tuple(((x - y) * _TILT, (x + y) * _TILT) for x, y in _PLUS)}
_BASELINE = 0.36  # of the font size, from the middle of a line of text down


def _svg(sheet: Sheet, theme: Theme, said: Described, *, inline: bool, prefix: str | None) -> str:
    """The sheet as an SVG element, or as a file of its own."""
    size = f'viewBox="0 0 {_short(sheet.width)} {_short(sheet.height)}" width="{_short(sheet.width)}"'
    size += f' height="{_short(sheet.height)}"'
    pen = _Pen(theme, classes=inline)
    body = [] if inline else [f'<path d="M0 0H{_short(sheet.width)}V{_short(sheet.height)}H0Z"{pen.fill("paper")}/>']
    body += [pen.mark(panel, mark) for panel in (*sheet.panels, sheet.page) for mark in panel.marks]
    words = escape(said.words, quote=False)
    drawn = "\n".join(filter(None, body))
    if prefix is None:
        text = "".join((theme.name, said.title, said.words, size, drawn))
        prefix = "p" + hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:10]
    # no title element: a pointer that rests beside the marks would show it
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="{CLASS}" {size} role="img" '
        f'aria-label="{escape(said.title)}" aria-describedby="{prefix}-d" font-family="{FAMILY}">'
        f'<desc id="{prefix}-d">{words}</desc>\n{drawn}\n</svg>\n'
    )


@dataclass(frozen=True, slots=True)
class _Pen:
    """Writes marks as elements."""

    theme: Theme
    classes: bool

    def mark(self, panel: Panel, mark: Mark) -> str:
        if isinstance(mark, Text):
            return self._text(panel, mark)
        if isinstance(mark, Dot):
            return self._dot(panel, mark)
        points = [panel.place(x, y) for x, y in zip(mark.xs, mark.ys, strict=True)]
        closed = isinstance(mark, Area)
        d = _path(points, closed=closed)
        if not d:
            return ""
        look = self.fill(mark.role) if isinstance(mark, Area) else self._stroke(mark)
        if mark.opacity != 1:
            look += f' {"fill" if closed else "stroke"}-opacity="{_short(mark.opacity)}"'
        return self._hovered("path", f' d="{d}"{look}', "", mark.hover)

    def fill(self, role: str, what: str = "fill") -> str:
        named = f' class="{what[0]}-{role}"' if self.classes else ""
        return f'{named} {what}="{self.theme[role]}"'

    def _stroke(self, mark: Stroke) -> str:
        dashes = f' stroke-dasharray="{" ".join(map(_short, mark.dashes))}"' if mark.dashes else ""
        join = ' stroke-linejoin="round"' if len(mark.xs) > 2 else ""
        return f'{self.fill(mark.role, "stroke")} fill="none" stroke-width="{_short(mark.width)}"{dashes}{join}'

    def _dot(self, panel: Panel, mark: Dot) -> str:
        x, y = panel.place(mark.x, mark.y)
        if math.isnan(x) or math.isnan(y):
            return ""
        edge, size = f' stroke-width="{_short(max(1.2, mark.size / 5))}"', mark.size
        if mark.hollow:
            own = f' class="s-{mark.role} f-paper"' if self.classes else ""
            look = f'{own} stroke="{self.theme[mark.role]}" fill="{self.theme["paper"]}"{edge}'
        else:
            look = self.fill(mark.role)
        if mark.shape in _CIRCLES:
            place = f' cx="{_short(x)}" cy="{_short(y)}" r="{_short(size * _CIRCLES[mark.shape])}"'
            return self._hovered("circle", place + look, "", mark.hover)
        points = [(x + size * a, y + size * b) for a, b in _POLYGONS[mark.shape]]
        return self._hovered("path", f' d="{_path(points, closed=True)}"{look}', "", mark.hover)

    def _text(self, panel: Panel, mark: Text) -> str:
        x, y = panel.place(mark.x, mark.y)
        down = _BASELINE * mark.size
        place = f' x="{_short(x)}" y="{_short(y + down)}"'
        if mark.turned:
            place = f' transform="translate({_short(x + down)} {_short(y)}) rotate(-90)"'
        anchor = f' text-anchor="{mark.anchor}"' if mark.anchor != "start" else ""
        weight = ' font-weight="bold"' if mark.bold else ""
        look = f' font-size="{_short(mark.size)}"{anchor}{weight}{self.fill(mark.role)}'
        return self._hovered("text", place + look, escape(mark.text, quote=False), mark.hover)

    @staticmethod
    def _hovered(tag: str, attributes: str, content: str, hover: Hover | None) -> str:
        if hover is not None:
            attributes += f' data-model="{escape(key(hover.model))}"' if hover.model else ""
            content = (f"<title>{escape(hover.text, quote=False)}</title>" if hover.text else "") + content
        return f"<{tag}{attributes}>{content}</{tag}>" if content else f"<{tag}{attributes}/>"


def _path(points: Iterable[tuple[float, float]], *, closed: bool) -> str:
    """The points as a path; a line of one point has no length and is not drawn."""
    pieces, run = [], 0
    for x, y in points:
        if math.isnan(x) or math.isnan(y):
            run = 0
            continue
        pieces.append(f"{'L' if run else 'M'}{_short(x)} {_short(y)}")
        run += 1
    if len(pieces) < 2:
        return ""
    return "".join(pieces) + ("Z" if closed else "")


def _short(x: float) -> str:
    """A number to a twentieth of a pixel and better.

    >>> _short(12.0), _short(0.504), _short(-0.001)
    ('12', '.5', '0')
    """
    text = f"{x:.2f}".rstrip("0").rstrip(".")
    if text in ("-0", ""):
        return "0"
    return text.replace("0.", ".", 1) if text.startswith(("0.", "-0.")) else text


# matplotlib

_OURS = (
    *("agg.", "axes.", "figure.", "font.", "grid.", "lines.", "markers.", "mathtext.", "patch.", "path.", "pdf."),
    *("savefig.", "svg.", "text.", "xtick.", "ytick."),
)
# what may show letters that matplotlib's own font lacks, where it is installed
_FONTS = (
    *("Noto Sans", "Noto Sans CJK SC", "Noto Sans CJK JP", "Source Han Sans SC", "WenQuanYi Micro Hei", "PingFang SC"),
    *("Hiragino Sans", "Microsoft YaHei", "Yu Gothic", "Malgun Gothic", "Arial Unicode MS"),
)
_LOCK = RLock()  # matplotlib's settings are one for all threads


def _load(module: str) -> Any:
    """A module of matplotlib, or an error that says what to install."""
    try:
        return import_module(module)
    except ImportError as error:
        raise TopListError("figures as .png or .pdf need matplotlib: pip install 'toplist[report]'") from error


@contextmanager
def _settings() -> Iterator[None]:
    """matplotlib as it comes, whatever the caller has set, and as the caller has set it afterwards."""
    matplotlib = _load("matplotlib")
    ours = {k: v for k, v in matplotlib.rcParamsDefault.items() if k.startswith(_OURS) and k != "savefig.directory"}
    known = set(_load("matplotlib.font_manager").fontManager.get_font_names())
    ours |= {"text.parse_math": False, "text.usetex": False, "font.size": SIZE}
    ours |= {"font.family": ["DejaVu Sans", *(font for font in _FONTS if font in known)]}
    with _LOCK, matplotlib.rc_context(ours), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*(Glyph|glyph)")  # a name in letters that no font here has
        yield


def _painted(sheet: Sheet, theme: Theme) -> Figure:
    """A figure of matplotlib: axes for each panel in the units of its scales, and one for all that is beside them."""
    figure: Figure = _load("matplotlib.figure").Figure(figsize=(sheet.width / 72, sheet.height / 72), dpi=144)
    figure.patch.set_facecolor(theme["paper"])
    for panel in (*sheet.panels, sheet.page):
        bottom = 1 - panel.bottom / sheet.height
        axes = figure.add_axes(
            (panel.left / sheet.width, bottom, panel.width / sheet.width, panel.height / sheet.height)
        )
        axes.patch.set_visible(False)
        axes.axis("off")
        for set_scale, scale in ((axes.set_xscale, panel.x), (axes.set_yscale, panel.y)):
            if scale.kind == "log":
                set_scale("log")
            elif scale.kind == "log1p":
                numpy = _load("numpy")
                set_scale("function", functions=(numpy.log1p, numpy.expm1))
        axes.set_xlim(panel.x.low, panel.x.high)
        axes.set_ylim(panel.y.low, panel.y.high)
        for order, mark in enumerate(panel.marks):
            _paint(axes, panel, mark, theme, order)
    return figure


def _paint(axes: Axes, panel: Panel, mark: Mark, theme: Theme, order: int) -> None:
    look: dict[str, Any] = {"color": theme[mark.role], "clip_on": False, "zorder": 2 + order / 1e6}
    if isinstance(mark, Text):
        anchors = {"start": "left", "middle": "center", "end": "right"}
        look |= {"fontsize": mark.size, "fontweight": "bold" if mark.bold else "normal", "rotation": 90 * mark.turned}
        look |= {"ha": anchors[mark.anchor], "va": "center_baseline", "rotation_mode": "anchor", "parse_math": False}
        axes.text(mark.x, mark.y, mark.text, **look)
        return
    xs, ys = ([mark.x], [mark.y]) if isinstance(mark, Dot) else (list(mark.xs), list(mark.ys))
    xs, ys = (
        [min(max(v, min(s.low, s.high)), max(s.low, s.high)) if v == v else v for v in values]
        for values, s in ((xs, panel.x), (ys, panel.y))
    )
    if isinstance(mark, Dot):
        face = theme["paper"] if mark.hollow else theme[mark.role]
        edge = max(1.2, mark.size / 5) if mark.hollow else 0.0
        axes.plot(xs, ys, mark.shape, markersize=mark.size, markerfacecolor=face, markeredgewidth=edge, **look)
    elif isinstance(mark, Area):
        axes.fill(xs, ys, alpha=mark.opacity, linewidth=0, **look)
    else:
        look |= {"linewidth": mark.width, "alpha": mark.opacity, "solid_capstyle": "butt", "solid_joinstyle": "round"}
        look |= {"dashes": tuple(x / mark.width for x in mark.dashes)} if mark.dashes else {}
        axes.plot(xs, ys, **look)
