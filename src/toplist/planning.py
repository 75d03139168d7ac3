"""From what people name to a plan: sources are opened, layouts recognised, classes declared."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from toplist.errors import SpaceError, TopListError
from toplist.evaluation import Scoring
from toplist.io.layouts import Hints
from toplist.io.sources import Source, open_source
from toplist.lists.door import Repairs
from toplist.space import ClassSpace, as_space
from toplist.streaming import Plan


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
    keep: tuple[str, ...] = (),
) -> Plan:
    """A plan from what the caller named: files or frames, and columns of the truth."""
    for what, value in (("sample_weight", weight), ("by", by), ("clusters", cluster), ("sizes", sizes)):
        if value is not None and not isinstance(value, str):
            raise TopListError(f"with files and frames, {what} names a column of the truth.")
    known = None if space is None else as_space(space)
    if known is not None and known.per_case:
        raise SpaceError(
            "with files and frames, sizes= names the column of the truth that says how many classes there are."
        )
    labels = None if known is None or known.labels is None else frozenset(map(str, known.labels))
    extra = tuple(dict.fromkeys(filter(None, (weight, by, cluster, sizes, *keep))))
    hints = Hints(classes=classes, confidences=confidences, case=case, labels=labels, sets=sets)
    truth = open_source(
        y, "truth", Hints(case=case, classes=outcome, labels=labels, extra=extra, truth=True, sets=sets)
    )
    sources = tuple(
        open_source(what, str(name), replace(hints, layout=option_of(layout, str(name), "auto")))
        for name, what in predictions.items()
    )
    if sizes is None and known is None:
        known = _space_of_columns((*sources, truth))
    return Plan(truth, sources, scoring, repairs, known, sizes, sets, missing, weight, by, cluster, keep)


def _space_of_columns(sources: Sequence[Source]) -> ClassSpace:
    """The classes of wide tables, whose columns name them all."""
    named = [source for source in sources if source.names]
    if not named:
        raise SpaceError("how many classes are there? Say so with space= (--classes): a number, labels, or infinity.")
    first = named[0]
    other = next((source for source in named if set(source.names) != set(first.names)), None)
    if other is not None:
        raise SpaceError(f"{first.path} and {other.path} have different columns: declare the classes.")
    return ClassSpace(labels=first.names)
