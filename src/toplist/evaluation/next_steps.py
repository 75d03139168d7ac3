"""What to do next after a comparison: what was measured, what it would gain, and the command that does it."""

from __future__ import annotations

import math
import os
import re
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, Final, Protocol

import numpy as np

from toplist._files import shown
from toplist._text import fixed
from toplist._typing import Codes, Floats
from toplist.calibration import calibration_bias
from toplist.calibration.miscalibration import excludes_zero
from toplist.errors import TopListError
from toplist.inference.aggregates import overall, tally
from toplist.inference.intervals import Intervals
from toplist.inference.ranking import judge
from toplist.inference.results import Action, Comparison, Estimate, ModelDetails, ModelRow
from toplist.inference.settings import Inference
from toplist.io import ReadRequest, by_appearance, stem_of
from toplist.lists import TopLists
from toplist.lists.space import INFINITELY_MANY
from toplist.report.text import count, decimals, kind, listed, noun, number_of, percent
from toplist.scoring.case_scores import CaseScores, Grouping, one_if_alike, side_by_side
from toplist.scoring.rules import RULES, as_rule

if TYPE_CHECKING:
    from toplist.evaluation.case_details import CaseDetails
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
_IN_COMMANDS = ("error", "common")  # ways to treat missing cases that every command knows


