"""Samples of cases, for what sums over all cases do not tell: calibration, and warnings about a comparison.

Calibration depends on the position of the outcome in its list and the confidence there, not on the name of the class.
So lists are kept with the positions of their entries as codes, and outcomes as positions; batches can then be
concatenated. Warnings need the scores of some cases with the columns of the truth, and the lists of two models.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from threading import Lock
from typing import Any, Final, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from toplist._files import need
from toplist._typing import Bools, Codes, Floats
from toplist.calibration import CalibrationBias, calibration_bias, calibration_test
from toplist.calibration.binned import Binned
from toplist.calibration.miscalibration import SIGNIFICANT, CalibrationVerdict
from toplist.core.kernel import exact_sums, hash_integers, to_float, uniform
from toplist.errors import TopListError
from toplist.evaluation.arrays import ArrayModels
from toplist.evaluation.stream import Collector, ScoredRows, ScoringSpec, case_hashes, coder_of
from toplist.inference.dependence import TruthColumn
from toplist.inference.diagnostics import MOST_VALUES, SAMPLED, UNSEEN, ScoreSample
from toplist.inference.settings import InferenceSettings
from toplist.io import (
    AlignedCases,
    Batch,
    Plan,
    as_arrow,
    as_numpy,
    clusters_in_order,
    lists_of,
    plain,
    untimely,
    weights_of,
)
from toplist.lists import TopLists
from toplist.lists.converters import as_single_outcomes
from toplist.lists.labelsets import LabelSets
from toplist.lists.space import ClassSpace
from toplist.lists.toplists import join
from toplist.scoring.bounds import log_mean_gains, most_lost
from toplist.scoring.case_scores import CaseScores
from toplist.scoring.rules import Rule
from toplist.scoring.scores import highest_score

T = TypeVar("T")
Places = NDArray[np.intp]
EXACT: Final = 2_000_000
"""Listed classes up to which all cases are in the sample, and curves are exact: seconds, and about 100 MB."""
_PART: Final = 1 << 15  # cases that are put into bins at a time
_COLUMNS = 8  # of the truth that are tested for dependence
_CANDIDATES = 32  # columns whose values are looked at for that
_LONG = 200  # bytes of a text that is no value of a column by which cases depend on each other
_DAY = len("2024-02-29")
_SEED = 20240229  # of the hashes by which cases are sampled
ROOM: Final = 1.25
"""Times as many cases are kept as are wanted, for hashes are not spread evenly."""
_SLOPES: Final = range(
    -3, 11
)  # binary logarithms of t of Chernoff's bound, in units of one over the range of the score
_ENTRIES = 2_000_000  # listed classes of both models up to which the bound is made


# Lists and outcomes by position


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
    sizes, codes = lists.sizes, as_single_outcomes(y, lists, "calibration needs")
    place = np.arange(len(lists.confidences)) - np.repeat(lists.offsets[:-1], sizes)
    hit = np.flatnonzero(lists.classes == np.repeat(codes, sizes))
    out = sizes.astype(np.int64)
    out[np.repeat(np.arange(len(lists)), sizes)[hit]] = place[hit]
    space = ClassSpace(lists.space.size)
    checked = replace(lists.checked, rows=replace(lists.checked.rows, classes=place), repairs={})
    return TopLists(space, None, checked), out


def in_order(sample: CaseSample) -> CaseSample:
    """The same sample with the most confident class first: every measure of calibration needs this order.

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
            named = (lists, as_single_outcomes(y, lists, "calibration needs")) if self.named else None
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
        return every[0].space.unnamed()
    return ClassSpace(np.concatenate([lists.space.size for lists in every]), ordinal=every[0].space.ordinal)


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
    """The lists and outcomes that are used where cases are taken as independent, as many as are tested."""
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


# Scores of cases, and the largest losses


