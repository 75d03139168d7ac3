"""`toplist sql`: print the query that computes mean scores inside a warehouse."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import typer

from toplist.cli.options import command, option, positional, space_of
from toplist.cli.output import UsageError, of_flags

DIALECTS = ("duckdb", "spark", "bigquery", "snowflake")
PRECISIONS = ("double", "single")
_NUMBER = re.compile(r"\d[\d_,]*|2(\^|\*\*)\d+|inf(inity|inite)?", re.IGNORECASE)
_COLUMN = {"metavar": "COLUMN", "rich_help_panel": "Columns"}


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
    case: str | None = option(None, "Id of a case, to join predictions with --truth.", **_COLUMN)
    class_column: str = option("classes", "Classes of a list.", **_COLUMN)
    confidence: str = option("confidences", "Confidences of a list.", **_COLUMN)
    outcome: str = option("outcome", "Class that came true.", **_COLUMN)
    weight: str | None = option(None, "Weight of a case.", **_COLUMN)
    group: str | None = option(None, "Group of a case: a row of the result for each.", **_COLUMN)


@command(
    examples=(
        "toplist sql predictions --dialect snowflake --classes 1000 > scores.sql",
        "toplist sql a.parquet b.parquet --truth y.parquet --case id --dialect duckdb -c 1000",
        "toplist sql old=lake.old new=lake.new -t lake.truth --case id --group site --dialect spark -c n_options",
    ),
)
def sql(options: QueryOptions) -> None:
    """Print an SQL query for mean Brier and log scores of list columns inside a warehouse."""
    from toplist.integrations.sql import query

    columns = ("case", "class_column", "confidence", "outcome", "weight", "group")
    with of_flags(("truth", "n_classes", *columns)):
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
    return space_of(text, None)[0] if _NUMBER.fullmatch(text.strip()) else text
