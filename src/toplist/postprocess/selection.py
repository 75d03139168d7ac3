"""Selection on validation cases: folds, and the one-standard-error rule on paired differences.

All options are scored on the same cases, and most cases score nearly the same under neighbouring options. So the
standard error is that of the *difference* to the best option, case by case; that of the mean itself is dominated by how
much cases differ from each other, which all options share, and would call nearly everything as good as the best.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from toplist._typing import Codes, Floats, Ints
from toplist.core.arguments import as_sample_weight, as_units, as_whole
from toplist.core.kernel import standard_error
from toplist.errors import TopListError
from toplist.lists import TopLists, as_lists
from toplist.lists.converters import as_single_outcomes

Blocks = Callable[[], Iterable[tuple[slice, Floats]]]
TINY = 1e-12  # differences of means below this are rounding


def as_folds(cases: int, folds: Any, seed: Any, clusters: Any = None) -> Ints:
    """The fold of each case, drawn at random; folds differ by one case, or one cluster of cases, at most.

    >>> np.bincount(as_folds(10, 3, 0))
    array([4, 3, 3])
    """
    count, rng = as_whole(folds, "folds", 2), np.random.default_rng(as_whole(seed, "seed", 0))
    unit = as_units(clusters, cases)
    units, what = int(unit.max(initial=-1)) + 1, "cases" if clusters is None else "clusters"
    if count > units:
        raise TopListError(f"{count} folds of {units} {what}: each needs one, so give fewer folds or more {what}.")
    return rng.permutation(np.arange(units) % count)[unit]


def simplest_as_good(
    simplest_first: Iterable[int], gap: Any, error: Any, *, errors: Any = 1.0, tolerance: float = TINY
) -> int | None:
    """The first option whose gap to the best is within `errors` standard errors of it; None if no error is known.

    >>> simplest_as_good(range(3), np.array([0.4, 0.1, 0.0]), np.array([0.2, 0.2, 0.0]))
    1
    """
    near = gap <= np.where(np.isnan(error), -np.inf, errors * error) + tolerance
    return next((i for i in simplest_first if near[i]), None)


def paired_error(gap: Floats, first: Floats, second: Floats, weights: Floats) -> Floats:
    """The standard error of mean differences d, from the sums of w^2 d and of w^2 d^2 over cases."""
    squares = np.maximum(second - 2 * gap * first + gap**2 * (weights**2).sum(), 0.0)
    error: Floats = standard_error(squares, int(np.count_nonzero(weights)), weights.sum())
    return error


@dataclass(frozen=True, slots=True)
class OneStandardErrorChoice:
    """The scores of each option on validation cases, the simplest option first."""

    score: Floats  # mean score; infinite where any score is
    infinite: Ints  # how many scores are infinite
    gap: Floats  # mean score minus that of the best option
    error: Floats  # the standard error of that difference, paired by case; NaN where there is none
    best: int
    chosen: int


def select(blocks: Blocks, weights: Floats, *, one_se: bool) -> OneStandardErrorChoice:
    """The best option, and the first that is within one standard error of it if `one_se`.

    `blocks` gives scores as (cases, options), any number of cases at a time, and is read twice, unless one block holds
    all cases. Infinite scores are counted apart: fewer of them come first. An option is held to be as good as the best
    only if the same cases are infinite under both; for these the difference is zero.
    """
    total = infinite = np.zeros(0)
    kept: list[tuple[slice, Floats]] = []
    for here, scores in blocks():
        kept = [(here, scores)]
        finite = np.isfinite(scores)
        sums = weights[here] @ np.where(finite, scores, 0.0)
        lost = (~finite & (weights[here] > 0)[:, None]).sum(axis=0)
        total, infinite = (total + sums, infinite + lost) if len(total) else (sums, lost)
    if not len(total):
        raise TopListError("there is nothing to choose from: give at least one option.")
    mean = total / weights.sum()
    best = int(np.lexsort((mean, infinite))[0])
    best = int(np.flatnonzero((infinite == infinite[best]) & (mean <= mean[best] + TINY))[0])
    whole = kept[0][0] == slice(0, len(weights))
    gap, error = _differences((lambda: kept) if whole else blocks, weights, best)
    chosen = simplest_as_good(range(len(gap)), gap, error) if one_se else None
    score = np.where(infinite > 0, np.inf, mean)
    return OneStandardErrorChoice(
        score, infinite.astype(np.int64), gap, error, best, best if chosen is None else chosen
    )


def _differences(blocks: Blocks, weights: Floats, best: int) -> tuple[Floats, Floats]:
    """Mean paired difference of each option to the best, and its standard error."""
    sums: Any = 0.0
    one_infinite: Any = 0
    for here, scores in blocks():
        w, to = weights[here], scores[:, best : best + 1]
        one_infinite = one_infinite + ((np.isfinite(scores) != np.isfinite(to)) & (w > 0)[:, None]).sum(axis=0)
        with np.errstate(invalid="ignore"):
            d = np.where(np.isfinite(scores) & np.isfinite(to), scores - to, 0.0)
        sums = sums + np.stack([w @ d, w**2 @ d, w**2 @ d**2])
    gap = sums[0] / weights.sum()
    error = paired_error(gap, sums[1], sums[2], weights)
    return np.where(one_infinite > 0, np.inf, gap), np.where(one_infinite > 0, np.nan, error)


def as_validation(lists: Any, y: Any, sample_weight: Any, space: Any) -> tuple[TopLists, Codes, Floats]:
    """Predictions as strictly valid lists, codes of the outcomes, and weights."""
    lists = as_lists(lists, space)
    codes = as_single_outcomes(y, lists, "validation needs")
    if not len(codes):
        raise TopListError("there are no cases to choose on.")
    return lists.strictly_valid(), codes, as_weights(sample_weight, len(codes))


def as_weights(sample_weight: Any, cases: int) -> Floats:
    """One weight per case, for one case or more; one each by default, and only their proportions count."""
    weights = as_sample_weight(sample_weight, cases)
    scaled: Floats = weights / weights.max()  # so that huge and tiny ones have squares and a sum
    return scaled
