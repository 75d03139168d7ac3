"""The checks of a gate on two models, case by case, and what makes them doubtful.

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
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from numbers import Real

import numpy as np

from toplist._text import argument, significant
from toplist._typing import Bools, Floats
from toplist.core.kernel import version
from toplist.errors import TopListError
from toplist.evaluation.ranking import Doubts, Question, Scored, doubts, standings
from toplist.evaluation.score_files import UNKNOWN, BaselineScores, Hashes, ScoreFile
from toplist.inference.aggregates import Aggregates, ScoreMatrix, overall, tally
from toplist.inference.dependence import usual_lag, usual_waves
from toplist.inference.diagnostics import FEW, ScoreSample, diagnose, is_skewed, skewness
from toplist.inference.estimation import required_units
from toplist.inference.intervals import SAME, Intervals, IntervalsOf, rounding
from toplist.inference.ranking import in_order
from toplist.inference.results import Comparison, Estimate
from toplist.inference.settings import TIMED, InferenceSettings
from toplist.report.gate import IDENTICAL, CaseLoss, GateCheck, GateReport, RuleOfGate, Verdict, unseen_differences
from toplist.report.text import count, listed, noun, number_of, percent, plain
from toplist.scoring.case_scores import CaseScores, Grouping, metrics_for

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
            if isinstance(value, bool) or not isinstance(value, Real) or not 0 < float(value) < math.inf:
                why = ": that a model is better is for compare to show" if value == 0 and name == "max_loss" else ""
                raise TopListError(f"{name} is a finite number above zero, not {value!r}{why}.")
            object.__setattr__(self, name, float(value))


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


@dataclass(frozen=True, slots=True, eq=False)
class CheckedMean:
    """A check of a mean with the cases that it is about."""

    check: GateCheck
    independence: Independence


@dataclass(frozen=True, slots=True, eq=False)
class ScoredPair:
    """Scored cases of two models, with what is known of each of them and of their lists."""

    question: Question
    scored: Scored  # of both models, whose scores are side by side; without sums
    ids: tuple[str, ...]  # or positions
    doubts: Mapping[str, Doubts]  # by model
    identical: Bools  # in which cases both have the same list
    file: ScoreFile | None = None  # of the baseline
    notes: tuple[str, ...] = ()  # what was left out

    @classmethod
    def of(
        cls,
        question: Question,
        scored: Scored,
        ids: tuple[str, ...],
        alone: Mapping[Hashable, Aggregates],
        digests: Hashes,
        baseline: BaselineScores | None,
        notes: tuple[str, ...],
    ) -> ScoredPair:
        """From sums over the cases of each model that was read, and what tells the lists of both apart, by case."""
        identical = (digests[:, _NEW] == digests[:, _OLD]) & (digests[:, _NEW] != UNKNOWN)
        if baseline is None:
            return cls(question, scored, ids, doubts(question, scored, alone), identical)
        known = doubts(replace(question, names=question.names[:1]), scored, alone)
        return cls(
            question, scored, ids, known | {baseline.name: baseline.file.warnings}, identical, baseline.file, notes
        )

    @property
    def matrix(self) -> ScoreMatrix:
        """The scores side by side."""
        if self.scored.panel is None:
            raise ValueError("a gate needs every case")
        return self.scored.panel


@dataclass(frozen=True, slots=True, eq=False)
class PairedCases:
    """Scored cases of both models, with their losses, exact sums and intervals."""

    pair: ScoredPair
    limits: GateSpec
    level: float  # of every one-sided bound
    scores: Floats  # (cases, 2): what is infinite for the baseline alone, or for both, as no difference
    losses: Floats  # score of the new model minus that of the baseline; infinite where the former alone is
    counted: Bools  # cases that have weight
    tallies: Mapping[Hashable, Aggregates]
    intervals: IntervalsOf

    @classmethod
    def of(cls, pair: ScoredPair, limits: GateSpec, level: float) -> PairedCases:
        """The gate of these scores."""
        matrix, settings = pair.matrix, pair.scored.settings
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
        panel = None if settings.by_sums else finite
        intervals = IntervalsOf(settings, panel, pair.question.bounds(True))
        return cls(pair, limits, level, pairs, losses, counted, sums_of(finite), intervals)

    def report(self, command: str) -> GateReport:
        """All checks, and what is to be said about them."""
        pair, sure = self.pair, self.intervals(None, overall(self.tallies))
        whole, groups = self._mean(sure, self.counted, self.limits.max_loss), self._groups()
        checks = [whole.check]
        if self.limits.per_case is not None:
            checks.append(self._every_case(self.limits.per_case))
        checks += [one.check for one in groups]
        results, rule, names = self._comparison(), pair.question.rules[0], pair.question.names
        _, found = diagnose(results, sure, names, self._sample())
        new, old = names
        order = f"{plain(new)} minus {plain(old)}: "
        warnings = [
            *self._nothing_shown(whole, groups),
            *self._rare_losses(whole, groups),
            *(f"{plain(name)}: {sentence}" for name in names for sentence in pair.doubts[name][rule]),
            *(f"{order if one.kind == 'skewed differences' else ''}{one.sentence}" for one in found),
            *self._skewed_groups(groups),
            *self._few_in_groups([one.check for one in groups]),
        ]
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
            pair.scored.group if groups else None,
            tuple(warnings),
            tuple(self._notes([one.check for one in groups])),
            command,
        )

    @property
    def settings(self) -> InferenceSettings:
        """How intervals are made."""
        return self.pair.scored.settings

    # Checks

    def _mean(
        self, sure: Intervals, here: Bools, limit: float, *, group: str | None = None, tested: int = 1
    ) -> CheckedMean:
        """The check of a mean loss, over all cases or in a group that is one of `tested`."""
        estimate = sure.difference(0, _NEW, _OLD)
        independence = self._independence(sure, here, estimate)
        losses, cases, units = self.losses[here], int(np.count_nonzero(here)), sure.units(0, _NEW, _OLD)
        rule: RuleOfGate = "mean" if group is None else "group"
        check = GateCheck(rule, "inconclusive", limit, estimate.value, cases=cases, units=units, group=group)
        worst, endless = self._worst(here), int(np.count_nonzero(losses == math.inf))
        if endless:
            failed = replace(check, verdict="fail", value=math.inf, units=cases, over=endless, worst=worst)
            return CheckedMean(failed, independence)
        if estimate.reason == SAME and sure.method != "bounded":
            return CheckedMean(self._same(check, independence, here), independence)
        estimate = sure.untested(0, _NEW, _OLD) if estimate.reason == SAME else estimate
        check = replace(check, value=estimate.value, worst=worst)
        if estimate.low is None or estimate.high is None:
            return CheckedMean(replace(check, reason=estimate.reason), independence)
        low: float | None = estimate.low
        if tested > 1:  # the lower bound that holds for so many groups at once; None where so few draws have none
            low = sure.difference(0, _NEW, _OLD, 1 - 2 * (1 - self.level) / tested).low
        gained = bool((losses == -math.inf).any())  # counted as no difference: a bound from above, not from below
        verdict: Verdict = "inconclusive"
        if estimate.high < limit:
            verdict = "pass"
        elif low is not None and low > limit and not gained:
            verdict = "fail"
        elif not sure.two_way:
            plan = partial(required_units, estimate, units, level=2 * self.level - 1, timed=sure.method == "ewc")
            observed = plan(limit - estimate.value) if estimate.value < limit else None
            check = replace(check, needed=plan(limit), needed_observed=observed)
        lower = estimate.low if low is None else low
        return CheckedMean(replace(check, verdict=verdict, lower=lower, upper=estimate.high), independence)

    def _same(self, check: GateCheck, independence: Independence, here: Bools) -> GateCheck:
        """The check where no score differs: the exact bound decides, unless no list differs either."""
        ((low, high),) = self.intervals.bounds
        alpha = 1 - self.level
        bound = independence.exact_bound(high - low, alpha)
        check = replace(check, reason=SAME, upper=None if math.isinf(bound) else bound)
        if bool(self.pair.identical[here].all()):
            return replace(check, verdict="pass", reason=IDENTICAL)
        if bound < check.limit:
            return replace(check, verdict="pass")
        if self.settings.method in TIMED:
            return check
        return replace(check, needed=independence.units_for(high - low, check.limit, alpha))

    def _independence(self, sure: Intervals, here: Bools, found: Estimate) -> Independence:
        """The units that the bounds of a mean take as independent; of time points, as many as they count like."""
        matrix, method = self.pair.matrix, sure.method
        w = np.ones(len(self.losses)) if matrix.weights is None else matrix.weights
        losses = np.where(np.isfinite(self.losses), self.losses, 0.0)
        timeless = matrix.ordered and method not in TIMED
        known = [codes for codes in (matrix.units, matrix.clusters) if codes is not None and not timeless]
        ways = []
        for codes in known or [np.arange(len(losses))]:
            at = np.unique(codes[here], return_inverse=True)[1]
            sizes, sums = (np.bincount(at, weights=part[here]).astype(np.float64) for part in (w, w * losses))
            there = sizes > 0
            n, heaviest = float(np.count_nonzero(there)), float(sizes.max() / sizes.sum())
            if method in TIMED and codes is matrix.units:
                like = min(n, self._time_points(found, int(n)))
                n, heaviest = like, min(1.0, heaviest * n / like)
            ways.append(Independence(n, heaviest, sums[there], sizes[there]))
        return max(ways, key=lambda one: (one.heaviest, -one.units))

    def _time_points(self, found: Estimate, units: int) -> float:
        """How many independent time points they count like: one more than the degrees of freedom."""
        settings = self.settings
        if settings.method == "hac":
            return units / (1 + usual_lag(units, settings.horizon))
        if found.freedom is not None and math.isfinite(found.freedom):
            return found.freedom + 1
        return usual_waves(units, settings.horizon) + 1 if units > 1 else 1

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

    def _groups(self) -> list[CheckedMean]:
        """The checks of all groups, in the order of their names."""
        matrix, limits = self.pair.matrix, self.limits
        if self.pair.scored.group is None:
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
        scores = self.pair.matrix.scores
        return tuple(
            CaseLoss(self.pair.ids[i], float(scores[i, 0, _NEW]), float(scores[i, 0, _OLD]), float(self.losses[i]))
            for i in at.tolist()
        )

    # What is to be said about them

    def _sample(self) -> ScoreSample | None:
        """The sample of cases, without those that have an infinite score."""
        sample = self.pair.scored.sample
        if sample is None:
            return None
        scores = np.where(np.isinf(sample.scores).any(axis=1, keepdims=True), np.nan, sample.scores)
        return replace(sample, scores=scores)

    def _comparison(self) -> Comparison:
        """What the diagnostics of a comparison look at: all cases, of which none is infinite, in one group."""
        question = self.pair.question
        everything: dict[Hashable, Aggregates] = {None: overall(self.tallies)}
        scored = replace(self.pair.scored, tallies=everything)
        results, _ = standings(question, scored, self.intervals)
        rows = sorted(results.overall.rows, key=lambda row: question.names.index(row.name))  # differences are losses
        return replace(results, overall=replace(results.overall, rows=tuple(rows)))

    def _nothing_shown(self, whole: CheckedMean, groups: Sequence[CheckedMean]) -> list[str]:
        """Checks that pass because predictions are the same, where so few cases have no bound below the margin."""
        found = []
        if not whole.check.shown:
            found.append(f"the predictions are {unseen_differences(whole.check, self.level)}.")
        hidden = [one.check for one in groups if not one.check.shown]
        if hidden and whole.check.shown:
            names = listed([plain(str(check.group)) for check in hidden], 3)
            widest = max(hidden, key=lambda check: math.inf if check.upper is None else check.upper)
            most = "" if widest.upper is None else f" of up to {significant(widest.upper, 3)}"
            found.append(
                f"the predictions are identical in {noun(len(hidden), 'group')} {names}, which shows nothing about "
                f"cases that were not seen: a mean loss{most} there cannot be excluded at {percent(self.level)}."
            )
        return found

    def _rare_losses(self, whole: CheckedMean, groups: Sequence[CheckedMean]) -> list[str]:
        """Losses that are larger than any in these cases, and would be missing from many samples as large."""
        weights, most = self.pair.matrix.weights, self.pair.scored.losses.highest(self.pair.question.names[_NEW])
        most /= 1.0 if weights is None else float(weights.max())
        if self.settings.method == "bounded":
            return []
        chances = [(one.check, self._unseen(one, most)) for one in (whole, *groups)]
        chance, inside = chances[0][1], [(check, p) for check, p in chances[1:] if p is not None]
        unit = self.settings.unit
        largest = "infinitely much" if math.isinf(most) else f"up to {significant(most, 3)}"
        able = unit == "case" and weights is None and math.isfinite(most)
        remedy = f" Use {argument('method', 'bounded')}, whose bounds allow for them, or more cases." if able else ""
        half = "half of that" if unit == "case" else "half of that on average"
        new = plain(self.pair.question.names[_NEW])
        found = []
        if chance is not None:
            found.append(
                f"{new} may lose {largest} in one case, and no {unit} here loses {half}. If such {unit}s were just "
                f"frequent enough to bring the mean loss to the margin, {percent(float(f'{chance:.2g}'))} of samples "
                f"like this one would have none of them.{remedy}"
            )
        if inside:
            names, p = listed([plain(str(check.group)) for check, _ in inside], 3), max(p for _, p in inside)
            found.append(
                f"{new} may lose {largest} in one case, and no {unit} of {noun(len(inside), 'group')} {names} loses "
                f"{half}. If such {unit}s were just frequent enough to bring a group to its margin, up to "
                f"{percent(float(f'{p:.2g}'))} of samples like this one would have none of them."
            )
        return found

    def _unseen(self, one: CheckedMean, most: float) -> float | None:
        """The chance of a pass that rests on losses that were not seen; None where it is as small as it should be."""
        if one.check.verdict != "pass" or one.check.reason:
            return None
        chance = one.independence.unseen(most, one.check.limit)
        return None if chance is None or chance <= 1 - self.level else chance

    def _skewed_groups(self, groups: Sequence[CheckedMean]) -> list[str]:
        """Groups whose losses are so skewed that t bounds are too low, or too high."""
        settings = self.settings
        if settings.method not in ("t", "normal", *TIMED):
            return []
        known = [one for one in groups if one.check.upper is not None and not one.check.reason]
        found = []
        for one in known:
            skew, of_mean = skewness(one.independence.contributions(unweighted=settings.unit == "case"))
            if is_skewed(skew, of_mean, len(one.independence.sums), len(known)):
                found.append((abs(skew), skew, plain(str(one.check.group))))
        if not found:
            return []
        names, skew = listed([name for _, _, name in found], 3), max(found)[1]
        sentence = (
            f"losses in {noun(len(found), 'group')} {names} are skewed, with skewness {significant(skew, 2)}"
            f"{'' if len(found) == 1 else ' in the most skewed one'}: t bounds then miss more often than their level "
            "says, nearly always on the side of the long tail."
        )
        return [sentence]

    def _few_in_groups(self, groups: Sequence[GateCheck]) -> list[str]:
        unit = self.settings.unit
        bounds = [check for check in groups if check.upper is not None and not check.reason]
        few = [plain(str(check.group)) for check in bounds if check.units < FEW]
        if not few:
            return []
        sentence = (
            f"fewer than {FEW} {unit}s in {noun(len(few), 'group')} {listed(few, 3)}: bounds of so few hold only where "
            "losses are not skewed, which they cannot show."
        )
        return [sentence]

    def _notes(self, groups: Sequence[GateCheck]) -> list[str]:
        pair, file, scores = self.pair, self.pair.file, self.pair.matrix.scores[:, 0, :]
        old = pair.question.names[_OLD]
        endless = np.isinf(scores) & self.counted[:, None]
        alone, both = int(np.count_nonzero(endless[:, _OLD] & ~endless[:, _NEW])), int(endless.all(axis=1).sum())
        found = []
        if alone:
            found.append(
                f"In {number_of(alone, 'case')} {plain(old)} alone scores infinitely: counted as no difference, which "
                "favours it: the mean loss is at most the one given, and lower bounds decide nothing."
            )
        if both:
            found.append(f"In {number_of(both, 'case')} both score infinitely: counted as no difference.")
        for one in pair.scored.read.origins:
            if one.filled:
                found.append(f"{plain(one.name)}: {number_of(one.filled, 'missing prediction')} taken as uniform.")
            if one.left_out:
                found.append(f"{plain(one.name)}: {number_of(one.left_out, 'case')} left out.")
            for what, many in one.repairs.items():
                if many:
                    found.append(f"{plain(one.name)}: {what} in {number_of(many, 'case')}.")
        if file is not None and file.filled:
            filled = number_of(file.filled, "missing prediction")
            found.append(f"{plain(old)}: {filled} taken as uniform in its scores.")
        if file is not None and file.version != version():
            found.append(f"The scores of {plain(old)} were made by toplist {plain(file.version)}, this is {version()}.")
        if len(groups) > 1:
            found += self._of_groups(groups)
        return [*found, *pair.notes]

    def _of_groups(self, groups: Sequence[GateCheck]) -> list[str]:
        """What is claimed of all groups at once, as far as it holds."""
        level, found = percent(self.level), []
        shown = [check for check in groups if check.verdict == "pass" and check.shown]
        many = f"all {count(len(groups))} groups"
        if len(shown) == len(groups):
            found.append(f"That {many} are within the margin is shown at {level}, since each of them is at {level}.")
        elif all(check.verdict == "pass" for check in groups):
            some = number_of(len(groups) - len(shown), "group")
            found.append(f"That {many} are within the margin is not shown: in {some} identical predictions pass.")
        if any(check.verdict == "fail" for check in groups):
            found.append(f"That a group is beyond the margin is shown at {level} by Bonferroni's method.")
        return found


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
