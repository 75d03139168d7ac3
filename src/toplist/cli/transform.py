"""Commands that write lists or learn how to change them: `recalibrate fit`, `recalibrate apply`, `pool`, `truncate`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from toplist._files import read_json, to_json_number, write_json
from toplist._text import did_you_mean, listed, visible
from toplist.cli.choices import PADDED_RULES, RECALIBRATORS
from toplist.cli.options import Inputs, Printing, Reads, command, missing_option, option, positional
from toplist.cli.output import (
    UsageError,
    print_changes,
    print_json,
    print_text,
    print_written,
    require_outputs,
    require_suffix,
)
from toplist.errors import FileError, TopListError
from toplist.inference.settings import Inference
from toplist.io import MISSING
from toplist.report.text import rule_name

if TYPE_CHECKING:
    from toplist.postprocess.combination import Ambiguity, PoolWeights
    from toplist.postprocess.recalibration import Recalibrator
    from toplist.postprocess.recalibration.automatic import Selection
    from toplist.postprocess.truncation import Truncation


@dataclass(frozen=True, kw_only=True)
class FittingOptions(Printing):
    """What the commands share that read predictions and outcomes side by side."""

    missing: str = missing_option(MISSING[:2])


@dataclass(frozen=True, kw_only=True)
class ListsOutput(Printing):
    """Where lists go."""

    output: Path = option(..., "File for the lists: .parquet, .csv or .jsonl.", "-o")


def _require_truth(inputs: Inputs, **words: object) -> None:
    """What is about fitting is not ignored where nothing is fitted."""
    vain = [f"--{name}" for name, value in words.items() if value is not None]
    if inputs.truth_file is None and vain:
        raise UsageError(f"{' and '.join(vain)}: this is about fitting, which needs outcomes. Give --truth too.")


@dataclass(frozen=True, kw_only=True)
class FitOptions(FittingOptions):
    """The options of `toplist recalibrate fit`."""

    output: Path = option(..., "File for the recalibrator: .json.", "-o")
    kind: str = option(
        "auto",
        f"Recalibrator: {', '.join(RECALIBRATORS)}; auto selects one by cross-validation.",
        choices=("auto", *RECALIBRATORS),
    )
    rule: str = option("brier", f"Scoring rule: {', '.join(PADDED_RULES)}.", choices=PADDED_RULES)
    folds: int = option(5, "Folds of the cross-validation.")


@command(
    Reads(truth=True, columns=("outcome", "weight", "cluster")),
    examples=(
        "toplist recalibrate fit valid.parquet --truth y.csv --classes 1000 -o model.json",
        "toplist recalibrate fit valid.parquet -t y.csv -c 1000 --kind temperature -o model.json",
    ),
)
def fit(inputs: Inputs, options: FitOptions, inference: Annotated[Inference, "seed"]) -> None:
    """Fit a recalibrator on labelled predictions, with its gain by cross-validation."""
    require_suffix("--output", [options.output], (".json",))
    require_outputs([options.output], inputs.paths)
    from toplist.evaluation.transform import fit_recalibrator
    from toplist.lists.space import show_size

    asked = {name: getattr(options, name) for name in ("kind", "rule", "folds", "missing")}
    with inputs.reading(options.quiet) as reading:
        fitted = fit_recalibrator(
            inputs.models[inputs.name], inputs.truth, name=inputs.name, seed=inference.seed, **asked, **reading
        )
    model, choice, files = fitted.model, fitted.choice, fitted.files
    to = {"cases": fitted.cases, "classes": show_size(files.space.size)}
    write_json(options.output, model.to_dict() | {"fitted_to": to})
    if options.json:
        left = {name: cases for name, cases in files.cases.left_out.items() if cases}
        changed = {"repairs": files.repairs_made, "left_out": left, "output": str(options.output)}
        print_json({"schema": "toplist.recalibrate/1", **_table(choice, model, options.kind), **to, **changed})
        return
    print_changes(files.repairs_made, files.cases.left_out)
    print_text(_describe(choice, model, options.kind))
    weighted = "" if files.weight is None else f", weighted by {visible(files.weight)}"
    clustered = "" if files.cluster is None else f", clusters by {visible(files.cluster)}"
    place = visible(str(options.output))
    typer.echo(f"{model!r}, fitted to {fitted.cases:,} cases{weighted}{clustered}, in {place}")


def _line(choice: Selection, kind: str) -> int:
    """The line of the table that is about the model which was kept."""
    return choice.chosen if kind == "auto" else len(choice.table) - 1


def _table(choice: Selection, model: Recalibrator, kind: str) -> dict[str, Any]:
    return {
        "rule": choice.rule,
        "folds": choice.folds,
        "seed": choice.seed,
        "kept": _line(choice, kind),
        "model": model.to_dict(),
        "table": [asdict(one) for one in choice.table],
    }


def _describe(choice: Selection, model: Recalibrator, kind: str) -> str:
    """The table, with a mark on the line that is kept."""
    lines = str(replace(choice, best=model, chosen=_line(choice, kind))).split("\n")[1:]
    lines = lines if kind == "auto" else lines[:-1]  # where it was not selected, there is no rule to explain
    name = rule_name(choice.rule)
    return "\n".join([f"{name} scores of cases that a fit has not seen ({choice.folds} folds)", *lines])


@dataclass(frozen=True, kw_only=True)
class ApplyOptions(ListsOutput):
    """The options of `toplist recalibrate apply`."""

    model: Path = positional("MODEL", "What `toplist recalibrate fit` wrote.")


@command(Reads(), examples=("toplist recalibrate apply preds.parquet model.json --classes 1000 -o better.parquet",))
def apply(inputs: Inputs, options: ApplyOptions) -> None:
    """Recalibrate predictions with a fitted recalibrator."""
    require_outputs([options.output], [*inputs.paths, options.model])
    from toplist.io import ReadRequest, open_aligned, transform
    from toplist.lists.space import show_size

    model, among = _loaded(options.model)
    with inputs.reading(options.quiet) as reading:
        files = open_aligned(ReadRequest.of(inputs.models, None, inputs.read), inputs.space)
        written = transform(
            files, options.output, lambda lists: model.transform(lists[0]), reading["progress"], "recalibrating"
        )
    now = show_size(files.space.size)
    if not options.json and among not in (None, now):
        typer.echo(f"fitted among {visible(among)} classes, used among {now}: what was learned there may not hold here")
    print_written(written, options.json, "toplist.recalibrated/1", model=repr(model), fitted_among=among)


def _loaded(path: Path) -> tuple[Any, str | None]:
    """A saved recalibrator, and among how many classes it was fitted, where the file says so."""
    from toplist.postprocess.recalibration import Recalibrator

    try:
        model = Recalibrator.load(path)
    except FileError as error:
        order = "Predictions come first, then what `toplist recalibrate fit` wrote."
        raise FileError(str(path), f"{error.problem} {order}") from None
    except TopListError as error:
        raise FileError(str(path), str(error)) from None
    fitted_to = read_json(path, "a recalibrator").get("fitted_to")
    among = fitted_to.get("classes") if isinstance(fitted_to, dict) else None
    return model, among if isinstance(among, str) else None


@dataclass(frozen=True, kw_only=True)
class PoolOptions(FittingOptions, ListsOutput):
    """The options of `toplist pool`."""

    weights: tuple[str, ...] = option((), "Weight of a file, one for each; equal by default.")
    rule: str | None = option(
        None,
        "With --truth, score that weights are fitted by: brier or log; brier by default, log with --geometric. Neither "
        "depends on an order of the classes.",
        choices=("brier", "log"),
    )
    geometric: bool = option(False, "Geometric instead of linear pool.")
    k: int | None = option(None, "Keep the k most confident classes.")
    save_weights: Path | None = option(None, "With --truth, write the fitted weights as JSON.")
    weights_from: Path | None = option(None, "Use weights that --save-weights wrote.")


@command(
    Reads(several=True, truth=False, why="File with outcomes, to fit the weights to."),
    examples=(
        "toplist pool a.parquet b.jsonl --classes 1000 -o pool.parquet",
        "toplist pool a.parquet b.jsonl -c 1000 --truth y.csv --save-weights weights.json -o pool.parquet",
    ),
)
def pool(inputs: Inputs, options: PoolOptions) -> None:
    """Average the predictions of several files, case by case."""
    given = {"--weights": options.weights or None, "--truth": inputs.truth_file, "--weights-from": options.weights_from}
    if sum(value is not None for value in given.values()) > 1:
        raise UsageError(f"weights come from one of {', '.join(given)}.")
    _require_truth(inputs, rule=options.rule, **{"save-weights": options.save_weights})
    require_suffix("--save-weights", [options.save_weights], (".json",))
    require_outputs([options.output, options.save_weights], [*inputs.paths, options.weights_from])
    from toplist.evaluation.transform import fit_weights, pool_files
    from toplist.io import FirstLook
    from toplist.postprocess.combination.weights import Stack

    names, kind = list(inputs.files), "geometric" if options.geometric else "linear"
    (path, *others) = inputs.files.values()
    if not others and len(FirstLook(path).files) > 1:
        raise UsageError(
            f"{visible(path)}: the files of a folder or a pattern are one prediction, not several to pool. "
            "Name each file; a pattern without quotes does that."
        )
    fitted, gain = None, None
    with inputs.reading(options.quiet) as reading:
        how: Any = {"pool": kind, "missing": options.missing, **reading}
        if inputs.truth_file is not None:
            fitted, gain = fit_weights(inputs.models, inputs.truth, rule=options.rule, **how)
            weights = dict(zip(names, map(float, fitted.weights), strict=True))
        elif options.weights_from is not None:
            weights = _saved(options.weights_from, names, kind)
        else:
            weights = _typed(options.weights, names)
        shares = list(weights.values())
        written = pool_files(inputs.models, options.output, weights=shares, k=options.k, truth=inputs.carried, **how)
    more = {}
    if fitted is not None:
        more = {"fitted": fitted.to_dict() | {"gain": None if gain is None else gain.gain}}
        if options.save_weights is not None:
            Stack(fitted, None, None).save(options.save_weights)
    if not options.json:
        typer.echo(f"{kind} pool: {', '.join(f'{visible(name)} {share:.6g}' for name, share in weights.items())}")
        for line in () if fitted is None else _gains(fitted, gain):
            typer.echo(line)
    print_written(written, options.json, "toplist.pooled/1", pool=kind, weights=weights, **more)


def _gains(fitted: PoolWeights, gain: Ambiguity | None) -> list[str]:
    """What the weights were fitted by, and what disagreement gains."""
    scores = zip(fitted.names, fitted.members, strict=True)
    alone = ", ".join(f"{visible(name)} {score:.6g}" for name, score in scores)
    by = f"weights fitted to {fitted.cases:,} cases by the {fitted.rule} score"
    lines = [f"{by}, which is {fitted.score:.6g} on them; alone: {alone}"]
    if fitted.impossible:
        lines.append(
            f"in {fitted.impossible:,} cases every file gives probability 0 to the true class; these have no weight"
        )
    if gain is not None:
        lines.append(
            f"by the brier score: {gain.mean:.6g} on average, less {gain.gain:.6g} for disagreement, "
            f"is {gain.pool:.6g} for the pool"
        )
    return lines


def _typed(words: Sequence[str], names: Sequence[str]) -> dict[str, float]:
    """`name=weight` for every file; equal ones by default."""
    from toplist.postprocess.combination.pools import as_weights

    shares: dict[str, float] = {}
    for word in words:
        name, _, value = word.rpartition("=")
        if name not in names:
            every, near = ", ".join(map(repr, names)), did_you_mean(name or word, names)
            raise UsageError(f"--weights {word}: say name=weight, once for each of {every}.{near}")
        if name in shares:
            raise UsageError(f"--weights gives {name!r} two weights.")
        try:
            shares[name] = float(value)
        except ValueError:
            raise UsageError(f"--weights {word}: {value!r} is no number.") from None
    if shares and (lacks := [name for name in names if name not in shares]):
        raise UsageError(f"--weights gives none to {', '.join(map(repr, lacks))}: say {lacks[0]}=0 to leave it out.")
    try:
        return dict(zip(names, as_weights(shares or None, names).tolist(), strict=True))
    except TopListError as error:
        raise UsageError(f"--weights: {error}") from None


def _saved(path: Path, names: Sequence[str], kind: str) -> dict[str, float]:
    """Weights that were saved, for files of the same names and a pool of the same kind."""
    from toplist.postprocess.combination.weights import Stack

    try:
        saved = Stack.load(path)
    except FileError:
        raise
    except TopListError as error:
        raise FileError(str(path), str(error)) from None
    fitted = saved.weights
    if saved.recalibrators is not None:
        raise FileError(str(path), "this pool recalibrates its members first: use it in Python.")
    if fitted.pool != kind:
        raise FileError(str(path), f"these weights are of a {fitted.pool} pool: pool in the same way.")
    if set(fitted.names) != set(names):
        problem = f"the weights are of {listed(fitted.names)}: name the files so, as in {fitted.names[0][:60]}=FILE."
        raise FileError(str(path), problem)
    shares = dict(zip(fitted.names, fitted.weights.tolist(), strict=True))
    return {name: shares[name] for name in names}


@dataclass(frozen=True, kw_only=True)
class TruncateOptions(FittingOptions, ListsOutput):
    """The options of `toplist truncate`."""

    k: int | None = option(None, "Keep the k most confident classes.")
    mass: float | None = option(None, "Keep the most confident classes up to this listed probability.")
    gain: float | None = option(None, "Keep classes as long as one more lowers the expected Brier score by this much.")
    choose: str | None = option(
        None, "With --truth, choose a length or a listed probability; a length by default.", choices=("k", "mass")
    )
    rule: str | None = option(
        None,
        f"With --truth, the scoring rule: {', '.join(PADDED_RULES)}; brier by default.",
        choices=PADDED_RULES,
    )


@command(
    Reads(truth=False, why="File with outcomes, to choose how much to keep.", ordinal=True),
    examples=(
        "toplist truncate preds.parquet -k 5 --classes 1000 -o short.parquet",
        "toplist truncate preds.parquet -c 1000 --truth y.csv --choose mass -o short.parquet",
    ),
)
def truncate(inputs: Inputs, options: TruncateOptions) -> None:
    """Write shorter lists; what is cut off becomes unlisted probability."""
    cuts: dict[str, Any] = {"k": options.k, "mass": options.mass, "gain": options.gain}
    given = {"-k": options.k, "--mass": options.mass, "--gain": options.gain, "--truth": inputs.truth_file}
    if sum(value is not None for value in given.values()) != 1:
        raise UsageError(f"say how to cut with one of {', '.join(given)}, and with no other of them.")
    _require_truth(
        inputs, choose=options.choose, rule=options.rule, ordinal=getattr(inputs.space, "ordinal", False) or None
    )
    require_outputs([options.output], inputs.paths)
    from toplist.evaluation.transform import fit_truncation, truncate_file

    model, values = inputs.models[inputs.name], cuts
    with inputs.reading(options.quiet) as reading:
        if inputs.truth_file is not None:
            how: Any = {"rule": options.rule or "brier", "by": options.choose or "k", "missing": options.missing}
            fitted = fit_truncation(model, inputs.truth, name=inputs.name, **how, **reading)
            cuts = {how["by"]: fitted.chosen}
            values = {**cuts, "best": fitted.best, "rule": fitted.rule, "curve": _curve(fitted)}
        written = truncate_file(model, options.output, name=inputs.name, truth=inputs.carried, **cuts, **reading)
    if inputs.truth_file is not None and not options.json:
        typer.echo(repr(fitted))
    print_written(written, options.json, "toplist.truncated/1", **values)


def _curve(fitted: Truncation) -> list[dict[str, Any]]:
    """The score against k or mass, one row per length."""
    names = ("at", "score", "gap", "error", "size")
    columns = [[to_json_number(value) for value in getattr(fitted, name).tolist()] for name in names]
    rows = zip(*columns, fitted.infinite.tolist(), strict=True)
    return [dict(zip((*names, "infinite"), row, strict=True)) for row in rows]