class SampleCollector(Collector):
    """Keeps the scores of cases under the first rule: of all, or of those whose hash is below a threshold.

    The hash is that of the case id, or of the position where there are no ids, so that neither the batches nor the
    order of the cases show in the sample.

    Parameters
    ----------
    plan : Plan
        What is compared.
    columns : sequence of str, optional
        Columns of the truth that are kept with the cases; `reading` makes a plan that reads them.
    threshold : float, optional
        Where the hashes of the sampled cases end; by default it falls as cases come in.
    limit : int, optional
        How many cases are kept at most.
    """

    def __init__(
        self, plan: Plan, columns: Sequence[str] = (), *, threshold: float | None = None, limit: int | None = None
    ) -> None:
        self.plan, self.columns, self.heaviest, self.limit = plan, columns, 0.0, limit
        self.falls = threshold is None and limit is None
        self.threshold = 1.0 if threshold is None else threshold
        self.seen = 0
        self.parts: list[SampledCases] = []

    def make(self, rows: ScoredRows) -> Any:
        """See `Collector`."""
        plan, truth = self.plan, rows.truth
        weights = None if plan.weight is None else weights_of(truth, plan.weight)
        heaviest = 1.0 if weights is None else float(weights.max(initial=0.0))
        first, threshold = case_hashes(truth, _SEED), self.threshold
        here = np.arange(len(truth)) if threshold >= 1 else np.flatnonzero(uniform(first) < threshold)
        scores = np.stack([one.scores[0][here] for one in rows.scores], axis=1)
        for a, there in enumerate(rows.present):
            scores[~there[here], a] = np.nan
        # The second hash is made for cases that are kept.
        keys = np.stack([first[here], case_hashes(truth, _SEED + 1, here)], axis=1)
        columns = {name: _text(plain(truth.extra[name]).take(as_arrow(here))) for name in self.columns}
        weights = None if weights is None else weights[here]
        return SampledCases(threshold, keys, scores, weights, columns), len(truth), heaviest

    def add(self, made: Any) -> None:
        """See `Collector`."""
        part, count, heaviest = made
        self.heaviest = max(self.heaviest, heaviest)
        self.seen += count
        self.parts.append(part)
        kept = sum(map(len, self.parts))
        if self.limit is not None and kept > 2 * self.limit:
            self._cut(self.limit)
        elif self.falls and kept > 2 * ROOM * SAMPLED:  # twice as many, so that parts are cut now and then only
            self._lower(ROOM * SAMPLED / self.seen)

    def _cut(self, limit: int) -> None:
        """Lower the threshold so that so many cases are below it."""
        hashes = np.concatenate([np.zeros(0), *(uniform(one.keys[:, 0]) for one in self.parts)])
        self._lower(float(np.partition(hashes, limit)[limit]) if len(hashes) > limit else 1.0)

    def _lower(self, threshold: float) -> None:
        self.threshold = min(self.threshold, threshold)
        self.parts = [one.below(self.threshold) for one in self.parts]

    def cases(self) -> SampledCases:
        """The sampled cases."""
        if self.limit is not None:
            self._cut(self.limit)
        return SampledCases.concat(self.parts, self.threshold)

    def sample(self, settings: InferenceSettings, cases: int) -> ScoreSample:
        """The sample of so many cases, in the order of the truth where that is the order of time."""
        found = self.cases()
        return (found if settings.ordered else found.in_order()).drawn(cases)


def reading(plan: Plan, columns: Sequence[str]) -> Plan:
    """The same plan, which reads some columns of the truth too."""
    layout = plan.truth.layout
    extra = tuple(dict.fromkeys((*layout.extra, *columns)))
    return replace(plan, truth=replace(plan.truth, layout=replace(layout, extra=extra)))


@dataclass(frozen=True, slots=True, eq=False)
class SampledCases:
    """The cases whose first hash, as a number in [0, 1), is below a threshold: all of them, of some part of the cases.

    Two samples are merged at the lower threshold.
    """

    threshold: float
    keys: NDArray[np.uint64]  # (cases, 2): hashes of the id with two seeds
    scores: Floats  # (cases, models), under the first rule; not finite where a model lacks the case
    weights: Floats | None
    columns: Mapping[str, Any]  # of the truth: text by case, None where there is none

    @classmethod
    def concat(cls, samples: Sequence[SampledCases], threshold: float) -> SampledCases:
        """The cases of all samples that are below a threshold, with the columns that all have."""
        pa = need("pyarrow")
        parts = [one.below(threshold) for one in samples]
        some = [one for one in parts if len(one)] or parts[:1]
        common = [name for name in (some[0].columns if some else ()) if all(name in one.columns for one in some)]
        if any(tuple(one.columns) != tuple(common) for one in some):
            common = sorted(common)
        weights = [one.weights for one in some if one.weights is not None]
        return cls(
            threshold,
            np.concatenate([np.zeros((0, 2), np.uint64), *(one.keys for one in some)]),
            np.concatenate([one.scores for one in some]) if some else np.zeros((0, 0)),
            np.concatenate(weights) if weights else None,
            {name: pa.concat_arrays([one.columns[name] for one in some]) for name in common},
        )

    def __len__(self) -> int:
        return len(self.keys)

    def at(self, some: NDArray[Any]) -> SampledCases:
        """Some of the cases, in this order."""
        where = need("pyarrow").array(some) if self.columns else None
        return SampledCases(
            self.threshold,
            self.keys[some],
            self.scores[some],
            None if self.weights is None else self.weights[some],
            {name: values.take(where) for name, values in self.columns.items()},
        )

    def in_order(self) -> SampledCases:
        """In the order of the hashes: whence the cases came does not show."""
        return self.at(np.lexsort(self.keys.T[::-1]))

    def below(self, threshold: float) -> SampledCases:
        """Those that are kept at a lower threshold."""
        if threshold >= self.threshold:
            return self
        return replace(self.at(np.flatnonzero(uniform(self.keys[:, 0]) < threshold)), threshold=threshold)

    def drawn(self, cases: int) -> ScoreSample:
        """The sample of so many cases, with the columns by which they may depend on each other."""
        found = self.below(min(1.0, SAMPLED / max(cases, 1)))
        coded = {name: _coded(values) for name, values in found.columns.items()}
        columns = {name: one for name, one in coded.items() if one is not None}
        first = dict(list(columns.items())[:_COLUMNS])
        return ScoreSample(found.scores, found.weights, found.threshold, first)


