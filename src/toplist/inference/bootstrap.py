"""Units drawn again and again: paired, by cluster, or in blocks of time."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import combinations

import numpy as np

from toplist._files import arch
from toplist._typing import Floats
from toplist.inference.estimands import Difference, Mean
from toplist.inference.score_matrix import UnitSums

FEWEST = 10  # units; of fewer, too few different samples can be drawn
MOST = 20_000  # units; more are taken together, neighbours first
_CELLS = 1 << 23  # resampled numbers at a time


def resample(units: UnitSums, *, block: float | None, draws: int, seed: int) -> UnitSums:
    """The totals of as many samples of units, drawn with replacement, all models together.

    Without a block length units are independent. With one they are drawn in stretches of geometric length around it
    (Politis and Romano 1994), so that what is near in time stays together.
    """
    sums = thinned(units).sums
    rng = np.random.default_rng(seed)
    if block is not None:
        drawn = arch().StationaryBootstrap(block, sums.T, seed=rng).apply(lambda part: part.sum(axis=0), draws)
        return replace(units, sums=np.ascontiguousarray(drawn.T))
    from scipy.stats import bootstrap  # noqa: PLC0415  not cheap to import

    made = bootstrap(
        (sums,), np.sum, axis=-1, n_resamples=draws, vectorized=True, method="percentile", rng=rng,
        batch=max(1, _CELLS // sums.size),
    )  # fmt: skip
    return replace(units, sums=made.bootstrap_distribution)


def thinned(units: UnitSums) -> UnitSums:
    """At most 20,000 units: neighbours are taken together, which changes neither sums nor independence."""
    count = units.sums.shape[1]
    if count <= MOST:
        return units
    width = math.ceil(count / MOST)
    starts = np.arange(0, count, width)
    return replace(units, sums=np.add.reduceat(units.sums, starts, axis=1))


def block_length(units: UnitSums) -> float:
    """How far dependence reaches, by the rule of Politis and White (2004): the longest of all means and differences.

    Differences may depend on each other where means do not: what makes cases hard for all hides it.
    """
    part, everyone = thinned(units), range(units.models)
    quantities = [*map(Mean, everyone), *(Difference(a, b) for a, b in combinations(everyone, 2))]
    with np.errstate(invalid="ignore"):  # pairs without a common case
        columns = [quantity.contributions(part) for quantity in quantities]
    return longest_block(np.stack([c for c in columns if np.isfinite(c).all() and np.ptp(c) > 0] or [np.zeros(0)]))


def longest_block(columns: Floats) -> float:
    """The same for the rows of any array; at least one."""
    if columns.shape[1] < 9:  # too few to tell
        return 1.0
    found = arch().optimal_block_length(columns.T)["stationary"].to_numpy()
    return float(max(1.0, np.nanmax(found, initial=1.0)))
