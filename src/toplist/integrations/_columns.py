"""Padded scores of columns of Arrow, which is what queries of DuckDB and polars hand over."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from toplist._files import need
from toplist._text import quote
from toplist._typing import Codes
from toplist.errors import CaseError, TopListError
from toplist.io import Column, as_numpy, blanks, decoded, flat_lists, is_list, kind_of, plain, text_if_none, within_case
from toplist.lists import TopLists
from toplist.lists.space import ClassSpace
from toplist.scoring.rules import Rule
from toplist.scoring.scores import score

NAMES = ("classes", "confidences", "outcome", "m")


def score_columns(classes: Any, confidences: Any, outcome: Any, m: Any, rule: Rule) -> Column:
    """The score of each row, as `toplist.score` has it; null where one of the four is null.

    Classes are text, or whole numbers from 0 to m - 1. Columns may be in chunks.
    """
    pa = need("pyarrow")
    columns = [decoded(plain(column)) for column in (classes, confidences, outcome, m)]
    unknown = np.zeros(len(columns[2]), bool)
    for column in columns:
        if column.null_count:
            unknown |= blanks(column)
    if unknown.any():
        known = pa.array(~unknown)
        columns = [column.filter(known) for column in columns]
    scores = _scored(_Rows(*columns), rule) if len(columns[2]) else np.zeros(0)
    if not unknown.any():
        return pa.array(scores)
    filled = np.zeros(len(unknown))
    filled[~unknown] = scores
    return pa.array(filled, mask=unknown)


@dataclass(frozen=True, slots=True)
class _Rows:
    """The four columns; rows can be shown in messages, because a query has no row numbers."""

    classes: Column
    confidences: Column
    outcome: Column
    m: Column

    def values(self, case: int) -> tuple[Any, Any, Any, Any]:
        """What stands in a row."""
        confidences = [t if t is None else float(t) for t in self.confidences[case].as_py()]
        return self.classes[case].as_py(), confidences, self.outcome[case].as_py(), self.m[case].as_py()

    def error(self, case: int, problem: str) -> TopListError:
        """The problem, and the row that has it."""
        shown = ", ".join(f"{name} {quote(value)}" for name, value in zip(NAMES, self.values(case), strict=True))
        return TopListError(f"{problem} This is in the row with {shown}.")

    def explained(self, error: CaseError) -> TopListError:
        """An error of lists with the names of the classes, which they did not know, and with the row."""
        if error.case is None:
            return error
        classes, confidences, outcome, m = self.values(error.case)
        try:
            score(TopLists.from_ragged([0, len(classes)], classes, confidences, int(m)), [outcome])
        except CaseError as named:
            return self.error(error.case, named.problem)
        return self.error(error.case, error.problem)


def _scored(rows: _Rows, rule: Rule) -> NDArray[np.float64]:
    """Scores of rows that have all of the four."""
    at, names = _flat(rows.classes, "classes")
    also, values = _flat(rows.confidences, "confidences")
    if not np.array_equal(at, also):
        case = int(np.argmax(np.diff(at) != np.diff(also)))
        raise rows.error(case, f"there are {np.diff(at)[case]} classes, but {np.diff(also)[case]} confidences.")
    for what, part in (("class", names), ("confidence", values)):
        if part.null_count:
            case = int(np.searchsorted(at, np.flatnonzero(blanks(part))[0], side="right")) - 1
            raise rows.error(case, f"a {what} of the list is NULL: leave out what is not known.")
    size = _sizes(rows)
    codes, y = _codes(names, at, size, rows)
    one = int(size[0])
    try:
        lists = TopLists.from_ragged(at, codes, _numbers(values), ClassSpace(one if (size == one).all() else size))
        found: NDArray[np.float64] = score(lists, y, rule=rule)
    except CaseError as error:
        raise rows.explained(error) from None
    return found


def _flat(column: Column, name: str) -> tuple[NDArray[np.int64], Column]:
    if not is_list(column.type):
        raise TopListError(f"{name} are lists, one per row, not {kind_of(column.type)}.")
    return flat_lists(column)


def _numbers(values: Column) -> NDArray[Any]:
    """Confidences as floats, in the precision that they have."""
    pa = need("pyarrow")
    kind = values.type
    if not (
        pa.types.is_floating(kind) or pa.types.is_integer(kind) or pa.types.is_decimal(kind) or pa.types.is_null(kind)
    ):
        raise TopListError(f"confidences are lists of numbers, not of {kind_of(kind)}.")
    return as_numpy(values if pa.types.is_floating(kind) else values.cast(pa.float64()))


def _sizes(rows: _Rows) -> NDArray[np.int64]:
    """How many classes each row has."""
    pa, kind = need("pyarrow"), rows.m.type
    if not pa.types.is_integer(kind) and not (pa.types.is_decimal(kind) and kind.scale == 0):
        raise TopListError(f"m, the number of classes, is a whole number, not {kind}.")
    size = _whole(rows.m)
    if size.min() < 1:
        raise rows.error(int(np.argmin(size)), "m is the number of classes, at least 1.")
    return size


def _codes(names: Column, at: NDArray[np.int64], size: NDArray[np.int64], rows: _Rows) -> tuple[Codes, Codes]:
    """Listed classes and outcomes as codes: whole numbers are their own, names get one that no other class has."""
    pa, types, outcome = need("pyarrow"), need("pyarrow").types, rows.outcome
    empty = types.is_null(names.type)
    if types.is_integer(outcome.type) and (empty or types.is_integer(names.type)):
        return _whole(names), _whole(outcome)
    if not types.is_string(outcome.type) or not (empty or types.is_string(names.type)):
        raise TopListError(
            f"classes and outcomes are both text or both whole numbers; here classes are {kind_of(names.type)} and "
            f"outcomes {kind_of(outcome.type)}. Cast one of them."
        )
    both = pa.concat_arrays([text_if_none(names), outcome]).dictionary_encode()
    codes = as_numpy(both.indices).astype(np.int64)
    if len(both.dictionary) > size.min():  # of other rows too: what counts are those of the row
        case = np.arange(len(outcome))
        codes = within_case(np.concatenate([np.repeat(case, np.diff(at)), case]), codes)
        most = np.maximum.reduceat(np.append(codes[: len(names)], 0), np.minimum(at[:-1], len(names)))
        over = np.maximum(np.where(np.diff(at) > 0, most, 0), codes[len(names) :]) >= size
        if over.any():
            raise rows.error(int(np.argmax(over)), "there are more classes, with the outcome, than m.")
    return codes[: len(names)], codes[len(names) :]


def _whole(column: Column) -> Codes:
    return as_numpy(column.cast(need("pyarrow").int64()))
