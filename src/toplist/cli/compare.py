"""`toplist compare`, `toplist plan` and `toplist score`."""

from __future__ import annotations

import math
import re
import shlex
import shutil
import sys
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from functools import partial
from importlib import import_module
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Annotated, Any

import typer

from toplist._files import shown_words
from toplist._text import visible
from toplist.cli.options import (
    ALL_RULES,
    PANELS,
    Inputs,
    Printing,
    Reads,
    command,
    missing_option,
    option,
    require_named,
)
from toplist.cli.output import (
    GATE,
    UsageError,
    flag_of,
    of_flags,
    print_changes,
    print_json,
    print_text,
    progress_bar,
    require_choice,
    require_outputs,
    writes_unicode,
)
from toplist.core.memory import keep_freed_memory
from toplist.inference.settings import Inference
from toplist.io.options import MISSING
from toplist.report.text import number_of, percent

if TYPE_CHECKING:
    from toplist.evaluation.leaderboard import Leaderboard
    from toplist.evaluation.next_steps import Invocation
    from toplist.evaluation.planning import Equivalence
    from toplist.evaluation.stream import ReadSummary, ScoringSpec
    from toplist.inference.intervals import Intervals
    from toplist.inference.results import Comparison, GateResult, Pair
    from toplist.inference.settings import InferenceSettings
    from toplist.io.plan import Plan

_PENALTY = "Penalty of an invalid list; 1% of the score of the uniform prediction by default."


@dataclass(frozen=True, kw_only=True)
class ScoringOptions(Printing):
    """By what cases are scored."""

    rule: tuple[str, ...] = option(
        ("brier", "log"),
        f"{', '.join(ALL_RULES)}; brier and log by default; may be repeated. The first one ranks.",
        choices=ALL_RULES,
    )
    penalty: float | None = option(None, _PENALTY)


@dataclass(frozen=True, kw_only=True)
class BoardOptions(Printing):
    """Where a leaderboard goes."""

    output: tuple[Path, ...] = option(
        (), "Write the results to a file: .json, .csv, .md, .tex, .html or .txt; may be repeated.", "-o"
    )


@dataclass(frozen=True, kw_only=True)
class CompareOptions(ScoringOptions, BoardOptions):
    """The options of `toplist compare`."""

    k: tuple[int, ...] = option((5,), "The k of top-k errors, 5 by default; may be repeated.")
    baseline: str | None = option(None, "Reference model for skill and for --sequential.", "-b")
    missing: str = missing_option()
    fail_if: tuple[str, ...] = option(
        (), 'Exit with code 3 if this holds, such as "new worse than old by 0.01"; may be repeated.'
    )
    report: Path | None = option(
        None, "Write an HTML report with figures, such as board.html; report.html where no name is given."
    )
    title: str | None = option(None, "Title of the report.")
    detail: bool = option(False, "Print all columns, in several tables.")
    sequential: bool = option(
        False, "Add anytime-valid comparisons, which hold after every case.", rich_help_panel=PANELS["Inference"]
    )


@dataclass(frozen=True, kw_only=True)
class EngineOptions:
    """Where parts of the files are scored."""

    engine: str | None = option(None, "local, dask, spark or ray: score parts of the files in several processes.")
    workers: int | None = option(None, "How many processes work at a time.")
    scheduler: str | None = option(None, "Address of a Dask scheduler, such as tcp://host:8786.")
    master: str | None = option(None, "Master of a Spark cluster, such as spark://host:7077.")
    partials: Path | None = option(
        None, "Folder for partial results: a second run does only what is missing or has changed."
    )
    on_error: str | None = option(
        None, "What to do about a file that cannot be read: stop, or skip it and list it in the result."
    )
    task_cases: int | None = option(None, "Cases of a task, about.")

    def made(self) -> Any:
        """The engine, or None where all is done in this process."""
        given = {one.name: getattr(self, one.name) for one in fields(EngineOptions) if one.name != "engine"}
        given = {name: value for name, value in given.items() if value is not None}
        if self.engine is None:
            if given:
                raise UsageError(f"{flag_of(next(iter(given)))} goes with --engine: local, dask, spark or ray.")
            return None
        from toplist.engines import as_engine
        from toplist.engines.choice import NAMES

        require_choice("engine", self.engine, NAMES)
        with of_flags(given):
            return as_engine(self.engine, **given)


