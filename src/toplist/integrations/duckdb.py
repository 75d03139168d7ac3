"""Functions for DuckDB that score top lists in a query."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from toplist._text import quote
from toplist.errors import TopListError
from toplist.integrations._columns import score_columns
from toplist.scoring.rules import RULES, Rule, as_rule

_NAME = re.compile(r"[A-Za-z_]\w*", re.ASCII)


def register(connection: Any, rules: Mapping[str, Any] | None = None) -> tuple[str, ...]:
    """Give a connection the functions `toplist_brier`, `toplist_log` and so on, which score one top list per row.

    A function takes the classes of the list, their confidences, the outcome and the number of classes:
    `toplist_brier(classes, confidences, outcome, m)`. Classes are VARCHAR, or integers from 0 to m - 1. The score is
    that of `toplist.score`, to the last bit; it is NULL where one of the four is NULL, and an empty list is a reject.
    What cannot be scored is an error that shows the row.

    Parameters
    ----------
    connection : duckdb.DuckDBPyConnection
        A connection, such as `duckdb.connect()`, or the module `duckdb` for its default connection.
    rules : mapping of str to str or Rule, optional
        Further functions: name of the function to scoring rule.

    Returns
    -------
    tuple of str
        The names of the functions.

    Raises
    ------
    TopListError
        If a name cannot be the name of a function, or no such rule exists.

    Examples
    --------
    >>> import duckdb
    >>> import toplist as tl
    >>> connection = duckdb.connect()
    >>> register(connection, {"toplist_power": tl.Power(1.5)})[:3]
    ('toplist_brier', 'toplist_log', 'toplist_spherical')
    >>> connection.execute("SELECT round(toplist_brier(['cat', 'dog'], [0.6, 0.3], 'dog', 5), 6)").fetchone()
    (0.853333,)
    >>> connection.close()
    """
    given = {f"toplist_{name.replace('-', '_')}": made() for name, made in RULES.items()}
    for name, rule in (rules or {}).items():
        if not isinstance(name, str) or not _NAME.fullmatch(name):
            raise TopListError(f"a function of DuckDB has a name of letters, digits and _, not {quote(name)}.")
        given[name] = as_rule(rule)
    for name, rule in given.items():
        connection.create_function(name, _function(name, rule), None, "DOUBLE", type="arrow")
    return tuple(given)


def _function(name: str, rule: Rule) -> Callable[..., Any]:
    def scored(*columns: Any) -> Any:
        if len(columns) != 4:
            raise TopListError(f"{name} takes classes, confidences, outcome and m, not {len(columns)} arguments.")
        return score_columns(*columns, rule)

    return scored


__all__ = ["register"]
