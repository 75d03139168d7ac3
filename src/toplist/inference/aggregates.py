"""Scored cases, added up and case by case.

Exact sums are kept by group, weighted, and for every two models: frozen, and merged by adding. Scores side by side are
for what sums alone cannot say, such as how neighbours in time depend on each other.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import combinations_with_replacement
from typing import Any

import numpy as np
from numpy.typing import NDArray

from toplist._text import argument
from toplist._typing import Bools, Codes, Floats
from toplist.core.kernel import FIXED_BITS, FIXED_MOST, UNIT, Integers, exact_sums, fixed_sums, mix
from toplist.errors import TopListError
from toplist.inference.codec import encoded, from_bytes, to_bytes
from toplist.scoring.case_scores import CaseScores, Grouping, metrics_for

Keys = NDArray[np.uint64]


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

    Where units are to be drawn, there are sums over U sets of units, which a hash of their ids makes at random, in
    units of 2**-60: `set_x` (R, K, U), `set_w` (1, U) and `set_empty` (R, 1, U), of x, the weight and the weighted
    score of the empty list; where every two models have cases of their own, `set_x` (R, K * K, U) and `set_w`
    (R, K * (K + 1) / 2, U) over the cases of both, and `set_empty` (R, K, U). See `UnitSums`.
    """

    cases: int
    sums: Mapping[str, Integers]
    clusters: Mapping[Hashable, tuple[int, Integers]] = field(default_factory=dict)

    def __add__(self, other: Aggregates) -> Aggregates:
        if self.sums.keys() != other.sums.keys() or self.sums["x"].shape != other.sums["x"].shape:
            raise TopListError("these sums are of different models, rules, metrics or weights: they cannot be added.")
        sums = {name: value + other.sums[name] for name, value in self.sums.items()}
        clusters = dict(self.clusters)
        for key, (weight, x) in other.clusters.items():
            mine = clusters.get(key)
            clusters[key] = (weight, x) if mine is None else (mine[0] + weight, mine[1] + x)
        return Aggregates(self.cases + other.cases, sums, clusters)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Aggregates):
            return NotImplemented
        return encoded(self) == encoded(other)

    __hash__ = None  # type: ignore[assignment]

    def only(self, rule: int, a: int) -> Aggregates:
        """The sums over the cases of one model under one rule."""
        r, k = slice(rule, rule + 1), slice(a, a + 1)
        by_rule = ("unpenalised", "empty", "unpenalised_infinite")
        at = {1: (k,), 2: (k, k), 3: (r, k, k)}
        return Aggregates(
            self.cases,
            {name: value[(k, r) if name in by_rule else at[value.ndim]] for name, value in self.sums.items()},
        )

    def to_bytes(self) -> bytes:
        """These sums as bytes, for another process or a file; equal sums have equal bytes."""
        return to_bytes(self)

    @classmethod
    def from_bytes(cls, data: bytes, source: str = "memory") -> Aggregates:
        """The sums that `to_bytes` made bytes of.

        Raises
        ------
        FileError
            If the bytes are damaged, or are no sums; it names the source.
        """
        return from_bytes(data, cls, source)


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


LARGEST = 1e150  # a score, times its weight, whose square is still a double
_HEAVIEST, _LIGHTEST = 1e60, 1e-60  # weights whose fifth power is a double with all its digits
POWERS = ("w3", "w4", "w5")  # of weights, which say how many cases of equal weight they count like


