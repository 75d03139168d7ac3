"""Folders whose parts differ: each gives a right answer or one clear sentence, and all commands agree.

`python -m tests.io.folders --count 500` tries five hundred and prints how they ended.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import tempfile
import warnings
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet

from tests.io import slow_readers as slow
from tests.io.files import LAYOUTS, as_table, save
from tests.io.mutations import Violation, require_clear
from tests.io.strategies import Drawn, chance, draw
from toplist import ClassSpace
from toplist.errors import AlignmentError, SpaceError, TopListError
from toplist.evaluation.compare import compare
from toplist.evaluation.transform import pool_files, truncate_file
from toplist.io.layouts import LayoutHints
from toplist.io.lists import check_file
from toplist.io.sources import open_source
from toplist.io.write import convert
from toplist.lists.validation import Repairs

Records = list[dict[str, Any]]
FORMATS = (".csv", ".tsv", ".jsonl", ".parquet", ".feather")
TYPED = (".parquet", ".feather")


@dataclass(frozen=True)
class Folder:
    """Parts, how one of them was changed, and what should come of it."""

    layout: str
    suffix: str
    change: str
    harmless: bool
    path: Path
    truth: Path
    drawn: Drawn

    @property
    def parts(self) -> list[Path]:
        return sorted(self.path.iterdir())


# How a part may differ: records to records, or a table to a table; whether the meaning stays the same.


def _nothing(rng: random.Random, records: Records) -> Records:
    return records


def _other_order(rng: random.Random, records: Records) -> Records:
    names = rng.sample(list(records[0]), len(records[0]))
    return [{name: record[name] for name in names} for record in records]


def _renamed(rng: random.Random, records: Records) -> Records:
    old = rng.choice(list(records[0]))
    new = rng.choice(["zzz", old.upper(), "label", "prob", "p", "id", "score", "class_9"])
    return [{new if name == old else name: value for name, value in record.items()} for record in records]


def _one_more(rng: random.Random, records: Records) -> Records:
    name, value = rng.choice(["comment", "yak", "class_7", "p_7", "label"]), rng.choice([0.0, 0.125, "x", None, 3])
    return [{**record, name: value} for record in records]


def _one_less(rng: random.Random, records: Records) -> Records:
    gone = rng.choice(list(records[0]))
    return [{name: value for name, value in record.items() if name != gone} for record in records]


def _ids(rng: random.Random, records: Records) -> Records:
    turn: Callable[[Any], Any] = rng.choice([str, lambda i: f"0{i}", float, lambda i: i % 2 == 0, lambda i: [i]])
    return [{**record, "case": turn(record["case"])} for record in records]


def _kinds(rng: random.Random, records: Records) -> Records:
    name, turn = rng.choice(list(records[0])[1:]), rng.choice([str, bool, lambda x: {"x": x}, lambda x: [x]])
    return [{**record, name: _turned(record[name], turn)} for record in records]


def _turned(value: Any, turn: Callable[[Any], Any]) -> Any:
    if isinstance(value, list):
        return [_turned(one, turn) for one in value]
    return None if value is None else turn(value)


def _bad_number(rng: random.Random, records: Records) -> Records:
    made, bad = [dict(record) for record in records], rng.choice([-0.25, 1.5])
    record = made[-1]
    for name, value in record.items():
        if isinstance(value, list) and value and isinstance(value[0], float):
            record[name] = [bad, *value[1:]]
        elif isinstance(value, float):
            record[name] = bad
    return made


def _as_they_are(rng: random.Random, table: pa.Table) -> pa.Table:
    return table


def _retyped(rng: random.Random, table: pa.Table) -> pa.Table:
    return pa.table({name: _same(rng, table.column(name).combine_chunks()) for name in table.schema.names})


def _same(rng: random.Random, column: Any) -> Any:
    """The same values in another type."""
    kind = column.type
    if pa.types.is_list(kind):
        inner = _same(rng, column.flatten()).type
        return pa.array(column.to_pylist(), rng.choice([pa.list_, pa.large_list, pa.list_view])(inner))
    options = [kind]
    if pa.types.is_integer(kind):
        options += [pa.int32(), pa.uint64()]
    if pa.types.is_floating(kind):
        options += [pa.float32(), pa.float64()]
    if pa.types.is_string(kind):
        options += [pa.large_string(), pa.string_view(), pa.dictionary(pa.int32(), pa.string())]
    return column.cast(rng.choice(options))


CHANGES: dict[str, tuple[Callable[..., Records], Callable[..., pa.Table], bool]] = {
    "nothing": (_nothing, _as_they_are, True),
    "columns in another order": (_other_order, _as_they_are, True),
    "other types": (_nothing, _retyped, True),
    "a column renamed": (_renamed, _as_they_are, False),
    "a column more": (_one_more, _as_they_are, False),
    "a column less": (_one_less, _as_they_are, False),
    "other ids": (_ids, _as_they_are, False),
    "values of another kind": (_kinds, _retyped, False),
    "no probability": (_bad_number, _as_they_are, False),
    "another layout": (_nothing, _as_they_are, False),
}


def make(seed: int, place: Path) -> Folder:
    """A folder by the seed."""
    rng = chance(seed, "folder")
    layout = rng.choice(["lists", "long", "wide", "ranked", "labels"])
    suffix = rng.choice(FORMATS[2:] if layout == "lists" else FORMATS)
    change = rng.choice([name for name in CHANGES if suffix in TYPED or name != "other types"])
    records_of, table_of, harmless = CHANGES[change]
    drawn = draw(seed, 12, kind="hard" if layout == "labels" else rng.choice(["ragged", "full"]), m=4)
    drawn = replace(drawn, ids=list(range(1, 13)))
    path = place / "parts"
    path.mkdir()
    cuts, odd = sorted(rng.sample(range(2, 11), 2)), rng.randrange(3)
    for at, (lo, hi) in enumerate(zip([0, *cuts], [*cuts, 12], strict=True)):
        other = change == "another layout" and at == odd
        shape = rng.choice([name for name in ("long", "wide", "labels") if name != layout]) if other else layout
        records = LAYOUTS[shape](drawn.take(list(range(lo, hi))), rng)
        if shape == "ranked":
            records = _with_ranks(records, 4)
        part = path / f"part-{at}{suffix}"
        if at != odd:
            save(records, part)
            continue
        changed = records_of(rng, records)
        try:
            table = table_of(rng, as_table(changed)) if suffix in TYPED else None
        except (pa.ArrowException, TypeError, ValueError, OverflowError):
            table, changed, harmless = None, records, False  # no such table: the part stays as it is
        if table is None:
            save(changed, part)
        elif suffix == ".parquet":
            pa.parquet.write_table(_storable(table), part)
        else:
            pa.feather.write_feather(table, part, compression="uncompressed")
    truth = save([{"case": i, "class": y} for i, y in zip(drawn.ids, drawn.outcomes, strict=True)], place / "y.csv")
    return Folder(layout, suffix, change, harmless, path, truth, drawn)


def _with_ranks(records: Records, k: int) -> Records:
    """All parts with as many ranks."""
    blank = {f"{stem}_{i}": None for i in range(1, k + 1) for stem in ("class", "p")}
    return [{"case": record["case"], **blank, **{n: v for n, v in record.items() if n != "case"}} for record in records]


def _storable(table: pa.Table) -> pa.Table:
    """Parquet has no views of lists."""
    columns = {}
    for field, column in zip(table.schema, table.columns, strict=True):
        view = pa.types.is_list_view(field.type)
        columns[field.name] = pa.array(column.to_pylist(), pa.list_(field.type.value_type)) if view else column
    return pa.table(columns)


# What the parts say, by other means


def said(folder: Folder) -> slow.Said:
    """The lists of all cases, if all parts say it in the same way."""
    parts = [_read(path) for path in folder.parts]
    names = [list(dict.fromkeys(name for record in records for name in record)) for records in parts]
    if folder.suffix != ".jsonl" and any(set(one) != set(names[0]) for one in names):
        raise slow.UnreadableError("other columns")
    ids = {type(_plain(record["case"])) for records in parts for record in records}
    if len(ids) > 1:
        raise slow.UnreadableError("ids of several kinds")
    every = [record for records in parts for record in records]
    cases = [pair for record in every for pair in [(str(_plain(record["case"])), _listed(record, folder))]]
    if folder.layout != "long":
        return slow._unique(cases)
    out: dict[str, list[Any]] = {}
    for case, pairs in cases:
        out.setdefault(case, []).extend(pairs)
    return out


def _read(path: Path) -> Records:
    if path.suffix == ".jsonl":
        return [json.loads(line) for line in path.read_text().splitlines()]
    if path.suffix in (".csv", ".tsv"):
        frame = pd.read_csv(path, sep="\t" if path.suffix == ".tsv" else ",", dtype=str, keep_default_na=False)
        return [{k: v or None for k, v in record.items()} for record in frame.to_dict("records")]
    table = pa.parquet.read_table(path) if path.suffix == ".parquet" else pa.feather.read_table(path)
    return list(table.to_pylist())


def _plain(case: Any) -> Any:
    if isinstance(case, bool | list | dict) or case is None or (isinstance(case, float) and not case.is_integer()):
        raise slow.UnreadableError(f"{case!r} is no id")
    return int(case) if isinstance(case, float) else case


def _listed(record: dict[str, Any], folder: Folder) -> slow.Pairs:
    if folder.layout == "lists":
        return slow._zipped(record["classes"], record["confidences"])
    if folder.layout == "labels":
        return [] if record["class"] is None else [(slow.name_of(record["class"]), 1.0)]
    if folder.layout == "wide":
        return [(name, slow._number(value)) for name, value in record.items() if name != "case" and value is not None]
    if folder.layout == "long":
        pair = record["class"], record["confidence"]
        return [] if pair == (None, None) else [slow._pair(*pair)]
    ranks = {name.partition("_")[2] for name in record if name.startswith(("class_", "p_"))}
    pairs = [(record.get(f"class_{i}"), record.get(f"p_{i}")) for i in sorted(ranks)]
    return [slow._pair(*pair) for pair in pairs if pair != (None, None)]


def outcome(folder: Folder, place: Path) -> str:
    """`right` or `sentence`; anything else is a violation."""
    space = ClassSpace(folder.drawn.m)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            row = compare({"it": folder.path}, folder.truth, space=space)["it"]
        except TopListError as error:
            require_clear(str(error), folder.path)
            if folder.harmless:
                raise Violation(f"the parts say the same, but: {error}") from None
            row, beyond = None, isinstance(error, SpaceError | AlignmentError)  # what only the truth can tell
        answers = _others(folder, place, space)
    if row is None:
        if "checked" in answers and not beyond:
            raise Violation("check finds nothing that score refuses")
        return "sentence"
    if len(answers) < 4:
        raise Violation(f"score has an answer, but only {sorted(answers)} have one, too")
    try:
        lists = said(folder)
    except (slow.UnreadableError, KeyError, TypeError, ValueError) as error:
        raise Violation(f"an answer, but the parts do not fit together: {error!r}") from None
    wrong = slow.flaw(lists, list(map(str, folder.drawn.ids)), folder.drawn.m, None)
    if wrong not in ("", "?"):
        raise Violation(f"an answer to {wrong}")
    outcomes = {str(i): slow.name_of(y) for i, y in zip(folder.drawn.ids, folder.drawn.outcomes, strict=True)}
    expected = slow.mean_brier(lists, outcomes, folder.drawn.m)
    if row.metrics["mean_length"].value != np.mean([len(pairs) for pairs in lists.values()]):
        raise Violation(f"lists of {row.metrics['mean_length'].value} classes on average")
    for name, score in {"compare": row.scores["brier"].mean.value, **answers}.items():
        if expected is not None and score is not None and abs(score - expected) > 1e-6:
            raise Violation(f"{name}: a score of {score}, not {expected}")
    return "right"


def _others(folder: Folder, place: Path, space: ClassSpace) -> dict[str, float | None]:
    """What other commands make of the folder, as the mean score of what they write: nothing, where they refuse it."""

    def checked() -> None:
        found = check_file(open_source(folder.path, "it", LayoutHints()), space, Repairs())
        missing = set(map(str, folder.drawn.ids)) if found.counts.cases != len(folder.drawn.ids) else ()
        blocking = [issue.message for issue in found.issues() if issue.blocking]
        if blocking or missing:
            raise TopListError(f"{folder.path}: {blocking}")

    def converted(path: Path) -> None:
        convert(open_source(folder.path, "it", LayoutHints()), path, Repairs(), space)

    def cut(path: Path) -> None:
        truncate_file(folder.path, path, k=4, space=space)

    def pooled(path: Path) -> None:
        pool_files({"a": folder.path, "b": folder.path}, path, space=space)

    out: dict[str, float | None] = {}
    for name, write in {"converted": converted, "cut": cut, "pooled": pooled}.items():
        path = place / f"{name}.parquet"
        try:
            write(path)
            out[name] = float(compare({"it": path}, folder.truth, space=space)["it"].scores["brier"].mean.value)
        except TopListError as error:
            require_clear(str(error), folder.path if not path.exists() else path)
    try:
        checked()
        out["checked"] = None
    except TopListError:
        pass
    return out


def run(seeds: range, show: bool = False) -> Counter[str]:
    """How many folders ended how; the first violation says which folder it was."""
    counts: Counter[str] = Counter()
    for seed in seeds:
        with tempfile.TemporaryDirectory() as name:
            folder = make(seed, Path(name))
            try:
                how = outcome(folder, Path(name))
            except Exception as error:
                how = "violation"
                told = f"{folder.layout}{folder.suffix}, seed {seed}, {folder.change}: {type(error).__name__}: {error}"
                if not show:
                    raise Violation(told) from error
                print(told[:600], file=sys.stderr)
            counts[how] += 1
            counts[f"{how}: {folder.change}"] += 1
    return counts


def main() -> None:
    """Print how the folders ended; exit with 1 if any ended badly."""
    options = argparse.ArgumentParser(description="Change a part of a folder and see what is said about it.")
    options.add_argument("--count", type=int, default=500)
    options.add_argument("--start", type=int, default=0)
    chosen = options.parse_args()
    counts = run(range(chosen.start, chosen.start + chosen.count), show=True)
    for key in sorted(counts):
        print(f"{key:50} {counts[key]:6,}")
    sys.exit(bool(counts["violation"]))


if __name__ == "__main__":
    main()
