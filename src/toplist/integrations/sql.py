"""Queries that compute mean scores of top lists inside a warehouse: DuckDB, Spark, BigQuery, Snowflake.

A query is text; nothing is run here. What differs between the dialects is a record of expressions, one per quantity;
the rest of the query is the same for all. Names of the caller are quoted, and stand only where rows are selected: what
follows uses fixed names.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any, Final

from toplist._text import argument, did_you_mean, listed, quote
from toplist.errors import TopListError

_PLAIN = re.compile(r"[A-Za-z_][\w$]*", re.ASCII)
_EXACT: Final = 2**53  # whole numbers up to this are exact in floating point
_DOUBLE: Final = ("1e-8", "1e-9", "1.11e-16", "GREATEST(1e-12, k * 2.22e-16)")
_SINGLE: Final = (
    "GREATEST(1e-6, k * 2.384185791015625e-07)",
    "1e-5",
    "5.97e-8",
    "GREATEST(1e-6, k * 2.384185791015625e-07)",
)
PRECISIONS: Final = {"double": _DOUBLE, "single": _SINGLE}
"""How far numbers may be off: a mass from one; a confidence below the proxy, relatively; a confidence; a rest mass."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialect:
    """What a dialect of SQL writes in its own way.

    Expressions are about the columns `classes`, `confidences` and `outcome` of one row. They raise no error for any
    row, and ignore entries of lists that are NULL.
    """

    name: Callable[[str], str]  # quotes an identifier
    text: Callable[[str], str]  # quotes a string
    path: Callable[[str], str] | None  # a file as a table, where there is such a thing
    string: str  # the type of text
    double: str  # the type of floating-point numbers
    classes: str = "{}"  # a column with lists of classes
    lists: str = "{}"  # a column with lists of confidences
    length: str  # of confidences
    named: str  # the number of classes listed
    distinct: str  # how many different classes are listed
    unnamed: str  # whether a class is NULL
    unusable: str  # whether a confidence is NULL, NaN, negative or infinite
    mass: str
    squares: str
    least: str
    hit: str  # whether the outcome is listed
    of_outcome: str  # its confidence


def query(
    tables: Any,
    *,
    dialect: str,
    n_classes: Any,
    truth: Any = None,
    case: str | None = None,
    class_column: str = "classes",
    confidence: str = "confidences",
    outcome: str = "outcome",
    weight: str | None = None,
    group: str | None = None,
    precision: str = "double",
) -> str:
    """Write the query that computes mean Brier and logarithmic scores of top lists inside a warehouse.

    The result has a row for each model and group: the number of cases, the mean padded Brier score, the mean
    logarithmic score of the cases where it is finite and how many are infinite, the share of outcomes that are listed,
    how many lists are invalid, how many rows are malformed. A list is invalid if a listed confidence is below the share
    of the rest mass that each unlisted class gets; SQL has no largest valid sublist. Where a list is invalid or a row
    is malformed, the scores are NULL and `reason` says why. Sums are floating-point sums; those of `toplist` are exact.

    Parameters
    ----------
    tables : str, sequence or mapping
        The table with a list per case, or several models: a list of tables, or a mapping from their names. The parts of
        a name such as schema.table are separated by dots; a tuple of parts may have dots in them. In DuckDB and Spark a
        name that ends in .parquet is a file or a pattern.
    dialect : {"duckdb", "spark", "bigquery", "snowflake"}
        The dialect of SQL.
    n_classes : int, float or str
        The number of classes, `math.inf`, or the column with that number.
    truth : str or tuple of str, optional
        The table with the outcomes, weights, groups and numbers of classes; by default they are in each table of
        predictions.
    case : str, optional
        The column with the id of a case, by which predictions are joined with the truth.
    class_column, confidence, outcome : str
        The columns with the classes of a list, their confidences, and the class that came true.
    weight, group : str, optional
        The columns with the weight and the group of a case.
    precision : {"double", "single"}, default "double"
        What the confidences were rounded to, which decides how far a mass may be above one.

    Returns
    -------
    str
        The query, with comments in front.

    Raises
    ------
    TopListError
        If something is missing or cannot be a name.

    Examples
    --------
    >>> import duckdb
    >>> lists = "SELECT ['cat', 'dog'] AS classes, [0.6, 0.3] AS confidences, 'dog' AS outcome"
    >>> connection = duckdb.connect()
    >>> _ = connection.execute(f"CREATE TABLE predictions AS {lists}")
    >>> found = connection.execute(query("predictions", dialect="duckdb", n_classes=5))
    >>> [column[0] for column in found.description]
    ['model', 'cases', 'brier', 'log', 'infinite', 'coverage', 'invalid', 'malformed', 'reason']
    >>> model, cases, brier, log, *_ = found.fetchone()
    >>> model, cases, round(brier, 6), round(log, 4)
    ('predictions', 1, 0.853333, 1.204)
    >>> connection.close()
    """
    sql = _chosen("dialect", dialect, DIALECTS)
    tolerances = _chosen("precision", precision, PRECISIONS)
    models = _models(tables)
    if (truth is None) != (case is None):
        lacks, has = ("case", "truth") if case is None else ("truth", "case")
        raise TopListError(
            f"{argument(has)} goes with {argument(lacks)}: predictions are joined with the truth by the id of a case."
        )
    columns = {"class_column": class_column, "confidence": confidence, "outcome": outcome}
    columns |= {key: name for key, name in (("weight", weight), ("group", group), ("case", case)) if name is not None}
    quoted = {key: sql.name(_named(key, name)) for key, name in columns.items()}
    quoted["m"] = _size(sql, n_classes)
    facts = None if truth is None else _table(sql, truth, "truth")
    rows = [
        _rows(sql, sql.text(_named("tables", name)), _table(sql, table, "tables"), quoted, facts)
        for name, table in models.items()
    ]
    return _COMMENT + _query(sql, tolerances, "\n    UNION ALL\n".join(rows), grouped=group is not None)


