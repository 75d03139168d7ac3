"""Temperature scaling, a floor under the rest mass, and isotonic regression."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize, minimize_scalar

from toplist._text import argument, quote
from toplist._typing import Bools, Floats
from toplist.calibration.pairs import Steps, grouped, pool
from toplist.core.arguments import as_probability, as_whole
from toplist.core.array_api import log_or
from toplist.errors import TopListError
from toplist.lists import TopLists, log_rest
from toplist.lists.toplists import Logs, normalised, ranks, revalued
from toplist.lists.validation import over_rows, row_sums
from toplist.postprocess.recalibration.base import Recalibrator, Sample, State
from toplist.scoring.rules import Rule, as_rule

Indices = NDArray[np.intp]

HOTTEST = math.exp(4.0)  # a temperature of 55 leaves next to nothing of any difference, one of 1/55 only the largest
MANY_CLASSES = 10_000  # from which on a power of the share of an unlisted class would move all mass to or from the rest
_NONE = -1
_ROUGH_GRID = 1 << 13  # cases of a grid
_ROUGH_FIT = 1 << 14  # cases of a first fit, so that the fit to all starts near its end
_POINTS = 17  # of a grid, so that no local minimum of the Brier score is missed


class Value(NamedTuple):
    """A mean score, and its derivative in the exponent."""

    score: float
    slope: float


@dataclass(frozen=True, slots=True)
class ScaledOutcomes:
    """The outcomes of positive probability of each case, one after the other; the rest, one outcome, comes last.

    To an exponent a, the log weight of an outcome is base + a x, and probabilities are the softmax of these.
    """

    starts: Indices  # where each case begins
    sizes: NDArray[np.int64] | int  # one number where all have as many
    x: Floats
    base: Floats
    share: Floats  # 1 for a listed class, 1 / n for a rest of n classes
    happened: Indices  # the place of the outcome, or _NONE where its probability was zero
    weight: Floats

    @classmethod
    def of(cls, sample: Sample) -> ScaledOutcomes:
        """The outcomes of a sample."""
        lists, logs = sample.lists, Logs.of(sample.lists)
        case = np.repeat(np.arange(len(lists)), lists.sizes)
        listed, left = logs.listed > -np.inf, logs.rest > -np.inf
        sizes = np.bincount(case[listed], minlength=len(lists)) + left
        ends = np.cumsum(sizes)
        starts = ends - sizes
        before: NDArray[np.int64] = np.cumsum(listed) - listed
        at = starts[case] + before - np.append(before, listed.sum())[lists.offsets[:-1]][case]
        entry, rest = at[listed], ends[left] - 1

        def joined(of_entries: Any, of_rests: Any) -> Floats:
            out = np.empty(int(sizes.sum()))
            out[entry], out[rest] = of_entries, of_rests
            return out

        base = np.where(_shared(logs), logs.unlisted, 0.0)[left]
        happened = np.where(left, ends - 1, _NONE)
        hit = np.flatnonzero(lists.classes == np.repeat(sample.codes, lists.sizes))
        happened[case[hit]] = np.where(listed[hit], at[hit], _NONE)
        even = bool((sizes == sizes[0]).all())
        return cls(
            starts,
            int(sizes[0]) if even else sizes,
            joined(logs.listed[listed], logs.rest[left] - base),
            joined(0.0, base),
            joined(1.0, np.exp(-logs.unlisted[left])),
            happened,
            sample.weight,
        )

    def value(self, exponent: float, rule: str) -> Value:
        """The mean score.

        For the log score, cases whose outcome had probability zero do not count, since they stay infinite, and a miss
        counts as one of the rest as a whole: its share among the unlisted classes is a constant.
        """
        z = exponent * self.x + self.base
        z -= np.repeat(np.maximum.reduceat(z, self.starts), self.sizes)
        p = np.exp(z)
        total = np.add.reduceat(p, self.starts)
        p /= np.repeat(total, self.sizes)
        possible = np.flatnonzero(self.happened != _NONE)
        at, weight = self.happened[possible], self.weight
        if rule == "log":
            score = float(self.weight[possible] @ (np.log(total[possible]) - z[at]))
            slope, weight = p, np.zeros_like(self.weight)
            weight[possible] = self.weight[possible]
            slope[at] -= 1.0
        else:
            squares = p * self.share
            scores = 1.0 + np.add.reduceat(p * squares, self.starts)
            scores[possible] -= 2.0 * squares[at]
            score = float(self.weight @ scores)
            squares[at] -= self.share[at]
            squares -= np.repeat(np.add.reduceat(p * squares, self.starts), self.sizes)
            slope = 2.0 * p * squares
        return Value(score, float((slope * np.repeat(weight, self.sizes)) @ self.x))


class Temperature(Recalibrator):
    r"""Temperature scaling of the padded distribution.

    Confidences t become :math:`t^{1/T} / Z`, and the rest of n classes :math:`n (rest / n)^{1/T} / Z`. A temperature T
    above one makes lists less sure, one below surer; order and validity stay. It is found between 1/55 and 55, and is
    never worse than T = 1 on the cases that it was fitted to.

    From ten thousand unlisted classes on, also infinitely many, a power of their tiny shares would move all mass to or
    from the rest. The rest is then one outcome, :math:`rest^{1/T} / Z`, and lists are repaired afterwards.

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

    @property
    def _fit_rule(self) -> str:
        name = as_rule(self.rule).name if isinstance(self.rule, Rule) else self.rule
        if name not in ("brier", "log"):
            raise TopListError(f'a temperature is fitted by the score "brier" or "log", not {quote(self.rule)}.')
        return str(name)

    def _check(self) -> None:
        self._fit_rule  # noqa: B018  raises where it is neither

    def _fit(self, sample: Sample) -> None:
        rule, hot = self._fit_rule, math.log(HOTTEST)

        def objective(part: Sample) -> Callable[[Floats], tuple[float, Floats]]:
            """Of the log of the temperature, with its gradient."""
            outcomes = ScaledOutcomes.of(part)

            def at(log_t: Floats) -> tuple[float, Floats]:
                exponent = math.exp(-log_t[0])
                value = outcomes.value(exponent, rule)
                return value.score, np.array([-exponent * value.slope])

            return at

        rough = objective(sample.thinned(_ROUGH_GRID))
        log_t = np.array([min(np.linspace(-hot, hot, _POINTS), key=lambda x: rough(np.array([x]))[0])])
        few = sample.thinned(_ROUGH_FIT)
        for part, close in ((few, 1e-14), (sample, 1e-11)) if few is not sample else ((sample, 1e-14),):
            options = {"ftol": close, "gtol": 1e-8, "maxls": 8, "maxiter": 500}
            log_t = minimize(
                objective(part), log_t, jac=True, method="L-BFGS-B", bounds=[(-hot, hot)], options=options
            ).x
        self.temperature_ = math.exp(log_t[0])
        score = as_rule(rule)
        if sample.loss(self.transform(sample.lists), score) >= sample.loss(sample.lists, score):
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
    base = np.where(_shared(logs), logs.unlisted, 0.0)
    return normalised(lists, logs.listed / temperature, base + (logs.rest - base) / temperature)


