"""The three figures of the study: scores against length, calibration before and after reranking, differences."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from toplist.report.plot.base import Plot
from toplist.report.plot.canvas import LINE, SIZE, SMALL, WIDTH, axis, cover, note, panel, rule_x, rule_y, sheet, write
from toplist.report.plot.colours import Theme, dashes, marker

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Record = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Drawn:
    """What a figure of this study says; `results` are its values."""

    results: Record
    title: str
    words: str


def lengths(results: Record) -> Plot[Drawn]:
    """Mean padded Brier score against the length of the list, a panel per data set, a line per method."""
    said = [f"{name}: {_steepest(found['lengths'])}" for name, found in results.items()]
    return Plot(Drawn(results, "Mean padded Brier score against list length", ". ".join(said) + "."), _draw_lengths)


def _steepest(rows: Record) -> str:
    """The best method at the shortest and at the longest list."""
    ends = [form for form in rows if form.isdigit()]
    best = {form: min(rows[form].items(), key=lambda row: row[1]["brier"]["value"]) for form in (ends[0], ends[-1])}
    return ", ".join(f"{name} is best at k = {k} with {row['brier']['value']:.4f}" for k, (name, row) in best.items())


def _draw_lengths(data: Drawn, theme: Theme) -> Figure:
    names = list(data.results)
    methods = list(next(iter(data.results.values()))["metrics"])
    across, left, between, side, title = 3, 40.0, 44.0, 138.0, 24.0
    down = -(-(len(names) + 1) // across)  # the legend has a place of its own
    block = title + side + 30
    foot = ["across: the k most probable sets are listed; up: mean padded Brier score, lower is better"]
    figure = sheet(8 + block * down + LINE * len(foot) + 16, theme)
    page = cover(figure, theme)
    places = [(left + (side + between) * (i % across), 8 + block * (i // across)) for i in range(len(names) + 1)]
    for (x, y), name in zip(places, names, strict=False):
        write(page, x, y + 10, name, color=theme["ink"], fontsize=SIZE)
        _curves(panel(figure, theme, x, y + title, side, side), data.results[name]["lengths"], methods, theme)
    x, y = places[-1]
    for i, method in enumerate(methods):
        here = y + title + 14 + 20 * i
        page.plot([x, x + 24], [here] * 2, **_line(i, theme))
        page.plot([x + 12], [here], marker=marker(i), markersize=5, markeredgewidth=0, color=theme.cycle(i))
        write(page, x + 32, here, method, fontsize=SMALL, color=theme["ink"])
    note(page, theme, foot)
    return figure


def _line(i: int, theme: Theme) -> dict[str, Any]:
    look: dict[str, Any] = {"color": theme.cycle(i), "linewidth": 1.4}
    return look | ({"dashes": dashes(i)} if dashes(i) else {})


def _curves(axes: Axes, rows: Record, methods: list[str], theme: Theme) -> None:
    forms = [form for form in rows if form.isdigit()]
    values = {m: [rows[form][m]["brier"]["value"] for form in forms] for m in methods}
    scale = axis((v for m in methods for v in values[m]), ticks=5)
    axes.set_xlim(0, len(forms) - 1)
    axes.set_ylim(scale.low, scale.high)
    rule_x(axes, tuple(map(float, range(len(forms)))), tuple(forms), theme)
    rule_y(axes, scale.ticks, scale.texts, theme)
    for i, method in enumerate(methods):
        axes.plot(range(len(forms)), values[method], **_line(i, theme))
        look: dict[str, Any] = {"color": theme.cycle(i), "marker": marker(i), "linestyle": "none", "clip_on": False}
        axes.plot(range(len(forms)), values[method], markersize=4, markeredgewidth=0, **look)


def calibration(results: Record, before: str, after: str) -> Plot[Drawn]:
    """Confidence against frequency of the listed sets, two methods, a column per data set."""
    said = [
        f"{name}, {method}: {rates(found['reliability'][method]['top'])} at the top"
        for name, found in results.items()
        for method in (before, after)
    ]
    title = f"Confidences of sets against how often they are true, {before} and {after}"
    return Plot(
        Drawn({"before": before, "after": after, "results": results}, title, "; ".join(said) + "."), _draw_calibration
    )


def rates(bins: list[list[float]]) -> str:
    """The mean confidence in some bins, and the hit rate."""
    count = sum(b[2] for b in bins)
    confidence, hit_rate = (sum(b[2] * b[at] for b in bins) / count for at in (3, 4))
    return f"{confidence:.3f}, hit rate {hit_rate:.3f}"


def _draw_calibration(data: Drawn, theme: Theme) -> Figure:
    results, methods = data.results["results"], (data.results["before"], data.results["after"])
    left, between = 56.0, 10.0
    side = (WIDTH - left - 12 - between * (len(results) - 1)) / len(results)
    foot = [
        "across: confidence, 0 to 1; up: hit rate, 0 to 1; on the diagonal both agree",
        "circles, solid: the most confident set; squares, dashed: all listed sets; bins below 20 are left out",
    ]
    figure = sheet(26 + (side + 16) * 2 + LINE * len(foot) + 16, theme)
    page = cover(figure, theme)
    for row, method in enumerate(methods):
        y = 26 + (side + 16) * row
        write(page, 8, y + side / 2, method, color=theme["ink"], fontsize=SMALL, rotation=90, ha="center")
        for column, (name, found) in enumerate(results.items()):
            x = left + (side + between) * column
            if not row:
                write(page, x, 12, name, color=theme["ink"], fontsize=SIZE)
            axes = panel(figure, theme, x, y, side, side)
            _diagonal(axes, found["reliability"][method], theme, numbers=not column, below=bool(row))
    note(page, theme, foot)
    return figure


def _diagonal(axes: Axes, found: Record, theme: Theme, *, numbers: bool, below: bool) -> None:
    axes.set_xlim(0, 1)
    axes.set_ylim(0, 1)
    ticks, texts = (0.0, 0.5, 1.0), ("0", "0.5", "1")
    rule_x(axes, ticks, texts if below and numbers else ("", "0.5", "1") if below else ("",) * 3, theme)
    rule_y(axes, ticks, texts if numbers else ("",) * 3, theme)
    axes.plot([0, 1], [0, 1], color=theme["ink"], linewidth=1, dashes=(4, 3))
    for what, role, shape, style in (("listed", "c1", "s", {"dashes": (3, 1.5)}), ("top", "c0", "o", {})):
        bins = [b for b in found[what] if b[2] >= 20]
        xs, ys = [b[3] for b in bins], [b[4] for b in bins]
        look: dict[str, Any] = {"color": theme[role], "clip_on": False}
        axes.plot(xs, ys, linewidth=1.2, **look, **style)
        axes.plot(xs, ys, marker=shape, linestyle="none", markersize=3.5, markeredgewidth=0, **look)


COLUMNS = (("brier", "padded Brier"), ("zero-one", "set error"), ("f1", "F1 lost"))


def differences(results: Record, reference: str) -> Plot[Drawn]:
    """What each method gains or loses against one, under three measures, with intervals."""
    values = {
        name: {
            m: {key: against(found, reference, m, key) for key, _ in COLUMNS}
            for m in found["metrics"]
            if m != reference
        }
        for name, found in results.items()
    }
    said = [
        f"{name}, {method}: " + ", ".join(f"{words} {row[key][0]:+.3f}" for key, words in COLUMNS)
        for name, rows in values.items()
        for method, row in rows.items()
    ]
    title = f"Differences to {reference} in padded Brier, set error and instance F1"
    return Plot(Drawn(values, title, "; ".join(said) + "."), _draw_differences)


def against(found: Record, reference: str, method: str, key: str) -> tuple[float, float, float]:
    """How a method differs from the reference, with the interval: below zero is better."""
    pair = next(p for p in found["pairs"] if {p["a"], p["b"]} == {reference, method})
    value, low, high = (pair[key][end] for end in ("value", "low", "high"))
    return (value, low, high) if pair["a"] == method else (-value, -high, -low)


def _draw_differences(data: Drawn, theme: Theme) -> Figure:
    height, gap, head = 15.0, 22.0, 30.0
    groups = [(name, list(rows)) for name, rows in data.results.items()]
    left, between = 104.0, 16.0
    side = (WIDTH - left - 12 - between * 2) / 3
    tall = sum(gap + height * len(methods) for _, methods in groups)
    foot = ["differences to BR with 95 % intervals, lists of ten sets; left of the line is better than BR"]
    figure = sheet(head + tall + 26 + LINE * len(foot) + 14, theme)
    page = cover(figure, theme)
    panels = []
    for column, (key, words) in enumerate(COLUMNS):
        x = left + (side + between) * column
        write(page, x, 14, words, color=theme["ink"], fontsize=SIZE)
        ends = [e for rows in data.results.values() for row in rows.values() for e in row[key]]
        scale = axis([*ends, 0.0], ticks=3)
        axes = panel(figure, theme, x, head, side, tall)
        axes.set_xlim(scale.low, scale.high)
        axes.set_ylim(tall, 0)
        rule_x(axes, scale.ticks, scale.texts, theme)
        axes.plot([0, 0], [0, tall], color=theme["muted"], linewidth=1)
        panels.append((axes, key))
    y = 0.0
    for name, methods in groups:
        write(page, 8, head + y + 13, name, color=theme["ink"], fontsize=SMALL, weight="bold")
        y += gap
        for i, method in enumerate(methods):
            write(page, 16, head + y + height / 2, method, color=theme["ink"], fontsize=SMALL)
            for axes, key in panels:
                value, low, high = data.results[name][method][key]
                look: dict[str, Any] = {"color": theme.cycle(i + 1)}
                axes.plot([low, high], [y + height / 2] * 2, linewidth=1.4, **look)
                axes.plot([value], [y + height / 2], marker=marker(i + 1), markersize=5, markeredgewidth=0, **look)
            y += height
    note(page, theme, foot)
    return figure
