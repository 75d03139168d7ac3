"""Figures of plotly hold the values of the plot, and names in them are no markup."""

import json
import math

import numpy as np
import pytest

import toplist as tl
from tests.report import results as made
from tests.report.plot.cases import FORTY, PLOTS
from toplist.errors import TopListError
from toplist.report import plot
from toplist.report.plot.leaderboard import GroupsData, IntervalsData, Pairs
from toplist.report.plot.lists import Curves, Rejection, Shapes, Sizes, Validation
from toplist.report.plot.reliability import Parts, ReliabilityData
from toplist.report.plot.sequential import Path, Paths

pytest.importorskip("plotly", reason="interactive figures need plotly")


def numbers(data) -> list[float]:
    """The finite values that a figure is of."""
    match data:
        case IntervalsData():
            found = [row.score for row in data.rows]
        case Pairs():
            found = [cell.difference for cell in data.cells]
        case GroupsData():
            found = [x for row in data.means for x in row]
        case Curves():
            found = [s for c in data.curves for k, s in zip(c.ks, c.scores, strict=True) if k or not data.cut]
        case Validation():
            found = [p.score for p in data.shown]
        case Rejection():
            found = [s for line in data.lines for s in (*line.accepted, *line.overall)]
        case Sizes():
            found = [bar.cases for bar in data.bars]
        case Shapes():
            found = [x for row in data.rows for part in row.parts for x in (part.share, part.score)]
        case ReliabilityData():
            found = [y for one in data.panels for _, y in one.curve]
        case Parts():
            found = [s.change for row in data.rows for s in (row.steps if len(data.rows) == 1 else row.stacked)]
        case Path():
            found = [*data.of.mean, *data.better, *data.worse]
        case Paths():
            found = [x for one in data.paths for x in numbers(one)]
    return sorted(float(x) for x in found if math.isfinite(x))


def values(figure) -> set[float]:
    """All numbers in the traces."""
    found: set[float] = set()

    def collect(value) -> None:
        if isinstance(value, str | bytes) or value is None:
            return
        if isinstance(value, (list, tuple, np.ndarray)):
            for one in value:
                collect(one)
        elif isinstance(value, int | float | np.number) and math.isfinite(value):
            found.add(float(value))

    for trace in figure.data:
        for name in ("x", "y", "z", "customdata"):
            if name in trace:
                collect(trace[name])
    return found


@pytest.mark.parametrize("name", PLOTS)
def test_a_figure_of_plotly_has_the_values_of_the_plot(name):
    drawn = PLOTS[name]
    figure = drawn.plotly()
    if not drawn.data.single:
        assert set(numbers(drawn.data)) <= values(figure)
    assert figure.layout.title.text


@pytest.mark.parametrize("name", [name for name in PLOTS if name.endswith("hostile")])
def test_names_are_no_markup(name):
    text = PLOTS[name].plotly().to_json()
    assert "<script" not in text
    assert "\x1b" not in text
    json.loads(text)


@pytest.mark.parametrize("name", ["intervals of twenty", "pairs of twenty", "curves of twenty", "reliability of many"])
def test_axes_have_titles_and_marks_have_hover_values(name):
    figure = PLOTS[name].plotly()
    axes = [figure.layout[key] for key in figure.layout if key.startswith(("xaxis", "yaxis"))]
    assert axes
    assert all(axis.title.text for axis in axes)
    assert any(trace.hovertext is not None or trace.text is not None for trace in figure.data)


def test_at_most_eight_lines_are_in_the_legend():
    exhibits = [made.exhibit(name, place=i) for i, name in enumerate(FORTY)]
    figure = plot.curves(exhibits).plotly()
    assert len(figure.data) == 40
    assert sum(trace.showlegend is not False for trace in figure.data) == 8


def test_a_leaderboard_draws_by_plotly_on_request():
    rng = np.random.default_rng(0)
    models = {name: rng.dirichlet(np.ones(4), 60) for name in "ab"}
    board = tl.compare(models, rng.integers(0, 4, 60))
    for kind in ("intervals", "pairs", "curves", "reliability", "shapes"):
        assert type(board.plot(kind, backend="plotly")).__module__.startswith("plotly.")
    with pytest.raises(TopListError, match="'bokeh' is no backend of plots here: there are 'matplotlib', 'plotly'"):
        board.plot(backend="bokeh")
