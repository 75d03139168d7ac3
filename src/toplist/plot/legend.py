"""Which colour and marker stand for which predictor."""

from __future__ import annotations

from typing import TYPE_CHECKING

from toplist.plot.colours import Theme, marker
from toplist.plot.labels import width
from toplist.plot.paper import SMALL, WIDTH, write

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_LINE = 17.0
_GAP = 30.0  # for the marker


def columns(names: list[str]) -> int:
    """How many names go side by side."""
    widest = _GAP + SMALL * max(map(width, names), default=1)
    return max(1, min(4, len(names), int((WIDTH - 16) / widest)))


def height(names: list[str]) -> float:
    """How much room the legend takes."""
    return _LINE * -(-len(names) // columns(names))


def draw(page: Axes, names: list[str], theme: Theme, top: float) -> None:
    """Names with their markers, down and then across."""
    across = columns(names)
    down = -(-len(names) // across)
    for i, name in enumerate(names):
        x, y = 16 + (WIDTH - 16) / across * (i // down), top + _LINE * (i % down + 0.5)
        page.plot([x], [y], marker=marker(i), markersize=6, color=theme.cycle(i), markeredgewidth=1.3)
        write(page, x + 10, y, name, fontsize=SMALL, color=theme["ink"])
