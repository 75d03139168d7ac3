"""Monotone maps of confidences: isotonic and beta calibration, of all entries together or rank by rank."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.special import expit

from toplist._text import quote
from toplist._typing import Bools, Floats
from toplist.calibration.pairs import Steps, grouped, pool
from toplist.core.arguments import as_whole
from toplist.errors import TopListError
from toplist.lists import TopLists
from toplist.lists.log_space import ranks, revalued
from toplist.lists.validation import row_sums
from toplist.postprocess.recalibration.base import MOST, Recalibrator, Sample
from toplist.postprocess.recalibration.state import State

_STEPS = 100
_CLOSE = 1e-12  # of the loss, relative
_ROUGH = 1 << 17


@dataclass(frozen=True, slots=True)
class BetaMap:
    """1 / (1 + exp(-(c + a log p - b log(1 - p)))), with slopes a, b >= 0; p is taken between `low` and 1 - `low`."""

    a: float
    b: float
    c: float
    low: float

    def __call__(self, p: Floats) -> Floats:
        """The calibrated probabilities."""
        features = _features(p, self.low)
        calibrated: Floats = expit(features @ np.array([self.a, self.b, self.c]))
        return calibrated


def fit_beta(p: Floats, y: Bools, weight: Floats | None = None) -> BetaMap:
    """Beta calibration: the slopes and the intercept of least log loss, with a, b >= 0; weights are in cases.

    Outcomes are softened as in Platt's calibration, to (s + 1) / (s + 2) for s successes and 1 / (f + 2) for f
    failures, so that the best slopes are finite where scores tell the two apart without a mistake. A score nearer to 0
    or 1 than half a case among all is taken as that far, so that a score of exactly 0 has a logarithm.

    The loss is convex: if one slope of the best fit is negative, the best with a, b >= 0 has it at zero; if both are,
    it is the better of the two fits with one slope.
    """
    weight = None if weight is None else np.asarray(weight, dtype=np.float64)
    count = float(len(y)) if weight is None else float(weight.sum())
    hits = float(y.sum()) if weight is None else float(weight[y].sum())
    target = np.where(y, (hits + 1) / (hits + 2), 1 / (count - hits + 2))
    low = 0.5 / (count + 1)
    data = _Data(_features(p, low), target, weight)
    best, _ = _least_loss(data, (0, 1, 2))
    if (best[:2] < 0).any():
        tries = [_least_loss(data, (1 - slope, 2)) for slope in (0, 1) if best[slope] < 0]
        tries = [one for one in tries if (one[0][:2] >= 0).all()]
        best = min(tries, key=lambda one: one[1])[0] if tries else _least_loss(data, (2,))[0]
    a, b, c = best.tolist()
    return BetaMap(a, b, c, low)


def _features(p: Floats, low: float) -> Floats:
    inside = np.clip(p, low, 1 - low)
    return np.stack((np.log(inside), -np.log1p(-inside), np.ones(len(p))), axis=1)


@dataclass(frozen=True, slots=True)
class _Data:
    features: Floats
    target: Floats
    weight: Floats | None

    def thinned(self) -> _Data:
        step = len(self.target) // _ROUGH
        return _Data(self.features[::step], self.target[::step], None if self.weight is None else self.weight[::step])

    def loss(self, score: Floats) -> float:
        losses = np.logaddexp(0, score) - self.target * score
        return float(np.mean(losses) if self.weight is None else np.average(losses, weights=self.weight))


def _least_loss(data: _Data, used: tuple[int, ...]) -> tuple[Floats, float]:
    """The weights of least mean log loss, zero where not used, and that loss; where there are many, some go first."""
    start = np.zeros(3)
    if len(data.target) >= 2 * _ROUGH:
        start, _ = _descend(data.thinned(), used, start)
    return _descend(data, used, start)


def _descend(data: _Data, used: tuple[int, ...], start: Floats) -> tuple[Floats, float]:
    """Newton's method."""
    x, target, weights = data.features[:, used], data.target, start[list(used)]
    loss = data.loss(x @ weights)
    for _ in range(_STEPS):
        p = expit(x @ weights)
        off, curve = p - target, p * (1 - p)
        if data.weight is not None:
            off, curve = off * data.weight, curve * data.weight
        slope = x.T @ off
        bend = (x * curve[:, None]).T @ x
        step, before = np.linalg.lstsq(bend, slope, rcond=None)[0], loss
        while not (loss := data.loss(x @ (weights - step))) <= before and np.abs(step).max() > _CLOSE:
            step = step / 2
        if not loss < before:
            loss = before
            break
        weights = weights - step
        if before - loss <= _CLOSE * before:
            break
    found = np.zeros(3)
    found[list(used)] = weights
    return found, float(loss)


