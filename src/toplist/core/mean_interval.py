"""A mean with its interval, from what each case contributes: Student's t over cases or clusters of cases."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from toplist._text import significant
from toplist._typing import Floats
from toplist.core.arguments import as_probability, as_units
from toplist.core.degrees_of_freedom import error_of_units


@dataclass(frozen=True, slots=True)
class MeanInterval:
    """A mean over cases, or another smooth function of their distribution, and its confidence interval.

    Attributes
    ----------
    value : float
        The mean.
    low, high : float
        Where the interval begins and ends; NaN where there is none.
    error : float
        The standard error; NaN where there is none.
    level : float
        The confidence level.
    units : int
        How many cases with a weight above zero, or clusters of such, the error is estimated from.

    Examples
    --------
    >>> hits = np.array([0.0, 1.0, 1.0, 1.0])
    >>> MeanInterval.of_influences(0.75, hits - 0.75, np.full(4, 0.25), bounds=(0.0, 1.0))
    MeanInterval(0.75, 95% CI 0 to 1, 4 units)
    """

    value: float
    low: float
    high: float
    error: float
    level: float
    units: int

    @classmethod
    def of_influences(
        cls,
        value: float,
        influences: Floats,
        shares: Floats,
        *,
        clusters: Any = None,
        level: float = 0.95,
        bounds: tuple[float, float] = (-math.inf, math.inf),
    ) -> MeanInterval:
        """A value whose change with the share of each case is known; shares add up to one, and bounds cut it off.

        It has the standard error and the degrees of freedom that a mean in a leaderboard has.
        """
        level = as_probability(level, "level")
        counted = shares > 0
        units = np.unique(as_units(clusters, len(shares))[counted], return_inverse=True)[1]
        size: Floats = np.bincount(units, shares[counted]).astype(np.float64)
        if len(size) < 2 or not math.isfinite(value):
            return cls(value, math.nan, math.nan, math.nan, level, len(size))
        from scipy.special import stdtrit  # noqa: PLC0415  only here, and not cheap to import

        sums: Floats = np.bincount(units, shares[counted] * influences[counted]).astype(np.float64)
        error, freedom = error_of_units(sums, size, clustered=clusters is not None)
        if not freedom:
            return cls(value, math.nan, math.nan, math.nan, level, len(size))
        reach = float(stdtrit(freedom, (1.0 + level) / 2.0)) * error
        low, high = max(value - reach, bounds[0]), min(value + reach, bounds[1])
        return cls(value, low, high, error, level, len(size))

    def __repr__(self) -> str:
        between = f"{float(self.level) * 100:g}% CI {significant(self.low)} to {significant(self.high)}"
        between = between if math.isfinite(self.error) else "no interval"
        return f"MeanInterval({significant(self.value)}, {between}, {self.units:,} units)"
