"""Hard labels, top lists, distributions and empty lists: how many of each there are, and how they score."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from toplist.evidence.findings import KINDS, Exhibit
from toplist.plot.colours import Theme, marker
from toplist.plot.labels import label, labels, said, scored, width
from toplist.plot.numbers import number, share
from toplist.plot.paper import LINE, SIZE, SMALL, WIDTH, cover, note, panel, rule_x, sheet, write
from toplist.plot.plots import Plot
from toplist.plot.scales import axis, decimals
from toplist.words.counts import number_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_ROW, _HEAD, _COLUMN = 26.0, 40.0, 56.0


@dataclass(frozen=True, slots=True)
class Part:
    """The predictions of one predictor that have one shape."""

    kind: str
    share: float  # of the predictor's cases
    score: float
    infinite: int


@dataclass(frozen=True, slots=True)
class Row:
    """One predictor; shapes that do not occur are left out."""

    name: str
    parts: tuple[Part, ...]


@dataclass(frozen=True, slots=True)
class Shapes:
    """Which shapes predictions have, and mean scores within each."""

    rule: str
    rows: tuple[Row, ...]

    @property
    def kinds(self) -> tuple[str, ...]:
        """The shapes that occur, from the shortest lists to the longest."""
        found = {part.kind for row in self.rows for part in row.parts}
        return tuple(k for k in KINDS if k in found) + tuple(sorted(found - set(KINDS)))

    @property
    def title(self) -> str:
        """What it is."""
        return (
            f"Shapes of predictions and their mean {scored(self.rule)} scores, {number_of(len(self.rows), 'predictor')}"
        )

    @property
    def words(self) -> str:
        """What it shows."""
        digits = decimals(part.score for row in self.rows for part in row.parts)

        def of(row: Row) -> str:
            parts = (f"{said(p.kind)} {share(p.share)} with mean {number(p.score, digits)}" for p in row.parts)
            return f"{said(row.name)}: {', '.join(parts) or 'no cases'}"

        return f"Lower is better. {'; '.join(map(of, self.rows))}." if self.rows else "There are no predictors."


def shapes(exhibits: Iterable[Exhibit]) -> Plot[Shapes]:
    """Where each shape of prediction stands: its share of the cases as a bar, its mean score as a marker."""
    every = tuple(exhibits)
    return Plot(Shapes(every[0].rule if every else "", tuple(Row(e.name, _parts(e)) for e in every)), draw)


def _parts(exhibit: Exhibit) -> tuple[Part, ...]:
    total = sum(shape.cases for shape in exhibit.shapes)
    return tuple(Part(s.kind, s.cases / total, s.score, s.infinite) for s in exhibit.shapes if s.cases)


def draw(data: Shapes, theme: Theme) -> Figure:
    """Predictors down; a column of bars per shape, then the scores."""
    names = labels((row.name for row in data.rows), 11.5)
    left = 16 + SIZE * max(map(width, names), default=0)
    kinds = data.kinds
    scores = left + _COLUMN * len(kinds) + 18
    height = _ROW * max(1, len(names))
    foot = [f"bars: share of the cases; right: mean {scored(data.rule)} score of each shape, lower is better"]
    if any(math.isinf(part.score) for row in data.rows for part in row.parts):
        foot.append("markers beyond the right edge: infinite means")
    figure = sheet(_HEAD + height + 24 + LINE * len(foot) + 12, theme)
    page = cover(figure, theme)
    for y, name in enumerate(names):
        write(page, left - 8, _HEAD + _ROW * (y + 0.5), name, ha="right", color=theme["ink"])
    for i, kind in enumerate(kinds):
        x = left + _COLUMN * i
        page.plot([x + 6], [13], marker=marker(i), markersize=6, color=theme.cycle(i))
        for j, word in enumerate(label(kind, 12).split(maxsplit=1)):
            write(page, x + (14 if j == 0 else 2), 13 + 14 * j, word, fontsize=SMALL, color=theme["ink"])
        for y, row in enumerate(data.rows):
            part = next((p for p in row.parts if p.kind == kind), None)
            if part is not None:
                _bar(page, x + 2, _HEAD + _ROW * (y + 0.5), part.share, theme.cycle(i), theme)
    axes = panel(figure, theme, scores, _HEAD, WIDTH - scores - 24, height)
    scale = axis((part.score for row in data.rows for part in row.parts), ticks=4, margin=0.06)
    axes.set_xlim(scale.low, scale.high)
    axes.set_ylim(max(1, len(names)) - 0.5, -0.5)
    rule_x(axes, scale.ticks, scale.texts, theme)
    for i, kind in enumerate(kinds):
        found = [(p.score, y) for y, row in enumerate(data.rows) for p in row.parts if p.kind == kind]
        look: dict[str, Any] = {
            "marker": marker(i),
            "markersize": 6.5,
            "linestyle": "none",
            "color": theme.cycle(i),
            "clip_on": False,
        }
        placed = [(s, y) for s, y in found if math.isfinite(s)]
        axes.plot([s for s, _ in placed], [y for _, y in placed], **look)
        beyond = [_HEAD + _ROW * (y + 0.5) for s, y in found if math.isinf(s)]
        page.plot([WIDTH - 18 + 3 * i] * len(beyond), beyond, **look)
    note(page, theme, foot)
    return figure


def _bar(page: Axes, x: float, y: float, part: float, colour: str, theme: Theme) -> None:
    """A share as text with a bar under it."""
    room = _COLUMN - 12
    write(page, x, y - 4, share(part), fontsize=SMALL - 1, color=theme["ink"])
    page.plot([x, x + room], [y + 6, y + 6], color=theme["grid"], linewidth=4, solid_capstyle="butt")
    page.plot([x, x + room * part], [y + 6, y + 6], color=colour, linewidth=4, solid_capstyle="butt")