Map = Steps | BetaMap


class ConfidenceMaps(Recalibrator):
    """Base of the maps: which entries a map is learned from, and how confidences are made to add up.

    The rest has what the new confidences leave, but at least half a case among all cases learned from: so where they
    add up to more than one and are divided by the sum, a miss does not get probability zero.
    """

    learned = ("maps_", "least_rest_")
    maps_: tuple[Map, ...]
    least_rest_: float

    def __init__(self, *, by: str = "pooled", ranks: int = 5, least: int = 200) -> None:
        self.by = by
        self.ranks = ranks
        self.least = least

    @abstractmethod
    def _map(self, t: Floats, hit: Bools, weight: Floats | None) -> Map:
        """The map of one group of entries."""

    @abstractmethod
    def _read_map(self, part: State) -> Any:
        """A map from a file, checked."""

    def _restore(self, state: State) -> None:
        self.maps_ = tuple(map(self._read_map, state.parts("maps_")))
        self.least_rest_ = state.number("least_rest_", 1e-300, 0.5)

    def _check(self) -> None:
        if self.by not in ("pooled", "rank"):
            raise TopListError(f'maps are by "pooled" or by "rank", not {quote(self.by)}.')
        as_whole(self.ranks, "ranks", 1)
        as_whole(self.least, "least", 1)

    def _fit(self, sample: Sample) -> None:
        lists = sample.lists
        t, hit = lists.normalized_confidences, lists.classes == np.repeat(sample.codes, lists.sizes)
        weight = np.repeat(sample.weight * sample.counting, lists.sizes)
        counts = weight > 0
        if not counts.all():
            t, hit, weight = t[counts], hit[counts], weight[counts]
        even = not len(weight) or bool((weight == weight[0]).all())
        self.maps_ = tuple(
            self._map(t[of], hit[of], None if even else weight[of]) for of in self._groups(lists, counts)
        )
        self.least_rest_ = 0.5 / (sample.counting + 1)

    def _groups(self, lists: TopLists, counts: Bools) -> list[Any]:
        """The entries that each map is learned from; none, where there are no entries at all."""
        if not counts.any():
            return []
        if self.by == "pooled":
            return [slice(None)]
        rank = ranks(lists)[counts]
        sizes = np.bincount(rank)
        enough = np.append(sizes >= self.least, False)
        own = min(max(int(np.argmin(enough)), 1), self.ranks)
        return [np.flatnonzero(rank == r) for r in range(own - 1)] + [np.flatnonzero(rank >= own - 1)]

    def _transform(self, lists: TopLists) -> TopLists:
        if not self.maps_:
            return lists
        t = self._mapped(lists)
        total = row_sums(t, lists.offsets)
        full = lists.checked.rows.size == lists.sizes
        rest = np.where(full, 0.0, np.maximum(1.0 - total, self.least_rest_))
        scale = np.where(full | (rest > 1.0 - total), total + rest, 1.0)
        with np.errstate(divide="ignore"):
            return revalued(lists, t / np.repeat(scale, lists.sizes), np.log(rest / scale))

    def _mapped(self, lists: TopLists) -> Floats:
        t = lists.normalized_confidences
        if len(self.maps_) == 1:
            return self.maps_[0](t)
        rank, out = np.minimum(ranks(lists), len(self.maps_) - 1), np.empty(len(t))
        for r, one in enumerate(self.maps_):
            of = np.flatnonzero(rank == r)
            out[of] = one(t[of])
        return out