def tally(
    scored: Sequence[CaseScores],
    *,
    present: Sequence[NDArray[np.bool_] | None] = (),
    weights: Floats | None = None,
    groups: Grouping | None = None,
    clusters: Grouping | None = None,
    keys: Keys | None = None,
    pairwise: bool = False,
) -> dict[Hashable, Aggregates]:
    """Tallies by group of the same cases under several models.

    Parameters
    ----------
    scored : sequence of CaseScores
        One for each model.
    present : sequence of boolean array-likes, optional
        Which cases each model predicts; without, all of them predict all.
    weights, groups, clusters : optional
        What is known of the cases.
    keys : array of uint64, optional
        A hash of the id of each case, or of its cluster where cases of a cluster are drawn together: with it, sums are
        kept for a bootstrap of sets of units.
    pairwise : bool, default False
        Whether every two models have cases of their own, here or in what these sums are added to.
    """
    if weights is not None:
        _require_powers(weights)
    at = Grouping([None]) if groups is None else groups
    adding = _Adding(at, weights, len(scored[0]))
    there = [None] * len(scored) if not present else [None if p is None or p.all() else p for p in present]
    sums = _singles(adding, scored, there) | _pairs(adding, scored, there)
    if keys is not None:
        sums |= _by_set(adding, scored, there, keys, pairwise=pairwise)
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
        present = np.ones(adding.cases, bool) if mask is None else mask
        finite = np.isfinite(one_model.unpenalised)
        columns = {"weight": one, **one_model.metrics, "thin": (one_model.metrics["mean_mass"] < 0.5).view(np.int8)}
        sums: dict[str, Any] = {name: adding.total(column, mask) for name, column in columns.items()}
        sums["invalid_cases"] = adding.count(one_model.invalid.astype(bool) & present).astype(object)
        by_rule = {
            "unpenalised": [adding.finite_total(column, mask) for column in one_model.unpenalised],
            "unpenalised_infinite": [adding.weighty(~ok & present).astype(object) for ok in finite],
            "empty": [adding.finite_total(column, mask) for column in one_model.empty],
        }
        empty = np.zeros((len(adding.groups.keys), 0), object)  # where there are no rules
        sums |= {name: np.stack(values, axis=1) if values else empty for name, values in by_rule.items()}
        for name, value in sums.items():
            out.setdefault(name, []).append(value)
    return {name: np.stack(values, axis=1) for name, values in out.items()}


def _pairs(adding: _Adding, scored: Sequence[CaseScores], there: Sequence[Any]) -> dict[str, Integers]:
    """Sums over the cases of two models, for every two of them."""
    g, k, rules, w = len(adding.groups.keys), len(scored), len(scored[0].scores), adding.weights
    names = ("both", "w", "ww", "x", "wx", "xx", "xy", "infinite", *(() if w is None else POWERS))
    out = {name: np.zeros((g, rules, k, k), object) for name in names}
    out["cases"] = np.zeros((g, k, k), object)
    pairs = list(combinations_with_replacement(range(k), 2))
    common = {(a, b): there[b] if there[a] is None else there[a] if there[b] is None else there[a] & there[b]
              for a, b in pairs}  # fmt: skip
    for (a, b), mask in common.items():
        out["cases"][:, a, b] = out["cases"][:, b, a] = adding.count(mask)
    for r in range(rules):
        scores = [one_model.scores[r] for one_model in scored]
        fine = [
            np.isfinite(s) if mask is None else np.isfinite(s) & mask for s, mask in zip(scores, there, strict=True)
        ]
        complete = np.logical_and.reduce(fine)
        x = [np.where(ok, s, 0.0) if not ok.all() else s for s, ok in zip(scores, fine, strict=True)]
        x = x if w is None else [column * w for column in x]
        if any(column.max(initial=0.0) > LARGEST or column.min(initial=0.0) < -LARGEST for column in x):
            raise TopListError(
                "a score or weight is above 1e150: choose a smaller penalty (or an infinite one) or scale."
            )
        for name, value in _moments(adding, x, None if complete.all() else complete).items():
            out[name][:, r] += value
        if complete.all():
            continue
        for (a, b), mask in common.items():  # of cases that some model lacks, or scores infinitely, each has its own
            own = [a, b] if a != b else [a]
            for name, value in _moments(adding, [x[i] for i in own], fine[a] & fine[b] & ~complete).items():
                square = np.broadcast_to(value, (g, len(own), len(own)))
                out[name][:, r, a, b] += square[:, 0, -1]
                if a != b:
                    out[name][:, r, b, a] += square[:, 1, 0]
            for i, j in {(a, b), (b, a)}:
                infinite = np.isinf(scores[i])
                out["infinite"][:, r, i, j] += adding.weighty(infinite if mask is None else infinite & mask)
    return out


