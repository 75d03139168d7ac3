"""`toplist recalibrate fit` and `toplist recalibrate apply`.

`toplist pool`: several files in, one out.

`toplist truncate`.
"""

from __future__ import annotations

import json as jsonlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, Literal

import typer

from toplist._files import read_json, to_json_number, write_json
from toplist._text import did_you_mean, listed
from toplist.cli.errors import UsageError
from toplist.cli.options import named_files
from toplist.cli.output import (
    keep_freed_memory,
    reading_of,
    require_json,
    require_outputs,
    require_rule,
    require_truth,
    say_changed,
    say_json,
    say_written,
    shown,
)
from toplist.errors import FileError, TopListError
from toplist.evaluation.transform import KINDS, fit_recalibrator, pool_files, truncate_file
from toplist.io.encoding import empty_set_explained
from toplist.io.files import find
from toplist.io.write import transform
from toplist.lists.space import show_size
from toplist.postprocess.combination import Ambiguity, PoolWeights
from toplist.postprocess.recalibration import Recalibrator
from toplist.postprocess.recalibration.automatic import Selection
from toplist.report.text import visible


def fit(
    file: str,
    truth: str,
    *,
    output: Path,
    kind: str,
    rule: str,
    folds: int,
    seed: int,
    json: bool,
    quiet: bool,
    **how: Any,
) -> None:
    """Fit a recalibrator and write it down."""
    if kind not in ("auto", *KINDS):
        raise UsageError(f"--kind is auto, {', '.join(KINDS)}, not {kind!r}.{did_you_mean(kind, ['auto', *KINDS])}")
    require_rule(rule)
    require_json(output, "--output")
    require_outputs([output], [*named_files([file]).values(), truth], how["classes"])
    predictions, reading = reading_of([file], truth, **how)
    ((name, path),) = predictions.items()
    with shown(quiet) as update, empty_set_explained(reading.sets):
        found = fit_recalibrator(
            path, truth, name=name, kind=kind, rule=rule, folds=folds, seed=seed, reading=reading, progress=update
        )
    model, choice = found.model, found.choice
    to = {"cases": found.cases, "classes": show_size(found.classes)}
    write_json(output, model.to_dict() | {"fitted_to": to})
    if json:
        told = {"repairs": found.repairs, "left_out": {one: n for one, n in found.left_out.items() if n}}
        say_json("toplist.recalibrate/1", **_table(choice, model, kind), **to, **told, output=str(output))
        return
    say_changed(found.repairs, found.left_out)
    typer.echo(_in_words(choice, model, kind))
    typer.echo(f"{model!r}, fitted to {found.cases:,} cases, in {visible(str(output))}")


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


def _in_words(choice: Selection, model: Recalibrator, kind: str) -> str:
    """The table, with a mark on the line that is kept."""
    lines = repr(replace(choice, best=model, chosen=_line(choice, kind))).split("\n")[1:]
    return "\n".join([f"{choice.rule} scores of cases that a fit has not seen ({choice.folds} folds)", *lines])


def apply(file: str, model: Path, *, output: Path, json: bool, quiet: bool, **how: Any) -> None:
    """Write a file's lists as a saved recalibrator changes them."""
    require_outputs([output], [*named_files([file]).values(), model], how["classes"])
    keep_freed_memory()
    predictions, reading = reading_of([file], None, **how)
    ((name, path),) = predictions.items()
    known, was = _loaded(model)
    with shown(quiet) as update, empty_set_explained(reading.sets):
        files = reading.open({name: path})
        written = transform(files, output, lambda lists: known.transform(lists[0]), update, "recalibrating")
    now = show_size(files.space.size)
    if not json and was not in (None, now):
        typer.echo(f"fitted among {visible(was)} classes, used among {now}: what was learned there may not hold here")
    say_written(written, json, "toplist.recalibrated/1", model=repr(known), fitted_among=was)


def _loaded(path: Path) -> tuple[Any, str | None]:
    """A saved recalibrator, and among how many classes it was fitted, where the file says so."""
    try:
        known = Recalibrator.load(path)
    except FileError as error:
        order = "Predictions come first, then what `toplist recalibrate fit` wrote."
        raise FileError(str(path), f"{error.problem} {order}") from None
    except TopListError as error:
        raise FileError(str(path), str(error)) from None
    told = jsonlib.loads(path.read_text(encoding="utf-8")).get("fitted_to")
    was = told.get("classes") if isinstance(told, dict) else None
    return known, was if isinstance(was, str) else None


SCHEMA = "toplist.weights/1"


