"""What diagnostics look at beside sums: some cases with the columns of the truth, and the lists of two models."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from toplist._files import need
from toplist._typing import Codes, Floats
from toplist.evaluation.arrays import ArrayModels
from toplist.evaluation.stream import Collector, ScoringSpec, coder_of
from toplist.inference.dependence import TruthColumn
from toplist.inference.diagnostics import MOST_VALUES, SAMPLED, UNSEEN, ScoreSample
from toplist.inference.settings import InferenceSettings
from toplist.io.align import AlignedCases, OutOfStepError
from toplist.io.batches import Batch
from toplist.io.columns import as_numpy, plain
from toplist.io.encoding import CommonEncoder
from toplist.io.lists import lists_of, untimely, weights_of
from toplist.io.plan import Plan
from toplist.lists import TopLists
from toplist.lists.labelsets import LabelSets
from toplist.scoring.bounds import log_mean_gain, most_lost
from toplist.scoring.case_scores import CaseScores
from toplist.scoring.scores import highest_score

_COLUMNS = 8  # of the truth that are looked at
_SEED = 20240229
_SLOPES: Floats = 2.0 ** np.arange(
    -3, 11, dtype=np.float64
)  # t of Chernoff's bound, in units of one over the range of the score
_ENTRIES = 2_000_000  # listed classes of both models up to which the bound is made


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
