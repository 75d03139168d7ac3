"""Spoiled files, in every layout: each gives a right answer or one clear sentence.

`python -m tests.io.mutations --count 1000` tries a thousand of each and prints how they ended.
"""

from __future__ import annotations

import argparse
import os
import random
import re
import shutil
import sys
import tempfile
import warnings
from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from tests.io import damaged_bytes, damaged_columns
from tests.io import slow_readers as slow
from tests.io.damages import DAMAGES, Damage
from tests.io.files import LAYOUTS, Record, as_jsonl, as_text, packed, save, save_array
from tests.io.strategies import Drawn, chance, draw
from toplist import ClassSpace
from toplist.errors import TopListError
from toplist.evaluation.compare import compare
from toplist.io.readers import delimited

FIRST = ("class_1", "p_1")  # of ranked columns
FORMS = (
    *("records.parquet", "records.json"),
    *("lists.parquet", "lists.feather", "lists.arrow", "lists.jsonl", "lists.jsonl.gz"),
    *("long.csv", "long.csv.zst", "long.tsv", "long.parquet", "long.jsonl", "long.json", "scattered.csv"),
    *("wide.csv", "wide.parquet", "ranked.csv", "ranked.parquet"),
    *("labels.csv", "labels.parquet", "labels.jsonl", "dense.npz", "csr.npz", "top.npz"),
    *("parts.csv", "parts.parquet", "parts.jsonl", "late.jsonl"),  # folders; fields that come after many lines
)
assert damaged_bytes.ALL == damaged_columns.ALL == ("lists", "long", "wide", "ranked", "labels")  # now they are known
_INTERNAL = re.compile(
    r"Traceback|Arrow(Invalid|\w*Error)|duckdb|DuckDB|pyarrow|struct_pack|Binder|Exception|0x[0-9a-f]{6}"
)


class Violation(AssertionError):  # noqa: N818
    """A file with neither a right answer nor a clear sentence."""


@dataclass(frozen=True)
class Spoiled:
    """A file, what was done to it, and what it should say."""

    seed: int
    form: str
    layout: str
    damage: str
    harmless: bool
    path: Path
    truth: Path
    drawn: Drawn
    labels: bool = False  # whether the labels of all classes are declared, or only their number
    refused: bool = False  # whether an answer, even a right one, would be a guess
    by_position: bool = False  # whether neither file has ids

    @property
    def space(self) -> Any:
        return ClassSpace(labels=list(map(str, self.drawn.classes))) if self.labels else self.drawn.m


def spoil(seed: int, form: str, folder: Path, kind: str | None = None, *, as_truth: bool = False) -> Spoiled:
    """One file with one damage, by the seed; with cases of one kind, and as a prediction or as a truth."""
    rng = chance(seed, form)
    layout, _, suffix = form.partition(".")
    if layout in ("parts", "late"):
        layout = rng.choice(["long", "wide", "ranked", *(["lists"] if suffix != "csv" else []), "labels"])
    kind = kind or {"labels": "hard", "dense": "full", "top": "top"}.get(
        layout, rng.choice(["ragged", "ragged", "full"])
    )
    codes = suffix == "npz" or rng.random() < 0.3
    drawn = draw(seed, 160 if form.startswith("late") else 8, kind=kind, names="codes" if codes else "text", m=4)
    truth = [{"case": i, "class": y} for i, y in zip(drawn.ids, drawn.outcomes, strict=True)]
    path = folder / ("parts" if form.startswith("parts") else f"p.{suffix}")
    if rng.random() < 0.02:
        save(truth, folder / "y.csv")
        return Spoiled(seed, form, layout, _misplace(rng, path), False, path, folder / "y.csv", drawn)
    key = "lists" if suffix == "npz" else "long" if layout == "scattered" else layout
    while True:
        works = [one for one in _works_on(form) if not (as_truth and one == "predictions")]
        damage = rng.choice([d for d in DAMAGES if d.on in works])
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                known = _write(rng, damage, drawn, layout, path, form, truth)
        except (pa.ArrowException, TypeError, ValueError, OverflowError, LookupError, NotImplementedError):
            continue  # no such file can be written
        save(known, folder / "y.csv")
        labels = rng.random() < 0.3
        refused = key in damage.refused and not (labels and key == "wide")  # then other columns are none of its classes
        made = Spoiled(seed, form, layout, damage.name, key in damage.harmless, path, folder / "y.csv", drawn)
        return replace(made, labels=labels, refused=refused, by_position="case" not in known[0])