@dataclass(frozen=True, slots=True)
class Invocation:
    """How the inputs of a comparison are written in a shell.

    Attributes
    ----------
    files : mapping of str to str
        The file of each model, as a path that is not quoted.
    options : str
        Options that every command takes, such as "-c 10", quoted.
    truth : str or None
        The file with outcomes; None where `options` name it.
    read : mapping of str to mapping
        By model, the read options of its file that differ from their defaults.
    truth_read : mapping
        The same of the truth.
    columns : mapping of str to str
        Columns of the truth by the name of the option: outcome, weight, cluster, time.
    missing : str
        How missing cases are treated.
    inference : Inference
        How intervals are made.
    one_space : bool
        Whether all cases have the same number of classes, which commands that change lists need.

    Examples
    --------
    >>> typed = Invocation({"a": "run 1/a.csv"}, "-c 10", "y.csv")
    >>> typed.recalibrate("a", "brier", "isotonic")
    "toplist recalibrate fit 'run 1/a.csv' -t y.csv -c 10 --kind isotonic -o a.json"
    >>> typed.apply("a")
    'toplist recalibrate apply NEW.csv a.json -c 10 -o better.parquet'
    """

    files: Mapping[str, str]
    options: str = ""
    truth: str | None = None
    read: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    truth_read: Mapping[str, Any] = field(default_factory=dict)
    columns: Mapping[str, str] = field(default_factory=dict)
    missing: str = "error"
    inference: Inference = field(default_factory=Inference)
    one_space: bool = True

    @classmethod
    def of(
        cls, request: ReadRequest, classes: str | None, *, missing: str = "error", inference: Inference | None = None
    ) -> Invocation | None:
        """From what is read; `classes` is the value of --classes. None where something is not in a file."""
        about = request.truth
        data = (*request.models.values(), *([] if about.data is None else [about.data]))
        if not all(isinstance(one, str | os.PathLike) for one in data):
            return None
        columns = {"outcome": about.outcome, **about.columns}
        per_case = columns.pop("n_classes")
        word = classes if per_case is None else per_case
        common = {name: value for name, value in request.truth_options.given().items() if name in _COMMON}
        return cls(
            {name: shown(path) for name, path in request.models.items()},
            "" if word is None else shlex.join(["-c", shown(word)]),
            None if about.data is None else shown(about.data),
            {name: options.given() for name, options in request.options.items()},
            {**common, **{name: value for name, value in about.options.items() if value}},
            {name: value for name, value in columns.items() if value is not None and name != "group"},
            missing,
            inference or Inference(),
            per_case is None,
        )

    def recalibrate(self, name: str, rule: str, kind: str, cluster: str | None = None) -> str:
        """Fit a recalibrator of one kind, or the one that is selected ("auto").

        `cluster` is the column whose cases stay in one fold, in place of the one that was named.
        """
        columns = ("outcome", "weight", *(() if cluster else ("cluster",)))
        how = ["--cluster", cluster] if cluster else []
        how += [*([] if kind == "auto" else ["--kind", kind]), *([] if rule == "brier" else ["--rule", rule])]
        return self._change("recalibrate fit", [name], *how, *self._output(name, ".json"), columns=columns)

    def apply(self, name: str) -> str:
        """Use the recalibrator for new cases, in a file like that of the model."""
        _, written = self._output(name, ".json")
        return self._change("recalibrate apply", [name], "-o", "better.parquet", missing=False, new=written)

    def pool(self, names: Sequence[str]) -> str:
        """Pool files with equal weights."""
        return self._change("pool", names, *self._output("pool", ".parquet"))

    def truncate(self, name: str, k: int) -> str:
        """Keep the k most confident classes."""
        written = self._output(f"{name}-top{k}", ".parquet")
        return self._change("truncate", [name], "-k", str(k), *written, missing=False)

    def plan(self, a: str, b: str, smallest: float, results: Comparison) -> str:
        """Say how many cases find a difference of two models."""
        rule, how, plain = results.rules[0], self.inference, Inference()
        if rule not in RULES or self.missing == "baseline":
            return ""
        words = ["--smallest", f"{smallest:g}", *([] if rule == "brier" else ["--rule", rule])]
        if len(results.overall.rows) > 2:
            words += ["--models", str(len(results.overall.rows))]
        if results.penalty is not None:
            words += ["--penalty", f"{results.penalty:g}"]
        for flag, name in (("--inference", "method"), ("--level", "level"), ("--horizon", "horizon")):
            words += [flag, str(getattr(how, name))] if getattr(how, name) != getattr(plain, name) else []
        return self._command("plan", [a, b], *words, columns=("outcome", "weight", "cluster", "time"), known=True)

    def diagnose(self, name: str) -> str:
        """Diagnose one model."""
        return self._command("diagnose", [name], columns=("outcome", "cluster"))

    def _change(self, verb: str, names: Sequence[str], *more: str, **how: Any) -> str:
        """A command that changes lists, which all have the same classes."""
        return self._command(verb, names, *more, **how) if self.one_space else ""

    def _command(
        self,
        verb: str,
        names: Sequence[str],
        *more: str,
        columns: Sequence[str] = (),
        missing: bool = True,
        known: bool = False,
        new: str = "",
    ) -> str:
        """A command on the files of some models and, with columns, the truth.

        `known` says that the command knows all ways to treat missing cases; `new` is a fitted model for a new file.
        """
        if not self.files:
            return ""
        files = [self._file(name, alone=len(names) == 1) for name in names]
        words = ["toplist", *verb.split(), *([f"NEW{PurePath(files[0]).suffix}", new] if new else files)]
        if columns and self.truth is not None:
            words += ["-t", self.truth]
            for column in columns:
                words += [f"--{column}", self.columns[column]] if column in self.columns else []
            for option, value in self.truth_read.items():
                if option not in (*_COMMON, "normalize"):
                    words += _typed(option, value, "truth")
        words += self._reading(names)
        if missing and self.missing != "error":
            words += ["--missing", self.missing if known or self.missing in _IN_COMMANDS else "common"]
        return " ".join(filter(None, [shlex.join(words), self.options, shlex.join(more)]))

    def _file(self, name: str, *, alone: bool) -> str:
        """A file as it is typed: with its name, where that is not the one that it would get."""
        path = self.files[name]
        path = f"./{path}" if path.startswith("-") else path
        return path if alone or stem_of(path) == name else f"{name}={path}"

    def _reading(self, names: Sequence[str]) -> list[str]:
        """The read options of some files: once where all have the same, else by name."""
        own = [self.read.get(name, {}) for name in names]
        words: list[str] = []
        for option in dict.fromkeys(option for one in (*own, self.truth_read) for option in one):
            if option in _COMMON:
                words += _typed(option, next(one[option] for one in (*own, self.truth_read) if option in one), "")
            elif all(one.get(option) == own[0].get(option) for one in own):
                words += _typed(option, own[0].get(option), "")
            else:
                for name, one in zip(names, own, strict=True):
                    words += _typed(option, one.get(option), name)
        return words

    def _output(self, name: str, suffix: str) -> list[str]:
        """An output that is none of the inputs."""
        stem = _file_name(name)
        read = {PurePath(path).name for path in (*self.files.values(), self.truth or "", *shlex.split(self.options))}
        while stem + suffix in read:
            stem += "-new"
        return ["-o", stem + suffix]


