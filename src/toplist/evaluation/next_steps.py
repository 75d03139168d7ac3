"""What to do next after a comparison: what was measured, what it would gain, and the command that does it."""

from __future__ import annotations

import math
import os
import re
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from toplist._text import fixed
from toplist._typing import Codes
from toplist.calibration import CalibrationBias, calibration_bias
from toplist.calibration.miscalibration import excludes_zero
from toplist.errors import TopListError
from toplist.inference.aggregates import ScoreMatrix, overall, tally
from toplist.inference.ranking import judge
from toplist.inference.results import Action, Comparison, Estimate, ModelDetails, ModelRow, Pair
from toplist.inference.settings import Inference
from toplist.io.options import ReadRequest
from toplist.io.sources import stem_of
from toplist.lists.labelsets import LabelSets
from toplist.lists.space import ClassSpace, show_size
from toplist.report.text import count, decimals, kind, listed, noun, number_of, percent
from toplist.scoring.case_scores import CaseScores, Grouping, one_if_alike, side_by_side
from toplist.scoring.rules import RULES, as_rule

if TYPE_CHECKING:
    from toplist.evaluation.case_details import CaseDetails
    from toplist.evaluation.case_sample import CaseSample
    from toplist.evaluation.leaderboard import Leaderboard
    from toplist.postprocess.recalibration import Recalibrator

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
    >>> typed.recalibrate("a", "brier")
    "toplist recalibrate fit 'run 1/a.csv' -t y.csv -c 10 -o a.json"
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
        data = (*request.models.values(), about.data)
        if not all(isinstance(one, str | os.PathLike) for one in data):
            return None
        columns = {"outcome": about.outcome, **about.columns}
        per_case = columns.pop("n_classes")
        word = classes if per_case is None else per_case
        common = {name: value for name, value in request.truth_options.given().items() if name in _COMMON}
        return cls(
            {name: os.fspath(path) for name, path in request.models.items()},
            "" if word is None else shlex.join(["-c", word]),
            os.fspath(about.data),
            {name: options.given() for name, options in request.options.items()},
            {**common, **{name: value for name, value in about.options.items() if value}},
            {name: value for name, value in columns.items() if value is not None and name != "group"},
            missing,
            inference or Inference(),
            per_case is None,
        )

    def recalibrate(self, name: str, rule: str, *, floor: bool = False) -> str:
        """Fit a recalibrator: the one that cross-validation selects, or a floor under probabilities."""
        if not self.one_space or rule not in RULES:
            return ""
        how = [*(["--kind", "rest-floor"] if floor else []), *([] if rule == "brier" else ["--rule", rule])]
        return self._command("recalibrate fit", [name], *how, *self._output(name, ".json"), columns=("outcome",))

    def pool(self, names: Sequence[str]) -> str:
        """Pool files with equal weights."""
        return self._command("pool", names, *self._output("pool", ".parquet")) if self.one_space else ""

    def truncate(self, name: str, k: int) -> str:
        """Keep the k most confident classes."""
        written = self._output(f"{name}-top{k}", ".parquet")
        return self._command("truncate", [name], "-k", str(k), *written, missing=False) if self.one_space else ""

    def plan(self, a: str, b: str, smallest: float, results: Comparison) -> str:
        """Say how many cases find a difference of two models."""
        rule, how = results.rules[0], self.inference
        if rule not in RULES or self.missing == "baseline":
            return ""
        words = ["--smallest", f"{smallest:g}", *([] if rule == "brier" else ["--rule", rule])]
        if len(results.overall.rows) > 2:
            words += ["--models", str(len(results.overall.rows))]
        if results.penalty is not None:
            words += ["--penalty", f"{results.penalty:g}"]
        plain = Inference()
        words += ["--inference", how.method] if how.method != plain.method else []
        words += ["--level", f"{how.level:g}"] if how.level != plain.level else []
        words += ["--horizon", str(how.horizon)] if how.horizon != plain.horizon else []
        return self._command("plan", [a, b], *words, columns=("outcome", "weight", "cluster", "time"), known=True)

    def diagnose(self, name: str) -> str:
        """Diagnose one model."""
        return self._command("diagnose", [name], columns=("outcome", "cluster"))

    def _command(
        self,
        verb: str,
        names: Sequence[str],
        *more: str,
        columns: Sequence[str] = (),
        missing: bool = True,
        known: bool = False,
    ) -> str:
        """A command on the files of some models and, with columns, the truth.

        `known` says that the command knows all ways to treat missing cases.
        """
        words = ["toplist", *verb.split(), *(self._file(name, alone=len(names) == 1) for name in names)]
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
        stem = re.sub(r"[^\w.+-]+", "-", name).strip("-.")[:80] or "model"
        read = {PurePath(path).name for path in (*self.files.values(), self.truth or "", *shlex.split(self.options))}
        while stem + suffix in read:
            stem += "-new"
        return ["-o", stem + suffix]