@command(
    Reads(several=True, truth=True, columns=("outcome", "weight", "group", "cluster", "time", "n_classes")),
    examples=(
        "toplist compare a.parquet b.jsonl c.csv --truth y.csv --classes 1000",
        'toplist compare old=run1/*.pq new=run2/*.pq -t y.parquet -c labels.txt --fail-if "new worse than old"',
        "toplist compare hub/*.csv -t truth.csv -c 28 --missing pairwise --time week --report board.html",
    ),
)
def compare(inputs: Inputs, options: CompareOptions, inference: Inference, engine: EngineOptions) -> None:
    """Compare models by proper scores, with confidence intervals and tests: lists, labels and distributions."""
    keep_freed_memory()
    require_boards(options.output, options.report, inputs.paths)
    gates = [_gate(text, list(inputs.files)) for text in options.fail_if]
    if options.sequential and len(inputs.files) < 2:
        raise UsageError("--sequential compares at least two files.")
    if options.title is not None and options.report is None:
        raise UsageError("--title goes with --report.")
    chosen = engine.made()
    from toplist.evaluation.compare import compare as ranked
    from toplist.io.plan import PER_CASE

    Thread(target=import_module, args=("scipy.special",), daemon=True).start()  # for intervals, while files are read
    reading: Any = {
        "space": inputs.space,
        "baseline": options.baseline,
        "penalty": options.penalty,
        "read": inputs.read,
    }
    with progress_bar(options.quiet, len(inputs.files)) as update:
        board = ranked(
            inputs.models,
            inputs.truth,
            rules=options.rule,
            k=options.k,
            missing=options.missing,
            inference=inference,
            engine=chosen,
            progress=update,
            **reading,
        )
        if options.sequential:
            board = replace(
                board, comparison=replace(board.comparison, paths=_paths(board, inputs, inference, reading))
            )
        checked = [gate.check(board) for gate in gates]
        per_case = board.comparison.classes == PER_CASE
        invocation = inputs.invocation(options.missing, inference, per_case=per_case)
        if options.report is not None:
            typed = shlex.join(["toplist", *shown_words(sys.argv[1:])])
            asked: Any = {"command": typed, "gates": checked, "invocation": invocation}
            board.report(options.report, title=options.title, progress=update, **asked)
    print_board(board, json=options.json, detail=options.detail, invocation=invocation)
    if options.report is None and not options.json:
        typer.echo("\n Add --report report.html for calibration, classes, cases and what they suggest to do next.")
    for path in options.output:
        board.write(path, gates=checked)
    print_gates(checked, ascii_only=not writes_unicode(sys.stderr))
    if any(gate.failed for gate in checked):
        raise typer.Exit(GATE)


def _paths(board: Leaderboard, inputs: Inputs, inference: Inference, reading: Any) -> Any:
    """How the models compare after every case, in the order that the board found."""
    from toplist.evaluation.monitor import monitor

    time, found = inputs.columns.get("time") or board.comparison.time, board.comparison.cluster
    truth = inputs.truth_with(time=time, cluster=inputs.columns.get("cluster") or (None if time else found))
    rule = board.comparison.rules[0]
    return monitor(inputs.models, truth, rule=rule, inference=inference.level, **reading).paths


def require_boards(output: Sequence[Path], report: Path | None, inputs: Sequence[str | Path]) -> None:
    """Before any work: what is to be written has a name that says how, a folder, and is nothing that is read."""
    for path in output:
        if path.suffix.lower() not in (".json", ".csv", ".md", ".tex", ".html", ".txt"):
            raise UsageError(f"--output is .json, .csv, .md, .tex, .html or .txt, not {path.name!r}.")
    if report is not None and report.suffix.lower() not in (".html", ".htm"):
        raise UsageError(f"--report is a page: name it {report.stem}.html.")
    require_outputs([*output, report], inputs)


