"""Figures of what was found.

Results come in, a `Plot` goes out: plain values first, drawn when it is looked at.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from toplist.report.plot.base import Plot
from toplist.report.plot.canvas import STYLE, key
from toplist.report.plot.leaderboard import groups, intervals, pairs
from toplist.report.plot.lines import curves, path, paths
from toplist.report.plot.reliability import binned_panel, binned_reliability, calibration_panel, reliability


def _named(*made: Callable[..., Plot[Any]]) -> Mapping[str, Callable[..., Plot[Any]]]:
    return MappingProxyType({one.__name__: one for one in made})


OF_RESULTS = _named(intervals, pairs, groups)
OF_EXHIBITS = _named(curves)
OF_CURVES = _named(reliability)
OF_PATHS = _named(path)
PLOTS: Mapping[str, Callable[..., Plot[Any]]] = MappingProxyType({**OF_RESULTS, **OF_EXHIBITS, **OF_CURVES, **OF_PATHS})
"""Every figure of a leaderboard by its name; the tables above say what each is made of: results, exhibits, curves of
calibration, a path."""

__all__ = [
    "OF_CURVES",
    "OF_EXHIBITS",
    "OF_PATHS",
    "OF_RESULTS",
    "PLOTS",
    "STYLE",
    "Plot",
    "binned_panel",
    "binned_reliability",
    "calibration_panel",
    "curves",
    "groups",
    "intervals",
    "key",
    "pairs",
    "path",
    "paths",
    "reliability",
]
