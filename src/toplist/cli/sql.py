"""`toplist sql`: print the query that computes mean scores inside a warehouse."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import typer

from toplist.cli.options import command, option, positional, space_of
from toplist.cli.output import UsageError, of_flags

DIALECTS = ("duckdb", "spark", "bigquery", "snowflake")
PRECISIONS = ("double", "single")
_COLUMNS = "Columns"


def _column(default: str | None, about: str) -> Any:
    return option(default, about, metavar="COLUMN", rich_help_panel=_COLUMNS)


@dataclass(frozen=True, kw_only=True)
class QueryOptions:
    """The options of `toplist sql`."""

    tables: list[str] = positional("TABLES...", "Tables with a list per case, one per model; NAME=TABLE names it.")
    dialect: str = option(..., f"Dialect of SQL: {', '.join(DIALECTS)}.", choices=DIALECTS, metavar="DIALECT")
    classes: str = option(..., "Number of classes: a number, 2^L, inf, or a column.", "-c", metavar="NUMBER|COLUMN")
    truth: str | None = option(
        None, "Table with the outcomes; by default they are in the tables.", "-t", metavar="TABLE"
    )
    precision: str = option(
        "double", "What confidences were rounded to: double or single.", choices=PRECISIONS, metavar="PRECISION"
    )
    case: str | None = _column(None, "Id of a case, to join predictions with --truth.")
    class_column: str = _column("classes", "Classes of a list.")
    confidence: str = _column("confidences", "Confidences of a list.")
    outcome: str = _column("outcome", "Class that came true.")
    weight: str | None = _column(None, "Weight of a case.")
    group: str | None = _column(None, "Group of a case: a row of the result for each.")


@command(
    examples=(
        "toplist sql predictions --dialect snowflake --classes 1000 > scores.sql",
        "toplist sql a.parquet b.parquet --truth y.parquet --case id --dialect duckdb -c 1000 | duckdb",
        "toplist sql old=lake.old new=lake.new -t lake.truth --case id --group site --dialect spark -c n_options",
    ),
)
def sql(options: QueryOptions) -> None:
    """Print an SQL query with mean Brier and log scores of list columns, for a warehouse.

    Its sums are floating-point sums, and it gives no scores where a list is invalid; toplist partial and toplist merge
    add exactly.
    """
    from toplist.integrations.sql import query

    columns = ("case", "class_column", "confidence", "outcome", "weight", "group")
    with of_flags(("dialect", "precision", "truth", "n_classes", *columns)):
        text = query(
            _models(options.tables),
            dialect=options.dialect,
            n_classes=_size(options.classes),
            truth=options.truth,
            precision=options.precision,
            **{name: getattr(options, name) for name in columns},
        )
    typer.echo(text, nl=False)


def _models(words: Sequence[str]) -> dict[str, str]:
    """Tables by the name of the model, which is that of the table unless it is typed."""
    models: dict[str, str] = {}
    for word in words:
        name, mark, table = word.partition("=")
        if name in models:
            raise UsageError(f"TABLES: the model {name!r} is there twice. Name them, as in old=TABLE.")
        models[name] = table if mark else word
    return models


def _size(text: str) -> Any:
    """A number of classes, or the column that has it."""
    word = text.strip()
    return space_of(word, None)[0] if word[:1].isdigit() or word.lower() == "inf" else text