def print_board(board: Leaderboard, *, json: bool, detail: bool = False, invocation: Invocation | None = None) -> None:
    """Print for people or for machines; to a terminal in its width, else plain and with all columns."""
    if json:
        typer.echo(board.to_json())
        return
    from toplist.evaluation.next_steps import quick
    from toplist.report.terminal import as_renderable, as_text

    how: Any = {
        "detail": detail,
        "actions": quick(board.comparison, invocation),
        "ascii": not writes_unicode(sys.stdout),
    }
    if not sys.stdout.isatty():
        typer.echo(as_text(board.comparison, **how))
        return
    from rich.console import Console

    Console(highlight=False).print(as_renderable(board.comparison, **how))


@dataclass(frozen=True, slots=True)
class Gate:
    """A condition on two models: `a` is worse, not better, possibly worse than `b`, or not equivalent to it.

    Worse and better mean significantly so, as everywhere on the board: by Holm's method over all tested pairs, or, by
    more than a margin, where the interval that holds for all tested pairs at once lies beyond it.
    """

    text: str
    a: str
    how: str
    b: str
    margin: float = 0.0

    def check(self, board: Leaderboard) -> GateResult:
        """Whether the condition holds, with the numbers that decide it.

        A pair without a test is neither worse nor better nor equivalent.
        """
        from toplist.inference.results import GateResult

        failed, why = self._holds(board), self._untested(board)
        words = _FAILED[self.how] if failed else _PASSED[self.how]
        by = f" by more than {self.margin:g}" if self.margin else ""
        within = f" within {self.margin:g}"
        said = words.format(a=self.a, b=self.b, by=by, within=within)
        if why is not None and not failed:
            said = f"whether {self.a} is {_ASKED[self.how]} {self.b}{within if 'equivalent' in self.how else by}"
        return GateResult(self.text, failed, f"{said}: {why or self._numbers(board)}", why is None)

    def _holds(self, board: Leaderboard) -> bool:
        if self.how == "not equivalent":
            return not self._equivalence(board).equivalent
        worse, better, low, high = self._standing(board)
        return {
            "worse": worse,
            "better": better,
            "not better": not better,
            "not worse": not worse,
            "may be worse": not better and (high is None or high > self.margin),
            "may be better": not worse and (low is None or low < -self.margin),
        }[self.how]

    def _standing(self, board: Leaderboard) -> tuple[bool, bool, float | None, float | None]:
        """Whether a is worse, whether it is better, and the ends of the interval of their difference."""
        from toplist.inference.intervals import SAME
        from toplist.inference.ranking import judge

        pair = self._pair(board)
        infinite = self._infinite(board)
        if any(infinite):
            return infinite[0] > infinite[1], infinite[0] < infinite[1], None, None
        if pair.difference.reason == SAME:
            return False, False, 0.0, 0.0
        low, high = pair.simultaneous.low, pair.simultaneous.high
        if pair.a != self.a and low is not None and high is not None:
            low, high = -high, -low
        verdict = judge(pair, board.comparison.level)
        worse, better = (
            verdict.significant and verdict.worse == self.a,
            verdict.significant and verdict.better == self.a,
        )
        if self.margin:
            worse, better = low is not None and low > self.margin, high is not None and high < -self.margin
        return worse, better, low, high

    def _untested(self, board: Leaderboard) -> str | None:
        """Why the two could not be tested; None where they were, or infinite scores or the same scores decide."""
        pair = self._pair(board)
        if pair.adjusted_p is not None or self._standing(board)[3] is not None or any(self._infinite(board)):
            return None
        return f"not tested ({pair.difference.reason or 'there is no p value'})"

    def _equivalence(self, board: Leaderboard) -> Equivalence:
        from toplist.evaluation.planning import equivalent

        return equivalent(board, self.a, self.b, self.margin)

    def _pair(self, board: Leaderboard) -> Pair:
        """The two under the rule that ranks."""
        rule = board.comparison.rules[0]
        return next(pair for pair in board.pairwise if pair.rule == rule and {pair.a, pair.b} == {self.a, self.b})

    def _infinite(self, board: Leaderboard) -> list[int]:
        """How many scores of each are infinite."""
        return [board[name].scores[board.comparison.rules[0]].infinite for name in (self.a, self.b)]

    def _numbers(self, board: Leaderboard) -> str:
        """The difference with the interval that decides."""
        from toplist._text import fixed
        from toplist.report.text import decimals, kind, small

        pair, level = self._pair(board), percent(board.comparison.level)
        infinite, n = self._infinite(board), f"n = {pair.cases:,}"
        if any(infinite):
            return f"{infinite[0]:,} infinite {kind(pair.rule)} scores against {infinite[1]:,}, {n}"
        digits = decimals([pair.simultaneous])
        value = pair.difference.value if pair.a == self.a else -pair.difference.value
        found = f"{kind(pair.rule)} {fixed(value, digits, signed=True)}"
        if self.how == "not equivalent":
            return f"{found} (p {small(self._equivalence(board).p)}, two one-sided tests), {n}"
        _, _, low, high = self._standing(board)
        if low is None or high is None:
            return f"{found} (no interval: {pair.difference.reason}), {n}"
        ends = " to ".join(fixed(end, digits, signed=True) for end in (low, high))
        tested = sum(one.rule == pair.rule and one.adjusted_p is not None for one in board.pairwise)
        among = f", simultaneous for {tested:,} pairs; adjusted p {small(pair.adjusted_p)}" if tested > 1 else ""
        return f"{found} ({level} CI {ends}{among}), {n}"


