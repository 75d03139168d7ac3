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


def bell_mccaffrey(shares: Any) -> float:
    """Degrees of freedom of the sum of c_g^2 / (1 - h_g) over clusters with these shares h_g of a mean.

    By Bell and McCaffrey (2002), for cases that are independent: with M = D^(1/2) (diag(h) - h h') D^(1/2) and
    D = diag(1 / (1 - h)) the trace is one, and that of M^2 is the sum of h_g^2 and of a_g a_k over g != k, with
    a = h^2 / (1 - h).

    >>> round(bell_mccaffrey(np.full(20, 0.05)), 9)
    19.0
    >>> round(bell_mccaffrey(np.array([0.5] + [0.5 / 19] * 19)), 1)
    3.6
    """
    a = np.sort(shares * shares / (1 - shares))
    return 1.0 / (float(shares @ shares) + 2 * float(a[1:] @ np.cumsum(a)[:-1]))