_COMMON = ("by_position", "set_separator")  # read options that are one for all files


def _typed(option: str, value: Any, name: str) -> list[str]:
    """A read option in a shell, for all files or for one.

    >>> _typed("scale", "percent", "a"), _typed("normalize", True, ""), _typed("ignore", ("x", "y"), "")
    (['--scale', 'a=percent'], ['--normalize'], ['--ignore', 'x', '--ignore', 'y'])
    """
    flag = f"--{option.replace('_', '-')}"
    if value is None or value is False:
        return []
    if value is True:
        return [flag] if not name else [f"{flag}-only", name]
    each = value if isinstance(value, tuple) else (value,)
    return [word for one in each for word in (flag, f"{name}={one}" if name else str(one))]


@dataclass(frozen=True, slots=True)
class _Session:
    """How the same is called in Python, where `models` and `y` are what was compared, and `board` what was found."""

    space: str
    tables: bool = False  # models are files or frames

    def recalibrate(self, name: str, rule: str, *, floor: bool = False) -> str:
        """See `Invocation`."""
        if self.tables:
            how = "".join([', kind="rest-floor"' if floor else "", "" if rule == "brier" else f", rule={rule!r}"])
            return self._transform("fit_recalibrator", f"models[{name!r}], y{how}{self.space}") + ".model"
        made = "RestFloor()" if floor else f"AutoRecalibrator({'' if rule == 'brier' else f'rule={rule!r}'})"
        return f"tl.postprocess.{made}.fit(models[{name!r}], y{self.space})"

    def pool(self, names: Sequence[str]) -> str:
        """See `Invocation`."""
        chosen = f"{{name: models[name] for name in {list(names)!r}}}"
        if self.tables:
            return self._transform("pool_files", f'{chosen}, "pool.parquet"{self.space}')
        return f"tl.postprocess.linear_pool({chosen}{self.space})"

    def truncate(self, name: str, k: int) -> str:
        """See `Invocation`."""
        if self.tables:
            return self._transform("truncate_file", f'models[{name!r}], "short.parquet", k={k}{self.space}')
        return f"tl.as_lists(models[{name!r}]{self.space}).truncate({k})"

    def plan(self, a: str, b: str, smallest: float, results: Comparison) -> str:
        """See `Invocation`; a board has all pairs."""
        return f"tl.plan(board, {smallest:g})"

    def diagnose(self, name: str) -> str:
        """See `Invocation`."""
        return f"tl.diagnose(models[{name!r}], y{self.space})"

    @staticmethod
    def _transform(function: str, arguments: str) -> str:
        return f"from toplist.evaluation.transform import {function}\n{function}({arguments})"


How = Invocation | _Session | None


def _with_call(action: Action, how: How, write: Callable[[Invocation | _Session], str]) -> Action:
    """The action with its command or its code."""
    if how is None:
        return action
    text = write(how)
    return replace(action, command=text) if isinstance(how, Invocation) else replace(action, code=text)


