"""Scaling by rank: one power for all confidences, and a factor for each rank and for the rest."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from toplist.arguments import as_number, as_whole
from toplist.improve.recalibration.base import MOST, Recalibrator
from toplist.improve.recalibration.exponents import fit_rough_first, outcomes
from toplist.improve.recalibration.logs import Logs, normalised, ranks
from toplist.improve.recalibration.record import State
from toplist.improve.recalibration.sample import Sample
from toplist.lists import TopLists

Floats = NDArray[np.float64]

_FLAT, _STEEP = 0.01, 100.0  # powers
_FAR = 50.0  # offsets


class VectorScaling(Recalibrator):
    r"""Log weights a log t_r + b_r by rank r, and a log rest + b_0, in a softmax: vector scaling, on ranks.

    Fitted by maximum likelihood, a convex problem, with a ridge of `ridge` cases to a = 1 and b = 0. Ranks from `ranks`
    on share an offset. Factors by rank may change the order of a list, and put a class below the share of an unlisted
    one: such a list is repaired (Guo, Pleiss, Sun and Weinberger, ICML 2017, for classes).
    """

    learned = ("slope_", "offsets_", "rest_offset_")
    slope_: float
    offsets_: Floats
    rest_offset_: float

    def __init__(self, *, ranks: int = 10, ridge: float = 1.0) -> None:
        self.ranks = ranks
        self.ridge = ridge

    @property
    def parameters(self) -> int:
        """The power, and a factor for each rank that was met and for the rest."""
        return 2 + len(self.offsets_) if self.is_fitted else 2 + self.ranks

    def _check(self) -> None:
        as_whole(self.ranks, "ranks", 1)
        as_number(self.ridge, "ridge", 0, MOST)

    def _fit(self, sample: Sample) -> None:
        longest = int(sample.lists.sizes.max(initial=0))
        many = min(self.ranks, longest)
        bounds = [(_FLAT, _STEEP)] + [(-_FAR, _FAR)] * (many + 1)
        start = np.zeros(many + 2)
        start[0] = 1.0

        def make(part: Sample) -> Any:
            group = np.minimum(ranks(part.lists), max(many - 1, 0))
            table, hold = outcomes(part, spread=False, group=group, last=many), self.ridge / sample.counting

            def objective(theta: Floats) -> tuple[float, Floats]:
                found, away = table.value(float(theta[0]), theta[1:], "log"), theta - start
                slopes = np.concatenate(([found.exponent], found.offsets))
                return found.score + 0.5 * hold * float(away @ away), slopes + hold * away

            return objective

        theta = fit_rough_first(sample, start, bounds, make)
        self.slope_, self.offsets_, self.rest_offset_ = float(theta[0]), theta[1:-1], float(theta[-1])

    def _transform(self, lists: TopLists) -> TopLists:
        logs, offsets = Logs.of(lists), self.offsets_ if len(self.offsets_) else np.zeros(1)
        own = offsets[np.minimum(ranks(lists), len(offsets) - 1)]
        return normalised(lists, self.slope_ * logs.listed + own, self.slope_ * logs.rest + self.rest_offset_)

    def _restore(self, state: State) -> None:
        self.slope_, self.rest_offset_ = state.number("slope_", 1e-300, MOST), state.number("rest_offset_")
        self.offsets_ = state.floats("offsets_")

    def _said(self) -> str:
        return f"power {self.slope_:.4g}, {len(self.offsets_)} ranks, rest times e^{self.rest_offset_:.4g}"
