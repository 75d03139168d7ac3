"""Several predictors, one truth, one leaderboard."""

from __future__ import annotations

import os
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any

import numpy as np

from toplist.arguments import as_array, as_count, as_number, as_vector
from toplist.errors import AlignmentError, ShapeError, SpaceError, TopListError
from toplist.evaluation import Scoring
from toplist.leaderboard import Leaderboard
from toplist.lists import TopList, TopLists
from toplist.lists.door import Duplicates, Repairs, Units
from toplist.planning import option_of, plan_of
from toplist.ranking.results import Origin, Results
from toplist.ranking.standings import Terms, sections
from toplist.rules import as_rule
from toplist.sheets import sheet
from toplist.space import ClassSpace, as_space, show_size
from toplist.streaming import MISSING, Adding, Read, run
from toplist.tally import Grouping, Tally, tally


def compare(
    predictions: Mapping[str, Any],
    y: Any,
    *,
    space: Any = None,
    rules: Sequence[Any] | Any = ("brier", "log"),
    penalty: float | None = None,
    top: Sequence[int] | int = 5,
    reference: str | None = None,
    sample_weight: Any = None,
    by: Any = None,
    clusters: Any = None,
    missing: str = "error",
    level: float = 0.95,
    units: Units | Mapping[str, Units] = "probability",
    normalize: bool | Mapping[str, bool] = False,
    duplicates: Duplicates | Mapping[str, Duplicates] = "error",
    layout: str | Mapping[str, str] = "auto",
    case: str | None = None,
    classes: str | None = None,
    confidences: str | None = None,
    sizes: str | None = None,
    sets: str | None = None,
    outcome: str | None = None,
    progress: Callable[[str, int, int | None], None] | None = None,
) -> Leaderboard:
    """Rank predictors of any shape on one scale, with error bars.

    `predictions` maps names to lists, labels, (n, m) probabilities, dicts, sparse matrices; with `y` in the same
    order. Or to files and dataframes, which are aligned by their case ids; then `y` is a file or frame too, and
    `sample_weight`, `by`, `clusters` and `sizes` name columns of it, and `case`, `classes`, `confidences` and `outcome`
    those that are not found by their names. The first rule decides the order.

    >>> board = compare({"list": [{"a": 0.7, "b": 0.2}] * 2, "label": ["a", "b"]}, ["a", "b"], space=3)
    >>> [row.name for row in board]
    ['label', 'list']
    """
    if not isinstance(predictions, Mapping) or not predictions:
        raise TopListError("predictions are a mapping from names to what was predicted, with at least one entry.")
    names = tuple(str(name) for name in predictions)
    if missing not in MISSING:
        raise TopListError(f"missing is one of {', '.join(MISSING)}, not {missing!r}.")
    if reference is not None and reference not in names:
        raise TopListError(f"the reference {reference!r} is not among the predictors {', '.join(map(repr, names))}.")
    chosen = [as_rule(rule) for rule in (rules if isinstance(rules, list | tuple) else [rules])]
    if not chosen:
        raise TopListError("name at least one rule.")
    tops = tuple(as_count(k) for k in (top if isinstance(top, Sequence) else [top]))
    level = as_number(level, "level", 0, 1)
    if not 0 < level < 1:
        raise TopListError(f"level is between 0 and 1, not {level}.")
    if penalty is not None:
        penalty = as_number(penalty, "the penalty for invalid lists", 0, np.inf)
    scoring = Scoring(tuple(chosen), tops, penalty)
    if missing == "pairwise" and clusters is not None:
        raise TopListError('clusters do not go with missing="pairwise": choose missing="common".')
    repairs = {
        name: Repairs(
            units=option_of(units, name, "probability"),
            normalize=option_of(normalize, name, False),
            duplicates=option_of(duplicates, name, "error"),
        )
        for name in names
    }
    if any(map(_is_table, (*predictions.values(), y))):
        plan = plan_of(
            predictions, y, space, scoring, repairs, missing=missing, layout=layout, case=case, sizes=sizes, sets=sets,
            outcome=outcome, classes=classes, confidences=confidences, weight=sample_weight, by=by, cluster=clusters,
        )  # fmt: skip
        added, read = run(plan, lambda: Adding(plan), progress or (lambda what, done, total: None))
        tallies = added.tallies
        many = "per case" if plan.space is None else show_size(plan.space.size)
    else:
        tallies, read, many = _in_memory(predictions, y, space, scoring, repairs, sample_weight, by, clusters)
    where = None if reference is None else names.index(reference)
    terms = Terms(names, tuple(map(str, (rule.name for rule in chosen))), tops, where, missing == "pairwise", level)
    whole, groups = sections(tallies, terms)
    return Leaderboard(
        Results(
            rules=terms.rules,
            classes=many,
            cases=read.cases,
            compared=read.compared,
            missing=missing,
            weighted=sample_weight is not None,
            reference=reference,
            penalty=penalty,
            level=level,
            method=_method(clusters is not None, sample_weight is not None),
            by=None if by is None else by if isinstance(by, str) else "group",
            origins=read.origins,
            overall=whole,
            groups=groups,
        ),
        tallies,
        terms,
    )


