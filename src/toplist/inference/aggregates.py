"""Exact sums over scored cases, and what is estimated as functions of sums over units.

Sums are kept by group, weighted, and for every two models: frozen, and merged by adding. What a unit contributes to an
estimand is the derivative along the unit's own sums; contributions add up to zero, and the variance of their sum is
that of the estimand (delta method).
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from itertools import combinations_with_replacement
from operator import add
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from toplist._typing import Floats
from toplist.core.kernel import UNIT, Integers, exact_sums
from toplist.errors import TopListError
from toplist.inference.score_matrix import UnitSums
from toplist.scoring.case_scores import CaseScores, Grouping

_FEW = 10  # units; the spread of fewer is not to be relied upon alone


@dataclass(frozen=True, slots=True, eq=False)
class Aggregates:
    """Exact sums over cases; adding two tallies is adding their cases, in any order and any split.

    With K models and R rules, `sums` holds arrays of integers in units of 2**-1074 (counts are plain):

    - (K,): `weight` of the predicted cases; every metric by its name, `thin` (less than half of the mass is listed),
      and `unpenalised` and `empty` (K, R), each times the weight; `invalid_cases` and `unpenalised_infinite` are
      counts;
    - (K, K): `cases` that both predict;
    - (R, K, K), over the cases where both scores are finite: `both`, how many; `w` and `ww`, the sums of weights and
      of their squares, and where there are weights `w3`, `w4` and `w5`, of their higher powers; with x = weight *
      score of the first of the two: `x`, `wx`, `xx`, and `xy` with the second; `infinite`: how often, among the cases
      of both, the score of the first is infinite.

    `clusters` holds, for each cluster, the weight and the (R, K) sums of x.
    """

    cases: int
    sums: Mapping[str, Integers]
    clusters: Mapping[Hashable, tuple[int, Integers]] = field(default_factory=dict)

    def __add__(self, other: Aggregates) -> Aggregates:
        sums = {name: value + other.sums[name] for name, value in self.sums.items()}
        clusters = dict(self.clusters)
        for key, (weight, x) in other.clusters.items():
            mine = clusters.get(key)
            clusters[key] = (weight, x) if mine is None else (mine[0] + weight, mine[1] + x)
        return Aggregates(self.cases + other.cases, sums, clusters)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Aggregates):
            return NotImplemented
        return (
            self.cases == other.cases
            and self.sums.keys() == other.sums.keys()
            and all(np.array_equal(value, other.sums[name]) for name, value in self.sums.items())
            and self.clusters.keys() == other.clusters.keys()
            and all(
                w == other.clusters[key][0] and np.array_equal(x, other.clusters[key][1])
                for key, (w, x) in self.clusters.items()
            )
        )

    __hash__ = None  # type: ignore[assignment]


def merge(*parts: Mapping[Hashable, Aggregates]) -> dict[Hashable, Aggregates]:
    """Tallies by group of all parts together."""
    out: dict[Hashable, Aggregates] = {}
    for part in parts:
        for key, one in part.items():
            out[key] = out[key] + one if key in out else one
    return out


def overall(parts: Mapping[Hashable, Aggregates]) -> Aggregates:
    """All groups together."""
    first, *others = parts.values()
    for other in others:
        first = first + other
    return first


_LARGEST = 1e150  # a score, times its weight, whose square is still a double
_HEAVIEST, _LIGHTEST = 1e60, 1e-60  # weights whose fifth power is a double with all its digits
_POWERS = ("w3", "w4", "w5")  # of weights, which say how many cases of equal weight they count like


def tally(
    scored: Sequence[CaseScores],
    *,
    present: Sequence[NDArray[np.bool_] | None] = (),
    weights: Floats | None = None,
    groups: Grouping | None = None,
    clusters: Grouping | None = None,
) -> dict[Hashable, Aggregates]:
    """Tallies by group of the same cases under several models; `present` says which cases each predicts."""
    if weights is not None:
        _require_powers(weights)
    at = Grouping([None]) if groups is None else groups
    adding = _Adding(at, weights, len(scored[0]))
    there = [None] * len(scored) if not present else [None if p is None or p.all() else p for p in present]
    sums = _singles(adding, scored, there) | _pairs(adding, scored, there)
    for a, one_model in enumerate(scored):
        if one_model.unpenalised is one_model.scores:  # nobody pays: the sums are those of the scores
            for r in range(len(one_model.scores)):
                sums["unpenalised"][:, a, r] = sums["x"][:, r, a, a]
                sums["unpenalised_infinite"][:, a, r] = sums["infinite"][:, r, a, a]
    counts = adding.count(None)
    by_cluster = _by_cluster(scored, weights, at, clusters) if clusters is not None else {}
    return {
        key: Aggregates(int(counts[g]), {name: value[g] for name, value in sums.items()}, by_cluster.get(key, {}))
        for g, key in enumerate(at.keys)
    }


def _require_powers(weights: Floats) -> None:
    if weights.max(initial=0.0) > _HEAVIEST:
        raise TopListError("a weight is above 1e60: scale the weights, only their proportions matter.")
    if (weights[weights > 0] < _LIGHTEST).any():
        raise TopListError("a weight is below 1e-60: scale the weights, only their proportions matter.")


@dataclass(frozen=True, slots=True)
class _Adding:
    """How the cases of a batch are added up: by group, and weighted."""

    groups: Grouping
    weights: Floats | None
    cases: int

    def count(self, mask: NDArray[np.bool_] | None) -> NDArray[np.int64]:
        """Cases by group."""
        if self.groups.codes is None:
            return np.array([self.cases if mask is None else np.count_nonzero(mask)])
        codes = self.groups.codes if mask is None else self.groups.codes[mask]
        return np.bincount(codes, minlength=len(self.groups.keys))

    def weighty(self, mask: NDArray[np.bool_]) -> NDArray[np.int64]:
        """Cases by group that have weight: one without is no case."""
        return self.count(mask if self.weights is None else mask & (self.weights > 0))

    def total(self, column: NDArray[Any], mask: NDArray[np.bool_] | None) -> Integers:
        """The weighted sum of a column by group; whole numbers without weights need no exact sums."""
        if self.weights is None and column.dtype.kind in "iub":
            if mask is not None:
                column = column * mask
            if self.groups.codes is None:
                return _objects([int(column.sum(dtype=np.int64)) * UNIT])
            summed = np.bincount(self.groups.codes, weights=column, minlength=len(self.groups.keys))
            return _objects([int(value) * UNIT for value in summed])
        values = column.astype(np.float64, copy=False)
        values = values if self.weights is None else values * self.weights
        return self.exact([values if mask is None else np.where(mask, values, 0.0)])[:, 0]

    def finite_total(self, column: Floats, mask: NDArray[np.bool_] | None) -> Integers:
        """The same of the finite values of a column, which often is one number for all cases."""
        if self.weights is None and column.strides == (0,) and len(column):
            value = float(column[0]) if np.isfinite(column[0]) else 0.0
            one = exact_sums(np.array([[value]]))[0, 0]
            return _objects([count * one for count in self.count(mask).tolist()])
        return self.total(np.where(np.isfinite(column), column, 0.0), mask)

    def exact(self, columns: Sequence[Floats], products: Sequence[tuple[int, int]] = (), rows: Any = None) -> Integers:
        """Exact sums by group, of all rows or of some."""
        codes = self.groups.codes
        matrix = np.array(columns) if rows is None else np.array([c[rows] for c in columns])
        return exact_sums(
            matrix, products, codes if codes is None or rows is None else codes[rows], len(self.groups.keys)
        )


def _objects(values: list[int]) -> Integers:
    out = np.empty(len(values), object)
    out[:] = values
    return out


def _singles(adding: _Adding, scored: Sequence[CaseScores], there: Sequence[Any]) -> dict[str, Integers]:
    """Sums over the cases of one model."""
    one = np.ones(adding.cases, np.int8)
    out: dict[str, list[Any]] = {}
    for one_model, mask in zip(scored, there, strict=True):
        add: Any = lambda column, mask=mask: adding.total(column, mask)  # noqa: E731
        nobody = one_model.unpenalised is one_model.scores  # pays a penalty: see `tally`
        unpenalised = np.zeros((len(one_model.scores), 0)) if nobody else one_model.unpenalised
        finite = np.isfinite(unpenalised)
        plain = unpenalised if finite.all() else np.where(finite, unpenalised, 0.0)
        kept = one_model.invalid if mask is None else one_model.invalid * mask
        found = {
            "weight": add(one),
            **{name: add(column) for name, column in one_model.metrics.items()},
            "thin": add((one_model.metrics["mean_mass"] < 0.5).view(np.int8)),
            "unpenalised": _none(adding, plain) if nobody else _stack([add(column) for column in plain], adding),
            "empty": _stack([adding.finite_total(column, mask) for column in one_model.empty], adding),
            "invalid_cases": adding.count(kept.astype(bool)).astype(object),
            "unpenalised_infinite": _none(adding, plain)
            if nobody
            else _stack([adding.weighty(~ok if mask is None else ~ok & mask).astype(object) for ok in finite], adding),
        }
        for name, value in found.items():
            out.setdefault(name, []).append(value)
    return {name: np.stack(values, axis=1) for name, values in out.items()}


def _none(adding: _Adding, columns: Floats) -> Integers:
    """No sum yet for any of the columns."""
    return np.zeros((len(adding.groups.keys), len(columns)), object)


def _stack(columns: list[Integers], adding: _Adding) -> Integers:
    return np.stack(columns, axis=1) if columns else np.zeros((len(adding.groups.keys), 0), object)


def _pairs(adding: _Adding, scored: Sequence[CaseScores], there: Sequence[Any]) -> dict[str, Integers]:
    """Sums over the cases of two models, for every two of them."""
    g, k, rules = len(adding.groups.keys), len(scored), len(scored[0].scores)
    out = {name: np.zeros((g, rules, k, k), object) for name in ("both", "w", "ww", "x", "wx", "xx", "xy", "infinite")}
    if adding.weights is not None:
        out |= {name: np.zeros((g, rules, k, k), object) for name in _POWERS}
    out["cases"] = np.zeros((g, k, k), object)
    for a, b in combinations_with_replacement(range(k), 2):
        mask = there[b] if there[a] is None else there[a] if there[b] is None else there[a] & there[b]
        out["cases"][:, a, b] = out["cases"][:, b, a] = adding.count(mask)
    for r in range(rules):
        scores = [one_model.scores[r] for one_model in scored]
        fine = [
            np.isfinite(s) if mask is None else np.isfinite(s) & mask for s, mask in zip(scores, there, strict=True)
        ]
        complete = np.logical_and.reduce(fine)
        x = [np.where(ok, s, 0.0) if not ok.all() else s for s, ok in zip(scores, fine, strict=True)]
        x = x if adding.weights is None else [column * adding.weights for column in x]
        if any(column.max(initial=0.0) > _LARGEST or column.min(initial=0.0) < -_LARGEST for column in x):
            raise TopListError(
                "a score or weight is above 1e150: choose a smaller penalty (or an infinite one) or scale."
            )
        rows = None if complete.all() else np.flatnonzero(complete)
        _add_complete(adding, x, rows, {name: value[:, r] for name, value in out.items() if name != "cases"})
        if rows is not None:
            rest = np.flatnonzero(~complete)
            _add_incomplete(adding, x, fine, there, scores, rest, {n: v[:, r] for n, v in out.items() if n != "cases"})
    return out


def _powers(w: Floats) -> tuple[Floats, Floats, Floats]:
    """The third to the fifth, as products: a power of two then changes no digit."""
    square = w * w
    return square * w, square * square, square * square * w


def _add_complete(adding: _Adding, x: list[Floats], rows: Any, to: dict[str, Integers]) -> None:
    """Cases that every model has, with finite scores: one sum each serves all pairs."""
    k, w = len(x), adding.weights
    pairs = list(combinations_with_replacement(range(k), 2))
    columns, products = list(x), list(pairs)
    if w is not None:
        columns = [*x, w, *_powers(w)]
        products += [(a, k) for a in range(k)] + [(k, k)]
    made = adding.exact(columns, products, rows)
    first, grams = made[:, :k], made[:, len(columns) :]
    which = np.ones(adding.cases, bool) if rows is None else np.bincount(rows, minlength=adding.cases).astype(bool)
    count = adding.weighty(which)
    to["both"] += count[:, None, None].astype(object)
    weight = count.astype(object) * UNIT if w is None else made[:, k]
    to["w"] += weight[:, None, None]
    to["ww"] += weight[:, None, None] if w is None else made[:, -1][:, None, None]
    for at, name in enumerate(() if w is None else _POWERS, k + 1):
        to[name] += made[:, at][:, None, None]
    to["x"] += first[:, :, None]
    to["wx"] += first[:, :, None] if w is None else grams[:, len(pairs) : len(pairs) + k][:, :, None]
    for p, (a, b) in enumerate(pairs):
        to["xy"][:, a, b] += grams[:, p]
        if a != b:
            to["xy"][:, b, a] += grams[:, p]
        else:
            to["xx"][:, a, :] += grams[:, p][:, None]


def _add_incomplete(
    adding: _Adding,
    x: list[Floats],
    fine: list[NDArray[np.bool_]],
    there: Sequence[Any],
    scores: list[Floats],
    rows: NDArray[np.intp],
    to: dict[str, Integers],
) -> None:
    """Cases that some model lacks, or scores infinitely: every pair has its own."""
    k, w = len(x), np.ones(adding.cases) if adding.weights is None else adding.weights
    for a, b in combinations_with_replacement(range(k), 2):
        both = fine[a] & fine[b]
        xa, xb, ww = (np.where(both, column, 0.0) for column in (x[a], x[b], w))
        powers = {} if adding.weights is None else dict(zip(_POWERS, _powers(ww), strict=True))
        made = adding.exact([xa, xb, ww, *powers.values()], [(0, 0), (1, 1), (0, 1), (2, 0), (2, 1), (2, 2)], rows)
        sums = dict(zip(("a", "b", "w", *powers, "aa", "bb", "ab", "wa", "wb", "ww"), made.T, strict=True))
        inside = np.zeros(adding.cases, bool)
        inside[rows] = True
        for i, j, own in ((a, b, "a"), (b, a, "b")) if a != b else ((a, a, "a"),):
            common = inside & (True if there[i] is None else there[i]) & (True if there[j] is None else there[j])
            to["both"][:, i, j] += adding.weighty(inside & both)
            to["w"][:, i, j] += sums["w"]
            for name in ("ww", *powers):
                to[name][:, i, j] += sums[name]
            to["x"][:, i, j] += sums[own]
            to["wx"][:, i, j] += sums["w" + own]
            to["xx"][:, i, j] += sums[own * 2]
            to["xy"][:, i, j] += sums["ab"]
            to["infinite"][:, i, j] += adding.weighty(common & np.isinf(scores[i]))


def _by_cluster(
    scored: Sequence[CaseScores], weights: Floats | None, groups: Grouping, clusters: Grouping
) -> dict[Hashable, dict[Hashable, tuple[int, Integers]]]:
    """The weight and the sums of every cluster, by group."""
    width = len(clusters.keys)
    own = np.zeros(len(scored[0]), np.int64) if clusters.codes is None else clusters.codes.astype(np.int64)
    codes = own if groups.codes is None else groups.codes.astype(np.int64) * width + own
    present, local = np.unique(codes, return_inverse=True)
    w = np.ones(len(scored[0])) if weights is None else weights
    columns = [np.where(np.isfinite(s), s, 0.0) * w for one_model in scored for s in one_model.scores]
    made = exact_sums(np.array([w, *columns]), (), local.astype(np.int32), len(present))
    shape = (len(scored), len(scored[0].scores))
    out: dict[Hashable, dict[Hashable, tuple[int, Integers]]] = {}
    for code, row in zip(present.tolist(), made, strict=True):
        x = row[1:].reshape(shape).T
        out.setdefault(groups.keys[code // width], {})[clusters.keys[code % width]] = (row[0], x)
    return out


class Estimand(ABC):
    """A smooth function of totals."""

    __slots__ = ()

    @abstractmethod
    def value(self, totals: UnitSums) -> Floats:
        """One entry for each column of the totals."""

    @abstractmethod
    def contributions(self, units: UnitSums) -> Floats:
        """One entry for each unit."""

    @abstractmethod
    def gradient(self, units: UnitSums, totals: UnitSums) -> tuple[Floats, Floats]:
        """Sums of units (sums, units) and the derivatives along them at some totals (sums, totals).

        Products of the two, added up over sums, are the contributions of the units to each of the totals.
        """

    @abstractmethod
    def weights(self, units: UnitSums) -> Floats:
        """How much each unit counts: those without any weight are no units."""

    @abstractmethod
    def size(self, units: UnitSums) -> float:
        """The largest number that a contribution is a difference of: what is far smaller than it is rounding."""

    def effective(self, units: UnitSums) -> float:
        """By how many units the quantity goes, where some of its parts go by fewer than others."""
        return float(np.count_nonzero(self.weights(units) > 0))

    def spread(self, units: UnitSums) -> Floats:
        """Contributions that have the spread of all units, of which the quantity takes means of some."""
        return self.contributions(units)

    def unseen(self, units: UnitSums) -> float:
        """A standard error that contributions cannot show; infinite where nothing tells how large it is."""
        return 0.0


class Totals(Protocol):
    """Sums over the cases of every two models: floats, one for each unit or resample, or exact integers."""

    def x(self, a: int, b: int) -> Any:
        """Weighted scores of a, on the cases of a and b."""
        ...

    def w(self, a: int, b: int) -> Any:
        """Weights of the cases of a and b."""
        ...

    def empty(self, a: int) -> Any:
        """Weighted scores of the empty list, on the cases of a."""
        ...


@dataclass(frozen=True, slots=True)
class Ratio(Estimand):
    """One sum over another, N / D: what a unit contributes is (n - N / D d) / D.

    Numerator and denominator are linear in (score of a, score of b, weight, score of the empty list).
    """

    a: int
    b: int | None = None
    above: ClassVar[tuple[int, ...]]
    below: ClassVar[tuple[int, ...]]

    @property
    def other(self) -> int:
        """The second model, or the first again."""
        return self.a if self.b is None else self.b

    def parts(self, totals: Totals) -> tuple[Any, Any]:
        """What is divided by what."""
        a, b = self.a, self.other
        columns: tuple[Callable[[], Any], ...] = (
            lambda: totals.x(a, b),
            lambda: totals.x(b, a),
            lambda: totals.w(a, b),
            lambda: totals.empty(a),
        )
        above, below = (
            reduce(add, (factor * column() for factor, column in zip(factors, columns, strict=True) if factor))
            for factors in (self.above, self.below)
        )
        return above, below

    def second_moment(self, by_above: int, by_below: int, moments: Sequence[Sequence[int]]) -> int:
        """The sum of (p n - q d)^2 over cases, from the sums of products of (score of a, score of b, weight)."""
        factors = [by_above * n - by_below * d for n, d in zip(self.above[:3], self.below[:3], strict=True)]
        return sum(
            p * q * moment
            for p, row in zip(factors, moments, strict=True)
            for q, moment in zip(factors, row, strict=True)
            if p and q
        )

    def value(self, totals: UnitSums) -> Floats:
        """See `Estimand`."""
        above, below = self.parts(totals)
        found: Floats = above / below
        return found

    def contributions(self, units: UnitSums) -> Floats:
        """See `Estimand`."""
        (above, below), (_, whole) = self.parts(units), self.parts(units.all)
        found: Floats = (above - self.value(units.all) * below) / whole
        return found

    def gradient(self, units: UnitSums, totals: UnitSums) -> tuple[Floats, Floats]:
        """See `Estimand`."""
        value, (above, below) = self.value(units.all), self.parts(totals)
        n, d = self.parts(units)
        return np.stack([n - value * d, d]), np.stack(
            [1 / below, (value - above / below) / below]
        )  # no large sums cancel

    def weights(self, units: UnitSums) -> Floats:
        """See `Estimand`."""
        return units.w(self.a, self.other)

    def size(self, units: UnitSums) -> float:
        """See `Estimand`."""
        (above, below), (_, whole) = self.parts(units), self.parts(units.all)
        scores = np.abs(units.x(self.a, self.other)) + np.abs(units.x(self.other, self.a))
        return float((np.abs(above) + np.abs(self.value(units.all) * below) + scores).max() / abs(float(whole[0])))


class Mean(Ratio):
    """The mean score of a."""

    __slots__ = ()
    above, below = (1, 0, 0, 0), (0, 0, 1, 0)


class Difference(Ratio):
    """The mean of score a minus score b."""

    __slots__ = ()
    above, below = (1, -1, 0, 0), (0, 0, 1, 0)


class Skill(Ratio):
    """One minus the mean of a over that of the empty list: what it saves of the score of the empty list."""

    __slots__ = ()
    above, below = (-1, 0, 0, 1), (0, 0, 0, 1)


class BaselineSkill(Ratio):
    """One minus the mean of a over that of b, on the cases of both: what it saves of the score of b."""

    __slots__ = ()
    above, below = (-1, 1, 0, 0), (0, 1, 0, 0)


@dataclass(frozen=True, slots=True)
class LogRelative(Estimand):
    """The mean log ratio of the score of a to those of others, itself included, each on the cases of both."""

    a: int
    others: tuple[int, ...]

    def value(self, totals: UnitSums) -> Floats:
        """See `Estimand`: of those of the others who share a case with a in a resample."""
        ratios = np.stack([np.log(totals.x(self.a, b) / totals.x(b, self.a)) for b in self.others])
        there = np.stack([totals.w(self.a, b) > 0 for b in self.others])
        found: Floats = np.where(there, ratios, 0.0).sum(axis=0) / there.sum(axis=0)
        return found

    def contributions(self, units: UnitSums) -> Floats:
        """See `Estimand`."""
        return sum((self._against(b, units) for b in self.others), np.zeros(1)) / len(self.others)

    def _against(self, b: int, units: UnitSums) -> Floats:
        a, all_ = self.a, units.all
        return units.x(a, b) / all_.x(a, b) - units.x(b, a) / all_.x(b, a)

    def gradient(self, units: UnitSums, totals: UnitSums) -> tuple[Floats, Floats]:
        """See `Estimand`: of those of the others who share a case with a in a resample."""
        met = [b for b in self.others if b != self.a]
        there = np.stack([totals.w(self.a, b) > 0 for b in met])
        count = 1 + there.sum(axis=0)  # with itself
        ours = [np.where(has, 1 / (totals.x(self.a, b) * count), 0.0) for b, has in zip(met, there, strict=True)]
        theirs = [np.where(has, -1 / (totals.x(b, self.a) * count), 0.0) for b, has in zip(met, there, strict=True)]
        columns = [*(units.x(self.a, b) for b in met), *(units.x(b, self.a) for b in met)]
        return np.stack(columns), np.stack([*ours, *theirs])

    def weights(self, units: UnitSums) -> Floats:
        """See `Estimand`."""
        return units.w(self.a, self.a)

    def size(self, units: UnitSums) -> float:
        """See `Estimand`."""
        a, all_ = self.a, units.all
        return max(float((units.x(a, b) / all_.x(a, b)).max()) for b in self.others)

    def effective(self, units: UnitSums) -> float:
        """See `Estimand`: one over the sum of squared shares of units, each ratio resting on those that both have."""
        met = [b for b in self.others if b != self.a]
        rests = ((units.w(self.a, b) > 0) / self._shared(b, units) for b in met)
        shares = sum(rests, np.zeros(1)) / max(len(met), 1)
        return float(1.0 / (shares @ shares))

    def spread(self, units: UnitSums) -> Floats:
        """See `Estimand`: what U units show of a ratio is short by U / (U - 1), whatever the number of all is."""
        every = int(np.count_nonzero(self.weights(units) > 0))
        found = np.zeros(units.sums.shape[1])
        for b in self.others:
            both = self._shared(b, units)
            if both > 1:
                found += np.sqrt(both / (both - 1) * (every - 1) / every) * self._against(b, units)
        return found / len(self.others)

    def unseen(self, units: UnitSums) -> float:
        """See `Estimand`: a ratio on one unit shows no spread, and on a few units perhaps too little by chance.

        On fewer than ten units, and half of those of a, it has at least the spread of a unit in all ratios.
        """
        every = int(np.count_nonzero(self.weights(units) > 0))
        shared = {b: self._shared(b, units) for b in self.others if b != self.a}
        few = {b: both for b, both in shared.items() if both < _FEW and 2 * both <= every}
        squares = {b: float(np.square(self._against(b, units)).sum()) for b, both in shared.items() if both > 1}
        if not few:
            return 0.0
        freedom = sum(shared[b] - 1 for b in squares)
        if not freedom:
            return math.inf
        usual = sum(shared[b] ** 2 * square for b, square in squares.items()) / freedom  # the variance of one unit
        lacking = (usual / both - (both / (both - 1) * squares[b] if both > 1 else 0.0) for b, both in few.items())
        return math.sqrt(sum(max(one, 0.0) for one in lacking)) / len(self.others)

    def _shared(self, b: int, units: UnitSums) -> int:
        return int(np.count_nonzero(units.w(self.a, b) > 0))
