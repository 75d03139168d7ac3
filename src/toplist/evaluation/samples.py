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
from typing import Any, Final, TypeVar

import numpy as np
from numpy.typing import NDArray

from toplist._files import need
from toplist._typing import Codes, Floats
from toplist.calibration import CalibrationBias, calibration_bias, calibration_test
from toplist.calibration.binned import Binned
from toplist.calibration.miscalibration import SIGNIFICANT, CalibrationVerdict
from toplist.errors import TopListError
from toplist.evaluation.arrays import ArrayModels
from toplist.evaluation.stream import Collector, ScoringSpec, coder_of
from toplist.inference.dependence import TruthColumn
from toplist.inference.diagnostics import MOST_VALUES, SAMPLED, UNSEEN, ScoreSample
from toplist.inference.settings import InferenceSettings
from toplist.io.align import AlignedCases, OutOfStepError
from toplist.io.batches import Batch
from toplist.io.columns import as_numpy, plain
from toplist.io.encoding import CommonEncoder
from toplist.io.lists import clusters_in_order, lists_of, untimely, weights_of
from toplist.io.plan import Plan
from toplist.lists import TopLists
from toplist.lists.converters import as_single_outcomes
from toplist.lists.labelsets import LabelSets
from toplist.lists.space import ClassSpace
from toplist.lists.toplists import join
from toplist.scoring.bounds import log_mean_gain, most_lost
from toplist.scoring.case_scores import CaseScores
from toplist.scoring.scores import highest_score

T = TypeVar("T")
Places = NDArray[np.intp]
EXACT: Final = 2_000_000
"""Listed classes up to which all cases are in the sample, and curves are exact: seconds, and about 100 MB."""
_PART: Final = 1 << 15  # cases that are put into bins at a time
_COLUMNS = 8  # of the truth that are tested for dependence
_SEED = 20240229
_SLOPES: Floats = 2.0 ** np.arange(
    -3, 11, dtype=np.float64
)  # t of Chernoff's bound, in units of one over the range of the score
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
    """Keeps the scores of cases under the first rule: of all, or of as many as are wanted, drawn at random."""

    def __init__(self, plan: Plan) -> None:
        self.plan, self.heaviest = plan, 0.0
        self.share = min(1.0, 0.95 * SAMPLED / max(plan.truth.reader.rows or 1, 1))
        self.parts: list[_Part] = []

    def make(self, truth: Batch, scored: Sequence[CaseScores], present: Sequence[NDArray[np.bool_]]) -> Any:
        """See `Collector`."""
        plan, share = self.plan, self.share
        weights = None if plan.weight is None else weights_of(truth, plan.weight)
        heaviest = 1.0 if weights is None else float(weights.max(initial=0.0))
        draw = np.random.default_rng([_SEED, *truth.rows[:1].tolist()]).random(len(truth), np.float32)
        at = np.flatnonzero(draw < share)
        scores = np.stack([one.scores[0][at] for one in scored], axis=1)
        for a, there in enumerate(present):
            scores[~there[at], a] = np.nan
        return _Part(truth.source, truth.rows[at], draw[at], scores, None if weights is None else weights[at]), heaviest

    def add(self, made: Any) -> None:
        """See `Collector`."""
        part, heaviest = made
        self.heaviest = max(self.heaviest, heaviest)
        self.parts.append(part.below(self.share))
        while sum(map(len, self.parts)) > SAMPLED:
            self.share /= 2
            self.parts = [one.below(self.share) for one in self.parts]

    def sample(self, settings: InferenceSettings) -> ScoreSample:
        """The cases, with the columns of the truth by which they may depend on each other."""
        parts = self.parts
        weights = None
        if self.plan.weight is not None:
            weights = np.concatenate([np.zeros(0) if one.weights is None else one.weights for one in parts])
        scores = np.concatenate([one.scores for one in parts])
        return ScoreSample(scores, weights, self.share, _columns_of(self.plan, settings, parts))


@dataclass(frozen=True, slots=True, eq=False)
class _Part:
    """Some cases of a batch, with where they stand in the truth."""

    source: str
    rows: NDArray[np.int64]
    draw: NDArray[np.float32]
    scores: Floats
    weights: Floats | None

    def __len__(self) -> int:
        return len(self.rows)

    def below(self, share: float) -> _Part:
        """Those of them that are kept at this share."""
        at = self.draw < share
        if at.all():
            return self
        weights = None if self.weights is None else self.weights[at]
        return replace(self, rows=self.rows[at], draw=self.draw[at], scores=self.scores[at], weights=weights)


