"""The drawings of a page, and what stands below them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from toplist import plot
from toplist.evidence.findings import Exhibit
from toplist.plot import STYLE
from toplist.ranking.results import Results

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

    intervals: Figure | None
    pairs: Figure | None
    curves: Figure | None
    shapes: Figure | None
    reliability: Figure | None
    groups: Figure | None
    paths: tuple[Figure | None, ...]


def figures(results: Results, exhibits: Sequence[Exhibit]) -> Figures:
    """Everything that can be drawn."""
    curved = tuple(e for e in exhibits if e.curve)
    seen = tuple(exhibits)
    return Figures(
        intervals=_figure("intervals", results, "Mean scores and their intervals"),
        pairs=_figure("pairs", results, "How far apart, and how sure") if results.pairs else None,
        curves=_figure("curves", curved, "Score against k") if curved else None,
        shapes=_figure("shapes", seen, "Mean scores by shape") if seen else None,
        reliability=_figure("reliability", seen, "What was promised, and what was kept") if seen else None,
        groups=_figure("groups", results, "Mean scores by group") if results.groups else None,
        paths=tuple(
            _figure("path", path, "The difference as cases come in", i) for i, path in enumerate(results.paths, 1)
        ),
    )


def _figure(kind: str, of: Any, caption: str, i: int = 1) -> Figure:
    drawn = getattr(plot, kind)(of)
    return Figure(f"figure-{kind}-{i}", drawn.svg(inline=True, prefix=f"drawn-{kind}-{i}"), caption)
