"""The Brier score of yes-or-no promises in three parts: miscalibration, discrimination and uncertainty."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import isotonic_regression

from toplist.isotonic import Groups, grouped
from toplist.promises import Promises

Floats = NDArray[np.float64]
REST = "rest"


@dataclass(frozen=True, slots=True)
class Part:
    """What one rank, or the rest, adds to the mean score: score = miscalibration - discrimination + uncertainty."""

    name: str
    entries: int
    score: float
    miscalibration: float
    discrimination: float
    uncertainty: float

    def times(self, by: float) -> Part:
        """The same on another scale."""
        return Part(
            self.name,
            self.entries,
            by * self.score,
            by * self.miscalibration,
            by * self.discrimination,
            by * self.uncertainty,
        )


@dataclass(frozen=True, slots=True)
class Layer:
    """Promises that are calibrated together: those of a rank, those of all further ranks, or those of the rest mass."""

    name: str
    at: NDArray[np.intp]  # entries, or cases for the rest
    promised: Floats
    weight: Floats | None  # of the rest, one over the number of classes that share it


def layers(made: Promises, ranks: int) -> tuple[Layer, ...]:
    """Rank 1, ..., "rank 11 and beyond", and the rest of the cases that have one."""
    t, longest = made.confidence, int(made.lists.sizes.max(initial=0))
    found = []
    for rank in range(min(ranks, longest)):
        at = np.flatnonzero(made.rank == rank)
        found.append(Layer(f"rank {rank + 1}", at, t[at], None))
    if longest > ranks:
        at = np.flatnonzero(made.rank >= ranks)
        found.append(Layer(f"rank {ranks + 1} and beyond", at, t[at], None))
    n = unlisted(made)
    at = np.flatnonzero(n > 0)
    return (*found, Layer(REST, at, made.rest[at], 1.0 / n[at]))


def kept_in(layer: Layer, made: Promises) -> NDArray[np.bool_]:
    """Whether each promise of a layer was kept; the rest keeps what is missed."""
    return made.missed[layer.at] if layer.name == REST else made.kept[layer.at]


def unlisted(made: Promises) -> Floats:
    """How many classes each case leaves unlisted, perhaps infinitely many."""
    n: Floats = made.lists.admitted.rows.size - made.lists.sizes
    return n


def part_of(layer: Layer, kept: NDArray[np.bool_], cases: int) -> Part:
    """What a layer adds to the mean over all cases."""
    return split(layer.name, len(layer.at), grouped(layer.promised, kept, layer.weight), cases)


def split(name: str, entries: int, groups: Groups, cases: int) -> Part:
    """The parts of the sum of w (x - h)^2 over groups, divided by the number of cases.

    With h the mean outcome of a group, c the isotonic fit and b the base rate, miscalibration is the sum of
    w (x - c)^2 + 2 w (x - c)(c - h), discrimination that of w (c - b)^2, uncertainty that of w b (1 - b).
    Pooling makes the middle term zero or more in each block, as x rises within it.
    """
    some = groups.weight > 0
    x, w, total = groups.x[some], groups.weight[some], groups.total[some]
    if not len(x):
        return Part(name, entries, 0.0, 0.0, 0.0, 0.0)
    h = total / w
    fit = isotonic_regression(h, weights=w)
    c, blocks = fit.x, fit.blocks[:-1]
    base = total.sum() / w.sum()
    middle = np.maximum(np.add.reduceat(w * (x - c) * (c - h), blocks), 0.0)  # below zero it is rounding
    return Part(
        name,
        entries,
        float((w * ((x - h) ** 2 + h * (1.0 - h))).sum() / cases),
        float(((w * (x - c) ** 2).sum() + 2.0 * middle.sum()) / cases),
        float((w * (c - base) ** 2).sum() / cases),
        float((w.sum() * (base * (1.0 - base))) / cases),
    )