_COMMENT = """\
-- Mean padded Brier and logarithmic scores of top lists, written by toplist sql.
-- Sums are floating-point sums: their last digits depend on the order of the rows.
-- SQL has no largest valid sublist: where a listed confidence is below the share of the rest mass that each unlisted
-- class gets, or a row is malformed, the scores are NULL and the column reason says why.
-- Classes are compared as they are written. An outcome that is not listed counts as one of the unlisted classes.
-- Exact sums, scores of invalid lists, intervals and tests: toplist partial FILES --truth FILE --classes NUMBER
-- -o part.tlp for each part of the data, then toplist merge *.tlp
"""


def _chosen(what: str, word: Any, known: Mapping[str, Any]) -> Any:
    if not isinstance(word, str) or word not in known:
        near = did_you_mean(word, known) if isinstance(word, str) else ""
        raise TopListError(f"{what} is {', '.join(known)}, not {quote(word)}.{near}")
    return known[word]


def _models(tables: Any) -> dict[str, Any]:
    """Tables by the name of the model."""
    if isinstance(tables, Mapping):
        models = dict(tables)
    else:
        every = tables if isinstance(tables, list) else [tables]
        models = {".".join(one) if isinstance(one, tuple) else one: one for one in every}
        if len(models) < len(every):
            raise TopListError(f"tables name a model twice: {listed([str(one) for one in every])}.")
    if not models:
        raise TopListError("tables must be one or more.")
    return models


def _named(what: str, name: Any) -> str:
    """A name that can be quoted."""
    if not isinstance(name, str) or not name.strip():
        raise TopListError(f"{what} must be a name in SQL, not {quote(name)}.")
    if any(unicodedata.category(sign) in ("Cc", "Cs", "Zl", "Zp") for sign in name):
        raise TopListError(f"{what} {quote(name)} has a control character in it: name a view that has none.")
    return name


def _table(sql: Dialect, table: Any, what: str) -> str:
    """A table with the parts of its name quoted, or a file."""
    if isinstance(table, str) and PurePosixPath(table).suffix.lower() == ".parquet":
        if sql.path is None:
            raise TopListError(
                f"{what} {quote(table)} is a file, which only queries of DuckDB and Spark read: name a table."
            )
        return sql.path(_named(what, table))
    parts = table if isinstance(table, tuple) else _named(what, table).split(".")
    return ".".join(sql.name(_named(what, part)) for part in parts)


def _size(sql: Dialect, n_classes: Any) -> str:
    """The number of classes: a number as text, "inf", or a quoted column."""
    if isinstance(n_classes, str):
        return sql.name(_named("n_classes", n_classes))
    if isinstance(n_classes, bool) or not isinstance(n_classes, int | float):
        raise TopListError(
            f"n_classes is the number of classes, inf, or the column that has it, not {quote(n_classes)}."
        )
    if n_classes == math.inf:
        return ""
    if not n_classes >= 1 or n_classes != int(n_classes):
        raise TopListError(f"n_classes is a whole number from 1 on, not {n_classes!r}.")
    if n_classes > _EXACT:
        raise TopListError(
            f"n_classes {quote(n_classes)} is above 2^53, where numbers of SQL are not exact: score with "
            "toplist partial."
        )
    return str(int(n_classes))


