"""Tables of lists for queries of warehouses, and what `toplist` says of them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

import toplist as tl
from tests.integrations.lists import Row
from toplist.integrations.sql import query


@dataclass(frozen=True)
class Asked:
    """A query over tables of one model each, and its rows: model, group, cases, scores and counts."""

    tables: dict[str, pa.Table]
    options: dict[str, Any]
    expected: list[dict[str, Any]]

    def text(self, dialect: str) -> str:
        models = [name for name in self.tables if name != "facts"]
        return query(models, dialect=dialect, **self.options)


def summary(found: list[Row], weights: Any = None) -> dict[str, Any]:
    """What a query says of these rows, from `tl.score` of each list alone."""
    w = np.ones(len(found)) if weights is None else np.asarray(weights, float)
    listed = [dict(zip(row.classes or (), row.confidences or (), strict=True)) for row in found]
    valid = [bool(tl.TopLists.from_dicts([one], row.m).is_valid()[0]) for one, row in zip(listed, found, strict=True)]
    said = {"cases": len(found), "invalid": valid.count(False), "malformed": 0}
    if not all(valid):
        return {**said, "brier": None, "log": None, "coverage": None}
    brier, log = (np.array([row.score(rule) for row in found]) for rule in ("brier", "log"))
    hits = np.array([row.outcome in one for one, row in zip(listed, found, strict=True)])
    finite = np.isfinite(log)
    return {
        **said,
        "brier": float((w * brier).sum() / w.sum()),
        "log": float((w[finite] * log[finite]).sum() / w[finite].sum()) if w[finite].sum() else None,
        "infinite": int((~finite).sum()),
        "coverage": float((w * hits).sum() / w.sum()),
    }


def make_rows(rng: np.random.Generator, n: int, m: int, *, text: bool = False) -> list[Row]:
    """Valid lists of every length up to ten, empty, full and certain ones among them."""
    made = []
    for _ in range(n):
        k = int(rng.integers(0, min(m, 10) + 1))
        codes = rng.choice(m, k, replace=False).tolist()
        t = rng.dirichlet(np.ones(k)) if k else np.zeros(0)
        if k < m and rng.random() < 0.7:
            t *= 1 - rng.random() * (t.min(initial=1.0) if k else 0.0)  # small enough a rest that the list is valid
        elif k and rng.random() < 0.5:
            t = np.eye(k)[0]  # a certain class, and zeros
        outcome = codes[0] if k and (k == m or rng.random() < 0.6) else int(rng.integers(0, m))
        name = "größe {}'s".format if text else int
        made.append(Row([name(code) for code in codes], [float(x) for x in t], name(outcome), m))
    return made


def as_table(found: list[Row], numbers: Any = None, **more: Any) -> pa.Table:
    """The rows, with further columns."""
    kind = pa.string() if any(isinstance(row.outcome, str) for row in found) else pa.int64()
    columns = {
        "classes": pa.array([row.classes for row in found], pa.list_(kind)),
        "confidences": pa.array([row.confidences for row in found], pa.list_(numbers or pa.float64())),
        "outcome": pa.array([row.outcome for row in found], kind),
        "m": pa.array([row.m for row in found], pa.int64()),
    }
    return pa.table({**columns, **{name: pa.array(values) for name, values in more.items()}})


def cases(seed: int = 0, n: int = 120) -> dict[str, Asked]:
    """One query for each thing that a query can be asked."""
    rng = np.random.default_rng(seed)
    asked = {}
    for m in (2, 3, 12, 10**6):
        found = make_rows(rng, n, m, text=m % 2 == 0)
        asked[f"{m} classes"] = Asked(
            {"lists": as_table(found)}, {"n_classes": m}, [{"model": "lists", **summary(found)}]
        )
    open_ended = [Row(row.classes, row.confidences, row.outcome, math.inf) for row in make_rows(rng, n, 30)]
    asked["inf"] = Asked(
        {"lists": as_table([Row(r.classes, r.confidences, r.outcome, None) for r in open_ended])},
        {"n_classes": math.inf},
        [{"model": "lists", **summary(open_ended)}],
    )
    found = [row for m in (2, 5, 40) for row in make_rows(rng, n // 3, m, text=True)]
    weights, sites = rng.integers(0, 4, len(found)), rng.integers(0, 3, len(found))
    asked["weights, groups and numbers of classes"] = Asked(
        {"lists": as_table(found, w=weights.astype(float), site=[f"site {one}" for one in sites])},
        {"n_classes": "m", "weight": "w", "group": "site"},
        [
            {
                "model": "lists",
                "group": f"site {one}",
                **summary([row for row, at in zip(found, sites, strict=True) if at == one], weights[sites == one]),
            }
            for one in range(3)
        ],
    )
    outcomes = [row.outcome for row in make_rows(rng, n, 8)]
    models = {}
    for name in ("a", "b"):
        lists = make_rows(rng, n, 8)
        models[name] = [Row(row.classes, row.confidences, y, 8) for row, y in zip(lists, outcomes, strict=True)]
    shuffled = {name: rng.permutation(n) for name in models}
    tables = {
        name: as_table(found, id=np.arange(n)).take(shuffled[name]).drop_columns(["outcome", "m"])
        for name, found in models.items()
    }
    facts = pa.table({"id": np.arange(n), "outcome": outcomes})
    asked["two models joined with the truth"] = Asked(
        {**tables, "facts": facts},
        {"n_classes": 8, "truth": "facts", "case": "id"},
        [{"model": name, **summary(found)} for name, found in models.items()],
    )
    invalid = Row([0, 1], [0.5, 0.01], 0, 4)
    asked["an invalid list"] = Asked(
        {"lists": as_table([invalid, *make_rows(rng, 5, 4)])},
        {"n_classes": "m"},
        [{"model": "lists", "cases": 6, "invalid": 1, "malformed": 0, "brier": None, "log": None, "coverage": None}],
    )
    return asked


# A row that is malformed, with what the result says: classes, confidences, outcome, m, weight.
MALFORMED: list[tuple[Any, Any, Any, Any, Any, str]] = [
    (None, [0.5], 1, 5, 1.0, "NULL"),
    ([1], None, 1, 5, 1.0, "NULL"),
    ([1], [0.5], None, 5, 1.0, "NULL"),
    ([1, 2], [0.5], 1, 5, 1.0, "not as many classes"),
    ([1], [0.5, 0.4], 1, 5, 1.0, "not as many classes"),
    ([1, None], [0.5, 0.4], 1, 5, 1.0, "a class is NULL"),
    ([1, 2], [0.5, None], 1, 5, 1.0, "a confidence is NULL"),
    ([1, 2], [0.5, math.nan], 1, 5, 1.0, "NaN"),
    ([1, 2], [0.5, math.inf], 1, 5, 1.0, "infinite"),
    ([1, 2], [0.5, -math.inf], 1, 5, 1.0, "infinite"),
    ([1, 2], [1e200, 1e200], 1, 5, 1.0, "infinite"),
    ([1, 2], [0.5, -0.1], 1, 5, 1.0, "negative"),
    ([1, 2], [0.6, 0.5], 1, 5, 1.0, "sum to more than 1"),
    ([1, 1], [0.5, 0.4], 1, 5, 1.0, "twice"),
    ([1, 2], [0.5, 0.4], 1, None, 1.0, "number of classes"),
    ([], [], 1, 0, 1.0, "number of classes"),
    ([1, 2], [0.5, 0.4], 1, -3, 1.0, "number of classes"),
    ([0, 1, 2], [0.5, 0.3, 0.2], 1, 2, 1.0, "more classes are listed"),
    ([0, 1], [0.5, 0.4], 1, 2, 1.0, "do not sum to 1"),
    ([0, 1], [0.0, 0.0], 1, 2, 1.0, "do not sum to 1"),
    ([0, 1], [0.5, 0.5], 7, 2, 1.0, "none of them"),
    ([1, 2], [0.5, 0.4], 1, 5, None, "weight"),
    ([1, 2], [0.5, 0.4], 1, 5, -1.0, "weight"),
    ([1, 2], [0.5, 0.4], 1, 5, math.nan, "weight"),
    ([1, 2], [0.5, 0.4], 1, 5, math.inf, "weight"),
]


def malformed() -> tuple[pa.Table, dict[str, Any]]:
    """A group for each malformed row, which holds a good one too."""
    rows, weights, groups = [], [], []
    for group, (*parts, weight, _) in enumerate(MALFORMED):
        rows += [Row(*parts), Row([0, 1], [0.6, 0.3], 0, 5)]
        weights += [weight, 1.0]
        groups += [group, group]
    return as_table(rows, w=weights, part=groups), {"n_classes": "m", "weight": "w", "group": "part"}


def everything(seed: int = 5, n: int = 40) -> tuple[pa.Table, dict[str, Any], list[dict[str, Any]]]:
    """A group for each number of classes, one with an invalid list, and then those of malformed rows: in one table."""
    rng = np.random.default_rng(seed)
    groups = [make_rows(rng, n, m) for m in (2, 3, 12, 10**6)]
    groups.append([Row([0, 1], [0.5, 0.01], 0, 4), *make_rows(rng, 5, 4)])
    weights = [rng.integers(1, 4, len(found)).astype(float) for found in groups]
    bad, options = malformed()
    at = np.repeat(np.arange(len(groups)), [len(found) for found in groups])
    good = as_table([row for found in groups for row in found], w=np.concatenate(weights), part=at)
    bad = bad.set_column(5, "part", pa.array(np.asarray(bad["part"]) + len(groups)))
    expected = [
        {"model": "lists", "group": place, **summary(found, weight)}
        for place, (found, weight) in enumerate(zip(groups, weights, strict=True))
    ]
    return pa.concat_tables([good, bad]), options, expected


def close(found: Any, expected: Any) -> bool:
    """Equal, floats up to rounding."""
    if isinstance(expected, float) and isinstance(found, float):
        return math.isclose(found, expected, rel_tol=1e-9, abs_tol=1e-12)
    return bool(found == expected)


def lower(found: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Rows with the names of columns as DuckDB has them."""
    return [{name.lower(): value for name, value in row.items()} for row in found]


def agrees(found: list[dict[str, Any]], expected: list[dict[str, Any]]) -> None:
    """Every number that is expected is there."""
    assert len(found) == len(expected)
    for row, told in zip(lower(found), expected, strict=True):
        assert {name: row[name] for name, value in told.items() if not close(row[name], value)} == {}, told
        assert (row["reason"] is None) == (told["malformed"] == told["invalid"] == 0)