def _works_on(form: str) -> tuple[str, ...]:
    layout, _, suffix = form.partition(".")
    if layout in ("parts", "late"):
        return (layout,)
    if suffix == "npz":
        return ("arrays", "bytes")
    text = suffix.removesuffix(".gz").removesuffix(".zst")
    typed = () if text in ("csv", "tsv") else ("typed",)
    return ("records", "predictions", "bytes", *typed, *((text,) if text in ("csv", "jsonl") else ()))


def _misplace(rng: random.Random, path: Path) -> str:
    what = rng.choice(["missing", "a folder", "an empty folder", "a pipe", "a loop"])
    if "folder" in what:
        path.mkdir()
        if what == "a folder":
            (path / "notes.txt").write_text("nothing to read")
    elif what == "a pipe":
        os.mkfifo(path)
    elif what == "a loop":
        path.symlink_to(path)
    return what


def _write(
    rng: random.Random, damage: Damage, drawn: Drawn, layout: str, path: Path, form: str, truth: list[Record]
) -> list[Record]:
    """Write what is damaged; what is left of the truth."""
    suffix = form.partition(".")[2]
    if suffix == "npz":
        save_array(drawn, path, form)
        if damage.on == "arrays":
            with np.load(path) as loaded:
                arrays = damage.do(rng, {key: loaded[key] for key in loaded.files})
            np.savez(path, **arrays)
    else:
        records = LAYOUTS[layout](drawn, rng)
        if damage.on == "parts":
            _write_parts(damage.do(rng, *_halves(records)), path, suffix)
            return truth
        if damage.on == "predictions":
            records, truth = damage.do(rng, records, truth)
        records = damage.do(rng, records) if damage.on in ("records", "typed", "late") else records
        if not records:
            path.write_bytes(b"")
            return truth
        if damage.on == "late":
            sparse = layout in ("wide", "ranked")  # a class or a later rank may lack; what else is not known is null
            kept = [{k: v for k, v in r.items() if v is not None or not sparse or k in FIRST} for r in records]
            path.write_text(as_jsonl(kept))
            return truth
        save(records, path)
        if damage.on in ("csv", "jsonl"):
            plain = as_jsonl(records) if damage.on == "jsonl" else as_text(records)
            made = damage.do(rng, plain)
            path.write_bytes(packed(made.decode(), suffix))
    if damage.on == "bytes":
        path.write_bytes(damage.do(rng, path.read_bytes()))
    return truth


