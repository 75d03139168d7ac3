"""A floor under the rest mass, so that no outcome has probability zero."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np
from scipy.optimize import minimize_scalar

from toplist._text import argument
from toplist._typing import Floats
from toplist.core.arguments import as_probability
from toplist.core.array_api import log_or
from toplist.errors import TopListError
from toplist.lists import TopLists, log_rest
from toplist.lists.log_space import revalued
from toplist.lists.validation import row_sums
from toplist.postprocess.recalibration.base import Recalibrator, Sample, State
from toplist.scoring.rules import as_rule

Curve = Callable[[float], float]

HIGHEST = 0.5
_ROUGH = 1 << 13  # cases of the grid
_POINTS = 17  # of a grid, so that no local minimum is missed
_ROUNDING = 1e-12  # by which a probability may miss, relatively, a floor that it was raised to


class RestFloor(Recalibrator):
    r"""Raise the rest mass to at least :math:`\varepsilon`, taken from the listed classes in proportion.

    A listed class that would fall below the share of an unlisted one, :math:`\varepsilon / n` with n unlisted ones,
    has that share, so that the list is valid; where the floor is above :math:`n / m`, which no valid list leaves, the
    list becomes the uniform distribution. A list of all classes has no rest: its classes have at least
    :math:`\varepsilon / m` each, again taken from the others in proportion. Either way every class has a positive
    probability afterwards, so that no log score is infinite as long as there are finitely many classes, and a second
    floor of the same height changes nothing.

    Parameters
    ----------
    floor : float, optional
        The floor, between 0 and 1. By default it is fitted, between half a case among all cases and one half.
    rule : str or Rule, default "log"
        The scoring rule that it is fitted by.

    Attributes
    ----------
    floor_ : float
        The floor, given or fitted.

    Examples
    --------
    >>> RestFloor(floor=0.1).fit_transform([0, 1, 2, 0], [0, 1, 2, 1], space=3).padded()[0]
    array([0.9 , 0.05, 0.05])
    """

    learned = ("floor_",)
    floor_: float

    def __init__(self, *, floor: float | None = None, rule: Any = "log") -> None:
        self.floor = floor
        self.rule = rule

    @property
    def parameters(self) -> int:
        """One; zero if the floor was given."""
        return int(self.floor is None)

    def _check(self) -> None:
        as_rule(self.rule)
        if self.floor is not None:
            as_probability(self.floor, "floor")

    def _fit(self, sample: Sample) -> None:
        if self.floor is not None:
            self.floor_ = float(self.floor)
            return
        rule, sample = as_rule(self.rule), replace(sample, lists=_without_text(sample.lists).ordered())
        few = sample.thinned(_ROUGH)

        def mean(part: Sample, floor: float) -> float:
            infinite, finite = part.loss(floored(part.lists, floor), rule)
            if infinite:
                raise TopListError(
                    "with infinitely many classes a class that is not listed has an infinite score whatever the floor: "
                    f"fit by {argument('rule', 'brier')}, or give the floor."
                )
            return finite

        low = math.log(min(0.5 / (sample.counting + 1), 0.5 * HIGHEST))
        best = lowest(
            lambda x: mean(sample, math.exp(x)), low, math.log(HIGHEST), lambda x: mean(few, math.exp(x)), close=1e-5
        )
        self.floor_ = math.exp(best)

    def _transform(self, lists: TopLists) -> TopLists:
        return floored(lists, self.floor_)

    def _restore(self, state: State) -> None:
        self.floor_ = state.number("floor_", 1e-300, 1.0)

    def _describe(self) -> str:
        return f"floor {self.floor_:.4g}"


def _without_text(lists: TopLists) -> TopLists:
    """The same lists without what is known of the rounding of their text, which does not matter to scores."""
    rows = lists.checked.rows
    return lists._with(replace(lists.checked, rows=replace(rows, shown=None))) if rows.shown is not None else lists


def floored(lists: TopLists, floor: float) -> TopLists:
    """Valid lists with a rest of at least `floor`; where all classes are listed, at least equal shares of it each.

    `lists` are valid. What classes are raised by is taken from the others in proportion.
    """
    checked, rest, sizes = lists.checked, log_rest(lists), lists.sizes
    size = checked.rows.size + np.zeros(len(lists))
    full, left = size == sizes, np.where(np.isfinite(size), log_or(np, size - sizes, -np.inf), checked.rows.log_size)
    t = checked.normalized
    with np.errstate(divide="ignore", invalid="ignore"):
        most = np.where(np.isfinite(size), np.log1p(-sizes / size), 0.0)  # the rest of the uniform distribution
        height = np.where(full, math.log(floor), np.minimum(math.log(floor), most))
        share = height - np.where(full, np.log(size), left)  # the log of what each class has at least
    low = np.where(full, _least(t, lists) < np.exp(share) * (1.0 - _ROUNDING), rest < height)
    if not low.any():
        return lists
    here, least, mass = np.repeat(low, sizes), np.repeat(share, sizes), np.where(full, 1.0, -np.expm1(height))
    raised = np.zeros(len(t), dtype=bool)
    while True:  # a class that is raised leaves less to the others, of which some may have to be raised then
        alone = np.maximum(mass - np.exp(share) * row_sums(raised, lists.offsets), 0.0)
        kept = row_sums(np.where(raised, 0.0, t), lists.offsets)
        scale = np.repeat(np.where(low & (kept > 0), alone / np.where(kept > 0, kept, 1.0), 1.0), sizes)
        more = here & ~raised & (t * scale < np.exp(least))
        if not more.any():
            break
        raised |= more
    return revalued(lists, np.where(raised, np.exp(least), t * scale), np.where(low & ~full, height, rest))


def _least(values: Floats, lists: TopLists) -> Floats:
    """The least value of each case; infinity of none."""
    out, filled = np.full(len(lists), np.inf), lists.sizes > 0
    if filled.any():
        out[filled] = np.minimum.reduceat(values, lists.offsets[:-1][filled])
    return out


def lowest(exact: Curve, low: float, high: float, rough: Curve | None = None, *, close: float = 1e-7) -> float:
    """Where a function is least between two numbers: a grid by `rough`, which is quicker, then Brent's method.

    >>> round(lowest(lambda x: (x - 0.3) ** 2, -1.0, 1.0), 6)
    0.3
    """
    grid = np.linspace(low, high, _POINTS).tolist()
    at = int(np.argmin([(rough or exact)(x) for x in grid]))
    left, right = grid[max(at - 1, 0)], grid[min(at + 1, _POINTS - 1)]
    exact = lru_cache(exact)

    def descend(low: float, high: float) -> float:
        return float(minimize_scalar(exact, bounds=(low, high), method="bounded", options={"xatol": close}).x)

    found = descend(left, right)
    if (left > low and found - left < 10 * close) or (right < high and right - found < 10 * close):
        found = descend(low, high)  # the rough function has its minimum elsewhere
    best: float = min((found, left, right), key=exact)
    return best
