"""From what people name to a plan: sources are opened, layouts recognised, classes declared."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from toplist.errors import SpaceError, TopListError
from toplist.evaluation import Scoring
from toplist.io.coding import as_sets
from toplist.io.layouts import Hints
from toplist.io.sources import Source, open_source
from toplist.labelsets import LabelSets
from toplist.lists import TopList, TopLists
from toplist.lists.door import Repairs
from toplist.space import ClassSpace, as_space
from toplist.streaming import Plan

_FRAMES = ("pandas", "polars", "pyarrow", "duckdb", "_duckdb", "narwhals", "dask", "modin", "cudf", "ibis")


def names_of(predictions: Any, least: int = 1) -> tuple[str, ...]:
    """Who predicts, each under a name of its own."""
    if not isinstance(predictions, Mapping) or len(predictions) < least:
        many = "one entry" if least == 1 else "two entries"
        raise TopListError(f"predictions are a mapping from names to what was predicted, with at least {many}.")
    names = tuple(str(name) for name in predictions)
    if len(set(names)) < len(names):
        raise TopListError(f"every predictor needs a name of its own, not {', '.join(map(repr, names))}.")
    return names


def are_tables(predictions: Mapping[str, Any], y: Any) -> bool:
    """Whether predictions and outcomes are files and frames: all of them, or none."""
    tables = [_is_table(value) for value in (*predictions.values(), y)]
    if any(tables) and not all(tables):
        raise TopListError("files and frames go together: predictions and outcomes are all tables, or none is.")
    return any(tables)


def with_indicators(predictions: Mapping[str, Any], y: Any, space: Any) -> tuple[dict[str, Any], Any]:
    """Frames of zeros and ones with a column per label as matrices, where the classes are label sets."""
    given = [space, *(one.space for one in predictions.values() if isinstance(one, TopLists | TopList))]
    known = next((one for one in given if one is not None), None)
    if not isinstance(known, LabelSets):
        return dict(predictions), y
    return {name: _indicators(one, known) for name, one in predictions.items()}, _indicators(y, known)


def _indicators(value: Any, space: LabelSets) -> Any:
    """A matrix with its columns in the order of the labels; anything else as it is."""
    if isinstance(value, os.PathLike | str) or not _is_table(value) or len(getattr(value, "shape", ())) != 2:
        return value
    columns = {str(name): place for place, name in enumerate(value.columns)}
    names = [str(name) for name in space.names]
    unnamed = list(columns) == list(map(str, range(len(names))))
    if value.shape[1] != len(names) or not (unnamed or columns.keys() == set(names)):
        return value
    matrix = np.asarray(value)
    if matrix.dtype.kind not in "biufO" or not np.isin(matrix, (0, 1)).all():
        return value
    order = range(len(names)) if unnamed and columns.keys() != set(names) else [columns[name] for name in names]
    return matrix[:, list(order)].astype(bool)


def _is_table(value: Any) -> bool:
    """A file, or a table in memory."""
    if isinstance(value, os.PathLike | str):
        return True
    if isinstance(value, list | tuple | np.ndarray | Mapping | TopLists | TopList) or value is None:
        return False
    if type(value).__module__.partition(".")[0] not in _FRAMES:
        return False
    return any(hasattr(type(value), name) for name in ("collect_schema", "columns", "column_names"))


def repairs_of(
    names: Sequence[str], *, units: Any, normalize: Any, duplicates: Any, layout: Any, blanks: Any = "error"
) -> dict[str, Repairs]:
    """What is repaired in each predictor's lists, from options for all or by name."""
    given = {"units": units, "normalize": normalize, "duplicates": duplicates, "layout": layout, "blanks": blanks}
    for what, option in given.items():
        stray = next((key for key in option if key not in names), None) if isinstance(option, Mapping) else None
        if stray is not None:
            raise TopListError(f"{what} is given for {stray!r}, which is not among {', '.join(map(repr, names))}.")
    return {
        name: Repairs(
            units=option_of(units, name, "probability"),
            normalize=option_of(normalize, name, False),
            duplicates=option_of(duplicates, name, "error"),
            blanks=option_of(blanks, name, "error"),
        )
        for name in names
    }