def _rows(sql: Dialect, model: str, table: str, quoted: Mapping[str, str], truth: str | None) -> str:
    """The rows of one model under fixed names; `unmatched` says why a row has no counterpart in the truth."""
    lists = {"classes": sql.classes.format(quoted["class_column"]), "confidences": quoted["confidence"]}
    lists["confidences"] = sql.lists.format(lists["confidences"])
    facts = {
        "outcome": quoted["outcome"],
        "weight": f"CAST({quoted.get('weight', '1')} AS {sql.double})",
        "m": f"CAST({quoted['m'] or 'NULL'} AS {sql.double})",
    }
    if "group" in quoted:
        facts[sql.name(_GROUP)] = quoted["group"]
    own = f"{model} AS model,\n        {'FALSE' if quoted['m'] else 'TRUE'} AS unlimited"
    if truth is None:
        return (
            f"    SELECT\n        {own},\n        {_selected({**lists, **facts})},\n"
            f"        CAST(NULL AS {sql.string}) AS unmatched\n    FROM {table}"
        )
    key = {"id": quoted["case"], "times": f"COUNT(*) OVER (PARTITION BY {quoted['case']})"}
    columns = ", ".join([*lists, *facts])
    return f"""\
    SELECT
        {own},
        {columns},
        CASE
            WHEN facts.times IS NULL THEN 'a prediction has no case in the truth'
            WHEN lists.times IS NULL THEN 'a case has no prediction'
            WHEN lists.times > 1 OR facts.times > 1 THEN 'a case is there twice'
        END AS unmatched
    FROM (
        SELECT
        {_selected({**key, **lists})}
        FROM {table}
    ) AS lists
    FULL OUTER JOIN (
        SELECT
        {_selected({**key, **facts})}
        FROM {truth}
    ) AS facts ON lists.id = facts.id"""  # noqa: S608


_GROUP = "group"


def _selected(columns: Mapping[str, str]) -> str:
    """Expressions under their names."""
    return ",\n        ".join(f"{expression} AS {name}" for name, expression in columns.items())


