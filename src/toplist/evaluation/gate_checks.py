"""The checks of a gate on two models, case by case, and what makes them doubtful.

The check of a mean is a test of non-inferiority: it passes where the upper confidence bound of the mean loss is below a
margin. That a loss is not significant shows nothing, so there are three verdicts: pass, fail (shown to be worse by more
than the margin) and inconclusive.

With groups, all of them must pass. Each is tested at the full level: to pass wrongly, the group that is worst must do
so (intersection-union test, Berger 1982). To fail wrongly, any of them suffices, so that failures are by Bonferroni's
method.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from toplist._text import argument, significant
from toplist._typing import Bools, Floats
from toplist.core.kernel import version
from toplist.errors import TopListError
from toplist.evaluation.compare import score_bounds
from toplist.evaluation.record import ScoreRecord
from toplist.evaluation.scored_cases import ScoredCases
from toplist.inference.aggregates import Aggregates, ScoreMatrix, overall, tally
from toplist.inference.diagnostics import FEW, ScoreSample, diagnose
from toplist.inference.estimation import required_units
from toplist.inference.intervals import SAME, Intervals, IntervalsOf, rounding
from toplist.inference.ranking import ComparisonSpec, in_order, sections
from toplist.inference.results import Comparison, Estimate
from toplist.report.gate import CaseLoss, GateCheck, GateReport, Verdict
from toplist.report.text import count, listed, noun, number_of, percent, plain
from toplist.scoring.case_scores import CaseScores, Grouping, metrics_for
from toplist.scoring.rules import name_of

_WORST = 5  # cases that are kept of a check
_HALF = 0.5  # of the largest loss there may be: a case that loses so much shows what such a loss does to the spread
_NEW, _OLD = 0, 1


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
            if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < math.inf:
                why = ": that a model is better is for compare to show" if value == 0 and name == "max_loss" else ""
                raise TopListError(f"{name} is a finite number above zero, not {value!r}{why}.")
            object.__setattr__(self, name, float(value))


@dataclass(frozen=True, slots=True, eq=False)
class PairedCases:
    """Scored cases of both models, with their losses, exact sums and intervals."""

    scored: ScoredCases
    limits: GateSpec
    level: float  # of every one-sided bound
    scores: Floats  # (cases, 2): what is infinite for the baseline alone, or for both, as no difference
    losses: Floats  # score of the new model minus that of the baseline; infinite where the former alone is
    counted: Bools  # cases that have weight
    tallies: Mapping[Hashable, Aggregates]
    intervals: IntervalsOf

    @classmethod
    def of(cls, scored: ScoredCases, limits: GateSpec, level: float) -> PairedCases:
        """The gate of these scores."""
        matrix, settings = scored.matrix, scored.settings
        pairs = np.array(matrix.scores[:, 0, :])
        new, old = pairs[:, _NEW], pairs[:, _OLD]
        weights = matrix.weights
        counted = np.ones(len(pairs), bool) if weights is None else weights > 0
        if not counted.any():
            raise TopListError("all weights are zero: there is nothing to compare.")
        with np.errstate(invalid="ignore"):
            losses = np.where(np.isinf(new) & np.isinf(old), 0.0, new - old)
        endless = np.isinf(pairs)
        pairs[:, _OLD] = np.where(endless[:, _OLD], new, old)
        pairs[endless[:, _NEW]] = 0.0
        finite = replace(matrix, scores=pairs[:, None, :])
        bounds = tuple(score_bounds(one, scored.scoring.penalty, penalised=True) for one in scored.scoring.rules)
        panel = None if settings.by_sums else finite
        return cls(scored, limits, level, pairs, losses, counted, sums_of(finite), IntervalsOf(settings, panel, bounds))

    def report(self, record: ScoreRecord | None, command: str) -> GateReport:
        """All checks, and what is to be said about them."""
        scored, everything = self.scored, overall(self.tallies)
        sure = self.intervals(None, everything)
        checks = [self._mean(sure, self.counted, self.limits.max_loss)]
        if self.limits.per_case is not None:
            checks.append(self._every_case(self.limits.per_case))
        groups = self._groups()
        checks += groups
        results, rule = self._comparison(sure, everything), name_of(scored.scoring.rules[0])
        _, found = diagnose(results, sure, scored.names, self._sample())
        warnings = [
            *(f"{plain(name)}: {sentence}" for name in scored.names for sentence in scored.doubts[name][rule]),
            *(one.sentence for one in found),
            *self._rare_losses(checks[0]),
            *self._few_in_groups(groups),
        ]
        new, old = scored.names
        return GateReport(
            new,
            old,
            rule,
            self.level,
            self.limits.max_loss,
            tuple(checks),
            int(np.count_nonzero(self.counted)),
            results.unit,
            results.units,
            results.method,
            scored.group if groups else None,
            tuple(warnings),
            tuple(self._notes(record)),
            command,
        )

    # Checks

    def _mean(
        self,
        sure: Intervals,
        here: Bools,
        limit: float,
        *,
        group: str | None = None,
        tested: int = 1,
    ) -> GateCheck:
        """The check of a mean loss, over all cases or in a group that is one of `tested`."""
        losses, cases = self.losses[here], int(np.count_nonzero(here))
        check = partial(GateCheck, "mean" if group is None else "group", limit=limit, group=group)
        endless = int(np.count_nonzero(losses == math.inf))
        worst = self._worst(here)
        if endless:
            return check("fail", value=math.inf, cases=cases, units=cases, over=endless, worst=worst)
        found, units = sure.difference(0, _NEW, _OLD), sure.units(0, _NEW, _OLD)
        if found.reason == SAME:
            return check("pass", value=found.value, cases=cases, units=units, reason=SAME)
        if found.low is None or found.high is None:
            return check("inconclusive", value=found.value, cases=cases, units=units, reason=found.reason, worst=worst)
        low = self._lowest(sure, found, tested)
        gained = bool((losses == -math.inf).any())  # counted as no difference: a bound from above, not from below
        verdict: Verdict = "inconclusive"
        if found.high < limit:
            verdict = "pass"
        elif low is not None and low > limit and not gained:
            verdict = "fail"
        needed = observed = None
        if verdict == "inconclusive":
            plan = partial(required_units, found, units, level=2 * self.level - 1, timed=sure.method == "ewc")
            needed = None if sure.two_way else plan(limit)
            observed = None if sure.two_way or not found.value < limit else plan(limit - found.value)
        return check(
            verdict,
            value=found.value,
            lower=found.low if low is None else low,
            upper=found.high,
            cases=cases,
            units=units,
            needed=needed,
            needed_observed=observed,
            worst=worst,
        )

    def _lowest(self, sure: Intervals, found: Estimate, tested: int) -> float | None:
        """The lower bound that holds for so many groups at once; None where so few draws have none."""
        if tested == 1:
            return found.low
        return sure.difference(0, _NEW, _OLD, 1 - 2 * (1 - self.level) / tested).low

    def _every_case(self, limit: float) -> GateCheck:
        """The check of single cases; what rounding may have added to a loss is none."""
        losses = np.where(self.counted, self.losses, -math.inf)
        over = int(np.count_nonzero(losses > limit + rounding(self.scores[:, _NEW], self.scores[:, _OLD])))
        cases = int(np.count_nonzero(self.counted))
        return GateCheck(
            "case",
            "fail" if over else "pass",
            limit,
            float(losses.max()),
            cases=cases,
            units=cases,
            over=over,
            worst=self._worst(self.counted),
        )

    def _groups(self) -> list[GateCheck]:
        """The checks of all groups, in the order of their names."""
        matrix, limits = self.scored.matrix, self.limits
        if self.scored.group is None:
            return []
        limit = limits.max_loss if limits.max_loss_group is None else limits.max_loss_group
        codes = np.zeros(len(matrix), np.int64) if matrix.groups is None else matrix.groups
        found = []
        for key in in_order(self.tallies):
            here = (codes == matrix.keys.index(key)) & self.counted
            if here.any():
                found.append((key, here))
        return [
            self._mean(
                self.intervals(key, self.tallies[key]),
                here,
                limit,
                group=str(key),
                tested=len(found),
            )
            for key, here in found
        ]

    def _worst(self, here: Bools) -> tuple[CaseLoss, ...]:
        """The largest losses, largest first; of equal ones those that stand first in the truth."""
        at = np.flatnonzero(here & (self.losses > 0))
        at = at[np.argsort(-self.losses[at], kind="stable")][:_WORST]
        scores = self.scored.matrix.scores
        return tuple(
            CaseLoss(self.scored.ids[i], float(scores[i, 0, _NEW]), float(scores[i, 0, _OLD]), float(self.losses[i]))
            for i in at.tolist()
        )

    # What is to be said about them

    def _sample(self) -> ScoreSample:
        """The sample of cases, without those that have an infinite score."""
        sample = self.scored.sample
        scores = np.where(np.isinf(sample.scores).any(axis=1, keepdims=True), np.nan, sample.scores)
        return replace(sample, scores=scores)

    def _comparison(self, sure: Intervals, everything: Aggregates) -> Comparison:
        """What the diagnostics of a comparison look at."""
        scored, settings = self.scored, self.scored.settings
        rules = tuple(map(name_of, scored.scoring.rules))
        terms = ComparisonSpec(scored.names, rules, (), None, pairwise=False)
        whole, _ = sections({None: everything}, terms, lambda key, tally: sure)
        matrix = scored.matrix
        units = len(everything.clusters) or matrix.count
        across = 0 if matrix.clusters is None else len(np.unique(matrix.clusters))
        effective = sure.effective_units(0, *(scored.names.index(row.name) for row in whole.rows))
        return Comparison(
            rules=rules,
            k=(),
            classes=scored.classes,
            cases=scored.read.cases,
            compared=len(matrix),
            missing="",
            weighted=settings.weighted,
            weight=scored.weight,
            baseline=None,
            penalty=scored.scoring.penalty,
            level=settings.level,
            method=settings.describe(units, effective, across),
            group=scored.group,
            cluster=settings.cluster,
            time=settings.time,
            sources=scored.read.origins,
            overall=replace(whole, pairs=()),
            pairs=whole.pairs,
            unit=settings.unit,
            units=units,
            effective_units=effective,
        )

    def _rare_losses(self, check: GateCheck) -> list[str]:
        """Losses that are larger than any in these cases, and would be missing from many samples as large.

        If they are just frequent enough to bring the mean to the margin, none of them is in a sample with the
        probability exp(-s / l), with s what the sum of losses is below that of the margin and l the largest loss.
        """
        weights, most = self.scored.matrix.weights, self.scored.highest[self.scored.names[_NEW]]
        if check.verdict != "pass" or check.reason or self.scored.settings.method == "bounded":
            return []
        w = np.ones(len(self.losses)) if weights is None else weights
        losses = w * np.where(np.isfinite(self.losses), self.losses, 0.0)
        if float(losses.max()) >= _HALF * most or not most > 0:
            return []
        slack = check.limit * math.fsum(w) - math.fsum(losses)
        unseen = math.exp(-max(slack, 0.0) / most)
        if unseen <= 1 - self.level:
            return []
        largest = "infinitely much" if math.isinf(most) else f"up to {significant(most / float(w.max()), 3)}"
        able = self.scored.settings.unit == "case" and weights is None and math.isfinite(most)
        bounded = f" Use {argument('method', 'bounded')}, whose bounds allow for them, or more cases." if able else ""
        sentence = (
            f"{plain(self.scored.names[_NEW])} may lose {largest} in one case, and no case here loses half of that. If "
            "such cases were just frequent enough to bring the mean loss to the margin, "
            f"{percent(float(f'{unseen:.2g}'))} of samples like this one would have none of them.{bounded}"
        )
        return [sentence]

    def _few_in_groups(self, groups: Sequence[GateCheck]) -> list[str]:
        unit = self.scored.settings.unit
        few = [plain(str(check.group)) for check in groups if check.units < FEW and check.upper is not None]
        if not few:
            return []
        sentence = (
            f"fewer than {FEW} {unit}s in {noun(len(few), 'group')} {listed(few, 3)}: bounds of so few hold only where "
            "losses are not skewed, which they cannot show."
        )
        return [sentence]

    def _notes(self, record: ScoreRecord | None) -> list[str]:
        scored, scores = self.scored, self.scored.matrix.scores[:, 0, :]
        old = scored.names[_OLD]
        endless = np.isinf(scores) & self.counted[:, None]
        alone, both = int(np.count_nonzero(endless[:, _OLD] & ~endless[:, _NEW])), int(endless.all(axis=1).sum())
        found = []
        if alone:
            found.append(
                f"In {number_of(alone, 'case')} {plain(old)} alone scores infinitely: counted as no difference, which "
                "favours it, so that the mean loss is at most the one given, and no mean fails for it."
            )
        if both:
            found.append(f"In {number_of(both, 'case')} both score infinitely: counted as no difference.")
        for one in scored.read.origins:
            if one.filled:
                found.append(f"{plain(one.name)}: {number_of(one.filled, 'missing prediction')} taken as uniform.")
            if one.left_out:
                found.append(f"{plain(one.name)}: {number_of(one.left_out, 'case')} left out.")
            for what, many in one.repairs.items():
                if many:
                    found.append(f"{plain(one.name)}: {what} in {number_of(many, 'case')}.")
        if record is not None and record.filled:
            filled = number_of(record.filled, "missing prediction")
            found.append(f"{plain(old)}: {filled} taken as uniform in its record.")
        if record is not None and record.version != version():
            found.append(f"The record of {plain(old)} was made by toplist {record.version}, this is {version()}.")
        if self.tested_groups:
            found.append(
                f"That all {count(self.tested_groups)} groups pass is shown at {percent(self.level)}, since each of "
                f"them passes at {percent(self.level)}; that one fails, by Bonferroni's method."
            )
        return [*found, *scored.notes]

    @property
    def tested_groups(self) -> int:
        """How many groups there are, where there are several."""
        many = len(self.tallies)
        return many if self.scored.group is not None and many > 1 else 0


def sums_of(matrix: ScoreMatrix) -> dict[Hashable, Aggregates]:
    """Exact sums of scores side by side, by group; by cluster where time does not matter."""
    n, scores = len(matrix), np.ascontiguousarray(matrix.scores[:, 0, :].T)
    nothing = np.broadcast_to(np.zeros(1), (1, n))
    known = {metric.name: np.zeros(n, np.int8) for metric in metrics_for(())}  # of the lists, which nobody asks for
    sheets = [CaseScores(("",), own, own, nothing, known) for own in (scores[[_NEW]], scores[[_OLD]])]
    groups = None if matrix.groups is None else Grouping(matrix.keys, matrix.groups.astype(np.int32))
    if groups is None and matrix.keys:
        groups = Grouping(matrix.keys)
    clusters = None
    if matrix.units is not None and not matrix.ordered:
        known_units, codes = np.unique(matrix.units, return_inverse=True)
        clusters = Grouping(known_units.tolist(), codes.astype(np.int32))
    return tally(sheets, weights=matrix.weights, groups=groups, clusters=clusters)
