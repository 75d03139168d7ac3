"""Leaderboards of two models on large files, against the same means and more as queries of DuckDB and polars.

Queries are written for these files: the outcome is looked up in the list, nothing is checked unless said, and lists are
known to be sorted and valid. By position, rows are taken to be of the same case in all files; by id, they are joined,
as `toplist` verifies for every row. Several forms of each were tried, and the fastest kept: in DuckDB, one query for
both models, sums and inner products of lists; in polars, arithmetic of lists in the streaming engine.
"""

from __future__ import annotations

import gc
import math
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import toplist as tl
from benchmarks import files
from benchmarks.race import Race

CASES, ROUNDS, M = 40_000_000, 3, files.CLASSES
MODELS = ("a", "b")
Means = list[float]  # Brier and log of each model
Side = Callable[[], Means]


def best_of(sides: Mapping[str, Side], rounds: int) -> dict[str, tuple[float, float]]:
    """The shortest time of each side and the least processor time, in seconds, measured in turns."""
    best = dict.fromkeys(sides, (math.inf, math.inf))
    answer: Means = []
    for _ in range(rounds):
        for name, run in sides.items():
            gc.collect()
            wall, used = time.perf_counter(), time.process_time()
            found = run()
            spent = time.perf_counter() - wall, time.process_time() - used
            best[name] = min(best[name][0], spent[0]), min(best[name][1], spent[1])
            answer = answer or found
            assert all(abs(one - other) < 1e-6 for one, other in zip(found, answer, strict=True)), (name, found, answer)
    return best


def ours(folder: Path) -> Side:
    """The whole leaderboard: intervals, pairs, metrics, checks, exact sums."""
    from toplist.cli.output import keep_freed_memory

    keep_freed_memory()  # as the command does

    def run() -> Means:
        models = {name: folder / f"{name}.parquet" for name in MODELS}
        board = {row.name: row for row in tl.compare(models, folder / "truth.parquet", space=M)}
        return [board[name].scores[rule].mean.value for name in MODELS for rule in ("brier", "log")]

    return run


def _joined(folder: Path, how: str) -> str:
    truth, a, b = (f"read_parquet('{folder / name}.parquet')" for name in ("truth", *MODELS))
    if how == "position":
        return f"{a} AS a POSITIONAL JOIN {b} AS b POSITIONAL JOIN {truth} AS truth"
    return f'{truth} AS truth JOIN {a} AS a USING ("case") JOIN {b} AS b USING ("case")'


def _lists(a: str, more: str = "") -> str:
    """The numbers of the lists of one model."""
    return (
        f"len({a}.confidences) AS k_{a}, list_inner_product({a}.confidences, {a}.confidences) AS s_{a}, "
        f"1 - list_sum({a}.confidences) AS r_{a}, list_position({a}.classes, outcome) AS p_{a}, "
        f"{a}.confidences[p_{a}] AS h_{a}{more.format(a=a)}"
    )


def _scores(a: str) -> str:
    q = f"coalesce(h_{a}, r_{a} / ({M} - k_{a}))"
    return f"s_{a} + r_{a} * r_{a} / ({M} - k_{a}) + 1 - 2 * {q} AS brier_{a}, -ln({q}) AS log_{a}"


def in_duckdb(folder: Path, how: str) -> Side:
    """Means alone."""
    import duckdb

    if how == "id":  # one join per model: lists of two models in one table take more memory, and more time
        parts = [
            f"SELECT avg(brier_{a}), avg(log_{a}) FROM (SELECT {_scores(a)} FROM (SELECT {_lists(a)} FROM "  # noqa: S608
            f"read_parquet('{folder / a}.parquet') AS {a} JOIN read_parquet('{folder}/truth.parquet') "
            'USING ("case")))'
            for a in MODELS
        ]
        query = " UNION ALL ".join(parts)
    else:
        lists, scores = ", ".join(map(_lists, MODELS)), ", ".join(map(_scores, MODELS))
        means = ", ".join(f"avg(brier_{a}), avg(log_{a})" for a in MODELS)
        query = f"SELECT {means} FROM (SELECT {scores} FROM (SELECT {lists} FROM {_joined(folder, how)}))"  # noqa: S608

    def run() -> Means:
        with duckdb.connect() as connection:
            return [float(value) for row in connection.execute(query).fetchall() for value in row]

    return run


