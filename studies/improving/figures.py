"""The figures of the study."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from studies.improving.data import NETWORKS, Model
from studies.improving.measuring import recalibrated
from toplist.calibration import decompose, reliability
from toplist.postprocess import choose_k, rejection_curve
from toplist.report import plot
from toplist.report.plot import Plot
from toplist.report.plot.canvas import LINE, SIZE, SMALL, WIDTH, axis, cover, note, panel, rule_x, sheet, write
from toplist.report.plot.colours import Theme, marker

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Record = Mapping[str, Any]
PARTED = ("googlenet", "vgg19_bn", "vgg16_bn", "resnet34", "mobilenet_v2", "resnet_orig")
SHOWN = ("googlenet", "vgg19_bn", "newsgroups", "language id", "VTSanghani-PRIME", "MNIST")


def pictures(models: Sequence[Model], results: Record) -> dict[str, Plot[Any]]:
    """All figures by the names of their files."""
    called = {_called(one): one for one in models}
    shown = [called[name] for name in SHOWN]
    networks = {name: decompose(called[name].lists, called[name].y) for name in PARTED}
    after = {_called(one): (recalibrated(one)[0], one.y) for one in shown}
    return {
        "gallery-before.svg": plot.calibration(
            {_called(one): reliability(one.lists, one.y, of="top") for one in shown}
        ),
        "gallery-after.svg": plot.calibration({name: reliability(*made, of="top") for name, made in after.items()}),
        "gallery-ranks.svg": plot.calibration(
            [reliability(called["language id"].lists, called["language id"].y, of=rank) for rank in (1, 2, 3)]
        ),
        "gallery-parts.svg": plot.decomposition(networks),
        "gallery-differences.svg": differences(results["recalibration"]),
        "gallery-truncation.svg": plot.truncation(choose_k(called["language id"].lists, called["language id"].y)),
        "gallery-rejection.svg": plot.rejection(
            {
                name: rejection_curve(called[name].lists, called[name].y)
                for name in ("googlenet", "VTSanghani-PRIME", "PSI-PROF")
            }
        ),
    }


def _called(one: Model) -> str:
    """The name of a model among several of one data set, or that of the data set."""
    return one.name if one.data in (NETWORKS, "FluSight") else one.data


@dataclass(frozen=True, slots=True)
class Differences:
    """What recalibration did to each model."""

    rows: tuple[tuple[str, str, bool, float, float, float], ...]  # data, name, miscalibrated, difference, ends

    @property
    def title(self) -> str:
        """What it is."""
        return "Padded Brier score after recalibration less before, on cases not seen"

    @property
    def words(self) -> str:
        """What it shows."""
        return "; ".join(f"{data}, {name}: {value:+.4f}" for data, name, _, value, _, _ in self.rows) + "."


def differences(rows: Sequence[Record]) -> Plot[Differences]:
    """A line per model, filled where the test rejects calibration."""
    made = tuple(
        (
            row["data"],
            row["name"],
            bool(row["miscalibrated"]),
            *_ends(row["difference"]),
        )
        for row in rows
    )
    return Plot(Differences(made), _draw)


def _ends(difference: Record) -> tuple[float, float, float]:
    """The value and its interval, of no width where there is none."""
    value, low, high = (difference[end] for end in ("value", "low", "high"))
    return value, *((value, value) if low is None else (low, high))


def _draw(data: Differences, theme: Theme) -> Figure:
    height, gap, head, left = 15.0, 20.0, 8.0, 190.0
    groups = list(dict.fromkeys(row[0] for row in data.rows))
    tall = gap * len(groups) + height * len(data.rows)
    foot = [
        "after recalibration less before, with 95 % intervals; left of the line is better",
        "filled: the test calls the model miscalibrated; open: it does not; bars at the edge go on beyond it",
    ]
    figure = sheet(head + tall + 26 + LINE * len(foot) + 14, theme)
    page = cover(figure, theme)
    reach = 1.2 * max(abs(row[3]) for row in data.rows)
    scale = axis([0.0, *(min(max(end, -reach), reach) for row in data.rows for end in row[3:])], ticks=6)
    axes = panel(figure, theme, left, head, WIDTH - left - 24, tall)
    axes.set_xlim(scale.low, scale.high)
    axes.set_ylim(tall, 0)
    rule_x(axes, scale.ticks, scale.texts, theme)
    axes.plot([0, 0], [0, tall], color=theme["muted"], linewidth=1)
    y = 0.0
    for i, group in enumerate(groups):
        write(page, 8, head + y + 12, group, color=theme["ink"], fontsize=SIZE)
        y += gap
        for _, name, miscalibrated, value, low, high in (row for row in data.rows if row[0] == group):
            write(page, 16, head + y + height / 2, name, color=theme["ink"], fontsize=SMALL)
            look: dict[str, Any] = {"color": theme.cycle(i), "clip_on": False}
            face = theme.cycle(i) if miscalibrated else theme["paper"]
            ends = [max(low, scale.low), min(high, scale.high)]
            axes.plot(ends, [y + height / 2] * 2, linewidth=1.4, **look)
            axes.plot([value], [y + height / 2], marker=marker(i), markersize=5, markerfacecolor=face, **look)
            y += height
    note(page, theme, foot)
    return figure
