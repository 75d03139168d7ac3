"""Scaling: powers of confidences and factors on them, as in temperature scaling, fitted with exact gradients.

All three recalibrators are of one form. Each listed class, and the rest of a case as one more outcome, has a log weight
z = base + a x + b[group], where x is the log of its mass; the new masses are the softmax of these over the case.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from toplist._typing import Floats
from toplist.core.arguments import as_number, as_whole
from toplist.errors import TopListError
from toplist.lists import TopLists
from toplist.lists.log_space import Logs, normalised, ranks
from toplist.lists.space import ClassSpace
from toplist.postprocess.recalibration.base import MOST, Recalibrator, Sample, require_fit_rule
from toplist.postprocess.recalibration.state import State
from toplist.scoring.rules import as_rule

Indices = NDArray[np.intp]
Make = Callable[[Sample], Callable[[Floats], tuple[float, Floats]]]  # of some cases: an objective with its gradient

HOTTEST = math.exp(4.0)  # a temperature of 55 leaves next to nothing of any difference, one of 1/55 only the largest
MANY_CLASSES = 10_000  # from which on a power of the share of an unlisted class moves all mass to or from the rest
_NONE = -1
_ROUGH_GRID = 1 << 13  # cases of a grid
_ROUGH_FIT = 1 << 14  # cases of a first fit, so that the fit to all starts near its end
_POINTS = 17  # of a grid, so that no local minimum of the Brier score is missed
_LEAST_POWER, _LARGEST_POWER = 0.01, 100.0
_LARGEST_OFFSET = 50.0


class Value(NamedTuple):
    """A mean score, and its derivatives in the exponent and in the offset of each group."""

    score: float
    exponent: float
    offsets: Floats


@dataclass(frozen=True, slots=True)
class ScaledOutcomes:
    """The outcomes of positive probability of each case, one after the other; the rest comes last."""

    starts: Indices  # where each case begins
    sizes: NDArray[np.int64] | int  # one number where all have as many
    x: Floats
    base: Floats | None
    group: NDArray[np.int64]
    share: Floats  # 1 for a listed class, 1 / n for a rest of n classes
    happened: Indices  # the place of the outcome, or _NONE where its probability was zero
    weight: Floats

    def value(self, exponent: float, offsets: Floats, rule: str) -> Value:
        """The mean score of the softmax.

        For the log score, cases whose outcome had probability zero do not count, since they stay infinite, and a miss
        counts as one of the rest as a whole: its share among the unlisted classes is a constant.
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
    few = sample.thinned(_ROUGH_FIT)
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


class Temperature(Recalibrator):
    r"""Temperature scaling of the padded distribution.

    Confidences t become :math:`t^{1/T} / Z`, and the rest of n classes :math:`n (rest / n)^{1/T} / Z`. A temperature T
    above one makes lists less sure, one below surer; order and validity stay. It is found between 1/55 and 55, and is
    never worse than T = 1 on the cases that it was fitted to. Where there are thousands of classes or more a power of
    tiny shares moves all mass to or from the rest: take `BucketTemperature` there.

    Parameters
    ----------
    rule : {"brier", "log"}, default "brier"
        The scoring rule that it is fitted by.

    Attributes
    ----------
    temperature_ : float
        The fitted temperature.

    References
    ----------
    Guo, Pleiss, Sun and Weinberger (2017), On calibration of modern neural networks, ICML.

    Examples
    --------
    >>> Temperature(rule="log").fit([{"a": 0.8, "b": 0.1}] * 4, ["a", "a", "b", "c"], space=3)
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

    @classmethod
    def is_default(cls, space: ClassSpace) -> bool:
        """Whether there are few enough classes for powers of their shares."""
        return float(space.as_floats[0].max(initial=0.0)) < MANY_CLASSES

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

        rough = make(sample.thinned(_ROUGH_GRID))
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

    def _describe(self) -> str:
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
    r"""Temperature scaling with the rest as one outcome, and a factor on the rest.

    Confidences t become :math:`t^{1/T} / Z`, and the rest :math:`e^b rest^{1/T} / Z`; then lists are repaired. The two
    parameters serve any number of classes, also infinitely many.

    Parameters
    ----------
    rule : {"brier", "log"}, default "brier"
        The scoring rule that it is fitted by.
    ridge : float, default 1.0
        The weight, in cases, of a penalty on log T and b: without it the rest would vanish where no case is a miss.

    Attributes
    ----------
    temperature_, offset_ : float
        T and b.

    Examples
    --------
    >>> BucketTemperature(ridge=0).fit([{"a": 0.8}] * 4, ["a", "a", "b", "c"], space=3).transform([{"a": 0.8}], space=3)
    TopLists(1 case, k = 1, 3 classes)
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

        log_t, offset = fit_rough_first(
            sample, np.zeros(2), [(-hot, hot), (-_LARGEST_OFFSET, _LARGEST_OFFSET)], make
        ).tolist()
        self.temperature_, self.offset_ = math.exp(log_t), offset
        score = as_rule(rule)
        if sample.loss(self.transform(sample.lists), score) > sample.loss(sample.lists, score):
            self.temperature_, self.offset_ = 1.0, 0.0  # repairs, which are no part of the objective, undid it

    def _transform(self, lists: TopLists) -> TopLists:
        if self.temperature_ == 1.0 and self.offset_ == 0.0:
            return lists
        logs = Logs.of(lists)
        return normalised(lists, logs.listed / self.temperature_, self.offset_ + logs.rest / self.temperature_)

    def _restore(self, state: State) -> None:
        self.temperature_, self.offset_ = state.number("temperature_", 1e-300), state.number("offset_")

    def _describe(self) -> str:
        return f"temperature {self.temperature_:.5g}, rest times e^{self.offset_:.4g}"


class VectorScaling(Recalibrator):
    r"""Vector scaling by rank: log weights :math:`a \log t_r + b_r` for rank r, and :math:`a \log rest + b_0`.

    Fitted by maximum likelihood, a convex problem. Factors by rank may change the order of a list, and put a class
    below the share of an unlisted one: such a list is repaired.

    Parameters
    ----------
    ranks : int, default 10
        Ranks from this one on share an offset.
    ridge : float, default 1.0
        The weight, in cases, of a penalty on the distance to a = 1 and b = 0.

    Attributes
    ----------
    slope_, rest_offset_ : float
        a and :math:`b_0`.
    offsets_ : ndarray
        :math:`b_r` for each rank that occurred.

    References
    ----------
    Guo, Pleiss, Sun and Weinberger (2017), On calibration of modern neural networks, ICML; there for classes.

    Examples
    --------
    >>> VectorScaling().fit([[0.8, 0.2]] * 4, [0, 0, 1, 0]).parameters
    4
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
        """The power, and a factor for each rank that occurred and for the rest."""
        return 2 + len(self.offsets_) if self.is_fitted else 2 + self.ranks

    def _check(self) -> None:
        as_whole(self.ranks, "ranks", 1)
        as_number(self.ridge, "ridge", 0, MOST)

    def _fit(self, sample: Sample) -> None:
        longest = int(sample.lists.sizes.max(initial=0))
        many = min(self.ranks, longest)
        bounds = [(_LEAST_POWER, _LARGEST_POWER)] + [(-_LARGEST_OFFSET, _LARGEST_OFFSET)] * (many + 1)
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

    def _describe(self) -> str:
        return f"power {self.slope_:.4g}, {len(self.offsets_)} ranks, rest times e^{self.rest_offset_:.4g}"