def _query(sql: Dialect, tolerances: tuple[str, str, str, str], rows: str, *, grouped: bool) -> str:
    """From rows under fixed names to the result."""
    mass_off, share, entry, rest_off = tolerances
    keys = f"model, {sql.name(_GROUP)}" if grouped else "model"
    return f"""\
WITH given AS (
{rows}
),
measured AS (
    SELECT
        {keys}, weight, m, unlimited, unmatched,
        classes IS NULL OR confidences IS NULL OR outcome IS NULL AS absent,
        {sql.length} AS k,
        {sql.named} AS named,
        {sql.distinct} AS different,
        {sql.unnamed} AS unnamed,
        {sql.unusable} AS unusable,
        COALESCE({sql.mass}, 0) AS mass,
        COALESCE({sql.squares}, 0) AS squares,
        COALESCE({sql.least}, 0) AS least,
        COALESCE({sql.hit}, FALSE) AS hit,
        {sql.of_outcome} AS of_outcome
    FROM given
),
checked AS (
    SELECT
        *,
        CASE
            WHEN unmatched IS NOT NULL THEN unmatched
            WHEN absent THEN 'a list or an outcome is NULL'
            WHEN named <> k THEN 'there are not as many classes as confidences'
            WHEN unnamed THEN 'a class is NULL'
            WHEN unusable THEN 'a confidence is NULL, NaN, infinite or negative'
            WHEN different < named THEN 'a class is listed twice'
            WHEN NOT unlimited AND (m IS NULL OR NOT (m >= 1 AND m <= {_EXACT}) OR m <> FLOOR(m))
                THEN 'the number of classes is not a whole number from 1 on'
            WHEN NOT unlimited AND k > m THEN 'more classes are listed than there are'
            WHEN mass > 1 + {mass_off} THEN 'confidences sum to more than 1'
            WHEN NOT unlimited AND k = m AND mass < 1 - {mass_off}
                THEN 'all classes are listed and their confidences do not sum to 1'
            WHEN NOT unlimited AND k = m AND NOT hit THEN 'all classes are listed and the outcome is none of them'
            WHEN weight IS NULL OR NOT (weight >= 0 AND weight <= 1e300)
                THEN 'a weight is NULL, NaN, infinite or negative'
        END AS problem,
        CASE WHEN mass > 1 OR (NOT unlimited AND k = m) THEN NULLIF(mass, 0) ELSE 1 END AS scale,
        CASE WHEN (NOT unlimited AND k = m) OR 1 - mass <= k * 2.220446049250313e-16 THEN 0 ELSE 1 - mass END AS rest,
        CASE WHEN NOT unlimited AND m > k THEN m - k END AS unlisted
    FROM measured
),
scored AS (
    SELECT
        {keys}, weight, hit, problem,
        CASE
            WHEN problem IS NULL AND k > 0
                AND least < rest / unlisted * (1 - {share}) - 1e-15
                AND least * (1 + {entry}) + 1e-15 < (rest - {rest_off}) / unlisted
            THEN 1 ELSE 0
        END AS invalid,
        squares / (scale * scale) + COALESCE(rest * rest / unlisted, 0) + 1
            - 2 * CASE WHEN hit THEN of_outcome / scale ELSE COALESCE(rest / unlisted, 0) END AS brier,
        CASE
            WHEN hit THEN LN(scale) - LN(CASE WHEN of_outcome > 0 THEN of_outcome END)
            ELSE LN(unlisted) - LN(CASE WHEN rest > 0 THEN rest END)
        END AS log
    FROM checked
),
summed AS (
    SELECT
        {keys},
        COUNT(*) AS cases,
        SUM(weight) AS weight,
        SUM(weight * brier) AS brier,
        SUM(CASE WHEN log IS NOT NULL THEN weight END) AS finite_weight,
        SUM(weight * log) AS log,
        SUM(CASE WHEN log IS NULL AND problem IS NULL AND invalid = 0 THEN 1 ELSE 0 END) AS infinite,
        SUM(CASE WHEN hit THEN weight ELSE 0 END) AS hits,
        SUM(invalid) AS invalid,
        SUM(CASE WHEN problem IS NULL THEN 0 ELSE 1 END) AS malformed,
        MIN(problem) AS problem
    FROM scored
    GROUP BY {keys}
)
SELECT
    {keys},
    cases,
    CASE WHEN malformed = 0 AND invalid = 0 THEN brier / NULLIF(weight, 0) END AS brier,
    CASE WHEN malformed = 0 AND invalid = 0 THEN log / NULLIF(finite_weight, 0) END AS log,
    infinite,
    CASE WHEN malformed = 0 AND invalid = 0 THEN hits / NULLIF(weight, 0) END AS coverage,
    invalid,
    malformed,
    CASE
        WHEN malformed > 0 THEN problem
        WHEN invalid > 0 THEN 'a listed confidence is below the share of an unlisted class: score with toplist partial'
        WHEN weight = 0 THEN 'all weights are zero'
    END AS reason
FROM summed
ORDER BY {keys}
"""  # noqa: S608


def _doubled(mark: str) -> Callable[[str], str]:
    """Quote with a mark, which is doubled inside."""
    return lambda name: mark + name.replace(mark, mark * 2) + mark


def _escaped(mark: str) -> Callable[[str], str]:
    """Quote with a mark; it and backslashes get a backslash inside."""
    return lambda name: mark + name.replace("\\", "\\\\").replace(mark, "\\" + mark) + mark


def _snowflake_name(name: str) -> str:
    """Names that need no quotes are in upper case there; one in double quotes is taken as it is."""
    if len(name) > 2 and name[0] == name[-1] == '"':
        return _doubled('"')(name[1:-1])
    return _doubled('"')(name.upper() if _PLAIN.fullmatch(name) else name)