_COMMON = ("by_position", "set_separator")  # read options that are one for all files
_FLAGS = {"producer": "--from", "where": "--where", "normalize": "--normalize"}  # the others are keys of --read


def _typed(option: str, value: Any, name: str) -> list[str]:
    """A read option in a shell, for all files or for one.

    >>> _typed("scale", "percent", "a"), _typed("normalize", True, ""), _typed("ignore", ("x", "y"), "")
    (['--read', 'scale=a=percent'], ['--normalize'], ['--read', 'ignore=x', '--read', 'ignore=y'])
    """
    if value is None or value is False:
        return []
    if value is True:
        return ["--read", f"{option}={name}"] if name else [_FLAGS[option]] if option in _FLAGS else ["--read", option]
    each = [f"{name}={one}" if name else str(one) for one in (value if isinstance(value, tuple) else (value,))]
    return [
        word for one in each for word in ((_FLAGS[option], one) if option in _FLAGS else ("--read", f"{option}={one}"))
    ]


def _file_name(name: str) -> str:
    """A name of a file that needs no quotes."""
    return re.sub(r"[^\w.+-]+", "-", name).strip("-.")[:80] or "model"


IN_MEMORY: Final = Invocation({})
"""Stands in for how files are written: there are no commands for what is not in files."""


class Board(Protocol):
    """What of a leaderboard the next steps are found from: its results, its method, and how it was written."""

    @property
    def comparison(self) -> Comparison:
        """The results."""

    @property
    def _intervals(self) -> Intervals: ...

    @property
    def _invocation(self) -> Invocation | None: ...


def actions(board: Board, details: CaseDetails, invocation: Invocation | None = None) -> tuple[Action, ...]:
    """What the results suggest to do next, the largest measured gain first.

    Parameters
    ----------
    board : Leaderboard
        The comparison.
    details : CaseDetails
        Its cases: recalibration and pooling are tried on a sample of them.
    invocation : Invocation, optional
        How its files are written in a shell; else the actions have no commands.

    Returns
    -------
    tuple of Action
        At most four: recalibrate, pool, floor, plan, label, truncate. What would gain nothing is not among them.
    """
    results, typed = board.comparison, invocation or board._invocation or IN_MEMORY
    lead, trial = results.overall.rows[0], Trial(board, details, typed)
    exhibit = next(one for one in details.exhibits if one.name == lead.name)
    cut = list(trial.shortened(exhibit))
    gains = [*trial.recalibrated(), *trial.pooled(), *(one for one in cut if one.gain is not None)]
    gains = sorted(gains, key=lambda one: math.inf if one.gain is None else one.gain.value)
    floors = [] if details.held(lead.name) is None else list(_floored(results, typed, trial.cost_of_floor))
    infinite = bool(_infinite(results, results.rules[0]))
    found = [
        *(floors if infinite else ()),
        *gains,
        *(() if infinite else floors),
        *_planned(results, typed),
        *_doubtful(exhibit),
        *(one for one in cut if one.gain is None),
    ]
    return tuple(found[:MOST])


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
    name, typed = comparison.overall.rows[0].name, invocation or IN_MEMORY
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


