"""Predictions and truths as tables whose columns know what they hold, and as files and frames."""

from __future__ import annotations

import datetime
import json
import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet

from tests.io.strategies import chance

CLASSES = ("cat", "dog", "fox", "hen", "owl")
M = len(CLASSES)
CASES = 12

# What values are, which is known from how they were made
TEXT = ("label", "unique text", "text", "constant")  # labels repeat, unique text does not
WHOLE = ("code", "serial", "whole", "large", "one-hot")  # serial numbers are unique; whole ones lie in [0, 100]
FRACTIONS = ("unit", "percent", "log", "big")  # in [0, 1], in [0, 100], at most 0, above 100
NESTED = ("list", "texts", "struct")
EXTRAS = (
    *("unique text", "constant", "unit", "percent", "log", "whole", "large", "big"),
    *("blank", "list", "texts", "struct", "date", "bool"),
)
INDEX = "(index)"  # the name of a pandas index that has none


@dataclass(frozen=True)
class Column:
    """A name, what its values are, and the values."""

    name: str
    kind: str
    values: tuple[Any, ...]
    index: bool = False  # of a pandas frame

    @property
    def number(self) -> bool:
        return self.kind in WHOLE or self.kind in FRACTIONS


@dataclass(frozen=True)
class Table:
    """Columns side by side; cases says which case each row is about."""

    columns: tuple[Column, ...]
    cases: tuple[int, ...]

    @property
    def names(self) -> list[str]:
        return [column.name for column in self.columns]

    @property
    def rows_are_cases(self) -> bool:
        return len(set(self.cases)) == len(self.cases)

    def with_columns(self, *columns: Column, first: bool = False) -> Table:
        return replace(self, columns=(*columns, *self.columns) if first else (*self.columns, *columns))


@dataclass(frozen=True)
class World:
    """What was predicted and what happened, by case: valid lists in sixty-fourths."""

    lists: tuple[dict[str, Fraction], ...]
    truth: tuple[dict[str, Fraction], ...]

    @property
    def outcomes(self) -> tuple[str, ...]:
        return tuple(next(iter(one)) for one in self.truth)

    def brier(self, pairs: Sequence[tuple[int, int]] | None = None) -> Fraction:
        """The mean of (expected) padded Brier scores, by definition; pairs say which list meets which outcome."""
        pairs = [(case, case) for case in range(len(self.lists))] if pairs is None else pairs
        return sum((_brier(self.lists[a], self.truth[b]) for a, b in pairs), Fraction(0)) / len(pairs)


def _brier(one: dict[str, Fraction], truth: dict[str, Fraction]) -> Fraction:
    rest = 1 - sum(one.values())
    share = rest / (M - len(one)) if len(one) < M else Fraction(0)
    p = {name: one.get(name, share) for name in CLASSES}
    return sum(
        (q * sum(((p[name] - (name == y)) ** 2 for name in CLASSES), Fraction(0)) for y, q in truth.items()),
        Fraction(0),
    )


def world(layout: str, soft: bool = False, seed: int = 0) -> World:
    """Lists that a layout can hold, each entry at least what an unlisted class gets."""
    rng = chance("world", layout, seed)  # the same lists for both kinds of truth
    lists = []
    for _ in range(CASES):
        names = rng.sample(CLASSES, M)
        if layout in ("labels", "one-hot"):
            lists.append({names[0]: Fraction(1)})
        elif layout == "top":
            lists.append({names[0]: Fraction(rng.randint(20, 60), 64)})
        elif layout == "wide":
            lists.append(dict(zip(names, _shares(rng, M), strict=True)))
        else:
            k = rng.randint(1, 3)
            lists.append({name: part * 7 / 8 for name, part in zip(names, _shares(rng, k), strict=False)})
    truth = [dict(zip(rng.sample(CLASSES, 2), _shares(rng, 2), strict=True)) for _ in range(CASES)]
    if not soft:
        truth = [{rng.choice([*one, *CLASSES]): Fraction(1)} for one in lists]
    return World(tuple(lists), tuple(truth))


def _shares(rng: random.Random, k: int) -> list[Fraction]:
    """Positive parts of one, all at least an eighth, the largest first."""
    free = 64 - 8 * k
    cuts = sorted(rng.randint(0, free) for _ in range(k - 1))
    parts = [8 + b - a for a, b in zip([0, *cuts], [*cuts, free], strict=True)]
    return [Fraction(part, 64) for part in sorted(parts, reverse=True)]


def order(seed: Any, shuffled: bool) -> tuple[int, ...]:
    """The cases in the order of a file."""
    return tuple(chance("order", seed).sample(range(CASES), CASES) if shuffled else range(CASES))


# Columns


def ids(name: str, kind: str, cases: Sequence[int], index: bool = False) -> Column:
    """The same id for a case in every file."""
    return Column(
        name, kind, tuple(f"s{7 * c % 97:02d}" if kind == "unique text" else 1000 + 37 * c for c in cases), index
    )