def pool(
    files: Sequence[str],
    *,
    output: Path,
    weights: Sequence[str] | None,
    truth: str | None,
    rule: str | None,
    geometric: bool,
    k: int | None,
    save_weights: Path | None,
    weights_from: Path | None,
    json: bool,
    quiet: bool,
    **how: Any,
) -> None:
    """Pool files, with equal, given, saved or fitted weights."""
    given = {"--weights": weights or None, "--truth": truth, "--weights-from": weights_from}
    if sum(value is not None for value in given.values()) > 1:
        raise UsageError(f"weights come from one of {', '.join(given)}.")
    if rule not in (None, "brier", "log"):
        raise UsageError(f"--rule is brier or log here, not {rule!r}.{did_you_mean(rule, ['brier', 'log'])}")
    require_truth(truth, {"--rule": rule, "--outcome": how["outcome"]})
    if save_weights is not None:
        require_json(save_weights, "--save-weights")
    inputs = [*named_files(files).values(), truth, weights_from]
    require_outputs([output, save_weights], inputs, how["classes"])
    keep_freed_memory()
    predictions, reading = reading_of(files, truth, **how)
    names = list(predictions)
    _require_several(predictions)
    kind: Literal["linear", "geometric"] = "geometric" if geometric else "linear"
    found, lines = None, []
    with shown(quiet) as update, empty_set_explained(reading.sets):
        if truth is not None:
            from toplist.evaluation.transform import fit_weights

            found, gained = fit_weights(predictions, truth, rule=rule, pool=kind, reading=reading, progress=update)
            w = dict(zip(names, map(float, found.weights), strict=True))
            lines = _gains(found, gained)
        elif weights_from is not None:
            w = _read(weights_from, names, kind)
        else:
            w = _given(weights, names)
        written = pool_files(
            predictions, output, weights=list(w.values()), pool=kind, k=k, reading=reading, progress=update
        )
    if save_weights is not None:
        by = None if found is None else found.rule
        write_json(save_weights, {"schema": SCHEMA, "pool": kind, "rule": by, "weights": w})
    if json:
        fitted = (
            {} if found is None else {"fitted": found.to_dict() | {"gain": None if gained is None else gained.gain}}
        )
        say_written(written, json, "toplist.pooled/1", pool=kind, weights=w, **fitted)
        return
    typer.echo(f"{kind} pool: {', '.join(f'{visible(name)} {share:.6g}' for name, share in w.items())}")
    for line in lines:
        typer.echo(line)
    say_written(written, json, "toplist.pooled/1")


def _require_several(predictions: Mapping[str, str]) -> None:
    """A folder or a pattern is one prediction in several files; to pool it alone is hardly meant."""
    (path, *others) = predictions.values()
    if not others and len(find(path).paths) > 1:
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
        lines.append(f"in {found.impossible:,} cases every file gives zero to what happened; these had no say")
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


def truncate(
    file: str,
    *,
    output: Path,
    k: int | None,
    mass: float | None,
    gain: float | None,
    truth: str | None,
    choose: str | None,
    rule: str | None,
    json: bool,
    quiet: bool,
    **how: Any,
) -> None:
    """Write shorter lists."""
    given = {"-k": k, "--mass": mass, "--gain": gain, "--truth": truth}
    if sum(value is not None for value in given.values()) != 1:
        raise UsageError(f"say how to cut with one of {', '.join(given)}, and with no other of them.")
    require_truth(truth, {"--choose": choose, "--rule": rule, "--outcome": how["outcome"]})
    choose, rule = choose or "k", rule or "brier"
    if choose not in ("k", "mass"):
        raise UsageError(f"--choose is k or mass, not {choose!r}.")
    require_rule(rule)
    require_outputs([output], [*named_files([file]).values(), truth], how["classes"])
    keep_freed_memory()
    predictions, reading = reading_of([file], truth, **how)
    ((name, path),) = predictions.items()
    with shown(quiet) as update, empty_set_explained(reading.sets):
        if truth is None:
            written = truncate_file(
                path, output, k=k, mass=mass, gain=gain, name=name, reading=reading, progress=update
            )
            say_written(written, json, "toplist.truncated/1", k=k, mass=mass, gain=gain)
            return
        from toplist.evaluation.transform import fit_truncation

        found = fit_truncation(path, truth, name=name, rule=rule, by=choose, reading=reading, progress=update)
        files = reading.open({name: path})
        written = transform(files, output, lambda lists: found.transform(lists[0]), update, "truncating")
    if not json:
        typer.echo(repr(found))
    names = ("at", "score", "gap", "error", "size")
    curve = [
        dict(zip(names, row, strict=True))
        for row in zip(*(getattr(found, name).tolist() for name in names), strict=True)
    ]
    infinite = found.infinite.tolist()
    curve = [
        {name: to_json_number(value) for name, value in row.items()} | {"infinite": n}
        for row, n in zip(curve, infinite, strict=True)
    ]
    say_written(
        written, json, "toplist.truncated/1", **{choose: found.chosen}, best=found.best, rule=found.rule, curve=curve
    )
