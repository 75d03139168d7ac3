"""`toplist compare`.

`toplist score`.
"""

from __future__ import annotations

import json as jsonlib
import math
import re
import shlex
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import partial
from importlib import import_module
from pathlib import Path
from threading import Thread
from typing import Any

import typer

from toplist.cli.errors import GATE, UsageError, require_named
from toplist.cli.options import flagged, named_files, options_of, per_model, repairs_of, rules_of, space_of
from toplist.cli.output import keep_freed_memory, require_outputs, say_changed, shown
from toplist.core.exact_sums import to_float
from toplist.evaluation.compare import compare as compare_predictions
from toplist.evaluation.compare import spelled_in_files
from toplist.evaluation.leaderboard import Leaderboard
from toplist.evaluation.monitor import monitor
from toplist.evaluation.stream import ReadSummary, ScoringSpec, SumCollector, TeeCollector, run
from toplist.evaluation.transform import score_file
from toplist.inference.aggregates import Aggregates, overall
from toplist.inference.intervals import Intervals
from toplist.inference.plausibility import warnings
from toplist.inference.ranking import ComparisonSpec, section
from toplist.inference.results import BoardWarning, Comparison
from toplist.io.encoding import empty_set_explained
from toplist.io.plan import Plan, plan_of
from toplist.report.numbers import decimals, fixed
from toplist.report.text import number_of, percent, visible
from toplist.scoring.rules import as_rule


def compare(
    files: Sequence[str],
    truth: str,
    *,
    classes: str | None,
    rule: Sequence[str] | None,
    top: Sequence[int] | None,
    layout: Sequence[str] | None,
    case: Sequence[str] | None,
    class_: Sequence[str] | None,
    confidence: Sequence[str] | None,
    ignore: Sequence[str] | None,
    by_position: bool,
    outcome: str | None,
    sets: str | None,
    units: Sequence[str] | None,
    normalize: bool,
    normalize_only: Sequence[str] | None,
    duplicates: Sequence[str] | None,
    blanks: Sequence[str] | None,
    fail_if: Sequence[str] | None,
    confidence_set: bool,
    sequential: bool,
    baseline: str | None,
    output: Sequence[Path] | None,
    report: Path | None,
    title: str | None,
    detail: bool,
    json: bool,
    quiet: bool,
    **columns: Any,
) -> None:
    """Compare, print, write, and exit with 3 if a gate is hit."""
    keep_freed_memory()
    Thread(
        target=import_module, args=("scipy.special",), daemon=True
    ).start()  # for the intervals, while files are read
    require_named(columns)
    predictions = named_files(files)
    names = list(predictions)
    require_boards(output, report, [*predictions.values(), truth], classes)
    space, sizes = space_of(classes, truth)
    rules = rules_of(rule)
    gates = [_gate(text, names) for text in fail_if or ()]
    if baseline is not None and not sequential:
        raise UsageError("--baseline goes with --sequential.")
    if sequential and len(names) < 2:
        raise UsageError("--sequential compares at least two files.")
    if title is not None and report is None:
        raise UsageError("--title goes with --report.")
    options = options_of(
        names, layout=layout, case=case, class_=class_, confidence=confidence, ignore=ignore, by_position=by_position,
        sets=sets, outcome=outcome,
    )  # fmt: skip
    reading = {
        "space": space,
        "sizes": sizes,
        "units": per_model(units, names, "units"),
        "normalize": flagged(normalize, normalize_only, names, "normalize-only"),
        "duplicates": per_model(duplicates, names, "duplicates"),
        "blanks": per_model(blanks, names, "blanks"),
        **asdict(options),
    }
    others = {_RENAMED.get(flag, flag): value for flag, value in columns.items()}
    with shown(quiet) as update:
        board = compare_predictions(
            predictions, truth, rules=rules, top=list(top) if top else 5, progress=update, **reading, **others
        )
        if confidence_set:
            board.material(update)
            board = board.showing(confidence_set=board.confidence_set())
        if sequential:
            found = monitor(
                predictions,
                truth,
                rule=board.terms.rules[0],
                baseline=baseline,
                level=others["level"],
                penalty=others["penalty"],
                order=others["order"] or board.results.order,
                **reading,
            )
            board = board.showing(paths=found.paths)
        if report is not None:
            board.report(report, title=title, command=_typed(), progress=update)
    show(board, json=json, detail=detail)
    for path in output or ():
        board.write(path)
    hit = [gate.told(board) for gate in gates if gate.holds(board)]
    for told in hit:
        typer.echo(f"toplist: {visible(told)}.", err=True)
    if hit:
        raise typer.Exit(GATE)


_RENAMED = {"weight": "sample_weight", "cluster": "clusters"}