def predictions(
    made: World,
    layout: str,
    cases: Sequence[int],
    *,
    label: str = "class",
    confidence: str = "confidence",
    names: dict[str, str] | None = None,
    codes: bool = False,
) -> Table:
    """A table of these lists without ids; names are those of the columns of a wide table."""
    lists = [made.lists[c] for c in cases]
    if layout == "labels":
        tops = tuple(next(iter(one)) for one in lists)
        held = tuple(CLASSES.index(t) for t in tops) if codes else tops
        return Table((Column(label, "code" if codes else "label", held),), tuple(cases))
    if layout in ("top", "long"):
        rows = [(c, name, float(t)) for c in cases for name, t in made.lists[c].items()]
        columns = (
            Column(label, "label", tuple(r[1] for r in rows)),
            Column(confidence, "unit", tuple(r[2] for r in rows)),
        )
        return Table(columns, tuple(r[0] for r in rows))
    if layout == "ranked":
        found: list[Column] = []
        for i in range(3):
            pairs = [[*one.items(), *[(None, None)] * 3][i] for one in lists]
            found += [
                Column(f"{label}_{i + 1}", "label", tuple(name for name, _ in pairs)),
                Column(f"{confidence}_{i + 1}", "unit", tuple(None if t is None else float(t) for _, t in pairs)),
            ]
        return Table(tuple(found), tuple(cases))
    if layout == "lists":
        both = (
            Column(label, "texts", tuple(list(one) for one in lists)),
            Column(confidence, "list", tuple([float(t) for t in one.values()] for one in lists)),
        )
        return Table(both, tuple(cases))
    kind, turn = ("one-hot", int) if layout == "one-hot" else ("unit", float)
    renamed = {name: (names or {}).get(name, name) for name in CLASSES}
    wide = (Column(new, kind, tuple(turn(one.get(old, 0)) for one in lists)) for old, new in renamed.items())
    return Table(tuple(wide), tuple(cases))


def extra(name: str, kind: str, cases: Sequence[int]) -> Column:
    """A column that has nothing to do with the prediction."""
    rng = chance("extra", name, kind)
    n = len(cases)
    texts = [f"{rng.choice(['oak', 'elm', 'ash'])}{i}" for i in range(n)]
    day = datetime.date(2024, 1, 1)
    values: dict[str, list[Any]] = {
        "unique text": rng.sample(texts, n),
        "serial": [5000 + 3 * i for i in range(n)],
        "text": [["oak", "elm", "ash"][i % 3] for i in range(n)],
        "constant": ["v2"] * n,
        "unit": [rng.randint(20, 60) / 64 for _ in range(n)],
        "percent": [[12.25, 45.5, 88.75][i % 3] for i in range(n)],
        "log": [-rng.randint(1, 99) / 16 for _ in range(n)],
        "whole": [[3, 40, 97][i % 3] for i in range(n)],
        "large": [[1700, 2900, 48000][i % 3] for i in range(n)],
        "big": [[170.25, 2900.5, 480.75][i % 3] for i in range(n)],
        "blank": [None] * n,
        "list": [[0.5, 0.25, i / 64] for i in range(n)],
        "texts": [["wild", f"t{i % 3}"] for i in range(n)],
        "struct": [{"x": i, "y": {"z": "deep"}} for i in range(n)],
        "date": [day + datetime.timedelta(i % 5) for i in range(n)],
        "bool": [i % 3 == 0 for i in range(n)],
    }
    return Column(name, kind, tuple(values[kind]))


# Files and frames


def holds(suffix: str, table: Table) -> bool:
    """Whether a format can hold the table as it is meant."""
    return suffix not in ("csv", "tsv") or not any(column.kind in NESTED for column in table.columns)


def save(table: Table, path: Path) -> Path:
    """As CSV, JSON lines or Parquet."""
    rows = list(zip(*(column.values for column in table.columns), strict=True))
    if path.suffix == ".jsonl":
        lines = [json.dumps(dict(zip(table.names, row, strict=True)), default=str) for row in rows]
        path.write_text("\n".join(lines) + "\n")
    elif path.suffix == ".parquet":
        arrays = [pa.array(c.values, _type(c.kind)) for c in table.columns]
        pa.parquet.write_table(pa.Table.from_arrays(arrays, table.names), path)
    else:
        lines = [",".join(table.names), *(",".join(map(_cell, row)) for row in rows)]
        path.write_text("\n".join(lines) + "\n")
    return path


def _type(kind: str) -> Any:
    return {"list": pa.list_(pa.float64()), "texts": pa.list_(pa.string()), "blank": pa.null()}.get(kind)


def _cell(value: Any) -> str:
    return "" if value is None else str(value)


def frame(table: Table) -> Any:
    """A pandas frame, with its index where the table has one."""
    made = pd.DataFrame({c.name: list(c.values) for c in table.columns if not c.index})
    for column in table.columns:
        if column.index:
            made.index = pd.Index(list(column.values), name=None if column.name == INDEX else column.name)
    return made
