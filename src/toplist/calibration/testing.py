"""Could calibrated lists have done this? An exact test by drawing outcomes from the lists themselves.

Over- or underconfident, by the test of calibration: one verdict for a diagnosis and for a report.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import isotonic_regression
from scipy.special import gammaincc

from toplist._arguments import as_units, as_whole
from toplist._typing import Floats
from toplist.calibration.decomposition import RANKS, RankLayer, layers
from toplist.calibration.error import CalibrationBias
from toplist.calibration.pairs import MISSED, CalibrationPairs, OutcomeSampler, promises, require_cases
from toplist.lists import TopLists

_SAME = 1e-13  # two ways to add up one number
_SAMPLES = 25  # of one case per cluster
_WIDER = 1.25  # what the variance of 199 draws is multiplied by, because it may have come out too small


@dataclass(frozen=True, slots=True)
class CalibrationTest:
    """How much miscalibration there is, how much calibrated lists would show, and how often as much as this.

    With clusters, the first two are means over samples of one case of each.
    """

    statistic: float
    expected: float
    p: float
    draws: int
    seed: int
    tail: float  # p, or the tail of a gamma distribution where no draw reaches the statistic: for many tests at once


def calibration_test(
    lists: TopLists, y: Any, *, draws: Any = 999, seed: Any = 0, clusters: Any = None
) -> CalibrationTest:
    """A test of calibration that holds its level exactly, for lists of any lengths.

    The statistic is the miscalibration of the Brier score over all ranks and the rest (`decompose`). Under the null
    the outcomes of independent cases are drawn from their padded lists, so p = (1 + #{T* >= T}) / (1 + draws).

    Cases of one cluster may depend on each other in any way: one case of each is drawn and tested, again and again, and
    p is twice the mean of what these tests say, which is a p value however they depend on each other (Rueschendorf,
    1982; Vovk and Wang, 2020).

    >>> lists = TopLists.from_topk([[0]] * 20, [[0.9]] * 20, 2)
    >>> calibration_test(lists, [0] * 18 + [1] * 2).p, calibration_test(lists, [0] * 10 + [1] * 10).p
    (1.0, 0.001)
    """
    draws, seed = as_whole(draws, "draws", 1), as_whole(seed, "seed", 0)
    made, rng = promises(lists, y), np.random.default_rng(seed)
    require_cases(made)
    units = as_units(clusters, len(lists))
    if int(units.max()) + 1 == len(units):  # each case alone
        statistic, expected, p, tail = _tested(made, draws, rng)
        return CalibrationTest(statistic, expected, p, draws, seed, tail)
    found = np.array([_tested(made.at(one_of_each(units, rng)), draws, rng) for _ in range(_SAMPLES)])
    statistic, expected, p, tail = found.mean(axis=0).tolist()
    return CalibrationTest(statistic, expected, min(1.0, 2.0 * p), draws, seed, min(1.0, 2.0 * tail))


def _tested(made: CalibrationPairs, draws: int, rng: np.random.Generator) -> tuple[float, float, float, float]:
    """The statistic of independent cases, its mean over draws, p, and the tail."""
    ladder, drawing = TestStatistic.of(made), OutcomeSampler.of(made.lists)
    found = ladder.miscalibration(made.place)
    chance = np.array([ladder.miscalibration(drawing.places(rng)) for _ in range(draws)])
    as_much = int(np.count_nonzero(chance >= found - _SAME))
    p = (1 + as_much) / (1 + draws)
    return found, float(chance.mean()), p, p if as_much else min(p, _beyond(found, chance))


def _beyond(found: float, chance: Floats) -> float:
    """How often a gamma distribution with the mean of the draws, and rather more than their variance, is as large."""
    mean, variance = float(chance.mean()), _WIDER * float(chance.var(ddof=1)) if len(chance) > 1 else 0.0
    if mean <= 0 or variance <= 0:
        return 1.0
    return float(gammaincc(mean * mean / variance, found * mean / variance))


def one_of_each(units: NDArray[np.intp], rng: np.random.Generator) -> NDArray[np.intp]:
    """A case of every cluster, drawn at random, in the order of cases."""
    order = rng.permutation(len(units))
    _, first = np.unique(units[order], return_index=True)
    return np.sort(order[first])


@dataclass(frozen=True, slots=True)
class TestStatistic:
    """The promises of all layers, one layer after the other, equal ones together: all that no outcome changes."""

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
            values, code, counts = np.unique(layer.promised, return_inverse=True, return_counts=True)
            group[layer.at] = listed + code
            listed += len(values)
            x.append(values)
            weight.append(counts.astype(np.float64))
        values, rest_group = np.unique(rest.promised, return_inverse=True)
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
        """That of all layers, if these are the places of what happened.

        The sum of w x^2 - 2 w x h + w c^2 with h what was kept and c its isotonic fit. Groups in a row that kept
        nothing share a fit and are taken together first, and the layers are fitted at once, lifted above each other.
        """
        total = self._kept(place)
        if not len(total):
            return 0.0
        some = total > 0
        edge = some.copy()
        edge[1:] |= some[:-1]
        edge[self.first] = True
        at = np.flatnonzero(edge)
        w, kept = np.add.reduceat(self.weight, at), total[at]
        blocks = isotonic_regression(kept / w + 2.0 * self.layer[at], weights=w).blocks[:-1]
        crossed = self.x[at] @ kept
        w, kept = np.add.reduceat(w, blocks), np.add.reduceat(kept, blocks)
        return max(float(self.squares - 2.0 * crossed + (kept * kept / w).sum()) / self.cases, 0.0)

    def _kept(self, place: NDArray[np.int64]) -> Floats:
        """How many promises, or how much weight, of each group were kept."""
        hit = place != MISSED
        listed = np.bincount(self.group[self.starts[hit] + place[hit]], minlength=self.listed)
        missed = ~hit[self.rest.at] if self.rest.weight is None else self.rest.weight * ~hit[self.rest.at]
        rest = np.bincount(self.rest_group, weights=missed, minlength=len(self.rest_some))
        return np.concatenate((listed[: self.listed], rest[self.rest_some])).astype(np.float64)


Direction = Literal["over", "under", "mass over", "mass under", "mixed", "none"]
SIGNIFICANT: Final = 0.05


@dataclass(frozen=True, slots=True)
class CalibrationVerdict:
    """The test of calibration, and mean confidence minus frequency: of the first class, and of the listed mass."""

    test: CalibrationTest | None
    tested: int  # cases that the test is of
    gap: CalibrationBias | None
    mass_gap: CalibrationBias | None
    clusters: int | None  # how many the cases that are held are in; None where cases are taken as independent
    notes: tuple[str, ...] = ()  # what is missing or approximate, and why

    def direction(self, p: float | None = None) -> Direction | None:
        """What may be said at 5 %, by this p value instead of the test's own if it is given; None without a test.

        Only what the test finds is called over- or underconfident, in the direction of an interval without zero: of
        the first class, or else of the listed mass; where neither interval leaves zero out, it is mixed.
        """
        if self.test is None:
            return None
        if (self.test.p if p is None else p) > SIGNIFICANT:
            return "none"
        if self.gap is not None and sure(self.gap):
            return "over" if self.gap.difference > 0 else "under"
        if self.mass_gap is not None and sure(self.mass_gap):
            return "mass over" if self.mass_gap.difference > 0 else "mass under"
        return "mixed"


def sure(gap: CalibrationBias) -> bool:
    """Whether the interval leaves zero out."""
    return gap.low is not None and gap.high is not None and (gap.low > 0 or gap.high < 0)