def option_of(option: Any, name: str, default: Any) -> Any:
    """An option for all predictors, or by name."""
    return option.get(name, default) if isinstance(option, Mapping) else option


def plan_of(
    predictions: Mapping[str, Any],
    y: Any,
    space: Any,
    scoring: Scoring,
    repairs: Mapping[str, Repairs],
    *,
    missing: str,
    layout: Any,
    case: str | None,
    sizes: str | None,
    sets: str | None,
    outcome: str | None,
    classes: str | None = None,
    confidences: str | None = None,
    weight: Any = None,
    by: Any = None,
    cluster: Any = None,
    order: Any = None,
    keep: tuple[str, ...] = (),
    look: Sequence[str] = (),
) -> Plan:
    """A plan from what the caller named: files or frames, and columns of the truth.

    `look` may hold "cluster" and "order": columns of the truth with these names are what they say, the first that is
    there, unless the caller names one, or none (""). Weights, which change more than intervals, are always named.
    """
    named = (("sample_weight", weight), ("by", by), ("clusters", cluster), ("order", order), ("sizes", sizes))
    for what, value in named:
        if value is not None and not isinstance(value, str):
            raise TopListError(f"with files and frames, {what} names a column of the truth.")
    known = None if space is None else as_sets(as_space(space), sets)
    if known is not None and known.per_case:
        raise SpaceError(
            "with files and frames, sizes= names the column of the truth that says how many classes there are."
        )
    labels = None if known is None or known.labels is None else frozenset(map(str, known.labels))
    marked = "" if sets is None and isinstance(known, LabelSets) else sets
    hints = Hints(classes=classes, confidences=confidences, case=case, labels=labels, sets=marked)
    asked = Hints(case=case, classes=outcome, labels=labels, truth=True, sets=marked)
    truth = open_source(y, "truth", replace(asked, extra=_distinct(weight, by, cluster, order, sizes, *keep)))
    open_to = [name for name, given in (("cluster", cluster), ("order", order)) if name in look and given is None]
    told = None if cluster or order else _said(truth, open_to)
    if told is not None:
        cluster, order = (told, order) if told == "cluster" else (cluster, told)
        truth = open_source(y, "truth", replace(asked, extra=_distinct(weight, by, cluster, order, sizes, *keep)))
    sources = tuple(
        open_source(
            what,
            str(name),
            replace(hints, layout=option_of(layout, str(name), "auto"), blanks=repairs[str(name)].blanks),
        )
        for name, what in predictions.items()
    )
    if sizes is None and known is None:
        known = space_of_columns((*sources, truth))
    columns = (weight or None, by, cluster or None, order or None)
    return Plan(truth, sources, scoring, repairs, known, sizes, sets, missing, *columns, bool(order), keep)


def _distinct(*names: str | None) -> tuple[str, ...]:
    return tuple(dict.fromkeys(filter(None, names)))


def _said(truth: Source, look: Sequence[str]) -> str | None:
    """The first of these names that the truth has for a column which is nothing else."""
    layout = truth.layout
    free = {str(name) for name in truth.reader.schema.names} - {layout.case, *layout.classes, *layout.confidences}
    return next((name for name in look if name in free), None)


def space_of_columns(sources: Sequence[Source]) -> ClassSpace:
    """The classes of wide tables, whose columns name them all."""
    named = [source for source in sources if source.names]
    if not named:
        raise SpaceError("how many classes are there? Say so with space= (--classes): a number, labels, or infinity.")
    first = named[0]
    other = next((source for source in named if set(source.names) != set(first.names)), None)
    if other is not None:
        raise SpaceError(f"{first.path} and {other.path} have different columns: declare the classes.")
    return ClassSpace(labels=first.names)
