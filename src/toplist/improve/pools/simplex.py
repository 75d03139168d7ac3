"""Convex functions of weights, minimised: weights are not negative and add up to one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

_STEPS = 200
_TINY = 1e-14
_LEVEL = 1e-14  # a mean of scores is known to so many digits


@dataclass(frozen=True, slots=True)
class Slope:
    """A function at some weights: its value, its gradient, and its matrix of second derivatives."""

    value: float
    gradient: Floats
    curvature: Floats


@dataclass(frozen=True, slots=True)
class Minimum:
    """Weights, and how far above the least value theirs can be at most."""

    weights: Floats
    value: float
    gap: float
    steps: int


def gap(weights: Floats, gradient: Floats) -> float:
    r"""The duality gap :math:`w'g - \min_j g_j`, which a convex function's excess over its minimum does not exceed.

    >>> gap(np.array([0.5, 0.5]), np.array([1.0, 3.0]))
    1.0
    """
    return float(max(0.0, weights @ gradient - gradient.min()))


def minimise(function: Callable[[Floats], Slope], count: int, *, tolerance: float = 1e-10) -> Minimum:
    """Newton's steps, each a quadratic programme on the simplex, halved until they go down; from equal weights."""
    w = np.full(count, 1.0 / count)
    here = function(w)
    for step in range(_STEPS):
        found = gap(w, here.gradient)
        if found <= tolerance or count == 1:
            return Minimum(w, here.value, found, step)
        h = here.curvature
        h = h + np.eye(count) * _TINY * max(1.0, float(np.trace(h)))
        ahead = quadratic(h, here.gradient - h @ w) - w
        length, down = 1.0, float(here.gradient @ ahead)
        while True:
            there = _onto(w + length * ahead)
            tried = function(there)
            # values that are alike to the last digits hide a step that gradients still tell
            level = abs(tried.value - here.value) <= _LEVEL * max(1.0, abs(here.value))
            nearer = level and gap(there, tried.gradient) < found
            if nearer or tried.value <= here.value + 1e-4 * length * down or length < 1e-12:
                break
            length /= 2
        if not nearer and not tried.value < here.value:  # as good as numbers can tell
            return Minimum(w, here.value, found, step)
        w, here = there, tried
    return Minimum(w, here.value, gap(w, here.gradient), _STEPS)


def quadratic(h: Floats, c: Floats) -> Floats:
    """The weights with the least w'hw / 2 + c'w, for a matrix that curves upwards, by active sets.

    >>> quadratic(np.eye(2), np.array([-1.0, 0.0]))
    array([1., 0.])
    """
    count = len(c)
    w, free = np.full(count, 1.0 / count), np.ones(count, dtype=bool)
    scale = max(1.0, float(np.abs(h).max()), float(np.abs(c).max()))
    for _ in range(100 * count):
        aim = _equality(h, c, free)
        short = free & (aim < 0)
        if short.any():
            ratio = w[short] / (w[short] - aim[short])
            w = w + ratio.min() * (aim - w)
            block = np.flatnonzero(short)[ratio == ratio.min()]
            w[block] = 0.0
            free[block] = False
            continue
        w = aim
        slope = h @ w + c
        level = float(w @ slope)
        below = np.where(free, 0.0, slope - level)
        if below.min() >= -1e-15 * scale:
            break
        free[int(below.argmin())] = True
    return _onto(w)


def _equality(h: Floats, c: Floats, free: NDArray[np.bool_]) -> Floats:
    """The least value where the free weights add up to one, of any sign, and the others are zero."""
    at = np.flatnonzero(free)
    system = np.ones((len(at) + 1, len(at) + 1))
    system[:-1, :-1], system[-1, -1] = h[np.ix_(at, at)], 0.0
    found = np.linalg.lstsq(system, np.append(-c[at], 1.0), rcond=None)[0]
    w = np.zeros(len(c))
    w[at] = found[:-1]
    return w


def _onto(w: Floats) -> Floats:
    w = np.maximum(w, 0.0)
    out: Floats = w / w.sum()
    return out
