"""The zero-one score: misclassification of lists."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from toplist.core.array_api import CaseStatistics
from toplist.scoring.rules.base import Peak, SumRule

Array = Any


@dataclass(frozen=True, slots=True)
class ZeroOne(SumRule):
    """Zero-one score: misclassification of the most confident class, shared among ties; proper, not strictly.

    S = 1 - 1{q is largest} / number of classes with the largest confidence. In the empty list all classes tie.

    Examples
    --------
    >>> import toplist as tl
    >>> tl.score([[0.5, 0.25, 0.25], [0.5, 0.5, 0.0]], [1, 1], rule=ZeroOne())
    array([1. , 0.5])
    """

    name: ClassVar[str] = "zero-one"
    strict: ClassVar[bool] = False
    sum: ClassVar[Peak] = Peak()
    entropy_sum: ClassVar[Peak] = Peak()

    def score(self, m: CaseStatistics, others: Array) -> Array:
        """1 - 1 / ties if the outcome is among them."""
        xp = m.xp
        listed = m.total > m.proxy  # otherwise the list is empty or flat, and every class ties
        size = m.unlisted + m.ties
        best = m.hit & (m.outcome >= m.total)
        won = xp.where(listed, xp.where(best, 1.0 / xp.where(m.ties > 0, m.ties, 1.0), 0.0), 1.0 / size)
        return 1.0 - won

    def entropy(self, m: CaseStatistics, total: Array) -> Array:
        """1 - the largest confidence."""
        return 1.0 - m.xp.where(m.total > m.proxy, m.total, m.proxy)

    def bounds(self) -> tuple[float, float]:
        """0 to 1."""
        return 0.0, 1.0
