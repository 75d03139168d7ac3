"""Mergeable calibration: exact sums in bins of confidences, from which curves, errors and decompositions follow.

Fine bins by rank serve for all that lists show, twenty of top-1 predictions for a board.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from toplist._typing import Floats
from toplist.calibration.decomposition import (
    REST,
    Decomposition,
    Reliability,
    clopper_pearson,
    split,
    sum_up,
    unlisted,
)
from toplist.calibration.miscalibration import (
    CalibrationBias,
    CalibrationError,
    bias_of,
    error_of,
    even_bins,
    joined,
    least_variance,
)
from toplist.calibration.pairs import BINS, Bin, Bins, Of, as_of, calibration_pairs, pool
from toplist.core.arguments import as_probability, as_whole
from toplist.core.kernel import UNIT, exact_sums, sums_by
from toplist.errors import TopListError
from toplist.lists import TopLists, as_lists
from toplist.scoring.rules import Brier
from toplist.scoring.scores import penalise, score

FINE = 200
NOTHING = Bins.zeros(FINE, products=True)
RANKS = 5
_COARSE = 10  # fine bins to one of the histogram


@dataclass(frozen=True, slots=True)
class Binned:
    """Pairs of confidence and hit in 200 bins of one width, by rank, of the mass and of the rest; sums are exact.

    ``Binned.of(lists, y)`` makes one; adding two gives that of all their cases, however they were split. Each result is
    that of the exact function with every confidence moved to the mean of its bin.

    Examples
    --------
    >>> from toplist import TopLists
    >>> lists = TopLists.from_dicts([{"a": 0.9}, {"a": 0.6}], 3)
    >>> both = Binned.of(lists[:1], ["a"]) + Binned.of(lists[1:], ["b"])
    >>> round(both.calibration_bias().difference, 6)
    0.25

    """

    cases: int = 0
    ranks: tuple[Bins, ...] = (NOTHING,) * (RANKS + 1)  # the last are all ranks beyond
    mass: Bins = NOTHING
    rest: Bins = NOTHING  # weighted by one over the number of classes that share it
    resting: int = 0  # cases that have a rest
    score: int = 0  # sums over cases, of the Brier score, misses and penalties
    misses: int = 0
    penalty: int = 0
    unpayable: int = 0  # cases with an infinite penalty

    def __add__(self, other: Binned) -> Binned:
        def add(a: Any, b: Any) -> Any:
            return tuple(map(add, a, b)) if isinstance(a, tuple) else a + b

        return Binned(*(add(getattr(self, each.name), getattr(other, each.name)) for each in fields(self)))

    @classmethod
    def of(cls, lists: Any, y: Any, *, penalty: float | None = None, space: Any = None) -> Binned:
        """The bins of lists with outcomes; of an invalid list, those of its largest valid sublist."""
        lists, rule = as_lists(lists, space), Brier()
        made = calibration_pairs(lists, y)
        if not len(lists):
            return cls()
        n = unlisted(made)
        some, miss = n > 0, made.miss
        due = penalise(np.zeros(len(lists)), lists, rule, penalty)
        payable = np.isfinite(due)
        columns = np.stack((
            score(lists, y, rule=rule, penalty=0.0),
            np.where(miss, 1.0 - 1.0 / np.where(some, n, 1.0), 0.0),
            np.where(payable, due, 0.0),
        ))  # fmt: skip
        total, misses, paid = exact_sums(columns)[0].tolist()
        nothing = np.zeros(len(lists), np.intp)
        return cls(
            len(lists),
            Bins.by_layer(np.minimum(made.rank, RANKS), RANKS + 1, made.confidence, made.hit, FINE),
            Bins.by_layer(nothing, 1, made.mass, ~miss, FINE)[0],
            Bins.by_layer(nothing[some], 1, made.rest[some], miss[some], FINE, 1.0 / n[some])[0],
            int(some.sum()),
            total + paid,
            misses,
            paid,
            int(np.count_nonzero(~payable)),
        )

    @property
    def longest(self) -> int:
        """The most ranks that a list has, where that is at most five; else six."""
        return max((rank for rank, sums in enumerate(self.ranks, 1) if sums), default=0)

    def reliability(self, of: Of = "listed") -> Reliability:
        """The isotonic curve over bins; there is no band, which would need the cases."""
        of, sums = self._seen(of)
        groups = sums.groups()
        steps = pool(groups)
        count, confidence, hits, *_ = map(sum, sums.columns)
        return Reliability(
            of,
            count // UNIT,
            confidence / count,
            hits / count,
            steps,
            groups.x,
            steps(groups.x),
            None,
            sums.merge(range(at, at + _COARSE) for at in range(0, FINE, _COARSE)).means(),
        )

    def decompose(self) -> Decomposition:
        """The mean Brier score in parts; what varies within bins is a part of its own.

        `within` is the mean over cases of the sum of (x - x_b)^2 - 2 (x - x_b)(h - h_b), the bars being means of the
        bin (Stephenson, Coelho and Jolliffe 2008). The score of a part includes its share of it.
        """
        self._require_cases()
        named = [(f"rank {rank + 1}", sums) for rank, sums in enumerate(self.ranks[:RANKS])]
        named = [(name, sums) for name, sums in (*named, (f"rank {RANKS + 1} and beyond", self.ranks[-1])) if sums]
        parts, within = [], []
        for name, sums in (*named, (REST, self.rest)):
            entries = self.resting if name == REST else sums.count
            rough = split(name, entries, sums.groups(), self.cases)
            exact = sums.squared_distance() / (self.cases * UNIT)
            within.append(exact - rough.score)
            parts.append(replace(rough, score=exact))
        per_case = self.cases * UNIT
        infinite = math.inf if self.unpayable else 0.0
        return sum_up(
            Brier(),
            self.cases,
            self.score / per_case + infinite,
            tuple(parts),
            self.misses / per_case,
            self.penalty / per_case + infinite,
            math.fsum(within),
        )

    def calibration_error(self, of: Of = "top", *, bins: Any = 15, level: Any = 0.95) -> CalibrationError:
        """As `toplist.calibration.calibration_error`, with fine bins taken together instead of equal confidences."""
        bins, level = as_whole(bins, "bins", 1), as_probability(level, "level")
        of, sums = self._seen(of)
        if of == "listed":
            raise TopListError(
                "bins do not tell which confidences are of one list, which the error of 'listed' needs: "
                "use 'top', 'mass' or a rank, or calibration_error of the lists."
            )
        some = np.flatnonzero(np.array(sums.columns[0], bool))
        count = np.array([sums.columns[0][at] // UNIT for at in some], float)
        code = joined(even_bins(count, bins), lambda code: np.bincount(code, weights=count))
        whole = [sums.merge([some[code == b]]) for b in range(int(code.max()) + 1)]
        n = np.array([s.count for s in whole], float)
        means, spread = (np.array(x) for x in zip(*(_distance(s) for s in whole), strict=True))
        least = np.array([_least(s) for s in whole])
        return error_of(of, means, np.diag(spread / n), least, n, int(n.sum()), level)

    def calibration_bias(self, of: Of = "top", *, level: Any = 0.95) -> CalibrationBias:
        """As `toplist.calibration.calibration_bias`: nothing is lost in bins."""
        level, named = as_probability(level, "level"), as_of(of)
        _, sums = self._seen("mass" if named == "listed" else named)
        return bias_of_sums(named, sums.merge([range(FINE)]), level)

    def _seen(self, of: Of) -> tuple[Of, Bins]:
        of = as_of(of)
        self._require_cases()
        if of == "mass":
            return of, self.mass
        if of == "listed":
            found = sum(self.ranks, NOTHING)
        elif isinstance(of, int) and of > RANKS:
            raise TopListError(f"bins are kept for ranks 1 to {RANKS}, not for rank {of}.")
        else:
            found = self.ranks[0 if isinstance(of, str) else of - 1]
        if not found:
            raise TopListError(f"no list has a confidence for {of!r}.")
        return of, found

    def _require_cases(self) -> None:
        if not self.cases:
            raise TopListError("there are no cases.")


def bias_of_sums(of: Of, sums: Bins, level: float, *, independent: bool = True, shared: int = 0) -> CalibrationBias:
    """The bias from a single bin with products; it has no interval where cases may depend on each other.

    `shared` is the sum of hits less that of their squares, where hits are shares: of ties, or of soft outcomes.
    """
    (count,), (confidence,), (hits,), *_ = sums.columns
    n = sums.count
    known = independent and n > 1
    variance = max(_distance(sums, shared)[1] / n, _least(sums)) if known else math.inf
    return bias_of(of, confidence / count, hits / count, variance, n - 1.0 if known else 0.0, level, cases=n)


def _distance(sums: Bins, shared: int = 0) -> tuple[float, float]:
    """Of confidence - hit in a single bin, its mean and the variance of one, over n - 1."""
    (count,), (confidence,), (hits,), *_ = sums.columns
    away, n = confidence - hits, sums.count
    # (sum of squares - (sum)^2 / n) / (n - 1), in whole numbers up to the last step
    return away / count, ((sums.squared_distance() - shared) * count - away * away) / (count * UNIT * (n - 1))


def _least(sums: Bins) -> float:
    """The least variance of the mean of confidence - hit in a single bin."""
    count, confidence, hits, squares, _ = (column[0] / UNIT for column in sums.columns)
    return float(least_variance(confidence - squares, hits, count))


# Top-1 predictions in twenty bins


@dataclass(frozen=True, slots=True)
class BinnedCalibration:
    """The calibration of top-1 predictions from sums in bins: a curve, the bias, and the expected calibration error.

    Attributes
    ----------
    cases : int
        Cases whose lists name a class; all of them count alike.
    bias : CalibrationBias
        Mean confidence minus accuracy, with Student's interval over cases; no bin matters to it.
    error : float
        The expected calibration error: the mean over cases of the distance of mean confidence and accuracy in the bin.
    chance : float
        About what this error would be for a calibrated model with as many cases in each bin.
    bins : tuple of Bin
        The bins that have cases.
    ends : tuple of (float, float)
        Of each of these, the Clopper-Pearson interval of its accuracy alone; empty where cases may depend on each
        other.
    level : float
        The level of the intervals.
    lengths : tuple of int
        How many classes the shortest and the longest list have.
    width : int
        How many bins of one width there are from 0 to 1.

    """

    cases: int
    bias: CalibrationBias
    error: float
    chance: float
    bins: tuple[Bin, ...]
    ends: tuple[tuple[float, float], ...]
    level: float
    lengths: tuple[int, int]
    width: int = BINS


@dataclass(frozen=True, slots=True)
class ReliabilityBins:
    """Top confidences and hits of one model in twenty bins of one width; those of disjoint cases can be added.

    Sums are whole numbers in units of the smallest double, so that neither order nor split of the cases matters. Of
    classes that tie for the first place, each is predicted in equal shares. Lists without a class have no confidence:
    they count among the cases, and in no bin. Cases count alike, whatever their weights are.

    Examples
    --------
    >>> from toplist import TopLists
    >>> lists = TopLists.from_dicts([{"a": 0.9}, {"a": 0.6}, {}], 3)
    >>> both = ReliabilityBins.of(lists[:1], np.array([True])) + ReliabilityBins.of(lists[1:], np.array([False, False]))
    >>> both.cases, both.bins.count, round(both.calibration(0.95).bias.difference, 6)
    (3, 2, 0.25)
    """

    cases: int = 0
    bins: Bins = field(default_factory=Bins)
    squares: int = 0  # the sum of squared confidences, each rounded to a double
    products: int = 0  # the sum of the confidences of hits
    shortest: int | None = None  # list, in classes; None without cases
    longest: int = 0
    shared: int = 0  # the sum of hits less that of their squares: nothing, unless some are shares

    @classmethod
    def of(cls, lists: TopLists, right: NDArray[Any]) -> ReliabilityBins:
        """The bins of lists; `right` says whether each top-1 prediction is the true class, or in which share."""
        if not len(lists):
            return cls()
        sizes = lists.sizes
        x = top_confidences(lists)
        hit = right if len(x) == len(right) else right[sizes > 0]
        if hit.dtype == bool:
            (bins, products), shared = Bins.of_hits(x, hit), 0
        else:
            bins, products, shared = Bins.of(x, hit), _total(x * hit), _total(hit * (1.0 - hit))
        return cls(len(lists), bins, _total(x * x), products, int(sizes.min()), int(sizes.max()), shared)

    def __add__(self, other: ReliabilityBins) -> ReliabilityBins:
        shortest = [one.shortest for one in (self, other) if one.shortest is not None]
        return ReliabilityBins(
            self.cases + other.cases,
            self.bins + other.bins,
            self.squares + other.squares,
            self.products + other.products,
            min(shortest, default=None),
            max(self.longest, other.longest),
            self.shared + other.shared,
        )

    def calibration(self, level: float, *, independent: bool = True) -> BinnedCalibration | None:
        """The curve, the bias and the expected calibration error; None where no list names a class.

        Where cases may depend on each other, in clusters or in time, the sums do not tell by how much: there are no
        intervals then.

        Notes
        -----
        The Clopper-Pearson interval of a bin contains its accuracy with at least the probability of the level if cases
        are independent; hits that are shares, of ties or of soft outcomes, vary less than hits that are yes or no. A
        calibrated model with n_b cases of mean confidence c_b in each bin has an expected calibration error of about
        the sum over bins of (n_b / n) sqrt(2 / pi * c_b (1 - c_b) / n_b).
        """
        if not self.bins:
            return None
        (count,), (confidence,), (hits,) = self.bins.merge([range(BINS)]).columns
        whole = Bins(((count,), (confidence,), (hits,), (self.squares,), (self.products,)))
        found = self.bins.means()
        n = whole.count
        return BinnedCalibration(
            n,
            bias_of_sums("top", whole, level, independent=independent, shared=self.shared),
            math.fsum(b.count * abs(b.mean_confidence - b.hit_rate) for b in found) / n,
            math.fsum(
                math.sqrt(2 / math.pi * max(b.mean_confidence * (1 - b.mean_confidence), 0.0) * b.count) for b in found
            )
            / n,
            found,
            tuple(clopper_pearson(b.count * b.hit_rate, b.count, level) for b in found) if independent else (),
            level,
            (self.shortest or 0, self.longest),
        )


def top_confidences(lists: TopLists) -> Floats:
    """The largest confidence of each list that names a class, as it is scored.

    >>> top_confidences(TopLists.from_dicts([{0: 0.4, 1: 0.5}, {}, {2: 0.1}], 5))
    array([0.5, 0.1])
    """
    checked = lists.checked
    rows, offsets, sizes = checked.rows, checked.rows.offsets, checked.sizes
    t, first, scaled = rows.confidences, offsets[:-1], np.flatnonzero(checked.scaled & (sizes > 0))
    if not sizes.all():
        first = first[sizes > 0]
    if not len(first):
        return np.zeros(0)
    rises = t[first[0] + 1 : offsets[-1]] > t[first[0] : offsets[-1] - 1]
    rises[first[1:] - first[0] - 1] = False  # from one list to the next
    top: Floats = (np.maximum.reduceat(t[: offsets[-1]], first) if rises.any() else t[first]).astype(np.float64)
    if len(scaled):
        top[np.searchsorted(first, offsets[scaled])] /= 1.0 - checked.signed_rest[scaled]
    return top


def _total(values: Floats) -> int:
    return int(sums_by(values[None, :], None, 1)[0, 0])