_ASKED = {
    "worse": "worse than",
    "better": "better than",
    "not better": "better than",
    "not worse": "worse than",
    "may be worse": "worse than",
    "may be better": "better than",
    "not equivalent": "equivalent to",
}
_FAILED = {
    "worse": "{a} is worse than {b}{by}",
    "better": "{a} is better than {b}{by}",
    "not better": "{a} is not significantly better than {b}{by}",
    "not worse": "{a} is not significantly worse than {b}{by}",
    "may be worse": "{a} may be worse than {b}{by}",
    "may be better": "{a} may be better than {b}{by}",
    "not equivalent": "{a} is not shown to be equivalent to {b}{within}",
}
_PASSED = {
    "worse": "{a} is not significantly worse than {b}{by}",
    "better": "{a} is not significantly better than {b}{by}",
    "not better": "{a} is better than {b}{by}",
    "not worse": "{a} is worse than {b}{by}",
    "may be worse": "{a} is not worse than {b}{by}",
    "may be better": "{a} is not better than {b}{by}",
    "not equivalent": "{a} is equivalent to {b}{within}",
}


def print_gates(gates: Sequence[GateResult], *, ascii_only: bool) -> None:
    """One line on stderr for every gate."""
    from toplist.report.terminal import to_ascii

    for gate in gates:
        word = "FAIL" if gate.failed else "PASS" if gate.tested else "NOT TESTED"
        line = f"{word} {visible(gate.sentence)}"
        typer.echo(to_ascii(line) if ascii_only else line, err=True)


def _gate(text: str, names: Sequence[str]) -> Gate:
    """`A worse than B`, `A not better than B by 0.01`: who, what, whom, by how much."""
    found, unknown = [], []
    for split in re.finditer(rf"\s+(?:({'|'.join(_HOWS)})\s+than|(not\s+equivalent)\s+to)\s+", text, re.IGNORECASE):
        a, b = text[: split.start()].strip(), text[split.end() :].strip()
        for name, margin in _margins(b):
            if a in names and name in names:
                found.append(Gate(text.strip(), a, " ".join((split[1] or split[2]).lower().split()), name, margin))
            else:
                unknown.append(next(one for one in (a, name) if one not in names))
    if len(found) == 1:
        if found[0].a == found[0].b:
            raise UsageError(f"--fail-if {text!r} compares a model with itself: name two models.")
        if found[0].how == "not equivalent" and not found[0].margin:
            raise UsageError(f'--fail-if {text!r} needs a margin, as in "A not equivalent to B by 0.01".')
        return found[0]
    if found:
        raise UsageError(
            f"--fail-if {text!r} can be read in {len(found)} ways, because of the names of the models: give one of "
            "them another name, as in new=FILE."
        )
    if unknown:
        raise UsageError(f"--fail-if {text!r}: {unknown[-1]!r} is not among {', '.join(map(repr, names))}.")
    raise UsageError(
        '--fail-if says "A worse than B", or "better", "not better", "not worse", "may be worse", "may be better", or '
        f'"A not equivalent to B", if need be with a margin, as in "A worse than B by 0.01", not {text!r}.'
    )