def columns_of(plan: Plan, settings: InferenceSettings, *, repeated: bool = True) -> tuple[str, ...]:
    """Columns of the truth that are not in use, by which cases may depend on each other.

    Values of a column that is not `repeated` among the first cases may still be so among those of all parts.
    """
    layout, pa = plan.truth.layout, need("pyarrow")
    used = {settings.cluster, settings.time, plan.weight, plan.n_classes, layout.case, None}
    kinds = {one.name: one.type for one in plan.truth.reader.schema}
    every = dict.fromkeys((plan.group, plan.cluster, plan.time, *layout.ignored))
    names = [str(one) for one in every if one not in used and one in kinds and not pa.types.is_nested(kinds[one])]
    if not repeated or not names:
        return tuple(names[:_CANDIDATES])
    first: dict[str, list[Any]] = {name: [] for name in names}
    count = 0
    for piece in plan.truth.reader.pieces(names):
        for name in names:
            first[name].append(_text(piece.table.column(name).slice(0, SAMPLED - count)))
        count += len(piece.table)
        if count >= SAMPLED:
            break
    known = [name for name in names if _is_repeated(pa.chunked_array(first[name], pa.string()).combine_chunks())]
    return tuple(known[:_CANDIDATES])


def _text(column: Any) -> Any:
    """A column as text."""
    return need("pyarrow.compute").cast(plain(column), need("pyarrow").string())


def _is_repeated(values: Any) -> bool:
    """Whether most values occur more than once, or say when."""
    known = need("pyarrow.compute").unique(values)
    return 2 * len(known) <= len(values) or _are_dates(known)


def _are_dates(known: Any) -> bool:
    """Whether different texts say when something was, so that their order is that of time."""
    texts = known.drop_null().to_pylist()
    return len(texts) > 1 and "-" in texts[0] and untimely(texts) is None


def _coded(values: Any) -> TruthColumn | None:
    """A column as codes, those of dates in their order; None where there are too many values, or too few."""
    pc = need("pyarrow.compute")
    known = pc.unique(values)
    if (pc.max(pc.binary_length(known)).as_py() or 0) > _LONG:
        return None
    dated = _are_dates(known)
    if dated and 2 * len(known) > len(values):
        values = pc.utf8_slice_codeunits(values, 0, _DAY)
        known = pc.unique(values)
    if not 2 <= len(known) <= MOST_VALUES or (not dated and 2 * len(known) > len(values)):
        return None
    if dated:
        known = known.take(pc.sort_indices(known))
    codes = as_numpy(pc.fill_null(pc.index_in(values, known), 0)).astype(np.int64)
    return TruthColumn(codes, timed=dated)


def of_arrays(held: ArrayModels, sheets: Sequence[CaseScores], settings: InferenceSettings) -> ScoreSample:
    """The same of models in memory, with the groups, or with the time where cases are taken as independent."""
    n = len(sheets[0])
    share = min(1.0, SAMPLED / max(n, 1))
    keys = hash_integers(np.arange(n), _SEED)
    at = np.argsort(keys)
    at = at if share == 1 else at[: np.searchsorted(uniform(keys[at]), share)]
    at = np.sort(at) if settings.ordered else at
    columns = {}
    if held.groups is not None and held.groups.codes is not None and len(held.groups.keys) <= MOST_VALUES:
        columns["group"] = TruthColumn(held.groups.codes[at].astype(np.int64))
    if "time" in held.metadata and settings.time is None:
        known, codes = np.unique(held.metadata["time"], return_inverse=True)
        if len(known) <= MOST_VALUES:
            columns["time"] = TruthColumn(codes[at], timed=True)
    scores = np.stack([sheet.scores[0][at] for sheet in sheets], axis=1)
    return ScoreSample(scores, None if held.weights is None else held.weights[at], share, columns)


