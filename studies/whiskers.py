"""A figure that the studies share: differences with intervals, in rows by group, a column per measure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from toplist._text import fixed
from toplist.report.plot import Plot
from toplist.report.plot.canvas import MARGIN, MARKERS, SMALL, Dot, Hover, Scale, Sheet, Stroke, axis, room

_ROW, _GROUP = 16.0, 22.0  # heights
_BETWEEN = 18.0  # columns


@dataclass(frozen=True, slots=True)
class Difference:
    """A value with its interval; a hollow marker where it is not filled."""

    value: float
    low: float
    high: float
    filled: bool = True


@dataclass(frozen=True, slots=True)
class Row:
    """The differences of one model or method, a value for each column."""

    group: str
    name: str
    look: int  # which colour and marker
    values: tuple[Difference, ...]


@dataclass(frozen=True, slots=True)
class Differences:
    """What is drawn, and what it says."""

    title: str
    subtitle: str
    columns: tuple[str, ...]
    rows: tuple[Row, ...]
    notes: tuple[str, ...] = ()
    reach: float | None = None  # intervals are cut beyond so many times the largest difference

    @property
    def single(self) -> str:
        """There is always more than one value."""
        return ""

    @property
    def words(self) -> str:
        """All differences."""
        return "; ".join(
            f"{row.group}, {row.name}: "
            + ", ".join(
                f"{column} {fixed(one.value, 4, signed=True)}"
                for column, one in zip(self.columns, row.values, strict=True)
            )
            for row in self.rows
        )


def whiskers(data: Differences) -> Plot[Differences]:
    """The figure."""
    return Plot(data, _draw)


def _draw(data: Differences, sheet: Sheet) -> None:
    groups = {
        group: [row for row in data.rows if row.group == group] for group in dict.fromkeys(r.group for r in data.rows)
    }
    tall = _GROUP * len(groups) + _ROW * len(data.rows)
    left = room((row.name for row in data.rows), SMALL, 32)
    side = (sheet.width - left - MARGIN - 12 - _BETWEEN * (len(data.columns) - 1)) / len(data.columns)
    top = sheet.height + (18 if len(data.columns) > 1 else 0)
    panels = []
    for i, column in enumerate(data.columns):
        at = left + (side + _BETWEEN) * i
        scale = axis([0.0, *_ends(data, i)], ticks=max(2, int(side / 70)))
        panel = sheet.panel(at, sheet.width - at - side, tall, scale.scale, Scale(tall, 0), top=top)
        sheet.rule_x(panel, scale.ticks, scale.texts)
        panel.add(Stroke((0, 0), (0, tall), "muted", 1.0))
        if len(data.columns) > 1:
            sheet.write(at, top - 9, column, bold=True)
        else:
            sheet.name_x(panel, column)
        panels.append(panel)
    y = 0.0
    for group, rows in groups.items():
        sheet.write(MARGIN, top + y + 14, group, bold=True)
        y += _GROUP
        for row in rows:
            sheet.write(MARGIN + 8, top + y + _ROW / 2, row.name)
            for panel, one in zip(panels, row.values, strict=True):
                said = f"{row.name}: {fixed(one.value, 4, signed=True)}"
                place = y + _ROW / 2
                panel.add(Stroke((one.low, one.high), (place, place), f"c{row.look}", 1.6))
                panel.add(
                    Dot(one.value, place, f"c{row.look}", MARKERS[row.look], 6.0, not one.filled, Hover(said, row.name))
                )
            y += _ROW
    sheet.note(data.notes)


def _ends(data: Differences, column: int) -> Sequence[float]:
    """The ends of the intervals of a column, as far as they are drawn."""
    own = [row.values[column] for row in data.rows]
    if data.reach is None:
        return [end for one in own for end in (one.low, one.high)]
    most = data.reach * max(abs(one.value) for one in own)
    return [min(max(end, -most), most) for one in own for end in (one.low, one.high)]
