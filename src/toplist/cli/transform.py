"""Commands that write lists or learn how to change them: `recalibrate fit`, `recalibrate apply`, `pool`, `truncate`."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from toplist._text import did_you_mean, listed, visible
from toplist.cli.choices import PADDED_RULES, RECALIBRATORS
from toplist.cli.options import (
    Inputs,
    Printing,
    Reads,
    command,
    missing_option,
    option,
    positional,
)
from toplist.cli.output import (
    UsageError,
    print_changes,
    print_json,
    print_text,
    print_written,
    progress_bar,
    require_json,
    require_outputs,
)
from toplist.core.memory import keep_freed_memory
from toplist.errors import FileError, TopListError
from toplist.inference.settings import Inference
from toplist.io import MISSING
from toplist.report.text import rule_name

if TYPE_CHECKING:
    from toplist._typing import Progress
    from toplist.postprocess.combination import Ambiguity, PoolWeights
    from toplist.postprocess.recalibration import Recalibrator
    from toplist.postprocess.recalibration.automatic import Selection

SCHEMA = "toplist.weights/1"


@dataclass(frozen=True, kw_only=True)
class FittingOptions(Printing):
    """What the commands share that read predictions and outcomes side by side."""

    missing: str = missing_option(MISSING[:2])


@dataclass(frozen=True, kw_only=True)
class ListsOutput(Printing):
    """Where lists go."""

    output: Path = option(..., "File for the lists: .parquet, .csv or .jsonl.", "-o")


@contextmanager
def _reading(inputs: Inputs, options: Printing) -> Iterator[Progress]:
    """While files are read: progress, and what is said of empty sets."""
    from toplist.io import empty_set_explained

    with progress_bar(options.quiet) as update, empty_set_explained(inputs.read.set_separator):
        yield update


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
    require_json(options.output, "--output")
    require_outputs([options.output], inputs.paths)
    from toplist._files import write_json
    from toplist.evaluation.transform import fit_recalibrator
    from toplist.lists.space import show_size

    with _reading(inputs, options) as update:
        found = fit_recalibrator(
            inputs.models[inputs.name],
            inputs.truth,
            kind=options.kind,
            rule=options.rule,
            folds=options.folds,
            seed=inference.seed,
            space=inputs.space,
            missing=options.missing,
            name=inputs.name,
            read=inputs.read,
            progress=update,
        )
    model, choice = found.model, found.choice
    to = {"cases": found.cases, "classes": show_size(found.classes)}
    write_json(options.output, model.to_dict() | {"fitted_to": to})
    if options.json:
        left = {one: n for one, n in found.left_out.items() if n}
        changed = {"repairs": found.repairs, "left_out": left, "output": str(options.output)}
        print_json({"schema": "toplist.recalibrate/1", **_table(choice, model, options.kind), **to, **changed})
        return
    print_changes(found.repairs, found.left_out)
    print_text(_describe(choice, model, options.kind))
    counted = "" if found.weight is None else f", weighted by {visible(found.weight)}"
    apart = "" if found.cluster is None else f", clusters by {visible(found.cluster)}"
    typer.echo(f"{model!r}, fitted to {found.cases:,} cases{counted}{apart}, in {visible(str(options.output))}")


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
    keep_freed_memory()
    from toplist.io import ReadRequest, open_aligned, transform
    from toplist.lists.space import show_size

    known, was = _loaded(options.model)
    with _reading(inputs, options) as update:
        files = open_aligned(ReadRequest.of(inputs.models, None, inputs.read), inputs.space)
        written = transform(files, options.output, lambda lists: known.transform(lists[0]), update, "recalibrating")
    now = show_size(files.space.size)
    if not options.json and was not in (None, now):
        typer.echo(f"fitted among {visible(was)} classes, used among {now}: what was learned there may not hold here")
    print_written(written, options.json, "toplist.recalibrated/1", model=repr(known), fitted_among=was)


def _loaded(path: Path) -> tuple[Any, str | None]:
    """A saved recalibrator, and among how many classes it was fitted, where the file says so."""
    from toplist._files import read_json
    from toplist.postprocess.recalibration import Recalibrator

    try:
        known = Recalibrator.load(path)
    except FileError as error:
        order = "Predictions come first, then what `toplist recalibrate fit` wrote."
        raise FileError(str(path), f"{error.problem} {order}") from None
    except TopListError as error:
        raise FileError(str(path), str(error)) from None
    told = read_json(path, "a recalibrator").get("fitted_to")
    was = told.get("classes") if isinstance(told, dict) else None
    return known, was if isinstance(was, str) else None


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
    save_weights: Path | None = option(None, "Write the weights as JSON.")
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
    _require_truth(inputs, rule=options.rule)
    require_json(options.save_weights, "--save-weights")
    require_outputs([options.output, options.save_weights], [*inputs.paths, options.weights_from])
    keep_freed_memory()
    _require_several(inputs.files)
    from toplist._files import write_json
    from toplist.evaluation.transform import fit_weights, pool_files

    names = list(inputs.files)
    kind: Literal["linear", "geometric"] = "geometric" if options.geometric else "linear"
    how: Any = {"pool": kind, "space": inputs.space, "missing": options.missing, "read": inputs.read}
    found, gained = None, None
    with _reading(inputs, options) as update:
        if inputs.truth_file is not None:
            found, gained = fit_weights(inputs.models, inputs.truth, rule=options.rule, progress=update, **how)
            weights = dict(zip(names, map(float, found.weights), strict=True))
        elif options.weights_from is not None:
            weights = _read(options.weights_from, names, kind)
        else:
            weights = _given(options.weights, names)
        shares = list(weights.values())
        how |= {"weights": shares, "k": options.k, "truth": inputs.carried}
        written = pool_files(inputs.models, options.output, progress=update, **how)
    if options.save_weights is not None:
        by = None if found is None else found.rule
        write_json(options.save_weights, {"schema": SCHEMA, "pool": kind, "rule": by, "weights": weights})
    gain = None if gained is None else gained.gain
    fitted = {} if found is None else {"fitted": found.to_dict() | {"gain": gain}}
    if not options.json:
        typer.echo(f"{kind} pool: {', '.join(f'{visible(name)} {share:.6g}' for name, share in weights.items())}")
        for line in () if found is None else _gains(found, gained):
            typer.echo(line)
    print_written(written, options.json, "toplist.pooled/1", pool=kind, weights=weights, **fitted)


def _require_several(predictions: Mapping[str, str]) -> None:
    """A folder or a pattern is one prediction in several files; to pool it alone is hardly meant."""
    from toplist.io import FirstLook

    (path, *others) = predictions.values()
    if not others and len(FirstLook(path).files) > 1:
        raise UsageError(
            f"{visible(path)}: the files of a folder or a pattern are one prediction, not several to pool. "
            "Name each file; a pattern without quotes does that."
        )


def _gains(found: PoolWeights, gained: Ambiguity | None) -> list[str]:
    """What the weights were fitted by, and what disagreement gains."""
    own = ", ".join(f"{visible(name)} {score:.6g}" for name, score in zip(found.names, found.members, strict=True))
    by = f"weights fitted to {found.cases:,} cases by the {found.rule} score"
    lines = [f"{by}, which is {found.score:.6g} on them; alone: {own}"]
    if found.impossible:
        lines.append(
            f"in {found.impossible:,} cases every file gives probability 0 to the true class; these have no weight"
        )
    if gained is not None:
        lines.append(
            f"by the brier score: {gained.mean:.6g} on average, less {gained.gain:.6g} for disagreement, "
            f"is {gained.pool:.6g} for the pool"
        )
    return lines


def _given(words: Sequence[str] | None, names: Sequence[str]) -> dict[str, float]:
    """`name=weight` for every file; equal ones by default."""
    if not words:
        return dict.fromkeys(names, 1.0 / len(names))
    found: dict[str, float] = {}
    for word in words:
        name, mark, value = word.rpartition("=")
        if not mark or name not in names:
            near = did_you_mean(name or word, names)
            raise UsageError(
                f"--weights {word}: say name=weight, once for each of {', '.join(map(repr, names))}.{near}"
            )
        if name in found:
            raise UsageError(f"--weights gives {name!r} two weights.")
        found[name] = _share(value, f"--weights {word}")
    lacks = [name for name in names if name not in found]
    if lacks:
        raise UsageError(f"--weights gives none to {', '.join(map(repr, lacks))}: say {lacks[0]}=0 to leave it out.")
    return _whole({name: found[name] for name in names})


def _share(text: str, where: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not (math.isfinite(value) and value >= 0):
        raise UsageError(f"{where}: a weight is a number, zero or more.")
    return value


def _whole(shares: dict[str, float]) -> dict[str, float]:
    total = math.fsum(shares.values())
    if not abs(total - 1) <= 1e-9:
        remedy = f"Divide each by {total:g}" if total else "Give one that is above zero"
        raise UsageError(f"weights add up to one; these add up to {total:g}. {remedy}.")
    return shares


def _read(path: Path, names: Sequence[str], kind: str) -> dict[str, float]:
    """Weights that were saved, for files of the same names."""
    from toplist._files import read_json

    saved = read_json(path, "the weights of a pool")
    shares = saved.get("weights") if isinstance(saved, Mapping) and saved.get("schema") == SCHEMA else None
    if not isinstance(shares, Mapping):
        raise FileError(str(path), f"these are no weights of a pool: the schema is not {SCHEMA!r}.")
    if saved.get("pool") != kind:
        raise FileError(str(path), f"these weights are of a {str(saved.get('pool'))[:60]} pool: pool in the same way.")
    if set(shares) != set(names):
        known = listed(list(shares))
        raise FileError(
            str(path), f"the weights are of {known}: name the files so, as in {next(iter(shares), 'a')[:60]}=FILE."
        )
    if not all(isinstance(one, int | float) and not isinstance(one, bool) and 0 <= one <= 1 for one in shares.values()):
        raise FileError(str(path), "a weight is a number between 0 and 1.")
    found = {name: float(shares[name]) for name in names}
    if not abs(math.fsum(found.values()) - 1) <= 1e-9:
        raise FileError(str(path), "the weights do not add up to one.")
    return found


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
    _require_truth(inputs, choose=options.choose, rule=options.rule, ordinal=inputs.ordinal or None)
    require_outputs([options.output], inputs.paths)
    keep_freed_memory()
    from toplist.evaluation.transform import fit_truncation, truncate_file

    model, by = inputs.models[inputs.name], options.choose or "k"
    how: Any = {"space": inputs.space, "name": inputs.name, "read": inputs.read}
    values = cuts
    with _reading(inputs, options) as update:
        if inputs.truth_file is not None:
            rule, missing = options.rule or "brier", options.missing
            found = fit_truncation(model, inputs.truth, rule=rule, by=by, missing=missing, progress=update, **how)
            cuts = {by: found.chosen}
            values = {**cuts, "best": found.best, "rule": found.rule, "curve": _curve(found)}
        written = truncate_file(model, options.output, progress=update, truth=inputs.carried, **cuts, **how)
    if inputs.truth_file is not None and not options.json:
        typer.echo(repr(found))
    print_written(written, options.json, "toplist.truncated/1", **values)


def _curve(found: Any) -> list[dict[str, Any]]:
    """The score against k or mass, one row per length."""
    from toplist._files import to_json_number

    names = ("at", "score", "gap", "error", "size")
    columns = [[to_json_number(value) for value in getattr(found, name).tolist()] for name in names]
    rows = zip(*columns, found.infinite.tolist(), strict=True)
    return [dict(zip((*names, "infinite"), row, strict=True)) for row in rows]