def _shared(logs: Logs) -> Bools:
    """Where powers are taken of the share of each unlisted class, and not of the rest as one outcome."""
    return (logs.unlisted > -np.inf) & (logs.unlisted < math.log(MANY_CLASSES))


Curve = Callable[[float], float]

HIGHEST = 0.5
_ROUGH = 1 << 13  # cases of the grid
_ROUNDING = 1e-12  # by which a probability may miss, relatively, a floor that it was raised to


class RestFloor(Recalibrator):
    r"""Raise the rest mass to at least :math:`\varepsilon`, taken from the listed classes in proportion.

    A listed class that would fall below the share of an unlisted one, :math:`\varepsilon / n` with n unlisted ones,
    has that share, so that the list is valid; where the floor is above :math:`n / m`, which no valid list leaves, the
    list becomes the uniform distribution. A list of all classes has no rest: its classes have at least
    :math:`\varepsilon / m` each, again taken from the others in proportion. Either way every class has a positive
    probability afterwards, so that no log score is infinite as long as there are finitely many classes, and a second
    floor of the same height changes nothing.

    Parameters
    ----------
    floor : float, optional
        The floor, between 0 and 1. By default it is fitted, between half a case among all cases and one half.
    rule : str or Rule, default "log"
        The scoring rule that it is fitted by.

    Attributes
    ----------
    floor_ : float
        The floor, given or fitted.

    Examples
    --------
    >>> RestFloor(floor=0.1).fit_transform([0, 1, 2, 0], [0, 1, 2, 1], space=3).padded()[0]
    array([0.9 , 0.05, 0.05])
    """

    learned = ("floor_",)
    floor_: float

    def __init__(self, *, floor: float | None = None, rule: Any = "log") -> None:
        self.floor = floor
        self.rule = rule

    @property
    def parameters(self) -> int:
        """One; zero if the floor was given."""
        return int(self.floor is None)

    def _check(self) -> None:
        as_rule(self.rule)
        if self.floor is not None:
            as_probability(self.floor, "floor")

    def _fit(self, sample: Sample) -> None:
        if self.floor is not None:
            self.floor_ = float(self.floor)
            return
        rule, sample = as_rule(self.rule), replace(sample, lists=_without_text(sample.lists).ordered())
        few = sample.thinned(_ROUGH)

        def mean(part: Sample, floor: float) -> float:
            infinite, finite = part.loss(floored(part.lists, floor), rule)
            if infinite:
                raise TopListError(
                    "with infinitely many classes a class that is not listed has an infinite score whatever the floor: "
                    f"fit by {argument('rule', 'brier')}, or give the floor."
                )
            return finite

        low = math.log(min(0.5 / (sample.counting + 1), 0.5 * HIGHEST))
        best = lowest(
            lambda x: mean(sample, math.exp(x)), low, math.log(HIGHEST), lambda x: mean(few, math.exp(x)), close=1e-5
        )
        self.floor_ = math.exp(best)

    def _transform(self, lists: TopLists) -> TopLists:
        return floored(lists, self.floor_)

    def _restore(self, state: State) -> None:
        self.floor_ = state.number("floor_", 1e-300, 1.0)

    def _describe(self) -> str:
        return f"floor {self.floor_:.4g}"


