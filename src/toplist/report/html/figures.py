"""The drawings of a page, and what stands below them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from toplist.inference.results import Comparison, ModelDetails
from toplist.report import plot
from toplist.report.plot import STYLE, Plot

__all__ = ["STYLE", "Figure", "Figures", "figures"]


@dataclass(frozen=True, slots=True)
class Figure:
    """A drawing as SVG, and its caption."""

    id: str
    svg: str
    caption: str


@dataclass(frozen=True, slots=True)
class Figures:
    """All drawings of a page; None where there is nothing to draw."""

    intervals: Figure
    pairs: Figure | None
    curves: Figure | None
    shapes: Figure | None
    reliability: Figure | None
    groups: Figure | None
    paths: tuple[Figure, ...]


def figures(results: Comparison, exhibits: Sequence[ModelDetails]) -> Figures:
    """Everything that can be drawn."""
    which = "Relative" if results.missing == "pairwise" else "Mean"
    counted = {row.name: row.cases for row in results.overall.rows}
    apart = len(set(counted.values())) > 1 or any(e.cases != counted.get(e.name, e.cases) for e in exhibits)
    own = f"{', each on all its own cases' if apart else ''}{', without weights' if results.weighted else ''}"
    curved = tuple(e for e in exhibits if e.curve)
    seen = tuple(exhibits)
    return Figures(
        intervals=_figure(plot.intervals, results, f"{which} scores and their intervals"),
        pairs=_figure(plot.pairs, results, "How far apart, and how sure") if results.pairs else None,
        curves=_figure(plot.curves, curved, f"Score against k{own}") if curved else None,
        shapes=_figure(plot.shapes, seen, f"Mean scores by shape{own}") if seen else None,
        reliability=_figure(plot.reliability, seen, f"What was promised, and what was kept{own}") if seen else None,
        groups=_figure(plot.groups, results, f"{which} scores by group") if results.groups else None,
        paths=tuple(
            _figure(plot.path, path, "The difference as cases come in", i) for i, path in enumerate(results.paths, 1)
        ),
    )


def _figure(kind: Callable[[Any], Plot[Any]], of: Any, caption: str, i: int = 1) -> Figure:
    called = f"{kind.__name__}-{i}"
    return Figure(f"figure-{called}", kind(of).svg(inline=True, prefix=f"drawn-{called}"), caption)
