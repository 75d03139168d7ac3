"""Which colour and marker stand for which predictor."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from toplist.plot.colours import Theme, marker
from toplist.plot.labels import width
from toplist.plot.paper import SMALL, WIDTH, write

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_LINE = 17.0
_GAP = 30.0  # for the marker


def look_of(i: int, theme: Theme, told_apart: int) -> dict[str, Any]:
    """The colour and the marker of a predictor: its own, or the one of all others."""
    if i < told_apart:
        return {"color": theme.cycle(i), "marker": marker(i)}
    return {"color": theme["muted"], "marker": "."}


def columns(names: list[str]) -> int:
    """How many names go side by side."""
    widest = _GAP + SMALL * max(map(width, names), default=1)
    return max(1, min(4, len(names), int((WIDTH - 16) / widest)))


def height(names: list[str]) -> float:
    """How much room the legend takes."""
    return _LINE * -(-len(names) // columns(names))


def draw(page: Axes, names: list[str], theme: Theme, top: float, *, told_apart: int) -> None:
    """Names with their markers, down and then across; from some place on, all have the same one."""
    across = columns(names)
    down = -(-len(names) // across)
    for i, name in enumerate(names):
        x, y = 16 + (WIDTH - 16) / across * (i // down), top + _LINE * (i % down + 0.5)
        look = look_of(i, theme, told_apart)
        page.plot([x], [y], markersize=6 if i < told_apart else 4, markeredgewidth=1.3, **look)
        write(page, x + 10, y, name, fontsize=SMALL, color=theme["ink"])
