"""The model confidence set: models among which the best one is, at a level of confidence."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations

import numpy as np

from toplist._files import arch
from toplist._typing import Floats
from toplist.inference.bootstrap import FEWEST, MOST, longest_block, thinned
from toplist.inference.estimands import Mean
from toplist.inference.results import ConfidenceSet
from toplist.inference.score_matrix import ScoreMatrix

DRAWS = 1000
_ROUNDING = 1e-12  # of the largest score: what differs by less is the same
_NUDGE = 1e-6  # of the least error of a difference: gives equal means an order, which the elimination needs


def confidence_set(
    panel: ScoreMatrix,
    rule: int,
    *,
    names: Sequence[str],
    order: Sequence[str],
    rule_name: str,
    level: float,
    seed: int,
) -> ConfidenceSet:
    """By the range statistic of Hansen, Lunde and Nason (2011) on the cases that all models have.

    Units are drawn as they depend on each other: each for itself, or in blocks of time. A model with an infinite
    score on these cases is out, unless all have one: its mean is worse than any.
    """
    scores = panel.scores[:, rule]
    counts = ~np.isnan(scores).any(axis=1)
    there = np.flatnonzero(counts if panel.weights is None else counts & (panel.weights > 0))
    infinite = np.any(np.isinf(scores[there]), axis=0).tolist()
    finite = [a for a in range(len(names)) if not infinite[a]]
    out = {names[a]: 0.0 for a in range(len(names)) if infinite[a]}

    def made(p: dict[str, float], method: str, reason: str = "", drawn: int | None = None) -> ConfidenceSet:
        members = tuple(name for name in order if p.get(name, 0.0) > 1 - level)
        return ConfidenceSet(rule_name, level, members, p, len(there), method, drawn, reason)

    if not len(there):
        return made({}, "", "no case has all models")
    if not finite:
        return made({}, "", "every model has infinite scores")
    why = f"out for infinite scores: {', '.join(out)}" if out else ""
    if len(names) == 1:
        return made({names[0]: 1.0}, "there is one model only")
    if len(finite) == 1:
        return made(out | {names[finite[0]]: 1.0}, "the only one without infinite scores", why)
    common = panel.some(there)
    rows = _rows(replace(common, scores=common.scores[:, rule : rule + 1, finite]))
    unit = panel.unit
    if len(rows) < FEWEST:
        many = f"{len(rows)} {unit}s are" if len(rows) > 1 else f"one {unit} is"
        return made({}, "", f"{many} too few to draw from")
    block, how = 1.0, "drawn one by one, which assumes that they are independent of each other"
    if panel.ordered:
        block = longest_block((rows - rows.mean(axis=1, keepdims=True)).T)
        how = f"drawn in stretches of about {block:.0f} in time, which assumes that dependence fades"
    units = f"{unit}s{', neighbours taken together,' if common.count > MOST else ''}"
    first = _first_alike(rows)
    distinct = sorted(set(first))
    found = dict(zip(distinct, _eliminate(rows[:, distinct], block, 1 - level, seed), strict=True))
    p = {names[a]: found[first[at]] for at, a in enumerate(finite)}
    some = f"{len(there):,} cases that all have; " if len(there) < len(panel) else ""
    return made(out | p, f"{some}{DRAWS:,} draws, seed {seed}; {units} {how}", why, seed)


def _rows(panel: ScoreMatrix) -> Floats:
    """One row per unit and one column per model, with the means and the spread of the mean scores."""
    units = thinned(panel.totals(0))
    weighty = units.w(0, 0) > 0
    count = np.count_nonzero(weighty)
    parts = [Mean(a) for a in range(units.models)]
    return np.stack([m.contributions(units)[weighty] * count + m.value(units.all) for m in parts], axis=1)


def _first_alike(rows: Floats) -> list[int]:
    """For each model the first with the same scores everywhere: between the two there is no spread to test by."""
    room = _ROUNDING * float(np.abs(rows).max())
    return [int((np.abs(rows - rows[:, [a]]) <= room).all(axis=0).argmax()) for a in range(rows.shape[1])]


def _eliminate(rows: Floats, block: float, size: float, seed: int) -> list[float]:
    """The p value of each column."""
    if rows.shape[1] == 1:
        return [1.0]
    errors = [float((rows[:, a] - rows[:, b]).std()) for a, b in combinations(range(rows.shape[1]), 2)]
    least = min((error for error in errors if error > 0), default=0.0) / math.sqrt(len(rows))
    nudged = rows + _NUDGE * least * np.arange(rows.shape[1])
    test = arch().MCS(nudged, size, reps=DRAWS, block_size=round(block), bootstrap="stationary", seed=seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # pairs whose difference is the same everywhere
        test.compute()
    return [float(test.pvalues["Pvalue"][a]) for a in range(rows.shape[1])]
