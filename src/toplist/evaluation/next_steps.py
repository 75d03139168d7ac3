"""What to do next after a comparison: what was measured, what it would gain, and the command that does it."""

from __future__ import annotations

import math
import os
import re
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from toplist._files import shown
from toplist._text import fixed
from toplist._typing import Codes
from toplist.calibration import calibration_bias
from toplist.calibration.miscalibration import excludes_zero
from toplist.errors import TopListError
from toplist.evaluation.case_details import CaseDetails, places_of
from toplist.inference.intervals import Intervals
from toplist.inference.ranking import judge
from toplist.inference.results import Action, Comparison, Estimate, ModelDetails, ModelRow
from toplist.inference.settings import Inference
from toplist.io import MISSING, ReadRequest, by_appearance, stem_of
from toplist.lists import TopLists
from toplist.lists.space import INFINITELY_MANY
from toplist.report.text import count, decimals, kind, listed, noun, number_of, percent
from toplist.scoring.case_scores import CaseScores, one_if_alike, side_by_side
from toplist.scoring.rules import RULES, as_rule

if TYPE_CHECKING:
    from toplist.evaluation.samples import CaseSample


MOST: Final = 4
"""Actions that are returned."""
FLAT: Final = 0.001
"""Share of the uniform prediction's score that shorter lists may cost and still count as good as whole ones."""
_RECALIBRATED = 3  # models that a recalibrator is tried on
_POOLED = 5  # models in a pool
_CASES = 20_000  # that a pool is tried on
_FEWEST = 50  # cases for cross-validation
_MANY = 200  # cases for a choice of length
_ENTRIES = 20_000  # listed classes up to which several recalibrators are tried
_FAR = 10  # times the units there are: nobody collects so many more to tell two models apart
_NAMED = 3  # cases that are named
_OTHERS = 3  # models beside the best that have a case wrong before its label is doubted
_PILOT = 30  # units from which a number of further ones is named
_FOLDS = 5


class Verb(NamedTuple):
    """What a command on files of models takes."""

    changes: bool  # lists, which all have the same classes
    columns: tuple[str, ...] = ()  # of the truth
    missing: tuple[str, ...] = ()  # ways to treat missing cases


_VERBS: Final = {
    "recalibrate fit": Verb(True, ("outcome", "weight", "cluster"), MISSING[:2]),
    "recalibrate apply": Verb(True),
    "pool": Verb(True, (), MISSING[:2]),
    "truncate": Verb(True),
    "plan": Verb(False, ("outcome", "weight", "cluster", "time"), MISSING),
    "diagnose": Verb(False, ("outcome", "cluster"), MISSING[:2]),
}
_FLAGS = {"producer": "--from", "where": "--where", "normalize": "--normalize"}  # the others are keys of --read
_OF_ALL = ("by_position", "set_separator")  # read options that are one for all files