_HOWS = (r"not\s+better", r"not\s+worse", r"may\s+be\s+worse", r"may\s+be\s+better", "worse", "better")


def _margins(text: str) -> list[tuple[str, float]]:
    """A name, and a name with a margin behind it, if that is how it ends."""
    name, by, margin = text.rpartition(" by ")
    if not by:
        return [(text, 0.0)]
    try:
        value = float(margin)
    except ValueError:
        return [(text, 0.0)]
    if not (math.isfinite(value) and value >= 0):
        raise UsageError(f"--fail-if: a margin is a number, not below zero, not {margin.strip()!r}.")
    return [(text, 0.0), (name.strip(), value)]


@dataclass(frozen=True, kw_only=True)
class PlanOptions(Printing):
    """The options of `toplist plan`."""

    smallest: float = option(..., "Smallest difference of mean scores of interest, such as 0.01.")
    power: float = option(0.8, "Probability that a true difference of this size is significant.")
    models: int | None = option(None, "Number of models to compare; as many as in the pilot by default.")
    rule: str = option("brier", f"Scoring rule: {', '.join(ALL_RULES)}.", choices=ALL_RULES)
    penalty: float | None = option(None, _PENALTY)
    missing: str = missing_option()


@command(
    Reads(several=True, truth=True, columns=("outcome", "weight", "cluster", "time", "n_classes")),
    examples=(
        "toplist plan a.csv b.csv --truth y.csv --classes 10 --smallest 0.01",
        "toplist plan a.parquet b.parquet -t y.parquet -c 28 --time week --smallest 0.005 --power 0.9 --models 6",
    ),
)
def plan(
    inputs: Inputs, options: PlanOptions, inference: Annotated[Inference, "method", "level", "horizon", "seed"]
) -> None:
    """Plan a sample: how many cases find a smallest difference of interest, from the variance in a pilot."""
    from toplist.evaluation.compare import compare as ranked
    from toplist.evaluation.planning import plan as planned

    with progress_bar(options.quiet, len(inputs.files)) as update:
        pilot = ranked(
            inputs.models,
            inputs.truth,
            space=inputs.space,
            rules=options.rule,
            penalty=options.penalty,
            missing=options.missing,
            inference=inference,
            read=inputs.read,
            progress=update,
        )
    found = planned(pilot, options.smallest, power=options.power, models=options.models)
    if options.json:
        print_json(found.to_dict())
    else:
        typer.echo(found.to_text())


@dataclass(frozen=True, kw_only=True)
class ScoreOptions(ScoringOptions):
    """The options of `toplist score`."""

    output: Path | None = option(None, "File for the scores: .parquet, .csv or .jsonl.", "-o")
    keep: tuple[str, ...] = option((), "Column of the truth to copy to the scores; may be repeated.")
    missing: str = missing_option((*MISSING[:2], "uniform"))


