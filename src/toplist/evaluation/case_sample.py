"""A sample of cases with class codes replaced by list positions, so that batches can be concatenated.

Calibration depends on the position of the outcome in its list and the confidence there, not on the name of the class.
So lists are kept with the positions of their entries as codes, and outcomes as positions.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from threading import Lock
from typing import Any, Final, TypeVar

import numpy as np
from numpy.typing import NDArray

from toplist._files import need
from toplist._typing import Codes
from toplist.calibration import CalibrationBias, calibration_bias, calibration_test
from toplist.calibration.binned import Binned
from toplist.calibration.miscalibration import SIGNIFICANT, CalibrationVerdict
from toplist.errors import TopListError
from toplist.io.lists import clusters_in_order
from toplist.lists import TopLists
from toplist.lists.converters import as_happened
from toplist.lists.space import ClassSpace
from toplist.lists.toplists import join

T = TypeVar("T")
Places = NDArray[np.intp]
EXACT: Final = 2_000_000
"""Listed classes up to which all cases are in the sample, and curves are exact: seconds, and about 100 MB."""
_PART: Final = 1 << 15  # cases that are put into bins at a time


@dataclass(frozen=True, slots=True)
class CaseSample:
    """Lists and outcomes by position: one case in `every`, and sums over all cases where some are left out."""

    lists: TopLists
    y: Codes
    every: int  # 1: all cases
    binned: Binned | None
    rows: Codes  # the positions of the sampled cases among all
    units: Places | None = None  # the cluster of each sampled case, from zero
    named: TopLists | None = None  # the sampled lists by class, where a code means the same class to all models
    codes: Codes | None = None  # their outcomes

    def at(self, some: Places, rows: Codes) -> CaseSample:
        """Some of the sampled cases, without sums over all, in rows that are counted in another way."""
        units, codes = (None if each is None else each[some] for each in (self.units, self.codes))
        named = None if self.named is None else self.named[some]
        return CaseSample(self.lists[some], self.y[some], self.every, None, rows, units, named, codes)

    @property
    def any_listed(self) -> bool:
        """Whether any list has a class."""
        if self.binned is not None:
            return self.binned.longest > 0
        return int(self.lists.strictly_valid().sizes.max(initial=0)) > 0


def by_place(lists: TopLists, y: Any) -> tuple[TopLists, Codes]:
    """The same lists with the positions of their entries as classes, and outcomes as positions (beyond, if missed).

    >>> found, y = by_place(TopLists.from_dicts([{"a": 0.7, "b": 0.2}, {"c": 0.4}], 9), ["b", "a"])
    >>> found.classes, y
    (array([0, 1, 0]), array([1, 1]))
    """
    sizes, codes = lists.sizes, as_happened(y, lists, "calibration is about")
    place = np.arange(len(lists.confidences)) - np.repeat(lists.offsets[:-1], sizes)
    hit = np.flatnonzero(lists.classes == np.repeat(codes, sizes))
    out = sizes.astype(np.int64)
    out[np.repeat(np.arange(len(lists)), sizes)[hit]] = place[hit]
    space = ClassSpace(lists.space.size)
    checked = replace(lists.checked, rows=replace(lists.checked.rows, classes=place), repairs={})
    return TopLists(space, None, checked), out


def in_order(sample: CaseSample) -> CaseSample:
    """The same sample with the most confident class first: all that looks at calibration needs this order.

    >>> found = sample_cases(*by_place(TopLists.from_dicts([{"a": 0.2, "b": 0.7}], 9), ["a"]))
    >>> in_order(found).lists.confidences, in_order(found).y
    (array([0.7, 0.2]), array([1]))
    """
    lists, y = by_place(sample.lists.ordered(), sample.y)
    return replace(sample, lists=lists, y=y)


def thinned(sizes: Codes, rows: Codes, limit: int, every: int = 1) -> int:
    """The smallest power of two so that cases in rows that it divides have at most so many listed classes, or is one.

    >>> thinned(np.full(8, 3), np.arange(8), 12)
    2
    """
    while True:
        some = sizes[rows % every == 0]
        if some.sum() <= limit or len(some) <= 1:
            return every
        every *= 2


def sample_cases(
    lists: TopLists,
    y: Codes,
    units: Places | None = None,
    *,
    limit: int = EXACT,
    named: tuple[TopLists, Codes] | None = None,
) -> CaseSample:
    """All cases in memory where there are few enough; else one in so many, and sums over all.

    `lists` and `y` are those of `by_place`; `named` are the lists and outcomes that these were made of.
    """
    rows = np.arange(len(lists), dtype=np.int64)
    every = thinned(lists.sizes, rows, limit)
    own = (None, None) if named is None else named
    if every == 1:
        return CaseSample(lists, y, 1, None, rows, units, *own)
    parts = (slice(lo, lo + _PART) for lo in range(0, len(lists), _PART))
    binned = sum((Binned.of(lists[part], y[part]) for part in parts), Binned())
    some = None if units is None else np.unique(units[::every], return_inverse=True)[1]
    at = np.arange(0, len(lists), every)
    own = (None, None) if named is None else (named[0][at], named[1][at])
    return CaseSample(lists[at], y[at], every, binned, rows[at], some, *own)


@dataclass(frozen=True, slots=True)
class SamplePart:
    """Some cases of one source, by position; and by class, where codes mean the same in all batches."""

    source: str
    rows: Codes
    lists: TopLists
    y: Codes
    clusters: Any  # a column of names, or None
    named: tuple[TopLists, Codes] | None = None

    def take(self, cases: Places) -> SamplePart:
        """Some of the cases."""
        clusters = None if self.clusters is None else self.clusters.take(cases)
        named = None if self.named is None else (self.named[0][cases], self.named[1][cases])
        return SamplePart(self.source, self.rows[cases], self.lists[cases], self.y[cases], clusters, named)


@dataclass(slots=True)
class CaseSampler:
    """Samples cases of batches in any order and from any thread; the sample does not depend on either."""

    limit: int = EXACT
    named: bool = False  # whether a code means the same class in all batches, so that lists are kept by class too
    every: int = 1
    binned: Binned | None = None
    entries: int = 0
    parts: list[SamplePart] = field(default_factory=list)
    _lock: Lock = field(default_factory=Lock)

    def add(self, lists: TopLists, y: Any, rows: Codes, source: str = "", clusters: Any = None) -> None:
        """Add a batch; `rows` are the positions in its source, `clusters` are a column of names or None."""
        made, places = by_place(lists, y)
        with self._lock:
            if self.binned is not None:
                self.binned = self.binned + Binned.of(made, places)
            named = (lists, as_happened(y, lists, "calibration is about")) if self.named else None
            self._keep(SamplePart(source, rows, made, places, clusters, named))
            while self.entries > self.limit and self._more_than_one():
                if self.binned is None:
                    self.binned = sum((Binned.of(part.lists, part.y) for part in self.parts), Binned())
                self.every *= 2
                parts, self.parts, self.entries = self.parts, [], 0
                for part in parts:
                    self._keep(part)

    def _keep(self, part: SamplePart) -> None:
        at = np.flatnonzero(part.rows % self.every == 0)
        if len(at):
            kept = part if len(at) == len(part.rows) else part.take(at)
            self.parts.append(kept)
            self.entries += len(kept.lists.confidences)

    def _more_than_one(self) -> bool:
        return sum(len(part.rows) for part in self.parts) > 1

    def sample(self) -> CaseSample:
        """The sample, in the order of the sources and their rows."""
        parts = sorted(self.parts, key=lambda part: (part.source, int(part.rows[0])))
        lists, y = _joined([(part.lists, part.y) for part in parts])
        units = _units([part.clusters for part in parts])
        files = {name: i for i, name in enumerate(sorted({part.source for part in parts}))}
        file = np.repeat([files[part.source] for part in parts], [len(part.rows) for part in parts])
        rows = np.concatenate([part.rows for part in parts])
        order = np.lexsort((rows, file))
        if (np.diff(order) != 1).any():
            lists, y, rows = lists[order], y[order], rows[order]
            units = None if units is None else units[order]
        named = [part.named for part in parts if part.named is not None]
        if not named:
            return CaseSample(lists, y, self.every, self.binned, rows, units)
        own, codes = _joined(named, named[0][0].space)
        return CaseSample(lists, y, self.every, self.binned, rows, units, own[order], codes[order])


def _units(clusters: Sequence[Any]) -> Places | None:
    """The clusters of all parts as numbers from zero, in the order of their names."""
    if any(each is None for each in clusters):
        return None
    return clusters_in_order(need("pyarrow").chunked_array(clusters).combine_chunks()).astype(np.intp)


def _joined(parts: Sequence[tuple[TopLists, Codes]], space: ClassSpace | None = None) -> tuple[TopLists, Codes]:
    """One batch of several; each has positions as classes, or, in a given space, codes that are the same throughout."""
    if len(parts) == 1:
        return parts[0]
    every = [lists for lists, _ in parts]
    made = join(every, [lists.classes for lists in every], _space(every) if space is None else space)
    return made, np.concatenate([places for _, places in parts])


def _space(every: Sequence[TopLists]) -> ClassSpace:
    if not every[0].space.per_case:
        return ClassSpace(every[0].space.size)
    return ClassSpace(np.concatenate([lists.space.size for lists in every]))


DRAWS: Final = 199
TESTED: Final = 200_000
"""Listed classes up to which all independent cases are tested, and else every so many: seconds for 199 draws."""


def calibration_verdict(sample: CaseSample, *, level: float, draws: int = DRAWS, seed: int = 0) -> CalibrationVerdict:
    """The test of calibration and the calibration bias.

    Where there are many cases the test is of one in so many, and the bias is from sums. Sums do not tell which cases
    belong together: with clusters, the bias is of the sample.
    """
    lists, y, units = sample.lists, sample.y, sample.units
    number = None if units is None else len(np.unique(units))
    if not len(lists):
        return CalibrationVerdict(None, 0, None, None, number, ("There are no cases.",))
    notes: list[str] = []
    some, clusters = _tested(sample, notes)
    test = attempt(
        "test", lambda: calibration_test(lists[some], y[some], draws=draws, seed=seed, clusters=clusters), notes
    )
    least = 1 / (draws + 1)
    if test is None:
        notes[:] = notes[-1:]
    elif clusters is None and least > SIGNIFICANT:
        notes.insert(0, f"With {draws:,} draws p is never below {least:.2g}, and nothing can be found: ask for more.")
    sums = None if units is not None else sample.binned

    def bias(of: str) -> CalibrationBias:
        if sums is not None:
            return sums.calibration_bias(of, level=level)
        return calibration_bias(lists, y, of=of, level=level, clusters=units)

    first = attempt("difference", lambda: bias("top"), notes) if sample.any_listed else None
    mass = attempt("difference of the mass", lambda: bias("mass"), notes)
    return CalibrationVerdict(test, 0 if test is None else len(some), first, mass, number, tuple(notes))


def thinned_sample(sample: CaseSample) -> tuple[TopLists, Codes]:
    """The lists and outcomes that are looked at where cases are taken as independent, as many as are tested."""
    some = np.flatnonzero(sample.rows % thinned(sample.lists.sizes, sample.rows, TESTED, sample.every) == 0)
    if len(some) == len(sample.lists):
        return sample.lists, sample.y
    return sample.lists[some], sample.y[some]


def attempt(what: str, find: Callable[[], T], notes: list[str]) -> T | None:
    """The result, or None and a note why there is none."""
    try:
        return find()
    except TopListError as error:
        notes.append(f"There is no {what}: {error}")
        return None


def _tested(sample: CaseSample, notes: list[str]) -> tuple[Places, Places | None]:
    """The cases that are tested, and their clusters; which these are does not depend on how batches came."""
    lists, units = sample.lists, sample.units
    if units is not None and int(units.max()) + 1 < len(units):
        if sample.every > 1:
            notes.append(f"The test and the intervals are of one case in {sample.every:,}: {len(lists):,} cases.")
        return np.arange(len(lists)), units
    every = thinned(lists.sizes, sample.rows, TESTED, sample.every)
    some = np.flatnonzero(sample.rows % every == 0)
    if every > 1:
        notes.append(f"The test is of one case in {every:,}: {len(some):,} cases.")
    return some, None