def _moments(adding: _Adding, x: list[Floats], which: Bools | None) -> dict[str, Integers]:
    """Sums (groups, models, models) over cases that all these models have with finite scores: one serves all pairs."""
    k, w = len(x), adding.weights
    pairs = list(combinations_with_replacement(range(k), 2))
    columns, products = list(x), list(pairs)
    if w is not None:  # the third to the fifth power as products: a power of two then changes no digit
        square = w * w
        columns += [w, square * w, square * square, square * square * w]
        products += [(a, k) for a in range(k)] + [(k, k)]
    sums = adding.exact(columns, products, None if which is None else np.flatnonzero(which))
    count = adding.weighty(np.ones(adding.cases, bool) if which is None else which).astype(object)
    first, (of_pairs, weighted) = sums[:, :k], np.split(sums[:, len(columns) :], [len(pairs)], axis=1)
    xy = np.zeros((len(sums), k, k), object)
    for p, (a, b) in enumerate(pairs):
        xy[:, a, b] = xy[:, b, a] = of_pairs[:, p]
    weight = count * UNIT if w is None else sums[:, k]
    alike = {"both": count, "w": weight, "ww": weight if w is None else weighted[:, k]}
    alike |= {} if w is None else {name: sums[:, at] for at, name in enumerate(POWERS, k + 1)}
    by_first = {"x": first, "wx": first if w is None else weighted[:, :k], "xx": np.diagonal(xy, axis1=1, axis2=2)}
    return (
        {name: value[:, None, None] for name, value in alike.items()}
        | {name: value[:, :, None] for name, value in by_first.items()}
        | {"xy": xy}
    )


SETS = 1024  # of units, for a bootstrap
_SET_OF = np.uint64(64 - 10)  # the first ten bits of a hash are the number of a set


def _by_set(
    adding: _Adding, scored: Sequence[CaseScores], there: Sequence[Any], keys: Keys, *, pairwise: bool
) -> dict[str, Integers]:
    """Sums over sets of units, by group."""
    k, rules, g = len(scored), len(scored[0].scores), len(adding.groups.keys)
    w = np.ones(adding.cases) if adding.weights is None else adding.weights
    x: list[Floats] = []
    weights: list[Floats] = [] if pairwise else [w]
    empty: list[Floats] = []
    for r in range(rules):
        fine = [
            np.isfinite(one.scores[r]) & (True if own is None else own) for one, own in zip(scored, there, strict=True)
        ]
        own = [np.where(ok, one.scores[r], 0.0) * w for ok, one in zip(fine, scored, strict=True)]
        expected = [
            np.where(np.isfinite(one.empty[r]), one.empty[r], 0.0) * w for one in scored[: k if pairwise else 1]
        ]
        if not pairwise:
            x, empty = x + own, empty + expected
            continue
        x += [np.where(fine[b], own[a], 0.0) for a in range(k) for b in range(k)]
        weights += [np.where(fine[a] & fine[b], w, 0.0) for a, b in combinations_with_replacement(range(k), 2)]
        empty += [np.where(ok, column, 0.0) for ok, column in zip(fine, expected, strict=True)]
    columns = np.array([*x, *weights, *empty])
    if max(columns.max(initial=0.0), -columns.min(initial=0.0)) > FIXED_MOST:
        raise TopListError(
            "a score times its weight is above 1e9, too large for a Poisson bootstrap: scale the weights, or choose a "
            "smaller penalty."
        )
    codes = (mix(keys) >> _SET_OF).astype(np.int32)
    if adding.groups.codes is not None:
        codes += SETS * adding.groups.codes.astype(np.int32)
    made = fixed_sums(columns, codes, g * SETS).reshape(g, SETS, len(columns)).swapaxes(1, 2)
    at = np.cumsum([len(x), len(weights)])
    return {
        "set_x": made[:, : at[0]].reshape(g, rules, -1, SETS),
        "set_w": made[:, at[0] : at[1]].reshape((g, rules, -1, SETS) if pairwise else (g, 1, SETS)),
        "set_empty": made[:, at[1] :].reshape(g, rules, -1, SETS),
    }


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


