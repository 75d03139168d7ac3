"""Queries for warehouses give the scores of `toplist.score`, or no score and the reason; names cannot escape."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import toplist as tl
from tests.cli.run_cli import toplist_here
from tests.integrations.lists import rows
from tests.integrations.query_cases import (
    MALFORMED,
    agrees,
    as_table,
    cases,
    everything,
    lower,
    make_rows,
    malformed,
    summary,
)
from toplist.integrations.sql import DIALECTS, PRECISIONS, query

duckdb = pytest.importorskip("duckdb", reason="needs duckdb")
HOSTILE = [
    'a"b',
    "a`b",
    "a'b",
    "a\\",
    "a\\'; DROP TABLE lists --",
    'x" FROM (SELECT 1) --',
    "a]b",
    "größe",
    "{0}",
    "a/*b",
]
CASES = cases()


def in_duckdb(text: str, tables: dict[str, pa.Table]) -> list[dict[str, Any]]:
    with duckdb.connect() as connection:
        return asked_of(connection, text, tables)


def asked_of(connection: Any, text: str, tables: dict[str, pa.Table]) -> list[dict[str, Any]]:
    for name, table in tables.items():
        connection.register(name, table)
    found = connection.execute(text)
    names = [column[0] for column in found.description]
    return [dict(zip(names, row, strict=True)) for row in found.fetchall()]


def transpiled(dialect: str, text: str) -> str:
    """The query of another dialect as one of DuckDB, whose lists have types and begin at 1."""
    sqlglot = pytest.importorskip("sqlglot", reason="needs sqlglot")
    expressions = sqlglot.expressions
    tree = sqlglot.parse_one(text, read=dialect)
    if dialect == "snowflake":

        def typed(node: Any) -> Any:
            untyped = isinstance(node, expressions.Cast) and node.to.this == expressions.DataType.Type.ARRAY
            return node.this if untyped or isinstance(node, expressions.ToVariant) else node

        tree = tree.transform(typed)
    return str(tree.sql("duckdb", comments=False)).replace("outcome) - 1]", "outcome)]")


@pytest.mark.parametrize("name", CASES)
def test_duckdb_gives_the_scores_of_toplist(name: str) -> None:
    asked = CASES[name]
    agrees(in_duckdb(asked.text("duckdb"), asked.tables), asked.expected)


@pytest.mark.parametrize("dialect", ["bigquery", "snowflake"])
@pytest.mark.parametrize("name", CASES)
def test_the_queries_of_other_warehouses_give_the_same_where_duckdb_can_run_them(name: str, dialect: str) -> None:
    asked = CASES[name]
    agrees(in_duckdb(transpiled(dialect, asked.text(dialect)), asked.tables), asked.expected)


@pytest.fixture(scope="module")
def connection() -> Iterator[Any]:
    with duckdb.connect() as made:
        yield made


@given(st.data(), st.booleans())
def test_any_lists_are_scored_or_counted_as_invalid(connection: Any, data: Any, text: bool) -> None:
    found = data.draw(rows(text=text, blank=False))
    said = asked_of(connection, query("lists", dialect="duckdb", n_classes="m"), {"lists": as_table(found)})
    agrees(said, [{"model": "lists", **summary(found)}])


@pytest.mark.parametrize("dialect", ["duckdb", "bigquery", "snowflake"])
def test_malformed_rows_are_counted_and_leave_no_score(dialect: str) -> None:
    table, options = malformed()
    text = query("lists", dialect=dialect, **options)
    said = in_duckdb(text if dialect == "duckdb" else transpiled(dialect, text), {"lists": table})
    require_refused(said)


def require_refused(said: list[dict[str, Any]]) -> None:
    """Every group has its malformed row, and the reason."""
    assert len(said) == len(MALFORMED)
    for row, (*_, reason) in zip(lower(said), MALFORMED, strict=True):
        assert (row["cases"], row["malformed"], row["invalid"]) == (2, 1, 0), row
        assert reason in row["reason"]
        assert row["brier"] is row["log"] is row["coverage"] is None


def test_cases_that_are_missing_unknown_or_there_twice_are_malformed() -> None:
    found = make_rows(np.random.default_rng(1), 6, 4)
    facts = pa.table({"id": [0, 1, 2, 3], "outcome": [row.outcome for row in found[:4]]})
    for ids, reason, count in (
        ([0, 1, 2], "a case has no prediction", 1),
        ([0, 1, 2, 3, 4], "a prediction has no case", 1),
        ([0, 1, 2, 2, 3], "there twice", 2),
        ([0, 1, 2, None], "has no", 2),
    ):
        lists = as_table(found[: len(ids)], id=ids).drop_columns(["outcome"])
        text = query("lists", dialect="duckdb", n_classes=4, truth="facts", case="id")
        (said,) = in_duckdb(text, {"lists": lists, "facts": facts})
        assert (said["malformed"], said["brier"]) == (count, None)
        assert reason in said["reason"]


def test_confidences_in_single_precision_are_given_the_room_of_their_rounding() -> None:
    proba = np.random.default_rng(2).dirichlet(np.ones(40), 300).astype(np.float32)
    y = np.arange(300) % 40
    at = np.arange(301) * 40
    lists = pa.table(
        {
            "classes": pa.ListArray.from_arrays(pa.array(at, pa.int32()), pa.array(np.tile(np.arange(40), 300))),
            "confidences": pa.ListArray.from_arrays(pa.array(at, pa.int32()), pa.array(proba.ravel())),
            "outcome": y,
        }
    )
    (strict,) = in_duckdb(query("lists", dialect="duckdb", n_classes=40), {"lists": lists})
    assert strict["malformed"] > 0
    (said,) = in_duckdb(query("lists", dialect="duckdb", n_classes=40, precision="single"), {"lists": lists})
    assert (said["malformed"], said["invalid"]) == (0, 0)
    assert said["brier"] == pytest.approx(tl.score(proba, y).mean(), rel=1e-9)
    assert said["log"] == pytest.approx(tl.score(proba, y, rule="log").mean(), rel=1e-9)


def test_files_are_read_where_the_dialect_can(tmp_path: Path) -> None:
    found = make_rows(np.random.default_rng(3), 20, 6)
    path = tmp_path / "it's.parquet"
    pq.write_table(as_table(found), path)
    agrees(in_duckdb(query(str(path), dialect="duckdb", n_classes=6), {}), [{"model": str(path), **summary(found)}])
    assert "FROM parquet.`lists.parquet`" in query("lists.parquet", dialect="spark", n_classes=6)


@pytest.mark.parametrize("name", HOSTILE)
def test_names_stay_names(name: str) -> None:
    found = make_rows(np.random.default_rng(4), 10, 6)
    table = as_table(found, kind=["x"] * 10).rename_columns([name, name + "2", name + "3", "m", name + "4"])
    options = {"class_column": name, "confidence": name + "2", "outcome": name + "3", "group": name + "4"}
    (said,) = in_duckdb(query({name: (name,)}, dialect="duckdb", n_classes=6, **options), {name: table})
    agrees([said], [{"model": name, "group": "x", **summary(found)}])


@pytest.mark.parametrize("dialect", ["duckdb", "spark", "bigquery", "snowflake"])
@pytest.mark.parametrize("name", HOSTILE)
def test_names_are_read_back_by_a_parser_of_the_dialect(name: str, dialect: str) -> None:
    sqlglot = pytest.importorskip("sqlglot", reason="needs sqlglot")
    columns = {key: name + key for key in ("class_column", "confidence", "outcome", "group", "weight", "case")}
    text = query({name: ("s", name)}, dialect=dialect, n_classes=6, truth=("facts" + name,), **columns)
    (tree,) = sqlglot.parse(text, read=dialect)
    exact = [
        {one.name for one in tree.find_all(kind)} for kind in (sqlglot.expressions.Column, sqlglot.expressions.Table)
    ]
    assert set(columns.values()) <= exact[0]
    assert {name, "facts" + name} <= exact[1]
    assert name in {one.this for one in tree.find_all(sqlglot.expressions.Literal) if one.is_string}


def test_snowflake_folds_plain_names_as_it_does_itself() -> None:
    text = query("db.lists", dialect="snowflake", n_classes=6, outcome='"truth"', group="my site")
    assert all(one in text for one in ('FROM "DB"."LISTS"', '"CLASSES"', '"truth" AS outcome', '"my site"'))


def test_spark_gives_the_scores_of_toplist(tmp_path: Path) -> None:
    """In a process of its own, whatever sessions other tests hold, and with few queries: each takes a second."""
    pytest.importorskip("pyspark", reason="needs pyspark")
    joined, table, options, expected = CASES["two models joined with the truth"], *everything()
    files = {name: str(tmp_path / f"{name}`s.parquet") for name in ("a", "b", "facts", "lists")}
    for path, one in zip(files.values(), (*joined.tables.values(), table), strict=True):
        pq.write_table(one, path)
    models = {"a'\\": files["a"], "b": files["b"]}
    queries = [
        query("lists", dialect="spark", **options),
        query(models, dialect="spark", **{**joined.options, "truth": files["facts"]}),
        CASES["inf"].text("spark").replace("`lists`", "`open`"),
    ]
    pq.write_table(CASES["inf"].tables["lists"], tmp_path / "open.parquet")
    views = {"lists": files["lists"], "open": str(tmp_path / "open.parquet")}
    done = subprocess.run(
        [sys.executable, "-W", "ignore", Path(__file__).with_name("spark_queries.py")],
        input=json.dumps({"views": views, "queries": queries}),
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYSPARK_PYTHON": sys.executable},
    )
    assert done.returncode == 0, done.stderr[-3000:]
    single, both, unlimited = json.loads(done.stdout.splitlines()[-1])
    agrees(single[: len(expected)], expected)
    require_refused(single[len(expected) :])
    agrees(both, [{**row, "model": name} for row, name in zip(joined.expected, models, strict=True)])
    agrees(unlimited, CASES["inf"].expected)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["p", "--classes", "5"], "Missing option '--dialect'"),
        (["p", "--dialect", "duckd", "-c", "5"], "Did you mean 'duckdb'"),
        (["p", "--dialect", "duckdb"], "Missing option '--classes'"),
        (["p", "--dialect", "duckdb", "-c", "0"], "--classes is a whole number from 1 on, not 0"),
        (["p", "--dialect", "duckdb", "-c", "2^80"], "score with toplist partial"),
        (["p", "--dialect", "duckdb", "-c", "5", "-t", "y"], "--truth goes with --case COLUMN"),
        (["p", "--dialect", "duckdb", "-c", "5", "--case", "id"], "--case COLUMN goes with --truth"),
        (["p", "p", "--dialect", "duckdb", "-c", "5"], "the model 'p' is there twice"),
        (["a=", "--dialect", "duckdb", "-c", "5"], "must be a name in SQL"),
        (["p", "--dialect", "duckdb", "-c", "5", "--group", " "], "--group must be a name in SQL"),
        (["p", "--dialect", "spark", "-c", "5", "--weight", "a\nb"], "control character"),
        (["p.parquet", "--dialect", "bigquery", "-c", "5"], "only queries of DuckDB and Spark read"),
        (["p", "--dialect", "duckdb", "-c", "5", "--precision", "half"], "--precision is double or single"),
    ],
)
def test_the_command_says_what_is_wrong(words: list[str], message: str) -> None:
    done = toplist_here("sql", *words)
    assert done.returncode == 2
    assert message in " ".join(done.stderr.split())
    assert done.stdout == ""


def test_the_command_prints_the_query_and_says_what_it_does_not_do() -> None:
    words = ["a=x", "b=y", "--truth", "z", "--case", "id", "-c", "m", "--group", "g", "--dialect", "spark"]
    done = toplist_here("sql", *words)
    assert done.returncode == 0, done.stderr
    options: Any = {"n_classes": "m", "truth": "z", "case": "id", "group": "g"}
    assert done.stdout == query({"a": "x", "b": "y"}, dialect="spark", **options)
    comment = [line for line in done.stdout.splitlines() if line.startswith("-- ")]
    assert "floating-point sums" in " ".join(comment)
    assert "no largest valid sublist" in " ".join(comment)
    assert "toplist partial" in " ".join(comment)


@pytest.mark.parametrize("word", ["inf", "2^10", "1_000", "1,000"])
def test_the_command_takes_numbers_of_classes_as_other_commands_do(word: str) -> None:
    number = {"inf": "NULL", "2^10": "1024"}.get(word, "1000")
    assert f"CAST({number} AS DOUBLE) AS m" in toplist_here("sql", "p", "--dialect", "duckdb", "-c", word).stdout


@pytest.mark.parametrize("size", [True, None, 2.5, float("nan"), -1, [3]])
def test_numbers_of_classes_that_make_no_sense_are_refused(size: Any) -> None:
    with pytest.raises(tl.TopListError, match="n_classes is"):
        query("p", dialect="duckdb", n_classes=size)


@pytest.mark.parametrize("tables", [[], {}, ["a", "a"], 3, "", {"a": 3}, {3: "a"}])
def test_tables_that_make_no_sense_are_refused(tables: Any) -> None:
    with pytest.raises(tl.TopListError, match="tables"):
        query(tables, dialect="duckdb", n_classes=3)


def test_the_command_offers_what_the_library_knows() -> None:
    from toplist.cli import sql

    assert (tuple(DIALECTS), tuple(PRECISIONS)) == (sql.DIALECTS, sql.PRECISIONS)
