"""Tempering: confidences to a power, so that lists that are too sure, or not sure enough, are neither.

Powers of confidences and factors on them: softmax over listed classes and the rest, fitted with exact gradients.

Everything that tempers is of one form. Each listed class, and the rest of a case as one more outcome, has a log weight
z = base + a x + b[group], where x is the log of its mass; the new masses are the softmax of these over the case.

Scaling by rank: one power for all confidences, and a factor for each rank and for the rest.

The least value of a function of one number: a grid, so that no valley is missed, then Brent's method in it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize, minimize_scalar

from toplist._arguments import as_number, as_whole
from toplist._typing import Floats
from toplist.errors import TopListError
from toplist.lists import TopLists
from toplist.lists.log_space import Logs, normalised, ranks
from toplist.postprocess.recalibration.base import MOST, Recalibrator, Sample, require_fit_rule
from toplist.postprocess.recalibration.state import State
from toplist.scoring.rules import as_rule

Indices = NDArray[np.intp]
Make = Callable[[Sample], Callable[[Floats], tuple[float, Floats]]]  # of some cases: an objective with its slopes

_NONE = -1
_ROUGH_EXPONENTS = 1 << 14  # cases that a first fit sees, so that the fit to all starts near its end


class Value(NamedTuple):
    """A mean score, with its slopes in the exponent and in the offset of each group."""

    score: float
    exponent: float
    offsets: Floats


@dataclass(frozen=True, slots=True)
class ScaledOutcomes:
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


def outcomes(sample: Sample, *, spread: bool, group: NDArray[np.int64] | None = None, last: int = 1) -> ScaledOutcomes:
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
    return ScaledOutcomes(
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
    few = sample.thinned(_ROUGH_EXPONENTS)
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


HOTTEST = math.exp(4.0)  # a temperature of 55 leaves next to nothing of any difference, one of 1/55 only the largest
_ROUGH = 1 << 13
_POINTS = 17  # of a grid, so that no valley of the Brier score is missed
_STEEP = 50.0


class Temperature(Recalibrator):
    r"""Powers of the padded distribution: t_i to t_i^{1/T} / Z, and the rest of n classes to n (rest / n)^{1/T} / Z.

    A temperature above one makes lists less sure, one below surer; order and validity stay. It is found between 1/55
    and 55, by the Brier or the log score, and is never worse than one on the cases that it was found on. Where m is in
    the thousands or more a power of tiny shares moves all mass to or from the rest: take `BucketTemperature` there.

    >>> import toplist as tl
    >>> lists = tl.TopLists.from_dicts([{"a": 0.8, "b": 0.1}] * 4, 3)
    >>> Temperature(rule="log").fit(lists, ["a", "a", "b", "c"])
    Temperature(rule='log') [temperature 3]
    """

    learned = ("temperature_",)
    temperature_: float

    def __init__(self, *, rule: Any = "brier") -> None:
        self.rule = rule

    @property
    def parameters(self) -> int:
        """One."""
        return 1

    def _check(self) -> None:
        require_fit_rule(self.rule)

    def _fit(self, sample: Sample) -> None:
        _require_shares(Logs.of(sample.lists))
        rule = require_fit_rule(self.rule)
        hot, none = math.log(HOTTEST), np.zeros(2)

        def make(part: Sample) -> Any:
            table = outcomes(part, spread=True)

            def objective(theta: Floats) -> tuple[float, Floats]:
                exponent = math.exp(-theta[0])
                found = table.value(exponent, none, rule)
                return found.score, np.array([-exponent * found.exponent])

            return objective

        rough = make(sample.thinned(_ROUGH))
        start = min(np.linspace(-hot, hot, _POINTS), key=lambda log_t: rough(np.array([log_t]))[0])
        log_t = float(fit_rough_first(sample, np.array([start]), [(-hot, hot)], make)[0])
        self.temperature_ = math.exp(log_t)
        score = as_rule(rule)
        if sample.loss(tempered(sample.lists, self.temperature_), score) >= sample.loss(sample.lists, score):
            self.temperature_ = 1.0

    def _transform(self, lists: TopLists) -> TopLists:
        return tempered(lists, self.temperature_)

    def _restore(self, state: State) -> None:
        self.temperature_ = state.number("temperature_", 1e-300)

    def _said(self) -> str:
        return f"temperature {self.temperature_:.5g}"


def tempered(lists: TopLists, temperature: float) -> TopLists:
    """Powers of strictly valid lists; at temperature one, these."""
    if temperature == 1.0:
        return lists
    logs = Logs.of(lists)
    _require_shares(logs)
    with np.errstate(invalid="ignore"):  # of no rest, shared by no class
        rest = np.where(logs.rest > -np.inf, logs.unlisted + (logs.rest - logs.unlisted) / temperature, -np.inf)
    return normalised(lists, logs.listed / temperature, rest)


def _require_shares(logs: Logs) -> None:
    if (np.isinf(logs.unlisted) & (logs.unlisted > 0) & (logs.rest > -np.inf)).any():
        raise TopListError(
            "infinitely many classes share the rest, and powers of their shares have no limit: take BucketTemperature."
        )


class BucketTemperature(Recalibrator):
    r"""Powers of confidences and a factor on the rest: t_i^{1/T} against e^b rest^{1/T}, then repair.

    Two parameters that do for any number of classes, infinitely many too, since the rest is one outcome among the
    others here. `ridge`, in cases, holds both to where nothing changes: without it a rest that never happened would
    vanish. Fitted by the Brier or the log score.
    """

    learned = ("temperature_", "offset_")
    temperature_: float
    offset_: float

    def __init__(self, *, rule: Any = "brier", ridge: float = 1.0) -> None:
        self.rule = rule
        self.ridge = ridge

    @property
    def parameters(self) -> int:
        """Two."""
        return 2

    def _check(self) -> None:
        require_fit_rule(self.rule)
        as_number(self.ridge, "ridge", 0, MOST)

    def _fit(self, sample: Sample) -> None:
        rule, hot = require_fit_rule(self.rule), math.log(HOTTEST)

        def make(part: Sample) -> Any:
            table, hold = outcomes(part, spread=False), self.ridge / sample.counting

            def objective(theta: Floats) -> tuple[float, Floats]:
                exponent = math.exp(-theta[0])
                found = table.value(exponent, np.array([0.0, theta[1]]), rule)
                slopes = np.array([-exponent * found.exponent, found.offsets[1]])
                return found.score + 0.5 * hold * float(theta @ theta), slopes + hold * theta

            return objective

        log_t, offset = fit_rough_first(sample, np.zeros(2), [(-hot, hot), (-_STEEP, _STEEP)], make).tolist()
        self.temperature_, self.offset_ = math.exp(log_t), offset
        score = as_rule(rule)
        if sample.loss(self.transform(sample.lists), score) > sample.loss(sample.lists, score):
            self.temperature_, self.offset_ = 1.0, 0.0  # repairs, which the fit does not see, undid it

    def _transform(self, lists: TopLists) -> TopLists:
        if self.temperature_ == 1.0 and self.offset_ == 0.0:
            return lists
        logs = Logs.of(lists)
        return normalised(lists, logs.listed / self.temperature_, self.offset_ + logs.rest / self.temperature_)

    def _restore(self, state: State) -> None:
        self.temperature_, self.offset_ = state.number("temperature_", 1e-300), state.number("offset_")

    def _said(self) -> str:
        return f"temperature {self.temperature_:.5g}, rest times e^{self.offset_:.4g}"


_FLAT, _STEEP_VECTOR = 0.01, 100.0  # powers
_FAR = 50.0  # offsets


class VectorScaling(Recalibrator):
    r"""Log weights a log t_r + b_r by rank r, and a log rest + b_0, in a softmax: vector scaling, on ranks.

    Fitted by maximum likelihood, a convex problem, with a ridge of `ridge` cases to a = 1 and b = 0. Ranks from `ranks`
    on share an offset. Factors by rank may change the order of a list, and put a class below the share of an unlisted
    one: such a list is repaired (Guo, Pleiss, Sun and Weinberger, ICML 2017, for classes).
    """

    learned = ("slope_", "offsets_", "rest_offset_")
    slope_: float
    offsets_: Floats
    rest_offset_: float

    def __init__(self, *, ranks: int = 10, ridge: float = 1.0) -> None:
        self.ranks = ranks
        self.ridge = ridge

    @property
    def parameters(self) -> int:
        """The power, and a factor for each rank that was met and for the rest."""
        return 2 + len(self.offsets_) if self.is_fitted else 2 + self.ranks

    def _check(self) -> None:
        as_whole(self.ranks, "ranks", 1)
        as_number(self.ridge, "ridge", 0, MOST)

    def _fit(self, sample: Sample) -> None:
        longest = int(sample.lists.sizes.max(initial=0))
        many = min(self.ranks, longest)
        bounds = [(_FLAT, _STEEP_VECTOR)] + [(-_FAR, _FAR)] * (many + 1)
        start = np.zeros(many + 2)
        start[0] = 1.0

        def make(part: Sample) -> Any:
            group = np.minimum(ranks(part.lists), max(many - 1, 0))
            table, hold = outcomes(part, spread=False, group=group, last=many), self.ridge / sample.counting

            def objective(theta: Floats) -> tuple[float, Floats]:
                found, away = table.value(float(theta[0]), theta[1:], "log"), theta - start
                slopes = np.concatenate(([found.exponent], found.offsets))
                return found.score + 0.5 * hold * float(away @ away), slopes + hold * away

            return objective

        theta = fit_rough_first(sample, start, bounds, make)
        self.slope_, self.offsets_, self.rest_offset_ = float(theta[0]), theta[1:-1], float(theta[-1])

    def _transform(self, lists: TopLists) -> TopLists:
        logs, offsets = Logs.of(lists), self.offsets_ if len(self.offsets_) else np.zeros(1)
        own = offsets[np.minimum(ranks(lists), len(offsets) - 1)]
        return normalised(lists, self.slope_ * logs.listed + own, self.slope_ * logs.rest + self.rest_offset_)

    def _restore(self, state: State) -> None:
        self.slope_, self.rest_offset_ = state.number("slope_", 1e-300, MOST), state.number("rest_offset_")
        self.offsets_ = state.floats("offsets_")

    def _said(self) -> str:
        return f"power {self.slope_:.4g}, {len(self.offsets_)} ranks, rest times e^{self.rest_offset_:.4g}"


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
