"""Parts of the cases that are held out in turn; cases that depend on each other stay together.

One of several options, chosen on validation cases: means, paired differences, the one-standard-error rule.

All options are scored on the same cases, and most cases score nearly the same under neighbouring options. So the
standard error is that of the *difference* to the best option, case by case; that of the mean itself is dominated by how
much cases differ from each other, which all options share, and would call nearly everything as good as the best.

Lists recalibrated by fits that have not seen them, for honest comparisons.

Which recalibrator to take: the simplest that is as good as the best on cases that it has not seen.

A recalibrator that chooses what it is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from toplist._arguments import as_sample_weight, as_units, as_whole
from toplist._typing import Floats
from toplist.errors import TopListError
from toplist.lists import TopLists, require_lists
from toplist.lists.outcomes import as_happened


def as_folds(cases: int, folds: Any, seed: Any, clusters: Any = None) -> NDArray[np.int64]:
    """The fold of each case, drawn at random; folds differ by one case, or one cluster of cases, at most.

    >>> np.bincount(as_folds(10, 3, 0))
    array([4, 3, 3])
    """
    count, rng = as_whole(folds, "folds", 2), np.random.default_rng(as_whole(seed, "seed", 0))
    of = as_units(clusters, cases)
    units, what = int(of.max(initial=-1)) + 1, "cases" if clusters is None else "clusters"
    if count > units:
        raise TopListError(f"{count} folds of {units} {what}: each needs one, so give fewer folds or more {what}.")
    return rng.permutation(np.arange(units) % count)[of]


Blocks = Callable[[], Iterable[tuple[slice, Floats]]]
TINY = 1e-12  # differences of means below this are rounding


@dataclass(frozen=True, slots=True)
class OneStandardErrorChoice:
    """What the validation cases say of each option; options stand in order, the simplest first."""

    score: Floats  # mean score; infinite where any score is
    infinite: NDArray[np.int64]  # how many scores are infinite
    gap: Floats  # mean score minus that of the best option
    error: Floats  # the standard error of that difference, paired by case; NaN where there is none
    best: int
    chosen: int


def select(blocks: Blocks, weights: Floats, *, one_se: bool) -> OneStandardErrorChoice:
    """The best option, and the first that is within one standard error of it if `one_se`.

    `blocks` gives scores as (cases, options), any number of cases at a time, and is read twice. Infinite scores are
    counted apart: fewer of them come first. An option is held to be as good as the best only if the same cases are
    infinite under both; for these the difference is zero.
    """
    total = infinite = np.zeros(0)
    for here, scores in blocks():
        fine = np.isfinite(scores)
        sums = weights[here] @ np.where(fine, scores, 0.0)
        lost = (~fine & (weights[here] > 0)[:, None]).sum(axis=0)
        total, infinite = (total + sums, infinite + lost) if len(total) else (sums, lost)
    if not len(total):
        raise TopListError("there is nothing to choose from: give at least one option.")
    mean = total / weights.sum()
    best = int(np.lexsort((mean, infinite))[0])
    near = np.flatnonzero((infinite == infinite[best]) & (mean <= mean[best] + TINY))
    best = int(near[0])
    gap, error = _differences(blocks, weights, best)
    chosen = best
    if one_se and np.isfinite(error[best]):
        chosen = int(np.flatnonzero(gap <= np.where(np.isnan(error), -np.inf, error) + TINY)[0])
    return OneStandardErrorChoice(
        np.where(infinite > 0, np.inf, mean), infinite.astype(np.int64), gap, error, best, chosen
    )


def _differences(blocks: Blocks, weights: Floats, best: int) -> tuple[Floats, Floats]:
    """Mean paired difference of each option to the best, and its standard error."""
    sums: Any = 0.0
    odd: Any = 0
    for here, scores in blocks():
        w, to = weights[here], scores[:, best : best + 1]
        apart = (np.isfinite(scores) != np.isfinite(to)) & (w > 0)[:, None]
        with np.errstate(invalid="ignore"):
            d = np.where(np.isfinite(scores) & np.isfinite(to), scores - to, 0.0)
        sums = sums + np.stack([w @ d, w**2 @ d, w**2 @ d**2])
        odd = odd + apart.sum(axis=0)
    whole, count = weights.sum(), int(np.count_nonzero(weights))
    gap = sums[0] / whole
    spread = np.maximum(sums[2] - 2 * gap * sums[1] + gap**2 * (weights**2).sum(), 0.0)
    error = np.sqrt(spread * count / (count - 1)) / whole if count > 1 else np.full(len(gap), np.nan)
    return np.where(odd > 0, np.inf, gap), np.where(odd > 0, np.nan, error)


def as_validation(lists: Any, y: Any, sample_weight: Any) -> tuple[TopLists, NDArray[np.int64], Floats]:
    """Lists as they are scored, codes of the outcomes, and weights."""
    require_lists(lists)
    codes = as_happened(y, lists, "validation takes")
    if not len(codes):
        raise TopListError("there are no cases to choose on.")
    return lists.strictly_valid(), codes, as_weights(sample_weight, len(codes))


def as_weights(sample_weight: Any, cases: int) -> Floats:
    """One weight per case, for one case or more; one each by default, and only their proportions count."""
    weights = as_sample_weight(sample_weight, cases)
    scaled: Floats = weights / weights.max()  # so that huge and tiny ones have squares and a sum
    return scaled