def _without_text(lists: TopLists) -> TopLists:
    """The same lists without what is known of the rounding of their text, which does not matter to scores."""
    rows = lists.checked.rows
    return lists._with(replace(lists.checked, rows=replace(rows, shown=None))) if rows.shown is not None else lists


def floored(lists: TopLists, floor: float) -> TopLists:
    """Valid lists with a rest of at least `floor`; where all classes are listed, at least equal shares of it each.

    `lists` are valid. What classes are raised by is taken from the others in proportion.
    """
    checked, rest, sizes = lists.checked, log_rest(lists), lists.sizes
    size = checked.rows.size + np.zeros(len(lists))
    full, left = size == sizes, np.where(np.isfinite(size), log_or(np, size - sizes, -np.inf), checked.rows.log_size)
    t = checked.normalized
    with np.errstate(divide="ignore", invalid="ignore"):
        most = np.where(np.isfinite(size), np.log1p(-sizes / size), 0.0)  # the rest of the uniform distribution
        height = np.where(full, math.log(floor), np.minimum(math.log(floor), most))
        share = height - np.where(full, np.log(size), left)  # the log of what each class has at least
    least = over_rows(np.minimum, t, lists.offsets, np.inf)
    low = np.where(full, least < np.exp(share) * (1.0 - _ROUNDING), rest < height)
    if not low.any():
        return lists
    here, own, mass = np.repeat(low, sizes), np.repeat(share, sizes), np.where(full, 1.0, -np.expm1(height))
    raised = np.zeros(len(t), dtype=bool)
    while True:  # a class that is raised leaves less to the others, of which some may have to be raised then
        alone = np.maximum(mass - np.exp(share) * row_sums(raised, lists.offsets), 0.0)
        kept = row_sums(np.where(raised, 0.0, t), lists.offsets)
        scale = np.repeat(np.where(low & (kept > 0), alone / np.where(kept > 0, kept, 1.0), 1.0), sizes)
        more = here & ~raised & (t * scale < np.exp(own))
        if not more.any():
            break
        raised |= more
    return revalued(lists, np.where(raised, np.exp(own), t * scale), np.where(low & ~full, height, rest))