def everything_in_duckdb(folder: Path) -> Side:
    """Means, standard errors, the paired difference, accuracy, coverage, top-5 error, mass, length; lists checked."""
    import duckdb

    more = ", {a}.confidences[len({a}.confidences)] AS l_{a}, list_unique({a}.classes) AS u_{a}"
    lists = ", ".join(_lists(a, more) for a in MODELS) + ', a."case" = truth."case" AND b."case" = truth."case" AS same'
    kept = ", ".join(f"p_{a}, k_{a}, r_{a}, l_{a}, u_{a}" for a in MODELS)
    scores = ", ".join(map(_scores, MODELS)) + f", same, {kept}"
    means = ", ".join(f"avg(brier_{a}), avg(log_{a})" for a in MODELS)
    beside = ", ".join(
        f"stddev(brier_{a}), stddev(log_{a}), avg(CAST(p_{a} = 1 AS INT)), count(p_{a}), "
        f"avg(CAST(p_{a} <= 5 AS INT)), avg(r_{a}), avg(k_{a}), bool_and(u_{a} = k_{a}), bool_and(r_{a} > -1e-6), "
        f"bool_and(l_{a} >= r_{a} / ({M} - k_{a}))"
        for a in MODELS
    )
    pair = "stddev(brier_a - brier_b), stddev(log_a - log_b), bool_and(same), count(*)"
    table = f"(SELECT {scores} FROM (SELECT {lists} FROM {_joined(folder, 'position')}))"  # noqa: S608
    query = f"SELECT {means}, {beside}, {pair} FROM {table}"  # noqa: S608

    def run() -> Means:
        with duckdb.connect() as connection:
            (row,) = connection.execute(query).fetchall()
        assert row[-2] is True
        return [float(value) for value in row[:4]]

    return run


def _polars_scores(frame: Any) -> Any:
    """Brier and log of each case, and where the outcome is in the list."""
    import polars as pl

    t, classes, outcome = (pl.col(name) for name in ("confidences", "classes", "outcome"))
    at_outcome = (classes - outcome).list.eval((pl.element() == 0).cast(pl.Float32))
    numbers = frame.select(
        k=t.list.len(),
        squares=(t * t).list.sum(),
        rest=1 - t.list.sum(),
        listed=classes.list.contains(outcome),
        confidence=(t * at_outcome).list.sum(),
    )
    share = pl.col("rest") / (M - pl.col("k"))
    q = pl.when("listed").then("confidence").otherwise(share)
    brier = (pl.col("squares") + pl.col("rest") * share + 1 - 2 * q).cast(pl.Float64)
    return numbers.select("k", "rest", "listed", brier=brier, log=-q.cast(pl.Float64).log())


def in_polars(folder: Path, how: str, *, more: bool = False) -> Side:
    """Means alone, or with standard errors, coverage, mass, length and the paired difference, by position."""
    import polars as pl

    truth = pl.scan_parquet(folder / "truth.parquet")

    def cases(name: str) -> Any:
        lists = pl.scan_parquet(folder / f"{name}.parquet")
        if how == "id":
            return _polars_scores(lists.join(truth, on="case"))
        return _polars_scores(pl.concat([lists.drop("case"), truth.drop("case")], how="horizontal"))

    means = [pl.col("brier").mean(), pl.col("log").mean()]

    def run() -> Means:
        found = pl.collect_all([cases(name).select(*means) for name in MODELS], engine="streaming")
        return [float(value) for one in found for value in one.row(0)]

    def run_more() -> Means:
        sides = [cases(name).rename(lambda column, name=name: f"{column}_{name}") for name in MODELS]
        both = pl.concat(sides, how="horizontal").select(
            *(pl.col(f"{column}_{name}").mean() for name in MODELS for column in ("brier", "log")),
            *(
                pl.col(f"{column}_{name}").std().name.suffix("_std")
                for name in MODELS
                for column in ("brier", "log", "k", "rest", "listed")
            ),
            difference=(pl.col("brier_a") - pl.col("brier_b")).std(),
            log_difference=(pl.col("log_a") - pl.col("log_b")).std(),
        )
        return [float(value) for value in both.collect(engine="streaming").row(0)[:4]]

    return run_more if more else run


OURS = "toplist, everything"
MEANS = "DuckDB, means, by id", "DuckDB, means, by position", "polars, means, by id", "polars, means, by position"
MORE = "DuckDB, means and errors, by position", "polars, means and errors, by position"


def leaderboards(race: Race) -> None:
    """Every side in one run; ratios of the best times, and of processor times."""
    cases = race.size(CASES)
    for seed, name in enumerate(MODELS):
        files.make_lists(race.folder / f"{name}.parquet", cases, seed)
    files.make_truth(race.folder / "truth.parquet", cases)
    every = (OURS, *MEANS, *MORE)
    sides = dict(
        zip(
            every,
            (
                ours(race.folder),
                in_duckdb(race.folder, "id"),
                in_duckdb(race.folder, "position"),
                in_polars(race.folder, "id"),
                in_polars(race.folder, "position"),
                everything_in_duckdb(race.folder),
                in_polars(race.folder, "position", more=True),
            ),
            strict=True,
        )
    )
    best = best_of(sides, 2 if race.quick else ROUNDS)
    for name in every[1:]:
        bound = 1.0 if name in MEANS else None
        wall, used = ((best[OURS][at], best[name][at]) for at in (0, 1))
        claim = "as fast" if bound else "as long"
        race.record(f"40M cases, all we give: times {claim} as {name}", *wall, at_least=bound)
        race.record(f"40M cases, all we give: times as much processor time as {name}", *used)


BENCHMARKS = (leaderboards,)
