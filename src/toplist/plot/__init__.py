"""Figures of what was found: values first, drawing apart."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from toplist.plot.colours import STYLE
from toplist.plot.figures.calibration import calibration
from toplist.plot.figures.curves import curves
from toplist.plot.figures.decomposition import decomposition
from toplist.plot.figures.groups import groups
from toplist.plot.figures.intervals import intervals
from toplist.plot.figures.pairs import pairs
from toplist.plot.figures.path import path, paths
from toplist.plot.figures.rejection import rejection
from toplist.plot.figures.reliability import reliability
from toplist.plot.figures.shapes import shapes
from toplist.plot.figures.sizes import sizes
from toplist.plot.figures.truncation import truncation
from toplist.plot.plots import Plot

OF_RESULTS: Mapping[str, Callable[..., Plot[Any]]] = MappingProxyType(
    {"intervals": intervals, "pairs": pairs, "groups": groups}
)
OF_EXHIBITS: Mapping[str, Callable[..., Plot[Any]]] = MappingProxyType(
    {"curves": curves, "reliability": reliability, "shapes": shapes}
)
OF_PATHS: Mapping[str, Callable[..., Plot[Any]]] = MappingProxyType({"path": path})
PLOTS: Mapping[str, Callable[..., Plot[Any]]] = MappingProxyType({**OF_RESULTS, **OF_EXHIBITS, **OF_PATHS})
"""Every figure of a leaderboard by its name; the tables above say what each is made of: results, exhibits, a path."""
OF_LISTS: Mapping[str, Callable[..., Plot[Any]]] = MappingProxyType(
    {
        "calibration": calibration,
        "decomposition": decomposition,
        "rejection": rejection,
        "sizes": sizes,
        "truncation": truncation,
    }
)
"""Figures of what `toplist.diagnosis` and `toplist.improve` find in lists; of one predictor, or of several by name."""

__all__ = [
    "OF_EXHIBITS",
    "OF_LISTS",
    "OF_PATHS",
    "OF_RESULTS",
    "PLOTS",
    "STYLE",
    "Plot",
    "calibration",
    "curves",
    "decomposition",
    "groups",
    "intervals",
    "pairs",
    "path",
    "paths",
    "rejection",
    "reliability",
    "shapes",
    "sizes",
    "truncation",
]