def lowest(exact: Curve, low: float, high: float, rough: Curve | None = None, *, close: float = 1e-7) -> float:
    """Where a function is least between two numbers: a grid by `rough`, which is quicker, then Brent's method.

    >>> round(lowest(lambda x: (x - 0.3) ** 2, -1.0, 1.0), 6)
    0.3
    """
    grid = np.linspace(low, high, _POINTS).tolist()
    at = int(np.argmin([(rough or exact)(x) for x in grid]))
    left, right = grid[max(at - 1, 0)], grid[min(at + 1, _POINTS - 1)]
    exact = lru_cache(exact)

    def descend(low: float, high: float) -> float:
        return float(minimize_scalar(exact, bounds=(low, high), method="bounded", options={"xatol": close}).x)

    found = descend(left, right)
    if (left > low and found - left < 10 * close) or (right < high and right - found < 10 * close):
        found = descend(low, high)  # the rough function has its minimum elsewhere
    best: float = min((found, left, right), key=exact)
    return best


class Isotonic(Recalibrator):
    """Isotonic regression of hits on confidences, with half a case at either end.

    The lowest and the highest value, of n entries with s hits, are (s + 1/2) / (n + 1), also where they are one value,
    so that nothing becomes exactly 0 or 1; values in between are interpolated. If the new confidences sum to
    more than one, or all classes are listed, they are divided by their sum; else the rest has what is left, but at
    least half a case among all cases learned from, so that no miss gets probability zero. Lists are repaired in the
    end.

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

    learned = ("maps_", "least_rest_")
    maps_: tuple[Steps, ...]
    least_rest_: float

    def __init__(self, *, by: str = "pooled", ranks: int = 5, least: int = 200) -> None:
        self.by = by
        self.ranks = ranks
        self.least = least

    @property
    def parameters(self) -> int:
        """The number of steps."""
        return sum(map(len, self.maps_)) if self.is_fitted else 1 << 10

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
        last = min(max(int(np.argmin(enough)), 1), self.ranks) - 1
        return [np.flatnonzero(rank == r) for r in range(last)] + [np.flatnonzero(rank >= last)]

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
        for r, steps in enumerate(self.maps_):
            of = np.flatnonzero(rank == r)
            out[of] = steps(t[of])
        return out

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

    def _restore(self, state: State) -> None:
        self.maps_ = tuple(map(_steps, state.parts("maps_")))
        self.least_rest_ = state.number("least_rest_", 1e-300, 0.5)

    def _describe(self) -> str:
        return f"{self.parameters} steps" + ("" if self.by == "pooled" else f" in {len(self.maps_)} maps")


def _steps(part: State) -> Steps:
    """A map from a file, checked."""
    low, high, value, weight = (part.floats(name) for name in ("low", "high", "value", "weight"))
    if not len(low) == len(high) == len(value) == len(weight) or not len(low):
        raise part.wrong("maps_", "of columns that differ in length, or empty")
    ends = np.stack((low, high), axis=1).ravel()
    if (np.diff(ends) < 0).any() or (np.diff(value) < 0).any() or value[0] <= 0 or value[-1] >= 1:
        raise part.wrong("maps_", "not a rising function between 0 and 1")
    return Steps(low, high, value, weight)
