"""Figures of what was found: values first, drawing apart."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from toplist.plot.colours import STYLE
from toplist.plot.figures.curves import curves
from toplist.plot.figures.groups import groups
from toplist.plot.figures.intervals import intervals
from toplist.plot.figures.pairs import pairs
from toplist.plot.figures.path import path, paths
from toplist.plot.figures.reliability import reliability
from toplist.plot.figures.shapes import shapes
from toplist.plot.plots import Plot

OF_RESULTS: Mapping[str, Callable[..., Plot[Any]]] = MappingProxyType(
    {"intervals": intervals, "pairs": pairs, "groups": groups}
)
OF_EXHIBITS: Mapping[str, Callable[..., Plot[Any]]] = MappingProxyType(
    {"curves": curves, "reliability": reliability, "shapes": shapes}
)
OF_PATHS: Mapping[str, Callable[..., Plot[Any]]] = MappingProxyType({"path": path})
PLOTS: Mapping[str, Callable[..., Plot[Any]]] = MappingProxyType({**OF_RESULTS, **OF_EXHIBITS, **OF_PATHS})
"""Every figure by its name; the tables above say what each is made of: results, exhibits, or one sequential path."""

__all__ = [
    "OF_EXHIBITS",
    "OF_PATHS",
    "OF_RESULTS",
    "PLOTS",
    "STYLE",
    "Plot",
    "curves",
    "groups",
    "intervals",
    "pairs",
    "path",
    "paths",
    "reliability",
    "shapes",
]