@dataclass(frozen=True, slots=True, eq=False)
class ScoreMatrix:
    """The scores of all models under all rules, in the order of the truth.

    A unit is what may be taken as a whole: a case, a cluster, or all cases of one time point. Where `ordered`, the
    codes of units rise with time; there may be clusters across time points then.
    """

    scores: Floats  # (cases, rules, models); NaN where a model lacks the case
    empty: Floats  # (cases or 1, rules): what the empty list scores in expectation
    weights: Floats | None = None
    units: Codes | None = None  # None: every case is one
    ordered: bool = False
    groups: Codes | None = None
    keys: tuple[Any, ...] = ()  # of the groups
    clusters: Codes | None = None  # beside units in time: what else makes cases depend on each other

    def __len__(self) -> int:
        return len(self.scores)

    @property
    def unit(self) -> str:
        """What a unit is called."""
        return "case" if self.units is None else "time point" if self.ordered else "cluster"

    @property
    def count(self) -> int:
        """How many units there are."""
        return len(self) if self.units is None else len(np.unique(self.units))

    def group(self, key: Any) -> ScoreMatrix:
        """The cases of one group."""
        if self.groups is None:
            return self
        return self.some(np.flatnonzero(self.groups == self.keys.index(key)))

    def some(self, at: NDArray[np.intp]) -> ScoreMatrix:
        """Some of the cases, in this order."""
        empty = self.empty if len(self.empty) == 1 else self.empty[at]
        weights = None if self.weights is None else self.weights[at]
        units, clusters = (None if codes is None else codes[at] for codes in (self.units, self.clusters))
        return ScoreMatrix(self.scores[at], empty, weights, units, self.ordered, clusters=clusters)

    def tallies(self) -> dict[Hashable, Aggregates]:
        """Exact sums of the scores under the first rule, by group; by cluster where time does not matter."""
        n, missing = len(self), np.isnan(self.scores[:, 0].T)
        scores, nothing = np.where(missing, 0.0, self.scores[:, 0].T), np.broadcast_to(0.0, (1, n))
        metrics = {metric.name: np.zeros(n, np.int8) for metric in metrics_for(())}  # of the lists, which are not here
        sheets = [CaseScores(("",), column, column, nothing, metrics) for column in scores[:, None]]
        groups = None if self.groups is None else self.groups.astype(np.int32)
        return tally(
            sheets,
            present=list(~missing),
            weights=self.weights,
            groups=Grouping(self.keys, groups) if self.keys else None,
            clusters=None if self.units is None or self.ordered else Grouping.of(self.units),
        )

    def by_cluster(self) -> ScoreMatrix:
        """The same with clusters as the units, whatever the time."""
        return replace(self, units=self.clusters, ordered=False, clusters=None)

    def totals(self, rule: int) -> UnitSums:
        """What the cases of each unit add up to, under one rule.

        Where cases do not follow each other, the order in which they come does not show, neither in the last digits of
        sums nor in which of them are drawn: they are put in an order that depends on their numbers alone.
        """
        scores = self.scores[:, rule]
        w = np.ones(len(scores)) if self.weights is None else self.weights
        empty = np.broadcast_to(self.empty[:, rule], len(scores))
        units = self.units
        if units is not None or not self.ordered:
            keys = _keys(scores, w, empty)
            at, units = _order(keys, _own(scores, keys), units, timed=self.ordered)
            scores, w, empty = scores[at], w[at], empty[at]
        fine = np.isfinite(scores)
        count, codes = len(scores), None
        if units is not None:
            found, codes = np.unique(units, return_inverse=True)
            count = len(found)
        x = np.where(fine, scores, 0.0) * w[:, None]
        empty = np.where(np.isfinite(empty), empty, 0.0) * w

        def add(column: Floats) -> Floats:
            return column if codes is None else np.bincount(codes, column, count).astype(np.float64)

        k = scores.shape[1]
        if fine.all():
            sums = [add(x[:, a]) for a in range(k)]
            return UnitSums(np.stack([*sums, add(w), add(empty)]), k, complete=True)
        out = UnitSums(np.empty((k * k + k * (k + 1) // 2 + k, count)), k, complete=False)
        for a in range(k):
            for b in range(k):
                both = fine[:, a] & fine[:, b]
                out.x(a, b)[:] = add(np.where(both, x[:, a], 0.0))
                if a <= b:
                    out.w(a, b)[:] = add(np.where(both, w, 0.0))
            out.empty(a)[:] = add(np.where(fine[:, a], empty, 0.0))
        return out


def _keys(scores: Floats, *columns: Floats) -> Keys:
    """A number for each case, mixed from what it has: which model has which score does not show, nor how often."""
    found = np.sort(np.where(np.isnan(scores), np.nan, scores + 0.0), axis=1)
    new = np.ones(found.shape, bool)
    new[:, 1:] = found[:, 1:] != found[:, :-1]
    new &= ~np.isnan(found)
    mixed = np.zeros(len(scores), np.uint64)
    for column, there in (*zip(found.T, new.T, strict=True), *((column + 0.0, True) for column in columns)):
        mixed = np.where(there, mix(mixed ^ np.ascontiguousarray(column).view(np.uint64)), mixed)
    return mixed


def _own(scores: Floats, keys: Keys) -> Keys:
    """What tells cases with the same key apart: which model has which score, models in the order of all they have."""
    own = mix(keys[:, None] ^ np.where(np.isnan(scores), np.nan, scores + 0.0).view(np.uint64))
    mixed = np.zeros(len(scores), np.uint64)
    for a in np.argsort(own.sum(axis=0), kind="stable"):
        mixed = mix(mixed ^ own[:, a])
    return mixed


def _order(keys: Keys, own: Keys, units: Codes | None, *, timed: bool) -> tuple[NDArray[np.intp], Codes | None]:
    """Cases by unit and key, and the numbers of their units: by time, or else by the least key of their cases.

    Where keys are the same, what is their own decides; of clusters, what all their cases have.
    Neighbours are then no more alike than others, so that they may be taken together.
    """
    if units is None:
        return np.lexsort((own, keys)), None
    at = np.lexsort((own, keys, units))
    starts = np.flatnonzero(np.diff(units[at], prepend=units[at][:1] - 1))
    sizes = np.diff(starts, append=len(at))
    rank = np.arange(len(starts))
    if not timed:
        rank[np.lexsort((np.add.reduceat(own[at], starts), keys[at][starts]))] = np.arange(len(starts))
    return at, np.repeat(rank, sizes)


@dataclass(frozen=True, eq=False)
class UnitSums:
    """Weighted sums of scores over the cases of every two models, one column for each unit, or for each resample.

    Where all models have all cases and no score is infinite, every pair has the same cases, and fewer sums do.
    """

    sums: Floats  # (sums, units)
    models: int
    complete: bool

    def x(self, a: int, b: int) -> Floats:
        """Weighted scores of a, on the cases of a and b."""
        column: Floats = self.sums[a if self.complete else a * self.models + b]
        return column

    def w(self, a: int, b: int) -> Floats:
        """Weights of the cases of a and b."""
        k, low, high = self.models, min(a, b), max(a, b)
        column: Floats = self.sums[k if self.complete else k * k + low * k - low * (low + 1) // 2 + high]
        return column

    def empty(self, a: int) -> Floats:
        """Weighted scores of the empty list, on the cases of a."""
        k = self.models
        column: Floats = self.sums[k + 1 if self.complete else k * k + k * (k + 1) // 2 + a]
        return column

    @classmethod
    def of_sets(cls, tally: Aggregates, rule: int) -> UnitSums:
        """The sums over sets of units that a tally has under one rule."""
        if "set_x" not in tally.sums:
            raise TopListError(
                f"{argument('method', 'poisson')} is for leaderboards, of one run or of merged parts: use "
                f"{argument('method', 'bootstrap')} here."
            )
        x, w, empty = (tally.sums[name] for name in ("set_x", "set_w", "set_empty"))
        parts = (x[rule], w[rule] if w.ndim == 3 else w, empty[rule])
        sums = (np.concatenate(parts) / (1 << FIXED_BITS)).astype(np.float64)
        return cls(sums, len(tally.sums["cases"]), complete=w.ndim == 2)

    @cached_property
    def all(self) -> UnitSums:
        """All units together."""
        return UnitSums(self.sums.sum(axis=1, keepdims=True), self.models, self.complete)
