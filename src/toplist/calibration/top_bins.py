"""Mergeable calibration of top-1 predictions: exact sums in twenty bins, and the binned curve that follows."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaincinv

from toplist._typing import Floats
from toplist.calibration.binned import bias_of_sums
from toplist.calibration.miscalibration import CalibrationBias
from toplist.calibration.pairs import BINS, Bin, Bins
from toplist.core.kernel import sums_by
from toplist.lists import TopLists


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


def clopper_pearson(hits: float, cases: int, level: float) -> tuple[float, float]:
    """The exact interval of a share.

    >>> [round(end, 4) for end in clopper_pearson(8, 10, 0.95)]
    [0.4439, 0.9748]
    """
    tail = (1.0 - level) / 2.0
    low = 0.0 if hits <= 0 else float(betaincinv(hits, cases - hits + 1.0, tail))
    high = 1.0 if hits >= cases else float(betaincinv(hits + 1.0, cases - hits, 1.0 - tail))
    return low, high


def _total(values: Floats) -> int:
    return int(sums_by(values[None, :], None, 1)[0, 0])
