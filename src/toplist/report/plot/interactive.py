"""Figures by plotly: the values of a plot with a pointer's hover, zoom and a legend that hides lines.

Loaded when it is asked for: `board.plot("intervals").plotly()`. plotly reads its texts as markup, so names are escaped.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from datetime import date, timedelta
from html import escape
from importlib import import_module
from typing import Any

from toplist._text import fixed
from toplist.errors import TopListError
from toplist.report.plot.canvas import DASHES, LABELLED, STEPS, THEMES, called, full, scored, step, told_apart
from toplist.report.plot.leaderboard import GroupsData, IntervalsData, Pairs
from toplist.report.plot.lists import Curves, Rejection, Shapes, Sizes, Validation
from toplist.report.plot.reliability import Parts, ReliabilityData, ReliabilityPanel, part_role
from toplist.report.plot.sequential import CEILING, FLOOR, Path, Paths
from toplist.report.text import share

_LIGHT = THEMES["light"]
_ROW = 26  # pixels of a row
_STYLES = dict(zip(DASHES, ("solid", "dash", "dot", "dashdot"), strict=True))
_EPOCH = date(1970, 1, 1)
_COLOURS = [[(s + STEPS) / (2 * STEPS), _LIGHT[step(s)]] for s in range(-STEPS, STEPS + 1)]


def figure(data: Any) -> Any:
    """The values of a plot as a figure of plotly.

    Parameters
    ----------
    data : object
        The `data` of a `Plot`.

    Returns
    -------
    plotly.graph_objects.Figure

    Raises
    ------
    TopListError
        If plotly is not installed.
    """
    try:
        go = import_module("plotly.graph_objects")
    except ImportError as error:
        raise TopListError("interactive figures need plotly: pip install 'toplist[plotly]'") from error
    title = escape(data.single or data.title)
    made = go.Figure()
    made.update_layout(
        template="plotly_white",
        title={"text": title, "subtitle": {"text": "" if data.single else escape(data.subtitle)}},
        hoverlabel={"align": "left"},
    )
    if data.single:
        return made.update_layout(height=120, xaxis={"visible": False}, yaxis={"visible": False})
    _DRAWN[type(data)](go, made, data)
    return made


def _texts(every: Iterable[str]) -> dict[str, str]:
    return {name: escape(text) for name, text in called(every).items()}


def _gaps(values: Iterable[float]) -> list[float | None]:
    """Values as plotly takes them: nothing where one is not finite."""
    return [v if math.isfinite(v) else None for v in values]


def _named(axis: str, names: Sequence[str], **more: Any) -> dict[str, Any]:
    """Names beside the places 0, 1, 2 and so on of an axis."""
    return {axis: {"tickmode": "array", "tickvals": list(range(len(names))), "ticktext": list(names), **more}}


def _line(go: Any, xs: Sequence[Any], ys: Sequence[float], role: str, **look: Any) -> Any:
    line = {"color": _LIGHT[role], "width": look.pop("width", 2), "dash": look.pop("dash", "solid")}
    return go.Scatter(x=list(xs), y=_gaps(ys), mode=look.pop("mode", "lines"), line=line, hoverinfo="text", **look)


def _intervals(go: Any, made: Any, data: IntervalsData) -> None:
    rows, texts = data.rows, _texts(row.name for row in data.rows)
    for worse, word in ((False, "not significantly worse than the best"), (True, "significantly worse")):
        own = [(i, row) for i, row in enumerate(rows) if bool(row.worse) is worse and math.isfinite(row.score)]
        if not own:
            continue
        ends = [
            (row.score - row.low, row.high - row.score) if row.low is not None and row.high is not None else (0, 0)
            for _, row in own
        ]
        made.add_scatter(
            x=[row.score for _, row in own],
            y=[i for i, _ in own],
            mode="markers",
            name=word,
            marker={"color": _LIGHT["faint" if worse else "c0"], "size": 9},
            error_x={
                "type": "data",
                "symmetric": False,
                "arrayminus": [a for a, _ in ends],
                "array": [b for _, b in ends],
            },
            hovertext=[escape(f"{full(row.name)}: {data.about(row)}") for _, row in own],
            hoverinfo="text",
        )
    if data.line is not None:
        made.add_vline(x=data.line, line={"color": _LIGHT["muted"], "dash": "dash", "width": 1})
    names = [
        f"{texts[row.name]} ({escape(data.value(row))})" if not math.isfinite(row.score) else texts[row.name]
        for row in rows
    ]
    made.update_layout(height=160 + _ROW * len(rows), **_named("yaxis", names, autorange="reversed", title="model"))
    made.update_xaxes(title=escape(data.across))


def _pairs(go: Any, made: Any, data: Pairs) -> None:
    texts, many = [_texts(data.names)[name] for name in data.names], len(data.names)
    for significant in (False, True):
        z: list[list[float | None]] = [[None] * many for _ in range(many)]
        words = [[""] * many for _ in range(many)]
        for cell in data.cells:
            if cell.significant is significant and math.isfinite(cell.difference):
                z[cell.row][cell.column] = cell.difference
                words[cell.row][cell.column] = escape(data.about(cell))
        largest = max((abs(v) for row in z for v in row if v is not None), default=1.0) or 1.0
        grey = [[0, _LIGHT["level0"]], [1, _LIGHT["level0"]]]
        scale = _COLOURS if significant else grey
        made.add_heatmap(
            z=z, text=words, hoverinfo="text", colorscale=scale, zmin=-largest, zmax=largest, showscale=significant,
            xgap=1, ygap=1, name="significant" if significant else "not significant",
        )  # fmt: skip
    made.update_layout(
        height=220 + max(18, min(30, 600 // many)) * many,
        **_named("yaxis", texts, autorange="reversed", title="row"),
        **_named("xaxis", texts, title="minus column"),
    )


def _groups(go: Any, made: Any, data: GroupsData) -> None:
    texts = _texts(data.models)
    if data.lines:
        labels = told_apart(data.models, data.tied)
        xs = [_EPOCH + timedelta(days=x) for x in data.axis] if data.dates else data.axis
        for m, name in enumerate(data.models):
            words = [escape(data.about(g, m)) for g in range(len(data.groups))]
            _add_line(go, made, xs, [row[m] for row in data.means], name, texts[name], words, labels)
        made.update_layout(xaxis={"title": escape(full(data.by))}, yaxis={"title": escape(data.up)})
        if data.logarithmic:
            made.update_yaxes(type="log")
        return
    places = range(len(data.groups)), range(len(data.models))
    hovers = [[escape(data.about(g, m)) for m in places[1]] for g in places[0]]
    made.add_heatmap(
        z=[list(row) for row in data.shades],
        customdata=[list(row) for row in data.means],
        text=hovers,
        texttemplate=f"%{{customdata:.{data.digits}f}}",
        hoverinfo="text",
        colorscale=_COLOURS,
        zmin=-STEPS,
        zmax=STEPS,
        showscale=False,
        xgap=1,
        ygap=1,
    )
    made.update_layout(
        height=200 + _ROW * len(data.groups),
        **_named(
            "yaxis", [escape(full(group)) for group in data.groups], autorange="reversed", title=escape(full(data.by))
        ),
        **_named("xaxis", [texts[name] for name in data.models], title="model"),
    )


def _add_line(
    go: Any, made: Any, xs: Sequence[Any], ys: Sequence[float], name: str, text: str, words: list[str], labels: Any
) -> None:
    """A line of a model, in its own colour and in the legend if it has a label, else thin and grey."""
    one = labels.get(name)
    if one is None:
        made.add_trace(_line(go, xs, ys, "faint", width=0.8, name=text, hovertext=words, showlegend=False))
    else:
        dash = _STYLES[one.dashes]
        made.add_trace(_line(go, xs, ys, one.role, dash=dash, mode="lines+markers", name=text, hovertext=words))


def _curves(go: Any, made: Any, data: Curves) -> None:
    texts = _texts(curve.name for curve in data.curves)
    labels = told_apart([curve.name for curve in data.curves], data.tied)
    for curve in data.curves:
        known = [(k, s) for k, s in zip(curve.ks, curve.scores, strict=True) if k or not data.cut]
        words = [escape(f"{full(curve.name)}: {fixed(s, 4)} at k = {k:,}") for k, s in known]
        _add_line(go, made, [k for k, _ in known], [s for _, s in known], curve.name, texts[curve.name], words, labels)
    kind = "log" if data.logarithmic and not any(0 in c.ks for c in data.curves if not data.cut) else "linear"
    made.update_xaxes(title="list length k", type=kind)
    made.update_yaxes(title=f"mean {escape(scored(data.rule))} score (lower is better)")


def _validation(go: Any, made: Any, data: Validation) -> None:
    shown = data.shown
    errors = [p.error if math.isfinite(p.error) else 0.0 for p in shown]
    words = [escape(f"{data.place(p.at)}: {fixed(p.score, 4)}") for p in shown]
    trace = _line(go, [p.at for p in shown], [p.score for p in shown], "c0", mode="lines+markers", hovertext=words)
    made.add_trace(trace.update(error_y={"type": "data", "array": errors}, showlegend=False))
    made.add_vline(
        x=data.chosen,
        line={"color": _LIGHT["c1"], "dash": "dash"},
        annotation_text=f"chosen: {data.place(data.chosen)}",
    )
    made.update_xaxes(title="list length k" if data.by == "k" else "listed probability that is kept")
    made.update_yaxes(title=f"mean {escape(scored(data.rule))} score (lower is better)")


def _rejection(go: Any, made: Any, data: Rejection) -> None:
    labels = told_apart([line.name for line in data.lines], ())
    texts = _texts(line.name for line in data.lines)
    for line in data.lines:
        one = labels.get(line.name)
        role, text = (one.role if one else "faint"), texts[line.name] if line.name else "score"
        for ys, what, width in ((line.accepted, "answered cases", 2.0), (line.overall, "all cases", 0.8)):
            words = [f"{text}, {what}: {fixed(y, 4)} at {share(x)}" for x, y in zip(line.coverage, ys, strict=True)]
            made.add_trace(_line(go, line.coverage, ys, role, width=width, name=f"{text}, {what}", hovertext=words))
    made.update_xaxes(title="share of cases that are answered", tickformat=".0%")
    made.update_yaxes(title=f"mean {escape(scored(data.rule))} score (lower is better)")


def _sizes(go: Any, made: Any, data: Sizes) -> None:
    words = [f"{bar.text} classes: {bar.cases:,} cases" for bar in data.bars]
    middles, wide = [(bar.low + bar.high) / 2 for bar in data.bars], [0.8 * (b.high - b.low + 1) for b in data.bars]
    made.add_bar(x=middles, y=[bar.cases for bar in data.bars], width=wide, hovertext=words, hoverinfo="text")
    made.update_traces(marker_color=_LIGHT["c0"])
    made.update_xaxes(title="classes on a list")
    made.update_yaxes(title="cases")


def _shapes(go: Any, made: Any, data: Shapes) -> None:
    texts = _texts(row.name for row in data.rows)
    for i, kind in enumerate(data.kinds):
        own = [(y, part) for y, row in enumerate(data.rows) for part in row.parts if part.kind == kind]
        words = [
            escape(f"{full(data.rows[y].name)}, {full(kind)}: {share(p.share)}, mean {fixed(p.score, 4)}")
            for y, p in own
        ]
        look = {
            "hovertext": words,
            "hoverinfo": "text",
            "legendgroup": kind,
            "marker": {"color": _LIGHT[f"c{i % LABELLED}"]},
        }
        ys = [y for y, _ in own]
        made.add_bar(x=[p.share for _, p in own], y=ys, orientation="h", name=escape(full(kind)), xaxis="x", **look)
        made.add_scatter(x=_gaps(p.score for _, p in own), y=ys, mode="markers", xaxis="x2", showlegend=False, **look)
    names = [texts[row.name] for row in data.rows]
    made.update_layout(
        barmode="stack",
        height=200 + _ROW * len(data.rows),
        xaxis={"domain": [0, 0.47], "title": "share of the cases", "tickformat": ".0%"},
        xaxis2={"domain": [0.53, 1], "title": f"mean {escape(scored(data.rule))} score", "anchor": "y"},
        **_named("yaxis", names, autorange="reversed", title="model"),
    )


def _reliability(go: Any, made: Any, data: ReliabilityData) -> None:
    many = max(1, len(data.panels))
    across = min(many, 3)
    down = -(-many // across)
    texts = _texts(one.name for one in data.panels)
    for i, one in enumerate(data.panels):
        number = "" if i == 0 else str(i + 1)
        place = {"xaxis": f"x{number}", "yaxis": f"y{number}", "showlegend": False}
        made.add_trace(_line(go, (0, 1), (0, 1), "ink", width=1, dash="dash", **place, hovertext=["calibrated"] * 2))
        if one.band:
            x, low, high = zip(*one.band, strict=True)
            made.add_scatter(
                x=[*x, *reversed(x)], y=[*low, *reversed(high)], fill="toself", mode="none", hoverinfo="skip",
                fillcolor="rgba(89,99,110,.22)", **place,
            )  # fmt: skip
        words = [escape(f"{full(one.name)}: confidence {share(x)}, {one.axes[1]} {share(y)}") for x, y in one.curve]
        xs, ys = zip(*one.curve, strict=True) if one.curve else ((), ())
        made.add_trace(_line(go, xs, ys, "c0", mode="lines", hovertext=words, **place))
        if one.points:
            _bin_points(made, one, place)
        left, wide = (i % across) / across, 1 / across
        top, tall = 1 - (i // across) / down, 1 / down
        box: dict[str, Any] = {"range": [0, 1], "tickformat": ".0%"}
        domains = [left + 0.12 * wide, left + 0.95 * wide], [top - 0.78 * tall, top - 0.1 * tall]
        made.update_layout({
            f"xaxis{number}": {**box, "domain": domains[0], "anchor": f"y{number}", "title": one.axes[0]},
            f"yaxis{number}": {**box, "domain": domains[1], "anchor": f"x{number}", "title": one.axes[1]},
        })  # fmt: skip
        found = "<br>".join([f"<b>{texts[one.name]}</b>", *map(escape, one.found)])
        made.add_annotation(
            text=found, x=0.02, y=0.98, xref=f"x{number}", yref=f"y{number}", showarrow=False, align="left",
            xanchor="left", yanchor="top",
        )  # fmt: skip
    made.update_layout(height=120 + 340 * down, width=340 * across)


def _bin_points(made: Any, one: ReliabilityPanel, place: dict[str, Any]) -> None:
    """The bins of a binned curve, with their intervals."""
    up = [0.0 if p.high is None else p.high - p.y for p in one.points]
    down = [0.0 if p.low is None else p.y - p.low for p in one.points]
    made.add_scatter(
        x=[p.x for p in one.points], y=[p.y for p in one.points], mode="markers", marker={"color": _LIGHT["c0"]},
        error_y={"type": "data", "symmetric": False, "array": up, "arrayminus": down},
        hovertext=[escape(f"{full(one.name)}: {p.words}") for p in one.points], hoverinfo="text", **place,
    )  # fmt: skip


def _parts(go: Any, made: Any, data: Parts) -> None:
    texts = _texts(row.name for row in data.rows)
    one = len(data.rows) == 1
    steps = [(i, row, s) for i, row in enumerate(data.rows) for s in (row.steps if one else row.stacked)]
    for name in dict.fromkeys(s.name for _, _, s in steps):
        own = [(j if one else i, row, s) for j, (i, row, s) in enumerate(steps) if s.name == name]
        words = [escape(f"{full(row.name)}: {name} {fixed(s.change, data.digits, signed=True)}") for _, row, s in own]
        made.add_bar(
            x=[s.change for *_, s in own], y=[y for y, *_ in own], base=[s.start for *_, s in own], orientation="h",
            name=name, marker={"color": _LIGHT[part_role(name)]}, hovertext=words, hoverinfo="text",
        )  # fmt: skip
    names = [s.name for *_, s in steps] if one else [texts[row.name] for row in data.rows]
    title = "part" if one else "model"
    made.update_layout(
        barmode="overlay", height=200 + _ROW * len(names), **_named("yaxis", names, autorange="reversed", title=title)
    )
    made.update_xaxes(title=f"mean {escape(scored(data.rule))} score")


def _path(go: Any, made: Any, data: Path) -> None:
    _paths(go, made, Paths((data,)))


def _paths(go: Any, made: Any, data: Paths) -> None:
    many = len(data.paths)
    for i, one in enumerate(data.paths):
        of, names = one.of, {who: escape(str(name)) for who, name in one.shown.items()}
        upper, lower = ("" if i == 0 else str(2 * i + 1)), str(2 * i + 2)
        top, bottom = 1 - i / many, 1 - (i + 1) / many
        gap = 0.08 / many
        split = bottom + 0.4 * (top - bottom)
        place = {"xaxis": f"x{upper}", "yaxis": f"y{upper}", "showlegend": False}
        if of.low:
            made.add_scatter(
                x=[*of.at, *reversed(of.at)], y=_gaps([*of.low, *reversed(of.high)]), fill="toself", mode="none",
                hoverinfo="skip", fillcolor="rgba(21,96,195,.18)", **place,
            )  # fmt: skip
        words = [f"after {n:,} {of.unit}s: {fixed(m, 4, signed=True)}" for n, m in zip(of.at, of.mean, strict=True)]
        made.add_trace(_line(go, of.at, of.mean, "c0", hovertext=words, **place))
        beneath = {"xaxis": f"x{lower}", "yaxis": f"y{lower}", "showlegend": i == 0}
        for column, who, role in ((one.better, of.candidate, "c0"), (one.worse, of.baseline, "c1")):
            told = [f"{names[who]} better: e-value 10^{x:.1f}" for x in column]
            made.add_trace(
                _line(go, of.at[: len(column)], column, role, name=f"{names[who]} better", hovertext=told, **beneath)
            )
        tens = list(range(FLOOR, CEILING + 1))
        across = {"title": f"{of.unit}s"}
        evidence = {"range": [FLOOR, CEILING], "tickvals": tens, "ticktext": [f"10<sup>{x}</sup>" for x in tens]}
        difference = f"{names[of.candidate]} minus {names[of.baseline]}"
        domains = [split + gap, top - gap], [bottom + gap, split - gap]
        made.update_layout({
            f"xaxis{upper}": {"anchor": f"y{upper}", **across},
            f"yaxis{upper}": {"anchor": f"x{upper}", "domain": domains[0], "zeroline": True, "title": difference},
            f"xaxis{lower}": {"anchor": f"y{lower}", "matches": f"x{upper}", **across},
            f"yaxis{lower}": {"anchor": f"x{lower}", "domain": domains[1], "title": "e-value", **evidence},
        })  # fmt: skip
        made.add_shape(
            type="line", x0=0, x1=1, xref=f"x{lower} domain", y0=one.threshold, y1=one.threshold, yref=f"y{lower}",
            line={"color": _LIGHT["ink"], "dash": "dash", "width": 1},
        )  # fmt: skip
    made.update_layout(height=140 + 380 * many)


_DRAWN: dict[type, Callable[[Any, Any, Any], None]] = {
    IntervalsData: _intervals,
    Pairs: _pairs,
    GroupsData: _groups,
    Curves: _curves,
    Validation: _validation,
    Rejection: _rejection,
    Sizes: _sizes,
    Shapes: _shapes,
    ReliabilityData: _reliability,
    Parts: _parts,
    Path: _path,
    Paths: _paths,
}