class Isotonic(ConfidenceMaps):
    """Isotonic regression of hits on confidences, with half a case at either end.

    The lowest and the highest value, of n entries with s hits, are (s + 1/2) / (n + 1), also where they are one value,
    so that nothing becomes exactly 0 or 1; values in between are interpolated. If the new confidences sum to
    more than one, or all classes are listed, they are divided by their sum; else the rest has what is left. Lists are
    repaired in the end.

    Parameters
    ----------
    by : {"pooled", "rank"}, default "pooled"
        One map of all listed confidences, or one for each of the first ranks.
    ranks : int, default 5
        How many ranks have a map of their own; the last of these maps serves all later ranks as well.
    least : int, default 200
        The fewest entries of a rank with a map of its own.

    Attributes
    ----------
    maps_ : tuple
        The fitted step functions, one or one per rank.

    Examples
    --------
    >>> Isotonic().fit_transform([{"a": 0.9}] * 4, ["a", "a", "b", "c"], space=3).confidences
    array([0.5, 0.5, 0.5, 0.5])
    """

    maps_: tuple[Steps, ...]

    @property
    def parameters(self) -> int:
        """The number of steps."""
        return sum(map(len, self.maps_)) if self.is_fitted else 1 << 10

    def _map(self, t: Floats, hit: Bools, weight: Floats | None) -> Steps:
        groups = grouped(t, hit, weight)
        more, half = groups.weight.copy(), groups.total.copy()
        for end in (0, -1):
            more[end] += 1.0
            half[end] += 0.5
        steps = pool(replace(groups, weight=more, total=half))
        if len(steps) > 1:
            return steps
        weight = steps.weight - 1.0  # both ends are one step: it has half a case once
        return replace(steps, value=(groups.total.sum() + 0.5) / weight, weight=weight)

    def _read_map(self, part: State) -> Steps:
        low, high, value, weight = (part.floats(name) for name in ("low", "high", "value", "weight"))
        if not len(low) == len(high) == len(value) == len(weight) or not len(low):
            raise part.wrong("maps_", "of columns that differ in length, or empty")
        ends = np.stack((low, high), axis=1).ravel()
        if (np.diff(ends) < 0).any() or (np.diff(value) < 0).any() or value[0] <= 0 or value[-1] >= 1:
            raise part.wrong("maps_", "not a rising function between 0 and 1")
        return Steps(low, high, value, weight)

    def _describe(self) -> str:
        return f"{self.parameters} steps" + ("" if self.by == "pooled" else f" in {len(self.maps_)} maps")


class Beta(ConfidenceMaps):
    """Beta calibration: log-odds a log t - b log(1 - t) + c with a, b >= 0, of least log loss of hits.

    Confidences nearer to 0 or 1 than half an entry among all are taken as that far. The sum is treated as in
    `Isotonic`.

    Parameters
    ----------
    by : {"pooled", "rank"}, default "pooled"
        One map of all listed confidences, or one for each of the first ranks.
    ranks : int, default 5
        How many ranks have a map of their own; the last of these maps serves all later ranks as well.
    least : int, default 200
        The fewest entries of a rank with a map of its own.

    Attributes
    ----------
    maps_ : tuple
        The fitted maps with their a, b and c, one or one per rank.

    References
    ----------
    Kull, Silva Filho and Flach (2017), Beta calibration, AISTATS.

    Examples
    --------
    >>> Beta().fit([[0.8, 0.2]] * 4, [0, 0, 1, 0]).parameters
    3
    """

    maps_: tuple[BetaMap, ...]

    @property
    def parameters(self) -> int:
        """Three for each map."""
        maps = len(self.maps_) if self.is_fitted else 1 if self.by == "pooled" else self.ranks
        return 3 * maps

    def _map(self, t: Floats, hit: Bools, weight: Floats | None) -> BetaMap:
        return fit_beta(t, hit, weight)

    def _read_map(self, part: State) -> BetaMap:
        a, b = part.number("a", 0.0, MOST), part.number("b", 0.0, MOST)
        return BetaMap(a, b, part.number("c"), part.number("low", 1e-300, 0.5))

    def _describe(self) -> str:
        return "; ".join(f"a {one.a:.4g}, b {one.b:.4g}, c {one.c:.4g}" for one in self.maps_)
