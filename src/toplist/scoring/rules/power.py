"""The power family of scores, which contains the Brier score."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from toplist.core.array_api import CaseStatistics, Sum
from toplist.errors import RuleError
from toplist.scoring.rules.base import PowerExcess, Powers, Squares, SumRule, is_finite

Array = Any
_NODES, _WEIGHTS = (x.tolist() for x in np.polynomial.legendre.leggauss(5))


@dataclass(frozen=True, slots=True)
class Brier(SumRule):
    """Brier score: the quadratic score of the padded distribution, from 0 to 2 (paper, eq. 3 and 11).

    S(t, y) = (1 - q)**2 + sum over the other classes of their confidence squared, where q is that of the outcome.
    Summing the other classes alone keeps the last digit where a list is nearly certain and right.

    Parameters
    ----------
    scale_by_half : bool, default False
        Halve the score, the other convention.

    Examples
    --------
    >>> import toplist as tl
    >>> tl.score([[0.5, 0.25, 0.25]], [0], rule=Brier())
    array([0.375])
    """

    scale_by_half: bool = False
    name: ClassVar[str] = "brier"
    sum: ClassVar[Squares] = Squares()
    entropy_sum: ClassVar[PowerExcess] = PowerExcess(2.0)

    def score(self, m: CaseStatistics, others: Array) -> Array:
        """(1 - q)**2 + others."""
        s = m.miss * m.miss + others
        return 0.5 * s if self.scale_by_half else s

    def entropy(self, m: CaseStatistics, total: Array) -> Array:
        """1 - sum of squares."""
        return (0.5 if self.scale_by_half else 1.0) * (0.0 - total)

    def bounds(self) -> tuple[float, float]:
        """0 to 2, or to 1 if halved."""
        return 0.0, 1.0 if self.scale_by_half else 2.0


class PowerRule(SumRule):
    """A rule of the sum of one power of the confidences."""

    __slots__ = ()
    a: float

    @property
    def sum(self) -> Sum:
        """Powers."""
        return Powers(self.a)

    @property
    def entropy_sum(self) -> PowerExcess:
        """Powers minus one."""
        return PowerExcess(self.a)


@dataclass(frozen=True, slots=True)
class Power(PowerRule):
    """Power score, also called Tsallis score: a = 2 is the Brier score, the limit a -> 1 the logarithmic score.

    S = (1 - a q**(a - 1)) / (a - 1) + sum of t**a, computed as a * integral from q to 1 of x**(a - 2) (1 - x)
    plus the sum over the other classes: two parts that never cancel.

    Parameters
    ----------
    a : float
        Exponent above 0, other than 1.

    Examples
    --------
    >>> import toplist as tl
    >>> tl.score([[0.5, 0.25, 0.25]], [0], rule=Power(2.0))
    array([0.375])
    """

    a: float
    name: ClassVar[str] = "power"

    def __post_init__(self) -> None:
        if not (is_finite(self.a) and self.a > 0 and self.a != 1):
            hint = " Its limit at 1 is the logarithmic score: Log()." if self.a == 1 else ""
            raise RuleError(f"Power takes an exponent above 0 other than 1, not {self.a!r}.{hint}")

    def score(self, m: CaseStatistics, others: Array) -> Array:
        """The outcome's part plus the others."""
        return self._of_outcome(m) + others

    def _of_outcome(self, m: CaseStatistics) -> Array:
        """[1 - a q**(a - 1) + (a - 1) q**a] / (a - 1), by quadrature where q is near 1 and the form cancels."""
        xp, a, d = m.xp, self.a, m.miss
        log_q = m.log_outcome
        nothing = log_q == -xp.inf
        e = xp.expm1((a - 1.0) * xp.where(nothing, 0.0, log_q))
        zero = 1.0 / (a - 1.0) if a > 1 else xp.inf
        far = xp.where(nothing, zero, e * (1.0 / (1.0 - a) - d) - d)
        near = d * max(1.0, abs(a - 2.0)) < 0.02
        if not bool(xp.any(near)):
            return far
        x = xp.where(near, d, 0.0)
        inner = 0 * x
        for node, weight in zip(_NODES, _WEIGHTS, strict=True):
            u = 0.5 * (node + 1.0)
            inner = inner + 0.5 * weight * u * xp.exp((a - 2.0) * xp.log1p(-x * u))
        return xp.where(near, a * x * x * inner, far)

    def entropy(self, m: CaseStatistics, total: Array) -> Array:
        """(1 - sum of powers) / (a - 1)."""
        return (0.0 - total) / (self.a - 1.0)

    def bounds(self) -> tuple[float, float]:
        """0 to a / (a - 1), or without end below 1."""
        return 0.0, self.a / (self.a - 1.0) if self.a > 1 else math.inf