class Losses(Protocol):
    """What is known of the largest losses of models, or can be found in their lists."""

    def highest(self, name: str) -> float:
        """See `diagnostics.Highest`."""

    def lost(self, sums: Mapping[tuple[str, str], float]) -> Mapping[tuple[str, str], tuple[float, float | None]]:
        """See `diagnostics.Lost`."""


@dataclass(frozen=True, slots=True)
class ArrayLosses:
    """The largest losses of models in memory."""

    held: ArrayModels

    def highest(self, name: str) -> float:
        """See `diagnostics.Highest`."""
        held, rule = self.held, self.held.scoring.rules[0]
        weight = 1.0 if held.weights is None else float(held.weights.max())
        least = rule.bounds()[0]
        return weight * (highest_score(held.lists[name], rule=rule, penalty=held.scoring.penalty) - least)

    def lost(self, sums: Mapping[tuple[str, str], float]) -> dict[tuple[str, str], tuple[float, float | None]]:
        """See `diagnostics.Lost`."""
        held, out = self.held, {}
        heaviest = 1.0 if held.weights is None else float(held.weights.max())
        for (a, b), total in sums.items():
            cases = held.lists[a], held.lists[b], held.weights
            loss = loss_of(held.scoring, *cases)
            if total < UNSEEN * loss.most:
                loss += gain_of(held.scoring, *cases, slopes(heaviest))
            out[a, b] = loss.result(total, score_range(held.scoring.rules[0]), heaviest)
        return out


@dataclass(frozen=True, slots=True)
class PairLoss:
    """The largest loss of one model against another, and what bounds how likely its lead is if the other is right.

    `gains` are exact sums over cases of the logarithm of the mean of exp(t X), by the binary logarithm of t in units of
    one over the range of the score; None where it is no finite number.
    """

    most: float = -math.inf
    gains: Mapping[int, int | None] = field(default_factory=dict)
    entries: int = 0  # listed classes of both; all classes, where they are ordered

    def __add__(self, other: PairLoss) -> PairLoss:
        """That of the cases of both."""
        gains: Mapping[int, int | None] = {}
        entries = self.entries + other.entries
        if entries <= _ENTRIES:
            mine, theirs = (one.gains if one.entries else None for one in (self, other))
            gains = mine or theirs or {} if mine is None or theirs is None else _added(mine, theirs)
        return PairLoss(max(self.most, other.most), gains, entries)

    def result(self, total: float, scale: float, heaviest: float) -> tuple[float, float | None]:
        """See `diagnostics.Lost`: Chernoff's bound, the least of exp(-t x) E exp(t X) over some t."""
        most = float(f"{self.most:.12g}")  # it depends on the order of a list in the last digits
        if total >= UNSEEN * most or self.entries > _ENTRIES:
            return most, None
        known = {at: self.gains.get(at) for at in slopes(heaviest)}
        gains = {at: gain for at, gain in known.items() if gain is not None}
        if not any(gains.values()):
            return most, None
        least = min(to_float(gain) - 2.0**at / scale * total for at, gain in gains.items())
        return most, float(f"{math.exp(min(0.0, least)):.3g}")


def _added(one: Mapping[int, int | None], other: Mapping[int, int | None]) -> dict[int, int | None]:
    """Those of the cases of both, at the slopes down to the least of either and up to the lower end of the two."""
    if not one or not other:
        return {}
    out: dict[int, int | None] = {}
    for at in sorted(one.keys() | other.keys()):
        if at <= min(max(one), max(other)):
            x, y = _gain_at(one, at), _gain_at(other, at)
            out[at] = None if x is None or y is None else x + y
    return out


def _gain_at(gains: Mapping[int, int | None], at: int) -> int | None:
    """The sum at a slope; below the least one where it is known, that of the chord to zero, for sums are convex in t.

    Only cases that are far lighter than others lack slopes, and sums of theirs are straight there.
    """
    least = min(gains)
    gain = gains.get(max(at, least))
    if gain is None or at >= least:
        return gain
    lower = gain >> (least - at)
    return lower if lower << (least - at) == gain else None  # half of a unit would depend on the order of parts


def slopes(heaviest: float, more: int = 0) -> range:
    """The binary logarithms of t of Chernoff's bound, where the heaviest case has this weight; `more` smaller ones."""
    weight = math.ceil(math.log2(heaviest)) if heaviest > 0 else 0
    return range(_SLOPES.start - weight - more, _SLOPES.stop - weight)