def _halves(records: list[Record]) -> tuple[list[Record], list[Record]]:
    """The rows of some cases, and those of the others."""
    cases = list(dict.fromkeys(record["case"] for record in records))
    first = set(cases[: len(cases) // 2])
    return [r for r in records if r["case"] in first], [r for r in records if r["case"] not in first]


def _write_parts(parts: tuple[list[Record], ...], path: Path, suffix: str) -> None:
    shutil.rmtree(path, ignore_errors=True)
    path.mkdir()
    for at, records in enumerate(parts):
        save(records, path / f"part{at}.{suffix}")


def outcome(spoiled: Spoiled) -> str:
    """`right` or `sentence`; anything else is a violation."""
    drawn, names = spoiled.drawn, list(map(slow.name_of, spoiled.drawn.classes))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            board = compare({"it": spoiled.path}, spoiled.truth, space=spoiled.space)
    except TopListError as error:
        require_clear(str(error), spoiled.path)
        if spoiled.harmless:
            raise Violation(f"the file is fine, but: {error}") from None
        return "sentence"
    if spoiled.refused:
        raise Violation("an answer, though the file does not say what is what")
    row = board["it"]
    if (row.cases, board.comparison.compared) != (len(drawn.ids), len(drawn.ids)):
        raise Violation(f"{row.cases} of {len(drawn.ids)} cases")
    try:
        ids = list(map(str, drawn.ids)) if spoiled.by_position else None
        lists = slow.said(spoiled.path, spoiled.layout, names if spoiled.labels else None, ids)
    except (slow.UnreadableError, OSError, EOFError) as error:
        raise Violation(f"an answer, but the file says nothing that makes sense: {error}") from None
    wrong = slow.flaw(lists, list(map(str, drawn.ids)), drawn.m, names if spoiled.labels else None)
    if wrong not in ("", "?"):
        raise Violation(f"an answer to {wrong}")
    outcomes = {str(case): slow.name_of(y) for case, y in zip(drawn.ids, drawn.outcomes, strict=True)}
    expected = slow.mean_brier(lists, outcomes, drawn.m)
    if row.metrics["mean_length"].value != sum(map(len, lists.values())) / len(lists):
        raise Violation(f"lists of {row.metrics['mean_length'].value} classes on average")
    if expected is not None and abs(row.scores["brier"].mean.value - expected) > 1e-6:
        raise Violation(f"a score of {row.scores['brier'].mean.value}, not {expected}")
    return "right"


def require_clear(sentence: str, path: Path) -> None:
    """One line that names the file, or what it is called, without a word from inside."""
    text = sentence.replace(f"{path.parent}/", "")
    if "\n" in text or len(text) > 400 or _INTERNAL.search(text):
        raise Violation(f"not a clear sentence: {sentence[:2000]!r}")
    if path.name not in text and not re.match(r"it (lacks|has) ", text):
        raise Violation(f"no file is named: {sentence!r}")


def run(form: str, seeds: range, show: bool = False) -> Counter[str]:
    """How many files ended how; the first violation says which file it was.

    Every other text goes through DuckDB, as far as it reads it; `csv` reads the rest.
    """
    counts: Counter[str] = Counter()
    for seed in seeds:
        delimited._FIRST = 3 if seed % 2 else 1 << 18
        with tempfile.TemporaryDirectory() as folder:
            spoiled = spoil(seed, form, Path(folder))
            try:
                how = outcome(spoiled)
            except Exception as error:
                how = "violation"
                told = f"{form}, seed {seed}, {spoiled.damage}: {type(error).__name__}: {error}"
                if not show:
                    raise Violation(told) from error
                print(told[:600], file=sys.stderr)
            counts[how] += 1
            counts[f"{how}: {spoiled.damage}"] += 1
    return counts


def main() -> None:
    """Print a table; exit with the number of files that ended badly."""
    options = argparse.ArgumentParser(description="Spoil files in every layout and see what is said about them.")
    options.add_argument("--count", type=int, default=1000)
    options.add_argument("--start", type=int, default=0)
    options.add_argument("--form", choices=FORMS, action="append")
    options.add_argument("--damages", action="store_true", help="count them too")
    chosen = options.parse_args()
    print(f"{'layout':16} {'files':>6} {'right answers':>14} {'clear sentences':>16} {'violations':>11}")
    violations = 0
    for form in chosen.form or FORMS:
        counts = run(form, range(chosen.start, chosen.start + chosen.count), show=True)
        violations += counts["violation"]
        print(
            f"{form:16} {chosen.count:6,} {counts['right']:14,} {counts['sentence']:16,} {counts['violation']:11,}",
            flush=True,
        )
        if chosen.damages:
            for key in sorted(key for key in counts if ": " in key):
                print(f"    {key:60} {counts[key]:6,}")
    print(f"{violations:,} violations")
    sys.exit(min(violations, 100))  # their number, as far as an exit code goes


if __name__ == "__main__":
    main()
