"""Figures of what was found: values first, drawing apart."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from toplist.report.plot.base import Plot
from toplist.report.plot.colours import STYLE
from toplist.report.plot.decomposition import decomposition
from toplist.report.plot.leaderboard import groups, intervals
from toplist.report.plot.list_lengths import shapes, sizes
from toplist.report.plot.pairwise import pairs
from toplist.report.plot.reliability import calibration, reliability
from toplist.report.plot.selective import rejection
from toplist.report.plot.sequential import path, paths
from toplist.report.plot.truncation_curve import curves, truncation

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
"""Figures of what `toplist.calibration` and `toplist.postprocess` find in lists; of one model, or of several by name."""

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
