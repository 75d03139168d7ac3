"""Predictions in memory, of any shape and in one order: checked against each other, scored and added up."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any

import numpy as np

from toplist.arguments import as_array, as_vector
from toplist.errors import AlignmentError, ShapeError, SpaceError, TopListError
from toplist.evaluation import Scoring
from toplist.lists import TopList, TopLists
from toplist.lists.door import Repairs
from toplist.ranking.results import Origin
from toplist.sheets import sheet
from toplist.space import ClassSpace, as_space, show_size
from toplist.streaming import Read
from toplist.tally import Grouping, Tally, tally

BLANK = "(blank)"


def tallied(
    predictions: Mapping[str, Any],
    y: Any,
    space: Any,
    scoring: Scoring,
    repairs: Mapping[str, Repairs],
    weight: Any,
    by: Any,
    clusters: Any,
) -> tuple[dict[Hashable, Tally], Read, str]:
    """Tallies by group, what was read, and how many classes there are."""
    known = _space_of(predictions, space)
    lists = {str(name): _as_lists(what, known, str(name), repairs[str(name)]) for name, what in predictions.items()}
    n = _require_one_length(lists)
    _require_one_order(lists)
    _require_one_space(lists, known, y)
    weights = None if weight is None else _checked_weights(weight, n)
    sheets = [sheet(one, y, scoring.rules, tops=scoring.tops, penalty=scoring.penalty) for one in lists.values()]
    tallies = tally(sheets, weights=weights, groups=_grouping(by, n, "by"), clusters=_grouping(clusters, n, "clusters"))
    origins = tuple(Origin(name, "memory", "lists", n, repairs=dict(one.repairs)) for name, one in lists.items())
    return tallies, Read(origins, n, n), show_size(next(iter(lists.values())).space.size)


def _space_of(predictions: Mapping[str, Any], space: Any) -> ClassSpace:
    if space is not None:
        return as_space(space)
    for what in predictions.values():
        if isinstance(what, TopLists):
            return what.space
    for what in predictions.values():
        if getattr(what, "ndim", 1) == 2:
            return ClassSpace(what.shape[1])
    raise SpaceError("how many classes are there? Say so with space=: a number, math.inf or ClassSpace(labels=[...]).")


def _as_lists(what: Any, space: ClassSpace, name: str, repairs: Repairs) -> TopLists:
    """Whatever was predicted, as lists."""
    options: dict[str, Any] = {"units": repairs.units, "normalize": repairs.normalize}
    several = isinstance(what, list | tuple)
    try:
        if isinstance(what, TopLists):
            return what
        if isinstance(what, TopList):
            return what.batch
        if several and any(isinstance(one, TopList) for one in what):
            raise ShapeError(
                "these are single lists.", "Give the TopLists that they come from, or TopLists.from_dicts."
            )
        if several and any(isinstance(one, set | frozenset) for one in what):
            raise ShapeError(
                "labels that are sets need a space of label sets.", "TopLists.from_labels(y, LabelSets(...))."
            )
        if hasattr(what, "indptr"):
            return TopLists.from_csr(what, space, duplicates=repairs.duplicates, **options)
        if several and any(hasattr(one, "items") for one in what):
            return TopLists.from_dicts(what, space, **options)
        values = as_array(what, "predictions")
        if values.ndim == 2 and values.dtype.kind in "fiu":
            return TopLists.from_proba(values, space, **options)
        if values.ndim == 0:
            raise ShapeError(f"predictions are one per case, not {what!r}.")
        return TopLists.from_labels(what, space)
    except TopListError as error:
        error.args = (f"{name}: {error}",)
        raise


def _require_one_length(lists: Mapping[str, TopLists]) -> int:
    sizes = {name: len(one) for name, one in lists.items()}
    if len(set(sizes.values())) > 1:
        raise AlignmentError(f"predictors differ in length: {', '.join(f'{k} has {v:,}' for k, v in sizes.items())}.")
    n = next(iter(sizes.values()))
    if not n:
        raise ShapeError("there are no cases to compare.")
    return n


def _require_one_order(lists: Mapping[str, TopLists]) -> None:
    named = [(name, one.ids) for name, one in lists.items() if one.ids is not None]
    for name, ids in named[1:]:
        if not np.array_equal(ids, named[0][1]):
            raise AlignmentError(f"the case ids of {named[0][0]} and {name} differ: bring them into one order.")


def _require_one_space(lists: Mapping[str, TopLists], known: ClassSpace, y: Any) -> None:
    """All are over as many classes; and where outcomes are numbers, the numbers mean the same classes to all."""
    for name, one in lists.items():
        if not np.array_equal(one.space.as_floats[1], known.as_floats[1]):
            raise SpaceError(f"{name} is over {one.space!r}, others over {known!r}: all need the same classes.")
    named = {name: one.space.labels for name, one in lists.items() if one.space.labels is not None}
    if isinstance(y, TopLists):
        odd = next(
            (name for name, one in lists.items() if (one.space.labels is None) != (y.space.labels is None)), None
        )
        if odd is not None and len(y.confidences):
            raise SpaceError(
                f"{odd} and the truth do not both have labels for their classes: give both the same space."
            )
        return
    if not named or not _are_codes(y) or any(one.space.numbered for one in lists.values()):
        return
    learned = next((name for name in named if known.labels is None and not _given(lists[name], known)), None)
    if learned is not None:
        raise SpaceError(
            f"{learned} names its classes, but the outcomes are numbers, and nobody has said which class is which "
            "number: give the outcomes as labels, or space=ClassSpace(labels=[...])."
        )
    if len(set(named.values())) > 1:
        raise SpaceError(f"{' and '.join(named)} number their labels differently: give the outcomes as labels.")


def _given(one: TopLists, known: ClassSpace) -> bool:
    """Whether a space had its labels before it saw predictions: then it has all of them."""
    return one.space.complete or one.space is known


def _are_codes(y: Any) -> bool:
    values = as_array(y, "outcomes") if not isinstance(y, np.ndarray) else y
    return values.dtype.kind in "iufb"


def _checked_weights(weight: Any, n: int) -> Any:
    weights = as_vector(weight, "weights")
    good = len(weights) == n and np.isfinite(weights).all() and (weights >= 0).all()
    if not good or not weights.max(initial=0) > 0:
        raise TopListError(f"weights are {n} numbers, none below zero and not all zero.")
    return weights


def _grouping(values: Any, n: int, what: str) -> Grouping | None:
    if values is None:
        return None
    array = as_array(values, what)
    if array.ndim != 1 or len(array) != n:
        raise ShapeError(f"{what} needs one value per case: {n}.")
    if array.dtype == object or (array.dtype.kind == "f" and np.isnan(array).any()):
        array = np.array([BLANK if value is None or value != value else str(value) for value in array])
    return Grouping.of(array)
