"""A gate: whether a new model is shown to be no worse than a baseline, for continuous integration.

The check of a mean is a test of non-inferiority: it passes where the upper confidence bound of the mean loss is below a
margin. That a loss is not significant shows nothing, so there are three verdicts: pass, fail (shown to be worse by more
than the margin) and inconclusive.

With groups, all of them must pass. Each is tested at the full level: to pass wrongly, the group that is worst must do
so (intersection-union test, Berger 1982). To fail wrongly, any of them suffices, so that failures are by Bonferroni's
method.

Where all scores are the same there is no spread, and the exact bound decides: if losses are L at most and n independent
units show none, the mean loss is below L (1 - alpha^(1/n)) with confidence 1 - alpha. Only predictions that are the
same, list by list, pass without it, and the report says what is not shown.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from numbers import Real
from typing import Any, NamedTuple

import numpy as np

from toplist._files import shown
from toplist._text import argument, significant
from toplist._typing import Bools, Floats, Progress
from toplist.core.kernel import version
from toplist.errors import TopListError
from toplist.evaluation.case_details import looks_in_files, looks_in_memory
from toplist.evaluation.ranking import Question, Scored, doubts, held_models, planned, standings
from toplist.evaluation.samples import SampleCollector, columns_of, reading
from toplist.evaluation.score_files import (
    MISSING,
    UNKNOWN,
    BaselineScores,
    Hashes,
    ScoreFile,
    digests,
    ids_of,
    is_score_file,
)
from toplist.evaluation.stream import MatrixCollector, ScoredRows, SumCollector, run
from toplist.inference.aggregates import Aggregates, ScoreMatrix, overall, tally
from toplist.inference.dependence import usual_lag, usual_waves
from toplist.inference.diagnostics import FEW, diagnose, is_skewed, skewness
from toplist.inference.estimation import required_units
from toplist.inference.intervals import SAME, Intervals, IntervalsOf, rounding
from toplist.inference.ranking import in_order
from toplist.inference.results import BoardWarning, Comparison, Estimate
from toplist.inference.settings import TIMED, Inference, as_inference
from toplist.io import Plan, ReadOptions, ReadRequest, Source, has_tables, silent, with_indicators
from toplist.report.gate import (
    IDENTICAL,
    CaseLoss,
    GateCheck,
    GateReport,
    RuleOfGate,
    Verdict,
    groups_in_words,
    unseen_differences,
)
from toplist.report.statements import policy, repairs_made
from toplist.report.text import PLAIN, count, number_of, percent, plain

_WORST = 5  # cases that are kept of a check
_HALF = 0.5  # of the largest loss there may be: a case that loses so much shows what such a loss does to the spread
_NEW, _OLD = 0, 1


def gate(
    new: Any,
    baseline: Any,
    truth: Any = None,
    *,
    max_loss: float,
    per_case: float | None = None,
    max_loss_group: float | None = None,
    space: Any = None,
    rule: Any = "brier",
    missing: str = "error",
    penalty: float | None = None,
    inference: Inference | str | float = Inference(),  # noqa: B008  frozen
    read: ReadOptions = ReadOptions(),  # noqa: B008  frozen
) -> GateReport:
    """Whether a new model is shown to be no worse than a baseline.

    Parameters
    ----------
    new : predictions, or a mapping from a name to predictions
        Whatever `compare` takes as the predictions of a model.
    baseline : predictions, or a mapping from a name to predictions
        The model that the new one is compared with; or the path of the Parquet file that `toplist score -o` wrote of
        it, which stands in for its predictions, with the same result.
    truth : Truth, path, table or array-like, optional
        The outcomes, as for `compare`. With the `group` of a `Truth`, the mean of every group is checked too.
    max_loss : float
        The margin: the mean loss (score of the new model minus that of the baseline) must be shown to be below it.
    per_case : float, optional
        The most that the new model may lose in any single case.
    max_loss_group : float, optional
        The margin of the groups; by default `max_loss`.
    space : ClassSpace, LabelSets, int, float or sequence, optional
        The classes, or how many there are, as for `compare`.
    rule : str or Rule, default "brier"
        The scoring rule.
    missing : {"error", "common", "uniform"}, default "error"
        What to do about cases that a model lacks: refuse them, keep the cases of both, or take a missing prediction
        for the uniform distribution.
    penalty : float, optional
        Added to the score of an invalid list; by default 1 % of the score of the uniform distribution.
    inference : Inference, str or float, default Inference()
        How bounds are made. Its level is that of each one-sided bound: 0.95 is the upper end of a two-sided 90 %
        interval.
    read : ReadOptions, default ReadOptions()
        How files and dataframes are read.

    Returns
    -------
    GateReport
        The verdict, the checks with their numbers, and what makes them doubtful.

    Raises
    ------
    TopListError
        If something cannot be read, aligned or scored, or the scores of the baseline do not match.

    References
    ----------
    Berger, R. L. (1982). Multiparameter hypothesis testing and acceptance sampling. Technometrics 24.

    Examples
    --------
    >>> import numpy as np
    >>> P = np.random.default_rng(0).dirichlet(np.full(5, 0.5), size=400)
    >>> y = np.array([np.random.default_rng(i).choice(5, p=p) for i, p in enumerate(P)])
    >>> report = gate(0.99 * P + 0.002, P, y, max_loss=0.01, per_case=0.5)
    >>> report.passed, [check.verdict for check in report.checks]
    (True, ['pass', 'pass'])
    """
    limits, how = GateSpec(max_loss, per_case, max_loss_group), as_inference(inference)
    return run_gate(new, baseline, truth, limits, space, rule, missing, penalty, how, read)


def run_gate(
    new: Any,
    baseline: Any,
    truth: Any,
    limits: GateSpec,
    space: Any,
    rule: Any,
    missing: str,
    penalty: float | None,
    how: Inference,
    read: ReadOptions,
    progress: Progress = silent,
) -> GateReport:
    """The same within these limits, which says how far it is."""
    if missing not in MISSING:
        raise TopListError(f"missing is one of {', '.join(MISSING)}, not {missing!r}.")
    how.require_default("a gate", "min_cases")
    if not how.level > 0.5:
        raise TopListError(f"level is above one half for a one-sided bound, not {how.level:g}.")
    (name, predicted), (other, reference) = _named(new, "new"), _named(baseline, "baseline")
    if name == other:
        raise TopListError(f"both models are called {name!r}: give one of them another name.")
    two_sided = replace(how, level=1 - 2 * (1 - how.level))
    question = Question.of((name, other), rule, (), None, missing, penalty, two_sided)
    models, scores, data = {name: predicted}, None, reference.data if isinstance(reference, Source) else reference
    if not is_score_file(data):
        models[other] = reference
    else:
        scores = BaselineScores(other, ScoreFile.read(data), question)
        for option, value in reference.options.items() if isinstance(reference, Source) else ():
            raise TopListError(
                f"{other}: {argument(option, value)} has no effect: {shown(data)} holds scores, not lists."
            )
    request = with_indicators(ReadRequest.of(models, truth, read), space)
    if has_tables(request):
        cases = _of_files(request, space, question, scores, progress)
    else:
        cases = _of_arrays(request, space, question, scores)
    if limits.max_loss_group is not None and cases.scored.group is None:
        raise TopListError(f"a margin of groups needs groups: name them with {argument('group')}.")
    return GateChecks.of(question, cases, scores, limits, how.level).report()


def _named(value: Any, default: str) -> tuple[str, Any]:
    """A model with its name: the only entry of a mapping, or anything else by a name that says what it is."""
    if not isinstance(value, Mapping):
        return default, value
    if len(value) != 1:
        raise TopListError(f"the {default} model is one model: a mapping has one name, not {len(value)}.")
    ((name, model),) = value.items()
    return str(name), model


@dataclass(frozen=True, slots=True)
class GateSpec:
    """The limits of a gate, checked."""

    max_loss: float
    per_case: float | None = None
    max_loss_group: float | None = None

    def __post_init__(self) -> None:
        for name in ("max_loss", "per_case", "max_loss_group"):
            value = getattr(self, name)
            if value is None and name != "max_loss":
                continue
            if isinstance(value, bool) or not isinstance(value, Real) or not 0 < float(value) < math.inf:
                why = ": that a model is better is for compare to show" if value == 0 and name == "max_loss" else ""
                raise TopListError(f"{name} is a finite number above zero, not {value!r}{why}.")
            object.__setattr__(self, name, float(value))


# Scored cases of both models


class PairedCases(NamedTuple):
    """Scored cases of both models, whose scores are side by side, and what tells their lists apart."""

    scored: Scored  # without sums
    matrix: ScoreMatrix
    ids: Sequence[str]  # or positions
    alone: Mapping[Hashable, Aggregates]  # over the cases of each model that was read, which count alike
    lists: Hashes  # (cases, 2)
    left_out: tuple[str, ...]


def _of_files(
    request: ReadRequest, space: Any, question: Question, baseline: BaselineScores | None, progress: Progress
) -> PairedCases:
    plan, settings = planned(request, space, question, ("cluster", "time"), MISSING)
    if baseline is not None:
        baseline.require_same_question(plan.classes, plan.space)
    columns = columns_of(plan, settings)
    pairs = PairCollector(plan, columns, baseline)
    read = run(reading(plan, columns), question.scoring, [pairs], progress)
    left_out, matrix = () if baseline is None else baseline.require_same_cases(), pairs.matrix.panel()
    scored = Scored.of_files(plan, question, settings, {}, matrix, pairs.sample, read)
    lists = np.concatenate([np.zeros((0, 2), np.uint64), *pairs.lists])
    return PairedCases(scored, matrix, pairs.ids, pairs.alone.tallies, lists, left_out)


def _of_arrays(request: ReadRequest, space: Any, question: Question, baseline: BaselineScores | None) -> PairedCases:
    held, settings = held_models(request, space, question)
    sheets, ids, left_out = held.sheets(), held.case_ids, tuple[str, ...]()
    outcomes, lists = digests(looks_in_memory(held, sheets), list(held.lists), len(ids))
    alone = tally(sheets)
    if baseline is not None:
        baseline.require_same_question(held.classes, held.space)
        places = baseline.look_up(ids, outcomes, by_position=held.ids is None)
        left_out = baseline.require_same_cases(all_known=True)
        sheets.append(baseline.scores(places, sheets[0]))
        lists = np.column_stack([lists, baseline.file.lists[places]])
    matrix = held.panel(sheets)
    scored = Scored.of_arrays(held, question, settings, sheets, {}, matrix)
    return PairedCases(scored, matrix, ids, alone, lists, left_out)


class PairCollector:
    """Keeps the scores of both models with the ids of cases, and what tells their lists apart.

    A baseline whose scores are in a file has these handed on with those that were made. What the truth says of cases
    beside outcomes does not count in the sums over each model `alone`.
    """

    def __init__(self, plan: Plan, columns: Sequence[str], baseline: BaselineScores | None) -> None:
        self.plan, self.baseline = plan, baseline
        self.sample, self.matrix = SampleCollector(plan, columns), MatrixCollector(plan)
        self.alone = SumCollector(replace(plan, group=None, cluster=None, weight=None))
        self.ids: list[str] = []
        self.lists: list[Hashes] = []

    def make(self, rows: ScoredRows) -> Any:
        """See `Collector`."""
        names, truth = [source.name for source in self.plan.sources], rows.truth
        outcomes, lists = digests(looks_in_files(rows, self.plan), names, len(truth))
        return self.alone.make(rows), truth, rows.scores, ids_of(truth), outcomes, lists

    def add(self, made: Any) -> None:
        """See `Collector`."""
        alone, truth, scored, ids, outcomes, lists = made
        self.alone.add(alone)
        if self.baseline is not None:
            places = self.baseline.look_up(ids, outcomes, by_position=truth.ids is None)
            keep = np.flatnonzero(places >= 0)
            truth, scored, places = truth.take(keep), [sheet.take(keep) for sheet in scored], places[keep]
            scored, ids = [*scored, self.baseline.scores(places, scored[0])], [ids[at] for at in keep.tolist()]
            lists = np.column_stack([lists[keep], self.baseline.file.lists[places]])
        if not len(truth):
            return
        rows = ScoredRows(truth, scored)
        self.sample.add(self.sample.make(rows))
        self.matrix.add(self.matrix.make(rows))
        self.ids += ids
        self.lists.append(lists)


# The checks


@dataclass(frozen=True, slots=True)
class Independence:
    """How many independent units the cases of a check are, and how much the heaviest of them weighs."""

    units: float
    heaviest: float  # share of all weight
    sums: Floats  # of the losses by unit, times weight
    sizes: Floats  # weight by unit

    def exact_bound(self, largest: float, alpha: float) -> float:
        """A bound on the mean where no unit loses anything, and none may lose more than `largest`.

        Units that lose it are a share q of all weight. The heaviest units are h times the mean, so that a unit is one
        of them with probability q / h at least, and of n units none is with (1 - q / h)^n at most.

        >>> round(Independence(50, 1 / 50, np.zeros(50), np.ones(50)).exact_bound(2.0, 0.05), 4)
        0.1163
        """
        share = self.heaviest * self.units * -math.expm1(math.log(alpha) / self.units)
        return largest * min(1.0, share)

    def units_for(self, largest: float, limit: float, alpha: float) -> int | None:
        """How many units without a loss have a bound below the limit, where they are as uneven as these."""
        share = limit / (largest * self.heaviest * self.units)
        return None if math.isinf(largest) or share >= 1 else math.floor(math.log(alpha) / math.log1p(-share)) + 1

    def contributions(self, *, unweighted: bool) -> Floats:
        """What units add to the mean; of cases, whatever their weight is: a weight is no skewness."""
        sums = self.sums / self.sizes if unweighted else self.sums
        sizes = np.ones(len(sums)) if unweighted else self.sizes
        centred: Floats = sums - sizes * (math.fsum(sums) / math.fsum(sizes))
        return centred

    def unseen(self, largest: float, limit: float) -> float | None:
        """How often no unit loses as much as it may, if that is just frequent enough to bring the mean to the limit.

        That is exp(-s / l), with s what the sum of losses is below that of the limit and l what the heaviest unit may
        lose. None where a unit loses half of what it may: it shows what such a loss does to the spread.
        """
        weight = math.fsum(self.sizes)
        if not largest > 0 or float(np.max(self.sums)) >= _HALF * largest * float(self.sizes.max()):
            return None
        slack = limit * weight - math.fsum(self.sums)
        return math.exp(-max(slack, 0.0) / (largest * min(1.0, self.heaviest) * weight))


CheckedMean = tuple[GateCheck, Independence]


@dataclass(frozen=True, slots=True, eq=False)
class GateChecks:
    """The checks of a gate, on the losses of a new model against a baseline."""

    question: Question
    cases: PairedCases
    baseline: BaselineScores | None  # in the place of its predictions
    limits: GateSpec
    level: float  # of every one-sided bound
    scores: Floats  # (cases, 2): what is infinite for the baseline alone, or for both, as no difference
    losses: Floats  # score of the new model minus that of the baseline; infinite where the former alone is
    counted: Bools  # cases that have weight
    tallies: Mapping[Hashable, Aggregates]
    intervals: IntervalsOf

    @classmethod
    def of(
        cls, question: Question, cases: PairedCases, baseline: BaselineScores | None, limits: GateSpec, level: float
    ) -> GateChecks:
        """The losses of these cases, with their exact sums."""
        matrix, settings = cases.matrix, cases.scored.settings
        pairs = np.array(matrix.scores[:, 0, :])
        new, old = pairs[:, _NEW], pairs[:, _OLD]
        counted = np.ones(len(pairs), bool) if matrix.weights is None else matrix.weights > 0
        if not counted.any():
            raise TopListError("all weights are zero: there is nothing to compare.")
        with np.errstate(invalid="ignore"):
            losses = np.where(np.isinf(new) & np.isinf(old), 0.0, new - old)
        endless = np.isinf(pairs)
        pairs[:, _OLD] = np.where(endless[:, _OLD], new, old)
        pairs[endless[:, _NEW]] = 0.0
        finite = replace(matrix, scores=pairs[:, None, :])
        intervals = IntervalsOf(settings, None if settings.by_sums else finite, question.penalised)
        return cls(question, cases, baseline, limits, level, pairs, losses, counted, finite.tallies(), intervals)

    def report(self) -> GateReport:
        """All checks, and what is to be said about them."""
        sure, limits = self.intervals(None, overall(self.tallies)), self.limits
        (rule,), (new, old) = self.question.rules, self.question.names
        whole, groups = self._mean(sure, self.counted, limits.max_loss), self._groups()
        every = [] if limits.per_case is None else [self._every_case(limits.per_case)]
        of_groups = [check for check, _ in groups]
        results, doubtful = self._diagnosed(sure)
        order = f"{plain(new)} minus {plain(old)}: "
        warnings = [
            *self._nothing_shown(whole[0], of_groups),
            *self._rare_losses(whole, groups),
            *self._doubts(),
            *(f"{order if doubt.kind == 'skewed differences' else ''}{doubt.sentence}" for doubt in doubtful),
            *self._uncertain_groups(groups),
        ]
        return GateReport(
            new,
            old,
            rule,
            self.level,
            limits.max_loss,
            (whole[0], *every, *of_groups),
            int(np.count_nonzero(self.counted)),
            results.unit,
            results.units,
            results.method,
            self.cases.scored.group if groups else None,
            tuple(warnings),
            (*self._notes(results), *self._of_groups(of_groups), *self.cases.left_out),
        )

    def _mean(
        self, sure: Intervals, here: Bools, limit: float, *, group: str | None = None, tested: int = 1
    ) -> CheckedMean:
        """The check of a mean loss, over all cases or in a group that is one of `tested`."""
        estimate = sure.difference(0, _NEW, _OLD)
        independence = self._independence(sure, here, estimate)
        losses, cases, units = self.losses[here], int(np.count_nonzero(here)), sure.units(0, _NEW, _OLD)
        what: RuleOfGate = "mean" if group is None else "group"
        check = GateCheck(what, "inconclusive", limit, estimate.value, cases=cases, units=units, group=group)
        worst, endless = self._worst(here), losses == math.inf
        if endless.any():
            over = int(np.count_nonzero(endless))
            check = replace(check, verdict="fail", value=math.inf, units=cases, over=over, worst=worst)
        elif estimate.reason == SAME and sure.method != "bounded":
            check = self._same(check, independence, here)
        else:
            estimate = sure.untested(0, _NEW, _OLD) if estimate.reason == SAME else estimate
            check = self._bounded(sure, replace(check, value=estimate.value, worst=worst), estimate, losses, tested)
        return check, independence

    def _bounded(self, sure: Intervals, check: GateCheck, estimate: Estimate, losses: Floats, tested: int) -> GateCheck:
        """The check by its bounds, where there are any."""
        if estimate.low is None or estimate.high is None:
            return replace(check, reason=estimate.reason)
        low: float | None = estimate.low
        if tested > 1:  # the lower bound that holds for so many groups at once; None where so few draws have none
            low = sure.difference(0, _NEW, _OLD, 1 - 2 * (1 - self.level) / tested).low
        check = replace(check, lower=estimate.low if low is None else low, upper=estimate.high)
        gained = bool((losses == -math.inf).any())  # counted as no difference: a bound from above, not from below
        if estimate.high < check.limit:
            return replace(check, verdict="pass")
        if low is not None and low > check.limit and not gained:
            return replace(check, verdict="fail")
        if sure.two_way:
            return check
        plan = partial(required_units, estimate, check.units, level=2 * self.level - 1, timed=sure.method == "ewc")
        observed = plan(check.limit - estimate.value) if estimate.value < check.limit else None
        return replace(check, needed=plan(check.limit), needed_observed=observed)

    def _same(self, check: GateCheck, independence: Independence, here: Bools) -> GateCheck:
        """The check where no score differs: the exact bound decides, unless no list differs either."""
        ((low, high),) = self.intervals.bounds
        alpha, lists = 1 - self.level, self.cases.lists[here]
        bound = independence.exact_bound(high - low, alpha)
        check = replace(check, reason=SAME, upper=None if math.isinf(bound) else bound)
        if bool(((lists[:, _NEW] == lists[:, _OLD]) & (lists[:, _NEW] != UNKNOWN)).all()):
            return replace(check, verdict="pass", reason=IDENTICAL)
        if bound < check.limit:
            return replace(check, verdict="pass")
        if self.intervals.settings.method in TIMED:
            return check
        return replace(check, needed=independence.units_for(high - low, check.limit, alpha))

    def _independence(self, sure: Intervals, here: Bools, mean: Estimate) -> Independence:
        """The units that the bounds of a mean take as independent; of time points, as many as they count like."""
        matrix, method = self.cases.matrix, sure.method
        w = np.ones(len(self.losses)) if matrix.weights is None else matrix.weights
        losses = np.where(np.isfinite(self.losses), self.losses, 0.0)
        timeless = matrix.ordered and method not in TIMED
        kinds = [codes for codes in (matrix.units, matrix.clusters) if codes is not None and not timeless]
        ways = []
        for codes in kinds or [np.arange(len(losses))]:
            at = np.unique(codes[here], return_inverse=True)[1]
            sizes, sums = (np.bincount(at, weights=part[here]).astype(np.float64) for part in (w, w * losses))
            there = sizes > 0
            n, heaviest = float(np.count_nonzero(there)), float(sizes.max() / sizes.sum())
            if method in TIMED and codes is matrix.units:
                like = min(n, self._time_points(mean, int(n)))
                n, heaviest = like, min(1.0, heaviest * n / like)
            ways.append(Independence(n, heaviest, sums[there], sizes[there]))
        return max(ways, key=lambda way: (way.heaviest, -way.units))

    def _time_points(self, mean: Estimate, units: int) -> float:
        """How many independent time points they count like: one more than the degrees of freedom."""
        settings = self.intervals.settings
        if settings.method == "hac":
            return units / (1 + usual_lag(units, settings.horizon))
        if mean.freedom is not None and math.isfinite(mean.freedom):
            return mean.freedom + 1
        return usual_waves(units, settings.horizon) + 1 if units > 1 else 1

    def _every_case(self, limit: float) -> GateCheck:
        """The check of single cases; what rounding may have added to a loss is none."""
        losses = np.where(self.counted, self.losses, -math.inf)
        over = int(np.count_nonzero(losses > limit + rounding(self.scores[:, _NEW], self.scores[:, _OLD])))
        cases, most, worst = int(np.count_nonzero(self.counted)), float(losses.max()), self._worst(self.counted)
        verdict: Verdict = "fail" if over else "pass"
        return GateCheck("case", verdict, limit, most, cases=cases, units=cases, over=over, worst=worst)

    def _groups(self) -> list[CheckedMean]:
        """The checks of all groups, in the order of their names."""
        matrix, limits = self.cases.matrix, self.limits
        if self.cases.scored.group is None:
            return []
        limit = limits.max_loss if limits.max_loss_group is None else limits.max_loss_group
        codes = np.zeros(len(matrix), np.int64) if matrix.groups is None else matrix.groups
        where = {key: (codes == matrix.keys.index(key)) & self.counted for key in in_order(self.tallies)}
        where = {key: here for key, here in where.items() if here.any()}
        return [
            self._mean(self.intervals(key, self.tallies[key]), here, limit, group=str(key), tested=len(where))
            for key, here in where.items()
        ]

    def _worst(self, here: Bools) -> tuple[CaseLoss, ...]:
        """The largest losses, largest first; of equal ones those that stand first in the truth."""
        at = np.flatnonzero(here & (self.losses > 0))
        at = at[np.argsort(-self.losses[at], kind="stable")][:_WORST]
        scores = self.cases.matrix.scores
        return tuple(
            CaseLoss(self.cases.ids[i], float(scores[i, 0, _NEW]), float(scores[i, 0, _OLD]), float(self.losses[i]))
            for i in at.tolist()
        )

    # What is to be said about them

    def _diagnosed(self, sure: Intervals) -> tuple[Comparison, Sequence[BoardWarning]]:
        """What the diagnostics of a comparison say of all cases, of which none is infinite, in one group."""
        names, scored, sample = self.question.names, self.cases.scored, self.cases.scored.sample
        everything: dict[Hashable, Aggregates] = {None: overall(self.tallies)}
        results = standings(self.question, replace(scored, tallies=everything), self.intervals)
        rows = sorted(results.overall.rows, key=lambda row: names.index(row.name))  # differences are losses
        results = replace(results, overall=replace(results.overall, rows=tuple(rows)))
        if sample is not None:
            endless = np.isinf(sample.scores).any(axis=1, keepdims=True)
            sample = replace(sample, scores=np.where(endless, np.nan, sample.scores))
        return results, diagnose(results, sure, names, sample)[1]

    def _doubts(self) -> Iterator[str]:
        """What makes the predictions of each model doubtful, whomever it is compared with."""
        question, baseline = self.question, self.baseline
        read = question if baseline is None else replace(question, names=question.names[:1])
        doubtful = doubts(read, self.cases.scored, self.cases.alone)
        if baseline is not None:
            doubtful[baseline.name] = baseline.file.about.warnings
        for name in question.names:
            yield from (f"{plain(name)}: {sentence}" for sentence in doubtful[name][question.rules[0]])

    def _nothing_shown(self, whole: GateCheck, groups: Sequence[GateCheck]) -> Iterator[str]:
        """Checks that pass because predictions are the same, where so few cases have no bound below the margin."""
        hidden = [check for check in groups if not check.shown]
        if not whole.shown:
            yield f"the predictions are {unseen_differences(whole, self.level)}."
        elif hidden:
            widest = max(math.inf if check.upper is None else check.upper for check in hidden)
            most = "" if math.isinf(widest) else f" of up to {significant(widest, 3)}"
            yield (
                f"the predictions are identical in {groups_in_words(hidden)}, which shows nothing about cases that "
                f"were not seen: a mean loss{most} there cannot be excluded at {percent(self.level)}."
            )

    def _rare_losses(self, whole: CheckedMean, groups: Sequence[CheckedMean]) -> Iterator[str]:
        """Losses that are larger than any in these cases, and would be missing from many samples as large."""
        scored, weights, settings = self.cases.scored, self.cases.matrix.weights, self.intervals.settings
        if settings.method == "bounded":
            return
        name, unit = self.question.names[_NEW], settings.unit
        most = scored.losses.highest(name) / (1.0 if weights is None else float(weights.max()))
        largest = "infinitely much" if math.isinf(most) else f"up to {significant(most, 3)}"
        half = "half of that" if unit == "case" else "half of that on average"
        for means, brought in (([whole], "the mean loss to the margin,"), (groups, "a group to its margin, up to")):
            chances = {
                check: chance
                for check, independence in means
                if check.verdict == "pass" and not check.reason
                if (chance := independence.unseen(most, check.limit)) is not None and chance > 1 - self.level
            }
            if chances:
                remedy = unit == "case" and weights is None and math.isfinite(most) and means is not groups
                bounded = f" Use {argument('method', 'bounded')}, whose bounds allow for them, or more cases."
                share = percent(float(f"{max(chances.values()):.2g}"))
                yield (
                    f"{plain(name)} may lose {largest} in one case, and no {unit} "
                    f"{f'of {groups_in_words([*chances])}' if means is groups else 'here'} loses {half}. If such "
                    f"{unit}s were just frequent enough to bring {brought} {share} "
                    f"of samples like this one would have none of them.{bounded if remedy else ''}"
                )

    def _uncertain_groups(self, groups: Sequence[CheckedMean]) -> Iterator[str]:
        """Groups whose losses are so skewed that t bounds are too low, or too high, and those of few units."""
        method, unit = self.intervals.settings.method, self.intervals.settings.unit
        bounded = [mean for mean in groups if mean[0].upper is not None and not mean[0].reason]
        skewed = {}
        for check, independence in bounded if method in ("t", "normal", *TIMED) else ():
            skew, of_mean = skewness(independence.contributions(unweighted=unit == "case"))
            if is_skewed(skew, of_mean, len(independence.sums), len(bounded)):
                skewed[check] = skew
        if skewed:
            most = max(skewed.values(), key=abs)
            yield (
                f"losses in {groups_in_words([*skewed])} are skewed, with skewness "
                f"{significant(most, 2)}{'' if len(skewed) == 1 else ' in the most skewed one'}: t bounds then miss "
                "more often than their level says, nearly always on the side of the long tail."
            )
        few = [check for check, _ in bounded if check.units < FEW]
        if few:
            yield (
                f"fewer than {FEW} {unit}s in {groups_in_words(few)}: bounds of so few hold only where losses are not "
                "skewed, which they cannot show."
            )

    def _notes(self, results: Comparison) -> Iterator[str]:
        """What was counted in a way of its own, left out or repaired."""
        old, scores = plain(self.question.names[_OLD]), self.cases.matrix.scores[:, 0, :]
        endless = np.isinf(scores) & self.counted[:, None]
        alone, both = int(np.count_nonzero(endless[:, _OLD] & ~endless[:, _NEW])), int(endless.all(axis=1).sum())
        if alone:
            yield (
                f"In {number_of(alone, 'case')} {old} alone scores infinitely: counted as no difference, which "
                "favours it: the mean loss is at most the one given, and lower bounds decide nothing."
            )
        if both:
            yield f"In {number_of(both, 'case')} both score infinitely: counted as no difference."
        if any(source.filled or source.left_out for source in results.sources):
            yield str(policy(results, PLAIN))
        yield from map(str, repairs_made(results, PLAIN))
        if self.baseline is not None:
            about = self.baseline.file.about
            if about.filled:
                yield f"{old}: {number_of(about.filled, 'missing prediction')} taken as uniform in its scores."
            if about.toplist != version():
                yield f"The scores of {old} were made by toplist {plain(about.toplist)}, this is {version()}."

    def _of_groups(self, groups: Sequence[GateCheck]) -> Iterator[str]:
        """What is claimed of all groups at once, as far as it holds."""
        if len(groups) < 2:
            return
        level, many = percent(self.level), f"all {count(len(groups))} groups"
        hidden = sum(not check.shown for check in groups)
        if all(check.verdict == "pass" for check in groups):
            if hidden:
                some = number_of(hidden, "group")
                yield f"That {many} are within the margin is not shown: in {some} identical predictions pass."
            else:
                yield f"That {many} are within the margin is shown at {level}, since each of them is at {level}."
        if any(check.verdict == "fail" for check in groups):
            yield f"That a group is beyond the margin is shown at {level} by Bonferroni's method."