def _method(clustered: bool, weighted: bool) -> str:
    if clustered:
        return "cluster-robust t intervals, which assume that clusters are independent of each other"
    name = "weighted paired t intervals" if weighted else "paired t intervals"
    return f"{name}, which assume that cases are independent of each other"


def _is_table(value: Any) -> bool:
    """A file, or a table in memory."""
    if isinstance(value, os.PathLike | str):
        return True
    if isinstance(value, list | tuple | np.ndarray | Mapping | TopLists | TopList) or value is None:
        return False
    home = type(value).__module__.partition(".")[0]
    return home in (
        "pandas",
        "polars",
        "pyarrow",
        "duckdb",
        "_duckdb",
        "narwhals",
        "dask",
        "modin",
        "cudf",
        "ibis",
    ) and (hasattr(value, "columns") or hasattr(value, "column_names") or hasattr(value, "collect_schema"))


def _in_memory(
    predictions: Mapping[str, Any],
    y: Any,
    space: Any,
    scoring: Scoring,
    repairs: Mapping[str, Repairs],
    weight: Any,
    by: Any,
    clusters: Any,
) -> tuple[dict[Hashable, Tally], Read, str]:
    known = _space_of(predictions, space)
    lists = {str(name): _as_lists(what, known, str(name), repairs[str(name)]) for name, what in predictions.items()}
    sizes = {name: len(one) for name, one in lists.items()}
    if len(set(sizes.values())) > 1:
        raise AlignmentError(f"predictors differ in length: {', '.join(f'{k} has {v:,}' for k, v in sizes.items())}.")
    n = next(iter(sizes.values()))
    if not n:
        raise ShapeError("there are no cases to compare.")
    _require_one_order(lists)
    first = next(iter(lists.values())).space
    for name, one in lists.items():
        if not np.array_equal(one.space.as_floats[1], first.as_floats[1]):
            raise SpaceError(f"{name} is over {one.space!r}, others over {first!r}: all need the same classes.")
    weights = None if weight is None else _checked_weights(weight, n)
    sheets = [sheet(one, y, scoring.rules, tops=scoring.tops, penalty=scoring.penalty) for one in lists.values()]
    tallies = tally(sheets, weights=weights, groups=_grouping(by, n, "by"), clusters=_grouping(clusters, n, "clusters"))
    origins = tuple(Origin(name, "memory", "lists", n, repairs=dict(one.repairs)) for name, one in lists.items())
    return tallies, Read(origins, n, n), show_size(first.size)


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
    try:
        if isinstance(what, TopLists):
            return what
        if isinstance(what, TopList):
            return what.batch
        if hasattr(what, "indptr"):
            return TopLists.from_csr(what, space, duplicates=repairs.duplicates, **options)
        if isinstance(what, list | tuple) and what and all(hasattr(one, "items") for one in what):
            return TopLists.from_dicts(what, space, **options)
        values = as_array(what, "predictions")
        if values.ndim == 2 and values.dtype.kind in "fiu":
            return TopLists.from_proba(values, space, **options)
        return TopLists.from_labels(what, space)
    except TopListError as error:
        error.args = (f"{name}: {error}",)
        raise


def _require_one_order(lists: Mapping[str, TopLists]) -> None:
    named = [(name, one.ids) for name, one in lists.items() if one.ids is not None]
    for name, ids in named[1:]:
        if not np.array_equal(ids, named[0][1]):
            raise AlignmentError(f"the case ids of {named[0][0]} and {name} differ: bring them into one order.")


def _checked_weights(weight: Any, n: int) -> Any:
    weights = as_vector(weight, "weights")
    if len(weights) != n or not (np.isfinite(weights) & (weights >= 0)).all() or not weights.sum() > 0:
        raise TopListError(f"weights are {n} numbers, none below zero and not all zero.")
    return weights


def _grouping(values: Any, n: int, what: str) -> Grouping | None:
    if values is None:
        return None
    array = as_array(values, what)
    if array.ndim != 1 or len(array) != n:
        raise ShapeError(f"{what} needs one value per case: {n}.")
    return Grouping.of(array.astype(str) if array.dtype == object else array)
