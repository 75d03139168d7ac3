"""Reliability: how often what was promised happened, as a rising curve of the size of the promise."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from toplist.arguments import as_whole
from toplist.diagnosis.bands import Band, band_of
from toplist.diagnosis.bins import Bin, Bins
from toplist.diagnosis.views import Of, View, require_cases, view
from toplist.isotonic import Groups, Steps, grouped, pool
from toplist.lists import TopLists
from toplist.promises import Promises, promises

Floats = NDArray[np.float64]
_POINTS = 200


@dataclass(frozen=True, slots=True)
class Reliability:
    """How often promises of each size were kept; calibrated ones lie on the diagonal."""

    of: Of  # "listed", "top", "mass", or a rank from 1
    count: int  # of promises
    promised: float  # their mean
    kept: float  # how often they were kept
    steps: Steps  # the rising step function that fits best
    x: Floats  # up to 200 promises at quantiles, and the ends of the steps
    curve: Floats  # the step function there
    band: Band | None
    histogram: tuple[Bin, ...]


def reliability(
    lists: TopLists, y: Any, *, of: Of = "listed", band: Any = "consistency", level: Any = 0.9,
    draws: Any = 200, seed: Any = 0,
) -> Reliability:  # fmt: skip
    """The isotonic reliability curve of lists (CORP; Dimitriadis, Gneiting and Jordan 2021), with a pointwise band.

    `of`: "listed" (all listed confidences), "top" (the most confident class), a rank from 1, or "mass" (the listed mass
    against how often what happened is listed). `band`: "consistency" (where the curve of calibrated lists would be),
    "confidence" (where that of other cases would be) or None. Of an invalid list its largest valid sublist is seen.

    >>> lists = TopLists.from_dicts([{"a": 0.9}, {"a": 0.6}, {"b": 0.6}], 3)
    >>> made = reliability(lists, ["a", "a", "c"], band=None)
    >>> made.x, made.curve
    (array([0.6, 0.9]), array([0.5, 1. ]))
    """
    return _reliability(promises(lists, y), of, band, level, draws, seed)


def reliability_by_rank(
    lists: TopLists, y: Any, *, ranks: Any = 5, band: Any = "consistency", level: Any = 0.9, draws: Any = 200,
    seed: Any = 0,
) -> tuple[Reliability, ...]:  # fmt: skip
    """The reliability of the first, second, ... most confident class, as far as lists are long."""
    made, ranks = promises(lists, y), as_whole(ranks, "ranks", 1)
    require_cases(made)
    last = min(ranks, int(made.lists.sizes.max()))
    return tuple(_reliability(made, rank, band, level, draws, seed) for rank in range(1, last + 1))


def _reliability(made: Promises, of: Of, band: Any, level: Any, draws: Any, seed: Any) -> Reliability:
    seen = view(made, of)
    groups = grouped(seen.promised, seen.kept)
    steps = pool(groups)
    x = grid(groups, steps)
    return Reliability(
        of=seen.of,
        count=len(seen.promised),
        promised=float(seen.promised.mean()),
        kept=float(seen.kept.mean()),
        steps=steps,
        x=x,
        curve=steps(x),
        band=band_of(band, made.lists, seen, x, level=level, draws=draws, seed=seed),
        histogram=histogram(seen),
    )


def histogram(seen: View) -> tuple[Bin, ...]:
    """The promises in twenty bins."""
    return Bins.of(seen.promised, seen.kept).findings()


def grid(groups: Groups, steps: Steps) -> Floats:
    """Where to look at a curve: values at quantiles of the promises, and the ends of the steps."""
    passed = np.cumsum(groups.weight)
    at = np.searchsorted(passed, np.linspace(0.0, passed[-1], _POINTS))
    some: Floats = groups.x[np.unique(np.minimum(at, len(passed) - 1))]
    return np.unique(np.concatenate((some, steps.low, steps.high)))
