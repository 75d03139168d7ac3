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
from toplist.core.arguments import as_probability
from toplist.errors import TopListError
from toplist.lists import TopLists, log_rest
from toplist.lists.log_space import revalued
from toplist.postprocess.recalibration.base import Recalibrator, Sample
from toplist.postprocess.recalibration.state import State
from toplist.scoring.rules import as_rule

Curve = Callable[[float], float]

HIGHEST = 0.5
_ROUGH = 1 << 13  # cases of the grid
_POINTS = 17  # of a grid, so that no local minimum is missed


class RestFloor(Recalibrator):
    r"""Raise the rest mass to at least :math:`\varepsilon`, taken from the listed classes in proportion.

    A list of all classes has no rest: it is mixed with the uniform distribution, :math:`(1 - \varepsilon) t_i +
    \varepsilon / m`. Either way every class has a positive probability afterwards, so that no log score is infinite
    as long as there are finitely many classes. Lists are repaired in the end.

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
    """Strictly valid lists with a rest of at least `floor`; lists of all classes are mixed with equal shares."""
    checked, rest = lists.checked, log_rest(lists)
    full = checked.rows.size == lists.sizes
    short = ~full & (rest < math.log(floor))
    if not (full | short).any():
        return lists
    mass = np.where(short, 1.0 - checked.rest, 1.0)
    keep = np.where(full | short, (1.0 - floor) / mass, 1.0)
    add = np.where(full, floor / checked.rows.size, 0.0)
    t = checked.normalized * np.repeat(keep, lists.sizes) + np.repeat(add, lists.sizes)
    small = checked.normalized_logs
    if small is not None:
        with np.errstate(divide="ignore"):
            small = np.logaddexp(small + np.repeat(np.log(keep), lists.sizes), np.repeat(np.log(add), lists.sizes))
    return revalued(lists, t, np.where(short, math.log(floor), rest), small)


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
