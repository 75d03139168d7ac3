"""`toplist score`."""

from __future__ import annotations

import json as jsonlib
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import typer

from toplist.cli import asking, progress
from toplist.cli.failures import UsageError, require_named
from toplist.cli.placing import require_outputs
from toplist.cli.rewriting import say_changed
from toplist.comparison import spelled_in_files
from toplist.conversion import score_file
from toplist.evaluation import Scoring
from toplist.io.coding import empty_set_explained
from toplist.planning import plan_of
from toplist.ranking.intervals import FromSums
from toplist.ranking.plausibility import warnings
from toplist.ranking.results import BoardWarning, Results
from toplist.ranking.standings import Terms, section
from toplist.rules import as_rule
from toplist.sinks import Adding, Both
from toplist.streaming import Plan, Read, run
from toplist.tally import Tally, overall, to_float
from toplist.words.counts import number_of
from toplist.words.names import visible


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
    predictions = asking.named_files([file])
    (name,) = predictions
    if keep and output is None:
        raise UsageError("--keep goes with --output: it keeps columns of the truth beside the scores.")
    require_outputs([output], [*predictions.values(), truth], classes)
    if missing not in ("error", "common", "reject"):
        raise UsageError(f"--missing is error, common or reject for one file, not {missing!r}.")
    space, sizes = asking.space_of(classes, truth)
    chosen = asking.rules_of(rule)
    repairs = asking.repairs_of(name, units, normalize, duplicates, blanks)
    plan = plan_of(
        predictions,
        truth,
        space,
        Scoring(tuple(as_rule(rule) for rule in chosen), (), penalty),
        {name: repairs},
        asking.options_of(
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
    with progress.shown(quiet) as update, empty_set_explained(sets):
        if output is None:
            sink, read = run(plan, lambda: Adding(plan), update)
            tallies = sink.tallies
        else:
            with score_file(output, chosen, plan.keep) as make:
                both, read = run(plan, lambda: Both(make(), Adding(plan)), update)
            tallies = both.other.tallies
    everything = overall(tallies)
    for one in _warnings(plan, everything, chosen, read):
        typer.echo(f"toplist: warning: {visible(one.sentence)}", err=True)
    _say(everything.sums, chosen, read, output, json)


def _warnings(plan: Plan, tally: Tally, rules: Sequence[str], read: Read) -> Sequence[BoardWarning]:
    """Why the scores may not be right."""
    (source,) = plan.sources
    terms = Terms((source.name,), tuple(rules), (), None, pairwise=False)
    board = Results(
        rules=terms.rules,
        classes="",
        cases=read.cases,
        compared=read.compared,
        missing=plan.missing,
        weighted=False,
        reference=None,
        penalty=plan.scoring.penalty,
        level=0.95,
        method="",
        by=None,
        clusters=None,
        order=None,
        origins=read.origins,
        overall=section(None, tally, terms, FromSums(tally, 0.95)),
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
