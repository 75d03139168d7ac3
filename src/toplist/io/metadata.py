"""Columns of the truth beside the outcomes: weights, groups, clusters and times of the cases."""

from __future__ import annotations

import re
from collections.abc import Sequence, Sized
from typing import Any

import numpy as np
from numpy.typing import NDArray

from toplist._optional import need
from toplist._text import quote
from toplist.errors import AlignmentError, FileError
from toplist.io.batches import Batch
from toplist.io.columns import as_numpy, numbers, plain
from toplist.scoring.case_scores import Grouping

REMEDY = "write numbers, or dates that begin with the year, such as 2024-01-31"
_YEAR = re.compile(r"\d{4}(?!\d{3})", re.ASCII)


def untimely(values: Sequence[str]) -> str | None:
    """The first of these texts that may stand in the wrong place if they are sorted; None if all are in order.

    Dates that begin with the year and are equally long sort as they follow each other.

    >>> untimely(["2024-01-31", "2023-12-01"]), untimely(["2024-01-31", "31/1/2024"]), untimely(["2024-W5", "2024-W10"])
    (None, '31/1/2024', '2024-W10')
    """
    return next((text for text in values if not _YEAR.match(text) or len(text) != len(values[0])), None)


BLANK = "(blank)"  # a group of those of whom nothing is said
MOST_GROUPS = 10_000
_CALLED_SO = re.compile(r"'*\(blank\)'*", re.ASCII)  # what is called that itself gets a pair of quotes


def filled(truth: Batch, name: str, what: str) -> Any:
    """A column that says something of every case: when it was, or what it belongs to."""
    column = plain(truth.extra[name])
    blank = as_numpy(_is_blank(column))
    if blank.any():
        at = int(np.argmax(blank))
        raise FileError(truth.source, f"there is no {what} in {quote(name)}.", row=int(truth.rows[at]))
    return column


def _is_blank(column: Any) -> Any:
    """Nothing, NaN, or text that says no more."""
    types, pc = need("pyarrow").types, need("pyarrow.compute")
    nothing = column.is_null(nan_is_null=True)
    if not (types.is_string(column.type) or types.is_large_string(column.type)):
        return nothing
    said = pc.utf8_lower(pc.utf8_trim_whitespace(column))
    empty = pc.or_(pc.equal(said, ""), pc.equal(said, "nan"))
    return pc.or_(nothing, pc.fill_null(empty, True))


def in_time(column: Any, name: str) -> NDArray[np.int64]:
    """The place of each case in time: numbers and dates by size; text as numbers if all of it is, or else as dates."""
    pa, pc = need("pyarrow"), need("pyarrow.compute")
    if pa.types.is_nested(column.type):
        raise AlignmentError(f"{quote(name)} says the order, and has lists in it, not numbers, dates or text.")
    if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
        column = pc.utf8_trim_whitespace(column)
        try:
            column = pc.cast(column, pa.float64())
        except pa.ArrowInvalid:
            odd = untimely(pc.unique(column).to_pylist())
            if odd is not None:
                raise AlignmentError(
                    f"{quote(name)} says the order, and {quote(odd)} in it does not: {REMEDY}."
                ) from None
    coded = pc.rank(column, sort_keys="ascending", tiebreaker="dense")
    return as_numpy(coded).astype(np.int64) - 1


def weights_of(truth: Batch, name: str) -> NDArray[np.float64]:
    """How much each case counts."""
    column = truth.extra[name]
    values = numbers(column, truth.source, truth.rows, name).astype(np.float64)
    bad = ~(np.isfinite(values) & (values >= 0))
    if bad.any():
        at = int(np.argmax(bad))
        problem = "there is no weight" if not column[at].is_valid else f"the weight is {values[at]:g}"
        raise FileError(truth.source, f"{problem}: weights are numbers, none below zero.", row=int(truth.rows[at]))
    return values


def clusters_in_order(column: Any) -> NDArray[np.int64]:
    """The clusters of cases as numbers, in the order of their names: which row comes first does not show."""
    found, types = groups_of(column), need("pyarrow").types
    if found.codes is None:
        return np.zeros(len(column), np.int64)
    number: Any = str
    if types.is_integer(column.type) or types.is_floating(column.type):
        number = int if types.is_integer(column.type) else float  # whole numbers beyond 2^53 are no doubles
    order = sorted(range(len(found.keys)), key=lambda at: (number(str(found.keys[at])), str(found.keys[at])))
    ranks = np.empty(len(order), np.int64)
    ranks[order] = np.arange(len(order))
    return ranks[found.codes]


def groups_of(column: Any) -> Grouping:
    """Cases by what a column says of them; where it says nothing, that is a group too."""
    pa, pc = need("pyarrow"), need("pyarrow.compute")
    if pa.types.is_nested(column.type):
        raise AlignmentError("groups and clusters are columns of text or numbers, not of lists.")
    text = pc.cast(column, pa.string()).dictionary_encode(null_encoding="encode")
    names = [group_name(name) for name in text.dictionary.to_pylist()]
    return Grouping(names, as_numpy(text.indices).astype(np.int32))


def group_name(value: str | None) -> str:
    """What a group is called: one of blanks, and one whose name is that of blanks, are two.

    >>> group_name(None), group_name("a"), group_name("(blank)"), group_name("'(blank)'")
    ('(blank)', 'a', "'(blank)'", "''(blank)''")
    """
    if value is None:
        return BLANK
    return f"'{value}'" if _CALLED_SO.fullmatch(value) else value


def require_few_groups(groups: Sized, name: str | None) -> None:
    """Refuse more groups than a leaderboard can show: each has a table and intervals of its own."""
    if len(groups) > MOST_GROUPS:
        of = f" {quote(name)}" if name else ""
        raise AlignmentError(
            f"the groups by{of} are more than {MOST_GROUPS:,}, too many for a table each: group by a column with fewer "
            "values, such as a range of these."
        )