@dataclass(frozen=True, slots=True)
class Invocation:
    """How the inputs of a comparison are written in a shell.

    Attributes
    ----------
    request : ReadRequest or None
        What is read, all of it files; None where something is not in a file: then there are no commands.
    classes : str or None
        The value of --classes.
    missing : str
        How missing cases are treated.
    inference : Inference
        How intervals are made.
    one_space : bool
        Whether all cases have the same number of classes, which commands that change lists need.

    Examples
    --------
    >>> from toplist import ReadOptions
    >>> typed = Invocation.of(ReadRequest.of({"a": "run 1/a.csv"}, "y.csv", ReadOptions()), "10")
    >>> typed.recalibrate("a", "brier", "isotonic")
    "toplist recalibrate fit 'run 1/a.csv' -t y.csv -c 10 --kind isotonic -o a.json"
    >>> typed.apply("a")
    'toplist recalibrate apply NEW.csv a.json -c 10 -o better.parquet'
    """

    request: ReadRequest | None
    classes: str | None = None
    missing: str = "error"
    inference: Inference = field(default_factory=Inference)
    one_space: bool = True

    @classmethod
    def of(
        cls, request: ReadRequest, classes: str | None, *, missing: str = "error", inference: Inference | None = None
    ) -> Invocation:
        """From what is read; `classes` is the value of --classes."""
        about = request.truth
        data = (*request.models.values(), *([] if about.data is None else [about.data]))
        files = all(isinstance(path, str | os.PathLike) for path in data)
        one_space = about.columns["n_classes"] is None
        return cls(request if files else None, classes, missing, inference or Inference(), one_space)

    def recalibrate(self, name: str, rule: str, kind: str, cluster: str | None = None) -> str:
        """Fit a recalibrator of one kind, or the one that is selected ("auto").

        `cluster` is the column whose cases stay in one fold, in place of the one that was named.
        """
        how = [*([] if kind == "auto" else ["--kind", kind]), *([] if rule == "brier" else ["--rule", rule])]
        return self._command("recalibrate fit", [name], *how, output=(name, ".json"), cluster=cluster)

    def apply(self, name: str) -> str:
        """Use the recalibrator for new cases, in a file like that of the model."""
        return self._command("recalibrate apply", [name], "-o", "better.parquet")

    def pool(self, names: Sequence[str]) -> str:
        """Pool files with equal weights."""
        return self._command("pool", names, output=("pool", ".parquet"))

    def truncate(self, name: str, k: int) -> str:
        """Keep the k most confident classes."""
        return self._command("truncate", [name], "-k", str(k), output=(f"{name}-top{k}", ".parquet"))

    def plan(self, a: str, b: str, smallest: float, results: Comparison) -> str:
        """Say how many cases find a difference of two models."""
        rule, models, usual = results.rules[0], len(results.overall.rows), Inference()
        if rule not in RULES or self.missing == "baseline":
            return ""
        words = ["--smallest", f"{smallest:g}"]
        for flag, value, default in (
            ("--rule", rule, "brier"),
            ("--models", models, 2),
            ("--penalty", None if results.penalty is None else f"{results.penalty:g}", None),
            ("--inference", self.inference.method, usual.method),
            ("--level", self.inference.level, usual.level),
            ("--horizon", self.inference.horizon, usual.horizon),
        ):
            words += [] if value == default else [flag, str(value)]
        return self._command("plan", [a, b], *words)

    def diagnose(self, name: str) -> str:
        """Diagnose one model."""
        return self._command("diagnose", [name])

    def _command(
        self,
        verb: str,
        names: Sequence[str],
        *more: str,
        output: tuple[str, str] | None = None,
        cluster: str | None = None,
    ) -> str:
        """A command on the files of some models, or with a recalibrator on a file like that of a model."""
        how, request = _VERBS[verb], self.request
        if request is None or (how.changes and not self.one_space):
            return ""
        about = request.truth
        truth = [] if about.data is None else [shown(about.data)]
        files = {name: shown(request.models[name]) for name in names}
        if verb == "recalibrate apply":
            words = [f"NEW{PurePath(files[names[0]]).suffix}", self._output(names[0], ".json")]
        else:
            words = [_file(name, path, len(names) == 1) for name, path in files.items()]
        if how.columns:
            words += ["-t", *truth] if truth else []
            columns = {"outcome": about.outcome, **about.columns} | ({"cluster": cluster} if cluster else {})
            for column in how.columns:
                words += [] if columns[column] is None else [f"--{column}", columns[column]]
            for option, value in about.options.items():
                words += [] if option in (*_OF_ALL, "normalize") else _typed(option, value, "truth")
        words += _reading([(name, request.options[name].given()) for name in names])
        if how.missing and self.missing != "error":
            words += ["--missing", self.missing if self.missing in how.missing else "common"]
        classes = about.columns["n_classes"] or self.classes
        words += [] if classes is None else ["-c", shown(classes)]
        return shlex.join(["toplist", *verb.split(), *words, *more, *(["-o", self._output(*output)] if output else [])])

    def _output(self, name: str, suffix: str) -> str:
        """An output that is none of the inputs, under a name that needs no quotes."""
        stem = re.sub(r"[^\w.+-]+", "-", name).strip("-.")[:80] or "model"
        paths = [] if self.request is None else self.request.paths
        read = {PurePath(path).name for path in (*paths, self.classes or "")}
        while stem + suffix in read:
            stem += "-new"
        return stem + suffix


def _file(name: str, path: str, alone: bool) -> str:
    """A file as it is typed: with its name, where that is not the one that it would get."""
    path = f"./{path}" if path.startswith("-") else path
    return path if alone or stem_of(path) == name else f"{name}={path}"


def _reading(read: Sequence[tuple[str, Mapping[str, Any]]]) -> list[str]:
    """The read options of some files: once where all have the same, else by name."""
    words: list[str] = []
    for option in dict.fromkeys(option for _, options in read for option in options):
        values = [(name, options.get(option)) for name, options in read]
        same = all(value == values[0][1] for _, value in values)
        for name, value in [("", values[0][1])] if same else values:
            words += _typed(option, value, name)
    return words


