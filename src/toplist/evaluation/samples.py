"""Samples of cases, for what sums over all cases do not tell: calibration, and warnings about a comparison.

Calibration depends on the position of the outcome in its list and the confidence there, not on the name of the class.
So where codes of classes mean something else in each batch, lists are kept with the positions of their entries as
codes, and outcomes as positions; batches can then be concatenated. Warnings
need the scores of some cases with the columns of the truth.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, TypeVar

import numpy as np
from numpy.typing import NDArray

from toplist._files import need
from toplist._typing import Codes, Floats
from toplist.calibration import CalibrationBias, calibration_bias, calibration_test
from toplist.calibration.binned import Binned
from toplist.calibration.miscalibration import SIGNIFICANT, CalibrationVerdict
from toplist.core.kernel import hash_integers, uniform
from toplist.errors import TopListError
from toplist.evaluation.arrays import ArrayModels
from toplist.evaluation.stream import ScoredBatch, ScoredRows, case_hashes, class_texts
from toplist.inference.dependence import TruthColumn
from toplist.inference.diagnostics import MOST_VALUES, SAMPLED, ScoreSample
from toplist.inference.settings import InferenceSettings
from toplist.io import (
    Plan,
    as_arrow,
    as_numpy,
    clusters_in_order,
    filled,
    plain,
    untimely,
    weights_of,
)
from toplist.lists import TopLists
from toplist.lists.converters import as_single_outcomes
from toplist.lists.space import ClassSpace
from toplist.lists.toplists import join
from toplist.scoring.case_scores import CaseScores

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


# Lists and outcomes by position


@dataclass(frozen=True, slots=True)
class CaseSample:
    """Lists and outcomes: one case in `every`, and sums over all cases where some are left out."""

    lists: TopLists
    y: Codes
    rows: Codes  # the positions of the cases among all of their source
    units: Any = None  # the cluster of each case: from zero, or by name in a batch of a file
    source: str = ""
    named: bool = False  # whether a code means the same class to all models; else it is a position in its list
    places: Codes | None = None  # in the matrix, -1 for cases that are not compared; None where these are the rows
    every: int = 1  # 1: all cases
    binned: Binned | None = None

    @classmethod
    def of(
        cls, lists: TopLists, y: Any, rows: Codes, units: Any = None, source: str = "", *, named: bool = False
    ) -> CaseSample:
        """All cases of a batch; `named` where a code means the same class in all batches."""
        if named:
            return cls(lists, as_single_outcomes(y, lists, "calibration needs"), rows, units, source, named=True)
        return cls(*by_place(lists, as_single_outcomes(y, lists, "calibration needs")), rows, units, source)

    def at(self, some: Places) -> CaseSample:
        """Some of the cases, with the sums over all."""
        units, places = (None if column is None else column.take(some) for column in (self.units, self.places))
        lists, y, rows = self.lists[some], self.y[some], self.rows[some]
        return replace(self, lists=lists, y=y, rows=rows, units=units, places=places)

    def by_place(self) -> tuple[TopLists, Codes]:
        """Lists and outcomes with positions for classes."""
        return by_place(self.lists, self.y) if self.named else (self.lists, self.y)

    @property
    def compared(self) -> CaseSample:
        """Those of the cases that are compared, whose rows are those of the matrix, without sums over all."""
        if self.places is None:
            return self
        some = np.flatnonzero(self.places >= 0)
        return replace(self.at(some), rows=self.places[some], binned=None)

    def tested(self) -> CaseSample:
        """As many of the cases as are tested where they are taken as independent."""
        every = thinned(self.lists.sizes, self.rows, TESTED, self.every)
        return self if every == self.every else replace(self.at(np.flatnonzero(self.rows % every == 0)), every=every)

    @property
    def any_listed(self) -> bool:
        """Whether any list has a class."""
        if self.binned is not None:
            return self.binned.longest > 0
        return int(self.lists.strictly_valid().sizes.max(initial=0)) > 0


def by_place(lists: TopLists, codes: Codes) -> tuple[TopLists, Codes]:
    """The same lists with the positions of their entries as classes, and outcomes as positions (beyond, if missed).

    >>> placed, y = by_place(TopLists.from_dicts([{"a": 0.7, "b": 0.2}, {"c": 0.4}], 9), np.array([1, -1]))
    >>> placed.classes, y
    (array([0, 1, 0]), array([1, 1]))
    """
    sizes = lists.sizes
    place = np.arange(len(lists.confidences)) - np.repeat(lists.offsets[:-1], sizes)
    hit = np.flatnonzero(lists.classes == np.repeat(codes, sizes))
    out = sizes.astype(np.int64)
    out[np.repeat(np.arange(len(lists)), sizes)[hit]] = place[hit]
    space = ClassSpace(lists.space.size)
    checked = replace(lists.checked, rows=replace(lists.checked.rows, classes=place), repairs={})
    return TopLists(space, None, checked), out


def in_order(sample: CaseSample) -> CaseSample:
    """The same sample with the most confident class first: every measure of calibration needs this order.

    >>> found = in_order(sample_cases(TopLists.from_dicts([{"a": 0.2, "b": 0.7}], 9), ["a"]))
    >>> found.lists.confidences, found.y
    (array([0.7, 0.2]), array([1]))
    """
    lists, y = by_place(sample.lists.ordered(), sample.y)
    return replace(sample, lists=lists, y=y, named=False)


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
    lists: TopLists, y: Any, units: Places | None = None, *, limit: int = EXACT, named: bool = False
) -> CaseSample:
    """All cases in memory where there are few enough; else one in so many, and sums over all."""
    sampler = CaseSampler(limit)
    sampler.add(CaseSample.of(lists, y, np.arange(len(lists), dtype=np.int64), units, named=named))
    return sampler.sample()


def sample_of(scored: ScoredBatch, cluster: str | None, *, named: bool = False) -> CaseSample:
    """All cases of a batch of a file."""
    truth = scored.truth
    clusters = None if cluster is None else filled(truth, cluster, "cluster")
    return CaseSample.of(scored.lists, scored.y, truth.rows, clusters, truth.source, named=named)


@dataclass(slots=True)
class CaseSampler:
    """Samples cases of batches; the sample does not depend on the order of these."""

    limit: int = EXACT
    every: int = 1
    binned: Binned | None = None
    parts: list[CaseSample] = field(default_factory=list)

    def add(self, batch: CaseSample) -> None:
        """Add all cases of a batch."""
        if self.binned is not None:
            self.binned += _binned(batch)
        self.parts += self._kept([batch])
        while sum(len(part.lists.confidences) for part in self.parts) > self.limit and (
            sum(len(part.rows) for part in self.parts) > 1
        ):
            if self.binned is None:
                self.binned = sum(map(_binned, self.parts), Binned())
            self.every *= 2
            self.parts = self._kept(self.parts)

    def _kept(self, parts: Sequence[CaseSample]) -> list[CaseSample]:
        """What is sampled of some parts that have cases."""
        kept = [part if self.every == 1 else part.at(np.flatnonzero(part.rows % self.every == 0)) for part in parts]
        return [part for part in kept if len(part.rows)] or kept[:1]

    def sample(self) -> CaseSample:
        """The sample, in the order of the sources and their rows."""
        parts = sorted(self.parts, key=lambda part: (part.source, int(part.rows.min(initial=0))))
        rows, y = np.concatenate([part.rows for part in parts]), np.concatenate([part.y for part in parts])
        files = {source: at for at, source in enumerate(sorted({part.source for part in parts}))}
        file = np.repeat([files[part.source] for part in parts], [len(part.rows) for part in parts])
        lists, first = [part.lists for part in parts], parts[0]
        space = first.lists.space if first.named else _space(lists)
        whole = CaseSample(
            lists[0] if len(lists) == 1 else join(lists, [each.classes for each in lists], space),
            y,
            rows,
            _units([part.units for part in parts]),
            named=first.named,
            places=None if first.places is None else np.concatenate([part.places for part in parts]),
            every=self.every,
            binned=self.binned,
        )
        order = np.lexsort((rows, file))
        return whole.at(order) if (np.diff(order) != 1).any() else whole


def _binned(sample: CaseSample) -> Binned:
    """The sums over cases, some at a time."""
    lists, y = sample.by_place()
    parts = (slice(lo, lo + _PART) for lo in range(0, len(y), _PART))
    return sum((Binned.of(lists[part], y[part]) for part in parts), Binned())


def _units(clusters: Sequence[Any]) -> Places | None:
    """The clusters of all parts as numbers from zero, in the order of their names."""
    if any(each is None for each in clusters):
        return None
    if isinstance(clusters[0], np.ndarray):
        return np.unique(np.concatenate(clusters), return_inverse=True)[1]
    return clusters_in_order(need("pyarrow").chunked_array(clusters).combine_chunks()).astype(np.intp)


def _space(every: Sequence[TopLists]) -> ClassSpace:
    """Of lists with positions as classes."""
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
    clusters = units if number is not None and number < len(lists) else None
    tested = sample.tested() if clusters is None else sample
    if tested.every > 1:
        what = "The test is" if clusters is None else "The test and the intervals are"
        notes.append(f"{what} of one case in {tested.every:,}: {len(tested.lists):,} cases.")
    test = attempt(
        "test", lambda: calibration_test(tested.lists, tested.y, draws=draws, seed=seed, clusters=clusters), notes
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
    return CalibrationVerdict(test, 0 if test is None else len(tested.lists), first, mass, number, tuple(notes))


def attempt(what: str, find: Callable[[], T], notes: list[str]) -> T | None:
    """The result, or None and a note why there is none."""
    try:
        return find()
    except TopListError as error:
        notes.append(f"There is no {what}: {error}")
        return None


# Scores of cases


class SampleCollector:
    """Keeps the scores of cases under the first rule: of all, or of those whose hash is below a threshold.

    The hash is that of the case id, or of the position where there are no ids, so that neither the batches nor the
    order of the cases show in the sample.

    Parameters
    ----------
    plan : Plan
        What is compared.
    columns : sequence of str, optional
        Columns of the truth that are kept with the cases; `reading` makes a plan that reads them.
    threshold : float, default 1.0
        Where the hashes of the sampled cases end; it falls where more cases than the limit are below it.
    limit : int, optional
        How many cases are kept at most; by default as many as can be examined, and some more.
    """

    def __init__(
        self, plan: Plan, columns: Sequence[str] = (), *, threshold: float = 1.0, limit: int = int(ROOM * SAMPLED)
    ) -> None:
        self.plan, self.columns, self.heaviest, self.held = plan, columns, 0.0, 0
        self.threshold, self.limit = threshold, limit
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
        columns = {name: class_texts(plain(truth.extra[name]).take(as_arrow(here)), None) for name in self.columns}
        weights = None if weights is None else weights[here]
        return SampledCases(threshold, keys, scores, weights, columns), heaviest

    def add(self, made: Any) -> None:
        """See `Collector`."""
        part, heaviest = made
        self.heaviest = max(self.heaviest, heaviest)
        self.parts.append(part)
        self.held += len(part)
        if self.held > 2 * self.limit:  # twice as many, so that parts are cut now and then only
            self._cut()

    def _cut(self) -> None:
        """Lower the threshold so that no more cases than the limit are below it."""
        hashes = np.concatenate([np.zeros(0), *(uniform(one.keys[:, 0]) for one in self.parts)])
        if len(hashes) > self.limit:
            self.threshold = min(self.threshold, float(np.partition(hashes, self.limit)[self.limit]))
        self.parts = [one.below(self.threshold) for one in self.parts]
        self.held = sum(map(len, self.parts))

    def cases(self) -> SampledCases:
        """The sampled cases."""
        self._cut()
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
            first[name].append(class_texts(piece.table.column(name).slice(0, SAMPLED - count), None))
        count += len(piece.table)
        if count >= SAMPLED:
            break
    known = [name for name in names if _is_repeated(pa.chunked_array(first[name], pa.string()).combine_chunks())]
    return tuple(known[:_CANDIDATES])


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