@command(
    Reads(truth=True, columns=("outcome", "n_classes", "cluster", "time")),
    examples=(
        "toplist score preds.parquet --truth y.csv --classes 1000 -o scores.parquet",
        "toplist score answers.jsonl -t key.csv -c n_options --rule log --scale log -o scores.csv",
    ),
)
def score(inputs: Inputs, options: ScoreOptions) -> None:
    """Score every case of one file: print mean scores, write the scores of the cases to a file."""
    if options.keep and options.output is None:
        raise UsageError("--keep goes with --output: it keeps columns of the truth beside the scores.")
    require_named("keep", options.keep)
    require_outputs([options.output], inputs.paths)
    from toplist.evaluation.compare import spelled_in_files
    from toplist.evaluation.stream import MatrixCollector, ScoringSpec, SumCollector, TeeCollector, run
    from toplist.evaluation.transform import score_file
    from toplist.inference.aggregates import overall
    from toplist.inference.diagnostics import warnings
    from toplist.inference.intervals import Intervals
    from toplist.inference.settings import Inference
    from toplist.io.encoding import empty_set_explained
    from toplist.io.options import ReadRequest
    from toplist.io.plan import plan_of
    from toplist.scoring.rules import as_rule

    rules = tuple(dict.fromkeys(options.rule))
    scoring = ScoringSpec(tuple(map(as_rule, rules)), (), options.penalty)
    request = ReadRequest.of(inputs.models, inputs.truth, inputs.read)
    plan = plan_of(request, inputs.space, missing=options.missing, find=("cluster", "time"), keep=options.keep)
    settings = Inference().settings(plan.cluster, plan.time)

    def collector() -> SumCollector | TeeCollector[SumCollector, MatrixCollector]:
        return SumCollector(plan) if settings.by_sums else TeeCollector(SumCollector(plan), MatrixCollector(plan))

    with progress_bar(options.quiet) as update, empty_set_explained(plan.set_separator):
        if options.output is None:
            found, read = run(plan, scoring, collector, update)
        else:
            with score_file(options.output, rules, plan.keep) as make:
                both, read = run(plan, scoring, lambda: TeeCollector(make(), collector()), update)
            found = both.other
    sums, matrix = (found, None) if isinstance(found, SumCollector) else (found.one, found.other.panel())
    everything = overall(sums.tallies)
    intervals = Intervals(everything, settings.level, settings.method, matrix)
    board = _board_of_one(plan, scoring, intervals, settings, rules, read)
    size, spelled = None if plan.space is None else plan.space.size, partial(spelled_in_files, plan)
    for one in warnings(board, everything, (inputs.name,), size, spelled):
        typer.echo(f"toplist: warning: {visible(one.sentence)}", err=True)
    _print_means(board, everything.sums, read, options)


def _board_of_one(
    plan: Plan,
    scoring: ScoringSpec,
    intervals: Intervals,
    settings: InferenceSettings,
    rules: Sequence[str],
    read: ReadSummary,
) -> Comparison:
    """The scores of one model with their intervals, as a leaderboard has them."""
    from toplist.inference.ranking import ComparisonSpec, ranked
    from toplist.inference.results import Comparison

    (source,) = plan.sources
    terms = ComparisonSpec((source.name,), tuple(rules), (), None, pairwise=False)
    return Comparison(
        rules=terms.rules,
        k=(),
        classes="",
        cases=read.cases,
        compared=read.compared,
        missing=plan.missing,
        weighted=False,
        baseline=None,
        penalty=scoring.penalty,
        level=settings.level,
        method="",
        group=None,
        cluster=settings.cluster,
        time=settings.time,
        sources=read.origins,
        overall=ranked([(None, intervals.tally, intervals)], terms)[0],
    )


def _print_means(board: Comparison, sums: Any, read: ReadSummary, options: ScoreOptions) -> None:
    """Print the mean score under each rule, and what was repaired or left out."""
    from toplist.core.kernel import to_float
    from toplist.report.markup import means_of_one
    from toplist.report.text import wrap

    rules = board.rules
    infinite = {rule: int(sums["infinite"][r, 0, 0]) for r, rule in enumerate(rules)}
    means = {
        rule: None if infinite[rule] else to_float(sums["x"][r, 0, 0]) / to_float(sums["w"][r, 0, 0])
        for r, rule in enumerate(rules)
    }
    origin, invalid = read.origins[0], int(sums["invalid_cases"][0])
    if options.json:
        print_json(
            {
                "schema": "toplist.score/1",
                "cases": read.compared,
                "mean": means,
                "infinite": infinite,
                "invalid": invalid,
                "repairs": dict(origin.repairs),
                "filled": origin.filled,
                "left_out": origin.left_out,
                "reading": origin.reading,
                "notes": list(origin.notes),
                "truth_reading": read.truth,
                "truth_repairs": dict(read.truth_repairs),
                "output": None if options.output is None else str(options.output),
            }
        )
        return
    means_told = means_of_one(board)
    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else None
    print_text(means_told if width is None else "\n".join(wrap(means_told, width)))
    if options.output is not None:
        typer.echo(f"Scores of {number_of(read.compared, 'case')} in {visible(str(options.output))}")
    if invalid:
        typer.echo(
            f"{number_of(invalid, 'list')} with a confidence below what each unlisted class gets: each pays a penalty"
        )
    print_changes({origin.name: origin.repairs, "the truth": read.truth_repairs}, {origin.name: origin.left_out})
    if origin.filled:
        typer.echo(f"missing predictions taken as empty lists: {number_of(origin.filled, 'case')}")
