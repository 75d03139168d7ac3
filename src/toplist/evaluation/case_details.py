"""What a leaderboard can be asked for later: scores side by side, what the lists show, which files they came from."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, NoReturn

import numpy as np
from numpy.typing import NDArray

from toplist._files import as_remote, need
from toplist._typing import Codes, Floats, Progress
from toplist.calibration import Decomposition, Reliability, decompose, reliability
from toplist.calibration.binned import BinnedCalibration, ReliabilityBins
from toplist.calibration.miscalibration import CalibrationVerdict
from toplist.errors import FileError, TopListError
from toplist.evaluation.arrays import ArrayModels
from toplist.evaluation.breakdown import BreakdownMaker, groups_of_sums
from toplist.evaluation.model_details import (
    ArrayNames,
    Counted,
    DetailsAccumulator,
    Look,
    Places,
    Shown,
    accumulate,
    finish,
    largest,
    truth_of,
    views_of,
    worst,
)
from toplist.evaluation.samples import (
    EXACT,
    TESTED,
    CaseSample,
    CaseSampler,
    attempt,
    calibration_verdict,
    in_order,
    sample_cases,
    sample_of,
)
from toplist.evaluation.stream import (
    MatrixCollector,
    RowFile,
    ScoredBatch,
    ScoredRows,
    ScoringSpec,
    class_texts,
    coder_of,
    run,
)
from toplist.inference.aggregates import ScoreMatrix
from toplist.inference.intervals import Intervals, rounding
from toplist.inference.ranking import differences, turning
from toplist.inference.results import (
    RIGHT,
    Breakdown,
    CaseView,
    Comparison,
    FileRecord,
    ModelDetails,
    PairCases,
    PartRecord,
)
from toplist.io import (
    Batch,
    CasesInFile,
    Column,
    OpenTable,
    Plan,
    as_arrow,
    as_numpy,
    plain,
)
from toplist.lists.checks import text
from toplist.lists.converters import is_soft
from toplist.scoring.case_scores import CaseScores, Grouping
from toplist.scoring.rules import Rule, name_of

if TYPE_CHECKING:
    from toplist.report.html import Page, Provenance
    from toplist.report.plot import Plot

ModelPair = tuple[str, str]
_PAIRS = 12  # models that are compared with one
_ADVANTAGES = 5  # cases that are shown in favour of each of two models
_PANELS = 4  # tied models whose reliability curves are made, beside the two that are ranked last
_BAND = 0.9  # the level of the band of a reliability curve

_REMEDY = "run toplist compare on the files, or on a sample of their cases"
_NOT_SHOWN = (
    "This page is made from sums over cases: for isotonic reliability curves and the test of calibration, scores by "
    "class, confusions, single cases, scores against list length and measured next steps, compare the files "
    "themselves, or a sample of their cases."
)


def against(results: Comparison) -> tuple[str, ...]:
    """The baseline if one was named, else the leader; then the other ranked models, best first, at most twelve."""
    rows = results.overall.rows
    first = rows[0].name if results.baseline is None else results.baseline
    others = [row.name for row in rows if row.rank is not None and row.name != first]
    return first, *others[:_PAIRS]


class ModelCalibration(NamedTuple):
    """What was found of the calibration of models, by name."""

    judged: dict[str, CalibrationVerdict]  # the test that a diagnosis makes
    curves: dict[str, Reliability]  # of the top class
    decompositions: dict[str, Decomposition]  # of the mean score under the first rule


@dataclass(frozen=True, slots=True)
class CaseDetails:
    """Everything about the cases that is not in the sums."""

    names: tuple[str, ...]  # of the models, in the order of the columns
    scoring: ScoringSpec
    panel: ScoreMatrix
    exhibits: tuple[ModelDetails, ...]
    right: NDArray[np.float64]  # (cases, models): whether top-1 predictions are right; ties share
    classes: Grouping | None  # the true class of each case, in the order of names; None where the truth is soft
    advantages: Mapping[ModelPair, Sequence[Shown]]  # the largest ones of one model over another
    held: Callable[[str], CaseSample | None]  # the lists of a model by position; None where the truth is soft
    files: tuple[FileRecord, ...] = ()

    def calibration(self, results: Comparison, *, seed: int) -> ModelCalibration:
        """The calibration of every model whose truth is one class per case, each model's lists read once.

        Curves are of the first models that are tied for best and of the last two. Cases count alike.
        """
        rows, (rule, *_), penalty = results.overall.rows, self.scoring.rules, self.scoring.penalty
        ranked = [row.name for row in rows if row.rank is not None]
        tied = () if results.confidence_set is None else results.confidence_set.members
        drawn = {*(tied or ranked[:1])[:_PANELS], *ranked[-2:]}
        found = ModelCalibration({}, {}, {})
        for name in (row.name for row in rows):
            sample = self.held(name)
            if sample is None or not len(sample.lists):
                continue
            sample = in_order(sample)  # once, for all of what follows
            found.judged[name] = calibration_verdict(sample, level=results.level, seed=seed)
            tested = sample.tested()
            lists, y = tested.lists, tested.y
            parts = attempt("decomposition", partial(decompose, lists, y, rule=rule, penalty=penalty), [])
            if parts is not None:
                found.decompositions[name] = parts
            if name in drawn and sample.any_listed:
                curve = attempt("curve", partial(reliability, lists, y, of="top", level=_BAND, seed=seed), [])
                if curve is not None:
                    found.curves[name] = curve
        return found

    def breakdowns(self, results: Comparison, intervals: Intervals) -> tuple[Breakdown, ...]:
        """Mean scores by true class, then by the groups that were asked for.

        Parameters
        ----------
        results : Comparison
            The standings over all cases, and of each group.
        intervals : Intervals
            How the intervals over all cases are made: those of groups are made in the same way.

        Returns
        -------
        tuple of Breakdown
            By true class where the truth has two classes or more, by group where there are groups.

        """
        made = BreakdownMaker(results, self.names, self.panel, self.right, intervals)
        found = (None if self.classes is None else made.by_class(self.classes), made.by_group())
        return tuple(one for one in found if one is not None)

    def against(self, results: Comparison) -> tuple[PairCases, ...]:
        """The baseline, or the leader, against the other ranked models, case by case; see `against`."""
        first, *others = against(results)
        return tuple(self._pair(first, other) for other in others)

    def _pair(self, a: str, b: str) -> PairCases:
        """Two models on the cases of both, by the first rule, weighted as in the comparison.

        Rounding is no difference.
        """
        at = [self.names.index(name) for name in (a, b)]
        scores = np.asarray(self.panel.scores[:, 0])[:, at]
        both = np.flatnonzero(~np.isnan(scores).any(axis=1))
        one, other = scores[both].T
        least = rounding(one, other)
        with np.errstate(invalid="ignore"):
            other = np.where(np.abs(one - other) <= least, one, other)
        weights = self.panel.weights
        d = differences(one, other, np.ones(len(both)) if weights is None else weights[both])
        right, only_a, only_b, wrong = 0, 0, 0, 0
        if self.classes is not None:
            first, second = (self.right[both, column] > RIGHT for column in at)
            right, only_a, only_b, wrong = np.bincount(3 - 2 * first - second, minlength=4).tolist()
        a_better, b_better = int(np.count_nonzero(one < other)), int(np.count_nonzero(one > other))
        for_a, for_b = (
            tuple(shown.view for shown in self.advantages[pair] if shown.view.apart > least)
            for pair in ((a, b), (b, a))
        )
        return PairCases(
            a=a,
            b=b,
            cases=len(both),
            both_right=right,
            only_a_right=only_a,
            only_b_right=only_b,
            both_wrong=wrong,
            a_better=a_better,
            b_better=b_better,
            equal=len(both) - a_better - b_better,
            turning=turning(d),
            for_a=for_a,
            for_b=for_b,
        )


Looks = Sequence[tuple[Look, Places]]
"""Lists of models, and where their cases stand among those that are compared: -1 for none of these."""


@dataclass(frozen=True, slots=True, eq=False)
class ComparedCases:
    """Some cases of the matrix, and the lists that were scored, also those of cases that are not compared."""

    names: Sequence[str]  # of the columns
    scores: Floats  # by case and model, under the first rule
    weights: Floats | None
    right: Floats
    there: NDArray[np.bool_]  # whether a model predicts a case
    looks: Looks

    def counted(self, places: Places) -> Counted:
        """How many models are right in a case of a look, of those that predict it, and how many these are."""

        def counted(at: int) -> tuple[float, int]:
            there = self.there[places[at]]
            right = math.fsum(self.right[places[at]][there].tolist())
            return (0.0, 0) if places[at] < 0 else (right, int(there.sum()))

        return counted

    def details(self, rule: Rule) -> list[tuple[str, DetailsAccumulator]]:
        """What lists show, by model."""
        return [(look.name, accumulate(look, rule, self.counted(places))) for look, places in self.looks]

    def advantages(self, first: str, others: Sequence[str]) -> dict[ModelPair, list[Shown]]:
        """The cases in which one model is most ahead of others, and they of it; imputed predictions are none."""
        predicted = {name: np.zeros(len(self.scores), bool) for name in self.names}
        for look, places in self.looks:
            predicted[look.name][places[places >= 0]] = True
        weights = np.ones(len(self.scores)) if self.weights is None else self.weights
        leads: dict[ModelPair, tuple[Places, Floats]] = {}
        for other in others:
            a, b = (self.scores[:, self.names.index(name)] for name in (first, other))
            d = differences(a, b, weights)
            for pair, lead in (((first, other), -d), ((other, first), d)):
                some = np.flatnonzero(predicted[first] & predicted[other] & (lead > 0))
                at = some[worst(lead[some], some, _ADVANTAGES)]
                leads[pair] = at, lead[at]
        views: dict[tuple[str, int], CaseView] = {}
        for look, places in self.looks:
            wanted = [at for pair, (at, _) in leads.items() if look.name in pair]
            at = np.flatnonzero(np.isin(places, np.concatenate([*wanted, np.zeros(0, np.intp)])))
            for place, view in zip(places[at].tolist(), views_of(look, at, self.counted(places)), strict=True):
                views[look.name, place] = view
        cases: dict[ModelPair, list[Shown]] = {}
        for pair, (at, lead) in leads.items():
            other = pair[pair[0] == first]
            cases[pair] = []
            for place, value in zip(at.tolist(), lead.tolist(), strict=True):
                one, two = views[first, place], views[other, place]
                cases[pair].append(Shown(value, place, "", replace(one, predictions=one.predictions + two.predictions)))
        return cases


@dataclass
class CaseReader:
    """Reads the cases of a comparison again, for details and for scores, each once."""

    _read: Callable[[Sequence[str], Progress], CaseDetails]
    scores: Callable[[], Mapping[str, CaseScores]]
    known: CaseDetails | None = None  # the details, where they were read already

    def details(self, agrees: Callable[[CaseDetails], bool], shown: Sequence[str], progress: Progress) -> CaseDetails:
        """The details, or an error where they do not agree with what was compared.

        `shown` are the models of whose predictions single cases are shown; see `against`.
        """
        if self.known is None:
            details = self._read(shown, progress)
            if not agrees(details):
                raise TopListError("the predictions or outcomes have changed since they were compared: compare again.")
            self.known = details
        return self.known


@dataclass(frozen=True, slots=True)
class SumDetails:
    """Stands in for the cases of a leaderboard that was made from sums: by an engine, or merged from partial results.

    What needs cases is refused, with what to run instead.
    """

    bins: Mapping[str, ReliabilityBins] = field(default_factory=dict)  # by model
    parts: tuple[PartRecord, ...] = ()
    known: ClassVar[None] = None  # details of cases

    def scores(self) -> NoReturn:
        """Refuse: there are no scores case by case."""
        self.refuse("scores case by case")

    def details(self, *_: Any) -> NoReturn:
        """Refuse: there are no details of cases."""
        self.refuse("the details of cases")

    def refuse(self, what: str) -> NoReturn:
        """Raise an error that says what is missing, and what to run."""
        raise TopListError(f"this leaderboard is made from sums and has no cases: for {what}, {_REMEDY}.")

    def calibration(self, results: Comparison) -> dict[str, BinnedCalibration]:
        """The binned calibration of every model that names a class, in the order of the table.

        Where units are not cases, which then depend on each other, there are no intervals.
        """
        independent, found = results.unit == "case", {}
        for row in results.overall.rows:
            own = self.bins.get(row.name, ReliabilityBins()).calibration(results.level, independent=independent)
            if own is not None:
                found[row.name] = own
        return found

    def plot(self, kind: str, results: Comparison) -> Plot[Any]:
        """The reliability diagram, in bins; other figures of details need the cases."""
        from toplist.report import plot  # noqa: PLC0415 - figures are loaded when one is asked for

        if kind != "reliability":
            self.refuse(f"the plot {kind!r}")
        return plot.binned_reliability(self.calibration(results))

    def page(self, results: Comparison, provenance: Provenance) -> Page:
        """All that a report shows without cases; next steps would need them."""
        from toplist.report.html import Page  # noqa: PLC0415 - templates are not for everyone

        groups = groups_of_sums(results)
        return Page(
            results,
            provenance=replace(provenance, parts=self.parts),
            breakdowns=() if groups is None else (groups,),
            binned=self.calibration(results),
            absent=_NOT_SHOWN,
        )


def from_memory(given: ArrayModels, shown: Sequence[str]) -> CaseDetails:
    """From predictions in memory."""
    sheets, names, rule = given.sheets(), tuple(given.lists), given.scoring.rules[0]
    right = np.stack([np.asarray(one.metrics["accuracy"], np.float64) for one in sheets], axis=1)
    panel, there = given.panel(sheets), np.ones(right.shape, bool)
    cases = ComparedCases(names, panel.scores[:, 0], panel.weights, right, there, looks_in_memory(given, sheets))
    return CaseDetails(
        names,
        given.scoring,
        panel,
        tuple(finish(found, name, name_of(rule)) for name, found in cases.details(rule)),
        right,
        given.true_classes(),
        cases.advantages(shown[0], shown[1:]),
        partial(_held, given),
    )


def looks_in_memory(given: ArrayModels, sheets: Sequence[CaseScores]) -> Looks:
    """The lists of all models, of which every case is compared."""
    rows = np.arange(len(sheets[0]))
    return [
        (Look(name, lists, truth_of(given.y, lists), sheet, ArrayNames(lists.space, given.ids, given.y), rows), rows)
        for (name, lists), sheet in zip(given.lists.items(), sheets, strict=True)
    ]


def looks_in_files(rows: ScoredRows, plan: Plan) -> Looks:
    """The lists that were scored of some cases."""
    labels = None if plan.space is None or plan.set_separator is not None else plan.space.labels
    looks = []
    for scored in rows.lists:
        truth, names = scored.truth, FileNames(scored, labels, plan.set_separator)
        imputed = truth.ids is not None and scored.batch.ids is None
        look = Look(scored.name, scored.lists, scored.y, scored.scores, names, truth.rows, truth.source, imputed)
        looks.append((look, places_of(truth.rows, rows.truth.rows)))
    return looks


def _held(given: ArrayModels, name: str) -> CaseSample | None:
    lists, clusters = given.lists[name], given.clusters
    if is_soft(given.y, lists.space):
        return None
    units = None if clusters is None or clusters.codes is None else clusters.codes.astype(np.intp)
    return sample_cases(lists, given.y, units, named=True)


def from_files(plan: Plan, scoring: ScoringSpec, shown: Sequence[str], progress: Progress) -> CaseDetails:
    """From the files, which are read once more."""
    rule = scoring.rules[0]
    seen = DetailsCollector(plan, rule, shown)
    run(plan, scoring, [seen], progress)
    return CaseDetails(
        tuple(one.name for one in plan.sources),
        scoring,
        seen.panel(),
        tuple(finish(found, name, name_of(rule)) for name, found in seen.found.items()),
        seen.guesses.mapped(),
        seen.classes(),
        seen.advantages,
        seen.held,
        tuple(r for one in (*plan.sources, plan.truth) for r in _records(one)),
    )


@dataclass(frozen=True, slots=True)
class FileNames:
    """Names of cases and classes in a batch of a file, with the batch of the truth that it was scored with.

    With the labels of all classes, codes are their places. Label sets that are text have their labels in order.
    """

    scored: ScoredBatch
    labels: Sequence[Any] | None = None
    separator: str | None = None  # between the labels of a set

    def case(self, at: int, position: int) -> str:
        """See `BatchNames`."""
        lists, truth = self.scored.batch, self.scored.truth
        return CasesInFile(truth.rows, truth.ids if lists.ids is None else lists.ids).case(at, position)

    def predicted(self, cases: Places, codes: Codes) -> Sequence[str]:
        """See `BatchNames`."""
        return self._named(self.scored.batch, self.scored.names, self.scored.codes, cases, codes)

    def outcomes(self, cases: Places, codes: Codes) -> Sequence[str]:
        """See `BatchNames`."""
        return self._named(self.scored.truth, self.scored.truth_names, self.scored.outcomes, cases, codes)

    def _named(self, batch: Batch, columns: tuple[str, ...], own: Codes, cases: Places, codes: Codes) -> Sequence[str]:
        """The names of one class of each case: the first entry of the case that has its code says it."""
        if self.labels is not None and not (codes < 0).any():
            return [text(self.labels[code]) for code in codes.tolist()]
        if batch.classes is None and len(own) == len(columns):
            known = dict(zip(own.tolist(), columns, strict=True))
            return [text(known.get(code, code)) for code in codes.tolist()]
        rows, row = np.unique(cases, return_inverse=True)
        sizes = np.diff(batch.offsets)[rows]
        entries = np.repeat(batch.offsets[:-1][rows] - np.cumsum(sizes) + sizes, sizes) + np.arange(int(sizes.sum()))
        every, code = np.unique(np.concatenate([own[entries], codes]), return_inverse=True)
        keys = np.concatenate([np.repeat(np.arange(len(rows)), sizes), row]) * len(every) + code
        there, first = np.unique(keys[: len(entries)], return_index=True)
        at = np.searchsorted(there, keys[len(entries) :])
        listed = np.flatnonzero(np.append(there, -1)[at] == keys[len(entries) :])
        places = entries[first[at[listed]]]
        names = list(map(text, codes.tolist()))
        if batch.classes is None:
            texts = [columns[place] for place in (places % len(columns)).tolist()]
        else:
            texts = class_texts(batch.classes.take(as_arrow(places)), self.separator).to_pylist()
        for case, name in zip(listed.tolist(), texts, strict=True):
            names[case] = name
        return names


def true_names(truth: Batch, plan: Plan) -> Column:
    """The names of the classes in a batch of the truth, in which whole numbers may be the places of labels."""
    pa, values, names = need("pyarrow"), plain(truth.classes), class_texts(truth.classes, plan.set_separator)
    coder = coder_of(plan)
    if plan.space is None or coder.labels is None or not pa.types.is_integer(values.type):
        return names
    (codes,), _ = coder.encode([truth], [plan.truth.names], truth=0)
    labels = pa.array(list(map(text, plan.space.labels or ())), pa.string())
    return need("pyarrow.compute").coalesce(labels.take(pa.array(codes, mask=codes < 0)), names)


class DetailsCollector(MatrixCollector):
    """Keeps every score and whether top-1 predictions are right, and looks at all lists as they are scored."""

    def __init__(self, plan: Plan, rule: Rule, shown: Sequence[str]) -> None:
        super().__init__(plan)
        self.rule, self.shown, self.hard = rule, shown, plan.truth.layout.kind == "labels"
        coder, limit = coder_of(plan), TESTED if plan.cluster is None else EXACT
        named = plan.space is not None and plan.set_separator is None and (coder.labels is not None or coder.integers)
        self.found = {one.name: DetailsAccumulator() for one in plan.sources}
        self.named = named  # whether a code means the same class in all batches
        self.samplers = {one.name: CaseSampler(limit) for one in plan.sources if self.hard}
        self.outcomes: list[Column] = []  # the names of the true classes
        self.advantages: dict[ModelPair, tuple[Shown, ...]] = {}
        self.guesses, self.count = RowFile(), 0

    def make(self, rows: ScoredRows) -> Any:
        """See `Collector`."""
        truth, matrix = rows.truth, super().make(rows)
        scores, (_, weights, *_) = matrix
        right = np.stack([np.asarray(one.metrics["accuracy"], np.float64) for one in rows.scores], axis=1)
        there = np.stack(rows.present, axis=1) if rows.present else np.ones(right.shape, bool)
        looks = looks_in_files(rows, self.plan)
        names = [source.name for source in self.plan.sources]
        cases = ComparedCases(names, scores[:, 0], weights, right, there, looks)
        samples = [sample_of(one, self.plan.cluster, named=self.named) if self.hard else None for one in rows.lists]
        outcomes = true_names(truth, self.plan).dictionary_encode() if self.hard else None
        advantages = cases.advantages(self.shown[0], self.shown[1:])
        return matrix, right, outcomes, cases.details(self.rule), advantages, samples, [places for _, places in looks]

    def add(self, made: Any) -> None:
        """See `Collector`."""
        matrix, right, outcomes, details, advantages, samples, places = made
        super().add(matrix)
        for name, found in details:
            self.found[name] += found
        for (name, _), sample, at in zip(details, samples, places, strict=True):
            if sample is not None:
                self.samplers[name].add(replace(sample, places=np.where(at < 0, -1, self.count + at)))
        for pair, cases in advantages.items():
            later = [case._replace(position=self.count + case.position) for case in cases]
            self.advantages[pair] = largest((*self.advantages.get(pair, ()), *later), _ADVANTAGES)
        self.guesses.add(right)
        self.count += len(right)
        if outcomes is not None:
            self.outcomes.append(outcomes)

    def classes(self) -> Grouping | None:
        """The true class of each case, in the order of names; None where the truth is a distribution."""
        if not self.outcomes:
            return None
        pc, names = need("pyarrow.compute"), need("pyarrow").chunked_array(self.outcomes).unify_dictionaries()
        texts = names.combine_chunks()
        classes = texts.dictionary.take(pc.sort_indices(texts.dictionary))
        rank = as_numpy(pc.index_in(texts.dictionary, classes)).astype(np.int32)
        return Grouping(classes.to_pylist(), rank[as_numpy(texts.indices)])

    def held(self, name: str) -> CaseSample | None:
        """The lists of a source by place: as many as the test of calibration looks at."""
        return self.samplers[name].sample() if self.hard and self.samplers[name].parts else None


def places_of(wanted: Codes, rows: Codes) -> Places:
    """Where rows stand among others; -1 for those that are not among them."""
    places = np.full(len(wanted), -1, np.intp)
    _, at, there = np.intersect1d(wanted, rows, assume_unique=True, return_indices=True)
    places[at] = there
    return places


def _records(source: OpenTable) -> list[FileRecord]:
    """The files of a source, with their digests; elsewhere, with the versions that their stores tell."""
    out = []
    for path in source.reader.paths:
        remote = as_remote(path)
        if remote is not None:  # to read all of it again for its digest may take hours
            told = f"version {remote.version or 'unknown'}"
            out.append(FileRecord(source.name, str(path), path.stat().st_size, told))
            continue
        try:
            with path.open("rb") as file:
                digest = hashlib.file_digest(file, "sha256").hexdigest()
            out.append(FileRecord(source.name, str(path), path.stat().st_size, digest))
        except OSError as error:
            raise FileError(str(path), f"this file cannot be read any more: {error.strerror}.") from None
    return out
