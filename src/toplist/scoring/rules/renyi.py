"""The Renyi score."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

from toplist.core.array_api import CaseStatistics
from toplist.errors import RuleError
from toplist.scoring.rules.base import is_finite
from toplist.scoring.rules.power import PowerRule

Array = Any


@dataclass(frozen=True, slots=True)
class Renyi(PowerRule):
    """Score of Renyi's entropy log(sum of t**a) / (1 - a).

    S = [log M + a q**(a - 1) / M - a] / (1 - a), M the sum of t**a. For a > 1 the entropy is not concave with many
    classes, so that there is no proper score.

    Parameters
    ----------
    a : float
        Exponent between 0 and 1.

    Examples
    --------
    >>> import toplist as tl
    >>> tl.entropy([[0.5, 0.5]], rule=Renyi(0.5)).round(4)
    array([0.6931])
    """

    a: float
    name: ClassVar[str] = "renyi"

    def __post_init__(self) -> None:
        if not (is_finite(self.a) and 0 < self.a < 1):
            raise RuleError(
                f"Renyi takes an exponent between 0 and 1, not {self.a!r}: above 1 its entropy is not concave."
            )

    def score(self, m: CaseStatistics, others: Array) -> Array:
        """In terms of M - 1, which is small for a list that is nearly sure and right."""
        xp, a = m.xp, self.a
        nothing = m.log_outcome == -xp.inf
        log_q = xp.where(nothing, 0.0, m.log_outcome)
        excess = xp.expm1(a * log_q) + others
        lack = xp.expm1((a - 1.0) * log_q) - excess
        finite = (xp.log1p(excess) + a * lack / (1.0 + excess)) / (1.0 - a)
        over = xp.isinf(others) | ((a - 1.0) * log_q > 600.0)  # one of the two powers overflows, not their ratio
        if bool(xp.any(over)):
            log_total = xp.where(xp.isinf(others), self._log_of_rest(m), xp.log1p(excess))
            beyond = (log_total + a * xp.exp((a - 1.0) * log_q - log_total) - a) / (1.0 - a)
            finite = xp.where(over, beyond, finite)
        return xp.where(nothing, xp.inf, finite)

    def entropy(self, m: CaseStatistics, total: Array) -> Array:
        """log M / (1 - a)."""
        log_total = m.xp.log1p(total)
        return m.xp.where(m.xp.isinf(total), self._log_of_rest(m), log_total) / (1.0 - self.a)

    def _log_of_rest(self, m: CaseStatistics) -> Array:
        """log M where M overflows: what is listed then counts nothing beside what is not."""
        return self.a * m.log_rest + (1.0 - self.a) * m.log_unlisted

    def bounds(self) -> tuple[float, float]:
        """0 to infinity."""
        return 0.0, math.inf
