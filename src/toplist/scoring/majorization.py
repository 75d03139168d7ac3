"""Majorization: which distributions are more certain than which, for every symmetric rule at once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from toplist._typing import Floats
from toplist.core.arguments import as_vector
from toplist.errors import ShapeError


def decreasing(v: Any) -> Floats:
    """Decreasing rearrangement of a vector.

    Parameters
    ----------
    v : array-like
        A vector.

    Returns
    -------
    ndarray
        The entries, largest first.

    Examples
    --------
    >>> decreasing([0.2, 0.5, 0.3])
    array([0.5, 0.3, 0.2])
    """
    return np.sort(as_vector(v, "a vector"))[::-1]


def majorizes(v: Any, w: Any, *, tol: float = 1e-12) -> bool:
    """Whether v majorizes w: equal sums, and every sum of the largest entries at least as large.

    Parameters
    ----------
    v, w : array-like
        Vectors of one length.
    tol : float, default 1e-12
        Differences of sums up to this count as rounding.

    Returns
    -------
    bool
        True if v majorizes w.

    Examples
    --------
    >>> majorizes([1, 0, 0], [0.5, 0.3, 0.2]), majorizes([0.5, 0.3, 0.2], [1, 0, 0])
    (True, False)
    """
    a, b = decreasing(v), decreasing(w)
    if a.shape != b.shape:
        raise ShapeError(f"majorization compares vectors of one length, not {len(a)} and {len(b)}.")
    top, other = np.cumsum(a), np.cumsum(b)
    if not len(a):
        return True
    return bool(abs(top[-1] - other[-1]) <= tol and (top >= other - tol).all())


def transfer(v: Any, i: int, j: int, amount: float) -> Floats:
    """Move some of entry i to entry j: a step towards the mean if v[i] >= v[j] + amount, which v then majorizes."""
    w = np.array(v, dtype=np.float64)
    w[i] -= amount
    w[j] += amount
    return w


def schur_violation(
    f: Callable[[Floats], float], m: int, *, trials: int = 1000, tol: float = 1e-9, seed: int = 0
) -> tuple[Floats, Floats] | None:
    """A pair (v, w) with v majorizing w but f(v) > f(w), so that f is not Schur-concave; None if none is found.

    >>> schur_violation(lambda p: 1 - (p**2).sum(), 4) is None
    True
    """
    rng = np.random.default_rng(seed)
    for _ in range(trials):
        v = rng.dirichlet(np.full(m, rng.choice([0.3, 1.0, 3.0])))
        i, j = (int(x) for x in rng.choice(m, size=2, replace=False))
        if v[i] < v[j]:
            i, j = j, i
        w = transfer(v, i, j, rng.random() * (v[i] - v[j]))
        w = w[rng.permutation(m)]
        if f(v) > f(w) + tol:
            return v, w
    return None