def _columns_of(plan: Plan, settings: InferenceSettings, parts: Sequence[_Part]) -> dict[str, TruthColumn]:
    """Columns of the truth with few values, of these cases, that are not in use; the truth is read again for them."""
    layout, pa = plan.truth.layout, need("pyarrow")
    used = {settings.cluster, settings.time, plan.weight, plan.n_classes, layout.case, None}
    kinds = {one.name: one.type for one in plan.truth.reader.schema}
    every = dict.fromkeys((plan.group, plan.cluster, plan.time, *layout.ignored))
    names = [str(one) for one in every if one not in used and one in kinds and not pa.types.is_nested(kinds[one])]
    first = next(iter(plan.truth.reader.pieces(names)), None) if names else None
    if first is None:
        return {}
    names = [name for name in names if _is_repeated(plain(first.table.column(name)))][:_COLUMNS]
    found: dict[str, Any] = {name: [] for name in names}
    places = []
    cases = _Cases(parts)
    for piece in plan.truth.reader.pieces(names) if names else ():
        place, at = cases.within(piece.source, piece.row_numbers)
        if len(at):
            places.append(place)
            for name in names:
                found[name].append(plain(piece.table.column(name)).take(pa.array(at)))
    if not places or sum(map(len, places)) != cases.count:
        return {}  # the rows of the truth are not where they were
    order = np.argsort(np.concatenate(places))
    made = {name: _coded(pa.chunked_array(values).combine_chunks(), order) for name, values in found.items()}
    return {name: one for name, one in made.items() if one is not None}


class _Cases:
    """Where the cases of a sample stand in the files of the truth."""

    def __init__(self, parts: Sequence[_Part]) -> None:
        self.count, by_source = 0, dict[str, list[tuple[NDArray[np.int64], NDArray[np.int64]]]]()
        for part in parts:
            by_source.setdefault(part.source, []).append((part.rows, self.count + np.arange(len(part))))
            self.count += len(part)
        self.known = {}
        for source, found in by_source.items():
            rows, places = (np.concatenate(column) for column in zip(*found, strict=True))
            order = np.argsort(rows)
            self.known[source] = rows[order], places[order]

    def within(self, source: str, numbers: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.intp]]:
        """Of the cases in rows with these numbers, which rise: their places in the sample, and among the numbers."""
        rows, places = self.known.get(source, (np.zeros(0, np.int64),) * 2)
        lo, hi = np.searchsorted(rows, (numbers[0], numbers[-1] + 1)) if len(numbers) else (0, 0)
        at = np.searchsorted(numbers, rows[lo:hi])
        fine = numbers[at] == rows[lo:hi]
        return places[lo:hi][fine], at[fine]


def _is_repeated(values: Any) -> bool:
    """Whether most values occur more than once, or say when."""
    pc = need("pyarrow.compute")
    return 2 * len(pc.unique(values)) <= len(values) or _is_date(values)


def _is_date(values: Any) -> bool:
    types, pc = need("pyarrow").types, need("pyarrow.compute")
    if types.is_date(values.type) or types.is_timestamp(values.type):
        return True
    if not (types.is_string(values.type) or types.is_large_string(values.type)):
        return False
    known = pc.unique(values).drop_null()
    return len(known) > 1 and "-" in known[0].as_py() and untimely(known.to_pylist()) is None


def _coded(values: Any, order: NDArray[np.intp]) -> TruthColumn | None:
    """A column as codes, those of dates in their order; None where there are too many values, or too few."""
    pa, pc = need("pyarrow"), need("pyarrow.compute")
    dated = _is_date(values)
    if pa.types.is_timestamp(values.type) and 2 * len(pc.unique(values)) > len(values):
        values = values.cast(pa.date32(), safe=False)
    known = pc.unique(values)
    if not 2 <= len(known) <= MOST_VALUES or (not dated and 2 * len(known) > len(values)):
        return None
    if dated:
        known = known.take(pc.sort_indices(known))
    codes = as_numpy(pc.fill_null(pc.index_in(values, known), 0)).astype(np.int64)
    return TruthColumn(codes[order], timed=dated)


