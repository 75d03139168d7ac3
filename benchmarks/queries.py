"""Scoring in queries of DuckDB and polars, against what one would write there."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa

import toplist as tl
from benchmarks.race import Race
from benchmarks.scoring import Data, make
from toplist.core import kernel

CASES, K, M = 200_000, 5, 1000

# The padded Brier score as its formula says, without any checks: invalid lists would come out wrong.
SQL = f"""
    SELECT avg(
        list_sum(list_transform(confidences, lambda p: p * p))
        + (1 - list_sum(confidences)) ** 2 / ({M} - len(confidences)) + 1
        - 2 * coalesce(
            confidences[list_position(classes, outcome)], (1 - list_sum(confidences)) / ({M} - len(confidences))
        )
    ) FROM lists
"""  # noqa: S608


def valid_lists(race: Race) -> tuple[Data, pa.Table]:
    """Lists that are valid, so that the plain formula is right, and the same as a table with names of classes."""
    data = make(race.size(CASES), K, M)
    valid = data.lists.is_valid()
    data = Data(data.classes[valid], data.t[valid], data.y[valid], M)
    names, at = pa.array([f"class {code}" for code in range(M)]), np.arange(len(data.y) + 1, dtype=np.int32) * K
    columns = {
        "classes": pa.ListArray.from_arrays(at, names.take(pa.array(data.classes.ravel()))),
        "confidences": pa.ListArray.from_arrays(at, pa.array(data.t.ravel())),
        "outcome": names.take(pa.array(data.y)),
    }
    return data, pa.table(columns)


def plain_score(classes: list[str], confidences: list[float], outcome: str) -> float:
    """The same formula in Python."""
    rest, listed = 1 - sum(confidences), dict(zip(classes, confidences, strict=True))
    share = rest / (M - len(listed))
    return sum(p * p for p in confidences) + rest * share + 1 - 2 * listed.get(outcome, share)


def in_duckdb(race: Race) -> None:
    import duckdb

    from toplist.integrations.duckdb import register

    data, lists = valid_lists(race)
    expected = tl.score(data.lists, data.y).mean()
    with kernel.one_thread(), duckdb.connect() as connection:
        register(connection)
        connection.create_function("plain_score", plain_score, ["VARCHAR[]", "DOUBLE[]", "VARCHAR"], "DOUBLE")
        connection.execute("SET threads = 1")
        connection.register("given", lists)
        connection.execute("CREATE TABLE lists AS SELECT * FROM given")

        def asked(query: str) -> Callable[[], None]:
            def run() -> None:
                ((found,),) = connection.execute(query).fetchall()
                assert abs(found - expected) < 1e-12

            return run

        ours = asked(f"SELECT avg(toplist_brier(classes, confidences, outcome, {M})) FROM lists")  # noqa: S608
        race(
            "DuckDB, 200k lists with names: times as fast as a Python function in the query",
            ours,
            asked("SELECT avg(plain_score(classes, confidences, outcome)) FROM lists"),
            at_least=3,
        )
        race(
            "DuckDB: times as long as the formula in SQL, unchecked, for valid lists only", ours, asked(SQL), at_most=8
        )


def in_polars(race: Race) -> None:
    import polars as pl

    from toplist.integrations.polars import padded_score

    data, lists = valid_lists(race)
    expected = tl.score(data.lists, data.y).mean()
    frame: Any = pl.from_arrow(lists)

    def ours() -> None:
        assert abs(frame.select(padded_score("classes", "confidences", "outcome", M).mean()).item() - expected) < 1e-12

    def exploded() -> None:
        hit = pl.col("classes") == pl.col("outcome")
        parts = (
            frame.lazy()
            .with_row_index("row")
            .explode("classes", "confidences")
            .group_by("row")
            .agg(
                squares=(pl.col("confidences") ** 2).sum(),
                rest=1 - pl.col("confidences").sum(),
                k=pl.len(),
                hit=hit.any(),
                of_outcome=pl.col("confidences").filter(hit).sum(),
            )
        )
        share = pl.col("rest") / (M - pl.col("k"))
        of_outcome = pl.when("hit").then("of_outcome").otherwise(share)
        mean = parts.select((pl.col("squares") + pl.col("rest") * share + 1 - 2 * of_outcome).mean())
        assert abs(mean.collect().item() - expected) < 1e-12

    def row_by_row() -> None:
        rows = pl.struct("classes", "confidences", "outcome")
        scored = rows.map_elements(lambda row: plain_score(**row), return_dtype=pl.Float64)
        assert abs(frame.select(scored.mean()).item() - expected) < 1e-12

    race(
        "polars, 200k lists with names: times as fast as a Python function per row",
        ours,
        row_by_row,
        at_least=6,
        rounds=3,
    )
    race("polars: times as fast as explode and group by, unchecked, for valid lists only", ours, exploded, at_least=1)


BENCHMARKS = (in_duckdb, in_polars)
