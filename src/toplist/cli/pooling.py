"""`toplist pool`: several files in, one out."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import typer

from toplist.cli import asking, progress
from toplist.cli.failures import UsageError
from toplist.cli.memory import keep_freed_memory
from toplist.cli.placing import require_outputs
from toplist.cli.rewriting import reading_of, require_json, require_truth, say_written
from toplist.errors import FileError
from toplist.improve.pools import Ambiguity, PoolWeights
from toplist.io.coding import empty_set_explained
from toplist.io.files import find
from toplist.io.records import read_json, write_json
from toplist.io.showing import several
from toplist.spelling import meant
from toplist.transformation import pool_files
from toplist.words.names import visible

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
        raise UsageError(f"--rule is brier or log here, not {rule!r}.{meant(rule, ['brier', 'log'])}")
    require_truth(truth, {"--rule": rule, "--outcome": how["outcome"]})
    if save_weights is not None:
        require_json(save_weights, "--save-weights")
    inputs = [*asking.named_files(files).values(), truth, weights_from]
    require_outputs([output, save_weights], inputs, how["classes"])
    keep_freed_memory()
    predictions, reading = reading_of(files, truth, **how)
    names = list(predictions)
    _require_several(predictions)
    kind: Literal["linear", "geometric"] = "geometric" if geometric else "linear"
    found, lines = None, []
    with progress.shown(quiet) as update, empty_set_explained(reading.sets):
        if truth is not None:
            from toplist.transformation.fitting import fit_weights

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
            near = meant(name or word, names)
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
        known = several(list(shares))
        raise FileError(
            str(path), f"the weights are of {known}: name the files so, as in {next(iter(shares), 'a')[:60]}=FILE."
        )
    if not all(isinstance(one, int | float) and not isinstance(one, bool) and 0 <= one <= 1 for one in shares.values()):
        raise FileError(str(path), "a weight is a number between 0 and 1.")
    found = {name: float(shares[name]) for name in names}
    if not abs(math.fsum(found.values()) - 1) <= 1e-9:
        raise FileError(str(path), "the weights do not add up to one.")
    return found
