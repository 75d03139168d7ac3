"""Standard errors of weighted means over independent units: cases, or clusters of cases."""

from __future__ import annotations

from typing import Any

import numpy as np


def robust_squares(squares: Any, units: Any) -> Any:
    """Squared deviations summed over G units, times G / (G - 1); a unit is a case, or the sum over a cluster."""
    return squares * units / np.maximum(units - 1, 1)


def standard_error(squares: Any, units: Any, total: Any = 1.0) -> Any:
    """The cluster-robust standard error of a weighted mean; NaN for fewer than two units.

    `squares` is the sum over units of their squared weighted deviations from the mean, `total` the sum of the weights.

    >>> float(standard_error(2.0, 2, 2.0)), float(standard_error(2.0, 1))
    (1.0, nan)
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(np.greater(units, 1), np.sqrt(robust_squares(squares, units)) / total, np.nan)