def of_arrays(held: ArrayModels, sheets: Sequence[CaseScores], settings: InferenceSettings) -> ScoreSample:
    """The same of models in memory, with the groups, or with the time where cases are taken as independent."""
    n, share = len(sheets[0]), 1.0
    at: Any = slice(None)
    if n > SAMPLED:
        share = SAMPLED / n
        at = np.flatnonzero(np.random.default_rng(_SEED).random(n, np.float32) < share)
    columns = {}
    if held.groups is not None and held.groups.codes is not None and len(held.groups.keys) <= MOST_VALUES:
        columns["group"] = TruthColumn(held.groups.codes[at].astype(np.int64))
    if "time" in held.metadata and settings.time is None:
        known, codes = np.unique(held.metadata["time"], return_inverse=True)
        if len(known) <= MOST_VALUES:
            columns["time"] = TruthColumn(codes[at], timed=True)
    scores = np.stack([sheet.scores[0][at] for sheet in sheets], axis=1)
    return ScoreSample(scores, None if held.weights is None else held.weights[at], share, columns)


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
        lists = self.held.lists
        heaviest = 1.0 if self.held.weights is None else float(self.held.weights.max())
        pairs = {pair: _PairLosses(self.held.scoring, heaviest) for pair in sums}
        for (a, b), one in pairs.items():
            one.add(lists[a], lists[b], self.held.weights)
            if sums[a, b] < UNSEEN * one.most:
                one.add_gain(lists[a], lists[b], self.held.weights)
        return {pair: one.result(sums[pair]) for pair, one in pairs.items()}


class _PairLosses:
    """The largest loss of one model against another, and how likely its lead is if the other one's lists are right."""

    def __init__(self, scoring: ScoringSpec, heaviest: float) -> None:
        self.rule, self.penalty, self.most = scoring.rules[0], scoring.penalty, -math.inf
        low, high = self.rule.bounds()
        self.t = _SLOPES / (heaviest * (high - low if math.isfinite(high - low) else 1.0))
        self.logs = np.zeros(len(self.t))
        self.entries = 0

    def add(self, a: TopLists, b: TopLists, weights: Floats | None) -> None:
        """The lists of some cases."""
        how: Any = {"rule": self.rule, "penalty": self.penalty}
        self.most = max(self.most, most_lost(a, b, weights, **how))

    def add_gain(self, a: TopLists, b: TopLists, weights: Floats | None) -> None:
        """The same for how likely the lead is, as long as lists are not too many."""
        self.entries += len(a.confidences) + len(b.confidences)
        if self.entries <= _ENTRIES and not isinstance(b.space, LabelSets):
            self.logs += log_mean_gain(a, b, self.t, weights, rule=self.rule, penalty=self.penalty)

    def result(self, total: float) -> tuple[float, float | None]:
        """See `diagnostics.Lost`: Chernoff's bound, the least of exp(-t x) E exp(t X) over some t."""
        least = float(np.min(self.logs - self.t * total, where=~np.isnan(self.logs), initial=math.inf))
        if total >= UNSEEN * self.most or self.entries > _ENTRIES or math.isinf(least) or not self.logs.any():
            return self.most, None
        return self.most, float(f"{math.exp(min(0.0, least)):.3g}")


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
        found: dict[tuple[str, str], _PairLosses] = {}
        if plan.missing == "pairwise":
            for pair in sums:
                found |= self._of([pair], pair)
        else:
            found = self._of([*sums], everyone)
        return {pair: one.result(sums[pair]) for pair, one in found.items()}

    def _of(self, pairs: Sequence[tuple[str, str]], names: Sequence[str]) -> dict[tuple[str, str], _PairLosses]:
        plan, found = self.plan, dict[tuple[str, str], _PairLosses]()
        sources = [one for one in plan.sources if one.name in names]
        cases = AlignedCases((plan.truth, *sources), "error" if plan.missing == "error" else "common")
        for way in cases.attempts():
            found = {pair: _PairLosses(self.scoring, self.heaviest) for pair in pairs}
            coder = coder_of(plan)
            common = CommonEncoder(coder.space, coder.integers, coder.sets)
            try:
                for truth, *batches in way:
                    codes, _ = common.together(batches, [one.names for one in sources])
                    lists = self._lists(sources, batches, codes)
                    weights = None if plan.weight is None else weights_of(truth, plan.weight)
                    for (a, b), one in found.items():
                        one.add(lists[a], lists[b], weights)
                        one.add_gain(lists[a], lists[b], weights)
            except OutOfStepError:
                continue
            break
        return found

    def _lists(self, sources: Sequence[Any], batches: Sequence[Batch], codes: Sequence[Codes]) -> dict[str, Any]:
        plan = self.plan
        if plan.space is None:
            raise ValueError("the number of classes differs from case to case")
        return {
            source.name: lists_of(batch, source.names, code, plan.space, plan.repairs[source.name])
            for source, batch, code in zip(sources, batches, codes, strict=True)
        }
