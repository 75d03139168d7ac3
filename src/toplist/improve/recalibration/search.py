"""The least value of a function of one number: a grid, so that no valley is missed, then Brent's method in it."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

import numpy as np
from scipy.optimize import minimize_scalar

Curve = Callable[[float], float]

_POINTS = 17


def lowest(exact: Curve, low: float, high: float, *, rough: Curve | None = None, close: float = 1e-7) -> float:
    """Where `exact` is least between two numbers; `rough` is near it and quicker, for the grid.

    >>> round(lowest(lambda x: (x - 0.3) ** 2, -1.0, 1.0), 6)
    0.3
    """
    grid = np.linspace(low, high, _POINTS).tolist()
    values = [(rough or exact)(x) for x in grid]
    at = int(np.argmin(values))
    left, right = grid[max(at - 1, 0)], grid[min(at + 1, _POINTS - 1)]
    exact = lru_cache(exact)
    found = _descend(exact, left, right, close)
    if (left > low and found - left < 10 * close) or (right < high and right - found < 10 * close):
        found = _descend(exact, low, high, close)  # what is rough misled
    best: float = min((found, left, right), key=exact)
    return best


def _descend(exact: Curve, low: float, high: float, close: float) -> float:
    return float(minimize_scalar(exact, bounds=(low, high), method="bounded", options={"xatol": close}).x)