def _typed(option: str, value: Any, name: str) -> list[str]:
    """A read option in a shell, for all files or for one.

    >>> _typed("scale", "percent", "a"), _typed("normalize", True, ""), _typed("ignore", ("x", "y"), "")
    (['--read', 'scale=a=percent'], ['--normalize'], ['--read', 'ignore=x', '--read', 'ignore=y'])
    """
    if value is None or value is False:
        return []
    if value is True:
        return ["--read", f"{option}={name}"] if name else [_FLAGS[option]] if option in _FLAGS else ["--read", option]
    words = []
    for each in value if isinstance(value, tuple) else (value,):
        word = f"{name}={each}" if name else str(each)
        words += [_FLAGS[option], word] if option in _FLAGS else ["--read", f"{option}={word}"]
    return words


def actions(
    results: Comparison, intervals: Intervals, details: CaseDetails, invocation: Invocation | None = None
) -> tuple[Action, ...]:
    """What the results suggest to do next, the largest measured gain first.

    Parameters
    ----------
    results : Comparison
        What was compared.
    intervals : Intervals
        How intervals are made over all cases.
    details : CaseDetails
        The cases: recalibration and pooling are tried on a sample of them.
    invocation : Invocation, optional
        How the files are written in a shell; else the actions have no commands.

    Returns
    -------
    tuple of Action
        At most four: recalibrate, pool, floor, plan, label, truncate. What would gain nothing is not among them.
    """
    typed, lead = invocation or Invocation(None), results.overall.rows[0]
    trial = Trial(results, intervals, details, typed)
    exhibit = next(model for model in details.exhibits if model.name == lead.name)
    measured = [*trial.recalibrated(), *trial.pooled(), *trial.shortened(exhibit)]
    gains = [(action.gain.value, action) for action in measured if action.gain is not None]
    floors = [] if details.held(lead.name) is None else list(_floored(results, typed, trial.cost_of_floor))
    best = [action for _, action in sorted(gains, key=lambda gain: gain[0])]
    best = [*floors, *best] if _infinite(results, results.rules[0]) else [*best, *floors]
    best += [*_planned(results, typed), *_doubtful(exhibit), *(action for action in measured if action.gain is None)]
    return tuple(best[:MOST])


def quick(comparison: Comparison, invocation: Invocation | None = None) -> tuple[Action, ...]:
    """What the results suggest to do next, from the results alone: floor, plan and diagnose.

    Parameters
    ----------
    comparison : Comparison
        The results.
    invocation : Invocation, optional
        How the files are written in a shell; else the actions have no commands.

    Returns
    -------
    tuple of Action
        At most three.
    """
    name, typed = comparison.overall.rows[0].name, invocation or Invocation(None)
    reason = "calibration and parts of the score of the best"
    look = Action("diagnose", (name,), "Diagnose {0}", reason, command=typed.diagnose(name))
    return *_floored(comparison, typed), *_planned(comparison, typed), look


def _change(gain: Estimate, rule: str, scores: tuple[float | None, float | None] | None = None) -> str:
    """How a mean score changes, from which to which where these are given, without the end of the bracket."""
    digits = decimals([gain])
    low, high = (fixed(end, digits, signed=True) for end in (gain.low, gain.high))
    ends = "" if scores is None else f" from {fixed(scores[0], digits)} to {fixed(scores[1], digits)},"
    return f"mean {kind(rule)} score{ends} by {fixed(gain.value, digits, signed=True)} ({low} to {high}, "


_CROSS_VALIDATED = f"95% CI, {_FOLDS}-fold cross-validation"  # the level of `select_recalibrator`


# What is tried on the cases


class FittingCases(NamedTuple):
    """Lists and outcomes that recalibrators are fitted to, as `toplist recalibrate fit` does it."""

    lists: TopLists
    y: Codes
    about: Mapping[str, Any]  # what is known of the cases beside their outcomes
    on: str  # of which cases this is, where it is not all

    def bias(self, level: float) -> str:
        """Over- or underconfidence, where its interval excludes zero; else nothing."""
        if self.about["sample_weight"] is not None:
            return ""
        try:
            bias = calibration_bias(self.lists, self.y, of="top", level=level, clusters=self.about["clusters"])
        except TopListError:
            return ""
        way = "overconfident" if bias.difference > 0 else "underconfident"
        return f"{way} by {100 * abs(bias.difference):.1f} points; " if excludes_zero(bias) else ""