@dataclass(frozen=True, slots=True)
class FittingCases:
    """Lists and outcomes that recalibrators are fitted to, as `toplist recalibrate fit` does it."""

    lists: TopLists
    y: Codes
    clusters: Codes | None
    weights: Floats | None
    on: str  # of which cases this is, where it is not all

    @property
    def about(self) -> dict[str, Any]:
        """What is known of the cases beside their outcomes."""
        return {"clusters": self.clusters, "sample_weight": self.weights}

    def bias(self, level: float) -> str:
        """Over- or underconfidence, where its interval excludes zero; else nothing."""
        if self.weights is not None:
            return ""
        try:
            found = calibration_bias(self.lists, self.y, of="top", level=level, clusters=self.clusters)
        except TopListError:
            return ""
        if not excludes_zero(found):
            return ""
        way = "overconfident" if found.difference > 0 else "underconfident"
        return f"{way} by {100 * abs(found.difference):.1f} points; "


@dataclass(frozen=True, slots=True)
class Trial:
    """Measures what recalibration, pooling, floors and shorter lists would change, on the cases of a leaderboard."""

    board: Board
    details: CaseDetails
    typed: Invocation

    @property
    def results(self) -> Comparison:
        """What was compared."""
        return self.board.comparison

    @property
    def rule(self) -> str:
        """The rule that ranks."""
        return self.results.rules[0]

    @property
    def best(self) -> list[str]:
        """The models that no other one is significantly better than, best first; the leader where there is no test."""
        found = self.results.confidence_set
        return list(found.members) if found is not None and found.members else [self.results.overall.rows[0].name]

    def recalibrated(self) -> Iterator[Action]:
        """The recalibration that leads to the lowest mean score, of those models whose scores it improves.

        An isotonic map is the quickest recalibrator, and as good as any with many cases; log scores need another.
        """
        from toplist.postprocess.recalibration import (  # noqa: PLC0415  optimisers are not cheap to import
            Isotonic,
            RestFloor,
            Temperature,
            select_recalibrator,
        )

        rule, rows = self.rule, {row.name: row for row in self.results.overall.rows}
        right = max(rows.values(), key=lambda row: row.metrics["accuracy"].value)
        found: list[tuple[float, Action]] = []
        for name in list(dict.fromkeys([*self.best[: _RECALIBRATED - 1], right.name, *self.best]))[:_RECALIBRATED]:
            sample = None if rows[name].scores[rule].infinite or rule not in RULES else self._fitted_to(name)
            if sample is None:
                continue
            kinds: dict[str, Any] = {
                "temperature": Temperature(),
                "rest-floor": RestFloor(rule="brier"),
                "isotonic": Isotonic(),
            }
            if rule == "log":
                kinds = {"temperature": Temperature(rule="log")}
            elif len(sample.lists.confidences) > _ENTRIES:
                kinds = {"isotonic": kinds["isotonic"]}
            try:
                choice = select_recalibrator(
                    sample.lists, sample.y, rule=rule, candidates=list(kinds.values()), **sample.about
                )
            except TopListError:
                continue
            row = choice.table[choice.chosen]
            if row.high is None or row.high >= 0:
                continue
            gain = Estimate(row.difference or 0.0, row.low, row.high, error=row.difference_error)
            word = next(word for word, one in kinds.items() if type(one) is type(choice.best))
            bias = sample.bias(1 - (1 - self.results.level) / len(rows))
            told = f"{bias}{word.replace('-', ' ')} recalibration changes its {_change(gain, rule)}{_CROSS_VALIDATED}"
            use = self.typed.apply(name)
            use = f": {use}" if use and not set("{}") & set(use) else ""
            reason = f"{told}{sample.on}); it is fitted to these cases, so use it for new ones{use}"
            command = self.typed.recalibrate(name, rule, word, self.results.time)
            action = Action("recalibrate", (name,), "Recalibrate {0}", reason, gain, command)
            found.append((rows[name].scores[rule].mean.value + gain.value, action))
        if found:
            yield min(found, key=lambda one: one[0])[1]

    def _fitted_to(self, name: str) -> FittingCases | None:
        """The compared cases of a model; None where the truth is a distribution, or there are too few."""
        sample, panel = self._compared(name), self.details.panel
        if sample is None or len(sample.lists) < _FEWEST:
            return None
        units = None if panel.units is None else by_appearance(panel.units[sample.rows])
        weights = None if panel.weights is None else panel.weights[sample.rows]
        return FittingCases(sample.lists, sample.y, units, weights, self._on(sample))

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
        tries = [tied[:_POOLED]] if len(tied) > 1 else [order[:2], order[:3]]
        found: list[tuple[Estimate, list[str]]] = []
        for names in (list(one) for one in dict.fromkeys(map(tuple, tries)) if len(one) > 1):
            gain = self._pool_gain(names)
            if gain is not None and gain.high is not None and gain.high < 0:
                found.append((gain, names))
        if not found:
            return
        gain, names = min(found, key=lambda one: one[0].value)
        mean = _change(gain, self.rule).replace(" score by", " score of {0} by")
        reason = f"the mean of their probabilities changes the {mean}{percent(self.results.level)} CI)"
        yield Action("pool", tuple(names), "Pool {}", reason, gain, self.typed.pool(names))

    def _pool_gain(self, names: Sequence[str]) -> Estimate | None:
        """The mean score of the pool minus that of the first, on the cases of all, by the method of the board.

        None where the lists of different models cannot be brought together, or another member is not significantly
        worse than the pool.
        """
        from toplist.postprocess.combination import linear_pool  # noqa: PLC0415

        held = [self._compared(name) for name in names]
        known = [one for one in held if one is not None and one.named is not None]
        if len(known) < len(names) or known[0].codes is None or self.rule not in RULES:
            return None
        common: Codes = known[0].rows
        for one in known[1:]:
            common = np.intersect1d(common, one.rows)
        if len(common) > _CASES and not self.details.panel.ordered:
            common = common[:: -(-len(common) // _CASES)]
        places = [np.argsort(one.rows)[np.searchsorted(np.sort(one.rows), common)] for one in known]
        try:
            some = [own.named[at] for own, at in zip(known, places, strict=True) if own.named is not None]
            pool, y = linear_pool(some), known[0].codes[places[0]]
            first, *others = (self._paired(pool, one, y, common) for one in some)
            return first if all(one is not None and one.high is not None and one.high < 0 for one in others) else None
        except TopListError:
            return None

    def _paired(self, lists: TopLists, other: TopLists, y: Codes, places: Codes) -> Estimate | None:
        """The mean score of lists minus that of others, on cases in these places, by the board's method.

        None where there are too few cases, or these are not all of those that follow each other in time.
        """
        panel, how = self.details.panel, self.board._intervals
        if len(places) < 2 or (panel.ordered and len(places) < len(panel)):
            return None
        rules, penalty = [as_rule(self.rule)], self.results.penalty
        sheets = [CaseScores.from_lists(one, y, rules, ks=(), penalty=penalty) for one in (lists, other)]
        about = replace(panel, scores=panel.scores[:, :1, :1]).some(places)
        clusters = None if about.units is None or panel.ordered else Grouping.of(about.units)
        sums, matrix = overall(tally(sheets, weights=about.weights, clusters=clusters)), None
        if how.matrix is not None:
            matrix = replace(about, scores=side_by_side(sheets), empty=one_if_alike([sheets[0].empty.T]))
        return replace(how, tally=sums, matrix=matrix).difference(0, 0, 1)

    def cost_of_floor(self, name: str, rule: str) -> str:
        """The finite mean score under a rule that a floor leads to, and what it costs under the rule that ranks."""
        rules, sample = list(dict.fromkeys([rule, self.rule])), self._fitted_to(name)
        if sample is None or not set(rules) <= set(RULES):
            return ""
        from toplist.postprocess.recalibration import RestFloor  # noqa: PLC0415  optimisers are not cheap to import
        from toplist.postprocess.recalibration.automatic import cross_validated  # noqa: PLC0415

        try:
            (_, finite), *others = cross_validated(RestFloor(rule="log"), sample.lists, sample.y, rules, **sample.about)
        except TopListError:
            return ""
        if finite.score is None or finite.infinite:
            return ""
        told = f"; a floor makes the mean {kind(rule)} score finite, {fixed(finite.score, 4)}"
        for before, after in others:
            if after.difference is not None and after.low is not None:
                change = Estimate(after.difference, after.low, after.high)
                told += f", and changes the {_change(change, self.rule, (before.score, after.score))}"
                return f"{told}{_CROSS_VALIDATED}{sample.on})"
        return f"{told} ({_FOLDS}-fold cross-validation{sample.on})"

    def shortened(self, lead: ModelDetails) -> Iterator[Action]:
        """The shortest lists of the best whose mean score is not worse by a thousandth of the uniform score."""
        results, rule = self.results, self.rule
        if not lead.curve or lead.cases < _MANY or lead.longest <= 3 or rule == "zero-one" or rule not in RULES:
            return
        sample = self._compared(lead.name)
        if sample is None or results.overall.rows[0].scores[rule].infinite or not math.isfinite(lead.curve[0]):
            return
        mean = sum(size * n for size, n in lead.sizes) / sum(n for _, n in lead.sizes)
        margin = FLAT * lead.curve[0]  # of no classes, which is the uniform prediction
        for k in (k for k in lead.ks if 1 <= k <= mean / 2):
            found = self._paired(sample.lists.truncate(k), sample.lists, sample.y, sample.rows)
            if found is not None and found.high is not None and found.high < margin:
                break
        else:
            return
        better = found.high < 0
        short = "the most probable class alone" if k == 1 else f"the {k} most probable classes"
        length = f"lists of {lead.longest}" if lead.longest == lead.shortest else f"lists of {mean:.1f} on average"
        changed = f"{'improves' if better else 'changes'} the {_change(found, rule)}{percent(results.level)} CI"
        small = "" if better else f"; at most {percent(FLAT)} of the uniform score"
        reason = f"cutting {length} to {short} {changed}{small}{self._on(sample)})"
        title = f"Cut the lists of {{0}} to {number_of(k, 'class', 'classes')}"
        yield Action(
            "truncate", (lead.name,), title, reason, found if better else None, self.typed.truncate(lead.name, k)
        )


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
    title, command = (
        "Give no class probability 0 in {0}",
        typed.recalibrate(row.name, "log", "rest-floor", results.time),
    )
    yield Action("floor", (row.name,), title, f"{zero}{more}{cost(row.name, rule)}", command=command)


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
    tested = sum(one.rule == rule and one.adjusted_p is not None for one in results.pairs)
    family = "" if tested < 2 else f", adjusted for {count(tested)} pairs"
    reason = (
        f"choose the smallest difference that matters{' as --smallest' if typed.files else ''}; with the observed one, "
        f"{fixed(apart, decimals([pair.difference]))}, about {number_of(about, f'more {results.unit}')} "
        f"(80% power{family})"
    )
    command = typed.plan(top[0], top[1], float(f"{apart:.2g}"), results)
    yield Action("plan", (top[0], top[1]), "Plan more cases for {0} and {1}", reason, command=command)


def _doubtful(lead: ModelDetails) -> Iterator[Action]:
    """The worst predictions of the best in cases that no model has right: their labels may be wrong."""
    cases = [one.case for one in lead.worst if one.models > _OTHERS and one.right == 0]
    named = [case for case in cases if not set("{}") & set(case)][:_NAMED]
    if not named:
        return
    more = len(cases) - len(named)
    which = f"{', '.join(named)} and {more} more" if more else listed(named)
    among = f"among the {len(lead.worst)} worst predictions of {{0}}, {len(cases)}"
    have = "has" if len(cases) == 1 else "have"
    reason = f"{among} {have} no model with the true class first: {noun(len(cases), 'case')} {which}"
    yield Action("label", (lead.name,), f"Check the labels of {number_of(len(cases), 'case')}", reason)
