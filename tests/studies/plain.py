"""The same figures in plain numpy, without the library."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Rows = NDArray[np.float64]


def distributions(p: NDArray[Any]) -> Rows:
    """Rows in double precision, divided by their sums.

    The command divides them too, since a distribution sums to one. Rows in single precision are off by up to 5e-7;
    without the division their mean scores differ by up to 1e-8, so that the manifest's six digits hold either way.
    """
    rows = p.astype(np.float64)
    return rows / rows.sum(axis=1, keepdims=True)


def brier(p: Rows, y: NDArray[Any]) -> Rows:
    return (p**2).sum(axis=1) - 2 * p[np.arange(len(p)), y] + 1


def log(p: Rows, y: NDArray[Any]) -> Rows:
    with np.errstate(divide="ignore"):
        return -np.log(p[np.arange(len(p)), y])


def hits(p: Rows, y: NDArray[Any]) -> Rows:
    """One for the most probable class; classes that tie for the first place share it."""
    best = p == p.max(axis=1, keepdims=True)
    return best[np.arange(len(p)), y] / best.sum(axis=1)


@dataclass(frozen=True)
class Figures:
    """What a leaderboard says of a model, from the distributions."""

    cases: int
    accuracy: float
    brier: float
    infinite: int
    log: float  # over the cases where it is finite


def figures(p: Rows, y: NDArray[Any]) -> Figures:
    scores = log(p, y)
    finite = scores[np.isfinite(scores)]
    return Figures(len(p), hits(p, y).mean(), brier(p, y).mean(), len(p) - len(finite), finite.mean())


def clustered(x: Rows, clusters: NDArray[Any], quantile: float) -> tuple[float, float]:
    """An interval for the mean of x that lets the cases of a cluster depend on each other."""
    sums = np.array([(x[clusters == c] - x.mean()).sum() for c in np.unique(clusters)])
    half = quantile * np.sqrt(len(sums) / (len(sums) - 1) * (sums**2).sum()) / len(x)
    return x.mean() - half, x.mean() + half


def padded_pair(first: tuple[str, float], second: tuple[str, float] | None, true: str) -> tuple[float, bool]:
    """The padded Brier score of a list of one or two out of ten classes, and whether it is valid.

    A class that is given less than each unnamed one would get is scored as if unnamed.
    """
    named = dict([first] if second is None else sorted([first, second], key=lambda pair: -pair[1]))
    whole = len(named)
    while named and min(named.values()) < (1 - sum(named.values())) / (10 - len(named)) - 1e-12:
        named.popitem()
    each = (1 - sum(named.values())) / (10 - len(named))
    squares = sum(t**2 for t in named.values()) + (10 - len(named)) * each**2
    return squares - 2 * named.get(true, each) + 1, len(named) == whole