@dataclass(frozen=True, slots=True)
class Trial:
    """Measures what recalibration, pooling, floors and shorter lists would change, on the cases of a leaderboard."""

    results: Comparison
    intervals: Intervals
    details: CaseDetails
    typed: Invocation

    @property
    def rule(self) -> str:
        """The rule that ranks."""
        return self.results.rules[0]

    @property
    def best(self) -> list[str]:
        """The models that no other one is significantly better than, best first; the leader where there is no test."""
        members = () if self.results.confidence_set is None else self.results.confidence_set.members
        return list(members) or [self.results.overall.rows[0].name]

    def recalibrated(self) -> Iterator[Action]:
        """The recalibration that leads to the lowest mean score, of those models whose scores it improves.

        An isotonic map is the quickest recalibrator, and as good as any with many cases; log scores need another.
        """
        # optimisers are not cheap to import
        from toplist.evaluation.transform import recalibrator_of  # noqa: PLC0415
        from toplist.postprocess.recalibration import RECALIBRATORS, select_recalibrator  # noqa: PLC0415

        rule, rows = self.rule, {row.name: row for row in self.results.overall.rows}
        right = max(rows.values(), key=lambda row: row.metrics["accuracy"].value)
        tried: list[tuple[float, Action]] = []
        for name in list(dict.fromkeys([*self.best[: _RECALIBRATED - 1], right.name, *self.best]))[:_RECALIBRATED]:
            cases = None if rows[name].scores[rule].infinite or rule not in RULES else self._fitted_to(name)
            if cases is None:
                continue
            kinds = ["temperature", "rest-floor", "isotonic"]
            if rule == "log":
                kinds = ["temperature"]
            elif len(cases.lists.confidences) > _ENTRIES:
                kinds = ["isotonic"]
            candidates = [recalibrator_of(kind, rule) for kind in kinds]
            try:
                choice = select_recalibrator(cases.lists, cases.y, rule=rule, candidates=candidates, **cases.about)
            except TopListError:
                continue
            row = choice.table[choice.chosen]
            if row.high is None or row.high >= 0:
                continue
            gain = Estimate(row.difference or 0.0, row.low, row.high, error=row.difference_error)
            word = next(kind for kind in kinds if isinstance(choice.best, RECALIBRATORS[kind]))
            bias = cases.bias(1 - (1 - self.results.level) / len(rows))
            change = f"{word.replace('-', ' ')} recalibration changes its {_change(gain, rule)}{_CROSS_VALIDATED}"
            use = self.typed.apply(name)
            use = f": {use}" if use and not set("{}") & set(use) else ""
            reason = f"{bias}{change}{cases.on}); it is fitted to these cases, so use it for new ones{use}"
            command = self.typed.recalibrate(name, rule, word, self.results.time)
            action = Action("recalibrate", (name,), "Recalibrate {0}", reason, gain, command)
            tried.append((rows[name].scores[rule].mean.value + gain.value, action))
        if tried:
            yield min(tried, key=lambda one: one[0])[1]

    def _fitted_to(self, name: str) -> FittingCases | None:
        """The compared cases of a model; None where the truth is a distribution, or there are too few."""
        sample, panel = self._compared(name), self.details.panel
        if sample is None or len(sample.lists) < _FEWEST:
            return None
        units = None if panel.units is None else by_appearance(panel.units[sample.rows])
        weights = None if panel.weights is None else panel.weights[sample.rows]
        return FittingCases(*sample.by_place(), {"clusters": units, "sample_weight": weights}, self._on(sample))

    def _compared(self, name: str) -> CaseSample | None:
        sample = self.details.held(name)
        return None if sample is None else sample.compared

    def _on(self, sample: CaseSample) -> str:
        """Of which cases a number is, where it is not all of the truth."""
        many = len(sample.lists)
        if sample.every > 1:
            return f", one case in {count(sample.every)}: {number_of(many, 'case')}"
        if many == self.results.cases:
            return ""
        common = self.results.missing == "common"
        return f", on the {count(many)} compared cases" if common else f", on its {number_of(many, 'case')}"

    def pooled(self) -> Iterator[Action]:
        """The equally weighted pool of the models tied for best, or of the best two or three, if better than each."""
        rows = [row for row in self.results.overall.rows if row.rank is not None and not row.scores[self.rule].infinite]
        order = [row.name for row in rows]
        tied = [name for name in self.best if name in order]
        tries = [tied[:_POOLED]] if len(tied) > 1 else [order[:2], *([order[:3]] if len(order) > 2 else [])]
        tried = [(self._pool_gain(names), names) for names in tries if len(names) > 1]
        better = [(gain, names) for gain, names in tried if gain is not None and _below(gain, 0.0)]
        if better:
            gain, names = min(better, key=lambda one: one[0].value)
            mean = _change(gain, self.rule).replace(" score by", " score of {0} by")
            reason = f"the mean of their probabilities changes the {mean}{percent(self.results.level)} CI)"
            yield Action("pool", tuple(names), "Pool {}", reason, gain, self.typed.pool(names))

    def _pool_gain(self, names: Sequence[str]) -> Estimate | None:
        """The mean score of the pool minus that of the first, on the cases of all, by the method of the board.

        None where the lists of different models cannot be brought together, or another member is not significantly
        worse than the pool.
        """
        from toplist.postprocess.combination import linear_pool  # noqa: PLC0415

        held = map(self._compared, names)
        samples = [sample for sample in held if sample is not None and sample.named]
        if len(samples) < len(names) or self.rule not in RULES:
            return None
        common: Codes = reduce(np.intersect1d, [sample.rows for sample in samples])
        if len(common) > _CASES and not self.details.panel.ordered:
            common = common[:: -(-len(common) // _CASES)]
        places = [places_of(common, sample.rows) for sample in samples]
        lists = [sample.lists[at] for sample, at in zip(samples, places, strict=True)]
        try:
            pool, y = linear_pool(lists), samples[0].y[places[0]]
            first, *others = (self._paired(pool, member, y, common) for member in lists)
        except TopListError:
            return None
        return first if all(gain is not None and _below(gain, 0.0) for gain in others) else None

    def _paired(self, lists: TopLists, other: TopLists, y: Codes, places: Codes) -> Estimate | None:
        """The mean score of lists minus that of others, on cases in these places, by the board's method.

        None where there are too few cases, or these are not all of those that follow each other in time.
        """
        panel, how = self.details.panel, self.intervals
        if len(places) < 2 or (panel.ordered and len(places) < len(panel)):
            return None
        rules, penalty = [as_rule(self.rule)], self.results.penalty
        sheets = [CaseScores.from_lists(one, y, rules, ks=(), penalty=penalty) for one in (lists, other)]
        about, empty = replace(panel, scores=panel.scores[:, :1, :1]).some(places), one_if_alike([sheets[0].empty.T])
        matrix = replace(about, scores=side_by_side(sheets), empty=empty)
        sums = matrix.tallies()[None]
        return replace(how, tally=sums, matrix=None if how.matrix is None else matrix).difference(0, 0, 1)

    def cost_of_floor(self, name: str, rule: str) -> str:
        """The finite mean score under a rule that a floor leads to, and what it costs under the rule that ranks."""
        rules, cases = list(dict.fromkeys([rule, self.rule])), self._fitted_to(name)
        if cases is None or not set(rules) <= set(RULES):
            return ""
        from toplist.postprocess.recalibration import RestFloor  # noqa: PLC0415  optimisers are not cheap to import
        from toplist.postprocess.recalibration.automatic import cross_validated  # noqa: PLC0415

        try:
            (_, finite), *others = cross_validated(RestFloor(rule="log"), cases.lists, cases.y, rules, **cases.about)
        except TopListError:
            return ""
        if finite.score is None or finite.infinite:
            return ""
        cost = f"; a floor makes the mean {kind(rule)} score finite, {fixed(finite.score, 4)}"
        for before, after in others:
            if after.difference is not None and after.low is not None:
                change = Estimate(after.difference, after.low, after.high)
                cost += f", and changes the {_change(change, self.rule, (before.score, after.score))}"
                return f"{cost}{_CROSS_VALIDATED}{cases.on})"
        return f"{cost} ({_FOLDS}-fold cross-validation{cases.on})"

    def shortened(self, lead: ModelDetails) -> Iterator[Action]:
        """The shortest lists of the best whose mean score is not worse by a thousandth of the uniform score."""
        results, rule = self.results, self.rule
        if not lead.curve or lead.cases < _MANY or lead.longest <= 3 or rule == "zero-one" or rule not in RULES:
            return
        sample = self._compared(lead.name)
        if sample is None or results.overall.rows[0].scores[rule].infinite or not math.isfinite(lead.curve[0]):
            return
        mean = sum(size * n for size, n in lead.sizes) / sum(n for _, n in lead.sizes)
        lists, y = sample.by_place()
        margin = FLAT * lead.curve[0]  # of no classes, which is the uniform prediction
        for k in (k for k in lead.ks if 1 <= k <= mean / 2):
            change = self._paired(lists.truncate(k), lists, y, sample.rows)
            if change is not None and _below(change, margin):
                break
        else:
            return
        better = _below(change, 0.0)
        short = "the most probable class alone" if k == 1 else f"the {k} most probable classes"
        length = f"lists of {lead.longest}" if lead.longest == lead.shortest else f"lists of {mean:.1f} on average"
        changed = f"{'improves' if better else 'changes'} the {_change(change, rule)}{percent(results.level)} CI"
        small = "" if better else f"; at most {percent(FLAT)} of the uniform score"
        reason = f"cutting {length} to {short} {changed}{small}{self._on(sample)})"
        title, command = (
            f"Cut the lists of {{0}} to {number_of(k, 'class', 'classes')}",
            self.typed.truncate(lead.name, k),
        )
        yield Action("truncate", (lead.name,), title, reason, change if better else None, command)


def _below(change: Estimate, limit: float) -> bool:
    """Whether a change is significantly below a limit."""
    return change.high is not None and change.high < limit


# What the results say


def _infinite(results: Comparison, rule: str) -> list[ModelRow]:
    return [row for row in results.overall.rows if row.scores[rule].infinite]


def _floored(
    results: Comparison, typed: Invocation, cost: Callable[[str, str], str] = lambda name, rule: ""
) -> Iterator[Action]:
    """A floor under the probabilities of the best model that gave zero to a true class.

    `cost` says what it does to the scores of a model, of which those under a rule are infinite.
    """
    rule = next((rule for rule in results.rules if _infinite(results, rule)), None)
    soft = results.truth_reading.startswith("distributions")
    if rule is None or soft or results.classes == INFINITELY_MANY:
        return
    row, *others = _infinite(results, rule)
    more = f", {len(others)} other {noun(len(others), 'model')} in some too" if others else ""
    zero = f"probability 0 for the true class in {count(row.scores[rule].infinite)} of {number_of(row.cases, 'case')}"
    command = typed.recalibrate(row.name, "log", "rest-floor", results.time)
    reason = f"{zero}{more}{cost(row.name, rule)}"
    yield Action("floor", (row.name,), "Give no class probability 0 in {0}", reason, command=command)


def _planned(results: Comparison, typed: Invocation) -> Iterator[Action]:
    """How many more cases the difference of the first two needs, where it is not significant.

    Nothing where few units are known, or so many more are needed that nobody would collect them.
    """
    rule = results.rules[0]
    top = [row.name for row in results.overall.rows if row.rank is not None][:2]
    pair = next((pair for pair in results.pairs if pair.rule == rule and {pair.a, pair.b} == set(top)), None)
    if pair is None or not pair.extra_units or not pair.difference.value:
        return
    more, verdict = pair.extra_units, judge(pair, results.level)
    if not verdict.tested or verdict.significant or results.units < _PILOT or more > _FAR * results.units:
        return
    about = round(more, 2 - len(str(more))) if more >= 100 else more
    apart = abs(pair.difference.value)
    tested = sum(other.rule == rule and other.adjusted_p is not None for other in results.pairs)
    family = "" if tested < 2 else f", adjusted for {count(tested)} pairs"
    reason = (
        f"choose the smallest difference that matters{' as --smallest' if typed.request else ''}; with the observed "
        f"one, {fixed(apart, decimals([pair.difference]))}, about {number_of(about, f'more {results.unit}')} "
        f"(80% power{family})"
    )
    command = typed.plan(top[0], top[1], float(f"{apart:.2g}"), results)
    yield Action("plan", (top[0], top[1]), "Plan more cases for {0} and {1}", reason, command=command)


def _doubtful(lead: ModelDetails) -> Iterator[Action]:
    """The worst predictions of the best in cases that no model has right: their labels may be wrong."""
    cases = [view.case for view in lead.worst if view.models > _OTHERS and view.right == 0]
    named = [case for case in cases if not set("{}") & set(case)][:_NAMED]
    if not named:
        return
    more = len(cases) - len(named)
    which = f"{', '.join(named)} and {more} more" if more else listed(named)
    among = f"among the {len(lead.worst)} worst predictions of {{0}}, {len(cases)}"
    have = "has" if len(cases) == 1 else "have"
    reason = f"{among} {have} no model with the true class first: {noun(len(cases), 'case')} {which}"
    yield Action("label", (lead.name,), f"Check the labels of {number_of(len(cases), 'case')}", reason)