def require_boards(
    output: Sequence[Path] | None, report: Path | None, inputs: Sequence[str | Path], classes: str | None = None
) -> None:
    """Before any work: what is to be written has a name that says how, a folder, and is nothing that is read."""
    for path in output or ():
        if path.suffix.lower() not in (".json", ".csv", ".md", ".tex", ".html", ".txt"):
            raise UsageError(f"--output is .json, .csv, .md, .tex, .html or .txt, not {path.name!r}.")
    if report is not None and report.suffix.lower() not in (".html", ".htm"):
        raise UsageError(f"--report is a page: name it {report.stem}.html.")
    require_outputs([*(output or ()), report], inputs, classes)


def _typed() -> str:
    """The command as it was typed."""
    return shlex.join(["toplist", *sys.argv[1:]])


def show(board: Leaderboard, *, json: bool, detail: bool) -> None:
    """Print for people or for machines."""
    if json:
        typer.echo(board.to_json())
        return
    from rich.console import Console

    from toplist.report.terminal import as_renderable

    wide = None if sys.stdout.isatty() else 400
    Console(width=wide, highlight=False).print(as_renderable(board.results, detail=detail))


@dataclass(frozen=True, slots=True)
class Gate:
    """What must not hold: `a` is worse, or not better, or may be worse than `b`, by more than a margin."""

    text: str
    a: str
    how: str
    b: str
    margin: float = 0.0

    def holds(self, board: Leaderboard) -> bool:
        """Worse and better mean that the interval of the difference leaves no doubt; one without width never does."""
        found = board.difference(self.a, self.b)
        infinite = [next(iter(board[name].scores.values())).infinite for name in (self.a, self.b)]
        if found.low is not None and found.high is not None:
            width = found.high > found.low
            worse, better = width and found.low > self.margin, width and found.high < -self.margin
            maybe = found.high > self.margin, found.low < -self.margin
        else:
            worse, better = infinite[0] > infinite[1], infinite[0] < infinite[1]
            maybe = not better and self.a != self.b, not worse and self.a != self.b
        return {
            "worse": worse,
            "better": better,
            "not better": not better,
            "not worse": not worse,
            "may be worse": maybe[0],
            "may be better": maybe[1],
        }[self.how]

    def told(self, board: Leaderboard) -> str:
        """The gate, with the numbers that decide it."""
        found, level = board.difference(self.a, self.b), percent(board.results.level)
        infinite = [next(iter(board[name].scores.values())).infinite for name in (self.a, self.b)]
        if any(infinite):
            return f"{self.text}: {infinite[0]:,} infinite {board.terms.rules[0]} scores against {infinite[1]:,}"
        digits = decimals([found])
        value = f"difference {fixed(found.value, digits, signed=True)}"
        if found.low is None or found.high is None:
            return f"{self.text}: {value}, no interval"
        low, high = (fixed(end, digits, signed=True) for end in (found.low, found.high))
        return f"{self.text}: {value}, {level} interval {low} to {high}"


