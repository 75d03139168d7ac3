"""Padded scores as an expression of polars: eager, lazy, streaming and in groups."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from toplist._files import load
from toplist.core.arguments import as_whole
from toplist.integrations._columns import NAMES, score_columns
from toplist.scoring.rules import as_rule

if TYPE_CHECKING:
    from polars import Expr, Series


def padded_score(classes: Any, confidences: Any, outcome: Any, m: Any, *, rule: Any = "brier") -> Expr:
    """The padded score of one top list per row, as an expression.

    The score is that of `toplist.score`, to the last bit; it is null where one of the four is null. An empty list is a
    reject. What cannot be scored is an error that shows the row. Confidences are not copied.

    Parameters
    ----------
    classes : str or polars.Expr
        Column of lists with the listed classes: text, or integers from 0 to m - 1.
    confidences : str or polars.Expr
        Column of lists with their confidences.
    outcome : str or polars.Expr
        Column with the outcome of each row.
    m : int, str or polars.Expr
        How many classes there are: a number for all rows, or a column.
    rule : str or Rule, default "brier"
        Scoring rule, by name ("brier", "log", "spherical", "zero-one", "one-vs-rest") or as an instance.

    Returns
    -------
    polars.Expr
        An elementwise expression of type Float64, named `score`.

    Raises
    ------
    TopListError
        If there is no such rule, or m is no number of classes.

    Examples
    --------
    >>> import polars as pl
    >>> frame = pl.DataFrame(
    ...     {"classes": [["cat", "dog"], []], "p": [[0.6, 0.3], []], "y": ["dog", "cat"]}
    ... )
    >>> frame.select(padded_score("classes", "p", "y", 5))["score"].round(6).to_list()
    [0.853333, 0.8]
    """
    pl = load("polars", "an expression of polars needs polars: pip install 'toplist[polars]'.")
    chosen = as_rule(rule)
    given = dict(zip(NAMES, (classes, confidences, outcome, m), strict=True))
    if not isinstance(m, str | pl.Expr):
        given["m"] = pl.lit(as_whole(m, "m, the number of classes,", 1), dtype=pl.Int64)

    def scored(rows: Series) -> Series:
        listed, t, y, size = (rows.struct.field(name).to_arrow() for name in NAMES)
        made: Series = pl.Series("score", score_columns(listed, t, y, size, chosen), dtype=pl.Float64)
        return made

    rows: Expr = pl.struct(**given)
    return rows.map_batches(scored, return_dtype=pl.Float64, is_elementwise=True).alias("score")


__all__ = ["padded_score"]