def score_range(rule: Rule) -> float:
    """The range of the scores under a rule, or one where it has no end."""
    return range_of(rule.bounds())


def range_of(bounds: tuple[float, float]) -> float:
    """How far apart bounds are, or one where there is no end."""
    low, high = bounds
    return high - low if math.isfinite(high - low) else 1.0


def loss_of(scoring: ScoringSpec, a: TopLists, b: TopLists, weights: Floats | None) -> PairLoss:
    """The largest loss of one model against another in some cases."""
    return PairLoss(most_lost(a, b, weights, rule=scoring.rules[0], penalty=scoring.penalty))


def gain_of(
    scoring: ScoringSpec, a: TopLists, b: TopLists, weights: Floats | None, at: Sequence[int], entries: int = 0
) -> PairLoss:
    """How likely the lead is in some cases, at these slopes, where there are not too many entries with those before.

    Cases without weight are none.
    """
    rule, penalty = scoring.rules[0], scoring.penalty
    if weights is not None and not weights.all():
        some = np.flatnonzero(weights)
        a, b, weights = a[some], b[some], weights[some]
    here = len(a.confidences) + len(b.confidences)
    if rule.ordinal:  # every class scores another number
        here = 2 * int(np.broadcast_to(a.checked.rows.size, (len(a),)).sum())
    if entries + here > _ENTRIES or isinstance(b.space, LabelSets):
        return PairLoss(entries=here)
    t = np.array([2.0**slope for slope in at]) / score_range(rule)
    each = log_mean_gains(a, b, t, weights, rule=rule, penalty=penalty)
    finite: Bools = np.logical_and.reduce(np.isfinite(each), axis=1)
    sums = exact_sums(np.where(finite[:, None], each, 0.0))[0]
    return PairLoss(gains={slope: sums[i] if finite[i] else None for i, slope in enumerate(at)}, entries=here)


@dataclass(frozen=True, slots=True)
class FileLosses:
    """The largest losses of models in files, whose lists are read once more where they are asked for."""

    plan: Plan
    scoring: ScoringSpec
    scores: Mapping[str, float] = field(default_factory=dict)  # a bound on the scores of each model
    heaviest: float = 1.0  # weight of a case

    def highest(self, name: str) -> float:
        """See `diagnostics.Highest`."""
        return self.heaviest * (self.scores[name] - self.scoring.rules[0].bounds()[0])

    def lost(self, sums: Mapping[tuple[str, str], float]) -> dict[tuple[str, str], tuple[float, float | None]]:
        """See `diagnostics.Lost`: of none where missing predictions are imputed, or classes differ by case."""
        plan = self.plan
        if plan.space is None or plan.missing in ("uniform", "worst", "baseline"):
            return {}
        asked = {name for pair in sums for name in pair}
        everyone = tuple(one.name for one in plan.sources if plan.missing == "common" or one.name in asked)
        found: dict[tuple[str, str], PairLoss] = {}
        if plan.missing == "pairwise":
            for pair in sums:
                found |= self.of([pair], pair)
        else:
            found = self.of([*sums], everyone)
        scale = score_range(self.scoring.rules[0])
        return {pair: one.result(sums[pair], scale, self.heaviest) for pair, one in found.items()}

    def of(
        self, pairs: Sequence[tuple[str, str]], names: Sequence[str], more: int = 0
    ) -> dict[tuple[str, str], PairLoss]:
        """The losses of these pairs, over the cases of the models with these names."""
        plan = self.plan
        sources = [one for one in plan.sources if one.name in names]
        cases = AlignedCases((plan.truth, *sources), "error" if plan.missing == "error" else "common")
        losses, at = dict.fromkeys(pairs, PairLoss()), slopes(self.heaviest, more)
        coder = coder_of(plan)
        for truth, *batches in cases.common():
            codes, _ = coder.together(batches, [one.names for one in sources])
            lists = self._lists(sources, batches, codes)
            weights = None if plan.weight is None else weights_of(truth, plan.weight)
            for (a, b), loss in losses.items():
                both = lists[a], lists[b], weights
                gain = gain_of(self.scoring, *both, at, loss.entries)
                losses[a, b] = loss + loss_of(self.scoring, *both) + gain
        return losses

    def _lists(self, sources: Sequence[Any], batches: Sequence[Batch], codes: Sequence[Codes]) -> dict[str, Any]:
        plan = self.plan
        if plan.space is None:
            raise ValueError("the number of classes differs from case to case")
        return {
            source.name: lists_of(batch, source.names, code, plan.space, plan.repairs[source.name])
            for source, batch, code in zip(sources, batches, codes, strict=True)
        }