def _gate(text: str, names: Sequence[str]) -> Gate:
    """`A worse than B`, `A not better than B by 0.01`: who, what, whom, by how much."""
    found, unknown = [], []
    for split in re.finditer(rf"\s+({'|'.join(_HOWS)})\s+than\s+", text, flags=re.IGNORECASE):
        a, b = text[: split.start()].strip(), text[split.end() :].strip()
        for name, margin in _margins(b):
            if a in names and name in names:
                found.append(Gate(text.strip(), a, " ".join(split[1].lower().split()), name, margin))
            else:
                unknown.append(next(one for one in (a, name) if one not in names))
    if len(found) == 1:
        return found[0]
    if found:
        raise UsageError(
            f"--fail-if {text!r} can be read in {len(found)} ways, because of the names of the models: give one of "
            "them another name, as in new=FILE."
        )
    if unknown:
        raise UsageError(f"--fail-if {text!r}: {unknown[-1]!r} is not among {', '.join(map(repr, names))}.")
    raise UsageError(
        '--fail-if says "A worse than B", or "better", "not better", "not worse", "may be worse", "may be better", if '
        f'need be with a margin, as in "A worse than B by 0.01", not {text!r}.'
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


def score(
    file: str,
    truth: str,
    *,
    classes: str | None,
    rule: Sequence[str] | None,
    output: Path | None,
    keep: Sequence[str] | None,
    missing: str,
    penalty: float | None,
    layout: Sequence[str] | None,
    case: Sequence[str] | None,
    class_: Sequence[str] | None,
    confidence: Sequence[str] | None,
    ignore: Sequence[str] | None,
    by_position: bool,
    outcome: str | None,
    sets: str | None,
    units: Sequence[str] | None,
    normalize: bool,
    duplicates: Sequence[str] | None,
    blanks: Sequence[str] | None,
    json: bool,
    quiet: bool,
) -> None:
    """Score every case of one file."""
    require_named({"case": case, "class_": class_, "confidence": confidence, "outcome": outcome, "keep": keep})
    predictions = named_files([file])
    (name,) = predictions
    if keep and output is None:
        raise UsageError("--keep goes with --output: it keeps columns of the truth beside the scores.")
    require_outputs([output], [*predictions.values(), truth], classes)
    if missing not in ("error", "common", "reject"):
        raise UsageError(f"--missing is error, common or reject for one file, not {missing!r}.")
    space, sizes = space_of(classes, truth)
    chosen = rules_of(rule)
    repairs = repairs_of(name, units, normalize, duplicates, blanks)
    scoring = ScoringSpec(tuple(as_rule(rule) for rule in chosen), (), penalty)
    plan = plan_of(
        predictions,
        truth,
        space,
        {name: repairs},
        options_of(
            [name],
            layout=layout,
            case=case,
            class_=class_,
            confidence=confidence,
            ignore=ignore,
            by_position=by_position,
            sets=sets,
            outcome=outcome,
        ),
        missing=missing,
        sizes=sizes,
        keep=tuple(keep or ()),
    )
    with shown(quiet) as update, empty_set_explained(sets):
        if output is None:
            sink, read = run(plan, scoring, lambda: SumCollector(plan), update)
            tallies = sink.tallies
        else:
            with score_file(output, chosen, plan.keep) as make:
                both, read = run(plan, scoring, lambda: TeeCollector(make(), SumCollector(plan)), update)
            tallies = both.other.tallies
    everything = overall(tallies)
    for one in _warnings(plan, scoring, everything, chosen, read):
        typer.echo(f"toplist: warning: {visible(one.sentence)}", err=True)
    _say(everything.sums, chosen, read, output, json)


def _warnings(
    plan: Plan, scoring: ScoringSpec, tally: Aggregates, rules: Sequence[str], read: ReadSummary
) -> Sequence[BoardWarning]:
    """Why the scores may not be right."""
    (source,) = plan.sources
    terms = ComparisonSpec((source.name,), tuple(rules), (), None, pairwise=False)
    board = Comparison(
        rules=terms.rules,
        k=(),
        classes="",
        cases=read.cases,
        compared=read.compared,
        missing=plan.missing,
        weighted=False,
        baseline=None,
        penalty=scoring.penalty,
        level=0.95,
        method="",
        by=None,
        clusters=None,
        order=None,
        origins=read.origins,
        overall=section(None, tally, terms, Intervals(tally, 0.95)),
    )
    size = None if plan.space is None else plan.space.size
    return warnings(board, tally, terms.names, size, partial(spelled_in_files, plan))


def _say(sums: Any, rules: Sequence[str], read: Any, output: Path | None, json: bool) -> None:
    means = {}
    for r, rule in enumerate(rules):
        infinite = sums["infinite"][r, 0, 0]
        means[rule] = None if infinite else to_float(sums["x"][r, 0, 0]) / to_float(sums["w"][r, 0, 0])
    infinite_counts = {rule: int(sums["infinite"][r, 0, 0]) for r, rule in enumerate(rules)}
    origin, invalid = read.origins[0], int(sums["invalid_cases"][0])
    if json:
        made = {
            "schema": "toplist.score/1",
            "cases": read.compared,
            "mean": means,
            "infinite": infinite_counts,
            "invalid": invalid,
            "repairs": dict(origin.repairs),
            "filled": origin.filled,
            "left_out": origin.left_out,
            "reading": origin.reading,
            "truth_reading": read.truth,
            "truth_repairs": dict(read.truth_repairs),
            "output": None if output is None else str(output),
        }
        typer.echo(jsonlib.dumps(made, ensure_ascii=False))
        return
    shown = ", ".join(
        f"{rule} {mean:.6g}" if mean is not None else f"{rule} inf ({infinite_counts[rule]:,} infinite)"
        for rule, mean in means.items()
    )
    where = "" if output is None else f"; scores in {visible(str(output))}"
    typer.echo(f"{number_of(read.compared, 'case')}, mean {shown}{where}")
    if invalid:
        typer.echo(
            f"{number_of(invalid, 'list')} with a confidence below what each unlisted class gets: each pays a penalty"
        )
    say_changed({origin.name: origin.repairs, "the truth": read.truth_repairs}, {origin.name: origin.left_out})
    if origin.filled:
        typer.echo(f"missing predictions taken as empty lists: {number_of(origin.filled, 'case')}")
