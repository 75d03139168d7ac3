"""Scoring rules given by a function of one probability."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

from toplist.core.array_api import CaseStatistics
from toplist.errors import RuleError
from toplist.scoring.rules.base import ClassTerms, SumRule
from toplist.scoring.rules.propriety import require_proper

Array = Any


@dataclass(frozen=True, slots=True)
class Separable(SumRule):
    """The rule with the entropy sum of g(t), for a concave g with g(0) = 0.

    S = g(q) + (1 - q) dg(q) + sum over the other classes of g(t) - t dg(t). A pair of functions that is not proper is
    refused with the distributions that show it.

    Parameters
    ----------
    g : callable
        The function, of arrays.
    dg : callable
        Its derivative.

    Examples
    --------
    >>> import toplist as tl
    >>> brier = Separable(lambda x: x * (1 - x), lambda x: 1 - 2 * x)
    >>> tl.score([[0.5, 0.25, 0.25]], [0], rule=brier)
    array([0.375])
    """

    g: Callable[[Array], Array]
    dg: Callable[[Array], Array]
    name: ClassVar[str] = "separable"
    strict: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if not callable(self.g) or not callable(self.dg):
            raise RuleError("Separable takes a function and its derivative.")
        require_proper(self)

    def _tangent(self, xp: Any, t: Array, _: Array) -> Array:
        """g(t) - t dg(t), with 0 * infinity = 0."""
        zero = t == 0
        x = xp.where(zero, 0.5, t)
        return xp.where(zero, self.g(t), self.g(x) - x * self.dg(x))

    @property
    def sum(self) -> ClassTerms:
        """g(t) - t dg(t)."""
        return ClassTerms(self._tangent)

    @property
    def entropy_sum(self) -> ClassTerms:
        """g."""
        return ClassTerms(lambda _, t, __: self.g(t))

    def score(self, m: CaseStatistics, others: Array) -> Array:
        """g(q) + (1 - q) dg(q) + others."""
        xp = m.xp
        sure = m.miss == 0
        q = xp.where(sure, 0.5, m.outcome)
        slope = self.dg(q)
        return xp.where(sure, self.g(m.outcome), self.g(q) + m.miss * slope) + others

    def entropy(self, m: CaseStatistics, total: Array) -> Array:
        """Sum of g."""
        return total