DIALECTS: Final = {
    "duckdb": Dialect(
        name=_doubled('"'),
        text=_doubled("'"),
        path=lambda name: f"read_parquet({_doubled(chr(39))(name)})",
        string="VARCHAR",
        double="DOUBLE",
        lists="CAST({} AS DOUBLE[])",
        length="len(confidences)",
        named="len(classes)",
        distinct="list_unique(classes)",
        unnamed="list_count(classes) < len(classes)",
        unusable=(
            "list_count(confidences) < len(confidences) OR "
            "COALESCE(NOT (list_min(confidences) >= 0 AND list_max(confidences) <= 2), FALSE)"
        ),
        mass="list_sum(confidences)",
        squares="list_sum(list_transform(confidences, lambda x: x * x))",
        least="list_min(confidences)",
        hit="list_contains(classes, outcome)",
        of_outcome="confidences[list_position(classes, outcome)]",
    ),
    "spark": Dialect(
        name=_doubled("`"),
        text=_escaped("'"),
        path=lambda name: f"parquet.{_doubled('`')(name)}",
        string="STRING",
        double="DOUBLE",
        lists="CAST({} AS ARRAY<DOUBLE>)",
        length="size(confidences)",
        named="size(classes)",
        distinct="size(array_distinct(classes))",
        unnamed="exists(classes, x -> x IS NULL)",
        unusable="exists(confidences, x -> x IS NULL OR NOT (x >= 0 AND x <= 2))",
        mass="aggregate(confidences, CAST(0 AS DOUBLE), (a, x) -> a + COALESCE(x, 0))",
        squares="aggregate(confidences, CAST(0 AS DOUBLE), (a, x) -> a + COALESCE(x * x, 0))",
        least="array_min(confidences)",
        hit="array_contains(classes, outcome)",
        of_outcome="get(confidences, CAST(array_position(classes, outcome) AS INT) - 1)",
    ),
    "bigquery": Dialect(
        name=_escaped("`"),
        text=_escaped("'"),
        path=None,
        string="STRING",
        double="FLOAT64",
        length="ARRAY_LENGTH(confidences)",
        named="ARRAY_LENGTH(classes)",
        distinct="(SELECT COUNT(DISTINCT x) FROM UNNEST(classes) AS x)",
        unnamed="EXISTS(SELECT 1 FROM UNNEST(classes) AS x WHERE x IS NULL)",
        unusable="EXISTS(SELECT 1 FROM UNNEST(confidences) AS x WHERE x IS NULL OR NOT (x >= 0 AND x <= 2))",
        mass="(SELECT SUM(CAST(x AS FLOAT64)) FROM UNNEST(confidences) AS x WHERE x >= 0 AND x <= 2)",
        squares=(
            "(SELECT SUM(CAST(x AS FLOAT64) * CAST(x AS FLOAT64)) FROM UNNEST(confidences) AS x "
            "WHERE x >= 0 AND x <= 2)"
        ),
        least="(SELECT MIN(CAST(x AS FLOAT64)) FROM UNNEST(confidences) AS x)",
        hit="EXISTS(SELECT 1 FROM UNNEST(classes) AS x WHERE x = outcome)",
        of_outcome=(
            "(SELECT MAX(CAST(confidences[SAFE_OFFSET(place)] AS FLOAT64)) FROM UNNEST(classes) AS x "
            "WITH OFFSET AS place WHERE x = outcome)"
        ),
    ),
    "snowflake": Dialect(
        name=_snowflake_name,
        text=lambda name: _doubled("'")(name.replace("\\", "\\\\")),
        path=None,
        string="VARCHAR",
        double="DOUBLE",
        classes="CAST({} AS ARRAY)",
        lists="CAST({} AS ARRAY)",
        length="ARRAY_SIZE(confidences)",
        named="ARRAY_SIZE(classes)",
        distinct="ARRAY_SIZE(ARRAY_DISTINCT(classes))",
        unnamed="ARRAY_SIZE(ARRAY_COMPACT(classes)) < ARRAY_SIZE(classes)",
        unusable=(
            "ARRAY_SIZE(FILTER(confidences, x -> CAST(x AS DOUBLE) IS NULL "
            "OR NOT (CAST(x AS DOUBLE) >= 0 AND CAST(x AS DOUBLE) <= 2))) > 0"
        ),
        mass="REDUCE(confidences, CAST(0 AS DOUBLE), (a, x) -> a + COALESCE(CAST(x AS DOUBLE), 0))",
        squares=(
            "REDUCE(confidences, CAST(0 AS DOUBLE), (a, x) -> a + COALESCE(CAST(x AS DOUBLE) * CAST(x AS DOUBLE), 0))"
        ),
        least="CAST(ARRAY_MIN(confidences) AS DOUBLE)",
        hit="ARRAY_CONTAINS(TO_VARIANT(outcome), classes)",
        of_outcome="CAST(confidences[ARRAY_POSITION(TO_VARIANT(outcome), classes)] AS DOUBLE)",
    ),
}
"""The dialects by name."""

__all__ = ["query"]
