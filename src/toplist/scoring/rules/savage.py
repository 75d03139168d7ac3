"""Scoring rules given by an entropy: the Savage representation (paper, eq. 7)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from toplist.core.array_api import ScoreTable
from toplist.errors import RuleError
from toplist.scoring.rules.base import TableRule, columns
from toplist.scoring.rules.propriety import require_proper

Array = Any
Rise = Callable[[NDArray[np.float64]], NDArray[np.float64]]


@dataclass(frozen=True, slots=True)
class Savage(TableRule):
    """The rule of a symmetric concave entropy G: S(p, y) = G(p) - <G'(p), p> + G'_y(p).

    Parameters
    ----------
    G : callable
        Entropy of `values` and `counts`, arrays of shape (cases, blocks): distributions in which `counts` classes have
        probability `values` each, as padded lists are. Returns one number per case.
    dG : callable, optional
        Supergradient, in the shape of `values`: its entry for a class of each block. It is averaged over classes of
        equal probability, which makes it symmetric (paper, Proposition 4.1). Without it, which an entropy with kinks
        needs, the derivative is taken numerically, with an error of about 1e-9, and 1e-15 / p where a probability p is
        small.

    Examples
    --------
    >>> import toplist as tl
    >>> brier = Savage(lambda v, n: 1 - (n * v * v).sum(axis=-1), lambda v, n: -2 * v)
    >>> tl.score([[0.5, 0.25, 0.25]], [0], rule=brier)
    array([0.375])
    """

    G: Callable[[Array, Array], Array]
    dG: Callable[[Array, Array], Array] | None = None
    name: ClassVar[str] = "savage"
    strict: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if not callable(self.G) or not (self.dG is None or callable(self.dG)):
            raise RuleError("Savage takes an entropy and its supergradient as functions.")
        require_proper(self, smallest=0.0 if self.dG is not None else 1e-4)

    def table_entropy(self, table: ScoreTable) -> Array:
        """G of every padded distribution."""
        return self._entropy(*_blocks(table))

    def each(self, table: ScoreTable) -> tuple[Array, Array]:
        """See `Rule.each`."""
        values, counts = _blocks(table)
        if self.dG is None and table.xp is not np:
            raise RuleError("on a device an entropy needs its supergradient: give dG.")
        s = self._numeric(values, counts) if self.dG is None else self._savage(table.xp, self.dG, values, counts)
        return s[:, :-1], s[:, -1]

    def _entropy(self, values: Array, counts: Array) -> Array:
        out = self.G(values, counts)
        if np.shape(out) != values.shape[:1]:
            raise RuleError(f"G must return one number per case: {values.shape[:1]}, not {np.shape(out)}.")
        return out

    def _savage(self, xp: Any, gradient: Callable[[Array, Array], Array], values: Array, counts: Array) -> Array:
        slope = gradient(values, counts)
        if np.shape(slope) != values.shape:
            raise RuleError(f"dG must return the shape of its values: {values.shape}, not {np.shape(slope)}.")
        slope = _average_ties(xp, values, counts, slope)
        used = (values > 0) & (counts > 0)
        flat = xp.where(used, counts * values * xp.where(used, slope, 0.0), 0.0)
        base = self._entropy(values, counts) - xp.sum(flat, axis=1)
        return xp.expand_dims(base, axis=1) + slope

    def _numeric(self, values: Array, counts: Array) -> NDArray[np.float64]:
        """G plus its derivative towards each block, moving tied classes together."""
        v, n = np.asarray(values, np.float64), np.asarray(counts, np.float64)
        g = np.asarray(self._entropy(v, n))
        out = np.empty_like(v)
        for j in range(v.shape[1]):
            tied = (v == v[:, j : j + 1]) & (n > 0)
            block = np.maximum(np.where(tied, n, 0.0).sum(axis=1), 1.0)
            toward = np.where(tied, 1.0 / block[:, None], 0.0) - v

            def rise(h: NDArray[np.float64], toward: NDArray[np.float64] = toward) -> NDArray[np.float64]:
                change: NDArray[np.float64] = self._entropy(v + h[..., None] * toward, n) - g
                return change

            share = v[:, j] * block
            step = np.minimum(1e-3, 0.3 * share)
            out[:, j] = g + np.where(share > 0, _two_sided(rise, np.where(share > 0, step, 1e-3)), _one_sided(rise))
        return out


def _two_sided(rise: Rise, step: NDArray[np.float64]) -> NDArray[np.float64]:
    """The derivative from both sides, extrapolated: exact to the seventh order of the step."""
    slopes = [(rise(step / 2**i) - rise(-step / 2**i)) / (2 * step) * 2**i for i in range(4)]
    for order in (2, 4, 6):
        slopes = [(2**order * b - a) / (2**order - 1) for a, b in pairwise(slopes)]
    return np.asarray(slopes[0])


def _one_sided(rise: Rise) -> NDArray[np.float64]:
    """The derivative from the right by extrapolation; infinite where the slopes keep growing."""
    h = 1e-4
    slopes = [rise(np.array(h / 2**i)) * 2**i / h for i in range(4)]
    for order in (1, 2, 3):
        slopes = [(2**order * b - a) / (2**order - 1) for a, b in pairwise(slopes)]
    far, near, nearer = (rise(np.array(x)) / x for x in (1e-5, 1e-8, 1e-11))
    growing = (nearer - near > 0.5 * (near - far)) & (near - far > 1e-3 * np.maximum(1.0, np.abs(far)))
    return np.where(growing, np.inf, slopes[0])


def _blocks(table: ScoreTable) -> tuple[Array, Array]:
    """A table's padded distributions as blocks: one class each, and all that are unlisted."""
    xp = table.xp
    if bool(xp.any(xp.isinf(table.unlisted))):
        raise RuleError("an entropy given as a function needs a number of classes below about 1e308.")
    values = xp.concat([table.t, xp.expand_dims(table.proxy, axis=1)], axis=1)
    counts = xp.concat([0 * table.t + 1.0, xp.expand_dims(table.unlisted, axis=1)], axis=1)
    return values, counts


def _average_ties(xp: Any, values: Array, counts: Array, slope: Array) -> Array:
    """Give classes of equal probability the mean of their entries."""
    out = slope
    for j in range(values.shape[1]):
        tied = (values == values[:, j : j + 1]) & (counts > 0)
        weight = xp.where(tied, counts, 0.0)
        several = xp.sum(xp.astype(tied, values.dtype), axis=1) > 1
        total = xp.sum(weight, axis=1)
        mean = xp.sum(xp.where(tied, weight * xp.where(tied, slope, 0.0), 0.0), axis=1) / xp.where(
            total > 0, total, 1.0
        )
        column = xp.where(several, mean, slope[:, j])
        out = xp.where(columns(xp, values) == j, xp.expand_dims(column, axis=1), out)
    return out
