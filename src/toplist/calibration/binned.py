"""Mergeable calibration: sums over fine bins by rank, from which curves, errors and decompositions follow."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from toplist.calibration.decomposition import REST, Decomposition, Reliability, split, sum_up, unlisted
from toplist.calibration.miscalibration import (
    CalibrationBias,
    CalibrationError,
    bias_of,
    error_of,
    even_bins,
    joined,
    least_variance,
)
from toplist.calibration.pairs import Bins, Of, as_of, calibration_pairs, pool
from toplist.core.arguments import as_probability, as_whole
from toplist.core.kernel import UNIT, exact_sums
from toplist.errors import TopListError
from toplist.lists import as_lists
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
        return Binned(
            self.cases + other.cases,
            tuple(a + b for a, b in zip(self.ranks, other.ranks, strict=True)),
            self.mass + other.mass,
            self.rest + other.rest,
            self.resting + other.resting,
            self.score + other.score,
            self.misses + other.misses,
            self.penalty + other.penalty,
            self.unpayable + other.unpayable,
        )

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
        return cls(
            len(lists),
            Bins.by_layer(np.minimum(made.rank, RANKS), RANKS + 1, made.confidence, made.hit, FINE),
            Bins.by_layer(np.zeros(len(lists), np.intp), 1, made.mass, ~miss, FINE)[0],
            Bins.weighted(made.rest[some], miss[some], 1.0 / n[some], FINE),
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
