"""Figures to draw on. matplotlib is asked for here and nowhere else; its settings are as before when all is drawn."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from threading import RLock
from typing import TYPE_CHECKING, Any

from toplist.errors import TopListError
from toplist.plot.colours import Theme

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
