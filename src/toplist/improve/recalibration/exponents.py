"""Powers of confidences and factors on them: softmax over listed classes and the rest, fitted with exact gradients.

Everything that tempers is of one form. Each listed class, and the rest of a case as one more outcome, has a log weight
z = base + a x + b[group], where x is the log of its mass; the new masses are the softmax of these over the case.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from toplist.improve.recalibration.logs import Logs
from toplist.improve.recalibration.sample import Sample

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]
Make = Callable[[Sample], Callable[[Floats], tuple[float, Floats]]]  # of some cases: an objective with its slopes

_NONE = -1
_ROUGH = 1 << 14  # cases that a first fit sees, so that the fit to all starts near its end


class Value(NamedTuple):
    """A mean score, with its slopes in the exponent and in the offset of each group."""

    score: float
    exponent: float
    offsets: Floats


@dataclass(frozen=True, slots=True)
class Outcomes:
    """All that can happen in each case and is not impossible, one after the other; the rest comes last."""

    starts: Indices  # where each case begins
    sizes: NDArray[np.int64] | int  # one number where all have as many
    x: Floats
    base: Floats | None
    group: NDArray[np.int64]
    share: Floats  # 1 for a listed class, 1 / n for a rest of n classes
    happened: Indices  # where what happened stands, or _NONE where it was held impossible
    weight: Floats

    def value(self, exponent: float, offsets: Floats, rule: str) -> Value:
        """The mean score of the softmax.

        For the log score, cases whose outcome was held impossible do not count, since they are infinite whatever is
        done, and a miss counts as one of the rest as a whole: its share among the unlisted classes is a constant.
        """
        z = exponent * self.x + offsets[self.group]
        if self.base is not None:
            z += self.base
        z -= np.repeat(np.maximum.reduceat(z, self.starts), self.sizes)
        p = np.exp(z)
        total = np.add.reduceat(p, self.starts)
        p /= np.repeat(total, self.sizes)
        known = np.flatnonzero(self.happened != _NONE)
        at, weight = self.happened[known], self.weight
        if rule == "log":
            score = float(self.weight[known] @ (np.log(total[known]) - z[at]))
            slope, weight = p, np.zeros_like(self.weight)
            weight[known] = self.weight[known]
            slope[at] -= 1.0
        else:
            squares = p * self.share
            scores = 1.0 + np.add.reduceat(p * squares, self.starts)
            scores[known] -= 2.0 * squares[at]
            score = float(self.weight @ scores)
            squares[at] -= self.share[at]
            squares -= np.repeat(np.add.reduceat(p * squares, self.starts), self.sizes)
            slope = 2.0 * p * squares
        slope = slope * np.repeat(weight, self.sizes)
        by_group = np.bincount(self.group, weights=slope, minlength=len(offsets)).astype(np.float64, copy=False)
        return Value(score, float(slope @ self.x), by_group)


def outcomes(sample: Sample, *, spread: bool, group: NDArray[np.int64] | None = None, last: int = 1) -> Outcomes:
    """The outcomes of a sample; `group` of each entry, 0 without it, and `last` that of the rest.

    `spread`: the power is taken of the share of each unlisted class, as if it were listed; else of the rest mass.
    """
    lists, logs = sample.lists, Logs.of(sample.lists)
    case = np.repeat(np.arange(len(lists)), lists.sizes)
    listed, left = logs.listed > -np.inf, logs.rest > -np.inf
    sizes = np.bincount(case[listed], minlength=len(lists)) + left
    ends = np.cumsum(sizes)
    starts = ends - sizes
    before: NDArray[np.int64] = np.cumsum(listed) - listed
    at = starts[case] + before - np.append(before, listed.sum())[lists.offsets[:-1]][case]
    entry, rest = at[listed], ends[left] - 1

    def joined(of_entries: Any, of_rests: Any) -> NDArray[Any]:
        out = np.empty(int(sizes.sum()), np.asarray(of_rests).dtype)
        out[entry], out[rest] = of_entries, of_rests
        return out

    count = logs.unlisted[left]
    happened = np.where(left, ends - 1, _NONE)
    hit = np.flatnonzero(lists.classes == np.repeat(sample.codes, lists.sizes))
    happened[case[hit]] = np.where(listed[hit], at[hit], _NONE)
    even = bool((sizes == sizes[0]).all())
    return Outcomes(
        starts,
        int(sizes[0]) if even else sizes,
        joined(logs.listed[listed], logs.rest[left] - (count if spread else 0.0)),
        joined(0.0, count) if spread else None,
        joined(0 if group is None else group[listed], np.full(len(rest), last, np.int64)),
        joined(1.0, np.exp(-count)),
        happened,
        sample.weight,
    )


def fit_rough_first(sample: Sample, start: Floats, bounds: list[tuple[float, float]], make: Make) -> Floats:
    """The parameters of least objective: found on some of the cases, then on all, from there."""
    few = sample.thinned(_ROUGH)
    theta = start
    for part, close in ((few, 1e-14), (sample, 1e-11)) if few is not sample else ((sample, 1e-14),):
        found = minimize(
            make(part),
            theta,
            jac=True,
            method="L-BFGS-B",
            bounds=bounds,
            options={"ftol": close, "gtol": 1e-8, "maxls": 8, "maxiter": 500},
        )
        theta = np.asarray(found.x, dtype=np.float64)
    return theta
