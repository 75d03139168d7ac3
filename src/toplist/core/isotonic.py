"""Isotonic regression: the rising step function that fits outcomes best, by pooling adjacent violators (PAV)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import isotonic_regression

from toplist._typing import Floats


@dataclass(frozen=True, slots=True)
class TiedGroups:
    """Equal values of x taken together, in rising order: how much they weigh, and the sum of y over them."""

    x: Floats
    weight: Floats
    total: Floats


@dataclass(frozen=True, slots=True)
class Steps:
    """A rising step function: `value[i]` from `low[i]` to `high[i]`, with what each step weighs; straight between."""

    low: Floats
    high: Floats
    value: Floats
    weight: Floats

    def __len__(self) -> int:
        return len(self.value)

    def __call__(self, x: Any) -> Floats:
        """The function at x: the value of a step within it, a straight line between steps, and flat outside."""
        ends = np.stack((self.low, self.high), axis=1).ravel()
        apart = np.ones(len(ends), bool)
        apart[1::2] = self.high > self.low
        found: Floats = np.interp(x, ends[apart], np.repeat(self.value, 2)[apart])
        return found


def pav(x: Any, y: Any, weight: Any = None) -> Steps:
    """The rising function of x that is nearest to y in (weighted) mean square; equal x have one value.

    >>> steps = pav([0.1, 0.2, 0.3, 0.4], [0, 1, 0, 1])
    >>> steps.low, steps.high, steps.value
    (array([0.1, 0.2, 0.4]), array([0.1, 0.3, 0.4]), array([0. , 0.5, 1. ]))
    """
    return pool(grouped(x, y, weight))


def grouped(x: Any, y: Any, weight: Any = None) -> TiedGroups:
    """Values of x in rising order, equal ones together.

    Where y is yes or no and x is not negative, both are sorted as one column of integers: the bits of such doubles are
    in the order of their values, and the last bit is free for y.
    """
    x, y = np.ascontiguousarray(x, dtype=np.float64), np.asarray(y)
    if not len(x):
        return TiedGroups(x, np.zeros(0), np.zeros(0))
    if weight is None and y.dtype == bool and not np.signbit(x).any():
        packed = (x.view(np.uint64) << np.uint64(1)) | y
        packed.sort()
        kept = packed & np.uint64(1)
        bits = packed >> np.uint64(1)
        first = _first(bits)
        hits = np.concatenate((np.zeros(1, np.int64), np.cumsum(kept, dtype=np.int64)))
        ends = np.append(first, len(x))
        return TiedGroups(
            bits[first].view(np.float64), np.diff(ends).astype(np.float64), np.diff(hits[ends]).astype(np.float64)
        )
    order = np.argsort(x, kind="stable")
    x, y = x[order], y[order].astype(np.float64)
    w = np.ones(len(x)) if weight is None else np.asarray(weight, np.float64)[order]
    first = _first(x)
    return TiedGroups(x[first], np.add.reduceat(w, first), np.add.reduceat(w * y, first))


def pool(groups: TiedGroups) -> Steps:
    """The step function of groups; those that weigh nothing have no say, and no step."""
    some = groups.weight > 0
    x, w = groups.x[some], groups.weight[some]
    if not len(x):
        return Steps(x, x, x, x)
    found = isotonic_regression(groups.total[some] / w, weights=w)
    starts, ends = found.blocks[:-1], found.blocks[1:] - 1
    return Steps(x[starts], x[ends], found.x[starts], found.weights)


def _first(ordered: NDArray[Any]) -> NDArray[np.intp]:
    """Where a new value begins."""
    new = np.ones(len(ordered), dtype=bool)
    np.not_equal(ordered[1:], ordered[:-1], out=new[1:])
    return np.flatnonzero(new)
