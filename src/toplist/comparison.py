"""Several predictors, one truth, one leaderboard."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from toplist.arguments import as_count, as_number
from toplist.errors import TopListError
from toplist.evaluation import Scoring
from toplist.inmemory import tallied
from toplist.leaderboard import Leaderboard
from toplist.lists import TopList, TopLists
from toplist.lists.door import Duplicates, Repairs, Units
from toplist.planning import option_of, plan_of
from toplist.ranking.results import Results
from toplist.ranking.standings import Terms, sections
from toplist.rules import RULES, Rule, as_rule
from toplist.space import show_size
from toplist.streaming import MISSING, Adding, run

_FRAMES = ("pandas", "polars", "pyarrow", "duckdb", "_duckdb", "narwhals", "dask", "modin", "cudf", "ibis")
_MOST = 10**9  # classes on a list


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
    if len(set(names)) < len(names):
        raise TopListError(f"every predictor needs a name of its own, not {', '.join(map(repr, names))}.")
    if not isinstance(missing, str) or missing not in MISSING:
        raise TopListError(f"missing is one of {', '.join(MISSING)}, not {missing!r}.")
    if reference is not None and not (isinstance(reference, str) and reference in names):
        raise TopListError(f"the reference {reference!r} is not among the predictors {', '.join(map(repr, names))}.")
    chosen = [as_rule(rule) for rule in (rules if isinstance(rules, list | tuple) else [rules])]
    if not chosen:
        raise TopListError("name at least one rule.")
    labels = tuple(map(_name_of, chosen))
    if len(set(labels)) < len(labels):
        raise TopListError(f"a rule is there twice: {', '.join(labels)}.")
    tops = tuple(as_count(k) for k in (top if isinstance(top, Sequence) else [top]))
    if max(tops, default=0) > _MOST:
        raise TopListError(f"k is at most {_MOST:,}, not {max(tops)}.")
    level = as_number(level, "level", 0, 1)
    if not 0 < level < 1:
        raise TopListError(f"level is between 0 and 1, not {level}.")
    if penalty is not None:
        penalty = as_number(penalty, "the penalty for invalid lists", 0, np.inf)
    scoring = Scoring(tuple(chosen), tops, penalty)
    if missing == "pairwise" and clusters is not None:
        raise TopListError('clusters do not go with missing="pairwise": choose missing="common".')
    for option, what in ((units, "units"), (normalize, "normalize"), (duplicates, "duplicates"), (layout, "layout")):
        stray = next((key for key in option if key not in names), None) if isinstance(option, Mapping) else None
        if stray is not None:
            raise TopListError(f"{what} is given for {stray!r}, which is not among {', '.join(map(repr, names))}.")
    repairs = {
        name: Repairs(
            units=option_of(units, name, "probability"),
            normalize=option_of(normalize, name, False),
            duplicates=option_of(duplicates, name, "error"),
        )
        for name in names
    }
    tables = [_is_table(value) for value in (*predictions.values(), y)]
    if any(tables):
        if not all(tables):
            raise TopListError("files and frames go together: predictions and outcomes are all tables, or none is.")
        plan = plan_of(
            predictions, y, space, scoring, repairs, missing=missing, layout=layout, case=case, sizes=sizes, sets=sets,
            outcome=outcome, classes=classes, confidences=confidences, weight=sample_weight, by=by, cluster=clusters,
        )  # fmt: skip
        added, read = run(plan, lambda: Adding(plan), progress or (lambda what, done, total: None))
        tallies = added.tallies
        many = "per case" if plan.space is None else show_size(plan.space.size)
    else:
        tallies, read, many = tallied(predictions, y, space, scoring, repairs, sample_weight, by, clusters)
    if not any(weight for one in tallies.values() for weight in one.sums["weight"]):
        raise TopListError("all weights are zero: there is nothing to compare.")
    where = None if reference is None else names.index(reference)
    terms = Terms(names, labels, tops, where, missing == "pairwise", level)
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


def _name_of(rule: Rule) -> str:
    """The name of a rule as people know it; with its parameters, where they are not the usual ones."""
    usual = RULES.get(rule.name)
    return rule.name if usual is not None and as_rule(rule.name) == rule else repr(rule)


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
    if type(value).__module__.partition(".")[0] not in _FRAMES:
        return False
    return any(hasattr(type(value), name) for name in ("collect_schema", "columns", "column_names"))
