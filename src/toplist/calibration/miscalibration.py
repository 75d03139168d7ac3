"""How far confidences are off: calibration error and bias with intervals, tests for cases and clusters, the verdict."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.special import fdtrc, gammaincc, ndtri

from toplist._text import significant
from toplist._typing import Floats
from toplist.calibration.decomposition import RANKS, RankLayer, layers
from toplist.calibration.pairs import (
    MISSED,
    CalibrationPairs,
    Of,
    OutcomeSampler,
    PairsView,
    calibration_pairs,
    isotonic_regression,
    require_cases,
    view,
)
from toplist.core.arguments import as_probability, as_units, as_whole
from toplist.core.estimate import error_of_units, quantile
from toplist.errors import TopListError
from toplist.lists import as_lists
from toplist.lists.validation import row_sums

_POWER = 0.8  # with which a difference is detectable
_SAME = 1e-13  # two ways to add up one number
_WIDER = 1.25  # what the variance of 199 draws is multiplied by, because it may have come out too small
FEWEST: Final = 8
"""Clusters that a test needs: with three linear combinations, fewer leave under five degrees of freedom."""
_NO_CHANCE = 1e-10  # a variance per case that is rounding
_SAME_DIRECTION = 1e-8  # an eigenvalue of a correlation matrix that is rounding
_LEAST = 1.0  # variance of a linear combination, in units of that of independent cases
_POOLED = 0.5  # of the mean variance of all linear combinations, that each has at least


@dataclass(frozen=True, slots=True, repr=False)
class CalibrationError:
    """The mean squared difference of mean confidence and hit rate over bins, without the bias of chance.

    Attributes
    ----------
    of : {"listed", "top", "mass"} or int
        Which pairs of confidence and hit it is of.
    value, low, high : float
        The estimate and its interval. The estimate is below zero where calibrated lists would show more.
    root : float
        ``sign(value) * sqrt(abs(value))``, on the scale of confidences.
    bins, cases : int
        How many bins and cases it is from.
    level : float
        The level of the interval.

    """

    of: Of
    value: float
    low: float
    high: float
    root: float
    bins: int
    cases: int
    level: float

    def __repr__(self) -> str:
        low, high = (significant(x, 3) for x in (self.low, self.high))
        squared = f"squared {significant(self.value, 3)} ({low} to {high})"
        root = significant(max(self.root, 0.0), 3)
        return f"CalibrationError({self.of}: {root}; {squared}, {self.bins:,} bins, {self.cases:,} cases)"


@dataclass(frozen=True, slots=True, repr=False)
class CalibrationBias:
    """Mean confidence minus hit rate (calibration-in-the-large): positive is overconfident.

    Attributes
    ----------
    of : {"listed", "top", "mass"} or int
        Which pairs of confidence and hit it is of.
    mean_confidence, hit_rate, difference : float
        The mean confidence, how often it is a hit, and the first minus the second.
    low, high : float or None
        The interval of the difference; a single case, or cluster, has none.
    cases : int
        How many cases it is from.
    level : float
        The level of the interval.
    detectable : float or None
        The true difference whose interval would exclude zero 4 times in 5, from the standard error.

    """

    of: Of
    mean_confidence: float
    hit_rate: float
    difference: float
    low: float | None
    high: float | None
    cases: int
    level: float
    detectable: float | None = None

    def __repr__(self) -> str:
        means = f"mean confidence {significant(self.mean_confidence)}, hit rate {significant(self.hit_rate)}"
        value, low, high = (significant(x, 3, sign=True) for x in (self.difference, self.low, self.high))
        interval = "no interval" if self.low is None else f"{low} to {high}"
        return f"CalibrationBias({self.of}: {means}, difference {value} ({interval}), {self.cases:,} cases)"


def calibration_error(
    lists: Any,
    y: Any,
    *,
    of: Of = "top",
    bins: Any = 15,
    level: Any = 0.95,
    clusters: Any = None,
    space: Any = None,
) -> CalibrationError:
    """The squared calibration error over bins of about equal counts, without the bias of chance.

    Parameters
    ----------
    lists : TopLists or array_like
        Predictions of any shape that `as_lists` takes. Of an invalid list the largest valid sublist is used.
    y : array_like
        One outcome per case.
    of : {"listed", "top", "mass"} or int, default "top"
        All listed confidences, the most confident class, the listed mass against whether the outcome is listed, or a
        rank from 1.
    bins : int, default 15
        How many bins; equal confidences share a bin.
    level : float, default 0.95
        The level of the interval.
    clusters : array_like, optional
        The cluster of each case, where outcomes of cases may depend on each other.
    space : int, float, ClassSpace or LabelSets, optional
        The classes, where the predictions do not tell.

    Returns
    -------
    CalibrationError
        The estimate and its interval.

    Notes
    -----
    The error is the sum over bins b of (n_b / n) (r_b^2 - s_b), with r_b the mean of confidence - hit and s_b the
    estimated variance of that mean; cases are the units, as the pairs of one list depend on each other, or clusters.
    With C the weights and S the covariance of the r_b, the variance of an estimate of e is taken as
    4 e r'CSCr / r'Cr + 2 tr(CSCS), and the interval is that of all e that are within so many of their own standard
    errors; its upper end stays between 0 and 1, as the error itself does. In a bin with nothing but hits, or without
    any, the cases show no chance, and for the interval S is what calibrated lists would have there.
    In simulations at level 0.95 it missed up to 8 times in a hundred with 30 cases or more, up to 14 with 20.

    Examples
    --------
    >>> from toplist import TopLists
    >>> lists = TopLists.from_topk([[0]] * 4, [[0.75]] * 4, 2)
    >>> round(calibration_error(lists, [0, 0, 0, 1]).value, 6)
    -0.0625

    """
    bins, level, lists = as_whole(bins, "bins", 1), as_probability(level, "level"), as_lists(lists, space)
    seen = view(calibration_pairs(lists, y), of)
    cases = int(_changes(seen.case).sum())
    seen = seen if clusters is None else _by_unit(seen, as_units(clusters, len(lists)))
    code = bins_of(seen, bins)
    count = np.bincount(code).astype(np.float64)
    off = seen.confidence - seen.hit
    means = np.bincount(code, weights=off) / count
    covariance = _covariance(seen, code, off - means[code], count)
    least = least_variance(
        np.bincount(code, weights=seen.confidence * (1.0 - seen.confidence)),
        np.bincount(code, weights=seen.hit),
        count,
    )
    return error_of(seen.of, means, covariance, least, count, cases, level)


def least_variance(chance: Any, hits: Any, count: Any) -> Any:
    """Of a mean of confidence - hit where all are hits, or none: chance / count^2, with the sum of x (1 - x)."""
    return np.where((hits == 0) | (hits == count), chance / count**2, 0.0)


def error_of(
    of: Of, means: Floats, covariance: Floats, least: Floats, count: Floats, cases: int, level: float
) -> CalibrationError:
    """The error from the mean distances of bins, their covariance, and the least variance that an interval knows."""
    share = count / count.sum()
    value = float(share @ (means**2 - np.diag(covariance)))
    covariance = covariance + np.diag(np.maximum(least - np.diag(covariance), 0.0))
    weighted = share[:, None] * covariance
    raw = float(share @ means**2)
    chance = float((weighted * weighted.T).sum())  # tr(CSCS)
    lean = float((share * means) @ covariance @ (share * means)) / raw if raw > 0 else 0.0
    z2 = float(ndtri(0.5 + level / 2.0)) ** 2
    middle = value + 2.0 * z2 * lean
    reach = math.sqrt(max(middle**2 - value**2 + 2.0 * z2 * chance, 0.0))
    root = math.copysign(math.sqrt(abs(value)), value)
    low, high = min(middle - reach, value), min(max(middle + reach, 0.0), 1.0)
    return CalibrationError(of, value, low, high, root, len(means), cases, level)


def _covariance(seen: PairsView, code: NDArray[np.intp], off: Floats, count: Floats) -> Floats:
    """Of the means of bins, from what each case adds to them."""
    case = np.cumsum(_changes(seen.case)) - 1
    adds = csr_array((off / count[code], (case, code)), shape=(int(case[-1]) + 1, len(count)))
    adds.sum_duplicates()
    makers = _makers(case, code)
    factor = np.sqrt(makers / (makers - 1.0))
    covariance: Floats = (adds.T @ adds).toarray() * np.outer(factor, factor)
    return covariance


def bins_of(seen: PairsView, bins: int) -> NDArray[np.intp]:
    """The bin of each pair: about as many in each, equal confidences together, and at least two cases to a bin."""
    values, counts = np.unique(seen.confidence, return_counts=True)
    starts = values[np.flatnonzero(np.diff(even_bins(counts.astype(np.float64), bins))) + 1]
    code = np.searchsorted(starts, seen.confidence, side="right")
    return joined(code, lambda code: _makers(seen.case, code))


def joined(code: NDArray[np.intp], makers: Callable[[NDArray[np.intp]], NDArray[Any]]) -> NDArray[np.intp]:
    """Bins of less than two cases join the one below, the first one that above."""
    while True:
        found = makers(code)
        lonely = np.flatnonzero(found < 2)
        if not len(lonely):
            return code
        if len(found) == 1:
            raise TopListError(
                "a calibration error needs two cases or more, or two clusters: one cannot tell chance from fault."
            )
        code = code - (code >= max(int(lonely[0]), 1))


def even_bins(counts: Floats, bins: int) -> NDArray[np.intp]:
    """Numbers from 0 for groups in order, so that about as many are of each number; none is left out."""
    middle = (np.cumsum(counts) - 0.5 * counts) / counts.sum()
    wanted = np.minimum((bins * middle).astype(np.intp), bins - 1)
    return np.cumsum(np.diff(wanted, prepend=wanted[0]) > 0)


def _by_unit(seen: PairsView, units: NDArray[np.intp]) -> PairsView:
    """The same pairs, those of one unit side by side, by falling confidence, and under its number."""
    unit = units[seen.case]
    order = np.lexsort((-seen.confidence, unit))
    return PairsView(seen.of, seen.confidence[order], seen.hit[order], unit[order], None)


def calibration_bias(
    lists: Any, y: Any, *, of: Of = "top", level: Any = 0.95, clusters: Any = None, space: Any = None
) -> CalibrationBias:
    """The mean confidence minus the hit rate, with Student's interval over cases or clusters.

    For "listed" and "mass" the confidence of a case is its listed mass, a hit if the outcome is listed. With nothing
    but hits, or without any, the cases show no chance: the variance is then at least that of calibrated lists.
    Clusters of unequal sizes count for less than there are: the variance is CR2, with the degrees of freedom of Bell
    and McCaffrey (2002).

    Parameters
    ----------
    lists : TopLists or array_like
        Predictions of any shape that `as_lists` takes. Of an invalid list the largest valid sublist is used.
    y : array_like
        One outcome per case.
    of : {"listed", "top", "mass"} or int, default "top"
        All listed confidences, the most confident class, the listed mass against whether the outcome is listed, or a
        rank from 1.
    level : float, default 0.95
        The level of the interval.
    clusters : array_like, optional
        The cluster of each case, where outcomes of cases may depend on each other.
    space : int, float, ClassSpace or LabelSets, optional
        The classes, where the predictions do not tell.

    Returns
    -------
    CalibrationBias
        Both means, and their difference with its interval.

    Examples
    --------
    >>> from toplist import TopLists
    >>> lists = TopLists.from_topk([[0]] * 4, [[0.9]] * 4, 2)
    >>> bias = calibration_bias(lists, [0, 0, 1, 0])
    >>> round(bias.difference, 6), round(bias.low, 6), round(bias.high, 6)
    (0.15, -0.645612, 0.945612)

    """
    level, lists = as_probability(level, "level"), as_lists(lists, space)
    seen = view(calibration_pairs(lists, y), "mass" if of == "listed" else of)
    off = seen.confidence - seen.hit
    _, unit = np.unique(as_units(clusters, len(lists))[seen.case], return_inverse=True)
    n, sums, sizes = len(off), *(np.bincount(unit, by).astype(np.float64) for by in (off - off.mean(), None))
    chance = float((seen.confidence * (1.0 - seen.confidence)).sum())
    least = float(least_variance(chance, np.count_nonzero(seen.hit), n))
    error, freedom = error_of_units(sums, sizes, clustered=True) if len(sums) > 1 else (math.inf, 0.0)
    name, means = of if of == "listed" else seen.of, (float(seen.confidence.mean()), float(seen.hit.mean()))
    return bias_of(name, *means, max((error / n) ** 2, least), freedom, level, cases=n)


def bias_of(
    of: Of, confidence: float, hit_rate: float, variance: float, freedom: float, level: float, cases: int
) -> CalibrationBias:
    """The bias from both means, and from the variance of their difference with its degrees of freedom."""
    difference, low, high, detectable = confidence - hit_rate, None, None, None
    if freedom > 0:
        error, reach = math.sqrt(variance), quantile(0.5 + level / 2.0, freedom)
        low, high = difference - reach * error, difference + reach * error
        detectable = (reach + quantile(_POWER, freedom)) * error
    return CalibrationBias(of, confidence, hit_rate, difference, low, high, cases, level, detectable)


def _makers(case: NDArray[np.intp], code: NDArray[np.intp]) -> NDArray[np.intp]:
    """How many cases have a pair in each bin; those of one case and bin are next to each other, as lists fall."""
    new = _changes(case)
    new[1:] |= code[1:] != code[:-1]
    found: NDArray[np.intp] = np.bincount(code[new])
    return found


def _changes(case: NDArray[np.intp]) -> NDArray[np.bool_]:
    """Where the pairs of a case begin."""
    new = np.ones(len(case), bool)
    new[1:] = case[1:] != case[:-1]
    return new


@dataclass(frozen=True, slots=True, repr=False)
class CalibrationTest:
    """The result of the test of calibration.

    Attributes
    ----------
    statistic, expected : float
        The miscalibration, and its mean for calibrated lists; with clusters, those of the F statistic.
    p : float
        The p value.
    draws, seed : int
        How many samples of outcomes it is from, and the seed of the random numbers; with clusters, none are drawn.
    tail : float
        p, or the tail of a gamma distribution where no draw reaches the statistic: for many tests at once.
    freedom : tuple of int, or None
        The degrees of freedom of the F statistic, which add up to the number of clusters; None without clusters.

    """

    statistic: float
    expected: float
    p: float
    draws: int
    seed: int
    tail: float
    freedom: tuple[int, int] | None = None

    def __repr__(self) -> str:
        found = f"statistic {significant(self.statistic, 3)}, expected {significant(self.expected, 3)} if calibrated"
        how = f"{self.draws:,} draws" if self.freedom is None else f"F{self.freedom}"
        return f"CalibrationTest(p = {significant(self.p, 3)}; {found}; {how})"


def calibration_test(
    lists: Any, y: Any, *, draws: Any = 999, seed: Any = 0, clusters: Any = None, space: Any = None
) -> CalibrationTest:
    """A test of calibration for lists of any lengths: exact for independent cases, approximate for clusters.

    Parameters
    ----------
    lists : TopLists or array_like
        Predictions of any shape that `as_lists` takes. Of an invalid list the largest valid sublist is used.
    y : array_like
        One outcome per case.
    draws, seed : int, default 999 and 0
        How many samples of outcomes, and the seed of the random numbers.
    clusters : array_like, optional
        The cluster of each case, where outcomes of cases may depend on each other; eight clusters or more.
    space : int, float, ClassSpace or LabelSets, optional
        The classes, where the predictions do not tell.

    Returns
    -------
    CalibrationTest
        The statistic, its mean for calibrated lists, and the p value.

    Raises
    ------
    TopListError
        If there are no cases, or fewer than eight clusters.

    Notes
    -----
    The statistic is the miscalibration of the Brier score over all ranks and the rest (`decompose`). Under the null
    the outcomes of independent cases are sampled from their padded lists, so p = (1 + #{T* >= T}) / (1 + draws).

    Cases of one cluster may depend on each other in any way. Hit minus confidence is then added up over each cluster:
    of the first class, of the listed mass, and of all listed classes and the rest weighted by their confidences
    (calibration-in-the-large and slope, as Cox, 1958). For calibrated lists these sums have mean zero, which is tested
    by Hotelling's T squared over clusters. The covariance is at least that of independent cases, which calibrated
    lists tell, and no linear combination has less than half the mean variance of all, in units of independence:
    otherwise the few misses of sharp lists would make it too small. Clusters may have any sizes, as a t test of normal
    sums with unequal variances is conservative (Ibragimov and Mueller, 2010). In simulations at 5% it rejected 0 to 8%
    of calibrated lists in 10 to 100 clusters. It does not see confidences that are too high in some places and too low
    in others if both cancel in all three sums.

    References
    ----------
    Cox (1958), Two further applications of a model for binary regression, Biometrika 45.
    Ibragimov and Mueller (2010), t-statistic based correlation and heterogeneity robust inference, JBES 28.

    Examples
    --------
    >>> from toplist import TopLists
    >>> lists = TopLists.from_topk([[0]] * 20, [[0.9]] * 20, 2)
    >>> calibration_test(lists, [0] * 18 + [1] * 2).p, calibration_test(lists, [0] * 10 + [1] * 10).p
    (1.0, 0.001)

    """
    draws, seed, lists = as_whole(draws, "draws", 1), as_whole(seed, "seed", 0), as_lists(lists, space)
    made = calibration_pairs(lists, y)
    require_cases(made)
    units = as_units(clusters, len(lists))
    if int(units.max()) + 1 < len(units):
        return _clustered(made, units, seed)
    statistic, sampler, rng = TestStatistic.of(made), OutcomeSampler.of(made.lists), np.random.default_rng(seed)
    observed = statistic.miscalibration(made.place)
    chance = np.array([statistic.miscalibration(sampler.places(rng)) for _ in range(draws)])
    as_much = int(np.count_nonzero(chance >= observed - _SAME))
    p = tail = (1 + as_much) / (1 + draws)
    mean, variance = float(chance.mean()), _WIDER * float(chance.var(ddof=1)) if draws > 1 else 0.0
    if not as_much and mean > 0 and variance > 0:
        tail = min(p, float(gammaincc(mean * mean / variance, observed * mean / variance)))
    return CalibrationTest(observed, mean, p, draws, seed, tail)


def _clustered(made: CalibrationPairs, units: NDArray[np.intp], seed: int) -> CalibrationTest:
    """Hotelling's test that the sums of residuals over clusters have mean zero, with a least covariance."""
    number = int(units.max()) + 1
    if number < FEWEST:
        there = "there is one" if number == 1 else f"there are {number}"
        raise TopListError(f"a test over clusters needs {FEWEST} or more of them, and {there}.")
    residuals, covariance = _residuals(made)
    chance = np.diag(covariance) > _NO_CHANCE * len(units)
    if (np.abs(residuals[~chance]) > 0.5).any():  # an outcome has probability 0
        return CalibrationTest(math.inf, 0.0, 0.0, 0, seed, 0.0, (0, number))
    scale = np.sqrt(np.diag(covariance)[chance])
    values, vectors = np.linalg.eigh(covariance[np.ix_(chance, chance)] / np.outer(scale, scale))
    some = values > _SAME_DIRECTION
    whiten = vectors[:, some] / np.sqrt(values[some]) / scale[:, None]
    q = int(np.count_nonzero(some))
    if not q:
        return CalibrationTest(0.0, 0.0, 1.0, 0, seed, 1.0, (0, number))
    z = np.stack([np.bincount(units, weights=one) for one in whiten.T @ residuals[chance]], axis=1)
    total = z.sum(axis=0)
    away = z - total / number
    spread, axes = np.linalg.eigh(away.T @ away * (number / (number - 1)))
    spread = np.maximum(spread, max(_LEAST, _POOLED * float(spread.mean())))
    squared = float(((axes.T @ total) ** 2 / spread).sum())
    rest = number - q
    statistic = squared * rest / (q * (number - 1))
    p = float(fdtrc(q, rest, statistic))
    return CalibrationTest(statistic, rest / (rest - 2), p, 0, seed, p, (q, rest))


def _residuals(made: CalibrationPairs) -> tuple[Floats, Floats]:
    """Per case, hit - confidence of the first class, of the listed mass, and of all classes weighted by confidence.

    And the covariance of their sums over calibrated, independent cases. The rest counts as one class.
    """
    lists, t, rest, mass, place = made.lists, made.confidence, made.rest, made.mass, made.place
    offsets, listed = lists.offsets, place != MISSED
    some, first, said = lists.sizes > 0, np.zeros(len(lists)), rest.copy()
    first[some] = t[offsets[:-1][some]]
    said[listed] = t[offsets[:-1][listed] + place[listed]]
    squares = row_sums(t * t, offsets)
    mean = squares + rest * rest
    residuals = np.stack(((place == 0) - first, listed - mass, said - mean))
    aa, ab, ac = first * (1.0 - first), first * (1.0 - mass), first * (first - mean)
    bb, bc, cc = mass * rest, squares - mass * mean, row_sums(t**3, offsets) + rest**3 - mean * mean
    return residuals, np.array([[aa, ab, ac], [ab, bb, bc], [ac, bc, cc]]).sum(axis=2)


@dataclass(frozen=True, slots=True)
class TestStatistic:
    """The confidences of all layers, one after the other, equal ones together: all that does not depend on outcomes."""

    cases: int
    starts: NDArray[np.int64]  # of each case among the entries
    group: NDArray[np.intp]  # of each entry
    listed: int  # groups of entries; those of the rest follow
    rest: RankLayer
    rest_group: NDArray[np.intp]  # of each case that has a rest
    rest_some: NDArray[np.bool_]  # groups of the rest that weigh anything
    x: Floats
    weight: Floats
    squares: float  # the sum of w x^2
    layer: NDArray[np.intp]
    first: NDArray[np.intp]  # the first group of each layer

    @classmethod
    def of(cls, made: CalibrationPairs) -> TestStatistic:
        """The layers that `decompose` has."""
        *ranks, rest = layers(made, RANKS)
        group, listed = np.zeros(len(made.rank), np.intp), 0
        x, weight = [], []
        for layer in ranks:
            values, code, counts = np.unique(layer.confidence, return_inverse=True, return_counts=True)
            group[layer.at] = listed + code
            listed += len(values)
            x.append(values)
            weight.append(counts.astype(np.float64))
        values, rest_group = np.unique(rest.confidence, return_inverse=True)
        shares = np.bincount(rest_group, weights=rest.weight, minlength=len(values)).astype(np.float64)
        some = shares > 0
        x.append(values[some])
        weight.append(shares[some])
        every, weights = np.concatenate(x), np.concatenate(weight)
        sizes = np.array([len(each) for each in x])
        first = np.cumsum(sizes) - sizes
        return cls(
            len(made.lists),
            made.lists.offsets[:-1],
            group,
            listed,
            rest,
            rest_group,
            some,
            every,
            weights,
            float((weights * every * every).sum()),
            np.repeat(np.arange(len(sizes)), sizes),
            first[sizes > 0],
        )

    def miscalibration(self, place: NDArray[np.int64]) -> float:
        """The miscalibration of all layers, if these are the ranks of the outcomes.

        The sum of w x^2 - 2 w x h + w c^2 with h the hit rate and c its isotonic fit. Groups in a row without a hit
        share a fit and are taken together first, and the layers are fitted at once, lifted above each other.
        """
        total = self._hits(place)
        if not len(total):
            return 0.0
        some = total > 0
        edge = some.copy()
        edge[1:] |= some[:-1]
        edge[self.first] = True
        at = np.flatnonzero(edge)
        w, hits = np.add.reduceat(self.weight, at), total[at]
        blocks = isotonic_regression(hits / w + 2.0 * self.layer[at], w).blocks[:-1]
        crossed = self.x[at] @ hits
        w, hits = np.add.reduceat(w, blocks), np.add.reduceat(hits, blocks)
        return max(float(self.squares - 2.0 * crossed + (hits * hits / w).sum()) / self.cases, 0.0)

    def _hits(self, place: NDArray[np.int64]) -> Floats:
        """How many pairs, or how much weight, of each group are hits."""
        hit = place != MISSED
        listed = np.bincount(self.group[self.starts[hit] + place[hit]], minlength=self.listed)
        miss = ~hit[self.rest.at] if self.rest.weight is None else self.rest.weight * ~hit[self.rest.at]
        rest = np.bincount(self.rest_group, weights=miss, minlength=len(self.rest_some))
        return np.concatenate((listed[: self.listed], rest[self.rest_some])).astype(np.float64)


Direction = Literal["over", "under", "mass over", "mass under", "mixed", "undecided", "none"]
SIGNIFICANT: Final = 0.05


@dataclass(frozen=True, slots=True)
class CalibrationVerdict:
    """The test of calibration, and the calibration bias of the first class and of the listed mass."""

    test: CalibrationTest | None
    tested: int  # cases that the test is of
    bias: CalibrationBias | None
    mass_bias: CalibrationBias | None
    clusters: int | None  # how many there are in the sample of cases; None where cases are taken as independent
    notes: tuple[str, ...] = ()  # what is missing or approximate, and why

    def direction(self, p: float | None = None) -> Direction | None:
        """The direction of miscalibration at 5 %, by this p value if it is given, else the test's; None without a test.

        Only where the test rejects are lists over- or underconfident, in the direction of an interval without zero: of
        the first class, or else of the listed mass; where neither interval excludes zero, it is mixed. Where the test
        does not reject and one of them excludes zero, it is undecided.
        """
        if self.test is None:
            return None
        if (self.test.p if p is None else p) > SIGNIFICANT:
            return "none" if self.biased is None else "undecided"
        if self.bias is not None and excludes_zero(self.bias):
            return "over" if self.bias.difference > 0 else "under"
        if self.mass_bias is not None and excludes_zero(self.mass_bias):
            return "mass over" if self.mass_bias.difference > 0 else "mass under"
        return "mixed"

    @property
    def biased(self) -> CalibrationBias | None:
        """The first bias whose interval excludes zero: of the first class, or of the listed mass."""
        return next((bias for bias in (self.bias, self.mass_bias) if bias is not None and excludes_zero(bias)), None)


def excludes_zero(bias: CalibrationBias) -> bool:
    """Whether the interval excludes zero."""
    return bias.low is not None and bias.high is not None and (bias.low > 0 or bias.high < 0)