def actions(board: Leaderboard, details: CaseDetails, invocation: Invocation | None = None) -> tuple[Action, ...]:
    """What the results suggest to do next, the largest measured gain first.

    Parameters
    ----------
    board : Leaderboard
        The comparison.
    details : CaseDetails
        Its cases: recalibration and pooling are tried on a sample of them.
    invocation : Invocation, optional
        How its files are written in a shell; else the actions are Python calls.

    Returns
    -------
    tuple of Action
        At most four: recalibrate, pool, floor, plan, label, truncate. What would gain nothing is not among them.
    """
    results, exhibits = board.comparison, {one.name: one for one in details.exhibits}
    how = invocation or board._invocation or _session(board, details)
    lead, best = results.overall.rows[0], _tied(results)
    gains = [*_recalibrated(board, details, best, how), *_pooled(board, details, best, how)]
    gains.sort(key=lambda one: math.inf if one.gain is None else one.gain.value)
    floors = [] if details.held(lead.name) is None else list(_floored(results, how))
    first = [one for one in floors if _infinite(results, results.rules[0])]
    found = [
        *first,
        *gains,
        *(one for one in floors if one not in first),
        *_planned(results, how),
        *_doubtful(exhibits[lead.name], results),
        *_shortened(exhibits[lead.name], how),
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
    lead = comparison.overall.rows[0]
    shown = Action("diagnose", (lead.name,), "Diagnose {0}", "calibration and parts of the score of the best")
    return (
        *_floored(comparison, invocation),
        *_planned(comparison, invocation),
        _with_call(shown, invocation, lambda how: how.diagnose(lead.name)),
    )


def _session(board: Leaderboard, details: CaseDetails) -> _Session | None:
    """Of predictions in memory; None where outcomes are distributions, which nothing is fitted to."""
    held = details.held(board.comparison.overall.rows[0].name)
    if held is None:
        return None
    space = held.lists.space if held.named is None else held.named.space
    tables = any(one.source != "memory" or one.layout != "lists" for one in board.comparison.sources)
    return _Session(f", space={_spelled(space)}", tables)


def _spelled(space: ClassSpace) -> str:
    """The classes as Python writes them: their number, or what was passed as `space` where they have labels."""
    if space.per_case or isinstance(space, LabelSets):
        return "space"
    if space.labels is None or not space.complete:
        return 'float("inf")' if math.isinf(space.size) else str(space.size)
    return "space"


def _tied(results: Comparison) -> list[str]:
    """The models that no other one is significantly better than, best first; the leader where there is no test."""
    found = results.confidence_set
    lead = results.overall.rows[0].name
    return list(found.members) if found is not None and found.members else [lead]


def _change(gain: Estimate, rule: str) -> str:
    """How a mean score changes, without the end of the bracket."""
    digits = decimals([gain])
    low, high = (fixed(end, digits, signed=True) for end in (gain.low, gain.high))
    return f"mean {kind(rule)} score by {fixed(gain.value, digits, signed=True)} ({low} to {high}, "


# Recalibration


def _recalibrated(board: Leaderboard, details: CaseDetails, best: Sequence[str], how: How) -> Iterator[Action]:
    """The recalibration that leads to the lowest mean score, of those models whose scores it changes for the better."""
    results = board.comparison
    rule, rows = results.rules[0], {row.name: row for row in results.overall.rows}
    right = max(rows.values(), key=lambda row: row.metrics["accuracy"].value)
    chosen = list(dict.fromkeys([*best[: _RECALIBRATED - 1], right.name, *best]))[:_RECALIBRATED]
    found: list[tuple[float, Action]] = []
    for name in chosen:
        if rows[name].scores[rule].infinite:
            continue
        held = details.held(name)
        gain = None if held is None else _recalibration(results, details, held)
        if held is None or gain is None or gain.high is None or gain.high >= 0:
            continue
        bias = _bias(held, 1 - (1 - results.level) / len(rows))
        alike = ", all cases counted once" if results.weighted else ""
        reason = f"{bias}recalibrating changes its {_change(gain, rule)}{_FOLDS}-fold cross-validation{alike})"
        made = Action("recalibrate", (name,), "Recalibrate {0}", reason, gain)
        found.append((rows[name].scores[rule].mean.value + gain.value, made))
    if found:
        chosen_one = min(found, key=lambda one: one[0])[1]
        yield _with_call(chosen_one, how, lambda how: how.recalibrate(chosen_one.models[0], rule))


def _recalibration(results: Comparison, details: CaseDetails, held: CaseSample) -> Estimate | None:
    """The change of the mean score by recalibration, cross-validated; None where it cannot be said."""
    from toplist.postprocess.recalibration import select_recalibrator  # noqa: PLC0415  optimisers are not cheap to import

    lists, units = held.lists, held.units
    if results.time is not None:
        units = details.panel.units if len(lists) == len(details.panel) else None
        if units is None:
            return None
    if len(lists) < _FEWEST:
        return None
    rule = as_rule(results.rules[0]) if results.rules[0] in RULES else None
    if rule is None:
        return None
    try:
        found = select_recalibrator(
            lists,
            held.y,
            rule=rule,
            candidates=_candidates(rule.name, len(lists.confidences)),
            folds=_FOLDS,
            clusters=units,
        )
    except TopListError:
        return None
    row = found.table[found.chosen]
    if row.difference is None or row.low is None:
        return None
    return Estimate(row.difference, row.low, row.high, error=row.difference_error)


def _candidates(rule: str, entries: int) -> list[Recalibrator]:
    """What is tried: an isotonic map is the quickest, and as good as any with many cases; log scores need another."""
    from toplist.postprocess.recalibration import BucketTemperature, Isotonic, RestFloor  # noqa: PLC0415

    if rule == "log":
        return [BucketTemperature(rule="log")]
    if entries > _ENTRIES:
        return [Isotonic()]
    return [BucketTemperature(), RestFloor(rule="brier"), Isotonic()]


def _bias(held: CaseSample, level: float) -> str:
    """Over- or underconfidence, where its interval excludes zero; else nothing."""
    try:
        found: CalibrationBias = (
            held.binned.calibration_bias("top", level=level)
            if held.binned is not None and held.units is None
            else calibration_bias(held.lists, held.y, of="top", level=level, clusters=held.units)
        )
    except TopListError:
        return ""
    if not excludes_zero(found):
        return ""
    way = "overconfident" if found.difference > 0 else "underconfident"
    return f"{way} by {100 * abs(found.difference):.1f} points; "


# Pooling


def _pooled(board: Leaderboard, details: CaseDetails, best: Sequence[str], how: How) -> Iterator[Action]:
    """The equally weighted pool of the models tied for best, or of the best two or three, if it is better than each."""
    results = board.comparison
    rule = results.rules[0]
    rows = [row for row in results.overall.rows if row.rank is not None and not row.scores[rule].infinite]
    order = [row.name for row in rows]
    tied = [name for name in best if name in order]
    tries = [tied[:_POOLED]] if len(tied) > 1 else [order[:2], order[:3]]
    found: list[tuple[Estimate, list[str]]] = []
    for names in (list(one) for one in dict.fromkeys(map(tuple, tries)) if len(one) > 1):
        gain = _pool_gain(board, details, names)
        if gain is not None and gain.high is not None and gain.high < 0:
            found.append((gain, names))
    if not found:
        return
    gain, names = min(found, key=lambda one: one[0].value)
    mean = _change(gain, rule).replace(" score by", " score of {0} by")
    reason = f"the mean of their probabilities changes the {mean}{percent(results.level)} CI)"
    made = Action("pool", tuple(names), "Pool {}", reason, gain)
    yield _with_call(made, how, lambda how: how.pool(names))


def _pool_gain(board: Leaderboard, details: CaseDetails, names: Sequence[str]) -> Estimate | None:
    """The mean score of the pool minus that of the first, on the cases of all, with the interval of the board's method.

    None where the lists of different models cannot be brought together.
    """
    from toplist.postprocess.combination import linear_pool  # noqa: PLC0415

    results, panel, how = board.comparison, details.panel, board._intervals
    held = [details.held(name) for name in names]
    lists = [one.named for one in held if one is not None and one.named is not None]
    first = held[0]
    if first is None or first.codes is None or len(lists) < len(names) or results.rules[0] not in RULES:
        return None
    rows = [one.rows for one in held if one is not None]
    common: Codes = rows[0]
    for one in rows[1:]:
        common = np.intersect1d(common, one)
    whole = all(len(one) == len(panel) for one in rows)
    if len(common) < 2 or any(len(np.unique(one)) < len(one) for one in rows):
        return None
    if not whole and (panel.weights is not None or panel.ordered):
        return None
    if len(common) > _CASES and not panel.ordered:
        common = common[:: -(-len(common) // _CASES)]
    places = [np.searchsorted(one, common) for one in rows]
    rule = as_rule(results.rules[0])
    try:
        some = [own[at] for own, at in zip(lists, places, strict=True)]
        y = first.codes[places[0]]
        sheets = [
            CaseScores.from_lists(one, y, [rule], ks=(), penalty=results.penalty)
            for one in (linear_pool(some), some[0])
        ]
    except TopListError:
        return None
    at = places[0]
    units = None if first.units is None else first.units[at]
    weights = None if panel.weights is None else panel.weights[at]
    grouped = None if units is None or panel.ordered else Grouping.of(units)
    sums = overall(tally(sheets, weights=weights, clusters=grouped))
    matrix = None
    if how.matrix is not None:
        side, empty = side_by_side(sheets), one_if_alike([sheets[0].empty.T])
        if whole:
            some_cases = panel.some(at)
            matrix = replace(some_cases, scores=side, empty=empty)
        else:
            matrix = ScoreMatrix(side, empty, weights, None if units is None else units.astype(np.int64))
    return replace(how, tally=sums, matrix=matrix).difference(0, 0, 1)


# Zero probabilities, more cases, labels, shorter lists


def _infinite(results: Comparison, rule: str) -> list[ModelRow]:
    return [row for row in results.overall.rows if row.scores[rule].infinite]


def _floored(results: Comparison, how: How) -> Iterator[Action]:
    """A floor under the probabilities of the best model that gave zero to a true class."""
    rule = next((rule for rule in results.rules if _infinite(results, rule)), None)
    soft = results.truth_reading.startswith("distributions")
    if rule is None or soft or results.classes == show_size(math.inf):
        return
    row, *others = _infinite(results, rule)
    n, them = row.scores[rule].infinite, len(others)
    more = f", {them} other {noun(them, 'model')} in some too" if them else ""
    reason = f"probability 0 for the true class in {count(n)} of {number_of(row.cases, 'case')}{more}"
    made = Action("floor", (row.name,), "Give no class probability 0 in {0}", reason)
    yield _with_call(made, how, lambda how: how.recalibrate(row.name, "log", floor=True))


def _planned(results: Comparison, how: How) -> Iterator[Action]:
    """How many more cases the difference of the first two needs, where it is not significant."""
    rule = results.rules[0]
    top = [row.name for row in results.overall.rows if row.rank is not None][:2]
    pair = next((pair for pair in results.pairs if pair.rule == rule and {pair.a, pair.b} == set(top)), None)
    if pair is None or not _is_open(pair, results):
        return
    more = pair.extra_units or 0
    about = round(more, 2 - len(str(more))) if more >= 100 else more
    apart = abs(pair.difference.value)
    tested = sum(one.rule == rule and one.adjusted_p is not None for one in results.pairs)
    family = "" if tested < 2 else f", adjusted for {count(tested)} pairs"
    reason = (
        f"about {number_of(about, f'more {results.unit}')} needed to find their difference of "
        f"{fixed(apart, decimals([pair.difference]))} significant (80% power{family})"
    )
    smallest = float(f"{apart:.2g}")
    made = Action("plan", (top[0], top[1]), "Plan more cases for {0} and {1}", reason)
    yield _with_call(made, how, lambda how: how.plan(top[0], top[1], smallest, results))


def _is_open(pair: Pair, results: Comparison) -> bool:
    """Whether a difference is not significant, and a number of further units is known that is worth naming."""
    found = judge(pair, results.level)
    return (
        found.tested
        and not found.significant
        and pair.difference.value != 0
        and bool(pair.extra_units)
        and (pair.extra_units or 0) <= _FAR * results.units
    )


def _doubtful(lead: ModelDetails, results: Comparison) -> Iterator[Action]:
    """The worst cases of the best that no model has right: their labels may be wrong."""
    found = [one for one in lead.worst if one.models >= 3 and one.right == 0]
    cases = [one.case for one in found]
    named = [case for case in cases if not set("{}") & set(case)][:_NAMED]
    if not cases or not named:
        return
    more = f" and {len(cases) - len(named)} more" if len(cases) > len(named) else ""
    which = f"{', '.join(named)}{more}" if more else listed(named)
    many = len(results.overall.rows)
    nobody = f"none of {many} models" if all(one.models == many for one in found) else "no model"
    reason = f"{nobody} has the true class of {noun(len(cases), 'case')} {which} as its top-1 prediction"
    yield Action("label", (lead.name,), f"Check the labels of {number_of(len(cases), 'case')}", reason)


def _shortened(lead: ModelDetails, how: How) -> Iterator[Action]:
    """The shortest lists of the best whose mean score is within a thousandth of the uniform score of that of all."""
    if not lead.curve or lead.cases < _MANY or lead.longest <= 3 or lead.rule == "zero-one":
        return
    if not all(map(math.isfinite, lead.curve)):
        return
    uniform, whole = lead.curve[0], lead.curve[-1]  # of no classes, which is the uniform prediction, and of all
    k = next(k for k, score in zip(lead.ks, lead.curve, strict=True) if score - whole <= FLAT * uniform)
    sizes = sum(n for _, n in lead.sizes)
    mean = sum(size * n for size, n in lead.sizes) / sizes
    if not 1 <= k <= mean / 2:
        return
    lost = max(0.0, lead.curve[lead.ks.index(k)] - whole)
    at_most = max(0.0001, math.ceil(1e4 * lost) / 1e4)
    length = f"lists of {lead.longest}" if lead.longest == lead.shortest else f"lists of {mean:.1f} on average"
    short = "the most probable class alone scores" if k == 1 else f"the {k} most probable classes score"
    reason = f"{short} within {at_most:.4f} of {length} (at most {percent(FLAT)} of the uniform score)"
    made = Action("truncate", (lead.name,), f"Cut the lists of {{0}} to {number_of(k, 'class', 'classes')}", reason)
    yield _with_call(made, how, lambda how: how.truncate(lead.name, k))
