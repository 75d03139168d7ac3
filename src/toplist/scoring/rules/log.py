"""The logarithmic score."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

from toplist.core.array_api import CaseStatistics
from toplist.scoring.rules.base import NOTHING, ClassTerms, Nothing, SumRule, log_of, rest_surprise

Array = Any


def _surprise(xp: Any, t: Array, lack: Array) -> Array:
    return 0.0 - t * log_of(xp, t, lack)


@dataclass(frozen=True, slots=True)
class Log(SumRule):
    """Logarithmic score: minus the log of the outcome's padded confidence (paper, eq. 2).

    Infinite where the outcome has confidence zero; nothing is clipped. There is no limit for infinitely many classes.

    Examples
    --------
    >>> import toplist as tl
    >>> tl.score([[0.5, 0.25, 0.25]], [0], rule=Log()).round(4)
    array([0.6931])
    """

    name: ClassVar[str] = "log"
    sum: ClassVar[Nothing] = NOTHING
    entropy_sum: ClassVar[ClassTerms] = ClassTerms(_surprise, rest_surprise)

    def score(self, m: CaseStatistics, others: Array) -> Array:
        """-log q."""
        return 0.0 - m.log_outcome  # so that a sure hit scores 0, not -0

    def entropy(self, m: CaseStatistics, total: Array) -> Array:
        """-sum of t log t - alpha (log alpha - log n)."""
        return total

    def bounds(self) -> tuple[float, float]:
        """0 to infinity."""
        return 0.0, math.inf
