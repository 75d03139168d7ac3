"""Pairs of confidence and hit: every listed class with its confidence and rank, and whether it is the outcome.

They are put in bins of one width with exact sums, so that bins of disjoint pairs can be added, or pooled by isotonic
regression: the rising step function that fits the hits best, by pooling adjacent violators (PAV).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from toplist._typing import Bools, Codes, Floats
from toplist.core.kernel import UNIT, exact_sums, sums_by
from toplist.errors import TopListError
from toplist.lists import TopLists, as_lists
from toplist.lists.converters import as_single_outcomes
from toplist.lists.toplists import ranks_in
from toplist.lists.validation import row_sums

MISSED = -1
_DECIMALS = 13  # sums of the same numbers in another order differ in the last of sixteen
Column = tuple[int, ...]
BINS: Final = 20


@dataclass(frozen=True, slots=True)
class TiedGroups:
    """Equal values of x taken together, in rising order: how much they weigh, and the sum of y over them."""

    x: Floats
    weight: Floats
    total: Floats


@dataclass(frozen=True, slots=True)
class Steps:
    """A rising step function: `value[i]` from `low[i]` to `high[i]`, with what each step weighs; straight between."""

    low: Floats
    high: Floats
    value: Floats
    weight: Floats

    def __len__(self) -> int:
        return len(self.value)

    def __call__(self, x: Any) -> Floats:
        """The function at x: the value of a step within it, a straight line between steps, and flat outside."""
        ends = np.stack((self.low, self.high), axis=1).ravel()
        apart = np.ones(len(ends), bool)
        apart[1::2] = self.high > self.low
        found: Floats = np.interp(x, ends[apart], np.repeat(self.value, 2)[apart])
        return found


def pav(x: Any, y: Any, weight: Any = None) -> Steps:
    """The rising function of x that is nearest to y in (weighted) mean square; equal x have one value.

    >>> steps = pav([0.1, 0.2, 0.3, 0.4], [0, 1, 0, 1])
    >>> steps.low, steps.high, steps.value
    (array([0.1, 0.2, 0.4]), array([0.1, 0.3, 0.4]), array([0. , 0.5, 1. ]))
    """
    return pool(grouped(x, y, weight))


def grouped(x: Any, y: Any, weight: Any = None) -> TiedGroups:
    """Values of x in rising order, equal ones together.

    Where y is yes or no and x is not negative, both are sorted as one column of integers: the bits of such doubles are
    in the order of their values, and the last bit is free for y.
    """
    x, y = np.ascontiguousarray(x, dtype=np.float64), np.asarray(y)
    if not len(x):
        return TiedGroups(x, np.zeros(0), np.zeros(0))
    if weight is None and y.dtype == bool and not np.signbit(x).any():
        packed = (x.view(np.uint64) << np.uint64(1)) | y
        packed.sort()
        kept = packed & np.uint64(1)
        bits = packed >> np.uint64(1)
        first = _first(bits)
        hits = np.concatenate((np.zeros(1, np.int64), np.cumsum(kept, dtype=np.int64)))
        ends = np.append(first, len(x))
        return TiedGroups(
            bits[first].view(np.float64), np.diff(ends).astype(np.float64), np.diff(hits[ends]).astype(np.float64)
        )
    order = np.argsort(x, kind="stable")
    x, y = x[order], y[order].astype(np.float64)
    w = np.ones(len(x)) if weight is None else np.asarray(weight, np.float64)[order]
    first = _first(x)
    return TiedGroups(x[first], np.add.reduceat(w, first), np.add.reduceat(w * y, first))


def merged(x: Floats) -> Floats:
    """Numbers to thirteen significant digits, since sums of the same numbers differ in the last of sixteen.

    >>> merged(np.array([0.1 + 0.2, 0.3, 0.0])).tolist()
    [0.3, 0.3, 0.0]
    """
    safe = np.where(x > 1e-290, x, 1.0)
    digits = 10.0 ** (_DECIMALS - 1 - np.floor(np.log10(safe)))
    found: Floats = np.where(x > 1e-290, np.round(safe * digits) / digits, x)
    return found


def isotonic_regression(y: Floats, weights: Floats) -> Any:
    """The rising step function that is nearest to y, by scipy: its values `x`, and where its `blocks` begin."""
    from scipy.optimize import isotonic_regression as fitted  # noqa: PLC0415  not cheap to import

    return fitted(y, weights=weights)


def pool(groups: TiedGroups) -> Steps:
    """The step function of groups; those that weigh nothing have no say, and no step."""
    some = groups.weight > 0
    x, w = groups.x[some], groups.weight[some]
    if not len(x):
        return Steps(x, x, x, x)
    found = isotonic_regression(groups.total[some] / w, w)
    starts, ends = found.blocks[:-1], found.blocks[1:] - 1
    return Steps(x[starts], x[ends], found.x[starts], found.weights)


def _first(ordered: NDArray[Any]) -> NDArray[np.intp]:
    """Where a new value begins."""
    new = np.ones(len(ordered), dtype=bool)
    np.not_equal(ordered[1:], ordered[:-1], out=new[1:])
    return np.flatnonzero(new)


@dataclass(frozen=True, slots=True)
class CalibrationPairs:
    """The entries of all lists, case by case and the most confident first: a confidence, and a hit or not."""

    lists: TopLists  # as they are scored: strictly valid, most confident first
    rank: NDArray[np.int64]  # of each entry, from 0
    place: NDArray[np.int64]  # per case, the rank of the outcome, or MISSED

    @property
    def confidence(self) -> Floats:
        """The confidence of each entry."""
        return self.lists.normalized_confidences

    @property
    def rest(self) -> Floats:
        """The mass that each case leaves unlisted, to thirteen decimals: 1 - 0.7 - 0.1 and 1 - 0.6 - 0.2 are equal.

        It is a sum, as confidences may be, see `merged`.
        """
        return np.round(self.lists.rest, _DECIMALS)

    @property
    def mass(self) -> Floats:
        """The mass that each case lists, to thirteen decimals."""
        return np.round(self.lists.mass, _DECIMALS)

    @property
    def case(self) -> NDArray[np.intp]:
        """The case that each entry belongs to."""
        return np.repeat(np.arange(len(self.lists)), self.lists.sizes)

    @property
    def hit(self) -> NDArray[np.bool_]:
        """Whether the class of each entry is the outcome."""
        hit: NDArray[np.bool_] = self.rank == np.repeat(self.place, self.lists.sizes)
        return hit

    @property
    def miss(self) -> NDArray[np.bool_]:
        """Per case: whether the outcome is not listed."""
        miss: NDArray[np.bool_] = self.place == MISSED
        return miss

    def take(self, cases: NDArray[np.intp]) -> CalibrationPairs:
        """The pairs of some cases."""
        lists = self.lists[cases]
        return CalibrationPairs(lists, ranks_in(lists), self.place[cases])


def calibration_pairs(predictions: Any, y: Any, space: Any = None) -> CalibrationPairs:
    """Every listed confidence with its rank and hit; of an invalid list, those of its largest valid sublist.

    >>> made = calibration_pairs(TopLists.from_dicts([{"a": 0.2, "b": 0.7}, {"a": 0.9}], 3), ["a", "b"])
    >>> made.confidence, made.hit, made.miss
    (array([0.7, 0.2, 0.9]), array([False,  True, False]), array([False,  True]))
    """
    lists = as_lists(predictions, space)
    codes = as_single_outcomes(y, lists, "calibration needs")
    ordered = lists.strictly_valid().ordered()
    sizes = ordered.sizes
    rank = ranks_in(ordered)
    hit = np.flatnonzero(ordered.classes == np.repeat(codes, sizes))
    place = np.full(len(ordered), MISSED, np.int64)
    place[np.repeat(np.arange(len(ordered)), sizes)[hit]] = rank[hit]
    return CalibrationPairs(ordered, rank, place)


@dataclass(frozen=True, slots=True)
class OutcomeSampler:
    """Lists prepared for sampling outcomes repeatedly."""

    sizes: NDArray[np.int64]
    starts: NDArray[np.int64]
    base: Floats  # per case, the mass of all lists before it
    ends: Floats  # per entry, the mass up to and with it
    last: NDArray[np.int64]  # the last place that has any mass; as many as there are entries is the rest

    @classmethod
    def of(cls, lists: TopLists) -> OutcomeSampler:
        """`lists` are those of `CalibrationPairs`."""
        t, sizes, starts = lists.normalized_confidences, lists.sizes, lists.offsets[:-1]
        ends = np.concatenate((np.zeros(1), np.cumsum(t)))
        positive = row_sums(t > 0, lists.offsets).astype(np.int64)
        last = np.where(lists.rest > 0, sizes, positive - 1)  # rounding must not draw a class from no mass
        return cls(sizes, starts, ends[starts], ends[1:], last)

    def places(self, rng: np.random.Generator) -> NDArray[np.int64]:
        """A sampled outcome for each case: the rank of a listed class, or MISSED."""
        if not len(self.sizes):
            return np.zeros(0, np.int64)
        goal = self.base + rng.random(len(self.sizes))
        passed = np.append(self.ends <= np.repeat(goal, self.sizes), False)
        place = np.where(self.sizes > 0, np.add.reduceat(passed, self.starts, dtype=np.int64), 0)
        place = np.minimum(place, self.last)
        return np.where(place < self.sizes, place, MISSED)


Of = str | int
NAMES = ("listed", "top", "mass")


@dataclass(frozen=True, slots=True)
class PairsView:
    """Some of the pairs: confidences, hits, and the case of each."""

    of: Of
    confidence: Floats
    hit: NDArray[np.bool_]
    case: NDArray[np.intp]
    _starts: NDArray[np.int64] | None  # of each case among the entries, where all are seen

    def hits(self, place: NDArray[np.int64]) -> NDArray[Any]:
        """The pairs that would be hits if the outcomes had these ranks: a mask, or their numbers."""
        hit: NDArray[np.bool_] = place != MISSED
        if self._starts is not None:
            at: NDArray[np.int64] = self._starts[hit] + place[hit]
            return at
        if self.of == "mass":
            return hit
        own: NDArray[np.bool_] = place[self.case] == _rank(self.of)
        return own


def as_of(of: Any) -> Of:
    """The name of a view, or a rank from 1.

    >>> as_of(np.int64(2))
    2
    """
    if isinstance(of, str) and of in NAMES:
        return of
    if isinstance(of, int | np.integer) and not isinstance(of, bool) and of >= 1:
        return int(of)
    raise TopListError(f"of is 'listed', 'top', 'mass' or a rank from 1, not {of!r}.")


def view(made: CalibrationPairs, of: Any) -> PairsView:
    """The pairs of one kind; an error where there are none."""
    of, lists = as_of(of), made.lists
    require_cases(made)
    if of == "mass":
        return PairsView(of, made.mass, ~made.miss, np.arange(len(lists)), None)
    sizes = lists.sizes
    if not sizes.any():
        raise TopListError("every list is empty: there is no confidence to look at, only the mass (of='mass').")
    if of == "listed":
        return PairsView(of, made.confidence, made.hit, made.case, lists.offsets[:-1])
    rank = _rank(of)
    case = np.flatnonzero(sizes > rank)
    if not len(case):
        raise TopListError(f"no list has a rank {of}: the longest has {int(sizes.max())}.")
    return PairsView(of, made.confidence[lists.offsets[:-1][case] + rank], made.place[case] == rank, case, None)


def require_cases(made: CalibrationPairs) -> None:
    """Raise if there are none."""
    if not len(made.lists):
        raise TopListError("there are no cases.")


def _rank(of: Of) -> int:
    return 0 if isinstance(of, str) else of - 1


@dataclass(frozen=True, slots=True)
class Bin:
    """The pairs of confidence and hit whose confidence is in one bin.

    Attributes
    ----------
    low, high : float
        The bounds of the bin.
    count : int
        How many pairs there are.
    mean_confidence, hit_rate : float
        The mean of the confidences, and how often their classes are the outcome.

    """

    low: float
    high: float
    count: int
    mean_confidence: float
    hit_rate: float


@dataclass(frozen=True, slots=True)
class Bins:
    """Sums by bin: of weights, confidences and hits and, if asked for, of squared confidences and confidences of hits.

    Bin i of n has the confidences with floor(n x) = i, and the last one those of exactly 1 too. Sums are whole numbers
    in units of the smallest double, so that how the pairs were split does not matter.
    """

    columns: tuple[Column, ...] = ((0,) * BINS,) * 3

    @classmethod
    def zeros(cls, n: int, *, products: bool = False) -> Bins:
        """So many empty bins."""
        return cls(((0,) * n,) * (5 if products else 3))

    @classmethod
    def of(cls, x: Floats, hit: NDArray[Any], n: int = BINS) -> Bins:
        """The bins of confidences in [0, 1]; a hit is yes or no, or a probability."""
        if hit.dtype == bool:
            return cls.of_hits(x, hit, n)[0]
        which = _bin(x, n)
        return cls((_counts(which, n), *map(tuple, sums_by(np.stack([x, hit]), which, n).T.tolist())))

    @classmethod
    def of_hits(cls, x: Floats, hit: Bools, n: int = BINS) -> tuple[Bins, int]:
        """The same where a hit is yes or no, in one pass; and the sum of the confidences that are hits."""
        code = 2 * _bin(x, n) + hit
        counts, sums = np.bincount(code, minlength=2 * n).tolist(), sums_by(x[None, :], code, 2 * n)[:, 0].tolist()
        counted = tuple((miss + hits) * UNIT for miss, hits in zip(counts[::2], counts[1::2], strict=True))
        hits, of_hits = tuple(count * UNIT for count in counts[1::2]), sums[1::2]
        return cls((counted, tuple(map(int.__add__, sums[::2], of_hits)), hits)), sum(of_hits)

    @classmethod
    def of_listed(cls, t: Floats, sizes: Codes | None, hits: Floats, n: int = BINS) -> Bins:
        """The bins of padded lists side by side, with the confidences of the outcomes that are listed.

        `sizes` are the lengths of the lists where some are padded.
        """
        which = _bin(t, n)
        if sizes is not None:
            which[np.arange(len(t))[:, None] >= sizes] = n
        which = which.reshape(-1)
        sums = sums_by(t.reshape(1, -1), which, n + 1)[:n, 0]
        return cls((_counts(which, n), tuple(sums.tolist()), _counts(_bin(hits, n), n)))

    @classmethod
    def by_layer(
        cls, layer: NDArray[Any], layers: int, x: Floats, hit: Bools, n: int, weight: Floats | None = None
    ) -> tuple[Bins, ...]:
        """Bins with products for each layer."""
        code, size = layer * n + _bin(x, n), layers * n
        hits = hit.astype(np.float64)
        columns = np.stack((np.ones(len(x)), x, hits, x * x, x * hits))
        sums = exact_sums(columns if weight is None else columns * weight, (), code, size).T.tolist()
        return tuple(cls(tuple(tuple(c[at : at + n]) for c in sums)) for at in range(0, size, n))

    def __add__(self, other: Bins) -> Bins:
        pairs = zip(self.columns, other.columns, strict=True)
        return Bins(tuple(tuple(map(int.__add__, a, b)) for a, b in pairs))

    def __bool__(self) -> bool:
        return any(self.columns[0])

    @property
    def count(self) -> int:
        """How many pairs there are."""
        return sum(self.columns[0]) // UNIT

    def merge(self, parts: Iterable[Iterable[int]]) -> Bins:
        """Some bins taken together, one bin for each part."""
        where = [list(part) for part in parts]
        return Bins(tuple(tuple(sum(column[i] for i in part) for part in where) for column in self.columns))

    def means(self) -> tuple[Bin, ...]:
        """Means by bin; empty bins are left out.

        >>> Bins.of(np.array([1.0, 0.5]), np.array([True, False])).means()[0]
        Bin(low=0.5, high=0.55, count=1, mean_confidence=0.5, hit_rate=0.0)
        """
        n = len(self.columns[0])
        return tuple(
            Bin(i / n, (i + 1) / n, weight // UNIT, confidence / weight, hits / weight)
            for i, (weight, confidence, hits) in enumerate(zip(*self.columns[:3], strict=True))
            if weight
        )

    def groups(self) -> TiedGroups:
        """The filled bins, each at the mean of its confidences."""
        some = [at for at in zip(*self.columns[:3], strict=True) if at[0]]
        return TiedGroups(
            np.array([confidence / weight for weight, confidence, _ in some]),
            np.array([weight / UNIT for weight, _, _ in some]),
            np.array([hits / UNIT for _, _, hits in some]),
        )

    def squared_distance(self) -> int:
        """The sum of (confidence - hit)^2; of bins with products."""
        _, _, hits, squares, both = map(sum, self.columns)
        return squares - 2 * both + hits


def _bin(x: Floats, n: int) -> NDArray[np.int32]:
    which = (x * float(n)).astype(np.int32)
    return np.minimum(which, n - 1, out=which)


def _counts(which: NDArray[Any], n: int) -> Column:
    return tuple(count * UNIT for count in np.bincount(which, minlength=n)[:n].tolist())
