"""Functions of DuckDB score as `toplist.score` does, to the last bit, row by row and in aggregates."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import toplist as tl
from tests.integrations.lists import REFUSED, Row, rows, table
from toplist.integrations.duckdb import register
from toplist.scoring.rules import RULES

duckdb = pytest.importorskip("duckdb", reason="needs duckdb")
POWER = tl.Power(1.5)


@pytest.fixture(scope="module")
def connection() -> Iterator[Any]:
    made = duckdb.connect()
    register(made, {"toplist_power": POWER})
    yield made
    made.close()


def asked(connection: Any, query: str, data: pa.Table | None = None) -> list[Any]:
    if data is not None:
        connection.register("rows", data)
    return connection.execute(query).fetchall()


def scores(connection: Any, data: pa.Table, function: str = "toplist_brier") -> list[Any]:
    query = f"SELECT {function}(classes, confidences, outcome, m) FROM rows ORDER BY number"  # noqa: S608
    return [one for (one,) in asked(connection, query, data)]


@given(st.data(), st.booleans(), st.booleans())
def test_each_row_has_the_score_of_its_list_to_the_last_bit(connection: Any, data: Any, text: bool, same: bool) -> None:
    found = data.draw(rows(text=text, same_m=same))
    assert scores(connection, table(found, text=text)) == [row.score("brier") for row in found]


@pytest.mark.parametrize("name", [*RULES, "power"])
def test_every_rule_has_a_function(connection: Any, name: str) -> None:
    found = [Row([2, 0, 1], [0.5, 0.3, 0.1], outcome, 6) for outcome in range(6)]
    rule = POWER if name == "power" else name
    function = f"toplist_{name.replace('-', '_')}"
    assert scores(connection, table(found, text=False), function) == [row.score(rule) for row in found]


def test_an_infinite_score_is_one(connection: Any) -> None:
    assert asked(connection, "SELECT toplist_log(['a'], [1.0], 'b', 3)") == [(math.inf,)]


def test_an_invalid_list_pays_the_penalty(connection: Any) -> None:
    found = [Row(["a", "b"], [0.6, 0.01], "b", 5)]
    assert not tl.TopList({"a": 0.6, "b": 0.01}, 5).is_valid()
    assert scores(connection, table(found, text=True)) == [found[0].score("brier")]


def test_an_empty_list_is_a_reject_and_null_is_null(connection: Any) -> None:
    query = "SELECT toplist_brier([], [], 'a', 5), toplist_brier([], [], 3, 5), toplist_brier(NULL, [], 'a', 5)"
    reject = Row([], [], 3, 5).score("brier")
    assert reject == pytest.approx(0.8)
    assert asked(connection, query) == [(reject, reject, None)]


def test_literals_of_sql_are_numbers(connection: Any) -> None:
    """0.6 is a decimal there."""
    (found,) = asked(connection, "SELECT toplist_brier(['cat', 'dog'], [0.6, 0.3], 'dog', 5)")
    assert found == (Row(["cat", "dog"], [0.6, 0.3], "dog", 5).score("brier"),)


@pytest.mark.parametrize("kind", [pa.int8(), pa.uint16(), pa.int32(), pa.uint64()], ids=str)
def test_codes_may_have_any_type_of_integers(connection: Any, kind: Any) -> None:
    found = [Row([2, 0], [0.5, 0.3], outcome, 4) for outcome in range(4)]
    assert scores(connection, table(found, text=False, whole=kind)) == [row.score("brier") for row in found]


def test_single_precision_is_scored_as_such(connection: Any) -> None:
    p = np.full((1, 10), 0.1, np.float32)  # their sum, in double precision, is above one
    found = [Row(list(range(10)), p[0].tolist(), 3, 10)]
    expected = tl.score(tl.TopLists.from_topk([range(10)], p, 10), [3])[0]
    assert scores(connection, table(found, text=False, numbers=pa.float32())) == [expected]


def test_classes_may_be_of_an_enumeration(connection: Any) -> None:
    query = """
        SELECT toplist_brier(['b', 'a']::ENUM('a', 'b', 'c')[], [0.5, 0.2], 'a'::ENUM('a', 'b', 'c'), 3),
               toplist_brier(['b', 'a'], [0.5, 0.2], 'a', 3::HUGEINT)
    """
    ((one, other),) = asked(connection, query)
    assert one == other == Row(["b", "a"], [0.5, 0.2], "a", 3).score("brier")


def test_means_by_group_are_those_of_the_scores(connection: Any) -> None:
    """More rows than DuckDB hands over at a time."""
    rng = np.random.default_rng(0)
    n, m = 10_000, 50
    t = -np.sort(-rng.dirichlet(np.ones(4), n)[:, :3], axis=1)
    c = rng.permuted(np.tile(np.arange(m), (n, 1)), axis=1)[:, :3]
    y, group = rng.integers(0, m, n), rng.integers(0, 5, n)
    data = pa.table(
        {
            "classes": pa.array([[f"species {one}" for one in row] for row in c]),
            "confidences": pa.array(t.tolist()),
            "outcome": [f"species {one}" for one in y],
            "genus": group,
        }
    )
    query = """
        SELECT genus, avg(toplist_log(classes, confidences, outcome, 50)) FROM rows GROUP BY genus ORDER BY genus
    """
    expected = tl.score(tl.TopLists.from_topk(c, t, m), y, rule="log")
    for genus, mean in asked(connection, query, data):
        assert mean == pytest.approx(expected[group == genus].mean(), rel=1e-12)
    where = "SELECT count(*) FROM rows WHERE toplist_log(classes, confidences, outcome, 50) > 4"
    assert asked(connection, where) == [(int((expected > 4).sum()),)]


def test_names_of_other_rows_do_not_count_against_m(connection: Any) -> None:
    """Questions with answers of their own: many names, of which each row has few."""
    found = [Row([f"{q} yes", f"{q} no"], [0.7, 0.2], f"{q} no", 3) for q in range(100)]
    assert scores(connection, table(found, text=True)) == [row.score("brier") for row in found]


@pytest.mark.parametrize(("classes", "confidences", "outcome", "m", "said"), REFUSED)
def test_what_cannot_be_scored_is_an_error_that_shows_the_row(
    connection: Any, classes: Any, confidences: Any, outcome: Any, m: Any, said: str
) -> None:
    names = ("classes", "confidences", "outcome", "m")
    columns = [pa.array([value] * 3) for value in (classes, confidences, outcome, m)]
    data = pa.table({"number": [0, 1, 2], **dict(zip(names, columns, strict=True))})
    with pytest.raises(duckdb.Error, match=f"(?s){said}"):
        scores(connection, data)


def test_a_wrong_number_of_arguments_is_refused(connection: Any) -> None:
    with pytest.raises(duckdb.Error, match="toplist_brier takes classes, confidences, outcome and m, not 3 arguments"):
        asked(connection, "SELECT toplist_brier(['a'], [0.5], 'a')")


@pytest.mark.parametrize(("name", "rule"), [("a b", "log"), ("1a", "log"), (3, "log"), ("mine", "bier")])
def test_names_and_rules_that_do_not_exist_are_refused(name: Any, rule: str) -> None:
    with duckdb.connect() as made, pytest.raises(tl.TopListError, match=r"letters, digits and _|brier"):
        register(made, {name: rule})


def test_registering_imports_duckdb_nowhere_else() -> None:
    assert "duckdb" not in vars(sys.modules["toplist.integrations.duckdb"])
